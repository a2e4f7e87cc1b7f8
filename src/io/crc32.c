/* CRC-32 of eight bytes at a time, each with its own table, so that the lookups do not depend on each other. */
#include "io/crc32.h"

#include "base/bytes.h"

void crc32_begin(struct crc32 *crc)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        crc->table[0][i] = value;
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++) {
            uint32_t before = crc->table[k - 1][i];
            crc->table[k][i] = before >> 8 ^ crc->table[0][before & 0xff];
        }
}

uint32_t crc32_add(const struct crc32 *crc, uint32_t before, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint32_t value = ~before;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word = get_number(at, 8) ^ value;
        value = 0;
        for (int k = 0; k < 8; k++) value ^= crc->table[7 - k][word >> 8 * k & 0xff];
    }
    for (; count > 0; count--, at++) value = value >> 8 ^ crc->table[0][(value ^ *at) & 0xff];
    return ~value;
}
