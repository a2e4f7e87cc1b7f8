/* The lowering of each kind of layer: a row and a file each, found by the name of the kind. */
#pragma once
#include "plan/ir/plan.h"

struct layer_lowering {
    const char *kind; /* name of a struct layer_kind; "recurrent" for cells */
    /* Appends the forward operations that read buffer x [T, B, input], with T = 1 after a pool, and sets *y to their
     * result [T, B, outputs]; see lower.h. */
    unroll_status (*lower)(struct plan *, int layer, int x, int *y);
};

#define LOWERINGS(ROW) ROW(dense) ROW(pool) ROW(recurrent)
#define DECLARE_LOWERING(name) extern const struct layer_lowering lowering_##name;
LOWERINGS(DECLARE_LOWERING)
#undef DECLARE_LOWERING

unroll_status lowering_find(const char *kind, const struct layer_lowering **);
/* Adds a row, for tests. */
unroll_status lowering_add(const struct layer_lowering *);
