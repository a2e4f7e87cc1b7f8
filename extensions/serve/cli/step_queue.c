/* The order of steps: within a priority the earliest deadline first, and each priority has a share of the slots even if
 * higher ones always have work. A batch has steps of one model. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/console.h"
#include "cli/show/stopwatch.h"
#include "extensions/serve/cli/serve.h"

static const int shares[PRIORITIES] = {8 * BATCH, 4 * BATCH, 2 * BATCH, BATCH};

int64_t now_us(void) { return (int64_t)(1e6 * seconds_now()); }

/* ---- heaps ------------------------------------------------------------------------------ */

static bool is_before(const struct step *a, const struct step *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->order < b->order;
}

/* A session has one step at most in a queue, so each has room for all sessions. */
static void heap_push(struct heap *h, struct step *s)
{
    size_t at = h->count++;
    for (; at && is_before(s, h->step[(at - 1) / 2]); at = (at - 1) / 2) h->step[at] = h->step[(at - 1) / 2];
    h->step[at] = s;
}

static struct step *heap_pop(struct heap *h)
{
    struct step *top = h->step[0], *last = h->step[--h->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && is_before(h->step[child + 1], h->step[child]))
            child++;
        if (!is_before(h->step[child], last))
            break;
        h->step[at] = h->step[child];
    }
    h->step[at] = last;
    return top;
}

/* ---- admission -------------------------------------------------------------------------- */

static double cost_of_row(const struct served *m) { return m->cost[BATCH] / BATCH; }

bool queue_admits(const struct server *s, const struct served *m, const struct step *step, int *retry)
{
    double before = 0;
    for (int p = 0; p <= step->priority; p++) before += s->backlog[p];
    const double after = fmax(before, m->backlog / s->share) + step->steps * m->cost[1] / s->share;
    *retry = (int)ceil(before) + 1;
    return s->waiting < s->most_waiting && (double)now_us() + 1e6 * after <= (double)step->deadline;
}

/* The first step of a session waits in the queue, the others in the session. */
void queue_add(struct server *s, struct served *m, struct step *step)
{
    struct session *session = step->session;
    step->order = s->arrivals++;
    step->after = NULL;
    s->waiting++;
    s->backlog[step->priority] += step->steps * cost_of_row(m);
    m->backlog += step->steps * cost_of_row(m);
    if (session->first) {
        session->last = session->last->after = step;
        return;
    }
    session->first = session->last = step;
    heap_push(&m->queue[step->priority], step);
}

/* ---- batches ----------------------------------------------------------------------------- */

/* Returns the model of a priority whose step is due first. */
static struct served *earliest(const struct server *s, int priority)
{
    struct served *found = NULL;
    for (struct served *m = s->models; m; m = m->next)
        if (m->queue[priority].count && (s->share >= 1 || m->granted > 0) &&
            (!found || is_before(m->queue[priority].step[0], found->queue[priority].step[0])))
            found = m;
    return found;
}

static struct served *choose(struct server *s, int *priority)
{
    for (int round = 0; round < 2; round++) {
        bool waits = false; /* for credit, and not for the share of its model */
        for (*priority = 0; *priority < PRIORITIES; ++*priority) {
            struct served *m = earliest(s, *priority);
            if (m && s->credit[*priority] > 0)
                return m;
            waits |= m != NULL;
        }
        if (waits)
            memcpy(s->credit, shares, sizeof shares);
    }
    return NULL;
}

/* The priority's own steps first, then those of others, which cost little in the same batch. */
static int gather(struct server *s, struct served *m, int priority, struct step *batch[BATCH])
{
    int n = 0;
    for (int i = -1; i < PRIORITIES; i++) {
        struct heap *h = &m->queue[i < 0 ? priority : i];
        for (; h->count && n < BATCH; n++) {
            batch[n] = heap_pop(h);
            s->credit[batch[n]->priority]--;
        }
    }
    return n;
}

static void step_ends(struct server *s, struct served *m, struct step *step)
{
    struct session *session = step->session;
    session->first = step->after;
    s->waiting--;
    session_touch(m, session);
    standby_add(s, m, session);
    if (session->first)
        heap_push(&m->queue[session->first->priority], session->first);
    else if (session->ends)
        session_end(m, session);
    if (--step->reply->pending == 0)
        reply_done(s, step->reply);
}

