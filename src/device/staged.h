/* Messages and sums for a device that cannot communicate itself: the host exchanges them between ranges of the list,
 * from its own memory. The messages are those of the CPU (device/cpu/executor/exchange.c), so ranks on different
 * devices can communicate. Independent of the device. */
#pragma once
#include "comm/comm.h"
#include "plan/ir/plan.h"

/* Functions of the device. Between ranges, buffers of messages can be read and written. */
struct staged_calls {
    /* Runs the operations [first, end) of the list in this phase; none of them communicates. */
    unroll_status (*run_range)(void *executable, enum phase, int first, int end);
    unroll_status (*read)(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to);
    unroll_status (*write)(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from);
};

struct staged;
/* Allocates buffers for all messages of the plan. Fails for plans that communicate inside an operation. The plan, the
 * comm and the executable must outlive it. */
unroll_status staged_new(const struct plan *, struct unroll_comm *, const struct staged_calls *, void *executable,
                         struct staged **);
void staged_free(struct staged *); /* NULL is allowed */
/* Implements a device's run (device.h). */
unroll_status staged_run(struct staged *, enum phase first, enum phase last);
