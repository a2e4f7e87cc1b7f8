/* A part of a CELL_USER: the fused forward step: the matrix products of some rows and units, then the cell's arithmetic
 * on the sums, which stay in registers or cache (struct fused_step in cell.h). Each sum is one chain in rising k for
 * all tiles and blocks, so all V of floats give the same bits. Independent of time, layers and threads. Included after
 * cell_at.h. */
#ifndef CELLS_CELL_FUSED_H
#define CELLS_CELL_FUSED_H

/* A tile is FUSED_ROWS rows by enough vectors of units for FUSED_SUMS sums per row. With one vector of each weight and
 * one operand value they fill the registers (32 in AVX-512 and NEON, 16 in AVX2). A lone row uses more vectors, up to
 * FUSED_LONE sums: a multiply-add waits 4 to 5 cycles for its predecessor in the chain, and two start per cycle. */
#if V_WIDTH == 16 || V_WIDTH == 4
enum { FUSED_ROWS = 6, FUSED_SUMS = 4, FUSED_LONE = 12 };
#define FUSED_HEIGHTS(H)      H(2) H(3) H(4) H(5) H(6)
#define FUSED_TALL_HEIGHTS(H) H(7) H(8) H(9) H(10) H(11) H(12)
#elif V_WIDTH == 8
enum { FUSED_ROWS = 3, FUSED_SUMS = 4, FUSED_LONE = 12 };
#define FUSED_HEIGHTS(H)      H(2) H(3)
#define FUSED_TALL_HEIGHTS(H) H(4) H(5) H(6)
#else
enum { FUSED_ROWS = 1, FUSED_SUMS = 4, FUSED_LONE = 8 };
#define FUSED_HEIGHTS(H) H(1)
#define FUSED_TALL_HEIGHTS(H)
#endif
_Static_assert(FUSED_ROWS != 2, "three rows would leave a single row, and the strip is too narrow for one");
#ifndef FUSED_INT8_ALONE
#define FUSED_INT8_ALONE 0      /* 1: a table for steps whose weights are all int8 */
#endif
#ifndef FUSED_TILES_ALONE
/* 1: a table for weights that tiles multiply: bf16x3 splits, which other tables do not support, and bf16 */
#define FUSED_TILES_ALONE 0
#endif
enum {
    FUSED_BLOCK = 128 << 10,     /* bytes of weights shared by all tiles of rows in turn. They stay in L2: a block for
                                  * L1 would have so few k that sums would be stored and loaded too often */
    FUSED_TALL = 2 * FUSED_ROWS, /* rows of a tall tile, by .. */
    FUSED_PART = 2,              /* .. this number of sums each (cell_fused_tall.h) */
    LONE_TILE = V_WIDTH >= CELL_TILE / 2 ? CELL_TILE / V_WIDTH : 0, /* vectors of a tile of units, at most 2; 0: more */
    LONE_STEPS = 4,                                                 /* k per check of the end, for a lone row */
    RECURRENT = FROM_H | FROM_INTERMEDIATE
};

/* Passes the sums of a tile from memory, [row][vector][input][V_WIDTH], to the cell. */
struct fused_tile;
typedef void fused_finish(const struct fused_step *, const struct fused_tile *, const v_element *made, size_t rows,
                          size_t vectors);

/* The first row, as an index in the list of rows, the first unit, and the range of k of the recurrent products. If k >
 * 0, sums are loaded from `in`; if k is not the end, they are stored there. */
struct fused_tile {
    size_t row, unit, k, k_end;
    size_t last; /* units of the last vector */
    bool ends;
    const char *ahead; /* this tile's share of the next block's weights, prefetched meanwhile, .. */
    size_t ahead_step; /* .. this number of bytes per k; 0: none */
    fused_finish *finish;
};

/* The inputs of the tile's units: input i of row r, vector j is at row[r] + i * field + j * vector. */
struct fused_place {
    v_element *row[FUSED_ROWS];
    size_t field, vector;
};

/* Operands of a product: one element per row, and one vector of cells per vector of units. */
struct fused_walk {
    const v_element *operand[FUSED_ROWS];
    const v_element *weight[FUSED_LONE];
    size_t k, step; /* elements from one cell of weights to the next */
    enum fused_word cell;
};

/* Keeps the compiler from loading a weight again for each row: loads are the bottleneck. */
#if V_WIDTH == 16
#define FUSED_LOAD_ONCE(weight) __asm__("" : "+v"(weight))
#elif V_WIDTH == 8
#define FUSED_LOAD_ONCE(weight) __asm__("" : "+x"(weight))
#else
#define FUSED_LOAD_ONCE(weight) ((void)0)
#endif

/* Keeps the compiler from recomputing one pointer from another. */
#define FUSED_HIDE(pointer) __asm__("" : "+r"(pointer))

/* Selects a weight of a cell. */
enum fused_part { PART_ALL, PART_FIRST, PART_SECOND };

