/* The persistent recurrent kernels, run on the host (fake_cuda) and compared with plain loops: every cell, operand,
 * direction and kind of exchange, for small shapes with lengths, resets and chunks. Each runs twice with other orders
 * of threads, which must give the same bits. With the argument "tiny", a few tiny ones for ThreadSanitizer; with
 * "real", only the sizes of real networks. */
/* test: kinds=plain,long-thread; if=g++; args-thread=tiny; seconds=60 */
/* test: kinds=long-plain; if=g++; args=real; seconds=300 */
extern "C" {
#include "extensions/cuda/persistent.h"
#include "extensions/cuda/stopped.h"
}
#include "nn/vector/v_f32.h"
#include "check.h"
#include "fake_cuda/clock.h"
#include "fake_cuda/runtime.h"
#include "rnn_plain.h"
#include <math.h>

/* ---- rounding ---------------------------------------------------------------------------- */

static float round_bits(float a, uint32_t half)
{
    uint32_t x = v_bits_of(a);
    return v_of_bits((x + half - 1 + (x / (2 * half) & 1)) & ~(2 * half - 1));
}
static float as_it_is(float a) { return a; }
static float round_tf32(float a) { return v_of_bits((v_bits_of(a) + 0x1000) & 0xffffe000); }
static float round_bf16(float a) { return round_bits(a, 0x8000); }
static float round_fp16(float a) { return fabsf(a) < 0x1p-14f ? rintf(a * 0x1p24f) * 0x1p-24f : round_bits(a, 0x1000); }

static float (*const round_of[GPU_OPERANDS])(float) = {as_it_is, round_tf32, round_bf16, round_fp16};

/* The effect of another order of sums: one unit of the operand where its rounding changes. */
static const float tolerance_of[GPU_OPERANDS] = {2e-6f, 2e-3f, 8e-3f, 2e-3f};

/* ---- a case ------------------------------------------------------------------------------ */

struct test_case {
    const char *cell;
    uint32_t T, B, U;
    enum gpu_operand operand;
    bool direction, ragged, resets;
    enum tiling_algorithm algorithm;
    uint32_t blocks, shared; /* lower limit for a group, or 0 for an H200; bytes of a block */
};

static uint64_t random_state = 1;
static float random_float(float scale)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return ((float)(random_state >> 40) * 0x1p-23f - 1) * scale;
}
static floats random_floats(size_t n, float scale)
{
    floats v(n);
    for (float &x : v) x = random_float(scale);
    return v;
}

static struct plain make_plain(const struct test_case &c)
{
    struct plain p = {};
    p.cell = cell_find(cells_scalar, c.cell);
    p.T = c.T, p.B = c.B, p.U = c.U, p.direction = c.direction;
    p.round = round_of[c.operand];
    p.clip = 0.5f;
    uint32_t gates = (uint32_t)cell_inputs_from(p.cell->declaration, FROM_H | FROM_INTERMEDIATE);
    const size_t steps = (size_t)c.T * c.B, U = c.U, S = p.S();
    p.weights = random_floats(gates * U * U, 1.5f / sqrtf((float)U));
    p.bias = random_floats(gates * U, 0.5f);
    p.vectors = random_floats(p.V() * U + 1, 0.5f);
    p.g = random_floats(steps * p.G() * U, 1);
    p.h0 = random_floats(c.B * U, 1), p.s0 = random_floats((S - 1) * c.B * U, 1);
    p.y.resize(steps * U), p.s.resize(steps * (S - 1) * U), p.intermediate.resize(steps * p.L() * U);
    p.hn.resize(c.B * U), p.sn.resize((S - 1) * c.B * U);
    p.dy = random_floats(steps * U, 1);
    p.dhn = random_floats(c.B * U, 1), p.dsn = random_floats((S - 1) * c.B * U, 1);
    p.dh0 = random_floats(c.B * U, 1), p.ds0 = random_floats((S - 1) * c.B * U, 1);
    p.dv.resize(steps * p.V() * U);
    for (uint32_t b = 0; c.ragged && b < c.B; b++)
        p.lengths.push_back(
            (int32_t)(random_state = random_state * 6364136223846793005u + 3, (random_state >> 33) % (c.T + 1)));
    for (uint32_t i = 0; c.resets && i < steps; i++) p.reset.push_back(random_float(1) > 0.4f);
    return p;
}

/* ---- the kernel on the host -------------------------------------------------------------- */

