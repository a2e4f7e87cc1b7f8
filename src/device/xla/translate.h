/* One or several phases of a plan as a StableHLO program: buffers become values, a write, add or update of a view
 * makes a new value of its buffer. translate.c knows parts and views, translate_*.c each kind of operation. No
 * plugin here: the text can be printed without one.
 *
 * Of a cut plan all devices run one program: the list of the first, whose shares all others must have; what
 * differs (the origin of a share, who counts a norm) each device is given, in arguments after the others.
 *
 * Numbers on the device: reals are f32; the doubles of VALUES are f32, the integers of "run" are pairs of
 * ui32; "rates" is as location.c makes it. */
#ifndef DEVICE_XLA_TRANSLATE_H
#define DEVICE_XLA_TRANSLATE_H
#include "cells/record.h"
#include "device/xla/hlo.h"
#include "losses/loss.h"
#include "optim/optim.h"
#include "plan/plan.h"
#include <string.h>

/* Which buffers a program takes and gives, in this order. */
struct program_buffers {
    int *buffer, count;
};

/* The plans of all coordinates of a mesh, in the order of their ranks; one, where nothing is cut. */
struct mesh_plans {
    const struct plan *const *plan;
    int devices, unroll;
}; /* unroll: see steps_in_turn; 0: 1 */

/* An i32 that each device has its own of. */
struct own_number {
    struct value value;
    int32_t of[RANKS_MAX];
};

struct translation {
    const struct plan *plan; /* the first device's */
    struct mesh_plans mesh;
    enum phase first, last;
    int from, end; /* operations of the list; end 0: all of the phases. Of a range everything outlives it that another
                      operation touches */
    int unroll;    /* steps in one turn of a loop over time */
    struct hlo h;
    struct evaluation *evaluation; /* of the record at hand */
    struct value *value;           /* [buffers] what each holds now; id -1: nothing yet */
    struct program_buffers argument, result;
    struct own_number *own; /* [owned]: the arguments after the others */
    int owned;
};

/* Writes the program of the phases first to last (device.h: run), `name` its module; plans that this translation
 * can't do are refused. The caller frees it, also after a refusal. No operations: no text. */
unroll_status translate_phases(struct mesh_plans, enum phase first, enum phase last, const char *name,
                               struct translation *);
/* The operations [from, end) of a phase (PHASE_BACKWARD_SUM included), of which none exchanges anything. */
unroll_status translate_range(struct mesh_plans, enum phase, int from, int end, const char *name, struct translation *);
void translation_free(struct translation *);

/* Steps of time in one turn of a loop. On TPUs 4: a turn is fusions of some 2000 cycles, most of it waiting, and fewer
 * turns are fewer of them (docs/howto/xla.md has the estimates). Elsewhere 1: on XLA's CPU plugin 4 are slower. */
static inline int steps_in_turn(const char *platform) { return strcmp(platform, "tpu") ? 1 : 4; }

/* One phase of a plan that is not cut. */
static inline unroll_status translate(const struct plan *plan, enum phase phase, const char *name,
                                      struct translation *t)
{
    return translate_phases((struct mesh_plans){&plan, 1, 1}, phase, phase, name, t);
}

/* Sums of losses begin at zero in a program with a forward: what it gives is a summand. */
bool is_summand(const struct plan *, enum phase first, enum phase last, int buffer);
/* Is the operation one of these phases? Those of backward and sum may be mixed in the list. */
static inline bool is_of(const struct op *op, enum phase first, enum phase last)
{
    return op->phase >= first && op->phase <= last;
}
/* Does an operation of these phases write the buffer? */
bool is_written_in(const struct plan *, enum phase first, enum phase last, int buffer);
/* Are the shares of all devices alike, so that one program serves them? */
unroll_status check_alike(struct mesh_plans);

/* How a buffer's numbers lie on the device. */
struct value buffer_type(const struct buffer *);
/* "rates", as location.c makes them. */
enum { DEVICE_CLIP, DEVICE_NUMBERS, DEVICE_RATES = 16 };

/* ---- for the kinds of operation -------------------------------------------------------- */

typedef unroll_status translator(struct translation *, const struct op *);
translator translate_gemm, translate_gemm_dx, translate_gemm_dw, translate_bias_grad, translate_embed,
    translate_embed_grad, translate_rnn, translate_rnn_back, translate_dropout, translate_activate,
    translate_activate_back, translate_pool, translate_pool_back, translate_loss, translate_copy, translate_fill,
    translate_tree, translate_norm, translate_update, translate_all_reduce, translate_sum_begin, translate_sum_end;
/* At the end of a whole step: a loss that says whether the gradient's norm was finite. */
void mark_divergence(struct translation *);

static inline bool has(const struct op *op, int slot)
{
    return slot < op->views && op->view[slot].buffer >= 0 && op->view[slot].access != NONE;
}

/* Of number [devices] each device's own, an i32; and where its share begins along an axis of a buffer. */
struct value of_device(struct translation *, const int32_t *number);
struct value origin_of(struct translation *, int buffer, int axis);
/* The groups that an operation's group stands for: of all devices. members: [devices]. */
struct devices devices_of(const struct translation *, int group, int *members);

/* The number of a [T, ..] view's first step in the whole sequence. */
static inline uint32_t first_step(const struct plan *p, const struct view *v)
{
    return p->buffer[v->buffer].origin[0] + v->first[0] + v->base;
}

/* What a view covers, in the shape of its counts; and its new content: by its access it takes the place of
 * the old or is added. The value is reshaped to the view. */
struct value view_get(struct translation *, const struct view *);
void view_put(struct translation *, const struct view *, struct value);
struct shape shape_of_view(const struct view *, const struct plan *);

/* [T, B] true where a row of the view lasts; id -1: there are no lengths. */
struct value rows_lasting(struct translation *, const struct view *of, const struct view *lengths);
/* Zeros where the mask, which has the first axes of x, is false; a mask with id -1 changes nothing. */
struct value masked(struct translation *, struct value mask, struct value x);
struct value zeros(struct translation *, struct shape);
/* [T, B, all the rest]. */
struct value by_rows(struct translation *, struct value);
/* The value that entered each step of [T, B, W]: the one of the step before, `first` [B, W] at the first step
 * and in a reversed direction after a row's end, zeros after a reset. */
struct value entering(struct translation *, const struct op *, struct value x, struct value first,
                      const struct view *of, const struct view *lengths, const struct view *reset);

/* A record over values of one shape. Inputs are given by name. */
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
