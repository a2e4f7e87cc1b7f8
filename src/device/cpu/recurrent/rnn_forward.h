/* rnn: iterates over time and computes outputs and states, each step with the cell's fused kernel, which also writes
 * the stored views. Included after rnn_parts.h.
 *
 * The planes contain the states entering a step and those leaving it, which are swapped, the intermediates, and two for
 * messages or for the transposes of a projection. The first state is the whole h; the others have only the own
 * units. */

struct forward {
    struct rnn r;
    size_t state, next;     /* the first of their planes */
    struct fused_step step; /* arguments of the kernel: addresses and rows change every step */
};

static size_t intermediate_plane(const struct rnn *r) { return 2 * r->states; }

static size_t spare_plane(const struct rnn *r) { return intermediate_plane(r) + r->intermediates; }

/* Elements of state s that this thread copies: its units, or all of h if whole rows are computed. */
static struct range own_numbers(const struct rnn *r, size_t s)
{
    if (s == 0 && (r->group || r->projected))
        return (struct range){0, r->width};
    return (struct range){r->unit, r->unit_end};
}

/* Returns their address in a plane. */
static real *at_own(const struct rnn *r, size_t plane, size_t s, size_t b)
{
    return at_plane(r, plane + s, b) + (s ? r->first_unit : 0) + own_numbers(r, s).first;
}

static size_t own_count(const struct rnn *r, size_t s)
{
    struct range own = own_numbers(r, s);
    return own.end - own.first;
}

static void enter(const struct rnn *r, size_t plane)
{
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->row; b < r->row_end; b++)
            put(at_own(r, plane, s, b), at_state(r, RNN_H0, RNN_S0, s, b) + own_numbers(r, s).first, own_count(r, s));
}

static void leave(const struct rnn *r, size_t plane)
{
    for (size_t s = 0; s < r->states; s++)
        for (size_t b = r->row; b < r->row_end; b++) {
            real *to = at_state(r, RNN_HN, RNN_SN, s, b);
            if (to)
                put(to + own_numbers(r, s).first, at_own(r, plane, s, b), own_count(r, s));
        }
}

/* Prepares the states for step t: clears those of reset rows. */
static void forget(const struct rnn *r, size_t plane, size_t t)
{
    if (!present(r, RNN_RESET))
        return;
    for (size_t b = r->row; b < r->row_end; b++)
        for (size_t s = 0; s < r->states && is_reset(r, t, b) && takes_part(r, t, b); s++)
            clear(at_own(r, plane, s, b), own_count(r, s));
}

/* ---- products and cells ---------------------------------------------------------------- */

/* Returns the weights of a recurrent product with their bias and format; empty if absent. */
static struct fused_weights weights_of(const struct tensor *w, const struct tensor *bias)
{
    if (!w->at)
        return (struct fused_weights){0};
    return (struct fused_weights){
        .at = w->at,
        .k = w->count[2],
        .gates = w->count[0],
        .bias = bias->at,
        .bias_gate = bias->stride[0],
        .cell = layout_is_whole(w->layout) ? FUSED_WHOLE
                : is_of_bf16x3(w)          ? FUSED_BF16X3
                : w->dtype == DTYPE_I8     ? FUSED_INT8
                : w->dtype == DTYPE_BF16   ? FUSED_BF16
                                           : FUSED_REAL,
        .units = w->count[1],
    };
}

/* Returns whether saved values exceed the caches until backward and are only written. Sums of a product with x are
 * already in cache there. Without a backward the stores would be useless. */
static bool saves_far(const struct rnn *r)
{
    enum { LINE = 64 };
    const struct tensor *g = &r->view[RNN_G];
    const size_t strides = (g->stride[0] | g->stride[1] | g->stride[2]) * sizeof(real);
    return r->call->saves_far && present(r, RNN_W_X) && ((uintptr_t)g->at | strides) % LINE == 0;
}

