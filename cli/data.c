#include "data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "console.h"

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
        for (size_t i = begin; i < at && i < OPTIONS_TEXT; i++) /* lists of names, as people write them */
            text[i] = text[i] == ',' ? ';' : text[i];
    }
}

unroll_status data_open(const struct settings *s, enum option_id id, const unroll_model *model, unroll_dataset **data)
{
    unroll_dataset_config config = unroll_data_default();
    char chosen[OPTIONS_TEXT] = "";
    if (model == NULL)
        data_options(s, false, chosen);
    config.reader = text_of(s, OPTION_READER);
    config.options = model ? NULL : chosen;
    config.model = model;
    TRY(complain_library(unroll_data_open(text_of(s, id), &config, data)));
    if (s->command != COMMAND_INSPECT) /* which lists them */
        say_notes(unroll_data_notes(*data));
    return UNROLL_OK;
}

unroll_status data_held_out(const struct settings *s, enum option_id id, const unroll_model *model,
                            unroll_dataset **file, unroll_held_out *part)
{
    double number = number_of(s, id);
    *part = (unroll_held_out){.share = number < 1 ? number : 0};
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
