/* Pieces of time: a row's steps as so many pieces, which run at once as rows of a batch, each from zeros but the first.
 * Then each runs again from the state that the piece before it left, until its states are those that it had: the rest
 * of it is right already. Who never meets them leaves another state, and the next piece runs again: in the worst case
 * piece by piece, which is the serial answer. Cells are not asked how they forget. Included after rnn_forward.h, not a
 * header of its own.
 *
 * RNN_PIECES is [planes * pieces, W]: the planes of a step, as in rnn_forward.h; states entering and leaving, which
 * change places; the states that each piece leaves; the states of the last PIECE_HELD steps of a stretch, before it ran
 * again. */

/* Repairs go in stretches of so many steps: their ends are looked at. */
enum { STRETCH = 32 };

/* One row of the batch. Pieces are numbered as they lie in memory: against time the last one is done first. */
struct pieces {
    const struct call *call;
    int me, team;
    struct work *work;
    size_t count, length, rest; /* steps of a piece; of what is left over, done last */
    size_t states, width;       /* W */
    size_t row;
    size_t planes, entering, leaving, ends, held; /* those of a step come first; the first of each */
    int32_t left[PIECES_MAX];                     /* steps of each piece before the row's end */
    size_t rounds, walked;                        /* of repairs: how often, and how many steps */
};

static real *at_piece(const struct pieces *p, size_t plane, size_t piece)
{
    return (real *)p->call->view[RNN_PIECES].at + (plane * p->count + piece) * p->width;
}

static size_t first_piece(const struct pieces *p) { return p->call->direction ? p->count - 1 : 0; }
static size_t last_piece(const struct pieces *p) { return p->call->direction ? 0 : p->count - 1; }
static size_t piece_before(const struct pieces *p, size_t piece) { return p->call->direction ? piece + 1 : piece - 1; }
static size_t piece_after(const struct pieces *p, size_t piece) { return p->call->direction ? piece - 1 : piece + 1; }

/* The first step in memory of the stretch that is done from step `from` of the piece on. */
static size_t stretch_begin(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    const size_t first = p->call->direction ? p->rest : 0;
    return first + piece * p->length + (p->call->direction ? p->length - from - steps : from);
}

/* Of one piece, or of the rest: its steps from t on that the row has. */
static int32_t steps_left(const struct pieces *p, size_t t, size_t steps)
{
    const int32_t *lengths = p->call->view[RNN_LENGTHS].at;
    const int64_t left = lengths ? lengths[p->row] - (int64_t)(p->call->view[RNN_G].origin[0] + t) : (int64_t)steps;
    return (int32_t)(left < 0 ? 0 : left < (int64_t)steps ? left : (int64_t)steps);
}

/* All threads have come here. */
static void gather_team(const struct pieces *p)
{
    if (p->team > 1)
        barrier_wait(p->call->barrier);
}

static bool is_mine(const struct pieces *p, size_t piece) { return piece % (size_t)p->team == (size_t)p->me; }

static void copy_states(const struct pieces *p, size_t to, size_t to_piece, size_t from, size_t from_piece)
{
    for (size_t s = 0; s < p->states; s++)
        put(at_piece(p, to + s, to_piece), at_piece(p, from + s, from_piece), p->width);
}

/* ---- a batch of pieces ----------------------------------------------------------------- */

/* A view [T, B, ..]: `rows` stretches of one row that begin `apart` steps from each other. */
static void view_stretches(const struct pieces *p, struct tensor *x, size_t t, size_t steps, size_t rows, size_t apart)
{
    if (!x->at)
        return;
    x->at = (char *)x->at + (t * x->stride[0] + p->row * x->stride[1]) * dtype_size(x->dtype);
    x->stride[1] = apart * x->stride[0];
    x->count[0] = (uint32_t)steps;
    x->count[1] = (uint32_t)rows;
    x->origin[0] = 0;
}

