/* What a cluster is to the price of a plan: how fast a rank computes, what it draws, and how ranks reach each other,
 * level by level. Read from a small JSON file (docs/reference/formats.md). Nothing is measured here. */
#ifndef PLAN_CLUSTER_H
#define PLAN_CLUSTER_H
#include "base/status.h"
#include <stddef.h>

enum { CLUSTER_LEVELS = 8, CLUSTER_CLOCKS = 16, CLUSTER_NAME = 32 };

/* Ranks of one unit of a level reach each other through it, if through no lower one. */
struct cluster_level {
    char name[CLUSTER_NAME];
    int ranks;                 /* consecutive ones in a unit; 0: all, of the last level */
    double latency, bandwidth; /* seconds; bytes/s of a rank at the first level, of a unit below at others */
};

/* A processor's clock, as a part of its fastest, and the watts of a rank that computes with it. */
struct cluster_clock {
    double speed, watts;
};

struct cluster {
    char name[CLUSTER_NAME];
    double gflops;            /* 10^9 FLOP/s of products over all steps */
    double recurrent_gflops;  /* of recurrences */
    double memory_bandwidth;  /* bytes/s of what is no product */
    double operation_latency; /* seconds that each operation takes beside that */
    double step_latency;      /* and each step of a recurrence */
    double message_bandwidth; /* bytes/s of what the processor sends or receives; INFINITY: it costs it nothing */
    double memory;            /* bytes of a rank; INFINITY: not known */
    double price;             /* of a host for an hour; 0: not known */
    int ranks_per_host;
    struct cluster_level level[CLUSTER_LEVELS];
    int levels;
    struct cluster_clock clock[CLUSTER_CLOCKS]; /* the fastest first; none: energy is not known */
    int clocks;
    double waiting_watts; /* of a rank that waits */
};

/* Refused with what is wrong and where. name: for messages. */
unroll_status cluster_read(const char *path, struct cluster *);
unroll_status cluster_parse(const char *text, size_t size, const char *name, struct cluster *);

/* The lowest level at which two ranks are in one unit. */
int cluster_level_between(const struct cluster *, int a, int b);

#endif
