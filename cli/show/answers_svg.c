/* Draws the answers of a run as SVG: a panel for each part of the details, one below the other. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cli/show/answers.h"
#include "cli/show/console.h"
#include "cli/show/curves.h"
#include "cli/show/svg.h"

enum { TITLE = 34, FORECAST = 110, AXIS = 26, CELL = 30, LABEL = 110, WORDS_LINE = 44, SCATTER = 360, WORD = 7 };

/* ---- forecasts: the past, the truth, the estimate and its interval ---- */

struct axes {
    double left, right, top, bottom; /* of the plot area */
    struct axis_range x, y;
};

static double across(const struct axes *a, double x)
{
    return a->left + (a->right - a->left) * (x - a->x.low) / (a->x.high - a->x.low);
}

static double down(const struct axes *a, double y)
{
    return a->bottom - (a->bottom - a->top) * (y - a->y.low) / (a->y.high - a->y.low);
}

static void add_all(struct axis_range *range, const json_t *numbers)
{
    for (size_t i = 0; i < json_array_size(numbers); i++)
        if (json_is_number(json_array_get(numbers, i)))
            range_add(range, json_number_value(json_array_get(numbers, i)));
}

/* Draws numbers from x = first on, with gaps where numbers are missing. */
static void draw_numbers(FILE *out, const struct axes *a, const char *class, const json_t *numbers, double first)
{
    bool goes_on = false;
    fprintf(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < json_array_size(numbers); i++) {
        const json_t *number = json_array_get(numbers, i);
        if (json_is_number(number))
            fprintf(out, "%c%.1f %.1f", goes_on ? 'L' : 'M', across(a, first + (double)i),
                    down(a, json_number_value(number)));
        goes_on = json_is_number(number);
    }
    fputs("\"/>\n", out);
}

static void draw_band(FILE *out, const struct axes *a, const json_t *low, const json_t *high, double first)
{
    size_t count = json_array_size(low);
    if (count == 0 || json_array_size(high) != count)
        return;
    fputs("<path class=\"f\" d=\"", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', across(a, first + (double)i),
                down(a, json_number_value(json_array_get(high, i))));
    for (size_t i = count; i-- > 0;)
        fprintf(out, "L%.1f %.1f", across(a, first + (double)i), down(a, json_number_value(json_array_get(low, i))));
    fputs("z\"/>\n", out);
}

static void draw_forecast_title(FILE *out, const json_t *one, int top)
{
    const char *series = json_string_value(json_object_get(one, "series"));
    const json_t *interval = json_object_get(one, "interval"), *time = json_object_get(one, "time");
    fprintf(out, "<text x=\"%d\" y=\"%d\"><tspan class=\"t\">", SVG_MARGIN, top - 12);
    svg_write(out, json_string_value(json_object_get(one, "target")));
    fputs("</tspan> <tspan class=\"m\">", out);
    svg_write(out, series ? series : "");
    if (json_array_size(time))
        fprintf(out, "%s%zu steps from %s", series && *series ? ", " : "", json_array_size(time),
                answers_text(time, 0));
    if (interval)
        fprintf(out, ", with the interval of %.0f%%", 100 * json_number_value(interval));
    fputs("</tspan></text>\n", out);
}

/* The times at the ends of the past and of the forecast. */
static void draw_times(FILE *out, const struct axes *a, const json_t *one, double from)
{
    const json_t *time = json_object_get(one, "time"), *past = json_object_get(one, "past_from");
    const double y = a->bottom + 16;
    const size_t steps = json_array_size(time);
    if (json_is_string(past) && from > 4)
        svg_text(out, "m", a->left, y, json_string_value(past));
    if (steps == 0 || !json_is_string(json_array_get(time, 0)))
        return;
    svg_text(out, "m c", across(a, from), y, answers_text(time, 0));
    if (steps > 4)
        svg_text(out, "m e", a->right, y, answers_text(time, steps - 1));
}

