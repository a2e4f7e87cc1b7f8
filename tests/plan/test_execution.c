/* The executor runs exactly the plan: it does the work that the plan predicts; every operation is needed; every order
 * allowed by queues and waits gives the same bits; memory is as predicted, and steps allocate none. What plans compute
 * is tested in test_mesh.c. "quick", for sanitizers: fewer orders and models, and no deliberately broken plans. */
/* test: kinds=plain,long-memory; with=plan/mesh; args-memory=quick; seconds=30 */
#include "device/cpu/executor/executable_parts.h"
#include "device/cpu/executor/operands.h"
#include "check.h"
#include "base/memory.h"
#include "nn/optim/optim.h"
#include "plan/allocations.h"
#include "plan/mesh.h"
#include "unroll_train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool quick;

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* ---- models and plans ------------------------------------------------------------------ */

static unroll_model_config spec_of(int layers, int hidden, int bidirectional, int tied)
{
    unroll_model_config s = unroll_model_config_default();
    s.layers = layers;
    s.hidden = hidden;
    s.bidirectional = bidirectional;
    s.tokens = 1;
    s.input = s.output = 11;
    s.embed = tied ? hidden * (1 + bidirectional) : 6;
    s.tied = tied;
    s.loss = "xent";
    s.dropout = 0.25f;
    return s;
}

/* Builds a model with any declaration in the cell table, including those without a public name. */
static unroll_model *build(unroll_model_config s, const struct cell_declaration *cell)
{
    unroll_model *m = NULL;
    s.cell = cell->name;
    s.clip = cell->options ? 0.5f : 0;
    CHECK(model_build(&s, cell, 1, &m) == UNROLL_OK, "%s: %s", cell->name, unroll_last_error());
    return must(m);
}

static unroll_model *build_named(unroll_model_config s, const char *name)
{
    return build(s, cell_find(cells_scalar, name)->declaration);
}

static struct plan_config config_of(uint32_t T, uint32_t B, int chunks, enum dtype real)
{
    struct plan_config c = plan_config_default();
    c.real = real;
    c.T = T;
    c.B = B;
    c.chunks = chunks;
    c.traits.operands = &cpu_operands;
    c.traits.narrow = 6; /* width of the first layer's input if nothing is tied */
    MUST(optimizer_find("adam", &c.optimizer));
    c.optimizer_states = 2;
    return c;
}

/* ---- the state of one rank ------------------------------------------------------------- */

typedef void buffer_visitor(void *at, size_t bytes, void *arg);

static void visit_segment(const struct mesh_run *run, enum segment segment, buffer_visitor *visit, void *arg)
{
    const struct plan *p = run->plan[0];
    for (int i = 0; i < p->buffers; i++) {
        const struct buffer *b = &p->buffer[i];
        void *at = b->segment == segment ? executable_buffer(run->executable[0], b->name) : NULL;
        if (at)
            visit(at, b->bytes, arg);
    }
}

static void set_bytes(void *at, size_t bytes, void *byte) { memset(at, *(int *)byte, bytes); }

static void set_segment(const struct mesh_run *run, enum segment segment, int byte)
{
    visit_segment(run, segment, set_bytes, &byte);
}

/* All ones is a NaN in both precisions. */
static void poison(const struct mesh_run *run)
{
    set_segment(run, SEG_STEP, 0xff);
    set_segment(run, SEG_SCRATCH, 0xff);
}

static void clear_loss(const struct mesh_run *run)
{
    *(double *)executable_buffer(run->executable[0], "loss_sum") = 0;
    *(double *)executable_buffer(run->executable[0], "weight_sum") = 0;
}

/* The values of a segment, one buffer after the other. */
struct copy {
    char *bytes;
    size_t count;
};

static void append(void *at, size_t bytes, void *arg)
{
    struct copy *c = arg;
    c->bytes = must(realloc(c->bytes, c->count + bytes));
    memcpy(c->bytes + c->count, at, bytes);
    c->count += bytes;
}

