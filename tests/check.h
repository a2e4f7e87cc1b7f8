/* The harness of the test programs: count what passed, print what failed, end with one line.
 *     CHECK(a == b, "a is %d, not %d", a, b);   ...   return check_finish("test_base");
 * Not a runner: each program is run by itself and its exit status tells. */
#ifndef CHECK_H
#define CHECK_H
#include <stdarg.h>
#ifdef __cplusplus
#include <atomic>
using std::atomic_int, std::atomic_load, std::atomic_fetch_add;
#else
#include <stdatomic.h>
#endif
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static atomic_int checks_passed, checks_failed, checks_skipped;    /* members of a team check, too */

/* True when the condition holds; otherwise prints where, and the words given. */
#define CHECK(condition, ...) check_that((condition), #condition, __FILE__, __LINE__, __VA_ARGS__)

/* Of a call of the library: it succeeds; it gives this status and an error that says `part`. */
#define MUST(call) CHECK((call) == UNROLL_OK, "%s", unroll_last_error())
#define CHECK_REFUSED(call, status, part) \
    CHECK((call) == (status) && strstr(unroll_last_error(), part), "'%s', not '%s'", unroll_last_error(), part)

__attribute__((format(printf, 5, 6)))
static inline bool check_that(bool holds, const char *condition, const char *file, int line,
                              const char *format, ...)
{
    va_list arguments;

    if (holds) {
        atomic_fetch_add(&checks_passed, 1);
        return true;
    }
    atomic_fetch_add(&checks_failed, 1);
    printf("%s:%d: FAILED %s: ", file, line, condition);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return false;
}

/* Says what this machine cannot check and why. */
static inline void check_skip(const char *reason)
{
    atomic_fetch_add(&checks_skipped, 1);
    printf("skipped: %s\n", reason);
}

/* Is "quick" the program's argument? So the slow builds, those with sanitizers and those that are emulated, run it:
 * the same code with fewer numbers, and without what they can't tell more of than the plain build. */
static inline bool check_quick(int count, char **words)
{
    return count > 1 && !strcmp(words[1], "quick");
}

/* The exit status of the program. A program that checked nothing has failed. */
static inline int check_finish(const char *program)
{
    int passed = atomic_load(&checks_passed), failed = atomic_load(&checks_failed);

    printf("%s: %d passed, %d failed, %d skipped\n", program, passed, failed, atomic_load(&checks_skipped));
    return failed > 0 || passed + atomic_load(&checks_skipped) == 0;
}

#endif
