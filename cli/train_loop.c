/* The loop of unroll train: steps, and between them validation, checkpoints, reports, samples and signals.
 * Everything that decides the weights depends on the step alone, but for the schedule of a run with --for;
 * what else depends on the clock is only shown. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stopwatch.h"
#include "console.h"
#include "guard.h"
#include "member.h"
#include "train_loop.h"
#include "unroll_advanced.h"

static const double metrics_seconds = 1;

/* ---- signals ---- */

static volatile sig_atomic_t stop_signal, save_signal;

/* A second SIGINT is for somebody who can't wait: it ends the process as it would without us. */
static void ask_to_stop(int number)
{
    stop_signal = number;
    guard_hush();
    signal(SIGINT, SIG_DFL);
}

static void ask_to_save(int number) { save_signal = number; }

static void listen_to_signals(void)
{
    struct sigaction stop = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART}, hangup;
    struct sigaction save = {.sa_handler = ask_to_save, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGUSR2, &stop, NULL); /* which mpirun passes on, and Open MPI's keeps no grace after */
    sigaction(SIGHUP, &stop, &hangup);
    if (hangup.sa_handler == SIG_IGN) /* nohup */
        signal(SIGHUP, SIG_IGN);
    sigaction(SIGUSR1, &save, NULL);
}

/* ---- what is kept ---- */

/* How work lies on the devices of a list, as text too; NULL: as it lay before. */
static json_t *divided_to_json(struct loop *loop, char *text, size_t size)
{
    double part[RANKS_MAX];
    int ranks;
    size_t used = 0;
    const int times = unroll_trainer_divided(loop->t->trainer, part, RANKS_MAX, &ranks);
    if (times == loop->divided)
        return NULL;
    loop->divided = times;
    json_t *parts = json_array();
    for (int i = 0; i < ranks; i++) {
        json_array_append_new(parts, json_real(part[i]));
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s rank %d %.0f%%", i ? "," : "", i, 100 * part[i]);
    }
    return json_pack("{si so}", "times", times, "work", parts);
}

static unroll_status report(struct loop *loop, double validation)
{
    char parts[256] = "";
    double now = loop_seconds(loop);
    if (!loop->t->ranks.comm)
        loop->mine.joules = energy_joules(&loop->energy);
    struct report report = {
        .step = loop->progress.step,
        .epoch = loop->progress.epoch,
        .loss = loop_loss(loop),
        .norm = loop->progress.norm,
        .rate = loop->progress.learning_rate,
        .validation = validation,
        .speed = loop_speed(loop, loop->steps_here - loop->then.steps, loop->stepping - loop->then.stepping),
        .seconds = now,
        .divided = divided_to_json(loop, parts, sizeof parts),
        .energy = loop_energy(loop),
        .ranks = ranks_to_json(&loop->t->ranks, loop->all)};
    loop->then.steps = loop->steps_here;
    loop->then.stepping = loop->stepping;
    loop->at.reported = now;
    loop->reported = loop->progress.step;
    unroll_status status = run_report(&loop->t->run, &report);
    if (report.divided)
        say("step %" PRId64 ": ranks are not as fast as they were; work is divided anew:%s", report.step, parts);
    json_decref(report.divided);
    json_decref(report.energy);
    json_decref(report.ranks);
    return status;
}

/* Should this process be killed. */
static void leave_word(const struct run *run)
{
    char line[RESUME_LONGEST];
    run_resume(run, line);
    if (run->newest >= 0 && !member_is()) /* a launcher goes on itself */
        guard_will_say(line);
}

/* Divergence is explained at the end of the run. */
static unroll_status complain_later(unroll_status status)
{
    return status == UNROLL_DIVERGED ? status : complain_library(status);
}

/* Sums over all ranks. The time that it takes counts, too. */
static unroll_status sum_of_ranks(struct loop *loop, double *numbers, int count)
{
    const struct ranks *ranks = &loop->t->ranks;
    struct rank_time before = ranks_now(ranks);
    unroll_status status = unroll_comm_sum(ranks->comm, numbers, count);
    ranks_count(ranks, &before, 0, &loop->mine);
    return complain_library(status);
}

/* What each rank did so far, to all. */
static unroll_status gather_times(struct loop *loop)
{
    enum { PARTS = sizeof loop->mine / sizeof(double) };

    memset(loop->all, 0, RANKS_MAX * sizeof *loop->all);
    loop->mine.joules = energy_joules(&loop->energy);
    loop->all[unroll_comm_rank(loop->t->ranks.comm)] = loop->mine;
    loop->gathered = loop->agreed;
    return sum_of_ranks(loop, &loop->all->compute, PARTS * unroll_comm_ranks(loop->t->ranks.comm));
}

