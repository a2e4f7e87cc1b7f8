/* FNV-1a (Fowler, Noll, Vo), 64 bits, to compare programs, texts and configurations. A hash starts from HASH_BEGIN or
 * continues another one. Checkpoints store hash_words of their text. Collisions can be constructed, so it is not for
 * untrusted keys. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_BEGIN 0xcbf29ce484222325u

static inline uint64_t hash_number(uint64_t hash, uint64_t number) { return (hash ^ number) * 0x100000001b3u; }

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) hash = hash_number(hash, ((const unsigned char *)bytes)[i]);
    return hash;
}

/* Hashes 32 bits at a time. */
static inline uint64_t hash_words(uint64_t hash, const void *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, (const char *)words + i * sizeof word, sizeof word);
        hash = hash_number(hash, word);
    }
    return hash;
}

/* Hashes data of any size: whole 32-bit words, then the remaining bytes. */
static inline uint64_t hash_data(uint64_t hash, const void *data, size_t bytes)
{
    size_t words = bytes / sizeof(uint32_t);
    return hash_bytes(hash_words(hash, data, words), (const char *)data + words * sizeof(uint32_t),
                      bytes % sizeof(uint32_t));
}

/* Hashes large data quickly, in four lanes of 8 bytes. This is not FNV and differs from hash_data. */
static inline uint64_t hash_wide(uint64_t hash, const void *data, size_t bytes)
{
    uint64_t lane[4] = {hash, hash + 1, hash + 2, hash + 3}, word;
    size_t at = 0;
    for (; at + sizeof lane <= bytes; at += sizeof lane)
        for (size_t i = 0; i < 4; i++) {
            memcpy(&word, (const char *)data + at + i * sizeof word, sizeof word);
            lane[i] = (lane[i] ^ word) * 0x9e3779b97f4a7c15u;
            lane[i] ^= lane[i] >> 29;
        }
    hash = hash_bytes(hash, (const char *)data + at, bytes - at);
    for (size_t i = 0; i < 4; i++) hash = hash_number(hash, lane[i]) ^ hash >> 31;
    return hash_number(hash, bytes);
}

/* Includes the final zero. NULL hashes like "". */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_number(text ? hash_bytes(hash, text, strlen(text)) : hash, 0);
}
