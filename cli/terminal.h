/* Names and texts of data come from anywhere: bytes that would command a terminal are printed as '?'. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H
#include <stdbool.h>
#include <stddef.h>

/* Replaces control characters, but for line ends and tabs. *before: the byte before the first (0 at the beginning), for
 * a character that is cut. */
void make_harmless(char *bytes, size_t count, unsigned char *before);

/* From now on standard output goes through it: always, or only if it is a terminal. Call once, before the first
 * output. */
void terminal_open(bool always);

#endif
