/* A rank as one of those that `unroll launch` started: tells the launcher ten times a second that this process lives
 * and how far it is, hears when to save and to stop, and may write files only while its lease lasts. Where nobody
 * launched us all of this does nothing. Not messages between ranks. */
#ifndef CLI_MEMBER_H
#define CLI_MEMBER_H
#include <stdbool.h>
#include <stdint.h>

#include "unroll_advanced.h"

/* What the launcher leaves in the environment: HOST/PORT/SECRET/EPOCH. */
#define MEMBER_VARIABLE "UNROLL_LAUNCHER"
enum { MEMBER_SECRET = 33, MEMBER_BEAT = 100 /* milliseconds */ };

/* The place of a process in a world that is rebuilt when processes come or go (launch_worlds.c); others have none. */
#define MEMBER_PLACE "UNROLL_PLACE"

/* Before MPI begins, and with no threads yet. machine: processes with the same number share process numbers. */
unroll_status member_open(double machine);
bool member_is(void);
/* All ranks have met. */
void member_met(void);
/* Where this rank is; the newest checkpoint of the run, -1: none. */
void member_stands(int64_t step, int64_t checkpoint);
/* This rank was told to leave; the others stay. */
void member_leaves(void);
/* A rank holds other numbers than its replicas; -1: one of them, nobody knows which. */
void member_found_wrong(int rank);
/* What the launcher asks for; the second is asked for once. */
bool member_stops(void);
bool member_saves(void);
/* Mean seconds between failures, as the launcher sees them; 0: nobody knows. */
double member_mtbf(void);
/* Waits until files may be written, five seconds at most; false: the members of a later epoch may own them. */
bool member_lease(void);
#define MEMBER_NO_LEASE \
    "the lease of this rank has ended and nothing is written: its launcher does not answer, and another may go on with " \
    "the run; fix: see whether the launcher lives"
/* Of processes that meet anew. The first of them leads the first world. */
bool member_meets_anew(void);
bool member_is_first(void);
/* Data and model are here: the launcher may call. */
unroll_status member_ready(void);
/* Waits so many seconds for the next world, or for the first as long as the launcher lives, and opens it.
 * UNROLL_PREEMPTED: this process has to go. */
unroll_status member_meet(double timeout, double seconds, unroll_comm **comm);
void member_part(unroll_comm **comm);
/* Others have come or gone, or this one is to: the world that is open is over. */
bool member_is_called(void);
bool member_is_dismissed(void);
/* A step was made in this world. */
void member_trains(void);
/* How this process ends; nothing is said after it. */
void member_close(unroll_status status);

#endif
