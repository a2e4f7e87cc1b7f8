#include "session/locate.h"
#include "base/memory.h"
#include <math.h>
#include <stdio.h>

static double number_at(const void *at, enum dtype dtype, uint64_t i)
{
    return dtype == DTYPE_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

struct bad {
    int64_t index;
    const char *kind;
}; /* -1: all numbers are finite */

static struct bad first_bad(const struct device *device, void *executable, const struct buffer *b)
{
    struct bad bad = {-1, ""};
    void *copy = b->bytes ? allocate_zeroed(1, b->bytes) : NULL;
    if (copy && device->read(executable, b->name, 0, b->bytes, copy) == UNROLL_OK)
        for (uint64_t i = 0; i < b->bytes / dtype_size(b->dtype) && bad.index < 0; i++)
            if (!isfinite(number_at(copy, b->dtype, i)))
                bad = (struct bad){(int64_t)i, isnan(number_at(copy, b->dtype, i)) ? "NaN" : "infinite"};
    release(copy);
    return bad;
}

static bool locate_parameter(const struct device *device, void *executable, const struct plan *p, char *room,
                             size_t size)
{
    for (int i = 0; i < p->buffers; i++) {
        const struct buffer *b = &p->buffer[i];
        if (b->segment != SEG_PARAM)
            continue;
        struct bad bad = first_bad(device, executable, b);
        if (bad.index < 0)
            continue;
        snprintf(room, size, "the weight '%s' is %s at index %lld", b->name, bad.kind, (long long)bad.index);
        return true;
    }
    return false;
}

/* A bad number in a layer; t < 0: none. */
struct element_place {
    int64_t t, row, unit;
    int direction;
    const char *what, *name, *kind;
};

/* Searches g [T, B, G, U]. Steps after a row's end are zero and never bad. */
static struct element_place bad_gate(const struct device *device, void *executable, const struct plan *p, int layer,
                                     int direction)
{
    char name[32];
    snprintf(name, sizeof name, "g.l%d%s", layer, direction ? ".reverse" : "");
    int index = plan_find_buffer(p, name);
    if (index < 0)
        return (struct element_place){.t = -1};
    const struct cell_declaration *cell = p->model->layer[layer].cell;
    const struct buffer *b = &p->buffer[index];
    struct bad bad = first_bad(device, executable, b);
    if (bad.index < 0)
        return (struct element_place){.t = -1};
    int64_t units = b->size[3], gate = bad.index / units % b->size[2], row = bad.index / units / b->size[2];
    return (struct element_place){
        row / b->size[1], row % b->size[1], bad.index % units,
        direction,        "gate",           gate < cell->saved ? cell->saved_value[gate] : cell->input[gate].name,
        bad.kind};
}

/* Searches y [T, B, K] of a recurrent layer, with its directions concatenated. A cell does not save all of its sums,
 * but y contains their results. */
static struct element_place bad_output(const struct device *device, void *executable, const struct plan *p, int layer)
{
    char name[32];
    snprintf(name, sizeof name, "y.l%d", layer);
    int index = plan_find_buffer(p, name);
    if (index < 0)
        return (struct element_place){.t = -1};
    const struct layer *l = &p->model->layer[layer];
    const struct buffer *b = &p->buffer[index];
    struct bad bad = first_bad(device, executable, b);
    if (bad.index < 0)
        return (struct element_place){.t = -1};
    int64_t width = l->width, row = bad.index / b->size[2], unit = bad.index % b->size[2];
    return (struct element_place){
        row / b->size[1], row % b->size[1],  unit % width, l->first_direction || unit >= width,
        "state",          l->cell->state[0], bad.kind};
}

/* Finds the earliest step with a bad number. Within a step the gates come first, because the state is computed from
 * them. */
static bool locate_in_layer(const struct device *device, void *executable, const struct plan *p, int layer, char *room,
                            size_t size)
{
    struct element_place first = {.t = -1};
    const int end = layer_end(&p->model->layer[layer]);
    for (int i = p->model->layer[layer].first_direction; i <= end; i++) {
        struct element_place bad =
            i < end ? bad_gate(device, executable, p, layer, i) : bad_output(device, executable, p, layer);
        if (bad.t >= 0 && (first.t < 0 || bad.t < first.t))
            first = bad;
    }
    if (first.t < 0)
        return false;
    snprintf(room, size, "layer %d%s, %s %s, t = %lld, row %lld, unit %lld is %s", layer,
             first.direction ? " backward" : "", first.what, first.name, (long long)first.t, (long long)first.row,
             (long long)first.unit, first.kind);
    return true;
}

/* Returns the first bad number of the buffer `name` [T, B, N]. */
static struct element_place bad_in_rows(const struct device *device, void *executable, const struct plan *p,
                                        const char *name)
{
    int index = plan_find_buffer(p, name);
    struct bad bad = {-1, ""};
    if (index >= 0)
        bad = first_bad(device, executable, &p->buffer[index]);
    if (bad.index < 0)
        return (struct element_place){.t = -1};
    const struct buffer *b = &p->buffer[index];
    int64_t row = bad.index / b->size[2];
    return (struct element_place){
        .t = row / b->size[1], .row = row % b->size[1], .unit = bad.index % b->size[2], .kind = bad.kind};
}

/* Searches the input of the activation of a layer without a cell, or the output of a linear one. The loss has
 * overwritten the last layer's results with their gradient. There one bad result may affect a whole row, so the output
 * is not reported. */
static bool locate_in_rows(const struct device *device, void *executable, const struct plan *p, int layer, char *room,
                           size_t size)
{
    const bool last = layer + 1 == p->model->layers;
    char sum[32], output[32];
    snprintf(sum, sizeof sum, "a.l%d", layer);
    snprintf(output, sizeof output, "y.l%d", layer);
    struct element_place bad = bad_in_rows(device, executable, p, sum);
    if (bad.t < 0)
        bad = bad_in_rows(device, executable, p, last ? "z" : output);
    if (bad.t < 0)
        return false;
    int used = snprintf(room, size, "layer %d, '%s', t = %lld, row %lld", layer, p->model->layer[layer].name,
                        (long long)bad.t, (long long)bad.row);
    if (used > 0 && (size_t)used < size && !last)
        snprintf(room + used, size - (size_t)used, ", output %lld is %s", (long long)bad.unit, bad.kind);
    return true;
}

void locate_in_forward(const struct device *device, void *executable, const struct plan *p, char *room, size_t size)
{
    *room = 0;
    if (locate_parameter(device, executable, p, room, size) || p->config.mode != MODE_TRAIN)
        return; /* without a backward pass the gates' memory is reused */
    if (p->config.checkpoint && p->config.chunks > 1) {
        snprintf(room, size, "unknown, because earlier steps are not kept (checkpoint_time)");
        return;
    }
    for (int layer = 0; layer < p->model->layers; layer++)
        if ((p->model->layer[layer].cell ? locate_in_layer : locate_in_rows)(device, executable, p, layer, room, size))
            return;
}

void locate_in_gradients(const struct device *device, void *executable, const struct plan *p, char *room, size_t size)
{
    const double *norms = device->host(executable, "norms");
    *room = 0;
    for (int i = 0; norms && i < p->model->parameters; i++)
        if (!isfinite(norms[i])) {
            snprintf(room, size, "the gradient of '%s'", p->model->parameter[i].name);
            return;
        }
}
