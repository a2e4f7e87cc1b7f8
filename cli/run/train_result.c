/* The end of a training: measures the final weights and prints the result. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/show/evaluation.h"
#include "cli/options/network.h"
#include "cli/show/output.h"
#include "cli/run/train_loop.h"
#include "unroll_advanced.h"

bool loop_validates(const struct loop *loop) { return number_of(loop->t->settings, OPTION_VALIDATION) != 0; }

bool loop_is_out_of_patience(const struct loop *loop)
{
    int64_t patience = integer_of(loop->t->settings, OPTION_PATIENCE);
    return patience > 0 && loop->progress.since_best >= patience;
}

/* ---- the final weights ---- */

/* Takes the best checkpoint from rank 0, the only one with access to the files. -1: there is none, or it is the
 * newest. */
static unroll_status agree_on_best(const struct loop *loop, int64_t *step)
{
    const struct run *run = &loop->t->run;
    double best = ranks_lead(&loop->t->ranks) && run->best != run->newest ? (double)run->best : 0;
    unroll_status status = unroll_comm_sum(loop->t->ranks.comm, &best, 1);
    *step = best > 0 ? (int64_t)best : -1;
    return complain_library(status);
}

/* Stores the task's details, which `unroll plot` draws. */
static unroll_status keep_details(const struct loop *loop, const char *details)
{
    char path[PATH_MAX];
    if (details == NULL || loop->t->run.watches)
        return UNROLL_OK;
    run_path(&loop->t->run, RUN_DETAILS, path);
    return replace_file(path, details, strlen(details));
}

/* Keeps what the test found next to the details, for unroll inspect. */
static unroll_status keep_test(const struct loop *loop, const char *details)
{
    char line[4 * ROOM];
    json_t *object = details ? json_loads(details, 0, NULL) : NULL;
    evaluation_to_text(&loop->test, line, sizeof line);
    json_object_set_new(object, "test", json_string(line));
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(8)) : NULL;
    unroll_status status = keep_details(loop, text);
    free(text);
    json_decref(object);
    return status;
}

static unroll_status test(struct loop *loop)
{
    char *details = NULL;
    TRY(complain_library(unroll_trainer_test(loop->t->trainer, &loop->test, &details)));
    say_notes(unroll_last_notes());
    unroll_status status = keep_test(loop, details);
    free(details);
    return status;
}

unroll_status loop_measure_kept(struct loop *loop)
{
    const struct training *t = loop->t;
    bool measures = loop_validates(loop) && loop->best.metrics == 0, tests = number_of(t->settings, OPTION_TEST) != 0;
    const char *details = unroll_trainer_details(t->trainer);
    char path[PATH_MAX];
    int64_t best;
    if (!tests)
        TRY(keep_details(loop, details));
    if (!measures && !tests)
        return UNROLL_OK;
    TRY(agree_on_best(loop, &best));
    if (best >= 0) {
        run_checkpoint(&t->run, best, path);
        TRY(complain_library(unroll_trainer_load(t->trainer, path)));
    }
    if (measures)
        TRY(complain_library(unroll_trainer_validate(t->trainer, &loop->best)));
    return tests ? test(loop) : UNROLL_OK;
}

/* ---- printing ---- */

static double joules_of(const struct loop *loop)
{
    double joules = 0;
    if (!loop->t->ranks.comm)
        return loop->mine.joules;
    for (int i = 0; i < unroll_comm_ranks(loop->t->ranks.comm); i++) joules += loop->all[i].joules;
    return joules;
}

json_t *loop_energy(const struct loop *loop)
{
    const double joules = joules_of(loop), items = (double)(loop->progress.items - loop->first_item);
    if (!loop->energy.name)
        return NULL;
    return json_pack("{sf so ss}", "joules", joules, "joules_per_item", json_finite(items > 0 ? joules / items : NAN),
                     "source", loop->energy.name);
}

