/* Threads that run one function together (SPMD) and synchronize at barriers. There is no task queue: every member calls
 * the same function and finds its share by its number. */
#pragma once
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

enum { TEAM_LARGEST = 1024 }; /* members */

/* A barrier of `members` threads, a whole team or a part of it. It is a tree of groups of four, so that at most four
 * threads write a cache line; up to four members need one counter. A wait spins for about 20 us, or 1 us if members
 * outnumber processors, then sleeps. What members wrote before it is visible to all after it. It may be released once
 * every member has returned from its last wait and synchronized otherwise, as at the end of team_run. It must not be
 * moved or copied. */
enum { BARRIER_GROUP = 4, BARRIER_GROUPS = 256 + 64 + 16 + 4 + 1 };

/* On other cache lines than those that members write. */
struct barrier_shape {
    uint8_t members, shift;
    int16_t parent; /* the group that the last arrival continues in; -1: this is the root */
};

struct barrier_group {
    alignas(64) atomic_uint count; /* meetings << shift plus the arrivals for the next one, modulo 2^32 */
    atomic_uint sleepers;
};

struct barrier {
    int groups, spin; /* nanoseconds before a wait sleeps */
    struct barrier_shape shape[BARRIER_GROUPS];
    struct barrier_group group[BARRIER_GROUPS]; /* level by level, the root last */
};

void barrier_init(struct barrier *barrier, int members); /* 1 .. TEAM_LARGEST */
void barrier_wait(struct barrier *barrier, int me);      /* called by each of 0 .. members-1 once per meeting */
int barrier_depth(int members);                          /* levels of groups */

/* Creates a team of `threads` >= 1 members including the caller. An idle team remains usable in a forked child: its
 * first run there starts new threads. */
struct team;
unroll_status team_new(int threads, struct team **team);
void team_free(struct team *team); /* NULL is allowed */
int team_size(const struct team *team);

/* Calls work(arg, me) once for each me = 0 .. size-1, with me = 0 on the caller's thread, and returns when all have
 * returned. Members flush denormals; the caller's mode is restored. Runs must not overlap and do not allocate. Between
 * runs the workers sleep. Fails only in a forked child whose threads cannot be started. */
unroll_status team_run(struct team *team, void (*work)(void *arg, int me), void *arg);
