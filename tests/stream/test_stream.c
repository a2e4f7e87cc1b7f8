/* Compares streams with sessions: the outputs and final states of single steps have the bits of a forward over the
 * whole sequence with the same weights, in fp32, bf16 and int8, on every ISA. Runs the list of cases, widths with and
 * without tails, and networks. Also tests resets, copies by memcpy, saved states, shared weights, refusals. What a step
 * must not do is tested in test_realtime.c.
 * Usage: test_stream cases.txt */
/* test: kinds=check-plain,memory; with=cases/case; args=tests/cases/cases.txt; seconds=20 */
#include "cases/case.h"
#include "session/fixture.h"
#include "stream/networks.h"
#include "listed.h"
#include <math.h>

/* ---- the session's results ------------------------------------------------------------- */

struct answer {
    float *outputs;
    size_t count;
    struct {
        char name[16];
        float *value;
        size_t count;
    } state[128];
    int states;
    struct {
        float *value;
        size_t width;
        int layer;
    } inner[8]; /* [T, B, width] of inner outputs */
    int inners;
};

static void keep_state(unroll_session *session, struct answer *a, const char *format, int layer)
{
    char name[16];
    snprintf(name, sizeof name, format, layer);
    size_t count = unroll_session_count(session, name);
    if (!count)
        return;
    snprintf(a->state[a->states].name, sizeof name, "%s", name);
    a->state[a->states].count = count;
    a->state[a->states].value = malloc(count * sizeof(float));
    MUST(unroll_session_read(session, name, a->state[a->states++].value, count));
}

static void keep_inner(unroll_model *m, unroll_session *session, struct answer *a, const struct test_case *c)
{
    unroll_layer layer = {.size = sizeof layer};
    for (int l = 0; l + 1 < unroll_model_layers(m); l++) {
        char name[16];
        MUST(unroll_model_layer(m, l, &layer));
        if (!layer.output)
            continue;
        snprintf(name, sizeof name, "y.l%d", l);
        size_t count = unroll_session_count(session, name);
        a->inner[a->inners].width = count / (size_t)(c->session.steps * c->session.rows);
        a->inner[a->inners].layer = l;
        a->inner[a->inners].value = malloc(count * sizeof(float));
        MUST(unroll_session_read(session, name, a->inner[a->inners++].value, count));
    }
}

/* Computes the outputs of all steps on the reference kernels, then the states in the order of a saved stream. */
static struct answer ask_session(unroll_model *m, const struct test_case *c, const unroll_batch *batch,
                                 const char *dtype)
{
    struct answer a = {0};
    unroll_session_config config = config_of(UNROLL_INFER, c->session.steps, c->session.rows);
    char name[16] = "z";
    config.resets = c->session.resets;
    config.machine.isa = "scalar";
    config.machine.dtype = dtype;
    unroll_session *session = open_with(m, config);
    unroll_batch inputs = {
        .size = sizeof inputs, .tokens = batch->tokens, .inputs = batch->inputs, .reset = batch->reset};
    MUST(unroll_session_forward(session, &inputs));
    if (!unroll_session_count(session, name))
        snprintf(name, sizeof name, "y.l%d", c->spec.layers - 1);
    a.count = unroll_session_count(session, name);
    a.outputs = malloc(a.count * sizeof(float));
    MUST(unroll_session_read(session, name, a.outputs, a.count));
    for (int l = 0; l < c->spec.layers; l++) {
        keep_state(session, &a, "hn.l%d", l);
        keep_state(session, &a, "sn.l%d", l);
    }
    keep_inner(m, session, &a, c);
    unroll_session_free(session);
    return a;
}

static void free_answer(struct answer *a)
{
    free(a->outputs);
    for (int i = 0; i < a->states; i++) free(a->state[i].value);
    for (int i = 0; i < a->inners; i++) free(a->inner[i].value);
}

/* ---- the stream's results -------------------------------------------------------------- */

static void *aligned(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }

static unroll_stream *new_stream(const unroll_model *m, const unroll_stream_config *c)
{
    unroll_stream *s = NULL;
    size_t bytes = unroll_stream_bytes(m, c);
    CHECK(bytes > 0, "%s", unroll_last_error());
    void *memory = aligned(bytes);
    memset(memory, 0xff, bytes); /* memory need not be initialized */
    if (!MUST(unroll_stream_init(memory, bytes, m, c, &s)))
        abort();
    return s;
}

