/* Products of floats as sums of three bf16, or rounded to one (nn/vector/v_tiles.h), on a machine with AMX or
 * AVX512_BF16. Weights are packed as right factors, rows as left ones, and their product is compared with double, in
 * all sizes and pieces. Values include zeros, subnormal, tiny, huge and non-finite ones. All buffers end at an
 * inaccessible page, because sanitizers do not check loads and stores of tiles. "quick": fewer problems. */
/* test: kinds=plain,long-memory; args-memory=quick */
#include "base/system/processor.h"
#include "base/dtype.h"
#include "base/philox.h"
#include "check.h"
#include "device/cpu/kernels/kernel.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MAX = 300,
    GATES = 3,
    STEPS = (MAX + BF16X3_K - 1) / BF16X3_K,
    TILES = (MAX + BF16X3_COLUMNS - 1) / BF16X3_COLUMNS
};
enum { OTHER = 7 }; /* surrounds the values of a product */

/* c [m][n] = start or bias + a [m][k] w [n][k]. */
struct problem {
    size_t m, n, k, a_row, c_row, a_count, c_count;
    enum start start;
    bool has_bias;
    float *a, *w, *bias, *c;
};

/* Maximum sizes of the buffers of a problem. */
enum place { A, W, BIAS, C, GOT, AGAIN, LEFT, RIGHT, PLACES };
static const size_t max_bytes[PLACES] = {
    [A] = MAX * (MAX + OTHER) * sizeof(float),
    [W] = MAX * MAX * sizeof(float),
    [BIAS] = MAX * sizeof(float),
    [C] = MAX * (MAX + OTHER) * sizeof(float),
    [GOT] = MAX * (MAX + OTHER) * sizeof(float),
    [AGAIN] = MAX * (MAX + OTHER) * sizeof(float),
    [LEFT] = MAX * STEPS * BF16X3_PARTS * LEFT_PART,
    [RIGHT] = GATES * TILES * STEPS * BF16X3_PARTS * RIGHT_PART,
};
static char *end_of[PLACES];

static struct problem p;
static char *left, *right;
static float *got, *again;

static void make_places(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < PLACES; i++) {
        const size_t bytes = (max_bytes[i] + page - 1) / page * page;
        char *at = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED || mprotect(at + bytes, page, PROT_NONE))
            abort();
        end_of[i] = at + bytes;
    }
}

static void *place(enum place which, size_t bytes)
{
    if (bytes > max_bytes[which])
        abort();
    return end_of[which] - bytes;
}

static void place_problem(void)
{
    p.a_count = (p.m - 1) * p.a_row + p.k;
    p.c_count = (p.m - 1) * p.c_row + p.n;
    p.a = place(A, p.a_count * sizeof(float));
    p.w = place(W, p.n * p.k * sizeof(float));
    p.bias = place(BIAS, p.n * sizeof(float));
    p.c = place(C, p.c_count * sizeof(float));
    got = place(GOT, p.c_count * sizeof(float));
    again = place(AGAIN, p.c_count * sizeof(float));
}

static const struct cpu_isa *isa; /* the one under test */

/* Returns the value that a factor is rounded to. */
static double multiplied(float number)
{
    return (double)(isa->parts == BF16_PARTS ? bf16_to_f32(f32_to_bf16(number)) : number);
}

static float random_float(struct rng *rng) { return 2 * rng_uniform(rng) - 1; }

static size_t random_size(struct rng *rng)
{
    static const size_t even[] = {16, 32, 64, 96, 128, 256};
    return rng_below(rng, 3) ? 1 + rng_below(rng, MAX) : even[rng_below(rng, 6)];
}