/* Seconds between two checkpoints of --save-every auto, by J. T. Daly, "A higher order estimate of the optimum
 * checkpoint interval for restart dumps" (2006): cost: of a save, mtbf: between failures, both in seconds. */
static double best_interval(double cost, double mtbf)
{
    double part = cost / (2 * mtbf);
    return part < 1 ? sqrt(2 * cost * mtbf) * (1 + sqrt(part) / 3 + part / 9) - cost : mtbf;
}

/* Of rank 0. A first one is made soon, to see what it costs. */
static bool is_save_due(struct loop *loop)
{
    const double soon = 1;
    const struct settings *s = loop->t->settings;
    double cost = loop->auto_save.waited + loop->saver.cost, since = loop_seconds(loop) - loop->auto_save.at;
    double mtbf = member_mtbf() > 0 ? member_mtbf() : number_of(s, OPTION_MTBF);
    if (!is_given(s, OPTION_SAVE_EVERY) || integer_of(s, OPTION_SAVE_EVERY) != UNROLL_AUTO || loop->saver.is_writing)
        return false;
    if (!(loop->saver.cost > 0))
        return since > soon;
    double interval = fmax(best_interval(cost, mtbf), cost);
    if (!loop->auto_save.said)
        say("--save-every auto: a checkpoint costs %.2g s, one is saved every %.3g s", cost, interval);
    loop->auto_save.said = true;
    return since > interval;
}

/* Of rank 0: copies in memory take a hundredth of the time. */
static bool is_replica_due(const struct loop *loop)
{
    const double part = 0.01;
    return loop_seconds(loop) - loop->replica.at >= loop->replica.cost / part;
}

static unroll_status replicate(struct loop *loop)
{
    double begin = seconds_now();
    TRY(complain_later(training_replicate(loop->t)));
    loop->replica.cost = seconds_now() - begin;
    loop->replica.at = loop_seconds(loop);
    loop->replica.is_due = false;
    return UNROLL_OK;
}

/* The first rank that could not save says why. */
static unroll_status saving_failed(const struct loop *loop, unroll_status mine)
{
    unroll_comm *comm = loop->t->ranks.comm;
    if (mine == UNROLL_DIVERGED && !ranks_lead(&loop->t->ranks))
        complain(mine, "%s", loop->saver.error);
    if (mine != UNROLL_OK && !ranks_lead(&loop->t->ranks))
        console_unmute(unroll_comm_rank(comm));
    return unroll_comm_agree(comm, mine);
}

/* Before each step, and within validations: the time, signals that any rank got, and what became of checkpoints, which
 * rank 0 writes, become the same on all; now and then what each did. */
static unroll_status look_around(struct loop *loop)
{
    bool leads = ranks_lead(&loop->t->ranks);
    const bool meets = loop->t->ranks.meets;
    if (stop_signal == SIGTERM || (meets && stop_signal))
        member_leaves();
    if (meets && member_is_called())
        return UNROLL_COMMUNICATION;
    if (member_saves())
        save_signal = SIGUSR1;
    unroll_status saved = saver_look(&loop->saver, &loop->t->run);
    double seen[] = {leads ? loop_seconds(loop) : 0,
                     (stop_signal != 0 && !meets) || member_stops(),
                     save_signal != 0,
                     saved != UNROLL_OK,
                     leads ? (double)loop->t->run.newest : 0,
                     leads && is_save_due(loop),
                     loop->shards && !loop->saver.has_shard && loop->saver.is_shard,
                     meets && leads && is_replica_due(loop)};
    TRY(sum_of_ranks(loop, seen, sizeof seen / sizeof *seen));
    loop->agreed = seen[0];
    loop->stops = seen[1] > 0;
    loop->saves = seen[2] > 0;
    loop->t->run.newest = (int64_t)seen[4];
    loop->auto_save.is_due = seen[5] > 0;
    loop->replica.is_due = seen[7] > 0;
    member_stands(loop->progress.step, loop->t->run.newest);
    if (seen[3] > 0)
        return saving_failed(loop, saved);
    if (loop->shards && seen[6] == 0 && !loop->finishes) {
        loop->finishes = true;
        if (leads)
            saver_finish(&loop->saver);
    }
    loop->shards = loop->shards && loop->t->run.newest != loop->saved;
    return loop->agreed - loop->gathered >= metrics_seconds ? gather_times(loop) : UNROLL_OK;
}

