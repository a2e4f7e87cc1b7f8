/* Linear-chain conditional random fields (Lafferty et al. 2001) of one sequence, in double. The score of labels y is
 * start(y_0) + sum of z_t(y_t) + sum of move(y_{t-1}, y_t) + end(y_last). Losses and gradients, marginals and the best
 * labels. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The score of a move that is not allowed. It is finite, so labels that make such a move have a finite loss. */
enum { CHAIN_FORBIDDEN = -10000 };

struct chain {
    size_t labels;
    const double *move, *start, *end; /* [labels, labels]: from, to; [labels]; [labels] */
    double *factor;                   /* [labels, labels] set by chain_begin: exp(move - top) */
    double top;                       /* set by chain_begin: the largest move */
};

/* Gradients by the scores of moves, or NULL; the functions add to them. */
struct chain_slopes {
    double *move, *start, *end;
};

void chain_begin(struct chain *);

/* Returns the number of doubles in `scratch` for a sequence. */
static inline size_t chain_scratch(size_t labels, size_t steps) { return (steps + 5) * labels; }
/* Returns the number of doubles of a kernel: z, labels, scratch, the parameters, their exponentials and gradients. */
static inline size_t chain_row_doubles(size_t labels, size_t steps)
{
    return steps * labels + (steps + 1) / 2 + chain_scratch(labels, steps) + (3 * labels + 4) * labels;
}

/* Returns -log p(label) and overwrites the scores z [steps, labels] with its gradient; label NULL: returns log of the
 * sum over all labels, and overwrites z with the probabilities of each label at each step. steps >= 1. */
double chain_slopes(const struct chain *, double *z, size_t steps, const int32_t *label, const struct chain_slopes *,
                    double *scratch);

/* Finds the labels with the highest score, of equal ones the smallest label from the end. room: [steps, labels]. */
void chain_best(const struct chain *, const double *z, size_t steps, int32_t *label, int32_t *room, double *scratch);
