/* The curves as a picture: panels one below the other, then a table of the runs that is the legend too. One
 * SVG of paths and text without scripts; colours of the page and of the curves follow the reader's light or
 * dark scheme. Lengths are in pixels. */
#include <math.h>
#include <string.h>

#include "console.h"
#include "plot.h"

enum {
    WIDTH = 880, LEFT = 64, RIGHT = 856, MARGIN = 24,
    TITLE = 34, AXIS = 30,                      /* above and below the area of a panel */
    TALL = 320, LOW = 130,                      /* heights of areas: of the first panel, of the others */
    ROW = 22, LABEL_LONGEST = 34,
    COLOURS = 10, MARKS_MOST = 60,              /* more points would be a thick line */
    CROWD = 7,                                  /* so many runs are drawn without reports and points */
    TICKS_ACROSS = 8, TICK_EVERY = 40,
};

/* Light and dark. Runs 11 to 20 take them again, dashed. */
static const char *const colours[COLOURS][2] = {
    {"#1f6fd6", "#6aa9ff"}, {"#d9480f", "#ff9b5c"}, {"#2b8a3e", "#6fd08c"}, {"#9c36b5", "#d8a1ff"},
    {"#0b8a8f", "#4fd1d6"}, {"#a17400", "#e6c04a"}, {"#d6336c", "#ff8fb8"}, {"#5c6773", "#aab4c0"},
    {"#5546d8", "#a79bff"}, {"#8a4b2a", "#d9a27e"},
};

static const char style[] =
    "text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#30363d}\n"
    ".page{fill:#fff}.t{font-size:14px;font-weight:600}.m{fill:#6b7480}\n"
    ".e{text-anchor:end;font-variant-numeric:tabular-nums}.c{text-anchor:middle}\n"
    ".g{stroke:#e6e9ed}.a{stroke:#9aa3ad}\n"
    "path{fill:none;stroke:currentColor;stroke-linejoin:round;stroke-linecap:round}\n"
    ".r{stroke-width:1;opacity:.3}.b{stroke-width:2}.v{stroke-width:1.25}.d .b,.d .v{stroke-dasharray:5 4}\n"
    "circle{fill:#fff;stroke:currentColor;stroke-width:1.5}.best{fill:currentColor}\n"
    ".k{color:#6b7480}.k .r{opacity:.6}\n";
static const char dark_style[] =
    "text{fill:#d5dae1}.page{fill:#14171c}.m{fill:#8d96a3}.g{stroke:#272c34}.a{stroke:#59626e}\n"
    "circle{fill:#14171c}.best{fill:currentColor}.k{color:#8d96a3}\n";

struct picture {
    FILE *out;
    const struct plot *plot;
    struct range width;         /* of the x axis */
};

struct panel {
    enum metric metric;
    int top, bottom;            /* of the area */
    struct range height;        /* of the y axis */
};

/* ---- coordinates and text ---- */

static double across(const struct picture *p, double x)
{
    return LEFT + (RIGHT - LEFT) * (x - p->width.low) / (p->width.high - p->width.low);
}

/* What leaves the area is clipped; far away is as good as farther. */
static double down(const struct panel *panel, double y)
{
    double part = (y - panel->height.low) / (panel->height.high - panel->height.low);

    return panel->bottom - (panel->bottom - panel->top) * fmin(fmax(part, -9), 9);
}

static void write_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            putc(*text, out);
    }
}

static void draw_text(FILE *out, const char *class, double x, double y, const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    write_text(out, text);
    fputs("</text>\n", out);
}

/* A label on an axis: all of an axis have as many decimals as their distance needs. */
static void draw_tick(FILE *out, const char *class, double x, double y, double value, double distance)
{
    int decimals = (int)fmax(0, -floor(log10(distance) + 1e-9));
    char text[NUMBER_TEXT];

    if (distance >= 1e6 || decimals > 5)
        snprintf(text, sizeof text, "%.6g", value);
    else if (distance >= 1000)
        snprintf(text, sizeof text, "%.10gk", value / 1000);
    else
        snprintf(text, sizeof text, "%.*f", decimals, value);
    draw_text(out, class, x, y, fabs(value) < distance / 2 ? "0" : text);
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
    return *unit == 1 ? "seconds" : *unit == 60 ? "minutes" : "hours";
}

