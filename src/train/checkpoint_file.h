/* optim.safetensors as a file: its format, its numbers, and that it lies beside the weights it was saved with.
 * Not what a training wants of it: checkpoint.c. */
#ifndef TRAIN_CHECKPOINT_FILE_H
#define TRAIN_CHECKPOINT_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "file/safetensors.h"

/* Metadata. Format 2 is format 1 with a checksum, the rates and a hash of the weights, which must be there. */
#define CHECKPOINT_FORMAT_KEY  "format"
#define CHECKPOINT_FORMAT      "unroll checkpoint 2"
#define CHECKPOINT_WEIGHTS_KEY "weights"

/* The caller closes the file. */
unroll_status checkpoint_file_open(const char *path, struct safetensors **file);
bool checkpoint_is_old(const struct safetensors *file); /* of format 1 */

/* The first NaN, or `count`. In a state it would be one in the weight after the next step; infinities may come of large
 * gradients. */
size_t first_nan(const void *floats, size_t count);
unroll_status checkpoint_check_numbers(const struct tensor_view *tensor, const char *path);

size_t parameter_count(const unroll_parameter *parameter);
uint64_t hash_weights(unroll_model *model);
/* Is `file` of these weights? Both files of a checkpoint may be whole, and of two moments. */
unroll_status checkpoint_check_weights(unroll_model *model, const struct safetensors *file, const char *path);

#endif
