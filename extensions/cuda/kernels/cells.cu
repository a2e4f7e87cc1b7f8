/* The pointwise part of a step for every cell, one thread for each unit of a row. Products run between the launches
 * (gpu_rnn_portable.c). Cells come from the table; none is named here. */
#include "extensions/cuda/kernels/common.cuh"
#include "nn/cells/cell.h"
#include "extensions/gpu/kernels/cells.inc"

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

/* The first state and the others may be in different arrays. */
GPU_CODE struct cell_step backward_step(const struct cell_backward_args &a, size_t row, size_t states, bool last)
{
    const float *s0 = states > 1 ? entered(MEMORY a, 1, row) : a.zeros;
    const size_t s_field =
        a.before >= 0 && row_lasts(MEMORY a.ends, (size_t)a.before, row) ? a.s_before.field : a.s0.field;
    struct cell_step s = {};
    s.width = a.units;
    s.value.saved = s.gradient.in = row_fields(a.g, row);
    s.value.first_state = fields{(void *)entered(MEMORY a, 0, row), 0, 0};
    s.value.first_next = fields{a.y.at + row * a.y.row, 0, 0};
    s.value.state = fields{(void *)s0, s0 == a.zeros ? 0 : s_field, 0};
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

#define CELLS_WITHOUT_CHOICE
#define CELL_USER "extensions/cuda/kernels/cell_gpu.h"
#include "nn/cells/cell_table.h"
