/* Ranks along time: sessions of one model on several ranks, each with some of the steps, give the results of one
 * session. Cells whose gates multiply no state give the same bits, others agree within the tolerance, cells that never
 * forget give the serial bits. Covers lengths, resets, carried states, both directions, layers, pieces on each rank,
 * threads, cuts along batch and layers; training; states damaged in transit; refusals. */
/* test: kinds=plain,long-memory,long-thread */
#include "base/hash.h"
#include "base/try.h"
#include "comm/transport.h"
#include "piece_runs.h"
#include "unroll_advanced.h"
#include <pthread.h>

enum { RANKS = 8 };

/* ---- ranks in threads ------------------------------------------------------------------ */

struct rank {
    const struct way *way;
    unroll_machine machine;
    struct made made;
    unroll_status status;
    char words[512];
    pthread_t thread;
};

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    unroll_model *m = model_of(r->way);
    r->made = run_on(m, r->way, r->machine, NULL);
    unroll_model_free(m);
    return NULL;
}

/* Returns rank 0's results, which are whole arrays, as on all ranks. */
static struct made on_ranks(const struct way *w, unroll_split split, int pieces, int threads, void *(*does)(void *))
{
    struct unroll_comm *comm[RANKS];
    struct rank rank[RANKS];
    const int ranks = split.batch * split.time * split.layer * split.hidden;
    if (!MUST(comm_threads_new(ranks, 60, comm)))
        abort();
    for (int i = 0; i < ranks; i++) {
        rank[i] = (struct rank){.way = w, .machine = unroll_machine_default()};
        rank[i].machine.comm = comm[i], rank[i].machine.split = split;
        rank[i].machine.pieces = pieces, rank[i].machine.threads = threads;
        if (pthread_create(&rank[i].thread, NULL, does, &rank[i]))
            abort();
    }
    for (int i = 0; i < ranks; i++) pthread_join(rank[i].thread, NULL);
    for (int i = 1; i < ranks; i++) {
        CHECK(rank[i].made.count == rank[0].made.count &&
                  !memcmp(rank[i].made.at, rank[0].made.at, rank[0].made.count * sizeof *rank[0].made.at),
              "%s: rank %d reads other numbers than rank 0", w->cell, i);
        free(rank[i].made.at);
    }
    comm_threads_free(comm, ranks);
    return rank[0].made;
}

static void compare(const struct way *w, struct made serial, unroll_split split, int pieces, int threads, bool exact)
{
    struct made made = on_ranks(w, split, pieces, threads, run_rank);
    const double worst = worst_of(made, serial);
    const bool same = made.count == serial.count && !memcmp(made.at, serial.at, made.count * sizeof *made.at);
    CHECK(exact ? same : worst <= (w->trains ? 1e-5 : 2e-6),
          "%s, %d layers, %d x %d, batch=%d,time=%d,layer=%d, %d pieces, %d threads: off by %g", w->cell, w->layers,
          w->steps, w->rows, split.batch, split.time, split.layer, pieces, threads, worst);
    free(made.at);
}

/* ---- results --------------------------------------------------------------------------- */

static void check_way(const struct way *w, bool exact)
{
    unroll_model *m = model_of(w);
    struct made serial = run(m, w, 1, 1, NULL, 1e-6f, NULL);
    exact = exact && !w->trains; /* sums of gradients are added rank by rank */
    compare(w, serial, (unroll_split){1, 1, 1, 2}, 1, 1, exact);
    compare(w, serial, (unroll_split){1, 1, 1, 3}, 1, 2, exact);
    compare(w, serial, (unroll_split){1, 1, 1, 4}, 3, 1, exact);
    if (w->rows > 1)
        compare(w, serial, (unroll_split){2, 1, 1, 2}, 1, 1, exact);
    free(serial.at);
    unroll_model_free(m);
}

static void check_stages(const struct way *w, bool exact)
{
    struct way staged = *w;
    staged.in_stages = true;
    unroll_model *m = model_of(w);
    struct made serial = run(m, &staged, 1, 1, NULL, 1e-6f, NULL);
    compare(&staged, serial, (unroll_split){1, 2, 1, 2}, 2, 1, exact && !w->trains);
    free(serial.at);
    unroll_model_free(m);
}

