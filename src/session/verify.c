/* Compares a model with the results of another tool: the largest differences, array by array. The caller decides which
 * differences are acceptable. */
#include "base/sized.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "session/arrays.h"

struct comparison {
    const struct arrays *arrays;
    const unroll_run_config *config;
    unroll_difference *worst;
    int compared;
};

struct gap {
    double absolute, scale;
}; /* the largest difference, and the magnitude of the reference */

static void widen(struct gap *gap, double reference, double ours)
{
    double difference = fabs(reference - ours);
    if (!(difference <= gap->absolute)) /* also if it is NaN */
        gap->absolute = isnan(difference) ? INFINITY : difference;
    gap->scale = fmax(gap->scale, fabs(reference));
}

/* Updates the worst difference and reports that of one array. */
static void judge_gap(struct comparison *c, const struct tensor_view *reference, const struct gap *gap,
                      const char *what)
{
    /* If the difference is infinite, the scale may be infinite, too. Their quotient would be NaN, which passes any
     * bound. */
    double relative = isinf(gap->absolute) ? INFINITY : gap->absolute > 0 ? gap->absolute / gap->scale : 0;
    char line[400], shape[SHAPE_TEXT];
    if (c->compared++ == 0 || relative > c->worst->relative)
        snprintf(c->worst->array, sizeof c->worst->array, "%.79s", reference->name);
    c->worst->absolute = fmax(c->worst->absolute, gap->absolute);
    c->worst->relative = fmax(c->worst->relative, relative);
    if (!c->config->report)
        return;
    snprintf(line, sizeof line, "%s %s%s: largest difference %.2g, %.2g of the scale %.3g", reference->name,
             tensor_view_shape(reference, shape), what, gap->absolute, relative, gap->scale);
    c->config->report(c->config->arg, line);
}

static unroll_status refuse_shape(const struct comparison *c, const struct tensor_view *reference,
                                  const struct tensor_view *ours)
{
    char given[SHAPE_TEXT], wanted[SHAPE_TEXT];
    int last = ours->rank - 1;
    bool wide = reference->rank == ours->rank && last >= 0 && reference->shape[last] != ours->shape[last];
    /* If the width differs, exchanging rows and steps cannot help. */
    return fail(UNROLL_DATA,
                "'%s': '%s' has the shape %s, but the model returns %s%s; fix: give arrays of these shapes",
                c->arrays->path, reference->name, tensor_view_shape(reference, given), tensor_view_shape(ours, wanted),
                wide ? "" : arrays_hint(c->arrays));
}

static bool same_shape(const struct tensor_view *a, const struct tensor_view *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

/* [B, width]: only the last step of each row, as in a classifier; [width] for a single sequence. */
static bool is_last_step(const struct arrays *a, const struct tensor_view *reference, uint64_t width)
{
    return a->single ? reference->rank == 1 && reference->shape[0] == width
                     : reference->rank == 2 && reference->shape[0] == (uint64_t)a->B && reference->shape[1] == width;
}

static size_t place_of_step(const struct arrays *a, size_t t, size_t b)
{
    return a->batch_first ? b * (size_t)a->T + t : t * (size_t)a->B + b;
}

static unroll_status compare_whole(struct comparison *c, const struct tensor_view *reference, const float *numbers,
                                   const struct tensor_view *ours)
{
    struct gap gap = {0};
    if (!same_shape(reference, ours))
        return refuse_shape(c, reference, ours);
    for (uint64_t i = 0; i < tensor_view_count(ours); i++)
        widen(&gap, (double)numbers[i], (double)((const float *)ours->data)[i]);
    judge_gap(c, reference, &gap, "");
    return UNROLL_OK;
}

/* Compares the steps within each row's length, or only the last one. */
static unroll_status compare_y(struct comparison *c, const struct tensor_view *reference, const float *numbers,
                               const struct tensor_view *ours)
{
    const struct arrays *a = c->arrays;
    size_t width = (size_t)ours->shape[ours->rank - 1];
    if (ours->rank == (a->single ? 1 : 2)) /* one result per sequence */
        return compare_whole(c, reference, numbers, ours);
    bool last = is_last_step(a, reference, width);
    struct gap gap = {0};
    if (!last && !same_shape(reference, ours))
        return refuse_shape(c, reference, ours);
    for (size_t b = 0; b < (size_t)a->B; b++) {
        size_t length = (size_t)(a->lengths ? a->lengths[b] : a->T);
        for (size_t t = last && length ? length - 1 : 0; t < length; t++) {
            const float *y = (const float *)ours->data + place_of_step(a, t, b) * width;
            const float *x = numbers + (last ? b : place_of_step(a, t, b)) * width;
            for (size_t k = 0; k < width; k++) widen(&gap, (double)x[k], (double)y[k]);
        }
    }
    judge_gap(c, reference, &gap, last ? ", the last step of each row" : "");
    return UNROLL_OK;
}

static unroll_status compare_one(struct comparison *c, const struct tensor_view *reference,
                                 const struct tensor_view *ours)
{
    float *numbers;
    TRY(ALLOCATE(numbers, tensor_view_count(reference), "to compare '%s'", reference->name));
    unroll_status status = tensor_view_to_floats(reference, numbers);
    if (status == UNROLL_OK)
        status = (ours->name[0] == 'y' ? compare_y : compare_whole)(c, reference, numbers, ours);
    release(numbers);
    return status;
}

static unroll_status compare_all(struct comparison *c, const struct results *r)
{
    for (int i = 0; i < r->count; i++) {
        const struct tensor_view *reference = npz_find(c->arrays->file, r->name[i]);
        if (reference)
            TRY(compare_one(c, reference, &r->view[i]));
    }
    if (c->compared == 0)
        return fail(UNROLL_DATA, "'%s' has no array to compare with (y, hn or cn); fix: add y to the file",
                    c->arrays->path);
    return UNROLL_OK;
}

static unroll_status compare_file(unroll_model *model, const char *reference, const unroll_run_config *config,
                                  unroll_difference *worst)
{
    struct arrays a;
    struct results r;
    TRY(arrays_open(model, reference, config, &a));
    struct comparison c = {.arrays = &a, .config = config, .worst = worst};
    unroll_status status = arrays_run(model, &a, config, &r);
    if (status == UNROLL_OK) {
        status = compare_all(&c, &r);
        results_free(&r);
    }
    arrays_close(&a);
    return status;
}

unroll_status unroll_model_verify(unroll_model *model, const char *reference, const unroll_run_config *config,
                                  unroll_difference *difference)
{
    unroll_difference worst = {.size = sizeof worst, .absolute = 0};
    unroll_run_config taken;
    unroll_model *own;
    TRY(sized_check(SIZED_RESULT(unroll_difference), difference));
    TRY(arrays_config_take(config, &taken));
    TRY(arrays_model(&model, &taken, &own));
    unroll_status status = compare_file(model, reference, &taken, &worst);
    unroll_model_free(own);
    if (status == UNROLL_OK)
        sized_give(&worst, sizeof worst, difference);
    return status;
}
