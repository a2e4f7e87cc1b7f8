/* Point-to-point messages with checked arguments and bounded waits, and agreement among all ranks. Transports are in
 * files of their own, collectives in collective.c. */
#include "comm/transport.h"
#include "base/number.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int comm_rank(const struct unroll_comm *comm) { return comm->rank; }

int comm_ranks(const struct unroll_comm *comm) { return comm->ranks; }

const char *comm_transport(const struct unroll_comm *comm) { return comm->transport->name; }

/* ---- opening and ending ---------------------------------------------------------------- */

/* Returns the number at the start of the first of these environment variables that is set ("2(x3)" for Slurm), or
 * `otherwise`. */
static int number_in(const char *const *names, int min, int otherwise)
{
    int64_t number;
    for (; *names; names++) {
        const char *text = getenv(*names);
        if (text && number_integer(&text, NULL, min, INT_MAX, &number) == NUMBER_OK)
            return (int)number;
    }
    return otherwise;
}

int comm_launched_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL};
    return number_in(names, 1, 1);
}

int comm_local_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_TASKS_PER_NODE", NULL};
    return number_in(names, 1, 1);
}

int comm_local_rank(const struct unroll_comm *comm)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", NULL};
    return number_in(names, 0, comm->rank);
}

double comm_timeout(const struct unroll_comm *comm) { return comm->timeout; }

unroll_status comm_open(const char *transport, double timeout_seconds, struct unroll_comm **comm)
{
    const char *name = transport ? transport : comm_launched_ranks() > 1 ? "mpi" : "self";
    if (!(timeout_seconds > 0 && timeout_seconds <= 1e6))
        return fail(UNROLL_USAGE, "a timeout of %g seconds is outside 0 .. 1000000; fix: use a number in this range",
                    timeout_seconds);
    const struct transport_row *row;
    TRY(transport_find(name, &row));
    return row->open(timeout_seconds, comm);
}

unroll_status comm_check(const struct unroll_comm *comm)
{
    return comm->ranks == 1 || comm->process == process_number() ? UNROLL_OK
                                                                 : refuse_forked("its messages to other ranks");
}

/* Does nothing in a forked child: the connections belong to its parent. */
void comm_close(struct unroll_comm *comm)
{
    if (!comm || comm->process != process_number())
        return;
    comm_ping_end(comm);
    comm_collectives_free(comm);
    comm->transport->close(comm);
}

void comm_abort(struct unroll_comm *comm, int code)
{
    if (comm && comm->process == process_number())
        comm->transport->abort(comm, code);
}

void comm_interrupt(struct unroll_comm *comm)
{
    if (comm)
        atomic_store(&comm->interrupted, true);
}

/* ---- simulated time ---------------------------------------------------------------------- */

bool comm_is_simulated(const struct unroll_comm *comm) { return comm && comm->transport->spend; }

double comm_seconds(const struct unroll_comm *comm) { return comm_clock(comm); }

unroll_status comm_spend(struct unroll_comm *comm, double seconds)
{
    const double least = 1e-12;
    if (!comm_is_simulated(comm))
        return fail(UNROLL_UNSUPPORTED, "only simulated ranks can spend time; fix: use comm_simgrid_run");
    while (seconds > least) {
        seconds -= comm->transport->spend(comm, seconds);
        TRY(comm_progress(comm));
    }
    return UNROLL_OK;
}

/* ---- messages -------------------------------------------------------------------------- */

static unroll_status check_peer(const struct unroll_comm *comm, int peer, uint32_t tag)
{
    TRY(comm_check(comm));
    if (peer >= 0 && peer < comm->ranks && peer != comm->rank)
        return UNROLL_OK;
    return fail(UNROLL_COMMUNICATION, "rank %d of %d cannot exchange a message (tag %u) with rank %d; fix: " REPORT_BUG,
                comm->rank, comm->ranks, (unsigned)tag, peer);
}

unroll_status comm_send(struct unroll_comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    TRY(check_peer(comm, to, tag));
    if (!data && bytes && !comm_is_simulated(comm))
        return fail(UNROLL_UNSUPPORTED,
                    "only simulated ranks can send hollow messages; fix: use a communicator of simulated ranks");
    comm->more = comm->transport->push != NULL;
    comm->totals.sent += bytes;
    return comm->transport->send(comm, to, tag, data, bytes);
}

struct comm_totals comm_totals(const struct unroll_comm *comm)
{
    struct comm_totals totals = comm->totals;
    if (comm->began > 0)
        totals.communication += comm_clock(comm) - comm->began;
    return totals;
}

/* Records the wait since `begin`. Time in which sums are active is already counted as communication. */
void comm_waited(struct unroll_comm *comm, double begin)
{
    double now = comm_clock(comm);
    comm->totals.exposed += now - begin;
    if (!(comm->began > 0))
        comm->totals.communication += now - begin;
}

