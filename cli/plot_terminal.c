/* The curves as one line of small bars for each run, with the numbers that people look for. On a terminal
 * that is not UTF-8, characters of ASCII stand for the bars. */
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "plot.h"

enum { BARS = 24, LEVELS = 8, LABEL_LONGEST = 24 };

static const char *const blocks[LEVELS] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                           "\u2585", "\u2586", "\u2587", "\u2588"};
static const char *const ascii[LEVELS] = {"_", ".", ":", "-", "=", "+", "*", "#"};

struct table {
    const struct plot *plot;
    const char *const *level;   /* what stands for a height */
    enum metric metric;
    struct range width, height;
    int label;                  /* columns of the names */
};

static int columns_of(const char *text)
{
    int columns = 0;

    for (; *text; text++)
        columns += (*text & 0xc0) != 0x80;
    return columns;
}

/* A bar is the mean of the reports in its part of the width; without any it is as high as the one before.
 * The line ends where the run does. */
static void print_bars(const struct table *t, const struct series *s)
{
    double bar_width = (t->width.high - t->width.low) / BARS, mean = s->count ? s->y[0] : 0;
    struct range height = range_widened(t->height, 0);
    int bar = 0;

    for (size_t i = 0; bar < BARS && i < s->count; bar++) {
        double sum = 0, end = t->width.low + bar_width * (bar + 1);
        size_t first = i;
        while (i < s->count && (s->x[i] <= end || bar == BARS - 1))
            sum += s->y[i++];
        if (i > first)
            mean = sum / (double)(i - first);
        double part = (mean - height.low) / (height.high - height.low);
        fputs(t->level[(int)(fmin(fmax(part, 0), 1) * (LEVELS - 1) + 0.5)], stdout);
    }
    printf("%*s", BARS - bar, "");
}

static void print_number(const struct table *t, const struct series *s, size_t at)
{
    char text[NUMBER_TEXT];

    if (s->count == 0)
        printf(" %8s", "-");
    else if (s->y[at] >= 1000)
        printf(" %8s", with_prefix(text, s->y[at]));
    else
        printf(strcmp(metrics[t->metric].unit, "nats") == 0 ? " %8.4f" : " %8.3g", s->y[at]);
}

/* Of losses the best validation, of others the highest value. */
static unroll_status print_best(const struct table *t, const struct curves *run, const struct series *shown)
{
    struct series validation;

    if (t->metric != METRIC_LOSS && t->metric != METRIC_VALIDATION) {
        print_number(t, shown, series_highest(shown));
        return UNROLL_OK;
    }
    unroll_status status = series_of(run, METRIC_VALIDATION, t->plot->axis, &validation);
    if (status != UNROLL_OK)
        return status;
    print_number(t, &validation, series_lowest(&validation));
    series_free(&validation);
    return UNROLL_OK;
}

static unroll_status print_run(const struct table *t, const struct curves *run)
{
    const char *label = plot_label(run, LABEL_LONGEST);
    char steps[NUMBER_TEXT];
    struct series s;
    unroll_status status = series_of(run, t->metric, t->plot->axis, &s);

    if (status != UNROLL_OK)
        return status;
    printf("%s%*s  ", label, t->label - columns_of(label), "");
    print_bars(t, &s);
    print_number(t, &s, s.count ? s.count - 1 : 0);
    print_number(t, &s, series_lowest(&s));
    status = print_best(t, run, &s);
    printf(" %9s\n", with_commas(steps, run->report[run->count - 1].step));
    series_free(&s);
    return status;
}

static unroll_status print_table(struct table *t)
{
    const struct metric_entry *m = &metrics[t->metric];
    bool is_loss = t->metric == METRIC_LOSS || t->metric == METRIC_VALIDATION;
    unroll_status status = plot_height(t->plot, t->metric, &t->height);

    if (status != UNROLL_OK)
        return status;
    printf("%-*s  %-*s %8s %8s %8s %9s\n", t->label, "run", BARS, m->title, "last", "min",
           is_loss ? "best val" : "max", "updates");
    for (int i = 0; i < t->plot->runs && status == UNROLL_OK; i++)
        status = print_run(t, &t->plot->run[i]);
    return status;
}

unroll_status plot_terminal(const struct plot *plot)
{
    setlocale(LC_CTYPE, "");
    bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    struct table t = {.plot = plot, .level = is_utf8 ? blocks : ascii, .width = plot_width(plot), .label = 3};
    unroll_status status = UNROLL_OK;

    for (int i = 0; i < plot->runs; i++) {
        int columns = columns_of(plot_label(&plot->run[i], LABEL_LONGEST));
        t.label = columns > t.label ? columns : t.label;
    }
    for (int i = 0; i < plot->metrics && status == UNROLL_OK; i++) {
        t.metric = plot->metric[i];
        if (i > 0)
            putchar('\n');
        status = print_table(&t);
    }
    return status;
}
