/* rnn_back: walks through time the other way and turns saved values into gradients of the sums. What flows
 * from step to step lies in planes of scratch. Included after rnn_parts.h, not a header of its own.
 *
 * Planes: values of the states entering and leaving the step, gradients of both (own units everywhere), the
 * gradients of the links, two for the projected output or for sums over ranks. */

struct back {
    struct rnn r;
    size_t state, next, d_state, d_next;    /* the first of their planes; pairs change places each step */
    size_t d_link;
    size_t d_state_h, d_next_h;             /* of the projected output */
};

/* Width of the gradient of the output that this rank carries. */
static size_t output_width(const struct rnn *r)
{
    return r->projected ? r->width : r->units;
}

static void swap(size_t *a, size_t *b)
{
    size_t kept = *a;
    *a = *b;
    *b = kept;
}

/* The plane of the gradient of state s that is carried: with a projection the cell's own h is not. */
static size_t carried_plane(const struct back *k, size_t s, bool entering)
{
    if (s == 0 && k->r.projected)
        return entering ? k->d_state_h : k->d_next_h;
    return (entering ? k->d_state : k->d_next) + s;
}

static size_t carried_width(const struct back *k, size_t s)
{
    return s ? k->r.units : output_width(&k->r);
}

/* ---- values ---------------------------------------------------------------------------- */

/* State s after step t, own units. With a projection the cell made m. */
static const real *leaving(const struct rnn *r, size_t s, size_t t, size_t b)
{
    if (s)
        return at_step(r, RNN_S, t, b) + (s - 1) * r->view[RNN_S].stride[2];
    return r->projected ? at_step(r, RNN_M, t, b) : at_step(r, RNN_Y, t, b) + r->first_unit;
}

/* State s before step t, own units; NULL: zeros. No projected cell reads its h: the m there will do. */
static const real *entering(const struct rnn *r, size_t s, size_t t, size_t b)
{
    bool first = t == step_at(r, 0);
    size_t before = r->call->op->direction ? t + 1 : t - 1;
    if (starts_anew(r, t, b))
        return NULL;
    if (!first && takes_part(r, before, b))
        return leaving(r, s, before, b);
    if (s == 0 && r->projected)
        return NULL;
    const real *at = at_state(r, RNN_H0, RNN_S0, s, b);
    return at && s == 0 ? at + r->first_unit : at;
}

/* Both sides of step t. Where no row ends or starts anew, one side is the other side of the step before. */
static void load_values(struct back *k, size_t t)
{
    const struct rnn *r = &k->r;
    bool both = t == step_at(r, r->steps - 1) || present(r, RNN_LENGTHS) || present(r, RNN_RESET);
    swap(&k->state, &k->next);
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->active; b < r->active_end; b++) {
            if (!takes_part(r, t, b))
                continue;
            put(at_plane(r, k->state + s, b), entering(r, s, t, b), r->units);
            if (both)
                put(at_plane(r, k->next + s, b), leaving(r, s, t, b), r->units);
        }
}

/* ---- products -------------------------------------------------------------------------- */

/* Adds to a plane of K numbers a row, or sets it: the gradient of the operand that `source` multiplied. */
static void add_operand_gradient(const struct rnn *r, size_t t, unsigned source, size_t plane,
                                 enum start start)
{
    const struct tensor *g = &r->view[RNN_G], *w = &r->view[RNN_W];
    struct block k = { 0 };
    for (; next_block(r, source, true, &k); start = AS_IS) {
        struct product p = {
            .m = r->active_end - r->active, .n = r->width, .k = k.count * r->units,
            .a = at_step(r, RNN_G, t, r->active) + k.input * g->stride[2], .a_row = g->stride[1], .a_col = 1,
            .b = (const real *)w->at + k.weight * w->stride[0],
            .b_row = PANEL, .b_panel = w->count[0] * w->stride[0],
            .c = at_plane(r, plane, r->active), .c_row = r->scratch_row,
            .start = start,
            .wanted = wanted_after(r, t),
            .wanted_bytes = (r->active_end - r->active) * g->stride[1] * sizeof(real),
        };
        r->call->isa->product(&p);
    }
}

/* dm = dh P */
static void project_back(const struct back *k)
{
    const struct rnn *r = &k->r;
    const struct tensor *w = &r->view[RNN_PROJ];
    struct product p = {
        .m = r->active_end - r->active, .n = r->units, .k = r->width,
        .a = at_plane(r, k->d_next_h, r->active), .a_row = r->scratch_row, .a_col = 1,
        .b = w->at, .b_row = w->stride[0], .b_panel = PANEL,
        .c = at_plane(r, k->d_next, r->active), .c_row = r->scratch_row,
        .start = ZERO,
    };
    r->call->isa->product(&p);
}

/* The gradient of the entering h through the weights. With a group it is a partial sum for all units, of
 * which this rank wants its own. */
static unroll_status recur(const struct back *k, size_t t)
{
    const struct rnn *r = &k->r;
    if (!r->group) {
        add_operand_gradient(r, t, FROM_H, carried_plane(k, 0, true), r->projected ? ZERO : AS_IS);
        return UNROLL_OK;
    }
    struct block any = { 0 };
    if (!next_block(r, FROM_H, true, &any))
        return UNROLL_OK;
    add_operand_gradient(r, t, FROM_H, k->d_state_h, ZERO);
    TRY(sum_over_ranks(r, k->d_state_h));
    for (size_t b = r->active; b < r->active_end; b++)
        add(at_plane(r, k->d_state, b), at_plane(r, k->d_state_h, b) + r->first_unit, r->units);
    return UNROLL_OK;
}

