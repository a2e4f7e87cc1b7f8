/* rnn: walks through time and makes outputs and states. The states lie in planes of scratch, which a step
 * changes in place; views that are kept get copies. Included after rnn_parts.h, not a header of its own.
 *
 * Planes: the states (the first is the whole h; of the others the own units are used), the links, two
 * for messages or for the transposes of a projection. */

static size_t link_plane(const struct rnn *r)
{
    return r->states;
}

static size_t spare_plane(const struct rnn *r)
{
    return r->states + r->links;
}

static void enter(const struct rnn *r)
{
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->row; b < r->row_end; b++)
            put(at_plane(r, s, b) + (s ? r->first_unit : 0), at_state(r, RNN_H0, RNN_S0, s, b),
                s ? r->units : r->width);
}

static void leave(const struct rnn *r)
{
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->row; b < r->row_end; b++) {
            real *to = at_state(r, RNN_HN, RNN_SN, s, b);
            if (to)
                put(to, at_plane(r, s, b) + (s ? r->first_unit : 0), s ? r->units : r->width);
        }
}

static void forget(const struct rnn *r, size_t t)
{
    if (!present(r, RNN_RESET))
        return;
    for (size_t b = r->row; b < r->row_end; b++)
        for (size_t s = 0; s < r->states && starts_anew(r, t, b) && takes_part(r, t, b); s++)
            clear(at_plane(r, s, b), r->scratch_row);
}

/* ---- sums ------------------------------------------------------------------------------ */

/* Adds the bias and the products of the weights, which are in panels, with the operand in a plane. */
static void add_products(const struct rnn *r, size_t t, unsigned source, size_t operand)
{
    const struct tensor *g = &r->view[RNN_G], *bias = &r->view[RNN_BIAS];
    size_t panel = r->width * PANEL, gate = panels(r->units) * panel;
    bool join = r->units % PANEL == 0;      /* else zeros fill up the last panel of each gate */
    struct block k = { 0 };
    while (next_block(r, source, join, &k)) {
        struct product p = {
            .m = r->active_end - r->active, .n = k.count * r->units, .k = r->width,
            .a = at_plane(r, operand, r->active), .a_row = r->scratch_row, .a_col = 1,
            .b = (const real *)r->view[RNN_W].at + k.weight * gate, .b_row = PANEL, .b_panel = panel,
            .c = at_step(r, RNN_G, t, r->active) + k.input * g->stride[2], .c_row = g->stride[1],
            .bias = bias->at ? (const real *)bias->at + k.weight * bias->stride[0] : NULL,
            .start = r->cell->input[k.input].from & FROM_X ? AS_IS : ZERO,
            .wanted = wanted_after(r, t),
            .wanted_bytes = (r->active_end - r->active) * g->stride[1] * sizeof(real),
        };
        r->call->isa->product(&p);
    }
}

static void run_cell(const struct rnn *r, size_t t, int phase)
{
    for (size_t b = r->row, n; (n = next_rows(r, t, &b)) > 0; b += n) {
        struct fields in = step_fields(r, RNN_G, t, b), state = plane_fields(r, 0, b, r->first_unit);
        struct cell_step step = {
            .rows = n, .width = r->units,
            .value = { .in = in, .saved = in, .state = state, .next = state, .vector = vector_fields(r),
                       .link = plane_fields(r, link_plane(r), b, r->first_unit) },
            .options = r->call->plan->model->layer[r->call->op->depth - 1].options,
        };
        r->call->cell->forward[phase](&step);
    }
}

/* ---- projection ------------------------------------------------------------------------ */

static void transpose(real *to, size_t to_row, const real *from, size_t from_row, size_t rows, size_t columns)
{
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
            to[j * to_row + i] = from[i * from_row + j];
}

/* h = P m in place, for n <= PANEL rows: as h^T = P m^T, because P is dense by rows. */
static void project_rows(const struct rnn *r, size_t b, size_t n)
{
    real *h = at_plane(r, 0, b);
    real *m = at_plane(r, spare_plane(r), b), *made = at_plane(r, spare_plane(r) + 1, b);
    struct product p = {
        .m = r->width, .n = n, .k = r->units,
        .a = r->view[RNN_PROJ].at, .a_row = r->view[RNN_PROJ].stride[0], .a_col = 1,
        .b = m, .b_row = n, .b_panel = PANEL, .c = made, .c_row = n, .start = ZERO,
    };
    transpose(m, n, h, r->scratch_row, n, r->units);
    r->call->isa->product(&p);
    transpose(h, r->scratch_row, made, n, r->width, n);
}

