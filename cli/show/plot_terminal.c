/* Prints the curves as one line of small bars per run, with the most important numbers. On terminals without UTF-8,
 * ASCII characters replace the bars. */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/show/plot.h"

enum { BARS = 24, LEVELS = 8, LABEL_LONGEST = 24 };

static const char *const blocks[LEVELS] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                           "\u2585", "\u2586", "\u2587", "\u2588"};
static const char *const ascii[LEVELS] = {"_", ".", ":", "-", "=", "+", "*", "#"};

struct plot_grid {
    const struct plot *plot;
    const char *const *level; /* the characters for the heights */
    enum metric metric;
    struct axis_range width, height;
    int label; /* columns of the names */
};

static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text; text++) columns += (*text & 0xc0) != 0x80;
    return columns;
}

/* Prints bars, each the mean of the reports in its part of the width, or as high as the previous bar if there are
 * none. The line ends where the run does. */
static void print_bars(const struct plot_grid *t, const struct series *s)
{
    double bar_width = (t->width.high - t->width.low) / BARS, mean = s->count ? s->point[0].y : 0;
    struct axis_range height = range_widened(t->height, 0);
    int bar = 0;
    for (size_t i = 0; bar < BARS && i < s->count; bar++) {
        double sum = 0, end = t->width.low + bar_width * (bar + 1);
        size_t first = i;
        while (i < s->count && (s->point[i].x <= end || bar == BARS - 1)) sum += s->point[i++].y;
        if (i > first)
            mean = sum / (double)(i - first);
        double part = (mean - height.low) / (height.high - height.low);
        fputs(t->level[(int)(fmin(fmax(part, 0), 1) * (LEVELS - 1) + 0.5)], stdout);
    }
    printf("%*s", BARS - bar, "");
}

static void print_number(const struct plot_grid *t, const struct series *s, size_t at)
{
    char text[NUMBER_TEXT];
    if (s->count == 0)
        printf(" %8s", "-");
    else if (s->point[at].y >= 1000)
        printf(" %8s", with_prefix(text, s->point[at].y));
    else
        printf(strcmp(metrics[t->metric].unit, "nats") == 0 ? " %8.4f" : " %8.3g", s->point[at].y);
}

static void print_run(const struct plot_grid *t, const struct curves *run)
{
    const char *label = plot_label(run, LABEL_LONGEST);
    const struct series *s = &run->of[t->metric], *validation = &run->of[METRIC_VALIDATION];
    char steps[NUMBER_TEXT];
    printf("%s%*s  ", label, t->label - columns_of(label), "");
    print_bars(t, s);
    print_number(t, s, s->count ? s->count - 1 : 0);
    print_number(t, s, series_lowest(s));
    if (is_loss(t->metric) && validation->count)
        printf(" %8.4f", curves_best_value(run));
    else if (is_loss(t->metric))
        printf(" %8s", "-");
    else
        print_number(t, s, series_highest(s));
    printf(" %9s\n", with_commas(steps, run->report[run->count - 1].step));
}

static void print_table(struct plot_grid *t)
{
    const struct metric_entry *m = &metrics[t->metric];
    const char *decides = t->plot->run[0].metric;
    char best[40];
    t->height = plot_height(t->plot, t->metric);
    snprintf(best, sizeof best, "best %s", *decides ? decides : "val");
    printf("%-*s  %-*s %8s %8s %8s %9s\n", t->label, "run", BARS, m->title, "last", "min",
           is_loss(t->metric) ? best : "max", "updates");
    for (int i = 0; i < t->plot->runs; i++) print_run(t, &t->plot->run[i]);
}

void plot_terminal(const struct plot *plot)
{
    setlocale(LC_CTYPE, "");
    bool is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    struct plot_grid t = {.plot = plot, .level = is_utf8 ? blocks : ascii, .width = plot_width(plot), .label = 3};

    for (int i = 0; i < plot->runs; i++) {
        int columns = columns_of(plot_label(&plot->run[i], LABEL_LONGEST));
        t.label = columns > t.label ? columns : t.label;
    }
    for (int i = 0; i < plot->metrics; i++) {
        t.metric = plot->metric[i];
        if (i > 0)
            putchar('\n');
        print_table(&t);
    }
}
