/* Sleeping until another thread changes a number. */
#ifndef BASE_FUTEX_H
#define BASE_FUTEX_H
#include <stdatomic.h>

#ifdef __linux__
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sleeps if *number is `seen`, which the kernel compares atomically, until it is woken; may return early. */
static inline void futex_sleep(atomic_uint *number, unsigned seen)
{
    syscall(SYS_futex, number, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static inline void futex_wake_all(atomic_uint *number)
{
    syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}
#else /* the caller's loop polls */
static inline void futex_sleep(atomic_uint *number, unsigned seen) { (void)number, (void)seen; }
static inline void futex_wake_all(atomic_uint *number) { (void)number; }
#endif

#endif
