/* A session on one of several ranks: its place in the mesh, the check of all ranks before a run, and gathering of
 * buffers from the shares of all ranks. */
#pragma once
#include "session/session_state.h"
#include "unroll_advanced.h"

static inline bool is_one_of_many(const unroll_session *s)
{
    return s->config.machine.comm && unroll_comm_ranks(s->config.machine.comm) > 1;
}

/* Sets the mesh and this rank's coordinates; fails if they are inconsistent. ranks = 0: not checked. */
unroll_status mesh_place(const unroll_machine *, int ranks, struct plan_config *);

/* Divides the layers if a device list has no cut: one part per entry. */
unroll_status mesh_default_cut(unroll_machine *);
/* Returns the traits of each rank's device in a device list. The caller releases them. */
unroll_status mesh_traits(const unroll_machine *, const int mesh[M_N], struct device_traits **);

/* Lowers the plans of all ranks and matches their messages. plans: all NULL. Call mesh_free also after a failure. */
unroll_status mesh_plans(const struct unroll_model *, struct plan_config, struct plan *plans[RANKS_MAX], int *ranks);
void mesh_free(struct plan *plans[RANKS_MAX]);

/* After all ranks agreed: lets the ranks that exchange data meet once, if the device or MPI's own sums need it. */
unroll_status mesh_join(const struct unroll_session *);

/* Equal on all ranks if they are about to run the same work. */
uint64_t mesh_fingerprint(const struct unroll_model *, const struct plan_config *);

/* mesh_count returns the number of elements of the whole buffer. mesh_gather is collective: every rank gets the whole
 * buffer, with zeros where no rank has a share. */
size_t mesh_count(const struct buffer *);
unroll_status mesh_gather(unroll_session *, const struct buffer *, float *whole);
/* Gathers the shares of one worker on rank `to`. If `own` is not NULL, it is this rank's share instead of the device's
 * data. */
unroll_status mesh_gather_worker(unroll_session *, const struct buffer *, int worker, int to, const float *own,
                                 float *whole);
/* Reads only this rank's share of a buffer, as floats. */
unroll_status mesh_read_here(unroll_session *, const struct buffer *, float *);
/* Returns whether this rank computes with a part of the buffer. */
bool mesh_holds(const unroll_session *, const struct buffer *);
/* Copies this rank's share from the whole buffer: to an array, or to the device. No messages. */
void mesh_share(const unroll_session *, const struct buffer *, const float *whole, float *share);
unroll_status mesh_scatter(unroll_session *, const struct buffer *, const float *whole);
