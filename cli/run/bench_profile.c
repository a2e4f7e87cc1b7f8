/* Prints the time of each operation of a measured session, the fastest of its runs, as a table or as JSON. The
 * library measures them. */
#include "cli/run/bench_profile.h"

#include <stdio.h>

static double sum_of_min(const unroll_session *session)
{
    double sum = 0;
    unroll_operation o = {.size = sizeof o};
    for (int i = 0; unroll_session_operation(session, i, &o); i++) sum += o.min;
    return sum;
}

void profile_print(const unroll_session *session, double peak)
{
    double sum = sum_of_min(session);
    unroll_operation o = {.size = sizeof o};
    for (int i = 0; unroll_session_operation(session, i, &o); i++) {
        if (o.runs == 0)
            continue;
        printf("%-40s %10.4g ms %5.1f%%", o.name, 1e3 * o.min, 100 * o.min / sum);
        if (o.flops > 0 && o.min > 0)
            printf("  %7.4g GFLOP/s", o.flops / o.min / 1e9);
        if (o.flops > 0 && o.min > 0 && peak > 0)
            printf(", %5.1f%% of the peak", o.flops / o.min / peak / 1e7);
        putchar('\n');
    }
}

json_t *profile_to_json(const unroll_session *session, double peak)
{
    unroll_operation o = {.size = sizeof o};
    json_t *all = NULL;
    for (int i = 0; unroll_session_operation(session, i, &o); i++) {
        all = all ? all : json_array();
        if (o.runs == 0)
            continue;
        double gflops = o.min > 0 ? o.flops / o.min / 1e9 : 0;
        json_array_append_new(all, json_pack("{ss sf sf sI sf so*}", "name", o.name, "ms", 1e3 * o.min, "ms_mean",
                                             1e3 * o.seconds / (double)o.runs, "runs", (json_int_t)o.runs, "gflops",
                                             gflops, "peak_fraction", peak > 0 ? json_real(gflops / peak) : NULL));
    }
    return all;
}
