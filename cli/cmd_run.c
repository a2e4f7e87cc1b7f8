/* unroll run: a model over whole sequences of a NumPy file. For frames as they come there is cmd_stream.c. */
#include <stdio.h>

#include "console.h"
#include "network.h"
#include "options.h"
#include "output.h"
#include "ranks.h"
#include "unroll_advanced.h"

static void print_line(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static unroll_arrays_config arrays_config(const struct settings *settings)
{
    unroll_arrays_config config = unroll_arrays_default();
    config.batch_first = is_on(settings, OPTION_BATCH_FIRST);
    config.machine = machine_of(settings, &(struct ranks){0});
    config.report = print_line;
    return config;
}

static unroll_status write_results(const struct settings *settings, unroll_model *model)
{
    unroll_arrays_config config = arrays_config(settings);
    const char *target = text_of(settings, OPTION_SAVE);
    TRY(complain_library(unroll_run(model, text_of(settings, OPTION_ARRAYS), target, &config)));
    printf("saved %s\n", target);
    return UNROLL_OK;
}

static unroll_status compare_results(const struct settings *settings, unroll_model *model)
{
    unroll_arrays_config config = arrays_config(settings);
    unroll_difference difference = {.size = sizeof difference};
    double tolerance = number_of(settings, OPTION_TOLERANCE);
    TRY(complain_library(unroll_verify(model, text_of(settings, OPTION_ARRAYS), &config, &difference)));
    if (difference.relative <= tolerance)
        return UNROLL_OK;
    return complain(
        UNROLL_FAILURE,
        "'%s' differs by %.2g of its scale, more than %g; fix: the arrays of this very model, or a larger --tolerance",
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
    if (!is_on(settings, OPTION_RAW))
        status = network_in_units(settings, model);
    if (status == UNROLL_OK && is_on(settings, OPTION_COMPARE))
        status = compare_results(settings, model);
    if (status == UNROLL_OK && is_given(settings, OPTION_SAVE))
        status = write_results(settings, model);
    unroll_model_free(model);
    return status;
}
