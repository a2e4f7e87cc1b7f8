/* Basics of repairs of pieces of time: positions and states of pieces, and comparison of states. A piece is some steps
 * of one row; `count` pieces run at once. If ranks share time in one piece each, it is all local steps of a row.
 * Included before rnn_time_ranks.h.
 *
 * RNN_PIECES is [planes * pieces, W] and contains:
 *   - the planes of a step, as in rnn_forward.h
 *   - the states entering and leaving a stretch, which are swapped
 *   - the states at the end of each piece, and those that its last run started from
 *   - the states given by the caller, and those exchanged between ranks
 *   - others of rnn_pieces.h and rnn_pieces_back.h */

/* Steps per stretch of a repair; states are compared at the ends of stretches. */
enum { STRETCH = 32 };

/* Pieces are numbered in the order of memory: against time the last one runs first. */
struct pieces {
    const struct call *call;
    int me, team;
    struct work *work;
    size_t count, length, rest;     /* steps of a piece; remaining steps, run last */
    size_t states, width;           /* W */
    size_t row;                     /* of the batch; with by_rows that of piece 0 */
    bool by_rows;                   /* a piece is a row */
    const struct rank_group *ranks; /* along time; NULL: this rank has all steps */
    int place;                      /* place among them, in order of execution */
    size_t planes, entering, leaving, ends, began, given, told,
        held;                 /* the first plane of each; those of a step come first */
    int32_t left[PIECES_MAX]; /* steps of each piece before the row's end */
    size_t rounds, walked;    /* of repairs: rounds, and steps run */
};

static real *at_piece(const struct pieces *p, size_t plane, size_t piece)
{
    return (real *)p->call->view[RNN_PIECES].at + (plane * p->count + piece) * p->width;
}

static size_t first_piece(const struct pieces *p) { return p->call->direction ? p->count - 1 : 0; }
static size_t last_piece(const struct pieces *p) { return p->call->direction ? 0 : p->count - 1; }
static size_t piece_before(const struct pieces *p, size_t piece) { return p->call->direction ? piece + 1 : piece - 1; }
static size_t piece_after(const struct pieces *p, size_t piece) { return p->call->direction ? piece - 1 : piece + 1; }
static size_t row_of_piece(const struct pieces *p, size_t piece) { return p->row + (p->by_rows ? piece : 0); }

/* Return whether other ranks run earlier or later steps. */
static bool has_rank_before(const struct pieces *p) { return p->ranks && p->place > 0; }
static bool has_rank_after(const struct pieces *p) { return p->ranks && p->place + 1 < p->ranks->size; }

/* Returns the first step in memory of the stretch that starts at step `from` of the piece. */
static size_t stretch_begin(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    const size_t first = (p->call->direction ? p->rest : 0) + (p->by_rows ? 0 : piece * p->length);
    return first + (p->call->direction ? p->length - from - steps : from);
}

/* Returns the steps of a row from t on, at most `steps`. */
static int32_t steps_left(const struct pieces *p, size_t row, size_t t, size_t steps)
{
    const int32_t *lengths = p->call->view[RNN_LENGTHS].at;
    const int64_t left = lengths ? lengths[row] - (int64_t)(p->call->view[RNN_G].origin[0] + t) : (int64_t)steps;
    return (int32_t)(left < 0 ? 0 : left < (int64_t)steps ? left : (int64_t)steps);
}

/* Waits for all threads of the team. */
static void gather_team(const struct pieces *p)
{
    if (p->team > 1)
        barrier_wait(p->call->barrier, p->me);
}

static bool is_mine(const struct pieces *p, size_t piece) { return piece % (size_t)p->team == (size_t)p->me; }

static void copy_states(const struct pieces *p, size_t to, size_t to_piece, size_t from, size_t from_piece)
{
    for (size_t s = 0; s < p->states; s++)
        put(at_piece(p, to + s, to_piece), at_piece(p, from + s, from_piece), p->width);
}

