/* Networks for the commands: from the options, and from files and runs. */
#include "network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "output.h"
#include "run.h"

unroll_spec network_spec(const struct settings *s)
{
    unroll_spec spec = unroll_spec_auto();
    spec.cell = text_of(s, OPTION_CELL);
    if (is_given(s, OPTION_LAYERS))
        spec.layers = (int)integer_of(s, OPTION_LAYERS);
    if (is_given(s, OPTION_HIDDEN))
        spec.hidden = (int)integer_of(s, OPTION_HIDDEN);
    if (is_given(s, OPTION_BIDIRECTIONAL))
        spec.bidirectional = is_on(s, OPTION_BIDIRECTIONAL);
    if (is_given(s, OPTION_DROPOUT))
        spec.dropout = (float)number_of(s, OPTION_DROPOUT);
    if (is_given(s, OPTION_EMBED))
        spec.embed = (int)integer_of(s, OPTION_EMBED);
    if (is_on(s, OPTION_STREAMING))
        spec.bidirectional = 0;
    spec.pool = text_of(s, OPTION_POOL);
    if (is_given(s, OPTION_LOSS))
        spec.loss = text_of(s, OPTION_LOSS);
    spec.projection = (int)integer_of(s, OPTION_PROJECTION);
    spec.peephole = is_on(s, OPTION_PEEPHOLE);
    spec.tied = is_on(s, OPTION_TIED);
    spec.init = text_of(s, OPTION_INIT_WEIGHTS);
    spec.forget_bias = (float)number_of(s, OPTION_FORGET_BIAS);
    return spec;
}

unroll_status network_derive(struct settings *s, const unroll_spec *spec)
{
    const struct {
        enum option_id id;
        int value;
    } derived[] = {{OPTION_LAYERS, spec->layers}, {OPTION_HIDDEN, spec->hidden}, {OPTION_EMBED, spec->embed}};
    if (!is_given(s, OPTION_CELL))
        TRY(settings_derive(s, OPTION_CELL, "%s", spec->cell));
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
        if (!is_given(s, derived[i].id))
            TRY(settings_derive(s, derived[i].id, "%d", derived[i].value));
    if (!is_given(s, OPTION_BIDIRECTIONAL))
        TRY(settings_derive(s, OPTION_BIDIRECTIONAL, spec->bidirectional ? "true" : "false"));
    return is_given(s, OPTION_DROPOUT) ? UNROLL_OK : settings_derive(s, OPTION_DROPOUT, "%.7g", (double)spec->dropout);
}

static const char *find_loss(const char *loss, int *of_classes)
{
    const char *name, *about = "none";
    *of_classes = 0;
    for (int i = 0; (name = unroll_loss_name(i, NULL, NULL)) != NULL; i++)
        if (loss && !strncmp(name, loss, strcspn(loss, ":")) && strlen(name) == strcspn(loss, ":"))
            unroll_loss_name(i, &about, of_classes);
    return about;
}

const char *loss_about(const char *loss)
{
    int of_classes;
    return find_loss(loss, &of_classes);
}

bool loss_gives_logits(const char *loss)
{
    int of_classes;
    find_loss(loss, &of_classes);
    return of_classes;
}

int64_t network_parameters(unroll_model *model)
{
    int64_t numbers = 0;
    unroll_parameter parameter;
    for (int i = 0; i < unroll_model_parameters(model); i++)
        if (unroll_model_parameter(model, i, &parameter) == UNROLL_OK)
            numbers += (int64_t)parameter.shape[0] * (parameter.rank > 1 ? parameter.shape[1] : 1);
    return numbers;
}

void network_name(const unroll_model *model, char text[NAME_MAX])
{
    unroll_spec spec;
    if (!unroll_model_spec(model, &spec)) {
        snprintf(text, NAME_MAX, "network of %d layers", unroll_model_layers(model));
        return;
    }
    int at = snprintf(text, NAME_MAX, "%s %dx%d", spec.cell, spec.layers, spec.hidden);
    if (spec.bidirectional)
        at += snprintf(text + at, NAME_MAX - (size_t)at, ", bidirectional");
    if (spec.projection)
        at += snprintf(text + at, NAME_MAX - (size_t)at, ", projection %d", spec.projection);
    if (spec.peephole)
        at += snprintf(text + at, NAME_MAX - (size_t)at, ", peephole");
    if (spec.pool)
        at += snprintf(text + at, NAME_MAX - (size_t)at, ", pool %s", spec.pool);
    if (spec.embed)
        snprintf(text + at, NAME_MAX - (size_t)at, ", %s %d", spec.tied ? "tied embedding" : "embedding", spec.embed);
}

void network_columns(const unroll_network *network, struct network_columns *columns)
{
    const unroll_input one = {.size = sizeof one,
                              .tokens = network->tokens ? network->input : 0,
                              .width = network->tokens ? network->embed : network->input};
    *columns = (struct network_columns){.count = network->n_inputs ? network->n_inputs : 1};
    for (int i = 0; i < columns->count; i++) {
        const unroll_input *column = network->n_inputs ? &network->inputs[i] : &one;
        columns->column[i] = *column;
        columns->tokens += column->tokens > 0;
        columns->numbers += column->tokens ? 0 : column->width;
    }
}

void network_reads(const unroll_network *network, char text[NAME_MAX])
{
    if (network->n_inputs)
        snprintf(text, NAME_MAX, "%d columns", network->n_inputs);
    else
        snprintf(text, NAME_MAX, "%d %s", network->input, network->tokens ? "tokens" : "inputs");
}

const char *symbols_name(unroll_token_kind kind) { return kind == UNROLL_WORDS ? "words" : "characters"; }

const char *metric_number(double value, int digits, char text[NUMBER_TEXT])
{
    bool plain = digits == 0 || value == 0 || (fabs(value) >= 1e-3 && fabs(value) < 1e9) || !isfinite(value);
    snprintf(text, NUMBER_TEXT, plain ? "%.*f" : "%.*g", digits, value);
    return text;
}

const char *metric_text(const unroll_metric *metric, char text[NUMBER_TEXT])
{
    char number[NUMBER_TEXT];
    snprintf(text, NUMBER_TEXT, "%s%s%s", metric->before, metric_number(metric->value, metric->digits, number),
             metric->after);
    return text;
}

unroll_status network_open(const struct settings *s, unroll_model **model) { return network_open_for(s, NULL, model); }

unroll_status network_open_for(const struct settings *s, const char *target, unroll_model **model)
{
    char file[PATH_MAX], last[PATH_MAX];
    const char *path = text_of(s, OPTION_MODEL);
    TRY(run_weights(path, text_of(s, OPTION_CHECKPOINT), file));
    TRY(output_spares(target, file));
    if (snprintf(last, sizeof last, "%s/model.safetensors", path) < PATH_MAX)
        TRY(output_spares(target, last)); /* of a run whose newest checkpoint is read */
    return complain_library(unroll_model_load(file, model));
}

unroll_status network_in_units(const struct settings *s, unroll_model *model)
{
    const bool had_schema = unroll_model_schema(model) != NULL;
    TRY(complain_library(unroll_model_in_units(model, text_of(s, OPTION_SERIES))));
    const bool of_series = had_schema && unroll_model_schema(model) == NULL;
    if (of_series && strcmp(text_of(s, OPTION_DTYPE), "fp32") != 0)
        return complain(UNROLL_UNSUPPORTED,
                        "a forecast reads differences of numbers as the data have them, which weights in %s do not "
                        "keep; fix: leave --dtype out",
                        text_of(s, OPTION_DTYPE));
    return UNROLL_OK;
}
