/* The parameters that a rank updates, its share of them, as one vector: what is exchanged between updates is read and
 * written here. What is exchanged, and when, is src/parallel's. */
#ifndef SESSION_SHARES_H
#define SESSION_SHARES_H
#include "plan/plan.h"
#include "unroll_advanced.h"

/* One parameter's part of the vector: a matrix; a bias has one row. */
struct share {
    int op, parameter;           /* its update in the plan; its number in the model */
    size_t first, rows, columns; /* numbers before it in the vector */
};

/* Views of an update; the k-th state of the optimizer is SHARE_STATE + k. */
enum share_of { SHARE_WEIGHTS = UPDATE_W, SHARE_GRADIENTS = UPDATE_GRAD, SHARE_STATE = UPDATE_STATE };

/* False: there is no such share; `all`, if not NULL, is then the numbers of the whole vector. */
bool plan_share(const struct plan *, int index, struct share *, size_t *all);

const struct plan *session_plan(const unroll_session *);
/* The plan of rank 0 of a configuration with a spec, for as long as somebody looks at it. */
typedef void plan_visitor(const struct plan *, void *arg);
unroll_status session_show_plan(const unroll_plan_config *, plan_visitor *, void *arg);
/* Those of the stages of a layer cut, of the ranks that are first along batch and hidden. model NULL: of the spec. A
 * visitor may change how sums go (config.sum). */
typedef unroll_status stages_visitor(struct plan *const *plans, int stages, void *arg);
unroll_status session_show_stages(const struct unroll_model *model, const unroll_plan_config *, stages_visitor *,
                                  void *arg);
unroll_status session_read_shares(unroll_session *, enum share_of, float *vector);
/* Of weights the packed copies are made anew. */
unroll_status session_write_shares(unroll_session *, enum share_of, const float *vector);
/* A whole parameter, by its number in the model, from the vectors of a worker's ranks: rank 0 gets it. Collective. And
 * back, without messages. */
unroll_status session_gather_share(unroll_session *, int parameter, int worker, const float *vector, float *whole);
void session_take_share(const unroll_session *, int parameter, const float *whole, float *vector);
/* An array by its name, of a worker: rank 0 gets it. Collective. */
unroll_status session_read_worker(unroll_session *, const char *name, int worker, float *whole);
/* What this rank itself holds of an array. No message. */
unroll_status session_read_here(unroll_session *, const char *name, float *);
/* An array by its name, put together at one rank. Collective. */
unroll_status session_gather_to(unroll_session *, const char *name, int rank, float *whole);
/* Have ranks different weights? Then a checkpoint has a shard of each: owner[parameter] is the rank that writes it, one
 * of those that hold it. Collective. session_holds: this rank computes with some of the parameter. */
bool session_is_split(const unroll_session *);
unroll_status session_owners(unroll_session *, int *owner);
bool session_holds(const unroll_session *, int parameter);
/* What stands between the sums of gradients and the update. */
struct turn {
    double *sums[2]; /* of losses and of weights; may be changed, as the gradients */
    double *norms;   /* of each parameter the sum of squares of its gradients; likewise */
    const unroll_hyperparameters *rates;
    int64_t update; /* its number, from 1 */
    bool updated;   /* set: the weights are new, and the gradients zero; the plan makes no update */
};
/* Who exchanges gradients there; NULL: nobody. */
typedef unroll_status between_sum_and_update(void *arg, unroll_session *, struct turn *);
void session_exchange_gradients(unroll_session *, between_sum_and_update *, void *arg);
/* The optimizer's step, the update-th, of numbers [count] that are not the session's: a part of the weights, or of what
 * goes for them. The learning rate is multiplied with `part`, the gradients, which are left zero, with `scale`. In the
 * caller's thread, with the bits of the session's own updates. */
unroll_status session_update_outside(unroll_session *, const unroll_hyperparameters *, double part, int64_t update,
                                     double scale, float *w, float *g, float *const *state, size_t count);
/* What the update multiplies these gradients with: 1 / weight, less if their norm is above the clip; 0: nothing is to
 * be learned from them. */
double session_gradient_scale(const unroll_session *, const struct turn *);
int session_optimizer_states(const unroll_session *);

#endif
