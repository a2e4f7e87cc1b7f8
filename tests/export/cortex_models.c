/* Writes the models that test_cortex.sh runs on emulated boards: for each, in floats and in integers, a folder with the
 * exported C, run.h, which describes the model and has frames for cortex_m.c, and cost.json, the exporter's report with
 * its estimate.
 *     cortex_models FOLDER [TRAINED_MODEL]           prints the folders */
#include "unroll_network.h"
#include "listed.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 24 };

static uint64_t seed = 5;

static double uniform(void) /* in [-1, 1) */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(seed & ~0x3ffull) * 0x1p-63;
}

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "cortex_models: %s\n", unroll_last_error());
    exit(status);
}

/* Writes run.h with the names of the model and random frames. */
static void write_run(const char *folder, const unroll_network *network, const char *name, const char *upper)
{
    char path[512];
    snprintf(path, sizeof path, "%s/run.h", folder);
    FILE *file = fopen(path, "w");
    const int width = network->tokens ? 1 : network->input;
    if (!file)
        exit(1);
    fprintf(file,
            "#include \"%s.h\"\n#define MODEL struct %s\n#define INIT %s_init\n#define STEP %s_step\n"
            "#define OUTPUTS %s_OUTPUTS\n#define FRAMES %d\n",
            name, name, name, name, upper, FRAMES);
    fprintf(file, "#define FRAME(t) %s\n", network->tokens ? "frames[t]" : "(frames + (t) * MODEL_INPUTS)");
    fprintf(file, "static const %s frames[] = {", network->tokens ? "int32_t" : "float");
    for (int i = 0; i < FRAMES * width; i++)
        if (network->tokens)
            fprintf(file, "%d, ", (int)((uniform() + 1) / 2 * network->input));
        else
            fprintf(file, "%.9ef, ", 2 * uniform());
    fputs("};\n", file);
    fclose(file);
}

static void write_cost(void *folder, const char *json)
{
    char path[512];
    snprintf(path, sizeof path, "%s/cost.json", (const char *)folder);
    FILE *file = fopen(path, "w");
    if (!file)
        exit(1);
    fprintf(file, "%s\n", json);
    fclose(file);
}

/* Exports the model with float and with int8 weights, each in a folder of its own. */
static void write_model(unroll_model *model, const char *folder, const char *what)
{
    static const char *const weights[] = {"fp32", "int8"};
    unroll_network network = {.size = sizeof network};
    unroll_model_network(model, &network);
    for (int i = 0; i < 2; i++) {
        char path[256];
        unroll_export_config config = unroll_export_config_default();
        config.format = "c99";
        config.dtype = weights[i];
        config.prefix = "model";
        config.json = 1;
        config.report = write_cost;
        config.arg = path;
        snprintf(path, sizeof path, "%s/%s_%s", folder, what, weights[i]);
        check(unroll_model_export(model, path, &config));
        write_run(path, &network, "model", "MODEL");
        puts(path);
    }
    unroll_model_free(model);
}

static void stack(const char *folder, const char *what, unroll_model_config spec)
{
    unroll_model *model;
    check(unroll_model_new(&spec, 2, &model));
    write_model(model, folder, what);
}

/* Exports stacks with each cell and each option. */
static void stacks(const char *folder)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.input = 5;
    spec.output = 3;
    spec.hidden = 14;
    spec.peephole = 1;
    spec.clip = 1.5f;
    stack(folder, "lstm_options", spec);
    spec.peephole = 0;
    spec.clip = 0;
    spec.projection = 6;
    stack(folder, "lstm_projection", spec);
    spec.projection = 0;
    for (int i = 0; listed(UNROLL_LIST_CELLS, i); i++) {
        char what[32];
        spec.cell = listed(UNROLL_LIST_CELLS, i);
        spec.layers = 2;
        snprintf(what, sizeof what, "cell_%d", i);
        stack(folder, what, spec);
    }
    spec.cell = "gru";
    spec.tokens = spec.tied = 1;
    spec.input = spec.output = 17;
    spec.embed = spec.hidden;
    stack(folder, "tokens", spec);
}

/* Larger models, in which products take the usual share of the time. */
static void sizes(const char *folder)
{
    static const struct {
        const char *what, *cell;
        int input, hidden, layers, output;
    } size[] = {{"size_lstm_32", "lstm", 12, 32, 1, 4},      {"size_lstm_48", "lstm", 3, 48, 1, 2},
                {"size_gru_24x2", "gru", 40, 24, 2, 22},     {"size_gru_64", "gru", 1, 64, 1, 1},
                {"size_mingru_40", "mingru", 20, 40, 2, 30}, {"size_rnn_56", "rnn", 30, 56, 1, 1}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        unroll_model_config spec = unroll_model_config_default();
        spec.cell = size[i].cell;
        spec.input = size[i].input;
        spec.hidden = size[i].hidden;
        spec.layers = size[i].layers;
        spec.output = size[i].output;
        stack(folder, size[i].what, spec);
    }
}

/* Activations that need exponentials, logarithms, divisions. */
static void network(const char *folder)
{
    unroll_network network = unroll_network_default();
    unroll_model *model;
    unroll_layer layer[4];
    static const char *const names[4] = {"a", "b", "c", "d"};
    static const char *const activations[4] = {"elu", NULL, "softplus", "softmax"};
    for (int i = 0; i < 4; i++) {
        layer[i] = unroll_layer_default();
        layer[i].name = names[i];
        layer[i].width = 6;
        layer[i].activation = activations[i];
    }
    layer[1].kind = "gru-before";
    layer[2].sources = 2;
    layer[2].source[0] = 0;
    layer[2].source[1] = 1;
    network.input = 4;
    network.layer = layer;
    network.layers = 4;
    check(unroll_model_from_network(&network, 3, &model));
    write_model(model, folder, "network");
}

int main(int count, char **word)
{
    unroll_model *model;
    if (count < 2)
        return 2;
    stacks(word[1]);
    sizes(word[1]);
    network(word[1]);
    if (count > 2) {
        check(unroll_model_load(word[2], &model));
        write_model(model, word[1], "trained");
    }
    return 0;
}
