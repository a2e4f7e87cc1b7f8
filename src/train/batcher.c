/* Windows of a text. What does not fill a window is left out, at another place in each epoch: the first
 * window begins at a random shift, so that over the epochs every symbol is trained on. */
#include "train/batcher.h"

#include <stdio.h>

#include "base/philox.h"

enum { SHIFT_STREAM = 0x73686674 };     /* "shft": a stream of its own, one block for each epoch */
enum { WORDS_OF_A_BLOCK = 4 };

static unroll_status too_short(size_t count, int rows, int steps)
{
    size_t pairs = count > 0 ? count - 1 : 0;       /* of a symbol and the next */
    size_t most_rows = pairs / (size_t)steps, most_steps = pairs / (size_t)rows;

    char fix[128] = "";

    if (most_rows && most_steps)
        snprintf(fix, sizeof fix, "batch at most %zu with this bptt, or bptt at most %zu with this batch, or ",
                 most_rows, most_steps);
    else if (most_rows)
        snprintf(fix, sizeof fix, "batch at most %zu with this bptt, or ", most_rows);
    else if (most_steps)
        snprintf(fix, sizeof fix, "bptt at most %zu with this batch, or ", most_steps);
    else if (pairs)
        snprintf(fix, sizeof fix, "batch 1 with bptt at most %zu, or ", pairs);
    return fail(UNROLL_DATA, "the training part has %zu symbols, too few for batch %d x bptt %d; fix: %sa longer "
                "text", count, rows, steps, fix);
}

unroll_status batcher_init(struct batcher *batcher, const int32_t *tokens, size_t count, int rows, int steps,
                           uint64_t seed)
{
    size_t piece = count > 0 ? (count - 1) / (size_t)rows : 0;

    if (piece < (size_t)steps)
        return too_short(count, rows, steps);
    *batcher = (struct batcher){
        .tokens = tokens, .count = count, .rows = rows, .steps = steps, .seed = seed,
        .piece = piece, .windows = (int64_t)(piece / (size_t)steps),
    };
    return UNROLL_OK;
}

/* Uniform over all places at which the last row still ends inside the text. */
static size_t shift_of_epoch(const struct batcher *batcher, int64_t epoch)
{
    size_t last_row = (size_t)(batcher->rows - 1) * batcher->piece;
    size_t window_symbols = (size_t)batcher->windows * (size_t)batcher->steps;
    size_t spare = batcher->count - 1 - last_row - window_symbols;
    struct rng rng = rng_at(batcher->seed, SHIFT_STREAM, (uint64_t)epoch * WORDS_OF_A_BLOCK);

    return (size_t)rng_below(&rng, spare + 1);
}

void batcher_fill(const struct batcher *batcher, struct cursor cursor, int32_t *inputs, int32_t *targets)
{
    size_t first = shift_of_epoch(batcher, cursor.epoch) + (size_t)cursor.window * (size_t)batcher->steps;
    size_t rows = (size_t)batcher->rows;

    for (size_t row = 0; row < rows; row++) {
        const int32_t *from = batcher->tokens + row * batcher->piece + first;
        for (size_t t = 0; t < (size_t)batcher->steps; t++) {
            inputs[t * rows + row] = from[t];
            targets[t * rows + row] = from[t + 1];
        }
    }
}

struct cursor batcher_next(const struct batcher *batcher, struct cursor cursor)
{
    if (++cursor.window == batcher->windows)
        cursor = (struct cursor){cursor.epoch + 1, 0};
    return cursor;
}