static struct copy copy_segment(const struct mesh_run *run, enum segment segment)
{
    struct copy c = {NULL, 0};
    visit_segment(run, segment, append, &c);
    return c;
}

/* True if the segment still equals the copy. */
static bool same_segment(const struct mesh_run *run, enum segment segment, const struct copy *c)
{
    struct copy now = copy_segment(run, segment);
    bool same = now.count == c->count && !memcmp(now.bytes, c->bytes, c->count);
    free(now.bytes);
    return same;
}

/* ---- counts ---------------------------------------------------------------------------- */

/* Runs on zeros, because the work does not depend on the values. */
static void check_phase(struct executable *executable, const struct plan *p, enum phase phase, const char *what)
{
    static const char *const names[] = {
#define PHASE_NAME(NAME, name) #name,
        PHASES(PHASE_NAME)
#undef PHASE_NAME
    };
    struct work price = {0, 0}, done;
    for (int i = p->phase[phase].first; i < p->phase[phase].end; i++) {
        price.flops += p->op[i].flops;
        price.bytes += p->op[i].bytes;
    }
    CHECK(executable_run(executable, phase) == UNROLL_OK, "%s: %s", what, unroll_last_error());
    done = executable_work(executable);
    CHECK(done.flops == price.flops, "%s: %s did %.0f flops, the plan says %.0f", what, names[phase], done.flops,
          price.flops);
    CHECK(done.bytes == price.bytes, "%s: %s went over %.0f bytes, the plan says %.0f", what, names[phase], done.bytes,
          price.bytes);
}

static void check_counts(const struct plan *p, const struct cpu_isa *isa, int threads)
{
    struct store *store = NULL;
    struct executable *executable = NULL;
    struct executable_config config = {.isa = isa, .threads = threads};
    const struct unroll_model *m = p->model;
    char what[128];
    snprintf(what, sizeof what, "%s %s, %d layers, tied %d, B=%u, %d chunks, %d threads", isa->name,
             m->layer[0].cell->name, m->layers, m->tied, p->config.B, p->config.chunks, threads);
    bool good = store_new(p, &store) == UNROLL_OK && executable_new(p, store, &config, &executable) == UNROLL_OK;
    CHECK(good, "%s: %s", what, unroll_last_error());
    for (int phase = 0; good && phase < PHASE_N; phase++) check_phase(executable, p, (enum phase)phase, what);
    executable_free(executable);
    store_free(store);
}

/* Teams of 3 on whole sequences, of 2 on chunks: most of the time is spent waiting here. */
static void check_counts_everywhere(const unroll_model *m, struct plan_config c)
{
    static const enum dtype reals[] = {DTYPE_F32, DTYPE_F64};
    for (int way = 0; way < 6; way++) {
        struct plan *p = NULL;
        c.real = reals[way & 1];
        c.chunks = way / 2 == 1 ? 3 : 1;
        c.checkpoint = way / 2 == 2 ? 2 : 0;
        if (!CHECK(plan_new(m, &c, &p) == UNROLL_OK, "%s: %s", m->layer[0].cell->name, unroll_last_error()))
            return;
        for (int isa = 0; isa < ISA_COUNT; isa++) {
            const struct cpu_isa *found = cpu_isa_find((enum isa)isa, c.real);
            if (found) {
                check_counts(p, found, 1);
                check_counts(p, found, p->config.chunks == 1 ? 3 : 2);
            }
        }
        plan_free(p);
    }
}