/* Waits for the checkpoint that is being written, and all ranks learn what became of it. */
static unroll_status settle(struct loop *loop)
{
    saver_wait(&loop->saver, &loop->t->run);
    TRY(look_around(loop));
    if (!loop->shards)
        return UNROLL_OK;
    saver_wait(&loop->saver, &loop->t->run); /* rank 0 finishes it */
    return look_around(loop);
}

/* One that all ranks have found. */
static unroll_status tell_wrong(const struct loop *loop, int rank, int ranks, const char *what)
{
    member_found_wrong(ranks == 1 ? rank : -1);
    if (ranks > 1)
        return complain(
            UNROLL_FAILURE,
            "after update %" PRId64 " %d ranks, of which rank %d is the first, %s: one of them computes or remembers "
            "wrongly; fix: go on from the newest checkpoint, on other machines or with more replicas, which tell who "
            "it is",
            loop->progress.step, ranks, rank, what);
    return complain(UNROLL_FAILURE,
                    "after update %" PRId64 " rank %d %s: it computes or remembers wrongly; fix: go on from the newest "
                    "checkpoint, without its machine",
                    loop->progress.step, rank, what);
}

/* Replicas that differ, or gradients that another rank got otherwise: one of them computed or remembered wrongly, and a
 * checkpoint would keep it. */
static unroll_status verify(struct loop *loop)
{
    int rank, ranks;
    if (!is_on(loop->t->settings, OPTION_VERIFY_EVERY) || loop->verified == loop->progress.step)
        return UNROLL_OK;
    loop->verified = loop->progress.step;
    TRY(complain_later(unroll_trainer_compare(loop->t->trainer, &rank, &ranks)));
    if (rank >= 0)
        return tell_wrong(loop, rank, ranks,
                          ranks > 1 ? "hold other weights than their replicas"
                                    : "holds other weights than its replicas");
    unroll_trainer_checked(loop->t->trainer, &rank, &ranks);
    if (rank < 0)
        return UNROLL_OK;
    return tell_wrong(loop, rank, ranks,
                      ranks > 1 ? "have different gradients of the same rows"
                                : "has other gradients than another rank computes of the same rows");
}

/* The first is waited for: from then on all metrics say that the run had a checkpoint, and a guard that it can go on.
 */
static unroll_status save(struct loop *loop)
{
    struct run *run = &loop->t->run;
    unroll_snapshot *snapshot;
    TRY(verify(loop));
    double begin = seconds_now();
    TRY(loop->shards ? settle(loop) : UNROLL_OK);
    saver_wait(&loop->saver, run);
    TRY(complain_later(unroll_trainer_snapshot(loop->t->trainer, &snapshot)));
    saver_start(&loop->saver, run, snapshot, &loop->progress, integer_of(loop->t->settings, OPTION_KEEP));
    loop->shards = unroll_snapshot_shards(snapshot) > 0;
    loop->finishes = false;
    loop->saved = loop->progress.step;
    loop->auto_save.is_due = false;
    loop->auto_save.waited = seconds_now() - begin;
    loop->auto_save.at = loop_seconds(loop);
    unroll_status status = run->newest < 0 ? settle(loop) : UNROLL_OK;
    leave_word(run);
    return status;
}

static unroll_status save_unless_saved(struct loop *loop)
{
    TRY(loop->progress.step == loop->saved ? UNROLL_OK : save(loop));
    return settle(loop);
}

/* Where all ranks do it: with what each did until now. */
static unroll_status report_together(struct loop *loop, double validation)
{
    TRY(gather_times(loop));
    return report(loop, validation);
}

static int goes_on(void *data)
{
    struct loop *loop = data;
    loop->synced = look_around(loop);
    return loop->synced == UNROLL_OK && !loop->stops;
}

/* A signal that stops the run ends it early; nothing is then known. */
static unroll_status validate(struct loop *loop)
{
    char line[ROOM];
    unroll_evaluation found;
    loop->synced = UNROLL_OK;
    unroll_status status = unroll_trainer_validate_while(loop->t->trainer, goes_on, loop, &found);

    TRY(loop->synced); /* said already */
    TRY(complain_later(status));
    if (isnan(found.loss))
        return UNROLL_OK;
    loop->validated = loop->progress.step;
    TRY(complain_library(unroll_trainer_progress(loop->t->trainer, &loop->progress)));
    if (loop->progress.since_best == 0)
        loop->best = found;
    TRY(report_together(loop, found.loss));
    loop_describe(loop, true, line);
    say("%s%s", line, loop->progress.since_best == 0 ? "  best" : "");
    loop->at.printed = loop_seconds(loop);
    return save(loop);
}

/* ---- from step to step ---- */

