/* Networks for the tests of streams: shapes of imported ones (RNNoise, Silero), and difficult ones: one-hot symbols
 * read by several layers, every cell and activation, a recurrent last layer. */
#ifndef STREAM_NETWORKS_H
#define STREAM_NETWORKS_H
#include "unroll_network.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* kind; width; activation or NULL; sources, terminated by END; output or not */
enum { END = -2 };

struct test_layer {
    const char *kind;
    int width;
    const char *activation;
    int source[5];
    int output, projection;
};

struct test_network {
    const char *name;
    int tokens, input, embed;
    struct test_layer layer[16];
};

#define BEFORE { END }

static const struct test_network networks[] = {{"noise suppression",
                                                0,
                                                42,
                                                0,
                                                {{"dense", 24, "tanh", BEFORE, 0, 0},
                                                 {"gru", 24, NULL, BEFORE, 0, 0},
                                                 {"gru", 48, NULL, {0, 1, -1, END}, 0, 0},
                                                 {"dense", 1, "sigmoid", {1, END}, 1, 0},
                                                 {"gru", 96, NULL, {1, 2, -1, END}, 0, 0},
                                                 {"dense", 22, "sigmoid", BEFORE, 0, 0}}},
                                               {"voice activity",
                                                0,
                                                33,
                                                0,
                                                {{"dense", 64, "relu", BEFORE, 0, 0},
                                                 {"lstm", 32, NULL, BEFORE, 1, 0},
                                                 {"lstm", 20, NULL, BEFORE, 0, 7},
                                                 {"dense", 16, "leaky_relu", BEFORE, 0, 0},
                                                 {"dense", 1, "sigmoid", BEFORE, 0, 0}}},
                                               {"symbols, one-hot",
                                                1,
                                                11,
                                                0,
                                                {{"dense", 9, "elu", BEFORE, 0, 0},
                                                 {"lstm", 17, NULL, {-1, END}, 0, 0},
                                                 {"gru-before", 16, NULL, {0, 1, -1, END}, 0, 0},
                                                 {"dense", 11, "softmax", {2, 1, END}, 0, 0}}},
                                               {"symbols, embedded",
                                                1,
                                                11,
                                                6,
                                                {{"mingru", 33, NULL, BEFORE, 0, 0},
                                                 {"rnn-relu", 5, NULL, BEFORE, 1, 0},
                                                 {"dense", 19, "softplus", {0, -1, END}, 1, 0},
                                                 {"rnn", 12, NULL, {2, 1, END}, 0, 0}}},
                                               {"activations",
                                                0,
                                                5,
                                                0,
                                                {{"dense", 6, "affine", BEFORE, 1, 0},
                                                 {"dense", 35, "thresholded_relu", BEFORE, 1, 0},
                                                 {"dense", 17, "scaled_tanh", {-1, END}, 1, 0},
                                                 {"dense", 16, "hard_sigmoid", {1, 2, END}, 1, 0},
                                                 {"dense", 31, "softsign", BEFORE, 1, 0},
                                                 {"dense", 18, "softmax", BEFORE, 1, 0},
                                                 {"dense", 3, NULL, BEFORE, 0, 0}}}};

static inline const char *network_named(int i)
{
    return i < (int)(sizeof networks / sizeof *networks) ? networks[i].name : NULL;
}

static inline unroll_model *network_of(const unroll_layer *layer, int layers, const struct test_network *t)
{
    unroll_network network = unroll_network_default();
    network.tokens = t->tokens;
    network.input = t->input;
    network.embed = t->embed;
    network.layer = layer;
    network.layers = layers;
    unroll_model *m = NULL;
    if (unroll_model_from_network(&network, 3, &m) != UNROLL_OK) {
        printf("FAILED %s: %s\n", t->name, unroll_last_error());
        exit(1);
    }
    return m;
}

/* Creates network i of the table. */
static inline unroll_model *network_new(int i)
{
    const struct test_network *t = &networks[i];
    unroll_layer layer[16];
    char names[16][16];
    int layers = 0;
    for (const struct test_layer *l = t->layer; layers < 16 && l->kind; l++, layers++) {
        unroll_layer *to = &layer[layers];
        *to = unroll_layer_default();
        snprintf(names[layers], sizeof names[layers], "n%d", layers);
        to->name = names[layers];
        to->kind = l->kind;
        to->width = l->width;
        to->activation = l->activation;
        to->output = l->output;
        to->projection = l->projection;
        to->clip = l->projection ? 2.5f : 0;
        to->peephole = l->projection > 0;
        for (; l->source[to->sources] != END; to->sources++) to->source[to->sources] = l->source[to->sources];
    }
    return network_of(layer, layers, t);
}

static inline unroll_model *network_both_ways(void)
{
    unroll_layer layer[2] = {unroll_layer_default(), unroll_layer_default()};
    layer[0].name = "front", layer[0].width = 4;
    layer[1].name = "middle", layer[1].kind = "gru", layer[1].width = 3, layer[1].bidirectional = 1;
    return network_of(layer, 2, &networks[0]);
}

#endif
