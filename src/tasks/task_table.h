/* The tasks of task.h: a row and a file each. */
#pragma once
#include "tasks/task.h"

/* In the order in which data are checked for the task that suits them. Add a new task here. */
#define TASKS(TASK) \
    TASK(lm) TASK(classify) TASK(tag) TASK(regress) TASK(forecast) TASK(anomaly) TASK(recommend) TASK(events) \
    TASK(transcribe) TASK(effect)

#define DECLARE_TASK(name) extern const struct task task_##name;
TASKS(DECLARE_TASK)
#undef DECLARE_TASK
