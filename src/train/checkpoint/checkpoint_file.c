/* Checks of optim.safetensors that do not need its training. */
#include "train/checkpoint/checkpoint_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static const char format_before[] = "unroll checkpoint 1";

bool checkpoint_is_old(const struct safetensors *file)
{
    return strcmp(safetensors_metadata(file, CHECKPOINT_FORMAT_KEY), format_before) == 0;
}

static unroll_status check_format(const struct safetensors *file, const char *path)
{
    const char *format = safetensors_metadata(file, CHECKPOINT_FORMAT_KEY);
    if (format == NULL || strncmp(format, CHECKPOINT_FORMAT, sizeof CHECKPOINT_FORMAT - 2) != 0)
        return fail(
            UNROLL_DATA,
            "'%s' is not the file of a checkpoint: its metadata lack the format; fix: use another checkpoint, or "
            "start a new run",
            path);
    if (checkpoint_is_old(file))
        return UNROLL_OK;
    if (strcmp(format, CHECKPOINT_FORMAT) != 0)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' has the format '%.40s'; this library reads '" CHECKPOINT_FORMAT "'; fix: use a newer unroll",
                    path, format);
    return safetensors_must_have_checksum(file, path);
}

unroll_status checkpoint_file_open(const char *path, struct safetensors **file)
{
    struct safetensors *opened;
    TRY(safetensors_open(path, &opened));
    unroll_status status = check_format(opened, path);
    if (status == UNROLL_OK)
        *file = opened;
    else
        safetensors_close(opened);
    return status;
}

size_t first_nan(const void *floats, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float number;
        memcpy(&number, (const char *)floats + i * sizeof number, sizeof number); /* not aligned in every file */
        if (isnan(number))
            return i;
    }
    return count;
}

unroll_status checkpoint_check_numbers(const struct tensor_view *tensor, const char *path)
{
    size_t count = tensor->bytes / sizeof(float), i = first_nan(tensor->data, count);
    if (tensor->dtype != DTYPE_F32)
        return fail(UNROLL_DATA, "'%s': '%s' is %s, not F32; fix: use another checkpoint, or start a new run", path,
                    tensor->name, dtype_name(tensor->dtype));
    if (i < count)
        return fail(UNROLL_DATA, "'%s': '%s' holds NaN at number %zu; fix: use another checkpoint, or start a new run",
                    path, tensor->name, i);
    return UNROLL_OK;
}

size_t parameter_count(const unroll_parameter *parameter)
{
    return (size_t)parameter->shape[0] * (parameter->rank > 1 ? (size_t)parameter->shape[1] : 1);
}

uint64_t hash_weights(unroll_model *model)
{
    uint64_t hash = HASH_BEGIN;
    unroll_parameter parameter = {.size = sizeof parameter};
    for (int i = 0; i < unroll_model_parameters(model); i++)
        if (unroll_model_parameter(model, i, &parameter) == UNROLL_OK)
            hash = hash_words(hash, parameter.data, parameter_count(&parameter));
    return hash;
}

unroll_status checkpoint_check_weights(unroll_model *model, const struct safetensors *file, const char *path)
{
    const char *stated = safetensors_metadata(file, CHECKPOINT_WEIGHTS_KEY);
    char found[24];
    snprintf(found, sizeof found, "%016" PRIx64, hash_weights(model));
    if (checkpoint_is_old(file) || (stated != NULL && strcmp(stated, found) == 0))
        return UNROLL_OK;
    return fail(
        UNROLL_DATA,
        "'%s' was saved with other weights than the model next to it: files of two checkpoints were mixed; fix: use "
        "both from one copy",
        path);
}