static unroll_stream_config stream_config(int rows, const char *isa)
{
    unroll_stream_config c = unroll_stream_config_default();
    c.rows = rows;
    c.machine.isa = isa;
    return c;
}

/* Runs step t of a batch, with the resets before it. */
static unroll_status one_step(unroll_stream *s, const struct test_case *c, const unroll_batch *b, int t, float *outputs)
{
    const size_t rows = (size_t)c->session.rows, first = (size_t)t * rows;
    for (size_t row = 0; b->reset && row < rows; row++)
        if (b->reset[first + row])
            MUST(unroll_stream_reset(s, (int)row));
    float *to = outputs + first * (size_t)unroll_stream_outputs(s);
    const size_t columns = (size_t)unroll_stream_tokens(s), numbers = (size_t)unroll_stream_inputs(s);
    if (b->tokens && b->inputs)
        return unroll_stream_step(s, b->tokens + first * columns, b->inputs + first * numbers, to);
    return b->tokens ? unroll_stream_step(s, b->tokens + first * columns, NULL, to)
                     : unroll_stream_step(s, NULL, b->inputs + first * numbers, to);
}

static size_t differences(const float *a, const float *b, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += memcmp(&a[i], &b[i], sizeof *a) != 0;
    return n;
}

static void *saved(const unroll_stream *s)
{
    size_t bytes = unroll_stream_state_bytes(s);
    void *state = malloc(bytes);
    MUST(unroll_stream_save(s, state, bytes));
    return state;
}

enum { HEADER = 64 };

static void same_answer(const char *what, unroll_stream *s, const struct answer *a, const float *outputs)
{
    size_t n = differences(outputs, a->outputs, a->count);
    CHECK(n == 0, "%s: %zu of %zu outputs differ", what, n, a->count);
    char *state = saved(s), *at = state + HEADER;
    for (int i = 0; i < a->states; i++, at += a->state[i - 1].count * sizeof(float)) {
        float *value = malloc(a->state[i].count * sizeof *value);
        memcpy(value, at, a->state[i].count * sizeof *value);
        n = differences(value, a->state[i].value, a->state[i].count);
        CHECK(n == 0, "%s: %zu of %zu numbers of %s differ", what, n, a->state[i].count, a->state[i].name);
        free(value);
    }
    CHECK(at == state + unroll_stream_state_bytes(s), "%s: the saved states are as many", what);
    free(state);
}

/* Compares the outputs of inner layers in step t. */
static void same_inner(const char *what, const unroll_stream *s, const struct test_case *c, const struct answer *a,
                       int t)
{
    for (int i = 0; i < a->inners; i++) {
        size_t count = (size_t)c->session.rows * a->inner[i].width;
        float *value = malloc(count * sizeof *value);
        MUST(unroll_stream_read(s, a->inner[i].layer, value));
        size_t n = differences(value, a->inner[i].value + (size_t)t * count, count);
        CHECK(n == 0, "%s: %zu of %zu numbers of layer %d differ in step %d", what, n, count, a->inner[i].layer, t);
        free(value);
    }
}

/* The first half of the steps in one stream, the rest in a copy of its bytes. */
static void compare(unroll_model *m, const struct test_case *c, const unroll_batch *b, const struct answer *a,
                    const char *dtype, const char *isa)
{
    char what[320];
    snprintf(what, sizeof what, "%s in %s on %s", c->line, dtype, isa);
    unroll_stream_config config = stream_config(c->session.rows, isa);
    config.machine.dtype = dtype;
    unroll_stream *s = new_stream(m, &config);
    size_t bytes = unroll_stream_bytes(m, &config);
    unroll_stream *copy = aligned(bytes);
    float *outputs = calloc(a->count, sizeof *outputs);
    int half = c->session.steps / 2;
    for (int t = 0; t < half; t++) MUST(one_step(s, c, b, t, outputs));
    memcpy(copy, s, bytes);
    memset(s, 0xff, bytes);
    for (int t = half; t < c->session.steps; t++) {
        MUST(one_step(copy, c, b, t, outputs));
        same_inner(what, copy, c, a, t);
    }
    same_answer(what, copy, a, outputs);
    free(s);
    free(copy);
    free(outputs);
}

