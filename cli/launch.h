/* What the files of `unroll launch` share: cmd_launch.c goes from start to start, launch_worlds.c keeps processes
 * together that meet anew within one. Not how processes are started (launch_start.h) or heard (launch_control.h). */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H
#include "launch_control.h"
#include "launch_start.h"
#include "launch_store.h"
#include "run.h"

/* --engine ucx: processes that are started one by one, of which some are the ranks of a world. */
struct launch_worlds {
    bool are;
    int spares, wanted;          /* wanted: ranks that should be, as hosts have room */
    int64_t number;              /* 0: none yet */
    int count, place[RANKS_MAX]; /* of the world, by rank */
    double begun;                /* seconds_now() when the processes were started */
};

struct launch {
    struct settings train; /* of the ranks */
    struct run run;        /* its directory */
    unroll_split split;    /* batch: unused, it follows from the number of ranks */
    int min, max, unit;    /* unit: ranks of one replica of each worker */
    double silence, timeout;
    double mtbf;                      /* mean seconds between failures, before one was seen */
    int64_t attempts, failures, vain; /* vain: in a row without a new checkpoint */
    int64_t newest;                   /* checkpoint; -1: none yet */
    bool begun;                       /* the run's directory is ours */
    int ranks;
    double began, lost; /* seconds_now(): of the launcher; of the last loss, 0: training goes on */
    struct launch_hosts hosts;
    struct launch_control control;
    struct launch_start start;
    struct launch_store store;
    struct launch_worlds worlds;
};

/* Words of the command line of ranks: NULL ends them. The caller frees them. */
enum { LAUNCH_WORDS = 256 };
struct words {
    char *word[LAUNCH_WORDS];
    int count;
};
void launch_words(const struct launch *, struct words *);
void free_words(struct words *);

/* launch_worlds.c. As many processes as are wanted, and spares. */
unroll_status worlds_begin(struct launch *);
/* Who is lost is named, and the others are called together, with those that are there in their place. False: it can't
 * be done, nobody is left. */
bool worlds_look(struct launch *);
/* Hosts have room for so many now. */
void worlds_want(struct launch *, int ranks);

#endif
