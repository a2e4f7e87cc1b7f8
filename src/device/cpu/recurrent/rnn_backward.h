/* rnn_back: iterates backward in time and converts saved values to gradients of the sums. A step processes blocks of
 * units: the product that ends the previous step, then the cell on its result while that is in cache.
 *
 * The planes contain, in this order: the states entering and leaving a step, if views do not hold them in one place.
 * Gradients of the states, updated in place, and of the intermediates. The gradient of a projected output or a sum over
 * ranks, and a spare plane. Then the gradients of the sums for products, of this step and the next: the active rows,
 * adjacent, at strides that avoid the cache conflicts of 4 KB rows, or left factors. */

/* The active rows of a step, and the plane where their gradients are gathered. */
struct rows {
    size_t t, first, end, count, gathered;
};

struct back {
    struct rnn r;
    size_t block;                                /* units processed at once */
    bool reverse;                                /* blocks are processed from the last to the first */
    bool in_views;                               /* values of states are read directly from views */
    struct rows rows, before;                    /* of this step, and of the previous one; count 0: none */
    size_t state, next, d_state, d_intermediate; /* the first of their planes */
    size_t d_whole, spare;
    size_t gathers_in;            /* planes of the gathered rows of one step */
    bool bf16x3;                  /* products multiply bf16x3 splits */
    bool at_once;                 /* a step's products end before its cells start: one gathered step is enough */
    struct product lone;          /* the product of a lone row processed at once, without its sums; m 0: not used */
    struct cell_step step, ahead; /* arguments of the cell: addresses and rows change every step */
};

/* Returns the plane of the carried gradient of state s. With a projection the cell's own h is not carried. */
static size_t carried_plane(const struct back *k, size_t s)
{
    return s == 0 && k->r.projected ? k->d_whole : k->d_state + s;
}

/* at may be NULL. */
static real *from_unit(const real *at, size_t unit)
{
    return at ? (real *)at + unit : NULL; /* some of these arrays are only read */
}

/* ---- rows ------------------------------------------------------------------------------ */

/* Finds the active rows, gathered in planes that the previous step does not use. */
static void find_rows(struct back *k, size_t t)
{
    const struct rnn *r = &k->r;
    size_t gathered = k->spare + 1;
    struct rows rows = {.t = t, .first = r->row_end, .end = r->row_end, .gathered = gathered};
    rows.gathered += k->before.gathered == gathered && !k->at_once ? k->gathers_in : 0;
    for (size_t b = r->row, n; (n = next_rows(r, t, &b)) > 0; b += n) {
        rows.first = rows.count ? rows.first : b;
        rows.end = b + n;
        rows.count += n;
    }
    k->rows = rows;
}

/* Returns whether inactive rows are between the active ones. */
static bool scattered(const struct rows *rows) { return rows->count != rows->end - rows->first; }

/* Returns the stride of gathered rows in elements. */
static size_t gathered_row(const struct rnn *r)
{
    enum { SHARED = 256, APART = 16 }; /* elements: at multiples of 1 KB rows are padded */
    size_t row = (size_t)r->cell->inputs * r->sums;
    return row % SHARED ? row : row + APART;
}

/* Gathered gradients of the sums: [inputs][U] per active row, in order. */
static real *at_gathered(const struct rnn *r, const struct rows *rows, size_t place)
{
    return at_plane(r, rows->gathered, 0) + (r->row + place) * gathered_row(r);
}

/* The own units of these. */
static real *at_own_gathered(const struct rnn *r, const struct rows *rows, size_t place)
{
    return at_gathered(r, rows, place) + (r->gathers ? r->first_unit : 0);
}

/* Steps of k of the sums of `inputs` inputs. */
static size_t steps_of_sums(const struct rnn *r, size_t inputs) { return inputs * bf16x3_steps(r->sums); }

/* Returns the left factor of the gathered rows, aligned to cache lines. */
static char *at_left(const struct rnn *r, const struct rows *rows)
{
    enum { LINE = 64 };
    uintptr_t at = (uintptr_t)at_plane(r, rows->gathered, 0);
    return (char *)((at + LINE - 1) / LINE * LINE) +
           r->row * steps_of_sums(r, (size_t)r->cell->inputs) * left_row_bytes(r->call->isa->parts);
}

