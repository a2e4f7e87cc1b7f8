/* Sessions on meshes of up to 8 ranks, which are threads here: every pair of options is trained for three updates and
 * the weights are compared with those of one process; in exact mode bit for bit. "all": all combinations of meshes and
 * pairs; "quick": only one mesh of 8 ranks. Whole arrays are read and written on every rank. "mpi DEVICE": this process
 * is one of those that mpirun started, each with the device; the reference process uses the CPU. */
/* test: kinds=plain,long-memory,long-thread; args-memory=quick; args-thread=quick; seconds=30 */
#include "base/status.h"
#include "comm/comm.h"
#include "tests/check.h"
#include "unroll_advanced.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 6, ROWS = 8, UNITS = 8, PROJECTION = 5, SYMBOLS = 7, DAYS = 5, WIDTH = 9, UPDATES = 3 };
enum { WORLD_MAX = 8, MAX_WEIGHTS = 8192 };

/* ---- options --------------------------------------------------------------------------- */

enum option {
    BIDIRECTIONAL,
    TIED,
    DROPOUT,
    CARRY,
    RAGGED,
    RESETS,
    CHUNKED,
    CHECKPOINTED,
    QUEUES,
    GRU,
    THREE_LAYERS,
    REGRESSION,
    ACCUMULATE,
    PROJECTED,
    COLUMNS,
    OPTIONS,
    LIKELIHOOD = OPTIONS, /* on a few meshes only; of numbers, with REGRESSION: two outputs for a target */
    SOFT,                 /* class weights and label smoothing */
    MODULE                /* that updates its own weights */
};
static const char *const names[OPTIONS] = {"bidirectional", "tied",       "dropout",     "carry",      "ragged",
                                           "resets",        "chunks",     "checkpoints", "lanes",      "gru-before",
                                           "3 layers",      "regression", "2 backwards", "projection", "columns"};
static const unroll_split meshes[] = {{2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}, {3, 1, 1, 1}, {2, 2, 1, 1},
                                      {2, 1, 2, 1}, {1, 2, 2, 1}, {5, 1, 1, 1}, {3, 2, 1, 1}, {1, 2, 3, 1},
                                      {2, 2, 2, 1}, {8, 1, 1, 1}, {4, 2, 1, 1}, {1, 1, 8, 1}};
enum { MESHES = sizeof meshes / sizeof *meshes };

struct way {
    unsigned options; /* 1 << enum option */
    unroll_split mesh;
    int exact;                    /* 0, or the number of shards */
    int updates, chunks, threads; /* 0: UPDATES, or as in the options */
    int shards;                   /* if not exact */
    const char *device;           /* of the ranks; NULL: the CPU */
    const char *cell;             /* NULL: as in the options */
    int steps;                    /* 0: STEPS */
};

static int has(const struct way *w, enum option option) { return w->options >> option & 1; }

static const unroll_input columns[] = {
    {sizeof *columns, "word", SYMBOLS, 3}, {sizeof *columns, NULL, 0, WIDTH}, {sizeof *columns, "day", DAYS, 4}};

/* Returns the model for a test's properties. */
static unroll_model_config spec_of(const struct way *w)
{
    unroll_model_config s = unroll_model_config_default();
    s.cell = w->cell ? w->cell : has(w, GRU) ? "gru-before" : "lstm";
    s.projection = has(w, PROJECTED) ? PROJECTION : 0;
    s.layers = has(w, THREE_LAYERS) ? 3 : 2;
    s.hidden = UNITS;
    s.bidirectional = has(w, BIDIRECTIONAL);
    s.dropout = has(w, DROPOUT) ? 0.3f : 0;
    s.tokens = !has(w, REGRESSION) && !has(w, COLUMNS);
    s.input = has(w, COLUMNS) ? 0 : s.tokens ? SYMBOLS : WIDTH;
    s.output = has(w, LIKELIHOOD) ? WIDTH - 1 : has(w, REGRESSION) ? WIDTH : SYMBOLS;
    s.tied = s.tokens && has(w, TIED);
    s.embed = s.tied ? (s.projection ? PROJECTION : UNITS) * (s.bidirectional + 1) : 0;
    s.loss = has(w, LIKELIHOOD) ? "gaussian" : has(w, REGRESSION) ? "mse" : "xent";
    s.inputs = columns;
    s.n_inputs = has(w, COLUMNS) ? 3 : 0;
    s.input_dropout = has(w, COLUMNS) && has(w, DROPOUT) ? 0.2f : 0;
    return s;
}

