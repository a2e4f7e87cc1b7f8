/* unroll run: runs a model over whole sequences of a NumPy file. cmd_stream.c runs it on frames as they arrive. */
#include <stdio.h>

#include "cli/show/console.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/show/output.h"
#include "cli/run/ranks.h"

static void print_line(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static unroll_run_config arrays_config(const struct settings *settings)
{
    unroll_run_config config = unroll_run_config_default();
    config.batch_first = is_on(settings, OPTION_BATCH_FIRST);
    config.machine = machine_of(settings, &(struct ranks){0});
    config.raw = is_on(settings, OPTION_RAW);
    config.series = text_of(settings, OPTION_SERIES);
    config.report = print_line;
    return config;
}

static unroll_status write_results(const struct settings *settings, unroll_model *model)
{
    unroll_run_config config = arrays_config(settings);
    const char *target = text_of(settings, OPTION_SAVE);
    TRY(complain_library(unroll_model_run(model, text_of(settings, OPTION_ARRAYS), target, &config)));
    printf("saved %s\n", target);
    return UNROLL_OK;
}

static unroll_status compare_results(const struct settings *settings, unroll_model *model)
{
    unroll_run_config config = arrays_config(settings);
    unroll_difference difference = {.size = sizeof difference};
    double tolerance = number_of(settings, OPTION_TOLERANCE);
    TRY(complain_library(unroll_model_verify(model, text_of(settings, OPTION_ARRAYS), &config, &difference)));
    if (difference.relative <= tolerance)
        return UNROLL_OK;
    return complain(
        UNROLL_FAILURE,
        "'%s' differs by %.2g of its scale, more than %g; fix: use arrays of this model, or a larger --tolerance",
        difference.array, difference.relative, tolerance);
}

unroll_status cmd_run(struct settings *settings)
{
    unroll_model *model;
    unroll_status status = UNROLL_OK;
    if (!is_on(settings, OPTION_COMPARE))
        TRY(settings_need(settings, OPTION_SAVE));
    TRY(output_spares(text_of(settings, OPTION_SAVE), text_of(settings, OPTION_ARRAYS)));
    TRY(network_open_for(settings, text_of(settings, OPTION_SAVE), &model));
    if (is_on(settings, OPTION_COMPARE))
        status = compare_results(settings, model);
    if (status == UNROLL_OK && is_given(settings, OPTION_SAVE))
        status = write_results(settings, model);
    unroll_model_free(model);
    return status;
}
