/* One line of cases.txt as a model, a session's configuration and random batches. */
#ifndef CASES_CASE_H
#define CASES_CASE_H
#include "unroll_train.h"
#include <stdbool.h>

struct test_case {
    char line[256];
    unroll_spec spec;
    unroll_input inputs[4];        /* of the specification */
    unroll_session_config session; /* mode, threads, chunks, .. are the user's to set */
    int gaps;                      /* 1: some targets that are numbers are NaN */
    int class_weights;             /* 1: classes have weights in training */
    float label_smoothing;         /* in training */
};

/* The arrays of a batch, made of a seed alone. */
struct case_batch {
    unroll_batch batch; /* points into the arrays below */
    int32_t *tokens, *classes, *lengths;
    float *inputs, *values;
    uint8_t *reset;
};

/* Reads the list; ends the process with a sentence on a line that makes no sense. Returns how many. */
int cases_read(const char *path, const char *filter, struct test_case **cases);

/* The configuration of a session of the case that trains. */
unroll_session_config case_trains(const struct test_case *);

struct case_batch *case_batch_new(const struct test_case *, uint64_t seed);
void case_batch_free(struct case_batch *);

/* How many values a parameter has, and all of a model. */
size_t case_length_of(const unroll_parameter *);
size_t case_parameters(unroll_model *);
/* Copies the gradients of all parameters, one after the other. */
bool case_read_gradients(unroll_model *, unroll_session *, float *to);
/* The largest difference relative to the largest value of a. */
double case_distance(const float *a, const float *b, size_t count);

/* Uniform in [-1, 1): number i of a stream. */
double case_random(uint64_t seed, uint64_t i);

#endif