/* Gathers the cell's result for some units while it is in cache. */
static void gather_left(const struct back *k, size_t unit, size_t units, int phase)
{
    const struct rnn *r = &k->r;
    const size_t inputs = (size_t)r->cell->inputs;
    size_t b = k->rows.first;
    for (size_t place = 0, n; place < k->rows.count; place += n) {
        uint32_t list[LEFT_ROWS];
        for (n = 0; n < LEFT_ROWS && b < k->rows.end; b++)
            if (takes_part(r, k->rows.t, b))
                list[n++] = (uint32_t)b;
        for (size_t i = 0; i < inputs; i++)
            if (r->cell->input[i].phase == phase)
                r->call->isa->left_rows(&(struct left_rows){
                    .to = at_left(r, &k->rows) + place * steps_of_sums(r, inputs) * left_row_bytes(r->call->isa->parts),
                    .steps = steps_of_sums(r, inputs),
                    .first = steps_of_sums(r, i) + unit / BF16X3_K,
                    .at = at_step(r, RNN_G, k->rows.t, 0) + i * r->view[RNN_G].stride[2] + unit,
                    .row = r->view[RNN_G].stride[1],
                    .list = list,
                    .rows = n,
                    .k = units});
    }
}

/* Copies columns of a plane, for active rows, to their places in the spare plane or back. */
static void move_columns(const struct back *k, const struct rows *rows, size_t plane, size_t column, size_t columns,
                         bool back)
{
    const struct rnn *r = &k->r;
    size_t place = r->row;
    for (size_t b = rows->first; b < rows->end; b++) {
        if (!takes_part(r, rows->t, b))
            continue;
        real *there = at_plane(r, plane, b) + column, *here = at_plane(r, k->spare, place++) + column;
        put(back ? there : here, back ? here : there, columns);
    }
}

/* ---- values ---------------------------------------------------------------------------- */

/* State s after step t, own units. With a projection the cell's output is m. */
static const real *leaving(const struct rnn *r, size_t s, size_t t, size_t b)
{
    if (s)
        return at_step(r, RNN_S, t, b) + (s - 1) * r->view[RNN_S].stride[2];
    return r->projected ? at_step(r, RNN_M, t, b) : at_step(r, RNN_Y, t, b) + r->first_unit;
}

/* State s before step t, own units; NULL: zeros. No projected cell reads its h, so m takes its place. */
static const real *entering(const struct rnn *r, size_t s, size_t t, size_t b)
{
    bool first = t == step_at(r, 0);
    size_t before = r->call->direction ? t + 1 : t - 1;
    if (is_reset(r, t, b))
        return NULL;
    if (!first && takes_part(r, before, b))
        return leaving(r, s, before, b);
    if (s == 0 && r->projected)
        return NULL;
    const real *at = at_state(r, RNN_H0, RNN_S0, s, b);
    return at && s == 0 ? at + r->first_unit : at;
}

/* Copies the states before and after a step to planes, for some units. */
static void load_values(const struct back *k, size_t unit, size_t units)
{
    const struct rnn *r = &k->r;
    for (size_t b = k->rows.first; b < k->rows.end; b++)
        for (size_t s = 0; s < r->states && takes_part(r, k->rows.t, b); s++) {
            const real *from = entering(r, s, k->rows.t, b);
            put(at_plane(r, k->state + s, b) + unit, from ? from + unit : NULL, units);
            put(at_plane(r, k->next + s, b) + unit, leaving(r, s, k->rows.t, b) + unit, units);
        }
}

