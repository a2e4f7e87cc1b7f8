/* Products with bf16 and int8 weights, and their conversion from floats, on every ISA of this machine against the
 * formulas written here. Any heights and widths, rows of zeros, the largest sums, non-finite values. Where tiles
 * multiply bf16, results are near double and have the same bits in any pieces. "quick", for sanitizers: a quarter of
 * the widths. */
/* test: kinds=plain,long-memory; args-memory=quick */
#include "base/philox.h"
#include "check.h"
#include "device/cpu/kernels/kernel.h"
#include "tests/device/workspaces.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_ROWS = 40, MAX_COLUMNS = 300, MAX_K = 1300 };

/* A product of random sizes: c [m][n] = start + bias + a [m][k] w [n][k]. */
struct problem {
    size_t m, n, k, c_row;
    enum start start;
    bool has_bias;
    float a[MAX_ROWS][MAX_K], w[MAX_COLUMNS][MAX_K], bias[MAX_COLUMNS], c[MAX_ROWS * (MAX_COLUMNS + 7)];
};

static float random_float(struct rng *rng) { return 2 * rng_uniform(rng) - 1; }

static void make_problem(struct problem *p, uint64_t seed)
{
    struct rng rng = rng_new(seed, 1);
    p->m = 1 + rng_below(&rng, seed % 3 ? 5 : MAX_ROWS);
    p->n = 1 + rng_below(&rng, MAX_COLUMNS);
    p->k = 1 + rng_below(&rng, seed % 5 ? 130 : MAX_K);
    p->c_row = p->n + rng_below(&rng, 7);
    p->start = rng_below(&rng, 2) ? AS_IS : ZERO;
    p->has_bias = rng_below(&rng, 2);
    for (size_t m = 0; m < p->m; m++)
        for (size_t k = 0; k < p->k; k++) p->a[m][k] = random_float(&rng);
    for (size_t n = 0; n < p->n; n++) {
        float scale = ldexpf(1, (int)rng_below(&rng, 9) - 4);
        for (size_t k = 0; k < p->k; k++) p->w[n][k] = scale * random_float(&rng);
        p->bias[n] = random_float(&rng);
    }
    for (size_t i = 0; i < p->m * p->c_row; i++) p->c[i] = random_float(&rng);
}

/* ---- the formulas ---------------------------------------------------------------------- */

static float row_scale(const float *x, size_t k)
{
    float largest = 0;
    for (size_t i = 0; i < k; i++) {
        if (!isfinite(x[i]))
            return NAN;
        largest = fmaxf(largest, fabsf(x[i]));
    }
    return largest / 127 < FLT_MIN ? 0 : largest / 127;
}

static int64_t byte_of(float x, float scale) { return scale > 0 ? llrint((double)(x * (1 / scale))) : 0; }

static float expect_int8(const struct problem *p, size_t m, size_t n, float start)
{
    float by_a = row_scale(p->a[m], p->k), by_w = row_scale(p->w[n], p->k);
    int64_t sum = 0;
    if (isnan(by_a) || isnan(by_w))
        return NAN;
    for (size_t k = 0; k < p->k; k++) sum += byte_of(p->a[m][k], by_a) * byte_of(p->w[n][k], by_w);
    return fmaf((float)sum, by_w * by_a, start);
}

/* Rounds with double arithmetic to a multiple of the last of 8 bits of mantissa. */
static float round_to_bf16(float x)
{
    int exponent;
    if (x == 0 || !isfinite(x))
        return x;
    frexpf(x, &exponent);
    double place = ldexp(1, exponent - 8);
    return (float)(rint((double)x / place) * place);
}

static float expect_bf16(const struct problem *p, size_t m, size_t n, float start)
{
    for (size_t k = 0; k < p->k; k++) start = fmaf(p->a[m][k], round_to_bf16(p->w[n][k]), start);
    return start;
}

static float expect(const struct problem *p, enum dtype dtype, size_t m, size_t n)
{
    float start = p->start == AS_IS ? p->c[m * p->c_row + n] : 0;
    start += p->has_bias ? p->bias[n] : 0;
    return dtype == DTYPE_I8 ? expect_int8(p, m, n, start) : expect_bf16(p, m, n, start);
}

