/* The memory that this process may use: a limit, not what is free now. */
#pragma once
#include <stdint.h>

/* Returns the limit of the control groups alone in bytes; INT64_MAX: none. `mount` and `membership` as in cgroup.h. */
int64_t memory_limit_of_groups(const char *mount, const char *membership);
