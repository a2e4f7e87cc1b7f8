/* The step of a stream: what runs in real time. Nothing here allocates, locks, waits or asks the system for
 * anything; the addresses are prepared (stream.c). */
#include "base/status.h"
#include "stream/stream.h"
#include <math.h>
#include <string.h>

/* ---- a layer --------------------------------------------------------------------------- */

/* h = P m, where the cell has left m in the place of h. */
static void project(const struct unroll_stream *s, const struct unroll_stream_weights *w, size_t layer)
{
    float *h = stream_state(s, layer, 0, 1), *m = stream_array(s, s->link);
    memcpy(m, h, s->plane * sizeof *m);
    w->isa->product(&(struct product){
        .m = s->rows, .n = w->width, .k = w->hidden, .a = m, .a_row = s->row, .a_col = 1,
        .b = stream_array(w, w->layer[layer].projection), .b_row = PANEL, .b_panel = (size_t)w->hidden * PANEL,
        .c = h, .c_row = s->row, .start = ZERO,
    });
}

/* Rows of k numbers as the operand of int8 weights. */
static void quantize(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                     enum stream_operand operand, const float *from, size_t row, size_t k)
{
    uint32_t *to = stream_operand(s, operand);
    for (size_t b = 0; b < s->rows; b++)
        w->isa->quantize(from + b * row, k, to + b * operand_cells(k));
}

static void quantize_inputs(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                            const struct fused_step *step, size_t layer)
{
    if (step->x.at && layer == 0)
        quantize(s, w, OPERAND_X, stream_array(s, s->x), w->layer->input, w->layer->input);
    else if (step->x.at)
        quantize(s, w, OPERAND_X, stream_state(s, layer - 1, 0, 1), s->row, w->width);
    if (step->of_h.at)
        quantize(s, w, OPERAND_H, stream_state(s, layer, 0, 0), s->row, w->width);
}

/* Of each phase one call: the products with x and h, and the cell. */
static void run_layers(const struct unroll_stream *s, const struct unroll_stream_weights *w)
{
    const struct fused_step *step = stream_array(s, s->prepared);
    step += s->now * w->layers;
    const bool is_int8 = w->dtype == DTYPE_I8;
    for (size_t l = 0; l < w->layers; l++) {
        if (is_int8)
            quantize_inputs(s, w, &step[l], l);
        w->cell->fused[0](&step[l]);
        if (w->cell->fused[1] && is_int8)
            quantize(s, w, OPERAND_LINK, step[l].value.link.at, s->row, w->hidden);
        if (w->cell->fused[1])
            w->cell->fused[1](&step[l]);
        if (w->layer[l].projection)
            project(s, w, l);
    }
}

/* ---- a frame --------------------------------------------------------------------------- */

/* Inputs or tokens, one of them NULL. */
struct frame {
    const float *inputs;
    const int32_t *tokens;
    float *outputs;
};

/* 1 where the exponent is full: an infinity or a NaN. */
static uint32_t is_infinite(const float *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    return (bits & 0x7f800000) == 0x7f800000;
}

/* In blocks of known size, which compilers turn into vector code at -O2. */
static bool all_finite(const float *x, size_t n)
{
    enum { BLOCK = 16 };
    uint32_t bad = 0;
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        for (size_t j = 0; j < BLOCK; j++)
            bad |= is_infinite(&x[i + j]);
    for (; i < n; i++)
        bad |= is_infinite(&x[i]);
    return !bad;
}

static unroll_status check_inputs(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                                  const float *inputs)
{
    size_t i = 0;
    if (all_finite(inputs, s->rows * w->input))
        return UNROLL_OK;
    while (!is_infinite(&inputs[i]))
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

/* What the first layer reads: the frame, rows of the embedding, or sums where a table has them. */
static void enter(const struct unroll_stream *s, const struct unroll_stream_weights *w, const struct frame *f)
{
    const size_t width = w->embedding ? w->layer->input : w->gates_x * stream_padded(w->hidden);
    const float *table = stream_array(w, w->embedding ? w->embedding : w->layer->w_ih);
    float *x = stream_array(s, s->x);
    if (f->inputs)
        memcpy(x, f->inputs, s->rows * w->input * sizeof *x);
    else
        for (size_t b = 0; b < s->rows; b++)
            memcpy(x + b * width, table + (size_t)f->tokens[b] * width, width * sizeof *x);
}

static void answer(const struct unroll_stream *s, const struct unroll_stream_weights *w, const float *h,
                   float *outputs)
{
    const bool is_int8 = w->dtype == DTYPE_I8;
    if (is_int8)
        quantize(s, w, OPERAND_X, h, s->row, w->width);
    product_with(w->isa, w->dtype)(&(struct product){
        .m = s->rows, .n = w->output, .k = w->width,
        .a = is_int8 ? (const void *)stream_operand(s, OPERAND_X) : h,
        .a_row = is_int8 ? operand_cells(w->width) : s->row, .a_col = 1,
        .b = stream_array(w, w->head), .b_row = PANEL, .b_panel = cells_of(w->dtype, w->width) * PANEL,
        .c = outputs, .c_row = w->output, .bias = stream_array(w, w->head_bias), .start = ZERO,
    });
}

/* From the last layer's h. */
static void leave(const struct unroll_stream *s, const struct unroll_stream_weights *w, float *outputs)
{
    const float *h = stream_state(s, w->layers - 1, 0, 1);
    if (w->head)
        answer(s, w, h, outputs);
    else
        for (size_t b = 0; b < s->rows; b++)
            memcpy(outputs + b * w->output, h + b * s->row, w->output * sizeof *outputs);
}

static unroll_status step(struct unroll_stream *s, const struct unroll_stream_weights *w, const struct frame *f)
{
    TRY(f->tokens ? check_tokens(s, w, f->tokens) : check_inputs(s, w, f->inputs));
    enter(s, w, f);
    run_layers(s, w);
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
