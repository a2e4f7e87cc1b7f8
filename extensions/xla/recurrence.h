/* Shared by the loops of a recurrence and of its backward (recurrence.c): the values that a loop carries, the cell's
 * record and its blocks of recurrent weights, entering and leaving states, and the turns. The computation of a turn
 * is in translate_rnn.c and translate_rnn_back.c.
 *
 * A loop carries everything that it reads or changes; `struct locations` contains the indices. */
#ifndef DEVICE_XLA_RECURRENCE_H
#define DEVICE_XLA_RECURRENCE_H
#include "extensions/xla/translate.h"

enum { INPUTS = 16, STATES = 4, BLOCKS = 4, ABSENT_LOCATION = -1 };

/* Gates whose sums have the same operand in the same phase: rows [row, row + count) of the recurrent weights. */
struct block {
    unsigned source;
    int phase, row, count, input[INPUTS], w, bias;
};

/* Indices into loop.carried; ABSENT_LOCATION: the layer has no such value. */
struct locations {
    int g, s, y, intermediate, m, projection, vector, lengths, reset; /* arrays over all steps, and weights */
    int state[STATES];                  /* values passed from step to step, h first; or their gradients */
    int whole;                          /* h of all devices, if each has part of the units */
    int before[STATES], dy, dv, dp, dg; /* backward: entering states, inputs and results */
};

struct recurrence {
    struct translation *t;
    const struct op *op;
    const struct cell_declaration *cell;
    struct cell_record record;
    struct cell_options options;
    struct block block[BLOCKS];
    int blocks;
    int64_t steps, rows, units, width; /* width: of the whole h */
    bool projected, keeps;
    bool cut;     /* units are divided among devices, which communicate in the loop: */
    bool gathers; /* h and intermediates are gathered, their gradients reduce-scattered; otherwise h is projected: it
                     and its gradient are sums over all devices */
    struct devices group;
    int members[RANKS_MAX];
    struct loop loop;
    struct locations at;
    struct value step, lasts; /* in the loop: index of the step; [B] or id -1 */
};

/* ---- the loop's values ----------------------------------------------------------------- */

int rnn_carry(struct recurrence *, struct value); /* returns the index */
int rnn_carry_view(struct recurrence *, int slot);
int rnn_carry_zeros(struct recurrence *, bool wanted, struct shape);
/* Carries the weights of products in the loop. In forward they are transposed once, before the loop, to [K, N]. Only
 * forward has biases. */
void rnn_carry_weights(struct recurrence *, bool forward);

struct value *rnn_carried(struct recurrence *, int location);
struct value rnn_now(struct recurrence *, int location); /* this step of an array over all steps */
void rnn_keep(struct recurrence *, int location, struct value step);

/* Selects `yes` in rows of the mask, `no` in the others; mask with id -1: all rows. */
struct value rnn_of_rows(struct recurrence *, struct value mask, struct value yes, struct value no);
struct value rnn_or_zeros(struct recurrence *, struct value mask, struct value x);
/* Returns field i of [B, F, U] or [F, B, U], as [B, U]. */
struct value rnn_field(struct recurrence *, struct value x, int axis, int i);
/* Joins fields to [B, count, U], with zeros after those given. */
struct value rnn_fields(struct recurrence *, const struct value *, int given, int64_t count);

/* ---- units of other devices ------------------------------------------------------------ */

/* Returns this device's units of a value that all devices have; a projected h is whole on all. */
struct value rnn_own(struct recurrence *, struct value whole, int axis);
/* All-gather: [B, units] of each device becomes [B, width]; reduce-scatter: each device gets its units of the sum of
 * all [B, width]. */
struct value rnn_gathered(struct recurrence *, struct value);
struct value rnn_scattered(struct recurrence *, struct value);

/* ---- the cell's record ----------------------------------------------------------------- */

struct inputs {
    struct named named[64];
    int count;
};

void rnn_give(struct inputs *, const char *group, const char *name, struct value);
void rnn_give_options(struct recurrence *, struct inputs *);
void rnn_give_vectors(struct recurrence *, struct inputs *);
struct value rnn_result(const struct evaluation *, const char *group, const char *name);

/* ---- states and steps ------------------------------------------------------------------ */

/* Returns [B, U] of state k that enters or leaves the recurrence; id -1: the view is absent. */
struct value rnn_state_view(struct recurrence *, int output, int others, int k);
void rnn_put_states(struct recurrence *, int output, int others, const struct value *state);

/* Returns [B], true for rows that are not reset in this step; id -1: there are no resets. */
struct value rnn_goes_on(struct recurrence *);

typedef unroll_status step_writer(struct recurrence *);
/* Writes all steps: full turns, then the remaining steps; a single turn needs no loop. */
unroll_status rnn_write_steps(struct recurrence *, bool falling, step_writer *);

/* Describes the recurrence of an operation and calls `write` with it. */
unroll_status rnn_translate(struct translation *, const struct op *, step_writer *);

#endif
