/* unroll plot: reads the metrics of runs and draws their curves as SVG or as small bars on the terminal, or prints
 * their extremes as JSON. plot_svg.c and plot_terminal.c draw them. */
#include <stdlib.h>
#include <string.h>

#include "cli/show/answers.h"
#include "cli/show/console.h"
#include "cli/show/output.h"
#include "cli/show/plot.h"

static const double descent = 0.05; /* the share of the width that the range of losses ignores */

/* ---- common to both kinds of plot ---- */

struct axis_range plot_width(const struct plot *plot)
{
    struct axis_range width = {0, 0};
    for (int i = 0; i < plot->runs; i++)
        for (size_t k = 0; k < plot->run[i].count; k++)
            range_add(&width, report_at(&plot->run[i].report[k], plot->axis));
    return width.high > 0 ? width : (struct axis_range){0, 1};
}

static void add_metric(const struct plot *plot, enum metric metric, double left, struct axis_range *height)
{
    for (int i = 0; i < plot->runs; i++) {
        const struct series *s = &plot->run[i].of[metric];
        /* A run that ended within this share counts as a whole. */
        bool is_short = s->count && s->point[s->count - 1].x <= left;
        range_add_series(height, s, is_short ? 0 : left);
    }
}

struct axis_range plot_height(const struct plot *plot, enum metric metric)
{
    double left = metrics[metric].from_zero ? 0 : descent * plot_width(plot).high;
    struct axis_range height = range_empty();
    add_metric(plot, metric, left, &height);
    if (metric == METRIC_LOSS)
        add_metric(plot, METRIC_VALIDATION, left, &height);
    if (metrics[metric].from_zero)
        range_add(&height, 0);
    return height;
}

const char *plot_label(const struct curves *run, int max)
{
    const char *label = run->name + strlen(run->name);
    for (int characters = 0; label > run->name && characters < max;) {
        label--;
        characters += (*label & 0xc0) != 0x80;
    }
    return label;
}

/* ---- JSON ---- */

static json_t *extremes(const struct series *s)
{
    if (s->count == 0)
        return json_null();
    const struct curve_point *low = &s->point[series_lowest(s)];
    return json_pack("{sf sf sf sI sf}", "first", s->point[0].y, "last", s->point[s->count - 1].y, "min", low->y,
                     "min_step", (json_int_t)low->step, "max", s->point[series_highest(s)].y);
}

static json_t *run_to_json(const struct plot *plot, const struct curves *run)
{
    json_t *object = json_pack("{ss sI sI}", "run", run->name, "reports", (json_int_t)run->count, "steps",
                               (json_int_t)run->report[run->count - 1].step);
    for (int i = 0; i < plot->metrics; i++) {
        enum metric m = plot->metric[i];
        json_object_set_new(object, metrics[m].key, extremes(&run->of[m]));
        if (m == METRIC_LOSS)
            json_object_set_new(object, metrics[METRIC_VALIDATION].key, extremes(&run->of[METRIC_VALIDATION]));
    }
    return object;
}

static unroll_status print_numbers(const struct plot *plot)
{
    json_t *list = json_array();
    for (int i = 0; i < plot->runs; i++) json_array_append_new(list, run_to_json(plot, &plot->run[i]));
    return print_json(json_pack("{so}", "runs", list));
}

/* ---- the request ---- */

