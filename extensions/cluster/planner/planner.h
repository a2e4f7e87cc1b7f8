/* The planner: finds the best division of a training among the ranks of a cluster for a goal, by the prices of
 * plans. It enumerates; prices are in extensions/cluster/planner/price.h, traffic of policies in
 * extensions/cluster/policies/policy.h. */
#ifndef PLANNER_PLANNER_H
#define PLANNER_PLANNER_H
#include "extensions/cluster/planner/price.h"
#include "unroll_advanced.h"

/* All priced choices, best first; the caller releases them. refused: number of cuts that the plan rejected. */
struct ways {
    unroll_choice *way;
    int ways, room, refused;
};

enum goal { GOAL_TIME, GOAL_ENERGY, GOAL_MEMORY, GOAL_MONEY, GOALS };
unroll_status goal_find(const char *name, enum goal *);

/* Seconds per step for exchanges between updates that computation does not hide. */
struct between {
    double waits, computes, sent;
};

/* Returns the goal's value of the best choice so far; INFINITY: none. */
double ways_least(const struct ways *, enum goal);
/* Sorts the choices; choice_explain writes why the first is the best. */
void ways_sort(struct ways *, enum goal);
/* unroll_planner_choose. */
unroll_status planner_choose(const unroll_model *model, const unroll_planner_config *given, unroll_choice *choice,
                             int count, int *found, char *why, size_t size);
void choice_explain(const struct ways *, enum goal, char *text, size_t size);

#endif
