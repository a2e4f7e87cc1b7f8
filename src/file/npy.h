/* NumPy's files: .npy, one array behind a small header, and .npz, a zip archive of stored .npy files
 * (numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3).
 * Not a zip library: compressed archives, and those beyond 4 GiB, are refused. */
#ifndef FILE_NPY_H
#define FILE_NPY_H
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "file/tensor_view.h"

/* The array of a .npy in memory, which is borrowed: the view's data lie inside it, its name is the one
 * given. Big-endian numbers, other types than DTYPE_LIST has, and arrays of rank > 1 in Fortran's order are
 * UNROLL_UNSUPPORTED; a damaged file is UNROLL_DATA. */
unroll_status npy_parse(const void *bytes, size_t size, const char *name, struct tensor_view *tensor);

struct npz;

/* Reads a whole .npz, or a .npy as an archive of one array named "". Each array's checksum is compared. */
unroll_status npz_open(const char *path, struct npz **file);

/* The same for an archive in memory, which is borrowed until npz_close. */
unroll_status npz_parse(const void *bytes, size_t size, const char *name_for_errors, struct npz **file);
void npz_close(struct npz *file); /* NULL is allowed */

/* In the order of the archive. Views live until npz_close; names have no ".npy". */
int npz_count(const struct npz *file);
const struct tensor_view *npz_at(const struct npz *file, int i);
const struct tensor_view *npz_find(const struct npz *file, const char *name); /* or NULL */

/* Version 1.0, the data at a multiple of 64 bytes. BF16 is refused: NumPy has no such type. Files appear
 * whole or not at all. */
unroll_status npy_write(const char *path, const struct tensor_view *tensor);
unroll_status npz_write(const char *path, const struct tensor_view *tensors, int count);

#endif