static void test_weights(unroll_model *m, const struct test_case *c, const char *dtype)
{
    struct case_batch *b = case_batch_new(c, 11);
    struct answer a = ask_session(m, c, &b->batch, dtype);
    const char *isa;
    int available;
    for (int i = 0; (isa = listed_isa(i, &available)); i++)
        if (available)
            compare(m, c, &b->batch, &a, dtype, isa);
    free_answer(&a);
    case_batch_free(b);
}

static void test_model(unroll_model *m, const struct test_case *c)
{
    test_weights(m, c, "fp32");
    test_weights(m, c, "bf16");
    test_weights(m, c, "int8");
    unroll_model_free(m);
}

static void test_case(const struct test_case *c) { test_model(new_model(c->spec), c); }

/* The maximum number of layers, and a head. */
static void test_deepest(void)
{
    struct test_case c = {.spec = unroll_model_config_default(), .session = unroll_session_config_default()};
    c.spec.layers = 64;
    c.spec.hidden = 3;
    c.spec.input = c.spec.output = 2;
    c.session.steps = 3;
    snprintf(c.line, sizeof c.line, "64 layers and a head");
    test_case(&c);
}

static void test_networks(void)
{
    for (int i = 0; network_named(i); i++)
        for (int rows = 1; rows <= 3; rows += 2) {
            unroll_model *m = network_new(i);
            struct test_case c = {.session = unroll_session_config_default()};
            unroll_network network = {.size = sizeof network};
            unroll_model_network(m, &network);
            c.spec.layers = network.layers;
            c.spec.tokens = network.tokens;
            c.spec.input = network.input;
            c.session.steps = 7;
            c.session.rows = rows;
            snprintf(c.line, sizeof c.line, "%s B=%d", network_named(i), rows);
            test_model(m, &c);
        }
}

/* Widths around registers, tiles and panels, few rows, of all cells; 1 or 2 layers, with and without head. */
static void test_widths(void)
{
    static const int units[] = {1, 7, 16, 20, 32, 40, 48, 64, 100}, rows[] = {1, 2, 5};
    for (int cell = 0; listed(UNROLL_LIST_CELLS, cell); cell++)
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            struct test_case c = {.spec = unroll_model_config_default(), .session = unroll_session_config_default()};
            char name[32];
            snprintf(name, sizeof name, "%s", listed(UNROLL_LIST_CELLS, cell));
            c.spec.cell = name;
            c.spec.hidden = units[u];
            c.spec.layers = 1 + (int)u % 2;
            c.spec.input = u % 3 == 0 ? 1 : units[u];
            c.spec.output = u % 2 ? 0 : 1 + (int)u * 9;
            c.session.steps = 5;
            c.session.rows = rows[(u + (size_t)cell) % 3];
            snprintf(c.line, sizeof c.line, "%s I=%d H=%d B=%d", name, c.spec.input, units[u], c.session.rows);
            test_case(&c);
        }
}

/* ---- pools ----------------------------------------------------------------------------- */

enum { POOL_STEPS = 13, POOL_ROWS = 3 };

/* Computes the session's outputs for rows after this many steps. */
static void ask_prefix(unroll_session *s, const float *x, const int32_t *steps, float *y)
{
    unroll_batch batch = {.size = sizeof batch, .inputs = x, .lengths = steps};
    MUST(unroll_session_forward(s, &batch));
    MUST(unroll_session_read(s, "z", y, unroll_session_count(s, "z")));
}

/* At each step compares the bits with the output for the sequence so far; half of the steps in another stream, from
 * saved states. */
