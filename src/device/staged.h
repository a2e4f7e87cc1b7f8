/* Messages and sums of a device that can't exchange anything with other ranks itself: the host does them between ranges
 * of the list, from memory of its own. The messages are those that a CPU would send (device/cpu/exchange.c), so ranks
 * on devices of different kinds understand each other. Knows no device. */
#ifndef DEVICE_STAGED_H
#define DEVICE_STAGED_H
#include "comm/comm.h"
#include "plan/plan.h"

/* What it needs of a device. Between ranges whatever a message is about can be read and written. */
struct staged_calls {
    /* Operations [first, end) of the list that are of the phase, of which none exchanges anything. */
    unroll_status (*run_range)(void *executable, enum phase, int first, int end);
    unroll_status (*read)(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to);
    unroll_status (*write)(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from);
};

struct staged;
/* Takes memory for all that the plan exchanges; refuses plans that exchange something inside an operation. The plan,
 * the comm and the executable outlive it. */
unroll_status staged_new(const struct plan *, struct unroll_comm *, const struct staged_calls *, void *executable,
                         struct staged **);
void staged_free(struct staged *); /* NULL is allowed */
/* As a device's run (device.h). */
unroll_status staged_run(struct staged *, enum phase first, enum phase last);

#endif
