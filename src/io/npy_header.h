/* Reads the header of a .npy from any source of bytes: a signature, a version, a length and the text of a Python dict,
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (90, 2), }
 * Used by all readers of NumPy arrays, also by the command, which reads them from streams. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_MAGIC "\x93NUMPY"

enum { NPY_RANK = 8 };

struct npy_header {
    char type[16]; /* "<f4" */
    bool fortran;
    int rank;
    uint64_t shape[NPY_RANK];
};

/* Reads exactly `count` bytes. False: fewer are left, or the source failed. */
typedef bool npy_read(void *source, void *to, size_t count);

/* Reads up to the first element. False: *error says what the array lacks, with a fix, or is "" if `read` returned
 * false. */
bool npy_read_header(npy_read *read, void *source, struct npy_header *header, const char **error);