/* Sets their addresses in views, starting at one row and unit. */
static void place_values(const struct rnn *r, size_t t, size_t b, size_t unit, struct cell_arrays *value)
{
    const size_t before = r->call->direction ? t + 1 : t - 1;
    const struct tensor *h0 = &r->view[RNN_H0], *s0 = &r->view[RNN_S0];
    value->first_next.at = from_unit(leaving(r, 0, t, b), unit);
    value->next.at = from_unit(at_step(r, RNN_S, t, b), unit);
    value->state = value->next;
    value->first_state = value->first_next;
    if (t != step_at(r, 0)) {
        value->first_state.at = from_unit(leaving(r, 0, before, b), unit);
        value->state.at = from_unit(at_step(r, RNN_S, before, b), unit);
        return;
    }
    value->state = (struct fields){from_unit(at_state(r, RNN_H0, RNN_S0, 1, b), unit), s0->stride[0], s0->stride[1]};
    if (!r->projected) {
        value->first_state.at = (real *)h0->at + b * h0->stride[0] + r->first_unit + unit;
        value->first_state.row = h0->stride[0];
    }
}

/* ---- the cell -------------------------------------------------------------------------- */

/* Prepares the fields that all steps share. */
static struct cell_step prepare_cell(const struct back *k)
{
    const struct rnn *r = &k->r;
    const struct fields in = step_fields(r, RNN_G), plane = plane_fields(r);
    const struct fields h = {.row = r->view[r->projected ? RNN_M : RNN_Y].stride[1]};
    struct cell_step step = {.value = {.saved = in, .state = plane, .next = plane, .vector = vector_fields(r)},
                             .gradient = {.in = in,
                                          .state = plane,
                                          .next = plane,
                                          .first_next = step_fields(r, RNN_DY),
                                          .intermediate = plane,
                                          .vector = step_fields(r, RNN_DV)},
                             .copy = {.field = r->sums, .row = gathered_row(r)},
                             .options = r->call->options};
    if (k->in_views) {
        step.value.first_next = h;
        step.value.next = step_fields(r, RNN_S);
    }
    return step;
}

/* Sets the addresses for n rows of step t from row b on, for some units. */
static void place_cell(const struct back *k, struct cell_step *step, size_t t, size_t b, size_t n, size_t unit,
                       size_t units)
{
    const struct rnn *r = &k->r;
    step->rows = n;
    step->width = units;
    step->gradient.in.at = at_step(r, RNN_G, t, b) + unit;
    step->value.saved.at = present(r, RNN_SAVED) ? at_step(r, RNN_SAVED, t, b) + unit : step->gradient.in.at;
    step->value.vector.at = from_unit(r->view[RNN_VECTOR].at, unit);
    step->gradient.state.at = step->gradient.next.at = at_plane(r, k->d_state, b) + unit;
    step->gradient.intermediate.at =
        at_plane(r, k->d_intermediate, b) + (r->group && !r->gathers ? r->first_unit : unit);
    step->gradient.vector.at = from_unit(at_step(r, RNN_DV, t, b), unit);
    step->gradient.first_next.at = r->projected ? NULL : from_unit(at_step(r, RNN_DY, t, b), r->first_unit + unit);
    if (k->in_views) {
        place_values(r, t, b, unit, &step->value);
        return;
    }
    step->value.state.at = at_plane(r, k->state, b) + unit;
    step->value.next.at = at_plane(r, k->next, b) + unit;
}

/* Does the same for this step, whose gradients of the sums are gathered starting at `place`. */
static void place_gathering(struct back *k, size_t place, size_t b, size_t n, size_t unit, size_t units)
{
    place_cell(k, &k->step, k->rows.t, b, n, unit, units);
    k->step.copy.at = k->bf16x3 ? NULL : at_own_gathered(&k->r, &k->rows, place) + unit;
}

/* Runs the cell's backward. The last phase runs first and sets the gradients of the entering states; the other one adds
 * to them. */
static void run_cell_back(struct back *k, size_t unit, size_t units, int phase, const struct cell_step *ahead)
{
    const struct rnn *r = &k->r;
    struct cell_step *step = &k->step;
    size_t place = 0;
    step->sets_state = phase == r->cell->phases - 1;
    step->ahead = ahead;
    for (size_t b = r->row, n; (n = next_rows(r, k->rows.t, &b)) > 0; b += n, place += n) {
        place_gathering(k, place, b, n, unit, units);
        r->call->cell->backward[phase](step);
    }
    if (k->bf16x3)
        gather_left(k, unit, units, phase);
}

