/* The planner's part of the commands: plan --auto prints the ways, train --split auto takes the best. */
#ifndef CLI_PLAN_AUTO_H
#define CLI_PLAN_AUTO_H
#include "options.h"
#include "ranks.h"
#include "unroll_advanced.h"

/* plan: options of the planner and those that it chooses don't go together. */
unroll_status plan_auto_check(const struct settings *settings);
/* config: of the network and the batch. */
unroll_status plan_auto_print(const struct settings *settings, const unroll_plan_config *config);

/* train --split auto, when the network is known: for the ranks that were started. The settings and ranks get what was
 * chosen, which rank 0 says. */
unroll_status split_choose(struct settings *settings, const unroll_model *model, struct ranks *ranks);

#endif
