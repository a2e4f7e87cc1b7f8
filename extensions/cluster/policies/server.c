/* server:S: the weights are stored in pieces on the workers' ranks, each with its optimizer states. Workers send
 * gradients and receive weights (Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI
 * 2014). S = 0: one update by the gradients of all, here. Otherwise each gradient causes an update when it arrives
 * (server_shard.c). */
#include "extensions/cluster/policies/server.h"
#include "base/key_value.h"
#include "base/memory.h"
#include "base/number.h"
#include <string.h>

enum { TAG_GRADIENTS = TAG_OF_POLICY, TAG_SUMS, TAG_SQUARES, TAG_WEIGHTS };
enum {
    UPDATES = 4,
    MOST = 1 << 20
}; /* index of the checkpoint integer with the updates of a piece; other policies use 0 to 3 */

static const struct key keys[] = {
    {"rate", NULL, 1e-6, 1000, 0, offsetof(struct sync_options, rate), "factor of the learning rate, 1"}, {NULL}};

static unroll_status read(const char *argument, struct sync_options *options)
{
    options->bound = BOUND_NONE;
    if (strcmp(argument, "any") && number_whole_integer(argument, 0, MOST, &options->bound) != NUMBER_OK)
        return fail(UNROLL_USAGE,
                    "`sync` = 'server:%.40s': S is 0 to %d updates, or any; fix: write for example server:4", argument,
                    MOST);
    options->asynchronous = options->bound != 0;
    return UNROLL_OK;
}

/* ---- pieces ------------------------------------------------------------------------------- */

/* Finds the first row of a place's piece; pieces are as equal as whole rows allow. */
static void find_begin(const struct update_vector *v, int place, struct piece *piece)
{
    const size_t wanted = v->count * (size_t)place / (size_t)v->workers;
    piece->first = piece->row = 0;
    for (const struct share *share = v->share; share < v->share + v->shares; share++) {
        size_t rows = wanted > share->first ? (wanted - share->first + share->columns - 1) / share->columns : 0;
        rows = rows < share->rows ? rows : share->rows;
        piece->row += rows;
        piece->first += rows * share->columns;
    }
}

static struct piece find_piece(const struct update_vector *v, int place)
{
    struct piece piece, next;
    find_begin(v, place, &piece);
    find_begin(v, place + 1, &next);
    piece.count = next.first - piece.first;
    piece.rows = next.row - piece.row;
    return piece;
}

/* Returns the elements of the largest piece. */
static size_t most_of_all(const struct exchange *e)
{
    const struct server *s = e->state;
    size_t most = 0;
    for (int i = 0; i < e->vector.workers; i++) most = s->piece[i].count > most ? s->piece[i].count : most;
    return most;
}

/* ---- state of a rank ---------------------------------------------------------------------- */

static unroll_status open(struct exchange *e)
{
    struct server *s;
    TRY(ALLOCATE(s, 1, "for a parameter server"));
    e->state = s;
    TRY(ALLOCATE(s->piece, (size_t)e->vector.workers, "for a parameter server"));
    for (int i = 0; i < e->vector.workers; i++) s->piece[i] = find_piece(&e->vector, i);
    s->states = session_optimizer_states(e->session);
    if (s->states > SERVER_STATES)
        return fail(UNROLL_UNSUPPORTED, "sync server keeps at most %d states of an optimizer; fix: use another one",
                    SERVER_STATES);
    TRY(ALLOCATE(s->weights, e->vector.count, "for the weights of a server"));
    TRY(ALLOCATE(s->held, most_of_all(e) * (size_t)e->vector.workers, "for gradients to a server"));
    for (int k = 0; k < s->states; k++) TRY(ALLOCATE(s->state[k], e->vector.count, "for the states of an optimizer"));
    TRY(ALLOCATE(s->squares, e->vector.rows, "for norms"));
    return e->options.asynchronous ? shard_open(e) : UNROLL_OK;
}

static void close_server(struct exchange *e)
{
    struct server *s = e->state;
    if (!s)
        return;
    if (e->options.asynchronous)
        shard_close(e);
    for (int k = 0; k < s->states; k++) release(s->state[k]);
    release(s->piece);
    release(s->weights);
    release(s->held);
    release(s->squares);
    release(s);
}