static void compare_pool(unroll_model *m, const char *what, const char *isa, const float *x)
{
    unroll_session_config config = config_of(UNROLL_INFER, POOL_STEPS, POOL_ROWS);
    unroll_stream_config c = stream_config(POOL_ROWS, isa);
    unroll_stream *s = new_stream(m, &c), *other = new_stream(m, &c);
    config.lengths = 1, config.machine.isa = "scalar";
    unroll_session *session = open_with(m, config);
    float y[64], expected[64];
    size_t count = unroll_session_count(session, "z"), n = 0;
    for (int t = 0; t < POOL_STEPS; t++) {
        if (t == POOL_STEPS / 2) {
            void *state = saved(s);
            MUST(unroll_stream_load(other, state, unroll_stream_state_bytes(s)));
            free(state);
            free(s);
            s = other;
        }
        MUST(unroll_stream_step(s, NULL, x + t * POOL_ROWS * 4, y));
        ask_prefix(session, x, (const int32_t[]){t + 1, t + 1, t + 1}, expected);
        n += differences(y, expected, count);
    }
    CHECK(n == 0, "%s on %s: %zu numbers differ", what, isa, n);
    MUST(unroll_stream_reset(s, 1)); /* its sequence restarts, the others continue */
    for (int t = 0; t < 3; t++) MUST(unroll_stream_step(s, NULL, x + t * POOL_ROWS * 4, y));
    ask_prefix(session, x, (const int32_t[]){3, 3, 3}, expected);
    n = differences(y + count / POOL_ROWS, expected + count / POOL_ROWS, count / POOL_ROWS);
    CHECK(n == 0, "%s on %s: a row that was reset: %zu numbers differ", what, isa, n);
    CHECK(differences(y, expected, count / POOL_ROWS) > 0, "%s: the others were not reset", what);
    unroll_session_free(session);
    free(s);
}

static void test_pools(void)
{
    static const char *const pools[] = {"last", "mean", "max", "mean+max"};
    unroll_model *models[4];
    float x[POOL_STEPS * POOL_ROWS * 4];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)case_random(3, i);
    for (int i = 0; i < 4; i++) {
        unroll_model_config spec = unroll_model_config_default();
        const char *isa;
        int available;
        spec.cell = i % 2 ? "gru" : "lstm", spec.layers = 2, spec.hidden = 18, spec.input = 4, spec.output = 5;
        spec.pool = pools[i];
        models[i] = new_model(spec);
        for (int k = 0; (isa = listed_isa(k, &available)); k++)
            if (available)
                compare_pool(models[i], pools[i], isa, x);
        unroll_model_free(models[i]);
    }
    /* states of one pool are not valid for another */
    unroll_stream_config c = stream_config(1, NULL);
    unroll_stream *s[2];
    for (int i = 0; i < 2; i++) {
        unroll_model_config spec = unroll_model_config_default();
        spec.input = 4, spec.output = 5, spec.pool = pools[1 + i];
        models[i] = new_model(spec);
        s[i] = new_stream(models[i], &c);
    }
    void *state = saved(s[0]);
    CHECK_REFUSED(unroll_stream_load(s[1], state, unroll_stream_state_bytes(s[0])), UNROLL_DATA,
                  "the states belong to");
    free(state);
    for (int i = 0; i < 2; i++) {
        free(s[i]);
        unroll_model_free(models[i]);
    }
}

/* ---- the interface --------------------------------------------------------------------- */

/* A stream of the fixture's vector model, and frames for it. */
struct setup {
    unroll_model *m;
    unroll_stream_config config;
    unroll_stream *s;
    struct arrays a;
    int out;
};

static struct setup set_up(unroll_model_config spec, const char *isa)
{
    struct setup t = {.m = new_model(spec), .config = stream_config(ROWS, isa), .a = draw(5)};
    t.s = new_stream(t.m, &t.config);
    t.out = ROWS * unroll_stream_outputs(t.s);
    return t;
}

static void tear_down(struct setup *t)
{
    free(t->s);
    unroll_model_free(t->m);
}

static void test_run(void)
{
    struct setup t = set_up(vectors_spec(), NULL);
    float by_step[STEPS * ROWS], at_once[STEPS * ROWS];
    for (int i = 0; i < STEPS; i++)
        MUST(unroll_stream_step(t.s, NULL, t.a.inputs + i * ROWS * INPUT, by_step + i * t.out));
    MUST(unroll_stream_reset(t.s, -1));
    MUST(unroll_stream_run(t.s, STEPS, NULL, t.a.inputs, at_once));
    CHECK(!memcmp(by_step, at_once, sizeof by_step), "run is steps, after a reset");
    MUST(unroll_stream_run(t.s, 0, NULL, t.a.inputs, at_once));
    CHECK(unroll_stream_inputs(t.s) == INPUT && unroll_stream_outputs(t.s) == 1, "widths");
    tear_down(&t);
}