static void test_ways(void)
{
    static const struct way exact[] = {WAY("mingru", 1, 0, 0, LONG, 1, 17, .input = 7),
                                       WAY("minlstm", 2, 1, 0, LONG, MANY, 9, .lengths = true, .resets = true),
                                       WAY("sru", 1, 0, 0, LONG, 2, 33, .stateful = true),
                                       WAY("paragru", 1, 1, 0, LONG, 8, 20, .input = 7, .lengths = true,
                                           .stateful = true),
                                       WAY("paralstm", 2, 0, 0, LONG, MANY, 9, .lengths = true, .trains = true)},
                            near[] = {WAY("lstm", 1, 0, 0, LONG, 1, WIDE, PLAIN),
                                      WAY("lstm", 1, 0, 6, LONG, 2, 20, .lengths = true),
                                      WAY("gru", 2, 1, 0, LONG, 8, 9, .lengths = true, .resets = true),
                                      WAY("lstm", 2, 1, 0, LONG, MANY, 9, .input = 7, .lengths = true, .trains = true),
                                      WAY("gru", 1, 0, 0, LONG, 2, 33, .resets = true, .trains = true)};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) check_way(&exact[i], true);
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (exact[i].layers > 1)
            check_stages(&exact[i], true);
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) check_way(&near[i], false);
}

/* Cells that never forget: each rank waits for the true state of the previous one, and gives the serial bits. */
static void test_chaos(void)
{
    static const struct way w = WAY("rnn", 1, 0, 0, 640, 1, WIDE, .gain = 3);
    unroll_model *m = model_of(&w);
    struct made serial = run(m, &w, 1, 1, NULL, 1e-6f, NULL);
    for (int ranks = 2; ranks <= 8; ranks += 3) compare(&w, serial, (unroll_split){1, 1, 1, ranks}, 1, 1, true);
    compare(&w, serial, (unroll_split){1, 1, 1, 2}, 5, 2, true);
    free(serial.at);
    unroll_model_free(m);
}

/* ---- training -------------------------------------------------------------------------- */

enum { UPDATES = 3, LEARNED = 330 };

/* Losses of some updates, then all weights. States are carried from batch to batch; dropout masks depend on the
 * step. */
static void train(struct rank *r)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = r->way->cell, spec.layers = 2, spec.hidden = 9, spec.input = INPUT, spec.output = 2;
    spec.loss = "mse", spec.dropout = 0.1f;
    unroll_model *m = new_model(spec);
    unroll_session_config c = config_of(UNROLL_TRAIN, LEARNED, 2);
    c.optimizer = "adam", c.stateful = true, c.machine = r->machine;
    unroll_session *s = open_with(m, c);
    float x[LEARNED * 2 * INPUT], y[LEARNED * 2 * 2];
    unroll_batch batch = {.size = sizeof batch, .inputs = x, .target_values = y};
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    uint64_t seed = 5;
    r->made.at = malloc((UPDATES + 4096) * sizeof *r->made.at);
    for (int k = 0; k < UPDATES; k++) {
        for (int i = 0; i < LEARNED * 2 * INPUT; i++) x[i] = (float)random_number(&seed);
        for (int i = 0; i < LEARNED * 2 * 2; i++) y[i] = (float)random_number(&seed);
        MUST(unroll_session_step(s, &batch, &rates, &result));
        r->made.at[r->made.count++] = (float)result.loss;
    }
    MUST(unroll_session_pull(s));
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_parameter q = {.size = sizeof q};
        MUST(unroll_model_parameter(m, i, &q));
        for (int k = 0; k < q.shape[0] * (q.rank > 1 ? q.shape[1] : 1); k++) r->made.at[r->made.count++] = q.data[k];
    }
    unroll_session_free(s);
    unroll_model_free(m);
}

static void *train_rank(void *arg)
{
    train(arg);
    return NULL;
}

