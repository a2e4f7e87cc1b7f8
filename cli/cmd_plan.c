/* unroll plan: prints what one training step, evaluation or inference would do and need. */
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "network.h"
#include "options.h"

/* One NAME=N of --split. */
static unroll_status read_cut(const char *cut, unroll_plan_config *config)
{
    const struct { const char *axis; int *ranks; } axes[] = {
        {"batch", &config->batch_ranks}, {"layer", &config->layer_ranks}, {"hidden", &config->hidden_ranks},
    };
    char axis[16] = "", rest;
    int ranks = 0;

    if (sscanf(cut, "%15[a-z]=%d%c", axis, &ranks, &rest) != 2 || ranks < 1 || ranks > 1024)
        return complain(UNROLL_USAGE, "--split: '%.40s' is not AXIS=RANKS; fix: write for example "
                        "--split batch=2,layer=2,hidden=2 (1 to 1024 ranks)", cut);
    for (int i = 0; i < 3; i++) {
        if (strcmp(axes[i].axis, axis) == 0) {
            *axes[i].ranks = ranks;
            return UNROLL_OK;
        }
    }
    return complain(UNROLL_USAGE, "--split: there is no axis '%s' to cut; fix: choose batch, layer or hidden",
                    axis);
}

static unroll_status read_split(const char *split, unroll_plan_config *config)
{
    char cuts[256], *rest = cuts;
    unroll_status status = UNROLL_OK;

    if (split == NULL)
        return UNROLL_OK;
    if (snprintf(cuts, sizeof cuts, "%s", split) >= (int)sizeof cuts || *split == '\0')
        return complain(UNROLL_USAGE, "--split: '%.40s' is no list of cuts; fix: write for example --split "
                        "batch=2", split);
    for (char *cut = strtok_r(cuts, ",", &rest); cut && status == UNROLL_OK; cut = strtok_r(NULL, ",", &rest))
        status = read_cut(cut, config);
    return status;
}

static unroll_mode mode_of(const char *name)
{
    return strcmp(name, "infer") == 0 ? UNROLL_INFER : strcmp(name, "eval") == 0 ? UNROLL_EVAL : UNROLL_TRAIN;
}

unroll_status cmd_plan(struct settings *settings)
{
    unroll_spec spec = network_spec(settings, (int)integer_of(settings, OPTION_INPUT));
    unroll_plan_config config = unroll_plan_default();
    unroll_model *model;
    unroll_status status;

    if (integer_of(settings, OPTION_BPTT) == 0)
        return complain(UNROLL_USAGE, "--bptt full: a plan has no text whose length would say how many "
                        "steps these are; fix: give their number");
    config.mode = mode_of(text_of(settings, OPTION_MODE));
    config.steps = (int)integer_of(settings, OPTION_BPTT);
    config.rows = (int)integer_of(settings, OPTION_BATCH);
    config.lanes = (int)integer_of(settings, OPTION_LANES);
    config.chunks = (int)integer_of(settings, OPTION_CHUNKS);
    config.checkpoint_time = (int)integer_of(settings, OPTION_CHECKPOINT_TIME);
    config.optimizer = text_of(settings, OPTION_OPTIMIZER);
    status = read_split(text_of(settings, OPTION_SPLIT), &config);
    if (status != UNROLL_OK)
        return status;
    status = unroll_model_new(&spec, 1, &model);
    if (status != UNROLL_OK)
        return complain_library(status);
    status = unroll_plan_print(model, &config, stdout, is_on(settings, OPTION_JSON));
    unroll_model_free(model);
    return status == UNROLL_OK ? status : complain_library(status);
}
