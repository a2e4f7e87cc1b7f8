/* What a launcher knows of the ranks that it started: a socket to which each keeps a connection (member.h), and of each
 * when it was heard last, how far it is and how it ended. Not what follows from that: cmd_launch.c. */
#ifndef CLI_LAUNCH_CONTROL_H
#define CLI_LAUNCH_CONTROL_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "member.h"
#include "ranks.h"

enum { CONTROL_LINE = UNROLL_ADDRESS + 256 };

struct launch_member {
    int socket;                  /* -1: not yet, or no more */
    bool came, met, left, ended; /* left: it was told to leave; ended: it said how */
    bool lost;                   /* its connection ended without a word */
    bool gone;                   /* nobody is at this place */
    char *address;               /* at which others reach it; NULL: not ready, or others know it */
    int64_t trains;              /* the newest world in which it made a step */
    pid_t child;                 /* here; 0: not started one by one */
    bool trained;                /* it made a step since it began */
    int64_t begin;               /* the step that it began at; -1: not yet */
    int status;                  /* with ended */
    double heard;                /* seconds_now() */
    int64_t step;                /* -1: none yet */
    int64_t checkpoint;          /* the newest of the run, as of this rank */
    long process;                /* there: */
    char host[104], words[208];  /* words: what went wrong */
    char line[CONTROL_LINE];     /* heard, and not whole yet */
    size_t length;
};

struct launch_control {
    int listens, waits; /* the socket that members come to; epoll */
    char secret[MEMBER_SECRET];
    int64_t epoch;
    int ranks;
    struct launch_member member[RANKS_MAX];
    struct {
        int socket;
        char line[CONTROL_LINE];
        size_t length;
    } stranger[16]; /* connections that did not say yet who they are */
    bool is_wrong;  /* replicas differ, and it is this one; -1: nobody knows which */
    int wrong;
    bool stops;    /* all are told to stop */
    int first;     /* the first member that was lost in this epoch; -1: none */
    double looked; /* seconds_now() of the last wait */
    int64_t lease; /* milliseconds that are granted with each beat; 0: none */
    bool stays;    /* leases outlive the launcher */
    double mtbf;   /* mean seconds between failures */
};

/* towards: an address at which hosts reach this one is chosen for this host; NULL: this machine alone. */
unroll_status control_open(struct launch_control *, const char *towards, char place[128]);
/* Nobody is at this place any more, or somebody will be. */
void control_empty(struct launch_control *, int place, bool gone);
/* A line to one of them. */
void control_tell_one(struct launch_control *, int place, const char *line);
/* Forgets the members before, whose connections end. */
void control_begin(struct launch_control *, int64_t epoch, int ranks);
/* Takes what comes within so many milliseconds. */
void control_wait(struct launch_control *, int milliseconds);
/* With their next beats all are told to save and to end. */
void control_stop(struct launch_control *);
/* "save", or "end", at once, to all that are there. */
void control_tell(struct launch_control *, const char *word);
/* Of members that did not end: the one that was silent longest, and since when; -1: none. */
int control_silent(const struct launch_control *, double *seconds);
int control_count(const struct launch_control *, bool (*is)(const struct launch_member *));
int control_members(const struct launch_control *); /* places where somebody is */

#endif
