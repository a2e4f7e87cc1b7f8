/* The weights that a new model begins with. */
#ifndef MODEL_INITIAL_H
#define MODEL_INITIAL_H
#include "model/model.h"

/* unroll_network.init, in this order. */
enum initial { INITIAL_UNIFORM, INITIAL_XAVIER, INITIAL_ORTHOGONAL, INITIAL_COUNT };

/* Fills the values of a model that was made of this network; refuses what it has no use for. */
unroll_status initial_weights(struct unroll_model *, const unroll_network *, uint64_t seed);

#endif
