/* unroll plan: prints the operations and resources of one training step, evaluation or inference. */
#include <stdio.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/run/plan_auto.h"
#include "cli/run/ranks.h"
#include "unroll_advanced.h"

static unroll_mode mode_of(const char *name)
{
    return strcmp(name, "infer") == 0 ? UNROLL_INFER : strcmp(name, "eval") == 0 ? UNROLL_EVAL : UNROLL_TRAIN;
}

/* Prints the bytes that workers exchange between updates. */
static unroll_status print_sync(const unroll_plan_config *config, const char *sync, const char *compress)
{
    double bytes, every;
    TRY(complain_library(unroll_plan_sync_bytes(config, sync, compress, &bytes, &every)));
    if (bytes > 0)
        printf("sync %s, compress %s: a rank sends %.0f bytes every %.0f updates%s\n", sync, compress, bytes, every,
               strcmp(compress, "rows") == 0 ? " at most" : "");
    return UNROLL_OK;
}

unroll_status cmd_plan(struct settings *settings)
{
    unroll_model_config spec = network_spec(settings);
    unroll_plan_config config = unroll_plan_config_default();
    struct ranks ranks = {0};
    if (integer_of(settings, OPTION_BATCH) < 1)
        return complain(UNROLL_USAGE, "--batch %s: a plan needs a number of rows; fix: use --batch 32",
                        text_of(settings, OPTION_BATCH));
    if (integer_of(settings, OPTION_BPTT) == 0)
        return complain(UNROLL_USAGE,
                        "--bptt full: a plan reads no text, so its length is unknown; fix: use --bptt 64");
    spec.tokens = 1; /* the task is lm */
    spec.input = spec.output = (int)integer_of(settings, OPTION_INPUT);
    spec.embed = spec.embed == UNROLL_AUTO ? 0 : spec.embed;
    spec.loss = "xent";
    config.mode = mode_of(text_of(settings, OPTION_MODE));
    config.steps = (int)integer_of(settings, OPTION_BPTT);
    config.rows = (int)integer_of(settings, OPTION_BATCH);
    config.optimizer = text_of(settings, OPTION_OPTIMIZER);
    config.topology = text_of(settings, OPTION_TOPOLOGY);
    TRY(plan_auto_check(settings));
    if (!is_on(settings, OPTION_AUTO))
        TRY(read_split(text_of(settings, OPTION_SPLIT), &ranks.split));
    ranks.workers = (int)integer_of(settings, OPTION_WORKERS);
    config.machine = machine_of(settings, &ranks);
    config.model_config = &spec;
    if (is_on(settings, OPTION_AUTO))
        return plan_auto_print(settings, &config);
    const char *sync = text_of(settings, OPTION_SYNC), *compress = text_of(settings, OPTION_COMPRESS);
    if (ranks.workers > 1 && strcmp(sync, "every") == 0 && strcmp(compress, "none") == 0) { /* as in training */
        config.machine.split.batch *= ranks.workers;
        config.machine.workers = 1;
    }
    TRY(complain_library(unroll_plan_print(NULL, &config, stdout, is_on(settings, OPTION_JSON))));
    return is_on(settings, OPTION_JSON) ? UNROLL_OK : print_sync(&config, sync, compress);
}
