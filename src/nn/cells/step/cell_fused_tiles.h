/* A part of cell_fused.h for weights that tiles multiply (nn/vector/v_tiles.h): one block of rows and one tile of
 * CELL_TILE units at a time. With bf16x3 splits a block has at most LEFT_ROWS rows and is processed by pairs of inputs;
 * with bf16 weights BF16_ROWS rows by up to TILES_SUMS inputs. Tile products and the cell's arithmetic both have long
 * latencies. Each step of k is therefore followed by some rows of the previous block, so that the processor overlaps
 * them. */
#pragma once
#include "nn/cells/step/bf16x3.h"

/* Sums of input i, row r of a block: made[(r * inputs + i) * CELL_TILE]. */
struct fused_block {
    size_t row, rows, unit; /* the first row, as an index in the list of rows */
    float *made;
};

enum { FUSED_LINE = 64 };

/* Recurrent weights of one or two inputs to prefetch: `share` bytes at a time, `times` times. */
struct fused_ahead {
    const char *at, *at_1;
    size_t share, times;
};

struct fused_pass {
    const struct fused_step *step;
    bool is_bf16; /* the recurrent weights are bf16; the three parts of the operands are then rows of one tile */
    bool is_far;  /* the recurrent weights do not stay in cache from step to step */
    struct fused_ahead ahead;
    struct fused_block now, before;
    size_t finished;          /* rows of the previous block that are finished */
    size_t asked;             /* rows of this block whose `in` was prefetched */
    size_t times, share, due; /* rows of a block divided into `times` equal shares: a row at a time */
    void (*interleaved)(struct fused_pass *);
};

/* Returns the steps of k of an input's sum. */
CELL_CODE size_t fused_steps(const struct fused_step *s, unsigned from)
{
    size_t steps = (from & FROM_X) && s->of_x.at ? bf16x3_steps(s->of_x.k) : 0;
    return s->of_h.at && (from & RECURRENT) ? steps + bf16x3_steps(s->of_h.k) : steps;
}

/* Returns the bytes of a tile of the right factor. */
CELL_CODE size_t fused_tile_bytes(const struct fused_weights *w)
{
    return bf16x3_steps(w->k) * right_bytes(TILE_PARTS, w->cell == FUSED_WHOLE);
}

CELL_CODE const char *fused_right(const struct fused_weights *w, size_t gate, size_t unit)
{
    return (const char *)w->at + (gate * bf16x3_tiles(w->units) + unit / BF16X3_COLUMNS) * fused_tile_bytes(w);
}

/* Returns whether the weights of this thread's units exceed the L2 cache. */
CELL_CODE bool fused_is_far(const struct fused_step *s)
{
    enum { HELD = 2 << 20 };
    const size_t tiles = s->of_h.gates * bf16x3_tiles(s->unit_end - s->unit);
    return s->of_h.at && s->of_h.cell != FUSED_BF16 && tiles * fused_tile_bytes(&s->of_h) > HELD;
}

/* Prefetches as much of a step of k as is multiplied meanwhile, in whole lines. This is faster than the hardware
 * prefetcher for distant memory. */
CELL_CODE struct fused_ahead fused_ahead(const struct fused_step *s, size_t gate, size_t gate_1, size_t unit)
{
    enum { SHARES = TILES_TIMES * FUSED_LINE };
    const size_t share = (right_bytes(TILE_PARTS, s->of_h.cell == FUSED_WHOLE) + SHARES - 1) / SHARES * FUSED_LINE;
    return (struct fused_ahead){fused_right(&s->of_h, gate, unit), fused_right(&s->of_h, gate_1, unit), share,
                                fused_tile_bytes(&s->of_h) / share};
}

CELL_CODE void fused_ask_ahead(struct fused_ahead *a)
{
    if (a->times == 0)
        return;
    for (size_t i = 0; i < a->share; i += FUSED_LINE) {
        __builtin_prefetch(a->at + i, 0, 2);
        __builtin_prefetch(a->at_1 + i, 0, 2);
    }
    a->at += a->share;
    a->at_1 += a->share;
    a->times--;
}

CELL_CODE void fused_interleaved(void *of, int time)
{
    struct fused_pass *p = of;
    (void)time;
    fused_ask_ahead(&p->ahead);
    for (p->due += p->share; p->due >= p->times; p->due -= p->times) p->interleaved(p);
}

