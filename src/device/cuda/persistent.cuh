/* The persistent recurrences: what blocks do from the first step to the last, for any cell (persistent_cell.cuh) and
 * operand. The same source walks in clusters and over a grid; tiling.h says how work is divided. Not the products of
 * all steps at once (inputs, gradients of weights), which are other operations of the plan.
 *
 * A round: numbers of the cells are asked for from memory, the operand is waited for, multiplied, and the sums of all
 * warps lie in shared memory; then each thread does its cells, one after the other with all their gates, and stages
 * its part of the next operand, which is sent. Sums are in one order whatever comes first: the bits are the same in
 * every run. Rows that do not take part in a step keep their states. States stay in shared memory, as floats. */
#ifndef DEVICE_CUDA_PERSISTENT_CUH
#define DEVICE_CUDA_PERSISTENT_CUH
#include "device/cuda/persistent_exchange.cuh"

/* For the clocks: what a thread's warp issues in a round beyond the words that they know, as counted in SASS. */
enum { INSTRUCTIONS_ROUND = 570 };

/* ---- cells of a thread ------------------------------------------------------------------- */

/* Cell j of a thread is number j * PERSISTENT_THREADS + thread of [row of the chunk][unit of the block]. */
struct cells {
    uint32_t place[TILING_CELLS]; /* row << 16 | unit */
    uint32_t count;               /* of the block */
};

GPU_CODE struct cells cells_of(const struct tiling &t)
{
    struct cells c;
    c.count = t.chunk_rows * t.units;
#pragma unroll
    for (int j = 0; j < TILING_CELLS; j++) {
        const uint32_t i = j * PERSISTENT_THREADS + threadIdx.x;
        c.place[j] = i / t.units << 16 | i % t.units;
    }
    return c;
}

/* One of them in a step. */
struct spot {
    uint32_t index, n, u, row, unit; /* in the block: number, row, unit; in the operation */
    bool real, part;                 /* it exists; its row takes part */
};

GPU_CODE int32_t *lengths_of(const struct tiling &t) /* of rows in this operation; then the longest of each chunk */
{
    return (int32_t *)(dynamic_shared() + t.at_lengths);
}

GPU_CODE struct spot spot_of(const struct persistent_args &a, const struct seat &s, const struct cells &c, int j,
                             uint32_t chunk, uint32_t step)
{
    const struct tiling &t = a.tiling;
    struct spot p;
    p.index = j * PERSISTENT_THREADS + threadIdx.x;
    p.n = c.place[j] >> 16;
    p.u = c.place[j] & 0xffff;
    p.row = s.row0 + chunk * t.chunk_rows + p.n;
    p.unit = s.unit0 + p.u;
    p.real = p.index < c.count && p.row < a.rows && p.unit < a.units;
    p.part = p.real && (int32_t)step < lengths_of(t)[chunk * t.chunk_rows + p.n];
    return p;
}

GPU_CODE float *field_at(const struct persistent_view &f, uint32_t step, const struct spot &p)
{
    return f.at + step * f.step + (size_t)p.row * f.row + p.unit;
}

/* States, or their gradients: number s of a cell at [s * stride]. */
GPU_CODE float *states_at(const struct tiling &t, uint32_t chunk, const struct spot &p)
{
    return (float *)(dynamic_shared() + t.at_states) + chunk * t.states * t.chunk_rows * t.units + p.index;
}

GPU_CODE bool starts_anew(const struct persistent_args &a, uint32_t step, uint32_t row)
{
    return a.reset && a.reset[(size_t)step * a.reset_row + row];
}

/* State s of the views that hold the first and the others. */
GPU_CODE float *state_of(const struct persistent_view &h, const struct persistent_view &others, uint32_t s,
                         uint32_t step, const struct spot &p)
{
    const struct persistent_view &f = s ? others : h;
    return f.at ? field_at(f, step, p) + (s ? (size_t)(s - 1) * f.field : 0) : NULL;
}

/* The sums of a cell, field by field of the product: those of its splits in their order. */
template <int FIELDS> struct sums {
    float of[FIELDS];
};

template <int FIELDS> GPU_CODE struct sums<FIELDS> sums_of(const struct tiling &t, int phase, const struct spot &p)
{
    const struct tiling_product &m = t.product[phase];
    const float *at = (const float *)(dynamic_shared() + t.at_sums) + p.n * m.sums_row + p.u;
    struct sums<FIELDS> s;
#pragma unroll
    for (int q = 0; q < FIELDS; q++) s.of[q] = at[q * t.units];
    clock_shared(FIELDS * m.splits, m.splits);
#pragma unroll 1
    for (uint32_t i = 1; i < m.splits; i++) {
        at += t.chunk_rows * m.sums_row;
#pragma unroll
        for (int q = 0; q < FIELDS; q++) s.of[q] += at[q * t.units];
    }
    return s;
}

