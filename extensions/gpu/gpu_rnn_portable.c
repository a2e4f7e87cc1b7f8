/* The recurrence step by step, on any GPU: a product with the recurrent weights, then one kernel that computes the
 * cell's pointwise part for all units and rows. Scratch planes of forward: the states that enter a step and those
 * that leave it, which are swapped; the intermediates; h before and after a projection. Scratch planes of backward:
 * gradients of the states, updated in place; those of the intermediates; the whole gradient of a projected h and the
 * product added to it. */
#include "extensions/gpu/gpu_rnn.h"

/* ---- states ------------------------------------------------------------------------------- */

static struct states_args states_of(const struct rnn *r, struct gpu_fields first, struct gpu_fields rest, size_t plane)
{
    return (struct states_args){.rows = r->batch,
                                .width = (uint32_t)r->width,
                                .units = (uint32_t)r->units,
                                .others = (uint32_t)r->states - 1,
                                .ends = r->ends,
                                .resets = r->resets,
                                .forget = -1,
                                .first = first,
                                .rest = rest,
                                .plane = rnn_plane(r, plane)};
}

static unroll_status move_states(const struct rnn *r, const char *kernel, const struct states_args *args)
{
    return launch_each(r->w, kernel, r->batch, args->width + args->others * r->units, ARGS(args));
}

static bool multiplies_states(const struct rnn *r) { return r->view[RNN_W].at != NULL; }

/* ---- forward ------------------------------------------------------------------------------ */

struct planes {
    size_t state, next, intermediate, made;
};

/* Returns the kernel arguments of the cell in forward step i. */
static struct cell_forward_args forward_args(const struct rnn *r, const struct planes *p, int64_t i)
{
    const int64_t t = rnn_step(r, i);
    return (struct cell_forward_args){.rows = r->batch,
                                      .units = (uint32_t)r->units,
                                      .t = (uint32_t)t,
                                      .next_t = rnn_step(r, i + 1),
                                      .ends = r->ends,
                                      .resets = r->resets,
                                      .g = rnn_at(r, RNN_G, t),
                                      .state = rnn_plane(r, p->state),
                                      .next = rnn_plane(r, p->next),
                                      .intermediate = rnn_plane(r, p->intermediate),
                                      .y = rnn_at(r, r->projected ? RNN_M : RNN_Y, t),
                                      .s = rnn_at(r, RNN_S, t),
                                      .kept_intermediate = rnn_at(r, RNN_INTERMEDIATE, t),
                                      .vector = (const float *)(void *)r->view[RNN_VECTOR].at,
                                      .vector_field = r->view[RNN_VECTOR].stride[0],
                                      .projected = r->projected,
                                      .next_lowp = r->projected ? r->made : r->h,
                                      .intermediate_lowp = r->intermediate,
                                      .options = *r->options};
}

/* Projects the output of step i, if the cell has a projection. */
static unroll_status project(const struct rnn *r, const struct planes *p, int64_t i)
{
    const int64_t t = rnn_step(r, i);
    if (!r->projected)
        return UNROLL_OK;
    struct gpu_product of = {.m = r->batch,
                             .n = (uint32_t)r->width,
                             .k = (uint32_t)r->units,
                             .b = r->projection,
                             .b_by_columns = true,
                             .b_is_lowp = true,
                             .b_stays = true,
                             .c = matrix_at(rnn_plane(r, p->made), 0),
                             .a_moves = r->plane};
    rnn_operand(&of, rnn_plane(r, p->next), &r->made, 0);
    TRY(product(r->w, &of));
    return launch_each(r->w, "gpu_projected", r->batch, r->width,
                       ARGS(&(struct projected_args){.rows = r->batch,
                                                     .width = (uint32_t)r->width,
                                                     .t = (uint32_t)t,
                                                     .next_t = rnn_step(r, i + 1),
                                                     .ends = r->ends,
                                                     .resets = r->resets,
                                                     .made = rnn_plane(r, p->made),
                                                     .state = rnn_plane(r, p->state),
                                                     .next = rnn_plane(r, p->next),
                                                     .y = rnn_at(r, RNN_Y, t),
                                                     .next_lowp = r->h}));
}