static const struct tiling_device h200 = {132, 227 * 1024, 65536, {132, 66, 32, 16, 7}, 1, 0, 0, 0};

static struct tiling_device small_device(const struct test_case &c)
{
    struct tiling_device d = {};
    d.multiprocessors = 24;
    d.shared_bytes = c.shared;
    d.registers = 65536;
    d.cooperative = 1;
    for (uint32_t i = 0; i < 5; i++) d.clusters[i] = 1u << i >= c.blocks && 1u << i < 2 * c.blocks ? 2 : 0;
    if (c.algorithm == ALGORITHM_GRID)
        d.multiprocessors = 2 * c.blocks;
    return d;
}

static struct persistent_view view(floats &v, size_t step, size_t row, size_t field)
{
    struct persistent_view f = {v.empty() ? NULL : v.data(), (uint32_t)step, (uint32_t)row, (uint32_t)field, 0};
    return f;
}

static struct persistent_args args_of(struct plain &p, const struct tiling &t)
{
    const size_t U = p.U, S = p.S(), B = p.B;
    struct persistent_args a = {};
    a.tiling = t;
    a.g = view(p.g, B * p.G() * U, p.G() * U, U);
    a.h0 = view(p.h0, 0, U, 0), a.s0 = view(p.s0, 0, U, B * U);
    a.y = view(p.y, B * U, U, 0), a.s = view(p.s, B * (S - 1) * U, (S - 1) * U, U);
    a.intermediate = view(p.intermediate, B * p.L() * U, p.L() * U, U);
    a.hn = view(p.hn, 0, U, 0), a.sn = view(p.sn, 0, U, B * U);
    a.dy = view(p.dy, B * U, U, 0);
    a.dhn = view(p.dhn, 0, U, 0), a.dsn = view(p.dsn, 0, U, B * U);
    a.dh0 = view(p.dh0, 0, U, 0), a.ds0 = view(p.ds0, 0, U, B * U);
    a.dv = view(p.dv, B * p.V() * U, p.V() * U, U);
    a.vector = view(p.vectors, 0, 0, U);
    a.weights = p.weights.data(), a.bias = p.bias.data();
    a.lengths = p.lengths.empty() ? NULL : p.lengths.data();
    a.reset = p.reset.empty() ? NULL : p.reset.data();
    a.reset_row = p.B;
    a.steps = p.T, a.rows = p.B, a.units = p.U;
    persistent_gates(p.cell->declaration, a.gate);
    a.direction = p.direction, a.trained = 1, a.add_dh0 = a.add_ds0 = 1;
    a.clip = p.clip;
    return a;
}

static struct wait_record record;
static std::vector<unsigned char> exchange; /* of the last launch */

/* Runs a kernel; returns NULL or why it ended. */
static const char *launch_kernel(struct fake_kernel *kernel, struct persistent_args &a)
{
    const struct tiling &t = a.tiling;
    exchange.assign(t.exchange_bytes + 16, 0xff);
    record = {};
    a.exchange = (void *)(((uintptr_t)exchange.data() + 15) & ~(uintptr_t)15);
    a.record = &record, a.kernel = 1;
    struct fake_launch launch = {};
    launch.grid = {t.groups * t.cluster, 1, 1};
    launch.block = {TILING_WARPS * 32, 1, 1};
    launch.cluster = {t.algorithm == ALGORITHM_CLUSTER ? t.cluster : 1, 1, 1};
    launch.cooperative = t.algorithm == ALGORITHM_GRID;
    launch.shared = t.shared_bytes;
    launch.clustered = t.algorithm == ALGORITHM_CLUSTER;
    launch.args = &a;
    return fake_run(kernel, &launch);
}

static bool run_kernel(const struct test_case &c, struct plain &p, bool backward, struct tiling &t)
{
    const struct tiling_device device = c.blocks ? small_device(c) : h200;
    struct tiling_problem problem = {};
    const char *why;
    char name[64];
    persistent_describe(p.cell->declaration, &problem);
    problem.steps = c.T, problem.rows = c.B, problem.units = c.U;
    problem.operand = c.operand, problem.backward = backward;
    tiling_choose(&problem, &device, c.algorithm, &t, &why);
    persistent_name(p.cell->declaration, c.operand, backward, name, sizeof name);
    struct fake_kernel *kernel = fake_kernel_find(name);
    if (!CHECK(!why && kernel, "%s, U = %u: %s", name, c.U, why ? why : "there is no such kernel"))
        return false;
    struct persistent_args a = args_of(p, t);
    const char *wrong = launch_kernel(kernel, a);
    return CHECK(!wrong, "%s, T = %u, B = %u, U = %u, %u blocks: %s", name, c.T, c.B, c.U, t.cluster,
                 wrong ? wrong : "");
}

