/* Numbers that people and files write as text: the one reader of them, also the command's, which sees nothing else of
 * the library's insides. An integer is digits behind a '-' or nothing; a real may have a sign, a point and an exponent.
 * Blanks, hex, inf and nan are no numbers; what is too large is said to be so and never wraps. The locale does not
 * count. Not JSON: jansson reads that; its integers are narrowed in json.h. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H
#include <stdint.h>

enum number_state {
    NUMBER_OK,
    NUMBER_NONE,    /* there stands no number, or more than one */
    NUMBER_OUTSIDE, /* of what is allowed */
};

/* The number that the text at *at begins with, in least..most, both allowed. *at is moved behind it, and stays where
 * there is none. end: one past the text, or NULL if a zero ends it. *value counts with NUMBER_OK alone. */
enum number_state number_integer(const char **at, const char *end, int64_t min, int64_t max, int64_t *value);
enum number_state number_real(const char **at, double min, double max, double *value);

/* The text is this number and nothing else. */
enum number_state number_whole_integer(const char *text, int64_t min, int64_t max, int64_t *value);
enum number_state number_whole_real(const char *text, double min, double max, double *value);

#endif
