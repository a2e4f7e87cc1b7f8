/* Pieces of time, backward: as in rnn_pieces.h, but gradients of states enter a piece at its end, are zeros at first,
 * and are compared at the ends of stretches. Values are those that forward left: they are read alone. Included after
 * rnn_backward.h, not a header of its own.
 *
 * RNN_PIECES holds the planes of a step backward; gradients entering and leaving, which change places; those that each
 * piece leaves; values of the states entering a stretch; gradients at the beginning of each stretch. */

static size_t stretches_of(const struct pieces *p) { return (p->length + STRETCH - 1) / STRETCH; }
static size_t values_plane(const struct pieces *p) { return p->ends + p->states; }
static size_t border_plane(const struct pieces *p, size_t stretch) { return p->held + stretch * p->states; }

/* Values of the states that enter stretches which begin at these steps: what the step before left, or the row's first.
 */
static void load_entering(const struct pieces *p, size_t piece, size_t rows, size_t from, size_t steps)
{
    const bool backward = p->call->direction;
    struct call call = *p->call;
    view_row(p, &call, RNN_H0, RNN_S0);
    for (size_t i = piece; i < piece + rows; i++) {
        const size_t begin = stretch_begin(p, i, from, steps), before = backward ? begin + steps : begin - 1;
        const bool made = (i != first_piece(p) || from > 0) && (!backward || steps_left(p, before, 1) > 0);
        for (size_t s = 0, n; s < p->states && is_mine(p, i); s++) {
            const struct tensor *x = &call.view[s ? RNN_S0 : RNN_H0];
            const real *first = x->at ? (const real *)x->at + (s ? (s - 1) * x->stride[0] : 0) : NULL;
            const real *state = made ? state_after(p, s, before, &n) : first;
            put(at_piece(p, values_plane(p) + s, i), state, p->call->view[s ? RNN_S : RNN_Y].count[s ? 3 : 2]);
        }
    }
}

/* Gradients of states as the views [B, ..] and [S, B, ..], which the caller may not have. */
static void view_gradients(const struct pieces *p, struct call *call, int h, int s, size_t plane, size_t piece,
                           size_t rows)
{
    struct tensor *first = &call->view[h], *others = &call->view[s];
    *first = (struct tensor){.at = at_piece(p, plane, piece), .stride = {p->width, 1}, .access = WRITE};
    first->count[0] = (uint32_t)rows;
    if (p->states > 1)
        *others = (struct tensor){
            .at = at_piece(p, plane + 1, piece), .stride = {p->count * p->width, p->width, 1}, .access = WRITE};
}

static struct call stretches_back(const struct pieces *p, size_t t, size_t steps, size_t rows, int32_t *lengths)
{
    static const int of_steps[] = {RNN_DY, RNN_DV, RNN_DP};
    struct call call = stretches(p, t, steps, rows, lengths);
    for (size_t i = 0; i < sizeof of_steps / sizeof *of_steps; i++)
        view_stretches(p, &call.view[of_steps[i]], t, steps, rows, p->length);
    return call;
}

/* A stretch of some pieces: gradients enter at its end and leave at its beginning. */
static unroll_status run_back_stretches(const struct pieces *p, size_t piece, size_t rows, size_t from, size_t steps)
{
    int32_t lengths[PIECES_MAX];
    load_entering(p, piece, rows, from, steps);
    gather_team(p);
    struct call call = stretches_back(p, stretch_begin(p, piece, from, steps), steps, rows, lengths);
    view_states(p, &call, RNN_H0, RNN_S0, values_plane(p), piece, rows);
    view_gradients(p, &call, RNN_DHN, RNN_DSN, p->entering, piece, rows);
    view_gradients(p, &call, RNN_DH0, RNN_DS0, p->leaving, piece, rows);
    TRY(run_back_in_order(&call, p->me, p->team, p->work));
    gather_team(p);
    return UNROLL_OK;
}