static json_t *best_to_json(const struct loop *loop)
{
    const unroll_metric *metric = &loop->best.metric[loop->best.compared];
    if (loop->best.metrics == 0)
        return NULL;
    return json_pack("{ss so sI}", "name", metric->name, "value", json_finite(metric->value), "step",
                     (json_int_t)loop->progress.best_step);
}

static unroll_status print_result(const struct loop *loop)
{
    bool has_validation = loop->best.metrics > 0, has_test = loop->test.metrics > 0;
    const struct run *run = &loop->t->run;
    const double value[] = {loop_loss(loop), run->validation, loop->progress.best_validation,
                            loop_speed(loop, loop->steps_here, loop->stepping)};
    json_t *number[4], *ranks = ranks_to_json(&loop->t->ranks, loop->all);
    for (int i = 0; i < 4; i++) number[i] = json_finite(value[i]);
    return print_json(
        json_pack("{sI sf so so so so* so sf ss so* so* so* so*}", "steps", (json_int_t)loop->progress.step, "epochs",
                  loop->progress.epoch, "train_loss", number[0], "val_loss", number[1], "best_val_loss", number[2],
                  "best_metric", best_to_json(loop), "items_per_second", number[3], "seconds", loop_seconds(loop),
                  "out", run->directory, "val", has_validation ? evaluation_to_json(&loop->best) : NULL, "test",
                  has_test ? evaluation_to_json(&loop->test) : NULL, "energy", loop_energy(loop), "ranks", ranks));
}

/* "epochs 30": the limit that ended the training, twice as far; what --resume needs to go on. */
static void longer_limit(const struct loop *loop, char text[NUMBER_TEXT])
{
    const struct settings *s = loop->t->settings;
    if (loop_is_out_of_patience(loop))
        snprintf(text, NUMBER_TEXT, "patience 0");
    else if (is_given(s, OPTION_FOR))
        snprintf(text, NUMBER_TEXT, "for %.0fs", ceil(2 * number_of(s, OPTION_FOR)));
    else if (is_given(s, OPTION_STEPS))
        snprintf(text, NUMBER_TEXT, "steps %" PRId64, 2 * loop->progress.step);
    else
        snprintf(text, NUMBER_TEXT, "epochs %.0f", ceil(2 * loop->progress.epoch));
}

/* Prints the commands that are likely next, ready to copy. */
static void say_next(const struct loop *loop)
{
    const struct settings *s = loop->t->settings;
    const struct run *run = &loop->t->run;
    const bool writes = unroll_model_can_sample(loop->t->model), known = text_of(s, option_find("known")) != NULL;
    const bool predicts = unroll_model_can_predict(loop->t->model) && !known; /* whose future no data have yet */
    char word[PATH_MAX], data[PATH_MAX], limit[NUMBER_TEXT];
    as_word(word, sizeof word, run->directory);
    as_word(data, sizeof data, text_of(s, OPTION_DATA));
    longer_limit(loop, limit);
    say("saved %s%s; next:", run->directory, run->best >= 0 ? " with the best weights" : "");
    if (predicts)
        say("  unroll predict %s %s -o predictions.csv", word, data);
    else if (writes)
        say("  unroll sample %s", word);
    else
        say("  unroll eval %s %s", word, data);
    say("  unroll plot %s", word);
    say("  unroll train --resume %s --%s", word, limit);
}

/* Writes ", best val 2.310 bits per character at step 1,065", with the metric that is compared. */
static void describe_best(const struct loop *loop, char text[ROOM])
{
    char metric[NUMBER_TEXT], step[NUMBER_TEXT], loss[NUMBER_TEXT];
    unroll_evaluation best = loop->best;
    if (!isfinite(loop->progress.best_validation))
        return;
    if (best.metrics == 0 &&
        unroll_trainer_metrics(loop->t->trainer, loop->progress.best_validation, &best) != UNROLL_OK)
        return;
    const bool known = best.metrics > 0 && !isnan(best.metric[best.compared].value);
    snprintf(loss, sizeof loss, "loss %.4f", loop->progress.best_validation);
    snprintf(text, ROOM, ", best val %s at step %s", known ? metric_text(&best.metric[best.compared], metric) : loss,
             with_commas(step, loop->progress.best_step));
}

