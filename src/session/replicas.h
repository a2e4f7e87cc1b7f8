/* Do ranks that should hold the same numbers hold them? Not how they came to differ. */
#ifndef SESSION_REPLICAS_H
#define SESSION_REPLICAS_H
#include <stdint.h>

#include "base/hash.h"
#include "unroll_train.h"

/* Goes on with *hash (HASH_BEGIN) over what the session holds in these segments (bits 1 << SEG_..), but for packed
 * copies. */
unroll_status session_hash(unroll_session *, unsigned segments, uint64_t *hash);

/* Compares the weights and the states of the optimizer of all replicas of the batch, to the bit; collective, between
 * updates. *rank: the first that differs from most of its replicas, -1: none; *ranks: how many do. Where no numbers are
 * those of more than half, all count. Without a comm all is well. */
unroll_status session_compare_replicas(unroll_session *, int *rank, int *ranks);

#endif
