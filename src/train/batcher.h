/* Cuts a text into batches for truncated backpropagation: `rows` contiguous pieces run side by side, a
 * window of `steps` symbols after the other, so that row b of a batch goes on where row b of the last
 * batch ended. The target of each symbol is the one after it. Not shuffled: carried states need order. */
#ifndef TRAIN_BATCHER_H
#define TRAIN_BATCHER_H
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct batcher {
    const int32_t *tokens;      /* [count], borrowed */
    size_t count;
    int rows, steps;            /* B and T of a batch */
    uint64_t seed;
    size_t piece;               /* distance of the rows in the text */
    int64_t windows;            /* batches of an epoch, >= 1 */
};

/* The next batch. A checkpoint keeps these two numbers. */
struct cursor {
    int64_t epoch, window;      /* 0 <= window < windows */
};

/* Refuses a text that has no full window for each row, and says what would fit. */
unroll_status batcher_init(struct batcher *batcher, const int32_t *tokens, size_t count, int rows, int steps,
                           uint64_t seed);

/* inputs, targets: [steps, rows]. */
void batcher_fill(const struct batcher *batcher, struct cursor cursor, int32_t *inputs, int32_t *targets);
struct cursor batcher_next(const struct batcher *batcher, struct cursor cursor);

#endif
