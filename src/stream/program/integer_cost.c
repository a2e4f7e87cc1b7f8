/* Measures the cost of integers: compares a model's results in floats with those in integers over the inputs of a
 * calibration. The inputs have no targets, so there is a loss only for tokens, whose target is the next one. */
#include "base/memory.h"
#include "base/status.h"
#include "stream/program/integers.h"
#include "unroll_advanced.h"
#include <math.h>
#include <stdio.h>

static int largest_of(const float *y, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++) best = y[i] > y[best] ? i : best;
    return best;
}

/* Returns the cross-entropy of the softmax of y, even if y is a softmax already. */
static double nats(const float *y, int n, int32_t token)
{
    double largest = (double)y[largest_of(y, n)], sum = 0;
    for (int i = 0; i < n; i++) sum += exp((double)y[i] - largest);
    return largest + log(sum) - (double)y[token];
}

struct pair {
    unroll_stream *stream;
    unroll_integer *integer;
    float *exact, *y;
    int outputs;
};

static unroll_status step_pair(const struct pair *p, const struct calibration_data *c, size_t at,
                               const struct program *program)
{
    const float *x = program->input < 0 ? NULL : c->frames + at * program->vector[program->input].size;
    const int32_t *token = program->tokens ? c->tokens + at * (size_t)program->tokens : NULL;
    TRY(unroll_stream_step(p->stream, token, x, p->exact));
    return unroll_integer_step(p->integer, token, x, p->y);
}

static void compare_step(const struct pair *p, int32_t next, struct integer_cost *cost)
{
    for (int i = 0; i < p->outputs; i++) {
        const double difference = (double)p->y[i] - (double)p->exact[i];
        cost->power += (double)p->exact[i] * (double)p->exact[i];
        cost->noise += difference * difference;
    }
    cost->same += largest_of(p->y, p->outputs) == largest_of(p->exact, p->outputs);
    cost->steps++;
    if (next < 0 || next >= p->outputs)
        return;
    cost->nats += nats(p->exact, p->outputs, next);
    cost->nats_of_integers += nats(p->y, p->outputs, next);
    cost->targets++;
}

static unroll_status run_pair(const struct pair *p, const struct program *program, const struct calibration_data *c,
                              struct integer_cost *cost)
{
    const bool is_text = program->tokens == 1 && program->input < 0;
    for (size_t row = 0; row < c->rows; row++) {
        TRY(unroll_stream_reset(p->stream, 0));
        unroll_integer_reset(p->integer);
        for (size_t t = 0; t < c->steps; t++) {
            TRY(step_pair(p, c, t * c->rows + row, program));
            compare_step(p, is_text && t + 1 < c->steps ? c->tokens[(t + 1) * c->rows + row] : -1, cost);
        }
    }
    unroll_integer_reset(p->integer);
    return UNROLL_OK;
}

unroll_status integer_cost(struct unroll_integer *integer, const struct program *program,
                           const struct calibration_data *c, struct integer_cost *cost)
{
    unroll_stream_config config = unroll_stream_config_default();
    config.raw = 1; /* the program's model is already the one that was asked for */
    const size_t bytes = unroll_stream_bytes(program->model, &config);
    struct pair p = {.integer = integer, .outputs = (int)program->vector[program->output].size};
    *cost = (struct integer_cost){.outputs = p.outputs};
    if (!bytes)
        return UNROLL_UNSUPPORTED;
    void *memory = allocate_zeroed(1, bytes);
    p.exact = allocate_zeroed((size_t)p.outputs, 2 * sizeof *p.exact);
    unroll_status status = memory && p.exact ? unroll_stream_init(memory, bytes, program->model, &config, &p.stream)
                                             : fail(UNROLL_RESOURCE, "no memory to compare with floats");
    if (status == UNROLL_OK) {
        p.y = p.exact + p.outputs;
        status = run_pair(&p, program, c, cost);
    }
    release(memory);
    release(p.exact);
    return status;
}

/* Returns the ratio of the powers of results and noise; 0 without results, 999 without noise. */
static double decibels_of(const struct integer_cost *c)
{
    return c->power <= 0 ? 0 : c->noise <= 0 ? 999 : 10 * log10(c->power / c->noise);
}

json_t *integer_cost_as_json(const struct integer_cost *c)
{
    json_t *o = json_pack("{s:I, s:f, s:f}", "steps", (json_int_t)c->steps, "decibels", decibels_of(c), "same_largest",
                          (double)c->same / (double)c->steps);
    if (c->targets) {
        json_object_set_new(o, "loss", json_real(c->nats / (double)c->targets));
        json_object_set_new(o, "loss_of_integers", json_real(c->nats_of_integers / (double)c->targets));
    }
    return o;
}

void describe_integer_cost(const struct integer_cost *c, char line[static 256])
{
    int at = snprintf(line, 256,
                      "cost:    compared with floats over the calibration's %zu steps: noise %.1f dB below the outputs",
                      c->steps, decibels_of(c));
    if (c->outputs > 1)
        at += snprintf(line + at, 256 - (size_t)at, ", the largest output is the same in %.2f %%",
                       100 * (double)c->same / (double)c->steps);
    if (c->targets)
        snprintf(line + at, 256 - (size_t)at, ", loss %.5f instead of %.5f nats",
                 c->nats_of_integers / (double)c->targets, c->nats / (double)c->targets);
}
