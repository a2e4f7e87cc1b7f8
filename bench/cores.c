/* Estimates the regimes of regimes.txt on more cores than the machine has. Each thread's part of every operation
 * runs alone on one core, without waiting at barriers, and is timed in CPU time. An operation takes as long as its
 * slowest part. Barriers and data passed between cores are added at assumed costs. Not a measurement of threads.
 *     build/cores bench/regimes.txt [PART [NAME]] */
#include "device/cpu/recurrent/division.h"
#include "device/cpu/executor/executable_parts.h"
#include "session/session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 64, SIZES = 6, RUNS = 3 };
#define BARRIER 400.0     /* nanoseconds for one level of a barrier, as in division.c */
#define BYTES_HANDED 3.5  /* bytes per nanosecond from another core's cache, as in division.c */

static const int sizes[SIZES] = { 2, 4, 8, 16, 32, 64 };

struct regime {
    char part[32], name[16], cell[16], pass[8], dtype[8], form[8];
    int layers, steps, rows, input, hidden;
};

/* Seconds, summed over all operations. */
struct price {
    double alone, parts, barriers, handed;
};

static struct barrier alone; /* every thread passes at once; only the counts are used */

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "cores: %s\n", unroll_last_error());
    exit(status);
}

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- a session after one run ---- */

