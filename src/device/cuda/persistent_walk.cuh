/* Cells that multiply no state: a thread walks through time with one unit of one row, its states in registers. Nobody
 * waits for another, so there are neither blocks that stay together nor an exchange; what the next steps read is asked
 * for while this one is done. Not a scan over time: steps follow each other. */
#ifndef DEVICE_CUDA_PERSISTENT_WALK_CUH
#define DEVICE_CUDA_PERSISTENT_WALK_CUH
#include "device/cuda/persistent.cuh"

/* A thread's row and unit, and how many steps the row has. */
struct walk_place {
    struct spot p;
    uint32_t length;
};

GPU_CODE bool take_place(const struct persistent_args &a, struct walk_place &w)
{
    const uint32_t i = blockIdx.x * PERSISTENT_THREADS + threadIdx.x;
    w.p = {0, 0, i / a.units, i % a.units, true, true, true};
    if (w.p.row >= a.rows)
        return false;
    const int32_t left = a.lengths ? a.lengths[w.p.row] - (int32_t)a.origin : (int32_t)a.steps;
    w.length = (uint32_t)min(max(left, 0), (int32_t)a.steps);
    return true;
}

template <class C>
GPU_CODE void enter_states(const struct walk_place &w, const struct persistent_view &h,
                           const struct persistent_view &others, float (&states)[C::states])
{
#pragma unroll
    for (uint32_t i = 0; i < C::states; i++) {
        const float *from = state_of(h, others, i, 0, w.p);
        states[i] = from ? *from : 0;
    }
}

/* ---- forward ----------------------------------------------------------------------------- */

template <class C>
GPU_CODE void walk_step(const struct persistent_args &a, const struct walk_place &w, uint32_t step, typename C::unit &v,
                        float (&states)[C::states])
{
    if (step >= w.length) {
        pass_by<C>(a, step, w.p);
        return;
    }
    C::get_states(v, states, 1);
    if (starts_anew(a, step, w.p.row))
        C::forget(v);
    C::set_constants(v, a, w.p.unit);
    C::run_forward(v, 0);
    C::put_next(v, states, 1);
    if (a.trained)
        C::put_saved(v, field_at(a.g, step, w.p), a.g.field, 0);
    if (a.y.at)
        *field_at(a.y, step, w.p) = states[0];
#pragma unroll
    for (uint32_t i = 1; i < C::states; i++)
        if (a.s.at)
            field_at(a.s, step, w.p)[(size_t)(i - 1) * a.s.field] = states[i];
}

template <class C> GPU_CODE void forward_units(const struct persistent_args &a)
{
    struct walk_place w;
    float states[C::states];
    typename C::unit ahead[WALK_AHEAD];
    if (!take_place(a, w))
        return;
    enter_states<C>(w, a.h0, a.s0, states);
#pragma unroll
    for (uint32_t j = 0; j < WALK_AHEAD; j++) {
        clock_loads(j);
        if (j < a.steps)
            C::get_inputs(ahead[j], field_at(a.g, a.direction ? a.steps - 1 - j : j, w.p), a.g.field, 0);
    }
    for (uint32_t first = 0; first < a.steps; first += WALK_AHEAD)
#pragma unroll
        for (uint32_t j = 0; j < WALK_AHEAD; j++) {
            const uint32_t i = first + j, then = i + WALK_AHEAD;
            if (i >= a.steps)
                break;
            clock_part(CLOCK_WAIT);
            clock_loaded(j);
            clock_instructions(INSTRUCTIONS_WALK);
            typename C::unit v = ahead[j];
            clock_loads(j);
            if (then < a.steps)
                C::get_inputs(ahead[j], field_at(a.g, a.direction ? a.steps - 1 - then : then, w.p), a.g.field, 0);
            walk_step<C>(a, w, a.direction ? a.steps - 1 - i : i, v, states);
        }
#pragma unroll
    for (uint32_t i = 0; i < C::states; i++) {
        float *to = state_of(a.hn, a.sn, i, 0, w.p);
        if (to)
            *to = states[i];
    }
}

/* ---- backward ---------------------------------------------------------------------------- */

template <class C> struct walked {
    typename C::unit v;
    float dy;
};

template <class C>
GPU_CODE void ask_for(const struct persistent_args &a, const struct walk_place &w, uint32_t step, struct walked<C> &x)
{
    const uint32_t before = a.direction ? step + 1 : step - 1; /* in the order of forward */
    const bool inside = before < a.steps && before < w.length;
    if (step >= w.length)
        return;
    C::get_saved(x.v, field_at(a.g, step, w.p), a.g.field, 0);
    C::get_entering(x.v, inside ? a.y : a.h0, inside ? a.s : a.s0, inside ? before : 0, w.p,
                    starts_anew(a, step, w.p.row));
    C::get_leaving(x.v, a.y, a.s, step, w.p);
    x.dy = a.dy.at ? *field_at(a.dy, step, w.p) : 0;
}

template <class C>
GPU_CODE void walk_back_step(const struct persistent_args &a, const struct walk_place &w, uint32_t step,
                             struct walked<C> &x, float (&gradients)[C::states])
{
    typename C::unit d;
    if (step >= w.length) {
        C::clear_vectors(a, step, w.p);
        return;
    }
    C::set_constants(x.v, a, w.p.unit);
    C::get_gradients(d, gradients, 1, x.dy, true);
    C::run_backward(x.v, d, 0);
    C::put_gradients(d, gradients, 1);
    C::put_inputs(d, field_at(a.g, step, w.p), a.g.field, 0);
    if (a.dv.at)
        C::put_vectors(d, field_at(a.dv, step, w.p), a.dv.field);
    const bool anew = starts_anew(a, step, w.p.row); /* nothing goes to what came earlier */
#pragma unroll
    for (uint32_t i = 0; i < C::states; i++) gradients[i] = anew ? 0 : gradients[i];
}

template <class C> GPU_CODE void backward_units(const struct persistent_args &a)
{
    struct walk_place w;
    float gradients[C::states];
    struct walked<C> ahead[WALK_AHEAD];
    if (!take_place(a, w))
        return;
    enter_states<C>(w, a.dhn, a.dsn, gradients);
#pragma unroll
    for (uint32_t j = 0; j < WALK_AHEAD; j++) {
        clock_loads(j);
        if (j < a.steps)
            ask_for<C>(a, w, a.direction ? j : a.steps - 1 - j, ahead[j]);
    }
    for (uint32_t first = 0; first < a.steps; first += WALK_AHEAD)
#pragma unroll
        for (uint32_t j = 0; j < WALK_AHEAD; j++) {
            const uint32_t i = first + j, then = i + WALK_AHEAD;
            if (i >= a.steps)
                break;
            clock_part(CLOCK_WAIT);
            clock_loaded(j);
            clock_instructions(INSTRUCTIONS_WALK_BACK);
            struct walked<C> x = ahead[j];
            clock_loads(j);
            if (then < a.steps)
                ask_for<C>(a, w, a.direction ? then : a.steps - 1 - then, ahead[j]);
            walk_back_step<C>(a, w, a.direction ? i : a.steps - 1 - i, x, gradients);
        }
#pragma unroll
    for (uint32_t i = 0; i < C::states; i++) {
        float *to = state_of(a.dh0, a.ds0, i, 0, w.p);
        if (to)
            *to = (i ? a.add_ds0 : a.add_dh0) ? *to + gradients[i] : gradients[i];
    }
}

#endif