/* Adds one product to the sums of one or two inputs. */
CELL_CODE void fused_add_bf16x3(struct fused_pass *p, const struct fused_operand *a, const struct fused_weights *w,
                                size_t gate, size_t gate_1, const bool second, const bool wide)
{
    const size_t steps = bf16x3_steps(w->k), rows = p->now.rows;
    const char *left = (const char *)a->at + p->now.row * steps * LEFT_ROW;
    const char *right = fused_right(w, gate, p->now.unit), *right_1 = fused_right(w, gate_1, p->now.unit);
    tiles_add_right(left, rows, right, right_1, steps, w->cell == FUSED_WHOLE, fused_interleaved, p, second, wide);
}

/* Prefetches units that will be written; they span one or two lines. */
CELL_CODE void fused_ask_lines(const struct fields *f, size_t index, size_t row, size_t unit)
{
    const v_element *at = cell_address(f, index, row, unit);
    __builtin_prefetch(at, 1);
    __builtin_prefetch(at + CELL_TILE - 1, 1);
}

/* Two inputs with the same sources: x and h are the indices of their weights, `to` the destination of their sums. */
struct fused_pair {
    unsigned from;
    size_t x, h, x_1, h_1;
    float *to;
    size_t to_row;
};

CELL_CODE void fused_multiply(struct fused_pass *p, const struct fused_pair *pair, const bool second, const bool wide)
{
    const struct fused_step *s = p->step;
    tiles_clear(second, wide);
    if ((pair->from & FROM_X) && s->of_x.at)
        fused_add_bf16x3(p, &s->x, &s->of_x, pair->x, pair->x_1, second, wide);
    if ((pair->from & FROM_H) && s->of_h.at)
        fused_add_bf16x3(p, &s->h, &s->of_h, pair->h, pair->h_1, second, wide);
    if ((pair->from & FROM_INTERMEDIATE) && s->of_h.at)
        fused_add_bf16x3(p, &s->intermediate, &s->of_h, pair->h, pair->h_1, second, wide);
    tiles_store(pair->to, pair->to + CELL_TILE, pair->to_row, p->now.rows, second, wide);
}

/* One function per block size. */
static void fused_multiply_11(struct fused_pass *p, const struct fused_pair *a) { fused_multiply(p, a, true, true); }
static void fused_multiply_10(struct fused_pass *p, const struct fused_pair *a) { fused_multiply(p, a, true, false); }
static void fused_multiply_01(struct fused_pass *p, const struct fused_pair *a) { fused_multiply(p, a, false, true); }
static void fused_multiply_00(struct fused_pass *p, const struct fused_pair *a) { fused_multiply(p, a, false, false); }

static void (*const fused_multiply_pair[2][2])(struct fused_pass *, const struct fused_pair *) = {
    {fused_multiply_00, fused_multiply_01}, {fused_multiply_10, fused_multiply_11}};

#if TILE_PARTS == 3
/* Adds a product with bf16 weights to the sums of `count` gates starting at `gate`. */
CELL_CODE void fused_add_bf16(struct fused_pass *p, const struct fused_operand *a, size_t gate, const size_t count)
{
    const struct fused_weights *w = &p->step->of_h;
    const size_t line = w->gates * TILES_LINE, lines = fused_words(w);
    const char *left = (const char *)a->at + p->now.row * bf16x3_steps(w->k) * LEFT_ROW;
    const char *unit = (const char *)w->at + p->now.unit / CELL_TILE * lines * line;
    const struct tiles_bf16 right = {unit + gate * TILES_LINE, lines, line};
    tiles_add_bf16(left, 3 * p->now.rows, &right, fused_interleaved, p, count);
}

/* Computes the sums of up to TILES_SUMS gates with the same sources, stored side by side. */
CELL_CODE void fused_multiply_bf16(struct fused_pass *p, unsigned from, size_t gate, float *to, size_t to_row,
                                   const size_t count)
{
    tiles_clear(true, true);
    if (from & FROM_H)
        fused_add_bf16(p, &p->step->h, gate, count);
    if (from & FROM_INTERMEDIATE)
        fused_add_bf16(p, &p->step->intermediate, gate, count);
    tiles_store_bf16(to, to_row, count);
}

#define FUSED_BF16_GATES(count)                                                                                     \
    static void fused_bf16_##count(struct fused_pass *p, unsigned from, size_t gate, float *to, size_t to_row)      \
    {                                                                                                               \
        fused_multiply_bf16(p, from, gate, to, to_row, count);                                                      \
    }
FUSED_BF16_GATES(1)
FUSED_BF16_GATES(2)
FUSED_BF16_GATES(3)
FUSED_BF16_GATES(4)

static void (*const fused_bf16_gates[TILES_SUMS + 1])(struct fused_pass *, unsigned, size_t, float *, size_t) = {
    NULL, fused_bf16_1, fused_bf16_2, fused_bf16_3, fused_bf16_4};
#endif
