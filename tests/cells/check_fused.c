/* Every cell's fused step on every instruction set of this machine, the scalar one included, with weights as
 * floats, bf16 and int8, against plain chains of multiply-adds and the scalar pointwise step: the same bits in
 * every array, nothing written beside the rows and units. "quick", for sanitizers and emulators: a quarter of the
 * shapes. Not a test of time or threads: device/test_rnn.c. */
#include "base/dtype.h"
#include "device/cpu/kernel.h"
#include "isa.h"
#include "worst.h"
#include <math.h>
#include <string.h>

enum { ROWS = 16, WIDEST = 136, DEEPEST = 400, FIELDS = 12, NUMBERS = ROWS * FIELDS * WIDEST };

/* One way to ask for a step. */
struct ask {
    size_t rows, width, k, x;               /* x: numbers of x; 0: `in` holds the sums */
    size_t unit, unit_end;
    enum fused_cell cell;
    bool   listed, reverse, bias, saves, fed;       /* fed: `in` is there */
};

/* Arrays in the order of struct cell_arrays but gradients, then the copies. */
struct numbers { float array[8][NUMBERS]; };

static struct numbers random_numbers;
static float operand[3][ROWS * DEEPEST], bytes[3][ROWS * (DEEPEST / 4 + 2)], bias[2][FIELDS * WIDEST];
static float dense[2][FIELDS * WIDEST * DEEPEST], tiled[2][FIELDS * (WIDEST + CELL_TILE) * (DEEPEST + 3)];

static const uint32_t list[ROWS] = { 13, 2, 3, 15, 8, 4, 1, 0, 9, 11, 5, 14 };

static void fill(float *to, size_t n, uint64_t *seed, double scale)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)(scale * random_number(seed));
}

static void fill_all(void)
{
    uint64_t seed = 3;
    fill(random_numbers.array[0], 8 * NUMBERS, &seed, 2);
    for (int i = 0; i < 3; i++)
        fill(operand[i], ROWS * DEEPEST, &seed, 1);
    for (int i = 0; i < 2; i++) {
        fill(bias[i], FIELDS * WIDEST, &seed, 1);
        fill(dense[i], FIELDS * WIDEST * DEEPEST, &seed, 0.2);
    }
}

static const struct cpu_isa *library(void)
{
    return cpu_isa_find(ISA_SCALAR, DTYPE_F32);
}

/* [gates, width, k] dense to tiles. */
static void pack(float *to, const float *from, enum fused_cell cell, size_t gates, size_t width, size_t k)
{
    size_t cells = fused_cells(&(struct fused_weights){ .k = k, .cell = cell });
    memset(to, 0, (width + CELL_TILE) * gates * cells * sizeof *to);
    for (size_t g = 0; g < gates; g++)
        for (size_t u = 0; u < width; u++) {
            float *at = to + (u / CELL_TILE * cells * gates + g) * CELL_TILE + u % CELL_TILE;
            const float *row = from + (g * width + u) * k;
            if (cell != FUSED_REAL)
                library()->pack_narrow(cell == FUSED_BF16 ? DTYPE_BF16 : DTYPE_I8, at, gates * CELL_TILE, row, k);
            for (size_t i = 0; i < k && cell == FUSED_REAL; i++)
                at[i * gates * CELL_TILE] = row[i];
        }
}

/* What the products read: for int8 made here. */
static struct fused_operand operand_of(const struct ask *a, int which, size_t k)
{
    if (a->cell != FUSED_INT8)
        return (struct fused_operand){ operand[which], k };
    for (size_t row = 0; row < ROWS && k; row++)
        library()->quantize(operand[which] + row * k, k, bytes[which] + row * operand_cells(k));
    return (struct fused_operand){ bytes[which], operand_cells(k) };
}

static size_t row_of(const struct ask *a, size_t place)
{
    return a->listed ? list[place] : place;
}

static struct fields fields_of(float *at, size_t fields, size_t width)
{
    return (struct fields){ at, width, fields * width, CELL_TILE };
}