/* ---- products -------------------------------------------------------------------------- */

/* Returns the weights of the block after the one at `column`, or NULL. */
static const real *columns_after(const struct back *k, size_t column)
{
    const struct tensor *w = &k->r.view[RNN_W];
    if (k->reverse ? column < k->r.unit + k->block : column + k->block >= k->r.unit_end)
        return NULL;
    column = k->reverse ? column - k->block : column + k->block;
    return (const real *)w->at + column * w->count[0] * w->count[1];
}

/* One or two rows need many columns for enough chains; the little other memory is prefetched by hardware. */
static bool is_lone(const struct back *k) { return !k->r.group && !k->r.projected && k->r.row_end - k->r.row <= 2; }

/* Memory that a block's product prefetches: the weights of the next block. If all weights are near, a share of the next
 * step's saved values instead, which are too far apart for the cell's own prefetches. */
struct wanted {
    const real *at;
    size_t bytes;
};

static struct wanted wanted_after(const struct back *k, size_t column)
{
    enum { NEAR = 512 << 10 };
    const struct rnn *r = &k->r;
    const struct tensor *w = &r->view[RNN_W], *g = &r->view[RNN_G];
    const size_t panel = w->count[0] * w->stride[0] * sizeof(real), t = k->rows.t;
    const size_t blocks = (r->unit_end - r->unit + k->block - 1) / k->block;
    const size_t share = (r->row_end - r->row) * g->stride[1] / blocks;
    if (panel * panels(w->count[2]) > NEAR || !k->in_views || is_lone(k))
        return (struct wanted){columns_after(k, column), panel};
    if (t == step_at(r, 0))
        return (struct wanted){0};
    const real *next = at_step(r, RNN_G, r->call->direction ? t + 1 : t - 1, r->row);
    return (struct wanted){next + (column - r->unit) / k->block * share, share * sizeof(real)};
}

static void multiply_bf16x3(const struct back *k, const struct rows *rows, struct block of, struct product p,
                            size_t column)
{
    const struct rnn *r = &k->r;
    const struct tensor *w = &r->view[RNN_W];
    const size_t steps = steps_of_sums(r, w->count[0]);
    const bool whole = layout_is_whole(w->layout), wants = k->in_views && (p.n == PANEL || p.n == r->units);
    r->call->isa->product_bf16x3(&(struct product_bf16x3){
        .m = p.m,
        .n = p.n,
        .steps = steps_of_sums(r, of.count),
        .left = at_left(r, rows),
        .left_first = steps_of_sums(r, of.input),
        .left_steps = steps_of_sums(r, (size_t)r->cell->inputs),
        .right = (const char *)w->at + column / BF16X3_COLUMNS * steps * right_bytes(r->call->isa->parts, whole),
        .whole = whole,
        .right_first = steps_of_sums(r, of.weight),
        .right_steps = steps,
        .c = p.c,
        .c_row = p.c_row,
        .start = p.start,
        .reverse = k->reverse,
        .wanted = (const char *)(at_step(r, RNN_G, k->rows.t, r->row) + column),
        .wanted_pieces = wants ? p.m * (size_t)r->cell->inputs * p.n * sizeof(real) / WANTED_PIECE : 0,
        .wanted_distance = p.n < r->units ? r->view[RNN_G].stride[2] * sizeof(real) : WANTED_PIECE});
}

/* Returns the product of some sums with the weights, for some columns. */
static struct product operand_product(const struct back *k, const struct rows *rows, struct block of, real *sum,
                                      size_t column, size_t columns, enum start start)
{
    const struct rnn *r = &k->r;
    const struct tensor *w = &r->view[RNN_W];
    const size_t panel = w->count[0] * w->stride[0];
    return (struct product){.m = rows->count,
                            .n = columns,
                            .k = of.count * r->sums,
                            .a = at_gathered(r, rows, 0) + of.input * r->sums,
                            .a_row = gathered_row(r),
                            .a_col = 1,
                            .b = (const real *)w->at + column / PANEL * panel + of.weight * w->stride[0],
                            .b_row = PANEL,
                            .b_panel = panel,
                            .c = sum + column,
                            .c_row = r->scratch_row,
                            .start = start};
}

