/* unroll run: a model over whole sequences of a NumPy file. For frames as they come there is cmd_stream.c. */
#include <stdio.h>

#include "console.h"
#include "network.h"
#include "options.h"

static void print_line(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

unroll_status cmd_run(struct settings *settings)
{
    static const enum option_id needed[] = { OPTION_MODEL, OPTION_ARRAYS, OPTION_SAVE };
    unroll_arrays_config config = unroll_arrays_default();
    unroll_model *model;
    unroll_status status = UNROLL_OK;

    for (size_t i = 0; i < sizeof needed / sizeof *needed && status == UNROLL_OK; i++)
        status = settings_need(settings, needed[i]);
    if (status == UNROLL_OK)
        status = network_open(text_of(settings, OPTION_MODEL), &model);
    if (status != UNROLL_OK)
        return status;
    config.batch_first = is_on(settings, OPTION_BATCH_FIRST);
    config.threads = (int)integer_of(settings, OPTION_THREADS);
    config.isa = text_of(settings, OPTION_ISA);
    config.weights = text_of(settings, OPTION_DTYPE);
    config.report = print_line;
    status = unroll_run(model, text_of(settings, OPTION_ARRAYS), text_of(settings, OPTION_SAVE), &config);
    if (status == UNROLL_OK)
        printf("saved %s\n", text_of(settings, OPTION_SAVE));
    else
        complain_library(status);
    unroll_model_free(model);
    return status;
}