static void draw_grid(const struct picture *p, const struct panel *panel)
{
    FILE *out = p->out;
    double distance = tick_distance(panel->height, (panel->bottom - panel->top) / TICK_EVERY), unit;
    const char *name = name_of_axis(p, &unit);

    for (double k = ceil(panel->height.low / distance); k * distance <= panel->height.high; k++) {
        double y = down(panel, k * distance);
        fprintf(out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", LEFT, y, RIGHT);
        draw_tick(out, "m e", LEFT - 8, y + 4, k * distance, distance);
    }
    distance = tick_distance((struct range){0, p->width.high / unit}, TICKS_ACROSS);
    fprintf(out, "<path class=\"a\" d=\"M%d %dH%d\"/>\n", LEFT, panel->bottom, RIGHT);
    for (double k = 0; k * distance * unit <= p->width.high; k++) {
        double x = across(p, k * distance * unit);
        fprintf(out, "<path class=\"a\" d=\"M%.1f %dv4\"/>\n", x, panel->bottom);
        draw_tick(out, "m c", x, panel->bottom + 18, k * distance, distance);
    }
    draw_text(out, "m", LEFT + 8, panel->bottom + 18, name);      /* behind the 0 */
}

/* One kind of line, ending at x; returns where the next ends. */
static int draw_kind(FILE *out, int x, int y, const char *class, const char *label, int width)
{
    int line = x - width - 32;

    fprintf(out, "<g class=\"k\"><path class=\"%s\" d=\"M%d %dh24\"/>", class, line, y - 4);
    if (*class == 'v')
        fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"2.5\"/>", line + 12, y - 4);
    draw_text(out, "m", x - width, y, label);
    fputs("</g>\n", out);
    return line - 20;
}

/* What the kinds of line mean, from right to left. */
static void draw_key(const struct picture *p, const struct panel *panel)
{
    int y = panel->top - 14, x = RIGHT;
    bool averages = metrics[panel->metric].is_noisy && p->plot->smooth > 0;

    if (panel->metric == METRIC_LOSS || panel->metric == METRIC_VALIDATION)
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

    fprintf(p->out, "<text x=\"%d\" y=\"%d\"><tspan class=\"t\">%s</tspan>", MARGIN, panel->top - 14, m->title);
    fprintf(p->out, " <tspan class=\"m\">%s</tspan></text>\n", m->unit);
    draw_key(p, panel);
    draw_grid(p, panel);
}

/* ---- curves ---- */

/* A path with at most two points a column of pixels, the lowest and the highest there: long runs stay light
 * and lose no peak. */
static void draw_line(const struct picture *p, const struct panel *panel, const struct series *s,
                      const char *class)
{
    if (s->count == 0)
        return;
    fprintf(p->out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0, next; i < s->count; i = next) {
        size_t low = i, high = i;
        double column = floor(across(p, s->x[i]));
        for (next = i; next < s->count && floor(across(p, s->x[next])) == column; next++) {
            low = s->y[next] < s->y[low] ? next : low;
            high = s->y[next] > s->y[high] ? next : high;
        }
        size_t pair[2] = {low < high ? low : high, low < high ? high : low};
        for (int k = 0; k < 1 + (low != high); k++)
            fprintf(p->out, "%c%.1f %.1f", i + (size_t)k == 0 ? 'M' : 'L', across(p, s->x[pair[k]]),
                    down(panel, s->y[pair[k]]));
    }
    if (s->count == 1)
        fputs("h1", p->out);
    fputs("\"/>\n", p->out);
}

/* Curves fall fastest at the beginning: the average reaches less far there, or it would be above them. */
static void draw_average(const struct picture *p, const struct panel *panel, const struct series *s,
                         struct series *average)
{
    double reach = p->plot->smooth * (p->width.high - p->width.low);

    for (size_t i = 0, from = 0; i < s->count; i++) {
        double reach_here = fmin(reach, 0.5 * (s->x[i] - s->x[0]));
        average->y[i] = reach_here > 0 ? series_smooth(s, s->x[i], reach_here, &from) : s->y[i];
    }
    draw_line(p, panel, average, "b");
}

