/* How much memory this process may have before anything else gets it: a limit, not what is free now. */
#ifndef BASE_MEMORY_LIMIT_H
#define BASE_MEMORY_LIMIT_H
#include <stdint.h>

/* Of the control groups alone, bytes, INT64_MAX without one; `mount` and `membership` as in cgroup.h. */
int64_t memory_limit_of_groups(const char *mount, const char *membership);

#endif
