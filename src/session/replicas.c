/* Hashes the data of each rank and exchanges the hashes. Ranks whose coordinates differ only along the batch are
 * replicas. */
#include "session/session.h"

#include <string.h>

#include "base/memory.h"
#include "session/mesh.h"

enum { PIECE = 16384 }; /* bytes on the stack at a time */

static unroll_status hash_buffer(unroll_session *s, const struct buffer *b, uint64_t *hash)
{
    char piece[PIECE];
    for (uint64_t at = 0; at < b->bytes; at += PIECE) {
        uint64_t count = b->bytes - at < PIECE ? b->bytes - at : PIECE;
        TRY(s->device->read(s->executable, b->name, at, count, piece));
        *hash = hash_wide(*hash, piece, count);
    }
    return UNROLL_OK;
}

unroll_status session_hash(unroll_session *s, unsigned segments, uint64_t *hash)
{
    for (int i = 0; i < s->plan->buffers; i++) {
        const struct buffer *b = &s->plan->buffer[i];
        if ((segments >> b->segment & 1) && !b->layout)
            TRY(hash_buffer(s, b, hash));
    }
    return UNROLL_OK;
}

static bool are_replicas(const struct plan *p, int a, int b)
{
    int at[2][M_N];
    mesh_coordinate(p->config.mesh, a, at[0]);
    mesh_coordinate(p->config.mesh, b, at[1]);
    for (int i = 0; i < 2; i++) at[i][M_BATCH] /= plan_batch_ranks(p); /* the worker: workers need not be equal */
    return memcmp(at[0], at[1], sizeof at[0]) == 0;
}

/* hash: two numbers per rank, 32 bits in each. */
static void find_wrong_replica(const struct plan *p, const double *hash, int count, int *rank, int *ranks)
{
    *rank = -1, *ranks = 0;
    for (int i = count - 1; i >= 0; i--) {
        int replicas = 0, alike = 0;
        for (int k = 0; k < count; k++)
            if (are_replicas(p, i, k)) {
                replicas++;
                alike += memcmp(hash + 2 * i, hash + 2 * k, 2 * sizeof *hash) == 0;
            }
        if (2 * alike > replicas)
            continue;
        *rank = i;
        ++*ranks;
    }
}

unroll_status session_compare_replicas(unroll_session *s, int *rank, int *ranks)
{
    *rank = -1, *ranks = 0;
    if (!is_one_of_many(s))
        return UNROLL_OK;
    unroll_comm *comm = s->config.machine.comm;
    int count = unroll_comm_ranks(comm), own = unroll_comm_rank(comm);
    double *hash = allocate_zeroed((size_t)count, 2 * sizeof *hash);
    uint64_t mine = HASH_BEGIN;
    unroll_status status = hash ? session_hash(s, 1u << SEG_PARAM | 1u << SEG_OPT, &mine)
                                : fail(UNROLL_RESOURCE, "no memory for %d hashes", count);
    status = unroll_comm_agree(comm, status);
    if (status == UNROLL_OK) {
        hash[2 * own] = (double)(mine >> 32);
        hash[2 * own + 1] = (double)(mine & 0xffffffff);
        status = unroll_comm_sum(comm, hash, 2 * count);
    }
    if (status == UNROLL_OK)
        find_wrong_replica(s->plan, hash, count, rank, ranks);
    release(hash);
    return status;
}