/* ---- the library ----------------------------------------------------------------------- */

static void pack_all(const struct cpu_isa *isa, const struct problem *p, enum dtype dtype, char *panel)
{
    memset(panel, 0, panels(p->n) * panel_bytes(dtype, p->k));
    for (size_t n = 0; n < p->n; n++)
        isa->pack_lowp(dtype, panel + n / PANEL * panel_bytes(dtype, p->k) + n % PANEL * 4, PANEL, p->w[n], p->k);
}

/* Allocates weights that end at an inaccessible page, because sanitizers do not check the loads of tiles. */
static char *room_of_panels(size_t bytes)
{
    enum { ROOM = 4 << 20 };
    static char *end;
    if (!end) {
        char *at = mmap(NULL, ROOM + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
        if (at == MAP_FAILED || mprotect(at + ROOM, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE))
            abort();
        end = at + ROOM;
    }
    if (bytes > ROOM)
        abort();
    return end - bytes;
}

/* Computes rows [row, row_end) of the product. */
static void run_rows(const struct cpu_isa *isa, const struct problem *p, enum dtype dtype, size_t row, size_t row_end,
                     float *c)
{
    char *panel = room_of_panels(panels(p->n) * panel_bytes(dtype, p->k));
    float *cells = malloc(p->m * operand_words(p->k) * sizeof *cells);
    struct product product = {.m = row_end - row,
                              .n = p->n,
                              .k = p->k,
                              .a = p->a[row],
                              .a_row = MAX_K,
                              .a_col = 1,
                              .b = panel,
                              .b_row = PANEL,
                              .b_panel = panel_bytes(dtype, p->k) / 4,
                              .c = c + row * p->c_row,
                              .c_row = p->c_row,
                              .bias = p->has_bias ? p->bias : NULL,
                              .start = p->start};
    pack_all(isa, p, dtype, panel);
    if (dtype == DTYPE_I8) {
        for (size_t m = 0; m < p->m; m++) isa->quantize(p->a[m], p->k, cells + m * operand_words(p->k));
        product.a = cells + row * operand_words(p->k);
        product.a_row = operand_words(p->k);
    }
    use_workspace(0);
    product_with(isa, dtype)(&product);
    free(cells);
}

static void run(const struct cpu_isa *isa, const struct problem *p, enum dtype dtype, float *c)
{
    memcpy(c, p->c, sizeof p->c);
    run_rows(isa, p, dtype, 0, p->m, c);
}

static bool same(float a, float b) { return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b)); }

/* Counts wrong sums of tiles: they must be near double, relative to the magnitudes of their terms; nothing outside of
 * the columns may change; and a single row must give the same sums at any height. */
static size_t wrong_by_tiles(const struct cpu_isa *isa, const struct problem *p, const float *c)
{
    float *again = malloc(sizeof p->c);
    size_t wrong = 0;
    memcpy(again, p->c, sizeof p->c);
    for (size_t row = 0, rows; row < p->m; row += rows) {
        rows = row % 3 + 1 < p->m - row ? row % 3 + 1 : p->m - row;
        run_rows(isa, p, DTYPE_BF16, row, row + rows, again);
    }
    for (size_t m = 0; m < p->m; m++)
        for (size_t n = 0; n < p->c_row; n++) {
            const float got = c[m * p->c_row + n], was = p->c[m * p->c_row + n], start = p->start == AS_IS ? was : 0;
            double sum = (double)start + (p->has_bias && n < p->n ? (double)p->bias[n] : 0), size = fabs(sum);
            for (size_t k = 0; k < p->k && n < p->n; k++) {
                const double product = (double)p->a[m][k] * (double)round_to_bf16(p->w[n][k]);
                sum += product;
                size += fabs(product);
            }
            wrong += !same(got, again[m * p->c_row + n]);
            wrong += n >= p->n       ? !same(got, was)
                     : isfinite(sum) ? !(fabs((double)got - sum) <= 0x1p-21 * size)
                                     : isfinite(got);
        }
    free(again);
    return wrong;
}

