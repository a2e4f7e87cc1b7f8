/* Compares every cell's fused step on every instruction set of this machine, including the scalar one, with plain
 * chains of multiply-adds and the scalar pointwise step. Weights are floats, bf16 and int8. All arrays have the same
 * bits, and nothing is written outside the rows and units. Steps with bf16x3 splits, for more rows, give nearly the
 * same values, and the same bits for any number of rows in a call. "quick", for sanitizers and emulators: a quarter of
 * the shapes. Time and threads are tested in device/test_rnn.c. */
/* test: kinds=plain,long-memory; with=cells/toys_*; args-memory=quick */
#include "base/dtype.h"
#include "nn/cells/step/bf16x3.h"
#include "device/cpu/kernels/kernel.h"
#include "isa.h"
#include "worst.h"
#include <math.h>
#include <string.h>

enum {
    ROWS = 80,
    FEW_ROWS = 16,
    WIDEST = 136,
    DEEPEST = 432,
    FIELDS = 12,
    NUMBERS = ROWS * FIELDS * WIDEST,
    TILED = FIELDS * (WIDEST + CELL_TILE) * (DEEPEST + BF16X3_K) * 3 / 2 /* bf16x3 splits are the largest */
};

/* Arguments of one call of a step. */
struct ask {
    size_t rows, width, k, x; /* x: number of values of x; 0: `in` already holds the sums */
    size_t unit, unit_end;
    enum fused_word cell;
    bool listed, reverse, bias, saves, fed; /* fed: `in` is used */
    bool by_tiles;
    size_t of; /* rows in all arrays */
};

/* Arrays in the order of struct cell_arrays without gradients, then the copies. */
struct numbers {
    _Alignas(64) float array[8][NUMBERS];
};

static struct numbers random_numbers;
static float operand[3][ROWS * DEEPEST], bytes[3][ROWS * (DEEPEST / 4 + 2)], bias[2][FIELDS * WIDEST];
static float dense[2][FIELDS * WIDEST * DEEPEST];
static _Alignas(64) float tiled[2][TILED];
static _Alignas(64) char left[3][ROWS * (DEEPEST + BF16X3_K) / 32 * BF16X3_PARTS * LEFT_PART];
static const struct cpu_isa *of_tiles; /* whose steps are multiplied by tiles */
static uint32_t list[ROWS];

static void fill(float *to, size_t n, uint64_t *seed, double scale)
{
    for (size_t i = 0; i < n; i++) to[i] = (float)(scale * random_number(seed));
}

static void fill_all(void)
{
    uint64_t seed = 3;
    for (uint32_t i = 0; i < ROWS; i++) list[i] = i < FEW_ROWS ? (13 + 5 * i) % FEW_ROWS : i ^ 5;
    fill(random_numbers.array[0], 8 * NUMBERS, &seed, 2);
    for (int i = 0; i < 3; i++) fill(operand[i], ROWS * DEEPEST, &seed, 1);
    for (int i = 0; i < 2; i++) {
        fill(bias[i], FIELDS * WIDEST, &seed, 1);
        fill(dense[i], FIELDS * WIDEST * DEEPEST, &seed, 0.2);
    }
}

static const struct cpu_isa *library(void) { return cpu_isa_find(ISA_SCALAR, DTYPE_F32); }

/* Packs dense [gates, width, k] into tiles. */
static void pack(float *to, const float *from, enum fused_word cell, size_t gates, size_t width, size_t k)
{
    size_t cells = fused_words(&(struct fused_weights){.k = k, .cell = cell});
    memset(to, 0, (width + CELL_TILE) * gates * cells * sizeof *to);
    for (size_t g = 0; g < gates; g++)
        for (size_t u = 0; u < width; u++) {
            float *at = to + (u / CELL_TILE * cells * gates + g) * CELL_TILE + u % CELL_TILE;
            const float *row = from + (g * width + u) * k;
            if (cell != FUSED_REAL)
                library()->pack_lowp(cell == FUSED_BF16 ? DTYPE_BF16 : DTYPE_I8, at, gates * CELL_TILE, row, k);
            for (size_t i = 0; i < k && cell == FUSED_REAL; i++) at[i * gates * CELL_TILE] = row[i];
        }
}

