/* Threads that run one function together (SPMD) and meet at barriers.
 * Not a task queue: every member calls the same function and finds its share by its number. */
#ifndef BASE_TEAM_H
#define BASE_TEAM_H
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

enum { TEAM_LARGEST = 1024 }; /* members */

/* A meeting point of `members` threads, for a team or a part of it: a tree of groups of four, so that no line of memory
 * is written by more than four of them however many there are; up to four it is one count. Waiting spins for some 20
 * us, 1 us where there are more members than processors, then sleeps. What a member wrote before is seen by all after.
 * It may be released once every member has returned from its last wait and synchronised otherwise (the end of team_run
 * does). Not to be moved or copied. */
enum { BARRIER_GROUP = 4, BARRIER_GROUPS = 256 + 64 + 16 + 4 + 1 };

/* Apart from the lines that members write. */
struct barrier_shape {
    uint8_t members, shift;
    int16_t parent; /* where the last of the group goes on; -1: the root */
};

struct barrier_group {
    alignas(64) atomic_uint count; /* meetings << shift plus what has come to the next one, modulo 2^32 */
    atomic_uint sleepers;
};

struct barrier {
    int groups, spin; /* nanoseconds before a wait sleeps */
    struct barrier_shape shape[BARRIER_GROUPS];
    struct barrier_group group[BARRIER_GROUPS]; /* level by level, the root last */
};

void barrier_init(struct barrier *barrier, int members); /* 1 .. TEAM_LARGEST */
void barrier_wait(struct barrier *barrier, int me);      /* each of 0 .. members-1 once a meeting */
int barrier_depth(int members);                          /* levels of groups */

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
