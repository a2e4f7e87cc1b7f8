/* Streams: their configuration, their layout in the caller's memory, resets and questions. Steps are in
 * step.c, saved states in state.c. */
#include "base/status.h"
#include "model/model.h"
#include "stream/stream.h"
#include <string.h>

unroll_stream_config unroll_stream_default(void)
{
    return (unroll_stream_config){ .size = sizeof(unroll_stream_config), .rows = 1, .machine = unroll_machine_default() };
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

static bool same_layer(const struct layer_weights *a, const struct layer_weights *b)
{
    if (!a->cell != !b->cell || (a->cell && strcmp(a->cell->declaration->name, b->cell->declaration->name)))
        return false;
    return a->input == b->input && a->outputs == b->outputs && a->hidden == b->hidden && a->sources == b->sources &&
           !memcmp(a->source, b->source, a->sources * sizeof *a->source) && a->is_output == b->is_output &&
           a->activation.kind == b->activation.kind;
}

/* Shared weights must be of a model of the same make. */
static unroll_status check_shared(const struct unroll_stream_weights *w, const struct unroll_stream_weights *own,
                                  const struct layer_weights *layer)
{
    bool same = w->layers == own->layers && w->input == own->input && w->symbols == own->symbols &&
                w->width == own->width && !w->embedding == !own->embedding;
    for (uint32_t l = 0; same && l < own->layers; l++)
        same = same_layer(&w->layer[l], &layer[l]);
    if (!same)
        return fail(UNROLL_USAGE, "the shared weights are of another model, of %u layers and %u outputs",
                    (unsigned)w->layers, (unsigned)w->output);
    if (w->dtype != own->dtype)
        return fail(UNROLL_USAGE, "the shared weights are in another dtype than the stream's; fix: use the "
                    "configuration they were made with, and add them to it");
    return UNROLL_OK;
}

/* What the layers need together. */
struct needs { size_t used, widest, plane; bool input; };

static void lay_out_layer(const struct unroll_stream *s, const struct layer_weights *w, bool is_last,
                          struct stream_layer *at, struct needs *need)
{
    const size_t units = stream_padded(w->hidden), planes = w->projection || !w->cell ? 1 :
                         (size_t)w->cell->declaration->links;
    *at = (struct stream_layer){ .row = units };        /* h is no wider */
    at->plane = s->rows * at->row;
    at->set = stream_states(w) * at->plane;
    at->state = s->half;
    if (w->sums_symbols)
        at->x = take(&need->used, s->rows * w->gates_x * units * sizeof(float));
    else if (w->sources > 1)
        at->x = take(&need->used, s->rows * w->input * sizeof(float));
    if (!w->cell && !is_last)
        at->y = take(&need->used, s->rows * w->outputs * sizeof(float));
    for (uint32_t i = 0; i < w->sources && !w->sums_symbols; i++)
        need->input = need->input || w->source[i] == SOURCE_INPUT;
    if (need->widest < w->input)
        need->widest = w->input;
    if (need->widest < w->outputs)
        need->widest = w->outputs;
    if (need->plane < planes * at->plane)
        need->plane = planes * at->plane;
}

static unroll_status lay_out(const unroll_model *model, const unroll_stream_config *config, struct unroll_stream *s,
                             struct stream_layer *at)
{
    enum { MOST_ROWS = 1 << 16 };
    struct unroll_stream_weights weights;
    struct layer_weights layer[MODEL_LAYERS_MAX];
    TRY(stream_pack(model, config, NULL, &weights, layer));
    if (config->rows < 1 || config->rows > MOST_ROWS)
        return fail(UNROLL_USAGE, "rows = %d is outside 1..%d", config->rows, MOST_ROWS);
    if (config->weights)
        TRY(check_shared(config->weights, &weights, layer));
    *s = (struct unroll_stream){ .shared = config->weights, .rows = (size_t)config->rows };
    struct needs need = { .used = up(sizeof *s + weights.layers * sizeof *at, STREAM_ALIGNMENT) };
    s->prepared = take(&need.used, 2 * weights.layers * sizeof(struct fused_step));
    for (uint32_t l = 0; l < weights.layers; l++) {
        lay_out_layer(s, &layer[l], l + 1 == weights.layers, &at[l], &need);
        s->half += at[l].set;
    }
    s->state = take(&need.used, 2 * s->half * sizeof(float));
    if (need.input)
        s->x = take(&need.used, s->rows * weights.width * sizeof(float));
    s->link = take(&need.used, need.plane * sizeof(float));
    if (weights.dtype == DTYPE_I8) {
        s->operand = s->rows * operand_cells(need.widest);
        s->cells = take(&need.used, OPERANDS * s->operand * sizeof(uint32_t));
    }
    if (s->rows > ROWS_WITHOUT_WORKSPACE)
        s->workspace = take(&need.used, PRODUCT_WORKSPACE);
    if (!config->weights)
        s->inside = take(&need.used, weights.bytes);
    s->bytes = need.used;
    return UNROLL_OK;
}

/* ---- making one ------------------------------------------------------------------------ */

size_t unroll_stream_bytes(const unroll_model *model, const unroll_stream_config *config)
{
    struct unroll_stream s;
    struct stream_layer layer[MODEL_LAYERS_MAX];
    return lay_out(model, config, &s, layer) == UNROLL_OK ? s.bytes : 0;
}

unroll_status unroll_stream_init(void *memory, size_t bytes, const unroll_model *model,
                                 const unroll_stream_config *config, unroll_stream **stream)
{
    struct unroll_stream made;
    struct stream_layer at[MODEL_LAYERS_MAX];
    struct unroll_stream_weights head;
    struct layer_weights layer[MODEL_LAYERS_MAX];
    TRY(lay_out(model, config, &made, at));
    if (!memory || bytes < made.bytes)
        return fail(UNROLL_USAGE, "this stream needs %zu bytes, not %zu; fix: ask unroll_stream_bytes", made.bytes,
                    memory ? bytes : 0);
    if ((uintptr_t)memory % _Alignof(max_align_t))
        return fail(UNROLL_USAGE, "the memory of a stream is not aligned to %zu bytes", _Alignof(max_align_t));
    memset(memory, 0, made.bytes);                      /* no page is left to be touched first by a step */
    *(struct unroll_stream *)memory = made;
    memcpy(((struct unroll_stream *)memory)->layer, at, (size_t)model->layers * sizeof *at);
    if (made.inside)
        TRY(stream_pack(model, config, (char *)memory + made.inside, &head, layer));
    stream_prepare(memory);
    *stream = memory;
    return UNROLL_OK;
}

static struct fields fields(const void *at, size_t field, size_t row)
{
    return (struct fields){ (void *)at, field, row };
}

/* What multiplies weights: as bytes where they are int8 (step.c makes them). */
static struct fused_operand operand(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                                    enum stream_operand o, const float *at, size_t row, size_t k)
{
    if (w->dtype == DTYPE_I8 && at)
        return (struct fused_operand){ stream_operand(s, o), operand_cells(k) };
    return (struct fused_operand){ at, row };
}

/* The step of a recurrent layer. Every other step walks through the units backwards: what of the weights is
 * still in a cache that can't hold all is used first. */
static struct fused_step prepare_layer(const struct unroll_stream *s, const struct unroll_stream_weights *w, size_t l)
{
    const struct layer_weights *layer = &w->layer[l];
    const struct stream_layer *at = &s->layer[l];
    const bool summed = layer->sums_symbols;
    const struct stream_rows x = summed ? (struct stream_rows){ 0 } : stream_input(s, w, l);
    const float *link = stream_array(s, s->link);
    const size_t units = at->row;
    const enum fused_cell cell = w->dtype == DTYPE_I8 ? FUSED_INT8
                               : w->dtype == DTYPE_BF16 ? FUSED_BF16 : FUSED_REAL;
    const struct fields none = { 0 };
    return (struct fused_step){
        .rows = s->rows, .unit_end = units, .reverse = s->now, .options = layer->options,
        .x = operand(s, w, OPERAND_X, x.at, x.row, layer->input),
        .h = operand(s, w, OPERAND_H, stream_state(s, l, 0, 0), at->row, layer->outputs),
        .link = operand(s, w, OPERAND_LINK, link, at->row, layer->outputs),
        .of_x = { .at = summed ? NULL : stream_array(w, layer->w_ih), .k = layer->input, .gates = layer->gates_x,
                  .bias = summed ? NULL : stream_array(w, layer->b_ih), .bias_gate = units, .cell = cell },
        .of_h = { .at = stream_array(w, layer->w_hh), .k = layer->outputs, .gates = layer->gates_h,
                  .bias = stream_array(w, layer->b_hh), .bias_gate = units, .cell = cell },
        .value = { .in = summed ? fields(stream_array(s, at->x), units, layer->gates_x * units) : none,
                   .state = fields(stream_state(s, l, 0, 0), at->plane, at->row),
                   .next = fields(stream_state(s, l, 0, 1), at->plane, at->row),
                   .link = fields(link, at->plane, at->row),
                   .vector = fields(stream_array(w, layer->vector), units, 0) },
    };
}

void stream_prepare(struct unroll_stream *s)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    struct fused_step *step = stream_array(s, s->prepared);
    for (int half = 0; half < 2; half++, s->now ^= 1)
        for (size_t l = 0; l < w->layers; l++)
            if (w->layer[l].cell)
                step[s->now * w->layers + l] = prepare_layer(s, w, l);
    s->place = s;
}

