/* What repairs of pieces of time stand on: where pieces lie, their states, and when two states are the same. A piece is
 * some steps of one row, of which so many run at once; or, where ranks share time in one piece each, all steps here of
 * a row of the batch. Included before rnn_time_ranks.h, not a header of its own.
 *
 * RNN_PIECES is [planes * pieces, W]: the planes of a step, as in rnn_forward.h; states entering and leaving a stretch,
 * which change places; the states that each piece leaves; those that its last run began with; those given from without,
 * and room for those that ranks tell each other; others of rnn_pieces.h and rnn_pieces_back.h. */

/* Repairs go in stretches of so many steps: their ends are looked at. */
enum { STRETCH = 32 };

/* Pieces are numbered as they lie in memory: against time the last one is done first. */
struct pieces {
    const struct call *call;
    int me, team;
    struct work *work;
    size_t count, length, rest;  /* steps of a piece; of what is left over, done last */
    size_t states, width;        /* W */
    size_t row;                  /* of the batch; with by_rows that of piece 0 */
    bool by_rows;                /* a piece is a row */
    const struct members *ranks; /* along time; NULL: this one has all steps */
    int place;                   /* among them, in the order in which steps are done */
    size_t planes, entering, leaving, ends, began, given, told,
        held;                 /* those of a step come first; the first of each */
    int32_t left[PIECES_MAX]; /* steps of each piece before the row's end */
    size_t rounds, walked;    /* of repairs: how often, and how many steps */
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

/* Are there ranks whose steps are done before those of this one, and after them? */
static bool has_rank_before(const struct pieces *p) { return p->ranks && p->place > 0; }
static bool has_rank_after(const struct pieces *p) { return p->ranks && p->place + 1 < p->ranks->size; }

/* The first step in memory of the stretch that is done from step `from` of the piece on. */
static size_t stretch_begin(const struct pieces *p, size_t piece, size_t from, size_t steps)
{
    const size_t first = (p->call->direction ? p->rest : 0) + (p->by_rows ? 0 : piece * p->length);
    return first + (p->call->direction ? p->length - from - steps : from);
}

/* Of a row, from t on: steps that it has. */
static int32_t steps_left(const struct pieces *p, size_t row, size_t t, size_t steps)
{
    const int32_t *lengths = p->call->view[RNN_LENGTHS].at;
    const int64_t left = lengths ? lengths[row] - (int64_t)(p->call->view[RNN_G].origin[0] + t) : (int64_t)steps;
    return (int32_t)(left < 0 ? 0 : left < (int64_t)steps ? left : (int64_t)steps);
}

/* All threads have come here. */
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

/* A view [T, B, ..]: `rows` stretches of one row that begin a piece from each other, or of as many rows. */
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

/* Of the caller's, the row of a piece. */
static void view_row(const struct pieces *p, struct call *call, size_t piece, int h, int s)
{
    struct tensor *first = &call->view[h], *others = &call->view[s];
    if (first->at)
        first->at = (real *)first->at + row_of_piece(p, piece) * first->stride[0];
    if (others->at)
        others->at = (real *)others->at + row_of_piece(p, piece) * others->stride[1];
    first->count[0] = others->count[1] = 1;
}

/* State s of a piece's row in the caller's views, and how many numbers it has; NULL: the caller has none. */
static real *callers_state(const struct pieces *p, size_t piece, size_t s, int h, int others, size_t *numbers)
{
    const struct tensor *x = &p->call->view[s ? others : h];
    const size_t row = row_of_piece(p, piece);
    *numbers = x->count[s ? 2 : 1];
    return !x->at ? NULL : (real *)x->at + (s ? (s - 1) * x->stride[0] + row * x->stride[1] : row * x->stride[0]);
}

/* What is not there is zeros. */
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

/* What run_in_order is given: stretches as rows, the first at step t of piece `first`. `lengths` has room for them. */
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

/* State s of a piece's row after step t, and how many numbers it has. */
static const real *state_after(const struct pieces *p, size_t piece, size_t s, size_t t, size_t *numbers)
{
    const struct tensor *x = &p->call->view[s ? RNN_S : RNN_Y];
    *numbers = x->count[s ? 3 : 2];
    return (const real *)x->at + t * x->stride[0] + row_of_piece(p, piece) * x->stride[1] +
           (s ? (s - 1) * x->stride[2] : 0);
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

/* The pieces [first, end) between which all are that want something; none: both the same. */
static struct range wanting(const struct pieces *p, const bool *wants)
{
    struct range range = {0, p->count};
    while (range.first < range.end && !wants[range.first]) range.first++;
    while (range.first < range.end && !wants[range.end - 1]) range.end--;
    return range;
}

/* ---- one operation --------------------------------------------------------------------- */

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
    const bool in_one = call->pieces <= 1 || call->counts->serial;
    struct pieces p = {.call = call,
                       .me = me,
                       .team = team,
                       .work = work,
                       .by_rows = in_one,
                       .count = in_one ? 0 : call->pieces, /* so many rows as there are: take_rows */
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

/* The next row, whose pieces these are, or rows, each a piece; returns how many. */
static size_t take_rows(struct pieces *p, size_t row)
{
    const size_t rows = p->call->view[RNN_G].count[1] - row;
    p->row = row;
    p->count = p->by_rows ? rows < PIECES_MAX ? rows : PIECES_MAX : p->count;
    for (size_t i = 0; i < p->count; i++)
        p->left[i] = steps_left(p, row_of_piece(p, i), stretch_begin(p, i, 0, p->length), p->length);
    return p->by_rows ? p->count : 1;
}
