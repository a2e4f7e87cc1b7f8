/* Packed weights of streams: what may be streamed, where each array lies, and the copy from the model. One
 * walk over the arrays does both: without memory it measures. */
#include "base/machine.h"
#include "base/memory.h"
#include "base/status.h"
#include "device/cpu/kernel.h"
#include "model/layer_kind.h"
#include "stream/stream.h"
#include <math.h>
#include <string.h>

/* ---- what may be streamed -------------------------------------------------------------- */

static unroll_status check_model(const unroll_model *m)
{
    if (!m)
        return fail(UNROLL_USAGE, "a stream needs a model");
    for (int l = 0; l < m->layers; l++)
        if (layer_end(&m->layer[l]) > 1)
            return fail(UNROLL_UNSUPPORTED, "a bidirectional model can't be streamed: the outputs of layer %d, '%s', depend on "
                        "frames that are still to come; fix: train one direction, or run whole sequences in a session", l,
                        m->layer[l].name);
    return UNROLL_OK;
}

static unroll_status check_config(const unroll_stream_config *c)
{
    if (!c || c->size != sizeof *c)
        return fail(UNROLL_USAGE, "the configuration was not begun with unroll_stream_default()");
    if (c->machine.device && strcmp(c->machine.device, "cpu"))
        return fail(UNROLL_UNSUPPORTED, "streams run on the cpu, not on %s; fix: leave out `device`, or run a session",
                    c->machine.device);
    return machine_check(&c->machine, 1 << MACHINE_device | 1 << MACHINE_isa | 1 << MACHINE_dtype, "a stream");
}

static unroll_status check_int8(const unroll_model *m)
{
    for (int i = 0; i < m->parameters; i++) {
        const struct parameter *q = &m->parameter[i];
        if (model_multiplies(m, q) && q->size[q->rank - 1] > MOST_INT8_PRODUCTS)
            return fail(UNROLL_UNSUPPORTED, "'%s' has rows of %u numbers: sums of more than %d products of int8 may "
                        "overflow; fix: weights in bf16", q->name, (unsigned)q->size[q->rank - 1],
                        MOST_INT8_PRODUCTS);
    }
    return UNROLL_OK;
}

/* ---- the walk -------------------------------------------------------------------------- */

struct packer {
    const unroll_model *model;
    const struct cpu_isa *isa;
    enum dtype dtype;                       /* of weights of products, but not of projections */
    struct unroll_stream_weights *to;       /* NULL: measures */
    uint32_t *cells;                        /* [OPERAND_ROOM] of a row of int8, where it does not */
    size_t used;                            /* bytes */
};

