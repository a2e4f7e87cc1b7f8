/* Which checkpoints of a run are intact, and which weights represent it: those of the best validation, which the
 * newest checkpoint records. run.c writes and removes checkpoints. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/options/options.h"
#include "cli/show/output.h"
#include "cli/run/run.h"

static void weights_of_checkpoint(const struct run *run, int64_t step, char path[PATH_MAX])
{
    char name[64];
    snprintf(name, sizeof name, "ckpt/step-%" PRId64 "/" RUN_MODEL, step);
    run_path(run, name, path);
}

/* Returns whether a model is there: one file, or shards with an index. */
static bool is_model(const char *path)
{
    char index[PATH_MAX + 16];
    snprintf(index, sizeof index, "%s.index.json", path);
    return exists(path) || exists(index);
}

/* ---- intact checkpoints ---- */

/* Checks a checkpoint and prints any damage. Returns UNROLL_DATA if it is damaged. */
static unroll_status check_checkpoint(const struct run *run, int64_t step, unroll_progress *progress)
{
    char path[PATH_MAX];
    run_checkpoint(run, step, path);
    unroll_status status = unroll_checkpoint_check(path, progress);
    if (status == UNROLL_OK && progress->step == step)
        return UNROLL_OK;
    if (status == UNROLL_OK)
        say_always("damaged: '%s' holds the checkpoint of step %" PRId64, path, progress->step);
    else if (status == UNROLL_DATA)
        say_always("damaged: %s", as_options(unroll_last_error()));
    else
        return complain_library(status);
    return UNROLL_DATA;
}

/* Returns the newest checkpoint before `step`, or -1. */
static int64_t newest_before(const struct run *run, int64_t step)
{
    char path[PATH_MAX];
    DIR *entries = NULL;
    const char *name;
    int64_t newest = -1;
    run_path(run, "ckpt", path);
    while ((name = next_name(path, &entries))) {
        int64_t found = run_step_of(name);
        if (found < step && found > newest)
            newest = found;
    }
    return newest;
}

unroll_status run_find_checkpoint(const struct run *run, unroll_progress *found, int *damaged)
{
    char path[PATH_MAX];
    int64_t step = INT64_MAX;
    unroll_status status = UNROLL_DATA;
    *damaged = 0;
    while (status == UNROLL_DATA && (step = newest_before(run, step)) >= 0) {
        status = check_checkpoint(run, step, found);
        *damaged += status == UNROLL_DATA;
    }
    if (step < 0) {
        found->step = -1;
        return UNROLL_OK;
    }
    if (status == UNROLL_OK && *damaged > 0) {
        run_checkpoint(run, step, path);
        say_always("used instead: '%s', the newest undamaged one", path);
    }
    return status;
}

bool run_has_checkpoint(const struct run *run) { return newest_before(run, INT64_MAX) >= 0; }

/* ---- the best ---- */

/* Returns whether a best validation is known and its checkpoint exists. */
static bool has_best(const struct run *run, const unroll_progress *progress)
{
    char path[PATH_MAX];
    run_checkpoint(run, progress->best_step, path);
    return isfinite(progress->best_validation) && exists(path);
}

void run_mark_best(struct run *run, const unroll_progress *progress)
{
    if (has_best(run, progress))
        run->best = progress->best_step;
}

unroll_status run_check_best(const struct run *run, const unroll_progress *newest)
{
    char path[PATH_MAX];
    unroll_progress best = {.size = sizeof best};
    if (!has_best(run, newest) || newest->best_step == newest->step)
        return UNROLL_OK;
    unroll_status status = check_checkpoint(run, newest->best_step, &best);
    if (status != UNROLL_DATA)
        return status;
    run_checkpoint(run, newest->best_step, path);
    return complain(
        UNROLL_DATA,
        "the best weights of '%s' are damaged; fix: use another copy of '%s', or remove it: the run then ends with "
        "its last weights unless it finds better ones",
        run->directory, path);
}

