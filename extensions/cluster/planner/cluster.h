/* Description of a cluster for pricing plans: the speed and power of a rank, and the links between ranks, level by
 * level. Read from a small JSON file (docs/reference/formats.md). Nothing is measured here. */
#ifndef PLAN_CLUSTER_H
#define PLAN_CLUSTER_H
#include "base/status.h"
#include <stddef.h>

enum { CLUSTER_LEVELS = 8, CLUSTER_CLOCKS = 16, CLUSTER_NAME = 32 };

/* Ranks in the same unit of a level communicate through it, unless they share a unit of a lower level. */
struct cluster_level {
    char name[CLUSTER_NAME];
    int ranks; /* consecutive ranks in a unit; 0: all, at the last level */
    double latency,
        bandwidth; /* seconds; bytes/s of a rank at the first level, of a unit of the level below at others */
};

/* A clock rate relative to the fastest, and the watts of a rank that computes at it. */
struct cluster_clock {
    double speed, watts;
};

struct cluster {
    char name[CLUSTER_NAME];
    double gflops;            /* 10^9 FLOP/s of products over all steps */
    double recurrent_gflops;  /* of recurrences */
    double memory_bandwidth;  /* bytes/s of operations without products */
    double operation_latency; /* seconds added to each operation */
    double step_latency;      /* seconds added to each step of a recurrence */
    double message_bandwidth; /* bytes/s that the processor spends on sending or receiving; INFINITY: no cost */
    double memory;            /* bytes of a rank; INFINITY: unknown */
    double price;             /* of a host per hour; 0: unknown */
    int ranks_per_host;
    struct cluster_level level[CLUSTER_LEVELS];
    int levels;
    struct cluster_clock clock[CLUSTER_CLOCKS]; /* fastest first; none: energy is unknown */
    int clocks;
    double waiting_watts; /* of a rank that waits */
};

/* Reads and checks a description; errors report the problem and its place. name: for messages. */
unroll_status cluster_read(const char *path, struct cluster *);
unroll_status cluster_parse(const char *text, size_t size, const char *name, struct cluster *);

/* Returns the lowest level at which two ranks are in the same unit. */
int cluster_level_between(const struct cluster *, int a, int b);

#endif
