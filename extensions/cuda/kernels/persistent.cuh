/* The persistent recurrences: the work of blocks from the first step to the last, for any cell (persistent_cell.cuh)
 * and operand. The same source runs in clusters and over a grid; tiling.h describes the division of work. The
 * products over all steps (inputs, gradients of weights) are other operations of the plan.
 *
 * A round requests the cells' inputs, waits for the operand, and multiplies it; the sums of all warps go to shared
 * memory. One barrier is enough, because the next round's sums go to another buffer. Each thread then computes its
 * cells, and its warp sends their part of the next operand. The step's remaining results are stored last. Sums are
 * always added in the same order, so every run has the same bits. Rows that take no part in a step keep their
 * states. States stay in shared memory, as floats. */
#ifndef DEVICE_CUDA_PERSISTENT_CUH
#define DEVICE_CUDA_PERSISTENT_CUH
#include "extensions/cuda/kernels/persistent_exchange.cuh"

/* ---- cells of a thread ------------------------------------------------------------------- */

/* A thread's cell in a step. */
struct spot {
    uint32_t n, u, row, unit; /* n, u: in the block; row, unit: in the operation */
    bool is, real, part;      /* exists in the block; exists in the operation; its row takes part */
};

GPU_CODE int32_t *lengths_of(const struct tiling &t) /* of the operation's rows; then the maximum of each chunk */
{
    return (int32_t *)(dynamic_shared() + t.at_lengths);
}

GPU_CODE struct spot spot_of(const struct persistent_args &a, const struct seat &s, const struct cell_place &c,
                             uint32_t chunk, uint32_t step)
{
    const struct tiling &t = a.tiling;
    struct spot p;
    p.n = c.n, p.u = c.u;
    p.row = s.row0 + chunk * t.chunk_rows + p.n;
    p.unit = s.unit0 + p.u;
    p.is = c.is;
    p.real = c.is && p.row < a.rows && p.unit < a.units;
    p.part = p.real && (int32_t)step < lengths_of(t)[chunk * t.chunk_rows + p.n];
    return p;
}

GPU_CODE float *field_at(const struct persistent_view &f, uint32_t step, const struct spot &p)
{
    return (float *)((char *)f.at + (uint64_t)step * (f.step * (uint32_t)sizeof(float))) + (p.row * f.row + p.unit);
}

GPU_CODE uint32_t cells_of(const struct tiling &t) { return t.chunk_rows * t.units; }

/* States, or their gradients: state s of a cell is at [s * stride]. */
GPU_CODE float *states_at(const struct tiling &t, uint32_t chunk)
{
    return (float *)(dynamic_shared() + t.at_states) + chunk * t.states * cells_of(t) + threadIdx.x;
}

GPU_CODE bool row_is_reset(const struct persistent_args &a, uint32_t step, uint32_t row)
{
    return a.reset && a.reset[(size_t)step * a.reset_row + row];
}

/* Returns a copy: choosing between addresses would keep the arguments out of registers and constants. */
GPU_CODE struct persistent_view either(bool first, const struct persistent_view &a, const struct persistent_view &b)
{
    return {first ? a.at : b.at, first ? a.step : b.step, first ? a.row : b.row, first ? a.field : b.field, 0};
}

/* Returns the address of state s: `h` has the first, `others` the rest. */
GPU_CODE float *state_of(const struct persistent_view &h, const struct persistent_view &others, uint32_t s,
                         uint32_t step, const struct spot &p)
{
    const struct persistent_view f = either(s != 0, others, h);
    return f.at ? field_at(f, step, p) + (s ? (size_t)(s - 1) * f.field : 0) : NULL;
}

/* Rounds alternate between two sum buffers. */
GPU_CODE float *sums_at(const struct tiling &t, uint32_t turn)
{
    return (float *)(dynamic_shared() + t.at_sums + turn % 2 * t.sums_buffer);
}

/* The sums of a cell, one for each field of the product, contiguous. */
template <int FIELDS> struct __align__(FIELDS == 4 ? 16 : 4) sums {
    float of[FIELDS];
};

