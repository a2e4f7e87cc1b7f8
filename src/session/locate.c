#include "session/locate.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double number_at(const void *at, enum dtype dtype, uint64_t i)
{
    return dtype == DTYPE_F64 ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

/* Index of the first number of a buffer that is not finite, or -1. */
static int64_t first_bad(struct instance *in, const struct buffer *b)
{
    const void *at = instance_buffer(in, b->name);
    for (uint64_t i = 0; at && i < b->bytes / dtype_size(b->dtype); i++)
        if (!isfinite(number_at(at, b->dtype, i)))
            return (int64_t)i;
    return -1;
}

static const char *kind_of(struct instance *in, const struct buffer *b, int64_t i)
{
    return isnan(number_at(instance_buffer(in, b->name), b->dtype, (uint64_t)i)) ? "NaN" : "infinite";
}

static bool locate_parameter(struct instance *in, const struct plan *p, char *room, size_t size)
{
    for (int i = 0; i < p->buffers; i++) {
        const struct buffer *b = &p->buffer[i];
        int64_t bad = b->segment == SEG_PARAM && b->bytes ? first_bad(in, b) : -1;
        if (bad < 0)
            continue;
        snprintf(room, size, "the weight '%s' is %s at number %lld", b->name, kind_of(in, b, bad), (long long)bad);
        return true;
    }
    return false;
}

/* [T, B, G, U]: the index names them all. Rows and steps beyond a length are zero and never bad. */
static bool locate_gate(struct instance *in, const struct plan *p, const char *name, int layer, int direction,
                        char *room, size_t size)
{
    int index = plan_find_buffer(p, name);
    const struct buffer *b = index < 0 ? NULL : &p->buffer[index];
    int64_t bad = b && b->bytes ? first_bad(in, b) : -1;
    if (bad < 0)
        return false;
    const struct cell_declaration *cell = p->model->declaration;
    int64_t unit = bad % b->size[3], gate = bad / b->size[3] % b->size[2];
    int64_t row = bad / b->size[3] / b->size[2] % b->size[1], t = bad / b->size[3] / b->size[2] / b->size[1];
    snprintf(room, size, "layer %d%s, gate %s, t = %lld, row %lld, unit %lld is %s", layer,
             direction ? " backward" : "", gate < cell->saved ? cell->saved_value[gate] : cell->input[gate].name,
             (long long)t, (long long)row, (long long)unit, kind_of(in, b, bad));
    return true;
}

void locate_in_forward(struct instance *in, const struct plan *p, char *room, size_t size)
{
    *room = 0;
    if (locate_parameter(in, p, room, size) || p->config.mode != MODE_TRAIN)
        return;                                         /* without a backward the gates' memory is used again */
    for (int layer = 0; layer < p->model->spec.layers; layer++)
        for (int direction = 0; direction < p->model->directions; direction++) {
            char name[32];
            snprintf(name, sizeof name, "g.l%d%s", layer, direction ? ".reverse" : "");
            if (locate_gate(in, p, name, layer, direction, room, size))
                return;
        }
}

void locate_in_gradients(struct instance *in, const struct plan *p, char *room, size_t size)
{
    const double *norms = instance_buffer(in, "norms");
    *room = 0;
    for (int i = 0; i < p->model->parameters; i++)
        if (!isfinite(norms[i])) {
            snprintf(room, size, "the gradient of '%s'", p->model->parameter[i].name);
            return;
        }
}
