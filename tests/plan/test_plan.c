/* The passes without arithmetic: every mesh up to 8 is lowered, messages match and cannot deadlock; what cannot be cut
 * is refused; damaged plans are detected. What plans compute is tested in test_mesh.c.
 *     test_plan [quick]       quick: meshes up to 4 */
/* test: kinds=check-plain,memory; args-memory=quick; seconds=30 */
/* test: kinds=long-memory; seconds=100 */
#include "device/cpu/kernels/layouts.h"
#include "device/cpu/executor/operands.h"
#include "check.h"
#include "plan/ir/plan.h"
#include <string.h>

static const char *pool; /* for the next models */
static int largest;      /* mesh size */

static unroll_model *new_model(const char *cell, int layers, int bidirectional, int tied, int projection)
{
    unroll_model_config s = unroll_model_config_default();
    unroll_model *m = NULL;
    s.cell = cell;
    s.layers = layers;
    s.hidden = 8;
    s.bidirectional = bidirectional;
    s.projection = projection;
    s.tokens = 1;
    s.input = s.output = 11;
    s.embed = tied ? (bidirectional ? 16 : 8) : 6;
    s.tied = tied;
    s.loss = "xent";
    s.dropout = 0.25f;
    s.pool = pool;
    CHECK(unroll_model_new(&s, 1, &m) == UNROLL_OK, "model: %s", unroll_last_error());
    return m;
}

static struct plan_config config_of(int batch, int layer, int hidden, int chunks)
{
    struct plan_config c = plan_config_default();
    c.T = 12;
    c.B = 4;
    c.mesh[M_BATCH] = batch;
    c.mesh[M_LAYER] = layer;
    c.mesh[M_HIDDEN] = hidden;
    c.chunks = chunks;
    c.traits.operands = &cpu_operands;
    c.lengths = true;
    c.stateful = true;
    c.optimizer_states = 2;
    return c;
}

static int lower_all(const unroll_model *m, struct plan_config c, struct plan **plans)
{
    int ranks = 0;
    for (int b = 0; b < c.mesh[M_BATCH]; b++)
        for (int l = 0; l < c.mesh[M_LAYER]; l++)
            for (int h = 0; h < c.mesh[M_HIDDEN]; h++) {
                c.at[M_BATCH] = b;
                c.at[M_LAYER] = l;
                c.at[M_HIDDEN] = h;
                if (plan_new(m, &c, &plans[ranks]) != UNROLL_OK) {
                    while (ranks > 0) plan_free(plans[--ranks]);
                    return 0;
                }
                ranks++;
            }
    return ranks;
}

static void free_all(struct plan **plans, int ranks)
{
    for (int i = 0; i < ranks; i++) plan_free(plans[i]);
}

static void let_meet(struct plan **plans, int ranks, bool rendezvous)
{
    for (int i = 0; i < ranks; i++) plans[i]->config.traits.rendezvous = rendezvous;
}

static void check_meshes(const unroll_model *m, const char *name)
{
    struct plan *plans[RANKS_MAX];
    for (int batch = 1; batch <= 4; batch++)
        for (int layer = 1; layer <= 3; layer++)
            for (int hidden = 1; hidden <= 4; hidden++)
                for (int chunks = 1; chunks <= 6; chunks += chunks == 1 ? 2 : 3) {
                    if (batch * layer * hidden > largest)
                        continue;
                    for (int queues = 1; queues <= 3; queues++) {
                        struct plan_config c = config_of(batch, layer, hidden, chunks);
                        c.B = 12;
                        c.queues = queues;
                        c.checkpoint = chunks == 6 ? 2 : 0;
                        int ranks = lower_all(m, c, plans);
                        CHECK(ranks, "%s %dx%dx%d chunks %d: %s", name, batch, layer, hidden, chunks,
                              unroll_last_error());
                        for (int rendezvous = 0; ranks && rendezvous < 2; rendezvous++) {
                            let_meet(plans, ranks, rendezvous);
                            CHECK(check_mesh(plans, ranks) == UNROLL_OK, "%s %dx%dx%d chunks %d%s: %s", name, batch,
                                  layer, hidden, chunks, rendezvous ? " on streams" : "", unroll_last_error());
                        }
                        free_all(plans, ranks);
                    }
                }
}

