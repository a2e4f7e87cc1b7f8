/* What other rooms use of sessions beyond the public interface: the weights that a rank updates as one vector,
 * estimates, replicas, rates of ranks, and gradients that two ranks compute. Files of this room share session_state.h.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "plan/ir/update_vector.h"
#include "unroll_advanced.h"

/* ---- vectors and arrays: policies decide what is exchanged, and when ------------------------ */

/* What a vector holds; the optimizer's state k is SHARE_STATE + k. */
enum share_of { SHARE_WEIGHTS, SHARE_GRADIENTS, SHARE_STATE };

/* Visits the plan of the configuration's rank, of a configuration with a spec. It is valid during the call. */
typedef void plan_visitor(const struct plan *, void *arg);
unroll_status session_show_plan(const unroll_plan_config *, plan_visitor *, void *arg);
/* Visits the vector of rank 0 for a configuration with a spec. It is valid during the call. */
typedef void vector_visitor(const struct update_vector *, void *arg);
unroll_status session_show_vector(const unroll_plan_config *, vector_visitor *, void *arg);
/* Finds the session's vector; release it with update_vector_free. */
unroll_status session_update_vector(const unroll_session *, struct update_vector *);
/* Visits the plans of all stages of a layer cut, for the ranks that are first along batch and hidden. model NULL: uses
 * the spec. A visitor may change the way of summing (config.sum). */
typedef unroll_status stages_visitor(struct plan *const *plans, int stages, void *arg);
unroll_status session_show_stages(const struct unroll_model *model, const unroll_plan_config *, stages_visitor *,
                                  void *arg);
unroll_status session_read_shares(unroll_session *, enum share_of, float *vector);
/* Renews the packed copies after writing weights. */
unroll_status session_write_shares(unroll_session *, enum share_of, const float *vector);
/* Gathers a whole parameter, by its index in the model, from the vectors of a worker's ranks on rank 0. Collective. The
 * inverse needs no messages. */
unroll_status session_gather_share(unroll_session *, int parameter, int worker, const float *vector, float *whole);
void session_take_share(const unroll_session *, int parameter, const float *whole, float *vector);
/* Gathers a worker's array, by its name, on rank 0. Collective. */
unroll_status session_read_worker(unroll_session *, const char *name, int worker, float *whole);
/* Reads only this rank's share of an array. No messages. */
unroll_status session_read_here(unroll_session *, const char *name, float *);
/* Gathers an array, by its name, on one rank. Collective. */
unroll_status session_gather_to(unroll_session *, const char *name, int rank, float *whole);
/* session_is_split returns whether ranks hold different weights. Then each rank writes a shard to a checkpoint, and
 * owner[parameter] is the rank that writes it, one of those that hold it. session_owners is collective. session_holds
 * returns whether this rank computes with a part of the parameter. */
bool session_is_split(const unroll_session *);
unroll_status session_owners(unroll_session *, int *owner);
bool session_holds(const unroll_session *, int parameter);
/* The state between the sums of gradients and the update. */
struct turn {
    double *sums[2]; /* of losses and of weights; may be changed, as may the gradients */
    double *norms;   /* per parameter, the sum of squares of its gradients; may be changed */
    const unroll_hyperparameters *rates;
    int64_t update; /* its number, from 1 */
    bool updated;   /* set this if the weights are updated and the gradients zero: the plan then skips its update */
};
/* Sets a callback that exchanges gradients at this point; NULL: none. */
typedef unroll_status between_sum_and_update(void *arg, unroll_session *, struct turn *);
void session_exchange_gradients(unroll_session *, between_sum_and_update *, void *arg);
/* Applies step `update` of the optimizer to arrays [count] outside the session: a part of the weights, or a substitute.
 * Multiplies the learning rate by `part` and the gradients by `scale`, and sets the gradients to zero. Runs in the
 * caller's thread, with the same bits as the session's own updates. */
unroll_status session_update_outside(unroll_session *, const unroll_hyperparameters *, double part, int64_t update,
                                     double scale, float *w, float *g, float *const *state, size_t count);
/* Returns the factor of the gradients in an update: 1 / weight, less if their norm exceeds the clip; 0: the gradients
 * must not be used. */
double session_gradient_scale(const unroll_session *, const struct turn *);
int session_optimizer_states(const unroll_session *);

/* ---- memory: to choose a batch size before a session is created ----------------------------- */

/* Returns the bytes that unroll_session_new with this configuration would need: for the session, and for the weights if
 * no session has them yet. Does not communicate. */
unroll_status session_memory_estimate(unroll_model *model, const unroll_session_config *config, uint64_t *bytes);

/* ---- replicas: whether they hold equal numbers, not why they differ ------------------------- */

/* Continues the hash (HASH_BEGIN) over the session's data in these segments (bits 1 << SEG_..), except packed
 * copies. */
unroll_status session_hash(unroll_session *, unsigned segments, uint64_t *hash);

/* Compares the bits of the weights and optimizer states of all replicas of the batch; collective, between updates.
 * *rank: the first that differs from most of its replicas, or -1; *ranks: how many do. If no value has a majority, all
 * of them count. Without a comm, none differs. */
unroll_status session_compare_replicas(unroll_session *, int *rank, int *ranks);

/* ---- rates of ranks -------------------------------------------------------------------------- */

/* Divides the rows of a batch and layers among ranks of different speeds. The seconds that each rank computed give
 * rates, which apply to all sessions created later. The trainer measures the time and creates the new sessions. */
struct balance;

/* For a session whose ranks divide batch and layers, without exact sums and workers; fails for others. *balance is NULL
 * for a single rank. */
unroll_status balance_new(unroll_session *, struct balance **balance);
void balance_free(struct balance *); /* call before freeing the model; sessions created later divide evenly */

/* Call after each update with the seconds that this rank computed in it. Collective, though most calls send nothing.
 * Sets *divides if some rank's speed changed for several windows (rates.h) and new shares would make an update 5%
 * faster. It is equal on all ranks; sessions created later have the new shares. */
unroll_status balance_update(struct balance *, const unroll_session *, double seconds, bool *divides);

/* Returns how often *divides was set, and each rank's part of the work [*ranks] since the last time. */
int balance_divided(const struct balance *, double *part, int room, int *ranks);

/* ---- gradients computed twice ----------------------------------------------------------------- */

/* Computes each rank's gradients on two ranks and compares them. An error before the sum over ranks would be the same
 * in all replicas afterwards. The caller decides what to do about it. */
struct twice;

/* Creates the plan and the memory in which this rank computes the gradients of the previous one (rank 0: of the last
 * one), with its own weights. *twice is NULL if a comparison is impossible: one rank, more cuts than the batch,
 * workers, or devices whose bits may differ between machines. The session must outlive it. */
unroll_status twice_new(unroll_session *, struct twice **twice);
void twice_free(struct twice *);
uint64_t twice_memory_estimate(const struct twice *); /* bytes */

/* Collective; call before a forward pass while there are no gradients. Gets the previous rank's carried states. The
 * batch must not change until twice_compare. */
unroll_status twice_begin(struct twice *, const unroll_batch *);
/* Collective; call after the backward pass and before the sum over ranks. Compares the gradients' bits. *rank: the
 * first rank with wrong arithmetic, or -1. With three or more ranks it is the one that differs from both neighbors. If
 * only two ranks differ, the one that recomputed does so again: if its own result changes, it is wrong, otherwise the
 * other is. *ranks: the number of suspects, 2 if two ranks differ in both shares. */
unroll_status twice_compare(struct twice *, int *rank, int *ranks);
