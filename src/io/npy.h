/* NumPy's files: .npy, one array after a small header, and .npz, a zip archive of uncompressed .npy files
 * (numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3). Compressed archives and archives
 * beyond 4 GiB are refused. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "io/tensor_view.h"

/* Parses a .npy in memory, which is borrowed: the view's data points into it, and its name is `name`. Returns
 * UNROLL_UNSUPPORTED for big-endian values, types that are not in DTYPE_LIST and Fortran-ordered arrays of rank > 1,
 * UNROLL_DATA for a damaged file. */
unroll_status npy_parse(const void *bytes, size_t size, const char *name, struct tensor_view *tensor);

/* Finds the type of the elements from NumPy's description, such as "<f4". Returns false for other types. */
bool npy_dtype(const char *description, enum dtype *dtype, bool *big_endian);

struct npz;

/* Reads a whole .npz, or a .npy as an archive with one array named "". The checksum of each array is verified. */
unroll_status npz_open(const char *path, struct npz **file);

/* Parses an archive in memory, which is borrowed until npz_close. */
unroll_status npz_parse(const void *bytes, size_t size, const char *name_for_errors, struct npz **file);
void npz_close(struct npz *file); /* NULL is a no-op */

/* Arrays in the order of the archive, without ".npy" in their names. Views are valid until npz_close. */
int npz_count(const struct npz *file);
const struct tensor_view *npz_at(const struct npz *file, int i);
const struct tensor_view *npz_find(const struct npz *file, const char *name); /* NULL: not found */

/* Write files of version 1.0 atomically, with the data aligned to 64 bytes. BF16 is refused, because NumPy has no such
 * type. */
unroll_status npy_write(const char *path, const struct tensor_view *tensor);
unroll_status npz_write(const char *path, const struct tensor_view *tensors, int count);
