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
#include "network.h"
#include "output.h"
#include "saver.h"
#include "train.h"
#include "unroll_advanced.h"

enum { LOSSES = 100, BAR = 10, SAMPLE_LENGTH = 72, SAMPLE_WORDS = 15, ROOM = 256 };

static const double redraw_seconds = 0.1, metrics_seconds = 1, plain_seconds = 10;

struct loop {
    struct training *t;
    unroll_progress progress;    /* of the newest step; its step is that of the checkpoint before */
    double losses[LOSSES];       /* ring of the newest */
    int64_t steps_here;          /* of this process */
    double stepping;             /* seconds inside steps: speed leaves out everything else */
    struct rank_time mine, *all; /* of this process, and [RANKS_MAX]: in steps and in what ranks tell each other */
    double agreed, gathered;     /* seconds of the run at the last look around, and when `all` was made, by rank
                                    0's clock */
    int64_t validated, reported; /* the steps of the newest ones; -1: none */
    struct saver saver;          /* of rank 0 */
    int64_t saved;               /* the step of the newest save, which may still be under way; -1: none */
    bool stops, saves;           /* a signal asks for it; all ranks think alike */
    unroll_status synced;        /* how looking around within a validation went */
    struct {
        double drawn, reported, printed, sampled;
    } at; /* seconds of the run */
    struct {
        int64_t steps;
        double stepping;
    } then; /* at the newest report */
};

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

/* ---- what is shown ---- */

static double seconds_of(const struct loop *loop) { return seconds_now() - loop->t->began; }

/* Of the newest tenth of the steps, at most LOSSES: one batch's loss jumps too much to be read, and at the
 * beginning an older one says nothing about now. */
static double mean_loss(const struct loop *loop)
{
    int64_t tenth = loop->progress.step / 10 + 1, count = tenth < LOSSES ? tenth : LOSSES;
    double sum = 0;
    if (count > loop->steps_here)
        count = loop->steps_here;
    for (int64_t i = 1; i <= count; i++) sum += loop->losses[(loop->steps_here - i) % LOSSES];
    return count ? sum / (double)count : loop->t->run.loss;
}

/* Items per second, as if every step read as many. */
static double speed_of(const struct loop *loop, int64_t steps, double stepping)
{
    double of_a_step = (double)loop->progress.items / (double)loop->progress.step;
    return stepping > 0 ? (double)steps * of_a_step / stepping : NAN;
}

static double mean_speed(const struct loop *loop) { return speed_of(loop, loop->steps_here, loop->stepping); }

/* 0 to 1. */
static double part_done(const struct loop *loop)
{
    const struct training *t = loop->t;
    if (isinf(t->end_seconds))
        return fmin(1, (double)loop->progress.step / (double)t->end_step);
    return fmin(1, (t->ranks.comm ? loop->agreed : seconds_of(loop)) / t->end_seconds);
}

static double seconds_left(const struct loop *loop)
{
    const struct training *t = loop->t;
    if (!isinf(t->end_seconds))
        return t->end_seconds - seconds_of(loop);
    double here = seconds_of(loop) - t->run.seconds;
    return here / (double)loop->steps_here * (double)(t->end_step - loop->progress.step);
}

/* "step 1,240  loss 1.720  val 1.790  lr 0.0018  71.2k char/s  ETA 0:37", with epoch and gradient if there is room */
static void describe_progress(const struct loop *loop, bool has_room, char line[ROOM])
{
    char epoch[NUMBER_TEXT] = "", step[NUMBER_TEXT], speed[NUMBER_TEXT], left[NUMBER_TEXT],
         validation[NUMBER_TEXT] = "", norm[NUMBER_TEXT] = "";
    if (!isnan(loop->t->run.validation))
        snprintf(validation, sizeof validation, "  val %.3f", loop->t->run.validation);
    if (has_room) {
        snprintf(epoch, sizeof epoch, "  epoch %.2f", loop->progress.epoch);
        snprintf(norm, sizeof norm, "  grad %.2g", loop->progress.norm);
    }
    snprintf(line, ROOM, "step %s%s  loss %.3f%s  lr %.2g%s  %s %s/s  ETA %s", with_commas(step, loop->progress.step),
             epoch, mean_loss(loop), validation, loop->progress.learning_rate, norm,
             with_prefix(speed, mean_speed(loop)), loop->progress.item, as_clock(left, seconds_left(loop)));
}