/* Takes weights and states from the session; they are the same on all workers. */
static unroll_status begin(struct exchange *e, int64_t step, bool is_fresh)
{
    struct server *s = e->state;
    TRY(session_read_shares(e->session, SHARE_WEIGHTS, s->weights));
    for (int k = 0; k < s->states; k++) TRY(session_read_shares(e->session, SHARE_STATE + k, s->state[k]));
    s->rates.size = 0;
    s->updates = !is_fresh && e->integer[UPDATES] > 0 ? e->integer[UPDATES] : step;
    if (e->options.asynchronous)
        shard_begin(e, step);
    return UNROLL_OK;
}

unroll_status server_update(struct exchange *e, double part, double scale, float *gradients)
{
    struct server *s = e->state;
    const size_t first = s->piece[e->vector.worker].first;
    float *state[SERVER_STATES];
    for (int k = 0; k < s->states; k++) state[k] = s->state[k] + first;
    return session_update_outside(e->session, &s->rates, part, ++s->updates, scale, s->weights + first, gradients,
                                  state, s->piece[e->vector.worker].count);
}

/* ---- synchronous updates ------------------------------------------------------------------ */

static unroll_status to_others(struct exchange *e, uint32_t tag, const void *data, size_t bytes)
{
    for (int i = 0; i < e->vector.workers; i++)
        if (i != e->vector.worker)
            TRY(comm_send(e->comm, e->vector.rank[i], tag, data, bytes));
    return UNROLL_OK;
}

/* All-gather: each rank sends the piece of a vector that it serves to all others. */
static unroll_status gather(struct exchange *e, float *vector)
{
    const struct piece *piece = ((struct server *)e->state)->piece, *own = &piece[e->vector.worker];
    TRY(to_others(e, TAG_WEIGHTS, vector + own->first, own->count * sizeof *vector));
    for (int i = 0; i < e->vector.workers; i++)
        if (i != e->vector.worker)
            TRY(comm_recv(e->comm, e->vector.rank[i], TAG_WEIGHTS, vector + piece[i].first,
                          piece[i].count * sizeof *vector));
    return UNROLL_OK;
}

/* Sums the gradients of all for this rank's piece, in the tree's order, into e->own; also sums the counts. */
static unroll_status sum_gradients(struct exchange *e, struct turn *turn)
{
    struct server *s = e->state;
    const struct piece *own = &s->piece[e->vector.worker];
    const size_t n = own->count;
    double sums[2] = {*turn->sums[0], *turn->sums[1]}, more[2];
    for (int i = 0; i < e->vector.workers; i++)
        if (i != e->vector.worker)
            TRY(comm_send(e->comm, e->vector.rank[i], TAG_GRADIENTS, e->own + s->piece[i].first,
                          s->piece[i].count * sizeof *e->own));
    TRY(to_others(e, TAG_SUMS, sums, sizeof sums));
    *turn->sums[0] = *turn->sums[1] = 0;
    for (int i = 0; i < e->vector.workers; i++) {
        memcpy(more, sums, sizeof more);
        if (i != e->vector.worker) {
            TRY(comm_recv(e->comm, e->vector.rank[i], TAG_GRADIENTS, s->held + (size_t)i * n, n * sizeof *s->held));
            TRY(comm_recv(e->comm, e->vector.rank[i], TAG_SUMS, more, sizeof more));
        } else
            memcpy(s->held + (size_t)i * n, e->own + own->first, n * sizeof *s->held);
        for (int k = 0; k < 2; k++) *turn->sums[k] += more[k];
    }
    for (size_t distance = 1; distance < (size_t)e->vector.workers; distance *= 2)
        for (size_t i = 0; i + distance < (size_t)e->vector.workers; i += 2 * distance)
            for (size_t k = 0; k < n; k++) s->held[i * n + k] += s->held[(i + distance) * n + k];
    memcpy(e->own + own->first, s->held, n * sizeof *e->own);
    return UNROLL_OK;
}