static unroll_status draw_reports(const struct picture *p, const struct panel *panel,
                                  const struct curves *run)
{
    struct series s, average;
    unroll_status status = series_of(run, panel->metric, p->plot->axis, &s);

    if (status != UNROLL_OK)
        return status;
    if (metrics[panel->metric].is_noisy && p->plot->smooth > 0) {
        if (p->plot->runs < CROWD)
            draw_line(p, panel, &s, "r");
        status = series_of(run, panel->metric, p->plot->axis, &average);
        if (status == UNROLL_OK) {
            draw_average(p, panel, &s, &average);
            series_free(&average);
        }
    } else {
        draw_line(p, panel, &s, "b");
    }
    series_free(&s);
    return status;
}

/* With its number under the pointer. */
static void draw_mark(const struct picture *p, const struct panel *panel, double x, double y, bool is_best)
{
    fprintf(p->out, "<circle%s cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>%.4f at %.6g</title></circle>\n",
            is_best ? " class=\"best\"" : "", across(p, x), down(panel, y), is_best ? "3.5" : "2.5", y, x);
}

static unroll_status draw_validations(const struct picture *p, const struct panel *panel,
                                      const struct curves *run)
{
    struct series s;
    unroll_status status = series_of(run, METRIC_VALIDATION, p->plot->axis, &s);

    if (status != UNROLL_OK)
        return status;
    size_t best = series_lowest(&s);
    draw_line(p, panel, &s, "v");
    for (size_t i = 0; i < s.count && s.count <= MARKS_MOST; i++)
        if (i != best && p->plot->runs < CROWD)
            draw_mark(p, panel, s.x[i], s.y[i], false);
    if (s.count)
        draw_mark(p, panel, s.x[best], s.y[best], true);
    series_free(&s);
    return UNROLL_OK;
}

static unroll_status draw_curves(const struct picture *p, const struct panel *panel)
{
    bool validates = panel->metric == METRIC_LOSS || panel->metric == METRIC_VALIDATION;
    unroll_status status = UNROLL_OK;

    fprintf(p->out, "<clipPath id=\"p%d\"><path d=\"M%d %dH%dV%dH%dz\"/></clipPath>\n", panel->top, LEFT,
            panel->top - 4, RIGHT + 4, panel->bottom + 4, LEFT);
    fprintf(p->out, "<g clip-path=\"url(#p%d)\">\n", panel->top);
    for (int i = 0; i < p->plot->runs && status == UNROLL_OK; i++) {
        fprintf(p->out, "<g class=\"c%d%s\">\n", i % COLOURS, i >= COLOURS ? " d" : "");
        if (panel->metric != METRIC_VALIDATION)
            status = draw_reports(p, panel, &p->plot->run[i]);
        if (status == UNROLL_OK && validates)
            status = draw_validations(p, panel, &p->plot->run[i]);
        fputs("</g>\n", p->out);
    }
    fputs("</g>\n", p->out);
    return status;
}

static unroll_status draw_panel(const struct picture *p, enum metric metric, int top, int height)
{
    struct panel panel = {.metric = metric, .top = top, .bottom = top + height};
    unroll_status status = plot_height(p->plot, metric, &panel.height);

    if (status != UNROLL_OK)
        return status;
    panel.height = range_widened(panel.height, 0.04);
    if (metrics[metric].from_zero)
        panel.height.low = 0;
    draw_frame(p, &panel);
    return draw_curves(p, &panel);
}

/* ---- the table of the runs ---- */

