/* A part of a CELL_USER: the loads and stores around a cell's functions, for n units of one row starting at `unit`, a
 * multiple of V_WIDTH. Shared by CPU loops and CUDA threads. Inlined with n = V_WIDTH, the masks disappear. */
#ifndef CELLS_CELL_AT_H
#define CELLS_CELL_AT_H
#include "nn/cells/cell.h"

CELL_CODE V v_load_units(const v_element *p, size_t n) { return n == V_WIDTH ? v_load(p) : v_load_some(p, n); }

CELL_CODE void v_store_units(v_element *p, V a, size_t n)
{
    if (n == V_WIDTH)
        v_store(p, a);
    else
        v_store_some(p, a, n);
}

CELL_CODE v_element *cell_address(const struct fields *f, size_t index, size_t row, size_t unit)
{
    return (v_element *)f->at + index * f->field + row * f->row + unit;
}

/* Loads state `index`; the first state may be stored separately. */
CELL_CODE V state_load(const struct fields *all, const struct fields *first, size_t index, size_t row, size_t unit,
                       size_t n)
{
    bool apart = first->at != NULL;
    const struct fields *f = apart && index == 0 ? first : all;
    return v_load_units(cell_address(f, index - (apart && index > 0), row, unit), n);
}

/* Prefetches units that a later call will load. */
CELL_CODE void cell_ask(const struct fields *f, size_t index, size_t row, size_t unit)
{
#if V_WIDTH > 1
    for (size_t i = 0; i < V_WIDTH; i += CELL_TILE) __builtin_prefetch(cell_address(f, index, row, unit + i), 0, 2);
#else
    (void)f, (void)index, (void)row, (void)unit;
#endif
}

/* Prefetches all states but the first, which few cells read. */
CELL_CODE void cell_ask_states(const struct cell_step *s, size_t row, size_t unit, size_t states)
{
    for (size_t i = 1; i < states; i++) cell_ask(&s->value.state, i - (s->value.first_state.at != NULL), row, unit);
    if (s->gradient.first_next.at)
        cell_ask(&s->gradient.first_next, 0, row, unit);
}

#define AT(fields, index)       cell_address(&s->fields, CELL_(index), row, unit)
#define LOAD(fields, index)     v_load_units(AT(fields, index), n);
#define STORE(fields, index, a) v_store_units(AT(fields, index), a, n);

#define SET_OPTION(name)        v.option.name = v_const(s->options.name);

#define LOAD_IN(name, from)     v.in.name     = LOAD(value.in, in_##name)
#define LOAD_STATE(name)        v.state.name  = LOAD(value.state, state_##name)
#define LOAD_SAVED(name)        v.saved.name  = LOAD(value.saved, saved_##name)
#define LOAD_VECTOR(name)       v.vector.name = LOAD(value.vector, vector_##name)
#define STORE_NEXT(name)        STORE(value.next, state_##name, v.next.name)
#define STORE_INTERMEDIATE(name)        STORE(value.intermediate, intermediate_##name, v.intermediate.name)
#define STORE_SAVED(name)       STORE(value.saved, saved_##name, v.saved.name)

#define STATE_OF(array, name)                                                                             \
    state_load(&s->value.array, &s->value.first_##array, CELL_(state_##name), row, unit, n);
#define LOAD_ENTERED(name)      v.state.name  = STATE_OF(state, name)
#define LOAD_LEFT(name)         v.next.name   = STATE_OF(next, name)
#define ASK_SAVED(name)         cell_ask(&s->ahead->value.saved, CELL_(saved_##name), row, unit);

#define LOAD_D_NEXT(name)       d.next.name   = LOAD(gradient.next, state_##name)
#define LOAD_D_INTERMEDIATE(name)       d.intermediate.name   = LOAD(gradient.intermediate, intermediate_##name)
#define ADD_D_OUTPUT(name)                                                                              \
    if (CELL_(state_##name) == 0 && s->gradient.first_next.at)                                          \
        d.next.name = v_add(d.next.name, v_load_units(AT(gradient.first_next, state_##name), n));
#define LOAD_D_STATE(name)                                                                              \
    d.state.name = s->sets_state ? v_const(0) : v_load_units(AT(gradient.state, state_##name), n);
#define STORE_D_STATE(name)     STORE(gradient.state, state_##name, d.state.name)
#define STORE_D_IN(name, from)                                                                           \
    STORE(gradient.in, in_##name, d.in.name)                                                             \
    if (s->copy.at)                                                                                      \
        STORE(copy, in_##name, d.in.name)
#define STORE_D_VECTOR(name)    STORE(gradient.vector, vector_##name, d.vector.name)
#endif

/* Loads that a cell does not use are removed by the compiler, because v_load has no side effect. States are stored
 * first: the compiler then removes the store of a state that the cell leaves unchanged. */

CELL_CODE void CELL_(forward_at)(const struct cell_step *s, size_t row, size_t unit, size_t n)
{
    struct CELL_(unit) v;
    OPTIONS(SET_OPTION)
    v.choice = &s->options;
    GATE_INPUTS(LOAD_IN)
    STATES(LOAD_STATE)
    VECTORS(LOAD_VECTOR)
    CELL_(forward)(&v);
#if CELL_PHASES == 1
    STATES(STORE_NEXT)
#else
    INTERMEDIATES(STORE_INTERMEDIATE)
#endif
    SAVED(STORE_SAVED)
}

CELL_CODE void CELL_(backward_at)(const struct cell_step *s, size_t row, size_t unit, size_t n)
{
    struct CELL_(unit) v, d;
    if (s->ahead) {
        SAVED(ASK_SAVED)
        cell_ask_states(s->ahead, row, unit, CELL_(states));
    }
    OPTIONS(SET_OPTION)
    v.choice = &s->options;
    STATES(LOAD_ENTERED)
    STATES(LOAD_LEFT)
    SAVED(LOAD_SAVED)
    VECTORS(LOAD_VECTOR)
#if CELL_PHASES == 1
    STATES(LOAD_D_NEXT)
    STATES(ADD_D_OUTPUT)
#else
    INTERMEDIATES(LOAD_D_INTERMEDIATE)
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
    v.choice = &s->options;
    GATE_INPUTS_2(LOAD_IN)
    STATES(LOAD_STATE)
    CELL_(forward_2)(&v);
    STATES(STORE_NEXT)
    SAVED_2(STORE_SAVED)
}

CELL_CODE void CELL_(backward_2_at)(const struct cell_step *s, size_t row, size_t unit, size_t n)
{
    struct CELL_(unit) v, d;
    if (s->ahead) {
        SAVED(ASK_SAVED)
        SAVED_2(ASK_SAVED)
        cell_ask_states(s->ahead, row, unit, CELL_(states));
    }
    OPTIONS(SET_OPTION)
    v.choice = &s->options;
    STATES(LOAD_ENTERED)
    STATES(LOAD_LEFT)
    SAVED_2(LOAD_SAVED)
    STATES(LOAD_D_NEXT)
    STATES(ADD_D_OUTPUT)
    STATES(LOAD_D_STATE)
    CELL_(backward_2)(&v, &d);
    STATES(STORE_D_STATE)
    GATE_INPUTS_2(STORE_D_IN)
}
#endif
