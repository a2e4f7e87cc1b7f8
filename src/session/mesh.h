/* A session as one of many: its place in the mesh, the check of all places before a run, and buffers put
 * together from the shares of all ranks. */
#ifndef SESSION_MESH_H
#define SESSION_MESH_H
#include "session/session.h"
#include "unroll_advanced.h"

static inline bool is_one_of_many(const unroll_session *s)
{
    return s->config.machine.comm && unroll_comm_ranks(s->config.machine.comm) > 1;
}

/* The mesh and this rank's coordinate; refuses what has no meaning. ranks 0: as many as the mesh has. */
unroll_status mesh_place(const unroll_machine *, int ranks, struct plan_config *);

/* A list of devices without a cut: layers, one part for each entry. */
unroll_status mesh_default_cut(unroll_machine *);
/* As plans see the device of each rank, where the machine names a list. The caller releases them. */
unroll_status mesh_traits(const unroll_machine *, const int mesh[M_N], struct device_traits **);

/* Lowers the plans of all coordinates and matches their messages. plans: NULL each; mesh_free also after a failure. */
unroll_status mesh_plans(const struct unroll_model *, struct plan_config, struct plan *plans[RANKS_MAX], int *ranks);
void mesh_free(struct plan *plans[RANKS_MAX]);

/* After all ranks agreed: those who exchange something meet once, where the device or MPI's own sums want it. */
unroll_status mesh_join(const struct unroll_session *);

/* The same on all ranks if they are about to run the same thing. */
uint64_t mesh_fingerprint(const struct unroll_model *, const struct plan_config *);

/* whole: [the global size] numbers. Collective; every rank gets everything,
 * zeros where nobody has anything. */
size_t mesh_count(const struct buffer *);
unroll_status mesh_gather(unroll_session *, const struct buffer *, float *whole);
/* The same of one worker, and of `own` instead of what the device has (NULL: of that): the rank `to` gets it. */
unroll_status mesh_gather_worker(unroll_session *, const struct buffer *, int worker, int to, const float *own,
                                 float *whole);
/* A buffer of this rank alone as floats. */
unroll_status mesh_read_here(unroll_session *, const struct buffer *, float *);
/* Does this rank compute with some of it? */
bool mesh_holds(const unroll_session *, const struct buffer *);
/* This rank's share from the whole. No messages. */
void mesh_share(const unroll_session *, const struct buffer *, const float *whole, float *share);
unroll_status mesh_scatter(unroll_session *, const struct buffer *, const float *whole);

#endif
