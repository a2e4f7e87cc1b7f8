/* The hosts that a launcher may start ranks on: a file of them, or this machine alone; which of their slots are lost,
 * and how many ranks each gets. Not how ranks are started: launch_start.h. */
#ifndef CLI_LAUNCH_HOSTS_H
#define CLI_LAUNCH_HOSTS_H
#include <stdbool.h>
#include <sys/stat.h>

#include "launch_text.h"
#include "ranks.h"

enum { HOSTS_MAX = 1024 };

struct launch_host {
    char name[HOST_NAME];
    int slots, lost; /* lost: slots whose ranks died or left */
    bool dead;       /* none of its ranks was heard any more */
    int ranks;       /* now */
};

struct launch_hosts {
    const char *path; /* NULL: this machine */
    struct stat seen; /* of the file that was read */
    int count;
    struct launch_host of[HOSTS_MAX];
};

/* path NULL: this machine, with so many slots. */
unroll_status hosts_open(struct launch_hosts *, const char *path, int slots);
/* The file is another now: it is read again, and nothing counts as lost. A file that can't be read, or names nothing,
 * changes nothing. */
bool hosts_look(struct launch_hosts *);
/* What was lost is there again. */
void hosts_restore(struct launch_hosts *);
/* As many of min..max as there are slots, a multiple of `unit`; below min hosts that live take more than their slots.
 * 0: no host lives. */
int hosts_ranks(const struct launch_hosts *, int min, int max, int unit);
void hosts_place(struct launch_hosts *, int ranks);
/* Are all of them this machine, by their names? */
bool hosts_are_here(const struct launch_hosts *);
/* The host of a rank, as they were placed: hosts are filled one after the other. */
struct launch_host *hosts_of(struct launch_hosts *, int rank);

#endif
