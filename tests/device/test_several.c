/* Several devices that act as one, without another kind of device: invalid lists, cuts that do not fit, concurrent
 * sessions with one division, a device that fails during a run, ranks with one entry each, and devices of different or
 * changing speed. Results are compared with the CPU's in test_several of tests/cases. */
/* test: kinds=plain,long-memory,long-thread; args=$B/tests/device/fake_plugin.so */
/* test: kinds=timed-plain; args=timed; alone */
#include "extensions/cluster/devices/several.h"
#include "base/system/clock.h"
#include "check.h"
#include "comm/comm.h"
#include "session/session_state.h"
#include "unroll_train.h"
#include "unroll_advanced.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { STEPS = 6, ROWS = 10, WIDTH = 5, CLASSES = 3 };

static unroll_model *model_new(int layers)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    spec.hidden = 8, spec.layers = layers, spec.input = WIDTH, spec.output = CLASSES, spec.loss = "mse";
    MUST(unroll_model_new(&spec, 1, &model));
    return model;
}

static unroll_session_config config_of(unroll_mode mode, const char *devices, unroll_split split)
{
    unroll_session_config c = unroll_session_config_default();
    c.mode = mode, c.steps = STEPS, c.rows = ROWS, c.machine.device = devices, c.machine.split = split;
    return c;
}

static unroll_batch batch_of(void)
{
    static _Thread_local float x[STEPS * ROWS * WIDTH], y[STEPS * ROWS * CLASSES];
    for (int i = 0; i < STEPS * ROWS * WIDTH; i++) x[i] = (float)((i * 7) % 11) / 11;
    for (int i = 0; i < STEPS * ROWS * CLASSES; i++) y[i] = (float)((i * 5) % 7) / 7;
    return (unroll_batch){.size = sizeof(unroll_batch), .inputs = x, .target_values = y};
}

/* ---- what is refused ------------------------------------------------------------------- */

static void check_refused(const char *devices, unroll_split split, unroll_status status, const char *words)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, devices, split);
    unroll_model *model = model_new(2);
    unroll_session *session = NULL;
    CHECK_REFUSED(unroll_session_new(model, &c, &session), status, words);
    unroll_session_free(session);
    unroll_model_free(model);
}

static void test_refusals(void)
{
    const unroll_split layers = {.layer = 2};
    char many[512] = "cpu", far[512] = "cpu,xla:";
    for (int i = 0; i < 32; i++) strcat(many, ",cpu");
    memset(far + strlen(far), 'x', 300);
    check_refused("cpu,gpu", layers, UNROLL_USAGE, "no device 'gpu'");
    check_refused("cpu,", layers, UNROLL_USAGE, "a name is missing");
    check_refused(",cpu", layers, UNROLL_USAGE, "a name is missing");
    check_refused(",", layers, UNROLL_USAGE, "a name is missing");
    check_refused("cpu,,cpu", layers, UNROLL_USAGE, "a name is missing");
    check_refused("cpu,cpu:7", layers, UNROLL_USAGE, "the device cpu has no suffix");
    check_refused("cpu, cpu", layers, UNROLL_USAGE, "no device ' cpu'");
    check_refused(many, layers, UNROLL_UNSUPPORTED, "more than 32 devices");
    check_refused(far, layers, UNROLL_USAGE, "too long");
    check_refused("cpu,cpu,cpu", layers, UNROLL_USAGE, "3 devices are named for 2 ranks");
    check_refused("cpu,cpu", (unroll_split){.hidden = 2}, UNROLL_UNSUPPORTED, "cut along batch or layer");
    check_refused("cpu,cpu", (unroll_split){.layer = 4}, UNROLL_UNSUPPORTED, "layer=4 is more than the 3 layers");
    check_refused("cpu,cpu,cpu,cpu", (unroll_split){0}, UNROLL_UNSUPPORTED, "layer=4 is more than the 3 layers");
    check_refused("cpu,cpu", (unroll_split){.batch = 11}, UNROLL_UNSUPPORTED, "only size 10 along this axis");
}