static unroll_status forward_step(const struct rnn *r, const struct planes *p, int64_t i, const char *const kernel[2])
{
    const struct cell_forward_args args = forward_args(r, p, i);
    TRY(rnn_product(r, args.t, FROM_H, args.state, &r->h));
    TRY(launch_each(r->w, kernel[0], r->batch, r->units, ARGS(&args)));
    if (r->cell->phases == 2) {
        TRY(rnn_product(r, args.t, FROM_INTERMEDIATE, args.intermediate, &r->intermediate));
        TRY(launch_each(r->w, kernel[1], r->batch, r->units, ARGS(&args)));
    }
    return project(r, p, i);
}

unroll_status rnn_portable(struct rnn *r)
{
    char first[GPU_CELL_KERNEL], second[GPU_CELL_KERNEL];
    struct planes p = {0, r->states, 2 * r->states, 2 * r->states + r->intermediates};
    rnn_kernel(r, "forward", first, sizeof first);
    rnn_kernel(r, "forward_2", second, sizeof second);
    struct states_args enter = states_of(r, rnn_output(r, RNN_H0), rnn_states(r, RNN_S0), p.state);
    enter.forget = rnn_step(r, 0);
    TRY(rnn_weights(r));
    if (multiplies_states(r))
        r->h = lowp_rows(r->w, r->batch, 1, r->width);
    if (r->projected)
        r->made = lowp_rows(r->w, r->batch, 1, r->units);
    if (r->cell->phases == 2)
        r->intermediate = lowp_rows(r->w, r->batch, 1, r->units);
    enter.lowp = r->h;
    TRY(move_states(r, "gpu_states_enter", &enter));
    for (int64_t i = 0; i < (int64_t)r->steps; i++) {
        const size_t kept = p.state;
        TRY(forward_step(r, &p, i, (const char *const[]){first, second}));
        p.state = p.next;
        p.next = kept;
    }
    struct states_args leave = states_of(r, rnn_output(r, RNN_HN), rnn_states(r, RNN_SN), p.state);
    return move_states(r, "gpu_states_leave", &leave);
}

/* ---- backward ----------------------------------------------------------------------------- */

struct back_planes {
    size_t state, intermediate, whole, made, zeros;
};

/* Returns the kernel arguments of the cell in backward step i. */
static struct cell_backward_args backward_args(const struct rnn *r, const struct back_planes *p, int64_t i)
{
    const int64_t t = rnn_step(r, i), before = rnn_step(r, i - 1);
    const int output = r->projected ? RNN_M : RNN_Y;
    const struct gpu_fields dy = rnn_at(r, RNN_DY, t);
    return (struct cell_backward_args){.rows = r->batch,
                                       .units = (uint32_t)r->units,
                                       .t = (uint32_t)t,
                                       .before = before,
                                       .done = rnn_step(r, i + 1),
                                       .ends = r->ends,
                                       .resets = r->resets,
                                       .g = rnn_at(r, RNN_G, t),
                                       .d_state = rnn_plane(r, p->state),
                                       .d_intermediate = rnn_plane(r, p->intermediate),
                                       .dv = rnn_at(r, RNN_DV, t),
                                       .y = rnn_at(r, output, t),
                                       .s = rnn_at(r, RNN_S, t),
                                       .y_before = rnn_at(r, output, before),
                                       .s_before = rnn_at(r, RNN_S, before),
                                       .h0 = rnn_output(r, RNN_H0),
                                       .s0 = rnn_states(r, RNN_S0),
                                       .dy = dy.at,
                                       .dy_row = dy.row,
                                       .vector = (const float *)(void *)r->view[RNN_VECTOR].at,
                                       .vector_field = r->view[RNN_VECTOR].stride[0],
                                       .zeros = rnn_plane(r, p->zeros).at,
                                       .projected = r->projected,
                                       .g_lowp = r->gates,
                                       .options = *r->options};
}

/* Completes the gradient of h at step t; t < 0: before the first step. */
static unroll_status receive(const struct rnn *r, const struct back_planes *p, int64_t t, int64_t done)
{
    return launch_each(r->w, "gpu_receive", r->batch, r->width,
                       ARGS(&(struct receive_args){.rows = r->batch,
                                                   .width = (uint32_t)r->width,
                                                   .t = t < 0 ? 0 : (uint32_t)t,
                                                   .done = done,
                                                   .ends = r->ends,
                                                   .resets = r->resets,
                                                   .made = rnn_plane(r, p->made),
                                                   .whole = rnn_plane(r, p->whole),
                                                   .dy = rnn_at(r, RNN_DY, t),
                                                   .dp = rnn_at(r, RNN_DP, t),
                                                   .whole_lowp = r->h,
                                                   .ends_here = t < 0}));
}

