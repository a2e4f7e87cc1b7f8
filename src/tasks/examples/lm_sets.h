/* The task lm for sets: which members of a vocabulary (for example notes) are in the next step. */
#pragma once
#include "tasks/task.h"

const struct column *sets_of(const unroll_dataset *data); /* NULL: none */

unroll_status sets_network(const unroll_dataset *data, unroll_model_config *spec, unroll_task_defaults *defaults);
unroll_status sets_check(const unroll_model *model, const unroll_dataset *data);
unroll_status sets_open(const struct task_request *request, enum part_of which, struct part **part);
bool part_is_of_sets(const struct part *part);
void sets_score(const struct part *part, double loss, unroll_evaluation *evaluation);