/* Returns the session for a test's properties. */
static unroll_session_config config_of(const struct way *w)
{
    unroll_session_config c = unroll_session_config_default();
    static const float weights[SYMBOLS] = {1, 0.5f, 2, 0, 1.25f, 3, 0.75f};
    c.mode = has(w, MODULE) ? UNROLL_MODULE : UNROLL_TRAIN;
    c.updates = has(w, MODULE);
    c.label_smoothing = has(w, SOFT) ? 0.1f : 0;
    c.class_weights = has(w, SOFT) ? weights : NULL;
    c.steps = w->steps ? w->steps : STEPS;
    c.rows = ROWS;
    c.lengths = has(w, RAGGED);
    c.resets = has(w, RESETS);
    c.stateful = has(w, CARRY);
    int rows = ROWS / (w->mesh.batch ? w->mesh.batch : 1); /* of a rank: chunks may be of rows */
    c.machine.chunks = has(w, CHUNKED) && !has(w, CHECKPOINTED) ? (has(w, BIDIRECTIONAL) && rows < 3 ? rows : 3) : 1;
    c.machine.checkpoint_time = has(w, CHECKPOINTED) ? 2 : 0;
    c.machine.queues = has(w, QUEUES) ? 2 : 1;
    c.machine.threads = has(w, QUEUES) ? 2 : 1;
    c.machine.chunks = w->chunks ? w->chunks : c.machine.chunks;
    c.machine.threads = w->threads ? w->threads : c.machine.threads;
    c.input_gradient = has(w, REGRESSION);
    c.seed = 5;
    c.optimizer = "adam";
    c.machine.exact = w->exact;
    c.shards = w->exact > 0 ? w->exact : w->shards ? w->shards : 1;
    return c;
}

/* ---- batches, the same on every rank --------------------------------------------------- */

struct numbers {
    int32_t tokens[STEPS * ROWS], of_columns[STEPS * ROWS * 2], classes[STEPS * ROWS], lengths[ROWS];
    float inputs[STEPS * ROWS * WIDTH], values[STEPS * ROWS * WIDTH];
    uint8_t reset[STEPS * ROWS];
};

static unsigned draw(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Fills a random batch that has all arrays a test's properties need. */
static unroll_batch make_batch(const struct way *w, struct numbers *n, unsigned seed)
{
    unsigned state = seed * 7919u + 1;
    for (int i = 0; i < STEPS * ROWS; i++) {
        n->tokens[i] = (int32_t)(draw(&state) % SYMBOLS);
        n->classes[i] = (int32_t)(draw(&state) % (SYMBOLS + 1)) - 1;
        n->reset[i] = draw(&state) % 5 == 0;
        n->of_columns[2 * i] = n->tokens[i];
        n->of_columns[2 * i + 1] = (n->tokens[i] * 3 + i) % DAYS;
    }
    for (int i = 0; i < STEPS * ROWS * WIDTH; i++) {
        n->inputs[i] = (float)(draw(&state) % 2001) / 1000 - 1;
        n->values[i] = (float)(draw(&state) % 2001) / 1000 - 1;
        if (has(w, LIKELIHOOD) && i % 5 == 0)
            n->values[i] = NAN;
    }
    for (int row = 0; row < ROWS; row++)
        n->lengths[row] = row == 1 ? 0 : row == 2 ? STEPS : (int32_t)(draw(&state) % (STEPS + 1));
    const bool of_classes = !has(w, REGRESSION), mixed = has(w, COLUMNS), has_loss = !has(w, MODULE);
    return (unroll_batch){.size = sizeof(unroll_batch),
                          .tokens = mixed        ? n->of_columns
                                    : of_classes ? n->tokens
                                                 : NULL,
                          .targets = of_classes && has_loss ? n->classes : NULL,
                          .inputs = mixed || !of_classes ? n->inputs : NULL,
                          .target_values = of_classes ? NULL : n->values,
                          .lengths = has(w, RAGGED) ? n->lengths : NULL,
                          .reset = has(w, RESETS) ? n->reset : NULL};
}

/* ---- one rank -------------------------------------------------------------------------- */

struct outcome {
    const struct way *way;
    unroll_comm *comm;
    int rank;
    unroll_status status;
    char error[512];
    float weights[MAX_WEIGHTS], states[ROWS * UNITS], inputs[STEPS * ROWS * WIDTH];
    size_t count, states_count, inputs_count;
    double loss, norm, validation;
};

static void gather_weights(unroll_model *m, struct outcome *o)
{
    unroll_parameter p = {.size = sizeof p};
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_model_parameter(m, i, &p);
        size_t n = (size_t)p.shape[0] * (p.rank > 1 ? (size_t)p.shape[1] : 1);
        memcpy(o->weights + o->count, p.data, n * sizeof *p.data);
        o->count += n;
    }
}