/* Computes columns of the gradient of the operand multiplied by `source`, added to a plane or set. */
static void add_operand_gradient(const struct back *k, const struct rows *rows, unsigned source, size_t plane,
                                 size_t column, size_t columns, enum start start)
{
    const struct rnn *r = &k->r;
    bool moves = scattered(rows);
    const struct wanted wanted = wanted_after(k, column);
    if (moves && start == AS_IS)
        move_columns(k, rows, plane, column, columns, false);
    for (struct block of = {0}; next_block(r, source, true, &of); start = AS_IS) {
        real *sum = moves ? at_plane(r, k->spare, r->row) : at_plane(r, plane, rows->first);
        struct product p = operand_product(k, rows, of, sum, column, columns, start);
        p.wanted = wanted.at;
        p.wanted_bytes = wanted.bytes;
        if (k->bf16x3)
            multiply_bf16x3(k, rows, of, p, column);
        else
            r->call->isa->product(&p);
    }
    if (moves)
        move_columns(k, rows, plane, column, columns, true);
}

/* dm = dh P */
static void project_back(const struct back *k)
{
    const struct rnn *r = &k->r;
    const struct tensor *w = &r->view[RNN_PROJ];
    struct product p = {.m = k->rows.end - k->rows.first,
                        .n = r->units,
                        .k = r->width,
                        .a = at_plane(r, k->d_whole, k->rows.first),
                        .a_row = r->scratch_row,
                        .a_col = 1,
                        .b = w->at,
                        .b_row = w->stride[0],
                        .b_panel = PANEL,
                        .c = at_plane(r, k->d_state, k->rows.first),
                        .c_row = r->scratch_row,
                        .start = ZERO};
    r->call->isa->product(&p);
}

/* With a projection, adds the gradient of the output to the carried one and passes it to the cell. */
static void receive_projected(const struct back *k)
{
    const struct rnn *r = &k->r;
    size_t t = k->rows.t;
    for (size_t b = r->row; b < r->row_end; b++) {
        bool part = takes_part(r, t, b);
        if (part && present(r, RNN_DY))
            add(at_plane(r, k->d_whole, b), at_step(r, RNN_DY, t, b), r->width);
        if (present(r, RNN_DP))
            put(at_step(r, RNN_DP, t, b), part ? at_plane(r, k->d_whole, b) : NULL, r->width);
    }
    if (k->rows.count)
        project_back(k);
}

/* The gradient of h over all units is a partial sum; after summing over ranks this rank uses its own units. */
static unroll_status recur_over_ranks(const struct back *k, const struct rows *rows)
{
    const struct rnn *r = &k->r;
    struct block any = {0};
    if (!next_block(r, FROM_H, true, &any))
        return UNROLL_OK;
    add_operand_gradient(k, rows, FROM_H, k->d_whole, 0, r->width, ZERO);
    for (size_t b = rows->first, n; (n = next_rows(r, rows->t, &b)) > 0; b += n)
        TRY(sum_over_ranks(r, k->d_whole, b, b + n)); /* what the other rows carry is already complete */
    for (size_t b = rows->first; b < rows->end && !r->projected; b++)
        if (takes_part(r, rows->t, b))
            add(at_plane(r, k->d_state, b), at_plane(r, k->d_whole, b) + r->first_unit, r->units);
    return UNROLL_OK;
}

/* Copies own units of the gathered rows of some inputs to a message, or those of another rank from one. */
static void copy_sums(const struct back *k, int phase, struct slice slice, real *message, bool pack)
{
    const struct rnn *r = &k->r;
    for (size_t place = 0; place < k->rows.count; place++)
        for (int i = 0; i < r->cell->inputs; i++) {
            real *own = at_gathered(r, &k->rows, place) + (size_t)i * r->sums + slice.first;
            if (r->cell->input[i].phase != phase)
                continue;
            put(pack ? message : own, pack ? own : message, slice.count);
            message += slice.count;
        }
}

