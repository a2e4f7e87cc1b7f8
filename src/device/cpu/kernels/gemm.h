/* gemm: y = bias + W x with W in panels, and gemm_dx: dx = dy W with W in columns, for many rows x or dy. This file
 * divides the work and iterates; the ISA's product does the arithmetic. Weight gradients are in gemm_dw.h. */

/* Gates, units and the stride of gates of a tensor [.., (G), U]. `leading` axes come before. */
struct gates {
    size_t count, units, stride;
};

static struct gates gates_of(const struct tensor *x, int leading)
{
    bool has_gates = x->rank == leading + 2;
    return (struct gates){has_gates ? x->count[leading] : 1, tensor_width(x),
                          has_gates ? x->stride[leading] : tensor_width(x)};
}

/* ---- gemm ------------------------------------------------------------------------------ */

struct gemm {
    struct steps x, y;
    const char *w;
    enum dtype type; /* of w */
    bool bf16x3;     /* w is a right factor of this number of parts */
    int parts;
    const real *bias;
    size_t k, gates, units, y_gate, bias_gate, panels; /* panels of one gate */
};

/* Adjacent gates that fill their panels are treated as one wide gate. */
static struct gemm gemm_of(const struct call *call)
{
    const struct tensor *x = &call->view[GEMM_X], *y = &call->view[GEMM_Y], *bias = &call->view[GEMM_BIAS];
    struct gates g = gates_of(y, 2);
    size_t bias_gate = bias->at ? gates_of(bias, 0).stride : g.units;
    if (g.units % PANEL == 0 && g.stride == g.units && bias_gate == g.units)
        g = (struct gates){1, g.count * g.units, g.count * g.units};
    return (struct gemm){.x = steps_of(x),
                         .y = steps_of(y),
                         .w = call->view[GEMM_W].at,
                         .type = call->view[GEMM_W].dtype,
                         .bf16x3 = call->view[GEMM_W].layout == LAYOUT_BF16X3,
                         .parts = call->isa->parts,
                         .bias = bias->at,
                         .k = tensor_width(&call->view[GEMM_W]),
                         .gates = g.count,
                         .units = g.units,
                         .y_gate = g.stride,
                         .bias_gate = bias_gate,
                         .panels = panels(g.units)};
}

/* Returns the right factor of bf16x3 splits, starting at one unit of a gate. */
static const char *right_of_gate(const struct gemm *g, size_t gate, size_t unit)
{
    const size_t tile = gate * bf16x3_tiles(g->units) + unit / BF16X3_COLUMNS;
    return g->w + tile * bf16x3_steps(g->k) * right_bytes(g->parts, false);
}

/* Returns the columns in a range of panels. The last panel of a gate may have fewer. */
static size_t columns_in(const struct gemm *g, struct range panel)
{
    size_t missing = g->panels * PANEL - g->units;
    size_t gate_ends = panel.end / g->panels - panel.first / g->panels;
    return (panel.end - panel.first) * PANEL - gate_ends * missing;
}

/* Evenly spaced rows of the operand. */
struct gemm_rows {
    const void *at;
    size_t distance, first, count;
};

/* Multiplies rows by panels of one gate. */
static void gemm_run(const struct call *call, const struct gemm *g, const struct gemm_rows *x, struct range panel)
{
    size_t gate = panel.first / g->panels, unit = panel.first % g->panels * PANEL;
    size_t bytes = panel_bytes(g->type, g->k);
    real *y = steps_at(&g->y, x->first) + gate * g->y_gate + unit;
    product_with(call->isa, g->type)(&(struct product){.m = x->count,
                                                       .n = columns_in(g, panel),
                                                       .k = g->k,
                                                       .a = x->at,
                                                       .a_row = x->distance,
                                                       .a_col = 1,
                                                       .b = g->w + panel.first * bytes,
                                                       .b_row = PANEL,
                                                       .b_panel = bytes / word_bytes(g->type),
                                                       .c = y,
                                                       .c_row = g->y.b,
                                                       .start = ZERO,
                                                       .bias = g->bias ? g->bias + gate * g->bias_gate + unit : NULL});
}

/* Returns the end of a panel's gate, at most `end`. */
static size_t gate_end(const struct gemm *g, size_t panel, size_t end)
{
    const size_t next = (panel / g->panels + 1) * g->panels;
    return next < end ? next : end;
}

static void gemm_panels(const struct call *call, const struct gemm *g, const struct gemm_rows *x, struct range panel)
{
    for (size_t p = panel.first, next; p < panel.end; p = next) {
        next = gate_end(g, p, panel.end);
        gemm_run(call, g, x, (struct range){p, next});
    }
}