static void test_other_ways(void)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, "cpu,cpu", (unroll_split){.layer = 2});
    unroll_model *model = model_new(2);
    unroll_session *session = NULL, *other = NULL;
    c.profile = 1;
    CHECK_REFUSED(unroll_session_new(model, &c, &session), UNROLL_UNSUPPORTED, "cannot measure single operations");
    c.profile = 0, c.machine.sum = "native";
    CHECK_REFUSED(unroll_session_new(model, &c, &session), UNROLL_UNSUPPORTED, "MPI's own");
    c.machine.sum = NULL, c.machine.precision = "bf16";
    CHECK_REFUSED(unroll_session_new(model, &c, &session), UNROLL_UNSUPPORTED, "bf16");
    c.machine.precision = NULL;
    MUST(unroll_session_new(model, &c, &session));
    c.mode = UNROLL_EVAL, c.machine.split = (unroll_split){.batch = 2};
    CHECK_REFUSED(unroll_session_new(model, &c, &other), UNROLL_UNSUPPORTED, "divided alike");
    unroll_session_free(session);
    unroll_model_free(model);
}

/* ---- concurrent sessions --------------------------------------------------------------- */

/* One session trains while another evaluates the same weights, with any division; the model gets the weights at the
 * end. */
static double learn(const char *devices, unroll_split split, double *evaluated)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, devices, split);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result}, found = {.size = sizeof found};
    unroll_model *model = model_new(2);
    unroll_session *trains = NULL, *evaluates = NULL;
    const unroll_batch batch = batch_of();
    MUST(unroll_session_new(model, &c, &trains));
    c = config_of(UNROLL_EVAL, devices, split);
    MUST(unroll_session_new(model, &c, &evaluates));
    for (int i = 0; i < 5 && trains && evaluates; i++) {
        MUST(unroll_session_step(trains, &batch, &rates, &result));
        MUST(unroll_session_forward(evaluates, &batch));
        MUST(unroll_session_result(evaluates, &found));
        evaluated[i] = found.loss;
    }
    unroll_session_free(trains);
    unroll_session_free(evaluates);
    c = config_of(UNROLL_EVAL, "cpu", (unroll_split){0}); /* from the model's own memory */
    MUST(unroll_session_new(model, &c, &evaluates));
    MUST(unroll_session_forward(evaluates, &batch));
    MUST(unroll_session_result(evaluates, &found));
    CHECK(fabs(found.loss - evaluated[4]) < 1e-6, "%g after all, not %g", found.loss, evaluated[4]);
    unroll_session_free(evaluates);
    unroll_model_free(model);
    return result.loss;
}

static void test_side_by_side(void)
{
    double alone[5], here[5];
    const double loss = learn("cpu", (unroll_split){0}, alone);
    const unroll_split cuts[] = {{.layer = 2}, {.batch = 2}, {.batch = 2, .layer = 2}, {.layer = 3}};
    for (int k = 0; k < 4; k++) {
        CHECK(fabs(learn("cpu,cpu", cuts[k], here) - loss) < 1e-6, "cut %d: another loss", k);
        for (int i = 0; i < 5; i++)
            CHECK(fabs(here[i] - alone[i]) < 1e-6, "cut %d: %g after step %d, not %g", k, here[i], i, alone[i]);
    }
}

/* ---- ranks with one entry each --------------------------------------------------------- */

enum { RANKS = 2 };
static struct one_rank {
    unroll_comm *comm;
    const char *devices;
    unroll_split split;
    double loss;
    unroll_status status;
    char words[256];
} one_rank[RANKS];

/* Trains on one rank; stores the status, the message and the loss. */
static void *run_rank(void *arg)
{
    struct one_rank *r = arg;
    unroll_session_config c = config_of(UNROLL_TRAIN, r->devices, r->split);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_model *model = model_new(2);
    unroll_session *session = NULL;
    const unroll_batch batch = batch_of();
    c.machine.comm = r->comm;
    r->status = unroll_session_new(model, &c, &session);
    for (int i = 0; i < 5 && r->status == UNROLL_OK; i++)
        r->status = unroll_session_step(session, &batch, &rates, &result);
    snprintf(r->words, sizeof r->words, "%s", r->status == UNROLL_OK ? "" : unroll_last_error());
    r->loss = result.loss;
    unroll_session_free(session);
    unroll_model_free(model);
    return NULL;
}