/* Exchanges the gradients of a phase's sums between ranks. Messages use the planes of the previous step's gathered
 * rows, which are no longer needed. */
static unroll_status gather_phase(const struct back *k, int phase)
{
    const struct rnn *r = &k->r;
    const struct rows *rows = &k->rows;
    size_t inputs = 0, other = k->spare + 1;
    if (!r->gathers || rows->count == 0)
        return UNROLL_OK;
    for (int i = 0; i < r->cell->inputs; i++) inputs += r->cell->input[i].phase == phase;
    other += rows->gathered == other ? k->gathers_in : 0;
    const struct slice own = {(uint32_t)r->first_unit, (uint32_t)r->units};
    real *sent = at_plane(r, other, 0), *received = sent + rows->count * inputs * own.count;
    const int me = comm_rank(r->call->comm);
    copy_sums(k, phase, own, sent, true);
    for (int i = 0; i < r->group->size; i++)
        if (r->group->rank[i] != me)
            TRY(comm_send(r->call->comm, r->group->rank[i], r->call->tag, sent,
                          rows->count * inputs * own.count * sizeof(real)));
    for (int i = 0; i < r->group->size; i++) {
        if (r->group->rank[i] == me)
            continue;
        const struct slice its = slice_of(r, i);
        TRY(comm_recv(r->call->comm, r->group->rank[i], r->call->tag, received,
                      rows->count * inputs * its.count * sizeof(real)));
        copy_sums(k, phase, its, received, false);
    }
    return UNROLL_OK;
}

/* Stores the gathered gradients for the product that computes the gradient of x. */
static void keep_gathered(const struct back *k)
{
    const struct rnn *r = &k->r;
    const struct tensor *dg = &r->view[RNN_DG];
    size_t place = 0;
    for (size_t b = r->row; dg->at && b < r->row_end; b++)
        if (takes_part(r, k->rows.t, b)) {
            for (size_t i = 0; i < dg->count[2]; i++)
                put(at_step(r, RNN_DG, k->rows.t, b) + i * dg->stride[2], at_gathered(r, &k->rows, place) + i * r->sums,
                    r->sums);
            place++;
        }
}

/* Computes the gradient of the state that entered the previous step, for some units, through the weights. A row that
 * was reset there passes no gradient on. */
static unroll_status end_step(const struct back *k, size_t unit, size_t units)
{
    const struct rnn *r = &k->r;
    const struct rows *rows = &k->before;
    if (rows->count && r->group && !r->gathers)
        TRY(recur_over_ranks(k, rows));
    else if (rows->count)
        add_operand_gradient(k, rows, FROM_H, carried_plane(k, 0), r->projected ? 0 : unit,
                             r->projected ? r->width : units, r->projected ? ZERO : AS_IS);
    for (size_t b = rows->first; rows->count && present(r, RNN_RESET) && b < rows->end; b++)
        for (size_t s = 0; s < r->states && takes_part(r, rows->t, b) && is_reset(r, rows->t, b); s++)
            if (s == 0 && r->projected)
                clear(at_plane(r, k->d_whole, b), r->width);
            else
                clear(at_plane(r, k->d_state + s, b) + unit, units);
    return UNROLL_OK;
}

static unroll_status intermediate_gradient(const struct back *k, size_t unit, size_t units)
{
    const struct rnn *r = &k->r;
    bool sums = r->group && !r->gathers;
    add_operand_gradient(k, &k->rows, FROM_INTERMEDIATE, k->d_intermediate, sums ? 0 : unit, sums ? r->width : units,
                         ZERO);
    return sums ? sum_over_ranks(r, k->d_intermediate, k->rows.first, k->rows.end) : UNROLL_OK;
}

/* ---- one step -------------------------------------------------------------------------- */

