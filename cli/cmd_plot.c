/* unroll plot: reads the metrics of runs and draws their curves: as SVG, as lines of small bars on the
 * terminal, or their extremes as JSON. The drawing itself: plot_svg.c and plot_terminal.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console.h"
#include "output.h"
#include "plot.h"

static const double descent = 0.05;     /* of the width */

/* ---- what both pictures share ---- */

struct range plot_width(const struct plot *plot)
{
    struct range width = {0, 0};

    for (int i = 0; i < plot->runs; i++)
        for (size_t k = 0; k < plot->run[i].count; k++)
            range_add(&width, report_at(&plot->run[i].report[k], plot->axis));
    return width.high > 0 ? width : (struct range){0, 1};
}

static unroll_status add_metric(const struct plot *plot, enum metric metric, double left,
                                struct range *height)
{
    struct series series;

    for (int i = 0; i < plot->runs; i++) {
        unroll_status status = series_of(&plot->run[i], metric, plot->axis, &series);
        if (status != UNROLL_OK)
            return status;
        /* A run that ended within another's descent counts whole. */
        bool is_short = series.count && series.x[series.count - 1] <= left;
        range_add_series(height, &series, is_short ? 0 : left);
        series_free(&series);
    }
    return UNROLL_OK;
}

unroll_status plot_height(const struct plot *plot, enum metric metric, struct range *height)
{
    double left = metrics[metric].from_zero ? 0 : descent * plot_width(plot).high;
    struct range found = range_empty();
    unroll_status status = add_metric(plot, metric, left, &found);

    if (status == UNROLL_OK && metric == METRIC_LOSS)
        status = add_metric(plot, METRIC_VALIDATION, left, &found);
    if (status != UNROLL_OK)
        return status;
    if (metrics[metric].from_zero)
        range_add(&found, 0);
    *height = found;
    return UNROLL_OK;
}

const char *plot_label(const struct curves *run, int most)
{
    const char *label = run->name + strlen(run->name);

    for (int characters = 0; label > run->name && characters < most;) {
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
    size_t low = series_lowest(s), high = series_highest(s);
    return json_pack("{sf sf sf sf sf}", "first", s->y[0], "last", s->y[s->count - 1], "min", s->y[low],
                     "min_step", s->x[low], "max", s->y[high]);
}

static unroll_status add_extremes(json_t *object, const struct curves *run, enum metric metric)
{
    struct series series;
    unroll_status status = series_of(run, metric, AXIS_STEP, &series);

    if (status != UNROLL_OK)
        return status;
    if (json_object_set_new(object, metrics[metric].key, extremes(&series)) != 0)
        status = complain(UNROLL_RESOURCE, "no memory for the result");
    series_free(&series);
    return status;
}

static unroll_status add_run(json_t *list, const struct plot *plot, const struct curves *run)
{
    const struct report *last = &run->report[run->count - 1];
    json_t *object = json_pack("{ss sI sI}", "run", run->name, "reports", (json_int_t)run->count,
                               "steps", (json_int_t)last->step);
    unroll_status status = UNROLL_OK;

    for (int i = 0; i < plot->metrics && status == UNROLL_OK; i++) {
        status = add_extremes(object, run, plot->metric[i]);
        if (plot->metric[i] == METRIC_LOSS && status == UNROLL_OK)
            status = add_extremes(object, run, METRIC_VALIDATION);
    }
    json_array_append_new(list, object);
    return status;
}

static unroll_status print_numbers(const struct plot *plot)
{
    json_t *list = json_array();
    unroll_status status = UNROLL_OK;

    for (int i = 0; i < plot->runs && status == UNROLL_OK; i++)
        status = add_run(list, plot, &plot->run[i]);
    if (status == UNROLL_OK)
        return print_json(json_pack("{so}", "runs", list));
    json_decref(list);
    return status;
}

/* ---- the request ---- */

static bool is_svg(const char *path)
{
    size_t length = strlen(path);

    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

static unroll_status check_request(const struct settings *s)
{
    unroll_status status = settings_need(s, OPTION_RUNS);
    const char *output = text_of(s, OPTION_OUTPUT);

    if (status != UNROLL_OK)
        return status;
    if (s->words > RUNS_MOST)
        return complain(UNROLL_USAGE, "plot: %d runs, but more than %d can't be told apart; fix: plot them "
                        "in parts", s->words, RUNS_MOST);
    if (output && strcmp(output, "-") != 0 && !is_svg(output))
        return complain(UNROLL_USAGE, "--output: '%s' does not end in .svg, and pictures are SVG; fix: write "
                        "-o %.200s.svg", output, output);
    if (output && strcmp(output, "-") == 0 && is_on(s, OPTION_JSON))
        return complain(UNROLL_USAGE, "--output - and --json: both go to standard output; fix: give the "
                        "picture a name");
    return UNROLL_OK;
}

static void choose_metrics(const struct settings *s, struct plot *plot)
{
    static const char *const axes[] = {"step", "epoch", "seconds"};
    const char *name = text_of(s, OPTION_METRIC);

    for (int m = 0; m < METRICS; m++)
        if (strcmp(name, metrics[m].key) == 0 || (strcmp(name, "all") == 0 && m != METRIC_VALIDATION))
            plot->metric[plot->metrics++] = m;
    while (strcmp(text_of(s, OPTION_AXIS), axes[plot->axis]) != 0)
        plot->axis++;
    plot->smooth = number_of(s, OPTION_SMOOTH);
}

/* A picture that could not be finished leaves the older one as it was. */
static unroll_status write_picture(const struct plot *plot, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);

    if (memory == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the picture");
    unroll_status status = plot_svg(plot, memory);
    if (fclose(memory) != 0 && status == UNROLL_OK)
        status = complain(UNROLL_RESOURCE, "no memory for the picture");
    if (status == UNROLL_OK && strcmp(path, "-") == 0)
        fwrite(text, 1, length, stdout);
    else if (status == UNROLL_OK)
        status = replace_file(path, text, length);
    free(text);
    return status;
}

static unroll_status draw(const struct plot *plot, const struct settings *s)
{
    const char *output = text_of(s, OPTION_OUTPUT);
    unroll_status status = UNROLL_OK;

    if (output)
        status = write_picture(plot, output);
    if (status == UNROLL_OK && output && strcmp(output, "-") != 0)
        say("wrote %s: open it in a browser", output);
    if (status == UNROLL_OK && is_on(s, OPTION_JSON))
        return print_numbers(plot);
    return status == UNROLL_OK && !output ? plot_terminal(plot) : status;
}

unroll_status cmd_plot(struct settings *settings)
{
    struct plot plot = {0};
    unroll_status status = check_request(settings);

    choose_metrics(settings, &plot);
    for (int i = 0; i < settings->words && status == UNROLL_OK; i++) {
        status = curves_read(settings->word[i], &plot.run[i]);
        if (status == UNROLL_OK)
            plot.runs++;
    }
    if (status == UNROLL_OK)
        status = draw(&plot, settings);
    for (int i = 0; i < plot.runs; i++)
        curves_free(&plot.run[i]);
    return status;
}
