/* Draws the curves as SVG: panels one below the other, then a table of the runs, which is also the legend. Only
 * paths and text, no scripts. The colors follow the reader's light or dark scheme. Lengths are in pixels. */
#include <math.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/show/plot.h"
#include "cli/show/svg.h"

enum {
    TITLE = 34,
    AXIS = 30, /* above and below the area of a panel */
    TALL = 320,
    LOW = 130, /* heights of areas: of the first panel, of the others */
    ROW = 22,
    LABEL_LONGEST = 34,
    MARKS_MAX = 60, /* more points would form a thick line */
    CROWD = 7,      /* from this number of runs on, reports and points are not drawn */
    TICKS_ACROSS = 8,
    TICK_EVERY = 40,
};

struct picture {
    FILE *out;
    struct plot *plot;
    struct axis_range width; /* of the x axis */
};

struct panel {
    enum metric metric;
    int top, bottom;          /* of the area */
    struct axis_range height; /* of the y axis */
};

/* ---- coordinates ---- */

static double across(const struct picture *p, double x)
{
    return SVG_LEFT + (SVG_RIGHT - SVG_LEFT) * (x - p->width.low) / (p->width.high - p->width.low);
}

/* Returns the y coordinate. The area is clipped, so distant values are limited. */
static double down(const struct panel *panel, double y)
{
    double part = (y - panel->height.low) / (panel->height.high - panel->height.low);
    return panel->bottom - (panel->bottom - panel->top) * fmin(fmax(part, -9), 9);
}

/* ---- the frame of a panel ---- */

static const char *name_of_axis(const struct picture *p, double *unit)
{
    double seconds = p->width.high;
    *unit = p->plot->axis != AXIS_SECONDS || seconds < 180 ? 1 : seconds < 10800 ? 60 : 3600;
    if (p->plot->axis == AXIS_STEP)
        return "updates";
    if (p->plot->axis == AXIS_EPOCH)
        return "epochs";
    if (p->plot->axis == AXIS_SENT)
        return "MB sent by a rank";
    return *unit == 1 ? "seconds" : *unit == 60 ? "minutes" : "hours";
}

/* Draws the grid, the ticks and the labels of both axes. */
static void draw_grid(const struct picture *p, const struct panel *panel)
{
    FILE *out = p->out;
    double distance = tick_distance(panel->height, (panel->bottom - panel->top) / TICK_EVERY), unit;
    const char *name = name_of_axis(p, &unit);
    for (double k = ceil(panel->height.low / distance); k * distance <= panel->height.high; k++) {
        double y = down(panel, k * distance);
        fprintf(out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", SVG_LEFT, y, SVG_RIGHT);
        svg_tick(out, "m e", SVG_LEFT - 8, y + 4, k * distance, distance);
    }
    distance = tick_distance((struct axis_range){0, p->width.high / unit}, TICKS_ACROSS);
    fprintf(out, "<path class=\"a\" d=\"M%d %dH%d\"/>\n", SVG_LEFT, panel->bottom, SVG_RIGHT);
    for (double k = 0; k * distance * unit <= p->width.high; k++) {
        double x = across(p, k * distance * unit);
        fprintf(out, "<path class=\"a\" d=\"M%.1f %dv4\"/>\n", x, panel->bottom);
        svg_tick(out, "m c", x, panel->bottom + 18, k * distance, distance);
    }
    svg_text(out, "m", SVG_LEFT + 8, panel->bottom + 18, name); /* right of the 0 */
}

/* Draws one kind of line in the key, ending at x; returns where the next one ends. */
static int draw_kind(FILE *out, int x, int y, const char *class, const char *label, int width)
{
    int line = x - width - 32;
    fprintf(out, "<g class=\"k\"><path class=\"%s\" d=\"M%d %dh24\"/>", class, line, y - 4);
    if (*class == 'v')
        fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"2.5\"/>", line + 12, y - 4);
    svg_text(out, "m", x - width, y, label);
    fputs("</g>\n", out);
    return line - 20;
}

/* Draws the key to the kinds of line, from right to left. */
static void draw_key(const struct picture *p, const struct panel *panel)
{
    int y = panel->top - 14, x = SVG_RIGHT;
    bool averages = metrics[panel->metric].is_noisy && p->plot->smooth > 0;
    if (is_loss(panel->metric))
        x = draw_kind(p->out, x, y, "v", "validation, best filled", 136);
    if (panel->metric == METRIC_VALIDATION)
        return;
    if (averages)
        x = draw_kind(p->out, x, y, "b", "averaged", 58);
    if (!averages || p->plot->runs < CROWD)
        draw_kind(p->out, x, y, averages ? "r" : "b", "reports", 46);
}

