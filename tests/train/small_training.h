/* A small training on a generated text, used by test_trainer and test_checkpoint. */
#ifndef TESTS_SMALL_TRAINING_H
#define TESTS_SMALL_TRAINING_H
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "check.h"
#include "data/readers/reader_table.h"
#include "train/trainer.h"
#include "unroll.h"
#include "unroll_network.h"

/* Sentences of a few words in random order: enough to learn, and the same on every machine. */
static inline unroll_dataset *make_text(size_t size, uint64_t seed)
{
    static const char *const words[] = {"the ", "sea ", "is ", "wide ", "and ", "deep ", "we ", "sail.\n"};
    char *bytes = malloc(size + 16);
    struct rng rng = rng_new(seed, 0);
    unroll_dataset *text = NULL;

    strcpy(bytes, "thesaiwdnp l.\n"); /* every token of the words, so that all texts have the same */
    for (size_t at = strlen(bytes); at < size; at = strlen(bytes)) strcpy(bytes + at, words[rng_below(&rng, 8)]);
    MUST(dataset_parse(bytes, size, "the test's text", "text", NULL, NULL, &text));
    free(bytes);
    return text;
}

struct training {
    unroll_model *model;
    unroll_trainer *trainer;
};

static inline unroll_model_config small_spec(const unroll_dataset *text)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = "lstm";
    spec.layers = 2;
    spec.hidden = 16;
    spec.dropout = 0.3f;
    spec.tokens = 1;
    spec.embed = 8;
    spec.loss = "xent";
    unroll_dataset_vocabulary(text, &spec.input);
    spec.output = spec.input;
    return spec;
}

static inline unroll_trainer_config small_config(void)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    config.batch = 4;
    config.bptt = 12;
    config.rates.learning_rate = 1e-2;
    config.warmup = 4;
    config.total_steps = 200;
    config.machine.threads = 1;
    config.seed = 7;
    return config;
}

static inline struct training start(const unroll_dataset *text, const unroll_trainer_config *config)
{
    struct training training = {NULL, NULL};
    unroll_model_config spec = small_spec(text);
    if (MUST(unroll_model_new(&spec, 3, &training.model)))
        MUST(unroll_trainer_new(training.model, text, config, &training.trainer));
    return training;
}

static inline void end(struct training *training)
{
    unroll_trainer_free(training->trainer);
    unroll_model_free(training->model);
}

static inline unroll_progress steps(struct training *training, int count)
{
    unroll_progress progress = {.size = sizeof progress};
    unroll_status status = UNROLL_OK;

    for (int i = 0; i < count && status == UNROLL_OK; i++) status = unroll_trainer_step(training->trainer, &progress);
    MUST(status);
    return progress;
}

#endif
