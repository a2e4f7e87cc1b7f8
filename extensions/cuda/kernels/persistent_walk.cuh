/* Cells that multiply no state: a thread processes all steps of one unit of one row, with its states in registers.
 * Threads are independent, so blocks need neither be resident together nor exchange data. Inputs of later steps are
 * loaded while this one is computed. This is not a scan over time: steps are sequential. */
#ifndef DEVICE_CUDA_PERSISTENT_WALK_CUH
#define DEVICE_CUDA_PERSISTENT_WALK_CUH
#include "extensions/cuda/kernels/persistent.cuh"

/* A thread's row and unit, the length of the row, and the addresses of step 0: one instruction adds the offset of a
 * step. */
struct walk_place {
    struct spot p;
    uint32_t length;
    float *g, *y, *dy;
    const uint8_t *reset;
};

GPU_CODE float *walk_at(float *first, const struct persistent_view &f, uint32_t step)
{
    return (float *)((char *)first + (uint64_t)step * (f.step * (uint32_t)sizeof(float)));
}

/* Returns the loaded value: a comparison would wait for it. */
GPU_CODE uint32_t walk_reset(const struct persistent_args &a, const struct walk_place &w, uint32_t step)
{
    return a.reset ? w.reset[(uint64_t)step * a.reset_row] : 0;
}

GPU_CODE bool take_place(const struct persistent_args &a, struct walk_place &w)
{
    const uint32_t i = blockIdx.x * PERSISTENT_THREADS + threadIdx.x;
    w.p = {0, 0, i / a.units, i % a.units, true, true, true};
    if (w.p.row >= a.rows)
        return false;
    const int32_t left = a.lengths ? a.lengths[w.p.row] - (int32_t)a.origin : (int32_t)a.steps;
    w.length = (uint32_t)min(max(left, 0), (int32_t)a.steps);
    w.g = field_at(a.g, 0, w.p);
    w.y = field_at(a.y, 0, w.p);
    w.dy = field_at(a.dy, 0, w.p);
    w.reset = a.reset + w.p.row;
    return true;
}

template <int STATES>
GPU_CODE void enter_states(const struct walk_place &w, const struct persistent_view &h,
                           const struct persistent_view &others, float (&states)[STATES])
{
#pragma unroll
    for (uint32_t i = 0; i < STATES; i++) {
        const float *from = state_of(h, others, i, 0, w.p);
        states[i] = from ? *from : 0;
    }
}

template <int STATES>
GPU_CODE void exit_states(const struct walk_place &w, const struct persistent_view &h,
                          const struct persistent_view &others, bool add_h, bool add_others,
                          const float (&states)[STATES])
{
#pragma unroll
    for (uint32_t i = 0; i < STATES; i++) {
        float *to = state_of(h, others, i, 0, w.p);
        if (to)
            *to = (i ? add_others : add_h) ? *to + states[i] : states[i];
    }
}

/* Runs all steps, forward or backward (WAY), with the states, or their gradients, in registers. */
template <class WAY, int STATES>
GPU_CODE void walk_steps(const struct persistent_args &a, const struct walk_place &w, float (&states)[STATES])
{
    const bool falls = (a.direction != 0) != WAY::back;
    typename WAY::loaded ahead[WALK_AHEAD];
#pragma unroll
    for (uint32_t j = 0; j < WALK_AHEAD; j++) {
        clock_loads(j);
        if (j < a.steps)
            WAY::load(a, w, falls ? a.steps - 1 - j : j, ahead[j]);
    }
    for (uint32_t first = 0; first < a.steps; first += WALK_AHEAD)
#pragma unroll
        for (uint32_t j = 0; j < WALK_AHEAD; j++) {
            const uint32_t i = first + j, then = i + WALK_AHEAD;
            if (i >= a.steps)
                break;
            clock_part(CLOCK_WAIT);
            clock_loaded(j);
            clock_instructions(WAY::instructions);
            typename WAY::loaded x = ahead[j];
            clock_loads(j);
            if (then < a.steps)
                WAY::load(a, w, falls ? a.steps - 1 - then : then, ahead[j]);
            WAY::step(a, w, falls ? a.steps - 1 - i : i, x, states);
        }
}

/* ---- forward ----------------------------------------------------------------------------- */

