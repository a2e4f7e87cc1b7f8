/* Detects forbidden actions of a step. Steps run in a child that the kernel kills at the first system call. Memory
 * requests and locks are counted by replacements of the C library's functions, page faults and waits by the kernel.
 * Each detector is tested, too. What steps compute is tested in test_stream.c. */
/* test: seconds=15 */
#include "check.h"
#include "plan/allocations.h"
#include "stream/networks.h"
#include "unroll_stream.h"
#include "listed.h"
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 200, ROWS = 3, WIDEST = 48, SYMBOLS = 11 };

/* ---- locks ----------------------------------------------------------------------------- */

static atomic_size_t locks;

#define COUNTS_LOCKS(function, type)                                                    \
    STANDS_IN int function(type *lock)                                                  \
    {                                                                                   \
        static int (*own)(type *);                                                      \
        atomic_fetch_add(&locks, 1);                                                    \
        if (!own)                                                                       \
            *(void **)&own = dlsym(RTLD_NEXT, #function);                               \
        return own(lock);                                                               \
    }
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
COUNTS_LOCKS(pthread_mutex_lock, pthread_mutex_t)
COUNTS_LOCKS(pthread_mutex_trylock, pthread_mutex_t)
COUNTS_LOCKS(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNTS_LOCKS(pthread_rwlock_wrlock, pthread_rwlock_t)
COUNTS_LOCKS(pthread_spin_lock, pthread_spinlock_t)
COUNTS_LOCKS(sem_wait, sem_t)
#endif

/* ---- streams to step ------------------------------------------------------------------- */

struct work {
    unroll_stream *stream;
    unroll_stream_pool *pool; /* with the same number of slots, which step in another order */
    size_t input;             /* values in a row of inputs */
    float inputs[FRAMES * ROWS * WIDEST], outputs[ROWS * 64];
    int32_t tokens[FRAMES * ROWS];
    int inner;               /* a layer that is read after each step; -1: none */
    bool of_tokens, refused; /* refused: also tries frames that a step refuses */
};

static void step(struct work *w, int frame)
{
    unroll_status status =
        w->of_tokens ? unroll_stream_step(w->stream, w->tokens + frame * ROWS, NULL, w->outputs)
                     : unroll_stream_step(w->stream, NULL, w->inputs + (size_t)frame * ROWS * w->input, w->outputs);
    if (status != UNROLL_OK)
        abort();
    const int32_t *tokens = w->of_tokens ? w->tokens + frame * ROWS : NULL;
    const float *inputs = w->of_tokens ? NULL : w->inputs + (size_t)frame * ROWS * w->input;
    if (unroll_stream_pool_step(w->pool, ROWS, (int32_t[]){2, 0, 1}, tokens, inputs, w->outputs) != UNROLL_OK)
        abort();
    if (w->inner >= 0 && unroll_stream_read(w->stream, w->inner, w->outputs) != UNROLL_OK)
        abort();
}

static void step_all(struct work *w)
{
    for (int frame = 0; frame < FRAMES; frame++) step(w, frame);
    if (unroll_stream_reset(w->stream, 0) != UNROLL_OK || unroll_stream_pool_reset(w->pool, 0) != UNROLL_OK ||
        unroll_stream_pool_move(w->pool, 1, 2) != UNROLL_OK)
        abort();
    for (int i = 0; w->refused && i < FRAMES; i++) {
        const float nan[ROWS * WIDEST] = {NAN};
        const int32_t beyond[ROWS] = {SYMBOLS};
        unroll_status status = w->of_tokens ? unroll_stream_step(w->stream, beyond, NULL, w->outputs)
                                            : unroll_stream_step(w->stream, NULL, nan, w->outputs);
        if (status != UNROLL_DATA)
            abort();
    }
}

/* ---- detectors ------------------------------------------------------------------------- */

/* From here on every system call except exit kills the process. */
static bool enter_jail(void)
{
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { NO_JAIL = 77 };

static void call_system(struct work *w)
{
    (void)w;
    (void)syscall(SYS_getppid);
}

/* Returns how a child ends that does the work in this jail. */
static int in_jail(void (*does)(struct work *), struct work *w)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!enter_jail())
            _exit(NO_JAIL);
        does(w);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    return status;
}

static bool killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS; }

static bool can_jail(void)
{
    int status = in_jail(call_system, NULL);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_JAIL)
        return false;
    CHECK(killed(status), "a system call in jail is seen: status %#x", (unsigned)status);
    return true;
}

/* Requests so far. */
struct count {
    size_t requests, locks;
    long faults, waits;
};

static struct count count_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct count){atomic_load(&requests), atomic_load(&locks), usage.ru_minflt + usage.ru_majflt,
                          usage.ru_nvcsw};
}

/* The kernel itself may occasionally remove and restore pages, or suspend the process. What a step does would occur
 * each time. */
static void check_counts(const char *name, struct work *w)
{
    enum { TRIES = 50 };
    struct count before, after;
    step_all(w); /* touches code and stack for the first time */
    for (int i = 0; i < TRIES; i++) {
        before = count_now();
        step_all(w);
        after = count_now();
        if (after.faults == before.faults && after.waits == before.waits)
            break;
    }
    CHECK(after.requests == before.requests, "%s: %zu requests of memory", name, after.requests - before.requests);
    CHECK(after.locks == before.locks, "%s: %zu locks", name, after.locks - before.locks);
    CHECK(after.faults == before.faults, "%s: %ld page faults", name, after.faults - before.faults);
    CHECK(after.waits == before.waits, "%s: %ld waits", name, after.waits - before.waits);
}

