/* The optimizer's step: weights and states from the sum of gradients, which is left zero. */
#define OPTIMIZER_USER "device/cpu/update_rows.h"
#include "optim/optim_table.h"

typedef void update_row(const struct rates *, real scale, real *w, real *g, real *s0, real *s1, size_t n);

static update_row *const update_rows[] = {
#define OPTIMIZER_ROW(name) name##_row,
    ALL_OPTIMIZERS(OPTIMIZER_ROW)
#undef OPTIMIZER_ROW
};

/* What a sum of gradients is multiplied with: 1 / weight, less if the norm of all is above the clip.
 * 0: there is nothing to learn from, because nothing was counted or a gradient is not finite. */
static double gradient_scale(const struct call *call)
{
    const struct tensor *norm = &call->view[UPDATE_NORM];
    const double *squares = norm->at, weight = *(const double *)call->view[UPDATE_WEIGHT].at;
    const double clip = ((const double *)call->view[UPDATE_RUN].at)[RATE_CLIP];
    double sum = 0;
    for (uint32_t i = 0; i < norm->count[0]; i++)
        sum += squares[i];
    if (!isfinite(sum) || !isfinite(weight) || weight == 0)
        return 0;
    double length = sqrt(sum) / weight;
    return clip > 0 && length > clip ? clip / length / weight : 1 / weight;
}

static void *state_row(const struct tensor *state, size_t row, size_t column)
{
    return state->at ? (real *)tensor_row(state, row) + column : NULL;
}

static unroll_status kernel_update(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *w = &call->view[UPDATE_W], *g = &call->view[UPDATE_GRAD];
    const struct rates rates = rates_of(call->view[UPDATE_RUN].at);
    const double scale = gradient_scale(call);
    const struct portion part = my_portion(tensor_rows(w), tensor_width(w), 16, me, team);
    const size_t column = part.column.first, n = part.column.end - column;
    for (size_t row = part.row.first; row < part.row.end; row++, comm_poll()) {
        real *gradient = (real *)tensor_row(g, row) + column;
        if (scale == 0)
            memset(gradient, 0, n * sizeof *gradient);
        else
            update_rows[call->choice](&rates, (real)scale, (real *)tensor_row(w, row) + column, gradient,
                                          state_row(&call->view[UPDATE_S0], row, column),
                                          state_row(&call->view[UPDATE_S1], row, column), n);
    }
    static const int divided[] = { UPDATE_W, UPDATE_GRAD, UPDATE_S0, UPDATE_S1 };
    for (size_t i = 0; i < sizeof divided / sizeof *divided; i++)
        count_slices(work, call, divided[i], part.by_rows ? part.row : part.column,
                     part.by_rows ? part.rows : part.columns);
    count_view(work, call, UPDATE_RUN, me);
    count_view(work, call, UPDATE_NORM, me);
    count_view(work, call, UPDATE_WEIGHT, me);
    return UNROLL_OK;
}
