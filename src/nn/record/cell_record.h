/* A CELL_USER: the records of a cell. Fields that a phase does not have stay NULL: reading one, or not writing a
 * required one, makes the record invalid. */
#include "nn/cells/cell_declare.h"

#ifndef CELL_RECORD_MACROS
#define CELL_RECORD_MACROS
/* The options of the cell that is being recorded. */
static _Thread_local const struct cell_options *recorded_choice;

#define GIVE_OPTION(name)      v.option.name  = record_input("option_" #name);
#define GIVE_IN(name, from)    v.in.name      = record_input("in_" #name);
#define GIVE_STATE(name)       v.state.name   = record_input("state_" #name);
#define GIVE_NEXT(name)        v.next.name    = record_input("next_" #name);
#define GIVE_SAVED(name)       v.saved.name   = record_input("saved_" #name);
#define GIVE_VECTOR(name)      v.vector.name  = record_input("vector_" #name);
#define GIVE_D_NEXT(name)      d.next.name    = record_input("d_next_" #name);
#define GIVE_D_INTERMEDIATE(name)      d.intermediate.name    = record_input("d_intermediate_" #name);
#define GIVE_D_STATE(name)     d.state.name   = record_input("d_state_" #name);

#define TAKE_NEXT(name)        record_result("next_" #name, v.next.name);
#define TAKE_INTERMEDIATE(name)        record_result("intermediate_" #name, v.intermediate.name);
#define TAKE_SAVED(name)       record_result("saved_" #name, v.saved.name);
#define TAKE_D_STATE(name)     record_result("d_state_" #name, d.state.name);
#define TAKE_D_IN(name, from)  record_result("d_in_" #name, d.in.name);
#define TAKE_D_VECTOR(name)    record_result("d_vector_" #name, d.vector.name);
#endif

static void CELL_(record_forward)(struct record *record)
{
    struct CELL_(unit) v = {.choice = recorded_choice};
    record_begin(record, QUOTE(CELL) "_forward");
    OPTIONS(GIVE_OPTION)
    GATE_INPUTS(GIVE_IN)
    STATES(GIVE_STATE)
    VECTORS(GIVE_VECTOR)
    CELL_(forward)(&v);
#if CELL_PHASES == 1
    STATES(TAKE_NEXT)
#else
    INTERMEDIATES(TAKE_INTERMEDIATE)
#endif
    SAVED(TAKE_SAVED)
}

static void CELL_(record_backward)(struct record *record)
{
    struct CELL_(unit) v = {.choice = recorded_choice}, d = {.choice = NULL};
    record_begin(record, QUOTE(CELL) "_backward");
    OPTIONS(GIVE_OPTION)
    STATES(GIVE_STATE)
    STATES(GIVE_NEXT)
    SAVED(GIVE_SAVED)
    VECTORS(GIVE_VECTOR)
#if CELL_PHASES == 1
    STATES(GIVE_D_NEXT)
#else
    INTERMEDIATES(GIVE_D_INTERMEDIATE)
#endif
    STATES(GIVE_D_STATE)
    CELL_(backward)(&v, &d);
    STATES(TAKE_D_STATE)
    GATE_INPUTS(TAKE_D_IN)
    VECTORS(TAKE_D_VECTOR)
}

#if CELL_PHASES == 2
static void CELL_(record_forward_2)(struct record *record)
{
    struct CELL_(unit) v = {.choice = recorded_choice};
    record_begin(record, QUOTE(CELL) "_forward_2");
    OPTIONS(GIVE_OPTION)
    GATE_INPUTS_2(GIVE_IN)
    STATES(GIVE_STATE)
    CELL_(forward_2)(&v);
    STATES(TAKE_NEXT)
    SAVED_2(TAKE_SAVED)
}

static void CELL_(record_backward_2)(struct record *record)
{
    struct CELL_(unit) v = {.choice = recorded_choice}, d = {.choice = NULL};
    record_begin(record, QUOTE(CELL) "_backward_2");
    OPTIONS(GIVE_OPTION)
    STATES(GIVE_STATE)
    STATES(GIVE_NEXT)
    SAVED_2(GIVE_SAVED)
    STATES(GIVE_D_NEXT)
    STATES(GIVE_D_STATE)
    CELL_(backward_2)(&v, &d);
    STATES(TAKE_D_STATE)
    GATE_INPUTS_2(TAKE_D_IN)
}
#endif

static void CELL_(record)(struct cell_record *cell)
{
    cell->declaration = &CELL_(declaration);
    CELL_(record_forward)(&cell->forward[0]);
    CELL_(record_backward)(&cell->backward[0]);
#if CELL_PHASES == 2
    CELL_(record_forward_2)(&cell->forward[1]);
    CELL_(record_backward_2)(&cell->backward[1]);
#endif
}