/* Prepares the fields that all steps share. */
static struct fused_step prepare_step(const struct rnn *r)
{
    const struct fields in = step_fields(r, RNN_G), plane = plane_fields(r);
    const struct tensor *made = &r->view[r->projected ? RNN_M : RNN_Y];
    return (struct fused_step){
        .unit = r->unit,
        .unit_end = r->unit_end,
        .keeps_sums = r->call->pieces > 1,
        .far = saves_far(r),
        .x.row = r->view[RNN_X].stride[1],
        .h.row = r->scratch_row,
        .intermediate.row = r->scratch_row,
        .of_x = weights_of(&r->view[RNN_W_X], &r->view[RNN_BIAS_X]),
        .of_h = weights_of(&r->view[RNN_W], &r->view[RNN_BIAS]),
        .value =
            {.in = in, .saved = in, .state = plane, .next = plane, .intermediate = plane, .vector = vector_fields(r)},
        .output = {.row = made->stride[1]},
        .others = step_fields(r, RNN_S),
        .options = r->call->options};
}

/* Sets the addresses of step t from row `first` on; the caller sets the rows. */
static void place_step(struct forward *f, size_t t, size_t first)
{
    const struct rnn *r = &f->r;
    struct fused_step *step = &f->step;
    real *state = at_plane(r, f->state, first), *intermediate = at_plane(r, intermediate_plane(r), first);
    step->x.at = at_step(r, RNN_X, t, first);
    step->h.at = state;
    step->intermediate.at = intermediate;
    step->value.in.at = at_step(r, RNN_G, t, first);
    step->value.saved.at = !r->call->saves         ? NULL
                           : present(r, RNN_SAVED) ? at_step(r, RNN_SAVED, t, first)
                                                   : step->value.in.at;
    step->value.state.at = state + r->first_unit;
    step->value.next.at = at_plane(r, f->next, first) + r->first_unit;
    step->value.intermediate.at = intermediate + r->first_unit;
    step->output.at = !r->group || r->projected ? at_step(r, r->projected ? RNN_M : RNN_Y, t, first) : NULL;
    step->others.at = at_step(r, RNN_S, t, first);
}

/* Quantizes rows of k elements of one operand to bytes. */
static void quantize_rows(const struct rnn *r, const struct fused_step *step, struct fused_operand *a, size_t k,
                          uint32_t *words)
{
    const size_t row = operand_words(k);
    for (size_t i = 0; i < step->rows; i++) {
        size_t b = step->row ? step->row[i] : i;
        r->call->isa->quantize((const real *)a->at + b * a->row, k, words + b * row);
    }
    *a = (struct fused_operand){words, row};
}

static bool phase_reads(const struct rnn *r, int phase, unsigned source)
{
    for (int i = 0; i < r->cell->inputs; i++)
        if (r->cell->input[i].phase == phase && (r->cell->input[i].from & source))
            return true;
    return false;
}

/* Each thread quantizes for itself, which is faster than waiting for another one. */
static void run_int8(const struct rnn *r, struct fused_step own, int phase)
{
    struct fused_step *step = &own;
    struct operand_scratchs {
        uint32_t words[3][OPERAND_SCRATCH / 2];
    }; /* with int8, x is narrow here: at most as wide as h */
    uint32_t (*words)[OPERAND_SCRATCH / 2] = KERNEL_KEEPS(struct operand_scratchs)->words;
    if (step->of_x.at && phase_reads(r, phase, FROM_X))
        quantize_rows(r, step, &step->x, step->of_x.k, words[0]);
    if (phase_reads(r, phase, FROM_H))
        quantize_rows(r, step, &step->h, r->width, words[1]);
    if (phase_reads(r, phase, FROM_INTERMEDIATE))
        quantize_rows(r, step, &step->intermediate, r->width, words[2]);
    r->call->cell->fused[phase](step);
}

/* Converts rows of k elements of one operand to the left factor of bf16x3 splits, in the order of their places. Returns
 * its end. */
static char *split_rows(const struct rnn *r, const struct fused_step *step, struct fused_operand *a, size_t k, char *to)
{
    const size_t steps = bf16x3_steps(k);
    r->call->isa->left_rows(&(struct left_rows){.to = to,
                                                .of_bf16 = step->of_h.cell == FUSED_BF16,
                                                .steps = steps,
                                                .at = a->at,
                                                .row = a->row,
                                                .list = step->row,
                                                .rows = step->rows,
                                                .k = k});
    *a = (struct fused_operand){to, 0};
    return to + step->rows * steps * left_row_bytes(r->call->isa->parts);
}