/* ---- damaged plans --------------------------------------------------------------------- */

static void swap_ops(struct plan *p, int a, int b)
{
    struct op kept = p->op[a];
    p->op[a] = p->op[b];
    p->op[b] = kept;
}

static void check_shuffled_sums(const unroll_model *m)
{
    struct plan *plans[RANKS_MAX];
    int ranks = lower_all(m, config_of(2, 1, 1, 3), plans), first = -1, second = -1;
    for (int i = 0; ranks && i < plans[1]->ops; i++)
        if (plans[1]->op[i].kind == OP_SUM_BEGIN) {
            second = first < 0 ? -1 : second < 0 ? i : second;
            first = first < 0 ? i : first;
        }
    CHECK(first >= 0 && second >= 0, "a batch cut sums at least two gradients");
    if (second < 0)
        return;
    swap_ops(plans[1], first, second);
    CHECK(check_mesh(plans, ranks) == UNROLL_COMMUNICATION, "shuffled sums are refused");
    const char *e = unroll_last_error();
    CHECK(strstr(e, "same order") && strstr(e, "rank 0") && strstr(e, "rank 1"), "it names both ends: %s", e);
    free_all(plans, ranks);
}

/* Meshes of hundreds of ranks, valid and damaged; one rank too many. */
static void check_large(const unroll_model *m)
{
    static struct plan *plans[RANKS_MAX];
    static const int meshes[][3] = {{RANKS_MAX, 1, 1}, {16, 2, 4}, {8, 3, 8}};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
        struct plan_config c = config_of(meshes[i][0], meshes[i][1], meshes[i][2], 3);
        c.B = RANKS_MAX;
        CHECK(check_mesh_of(m, &c) == UNROLL_OK, "mesh %zu: %s", i, unroll_last_error());
    }
    struct plan_config c = config_of(RANKS_MAX / 2, 1, 2, 3);
    c.B = RANKS_MAX;
    c.mesh[M_LAYER] = 2;
    CHECK_REFUSED(check_mesh_of(m, &c), UNROLL_UNSUPPORTED, "more than 1024 ranks");
    c = config_of(16, 2, 4, 3);
    c.B = 16;
    int ranks = lower_all(m, c, plans), first = -1;
    for (int i = 0; ranks && i < plans[77]->ops; i++)
        first = first < 0 && plans[77]->op[i].kind == OP_SUM_BEGIN ? i : first;
    if (CHECK(ranks == 128 && first >= 0, "rank 77 of %d sums: %s", ranks, unroll_last_error()))
        plans[77]->op[first].tag ^= 1;
    CHECK_REFUSED(check_mesh(plans, ranks), UNROLL_COMMUNICATION, "rank 77");
    free_all(plans, ranks);
}

static void remove_op(struct plan *p, int i)
{
    memmove(&p->op[i], &p->op[i + 1], (size_t)(p->ops - i - 1) * sizeof *p->op);
    p->ops--;
    for (int phase = 0; phase < PHASE_N; phase++) {
        p->phase[phase].first -= p->phase[phase].first > i;
        p->phase[phase].end -= p->phase[phase].end > i;
    }
}

static void check_lost_message(const unroll_model *m)
{
    struct plan *plans[RANKS_MAX];
    int ranks = lower_all(m, config_of(1, 2, 1, 3), plans);
    for (int i = 0; ranks && i < plans[0]->ops; i++)
        if (plans[0]->op[i].kind == OP_SEND) {
            remove_op(plans[0], i);
            break;
        }
    CHECK(ranks && check_mesh(plans, ranks) == UNROLL_COMMUNICATION, "a lost send is found");
    free_all(plans, ranks);
    ranks = lower_all(m, config_of(1, 2, 1, 3), plans);
    for (int i = 0; ranks && i < plans[1]->ops; i++)
        if (plans[1]->op[i].kind == OP_RECV && plans[1]->op[i].phase == PHASE_FORWARD) {
            remove_op(plans[1], i);
            break;
        }
    CHECK(ranks && check_mesh(plans, ranks) == UNROLL_COMMUNICATION, "a send without a receiver is found");
    free_all(plans, ranks);
}

