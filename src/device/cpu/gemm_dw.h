/* gemm_dw: dW += dy^T x over rows of the batch and steps, in the leaves of leaves.h. x is at the step
 * or the state that enters it. Rows of a leaf are copied side by side, so the product sees plain
 * matrices whatever the views, the shards, the resets and the ends of rows are. */

/* A block that stays in the cache: units and columns of dW, rows of a leaf. */
enum { DW_UNITS = 96, DW_COLUMNS = 2 * PANEL, DW_ROWS = 128 };

struct dw {
    const struct call *call;
    struct steps dy, x;
    const int32_t *lengths;
    const uint8_t *reset;
    const real    *init;
    size_t reset_t, init_b, steps, origin_t;
};

static struct dw dw_of(const struct call *call)
{
    const struct tensor *v = call->view;
    return (struct dw){
        .call = call, .dy = steps_of(&v[GEMM_DW_DY]), .x = steps_of(&v[GEMM_DW_X]),
        .lengths = v[GEMM_DW_LENGTHS].at, .reset = v[GEMM_DW_RESET].at, .init = v[GEMM_DW_INIT].at,
        .reset_t = v[GEMM_DW_RESET].stride[0], .init_b = v[GEMM_DW_INIT].stride[0],
        .steps = v[GEMM_DW_X].count[0], .origin_t = v[GEMM_DW_X].origin[0],
    };
}

/* The state that enters step t of row b; NULL: zeros. */
static const real *entering(const struct dw *d, size_t t, size_t b)
{
    if (d->reset && d->reset[t * d->reset_t + b])
        return NULL;
    bool first = t == 0;
    if (d->call->op->direction)
        first = t == d->steps - 1 || (d->lengths && d->origin_t + t + 1 == (size_t)d->lengths[b]);
    if (first)
        return d->init ? d->init + b * d->init_b : NULL;
    return d->x.at + (d->call->op->direction ? t + 1 : t - 1) * d->x.t + b * d->x.b;
}

/* Where rows first .. first+n-1 of a leaf lie. */
static void leaf_rows(const struct dw *d, const struct leaf *leaf, size_t first, size_t n,
                      const real **dy, const real **x)
{
    size_t batch = leaf->row.end - leaf->row.first;
    size_t t = leaf->step.first + first / batch, b = leaf->row.first + first % batch;
    for (size_t i = 0; i < n; i++) {
        dy[i] = d->dy.at + t * d->dy.t + b * d->dy.b;
        x[i] = d->call->op->shift ? entering(d, t, b) : d->x.at + t * d->x.t + b * d->x.b;
        if (++b == leaf->row.end) {
            b = leaf->row.first;
            t++;
        }
    }
}

/* Columns of rows of x, into panels of DW_ROWS rows. */
static void copy_to_panels(real *panels, const real *const *x, size_t rows, struct range column)
{
    for (size_t c = column.first; c < column.end; c += PANEL, panels += DW_ROWS * PANEL) {
        size_t width = column.end - c < PANEL ? column.end - c : PANEL;
        for (size_t i = 0; i < rows; i++)
            if (x[i])
                copy_numbers(panels + i * PANEL, x[i] + c, width);
            else
                memset(panels + i * PANEL, 0, width * sizeof *panels);
    }
}

/* A block of dW: units of one gate that begin at `unit` of dy's rows, and columns. */
static void dw_block(const struct dw *d, const struct leaf *leaf, size_t unit, size_t units,
                     struct range column, real *dw, size_t dw_row)
{
    real a[DW_ROWS * DW_UNITS], b[DW_ROWS * DW_COLUMNS], sum[DW_UNITS * DW_COLUMNS];
    const real *dy[DW_ROWS], *x[DW_ROWS];
    size_t columns = column.end - column.first;
    size_t all = (leaf->step.end - leaf->step.first) * (leaf->row.end - leaf->row.first);
    for (size_t first = 0; first < all; first += DW_ROWS) {
        size_t rows = all - first < DW_ROWS ? all - first : DW_ROWS;
        leaf_rows(d, leaf, first, rows, dy, x);
        for (size_t i = 0; i < rows; i++)
            copy_numbers(a + i * DW_UNITS, dy[i] + unit, units);
        copy_to_panels(b, x, rows, column);
        d->call->isa->product(&(struct product){
            .m = units, .n = columns, .k = rows, .a = a, .a_row = 1, .a_col = DW_UNITS,
            .b = b, .b_row = PANEL, .b_panel = DW_ROWS * PANEL,
            .c = sum, .c_row = DW_COLUMNS, .from_zero = first == 0,
        });
    }
    for (size_t u = 0; u < units; u++)
        add_numbers(dw + u * dw_row, sum + u * DW_COLUMNS, columns);
}

/* Units of one gate by columns: dy's numbers from `dy` on, rows of dW from `dw` on. */
static void dw_gate(const struct dw *d, const struct leaf *leaf, size_t dy, struct range unit,
                    struct range column, real *dw, size_t dw_row)
{
    for (size_t u = unit.first; u < unit.end; u += DW_UNITS)
        for (size_t c = column.first; c < column.end; c += DW_COLUMNS) {
            size_t units = unit.end - u < DW_UNITS ? unit.end - u : DW_UNITS;
            size_t end = column.end - c < DW_COLUMNS ? column.end : c + DW_COLUMNS;
            dw_block(d, leaf, dy + u, units, (struct range){ c, end }, dw + u * dw_row + c, dw_row);
        }
}

/* This thread's part of dW [(G), U, K] of one shard, for one leaf. */
static void dw_leaf(const struct dw *d, const struct leaf *leaf, const struct portion *part, real *dw)
{
    const struct tensor *sum = &d->call->view[GEMM_DW_DW];
    const struct gates dy = gates_of(&d->call->view[GEMM_DW_DY], 2);
    const size_t row = sum->stride[sum->rank - 2], gate_stride = sum->rank == 4 ? sum->stride[1] : 0;
    for (size_t gate = 0; gate < dy.count; gate++) {
        size_t begin = gate * dy.units, end = begin + dy.units;
        size_t first = part->row.first > begin ? part->row.first : begin;
        size_t last = part->row.end < end ? part->row.end : end;
        if (first < last)
            dw_gate(d, leaf, gate * dy.stride, (struct range){ first - begin, last - begin }, part->column,
                    dw + gate * gate_stride, row);
    }
}

static unroll_status kernel_gemm_dw(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *dy = &call->view[GEMM_DW_DY], *dw = &call->view[GEMM_DW_DW];
    const struct dw d = dw_of(call);
    const struct gates g = gates_of(dy, 2);
    struct portion part = my_portion(g.count * g.units, tensor_width(dw), PANEL, me, team);
    for (uint32_t s = 0; s < dw->count[0]; s++) {
        struct leaves leaves = leaves_of(call, dy, shard_rows(call, dy, dw, s));
        while (leaf_next(&leaves))
            dw_leaf(&d, &leaves.at, &part, (real *)dw->at + s * dw->stride[0]);
    }
    count_portion(work, call, &part, GEMM_DW_DY, GEMM_DW_X, GEMM_DW_DW, me);
    count_view(work, call, GEMM_DW_INIT, me);
    count_view(work, call, GEMM_DW_LENGTHS, me);
    count_view(work, call, GEMM_DW_RESET, me);
    size_t units = part.row.end - part.row.first, columns = part.column.end - part.column.first;
    work->flops += 2.0 * (double)units * (double)columns * (double)dy->count[0] * (double)dy->count[1];
    return UNROLL_OK;
}