/* ---- one step -------------------------------------------------------------------------- */

/* Adds the gradient of the output of step t to what came from later steps. */
static void receive(const struct back *k, size_t t)
{
    const struct rnn *r = &k->r;
    for (size_t b = r->active; present(r, RNN_DY) && b < r->active_end; b++)
        if (takes_part(r, t, b))
            add(at_plane(r, carried_plane(k, 0, false), b), at_step(r, RNN_DY, t, b) + r->first_unit,
                output_width(r));
    if (r->projected)
        project_back(k);
}

/* The cells add to the gradients of the states entering: these begin as zeros. */
static void clear_entering(const struct back *k)
{
    for (size_t s = 0; s < k->r.states; s++)
        for (size_t b = k->r.active; b < k->r.active_end; b++)
            clear(at_plane(&k->r, k->d_state + s, b), k->r.units);
}

static void run_cell_back(const struct back *k, size_t t, int phase)
{
    const struct rnn *r = &k->r;
    for (size_t b = r->row, n; (n = next_rows(r, t, &b)) > 0; b += n) {
        struct fields in = step_fields(r, RNN_G, t, b);
        struct cell_step step = {
            .rows = n, .width = r->units,
            .value = { .in = in, .saved = in, .state = plane_fields(r, k->state, b, 0),
                       .next = plane_fields(r, k->next, b, 0), .vector = vector_fields(r) },
            .gradient = { .in = in, .state = plane_fields(r, k->d_state, b, 0),
                          .next = plane_fields(r, k->d_next, b, 0),
                          .link = plane_fields(r, k->d_link, b, r->first_unit),
                          .vector = step_fields(r, RNN_DV, t, b) },
            .options = r->call->plan->model->layer[r->call->op->depth - 1].options,
        };
        r->call->cell->backward[phase](&step);
    }
}

/* Rows that take no part hand their gradients on; those that started anew end them. */
static void hand_on(const struct back *k, size_t t)
{
    const struct rnn *r = &k->r;
    for (size_t b = r->row; b < r->row_end && (present(r, RNN_LENGTHS) || present(r, RNN_RESET)); b++) {
        bool part = takes_part(r, t, b);
        if (part && !starts_anew(r, t, b))
            continue;
        for (size_t s = 0; s < r->states; s++)
            put(at_plane(r, carried_plane(k, s, true), b),
                part ? NULL : at_plane(r, carried_plane(k, s, false), b), carried_width(k, s));
    }
}

/* Gradients that are kept step by step; zeros where a row takes no part. The cell wrote the rest of DV. */
static void keep_gradients(const struct back *k, size_t t)
{
    const struct rnn *r = &k->r;
    const struct tensor *dv = &r->view[RNN_DV];
    for (size_t b = r->row; b < r->row_end; b++) {
        bool part = takes_part(r, t, b);
        if (present(r, RNN_DP))
            put(at_step(r, RNN_DP, t, b), part ? at_plane(r, k->d_next_h, b) : NULL, r->width);
        for (size_t i = 0; dv->at && !part && i < dv->count[2]; i++)
            clear(at_step(r, RNN_DV, t, b) + i * dv->stride[2], r->units);
    }
}

static unroll_status backward_step(struct back *k, size_t t)
{
    struct rnn *r = &k->r;
    find_active(r, t);
    if (r->active < r->active_end) {
        load_values(k, t);
        receive(k, t);
        clear_entering(k);
        if (r->cell->phases == 2) {
            run_cell_back(k, t, 1);
            add_operand_gradient(r, t, FROM_LINK, k->d_link, ZERO);
            if (r->group)
                TRY(sum_over_ranks(r, k->d_link));
        }
        run_cell_back(k, t, 0);
        TRY(recur(k, t));
    }
    keep_gradients(k, t);
    hand_on(k, t);
    swap(&k->d_state, &k->d_next);
    swap(&k->d_state_h, &k->d_next_h);
    return UNROLL_OK;
}

/* ---- the loop -------------------------------------------------------------------------- */

static void begin_gradients(const struct back *k)
{
    const struct rnn *r = &k->r;
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->row; b < r->row_end; b++)
            put(at_plane(r, carried_plane(k, s, false), b), at_state(r, RNN_DHN, RNN_DSN, s, b),
                carried_width(k, s));
}

/* The first contribution to a gradient writes it, the others add. */
static void end_gradients(const struct back *k)
{
    const struct rnn *r = &k->r;
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->row; b < r->row_end; b++) {
            real *to = at_state(r, RNN_DH0, RNN_DS0, s, b);
            const real *from = at_plane(r, carried_plane(k, s, false), b);
            if (to && r->call->op->view[s ? RNN_DS0 : RNN_DH0].access == ADD)
                add(to, from, carried_width(k, s));
            else if (to)
                put(to, from, carried_width(k, s));
        }
}

unroll_status KERNEL_RNN_BACK(const struct call *call, int me, int team, struct work *work)
{
    struct back k;
    TRY(begin(&k.r, call, me, team, 4));
    size_t states = k.r.states;
    k.state = 0;
    k.next = states;
    k.d_state = 2 * states;
    k.d_next = 3 * states;
    k.d_link = 4 * states;
    k.d_state_h = k.d_link + k.r.links;
    k.d_next_h = k.d_state_h + 1;
    begin_gradients(&k);
    for (size_t i = k.r.steps; i-- > 0;)
        TRY(backward_step(&k, step_at(&k.r, i)));
    end_gradients(&k);
    count_work(&k.r, me, work);
    return UNROLL_OK;
}
