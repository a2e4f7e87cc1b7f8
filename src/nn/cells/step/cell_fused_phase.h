/* One phase of a cell's fused step. cell_fused.h includes it once or twice, with the lists of the phase. */

enum {
    PHASE_(count) = PHASE_END - PHASE_FIRST,
    PHASE_(vectors) = PHASE_(count) >= FUSED_SUMS ? 1 : FUSED_SUMS / PHASE_(count),
    PHASE_(lone) = PHASE_(count) >= FUSED_LONE / 2 ? 2
                   : PHASE_(count) == 1            ? 8
                                                   : FUSED_LONE / PHASE_(count),
    PHASE_(sums) = PHASE_(lone) * PHASE_(count),
    PHASE_(from) = 0 PHASE_INPUTS(INPUT_OR),       /* all sources */
    PHASE_(weights) = 0 PHASE_INPUTS(INPUT_RECURS) /* number of recurrent weights */
};

/* Sums are indexed sum[row][vector * count + input]. rows and vectors are constants in each call. */

#ifdef CELL_OWN_PRODUCTS
/* Returns whether the sum of input i starts from the value in `in`. */
CELL_CODE bool PHASE_(was)(const struct fused_step *s, const struct fused_tile *t, size_t i)
{
    return t->k > 0 || ((CELL_(sources)[PHASE_FIRST + i] & FROM_X) && s->value.in.at && !s->of_x.at);
}
#endif

/* Applies the cell to n units of a row. States are stored first, as in cell_at.h. */
CELL_CODE void PHASE_(finish)(const struct fused_step *s, size_t row, size_t unit, size_t n, const V *sum)
{
    struct CELL_(unit) v;
    OPTIONS(SET_OPTION)
    v.choice = &s->options;
    PHASE_INPUTS(TAKE_SUM)
    STATES(LOAD_STATE)
    PHASE_VECTORS(LOAD_VECTOR)
    PHASE_FORWARD(&v);
    PHASE_STORE
    if (FUSED_TILES_ALONE && s->far && n == V_WIDTH) {
        PHASE_SAVED(STREAM_SAVED)
    } else if (s->value.saved.at) {
        PHASE_SAVED(STORE_SAVED)
    }
}

#if FUSED_TILES_ALONE
#include "nn/cells/step/cell_fused_tiles_phase.h"
#else
/* Passes the sums of a tile, stored in memory, to the cell, row by row. */
static void PHASE_(finish_rows)(const struct fused_step *s, const struct fused_tile *t, const v_element *made,
                                size_t rows, size_t vectors)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < vectors; j++) {
            size_t n = fused_units(t, j, vectors), row = fused_row(s, t->row + r), unit = t->unit + j * V_WIDTH;
            V sum[PHASE_(count)];
#pragma GCC unroll 8
            for (size_t i = 0; i < PHASE_(count); i++, made += V_WIDTH) sum[i] = v_load(made);
            if (n == V_WIDTH)
                PHASE_(finish)(s, row, unit, V_WIDTH, sum);
            else
                PHASE_(finish)(s, row, unit, n, sum);
        }
}

/* Products are independent of the cell: cells with the same inputs (CELL_LIKE) share their code. */
#ifdef CELL_OWN_PRODUCTS
/* Copies sums of a partial last vector between `in` and whole vectors. `fetches`: from `in`. */
static void PHASE_(copy_some)(const struct fused_step *s, const struct fused_tile *t, v_element *made, size_t rows,
                              size_t vectors, bool fetches)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < vectors; j++)
            for (size_t i = 0; i < PHASE_(count); i++, made += V_WIDTH) {
                v_element *in =
                    cell_address(&s->value.in, PHASE_FIRST + i, fused_row(s, t->row + r), t->unit + j * V_WIDTH);
                if (!fetches)
                    v_store_some(in, v_load(made), fused_units(t, j, vectors));
                else if (PHASE_(was)(s, t, i))
                    v_store(made, v_load_some(in, fused_units(t, j, vectors)));
            }
}

