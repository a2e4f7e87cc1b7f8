/* Predictions as one table, whatever the task: csv with a header, keys first, a row for each thing that is predicted.
 */
#ifndef CLI_PREDICTIONS_H
#define CLI_PREDICTIONS_H
#include <jansson.h>
#include <stdio.h>

#include "unroll.h"

struct predictions {
    FILE *file; /* the table in memory */
    char *text; /* of it */
    size_t size;
    json_t *names; /* the columns, by the first prediction; NULL before it */
};

unroll_status predictions_begin(struct predictions *predictions);
/* The rows of a prediction as unroll_predict gives it. top: the most items of a row; 0: all. */
void predictions_add(struct predictions *predictions, const json_t *answer, int top);
/* Writes the file whole, or nothing; then it is released. path NULL: nothing is written. */
unroll_status predictions_end(struct predictions *predictions, const char *path);

#endif