/* States of pieces as the views [B, ..] and [S, B, ..]. */
static void view_states(const struct pieces *p, struct call *call, int h, int s, size_t plane, size_t piece,
                        size_t rows)
{
    struct tensor *first = &call->view[h], *others = &call->view[s];
    first->at = at_piece(p, plane, piece);
    first->stride[0] = others->stride[1] = p->width;
    first->count[0] = (uint32_t)rows;
    if (!others->at)
        return;
    others->at = at_piece(p, plane + 1, piece);
    others->stride[0] = p->count * p->width;
    others->count[1] = (uint32_t)rows;
}

/* Of the caller's, this row. */
static void view_row(const struct pieces *p, struct call *call, int h, int s)
{
    struct tensor *first = &call->view[h], *others = &call->view[s];
    if (first->at)
        first->at = (real *)first->at + p->row * first->stride[0];
    if (others->at)
        others->at = (real *)others->at + p->row * others->stride[1];
    first->count[0] = others->count[1] = 1;
}

/* What run_in_order is given: stretches as rows. `lengths` has room for them. */
static struct call stretches(const struct pieces *p, size_t t, size_t steps, size_t rows, int32_t *lengths)
{
    static const int of_steps[] = {RNN_G, RNN_Y, RNN_S, RNN_INTERMEDIATE, RNN_M, RNN_RESET, RNN_X, RNN_SAVED};
    struct call call = *p->call;
    struct tensor *scratch = &call.view[RNN_SCRATCH], *length = &call.view[RNN_LENGTHS];
    bool all = true;
    for (size_t i = 0; i < sizeof of_steps / sizeof *of_steps; i++)
        view_stretches(p, &call.view[of_steps[i]], t, steps, rows, p->length);
    scratch->at = at_piece(p, 0, 0);
    scratch->stride[0] = p->count * p->width;
    scratch->stride[1] = p->width;
    scratch->count[0] = (uint32_t)p->planes;
    scratch->count[1] = (uint32_t)rows;
    for (size_t i = 0; i < rows; i++) {
        lengths[i] = steps_left(p, t + i * p->length, steps);
        all = all && lengths[i] == (int32_t)steps;
    }
    length->at = all ? NULL : lengths;
    length->count[0] = (uint32_t)rows;
    return call;
}

/* Steps [from, from + steps) of some pieces. */
static unroll_status run_stretches(const struct pieces *p, size_t piece, size_t rows, size_t from, size_t steps,
                                   size_t entering, size_t leaving)
{
    int32_t lengths[PIECES_MAX];
    struct call call = stretches(p, stretch_begin(p, piece, from, steps), steps, rows, lengths);
    view_states(p, &call, RNN_H0, RNN_S0, entering, piece, rows);
    view_states(p, &call, RNN_HN, RNN_SN, leaving, piece, rows);
    return run_in_order(&call, p->me, p->team, p->work);
}

/* What the pieces leave over, from the last one's state; the row's last state. */
static unroll_status run_rest(const struct pieces *p)
{
    int32_t length;
    struct call call = stretches(p, p->call->direction ? 0 : p->count * p->length, p->rest, 1, &length);
    view_states(p, &call, RNN_H0, RNN_S0, p->ends, last_piece(p), 1);
    view_row(p, &call, RNN_HN, RNN_SN);
    if (p->rest)
        return run_in_order(&call, p->me, p->team, p->work);
    for (size_t s = 0; s < p->states && p->me == 0; s++) {
        const struct tensor *to = &call.view[s ? RNN_SN : RNN_HN];
        if (to->at)
            put((real *)to->at + (s ? (s - 1) * to->stride[0] : 0), at_piece(p, p->ends + s, last_piece(p)),
                to->count[s ? 2 : 1]);
    }
    return UNROLL_OK;
}

/* ---- states, before and after ---------------------------------------------------------- */

/* State s after step t of the sequence, and how many numbers it has. */
static const real *state_after(const struct pieces *p, size_t s, size_t t, size_t *numbers)
{
    const struct tensor *x = &p->call->view[s ? RNN_S : RNN_Y];
    *numbers = x->count[s ? 3 : 2];
    return (const real *)x->at + t * x->stride[0] + p->row * x->stride[1] + (s ? (s - 1) * x->stride[2] : 0);
}

