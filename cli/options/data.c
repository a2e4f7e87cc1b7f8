#include "cli/options/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/show/console.h"

void data_options(const struct settings *s, bool of_task, char text[OPTIONS_TEXT])
{
    size_t at = 0;
    *text = '\0';
    for (int id = 0; id < option_count; id++) {
        const struct option *o = &options[id];
        const char *value = text_of(s, (enum option_id)id);
        bool wanted = of_task ? o->of_task : o->of_reader;
        if (!wanted || !value || (o->fallback && strcmp(value, o->fallback) == 0) || at >= OPTIONS_TEXT)
            continue;
        const char *name = id == OPTION_COLUMN ? "columns" : o->name;
        size_t begin = at + (at > 0);
        at += (size_t)snprintf(text + at, OPTIONS_TEXT - at, "%s%s=%s", at ? "," : "", name, value);
        for (size_t i = begin; i < at && i < OPTIONS_TEXT; i++) /* a list of names, as people write it */
            text[i] = text[i] == ',' ? ';' : text[i];
    }
}

/* Prints what the reader detected before the first step, so that a wrong guess is noticed. */
static unroll_status say_summary(const unroll_dataset *data)
{
    char *text, *rest;
    TRY(complain_library(unroll_dataset_summary(data, &text)));
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        say("%s", as_options(line));
    free(text);
    return UNROLL_OK;
}

bool writes_labels(const struct settings *s)
{
    return s->command == COMMAND_PREDICT && strcmp(text_of(s, OPTION_WRITE), "labels") == 0;
}

/* Reading options for columns that the model does not read, or that the data lack. */
static void kept_options(const struct settings *s, char text[OPTIONS_TEXT])
{
    const bool keeps = s->command == COMMAND_PREDICT || s->command == COMMAND_EVAL;
    const char *keep = writes_labels(s) ? "file"
                       : keeps          ? text_of(s, OPTION_KEEP_COLUMNS)
                                        : NULL,
               *label = keeps ? text_of(s, option_find("label")) : NULL,
               *countdown = s->command == COMMAND_PREDICT ? NULL : text_of(s, OPTION_COUNTDOWN);
    snprintf(text, OPTIONS_TEXT, "%s%s%s%s%s", keep ? "keep=" : "", keep ? keep : "", keep && label ? ",label=" : "",
             !keep && label ? "label=" : "", label ? label : "");
    for (char *c = text; keep && c < text + 5 + strlen(keep); c++) *c = *c == ',' ? ';' : *c;
    const size_t used = strlen(text);
    if (countdown)
        snprintf(text + used, OPTIONS_TEXT - used, "%scountdown=%s", used ? "," : "", countdown);
}

unroll_status data_open(const struct settings *s, enum option_id id, const unroll_model *model, unroll_dataset **data)
{
    unroll_dataset_config config = unroll_dataset_config_default();
    char chosen[OPTIONS_TEXT] = "";
    if (model == NULL)
        data_options(s, false, chosen);
    config.reader = text_of(s, OPTION_READER);
    if (config.reader == NULL && writes_labels(s))
        config.reader = "audio";
    if (model)
        kept_options(s, chosen);
    config.options = chosen;
    config.model = model;
    TRY(complain_library(unroll_dataset_open(text_of(s, id), &config, data)));
    if (s->command == COMMAND_TRAIN && id == OPTION_DATA)
        TRY(say_summary(*data));
    if (s->command != COMMAND_INSPECT) /* inspect lists them itself */
        say_notes(unroll_dataset_notes(*data));
    return UNROLL_OK;
}

unroll_status data_held_out(const struct settings *s, enum option_id id, const unroll_model *model,
                            unroll_dataset **file, unroll_held_out *part)
{
    const char *text = text_of(s, id), *end = text + 7; /* "groups:" */
    const bool groups = strncmp(text, "groups", 6) == 0 && (text[6] == '\0' || text[6] == ':');
    double number = number_of(s, id);
    if (groups && text[6] == '\0')
        number = 0.2;
    else if (groups && (number_real(&end, 0, 1e12, &number) != NUMBER_OK || *end))
        return complain(UNROLL_USAGE, "--%s: '%s' is neither a share nor a count of groups; fix: use groups:0.2",
                        options[id].name, text);
    *part = (unroll_held_out){.share = number < 1 ? number : 0, .groups = groups};
    if (isnan(number)) {
        TRY(data_open(s, id, model, file));
        *part = (unroll_held_out){.data = *file};
    } else if (number >= 1 && number == floor(number)) {
        part->count = (int64_t)number;
    } else if (number > 0.5) {
        return complain(UNROLL_USAGE,
                        "--%s: '%s' is neither a share nor a count; fix: give up to 0.5 of the data, a whole number of "
                        "its last examples or steps, or a file",
                        options[id].name, text_of(s, id));
    }
    return UNROLL_OK;
}