static bool is_svg(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

/* Returns the length of a path without the suffix of its name. */
static int length_of_stem(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return (int)(dot && dot > name ? dot - path : (ptrdiff_t)strlen(path));
}

static unroll_status check_request(const struct settings *s)
{
    const char *output = text_of(s, OPTION_OUTPUT);
    if (s->words > RUNS_MAX)
        return complain(UNROLL_USAGE, "plot: %d runs, but a picture has at most %d; fix: plot them in parts", s->words,
                        RUNS_MAX);
    if (output && strcmp(output, "-") != 0 && !is_svg(output))
        return complain(UNROLL_USAGE,
                        "--output: '%s' does not end in .svg, and pictures are SVG; fix: write -o %.*s.svg", output,
                        length_of_stem(output), output);
    if (output && strcmp(output, "-") == 0 && is_on(s, OPTION_JSON))
        return complain(UNROLL_USAGE,
                        "--output - and --json: both go to standard output; fix: give the picture a name");
    return UNROLL_OK;
}

static void choose_metrics(const struct settings *s, struct plot *plot)
{
    static const char *const axes[] = {"step", "epoch", "seconds", "sent"};
    const char *name = text_of(s, OPTION_METRIC);

    for (int m = 0; m < METRICS; m++)
        if (strcmp(name, metrics[m].key) == 0 || (strcmp(name, "all") == 0 && m != METRIC_VALIDATION))
            plot->metric[plot->metrics++] = m;
    while (strcmp(text_of(s, OPTION_AXIS), axes[plot->axis]) != 0) plot->axis++;
    plot->smooth = number_of(s, OPTION_SMOOTH);
}

/* ---- plots ---- */

static void draw_curves(void *plot, FILE *file) { plot_svg(plot, file); }

/* Writes a plot in one piece, so that a failure leaves an older file unchanged. */
static unroll_status write_picture(void (*paint)(void *, FILE *), void *what, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    unroll_status status = UNROLL_OK;
    if (memory)
        paint(what, memory);
    if (memory == NULL || fclose(memory) != 0)
        status = complain(UNROLL_RESOURCE, "no memory for the picture");
    else if (strcmp(path, "-") == 0)
        fwrite(text, 1, length, stdout);
    else
        status = replace_file(path, text, length);
    free(text);
    return status;
}

static unroll_status draw_plot(struct plot *plot, const struct settings *s)
{
    const char *output = text_of(s, OPTION_OUTPUT);
    if (output)
        TRY(write_picture(draw_curves, plot, output));
    if (output && strcmp(output, "-") != 0)
        say("wrote %s: open it in a browser", output);
    if (is_on(s, OPTION_JSON))
        return print_numbers(plot);
    if (!output)
        plot_terminal(plot);
    return UNROLL_OK;
}

/* ---- answers ---- */

struct answers {
    json_t *details;
    const char *title;
};

static void draw_answers(void *what, FILE *file)
{
    const struct answers *answers = what;
    answers_svg(answers->details, answers->title, file);
}

static unroll_status read_details(const char *directory, json_t **details)
{
    struct run run;
    char path[PATH_MAX];
    json_error_t error;
    TRY(run_name(&run, directory));
    run_path(&run, RUN_DETAILS, path);
    if (!exists(path))
        return complain(
            UNROLL_DATA,
            "'%s' has no predictions to draw: there is no " RUN_DETAILS
            "; fix: give the directory of a run that has ended with a validation or test, of a task other than lm",
            directory);
    *details = json_load_file(path, 0, &error);
    return json_is_object(*details)
               ? UNROLL_OK
               : complain(UNROLL_DATA, "%s: line %d: %s; fix: train the run again", path, error.line, error.text);
}

/* Draws the answers of one run to a file or the terminal, or prints its details as JSON. */
static unroll_status plot_answers(const struct settings *s)
{
    const char *slash = s->words ? strrchr(s->word[0], '/') : NULL;
    struct answers answers = {NULL, slash && slash[1] ? slash + 1 : s->word[0]};
    const char *output = text_of(s, OPTION_OUTPUT);
    if (s->words != 1)
        return complain(UNROLL_USAGE, "--what answers draws one run, but %d were given; fix: plot them one by one",
                        s->words);
    unroll_status status = read_details(s->word[0], &answers.details);
    if (status == UNROLL_OK && output)
        status = write_picture(draw_answers, &answers, output);
    if (status == UNROLL_OK && output && strcmp(output, "-") != 0)
        say("wrote %s: open it in a browser", output);
    if (status == UNROLL_OK && is_on(s, OPTION_JSON))
        return print_json(answers.details);
    if (status == UNROLL_OK && !output)
        answers_terminal(answers.details);
    json_decref(answers.details);
    return status;
}

static unroll_status plot_curves(struct settings *settings)
{
    struct plot plot = {0};
    unroll_status status = UNROLL_OK;
    choose_metrics(settings, &plot);
    while (status == UNROLL_OK && plot.runs < settings->words) {
        status = curves_read(settings->word[plot.runs], plot.axis, &plot.run[plot.runs]);
        plot.runs += status == UNROLL_OK;
    }
    if (status == UNROLL_OK)
        status = draw_plot(&plot, settings);
    for (int i = 0; i < plot.runs; i++) curves_free(&plot.run[i]);
    return status;
}

unroll_status cmd_plot(struct settings *settings)
{
    TRY(check_request(settings));
    return strcmp(text_of(settings, OPTION_WHAT), "answers") == 0 ? plot_answers(settings) : plot_curves(settings);
}
