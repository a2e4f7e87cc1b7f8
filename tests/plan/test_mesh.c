/* The passes with arithmetic: a 2-layer language model with tied embedding, ragged, with dropout, cut along batch,
 * layer and hidden in all combinations up to 2x2x2, with 1, 3 and 6 chunks and with checkpoints. The gradients equal
 * the serial ones to 1e-12 in double, and bit for bit if the sum contract guarantees it: for layer cuts and chunks, and
 * for batch cuts whose shards are also those of the serial run. The bytes sent by ranks equal those in their plans.
 * "quick", for sanitizers: fewer cells. */
/* test: kinds=plain,long-memory,long-thread; with=plan/mesh; args-memory=quick; args-thread=quick; seconds=10 */
#include "check.h"
#include "plan/mesh.h"
#include "plan/ir/traffic.h"

static const char *pool, *loss = "xent"; /* for the next models */

static unroll_model *new_model_of(const char *cell, int bidirectional, int tied, float dropout, int hidden)
{
    unroll_model_config s = unroll_model_config_default();
    unroll_model *m = NULL;
    s.cell = cell;
    s.layers = 2;
    s.hidden = hidden;
    s.bidirectional = bidirectional;
    s.tokens = 1;
    s.input = s.output = 11;
    s.embed = bidirectional ? 2 * hidden : hidden;
    s.tied = tied;
    s.loss = loss;
    s.dropout = dropout;
    s.pool = pool;
    CHECK(unroll_model_new(&s, 1, &m) == UNROLL_OK, "model: %s", unroll_last_error());
    return m;
}

static unroll_model *new_model(const char *cell, int bidirectional, int tied, float dropout)
{
    return new_model_of(cell, bidirectional, tied, dropout, 8);
}

/* The reference run. */
static bool open_with_gradients(const unroll_model *m, struct plan_config c, const struct cpu_isa *isa,
                                struct mesh_run *run)
{
    unroll_status status = mesh_open(m, c, isa, 1, run);
    if (status == UNROLL_OK)
        status = mesh_gradients(run);
    return CHECK(status == UNROLL_OK, "the run to compare with: %s", unroll_last_error());
}

static void check_against(const struct mesh_run *serial, const unroll_model *m, struct plan_config c,
                          const struct cpu_isa *isa, int threads, const char *name, double tolerance, bool same_bits)
{
    struct mesh_run run;
    size_t different = 0;
    char what[128];
    snprintf(what, sizeof what, "%s %dx%dx%d chunks %d queues %d checkpoints %u shards %u %s", name, c.mesh[M_BATCH],
             c.mesh[M_LAYER], c.mesh[M_HIDDEN], c.chunks, c.queues, c.checkpoint, c.shards, isa->name);
    unroll_status status = mesh_open(m, c, isa, threads, &run);
    run.apart = c.chunks == 3;
    if (status == UNROLL_OK)
        status = mesh_gradients(&run);
    if (CHECK(status == UNROLL_OK, "%s: %s", what, unroll_last_error())) {
        double worst = mesh_difference(serial, &run, &different);
        CHECK(worst <= tolerance, "%s: gradients are off by %.2e", what, worst);
        CHECK(!same_bits || !different, "%s: %zu numbers have other bits", what, different);
    }
    mesh_close(&run);
}

/* Six chunks of rows for each of two ranks. */
static struct plan_config rows_config(int batch, int layer, int hidden, int chunks, enum dtype real)
{
    struct plan_config c = mesh_config(12, batch, layer, hidden, chunks, real);
    c.B = 13;
    return c;
}