/* ---- resets and questions -------------------------------------------------------------- */

unroll_status unroll_stream_reset(unroll_stream *s, int row)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    if (row < -1 || (row >= 0 && (size_t)row >= s->rows))
        return fail(UNROLL_USAGE, "row = %d is outside 0..%zu (-1: all)", row, s->rows - 1);
    for (size_t l = 0; l < w->layers; l++) {
        const struct stream_layer *at = &s->layer[l];
        for (size_t i = 0; i < stream_states(&w->layer[l]); i++)
            memset(stream_state(s, l, i, 0) + (row < 0 ? 0 : (size_t)row * at->row), 0,
                   (row < 0 ? at->plane : at->row) * sizeof(float));
    }
    return UNROLL_OK;
}

unroll_status unroll_stream_read(const unroll_stream *s, int layer, float *to)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    if (layer < 0 || (uint32_t)layer + 1 >= w->layers)
        return fail(UNROLL_USAGE, "layer = %d is outside 0..%d: the inner layers; the last one's outputs are the step's",
                    layer, (int)w->layers - 2);
    if (!w->layer[layer].is_output)
        return fail(UNROLL_USAGE, "layer %d is no output of the network; fix: output = 1 where it is made", layer);
    const struct stream_rows y = stream_given(s, w, layer, 0);
    const size_t width = w->layer[layer].outputs;
    for (size_t b = 0; b < s->rows; b++)
        memcpy(to + b * width, y.at + b * y.row, width * sizeof *to);
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
