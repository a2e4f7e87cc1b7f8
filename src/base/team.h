/* Threads that run one function together (SPMD) and meet at barriers.
 * Not a task queue: every member calls the same function and finds its share by its number. */
#ifndef BASE_TEAM_H
#define BASE_TEAM_H
#include <stdalign.h>
#include <stdatomic.h>

#include "base/status.h"

enum { TEAM_LARGEST = 1024 }; /* members */

/* A meeting point of `members` threads, for a team or a part of it. Waiting spins for some 20 us,
 * 1 us where there are more members than processors, then sleeps. What a member wrote before
 * is seen by all after. It may be released once every member has returned from its last wait and
 * synchronised otherwise (the end of team_run does). */
struct barrier {
    alignas(64) atomic_uint arrived; /* written by all, where they are more than two */
    alignas(64) atomic_uint epoch;   /* meetings so far, of two members arrivals, modulo 2^32: read by all */
    atomic_uint sleepers;
    unsigned members;
    int spin; /* nanoseconds before a wait sleeps */
};

void barrier_init(struct barrier *barrier, int members);
void barrier_wait(struct barrier *barrier);

/* threads >= 1 counts the caller. In a child that fork() made, a team that did not run then runs as before: its first
 * run there makes the threads anew. */
struct team;
unroll_status team_new(int threads, struct team **team);
void team_free(struct team *team); /* NULL is allowed */
int team_size(const struct team *team);

/* Calls work(arg, me) once for each me = 0 .. size-1, me = 0 on the caller's thread, and returns when
 * all have. Denormals are flushed in every member; the caller's mode is restored. One run at a time;
 * no allocation. Between runs the workers sleep. Fails where a child can't have the threads. */
unroll_status team_run(struct team *team, void (*work)(void *arg, int me), void *arg);

#endif
