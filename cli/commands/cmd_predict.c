/* unroll predict: predictions for data, in their labels and units: a csv table, or a JSON object each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/options/data.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/show/output.h"
#include "cli/sound/label_files.h"
#include "cli/run/ranks.h"
#include "cli/sound/sound_effect.h"

/* Returns non-zero to end the predictions: the reader is gone or the disk is full. */
static int print_prediction(void *arg, const char *text) { return fputs(text, arg) < 0 || putc('\n', arg) == EOF; }

static unroll_status check_request(const struct settings *s)
{
    const char *target = text_of(s, OPTION_SAVE);
    if (strcmp(text_of(s, OPTION_WRITE), "f32") == 0)
        return complain(UNROLL_USAGE, "--write f32 is for stream; fix: use --write csv, or labels for sounds");
    if (writes_labels(s) && (is_on(s, OPTION_JSON) || text_of(s, OPTION_KEEP_COLUMNS)))
        return complain(UNROLL_USAGE, "--write labels has no --%s; fix: leave it out, or use --write csv",
                        is_on(s, OPTION_JSON) ? "json" : "keep");
    TRY(output_spares(target, text_of(s, OPTION_DATA)));
    if (strcmp(text_of(s, OPTION_WRITE), "wav") == 0 && target == NULL)
        return complain(UNROLL_USAGE, "--write wav needs a file; fix: -o out.wav");
    if (target && is_on(s, OPTION_JSON))
        return complain(UNROLL_USAGE, "-o %s is csv, and --json prints objects; fix: give one of them", target);
    return UNROLL_OK;
}

static unroll_status predict(const struct settings *settings, unroll_model *model, FILE *to)
{
    unroll_dataset *data;
    TRY(data_open(settings, OPTION_DATA, model, &data));
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = complain_library(
        unroll_model_print_predictions(model, data, &machine, is_on(settings, OPTION_JSON) ? "json" : "csv",
                                       (int)integer_of(settings, OPTION_TOP_K), print_prediction, to));
    unroll_dataset_free(data);
    if (status == UNROLL_OK)
        say_notes(unroll_last_notes());
    return status;
}

/* Writes the table whole, or nothing. */
static unroll_status predict_to(const struct settings *settings, unroll_model *model, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *table = open_memstream(&text, &size);
    unroll_status status = table ? predict(settings, model, table) : UNROLL_OK;
    if ((table == NULL || fclose(table) != 0) && status == UNROLL_OK)
        status = complain(UNROLL_RESOURCE, "no memory for predictions; fix: predict fewer rows at once");
    if (status == UNROLL_OK)
        status = replace_file(path, text, size);
    free(text);
    if (status == UNROLL_OK)
        say("saved %s", path);
    return status;
}

/* Effects have sounds as predictions. */
static bool writes_sound(const struct settings *settings, const unroll_model *model)
{
    const char *path = text_of(settings, OPTION_SAVE), *end = path ? strrchr(path, '.') : NULL;
    const bool is_csv =
        settings->of[OPTION_WRITE].source > SOURCE_DEFAULT && strcmp(text_of(settings, OPTION_WRITE), "csv") == 0;
    return strcmp(text_of(settings, OPTION_WRITE), "wav") == 0 || (end && strcmp(end, ".wav") == 0) ||
           (is_effect(model) && !is_csv);
}

static unroll_status predict_sound(const struct settings *settings, unroll_model *model)
{
    const char *target = text_of(settings, OPTION_SAVE);
    if (target == NULL || is_on(settings, OPTION_JSON))
        return complain(UNROLL_USAGE, "the predictions of an effect are a sound; fix: -o out.wav");
    return sound_effect_file(model, settings, text_of(settings, OPTION_DATA), target);
}

/* Writes a label file of each sound. */
static unroll_status predict_labels(const struct settings *settings, unroll_model *model, struct label_files *files)
{
    unroll_dataset *data;
    TRY(label_files_open(files, model, text_of(settings, OPTION_DATA), text_of(settings, OPTION_SAVE)));
    TRY(data_open(settings, OPTION_DATA, model, &data));
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = complain_library(unroll_model_predict(model, data, &machine, label_files_take, files));
    unroll_dataset_free(data);
    TRY(status);
    TRY(files->status);
    say_notes(unroll_last_notes());
    return label_files_write(files);
}

unroll_status cmd_predict(struct settings *settings)
{
    unroll_model *model;
    const char *path = text_of(settings, OPTION_SAVE);
    TRY(check_request(settings));
    TRY(network_open(settings, &model));
    unroll_status status;
    struct label_files files = {0};
    if (writes_labels(settings))
        status = predict_labels(settings, model, &files);
    else if (writes_sound(settings, model))
        status = predict_sound(settings, model);
    else
        status = path ? predict_to(settings, model, path) : predict(settings, model, stdout);
    label_files_end(&files);
    unroll_model_free(model);
    return status;
}