static void draw_legend(FILE *out, int top, bool band)
{
    static const struct {
        const char *group, *line, *words;
    } key[] = {{"k", "v", "past"}, {"k", "b", "true"}, {"c0", "b", "predicted"}, {"c0", "f", "interval"}};
    int x = SVG_RIGHT - (band ? 340 : 254);
    for (int i = 0; i < (band ? 4 : 3); i++, x += 86) {
        fprintf(out,
                i < 3 ? "<g class=\"%s\"><path class=\"%s\" d=\"M%d %dh18\"/></g>\n"
                      : "<g class=\"%s\"><path class=\"%s\" d=\"M%d %dv-8h18v8z\"/></g>\n",
                key[i].group, key[i].line, x, i < 3 ? top - 16 : top - 12);
        svg_text(out, "m x", x + 22, top - 12, key[i].words);
    }
}

/* Draws a panel of a forecast: the past, the truth, and the forecast with its interval. */
static void draw_forecast(FILE *out, const json_t *one, int top)
{
    const json_t *past = json_object_get(one, "past"), *truth = json_object_get(one, "truth"),
                 *forecast = json_object_get(one, "forecast"), *low = json_object_get(one, "low"),
                 *high = json_object_get(one, "high");
    double from = (double)json_array_size(past), end = from + (double)json_array_size(forecast) - 1;
    struct axes a = {SVG_LEFT, SVG_RIGHT, top, top + FORECAST, {0, end > 0 ? end : 1}, range_empty()};
    const json_t *const all[] = {past, truth, forecast, low, high};
    for (int i = 0; i < 5; i++) add_all(&a.y, all[i]);
    if (!(a.y.high >= a.y.low)) /* all numbers are missing */
        a.y = (struct axis_range){0, 1};
    a.y = range_widened(a.y, 0.04);
    draw_forecast_title(out, one, top);
    double distance = tick_distance(a.y, 3);
    for (double k = ceil(a.y.low / distance); k * distance <= a.y.high; k++) {
        fprintf(out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", SVG_LEFT, down(&a, k * distance), SVG_RIGHT);
        svg_tick(out, "m e", SVG_LEFT - 8, down(&a, k * distance) + 4, k * distance, distance);
    }
    fprintf(out, "<path class=\"a\" d=\"M%.1f %dV%d\"/>\n", across(&a, from - 0.5), top, top + FORECAST);
    fputs("<g class=\"k\">\n", out);
    draw_numbers(out, &a, "v", past, 0);
    draw_numbers(out, &a, "b", truth, from);
    fputs("</g>\n<g class=\"c0\">\n", out);
    draw_band(out, &a, low, high, from);
    draw_numbers(out, &a, "b", forecast, from);
    fputs("</g>\n", out);
    draw_times(out, &a, one, from);
    draw_legend(out, top, low != NULL);
}

/* ---- classes: rows are truths, columns answers; the darkness of a cell is its share of the row ---- */

static void draw_cell(FILE *out, double x, double y, int size, json_int_t count, json_int_t row, bool right)
{
    double part = row > 0 ? (double)count / (double)row : 0;
    char text[NUMBER_TEXT];
    if (count == 0)
        return;
    fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill-opacity=\"%.2f\"/>\n",
            right ? "h" : "w", x + 1, y + 1, size - 2, size - 2, 0.12 + 0.88 * part);
    snprintf(text, sizeof text, count < 10000 ? "%" JSON_INTEGER_FORMAT : "%" JSON_INTEGER_FORMAT "k",
             count < 10000 ? count : count / 1000);
    svg_text(out, part > 0.5 ? "c x on" : "c x", x + size / 2., y + size / 2. + 4, text);
}

/* The side of a cell: the matrix fills the page, cells of few classes have twice the usual size. */
static int cell_size(int count)
{
    const int fitting = (SVG_RIGHT - SVG_MARGIN - LABEL) / (count > 0 ? count : 1);
    return fitting < CELL ? CELL : fitting > 3 * CELL ? 3 * CELL : fitting;
}

