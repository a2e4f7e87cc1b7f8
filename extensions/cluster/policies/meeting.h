/* Asynchronous workers: short messages between all pairs, the order of their arrival, and meetings where all act
 * together. All other messages belong to the policy. */
#ifndef PARALLEL_MEETING_H
#define PARALLEL_MEETING_H
#include "comm/transport.h"
#include "extensions/cluster/policies/arrivals.h"
#include "extensions/cluster/policies/policy.h"

enum { TAG_HEAD = TAG_POLICY | 4, TAG_OF_POLICY }; /* first tag of a policy */
enum { HEAD_MEET, HEAD_QUIET, HEAD_OF_POLICY };

struct head {
    int32_t from, kind;
    int64_t step;
};

struct meeting {
    struct arrivals arrivals;
    struct request request;
    bool listens;     /* the receive has begun */
    struct head head; /* the last message received */
    int quiet;        /* workers that have stopped sending in this meeting */
    int64_t called;   /* step of the last meeting to which it called the others */
};

/* Opens the log of arrivals configured in the exchange. */
unroll_status meeting_open(const struct exchange *, struct meeting *);
void meeting_close(const struct exchange *, struct meeting *);
unroll_status meeting_tell(const struct exchange *, int member, int kind, int64_t step);
unroll_status meeting_tell_all(const struct exchange *, int kind, int64_t step);
/* The first worker to reach the step of a meeting calls the others. */
unroll_status meeting_call(const struct exchange *, struct meeting *, int64_t step);
/* Receives the next message into `head`; *heard is false if there is none. Follows a call to a meeting, and records
 * it at `line` (arrivals.h). */
unroll_status meeting_hear(struct exchange *, struct meeting *, int64_t line, bool *heard);
unroll_status meeting_jump_again(struct exchange *, const struct arrival *, int64_t line);
/* For wait loops: restarts the timeout if `something` happened; fails after the timeout. */
unroll_status meeting_wait(const struct exchange *, struct wait_timeout *, bool something);
/* Returns whether workers wait for each other at this step. */
bool meeting_met(const struct exchange *, int64_t step);
/* Ends a meeting, after all have stopped sending. */
void meeting_over(const struct exchange *, struct meeting *);

#endif
