/* Which weights a run stands for: those of the best checkpoint, which a validation has chosen. Checkpoints are written
 * and removed in run.c. */
#include <inttypes.h>
#include <math.h>

#include "console.h"
#include "output.h"
#include "run.h"

static void weights_of_checkpoint(const struct run *run, int64_t step, char path[PATH_MAX])
{
    char name[64];

    snprintf(name, sizeof name, "ckpt/step-%" PRId64 "/" RUN_MODEL, step);
    run_path(run, name, path);
}

/* ---- the best ---- */

unroll_status run_mark_best(struct run *run, const unroll_progress *progress)
{
    char checkpoint[PATH_MAX], path[PATH_MAX], text[128];

    run_checkpoint(run, progress->best_step, checkpoint);
    if (!isfinite(progress->best_validation) || progress->best_step == run->best || !exists(checkpoint))
        return UNROLL_OK;
    run->best = progress->best_step;
    run_path(run, RUN_BEST, path);
    int length = snprintf(text, sizeof text, "{\"step\": %" PRId64 ", \"val_loss\": %.10g}\n", run->best,
                          progress->best_validation);
    return run->watches ? UNROLL_OK : replace_file(path, text, (size_t)length);
}

unroll_status run_save_model(const struct run *run, const unroll_model *model)
{
    char path[PATH_MAX], best[PATH_MAX];
    unroll_model *loaded = NULL;
    unroll_status status = UNROLL_OK;

    run_path(run, RUN_MODEL, path);
    if (run->best >= 0 && run->best != run->newest) {
        weights_of_checkpoint(run, run->best, best);
        status = unroll_model_load(best, &loaded);
    }
    if (status == UNROLL_OK)
        status = unroll_model_save(loaded ? loaded : model, path);
    unroll_model_free(loaded);
    return status == UNROLL_OK ? status : complain_library(status);
}

/* ---- using ---- */

/* True if the weights of the best checkpoint are there. */
static bool choose_best(const struct run *run, char file[PATH_MAX])
{
    char path[PATH_MAX], number[NUMBER_TEXT];

    run_path(run, RUN_BEST, path);
    json_t *best = json_load_file(path, 0, NULL);
    json_int_t step = json_integer_value(json_object_get(best, "step"));
    weights_of_checkpoint(run, step, file);
    bool is_there = best && exists(file);
    if (is_there)
        say("%s: the best weights, of step %s, validation loss %.4f", run->directory, with_commas(number, step),
            json_number_value(json_object_get(best, "val_loss")));
    json_decref(best);
    return is_there;
}

static bool choose_newest(const struct run *run, char file[PATH_MAX])
{
    int64_t step = run_newest_checkpoint(run->directory);
    char number[NUMBER_TEXT];

    weights_of_checkpoint(run, step, file);
    if (step < 0 || !exists(file))
        return false;
    say("%s: the newest weights, of step %s", run->directory, with_commas(number, step));
    return true;
}

unroll_status run_weights(const char *path, char file[PATH_MAX])
{
    struct run run;
    unroll_status status = run_name(&run, path);

    if (status != UNROLL_OK)
        return status;
    if (!is_directory(run.directory)) {
        snprintf(file, PATH_MAX, "%s", run.directory);
        return UNROLL_OK;
    }
    if (choose_best(&run, file) || choose_newest(&run, file))
        return UNROLL_OK;
    run_path(&run, RUN_MODEL, file);
    if (exists(file))
        return UNROLL_OK;
    return complain(UNROLL_DATA, "the directory '%s' holds no model: neither ckpt/step-N nor "
                    "model.safetensors; fix: give a model file or the directory of a run", path);
}
