/* What people see while the command works: messages, errors and one live line, all on standard error.
 * Also how numbers look. Not results: those are printed to standard output by the commands. */
#ifndef CLI_CONSOLE_H
#define CLI_CONSOLE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/try.h"
#include "unroll.h"

/* A terminal gets the live line and colour (without NO_COLOR); call once, before messages. */
void console_open(bool quiet);
bool console_is_live(void);
/* Of ranks that do as rank 0 does: prints nothing more. The last error is kept, and printed by unmute, with the rank in
 * front of it unless that is -1. */
void console_mute(void);
void console_unmute(int rank);
/* What was muted leads from now on. */
void console_lead(bool quiet);
/* Errors are not printed before it is known that they are any: then the last one is, or none. */
void console_hold(void);
void console_release(bool prints);

/* One line; not with --quiet. */
/* Each line of a text as a note, with options of the command for the names of fields. */
void say_notes(const char *notes);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line, also with --quiet: what somebody must know to go on. */
void say_always(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The line at the bottom of the terminal, cut to its width; the last one is replaced. */
void say_live(const char *line);
void say_dim(const char *line);
void end_live(void);

/* "error: ..." with what begins at "fix: " on a line of its own. Returns the status, so that
 * `return complain(UNROLL_USAGE, ...)` is all that the first decider has to do. */
unroll_status complain(unroll_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the library's own words; of UNROLL_OK there are none. */
unroll_status complain_library(unroll_status status);
/* What was said last; empty: nothing. */
const char *last_complaint(void);

/* A path as a word of a command to copy, in quotes where a shell would take it apart, behind ./ where it would be
 * an option. Cut when it is too long. */
const char *as_word(char *text, size_t size, const char *path);

enum { NUMBER_TEXT = 40 };

/* Into text[NUMBER_TEXT], which is returned: 1,234,567; 71.2k; 41 MB; 1:02:37. */
const char *with_commas(char *text, int64_t value);
const char *with_prefix(char *text, double value);
const char *as_bytes(char *text, double bytes);
const char *as_clock(char *text, double seconds);

#endif
