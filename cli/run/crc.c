/* Bit by bit: only a few hundred bytes per second are summed. */
#include "cli/run/crc.h"

uint32_t crc32c(const void *bytes, size_t count)
{
    const uint8_t *byte = bytes;
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < count; i++) {
        crc ^= byte[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}
