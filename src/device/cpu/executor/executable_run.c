/* Runs a phase of a plan. Each team runs the operations of its queues in list order. Before an operation, its thread 0
 * waits for the operations of other queues that the plan lists. The list is a correct serial program and every team
 * takes its earliest operation first, so at least one team can always continue. */
#include "base/system/clock.h"
#include "comm/poll.h"
#include "device/cpu/executor/executable_parts.h"
#include <limits.h>
#include <string.h>
#include <time.h>

/* Waits for other queues usually take microseconds; after that many checks the thread sleeps. */
enum { LOOKS_BEFORE_SLEEP = 4000 };

static bool failed(struct executable *in) { return atomic_load(&in->error) != UNROLL_OK; }

/* A sleeper increments the counter before it checks; this thread changes the state before it reads the counter. Both
 * are in one total order, so one of them reads the other's change. */
static void wake_sleepers(struct executable *in)
{
    if (atomic_load(&in->sleepers) == 0)
        return;
    pthread_mutex_lock(&in->lock);
    pthread_cond_broadcast(&in->change);
    pthread_mutex_unlock(&in->lock);
}

/* Stores the thread's error message for the caller. For failed waits for other ranks, adds the operation's name. */
static void remember_error(struct executable *in, const struct op *op, unroll_status status)
{
    char label[96];
    pthread_mutex_lock(&in->lock);
    if (!failed(in)) {
        if (status == UNROLL_COMMUNICATION)
            set_error("'%s': %s", op_label(in->plan, op, label, sizeof label), unroll_last_error());
        strncpy(in->message, unroll_last_error(), sizeof in->message - 1);
        atomic_store(&in->error, (int)status);
    }
    pthread_mutex_unlock(&in->lock);
    wake_sleepers(in);
}

/* ---- time ----------------------------------------------------------------------------- */

/* Returns 0 if times are not measured. */
static int64_t begin_time(const struct executable *in) { return in->time ? clock_nanoseconds() : 0; }

static void end_time(struct executable *in, int op, int64_t begin)
{
    if (!in->time)
        return;
    struct op_time *time = &in->time[op];
    double seconds = 1e-9 * (double)(clock_nanoseconds() - begin);
    time->min = time->runs++ && time->min < seconds ? time->min : seconds;
    time->seconds += seconds;
}

/* ---- waits ----------------------------------------------------------------------------- */

static bool may_begin(struct executable *in, const struct op *op)
{
    for (int queue = 0; queue < in->plan->config.queues; queue++)
        if (op->wait[queue] >= 0 && atomic_load(&in->ended[queue].op) < op->wait[queue])
            return false;
    return true;
}

/* Waits for a change. While sums are in progress, wakes at least every half millisecond to poll them. */
static void sleep_for_change(struct executable *in)
{
    if (!comm_wants_polls()) {
        pthread_cond_wait(&in->change, &in->lock);
        return;
    }
    const struct timespec until = clock_in(500000);
    pthread_cond_timedwait(&in->change, &in->lock, &until);
    pthread_mutex_unlock(&in->lock);
    comm_poll();
    pthread_mutex_lock(&in->lock);
}

/* Returns false if another thread failed; the operation must then not start. */
static bool wait_for_others(struct executable *in, const struct op *op)
{
    for (int i = 0; i < LOOKS_BEFORE_SLEEP; i++) {
        if (failed(in) || may_begin(in, op))
            return !failed(in);
        comm_poll();
        cpu_pause();
    }
    pthread_mutex_lock(&in->lock);
    atomic_fetch_add(&in->sleepers, 1);
    while (!failed(in) && !may_begin(in, op)) sleep_for_change(in);
    atomic_fetch_sub(&in->sleepers, 1);
    pthread_mutex_unlock(&in->lock);
    return !failed(in);
}

/* ---- teams ----------------------------------------------------------------------------- */

static void meet(struct queue_team *team, int me)
{
    if (team->size > 1)
        barrier_wait(&team->barrier, me);
}

/* All threads of the team read the same decision: it changes only after all have passed the end of the operation. */
static bool begin_op(struct executable *in, struct queue_team *team, int me, const struct op *op)
{
    if (me == 0)
        team->goes_on = in->teams > 1 ? wait_for_others(in, op) : !failed(in);
    meet(team, me);
    return team->goes_on;
}

