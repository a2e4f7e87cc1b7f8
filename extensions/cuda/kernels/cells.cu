/* The pointwise part of a step for every cell, one thread for each unit of a row, and kernels that move states
 * between steps. Products run between the launches (gpu_rnn_portable.c). Cells come from the table; none is named
 * here. */
#include "extensions/cuda/kernels/rows.h"
#include "nn/cells/cell.h"
#include "nn/vector/v_cuda.h"

/* ---- states ------------------------------------------------------------------------------- */

GPU_CODE float *field_at(const struct gpu_fields &f, size_t field, size_t row, size_t unit)
{
    return f.at + field * f.field + row * f.row + unit;
}

GPU_CODE void keep_lowp(const struct gpu_lowp &to, size_t field, size_t row, size_t unit, float number)
{
    if (to.at)
        to.at[field * to.field + row * to.row + unit] = to.is_fp16 ? to_fp16(number) : to_bf16(number);
}

/* Finds the state and position of a thread: the first state is `width` wide, the others `units`. */
GPU_CODE bool find_state(const struct states_args &a, size_t *state, size_t *row, size_t *unit)
{
    size_t i = thread_number(), first = (size_t)a.rows * a.width;
    *state = 0;
    if (i < first) {
        *row = i / a.width;
        *unit = i % a.width;
        return true;
    }
    i -= first;
    *state = 1 + i / ((size_t)a.rows * a.units);
    *row = i / a.units % a.rows;
    *unit = i % a.units;
    return *state <= a.others;
}

GPU_CODE bool forgotten(const struct gpu_ends &ends, const struct gpu_resets &resets, int64_t t, size_t row)
{
    return t >= 0 && row_resets(resets, (size_t)t, row) && row_lasts(ends, (size_t)t, row);
}

KERNEL(gpu_states_enter, struct states_args)
{
    size_t state, row, unit;
    if (!find_state(a, &state, &row, &unit))
        return;
    const struct gpu_fields &from = state ? a.rest : a.first;
    bool zero = !from.at || forgotten(a.ends, a.resets, a.forget, row);
    const float number = zero ? 0 : *field_at(from, state ? state - 1 : 0, row, unit);
    *field_at(a.plane, state, row, unit) = number;
    if (state == 0)
        keep_lowp(a.lowp, 0, row, unit, number);
}

KERNEL(gpu_states_leave, struct states_args)
{
    size_t state, row, unit;
    if (!find_state(a, &state, &row, &unit))
        return;
    const struct gpu_fields &to = state ? a.rest : a.first;
    if (!to.at)
        return;
    bool zero = forgotten(a.ends, a.resets, a.forget, row);
    float number = zero ? 0 : *field_at(a.plane, state, row, unit);
    float *at = field_at(to, state ? state - 1 : 0, row, unit);
    *at = a.adds[state > 0] ? *at + number : number;
}

/* ---- projection --------------------------------------------------------------------------- */

KERNEL(gpu_projected, struct projected_args)
{
    size_t i = thread_number(), row = i / a.width, unit = i % a.width;
    if (row >= a.rows)
        return;
    bool part = row_lasts(a.ends, a.t, row);
    float h = *field_at(part ? a.made : a.state, 0, row, unit);
    *field_at(a.y, 0, row, unit) = part ? h : 0;
    const float next = forgotten(a.ends, a.resets, a.next_t, row) ? 0 : h;
    *field_at(a.next, 0, row, unit) = next;
    keep_lowp(a.next_lowp, 0, row, unit, next);
}

KERNEL(gpu_receive, struct receive_args)
{
    size_t i = thread_number(), row = i / a.width, unit = i % a.width;
    if (row >= a.rows)
        return;
    float *whole = field_at(a.whole, 0, row, unit), d = *whole;
    if (a.done >= 0 && row_lasts(a.ends, (size_t)a.done, row))
        d = row_resets(a.resets, (size_t)a.done, row) ? 0 : *field_at(a.made, 0, row, unit);
    bool part = !a.ends_here && row_lasts(a.ends, a.t, row);
    if (part && a.dy.at)
        d += *field_at(a.dy, 0, row, unit);
    *whole = d;
    keep_lowp(a.whole_lowp, 0, row, unit, d);
    if (a.dp.at)
        *field_at(a.dp, 0, row, unit) = part ? d : 0;
}

/* ---- cells -------------------------------------------------------------------------------- */

GPU_CODE struct fields row_fields(const struct gpu_fields &f, size_t row)
{
    return f.at ? fields{f.at + row * f.row, f.field, 0} : fields{NULL, 0, 0};
}

