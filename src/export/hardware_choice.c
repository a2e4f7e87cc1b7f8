/* What is chosen of hardware by counting clocks: which products of x are made before those that wait for states, and
 * how many lanes are of use. Not the counting: hardware_clocks.c. */
#include "base/status.h"
#include "export/hardware.h"
#include <math.h>

/* Segments of x that run before the head and what waits for states: enough of them fill the clocks that the last units
 * of a step take; those that are shorter than their sums take to leave the lanes are better beside longer ones. Where a
 * step reads nothing but x all but one, which is called late, so that the head of the step before runs between. */
unroll_status hardware_choose_early(struct hardware *h)
{
    const int all = hardware_x_segments(h);
    bool others = false;
    for (int i = 0; i < h->stages; i++)
        for (int k = 0; k < h->stage[i].sources && !h->stage[i].is_head; k++)
            others |= h->stage[i].source[k].kind != SOURCE_X;
    h->early = others ? all : all > 1 ? all - 1 : 1;
    TRY(hardware_segments(h));
    int best = h->early;
    double least, busy, latency;
    TRY(hardware_clocks(h, &least, &busy, &latency));
    for (int early = 1; others && early < all; early += (early + 3) / 4) {
        double clocks;
        h->early = early;
        TRY(hardware_segments(h));
        TRY(hardware_clocks(h, &clocks, &busy, &latency));
        if (clocks < least) {
            least = clocks;
            best = early;
        }
    }
    h->early = best;
    return hardware_segments(h);
}

static double use_of(const struct hardware *h, double clocks) { return (double)h->macs / (clocks * h->lanes); }

unroll_status hardware_choose_lanes(struct program *p, bool is_class, int most, int *lanes)
{
    double best = 0;
    unroll_status status = UNROLL_USAGE;
    for (int n = most; n > 0; n--) {
        struct hardware *h;
        double clocks, busy, latency;
        const unroll_status made = hardware_new(p, n, is_class, &h);
        if (made == UNROLL_USAGE) /* fewer lanes than a unit has sums */
            break;
        TRY(made);
        uint32_t units = 0;
        for (int i = 0; i < h->stages; i++)
            units = h->stage[i].is_head || h->stage[i].units < units ? units : h->stage[i].units;
        status = hardware_clocks(h, &clocks, &busy, &latency);
        const double use = use_of(h, clocks);
        hardware_free(h);
        TRY(status);
        if (use > best) {
            best = use;
            *lanes = n;
        }
        if (use >= (units < 64 ? 0.90 : 0.95))
            break;
    }
    return status;
}
