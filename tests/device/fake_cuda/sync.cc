/* Barriers of blocks and clusters, warp synchronization, words that threads wait for. */
#include "gpu_host.h"
#include "shim.h"
#include <cstring>

/* ---- gates ------------------------------------------------------------------------------- */

void gate_wake(gate *g)
{
    g->arrived = 0;
    g->phase++;
    run.polls = 0;
    wake_those(&g->waiting, [](const thread *) { return true; });
}

static uint64_t *order_of(gate *g, unsigned phase) { return &g->order[phase & 1]; }

static void wait_for_phase(gate *g, unsigned phase, const char *what, const char *file, int line)
{
    if (g->phase == phase) {
        current()->next = g->waiting;
        g->waiting = current();
        wait_at(what, file, line);
    }
    sees_after(order_of(g, phase));
}

/* Arrives at a barrier and, if `wait` is true, waits for the others. Fails for inconsistent callers. */
void fake_barrier(int id, unsigned threads, bool wait, const char *file, int line)
{
    fake_block *b = current()->block;
    gate *g = &b->barrier[id & 15];
    unsigned wanted = threads ? threads : run.threads, phase = g->phase;
    if (wanted % 32 && threads)
        fake_fail("a barrier of %u threads at line %d: they come in whole warps", threads, line);
    if (g->arrived && g->wanted != wanted)
        fake_fail("barrier %d of %u threads at line %d, of %u at line %d", id, wanted, line, g->wanted, g->line);
    if (g->arrived && !threads && (g->line != line || strcmp(g->file, file) != 0))
        fake_fail("__syncthreads at line %d while others are at that of line %d", line, g->line);
    g->wanted = wanted;
    g->file = file;
    g->line = line;
    saw_before(order_of(g, phase));
    clock_arrive(g, phase);
    if (++g->arrived == wanted) {
        clock_barrier_ends(g, phase, b);
        gate_wake(g);
    }
    if (!wait)
        return;
    wait_for_phase(g, phase, threads ? "a named barrier" : "__syncthreads", file, line);
    clock_passed(g, phase, false);
}

void fake_fence(void)
{
    clock_fence();
    static uint64_t order;
    sees_after(&order);
    saw_before(&order);
}

/* ---- clusters ---------------------------------------------------------------------------- */

unsigned fake_cluster_rank(void) { return current()->block->rank; }
unsigned fake_cluster_size(void) { return (unsigned)current()->block->cluster->blocks.size(); }

void fake_cluster_arrive(const char *, int line)
{
    thread *t = current();
    gate *g = &t->block->cluster->barrier;
    if (t->cluster_arrived)
        fake_fail("arrives at the cluster's barrier (line %d) again without having waited", line);
    t->cluster_arrived = true;
    t->cluster_phase = g->phase;
    saw_before(order_of(g, g->phase));
    clock_arrive(g, g->phase);
    if (++g->arrived == g->wanted)
        gate_wake(g);
}

void fake_cluster_wait(const char *file, int line)
{
    thread *t = current();
    if (!t->cluster_arrived)
        fake_fail("waits for the cluster's barrier (line %d) without having arrived", line);
    t->cluster_arrived = false;
    wait_for_phase(&t->block->cluster->barrier, t->cluster_phase, "the cluster's barrier", file, line);
    clock_passed(&t->block->cluster->barrier, t->cluster_phase, true);
}

/* ---- warps ------------------------------------------------------------------------------- */

static warp_gate *free_gates;

void warps_end(fake_block *b)
{
    while (b->warps) {
        warp_gate *g = b->warps;
        b->warps = g->next;
        g->arrived = 0;
        g->next = free_gates;
        free_gates = g;
    }
}

/* Returns the gate of the current warp for a mask; reuses one without arrivals. */
static warp_gate *warp_gate_of(thread *t, uint32_t mask)
{
    unsigned warp = t->number / 32;
    warp_gate *unused = NULL;
    for (warp_gate *g = t->block->warps; g; g = g->next)
        if (!g->arrived)
            unused = g;
        else if (g->warp == warp && g->mask == mask)
            return g;
    if (!unused) {
        unused = free_gates ? free_gates : (warp_gate *)memory_for_ever(sizeof *unused);
        free_gates = free_gates ? free_gates->next : NULL;
        unused->next = t->block->warps;
        t->block->warps = unused;
    }
    unused->warp = warp;
    unused->mask = mask;
    return unused;
}

static void check_lanes(thread *t, const warp_gate *g, fake_warp_function *f, const char *file, int line)
{
    if (!(g->mask >> t->lane & 1))
        fake_fail("is not in the mask %08x that it names at line %d", g->mask, line);
    unsigned last = (t->number | 31) - 31 + (31 - (unsigned)__builtin_clz(g->mask));
    if (last >= run.threads)
        fake_fail("the mask %08x at line %d names lanes that the block does not have", g->mask, line);
    if (g->arrived && (g->f != f || g->line != line || strcmp(g->file, file) != 0))
        fake_fail("its warp's lanes meet at line %d while others are at line %d", line, g->line);
}

static void clock_meeting(const warp_gate *g)
{
    const bool f16 = g->f == fake_mma_bf16 || g->f == fake_mma_fp16;
    if (f16 || g->f == fake_mma_tf32)
        clock_mma(g, ((struct fake_mma *)g->slot[0])->c, 2048); /* tf32: half the values at half the rate */
    else if (g->f == fake_load_matrices)
        clock_matrices(g, ((struct fake_rows *)g->slot[0])->matrices);
    else
        clock_warp(g, !g->f);
}

/* Meets the other threads of the mask; the last one calls f on all slots. */
void fake_warp(uint32_t mask, fake_warp_function *f, void *mine, bool ordered, const char *file, int line)
{
    thread *t = current();
    warp_gate *g = warp_gate_of(t, mask);
    check_lanes(t, g, f, file, line);
    g->f = f;
    g->file = file;
    g->line = line;
    g->slot[t->lane] = mine;
    g->lane[t->lane] = t;
    g->arrived |= 1u << t->lane;
    if (ordered)
        saw_before(&g->order);
    if (g->arrived != mask) {
        wait_at(f ? "its warp" : "__syncwarp", file, line);
    } else {
        if (f)
            f(g->slot, mask);
        clock_meeting(g);
        g->arrived = 0;
        for (int i = 0; i < 32; i++)
            if (mask >> i & 1 && g->lane[i] != t)
                wake(g->lane[i]);
    }
    if (ordered)
        sees_after(&g->order);
}

/* ---- words that threads wait for --------------------------------------------------------- */

static bool reached(const thread *t)
{
    return (int32_t)(__atomic_load_n(t->flag, __ATOMIC_ACQUIRE) - t->flag_value) >= 0;
}

void fake_flags_changed(void)
{
    run.polls = 0;
    wake_those(&run.flag_waiting, reached);
}

void fake_packets_changed(void) { run.polls = 0; }

void fake_wait_at_least(const uint32_t *flag, uint32_t value, const char *file, int line)
{
    thread *t = current();
    t->flag = flag;
    t->flag_value = value;
    if (!reached(t)) {
        t->next = run.flag_waiting;
        run.flag_waiting = t;
        wait_at("wait_at_least", file, line);
    }
    clock_flag(flag, value);
}