/* ---- a batch of pieces ----------------------------------------------------------------- */

/* Restricts a view [T, B, ..] to `rows` stretches of one row that are one piece apart, or to stretches of `rows`
 * rows. */
static void view_stretches(const struct pieces *p, struct tensor *x, size_t first, size_t t, size_t steps, size_t rows)
{
    const size_t row = row_of_piece(p, first);
    if (!x->at)
        return;
    x->at = (char *)x->at + (t * x->stride[0] + row * x->stride[1]) * dtype_size(x->dtype);
    if (!p->by_rows)
        x->stride[1] = p->length * x->stride[0];
    x->count[0] = (uint32_t)steps;
    x->count[1] = (uint32_t)rows;
    x->origin[0] = 0;
}

/* Uses states of pieces as the views [B, ..] and [S, B, ..]. */
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

/* Restricts the caller's views to the row of a piece. */
static void view_row(const struct pieces *p, struct call *call, size_t piece, int h, int s)
{
    struct tensor *first = &call->view[h], *others = &call->view[s];
    if (first->at)
        first->at = (real *)first->at + row_of_piece(p, piece) * first->stride[0];
    if (others->at)
        others->at = (real *)others->at + row_of_piece(p, piece) * others->stride[1];
    first->count[0] = others->count[1] = 1;
}

/* Returns state s of a piece's row in the caller's views and its length; NULL: absent. */
static real *callers_state(const struct pieces *p, size_t piece, size_t s, int h, int others, size_t *numbers)
{
    const struct tensor *x = &p->call->view[s ? others : h];
    const size_t row = row_of_piece(p, piece);
    *numbers = x->count[s ? 2 : 1];
    return !x->at ? NULL : (real *)x->at + (s ? (s - 1) * x->stride[0] + row * x->stride[1] : row * x->stride[0]);
}

/* Absent states are zeros. */
static void take_states(const struct pieces *p, size_t plane, size_t piece, int h, int others)
{
    for (size_t s = 0, n; s < p->states; s++) {
        const real *from = callers_state(p, piece, s, h, others, &n);
        put(at_piece(p, plane + s, piece), from, from ? n : p->width);
    }
}

static void give_states(const struct pieces *p, size_t plane, size_t piece, int h, int others)
{
    for (size_t s = 0, n; s < p->states; s++) {
        real *to = callers_state(p, piece, s, h, others, &n);
        if (to && p->call->view[s ? others : h].access == ADD)
            add(to, at_piece(p, plane + s, piece), n);
        else if (to)
            put(to, at_piece(p, plane + s, piece), n);
    }
}

/* Returns the arguments of run_in_order: stretches as rows, the first at step t of piece `first`. `lengths` has `rows`
 * entries. */
static struct call stretches(const struct pieces *p, size_t first, size_t t, size_t steps, size_t rows,
                             int32_t *lengths)
{
    static const int of_steps[] = {RNN_G, RNN_Y, RNN_S, RNN_INTERMEDIATE, RNN_M, RNN_RESET, RNN_X, RNN_SAVED};
    struct call call = *p->call;
    struct tensor *scratch = &call.view[RNN_SCRATCH], *length = &call.view[RNN_LENGTHS];
    bool all = true;
    for (size_t i = 0; i < sizeof of_steps / sizeof *of_steps; i++)
        view_stretches(p, &call.view[of_steps[i]], first, t, steps, rows);
    scratch->at = at_piece(p, 0, 0);
    scratch->stride[0] = p->count * p->width;
    scratch->stride[1] = p->width;
    scratch->count[0] = (uint32_t)p->planes;
    scratch->count[1] = (uint32_t)rows;
    for (size_t i = 0; i < rows; i++) {
        lengths[i] =
            p->by_rows ? steps_left(p, p->row + first + i, t, steps) : steps_left(p, p->row, t + i * p->length, steps);
        all = all && lengths[i] == (int32_t)steps;
    }
    length->at = all ? NULL : lengths;
    length->count[0] = (uint32_t)rows;
    return call;
}

