/* Sums and lookups of whole rows: bias_grad (gradients of biases), embed and its gradient. */

/* ---- bias_grad -------------------------------------------------------------------------- */

/* As many columns of a row as registers hold: memory is faster for long runs. */
enum { SUM_VECTORS = V_WIDTH == 16 ? 16 : V_WIDTH == 1 ? 64 : 8, SUM_COLUMNS = SUM_VECTORS * V_WIDTH };

/* Where accumulation blocks are added. The twin, if any, gets the same sums. */
struct sums {
    real *at, *twin;
};

/* Adds one accumulation block of n columns in `vectors` vectors, a constant in each call. */
CELL_CODE void sum_columns(const struct steps *dy, const struct lasting *rows, const struct acc_block *acc_block,
                           size_t column, size_t n, struct sums to, const size_t vectors)
{
    V acc_block_sum[SUM_VECTORS];
    const size_t last = n - (vectors - 1) * V_WIDTH;
#pragma GCC unroll 16
    for (size_t j = 0; j < vectors; j++) acc_block_sum[j] = v_const(0);
    for (size_t t = acc_block->step.first; t < acc_block->step.end; t++)
        for (size_t b = acc_block->row.first; b < acc_block->row.end; b++) {
            const real *row = dy->at + t * dy->t + b * dy->b + column;
            if (!lasts(rows, t, b))
                continue;
#pragma GCC unroll 16
            for (size_t j = 0; j < vectors; j++)
                acc_block_sum[j] =
                    v_add(acc_block_sum[j], load_up_to(row + j * V_WIDTH, j + 1 < vectors ? V_WIDTH : last));
        }
#pragma GCC unroll 16
    for (size_t j = 0; j < vectors; j++) {
        size_t width = j + 1 < vectors ? V_WIDTH : last;
        for (real *at = to.at; at; at = at == to.at ? to.twin : NULL)
            store_up_to(at + j * V_WIDTH, v_add(load_up_to(at + j * V_WIDTH, width), acc_block_sum[j]), width);
    }
}

/* Returns the next columns of the sums. */
static struct sums sums_after(struct sums s, size_t columns)
{
    return (struct sums){s.at + columns, s.twin ? s.twin + columns : NULL};
}

static void sum_acc_block(const struct steps *dy, const struct lasting *rows, const struct acc_block *acc_block,
                          size_t column, size_t n, struct sums to)
{
    enum { SOME = SUM_VECTORS / 4, SOME_COLUMNS = SOME * V_WIDTH };
    size_t c = 0;
    for (; c + SUM_COLUMNS <= n; c += SUM_COLUMNS, comm_poll())
        sum_columns(dy, rows, acc_block, column + c, SUM_COLUMNS, sums_after(to, c), SUM_VECTORS);
    for (; c + SOME_COLUMNS <= n; c += SOME_COLUMNS, comm_poll())
        sum_columns(dy, rows, acc_block, column + c, SOME_COLUMNS, sums_after(to, c), SOME);
    for (; c < n; c += V_WIDTH)
        sum_columns(dy, rows, acc_block, column + c, n - c < V_WIDTH ? n - c : V_WIDTH, sums_after(to, c), 1);
}

/* Sums this thread's columns of one gate, for all accumulation blocks of a shard. */
static void sum_gate(const struct call *call, uint32_t shard, size_t dy_gate, struct sums to, struct range column)
{
    const struct tensor *dy = &call->view[BIAS_GRAD_DY];
    const struct steps steps = steps_of(dy);
    const struct lasting rows = lasting_of(dy, call->view[BIAS_GRAD_LENGTHS].at);
    struct acc_blocks acc_blocks = acc_blocks_of(call, dy, shard_rows(call, dy, &call->view[BIAS_GRAD_SUM], shard));
    while (next_acc_block(&acc_blocks))
        sum_acc_block(&steps, &rows, &acc_blocks.at, dy_gate + column.first, column.end - column.first,
                      sums_after(to, column.first));
}

/* Returns the sums of a gate in a gradient [S, (G), U]. */
static real *sum_at(const struct tensor *x, size_t shard, size_t gate)
{
    return x->at ? (real *)x->at + shard * x->stride[0] + (x->rank == 3 ? gate * x->stride[1] : 0) : NULL;
}

static bool gates_touch(const struct tensor *x, size_t units)
{
    return !x->at || (x->rank == 3 && x->stride[1] == units);
}

/* Sums dy over the rows of each shard; threads divide the columns. */
static unroll_status kernel_bias_grad(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *sum = &call->view[BIAS_GRAD_SUM], *twin = &call->view[BIAS_GRAD_TWIN];
    struct gates g = gates_of(&call->view[BIAS_GRAD_DY], 2);
    if (g.stride == g.units && gates_touch(sum, g.units) && gates_touch(twin, g.units))
        g = (struct gates){1, g.count * g.units, 0}; /* adjacent gates are treated as one */
    const struct range column = my_share(g.units, me, team, 16);
    for (uint32_t s = 0; s < sum->count[0]; s++)
        for (size_t gate = 0; gate < g.count; gate++)
            sum_gate(call, s, gate * g.stride, (struct sums){sum_at(sum, s, gate), sum_at(twin, s, gate)}, column);
    count_slices(work, call, BIAS_GRAD_DY, column, g.units);
    count_slices(work, call, BIAS_GRAD_SUM, column, g.units);
    count_slices(work, call, BIAS_GRAD_TWIN, column, g.units);
    count_view(work, call, BIAS_GRAD_LENGTHS, me);
    return UNROLL_OK;
}

/* ---- embed ----------------------------------------------------------------------------- */

static int32_t token_at(const struct tensor *tokens, size_t t, size_t b)
{
    return ((const int32_t *)tokens->at)[t * tokens->stride[0] + b];
}

/* Copies the table's row of each token; without a table writes the one-hot row. Tokens are checked to be below the
 * number of rows. A negative token means no symbol and gives zeros. */
static unroll_status kernel_embed(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *tokens = &call->view[EMBED_TOKENS], *table = &call->view[EMBED_TABLE];
    const struct tensor *out = &call->view[EMBED_OUT];
    const struct steps y = steps_of(out);
    const size_t rows = tensor_rows(out), width = tensor_width(out);
    const struct range row = my_share(rows, me, team, 1);
    for (size_t r = row.first; r < row.end; r++, comm_poll()) {
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

/* dtable[s] += the rows of shard s, in falling steps and rising rows within a step. This order does not depend on
 * chunks of time, which arrive in falling order. */
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
            for (size_t b = row.first; b < row.end; b++, comm_poll()) {
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
