/* The planner in the commands: plan --auto prints the candidates, train --split auto uses the best one. */
#pragma once
#include "cli/options/options.h"
#include "cli/run/ranks.h"
#include "unroll_advanced.h"

/* plan: refuses combinations of the planner's options with options that it chooses. */
unroll_status plan_auto_check(const struct settings *settings);
/* Prints the candidates. config: the network and the batch. */
unroll_status plan_auto_print(const struct settings *settings, const unroll_plan_config *config);

/* train --split auto, once the network is known: chooses the division for the ranks that were started. Updates the
 * settings and ranks; rank 0 prints the choice. */
unroll_status split_choose(struct settings *settings, const unroll_model *model, struct ranks *ranks);
