/* Transports between processes, and the one of a single process. The transport of threads is not listed, because it
 * creates a whole world at once: comm_threads_new. */
#include "base/memory.h"
#include "base/table.h"
#include "comm/transport.h"

static const struct transport_row row_self = {"self", comm_self_open};
static const void *const rows[] = {&row_self};
static const struct table transports = TABLE("transport", rows);

unroll_status transport_find(const char *name, const struct transport_row **row)
{
    *row = table_at(&transports, table_find(&transports, name));
    return *row ? UNROLL_OK : table_refuse(&transports, name);
}

/* ---- self: comm.c rejects every peer, so nothing is ever sent ---------------------------- */

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
