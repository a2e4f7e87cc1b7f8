/* unroll inspect: prints the contents of a model file: specification, vocabulary and tensors. inspect_data.c prints
 * data. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/show/inspect.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/show/output.h"

/* Returns the number as people would write it: 0.2 and not 0.200000003. */
static json_t *short_real(float value)
{
    char text[NUMBER_TEXT];
    double rounded = value;
    snprintf(text, sizeof text, "%.7g", (double)value);
    number_whole_real(text, -DBL_MAX, DBL_MAX, &rounded);
    return json_real(rounded);
}

static json_t *stack(const unroll_model_config *spec)
{
    return json_pack("{ss si si sb si sb so sb so sb si si sb ss* si ss}", "cell", spec->cell, "layers", spec->layers,
                     "hidden", spec->hidden, "bidirectional", spec->bidirectional, "projection", spec->projection,
                     "peephole", spec->peephole, "clip", short_real(spec->clip), "bias", spec->bias, "dropout",
                     short_real(spec->dropout), "tokens", spec->tokens, "input", spec->input, "embed", spec->embed,
                     "tied", spec->tied, "pool", spec->pool, "output", spec->output, "loss", loss_about(spec->loss));
}

/* Lists several columns, each as "word, 120 tokens, embedding 16", and removes the keys that describe a single
 * input. */
static void add_inputs(json_t *json, const unroll_network *network)
{
    static const char *const of_one[] = {"tokens", "input", "embed", "tied"};
    for (size_t i = 0; network->n_inputs && i < sizeof of_one / sizeof *of_one; i++) json_object_del(json, of_one[i]);
    for (int i = 0; i < network->n_inputs; i++) {
        const unroll_input *column = &network->inputs[i];
        char key[32];
        snprintf(key, sizeof key, "input %d", i);
        json_object_set_new(
            json, key,
            column->tokens ? json_sprintf("%s, %d tokens, embedding %d", column->name, column->tokens, column->width)
                           : json_sprintf("%s, %d numbers", column->name, column->width));
    }
    if (network->input_dropout > 0)
        json_object_set_new(json, "input dropout", short_real(network->input_dropout));
}

/* Describes each layer of a general network, such as "gru a, 8 units". */
static json_t *layers(const unroll_model *model, const unroll_network *network)
{
    unroll_layer layer = {.size = sizeof layer};
    json_t *json =
        json_pack("{sb si si sb si ss}", "tokens", network->tokens, "input", network->input, "embed", network->embed,
                  "tied", network->tied, "output", unroll_model_outputs(model), "loss", loss_about(network->loss));
    for (int i = 0; i < network->layers && unroll_model_layer(model, i, &layer) == UNROLL_OK; i++) {
        char key[32];
        snprintf(key, sizeof key, "layer %d", i);
        json_object_set_new(json, key,
                            json_sprintf("%s %s%s%s, %d units", layer.kind, layer.name, layer.pool ? ": " : "",
                                         layer.pool ? layer.pool : "", layer.width));
    }
    return json;
}

static json_t *specification(const unroll_model *model)
{
    unroll_network network = {.size = sizeof network};
    unroll_model_config spec = {.size = sizeof spec};
    unroll_model_network(model, &network);
    json_t *json = unroll_model_stack(model, &spec) ? stack(&spec) : layers(model, &network);
    add_inputs(json, &network);
    return json;
}

static json_t *tensors(unroll_model *model)
{
    json_t *list = json_array();
    unroll_parameter p = {.size = sizeof p};
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        if (unroll_model_parameter(model, i, &p) != UNROLL_OK)
            continue;
        json_t *shape = p.rank > 1 ? json_pack("[ii]", p.shape[0], p.shape[1]) : json_pack("[i]", p.shape[0]);
        json_array_append_new(list, json_pack("{ss ss so}", "name", p.name, "dtype", "F32", "shape", shape));
    }
    return list;
}

static json_t *symbols(const unroll_model *model, int count)
{
    const char *const *symbol = unroll_model_vocabulary(model);
    json_t *list = symbol ? json_array() : json_null();

    for (int i = 0; symbol && i < count; i++) json_array_append_new(list, json_string(symbol[i]));
    return list;
}

