/* The launcher's view of its ranks: each keeps a connection to the launcher's socket (member.h). Records the last
 * heartbeat, the progress and the exit of each rank. The decisions are made in cmd_launch.c. */
#ifndef CLI_LAUNCH_CONTROL_H
#define CLI_LAUNCH_CONTROL_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run/member.h"
#include "cli/run/ranks.h"

enum { CONTROL_LINE = UNROLL_ADDRESS + 256 };

struct launch_member {
    int socket;                  /* -1: not yet connected, or disconnected */
    bool came, met, left, ended; /* left: asked to leave; ended: reported its exit */
    bool lost;                   /* the connection ended without an exit report */
    bool gone;                   /* the place is vacant */
    char *address;               /* at which peers reach it; NULL: not ready, or already sent */
    int64_t trains;              /* newest world in which it made a step */
    pid_t child;                 /* child process; 0: not started individually */
    bool trained;                /* it made a step since it began */
    int64_t begin;               /* first step; -1: not yet */
    int status;                  /* exit status, if ended */
    double heard;                /* seconds_now() */
    int64_t step;                /* -1: none yet */
    int64_t checkpoint;          /* newest one of the run, as reported by this rank */
    long process;                /* process on its host */
    char host[104], words[208];  /* words: its error message */
    char line[CONTROL_LINE];     /* received, but not yet complete */
    size_t length;
};

struct launch_control {
    int listens, waits; /* listening socket; epoll descriptor */
    char secret[MEMBER_SECRET];
    int64_t epoch;
    int ranks;
    struct launch_member member[RANKS_MAX];
    struct {
        int socket;
        char line[CONTROL_LINE];
        size_t length;
    } stranger[16]; /* connections that have not identified themselves yet */
    bool is_wrong;  /* replicas differ, and `wrong` is the faulty one; -1: unknown */
    int wrong;
    bool stops;    /* all are asked to stop */
    int first;     /* first member that was lost in this epoch; -1: none */
    double looked; /* seconds_now() of the last wait */
    int64_t lease; /* milliseconds granted with each heartbeat; 0: none */
    bool stays;    /* leases outlive the launcher */
    double mtbf;   /* mean seconds between failures */
};

/* Opens the listening socket. towards: a host that must be able to reach it, which determines the address; NULL:
 * this machine only. */
unroll_status control_open(struct launch_control *, const char *towards, char place[128]);
/* Clears a place, which stays vacant (gone) or will be filled. */
void control_empty(struct launch_control *, int place, bool gone);
/* Sends a line to one member. */
void control_tell_one(struct launch_control *, int place, const char *line);
/* Forgets the previous members and closes their connections. */
void control_begin(struct launch_control *, int64_t epoch, int ranks);
/* Processes events for up to this many milliseconds. */
void control_wait(struct launch_control *, int milliseconds);
/* Asks all members to save and end, with their next heartbeats. */
void control_stop(struct launch_control *);
/* Sends "save" or "end" to all connected members at once. */
void control_tell(struct launch_control *, const char *word);
/* Returns the member, among those that have not ended, with the longest silence, and its duration; -1: none. */
int control_silent(const struct launch_control *, double *seconds);
int control_count(const struct launch_control *, bool (*is)(const struct launch_member *));
int control_members(const struct launch_control *); /* occupied places */

#endif
