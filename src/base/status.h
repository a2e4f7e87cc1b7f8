/* Failing: a status for the caller's code and one sentence for its reader.
 * Whoever first decides that something is wrong calls fail(); callers above only pass the status on.
 * Not a log: nothing is printed here. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H
#include "base/try.h"
#include "unroll.h"

/* unroll_status fail(unroll_status status, const char *format, ...)
 * keeps the sentence for unroll_last_error() of this thread and gives back `status`. The arguments may
 * contain unroll_last_error() itself, to put words before it. A macro, so that the compiler sees that
 * `return fail(UNROLL_DATA, ...)` is not UNROLL_OK and outputs need not be set. */
#define fail(status, ...) (set_error(__VA_ARGS__), (status))

void set_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line more for unroll_last_notes(). Functions of the library that read data begin with no notes. */
void add_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void clear_notes(void);

/* "a, b, c" for a sentence, of names that a function gives by their number up to NULL. Returns text. */
const char *list_names(const char *(*name_of)(int index), char *text, size_t size);

#endif