static size_t wrong_in_bits(const struct problem *p, enum dtype dtype, const float *c)
{
    size_t wrong = 0;
    for (size_t m = 0; m < p->m; m++)
        for (size_t n = 0; n < p->c_row; n++)
            wrong += !same(c[m * p->c_row + n], n < p->n ? expect(p, dtype, m, n) : p->c[m * p->c_row + n]);
    return wrong;
}

static void check_problem(const struct problem *p, const char *what)
{
    static const enum dtype types[] = {DTYPE_BF16, DTYPE_I8};
    float *c = malloc(sizeof p->c);
    for (int i = 0; i < 2 * ISA_COUNT; i++) {
        const struct cpu_isa *isa = cpu_isa_find((enum isa)(i / 2), DTYPE_F32);
        enum dtype dtype = types[i % 2];
        if (!isa)
            continue;
        run(isa, p, dtype, c);
        const bool by_tiles = isa->tiled_cells && dtype == DTYPE_BF16 && bf16_by_tiles(p->k);
        size_t wrong = by_tiles ? wrong_by_tiles(isa, p, c) : wrong_in_bits(p, dtype, c);
        CHECK(!wrong, "%s, %s on %s: %zu of %zu x %zu x %zu are wrong", what, dtype_name(dtype), isa->name, wrong, p->m,
              p->n, p->k);
    }
    free(c);
}

/* ---- tests ----------------------------------------------------------------------------- */

static void fill(float *x, size_t count, float a, float b)
{
    for (size_t i = 0; i < count; i++) x[i] = i % 2 ? b : a;
}

/* The largest sums of bytes with both signs, and ties. */
static void try_extremes(struct problem *p)
{
    make_problem(p, 5);
    p->m = 4, p->n = 70, p->k = MAX_K, p->c_row = 75;
    for (size_t n = 0; n < p->n; n++) fill(p->w[n], p->k, n % 2 ? 3.f : -3.f, n % 3 ? 3.f : -3.f);
    for (size_t m = 0; m < p->m; m++) fill(p->a[m], p->k, m % 2 ? 0.7f : -0.7f, m > 1 ? 0.7f : -0.7f);
    check_problem(p, "extremes");
    for (size_t k = 0; k < p->k; k++) p->a[0][k] = k ? (float)(k % 255) / 2 - 63.5f : 127, p->w[0][k] = p->a[0][k];
    check_problem(p, "ties");
}

static void try_special_rows(struct problem *p)
{
    static const float odd[] = {0, -0.f, FLT_MIN, 0x1p-140f, 1e-36f, FLT_MAX, -FLT_MAX};
    make_problem(p, 6);
    p->m = 9, p->n = 40, p->k = 37, p->c_row = 40;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        fill(p->a[i], p->k, odd[i], 0), fill(p->w[i], p->k, odd[i], 0);
    fill(p->a[7], p->k, 1e-4f, 1e-3f);
    cpu_flush_denormals();
    check_problem(p, "zeros, denormals, the largest");
}

static void try_not_finite(struct problem *p)
{
    make_problem(p, 7);
    p->m = 3, p->n = 50, p->k = 21, p->c_row = 50, p->start = ZERO;
    p->w[7][20] = NAN;
    p->w[8][0] = INFINITY;
    p->w[49][3] = -INFINITY;
    p->a[1][4] = NAN;
    check_problem(p, "NaN and infinities");
    p->k = 97;
    p->w[9][96] = NAN; /* the last of an odd number */
    check_problem(p, "NaN and infinities in wide rows");
}

int main(int count, char **words)
{
    struct problem *p = calloc(1, sizeof *p);
    uint64_t mode = cpu_float_mode();
    for (uint64_t seed = 0; seed < (check_quick(count, words) ? 15 : 60); seed++) {
        char what[32];
        snprintf(what, sizeof what, "seed %d", (int)seed);
        make_problem(p, seed);
        check_problem(p, what);
    }
    try_extremes(p);
    try_not_finite(p);
    try_special_rows(p);
    cpu_restore_float_mode(mode);
    free(p);
    return check_finish("narrow");
}
