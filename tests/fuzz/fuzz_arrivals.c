/* Fuzz target: lines of arrivals, which --replay reads. Accepted lines are within bounds, and do not change when
 * written and read again. How a run uses whole files is tested in tests/parallel/test_policies.c. For libFuzzer, or for
 * driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/arrivals 20000 */
#include <stdlib.h>
#include <string.h>

#include "extensions/cluster/policies/arrivals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = {"sent", "came", "jump"};
    struct arrival one, two;
    char again[128], *line = malloc(size + 1);
    if (line == NULL)
        abort();
    memcpy(line, data, size);
    line[size] = '\0';
    if (arrival_read(line, &one)) {
        if (one.step < 0 || one.theirs < 0 || one.other < 0 || one.kind < ARRIVAL_SENT || one.kind > ARRIVAL_JUMP)
            abort();
        snprintf(again, sizeof again, "%lld %s %d %lld\n", (long long)one.step, words[one.kind], one.other,
                 (long long)one.theirs);
        if (!arrival_read(again, &two) || one.step != two.step || one.theirs != two.theirs || one.kind != two.kind ||
            one.other != two.other)
            abort();
    }
    free(line);
    return 0;
}
