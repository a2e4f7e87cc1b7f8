/* unroll import: a model from the format of another tool, compared with what that tool computed,
 * and saved. */
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "network.h"
#include "options.h"
#include "output.h"
#include "unroll_advanced.h"

struct importing {
    const struct settings *settings;
    const char *format, *file; /* format NULL: it is found */
    json_t *found;             /* lines, for --json; or NULL */
    unroll_model *model;
    unroll_difference difference;
};

/* "FILE" or "FORMAT FILE". */
static unroll_status take_words(struct importing *i)
{
    const struct settings *s = i->settings;
    if (s->words > 2)
        return complain(UNROLL_USAGE,
                        "import: the word '%.80s' is one too many; fix: unroll import FORMAT FILE -o MODEL",
                        s->word[2]);
    i->file = s->word[s->words - 1];
    if (s->words == 2 && strcmp(s->word[0], "auto"))
        i->format = s->word[0];
    return UNROLL_OK;
}

/* The source must outlive its import: it holds what ours does not. */
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
    unroll_import_config config = unroll_import_default();
    config.format = i->format;
    config.prefix = text_of(i->settings, OPTION_PREFIX);
    config.order = text_of(i->settings, OPTION_ORDER);
    config.nonlinearity = text_of(i->settings, OPTION_NONLINEARITY);
    config.gru_reset = text_of(i->settings, OPTION_GRU_RESET);
    config.report = take_line;
    config.arg = i;
    return complain_library(unroll_import(i->file, &config, &i->model));
}

/* What differs is not saved. */
static unroll_status verify(struct importing *i)
{
    const char *reference = text_of(i->settings, OPTION_VERIFY);
    unroll_arrays_config config = unroll_arrays_default();
    double tolerance = number_of(i->settings, OPTION_TOLERANCE);
    if (!reference)
        return UNROLL_OK;
    config.batch_first = is_on(i->settings, OPTION_BATCH_FIRST);
    config.report = take_line;
    config.arg = i;
    TRY(complain_library(unroll_verify(i->model, reference, &config, &i->difference)));
    if (i->difference.relative <= tolerance)
        return UNROLL_OK;
    return complain(
        UNROLL_FAILURE,
        "'%s' of '%s' differs by %.2g of its scale, more than %g: the model does not "
        "compute what the reference says, or the arrays are batch-first; fix: --batch-first, or the arrays of this very model",
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
        puts("nothing is saved without -o MODEL.safetensors");
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
