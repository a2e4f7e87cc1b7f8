/* What the bytes of one cell of a table are: missing, a number, a time. Not what its column is (column_types.c). */
#ifndef DATA_TABLE_CELL_H
#define DATA_TABLE_CELL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* "", NA, N/A, NaN, null, ? and the like. */
bool cell_is_missing(const char *bytes, size_t length);
/* A decimal number and nothing else but blanks around it. */
bool cell_number(const char *bytes, size_t length, double *value);
/* ISO 8601: 2016-07, 2016-07-01, 2016-07-01T12:30, 2016-07-01 12:30:05.25+02:00; UTC where it says nothing. Seconds
 * since 1970. */
bool cell_time(const char *bytes, size_t length, double *seconds);

enum { TIME_TEXT = 32 };
/* "2016-07-01 12:30:05", without the time of day where it is midnight. Returns text. */
const char *time_text(double seconds, char text[TIME_TEXT]);

#endif