static void check_products(const char *cell, int bidirectional, int tied, float dropout, enum dtype real)
{
    const struct cpu_isa *isa = cpu_isa_find(real == DTYPE_F64 ? ISA_SCALAR : isa_best(), real);
    unroll_model *m = new_model(cell, bidirectional, tied, dropout);
    struct mesh_run serial;
    if (!open_with_gradients(m, rows_config(1, 1, 1, 1, real), isa, &serial))
        return;
    static const struct {
        int chunks;
        uint32_t checkpoint;
    } ways[] = {{1, 0}, {3, 0}, {6, 0}, {1, 3}};
    for (int mesh = 0; mesh < 8; mesh++)
        for (int i = 0; i < 4; i++) {
            int batch = 1 + (mesh & 1), layer = 1 + (mesh >> 1 & 1), hidden = 1 + (mesh >> 2 & 1);
            bool same_bits = batch == 1 && hidden == 1;
            struct plan_config c = rows_config(batch, layer, hidden, ways[i].chunks, real);
            c.checkpoint = ways[i].checkpoint;
            check_against(&serial, m, c, isa, 1, cell, real == DTYPE_F64 ? 1e-12 : 1e-4, same_bits);
            c.queues = 2;
            if (mesh == 0 || mesh == 2)
                check_against(&serial, m, c, isa, 2, cell, real == DTYPE_F64 ? 1e-12 : 1e-4, same_bits);
        }
    mesh_close(&serial);
    unroll_model_free(m);
}

/* With the same number of shards in the serial run, batch cuts keep the bits, too. */
static void check_shards(enum dtype real)
{
    const struct cpu_isa *isa = cpu_isa_find(real == DTYPE_F64 ? ISA_SCALAR : isa_best(), real);
    unroll_model *m = new_model("lstm", 0, 1, 0.25f);
    struct mesh_run serial;
    struct plan_config c = mesh_config(12, 1, 1, 1, 1, real);
    c.shards = 4;
    bool opened = open_with_gradients(m, c, isa, &serial);
    for (int batch = 1; batch <= 4 && opened; batch++)
        for (int layer = 1; layer <= 2; layer++)
            for (int chunks = 1; chunks <= 3; chunks += 2) {
                struct plan_config cut = mesh_config(12, batch, layer, 1, chunks, real);
                cut.shards = 4;
                check_against(&serial, m, cut, isa, 1, "lstm", 1e-12, true);
            }
    mesh_close(&serial);
    unroll_model_free(m);
}

/* Hidden cuts that gather what the serial run sums also keep its bits. */
static void check_exact(const char *cell, int bidirectional, enum dtype real)
{
    const struct cpu_isa *isa = cpu_isa_find(real == DTYPE_F64 ? ISA_SCALAR : isa_best(), real);
    unroll_model *m = new_model(cell, bidirectional, 1, 0.25f);
    struct mesh_run serial;
    struct plan_config c = rows_config(1, 1, 1, 1, real);
    c.shards = 4;
    bool opened = open_with_gradients(m, c, isa, &serial);
    for (int mesh = 0; mesh < 16 && opened; mesh++)
        for (int chunks = 1; chunks <= 6; chunks += chunks == 1 ? 2 : 3) {
            struct plan_config cut = rows_config(1 + (mesh & 1), 1 + (mesh >> 1 & 1), 2 + (mesh >> 2), chunks, real);
            cut.shards = 4;
            cut.exact = true;
            if (cut.mesh[M_BATCH] * cut.mesh[M_LAYER] * cut.mesh[M_HIDDEN] <= 8)
                check_against(&serial, m, cut, isa, 1, cell, 1e-12, true);
        }
    mesh_close(&serial);
    unroll_model_free(m);
}

/* Sums of bf16x3 splits of floats, or of floats rounded to bf16, are the same in all cuts that do not divide units,
 * however few of the rows a rank or chunk has. Hidden cuts do not use splits and have the gradients of other ISAs. */
