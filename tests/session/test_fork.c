/* A child created by fork() can train and free its parent's sessions with several threads, with the same bits; what it
 * cannot use is refused immediately. Each child has an alarm: one that hangs is killed and counts as failed. Usage:
 * test_fork PLUGIN, that of tests/device */
/* test: kinds=plain,long-memory; args=$B/tests/device/fake_plugin.so */
#include "base/team.h"
#include "comm/comm.h"
#include "session/fixture.h"
#include "unroll_advanced.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20, MAX = 3 };

static int threads; /* of teams and sessions */

/* Runs `work` in a child. Returns how many of its checks failed, or -1 if it was killed. */
static int in_child(void (*work)(void *), void *arg)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        atomic_store(&checks_failed, 0);
        work(arg);
        fflush(stdout);
        _exit(atomic_load(&checks_failed));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

#define CHECK_CHILD(work, arg) CHECK(in_child(work, arg) == 0, "a child failed, or hung for %d seconds", SECONDS)

/* ---- teams --------------------------------------------------------------------------------- */

static void count_member(void *counts, int me) { ((int *)counts)[me]++; }

static void run_team(void *team)
{
    int counts[MAX] = {0};
    MUST(team_run(team, count_member, counts));
    MUST(team_run(team, count_member, counts));
    for (int i = 0; i < threads; i++) CHECK(counts[i] == 2, "member %d ran %d times", i, counts[i]);
}

static void run_team_twice(void *team)
{
    CHECK_CHILD(run_team, team); /* in a process without the team's threads */
    run_team(team);
    CHECK_CHILD(run_team, team);
    team_free(team);
}

static void free_team(void *team) { team_free(team); }

static void test_team(void)
{
    struct team *team;
    check_next_case();
    MUST(team_new(threads, &team));
    CHECK_CHILD(run_team_twice, team);
    run_team(team);
    CHECK_CHILD(run_team_twice, team);
    CHECK_CHILD(free_team, team);
    team_free(team);
}

/* ---- sessions ------------------------------------------------------------------------------ */

struct training {
    unroll_model *model;
    unroll_session *session;
    struct arrays batch;
    unroll_hyperparameters rates;
    unroll_result next; /* of the step after the fork */
};

static unroll_session *open_threads(unroll_model *m, unroll_mode mode)
{
    unroll_session_config c = config_of(mode, STEPS, ROWS);
    c.machine.threads = threads;
    return open_with(m, c);
}

static unroll_result step(struct training *t)
{
    unroll_result result = {.size = sizeof result};
    unroll_batch batch = regression(&t->batch);
    MUST(unroll_session_step(t->session, &batch, &t->rates, &result));
    return result;
}

static struct training training_of(unroll_model_config spec)
{
    struct training t = {.model = new_model(spec), .batch = draw(5), .rates = unroll_hyperparameters_default("adam")};
    t.session = open_threads(t.model, UNROLL_TRAIN);
    step(&t);
    return t;
}

static void step_alike(void *arg)
{
    struct training *t = arg;
    unroll_result result = step(t);
    CHECK(result.loss == t->next.loss && result.norm == t->next.norm, "loss %.9g, norm %.9g, not %.9g and %.9g",
          result.loss, result.norm, t->next.loss, t->next.norm);
}

/* Continues, forks again, frees the session and trains with a new one. */
static void live_on(void *arg)
{
    struct training *t = arg;
    CHECK_CHILD(step_alike, t);
    step_alike(t);
    unroll_session_free(t->session);
    t->session = open_threads(t->model, UNROLL_TRAIN);
    step(t);
    unroll_session_free(t->session);
    unroll_model_free(t->model);
}

static void free_and_begin_anew(void *arg)
{
    struct training *t = arg;
    unroll_session_free(t->session);
    t->session = open_threads(t->model, UNROLL_TRAIN);
    step(t);
    unroll_session_free(t->session);
}

static void test_sessions(void)
{
    struct training t = training_of(vectors_spec()), same = training_of(vectors_spec());
    check_next_case();
    t.next = step(&same);
    CHECK_CHILD(live_on, &t);
    CHECK_CHILD(free_and_begin_anew, &t);
    step_alike(&t); /* not affected by the child */
    unroll_session_free(t.session);
    unroll_session_free(same.session);
    unroll_model_free(t.model);
    unroll_model_free(same.model);
}

/* ---- a fork while another thread is training ------------------------------------------------ */

static atomic_bool stops;

static void *train_on(void *arg)
{
    while (!atomic_load(&stops)) step(arg);
    return NULL;
}

/* Exits with 100 if the session is refused. */
static void look_at_session(void *arg)
{
    struct training *t = arg;
    unroll_result result = {.size = sizeof result};
    unroll_batch batch = regression(&t->batch);
    unroll_status status = unroll_session_step(t->session, &batch, &t->rates, &result);
    if (status != UNROLL_OK)
        CHECK_REFUSED(status, UNROLL_UNSUPPORTED, "while another thread was in a call");
    free_and_begin_anew(t);
    if (status != UNROLL_OK && atomic_load(&checks_failed) == 0)
        _exit(100);
}

