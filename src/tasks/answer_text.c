#include "tasks/answer_text.h"

#include <math.h>

enum { FEW = 6, USUAL = 8, MOST = 15 };

/* Digits before the point. */
static int whole_digits(double value)
{
    const double size = fabs(value);
    return isfinite(size) && size >= 1 ? (int)floor(log10(size)) + 1 : 1;
}

void print_number(double value, FILE *file)
{
    const int whole = whole_digits(value), wanted = whole > 4 ? USUAL : FEW;
    fprintf(file, "%.*g", whole >= wanted ? (whole < MOST ? whole + 1 : MOST) : wanted, value);
}

static int most_digits(const json_t *value, int most)
{
    const char *key;
    json_t *item;
    size_t i;
    if (json_is_real(value)) {
        const int digits = whole_digits(json_real_value(value)) + 2;
        return digits > most ? digits : most;
    }
    json_object_foreach((json_t *)value, key, item) most = most_digits(item, most);
    json_array_foreach(value, i, item) most = most_digits(item, most);
    return most;
}

int answer_digits(const json_t *answer)
{
    const int digits = most_digits(answer, USUAL);
    return digits < MOST ? digits : MOST;
}
