/* Packed weights of streams: what may be streamed, where each array lies, and the copy from the model. One
 * walk over the arrays does both: without memory it measures. */
#include "base/status.h"
#include "device/cpu/kernel.h"
#include "model/model.h"
#include "stream/stream.h"
#include <string.h>

/* ---- what may be streamed -------------------------------------------------------------- */

static unroll_status check_model(const unroll_model *m)
{
    if (!m)
        return fail(UNROLL_USAGE, "a stream needs a model");
    if (m->is_network)
        return fail(UNROLL_UNSUPPORTED, "a network that is no plain stack of one cell can't be streamed; fix: run whole "
                    "sequences in a session");
    if (m->spec.bidirectional)
        return fail(UNROLL_UNSUPPORTED, "a bidirectional model can't be streamed: its outputs depend on frames that "
                    "are still to come; fix: train one direction, or run whole sequences in a session");
    return UNROLL_OK;
}

static unroll_status check_config(const unroll_stream_config *c)
{
    if (!c || c->size != sizeof *c)
        return fail(UNROLL_USAGE, "the configuration was not begun with unroll_stream_default()");
    if (c->dtype && strcmp(c->dtype, "fp32"))
        return fail(UNROLL_UNSUPPORTED, "streams keep weights in fp32, not in '%.40s'", c->dtype);
    return UNROLL_OK;
}

/* ---- the walk -------------------------------------------------------------------------- */

struct packer {
    const unroll_model *model;
    struct unroll_stream_weights *to;       /* NULL: measures */
    size_t used;                            /* bytes */
};

/* The next array; *offset is 0 where the model has no such parameter. */
static float *reserve(struct packer *p, size_t floats, size_t *offset)
{
    p->used = (p->used + STREAM_ALIGNMENT - 1) / STREAM_ALIGNMENT * STREAM_ALIGNMENT;
    *offset = p->used;
    p->used += floats * sizeof(float);
    return p->to ? (float *)((char *)p->to + *offset) : NULL;
}

static const struct parameter *find(const struct packer *p, enum parameter_role role, int layer)
{
    int i = model_find(p->model, role, layer, 0);
    return i < 0 ? NULL : &p->model->parameter[i];
}

static const float *values(const struct packer *p, const struct parameter *q)
{
    return p->model->values + q->first;
}

static void pack_dense(struct packer *p, const struct parameter *q, size_t *offset)
{
    *offset = 0;
    float *to = q ? reserve(p, q->count, offset) : NULL;
    if (to)
        memcpy(to, values(p, q), q->count * sizeof *to);
}

/* [G, U] with zeros that fill each row up: to the units of the tiles. */
static void pack_units(struct packer *p, const struct parameter *q, size_t *offset)
{
    *offset = 0;
    if (!q)
        return;
    const size_t gates = q->size[0], units = q->size[1], row = stream_padded(units);
    float *to = reserve(p, gates * row, offset);
    if (to)
        memset(to, 0, gates * row * sizeof *to);
    for (size_t gate = 0; to && gate < gates; gate++)
        memcpy(to + gate * row, values(p, q) + gate * units, units * sizeof *to);
}

/* [.., U, K] as panels: see struct product. */
static void pack_panels(struct packer *p, const struct parameter *q, size_t *offset)
{
    *offset = 0;
    if (!q)
        return;
    const size_t units = q->size[q->rank - 2], width = q->size[q->rank - 1], rows = q->count / width;
    float *to = reserve(p, rows / units * panels(units) * PANEL * width, offset);
    const float *from = values(p, q);
    if (!to)
        return;
    memset(to, 0, rows / units * panels(units) * PANEL * width * sizeof *to);
    for (size_t row = 0; row < rows; row++) {
        size_t unit = row % units, panel = row / units * panels(units) + unit / PANEL;
        for (size_t k = 0; k < width; k++)
            to[(panel * width + k) * PANEL + unit % PANEL] = from[row * width + k];
    }
}

/* [G, U, K] in tiles of units with their gates side by side: see struct fused_weights. */
static void pack_tiles(struct packer *p, const struct parameter *q, size_t *offset)
{
    *offset = 0;
    if (!q)
        return;
    const size_t gates = q->size[0], units = q->size[1], width = q->size[2];
    const size_t count = gates * stream_padded(units) * width;
    float *to = reserve(p, count, offset);
    const float *from = values(p, q);
    if (!to)
        return;
    memset(to, 0, count * sizeof *to);
    for (size_t row = 0; row < gates * units; row++) {
        size_t gate = row / units, unit = row % units;
        for (size_t k = 0; k < width; k++)
            to[((unit / CELL_TILE * width + k) * gates + gate) * CELL_TILE + unit % CELL_TILE] = from[row * width + k];
    }
}

/* What a one-hot symbol makes of the first layer's sums, b + W x, row by row: the sums of a step then begin
 * with a copy. All other terms of the chain are zeros. */
