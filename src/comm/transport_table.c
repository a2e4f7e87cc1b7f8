/* The transports between processes, and the one of a process that is alone. The transport of threads makes a whole
 * world at once: comm_threads_new. */
#include "base/memory.h"
#include "comm/transport.h"

static const struct transport_row table[] = {{"self", comm_self_open}, {"mpi", comm_mpi_open}};

const struct transport_row *transport_at(int index)
{
    return index < (int)(sizeof table / sizeof *table) ? &table[index] : NULL;
}

/* ---- self: no peer passes the checks of comm.c, so nothing is ever sent ------------------ */

static void self_abort(struct unroll_comm *comm, int code) { (void)comm, (void)code; }

static void self_close(struct unroll_comm *comm) { release(comm); }

unroll_status comm_self_open(double timeout, struct unroll_comm **comm)
{
    static const struct transport self = {.name = "self", .abort = self_abort, .close = self_close};
    struct unroll_comm *made;
    TRY(ALLOCATE(made, 1, "for a rank"));
    *made = (struct unroll_comm){.transport = &self, .ranks = 1, .process = process_number(), .timeout = timeout};
    *comm = made;
    return UNROLL_OK;
}
