/* Finds ranks that do not answer. If ranks wait in a chain, none of them can detect which one stopped. So shortly
 * before a wait times out, its rank pings all others, and those that are waiting answer. It then sends the result to
 * all that answered, because their waits cannot succeed either. Questions, answers and results share one tag; during
 * long waits a receive from any rank is posted. */
#include "base/memory.h"
#include "comm/transport.h"
#include <stdio.h>
#include <string.h>

enum ping_kind { PING_QUESTION, PING_ANSWER, PING_RESULT };
enum { TAG_PING = TAG_CONTROL | 7 };

static const double ping_seconds = 0.5, ping_part = 0.25, look_seconds = 0.01;

static void tell(struct unroll_comm *comm, int to, enum ping_kind kind)
{
    struct ping *p = &comm->ping;
    const struct ping_words words = {comm->rank, kind, p->silent, p->silents, p->first};
    (void)comm_send(comm, to, TAG_PING, &words, sizeof words); /* an unreachable rank will time out by itself */
}

static void heard(struct unroll_comm *comm, const struct ping_words *w)
{
    struct ping *p = &comm->ping;
    if (w->kind == PING_QUESTION)
        tell(comm, w->from, PING_ANSWER);
    else if (w->kind == PING_ANSWER && p->answered)
        p->answered[w->from] = 1;
    else if (w->kind == PING_RESULT) {
        p->silent = w->silent;
        p->silents = w->silents;
        p->first = w->first;
        p->over = true;
    }
}

/* Processes all messages that have arrived. */
static void listen(struct unroll_comm *comm)
{
    struct ping *p = &comm->ping;
    for (bool arrived = true; arrived && !p->over;) {
        if (!p->listens) {
            p->request =
                (struct request){.from = TRANSPORT_ANY, .tag = TAG_PING, .data = &p->words, .bytes = sizeof p->words};
            if (comm->transport->begin(comm, &p->request) != UNROLL_OK)
                return;
        }
        p->listens = true;
        if (comm->transport->test(comm, &p->request, &arrived) != UNROLL_OK)
            return;
        p->listens = !arrived;
        if (arrived)
            heard(comm, &p->words);
    }
}

static void ask(struct unroll_comm *comm)
{
    struct ping *p = &comm->ping;
    release(p->answered);
    p->answered = allocate_zeroed((size_t)comm->ranks, 1);
    for (int rank = 0; rank < comm->ranks && p->answered; rank++)
        if (rank != comm->rank)
            tell(comm, rank, PING_QUESTION);
}

/* Determines the first rank that did not answer and the first that did, and sends them to all that answered. */
static void judge_ping(struct unroll_comm *comm)
{
    struct ping *p = &comm->ping;
    p->over = true;
    for (int rank = comm->ranks; rank-- > 0 && p->answered;)
        if (rank == comm->rank || p->answered[rank])
            p->first = rank;
        else {
            p->silent = rank;
            p->silents++;
        }
    for (int rank = 0; rank < comm->ranks && p->answered; rank++)
        if (p->answered[rank])
            tell(comm, rank, PING_RESULT);
}

/* Polls for pings during a wait, and pings all ranks shortly before the timeout. Returns false if the wait has
 * failed. */
bool comm_waits_on(struct unroll_comm *comm, struct wait_timeout *wait, double now)
{
    struct ping *p = &comm->ping;
    double waited = p->waited = now - wait->begin, part = ping_part * comm->timeout;
    if (atomic_load(&comm->interrupted))
        return false;
    if (p->ended)
        return waited <= comm->timeout;
    if (waited > look_seconds && now - p->looked > look_seconds) {
        p->looked = now;
        listen(comm);
    }
    if (!wait->asked && waited > comm->timeout - (part < ping_seconds ? part : ping_seconds)) {
        ask(comm);
        wait->asked = true;
    }
    if (!p->over && waited > comm->timeout)
        judge_ping(comm);
    return !p->over;
}

const char *comm_silence(const struct unroll_comm *comm, char text[SILENCE_SIZE])
{
    const struct ping *p = &comm->ping;
    int used = p->silents ? snprintf(text, SILENCE_SIZE, "; rank %d", p->silent) : 0;
    if (p->silents > 1)
        used += snprintf(text + used, SILENCE_SIZE - (size_t)used, " and %d more", p->silents - 1);
    snprintf(text + used, SILENCE_SIZE - (size_t)used,
             !p->silents      ? ""
             : p->silents > 1 ? " do not answer"
                              : " does not answer");
    return text;
}

int comm_first(const struct unroll_comm *comm) { return comm->ping.over ? comm->ping.first : -1; }

void comm_ping_end(struct unroll_comm *comm)
{
    struct ping *p = &comm->ping;
    if (p->listens)
        comm->transport->drop(comm, &p->request);
    p->listens = false;
    p->ended = true;
    release(p->answered);
    p->answered = NULL;
}
