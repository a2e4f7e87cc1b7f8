/* unroll import: converts a model of another tool, compares its outputs with those of that tool, and saves it. */
#include <stdio.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/show/output.h"

struct importing {
    const struct settings *settings;
    const char *format, *file; /* format NULL: detected from the file */
    json_t *found;             /* report lines for --json, otherwise NULL */
    unroll_model *model;
    unroll_difference difference;
};

/* Reads "FILE" or "FORMAT FILE". */
static unroll_status take_words(struct importing *i)
{
    const struct settings *s = i->settings;
    if (s->words > 2)
        return complain(UNROLL_USAGE, "import: unexpected argument '%.80s'; fix: unroll import FORMAT FILE -o MODEL",
                        s->word[2]);
    i->file = s->word[s->words - 1];
    if (s->words == 2 && strcmp(s->word[0], "auto"))
        i->format = s->word[0];
    return UNROLL_OK;
}

/* Refuses to overwrite the source or the reference: an import does not keep all of their contents. */
static unroll_status check_target(const struct importing *i)
{
    const char *target = text_of(i->settings, OPTION_SAVE);
    TRY(output_spares(target, i->file));
    return output_spares(target, text_of(i->settings, OPTION_VERIFY));
}

static void take_line(void *arg, const char *line)
{
    struct importing *i = arg;
    if (i->found)
        json_array_append_new(i->found, json_string(as_options(line)));
    else
        puts(as_options(line));
}

static unroll_status read_model(struct importing *i)
{
    unroll_import_config config = unroll_import_config_default();
    config.format = i->format;
    config.prefix = text_of(i->settings, OPTION_PREFIX);
    config.order = text_of(i->settings, OPTION_ORDER);
    config.nonlinearity = text_of(i->settings, OPTION_NONLINEARITY);
    config.gru_reset = text_of(i->settings, OPTION_GRU_RESET);
    config.report = take_line;
    config.arg = i;
    return complain_library(unroll_model_import(i->file, &config, &i->model));
}

/* Compares with the arrays of --verify. A model that differs is not saved. */
static unroll_status verify(struct importing *i)
{
    const char *reference = text_of(i->settings, OPTION_VERIFY);
    unroll_run_config config = unroll_run_config_default();
    double tolerance = number_of(i->settings, OPTION_TOLERANCE);
    if (!reference)
        return UNROLL_OK;
    config.batch_first = is_on(i->settings, OPTION_BATCH_FIRST);
    config.report = take_line;
    config.arg = i;
    TRY(complain_library(unroll_model_verify(i->model, reference, &config, &i->difference)));
    if (i->difference.relative <= tolerance)
        return UNROLL_OK;
    return complain(
        UNROLL_FAILURE,
        "'%s' of '%s' differs by %.2g of its scale, more than %g: the model does not compute the reference, or the "
        "arrays are batch-first; fix: use --batch-first, or use arrays of this model",
        i->difference.array, reference, i->difference.relative, tolerance);
}

static json_t *differences(const struct importing *i)
{
    if (!is_given(i->settings, OPTION_VERIFY))
        return json_null();
    return json_pack("{sf sf ss}", "absolute", i->difference.absolute, "relative", i->difference.relative, "array",
                     i->difference.array);
}

static unroll_status save(struct importing *i)
{
    const char *target = text_of(i->settings, OPTION_SAVE);
    if (target)
        TRY(complain_library(unroll_model_save(i->model, target)));
    if (i->found)
        return print_json(json_pack("{sO ss? so sI}", "found", i->found, "saved", target, "difference", differences(i),
                                    "parameters", (json_int_t)network_parameters(i->model)));
    if (target)
        printf("saved %s\n", target);
    else
        puts("not saved: use -o MODEL.safetensors");
    return UNROLL_OK;
}

static unroll_status import(struct importing *i)
{
    TRY(take_words(i));
    TRY(check_target(i));
    TRY(read_model(i));
    TRY(verify(i));
    return save(i);
}

unroll_status cmd_import(struct settings *settings)
{
    struct importing i = {.settings = settings,
                          .difference.size = sizeof i.difference,
                          .found = is_on(settings, OPTION_JSON) ? json_array() : NULL};
    unroll_status status = import(&i);
    json_decref(i.found);
    unroll_model_free(i.model);
    return status;
}
