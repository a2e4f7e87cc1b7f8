/* The table of tasks. */
#include "tasks/task_table.h"

#include <string.h>

#include "model/model.h"

#define ROW(name) &task_##name,
enum { MAX_ADDED = 4, BUILT_IN = sizeof (const struct task *[]){ TASKS(ROW) } / sizeof (void *), KNOWN = 256 };

static const struct task *added[MAX_ADDED], *const built_in[] = { TASKS(ROW) };
static int added_count;

static const struct task *task_at(int index)
{
    if (index < added_count)
        return index < 0 ? NULL : added[index];
    return index - added_count < BUILT_IN ? built_in[index - added_count] : NULL;
}

unroll_status task_add(const struct task *task)
{
    if (added_count == MAX_ADDED)
        return fail(UNROLL_RESOURCE, "there are %d tasks already", added_count + BUILT_IN);
    added[added_count++] = task;
    return UNROLL_OK;
}

const char *unroll_task_name(int index, const char **about)
{
    const struct task *task = task_at(index);

    if (task && about)
        *about = task->about;
    return task ? task->name : NULL;
}

static const char *name_at(int index)
{
    return unroll_task_name(index, NULL);
}

unroll_status task_find(const char *name, const unroll_model *model, const unroll_dataset *data, const struct task **task)
{
    char known[KNOWN];

    if (name == NULL && model && *model->task)
        name = model->task;
    for (int i = 0; (*task = task_at(i)); i++)
        if (name ? strcmp((*task)->name, name) == 0 : (*task)->suits(data))
            return UNROLL_OK;
    list_names(name_at, known, sizeof known);
    if (name)
        return fail(UNROLL_USAGE, "there is no task '%.40s'; fix: choose one of %s", name, known);
    return fail(UNROLL_DATA, "the data suit none of the tasks; fix: choose one of %s", known);
}

unroll_status unroll_task_network(const char *name, const unroll_dataset *data, unroll_spec *spec)
{
    const struct task *task;

    TRY(task_find(name, NULL, data, &task));
    return task->network(data, spec);
}
