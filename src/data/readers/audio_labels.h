/* Labels of parts of sounds: spans of time, from files next to the sounds or for all of them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct span {
    double from, to; /* seconds; equal: a point */
    int label;       /* number of the name */
    size_t sound;    /* place of the name of the sound in `names` */
};

/* All spans of a data set, and their names. */
struct audio_labels {
    struct span *span;
    size_t count, room;
    char *names; /* of labels and sounds, each terminated by zero */
    size_t used, names_room;
    size_t *label; /* places of the labels in names */
    int labels, labels_room;
    size_t negative, reversed; /* spans that were left out */
};

/* True for the name of a file of labels: txt, csv, tsv, lab, textgrid, rttm, scv, beats. */
bool audio_labels_are_named(const char *path);
/* Reads a file of labels. path: its name, whose stem is the name of the sound unless the file names sounds. Files of
 * other contents (a .txt without times) add nothing: *found is false. */
unroll_status audio_labels_read(struct audio_labels *labels, const char *path, const char *bytes, size_t size,
                                bool *found);
void audio_labels_end(struct audio_labels *labels);
/* Writes the name of a sound without folder and suffix. */
void audio_stem(const char *path, char stem[256]);
static inline const char *audio_label_name(const struct audio_labels *labels, int label)
{
    return labels->names + labels->label[label];
}
/* Sorts the spans by sound and beginning. */
void audio_labels_sort(struct audio_labels *labels);
/* Finds the spans of a sound: from *first on; returns how many. */
size_t audio_labels_of(const struct audio_labels *labels, const char *stem, size_t *first);