CELL_CODE V fused_weight(const v_element *cell, const enum fused_part part)
{
#ifdef V_LOWP
    if (part == PART_FIRST)
        return vc_first_bf16(vc_load(cell));
    if (part == PART_SECOND)
        return vc_second_bf16(vc_load(cell));
#endif
    (void)part;
    return v_load(cell);
}

CELL_CODE size_t fused_row(const struct fused_step *s, size_t place) { return s->row ? s->row[place] : place; }

/* Returns the units in vector j of the tile. */
CELL_CODE size_t fused_units(const struct fused_tile *t, size_t j, size_t vectors)
{
    return j + 1 < vectors ? V_WIDTH : t->last;
}

CELL_CODE size_t fused_last(const struct fused_step *s, size_t unit, size_t vectors)
{
    size_t left = s->unit_end - (unit + (vectors - 1) * V_WIDTH);
    return left < V_WIDTH ? left : V_WIDTH;
}

/* Returns the place of the inputs in value.in, which is dense. */
CELL_CODE struct fused_place fused_place(const struct fused_step *s, const struct fused_tile *t, size_t input,
                                         const size_t rows)
{
    struct fused_place place = {.field = s->value.in.field, .vector = V_WIDTH};
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
        place.row[r] = cell_address(&s->value.in, input, fused_row(s, t->row + r), t->unit);
    return place;
}

/* Returns the place of the inputs in a buffer [rows][vectors][count][V_WIDTH]. */
CELL_CODE struct fused_place fused_dense(v_element *at, size_t count, const size_t rows, const size_t vectors)
{
    struct fused_place place = {.field = V_WIDTH, .vector = count * V_WIDTH};
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++) place.row[r] = at + r * vectors * place.vector;
    return place;
}

#if FUSED_TILES_ALONE
#define STREAM_SAVED(name)      v_stream(cell_address(&s->value.saved, CELL_(saved_##name), row, unit), v.saved.name);
#else
#define STREAM_SAVED(name)
#endif

/* Prefetches the sums of the next tile, or the destination of its saved values. The next tile has the following rows,
 * or the first rows of the next strip. The hardware prefetcher does not predict distant rows. */
CELL_CODE void fused_ask(const struct fused_step *s, const struct fused_tile *t, size_t rows, size_t vectors,
                         size_t next_unit, size_t input, size_t input_end)
{
    bool is_last = t->row + rows >= s->rows;
    size_t place = is_last ? 0 : t->row + rows, unit = is_last ? next_unit : t->unit;
    size_t end = place + rows < s->rows ? place + rows : s->rows;
    const struct fields *wanted = s->of_x.at ? &s->value.saved : &s->value.in;
    if (!wanted->at || unit < s->unit || unit >= s->unit_end)
        return;
    for (; place < end; place++)
        for (size_t i = input; i < input_end; i++)
            for (size_t j = 0; j < vectors; j++)
                __builtin_prefetch(cell_address(wanted, i, fused_row(s, place), unit + j * V_WIDTH), 1);
}

/* Assigns tile number `tile` of `tiles` its share of the weights to prefetch, starting at `unit` and k. For a single
 * tile the hardware prefetches well, and prefetches would only delay its own loads. */
CELL_CODE void fused_ask_weights(const struct fused_step *s, struct fused_tile *t, size_t tile, size_t tiles,
                                 size_t unit, size_t k)
{
    const size_t line = s->of_h.gates * CELL_TILE * sizeof(v_element);
    if (!s->of_h.at || unit < s->unit || unit >= s->unit_end || tiles == 1) {
        t->ahead_step = 0;
        return;
    }
    t->ahead_step = (line + tiles - 1) / tiles;
    t->ahead =
        (const char *)s->of_h.at + (unit / CELL_TILE * s->of_h.k + k) * line + tile * (t->k_end - t->k) * t->ahead_step;
}

CELL_CODE struct fused_walk fused_walk(const struct fused_step *s, const struct fused_tile *t,
                                       const struct fused_operand *a, const struct fused_weights *w, const size_t gates,
                                       size_t k, size_t k_end, const size_t rows, const size_t vectors)
{
    struct fused_walk walk = {.k = k_end - k, .step = gates * CELL_TILE, .cell = w->cell};
    size_t first = w->cell == FUSED_BF16 ? k / 2 : k;
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
        walk.operand[r] = (const v_element *)a->at + fused_row(s, t->row + r) * a->row + k;
#pragma GCC unroll 12
    for (size_t j = 0; j < vectors; j++) {
        size_t unit = t->unit + j * V_WIDTH;
        walk.weight[j] =
            (const v_element *)w->at + (unit / CELL_TILE * fused_words(w) + first) * walk.step + unit % CELL_TILE;
    }
    return walk;
}

