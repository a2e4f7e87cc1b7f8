/* Incremental CRC-32 of zip and gzip (reflected polynomial 0xedb88320). Runs use CRC-32C instead (cli/run/crc.h). */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct crc32 {
    uint32_t table[8][256]; /* [k][b]: CRC of byte b followed by k zero bytes */
};

void crc32_begin(struct crc32 *crc);
/* Returns the CRC of the bytes so far plus `count` more. `before` is the CRC so far, initially 0. */
uint32_t crc32_add(const struct crc32 *crc, uint32_t before, const void *bytes, size_t count);
