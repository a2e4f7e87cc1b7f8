/* gemm: y = bias + W x with W in panels, and gemm_dx: dx = dy W with W in columns, for many rows x or dy.
 * They divide and walk; the arithmetic is the ISA's product. Gradients of weights: gemm_dw.h. */

/* The axes T and B of a tensor as one list of rows. */
struct steps {
    real  *at;
    size_t t, b, batch;
};

static struct steps steps_of(const struct tensor *x)
{
    return (struct steps){ x->at, x->stride[0], x->stride[1], x->count[1] };
}

static real *steps_at(const struct steps *s, size_t row)
{
    return s->at + row / s->batch * s->t + row % s->batch * s->b;
}

/* How many rows from `row` on, before end, lie at equal distances in both. */
static size_t steps_even(const struct steps *s, const struct steps *other, size_t row, size_t end)
{
    bool even = s->t == s->batch * s->b && other->t == other->batch * other->b;
    size_t to_next_step = s->batch - row % s->batch;
    return even || end - row < to_next_step ? end - row : to_next_step;
}

/* Of a tensor [.., (G), U]: gates, units, and the distance of gates. `leading` axes come before. */
struct gates { size_t count, units, stride; };

static struct gates gates_of(const struct tensor *x, int leading)
{
    bool has_gates = x->rank == leading + 2;
    return (struct gates){ has_gates ? x->count[leading] : 1, tensor_width(x),
                           has_gates ? x->stride[leading] : tensor_width(x) };
}

/* ---- gemm ------------------------------------------------------------------------------ */

struct gemm {
    struct steps x, y;
    const char *w;
    enum dtype type;                                        /* of w */
    const real *bias;
    size_t k, gates, units, y_gate, bias_gate, panels;      /* panels of one gate */
};

/* Gates that fill their panels and lie side by side are one wide gate. */
static struct gemm gemm_of(const struct call *call)
{
    const struct tensor *x = &call->view[GEMM_X], *y = &call->view[GEMM_Y], *bias = &call->view[GEMM_BIAS];
    struct gates g = gates_of(y, 2);
    size_t bias_gate = bias->at ? gates_of(bias, 0).stride : g.units;
    if (g.units % PANEL == 0 && g.stride == g.units && bias_gate == g.units)
        g = (struct gates){ 1, g.count * g.units, g.count * g.units };
    return (struct gemm){
        .x = steps_of(x), .y = steps_of(y), .w = call->view[GEMM_W].at, .type = call->view[GEMM_W].dtype,
        .bias = bias->at, .k = tensor_width(x), .gates = g.count, .units = g.units, .y_gate = g.stride,
        .bias_gate = bias_gate, .panels = panels(g.units),
    };
}

/* The last panel of a gate may have fewer columns. */
static size_t columns_in(const struct gemm *g, struct range panel)
{
    size_t missing = g->panels * PANEL - g->units;
    size_t gate_ends = panel.end / g->panels - panel.first / g->panels;
    return (panel.end - panel.first) * PANEL - gate_ends * missing;
}

/* Rows of the operand at even distances. */
struct gemm_rows { const void *at; size_t distance, first, count; };

/* They by panels of one gate. */
static void gemm_run(const struct call *call, const struct gemm *g, const struct gemm_rows *x, struct range panel)
{
    size_t gate = panel.first / g->panels, unit = panel.first % g->panels * PANEL;
    size_t bytes = panel_bytes(g->type, g->k);
    real *y = steps_at(&g->y, x->first) + gate * g->y_gate + unit;
    product_with(call->isa, g->type)(&(struct product){
        .m = x->count, .n = columns_in(g, panel), .k = g->k,
        .a = x->at, .a_row = x->distance, .a_col = 1,
        .b = g->w + panel.first * bytes, .b_row = PANEL, .b_panel = bytes / cell_bytes(g->type),
        .c = y, .c_row = g->y.b, .start = ZERO,
        .bias = g->bias ? g->bias + gate * g->bias_gate + unit : NULL,
    });
}

static void gemm_panels(const struct call *call, const struct gemm *g, const struct gemm_rows *x, struct range panel)
{
    for (size_t p = panel.first, next; p < panel.end; p = next) {
        next = (p / g->panels + 1) * g->panels;
        next = next < panel.end ? next : panel.end;
        gemm_run(call, g, x, (struct range){ p, next });
    }
}

