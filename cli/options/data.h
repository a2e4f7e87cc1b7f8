/* Opens data for the commands, as the options specify. */
#pragma once
#include "cli/options/options.h"
#include "unroll_train.h"

/* Writes options for readers, or for tasks (of_task), such as "tokens=words,vocab=500". Options with their fallback
 * value are left out, because each reader has its own defaults. */
enum { OPTIONS_TEXT = 2048 };
void data_options(const struct settings *settings, bool of_task, char text[OPTIONS_TEXT]);

/* Opens the file that an option names. model: the file is read with this model's schema; NULL: with the options of
 * readers. Prints errors. */
unroll_status data_open(const struct settings *settings, enum option_id id, const unroll_model *model,
                        unroll_dataset **data);
/* True for the command predict with --write labels: the data then have the column "file". */
bool writes_labels(const struct settings *settings);
/* Reads what --val or --test holds out. A file is opened with the model's schema; the caller frees *part->data. */
unroll_status data_held_out(const struct settings *settings, enum option_id id, const unroll_model *model,
                            unroll_dataset **file, unroll_held_out *part);