static struct cell_arrays arrays_of(struct numbers *n, const struct cell_declaration *c, const struct ask *a)
{
    float (*array)[NUMBERS] = n->array;
    struct cell_arrays v = {
        .in = fields_of(array[0], (size_t)c->inputs, a->width),
        .state = fields_of(array[1], (size_t)c->states, a->width),
        .next = fields_of(array[2], (size_t)c->states, a->width),
        .saved = fields_of(array[3], (size_t)c->inputs, a->width),
        .link = fields_of(array[4], (size_t)c->links, a->width),
        .vector = { array[5], a->width, 0, CELL_TILE },
    };
    if (!a->saves)
        v.saved.at = NULL;
    return v;
}

/* ---- plainly --------------------------------------------------------------------------- */

static float scale_of(const float *x, size_t k)
{
    float largest = 0;
    for (size_t i = 0; i < k; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    return largest / 127;
}

static float int8_sum(float sum, const float *a, const float *w, size_t k)
{
    float by_a = scale_of(a, k), by_w = scale_of(w, k);
    long whole = 0;
    for (size_t i = 0; i < k; i++)
        whole += lrintf(a[i] * (1 / by_a)) * lrintf(w[i] * (1 / by_w));
    return fmaf((float)whole, by_w * by_a, sum);
}

/* One chain more, that of input i of a unit. */
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
        sum = chain(sum, &bias[0][i * a->width + u], operand[0] + row * a->x, dense[0] + (i * a->width + u) * a->x,
                    a, a->x);
    if (from & (FROM_H | FROM_LINK))
        sum = chain(sum, a->bias ? &bias[1][weight * a->width + u] : NULL,
                    operand[from & FROM_H ? 1 : 2] + row * a->k, dense[1] + (weight * a->width + u) * a->k, a, a->k);
    return sum;
}

