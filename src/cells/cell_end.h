/* Closes a cell file: hands the cell to whoever asked for it, then forgets the declaration. */
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
