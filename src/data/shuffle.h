/* A random order of n things without a stored table: the thing at a place is a function of the key and the place. A
 * Feistel network over Philox permutes a power of four that is at least n; a result of n or more is permuted again
 * until it is below n (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). Not for
 * cryptography. */
#pragma once
#include <stdint.h>

/* Returns 0 .. n-1, each at one place of 0 .. n-1. Other seeds, streams (what is ordered) and epochs give other
 * orders. */
uint64_t shuffle_at(uint64_t seed, uint32_t stream, uint64_t epoch, uint64_t n, uint64_t place);
