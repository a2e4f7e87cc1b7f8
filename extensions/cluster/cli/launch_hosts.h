/* The hosts on which a launcher may start ranks: listed in a file, or this machine only. Records which of their
 * slots are lost and how many ranks each host gets. Ranks are started by launch_start.h. */
#ifndef CLI_LAUNCH_HOSTS_H
#define CLI_LAUNCH_HOSTS_H
#include <stdbool.h>
#include <sys/stat.h>

#include "cli/run/launch_text.h"
#include "cli/run/ranks.h"

enum { HOSTS_MAX = 1024 };

struct launch_host {
    char name[HOST_NAME];
    int slots, lost; /* lost: slots whose ranks died or left */
    bool dead;       /* none of its ranks responds any more */
    int ranks;       /* currently placed */
};

struct launch_hosts {
    const char *path; /* NULL: this machine */
    struct stat seen; /* of the file when it was read */
    int count;
    struct launch_host of[HOSTS_MAX];
};

/* path NULL: this machine, with `slots` slots. */
unroll_status hosts_open(struct launch_hosts *, const char *path, int slots);
/* Reads the file again if it has changed, and forgets all losses. Returns false, without changes, if the file is the
 * same, is unreadable, or lists no host. */
bool hosts_look(struct launch_hosts *);
/* Marks all slots as usable again. */
void hosts_restore(struct launch_hosts *);
/* Returns the number of ranks: as many of min..max as there are slots, in multiples of `unit`. Below min, live hosts
 * get more ranks than slots. 0: no host is alive. */
int hosts_ranks(const struct launch_hosts *, int min, int max, int unit);
void hosts_place(struct launch_hosts *, int ranks);
/* Returns whether all hosts are this machine, by name. */
bool hosts_are_here(const struct launch_hosts *);
/* Returns the host of a rank after hosts_place: hosts are filled one after another. */
struct launch_host *hosts_of(struct launch_hosts *, int rank);

#endif
