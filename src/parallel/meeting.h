/* Workers that wait for nobody: short messages from each to each, the order in which all came, and how they meet where
 * all do something together. What they send beside is the policy's. */
#ifndef PARALLEL_MEETING_H
#define PARALLEL_MEETING_H
#include "comm/transport.h"
#include "parallel/arrivals.h"
#include "parallel/policy.h"

enum { TAG_HEAD = TAG_POLICY | 4, TAG_OF_POLICY }; /* a policy's own begin there */
enum { HEAD_MEET, HEAD_QUIET, HEAD_OF_POLICY };

struct head {
    int32_t from, kind;
    int64_t step;
};

struct meeting {
    struct arrivals arrivals;
    struct request request;
    bool listens;     /* it has begun */
    struct head head; /* the last that came */
    int quiet;        /* workers that said in this meeting that they send no more */
    int64_t called;   /* the step of the last meeting to which it called the others */
};

/* Its file of arrivals, as the exchange says. */
unroll_status meeting_open(const struct exchange *, struct meeting *);
void meeting_close(const struct exchange *, struct meeting *);
unroll_status meeting_tell(const struct exchange *, int member, int kind, int64_t step);
unroll_status meeting_tell_all(const struct exchange *, int kind, int64_t step);
/* Who comes first to a step at which all meet calls the others. */
unroll_status meeting_call(const struct exchange *, struct meeting *, int64_t step);
/* The next message that has come, into `head`; false: there is none. A call to a meeting is followed, and noted as of
 * `line` (arrivals.h). */
unroll_status meeting_hear(struct exchange *, struct meeting *, int64_t line, bool *heard);
unroll_status meeting_jump_again(struct exchange *, const struct arrival *, int64_t line);
/* In loops that wait: with `something` the wait begins anew. Fails when it took too long. */
unroll_status meeting_wait(const struct exchange *, struct wait_timeout *, bool something);
/* Do workers wait for each other at this step? */
bool meeting_met(const struct exchange *, int64_t step);
/* All have said that they are quiet. */
void meeting_over(const struct exchange *, struct meeting *);

#endif