/* The length at which the schedule is as far as the time is, whatever the speed of the machine was. */
static void follow_clock(const struct loop *loop)
{
    double part = fmax(loop_part_done(loop), 1e-6);
    unroll_trainer_set_total_steps(loop->t->trainer, (int64_t)((double)(loop->progress.step + 1) / part));
}

/* Of a run that goes on: its schedule may be another one now. No schedule rises behind the warm-up. */
static void say_rise(const struct loop *loop, double before)
{
    const struct settings *s = loop->t->settings;
    double now = loop->progress.learning_rate;
    int64_t done = loop->progress.step - 1;
    if (loop->steps_here == 1 && before > 0 && done >= integer_of(s, OPTION_WARMUP) && now > 1.05 * before)
        say("the learning rate rises from %.2g to %.2g: the schedule '%s' is longer now; --schedule-steps %" PRId64
            " keeps it low",
            before, now, text_of(s, OPTION_SCHEDULE), done);
}

static bool is_every(const struct loop *loop, enum option_id option, int64_t otherwise, int64_t step)
{
    const struct settings *s = loop->t->settings;
    int64_t every = is_given(s, option) ? integer_of(s, option) : otherwise;
    return every > 0 && step % every == 0;
}

/* What is verified, or kept, is of gradients that two ranks have computed. */
static void check_gradients(struct loop *loop)
{
    const int64_t next = loop->progress.step + 1;
    if (is_on(loop->t->settings, OPTION_VERIFY_EVERY) &&
        (is_every(loop, OPTION_VERIFY_EVERY, 0, next) || is_every(loop, OPTION_SAVE_EVERY, 0, next) ||
         is_every(loop, OPTION_VALIDATE_EVERY, loop->t->steps_of_epoch, next) || next == loop->t->end_step ||
         loop->auto_save.is_due))
        unroll_trainer_check_next(loop->t->trainer);
}

static unroll_status step(struct loop *loop)
{
    double began = seconds_now(), rate = loop->progress.learning_rate;
    struct rank_time before = ranks_now(&loop->t->ranks);
    if (loop->t->schedule_by_clock)
        follow_clock(loop);
    check_gradients(loop);
    TRY(complain_later(unroll_trainer_step(loop->t->trainer, &loop->progress)));
    loop->stepping += seconds_now() - began;
    ranks_count(&loop->t->ranks, &before, seconds_now() - began, &loop->mine);
    loop->losses[loop->steps_here++ % LOSSES] = loop->progress.loss;
    for (int64_t i = 2; i <= loop->progress.synced && i <= LOSSES && i <= loop->steps_here; i++)
        loop->losses[(loop->steps_here - i) % LOSSES] = loop->progress.loss; /* a look is at all since the last */
    loop->t->steps_of_epoch = loop->progress.steps_per_epoch;
    say_rise(loop, rate);
    member_trains();
    return UNROLL_OK;
}

/* The newest step: what it is worth is said at the end of the run, once. */
static bool is_last(const struct loop *loop)
{
    return loop->progress.step >= loop->t->end_step || loop_seconds(loop) >= loop->t->end_seconds;
}

/* Everything after a step. A validation also reports and saves. */
static unroll_status look_after(struct loop *loop)
{
    const int64_t done = loop->progress.step;
    if (is_every(loop, OPTION_VERIFY_EVERY, 0, done))
        TRY(verify(loop));
    if (is_every(loop, OPTION_VALIDATE_EVERY, loop->t->steps_of_epoch, done))
        TRY(loop_validates(loop) ? validate(loop) : save(loop));
    else if (is_every(loop, OPTION_SAVE_EVERY, 0, done) || loop->auto_save.is_due)
        TRY(save(loop));
    if (is_last(loop))
        return UNROLL_OK;
    double now = loop_seconds(loop);
    bool is_reported = loop->reported == loop->progress.step;
    bool is_time = loop->steps_here == 1 || now - loop->at.reported >= metrics_seconds;
    if (!is_reported && is_time)
        TRY(report(loop, NAN));
    return loop_show(loop, now);
}

static unroll_status answer_signals(struct loop *loop)
{
    char path[PATH_MAX];
    if (!loop->stops && !loop->saves)
        return UNROLL_OK;
    save_signal = 0;
    TRY(save_unless_saved(loop));
    if (loop->reported != loop->progress.step)
        TRY(report_together(loop, NAN)); /* so that the seconds of the run are known */
    run_checkpoint(&loop->t->run, loop->progress.step, path);
    say_always("saved %s", path);
    run_say_resume(&loop->t->run);
    return loop->stops ? UNROLL_PREEMPTED : UNROLL_OK;
}

