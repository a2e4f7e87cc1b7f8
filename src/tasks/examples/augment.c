#include "tasks/examples/augment.h"

#include <string.h>

#include "base/philox.h"

enum { STREAM = 0x6175676d }; /* "augm" */

unroll_status augment_read(const char *text, bool pooled, uint64_t seed, struct augment *augment)
{
    static const struct key keys[] = {
        {.name = "noise", .min = 0, .max = 10.5, .offset = offsetof(struct augment, noise)},
        {.name = "shift", .min = 0, .max = 1 << 20, .offset = offsetof(struct augment, shift)},
        {.name = "mask", .min = 0, .max = 1 << 20, .offset = offsetof(struct augment, mask)},
        {0}};
    *augment = (struct augment){.seed = seed};
    TRY(key_values_read(text, "`augment`", keys, augment));
    if (!pooled && (augment->shift > 0 || augment->mask > 0))
        return fail(
            UNROLL_USAGE,
            "`augment`: shift and mask would separate the targets of the steps from their inputs; fix: use only noise");
    return UNROLL_OK;
}

/* Draws with mean 0 and variance 1: the sum of four uniform values, which does not depend on a library's logarithm. */
static float draw_normal(struct rng *rng)
{
    float sum = -2;
    for (int i = 0; i < 4; i++) sum += rng_uniform(rng);
    return sum * 1.7320508f;
}

/* Replaces a step by another one: all ids and numbers. */
static void copy_step(const struct features *f, int from, int to, int row, int rows, struct task_batch *batch)
{
    size_t source = (size_t)from * (size_t)rows + (size_t)row, target = (size_t)to * (size_t)rows + (size_t)row;
    if (f->tokens)
        memcpy(batch->tokens + target * (size_t)f->tokens, batch->tokens + source * (size_t)f->tokens,
               (size_t)f->tokens * sizeof *batch->tokens);
    if (f->numbers)
        memcpy(batch->inputs + target * (size_t)f->numbers, batch->inputs + source * (size_t)f->numbers,
               (size_t)f->numbers * sizeof *batch->inputs);
}

/* Shifts a row later by `by` steps, or earlier if negative. */
static void move(const struct features *f, int by, int length, int row, int rows, struct task_batch *batch)
{
    for (int t = length - 1; by > 0 && t > 0; t--) copy_step(f, t > by ? t - by : 0, t, row, rows, batch);
    for (int t = 0; by < 0 && t < length - 1; t++)
        copy_step(f, t - by < length ? t - by : length - 1, t, row, rows, batch);
}

static void mask(const struct features *f, int from, int to, int row, int rows, struct task_batch *batch)
{
    for (int t = from; t < to; t++) {
        const size_t step = (size_t)t * (size_t)rows + (size_t)row;
        int place = 0;
        if (f->numbers)
            memset(batch->inputs + step * (size_t)f->numbers, 0, (size_t)f->numbers * sizeof *batch->inputs);
        for (int i = 0; i < f->count; i++)
            if (f->feature[i].ids)
                batch->tokens[step * (size_t)f->tokens + (size_t)place++] = f->feature[i].ids - 1;
    }
}

/* Adds noise to numbers, but not to the masks after them. */
static void add_noise(const struct features *f, float noise, struct rng *rng, int length, int row, int rows,
                      struct task_batch *batch)
{
    for (int t = 0; t < length; t++) {
        float *at = batch->inputs + ((size_t)t * (size_t)rows + (size_t)row) * (size_t)f->numbers;
        for (int i = 0; i < f->count; at += f->feature[i].width + f->feature[i].masks, i++)
            for (int k = 0; k < f->feature[i].width; k++) at[k] += noise * draw_normal(rng);
    }
}

void augment_row(const struct augment *a, const struct features *features, int64_t epoch, size_t step, int length,
                 int row, int rows, struct task_batch *batch)
{
    struct rng rng = rng_at(a->seed ^ (uint64_t)step << 20, STREAM + ((uint64_t)epoch << 32), 0);
    if (a->shift > 0)
        move(features, (int)rng_below(&rng, 2 * (uint64_t)a->shift + 1) - (int)a->shift, length, row, rows, batch);
    if (a->mask > 0) {
        int steps = (int)rng_below(&rng, (uint64_t)a->mask + 1), from;
        steps = steps < length ? steps : length - 1;
        from = (int)rng_below(&rng, (uint64_t)(length - steps) + 1);
        mask(features, from, from + steps, row, rows, batch);
    }
    if (a->noise > 0 && features->numbers)
        add_noise(features, (float)a->noise, &rng, length, row, rows, batch);
}