/* Packs dense [gates, width, k] into right factors. */
static void pack_bf16x3(float *to, const float *from, size_t gates, size_t width, size_t k)
{
    const int parts = of_tiles->parts;
    const size_t step_bytes = right_bytes(parts, false), tile = bf16x3_steps(k) * step_bytes / sizeof(uint16_t);
    memset(to, 0, gates * bf16x3_tiles(width) * tile * sizeof(uint16_t));
    for (size_t i = 0; i < gates * width * k; i++) {
        size_t g = i / k / width, u = i / k % width, at = i % k;
        uint16_t *step = (uint16_t *)to + (g * bf16x3_tiles(width) + u / BF16X3_COLUMNS) * tile +
                         at / BF16X3_K * (step_bytes / sizeof(uint16_t));
        size_t place = (at % BF16X3_K / 2 * BF16X3_COLUMNS + u % BF16X3_COLUMNS) * 2 + at % 2;
        float rest = from[i];
        for (int i_part = 0; i_part < parts; i_part++) {
            uint16_t *part = step + (size_t)(parts - 1 - i_part) * (RIGHT_PART / sizeof(uint16_t)) + place;
            *part = f32_to_bf16(rest);
            rest -= bf16_to_f32(*part);
        }
    }
}

/* Packs the same for whole tiles. */
static void pack_whole(float *to, const float *from, size_t gates, size_t width, size_t k)
{
    const size_t tile = bf16x3_steps(k) * WHOLE_BYTES / sizeof *to;
    memset(to, 0, gates * bf16x3_tiles(width) * tile * sizeof *to);
    for (size_t i = 0; i < gates * width * k; i++) {
        size_t g = i / k / width, u = i / k % width, at = i % k;
        to[(g * bf16x3_tiles(width) + u / BF16X3_COLUMNS) * tile + at * BF16X3_COLUMNS + u % BF16X3_COLUMNS] = from[i];
    }
}

static void pack_for_tiles(float *to, const float *from, enum fused_word cell, size_t gates, size_t width, size_t k)
{
    if (cell == FUSED_BF16)
        pack(to, from, cell, gates, width, k);
    else
        (cell == FUSED_WHOLE ? pack_whole : pack_bf16x3)(to, from, gates, width, k);
}

/* Returns the operand of the products; int8 and tiles are packed here. */
static struct fused_operand operand_of(const struct ask *a, int which, size_t k)
{
    if (a->by_tiles) {
        of_tiles->left_rows(&(struct left_rows){.to = left[which],
                                                .of_bf16 = a->cell == FUSED_BF16,
                                                .steps = bf16x3_steps(k),
                                                .at = operand[which],
                                                .row = k,
                                                .list = a->listed ? list : NULL,
                                                .rows = a->rows,
                                                .k = k});
        return (struct fused_operand){left[which], 0};
    }
    if (a->cell != FUSED_INT8)
        return (struct fused_operand){operand[which], k};
    for (size_t row = 0; row < FEW_ROWS && k; row++)
        library()->quantize(operand[which] + row * k, k, bytes[which] + row * operand_words(k));
    return (struct fused_operand){bytes[which], operand_words(k)};
}

static size_t row_of(const struct ask *a, size_t place) { return a->listed ? list[place] : place; }

static struct fields fields_of(float *at, size_t fields, size_t width)
{
    return (struct fields){at, width, fields * width};
}

static struct cell_arrays arrays_of(struct numbers *n, const struct cell_declaration *c, const struct ask *a)
{
    float (*array)[NUMBERS] = n->array;
    struct cell_arrays v = {.in = fields_of(array[0], (size_t)c->inputs, a->width),
                            .state = fields_of(array[1], (size_t)c->states, a->width),
                            .next = fields_of(array[2], (size_t)c->states, a->width),
                            .saved = fields_of(array[3], (size_t)c->inputs, a->width),
                            .intermediate = fields_of(array[4], (size_t)c->intermediates, a->width),
                            .vector = {array[5], a->width, 0}};
    if (!a->saves)
        v.saved.at = NULL;
    return v;
}

