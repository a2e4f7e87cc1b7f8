/* CRC-32C (Castagnoli, reflected), for TensorBoard's records, lines of metrics and saved settings. It detects every
 * error within four bytes, and all but one in 2^32 of the others. */
#pragma once
#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t count);
