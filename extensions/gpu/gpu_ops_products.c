/* Products over all steps at once and sums of columns: gemm, gemm_dx, gemm_dw, bias_grad (gpu_launch.h). Rows beyond
 * their lengths are zero in gradients, so they add nothing; in results they are cleared afterwards. */
#include "extensions/gpu/gpu_launch.h"

/* All rows of a [T, B, ..] view as one matrix: steps follow each other without a gap if the batch is whole. */
static struct matrix matrix_of(const struct gpu_rows *x) { return (struct matrix){(char *)x->at, x->row}; }

static unroll_status check_even(const struct gpu_rows *x)
{
    return x->steps < 2 || x->t == x->batch * x->row
               ? UNROLL_OK
               : fail(
                     UNROLL_FAILURE,
                     "a view of a product has gaps between its steps; fix: report it with the network and the options, or device cpu");
}

static uint32_t row_count(const struct gpu_rows *x) { return x->steps * x->batch; }

static unroll_status clear_ended(struct recorder *w, const struct gpu_view *x, const struct gpu_view *lengths)
{
    struct clear_ended_args args = {rows_of(x), ends_of(x, lengths)};
    return lengths->at ? launch_each(w, "gpu_clear_ended", count_rows(&args.x), args.x.width, ARGS(&args)) : UNROLL_OK;
}

/* Gradients from the host may have any contents beyond a row's length. */
static unroll_status clean_gradient(struct recorder *w, const struct gpu_view *dy, const struct gpu_view *lengths)
{
    return dy->segment == SEG_IO ? clear_ended(w, dy, lengths) : UNROLL_OK;
}

/* ---- gemm, gemm_dx ------------------------------------------------------------------------ */

unroll_status gpu_op_gemm(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *y_view = &call->view[GEMM_Y], *lengths = &call->view[GEMM_LENGTHS];
    const struct gpu_rows x = rows_of(&call->view[GEMM_X]), y = rows_of(y_view);
    TRY(check_even(&x));
    TRY(check_even(&y));
    TRY(product(w, &(struct gpu_product){.m = row_count(&x),
                                         .n = y.width,
                                         .k = x.width,
                                         .a = matrix_of(&x),
                                         .c = matrix_of(&y),
                                         .b = {call->view[GEMM_W].at, x.width},
                                         .b_by_columns = true,
                                         .bias = (const float *)(void *)call->view[GEMM_BIAS].at}));
    return y_view->rank < 4 ? clear_ended(w, y_view, lengths) : UNROLL_OK; /* rnn reads only rows that take part */
}

unroll_status gpu_op_gemm_dx(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *lengths = &call->view[GEMM_DX_LENGTHS];
    const struct gpu_rows dy = rows_of(&call->view[GEMM_DX_DY]), dx = rows_of(&call->view[GEMM_DX_DX]);
    const bool adds = call->op->view[GEMM_DX_DX].access == ADD;
    struct matrix of = matrix_of(&dy);
    TRY(check_even(&dy));
    TRY(check_even(&dx));
    TRY(clean_gradient(w, &call->view[GEMM_DX_DY], lengths));
    TRY(lowp_kept(w, call->op->view[GEMM_DX_DY].buffer, &of, row_count(&dy), dy.width));
    return product(w, &(struct gpu_product){.m = row_count(&dy),
                                            .n = dx.width,
                                            .k = dy.width,
                                            .a = of,
                                            .a_is_lowp = true,
                                            .c = matrix_of(&dx),
                                            .b = {call->view[GEMM_DX_W].at, dx.width},
                                            .adds = adds});
}

/* ---- gemm_dw ------------------------------------------------------------------------------ */

/* A gradient dy in the form that products read. All products of its layer share it. */
struct operand {
    struct matrix at;
    bool is_lowp;
};

static unroll_status keep_gradient(struct recorder *w, const struct gpu_call *call, const struct gpu_rows *dy,
                                   struct operand *all)
{
    *all = (struct operand){matrix_of(dy), true};
    return lowp_kept(w, call->op->view[GEMM_DW_DY].buffer, &all->at, row_count(dy), dy->width);
}

/* dW += dy^T x, over `rows` rows. */
static unroll_status add_product(struct recorder *w, const struct gpu_call *call, size_t shard, uint32_t rows,
                                 struct operand dy, uint32_t units, struct matrix x, uint32_t width)
{
    const struct gpu_view *dw = &call->view[GEMM_DW_DW];
    return product(w, &(struct gpu_product){.m = units,
                                            .n = width,
                                            .k = rows,
                                            .a = dy.at,
                                            .a_is_lowp = dy.is_lowp,
                                            .a_by_columns = true,
                                            .b = x,
                                            .adds = true,
                                            .c = {dw->at + shard * dw->stride[0] * sizeof(float), width}});
}

/* Packs rows of a view into scratch: those of a shard, or the states that enter the steps. */
static unroll_status gather(struct recorder *w, const struct gpu_call *call, const struct gpu_view *from, bool shift,
                            struct shard_rows rows, struct matrix *to)
{
    const struct gpu_view *init = &call->view[GEMM_DW_INIT];
    struct gather_args args = {.x = rows_of(from),
                               .ends = ends_of(from, &call->view[GEMM_DW_LENGTHS]),
                               .resets = resets_of(&call->view[GEMM_DW_RESET]),
                               .init = (const float *)(void *)init->at,
                               .init_row = init->stride[0],
                               .first = rows.first,
                               .rows = rows.count,
                               .shift = shift,
                               .direction = call->op->direction};
    const uint64_t count = (uint64_t)args.x.steps * rows.count;
    args.to = scratch_take(w, count * args.x.width * sizeof(float));
    *to = (struct matrix){(char *)args.to, args.x.width};
    return launch_each(w, "gpu_gather", count, args.x.width, ARGS(&args));
}

