/* safetensors files: named arrays behind a JSON header (github.com/huggingface/safetensors).
 * A file is checked completely when it is opened; afterwards every view lies inside its bytes.
 * Not a model: which names and shapes are wanted is for the importer to check. */
#ifndef FILE_SAFETENSORS_H
#define FILE_SAFETENSORS_H
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "file/tensor_view.h"

enum { SAFETENSORS_LARGEST_HEADER = 100000000 };

struct metadata {
    const char *key, *value;
};

struct safetensors;

/* Reads the whole file. */
unroll_status safetensors_open(const char *path, struct safetensors **file);

/* The same for bytes in memory, which are borrowed until safetensors_close. */
unroll_status safetensors_parse(const void *bytes, size_t size, const char *name_for_errors, struct safetensors **file);
void safetensors_close(struct safetensors *file); /* NULL is allowed */

/* In the order of their bytes. Views, names and metadata live until safetensors_close. */
int safetensors_count(const struct safetensors *file);
const struct tensor_view *safetensors_at(const struct safetensors *file, int i);

const struct tensor_view *safetensors_find(const struct safetensors *file, const char *name); /* or NULL */
const char *safetensors_metadata(const struct safetensors *file, const char *key);            /* or NULL */

/* A checksum that is there was compared when the file was opened; files of other tools have none. Of files that have
 * one when they are whole: a damage may have hidden it. */
unroll_status safetensors_must_have_checksum(const struct safetensors *file, const char *name_for_errors);

/* Equal tensors and metadata, in whatever order, give equal bytes. Appears under `path` whole or not
 * at all. The metadata get a checksum of all that the file says: names, types, shapes and bytes of the tensors and
 * the rest of the metadata, however they are laid out. */
unroll_status safetensors_write(const char *path, const struct tensor_view *tensors, int count,
                                const struct metadata *metadata, int metadata_count);

#endif
