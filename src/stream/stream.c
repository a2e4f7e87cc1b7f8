/* Streams: their configuration, their layout in the caller's memory, resets and questions. Steps are in
 * step.c, saved states in state.c. */
#include "base/status.h"
#include "model/model.h"
#include "stream/stream.h"
#include <string.h>

unroll_stream_config unroll_stream_default(void)
{
    return (unroll_stream_config){ .size = sizeof(unroll_stream_config), .rows = 1, .dtype = "fp32" };
}

/* ---- layout ---------------------------------------------------------------------------- */

static size_t up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t take(size_t *used, size_t bytes)
{
    size_t at = *used;
    *used = up(at + bytes, STREAM_ALIGNMENT);
    return at;
}

/* Shared weights must be of a model of the same make. */
static unroll_status check_shared(const struct unroll_stream_weights *w, const struct unroll_stream_weights *own)
{
    bool same = !strcmp(w->cell->declaration->name, own->cell->declaration->name) &&
                w->layers == own->layers && w->hidden == own->hidden && w->width == own->width &&
                w->input == own->input && w->symbols == own->symbols && w->output == own->output;
    if (!same)
        return fail(UNROLL_USAGE, "the shared weights are of another model: %s %u x %u", w->cell->declaration->name,
                    (unsigned)w->layers, (unsigned)w->hidden);
    if (w->dtype != own->dtype)
        return fail(UNROLL_USAGE, "the shared weights are in another dtype than the stream's; fix: use the "
                    "configuration they were made with, and add them to it");
    return UNROLL_OK;
}

/* Bytes of int8 for the widest of what multiplies weights. */
static size_t operand_size(const unroll_model *m, size_t rows)
{
    size_t width = m->layer[0].width, input = m->layer[0].input;
    return rows * operand_cells(width > input ? width : input);
}

static unroll_status lay_out(const unroll_model *model, const unroll_stream_config *config, struct unroll_stream *s)
{
    enum { MOST_ROWS = 1 << 16 };
    struct unroll_stream_weights weights;
    size_t used = up(sizeof *s, STREAM_ALIGNMENT);
    TRY(stream_pack(model, config, NULL, &weights));
    if (config->rows < 1 || config->rows > MOST_ROWS)
        return fail(UNROLL_USAGE, "rows = %d is outside 1..%d", config->rows, MOST_ROWS);
    if (config->weights)
        TRY(check_shared(config->weights, &weights));
    const struct cell_declaration *cell = model->layer[0].cell;
    const size_t units = stream_padded((size_t)model->spec.hidden), layers = (size_t)model->spec.layers;
    const size_t rows = (size_t)config->rows;
    const bool one_hot = model->spec.tokens && !model->spec.embed;
    const size_t x = one_hot ? (size_t)cell_inputs_from(cell, FROM_X) * units : model_input(model);
    const size_t planes = model->spec.projection ? 1 : (size_t)cell->links;
    *s = (struct unroll_stream){ .shared = config->weights, .rows = rows };
    s->row = units;                                     /* h is no wider */
    s->plane = rows * s->row;
    s->set = (size_t)cell->states * s->plane;
    s->prepared = take(&used, 2 * layers * sizeof(struct fused_step));
    s->state = take(&used, 2 * layers * s->set * sizeof(float));
    s->x = take(&used, rows * x * sizeof(float));
    s->link = take(&used, planes * s->plane * sizeof(float));
    if (weights.dtype == DTYPE_I8) {
        s->operand = operand_size(model, rows);
        s->cells = take(&used, OPERANDS * s->operand * sizeof(uint32_t));
    }
    if (!config->weights)
        s->inside = take(&used, weights.bytes);
    s->bytes = used;
    return UNROLL_OK;
}

/* ---- making one ------------------------------------------------------------------------ */

size_t unroll_stream_bytes(const unroll_model *model, const unroll_stream_config *config)
{
    struct unroll_stream s;
    return lay_out(model, config, &s) == UNROLL_OK ? s.bytes : 0;
}

