/* Parses formatted numbers ("1,234.5 kg"). The digits are copied without thousands separators, with a point as decimal
 * mark, and parsed as a plain number. */
#include <string.h>

#include "data/builder/table_cell.h"

enum { DIGITS = 64, UNIT_MAX = 12, GROUP = 3 };

struct text {
    const char *at, *end;
};

static bool skip(struct text *t, const char *word)
{
    const size_t length = strlen(word);
    const bool is = (size_t)(t->end - t->at) >= length && memcmp(t->at, word, length) == 0;
    t->at += is ? length : 0;
    return is;
}

static bool skip_last(struct text *t, const char *word)
{
    const size_t length = strlen(word);
    const bool is = (size_t)(t->end - t->at) >= length && memcmp(t->end - length, word, length) == 0;
    t->end -= is ? length : 0;
    return is;
}

/* spaces that occur in numbers: plain, no-break, narrow no-break, thin */
static const char *const blanks[] = {" ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};

static bool skip_blank(struct text *t)
{
    for (int i = 0; i < 4; i++)
        if (skip(t, blanks[i]))
            return true;
    return false;
}

static void trim(struct text *t)
{
    while (skip_blank(t)) {}
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < 4; i++) more = skip_last(t, blanks[i]) || more;
    }
}

static bool skip_minus(struct text *t) { return skip(t, "-") || skip(t, "\xe2\x88\x92"); }

/* Skips a currency sign at the beginning. */
static void skip_currency(struct text *t, struct written *w)
{
    static const char *const currencies[] = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "\xe2\x82\xb9"};
    const char *begin = t->at;
    for (size_t i = 0; i < sizeof currencies / sizeof *currencies && w->unit == NULL; i++)
        if (skip(t, currencies[i]))
            w->unit = begin, w->unit_length = (size_t)(t->at - begin);
    trim(t);
}

/* Skips a separator between two runs of digits and returns its kind; 0: none. */
static char skip_divider(struct text *t)
{
    struct text before = *t;
    if (skip(t, "."))
        return '.';
    if (skip(t, ","))
        return ',';
    const char found = skip(t, "'") || skip(t, "\xe2\x80\x99") ? '\'' : skip_blank(t) ? ' ' : 0;
    if (found && !(t->at < t->end && *t->at >= '0' && *t->at <= '9'))
        *t = before; /* a space before a unit */
    return t->at > before.at ? found : 0;
}

struct digits {
    char text[DIGITS]; /* of all runs */
    int used, runs, run[DIGITS];
    char divider[DIGITS]; /* after each run */
};

static bool read_digits(struct text *t, struct digits *d)
{
    d->used = d->runs = 0;
    for (char divider = ' '; divider; d->runs++) {
        int run = 0;
        for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++, run++) {
            if (d->used + 2 >= DIGITS)
                return false;
            d->text[d->used++] = *t->at;
        }
        if (d->runs + 1 >= DIGITS)
            return false;
        d->run[d->runs] = run;
        divider = d->divider[d->runs] = skip_divider(t);
    }
    return d->used > 0;
}

/* True if the first runs form a number with a separator at each thousand. */
static bool are_groups(const struct digits *d, int runs)
{
    for (int i = 1; i < runs; i++)
        if (d->run[i] != GROUP || d->divider[i - 1] != d->divider[0])
            return false;
    return runs < 2 || (d->run[0] >= 1 && d->run[0] <= GROUP && (d->text[0] != '0' || d->run[0] == GROUP));
}

/* Finds which of '.' and ',' is the decimal mark. False: not a number in either case. */
static bool find_mark(const struct digits *d, struct written *w)
{
    const int dividers = d->runs - 1;
    if (dividers == 0)
        return true;
    const char last = d->divider[dividers - 1];
    const bool is_mark = last == '.' || last == ',';
    if (dividers == 1 && is_mark) {
        const bool doubtful = are_groups(d, 2) && d->text[0] != '0';
        *(doubtful ? &w->doubt : &w->mark) = last;
        return true;
    }
    if (are_groups(d, d->runs)) {
        w->mark = last == ',' ? '.' : last == '.' ? ',' : 0;
        return true;
    }
    w->mark = last;
    return is_mark && d->divider[0] != last && are_groups(d, d->runs - 1);
}

static bool has_exponent(struct text *t, char exponent[8])
{
    int used = 0;
    struct text begin = *t;
    *exponent = 0;
    if (!skip(t, "e") && !skip(t, "E"))
        return false;
    exponent[used++] = 'e';
    if (t->at < t->end && (*t->at == '-' || *t->at == '+'))
        exponent[used++] = *t->at++;
    const int sign = used;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && used < 6) exponent[used++] = *t->at++;
    exponent[used > sign ? used : 0] = 0;
    if (used == sign)
        *t = begin; /* a unit that begins with e */
    return used > sign;
}

/* True for letters and signs, without digits and spaces. */
static bool is_unit(struct text t)
{
    static const char others[] = "%/*^_\"'";
    if (t.at == t.end || t.end - t.at > UNIT_MAX)
        return false;
    for (const char *c = t.at; c < t.end; c++) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (unsigned char)*c >= 0x80;
        if (!letter && (c == t.at ? *c != '%' && *c != '$' : !strchr(others, *c)))
            return false;
    }
    return true;
}

static bool find_unit(struct text *t, struct written *w)
{
    const char *begin = t->at;
    while (skip_blank(t)) {}
    w->spaced = t->at > begin;
    if (t->at == t->end)
        return true;
    if (w->unit || !is_unit(*t))
        return false;
    w->unit = t->at, w->unit_length = (size_t)(t->end - t->at);
    return true;
}

static bool convert(const struct digits *d, char mark, const char *exponent, double *value)
{
    char plain[DIGITS + 16];
    int used = 0, at = 0;
    for (int i = 0; i < d->runs; i++) {
        if (i == d->runs - 1 && i > 0 && d->divider[i - 1] == mark)
            plain[used++] = '.';
        for (int k = 0; k < d->run[i]; k++) plain[used++] = d->text[at++];
    }
    const size_t length = strlen(exponent);
    memcpy(plain + used, exponent, length);
    return cell_number(plain, (size_t)used + length, value);
}

/* Parses a formatted number with an optional sign, currency, exponent and unit. */
bool cell_written(const char *bytes, size_t length, char decimal, struct written *w)
{
    struct text t = {bytes, bytes + length};
    struct digits d;
    char exponent[8];
    *w = (struct written){0};
    trim(&t);
    bool negative = skip_minus(&t);
    const bool open = !negative && skip(&t, "(");
    skip(&t, "+");
    skip_currency(&t, w);
    negative = skip_minus(&t) || negative;
    if (!read_digits(&t, &d))
        return false;
    if (has_exponent(&t, exponent) && d.runs > 1 && w->mark == 0)
        w->mark = d.divider[d.runs - 2];
    else if (!find_mark(&d, w))
        return false;
    if (open && !skip(&t, ")"))
        return false;
    if (!negative && t.end - t.at == 1 && *t.at == '-')
        negative = true, t.at++;
    if (!find_unit(&t, w) || (decimal && w->mark && w->mark != decimal))
        return false;
    if (!convert(&d, decimal ? decimal : w->mark ? w->mark : w->doubt, exponent, &w->value))
        return false;
    w->value = negative || open ? -w->value : w->value;
    return true;
}
