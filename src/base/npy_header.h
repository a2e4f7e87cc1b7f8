/* The header of a .npy: the text of a Python dict of three keys, such as
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (90, 2), }
 * One reader of it, also the command's, which reads arrays as they come. What lies before and behind: file/npy.c. */
#ifndef BASE_NPY_HEADER_H
#define BASE_NPY_HEADER_H
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

/* The text up to `end`; false: it is not this dict, or the array has more axes. */
bool npy_read_header(const char *text, const char *end, struct npy_header *header);

#endif
