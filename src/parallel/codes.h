/* Sums over a group of numbers that go as codes: each member sends its code to all others, and all add what the codes
 * say in the tree's order of members, so that they have the same bits. */
#ifndef PARALLEL_CODES_H
#define PARALLEL_CODES_H
#include "parallel/compress.h"
#include "parallel/policy.h"

enum { CODES_BESIDE = 2 }; /* numbers that go along as they are */

struct codes {
    const struct compressor *compressor;
    struct matrix *matrix; /* [shares] */
    float *residual;       /* what earlier codes lacked; NULL: they lack nothing */
    size_t most;           /* bytes of a message */
    unsigned char *out, *in;
    size_t sent; /* bytes of out */
    void *scratch;
    float **level; /* sums of 1, 2, 4 .. members on their way */
    int levels;
};

unroll_status codes_new(struct exchange *, const struct compressor *, double level, struct codes **);
void codes_free(struct codes *);
/* Of vectors of the exchange. begin keeps what it needs of `numbers`; end: the sum of all. */
unroll_status codes_begin(struct exchange *, const float *numbers, const double beside[CODES_BESIDE]);
unroll_status codes_end(struct exchange *, float *numbers, double beside[CODES_BESIDE]);
/* Bytes that a member sends in one sum, at most. */
double codes_bytes(const struct compressor *, double level, const struct plan *);

#endif
