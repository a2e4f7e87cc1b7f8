/* Compressors: a matrix of numbers as fewer bytes. One file each, and a row of compress_table.c. What a code lacks of
 * the numbers is kept by who sends it, and added the next time (error feedback); no compressor knows of that. */
#ifndef PARALLEL_COMPRESS_H
#define PARALLEL_COMPRESS_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* rows * columns numbers, row by row; a bias has as many rows as gates. */
struct matrix {
    size_t rows, columns;
    double level; /* what is behind the colon */
};

struct compressor {
    const char *name, *about;
    bool loses;                               /* a code lacks something */
    bool varies;                              /* a code may be shorter than `most` */
    double min, max;                          /* of the level; 0, 0: none is given */
    const char *level;                        /* "K", what it is: for messages and help */
    size_t (*most)(const struct matrix *);    /* bytes of a code, at most */
    size_t (*scratch)(const struct matrix *); /* bytes that encoding and decoding want; NULL: none */
    size_t (*encode)(const struct matrix *, const float *x, void *scratch,
                     void *code); /* its bytes, in multiples of 4 */
    /* to += factor * what the code says. False: it is none of such a matrix. */
    bool (*decode)(const struct matrix *, const void *code, size_t bytes, float factor, void *scratch, float *to);
};

extern const struct compressor compress_rows, compress_half, compress_topk, compress_lowrank;

const struct compressor *compressor_at(int index); /* NULL after the last */
/* "topk:0.01"; NULL and "none": *compressor is NULL. */
unroll_status compressor_read(const char *text, const struct compressor **compressor, double *level);

#endif
