/* unroll export: a model in the format of another tool. */
#include <stdio.h>

#include "console.h"
#include "network.h"
#include "options.h"

static void print_line(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static unroll_status read_program_shape(const char *text, unroll_export_config *config)
{
    char rest;

    if (sscanf(text, "%d,%d%c", &config->steps, &config->rows, &rest) == 2)
        return UNROLL_OK;
    return complain(UNROLL_USAGE, "--program %s is not steps and rows; fix: two numbers such as 64,1", text);
}

unroll_status cmd_export(struct settings *settings)
{
    static const enum option_id needed[] = { OPTION_MODEL, OPTION_TO, OPTION_SAVE };
    unroll_export_config config = unroll_export_default();
    unroll_model *model;
    unroll_status status = UNROLL_OK;

    for (size_t i = 0; i < sizeof needed / sizeof *needed && status == UNROLL_OK; i++)
        status = settings_need(settings, needed[i]);
    if (status == UNROLL_OK)
        status = network_open(text_of(settings, OPTION_MODEL), &model);
    if (status != UNROLL_OK)
        return status;
    config.format = text_of(settings, OPTION_TO);
    config.prefix = text_of(settings, OPTION_PREFIX);
    config.dtype = text_of(settings, OPTION_WEIGHTS);
    config.calibration = text_of(settings, OPTION_CALIBRATE);
    config.json = is_on(settings, OPTION_JSON);
    config.report = print_line;
    status = read_program_shape(text_of(settings, OPTION_PROGRAM), &config);
    if (status != UNROLL_OK) {
        unroll_model_free(model);
        return status;
    }
    status = unroll_export(model, text_of(settings, OPTION_SAVE), &config);
    if (status == UNROLL_OK && !config.json)
        printf("saved %s\n", text_of(settings, OPTION_SAVE));
    else if (status != UNROLL_OK)
        complain_library(status);
    unroll_model_free(model);
    return status;
}
