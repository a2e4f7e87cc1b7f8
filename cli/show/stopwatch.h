/* Seconds of a clock that is never set. Only differences are meaningful. */
#pragma once
#include <time.h>

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