static void check_tiles(const char *cell, int bidirectional, const struct cpu_isa *isa)
{
    const bool rounds = isa->parts == BF16_PARTS;
    unroll_model *m = new_model_of(cell, bidirectional, 1, 0.25f, 24);
    struct mesh_run serial, other;
    struct plan_config c = rows_config(1, 1, 1, 1, DTYPE_F32);
    size_t different;
    c.B = 37;
    c.shards = 4;
    c.bucket = 1 << 20;
    bool opened = open_with_gradients(m, c, isa, &other);
    c.traits.splits = !rounds;
    c.traits.rounds = rounds;
    c.precision = rounds ? PRECISION_BF16 : PRECISION_FP32;
    if (!opened || !open_with_gradients(m, c, isa, &serial))
        return;
    double worst = mesh_difference(&other, &serial, &different);
    CHECK(different && worst <= (rounds ? 2e-2 : 2e-6),
          "%s: %zu gradients of floats as %d bf16 differ from those of floats, by %.2e", cell, different, isa->parts,
          worst);
    for (int mesh = 0; mesh < 8; mesh++)
        for (int chunks = 1; chunks <= 6; chunks += chunks == 1 ? 2 : 3) {
            struct plan_config cut = c;
            cut.mesh[M_BATCH] = 1 + mesh % 4;
            cut.mesh[M_LAYER] = 1 + mesh / 4;
            cut.chunks = chunks;
            cut.queues = 1 + mesh % 2;
            check_against(&serial, m, cut, isa, cut.queues, cell, 0, true);
            cut.checkpoint = chunks == 1 ? 3 : 0;
            if (cut.checkpoint)
                check_against(&serial, m, cut, isa, 3, cell, 0, true);
        }
    struct plan_config hidden = c;
    hidden.mesh[M_HIDDEN] = 2;
    check_against(&other, m, hidden, isa, 1, cell, 1e-5, false);
    mesh_close(&serial);
    mesh_close(&other);
    unroll_model_free(m);
}

static void check_bf16x3(const char *cell, int bidirectional)
{
    const struct cpu_isa *amx = cpu_isa_find(ISA_AMX, DTYPE_F32), *avx512 = cpu_isa_find(ISA_AVX512, DTYPE_F32);
    if (amx)
        check_tiles(cell, bidirectional, amx);
    else
        check_skip("this machine has no amx: cuts of plans with bf16x3 splits");
    if (avx512 && cpu_isa_with_bf16(avx512))
        check_tiles(cell, bidirectional, cpu_isa_with_bf16(avx512));
    else
        check_skip("this machine has no avx512_bf16: cuts of plans of floats rounded to bf16");
}

static bool uses_layout(const unroll_model *m, struct plan_config c, enum layout layout)
{
    struct plan *p;
    bool uses = false;
    if (!CHECK(plan_new(m, &c, &p) == UNROLL_OK, "%s", unroll_last_error()))
        return false;
    for (int i = 0; i < p->buffers; i++) uses |= p->buffer[i].layout == (int)layout;
    plan_free(p);
    return uses;
}

/* Recurrent weights that are read from far memory are split on the fly: the bits of those split in advance. */
static void check_split_late(const char *cell, int bidirectional)
{
    const struct cpu_isa *isa = cpu_isa_find(ISA_AMX, DTYPE_F32);
    if (!isa) {
        check_skip("this machine has no amx: bf16x3 splits that are split late");
        return;
    }
    unroll_model *m = new_model_of(cell, bidirectional, 1, 0.25f, 24);
    struct mesh_run near;
    struct plan_config c = rows_config(1, 1, 1, 1, DTYPE_F32);
    c.B = 23;
    c.shards = 2;
    c.traits.splits = true;
    if (!open_with_gradients(m, c, isa, &near))
        return;
    c.traits.near = 1;
    c.threads = 2;
    for (int way = 0; way < 6; way++) {
        c.mesh[M_BATCH] = 1 + way % 2;
        c.chunks = 1 + way / 2;
        check_against(&near, m, c, isa, 1 + way % 3, cell, 0, true);
    }
    CHECK(uses_layout(m, c, LAYOUT_WHOLE) && uses_layout(m, c, LAYOUT_WHOLE_BACK), "%s: nothing was split late", cell);
    mesh_close(&near);
    unroll_model_free(m);
}

