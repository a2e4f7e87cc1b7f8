/* Parses the header of a .npy, the text of a Python dict with three keys:
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (90, 2), }
 * Also used by the command, which reads arrays from streams. The bytes around the text are handled in io/npy.c. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define NPY_MAGIC "\x93NUMPY"

enum { NPY_RANK = 8 };

struct npy_header {
    char type[16]; /* "<f4" */
    bool fortran;
    int rank;
    uint64_t shape[NPY_RANK];
};

/* Parses the text up to `end`. Returns false if it is not this dict or the array has too many axes. */
bool npy_read_header(const char *text, const char *end, struct npy_header *header);
