/* The table of tasks. */
#include "tasks/task_table.h"

#include "base/table.h"
#include "model/model.h"

#define ROW(name) &task_##name,
static const void *const rows[] = {TASKS(ROW)};
static struct table tasks = TABLE("task", rows);

unroll_status task_add(const struct task *task) { return table_add(&tasks, task); }

const char *unroll_task_name(int index, const char **about) { return table_name(&tasks, index, about); }

unroll_status task_find(const char *name, const unroll_model *model, const unroll_dataset *data,
                        const struct task **task)
{
    if (name == NULL && model && *model->task)
        name = model->task;
    if (name) {
        *task = table_at(&tasks, table_find(&tasks, name));
        return *task ? UNROLL_OK : table_refuse(&tasks, name);
    }
    for (int i = 0; (*task = table_at(&tasks, i)); i++)
        if ((*task)->suits(data))
            return UNROLL_OK;
    return fail(UNROLL_DATA, "the data suit no task; fix: name one");
}

unroll_status unroll_task_network(const char *name, const unroll_dataset *data, unroll_spec *spec)
{
    const struct task *task;
    TRY(task_find(name, NULL, data, &task));
    return task->network(data, spec);
}
