/* The initial weights of a new model. */
#pragma once
#include "model/model.h"

/* The values of unroll_network.init, in this order. */
enum initial { INITIAL_UNIFORM, INITIAL_XAVIER, INITIAL_ORTHOGONAL, INITIAL_COUNT };

/* Fills the values of a model made from this network; fails on options that the network cannot use. */
unroll_status initial_weights(struct unroll_model *, const unroll_network *, uint64_t seed);
