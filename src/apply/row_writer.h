/* Prints predicted rows, each once: as JSON, as a csv table for any task, or as text of the task. */
#pragma once
#include "tasks/task.h"

enum row_format { ROW_JSON, ROW_CSV, ROW_TEXT };

struct row_writer {
    const struct task *task;
    enum row_format format;
    int top;       /* the most probabilities or items of a row; 0: all */
    json_t *names; /* the columns of the table, from the first row; NULL before it */
    FILE *file;    /* writes into text */
    char *text;
    size_t size;
};

/* name: "json", "csv" or "text". */
unroll_status row_format_find(const char *name, enum row_format *format);
unroll_status row_writer_open(struct row_writer *writer, const struct task *task, enum row_format format, int top);
/* Sets *text to the printed row without its last line end, valid until the next call. The first row of a table comes
 * after a header. Rows with several steps or items become several lines of the table. */
unroll_status row_writer_print(struct row_writer *writer, const json_t *row, const char **text);
void row_writer_close(struct row_writer *writer); /* a zeroed struct is allowed */
