/* The step of a stream, the part that runs in real time. It does not allocate, lock, wait or make system calls; bind.c
 * has prepared the calls. */
#include "base/finite.h"
#include "base/status.h"
#include "stream/stream.h"
#include <math.h>
#include <string.h>

/* Numbers [B, width] and tokens [B, columns]; NULL if the model reads none. */
struct frame {
    const float *inputs;
    const int32_t *tokens;
    float *outputs;
};

static unroll_status refuse_inputs(const struct unroll_stream *s, const float *inputs)
{
    size_t i = 0;
    while (isfinite(inputs[i])) i++;
    return fail(UNROLL_DATA, "inputs[row=%zu, %zu] is %s; fix: use finite numbers", i / s->input.width,
                i % s->input.width, isnan(inputs[i]) ? "NaN" : "infinite");
}

static unroll_status enter_tokens(const struct unroll_stream *s, const int32_t *tokens, const struct stream_tokens *of)
{
    int32_t *to = stream_at(s, of->at);
    for (size_t b = 0; b < s->rows; b++, tokens += s->tokens) {
        if (*tokens < 0 || (uint32_t)*tokens >= of->symbols)
            return fail(UNROLL_DATA, "tokens[row=%zu%s] = %d is outside 0..%d; fix: use tokens in this range", b,
                        of->called, (int)*tokens, (int)of->symbols - 1);
        to[b] = *tokens;
    }
    return UNROLL_OK;
}

static unroll_status enter(const struct unroll_stream *s, const struct frame *f)
{
    for (uint32_t i = 0; i < s->tokens; i++) TRY(enter_tokens(s, f->tokens + i, &s->token[i]));
    if (s->input.width && !copy_finite(stream_at(s, s->input.at), f->inputs, s->rows * s->input.width))
        return refuse_inputs(s, f->inputs);
    return UNROLL_OK;
}

static void leave(const struct unroll_stream *s, float *outputs)
{
    const struct stream_rows from = stream_rows(s, &s->output, 1);
    const size_t width = s->output.width;
    for (size_t b = 0; b < s->rows; b++) memcpy(outputs + b * width, from.at + b * from.row, width * sizeof *outputs);
}

static unroll_status step_stream(struct unroll_stream *s, const struct frame *f)
{
    const struct stream_call *call = stream_calls(s, 0), *end = call + s->calls;
    TRY(enter(s, f));
    for (; call < end; call++) call->run(call);
    leave(s, f->outputs);
    s->now ^= 1;
    return UNROLL_OK;
}

/* Treats denormal numbers as zeros, as sessions do. */
static unroll_status run_stream(struct unroll_stream *s, int steps, const struct frame *first)
{
    struct frame f = *first;
    if (!f.tokens != !s->tokens || !f.inputs != !s->input.width || !f.outputs || steps < 0)
        return fail(UNROLL_USAGE, "a step of this stream needs %s, outputs, and 0 or more steps; fix: give them",
                    !s->tokens       ? "inputs"
                    : s->input.width ? "tokens and inputs"
                                     : "tokens");
    const size_t inputs = s->rows * s->input.width, outputs = s->rows * s->output.width;
    unroll_status status = UNROLL_OK;
    if (s->place != s)
        stream_move(s);
    const uint64_t mode = cpu_flush_denormals();
    workspace_of_thread = stream_at(s, s->workspace);
    for (int t = 0; t < steps && status == UNROLL_OK; t++) {
        status = step_stream(s, &f);
        f.inputs = f.inputs ? f.inputs + inputs : NULL;
        f.tokens = f.tokens ? f.tokens + s->rows * s->tokens : NULL;
        f.outputs += outputs;
    }
    cpu_restore_float_mode(mode);
    return status;
}

unroll_status unroll_stream_step(unroll_stream *s, const int32_t *tokens, const float *inputs, float *outputs)
{
    return run_stream(s, 1, &(struct frame){inputs, tokens, outputs});
}

unroll_status unroll_stream_run(unroll_stream *s, int steps, const int32_t *tokens, const float *inputs, float *outputs)
{
    return run_stream(s, steps, &(struct frame){inputs, tokens, outputs});
}
