/* safetensors files: named arrays after a JSON header (github.com/huggingface/safetensors). A file is checked
 * completely when it is opened; every view then stays inside its bytes. Importers check names and shapes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "io/tensor_view.h"

enum { SAFETENSORS_LARGEST_HEADER = 100000000 };

struct metadata {
    const char *key, *value;
};

struct safetensors;

/* Reads and checks the whole file. */
unroll_status safetensors_open(const char *path, struct safetensors **file);

/* Parses bytes in memory, which are borrowed until safetensors_close. */
unroll_status safetensors_parse(const void *bytes, size_t size, const char *name_for_errors, struct safetensors **file);
void safetensors_close(struct safetensors *file); /* NULL is a no-op */

/* Tensors in the order of their data. Views, names and metadata are valid until safetensors_close. */
int safetensors_count(const struct safetensors *file);
const struct tensor_view *safetensors_at(const struct safetensors *file, int i);

const struct tensor_view *safetensors_find(const struct safetensors *file, const char *name); /* NULL: not found */
const char *safetensors_metadata(const struct safetensors *file, const char *key);            /* NULL: not found */

/* Fails if the file has no checksum. For files that are written with one: damage may have removed it. (A checksum that
 * is present is verified when the file is opened; files of other tools have none.) */
unroll_status safetensors_must_have_checksum(const struct safetensors *file, const char *name_for_errors);

/* Writes a file atomically. Equal tensors and metadata give equal bytes in any order. A checksum of names, types,
 * shapes, data and metadata, independent of their layout, is added to the metadata. */
unroll_status safetensors_write(const char *path, const struct tensor_view *tensors, int count,
                                const struct metadata *metadata, int metadata_count);