template <class C> struct walk_forward {
    enum { back = 0, instructions = INSTRUCTIONS_WALK };
    struct loaded {
        typename C::unit v;
        uint32_t reset;
    };
    GPU_CODE void load(const struct persistent_args &a, const struct walk_place &w, uint32_t step, struct loaded &x)
    {
        C::get_inputs(x.v, walk_at(w.g, a.g, step), a.g.field, 0);
        x.reset = walk_reset(a, w, step);
    }
    GPU_CODE void step(const struct persistent_args &a, const struct walk_place &w, uint32_t step, struct loaded &x,
                       float (&states)[C::states])
    {
        if (step >= w.length) {
            skip_row<C>(a, step, w.p);
            return;
        }
        C::get_states(x.v, states, 1);
        if (x.reset)
            C::forget(x.v);
        C::set_constants(x.v, a, w.p.unit);
        C::run_forward(x.v, 0);
        C::put_next(x.v, states, 1);
        if (a.trained)
            C::put_saved(x.v, walk_at(w.g, a.g, step), a.g.field, 0);
        if (a.y.at)
            *walk_at(w.y, a.y, step) = states[0];
#pragma unroll
        for (uint32_t i = 1; i < C::states; i++)
            if (a.s.at)
                field_at(a.s, step, w.p)[(size_t)(i - 1) * a.s.field] = states[i];
    }
};

template <class C> GPU_CODE void forward_units(const struct persistent_args &a)
{
    struct walk_place w;
    float states[C::states];
    if (!take_place(a, w))
        return;
    enter_states(w, a.h0, a.s0, states);
    walk_steps<walk_forward<C>>(a, w, states);
    exit_states(w, a.hn, a.sn, false, false, states);
}

/* ---- backward ---------------------------------------------------------------------------- */

template <class C> struct walk_backward {
    enum { back = 1, instructions = INSTRUCTIONS_WALK_BACK };
    struct loaded {
        typename C::unit v;
        float dy;
        uint32_t reset;
    };
    GPU_CODE void load(const struct persistent_args &a, const struct walk_place &w, uint32_t step, struct loaded &x)
    {
        const uint32_t before = a.direction ? step + 1 : step - 1; /* in forward order */
        const bool inside = before < a.steps && before < w.length;
        if (step >= w.length)
            return;
        x.reset = walk_reset(a, w, step);
        C::get_saved(x.v, walk_at(w.g, a.g, step), a.g.field, 0);
        if (inside)
            C::get_kept(x.v, walk_at(w.y, a.y, before), C::states > 1 ? field_at(a.s, before, w.p) : NULL, a.s.field);
        else
            C::get_entering(x.v, a.h0, a.s0, 0, w.p, false);
        C::get_leaving(x.v, a.y, a.s, step, w.p);
        x.dy = a.dy.at ? *walk_at(w.dy, a.dy, step) : 0;
    }
    GPU_CODE void step(const struct persistent_args &a, const struct walk_place &w, uint32_t step, struct loaded &x,
                       float (&gradients)[C::states])
    {
        typename C::unit d;
        if (step >= w.length) {
            C::clear_vectors(a, step, w.p);
            return;
        }
        if (x.reset)
            C::forget(x.v);
        C::set_constants(x.v, a, w.p.unit);
        C::get_gradients(d, gradients, 1, x.dy, true);
        C::run_backward(x.v, d, 0);
        C::put_gradients(d, gradients, 1);
        C::put_inputs(d, walk_at(w.g, a.g, step), a.g.field, 0);
        if (a.dv.at)
            C::put_vectors(d, field_at(a.dv, step, w.p), a.dv.field);
#pragma unroll
        for (uint32_t i = 0; i < C::states; i++)
            gradients[i] = x.reset ? 0 : gradients[i]; /* no gradient flows past a reset */
    }
};

template <class C> GPU_CODE void backward_units(const struct persistent_args &a)
{
    struct walk_place w;
    float gradients[C::states];
    if (!take_place(a, w))
        return;
    enter_states(w, a.dhn, a.dsn, gradients);
    walk_steps<walk_backward<C>>(a, w, gradients);
    exit_states(w, a.dh0, a.ds0, a.add_dh0, a.add_ds0, gradients);
}

#endif
