/* Results: one JSON object on one line of standard output, and files that appear whole. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H
#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>

#include "unroll.h"

/* Takes the object over; NULL: it could not be made. */
unroll_status print_json(json_t *object);

/* null where JSON has no such number: NaN, infinities. */
json_t *json_finite(double number);

/* The names in a directory, one a call, NULL after the last, and then *entries is NULL again, as it is to begin with.
 * Of a directory that can't be read there are none. */
const char *next_name(const char *directory, DIR **entries);

bool exists(const char *path);
bool is_directory(const char *path);

/* Writes path.tmp, syncs and renames it: a kill or a full disk leaves the old file. Prints what is wrong. */
unroll_status replace_file(const char *path, const char *bytes, size_t count);

/* Refuses to write the file `target` over the file `source`, which is read, and a target of -, which only a plot
 * may have. NULL: there is none. */
unroll_status output_spares(const char *target, const char *source);

#endif
