/* Pieces of time: the steps of a row are divided into pieces that run at once, as rows of a batch, each starting from
 * zeros except the first. Then each piece that started from another state than the end of the previous piece runs again
 * from that state, until its states equal the earlier ones: the rest is then correct already. This repeats until every
 * piece has started from the correct state. In the worst case that is piece by piece, like the serial run. The result
 * does not depend on how fast cells forget. Ranks along time do the same with each other (rnn_time_ranks.h). Included
 * after rnn_forward.h and rnn_time_ranks.h.
 *
 * In addition to the planes of rnn_piece_parts.h, RNN_PIECES contains the states of the last PIECE_HELD steps of a
 * stretch from before its repair. */

/* Runs steps [from, from + steps) of some pieces. */
static unroll_status run_stretches(const struct pieces *p, size_t piece, size_t rows, size_t from, size_t steps,
                                   size_t entering, size_t leaving)
{
    int32_t lengths[PIECES_MAX];
    struct call call = stretches(p, piece, stretch_begin(p, piece, from, steps), steps, rows, lengths);
    view_states(p, &call, RNN_H0, RNN_S0, entering, piece, rows);
    view_states(p, &call, RNN_HN, RNN_SN, leaving, piece, rows);
    return run_in_order(&call, p->me, p->team, p->work);
}

/* Runs the remaining steps from the last piece's state, and stores the last states of the rows. */
static unroll_status leave_rows(const struct pieces *p)
{
    const size_t last = last_piece(p);
    if (p->rest) {
        int32_t length;
        struct call call = stretches(p, last, p->call->direction ? 0 : p->count * p->length, p->rest, 1, &length);
        view_states(p, &call, RNN_H0, RNN_S0, p->ends, last, 1);
        view_row(p, &call, last, RNN_HN, RNN_SN);
        TRY(run_in_order(&call, p->me, p->team, p->work));
    } else {
        for (size_t i = p->by_rows ? 0 : last; i < (p->by_rows ? p->count : last + 1); i++)
            if (is_mine(p, i))
                give_states(p, p->ends, i, RNN_HN, RNN_SN);
    }
    gather_team(p);
    return UNROLL_OK;
}

/* ---- states, before and after ---------------------------------------------------------- */

/* Identical bits stay identical; close states must stay close for several steps. */
static size_t steps_held(const struct pieces *p) { return p->call->tolerance > 0 ? PIECE_HELD : 1; }

/* Returns step i of the held steps of a stretch, in memory. */
static size_t held_step(const struct pieces *p, size_t piece, size_t from, size_t steps, size_t i)
{
    return stretch_begin(p, piece, from + steps - 1 - i, 1);
}

/* Saves the states of the last steps before they are computed again. */
static void hold(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    for (size_t i = 0; i < steps_held(p) && i < steps; i++)
        for (size_t s = 0, n; s < p->states; s++) {
            const real *state = state_after(p, piece, s, held_step(p, piece, from, steps, i), &n);
            put(at_piece(p, p->held + i * p->states + s, piece), state, n);
        }
}

/* Returns whether the row is active in all held steps. */
static bool has_steps(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    const size_t left = (size_t)p->left[piece], held = steps_held(p);
    if (steps < held)
        return false;
    return p->call->direction ? from + steps - held >= p->length - left : from + steps <= left;
}

/* Returns whether the states at the stretch's end equal the earlier ones. All threads get the same result. */
static bool has_met(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    if (!has_steps(p, piece, from, steps))
        return false;
    for (size_t i = 0; i < steps_held(p); i++)
        for (size_t s = 0, n; s < p->states; s++) {
            const real *state = state_after(p, piece, s, held_step(p, piece, from, steps, i), &n);
            if (differ(state, at_piece(p, p->held + i * p->states + s, piece), n, (real)p->call->tolerance))
                return false;
        }
    return true;
}

/* ---- repairs --------------------------------------------------------------------------- */

/* The state that should enter a piece is a given one, or the end of the previous piece. */
static bool is_given(const struct pieces *p, size_t piece) { return p->by_rows || piece == first_piece(p); }
static size_t source_plane(const struct pieces *p, size_t piece) { return is_given(p, piece) ? p->given : p->ends; }
static size_t source_piece(const struct pieces *p, size_t piece)
{
    return is_given(p, piece) ? piece : piece_before(p, piece);
}

static bool states_differ(const struct pieces *p, size_t plane, size_t piece, size_t other, size_t other_piece)
{
    for (size_t s = 0; s < p->states; s++)
        if (differ(at_piece(p, plane + s, piece), at_piece(p, other + s, other_piece), p->width,
                   (real)p->call->tolerance))
            return true;
    return false;
}

/* Reads the end states of pieces from the results, whatever repairs held. */
static void read_ends(const struct pieces *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const size_t left = (size_t)p->left[i], last = stretch_begin(p, i, 0, p->length) + (left ? left - 1 : 0);
        const size_t t = p->call->direction ? stretch_begin(p, i, 0, p->length) : last;
        for (size_t s = 0, n; s < p->states && left && is_mine(p, i); s++) {
            const real *state = state_after(p, i, s, t, &n);
            put(at_piece(p, p->ends + s, i), state, n);
        }
    }
    gather_team(p);
}

/* Pieces beyond the row's end pass the entering state on. Finds the pieces that started from another state than the one
 * that should have entered, and must run again. Returns whether there are any. All threads get the same result. */
