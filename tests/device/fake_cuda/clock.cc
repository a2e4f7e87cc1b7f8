/* Implements clock.h. A thread's clock advances by the cost of its operations; a thread that waits for others resumes
 * at the latest of their times. Asynchronous operations (loads of matrices, products, copies) are waited for by the
 * operation that needs them. A pipe (shared memory, tensor cores, the port to L2) is occupied between two barriers of a
 * block from its first use on. The second barrier is not passed before all its work is done, in any order of the
 * threads. */
#include "clock.h"
#include "extensions/cuda/kernels/cycles.h"
#include "shim.h"
#include <cstring>
#include <unordered_map>

static bool on;
static unsigned first_round, end_round, rounds; /* rounds: begun so far */
static double parts[CLOCK_PARTS], begins, ends;

/* The times at which a word in memory got its last values. */
struct history {
    struct {
        uint32_t value;
        double time;
    } last[8];
    unsigned count;
};
static std::unordered_map<uintptr_t, history> written;
static std::unordered_map<uintptr_t, double> phases[2]; /* of barriers in shared memory: when each parity ended */
static std::unordered_map<uintptr_t, double> arrivals;  /* the latest in the current phase */

void fake_clock_rounds(unsigned first, unsigned end) { first_round = first, end_round = end; }
double fake_clock_taken(void) { return ends - begins; }
double fake_clock_of(enum clock_part part) { return parts[part]; }

void clock_begin(void)
{
    on = end_round > 0 && !under_tsan();
    memset(parts, 0, sizeof parts);
    begins = ends = rounds = 0;
    written.clear();
    phases[0].clear(), phases[1].clear(), arrivals.clear();
}

static double later(double a, double b) { return a > b ? a : b; }

static struct clock_state *mine(void) { return &current()->clock; }

/* ---- marks ------------------------------------------------------------------------------- */

void fake_clock_part(int part)
{
    thread *t = current();
    if (!on || t->number || t->block->index.x || t->block->index.y)
        return;
    struct clock_state *c = &t->clock;
    if (rounds > first_round && rounds <= end_round)
        parts[c->part] += c->at - c->since;
    if (part == CLOCK_WAIT && rounds == first_round)
        begins = c->at;
    if (part == CLOCK_WAIT && rounds == end_round)
        ends = c->at;
    rounds += part == CLOCK_WAIT;
    c->since = c->at;
    c->part = part;
}

void fake_clock_instructions(unsigned count)
{
    if (on)
        mine()->at += CYCLES_INSTRUCTION * count;
}

void fake_clock_divisions(unsigned count)
{
    if (on)
        mine()->at += CYCLES_DIVISION * count;
}

static void fill_pipe(struct pipe *p, double from, double cycles)
{
    p->first = p->used == 0 || from < p->first ? from : p->first;
    p->used += cycles;
}

void fake_clock_shared(unsigned words, unsigned turns)
{
    if (!on)
        return;
    fill_pipe(&current()->block->pipe[PIPE_SHARED], mine()->at, words * 4.0 / BYTES_SHARED);
    mine()->at += turns * CYCLES_SHARED;
}

void fake_clock_loads(unsigned which)
{
    if (on)
        mine()->loads[which % 8] = mine()->at + CYCLES_MEMORY;
}

void fake_clock_loaded(unsigned which)
{
    if (on)
        mine()->at = later(mine()->at, mine()->loads[which % 8]);
}

/* ---- blocks and warps -------------------------------------------------------------------- */

/* Records when the phase of a gate ends, as far as is known. */
void clock_arrive(gate *g, unsigned phase)
{
    if (on)
        g->latest[phase & 1] = later(g->latest[phase & 1], later(mine()->at, mine()->pending));
}

/* All threads have arrived; the pipes are finished and empty. */
void clock_barrier_ends(gate *g, unsigned phase, fake_block *b)
{
    if (!on)
        return;
    double &latest = g->latest[phase & 1];
    for (int i = 0; i < PIPES; i++) {
        if (b->pipe[i].used > 0)
            latest = later(latest, b->pipe[i].first + b->pipe[i].used);
        b->pipe[i].used = 0;
    }
    g->latest[(phase + 1) & 1] = 0;
}

void clock_passed(const gate *g, unsigned phase, bool cluster)
{
    if (on)
        mine()->at = mine()->pending = g->latest[phase & 1] + (cluster ? CYCLES_CLUSTER : CYCLES_BARRIER);
}

void clock_fence(void)
{
    if (on)
        mine()->at += CYCLES_FENCE;
}

/* The lanes of a mask meet; t is the last. */
double clock_of_lanes(const warp_gate *g)
{
    double at = 0;
    for (int i = 0; i < 32 && on; i++)
        if (g->mask >> i & 1)
            at = later(at, g->lane[i]->clock.at);
    return at;
}

static void set_lanes(const warp_gate *g, double at)
{
    for (int i = 0; i < 32; i++)
        if (g->mask >> i & 1)
            g->lane[i]->clock.at = at;
}

void clock_warp(const warp_gate *g, bool only_sync)
{
    if (on)
        set_lanes(g, clock_of_lanes(g) + (only_sync ? CYCLES_WARP : CYCLES_SHUFFLE));
}

/* The lanes load matrices, which the next product waits for. */
void clock_matrices(const warp_gate *g, int count)
{
    if (!on)
        return;
    double at = clock_of_lanes(g);
    for (int i = 0; i < 32; i++) g->lane[i]->clock.matrices = at + CYCLES_MATRIX;
    fill_pipe(&g->lane[0]->block->pipe[PIPE_SHARED], at, count * 128.0 / BYTES_SHARED);
    set_lanes(g, at + CYCLES_INSTRUCTION);
}

