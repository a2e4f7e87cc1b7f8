/* Runs all ranks of a mesh in one process: a plan, a store, an executable and a thread for each coordinate. */
#ifndef PLAN_MESH_H
#define PLAN_MESH_H
#include "device/cpu/executor/executable.h"

/* 6 rows of T steps, ragged, trained by sgd, on a mesh of batch x layer x hidden ranks. */
struct plan_config mesh_config(uint32_t T, int batch, int layer, int hidden, int chunks, enum dtype real);

struct mesh_run {
    int ranks;
    bool apart; /* sums after the whole backward, not overlapped with it */
    struct plan *plan[RANKS_MAX];
    struct store *store[RANKS_MAX];
    struct executable *executable[RANKS_MAX];
    struct unroll_comm *comm[RANKS_MAX];
};

/* Opens all coordinates (config.at is ignored) with the model's weights and random inputs that depend only on global
 * indices. */
unroll_status mesh_open(const unroll_model *, struct plan_config, const struct cpu_isa *, int threads,
                        struct mesh_run *);
/* The same with plans from another function than plan_new. */
typedef unroll_status plan_maker(const unroll_model *, const struct plan_config *, struct plan **);
unroll_status mesh_open_with(plan_maker *, const unroll_model *, struct plan_config, const struct cpu_isa *,
                             int threads, struct mesh_run *);
void mesh_close(struct mesh_run *);

/* Runs forward, backward and sums on all ranks; returns the first error. */
unroll_status mesh_gradients(struct mesh_run *);
/* The same, and the update. */
unroll_status mesh_update(struct mesh_run *);

/* Returns the largest difference between a rank's gradients and the serial ones, relative to the serial ones' scale.
 * *different counts values with different bits. */
double mesh_difference(const struct mesh_run *serial, const struct mesh_run *mesh, size_t *different);

#endif
