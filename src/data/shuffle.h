/* A random order of n things that nobody keeps: which is at a place is a function of the key and the place alone. A
 * Feistel network over Philox permutes a power of four that is at least n; who lands at n or beyond walks on until it
 * is below (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). Not for cryptography. */
#ifndef DATA_SHUFFLE_H
#define DATA_SHUFFLE_H
#include <stdint.h>

/* 0 .. n-1, each at one place 0 .. n-1. Orders of other seeds, streams (what is ordered) and epochs are others. */
uint64_t shuffle_at(uint64_t seed, uint32_t stream, uint64_t epoch, uint64_t n, uint64_t place);

#endif
