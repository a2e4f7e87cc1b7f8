/* The loop of unroll train: steps, and between them validation, checkpoints, reports, samples and signals.
 * Everything that affects the weights depends only on the step, except for the schedule of a run with --for. What
 * else depends on the clock is only displayed. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/stopwatch.h"
#include "cli/show/console.h"
#include "cli/run/guard.h"
#include "cli/run/member.h"
#include "cli/run/train_loop.h"
#include "unroll_advanced.h"

static const double metrics_seconds = 1;

/* ---- signals ---- */

static volatile sig_atomic_t stop_signal, save_signal;

/* A second SIGINT ends the process at once, by the default action. */
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
    sigaction(SIGUSR2, &stop, NULL); /* mpirun passes it on, and Open MPI allows no time after others */
    sigaction(SIGHUP, &stop, &hangup);
    if (hangup.sa_handler == SIG_IGN) /* nohup */
        signal(SIGHUP, SIG_IGN);
    sigaction(SIGUSR1, &save, NULL);
}

/* ---- reports ---- */

/* Returns the division of work among the devices of a list, also as text; NULL if it has not changed. */
static json_t *divided_to_json(struct loop *loop, char *text, size_t size)
{
    double part[RANKS_MAX];
    int ranks;
    size_t used = 0;
    const int times = unroll_trainer_shares(loop->t->trainer, part, RANKS_MAX, &ranks);
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

/* Records the progress, and a validation unless `found` is NULL. */
static unroll_status report(struct loop *loop, const unroll_evaluation *found)
{
    const unroll_metric *metric = found && found->metrics > 0 ? &found->metric[found->compared] : NULL;
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
        .validation = found ? found->loss : NAN,
        .metric = metric ? metric->value : NAN,
        .metric_name = metric ? metric->name : NULL,
        .is_best = found && loop->progress.since_best == 0,
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
        say("step %" PRId64 ": the speeds of ranks have changed; work is redistributed:%s", report.step, parts);
    json_decref(report.divided);
    json_decref(report.energy);
    json_decref(report.ranks);
    return status;
}

/* Sets the line that is printed if this process is killed. */
static void leave_word(const struct run *run)
{
    char line[RESUME_LONGEST];
    run_resume(run, line);
    if (run->newest >= 0 && !member_is()) /* a launcher resumes the run itself */
        guard_will_say(line);
}

/* Prints an error, except for divergence, which is explained at the end of the run. */
static unroll_status complain_later(unroll_status status)
{
    return status == UNROLL_DIVERGED ? status : complain_library(status);
}

/* Sums over all ranks, and counts the time of that as communication. */
static unroll_status sum_of_ranks(struct loop *loop, double *numbers, int count)
{
    const struct ranks *ranks = &loop->t->ranks;
    struct rank_time before = ranks_now(ranks);
    unroll_status status = unroll_comm_sum(ranks->comm, numbers, count);
    ranks_count(ranks, &before, 0, &loop->mine);
    return complain_library(status);
}

/* Sends the times of each rank to all ranks. */
static unroll_status gather_times(struct loop *loop)
{
    enum { PARTS = sizeof loop->mine / sizeof(double) };

    memset(loop->all, 0, RANKS_MAX * sizeof *loop->all);
    loop->mine.joules = energy_joules(&loop->energy);
    loop->all[unroll_comm_rank(loop->t->ranks.comm)] = loop->mine;
    loop->gathered = loop->agreed;
    return sum_of_ranks(loop, &loop->all->compute, PARTS * unroll_comm_ranks(loop->t->ranks.comm));
}

/* Returns the seconds between two checkpoints of --save-every auto, by J. T. Daly, "A higher order estimate of the
 * optimum checkpoint interval for restart dumps" (2006). cost: of a save; mtbf: between failures; both in seconds. */
static double best_interval(double cost, double mtbf)
{
    double part = cost / (2 * mtbf);
    return part < 1 ? sqrt(2 * cost * mtbf) * (1 + sqrt(part) / 3 + part / 9) - cost : mtbf;
}

/* Returns whether a checkpoint is due, on rank 0. The first is made soon, to measure its cost. */
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

/* Returns whether a replica is due, on rank 0: replicas take one percent of the time. */
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

/* Reports the error of the first rank that could not save. */
static unroll_status saving_failed(const struct loop *loop, unroll_status mine)
{
    unroll_comm *comm = loop->t->ranks.comm;
    if (mine == UNROLL_DIVERGED && !ranks_lead(&loop->t->ranks))
        complain(mine, "%s", loop->saver.error);
    if (mine != UNROLL_OK && !ranks_lead(&loop->t->ranks))
        console_unmute(unroll_comm_rank(comm));
    return unroll_comm_agree(comm, mine);
}

/* Before each step, and during validations, all ranks agree on the time, on signals to any rank, and on the
 * checkpoints that rank 0 writes. From time to time they also exchange their times. */
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

/* Waits for the checkpoint being written, until all ranks have its result. */
static unroll_status settle(struct loop *loop)
{
    saver_wait(&loop->saver, &loop->t->run);
    TRY(look_around(loop));
    if (!loop->shards)
        return UNROLL_OK;
    saver_wait(&loop->saver, &loop->t->run); /* rank 0 finishes it */
    return look_around(loop);
}

/* Reports a wrong rank that all ranks have found. */
static unroll_status tell_wrong(const struct loop *loop, int rank, int ranks, const char *what)
{
    member_found_wrong(ranks == 1 ? rank : -1);
    if (ranks > 1)
        return complain(
            UNROLL_FAILURE,
            "after update %" PRId64
            " %d ranks, of which rank %d is the first, %s: one of them has a computing or memory error; fix: resume "
            "from the newest checkpoint on other machines, or with more replicas to find it",
            loop->progress.step, ranks, rank, what);
    return complain(
        UNROLL_FAILURE,
        "after update %" PRId64
        " rank %d %s: it has a computing or memory error; fix: resume from the newest checkpoint without its machine",
        loop->progress.step, rank, what);
}

/* Compares replicas, and gradients that two ranks have computed. If they differ, a rank has a fault, and a
 * checkpoint would keep its result. */
static unroll_status verify(struct loop *loop)
{
    int rank, ranks;
    if (!is_on(loop->t->settings, OPTION_VERIFY_EVERY) || loop->verified == loop->progress.step)
        return UNROLL_OK;
    loop->verified = loop->progress.step;
    TRY(complain_later(unroll_trainer_compare(loop->t->trainer, &rank, &ranks)));
    if (rank >= 0)
        return tell_wrong(loop, rank, ranks,
                          ranks > 1 ? "hold weights that differ from their replicas"
                                    : "holds weights that differ from its replicas");
    unroll_trainer_checked(loop->t->trainer, &rank, &ranks);
    if (rank < 0)
        return UNROLL_OK;
    return tell_wrong(loop, rank, ranks,
                      ranks > 1 ? "have different gradients of the same rows"
                                : "has other gradients than another rank computes of the same rows");
}

/* Starts a checkpoint. Waits for the first one: from then on all metrics record that the run has a checkpoint, and
 * the guard prints how to resume. */
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

/* Reports on all ranks together, with the times of each. */
static unroll_status report_together(struct loop *loop, const unroll_evaluation *found)
{
    TRY(gather_times(loop));
    return report(loop, found);
}

static int goes_on(void *data)
{
    struct loop *loop = data;
    loop->synced = look_around(loop);
    return loop->synced == UNROLL_OK && !loop->stops;
}

/* Validates. A signal to stop ends it early, without a result. */
static unroll_status validate(struct loop *loop)
{
    char line[ROOM];
    unroll_evaluation found = {.size = sizeof found};
    loop->synced = UNROLL_OK;
    unroll_status status = unroll_trainer_validate_while(loop->t->trainer, goes_on, loop, &found);

    TRY(loop->synced); /* the error is already printed */
    TRY(complain_later(status));
    if (isnan(found.loss))
        return UNROLL_OK;
    loop->validated = loop->progress.step;
    TRY(complain_library(unroll_trainer_progress(loop->t->trainer, &loop->progress)));
    if (loop->progress.since_best == 0)
        loop->best = found;
    TRY(report_together(loop, &found));
    loop_describe(loop, LINE_WIDTH, line);
    say("%s", line);
    loop->at.printed = loop_seconds(loop);
    return save(loop);
}

/* ---- from step to step ---- */

/* Sets the length of the schedule so that its progress equals that of the time, whatever the machine's speed. */
static void follow_clock(const struct loop *loop)
{
    double part = fmax(loop_part_done(loop), 1e-6);
    unroll_trainer_set_total_steps(loop->t->trainer, (int64_t)((double)(loop->progress.step + 1) / part));
}

/* After a resume, notes that the learning rate rises because the schedule is now longer. No schedule rises after the
 * warm-up. */
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

/* Lets two ranks compute the gradients of the next step if it will be verified or saved. */
static void check_gradients(struct loop *loop)
{
    const int64_t next = loop->progress.step + 1;
    if (is_on(loop->t->settings, OPTION_VERIFY_EVERY) &&
        (is_every(loop, OPTION_VERIFY_EVERY, 0, next) || is_every(loop, OPTION_SAVE_EVERY, 0, next) ||
         is_every(loop, OPTION_VALIDATE_EVERY, loop->t->steps_of_epoch, next) || next == loop->t->end_step ||
         loop->auto_save.is_due))
        unroll_trainer_check_next(loop->t->trainer);
}

/* Makes one update, and records its loss and times. */
static unroll_status step_once(struct loop *loop)
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
        loop->losses[(loop->steps_here - i) % LOSSES] =
            loop->progress.loss; /* one read covers all steps since the last */
    loop->t->steps_of_epoch = loop->progress.steps_per_epoch;
    say_rise(loop, rate);
    member_trains();
    return UNROLL_OK;
}