/* Sending messages in another order than they are received deadlocks only if a send waits for its receiver. */
static void check_meeting(const unroll_model *m)
{
    struct plan *plans[RANKS_MAX];
    int ranks = lower_all(m, config_of(1, 2, 1, 3), plans), first = -1, second = -1;
    for (int i = 0; ranks && i < plans[0]->ops; i++)
        if (plans[0]->op[i].kind == OP_SEND) {
            second = first >= 0 && second < 0 ? i : second;
            first = first < 0 ? i : first;
        }
    if (!CHECK(second >= 0, "a layer cut of 3 chunks sends twice"))
        return;
    swap_ops(plans[0], first, second);
    CHECK(check_mesh(plans, ranks) == UNROLL_OK, "messages may be sent in another order: %s", unroll_last_error());
    let_meet(plans, ranks, true);
    CHECK(check_mesh(plans, ranks) == UNROLL_COMMUNICATION && strstr(unroll_last_error(), "deadlock"),
          "on streams they may not: %s", unroll_last_error());
    free_all(plans, ranks);
}

static int nth_of(const struct plan *p, enum op_kind kind, int n)
{
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].kind == kind && n-- == 0)
            return i;
    return -1;
}

/* On all ranks alike, so that everything matches except the names. */
static void check_equal_tags(const unroll_model *m)
{
    struct plan *plans[RANKS_MAX];
    int ranks = lower_all(m, config_of(2, 1, 1, 3), plans);
    for (int i = 0; i < ranks; i++)
        plans[i]->op[nth_of(plans[i], OP_SUM_BEGIN, 1)].tag = plans[i]->op[nth_of(plans[i], OP_SUM_BEGIN, 0)].tag;
    CHECK(ranks == 2 && check_mesh(plans, ranks) == UNROLL_COMMUNICATION && strstr(unroll_last_error(), "the same tag"),
          "two sums of one tag: %s", unroll_last_error());
    free_all(plans, ranks);
}

