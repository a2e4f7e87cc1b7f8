/* A part of a CELL_USER: the loads and stores around a cell's functions, for n units of one row from
 * `unit` on, a multiple of V_WIDTH. Loops and CUDA threads share it. Inlined with n = V_WIDTH, the
 * masks vanish. */
#ifndef CELLS_CELL_AT_H
#define CELLS_CELL_AT_H
#include "cells/cell.h"

#if V_WIDTH <= 16           /* CELL_TILE: all units lie in one tile */
CELL_CODE V v_load_tiles(const v_element *p, size_t tile, size_t n)
{
    (void)tile;
    return n == V_WIDTH ? v_load(p) : v_load_some(p, n);
}

CELL_CODE void v_store_tiles(v_element *p, size_t tile, V a, size_t n)
{
    (void)tile;
    if (n == V_WIDTH)
        v_store(p, a);
    else
        v_store_some(p, a, n);
}
#endif

CELL_CODE v_element *cell_address(const struct fields *f, size_t index, size_t row, size_t unit)
{
    return (v_element *)f->at + index * f->field + row * f->row
                              + unit / CELL_TILE * f->tile + unit % CELL_TILE;
}

#define AT(fields, index)       cell_address(&s->fields, CELL_(index), row, unit), s->fields.tile
#define LOAD(fields, index)     v_load_tiles(AT(fields, index), n);
#define STORE(fields, index, a) v_store_tiles(AT(fields, index), a, n);

#define SET_OPTION(name)        v.option.name = v_const(s->options.name);

#define LOAD_IN(name, from)     v.in.name     = LOAD(value.in, in_##name)
#define LOAD_STATE(name)        v.state.name  = LOAD(value.state, state_##name)
#define LOAD_NEXT(name)         v.next.name   = LOAD(value.next, state_##name)
#define LOAD_SAVED(name)        v.saved.name  = LOAD(value.saved, saved_##name)
#define LOAD_VECTOR(name)       v.vector.name = LOAD(value.vector, vector_##name)
#define STORE_NEXT(name)        STORE(value.next, state_##name, v.next.name)
#define STORE_LINK(name)        STORE(value.link, link_##name, v.link.name)
#define STORE_SAVED(name)       STORE(value.saved, saved_##name, v.saved.name)

#define LOAD_D_NEXT(name)       d.next.name   = LOAD(gradient.next, state_##name)
#define LOAD_D_LINK(name)       d.link.name   = LOAD(gradient.link, link_##name)
#define LOAD_D_STATE(name)      d.state.name  = LOAD(gradient.state, state_##name)
#define STORE_D_STATE(name)     STORE(gradient.state, state_##name, d.state.name)
#define STORE_D_IN(name, from)  STORE(gradient.in, in_##name, d.in.name)
#define STORE_D_VECTOR(name)    STORE(gradient.vector, vector_##name, d.vector.name)
#endif

/* The loads that a cell does not use vanish: v_load has no side effect. States are stored
 * first, so that one that the cell leaves alone is seen to be stored unchanged, and vanishes. */

CELL_CODE void CELL_(forward_at)(const struct cell_step *s, size_t row, size_t unit, size_t n)
{
    struct CELL_(unit) v;
    OPTIONS(SET_OPTION)
    GATE_INPUTS(LOAD_IN)
    STATES(LOAD_STATE)
    VECTORS(LOAD_VECTOR)
    CELL_(forward)(&v);
#if CELL_PHASES == 1
    STATES(STORE_NEXT)
#else
    LINKS(STORE_LINK)
#endif
    SAVED(STORE_SAVED)
}

CELL_CODE void CELL_(backward_at)(const struct cell_step *s, size_t row, size_t unit, size_t n)
{
    struct CELL_(unit) v, d;
    OPTIONS(SET_OPTION)
    STATES(LOAD_STATE)
    STATES(LOAD_NEXT)
    SAVED(LOAD_SAVED)
    VECTORS(LOAD_VECTOR)
#if CELL_PHASES == 1
    STATES(LOAD_D_NEXT)
#else
    LINKS(LOAD_D_LINK)
#endif
    STATES(LOAD_D_STATE)
    CELL_(backward)(&v, &d);
    STATES(STORE_D_STATE)
    GATE_INPUTS(STORE_D_IN)
    VECTORS(STORE_D_VECTOR)
}

#if CELL_PHASES == 2
CELL_CODE void CELL_(forward_2_at)(const struct cell_step *s, size_t row, size_t unit, size_t n)
{
    struct CELL_(unit) v;
    OPTIONS(SET_OPTION)
    GATE_INPUTS_2(LOAD_IN)
    STATES(LOAD_STATE)
    CELL_(forward_2)(&v);
    STATES(STORE_NEXT)
    SAVED_2(STORE_SAVED)
}

CELL_CODE void CELL_(backward_2_at)(const struct cell_step *s, size_t row, size_t unit, size_t n)
{
    struct CELL_(unit) v, d;
    OPTIONS(SET_OPTION)
    STATES(LOAD_STATE)
    STATES(LOAD_NEXT)
    SAVED_2(LOAD_SAVED)
    STATES(LOAD_D_NEXT)
    STATES(LOAD_D_STATE)
    CELL_(backward_2)(&v, &d);
    STATES(STORE_D_STATE)
    GATE_INPUTS_2(STORE_D_IN)
}
#endif
