/* Written times, and the Gregorian calendar. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compare.h"
#include "base/memory.h"
#include "data/builder/table_cell.h"

enum { DAY = 86400, QUARTERS = 4, MONTHS = 12, FRACTION_DIGITS = 9 };

/* Returns the days since 1970-01-01 in the Gregorian calendar: years begin in March, an era has 400 years. */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int *year, int *month, int *day)
{
    const int64_t from = days + 719468, era = (from >= 0 ? from : from - 146096) / 146097, of_era = from - era * 146097;
    const int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * years + years / 4 - years / 100), number = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * number + 2) / 5 + 1);
    *month = (int)(number < 10 ? number + 3 : number - 9);
    *year = (int)(years + era * 400 + (*month <= 2));
}

void time_calendar(double seconds, int *year, int *month, int *day)
{
    date_of((int64_t)floor(seconds / DAY), year, month, day);
}

static bool is_date(int year, int month, int day)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return year >= 1 && year <= 9999 && month >= 1 && month <= MONTHS && day >= 1 && day <= days[month - 1] &&
           (month != 2 || day < 29 || leap);
}

/* ---- reading ---- */

struct text {
    const char *at, *end;
};

/* Parses a number and returns how many digits it has; 0: none. */
static int digits(struct text *t, int most, int *value)
{
    int count = 0;
    for (*value = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9' && count < most; t->at++, count++)
        *value = *value * 10 + (*t->at - '0');
    return count;
}

static bool skip(struct text *t, const char *set)
{
    const bool is = t->at < t->end && *t->at && strchr(set, *t->at) != NULL;
    t->at += is;
    return is;
}

static void skip_blanks(struct text *t)
{
    while (skip(t, " \t")) {}
}

/* Parses one of the words, all of it or three letters; returns its number from 1 on, 0: none. */
static int word_of(struct text *t, const char *const words[], int count)
{
    size_t length = 0;
    while (t->at + length < t->end && ((t->at[length] | 32) >= 'a' && (t->at[length] | 32) <= 'z')) length++;
    for (int i = 0; length >= 3 && i < count; i++)
        if (strncasecmp(words[i], t->at, length) == 0 && (length == 3 || words[i][length] == 0)) {
            t->at += length;
            skip(t, ".");
            return i + 1;
        }
    return 0;
}

static int month_name(struct text *t)
{
    static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};
    return word_of(t, months, MONTHS);
}

