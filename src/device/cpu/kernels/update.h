/* The optimizer's step: updates weights and states from the sum of gradients, which is set to zero. */
#define OPTIMIZER_USER "device/cpu/kernels/update_rows.h"
#include "nn/optim/optim.h"
#include "nn/optim/optim_table.h"

_Static_assert(UPDATE_STATE + OPTIMIZER_STATES_MAX <= OP_VIEWS, "an update has more states than views");

typedef void update_row(const V *number, real scale, real *w, real *g, real *const *state, size_t n);

static update_row *const update_rows[] = {
#define OPTIMIZER_ROW(name) name##_row,
    ALL_OPTIMIZERS(OPTIMIZER_ROW)
#undef OPTIMIZER_ROW
};

/* Optimizers added at run time read their numbers in double. */
static void update_any(int choice, const double *made, const V *number, real scale, real *w, real *g,
                       real *const *state, size_t n)
{
    const struct optimizer *added = optimizer_at(choice);
    if (optimizer_is_compiled(choice))
        update_rows[choice](number, scale, w, g, state, n);
    else
        _Generic((real)0, float: added->row_f32, double: added->row_f64)(made, scale, w, g, state, n);
}

static void spread_numbers(const double *made, V number[OPTIMIZER_NUMBERS_MAX])
{
    for (int i = 0; i < OPTIMIZER_NUMBERS_MAX; i++) number[i] = v_const((v_element)made[i]);
}

static void update_outside(const struct outside_update *u)
{
    V number[OPTIMIZER_NUMBERS_MAX];
    real *state[OPTIMIZER_STATES_MAX] = {NULL};
    for (int k = 0; k < optimizer_at(u->optimizer)->states; k++) state[k] = u->state[k];
    spread_numbers(u->number, number);
    update_any(u->optimizer, u->number, number, (real)u->scale, u->w, u->g, state, u->count);
}

/* Applies the optimizer to a weight and clears its gradient. A scale of 0 skips the update. */
static unroll_status kernel_update(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *w = &call->view[UPDATE_W], *g = &call->view[UPDATE_GRAD];
    const double *made = (const double *)call->view[UPDATE_RUN].at + RATE_NUMBERS;
    const int states = optimizer_at(call->choice)->states;
    const struct tensor *norm = &call->view[UPDATE_NORM];
    V number[OPTIMIZER_NUMBERS_MAX];
    const double scale = optimizer_scale(norm->at, norm->count[0], *(const double *)call->view[UPDATE_WEIGHT].at,
                                         ((const double *)call->view[UPDATE_RUN].at)[RATE_CLIP]);
    const struct portion part = my_portion(tensor_rows(w), tensor_width(w), 16, me, team);
    const size_t column = part.column.first, n = part.column.end - column;
    spread_numbers(made, number);
    for (size_t row = part.row.first; row < part.row.end; row++, comm_poll()) {
        real *state[OPTIMIZER_STATES_MAX] = {NULL};
        for (int k = 0; k < states; k++) state[k] = (real *)tensor_row(&call->view[UPDATE_STATE + k], row) + column;
        real *gradient = (real *)tensor_row(g, row) + column;
        if (scale == 0)
            memset(gradient, 0, n * sizeof *gradient);
        else
            update_any(call->choice, made, number, (real)scale, (real *)tensor_row(w, row) + column, gradient, state,
                       n);
    }
    for (int slot = UPDATE_W; slot < UPDATE_STATE + states; slot++)
        if (slot <= UPDATE_GRAD || slot >= UPDATE_STATE)
            count_slices(work, call, slot, part.by_rows ? part.row : part.column,
                         part.by_rows ? part.rows : part.columns);
    count_view(work, call, UPDATE_RUN, me);
    count_view(work, call, UPDATE_NORM, me);
    count_view(work, call, UPDATE_WEIGHT, me);
    return UNROLL_OK;
}
