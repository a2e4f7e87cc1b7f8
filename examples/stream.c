/* Runs a model in real time: one packed copy of its weights, one small stream for each listener.
 *     stream [MODEL]      MODEL: one that train_tiny has saved; without it: untrained ones
 * Steps do not allocate, lock or make system calls, so they may run in an audio callback. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unroll_network.h>
#include <unroll_stream.h>

enum { LISTENERS = 3, STEPS = 30 };

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "stream: %s\n", unroll_last_error());
    exit(status);
}

static unroll_model *open_model(const char *path)
{
    unroll_model *model;

    if (path) {
        check(unroll_model_load(path, &model));
    } else {
        unroll_model_config spec = unroll_model_config_default();
        spec.hidden = 24;
        spec.input = spec.output = 1;
        check(unroll_model_new(&spec, 1, &model));
    }
    return model;
}

static void *memory_of(size_t bytes)
{
    void *memory = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;

    if (memory)
        return memory;
    fprintf(stderr, "stream: %s\n", bytes ? "no memory" : unroll_last_error());
    exit(UNROLL_RESOURCE);
}

/* Reads the outputs of an inner layer that is marked as an output: gru -> "voice" -> "head". */
static void read_inner_layer(void)
{
    enum { VOICE = 1 };
    unroll_layer layer[3] = { unroll_layer_default(), unroll_layer_default(), unroll_layer_default() };
    unroll_network network = unroll_network_default();
    unroll_stream_config config = unroll_stream_config_default();
    unroll_model *model;
    unroll_stream *stream;
    float input = 0.5f, output, voice;

    layer[0].kind = "gru", layer[0].name = "rnn", layer[0].width = 24;
    layer[VOICE].name = "voice", layer[VOICE].width = 1, layer[VOICE].activation = "sigmoid", layer[VOICE].output = 1;
    layer[2].name = "head", layer[2].width = 1;
    network.input = 1, network.layer = layer, network.layers = 3;
    check(unroll_model_from_network(&network, 1, &model));
    size_t bytes = unroll_stream_bytes(model, &config);
    void *memory = memory_of(bytes);
    check(unroll_stream_init(memory, bytes, model, &config, &stream));
    check(unroll_stream_step(stream, NULL, &input, &output));
    check(unroll_stream_read(stream, VOICE, &voice));
    printf("a network's answer %7.4f, its layer \"voice\" %6.4f\n", (double)output, (double)voice);
    free(memory);
    unroll_model_free(model);
}

int main(int count, char *words[])
{
    unroll_model *model = open_model(count > 1 ? words[1] : NULL);
    unroll_stream_config config = unroll_stream_config_default();
    unroll_stream_weights *weights;
    unroll_stream *listener[LISTENERS];
    float input = 0, output = 0;

    size_t bytes = unroll_stream_weights_bytes(model, &config);
    check(unroll_stream_weights_init(memory_of(bytes), bytes, model, &config, &weights));
    config.weights = weights;                       /* shared by all streams */
    size_t one = unroll_stream_bytes(model, &config);
    for (int i = 0; i < LISTENERS; i++)
        check(unroll_stream_init(memory_of(one), one, model, &config, &listener[i]));
    unroll_model_free(model);                       /* streams no longer need it */
    if (unroll_stream_inputs(listener[0]) != 1 || unroll_stream_outputs(listener[0]) != 1) {
        fprintf(stderr, "stream: this program is for models of one number in and one out\n");
        return UNROLL_USAGE;
    }
    printf("weights %zu bytes, each stream %zu\n", bytes, one);

    for (int t = 0; t < STEPS; t++) {               /* the first stream reads the wave all the time */
        input = (float)(0.6 * sin(0.3 * t) + 0.4 * sin(0.7 * t));
        check(unroll_stream_step(listener[0], NULL, &input, &output));
        printf("step %2d   input %7.4f   answer %7.4f\n", t, (double)input, (double)output);
        if (t + 1 == STEPS / 2)                     /* the second one continues from here: a copy is enough */
            memcpy(listener[1], listener[0], one);
        else if (t + 1 > STEPS / 2)
            check(unroll_stream_step(listener[1], NULL, &input, &output));
    }

    size_t saved = unroll_stream_state_bytes(listener[0]);      /* what a program stores between two calls */
    void *state = memory_of(saved);
    check(unroll_stream_save(listener[1], state, saved));
    check(unroll_stream_load(listener[2], state, saved));
    float answer[LISTENERS];
    for (int i = 0; i < LISTENERS; i++)
        check(unroll_stream_step(listener[i], NULL, &input, &answer[i]));
    int same = answer[0] == answer[1] && answer[1] == answer[2];
    printf("heard, copied, saved: %s\n", same ? "the same answer" : "different answers");
    free(state);
    for (int i = 0; i < LISTENERS; i++)
        free(listener[i]);
    free(weights);
    if (count == 1)
        read_inner_layer();
    return same ? 0 : UNROLL_FAILURE;
}