/* The operands that the products of one phase read. */
struct operands {
    bool x, h, intermediate;
};

static struct operands operands_of(const struct rnn *r, int phase)
{
    const bool recurs = present(r, RNN_W);
    return (struct operands){present(r, RNN_W_X) && phase_reads(r, phase, FROM_X),
                             recurs && phase_reads(r, phase, FROM_H),
                             recurs && phase_reads(r, phase, FROM_INTERMEDIATE)};
}

/* Each thread splits the operands for itself, as with int8. */
static void run_by_tiles(const struct rnn *r, struct fused_step own, int phase)
{
    struct fused_step *step = &own;
    const struct operands reads = operands_of(r, phase);
    char *to = KERNEL_KEEPS(struct split_scratch)->at;
    if (reads.x)
        to = split_rows(r, step, &step->x, step->of_x.k, to);
    if (reads.h)
        to = split_rows(r, step, &step->h, r->width, to);
    if (reads.intermediate)
        split_rows(r, step, &step->intermediate, r->width, to);
    r->call->cell->fused[phase](step);
}

/* Returns the number of rows whose operands fit as bf16x3 splits in any phase: whole blocks if it is at least one. */
static size_t rows_with_room(const struct rnn *r)
{
    size_t max = 1;
    for (int phase = 0; phase < r->cell->phases; phase++) {
        const struct operands reads = operands_of(r, phase);
        size_t steps = (reads.x ? bf16x3_steps(r->view[RNN_W_X].count[2]) : 0) +
                       (size_t)(reads.h + reads.intermediate) * bf16x3_steps(r->width);
        max = steps > max ? steps : max;
    }
    const size_t rows = SPLIT_SCRATCH / (max * left_row_bytes(r->call->isa->parts)),
                 block = r->view[RNN_W].dtype == DTYPE_BF16 ? BF16_ROWS : LEFT_ROWS;
    return rows >= block ? rows / block * block : rows;
}

static void run_kernel(const struct rnn *r, const struct fused_step *step, int phase)
{
    if (r->call->by_tiles)
        run_by_tiles(r, *step, phase);
    else if (r->call->int8)
        run_int8(r, *step, phase);
    else
        r->call->cell->fused[phase](step);
}

/* Returns the number of rows per kernel call. */
static size_t rows_together(const struct rnn *r)
{
    const size_t inputs = r->view[RNN_W_X].at ? r->view[RNN_W_X].count[2] : 0;
    size_t rows = r->row_end - r->row;
    if (rows <= 1)
        return rows;
    if (comm_wants_polls()) {
        const double flops =
            2.0 * (double)(r->width + inputs) * (double)(r->unit_end - r->unit) * (double)r->cell->inputs;
        size_t few = (size_t)(10e6 / (flops + 1)); /* a fraction of a millisecond */
        rows = rows < few ? rows : few > 0 ? few : 1;
    }
    if (r->call->by_tiles) {
        size_t room = rows_with_room(r);
        return rows > room ? room : rows;
    }
    if (!r->call->int8)
        return rows;
    size_t room = OPERAND_SCRATCH / 2 / operand_words(r->width);
    return rows > room ? room : rows;
}

/* Runs a phase for all rows at once, or for the list of active rows. */
static void run_phase(struct forward *f, size_t t, int phase, bool reverse)
{
    enum { LISTED = 256 };
    const struct rnn *r = &f->r;
    bool all = !present(r, RNN_LENGTHS);
    size_t max = rows_together(r);
    uint32_t list[LISTED];
    max = all || max < LISTED ? max : LISTED;
    for (size_t first = r->row; first < r->row_end && r->unit < r->unit_end; first += max) {
        size_t end = r->row_end - first < max ? r->row_end : first + max;
        struct fused_step *step = &f->step;
        place_step(f, t, first);
        step->reverse = reverse;
        step->row = all ? NULL : list;
        step->rows = all ? end - first : 0;
        for (size_t b = first; b < end && !all; b++)
            if (takes_part(r, t, b))
                list[step->rows++] = (uint32_t)(b - first);
        if (step->rows > 0)
            run_kernel(r, step, phase);
        comm_poll();
    }
}

/* ---- projection ------------------------------------------------------------------------ */