/* A run of no updates would have no loss: the first is made whatever the time is. */
static bool is_at_end(const struct loop *loop)
{
    bool is_late = loop->agreed >= loop->t->end_seconds && loop->progress.step > 0;
    return loop->progress.step >= loop->t->end_step || is_late || loop_is_out_of_patience(loop);
}

static int64_t next_multiple(int64_t step, int64_t every) { return every > 0 ? (step / every + 1) * every : INT64_MAX; }

/* Workers that wait for nobody meet where all do something together, and now and then for signals and the clock. */
static void say_meeting(const struct loop *loop)
{
    const struct settings *s = loop->t->settings;
    enum { OFTEN = 256 };
    const int64_t step = loop->progress.step;
    const int64_t validates =
        is_given(s, OPTION_VALIDATE_EVERY) ? integer_of(s, OPTION_VALIDATE_EVERY) : loop->progress.steps_per_epoch;
    const int64_t saves = is_given(s, OPTION_SAVE_EVERY) ? integer_of(s, OPTION_SAVE_EVERY) : 0;
    const int64_t steps[] = {loop->t->end_step, next_multiple(step, validates), next_multiple(step, saves)};
    int64_t meet = next_multiple(step, OFTEN);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) meet = steps[i] < meet ? steps[i] : meet;
    unroll_trainer_meet_at(loop->t->trainer, meet);
}

static unroll_status train_on(struct loop *loop)
{
    TRY(look_around(loop));
    if (loop->t->ranks.meets)
        TRY(replicate(loop));
    while (!is_at_end(loop)) {
        say_meeting(loop);
        TRY(step(loop));
        TRY(look_after(loop));
        if (loop->progress.met) /* workers that update by themselves wait for nobody in between */
            TRY(look_around(loop));
        if (loop->replica.is_due)
            TRY(replicate(loop));
        TRY(answer_signals(loop));
    }
    return UNROLL_OK;
}

/* ---- the end ---- */

static unroll_status finish(struct loop *loop)
{
    struct run *run = &loop->t->run;
    if (loop_validates(loop) && loop->validated != loop->progress.step && loop->steps_here > 0)
        TRY(validate(loop));
    if (loop->reported != loop->progress.step && loop->steps_here > 0)
        TRY(report_together(loop, NAN));
    TRY(save_unless_saved(loop));
    if (!run->watches)
        TRY(run_save_model(run, loop->t->model)); /* the save has brought the newest weights into it */
    TRY(loop_measure_kept(loop));
    return loop_tell(loop);
}

/* The loop could not go on: what was trained since the last checkpoint is kept if that is still possible. */
static unroll_status give_up(struct loop *loop, unroll_status status)
{
    bool reachable = loop->t->ranks.comm == NULL; /* others may have gone on, or be lost */
    if (reachable && loop->saver.status == UNROLL_OK && loop->steps_here > 0)
        save_unless_saved(loop);
    ranks_report(&loop->t->ranks, status);
    if (loop->t->run.newest >= 0)
        run_say_resume(&loop->t->run);
    return status;
}

unroll_status training_run(struct training *training)
{
    static struct rank_time all[RANKS_MAX];
    struct loop loop = {.t = training,
                        .all = all,
                        .progress.size = sizeof loop.progress,
                        .validated = -1,
                        .reported = -1,
                        .verified = -1};
    struct run *run = &training->run;
    TRY(complain_library(unroll_trainer_progress(training->trainer, &loop.progress)));
    loop.saved = run->newest;
    loop.at.sampled = loop.at.printed = loop.auto_save.at = loop_seconds(&loop);
    listen_to_signals();
    leave_word(run);
    run_mark_best(run, &loop.progress); /* of a run that goes on */
    loop.first_item = loop.progress.items;
    unroll_status status = energy_open(&loop.energy, training->settings, &training->ranks);
    if (status == UNROLL_OK)
        status = train_on(&loop);
    if (status == UNROLL_OK)
        status = finish(&loop);
    energy_close(&loop.energy);
    saver_wait(&loop.saver, run); /* after a failure: the newest is then known */
    if (status == UNROLL_DIVERGED && training->ranks.apart && training->ranks.comm)
        console_unmute(unroll_comm_rank(training->ranks.comm)); /* perhaps it alone */
    if (status == UNROLL_DIVERGED)
        return loop_explain_divergence(&loop);
    if (training->ranks.meets && status == UNROLL_COMMUNICATION)
        return status; /* the others go on, and this process with them */
    if (status != UNROLL_OK && status != UNROLL_PREEMPTED)
        return give_up(&loop, status);
    return status;
}