/* A reset row continues from zero states; the other is not affected. */
static void test_reset(void)
{
    struct setup t = set_up(vectors_spec(), NULL);
    float first[ROWS], whole[2 * ROWS], after[ROWS];
    MUST(unroll_stream_step(t.s, NULL, t.a.inputs, first));
    MUST(unroll_stream_reset(t.s, -1));
    MUST(unroll_stream_step(t.s, NULL, t.a.inputs, whole));
    CHECK(!memcmp(first, whole, sizeof first), "a reset of all rows");
    unroll_stream *other = new_stream(t.m, &t.config);
    MUST(unroll_stream_step(other, NULL, t.a.inputs, after));
    MUST(unroll_stream_step(t.s, NULL, t.a.inputs, whole + ROWS));
    MUST(unroll_stream_reset(other, 0));
    MUST(unroll_stream_step(other, NULL, t.a.inputs, after));
    CHECK(after[0] == first[0] && after[1] == whole[ROWS + 1], "a reset of row 0: %g %g", after[0], after[1]);
    CHECK_REFUSED(unroll_stream_reset(t.s, ROWS), UNROLL_USAGE, "row = 2 is outside 0..1");
    CHECK_REFUSED(unroll_stream_reset(t.s, -2), UNROLL_USAGE, "row = -2");
    free(other);
    tear_down(&t);
}

static void test_shared(void)
{
    struct setup t = set_up(tokens_spec(), NULL);
    size_t bytes = unroll_stream_weights_bytes(t.m, &t.config);
    void *memory = aligned(bytes);
    unroll_stream_weights *weights;
    float own[ROWS * SYMBOLS], shared[ROWS * SYMBOLS];
    MUST(unroll_stream_weights_init(memory, bytes, t.m, &t.config, &weights));
    unroll_stream_config config = t.config;
    config.weights = weights;
    CHECK(unroll_stream_bytes(t.m, &config) + bytes <= unroll_stream_bytes(t.m, &t.config) + 128,
          "a stream of shared weights has none of its own");
    unroll_stream *s = new_stream(t.m, &config);
    unroll_model_config foreign = tokens_spec();
    foreign.hidden++;
    unroll_model *another = new_model(foreign);
    CHECK(unroll_stream_bytes(another, &config) == 0 && strstr(unroll_last_error(), "belong to another model"), "%s",
          unroll_last_error());
    unroll_model_free(another);
    config.machine.dtype = "int8";
    CHECK(unroll_stream_bytes(t.m, &config) == 0 && strstr(unroll_last_error(), "a different dtype"), "%s",
          unroll_last_error());
    config.machine.dtype = "fp32";
    unroll_model_free(t.m);
    t.m = NULL; /* streams no longer need it */
    for (int i = 0; i < STEPS; i++) {
        MUST(unroll_stream_step(t.s, t.a.tokens + i * ROWS, NULL, own));
        MUST(unroll_stream_step(s, t.a.tokens + i * ROWS, NULL, shared));
        CHECK(!memcmp(own, shared, sizeof own), "shared weights, step %d", i);
    }
    free(s);
    free(memory);
    tear_down(&t);
}

/* ---- saved states ---------------------------------------------------------------------- */

static void test_saved(void)
{
    struct setup t = set_up(vectors_spec(), NULL);
    float went_on[ROWS], loaded[ROWS];
    const float *next = t.a.inputs + 3 * ROWS * INPUT;
    MUST(unroll_stream_run(t.s, 3, NULL, t.a.inputs, (float[3 * ROWS]){0}));
    size_t bytes = unroll_stream_state_bytes(t.s);
    void *state = saved(t.s);
    MUST(unroll_stream_step(t.s, NULL, next, went_on));
    t.config.machine.isa = "scalar";
    unroll_stream *other = new_stream(t.m, &t.config);
    MUST(unroll_stream_load(other, state, bytes));
    MUST(unroll_stream_step(other, NULL, next, loaded));
    CHECK(!memcmp(went_on, loaded, sizeof loaded), "a loaded state continues on another ISA");
    CHECK_REFUSED(unroll_stream_save(t.s, state, bytes - 1), UNROLL_USAGE, "bytes, not");
    free(other);
    free(state);
    tear_down(&t);
}