static void draw_frame(const struct picture *p, const struct panel *panel)
{
    const struct metric_entry *m = &metrics[panel->metric];
    fprintf(p->out, "<text x=\"%d\" y=\"%d\"><tspan class=\"t\">%s</tspan>", SVG_MARGIN, panel->top - 14, m->title);
    fprintf(p->out, " <tspan class=\"m\">%s</tspan></text>\n", m->unit);
    draw_key(p, panel);
    draw_grid(p, panel);
}

/* ---- curves ---- */

/* Draws a path with at most two points per column of pixels, the lowest and the highest, so that long runs stay
 * small and keep their peaks. */
static void draw_line(const struct picture *p, const struct panel *panel, const struct series *s, const char *class,
                      bool averages)
{
    const struct curve_point *at = s->point;
    if (s->count == 0)
        return;
#define HEIGHT(i) (averages ? at[i].average : at[i].y)
    fprintf(p->out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0, next; i < s->count; i = next) {
        size_t low = i, high = i;
        double column = floor(across(p, at[i].x));
        for (next = i; next < s->count && floor(across(p, at[next].x)) == column; next++) {
            low = HEIGHT(next) < HEIGHT(low) ? next : low;
            high = HEIGHT(next) > HEIGHT(high) ? next : high;
        }
        size_t pair[2] = {low < high ? low : high, low < high ? high : low};
        for (int k = 0; k < 1 + (low != high); k++)
            fprintf(p->out, "%c%.1f %.1f", i + (size_t)k == 0 ? 'M' : 'L', across(p, at[pair[k]].x),
                    down(panel, HEIGHT(pair[k])));
    }
#undef HEIGHT
    if (s->count == 1)
        fputs("h1", p->out);
    fputs("\"/>\n", p->out);
}

/* Averages the reports. At the beginning, where curves fall fastest, the average has a shorter reach; otherwise it
 * would be above them. */
static void average(const struct picture *p, struct series *s)
{
    double reach = p->plot->smooth * (p->width.high - p->width.low);
    for (size_t i = 0, from = 0; i < s->count; i++) {
        struct curve_point *at = &s->point[i];
        double reach_here = fmin(reach, 0.5 * (at->x - s->point[0].x));
        at->average = reach_here > 0 ? series_smooth(s, at->x, reach_here, &from) : at->y;
    }
}

static void draw_reports(const struct picture *p, const struct panel *panel, struct curves *run)
{
    struct series *s = &run->of[panel->metric];
    bool averages = metrics[panel->metric].is_noisy && p->plot->smooth > 0;
    if (averages && p->plot->runs < CROWD)
        draw_line(p, panel, s, "r", false);
    if (averages)
        average(p, s);
    draw_line(p, panel, s, "b", averages);
}

/* Draws a point with its value as a tooltip. */
static void draw_mark(const struct picture *p, const struct panel *panel, const struct curve_point *at, bool is_best)
{
    fprintf(p->out, "<circle%s cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>%.4f at %.6g</title></circle>\n",
            is_best ? " class=\"best\"" : "", across(p, at->x), down(panel, at->y), is_best ? "3.5" : "2.5", at->y,
            at->x);
}

static void draw_validations(const struct picture *p, const struct panel *panel, const struct curves *run)
{
    const struct series *s = &run->of[METRIC_VALIDATION];
    size_t best = curves_best(run);
    draw_line(p, panel, s, "v", false);
    for (size_t i = 0; i < s->count && s->count <= MARKS_MAX; i++)
        if (i != best && p->plot->runs < CROWD)
            draw_mark(p, panel, &s->point[i], false);
    if (s->count)
        draw_mark(p, panel, &s->point[best], true);
}

static void draw_curves(const struct picture *p, const struct panel *panel)
{
    fprintf(p->out, "<clipPath id=\"p%d\"><path d=\"M%d %dH%dV%dH%dz\"/></clipPath>\n", panel->top, SVG_LEFT,
            panel->top - 4, SVG_RIGHT + 4, panel->bottom + 4, SVG_LEFT);
    fprintf(p->out, "<g clip-path=\"url(#p%d)\">\n", panel->top);
    for (int i = 0; i < p->plot->runs; i++) {
        fprintf(p->out, "<g class=\"c%d%s\">\n", i % SVG_COLOURS, i >= SVG_COLOURS ? " d" : "");
        if (panel->metric != METRIC_VALIDATION)
            draw_reports(p, panel, &p->plot->run[i]);
        if (is_loss(panel->metric))
            draw_validations(p, panel, &p->plot->run[i]);
        fputs("</g>\n", p->out);
    }
    fputs("</g>\n", p->out);
}