/* ---- comparing --------------------------------------------------------------------------- */

static void compare(const struct test_case &c, const char *what, const floats &ours, const floats &plain)
{
    if (ours.empty())
        return;
    float worst = 0, scale = 1;
    size_t at = 0;
    for (size_t i = 0; i < ours.size(); i++) {
        float difference = fabsf(ours[i] - plain[i]);
        scale = fmaxf(scale, fabsf(plain[i]));
        if (!(difference <= worst))
            worst = difference, at = i;
    }
    CHECK(worst <= tolerance_of[c.operand] * scale,
          "%s %s, T = %u, B = %u, U = %u, %s, %u blocks%s%s%s: %s[%zu] is %g, not %g", c.cell, operand_name(c.operand),
          c.T, c.B, c.U, c.algorithm == ALGORITHM_GRID ? "grid" : "cluster", c.blocks, c.direction ? ", backwards" : "",
          c.ragged ? ", ragged" : "", c.resets ? ", resets" : "", what, at, (double)ours[at], (double)plain[at]);
}

/* Selects what forward saves in g; the other fields may have any value. */
static floats saved(const struct plain &p, bool backward)
{
    const size_t wide = p.G() * p.U, kept = backward ? wide : p.cell->declaration->saved * p.U;
    floats v;
    for (size_t i = 0; i < p.g.size(); i++)
        if (i % wide < kept)
            v.push_back(p.g[i]);
    return v;
}

static void compare_all(const struct test_case &c, const struct plain &a, const struct plain &b, bool backward)
{
    compare(c, "g", saved(a, backward), saved(b, backward));
    compare(c, "y", a.y, b.y);
    compare(c, "s", a.s, b.s);
    compare(c, "link", a.intermediate, b.intermediate);
    compare(c, "hn", a.hn, b.hn);
    compare(c, "sn", a.sn, b.sn);
    if (!backward)
        return;
    compare(c, "dh0", a.dh0, b.dh0);
    compare(c, "ds0", a.ds0, b.ds0);
    compare(c, "dv", a.dv, b.dv);
}

