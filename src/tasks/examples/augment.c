#include "tasks/examples/augment.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/philox.h"

enum { STREAM = 0x6175676d }; /* "augm" */

const char augment_of_bands[] = "warp=0.12,stretch=0.2,level=3,tilt=2,floor=9";
const char augment_of_steps[] = "warp=0.12,level=2,tilt=1.5";

unroll_status augment_read(const char *text, bool pooled, uint64_t seed, struct augment *augment)
{
    static const struct key keys[] = {
        {.name = "noise", .min = 0, .max = 10.5, .offset = offsetof(struct augment, noise)},
        {.name = "shift", .min = 0, .max = 1 << 20, .offset = offsetof(struct augment, shift)},
        {.name = "mask", .min = 0, .max = 1 << 20, .offset = offsetof(struct augment, mask)},
        {.name = "stretch", .min = 0, .max = 0.5, .offset = offsetof(struct augment, stretch)},
        {.name = "warp", .min = 0, .max = 0.5, .offset = offsetof(struct augment, warp)},
        {.name = "bands", .min = 0, .max = 1 << 20, .offset = offsetof(struct augment, bands)},
        {.name = "level", .min = 0, .max = 100.5, .offset = offsetof(struct augment, level)},
        {.name = "tilt", .min = 0, .max = 100.5, .offset = offsetof(struct augment, tilt)},
        {.name = "floor", .min = 0, .max = 100.5, .offset = offsetof(struct augment, floor)},
        {0}};
    *augment = (struct augment){.seed = seed};
    if (text && strcmp(text, "none") == 0)
        return UNROLL_OK;
    TRY(key_values_read(text, "`augment`", keys, augment));
    if (!pooled && (augment->shift > 0 || augment->mask > 0 || augment->stretch > 0))
        return fail(UNROLL_USAGE, "`augment`: shift, mask and stretch would separate the targets of the steps from "
                                  "their inputs; fix: use only noise, warp, bands, level, tilt and floor");
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

/* Draws a factor from 1 - by to 1 + by. */
static float draw_factor(struct rng *rng, double by) { return 1 + (float)by * (2 * rng_uniform(rng) - 1); }

/* The position from which element i of an axis [count] is read: at slope i + offset, between two neighbors. */
static int source_of(int i, int count, float slope, float offset, float *part)
{
    float at = slope * (float)i + offset;
    at = at<0 ? 0 : at>(float)(count - 1) ? (float)(count - 1) : at;
    *part = at - (float)(int)at;
    return (int)at;
}

/* Resamples an axis [count] with this stride to `to` elements, in place: forward if it reads later elements, backward
 * if it reads earlier ones, so no element is read after it is written. */
static void resample(float *x, size_t stride, int count, int to, float slope, float offset)
{
    const bool forward = slope >= 1;
    float part;
    for (int k = 0; k < to; k++) {
        const int i = forward ? k : to - 1 - k, from = source_of(i, count, slope, offset, &part);
        const float left = x[(size_t)from * stride], right = x[(size_t)(from + (from + 1 < count)) * stride];
        x[(size_t)i * stride] = left + part * (right - left);
    }
}

/* Makes a row of `length` steps one of `to` steps: interpolates numbers, and repeats or leaves out ids. */
static void stretch(const struct features *f, int length, int to, int row, int rows, struct task_batch *batch)
{
    const float slope = to > 1 ? (float)(length - 1) / (float)(to - 1) : 1;
    const size_t numbers = (size_t)f->numbers, tokens = (size_t)f->tokens;
    float part;
    for (size_t k = 0; k < numbers; k++)
        resample(batch->inputs + (size_t)row * numbers + k, (size_t)rows * numbers, length, to, slope, 0);
    for (int k = 0; k < to && tokens; k++) {
        const int t = slope >= 1 ? k : to - 1 - k, from = source_of(t, length, slope, 0, &part);
        memmove(batch->tokens + ((size_t)t * (size_t)rows + (size_t)row) * tokens,
                batch->tokens + ((size_t)from * (size_t)rows + (size_t)row) * tokens, tokens * sizeof *batch->tokens);
    }
}

enum { BANDS = AUGMENT_BANDS };

/* What change_bands does to the numbers of a feature at each step. */
struct bands {
    float factor, level, floor;
    float tilt, slope; /* of the level and the floor: added to the last number, and subtracted from the first */
    int from, masked;  /* these numbers are 0, which is their mean */
};

static void change_bands(const struct bands *b, int width, float masked, struct rng *rng, float *x)
{
    const float ripple = 0.2f;
    if (b->factor != 1)
        resample(x, 1, width, width, b->factor, b->factor - 1);
    for (int k = 0; k < width; k++) {
        const float at = width > 1 ? 2 * (float)k / (float)(width - 1) - 1 : 0;
        const float floor = b->floor > -FLT_MAX ? b->floor + b->slope * at + ripple * draw_normal(rng) : -FLT_MAX;
        x[k] = x[k] < floor ? floor : x[k];
        x[k] = k >= b->from && k < b->from + b->masked ? masked : x[k] + b->level + b->tilt * at;
    }
}

/* Changes the bands whose cosine transform the cepstral coefficients of a step are. */
static void change_cepstra(const struct augment *a, const struct feature *f, const struct bands *b, struct rng *rng,
                           float *x)
{
    float band[BANDS] = {0};
    for (int c = 0; c < f->width; c++) {
        const float cepstrum = x[c] / f->scale[c] + f->shift[c];
        for (int m = 0; m < BANDS; m++) band[m] += cepstrum * a->cosine[c][m];
    }
    change_bands(b, BANDS, (x[0] / f->scale[0] + f->shift[0]) * a->cosine[0][0], rng, band);
    for (int c = 0; c < f->width; c++) {
        float sum = 0;
        for (int m = 0; m < BANDS; m++) sum += band[m] * a->cosine[c][m];
        x[c] = (sum - f->shift[c]) * f->scale[c];
    }
}

/* Returns the mean of the bands in the loudest step. */
static float loudest_of(const struct augment *a, const struct feature *f, const float *x, size_t stride, int length)
{
    float most = -FLT_MAX;
    for (int t = 0; t < length; t++) {
        const float *step = x + (size_t)t * stride;
        float sum = 0;
        for (int k = 0; k < f->width && !a->cepstral; k++) sum += step[k] / (float)f->width;
        most = fmaxf(most, a->cepstral ? (step[0] / f->scale[0] + f->shift[0]) * a->cosine[0][0] : sum);
    }
    return most;
}

unroll_status augment_cepstra(const struct features *features, struct augment *augment)
{
    const double pi = 3.14159265358979323846;
    for (int i = 0; i < features->count; i++)
        if (features->feature[i].width > BANDS)
            return fail(UNROLL_UNSUPPORTED,
                        "`augment`: %d cepstral coefficients are more than %d; fix: fewer, or none of warp, bands, "
                        "level, tilt and floor",
                        features->feature[i].width, BANDS);
    augment->cepstral = true;
    for (int c = 0; c < BANDS; c++)
        for (int m = 0; m < BANDS; m++)
            augment->cosine[c][m] = (float)(sqrt((c ? 2.0 : 1.0) / BANDS) * cos(pi * c * (m + .5) / BANDS));
    return UNROLL_OK;
}

static struct bands draw_bands(const struct augment *a, int width, float loudest, struct rng *rng)
{
    const float below = (float)a->floor * (0.1f + 0.9f * rng_uniform(rng));
    struct bands b = {.factor = draw_factor(rng, a->warp),
                      .level = draw_factor(rng, a->level) - 1,
                      .tilt = draw_factor(rng, a->tilt) - 1,
                      .slope = draw_factor(rng, fmin(a->floor, 1.5)) - 1,
                      .floor = a->floor > 0 ? loudest - below : -FLT_MAX};
    b.masked = (int)rng_below(rng, (uint64_t)fmin(a->bands, width - 1) + 1);
    b.from = (int)rng_below(rng, (uint64_t)(width - b.masked) + 1);
    return b;
}

/* Moves the numbers of all steps along their feature, raises those below a noise floor, shifts their level, and masks a
 * range of them. */
static void augment_bands(const struct augment *a, const struct features *f, struct rng *rng, int length, int row,
                          int rows, struct task_batch *batch)
{
    const size_t stride = (size_t)rows * (size_t)f->numbers;
    float *at = batch->inputs + (size_t)row * (size_t)f->numbers;
    for (int i = 0; i < f->count; at += f->feature[i].width + f->feature[i].masks, i++) {
        const struct feature *feature = &f->feature[i];
        if (feature->width == 0)
            continue;
        const struct bands b =
            draw_bands(a, a->cepstral ? BANDS : feature->width, loudest_of(a, feature, at, stride, length), rng);
        for (int t = 0; t < length && a->cepstral; t++) change_cepstra(a, feature, &b, rng, at + (size_t)t * stride);
        for (int t = 0; t < length && !a->cepstral; t++)
            change_bands(&b, feature->width, 0, rng, at + (size_t)t * stride);
    }
}

static bool changes_bands(const struct augment *a)
{
    return a->warp > 0 || a->bands > 0 || a->level > 0 || a->tilt > 0 || a->floor > 0;
}

int augment_row(const struct augment *a, const struct features *features, int64_t epoch, size_t step, int length,
                int row, const struct shape *shape, struct task_batch *batch)
{
    const int rows = shape->rows;
    struct rng rng = rng_at(a->seed ^ (uint64_t)step << 20, STREAM + ((uint64_t)epoch << 32), 0);
    if (a->stretch > 0 && batch->lengths) {
        const int wanted = (int)((float)length * draw_factor(&rng, a->stretch) + 0.5f), to = wanted < 1 ? 1
                                                                                             : wanted > shape->steps
                                                                                                 ? shape->steps
                                                                                                 : wanted;
        stretch(features, length, to, row, rows, batch);
        length = to;
    }
    if (changes_bands(a) && features->numbers)
        augment_bands(a, features, &rng, length, row, rows, batch);
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
    return length;
}