/* ---- states, before and after ---------------------------------------------------------- */

/* Returns state s of a piece's row after step t, and its length. */
static const real *state_after(const struct pieces *p, size_t piece, size_t s, size_t t, size_t *numbers)
{
    const struct tensor *x = &p->call->view[s ? RNN_S : RNN_Y];
    *numbers = x->count[s ? 3 : 2];
    return (const real *)x->at + t * x->stride[0] + row_of_piece(p, piece) * x->stride[1] +
           (s ? (s - 1) * x->stride[2] : 0);
}

/* Returns whether states differ by more than the tolerance. Identical bits never differ, even if NaN. */
static bool differ(const real *a, const real *b, size_t n, real tolerance)
{
    enum { BLOCK = 16 };
    if (memcmp(a, b, n * sizeof *a) == 0)
        return false;
    for (size_t i = 0; i < n && tolerance > 0; i += BLOCK) {
        int far = 0;
        for (size_t j = i; j < i + BLOCK && j < n; j++) {
            const real d = a[j] > b[j] ? a[j] - b[j] : b[j] - a[j], size = b[j] < 0 ? -b[j] : b[j];
            far |= !(d <= tolerance * (size > 1 ? size : 1)); /* NaN differs from everything */
        }
        if (far)
            return true;
    }
    return tolerance == 0;
}

/* Returns the smallest range [first, end) that contains all pieces with `wants`; first == end: none. */
static struct range wanting(const struct pieces *p, const bool *wants)
{
    struct range range = {0, p->count};
    while (range.first < range.end && !wants[range.first]) range.first++;
    while (range.first < range.end && !wants[range.end - 1]) range.end--;
    return range;
}

/* ---- one operation --------------------------------------------------------------------- */

/* After several runs whose repairs took longer than a piece, the following ones run in order. */
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

/* Initializes pieces with this number of planes per step. */
static struct pieces pieces_of(const struct call *call, int me, int team, struct work *work, size_t planes)
{
    const struct tensor *g = &call->view[RNN_G];
    const bool in_one = call->pieces <= 1 || call->counts->serial;
    struct pieces p = {.call = call,
                       .me = me,
                       .team = team,
                       .work = work,
                       .by_rows = in_one,
                       .count = in_one ? 0 : call->pieces, /* one per row, set by take_rows */
                       .length = in_one ? g->count[0] : g->count[0] / call->pieces,
                       .rest = in_one ? 0 : g->count[0] % call->pieces,
                       .states = (size_t)call->cell->declaration->states,
                       .width = call->view[RNN_PIECES].stride[0],
                       .planes = planes,
                       .entering = planes};
    p.leaving = p.entering + p.states;
    p.ends = p.leaving + p.states;
    p.began = p.ends + p.states;
    p.given = p.began + p.states;
    p.told = p.given + p.states;
    p.held = p.told + p.states;
    if (call->times.size > 1) {
        p.ranks = &call->times;
        while (p.ranks->rank[p.place] != comm_rank(call->comm)) p.place++;
        p.place = call->direction ? p.ranks->size - 1 - p.place : p.place;
    }
    return p;
}

/* Selects the next row, divided into these pieces, or several rows, one piece each. Returns their number. */
static size_t take_rows(struct pieces *p, size_t row)
{
    const size_t rows = p->call->view[RNN_G].count[1] - row;
    p->row = row;
    p->count = p->by_rows ? rows < PIECES_MAX ? rows : PIECES_MAX : p->count;
    for (size_t i = 0; i < p->count; i++)
        p->left[i] = steps_left(p, row_of_piece(p, i), stretch_begin(p, i, 0, p->length), p->length);
    return p->by_rows ? p->count : 1;
}