static void show_live(struct loop *loop, double now)
{
    char text[ROOM], line[ROOM + BAR + 16], bar[BAR + 1] = "";
    double part = part_done(loop);
    if (!console_is_live() || now - loop->at.drawn < redraw_seconds)
        return;
    loop->at.drawn = now;
    describe_progress(loop, false, text);
    for (int i = 0; i < BAR; i++) bar[i] = part * BAR >= i + 0.5 ? '-' : '.';
    snprintf(line, sizeof line, "%3.0f%% %s %s", 100 * part, bar, text);
    say_live(line);
}

static void show_plain(struct loop *loop, double now)
{
    char text[ROOM];
    bool is_said = loop->validated == loop->progress.step; /* by the validation */
    if (console_is_live() || is_said || (now - loop->at.printed < plain_seconds && loop->steps_here > 1))
        return;
    loop->at.printed = now;
    describe_progress(loop, true, text);
    say("%s", text);
}

/* Writes a token behind the others in a line, on which control characters would do harm. */
static int append_symbol(void *arg, const char *symbol)
{
    char *line = arg;
    size_t length = strlen(line), more = strlen(symbol);
    if (*symbol == '\n')
        symbol = " / ", more = 3;
    else if ((unsigned char)*symbol < ' ' || *symbol == 127)
        symbol = ".", more = 1;
    if (length + more >= 4 * SAMPLE_LENGTH)
        return 1;
    memcpy(line + length, symbol, more + 1);
    return 0;
}

static unroll_status show_sample(struct loop *loop, double now)
{
    const struct settings *s = loop->t->settings;
    unroll_sample_config config = unroll_sample_default();
    char text[4 * SAMPLE_LENGTH + 1] = "", line[sizeof text + 8];
    double every = number_of(s, OPTION_SAMPLE_EVERY);
    bool wanted = console_is_live() || s->of[OPTION_SAMPLE_EVERY].source > SOURCE_RUN;
    if (every == 0 || !wanted || !unroll_can_sample(loop->t->model) || is_on(s, OPTION_QUIET) ||
        now - loop->at.sampled < every || loop->t->ranks.comm)
        return UNROLL_OK; /* of many ranks none has the whole model */
    loop->at.sampled = now;
    config.length = unroll_model_token_kind(loop->t->model) == UNROLL_WORDS ? SAMPLE_WORDS : SAMPLE_LENGTH;
    config.temperature = 0.8;
    config.seed = (uint64_t)loop->progress.step;
    TRY(complain_library(unroll_sample(loop->t->model, &config, append_symbol, text)));
    snprintf(line, sizeof line, "  \"%s\"", text);
    say_dim(line);
    return UNROLL_OK;
}

/* ---- what is kept ---- */

static unroll_status report(struct loop *loop, double validation)
{
    double now = seconds_of(loop);
    struct report report = {
        .step = loop->progress.step,
        .epoch = loop->progress.epoch,
        .loss = mean_loss(loop),
        .norm = loop->progress.norm,
        .rate = loop->progress.learning_rate,
        .validation = validation,
        .speed = speed_of(loop, loop->steps_here - loop->then.steps, loop->stepping - loop->then.stepping),
        .seconds = now,
        .ranks = ranks_to_json(&loop->t->ranks, loop->all)};
    loop->then.steps = loop->steps_here;
    loop->then.stepping = loop->stepping;
    loop->at.reported = now;
    loop->reported = loop->progress.step;
    unroll_status status = run_report(&loop->t->run, &report);
    json_decref(report.ranks);
    return status;
}