/* Returns whether this is the last step, which is reported once at the end of the run. */
static bool is_last(const struct loop *loop)
{
    return loop->progress.step >= loop->t->end_step || loop_seconds(loop) >= loop->t->end_seconds;
}

/* Does everything that follows a step. A validation also reports and saves. */
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
        TRY(report(loop, NULL));
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
        TRY(report_together(loop, NULL)); /* records the seconds of the run */
    run_checkpoint(&loop->t->run, loop->progress.step, path);
    say_always("saved %s", path);
    run_say_resume(&loop->t->run);
    return loop->stops ? UNROLL_PREEMPTED : UNROLL_OK;
}

/* Returns whether the run has ended. The first update is always made, so that a run has a loss. */
static bool is_at_end(const struct loop *loop)
{
    bool is_late = loop->agreed >= loop->t->end_seconds && loop->progress.step > 0;
    return loop->progress.step >= loop->t->end_step || is_late || loop_is_out_of_patience(loop);
}

static int64_t next_multiple(int64_t step, int64_t every) { return every > 0 ? (step / every + 1) * every : INT64_MAX; }

/* Independent workers meet before each common operation, and at intervals for signals and the clock. */
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
        TRY(step_once(loop));
        TRY(look_after(loop));
        if (loop->progress.met) /* independent workers do not synchronize in between */
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
        TRY(report_together(loop, NULL));
    TRY(save_unless_saved(loop));
    if (!run->watches)
        TRY(run_save_model(run, loop->t->model)); /* the save has copied the newest weights into the model */
    TRY(loop_measure_kept(loop));
    return loop_tell(loop);
}