static json_t *signature(const unroll_model *model)
{
    json_t *list = json_array();
    const char *line;
    for (int i = 0; (line = unroll_model_signature(model, i)); i++) json_array_append_new(list, json_string(line));
    return list;
}

static json_t *schema(const unroll_model *model)
{
    const char *text = unroll_model_schema(model);
    return text ? json_loads(text, 0, NULL) : json_null();
}

/* Prints each key and value on a line, from the same object that --json prints. */
static void print_specification(const unroll_model *model)
{
    json_t *object = specification(model), *value;
    const char *key;
    json_object_foreach(object, key, value)
    {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(7));
        printf("%-15s%s\n", key, json_is_string(value) ? json_string_value(value) : text ? text : "");
        free(text);
    }
    json_decref(object);
}

/* Prints a text in quotes, with escapes such as \n; `none` if it is NULL. */
static void print_quoted(const char *format, const char *text, const char *none)
{
    json_t *string = text ? json_string(text) : NULL;
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    printf(format, quoted ? quoted : none);
    free(quoted);
    json_decref(string);
}

/* Prints the first words in quotes; those after them are rarer. */
static void print_words(const unroll_model *model, int count)
{
    enum { SHOWN = 12 };
    const char *const *symbol = unroll_model_vocabulary(model);
    char number[NUMBER_TEXT];

    printf("%-15s%s:", "words", with_commas(number, count));
    for (int i = 0; i < count && i < SHOWN; i++) print_quoted(" %s", symbol[i], "?");
    puts(count > SHOWN ? " ..." : "");
}

/* Prints all symbols on one line. */
static void print_symbols(const unroll_model *model, int count)
{
    const char *const *symbol = unroll_model_vocabulary(model);
    char *joined = NULL;
    size_t size;
    FILE *all = symbol ? open_memstream(&joined, &size) : NULL;

    for (int i = 0; all && i < count; i++) fputs(symbol[i], all);
    if (all)
        fclose(all);
    print_quoted("tokens        %s\n", joined, "none");
    free(joined);
}

static void print_tensors(unroll_model *model)
{
    char number[NUMBER_TEXT];
    unroll_parameter p = {.size = sizeof p};
    printf("\n%-36s%-6s%s\n", "tensor", "dtype", "shape");
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        if (unroll_model_parameter(model, i, &p) != UNROLL_OK)
            continue;
        printf(p.rank > 1 ? "%-36s%-6s%d x %d\n" : "%-36s%-6s%d\n", p.name, "F32", p.shape[0], p.shape[1]);
    }
    printf("\n%s parameters\n", with_commas(number, network_parameters(model)));
}

/* Prints the specification, vocabulary, signature and tensors, as text or JSON. */
static unroll_status print_all(const struct settings *s, unroll_model *model)
{
    const bool json = is_on(s, OPTION_JSON);
    unroll_network network = {.size = sizeof network};
    unroll_model_network(model, &network);
    if (json)
        return print_json(json_pack("{so ss so so so so sI}", "specification", specification(model), "token_kind",
                                    symbols_name(model), "vocabulary", symbols(model, network.input), "schema",
                                    schema(model), "signature", signature(model), "tensors", tensors(model),
                                    "parameters", (json_int_t)network_parameters(model)));
    inspect_task(s, model);
    print_specification(model);
    if (model_has_words(model))
        print_words(model, network.input);
    else if (!network.n_inputs)
        print_symbols(model, network.input);
    for (int i = 0; unroll_model_signature(model, i); i++) puts(unroll_model_signature(model, i));
    print_tensors(model);
    return UNROLL_OK;
}

unroll_status cmd_inspect(struct settings *settings)
{
    unroll_model *model;
    const bool is_model = inspect_is_model(text_of(settings, OPTION_MODEL));
    if (!is_model && settings->of[OPTION_CHECKPOINT].source == SOURCE_LINE)
        return complain(UNROLL_USAGE,
                        "--checkpoint chooses among the weights of a run, and '%s' is data; fix: leave it out",
                        text_of(settings, OPTION_MODEL));
    if (!is_model)
        return inspect_data(settings);
    TRY(network_open(settings, &model));
    unroll_status status = print_all(settings, model);
    unroll_model_free(model);
    return status;
}