/* Prefetches the first weights of the next tile into L1 while a lone row's gates are computed and L2 is idle. */
CELL_CODE void fused_ask_next(const struct fused_step *s, size_t unit, const size_t gates)
{
    enum { LINE = 64, LINES = 24 };
    const size_t next = s->reverse ? unit - CELL_TILE : unit + CELL_TILE;
    if (!s->of_h.at || next < s->unit || next >= s->unit_end)
        return;
    const v_element *at = (const v_element *)s->of_h.at + next * fused_words(&s->of_h) * gates;
#pragma GCC unroll 24
    for (size_t i = 0; i < LINES; i++) __builtin_prefetch((const char *)at + i * LINE);
}

#if FUSED_TILES_ALONE
#include "nn/cells/step/cell_fused_tiles.h"
#endif

#define INPUT_SOURCES(name, from)   from,
#define INPUT_OR(name, from)        | (from)
#define INPUT_SEES_X(name, from)    + (((from) & FROM_X) != 0)
#define INPUT_RECURS(name, from)    + (((from) & RECURRENT) != 0)
#define INPUT_WEIGHT(name, from)                                                                        \
    CELL_(weight_##name), CELL_(weight_after_##name) = (int)CELL_(weight_##name) - (((from) & RECURRENT) == 0),
#define INPUT_WEIGHT_OF(name, from) CELL_(weight_##name),

#define TAKE_SUM(name, from)        v.in.name = sum[CELL_(in_##name) - PHASE_FIRST];
#define STORE_KEPT(name)                                                                                \
    if (CELL_(state_##name) == 0 && s->output.at)                                                       \
        v_store_units(cell_address(&s->output, 0, row, unit), v.next.name, n);                          \
    else if (CELL_(state_##name) > 0 && s->others.at)                                                   \
        v_store_units(cell_address(&s->others, (size_t)CELL_(state_##name) - 1, row, unit), v.next.name, n);
#endif

#if !defined CELL_LIKE || FUSED_TILES_ALONE
#undef CELL_LIKE
#define CELL_LIKE CELL
#define CELL_OWN_PRODUCTS
#endif
#ifdef CELL_CHOOSES
enum { CELL_(lone_whole) = 0 }; /* few networks use such cells: less code, slightly slower */
#else
enum { CELL_(lone_whole) = V_WIDTH > 1 }; /* for scalars it would generate code for each element */
#endif

/* Gates of the weights. For each input: its sources, and its index among the recurrent weights. */
enum {
    CELL_(gates_x) = 0 GATE_INPUTS(INPUT_SEES_X) GATE_INPUTS_2(INPUT_SEES_X),
    CELL_(gates_h) = 0 GATE_INPUTS(INPUT_RECURS) GATE_INPUTS_2(INPUT_RECURS)
};
enum { GATE_INPUTS(INPUT_WEIGHT) GATE_INPUTS_2(INPUT_WEIGHT) };
#ifdef CELL_OWN_PRODUCTS
static const unsigned char CELL_(sources)[] = {GATE_INPUTS(INPUT_SOURCES) GATE_INPUTS_2(INPUT_SOURCES)};
static const unsigned char CELL_(weight_of)[] = {GATE_INPUTS(INPUT_WEIGHT_OF) GATE_INPUTS_2(INPUT_WEIGHT_OF)};
#endif

#define PHASE_(name)            CELL_PASTE(CELL_(name), 1)
#define LIKE_(name)             CELL_PASTE(CELL_PASTE(CELL_LIKE, name), 1)
#define PHASE_FIRST             0
#define PHASE_END               (int)CELL_(inputs_1)
#define PHASE_INPUTS            GATE_INPUTS
#define PHASE_SAVED             SAVED
#define PHASE_VECTORS           VECTORS
#define PHASE_FORWARD           CELL_(forward)
#if CELL_PHASES == 1
#define PHASE_STORE             STATES(STORE_NEXT) STATES(STORE_KEPT)
#else
#define PHASE_STORE             INTERMEDIATES(STORE_INTERMEDIATE)
#endif
#include "nn/cells/step/cell_fused_phase.h"

#undef CELL_FUSED
#if CELL_PHASES == 1
#define CELL_FUSED { CELL_PASTE(CELL_(fused), 1), NULL }
#else
#define CELL_FUSED { CELL_PASTE(CELL_(fused), 1), CELL_PASTE(CELL_(fused), 2) }
#define PHASE_(name)            CELL_PASTE(CELL_(name), 2)
#define LIKE_(name)             CELL_PASTE(CELL_PASTE(CELL_LIKE, name), 2)
#define PHASE_FIRST             (int)CELL_(inputs_1)
#define PHASE_END               (int)CELL_(inputs)
#define PHASE_INPUTS            GATE_INPUTS_2
#define PHASE_SAVED             SAVED_2
#define PHASE_VECTORS(LOAD)
#define PHASE_FORWARD           CELL_(forward_2)
#define PHASE_STORE             STATES(STORE_NEXT) STATES(STORE_KEPT)
#include "nn/cells/step/cell_fused_phase.h"
#endif
#undef CELL_OWN_PRODUCTS