/* Returns the i-th block of units; false after the last. */
static bool next_units(const struct back *k, size_t i, size_t *unit, size_t *units)
{
    size_t all = k->r.unit_end - k->r.unit, blocks = (all + k->block - 1) / k->block;
    if (i >= blocks)
        return false;
    size_t first = (k->reverse ? blocks - 1 - i : i) * k->block;
    *unit = k->r.unit + first;
    *units = all - first < k->block ? all - first : k->block;
    return true;
}

/* Returns what the cell processes after block i of these units: the next block, or the same block of the next step. */
static const struct cell_step *step_ahead(struct back *k, size_t i, size_t unit, size_t units)
{
    const struct rnn *r = &k->r;
    size_t t = k->rows.t;
    if (!k->in_views || is_lone(k))
        return NULL;
    if (!next_units(k, i + 1, &unit, &units)) {
        if (t == step_at(r, 0))
            return NULL;
        t = r->call->direction ? t + 1 : t - 1;
    }
    place_cell(k, &k->ahead, t, r->row, r->row_end - r->row, unit, units);
    return &k->ahead;
}

static void clear_absent(const struct back *k, size_t unit, size_t units)
{
    const struct rnn *r = &k->r;
    const struct tensor *dv = &r->view[RNN_DV];
    for (size_t b = r->row; dv->at && k->rows.count < r->row_end - r->row && b < r->row_end; b++)
        for (size_t i = 0; i < dv->count[2] && !takes_part(r, k->rows.t, b); i++)
            clear(at_step(r, RNN_DV, k->rows.t, b) + i * dv->stride[2] + unit, units);
}

/* Computes the gradients of one step: those of y and the next state, then of the cell, phase by phase. */
static unroll_status backward_step(struct back *k, size_t t)
{
    const struct rnn *r = &k->r;
    const int last = r->cell->phases - 1;
    size_t unit, units;
    find_rows(k, t);
    k->r.row_steps += (double)k->rows.count;
    for (size_t i = 0; next_units(k, i, &unit, &units); i++) {
        TRY(end_step(k, unit, units));
        if (r->projected)
            receive_projected(k);
        if (!k->in_views)
            load_values(k, unit, units);
        clear_absent(k, unit, units);
        run_cell_back(k, unit, units, last, step_ahead(k, i, unit, units));
    }
    TRY(gather_phase(k, last));
    meet(&k->r);
    for (size_t i = 0; last > 0 && next_units(k, i, &unit, &units); i++) {
        if (k->rows.count)
            TRY(intermediate_gradient(k, unit, units));
        run_cell_back(k, unit, units, 0, NULL);
    }
    if (last > 0)
        TRY(gather_phase(k, 0));
    keep_gathered(k);
    if (last > 0)
        meet(&k->r);
    k->before = k->rows;
    k->reverse = !k->reverse;
    return UNROLL_OK;
}

/* Prepares a lone row whose step is one product and one call of the cell. Repeating the checks of a general step would
 * take a tenth of a narrow step's time. */
static void prepare_lone(struct back *k)
{
    const struct rnn *r = &k->r;
    const struct rows rows = {.first = r->row, .end = r->row_end, .count = 1, .gathered = k->spare + 1};
    const size_t units = r->unit_end - r->unit;
    struct block all = {0};
    if (!is_lone(k) || r->row_end - r->row != 1 || !k->in_views || k->bf16x3 || r->rendezvous || r->cell->phases > 1 ||
        units == 0 || units > k->block || present(r, RNN_DG) || present(r, RNN_LENGTHS) ||
        !next_block(r, FROM_H, true, &all) || all.count < (size_t)r->cell->inputs)
        return;
    k->lone = operand_product(k, &rows, all, at_plane(r, carried_plane(k, 0), r->row), r->unit, units, AS_IS);
    k->step.sets_state = true;
}

/* The cell's arguments are written before the product. The cell loads them in wider pieces than they were written,
 * which would stall until the stores complete. */
static void lone_step(struct back *k, size_t t)
{
    struct rnn *r = &k->r;
    find_rows(k, t);
    place_gathering(k, 0, r->row, 1, r->unit, r->unit_end - r->unit);
    if (k->before.count) {
        k->lone.a = at_gathered(r, &k->before, 0);
        r->call->isa->product(&k->lone);
    }
    r->call->cell->backward[0](&k->step);
    r->row_steps += 1;
    k->before = k->rows;
}