/* Checks that the counters count. */
static void check_counters(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct count before = count_now();
    char *volatile memory = malloc(1 << 24);
    for (size_t i = 0; i < 1 << 24; i += 4096) memory[i] = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    usleep(1000);
    struct count after = count_now();
    free(memory);
    if (COUNTS_ALLOCATIONS)
        CHECK(after.requests > before.requests && after.locks > before.locks, "requests and locks are counted");
    CHECK(after.faults > before.faults && after.waits > before.waits, "page faults and waits are counted");
}

/* ---- streams --------------------------------------------------------------------------- */

static void check_model(unroll_model *model, const char *what, int inner, int rows, const char *dtype, const char *isa,
                        bool jail)
{
    static struct work w;
    unroll_stream_config config = unroll_stream_config_default();
    unroll_network network = {.size = sizeof network};
    char name[128];
    snprintf(name, sizeof name, "%s, %d rows in %s on %s", what, rows, dtype, isa);
    config.rows = rows;
    config.machine.isa = isa;
    config.machine.dtype = dtype;
    size_t bytes = unroll_stream_bytes(model, &config);
    void *memory = aligned_alloc(64, bytes);
    CHECK(unroll_stream_init(memory, bytes, model, &config, &w.stream) == UNROLL_OK, "%s", unroll_last_error());
    unroll_stream_pool_config of_pool = unroll_stream_pool_config_default();
    of_pool.slots = ROWS;
    of_pool.machine = config.machine;
    bytes = unroll_stream_pool_bytes(model, &of_pool);
    void *slots = aligned_alloc(64, bytes);
    CHECK(unroll_stream_pool_init(slots, bytes, model, &of_pool, &w.pool) == UNROLL_OK, "%s", unroll_last_error());
    unroll_model_network(model, &network);
    unroll_model_free(model);
    w.of_tokens = network.tokens;
    w.input = network.tokens ? 1 : (size_t)network.input;
    w.inner = inner;
    for (w.refused = false;; w.refused = true) {
        check_counts(name, &w);
        if (jail) {
            int status = in_jail(step_all, &w);
            CHECK(status == 0, "%s: %s", name, killed(status) ? "a system call" : "the child failed");
        }
        if (w.refused)
            break;
    }
    free(memory);
    free(slots);
}

static void check_stream(unroll_model_config spec, int rows, const char *dtype, const char *isa, bool jail)
{
    unroll_model *model;
    char name[64];
    snprintf(name, sizeof name, "%s %d x %d%s", spec.cell, spec.layers, spec.hidden, spec.tokens ? " of symbols" : "");
    if (CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s: %s", name, unroll_last_error()))
        check_model(model, name, -1, rows, dtype, isa, jail);
}

/* Networks, and the first of their inner outputs. */
static void check_networks(const char *dtype, const char *isa, bool jail)
{
    for (int i = 0; network_named(i); i++) {
        unroll_model *m = network_new(i);
        unroll_layer layer = {.size = sizeof layer};
        int inner = -1;
        for (int l = 0; l + 1 < unroll_model_layers(m) && inner < 0; l++)
            if (unroll_model_layer(m, l, &layer) == UNROLL_OK && layer.output)
                inner = l;
        check_model(m, network_named(i), inner, 1 + i % ROWS, dtype, isa, jail);
    }
}

static void check_isa(const char *dtype, const char *isa, bool jail)
{
    for (int cell = 0; listed(UNROLL_LIST_CELLS, cell); cell++) {
        unroll_model_config spec = unroll_model_config_default();
        char name[32];
        snprintf(name, sizeof name, "%s", listed(UNROLL_LIST_CELLS, cell));
        spec.cell = name;
        spec.layers = 2;
        spec.hidden = 40;
        spec.input = 5;
        spec.output = cell % 2 ? 33 : 0;
        check_stream(spec, 1 + cell % ROWS, dtype, isa, jail);
        spec.tokens = 1;
        spec.input = spec.output = SYMBOLS;
        spec.embed = cell % 2 ? 7 : 0;
        check_stream(spec, 1, dtype, isa, jail);
    }
    unroll_model_config spec = unroll_model_config_default();
    spec.hidden = 64;
    spec.input = 5;
    spec.projection = 20;
    spec.peephole = 1;
    spec.clip = 3;
    check_stream(spec, ROWS, dtype, isa, jail);
    check_networks(dtype, isa, jail);
}

int main(void)
{
    static const char *const dtypes[] = {"fp32", "bf16", "int8"};
    const char *isa;
    int available;
    bool jail = can_jail();
    if (!jail)
        check_skip("system calls: this machine lets no program give them up (seccomp)");
    if (!COUNTS_ALLOCATIONS)
        check_skip("requests of memory and locks: a sanitizer stands in front of the C library");
    check_counters();
    for (int i = 0; (isa = listed_isa(i, &available)); i++)
        for (size_t d = 0; available && d < sizeof dtypes / sizeof *dtypes; d++) check_isa(dtypes[d], isa, jail);
    return check_finish("real time");
}
