/* The step of a stream: what runs in real time. Nothing here allocates, locks, waits or asks the system for
 * anything; the calls are prepared (bind.c). */
#include "base/finite.h"
#include "base/status.h"
#include "stream/stream.h"
#include <math.h>
#include <string.h>

/* Inputs or tokens, one of them NULL. */
struct frame {
    const float *inputs;
    const int32_t *tokens;
    float *outputs;
};

static unroll_status refuse_inputs(const struct unroll_stream *s, const float *inputs)
{
    size_t i = 0;
    while (isfinite(inputs[i])) i++;
    return fail(UNROLL_DATA, "inputs[row=%zu, %zu] is %s", i / s->input.width, i % s->input.width,
                isnan(inputs[i]) ? "NaN" : "infinite");
}

static unroll_status enter_tokens(const struct unroll_stream *s, const int32_t *tokens)
{
    for (size_t b = 0; b < s->rows; b++)
        if (tokens[b] < 0 || (uint32_t)tokens[b] >= s->symbols)
            return fail(UNROLL_DATA, "tokens[row=%zu] = %d is outside 0..%d", b, (int)tokens[b], (int)s->symbols - 1);
    memcpy(stream_at(s, s->input.at), tokens, s->rows * sizeof *tokens);
    return UNROLL_OK;
}

static unroll_status enter(const struct unroll_stream *s, const struct frame *f)
{
    if (f->tokens)
        return enter_tokens(s, f->tokens);
    return copy_finite(stream_at(s, s->input.at), f->inputs, s->rows * s->input.width) ? UNROLL_OK
                                                                                       : refuse_inputs(s, f->inputs);
}

static void leave(const struct unroll_stream *s, float *outputs)
{
    const struct stream_rows from = stream_rows(s, &s->output, 1);
    const size_t width = s->output.width;
    for (size_t b = 0; b < s->rows; b++) memcpy(outputs + b * width, from.at + b * from.row, width * sizeof *outputs);
}

static unroll_status step(struct unroll_stream *s, const struct frame *f)
{
    const struct stream_call *call = stream_calls(s, 0), *end = call + s->calls;
    TRY(enter(s, f));
    for (; call < end; call++) call->run(call);
    leave(s, f->outputs);
    s->now ^= 1;
    return UNROLL_OK;
}

/* Denormal numbers are zeros while a stream computes, as in sessions. */
static unroll_status run(struct unroll_stream *s, int steps, const struct frame *first)
{
    struct frame f = *first;
    if (!(s->symbols ? (const void *)f.tokens : f.inputs) || !f.outputs || steps < 0)
        return fail(UNROLL_USAGE, "a step of this stream needs %s, outputs, and 0 or more steps",
                    s->symbols ? "tokens" : "inputs");
    const size_t inputs = s->rows * s->input.width, outputs = s->rows * s->output.width;
    unroll_status status = UNROLL_OK;
    if (s->place != s)
        stream_move(s);
    const uint64_t mode = cpu_flush_denormals();
    workspace_of_thread = stream_at(s, s->workspace);
    for (int t = 0; t < steps && status == UNROLL_OK; t++) {
        status = step(s, &f);
        f.inputs += f.inputs ? inputs : 0;
        f.tokens += f.tokens ? s->rows : 0;
        f.outputs += outputs;
    }
    cpu_restore_float_mode(mode);
    return status;
}

unroll_status unroll_stream_step(unroll_stream *s, const float *inputs, float *outputs)
{
    return run(s, 1, &(struct frame){inputs, NULL, outputs});
}

unroll_status unroll_stream_step_tokens(unroll_stream *s, const int32_t *tokens, float *outputs)
{
    return run(s, 1, &(struct frame){NULL, tokens, outputs});
}

unroll_status unroll_stream_run(unroll_stream *s, int steps, const float *inputs, float *outputs)
{
    return run(s, steps, &(struct frame){inputs, NULL, outputs});
}

unroll_status unroll_stream_run_tokens(unroll_stream *s, int steps, const int32_t *tokens, float *outputs)
{
    return run(s, steps, &(struct frame){NULL, tokens, outputs});
}
