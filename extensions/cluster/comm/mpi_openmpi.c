/* Open MPI 4 and 5: a handle is the address of an object exported by the library. */
#define HANDLE     void *
#define ABI        mpi_openmpi
#define ABI_NAME   "Open MPI"
#define LIBRARY    LIBRARY_OPENMPI
#define KEY_TAG_UB 0
#define HANDLES    { .in_place = (void *)1, .any = -1 }
#define HANDLE_SYMBOLS                                                                          \
    { "ompi_mpi_comm_world", &handle.world, false },                                            \
    { "ompi_mpi_byte", &handle.byte, false },                                                   \
    { "ompi_mpi_errors_return", &handle.errors_return, false },                                 \
    { "ompi_mpi_float", &handle.of_float, false },                                              \
    { "ompi_mpi_double", &handle.of_double, false },                                            \
    { "ompi_mpi_op_sum", &handle.add, false },                                                  \
    { "opal_progress_set_yield_when_idle", &set_yields, true },
#include <stdbool.h>

static bool (*set_yields)(bool);

#include "extensions/cluster/comm/mpi_calls.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The ranks of a machine share memory in files named DIRECTORY/vader_segment.HOST.USER.JOB.RANK, or sm_segment...
 * with Open MPI 5. A killed run would leave these 4 MB files. After all ranks have begun, only their rank's
 * finalization looks for them, and it reports missing ones. So they are unlinked in between. */
static char segment[PATH_MAX]; /* of this rank; empty: unknown */

static void find_segment(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    char line[PATH_MAX + 128];
    FILE *maps = rank ? fopen("/proc/self/maps", "re") : NULL;
    while (maps && !*segment && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/'), *last = strrchr(line, '.');
        line[strcspn(line, "\n")] = 0;
        if (path && last && strstr(path, "_segment.") && !strcmp(last + 1, rank))
            snprintf(segment, sizeof segment, "%s", path);
    }
    if (maps)
        fclose(maps);
}

static void all_have_begun(void)
{
    if (set_yields)
        set_yields(false); /* Open MPI would yield at each poll, whatever the cost: mpi.c yields where it is cheap */
    if (begun_here)        /* otherwise finalization may happen without us */
        find_segment();
    if (*segment)
        unlink(segment);
}

static void will_end(void)
{
    int file = *segment ? open(segment, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        close(file);
    if (set_yields)
        set_yields(true);
}