/* Any damage is refused, and the stream does not change. */
static void test_damaged(void)
{
    struct setup t = set_up(vectors_spec(), NULL);
    MUST(unroll_stream_run(t.s, 3, NULL, t.a.inputs, (float[3 * ROWS]){0}));
    size_t bytes = unroll_stream_state_bytes(t.s);
    unsigned char *state = saved(t.s), *before = saved(t.s);
    MUST(unroll_stream_step(t.s, NULL, t.a.inputs, (float[ROWS]){0}));
    free(before);
    before = saved(t.s);
    for (size_t i = 0; i < bytes; i++) {
        state[i] ^= 0x40;
        unroll_status status = unroll_stream_load(t.s, state, bytes);
        CHECK(status == UNROLL_DATA, "byte %zu of %zu is damaged: %d", i, bytes, (int)status);
        state[i] ^= 0x40;
    }
    for (size_t n = 0; n < bytes; n += 7)
        CHECK(unroll_stream_load(t.s, state, n) == UNROLL_DATA, "%zu of %zu bytes", n, bytes);
    void *after = saved(t.s);
    CHECK(!memcmp(before, after, bytes), "a refused load changes nothing");
    MUST(unroll_stream_load(t.s, state, bytes));
    free(state);
    free(before);
    free(after);
    tear_down(&t);
}

static void test_other_states(void)
{
    struct setup t = set_up(vectors_spec(), NULL), other = set_up(tokens_spec(), NULL);
    void *state = saved(other.s);
    CHECK_REFUSED(unroll_stream_load(t.s, state, unroll_stream_state_bytes(other.s)), UNROLL_DATA,
                  "the states belong to gru 2 x 5 (h: 5), 2 rows, but the stream is lstm");
    free(state);
    tear_down(&t);
    tear_down(&other);
}

/* A network's states can be loaded into one that only computes differently, not into one with another cell. */
static void test_states_of_networks(void)
{
    unroll_stream_config config = stream_config(ROWS, NULL);
    unroll_model *m = network_new(0), *other = network_new(1);
    unroll_stream *s = new_stream(m, &config), *t = new_stream(other, &config);
    config.machine.dtype = "int8";
    unroll_stream *narrow = new_stream(m, &config);
    void *state = saved(s);
    MUST(unroll_stream_load(narrow, state, unroll_stream_state_bytes(s)));
    CHECK_REFUSED(unroll_stream_load(t, state, unroll_stream_state_bytes(s)), UNROLL_DATA,
                  "the states belong to network 3 x");
    float room[64 * ROWS];
    CHECK_REFUSED(unroll_stream_read(s, 0, room), UNROLL_USAGE, "is not an output of the network");
    CHECK_REFUSED(unroll_stream_read(s, -1, room), UNROLL_USAGE, "is outside");
    CHECK_REFUSED(unroll_stream_read(s, unroll_model_layers(m) - 1, room), UNROLL_USAGE,
                  "the step returns the outputs of the last layer");
    free(state);
    free(s);
    free(t);
    free(narrow);
    unroll_model_free(m);
    unroll_model_free(other);
}

/* ---- refusals -------------------------------------------------------------------------- */

/* A refused frame does not change the states. */
static void test_bad_frames(void)
{
    struct setup t = set_up(vectors_spec(), NULL), words = set_up(tokens_spec(), NULL);
    float outputs[ROWS * SYMBOLS], inputs[ROWS * INPUT];
    MUST(unroll_stream_step(t.s, NULL, t.a.inputs, outputs));
    void *before = saved(t.s);
    memcpy(inputs, t.a.inputs, sizeof inputs);
    inputs[INPUT + 1] = NAN;
    CHECK_REFUSED(unroll_stream_step(t.s, NULL, inputs, outputs), UNROLL_DATA, "inputs[row=1, 1] is NaN");
    inputs[INPUT + 1] = -INFINITY;
    CHECK_REFUSED(unroll_stream_step(t.s, NULL, inputs, outputs), UNROLL_DATA, "inputs[row=1, 1] is infinite");
    void *after = saved(t.s);
    CHECK(!memcmp(before, after, unroll_stream_state_bytes(t.s)), "a refused frame changes nothing");
    CHECK_REFUSED(unroll_stream_step(t.s, t.a.tokens, NULL, outputs), UNROLL_USAGE, "needs inputs");
    CHECK_REFUSED(unroll_stream_step(t.s, NULL, NULL, outputs), UNROLL_USAGE, "needs inputs");
    CHECK_REFUSED(unroll_stream_step(words.s, NULL, t.a.inputs, outputs), UNROLL_USAGE, "needs tokens");
    CHECK_REFUSED(unroll_stream_step(words.s, (int32_t[ROWS]){0, SYMBOLS}, NULL, outputs), UNROLL_DATA,
                  "tokens[row=1] = 7 is outside 0..6");
    CHECK_REFUSED(unroll_stream_step(words.s, (int32_t[ROWS]){-1, 0}, NULL, outputs), UNROLL_DATA,
                  "tokens[row=0] = -1");
    free(before);
    free(after);
    tear_down(&t);
    tear_down(&words);
}

