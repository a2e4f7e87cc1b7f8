/* Models for importers: a list of layers that is a plain stack becomes a stack, which streams and training on
 * texts know; any other becomes a network. Not a check of anything: unroll_network_new does that. */
#ifndef FILE_PLAIN_H
#define FILE_PLAIN_H
#include "model/model.h"

/* tied: the last layer is dense and has the embedding's weight; such a network must be a stack. */
unroll_status model_of_network(const unroll_network *, bool tied, struct unroll_model **);

#endif
