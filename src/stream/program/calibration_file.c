/* Reads a calibration file, .npy or .npz: inputs similar to future ones. calibrate.c uses them. */
#include "base/memory.h"
#include "base/status.h"
#include "stream/program/integers.h"
#include "io/npy.h"
#include <string.h>

/* Checks the shape of tokens or numbers; `inner` is 1 if a frame has its own axis. */
static unroll_status check_shape(const struct tensor_view *t, const char *path, const struct unroll_model *m,
                                 bool tokens, size_t width)
{
    const int inner = m->tokens ? 0 : 1;
    if (t->rank != inner + 1 && t->rank != inner + 2)
        return fail(UNROLL_DATA, "'%s' has %d axes, but a calibration is %s; fix: save frames as the model reads them",
                    path, t->rank,
                    m->tokens ? "[T] or [T, B] tokens"
                    : tokens  ? "tokens [T, token columns] or [T, B, token columns]"
                              : "[T, input] or [T, B, input]");
    if (inner && t->shape[t->rank - 1] != width)
        return fail(UNROLL_DATA,
                    "'%s' has frames of %llu %s; the model reads %zu; fix: save frames as the model reads them", path,
                    (unsigned long long)t->shape[t->rank - 1], tokens ? "tokens" : "numbers", width);
    return UNROLL_OK;
}

/* Reads an array of tokens or numbers; steps and rows must match those of an earlier one. */
static unroll_status take_array(const struct tensor_view *t, const char *path, const struct unroll_model *m,
                                bool tokens, struct calibration_data *c, void **room)
{
    const size_t width = (size_t)(tokens ? model_token_columns(m) : model_numbers(m));
    TRY(check_shape(t, path, m, tokens, width));
    const size_t rows = t->rank == (m->tokens ? 2 : 3) ? (size_t)t->shape[1] : 1, steps = (size_t)t->shape[0];
    const size_t count = steps * rows * width; /* npy.c has checked that the file is this long */
    if (c->rows && (c->steps != steps || c->rows != rows))
        return fail(UNROLL_DATA,
                    "'%s': tokens and x have different numbers of steps or rows; fix: save frames as the model reads "
                    "them",
                    path);
    c->steps = steps;
    c->rows = rows;
    float *x;
    TRY(ALLOCATE(x, count ? count : 1, "for a calibration of %zu values", count));
    *room = x;
    TRY(tensor_view_to_floats(t, x));
    if (!tokens) {
        c->frames = x;
        return UNROLL_OK;
    }
    c->tokens = (int32_t *)x;
    for (size_t i = 0; i < count; i++) {
        if (!(x[i] >= 0 && x[i] < (float)model_categories(m, (int)(i % width))) || x[i] != (float)(int32_t)x[i])
            return fail(UNROLL_DATA,
                        "the calibration contains %g, which is not a token of the model; fix: use tokens of the model",
                        (double)x[i]);
        ((int32_t *)x)[i] = (int32_t)x[i];
    }
    return UNROLL_OK;
}

/* Reads the single array, or those named as in unroll_model_run. */
static unroll_status take_arrays(const struct npz *file, const char *path, const struct unroll_model *m,
                                 struct calibration_data *c, void *room[2])
{
    static const char *const names[] = {"tokens", "x"};
    if (m->n_inputs == 1)
        return npz_count(file) == 1
                   ? take_array(npz_at(file, 0), path, m, m->tokens, c, &room[0])
                   : fail(UNROLL_DATA, "'%s' contains %d arrays, but a calibration is one array; fix: save one array",
                          path, npz_count(file));
    for (int i = 0; i < 2; i++) {
        const struct tensor_view *t = npz_find(file, names[i]);
        if (!(i ? model_numbers(m) : model_token_columns(m)))
            continue;
        if (!t)
            return fail(UNROLL_DATA, "'%s' has no array '%s', which the model reads; fix: give a .npz", path, names[i]);
        TRY(take_array(t, path, m, !i, c, &room[i]));
    }
    return UNROLL_OK;
}

unroll_status calibration_open(const char *path, const struct unroll_model *m, struct calibration_file *f)
{
    struct npz *file;
    *f = (struct calibration_file){.room = {NULL, NULL}};
    if (!path)
        return UNROLL_OK;
    TRY(npz_open(path, &file));
    unroll_status status = take_arrays(file, path, m, &f->c, f->room);
    npz_close(file);
    if (status != UNROLL_OK)
        calibration_close(f);
    return status;
}

void calibration_close(struct calibration_file *f)
{
    release(f->room[0]);
    release(f->room[1]);
}
