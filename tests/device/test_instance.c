/* The executor: one training run has the same bits for all threads, lanes and chunks; the work that kernels
 * count is the plan's; running allocates nothing; what fails is reported and leaves nothing behind.
 * Not a test of gradients: that is in tests/plan and test_rnn.c. */
#include "device/cpu/operands.h"
#include "base/memory.h"
#include "base/philox.h"
#include "device/cpu/instance_parts.h"
#include "optim/optim.h"
#include "session/weights.h"
#include "tests/check.h"
#include <math.h>
#include <string.h>

enum { STEPS = 8, ROWS = 5, SYMBOLS = 7, UPDATES = 7 };

/* Two layers in both directions, so that lanes have something to do at once. */
static struct unroll_model *new_model(void)
{
    unroll_spec spec = unroll_spec_default();
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

static struct plan_config train_config(int lanes, int chunks)
{
    struct plan_config c = plan_config_default();
    c.mode = MODE_TRAIN;
    c.T = STEPS;
    c.B = ROWS;
    c.lanes = lanes;
    c.chunks = chunks;
    c.traits.operands = &cpu_operands;
    c.lengths = c.resets = true;
    c.optimizer = optimizer_find("adam");
    c.optimizer_states = optimizer_at(c.optimizer)->states;
    return c;
}

struct run {
    struct plan *plan;
    struct store *store;
    struct instance *instance;
};

static void close_run(struct run *r)
{
    instance_free(r->instance);
    store_free(r->store);
    plan_free(r->plan);
    memset(r, 0, sizeof *r);
}

static unroll_status open_run(struct run *r, const struct unroll_model *model,
                              const struct plan_config *config,
                              const struct instance_config *instance)
{
    memset(r, 0, sizeof *r);
    TRY(plan_new(model, config, &r->plan));
    TRY(store_new(r->plan, &r->store));
    TRY(instance_new(r->plan, r->store, instance, &r->instance));
    CHECK(weights_push(device_find("cpu", NULL), r->instance, r->plan, model->values) == UNROLL_OK, "%s", unroll_last_error());
    return instance_run(r->instance, PART_PACK);
}

static uint32_t random_bits(uint32_t i)
{
    uint32_t key[2] = { 3, 4 }, counter[4] = { i, 0, 0, 0 }, bits[4];
    philox(key, counter, bits);
    return bits[0];
}

static void fill_inputs(struct run *r)
{
    int32_t *tokens = instance_buffer(r->instance, "tokens"), *targets = instance_buffer(r->instance,
                                                                                         "targets");
    int32_t *lengths = instance_buffer(r->instance, "lengths");
    uint8_t *reset = instance_buffer(r->instance, "reset");
    double *rates = instance_buffer(r->instance, "rates");
    for (uint32_t i = 0; i < STEPS * ROWS; i++) {
        tokens[i] = (int32_t)(random_bits(i) % SYMBOLS);
        targets[i] = (int32_t)(random_bits(i + 1000) % SYMBOLS);
        reset[i] = random_bits(i + 2000) % 5 == 0;
    }
    for (int32_t b = 0; b < ROWS; b++)
        lengths[b] = STEPS - 2 * b;
    const struct optimizer *o = optimizer_at(r->plan->config.optimizer);
    const unroll_rates standard = unroll_rates_default(o->name);
    o->make_numbers(o->learning_rate, 1, standard.hyperparameter, rates + RATE_NUMBERS);
}

static unroll_status train(struct run *r)
{
    static const enum part parts[] = { PART_FORWARD, PART_BACKWARD, PART_SUM, PART_UPDATE };
    fill_inputs(r);
    for (int i = 0; i < UPDATES; i++) {
        ((double *)instance_buffer(r->instance, "rates"))[RATE_STEP]++;
        for (size_t part = 0; part < sizeof parts / sizeof *parts; part++)
            TRY(instance_run(r->instance, parts[part]));
    }
    return UNROLL_OK;
}

/* ---- the same bits --------------------------------------------------------------------- */

/* The weights after some updates, as floats; NULL: something failed. */
static float *trained(const struct unroll_model *model, int threads, int lanes, int chunks, bool chooses)
{
    struct plan_config config = train_config(lanes, chunks);
    struct instance_config instance = { .isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = threads,
                                        .chooses = chooses };
    struct run r;
    float *values = allocate_zeroed(model->count, sizeof *values);
    unroll_status status = open_run(&r, model, &config, &instance);
    for (int part = 0; status == UNROLL_OK && part < PART_N; part++)
        r.instance->pace[part].small = false;       /* all of them are: look at both ways all the same */
    uint64_t before = memory_allocations();
    if (status == UNROLL_OK)
        status = train(&r);
    CHECK(status == UNROLL_OK, "%d threads, %d lanes, %d chunks: %s", threads, lanes, chunks,
          unroll_last_error());
    CHECK(memory_allocations() == before, "%llu allocations in training",
          (unsigned long long)(memory_allocations() - before));
    if (status == UNROLL_OK)
        CHECK(weights_pull(device_find("cpu", NULL), r.instance, r.plan, values) == UNROLL_OK, "%s", unroll_last_error());
    close_run(&r);
    return values;
}

static void check_bits(const struct unroll_model *model)
{
    static const struct { int threads, lanes, chunks; } runs[] = {
        { 2, 1, 1 }, { 3, 1, 2 }, { 1, 3, 4 }, { 2, 2, 4 }, { 3, 2, 2 }, { 4, 4, 8 }, { 5, 3, 8 }, { 7, 8,
                                                                                                    3 },
    };
    float *expected = trained(model, 1, 1, 1, false);
    double moved = 0;
    for (size_t i = 0; i < model->count; i++)
        moved = fmax(moved, fabs((double)(expected[i] - model->values[i])));
    CHECK(moved > 1e-4 && moved < 1, "training moved a weight by %g", moved);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        float *made = trained(model, runs[i].threads, runs[i].lanes, runs[i].chunks, i % 2);
        CHECK(!memcmp(made, expected, model->count * sizeof *made),
              "%d threads, %d lanes, %d chunks: other bits",
              runs[i].threads, runs[i].lanes, runs[i].chunks);
        release(made);
    }
    release(expected);
}