template <int FIELDS> GPU_CODE struct sums<FIELDS> load_sums(const float *at)
{
    struct sums<FIELDS> s;
    if constexpr (FIELDS == 4) {
        *(float4 *)s.of = *(const float4 *)at;
    } else {
#pragma unroll
        for (int q = 0; q < FIELDS; q++) s.of[q] = at[q];
    }
    return s;
}

template <int FIELDS> GPU_CODE void add_to(struct sums<FIELDS> &s, const struct sums<FIELDS> &other)
{
#pragma unroll
    for (int q = 0; q < FIELDS; q++) s.of[q] += other.of[q];
}

/* Adds the sums of all splits, in order. */
template <int FIELDS>
GPU_CODE struct sums<FIELDS> sums_of(const struct tiling &t, int phase, const struct cell_place &c, uint32_t turn)
{
    const struct tiling_product &m = t.product[phase];
    const float *at = (const float *)((const char *)sums_at(t, turn) + c.sums[phase]);
    const uint32_t split = t.chunk_rows * m.sums_row;
    struct sums<FIELDS> s = load_sums<FIELDS>(at);
    clock_shared(FIELDS * m.splits, (m.splits + 3) / 4);
    clock_instructions(INSTRUCTIONS_SPLIT * m.splits);
    uint32_t left = m.splits - 1;
#pragma unroll 1
    for (; left >= 3; left -= 3, at += 3 * split) {
        const struct sums<FIELDS> x = load_sums<FIELDS>(at + split), y = load_sums<FIELDS>(at + 2 * split),
                                  z = load_sums<FIELDS>(at + 3 * split);
        add_to(s, x), add_to(s, y), add_to(s, z);
    }
#pragma unroll 1
    for (; left > 0; left--) {
        at += split;
        add_to(s, load_sums<FIELDS>(at));
    }
    return s;
}

template <int FIELDS>
GPU_CODE struct sums<FIELDS> biased_sums(const struct tiling &t, int phase, const struct cell_place &c,
                                         uint32_t first_bias, uint32_t turn)
{
    const float *bias = (const float *)(dynamic_shared() + t.at_bias) + first_bias * t.units + c.u * FIELDS;
    struct sums<FIELDS> s = sums_of<FIELDS>(t, phase, c, turn);
    clock_shared(FIELDS, 0);
    add_to(s, load_sums<FIELDS>(bias));
    return s;
}

/* A cell's part of the next operand, field by field. */
template <int O> struct staged {
    typename operand_of<O>::number *at;
    uint32_t field;
};

template <int O> GPU_CODE void stage_at(const struct staged<O> &s, uint32_t q, float value)
{
    s.at[q * s.field] = operand_of<O>::make(value);
}

