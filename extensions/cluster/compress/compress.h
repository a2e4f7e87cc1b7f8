/* Compressors: encode a matrix of floats in fewer bytes. One file each, and a row of compress_table.c. The sender
 * keeps the error of a code and adds it the next time (error feedback); compressors are unaware of this. */
#ifndef PARALLEL_COMPRESS_H
#define PARALLEL_COMPRESS_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* rows * columns floats, row by row; a bias has one row for each gate. */
struct matrix {
    size_t rows, columns;
    double level; /* the number after the colon */
};

struct compressor {
    const char *name, *about;
    bool loses;                               /* lossy */
    bool varies;                              /* a code may be shorter than `most` */
    double min, max;                          /* of the level; 0, 0: no level */
    const char *level;                        /* description of the level, "K ..": for messages and help */
    size_t (*most)(const struct matrix *);    /* maximum bytes of a code */
    size_t (*scratch)(const struct matrix *); /* bytes of scratch for encoding and decoding; NULL: none */
    size_t (*encode)(const struct matrix *, const float *x, void *scratch,
                     void *code); /* returns its bytes, a multiple of 4 */
    /* to += factor * decoded values. Returns false if the code is not valid for this matrix. */
    bool (*decode)(const struct matrix *, const void *code, size_t bytes, float factor, void *scratch, float *to);
};

extern const struct compressor compress_rows, compress_half, compress_topk, compress_lowrank;

const struct compressor *compressor_at(int index); /* NULL after the last */
const char *compressor_name(int index, const char **about);
/* Parses "topk:0.01"; for NULL and "none", *compressor is NULL. */
unroll_status compressor_read(const char *text, const struct compressor **compressor, double *level);

#endif