static void project(const struct rnn *r, size_t t)
{
    if (!r->projected)
        return;
    for (size_t b = r->active; present(r, RNN_M) && b < r->active_end; b++)
        put(at_step(r, RNN_M, t, b), at_plane(r, 0, b), r->units);
    for (size_t b = r->row, n; (n = next_rows(r, t, &b)) > 0; b += n)
        for (size_t done = 0; done < n; done += PANEL)
            project_rows(r, b + done, n - done < PANEL ? n - done : PANEL);
}

/* ---- ranks that share the units -------------------------------------------------------- */

static void copy_slice(const struct rnn *r, size_t plane, struct slice slice, real *message, bool pack)
{
    for (size_t b = r->row; b < r->row_end; b++, message += slice.count) {
        real *own = at_plane(r, plane, b) + slice.first;
        put(pack ? message : own, pack ? own : message, slice.count);
    }
}

/* Every rank gives the others its units of a plane. */
static unroll_status exchange(const struct rnn *r, size_t plane)
{
    if (!r->group)
        return UNROLL_OK;
    struct comm *comm = r->call->comm;
    uint32_t tag = r->call->op->tag;
    size_t rows = r->row_end - r->row;
    real *sent = at_plane(r, spare_plane(r), r->row), *received = at_plane(r, spare_plane(r) + 1, r->row);
    struct slice own = { (uint32_t)r->first_unit, (uint32_t)r->units };
    copy_slice(r, plane, own, sent, true);
    for (int i = 0; i < r->group->size; i++)
        if (r->group->rank[i] != comm_rank(comm))
            TRY(comm_send(comm, r->group->rank[i], tag, sent, rows * own.count * sizeof(real)));
    for (int i = 0; i < r->group->size; i++) {
        if (r->group->rank[i] == comm_rank(comm))
            continue;
        TRY(comm_recv(comm, r->group->rank[i], tag, received, rows * r->slice[i].count * sizeof(real)));
        copy_slice(r, plane, r->slice[i], received, false);
    }
    return UNROLL_OK;
}

/* ---- the loop -------------------------------------------------------------------------- */

/* Outputs and what backward needs; zeros where a row takes no part. */
static void keep(const struct rnn *r, size_t t)
{
    const struct tensor *g = &r->view[RNN_G], *s = &r->view[RNN_S], *link = &r->view[RNN_LINK];
    for (size_t b = r->row; b < r->row_end; b++) {
        bool part = takes_part(r, t, b);
        put(at_step(r, RNN_Y, t, b), part ? at_plane(r, 0, b) : NULL, r->width);
        for (size_t i = 1; s->at && i < r->states; i++)
            put(at_step(r, RNN_S, t, b) + (i - 1) * s->stride[2],
                part ? at_plane(r, i, b) + r->first_unit : NULL, r->units);
        for (size_t i = 0; link->at && i < r->links; i++)
            put(at_step(r, RNN_LINK, t, b) + i * link->stride[2],
                part ? at_plane(r, link_plane(r) + i, b) : NULL, r->width);
        if (present(r, RNN_M) && !part)         /* where it does, project() kept m */
            clear(at_step(r, RNN_M, t, b), r->units);
        for (size_t i = 0; !part && i < g->count[2]; i++)
            clear(at_step(r, RNN_G, t, b) + i * g->stride[2], r->units);
    }
}

static unroll_status forward_step(struct rnn *r, size_t t)
{
    find_active(r, t);
    if (r->active < r->active_end) {
        forget(r, t);
        add_products(r, t, FROM_H, 0);
        run_cell(r, t, 0);
        if (r->cell->phases == 2) {
            TRY(exchange(r, link_plane(r)));
            add_products(r, t, FROM_LINK, link_plane(r));
            run_cell(r, t, 1);
        }
        project(r, t);
        TRY(exchange(r, 0));
    }
    keep(r, t);
    return UNROLL_OK;
}

unroll_status KERNEL_RNN(const struct call *call, int me, int team, struct work *work)
{
    struct rnn r;
    TRY(begin(&r, call, me, team, 1));
    enter(&r);
    for (size_t i = 0; i < r.steps; i++)
        TRY(forward_step(&r, step_at(&r, i)));
    leave(&r);
    count_work(&r, me, work);
    return UNROLL_OK;
}