template <int FIELDS>
GPU_CODE struct sums<FIELDS> biased_sums(const struct tiling &t, int phase, const struct spot &p, uint32_t first_bias)
{
    const float *bias = (const float *)(dynamic_shared() + t.at_bias) + first_bias * t.units + p.u;
    struct sums<FIELDS> s = sums_of<FIELDS>(t, phase, p);
#pragma unroll
    for (int q = 0; q < FIELDS; q++) s.of[q] += bias[q * t.units];
    return s;
}

/* Field by field of a cell's part of the next operand. */
template <int O> struct staged {
    typename operand_of<O>::number *at;
    uint32_t field;
};

template <int O> GPU_CODE void stage_at(const struct staged<O> &s, uint32_t q, float value)
{
    s.at[q * s.field] = operand_of<O>::make(value);
}

template <int O> GPU_CODE struct staged<O> staged_of(const struct tiling &t, int phase, const struct spot &p)
{
    struct staged<O> s;
    s.at = (typename operand_of<O>::number *)(dynamic_shared() + t.at_staged) +
           p.n * t.product[phase].fields * t.units + p.u;
    s.field = t.units;
    return s;
}

/* ---- before the first step --------------------------------------------------------------- */

GPU_CODE struct seat take_seat(const struct persistent_args &a)
{
    const struct tiling &t = a.tiling;
    struct seat s;
    s.group = blockIdx.x / t.cluster;
    s.rank = blockIdx.x % t.cluster;
    s.unit0 = s.rank * t.units;
    s.row0 = s.group * t.chunks * t.chunk_rows;
    return s;
}

GPU_CODE void clear_operands(const struct tiling &t)
{
    const uint32_t bytes = (t.algorithm == ALGORITHM_GRID ? 1 : 2 * t.chunks) * t.operand_buffer;
    uint4 *at = (uint4 *)(dynamic_shared() + t.at_operand);
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < bytes / 16; i += PERSISTENT_THREADS) at[i] = make_uint4(0, 0, 0, 0);
}

GPU_CODE void load_lengths(const struct persistent_args &a, const struct seat &s)
{
    const struct tiling &t = a.tiling;
    const uint32_t rows = t.chunks * t.chunk_rows;
    int32_t *length = lengths_of(t);
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < rows; i += PERSISTENT_THREADS) {
        const uint32_t row = s.row0 + i;
        int32_t left = row >= a.rows ? 0 : a.lengths ? a.lengths[row] - (int32_t)a.origin : (int32_t)a.steps;
        length[i] = min(max(left, 0), (int32_t)a.steps);
    }
    __syncthreads();
    for (uint32_t c = threadIdx.x; c < t.chunks; c += PERSISTENT_THREADS) {
        int32_t longest = 0;
#pragma unroll 1
        for (uint32_t n = 0; n < t.chunk_rows; n++) longest = max(longest, length[c * t.chunk_rows + n]);
        length[rows + c] = longest;
    }
}

/* The states or gradients that a walk begins with. */
GPU_CODE void load_states(const struct persistent_args &a, const struct seat &s, const struct cells &cells,
                          const struct persistent_view &h, const struct persistent_view &others)
{
    const struct tiling &t = a.tiling;
#pragma unroll 1
    for (uint32_t c = 0; c < t.chunks; c++)
#pragma unroll
        for (int j = 0; j < TILING_CELLS; j++) {
            const struct spot p = spot_of(a, s, cells, j, c, 0);
#pragma unroll 1
            for (uint32_t i = 0; i < t.states && p.index < cells.count; i++) {
                const float *from = p.real ? state_of(h, others, i, 0, p) : NULL;
                states_at(t, c, p)[i * cells.count] = from ? *from : 0;
            }
        }
}

/* Of the gates in the order of their phases. */
GPU_CODE void load_bias(const struct persistent_args &a, const struct seat &s, uint32_t fields_h,
                        uint32_t fields_intermediate)
{
    const struct tiling &t = a.tiling;
    float *bias = (float *)(dynamic_shared() + t.at_bias);
    for (uint32_t phase = 0; phase < t.phases; phase++)
        for (uint32_t q = 0; q < (phase ? fields_intermediate : fields_h); q++)
#pragma unroll 1
            for (uint32_t u = threadIdx.x; u < t.units; u += PERSISTENT_THREADS)
                bias[(phase * fields_h + q) * t.units + u] =
                    a.bias && s.unit0 + u < a.units ? a.bias[a.gate[phase][q] * a.units + s.unit0 + u] : 0;
}