/* Draws the confusion matrix of the most frequent classes. */
static void draw_confusion(FILE *out, const json_t *details, int top)
{
    const json_t *labels = json_object_get(details, "labels");
    int chosen[LABELS_MAX], count = answers_labels(details, chosen), left = SVG_MARGIN + LABEL;
    int classes = (int)json_array_size(labels), size = cell_size(count);
    fprintf(out,
            "<text x=\"%d\" y=\"%d\"><tspan class=\"t\">predicted</tspan> <tspan class=\"m\">in columns, true in "
            "rows%s</tspan></text>\n",
            SVG_MARGIN, top - 12, count < classes ? "; the most frequent" : "");
    for (int r = 0; r < count; r++) {
        json_int_t all = 0;
        for (int c = 0; c < classes; c++) all += answers_cell(details, chosen[r], c);
        svg_text(out, "e x", left - 6, top + LABEL + r * size + size / 2. + 4, answers_text(labels, (size_t)chosen[r]));
        fprintf(out, "<g transform=\"translate(%d %d) rotate(-60)\">", left + r * size + size / 2 + 4, top + LABEL - 6);
        svg_text(out, "x", 0, 0, answers_text(labels, (size_t)chosen[r]));
        fputs("</g>\n", out);
        for (int c = 0; c < count; c++)
            draw_cell(out, left + c * size, top + LABEL + r * size, size, answers_cell(details, chosen[r], chosen[c]),
                      all, r == c);
    }
}

/* ---- sentences: a tag under each word, and the truth under a wrong tag ---- */

/* Draws a sentence with its tags, in lines that fit the page; returns the y of the next one. */
static int draw_sentence(FILE *out, const json_t *sentence, int top)
{
    const json_t *words = json_object_get(sentence, "words"), *tags = json_object_get(sentence, "tags"),
                 *truth = json_object_get(sentence, "truth");
    int x = SVG_MARGIN, y = top;
    for (size_t i = 0; i < json_array_size(tags); i++) {
        const char *word = words ? answers_text(words, i) : "\u00b7", *tag = answers_text(tags, i);
        bool wrong = json_is_string(json_array_get(truth, i)) && strcmp(tag, answers_text(truth, i)) != 0;
        size_t length = strlen(word) > strlen(tag) ? strlen(word) : strlen(tag);
        int width = (int)length * WORD + 12;
        if (x + width > SVG_RIGHT && x > SVG_MARGIN)
            x = SVG_MARGIN, y += WORDS_LINE;
        svg_text(out, "", x, y, word);
        svg_text(out, wrong ? "x w" : "x m", x, y + 14, tag);
        if (wrong)
            svg_text(out, "x m", x, y + 26, answers_text(truth, i));
        x += width;
    }
    return y + WORDS_LINE + 6;
}

/* Explains the tags of sentences; returns the y of the first sentence. */
static int draw_tag_legend(FILE *out, int top)
{
    svg_text(out, "t", SVG_MARGIN, top - 12, "word");
    svg_text(out, "x m", SVG_MARGIN + 44, top - 12, "predicted");
    svg_text(out, "x w", SVG_MARGIN + 112, top - 12, "predicted, but wrong:");
    svg_text(out, "x m", SVG_MARGIN + 240, top - 12, "the true tag is below");
    return top + 12;
}

/* ---- sessions: the last items, and bars of what is recommended next ---- */

/* Draws the recommendations of a session, the true next item in the color of what is right. */
static int draw_session(FILE *out, const json_t *one, int top)
{
    enum { LINE = 18, BAR = 500, LEFT = SVG_MARGIN + LABEL };
    const json_t *past = json_object_get(one, "past"), *items = json_object_get(one, "items");
    const char *truth = json_string_value(json_object_get(one, "truth"));
    fprintf(out, "<text x=\"%d\" y=\"%d\"><tspan class=\"t\">", SVG_MARGIN, top);
    svg_write(out, json_string_value(json_object_get(one, "session")));
    fputs("</tspan> <tspan class=\"m\">after", out);
    for (size_t i = 0; i < json_array_size(past); i++)
        fputs(i ? ", " : " ", out), svg_write(out, answers_text(past, i));
    fputs("; true: ", out);
    svg_write(out, truth);
    fputs("</tspan></text>\n", out);
    for (size_t i = 0; i < json_array_size(items) && i < ITEMS_MAX; i++) {
        const json_t *item = json_array_get(items, i);
        const char *name = json_string_value(json_object_get(item, "item"));
        const double probability = json_number_value(json_object_get(item, "probability"));
        char text[NUMBER_TEXT];
        top += LINE;
        svg_text(out, "e x", LEFT - 6, top + 4, name);
        fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill-opacity=\".6\"/>\n",
                strcmp(name, truth) == 0 ? "h" : "w", LEFT, top - 6, 1 + BAR * probability, LINE - 6);
        snprintf(text, sizeof text, "%.3f", probability);
        svg_text(out, "m x", LEFT + 8 + BAR * probability, top + 4, text);
    }
    return top + TITLE;
}

