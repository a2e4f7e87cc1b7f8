/* Pieces that answer as gradients come: a worker sends what it has for a piece when the last has been answered, and
 * goes on; what it learns meanwhile is added, and goes as a mean with the next. A piece answers at once, or when nobody
 * lags too far behind (Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server",
 * NIPS 2013). It does so also while its rank computes or waits. What came in which order can be made again. */
#include "parallel/server.h"
#include "base/memory.h"
#include <string.h>

enum { TAG_PUSH = TAG_OF_POLICY + 8, TAG_ANSWER };
enum { NOTICE = sizeof(struct notice) / sizeof(float) };

static size_t box_bytes(const struct piece *piece) { return sizeof(struct notice) + piece->count * sizeof(float); }

static unroll_status serve(void *arg);

unroll_status shard_open(struct exchange *e)
{
    struct server *s = e->state;
    size_t most = 0;
    TRY(ALLOCATE(s->peer, (size_t)e->size, "for a parameter server"));
    for (int i = 0; i < e->size; i++) {
        const size_t count = NOTICE + s->piece[i].count;
        TRY(ALLOCATE(s->peer[i].box, count, "for what a server answers"));
        most = count > most ? count : most;
    }
    TRY(ALLOCATE(s->box, NOTICE + s->piece[e->place].count, "for gradients to a server"));
    TRY(ALLOCATE(s->out, most, "for gradients to a server"));
    TRY(meeting_open(e, &s->meeting));
    comm_serve(e->comm, serve, e);
    return UNROLL_OK;
}

void shard_close(struct exchange *e)
{
    struct server *s = e->state;
    if (!s->peer)
        return;
    comm_serve(e->comm, NULL, NULL);
    if (s->listens)
        e->comm->transport->drop(e->comm, &s->request);
    for (int i = 0; i < e->size; i++) {
        if (s->peer[i].asked && !s->meeting.arrivals.replays)
            e->comm->transport->drop(e->comm, &s->peer[i].request);
        release(s->peer[i].box);
    }
    meeting_close(e, &s->meeting);
    release(s->peer);
    release(s->box);
    release(s->out);
}

void shard_begin(struct exchange *e, int64_t step)
{
    struct server *s = e->state;
    for (int i = 0; i < e->size; i++) {
        struct peer *p = &s->peer[i];
        p->gradients = 0;
        p->sent = p->known = p->clock = step;
    }
    memset(s->held, 0, e->count * sizeof *s->held);
}

static unroll_status note(struct exchange *e, int kind, int other, int64_t theirs)
{
    struct server *s = e->state;
    const struct arrival a = {s->line, theirs, kind, other};
    return arrivals_note(&s->meeting.arrivals, &a);
}

/* ---- the piece that lives here ------------------------------------------------------------ */

static int64_t least_clock(const struct exchange *e)
{
    const struct server *s = e->state;
    int64_t least = s->peer[0].clock;
    for (int i = 1; i < e->size; i++) least = s->peer[i].clock < least ? s->peer[i].clock : least;
    return least;
}

static bool is_near(const struct exchange *e, int64_t least, int64_t step)
{
    return e->options.bound == BOUND_NONE || least >= step - e->options.bound;
}

static unroll_status answer(struct exchange *e, int member, int64_t least)
{
    struct server *s = e->state;
    const struct piece *own = &s->piece[e->place];
    const struct notice notice = {e->place, 0, least};
    s->peer[member].owed = false;
    memcpy(s->out, &notice, sizeof notice);
    memcpy(s->out + NOTICE, s->weights + own->first, own->count * sizeof *s->out);
    return comm_send(e->comm, e->rank[member], TAG_ANSWER, s->out, box_bytes(own));
}

static unroll_status answer_owed(struct exchange *e)
{
    struct server *s = e->state;
    const int64_t least = least_clock(e);
    for (int i = 0; i < e->size; i++)
        if (s->peer[i].owed && is_near(e, least, s->peer[i].clock))
            TRY(answer(e, i, least));
    return UNROLL_OK;
}

/* The sum of so many gradients makes an update as of one, whose rate is a worker's part: workers that are as fast as
 * each other go in one round as far as one update of the gradients of all. */
static unroll_status take_gradients(struct exchange *e, int member, const struct notice *n, float *gradients)
{
    struct server *s = e->state;
    const double part = e->options.rate / e->size;
    TRY(n->gradients > 0 ? server_update(e, part, 1.0 / n->gradients, gradients) : UNROLL_OK);
    s->peer[member].clock = n->step;
    s->peer[member].owed = member != e->place;
    return answer_owed(e);
}