/* What the pieces leave over is done first; its gradient is what the last piece is given. */
static unroll_status run_rest_back(const struct pieces *p)
{
    int32_t length;
    const size_t last = last_piece(p), rest = p->call->direction ? 0 : p->count * p->length;
    struct call call = stretches_back(p, rest, p->rest, 1, &length);
    view_row(p, &call, RNN_DHN, RNN_DSN);
    if (p->rest == 0) {
        for (size_t s = 0; s < p->states && p->me == 0; s++) {
            const struct tensor *x = &call.view[s ? RNN_DSN : RNN_DHN];
            const real *from = x->at ? (const real *)x->at + (s ? (s - 1) * x->stride[0] : 0) : NULL;
            put(at_piece(p, p->entering + s, last), from, from ? x->count[s ? 2 : 1] : p->width);
        }
        return UNROLL_OK;
    }
    /* The state that enters: the last step of the last piece left it, if the row goes so far. */
    const size_t before = p->call->direction ? p->rest : rest - 1;
    if (!p->call->direction || steps_left(p, before, 1) > 0) {
        for (size_t s = 0, n; s < p->states && p->me == 0; s++) {
            const real *state = state_after(p, s, before, &n);
            put(at_piece(p, values_plane(p) + s, last), state, n);
        }
        gather_team(p);
        view_states(p, &call, RNN_H0, RNN_S0, values_plane(p), last, 1);
    } else {
        view_row(p, &call, RNN_H0, RNN_S0);
    }
    view_gradients(p, &call, RNN_DH0, RNN_DS0, p->entering, last, 1);
    return run_back_in_order(&call, p->me, p->team, p->work);
}

/* Do gradients differ by more than the tolerance, beside the largest of them? */
static bool gradients_differ(const struct pieces *p, size_t plane, size_t other, size_t piece)
{
    for (size_t s = 0; s < p->states; s++) {
        const real *a = at_piece(p, plane + s, piece), *b = at_piece(p, other + s, piece);
        real most = 0, far = 0;
        if (memcmp(a, b, p->width * sizeof *a) == 0)
            continue;
        for (size_t i = 0; i < p->width; i++) {
            const real d = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i], size = b[i] < 0 ? -b[i] : b[i];
            most = size > most ? size : most;
            far = d <= far ? far : d; /* a NaN stays, or hides what is as far from all */
        }
        if (!(far <= (real)p->call->tolerance * most))
            return true;
    }
    return false;
}

/* All stretches of some pieces, from their ends to their beginnings; those that are `unmet` go on until they meet what
 * was there. NULL: all, to their beginnings, for the first time. */
static unroll_status walk_back(struct pieces *p, struct range at, bool *unmet)
{
    int near[PIECES_MAX] = {0};
    const int enough = p->call->tolerance > 0 ? 2 : 1;
    for (size_t stretch = stretches_of(p); stretch-- > 0 && at.first < at.end;) {
        const size_t from = stretch * STRETCH, steps = p->length - from < STRETCH ? p->length - from : STRETCH;
        TRY(run_back_stretches(p, at.first, at.end - at.first, from, steps));
        for (size_t i = at.first; i < at.end && unmet; i++) {
            near[i] = gradients_differ(p, p->leaving, border_plane(p, stretch), i) ? 0 : near[i] + 1;
            unmet[i] = unmet[i] && near[i] < enough;
        }
        gather_team(p);
        for (size_t i = at.first; i < at.end; i++)
            if (is_mine(p, i))
                copy_states(p, border_plane(p, stretch), i, p->leaving, i);
        const size_t entered = p->entering;
        p->entering = p->leaving;
        p->leaving = entered;
        p->walked += unmet ? steps : 0;
        at = unmet ? wanting(p, unmet) : at;
        gather_team(p);
    }
    return UNROLL_OK;
}

/* Pieces beyond the row's end hand on what enters them; who wants to run again next. */
static void hand_back(const struct pieces *p, bool *wants)
{
    for (size_t i = 1, piece = last_piece(p); i < p->count; i++) {
        piece = piece_before(p, piece);
        if (!wants[piece] || p->left[piece] > 0)
            continue;
        wants[piece] = false;
        if (p->me == 0)
            copy_states(p, p->ends, piece, p->ends, piece_after(p, piece));
        if (i + 1 < p->count)
            wants[piece_before(p, piece)] = true;
    }
    gather_team(p);
}