static void make_problem(uint64_t seed)
{
    struct rng rng = rng_new(seed, 1);
    p.m = random_size(&rng);
    p.n = random_size(&rng);
    p.k = random_size(&rng);
    p.a_row = p.k + rng_below(&rng, OTHER);
    p.c_row = p.n + rng_below(&rng, OTHER);
    p.start = rng_below(&rng, 2) ? AS_IS : ZERO;
    p.has_bias = p.start == ZERO && rng_below(&rng, 2);
    place_problem();
    for (size_t i = 0; i < p.a_count; i++) p.a[i] = random_float(&rng);
    for (size_t i = 0; i < p.n * p.k; i++) p.w[i] = random_float(&rng);
    for (size_t i = 0; i < p.n; i++) p.bias[i] = random_float(&rng);
    for (size_t i = 0; i < p.c_count; i++) p.c[i] = random_float(&rng);
}

/* ---- packing --------------------------------------------------------------------------- */

/* Packs dense w [gates, units, k] into right factors, by the members of a team one after the other. */
static void pack(enum layout layout, const float *w, uint32_t gates, uint32_t units, uint32_t k, int team)
{
    struct call call = {.isa = isa};
    call.view[PACK_FROM] = (struct tensor){.at = (void *)w,
                                           .rank = 3,
                                           .count = {gates, units, k},
                                           .stride = {(size_t)units * k, k, 1},
                                           .dtype = DTYPE_F32};
    call.view[PACK_TO] = (struct tensor){.rank = 3,
                                         .count = {gates, units, k},
                                         .layout = layout,
                                         .stride = {(size_t)units * k, k, 1},
                                         .dtype = DTYPE_F32};
    const bool back = layout_is_right_back(layout);
    const size_t tiles = back ? bf16x3_tiles(k) * bf16x3_steps(units) : bf16x3_tiles(units) * bf16x3_steps(k);
    const size_t bytes = gates * tiles * right_bytes(isa->parts, layout_is_whole(layout));
    call.view[PACK_TO].at = right = place(RIGHT, bytes);
    memset(right, 0xff, bytes);
    for (int me = 0; me < team; me++) {
        struct work work = {0, 0};
        CHECK(isa->kernel[OP_PACK](&call, me, team, &work) == UNROLL_OK, "pack: %s", unroll_last_error());
    }
}

/* Returns a value of a tile and step of a right factor: the sum of its parts. */
static double number_of(enum layout layout, const char *tile, size_t k, size_t column)
{
    double sum = 0;
    if (layout_is_whole(layout)) {
        float number;
        memcpy(&number, tile + (k * BF16X3_COLUMNS + column) * sizeof number, sizeof number);
        return (double)number;
    }
    for (int part = 0; part < isa->parts; part++) {
        uint16_t cell;
        const char *step = tile + k / BF16X3_K * right_bytes(isa->parts, false) + part * RIGHT_PART;
        memcpy(&cell, step + ((k % BF16X3_K / 2 * BF16X3_COLUMNS + column) * 2 + k % 2) * sizeof cell, sizeof cell);
        sum += (double)bf16_to_f32(cell);
    }
    return sum;
}

static double packed_as(enum layout layout, float number)
{
    return layout_is_whole(layout) ? (double)number : multiplied(number);
}

