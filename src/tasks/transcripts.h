/* Transcripts from the logits of a network with the loss ctc, and the distance between transcripts. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Finds labels for logits [steps, classes], the logits of a step `stride` floats after those of the step before; class
 * 0 is the blank. Writes the classes to label, at most one for each step, and returns their number. */
size_t transcript_of_path(const float *z, size_t stride, size_t steps, int classes, int32_t *label);
/* Does the same with prefix beam search (Graves and Jaitly 2014): the labels with the highest probability, summed over
 * their paths, among the `beam` best ones of each step. Labels with a probability below 1e-4 are not tried. */
unroll_status transcript_of_beam(const float *z, size_t stride, size_t steps, int classes, int beam, int32_t *label,
                                 size_t *labels);

/* Edits that turn texts into others, and the length of these: of words, separated by blanks, and of characters. The
 * ratios are the word and the character error rate, as jiwer computes them. */
struct edits {
    int64_t words, characters, of_words, of_characters;
};
unroll_status edits_add(struct edits *edits, const char *truth, const char *answer);
