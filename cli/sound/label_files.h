/* Label files of sounds, predicted by a model of the task tag: lines "start TAB end TAB label" in seconds, as Audacity
 * and `unroll train` read them. */
#pragma once
#include <jansson.h>

#include "unroll_train.h"

struct label_files {
    const char *source, *folder; /* the data; where to write, NULL: next to each sound */
    double hop, window;          /* seconds between steps, and of a step */
    json_t *text;                /* the content of each file by its path */
    size_t labels;
    unroll_status status; /* of label_files_take */
};

/* Checks that the model has a label for each frame of sounds, and reads the lengths of its frames. The caller must call
 * label_files_end, even after a failure. */
unroll_status label_files_open(struct label_files *files, const unroll_model *model, const char *source,
                               const char *folder);
/* Takes the prediction for a sound (unroll_model_predict), which has its file in "kept". Returns non-zero, with
 * files->status, if it has no file of its own. */
int label_files_take(void *files, const char *json, const char *line);
/* Writes all files, or none if one of them exists. */
unroll_status label_files_write(struct label_files *files);
void label_files_end(struct label_files *files);