static void skip_weekday(struct text *t)
{
    static const char *const days[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
    if (word_of(t, days, 7))
        skip(t, ","), skip_blanks(t);
}

/* Parses a year; two digits mean 1970 to 2069. */
static bool read_year(struct text *t, int *year)
{
    const int count = digits(t, 4, year);
    if (count == 2)
        *year += *year < 70 ? 2000 : 1900;
    return count == 2 || count == 4;
}

/* Parses the part after the year in 2000Q1, 2000-Q1, 2000 Q1. */
static bool read_quarter(struct text *t, int *month)
{
    struct text at = *t;
    int quarter;
    skip(&at, "- ");
    if (!skip(&at, "Qq") || digits(&at, 1, &quarter) != 1 || quarter < 1 || quarter > QUARTERS)
        return false;
    *month = 3 * quarter - 2;
    *t = at;
    return true;
}

/* Parses Oct 27, 2023 or October 2023. */
static bool read_month_first(struct text *t, int *year, int *month, int *day)
{
    int number;
    *month = month_name(t);
    if (*month == 0 || !skip(t, " -/"))
        return false;
    skip_blanks(t);
    const int count = digits(t, 4, &number);
    if (count == 4) {
        *year = number, *day = 1;
        return true;
    }
    *day = number;
    skip(t, ",");
    return count > 0 && count < 3 && skip(t, " -/,") && (skip_blanks(t), read_year(t, year));
}

/* Parses 27-Oct-2023, or numbers in the order of a country. */
static bool read_day_first(struct text *t, int first, enum time_form form, int *year, int *month, int *day)
{
    char between = t->at < t->end ? *t->at : 0;
    *day = first;
    if (!skip(t, "-/. "))
        return false;
    skip_blanks(t);
    *month = month_name(t);
    if (*month == 0) {
        if (between == ' ' || (form != TIME_DMY && form != TIME_MDY) || (form == TIME_MDY && between == '.'))
            return false;
        if (digits(t, 2, month) == 0 || t->at == t->end || *t->at++ != between)
            return false;
        if (form == TIME_MDY)
            *day = *month, *month = first;
        return read_year(t, year);
    }
    return skip(t, "-/., ") && (skip_blanks(t), read_year(t, year));
}

/* Parses the part after a year of four digits. */
static bool read_year_first(struct text *t, int year, int *month, int *day)
{
    const char between = t->at < t->end ? *t->at : 0;
    *day = 1;
    (void)year;
    if (!skip(t, "-/."))
        return false;
    if ((*month = month_name(t)) == 0 && digits(t, 2, month) == 0)
        return false;
    if (t->at == t->end || *t->at != between)
        return between != '.';
    t->at++;
    return digits(t, 2, day) > 0;
}

/* Parses a date in any of the orders that `form` allows. */
static bool read_date(struct text *t, enum time_form form, int *year, int *month, int *day, bool *quarter)
{
    int number;
    skip_weekday(t);
    struct text begin = *t;
    *quarter = false;
    if (skip(t, "Qq")) { /* Q1 2000 */
        *quarter =
            digits(t, 1, &number) == 1 && number >= 1 && number <= QUARTERS && skip(t, " -/") && read_year(t, year);
        *month = 3 * number - 2, *day = 1;
        return *quarter;
    }
    const int count = digits(t, 4, &number);
    if (count == 0) {
        *t = begin;
        return read_month_first(t, year, month, day);
    }
    if (count < 3)
        return read_day_first(t, number, form, year, month, day);
    *year = number, *day = 1;
    *quarter = count == 4 && read_quarter(t, month);
    return *quarter || (count == 4 && read_year_first(t, number, month, day));
}

/* Parses a time zone: Z, UTC, GMT, or an offset such as +02:00. */
static bool read_zone(struct text *t, struct time_read *r)
{
    int hours, minutes = 0;
    skip_blanks(t);
    if (skip(t, "Zz")) {
        r->zoned = true;
        return true;
    }
    if (t->end - t->at == 3 && (strncasecmp(t->at, "UTC", 3) == 0 || strncasecmp(t->at, "GMT", 3) == 0)) {
        t->at += 3;
        r->zoned = true;
        return true;
    }
    const bool minus = t->at < t->end && *t->at == '-';
    if (!skip(t, "+-"))
        return true;
    if (digits(t, 2, &hours) != 2 || hours > 23)
        return false;
    skip(t, ":");
    if (t->at < t->end && (digits(t, 2, &minutes) != 2 || minutes > 59))
        return false;
    r->zoned = true;
    r->zone = (minus ? -1 : 1) * (hours * 60 + minutes);
    r->seconds -= r->zone * 60.0;
    return true;
}

static void read_fraction(struct text *t, struct time_read *r)
{
    double unit = 0.1;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++, unit /= 10) {
        r->seconds += unit * (*t->at - '0');
        r->digits += r->digits < FRACTION_DIGITS;
    }
}

/* Parses AM or PM and corrects the hour. */
static bool read_half(struct text *t, int *hour)
{
    struct text at = *t;
    skip_blanks(&at);
    const bool pm = at.at < at.end && (*at.at | 32) == 'p';
    if (!skip(&at, "AaPp") || !skip(&at, "Mm"))
        return true;
    if (*hour < 1 || *hour > 12)
        return false;
    *hour = *hour % 12 + (pm ? 12 : 0);
    *t = at;
    return true;
}

static bool read_time_of_day(struct text *t, struct time_read *r)
{
    int hour, minute, second = 0;
    const int count = digits(t, 2, &hour);
    if (count == 0 || !skip(t, ":") || digits(t, 2, &minute) != 2)
        return false;
    if (skip(t, ":")) {
        if (digits(t, 2, &second) != 2)
            return false;
        if (skip(t, ".,"))
            read_fraction(t, r);
    }
    if (!read_half(t, &hour) || hour > 24 || minute > 59 || second > 60)
        return false;
    r->seconds += hour * 3600.0 + minute * 60.0 + second;
    return read_zone(t, r);
}

static int two_digits(const char *at)
{
    const unsigned tens = (unsigned)(at[0] - '0'), ones = (unsigned)(at[1] - '0');
    return tens > 9 || ones > 9 ? 1000 : (int)(10 * tens + ones);
}

