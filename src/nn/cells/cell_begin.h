/* Turns a cell's declaration into the struct its functions work on.
 *
 * A cell file declares (lists are X-macros; omitted lists are empty):
 *
 *   CELL            the name
 *   GATE_INPUTS     INPUT(name, sources): the sums that enter the pointwise part, in the order
 *                   of the weight rows. A sum is b + W x (FROM_X) + U h (FROM_H) + U intermediate
 *                   (FROM_INTERMEDIATE): rows of W exist for the inputs FROM_X, rows of U for the
 *                   inputs FROM_H or FROM_INTERMEDIATE, a bias row for every input.
 *   STATES          STATE(name): carried from step to step. The first is the output of the layer
 *                   and the one that FROM_H multiplies.
 *   SAVED           VALUE(name): saved for backward
 *   VECTORS         VECTOR(name): weights that multiply elementwise (peepholes)
 *   OPTIONS         OPTION(name): fields of struct cell_options, the same for all units
 *
 *   CELL_CALLED     name in the user interface, shared by variants of a cell; default: CELL
 *   CELL_FORMULA    shared by cells that differ only in their functions; default: CELL_CALLED
 *   CELL_FACTS      initializers of struct cell_declaration: abilities, and the cell in other tools
 *   CELL_CHOOSES    its functions are configurable (chosen_activations.h)
 *   CELL_LIKE       an earlier cell in the table with the same GATE_INPUTS, whose code of products is shared
 *
 * A cell with a second matrix phase in a step also declares
 *
 *   INTERMEDIATES   INTERMEDIATE(name): computed by the first phase, multiplied by the inputs FROM_INTERMEDIATE
 *   GATE_INPUTS_2, SAVED_2      as above, for the second phase
 *
 * and defines FORWARD(v) and BACKWARD(v, d), with a second phase FORWARD_2 and BACKWARD_2.
 * v holds the values of some units, d the gradients of the same fields:
 *
 *                reads                                    writes
 *   FORWARD      v.in, v.state, v.vector                  v.next (or v.intermediate), v.saved
 *   BACKWARD     v.state, v.next, v.saved, v.vector,      d.in, d.vector; adds to d.state
 *                d.next (or d.intermediate)
 *
 * All read v.option; cells of any.h also read v.choice, all options. Only the first phase has v.vector. FORWARD_2
 * computes v.next, and BACKWARD_2 runs before BACKWARD. A phase uses only its own in and saved. d.state contains the
 * gradients of other paths; a cell adds its part. `in` does not exist in BACKWARD: saved values, and then d.in,
 * overwrite it, field by field in the order of the lists. A phase, and both together, must therefore not save more
 * values than they have inputs. The inputs FROM_X come first, over both phases, so that the product with x fills one
 * block of fields.
 */
#ifndef CELL
#error "a cell file defines CELL and its lists before it includes cell_begin.h"
#endif
#include <assert.h>
#include "nn/cells/cell_source.h"

#ifndef VECTORS
#define VECTORS(VECTOR)
#endif
#ifndef OPTIONS
#define OPTIONS(OPTION)
#endif
#ifdef GATE_INPUTS_2
#define CELL_PHASES 2
#else
#define CELL_PHASES 1
#define GATE_INPUTS_2(INPUT)
#define SAVED_2(VALUE)
#define INTERMEDIATES(INTERMEDIATE)
#endif

#ifndef CELL_HEADS
#define CELL_HEADS

#define CELL_PASTE2(a, b) a##_##b
#define CELL_PASTE(a, b)  CELL_PASTE2(a, b)
#define CELL_(name)       CELL_PASTE(CELL, name)   /* CELL_(forward) is lstm_forward */

#define FORWARD(v)        CELL_CODE void CELL_(forward)(struct CELL_(unit) *v)
#define FORWARD_2(v)      CELL_CODE void CELL_(forward_2)(struct CELL_(unit) *v)
#define BACKWARD(v, d)    CELL_CODE void CELL_(backward)(const struct CELL_(unit) *v, \
                                                         struct CELL_(unit) *d)
#define BACKWARD_2(v, d)  CELL_CODE void CELL_(backward_2)(const struct CELL_(unit) *v, \
                                                           struct CELL_(unit) *d)

#define CELL_INPUT_FIELD(name, from) V name;
#define CELL_FIELD(name)             V name;
#define CELL_INPUT_INDEX(name, from) CELL_(in_##name),
#define CELL_INPUT_X_BIT(name, from) | (((from) & FROM_X) != 0 ? 1u << CELL_(in_##name) : 0u)
#define CELL_STATE_INDEX(name)       CELL_(state_##name),
#define CELL_SAVED_INDEX(name)       CELL_(saved_##name),
#define CELL_INTERMEDIATE_INDEX(name)        CELL_(intermediate_##name),
#define CELL_VECTOR_INDEX(name)      CELL_(vector_##name),
#define CELL_OPTION_INDEX(name)      CELL_(option_##name),
#endif

/* ISO C has no empty struct: none_ fills lists that may be empty, and costs nothing. */
struct cell_options;

struct CELL_(unit) {
    struct {
        GATE_INPUTS(CELL_INPUT_FIELD) GATE_INPUTS_2(CELL_INPUT_FIELD)
    } in;
    struct {
        STATES(CELL_FIELD)
    } state, next;
    struct {
        SAVED(CELL_FIELD) SAVED_2(CELL_FIELD) char none_;
    } saved;
    struct {
        INTERMEDIATES(CELL_FIELD) char none_;
    } intermediate;
    struct {
        VECTORS(CELL_FIELD) char none_;
    } vector;
    struct {
        OPTIONS(CELL_FIELD) char none_;
    } option;
    const struct cell_options *choice;
};

/* Indices of the fields in an array of fields; the last name of each list is the count. */
enum { GATE_INPUTS(CELL_INPUT_INDEX) CELL_(inputs_1) };
enum { CELL_(before_2) = CELL_(inputs_1) - 1, GATE_INPUTS_2(CELL_INPUT_INDEX) CELL_(inputs) };
enum { STATES(CELL_STATE_INDEX) CELL_(states) };
enum { SAVED(CELL_SAVED_INDEX) CELL_(saved_values_1) };
enum { CELL_(before_saved_2) = CELL_(saved_values_1) - 1, SAVED_2(CELL_SAVED_INDEX) CELL_(saved_values) };
enum { INTERMEDIATES(CELL_INTERMEDIATE_INDEX) CELL_(intermediates) };
enum { VECTORS(CELL_VECTOR_INDEX) CELL_(vectors) };
enum { OPTIONS(CELL_OPTION_INDEX) CELL_(options) };

enum { CELL_(x_bits) = 0u GATE_INPUTS(CELL_INPUT_X_BIT) GATE_INPUTS_2(CELL_INPUT_X_BIT) };

static_assert((int)CELL_(saved_values_1) <= (int)CELL_(inputs_1),
              "the first phase saves more values than it has inputs");
static_assert((int)CELL_(saved_values) <= (int)CELL_(inputs), "the cell saves more values than it has inputs");
static_assert((CELL_(x_bits) & (CELL_(x_bits) + 1)) == 0, "inputs FROM_X must come before all others");
