/* gather_columns and scatter_add: gemm and gemm_dw of one-hot rows, given as the indices of their nonzero columns. A
 * product is then a column of W, and a sum of products is a sum of rows. The bits equal those of the products, which
 * only add zeros. Included after gemm.h, gemm_dw.h and bias_grad.h. */

/* ---- gather_columns ------------------------------------------------------------------------------ */

/* y = bias + the column of W; a negative token has no column. */
static void gather_row(const struct gemm *g, int32_t token, real *y)
{
    for (size_t p = 0; p < g->gates * g->panels; p++) {
        const size_t gate = p / g->panels, unit = p % g->panels * PANEL, n = at_most(g->units - unit, PANEL);
        const real *bias = g->bias ? g->bias + gate * g->bias_gate + unit : NULL;
        const real *w = (const real *)(const void *)g->w + (p * g->k + (size_t)(token < 0 ? 0 : token)) * PANEL;
        for (size_t i = 0; i < n; i += V_WIDTH) {
            V sum = bias ? load_up_to(bias + i, n - i) : v_const(0);
            if (token >= 0)
                sum = v_add(sum, load_up_to(w + i, n - i));
            store_up_to(y + gate * g->y_gate + unit + i, sum, n - i);
        }
    }
}

/* y = bias + the column of each token in W, for all rows that have not ended. */
static unroll_status kernel_gather_columns(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *tokens = &call->view[GEMM_X], *y = &call->view[GEMM_Y];
    const struct gemm g = gemm_of(call);
    const struct portion part = portion_by(true, (size_t)y->count[0] * y->count[1], g.gates * g.units, 1, me, team);
    struct lasting rows = lasting_of(y, call->view[GEMM_LENGTHS].at);
    lasting_share(&rows, me, team);
    for (size_t t, b; lasting_next(&rows, &t, &b); comm_poll())
        gather_row(&g, token_at(tokens, t, b), g.y.at + t * g.y.t + b * g.y.b);
    if (y->rank < 4) /* rnn skips the ended rows of gates */
        clear_ended(&rows, &g.y, g.gates, g.y_gate, g.units, me, team);
    count_portion(work, call, &part, GEMM_X, GEMM_W, GEMM_Y, me);
    count_view(work, call, GEMM_BIAS, me);
    count_view(work, call, GEMM_LENGTHS, me);
    return UNROLL_OK;
}

/* ---- scatter_add ------------------------------------------------------------------------- */

/* Sums of some units, adjacent for each column; they stay in cache. */
enum { GATHER_UNITS = 128, GATHER_SCRATCH = MAX_GATHERED_COLUMNS * 16 };

struct gather_scratch {
    size_t row; /* elements of a column */
    size_t found;
    bool is_in[MAX_GATHERED_COLUMNS]; /* the columns of the current accumulation block */
    uint16_t symbol[MAX_GATHERED_COLUMNS];
    _Alignas(64) real acc_block[GATHER_SCRATCH], sum[GATHER_SCRATCH];
};

/* Copies dW [unit][column] to or from the sums. */
static void gather_turn(const struct dw *d, struct gather_scratch *room, struct range unit, size_t symbols, real *dw,
                        bool back)
{
    for (size_t u = unit.first; u < unit.end; u++) {
        real *row = dw + dw_at(d, u), *sum = room->sum + (u - unit.first);
        for (size_t k = 0; k < symbols; k++)
            if (back)
                row[k] = sum[k * room->row];
            else
                sum[k * room->row] = row[k];
    }
}

/* Adds an accumulation block: a chain from zero for each of its columns. */
static void gather_acc_block(const struct dw *d, const struct acc_block *acc_block, struct gather_scratch *room,
                             struct range unit)
{
    const struct tensor *tokens = &d->call->view[GEMM_DW_X];
    const real *dy = d->dy.at + dy_at(d, unit.first);
    const size_t n = unit.end - unit.first;
    for (size_t t = acc_block->step.first; t < acc_block->step.end; t++)
        for (size_t b = acc_block->row.first; b < acc_block->row.end; b++) {
            const int32_t token = token_at(tokens, t, b);
            if (token < 0 || !lasts(&d->rows, t, b))
                continue;
            real *sum = room->acc_block + (size_t)token * room->row;
            if (!room->is_in[token]) {
                room->is_in[token] = true;
                room->symbol[room->found++] = (uint16_t)token;
                memset(sum, 0, n * sizeof *sum);
            }
            add_numbers(sum, dy + t * d->dy.t + b * d->dy.b, n);
        }
    for (; room->found > 0; room->is_in[room->symbol[room->found]] = false) {
        const size_t at = room->symbol[--room->found] * room->row;
        add_numbers(room->sum + at, room->acc_block + at, n);
    }
}

/* Computes this thread's units of dW [(G), U, K] of one shard. */
static void gather_shard(const struct dw *d, const struct acc_blocks *acc_blocks, struct range mine, size_t symbols,
                         real *dw)
{
    struct gather_scratch *room = KERNEL_KEEPS(struct gather_scratch);
    room->row = at_most(GATHER_SCRATCH / symbols / 16 * 16, GATHER_UNITS);
    room->found = 0;
    memset(room->is_in, 0, sizeof room->is_in);
    for (size_t n = mine.first, end; n < mine.end; n = end, comm_poll()) {
        const size_t gate_end = (n / d->gates.units + 1) * d->gates.units;
        end = at_most(at_most(mine.end, gate_end), n + room->row);
        const struct range unit = {n, end};
        gather_turn(d, room, unit, symbols, dw, false);
        for (struct acc_blocks l = *acc_blocks; next_acc_block(&l);) gather_acc_block(d, &l.at, room, unit);
        gather_turn(d, room, unit, symbols, dw, true);
    }
}

static unroll_status kernel_scatter_add(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *dy = &call->view[GEMM_DW_DY], *dw = &call->view[GEMM_DW_DW];
    const struct dw d = dw_of(call);
    const size_t symbols = tensor_width(dw);
    const struct portion part = portion_by(true, d.gates.count * d.gates.units, symbols, 1, me, team);
    for (uint32_t s = 0; s < dw->count[0]; s++) {
        const struct acc_blocks acc_blocks = acc_blocks_of(call, dy, shard_rows(call, dy, dw, s));
        gather_shard(&d, &acc_blocks, part.row, symbols, (real *)dw->at + s * dw->stride[0]);
    }
    count_portion(work, call, &part, GEMM_DW_DY, GEMM_DW_X, GEMM_DW_DW, me);
    count_view(work, call, GEMM_DW_LENGTHS, me);
    return UNROLL_OK;
}
