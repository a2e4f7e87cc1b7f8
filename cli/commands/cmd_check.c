/* unroll check: runs the library's own checks on this machine and prints a line for each. */
#include <stdio.h>

#include "cli/show/console.h"
#include "cli/options/options.h"
#include "cli/show/output.h"
#include "unroll_advanced.h"

struct tally {
    bool json;
    int passed, failed;
};

static void report(void *arg, const char *what, bool passed)
{
    struct tally *tally = arg;
    if (passed)
        tally->passed++;
    else
        tally->failed++;
    if (tally->json && !passed)
        say("FAILED %s", what);
    if (tally->json)
        return;
    printf("%-7s%s\n", passed ? "ok" : "FAILED", what);
    fflush(stdout);
}

unroll_status cmd_check(struct settings *settings)
{
    struct tally tally = {.json = is_on(settings, OPTION_JSON)};
    unroll_status status = unroll_self_check(report, &tally);
    if (tally.json)
        print_json(json_pack("{si si}", "passed", tally.passed, "failed", tally.failed));
    else
        printf("%d passed, %d failed\n", tally.passed, tally.failed);
    return complain_library(status);
}
