/* Data for the commands: opened as the options say. */
#ifndef CLI_DATA_H
#define CLI_DATA_H
#include "options.h"
#include "unroll_train.h"

/* "tokens=words,vocab=500": what readers, or tasks, are told; those that are not as they are anyway, since each has its
 * own. */
enum { OPTIONS_TEXT = 2048 };
void data_options(const struct settings *settings, bool of_task, char text[OPTIONS_TEXT]);

/* The file that an option names. model: whose data they are to be, read as that model reads; NULL: there is none yet,
 * and the options of readers count. Prints what is wrong. */
unroll_status data_open(const struct settings *settings, enum option_id id, const unroll_model *model,
                        unroll_dataset **data);
/* --val, --test: what they hold out; a file is opened (*part->data is then the caller's) with the model's schema. */
unroll_status data_held_out(const struct settings *settings, enum option_id id, const unroll_model *model,
                            unroll_dataset **file, unroll_held_out *part);

#endif