static void refused_config(const char *words, const unroll_model *m, unroll_stream_config c)
{
    CHECK(unroll_stream_bytes(m, &c) == 0 && strstr(unroll_last_error(), words), "'%s', not '%s'", unroll_last_error(),
          words);
}

static void test_refusals(void)
{
    unroll_model_config spec = vectors_spec();
    struct setup t = set_up(spec, NULL);
    unroll_stream_config c = t.config;
    unroll_stream *s = NULL;
    spec.bidirectional = 1;
    unroll_model *both = new_model(spec), *inner = network_both_ways();
    refused_config("a bidirectional model cannot be streamed", both, c);
    refused_config("the outputs of layer 1, 'middle', depend on future frames", inner, c);
    refused_config("needs a model", NULL, c);
    c.rows = 0, refused_config("`rows` = 0 is outside", t.m, c), c = t.config;
    c.machine.threads = 2, refused_config("`threads` and all others", t.m, c), c = t.config;
    c.machine.device = "cuda", refused_config("streams run only on the cpu", t.m, c), c = t.config;
    c.machine.size = 0, refused_config("unroll_machine_default()", t.m, c), c = t.config;
    c.machine.isa = "mmx", refused_config("there is no isa 'mmx'", t.m, c), c = t.config;
    c.machine.dtype = "fp8", refused_config("'fp8'", t.m, c), c = t.config;
    c.size = 0, refused_config("is wrong; fix: start from", t.m, c), c = t.config;
    spec.bidirectional = 0;
    spec.hidden = 1;
    spec.input = 131065;
    unroll_model *wide = new_model(spec);
    c.machine.dtype = "int8", refused_config("may overflow; fix: use weights in bf16", wide, c), c = t.config;
    size_t bytes = unroll_stream_bytes(t.m, &c);
    char *memory = aligned(bytes + 64);
    CHECK_REFUSED(unroll_stream_init(memory, bytes - 1, t.m, &c, &s), UNROLL_USAGE, "fix: call unroll_stream_bytes");
    CHECK_REFUSED(unroll_stream_init(NULL, bytes, t.m, &c, &s), UNROLL_USAGE, "fix: call");
    CHECK_REFUSED(unroll_stream_init(memory + 4, bytes, t.m, &c, &s), UNROLL_USAGE, "is not aligned");
    CHECK(s == NULL, "a refusal sets nothing");
    free(memory);
    unroll_model_free(both);
    unroll_model_free(inner);
    unroll_model_free(wide);
    tear_down(&t);
}

int main(int argc, char **argv)
{
    static struct test_case *cases;
    if (argc != 2) {
        fprintf(stderr, "usage: test_stream cases.txt\n");
        return 2;
    }
    int count = cases_read(argv[1], NULL, &cases);
    for (int i = 0; i < count; i++)
        if (!cases[i].spec.bidirectional && !cases[i].spec.pool && /* pools: test_pools; crf cannot be streamed */
            strcmp(cases[i].spec.loss ? cases[i].spec.loss : "", "crf"))
            test_case(&cases[i]);
    test_widths();
    test_deepest();
    test_pools();
    test_networks();
    test_run();
    test_reset();
    test_shared();
    test_saved();
    test_damaged();
    test_other_states();
    test_states_of_networks();
    test_bad_frames();
    test_refusals();
    return check_finish("streams");
}
