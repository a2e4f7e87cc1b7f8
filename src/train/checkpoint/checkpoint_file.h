/* optim.safetensors as a file: its format, its values, and that it was saved together with the weights next to it. Its
 * use by a training is in checkpoint.c. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "io/safetensors.h"
#include "unroll_network.h"

/* Metadata. Format 2 is format 1 with a checksum, the hyperparameters and a hash of the weights, all required. */
#define CHECKPOINT_FORMAT_KEY  "format"
#define CHECKPOINT_FORMAT      "unroll checkpoint 2"
#define CHECKPOINT_WEIGHTS_KEY "weights"

/* Opens and checks a file, which the caller must close. */
unroll_status checkpoint_file_open(const char *path, struct safetensors **file);
bool checkpoint_is_old(const struct safetensors *file); /* of format 1 */

/* Returns the index of the first NaN, or `count`. A NaN in a state would spread to the weight in the next step;
 * infinities may result from large gradients. */
size_t first_nan(const void *floats, size_t count);
unroll_status checkpoint_check_numbers(const struct tensor_view *tensor, const char *path);

size_t parameter_count(const unroll_parameter *parameter);
uint64_t hash_weights(unroll_model *model);
/* Checks that `file` belongs to these weights: both files of a checkpoint may be valid, but from different times. */
unroll_status checkpoint_check_weights(unroll_model *model, const struct safetensors *file, const char *path);
