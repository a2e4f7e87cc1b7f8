/* Transcripts of logits: the best path, prefix beam search compared with sums over all paths, and error rates compared
 * with jiwer 4. */
/* test: kinds=plain,long-memory */
#include "check.h"
#include "nn/losses/lattice.h"
#include "tasks/transcripts.h"
#include <math.h>
#include <stdlib.h>

enum { CLASSES = 4, STEPS = 5 };

static void logarithms(const double *p, size_t count, float *z)
{
    for (size_t i = 0; i < count; i++) z[i] = (float)log(p[i] > 0 ? p[i] : 1e-30);
}

/* CTCDecoder's example: each path of one label is less likely than two blanks, but together they are likelier. */
static void check_example(void)
{
    static const double p[] = {.6, .4, 0, .6, .4, 0};
    float z[6];
    int32_t label[2];
    size_t labels;
    logarithms(p, 6, z);
    CHECK(transcript_of_path(z, 3, 2, 3, label) == 0, "the best path");
    MUST(transcript_of_beam(z, 3, 2, 3, 25, label, &labels));
    CHECK(labels == 1 && label[0] == 1, "%zu labels", labels);
    MUST(transcript_of_beam(z, 3, 0, 3, 25, label, &labels));
    CHECK(labels == 0, "no steps, no labels");
}

static void check_path(void)
{
    static const int32_t best[] = {0, 2, 2, 0, 2, 1, 1, 3, 0}, expected[] = {2, 2, 1, 3};
    float z[9 * 2 * CLASSES] = {0}; /* two rows side by side; the second one is read */
    int32_t label[9];
    for (int t = 0; t < 9; t++) z[(t * 2 + 1) * CLASSES + best[t]] = 1;
    const size_t labels = transcript_of_path(z + CLASSES, 2 * CLASSES, 9, CLASSES, label);
    CHECK(labels == 4 && !memcmp(label, expected, sizeof expected), "%zu labels", labels);
}

/* Returns the probability of labels. */
static double likely(const float *z, const int32_t *label, size_t labels)
{
    double copy[STEPS * CLASSES], slope[STEPS * CLASSES],
        *scratch = malloc(lattice_scratch(CLASSES, STEPS) * sizeof(double));
    double loss = INFINITY;
    for (int i = 0; i < STEPS * CLASSES; i++) copy[i] = (double)z[i];
    if (lattice_needs(label, labels) <= STEPS)
        loss = lattice_slopes(copy, STEPS, CLASSES, label, labels, false, slope, scratch);
    free(scratch);
    return exp(-loss);
}

/* A wide beam finds the likeliest of all labels. */
static void check_beam(void)
{
    uint64_t state = 3;
    for (int trial = 0; trial < 20; trial++) {
        float z[STEPS * CLASSES];
        int32_t label[STEPS], all[STEPS];
        size_t labels;
        double most = 0;
        for (int i = 0; i < STEPS * CLASSES; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            z[i] = (float)((double)(state >> 11) / (double)(1ull << 53) * 4);
        }
        for (size_t length = 0, count = 1; length <= STEPS; length++, count *= CLASSES - 1)
            for (size_t number = 0; number < count; number++) {
                for (size_t i = 0, rest = number; i < length; i++, rest /= CLASSES - 1)
                    all[i] = 1 + (int32_t)(rest % (CLASSES - 1));
                most = fmax(most, likely(z, all, length));
            }
        MUST(transcript_of_beam(z, CLASSES, STEPS, CLASSES, 400, label, &labels));
        CHECK(fabs(likely(z, label, labels) / most - 1) < 1e-9, "trial %d: %g, not %g", trial, likely(z, label, labels),
              most);
    }
}

static void check_edits(void)
{
    static const struct {
        const char *truth, *answer;
        int words, characters, of_words, of_characters;
    } rows[] = {{"one two three", "one two three", 0, 0, 3, 13},
                {"one two three", "one  too three four ", 2, 7, 3, 13},
                {" the cat", "cat", 1, 4, 2, 7},
                {"gr\xc3\xbc\xc3\x9f gott", "gruss gott", 1, 3, 2, 9},
                {"abc", "", 1, 3, 1, 3},
                {"", "a b", 2, 3, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct edits e = {0};
        MUST(edits_add(&e, rows[i].truth, rows[i].answer));
        CHECK(e.words == rows[i].words && e.of_words == rows[i].of_words, "'%s': %d of %d words", rows[i].truth,
              (int)e.words, (int)e.of_words);
        CHECK(e.characters == rows[i].characters && e.of_characters == rows[i].of_characters,
              "'%s': %d of %d characters", rows[i].truth, (int)e.characters, (int)e.of_characters);
    }
}

int main(void)
{
    check_example();
    check_path();
    check_beam();
    check_edits();
    return check_finish("transcripts");
}