/* Initializes sums from `in`, where the product with x or the previous block of k left them, otherwise to zero. */
CELL_CODE void PHASE_(begin)(V sum[][PHASE_(sums)], const struct fused_step *s, const struct fused_tile *t,
                             const size_t rows, const size_t vectors)
{
    v_element some[FUSED_ROWS * PHASE_(sums) * V_WIDTH];
    struct fused_place in = fused_place(s, t, PHASE_FIRST, rows);
    if (t->last < V_WIDTH && (t->k > 0 || s->value.in.at)) {
        PHASE_(copy_some)(s, t, some, rows, vectors, true);
        in = fused_dense(some, PHASE_(count), rows, vectors);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < PHASE_(count); i++)
        if (PHASE_(was)(s, t, i)) {
#pragma GCC unroll 12
            for (size_t j = 0; j < vectors; j++)
#pragma GCC unroll 8
                for (size_t r = 0; r < rows; r++)
                    sum[r][j * PHASE_(count) + i] = v_load(in.row[r] + i * in.field + j * in.vector);
        } else {
#pragma GCC unroll 12
            for (size_t j = 0; j < vectors; j++)
#pragma GCC unroll 8
                for (size_t r = 0; r < rows; r++) sum[r][j * PHASE_(count) + i] = v_const(0);
        }
}

CELL_CODE void PHASE_(add_bias)(V sum[][PHASE_(sums)], const struct fused_tile *t, const struct fused_weights *w,
                                const unsigned from, const size_t rows, const size_t vectors)
{
#pragma GCC unroll 8
    for (size_t i = 0; i < PHASE_(count); i++) {
        if (!(CELL_(sources)[PHASE_FIRST + i] & from))
            continue;
        size_t gate = from & FROM_X ? PHASE_FIRST + i : CELL_(weight_of)[PHASE_FIRST + i];
        const v_element *bias = (const v_element *)w->bias + gate * w->bias_gate + t->unit;
#pragma GCC unroll 12
        for (size_t j = 0; j < vectors; j++) {
            V b = v_load_units(bias + j * V_WIDTH, fused_units(t, j, vectors));
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++) sum[r][j * PHASE_(count) + i] = v_add(sum[r][j * PHASE_(count) + i], b);
        }
    }
}

/* Adds the products of one k. */
CELL_CODE void PHASE_(add)(V sum[][PHASE_(sums)], const struct fused_walk *walk, size_t k, size_t at,
                           const enum fused_part part, const unsigned from, const size_t rows, const size_t vectors)
{
    V row[FUSED_ROWS];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) row[r] = v_const(walk->operand[r][k]);
#pragma GCC unroll 8
    for (size_t i = 0; i < PHASE_(count); i++) {
        if (!(CELL_(sources)[PHASE_FIRST + i] & from))
            continue;
        size_t gate = from & FROM_X ? PHASE_FIRST + i : CELL_(weight_of)[PHASE_FIRST + i];
#pragma GCC unroll 12
        for (size_t j = 0; j < vectors; j++) {
            V weight = fused_weight(walk->weight[j] + at + gate * CELL_TILE, part);
            if (rows > 1)
                FUSED_LOAD_ONCE(weight);
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++)
                sum[r][j * PHASE_(count) + i] = v_fma(row[r], weight, sum[r][j * PHASE_(count) + i]);
        }
    }
}

#ifdef V_LOWP
CELL_CODE void PHASE_(multiply_bf16)(V sum[][PHASE_(sums)], const struct fused_walk *walk, const unsigned from,
                                     const size_t rows, const size_t vectors)
{
    size_t k = 0, at = 0;
    for (; k + 2 <= walk->k; k += 2, at += walk->step) {
        PHASE_(add)(sum, walk, k, at, PART_FIRST, from, rows, vectors);
        PHASE_(add)(sum, walk, k + 1, at, PART_SECOND, from, rows, vectors);
    }
    if (k < walk->k)
        PHASE_(add)(sum, walk, k, at, PART_FIRST, from, rows, vectors);
}

/* Adds the products of one int8 cell. */
CELL_CODE void PHASE_(dot)(VC dot[][PHASE_(sums)], const struct fused_walk *walk, size_t cell, size_t at,
                           const unsigned from, const size_t rows, const size_t vectors)
{
    VC row[FUSED_ROWS];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) row[r] = vc_bits(v_const(walk->operand[r][cell]));