static void check_training(const char *cell, unroll_split split, int pieces, int threads)
{
    const struct way w = {.cell = cell};
    struct rank one = {.way = &w, .machine = unroll_machine_default()};
    one.machine.threads = 1;
    train(&one);
    struct made made = on_ranks(&w, split, pieces, threads, train_rank);
    CHECK(worst_of(made, one.made) < 2e-5, "%s trained on batch=%d,time=%d,layer=%d: off by %g", cell, split.batch,
          split.time, split.layer, worst_of(made, one.made));
    free(made.at);
    free(one.made.at);
}

static void test_training(void)
{
    check_training("lstm", (unroll_split){1, 1, 1, 3}, 1, 1);
    check_training("gru", (unroll_split){2, 1, 1, 2}, 2, 2);
    check_training("paragru", (unroll_split){1, 2, 1, 2}, 1, 1);
}

/* ---- damage ---------------------------------------------------------------------------- */

/* A transport that flips a bit of one state sent from rank 1 to rank 2 in the first round. If its checksum is
 * recomputed, it looks as if rank 1 had this state. */
static struct {
    struct transport transport;
    unroll_status (*send)(struct unroll_comm *, int, uint32_t, const void *, size_t);
    bool makes_sum;
    atomic_int messages; /* from rank 1 to rank 2 */
    char note[16];
} harm;

/* Sends like the transport, but changes one bit of the states from rank 1 to rank 2. */
static unroll_status send_harmed(struct unroll_comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    float state[WIDE];
    if (comm->rank != 1 || to != 2)
        return harm.send(comm, to, tag, data, bytes);
    const int message = atomic_fetch_add(&harm.messages, 1);
    if (message == 0 && bytes == sizeof harm.note) { /* waits for the state it describes */
        memcpy(harm.note, data, sizeof harm.note);
        return UNROLL_OK;
    }
    if (message != 1 || bytes != sizeof state)
        return harm.send(comm, to, tag, data, bytes);
    memcpy(state, data, sizeof state);
    ((unsigned char *)state)[2] ^= 0x40;
    if (harm.makes_sum)
        memcpy(harm.note, &(uint64_t){hash_wide(HASH_BEGIN, state, sizeof state)}, sizeof(uint64_t));
    TRY(harm.send(comm, to, tag, harm.note, sizeof harm.note));
    return harm.send(comm, to, tag, state, sizeof state);
}

/* Runs a forward on a rank whose states are damaged; stores the status and message. */
static void *run_harmed(void *arg)
{
    struct rank *r = arg;
    unroll_model *m = model_of(r->way);
    float x[640 * INPUT];
    uint64_t seed = 9;
    for (int i = 0; i < 640 * INPUT; i++) x[i] = (float)random_number(&seed);
    unroll_session_config c = config_of(UNROLL_INFER, r->way->steps, 1);
    unroll_batch batch = {.size = sizeof batch, .inputs = x};
    c.machine = r->machine;
    unroll_session *s = open_with(m, c);
    r->status = unroll_session_forward(s, &batch);
    snprintf(r->words, sizeof r->words, "%s", r->status == UNROLL_OK ? "" : unroll_last_error());
    if (r->status == UNROLL_OK)
        add_made(s, "y.l0", &r->made);
    unroll_session_free(s);
    unroll_model_free(m);
    return NULL;
}