/* 2016-07-01, 2016-07-01 12:30 and 2016-07-01T12:30:05, which most tables have; others are read by their parts. */
static bool read_usual(const char *bytes, size_t length, struct time_read *r)
{
    if ((length != 10 && length != 16 && length != 19) || bytes[4] != '-' || bytes[7] != '-')
        return false;
    const int year = 100 * two_digits(bytes) + two_digits(bytes + 2), month = two_digits(bytes + 5),
              day = two_digits(bytes + 8);
    const bool clock = length > 10, seconds = length > 16;
    if (clock && ((bytes[10] != ' ' && bytes[10] != 'T') || bytes[13] != ':' || (seconds && bytes[16] != ':')))
        return false;
    const int hour = clock ? two_digits(bytes + 11) : 0, minute = clock ? two_digits(bytes + 14) : 0,
              second = seconds ? two_digits(bytes + 17) : 0;
    if (year > 9999 || !is_date(year, month, day) || hour > 23 || minute > 59 || second > 59)
        return false;
    *r = (struct time_read){.seconds = (double)days_of(year, month, day) * DAY + 3600 * hour + 60 * minute + second};
    return true;
}

/* Parses a date with an optional time of day and zone. */
bool cell_time(const char *bytes, size_t length, enum time_form form, struct time_read *r)
{
    if (form == TIME_TEXT_FREE && read_usual(bytes, length, r))
        return true;
    struct text t = {bytes, bytes + length};
    int year, month, day;
    bool quarter;
    *r = (struct time_read){0};
    skip_blanks(&t);
    while (t.end > t.at && (t.end[-1] == ' ' || t.end[-1] == '\t')) t.end--;
    if (!read_date(&t, form, &year, &month, &day, &quarter) || !is_date(year, month, day) ||
        (form == TIME_QUARTER && !quarter))
        return false;
    r->seconds = (double)days_of(year, month, day) * DAY;
    if (t.at == t.end)
        return true;
    if (!skip(&t, "Tt ,"))
        return false;
    skip_blanks(&t);
    return read_time_of_day(&t, r) && t.at == t.end;
}

/* ---- numbers that are times ---- */

/* Parses 20200131123000, from year to second, with 6, 8, 12 or 14 digits. */
static bool read_compact(double value, double *seconds)
{
    if (!(value >= 100001 && value < 1e14) || floor(value) != value)
        return false;
    int64_t number = (int64_t)value;
    int part[5] = {0}; /* second, minute, hour, day, month */
    const int count = value >= 1e12 ? 14 : value >= 1e11 ? 12 : value >= 1e7 && value < 1e8 ? 8 : value < 1e6 ? 6 : 0;
    if (count == 0 || (count == 14 && value < 1e13))
        return false;
    for (int i = count == 14 ? 0 : count == 12 ? 1 : count == 8 ? 3 : 4; i < 5; i++, number /= 100)
        part[i] = (int)(number % 100);
    part[3] = count == 6 ? 1 : part[3];
    if (!is_date((int)number, part[4], part[3]) || number < 1700 || number > 2300 || part[2] > 23 || part[1] > 59 ||
        part[0] > 59)
        return false;
    *seconds = (double)days_of(number, part[4], part[3]) * DAY + part[2] * 3600 + part[1] * 60 + part[0];
    return true;
}

bool number_time(double value, enum time_form form, double *seconds)
{
    switch (form) {
    case TIME_MILLISECONDS: *seconds = value / 1e3; return true;
    case TIME_MICROSECONDS: *seconds = value / 1e6; return true;
    case TIME_NANOSECONDS: *seconds = value / 1e9; return true;
    case TIME_COMPACT: return read_compact(value, seconds);
    case TIME_YEAR:
        if (!(value >= 1 && value <= 9999) || floor(value) != value)
            return false;
        *seconds = (double)days_of((int64_t)value, 1, 1) * DAY;
        return true;
    default: *seconds = value; return true;
    }
}

/* ---- as a text ---- */

static void add_zone(const struct time_style *style, char *text, size_t size)
{
    const int zone = style->zone < 0 ? -style->zone : style->zone;
    if (style->zoned && zone)
        snprintf(text, size, "%c%02d:%02d", style->zone < 0 ? '-' : '+', zone / 60 % 100, zone % 60);
    else if (style->zoned)
        snprintf(text, size, "Z");
}

static double power_of_ten(int digits)
{
    double power = 1;
    while (digits-- > 0) power *= 10;
    return power;
}

