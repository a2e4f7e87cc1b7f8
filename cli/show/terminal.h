/* Makes output safe: names and texts from data may contain bytes that control a terminal, which are printed as '?'. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Replaces control characters, except for line ends and tabs. *before: the byte before the first one (0 at the
 * beginning), in case a character is split between calls. */
void make_harmless(char *bytes, size_t count, unsigned char *before);

/* Filters standard output from now on: always, or only if it is a terminal. Call once, before the first output. */
void terminal_open(bool always);