GPU_CODE struct cell_step forward_step(const struct cell_forward_args &a, size_t row)
{
    struct cell_step s = {};
    s.width = a.units;
    s.value.in = s.value.saved = row_fields(a.g, row);
    s.value.state = row_fields(a.state, row);
    s.value.next = row_fields(a.next, row);
    s.value.intermediate = row_fields(a.intermediate, row);
    s.value.vector = fields{(void *)a.vector, a.vector_field, 0};
    s.options = a.options;
    return s;
}

/* Rows that take no part pass their states on. Their outputs and the values that backward would read are zeros. */
GPU_CODE void end_forward(const struct cell_forward_args &a, size_t row, size_t unit, bool part, size_t states)
{
    bool forget = forgotten(a.ends, a.resets, a.next_t, row);
    for (size_t s = 0; s < states; s++) {
        float *next = field_at(a.next, s, row, unit);
        float out = part ? *next : *field_at(a.state, s, row, unit);
        const struct gpu_fields &copy = s ? a.s : a.y;
        if (copy.at)
            *field_at(copy, s ? s - 1 : 0, row, unit) = part ? out : 0;
        if (s == 0)
            keep_lowp(a.next_lowp, 0, row, unit, a.projected ? (part ? out : 0) : forget ? 0 : out);
        if (s == 0 && a.projected)
            continue;
        if (!part || forget)
            *next = forget ? 0 : out;
    }
}

GPU_CODE void clear_fields(const struct gpu_fields &f, size_t fields, size_t row, size_t unit)
{
    for (size_t i = 0; f.at && i < fields; i++) *field_at(f, i, row, unit) = 0;
}

/* Keeps copies of the gradients of the first `fields` inputs for the next products. */
GPU_CODE void keep_gradients(const struct cell_backward_args &a, size_t fields, size_t row, size_t unit, bool part)
{
    for (size_t i = 0; a.g_lowp.at && i < fields; i++)
        keep_lowp(a.g_lowp, i, row, unit, part ? *field_at(a.g, i, row, unit) : 0);
}

GPU_CODE const float *entering(const struct cell_backward_args &a, size_t state, size_t row, bool zero)
{
    const struct gpu_fields &before = state ? a.s_before : a.y_before, &first = state ? a.s0 : a.h0;
    const size_t field = state ? state - 1 : 0;
    if (zero)
        return NULL;
    if (a.before >= 0 && row_lasts(a.ends, (size_t)a.before, row))
        return field_at(before, field, row, 0);
    return (state == 0 && a.projected) || !first.at ? NULL : field_at(first, field, row, 0);
}

/* The first state and the others may be in different arrays. */
GPU_CODE struct cell_step backward_step(const struct cell_backward_args &a, size_t row, size_t states, bool last)
{
    const bool zero = row_resets(a.resets, a.t, row);
    const float *h = entering(a, 0, row, zero), *s0 = states > 1 ? entering(a, 1, row, zero) : NULL;
    const size_t s_field = a.before >= 0 && row_lasts(a.ends, (size_t)a.before, row) ? a.s_before.field : a.s0.field;
    struct cell_step s = {};
    s.width = a.units;
    s.value.saved = s.gradient.in = row_fields(a.g, row);
    s.value.first_state = fields{(void *)(h ? h : a.zeros), 0, 0};
    s.value.first_next = fields{a.y.at + row * a.y.row, 0, 0};
    s.value.state = fields{(void *)(s0 ? s0 : a.zeros), s0 ? s_field : 0, 0};
    s.value.next = row_fields(a.s, row);
    s.value.vector = fields{(void *)a.vector, a.vector_field, 0};
    s.gradient.state = s.gradient.next = row_fields(a.d_state, row);
    s.gradient.intermediate = row_fields(a.d_intermediate, row);
    s.gradient.vector = row_fields(a.dv, row);
    if (a.dy && !a.projected)
        s.gradient.first_next = fields{(void *)(a.dy + row * a.dy_row), 0, 0};
    s.options = a.options;
    s.sets_state = last;
    return s;
}

/* Clears the gradients of rows that were reset in the step processed last. */
GPU_CODE void forget_gradients(const struct cell_backward_args &a, size_t row, size_t unit, size_t states)
{
    if (!forgotten(a.ends, a.resets, a.done, row))
        return;
    for (size_t s = a.projected ? 1 : 0; s < states; s++) *field_at(a.d_state, s, row, unit) = 0;
}

#define CELLS_WITHOUT_CHOICE
#define CELL_USER "extensions/cuda/kernels/cell_gpu.h"
#include "nn/cells/cell_table.h"