static void check_counts_of_cells(void)
{
    for (int cell = 0; cells_scalar[cell]; cell++)
        for (int way = 0; way < 8; way += quick ? 3 : 1) {
            unroll_model_config s = spec_of(1 + (way & 1), 5, way >> 1 & 1, way >> 2);
            unroll_model *m = build(s, cells_scalar[cell]->declaration);
            struct plan_config c = config_of(4, way & 1 ? 3 : 2, 1, DTYPE_F32); /* 2 rows for 3 threads */
            c.shards = way & 1 ? 2 : 1;
            check_counts_everywhere(m, c);
            unroll_model_free(m);
        }
    for (int way = 0; way < 4; way++) {
        static const char *const pools[] = {"last", "mean", "max", "mean+max"};
        unroll_model_config s = spec_of(1, way < 2 ? 5 : 70, way & 1, 0);
        struct plan_config c = config_of(4, 9, 1, DTYPE_F32);
        s.pool = pools[way];
        c.lengths = false;
        unroll_model *m = build_named(s, "gru");
        check_counts_everywhere(m, c);
        unroll_model_free(m);
    }
    unroll_model_config s = spec_of(2, 40, 0, 0); /* wider than a panel, with vectors as inputs */
    s.projection = 34;
    s.tokens = s.embed = 0;
    unroll_model *m = build_named(s, "lstm_peephole");
    check_counts_everywhere(m, config_of(4, 9, 1, DTYPE_F32));
    unroll_model_free(m);
}

/* ---- deletion -------------------------------------------------------------------------- */

static int deleted; /* operation that plan_without_one omits; -1: none */

static unroll_status plan_without_one(const unroll_model *m, const struct plan_config *c, struct plan **plan)
{
    TRY(plan_new(m, c, plan));
    struct plan *p = *plan;
    if (deleted < 0)
        return UNROLL_OK;
    p->ops--;
    memmove(&p->op[deleted], &p->op[deleted + 1], (size_t)(p->ops - deleted) * sizeof *p->op);
    for (int phase = 0; phase < PHASE_N; phase++) {
        p->phase[phase].first -= p->phase[phase].first > deleted;
        p->phase[phase].end -= p->phase[phase].end > deleted;
    }
    return UNROLL_OK;
}

/* An operation may only affect the next step (packed copies, carried states, cleared sums), so there are two.
 * Activation memory has no contents of the step before. */
static unroll_status train_two_steps(struct mesh_run *run)
{
    static const enum phase phases[] = {PHASE_FORWARD, PHASE_BACKWARD, PHASE_SUM, PHASE_UPDATE};
    double *rates = executable_buffer(run->executable[0], "rates");
    rates[RATE_CLIP] = 1e-3; /* so that every norm counts */
    for (int step = 0; step < 2; step++) {
        poison(run);
        for (int i = 0; i < 4; i++) TRY(executable_run(run->executable[0], phases[i]));
        if (step == 0)
            clear_loss(run);
    }
    return UNROLL_OK;
}

/* In double, where every contribution is large enough to be detected. */
static unroll_status train_without(int op, const unroll_model *m, const struct plan_config *c, struct mesh_run *run)
{
    const struct cpu_isa *isa = cpu_isa_find(ISA_SCALAR, DTYPE_F64);
    deleted = op;
    unroll_status status = mesh_open_with(plan_without_one, m, *c, isa, 1, run);
    return status == UNROLL_OK ? train_two_steps(run) : status;
}

static double loss_of(const struct mesh_run *run)
{
    return *(double *)executable_buffer(run->executable[0], "loss_sum");
}

static void check_deletions(unroll_model *m, const struct plan_config *c)
{
    struct mesh_run whole, run;
    struct plan *p;
    bool good = CHECK(train_without(-1, m, c, &whole) == UNROLL_OK, "%s", unroll_last_error());
    good = good && CHECK(plan_new(m, c, &p) == UNROLL_OK, "%s", unroll_last_error());
    if (!good) {
        mesh_close(&whole);
        return;
    }
    struct copy weights = copy_segment(&whole, SEG_PARAM);
    double loss = loss_of(&whole);
    for (int i = 0; i < p->ops; i++) {
        char label[96];
        op_label(p, &p->op[i], label, sizeof label);
        CHECK(train_without(i, m, c, &run) == UNROLL_OK, "%s without '%s': %s", m->layer[0].cell->name, label,
              unroll_last_error());
        CHECK(!same_segment(&run, SEG_PARAM, &weights) || loss_of(&run) != loss,
              "%s: nothing changes without operation %d, '%s'", m->layer[0].cell->name, i, label);
        mesh_close(&run);
    }
    free(weights.bytes);
    plan_free(p);
    mesh_close(&whole);
    unroll_model_free(m);
}