unroll_status unroll_stream_init(void *memory, size_t bytes, const unroll_model *model,
                                 const unroll_stream_config *config, unroll_stream **stream)
{
    struct unroll_stream made;
    struct unroll_stream_weights packed;
    TRY(lay_out(model, config, &made));
    if (!memory || bytes < made.bytes)
        return fail(UNROLL_USAGE, "this stream needs %zu bytes, not %zu; fix: ask unroll_stream_bytes", made.bytes,
                    memory ? bytes : 0);
    if ((uintptr_t)memory % _Alignof(max_align_t))
        return fail(UNROLL_USAGE, "the memory of a stream is not aligned to %zu bytes", _Alignof(max_align_t));
    memset(memory, 0, made.bytes);                      /* no page is left to be touched first by a step */
    *(struct unroll_stream *)memory = made;
    if (made.inside)
        TRY(stream_pack(model, config, (char *)memory + made.inside, &packed));
    stream_prepare(memory);
    *stream = memory;
    return UNROLL_OK;
}

static struct fields fields(const void *at, size_t field, size_t row)
{
    return (struct fields){ (void *)at, field, row, CELL_TILE };
}

/* What multiplies weights: as bytes where they are int8 (step.c makes them). */
static struct fused_operand operand(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                                    enum stream_operand o, const float *at, size_t row, size_t k)
{
    if (w->dtype == DTYPE_I8 && at)
        return (struct fused_operand){ stream_operand(s, o), operand_cells(k) };
    return (struct fused_operand){ at, row };
}

/* The step of one layer; the first one's x is the frame, the others' the h below. Every other step walks
 * through the units backwards: what of the weights is still in a cache that can't hold all is used first. */
static struct fused_step prepare_layer(const struct unroll_stream *s, const struct unroll_stream_weights *w, size_t l)
{
    const struct layer_weights *layer = &w->layer[l];
    const float *x = l ? stream_state(s, l - 1, 0, 1) : stream_array(s, s->x), *link = stream_array(s, s->link);
    const bool summed = l == 0 && w->symbols && !w->embedding;
    const size_t units = stream_padded(w->hidden);
    const enum fused_cell cell = w->dtype == DTYPE_I8 ? FUSED_INT8
                               : w->dtype == DTYPE_BF16 ? FUSED_BF16 : FUSED_REAL;
    const struct fields none = { 0 };
    return (struct fused_step){
        .rows = s->rows, .unit_end = units, .reverse = s->now, .options = w->options,
        .x = operand(s, w, OPERAND_X, summed ? NULL : x, l ? s->row : layer->input, layer->input),
        .h = operand(s, w, OPERAND_H, stream_state(s, l, 0, 0), s->row, w->width),
        .link = operand(s, w, OPERAND_LINK, link, s->row, w->width),
        .of_x = { .at = summed ? NULL : stream_array(w, layer->w_ih), .k = layer->input, .gates = w->gates_x,
                  .bias = stream_array(w, layer->b_ih), .bias_gate = units, .cell = cell },
        .of_h = { .at = stream_array(w, layer->w_hh), .k = w->width, .gates = w->gates_h,
                  .bias = stream_array(w, layer->b_hh), .bias_gate = units, .cell = cell },
        .value = { .in = summed ? fields(x, units, w->gates_x * units) : none,
                   .state = fields(stream_state(s, l, 0, 0), s->plane, s->row),
                   .next = fields(stream_state(s, l, 0, 1), s->plane, s->row),
                   .link = fields(link, s->plane, s->row),
                   .vector = fields(stream_array(w, layer->vector), units, 0) },
    };
}

void stream_prepare(struct unroll_stream *s)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    struct fused_step *step = stream_array(s, s->prepared);
    for (int half = 0; half < 2; half++, s->now ^= 1)
        for (size_t l = 0; l < w->layers; l++)
            step[s->now * w->layers + l] = prepare_layer(s, w, l);
    s->place = s;
}

/* ---- resets and questions -------------------------------------------------------------- */

unroll_status unroll_stream_reset(unroll_stream *s, int row)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    const size_t states = (size_t)w->cell->declaration->states;
    if (row < -1 || (row >= 0 && (size_t)row >= s->rows))
        return fail(UNROLL_USAGE, "row = %d is outside 0..%zu (-1: all)", row, s->rows - 1);
    for (size_t l = 0; l < w->layers; l++)
        for (size_t i = 0; i < states; i++)
            memset(stream_state(s, l, i, 0) + (row < 0 ? 0 : (size_t)row * s->row), 0,
                   (row < 0 ? s->plane : s->row) * sizeof(float));
    return UNROLL_OK;
}

int unroll_stream_inputs(const unroll_stream *s)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    return w->symbols ? 1 : (int)w->input;
}

int unroll_stream_outputs(const unroll_stream *s)
{
    return (int)stream_weights(s)->output;
}

const char *unroll_stream_isa(const unroll_stream *s)
{
    return stream_weights(s)->isa->name;
}