template <int O> GPU_CODE struct staged<O> staged_of(const struct tiling &t, int phase, const struct cell_place &c)
{
    typedef typename operand_of<O>::number number;
    return {(number *)(dynamic_shared() + t.at_staged + c.staged[phase]) + c.lane, t.units};
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
    uint4 *at = (uint4 *)(dynamic_shared() + t.at_operand), *end = (uint4 *)(dynamic_shared() + t.at_sums);
#pragma unroll 1
    for (at += threadIdx.x; at < end; at += PERSISTENT_THREADS) *at = make_uint4(0, 0, 0, 0);
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

/* Loads the states or gradients that a walk begins with. */
GPU_CODE void load_states(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell,
                          const struct persistent_view &h, const struct persistent_view &others)
{
    const struct tiling &t = a.tiling;
#pragma unroll 1
    for (uint32_t c = 0; c < t.chunks; c++) {
        const struct spot p = spot_of(a, s, cell, c, 0);
#pragma unroll 1
        for (uint32_t i = 0; i < t.states && p.is; i++) {
            const float *from = p.real ? state_of(h, others, i, 0, p) : NULL;
            states_at(t, c)[i * cells_of(t)] = from ? *from : 0;
        }
    }
}

/* Loads the bias of the gates of a phase, unit by unit. */
template <int PHASE, int FIELDS, int FIRST>
GPU_CODE void load_bias_of(const struct persistent_args &a, const struct seat &s)
{
    const struct tiling &t = a.tiling;
    float *bias = (float *)(dynamic_shared() + t.at_bias) + FIRST * t.units;
#pragma unroll
    for (uint32_t q = 0; q < FIELDS; q++)
#pragma unroll 1
        for (uint32_t u = threadIdx.x; u < t.units; u += PERSISTENT_THREADS)
            bias[u * FIELDS + q] =
                a.bias && s.unit0 + u < a.units ? a.bias[a.gate[PHASE][q] * a.units + s.unit0 + u] : 0;
}

/* ---- forward ----------------------------------------------------------------------------- */

/* Writes zeros for a row that takes no part: its outputs, and what backward would read. */
template <class C> GPU_CODE void skip_row(const struct persistent_args &a, uint32_t step, const struct spot &p)
{
    if (a.y.at)
        *field_at(a.y, step, p) = 0;
    for (uint32_t i = 1; a.s.at && i < C::states; i++) field_at(a.s, step, p)[(size_t)(i - 1) * a.s.field] = 0;
    for (uint32_t i = 0; a.intermediate.at && i + 1 <= C::intermediates; i++)
        field_at(a.intermediate, step, p)[(size_t)i * a.intermediate.field] = 0;
    for (uint32_t i = 0; a.trained && i < C::inputs; i++) field_at(a.g, step, p)[(size_t)i * a.g.field] = 0;
}

/* A thread's data of a cell in a round. */
template <class C> struct held {
    struct spot p;
    typename C::unit v;
    float gives;  /* value for the next operand */
    bool forgets; /* its row is reset in the next step */
};

/* Loads everything that the cell reads except its sums, before the operand arrives. */
template <class C, int PHASE>
GPU_CODE void hold_cell(const struct persistent_args &a, uint32_t chunk, uint32_t step, uint32_t count,
                        struct held<C> &c)
{
    const struct tiling &t = a.tiling;
    const struct spot &p = c.p;
    const uint32_t next = a.direction ? step - 1 : step + 1;
    c.gives = 0;
    c.forgets = p.real && next < a.steps && row_is_reset(a, next, p.row) &&
                (int32_t)next < lengths_of(t)[chunk * t.chunk_rows + p.n];
    if (p.part) {
        C::get_inputs(c.v, field_at(a.g, step, p), a.g.field, PHASE);
        C::get_states(c.v, states_at(t, chunk), count);
        if (row_is_reset(a, step, p.row))
            C::forget(c.v);
        C::set_constants(c.v, a, p.unit);
    } else if (p.is && PHASE + 1 == C::phases) {
        c.gives = states_at(t, chunk)[0];
    }
}

/* Computes the cell of a row that takes part, and its value for the next operand: its intermediate, or h. */
template <class C, int PHASE>
GPU_CODE void forward_cell(const struct persistent_args &a, const struct cell_place &cell, uint32_t step, uint32_t turn,
                           struct held<C> &c)
{
    enum { FIELDS = PHASE ? C::fields_intermediate : C::fields_h };
    const struct sums<FIELDS> sums = biased_sums<FIELDS>(a.tiling, PHASE, cell, PHASE * C::fields_h, turn);
    C::add_sums(c.v, sums, PHASE);
    C::run_forward(c.v, PHASE);
    C::keep_sums(sums, field_at(a.g, step, c.p), a.g.field, PHASE);
    c.gives = PHASE + 1 < C::phases ? C::intermediate(c.v) : C::next_h(c.v);
}

/* Stores the remaining results, after sending. */
template <class C, int PHASE>
GPU_CODE void leave_cell(const struct persistent_args &a, uint32_t chunk, uint32_t step, uint32_t count,
                         struct held<C> &c)
{
    const struct spot &p = c.p;
    float *states = states_at(a.tiling, chunk);
    if (a.trained)
        C::put_saved(c.v, field_at(a.g, step, p), a.g.field, PHASE);
    if (PHASE + 1 < C::phases) {
        if (a.intermediate.at)
            C::put_intermediates(c.v, field_at(a.intermediate, step, p), a.intermediate.field);
        return;
    }
    C::put_next(c.v, states, count);
    if (a.y.at)
        *field_at(a.y, step, p) = c.gives;
    for (uint32_t i = 1; a.s.at && i < C::states; i++)
        field_at(a.s, step, p)[(size_t)(i - 1) * a.s.field] = states[i * count];
}

/* Runs one phase of a forward step for a chunk: receives the operand, multiplies, applies the cell, sends the next
 * one. */
template <class C, int O, int PHASE>
GPU_CODE void forward_round(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell,
                            const struct parts &parts, const weight_registers &w, uint32_t chunk, uint32_t step,
                            uint32_t round, uint32_t turn, bool last)
{
    enum { NEXT = (PHASE + 1) % C::phases };
    const struct tiling &t = a.tiling;
    const uint32_t number = sizeof(typename operand_of<O>::number);
    struct held<C> held;
    struct packets_ahead ahead;
    clock_part(CLOCK_WAIT);
    clock_loads();
    held.p = spot_of(a, s, cell, chunk, step);
    const struct operand_source from = find_operand(a, s, chunk, round, PHASE, number);
    clock_instructions(cell.is ? INSTRUCTIONS_BEFORE : 0);
    request_ahead<O>(t, parts, PHASE, from, ahead);
    hold_cell<C, PHASE>(a, chunk, step, cells_of(t), held);
    clock_instructions(cell.is ? INSTRUCTIONS_HOLD : 0);
    receive_operand(t, chunk, round, round);
    if (threadIdx.x == 0 && !last && t.algorithm != ALGORITHM_GRID)
        expect_operand(t, chunk, round + 1, NEXT, number);
    clock_part(CLOCK_PRODUCT);
    multiply<O, C::phases, PHASE>(t, parts, w, from, ahead, sums_at(t, turn));
    __syncthreads();
    clock_part(CLOCK_CELL);
    clock_loaded();
    clock_instructions(cell.is ? INSTRUCTIONS_CELL : 0);
    if (held.p.part)
        forward_cell<C, PHASE>(a, cell, step, turn, held);
    if (cell.is && !last)
        stage_at(staged_of<O>(t, NEXT, cell), 0, PHASE + 1 == C::phases && held.forgets ? 0 : held.gives);
    clock_part(CLOCK_SEND);
    if (!last)
        send_operand(a, s, cell, exchanged_at(t, s, chunk, made_here(round) + 1), chunk, round + 1, NEXT, number);
    clock_part(CLOCK_AFTER);
    clock_instructions(cell.is ? INSTRUCTIONS_AFTER : 0);
    if (held.p.part)
        leave_cell<C, PHASE>(a, chunk, step, cells_of(t), held);
    else if (held.p.real && PHASE == 0)
        skip_row<C>(a, step, held.p);
    empty_packets(a, s, cell, chunk, round, C::phases, number);
}

template <class C, int O>
GPU_CODE void forward_step(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell,
                           const struct parts &parts, const weight_registers &w, uint32_t chunk, uint32_t i,
                           uint32_t &turn)
{
    const struct tiling &t = a.tiling;
    const uint32_t longest = lengths_of(t)[t.chunks * t.chunk_rows + chunk];
    const uint32_t step = a.direction ? a.steps - 1 - i : i;
    if (step >= longest) {
        const struct spot p = spot_of(a, s, cell, chunk, step);
        if (p.real)
            skip_row<C>(a, step, p);
        return;
    }
    const uint32_t round = C::phases * (a.direction ? i - (a.steps - longest) : i);
    const bool last = round + C::phases == C::phases * longest;
    forward_round<C, O, 0>(a, s, cell, parts, w, chunk, step, round, turn++, last && C::phases == 1);
    if constexpr (C::phases == 2)
        forward_round<C, O, 1>(a, s, cell, parts, w, chunk, step, round + 1, turn++, last);
}

GPU_CODE void leave_states(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell)
{
    const struct tiling &t = a.tiling;
#pragma unroll 1
    for (uint32_t c = 0; c < t.chunks; c++) {
        const struct spot p = spot_of(a, s, cell, c, 0);
#pragma unroll 1
        for (uint32_t i = 0; p.real && i < t.states; i++) {
            float *to = state_of(a.hn, a.sn, i, 0, p);
            if (to)
                *to = states_at(t, c)[i * cells_of(t)];
        }
    }
}

/* Initializes a block: its tables, lengths, first states (or their gradients), and weights. */
template <int O, bool BACK, int PHASES>
GPU_CODE void settle(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell,
                     const struct persistent_view &h, const struct persistent_view &others, const struct parts &parts,
                     weight_registers &w)
{
    clear_operands(a.tiling);
    if (threadIdx.x == 0)
        begin_notes(a, sizeof(typename operand_of<O>::number));
    load_lengths(a, s);
    load_states(a, s, cell, h, others);
    load_weights<O, BACK, PHASES>(a, parts, s.unit0, w);
}

/* Sends the first operand of a chunk: h0, or zeros for rows that the first step resets. */
template <class C, int O>
GPU_CODE void send_first(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell,
                         uint32_t chunk)
{
    const struct tiling &t = a.tiling;
    const uint32_t number = sizeof(typename operand_of<O>::number);
    const uint32_t longest = lengths_of(t)[t.chunks * t.chunk_rows + chunk], first = a.direction ? longest - 1 : 0;
    if (longest == 0)
        return;
    const struct spot p = spot_of(a, s, cell, chunk, first);
    if (cell.is)
        stage_at(staged_of<O>(t, 0, cell), 0, p.part && row_is_reset(a, first, p.row) ? 0 : states_at(t, chunk)[0]);
    if (threadIdx.x == 0 && t.algorithm != ALGORITHM_GRID)
        expect_operand(t, chunk, 0, 0, number);
    send_operand(a, s, cell, exchanged_at(t, s, chunk, 0), chunk, 0, 0, number);
    __syncwarp();
}

/* Runs all forward steps of a block's seat. */
template <class C, int O> GPU_CODE void forward_walk(const struct persistent_args &a)
{
    const struct tiling &t = a.tiling;
    clock_part(CLOCK_SETUP);
    const struct seat s = take_seat(a);
    const struct cell_place cell = cell_place_of<C::phases>(t, s, sizeof(typename operand_of<O>::number));
    const bool member = s.rank < t.members;
    const struct parts parts = make_parts<C::phases>(t, sizeof(typename operand_of<O>::number));
    weight_registers w;
    if (member) {
        load_bias_of<0, C::fields_h, 0>(a, s);
        if constexpr (C::phases > 1)
            load_bias_of<1, C::fields_intermediate, C::fields_h>(a, s);
        settle<O, false, C::phases>(a, s, cell, a.h0, a.s0, parts, w);
    }
    begin_exchange(t);
    uint32_t turn = 0;
    for (uint32_t c = 0; member && c < t.chunks; c++) send_first<C, O>(a, s, cell, c);
    for (uint32_t i = 0; member && i < a.steps; i++)
        for (uint32_t c = 0; c < t.chunks; c++) forward_step<C, O>(a, s, cell, parts, w, c, i, turn);
    if (member)
        leave_states(a, s, cell);
    end_exchange(t);
    clock_print("forward", t.units, t.members, t.groups, t.chunks);
}

/* ---- backward ---------------------------------------------------------------------------- */

/* Loads what a cell's backward reads; returns the gradient of its output. */
template <class C>
GPU_CODE float get_values(const struct persistent_args &a, uint32_t chunk, uint32_t step, const struct spot &p,
                          typename C::unit &v, int phase)
{
    const uint32_t before = a.direction ? step + 1 : step - 1; /* in forward order */
    const bool inside = before < a.steps && (int32_t)before < lengths_of(a.tiling)[chunk * a.tiling.chunk_rows + p.n];
    const bool reset = row_is_reset(a, step, p.row);
    const struct persistent_view h = either(inside, a.y, a.h0), others = either(inside, a.s, a.s0);
    C::get_saved(v, field_at(a.g, step, p), a.g.field, phase);
    C::get_entering(v, h, others, inside ? before : 0, p, reset);
    C::get_leaving(v, a.y, a.s, step, p);
    return a.dy.at && phase == C::phases - 1 ? *field_at(a.dy, step, p) : 0;
}

/* Returns whether the row was reset in the step processed last, so that no gradient flows to earlier steps. */
GPU_CODE bool is_cut_off(const struct persistent_args &a, uint32_t chunk, uint32_t step, const struct spot &p)
{
    return row_is_reset(a, step, p.row) && (int32_t)step < lengths_of(a.tiling)[chunk * a.tiling.chunk_rows + p.n];
}

/* Completes the gradient of the states that leave a step: adds the product to that of h in shared memory. */
GPU_CODE void receive_gradient(const struct persistent_args &a, uint32_t chunk, uint32_t before, bool any,
                               const struct cell_place &cell, const struct spot &p, uint32_t turn)
{
    const struct tiling &t = a.tiling;
    float *d = states_at(t, chunk);
    if (!any)
        return;
    const bool cut = is_cut_off(a, chunk, before, p);
    d[0] = cut ? 0 : d[0] + sums_of<1>(t, 0, cell, turn).of[0];
#pragma unroll 1
    for (uint32_t i = 1; i < t.states && cut; i++) d[i * cells_of(t)] = 0;
}

template <class C, int O, int HALF>
GPU_CODE void backward_cell(const struct persistent_args &a, uint32_t chunk, uint32_t step, uint32_t count,
                            const struct cell_place &cell, const struct spot &p, typename C::unit &v,
                            typename C::unit &d, float dy, uint32_t turn)
{
    const struct tiling &t = a.tiling;
    const int phase = C::phases - 1 - HALF;
    C::set_constants(v, a, p.unit);
    C::get_gradients(d, states_at(t, chunk), count, dy, HALF == 0);
    if (HALF == 1)
        C::set_intermediate(d, sums_of<1>(t, HALF, cell, turn).of[0]);
    C::run_backward(v, d, phase);
    C::stage_inputs(d, field_at(a.g, step, p), a.g.field, staged_of<O>(t, (HALF + 1) % C::phases, cell), phase);
}

/* Stores the remaining results, after sending. */
template <class C, int HALF>
GPU_CODE void leave_gradient(const struct persistent_args &a, uint32_t chunk, uint32_t step, uint32_t count,
                             const struct spot &p, typename C::unit &d)
{
    const int phase = C::phases - 1 - HALF;
    C::put_gradients(d, states_at(a.tiling, chunk), count);
    C::put_inputs(d, field_at(a.g, step, p), a.g.field, phase);
    if (a.dv.at && phase == 0)
        C::put_vectors(d, field_at(a.dv, step, p), a.dv.field);
}

/* Runs one phase of a backward step for a chunk, like forward_round. */
template <class C, int O, int HALF>
GPU_CODE void backward_round(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell,
                             const struct parts &parts, const weight_registers &w, uint32_t chunk, uint32_t step,
                             uint32_t round, uint32_t turn)
{
    enum { NEXT = (HALF + 1) % C::phases };
    const struct tiling &t = a.tiling;
    const uint32_t number = sizeof(typename operand_of<O>::number);
    const uint32_t to = exchanged_at(t, s, chunk, round + 1);
    const struct operand_source from = find_operand(a, s, chunk, round, HALF, number);
    typename C::unit v, d;
    struct packets_ahead ahead;
    clock_part(CLOCK_WAIT);
    clock_loads();
    const struct spot p = spot_of(a, s, cell, chunk, step);
    clock_instructions(cell.is ? INSTRUCTIONS_BEFORE : 0);
    request_ahead<O>(t, parts, HALF, from, ahead);
    const float dy = p.part ? get_values<C>(a, chunk, step, p, v, C::phases - 1 - HALF) : 0;
    clock_instructions(cell.is ? INSTRUCTIONS_HOLD : 0);
    if (round > 0) {
        receive_operand(t, chunk, round, round - 1);
        clock_part(CLOCK_PRODUCT);
        multiply<O, C::phases, HALF>(t, parts, w, from, ahead, sums_at(t, turn));
    }
    if (threadIdx.x == 0 && t.algorithm != ALGORITHM_GRID)
        expect_operand(t, chunk, round + 1, NEXT, number);
    __syncthreads();
    clock_part(CLOCK_CELL);
    clock_loaded();
    clock_instructions(cell.is ? INSTRUCTIONS_CELL : 0);
    if (HALF == 0 && p.real)
        receive_gradient(a, chunk, a.direction ? step - 1 : step + 1, round > 0, cell, p, turn);
    if (p.part)
        backward_cell<C, O, HALF>(a, chunk, step, cells_of(t), cell, p, v, d, dy, turn);
    else if (cell.is)
        for (uint32_t q = 0; q < t.product[NEXT].fields; q++) stage_at(staged_of<O>(t, NEXT, cell), q, 0);
    clock_part(CLOCK_SEND);
    send_operand(a, s, cell, to, chunk, round + 1, NEXT, number);
    clock_part(CLOCK_AFTER);
    clock_instructions(cell.is ? INSTRUCTIONS_AFTER : 0);
    if (p.part)
        leave_gradient<C, HALF>(a, chunk, step, cells_of(t), p, d);
    else if (p.real && HALF == 0)
        C::clear_vectors(a, step, p);
    empty_packets(a, s, cell, chunk, round, C::phases, number);
}

template <class C, int O>
GPU_CODE void backward_step(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell,
                            const struct parts &parts, const weight_registers &w, uint32_t chunk, uint32_t i,
                            uint32_t &turn)
{
    const struct tiling &t = a.tiling;
    const uint32_t longest = lengths_of(t)[t.chunks * t.chunk_rows + chunk];
    const uint32_t step = a.direction ? i : a.steps - 1 - i;
    if (step >= longest) {
        const struct spot p = spot_of(a, s, cell, chunk, step);
        if (p.real)
            C::clear_vectors(a, step, p);
        return;
    }
    const uint32_t round = C::phases * (a.direction ? i : i - (a.steps - longest));
    backward_round<C, O, 0>(a, s, cell, parts, w, chunk, step, round, turn++);
    if constexpr (C::phases == 2)
        backward_round<C, O, 1>(a, s, cell, parts, w, chunk, step, round + 1, turn++);
}

/* Stores the gradients of the states that entered the first step. */
template <class C, int O>
GPU_CODE void leave_gradients(const struct persistent_args &a, const struct seat &s, const struct cell_place &cell,
                              const struct parts &parts, const weight_registers &w, uint32_t chunk, uint32_t turn)
{
    const struct tiling &t = a.tiling;
    const uint32_t longest = lengths_of(t)[t.chunks * t.chunk_rows + chunk], round = C::phases * longest;
    if (round > 0) {
        const uint32_t number = sizeof(typename operand_of<O>::number);
        const struct operand_source from = find_operand(a, s, chunk, round, 0, number);
        struct packets_ahead ahead;
        request_ahead<O>(t, parts, 0, from, ahead);
        receive_operand(t, chunk, round, round - 1);
        multiply<O, C::phases, 0>(t, parts, w, from, ahead, sums_at(t, turn));
    }
    __syncthreads();
    const struct spot p = spot_of(a, s, cell, chunk, 0);
    if (!p.real)
        return;
    receive_gradient(a, chunk, a.direction ? longest - 1 : 0, round > 0, cell, p, turn);
#pragma unroll 1
    for (uint32_t i = 0; i < t.states; i++) {
        float *to = state_of(a.dh0, a.ds0, i, 0, p);
        const float d = states_at(t, chunk)[i * cells_of(t)];
        if (to)
            *to = (i ? a.add_ds0 : a.add_dh0) ? *to + d : d;
    }
}

/* Runs all backward steps of a block's seat, then sends the gradients of the initial states. */
template <class C, int O> GPU_CODE void backward_walk(const struct persistent_args &a)
{
    const struct tiling &t = a.tiling;
    clock_part(CLOCK_SETUP);
    const struct seat s = take_seat(a);
    const struct cell_place cell = cell_place_of<C::phases>(t, s, sizeof(typename operand_of<O>::number));
    const bool member = s.rank < t.members;
    const struct parts parts = make_parts<C::phases>(t, sizeof(typename operand_of<O>::number));
    weight_registers w;
    if (member)
        settle<O, true, C::phases>(a, s, cell, a.dhn, a.dsn, parts, w);
    begin_exchange(t);
    uint32_t turn = 0;
    for (uint32_t i = 0; member && i < a.steps; i++)
        for (uint32_t c = 0; c < t.chunks; c++) backward_step<C, O>(a, s, cell, parts, w, c, i, turn);
    for (uint32_t c = 0; member && c < t.chunks; c++) leave_gradients<C, O>(a, s, cell, parts, w, c, turn++);
    end_exchange(t);
    clock_print("backward", t.units, t.members, t.groups, t.chunks);
}

#endif