unroll_status run_save_model(const struct run *run, const unroll_model *model)
{
    char path[PATH_MAX], best[PATH_MAX];
    unroll_model *loaded = NULL;
    unroll_status status = UNROLL_OK;
    run_path(run, RUN_MODEL, path);
    weights_of_checkpoint(run, run->best >= 0 ? run->best : run->newest, best);
    bool is_split = run->newest >= 0 && !exists(best) && is_model(best); /* no rank has the whole model */
    if (is_split || (run->best >= 0 && run->best != run->newest))
        status = unroll_model_load(best, &loaded);
    if (status == UNROLL_OK)
        status = unroll_model_save(loaded ? loaded : model, path);
    unroll_model_free(loaded);
    return complain_library(status);
}

/* ---- using ---- */

static unroll_status choose_weights(const struct run *run, const char *which, const unroll_progress *newest,
                                    char file[PATH_MAX])
{
    char number[NUMBER_TEXT];
    unroll_progress best = {.size = sizeof best};
    unroll_status status = UNROLL_DATA;
    weights_of_checkpoint(run, newest->best_step, file);
    if (strcmp(which, "best") == 0 && has_best(run, newest))
        status = check_checkpoint(run, newest->best_step, &best);
    if (status == UNROLL_OK)
        say("%s: the best weights, of step %s", run->directory, with_commas(number, best.step));
    if (status != UNROLL_DATA)
        return status;
    weights_of_checkpoint(run, newest->step, file);
    say("%s: the newest weights, of step %s", run->directory, with_commas(number, newest->step));
    return UNROLL_OK;
}

/* Finds the weights of --checkpoint N. */
static unroll_status weights_of_step(const struct run *run, const char *which, char file[PATH_MAX])
{
    char number[NUMBER_TEXT];
    unroll_progress found = {.size = sizeof found};
    int64_t step;
    if (number_whole_integer(which, 0, INT64_MAX, &step) != NUMBER_OK)
        return complain(UNROLL_USAGE,
                        "--checkpoint: '%s' is not a checkpoint; fix: give best, newest or the number of an update",
                        which);
    run_checkpoint(run, step, file);
    if (!exists(file))
        return complain(
            UNROLL_DATA,
            "--checkpoint: '%s' has no checkpoint of step %s; fix: give best or newest; --keep of train sets how many "
            "a run keeps",
            run->directory, which);
    unroll_status status = check_checkpoint(run, step, &found);
    if (status != UNROLL_OK)
        return status == UNROLL_DATA ? run_refuse_damaged(run) : status;
    weights_of_checkpoint(run, step, file);
    say("%s: the weights of step %s", run->directory, with_commas(number, step));
    return UNROLL_OK;
}

/* Finds the weights of a run: of a checkpoint, or model.safetensors if it has none. */
static unroll_status weights_of_run(const struct run *run, const char *which, char file[PATH_MAX])
{
    unroll_progress newest = {.size = sizeof newest};
    int damaged;
    if (strcmp(which, "best") != 0 && strcmp(which, "newest") != 0)
        return weights_of_step(run, which, file);
    TRY(run_find_checkpoint(run, &newest, &damaged));
    if (newest.step >= 0)
        return choose_weights(run, which, &newest, file);
    run_path(run, RUN_MODEL, file);
    if (is_model(file)) {
        if (damaged > 0)
            say_always("used instead: '%s'", file);
        return UNROLL_OK;
    }
    if (damaged > 0)
        return run_refuse_damaged(run);
    return complain(UNROLL_DATA,
                    "the directory '%s' holds no model: neither ckpt/step-N nor "
                    "model.safetensors; fix: give a model file or the directory of a run",
                    run->directory);
}

unroll_status run_weights(const char *path, const char *which, char file[PATH_MAX])
{
    struct run run;
    TRY(run_name(&run, path));
    if (!exists(run.directory))
        return complain(UNROLL_DATA, "cannot open '%s': %s; fix: give a model file or the directory of a run", path,
                        strerror(errno));
    if (is_directory(run.directory))
        return weights_of_run(&run, which, file);
    if (strcmp(which, "best") != 0)
        return complain(UNROLL_USAGE,
                        "--checkpoint %s chooses among the weights of a run, and '%s' is a file; fix: leave "
                        "it out, or give the directory of the run",
                        which, path);
    snprintf(file, PATH_MAX, "%s", run.directory);
    return UNROLL_OK;
}