/* A product of 16 x 8 values. Waits for its matrices and for the previous product with the same sums. */
void clock_mma(const warp_gate *g, const void *sums, double adds)
{
    if (!on)
        return;
    struct clock_state *c = &g->lane[0]->clock;
    double at = later(clock_of_lanes(g), c->matrices);
    struct chain *chain = &c->chain[0];
    for (struct chain &other : c->chain) {
        if (other.sums == sums) {
            chain = &other;
            break;
        }
        if (other.ready < chain->ready)
            chain = &other;
    }
    if (chain->sums == sums)
        at = later(at, chain->ready);
    chain->sums = sums;
    chain->ready = at + CYCLES_MMA;
    fill_pipe(&g->lane[0]->block->pipe[PIPE_TENSOR + g->warp % 4], at, adds * 4 / ADDS_MMA_16);
    set_lanes(g, at + CYCLES_INSTRUCTION);
    for (int i = 0; i < 32; i++) g->lane[i]->clock.pending = later(g->lane[i]->clock.pending, chain->ready);
}

/* ---- L2 ---------------------------------------------------------------------------------- */

static void read_l2(double bytes)
{
    const double port = BYTES_L2_PORT, share = BYTES_L2 / (double)run.blocks.size();
    fill_pipe(&current()->block->pipe[PIPE_L2], mine()->at, bytes / (share < port ? share : port));
}

/* A store that others wait for: records when it becomes visible. after_all: only after all earlier stores. */
void clock_store(const void *word, uint32_t value, unsigned bytes, bool after_all)
{
    if (!on)
        return;
    if (after_all)
        mine()->at += CYCLES_FENCE;
    mine()->at += CYCLES_INSTRUCTION;
    fill_pipe(&current()->block->pipe[PIPE_L2_OUT], mine()->at, (double)bytes / BYTES_L2_PORT);
    history &h = written[(uintptr_t)word];
    h.last[h.count % 8] = {value, mine()->at + CYCLES_STORE};
    h.count++;
}

void fake_clock_store(const uint32_t *flag, uint32_t value) { clock_store(flag, value, 4, true); }

void fake_clock_packet(const void *packet, const uint32_t words[4]) { clock_store(packet, words[0], 16, false); }

/* Returns when the awaited value became visible: the first value for which `reached` is true. */
static double time_of(const void *word, bool (*reached)(uint32_t value, uint32_t with), uint32_t with)
{
    auto found = written.find((uintptr_t)word);
    if (found == written.end())
        return 0;
    const history &h = found->second;
    for (unsigned i = h.count > 8 ? h.count - 8 : 0; i < h.count; i++)
        if (reached(h.last[i % 8].value, with))
            return h.last[i % 8].time;
    return 0;
}

static void found_at(double time)
{
    if (time > mine()->at)
        mine()->at = time + CYCLES_POLL;
}

void clock_flag(const uint32_t *flag, uint32_t value)
{
    if (!on)
        return;
    found_at(time_of(flag, [](uint32_t v, uint32_t with) { return (int32_t)(v - with) >= 0; }, value));
    mine()->at += CYCLES_L2;
}

void fake_clock_asks(int count)
{
    if (!on)
        return;
    mine()->asked = mine()->at;
    read_l2(16.0 * count);
}

/* Requested packets are all loaded repeatedly until none is empty: the last load counts. */
void fake_clock_packets(const void *const *packet, int count)
{
    if (!on)
        return;
    double time = 0;
    int loaded = 0;
    for (int i = 0; i < count; i++)
        if (packet[i])
            loaded++,
                time =
                    later(time, time_of(packet[i], [](uint32_t v, uint32_t empty) { return v != empty; }, 0xffffffff));
    if (loaded && time > mine()->asked) {
        found_at(time);
        fake_clock_asks(loaded);
    }
    mine()->at = later(mine()->at, loaded ? mine()->asked + CYCLES_L2 : 0);
}

void clock_copy(void)
{
    if (!on)
        return;
    read_l2(16);
    mine()->at += CYCLES_INSTRUCTION;
    mine()->copies = mine()->at + CYCLES_L2;
}

void clock_copies_done(void)
{
    if (on)
        mine()->at = later(mine()->at, mine()->copies);
}

/* ---- clusters ---------------------------------------------------------------------------- */

/* Sends a store to another block when the port is free; returns its arrival. */
double clock_send(unsigned bytes)
{
    if (!on)
        return 0;
    mine()->at += CYCLES_INSTRUCTION;
    double &free = current()->block->cluster_free;
    free = later(free, mine()->at) + (double)bytes / BYTES_CLUSTER;
    return free + CYCLES_CLUSTER;
}

double clock_now(void) { return on ? mine()->at : 0; }

void clock_arrives(uintptr_t barrier, double time)
{
    if (on)
        arrivals[barrier] = later(arrivals[barrier], time);
}

void clock_phase_ends(uintptr_t barrier, unsigned parity)
{
    if (!on)
        return;
    phases[parity & 1][barrier] = arrivals[barrier];
    arrivals[barrier] = 0;
}

void clock_phase_seen(uintptr_t barrier, unsigned parity)
{
    if (on)
        mine()->at = later(mine()->at, phases[parity & 1][barrier]) + CYCLES_MBARRIER;
}