static void run_ranks(const char *devices, unroll_split split)
{
    struct unroll_comm *comm[RANKS];
    pthread_t thread[RANKS];
    MUST(comm_threads_new(RANKS, 20, comm));
    for (int r = 0; r < RANKS; r++) {
        one_rank[r] = (struct one_rank){.comm = comm[r], .devices = devices, .split = split};
        CHECK(!pthread_create(&thread[r], NULL, run_rank, &one_rank[r]), "a thread for each rank");
    }
    for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
    comm_threads_free(comm, RANKS);
}

static void test_ranks(const char *plugin)
{
    double alone[5];
    const double loss = learn("cpu", (unroll_split){0}, alone);
    const unroll_split cuts[] = {{.layer = 2}, {.batch = 2}, {0}};
    char lists[2][300];
    snprintf(lists[0], sizeof lists[0], "cpu,xla:%s", plugin);
    snprintf(lists[1], sizeof lists[1], "xla:%s,cpu", plugin);
    for (int k = 0; k < 6; k++) {
        run_ranks(lists[k / 3], cuts[k % 3]);
        for (int r = 0; r < RANKS; r++)
            CHECK(one_rank[r].status == UNROLL_OK && fabs(one_rank[r].loss - loss) < 1e-6,
                  "%s: rank %d: %g, not %g; %s", lists[k / 3], r, one_rank[r].loss, loss, one_rank[r].words);
    }
    run_ranks("cpu,cpu,cpu", cuts[0]);
    for (int r = 0; r < RANKS; r++)
        CHECK(strstr(one_rank[r].words, "3 devices are named for 2 ranks"), "rank %d: %s", r, one_rank[r].words);
    run_ranks("cpu,xla:/no/such/plugin.so", cuts[0]);
    for (int r = 0; r < RANKS; r++)
        CHECK(strstr(one_rank[r].words, "/no/such/plugin.so"), "rank %d: %s", r, one_rank[r].words);
}

/* ---- a device that fails --------------------------------------------------------------- */

static struct device flaky;
static int runs_left;

static unroll_status flaky_run(void *executable, enum phase first, enum phase last)
{
    if (runs_left-- <= 0)
        return fail(UNROLL_RESOURCE, "the device was lost");
    return device_at(0)->run(executable, first, last);
}

static void test_lost_device(void)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, "flaky,cpu", (unroll_split){.layer = 2});
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_model *model = model_new(2);
    unroll_session *session = NULL;
    const unroll_batch batch = batch_of();
    flaky = *device_at(0);
    flaky.name = "flaky", flaky.run = flaky_run;
    MUST(device_add(&flaky));
    runs_left = 1 << 20; /* for measurements */
    MUST(unroll_session_new(model, &c, &session));
    runs_left = 3;
    const double begin = clock_seconds();
    MUST(unroll_session_step(session, &batch, &rates, &result));
    CHECK_REFUSED(unroll_session_step(session, &batch, &rates, &result), UNROLL_RESOURCE,
                  "rank 0, on flaky: the device was lost");
    CHECK(clock_seconds() - begin < 300, "the other rank waits for the device that was lost");
    runs_left = 1 << 20;
    CHECK_REFUSED(unroll_session_step(session, &batch, &rates, &result), UNROLL_RESOURCE,
                  "resume from the last checkpoint");
    unroll_session_free(session);
    unroll_model_free(model);
}

/* ---- devices of different speed ---------------------------------------------------------- */

/* A CPU with a simulated clock, on which phases take the time of their work at a given rate. For tests of real time it
 * sleeps instead. */
