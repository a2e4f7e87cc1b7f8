/* Translates one or several phases of a plan to a StableHLO program: buffers become values; a write, add or update
 * of a view creates a new value of its buffer. translate.c handles phases and views, translate_*.c the kinds of
 * operations. No plugin is needed: the text can be printed without one.
 *
 * With a cut plan, all devices run the same program: the list of the first device, whose shares all others must
 * match. Values that differ (the origin of a share, which device counts a norm) are passed to each device in
 * additional arguments.
 *
 * Types on the device: reals are f32; the doubles of VALUES are f32; the integers of "run" are pairs of ui32;
 * "rates" has the layout of location.c. */
#ifndef DEVICE_XLA_TRANSLATE_H
#define DEVICE_XLA_TRANSLATE_H
#include "nn/record/record.h"
#include "extensions/xla/hlo.h"
#include "nn/losses/loss.h"
#include "nn/optim/optim.h"
#include "plan/ir/plan.h"
#include <string.h>

/* The buffers that are arguments or results of a program, in this order. */
struct program_buffers {
    int *buffer, count;
};

/* The plans of all coordinates of a mesh, in rank order; one if nothing is cut. */
struct mesh_plans {
    const struct plan *const *plan;
    int devices, unroll;
}; /* unroll: see steps_in_turn; 0: 1 */

/* An i32 with a separate value for each device. */
struct own_number {
    struct value value;
    int32_t of[RANKS_MAX];
};

struct translation {
    const struct plan *plan; /* of the first device */
    struct mesh_plans mesh;
    enum phase first, last;
    int from, end; /* operations of the list; end 0: all of the phases. In a range, buffers used by operations outside
                      it outlive the program */
    int unroll;    /* steps in one turn of a loop over time */
    struct hlo h;
    struct evaluation *evaluation; /* of the current record */
    struct value *value;           /* [buffers] current values; id -1: none yet */
    struct program_buffers argument, result;
    struct own_number *own; /* [owned]: the additional arguments */
    int owned;
};

/* Writes the program of phases first to last (device.h: run); `name` is the name of its module. Fails for
 * unsupported plans. The caller frees the translation, even after an error. No operations: no text. */
unroll_status translate_phases(struct mesh_plans, enum phase first, enum phase last, const char *name,
                               struct translation *);
/* Translates operations [from, end) of a phase (including PHASE_BACKWARD_SUM), none of which may communicate. */
unroll_status translate_range(struct mesh_plans, enum phase, int from, int end, const char *name, struct translation *);
void translation_free(struct translation *);

/* Returns the steps of time in one turn of a loop. 4 on TPUs: a turn is fusions of some 2000 cycles, mostly waiting,
 * so fewer turns are faster (docs/howto/xla.md has the estimates). Otherwise 1: on XLA's CPU plugin, 4 is slower. */
static inline int steps_in_turn(const char *platform) { return strcmp(platform, "tpu") ? 1 : 4; }

/* Translates one phase of a plan that is not cut. */
static inline unroll_status translate(const struct plan *plan, enum phase phase, const char *name,
                                      struct translation *t)
{
    return translate_phases((struct mesh_plans){&plan, 1, 1}, phase, phase, name, t);
}

/* Loss sums start at zero in a program with a forward phase: its result is a summand. */
bool is_summand(const struct plan *, enum phase first, enum phase last, int buffer);
/* Returns whether the operation belongs to these phases. Those of backward and sum may be mixed in the list. */
static inline bool is_of(const struct op *op, enum phase first, enum phase last)
{
    return op->phase >= first && op->phase <= last;
}
/* Returns whether an operation of these phases writes the buffer. */
bool is_written_in(const struct plan *, enum phase first, enum phase last, int buffer);
/* Checks that the shares of all devices are alike, so that one program fits them. */
unroll_status check_alike(struct mesh_plans);

/* Returns a buffer's type on the device. */
struct value buffer_type(const struct buffer *);
/* Layout of "rates", as in location.c. */
enum { DEVICE_CLIP, DEVICE_NUMBERS, DEVICE_RATES = 16 };

/* ---- for the kinds of operation -------------------------------------------------------- */

typedef unroll_status translator(struct translation *, const struct op *);
translator translate_gemm, translate_gemm_dx, translate_gemm_dw, translate_bias_grad, translate_embed,
    translate_embed_grad, translate_rnn, translate_rnn_back, translate_dropout, translate_activate,
    translate_activate_back, translate_pool, translate_pool_back, translate_loss, translate_copy, translate_fill,
    translate_tree, translate_norm, translate_update, translate_all_reduce, translate_sum_begin, translate_sum_end;
/* At the end of a whole step: makes the loss NaN if the norm of the gradients is not finite. */
void mark_divergence(struct translation *);

static inline bool has(const struct op *op, int slot)
{
    return slot < op->views && op->view[slot].buffer >= 0 && op->view[slot].access != NONE;
}

/* of_device returns an i32 with a separate value for each device, number [devices]; origin_of, the origin of each
 * device's share along an axis of a buffer. */
struct value of_device(struct translation *, const int32_t *number);
struct value origin_of(struct translation *, int buffer, int axis);
/* Expands an operation's group to the groups of all devices. members: [devices]. */
struct devices devices_of(const struct translation *, int group, int *members);

/* Returns the index of a [T, ..] view's first step in the whole sequence. */
static inline uint32_t first_step(const struct plan *p, const struct view *v)
{
    return p->buffer[v->buffer].origin[0] + v->first[0] + v->base;
}

/* view_get returns the part that a view covers, in the shape of its counts. view_put replaces it or adds to it,
 * depending on the view's access; the value is reshaped to the view. */
struct value view_get(struct translation *, const struct view *);
void view_put(struct translation *, const struct view *, struct value);
struct shape shape_of_view(const struct view *, const struct plan *);

/* Returns [T, B], true while a row of the view lasts; id -1: there are no lengths. */
struct value rows_lasting(struct translation *, const struct view *of, const struct view *lengths);
/* Returns x, with zeros where the mask, which has the first axes of x, is false; a mask with id -1 changes nothing. */
struct value masked(struct translation *, struct value mask, struct value x);
struct value zeros(struct translation *, struct shape);
/* Reshapes to [T, B, the rest]. */
struct value by_rows(struct translation *, struct value);
/* Returns the value that enters each step of [T, B, W]: that of the previous step; `first` [B, W] at the first step
 * and, in reverse direction, after a row's end; zeros after a reset. */
struct value entering(struct translation *, const struct op *, struct value x, struct value first,
                      const struct view *of, const struct view *lengths, const struct view *reset);

/* Evaluates a record over values of one shape. Inputs are passed by name. */
struct named {
    char name[40];
    struct value value;
};
struct evaluation {
    const struct record *record;
    struct value node[RECORD_NODES];
};
unroll_status evaluate_record(struct translation *, const struct record *, const struct named *, int count,
                              struct shape, struct evaluation *);
struct value evaluated(const struct evaluation *, const char *result);

#endif
