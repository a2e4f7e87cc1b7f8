/* unroll export: writes a model in the format of another tool. */
#include <stdio.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/show/output.h"

/* Prints a line, or with --json appends it to an array. */
static void take_line(void *lines, const char *line)
{
    if (lines)
        json_array_append_new(lines, json_string(as_options(line)));
    else
        puts(as_options(line));
}

/* Prints the report of a format as JSON: its own object if its first line is one, otherwise an array of lines. */
static unroll_status print_saved(json_t *lines, const char *file)
{
    const char *first = json_string_value(json_array_get(lines, 0));
    json_t *object = first ? json_loads(first, 0, NULL) : NULL;
    if (!json_is_object(object))
        object = json_pack("{sO}", "report", lines);
    json_object_set_new(object, "saved", json_string(file));
    return print_json(object);
}

static unroll_status export(unroll_model *model, const char *file, const unroll_export_config *config)
{
    TRY(complain_library(unroll_model_export(model, file, config)));
    if (config->json)
        return print_saved(config->arg, file);
    printf("saved %s\n", file);
    return UNROLL_OK;
}

unroll_status cmd_export(struct settings *settings)
{
    unroll_export_config config = unroll_export_config_default();
    const char *file = text_of(settings, OPTION_SAVE);
    unroll_model *model;
    TRY(settings_need(settings, OPTION_TO));
    TRY(settings_need(settings, OPTION_SAVE));
    TRY(output_spares(file, text_of(settings, OPTION_CALIBRATE)));
    TRY(network_open_for(settings, file, &model));
    config.format = text_of(settings, OPTION_TO);
    config.prefix = text_of(settings, OPTION_PREFIX);
    config.dtype = text_of(settings, OPTION_DTYPE);
    config.calibration = text_of(settings, OPTION_CALIBRATE);
    config.json = is_on(settings, OPTION_JSON);
    config.steps = integers_of(settings, OPTION_PROGRAM)[0];
    config.rows = integers_of(settings, OPTION_PROGRAM)[1];
    config.lanes = (int)integer_of(settings, OPTION_LANES);
    config.operand_bits = strcmp(text_of(settings, OPTION_OPERAND), "16") == 0 ? 16 : 8;
    config.delta = is_given(settings, OPTION_DELTA) ? number_of(settings, OPTION_DELTA) : -1;
    config.target = text_of(settings, OPTION_TARGET);
    config.store = text_of(settings, OPTION_STORE);
    config.head = text_of(settings, OPTION_HEAD);
    config.raw = is_on(settings, OPTION_RAW);
    config.series = text_of(settings, OPTION_SERIES);
    config.report = take_line;
    config.arg = config.json ? json_array() : NULL;
    unroll_status status = export(model, file, &config);
    json_decref(config.arg);
    unroll_model_free(model);
    return status;
}