static struct device paced[2];
static double speed[2] = {1, 1}; /* FLOPs per second of each */
static const double flops_a_second = 1e7;
static bool sleeps;
static struct made {
    const struct plan *plan;
    void *executable;
    int which;
    double seconds;
} made[256];
static atomic_int count_made;

static unroll_status make_paced(const struct plan *plan, void *store, const struct device_options *options,
                                void **executable, int which)
{
    TRY(device_at(0)->executable_new(plan, store, options, executable));
    made[atomic_fetch_add(&count_made, 1) % 256] = (struct made){plan, *executable, which, 0};
    return UNROLL_OK;
}

static unroll_status make_first(const struct plan *p, void *store, const struct device_options *o, void **x)
{
    return make_paced(p, store, o, x, 0);
}

static unroll_status make_second(const struct plan *p, void *store, const struct device_options *o, void **x)
{
    return make_paced(p, store, o, x, 1);
}

static struct made *made_of(const void *executable)
{
    int i = atomic_load(&count_made) - 1;
    while (made[i % 256].executable != executable) i--; /* the latest one at this address */
    return &made[i % 256];
}

static double seconds_of(const struct plan *p, enum phase first, enum phase last, int which)
{
    double flops = 0;
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].phase >= first && p->op[i].phase <= last)
            flops += p->op[i].flops;
    return flops / (flops_a_second * speed[which]);
}

static unroll_status run_paced(void *executable, enum phase first, enum phase last)
{
    struct made *m = made_of(executable);
    const double seconds = seconds_of(m->plan, first, last, m->which);
    m->seconds += seconds;
    if (sleeps)
        nanosleep(&(struct timespec){(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)}, NULL);
    return device_at(0)->run(executable, first, last);
}

static double seconds_taken(void *executable)
{
    struct made *m = made_of(executable);
    const double seconds = m->seconds;
    m->seconds = 0;
    return seconds;
}

static void add_paced(void)
{
    static const char *const names[] = {"first", "second"};
    for (int i = 0; i < 2; i++) {
        paced[i] = *device_at(0);
        paced[i].name = names[i], paced[i].run = run_paced;
        paced[i].executable_new = i ? make_second : make_first, paced[i].seconds = seconds_taken;
        MUST(device_add(&paced[i]));
    }
}

/* Returns the seconds of the slowest rank by its true rate, divided by those of a perfect division. */
static double balance_of(const unroll_session *session)
{
    const struct several *x = session->executable;
    double work = 0, rates = 0, longest = 0;
    for (int r = 0; r < x->store->ranks; r++) {
        const double seconds = seconds_of(x->member[r].plan, 0, PHASE_UPDATE, r % 2);
        work += seconds * speed[r % 2];
        rates += speed[r % 2];
        longest = fmax(longest, seconds);
    }
    return longest * rates / work;
}

struct course {
    double loss, before, after; /* loss and balance after the last update, and balance before */
    int moves;
};

/* Runs updates on two ranks; from the tenth update on, the first one is `slow` times slower. */
static struct course train_paced(const char *devices, unroll_split split, int updates, double slow)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, devices, split);
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_model *model = model_new(8);
    unroll_session *session = NULL, *evaluates = NULL;
    const unroll_batch batch = batch_of();
    struct course found = {0};
    MUST(unroll_session_new(model, &c, &session));
    c.mode = UNROLL_EVAL;
    MUST(unroll_session_new(model, &c, &evaluates));
    if (split.layer > 1 || split.batch > 1)
        found.before = balance_of(session);
    for (int i = 0; i < updates && session; i++) {
        if (i == 10)
            speed[0] /= slow;
        MUST(unroll_session_step(session, &batch, &rates, &result));
    }
    MUST(unroll_session_forward(evaluates, &batch)); /* concurrently, with updated weights */
    MUST(unroll_session_result(evaluates, &result));
    found.loss = result.loss;
    if (split.layer > 1 || split.batch > 1) {
        found.after = balance_of(session);
        double part[2] = {0};
        int ranks;
        found.moves = unroll_session_shares(session, part, 2, &ranks);
        CHECK(ranks == 2 && part[0] > 0 && part[1] > 0 && fabs(part[0] + part[1] - 1) < 1e-9, "parts %g and %g",
              part[0], part[1]);
        CHECK(slow < 2 || part[0] < 0.4, "the slower rank still has %g of the work", part[0]);
    }
    unroll_session_free(evaluates);
    unroll_session_free(session);
    unroll_model_free(model);
    return found;
}

