/* A command as one rank of many: how the work is cut, which prints and writes, and how all end together. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H
#include "options.h"
#include "unroll_train.h"

struct ranks { /* all 0: this process is alone */
    unroll_comm *comm;
    unroll_split split;  /* of a worker's mesh */
    int workers;         /* 0: 1 */
    bool apart;          /* they update by themselves: one may fail alone */
    bool meets, follows; /* meets: in one world after the other; follows: it is not the first of the first one */
};

/* "batch=2,layer=2": each axis at most once. NULL: nothing is cut. */
unroll_status read_split(const char *text, unroll_split *split);
bool split_is_auto(const struct settings *settings); /* to be chosen when the network is known: plan_auto.h */
/* Where and how to run, of the options that the command has. */
unroll_machine machine_of(const struct settings *settings, const struct ranks *ranks);

/* Of a command that can run on many ranks: finds the others if we were started as one of them, and refuses
 * what does not fit --split. Ranks other than 0 print nothing from here on. */
unroll_status ranks_open(struct ranks *ranks, const struct settings *settings);
/* After what each rank did alone: all go on, or none does. Who fared differently from rank 0 says so now. */
unroll_status ranks_together(const struct ranks *ranks, unroll_status mine);
/* Of ranks that meet: opens the next world. */
unroll_status ranks_meet(struct ranks *ranks, const struct settings *settings);
/* Rank 0 prints, and keeps the files of the run. */
bool ranks_lead(const struct ranks *ranks);
/* After a failure: does this rank report it? Then it prints from here on. */
bool ranks_report(const struct ranks *ranks, unroll_status status);
/* alone: others may not know of this failure, and would wait. */
void ranks_close(struct ranks *ranks, unroll_status status, bool alone);

/* What ranks did with their seconds: computing; sending and receiving, beside that or not; waiting for it. And bytes;
 * and joules (energy.h). */
enum { RANKS_MAX = 1024 };
struct rank_time {
    double compute, communication, exposed, sent, joules;
};

/* What since `before` was sent, received and waited for is added, and what of `seconds` was no waiting. */
struct rank_time ranks_now(const struct ranks *ranks);
void ranks_count(const struct ranks *ranks, const struct rank_time *before, double seconds, struct rank_time *sum);
/* A list of objects; of a process that is alone none: NULL. */
json_t *ranks_to_json(const struct ranks *ranks, const struct rank_time *all);

#endif
