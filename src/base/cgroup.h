/* Limits that control groups put on this process, for processors (processor.h) and memory (memory_limit.h).
 * Knows how groups nest and where their files lie, not what is in them. */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H
#include <stdbool.h>
#include <stdint.h>

/* The limit that the files of one group say; INT64_MAX: none. */
typedef int64_t cgroup_reader(const char *directory);

/* The least limit of the process's groups of a controller ("cpu", "memory") and of all their ancestors.
 * `mount` is where control groups are mounted (/sys/fs/cgroup), `membership` the list of the process's groups
 * (/proc/self/cgroup). INT64_MAX: none. */
int64_t cgroup_limit(const char *mount, const char *membership, const char *controller, cgroup_reader *read);

/* The first line of DIRECTORY/NAME; false when there is none. */
bool cgroup_read_line(const char *directory, const char *name, char *line, int size);

#endif