static unroll_status repair_back(struct pieces *p, bool *wants)
{
    bool unmet[PIECES_MAX], changed[PIECES_MAX];
    const struct range at = wanting(p, wants);
    memcpy(unmet, wants, p->count * sizeof *unmet);
    for (size_t i = at.first; i < at.end; i++)
        if (is_mine(p, i))
            copy_states(p, p->entering, i, p->ends, piece_after(p, i));
    p->rounds++;
    gather_team(p);
    TRY(walk_back(p, at, unmet));
    memset(wants, 0, p->count * sizeof *wants);
    for (size_t i = 0; i < p->count; i++) {
        changed[i] = unmet[i] && gradients_differ(p, p->entering, p->ends, i);
        if (changed[i] && i != first_piece(p))
            wants[piece_before(p, i)] = true;
    }
    gather_team(p);
    for (size_t i = 0; i < p->count; i++)
        if (unmet[i] && is_mine(p, i))
            copy_states(p, p->ends, i, p->entering, i);
    gather_team(p);
    return UNROLL_OK;
}

/* The gradient of the row's first states: set, or added to. */
static void leave_gradients(const struct pieces *p)
{
    struct call call = *p->call;
    view_row(p, &call, RNN_DH0, RNN_DS0);
    for (size_t s = 0; s < p->states && p->me == 0; s++) {
        const struct tensor *x = &call.view[s ? RNN_DS0 : RNN_DH0];
        real *to = x->at ? (real *)x->at + (s ? (s - 1) * x->stride[0] : 0) : NULL;
        const real *from = at_piece(p, p->ends + s, first_piece(p));
        if (to && x->access == ADD)
            add(to, from, x->count[s ? 2 : 1]);
        else if (to)
            put(to, from, x->count[s ? 2 : 1]);
    }
}

static unroll_status run_row_back(struct pieces *p, size_t row)
{
    bool wants[PIECES_MAX];
    p->row = row;
    for (size_t i = 0; i < p->count; i++) {
        p->left[i] = steps_left(p, stretch_begin(p, i, 0, p->length), p->length);
        wants[i] = i != last_piece(p);
        for (size_t s = 0; s < 4 * p->states && is_mine(p, i); s++) clear(at_piece(p, p->planes + s, i), p->width);
    }
    gather_team(p);
    TRY(run_rest_back(p));
    gather_team(p);
    TRY(walk_back(p, (struct range){0, p->count}, NULL));
    for (size_t i = 0; i < p->count; i++)
        if (is_mine(p, i))
            copy_states(p, p->ends, i, p->entering, i);
    gather_team(p);
    for (hand_back(p, wants); wanting(p, wants).first < wanting(p, wants).end; hand_back(p, wants))
        TRY(repair_back(p, wants));
    leave_gradients(p);
    gather_team(p); /* the next row uses the same memory */
    return UNROLL_OK;
}

static unroll_status run_back_in_pieces(const struct call *call, int me, int team, struct work *work)
{
    const size_t rows = call->view[RNN_G].count[1];
    struct pieces p = pieces_of(call, me, team, work, call->view[RNN_SCRATCH].count[0]);
    p.held = values_plane(&p) + p.states;
    for (size_t b = 0; b < rows; b++) TRY(run_row_back(&p, b));
    count_run(&p, rows);
    return UNROLL_OK;
}

unroll_status KERNEL_RNN_BACK(const struct call *call, int me, int team, struct work *work)
{
    const bool serial = call->pieces <= 1 || !call->view[RNN_PIECES].at || is_of_bf16x3(&call->view[RNN_W]) ||
                        (call->counts && call->counts->serial);
    return serial ? run_back_in_order(call, me, team, work) : run_back_in_pieces(call, me, team, work);
}
