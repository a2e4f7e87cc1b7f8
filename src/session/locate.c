#include "session/locate.h"
#include "base/memory.h"
#include <math.h>
#include <stdio.h>

static double number_at(const void *at, enum dtype dtype, uint64_t i)
{
    return dtype == DTYPE_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

struct bad { int64_t index; const char *kind; };        /* -1: all numbers are finite */

static struct bad first_bad(const struct device *device, void *instance, const struct buffer *b)
{
    struct bad bad = { -1, "" };
    void *copy = b->bytes ? allocate_zeroed(1, b->bytes) : NULL;
    if (copy && device->read(instance, b->name, 0, b->bytes, copy) == UNROLL_OK)
        for (uint64_t i = 0; i < b->bytes / dtype_size(b->dtype) && bad.index < 0; i++)
            if (!isfinite(number_at(copy, b->dtype, i)))
                bad = (struct bad){ (int64_t)i, isnan(number_at(copy, b->dtype, i)) ? "NaN" : "infinite" };
    release(copy);
    return bad;
}

static bool locate_parameter(const struct device *device, void *instance, const struct plan *p, char *room,
                             size_t size)
{
    for (int i = 0; i < p->buffers; i++) {
        const struct buffer *b = &p->buffer[i];
        if (b->segment != SEG_PARAM)
            continue;
        struct bad bad = first_bad(device, instance, b);
        if (bad.index < 0)
            continue;
        snprintf(room, size, "the weight '%s' is %s at number %lld", b->name, bad.kind, (long long)bad.index);
        return true;
    }
    return false;
}

/* [T, B, G, U]: the index names them all. Rows and steps beyond a length are zero and never bad. */
static bool locate_gate(const struct device *device, void *instance, const struct plan *p, int layer, int direction,
                        char *room, size_t size)
{
    char name[32];
    snprintf(name, sizeof name, "g.l%d%s", layer, direction ? ".reverse" : "");
    int index = plan_find_buffer(p, name);
    if (index < 0)
        return false;
    const struct buffer *b = &p->buffer[index];
    const struct cell_declaration *cell = p->model->layer[layer].cell;
    struct bad found = first_bad(device, instance, b);
    int64_t bad = found.index;
    if (bad < 0)
        return false;
    int64_t unit = bad % b->size[3], gate = bad / b->size[3] % b->size[2];
    int64_t row = bad / b->size[3] / b->size[2] % b->size[1], t = bad / b->size[3] / b->size[2] / b->size[1];
    snprintf(room, size, "layer %d%s, gate %s, t = %lld, row %lld, unit %lld is %s", layer,
             direction ? " backward" : "", gate < cell->saved ? cell->saved_value[gate] : cell->input[gate].name,
             (long long)t, (long long)row, (long long)unit, found.kind);
    return true;
}

void locate_in_forward(const struct device *device, void *instance, const struct plan *p, char *room, size_t size)
{
    *room = 0;
    if (locate_parameter(device, instance, p, room, size) || p->config.mode != MODE_TRAIN)
        return;                                         /* without a backward the gates' memory is used again */
    if (p->config.checkpoint && p->config.chunks > 1) {
        snprintf(room, size, "unknown, because earlier steps are not kept (checkpoint_time)");
        return;
    }
    for (int layer = 0; layer < p->model->layers; layer++)
        for (int direction = 0; direction < p->model->layer[layer].directions; direction++)
            if (locate_gate(device, instance, p, layer, direction, room, size))
                return;
}

void locate_in_gradients(const struct device *device, void *instance, const struct plan *p, char *room, size_t size)
{
    const double *norms = device->host(instance, "norms");
    *room = 0;
    for (int i = 0; i < p->model->parameters; i++)
        if (!isfinite(norms[i])) {
            snprintf(room, size, "the gradient of '%s'", p->model->parameter[i].name);
            return;
        }
}
