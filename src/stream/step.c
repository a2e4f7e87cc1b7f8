/* The step of a stream: what runs in real time. Nothing here allocates, locks, waits or asks the system for
 * anything; the addresses are prepared (stream.c). */
#include "base/finite.h"
#include "base/status.h"
#include "stream/stream.h"
#include <math.h>
#include <string.h>

/* ---- a layer --------------------------------------------------------------------------- */

/* h = P m, where the cell has left m in the place of h. */
static void project(const struct unroll_stream *s, const struct unroll_stream_weights *w, size_t l)
{
    const struct layer_weights *layer = &w->layer[l];
    const struct stream_layer *at = &s->layer[l];
    float *h = stream_state(s, l, 0, 1), *m = stream_array(s, s->link);
    memcpy(m, h, at->plane * sizeof *m);
    w->isa->product(&(struct product){
        .m = s->rows, .n = layer->outputs, .k = layer->hidden, .a = m, .a_row = at->row, .a_col = 1,
        .b = stream_array(w, layer->projection), .b_row = PANEL, .b_panel = (size_t)layer->hidden * PANEL,
        .c = h, .c_row = at->row, .start = ZERO,
    });
}

/* Rows of k numbers as the operand of int8 weights. */
static void quantize(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                     enum stream_operand operand, struct stream_rows from, size_t k)
{
    uint32_t *to = stream_operand(s, operand);
    for (size_t b = 0; b < s->rows; b++)
        w->isa->quantize(from.at + b * from.row, k, to + b * operand_cells(k));
}

/* Of each phase one call: the products with x and h, and the cell. */
static void run_recurrent(const struct unroll_stream *s, const struct unroll_stream_weights *w, size_t l,
                          const struct fused_step *step)
{
    const struct layer_weights *layer = &w->layer[l];
    const size_t row = s->layer[l].row;
    const bool is_int8 = w->dtype == DTYPE_I8;
    if (is_int8 && step->x.at)
        quantize(s, w, OPERAND_X, stream_input(s, w, l), layer->input);
    if (is_int8 && step->of_h.at)
        quantize(s, w, OPERAND_H, (struct stream_rows){ stream_state(s, l, 0, 0), row }, layer->outputs);
    layer->cell->fused[0](step);
    if (layer->cell->fused[1] && is_int8)
        quantize(s, w, OPERAND_LINK, (struct stream_rows){ step->value.link.at, row }, layer->hidden);
    if (layer->cell->fused[1])
        layer->cell->fused[1](step);
    if (layer->projection)
        project(s, w, l);
}

static void run_dense(const struct unroll_stream *s, const struct unroll_stream_weights *w, size_t l, float *outputs)
{
    const struct layer_weights *layer = &w->layer[l];
    const struct stream_rows x = stream_input(s, w, l);
    const bool is_int8 = w->dtype == DTYPE_I8;
    const size_t width = layer->outputs;
    float *y = s->layer[l].y ? stream_array(s, s->layer[l].y) : outputs;
    if (is_int8)
        quantize(s, w, OPERAND_X, x, layer->input);
    product_with(w->isa, w->dtype)(&(struct product){
        .m = s->rows, .n = width, .k = layer->input,
        .a = is_int8 ? (const void *)stream_operand(s, OPERAND_X) : x.at,
        .a_row = is_int8 ? operand_cells(layer->input) : x.row, .a_col = 1,
        .b = stream_array(w, layer->w_ih), .b_row = PANEL, .b_panel = cells_of(w->dtype, layer->input) * PANEL,
        .c = y, .c_row = width, .bias = stream_array(w, layer->b_ih), .start = ZERO,
    });
    for (size_t b = 0; b < s->rows && layer->activation.kind != ACTIVATION_LINEAR; b++)
        w->isa->activate(&layer->activation, y + b * width, y + b * width, width);
}

/* Several sources side by side. */
static void join(const struct unroll_stream *s, const struct unroll_stream_weights *w, size_t l)
{
    const struct layer_weights *layer = &w->layer[l];
    float *to = stream_array(s, s->layer[l].x);
    for (uint32_t i = 0; i < layer->sources; i++) {
        const int source = layer->source[i];
        const struct stream_rows from = stream_given(s, w, source, 1);
        const size_t width = source < 0 ? w->width : w->layer[source].outputs;
        for (size_t b = 0; b < s->rows; b++)
            memcpy(to + b * layer->input, from.at + b * from.row, width * sizeof *to);
        to += width;
    }
}

static void run_layers(const struct unroll_stream *s, const struct unroll_stream_weights *w, float *outputs)
{
    const struct fused_step *step = stream_array(s, s->prepared);
    step += s->now * w->layers;
    for (size_t l = 0; l < w->layers; l++) {
        if (w->layer[l].sources > 1)
            join(s, w, l);
        if (w->layer[l].cell)
            run_recurrent(s, w, l, &step[l]);
        else
            run_dense(s, w, l, outputs);
    }
}

/* ---- a frame --------------------------------------------------------------------------- */

/* Inputs or tokens, one of them NULL. */
struct frame {
    const float *inputs;
    const int32_t *tokens;
    float *outputs;
};