/* For int8 weights: first quantizes rows to bytes, as many at a time as fit the scratch. */
static void gemm_int8(const struct call *call, const struct gemm *g, const struct gemm_rows *x, struct range panel)
{
    enum { LINE = 16 }; /* words: tiles load rows that start at a cache line in one access */
    struct operand_scratch {
        _Alignas(64) uint32_t words[OPERAND_SCRATCH];
    };
    uint32_t *words = KERNEL_KEEPS(struct operand_scratch)->words;
    const size_t row = (operand_words(g->k) + LINE - 1) / LINE * LINE, max = OPERAND_SCRATCH / row;
    struct gemm_rows bytes = {words, row, x->first, 0};
    for (size_t done = 0; done < x->count; done += bytes.count) {
        bytes.first = x->first + done;
        bytes.count = x->count - done < max ? x->count - done : max;
        for (size_t r = 0; r < bytes.count; r++)
            call->isa->quantize((const real *)x->at + (done + r) * x->distance, g->k, words + r * row);
        gemm_panels(call, g, &bytes, panel);
    }
}

/* For bf16x3 splits: processes some of k at a time, so that their left factors stay in cache. */
static void gemm_bf16x3(const struct call *call, const struct gemm *g, const struct gemm_rows *x, struct range panel)
{
    char *left = KERNEL_KEEPS(struct left_scratch)->at;
    const size_t steps = bf16x3_steps(g->k);
    for (size_t first = 0, some; first < steps; first += some) {
        some = take_left(call, &(struct left_rows){.at = x->at, .row = x->distance, .rows = x->count, .k = g->k}, first,
                         left);
        for (size_t p = panel.first, next; p < panel.end; p = next) {
            next = gate_end(g, p, panel.end);
            const size_t gate = p / g->panels, unit = p % g->panels * PANEL;
            call->isa->product_bf16x3(&(struct product_bf16x3){
                .m = x->count,
                .n = columns_in(g, (struct range){p, next}),
                .steps = some,
                .left = left,
                .left_steps = some,
                .right = right_of_gate(g, gate, unit),
                .right_first = first,
                .right_steps = steps,
                .c = (float *)(void *)(steps_at(&g->y, x->first) + gate * g->y_gate + unit),
                .c_row = g->y.b,
                .bias =
                    g->bias && first == 0 ? (const float *)(const void *)(g->bias + gate * g->bias_gate + unit) : NULL,
                .start = first == 0 ? ZERO : AS_IS});
        }
    }
}

/* Processes few enough rows at a time that they stay in cache from the bias on. */
static void gemm_part(const struct call *call, const struct gemm *g, struct range row, struct range panel)
{
    enum { ROWS = 96, FEW_INPUTS = 4 }; /* with few inputs memory is the limit, and whole rows are faster */
    const bool is_packed = g->bf16x3 || g->type == DTYPE_I8; /* its rows are converted for tiles */
    const size_t max = is_packed ? left_taken(g->k) : g->k <= FEW_INPUTS ? 1 : ROWS;
    for (size_t r = row.first, rows; r < row.end; r += rows) {
        rows = steps_even(&g->x, &g->y, r, row.end);
        rows = rows < max ? rows : max;
        struct gemm_rows x = {steps_at(&g->x, r), g->x.b, r, rows};
        if (g->bf16x3)
            gemm_bf16x3(call, g, &x, panel);
        else if (g->type == DTYPE_I8)
            gemm_int8(call, g, &x, panel);
        else
            gemm_panels(call, g, &x, panel);
    }
}

/* Processes the active rows of a ragged batch. */
static void gemm_lasting(const struct call *call, const struct gemm *g, struct lasting *rows, struct range panel)
{
    const real *x[LEFT_TAKEN];
    real *y[LEFT_TAKEN], *to[LEFT_TAKEN];
    const size_t bytes = panel_bytes(g->type, g->k);
    for (size_t m; (m = lasting_take(rows, &g->x, &g->y, g->bf16x3 ? left_taken(g->k) : GATHERED, x, y)) > 0;)
        for (size_t p = panel.first, next; p < panel.end; p = next) {
            size_t gate = p / g->panels, unit = p % g->panels * PANEL;
            next = gate_end(g, p, panel.end);
            for (size_t i = 0; i < m; i++) to[i] = y[i] + gate * g->y_gate + unit;
            const size_t columns = columns_in(g, (struct range){p, next});
            const real *bias = g->bias ? g->bias + gate * g->bias_gate + unit : NULL;
            if (g->bf16x3) {
                product_gathered_bf16x3(call,
                                        &(struct gathered_bf16x3){.m = m,
                                                                  .n = columns,
                                                                  .k = g->k,
                                                                  .right = right_of_gate(g, gate, unit),
                                                                  .right_steps = bf16x3_steps(g->k),
                                                                  .bias = bias,
                                                                  .start = ZERO},
                                        x, to);
                continue;
            }
            product_gathered(call,
                             &(struct product){.m = m,
                                               .n = columns,
                                               .k = g->k,
                                               .b = g->w + p * bytes,
                                               .b_row = PANEL,
                                               .b_panel = bytes / word_bytes(g->type),
                                               .start = ZERO,
                                               .bias = bias},
                             g->type, x, to);
        }
}