/* The next array, of floats or cells; *offset is 0 where the model has no such parameter. */
static float *reserve(struct packer *p, size_t count, size_t *offset)
{
    p->used = (p->used + STREAM_ALIGNMENT - 1) / STREAM_ALIGNMENT * STREAM_ALIGNMENT;
    *offset = p->used;
    p->used += count * sizeof(float);
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

/* A row of k weights into its cells, `distance` apart. */
static void pack_row(const struct packer *p, enum dtype dtype, float *to, size_t distance, const float *row, size_t k)
{
    if (dtype != DTYPE_F32)
        p->isa->pack_narrow(dtype, to, distance, row, k);
    else
        for (size_t i = 0; i < k; i++)
            to[i * distance] = row[i];
}

/* [.., U, K] as panels: see struct product. */
static void pack_panels(struct packer *p, const struct parameter *q, enum dtype dtype, size_t *offset)
{
    *offset = 0;
    if (!q)
        return;
    const size_t units = q->size[q->rank - 2], width = q->size[q->rank - 1], rows = q->count / width;
    const size_t cells = cells_of(dtype, width), count = rows / units * panels(units) * PANEL * cells;
    float *to = reserve(p, count, offset);
    const float *from = values(p, q);
    if (!to)
        return;
    memset(to, 0, count * sizeof *to);
    for (size_t row = 0; row < rows; row++) {
        size_t unit = row % units, panel = row / units * panels(units) + unit / PANEL;
        pack_row(p, dtype, to + panel * cells * PANEL + unit % PANEL, PANEL, from + row * width, width);
    }
}

/* [G, U, K] in tiles of units with their gates side by side: see struct fused_weights. */
static void pack_tiles(struct packer *p, const struct parameter *q, size_t *offset)
{
    *offset = 0;
    if (!q)
        return;
    const size_t gates = q->size[0], units = q->size[1], width = q->size[2];
    const size_t cells = cells_of(p->dtype, width), count = gates * stream_padded(units) * cells;
    float *to = reserve(p, count, offset);
    const float *from = values(p, q);
    if (!to)
        return;
    memset(to, 0, count * sizeof *to);
    for (size_t row = 0; row < gates * units; row++) {
        size_t gate = row / units, unit = row % units;
        float *first = to + (unit / CELL_TILE * cells * gates + gate) * CELL_TILE + unit % CELL_TILE;
        pack_row(p, p->dtype, first, gates * CELL_TILE, from + row * width, width);
    }
}

/* What each one-hot symbol makes of a row of weights: b + w, as its numbers are kept. In int8 the 1 of a symbol
 * is 127 with the scale 1/127. */
static void add_symbols(const struct packer *p, float *to, size_t distance, const float *row, float bias, size_t n)
{
    const int8_t *byte = (const void *)p->cells;
    float scale;
    if (p->dtype == DTYPE_I8) {
        p->isa->pack_narrow(DTYPE_I8, p->cells, 1, row, n);
        memcpy(&scale, &p->cells[cells_of(DTYPE_I8, n) - 2], sizeof scale);
        for (size_t s = 0; s < n; s++)
            to[s * distance] = fmaf((float)(127 * byte[s]), scale * (1.0f / 127), bias);
    } else {
        for (size_t s = 0; s < n; s++)
            to[s * distance] = (p->dtype == DTYPE_BF16 ? bf16_to_f32(f32_to_bf16(row[s])) : row[s]) + bias;
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
    for (size_t i = 0; to && i < gates * units; i++)
        add_symbols(p, to + i / units * row + i % units, gates * row, values(p, q) + i * symbols,
                    bias ? values(p, bias)[i] : 0, symbols);
}

static void pack_recurrent(struct packer *p, int layer, struct layer_weights *w)
{
    if (w->sums_symbols) {
        pack_symbols(p, find(p, PARAM_W_IH, layer), find(p, PARAM_B_IH, layer), &w->w_ih);
    } else {
        pack_tiles(p, find(p, PARAM_W_IH, layer), &w->w_ih);
        pack_units(p, find(p, PARAM_B_IH, layer), &w->b_ih);
    }
    pack_tiles(p, find(p, PARAM_W_HH, layer), &w->w_hh);
    pack_units(p, find(p, PARAM_B_HH, layer), &w->b_hh);
    pack_units(p, find(p, PARAM_VECTOR, layer), &w->vector);
    pack_panels(p, find(p, PARAM_W_HR, layer), DTYPE_F32, &w->projection);
}

static void pack_layer(struct packer *p, int layer, struct layer_weights *w)
{
    if (w->cell) {
        pack_recurrent(p, layer, w);
        return;
    }
    const bool tied = p->model->tied && layer + 1 == p->model->layers;
    pack_panels(p, find(p, tied ? PARAM_EMBEDDING : PARAM_W_DENSE, tied ? 0 : layer), p->dtype, &w->w_ih);
    pack_dense(p, find(p, PARAM_B_DENSE, layer), &w->b_ih);
}

/* What a layer is, without its arrays. */
static unroll_status describe_layer(const struct packer *p, const struct layer *l, struct layer_weights *w)
{
    const bool one_hot = p->model->tokens && !p->model->embed;
    *w = (struct layer_weights){
        .input = l->input, .outputs = l->outputs, .activation = l->activation, .is_output = l->is_output,
        .sources = (uint32_t)l->sources,
    };
    memcpy(w->source, l->source, sizeof w->source);
    if (l->kind->is_affine)
        return UNROLL_OK;
    if (!l->cell)
        return fail(UNROLL_UNSUPPORTED, "layer '%s': streams know no '%s'; fix: a session", l->name, l->kind->name);
    w->cell = cpu_isa_cell(p->isa, l->cell->name, p->dtype, false);
    w->hidden = l->hidden;
    w->gates_x = (uint32_t)cell_inputs_from(l->cell, FROM_X);
    w->gates_h = (uint32_t)cell_inputs_from(l->cell, FROM_H | FROM_LINK);
    w->options = l->options;
    w->sums_symbols = one_hot && l->sources == 1 && l->source[0] == SOURCE_INPUT;
    if (!w->cell || !w->cell->fused[0])
        return fail(UNROLL_UNSUPPORTED, "the kernels for %s have no fused step of '%s'", p->isa->name, l->cell->name);
    return UNROLL_OK;
}

static void pack_model(struct packer *p, struct unroll_stream_weights *head, struct layer_weights *layer)
{
    const size_t table = head->layers * sizeof *layer;
    p->used = sizeof *head + table;
    pack_dense(p, find(p, PARAM_EMBEDDING, 0), &head->embedding);
    for (uint32_t l = 0; l < head->layers; l++)
        pack_layer(p, (int)l, &layer[l]);
    head->bytes = (p->used + STREAM_ALIGNMENT - 1) / STREAM_ALIGNMENT * STREAM_ALIGNMENT;
    if (p->to) {
        *p->to = *head;
        memcpy(p->to->layer, layer, table);
    }
}

unroll_status stream_pack(const unroll_model *m, const unroll_stream_config *c, void *memory,
                          struct unroll_stream_weights *head, struct layer_weights *layer)
{
    const struct cpu_isa *isa;
    enum dtype dtype;
    TRY(check_model(m));
    TRY(check_config(c));
    if (!weights_parse(c->machine.dtype, &dtype))
        return fail(UNROLL_USAGE, "dtype = '%.40s'; fix: choose one of fp32, bf16, int8", c->machine.dtype);
    if (dtype == DTYPE_I8)
        TRY(check_int8(m));
    TRY(cpu_isa_choose(c->machine.isa, DTYPE_F32, &isa));
    isa = cpu_isa_without_tiles(isa);
    struct packer p = { .model = m, .isa = isa, .dtype = dtype, .to = memory };
    *head = (struct unroll_stream_weights){
        .isa = isa, .dtype = dtype, .layers = (uint32_t)m->layers,
        .input = m->tokens ? 0 : (uint32_t)m->input, .symbols = m->tokens ? (uint32_t)m->input : 0,
        .width = model_input(m), .output = (uint32_t)unroll_model_outputs(m),
    };
    for (int l = 0; l < m->layers; l++)
        TRY(describe_layer(&p, &m->layer[l], &layer[l]));
    if (memory && dtype == DTYPE_I8 && !(p.cells = allocate(OPERAND_ROOM * sizeof *p.cells)))
        return fail(UNROLL_RESOURCE, "no memory to pack weights");
    const uint64_t mode = cpu_flush_denormals();        /* as where a session packs */
    pack_model(&p, head, layer);
    cpu_restore_float_mode(mode);
    release(p.cells);
    return UNROLL_OK;
}

size_t unroll_stream_weights_bytes(const unroll_model *model, const unroll_stream_config *config)
{
    struct unroll_stream_weights head;
    struct layer_weights layer[MODEL_LAYERS_MAX];
    return stream_pack(model, config, NULL, &head, layer) == UNROLL_OK ? head.bytes : 0;
}

unroll_status unroll_stream_weights_init(void *memory, size_t bytes, const unroll_model *model,
                                         const unroll_stream_config *config, unroll_stream_weights **weights)
{
    struct unroll_stream_weights head;
    struct layer_weights layer[MODEL_LAYERS_MAX];
    TRY(stream_pack(model, config, NULL, &head, layer));
    if (!memory || bytes < head.bytes)
        return fail(UNROLL_USAGE, "the weights of this stream need %zu bytes, not %zu; fix: ask "
                    "unroll_stream_weights_bytes", head.bytes, memory ? bytes : 0);
    if ((uintptr_t)memory % _Alignof(max_align_t))
        return fail(UNROLL_USAGE, "the memory of packed weights is not aligned to %zu bytes", _Alignof(max_align_t));
    TRY(stream_pack(model, config, memory, &head, layer));
    *weights = memory;
    return UNROLL_OK;
}
