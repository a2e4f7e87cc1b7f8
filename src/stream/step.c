/* The step of a stream: what runs in real time. Nothing here allocates, locks, waits or asks the system for
 * anything; all addresses are offsets that init has worked out. */
#include "base/status.h"
#include "stream/stream.h"
#include <math.h>
#include <string.h>

/* One layer in one step. */
struct layer_step {
    const struct unroll_stream *stream;
    const struct unroll_stream_weights *weights;
    const struct layer_weights *layer;
    size_t index;
    const float *x;                         /* [B, I] in rows of x_row; NULL: `in` holds the sums with x */
    size_t x_row;
};

static void *array(const void *base, size_t offset)
{
    return offset ? (char *)base + offset : NULL;
}

/* ---- a layer --------------------------------------------------------------------------- */

static struct fields fields(const void *at, size_t field, size_t row)
{
    return (struct fields){ (void *)at, field, row, CELL_TILE };
}

/* h = P m, where the cell has left m in the place of h. */
static void project(const struct layer_step *l)
{
    const struct unroll_stream *s = l->stream;
    float *h = stream_state(s, l->index, 0, 1), *m = array(s, s->x);
    if (!l->layer->projection)
        return;
    memcpy(m, h, s->plane * sizeof *m);
    l->weights->isa->product(&(struct product){
        .m = s->rows, .n = l->weights->width, .k = l->weights->hidden, .a = m, .a_row = s->row, .a_col = 1,
        .b = array(l->weights, l->layer->projection), .b_row = PANEL, .b_panel = l->weights->hidden * PANEL,
        .c = h, .c_row = s->row, .start = ZERO,
    });
}

/* Of each phase one call: the products with x and h, and the cell. */
static void run_layer(const struct layer_step *l)
{
    const struct unroll_stream *s = l->stream;
    const struct unroll_stream_weights *w = l->weights;
    const float *link = array(s, s->link);
    const struct fused_step step = {
        .rows = s->rows, .unit_end = w->hidden, .options.clip = w->clip,
        .x = { l->x, l->x_row }, .h = { stream_state(s, l->index, 0, 0), s->row }, .link = { link, s->row },
        .of_x = { l->x ? array(w, l->layer->w_ih) : NULL, l->layer->input, w->gates_x,
                  l->x ? array(w, l->layer->b_ih) : NULL, w->hidden },
        .of_h = { array(w, l->layer->w_hh), w->width, w->gates_h, array(w, l->layer->b_hh), w->hidden },
        .value = { .in = l->x ? fields(NULL, 0, 0) : fields(array(s, s->in), w->hidden, (size_t)w->gates_x * w->hidden),
                   .state = fields(stream_state(s, l->index, 0, 0), s->plane, s->row),
                   .next = fields(stream_state(s, l->index, 0, 1), s->plane, s->row),
                   .link = fields(link, s->plane, s->row),
                   .vector = fields(array(w, l->layer->vector), w->hidden, 0) },
    };
    for (int phase = 0; phase < w->cell->declaration->phases; phase++)
        w->cell->fused[phase](&step);
    project(l);
}

/* ---- a frame --------------------------------------------------------------------------- */

/* Inputs or tokens, one of them NULL. */
struct frame {
    const float *inputs;
    const int32_t *tokens;
    float *outputs;
};

/* With their exponents full, floats are infinities or NaNs. A loop that compilers turn into vector code. */
static bool all_finite(const float *x, size_t n)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bad |= (uint32_t)((bits & 0x7f800000) == 0x7f800000);
    }
    return !bad;
}

static unroll_status check_inputs(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                                  const float *inputs)
{
    if (all_finite(inputs, s->rows * w->input))
        return UNROLL_OK;
    size_t i = 0;
    while (all_finite(inputs + i, 1))
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

/* What the first layer reads: rows of x, or its sums where a table has them. */
static void enter(struct layer_step *l, const struct frame *f)
{
    const struct unroll_stream *s = l->stream;
    const struct unroll_stream_weights *w = l->weights;
    const float *table = array(w, w->embedding ? w->embedding : l->layer->w_ih);
    const size_t width = w->embedding ? l->layer->input : (size_t)w->gates_x * w->hidden;
    float *to = array(s, w->embedding ? s->x : s->in);
    for (size_t b = 0; f->tokens && b < s->rows; b++)
        memcpy(to + b * width, table + (size_t)f->tokens[b] * width, width * sizeof *to);
    l->x = f->inputs ? f->inputs : w->embedding ? to : NULL;
    l->x_row = l->layer->input;
}

/* From the last layer's h. */
static void leave(const struct unroll_stream *s, const struct unroll_stream_weights *w, float *outputs)
{
    const float *h = stream_state(s, w->layers - 1, 0, 1);
    if (w->head)
        w->isa->product(&(struct product){
            .m = s->rows, .n = w->output, .k = w->width, .a = h, .a_row = s->row, .a_col = 1,
            .b = array(w, w->head), .b_row = PANEL, .b_panel = (size_t)w->width * PANEL,
            .c = outputs, .c_row = w->output, .bias = array(w, w->head_bias), .start = ZERO,
        });
    else
        for (size_t b = 0; b < s->rows; b++)
            memcpy(outputs + b * w->output, h + b * s->row, w->output * sizeof *outputs);
}

static unroll_status step(struct unroll_stream *s, const struct unroll_stream_weights *w, const struct frame *f)
{
    TRY(f->tokens ? check_tokens(s, w, f->tokens) : check_inputs(s, w, f->inputs));
    struct layer_step l = { .stream = s, .weights = w, .layer = w->layer };
    enter(&l, f);
    for (; l.index < w->layers; l.index++, l.layer++) {
        run_layer(&l);
        l.x = stream_state(s, l.index, 0, 1);
        l.x_row = s->row;
    }
    leave(s, w, f->outputs);
    s->now ^= 1;
    return UNROLL_OK;
}

/* Denormal numbers are zeros while a stream computes, as in sessions. */
static unroll_status run(struct unroll_stream *s, int steps, struct frame f)
{
    const struct unroll_stream_weights *w = stream_weights(s);
    if (!(w->symbols ? (const void *)f.tokens : f.inputs) || !f.outputs || steps < 0)
        return fail(UNROLL_USAGE, "a step of this stream needs %s, outputs, and 0 or more steps",
                    w->symbols ? "tokens" : "inputs");
    const size_t inputs = s->rows * w->input, outputs = s->rows * w->output;
    const uint64_t mode = cpu_float_mode();
    unroll_status status = UNROLL_OK;
    cpu_flush_denormals();
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
    return run(s, 1, (struct frame){ inputs, NULL, outputs });
}

unroll_status unroll_stream_step_tokens(unroll_stream *s, const int32_t *tokens, float *outputs)
{
    return run(s, 1, (struct frame){ NULL, tokens, outputs });
}

unroll_status unroll_stream_run(unroll_stream *s, int steps, const float *inputs, float *outputs)
{
    return run(s, steps, (struct frame){ inputs, NULL, outputs });
}

unroll_status unroll_stream_run_tokens(unroll_stream *s, int steps, const int32_t *tokens, float *outputs)
{
    return run(s, steps, (struct frame){ NULL, tokens, outputs });
}