/* The clipped update after a cut is the serial one: every weight counts once in the norm. */
static void check_update(void)
{
    const struct cpu_isa *isa = cpu_isa_find(ISA_SCALAR, DTYPE_F64);
    unroll_model *m = new_model("lstm", 0, 1, 0);
    struct mesh_run serial, run;
    unroll_status status = mesh_open(m, mesh_config(12, 1, 1, 1, 1, DTYPE_F64), isa, 1, &serial);
    if (status == UNROLL_OK)
        status = mesh_gradients(&serial);
    if (status == UNROLL_OK)
        status = mesh_open(m, mesh_config(12, 2, 2, 2, 3, DTYPE_F64), isa, 1, &run);
    if (status == UNROLL_OK)
        status = mesh_gradients(&run);
    if (!CHECK(status == UNROLL_OK, "%s", unroll_last_error()))
        return;
    for (int rank = 0; rank < run.ranks; rank++) {
        const double *one = executable_buffer(serial.executable[0], "norms"),
                     *here = executable_buffer(run.executable[rank], "norms");
        for (int i = 0; i < m->parameters; i++)
            CHECK(here[i] >= one[i] * (1 - 1e-12) && here[i] <= one[i] * (1 + 1e-12),
                  "rank %d: the squared norm of %s is %.17g, serial %.17g", rank, m->parameter[i].name, here[i],
                  one[i]);
        const double *weight = executable_buffer(run.executable[rank], "weight_sum");
        CHECK(*weight == *(double *)executable_buffer(serial.executable[0], "weight_sum"), "rank %d: weight %g", rank,
              *weight);
    }
    CHECK(mesh_update(&serial) == UNROLL_OK && mesh_update(&run) == UNROLL_OK, "%s", unroll_last_error());
    mesh_close(&run);
    mesh_close(&serial);
    unroll_model_free(m);
}

/* ---- messages -------------------------------------------------------------------------- */

static double bytes_planned(const struct plan *p, bool packs)
{
    double bytes = 0;
    for (int i = 0; i < p->ops; i++) bytes += (p->op[i].phase == PHASE_PACK) == packs ? op_sends(p, &p->op[i]) : 0;
    return bytes;
}

static void check_rank_sent(const struct mesh_run *run, int rank, bool packs, double before, const char *what)
{
    double sent = (double)comm_totals(run->comm[rank]).sent - before, planned = bytes_planned(run->plan[rank], packs);
    CHECK(sent == planned, "%s: rank %d of %d sent %.0f bytes%s, and its plan says %.0f", what, rank, run->ranks, sent,
          packs ? " after the load" : "", planned);
}

/* Rows are full here: for ragged ones the plan states the maximum. */
static void check_mesh_sent(const unroll_model *m, struct plan_config c, const char *cell)
{
    struct mesh_run run;
    char what[128];
    double before[RANKS_MAX];
    snprintf(what, sizeof what, "%s %dx%dx%d chunks %d checkpoints %u shards %u%s", cell, c.mesh[M_BATCH],
             c.mesh[M_LAYER], c.mesh[M_HIDDEN], c.chunks, c.checkpoint, c.shards, c.exact ? " exact" : "");
    c.lengths = false;
    unroll_status status = mesh_open(m, c, cpu_isa_find(isa_best(), DTYPE_F32), 1, &run);
    for (int rank = 0; rank < run.ranks && status == UNROLL_OK; rank++) {
        check_rank_sent(&run, rank, true, 0, what);
        before[rank] = (double)comm_totals(run.comm[rank]).sent;
    }
    if (status == UNROLL_OK)
        status = mesh_gradients(&run);
    if (status == UNROLL_OK)
        status = mesh_update(&run);
    CHECK(status == UNROLL_OK, "%s: %s", what, unroll_last_error());
    for (int rank = 0; rank < run.ranks && status == UNROLL_OK; rank++)
        check_rank_sent(&run, rank, false, before[rank], what);
    mesh_close(&run);
}