/* y = bias + x W for all rows that have not ended. */
static __attribute__((unused)) unroll_status kernel_gemm(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *y = &call->view[GEMM_Y];
    const struct gemm g = gemm_of(call);
    struct portion part = my_portion((size_t)y->count[0] * y->count[1], g.gates * g.panels, 1, me, team);
    struct lasting rows = lasting_of(y, call->view[GEMM_LENGTHS].at);
    lasting_share(&rows, part.by_rows ? me : 0, part.by_rows ? team : 1);
    const double products = (double)rows.count;
    if (rows.lengths) {
        gemm_lasting(call, &g, &rows, part.column);
        if (y->rank < 4) /* rnn skips the ended rows of gates */
            clear_ended(&rows, &g.y, g.gates, g.y_gate, g.units, me, team);
    } else {
        gemm_part(call, &g, part.row, part.column);
    }

    size_t columns = columns_in(&g, part.column);
    size_t before = columns_in(&g, (struct range){0, part.column.first});
    part.column = (struct range){before, before + columns};
    part.columns = g.gates * g.units;
    count_portion(work, call, &part, GEMM_X, GEMM_W, GEMM_Y, me);
    if (part.by_rows)
        count_view(work, call, GEMM_BIAS, me);
    else
        count_slices(work, call, GEMM_BIAS, part.column, part.columns);
    count_view(work, call, GEMM_LENGTHS, me);
    work->flops += 2 * products * (double)columns * (double)g.k;
    return UNROLL_OK;
}

/* ---- gemm_dx --------------------------------------------------------------------------- */

/* Sums over the gates' units in the order of W's rows. Adjacent gates are one sum. */
struct gemm_dx {
    struct steps dy, dx;
    struct gates g;
    const real *w;
    size_t sums;
    bool adds, bf16x3; /* bf16x3 splits: w is a right factor of this number of parts */
    int parts;
};

/* Adjacent gates are treated as one where the layout of W allows it. */
static struct gemm_dx gemm_dx_of(const struct call *call)
{
    struct gates g = gates_of(&call->view[GEMM_DX_DY], 2);
    const size_t sums = g.count * g.units;
    const bool bf16x3 = call->view[GEMM_DX_W].layout == LAYOUT_BF16X3_BACK;
    if (g.stride == g.units && (!bf16x3 || g.units % BF16X3_K == 0))
        g = (struct gates){1, sums, sums};
    return (struct gemm_dx){.dy = steps_of(&call->view[GEMM_DX_DY]),
                            .dx = steps_of(&call->view[GEMM_DX_DX]),
                            .g = g,
                            .bf16x3 = bf16x3,
                            .parts = call->isa->parts,
                            .w = call->view[GEMM_DX_W].at,
                            .sums = sums,
                            .adds = call->view[GEMM_DX_DX].access == ADD};
}

/* Returns the product of one gate, without rows. */
static struct product gemm_dx_gate(const struct gemm_dx *d, size_t gate, struct range column)
{
    return (struct product){.n = column.end - column.first,
                            .k = d->g.units,
                            .a_row = d->dy.b,
                            .a_col = 1,
                            .b = d->w + column.first * d->sums + gate * d->g.units * PANEL,
                            .b_row = PANEL,
                            .b_panel = d->sums * PANEL,
                            .c_row = d->dx.b,
                            .start = d->adds || gate ? AS_IS : ZERO};
}

/* Returns the step at which the right factor of gate `gates` starts, or the length of all. */
static size_t right_steps(const struct gemm_dx *d, size_t gates) { return gates * bf16x3_steps(d->g.units); }

static const char *right_of_column(const struct gemm_dx *d, size_t column)
{
    return (const char *)d->w + column / BF16X3_COLUMNS * right_steps(d, d->g.count) * right_bytes(d->parts, false);
}

