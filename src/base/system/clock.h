/* A clock that is never set. Only differences are meaningful. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

static inline int64_t clock_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns how often this thread has slept, for example to wait for a disk; 0 where the system does not count it. */
static inline long clock_sleeps(void)
{
#ifdef RUSAGE_THREAD
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
#else
    return 0;
#endif
}

static inline double clock_seconds(void) { return 1e-9 * (double)clock_nanoseconds(); }

/* Initializes a condition whose timed waits use this clock. Returns an error like pthread_cond_init. */
static inline int clock_condition(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic); /* neither can fail on Linux with these attributes */
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int error = pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return error;
}

static inline struct timespec clock_in(int64_t nanoseconds)
{
    const int64_t then = clock_nanoseconds() + nanoseconds;
    return (struct timespec){then / 1000000000, then % 1000000000};
}
