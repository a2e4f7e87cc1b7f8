/* Activations of dense layers: elementwise y = f(x), or the softmax of a row; and their backward from the input.
 * Formulas are in nn/vector/v_chosen.h. Included after loss_kernels.h, whose row sums softmax uses. */
#include "nn/vector/v_chosen.h"

static void softmax_row(const real *x, real *y, size_t n)
{
    copy_numbers(y, x, n);
    V inverse = v_const(1 / exponentials(y, n, largest(y, n)));
    for (size_t i = 0; i < n; i += V_WIDTH) store_up_to(y + i, v_mul(load_up_to(y + i, n - i), inverse), n - i);
}

static void activate_row(const struct activation *f, const real *x, real *y, size_t n)
{
    if (f->kind == ACTIVATION_SOFTMAX) {
        softmax_row(x, y, n);
        return;
    }
    V alpha = v_const(f->alpha), beta = v_const(f->beta);
    for (size_t i = 0; i < n; i += V_WIDTH)
        store_up_to(y + i, v_chosen(f->kind, load_up_to(x + i, n - i), alpha, beta), n - i);
}

/* dx (+)= dy f'(x); for softmax y (dy - sum of y dy), in rising columns. y is scratch for a row. */
static void activate_back_row(const struct activation *f, const real *x, const real *dy, real *y, real *dx, size_t n,
                              bool adds)
{
    V alpha = v_const(f->alpha), beta = v_const(f->beta), dot_v = v_const(0);
    bool softmax = f->kind == ACTIVATION_SOFTMAX;
    activate_row(f, x, y, n);
    if (softmax) {
        real dot = 0;
        for (size_t i = 0; i < n; i++) dot += y[i] * dy[i];
        dot_v = v_const(dot);
    }
    for (size_t i = 0; i < n; i += V_WIDTH) {
        V value = load_up_to(y + i, n - i), d = load_up_to(dy + i, n - i);
        d = softmax ? v_mul(value, v_sub(d, dot_v)) : v_mul(d, v_chosen_slope(f->kind, value, alpha, beta));
        store_up_to(dx + i, adds ? v_add(load_up_to(dx + i, n - i), d) : d, n - i);
    }
}

/* Activates a row outside of a plan; x may be y. */
static void activate(const struct activation *f, const void *x, void *y, size_t n) { activate_row(f, x, y, n); }

static unroll_status kernel_activate(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *x = &call->view[ACTIVATE_X], *y = &call->view[ACTIVATE_Y];
    const size_t rows = tensor_rows(x);
    const struct range row = my_share(rows, me, team, 1);
    for (size_t r = row.first; r < row.end; r++, comm_poll())
        activate_row(&call->activation, tensor_row(x, r), tensor_row(y, r), tensor_width(x));
    count_slices(work, call, ACTIVATE_X, row, rows);
    count_slices(work, call, ACTIVATE_Y, row, rows);
    return UNROLL_OK;
}

/* The value is recomputed into x, which is not read afterwards. */
static unroll_status kernel_activate_back(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *x = &call->view[ACTIVATE_BACK_X], *dy = &call->view[ACTIVATE_BACK_DY];
    const struct tensor *dx = &call->view[ACTIVATE_BACK_DX];
    const bool adds = call->view[ACTIVATE_BACK_DX].access == ADD;
    const size_t rows = tensor_rows(x);
    const struct range row = my_share(rows, me, team, 1);
    for (size_t r = row.first; r < row.end; r++, comm_poll())
        activate_back_row(&call->activation, tensor_row(x, r), tensor_row(dy, r), tensor_row(x, r), tensor_row(dx, r),
                          tensor_width(x), adds);
    count_slices(work, call, ACTIVATE_BACK_X, row, rows);
    count_slices(work, call, ACTIVATE_BACK_DY, row, rows);
    count_slices(work, call, ACTIVATE_BACK_DX, row, rows);
    return UNROLL_OK;
}