/* Multiplies evenly spaced rows of one gate. */
static void gemm_dx_bf16x3(const struct call *call, const struct gemm_dx *d, size_t gate, size_t column,
                           struct product p)
{
    char *left = KERNEL_KEEPS(struct left_scratch)->at;
    const size_t steps = bf16x3_steps(p.k);
    for (size_t first = 0, some; first < steps; first += some, p.start = AS_IS) {
        some = take_left(call, &(struct left_rows){.at = p.a, .row = p.a_row, .rows = p.m, .k = p.k}, first, left);
        call->isa->product_bf16x3(&(struct product_bf16x3){.m = p.m,
                                                           .n = p.n,
                                                           .steps = some,
                                                           .left = left,
                                                           .left_steps = some,
                                                           .right = right_of_column(d, column),
                                                           .right_first = right_steps(d, gate) + first,
                                                           .right_steps = right_steps(d, d->g.count),
                                                           .c = p.c,
                                                           .c_row = p.c_row,
                                                           .start = p.start});
    }
}

/* Computes dx of some rows and columns, in blocks of rows that stay in cache. */
static void gemm_dx_part(const struct call *call, const struct gemm_dx *d, struct range row, struct range column)
{
    enum { ROWS = 96 }; /* for a narrow product: they stay in cache over its blocks of k */
    const bool narrow = column.end - column.first <= PANEL;
    for (size_t r = row.first, rows; r < row.end; r += rows) {
        rows = steps_even(&d->dy, &d->dx, r, row.end);
        rows = narrow && rows > ROWS ? ROWS : rows;
        rows = d->bf16x3 && rows > left_taken(d->g.units) ? left_taken(d->g.units) : rows;
        for (size_t gate = 0; gate < d->g.count; gate++) {
            struct product p = gemm_dx_gate(d, gate, column);
            p.m = rows;
            p.a = steps_at(&d->dy, r) + gate * d->g.stride;
            p.c = steps_at(&d->dx, r) + column.first;
            if (d->bf16x3)
                gemm_dx_bf16x3(call, d, gate, column.first, p);
            else
                call->isa->product(&p);
        }
    }
}

/* Processes the active rows of a ragged batch. */
static void gemm_dx_lasting(const struct call *call, const struct gemm_dx *d, struct lasting *rows, struct range column)
{
    const real *dy[LEFT_TAKEN];
    real *dx[LEFT_TAKEN];
    for (size_t m; (m = lasting_take(rows, &d->dy, &d->dx, d->bf16x3 ? left_taken(d->g.units) : GATHERED, dy, dx)) > 0;)
        for (size_t gate = 0; gate < d->g.count; gate++) {
            struct product p = gemm_dx_gate(d, gate, column);
            p.m = m;
            for (size_t i = 0; i < m; i++) {
                dy[i] += gate ? d->g.stride : 0;
                dx[i] += gate ? 0 : column.first;
            }
            if (d->bf16x3)
                product_gathered_bf16x3(call,
                                        &(struct gathered_bf16x3){.m = m,
                                                                  .n = p.n,
                                                                  .k = p.k,
                                                                  .right = right_of_column(d, column.first),
                                                                  .right_first = right_steps(d, gate),
                                                                  .right_steps = right_steps(d, d->g.count),
                                                                  .start = p.start},
                                        dy, dx);
            else
                product_gathered(call, &p, call->isa->real, dy, dx);
        }
}

/* dx (+)= dy W for all rows that have not ended. */
static __attribute__((unused)) unroll_status kernel_gemm_dx(const struct call *call, int me, int team,
                                                            struct work *work)
{
    const struct tensor *dx = &call->view[GEMM_DX_DX];
    const struct gemm_dx d = gemm_dx_of(call);
    const size_t width = tensor_width(dx);
    struct portion part = my_portion((size_t)dx->count[0] * dx->count[1], width, PANEL, me, team);
    struct lasting rows = lasting_of(dx, call->view[GEMM_DX_LENGTHS].at);
    lasting_share(&rows, part.by_rows ? me : 0, part.by_rows ? team : 1);
    const double products = (double)rows.count * (double)(part.column.end - part.column.first);
    if (part.column.first == part.column.end)
        rows.count = part.row.end = 0;
    if (rows.lengths) {
        gemm_dx_lasting(call, &d, &rows, part.column);
        if (!d.adds)
            clear_ended(&rows, &d.dx, 1, 0, width, me, team);
    } else {
        gemm_dx_part(call, &d, part.row, part.column);
    }
    count_portion(work, call, &part, GEMM_DX_DY, GEMM_DX_W, GEMM_DX_DX, me);
    count_view(work, call, GEMM_DX_LENGTHS, me);
    work->flops += 2 * products * (double)d.sums;
    return UNROLL_OK;
}
