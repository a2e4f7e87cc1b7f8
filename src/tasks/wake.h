/* Wake words: classify with `wake`, the name of a class of sounds. The network runs in one direction and has two
 * outputs at each step, none and the word. The word is heard where its probability exceeds a threshold, which a
 * validation learns: at most 0.5 false accepts an hour of other sounds. */
#pragma once
#include "tasks/examples/sequence_part.h"

extern const struct key wake_keys[]; /* the options of classify */

enum { WAKE_OUTPUTS = 2 }; /* none, the word */

/* Reads the option; *name "": none. */
unroll_status wake_read(const char *options, char name[COLUMN_NAME]);
/* Checks that the target has the class and that the data are sounds. */
unroll_status wake_check(const unroll_dataset *data, const struct column *target, const char *name);
/* Adds the word and the steps of a second to the schema. */
unroll_status wake_fit(const unroll_dataset *data, const char *name, json_t *schema);
bool wake_is_in(const json_t *schema);

/* The functions of the task (task.h) for a schema with a wake word. */
unroll_status wake_open(const struct task_request *request, enum part_of which, struct part **part);
void wake_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results);
void wake_score(const struct part *part, double loss, bool observed, unroll_evaluation *evaluation);
unroll_status wake_learn(const struct part *part, json_t *schema);
unroll_status wake_answer(struct part *part, int64_t number, const struct task_batch *batch, const float *results,
                          answer_taker *take, void *arg);