/* Should this process be killed. */
static void leave_word(const struct run *run)
{
    char line[RESUME_LONGEST];
    run_resume(run, line);
    if (run->newest >= 0)
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
    loop->all[unroll_comm_rank(loop->t->ranks.comm)] = loop->mine;
    loop->gathered = loop->agreed;
    return sum_of_ranks(loop, &loop->all->compute, PARTS * unroll_comm_ranks(loop->t->ranks.comm));
}

/* Before each step, and within validations: the time, signals that any rank got, and what became of checkpoints, which
 * rank 0 writes, become the same on all; now and then what each did. */
static unroll_status look_around(struct loop *loop)
{
    bool leads = ranks_lead(&loop->t->ranks);
    unroll_status saved = leads ? saver_look(&loop->saver, &loop->t->run) : UNROLL_OK;
    double seen[] = {leads ? seconds_of(loop) : 0, stop_signal != 0, save_signal != 0, saved,
                     leads ? (double)loop->t->run.newest : 0};
    TRY(sum_of_ranks(loop, seen, sizeof seen / sizeof *seen));
    loop->agreed = seen[0];
    loop->stops = seen[1] > 0;
    loop->saves = seen[2] > 0;
    loop->t->run.newest = (int64_t)seen[4];
    if (seen[3] > 0)
        return (unroll_status)seen[3];
    return loop->agreed - loop->gathered >= metrics_seconds ? gather_times(loop) : UNROLL_OK;
}

/* Waits for the checkpoint that is being written, and all ranks learn what became of it. */
static unroll_status settle(struct loop *loop)
{
    saver_wait(&loop->saver, &loop->t->run);
    return look_around(loop);
}

/* The first is waited for: from then on all metrics say that the run had a checkpoint, and a guard that it can go on.
 */
static unroll_status save(struct loop *loop)
{
    struct run *run = &loop->t->run;
    unroll_snapshot *snapshot;
    saver_wait(&loop->saver, run);
    TRY(complain_later(unroll_trainer_snapshot(loop->t->trainer, &snapshot)));
    if (!run->watches)
        saver_start(&loop->saver, run, snapshot, &loop->progress, integer_of(loop->t->settings, OPTION_KEEP));
    loop->saved = loop->progress.step;
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
    TRY(report_together(loop, found.loss));
    describe_progress(loop, true, line);
    say("%s%s", line, loop->progress.since_best == 0 ? "  best" : "");
    loop->at.printed = seconds_of(loop);
    return save(loop);
}

/* ---- from step to step ---- */