static unroll_status take_outcome(unroll_status status, const unroll_result *result, struct outcome *o)
{
    o->loss = result->loss;
    o->norm = result->norm;
    return status;
}

/* Writes the slopes of a module with the loss sum of z^2 / 8. */
static unroll_status write_slopes(unroll_session *s)
{
    float z[STEPS * ROWS * SYMBOLS];
    const size_t count = sizeof z / sizeof *z;
    unroll_status status = unroll_session_read(s, "z", z, count);
    for (size_t i = 0; i < count; i++) z[i] /= 4;
    return status == UNROLL_OK ? unroll_session_write(s, "d.z", z, count) : status;
}

/* Runs one update by a single call or by separate ones, depending on the seed. */
static unroll_status update(unroll_session *s, struct outcome *o, unsigned seed)
{
    static _Thread_local struct numbers numbers;
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_status status = UNROLL_OK;
    rates.learning_rate = 0.01;
    rates.clip = 0.3;
    bool apart = seed % 2; /* sums after backward, or overlapped with the last one */
    for (int i = 0, last = has(o->way, ACCUMULATE); i <= last && status == UNROLL_OK; i++) {
        unroll_batch batch = make_batch(o->way, &numbers, 10 * seed + (unsigned)i);
        if (i == last && !apart && !has(o->way, MODULE))
            return take_outcome(unroll_session_step(s, &batch, &rates, &result), &result, o);
        status = unroll_session_forward(s, &batch);
        if (status == UNROLL_OK && has(o->way, MODULE))
            status = write_slopes(s);
        if (status == UNROLL_OK)
            status = unroll_session_backward(s);
        if (seed == 1 && o->comm && comm_rank(o->comm) == 1)
            usleep(300); /* one rank is late */
    }
    if (status == UNROLL_OK)
        status = unroll_session_update(s, &rates, &result);
    return take_outcome(status, &result, o);
}

/* Computes losses with a session that evaluates while another one trains. */
static unroll_status evaluate(unroll_model *m, unroll_session_config c, struct outcome *o)
{
    static _Thread_local struct numbers numbers;
    unroll_session *s;
    unroll_result result = {.size = sizeof result};
    if (has(o->way, MODULE))
        return UNROLL_OK;
    c.mode = UNROLL_EVAL, c.label_smoothing = 0, c.class_weights = NULL;
    c.machine.checkpoint_time = 0;
    c.machine.chunks = 1;
    unroll_status status = unroll_session_new(m, &c, &s);
    if (status != UNROLL_OK)
        return status;
    unroll_batch batch = make_batch(o->way, &numbers, 99);
    status = unroll_session_forward(s, &batch);
    if (status == UNROLL_OK)
        status = unroll_session_result(s, &result);
    o->validation = result.loss;
    unroll_session_free(s);
    return status;
}

/* Reads the input gradient of one more backward, without an update. */
static unroll_status read_input_gradient(unroll_session *s, struct outcome *o)
{
    static _Thread_local struct numbers numbers;
    unroll_batch batch = make_batch(o->way, &numbers, 77);
    o->inputs_count = unroll_session_count(s, "d.x");
    unroll_status status = unroll_session_forward(s, &batch);
    if (status == UNROLL_OK)
        status = unroll_session_backward(s);
    return status == UNROLL_OK ? unroll_session_read(s, "d.x", o->inputs, o->inputs_count) : status;
}