/* Checks that every value is exact and at its place, and that columns and k are padded with zeros. */
static void check_packing(uint64_t seed, enum layout forward, enum layout back)
{
    struct rng rng = rng_new(seed, 2);
    uint32_t gates = 1 + (uint32_t)rng_below(&rng, GATES), units = 1 + (uint32_t)rng_below(&rng, 100);
    uint32_t k = 1 + (uint32_t)rng_below(&rng, MAX);
    p.a = place(A, (size_t)gates * units * k * sizeof(float));
    for (size_t i = 0; i < (size_t)gates * units * k; i++) p.a[i] = random_float(&rng);
    size_t wrong = 0, tiles = bf16x3_tiles(units), steps = bf16x3_steps(k);
    const size_t bytes = right_bytes(isa->parts, layout_is_whole(forward));
    pack(forward, p.a, gates, units, k, 1 + (int)(seed % 4));
    for (size_t g = 0; g < gates; g++)
        for (size_t u = 0; u < tiles * BF16X3_COLUMNS; u++)
            for (size_t i = 0; i < steps * BF16X3_K; i++) {
                const char *tile = right + (g * tiles + u / BF16X3_COLUMNS) * steps * bytes;
                double expected = u < units && i < k ? packed_as(forward, p.a[(g * units + u) * k + i]) : 0;
                wrong += number_of(forward, tile, i, u % BF16X3_COLUMNS) != expected;
            }
    CHECK(!wrong, "layout %d of [%u, %u, %u]: %zu numbers are wrong", (int)forward, gates, units, k, wrong);
    pack(back, p.a, gates, units, k, 1 + (int)(seed % 4));
    wrong = 0;
    tiles = bf16x3_tiles(k), steps = bf16x3_steps(units);
    for (size_t c = 0; c < tiles * BF16X3_COLUMNS; c++)
        for (size_t g = 0; g < gates; g++)
            for (size_t i = 0; i < steps * BF16X3_K; i++) {
                const char *tile = right + (c / BF16X3_COLUMNS * gates + g) * steps * bytes;
                double expected = c < k && i < units ? packed_as(back, p.a[(g * units + i) * k + c]) : 0;
                wrong += number_of(back, tile, i, c % BF16X3_COLUMNS) != expected;
            }
    CHECK(!wrong, "layout %d of [%u, %u, %u]: %zu numbers are wrong", (int)back, gates, units, k, wrong);
}

/* ---- products -------------------------------------------------------------------------- */

/* Multiplies rows [row, end) and steps [step, step_end) with packed weights. */
static void multiply_rows(size_t row, size_t end, size_t step, size_t step_end, bool listed, bool whole, float *c)
{
    const size_t steps = bf16x3_steps(p.k);
    uint32_t list[MAX];
    void *each[MAX];
    for (uint32_t i = 0; i < MAX; i++) {
        list[i] = (uint32_t)row + i;
        each[i] = row + i < end ? c + list[i] * p.c_row : NULL;
    }
    left = place(LEFT, (end - row) * steps * left_row_bytes(isa->parts));
    isa->left_rows(&(struct left_rows){.to = left,
                                       .steps = steps,
                                       .at = listed ? p.a : p.a + row * p.a_row,
                                       .row = p.a_row,
                                       .list = listed ? list : NULL,
                                       .rows = end - row,
                                       .k = p.k});
    isa->product_bf16x3(&(struct product_bf16x3){.m = end - row,
                                                 .n = p.n,
                                                 .steps = step_end - step,
                                                 .left = left,
                                                 .left_first = step,
                                                 .left_steps = steps,
                                                 .right = right,
                                                 .right_first = step,
                                                 .right_steps = steps,
                                                 .whole = whole,
                                                 .c = listed ? NULL : c + row * p.c_row,
                                                 .c_row = p.c_row,
                                                 .each = listed ? each : NULL,
                                                 .bias = p.has_bias && step == 0 ? p.bias : NULL,
                                                 .start = step == 0 ? p.start : AS_IS});
}

static void multiply(float *c)
{
    memcpy(c, p.c, p.c_count * sizeof *c);
    pack(LAYOUT_BF16X3, p.w, 1, (uint32_t)p.n, (uint32_t)p.k, 1);
    multiply_rows(0, p.m, 0, bf16x3_steps(p.k), false, false, c);
}

/* Returns the largest error of the sums c, relative to the magnitudes of their terms. Nothing outside of the columns
 * may change. */