static bool find_wanting(const struct pieces *p, bool *wants)
{
    bool any = false;
    read_ends(p);
    for (size_t i = 0, piece = first_piece(p); i < p->count && p->me == 0; i++) {
        piece = p->by_rows ? i : i ? piece_after(p, piece) : piece;
        if (p->left[piece] == 0)
            copy_states(p, p->ends, piece, source_plane(p, piece), source_piece(p, piece));
    }
    gather_team(p);
    for (size_t i = 0; i < p->count; i++) {
        wants[i] = p->left[i] > 0 && states_differ(p, source_plane(p, i), source_piece(p, i), p->began, i);
        any = any || wants[i];
    }
    gather_team(p);
    return any;
}

/* Runs these pieces again from the states that should have entered, until they equal the earlier ones. Pieces between
 * them run again, too, which is also correct. */
static unroll_status repair(struct pieces *p, const bool *wants)
{
    bool unmet[PIECES_MAX];
    struct range at = wanting(p, wants);
    memcpy(unmet, wants, p->count * sizeof *unmet);
    for (size_t i = at.first; i < at.end; i++)
        if (is_mine(p, i)) {
            copy_states(p, p->entering, i, source_plane(p, i), source_piece(p, i));
            copy_states(p, p->began, i, p->entering, i);
        }
    p->rounds++;
    for (size_t from = 0, steps; from < p->length && at.first < at.end; from += steps) {
        steps = p->length - from < STRETCH ? p->length - from : STRETCH;
        for (size_t i = at.first; i < at.end; i++)
            if (is_mine(p, i))
                hold(p, i, from, steps);
        gather_team(p);
        TRY(run_stretches(p, at.first, at.end - at.first, from, steps, p->entering, p->leaving));
        gather_team(p);
        for (size_t i = at.first; i < at.end; i++) unmet[i] = unmet[i] && !has_met(p, i, from, steps);
        const size_t entered = p->entering;
        p->entering = p->leaving;
        p->leaving = entered;
        p->walked += steps;
        at = wanting(p, unmet);
        gather_team(p);
    }
    return UNROLL_OK;
}

/* Repeats until each piece has started from the state that enters it, then stores the rows' last states. */
static unroll_status settle(struct pieces *p)
{
    bool wants[PIECES_MAX];
    while (find_wanting(p, wants)) TRY(repair(p, wants));
    return leave_rows(p);
}

/* ---- the whole ------------------------------------------------------------------------- */

/* The state entering the first local step is the caller's, or another rank's, zeros for now; other pieces start from
 * zeros. */
static void guess(const struct pieces *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (!is_mine(p, i))
            continue;
        for (size_t s = 0; s < (p->held - p->planes); s++) clear(at_piece(p, p->planes + s, i), p->width);
        if (!is_given(p, i) || has_rank_before(p))
            continue;
        take_states(p, p->given, i, RNN_H0, RNN_S0);
        copy_states(p, p->entering, i, p->given, i);
        copy_states(p, p->began, i, p->given, i);
    }
    gather_team(p);
}

/* Exchanges the end states between ranks and repairs after each change. */
static unroll_status settle_ranks(struct pieces *p)
{
    const size_t first = p->by_rows ? 0 : first_piece(p), rows = p->by_rows ? p->count : 1;
    bool is_final = !has_rank_before(p);
    for (unsigned round = 0;; round++) {
        for (size_t i = first; i < first + rows && p->me == 0; i++) take_states(p, p->told, i, RNN_HN, RNN_SN);
        TRY(tell(p, 1, p->told, first, rows, round, is_final));
        if (is_final)
            break;
        TRY(hear(p, 1, p->given, first, rows, round, &is_final));
        TRY(settle(p));
    }
    for (size_t i = first; i < first + rows && p->me == 0; i++) {
        if (has_rank_before(p))
            give_states(p, p->given, i, RNN_H0, RNN_S0);
        take_states(p, p->told, i, RNN_HN, RNN_SN);
    }
    TRY(share_last(p, 1, p->told, first, rows));
    for (size_t i = first; i < first + rows && p->me == 0; i++) give_states(p, p->told, i, RNN_HN, RNN_SN);
    return UNROLL_OK;
}

static unroll_status run_rows(struct pieces *p)
{
    guess(p);
    TRY(run_stretches(p, 0, p->count, 0, p->length, p->entering, p->leaving));
    gather_team(p);
    TRY(settle(p));
    if (p->ranks)
        TRY(settle_ranks(p));
    gather_team(p); /* the next row uses the same memory */
    return UNROLL_OK;
}

static unroll_status run_in_pieces(const struct call *call, int me, int team, struct work *work)
{
    const struct cell_declaration *cell = call->cell->declaration;
    const size_t rows = call->view[RNN_G].count[1];
    struct pieces p = pieces_of(call, me, team, work, (size_t)(2 * cell->states) + (size_t)cell->intermediates + 2);
    for (size_t b = 0, n; b < rows; b += n) {
        n = take_rows(&p, b);
        const unroll_status status = run_rows(&p);
        if (status != UNROLL_OK)
            return told_why(&p, status);
    }
    count_run(&p, rows);
    return UNROLL_OK;
}

/* Returns whether the call starts from guessed states, possibly on several ranks. */
static bool is_repaired(const struct call *call)
{
    return call->times.size > 1 || (call->pieces > 1 && !call->counts->serial);
}

unroll_status KERNEL_RNN(const struct call *call, int me, int team, struct work *work)
{
    return is_repaired(call) ? run_in_pieces(call, me, team, work) : run_in_order(call, me, team, work);
}
