/* All ranks of a mesh in one process: a plan, a store, an executable and a thread for each coordinate. */
#ifndef PLAN_MESH_H
#define PLAN_MESH_H
#include "device/cpu/executable.h"

/* 6 rows of T steps, ragged, trained by sgd, on a mesh of batch x layer x hidden ranks. */
struct plan_config mesh_config(uint32_t T, int batch, int layer, int hidden, int chunks, enum dtype real);

struct mesh_run {
    int ranks;
    bool apart; /* sums after all of backward, not inside it */
    struct plan *plan[RANKS_MAX];
    struct store *store[RANKS_MAX];
    struct executable *executable[RANKS_MAX];
    struct unroll_comm *comm[RANKS_MAX];
};

/* config.at is ignored: every coordinate is opened, with the model's weights and random inputs that depend
 * on global indices alone. */
unroll_status mesh_open(const unroll_model *, struct plan_config, const struct cpu_isa *, int threads,
                        struct mesh_run *);
/* The same with plans that are made in another way than by plan_new. */
typedef unroll_status plan_maker(const unroll_model *, const struct plan_config *, struct plan **);
unroll_status mesh_open_with(plan_maker *, const unroll_model *, struct plan_config, const struct cpu_isa *,
                             int threads, struct mesh_run *);
void mesh_close(struct mesh_run *);

/* Forward, backward and sums on all ranks; the first error. */
unroll_status mesh_gradients(struct mesh_run *);
/* And the update. */
unroll_status mesh_update(struct mesh_run *);

/* The greatest difference between a rank's gradients and the serial ones, relative to the serial ones' scale;
 * *different counts numbers that are not the same bits. */
double mesh_difference(const struct mesh_run *serial, const struct mesh_run *mesh, size_t *different);

#endif