unroll_status comm_late(struct unroll_comm *comm, struct request *r)
{
    char from[32], silence[SILENCE_SIZE];
    comm->transport->drop(comm, r);
    if (atomic_load(&comm->interrupted))
        return fail(UNROLL_COMMUNICATION,
                    "rank %d stopped waiting, because another rank ended; fix: find out why that rank ended",
                    comm->rank);
    snprintf(from, sizeof from, r->from == TRANSPORT_SUM ? "the other ranks of a sum" : "a message from rank %d",
             r->from);
    return fail(UNROLL_COMMUNICATION,
                "rank %d waited %.4g seconds for %s (tag %u)%s; fix: check whether a rank stopped or its machine "
                "failed, or allow more time (`timeout`)",
                comm->rank, comm->ping.waited, from, (unsigned)r->tag, comm_silence(comm, silence));
}

bool comm_within_timeout(struct unroll_comm *comm, struct wait_timeout *p)
{
    enum { LOOKS_BEFORE_CLOCK = 16 };
    if (p->looks++ < LOOKS_BEFORE_CLOCK)
        return true;
    double now = comm_clock(comm);
    if (p->looks == LOOKS_BEFORE_CLOCK + 1)
        p->begin = now;
    if (!comm_waits_on(comm, p, now))
        return false;
    comm->transport->idle(comm, p->looks);
    return true;
}

static unroll_status wait_for(struct unroll_comm *comm, struct request *r)
{
    struct wait_timeout wait_timeout = {0};
    for (;;) {
        bool done = false;
        TRY(comm->transport->test(comm, r, &done));
        if (done)
            return UNROLL_OK;
        TRY(comm_progress(comm));
        if (!comm_within_timeout(comm, &wait_timeout))
            return comm_late(comm, r);
    }
}

unroll_status comm_recv(struct unroll_comm *comm, int from, uint32_t tag, void *data, size_t bytes)
{
    struct request r = {.from = from, .tag = tag, .data = data, .bytes = bytes};
    TRY(check_peer(comm, from, tag));
    TRY(comm->transport->begin(comm, &r));
    double begin = comm_clock(comm);
    unroll_status status = wait_for(comm, &r);
    comm_waited(comm, begin);
    return status;
}

/* ---- the whole world ------------------------------------------------------------------- */

unroll_status comm_broadcast(struct unroll_comm *comm, uint32_t tag, void *data, size_t bytes)
{
    int distance = 1;
    while (distance < comm->ranks && !(comm->rank & distance)) distance *= 2;
    if (comm->rank)
        TRY(comm_recv(comm, comm->rank - distance, tag, data, bytes));
    while ((distance /= 2) > 0)
        if (comm->rank + distance < comm->ranks)
            TRY(comm_send(comm, comm->rank + distance, tag, data, bytes));
    return UNROLL_OK;
}

struct failure_report {
    int status, rank;
    uint64_t number;
    char message[496];
};

/* On rank 0: collects the reports of all ranks, decides and sends the verdict. */
static unroll_status judge_failure(struct unroll_comm *comm, struct failure_report *verdict, const char *what)
{
    struct failure_report other, mine = *verdict;
    for (int rank = 1; rank < comm->ranks; rank++) {
        TRY(comm_recv(comm, rank, TAG_CONTROL | 1, &other, sizeof other));
        if (verdict->status == UNROLL_OK && other.status != UNROLL_OK)
            *verdict = other;
        else if (verdict->status == UNROLL_OK && other.number != mine.number) {
            *verdict = (struct failure_report){UNROLL_USAGE, rank, 0, ""};
            snprintf(verdict->message, sizeof verdict->message,
                     "%.80s not the same as on rank 0; fix: start all ranks with the same program, options and files",
                     what);
        }
    }
    return UNROLL_OK;
}

unroll_status comm_agree(struct unroll_comm *comm, unroll_status mine, uint64_t number, const char *what)
{
    if (!comm || comm->ranks == 1)
        return mine;
    struct failure_report report = {(int)mine, comm->rank, number, ""};
    if (mine != UNROLL_OK)
        snprintf(report.message, sizeof report.message, "%.495s", unroll_last_error());
    if (comm->rank == 0)
        TRY(judge_failure(comm, &report, what));
    else
        TRY(comm_send(comm, 0, TAG_CONTROL | 1, &report, sizeof report));
    TRY(comm_broadcast(comm, TAG_CONTROL | 2, &report, sizeof report));
    if (report.status == UNROLL_OK || report.rank == comm->rank)
        return report.status == UNROLL_OK ? UNROLL_OK : fail((unroll_status)report.status, "%s", report.message);
    if (mine != UNROLL_OK && report.status == (int)mine)
        return mine; /* all failed alike: no rank needs to be named */
    return fail((unroll_status)report.status, "rank %d: %s", report.rank, report.message);
}