#pragma GCC unroll 8
    for (size_t i = 0; i < PHASE_(count); i++) {
        if (!(CELL_(sources)[PHASE_FIRST + i] & from))
            continue;
        size_t gate = from & FROM_X ? PHASE_FIRST + i : CELL_(weight_of)[PHASE_FIRST + i];
#pragma GCC unroll 12
        for (size_t j = 0; j < vectors; j++) {
            VC weight = vc_load(walk->weight[j] + at + gate * CELL_TILE);
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++)
                dot[r][j * PHASE_(count) + i] = vc_dot(dot[r][j * PHASE_(count) + i], row[r], weight);
        }
    }
}

CELL_CODE void PHASE_(multiply_int8)(V sum[][PHASE_(sums)], const struct fused_walk *walk, const unsigned from,
                                     const size_t rows, const size_t vectors)
{
    const size_t cells = (walk->k + 3) / 4, end = cells * walk->step;
    VC dot[FUSED_ROWS][PHASE_(sums)];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 24
        for (size_t i = 0; i < vectors * PHASE_(count); i++) dot[r][i] = vc_const(0);
    for (size_t cell = 0; cell < cells; cell++) PHASE_(dot)(dot, walk, cell, cell * walk->step, from, rows, vectors);
#pragma GCC unroll 8
    for (size_t i = 0; i < PHASE_(count); i++) {
        if (!(CELL_(sources)[PHASE_FIRST + i] & from))
            continue;
        size_t gate = from & FROM_X ? PHASE_FIRST + i : CELL_(weight_of)[PHASE_FIRST + i];
#pragma GCC unroll 12
        for (size_t j = 0; j < vectors; j++) {
            const v_element *scale = walk->weight[j] + end + gate * CELL_TILE, *zero = scale + walk->step;
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++) {
                V *s = &sum[r][j * PHASE_(count) + i];
                V by = v_mul(v_load(scale), v_const(walk->operand[r][cells]));
                *s = v_fma(vc_to_float(vc_sub(dot[r][j * PHASE_(count) + i], vc_load(zero))), by, *s);
            }
        }
    }
}
#endif

CELL_CODE void PHASE_(multiply)(V sum[][PHASE_(sums)], const struct fused_walk walk, const unsigned from,
                                const size_t rows, const size_t vectors)
{
#ifdef V_LOWP
    if (FUSED_INT8_ALONE || walk.cell == FUSED_INT8) {
        PHASE_(multiply_int8)(sum, &walk, from, rows, vectors);
        return;
    }
    if (walk.cell == FUSED_BF16) {
        PHASE_(multiply_bf16)(sum, &walk, from, rows, vectors);
        return;
    }
#endif
    size_t k = 0, at = 0;
    for (; rows == 1 && k + LONE_STEPS <= walk.k; k += LONE_STEPS, at += LONE_STEPS * walk.step)
#pragma GCC unroll 8
        for (size_t i = 0; i < LONE_STEPS; i++)
            PHASE_(add)(sum, &walk, k + i, at + i * walk.step, PART_ALL, from, rows, vectors);
    for (; k < walk.k; k++, at += walk.step) PHASE_(add)(sum, &walk, k, at, PART_ALL, from, rows, vectors);
}

/* Does the same and prefetches the following weights. If a block is read only once, the hardware prefetches it. */
CELL_CODE void PHASE_(multiply_and_ask)(V sum[][PHASE_(sums)], const struct fused_walk walk, const struct fused_tile *t,
                                        const unsigned from, const size_t rows, const size_t vectors)
{
    enum { LINE = 64 };
    const char *ahead = t->ahead;
    const size_t step = t->ahead_step;
    for (size_t k = 0, at = 0; k < walk.k; k++, at += walk.step, ahead += step) {
        for (size_t i = 0; i < step; i += LINE) {
#pragma GCC unroll 12
            for (size_t j = 0; j < vectors; j++)
                __builtin_prefetch((const v_element *)(ahead + i) + (walk.weight[j] - walk.weight[0]), 0, 2);
        }
        PHASE_(add)(sum, &walk, k, at, PART_ALL, from, rows, vectors);
    }
}

