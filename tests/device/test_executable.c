/* The executor: a training run has the same bits for all numbers of threads, queues and chunks; the work counted by
 * kernels equals the plan's; running does not allocate; failures are reported and leave nothing allocated. Gradients
 * are tested in tests/plan and test_rnn.c. */
/* test: kinds=plain,long-thread */
#include "device/cpu/executor/operands.h"
#include "base/memory.h"
#include "base/philox.h"
#include "device/cpu/executor/executable_parts.h"
#include "nn/optim/optim.h"
#include "session/weights.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STEPS = 8, ROWS = 5, SYMBOLS = 7, UPDATES = 7 };

/* Two bidirectional layers, so that queues have concurrent work. */
static struct unroll_model *new_model(void)
{
    unroll_model_config spec = unroll_model_config_default();
    struct unroll_model *model = NULL;
    spec.cell = "lstm";
    spec.layers = 2;
    spec.bidirectional = 1;
    spec.hidden = 9;
    spec.tokens = 1;
    spec.input = SYMBOLS;
    spec.embed = 6;
    spec.output = SYMBOLS;
    spec.loss = "xent";
    spec.dropout = 0.25f;
    CHECK(unroll_model_new(&spec, 5, &model) == UNROLL_OK, "%s", unroll_last_error());
    return model;
}

static struct plan_config train_config(int queues, int chunks)
{
    struct plan_config c = plan_config_default();
    c.mode = MODE_TRAIN;
    c.T = STEPS;
    c.B = ROWS;
    c.queues = queues;
    c.chunks = chunks;
    c.traits.operands = &cpu_operands;
    c.lengths = c.resets = true;
    MUST(optimizer_find("adam", &c.optimizer));
    c.optimizer_states = optimizer_at(c.optimizer)->states;
    return c;
}

struct run {
    struct plan *plan;
    struct store *store;
    struct executable *executable;
};

static void close_run(struct run *r)
{
    executable_free(r->executable);
    store_free(r->store);
    plan_free(r->plan);
    memset(r, 0, sizeof *r);
}

static unroll_status open_run(struct run *r, const struct unroll_model *model, const struct plan_config *config,
                              const struct executable_config *executable)
{
    memset(r, 0, sizeof *r);
    TRY(plan_new(model, config, &r->plan));
    TRY(store_new(r->plan, &r->store));
    TRY(executable_new(r->plan, r->store, executable, &r->executable));
    CHECK(weights_push(device_find("cpu", NULL), r->executable, r->plan, model->values) == UNROLL_OK, "%s",
          unroll_last_error());
    return executable_run(r->executable, PHASE_PACK);
}

static uint32_t random_bits(uint32_t i)
{
    uint32_t key[2] = {3, 4}, counter[4] = {i, 0, 0, 0}, bits[4];
    philox(key, counter, bits);
    return bits[0];
}

static void fill_inputs(struct run *r)
{
    int32_t *tokens = executable_buffer(r->executable, "tokens"),
            *targets = executable_buffer(r->executable, "targets");
    int32_t *lengths = executable_buffer(r->executable, "lengths");
    uint8_t *reset = executable_buffer(r->executable, "reset");
    double *rates = executable_buffer(r->executable, "rates");
    for (uint32_t i = 0; i < STEPS * ROWS; i++) {
        tokens[i] = (int32_t)(random_bits(i) % SYMBOLS);
        targets[i] = (int32_t)(random_bits(i + 1000) % SYMBOLS);
        reset[i] = random_bits(i + 2000) % 5 == 0;
    }
    for (int32_t b = 0; b < ROWS; b++) lengths[b] = STEPS - 2 * b;
    const struct optimizer *o = optimizer_at(r->plan->config.optimizer);
    const unroll_hyperparameters standard = unroll_hyperparameters_default(o->name);
    o->make_numbers(o->learning_rate, 1, standard.hyperparameter, rates + RATE_NUMBERS);
}

static unroll_status train(struct run *r)
{
    static const enum phase phases[] = {PHASE_FORWARD, PHASE_BACKWARD, PHASE_SUM, PHASE_UPDATE};
    fill_inputs(r);
    for (int i = 0; i < UPDATES; i++) {
        ((double *)executable_buffer(r->executable, "rates"))[RATE_STEP]++;
        for (size_t phase = 0; phase < sizeof phases / sizeof *phases; phase++)
            TRY(executable_run(r->executable, phases[phase]));
    }
    return UNROLL_OK;
}

/* ---- the same bits --------------------------------------------------------------------- */

