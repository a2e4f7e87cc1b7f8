/* Sorts choices by a goal and explains why the first is the best. Nothing is priced here. */
#include "extensions/cluster/planner/planner.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *goal_name(int index)
{
    static const char *const names[] = {"time", "energy", "memory", "money"};
    return index < GOALS ? names[index] : NULL;
}

unroll_status goal_find(const char *name, enum goal *goal)
{
    char names[64];
    for (int i = 0; i < GOALS; i++)
        if (name && !strcmp(name, goal_name(i))) {
            *goal = (enum goal)i;
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "there is no goal '%.40s'; fix: choose one of %s", name ? name : "",
                list_names(goal_name, names, sizeof names));
}

static double value_of(const unroll_choice *way, enum goal goal)
{
    return goal == GOAL_ENERGY   ? way->joules
           : goal == GOAL_MEMORY ? way->memory
           : goal == GOAL_MONEY  ? way->money
                                 : way->seconds;
}

/* ---- the order ------------------------------------------------------------------------- */

static _Thread_local enum goal sorted_by; /* qsort passes no context */

/* Prices within a thousandth of each other count as equal: then the simpler choice is better. */
static int compare_numbers(double a, double b) { return a < b ? -1 : a > b; }

static int simplicity(const unroll_choice *w)
{
    return (w->workers > 1) * 64 + (strcmp(w->compress, "none") != 0) * 32 + (w->split.hidden > 1) * 16 +
           (w->split.layer > 1) * 8 + (w->chunks != 0) * 4 + (strcmp(w->sum, "auto") != 0);
}

static int compare_ways(const void *a, const void *b)
{
    const unroll_choice *x = a, *y = b;
    int order = compare_numbers(round(3000 * log(value_of(x, sorted_by))), round(3000 * log(value_of(y, sorted_by))));
    order = order ? order : compare_numbers(round(3000 * log(x->seconds)), round(3000 * log(y->seconds)));
    order = order ? order : compare_numbers(x->ranks, y->ranks);
    order = order ? order : compare_numbers(simplicity(x), simplicity(y));
    const int mine[] = {x->workers, x->split.layer, x->split.hidden, x->chunks},
              other[] = {y->workers, y->split.layer, y->split.hidden, y->chunks};
    for (int i = 0; i < 4 && !order; i++) order = compare_numbers(mine[i], other[i]);
    order = order ? order : strcmp(x->sum, y->sum);
    order = order ? order : strcmp(x->sync, y->sync);
    return order ? order : strcmp(x->compress, y->compress);
}

double ways_least(const struct ways *w, enum goal goal)
{
    double least = INFINITY;
    for (int i = 0; i < w->ways; i++) least = fmin(least, value_of(&w->way[i], goal));
    return least;
}

void ways_sort(struct ways *w, enum goal goal)
{
    sorted_by = goal;
    qsort(w->way, (size_t)w->ways, sizeof *w->way, compare_ways);
}

/* ---- the reason ------------------------------------------------------------------------ */

static const char *name_way(const unroll_choice *w, char text[160])
{
    int n = snprintf(text, 160, "%s%.0d%sbatch=%d,layer=%d,hidden=%d", w->workers > 1 ? "workers=" : "",
                     w->workers > 1 ? w->workers : 0, w->workers > 1 ? " of " : "", w->split.batch, w->split.layer,
                     w->split.hidden);
    if (w->workers > 1)
        snprintf(text + n, 160 - (size_t)n, " synchronized by %s%s%s", w->sync,
                 strcmp(w->compress, "none") ? ", compressed by " : "", strcmp(w->compress, "none") ? w->compress : "");
    return text;
}

static bool is_plain(const unroll_choice *w) { return w->workers == 1 && w->split.layer == 1 && w->split.hidden == 1; }

/* Returns the best choice of another kind: a plain batch cut if the first is none, otherwise any other. */
static const unroll_choice *find_other(const struct ways *w)
{
    for (int i = 1; i < w->ways; i++)
        if (is_plain(&w->way[i]) != is_plain(&w->way[0]))
            return &w->way[i];
    return NULL;
}

void choice_explain(const struct ways *w, enum goal goal, char *text, size_t size)
{
    static const char *const more[] = {"longer", "more energy", "more memory", "more money"};
    char name[160], other_name[160];
    const unroll_choice *best = w->way, *other = find_other(w);
    int n =
        snprintf(text, size, "%s: its ranks compute for %.1f%% of their time", name_way(best, name), 100 * best->busy);
    if (other && n >= 0 && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, "; %s takes %.3g%% %s, and computes for %.1f%%",
                      name_way(other, other_name), 100 * (value_of(other, goal) / value_of(best, goal) - 1), more[goal],
                      100 * other->busy);
    if (best->workers > 1 && n >= 0 && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n,
                      "; such workers learn differently from one process: `sync` every and `compress` "
                      "none ask for its updates");
    if (best->saved > 0 && n >= 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n,
                 "; lower clocks off the critical path save %.1f%% of the energy for %.2f%% more time",
                 100 * best->saved, 100 * best->slower);
}
