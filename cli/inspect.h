/* unroll inspect of files that are no models: data. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H
#include "options.h"
#include "unroll.h"

/* Is what the command was given a model, a checkpoint or a run? */
bool inspect_is_model(const char *path);
/* What is in the data, what is missing, which task suits them and why, the command that would train on them. */
unroll_status inspect_data(const struct settings *settings);

#endif
