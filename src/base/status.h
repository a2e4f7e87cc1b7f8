/* Errors: a status for the calling code and one sentence for the user. The function that detects an error calls fail();
 * its callers only pass the status on. Nothing is printed here. */
#pragma once
#include "base/try.h"
#include "unroll.h"

/* unroll_status fail(unroll_status status, const char *format, ...)
 * Stores the message for unroll_last_error() of this thread and returns `status`. unroll_last_error() itself may be an
 * argument, to put words before it. fail is a macro, so that the compiler can infer that `return fail(UNROLL_DATA,
 * ...)` is not UNROLL_OK and does not warn about unset outputs. */
#define fail(status, ...) (set_error(__VA_ARGS__), (status))

/* The fix of errors that only a bug in this library can cause. */
#define REPORT_BUG "report this bug with the network and the options"

void set_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds a line to unroll_last_notes(). Library functions that read data clear the notes first. */
void add_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void clear_notes(void);

/* Lists the names that name_of(0), name_of(1), ... return until NULL: "a, b, c". Returns text. */
const char *list_names(const char *(*name_of)(int index), char *text, size_t size);
