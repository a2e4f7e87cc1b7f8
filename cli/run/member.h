/* A rank started by `unroll launch`. It reports to the launcher ten times a second that this process is alive and
 * its progress, receives requests to save and to stop, and may write files only while its lease is valid. Without a
 * launcher all of this does nothing. Ranks communicate elsewhere. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "unroll_advanced.h"

/* The variable that the launcher sets: HOST/PORT/SECRET/EPOCH. */
#define MEMBER_VARIABLE "UNROLL_LAUNCHER"
enum { MEMBER_SECRET = 33, MEMBER_BEAT = 100 /* milliseconds */ };

/* The place of a process in a world that is rebuilt when processes join or leave (launch_worlds.c); unset for
 * others. */
#define MEMBER_PLACE "UNROLL_PLACE"

/* Call before MPI begins and before there are threads. machine: processes with the same number share process ids. */
unroll_status member_open(double machine);
bool member_is(void);
/* Reports that all ranks have met. */
void member_met(void);
/* Sets the progress of this rank and the newest checkpoint of the run; -1: none. */
void member_stands(int64_t step, int64_t checkpoint);
/* Reports that this rank was asked to leave, while the others stay. */
void member_leaves(void);
/* Reports a rank whose numbers differ from its replicas'; -1: it is unknown which one is wrong. */
void member_found_wrong(int rank);
/* Requests of the launcher. Each request to save is returned once. */
bool member_stops(void);
bool member_saves(void);
/* Returns the launcher's mean seconds between failures; 0: unknown. */
double member_mtbf(void);
/* Waits at most five seconds until files may be written; false: the members of a later epoch may own them. */
bool member_lease(void);
#define MEMBER_NO_LEASE \
    "the lease of this rank has expired, so nothing is written: its launcher does not answer, and another may have resumed " \
    "the run; fix: check that the launcher runs"
/* For processes that meet again. The first of them leads the first world. */
bool member_rejoins(void);
bool member_is_first(void);
/* Reports that data and model are loaded, so that the launcher may call. */
unroll_status member_ready(void);
/* Waits `seconds` for the next world, or as long as the launcher lives for the first one, and opens it.
 * UNROLL_PREEMPTED: this process must end. */
unroll_status member_meet(double timeout, double seconds, unroll_comm **comm);
void member_part(unroll_comm **comm);
/* Returns whether the open world has ended, because processes join or leave, or this process must leave. */
bool member_is_called(void);
bool member_is_dismissed(void);
/* Reports a step in this world. */
void member_trains(void);
/* Reports how this process ends; the connection is then closed. */
void member_close(unroll_status status);

/* Starts a thread with all signals blocked, so that the training thread gets them. Returns an errno, 0 for success. */
int start_thread(pthread_t *thread, void *(*run)(void *), void *argument);
