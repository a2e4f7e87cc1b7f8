/* Measures whole runs and each operation on the GPU (gpu_executable.h). An operation is timed by events before and
 * after it on its queue's stream, which become nodes of a graph. All norms are one launch, and so are all updates:
 * the operation that launches them gets their time. Operations that launch nothing have none. */
#include "extensions/gpu/gpu_executable.h"
#include "base/memory.h"

struct gpu_profile {
    gpu_event begin, end; /* NULL: the operation launches nothing */
    struct op_time time;
};

unroll_status gpu_profile_new(struct gpu_executable *in)
{
    return ALLOCATE(in->profile, (size_t)in->plan->ops + 1, "for a profile");
}

/* Called while preparing, when the launches of an operation are counted. */
unroll_status gpu_profile_prepare(struct gpu_executable *in, int op, bool launches)
{
    if (!in->profile || !launches)
        return UNROLL_OK;
    TRY(in->driver->event_new(in->gpu, true, &in->profile[op].begin));
    return in->driver->event_new(in->gpu, true, &in->profile[op].end);
}

unroll_status gpu_profile_mark(struct gpu_executable *in, int op, bool ends)
{
    const gpu_event event = !in->profile ? NULL : ends ? in->profile[op].end : in->profile[op].begin;
    return event ? in->driver->event_time(event, in->recorder.stream, in->captures) : UNROLL_OK;
}

unroll_status gpu_profile_collect(struct gpu_executable *in, enum phase phase)
{
    for (int i = in->plan->phase[phase].first; in->profile && i < in->plan->phase[phase].end; i++) {
        struct gpu_profile *p = &in->profile[i];
        double seconds;
        if (!p->begin || !is_in_phase(&in->plan->op[i], phase))
            continue;
        TRY(in->driver->event_seconds(p->begin, p->end, &seconds));
        if (p->time.runs++ == 0 || seconds < p->time.min)
            p->time.min = seconds;
        p->time.seconds += seconds;
    }
    return UNROLL_OK;
}

void gpu_profile_free(struct gpu_executable *in)
{
    for (int i = 0; in->profile && i < in->plan->ops; i++) {
        in->driver->event_free(in->profile[i].begin);
        in->driver->event_free(in->profile[i].end);
    }
    release(in->profile);
    in->profile = NULL;
}

const struct op_time *gpu_time(const void *executable, int op)
{
    const struct gpu_executable *in = executable;
    return in->profile ? &in->profile[op].time : NULL;
}

/* ---- whole runs ---------------------------------------------------------------------------- */

unroll_status gpu_span_mark(struct gpu_executable *in, bool ends)
{
    if (!in->span_end || (!ends && in->in_span))
        return UNROLL_OK;
    in->in_span = true;
    return in->driver->event_time(ends ? in->span_end : in->span_begin, in->stream[0], false);
}

static unroll_status take_span(struct gpu_executable *in, double *seconds)
{
    if (!in->span_begin)
        TRY(in->driver->event_new(in->gpu, true, &in->span_begin));
    if (!in->span_end)
        return in->driver->event_new(in->gpu, true, &in->span_end);
    if (!in->in_span)
        return UNROLL_OK;
    in->in_span = false;
    return in->driver->event_seconds(in->span_begin, in->span_end, seconds);
}

unroll_status gpu_span(void *executable, double *seconds)
{
    struct gpu_executable *in = executable;
    *seconds = 0;
    TRY(gpu_wait(in));
    TRY(in->driver->enter(in->gpu));
    unroll_status status = in->driver->stream_wait(in->stream[0], "taking the time");
    if (status == UNROLL_OK)
        status = take_span(in, seconds);
    in->driver->leave(in->gpu);
    return status;
}
