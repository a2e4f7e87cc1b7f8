/* Pieces of time, backward: like rnn_pieces.h, but gradients of states enter a piece at its end, start as zeros, and
 * are compared at the ends of stretches. Values are those of forward and are only read. Included after rnn_backward.h.
 *
 * In addition to the planes of rnn_piece_parts.h, RNN_PIECES contains the values of the states entering a stretch, and
 * gradients at the start of each stretch. `told` is the gradient entering the last local step. */

static size_t stretches_of(const struct pieces *p) { return (p->length + STRETCH - 1) / STRETCH; }
static size_t values_plane(const struct pieces *p) { return p->told + p->states; }
static size_t border_plane(const struct pieces *p, size_t stretch) { return p->held + stretch * p->states; }

/* Loads the values of the states that enter stretches at these steps: the result of the step before, or the row's
 * first. */
static void load_entering(const struct pieces *p, size_t piece, size_t rows, size_t from, size_t steps)
{
    const bool backward = p->call->direction;
    for (size_t i = piece; i < piece + rows; i++) {
        const size_t begin = stretch_begin(p, i, from, steps), before = backward ? begin + steps : begin - 1;
        const bool made =
            (!is_given(p, i) || from > 0) && (!backward || steps_left(p, row_of_piece(p, i), before, 1) > 0);
        for (size_t s = 0, n; s < p->states && is_mine(p, i); s++) {
            const real *first = callers_state(p, i, s, RNN_H0, RNN_S0, &n);
            const real *state = made ? state_after(p, i, s, before, &n) : first;
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

static struct call stretches_back(const struct pieces *p, size_t first, size_t t, size_t steps, size_t rows,
                                  int32_t *lengths)
{
    static const int of_steps[] = {RNN_DY, RNN_DV, RNN_DP};
    struct call call = stretches(p, first, t, steps, rows, lengths);
    for (size_t i = 0; i < sizeof of_steps / sizeof *of_steps; i++)
        view_stretches(p, &call.view[of_steps[i]], first, t, steps, rows);
    return call;
}

/* Runs a stretch of some pieces: gradients enter at its end and leave at its start. */
static unroll_status run_back_stretches(const struct pieces *p, size_t piece, size_t rows, size_t from, size_t steps)
{
    int32_t lengths[PIECES_MAX];
    load_entering(p, piece, rows, from, steps);
    gather_team(p);
    struct call call = stretches_back(p, piece, stretch_begin(p, piece, from, steps), steps, rows, lengths);
    view_states(p, &call, RNN_H0, RNN_S0, values_plane(p), piece, rows);
    view_gradients(p, &call, RNN_DHN, RNN_DSN, p->entering, piece, rows);
    view_gradients(p, &call, RNN_DH0, RNN_DS0, p->leaving, piece, rows);
    TRY(run_back_in_order(&call, p->me, p->team, p->work));
    gather_team(p);
    return UNROLL_OK;
}

/* Runs the remaining steps first; their gradient enters the last piece. */
static unroll_status give_last(const struct pieces *p)
{
    int32_t length;
    const size_t last = last_piece(p), rest = p->call->direction ? 0 : p->count * p->length;
    if (p->rest == 0) {
        for (size_t i = p->by_rows ? 0 : last; i < (p->by_rows ? p->count : last + 1); i++)
            if (is_mine(p, i))
                copy_states(p, p->given, i, p->told, i);
        gather_team(p);
        return UNROLL_OK;
    }
    struct call call = stretches_back(p, last, rest, p->rest, 1, &length);
    /* The entering state is the end of the last piece, if the row is that long. */
    const size_t before = p->call->direction ? p->rest : rest - 1;
    if (!p->call->direction || steps_left(p, p->row, before, 1) > 0) {
        for (size_t s = 0, n; s < p->states && p->me == 0; s++) {
            const real *state = state_after(p, last, s, before, &n);
            put(at_piece(p, values_plane(p) + s, last), state, n);
        }
        gather_team(p);
        view_states(p, &call, RNN_H0, RNN_S0, values_plane(p), last, 1);
    } else {
        view_row(p, &call, last, RNN_H0, RNN_S0);
    }
    view_gradients(p, &call, RNN_DHN, RNN_DSN, p->told, last, 1);
    view_gradients(p, &call, RNN_DH0, RNN_DS0, p->given, last, 1);
    TRY(run_back_in_order(&call, p->me, p->team, p->work));
    gather_team(p);
    return UNROLL_OK;
}

/* Returns whether gradients differ by more than the tolerance, relative to the largest of them. */
static bool gradients_differ(const struct pieces *p, size_t plane, size_t from, size_t other, size_t piece)
{
    for (size_t s = 0; s < p->states; s++) {
        const real *a = at_piece(p, plane + s, from), *b = at_piece(p, other + s, piece);
        real most = 0, far = 0;
        if (memcmp(a, b, p->width * sizeof *a) == 0)
            continue;
        for (size_t i = 0; i < p->width; i++) {
            const real d = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i], size = b[i] < 0 ? -b[i] : b[i];
            most = size > most ? size : most;
            far = d <= far ? far : d; /* a NaN is kept, or replaced by an infinite difference */
        }
        if (!(far <= (real)p->call->tolerance * most))
            return true;
    }
    return false;
}

/* Runs all stretches of some pieces from their ends to their starts; those in `unmet` stop once they equal the earlier
 * gradients. NULL: the first run, of all stretches. */
static unroll_status walk_back(struct pieces *p, struct range at, bool *unmet)
{
    int near[PIECES_MAX] = {0};
    const int enough = p->call->tolerance > 0 ? 2 : 1;
    for (size_t stretch = stretches_of(p); stretch-- > 0 && at.first < at.end;) {
        const size_t from = stretch * STRETCH, steps = p->length - from < STRETCH ? p->length - from : STRETCH;
        TRY(run_back_stretches(p, at.first, at.end - at.first, from, steps));
        for (size_t i = at.first; i < at.end && unmet; i++) {
            near[i] = gradients_differ(p, p->leaving, i, border_plane(p, stretch), i) ? 0 : near[i] + 1;
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

/* The gradient that should enter a piece at its end. */
static bool is_last(const struct pieces *p, size_t piece) { return p->by_rows || piece == last_piece(p); }
static size_t end_plane(const struct pieces *p, size_t piece) { return is_last(p, piece) ? p->given : p->ends; }
static size_t end_piece(const struct pieces *p, size_t piece)
{
    return is_last(p, piece) ? piece : piece_after(p, piece);
}

/* Like find_wanting, in reverse order. */
static bool find_wanting_back(const struct pieces *p, bool *wants)
{
    bool any = false;
    for (size_t i = 0, piece = last_piece(p); i < p->count && p->me == 0; i++) {
        piece = p->by_rows ? i : i ? piece_before(p, piece) : piece;
        if (p->left[piece] == 0)
            copy_states(p, p->ends, piece, end_plane(p, piece), end_piece(p, piece));
    }
    gather_team(p);
    for (size_t i = 0; i < p->count; i++) {
        wants[i] = p->left[i] > 0 && gradients_differ(p, end_plane(p, i), end_piece(p, i), p->began, i);
        any = any || wants[i];
    }
    gather_team(p);
    return any;
}

static unroll_status repair_back(struct pieces *p, const bool *wants)
{
    bool unmet[PIECES_MAX];
    const struct range at = wanting(p, wants);
    memcpy(unmet, wants, p->count * sizeof *unmet);
    for (size_t i = at.first; i < at.end; i++)
        if (is_mine(p, i)) {
            copy_states(p, p->entering, i, end_plane(p, i), end_piece(p, i));
            copy_states(p, p->began, i, p->entering, i);
        }
    p->rounds++;
    gather_team(p);
    return walk_back(p, at, unmet);
}

static unroll_status settle_back(struct pieces *p)
{
    bool wants[PIECES_MAX];
    while (find_wanting_back(p, wants)) TRY(repair_back(p, wants));
    return UNROLL_OK;
}

/* Exchanges gradients between ranks in reverse order. The first rank's are those of the row's first states and are
 * broadcast to all. */
static unroll_status settle_ranks_back(struct pieces *p)
{
    const size_t last = p->by_rows ? 0 : last_piece(p), first = p->by_rows ? 0 : first_piece(p);
    const size_t rows = p->by_rows ? p->count : 1;
    bool is_final = !has_rank_after(p);
    for (unsigned round = 0;; round++) {
        TRY(tell(p, -1, p->ends, first, rows, round, is_final));
        if (is_final)
            break;
        TRY(hear(p, -1, p->told, last, rows, round, &is_final));
        TRY(give_last(p));
        TRY(settle_back(p));
    }
    return share_last(p, -1, p->ends, first, rows);
}

/* The gradient entering the last local step is the caller's, or another rank's, zeros for now; other pieces start from
 * zeros. */
static void guess_back(const struct pieces *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (!is_mine(p, i))
            continue;
        for (size_t s = 0; s < values_plane(p) - p->planes; s++) clear(at_piece(p, p->planes + s, i), p->width);
        if (is_last(p, i) && !has_rank_after(p))
            take_states(p, p->told, i, RNN_DHN, RNN_DSN);
    }
    gather_team(p);
}

/* Computes all pieces with guessed gradients, then repairs those that differ. */
static unroll_status run_rows_back(struct pieces *p)
{
    guess_back(p);
    TRY(give_last(p));
    for (size_t i = 0; i < p->count; i++)
        if (is_mine(p, i) && is_last(p, i)) {
            copy_states(p, p->entering, i, p->given, i);
            copy_states(p, p->began, i, p->given, i);
        }
    gather_team(p);
    TRY(walk_back(p, (struct range){0, p->count}, NULL));
    TRY(settle_back(p));
    if (p->ranks)
        TRY(settle_ranks_back(p));
    for (size_t i = 0; i < p->count && p->me == 0; i++)
        if (is_given(p, i))
            give_states(p, p->ends, i, RNN_DH0, RNN_DS0);
    gather_team(p); /* the next row uses the same memory */
    return UNROLL_OK;
}

static unroll_status run_back_in_pieces(const struct call *call, int me, int team, struct work *work)
{
    const size_t rows = call->view[RNN_G].count[1];
    struct pieces p = pieces_of(call, me, team, work, call->view[RNN_SCRATCH].count[0]);
    p.held = values_plane(&p) + p.states;
    p.ends = border_plane(&p, 0); /* of the first stretch, where a pass ends */
    for (size_t b = 0, n; b < rows; b += n) {
        n = take_rows(&p, b);
        const unroll_status status = run_rows_back(&p);
        if (status != UNROLL_OK)
            return told_why(&p, status);
    }
    count_run(&p, rows);
    return UNROLL_OK;
}

unroll_status KERNEL_RNN_BACK(const struct call *call, int me, int team, struct work *work)
{
    const bool is_repairable = call->view[RNN_PIECES].at && !is_of_bf16x3(&call->view[RNN_W]);
    return is_repairable && is_repaired(call) ? run_back_in_pieces(call, me, team, work)
                                              : run_back_in_order(call, me, team, work);
}
