/* unroll plan: prints what one training step, evaluation or inference would do and need. */
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "network.h"
#include "options.h"
#include "plan_auto.h"
#include "ranks.h"
#include "unroll_advanced.h"

static unroll_mode mode_of(const char *name)
{
    return strcmp(name, "infer") == 0 ? UNROLL_INFER : strcmp(name, "eval") == 0 ? UNROLL_EVAL : UNROLL_TRAIN;
}

/* What workers tell each other between updates. */
static unroll_status print_sync(const unroll_plan_config *config, const char *sync, const char *compress)
{
    double bytes, every;
    TRY(complain_library(unroll_sync_bytes(config, sync, compress, &bytes, &every)));
    if (bytes > 0)
        printf("sync %s, compress %s: a rank sends %.0f bytes every %.0f updates%s\n", sync, compress, bytes, every,
               strcmp(compress, "rows") == 0 ? " at most" : "");
    return UNROLL_OK;
}

unroll_status cmd_plan(struct settings *settings)
{
    unroll_spec spec = network_spec(settings);
    unroll_plan_config config = unroll_plan_default();
    struct ranks ranks = {0};
    if (integer_of(settings, OPTION_BATCH) < 1)
        return complain(UNROLL_USAGE, "--batch %s: a plan is of so many rows; fix: give their number",
                        text_of(settings, OPTION_BATCH));
    if (integer_of(settings, OPTION_BPTT) == 0)
        return complain(
            UNROLL_USAGE,
            "--bptt full: a plan has no text whose length would say how many steps these are; fix: give their number");
    spec.tokens = 1; /* of the task lm */
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
    config.spec = &spec;
    if (is_on(settings, OPTION_AUTO))
        return plan_auto_print(settings, &config);
    const char *sync = text_of(settings, OPTION_SYNC), *compress = text_of(settings, OPTION_COMPRESS);
    if (ranks.workers > 1 && strcmp(sync, "every") == 0 && strcmp(compress, "none") == 0) { /* as a training does it */
        config.machine.split.batch *= ranks.workers;
        config.machine.workers = 1;
    }
    TRY(complain_library(unroll_plan_print(NULL, &config, stdout, is_on(settings, OPTION_JSON))));
    return is_on(settings, OPTION_JSON) ? UNROLL_OK : print_sync(&config, sync, compress);
}