/* For a module, where nothing uses the sums. */
static void check_endless_sum(void)
{
    struct plan *p;
    struct plan_config c = config_of(2, 1, 1, 1);
    unroll_model *m = new_model("lstm", 2, 0, 0, 0);
    c.mode = MODE_MODULE;
    c.stateful = false;
    if (!CHECK(plan_new(m, &c, &p) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    remove_op(p, nth_of(p, OP_SUM_END, 0));
    CHECK(pass_check(p) != UNROLL_OK && strstr(unroll_last_error(), "never ends"), "a sum that never ends: %s",
          unroll_last_error());
    plan_free(p);
    unroll_model_free(m);
}

/* Moves a buffer of a bucket onto another one. */
static void check_torn_bucket(const unroll_model *m)
{
    struct plan *p;
    struct plan_config c = config_of(2, 1, 1, 1);
    if (!CHECK(plan_new(m, &c, &p) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    int bucket = 0;
    while (bucket < p->ops && (p->op[bucket].kind != OP_SUM_BEGIN || p->op[bucket].views < 3)) bucket++;
    if (CHECK(bucket < p->ops, "a bucket of three gradients")) {
        p->segment_bytes[p->buffer[p->op[bucket].view[1].buffer].segment] += 1 << 20;
        p->buffer[p->op[bucket].view[1].buffer].offset += 1 << 19;
        CHECK(pass_check(p) != UNROLL_OK && strstr(unroll_last_error(), "not adjacent"), "a bucket that lies apart: %s",
              unroll_last_error());
    }
    plan_free(p);
}

/* Removes each operation whose result another one reads: the check of reads must fail. */
static void check_lost_operations(const unroll_model *m, uint32_t checkpoint)
{
    struct plan *p;
    struct plan_config c = config_of(1, 1, 1, 1);
    c.checkpoint = checkpoint;
    CHECK(plan_new(m, &c, &p) == UNROLL_OK, "plan: %s", unroll_last_error());
    int ops = p->ops, tried = 0, noticed = 0;
    plan_free(p);
    for (int i = 0; i < ops; i++) {
        CHECK(plan_new(m, &c, &p) == UNROLL_OK, "plan: %s", unroll_last_error());
        enum op_kind kind = p->op[i].kind;
        bool matters =
            kind == OP_EMBED || kind == OP_RNN || kind == OP_GEMM || kind == OP_GEMM_DX || kind == OP_DROPOUT;
        remove_op(p, i);
        tried += matters;
        noticed += matters && pass_check(p) != UNROLL_OK;
        plan_free(p);
    }
    CHECK(tried > 8 && noticed == tried, "%d of %d lost operations noticed", noticed, tried);
}

/* Memory allocated by list order only would race on queues: overlaps two buffers, removes a wait. */
static void check_races(const unroll_model *m)
{
    struct plan *p;
    struct plan_config c = config_of(1, 1, 1, 3);
    c.queues = 2;
    CHECK(plan_new(m, &c, &p) == UNROLL_OK, "plan: %s", unroll_last_error());
    int waits = 0, noticed = 0;
    for (int i = 0; i < p->ops; i++)
        for (int queue = 0; queue < QUEUES_MAX; queue++) {
            int kept = p->op[i].wait[queue];
            if (kept < 0)
                continue;
            p->op[i].wait[queue] = -1;
            waits++;
            noticed += pass_check(p) != UNROLL_OK;
            p->op[i].wait[queue] = kept;
        }
    CHECK(waits > 10 && noticed > waits / 2, "%d of %d dropped waits matter and are noticed", noticed, waits);
    plan_free(p);
}

/* ---- refusals -------------------------------------------------------------------------- */

static void check_refused(const unroll_model *m, struct plan_config c, unroll_status status, const char *says)
{
    struct plan *p = NULL;
    unroll_status got = plan_new(m, &c, &p);
    CHECK(got == status && strstr(unroll_last_error(), says), "refused with %d '%s': got %d '%s'", status, says, got,
          got == UNROLL_OK ? "" : unroll_last_error());
    if (got == UNROLL_OK)
        plan_free(p);
}

/* Both layers read the inputs: in one stage they compute one gradient, in two stages a part each. */
static void check_readers_of_inputs(void)
{
    unroll_layer layer[2] = {unroll_layer_default(), unroll_layer_default()};
    unroll_network network = unroll_network_default();
    unroll_model *m = NULL;
    layer[0].name = "inner", layer[0].kind = "gru", layer[0].width = 6;
    layer[1].name = "outer", layer[1].width = 3, layer[1].sources = 2, layer[1].source[0] = 0, layer[1].source[1] = -1;
    network.input = 5;
    network.loss = "mse";
    network.layer = layer;
    network.layers = 2;
    if (!CHECK(unroll_model_from_network(&network, 1, &m) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    struct plan_config c = config_of(1, 2, 1, 1);
    struct plan *p;
    c.input_gradient = true;
    check_refused(m, c, UNROLL_UNSUPPORTED, "layers in several stages");
    c.mesh[M_LAYER] = 1;
    if (CHECK(plan_new(m, &c, &p) == UNROLL_OK, "%s", unroll_last_error()))
        plan_free(p);
    unroll_model_free(m);
}

static void check_refusals(const unroll_model *m)
{
    check_readers_of_inputs();
    struct plan_config c = config_of(1, 1, 1, 1);
    c.mesh[M_TIME] = 2;
    check_refused(m, c, UNROLL_UNSUPPORTED, "a rank with fewer than 64 steps");
    check_refused(m, config_of(1, 4, 1, 1), UNROLL_UNSUPPORTED, "more than the 3 layers");
    check_refused(m, config_of(8, 1, 1, 1), UNROLL_UNSUPPORTED, "fewer ranks");
    check_refused(m, config_of(1, 1, 1, 13), UNROLL_UNSUPPORTED, "chunks");
    check_refused(m, config_of(1, 1, 1, 65), UNROLL_USAGE, "chunks");
    unroll_model *both = new_model("lstm", 2, 1, 0, 0);
    check_refused(both, config_of(1, 2, 1, 5), UNROLL_UNSUPPORTED, "chunks of 4 rows");
    unroll_model_free(both);
    c = config_of(4, 1, 1, 1);
    c.shards = 3;
    check_refused(m, c, UNROLL_UNSUPPORTED, "fewer ranks");
    unroll_model *projected = new_model("lstm", 2, 0, 0, 5);
    c = config_of(1, 1, 1, 1);
    c.T = 4096;
    c.checkpoint = 63;
    check_refused(m, c, UNROLL_UNSUPPORTED, "`checkpoint_time` 64 or more");
    c = config_of(1, 1, 2, 1);
    c.exact = true;
    check_refused(projected, c, UNROLL_UNSUPPORTED, "projects");
    c.traits.operands = NULL;
    check_refused(m, c, UNROLL_UNSUPPORTED, "a device that packs");
    c = config_of(1, 1, 8, 1);
    c.exact = true;
    unroll_model *narrow = new_model("lstm", 2, 0, 0, 0);
    check_refused(narrow, c, UNROLL_UNSUPPORTED, "only 6 values to divide");
    unroll_model_free(narrow);
    unroll_model_free(projected);
}

/* ---- checkpoints ----------------------------------------------------------------------- */

static uint64_t step_bytes(const unroll_model *m, uint32_t T, uint32_t checkpoint)
{
    struct plan *p;
    struct plan_config c = config_of(1, 1, 1, 1);
    c.T = T;
    c.checkpoint = checkpoint;
    if (!CHECK(plan_new(m, &c, &p) == UNROLL_OK, "T = %u: %s", T, unroll_last_error()))
        return 0;
    uint64_t bytes = p->segment_bytes[SEG_STEP];
    plan_free(p);
    return bytes;
}

/* From 64 to 4096 steps: 64 times the activations without checkpoints, 8 times with one every sqrt(T) steps. In a
 * bidirectional stack the outputs of layers and their gradients are kept (docs/internals/passes.md). */
static void check_growth(void)
{
    unroll_model *one = new_model("lstm", 3, 0, 0, 0), *both = new_model("lstm", 3, 1, 0, 0);
    for (uint32_t T = 64; T < 4096; T *= 4) {
        double kept = (double)step_bytes(one, 4 * T, 0) / (double)step_bytes(one, T, 0);
        double grows = (double)step_bytes(one, 4 * T, CHECKPOINT_AUTO) / (double)step_bytes(one, T, CHECKPOINT_AUTO);
        CHECK(kept > 3.9 && grows < 2.1, "T = %u to %u: activations grow %.2f times, with checkpoints %.2f", T, 4 * T,
              kept, grows);
    }
    double phase = (double)step_bytes(both, 4096, CHECKPOINT_AUTO) / (double)step_bytes(both, 4096, 0);
    CHECK(phase < 0.4, "two directions keep %.2f of the activations of 4096 steps", phase);
    CHECK(step_bytes(one, 12, 12) == step_bytes(one, 12, 0), "one segment is all");
    unroll_model_free(both);
    unroll_model_free(one);
}

/* Parameters have the same offsets in every plan of a model. */
static void check_offsets(const unroll_model *m)
{
    struct plan *train, *infer;
    struct plan_config c = config_of(1, 1, 1, 3);
    CHECK(plan_new(m, &c, &train) == UNROLL_OK, "plan: %s", unroll_last_error());
    c.mode = MODE_INFER;
    c.T = c.B = 1;
    c.chunks = 1;
    CHECK(plan_new(m, &c, &infer) == UNROLL_OK, "plan: %s", unroll_last_error());
    for (int i = 0; i < train->buffers; i++) {
        const struct buffer *b = &train->buffer[i];
        if (b->segment != SEG_PARAM && b->segment != SEG_COPY)
            continue;
        int other = plan_find_buffer(infer, b->name);
        CHECK(other >= 0 && infer->buffer[other].offset == b->offset, "'%s' has the same offset", b->name);
    }
    CHECK(infer->segment_bytes[SEG_STEP] < train->segment_bytes[SEG_STEP], "inference takes less memory");
    plan_free(infer);
    plan_free(train);
}

/* Layers that read both directions, in two stages: with chunks of rows they run concurrently, without additional
 * memory. */
static void check_pipeline_of_rows(void)
{
    unroll_model *m = new_model("lstm", 4, 1, 0, 0);
    struct plan *plans[2][2];
    double bubble[2];
    for (int i = 0; i < 2; i++) {
        struct plan_config c = config_of(1, 2, 1, i ? 8 : 1);
        c.B = 16;
        if (!CHECK(lower_all(m, c, plans[i]) == 2, "%s", unroll_last_error()))
            return;
        CHECK(mesh_bubble(plans[i], 2, &bubble[i]) == UNROLL_OK, "%s", unroll_last_error());
    }
    CHECK(bubble[0] > 0.49 && bubble[1] < 0.2, "the bubble of rows is %g, of all at once %g", bubble[1], bubble[0]);
    for (int rank = 0; rank < 2; rank++)
        CHECK(plans[1][rank]->segment_bytes[SEG_STEP] <= plans[0][rank]->segment_bytes[SEG_STEP],
              "rank %d: memory grows", rank);
    for (int i = 0; i < 4; i++) plan_free(plans[i / 2][i % 2]);
    unroll_model_free(m);
}

/* A layer of 8 units has 128 bytes of sums for each step and row, and 2048 of weights. */
static int chosen(const unroll_model *m, uint32_t T, uint32_t near, enum plan_mode mode, uint32_t checkpoint, int layer)
{
    struct plan_config c = config_of(1, layer, 1, 0);
    struct plan *p;
    c.T = T;
    c.traits.near = near;
    c.mode = mode;
    c.checkpoint = checkpoint;
    if (!CHECK(plan_new(m, &c, &p) == UNROLL_OK, "%s", unroll_last_error()))
        return -1;
    int chunks = p->config.chunks;
    plan_free(p);
    return chunks;
}

static void check_near(const unroll_model *m)
{
    int found = chosen(m, 96, 4096, MODE_TRAIN, 0, 1);
    CHECK(found == 12, "48 KB of sums with 4 KB of near memory: %d chunks", found);
    found = chosen(m, 1000, 4096, MODE_TRAIN, 0, 1);
    CHECK(found == 63, "pieces of less than 16 steps, the block: %d chunks", found);
    CHECK(chosen(m, 64, 4096, MODE_TRAIN, 0, 1) == 1, "sums that a larger cache holds are cut");
    CHECK(chosen(m, 96, 4000, MODE_TRAIN, 0, 1) == 1, "large weights would be read for each chunk");
    CHECK(chosen(m, 96, 0, MODE_TRAIN, 0, 1) == 1, "a device without a word on its caches");
    CHECK(chosen(m, 96, 4096, MODE_INFER, 0, 1) == 1, "nothing comes back to the sums of an inference");
    CHECK(chosen(m, 96, 4096, MODE_TRAIN, 48, 1) == 2, "checkpoints say what chunks are");
    CHECK(chosen(m, 96, 4096, MODE_TRAIN, 0, 2) == 1, "a pipeline of ranks says itself what it is fed with");
}

/* Accumulation blocks of bf16x3 splits have whole steps of 32 rows, or nearly, if accumulation divides time into
 * blocks. If they would not even fill half of one, there are none. */
static void check_acc_blocks_of_bf16x3(void)
{
    enum { NONE = 0 };
    const struct {
        uint32_t T, B, shards, min;
        bool lengths;
        uint32_t block_steps;
    } want[] = {{100, 64, 1, 2, false, 2}, {35, 20, 1, 1, false, 3},    {64, 16, 1, 1, false, 2},
                {64, 64, 4, 1, false, 2},  {16, 20, 1, 1, false, 1},    {128, 32, 1, 2, true, 16},
                {40, 32, 1, 1, true, 5},   {784, 128, 1, 13, true, 13}, {100, 2, 1, 2, false, 12},
                {32, 4, 1, 1, false, 4},   {20, 4, 1, 1, false, NONE},  {8, 15, 1, 1, false, NONE},
                {70, 16, 4, 2, true, 8},   {70, 8, 4, 2, true, NONE}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct plan_config c = {.T = want[i].T, .B = want[i].B, .shards = want[i].shards, .lengths = want[i].lengths};
        uint32_t found = want[i].min;
        if (!bf16x3_fill_acc_blocks(&c, &found))
            found = NONE;
        CHECK(found == want[i].block_steps, "%u steps of %u rows: accumulation blocks of %u steps", c.T, c.B, found);
    }
}

/* Counts the products of a plan, and the recurrences that compute them themselves. */
static void count_folded(const unroll_model *m, uint32_t narrow, uint32_t rows, uint32_t near, int *products,
                         int *folded)
{
    struct plan_config c = config_of(1, 1, 1, 3);
    struct plan *p;
    c.traits.narrow = narrow;
    c.B = rows;
    c.traits.near = near;
    *products = *folded = 0;
    if (!CHECK(plan_new(m, &c, &p) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        bool folds = op->kind == OP_RNN && op->view[RNN_X].buffer >= 0;
        *products += op->kind == OP_GEMM;
        *folded += folds;
        CHECK(!folds || (op->view[RNN_G].access == WRITE && op->view[RNN_W_X].buffer >= 0 &&
                         p->buffer[op->view[RNN_W_X].buffer].layout == LAYOUT_GATES),
              "a recurrence that multiplies x reads its sums, or weights for a product");
    }
    plan_free(p);
}

static void check_fuse_input(const unroll_model *m)
{
    const uint32_t width = model_input(m);
    int all, none, products, folded;
    count_folded(m, width - 1, 8, 0, &all, &none);
    CHECK(none == 0, "%d recurrences multiply an x that is not narrow", none);
    count_folded(m, width, 8, 0, &products, &folded);
    CHECK(folded > 0 && products == all - folded, "of %d products %d are left, %d folded", all, products, folded);
    count_folded(m, 0, 32, 1 << 20, &products, &folded);
    CHECK(folded > 0 && products < all, "many rows, weights that stay near: %d products are left", products);
    count_folded(m, 0, 31, 1 << 20, &products, &none);
    CHECK(none == 0 && products == all, "few rows: %d recurrences multiply x", none);
    count_folded(m, 0, 32, 1 << 8, &products, &none);
    CHECK(none == 0 && products == all, "weights that do not stay near: %d recurrences multiply x", none);
}

int main(int count, char **words)
{
    static const struct {
        const char *name, *cell;
        int bidirectional, tied;
        const char *pool;
    } models[] = {{"tied lstm", "lstm", 0, 1, NULL},          {"gru", "gru", 0, 0, NULL},
                  {"bidirectional lstm", "lstm", 1, 1, NULL}, {"rnn", "rnn", 0, 0, NULL},
                  {"pooled gru", "gru", 0, 0, "mean+max"},    {"pooled bidirectional lstm", "lstm", 1, 0, "last"}};
    largest = count > 1 && !strcmp(words[1], "quick") ? 4 : 8;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        pool = models[i].pool;
        unroll_model *m = new_model(models[i].cell, 2, models[i].bidirectional, models[i].tied, 0);
        check_meshes(m, models[i].name);
        unroll_model_free(m);
    }
    pool = NULL;
    unroll_model *m = new_model("lstm", 2, 0, 1, 0);
    check_shuffled_sums(m);
    check_large(m);
    check_lost_message(m);
    check_meeting(m);
    check_equal_tags(m);
    check_endless_sum();
    check_torn_bucket(m);
    check_lost_operations(m, 0);
    check_lost_operations(m, 4);
    check_growth();
    check_pipeline_of_rows();
    check_races(m);
    check_refusals(m);
    check_offsets(m);
    check_near(m);
    check_acc_blocks_of_bf16x3();
    check_fuse_input(m);
    unroll_model_free(m);
    return check_finish("plan");
}