/* Do they differ by more than the tolerance? What is the same to the bit does not, be it no number. */
static bool differ(const real *a, const real *b, size_t n, real tolerance)
{
    enum { BLOCK = 16 };
    if (memcmp(a, b, n * sizeof *a) == 0)
        return false;
    for (size_t i = 0; i < n && tolerance > 0; i += BLOCK) {
        int far = 0;
        for (size_t j = i; j < i + BLOCK && j < n; j++) {
            const real d = a[j] > b[j] ? a[j] - b[j] : b[j] - a[j], size = b[j] < 0 ? -b[j] : b[j];
            far |= !(d <= tolerance * (size > 1 ? size : 1)); /* a NaN is far from all */
        }
        if (far)
            return true;
    }
    return tolerance == 0;
}

/* Same bits now are the same bits ever after; near ones must stay so for some steps. */
static size_t steps_held(const struct pieces *p) { return p->call->tolerance > 0 ? PIECE_HELD : 1; }

/* Step i of those that are held of a stretch, in memory. */
static size_t held_step(const struct pieces *p, size_t piece, size_t from, size_t steps, size_t i)
{
    return stretch_begin(p, piece, from + steps - 1 - i, 1);
}

/* Keeps the states of the last steps before they are made anew. */
static void hold(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    for (size_t i = 0; i < steps_held(p) && i < steps; i++)
        for (size_t s = 0, n; s < p->states; s++) {
            const real *state = state_after(p, s, held_step(p, piece, from, steps, i), &n);
            put(at_piece(p, p->held + i * p->states + s, piece), state, n);
        }
}

/* Does the row take part in all steps that are held? */
static bool has_steps(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    const size_t left = (size_t)p->left[piece], held = steps_held(p);
    if (steps < held)
        return false;
    return p->call->direction ? from + steps - held >= p->length - left : from + steps <= left;
}

/* Are the states of the stretch's end what they were? All threads find the same. */
static bool has_met(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    if (!has_steps(p, piece, from, steps))
        return false;
    for (size_t i = 0; i < steps_held(p); i++)
        for (size_t s = 0, n; s < p->states; s++) {
            const real *state = state_after(p, s, held_step(p, piece, from, steps, i), &n);
            if (differ(state, at_piece(p, p->held + i * p->states + s, piece), n, (real)p->call->tolerance))
                return false;
        }
    return true;
}

/* ---- repairs --------------------------------------------------------------------------- */

/* The pieces [first, end) between which all are that want something; none: both the same. */
static struct range wanting(const struct pieces *p, const bool *wants)
{
    struct range range = {0, p->count};
    while (range.first < range.end && !wants[range.first]) range.first++;
    while (range.first < range.end && !wants[range.end - 1]) range.end--;
    return range;
}

/* Pieces beyond the row's end hand on the state that enters. */
static void hand_on(const struct pieces *p, bool *wants)
{
    for (size_t i = 1, piece = first_piece(p); i < p->count; i++) {
        piece = piece_after(p, piece);
        if (!wants[piece] || p->left[piece] > 0)
            continue;
        wants[piece] = false;
        if (p->me == 0)
            copy_states(p, p->ends, piece, p->ends, piece_before(p, piece));
        if (i + 1 < p->count)
            wants[piece_after(p, piece)] = true;
    }
    gather_team(p);
}

/* Those that want it run again from the states that the pieces before them have left, until they meet what they were.
 * Those between them do so, too: it is right as well. Afterwards the pieces after those want it that left another. */
static unroll_status repair(struct pieces *p, bool *wants)
{
    bool unmet[PIECES_MAX];
    struct range at = wanting(p, wants);
    memcpy(unmet, wants, p->count * sizeof *unmet);
    for (size_t i = at.first; i < at.end; i++)
        if (is_mine(p, i))
            copy_states(p, p->entering, i, p->ends, piece_before(p, i));
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
    memset(wants, 0, p->count * sizeof *wants);
    for (size_t i = at.first; i < at.end; i++) {
        bool changed = false;
        for (size_t s = 0; s < p->states && unmet[i]; s++)
            changed = changed || differ(at_piece(p, p->entering + s, i), at_piece(p, p->ends + s, i), p->width,
                                        (real)p->call->tolerance);
        if (changed && i != last_piece(p))
            wants[piece_after(p, i)] = true;
    }
    gather_team(p);
    for (size_t i = at.first; i < at.end; i++)
        if (unmet[i] && is_mine(p, i))
            copy_states(p, p->ends, i, p->entering, i);
    gather_team(p);
    return UNROLL_OK;
}

