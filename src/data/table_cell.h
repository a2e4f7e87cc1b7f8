/* What the bytes of one cell of a table are: missing, a number, a time. Not what its column is (column_types.c). */
#ifndef DATA_TABLE_CELL_H
#define DATA_TABLE_CELL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "data/dataset.h"

/* "", NA, N/A, NaN, null, ? and the like. */
bool cell_is_missing(const char *bytes, size_t length);
bool cell_is_empty(const char *bytes, size_t length); /* nothing, or blanks */
/* A decimal number and nothing else but blanks around it. */
bool cell_number(const char *bytes, size_t length, double *value);

/* ---- number_cell.c: numbers as people write them ---- */

/* 1,234.5 or 12 352,9 or 12'352.9, (62.1) or 62.1- for a negative one, U+2212 as minus, with a unit: $7, 30%, 12.3 kg.
 */
struct written {
    double value;
    char mark;        /* the decimal mark, '.' or ',', where there is no doubt about it; else 0 */
    char doubt;       /* '.' or ',' that may be the decimal mark, or divide thousands: 1,234 */
    const char *unit; /* [unit_length]; NULL: there is none */
    size_t unit_length;
    bool spaced; /* a blank is before the unit */
};

/* decimal: '.' or ',': which of them is the decimal mark; 0: either, and the value is that of a doubtful one with a
 * decimal mark. */
bool cell_written(const char *bytes, size_t length, char decimal, struct written *written);

/* ---- time_cell.c ---- */

struct time_read {
    double seconds; /* since 1970 */
    int digits;     /* of the fraction of a second */
    bool zoned;
    int zone; /* minutes */
};

/* A time that is no number; UTC where it says nothing. Free: 2016-07, 2016-07-01, 2016-07-01T12:30:05.25+02:00,
 * 2016/07/01, Oct 27, 2023, 27-Oct-2023 1:05 PM, 2000Q1. */
bool cell_time(const char *bytes, size_t length, enum time_form form, struct time_read *read);
/* The time that a number stands for. */
bool number_time(double value, enum time_form form, double *seconds);

void time_calendar(double seconds, int *year, int *month, int *day);

enum { TIME_TEXT = 48 };
/* "2016-07-01 12:30:05", without the time of day where it is midnight: as `style` has it. Returns text. */
const char *time_text(double time, const struct time_style *style, char text[TIME_TEXT]);

#endif
