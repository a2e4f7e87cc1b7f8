/* The memory limit: the smallest of the machine's memory, the limits of control groups and of the process (ulimit -v).
 * Current use by other processes is not subtracted, because it changes during a training. */
#include "base/system/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/system/cgroup.h"
#include "base/number.h"
#include "unroll.h"

/* Version 2 writes "BYTES" or "max"; version 1 a number, near 2^63 if there is no limit. */
static int64_t limit_of_group(const char *directory)
{
    char line[64];
    const char *at = line;
    int64_t bytes;
    if (!cgroup_read_line(directory, "memory.max", line, sizeof line) &&
        !cgroup_read_line(directory, "memory.limit_in_bytes", line, sizeof line))
        return INT64_MAX;
    return number_integer(&at, NULL, 1, INT64_MAX, &bytes) == NUMBER_OK ? bytes : INT64_MAX;
}

int64_t memory_limit_of_groups(const char *mount, const char *membership)
{
    return cgroup_limit(mount, membership, "memory", limit_of_group);
}

static uint64_t given; /* 0: none */

void unroll_set_memory_limit(uint64_t bytes) { given = bytes; }

uint64_t unroll_memory_limit(void)
{
    uint64_t min = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t groups = (uint64_t)memory_limit_of_groups("/sys/fs/cgroup", "/proc/self/cgroup");
    if (groups < min)
        min = groups;
    if (given && given < min)
        min = given;
#ifdef RLIMIT_AS
    struct rlimit own;
    if (getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur != RLIM_INFINITY && own.rlim_cur < min)
        min = own.rlim_cur;
#endif
    return min;
}
