/* rows: the nonzero rows of a matrix, uncompressed; for an embedding, those that a batch used. A matrix with few
 * zero rows is sent whole. Lossless. */
#include "extensions/cluster/compress/compress.h"
#include <string.h>

static const uint32_t all_rows = UINT32_MAX;

static size_t most(const struct matrix *m) { return sizeof(uint32_t) + m->rows * m->columns * sizeof(float); }

static bool is_used(const float *row, size_t columns)
{
    size_t i = 0;
    while (i < columns && row[i] == 0) i++;
    return i < columns;
}

/* Writes the number of rows, or all_rows; then each row with its index, or all values. */
static size_t encode(const struct matrix *m, const float *x, void *scratch, void *code)
{
    const size_t row = m->columns * sizeof *x;
    unsigned char *to = (unsigned char *)code + sizeof(uint32_t);
    uint32_t used = 0;
    (void)scratch;
    for (size_t i = 0; i < m->rows; i++) used += is_used(x + i * m->columns, m->columns);
    if (used * (row + sizeof used) >= m->rows * row) {
        memcpy(code, &all_rows, sizeof all_rows);
        memcpy(to, x, m->rows * row);
        return most(m);
    }
    memcpy(code, &used, sizeof used);
    for (uint32_t i = 0; i < m->rows; i++) {
        if (!is_used(x + i * m->columns, m->columns))
            continue;
        memcpy(to, &i, sizeof i);
        memcpy(to + sizeof i, x + i * m->columns, row);
        to += sizeof i + row;
    }
    return (size_t)(to - (unsigned char *)code);
}

static void add_row(const unsigned char *from, size_t count, float factor, float *to)
{
    for (size_t i = 0; i < count; i++) {
        float x;
        memcpy(&x, from + i * sizeof x, sizeof x);
        to[i] += factor * x;
    }
}

/* Adds factor * rows of a code to `to`; returns false if the code is invalid. */
static bool decode(const struct matrix *m, const void *code, size_t bytes, float factor, void *scratch, float *to)
{
    const size_t row = m->columns * sizeof *to;
    const unsigned char *from = code;
    uint32_t used, index;
    (void)scratch;
    if (bytes < sizeof used)
        return false;
    memcpy(&used, from, sizeof used);
    from += sizeof used;
    if (used == all_rows) {
        if (bytes == most(m))
            add_row(from, m->rows * m->columns, factor, to);
        return bytes == most(m);
    }
    if (used > m->rows || bytes != sizeof used + used * (sizeof index + row))
        return false;
    for (; used-- > 0; from += sizeof index + row) {
        memcpy(&index, from, sizeof index);
        if (index >= m->rows)
            return false;
        add_row(from + sizeof index, m->columns, factor, to + index * m->columns);
    }
    return true;
}

const struct compressor compress_rows = {.name = "rows",
                                         .about = "rows that are not zero, of an embedding those that were used: exact",
                                         .varies = true,
                                         .most = most,
                                         .encode = encode,
                                         .decode = decode};
