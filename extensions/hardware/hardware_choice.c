/* Choices made by counting clocks: which products of x run before those that wait for states, and the number of
 * lanes; also measures which operands move. Clocks are counted in hardware_clocks.c. */
#include "base/memory.h"
#include "extensions/hardware/hardware.h"
#include "unroll_advanced.h"

/* Chooses the number of x segments that run before the head and the segments that wait for states. Enough of them
 * fill the clocks of a step's last units. Segments shorter than the drain time of their sums are better next to
 * longer ones. If a step reads only x, all but one segment are early; the last one is late, so that the head of the
 * previous step runs between them. */
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

unroll_status hardware_observe(struct hardware *h, struct unroll_integer *reference, const struct calibration_data *c)
{
    enum { MOST = 512 };
    const struct program *p = h->program;
    const size_t vectors = (size_t)p->vectors, width = p->input < 0 ? 0 : p->vector[p->input].size;
    const size_t tokens = (size_t)p->tokens;
    const int steps = c->steps * c->rows < MOST ? (int)(c->steps * c->rows) : MOST;
    float *y;
    release(h->moved);
    h->moved_steps = 0;
    TRY(ALLOCATE(h->moved, (size_t)steps * vectors, "for what moves in %d steps", steps));
    TRY(ALLOCATE(y, (size_t)h->outputs, "for outputs"));
    unroll_status status = UNROLL_OK;
    for (int t = 0; t < steps && status == UNROLL_OK; t++) { /* row by row */
        const size_t at = (size_t)t % c->steps * c->rows + (size_t)t / c->steps;
        if ((size_t)t % c->steps == 0)
            unroll_integer_reset(reference);
        status = unroll_integer_step(reference, tokens ? c->tokens + at * tokens : NULL,
                                     width ? c->frames + at * width : NULL, y);
        for (size_t v = 0; v < vectors; v++) h->moved[(size_t)t * vectors + v] = integer_moved(reference, (int)v);
    }
    unroll_integer_reset(reference);
    h->moved_steps = status == UNROLL_OK ? steps : 0;
    release(y);
    return status;
}
