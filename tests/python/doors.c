/* The C interface for test_doors.py: reads a table of cells through a callback, trains a small model on it for a few
 * steps, and prints the description, the task and the predictions, a line each.
 *     doors TABLE OPTIONS STEPS       TABLE: the names of columns, then rows, with tabs between cells */
/* test: kinds=none */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unroll_train.h"

enum { CELLS = 64, TABLE = 1 << 20 };

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    printf("%s\n", unroll_last_error());
    exit((int)status);
}

/* Cuts a line at its tabs; returns the start of the next line. */
static char *cut(char *line, char *cell[CELLS], int *cells)
{
    char *end = strchr(line, '\n');
    *end = 0;
    for (*cells = 0; line && *cells < CELLS; ++*cells) {
        cell[*cells] = line;
        line = strchr(line, '\t');
        if (line)
            *line++ = 0;
    }
    return end + 1;
}

static unroll_status hand_rows(void *arg, unroll_builder *builder)
{
    static char copy[TABLE];
    char *cell[CELLS], *at = copy;
    int columns, cells, column;
    unroll_status status = UNROLL_OK;
    strcpy(copy, arg);
    at = cut(at, cell, &columns);
    for (int i = 0; i < columns && status == UNROLL_OK; i++)
        status = unroll_builder_column(builder, cell[i], UNROLL_COLUMN_TEXT, 1, 1, &column);
    while (*at && status == UNROLL_OK) {
        at = cut(at, cell, &cells);
        for (int i = 0; i < cells && status == UNROLL_OK; i++)
            if (*cell[i])
                status = unroll_builder_text(builder, i, cell[i], strlen(cell[i]));
        if (status == UNROLL_OK)
            status = unroll_builder_end_row(builder);
    }
    return status;
}

static int print_prediction(void *arg, const char *json, const char *line)
{
    (void)arg, (void)line;
    printf("%s\n", json);
    return 0;
}

/* Trains with the defaults of the command and of Python. */
static unroll_model *train(const unroll_dataset *data, const char *task, int steps)
{
    unroll_model_config spec = unroll_model_config_auto();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_progress progress = {.size = sizeof progress};
    unroll_trainer *trainer;
    unroll_model *model;
    spec.hidden = 4;
    check(unroll_task_configure(task, NULL, data, &spec, &defaults));
    check(unroll_model_new(&spec, 1, &model));
    check(unroll_model_set_schema(model, task, NULL, data));
    config.task = task;
    config.batch = defaults.batch;
    config.bptt = defaults.bptt;
    config.rates.learning_rate = defaults.learning_rate;
    config.schedule = defaults.schedule;
    config.warmup = defaults.warmup;
    config.total_steps = steps;
    config.validation = (unroll_held_out){0};
    config.seed = 1;
    check(unroll_trainer_new(model, data, &config, &trainer));
    for (int i = 0; i < steps; i++) check(unroll_trainer_step(trainer, &progress));
    unroll_trainer_free(trainer);
    return model;
}

int main(int argc, char **argv)
{
    static char table[TABLE];
    unroll_dataset_config config = unroll_dataset_config_default();
    unroll_dataset *data, *again;
    char *json;
    FILE *file = argc == 4 ? fopen(argv[1], "r") : NULL;
    if (file == NULL || fread(table, 1, sizeof table - 1, file) == 0)
        return 2;
    fclose(file);
    config.options = argv[2];
    check(unroll_dataset_from_rows(hand_rows, table, UNROLL_AUTO, &config, &data));
    check(unroll_dataset_describe(data, &json));
    for (char *c = json; *c; c++) *c = *c == '\n' ? ' ' : *c;
    const char *why = "", *task = unroll_task_suggest(data, &why);
    printf("%s\n%s\n", json, task ? task : "none");
    free(json);
    if (task) {
        unroll_model *model = train(data, task, atoi(argv[3]));
        unroll_dataset_config like = unroll_dataset_config_default();
        like.model = model;
        check(unroll_dataset_from_rows(hand_rows, table, UNROLL_AUTO, &like, &again));
        check(unroll_model_predict(model, again, NULL, print_prediction, NULL));
        unroll_dataset_free(again);
        unroll_model_free(model);
    }
    unroll_dataset_free(data);
    return 0;
}
