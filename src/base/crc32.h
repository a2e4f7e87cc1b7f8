/* CRC-32 as zip and gzip have it (reflected 0xedb88320), of bytes as they come. Not CRC-32C, which runs keep
 * (cli/crc.h).
 */
#ifndef BASE_CRC32_H
#define BASE_CRC32_H
#include <stddef.h>
#include <stdint.h>

struct crc32 {
    uint32_t table[8][256]; /* [k][b]: of the byte b with k zero bytes behind it */
};

void crc32_begin(struct crc32 *crc);
/* Of more bytes behind those of `before`, which begins as 0. */
uint32_t crc32_add(const struct crc32 *crc, uint32_t before, const void *bytes, size_t count);

#endif