static uint32_t draw(uint32_t *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

static unroll_session *open_session(const struct regime *r, unroll_model **model)
{
    const bool text = !strcmp(r->pass, "text");
    unroll_session *session = NULL;
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = r->cell, spec.layers = r->layers, spec.hidden = r->hidden, spec.input = r->input;
    spec.bidirectional = !strcmp(r->form, "both");
    if (text)
        spec.tokens = 1, spec.output = r->input, spec.loss = "xent";
    check(unroll_model_new(&spec, 1, model));
    unroll_session_config c = unroll_session_config_default();
    c.mode = text ? UNROLL_TRAIN : !strcmp(r->pass, "train") ? UNROLL_MODULE : UNROLL_INFER;
    c.steps = r->steps, c.rows = r->rows, c.lengths = !strcmp(r->form, "ragged");
    c.input_gradient = c.mode == UNROLL_MODULE;
    if (text)
        c.optimizer = "adam";
    c.machine.threads = 1, c.machine.queues = 1, c.machine.dtype = r->dtype;
    check(unroll_session_new(*model, &c, &session));
    return session;
}

/* Runs the session once, so that all buffers hold realistic values. The learning rate is 0, because updates run many
 * times and must not change the weights. */
static void run_once(const struct regime *r, unroll_session *s)
{
    const size_t places = (size_t)r->steps * (size_t)r->rows, numbers = places * (size_t)(r->input + 2 * r->hidden);
    float *x = calloc(numbers, sizeof *x);
    int32_t *tokens = calloc(places, sizeof *tokens), *lengths = calloc((size_t)r->rows, sizeof *lengths);
    uint32_t state = 1;
    if (!x || !tokens || !lengths)
        exit(UNROLL_RESOURCE);
    for (size_t i = 0; i < numbers; i++) x[i] = (float)draw(&state) * 0x1p-23f - 1;
    for (size_t i = 0; i < places; i++) tokens[i] = (int32_t)(draw(&state) % (uint32_t)r->input);
    for (int i = 0; i < r->rows; i++) lengths[i] = 1 + (int32_t)(draw(&state) % (uint32_t)r->steps);
    unroll_batch batch = { .size = sizeof batch };
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = { .size = sizeof result };
    rates.learning_rate = 0;
    batch.lengths = strcmp(r->form, "ragged") ? NULL : lengths;
    if (strcmp(r->pass, "text"))
        batch.inputs = x;
    else
        batch.tokens = batch.targets = tokens;
    if (s->config.mode == UNROLL_TRAIN) {
        check(unroll_session_step(s, &batch, &rates, &result));
    } else {
        char name[32];
        snprintf(name, sizeof name, "d.y.l%d", r->layers - 1);
        check(unroll_session_forward(s, &batch));
        if (s->config.mode == UNROLL_MODULE) {
            check(unroll_session_write(s, name, x, unroll_session_count(s, name)));
            check(unroll_session_backward(s));
        }
    }
    free(x);
    free(tokens);
    free(lengths);
}

/* ---- one operation, divided ---- */

static unsigned passes_of(int me) { return atomic_load(&alone.group[me / BARRIER_GROUP].count); }

/* Returns the seconds of the fastest of several runs. *meetings: the number of barriers the thread passes. */
static double part_seconds(struct executable *in, int op, int me, int team, unsigned *meetings)
{
    double best = INFINITY;
    struct work work = { 0, 0 };
    for (int i = 0; i < RUNS && (i < 2 || best < 1e-3); i++) {
        const unsigned before = passes_of(me);
        const double begin = thread_seconds();
        check(in->isa->kernel[in->plan->op[op].kind](&in->call[op], me, team, &work));
        best = fmin(best, thread_seconds() - begin);
        *meetings = passes_of(me) - before;
    }
    return best;
}

/* Returns the estimated seconds of data passed between cores when the units of a step are divided. The division is
 * computed as in rnn_parts.h. */
static double handed_seconds(const struct call *call, int team)
{
    const struct tensor *g = &call->view[RNN_G], *w = &call->view[RNN_W];
    const struct cell_declaration *cell = call->cell->declaration;
    const bool back = call->op->kind == OP_RNN_BACK;
    struct division_shape shape = { .rows = g->count[1], .units = g->count[3], .gates = w->at ? w->count[0] : 0,
                                    .width = call->view[RNN_Y].count[2], .taking_part = 1,
                                    .number = w->at ? dtype_size(w->dtype) : sizeof(float),
                                    .barriers = cell->phases, .rows_only = call->view[RNN_PROJ].at != NULL };
    shape.handed = back ? (size_t)cell->inputs * shape.units * shape.number
                        : (1 + (size_t)cell->intermediates) * shape.width * sizeof(float);
    const struct division_parts parts = division_of(&shape, team, call->division);
    const double rows = ceil((double)shape.rows / parts.rows);
    return 1e-9 * g->count[0] * rows * (double)shape.handed * (1 - 1.0 / parts.units) / BYTES_HANDED;
}

static void add_op(struct executable *in, int op, int team, struct price *sum)
{
    const enum op_kind kind = in->plan->op[op].kind;
    double slowest = 0;
    unsigned meetings = 0, most = 0;
    for (int me = 0; me < team; me++) {
        slowest = fmax(slowest, part_seconds(in, op, me, team, &meetings));
        most = meetings > most ? meetings : most;
    }
    if (team == 1) {
        sum->alone += slowest;
        return;
    }
    sum->parts += slowest;
    sum->barriers += 1e-9 * BARRIER * barrier_depth(team) * (2 + most); /* and at both ends */
    if ((kind == OP_RNN || kind == OP_RNN_BACK) && most > 0)
        sum->handed += handed_seconds(&in->call[op], team);
}

static void show(const struct regime *r)
{
    unroll_model *model;
    unroll_session *session = open_session(r, &model);
    struct executable *in = session->executable;
    struct price price = { .alone = 0 };
    run_once(r, session);
    uint64_t mode = cpu_flush_denormals();
    workspace_of_thread = in->workspace[0];
    for (int i = 0; i < in->plan->ops; i++) {
        in->call[i].barrier = &alone;
        add_op(in, i, 1, &price);
    }
    const double ms = 1e3 * price.alone;
    printf(ms < 1000 ? "| %s %s | %.3g |" : "| %s %s | %.0f |", r->part, r->name, ms);
    for (int k = 0; k < SIZES; k++) {
        price.parts = price.barriers = price.handed = 0;
        for (int i = 0; i < in->plan->ops; i++) add_op(in, i, sizes[k], &price);
        printf(" %.0f |", 100 * price.alone / (sizes[k] * (price.parts + price.barriers + price.handed)));
    }
    const double all = price.parts + price.barriers + price.handed;
    printf(" %.0f, %.0f, %.0f |\n", 100 * price.parts / all, 100 * price.barriers / all, 100 * price.handed / all);
    fflush(stdout);
    cpu_restore_float_mode(mode);
    unroll_session_free(session);
    unroll_model_free(model);
}

int main(int argc, char **argv)
{
    struct regime r;
    char line[256];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: cores bench/regimes.txt [PART [NAME]]\n");
        return UNROLL_USAGE;
    }
    for (int i = 0; i < MOST / BARRIER_GROUP; i++)
        alone.shape[i] = (struct barrier_shape){ .members = 1, .parent = -1 };
    printf("| regime | one thread, ms | 2 | 4 | 8 | 16 | 32 | 64 | of 64: parts, barriers, handed |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%31s %15s %15s %7s %7s %d,%d,%d,%d,%d %7s", r.part, r.name, r.cell, r.pass, r.dtype, &r.layers,
                   &r.steps, &r.rows, &r.input, &r.hidden, r.form) == 11 && line[0] != '#' && strcmp(r.pass, "stream") &&
            (argc < 3 || !strcmp(argv[2], r.part)) && (argc < 4 || !strcmp(argv[3], r.name)))
            show(&r);
    fclose(file);
    return 0;
}
