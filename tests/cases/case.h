/* A line of cases.txt as a model, the configuration of a session, and random batches. */
#ifndef CASES_CASE_H
#define CASES_CASE_H
#include "unroll_train.h"
#include <stdbool.h>

struct test_case {
    char line[256];
    unroll_model_config spec;
    unroll_input inputs[4];        /* of the specification */
    unroll_session_config session; /* mode, threads, chunks, ... are set by the test */
    int gaps;                      /* 1: some numeric targets are NaN */
    int class_weights;             /* 1: classes are weighted in training */
    float label_smoothing;         /* in training */
};

/* The arrays of a batch, generated from a seed. */
struct case_batch {
    unroll_batch batch; /* points into the arrays below */
    int32_t *tokens, *classes, *lengths;
    float *inputs, *values;
    uint8_t *reset;
};

/* Reads the list and returns the number of cases. Ends the process with a message if a line is invalid. */
int cases_read(const char *path, const char *filter, struct test_case **cases);

/* Returns whether the case has a loss of whole sequences, which other devices and lists of devices refuse. */
bool case_needs_cpu(const struct test_case *);

/* Returns the configuration of a session that trains the case. */
unroll_session_config case_trains(const struct test_case *);

struct case_batch *case_batch_new(const struct test_case *, uint64_t seed);
void case_batch_free(struct case_batch *);

/* Numbers of values of a parameter, and of a whole model. */
size_t case_length_of(const unroll_parameter *);
size_t case_parameters(unroll_model *);
/* Copies the gradients of all parameters, one after the other. */
bool case_read_gradients(unroll_model *, unroll_session *, float *to);
/* Returns the largest difference relative to the largest value of a. */
double case_distance(const float *a, const float *b, size_t count);

/* Returns value i of a random stream, uniform in [-1, 1). */
double case_random(uint64_t seed, uint64_t i);

#endif
