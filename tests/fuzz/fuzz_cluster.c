/* Fuzz target: the file of a cluster. Accepted files have numbers that prices can be computed from. For libFuzzer, or
 * for driver.c without it. */
/* test: kinds=memory; with=fuzz/driver; args=tests/fuzz/seeds/cluster 20000 */
#include <stdint.h>
#include <stdlib.h>

#include "extensions/cluster/planner/cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cluster c;
    if (cluster_parse((const char *)data, size, "fuzz", &c) != UNROLL_OK)
        return 0;
    if (!(c.gflops > 0 && c.recurrent_gflops > 0 && c.memory_bandwidth > 0) || c.levels < 1 || c.ranks_per_host < 1)
        abort();
    for (int i = 0; i < c.levels; i++)
        if (!(c.level[i].bandwidth > 0 && c.level[i].latency >= 0) || (i + 1 < c.levels) != (c.level[i].ranks > 0))
            abort();
    if (cluster_level_between(&c, 0, 1000) >= c.levels)
        abort();
    return 0;
}