/* ---- the whole ------------------------------------------------------------------------- */

/* The first piece from the state that enters, the others from zeros. */
static void guess(const struct pieces *p)
{
    struct call call = *p->call;
    view_row(p, &call, RNN_H0, RNN_S0);
    for (size_t i = 0; i < p->count; i++)
        for (size_t s = 0; s < p->states && is_mine(p, i); s++) {
            const struct tensor *x = &call.view[s ? RNN_S0 : RNN_H0];
            real *to = at_piece(p, p->entering + s, i);
            clear(to, p->width);
            clear(at_piece(p, p->leaving + s, i), p->width);
            clear(at_piece(p, p->ends + s, i), p->width);
            if (i == first_piece(p) && x->at)
                put(to, (const real *)x->at + (s ? (s - 1) * x->stride[0] : 0), x->count[s ? 2 : 1]);
        }
    gather_team(p);
}

static unroll_status run_row(struct pieces *p, size_t row)
{
    bool wants[PIECES_MAX];
    p->row = row;
    for (size_t i = 0; i < p->count; i++) {
        p->left[i] = steps_left(p, stretch_begin(p, i, 0, p->length), p->length);
        wants[i] = i != first_piece(p);
    }
    guess(p);
    TRY(run_stretches(p, 0, p->count, 0, p->length, p->entering, p->ends));
    gather_team(p);
    for (hand_on(p, wants); wanting(p, wants).first < wanting(p, wants).end; hand_on(p, wants)) TRY(repair(p, wants));
    TRY(run_rest(p));
    gather_team(p); /* the next row uses the same memory */
    return UNROLL_OK;
}

/* After several runs whose repairs took longer than a piece the next ones go in order. */
static void count_run(const struct pieces *p, size_t rows)
{
    enum { SEVERAL = 3 };
    struct piece_counts *counts = p->call->counts;
    if (p->me > 0 || !counts)
        return;
    counts->runs++;
    counts->rounds += p->rounds;
    counts->repaired += p->walked;
    counts->longest = p->walked;
    counts->misses = p->walked > rows * p->length ? counts->misses + 1 : 0;
    counts->serial = counts->misses >= SEVERAL;
}

/* With so many planes of a step. */
static struct pieces pieces_of(const struct call *call, int me, int team, struct work *work, size_t planes)
{
    const struct tensor *g = &call->view[RNN_G];
    struct pieces p = {.call = call,
                       .me = me,
                       .team = team,
                       .work = work,
                       .count = call->pieces,
                       .length = g->count[0] / call->pieces,
                       .rest = g->count[0] % call->pieces,
                       .states = (size_t)call->cell->declaration->states,
                       .width = call->view[RNN_PIECES].stride[0],
                       .planes = planes,
                       .entering = planes};
    p.leaving = p.entering + p.states;
    p.ends = p.leaving + p.states;
    p.held = p.ends + p.states;
    return p;
}

static unroll_status run_in_pieces(const struct call *call, int me, int team, struct work *work)
{
    const struct cell_declaration *cell = call->cell->declaration;
    const size_t rows = call->view[RNN_G].count[1];
    struct pieces p = pieces_of(call, me, team, work, (size_t)(2 * cell->states) + (size_t)cell->intermediates + 2);
    for (size_t b = 0; b < rows; b++) TRY(run_row(&p, b));
    count_run(&p, rows);
    return UNROLL_OK;
}

unroll_status KERNEL_RNN(const struct call *call, int me, int team, struct work *work)
{
    const bool serial = call->pieces <= 1 || (call->counts && call->counts->serial);
    return serial ? run_in_order(call, me, team, work) : run_in_pieces(call, me, team, work);
}