/* Buckets of all gradients are large enough for halving or a ring; other sums use the tree. */
static void check_sent(const char *cell, int bidirectional, int projection)
{
    unroll_model_config s = unroll_model_config_default();
    unroll_model *m = NULL;
    s.cell = cell;
    s.layers = 2;
    s.hidden = 23;
    s.projection = projection;
    s.bidirectional = bidirectional;
    s.tokens = 1;
    s.input = s.output = 11;
    s.loss = "xent";
    CHECK(unroll_model_new(&s, 1, &m) == UNROLL_OK, "model: %s", unroll_last_error());
    for (int mesh = 0; mesh < 12; mesh++) {
        struct plan_config c = rows_config(1 + mesh % 3, 1 + mesh / 3 % 2, 1 + mesh / 6, mesh % 4 + 1, DTYPE_F32);
        c.bucket = mesh & 1 ? 500 : 1 << 20;
        c.checkpoint = mesh % 5 == 4 ? 3 : 0;
        c.chunks = c.checkpoint ? 1 : c.chunks;
        c.B = 24;
        check_mesh_sent(m, c, cell);
        c.shards = 5;
        c.exact = !projection;
        check_mesh_sent(m, c, cell);
    }
    unroll_model_free(m);
}

/* A loss of whole sequences cannot be cut along time. */
static void check_along_time(void)
{
    unroll_model *m = new_model("mingru", 0, 0, 0);
    struct plan_config c = mesh_config(256, 1, 1, 1, 1, DTYPE_F32);
    struct plan *p = NULL;
    c.mesh[M_TIME] = 2;
    c.traits.pieces = true;
    CHECK_REFUSED(plan_new(m, &c, &p), UNROLL_UNSUPPORTED, "operation 'sequence_loss z' needs the whole axis");
    c.mesh[M_TIME] = 1;
    c.T = 60000;
    CHECK_REFUSED(plan_new(m, &c, &p), UNROLL_UNSUPPORTED, "too long to align");
    c.traits.sequence_losses = false;
    CHECK_REFUSED(plan_new(m, &c, &p), UNROLL_UNSUPPORTED, "on the CPU only");
    unroll_model_free(m);
}

int main(int count, char **words)
{
    bool all = !check_quick(count, words);
    check_products("lstm", 0, 1, 0.25f, DTYPE_F64);
    check_products("gru-before", 0, 1, 0, DTYPE_F64);
    check_products("rnn", 1, 1, 0.25f, DTYPE_F64);
    check_shards(DTYPE_F64);
    check_exact("gru-before", 0, DTYPE_F32);
    pool = "mean+max";
    check_products("gru", 1, 0, 0.25f, DTYPE_F64);
    pool = "last";
    check_exact("lstm", 1, DTYPE_F32);
    check_bf16x3("gru", 1);
    pool = NULL;
    check_sent("gru-before", 1, 0);
    loss = "crf";
    check_products("gru", 1, 0, 0.25f, DTYPE_F64);
    check_exact("lstm", 0, DTYPE_F32);
    loss = "ctc";
    check_products("rnn", 1, 0, 0, DTYPE_F64);
    check_exact("gru", 1, DTYPE_F32);
    check_along_time();
    loss = "xent";
    check_update();
    check_bf16x3("lstm", 0);
    check_split_late("lstm", 0);
    if (all) {
        check_bf16x3("gru", 0);
        check_bf16x3("gru-before", 1);
        check_split_late("gru-before", 1);
        check_bf16x3("rnn", 1);
        check_products("gru", 0, 0, 0, DTYPE_F64);
        check_products("lstm", 1, 0, 0, DTYPE_F64);
        check_products("lstm", 0, 1, 0.25f, DTYPE_F32);
        check_shards(DTYPE_F32);
        check_exact("lstm", 0, DTYPE_F64);
        check_exact("gru", 1, DTYPE_F32);
        check_exact("mingru", 0, DTYPE_F32);
        check_sent("lstm", 0, 0);
        check_sent("lstm", 0, 10);
        check_sent("mingru", 0, 0);
    }
    return check_finish("mesh");
}
