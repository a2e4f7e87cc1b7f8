/* safetensors files: named arrays behind a JSON header (github.com/huggingface/safetensors).
 * A file is checked completely when it is opened; afterwards every view lies inside its bytes.
 * Not a model: which names and shapes are wanted is for the importer to check. */
#ifndef FILE_SAFETENSORS_H
#define FILE_SAFETENSORS_H
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/status.h"

enum { SAFETENSORS_LARGEST_RANK = 8, SAFETENSORS_LARGEST_HEADER = 100000000 };

struct tensor_view {
    const char *name;
    enum dtype dtype;
    int rank;                                       /* 0: a scalar, one element */
    uint64_t shape[SAFETENSORS_LARGEST_RANK];       /* [rank], row by row in memory */
    const void *data;       /* little-endian; in a file whose header is not padded to 8 bytes it may be
                             * unaligned: memcpy the elements out */
    uint64_t bytes;         /* product of shape times the size of dtype; 0 is allowed */
};

struct metadata {
    const char *key, *value;
};

struct safetensors;

/* Reads the whole file. */
unroll_status safetensors_open(const char *path, struct safetensors **file);

/* The same for bytes in memory, which are borrowed until safetensors_close. */
unroll_status safetensors_parse(const void *bytes, size_t size, const char *name_for_errors,
                                struct safetensors **file);
void safetensors_close(struct safetensors *file);   /* NULL is allowed */

/* In the order of their bytes. Views, names and metadata live until safetensors_close. */
int safetensors_count(const struct safetensors *file);
const struct tensor_view *safetensors_at(const struct safetensors *file, int i);

const struct tensor_view *safetensors_find(const struct safetensors *file, const char *name);   /* or NULL */
const char *safetensors_metadata(const struct safetensors *file, const char *key);              /* or NULL */

/* Equal tensors and metadata, in whatever order, give equal bytes. Appears under `path` whole or not
 * at all. */
unroll_status safetensors_write(const char *path, const struct tensor_view *tensors, int count,
                                const struct metadata *metadata, int metadata_count);

#endif