/* Formats a time with the digits and the zone of its style. */
const char *time_text(double time, const struct time_style *style, char text[TIME_TEXT])
{
    const int fraction = style->digits < 0 ? 0 : style->digits > FRACTION_DIGITS ? FRACTION_DIGITS : style->digits;
    int year, month, day;
    if (style->form == TIME_STEP || !(fabs(time) < 2e11)) {
        snprintf(text, TIME_TEXT, style->form == TIME_STEP && fraction ? "%.*f" : "%.*g", fraction ? fraction : 15,
                 time);
        return text;
    }
    time += style->zoned ? style->zone * 60.0 : 0;
    const double unit = power_of_ten(fraction), rounded = floor(time * unit + (fraction ? 0.5 : 0)) / unit;
    const int64_t all = (int64_t)floor(rounded), days = (all >= 0 ? all : all - DAY + 1) / DAY,
                  of_day = all - days * DAY;
    const int parts = (int)((rounded - (double)all) * unit + 0.5);
    date_of(days, &year, &month, &day);
    if (style->form == TIME_YEAR || style->form == TIME_QUARTER) {
        snprintf(text, TIME_TEXT, style->form == TIME_YEAR ? "%04d" : "%04dQ%d", year, (month + 2) / 3);
        return text;
    }
    int at = snprintf(text, TIME_TEXT, "%04d-%02d-%02d", year, month, day);
    if (of_day || fraction || style->zoned)
        at += snprintf(text + at, (size_t)(TIME_TEXT - at), " %02d:%02d:%02d", (int)(of_day / 3600),
                       (int)(of_day / 60 % 60), (int)(of_day % 60));
    if (fraction)
        at += snprintf(text + at, (size_t)(TIME_TEXT - at), ".%0*d", fraction, parts);
    add_zone(style, text + at, (size_t)(TIME_TEXT - at));
    return text;
}

const char *time_form_name(enum time_form form)
{
    static const char *const names[TIME_FORMS] = {[TIME_SECONDS] = "seconds since 1970",
                                                  [TIME_MILLISECONDS] = "milliseconds since 1970",
                                                  [TIME_MICROSECONDS] = "microseconds since 1970",
                                                  [TIME_NANOSECONDS] = "nanoseconds since 1970",
                                                  [TIME_COMPACT] = "dates without signs between the digits",
                                                  [TIME_YEAR] = "years",
                                                  [TIME_STEP] = "the numbers of steps"};
    return names[form];
}

double time_interval(const double *times, size_t count)
{
    enum { MOST = 1000 };
    double *gap = allocate_zeroed(MOST, sizeof *gap), found = NAN;
    size_t gaps = 0;
    for (size_t i = 1; gap && i < count && gaps < MOST; i++)
        if (times[i] > times[i - 1])
            gap[gaps++] = times[i] - times[i - 1];
    if (gaps) {
        qsort(gap, gaps, sizeof *gap, compare_doubles);
        found = gap[gaps / 2];
    }
    release(gap);
    return found;
}

const char *interval_words(double seconds, char text[INTERVAL_TEXT])
{
    static const double day = 86400;
    static const struct {
        double least, most, unit; /* the usual days between two that count as one; the length of several */
        const char *name;
    } units[] = {{365, 366, 365.25, "year"},
                 {31, 31, 30.4375, "month"},
                 {7, 7, 7, "week"},
                 {1, 1, 1, "day"},
                 {0, 0, 1.0 / 24, "hour"},
                 {0, 0, 1.0 / (24 * 60), "minute"},
                 {0, 0, 1.0 / (24 * 3600), "second"}};
    enum { UNITS = sizeof units / sizeof *units, DAYS = 3, SECONDS = UNITS - 1 };
    text[0] = '\0';
    int i = 0;
    const double days = seconds / day, quarter = days >= 91 && days <= 92 ? 3 : 0;
    if (!(seconds > 0))
        return text;
    for (; i < DAYS; i++)
        if (days >= units[i].least && days <= units[i].most)
            return snprintf(text, INTERVAL_TEXT, "%s", units[i].name), text;
    while (i < SECONDS && days < units[i].unit) i++;
    const double count = quarter ? quarter : days / units[i].unit;
    const char *name = quarter ? "month" : units[i].name;
    if (count == 1)
        snprintf(text, INTERVAL_TEXT, "%s", name);
    else
        snprintf(text, INTERVAL_TEXT, "%.4g %ss", count, name);
    return text;
}