/* Damage in transit is detected. A state that is wrong before it is final is replaced by the final one. */
static void test_damage(void)
{
    static const struct way w = WAY("paragru", 1, 0, 0, 640, 1, WIDE, PLAIN);
    unroll_model *m = model_of(&w);
    struct made serial = run(m, &w, 1, 1, NULL, 1e-6f, NULL);
    for (int sums = 0; sums < 2; sums++) {
        struct unroll_comm *comm[3];
        struct rank rank[3];
        if (!MUST(comm_threads_new(3, sums ? 60 : 3, comm)))
            abort();
        harm.transport = *comm[0]->transport, harm.send = harm.transport.send, harm.transport.send = send_harmed;
        harm.makes_sum = sums, harm.messages = 0;
        for (int i = 0; i < 3; i++) {
            rank[i] = (struct rank){.way = &w, .machine = unroll_machine_default()};
            rank[i].machine.comm = comm[i], rank[i].machine.split.time = 3, rank[i].machine.threads = 1;
            comm[i]->transport = &harm.transport;
            if (pthread_create(&rank[i].thread, NULL, run_harmed, &rank[i]))
                abort();
        }
        for (int i = 0; i < 3; i++) pthread_join(rank[i].thread, NULL);
        CHECK(harm.messages > 1, "no state was damaged");
        if (sums) {
            const size_t bytes = (size_t)w.steps * WIDE * sizeof *serial.at;
            CHECK(rank[0].status == UNROLL_OK && !memcmp(rank[0].made.at, serial.at, bytes), "a wrong guess: %s",
                  rank[0].status == UNROLL_OK ? "other bits" : rank[0].words);
        } else {
            CHECK(rank[2].status == UNROLL_COMMUNICATION && strstr(rank[2].words, "were corrupted in transfer"),
                  "a damaged message: '%s'", rank[2].words);
            CHECK(rank[0].status != UNROLL_OK && rank[1].status != UNROLL_OK, "ranks went on after damage");
        }
        for (int i = 0; i < 3; i++) free(rank[i].made.at);
        comm_threads_free(comm, 3);
    }
    free(serial.at);
    unroll_model_free(m);
}

/* ---- what is refused ------------------------------------------------------------------- */

static void refuse(const char *cell, unroll_session_config c, unroll_status status, const char *words)
{
    const struct way w = WAY(cell, 1, 0, 0, c.steps, c.rows, 5, PLAIN);
    unroll_model *m = model_of(&w);
    unroll_plan_config plan = unroll_plan_config_default();
    FILE *nowhere = fopen("/dev/null", "w");
    plan.mode = c.mode, plan.steps = c.steps, plan.rows = c.rows, plan.machine = c.machine;
    CHECK_REFUSED(unroll_plan_print(m, &plan, nowhere, 0), status, words);
    fclose(nowhere);
    unroll_model_free(m);
}

static void test_refusals(void)
{
    unroll_session_config c = config_of(UNROLL_INFER, 640, 1), with;
    c.machine.split.time = 2;
    with = c, with.machine.split.time = 11;
    refuse("lstm", with, UNROLL_UNSUPPORTED, "fix: use time=10");
    with = c, with.steps = 100, with.machine.split.time = 101;
    refuse("paragru", with, UNROLL_UNSUPPORTED, "fix: use time=1");
    with = c, with.machine.split.time = -1;
    refuse("paragru", with, UNROLL_USAGE, "outside 1..");
    with = c, with.machine.time_tolerance = 0;
    refuse("gru", with, UNROLL_UNSUPPORTED, "never decays");
    with = c, with.machine.time_tolerance = NAN;
    refuse("gru", with, UNROLL_USAGE, "outside 0");
    with = c, with.machine.time_tolerance = -1e-6f;
    refuse("paragru", with, UNROLL_USAGE, "outside 0");
    with = c, with.machine.split.hidden = 2;
    refuse("lstm", with, UNROLL_UNSUPPORTED, "in every step");
    with = c, with.machine.chunks = 2;
    refuse("lstm", with, UNROLL_UNSUPPORTED, "`chunks`");
    with = c, with.machine.checkpoint_time = 100;
    refuse("lstm", with, UNROLL_UNSUPPORTED, "`checkpoint_time`");
    with = c, with.machine.pieces = 6;
    refuse("lstm", with, UNROLL_UNSUPPORTED, "fix: set `pieces` = 5");
    with = c, with.mode = UNROLL_MODULE, with.machine.exact = 1;
    refuse("paragru", with, UNROLL_UNSUPPORTED, "not exact");
}

int main(void)
{
    test_ways();
    test_chaos();
    test_training();
    test_damage();
    test_refusals();
    return check_finish("test_time_ranks");
}
