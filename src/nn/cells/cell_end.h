/* Ends a cell file: includes CELL_USER, then undefines the declaration. */
#include CELL_USER

#undef CELL
#undef CELL_CHOOSES
#undef CELL_LIKE
#undef CELL_CLIPS
#undef CELL_CALLED
#undef CELL_FORMULA
#undef CELL_FACTS
#undef CELL_PHASES
#undef GATE_INPUTS
#undef GATE_INPUTS_2
#undef STATES
#undef SAVED
#undef SAVED_2
#undef INTERMEDIATES
#undef VECTORS
#undef OPTIONS
