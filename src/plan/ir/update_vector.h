/* The weights that a rank updates, its share, as one vector: what workers exchange between updates. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "comm/comm.h"

struct plan;

/* The part of one parameter in the vector: a matrix; a bias is a single row. */
struct share {
    int op, parameter;           /* index of its update in the plan; index in the model */
    size_t first, rows, columns; /* first: its offset in the vector */
};

struct update_vector {
    struct share *share; /* [shares] in the order of the vector */
    int shares;
    size_t count, rows;  /* elements of the vector; rows of its matrices */
    int workers, worker; /* how many meshes have such a vector, and which is this rank's */
    int rank[RANKS_MAX]; /* [workers] the ranks with the same part */
    int ranks;           /* of all workers */
    bool is_fp32;        /* its elements, as the session computes with them */
    bool is_part;        /* the ranks of a worker have parts of the gradients */
};

/* Returns false if there is no share `index`. Then *all, unless NULL, is the length of the vector. */
bool plan_share(const struct plan *, int index, struct share *, size_t *all);
/* The caller frees *vector with update_vector_free, even after a failure. */
unroll_status plan_update_vector(const struct plan *, struct update_vector *vector);
void update_vector_free(struct update_vector *);
