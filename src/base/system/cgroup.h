/* Limits that control groups set for this process; used for processors (processor.h) and memory (memory_limit.h). This
 * file handles nesting and paths; callers parse the files. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Returns the limit in the files of one group; INT64_MAX: none. */
typedef int64_t cgroup_reader(const char *directory);

/* Returns the smallest limit of the process's groups of a controller ("cpu", "memory") and of all their ancestors, or
 * INT64_MAX. `mount` is the mount point of control groups (/sys/fs/cgroup), `membership` the list of the process's
 * groups (/proc/self/cgroup). */
int64_t cgroup_limit(const char *mount, const char *membership, const char *controller, cgroup_reader *read);

/* Reads the first line of DIRECTORY/NAME; returns false if it cannot. */
bool cgroup_read_line(const char *directory, const char *name, char *line, int size);