static int draw_sessions(FILE *out, const json_t *sessions, int top)
{
    for (int i = 0; i < 2 && json_array_size(sessions); i++) {
        fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"18\" height=\"8\" fill-opacity=\".6\"/>\n",
                i ? "h" : "w", SVG_MARGIN + 150 * i, top - 19);
        svg_text(out, "m x", SVG_MARGIN + 22 + 150 * i, top - 12, i ? "predicted and true" : "predicted, probability");
    }
    top += json_array_size(sessions) ? 14 : 0;
    for (size_t i = 0; i < json_array_size(sessions) && i < SENTENCES_MAX; i++)
        top = draw_session(out, json_array_get(sessions, i), top);
    return top;
}

/* ---- answers against truths ---- */

/* Draws a scatter plot of answers against truths. */
static void draw_pairs(FILE *out, const json_t *pairs, int top)
{
    const json_t *truth = json_object_get(pairs, "truth"), *answer = json_object_get(pairs, "answer");
    struct axes a = {SVG_LEFT, SVG_LEFT + SCATTER, top, top + SCATTER, range_empty(), {0, 0}};
    add_all(&a.x, truth);
    add_all(&a.x, answer);
    a.y = a.x = range_widened(a.x, 0.04);
    svg_text(out, "t", SVG_MARGIN, top - 12, "predicted (up) against true (right)");
    svg_text(out, "m x", a.right + 44, top + 14, "predicted");
    svg_text(out, "m x", a.right + 44, top + 34, "true: predictions without an error");
    double distance = tick_distance(a.x, 6);
    for (double k = ceil(a.x.low / distance); k * distance <= a.x.high; k++) {
        fprintf(out, "<path class=\"g\" d=\"M%.1f %.1fH%.1fM%.1f %.1fV%.1f\"/>\n", a.left, down(&a, k * distance),
                a.right, across(&a, k * distance), a.top, a.bottom);
        svg_tick(out, "m e", a.left - 8, down(&a, k * distance) + 4, k * distance, distance);
        svg_tick(out, "m c", across(&a, k * distance), a.bottom + 18, k * distance, distance);
    }
    fprintf(out, "<path class=\"a\" d=\"M%.1f %.1fL%.1f %.1fM%.1f %dh18\"/>\n<g class=\"c0\">\n", a.left, a.bottom,
            a.right, a.top, a.right + 20, top + 30);
    fprintf(out, "<circle class=\"s\" cx=\"%.1f\" cy=\"%d\" r=\"2.5\"/>\n", a.right + 29, top + 10);
    for (size_t i = 0; i < json_array_size(truth); i++)
        fprintf(out, "<circle class=\"s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n",
                across(&a, json_number_value(json_array_get(truth, i))),
                down(&a, json_number_value(json_array_get(answer, i))));
    fputs("</g>\n", out);
}

/* ---- anomalies: the series, and below it the score of each step and the threshold ---- */

static void draw_flags(FILE *out, const struct axes *a, const json_t *numbers, const json_t *scores, double threshold)
{
    for (size_t i = 0; i < json_array_size(scores); i++)
        if (json_number_value(json_array_get(scores, i)) > threshold)
            fprintf(out, "<circle class=\"s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", across(a, (double)i),
                    down(a, json_number_value(json_array_get(numbers, i))));
}