/* Computes the norm of all gradients from all pieces. */
static unroll_status sum_norms(struct exchange *e, double *norms)
{
    struct server *s = e->state;
    const struct piece *own = &s->piece[e->vector.worker];
    exchange_square_rows(e, e->own, own->row, own->row + own->rows, s->squares);
    TRY(to_others(e, TAG_SQUARES, s->squares + own->row, own->rows * sizeof *s->squares));
    for (int i = 0; i < e->vector.workers; i++)
        if (i != e->vector.worker)
            TRY(comm_recv(e->comm, e->vector.rank[i], TAG_SQUARES, s->squares + s->piece[i].row,
                          s->piece[i].rows * sizeof *s->squares));
    exchange_sum_squares(e, s->squares, norms);
    return UNROLL_OK;
}

static unroll_status update_together(struct exchange *e, unroll_session *session, struct turn *turn)
{
    struct server *s = e->state;
    TRY(sum_gradients(e, turn));
    TRY(sum_norms(e, turn->norms));
    const double scale = session_gradient_scale(session, turn);
    s->rates = *turn->rates;
    s->updates = turn->update - 1;
    if (scale != 0)
        TRY(server_update(e, e->options.rate, scale, e->own + s->piece[e->vector.worker].first));
    TRY(gather(e, s->weights));
    return session_write_shares(session, SHARE_WEIGHTS, s->weights);
}

/* ---- the policy --------------------------------------------------------------------------- */

/* Asynchronous: adds the gradients of a step to those held for each piece. */
static void hold(struct exchange *e, const unroll_session *session, const struct turn *turn)
{
    struct server *s = e->state;
    s->next_rates = *turn->rates;
    s->scale = session_gradient_scale(session, turn);
    for (size_t i = 0; i < e->vector.count && s->scale != 0; i++) s->held[i] += (float)s->scale * e->own[i];
}

static unroll_status between(void *arg, unroll_session *session, struct turn *turn)
{
    struct exchange *e = arg;
    turn->updated = true;
    TRY(session_read_shares(session, SHARE_GRADIENTS, e->own));
    if (e->options.asynchronous)
        hold(e, session, turn);
    else
        TRY(update_together(e, session, turn));
    memset(e->own, 0, e->vector.count * sizeof *e->own);
    return session_write_shares(session, SHARE_GRADIENTS, e->own);
}

static unroll_status after(struct exchange *e, int64_t step)
{
    e->step = step;
    return e->options.asynchronous ? shard_after(e, step) : UNROLL_OK;
}

static unroll_status gather_all(struct exchange *e)
{
    struct server *s = e->state;
    for (int k = 0; e->states && k < s->states; k++) {
        TRY(gather(e, s->state[k]));
        TRY(session_write_shares(e->session, SHARE_STATE + k, s->state[k]));
    }
    TRY(gather(e, s->weights));
    return session_write_shares(e->session, SHARE_WEIGHTS, s->weights);
}

/* Copies the contents of all pieces to the session, as a single process would have them. Messages that arrive
 * meanwhile belong to the next step. */
static unroll_status settle(struct exchange *e)
{
    struct server *s = e->state;
    TRY(e->options.asynchronous ? shard_settle(e) : UNROLL_OK);
    e->integer[UPDATES] = s->updates;
    s->busy = true;
    unroll_status status = gather_all(e);
    s->busy = false;
    return status;
}

static double bytes(const struct sync_options *options, const struct update_vector *vector, double *every)
{
    const int workers = vector->workers;
    const size_t count = vector->count;
    double most = 0;
    *every = 1;
    for (int place = 0; place < workers; place++) {
        const struct piece own = find_piece(vector, place);
        const double header =
            options->asynchronous ? 2 * sizeof(struct notice) : 2 * sizeof(double) + (double)own.rows * sizeof(double);
        const double sent =
            (double)(count - own.count) * sizeof(float) + (workers - 1) * (header + (double)own.count * sizeof(float));
        most = sent > most ? sent : most;
    }
    return most;
}

const struct policy policy_server = {
    .name = "server",
    .about =
        "parameter server in shards on the workers' ranks; server:0: updates by the gradients of all workers; server:S: by "
        "each gradient on arrival, workers at most S steps apart; server:any: without a limit",
    .argument = "S",
    .keys = keys,
    .read = read,
    .open = open,
    .close = close_server,
    .between = between,
    .after = after,
    .met = meeting_met,
    .settle = settle,
    .begin = begin,
    .bytes = bytes};
