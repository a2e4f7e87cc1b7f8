/* What the loops of a recurrence and of its backward share (recurrence.c): which values a loop carries, the
 * cell's record and blocks of recurrent weights, states in and out, the turns. Not what a turn computes: that
 * is translate_rnn.c and translate_rnn_back.c.
 *
 * What a loop reads or changes is carried by it; `struct places` says at which number. */
#ifndef DEVICE_XLA_RECURRENCE_H
#define DEVICE_XLA_RECURRENCE_H
#include "device/xla/translate.h"

enum { INPUTS = 16, STATES = 4, BLOCKS = 4, ABSENT_LOCATION = -1 };

/* Gates whose sums have the same operand in the same phase: rows
 * [row, row + count) of the recurrent weights. */
struct block {
    unsigned source;
    int phase, row, count, input[INPUTS], w, bias;
};

/* Numbers in loop.carried; ABSENT_LOCATION: the layer has none. */
struct locations {
    int g, s, y, intermediate, m, projection, vector, lengths, reset; /* arrays over all steps, and weights */
    int state[STATES];                  /* what goes from step to step, h first; or the gradients */
    int whole;                          /* h of all devices, where each has some units */
    int before[STATES], dy, dv, dp, dg; /* backward: states entering, what is given and made */
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
    bool cut;     /* units are divided among devices, which exchange in the loop: */
    bool gathers; /* h and intermediates are gathered, their gradients added and divided; else
                     h is projected: it and its gradient are sums of all */
    struct devices group;
    int members[RANKS_MAX];
    struct loop loop;
    struct locations at;
    struct value step, lasts; /* inside: number of the step; [B] or id -1 */
};

/* ---- the loop's values ----------------------------------------------------------------- */

int rnn_carry(struct recurrence *, struct value); /* each gives the place */
int rnn_carry_view(struct recurrence *, int slot);
int rnn_carry_zeros(struct recurrence *, bool wanted, struct shape);
/* What products in the loop multiply lies as [K, N], in forward turned once, before it. Biases are forward's. */
void rnn_carry_weights(struct recurrence *, bool forward);

struct value *rnn_carried(struct recurrence *, int location);
struct value rnn_now(struct recurrence *, int location); /* of an array over all steps, this step's */
void rnn_keep(struct recurrence *, int location, struct value step);

/* Rows that take part have `yes`, the others `no`; a mask with id -1: all do. */
struct value rnn_of_rows(struct recurrence *, struct value mask, struct value yes, struct value no);
struct value rnn_or_zeros(struct recurrence *, struct value mask, struct value x);
/* Field i of [B, F, U] or [F, B, U], as [B, U]. */
struct value rnn_field(struct recurrence *, struct value x, int axis, int i);
/* Fields side by side: [B, count, U], zeros after those that are given. */
struct value rnn_fields(struct recurrence *, const struct value *, int given, int64_t count);

/* ---- units of other devices ------------------------------------------------------------ */

/* This device's units of what all have; a projected h is whole on all. */
struct value rnn_own(struct recurrence *, struct value whole, int axis);
/* [B, units] of each as the [B, width] of all; and the sum of all [B, width], of which each has its units. */
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

/* [B, U] of state k that enters or leaves the whole; id -1: the view is absent. */
struct value rnn_state_view(struct recurrence *, int output, int others, int k);
void rnn_put_states(struct recurrence *, int output, int others, const struct value *state);

/* [B] true where the row does not start anew in this step; id -1: none ever does. */
struct value rnn_goes_on(struct recurrence *);

typedef unroll_status step_writer(struct recurrence *);
/* All steps: in turns, then those that fill no turn; a lone turn is no loop. */
unroll_status rnn_write_steps(struct recurrence *, bool falling, step_writer *);

/* Writes with the recurrence of an operation described. */
unroll_status rnn_translate(struct translation *, const struct op *, step_writer *);

#endif
