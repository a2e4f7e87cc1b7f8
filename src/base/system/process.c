/* A process's number is the count of forks before it, incremented by a handler in the child. */
#include "base/system/process.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

static atomic_uint forks;
static bool counts;

static void count_fork(void) { atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed); }

static void begin_to_count(void) { counts = pthread_atfork(NULL, NULL, count_fork) == 0; }

/* Falls back to getpid() if the handler could not be registered. */
unsigned process_number(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_to_count);
    return counts ? atomic_load_explicit(&forks, memory_order_relaxed) : (unsigned)getpid();
}

unroll_status refuse_forked(const char *what)
{
    return fail(UNROLL_UNSUPPORTED,
                "this process was forked from a process that had opened %s, which a child cannot use; fix: open it "
                "only in the child, or start new processes (in Python: multiprocessing.get_context(\"spawn\"))",
                what);
}

unroll_status opened_check(struct opened *opened, const char *what)
{
    unsigned by = atomic_load(&opened->by);
    return by == 0 || by == process_number() + 1 ? UNROLL_OK : refuse_forked(what);
}

void opened_here(struct opened *opened) { atomic_store(&opened->by, process_number() + 1); }