static unroll_status refuse_inputs(const struct unroll_stream_weights *w, const float *inputs)
{
    size_t i = 0;
    while (isfinite(inputs[i]))
        i++;
    return fail(UNROLL_DATA, "inputs[row=%zu, %zu] is %s", i / w->input, i % w->input,
                isnan(inputs[i]) ? "NaN" : "infinite");
}

static unroll_status check_tokens(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                                  const int32_t *tokens)
{
    for (size_t b = 0; b < s->rows; b++)
        if (tokens[b] < 0 || (uint32_t)tokens[b] >= w->symbols)
            return fail(UNROLL_DATA, "tokens[row=%zu] = %d is outside 0..%d", b, (int)tokens[b], (int)w->symbols - 1);
    return UNROLL_OK;
}

/* A table's rows of the symbols. */
static void look_up(const struct unroll_stream *s, const float *table, size_t width, const int32_t *tokens, float *to)
{
    for (size_t b = 0; b < s->rows; b++)
        memcpy(to + b * width, table + (size_t)tokens[b] * width, width * sizeof *to);
}

/* What layers read of symbols: rows of the embedding, one-hot vectors, or sums where a layer has a table of them. */
static void enter_tokens(const struct unroll_stream *s, const struct unroll_stream_weights *w, const int32_t *tokens)
{
    float *x = stream_array(s, s->x);
    for (size_t l = 0; l < w->layers; l++)
        if (w->layer[l].sums_symbols)
            look_up(s, stream_array(w, w->layer[l].w_ih), w->layer[l].gates_x * s->layer[l].row, tokens,
                    stream_array(s, s->layer[l].x));
    if (!x)
        return;
    if (w->embedding) {
        look_up(s, stream_array(w, w->embedding), w->width, tokens, x);
        return;
    }
    memset(x, 0, s->rows * w->width * sizeof *x);
    for (size_t b = 0; b < s->rows; b++)
        x[b * w->width + (size_t)tokens[b]] = 1;
}

static unroll_status enter(const struct unroll_stream *s, const struct unroll_stream_weights *w, const struct frame *f)
{
    if (!f->tokens)
        return copy_finite(stream_array(s, s->x), f->inputs, s->rows * w->input) ? UNROLL_OK
                                                                                  : refuse_inputs(w, f->inputs);
    TRY(check_tokens(s, w, f->tokens));
    enter_tokens(s, w, f->tokens);
    return UNROLL_OK;
}

/* From the last layer, unless it is dense and has written them itself. */
static void leave(const struct unroll_stream *s, const struct unroll_stream_weights *w, float *outputs)
{
    if (!w->layer[w->layers - 1].cell)
        return;
    const struct stream_rows h = stream_given(s, w, (int)w->layers - 1, 1);
    for (size_t b = 0; b < s->rows; b++)
        memcpy(outputs + b * w->output, h.at + b * h.row, w->output * sizeof *outputs);
}

static unroll_status step(struct unroll_stream *s, const struct unroll_stream_weights *w, const struct frame *f)
{
    TRY(enter(s, w, f));
    run_layers(s, w, f->outputs);
    leave(s, w, f->outputs);
    s->now ^= 1;
    return UNROLL_OK;
}

/* Denormal numbers are zeros while a stream computes, as in sessions. */
static unroll_status run(struct unroll_stream *s, int steps, const struct frame *first)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    struct frame f = *first;
    if (!(w->symbols ? (const void *)f.tokens : f.inputs) || !f.outputs || steps < 0)
        return fail(UNROLL_USAGE, "a step of this stream needs %s, outputs, and 0 or more steps",
                    w->symbols ? "tokens" : "inputs");
    const size_t inputs = s->rows * w->input, outputs = s->rows * w->output;
    unroll_status status = UNROLL_OK;
    if (s->place != s)
        stream_prepare(s);
    const uint64_t mode = cpu_flush_denormals();
    workspace_of_thread = stream_array(s, s->workspace);
    for (int t = 0; t < steps && status == UNROLL_OK; t++) {
        status = step(s, w, &f);
        f.inputs += f.inputs ? inputs : 0;
        f.tokens += f.tokens ? s->rows : 0;
        f.outputs += outputs;
    }
    cpu_restore_float_mode(mode);
    return status;
}

unroll_status unroll_stream_step(unroll_stream *s, const float *inputs, float *outputs)
{
    return run(s, 1, &(struct frame){ inputs, NULL, outputs });
}

unroll_status unroll_stream_step_tokens(unroll_stream *s, const int32_t *tokens, float *outputs)
{
    return run(s, 1, &(struct frame){ NULL, tokens, outputs });
}

unroll_status unroll_stream_run(unroll_stream *s, int steps, const float *inputs, float *outputs)
{
    return run(s, steps, &(struct frame){ inputs, NULL, outputs });
}

unroll_status unroll_stream_run_tokens(unroll_stream *s, int steps, const int32_t *tokens, float *outputs)
{
    return run(s, steps, &(struct frame){ NULL, tokens, outputs });
}
