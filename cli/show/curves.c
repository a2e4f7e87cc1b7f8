/* Reads metrics.jsonl strictly: a plot that skipped invalid lines would be misleading. */
#include "cli/show/curves.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/show/console.h"
#include "cli/run/metrics.h"

const struct metric_entry metrics[METRICS] = {
#define METRIC(number, key) key, offsetof(struct report, number)
    [METRIC_LOSS] = {METRIC(loss, "loss"), "loss", "nats", false, true},
    [METRIC_VALIDATION] = {METRIC(validation, "val_loss"), "validation loss", "nats", false, false},
    [METRIC_NORM] = {METRIC(norm, "norm"), "norm of the gradient", "before clipping", true, true},
    [METRIC_RATE] = {METRIC(rate, "lr"), "learning rate", "", true, false},
    [METRIC_SPEED] = {METRIC(speed, "items_per_second"), "speed", "items per second", true, true},
};

/* ---- names ---- */

/* Returns the bytes of a UTF-8 character that a text may contain (no controls, surrogates or overlong forms); 0 if
 * it is invalid. */
static int length_of_character(const unsigned char *c)
{
    int length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
        (c[0] == 0xf4 && c[1] > 0x8f) || (c[0] == 0xc2 && c[1] < 0xa0) || c[0] < ' ' || c[0] == 127)
        return 0;
    return length;
}

/* Replaces unprintable characters by question marks and removes slashes at the end. */
static void make_printable(char *name)
{
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/') name[--length] = '\0';
    for (unsigned char *c = (unsigned char *)name; *c;) {
        int bytes = length_of_character(c);
        if (bytes == 0)
            *c = '?';
        c += bytes ? bytes : 1;
    }
}

/* ---- reading ---- */

enum { LINE_LONGEST = 65536, POINTS_AT_FIRST = 256 };

struct curve_reading {
    const char *path;
    FILE *file;
    int64_t line;
    struct curves *curves;
    size_t capacity; /* of curves->report */
};

static unroll_status refuse_line(const struct curve_reading *r, const char *why)
{
    return complain(UNROLL_DATA, "%s: line %" PRId64 " %s; fix: remove the line", r->path, r->line, why);
}

/* Returns false if the value is neither a number nor null. */
static bool take_number(const json_t *object, const char *key, double *to)
{
    const json_t *value = json_object_get(object, key);
    *to = json_is_number(value) ? json_number_value(value) : NAN;
    return value == NULL || json_is_null(value) || json_is_number(value);
}

static unroll_status add_report(struct curve_reading *r, const struct report *report)
{
    struct curves *c = r->curves;
    if (c->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : POINTS_AT_FIRST;
        struct report *longer = realloc(c->report, capacity * sizeof *longer);
        if (longer == NULL)
            return complain(UNROLL_RESOURCE, "no memory for the curves of '%s'", c->name);
        c->report = longer;
        r->capacity = capacity;
    }
    c->report[c->count++] = *report;
    return UNROLL_OK;
}

/* Adds the report of a line. Steps must not decrease. */
static unroll_status take_object(struct curve_reading *r, const json_t *object)
{
    const json_t *step = json_object_get(object, "step");
    struct report report = {.step = json_integer_value(step)};
    double last = r->curves->count ? (double)r->curves->report[r->curves->count - 1].step : -1;
    if (!json_is_integer(step) || report.step < 0)
        return refuse_line(r, "has no step");
    if ((double)report.step < last)
        return refuse_line(r, "goes back to an earlier step");
#define TAKE_NUMBER(number, key) take_number(object, key, &report.number) &&
    if (!(REPORT_NUMBERS(TAKE_NUMBER) true))
        return refuse_line(r, "has text instead of a number");
    const char *metric = json_string_value(json_object_get(object, "metric"));
    if (metric)
        run_metric_name(metric, r->curves->metric, sizeof r->curves->metric);
    if (json_is_true(json_object_get(object, "best")))
        r->curves->best = report.step;
    if (!take_number(json_array_get(json_object_get(object, "ranks"), 0), "sent", &report.sent))
        return refuse_line(r, "has text instead of a number");
    return add_report(r, &report);
}