static void draw_panel(const struct picture *p, enum metric metric, int top, int height)
{
    struct panel panel = {.metric = metric,
                          .top = top,
                          .bottom = top + height,
                          .height = range_widened(plot_height(p->plot, metric), 0.04)};
    if (metrics[metric].from_zero)
        panel.height.low = 0;
    draw_frame(p, &panel);
    draw_curves(p, &panel);
}

/* ---- the table of the runs ---- */

static const struct {
    const char *title;
    int right;
} columns[] = {{"loss", 404},    {"lowest", 474}, {"best validation", 582}, {"at update", 664},
               {"updates", 734}, {"epochs", 794}, {"time", SVG_RIGHT}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const char none[] = "\u2013";

static void draw_cell(FILE *out, int column, int y, const char *text)
{
    svg_text(out, "e", columns[column].right, y, text);
}

static void draw_nats(FILE *out, int column, int y, const struct series *s, size_t at)
{
    char text[NUMBER_TEXT];
    if (s->count)
        snprintf(text, sizeof text, "%.4f", s->point[at].y);
    draw_cell(out, column, y, s->count ? text : none);
}

static void draw_losses(FILE *out, const struct curves *run, int y)
{
    const struct series *loss = &run->of[METRIC_LOSS], *validation = &run->of[METRIC_VALIDATION];
    size_t best = curves_best(run);
    char text[NUMBER_TEXT];
    draw_nats(out, 0, y, loss, loss->count ? loss->count - 1 : 0);
    draw_nats(out, 1, y, loss, series_lowest(loss));
    snprintf(text, sizeof text, "%.20s %.4g", run->metric, curves_best_value(run));
    draw_cell(out, 2, y, validation->count ? text : none);
    draw_cell(out, 3, y, validation->count ? with_commas(text, validation->point[best].step) : none);
}

static void draw_lengths(FILE *out, const struct report *last, int y)
{
    char text[NUMBER_TEXT];
    draw_cell(out, 4, y, with_commas(text, last->step));
    snprintf(text, sizeof text, "%.2f", last->epoch);
    draw_cell(out, 5, y, isnan(last->epoch) ? none : text);
    draw_cell(out, 6, y, isnan(last->seconds) ? none : as_clock(text, last->seconds));
}

static void draw_run(const struct picture *p, int number, int y)
{
    const struct curves *run = &p->plot->run[number];
    const char *label = plot_label(run, LABEL_LONGEST);
    fprintf(p->out, "<g class=\"c%d%s\"><path class=\"b\" d=\"M%d %dh28\"/></g>\n", number % SVG_COLOURS,
            number >= SVG_COLOURS ? " d" : "", SVG_MARGIN, y - 4);
    fprintf(p->out, "<text x=\"%d\" y=\"%d\">%s", SVG_LEFT, y, label > run->name ? "\u2026" : "");
    svg_write(p->out, label);
    fputs("</text>\n", p->out);
    draw_lengths(p->out, &run->report[run->count - 1], y);
    draw_losses(p->out, run, y);
}

static void draw_table(const struct picture *p, int top)
{
    svg_text(p->out, "m", SVG_LEFT, top, "run");
    for (int c = 0; c < COLUMNS; c++) svg_text(p->out, "m e", columns[c].right, top, columns[c].title);
    fprintf(p->out, "<path class=\"g\" d=\"M%d %dH%d\"/>\n", SVG_MARGIN, top + 8, SVG_RIGHT);
    for (int i = 0; i < p->plot->runs; i++) draw_run(p, i, top + ROW * (i + 1) + 4);
}

/* ---- all of it ---- */

void plot_svg(struct plot *plot, FILE *file)
{
    struct picture p = {.out = file, .plot = plot, .width = plot_width(plot)};
    int table = TALL + (plot->metrics - 1) * LOW + plot->metrics * (TITLE + AXIS) + 30, top = TITLE;
    int height = table + ROW * plot->runs + 22;
    svg_begin(file, height);
    for (int i = 0; i < plot->runs; i++) {
        fputs(i ? ", " : "", file);
        svg_write(file, plot->run[i].name);
    }
    svg_begin_page(file, height);
    for (int i = 0; i < plot->metrics; i++) {
        int area = i == 0 ? TALL : LOW;
        draw_panel(&p, plot->metric[i], top, area);
        top += area + AXIS + TITLE;
    }
    draw_table(&p, table);
    fputs("</svg>\n", file);
}
