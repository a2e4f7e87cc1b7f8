/* What unroll plot was asked to draw: between cmd_plot.c, which reads it, and the two that draw. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H
#include <stdio.h>

#include "curves.h"

enum { RUNS_MAX = 20 }; /* more could not be told apart */

struct plot {
    struct curves run[RUNS_MAX];
    int runs;
    enum metric metric[METRICS]; /* one below the other; with the loss goes the validation loss */
    int metrics;
    enum axis axis;
    double smooth; /* reach of the average, as a part of the width; 0: none */
};

static inline bool is_loss(enum metric metric) { return metric == METRIC_LOSS || metric == METRIC_VALIDATION; }

/* The x axis of all runs, from 0. */
struct range plot_width(const struct plot *plot);
/* The y axis of a metric. The descent from random weights, the first part of the width, may leave it: the
 * rest of the curves, for which people look, would be flat. */
struct range plot_height(const struct plot *plot, enum metric metric);
/* Reads "runs/.../name" with at most so many characters, the last ones. */
const char *plot_label(const struct curves *run, int max);

void plot_svg(struct plot *plot, FILE *file); /* averages its points */
void plot_terminal(const struct plot *plot);

#endif
