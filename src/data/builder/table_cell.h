/* Parses the bytes of one table cell: missing, a number or a time. column_types.c determines the type of a column. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "data/dataset.h"

/* True for "", NA, N/A, NaN, null, ? and similar words. */
bool cell_is_missing(const char *bytes, size_t length);
bool cell_is_empty(const char *bytes, size_t length); /* empty or only spaces */
/* Parses a decimal number; nothing but spaces may surround it. */
bool cell_number(const char *bytes, size_t length, double *value);
/* The same; *fraction: digits after the decimal point. */
bool cell_digits(const char *bytes, size_t length, double *value, int *fraction);

/* ---- number_cell.c: formatted numbers ---- */

/* A number such as 1,234.5 or 12 352,9 or 12'352.9; negative: (62.1) or 62.1- or U+2212 as minus; with a unit: $7, 30%,
 * 12.3 kg. */
struct written {
    double value;
    char mark;        /* the decimal mark, '.' or ',', if unambiguous; else 0 */
    char doubt;       /* '.' or ',' that is either the decimal mark or a separator: 1,234 */
    const char *unit; /* [unit_length]; NULL: none */
    size_t unit_length;
    bool spaced; /* a space before the unit */
};

/* decimal: '.' or ',', the decimal mark; 0: either of them, and an ambiguous mark counts as the decimal mark. */
bool cell_written(const char *bytes, size_t length, char decimal, struct written *written);

/* ---- time_cell.c ---- */

struct time_read {
    double seconds; /* since 1970 */
    int digits;     /* of the fraction of a second */
    bool zoned;
    int zone; /* minutes */
};

/* Parses a written time, in UTC if it has no zone. The free form is one of 2016-07, 2016-07-01,
 * 2016-07-01T12:30:05.25+02:00, 2016/07/01, Oct 27, 2023, 27-Oct-2023 1:05 PM, 2000Q1. */
bool cell_time(const char *bytes, size_t length, enum time_form form, struct time_read *read);
/* Converts a number to the time that it means. */
bool number_time(double value, enum time_form form, double *seconds);

/* Returns for example "milliseconds since 1970"; NULL for written times. */
const char *time_form_name(enum time_form form);

/* Returns the most common distance of the first times, in seconds; NAN: fewer than two. */
double time_interval(const double *times, size_t count);

/* Writes an interval as people say it: "month", "2 hours"; "" if it is no positive number. Returns the text. */
enum { INTERVAL_TEXT = 32 };
const char *interval_words(double seconds, char text[INTERVAL_TEXT]);

void time_calendar(double seconds, int *year, int *month, int *day);

enum { TIME_TEXT = 48 };
/* Writes "2016-07-01 12:30:05" in the form of `style`, without the time of day at midnight. Returns text. */
const char *time_text(double time, const struct time_style *style, char text[TIME_TEXT]);