/* The first operand of a forward walk: h0, as each block reads it. */
template <int O>
GPU_CODE void enter_operand(const struct persistent_args &a, const struct seat &s, uint32_t chunk, uint32_t step)
{
    typedef typename operand_of<O>::number number;
    const struct tiling &t = a.tiling;
#pragma unroll 1
    for (uint32_t n = 0; n < t.chunk_rows; n++) {
        const uint32_t row = s.row0 + chunk * t.chunk_rows + n;
        const bool known = row < a.rows && a.h0.at &&
                           !(starts_anew(a, step, row) && (int32_t)step < lengths_of(t)[chunk * t.chunk_rows + n]);
        number *to = (number *)(operand_at(t, chunk, 0) + n * t.product[0].operand_row);
#pragma unroll 1
        for (uint32_t k = threadIdx.x; k < t.members * t.units; k += PERSISTENT_THREADS)
            to[k] = operand_of<O>::make(known && k < a.units ? a.h0.at[(size_t)row * a.h0.row + k] : 0);
    }
    __syncthreads();
}

/* ---- forward ----------------------------------------------------------------------------- */

/* A row that takes no part: its outputs, and what backward would read, are zeros. */
template <class C> GPU_CODE void pass_by(const struct persistent_args &a, uint32_t step, const struct spot &p)
{
    if (a.y.at)
        *field_at(a.y, step, p) = 0;
    for (uint32_t i = 1; a.s.at && i < C::states; i++) field_at(a.s, step, p)[(size_t)(i - 1) * a.s.field] = 0;
    for (uint32_t i = 0; a.intermediate.at && i + 1 <= C::intermediates; i++)
        field_at(a.intermediate, step, p)[(size_t)i * a.intermediate.field] = 0;
    for (uint32_t i = 0; a.trained && i < C::inputs; i++) field_at(a.g, step, p)[(size_t)i * a.g.field] = 0;
}

/* A cell of a row that takes part; v has what was loaded of its inputs. */
template <class C, int PHASE>
GPU_CODE void forward_cell(const struct persistent_args &a, uint32_t chunk, uint32_t step, uint32_t count,
                           const struct spot &p, typename C::unit &v)
{
    const struct tiling &t = a.tiling;
    float *states = states_at(t, chunk, p);
    C::get_states(v, states, count);
    if (starts_anew(a, step, p.row))
        C::forget(v);
    C::set_constants(v, a, p.unit);
    const auto sums = biased_sums<PHASE ? C::fields_intermediate : C::fields_h>(t, PHASE, p, PHASE * C::fields_h);
    float *g = field_at(a.g, step, p);
    C::add_sums(v, sums, PHASE);
    C::run_forward(v, PHASE);
    C::keep_sums(sums, g, a.g.field, PHASE);
    if (a.trained)
        C::put_saved(v, g, a.g.field, PHASE);
    if (PHASE + 1 < C::phases) {
        if (a.intermediate.at)
            C::put_intermediates(v, field_at(a.intermediate, step, p), a.intermediate.field);
        return;
    }
    C::put_next(v, states, count);
    if (a.y.at)
        *field_at(a.y, step, p) = states[0];
    for (uint32_t i = 1; a.s.at && i < C::states; i++)
        field_at(a.s, step, p)[(size_t)(i - 1) * a.s.field] = states[i * count];
}

/* What the cell gives to the next operand: its intermediate, or the h that enters the next step. */
template <class C, int PHASE>
GPU_CODE float operand_from(const struct persistent_args &a, uint32_t chunk, uint32_t step, const struct spot &p,
                            const typename C::unit &v)
{
    const struct tiling &t = a.tiling;
    if (PHASE + 1 < C::phases)
        return p.part ? C::intermediate(v) : 0;
    const uint32_t next = a.direction ? step - 1 : step + 1;
    const bool forgets = p.real && next < a.steps && starts_anew(a, next, p.row) &&
                         (int32_t)next < lengths_of(t)[chunk * t.chunk_rows + p.n];
    return forgets ? 0 : states_at(t, chunk, p)[0];
}