/* Reports a share of waiting above a tenth, if the training is long enough for it to matter. */
static void say_input_bound(const struct loop *loop)
{
    if (loop->progress.waited > 0.1 && loop->stepping > 2)
        say("input-bound: %.0f%% of the time waits for %s; fix: use a faster disk for it, or more work a step (--hidden, "
            "--batch)",
            100 * loop->progress.waited, text_of(loop->t->settings, OPTION_DATA));
}

/* Reports pieces of time whose repair took longer than running them. */
static void say_pieces(const struct loop *loop)
{
    unroll_pieces pieces = {.size = sizeof pieces};
    if (unroll_trainer_pieces(loop->t->trainer, &pieces) == UNROLL_OK && pieces.in_order > 0)
        say("note: %d of %d recurrences returned to one piece, because repairs took longer than a piece in several "
            "runs; fix: use fewer --pieces",
            pieces.in_order, pieces.recurrences);
}

static void say_energy(const struct loop *loop)
{
    char whole[NUMBER_TEXT], each[NUMBER_TEXT];
    const double joules = joules_of(loop), items = (double)(loop->progress.items - loop->first_item);
    if (loop->energy.name && items > 0)
        say("  energy %s J, %s uJ/%s (%s)", with_prefix(whole, joules), with_prefix(each, 1e6 * joules / items),
            loop->progress.item, loop->energy.name);
}

/* Prints the summary: steps, speed, losses, best validation, test, energy and the next commands. */
static void say_result(const struct loop *loop)
{
    const unroll_progress *progress = &loop->progress;
    char steps[NUMBER_TEXT], number[NUMBER_TEXT], clock[NUMBER_TEXT];
    char speed[ROOM] = "", best[ROOM] = "", line[4 * ROOM];
    double items = loop_speed(loop, loop->steps_here, loop->stepping);
    if (isfinite(items)) /* a run that had already ended has no speed */
        snprintf(speed, sizeof speed, " at %s %s/s", with_prefix(number, items), loop->progress.item);
    if (loop_is_out_of_patience(loop))
        say("%" PRId64 " validations without improvement (--patience)", progress->since_best);
    say("done: %s steps, %.2f epochs, %s%s", with_commas(steps, progress->step), progress->epoch,
        as_clock(clock, loop_seconds(loop)), speed);
    describe_best(loop, best);
    say("  loss %.4f%s", loop_loss(loop), best);
    if (loop->test.metrics > 0) {
        evaluation_to_text(&loop->test, line, sizeof line);
        say("  test %s", line);
    }
    say_energy(loop);
    say_input_bound(loop);
    say_pieces(loop);
    say_next(loop);
}

unroll_status loop_explain_divergence(const struct loop *loop)
{
    const struct run *run = &loop->t->run;
    const struct settings *s = loop->t->settings;
    double clip = number_of(s, OPTION_CLIP);
    const char *why = loop->saver.status == UNROLL_DIVERGED ? loop->saver.error : as_options(unroll_last_error());
    const char *fix = strstr(why, "; fix: "); /* replaced, because the library's fix does not name options */
    char path[PATH_MAX] = "none", word[PATH_MAX];
    complain(UNROLL_DIVERGED, "%.*s; fix: train again with --lr %.2g%s --out %s --overwrite",
             (int)(fix ? (size_t)(fix - why) : strlen(why)), why, number_of(s, OPTION_RATE) / 4,
             clip == 0 || clip > 1 ? " --clip 1" : "", as_word(word, sizeof word, run->directory));
    if (run->newest >= 0)
        run_checkpoint(run, run->newest, path);
    say_always("  last good checkpoint: %s", path);
    return UNROLL_DIVERGED;
}

unroll_status loop_tell(const struct loop *loop)
{
    say_result(loop);
    return is_on(loop->t->settings, OPTION_JSON) && !loop->t->run.watches ? print_result(loop) : UNROLL_OK;
}
