/* A part of cell_fused.h for weights as thirds (v/v_tiles.h): a block of at most LEFT_ROWS rows and a tile of
 * CELL_TILE units at a time, by pairs of inputs. Sums take a long time in the tiles and the cell's arithmetic takes a
 * long time beside them, so each step of k is followed by some rows of the block before: a processor does at once what
 * lies close together in the program. */
#ifndef CELLS_CELL_FUSED_THIRDS_H
#define CELLS_CELL_FUSED_THIRDS_H
#include "cells/thirds.h"

/* Sums of input i, row r of a block: made[(r * inputs + i) * CELL_TILE]. */
struct fused_block {
    size_t row, rows, unit;     /* the first row, as a place in the list of rows */
    float *made;
};

/* Recurrent weights of one or two inputs that are wanted next, for so many of the shares in which they are asked for. */
struct fused_ahead {
    const char *at, *at_1;
    size_t times;
};

struct fused_pass {
    const struct fused_step *step;
    bool   is_far;              /* are the recurrent weights more than stays near from step to step? */
    struct fused_ahead ahead;
    struct fused_block now, before;
    size_t finished;            /* rows of the block before that the cell is done with */
    size_t asked;               /* rows of this block whose `in` is asked for */
    size_t times, due;          /* in how many equal shares: a row at a time */
    void (*beside)(struct fused_pass *);
};

/* Steps of k of the sum of an input. */
CELL_CODE size_t fused_steps(const struct fused_step *s, unsigned from)
{
    size_t steps = (from & FROM_X) && s->of_x.at ? thirds_steps(s->of_x.k) : 0;
    return s->of_h.at && (from & RECURRENT) ? steps + thirds_steps(s->of_h.k) : steps;
}

CELL_CODE const char *fused_right(const struct fused_weights *w, size_t gate, size_t unit)
{
    return (const char *)w->at +
           (gate * thirds_tiles(w->units) + unit / THIRDS_COLUMNS) * thirds_steps(w->k) * RIGHT_BYTES;
}

/* More than an L2 cache holds of the weights of this thread's units. */
CELL_CODE bool fused_is_far(const struct fused_step *s)
{
    enum { HELD = 2 << 20 };
    const size_t tiles = s->of_h.gates * thirds_tiles(s->unit_end - s->unit);
    return s->of_h.at && tiles * thirds_steps(s->of_h.k) * RIGHT_BYTES > HELD;
}

CELL_CODE struct fused_ahead fused_ahead(const struct fused_step *s, size_t gate, size_t gate_1, size_t unit)
{
    return (struct fused_ahead){ fused_right(&s->of_h, gate, unit), fused_right(&s->of_h, gate_1, unit),
                                 thirds_steps(s->of_h.k) * TILES_TIMES };
}

/* As many of a step of k as are multiplied meanwhile: far memory is faster than it guesses. */
CELL_CODE void fused_ask_ahead(struct fused_ahead *a)
{
    enum { LINE = 64, SHARE = RIGHT_BYTES / TILES_TIMES };
    if (a->times == 0)
        return;
    for (size_t i = 0; i < SHARE; i += LINE) {
        __builtin_prefetch(a->at + i, 0, 2);
        __builtin_prefetch(a->at_1 + i, 0, 2);
    }
    a->at += SHARE;
    a->at_1 += SHARE;
    a->times--;
}

CELL_CODE void fused_beside(void *of, int time)
{
    struct fused_pass *p = of;
    (void)time;
    fused_ask_ahead(&p->ahead);
    for (p->due += LEFT_ROWS; p->due >= p->times; p->due -= p->times)
        p->beside(p);
}

/* Adds one product to the sums of one or two inputs. */
CELL_CODE void fused_add_thirds(struct fused_pass *p, const struct fused_operand *a, const struct fused_weights *w,
                                size_t gate, size_t gate_1, const bool second, const bool wide)
{
    const size_t steps = thirds_steps(w->k), rows = p->now.rows;
    const char *left = (const char *)a->at + p->now.row * steps * LEFT_ROW;
    const char *right = fused_right(w, gate, p->now.unit), *right_1 = fused_right(w, gate_1, p->now.unit);
    tiles_add(left, rows, right, right_1, steps, fused_beside, p, second, wide);
}

/* Inputs of the same sources: `x` and `h` say which weights are theirs, `to` where their sums go. */
struct fused_pair {
    unsigned from;
    size_t   x, h, x_1, h_1;
    float   *to;
    size_t   to_row;
};

CELL_CODE void fused_multiply(struct fused_pass *p, const struct fused_pair *pair, const bool second, const bool wide)
{
    const struct fused_step *s = p->step;
    tiles_clear(second, wide);
    if ((pair->from & FROM_X) && s->of_x.at)
        fused_add_thirds(p, &s->x, &s->of_x, pair->x, pair->x_1, second, wide);
    if ((pair->from & FROM_H) && s->of_h.at)
        fused_add_thirds(p, &s->h, &s->of_h, pair->h, pair->h_1, second, wide);
    if ((pair->from & FROM_LINK) && s->of_h.at)
        fused_add_thirds(p, &s->link, &s->of_h, pair->h, pair->h_1, second, wide);
    tiles_store(pair->to, pair->to + CELL_TILE, pair->to_row, p->now.rows, second, wide);
}

/* A function for each size of a block. */
static void fused_multiply_11(struct fused_pass *p, const struct fused_pair *a)  { fused_multiply(p, a, true, true); }
static void fused_multiply_10(struct fused_pass *p, const struct fused_pair *a)  { fused_multiply(p, a, true, false); }
static void fused_multiply_01(struct fused_pass *p, const struct fused_pair *a)  { fused_multiply(p, a, false, true); }
static void fused_multiply_00(struct fused_pass *p, const struct fused_pair *a)  { fused_multiply(p, a, false, false); }

static void (*const fused_multiply_pair[2][2])(struct fused_pass *, const struct fused_pair *) = {
    { fused_multiply_00, fused_multiply_01 }, { fused_multiply_10, fused_multiply_11 },
};

#endif