template <class C, int O, int PHASE>
GPU_CODE void forward_round(const struct persistent_args &a, const struct seat &s, const struct cells &cells,
                            const weight_registers &w, uint32_t chunk, uint32_t step, uint32_t round, bool last)
{
    const struct tiling &t = a.tiling;
    const int next = (PHASE + 1) % C::phases;
    const uint32_t number = sizeof(typename operand_of<O>::number);
    typename C::unit v[TILING_CELLS];
    clock_part(CLOCK_WAIT);
    clock_loads();
#pragma unroll
    for (int j = 0; j < TILING_CELLS; j++) {
        const struct spot p = spot_of(a, s, cells, j, chunk, step);
        if (p.part)
            C::get_inputs(v[j], field_at(a.g, step, p), a.g.field, PHASE);
    }
    if (round == 0)
        enter_operand<O>(a, s, chunk, step);
    else
        wait_for_operand(a, s, chunk, round, PHASE, number);
    if (threadIdx.x == 0 && !last && t.algorithm != ALGORITHM_GRID)
        expect_operand(t, chunk, round + 1, next, number);
    clock_part(CLOCK_PRODUCT);
    multiply<O>(t, PHASE, w, operand_at(t, chunk, round), (float *)(dynamic_shared() + t.at_sums));
    __syncthreads();
    clock_part(CLOCK_CELL);
    clock_loaded();
    clock_instructions(INSTRUCTIONS_ROUND);
#pragma unroll
    for (int j = 0; j < TILING_CELLS; j++) {
        const struct spot p = spot_of(a, s, cells, j, chunk, step);
        if (p.part)
            forward_cell<C, PHASE>(a, chunk, step, cells.count, p, v[j]);
        else if (p.real && PHASE == 0)
            pass_by<C>(a, step, p);
        if (p.index < cells.count && !last)
            stage_at(staged_of<O>(t, next, p), 0, operand_from<C, PHASE>(a, chunk, step, p, v[j]));
    }
    __syncthreads();
    clock_part(CLOCK_SEND);
    if (!last)
        send_operand(a, s, chunk, round + 1, next, number);
}

template <class C, int O>
GPU_CODE void forward_step(const struct persistent_args &a, const struct seat &s, const struct cells &cells,
                           const weight_registers &w, uint32_t chunk, uint32_t i)
{
    const struct tiling &t = a.tiling;
    const uint32_t longest = lengths_of(t)[t.chunks * t.chunk_rows + chunk];
    const uint32_t step = a.direction ? a.steps - 1 - i : i;
    if (step >= longest) {
#pragma unroll
        for (int j = 0; j < TILING_CELLS; j++) {
            const struct spot p = spot_of(a, s, cells, j, chunk, step);
            if (p.real)
                pass_by<C>(a, step, p);
        }
        return;
    }
    const uint32_t round = C::phases * (a.direction ? i - (a.steps - longest) : i);
    const bool last = round + C::phases == C::phases * longest;
    forward_round<C, O, 0>(a, s, cells, w, chunk, step, round, last && C::phases == 1);
    if constexpr (C::phases == 2)
        forward_round<C, O, 1>(a, s, cells, w, chunk, step, round + 1, last);
}

GPU_CODE void leave_states(const struct persistent_args &a, const struct seat &s, const struct cells &cells)
{
    const struct tiling &t = a.tiling;
#pragma unroll 1
    for (uint32_t c = 0; c < t.chunks; c++)
#pragma unroll
        for (int j = 0; j < TILING_CELLS; j++) {
            const struct spot p = spot_of(a, s, cells, j, c, 0);
#pragma unroll 1
            for (uint32_t i = 0; p.real && i < t.states; i++) {
                float *to = state_of(a.hn, a.sn, i, 0, p);
                if (to)
                    *to = states_at(t, c, p)[i * cells.count];
            }
        }
}

/* A block takes its place: tables, lengths, the states (or their gradients) that enter first, and its weights. */
template <int O, bool BACK>
GPU_CODE void settle(const struct persistent_args &a, const struct seat &s, const struct cells &cells,
                     const struct persistent_view &h, const struct persistent_view &others, weight_registers &w)
{
    clear_operands(a.tiling);
    make_piece_tables(a.tiling, s, sizeof(typename operand_of<O>::number));
    load_lengths(a, s);
    load_states(a, s, cells, h, others);
    load_weights<O, BACK>(a, s.unit0, w);
}