static unroll_status dw_gathered(struct recorder *w, const struct gpu_call *call, size_t shard)
{
    const struct gpu_view *x = &call->view[GEMM_DW_X], *dy = &call->view[GEMM_DW_DY];
    const struct gpu_rows x_rows = rows_of(x), dy_rows = rows_of(dy);
    const struct shard_rows rows = shard_of(w, x, &call->view[GEMM_DW_DW], shard);
    const uint64_t scratch = w->scratch_used;
    struct matrix from = matrix_of(&x_rows);
    struct operand of = {.is_lowp = false};
    bool all = rows.count == x_rows.batch;
    if (call->op->shift || !all)
        TRY(gather(w, call, x, call->op->shift, rows, &from));
    TRY(all ? keep_gradient(w, call, &dy_rows, &of) : gather(w, call, dy, false, rows, &of.at));
    TRY(add_product(w, call, shard, x_rows.steps * rows.count, of, dy_rows.width, from, x_rows.width));
    w->scratch_used = scratch;
    return UNROLL_OK;
}

/* Without lengths, resets and shards, the states that enter are the outputs of the previous steps, read in place;
 * those of the first step are the initial states. */
static unroll_status dw_shifted(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_rows x = rows_of(&call->view[GEMM_DW_X]), dy = rows_of(&call->view[GEMM_DW_DY]);
    const struct gpu_view *init = &call->view[GEMM_DW_INIT];
    const bool back = call->op->direction;
    struct matrix before = {(char *)x.at + (back ? x.t * sizeof(float) : 0), x.row};
    struct operand of;
    TRY(keep_gradient(w, call, &dy, &of));
    const size_t step = dy.batch * of.at.row * (products_are_lowp(w) ? sizeof(uint16_t) : sizeof(float));
    struct operand later = {{of.at.at + (back ? 0 : step), of.at.row}, true};
    struct operand first = {{of.at.at + (back ? (dy.steps - 1) * step : 0), of.at.row}, true};
    if (x.steps > 1)
        TRY(add_product(w, call, 0, (x.steps - 1) * x.batch, later, dy.width, before, x.width));
    if (!init->at)
        return UNROLL_OK;
    return add_product(w, call, 0, x.batch, first, dy.width, (struct matrix){init->at, init->stride[0]}, x.width);
}

unroll_status gpu_op_gemm_dw(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *v = call->view;
    const struct gpu_rows x = rows_of(&v[GEMM_DW_X]), dy = rows_of(&v[GEMM_DW_DY]);
    TRY(check_even(&x));
    TRY(check_even(&dy));
    TRY(clean_gradient(w, &v[GEMM_DW_DY], &v[GEMM_DW_LENGTHS]));
    if (call->op->view[GEMM_DW_DW].access == WRITE) /* sums of products start from zero */
        TRY(gpu_move(w, &(struct gpu_view){0}, &v[GEMM_DW_DW], false));
    bool plain = !v[GEMM_DW_LENGTHS].at && !v[GEMM_DW_RESET].at && v[GEMM_DW_DW].count[0] == 1;
    if (plain && call->op->shift)
        return dw_shifted(w, call);
    for (size_t shard = 0; shard < v[GEMM_DW_DW].count[0]; shard++) TRY(dw_gathered(w, call, shard));
    return UNROLL_OK;
}

/* ---- bias_grad ----------------------------------------------------------------------------- */

enum { SUM_TILE = 32, SUM_LANES = 8, SUM_PARTS = 64 }; /* as in sums.cu; SUM_PARTS is a maximum */

static float *sum_at(const struct gpu_view *x, size_t shard)
{
    return x->at ? (float *)(void *)x->at + shard * x->stride[0] : NULL;
}

unroll_status gpu_op_bias_grad(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *dy = &call->view[BIAS_GRAD_DY], *sum = &call->view[BIAS_GRAD_SUM];
    const struct gpu_rows rows = rows_of(dy);
    for (size_t shard = 0; shard < sum->count[0]; shard++) {
        const struct shard_rows of = shard_of(w, dy, sum, shard);
        const uint64_t scratch = w->scratch_used,
                       groups = ((uint64_t)rows.steps * of.count + SUM_LANES - 1) / SUM_LANES;
        struct sum_parts_args parts = {.x = rows,
                                       .ends = ends_of(dy, &call->view[BIAS_GRAD_LENGTHS]),
                                       .first = of.first,
                                       .rows = of.count,
                                       .parts = groups < SUM_PARTS ? (uint32_t)groups : SUM_PARTS};
        if (!of.count)
            continue;
        parts.part = scratch_take(w, (uint64_t)parts.parts * rows.width * sizeof(float));
        const uint64_t tiles = (rows.width + SUM_TILE - 1) / SUM_TILE;
        const struct launch_shape shape = {
            .rows = parts.parts, .width = rows.width, .x = tiles * parts.parts, .y = 1, .threads = GPU_THREADS};
        TRY(launch_shaped(w, "gpu_sum_parts", &shape, ARGS(&parts)));
        TRY(launch_each(w, "gpu_sum", 1, rows.width,
                        ARGS(&(struct sum_args){.part = parts.part,
                                                .parts = parts.parts,
                                                .width = rows.width,
                                                .sum = sum_at(sum, shard),
                                                .twin = sum_at(&call->view[BIAS_GRAD_TWIN], shard)})));
        w->scratch_used = scratch;
    }
    return UNROLL_OK;
}