/* ---- plain reference ------------------------------------------------------------------- */

static float scale_of(const float *x, size_t k)
{
    float largest = 0;
    for (size_t i = 0; i < k; i++) largest = fmaxf(largest, fabsf(x[i]));
    return largest / 127;
}

static float int8_sum(float sum, const float *a, const float *w, size_t k)
{
    float by_a = scale_of(a, k), by_w = scale_of(w, k);
    long whole = 0;
    for (size_t i = 0; i < k; i++) whole += lrintf(a[i] * (1 / by_a)) * lrintf(w[i] * (1 / by_w));
    return fmaf((float)whole, by_w * by_a, sum);
}

/* Continues the chain of input i of a unit. */
static float chain(float sum, const float *b, const float *a, const float *w, const struct ask *ask, size_t k)
{
    sum += b ? *b : 0;
    if (ask->cell == FUSED_INT8)
        return int8_sum(sum, a, w, k);
    for (size_t i = 0; i < k; i++)
        sum = fmaf(a[i], ask->cell == FUSED_BF16 ? bf16_to_f32(f32_to_bf16(w[i])) : w[i], sum);
    return sum;
}

static float plain_sum(const struct cell_declaration *c, const struct ask *a, float was, size_t i, size_t weight,
                       size_t row, size_t u)
{
    unsigned from = c->input[i].from;
    float sum = (from & FROM_X) && a->fed ? was : 0;
    if ((from & FROM_X) && a->x)
        sum = chain(sum, &bias[0][i * a->width + u], operand[0] + row * a->x, dense[0] + (i * a->width + u) * a->x, a,
                    a->x);
    if (from & (FROM_H | FROM_INTERMEDIATE))
        sum = chain(sum, a->bias ? &bias[1][weight * a->width + u] : NULL, operand[from & FROM_H ? 1 : 2] + row * a->k,
                    dense[1] + (weight * a->width + u) * a->k, a, a->k);
    return sum;
}

/* Adds the sums of a row's own units to a row of inputs. */
static void plain_sums(const struct cell_declaration *c, const struct ask *a, int phase, const float *was, float *in,
                       size_t row)
{
    for (size_t i = 0, weight = 0; i < (size_t)c->inputs; i++) {
        for (size_t u = a->unit; c->input[i].phase == phase && u < a->unit_end; u++)
            in[i * a->width + u] = plain_sum(c, a, was[i * a->width + u], i, weight, row, u);
        weight += (c->input[i].from & (FROM_H | FROM_INTERMEDIATE)) != 0;
    }
}

static void copy_states(struct numbers *n, const struct cell_declaration *c, const struct ask *a, size_t row)
{
    for (size_t s = 0; s < (size_t)c->states; s++)
        for (size_t u = a->unit; u < a->unit_end; u++) {
            float next = n->array[2][(row * (size_t)c->states + s) * a->width + u];
            if (s == 0)
                n->array[6][row * a->width + u] = next;
            else
                n->array[7][(row * ((size_t)c->states - 1) + s - 1) * a->width + u] = next;
        }
}