/* ---- the loop -------------------------------------------------------------------------- */

static void begin_gradients(const struct back *k)
{
    const struct rnn *r = &k->r;
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->row; b < r->row_end; b++) {
            bool whole = s == 0 && r->projected;
            size_t first = whole ? 0 : r->unit, n = whole ? r->width : r->unit_end - r->unit;
            const real *from = at_state(r, RNN_DHN, RNN_DSN, s, b);
            put(at_plane(r, carried_plane(k, s), b) + first, from ? from + first : NULL, n);
        }
}

/* The first contribution to a gradient sets it, the others add. */
static void end_gradients(const struct back *k)
{
    const struct rnn *r = &k->r;
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->row; b < r->row_end; b++) {
            bool whole = s == 0 && r->projected;
            size_t first = whole ? 0 : k->r.unit, n = whole ? r->width : k->r.unit_end - k->r.unit;
            real *to = at_state(r, RNN_DH0, RNN_DS0, s, b);
            const real *from = at_plane(r, carried_plane(k, s), b) + first;
            if (to && r->call->view[s ? RNN_DS0 : RNN_DH0].access == ADD)
                add(to + first, from, n);
            else if (to)
                put(to + first, from, n);
        }
}

/* ---- the whole ------------------------------------------------------------------------- */

static void divide_back(struct back *k, int me, int team)
{
    enum { MANY_ROWS = 12 };
    struct rnn *r = &k->r;
    /* gradients of the sums enter products in the same format as the weights */
    divide(r, me, team, r->cell->phases, (size_t)r->cell->inputs * r->sums * weight_bytes(&r->view[RNN_W]));
    const size_t own = r->unit_end - r->unit > 0 ? r->unit_end - r->unit : 1;
    k->block = r->group || r->projected ? r->units : PANEL;
    if (is_lone(k))
        k->block = 4 * PANEL;
    if (r->row_end - r->row >= MANY_ROWS && !r->projected) /* a block of k of many rows is then in a near cache for all
                                                            * columns */
        k->block = own;
    k->at_once = k->bf16x3 && !r->rendezvous;
    if (k->bf16x3 && !r->projected)
        k->block = own;
}

static unroll_status run_back_in_order(const struct call *call, int me, int team, struct work *work)
{
    /* In a reverse layer, a shorter row starts later, with its first state from another view. */
    const bool ends = call->view[RNN_LENGTHS].at && call->direction;
    struct back k = {.in_views = !ends && !call->view[RNN_RESET].at};
    TRY(begin(&k.r, call, me, team, 4));
    size_t states = k.r.states;
    k.state = 0;
    k.next = states;
    k.d_state = 2 * states;
    k.d_intermediate = 3 * states;
    k.d_whole = k.d_intermediate + k.r.intermediates;
    k.spare = k.d_whole + 1;
    k.bf16x3 = is_of_bf16x3(&call->view[RNN_W]);
    k.gathers_in = (call->view[RNN_SCRATCH].count[0] - k.spare - 1) / 2;
    if (call->view[RNN_SCRATCH].count[0] <= k.spare + 2 * ((size_t)k.r.cell->inputs + 1))
        return fail(UNROLL_FAILURE, "the scratch memory of a %s has no planes to gather rows; fix: " REPORT_BUG,
                    k.r.cell->name);
    divide_back(&k, me, team);
    k.step = k.ahead = prepare_cell(&k);
    begin_gradients(&k);
    prepare_lone(&k);
    for (size_t i = k.r.steps; i-- > 0; comm_poll())
        if (k.lone.m)
            lone_step(&k, step_at(&k.r, i));
        else
            TRY(backward_step(&k, step_at(&k.r, i)));
    size_t unit, units;
    for (size_t i = 0; next_units(&k, i, &unit, &units); i++) TRY(end_step(&k, unit, units));
    end_gradients(&k);
    count_work(&k.r, me, work);
    return UNROLL_OK;
}
