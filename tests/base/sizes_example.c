/* An example program that test_sizes.sh compiles against headers with fewer and with more fields. It prints what a
 * network, a session, a stream, a trainer and a sampler compute. With NEWER it sets a field that the library does not
 * have, and prints the error. */
/* test: kinds=none */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unroll_advanced.h"

enum { T = 6, B = 2, IN = 3 };

static void must(unroll_status status, const char *what)
{
    if (status == UNROLL_OK)
        return;
    printf("%s: status %d: %s\n", what, (int)status, unroll_last_error());
    exit(1);
}

static void *take(void *arg, size_t bytes, size_t alignment)
{
    (void)arg;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void give_back(void *arg, void *memory, size_t bytes)
{
    (void)arg, (void)bytes;
    free(memory);
}

static void run_layers(void)
{
    unroll_input inputs[2] = {{.size = sizeof *inputs, .name = "day", .tokens = 7, .width = 4},
                              {.size = sizeof *inputs, .name = "load", .width = IN}};
    unroll_layer layer[2] = {unroll_layer_default(), unroll_layer_default()};
    unroll_network network = {.size = sizeof network, .layer = layer, .layers = 2, .inputs = inputs, .n_inputs = 2};
    unroll_model *model;
    unroll_layer second = {.size = sizeof second};
    layer[0].kind = "gru", layer[0].name = "rnn", layer[0].width = 5;
    layer[1].name = "head", layer[1].width = 2, layer[1].activation = "tanh";
    must(unroll_model_from_network(&network, 3, &model), "network");
    must(unroll_model_layer(model, 1, &second), "layer");
    unroll_model_network(model, &network);
    printf("layers: %d, %s %s %d, inputs %d\n", network.layers, second.kind, second.name, second.width,
           network.n_inputs);
    unroll_model_free(model);
}

static void train_steps(unroll_model *model)
{
    float x[T * B * IN], y[T * B * 2];
    unroll_session_config config = {.size = sizeof config, .mode = UNROLL_TRAIN, .steps = T, .rows = B, .shards = 1};
    unroll_batch batch = {.size = sizeof batch, .inputs = x, .target_values = y};
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    unroll_result result = {.size = sizeof result};
    unroll_operation operation = {.size = sizeof operation};
    unroll_parameter parameter = {.size = sizeof parameter};
    unroll_allocator allocator = {.size = sizeof allocator, .allocate = take, .release = give_back};
    unroll_session *session;
    for (int i = 0; i < T * B * IN; i++) x[i] = (float)(i % 7) / 7;
    for (int i = 0; i < T * B * 2; i++) y[i] = (float)(i % 5) / 5;
    config.optimizer = "adam", config.profile = 1, config.allocator = &allocator;
    must(unroll_session_new(model, &config, &session), "session");
    for (int i = 0; i < 5; i++) must(unroll_session_step(session, &batch, &rates, &result), "step");
    printf("loss %.9g of weight %g\n", result.loss, result.weight);
    must(unroll_session_pull(session), "pull");
    must(unroll_model_parameter(model, 0, &parameter), "parameter");
    printf("%s [%d, %d] %.9g", parameter.name, parameter.shape[0], parameter.shape[1], (double)parameter.data[0]);
    printf(", operation %d", unroll_session_operation(session, 0, &operation));
    printf(" %s: %d runs\n", operation.name, (int)operation.runs);
    unroll_session_free(session);
}

static void run_stream(unroll_model *model)
{
    const float x[IN] = {0.5f, -0.25f, 1};
    float z[2] = {0, 0};
    unroll_stream_config config = unroll_stream_config_default();
    unroll_stream *stream;
    config.machine.isa = "scalar";
    size_t bytes = unroll_stream_bytes(model, &config);
    void *memory = malloc(bytes ? bytes : 1);
    must(unroll_stream_init(memory, bytes, model, &config, &stream), "stream");
    must(unroll_stream_step(stream, NULL, x, z), "stream step");
    printf("stream %.9g %.9g\n", (double)z[0], (double)z[1]);
    free(memory);
}

static void train_text(void)
{
    const char *text[1] = {"a small text, again and again a small text, and so on until it is long enough to learn."};
    const unroll_column column = {
        .size = sizeof column, .name = "text", .kind = UNROLL_COLUMN_TOKENS, .width = 1, .strings = text};
    const int64_t length[1] = {0};
    unroll_dataset_config how = {.size = sizeof how, .options = "tokens=chars"};
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation found = {.size = sizeof found};
    unroll_model_config spec = unroll_model_config_auto();
    unroll_dataset *data;
    unroll_model *model;
    unroll_trainer *trainer;
    must(unroll_dataset_from_columns(&column, 1, length, 1, &how, &data), "arrays");
    spec.hidden = 8, spec.layers = 1;
    must(unroll_task_configure("lm", NULL, data, &spec, &defaults), "task");
    must(unroll_model_new(&spec, 1, &model), "model");
    config.batch = 2, config.bptt = 8, config.validation.share = 0;
    config.machine.threads = 1;
    must(unroll_trainer_new(model, data, &config, &trainer), "trainer");
    for (int i = 0; i < 3; i++) must(unroll_trainer_step(trainer, &progress), "trainer step");
    printf("trainer: step %d, loss %.9g, default bptt %d\n", (int)progress.step, progress.loss, defaults.bptt);
    must(unroll_model_evaluate(model, data, NULL, &found, NULL), "evaluate");
    printf("%s %.9g, %d metrics, floor %.9g\n", found.metric[found.compared].name, found.metric[found.compared].value,
           found.metrics, found.floor);
    unroll_trainer_free(trainer);
    unroll_model_free(model);
    unroll_dataset_free(data);
}

int main(void)
{
    unroll_model_config spec = {.size = sizeof spec,
                                .cell = "lstm",
                                .layers = 1,
                                .hidden = 4,
                                .bias = 1,
                                .input = IN,
                                .output = 2,
                                .loss = "mse"};
    unroll_model *model;
#ifdef NEWER
    spec.newer_text = "set";
#endif
    must(unroll_model_new(&spec, 7, &model), "model");
    memset(&spec, 0, sizeof spec);
    spec.size = sizeof spec;
    printf("stack %d", unroll_model_stack(model, &spec));
    printf(" of %s, hidden %d, size as compiled %d\n", spec.cell, spec.hidden, spec.size == sizeof spec);
    train_steps(model);
    run_stream(model);
    unroll_model_free(model);
    run_layers();
    train_text();
    return 0;
}
