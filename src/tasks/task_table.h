/* The tasks of task.h: a row and a file each. */
#ifndef TASKS_TASK_TABLE_H
#define TASKS_TASK_TABLE_H
#include "tasks/task.h"

/* In the order in which data are asked what suits them. A new task is one more here. */
#define TASKS(TASK) TASK(lm) TASK(classify) TASK(tag) TASK(regress) TASK(forecast) TASK(anomaly) TASK(recommend)

#define DECLARE_TASK(name) extern const struct task task_##name;
TASKS(DECLARE_TASK)
#undef DECLARE_TASK

#endif
