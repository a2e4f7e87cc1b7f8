/* Sums and look-ups of whole rows: sum_rows (gradients of biases), embed and its gradient. */

/* ---- sum_rows -------------------------------------------------------------------------- */

/* Of a row as much as there are registers: memory likes long runs. */
enum { SUM_VECTORS = V_WIDTH == 16 ? 16 : V_WIDTH == 1 ? 64 : 8, SUM_COLUMNS = SUM_VECTORS * V_WIDTH };

/* Adds one leaf of n columns, which need all of `vectors`, a constant at each use. */
CELL_CODE void sum_columns(const struct steps *dy, const struct leaf *leaf, size_t column, size_t n,
                           real *sum, const size_t vectors)
{
    V leaf_sum[SUM_VECTORS];
    const size_t last = n - (vectors - 1) * V_WIDTH;
#pragma GCC unroll 16
    for (size_t j = 0; j < vectors; j++)
        leaf_sum[j] = v_const(0);
    for (size_t t = leaf->step.first; t < leaf->step.end; t++)
        for (size_t b = leaf->row.first; b < leaf->row.end; b++) {
            const real *row = dy->at + t * dy->t + b * dy->b + column;
#pragma GCC unroll 16
            for (size_t j = 0; j < vectors; j++)
                leaf_sum[j] = v_add(leaf_sum[j],
                                    load_up_to(row + j * V_WIDTH, j + 1 < vectors ? V_WIDTH : last));
        }
#pragma GCC unroll 16
    for (size_t j = 0; j < vectors; j++) {
        size_t width = j + 1 < vectors ? V_WIDTH : last;
        real *at = sum + j * V_WIDTH;
        store_up_to(at, v_add(load_up_to(at, width), leaf_sum[j]), width);
    }
}

static void sum_leaf(const struct steps *dy, const struct leaf *leaf, size_t column, size_t n, real *sum)
{
    enum { SOME = SUM_VECTORS / 4, SOME_COLUMNS = SOME * V_WIDTH };
    size_t c = 0;
    for (; c + SUM_COLUMNS <= n; c += SUM_COLUMNS)
        sum_columns(dy, leaf, column + c, SUM_COLUMNS, sum + c, SUM_VECTORS);
    for (; c + SOME_COLUMNS <= n; c += SOME_COLUMNS)
        sum_columns(dy, leaf, column + c, SOME_COLUMNS, sum + c, SOME);
    for (; c < n; c += V_WIDTH)
        sum_columns(dy, leaf, column + c, n - c < V_WIDTH ? n - c : V_WIDTH, sum + c, 1);
}

/* This thread's columns of one gate, for all leaves of a shard. */
static void sum_gate(const struct call *call, uint32_t shard, size_t dy_gate, real *sum, struct range column)
{
    const struct tensor *dy = &call->view[SUM_ROWS_DY];
    const struct steps steps = steps_of(dy);
    struct leaves leaves = leaves_of(call, dy, shard_rows(call, dy, &call->view[SUM_ROWS_SUM], shard));
    while (leaf_next(&leaves))
        sum_leaf(&steps, &leaves.at, dy_gate + column.first, column.end - column.first, sum + column.first);
}

static unroll_status kernel_sum_rows(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *sum = &call->view[SUM_ROWS_SUM];
    const size_t gate_stride = sum->rank == 3 ? sum->stride[1] : 0;
    struct gates g = gates_of(&call->view[SUM_ROWS_DY], 2);
    if (g.stride == g.units && gate_stride == g.units)          /* side by side they are one */
        g = (struct gates){ 1, g.count * g.units, 0 };
    const struct range column = my_share(g.units, me, team, 16);
    for (uint32_t s = 0; s < sum->count[0]; s++)
        for (size_t gate = 0; gate < g.count; gate++) {
            real *to = (real *)sum->at + s * sum->stride[0] + gate * gate_stride;
            sum_gate(call, s, gate * g.stride, to, column);
        }
    count_slices(work, call, SUM_ROWS_DY, column, g.units);
    count_slices(work, call, SUM_ROWS_SUM, column, g.units);
    return UNROLL_OK;
}

/* ---- embed ----------------------------------------------------------------------------- */

static int32_t token_at(const struct tensor *tokens, size_t t, size_t b)
{
    return ((const int32_t *)tokens->at)[t * tokens->stride[0] + b];
}

/* The row of the table of each token; without a table the one-hot row. Tokens are known to be below
 * the number of rows; a negative one stands for no symbol and gives zeros. */
static unroll_status kernel_embed(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *tokens = &call->view[EMBED_TOKENS], *table = &call->view[EMBED_TABLE];
    const struct tensor *out = &call->view[EMBED_OUT];
    const struct steps y = steps_of(out);
    const size_t rows = tensor_rows(out), width = tensor_width(out);
    const struct range row = my_share(rows, me, team, 1);
    for (size_t r = row.first; r < row.end; r++) {
        int32_t token = token_at(tokens, r / y.batch, r % y.batch);
        real *to = steps_at(&y, r);
        if (token >= 0 && table->at) {
            copy_numbers(to, (const real *)table->at + (size_t)token * table->stride[0], width);
            continue;
        }
        memset(to, 0, width * sizeof *to);
        if (token >= 0)
            to[token] = 1;
    }
    count_slices(work, call, EMBED_TOKENS, row, rows);
    count_slices(work, call, EMBED_OUT, row, rows);
    count_view(work, call, EMBED_TABLE, me);
    return UNROLL_OK;
}

/* dtable[s] += the rows of shard s, steps falling, rows rising in a step: an order that chunks of time,
 * which arrive falling, do not change. */
static unroll_status kernel_embed_grad(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *tokens = &call->view[EMBED_GRAD_TOKENS], *sum = &call->view[EMBED_GRAD_DTABLE];
    const struct tensor *dy_view = &call->view[EMBED_GRAD_DY];
    const struct steps dy = steps_of(dy_view);
    const size_t width = tensor_width(dy_view);
    const struct range column = my_share(width, me, team, 16);
    for (uint32_t s = 0; s < sum->count[0]; s++) {
        struct range row = shard_rows(call, dy_view, sum, s);
        real *table = (real *)sum->at + s * sum->stride[0];
        for (size_t t = dy_view->count[0]; t-- > 0;)
            for (size_t b = row.first; b < row.end; b++) {
                int32_t token = token_at(tokens, t, b);
                if (token >= 0)
                    add_numbers(table + (size_t)token * sum->stride[1] + column.first,
                                dy.at + t * dy.t + b * dy.b + column.first, column.end - column.first);
            }
    }
    count_view(work, call, EMBED_GRAD_TOKENS, me);
    count_slices(work, call, EMBED_GRAD_DY, column, width);
    count_slices(work, call, EMBED_GRAD_DTABLE, column, width);
    return UNROLL_OK;
}