static void pack_symbols(struct packer *p, const struct parameter *q, const struct parameter *bias, size_t *offset)
{
    const size_t gates = q->size[0], units = q->size[1], symbols = q->size[2], row = stream_padded(units);
    float *to = reserve(p, symbols * gates * row, offset);
    if (to)
        memset(to, 0, symbols * gates * row * sizeof *to);
    for (size_t s = 0; to && s < symbols; s++, to += gates * row)
        for (size_t i = 0; i < gates * units; i++)
            to[i / units * row + i % units] = values(p, q)[i * symbols + s] + (bias ? values(p, bias)[i] : 0);
}

static void pack_layer(struct packer *p, int layer, struct layer_weights *w)
{
    const unroll_spec *spec = &p->model->spec;
    *w = (struct layer_weights){ .input = p->model->layer[layer].input };
    if (layer == 0 && spec->tokens && !spec->embed) {
        pack_symbols(p, find(p, PARAM_W_IH, 0), find(p, PARAM_B_IH, 0), &w->w_ih);
    } else {
        pack_tiles(p, find(p, PARAM_W_IH, layer), &w->w_ih);
        pack_units(p, find(p, PARAM_B_IH, layer), &w->b_ih);
    }
    pack_tiles(p, find(p, PARAM_W_HH, layer), &w->w_hh);
    pack_units(p, find(p, PARAM_B_HH, layer), &w->b_hh);
    pack_units(p, find(p, PARAM_VECTOR, layer), &w->vector);
    pack_panels(p, find(p, PARAM_W_HR, layer), &w->projection);
}

static void pack_model(struct packer *p, struct unroll_stream_weights *head)
{
    const unroll_spec *spec = &p->model->spec;
    struct layer_weights layer[MODEL_LAYERS_MAX];
    p->used = sizeof *head + (size_t)spec->layers * sizeof *layer;
    pack_dense(p, find(p, PARAM_EMBEDDING, 0), &head->embedding);
    for (int l = 0; l < spec->layers; l++)
        pack_layer(p, l, &layer[l]);
    pack_panels(p, find(p, spec->tied ? PARAM_EMBEDDING : PARAM_W_DENSE, spec->tied ? 0 : spec->layers), &head->head);
    pack_dense(p, find(p, PARAM_B_DENSE, spec->layers), &head->head_bias);
    head->bytes = (p->used + STREAM_ALIGNMENT - 1) / STREAM_ALIGNMENT * STREAM_ALIGNMENT;
    if (p->to) {
        *p->to = *head;
        memcpy(p->to->layer, layer, (size_t)spec->layers * sizeof *layer);
    }
}

unroll_status stream_pack(const unroll_model *m, const unroll_stream_config *c, void *memory, size_t *bytes)
{
    struct packer p = { m, memory, 0 };
    const struct cpu_isa *isa;
    TRY(check_model(m));
    TRY(check_config(c));
    TRY(cpu_isa_choose(c->isa, DTYPE_F32, &isa));
    const unroll_spec *spec = &m->spec;
    struct unroll_stream_weights head = {
        .isa = isa, .cell = cell_find(isa->cells, m->layer[0].cell->name),
        .layers = (uint32_t)spec->layers, .hidden = (uint32_t)spec->hidden, .width = m->layer[0].width,
        .input = spec->tokens ? 0 : (uint32_t)spec->input, .symbols = spec->tokens ? (uint32_t)spec->input : 0,
        .output = spec->output ? (uint32_t)spec->output : m->layer[0].width,
        .gates_x = (uint32_t)cell_inputs_from(m->layer[0].cell, FROM_X),
        .gates_h = (uint32_t)cell_inputs_from(m->layer[0].cell, FROM_H | FROM_LINK), .clip = spec->clip,
    };
    if (!head.cell || !head.cell->fused[0])
        return fail(UNROLL_UNSUPPORTED, "the kernels for %s have no fused step of '%s'", isa->name, m->layer[0].cell->name);
    pack_model(&p, &head);
    *bytes = head.bytes;
    return UNROLL_OK;
}

size_t unroll_stream_weights_bytes(const unroll_model *model, const unroll_stream_config *config)
{
    size_t bytes;
    return stream_pack(model, config, NULL, &bytes) == UNROLL_OK ? bytes : 0;
}

unroll_status unroll_stream_weights_init(void *memory, size_t bytes, const unroll_model *model,
                                         const unroll_stream_config *config, unroll_stream_weights **weights)
{
    size_t wanted;
    TRY(stream_pack(model, config, NULL, &wanted));
    if (!memory || bytes < wanted)
        return fail(UNROLL_USAGE, "the weights of this stream need %zu bytes, not %zu; fix: ask "
                    "unroll_stream_weights_bytes", wanted, memory ? bytes : 0);
    if ((uintptr_t)memory % _Alignof(max_align_t))
        return fail(UNROLL_USAGE, "the memory of packed weights is not aligned to %zu bytes", _Alignof(max_align_t));
    TRY(stream_pack(model, config, memory, &wanted));
    *weights = memory;
    return UNROLL_OK;
}