/* Trains on a rank and stores everything that is compared. */
static unroll_status train(unroll_model *m, struct outcome *o)
{
    unroll_session_config c = config_of(o->way);
    unroll_session *s;
    c.machine.comm = o->comm;
    if (o->comm)
        c.machine.split = o->way->mesh, c.machine.device = o->way->device;
    unroll_status status = unroll_session_new(m, &c, &s);
    if (status != UNROLL_OK)
        return status;
    unsigned updates = o->way->updates ? (unsigned)o->way->updates : UPDATES;
    for (unsigned i = 0; i < updates && status == UNROLL_OK; i++) status = update(s, o, i);
    if (status == UNROLL_OK)
        status = evaluate(m, c, o);
    o->states_count = unroll_session_count(s, "h0.l1");
    if (status == UNROLL_OK && has(o->way, CARRY))
        status = unroll_session_read(s, "h0.l1", o->states, o->states_count);
    if (status == UNROLL_OK && has(o->way, CARRY)) /* written back: nothing may change */
        status = unroll_session_write(s, "h0.l1", o->states, o->states_count);
    if (status == UNROLL_OK && has(o->way, CARRY))
        status = unroll_session_read(s, "h0.l1", o->states, o->states_count);
    if (status == UNROLL_OK && has(o->way, REGRESSION))
        status = read_input_gradient(s, o);
    if (status == UNROLL_OK)
        status = unroll_session_pull(s);
    gather_weights(m, o);
    unroll_session_free(s);
    return status;
}

static void *run_rank(void *arg)
{
    struct outcome *o = arg;
    unroll_model_config spec = spec_of(o->way);
    unroll_model *m;
    o->status = unroll_model_new(&spec, 3, &m);
    if (o->status == UNROLL_OK) {
        o->status = train(m, o);
        if (o->status != UNROLL_OK)
            snprintf(o->error, sizeof o->error, "%s", unroll_last_error());
        unroll_model_free(m);
    }
    return NULL;
}

/* ---- meshes compared with one process -------------------------------------------------- */

static double difference(const float *a, const float *b, size_t n, size_t *different)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        *different += memcmp(&a[i], &b[i], sizeof *a) != 0;
        double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= worst))
            worst = d;
    }
    return worst;
}

static void describe(const struct way *w, char *text, size_t size)
{
    int used = snprintf(text, size, "%dx%dx%d exact %d", w->mesh.batch, w->mesh.layer, w->mesh.hidden, w->exact);
    for (int i = 0; i < OPTIONS; i++)
        if (has(w, (enum option)i))
            used += snprintf(text + used, size - (size_t)used, " %s", names[i]);
}

static void check_rank(const struct outcome *serial, const struct outcome *o, const char *what)
{
    size_t different = 0;
    if (!CHECK(o->status == UNROLL_OK, "%s, rank %d: %s", what, o->rank, o->error))
        return;
    double weights = difference(serial->weights, o->weights, serial->count, &different);
    double states = has(o->way, CARRY) ? difference(serial->states, o->states, serial->states_count, &different) : 0;
    double inputs = difference(serial->inputs, o->inputs, serial->inputs_count, &different);
    CHECK(o->count == serial->count && o->states_count == serial->states_count &&
              o->inputs_count == serial->inputs_count,
          "%s: other sizes", what);
    CHECK(inputs <= 1e-4, "%s, rank %d: gradients of the inputs are off by %.1e", what, o->rank, inputs);
    CHECK(weights <= 2e-4 && states <= 1e-4, "%s, rank %d: weights are off by %.1e, states by %.1e", what, o->rank,
          weights, states);
    CHECK(!o->way->exact || !different, "%s, rank %d: %zu numbers have other bits", what, o->rank, different);
    CHECK(fabs(o->loss - serial->loss) < 1e-5 && fabs(o->norm - serial->norm) < 1e-4 &&
              fabs(o->validation - serial->validation) < 1e-4,
          "%s, rank %d: loss %.9g %.9g norm %g %g validation %.9g %.9g", what, o->rank, o->loss, serial->loss, o->norm,
          serial->norm, o->validation, serial->validation);
}

static struct outcome serial, rank[WORLD_MAX];

static bool run_serial(const struct way *w, char *what, size_t size)
{
    describe(w, what, size);
    serial = (struct outcome){.way = w};
    run_rank(&serial);
    return CHECK(serial.status == UNROLL_OK, "%s, one process: %s", what, serial.error);
}