static void run_batch(struct server *s, struct served *m, struct step *const batch[], int n)
{
    int32_t slots[BATCH], tokens[BATCH * UNROLL_INPUTS_MAX];
    float *inputs = m->batch_inputs, *outputs = m->batch_outputs;
    const size_t of_tokens = (size_t)m->tokens, of_inputs = (size_t)m->inputs, of_outputs = (size_t)m->outputs;
    for (int i = 0; i < n; i++) {
        const struct step *step = batch[i];
        const size_t at = (size_t)step->done;
        slots[i] = step->session->slot;
        if (of_tokens)
            memcpy(tokens + (size_t)i * of_tokens, step->tokens + at * of_tokens, of_tokens * sizeof *tokens);
        if (of_inputs)
            memcpy(inputs + (size_t)i * of_inputs, step->inputs + at * of_inputs, of_inputs * sizeof *inputs);
    }
    if (unroll_stream_pool_step(m->pool, n, slots, of_tokens ? tokens : NULL, of_inputs ? inputs : NULL, outputs) !=
        UNROLL_OK)
        say_always("internal: a checked step failed: %s", unroll_last_error());
    m->granted -= m->cost[n];
    m->backlog = fmax(0, m->backlog - n * cost_of_row(m));
    m->batches++;
    m->steps += (uint64_t)n;
    for (int i = 0; i < n; i++) {
        struct step *step = batch[i];
        memcpy(step->outputs + (size_t)step->done++ * of_outputs, outputs + (size_t)i * of_outputs,
               of_outputs * sizeof *outputs);
        s->backlog[step->priority] = fmax(0, s->backlog[step->priority] - cost_of_row(m));
        if (step->done < step->steps)
            heap_push(&m->queue[step->priority], step);
        else
            step_ends(s, m, step);
    }
}

/* Each model may run its share of the time that has passed, and saves up a little. */
static void grant_shares(struct server *s, int64_t now)
{
    enum { MOST = 5000 }; /* microseconds */
    const double passed = fmin((double)(now - s->refilled), MOST);
    for (struct served *m = s->models; m; m = m->next)
        m->granted = fmin(m->granted + 1e-6 * s->share * passed, 1e-6 * s->share * MOST);
    s->refilled = now;
}

void queue_run(struct server *s, int64_t microseconds)
{
    enum { PAUSE = 100 }; /* microseconds, if no model may run */
    const int64_t begin = now_us();
    struct step *batch[BATCH];
    int priority;
    grant_shares(s, begin);
    while (s->waiting) {
        struct served *m = choose(s, &priority);
        if (!m) {
            usleep(PAUSE);
            break;
        }
        served_keep(m);
        run_batch(s, m, batch, gather(s, m, priority, batch));
        served_release(s, m);
        if (now_us() - begin > microseconds)
            break;
    }
    if (!s->waiting) { /* no rounding error is left over */
        memset(s->backlog, 0, sizeof s->backlog);
        for (struct served *m = s->models; m; m = m->next) m->backlog = 0;
    }
    s->loop_seconds += 1e-6 * (double)(now_us() - begin);
}

/* ---- costs ------------------------------------------------------------------------------- */

/* Measures the cost of a step of n slots, in seconds. */
static double cost_of(const struct served *m, int n, const int32_t *slots, const int32_t *tokens)
{
    enum { TRIES = 20 };
    double best = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        const double begin = seconds_now();
        unroll_stream_pool_step(m->pool, n, slots, m->tokens ? tokens : NULL, m->inputs ? m->batch_inputs : NULL,
                                m->batch_outputs);
        best = fmin(best, seconds_now() - begin);
    }
    return best;
}

/* FNV-1a. */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

/* Also hashes the outputs of one slot after some steps. */
void measure_cost(struct served *m)
{
    int32_t slots[BATCH], tokens[BATCH * UNROLL_INPUTS_MAX];
    for (int i = 0; i < BATCH; i++) slots[i] = i;
    for (int i = 0; i < BATCH * m->tokens; i++) tokens[i] = i % m->symbols[i % m->tokens];
    for (int i = 0; i < BATCH * m->inputs; i++) m->batch_inputs[i] = 0.25F * (float)(i % 7) - 0.75F;
    m->fingerprint = add_bytes(0xcbf29ce484222325u, m->name, strlen(m->name));
    for (int n = 1; n <= BATCH; n++) {
        m->cost[n] = n <= m->slots ? cost_of(m, n, slots, tokens) : m->cost[n - 1] * n / (n - 1);
        if (n == 1)
            m->fingerprint = add_bytes(m->fingerprint, m->batch_outputs, (size_t)m->outputs * sizeof(float));
    }
    unroll_stream_pool_reset(m->pool, -1);
}
