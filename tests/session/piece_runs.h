/* Runs of sessions with recurrences in pieces of time, or on ranks along it, and all their results, which test_pieces.c
 * and test_time_ranks.c compare with runs in one piece. */
#ifndef SESSION_PIECE_RUNS_H
#define SESSION_PIECE_RUNS_H
#include "fixture.h"
#include "unroll_advanced.h"
#include <math.h>

enum { LONG = 1100, MANY = 3, WIDE = 40 };

struct way {
    const char *cell;
    int layers, bidirectional, projection;
    int steps, rows, hidden, input; /* narrow inputs are multiplied in the steps, others before them; 0: narrow */
    bool lengths, resets, stateful;
    bool trains;    /* gradients, too */
    bool in_stages; /* except those of states, which only ranks with the layer have */
    float gain;     /* of all weights except those of x; 0: 1 */
};

#define WAY(name, L, both, P, T, B, H, ...)                                                             \
    {.cell = name, .layers = L, .bidirectional = both, .projection = P, .steps = T, .rows = B, .hidden = H, __VA_ARGS__}
#define PLAIN .gain = 0

static inline int inputs_of(const struct way *w) { return w->input ? w->input : INPUT; }

static inline unroll_model *model_of(const struct way *w)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = w->cell, spec.layers = w->layers ? w->layers : 1, spec.hidden = w->hidden, spec.input = inputs_of(w);
    spec.bidirectional = w->bidirectional, spec.projection = w->projection;
    unroll_model *m = new_model(spec);
    for (int i = 0; w->gain > 0 && i < unroll_model_parameters(m); i++) {
        unroll_parameter q = {.size = sizeof q};
        MUST(unroll_model_parameter(m, i, &q));
        for (int k = 0; strstr(q.name, "weight_hh") && k < q.shape[0] * q.shape[1]; k++)
            q.data[k] *= w->gain * 1.7320508f; /* uniform in 1 / sqrt(H) has a third of the variance */
    }
    return m;
}

/* All results of a session: the last layer's outputs, and all last states. */
struct made {
    float *at;
    size_t count;
};

static inline void add_made(unroll_session *s, const char *name, struct made *made)
{
    const size_t count = unroll_session_count(s, name);
    made->at = realloc(made->at, (made->count + count + 1) * sizeof *made->at);
    if (count)
        MUST(unroll_session_read(s, name, made->at + made->count, count));
    made->count += count;
}

static inline void run_backward(unroll_session *s, const struct way *w, uint64_t *seed)
{
    char name[32];
    snprintf(name, sizeof name, "d.y.l%d", w->layers - 1);
    const size_t count = unroll_session_count(s, name);
    float *dy = malloc(count * sizeof *dy);
    for (size_t i = 0; i < count; i++) dy[i] = (float)random_number(seed) / 16;
    MUST(unroll_session_write(s, name, dy, count));
    MUST(unroll_session_backward(s));
    free(dy);
}

/* Runs with the machine's pieces and ranks; counts may be NULL. */
static inline struct made run_on(unroll_model *m, const struct way *w, unroll_machine machine, unroll_pieces *counts)
{
    const size_t places = (size_t)w->steps * (size_t)w->rows, numbers = places * (size_t)inputs_of(w);
    float *x = malloc(numbers * sizeof *x);
    uint8_t *reset = calloc(places, 1);
    int32_t lengths[8] = {w->steps, 0, w->steps / 2, 1, w->steps - 1, w->steps / 3, 65, 64};
    unroll_session_config c = config_of(w->trains ? UNROLL_MODULE : UNROLL_INFER, w->steps, w->rows);
    uint64_t seed = 9;
    c.input_gradient = w->trains;
    c.lengths = w->lengths, c.resets = w->resets, c.stateful = w->stateful;
    c.machine = machine;
    unroll_session *s = open_with(m, c);
    unroll_batch batch = {.size = sizeof batch, .inputs = x};
    batch.lengths = w->lengths ? lengths : NULL;
    batch.reset = w->resets ? reset : NULL;
    for (int times = 0; times < (w->stateful ? 2 : 1); times++) {
        for (size_t i = 0; i < numbers; i++) x[i] = (float)random_number(&seed);
        for (size_t i = 0; i < places; i++) reset[i] = random_number(&seed) > 0.99;
        MUST(unroll_session_forward(s, &batch));
    }
    struct made made = {NULL, 0};
    if (w->trains)
        run_backward(s, w, &seed);
    for (int layer = 0; layer < (w->layers ? w->layers : 1); layer++)
        for (int k = 0; k < 5; k++) {
            static const char *const names[] = {"y.l%d", "hn.l%d", "sn.l%d", "hn.l%d.reverse", "sn.l%d.reverse"};
            char name[32];
            snprintf(name, sizeof name, names[k], layer);
            if (k > 0 || layer + 1 >= w->layers)
                add_made(s, name, &made);
            snprintf(name, sizeof name, k % 2 ? "d.h0.l%d%s" : "d.s0.l%d%s", layer, k > 2 ? ".reverse" : "");
            if (k > 0 && w->trains && !w->in_stages)
                add_made(s, name, &made);
        }
    for (int i = 0; i < unroll_model_parameters(m) && w->trains; i++) {
        unroll_parameter q = {.size = sizeof q};
        char name[80];
        MUST(unroll_model_parameter(m, i, &q));
        snprintf(name, sizeof name, "d.%s", q.name);
        add_made(s, name, &made);
    }
    if (w->trains)
        add_made(s, "d.x", &made);
    if (counts) {
        *counts = (unroll_pieces){.size = sizeof *counts};
        MUST(unroll_session_pieces(s, counts));
    }
    unroll_session_free(s);
    free(reset);
    free(x);
    return made;
}

static inline struct made run(unroll_model *m, const struct way *w, int pieces, int threads, const char *isa,
                              float tolerance, unroll_pieces *counts)
{
    unroll_machine machine = unroll_machine_default();
    machine.pieces = pieces, machine.time_tolerance = tolerance, machine.threads = threads, machine.isa = isa;
    return run_on(m, w, machine, counts);
}

static inline double worst_of(struct made a, struct made b)
{
    double worst = a.count == b.count ? 0 : INFINITY;
    for (size_t i = 0; i < a.count && i < b.count; i++) {
        const double d = fabs((double)a.at[i] - (double)b.at[i]) / fmax(1, fabs((double)b.at[i]));
        worst = d <= worst ? worst : d; /* keeps NaN */
    }
    return worst;
}

#endif