static void check_way(const struct way *w)
{
    char what[256];
    pthread_t thread[WORLD_MAX];
    unroll_comm *comm[WORLD_MAX];
    int ranks = w->mesh.batch * w->mesh.layer * w->mesh.hidden;
    if (!run_serial(w, what, sizeof what) ||
        !CHECK(comm_threads_new(ranks, 20, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    for (int i = 0; i < ranks; i++) {
        rank[i] = (struct outcome){.way = w, .comm = comm[i], .rank = i};
        if (pthread_create(&thread[i], NULL, run_rank, &rank[i]))
            abort();
    }
    for (int i = 0; i < ranks; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < ranks; i++) check_rank(&serial, &rank[i], what);
    comm_threads_free(comm, ranks);
}

/* Regression has no embedding to tie, and only the LSTM has a projection among the cells here. */
static bool makes_sense(enum option a, enum option b)
{
    return !(a == TIED && (b == REGRESSION || b == COLUMNS)) && !(a == GRU && b == PROJECTED);
}

/* Every pair on some meshes in turn, or on all; exact where possible. */
static void check_pairs(bool all)
{
    int turn = 0, step = all ? 1 : 5;
    for (int a = 0; a < OPTIONS; a++)
        for (int b = a; b < OPTIONS; b++)
            for (int i = 0; i < MESHES && makes_sense((enum option)a, (enum option)b); i += step) {
                int at = all ? i : turn++ % MESHES;
                struct way w = {.options = 1u << a | 1u << b, .mesh = meshes[at]};
                check_way(&w);
                w.exact = w.mesh.batch > 4 || turn % 2 ? 8 : 4;
                if (w.mesh.hidden == 1 || !has(&w, PROJECTED))
                    check_way(&w);
            }
}

static void check_losses(void)
{
    static const unsigned options[] = {1u << REGRESSION | 1u << LIKELIHOOD, 1u << SOFT | 1u << RAGGED, 1u << MODULE,
                                       1u << MODULE | 1u << ACCUMULATE | 1u << BIDIRECTIONAL};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int mesh = 0; mesh < MESHES; mesh += 5)
            for (int exact = 0; exact <= 4; exact += 4)
                check_way(&(struct way){.options = options[i], .mesh = meshes[mesh], .exact = exact});
}

/* Long enough that a single different bit would spread: ragged rows, chunks of steps or of rows. */
static void check_many_updates(bool quick)
{
    static const unroll_split some[] = {{2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1},
                                        {2, 2, 1, 1}, {1, 2, 2, 1}, {2, 2, 2, 1}};
    static const unsigned networks[] = {1u << RAGGED, 1u << RAGGED | 1u << BIDIRECTIONAL};
    int turn = 0;
    for (int mesh = quick ? 5 : 0; mesh < 6; mesh++)
        for (int network = 0; network < 2; network++)
            for (int chunks = 1; chunks <= 4; chunks += chunks == 1 ? 2 : 1)
                check_way(&(struct way){.options = networks[network],
                                        .mesh = some[mesh],
                                        .exact = 4,
                                        .updates = 20,
                                        .chunks = chunks,
                                        .threads = 1 + turn++ % 2});
}

/* ---- what is refused ------------------------------------------------------------------- */

struct refusal {
    const struct way *way;
    unroll_comm *comm;
    unroll_status status;
    char error[512];
};

/* Opens a session on a rank and stores the status and message. */
static void *refuse_rank(void *arg)
{
    struct refusal *r = arg;
    unroll_model_config spec = spec_of(r->way);
    unroll_session_config c = config_of(r->way);
    unroll_model *m;
    unroll_session *s;
    c.machine.comm = r->comm;
    c.machine.split = r->way->mesh;
    c.input_gradient = has(r->way, REGRESSION);
    if (unroll_model_new(&spec, 3, &m) != UNROLL_OK)
        return NULL;
    r->status = unroll_session_new(m, &c, &s);
    snprintf(r->error, sizeof r->error, "%s", unroll_last_error());
    if (r->status == UNROLL_OK)
        unroll_session_free(s);
    unroll_model_free(m);
    return NULL;
}

/* All ranks get the same error. The last one has a different configuration. */
static void check_refused(const struct way *w, const struct way *last, int ranks, unroll_status status,
                          const char *word)
{
    struct refusal r[WORLD_MAX];
    pthread_t thread[WORLD_MAX];
    unroll_comm *comm[WORLD_MAX];
    if (!CHECK(comm_threads_new(ranks, 5, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    for (int i = 0; i < ranks; i++) {
        r[i] = (struct refusal){.way = i == ranks - 1 ? last : w, .comm = comm[i]};
        if (pthread_create(&thread[i], NULL, refuse_rank, &r[i]))
            abort();
    }
    for (int i = 0; i < ranks; i++) {
        pthread_join(thread[i], NULL);
        CHECK(r[i].status == status && strstr(r[i].error, word), "rank %d: status %d: %s", i, (int)r[i].status,
              r[i].error);
    }
    comm_threads_free(comm, ranks);
}

static void check_all_refused(const struct way *w, int ranks, unroll_status status, const char *word)
{
    check_refused(w, w, ranks, status, word);
}

/* ---- ranks that are processes ---------------------------------------------------------- */

static void check_here(const struct way *w, unroll_comm *comm)
{
    char what[256];
    const int here = comm_rank(comm);
    if (!run_serial(w, what, sizeof what))
        return;
    rank[here] = (struct outcome){.way = w, .comm = comm, .rank = here};
    run_rank(&rank[here]);
    check_rank(&serial, &rank[here], what);
}

/* Rank 0 prints the line of counts: its own checks, and one more for the failures of the others. */
static int run_processes(const char *device)
{
    unroll_comm *comm;
    if (comm_open("mpi", 20, &comm) != UNROLL_OK) {
        printf("FAILED: %s\n", unroll_last_error());
        return 1;
    }
    for (int i = 0, turn = 0; i < MESHES; i++) {
        if (meshes[i].batch * meshes[i].layer != comm_ranks(comm) || meshes[i].hidden > 1)
            continue; /* GPUs refuse cuts of units */
        for (int option = turn++ % 2; option < OPTIONS; option += comm_ranks(comm)) {
            const unsigned other = 1u << (i % 2 || option == BIDIRECTIONAL ? RAGGED : CHUNKED);
            check_here(&(struct way){.options = 1u << option | other, .mesh = meshes[i], .device = device}, comm);
        }
        check_here(&(struct way){.mesh = meshes[i], .device = device, .shards = 5}, comm);
    }
    unroll_status mine = checks_failed ? fail(UNROLL_FAILURE, "checks failed") : UNROLL_OK;
    unroll_status all = comm_agree(comm, mine, 0, "");
    CHECK(all == UNROLL_OK, "%s", unroll_last_error());
    const bool is_owner = comm_rank(comm) == 0;
    comm_close(comm);
    return is_owner ? check_finish("test_ranks_mpi") : all != UNROLL_OK;
}

int main(int count, char **words)
{
    if (count > 2 && !strcmp(words[1], "mpi"))
        return run_processes(words[2]);
    bool quick = check_quick(count, words);
    check_many_updates(quick);
    check_losses();
    if (!quick)
        check_pairs(count > 1 && !strcmp(words[1], "all"));
    check_all_refused(&(struct way){.mesh = {2, 1, 1}}, 3, UNROLL_USAGE, "3 were started");
    check_all_refused(&(struct way){.mesh = {1, 4, 1}}, 4, UNROLL_UNSUPPORTED, "more than the 3 layers");
    check_all_refused(&(struct way){.options = 1u << PROJECTED, .mesh = {1, 1, 2}, .exact = 4}, 2, UNROLL_UNSUPPORTED,
                      "exact");
    check_all_refused(&(struct way){.mesh = {4, 1, 1}, .exact = 3}, 4, UNROLL_UNSUPPORTED, "fewer ranks");
    check_refused(&(struct way){.mesh = {2, 1, 1}}, &(struct way){.mesh = {2, 1, 1}, .steps = STEPS + 1}, 2,
                  UNROLL_USAGE, "not the same as on rank 0");
    check_refused(&(struct way){.mesh = {2, 1, 1}, .cell = "rnn"}, &(struct way){.mesh = {2, 1, 1}, .cell = "rnn-relu"},
                  2, UNROLL_USAGE, "not the same as on rank 0");
    return check_finish("test_ranks");
}
