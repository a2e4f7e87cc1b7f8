/* Results: one JSON object on one line of standard output, and files that are written whole or not at all. */
#pragma once
#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>

#include "unroll.h"

/* Prints and frees the object; NULL means that it could not be made. */
unroll_status print_json(json_t *object);

/* Returns null for numbers that JSON cannot represent: NaN and infinities. */
json_t *json_finite(double number);

/* Returns the names in a directory, one per call, and NULL after the last. *entries must be NULL at first, and is
 * NULL again at the end. Returns no names if the directory cannot be read. */
const char *next_name(const char *directory, DIR **entries);

bool exists(const char *path);
bool is_directory(const char *path);

/* Writes path.tmp, syncs and renames it, so that a kill or a full disk leaves the old file. Prints errors. */
unroll_status replace_file(const char *path, const char *bytes, size_t count);

/* Refuses to write the file `target` over the input `source`, and a target of "-", which only a plot may have. NULL:
 * there is none. */
unroll_status output_spares(const char *target, const char *source);