/* With int8 weights the rows become bytes first, as many at a time as there is room for. */
static void gemm_int8(const struct call *call, const struct gemm *g, const struct gemm_rows *x, struct range panel)
{
    uint32_t cells[OPERAND_ROOM];
    const size_t row = operand_cells(g->k), most = OPERAND_ROOM / row;
    struct gemm_rows bytes = { cells, row, x->first, 0 };
    for (size_t done = 0; done < x->count; done += bytes.count) {
        bytes.first = x->first + done;
        bytes.count = x->count - done < most ? x->count - done : most;
        for (size_t r = 0; r < bytes.count; r++)
            call->isa->quantize((const real *)x->at + (done + r) * x->distance, g->k, cells + r * row);
        gemm_panels(call, g, &bytes, panel);
    }
}

/* So few rows at a time that they are still in the cache when the bias is in. */
static void gemm_part(const struct call *call, const struct gemm *g, struct range row, struct range panel)
{
    enum { ROWS = 96 };
    for (size_t r = row.first, rows; r < row.end; r += rows) {
        rows = steps_even(&g->x, &g->y, r, row.end);
        rows = rows < ROWS ? rows : ROWS;
        struct gemm_rows x = { steps_at(&g->x, r), g->x.b, r, rows };
        if (g->type == DTYPE_I8)
            gemm_int8(call, g, &x, panel);
        else
            gemm_panels(call, g, &x, panel);
    }
}

static unroll_status kernel_gemm(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *y = &call->view[GEMM_Y];
    const struct gemm g = gemm_of(call);
    struct portion part = my_portion((size_t)y->count[0] * y->count[1], g.gates * g.panels, 1, me, team);
    gemm_part(call, &g, part.row, part.column);

    size_t columns = columns_in(&g, part.column);
    size_t before = columns_in(&g, (struct range){ 0, part.column.first });
    part.column = (struct range){ before, before + columns };
    part.columns = g.gates * g.units;
    count_portion(work, call, &part, GEMM_X, GEMM_W, GEMM_Y, me);
    if (part.by_rows)
        count_view(work, call, GEMM_BIAS, me);
    else
        count_slices(work, call, GEMM_BIAS, part.column, part.columns);
    work->flops += 2.0 * (double)(part.row.end - part.row.first) * (double)columns * (double)g.k;
    return UNROLL_OK;
}

/* ---- gemm_dx --------------------------------------------------------------------------- */

/* Sums over the gates' units in the order of W's rows; gates side by side are one sum. */
static unroll_status kernel_gemm_dx(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *w = &call->view[GEMM_DX_W], *dx_view = &call->view[GEMM_DX_DX];
    const struct steps dy = steps_of(&call->view[GEMM_DX_DY]), dx = steps_of(dx_view);
    struct gates g = gates_of(&call->view[GEMM_DX_DY], 2);
    const bool adds = call->op->view[GEMM_DX_DX].access == ADD;
    const size_t sums = g.count * g.units;
    if (g.stride == g.units)
        g = (struct gates){ 1, sums, sums };

    const size_t all_rows = (size_t)dx_view->count[0] * dx_view->count[1];
    struct portion part = my_portion(all_rows, tensor_width(dx_view), PANEL, me, team);
    size_t columns = part.column.end - part.column.first;
    for (size_t r = part.row.first, rows; r < part.row.end && columns; r += rows) {
        rows = steps_even(&dy, &dx, r, part.row.end);
        for (size_t gate = 0; gate < g.count; gate++)
            call->isa->product(&(struct product){
                .m = rows, .n = columns, .k = g.units,
                .a = steps_at(&dy, r) + gate * g.stride, .a_row = dy.b, .a_col = 1,
                .b = (const real *)w->at + part.column.first * sums + gate * g.units * PANEL,
                .b_row = PANEL, .b_panel = sums * PANEL,
                .c = steps_at(&dx, r) + part.column.first, .c_row = dx.b,
                .start = adds || gate ? AS_IS : ZERO,
            });
    }
    count_portion(work, call, &part, GEMM_DX_DY, GEMM_DX_W, GEMM_DX_DX, me);
    work->flops += 2.0 * (double)(part.row.end - part.row.first) * (double)columns * (double)sums;
    return UNROLL_OK;
}
