/* Networks for the commands, from the options and from files and runs. */
#include "cli/options/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/show/output.h"
#include "cli/run/run.h"

unroll_model_config network_spec(const struct settings *s)
{
    unroll_model_config spec = unroll_model_config_auto();
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

unroll_status network_derive(struct settings *s, const unroll_model_config *spec)
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

static unroll_entry find_loss(const char *loss)
{
    unroll_entry entry = {.size = sizeof entry};
    const size_t length = loss ? strcspn(loss, ":") : 0;
    for (int i = 0; loss && unroll_list(UNROLL_LIST_LOSSES, i, &entry); i++)
        if (strlen(entry.name) == length && !strncmp(entry.name, loss, length))
            return entry;
    return (unroll_entry){.about = "none"};
}

const char *loss_about(const char *loss) { return find_loss(loss).about; }

bool loss_gives_logits(const char *loss) { return find_loss(loss).of_classes; }

int64_t network_parameters(unroll_model *model)
{
    int64_t numbers = 0;
    unroll_parameter parameter = {.size = sizeof parameter};
    for (int i = 0; i < unroll_model_parameters(model); i++)
        if (unroll_model_parameter(model, i, &parameter) == UNROLL_OK)
            numbers += (int64_t)parameter.shape[0] * (parameter.rank > 1 ? parameter.shape[1] : 1);
    return numbers;
}

void network_name(const unroll_model *model, char text[NAME_MAX])
{
    unroll_model_config spec = {.size = sizeof spec};
    if (!unroll_model_stack(model, &spec)) {
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

const char *symbols_name(const unroll_model *model) { return model_has_words(model) ? "words" : "characters"; }

bool model_has_words(const unroll_model *model) { return strcmp(unroll_model_tokens(model), "words") == 0; }

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
        TRY(output_spares(target, last)); /* the final model of a run whose checkpoint is read */
    return complain_library(unroll_model_load(file, model));
}

unroll_status network_in_units(const struct settings *s, unroll_model **model)
{
    unroll_model *in_units;
    if (is_on(s, OPTION_RAW) && is_given(s, OPTION_SERIES))
        return complain(UNROLL_USAGE, "--series has no effect on --raw values; fix: leave out one of them");
    if (is_on(s, OPTION_RAW))
        return UNROLL_OK;
    TRY(complain_library(unroll_model_to_units(*model, text_of(s, OPTION_SERIES), &in_units)));
    unroll_model_free(*model);
    *model = in_units;
    return UNROLL_OK;
}