static double largest_error(const float *c)
{
    double worst = 0;
    size_t spilled = 0;
    for (size_t m = 0; m < p.m; m++)
        for (size_t n = 0; n < (m + 1 < p.m ? p.c_row : p.n); n++) {
            const float before = p.c[m * p.c_row + n];
            if (n >= p.n) {
                spilled += c[m * p.c_row + n] != before;
                continue;
            }
            const double bias = p.has_bias ? (double)p.bias[n] : 0, first = p.start == AS_IS ? (double)before : 0;
            double sum = first + bias, size = fabs(first) + fabs(bias);
            for (size_t k = 0; k < p.k; k++) {
                double product = multiplied(p.a[m * p.a_row + k]) * multiplied(p.w[n * p.k + k]);
                sum += product;
                size += fabs(product);
            }
            double error = fabs((double)c[m * p.c_row + n] - sum) / size;
            worst = error <= worst ? worst : error; /* keeps NaN */
        }
    CHECK(!spilled, "%zu values outside of the columns were written", spilled);
    return worst;
}

/* Computes what other ISAs do: one chain of multiply-adds. */
static void multiply_in_chains(float *c)
{
    memcpy(c, p.c, p.c_count * sizeof *c);
    for (size_t m = 0; m < p.m; m++)
        for (size_t n = 0; n < p.n; n++) {
            float *sum = &c[m * p.c_row + n];
            *sum = (p.start == AS_IS ? *sum : 0) + (p.has_bias ? p.bias[n] : 0);
            for (size_t k = 0; k < p.k; k++) *sum = fmaf(p.a[m * p.a_row + k], p.w[n * p.k + k], *sum);
        }
}

/* Any division of rows, rows in a list, steps in two parts, weights that are split on the fly: the same bits. */
static void check_pieces(uint64_t seed, bool whole)
{
    struct rng rng = rng_new(seed, 3);
    pack(whole ? LAYOUT_WHOLE : LAYOUT_BF16X3, p.w, 1, (uint32_t)p.n, (uint32_t)p.k, 1);
    const size_t steps = bf16x3_steps(p.k), half = rng_below(&rng, (uint32_t)steps);
    memcpy(again, p.c, p.c_count * sizeof *again);
    for (size_t row = 0, rows; row < p.m; row += rows) {
        rows = 1 + rng_below(&rng, seed % 2 ? 20 : 100);
        rows = rows < p.m - row ? rows : p.m - row;
        if (half > 0)
            multiply_rows(row, row + rows, 0, half, rows % 2, whole, again);
        multiply_rows(row, row + rows, half, steps, rows % 2, whole, again);
    }
    CHECK(!memcmp(got, again, p.c_count * sizeof *got),
          "%zu x %zu x %zu, bias %d, start %d, whole %d: other bits in pieces", p.m, p.n, p.k, p.has_bias, (int)p.start,
          whole);
}

/* Errors are half of those of chains at k = 256; the limit is twice the largest observed one. */
static void check_products(int problems)
{
    double worst = 0, of_chains = 0;
    for (int i = 0; i < problems; i++) {
        make_problem((uint64_t)i);
        multiply(got);
        double error = largest_error(got);
        worst = error <= worst ? worst : error;
        CHECK(error <= 0x1p-22, "%zu x %zu x %zu, bias %d, start %d: %.1e from double", p.m, p.n, p.k, p.has_bias,
              (int)p.start, error);
        check_pieces((uint64_t)i, false);
        check_pieces((uint64_t)i, true);
        if (i % 8 == 0) {
            multiply_in_chains(again);
            of_chains = fmax(of_chains, largest_error(again));
        }
    }
    printf("%s, %d bf16 a float: worst %.1e of the magnitudes; chains of multiply-adds, of an eighth of them: %.1e\n",
           isa->name, isa->parts, worst, of_chains);
}

/* ---- extreme values -------------------------------------------------------------------- */

/* Makes 40 x 40 x 40 products of values with one magnitude and sign for each factor. */
static void make_even(float a, float w)
{
    struct rng rng = rng_new(1, 4);
    p = (struct problem){.m = 40, .n = 40, .k = 40, .a_row = 40, .c_row = 40, .start = ZERO};
    place_problem();
    for (size_t i = 0; i < p.m * p.k; i++) {
        p.a[i] = a * (1 + rng_uniform(&rng)) / 2;
        p.w[i] = w * (1 + rng_uniform(&rng)) / 2;
    }
}

