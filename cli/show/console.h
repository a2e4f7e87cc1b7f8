/* Messages, errors and one live line on standard error, while the command works; and the formatting of numbers.
 * Commands print results to standard output. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/try.h"
#include "unroll.h"

/* Enables the live line and color (unless NO_COLOR) on a terminal. Call once, before messages. */
void console_open(bool quiet);
bool console_is_live(void);
/* Mutes a rank whose output would repeat rank 0's. The last error is kept, and printed by unmute, prefixed with the
 * rank unless it is -1. */
void console_mute(void);
void console_unmute(int rank);
/* Unmutes a process that becomes rank 0. */
void console_lead(bool quiet);
/* Holds errors until console_release, which prints the last one or none. */
void console_hold(void);
void console_release(bool prints);

/* Prints one line; not with --quiet. */
/* Prints each line of a text as a note, with names of fields replaced by options of the command. */
void say_notes(const char *notes);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints one line, also with --quiet: information that users need to continue. */
void say_always(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the line at the bottom of the terminal, cut to its width, in place of the previous one. */
void say_live(const char *line);
void say_dim(const char *line);
void end_live(void);

/* Prints "error: ...", with the part from "fix: " on a separate line. Returns the status, so that callers can write
 * `return complain(UNROLL_USAGE, ...)`. */
unroll_status complain(unroll_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the library's message; nothing for UNROLL_OK. */
unroll_status complain_library(unroll_status status);
/* Returns the last error; empty: none. */
const char *last_complaint(void);

/* Writes a path as a word of a command to copy: quoted if a shell would interpret it, with ./ if it would be an
 * option. Truncated if too long. */
const char *as_word(char *text, size_t size, const char *path);

enum { NUMBER_TEXT = 40 };

/* Write to text[NUMBER_TEXT] and return it: 1,234,567; 71.2k; 41 MB; 1:02:37. */
const char *with_commas(char *text, int64_t value);
const char *with_prefix(char *text, double value);
const char *as_bytes(char *text, double bytes);
const char *as_clock(char *text, double seconds);