template <class C, int O> GPU_CODE void forward_walk(const struct persistent_args &a)
{
    const struct tiling &t = a.tiling;
    const struct seat s = take_seat(a);
    const struct cells cells = cells_of(t);
    const bool member = s.rank < t.members;
    weight_registers w;
    if (member) {
        load_bias(a, s, C::fields_h, C::fields_intermediate);
        settle<O, false>(a, s, cells, a.h0, a.s0, w);
    }
    begin_exchange(t);
    for (uint32_t i = 0; member && i < a.steps; i++)
        for (uint32_t c = 0; c < t.chunks; c++) forward_step<C, O>(a, s, cells, w, c, i);
    if (member)
        leave_states(a, s, cells);
    end_exchange(t);
}

/* ---- backward ---------------------------------------------------------------------------- */

/* What a cell's backward reads, and the gradient of its output. */
template <class C>
GPU_CODE float get_values(const struct persistent_args &a, uint32_t chunk, uint32_t step, const struct spot &p,
                          typename C::unit &v, int phase)
{
    const uint32_t before = a.direction ? step + 1 : step - 1; /* in the order of forward */
    const bool inside = before < a.steps && (int32_t)before < lengths_of(a.tiling)[chunk * a.tiling.chunk_rows + p.n];
    const bool anew = starts_anew(a, step, p.row);
    const struct persistent_view &h = inside ? a.y : a.h0, &others = inside ? a.s : a.s0;
    C::get_saved(v, field_at(a.g, step, p), a.g.field, phase);
    C::get_entering(v, h, others, inside ? before : 0, p, anew);
    C::get_leaving(v, a.y, a.s, step, p);
    return a.dy.at && phase == C::phases - 1 ? *field_at(a.dy, step, p) : 0;
}

/* The row started anew in the step that was done before: nothing goes from there to what came earlier. */
GPU_CODE bool is_cut_off(const struct persistent_args &a, uint32_t chunk, uint32_t step, const struct spot &p)
{
    return starts_anew(a, step, p.row) && (int32_t)step < lengths_of(a.tiling)[chunk * a.tiling.chunk_rows + p.n];
}

/* The gradient of the states that leave a step: what lies in shared memory, and for h the product's. */
GPU_CODE void receive_gradient(const struct persistent_args &a, uint32_t chunk, uint32_t before, bool any,
                               uint32_t count, const struct spot &p)
{
    const struct tiling &t = a.tiling;
    float *d = states_at(t, chunk, p);
    if (!any)
        return;
    const bool cut = is_cut_off(a, chunk, before, p);
    d[0] = cut ? 0 : d[0] + sums_of<1>(t, 0, p).of[0];
#pragma unroll 1
    for (uint32_t i = 1; i < t.states && cut; i++) d[i * count] = 0;
}

template <class C, int O, int HALF>
GPU_CODE void backward_cell(const struct persistent_args &a, uint32_t chunk, uint32_t step, uint32_t count,
                            const struct spot &p, typename C::unit &v, float dy)
{
    const struct tiling &t = a.tiling;
    const int phase = C::phases - 1 - HALF;
    float *states = states_at(t, chunk, p), *g = field_at(a.g, step, p);
    typename C::unit d;
    C::set_constants(v, a, p.unit);
    C::get_gradients(d, states, count, dy, HALF == 0);
    if (HALF == 1)
        C::set_intermediate(d, sums_of<1>(t, HALF, p).of[0]);
    C::run_backward(v, d, phase);
    C::put_gradients(d, states, count);
    C::put_inputs(d, g, a.g.field, phase);
    if (a.dv.at && phase == 0)
        C::put_vectors(d, field_at(a.dv, step, p), a.dv.field);
    C::stage_inputs(d, g, a.g.field, staged_of<O>(t, (HALF + 1) % C::phases, p), phase);
}

