/* All short messages have one tag; while a worker listens, a receive from any rank is open. */
#include "extensions/cluster/policies/meeting.h"

unroll_status meeting_open(const struct exchange *e, struct meeting *m)
{
    if (e->replay && e->arrivals)
        return fail(UNROLL_USAGE, "what comes again as `replay` says is there already; fix: leave out `arrivals`");
    return arrivals_open(&m->arrivals, e->replay ? e->replay : e->arrivals, comm_rank(e->comm), e->replay != NULL);
}

void meeting_close(const struct exchange *e, struct meeting *m)
{
    if (m->listens)
        e->comm->transport->drop(e->comm, &m->request);
    arrivals_close(&m->arrivals);
}

unroll_status meeting_tell(const struct exchange *e, int member, int kind, int64_t step)
{
    const struct head head = {e->vector.worker, kind, step};
    return comm_send(e->comm, e->vector.rank[member], TAG_HEAD, &head, sizeof head);
}

unroll_status meeting_tell_all(const struct exchange *e, int kind, int64_t step)
{
    for (int i = 0; i < e->vector.workers; i++)
        if (i != e->vector.worker)
            TRY(meeting_tell(e, i, kind, step));
    return UNROLL_OK;
}

unroll_status meeting_call(const struct exchange *e, struct meeting *m, int64_t step)
{
    if (e->meet <= m->called || step < e->meet)
        return UNROLL_OK;
    m->called = e->meet;
    return meeting_tell_all(e, HEAD_MEET, step);
}

static unroll_status begin_head(const struct exchange *e, struct meeting *m)
{
    if (m->listens)
        return UNROLL_OK;
    m->request = (struct request){.from = TRANSPORT_ANY, .tag = TAG_HEAD, .data = &m->head, .bytes = sizeof m->head};
    m->listens = true;
    return e->comm->transport->begin(e->comm, &m->request);
}

unroll_status meeting_hear(struct exchange *e, struct meeting *m, int64_t line, bool *heard)
{
    TRY(begin_head(e, m));
    TRY(e->comm->transport->test(e->comm, &m->request, heard));
    if (!*heard)
        return UNROLL_OK;
    m->listens = false;
    if (m->head.from < 0 || m->head.from >= e->vector.workers)
        return fail(UNROLL_COMMUNICATION,
                    "a message of worker %d of %d; fix: start all workers with the same program and options",
                    (int)m->head.from, e->vector.workers);
    m->quiet += m->head.kind == HEAD_QUIET;
    if (m->head.kind != HEAD_MEET || m->head.step <= e->step || m->head.step <= e->jump)
        return UNROLL_OK;
    const struct arrival jumped = {line, m->head.step, ARRIVAL_JUMP, e->vector.worker};
    e->jump = m->head.step;
    return arrivals_note(&m->arrivals, &jumped);
}

unroll_status meeting_jump_again(struct exchange *e, const struct arrival *a, int64_t line)
{
    if (a->step != line || a->theirs <= e->step || a->theirs != e->meet)
        return fail(
            UNROLL_DATA,
            "arrivals go from step %lld to %lld, and workers meet at %lld; fix: use the options and files of one run",
            (long long)e->step, (long long)a->theirs, (long long)e->meet);
    e->jump = a->theirs;
    return UNROLL_OK;
}

unroll_status meeting_wait(const struct exchange *e, struct wait_timeout *wait, bool something)
{
    char silence[SILENCE_SIZE];
    TRY(comm_progress(e->comm));
    if (something)
        *wait = (struct wait_timeout){0};
    else if (!comm_within_timeout(e->comm, wait))
        return fail(UNROLL_COMMUNICATION,
                    "worker %d waited too long for others at step %lld%s; fix: see whether a rank is stopped, or allow "
                    "more time (`timeout`)",
                    e->vector.worker, (long long)e->step, comm_silence(e->comm, silence));
    return UNROLL_OK;
}

bool meeting_met(const struct exchange *e, int64_t step)
{
    return !e->options.asynchronous || (e->meet > 0 && step == e->meet);
}

void meeting_over(const struct exchange *e, struct meeting *m)
{
    m->quiet -= e->vector.workers - 1;
    if (m->listens) /* no worker sends before all have left this function, because sums of all follow */
        e->comm->transport->drop(e->comm, &m->request);
    m->listens = false;
}