static bool all_are_zero(void)
{
    bool zero = true;
    for (size_t i = 0; i < p.c_count; i++) zero &= got[i] == 0;
    return zero;
}

static void check_ends(void)
{
    make_even(0, 1);
    multiply(got);
    CHECK(all_are_zero(), "zeros give %g", (double)got[0]);
    make_even(FLT_MIN / 2, 1); /* subnormal: treated as zero */
    multiply(got);
    CHECK(all_are_zero(), "subnormal numbers give %g", (double)got[0]);
    make_even(0x1p-118f, 1); /* their second parts are subnormal */
    multiply(got);
    CHECK(largest_error(got) <= 0x1p-8, "tiny numbers are off by %.1e", largest_error(got));
    make_even(0x1p-100f, 0x1p100f); /* all parts are normal */
    multiply(got);
    CHECK(largest_error(got) <= 0x1p-22, "small by large is off by %.1e", largest_error(got));
    make_even(0x1p127f, 0x1p-100f);
    multiply(got);
    CHECK(largest_error(got) <= 0x1p-22, "large by small is off by %.1e", largest_error(got));
    make_even(0x1p127f, 4);
    multiply(got);
    CHECK(isinf(got[0]) || isnan(got[0]), "a sum past the largest float is %g", (double)got[0]);
}

/* Infinite values remain infinite if they are not split. */
static bool is_not_finite(float sum) { return isa->parts == BF16_PARTS ? !isfinite(sum) : isnan(sum); }

/* Puts one non-finite value into row 3 and column 5 of a: only its row becomes NaN. A float that rounds to an infinite
 * bf16 counts as infinite. */
static void check_not_finite(void)
{
    static const float numbers[] = {INFINITY, -INFINITY, NAN, FLT_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t wrong = 0;
        make_even(1, 1);
        p.a[3 * 40 + 5] = numbers[i];
        multiply(got);
        for (size_t at = 0; at < 40 * 40; at++) wrong += is_not_finite(got[at]) != (at / 40 == 3);
        CHECK(!wrong, "%g in a row: %zu sums are wrong", (double)numbers[i], wrong);
        make_even(1, 1);
        p.w[3 * 40 + 5] = numbers[i];
        multiply(got);
        wrong = 0;
        for (size_t at = 0; at < 40 * 40; at++) wrong += is_not_finite(got[at]) != (at % 40 == 3);
        CHECK(!wrong, "%g in a weight: %zu sums are wrong", (double)numbers[i], wrong);
    }
}

static void check_isa(const struct cpu_isa *tested, const char *missing, int problems)
{
    isa = tested;
    if (!isa) {
        check_skip(missing);
        return;
    }
    const uint64_t mode = cpu_float_mode();
    cpu_flush_denormals(); /* as in all threads that run kernels */
    for (int i = 0; i < problems; i++) {
        check_packing((uint64_t)i, LAYOUT_BF16X3, LAYOUT_BF16X3_BACK);
        check_packing((uint64_t)i, LAYOUT_WHOLE, LAYOUT_WHOLE_BACK);
    }
    check_products(problems);
    check_ends();
    check_not_finite();
    cpu_restore_float_mode(mode);
}

int main(int count, char **words)
{
    const int problems = check_quick(count, words) ? 10 : 60;
    const struct cpu_isa *amx = cpu_isa_find(ISA_AMX, DTYPE_F32), *avx512 = cpu_isa_find(ISA_AVX512, DTYPE_F32);
    make_places();
    check_isa(amx, "this machine has no amx: bf16x3 products of floats", problems);
    check_isa(amx ? cpu_isa_with_bf16(amx) : NULL, "this machine has no amx: floats rounded to bf16 in tiles",
              problems);
    check_isa(avx512 ? cpu_isa_with_bf16(avx512) : NULL, "this machine has no avx512_bf16: floats rounded to bf16",
              problems);
    return check_finish("test_bf16x3");
}