static unroll_status project_back(const struct rnn *r, const struct back_planes *p)
{
    struct gpu_product of = {.m = r->batch,
                             .n = (uint32_t)r->units,
                             .k = (uint32_t)r->width,
                             .b = r->projection,
                             .b_is_lowp = true,
                             .b_stays = true,
                             .c = matrix_at(rnn_plane(r, p->state), 0)};
    rnn_operand(&of, rnn_plane(r, p->whole), &r->h, 0);
    return product(r->w, &of);
}

static unroll_status backward_step(const struct rnn *r, const struct back_planes *p, int64_t i,
                                   const char *const kernel[2])
{
    const struct cell_backward_args args = backward_args(r, p, i);
    if (r->projected) {
        TRY(receive(r, p, args.t, args.done));
        TRY(project_back(r, p));
    }
    if (r->cell->phases == 2) {
        TRY(launch_each(r->w, kernel[1], r->batch, r->units, ARGS(&args)));
        TRY(rnn_product_back(r, args.t, FROM_INTERMEDIATE, args.d_intermediate, false));
    }
    TRY(launch_each(r->w, kernel[0], r->batch, r->units, ARGS(&args)));
    return rnn_product_back(r, args.t, FROM_H, rnn_plane(r, r->projected ? p->made : p->state), !r->projected);
}

static unroll_status begin_gradients(const struct rnn *r, const struct back_planes *p)
{
    const struct gpu_fields nothing = {0};
    struct states_args clear = states_of(r, nothing, nothing, p->zeros);
    struct states_args enter = states_of(r, rnn_output(r, RNN_DHN), rnn_states(r, RNN_DSN), p->state);
    clear.others = 0;
    clear.width = (uint32_t)(r->units > r->width ? r->units : r->width);
    TRY(move_states(r, "gpu_states_enter", &clear));
    if (!r->projected)
        return move_states(r, "gpu_states_enter", &enter);
    struct states_args whole = states_of(r, enter.first, nothing, p->whole);
    whole.others = 0;
    TRY(move_states(r, "gpu_states_enter", &whole));
    enter.first = nothing; /* the cell's output gets its gradient from the projection */
    return move_states(r, "gpu_states_enter", &enter);
}

/* The first contribution to a gradient writes it, the others add to it. */
static unroll_status end_gradients(const struct rnn *r, const struct back_planes *p)
{
    const struct gpu_fields nothing = {0};
    struct states_args leave = states_of(r, rnn_output(r, RNN_DH0), rnn_states(r, RNN_DS0), p->state);
    leave.adds[0] = r->call->op->view[RNN_DH0].access == ADD;
    leave.adds[1] = r->call->op->view[RNN_DS0].access == ADD;
    leave.forget = rnn_step(r, 0);
    if (!r->projected)
        return move_states(r, "gpu_states_leave", &leave);
    TRY(receive(r, p, -1, rnn_step(r, 0)));
    struct states_args whole = states_of(r, leave.first, nothing, p->whole);
    whole.others = 0;
    whole.adds[0] = leave.adds[0];
    TRY(move_states(r, "gpu_states_leave", &whole));
    leave.first = nothing;
    return move_states(r, "gpu_states_leave", &leave);
}

unroll_status rnn_back_portable(struct rnn *r)
{
    char first[GPU_CELL_KERNEL], second[GPU_CELL_KERNEL];
    const struct back_planes p = {0, r->states, r->states + r->intermediates, r->states + r->intermediates + 1,
                                  r->states + r->intermediates + 2};
    rnn_kernel(r, "backward", first, sizeof first);
    rnn_kernel(r, "backward_2", second, sizeof second);
    TRY(rnn_weights(r));
    if (multiplies_states(r))
        r->gates = lowp_rows(r->w, r->batch, (size_t)r->cell->inputs, r->units);
    if (r->projected)
        r->h = lowp_rows(r->w, r->batch, 1, r->width);
    TRY(begin_gradients(r, &p));
    for (int64_t i = (int64_t)r->steps; i-- > 0;) TRY(backward_step(r, &p, i, (const char *const[]){first, second}));
    return end_gradients(r, &p);
}