/* After a failure: keeps what was trained since the last checkpoint if that is still possible. */
static unroll_status give_up(struct loop *loop, unroll_status status)
{
    bool reachable = loop->t->ranks.comm == NULL; /* other ranks may have continued, or be lost */
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
                        .best.size = sizeof loop.best,
                        .test.size = sizeof loop.test,
                        .validated = -1,
                        .reported = -1,
                        .verified = -1};
    struct run *run = &training->run;
    TRY(complain_library(unroll_trainer_progress(training->trainer, &loop.progress)));
    loop.saved = run->newest;
    loop.at.sampled = loop.at.printed = loop.auto_save.at = loop_seconds(&loop);
    listen_to_signals();
    leave_word(run);
    run_mark_best(run, &loop.progress); /* of a resumed run */
    loop.first_item = loop.progress.items;
    unroll_status status = energy_open(&loop.energy, training->settings, &training->ranks);
    if (status == UNROLL_OK)
        status = train_on(&loop);
    if (status == UNROLL_OK)
        status = finish(&loop);
    energy_close(&loop.energy);
    saver_wait(&loop.saver, run); /* after a failure this determines the newest checkpoint */
    if (status == UNROLL_DIVERGED && training->ranks.apart && training->ranks.comm)
        console_unmute(unroll_comm_rank(training->ranks.comm)); /* it may be the only rank that diverged */
    if (status == UNROLL_DIVERGED)
        return loop_explain_divergence(&loop);
    if (training->ranks.meets && status == UNROLL_COMMUNICATION)
        return status; /* the other ranks continue, and this process with them */
    if (status != UNROLL_OK && status != UNROLL_PREEMPTED)
        return give_up(&loop, status);
    return status;
}