static void test_interrupted(void)
{
    enum { TRIES = 40 };
    struct training t = training_of(vectors_spec());
    pthread_t thread;
    int result = 0;
    check_next_case();
    CHECK(pthread_create(&thread, NULL, train_on, &t) == 0, "no thread");
    for (int i = 0; i < TRIES && result == 0; i++) result = in_child(look_at_session, &t);
    atomic_store(&stops, true);
    pthread_join(thread, NULL);
    CHECK(result == 100, "of %d forks none met a step, or a child failed: %d", TRIES, result);
    unroll_session_free(t.session);
    unroll_model_free(t.model);
}

/* ---- what no child can use ------------------------------------------------------------------ */

struct world {
    struct unroll_comm *comm[2];
    struct training rank[2];
    atomic_int failures;
};

static void open_rank(void *arg, int me)
{
    struct world *w = arg;
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    c.machine.comm = w->comm[me];
    c.machine.split = (unroll_split){2, 1, 1, 1};
    if (unroll_session_new(w->rank[me].model, &c, &w->rank[me].session) != UNROLL_OK)
        atomic_fetch_add(&w->failures, 1);
}

static void use_ranks(void *arg)
{
    struct world *w = arg;
    unroll_batch batch = regression(&w->rank[0].batch);
    double sum = 1;
    CHECK_REFUSED(unroll_session_step(w->rank[0].session, &batch, &w->rank[0].rates, NULL), UNROLL_UNSUPPORTED,
                  "forked from a process");
    CHECK_REFUSED(comm_send(w->comm[0], 1, 5, &sum, sizeof sum), UNROLL_UNSUPPORTED, "messages to other ranks");
    CHECK_REFUSED(unroll_comm_sum(w->comm[1], &sum, 1), UNROLL_UNSUPPORTED, "messages to other ranks");
    for (int i = 0; i < 2; i++) unroll_session_free(w->rank[i].session);
    comm_threads_free(w->comm, 2);
}

static void test_ranks(void)
{
    struct world w = {.failures = 0};
    struct team *team;
    check_next_case();
    MUST(comm_threads_new(2, SECONDS, w.comm));
    MUST(team_new(2, &team));
    for (int i = 0; i < 2; i++)
        w.rank[i] = (struct training){
            .model = new_model(vectors_spec()), .batch = draw(5), .rates = unroll_hyperparameters_default("adam")};
    MUST(team_run(team, open_rank, &w));
    if (CHECK(atomic_load(&w.failures) == 0, "%s", unroll_last_error()))
        CHECK_CHILD(use_ranks, &w);
    for (int i = 0; i < 2; i++) {
        unroll_session_free(w.rank[i].session);
        unroll_model_free(w.rank[i].model);
    }
    team_free(team);
    comm_threads_free(w.comm, 2);
}

static char device[1024];

/* Checks a child whose parent has opened a device: it is refused, but the CPU still works. */
static void use_device(void *arg)
{
    struct training *t = arg, own;
    unroll_session_config c = config_of(UNROLL_INFER, STEPS, ROWS);
    unroll_session *another;
    int64_t forwards, updates;
    float number;
    unroll_batch batch = regression(&t->batch);
    CHECK_REFUSED(unroll_session_step(t->session, &batch, &t->rates, NULL), UNROLL_UNSUPPORTED,
                  "forked from a process that had opened xla");
    CHECK_REFUSED(unroll_session_read(t->session, "loss_sum", &number, 1), UNROLL_UNSUPPORTED, "opened xla");
    unroll_session_counters(t->session, &forwards, &updates);
    CHECK(forwards == 0 && updates == 0, "%lld forwards", (long long)forwards);
    unroll_session_free(t->session);
    CHECK_REFUSED(unroll_session_new(t->model, &c, &another), UNROLL_UNSUPPORTED, "opened xla");
    own = training_of(vectors_spec()); /* the CPU still works */
    c.machine.device = device;
    CHECK_REFUSED(unroll_session_new(own.model, &c, &another), UNROLL_UNSUPPORTED,
                  "which all of its sessions must use");
    free_and_begin_anew(&own);
    CHECK_REFUSED(unroll_session_new(own.model, &c, &another), UNROLL_UNSUPPORTED, "opened an XLA plugin");
    unroll_model_free(own.model);
}

static void test_device(const char *plugin)
{
    struct training t = {
        .model = new_model(vectors_spec()), .batch = draw(5), .rates = unroll_hyperparameters_default("adam")};
    unroll_session_config c = config_of(UNROLL_TRAIN, STEPS, ROWS);
    snprintf(device, sizeof device, "xla:%s", plugin);
    c.machine.device = device;
    check_next_case();
    t.session = open_with(t.model, c);
    step(&t);
    CHECK_CHILD(use_device, &t);
    step(&t);
    unroll_session_free(t.session);
    unroll_model_free(t.model);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: test_fork PLUGIN\n");
        return 2;
    }
    setenv("UNROLL_ADAPTIVE", "together", 1); /* small networks, too, must run on all threads */
    for (threads = 1; threads <= MAX; threads++) {
        test_team();
        test_sessions();
    }
    threads = 2;
    test_interrupted();
    test_ranks();
    test_device(argv[1]);
    return check_finish("fork");
}
