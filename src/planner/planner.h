/* The planner: of all ways to divide a training among the ranks of a cluster the one that is best for a goal, by the
 * prices of plans. It enumerates; what a plan costs is plan/price.h, what a policy sends is parallel/policy.h. */
#ifndef PLANNER_PLANNER_H
#define PLANNER_PLANNER_H
#include "plan/price.h"
#include "unroll_advanced.h"

/* All ways that were priced, best first; release(). refused: of how many the plan refused the cut. */
struct ways {
    unroll_choice *way;
    int ways, room, refused;
};

enum goal { GOAL_TIME, GOAL_ENERGY, GOAL_MEMORY, GOAL_MONEY, GOALS };
unroll_status goal_find(const char *name, enum goal *);

/* What is added to a step by what workers tell each other between updates: seconds that nothing hides. */
struct between {
    double waits, computes, sent;
};

/* What the goal asks for, of the best so far; INFINITY: there is none. */
double ways_least(const struct ways *, enum goal);
/* Sorted, and each with its reason. */
void ways_sort(struct ways *, enum goal);
void choice_explain(const struct ways *, enum goal, char *text, size_t size);

#endif
