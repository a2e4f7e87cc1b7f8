/* Compressed sums over a group: each member sends its code to all others, and all add the decoded values in the
 * tree's order of members, so that they get the same bits. */
#ifndef PARALLEL_CODES_H
#define PARALLEL_CODES_H
#include "extensions/cluster/compress/compress.h"
#include "extensions/cluster/policies/policy.h"

enum { CODES_EXACT = 2 }; /* values sent uncompressed */

struct codes {
    const struct compressor *compressor;
    struct matrix *matrix; /* [shares] */
    float *residual;       /* error of earlier codes; NULL: lossless */
    size_t most;           /* bytes of a message */
    unsigned char *out, *in;
    size_t sent; /* bytes of out */
    void *scratch;
    float **level; /* partial sums of 1, 2, 4 .. members */
    int levels;
};

unroll_status codes_new(struct exchange *, const struct compressor *, double level, struct codes **);
void codes_free(struct codes *);
/* Sums vectors of the exchange. codes_begin copies what it needs of `numbers`; codes_end returns the sum of all. */
unroll_status codes_begin(struct exchange *, const float *numbers, const double exact[CODES_EXACT]);
unroll_status codes_end(struct exchange *, float *numbers, double exact[CODES_EXACT]);
/* Returns the maximum bytes that a member sends in one sum. */
double codes_bytes(const struct compressor *, double level, const struct update_vector *);

#endif
