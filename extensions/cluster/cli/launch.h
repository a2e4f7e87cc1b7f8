/* Shared by the files of `unroll launch`: cmd_launch.c handles the sequence of starts, launch_worlds.c the processes
 * that survive a loss within one start. Processes are started by launch_start.h and monitored by launch_control.h. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H
#include "extensions/cluster/cli/launch_control.h"
#include "extensions/cluster/cli/launch_start.h"
#include "extensions/cluster/cli/launch_store.h"
#include "cli/run/run.h"

/* --engine ucx: processes that are started individually; some of them are the ranks of a world. */
struct launch_worlds {
    bool are;
    int spares, wanted;          /* wanted: number of ranks for which hosts have room */
    int64_t number;              /* 0: none yet */
    int count, place[RANKS_MAX]; /* place[rank]: process of each rank of the world */
    double begun;                /* seconds_now() when the processes were started */
};

struct launch {
    struct settings train; /* settings of the ranks */
    struct run run;        /* directory of the run */
    unroll_split split;    /* batch is unused: it follows from the number of ranks */
    int min, max, unit;    /* unit: ranks of one replica, times workers */
    double silence, timeout;
    double mtbf;                         /* prior mean of seconds between failures */
    int64_t attempts, failures, stalled; /* stalled: consecutive failures without a new checkpoint */
    int64_t newest;                      /* checkpoint; -1: none yet */
    bool begun;                          /* this launcher has used the run's directory */
    int ranks;
    double began, lost; /* seconds_now(): start of the launcher; last loss, 0: training is running */
    struct launch_hosts hosts;
    struct launch_control control;
    struct launch_start start;
    struct launch_store store;
    struct launch_worlds worlds;
};

/* Command line of ranks, terminated by NULL. The caller frees the words. */
enum { LAUNCH_WORDS = 256 };
struct words {
    char *word[LAUNCH_WORDS];
    int count;
};
void launch_words(const struct launch *, struct words *);
void free_words(struct words *);

/* launch_worlds.c. Starts the wanted number of processes, and spares. */
unroll_status worlds_begin(struct launch *);
/* Reports lost processes and forms a new world from the remaining ones and their replacements. Returns false if that
 * is impossible or no process is left. */
bool worlds_look(struct launch *);
/* Sets the number of ranks for which hosts have room. */
void worlds_want(struct launch *, int ranks);

#endif
