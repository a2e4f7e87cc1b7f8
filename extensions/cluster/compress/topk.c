/* topk:K: the K largest values of each matrix with their indices; below 1, K is a fraction (Lin et al., arXiv
 * 1712.01887, without its momentum). */
#include "base/dtype.h"
#include "extensions/cluster/compress/compress.h"
#include <string.h>

enum { BINS = 1 << 16 };

static size_t kept(const struct matrix *m)
{
    const size_t count = m->rows * m->columns;
    const double k = m->level < 1 ? m->level * (double)count : m->level;
    return k<1 ? 1 : k>(double) count ? count : (size_t)k;
}

static size_t most(const struct matrix *m) { return kept(m) * (sizeof(uint32_t) + sizeof(float)); }

static size_t scratch(const struct matrix *m)
{
    (void)m;
    return BINS * sizeof(uint32_t);
}

static uint32_t magnitude(float x) { return f32_to_bits(x) & 0x7fffffffu; }

/* Returns the largest bin with at least `wanted` values in it or above; *wanted becomes the number needed from this
 * bin. */
static uint32_t find_bin(const uint32_t *bin, size_t *wanted)
{
    uint32_t i = BINS - 1;
    for (; i > 0 && bin[i] < *wanted; i--) *wanted -= bin[i];
    return i;
}

/* Returns the bits of the K-th largest magnitude, first the upper half, then the lower; *equal: how many values of
 * that magnitude are among the K. */
static uint32_t threshold(const float *x, size_t count, size_t k, uint32_t *bin, size_t *equal)
{
    memset(bin, 0, BINS * sizeof *bin);
    for (size_t i = 0; i < count; i++) bin[magnitude(x[i]) >> 16]++;
    const uint32_t upper = find_bin(bin, &k);
    memset(bin, 0, BINS * sizeof *bin);
    for (size_t i = 0; i < count; i++)
        if (magnitude(x[i]) >> 16 == upper)
            bin[magnitude(x[i]) & 0xffff]++;
    const uint32_t lower = find_bin(bin, &k);
    *equal = k;
    return upper << 16 | lower;
}

static size_t encode(const struct matrix *m, const float *x, void *scratch, void *code)
{
    const size_t count = m->rows * m->columns, k = kept(m);
    size_t equal, at = 0;
    const uint32_t least = threshold(x, count, k, scratch, &equal);
    uint32_t *place = code;
    float *number = (float *)(place + k);
    for (size_t i = 0; i < count && at < k; i++) {
        const uint32_t size = magnitude(x[i]);
        if (size < least || (size == least && equal == 0))
            continue;
        equal -= size == least;
        place[at] = (uint32_t)i;
        number[at++] = x[i];
    }
    return most(m);
}

static bool decode(const struct matrix *m, const void *code, size_t bytes, float factor, void *scratch, float *to)
{
    const size_t k = kept(m);
    const uint32_t *place = code;
    const float *number = (const float *)(place + k);
    (void)scratch;
    if (bytes != most(m))
        return false;
    for (size_t i = 0; i < k; i++) {
        if (place[i] >= m->rows * m->columns)
            return false;
        to[place[i]] += factor * number[i];
    }
    return true;
}

const struct compressor compress_topk = {.name = "topk",
                                         .about = "topk:K, the K largest numbers of each matrix, K < 1: that share",
                                         .loses = true,
                                         .min = 1e-6,
                                         .max = 1 << 30,
                                         .level = "K is a share of the numbers below 1, or how many",
                                         .most = most,
                                         .scratch = scratch,
                                         .encode = encode,
                                         .decode = decode};
