/* Worlds of processes that find each other by addresses, through UCX: they open one after another as processes come and
 * go. Who is told whose address, and which number a world has, is for the caller. */
#ifndef COMM_UCX_H
#define COMM_UCX_H
#include "comm/comm.h"

enum { UCX_ADDRESS = 4096 }; /* bytes of a text, with its end */

/* Of this process, the same in all of its worlds. */
unroll_status comm_ucx_address(char text[UCX_ADDRESS]);
/* Numbers rise from 1. Nobody waits here: the first message does. The world before was closed. */
unroll_status comm_ucx_open(int64_t number, int rank, int ranks, const char *const *addresses, double timeout_seconds,
                            struct unroll_comm **);

#endif