static unroll_status take_push(struct exchange *e)
{
    struct server *s = e->state;
    struct notice n;
    memcpy(&n, s->box, sizeof n);
    if (n.from < 0 || n.from >= e->size || n.from == e->place || n.step < s->peer[n.from].clock)
        return fail(UNROLL_COMMUNICATION,
                    "gradients of worker %d of %d, step %lld; fix: start all workers with the same program and options",
                    (int)n.from, e->size, (long long)n.step);
    if (!is_near(e, least_clock(e), n.step - 1))
        return fail(
            UNROLL_COMMUNICATION,
            "worker %d made step %lld when not all had made step %lld; fix: start all workers with the same program and options",
            (int)n.from, (long long)n.step, (long long)(n.step - 1 - e->options.bound));
    TRY(note(e, ARRIVAL_CAME, n.from, n.step));
    return take_gradients(e, n.from, &n, s->box + NOTICE);
}

static unroll_status look_for_push(struct exchange *e, int from, bool *done)
{
    struct server *s = e->state;
    if (!s->listens) {
        s->request =
            (struct request){.from = from, .tag = TAG_PUSH, .data = s->box, .bytes = box_bytes(&s->piece[e->place])};
        s->listens = true;
        TRY(e->comm->transport->begin(e->comm, &s->request));
    }
    TRY(e->comm->transport->test(e->comm, &s->request, done));
    s->listens = !*done;
    return UNROLL_OK;
}

/* Of a replay: the next that must come, if it is gradients. */
static unroll_status look_again(struct exchange *e, bool *something)
{
    struct server *s = e->state;
    struct arrival a;
    struct notice n;
    unroll_status status;
    *something = false;
    if (!arrivals_look(&s->meeting.arrivals, s->line, &a, &status) || a.kind != ARRIVAL_CAME)
        return status;
    if (a.other >= e->size || a.other == e->place)
        return fail(UNROLL_DATA, "arrivals are of other workers; fix: the files of this run");
    TRY(look_for_push(e, e->rank[a.other], something));
    if (!*something)
        return UNROLL_OK;
    memcpy(&n, s->box, sizeof n);
    if (n.step != a.theirs)
        return fail(UNROLL_DATA,
                    "worker %d sent gradients of step %lld, the arrivals say %lld; fix: the files of this run", a.other,
                    (long long)n.step, (long long)a.theirs);
    arrivals_take(&s->meeting.arrivals, s->line, &a, &status);
    TRY(status);
    return take_push(e);
}

static unroll_status serve_all(struct exchange *e, bool *something)
{
    struct server *s = e->state;
    *something = false;
    for (bool done = !s->busy && s->rates.size > 0; done; *something |= done) {
        if (s->meeting.arrivals.replays) {
            TRY(look_again(e, &done));
            continue;
        }
        TRY(look_for_push(e, TRANSPORT_ANY, &done));
        TRY(done ? take_push(e) : UNROLL_OK);
    }
    return UNROLL_OK;
}

static unroll_status serve(void *arg)
{
    bool something;
    return serve_all(arg, &something);
}

/* ---- the worker --------------------------------------------------------------------------- */

/* What it has for a piece; its own is near. */
static unroll_status push(struct exchange *e, int member)
{
    struct server *s = e->state;
    struct peer *p = &s->peer[member];
    const struct piece *piece = &s->piece[member];
    const struct notice n = {e->place, p->gradients, e->step};
    float *held = s->held + piece->first;
    TRY(note(e, ARRIVAL_SENT, member, e->step));
    p->gradients = 0;
    p->sent = e->step;
    if (member == e->place) {
        s->rates = s->next_rates;
        return take_gradients(e, member, &n, held);
    }
    memcpy(s->out, &n, sizeof n);
    memcpy(s->out + NOTICE, held, piece->count * sizeof *held);
    memset(held, 0, piece->count * sizeof *held);
    TRY(comm_send(e->comm, e->rank[member], TAG_PUSH, s->out, box_bytes(piece)));
    p->asked = true;
    p->request =
        (struct request){.from = e->rank[member], .tag = TAG_ANSWER, .data = p->box, .bytes = box_bytes(piece)};
    return s->meeting.arrivals.replays ? UNROLL_OK : e->comm->transport->begin(e->comm, &p->request);
}

static unroll_status take_answer(struct exchange *e, int member)
{
    struct server *s = e->state;
    struct peer *p = &s->peer[member];
    struct notice n;
    memcpy(&n, p->box, sizeof n);
    memcpy(s->weights + s->piece[member].first, p->box + NOTICE, s->piece[member].count * sizeof(float));
    p->asked = false;
    p->known = n.step;
    return note(e, ARRIVAL_ANSWER, member, n.step);
}

/* What has come so far. */
static unroll_status look(struct exchange *e, bool *something)
{
    struct server *s = e->state;
    bool done;
    TRY(serve_all(e, something));
    for (int i = 0; i < e->size; i++) {
        if (!s->peer[i].asked)
            continue;
        TRY(e->comm->transport->test(e->comm, &s->peer[i].request, &done));
        TRY(done ? take_answer(e, i) : UNROLL_OK);
        *something |= done;
    }
    for (done = true; done; *something |= done) TRY(meeting_hear(e, &s->meeting, s->line, &done));
    return UNROLL_OK;
}