/* Runs the scalar pointwise step, unit by unit, on sums computed here. */
static void run_plainly(const struct cell_kernels *scalar, const struct ask *a, int phase, struct numbers *n)
{
    static float in[FIELDS * WIDEST], spare[FIELDS * WIDEST];
    const struct cell_declaration *c = scalar->declaration;
    for (size_t place = 0; place < a->rows; place++) {
        size_t row = row_of(a, place);
        struct cell_step step = {
            .rows = 1, .width = a->unit_end - a->unit, .value = arrays_of(n, c, a), .options = SOME_OPTIONS};
        plain_sums(c, a, phase, n->array[0] + row * (size_t)c->inputs * a->width, in, row);
        struct fields *view[] = {&step.value.state, &step.value.next, &step.value.saved, &step.value.intermediate};
        for (int i = 0; i < 4; i++)
            view[i]->at = view[i]->at ? (float *)view[i]->at + row * view[i]->row + a->unit : NULL;
        if (!a->saves)
            step.value.saved = (struct fields){spare, a->width, 0};
        step.value.vector.at = n->array[5] + a->unit;
        step.value.in = (struct fields){in + a->unit, a->width, 0};
        scalar->forward[phase](&step);
        if (phase == c->phases - 1)
            copy_states(n, c, a, row);
    }
}

/* ---- fused ----------------------------------------------------------------------------- */

static struct fused_weights weights_of(const struct ask *a, int which, size_t k, size_t gates, bool has_bias)
{
    return (struct fused_weights){.at = tiled[which],
                                  .k = k,
                                  .gates = gates,
                                  .bias = has_bias ? bias[which] : NULL,
                                  .bias_gate = a->width,
                                  .cell = a->cell,
                                  .units = a->width};
}

/* Runs the fused kernel of a cell on the arrays of `n`. */
static void run_fused(const struct cell_kernels *cell, const struct ask *a, int phase, struct numbers *n)
{
    const struct cell_declaration *c = cell->declaration;
    size_t x_gates = (size_t)cell_inputs_from(c, FROM_X),
           gates = (size_t)cell_inputs_from(c, FROM_H | FROM_INTERMEDIATE);
    struct fused_step step = {.rows = a->rows,
                              .row = a->listed ? list : NULL,
                              .unit = a->unit,
                              .unit_end = a->unit_end,
                              .reverse = a->reverse,
                              .far = a->saves && a->width % CELL_TILE == 0,
                              .value = arrays_of(n, c, a),
                              .options = SOME_OPTIONS,
                              .x = operand_of(a, 0, a->x),
                              .h = operand_of(a, 1, a->k),
                              .intermediate = operand_of(a, 2, a->k),
                              .output = {n->array[6], 0, a->width},
                              .others = {n->array[7], a->width, ((size_t)c->states - 1) * a->width}};
    if (a->x)
        step.of_x = weights_of(a, 0, a->x, x_gates, true);
    if (gates)
        step.of_h = weights_of(a, 1, a->k, gates, a->bias);
    if (!a->fed)
        step.value.in.at = NULL;
    cell->fused[phase](&step);
}

static void begin_anew(struct numbers *n, const struct ask *a)
{
    for (int i = 0; i < 8; i++) memcpy(n->array[i], random_numbers.array[i], a->of * FIELDS * WIDEST * sizeof(float));
}

/* Compares all results. `in` may hold sums, which are not a result. */
static bool same(const struct numbers *a, const struct numbers *b, const struct ask *ask)
{
    bool is_same = true;
    for (int i = 1; i < 8; i++) is_same &= !memcmp(a->array[i], b->array[i], ask->of * FIELDS * WIDEST * sizeof(float));
    return is_same;
}

static size_t random_bits(uint64_t *seed) { return (size_t)((random_number(seed) + 1) * (1 << 20)); }

/* Returns random sizes and options for a fused kernel. */
static struct ask random_ask(uint64_t *seed)
{
    struct ask a = {.of = FEW_ROWS,
                    .rows = 1 + random_bits(seed) % 12,
                    .width = 1 + random_bits(seed) % WIDEST,
                    .listed = random_bits(seed) % 2,
                    .reverse = random_bits(seed) % 2,
                    .bias = random_bits(seed) % 4 > 0,
                    .saves = random_bits(seed) % 2,
                    .fed = random_bits(seed) % 4 > 0};
    if (random_bits(seed) % 3 == 0)
        a.rows = 1;
    a.cell = (enum fused_word)(random_bits(seed) % 3);
    a.k = 1 + random_bits(seed) % (random_bits(seed) % 4 ? 40 : DEEPEST - BF16X3_K);
    a.x = a.fed ? 0 : 1 + random_bits(seed) % 30;
    a.unit = random_bits(seed) % 2 ? 0 : random_bits(seed) % a.width / CELL_TILE * CELL_TILE;
    a.unit_end = a.unit + (random_bits(seed) % 2 ? a.width : CELL_TILE);
    if (a.unit_end > a.width)
        a.unit_end = a.width;
    return a;
}

