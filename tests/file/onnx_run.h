/* Runs an imported ONNX graph on arrays by the graph's names and compares its named outputs, for tests. In the library,
 * networks have one input and numbered outputs. */
#ifndef TESTS_FILE_ONNX_RUN_H
#define TESTS_FILE_ONNX_RUN_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "io/npy.h"
#include "convert/onnx/onnx_import.h"
#include "model/layer_kind.h"
#include "unroll_train.h"

/* What a run may omit, to check that the comparison detects it. */
struct onnx_mutation {
    bool no_lengths, no_states;
};

struct onnx_run {
    const struct onnx_import *im;
    const struct tensor_view *(*find)(void *arg, const char *name);
    void *arg;
    struct onnx_mutation mutation;
    unroll_session *session;
    int T, B;
    int32_t *lengths;
    float *read[2 * IMPORT_LAYERS + 2][3]; /* of each layer: y; h and c of both directions */
};

static inline double onnx_number(const struct tensor_view *t, size_t i)
{
    const char *at = (const char *)t->data + i * dtype_size(t->dtype); /* arrays in an archive are not aligned */
    float f;
    int32_t n;
    int64_t wide;
    switch (t->dtype) {
    case DTYPE_F32: memcpy(&f, at, sizeof f); return f;
    case DTYPE_I32: memcpy(&n, at, sizeof n); return n;
    case DTYPE_I64: memcpy(&wide, at, sizeof wide); return (double)wide;
    default: return NAN;
    }
}

static inline const struct tensor_view *onnx_array(const struct onnx_run *r, int input)
{
    return r->find(r->arg, r->im->file->input[input].name);
}

/* Returns the position of the axis in the sequence's array; -1: added in the graph. */
static inline int onnx_position(const struct onnx_import *im, int id)
{
    int position = id - AXIS_OF_INPUT - im->sequence * ONNX_RANK;
    return position >= 0 && position < ONNX_RANK ? position : -1;
}

/* Returns the index of (t, b, k) in the sequence. */
static inline size_t onnx_index(const struct onnx_import *im, const struct tensor_view *x, int t, int b, int k)
{
    size_t index = 0;
    for (int axis = 0; axis < x->rank; axis++) {
        int at = axis == onnx_position(im, im->time) ? t : axis == onnx_position(im, im->batch) ? b : k;
        index = index * (size_t)x->shape[axis] + (size_t)at;
    }
    return index;
}

/* Opens a session with the sizes and lengths of the given inputs. */
static inline unroll_status onnx_open_session(struct onnx_run *r)
{
    const struct onnx_import *im = r->im;
    unroll_session_config config = unroll_session_config_default();
    const struct tensor_view *x = onnx_array(r, im->sequence),
                             *lengths = im->lengths < 0 ? NULL : onnx_array(r, im->lengths);
    int t = onnx_position(im, im->time), b = onnx_position(im, im->batch);
    if (!x || (im->lengths >= 0 && !lengths))
        return fail(UNROLL_DATA, "an array of the graph's inputs is missing");
    r->T = t < 0 ? 1 : (int)x->shape[t];
    r->B = b < 0 ? 1 : (int)x->shape[b];
    config.steps = r->T;
    config.rows = r->B;
    config.lengths = lengths && !r->mutation.no_lengths;
    config.machine.threads = 1;
    if (config.lengths) {
        r->lengths = calloc((size_t)r->B, sizeof *r->lengths);
        for (int i = 0; i < r->B; i++) r->lengths[i] = (int32_t)onnx_number(lengths, (size_t)i);
    }
    return unroll_session_new(im->model, &config, &r->session);
}

/* Writes the initial states from the given inputs. */
static inline unroll_status onnx_write_states(struct onnx_run *r)
{
    for (int i = 0; i < r->im->states && !r->mutation.no_states; i++) {
        const struct state_use *s = &r->im->state[i];
        const struct tensor_view *a = onnx_array(r, s->input);
        size_t hidden = (size_t)r->im->layer[s->layer].layer.width,
               rows = a ? (size_t)a->shape[s->batch_first ? 1 : 0] : 0;
        float *h = calloc((size_t)r->B * hidden, sizeof *h);
        char name[64];
        snprintf(name, sizeof name, "%s0.l%d%s", s->is_cell ? "s" : "h", s->layer, s->direction ? ".reverse" : "");
        for (size_t b = 0; a && b < (size_t)r->B; b++) {
            const size_t row = s->batch_first ? b * rows + (size_t)s->row : (size_t)s->row * (size_t)r->B + b;
            for (size_t u = 0; u < hidden; u++) h[b * hidden + u] = (float)onnx_number(a, row * hidden + u);
        }
        unroll_status status = unroll_session_write(r->session, name, h, (size_t)r->B * hidden);
        free(h);
        if (status != UNROLL_OK)
            return status;
    }
    return UNROLL_OK;
}

/* Runs the session on the input sequence. */
static inline unroll_status onnx_forward(struct onnx_run *r)
{
    const struct onnx_import *im = r->im;
    const struct tensor_view *x = onnx_array(r, im->sequence);
    size_t cells = (size_t)r->T * (size_t)r->B, width = im->tokens ? 1 : (size_t)im->input;
    float *inputs = calloc(cells * width, sizeof *inputs);
    int32_t *tokens = calloc(cells, sizeof *tokens);
    for (int t = 0; t < r->T; t++)
        for (int b = 0; b < r->B; b++)
            for (size_t k = 0; k < width; k++) {
                double value = onnx_number(x, onnx_index(im, x, t, b, (int)k));
                size_t at = (size_t)t * (size_t)r->B + (size_t)b;
                tokens[at] = im->tokens ? (int32_t)value : 0;
                inputs[at * width + k] = (float)value;
            }
    unroll_batch batch = {.size = sizeof batch,
                          .tokens = im->tokens ? tokens : NULL,
                          .inputs = im->tokens ? NULL : inputs,
                          .lengths = r->lengths};
    unroll_status status = unroll_session_forward(r->session, &batch);
    free(inputs);
    free(tokens);
    return status;
}