/* A product computed by the recurrence itself, on ragged rows in chunks, gives the same weights and loss as the product
 * of all steps. */
static void check_folded(const char *cell, enum isa isa)
{
    unroll_model *m = build_named(spec_of(2, 20, 1, 0), cell);
    const struct cpu_isa *found = cpu_isa_find(isa, DTYPE_F32);
    struct plan_config c = config_of(6, 9, 3, DTYPE_F32);
    struct mesh_run run[2];
    c.lengths = c.stateful = true;
    deleted = -1;
    for (int i = 0; found && i < 2; i++) {
        c.traits.narrow = i ? 6 : 0;
        CHECK(mesh_open_with(plan_without_one, m, c, found, 1 + i, &run[i]) == UNROLL_OK &&
                  train_two_steps(&run[i]) == UNROLL_OK,
              "%s", unroll_last_error());
    }
    if (found) {
        struct copy weights = copy_segment(&run[0], SEG_PARAM);
        CHECK(same_segment(&run[1], SEG_PARAM, &weights) && loss_of(&run[0]) == loss_of(&run[1]),
              "%s on %s: a folded product changes bits", cell, found->name);
        free(weights.bytes);
        mesh_close(&run[0]);
        mesh_close(&run[1]);
    }
    unroll_model_free(m);
}

static void check_all_deletions(void)
{
    struct plan_config c = config_of(6, 4, 3, DTYPE_F64);
    c.lengths = c.stateful = true;
    c.shards = 2;
    check_deletions(build_named(spec_of(2, 4, 0, 1), "lstm"), &c);
    c.chunks = 1;
    check_deletions(build_named(spec_of(2, 4, 1, 1), "gru_before"), &c);
    c.checkpoint = 2;
    check_deletions(build_named(spec_of(2, 4, 0, 1), "lstm"), &c);
    check_deletions(build_named(spec_of(2, 4, 1, 1), "gru_before"), &c);
    c.checkpoint = 0;
    c.shards = 1;
    unroll_model_config s = spec_of(2, 4, 1, 0);
    s.projection = 3;
    check_deletions(build_named(s, "lstm_peephole_clip"), &c);
    s = spec_of(1, 4, 1, 0);
    s.pool = "last";
    check_deletions(build_named(s, "rnn"), &c);
    c.chunks = 3;
    s.bidirectional = 0, s.pool = "mean+max";
    check_deletions(build_named(s, "rnn"), &c);
}

/* ---- random orders --------------------------------------------------------------------- */

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Returns a queue's next operation, or the end of the part. */
static int next_on(const struct plan *p, enum phase phase, int queue, int after)
{
    for (after++; after < p->phase[phase].end && p->op[after].queue != queue;) after++;
    return after;
}

static bool is_legal(const struct plan *p, int op, const int *ended)
{
    for (int queue = 0; queue < p->config.queues; queue++)
        if (ended[queue] < p->op[op].wait[queue])
            return false;
    return true;
}

/* Lists the queues that may continue now. */
static int legal_queues(const struct plan *p, enum phase phase, const int *next, const int *ended, int *queues)
{
    int n = 0;
    for (int queue = 0; queue < p->config.queues; queue++)
        if (next[queue] < p->phase[phase].end && is_legal(p, next[queue], ended))
            queues[n++] = queue;
    return n;
}