/* Counts the calls whose results differ from the plain ones, on each instruction set. */
static void check_cell(const struct cell_kernels *scalar, const struct isa_table *isa, bool is_toy, int place, int asks)
{
    static struct numbers expected, got;
    const struct cell_declaration *c = scalar->declaration;
    uint64_t seed = 11;
    int differ[MOST_ISAS] = {0}, count = 0;
    for (int tries = 0; tries < asks; tries++) {
        struct ask a = random_ask(&seed);
        pack(tiled[0], dense[0], a.cell, (size_t)cell_inputs_from(c, FROM_X), a.width, a.x);
        pack(tiled[1], dense[1], a.cell, (size_t)cell_inputs_from(c, FROM_H | FROM_INTERMEDIATE), a.width, a.k);
        for (int phase = 0; phase < c->phases; phase++) {
            begin_anew(&expected, &a);
            run_plainly(scalar, &a, phase, &expected);
            for (count = 0; count == 0 || isa[count - 1].name; count++) {
                const struct cell_kernels *const *table = count == 0 ? NULL
                                                          : is_toy   ? isa[count - 1].toys
                                                                     : isa[count - 1].cells;
                const struct cell_kernels *cell = table ? table[place] : scalar;
                begin_anew(&got, &a);
                bool int8_alone = count > 0 && !is_toy && isa[count - 1].int8_alone;
                if (!cell->fused[phase] || (int8_alone && a.cell != FUSED_INT8))
                    continue; /* a table with pointwise steps only, or for other weights */
                run_fused(cell, &a, phase, &got);
                differ[count] += !same(&got, &expected, &a);
            }
        }
    }
    for (int i = 0; i < count; i++) check_worst(i ? isa[i - 1].name : "scalar", c->name, differ[i], 0);
}

/* ---- bf16x3 splits ---------------------------------------------------------------------------- */

/* Bounds the difference of sums of up to DEEPEST + 30 products, below 1 and 0.2, whose magnitudes add up to some 20. */
static double largest_difference(const struct numbers *a, const struct numbers *b, const struct ask *ask)
{
    double worst = 0;
    for (int i = 1; i < 8; i++)
        for (size_t j = 0; j < ask->of * FIELDS * WIDEST; j++) {
            double x = a->array[i][j], y = b->array[i][j];
            worst = worse(worst, fabs(x - y) / (20 + fabs(y)));
        }
    return worst;
}

/* Runs the same in calls of a few rows each. */
static void run_in_pieces(const struct cell_kernels *cell, const struct ask *a, int phase, struct numbers *n,
                          uint64_t *seed)
{
    uint32_t all[ROWS];
    memcpy(all, list, sizeof all);
    for (size_t first = 0, rows; first < a->rows; first += rows) {
        rows = 1 + random_bits(seed) % 40;
        struct ask piece = *a;
        piece.rows = rows < a->rows - first ? rows : a->rows - first;
        piece.listed = true;
        for (uint32_t i = 0; i < piece.rows; i++) list[i] = a->listed ? all[first + i] : (uint32_t)first + i;
        run_fused(cell, &piece, phase, n);
    }
    memcpy(list, all, sizeof all);
}