/* The length at which the schedule is as far as the time is, whatever the speed of the machine was. */
static void follow_clock(const struct loop *loop)
{
    double part = fmax(part_done(loop), 1e-6);
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

static unroll_status step(struct loop *loop)
{
    double began = seconds_now(), rate = loop->progress.learning_rate;
    struct rank_time before = ranks_now(&loop->t->ranks);
    if (loop->t->schedule_by_clock)
        follow_clock(loop);
    TRY(complain_later(unroll_trainer_step(loop->t->trainer, &loop->progress)));
    loop->stepping += seconds_now() - began;
    ranks_count(&loop->t->ranks, &before, seconds_now() - began, &loop->mine);
    loop->losses[loop->steps_here++ % LOSSES] = loop->progress.loss;
    for (int64_t i = 2; i <= loop->progress.synced && i <= LOSSES && i <= loop->steps_here; i++)
        loop->losses[(loop->steps_here - i) % LOSSES] = loop->progress.loss; /* a look is at all since the last */
    loop->t->steps_of_epoch = loop->progress.steps_per_epoch;
    say_rise(loop, rate);
    return UNROLL_OK;
}

/* After the numbers are kept. */
static unroll_status show(struct loop *loop, double now)
{
    show_plain(loop, now);
    unroll_status status = show_sample(loop, now);
    show_live(loop, now);
    return status;
}

static bool is_every(const struct loop *loop, enum option_id option, int64_t otherwise)
{
    const struct settings *s = loop->t->settings;
    int64_t every = is_given(s, option) ? integer_of(s, option) : otherwise;
    return every > 0 && loop->progress.step % every == 0;
}

static bool validates(const struct loop *loop)
{
    return loop->t->validation || number_of(loop->t->settings, OPTION_VALIDATION) > 0;
}

/* The newest step: what it is worth is said at the end of the run, once. */
static bool is_last(const struct loop *loop)
{
    return loop->progress.step >= loop->t->end_step || seconds_of(loop) >= loop->t->end_seconds;
}

/* Everything after a step. A validation also reports and saves. */
static unroll_status look_after(struct loop *loop)
{
    if (is_every(loop, OPTION_VALIDATE_EVERY, loop->t->steps_of_epoch))
        TRY(validates(loop) ? validate(loop) : save(loop));
    else if (is_every(loop, OPTION_SAVE_EVERY, 0))
        TRY(save(loop));
    if (is_last(loop))
        return UNROLL_OK;
    double now = seconds_of(loop);
    bool is_reported = loop->reported == loop->progress.step;
    bool is_time = loop->steps_here == 1 || now - loop->at.reported >= metrics_seconds;
    if (!is_reported && is_time)
        TRY(report(loop, NAN));
    return show(loop, now);
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

static bool is_out_of_patience(const struct loop *loop)
{
    int64_t patience = integer_of(loop->t->settings, OPTION_PATIENCE);
    return patience > 0 && loop->progress.since_best >= patience;
}

/* A run of no updates would have no loss: the first is made whatever the time is. */
static bool is_at_end(const struct loop *loop)
{
    bool is_late = loop->agreed >= loop->t->end_seconds && loop->progress.step > 0;
    return loop->progress.step >= loop->t->end_step || is_late || is_out_of_patience(loop);
}

static unroll_status train_on(struct loop *loop)
{
    TRY(look_around(loop));
    while (!is_at_end(loop)) {
        TRY(step(loop));
        TRY(look_after(loop));
        TRY(look_around(loop));
        TRY(answer_signals(loop));
    }
    return UNROLL_OK;
}

/* ---- the end ---- */

static unroll_status print_result(const struct loop *loop)
{
    const struct run *run = &loop->t->run;
    const double value[] = {mean_loss(loop), run->validation, loop->progress.best_validation, mean_speed(loop)};
    json_t *number[4], *ranks = ranks_to_json(&loop->t->ranks, loop->all);
    for (int i = 0; i < 4; i++) number[i] = isfinite(value[i]) ? json_real(value[i]) : json_null();
    return print_json(json_pack("{sI sf so so so so sf ss so*}", "steps", (json_int_t)loop->progress.step, "epochs",
                                loop->progress.epoch, "train_loss", number[0], "val_loss", number[1], "best_val_loss",
                                number[2], "items_per_second", number[3], "seconds", seconds_of(loop), "out",
                                run->directory, "ranks", ranks));
}

/* What a newcomer would want to do now, as commands to copy. */
static void say_next(const struct loop *loop)
{
    static const struct {
        const char *name, *does;
    } commands[] = {{"sample", "write text"}, {"plot", "draw the curves"}};
    const struct settings *s = loop->t->settings;
    const struct run *run = &loop->t->run;
    const char *limit = is_out_of_patience(loop)    ? "patience 0"
                        : is_given(s, OPTION_FOR)   ? "for TIME"
                        : is_given(s, OPTION_STEPS) ? "steps N"
                                                    : "epochs N";
    char word[PATH_MAX];
    as_word(word, sizeof word, run->directory);
    const int width = (int)(strlen("unroll train --resume  --") + strlen(word) + strlen(limit));
    say("saved %s%s; next:", run->directory, run->best >= 0 ? " with the best weights" : "");
    for (size_t i = !unroll_can_sample(loop->t->model); i < sizeof commands / sizeof *commands; i++)
        say("  unroll %s %-*s  %s", commands[i].name, width - (int)strlen("unroll  ") - (int)strlen(commands[i].name),
            word, commands[i].does);
    say("  unroll train --resume %s --%s  go on", word, limit);
}

/* ", 2.310 bits per character": what people compare, where it follows from the loss. */
static void describe_best(const struct loop *loop, char text[ROOM])
{
    char metric[NUMBER_TEXT];
    unroll_evaluation best;
    unroll_trainer_describe(loop->t->trainer, loop->progress.best_validation, &best);
    if (best.metrics > 0 && !isnan(best.metric[best.compared].value))
        snprintf(text, ROOM, ", %s", metric_text(&best.metric[best.compared], metric));
}

static void say_result(const struct loop *loop)
{
    const struct run *run = &loop->t->run;
    const unroll_progress *progress = &loop->progress;
    char steps[NUMBER_TEXT], number[NUMBER_TEXT], clock[NUMBER_TEXT];
    char validation[2 * ROOM] = "", speed[ROOM] = "", best[ROOM] = "";
    if (isfinite(mean_speed(loop))) /* a run that was done already has none */
        snprintf(speed, sizeof speed, " at %s %s/s", with_prefix(number, mean_speed(loop)), loop->progress.item);
    if (is_out_of_patience(loop))
        say("%" PRId64 " validations since the best: that is enough (--patience)", progress->since_best);
    say("done: %s steps, %.2f epochs, %s%s", with_commas(steps, progress->step), progress->epoch,
        as_clock(clock, seconds_of(loop)), speed);
    if (isfinite(progress->best_validation)) {
        describe_best(loop, best);
        snprintf(validation, sizeof validation, ", val %.4f (best %.4f at step %s%s)", run->validation,
                 progress->best_validation, with_commas(steps, progress->best_step), best);
    }
    say("  loss %.4f%s", mean_loss(loop), validation);
    say_next(loop);
}

static unroll_status finish(struct loop *loop)
{
    struct run *run = &loop->t->run;
    if (validates(loop) && loop->validated != loop->progress.step && loop->steps_here > 0)
        TRY(validate(loop));
    if (loop->reported != loop->progress.step && loop->steps_here > 0)
        TRY(report_together(loop, NAN));
    TRY(save_unless_saved(loop));
    if (!run->watches)
        TRY(run_save_model(run, loop->t->model)); /* the save has brought the newest weights into it */
    say_result(loop);
    return is_on(loop->t->settings, OPTION_JSON) && !run->watches ? print_result(loop) : UNROLL_OK;
}

static unroll_status explain_divergence(const struct loop *loop)
{
    const struct run *run = &loop->t->run;
    const struct settings *s = loop->t->settings;
    double clip = number_of(s, OPTION_CLIP);
    char path[PATH_MAX] = "none", word[PATH_MAX];
    complain(UNROLL_DIVERGED, "%s; fix: train again with --lr %.2g%s --out %s --overwrite",
             loop->saver.status == UNROLL_DIVERGED ? loop->saver.error : as_options(unroll_last_error()),
             number_of(s, OPTION_RATE) / 4, clip == 0 || clip > 1 ? " --clip 1" : "",
             as_word(word, sizeof word, run->directory));
    if (run->newest >= 0)
        run_checkpoint(run, run->newest, path);
    say_always("  last good checkpoint: %s", path);
    return UNROLL_DIVERGED;
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
    struct loop loop = {
        .t = training, .all = all, .progress.size = sizeof loop.progress, .validated = -1, .reported = -1};
    struct run *run = &training->run;
    TRY(complain_library(unroll_trainer_progress(training->trainer, &loop.progress)));
    loop.saved = run->newest;
    loop.at.sampled = loop.at.printed = seconds_of(&loop);
    listen_to_signals();
    leave_word(run);
    run_mark_best(run, &loop.progress); /* of a run that goes on */
    unroll_status status = train_on(&loop);
    if (status == UNROLL_OK)
        status = finish(&loop);
    saver_wait(&loop.saver, run); /* after a failure: the newest is then known */
    if (status == UNROLL_DIVERGED)
        return explain_divergence(&loop);
    if (status != UNROLL_OK && status != UNROLL_PREEMPTED)
        return give_up(&loop, status);
    return status;
}
