/* A command as one rank of many: how the work is divided, which rank prints and writes, and how all ranks end
 * together. */
#pragma once
#include "cli/options/options.h"
#include "unroll_train.h"

struct ranks { /* all 0: a single process */
    unroll_comm *comm;
    unroll_split split;  /* of one worker's mesh */
    int workers;         /* 0: 1 */
    bool apart;          /* workers update independently: one may fail alone */
    bool meets, follows; /* meets: in one world after another; follows: not the first rank of the first world */
};

/* Reads "batch=2,layer=2", each axis at most once. NULL: nothing is divided. */
unroll_status read_split(const char *text, unroll_split *split);
bool split_is_auto(const struct settings *settings); /* to be chosen once the network is known: plan_auto.h */
/* Returns where and how to run, from the options that the command has. */
unroll_machine machine_of(const struct settings *settings, const struct ranks *ranks);

/* For a command that can run on many ranks: joins the others if this process was started as one of them, and refuses
 * a --split that does not match. Ranks other than 0 print nothing afterwards. */
unroll_status ranks_open(struct ranks *ranks, const struct settings *settings);
/* Combines the statuses after work that each rank did alone: all continue or none does. A rank whose result differs
 * from rank 0's prints its error. */
unroll_status ranks_together(const struct ranks *ranks, unroll_status mine);
/* Opens the next world of ranks that meet again. */
unroll_status ranks_meet(struct ranks *ranks, const struct settings *settings);
/* Returns whether this is rank 0, which prints and keeps the files of the run. */
bool ranks_lead(const struct ranks *ranks);
/* Returns whether this rank reports a failure; it then prints from here on. */
bool ranks_report(const struct ranks *ranks, unroll_status status);
/* alone: other ranks may not know of this failure, and would wait. */
void ranks_close(struct ranks *ranks, unroll_status status, bool alone);

/* The seconds of a rank: computing; sending and receiving, overlapped or not; waiting for that (exposed). Also bytes
 * sent, and joules (energy.h). */
enum { RANKS_MAX = 1024 };
struct rank_time {
    double compute, communication, exposed, sent, joules;
};

/* ranks_count adds what was sent, received and waited for since `before`, and the rest of `seconds` as computing. */
struct rank_time ranks_now(const struct ranks *ranks);
void ranks_count(const struct ranks *ranks, const struct rank_time *before, double seconds, struct rank_time *sum);
/* Returns a list of objects, or NULL for a single process. */
json_t *ranks_to_json(const struct ranks *ranks, const struct rank_time *all);
