/* Models of amplifiers and effects as plugins read them: recurrent layers and a linear layer with one output, to which
 * the input may be added (a skip). Shared by the formats of RTNeural, AIDA-X, GuitarML and NAM. */
#pragma once
#include <jansson.h>

#include "convert/file_table.h"
#include "model/model.h"

enum { AMP_WIDEST = 1024 };

struct amp {
    const char *cell; /* "lstm" or "gru" */
    int layers, hidden, input;
    bool skip, bias; /* bias: of the recurrent layers */
};

/* Describes a model that a format can hold; refuses others. format: for messages. */
unroll_status amp_of(const unroll_model *model, const char *format, struct amp *amp);
/* True if the last layer adds the input of the network, by a weight of 1. */
bool amp_has_skip(const struct unroll_model *model);
/* Makes a model with zero weights, of the task effect. rate: samples a second; 0: unknown. */
unroll_status amp_new(const struct amp *amp, int rate, struct unroll_model **model);
typedef unroll_status amp_reader(const json_t *, const unroll_import_config *, unroll_model **);
/* Reads the JSON of a file and makes a model of it with `read`. Messages begin with the path. */
unroll_status amp_import(const char *path, amp_reader *read, const unroll_import_config *config, unroll_model **model);
/* Returns the samples a second that the model was trained with; 0: unknown. */
int amp_rate(const unroll_model *model);

/* Copies an array of `count` numbers, which may be nested, in order. where: for messages. */
unroll_status amp_take(const json_t *array, const char *where, size_t count, float *to);
/* Returns `count` numbers as an array, or with columns > 0 as an array of rows. NULL: no memory. */
json_t *amp_array(const float *from, size_t count, size_t columns);
/* Returns the sums of the two biases of a recurrent layer, [rows]; the caller must release them. NULL: no memory. */
float *amp_biases(const struct unroll_model *model, int layer, size_t rows);
/* In rtneural.c and aidax.c. */
unroll_status import_rtneural(const char *path, const unroll_import_config *config, unroll_model **model);
unroll_status export_rtneural(const unroll_model *model, const char *path, const unroll_export_config *config);
/* Writes and releases the JSON; NULL: there was no memory. */
unroll_status amp_write(const char *path, json_t *json);