static void check_bf16x3(const struct cell_kernels *scalar, const struct cell_kernels *cell, int asks)
{
    static struct numbers expected, got, again;
    const struct cell_declaration *c = scalar->declaration;
    uint64_t seed = 12;
    double worst = 0;
    int differ = 0;
    for (int tries = 0; tries < asks; tries++) {
        struct ask a = random_ask(&seed);
        a.cell = (enum fused_word[]){FUSED_BF16X3, FUSED_WHOLE, FUSED_BF16X3, FUSED_BF16}[tries % 4];
        if (of_tiles->parts == BF16_PARTS && a.cell == FUSED_BF16)
            a.cell = FUSED_BF16X3;
        a.by_tiles = true;
        a.of = ROWS;
        if (a.cell == FUSED_BF16) {
            a.x = 0; /* the sums come from an earlier product */
            a.k += BF16X3_K;
        }
        a.rows = 1 + random_bits(&seed) % ROWS;
        if (tries % 2 && a.width <= WIDEST - CELL_TILE)
            a.width = (a.width + CELL_TILE - 1) / CELL_TILE * CELL_TILE; /* distance of saved values is rounded up */
        pack_for_tiles(tiled[0], dense[0], a.cell, (size_t)cell_inputs_from(c, FROM_X), a.width, a.x);
        pack_for_tiles(tiled[1], dense[1], a.cell, (size_t)cell_inputs_from(c, FROM_H | FROM_INTERMEDIATE), a.width,
                       a.k);
        for (int phase = 0; phase < c->phases; phase++) {
            begin_anew(&expected, &a);
            begin_anew(&got, &a);
            begin_anew(&again, &a);
            run_plainly(scalar, &a, phase, &expected);
            run_fused(cell, &a, phase, &got);
            run_in_pieces(cell, &a, phase, &again, &seed);
            worst = worse(worst, largest_difference(&got, &expected, &a));
            differ += !same(&got, &again, &a);
        }
    }
    check_worst(of_tiles->name, c->name, worst, 5e-7);
    check_worst("tiles, in pieces", c->name, differ, 0);
}

/* Rounds all factors to bf16, so that rounding them again is exact. */
static void round_to_bf16(float *at, size_t n)
{
    for (size_t i = 0; i < n; i++) at[i] = bf16_to_f32(f32_to_bf16(at[i]));
}

static void round_all(void)
{
    for (int i = 0; i < 3; i++) round_to_bf16(operand[i], ROWS * DEEPEST);
    for (int i = 0; i < 2; i++) round_to_bf16(dense[i], FIELDS * WIDEST * DEEPEST);
}

static void check_bf16(const struct cpu_isa *isa, int asks)
{
    of_tiles = isa ? cpu_isa_with_bf16(isa) : NULL;
    for (int i = 0; of_tiles && cells_scalar[i]; i++) check_bf16x3(cells_scalar[i], of_tiles->tiled_cells[i], asks);
    if (!of_tiles)
        check_skip("this machine has no amx or avx512_bf16: steps of floats rounded to bf16 are not run");
}

static void check_all_bf16x3(int asks)
{
#ifdef __x86_64__
    const struct cpu_isa *amx = cpu_isa_find(ISA_AMX, DTYPE_F32), *avx512 = cpu_isa_find(ISA_AVX512, DTYPE_F32);
    of_tiles = amx;
    for (int i = 0; amx && cells_scalar[i]; i++) check_bf16x3(cells_scalar[i], amx->tiled_cells[i], asks);
    for (int i = 0; amx && toys_scalar[i]; i++) check_bf16x3(toys_scalar[i], toys_amx[i], asks);
    if (!amx)
        check_skip("this machine has no amx: steps with bf16x3 splits are not run");
    round_all();
    check_bf16(amx, asks);
    check_bf16(avx512, asks);
#else
    (void)asks;
#endif
}

int main(int count, char **words)
{
    struct isa_table isa[MOST_ISAS];
    int asks = check_quick(count, words) ? 50 : 200;
    find_isas(isa);
    fill_all();
    for (int i = 0; cells_scalar[i]; i++) check_cell(cells_scalar[i], isa, false, i, asks);
    for (int i = 0; toys_scalar[i]; i++) check_cell(toys_scalar[i], isa, true, i, asks);
    check_all_bf16x3(asks / 10);
    return check_finish("check_fused");
}
