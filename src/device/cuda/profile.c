/* What each operation takes on the GPU (instance.h): events before and after it on its lane's stream, in a graph as
 * nodes of it. All norms are one launch, and all updates: the operation where it stands has their time, and operations
 * that launch nothing have none. */
#include "device/cuda/instance.h"
#include "base/memory.h"

struct cuda_profile {
    cu_event begin, end;                /* NULL: the operation launches nothing */
    struct op_time time;
};

unroll_status cuda_profile_new(struct cuda_instance *in)
{
    in->profile = allocate_zeroed((size_t)in->plan->ops + 1, sizeof *in->profile);
    return in->profile ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a profile");
}

/* While preparing, which knows what is launched. */
unroll_status cuda_profile_prepare(struct cuda_instance *in, int op, bool launches)
{
    enum { TIMED = 0 };
    if (!in->profile || !launches)
        return UNROLL_OK;
    TRY(cuda_check(cu.cuEventCreate(&in->profile[op].begin, TIMED), "making an event"));
    return cuda_check(cu.cuEventCreate(&in->profile[op].end, TIMED), "making an event");
}

unroll_status cuda_profile_mark(struct cuda_instance *in, int op, bool ends)
{
    const cu_event event = !in->profile ? NULL : ends ? in->profile[op].end : in->profile[op].begin;
    if (!event)
        return UNROLL_OK;
    return cuda_check(cu.cuEventRecordWithFlags(event, in->walker.stream, in->captures ? CU_EVENT_RECORD_EXTERNAL : 0),
                      "taking the time");
}

unroll_status cuda_profile_collect(struct cuda_instance *in, enum part part)
{
    for (int i = in->plan->part[part].first; in->profile && i < in->plan->part[part].end; i++) {
        struct cuda_profile *p = &in->profile[i];
        float milliseconds;
        if (!p->begin)
            continue;
        TRY(cuda_check(cu.cuEventElapsedTime(&milliseconds, p->begin, p->end), "taking the time"));
        const double seconds = 1e-3 * (double)milliseconds;
        if (p->time.runs++ == 0 || seconds < p->time.least)
            p->time.least = seconds;
        p->time.seconds += seconds;
    }
    return UNROLL_OK;
}

void cuda_profile_free(struct cuda_instance *in)
{
    for (int i = 0; in->profile && i < in->plan->ops; i++) {
        if (in->profile[i].begin)
            (void)cu.cuEventDestroy(in->profile[i].begin);
        if (in->profile[i].end)
            (void)cu.cuEventDestroy(in->profile[i].end);
    }
    release(in->profile);
    in->profile = NULL;
}

const struct op_time *cuda_time(const void *instance, int op)
{
    const struct cuda_instance *in = instance;
    return in->profile ? &in->profile[op].time : NULL;
}
