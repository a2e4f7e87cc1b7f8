/* The parameters that a rank updates, its share of them, as one vector: what is exchanged between updates is read and
 * written here. What is exchanged, and when, is src/parallel's. */
#ifndef SESSION_SHARES_H
#define SESSION_SHARES_H
#include "plan/plan.h"
#include "unroll_advanced.h"

/* One parameter's part of the vector: a matrix; a bias has one row. */
struct share {
    const struct buffer *weights, *gradient;
    size_t first, rows, columns; /* numbers before it in the vector */
};

enum share_of { SHARE_WEIGHTS, SHARE_GRADIENTS };

/* False: there is no such share; `all`, if not NULL, is then the numbers of the whole vector. */
bool plan_share(const struct plan *, int index, struct share *, size_t *all);

const struct plan *session_plan(const unroll_session *);
/* The plan of rank 0 of a configuration with a spec, for as long as somebody looks at it. */
typedef void plan_visitor(const struct plan *, void *arg);
unroll_status session_show_plan(const unroll_plan_config *, plan_visitor *, void *arg);
unroll_status session_read_shares(unroll_session *, enum share_of, float *vector);
/* Of weights the packed copies are made anew. */
unroll_status session_write_shares(unroll_session *, enum share_of, const float *vector);
/* A whole parameter, by its number in the model, from the vectors of a worker's ranks: rank 0 gets it. Collective. And
 * back, without messages. */
unroll_status session_gather_share(unroll_session *, int parameter, int worker, const float *vector, float *whole);
void session_take_share(const unroll_session *, int parameter, const float *whole, float *vector);
/* An array by its name, of a worker: rank 0 gets it. Collective. */
unroll_status session_read_worker(unroll_session *, const char *name, int worker, float *whole);
/* An array by its name, put together at one rank. Collective. */
unroll_status session_gather_to(unroll_session *, const char *name, int rank, float *whole);
/* Have ranks different weights? Then a checkpoint has a shard of each: owner[parameter] is the rank that writes it, one
 * of those that hold it. Collective. session_holds: this rank computes with some of the parameter. */
bool session_is_split(const unroll_session *);
unroll_status session_owners(unroll_session *, int *owner);
bool session_holds(const unroll_session *, int parameter);
/* Who changes gradients between their sums and the update; NULL: nobody. It may change these, too: the sums of losses
 * and weights [2], and of each parameter the sum of squares of its gradients. */
typedef unroll_status between_sum_and_update(void *arg, unroll_session *, double *sums[2], double *norms);
void session_exchange_gradients(unroll_session *, between_sum_and_update *, void *arg);

#endif