static void poison_scratch_of(const struct mesh_run *run, int op)
{
    const struct plan *p = run->plan[0];
    for (int k = 0; k < p->op[op].views; k++) {
        int b = p->op[op].view[k].buffer;
        if (b >= 0 && p->buffer[b].segment == SEG_SCRATCH)
            memset(executable_buffer(run->executable[0], p->buffer[b].name), 0xff, p->buffer[b].bytes);
    }
}

/* Runs operations one by one in a random order that respects queues and waits. The higher `stays` of 8, the longer a
 * queue runs ahead of the others. Returns false if no queue can continue. */
static bool run_scrambled(const struct mesh_run *run, enum phase phase, uint64_t *random)
{
    const struct plan *p = run->plan[0];
    int next[QUEUES_MAX], ended[QUEUES_MAX], queues[QUEUES_MAX], queue = 0, n;
    uint32_t stays = draw(random) % 8;
    for (int l = 0; l < p->config.queues; l++) {
        ended[l] = p->phase[phase].first - 1;
        next[l] = next_on(p, phase, l, ended[l]);
    }
    while ((n = legal_queues(p, phase, next, ended, queues)) > 0) {
        bool can_stay = false;
        for (int i = 0; i < n; i++) can_stay |= queues[i] == queue;
        if (!can_stay || draw(random) % 8 >= stays)
            queue = queues[draw(random) % (uint32_t)n];
        poison_scratch_of(run, next[queue]);
        if (executable_run_op(run->executable[0], next[queue]) != UNROLL_OK)
            return false;
        ended[queue] = next[queue];
        next[queue] = next_on(p, phase, queue, next[queue]);
    }
    for (int l = 0; l < p->config.queues; l++)
        if (next[l] < p->phase[phase].end)
            return false;
    return true;
}

/* Resets to the start of the last gradients. */
static void start_over(const struct mesh_run *run)
{
    poison(run);
    set_segment(run, SEG_GRAD, 0);
    set_segment(run, SEG_CARRY, 0);
    clear_loss(run);
}

static bool scramble(const struct mesh_run *run, uint64_t *random)
{
    start_over(run);
    return run_scrambled(run, PHASE_FORWARD, random) && run_scrambled(run, PHASE_BACKWARD, random) &&
           run_scrambled(run, PHASE_SUM, random);
}

static void check_orders(const struct mesh_run *run, const struct copy *gradients, const char *what)
{
    const int orders = quick ? 20 : 200;
    uint64_t random = 1;
    int stuck = 0, different = 0;
    for (int i = 0; i < orders; i++) {
        stuck += !scramble(run, &random);
        different += !same_segment(run, SEG_GRAD, gradients);
    }
    CHECK(!stuck && !different, "%s: of %d orders %d could not go on, %d gave other gradients", what, orders, stuck,
          different);
}

/* Removes a wait: if any order then gives wrong results, the check of plans must have failed. */
static void check_mutants(const struct mesh_run *run, const struct copy *gradients, const char *what)
{
    enum { ORDERS = 12 };
    struct plan *p = run->plan[0];
    uint64_t random = 2;
    int waits = 0, refused = 0, went_wrong = 0, slipped = 0;
    for (int i = 0; i < p->ops; i++)
        for (int queue = 0; queue < p->config.queues; queue++) {
            int kept = p->op[i].wait[queue];
            if (kept < 0)
                continue;
            p->op[i].wait[queue] = -1;
            bool complains = pass_check(p) != UNROLL_OK, wrong = false;
            for (int k = 0; k < ORDERS && !wrong; k++)
                wrong = !scramble(run, &random) || !same_segment(run, SEG_GRAD, gradients);
            p->op[i].wait[queue] = kept;
            waits++;
            refused += complains;
            went_wrong += wrong;
            slipped += wrong && !complains;
        }
    CHECK(refused > 4 && went_wrong > 4, "%s: of %d lost waits the check noticed %d, the gradients %d", what, waits,
          refused, went_wrong);
    CHECK(!slipped, "%s: %d lost waits went wrong, and the check had not complained", what, slipped);
}