static unroll_status take_line(struct curve_reading *r, const char *line)
{
    json_t *object = metrics_parse(line, strlen(line));
    unroll_status status = object ? take_object(r, object) : refuse_line(r, "is damaged or not a JSON object");
    json_decref(object);
    return status;
}

/* Reads all reports of a file. An unfinished last line is skipped with a note. */
static unroll_status read_lines(struct curve_reading *r)
{
    static char line[LINE_LONGEST];
    unroll_status status = UNROLL_OK;
    while (status == UNROLL_OK && fgets(line, sizeof line, r->file)) {
        size_t length = strlen(line);
        r->line++;
        if (length > 0 && line[length - 1] == '\n')
            status = take_line(r, line);
        else if (length == sizeof line - 1 || !feof(r->file))
            status = refuse_line(r, "is not a report: it is too long, or binary");
        else
            say("note: %s: the last line, %" PRId64
                ", is incomplete and skipped; the run was killed, or is still training",
                r->path, r->line);
    }
    if (status == UNROLL_OK && ferror(r->file))
        return complain(UNROLL_DATA, "cannot read '%s': %s; fix: check its permissions", r->path, strerror(errno));
    if (status == UNROLL_OK && r->curves->count == 0)
        return complain(UNROLL_DATA, "%s holds no report yet; fix: wait for the first step of the run", r->path);
    return status;
}

/* Finds metrics.jsonl of a directory, or takes the file itself. */
static unroll_status find_metrics(const char *run, char path[PATH_MAX])
{
    struct stat found;
    if (strlen(run) + sizeof "/metrics.jsonl" > PATH_MAX)
        return complain(UNROLL_USAGE, "the name '%.80s...' is too long; fix: use a shorter name", run);
    if (stat(run, &found) != 0)
        return complain(UNROLL_DATA, "cannot read '%s': %s; fix: give the directory of a run", run, strerror(errno));
    snprintf(path, PATH_MAX, S_ISDIR(found.st_mode) ? "%s/metrics.jsonl" : "%s", run);
    if (stat(path, &found) != 0)
        return complain(
            UNROLL_DATA,
            "'%s' is not the directory of a run: it holds no metrics.jsonl; fix: give the directory of a run of train",
            run);
    return UNROLL_OK;
}