/* Four to one: divided by the measured rates. The losses are those of one device. */
static void test_balance(void)
{
    const struct course alone = train_paced("cpu", (unroll_split){0}, 2, 1);
    speed[0] = 4, speed[1] = 1;
    const struct course layers = train_paced("first,second", (unroll_split){.layer = 2}, 2, 1);
    speed[0] = 1, speed[1] = 4;
    const struct course others = train_paced("first,second", (unroll_split){.layer = 2}, 2, 1);
    CHECK(layers.before <= 1.15 && layers.moves == 0, "layers at 4:1: %g of the ideal", layers.before);
    CHECK(others.before <= 1.15 && others.moves == 0, "layers at 1:4: %g of the ideal", others.before);
    const struct course rows = train_paced("first,second", (unroll_split){.batch = 2}, 2, 1);
    CHECK(rows.before <= 1.001 && rows.moves == 0, "10 rows at 1:4: %g of the ideal", rows.before);
    CHECK(fabs(layers.loss - alone.loss) < 1e-6 && fabs(others.loss - alone.loss) < 1e-6,
          "layers: the losses are %g and %g, not %g", layers.loss, others.loss, alone.loss);
}

/* A rank becomes three times slower: the work is divided again within 200 updates, and the loss does not change. */
static void test_slower(void)
{
    const struct course alone = train_paced("cpu", (unroll_split){0}, 200, 1);
    for (int i = 0; i < 2; i++) {
        speed[0] = 3, speed[1] = 3;
        const struct course c = train_paced("first,second", (unroll_split){.layer = 2 - i, .batch = 1 + i}, 200, 3);
        CHECK(c.moves == 1 && c.after < (i ? 1.4 : 1.2), "%s: %g of the ideal at first, %g after %d moves",
              i ? "rows" : "layers", c.before, c.after, c.moves);
        CHECK(fabs(c.loss - alone.loss) < (i ? 1e-5 : 1e-6), "%s: the loss is %.9g, not %.9g", i ? "rows" : "layers",
              c.loss, alone.loss);
    }
}

/* In real time, on two processors: a step on two ranks, one of them four times as fast, takes at most 15% longer than
 * the ideal. */
static void test_time(void)
{
    unroll_session_config c = config_of(UNROLL_TRAIN, "first,second", (unroll_split){.batch = 2});
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_model *model = model_new(8);
    unroll_session *session = NULL;
    const unroll_batch batch = batch_of();
    double shortest = 1e9;
    sleeps = true;
    speed[0] = 4, speed[1] = 1;
    MUST(unroll_session_new(model, &c, &session));
    for (int i = 0; i < 5; i++) {
        const double begin = clock_seconds();
        MUST(unroll_session_step(session, &batch, &rates, &result));
        shortest = fmin(shortest, clock_seconds() - begin);
    }
    const struct several *x = session->executable;
    double work = 0;
    for (int r = 0; r < 2; r++) work += seconds_of(x->member[r].plan, 0, PHASE_UPDATE, r) * speed[r];
    printf("a step at 4:1 takes %.1f ms, %.3f of the ideal\n", 1e3 * shortest, shortest / (work / 5));
    CHECK(shortest <= 1.15 * work / 5, "%g of the ideal", shortest / (work / 5));
    unroll_session_free(session);
    unroll_model_free(model);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "timed")) {
        add_paced();
        test_time();
        return check_finish("test_several");
    }
    test_refusals();
    test_other_ways();
    test_side_by_side();
    test_lost_device();
    if (argc > 1)
        test_ranks(argv[1]);
    add_paced();
    test_balance();
    test_slower();
    return check_finish("test_several");
}