static void check_scrambled(unroll_model *m, uint32_t checkpoint)
{
    const struct cpu_isa *isa = cpu_isa_find(isa_best(), DTYPE_F32);
    for (int queues = 2; queues <= 3; queues++)
        for (int chunks = 3; chunks <= 6; chunks += 3) {
            struct mesh_run run;
            struct plan_config c = config_of(12, 4, chunks, DTYPE_F32);
            char what[64];
            snprintf(what, sizeof what, "%s, %d queues, %d chunks, checkpoints %u", m->layer[0].cell->name, queues,
                     chunks, checkpoint);
            c.queues = queues;
            c.checkpoint = checkpoint;
            c.lengths = c.stateful = true;
            c.shards = 2;
            if (CHECK(mesh_open(m, c, isa, 1, &run) == UNROLL_OK, "%s: %s", what, unroll_last_error())) {
                start_over(&run);
                CHECK(mesh_gradients(&run) == UNROLL_OK, "%s: %s", what, unroll_last_error());
                struct copy gradients = copy_segment(&run, SEG_GRAD);
                check_orders(&run, &gradients, what);
                if (chunks == 3 && !quick)
                    check_mutants(&run, &gradients, what);
                free(gradients.bytes);
            }
            mesh_close(&run);
        }
    unroll_model_free(m);
}

/* ---- memory ---------------------------------------------------------------------------- */

static uint64_t predicted_store(const struct plan *p)
{
    static const enum segment stored[] = {SEG_PARAM, SEG_COPY, SEG_OPT, SEG_GRAD};
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) bytes += p->segment_bytes[stored[i]];
    return bytes;
}

static void check_near(const char *what, double bytes, double memory_estimate)
{
    CHECK(fabs(bytes - memory_estimate) <= 0.02 * memory_estimate, "%s: %.0f bytes, the plan predicted %.0f", what,
          bytes, memory_estimate);
}

static unroll_model *language_model(int hidden)
{
    unroll_model_config s = spec_of(2, hidden, 0, 0);
    s.input = s.output = 65;
    s.embed = 64;
    return build_named(s, "lstm");
}

/* Compares the memory actually requested from the C library with the executable's own figure. */
static void check_memory_estimate(int threads, uint32_t T, uint32_t checkpoint)
{
    unroll_model *m = language_model(128);
    struct plan_config c = config_of(T, 32, 1, DTYPE_F32);
    struct plan *p = NULL;
    struct store *store = NULL;
    struct executable *executable = NULL;
    struct executable_config ic = {.isa = cpu_isa_find(isa_best(), DTYPE_F32), .threads = threads};
    c.checkpoint = checkpoint;
    CHECK(plan_new(m, &c, &p) == UNROLL_OK, "%s", unroll_last_error());
    size_t before = atomic_load(&requested_bytes);
    bool good = store_new(p, &store) == UNROLL_OK && executable_new(p, store, &ic, &executable) == UNROLL_OK;
    CHECK(good, "%s", unroll_last_error());
    double taken = (double)(atomic_load(&requested_bytes) - before);
    if (good) {
        double own = (double)executable->bytes;
        check_near("an executable, by itself", own, (double)executable_memory_estimate(p, threads));
        if (COUNTS_ALLOCATIONS) {
            check_near("a store and an executable", taken,
                       (double)(executable_memory_estimate(p, threads) + predicted_store(p)));
            check_near("a store", taken - own, (double)predicted_store(p));
        }
    }
    executable_free(executable);
    store_free(store);
    plan_free(p);
    unroll_model_free(m);
}

/* ---- steps that allocate nothing ------------------------------------------------------- */

enum { STEPS = 16, ROWS = 8 };

struct batch {
    int32_t tokens[STEPS * ROWS], classes[STEPS * ROWS], lengths[ROWS];
};

