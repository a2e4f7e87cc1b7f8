/* The plot that unroll plot draws: filled by cmd_plot.c, drawn by plot_svg.c and plot_terminal.c. */
#pragma once
#include <stdio.h>

#include "cli/show/curves.h"

enum { RUNS_MAX = 20 }; /* more would be indistinguishable */

struct plot {
    struct curves run[RUNS_MAX];
    int runs;
    enum metric metric[METRICS]; /* one below the other; the loss includes the validation loss */
    int metrics;
    enum plot_axis axis;
    double smooth; /* reach of the average, as a fraction of the width; 0: none */
};

static inline bool is_loss(enum metric metric) { return metric == METRIC_LOSS || metric == METRIC_VALIDATION; }

/* Returns the range of the x axis for all runs, from 0. */
struct axis_range plot_width(const struct plot *plot);
/* Returns the range of the y axis of a metric. It ignores the descent from random weights in the first part of the
 * width, which would make the rest of the curves flat. */
struct axis_range plot_height(const struct plot *plot, enum metric metric);
/* Returns the end of the name "runs/.../name", at most `max` characters. */
const char *plot_label(const struct curves *run, int max);

void plot_svg(struct plot *plot, FILE *file); /* averages its points */
void plot_terminal(const struct plot *plot);
