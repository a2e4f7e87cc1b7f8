/* Little-endian integers in files. The pointers need no alignment. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Reads an unsigned integer of `bytes` bytes, 1 to 8. */
static inline uint64_t get_number(const void *from, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++) number |= (uint64_t)((const unsigned char *)from)[i] << 8 * i;
    return number;
}

static inline void put_number(void *to, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = (unsigned char)(number >> 8 * i);
}