template <class C, int O, int HALF>
GPU_CODE void backward_round(const struct persistent_args &a, const struct seat &s, const struct cells &cells,
                             const weight_registers &w, uint32_t chunk, uint32_t step, uint32_t round)
{
    const struct tiling &t = a.tiling;
    const int next = (HALF + 1) % C::phases;
    const uint32_t number = sizeof(typename operand_of<O>::number);
    typename C::unit v[TILING_CELLS];
    float dy[TILING_CELLS];
    clock_part(CLOCK_WAIT);
    clock_loads();
#pragma unroll
    for (int j = 0; j < TILING_CELLS; j++) {
        const struct spot p = spot_of(a, s, cells, j, chunk, step);
        dy[j] = p.part ? get_values<C>(a, chunk, step, p, v[j], C::phases - 1 - HALF) : 0;
    }
    if (round > 0)
        wait_for_operand(a, s, chunk, round, HALF, number);
    if (threadIdx.x == 0 && t.algorithm != ALGORITHM_GRID)
        expect_operand(t, chunk, round + 1, next, number);
    clock_part(CLOCK_PRODUCT);
    if (round > 0)
        multiply<O>(t, HALF, w, operand_at(t, chunk, round), (float *)(dynamic_shared() + t.at_sums));
    __syncthreads();
    clock_part(CLOCK_CELL);
    clock_loaded();
    clock_instructions(INSTRUCTIONS_ROUND);
#pragma unroll
    for (int j = 0; j < TILING_CELLS; j++) {
        const struct spot p = spot_of(a, s, cells, j, chunk, step);
        if (HALF == 0 && p.real)
            receive_gradient(a, chunk, a.direction ? step - 1 : step + 1, round > 0, cells.count, p);
        if (p.part)
            backward_cell<C, O, HALF>(a, chunk, step, cells.count, p, v[j], dy[j]);
        else if (p.index < cells.count)
            for (uint32_t q = 0; q < t.product[next].fields; q++) stage_at(staged_of<O>(t, next, p), q, 0);
        if (p.real && !p.part && HALF == 0)
            C::clear_vectors(a, step, p);
    }
    __syncthreads();
    clock_part(CLOCK_SEND);
    send_operand(a, s, chunk, round + 1, next, number);
}

template <class C, int O>
GPU_CODE void backward_step(const struct persistent_args &a, const struct seat &s, const struct cells &cells,
                            const weight_registers &w, uint32_t chunk, uint32_t i)
{
    const struct tiling &t = a.tiling;
    const uint32_t longest = lengths_of(t)[t.chunks * t.chunk_rows + chunk];
    const uint32_t step = a.direction ? i : a.steps - 1 - i;
    if (step >= longest) {
#pragma unroll
        for (int j = 0; j < TILING_CELLS; j++) {
            const struct spot p = spot_of(a, s, cells, j, chunk, step);
            if (p.real)
                C::clear_vectors(a, step, p);
        }
        return;
    }
    const uint32_t round = C::phases * (a.direction ? i : i - (a.steps - longest));
    backward_round<C, O, 0>(a, s, cells, w, chunk, step, round);
    if constexpr (C::phases == 2)
        backward_round<C, O, 1>(a, s, cells, w, chunk, step, round + 1);
}

/* The gradients of the states that entered the first step. */
template <class C, int O>
GPU_CODE void leave_gradients(const struct persistent_args &a, const struct seat &s, const struct cells &cells,
                              const weight_registers &w, uint32_t chunk)
{
    const struct tiling &t = a.tiling;
    const uint32_t longest = lengths_of(t)[t.chunks * t.chunk_rows + chunk], round = C::phases * longest;
    if (round > 0) {
        wait_for_operand(a, s, chunk, round, 0, sizeof(typename operand_of<O>::number));
        multiply<O>(t, 0, w, operand_at(t, chunk, round), (float *)(dynamic_shared() + t.at_sums));
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILING_CELLS; j++) {
        const struct spot p = spot_of(a, s, cells, j, chunk, 0);
        if (!p.real)
            continue;
        receive_gradient(a, chunk, a.direction ? longest - 1 : 0, round > 0, cells.count, p);
#pragma unroll 1
        for (uint32_t i = 0; i < t.states; i++) {
            float *to = state_of(a.dh0, a.ds0, i, 0, p);
            const float d = states_at(t, chunk, p)[i * cells.count];
            if (to)
                *to = (i ? a.add_ds0 : a.add_dh0) ? *to + d : d;
        }
    }
    __syncthreads();
}

template <class C, int O> GPU_CODE void backward_walk(const struct persistent_args &a)
{
    const struct tiling &t = a.tiling;
    const struct seat s = take_seat(a);
    const struct cells cells = cells_of(t);
    const bool member = s.rank < t.members;
    weight_registers w;
    if (member)
        settle<O, true>(a, s, cells, a.dhn, a.dsn, w);
    begin_exchange(t);
    for (uint32_t i = 0; member && i < a.steps; i++)
        for (uint32_t c = 0; c < t.chunks; c++) backward_step<C, O>(a, s, cells, w, c, i);
    for (uint32_t c = 0; member && c < t.chunks; c++) leave_gradients<C, O>(a, s, cells, w, c);
    end_exchange(t);
}

#endif