/* Stores unfinished sums between two blocks of k. */
CELL_CODE void PHASE_(put_off)(V sum[][PHASE_(sums)], const struct fused_step *s, const struct fused_tile *t,
                               const size_t rows, const size_t vectors)
{
    v_element some[FUSED_ROWS * PHASE_(sums) * V_WIDTH];
    bool whole = t->last == V_WIDTH;
    struct fused_place in =
        whole ? fused_place(s, t, PHASE_FIRST, rows) : fused_dense(some, PHASE_(count), rows, vectors);
#pragma GCC unroll 8
    for (size_t i = 0; i < PHASE_(count); i++)
#pragma GCC unroll 12
        for (size_t j = 0; j < vectors; j++)
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++)
                v_store(in.row[r] + i * in.field + j * in.vector, sum[r][j * PHASE_(count) + i]);
    if (!whole)
        PHASE_(copy_some)(s, t, some, rows, vectors, false);
}

/* Computes the sums of a tile. */
CELL_CODE void PHASE_(add_up)(V sum[][PHASE_(sums)], const struct fused_step *s, const struct fused_tile *t,
                              const size_t rows, const size_t vectors)
{
    PHASE_(begin)(sum, s, t, rows, vectors);
    if (t->k == 0) {
        if (s->of_x.bias)
            PHASE_(add_bias)(sum, t, &s->of_x, FROM_X, rows, vectors);
        if (s->of_x.at)
            PHASE_(multiply)(sum, fused_walk(s, t, &s->x, &s->of_x, CELL_(gates_x), 0, s->of_x.k, rows, vectors),
                             FROM_X, rows, vectors);
        if (s->of_h.bias)
            PHASE_(add_bias)(sum, t, &s->of_h, RECURRENT, rows, vectors);
    }
    if (PHASE_(from) & FROM_H) {
        struct fused_walk walk = fused_walk(s, t, &s->h, &s->of_h, CELL_(gates_h), t->k, t->k_end, rows, vectors);
        if (!FUSED_INT8_ALONE && rows > 1 && walk.cell == FUSED_REAL && t->ahead_step)
            PHASE_(multiply_and_ask)(sum, walk, t, FROM_H, rows, vectors);
        else
            PHASE_(multiply)(sum, walk, FROM_H, rows, vectors);
    }
    if (PHASE_(from) & FROM_INTERMEDIATE)
        PHASE_(multiply)(sum,
                         fused_walk(s, t, &s->intermediate, &s->of_h, CELL_(gates_h), t->k, t->k_end, rows, vectors),
                         FROM_INTERMEDIATE, rows, vectors);
    if (FUSED_INT8_ALONE && rows == 1 && vectors == LONE_TILE)
        fused_ask_next(s, t->unit, CELL_(gates_h));
}