static unroll_status make_series(struct curves *curves, enum metric metric, enum plot_axis axis)
{
    struct series *s = &curves->of[metric];
    s->point = malloc(curves->count * sizeof *s->point);
    if (s->point == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the curves of '%s'", curves->name);
    for (size_t i = 0; i < curves->count; i++) {
        const struct report *r = &curves->report[i];
        double x = report_at(r, axis), y = *(const double *)((const char *)r + metrics[metric].number);
        if (isfinite(x) && isfinite(y))
            s->point[s->count++] = (struct curve_point){x, y, y, r->step};
    }
    return UNROLL_OK;
}

static unroll_status read_run(struct curve_reading *r, const char *path, enum plot_axis axis)
{
    r->file = fopen(path, "r");
    if (r->file == NULL)
        return complain(UNROLL_DATA, "cannot read '%s': %s; fix: check its permissions", path, strerror(errno));
    TRY(read_lines(r));
    for (int m = 0; m < METRICS; m++) TRY(make_series(r->curves, m, axis));
    return UNROLL_OK;
}

unroll_status curves_read(const char *run, enum plot_axis axis, struct curves *curves)
{
    char path[PATH_MAX];
    const char *last = *run == '/' ? strrchr(run, '/') : NULL; /* not where it is stored */
    struct curves made = {.name = strdup(last && last[1] ? last + 1 : run), .best = -1};
    struct curve_reading reading = {.path = path, .curves = &made};
    if (made.name == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the curves of '%s'", run);
    make_printable(made.name);
    unroll_status status = find_metrics(run, path);
    if (status == UNROLL_OK)
        status = read_run(&reading, path, axis);
    if (reading.file)
        fclose(reading.file);
    if (status == UNROLL_OK)
        *curves = made;
    else
        curves_free(&made);
    return status;
}

void curves_free(struct curves *curves)
{
    for (int m = 0; m < METRICS; m++) free(curves->of[m].point);
    free(curves->report);
    free(curves->name);
    *curves = (struct curves){0};
}

/* ---- series ---- */

double report_at(const struct report *report, enum plot_axis axis)
{
    const double at[] = {[AXIS_STEP] = (double)report->step,
                         [AXIS_EPOCH] = report->epoch,
                         [AXIS_SECONDS] = report->seconds,
                         [AXIS_SENT] = report->sent / 1e6};
    return at[axis];
}

size_t series_lowest(const struct series *series)
{
    size_t best = 0;
    for (size_t i = 1; i < series->count; i++)
        if (series->point[i].y < series->point[best].y)
            best = i;
    return best;
}

size_t series_highest(const struct series *series)
{
    size_t best = 0;
    for (size_t i = 1; i < series->count; i++)
        if (series->point[i].y > series->point[best].y)
            best = i;
    return best;
}

size_t curves_best(const struct curves *curves)
{
    const struct series *s = &curves->of[METRIC_VALIDATION];
    for (size_t i = s->count; curves->best >= 0 && i > 0; i--)
        if (s->point[i - 1].step == curves->best)
            return i - 1;
    return series_lowest(s);
}

double curves_best_value(const struct curves *curves)
{
    const struct series *s = &curves->of[METRIC_VALIDATION];
    for (size_t i = 0; i < curves->count; i++)
        if (curves->report[i].step == curves->best && isfinite(curves->report[i].metric))
            return curves->report[i].metric;
    return s->count ? s->point[curves_best(curves)].y : (double)NAN;
}

double series_smooth(const struct series *series, double x, double reach, size_t *from)
{
    const double deviation = reach / 3; /* weights at the reach are below 1.2% of the highest */
    const struct curve_point *p = series->point;
    double w_sum = 0, wd = 0, wdd = 0, wy = 0, wdy = 0;
    size_t i = *from;
    while (i + 1 < series->count && p[i].x < x - reach) i++;
    *from = i;
    for (; i < series->count && p[i].x <= x + reach; i++) {
        double d = p[i].x - x, w = exp(-0.5 * d * d / (deviation * deviation));
        w_sum += w;
        wd += w * d;
        wdd += w * d * d;
        wy += w * p[i].y;
        wdy += w * d * p[i].y;
    }
    /* Nearly coincident points have no slope, so their mean is used. */
    double spread = w_sum * wdd - wd * wd;
    bool has_slope = spread > 1e-9 * w_sum * w_sum * deviation * deviation;
    return has_slope ? (wdd * wy - wd * wdy) / spread : wy / w_sum;
}

/* ---- ranges ---- */

struct axis_range range_empty(void) { return (struct axis_range){INFINITY, -INFINITY}; }

void range_add(struct axis_range *range, double value)
{
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

void range_add_series(struct axis_range *range, const struct series *series, double left)
{
    for (size_t i = 0; i < series->count; i++)
        if (series->point[i].x >= left)
            range_add(range, series->point[i].y);
}

struct axis_range range_widened(struct axis_range range, double part)
{
    double more = part * (range.high - range.low);
    if (!(range.high >= range.low))
        return (struct axis_range){0, 1};
    if (range.high - range.low <= 1e-9 * fabs(range.high))
        more = range.high ? 0.5 * fabs(range.high) : 0.5;
    return (struct axis_range){range.low - more, range.high + more};
}

double tick_distance(struct axis_range range, int steps)
{
    double min = (range.high - range.low) / steps, power = pow(10, floor(log10(min)));
    for (int i = 0; i < 3; i++)
        if ((const double[]){1, 2, 5}[i] * power >= min)
            return (const double[]){1, 2, 5}[i] * power;
    return 10 * power;
}