/* Returns the values of a buffer of the session, read once. */
static inline const float *onnx_buffer(struct onnx_run *r, const struct onnx_part *q)
{
    bool last = q->index + 1 == r->im->model->layers && r->im->model->layer[q->index].kind->is_affine;
    int slot = q->kind == PIECE_Y ? q->index : q->index * 2 + q->direction, kind = (int)q->kind - PIECE_Y;
    char name[64];
    if (q->kind == PIECE_Y)
        snprintf(name, sizeof name, last ? "z" : "y.l%d", q->index);
    else
        snprintf(name, sizeof name, "%sn.l%d%s", q->kind == PIECE_H ? "h" : "s", q->index,
                 q->direction ? ".reverse" : "");
    if (!r->read[slot][kind]) {
        size_t count = unroll_session_count(r->session, name);
        float *numbers = calloc(count + 1, sizeof *numbers);
        if (!count || unroll_session_read(r->session, name, numbers, count) != UNROLL_OK)
            printf("no buffer '%s': %s\n", name, unroll_last_error());
        r->read[slot][kind] = numbers;
    }
    return r->read[slot][kind];
}

/* Returns the network's value for one element of an output; NAN if it cannot be compared: the padding of dense
 * layers. */
static inline double onnx_expect(struct onnx_run *r, const struct symbolic *f, int t, int b, int s, int64_t k)
{
    const struct onnx_part *q = &f->piece[s * f->pieces];
    for (; k >= q->width; q++) k -= q->width;
    const float *numbers = onnx_buffer(r, q);
    if (q->kind != PIECE_Y)
        return numbers[b * q->width + k];
    if (f->reading == LAST_STEP || f->reading == LAST_VALID)
        t = f->reading == LAST_VALID && r->lengths ? r->lengths[b] - 1 : r->T - 1;
    const struct layer *l = &r->im->model->layer[q->index];
    if (t < 0 || (r->lengths && t >= r->lengths[b] && l->kind->is_affine))
        return NAN;
    return numbers[((size_t)t * (size_t)r->B + (size_t)b) * l->outputs + (size_t)(q->first + k)];
}

/* Adds the index along one axis of an output to t, b, stack and feature. */
static inline void onnx_step(const struct onnx_import *im, int id, int64_t at, int *t, int *b, int *s, int64_t *k)
{
    if (id == AXIS_FEATURE)
        *k = at;
    else if (id == AXIS_STACK)
        *s = (int)at;
    else if (id >= AXIS_OF_INPUT && id == im->time)
        *t = (int)at;
    else if (id >= AXIS_OF_INPUT && id == im->batch)
        *b = (int)at;
}

/* Returns the largest difference from `reference`, relative to 1; -1 if shapes differ. */
static inline double onnx_compare(struct onnx_run *r, const char *output, const struct tensor_view *reference)
{
    const struct symbolic *f = &onnx_value(r->im, output)->symbolic;
    size_t count = 1;
    double worst = 0;
    if (reference->rank != f->rank)
        return -1;
    for (int k = 0; k < f->rank; k++) count *= (size_t)reference->shape[k];
    for (size_t i = 0; i < count; i++) {
        int t = 0, b = 0, s = 0;
        int64_t k = 0;
        size_t rest = i;
        for (int axis = f->rank - 1; axis >= 0; axis--) {
            const struct symbolic_axis *a = &f->axis[axis];
            int64_t at = (int64_t)(rest % reference->shape[axis]);
            int64_t second = a->second == r->im->time ? r->T : r->B;
            rest /= reference->shape[axis];
            onnx_step(r->im, a->id, a->second ? at / second : at, &t, &b, &s, &k);
            if (a->second)
                onnx_step(r->im, a->second, at % second, &t, &b, &s, &k);
        }
        double ours = onnx_expect(r, f, t, b, s, k), theirs = onnx_number(reference, i);
        double difference = fabs(ours - theirs);
        if (!isnan(ours) && !(difference <= worst))
            worst = difference;
    }
    return worst;
}

/* Returns the largest difference over all outputs with a reference, and their number in *compared. Negative: the graph
 * could not be run. */
static inline double onnx_run_and_compare(struct onnx_run *r, int *compared)
{
    double worst = 0;
    *compared = 0;
    unroll_status status = onnx_open_session(r);
    if (status == UNROLL_OK)
        status = onnx_write_states(r);
    if (status == UNROLL_OK)
        status = onnx_forward(r);
    for (int i = 0; i < r->im->file->outputs && status == UNROLL_OK; i++) {
        const struct tensor_view *reference = r->find(r->arg, r->im->file->output[i].name);
        double difference = reference ? onnx_compare(r, r->im->file->output[i].name, reference) : 0;
        *compared += reference != NULL;
        worst = difference < 0 || difference > worst || isnan(difference) ? fabs(difference) : worst;
    }
    unroll_session_free(r->session);
    for (size_t i = 0; i < sizeof r->read / sizeof *r->read; i++)
        for (int k = 0; k < 3; k++) free(r->read[i][k]);
    free(r->lengths);
    return status == UNROLL_OK ? worst : -1;
}

#endif