static bool same_bits(const floats &a, const floats &b)
{
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

/* again: once more, in another order of threads. */
static void test(const struct test_case &c, bool again_too)
{
    struct plain plain = make_plain(c), ours = plain, again = plain;
    struct tiling t;
    plain_forward(plain);
    fake_seed(0);
    if (!run_kernel(c, ours, false, t))
        return;
    compare_all(c, ours, plain, false);
    fake_seed(random_state | 1);
    if (again_too && run_kernel(c, again, false, t))
        CHECK(same_bits(ours.g, again.g) && same_bits(ours.y, again.y), "%s %s: another order, other bits", c.cell,
              operand_name(c.operand));
    ours.y = plain.y, ours.s = plain.s, ours.g = plain.g; /* so that errors do not accumulate */
    again = ours;
    plain_backward(plain);
    fake_seed(0);
    if (!run_kernel(c, ours, true, t))
        return;
    compare_all(c, ours, plain, true);
    fake_seed(random_state | 2);
    if (again_too && run_kernel(c, again, true, t))
        CHECK(same_bits(ours.g, again.g) && same_bits(ours.dh0, again.dh0), "%s %s: another order, other bits", c.cell,
              operand_name(c.operand));
}

/* ---- packets that are lost, late or out of order ----------------------------------------- */

/* Runs the forward kernel of a case with one disturbed packet. Returns whether the kernel stopped itself. */
static bool disturbed(const struct test_case &c, struct plain &p, enum fake_disturbance what, unsigned milliseconds,
                      struct tiling &t)
{
    fake_seed(0);
    fake_disturb(what, 300, milliseconds);
    const struct tiling_device device = small_device(c);
    struct tiling_problem problem = {};
    const char *why;
    char name[64];
    persistent_describe(p.cell->declaration, &problem);
    problem.steps = c.T, problem.rows = c.B, problem.units = c.U, problem.operand = c.operand;
    tiling_choose(&problem, &device, c.algorithm, &t, &why);
    persistent_name(p.cell->declaration, c.operand, false, name, sizeof name);
    struct persistent_args a = args_of(p, t);
    const char *wrong = launch_kernel(fake_kernel_find(name), a);
    CHECK(fake_disturbed(), "%s: no packet was disturbed", name);
    CHECK(!wrong || fake_stopped(), "%s: %s", name, wrong ? wrong : "");
    return wrong && fake_stopped();
}

/* The record names what was lost: its packet, or the first round that misses it. */
static void check_record(const struct test_case &c, const struct tiling &t)
{
    char text[300], wanted[100];
    CHECK(record.kernel == 1 && record.block < t.groups * t.cluster, "a record of kernel %u, block %u", record.kernel,
          record.block);
    stopped_sentence(&t, "test", c.operand, &record, text, sizeof text);
    if (t.algorithm == ALGORITHM_GRID) {
        const size_t first = ((uintptr_t)exchange.data() + 15) / 16 * 16;
        CHECK(first + record.at == (uintptr_t)fake_disturbed(), "the record is of the packet at %#x, not at %#zx",
              record.at, (size_t)fake_disturbed() - first);
        CHECK(record.at / t.operand_buffer % t.ring == record.round % t.ring, "a record of round %u", record.round);
        const uint32_t row = record.at % t.operand_buffer % TILING_COLUMN / TILING_PACKET;
        snprintf(wanted, sizeof wanted, "in round %u for row %u of chunk ", record.round, row);
    } else {
        snprintf(wanted, sizeof wanted, "in round %u for the operand of chunk %u", record.round, record.at);
    }
    CHECK(strstr(text, wanted) && strstr(text, "waited more than 5 s"), "'%s' does not say '%s'", text, wanted);
}

static void test_disturbed(const struct test_case &c)
{
    struct plain plain = make_plain(c), undisturbed = plain, ours = plain;
    struct tiling t;
    if (!run_kernel(c, undisturbed, false, t))
        return;
    CHECK(!disturbed(c, ours = plain, FAKE_SWAP, 0, t) && same_bits(ours.y, undisturbed.y),
          "a packet that the next one overtakes changes the result");
    CHECK(!disturbed(c, ours = plain, FAKE_DELAY, 1000 * WAIT_SECONDS / 2, t) && same_bits(ours.y, undisturbed.y),
          "a late packet changes the result");
    CHECK(disturbed(c, ours = plain, FAKE_DELAY, 100000 * WAIT_SECONDS, t), "a wait beyond the limit does not end");
    check_record(c, t);
    CHECK(disturbed(c, ours = plain, FAKE_DROP, 0, t), "a wait for a packet that is lost does not end");
    check_record(c, t);
    fake_disturb(FAKE_UNDISTURBED, 0, 0);
}

/* ---- the clock --------------------------------------------------------------------------- */

static const char *const ways[] = {"step by step", "cluster", "grid", "walk"};

enum { TIMED_STEPS = 2 * TILING_TURN };

/* Cycles of TIMED_STEPS steps, in total and by parts; one of the steps has a grid fence. */
struct timed {
    double step, part[CLOCK_PARTS];
    struct tiling t;
};

static struct timed time_case(struct test_case c, bool backward)
{
    struct timed timed = {};
    struct plain p = (c.T = TIMED_STEPS + 2, make_plain(c));
    struct tiling_problem problem = {};
    struct tiling t;
    const char *why;
    persistent_describe(p.cell->declaration, &problem);
    problem.steps = c.T, problem.rows = c.B, problem.units = c.U, problem.operand = c.operand,
    problem.backward = backward;
    tiling_choose(&problem, &h200, c.algorithm, &t, &why); /* to get its chunks */
    const unsigned rounds = t.phases * t.chunks;
    fake_seed(0);
    fake_clock_rounds(rounds, (1 + TIMED_STEPS) * rounds);
    if (run_kernel(c, p, backward, timed.t))
        timed.step = fake_clock_taken() / TIMED_STEPS;
    for (int i = 0; i < CLOCK_PARTS; i++) timed.part[i] = fake_clock_of((enum clock_part)i) / TIMED_STEPS;
    fake_clock_rounds(0, 0);
    return timed;
}

/* Prints the clock's cycles of a step, which must be near the planner's price. */
static void test_clock(const struct test_case &c)
{
    for (int backward = 0; backward < 2; backward++) {
        const struct timed f = time_case(c, backward);
        const double price = f.t.cycles / (TIMED_STEPS + 2);
        printf(
            "%s %s, %u rows, %u units, %s: %s of %u x %u, %u x %u rows: %.0f cycles a step (wait %.0f, product %.0f, "
            "cell %.0f, send %.0f, after %.0f); the planner's price %.0f\n",
            c.cell, operand_name(c.operand), c.B, c.U, backward ? "backward" : "forward", ways[f.t.algorithm],
            f.t.groups, f.t.members, f.t.chunks, f.t.chunk_rows, f.step, f.part[CLOCK_WAIT], f.part[CLOCK_PRODUCT],
            f.part[CLOCK_CELL], f.part[CLOCK_SEND], f.part[CLOCK_AFTER], price);
        CHECK(fabs(price / f.step - 1) <= 0.15,
              "%s %s, %u rows, %u units%s: the planner's price is %.0f cycles, the clock's %.0f", c.cell,
              operand_name(c.operand), c.B, c.U, backward ? ", backward" : "", price, f.step);
    }
}

int main(int count, char **argument)
{
    static const struct test_case tiny[] = {
        {"lstm", 3, 9, 16, OPERAND_BF16, false, true, true, ALGORITHM_CLUSTER, 2, 200000},
        {"gru_before", 2, 3, 16, OPERAND_TF32, true, true, false, ALGORITHM_CLUSTER, 2, 200000},
        {"gru", 3, 9, 16, OPERAND_F32, false, false, true, ALGORITHM_GRID, 2, 200000}};
    static const struct test_case cases[] = {
        {"rnn", 4, 1, 16, OPERAND_F32, false, false, false, ALGORITHM_CLUSTER, 1, 200000},
        {"rnn_relu", 5, 17, 24, OPERAND_F32, true, true, true, ALGORITHM_CLUSTER, 2, 200000},
        {"lstm", 6, 9, 40, OPERAND_F32, false, true, true, ALGORITHM_CLUSTER, 4, 200000},
        {"lstm", 4, 33, 32, OPERAND_F32, true, true, false, ALGORITHM_CLUSTER, 2, 200000},
        {"lstm", 5, 16, 64, OPERAND_BF16, false, false, true, ALGORITHM_CLUSTER, 2, 200000},
        {"lstm", 3, 8, 128, OPERAND_BF16, false, true, false, ALGORITHM_CLUSTER, 8, 200000},
        {"lstm_peephole", 3, 5, 20, OPERAND_F32, false, true, true, ALGORITHM_CLUSTER, 2, 200000},
        {"lstm_peephole_clip", 3, 5, 16, OPERAND_TF32, true, true, true, ALGORITHM_CLUSTER, 2, 200000},
        {"lstm_clip", 3, 5, 16, OPERAND_F16, false, false, false, ALGORITHM_GRID, 2, 200000},
        {"gru", 4, 12, 48, OPERAND_F32, false, true, true, ALGORITHM_CLUSTER, 2, 200000},
        {"gru", 4, 20, 64, OPERAND_TF32, true, true, true, ALGORITHM_CLUSTER, 4, 200000},
        {"gru", 5, 33, 40, OPERAND_F16, false, true, true, ALGORITHM_GRID, 3, 200000},
        {"gru_before", 5, 9, 24, OPERAND_F32, false, true, true, ALGORITHM_CLUSTER, 2, 200000},
        {"gru_before", 4, 17, 40, OPERAND_BF16, true, true, true, ALGORITHM_GRID, 3, 200000},
        {"lstm", 4, 40, 72, OPERAND_F32, true, true, true, ALGORITHM_GRID, 5, 200000},
        {"lstm", 9, 3, 56, OPERAND_BF16, false, true, true, ALGORITHM_GRID, 7, 200000},
        {"mingru", 7, 9, 40, OPERAND_F32, false, true, true, ALGORITHM_PORTABLE, 1, 200000},
        {"mingru", 5, 3, 24, OPERAND_BF16, true, false, true, ALGORITHM_PORTABLE, 1, 200000},
        {"mingru", 9, 17, 16, OPERAND_F32, true, true, false, ALGORITHM_PORTABLE, 1, 200000},
        {"minlstm", 7, 5, 24, OPERAND_F32, true, true, true, ALGORITHM_PORTABLE, 1, 200000},
        {"sru", 7, 5, 24, OPERAND_F32, false, true, true, ALGORITHM_PORTABLE, 1, 200000},
        {"indrnn", 7, 5, 24, OPERAND_F32, false, true, true, ALGORITHM_PORTABLE, 1, 200000},
        {"paragru", 7, 5, 24, OPERAND_F32, true, true, true, ALGORITHM_PORTABLE, 1, 200000},
        {"paralstm", 7, 5, 24, OPERAND_BF16, false, true, true, ALGORITHM_PORTABLE, 1, 200000},
        {"lstm", 40, 3, 24, OPERAND_BF16, false, true, true, ALGORITHM_GRID, 3, 200000}, /* packets are emptied */
        {"gru_before", 20, 9, 24, OPERAND_F32, true, false, false, ALGORITHM_GRID, 3, 200000},
        {"lstm", 3, 6, 128, OPERAND_TF32, false, false, false, ALGORITHM_CLUSTER, 4, 227 * 1024}};
    static const struct test_case lost[] = {
        {"lstm", 20, 9, 40, OPERAND_BF16, false, false, false, ALGORITHM_GRID, 3, 200000},
        {"gru_before", 20, 9, 40, OPERAND_F32, true, true, false, ALGORITHM_GRID, 3, 200000},
        {"gru", 20, 9, 40, OPERAND_TF32, false, false, false, ALGORITHM_CLUSTER, 4, 200000}};
    static const struct test_case timed[] = {
        {"lstm", 0, 16, 768, OPERAND_BF16, false, false, false, ALGORITHM_PORTABLE, 0, 0},
        {"lstm", 0, 64, 512, OPERAND_BF16, false, false, false, ALGORITHM_PORTABLE, 0, 0},
        {"lstm", 0, 8, 256, OPERAND_BF16, false, false, false, ALGORITHM_CLUSTER, 0, 0},
        {"lstm", 0, 8, 256, OPERAND_BF16, false, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 0, 16, 128, OPERAND_F16, false, false, false, ALGORITHM_CLUSTER, 0, 0},
        {"gru", 0, 16, 192, OPERAND_TF32, false, false, false, ALGORITHM_CLUSTER, 0, 0},
        {"gru_before", 0, 8, 128, OPERAND_BF16, false, false, false, ALGORITHM_CLUSTER, 0, 0},
        {"mingru", 0, 16, 768, OPERAND_BF16, false, false, false, ALGORITHM_PORTABLE, 0, 0},
        {"lstm", 0, 8, 64, OPERAND_F32, false, false, false, ALGORITHM_CLUSTER, 0, 0}};
    /* Sizes of real networks: every H with every type, and every B with both. */
    static const struct test_case real[] = {
        {"lstm", 2, 1, 512, OPERAND_F32, false, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 16, 650, OPERAND_TF32, true, true, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 20, 768, OPERAND_F16, false, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 1, 1024, OPERAND_BF16, false, false, true, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 20, 650, OPERAND_F32, false, true, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 16, 512, OPERAND_BF16, true, false, false, ALGORITHM_CLUSTER, 0, 0},
        {"lstm", 2, 16, 1024, OPERAND_F32, false, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 64, 768, OPERAND_F32, false, true, true, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 128, 512, OPERAND_F32, false, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 128, 1024, OPERAND_BF16, false, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 64, 1024, OPERAND_F16, true, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 20, 1024, OPERAND_TF32, false, true, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 128, 768, OPERAND_TF32, false, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 64, 650, OPERAND_BF16, false, false, true, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 128, 650, OPERAND_F16, false, true, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 64, 512, OPERAND_TF32, true, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 1, 512, OPERAND_F16, false, false, false, ALGORITHM_GRID, 0, 0},
        {"lstm", 2, 16, 768, OPERAND_BF16, false, false, false, ALGORITHM_GRID, 0, 0},
        {"gru", 2, 64, 768, OPERAND_F32, false, false, false, ALGORITHM_GRID, 0, 0},
        {"gru_before", 2, 20, 512, OPERAND_F32, false, false, false, ALGORITHM_GRID, 0, 0}};
    enum { SMALLEST = 6 };
    const bool few = count > 1 && strcmp(argument[1], "tiny") == 0, all = count > 1 && strcmp(argument[1], "real") == 0;
    for (size_t i = 0; i < sizeof real / sizeof *real && !few; i++)
        if (all || i < SMALLEST)
            test(real[i], false);
    if (all)
        return check_finish("test_persistent");
    for (const struct test_case &c : tiny) test(c, true);
    for (const struct test_case &c : cases)
        if (!few)
            test(c, true);
    for (const struct test_case &c : lost)
        if (!few)
            test_disturbed(c);
    for (const struct test_case &c : timed)
        if (!few)
            test_clock(c);
    return check_finish("test_persistent");
}
