/* What a session would take, before it is made: for those who choose a batch. */
#ifndef SESSION_SESSION_ESTIMATE_H
#define SESSION_SESSION_ESTIMATE_H
#include "unroll_train.h"

/* Bytes of unroll_session_new with this configuration: of its own, and of the weights where no session has them yet.
 * Asks no other rank. */
unroll_status session_memory_estimate(unroll_model *model, const unroll_session_config *config, uint64_t *bytes);

#endif
