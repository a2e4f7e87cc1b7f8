/* The metadata of a checkpoint, as keys and values. Files are in checkpoint.c. */
#pragma once
#include "io/safetensors.h"
#include "train/trainer.h"

enum { KEY_SIZE = 32, VALUE_SIZE = 64, MAX_FIELDS = 64 };

struct facts {
    int count;
    char key[MAX_FIELDS][KEY_SIZE], value[MAX_FIELDS][VALUE_SIZE];
};

__attribute__((format(printf, 3, 4))) void add_field(struct facts *, const char *key, const char *format, ...);

/* All counters of the trainer and its session. */
struct saved_state {
    struct trainer_state trainer;
    int64_t forwards, updates;
    double scale; /* loss scale, and updates since it changed; 0: none */
    int64_t scale_updates;
    int64_t policy[POLICY_INTEGERS]; /* counters of the exchange between workers; 0: none */
};

/* Describe what must be the same to resume, what may be changed on request, and what changes during training. */
void describe_identity(const unroll_trainer *, struct facts *);
void describe_rates(const unroll_trainer *, struct facts *);
void describe_state(const struct saved_state *, struct facts *);

/* Copy all counters from the trainer and its session, and back. `whole`: also the state of the exchange between
 * workers. */
void take_state(const unroll_trainer *, struct saved_state *);
unroll_status give_state(unroll_trainer *, const struct saved_state *, bool whole);

unroll_status check_identity(const unroll_trainer *, const struct safetensors *, const char *path);
unroll_status refuse_identity(const char *path, const char *key, const char *was, const char *is);
unroll_status read_state(const struct safetensors *, const char *path, struct saved_state *);