/* Returns the weights after some updates, as floats, or NULL on failure. */
static float *trained(const struct unroll_model *model, int threads, int queues, int chunks, bool chooses)
{
    struct plan_config config = train_config(queues, chunks);
    struct executable_config executable = {
        .isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = threads, .chooses = chooses};
    struct run r;
    float *values = allocate_zeroed(model->count, sizeof *values);
    unroll_status status = open_run(&r, model, &config, &executable);
    for (int phase = 0; status == UNROLL_OK && phase < PHASE_N; phase++)
        r.executable->adaptive[phase].small = false; /* all phases are small; measure both variants anyway */
    uint64_t before = memory_allocations();
    if (status == UNROLL_OK)
        status = train(&r);
    CHECK(status == UNROLL_OK, "%d threads, %d queues, %d chunks: %s", threads, queues, chunks, unroll_last_error());
    CHECK(memory_allocations() == before, "%llu allocations in training",
          (unsigned long long)(memory_allocations() - before));
    if (status == UNROLL_OK)
        CHECK(weights_pull(device_find("cpu", NULL), r.executable, r.plan, values) == UNROLL_OK, "%s",
              unroll_last_error());
    close_run(&r);
    return values;
}

static void check_bits(const struct unroll_model *model)
{
    static const struct {
        int threads, queues, chunks;
    } runs[] = {
        {2, 1, 1}, {3, 1, 2}, {1, 3, 4}, {2, 2, 4}, {3, 2, 2}, {4, 4, 8}, {5, 3, 8}, {7, 8, 3},
    };
    float *expected = trained(model, 1, 1, 1, false);
    double moved = 0;
    for (size_t i = 0; i < model->count; i++) moved = fmax(moved, fabs((double)(expected[i] - model->values[i])));
    CHECK(moved > 1e-4 && moved < 1, "training moved a weight by %g", moved);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        float *made = trained(model, runs[i].threads, runs[i].queues, runs[i].chunks, i % 2);
        CHECK(!memcmp(made, expected, model->count * sizeof *made), "%d threads, %d queues, %d chunks: other bits",
              runs[i].threads, runs[i].queues, runs[i].chunks);
        release(made);
    }
    release(expected);
}

/* ---- alone or together ------------------------------------------------------------------ */

/* Returns how many of `runs` runs used all threads, for given nanoseconds of a run on one thread and on all. */
static int runs_together(struct adaptive *adaptive, int runs, double alone, double together)
{
    int count = 0;
    for (int i = 0; i < runs; i++) {
        bool all = adaptive_together(adaptive);
        count += all;
        adaptive_ran(adaptive, all ? together : alone, 1000);
    }
    return count;
}

