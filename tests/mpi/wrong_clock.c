/* A library for LD_PRELOAD: in processes of unroll, every reading of the system time jumps by an hour, back and forth.
 * Other clocks are right. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long jump(void)
{
    static int calls;
    if (strcmp(program_invocation_short_name, "unroll") != 0)
        return 0;
    return __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 2 ? 3600 : -3600;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    const long result = syscall(SYS_clock_gettime, clock, t);
    if (result == 0 && clock == CLOCK_REALTIME)
        t->tv_sec += jump();
    return (int)result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now))
        return -1;
    *t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}
