/* The one parser of numbers in options and files. The command includes this header too. An integer is an optional '-'
 * and digits; a real may have a sign, a point and an exponent. Blanks, hex, inf and nan are refused; values out of
 * range are reported and never wrap. The locale has no effect. JSON numbers are parsed by jansson and narrowed in
 * json.h. */
#pragma once
#include <stdint.h>

enum number_state {
    NUMBER_OK,
    NUMBER_NONE,    /* no number, or more than one */
    NUMBER_OUTSIDE, /* outside the allowed range */
};

/* Parses the number at *at, in min..max inclusive, and moves *at to its end. If there is no number, *at is unchanged.
 * `end` is the end of the text; NULL if it is zero-terminated. *value is set only for NUMBER_OK. */
enum number_state number_integer(const char **at, const char *end, int64_t min, int64_t max, int64_t *value);
enum number_state number_real(const char **at, double min, double max, double *value);

/* The text must contain this number only. */
enum number_state number_whole_integer(const char *text, int64_t min, int64_t max, int64_t *value);
enum number_state number_whole_real(const char *text, double min, double max, double *value);