static void draw_panel(FILE *out, const json_t *details, const json_t *numbers, const char *title, int top,
                       double threshold)
{
    const json_t *scores = json_object_get(details, "scores"), *rows = json_object_get(details, "rows");
    const size_t count = json_array_size(scores);
    struct axes a = {SVG_LEFT, SVG_RIGHT, top, top + FORECAST, {0, count > 1 ? (double)count - 1 : 1}, range_empty()};
    add_all(&a.y, numbers);
    if (numbers == scores)
        range_add(&a.y, threshold);
    a.y = range_widened(a.y, 0.04);
    svg_text(out, "t", SVG_MARGIN, top - 12, title);
    const double distance = tick_distance(a.y, 3);
    for (double k = ceil(a.y.low / distance); k * distance <= a.y.high; k++) {
        fprintf(out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", SVG_LEFT, down(&a, k * distance), SVG_RIGHT);
        svg_tick(out, "m e", SVG_LEFT - 8, down(&a, k * distance) + 4, k * distance, distance);
    }
    fputs("<g class=\"k\">\n", out);
    draw_numbers(out, &a, "v", numbers, 0);
    fputs("</g>\n<g class=\"c1\">\n", out);
    if (numbers == scores)
        fprintf(out, "<path class=\"b\" d=\"M%d %.1fH%d\"/>\n", SVG_LEFT, down(&a, threshold), SVG_RIGHT);
    draw_flags(out, &a, numbers, scores, threshold);
    fputs("</g>\n", out);
    svg_text(out, "m", SVG_LEFT, a.bottom + 16, answers_text(rows, 0));
    svg_text(out, "m e", SVG_RIGHT, a.bottom + 16, answers_text(rows, count - 1));
}

static int draw_anomalies(FILE *out, const json_t *details, int top)
{
    const double threshold = json_number_value(json_object_get(details, "threshold"));
    const json_t *scores = json_object_get(details, "scores"),
                 *series = json_object_get(json_object_get(details, "pairs"), "truth");
    char title[NUMBER_TEXT + 40], number[NUMBER_TEXT];
    if (json_array_size(scores) == 0)
        return top;
    draw_panel(out, details, series, json_string_value(json_object_get(details, "target")), top, threshold);
    snprintf(number, sizeof number, "%.4g", threshold);
    snprintf(title, sizeof title, "score, with the threshold %s", number);
    draw_panel(out, details, scores, title, top + FORECAST + AXIS + TITLE, threshold);
    return top + 2 * (FORECAST + AXIS + TITLE);
}

/* ---- all of it ---- */

/* Draws all panels and returns the height, which is known only after drawing, because sentences wrap. */
static int draw_all(FILE *out, json_t *details)
{
    json_t *entry;
    size_t i;
    int top = TITLE, chosen[LABELS_MAX];
    json_array_foreach(json_object_get(details, "forecasts"), i, entry)
    {
        if (i >= FORECASTS_MAX)
            break;
        draw_forecast(out, entry, top);
        top += FORECAST + AXIS + TITLE - 8;
    }
    if (json_object_get(details, "confusion")) {
        draw_confusion(out, details, top);
        const int count = answers_labels(details, chosen);
        top += LABEL + count * cell_size(count) + TITLE;
    }
    if (json_array_size(json_object_get(details, "sentences")))
        top = draw_tag_legend(out, top);
    json_array_foreach(json_object_get(details, "sentences"), i, entry) if (i < SENTENCES_MAX) top =
        draw_sentence(out, entry, top);
    top = draw_sessions(out, json_object_get(details, "sessions"), top);
    top = draw_anomalies(out, details, top);
    if (json_object_get(details, "pairs")) {
        draw_pairs(out, json_object_get(details, "pairs"), top);
        top += SCATTER + AXIS + TITLE;
    }
    return top;
}

void answers_svg(json_t *details, const char *title, FILE *out)
{
    FILE *nowhere = fopen("/dev/null", "w");
    int height = nowhere ? draw_all(nowhere, details) : 2000;
    if (nowhere)
        fclose(nowhere);
    svg_begin(out, height);
    svg_write(out, title);
    svg_begin_page(out, height);
    draw_all(out, details);
    fputs("</svg>\n", out);
}