static void end_op(struct executable *in, struct queue_team *team, int me, int i, int64_t begin)
{
    meet(team, me);
    if (me == 0)
        end_time(in, i, begin);
    if (me == 0 && in->teams > 1 && !failed(in)) {
        atomic_store(&in->ended[in->plan->op[i].queue].op, i);
        wake_sleepers(in);
    }
}

/* Runs this team's operations of the phase in plan order; called by each thread of the team. */
static void run_queues(struct executable *in, int number, int me)
{
    struct queue_team *team = &in->team[number];
    struct work *work = &in->work[team->first + me].work;
    int i, end;
    for (phase_range(in->plan, in->phase, &i, &end); i < end; i++) {
        const struct op *op = &in->plan->op[i];
        if (op->queue % in->teams != number || !is_in_phase(op, in->phase))
            continue;
        if (!begin_op(in, team, me, op))
            return;
        const int64_t begin = begin_time(in);
        unroll_status status = isa_kernel(in->isa, op->kind)(&in->call[i], me, team->size, work);
        if (status != UNROLL_OK)
            remember_error(in, op, status);
        end_op(in, team, me, i, begin);
    }
}

static void run_thread(void *executable, int me)
{
    struct executable *in = executable;
    int number = 0;
    workspace_of_thread = in->workspace[me];
    while (me >= in->team[number].first + in->team[number].size) number++;
    run_queues(in, number, me - in->team[number].first);
}

/* Runs the list as a serial program: no queues, waits, barriers or wake-ups. */
static unroll_status run_alone(struct executable *in)
{
    uint64_t mode = cpu_flush_denormals();
    int i, end;
    workspace_of_thread = in->workspace[0];
    for (phase_range(in->plan, in->phase, &i, &end); i < end && !failed(in); i++) {
        if (!is_in_phase(&in->plan->op[i], in->phase))
            continue;
        const int64_t begin = begin_time(in);
        unroll_status status = isa_kernel(in->isa, in->plan->op[i].kind)(&in->call[i], 0, 1, &in->work[0].work);
        if (status != UNROLL_OK)
            remember_error(in, &in->plan->op[i], status);
        end_time(in, i, begin);
    }
    cpu_restore_float_mode(mode);
    return UNROLL_OK;
}

static unroll_status run_together(struct executable *in)
{
    /* All earlier phases have ended. A separate sum phase has a single queue and waits only for backward. */
    int first, end;
    phase_range(in->plan, in->phase, &first, &end);
    for (int i = 0; i < QUEUES_MAX; i++) atomic_store(&in->ended[i].op, in->phase == PHASE_SUM ? INT_MAX : first - 1);
    return team_run(in->all, run_thread, in);
}

static unroll_status run_as_is_faster(struct executable *in)
{
    struct adaptive *adaptive = &in->adaptive[(int)in->phase == PHASE_BACKWARD_SUM ? PHASE_BACKWARD : in->phase];
    const int64_t begin = clock_nanoseconds();
    unroll_status status = adaptive_together(adaptive) ? run_together(in) : run_alone(in);
    const int64_t end = clock_nanoseconds();
    struct work work = executable_work(in);
    adaptive_ran(adaptive, (double)(end - begin), work.flops + work.bytes);
    return status;
}

unroll_status executable_run(struct executable *in, enum phase phase)
{
    in->phase = phase;
    atomic_store(&in->error, UNROLL_OK);
    memset(in->work, 0, (size_t)in->threads * sizeof *in->work);
    comm_of_thread = in->comm;
    unroll_status status = in->chooses ? run_as_is_faster(in) : in->all ? run_together(in) : run_alone(in);
    comm_of_thread = NULL;
    if (status != UNROLL_OK)
        return status; /* the team has not started */
    status = (unroll_status)atomic_load(&in->error);
    return status == UNROLL_OK ? UNROLL_OK : fail(status, "%s", in->message);
}

unroll_status executable_run_op(struct executable *in, int op)
{
    uint64_t mode = cpu_flush_denormals();
    workspace_of_thread = in->workspace[0];
    memset(in->work, 0, (size_t)in->threads * sizeof *in->work);
    unroll_status status = isa_kernel(in->isa, in->plan->op[op].kind)(&in->call[op], 0, 1, &in->work[0].work);
    cpu_restore_float_mode(mode);
    return status;
}