/* The sums of a row's own units into a row of inputs. */
static void plain_sums(const struct cell_declaration *c, const struct ask *a, int phase, const float *was, float *in,
                       size_t row)
{
    for (size_t i = 0, weight = 0; i < (size_t)c->inputs; i++) {
        for (size_t u = a->unit; c->input[i].phase == phase && u < a->unit_end; u++)
            in[i * a->width + u] = plain_sum(c, a, was[i * a->width + u], i, weight, row, u);
        weight += (c->input[i].from & (FROM_H | FROM_LINK)) != 0;
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

/* The scalar pointwise step, unit by unit, on sums made here. */
static void run_plainly(const struct cell_kernels *scalar, const struct ask *a, int phase, struct numbers *n)
{
    static float in[FIELDS * WIDEST], spare[FIELDS * WIDEST];
    const struct cell_declaration *c = scalar->declaration;
    for (size_t place = 0; place < a->rows; place++) {
        size_t row = row_of(a, place);
        struct cell_step step = { .rows = 1, .width = a->unit_end - a->unit, .value = arrays_of(n, c, a),
                                  .options = SOME_OPTIONS };
        plain_sums(c, a, phase, n->array[0] + row * (size_t)c->inputs * a->width, in, row);
        struct fields *view[] = { &step.value.state, &step.value.next, &step.value.saved, &step.value.link };
        for (int i = 0; i < 4; i++)
            view[i]->at = view[i]->at ? (float *)view[i]->at + row * view[i]->row + a->unit : NULL;
        if (!a->saves)
            step.value.saved = (struct fields){ spare, a->width, 0, CELL_TILE };
        step.value.vector.at = n->array[5] + a->unit;
        step.value.in = (struct fields){ in + a->unit, a->width, 0, CELL_TILE };
        scalar->forward[phase](&step);
        if (phase == c->phases - 1)
            copy_states(n, c, a, row);
    }
}

/* ---- fused ----------------------------------------------------------------------------- */

static void run_fused(const struct cell_kernels *cell, const struct ask *a, int phase, struct numbers *n)
{
    const struct cell_declaration *c = cell->declaration;
    size_t x_gates = (size_t)cell_inputs_from(c, FROM_X), gates = (size_t)cell_inputs_from(c, FROM_H | FROM_LINK);
    struct fused_step step = {
        .rows = a->rows, .row = a->listed ? list : NULL, .unit = a->unit, .unit_end = a->unit_end,
        .reverse = a->reverse, .value = arrays_of(n, c, a), .options = SOME_OPTIONS,
        .x = operand_of(a, 0, a->x), .h = operand_of(a, 1, a->k), .link = operand_of(a, 2, a->k),
        .output = { n->array[6], 0, a->width, CELL_TILE },
        .others = { n->array[7], a->width, ((size_t)c->states - 1) * a->width, CELL_TILE },
    };
    if (a->x)
        step.of_x = (struct fused_weights){ tiled[0], a->x, x_gates, bias[0], a->width, a->cell };
    if (gates)
        step.of_h = (struct fused_weights){ tiled[1], a->k, gates, a->bias ? bias[1] : NULL, a->width, a->cell };
    if (!a->fed)
        step.value.in.at = NULL;
    cell->fused[phase](&step);
}

/* Sums may be left in `in`, which is nobody's result. */
static bool same(const struct numbers *a, const struct numbers *b)
{
    return !memcmp(a->array[1], b->array[1], 7 * sizeof a->array[1]);
}

static size_t random_bits(uint64_t *seed)
{
    return (size_t)((random_number(seed) + 1) * (1 << 20));
}

static struct ask random_ask(uint64_t *seed)
{
    struct ask a = {
        .rows = 1 + random_bits(seed) % 12, .width = 1 + random_bits(seed) % WIDEST,
        .listed = random_bits(seed) % 2, .reverse = random_bits(seed) % 2, .bias = random_bits(seed) % 4 > 0,
        .saves = random_bits(seed) % 2, .fed = random_bits(seed) % 4 > 0,
    };
    if (random_bits(seed) % 3 == 0)
        a.rows = 1;
    a.cell = (enum fused_cell)(random_bits(seed) % 3);
    a.k = 1 + random_bits(seed) % (random_bits(seed) % 4 ? 40 : DEEPEST);
    a.x = a.fed ? 0 : 1 + random_bits(seed) % 30;
    a.unit = random_bits(seed) % 2 ? 0 : random_bits(seed) % a.width / CELL_TILE * CELL_TILE;
    a.unit_end = a.unit + (random_bits(seed) % 2 ? a.width : CELL_TILE);
    if (a.unit_end > a.width)
        a.unit_end = a.width;
    return a;
}

/* How many asks come out otherwise than plainly, on each instruction set. */
static void check_cell(const struct cell_kernels *scalar, const struct isa_table *isa, bool is_toy, int place, int asks)
{
    static struct numbers expected, got;
    const struct cell_declaration *c = scalar->declaration;
    uint64_t seed = 11;
    int differ[6] = { 0 }, count = 0;
    for (int tries = 0; tries < asks; tries++) {
        struct ask a = random_ask(&seed);
        pack(tiled[0], dense[0], a.cell, (size_t)cell_inputs_from(c, FROM_X), a.width, a.x);
        pack(tiled[1], dense[1], a.cell, (size_t)cell_inputs_from(c, FROM_H | FROM_LINK), a.width, a.k);
        for (int phase = 0; phase < c->phases; phase++) {
            expected = random_numbers;
            run_plainly(scalar, &a, phase, &expected);
            for (count = 0; count == 0 || isa[count - 1].name; count++) {
                const struct cell_kernels *const *table =
                    count == 0 ? NULL : is_toy ? isa[count - 1].toys : isa[count - 1].cells;
                const struct cell_kernels *cell = table ? table[place] : scalar;
                got = random_numbers;
                bool int8_alone = count > 0 && !is_toy && isa[count - 1].int8_alone;
                if (!cell->fused[phase] || (int8_alone && a.cell != FUSED_INT8))
                    continue;               /* a table that is pointwise only, or of other weights */
                run_fused(cell, &a, phase, &got);
                differ[count] += !same(&got, &expected);
            }
        }
    }
    for (int i = 0; i < count; i++)
        check_worst(i ? isa[i - 1].name : "scalar", c->name, differ[i], 0);
}

int main(int count, char **words)
{
    struct isa_table isa[5];
    int asks = check_quick(count, words) ? 50 : 200;
    find_isas(isa);
    fill_all();
    for (int i = 0; cells_scalar[i]; i++)
        check_cell(cells_scalar[i], isa, false, i, asks);
    for (int i = 0; toys_scalar[i]; i++)
        check_cell(toys_scalar[i], isa, true, i, asks);
    return check_finish("check_fused");
}
