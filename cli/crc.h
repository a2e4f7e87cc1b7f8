/* CRC-32C (Castagnoli, reflected): of TensorBoard's records, of lines of metrics and of saved settings. Any damage
 * within four bytes is seen, any other but for one in 2^32. */
#ifndef CLI_CRC_H
#define CLI_CRC_H
#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t count);

#endif