/* To all pieces that have answered, the own one first. */
static unroll_status push_all(struct exchange *e, bool *all)
{
    struct server *s = e->state;
    *all = true;
    for (int k = 0; k < e->size; k++) {
        const int member = (e->place + k) % e->size;
        if (!s->peer[member].asked && s->peer[member].sent < e->step)
            TRY(push(e, member));
        *all &= !s->peer[member].asked;
    }
    return UNROLL_OK;
}

/* May the next step begin? */
static bool is_bounded(const struct exchange *e)
{
    const struct server *s = e->state;
    for (int i = 0; i < e->size; i++)
        if (!is_near(e, i == e->place ? least_clock(e) : s->peer[i].known, e->step))
            return false;
    return true;
}

static unroll_status wait_for_bound(struct exchange *e)
{
    struct wait_timeout wait = {0};
    const double begin = clock_seconds();
    bool something, all;
    while (!is_bounded(e)) {
        TRY(look(e, &something));
        TRY(push_all(e, &all));
        TRY(meeting_wait(e, &wait, something));
    }
    comm_waited(e->comm, begin);
    return UNROLL_OK;
}

/* ---- again -------------------------------------------------------------------------------- */

static unroll_status answer_again(struct exchange *e, const struct arrival *a)
{
    struct server *s = e->state;
    struct peer *p = &s->peer[a->other];
    if (!p->asked)
        return fail(UNROLL_DATA, "arrivals are of other workers; fix: the files of this run");
    s->busy = true;
    unroll_status status = comm_recv(e->comm, e->rank[a->other], TAG_ANSWER, p->box, box_bytes(&s->piece[a->other]));
    s->busy = false;
    return status == UNROLL_OK ? take_answer(e, a->other) : status;
}

static unroll_status do_again(struct exchange *e, const struct arrival *a)
{
    const struct server *s = e->state;
    if (a->kind == ARRIVAL_JUMP)
        return meeting_jump_again(e, a, s->line);
    if (a->other >= e->size || (a->kind == ARRIVAL_SENT && (a->theirs != e->step || s->peer[a->other].asked)))
        return fail(UNROLL_DATA, "arrivals are of other workers; fix: the files of this run");
    return a->kind == ARRIVAL_SENT ? push(e, a->other) : answer_again(e, a);
}

static unroll_status replay(struct exchange *e)
{
    struct server *s = e->state;
    struct wait_timeout wait = {0};
    struct arrival a;
    unroll_status status;
    bool something;
    while (arrivals_look(&s->meeting.arrivals, s->line, &a, &status)) {
        if (a.kind == ARRIVAL_CAME) {
            TRY(serve_all(e, &something));
            TRY(meeting_wait(e, &wait, something));
            continue;
        }
        arrivals_take(&s->meeting.arrivals, s->line, &a, &status);
        TRY(do_again(e, &a));
    }
    return status;
}

/* ---- the policy --------------------------------------------------------------------------- */

unroll_status shard_after(struct exchange *e, int64_t step)
{
    struct server *s = e->state;
    bool something, all;
    (void)step;
    for (int i = 0; i < e->size; i++) s->peer[i].gradients += s->scale != 0;
    if (s->meeting.arrivals.replays)
        TRY(replay(e));
    else {
        TRY(push_all(e, &all));
        TRY(look(e, &something));
        TRY(e->options.bound == BOUND_NONE ? meeting_call(e, &s->meeting, e->step) : wait_for_bound(e));
    }
    s->line++;
    return session_write_shares(e->session, SHARE_WEIGHTS, s->weights);
}

/* All are here: what is held goes, until all is answered and nobody sends any more. */
static unroll_status send_last(struct exchange *e)
{
    struct server *s = e->state;
    struct wait_timeout wait = {0};
    const double begin = clock_seconds();
    bool told = false, all, something;
    while (!told || s->meeting.quiet < e->size - 1) {
        TRY(push_all(e, &all));
        if (all && !told)
            TRY(meeting_tell_all(e, HEAD_QUIET, e->step));
        told |= all;
        TRY(look(e, &something));
        TRY(meeting_wait(e, &wait, something));
    }
    comm_waited(e->comm, begin);
    meeting_over(e, &s->meeting);
    return UNROLL_OK;
}

unroll_status shard_settle(struct exchange *e)
{
    struct server *s = e->state;
    TRY(s->meeting.arrivals.replays ? replay(e) : send_last(e));
    s->line++;
    for (int i = 0; i < e->size; i++) s->peer[i].known = s->peer[i].sent = s->peer[i].clock = e->step;
    return UNROLL_OK;
}