static void draw_batch(struct batch *b, uint64_t *random)
{
    for (int i = 0; i < STEPS * ROWS; i++) {
        b->tokens[i] = (int32_t)(draw(random) % 65);
        b->classes[i] = (int32_t)(draw(random) % 66) - 1;
    }
    for (int row = 0; row < ROWS; row++) b->lengths[row] = (int32_t)(draw(random) % (STEPS + 1));
}

static unroll_status train_on(unroll_session *s, const struct batch *b, bool lengths, unroll_result *result)
{
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_batch batch = {.size = sizeof batch, .tokens = b->tokens, .targets = b->classes};
    batch.lengths = lengths ? b->lengths : NULL;
    TRY(unroll_session_forward(s, &batch));
    TRY(unroll_session_backward(s));
    return unroll_session_update(s, &rates, result);
}

static int counted(const struct batch *b, bool lengths)
{
    int n = 0;
    for (int i = 0; i < STEPS * ROWS; i++) n += b->classes[i] >= 0 && (!lengths || i / ROWS < b->lengths[i % ROWS]);
    return n;
}

/* Every batch has other lengths; the session and its plan remain. */
static void check_steady(int threads, int queues, int steps, bool lengths)
{
    unroll_model *m = language_model(32);
    unroll_session *s = NULL;
    unroll_session_config c = unroll_session_config_default();
    static struct batch b;
    uint64_t random = 3;
    unroll_result result = {.size = sizeof result};
    c.mode = UNROLL_TRAIN;
    c.steps = STEPS;
    c.rows = ROWS;
    c.machine.threads = threads;
    c.machine.queues = queues;
    c.machine.chunks = queues > 1 ? 4 : 1;
    c.lengths = lengths;
    bool good = CHECK(unroll_session_new(m, &c, &s) == UNROLL_OK, "%s", unroll_last_error());
    size_t asked = 0;
    uint64_t made = 0;
    for (int i = 0; good && i <= steps; i++) {
        draw_batch(&b, &random);
        good = CHECK(train_on(s, &b, lengths, &result) == UNROLL_OK, "%s", unroll_last_error());
        int count = counted(&b, lengths);
        CHECK(result.weight == count, "%g were counted, not %d", result.weight, count);
        if (i == 0) { /* the first step may still initialize the C library */
            asked = atomic_load(&requests);
            made = memory_allocations();
        }
    }
    CHECK(atomic_load(&requests) == asked && memory_allocations() == made,
          "%d threads, %d queues: %zu requests for memory in %d steps", threads, queues, atomic_load(&requests) - asked,
          steps);
    unroll_session_free(s);
    unroll_model_free(m);
}

int main(int count, char **words)
{
    quick = check_quick(count, words);
    if (!COUNTS_ALLOCATIONS)
        check_skip("a sanitizer stands in front of the C library's memory: only our own is counted");
    check_counts_of_cells();
    if (!quick)
        check_all_deletions();
    for (int isa = 0; isa < ISA_COUNT; isa++) {
        check_folded("lstm", (enum isa)isa);
        check_folded("gru", (enum isa)isa);
        check_folded("gru_before", (enum isa)isa);
        check_folded("mingru", (enum isa)isa);
    }
    for (uint32_t checkpoint = 0; checkpoint <= 4; checkpoint += 4) {
        check_scrambled(build_named(spec_of(2, 8, 0, 1), "lstm"), checkpoint);
        check_scrambled(build_named(spec_of(2, 8, 1, 0), "gru_before"), checkpoint);
        unroll_model_config s = spec_of(2, 8, 1, 0);
        s.pool = "mean+max";
        check_scrambled(build_named(s, "gru"), checkpoint);
    }
    check_memory_estimate(1, 64, 0);
    check_memory_estimate(3, 64, 0);
    check_memory_estimate(1, 1024, CHECKPOINT_AUTO);
    for (int queues = 1; queues <= 2; queues++) {
        check_steady(1, queues, 10, false);
        check_steady(3, queues, 10, false);
    }
    check_steady(2, 1, 8, true);
    return check_finish("execution");
}