/* ---- alone or together ------------------------------------------------------------------ */

/* How many of so many runs were done together, where a run takes so many nanoseconds alone and together. */
static int runs_together(struct pace *pace, int runs, double alone, double together)
{
    int count = 0;
    for (int i = 0; i < runs; i++) {
        bool all = pace_together(pace);
        count += all;
        pace_ran(pace, all ? together : alone, 1000);
    }
    return count;
}

static void check_pace(const struct unroll_model *model)
{
    struct plan_config config = train_config(1, 1);
    struct plan *plan;
    struct pace pace;
    if (!CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    pace_init(&pace, plan, PART_SUM);
    CHECK(runs_together(&pace, 1000, 9000, 1) == 0, "a part too small to look at was done together");
    pace.small = false;
    int slow = runs_together(&pace, 10000, 1e5, 1e6), fast = runs_together(&pace, 10000, 1e5, 6e4);
    CHECK(slow > 0 && slow < 60, "%d of 10000 runs together where that is ten times slower", slow);
    CHECK(fast > 9000, "%d of 10000 runs together where that is faster", fast);
    int busy = runs_together(&pace, 10000, 1e5, 1e6), equal = runs_together(&pace, 10000, 1e5, 1e5);
    CHECK(busy < 60, "%d of 10000 runs together after that became slower", busy);
    CHECK(equal < 600, "%d of 10000 runs together where nothing is won", equal);
    pace_init(&pace, plan, PART_FORWARD);
    pace.small = false;
    runs_together(&pace, 2 * PACE_RUNS, 1e5, 3e5);
    int mistaken = runs_together(&pace, 1000, 1e5, 6e4);
    CHECK(mistaken > 900, "%d of 1000 runs together after the first look was disturbed", mistaken);
    plan_free(plan);
}

/* ---- the count of work ----------------------------------------------------------------- */

/* With rows of full length the kernels count what the plan promised, operation by operation. */
static void check_work(const struct unroll_model *model)
{
    for (int threads = 1; threads <= 3; threads++) {
        struct plan_config config = train_config(2, 2);
        struct instance_config instance = { .isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = threads };
        struct run r;
        config.lengths = config.resets = false;
        if (!CHECK(open_run(&r, model, &config, &instance) == UNROLL_OK, "%s", unroll_last_error()))
            return;
        for (int part = 0; part < PART_N; part++) {
            double flops = 0, bytes = 0;
            for (int i = r.plan->part[part].first; i < r.plan->part[part].end; i++) {
                flops += r.plan->op[i].flops;
                bytes += r.plan->op[i].bytes;
            }
            CHECK(instance_run(r.instance, (enum part)part) == UNROLL_OK, "%s", unroll_last_error());
            struct work work = instance_work(r.instance);
            CHECK(work.flops == flops && work.bytes == bytes,
                  "part %d on %d threads: %.0f flops, %.0f bytes counted, %.0f and %.0f planned", part,
                  threads, work.flops, work.bytes, flops, bytes);
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
    return cpu_isa_find(ISA_SCALAR, DTYPE_F32)->kernel[call->op->kind](call, me, team, work);
}

/* The error of a kernel on any thread reaches the caller; afterwards the instance works. */
static void check_failing_kernel(const struct unroll_model *model, int threads, int lanes)
{
    struct cpu_isa isa = *cpu_isa_find(ISA_SCALAR, DTYPE_F32);
    struct plan_config config = train_config(lanes, 4);
    struct instance_config instance = { .isa = &isa, .threads = threads };
    struct run r;
    isa.kernel[OP_RNN] = failing_kernel;
    if (!CHECK(open_run(&r, model, &config, &instance) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    fill_inputs(&r);
    for (int n = 0; n < 6; n++) {
        atomic_store(&calls_until_failure, n);
        unroll_status status = instance_run(r.instance, PART_FORWARD);
        CHECK(status == UNROLL_DIVERGED && !strcmp(unroll_last_error(), "made to fail"),
              "%d threads, %d lanes: status %d, '%s'", threads, lanes, (int)status, unroll_last_error());
    }
    atomic_store(&calls_until_failure, 1 << 30);
    CHECK(train(&r) == UNROLL_OK, "after failures: %s", unroll_last_error());
    close_run(&r);
}

/* Each allocation in turn fails: a sentence, and nothing left behind. */
static void check_memory(const struct unroll_model *model)
{
    struct plan_config config = train_config(2, 2);
    struct instance_config instance = { .isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = 3 };
    struct plan *plan;
    if (!CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    uint64_t live = memory_live();
    unroll_status status = UNROLL_RESOURCE;
    int failures = 0;
    for (; status == UNROLL_RESOURCE && failures < 100; failures++) {
        struct run r = { .plan = NULL };
        memory_fail_after(failures);
        status = store_new(plan, &r.store);
        if (status == UNROLL_OK)
            status = instance_new(plan, r.store, &instance, &r.instance);
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

/* Two ranks, but this one is alone: it is refused, or its first receive runs into the deadline. */
static void check_ranks(const struct unroll_model *model)
{
    struct plan_config config = train_config(2, 2);
    struct instance_config instance = { .isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = 2 };
    struct unroll_comm *comm[2];
    struct run r;
    config.mesh[M_HIDDEN] = 2;
    expect(open_run(&r, model, &config, &instance), UNROLL_USAGE, "two ranks without communication");
    close_run(&r);
    if (!CHECK(comm_threads_new(2, 0.05, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    instance.comm = comm[1];
    expect(open_run(&r, model, &config, &instance), UNROLL_USAGE, "the plan of another rank");
    close_run(&r);
    instance.comm = comm[0];
    expect(open_run(&r, model, &config, &instance), UNROLL_OK, "rank 0 of 2");
    if (r.instance) {
        fill_inputs(&r);
        expect(instance_run(r.instance, PART_FORWARD), UNROLL_COMMUNICATION, "a rank whose peer is missing");
    }
    close_run(&r);
    comm_threads_free(comm, 2);
}

/* Plans of one model share its weights, in any order; others are refused. */
static void check_store(const struct unroll_model *model, const struct unroll_model *other)
{
    struct instance_config config = { .isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = 1 };
    struct plan_config train = train_config(1, 1), eval = train, foreign = train;
    struct plan *plan[3] = { NULL };
    struct instance *instance[3] = { NULL };
    struct store *store = NULL;
    eval.mode = MODE_EVAL;
    expect(plan_new(model, &eval, &plan[0]), UNROLL_OK, "an evaluation plan");
    expect(plan_new(model, &train, &plan[1]), UNROLL_OK, "a training plan");
    expect(plan_new(other, &foreign, &plan[2]), UNROLL_OK, "a plan of another model");
    expect(store_new(plan[0], &store), UNROLL_OK, "a store");
    expect(instance_new(plan[0], store, &config, &instance[0]), UNROLL_OK, "evaluation first");
    expect(instance_new(plan[1], store, &config, &instance[1]), UNROLL_OK, "then training");
    expect(instance_new(plan[2], store, &config, &instance[2]), UNROLL_USAGE, "another model's weights");
    const char *name = model->parameter[0].name;
    CHECK(instance_buffer(instance[0], name) == instance_buffer(instance[1], name), "'%s' is not shared",
          name);
    CHECK(!instance_buffer(instance[0], "no such buffer"), "a buffer that is not in the plan");
    config.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F64);
    expect(instance_new(plan[0], store, &config, &instance[2]), UNROLL_USAGE,
           "a float plan on double kernels");
    config.isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32);
    config.threads = 0;
    expect(instance_new(plan[0], store, &config, &instance[2]), UNROLL_USAGE, "no threads");
    for (int i = 0; i < 3; i++) {
        instance_free(instance[i]);
        plan_free(plan[i]);
    }
    store_free(store);
}

/* Plans of thirds are for kernels that multiply them. */
static void check_thirds(const struct unroll_model *model)
{
    struct instance_config config = { .isa = cpu_isa_find(ISA_SCALAR, DTYPE_F32), .threads = 1 };
    struct plan_config c = train_config(1, 1);
    struct plan *plan = NULL;
    struct store *store = NULL;
    struct instance *instance = NULL;
    c.B = 16;
    c.traits.operands = &cpu_operands;
    c.traits.splits = true;
    expect(plan_new(model, &c, &plan), UNROLL_OK, "a plan of thirds");
    expect(store_new(plan, &store), UNROLL_OK, "a store");
    expect(instance_new(plan, store, &config, &instance), UNROLL_USAGE, "thirds on scalar kernels");
    instance_free(instance);
    store_free(store);
    plan_free(plan);
}

int main(void)
{
    struct unroll_model *model = new_model(), *other = new_model();
    if (!model || !other)
        return check_finish("test_instance");
    check_bits(model);
    check_pace(model);
    check_work(model);
    for (int threads = 1; threads <= 4; threads++)
        for (int lanes = 1; lanes <= 3; lanes++)
            check_failing_kernel(model, threads, lanes);
    check_memory(model);
    check_ranks(model);
    check_store(model, other);
    check_thirds(model);
    unroll_model_free(model);
    unroll_model_free(other);
    return check_finish("test_instance");
}