static void transpose(real *to, size_t to_row, const real *from, size_t from_row, size_t rows, size_t columns)
{
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++) to[j * to_row + i] = from[i * from_row + j];
}

/* h = P m in place, for n <= PANEL rows, as h^T = P m^T, because P is dense by rows. With only own units it is a
 * partial sum. */
static void project_rows(const struct rnn *r, size_t plane, size_t b, size_t n)
{
    real *h = at_plane(r, plane, b);
    real *m = at_plane(r, spare_plane(r), b), *made = at_plane(r, spare_plane(r) + 1, b);
    struct product p = {.m = r->width,
                        .n = n,
                        .k = r->units,
                        .a = r->view[RNN_PROJ].at,
                        .a_row = r->view[RNN_PROJ].stride[0],
                        .a_col = 1,
                        .b = m,
                        .b_row = n,
                        .b_panel = PANEL,
                        .c = made,
                        .c_row = n,
                        .start = ZERO};
    transpose(m, n, h + r->first_unit, r->scratch_row, n, r->units);
    r->call->isa->product(&p);
    transpose(h, r->scratch_row, made, n, r->width, n);
}

static void project(const struct rnn *r, size_t plane, size_t t)
{
    if (!r->projected)
        return;
    for (size_t b = r->row, n; (n = next_rows(r, t, &b)) > 0; b += n)
        for (size_t done = 0; done < n; done += PANEL)
            project_rows(r, plane, b + done, n - done < PANEL ? n - done : PANEL);
}

/* ---- ranks that share the units -------------------------------------------------------- */

static void copy_slice(const struct rnn *r, size_t plane, struct slice slice, real *message, bool pack)
{
    for (size_t b = r->row; b < r->row_end; b++, message += slice.count) {
        real *own = at_plane(r, plane, b) + slice.first;
        put(pack ? message : own, pack ? own : message, slice.count);
    }
}

/* Every rank sends its units of a plane to the others. */
static unroll_status exchange(const struct rnn *r, size_t plane)
{
    if (!r->group)
        return UNROLL_OK;
    struct unroll_comm *comm = r->call->comm;
    uint32_t tag = r->call->tag;
    size_t rows = r->row_end - r->row;
    real *sent = at_plane(r, spare_plane(r), r->row), *received = at_plane(r, spare_plane(r) + 1, r->row);
    struct slice own = {(uint32_t)r->first_unit, (uint32_t)r->units};
    copy_slice(r, plane, own, sent, true);
    for (int i = 0; i < r->group->size; i++)
        if (r->group->rank[i] != comm_rank(comm))
            TRY(comm_send(comm, r->group->rank[i], tag, sent, rows * own.count * sizeof(real)));
    for (int i = 0; i < r->group->size; i++) {
        if (r->group->rank[i] == comm_rank(comm))
            continue;
        const struct slice its = slice_of(r, i);
        TRY(comm_recv(comm, r->group->rank[i], tag, received, rows * its.count * sizeof(real)));
        copy_slice(r, plane, its, received, false);
    }
    return UNROLL_OK;
}

/* ---- the loop -------------------------------------------------------------------------- */

/* An inactive row keeps its states, which are copied once to each of the swapped planes; its outputs are zeros. Its
 * saved values are never read. */
static void skip_row(const struct forward *f, size_t i, size_t b)
{
    const struct rnn *r = &f->r;
    const size_t t = step_at(r, i);
    for (size_t s = 0; s < r->states && (i == 0 || takes_part(r, step_at(r, i - 1), b)); s++)
        put(at_own(r, f->next, s, b), at_own(r, f->state, s, b), own_count(r, s));
    clear(at_step(r, RNN_Y, t, b) + own_numbers(r, 0).first, own_count(r, 0));
}

/* Stores what the kernel did not write itself: whole rows of h, and intermediates. */
static void keep(const struct forward *f, size_t i)
{
    const struct rnn *r = &f->r;
    const struct tensor *intermediate = &r->view[RNN_INTERMEDIATE];
    struct range own = r->group ? (struct range){0, r->width} : (struct range){r->unit, r->unit_end};
    const size_t t = step_at(r, i);
    for (size_t b = r->row; b < r->row_end; b++)
        if (!takes_part(r, t, b)) {
            skip_row(f, i, b);
        } else {
            if (r->group || r->projected)
                put(at_step(r, RNN_Y, t, b), at_plane(r, f->next, b), r->width);
            for (size_t l = 0; intermediate->at && l < r->intermediates; l++)
                put(at_step(r, RNN_INTERMEDIATE, t, b) + l * intermediate->stride[2] + own.first,
                    at_plane(r, intermediate_plane(r) + l, b) + own.first, own.end - own.first);
        }
}