static const struct {
    const char *title;
    int right;
} columns[] = {
    {"loss", 404}, {"lowest", 474}, {"best validation", 582}, {"at update", 664}, {"updates", 734},
    {"epochs", 794}, {"time", RIGHT},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const char none[] = "\u2013";

static void draw_cell(FILE *out, int column, int y, const char *text)
{
    draw_text(out, "e", columns[column].right, y, text);
}

static void draw_nats(FILE *out, int column, int y, const struct series *s, size_t at)
{
    char text[NUMBER_TEXT];

    if (s->count)
        snprintf(text, sizeof text, "%.4f", s->y[at]);
    draw_cell(out, column, y, s->count ? text : none);
}

static unroll_status draw_losses(FILE *out, const struct curves *run, int y)
{
    struct series loss, validation;
    char text[NUMBER_TEXT];
    unroll_status status = series_of(run, METRIC_LOSS, AXIS_STEP, &loss);

    if (status != UNROLL_OK)
        return status;
    draw_nats(out, 0, y, &loss, loss.count ? loss.count - 1 : 0);
    draw_nats(out, 1, y, &loss, series_lowest(&loss));
    series_free(&loss);
    status = series_of(run, METRIC_VALIDATION, AXIS_STEP, &validation);
    if (status != UNROLL_OK)
        return status;
    size_t best = series_lowest(&validation);
    draw_nats(out, 2, y, &validation, best);
    draw_cell(out, 3, y, validation.count ? with_commas(text, (int64_t)validation.x[best]) : none);
    series_free(&validation);
    return UNROLL_OK;
}

static void draw_lengths(FILE *out, const struct report *last, int y)
{
    char text[NUMBER_TEXT];

    draw_cell(out, 4, y, with_commas(text, last->step));
    snprintf(text, sizeof text, "%.2f", last->epoch);
    draw_cell(out, 5, y, isnan(last->epoch) ? none : text);
    draw_cell(out, 6, y, isnan(last->seconds) ? none : as_clock(text, last->seconds));
}

static unroll_status draw_run(const struct picture *p, int number, int y)
{
    const struct curves *run = &p->plot->run[number];
    const char *label = plot_label(run, LABEL_LONGEST);

    fprintf(p->out, "<g class=\"c%d%s\"><path class=\"b\" d=\"M%d %dh28\"/></g>\n", number % COLOURS,
            number >= COLOURS ? " d" : "", MARGIN, y - 4);
    fprintf(p->out, "<text x=\"%d\" y=\"%d\">%s", LEFT, y, label > run->name ? "\u2026" : "");
    write_text(p->out, label);
    fputs("</text>\n", p->out);
    draw_lengths(p->out, &run->report[run->count - 1], y);
    return draw_losses(p->out, run, y);
}

static unroll_status draw_table(const struct picture *p, int top)
{
    unroll_status status = UNROLL_OK;

    draw_text(p->out, "m", LEFT, top, "run");
    for (int c = 0; c < COLUMNS; c++)
        draw_text(p->out, "m e", columns[c].right, top, columns[c].title);
    fprintf(p->out, "<path class=\"g\" d=\"M%d %dH%d\"/>\n", MARGIN, top + 8, RIGHT);
    for (int i = 0; i < p->plot->runs && status == UNROLL_OK; i++)
        status = draw_run(p, i, top + ROW * (i + 1) + 4);
    return status;
}

/* ---- all of it ---- */

static void write_style(FILE *out)
{
    fprintf(out, "<style>\n%s", style);
    for (int i = 0; i < COLOURS; i++)
        fprintf(out, ".c%d{color:%s}", i, colours[i][0]);
    fprintf(out, "\n@media (prefers-color-scheme:dark){\n%s", dark_style);
    for (int i = 0; i < COLOURS; i++)
        fprintf(out, ".c%d{color:%s}", i, colours[i][1]);
    fputs("}\n</style>\n", out);
}

unroll_status plot_svg(const struct plot *plot, FILE *file)
{
    struct picture p = {.out = file, .plot = plot, .width = plot_width(plot)};
    int table = TALL + (plot->metrics - 1) * LOW + plot->metrics * (TITLE + AXIS) + 30, top = TITLE;
    int height = table + ROW * plot->runs + 22;
    unroll_status status = UNROLL_OK;

    fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>", WIDTH, height, WIDTH, height);
    for (int i = 0; i < plot->runs; i++) {
        fputs(i ? ", " : "", file);
        write_text(file, plot->run[i].name);
    }
    fputs("</title>\n", file);
    write_style(file);
    fprintf(file, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
    for (int i = 0; i < plot->metrics && status == UNROLL_OK; i++) {
        int area = i == 0 ? TALL : LOW;
        status = draw_panel(&p, plot->metric[i], top, area);
        top += area + AXIS + TITLE;
    }
    if (status == UNROLL_OK)
        status = draw_table(&p, table);
    fputs("</svg>\n", file);
    return status;
}
