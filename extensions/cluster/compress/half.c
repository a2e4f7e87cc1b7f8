/* half: each value as bf16, two per word. */
#include "base/dtype.h"
#include "extensions/cluster/compress/compress.h"

static size_t most(const struct matrix *m) { return (m->rows * m->columns + 1) / 2 * 4; }

static size_t encode(const struct matrix *m, const float *x, void *scratch, void *code)
{
    uint16_t *to = code;
    (void)scratch;
    for (size_t i = 0; i < m->rows * m->columns; i++) to[i] = f32_to_bf16(x[i]);
    if (m->rows * m->columns % 2)
        to[m->rows * m->columns] = 0;
    return most(m);
}

static bool decode(const struct matrix *m, const void *code, size_t bytes, float factor, void *scratch, float *to)
{
    const uint16_t *from = code;
    (void)scratch;
    if (bytes != most(m))
        return false;
    for (size_t i = 0; i < m->rows * m->columns; i++) to[i] += factor * bf16_to_f32(from[i]);
    return true;
}

const struct compressor compress_half = {
    .name = "half", .about = "bf16", .loses = true, .most = most, .encode = encode, .decode = decode};
