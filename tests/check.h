/* The test harness: counts what passed, prints what failed, and prints a closing line.
 *     CHECK(a == b, "a is %d, not %d", a, b);   ...   return check_finish("test_base");
 * A CHECK counts as one test, however often it is evaluated. Programs that run a list of cases call check_next_case()
 * before each; each CHECK then counts once for each case. Every program runs by itself; its exit status is the
 * result. */
#ifndef CHECK_H
#define CHECK_H
#include <stdarg.h>
#ifdef __cplusplus
#include <atomic>
using std::atomic_int, std::atomic_load, std::atomic_store, std::atomic_fetch_add, std::atomic_fetch_sub;
#else
#include <stdatomic.h>
#endif
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static atomic_int checks_passed, checks_failed, checks_skipped; /* atomic because members of a team also check */

/* The last cases, counted from 1, in which a CHECK passed and failed. */
struct check_site {
    atomic_int held, failed;
};
static atomic_int check_cases;

static inline void check_next_case(void) { atomic_fetch_add(&check_cases, 1); }

/* True if the condition holds; otherwise prints the place and the message. */
#define CHECK(condition, ...) __extension__({ static struct check_site check_site_; \
    check_that(&check_site_, (condition), #condition, __FILE__, __LINE__, __VA_ARGS__); })

/* MUST: the call succeeds. CHECK_REFUSED: it fails with this status and an error that contains `part`. */
#define MUST(call) CHECK((call) == UNROLL_OK, "%s", unroll_last_error())
#define CHECK_REFUSED(call, status, part) \
    CHECK((call) == (status) && strstr(unroll_last_error(), part), "'%s', not '%s'", unroll_last_error(), part)

/* Counts a site once in each case: as failed if one of its evaluations fails. */
static inline void check_count(struct check_site *site, bool holds)
{
    int now = atomic_load(&check_cases) + 1;
    if (atomic_load(&site->failed) == now || (holds && atomic_load(&site->held) == now))
        return;
    if (holds) {
        atomic_store(&site->held, now);
        atomic_fetch_add(&checks_passed, 1);
        return;
    }
    atomic_store(&site->failed, now);
    atomic_fetch_add(&checks_failed, 1);
    if (atomic_load(&site->held) == now)
        atomic_fetch_sub(&checks_passed, 1);
}

__attribute__((format(printf, 6, 7))) static inline bool check_that(struct check_site *site, bool holds,
                                                                    const char *condition, const char *file, int line,
                                                                    const char *format, ...)
{
    va_list arguments;
    check_count(site, holds);
    if (holds)
        return true;
    printf("%s:%d: FAILED %s: ", file, line, condition);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return false;
}

/* Prints what this machine cannot check, and why. */
static inline void check_skip(const char *reason)
{
    atomic_fetch_add(&checks_skipped, 1);
    printf("skipped: %s\n", reason);
}

/* True if the program's argument is "quick", as in slow builds (sanitizers, emulators): the same code with fewer
 * values, and without what these builds cannot find more about than the plain one. */
static inline bool check_quick(int count, char **words) { return count > 1 && !strcmp(words[1], "quick"); }

/* Returns the program's exit status. A program that checked nothing has failed. */
static inline int check_finish(const char *program)
{
    int passed = atomic_load(&checks_passed), failed = atomic_load(&checks_failed);
    printf("%s: %d passed, %d failed, %d skipped\n", program, passed, failed, atomic_load(&checks_skipped));
    return failed > 0 || passed + atomic_load(&checks_skipped) == 0;
}

#endif
