/* The table of tasks, and the choice of the one that suits data. */
#include "base/sized.h"
#include "tasks/task_table.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "model/model.h"

#define ROW(name) &task_##name,
static const void *const rows[] = {TASKS(ROW)};
static struct table tasks = TABLE("task", rows);

unroll_status task_add(const struct task *task) { return table_add(&tasks, task); }

const struct task *task_at(int index) { return table_at(&tasks, index); }

/* Finds the best task for the data, the first of equal ones. NULL: none suits. */
static const struct task *best_task(const unroll_dataset *data, char why[TASK_WHY])
{
    const struct task *task, *best = NULL;
    char reason[TASK_WHY] = "";
    int highest = 0;
    for (int i = 0; (task = table_at(&tasks, i)); i++) {
        int score = task->suits(data, reason);
        if (score <= highest)
            continue;
        highest = score;
        best = task;
        snprintf(why, TASK_WHY, "%s", reason);
    }
    return best;
}

const struct key *task_option(const char *name, int index)
{
    const struct task *task = table_at(&tasks, table_find(&tasks, name));
    return key_at(task ? task->keys : NULL, index);
}

unroll_status task_find(const char *name, const unroll_model *model, const unroll_dataset *data,
                        const struct task **task)
{
    char why[TASK_WHY];
    if (name && strcmp(name, "auto") == 0)
        name = NULL;
    if (name == NULL && model && *model->task)
        name = model->task;
    if (name) {
        *task = table_at(&tasks, table_find(&tasks, name));
        return *task ? UNROLL_OK : table_refuse(&tasks, name);
    }
    *task = best_task(data, why);
    return *task ? UNROLL_OK : fail(UNROLL_DATA, "no task fits the data; fix: name one");
}

const char *unroll_task_suggest(const unroll_dataset *data, const char **why)
{
    static _Thread_local char reason[TASK_WHY];
    const struct task *task = best_task(data, reason);
    if (task && why)
        *why = reason;
    return task ? task->name : NULL;
}

void unroll_task_defaults_begin(unroll_task_defaults *config, size_t size)
{
    const unroll_task_defaults standard = {.size = sizeof(unroll_task_defaults),
                                           .batch = 32,
                                           .bptt = 64,
                                           .epochs = 10,
                                           .learning_rate = 2e-3,
                                           .warmup = 100,
                                           .validation = 0.1,
                                           .schedule = "cosine",
                                           .augment = ""};
    sized_begin(&standard, sizeof standard, config, size);
}

void unroll_model_config_auto_begin(unroll_model_config *given, size_t size)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = NULL;
    spec.layers = spec.hidden = spec.bidirectional = spec.embed = UNROLL_AUTO;
    spec.dropout = UNROLL_AUTO;
    sized_begin(&spec, sizeof spec, given, size);
}

void spec_settle(unroll_model_config *spec, const unroll_model_config *network)
{
    if (spec->cell == NULL)
        spec->cell = network->cell;
    if (spec->layers == UNROLL_AUTO)
        spec->layers = network->layers;
    if (spec->hidden == UNROLL_AUTO)
        spec->hidden = network->hidden;
    if (spec->bidirectional == UNROLL_AUTO)
        spec->bidirectional = network->bidirectional;
    if (!(spec->dropout >= 0))
        spec->dropout = network->dropout;
}

unroll_status unroll_task_configure(const char *name, const char *options, const unroll_dataset *data,
                                    unroll_model_config *spec, unroll_task_defaults *defaults)
{
    unroll_task_defaults found = unroll_task_defaults_default();
    unroll_model_config made = unroll_model_config_auto();
    const struct sized *type = SIZED(unroll_task_defaults, "unroll_task_defaults_default()");
    const struct task *task;
    TRY(task_find(name, NULL, data, &task));
    TRY(sized_take(SIZED_SPEC, spec, &made));
    if (defaults)
        TRY(sized_take(type, defaults, &found));
    TRY(accepts_columns(task, options, data));
    TRY(task->network(data, options, &made, &found));
    snprintf(found.unused, sizeof found.unused, "%s", accepts_unused(task, &made, data));
    sized_give(&made, sizeof made, spec);
    if (defaults)
        sized_give(&found, sizeof found, defaults);
    return UNROLL_OK;
}

unroll_status task_check(const struct task *task, const unroll_model *model, const unroll_dataset *data,
                         const char **unused)
{
    const char *unwanted;
    TRY(accepts_model(task, model, data, unused ? unused : &unwanted));
    return task->check ? task->check(model, data) : UNROLL_OK;
}

const char *part_words(enum part_of which)
{
    return which == PART_TRAINING     ? " of the training part"
           : which == PART_VALIDATION ? " of the validation part"
           : which == PART_TEST       ? " of the test part"
                                      : "";
}

void part_free(struct part *part)
{
    if (part && part->end)
        part->end(part);
    release(part);
}

const unroll_dataset *part_data(const struct task_request *request, enum part_of which)
{
    return which == PART_TRAINING     ? NULL
           : which == PART_VALIDATION ? request->validation.data
           : which == PART_TEST       ? request->test.data
                                      : request->data;
}

unroll_status answer_give(json_t *answer, answer_taker *take, void *arg)
{
    unroll_status status = answer ? take(arg, answer) : fail(UNROLL_RESOURCE, "no memory for an answer");
    json_decref(answer);
    return status;
}