static void check_adaptive(const struct unroll_model *model)
{
    struct plan_config config = train_config(1, 1);
    struct plan *plan;
    struct adaptive adaptive;
    if (!CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    adaptive_init(&adaptive, plan, PHASE_SUM);
    CHECK(runs_together(&adaptive, 1000, 9000, 1) == 0, "a part too small to look at was done together");
    adaptive.small = false;
    int slow = runs_together(&adaptive, 10000, 1e5, 1e6), fast = runs_together(&adaptive, 10000, 1e5, 6e4);
    CHECK(slow > 0 && slow < 60, "%d of 10000 runs together where that is ten times slower", slow);
    CHECK(fast > 9000, "%d of 10000 runs together where that is faster", fast);
    int busy = runs_together(&adaptive, 10000, 1e5, 1e6), equal = runs_together(&adaptive, 10000, 1e5, 1e5);
    CHECK(busy < 60, "%d of 10000 runs together after that became slower", busy);
    CHECK(equal < 600, "%d of 10000 runs together where nothing is won", equal);
    adaptive_init(&adaptive, plan, PHASE_FORWARD);
    adaptive.small = false;
    runs_together(&adaptive, 2 * ADAPTIVE_RUNS, 1e5, 3e5);
    int mistaken = runs_together(&adaptive, 1000, 1e5, 6e4);
    CHECK(mistaken > 900, "%d of 1000 runs together after the first look was disturbed", mistaken);
    plan_free(plan);
}

/* ---- the count of work ----------------------------------------------------------------- */

/* With rows of full length, the kernels count what the plan states, operation by operation. */
static void check_work(const struct unroll_model *model)
{
    for (int threads = 1; threads <= 3; threads++) {
        struct plan_config config = train_config(2, 2);
        struct executable_config executable = {.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = threads};
        struct run r;
        config.lengths = config.resets = false;
        if (!CHECK(open_run(&r, model, &config, &executable) == UNROLL_OK, "%s", unroll_last_error()))
            return;
        for (int phase = 0; phase < PHASE_N; phase++) {
            double flops = 0, bytes = 0;
            for (int i = r.plan->phase[phase].first; i < r.plan->phase[phase].end; i++) {
                flops += r.plan->op[i].flops;
                bytes += r.plan->op[i].bytes;
            }
            CHECK(executable_run(r.executable, (enum phase)phase) == UNROLL_OK, "%s", unroll_last_error());
            struct work work = executable_work(r.executable);
            CHECK(work.flops == flops && work.bytes == bytes,
                  "part %d on %d threads: %.0f flops, %.0f bytes counted, %.0f and %.0f planned", phase, threads,
                  work.flops, work.bytes, flops, bytes);
        }
        close_run(&r);
    }
}

/* ---- what fails ------------------------------------------------------------------------ */

static atomic_int calls_until_failure;

/* Fails on one thread of a team, not always the first. */
static unroll_status failing_kernel(const struct call *call, int me, int team, struct work *work)
{
    if (me == team - 1 && atomic_fetch_sub(&calls_until_failure, 1) == 0)
        return fail(UNROLL_DIVERGED, "made to fail");
    return cpu_isa_find(ISA_SCALAR, DTYPE_F32)->kernel[call->kind](call, me, team, work);
}

/* The error of a kernel on any thread is returned; afterwards the executable still works. */
static void check_failing_kernel(const struct unroll_model *model, int threads, int queues)
{
    struct cpu_isa isa = *cpu_isa_find(ISA_SCALAR, DTYPE_F32);
    struct plan_config config = train_config(queues, 4);
    struct executable_config executable = {.isa = &isa, .threads = threads};
    struct run r;
    isa.kernel[OP_RNN] = failing_kernel;
    if (!CHECK(open_run(&r, model, &config, &executable) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    fill_inputs(&r);
    for (int n = 0; n < 6; n++) {
        atomic_store(&calls_until_failure, n);
        unroll_status status = executable_run(r.executable, PHASE_FORWARD);
        CHECK(status == UNROLL_DIVERGED && !strcmp(unroll_last_error(), "made to fail"),
              "%d threads, %d queues: status %d, '%s'", threads, queues, (int)status, unroll_last_error());
    }
    atomic_store(&calls_until_failure, 1 << 30);
    CHECK(train(&r) == UNROLL_OK, "after failures: %s", unroll_last_error());
    close_run(&r);
}

/* Each allocation fails in turn: a message, and no leaks. */
static void check_memory(const struct unroll_model *model)
{
    struct plan_config config = train_config(2, 2);
    struct executable_config executable = {.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = 3};
    struct plan *plan;
    if (!CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    uint64_t live = memory_live();
    unroll_status status = UNROLL_RESOURCE;
    int failures = 0;
    for (; status == UNROLL_RESOURCE && failures < 100; failures++) {
        struct run r = {.plan = NULL};
        memory_fail_after(failures);
        status = store_new(plan, &r.store);
        if (status == UNROLL_OK)
            status = executable_new(plan, r.store, &executable, &r.executable);
        memory_fail_after(-1);
        close_run(&r);
        CHECK(memory_live() == live, "failure of allocation %d leaks", failures);
    }
    CHECK(status == UNROLL_OK && failures > 5, "status %d after %d failures", (int)status, failures);
    plan_free(plan);
}

static void expect(unroll_status status, unroll_status expected, const char *what)
{
    CHECK(status == expected, "%s: status %d, not %d", what, (int)status, (int)expected);
}

/* Two ranks, but only this one is running: it is refused, or its first receive times out. */
static void check_ranks(const struct unroll_model *model)
{
    struct plan_config config = train_config(2, 2);
    struct executable_config executable = {.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = 2};
    struct unroll_comm *comm[2];
    struct run r;
    config.mesh[M_HIDDEN] = 2;
    expect(open_run(&r, model, &config, &executable), UNROLL_USAGE, "two ranks without communication");
    close_run(&r);
    if (!CHECK(comm_threads_new(2, 0.05, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    executable.comm = comm[1];
    expect(open_run(&r, model, &config, &executable), UNROLL_USAGE, "the plan of another rank");
    close_run(&r);
    executable.comm = comm[0];
    expect(open_run(&r, model, &config, &executable), UNROLL_OK, "rank 0 of 2");
    if (r.executable) {
        fill_inputs(&r);
        expect(executable_run(r.executable, PHASE_FORWARD), UNROLL_COMMUNICATION, "a rank whose peer is missing");
    }
    close_run(&r);
    comm_threads_free(comm, 2);
}

/* Plans of one model share its weights, in any order; others are refused. */
static void check_store(const struct unroll_model *model, const struct unroll_model *other)
{
    struct executable_config config = {.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = 1};
    struct plan_config train = train_config(1, 1), eval = train, foreign = train;
    struct plan *plan[3] = {NULL};
    struct executable *executable[3] = {NULL};
    struct store *store = NULL;
    eval.mode = MODE_EVAL;
    expect(plan_new(model, &eval, &plan[0]), UNROLL_OK, "an evaluation plan");
    expect(plan_new(model, &train, &plan[1]), UNROLL_OK, "a training plan");
    expect(plan_new(other, &foreign, &plan[2]), UNROLL_OK, "a plan of another model");
    expect(store_new(plan[0], &store), UNROLL_OK, "a store");
    expect(executable_new(plan[0], store, &config, &executable[0]), UNROLL_OK, "evaluation first");
    expect(executable_new(plan[1], store, &config, &executable[1]), UNROLL_OK, "then training");
    expect(executable_new(plan[2], store, &config, &executable[2]), UNROLL_USAGE, "another model's weights");
    const char *name = model->parameter[0].name;
    CHECK(executable_buffer(executable[0], name) == executable_buffer(executable[1], name), "'%s' is not shared", name);
    CHECK(!executable_buffer(executable[0], "no such buffer"), "a buffer that is not in the plan");
    config.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F64);
    expect(executable_new(plan[0], store, &config, &executable[2]), UNROLL_USAGE, "a float plan on double kernels");
    config.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32);
    config.threads = 0;
    expect(executable_new(plan[0], store, &config, &executable[2]), UNROLL_USAGE, "no threads");
    for (int i = 0; i < 3; i++) {
        executable_free(executable[i]);
        plan_free(plan[i]);
    }
    store_free(store);
}

/* Plans with bf16x3 splits require kernels that multiply them. */
static void check_bf16x3(const struct unroll_model *model)
{
    struct executable_config config = {.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = 1};
    struct plan_config c = train_config(1, 1);
    struct plan *plan = NULL;
    struct store *store = NULL;
    struct executable *executable = NULL;
    c.B = 16;
    c.traits.operands = &cpu_operands;
    c.traits.splits = true;
    expect(plan_new(model, &c, &plan), UNROLL_OK, "a plan of bf16x3 splits");
    expect(store_new(plan, &store), UNROLL_OK, "a store");
    expect(executable_new(plan, store, &config, &executable), UNROLL_USAGE, "bf16x3 splits on scalar kernels");
    executable_free(executable);
    store_free(store);
    plan_free(plan);
}

/* Returns how many bytes of an array have been touched; a page of 2 MB counts as a whole. */
static size_t touched(const void *memory, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = bytes / page;
    unsigned char *is_there = allocate(pages);
    size_t count = 0;
    union {
        const void *read;
        void *any;
    } at = {memory};
    if (CHECK(is_there && mincore(at.any, pages * page, is_there) == 0, "mincore failed"))
        for (size_t i = 0; i < pages; i++) count += is_there[i] & 1;
    release(is_there);
    return count * page;
}

/* Large arrays are touched first by their users, not by the thread that allocates them; weights by all threads. */
static void check_first_touch(void)
{
    enum { LARGE = 2 << 20 };
    unroll_model_config spec = unroll_model_config_default();
    struct unroll_model *model;
    struct run r = {NULL};
    spec.input = spec.hidden = 512;
    spec.loss = "mse";
    spec.output = 4;
    if (!MUST(unroll_model_new(&spec, 5, &model)))
        return;
    for (int threads = 1; threads <= 2; threads++) {
        struct plan_config config = train_config(1, 1);
        struct executable_config executable = {.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = threads};
        size_t large = 0;
        config.B = 64;
        config.lengths = config.resets = false;
        check_next_case();
        if (!MUST(plan_new(model, &config, &r.plan)) || !MUST(store_new(r.plan, &r.store)) ||
            !MUST(executable_new(r.plan, r.store, &executable, &r.executable)))
            break;
        for (int i = 0; i < SEG_N; i++) {
            const size_t bytes = r.plan->segment_bytes[i];
            const char *base = r.executable->base[i];
            if (bytes < LARGE)
                continue;
            const size_t there = touched(base, bytes), wanted = i == SEG_PARAM && threads > 1 ? bytes - LARGE : 0;
            CHECK(wanted ? there >= wanted : there == 0, "%d threads, %s: %zu of %zu bytes are touched", threads,
                  segment_name((enum segment)i), there, bytes);
            size_t zeros = 0;
            while (zeros < bytes && base[zeros] == 0) zeros++;
            CHECK(zeros == bytes, "%s is not zero at %zu", segment_name((enum segment)i), zeros);
            large++;
        }
        CHECK(large >= 3, "%zu large segments", large);
        close_run(&r);
    }
    close_run(&r);
    unroll_model_free(model);
}

int main(void)
{
    struct unroll_model *model = new_model(), *other = new_model();
    if (!model || !other)
        return check_finish("test_executable");
    check_bits(model);
    check_adaptive(model);
    check_work(model);
    for (int threads = 1; threads <= 4; threads++)
        for (int queues = 1; queues <= 3; queues++) check_failing_kernel(model, threads, queues);
    check_memory(model);
    check_ranks(model);
    check_store(model, other);
    check_bf16x3(model);
    check_first_touch();
    unroll_model_free(model);
    unroll_model_free(other);
    return check_finish("test_executable");
}