/* Computes one step of the active rows: gates, phases, projection and the exchange with other ranks. */
static unroll_status forward_step(struct forward *f, size_t i)
{
    struct rnn *r = &f->r;
    const size_t t = step_at(r, i);
    const bool reverse = i % 2;
    find_active(r, t);
    bool any = r->active < r->active_end;
    if (any)
        run_phase(f, t, 0, reverse);
    if (r->cell->phases == 2) {
        if (any)
            TRY(exchange(r, intermediate_plane(r)));
        meet(r); /* the whole intermediate is available */
        if (any)
            run_phase(f, t, 1, reverse);
    }
    if (any) {
        project(r, f->next, t);
        TRY(r->group && r->projected ? sum_over_ranks(r, f->next, r->active, r->active_end) : exchange(r, f->next));
    }
    keep(f, i);
    return UNROLL_OK;
}

/* Returns whether a step consists of a single kernel call. */
static bool is_plain(const struct rnn *r)
{
    return r->cell->phases == 1 && r->intermediates == 0 && !r->group && !r->projected && !r->rendezvous &&
           !present(r, RNN_LENGTHS) && !present(r, RNN_RESET) && rows_together(r) == r->row_end - r->row &&
           r->row < r->row_end && r->unit < r->unit_end;
}

/* Runs these steps without further checks, which would take a tenth of the time of a lone narrow row. */
static void plain_steps(struct forward *f)
{
    struct rnn *r = &f->r;
    f->step.rows = r->row_end - r->row;
    for (size_t i = 0; i < r->steps; i++) {
        const size_t kept = f->state;
        place_step(f, step_at(r, i), r->row);
        f->step.reverse = i % 2;
        run_kernel(r, &f->step, 0);
        comm_poll();
        f->state = f->next;
        f->next = kept;
    }
    r->row_steps += (double)(r->steps * f->step.rows);
}

/* Prefetches the other threads' parts of a lone row's h, while this thread waits for the last of them. */
static void ask_for_others(const struct rnn *r, size_t plane)
{
    enum { LINE = 64 / sizeof(real) };
    const real *h = at_plane(r, plane, r->row);
    for (size_t i = 0; i < r->width && r->row_end - r->row == 1; i += LINE)
        if (i < r->unit || i >= r->unit_end)
            __builtin_prefetch(h + i);
}

/* Runs all steps; states and next states exchange their planes after each. */
static unroll_status any_steps(struct forward *f)
{
    struct rnn *r = &f->r;
    for (size_t i = 0; i < r->steps; i++) {
        size_t t = step_at(r, i), kept = f->state;
        if (i == 0)
            forget(r, f->state, t);
        if (r->rendezvous)
            ask_for_others(r, f->state);
        meet(r); /* all of h is available */
        TRY(forward_step(f, i));
        if (i + 1 < r->steps)
            forget(r, f->next, step_at(r, i + 1));
        f->state = f->next;
        f->next = kept;
    }
    return UNROLL_OK;
}

/* Steps alternate the direction over units, so that each starts with the weights that the previous one used last. */
static unroll_status forward_steps(struct forward *f)
{
    enter(&f->r, f->state);
    if (is_plain(&f->r))
        plain_steps(f);
    else
        TRY(any_steps(f));
    leave(&f->r, f->state);
    return UNROLL_OK;
}

/* ---- the whole ------------------------------------------------------------------------- */

static unroll_status run_in_order(const struct call *call, int me, int team, struct work *work)
{
    struct forward f;
    TRY(begin(&f.r, call, me, team, 2));
    divide(&f.r, me, team, f.r.cell->phases, (1 + f.r.intermediates) * f.r.width * sizeof(real));
    f.state = 0;
    f.next = f.r.states;
    f.step = prepare_step(&f.r);
    TRY(forward_steps(&f));
    count_work(&f.r, me, work);
    return UNROLL_OK;
}