/* Computes a tile and passes its sums to the cell through memory. */
CELL_CODE void PHASE_(tile)(const struct fused_step *s, const struct fused_tile *t, const size_t rows,
                            const size_t vectors)
{
    V sum[FUSED_ROWS][PHASE_(sums)];
    v_element made[FUSED_ROWS * PHASE_(sums) * V_WIDTH], *to = made;
    PHASE_(add_up)(sum, s, t, rows, vectors);
    if (!t->ends) {
        PHASE_(put_off)(sum, s, t, rows, vectors);
        return;
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 48
        for (size_t i = 0; i < vectors * PHASE_(count); i++, to += V_WIDTH) v_store(to, sum[r][i]);
    t->finish(s, t, made, rows, vectors);
}

/* A tile for a single row, with all of k. Checking this condition repeatedly would take a noticeable part of a small
 * step. */
CELL_CODE struct fused_tile PHASE_(lone_tile)(const struct fused_step *s, size_t unit, size_t last)
{
    return (struct fused_tile){.unit = unit, .k_end = s->of_h.at ? s->of_h.k : 0, .last = last, .ends = true};
}

CELL_CODE void PHASE_(part)(const struct fused_step *s, size_t unit, fused_finish *finish, const size_t vectors)
{
    struct fused_tile t = PHASE_(lone_tile)(s, unit, V_WIDTH == 1 ? 1 : fused_last(s, unit, vectors));
    t.finish = finish;
    PHASE_(tile)(s, &t, 1, vectors);
}

/* One function per tile size. */
static void PHASE_(part_1)(const struct fused_step *s, size_t unit, fused_finish *finish)
{
    PHASE_(part)(s, unit, finish, 1);
}
static void PHASE_(part_2)(const struct fused_step *s, size_t unit, fused_finish *finish)
{
    PHASE_(part)(s, unit, finish, 2);
}
static void PHASE_(part_all)(const struct fused_step *s, size_t unit, fused_finish *finish)
{
    PHASE_(part)(s, unit, finish, PHASE_(lone));
}
#define PHASE_HEIGHT(rows)                                                                              \
    static void PHASE_(rows_##rows)(const struct fused_step *s, const struct fused_tile *t)             \
    {                                                                                                   \
        PHASE_(tile)(s, t, rows, PHASE_(vectors));                                                      \
    }                                                                                                   \
    static void PHASE_(some_##rows)(const struct fused_step *s, const struct fused_tile *t)             \
    {                                                                                                   \
        PHASE_(tile)(s, t, rows, 1);                                                                    \
    }
FUSED_HEIGHTS(PHASE_HEIGHT)

#define PHASE_ROWS(rows) [rows] = PHASE_(rows_##rows),
#define PHASE_SOME(rows) [rows] = PHASE_(vectors) == 1 ? PHASE_(rows_##rows) : PHASE_(some_##rows),
static void (*const PHASE_(whole_tile)[])(const struct fused_step *,
                                          const struct fused_tile *) = {FUSED_HEIGHTS(PHASE_ROWS)};
static void (*const PHASE_(some_tile)[])(const struct fused_step *,
                                         const struct fused_tile *) = {FUSED_HEIGHTS(PHASE_SOME)};

/* Returns whether a lone row is processed by tiles of units: its weights exceed the L1 cache, but those of a tile fit.
 * A step in the opposite direction then starts with the last tile of the step before. L2 bandwidth feeds four
 * chains. */
static bool PHASE_(goes_by_tiles)(const struct fused_step *s)
{
    enum { HELD = 48 << 10, ACC_BLOCKS_ROOM = 33 << 10 };
    const size_t x = s->of_x.at ? fused_words(&s->of_x) * CELL_(gates_x) : 0;
    const size_t h = s->of_h.at ? fused_words(&s->of_h) * CELL_(gates_h) : 0, unit = (x + h) * sizeof(v_element);
    return LONE_TILE > 0 && PHASE_(weights) >= 4 && unit * CELL_TILE <= ACC_BLOCKS_ROOM &&
           unit * (s->unit_end - s->unit) > HELD;
}

/* Returns the maximum number of vectors of a strip of units. */
static size_t PHASE_(max_vectors)(const struct fused_step *s)
{
    if (s->rows > 1)
        return PHASE_(vectors);
    return PHASE_(goes_by_tiles)(s) ? LONE_TILE : PHASE_(lone);
}

/* Returns the vectors of the next strip, given those left. A lone row's strips never end with a single vector after
 * wide ones. */
static size_t PHASE_(strip_vectors)(const struct fused_step *s, size_t left, size_t max)
{
    bool is_lone = s->rows == 1;
    if (left >= max && !(is_lone && max > 2 && left == max + 1))
        return max;
    return is_lone && left >= 2 ? 2 : 1;
}

#include "nn/cells/step/cell_fused_tall.h"

#define PHASE_TALL(rows) [rows] = PHASE_(tall_##rows),
static void (*const PHASE_(tall_tiles)[])(const struct fused_step *,
                                          const struct fused_tile *) = {[0] = NULL, FUSED_TALL_HEIGHTS(PHASE_TALL)};
#undef PHASE_TALL

/* Processes all rows of a strip in tiles of nearly equal height. If there are several tiles and unfinished sums can be
 * stored, uses blocks of k whose weights stay in cache. int8 sums cannot be stored. */
static void PHASE_(strip)(const struct fused_step *s, size_t unit, size_t vectors, size_t next_unit,
                          fused_finish *finish)
{
    enum { BYTES = (PHASE_(weights) ? PHASE_(weights) : 1) * V_WIDTH * sizeof(v_element) };
    struct fused_tile t = {.unit = unit, .last = fused_last(s, unit, vectors), .finish = finish};
    const bool tall = PHASE_(strip_is_tall)(s, &t, vectors);
    const size_t height = tall ? FUSED_TALL : FUSED_ROWS, parts = tall ? 2 : 1, tiles = (s->rows + height - 1) / height;
    const size_t width = s->of_h.at ? s->of_h.k : 0;
    bool blocks = tiles > 1 && s->value.in.at && !s->keeps_sums && s->of_h.cell != FUSED_INT8;
    size_t max = FUSED_BLOCK / (BYTES * vectors) << (s->of_h.cell == FUSED_BF16),
           count = blocks ? (width + max - 1) / max : 1;
    count = count ? count : 1;
    for (; count > 0; count--, t.k = t.k_end) {
        t.k_end = t.k + (width - t.k) / count;
        t.ends = count == 1;
        t.k_end -= t.ends ? 0 : t.k_end % 2; /* cells stay whole */
        t.row = 0;
        for (size_t left = tiles; left > 0; left--) {
            size_t rows = (s->rows - t.row) / left;
            fused_ask_weights(s, &t, (tiles - left) * parts, tiles * parts, t.ends ? next_unit : unit,
                              t.ends ? 0 : t.k_end);
            if (t.k == 0 && rows > 1)
                fused_ask(s, &t, rows, vectors, next_unit, PHASE_FIRST, PHASE_END);
            (rows > FUSED_ROWS ? PHASE_(tall_tiles)
             : vectors == 1    ? PHASE_(some_tile)
                               : PHASE_(whole_tile))[rows](s, &t);
            t.row += rows;
        }
    }
}

#undef PHASE_ROWS
#undef PHASE_SOME
#undef PHASE_HEIGHT
#endif
_Static_assert((int)PHASE_(count) == (int)LIKE_(count) && (int)PHASE_(from) == (int)LIKE_(from), "other inputs");

/* Processes a lone row of whole vectors, entirely in registers. */
CELL_CODE void PHASE_(lone_whole)(const struct fused_step *s, size_t unit, const size_t vectors)
{
    const struct fused_tile t = LIKE_(lone_tile)(s, unit, V_WIDTH);
    V sum[FUSED_ROWS][LIKE_(sums)];
    LIKE_(add_up)(sum, s, &t, 1, vectors);
#pragma GCC unroll 12
    for (size_t j = 0; j < vectors; j++)
        PHASE_(finish)(s, fused_row(s, 0), unit + j * V_WIDTH, V_WIDTH, sum[0] + j * PHASE_(count));
}

#define PHASE_LONE(size, vectors)                                                                       \
    static void PHASE_(lone_##size)(const struct fused_step *s, size_t unit)                            \
    {                                                                                                   \
        if (CELL_(lone_whole) && fused_last(s, unit, vectors) == V_WIDTH)                                     \
            PHASE_(lone_whole)(s, unit, vectors);                                                       \
        else                                                                                            \
            LIKE_(part_##size)(s, unit, PHASE_(finish_rows));                                           \
    }
PHASE_LONE(1, 1)
PHASE_LONE(2, 2)
PHASE_LONE(all, PHASE_(lone))

static void PHASE_(fused)(const struct fused_step *s)
{
    size_t left = (s->unit_end - s->unit + V_WIDTH - 1) / V_WIDTH,
           unit = s->reverse ? s->unit + left * V_WIDTH : s->unit;
    const size_t max = LIKE_(max_vectors)(s);
    while (left > 0) {
        size_t vectors = LIKE_(strip_vectors)(s, left, max), width = vectors * V_WIDTH;
        unit -= s->reverse ? width : 0;
        if (s->rows == 1) /* no divisions: a small step is as short as a few of them */
            (vectors == 1 ? PHASE_(lone_1) : vectors == 2 ? PHASE_(lone_2) : PHASE_(lone_all))(s, unit);
        else
            LIKE_(strip)(s, unit, vectors, s->reverse ? unit - width : unit + width, PHASE_(finish_rows));
        unit += s->reverse ? 0 : width;
        left -= vectors;
    }
}

#undef PHASE_LONE
#endif

#undef PHASE_
#undef LIKE_
#undef PHASE_FIRST
#undef PHASE_END
#undef PHASE_INPUTS
#undef PHASE_SAVED
#undef PHASE_VECTORS
#undef PHASE_FORWARD
#undef PHASE_STORE
