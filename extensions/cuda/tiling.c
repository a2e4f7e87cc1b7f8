/* The planner of persistent recurrences: tries every group size, keeps the tilings that fit, and chooses the
 * cheapest by a model of its cycles. Pure arithmetic on counts and limits; the model is explained below. */
#include "extensions/cuda/kernels/cycles.h"
#include "extensions/cuda/tiling.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static uint32_t at_least(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t at_most(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t quotient_up(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
static uint32_t multiple_up(uint32_t a, uint32_t b) { return quotient_up(a, b) * b; }

/* ---- products ---------------------------------------------------------------------------- */

/* Divides a product into bands of `tiles` tiles. Returns false if there is no such division, or the block has too
 * many rows. */
static bool divide_product(const struct tiling_problem *p, struct tiling *t, int phase, uint32_t tiles)
{
    struct tiling_product *m = &t->product[phase];
    uint32_t out = p->backward ? 1 : p->fields[phase];
    m->fields = p->backward ? p->fields[phase] : 1;
    m->rows = out * t->units;
    m->tiles = tiles;
    m->bands = quotient_up(m->rows, tiles * tile_rows(p->operand));
    if (m->bands > TILING_WARPS || (tiles > 1 && m->rows <= tiles / 2 * tile_rows(p->operand)))
        return false;
    uint32_t row = m->fields * t->members * t->units * operand_bytes(p->operand);
    m->steps_all = multiple_up(quotient_up(row, TILING_STEP_BYTES), 2);
    m->splits = at_most(TILING_WARPS / m->bands, m->steps_all / 2);
    m->steps = multiple_up(quotient_up(m->steps_all, m->splits), 2);
    m->splits = quotient_up(m->steps_all, m->steps);
    /* Packets of neighboring rows, 4 of each, are in different banks; for plain floats those of four rows. */
    m->operand_row = m->steps_all * TILING_STEP_BYTES + (p->operand == OPERAND_F32 ? 16
                                                         : m->steps_all % 4 == 0   ? 2 * TILING_STEP_BYTES
                                                                                   : 0);
    m->sums_row = multiple_up(m->bands * tiles * tile_rows(p->operand), 32) + 4;
    return true;
}

static uint32_t slots_of_phase(const struct tiling *t) { return t->phases > 1 ? TILING_SLOTS_EACH : TILING_SLOTS; }

/* Divides the weights of each warp. Products of plain floats read them only from shared memory. */
static void divide_weights(const struct tiling_problem *p, struct tiling *t)
{
    uint32_t slots = p->operand == OPERAND_F32 ? 0 : slots_of_phase(t);
    t->shared_slots = t->warps = 0;
    for (uint32_t i = 0; i < t->phases; i++) {
        struct tiling_product *m = &t->product[i];
        m->in_registers = at_most(m->steps, slots / m->tiles / 2 * 2);
        m->shared_slot = t->shared_slots;
        t->shared_slots += (m->steps - m->in_registers) * m->tiles * tile_rows(p->operand) / TILING_ROWS;
        t->warps = at_least(t->warps, m->bands * m->splits);
    }
}

/* ---- shared memory ----------------------------------------------------------------------- */

static uint32_t take(uint32_t *bytes, uint32_t wanted)
{
    uint32_t at = *bytes;
    *bytes = multiple_up(at + wanted, 128);
    return at;
}

/* A short ring needs less of L2, a long one fewer fences. */
static void choose_ring(struct tiling *t)
{
    const uint64_t operands = (uint64_t)t->groups * t->chunks * t->operand_buffer;
    t->ring = 2 * TILING_RING * operands <= TILING_FEW ? 2 * TILING_RING : TILING_RING;
    t->exchange_bytes = t->ring * operands + TILING_MARGIN;
}

/* Places all arrays of a block in shared memory, and sets the size of the exchange. */
static void place(const struct tiling_problem *p, struct tiling *t)
{
    uint32_t rows = t->chunk_rows, number = operand_bytes(p->operand), bytes = TILING_NOTES;
    uint32_t operand_row = 0, sums = 0, fields = 0, gates = 0;
    for (uint32_t i = 0; i < t->phases; i++) {
        const struct tiling_product *m = &t->product[i];
        operand_row = at_least(operand_row, m->operand_row);
        sums = at_least(sums, m->splits * rows * m->sums_row);
        fields = at_least(fields, m->fields);
        gates += p->fields[i];
    }
    t->operand_buffer = rows * operand_row;
    t->at_operand = take(&bytes, t->algorithm == ALGORITHM_GRID ? 0 : 2 * t->chunks * t->operand_buffer);
    t->sums_buffer = sums * 4;
    t->at_sums = take(&bytes, 2 * t->sums_buffer);
    t->at_staged = take(&bytes, rows * fields * t->units * number);
    t->at_states = take(&bytes, t->chunks * t->states * rows * t->units * 4);
    t->at_bias = take(&bytes, p->backward ? 0 : gates * t->units * 4);
    t->at_lengths = take(&bytes, (t->chunks * rows + t->chunks) * 4);
    t->at_barriers = take(&bytes, t->chunks * 2 * 8);
    t->at_weights = take(&bytes, t->warps * t->shared_slots * TILING_SLOT_BYTES);
    t->shared_bytes = bytes;
    if (t->algorithm == ALGORITHM_GRID)
        choose_ring(t);
}

/* ---- cycles: a model, not a measurement -------------------------------------------------- */

/* Prices are from cycles.h. A step of the portable form costs 7000 cycles in each phase, and its product runs at
 * half the peak. */
enum { PORTABLE_STEP = 7000 };

static double larger(double a, double b) { return a > b ? a : b; }

static double multiply_adds_a_cycle(enum gpu_operand o)
{
    return o == OPERAND_F32 ? ADDS_FLOAT : o == OPERAND_TF32 ? ADDS_MMA_16 / 2 : ADDS_MMA_16;
}

/* Returns how often a warp requests packets and waits for them, for weights in registers and for others
 * (multiply_fragments). */
static double batches_of(const struct tiling_product *m, const struct tiling *t)
{
    const uint32_t tiles = t->chunk_rows / 8, pairs = m->steps / 2, in_registers = m->in_registers / 2;
    const uint32_t wide = m->tiles * tiles == 8, all = slots_of_phase(t) / 2 / m->tiles;
    const uint32_t batch = at_most(all, wide ? 2 : 8 / tiles);
    return (double)quotient_up(in_registers, batch) + quotient_up(pairs - in_registers, wide ? 2 : 4);
}

/* Returns the cycles of a warp that multiplies plain floats: while it multiplies the packets of some k steps, it waits
 * for the next ones (multiply_floats). */
static double float_cycles(const struct tiling_product *m, const struct tiling *t)
{
    const uint32_t lanes = 32 / (2 * m->tiles), halves = lanes > t->chunk_rows ? 2 : 1;
    const uint32_t rows = halves == 2 ? 1 : t->chunk_rows / lanes, steps = 4 * halves / rows;
    const double issue = CYCLES_INSTRUCTION * (double)(steps * FLOAT_INSTRUCTIONS(rows)) / halves;
    const double way = t->algorithm == ALGORITHM_GRID ? CYCLES_L2 : CYCLES_SHARED;
    return way + quotient_up(m->steps, steps) * larger(issue, way);
}

/* Returns the cycles from the operand's arrival to the barrier: its loads, and the slowest pipe. */
static double product_cycles(const struct tiling_problem *p, const struct tiling *t, int phase)
{
    const struct tiling_product *m = &t->product[phase];
    const bool grid = t->algorithm == ALGORITHM_GRID, floats = p->operand == OPERAND_F32;
    const double warps = (double)m->bands * m->splits, rows = t->chunk_rows, tiles = rows / 8;
    const double adds =
        warps * m->steps * m->tiles * tile_rows(p->operand) * rows * (TILING_STEP_BYTES / operand_bytes(p->operand));
    const double operand = rows * m->steps_all * TILING_STEP_BYTES;
    const double weights = (m->steps - m->in_registers) * m->tiles * (double)TILING_SLOT_BYTES * tile_rows(p->operand) /
                           TILING_ROWS * warps;
    const double sums = 4.0 * m->splits * rows * m->bands * m->tiles * tile_rows(p->operand);
    const double shared = ((grid ? 0 : operand * m->bands) + weights + sums) / BYTES_SHARED;
    const double share = BYTES_L2 / (double)(t->groups * t->cluster);
    const double l2 = grid ? operand * m->bands / (share < BYTES_L2_PORT ? share : BYTES_L2_PORT) : 0;
    const double chains = larger(4, m->tiles * tiles);
    const double issue =
        floats ? 0 : m->steps * m->tiles * tiles * larger(CYCLES_INSTRUCTION, CYCLES_MMA / chains) + CYCLES_MMA;
    const double loads = floats ? float_cycles(m, t) : batches_of(m, t) * (grid ? CYCLES_L2 : CYCLES_SHARED);
    const double warp = loads + issue + INSTRUCTIONS_PRODUCT * CYCLES_INSTRUCTION;
    const double tensor = (grid ? CYCLES_L2 : CYCLES_SHARED) + adds / multiply_adds_a_cycle(p->operand);
    return larger(larger(warp, tensor), larger(l2, shared)) - (grid ? CYCLES_L2 : 0) + CYCLES_BARRIER;
}

/* Returns the cycles of the cells, from the barrier until their warps have sent. */
static double cell_cycles(const struct tiling_problem *p, const struct tiling *t, int phase)
{
    const struct tiling_product *m = &t->product[phase], *next = &t->product[(phase + 1) % (int)t->phases];
    const double lanes = TILING_PACKET / operand_bytes(p->operand);
    const double copies = t->algorithm == ALGORITHM_GRID ? quotient_up(next->fields, (uint32_t)lanes)
                                                         : next->fields * quotient_up(t->members, (uint32_t)lanes) *
                                                               (double)(INSTRUCTIONS_COPY + 1);
    return CYCLES_SHARED * (double)quotient_up(m->splits + 3, 4) + CYCLES_WARP + CYCLES_SHARED +
           CYCLES_INSTRUCTION * (INSTRUCTIONS_CELL + INSTRUCTIONS_SPLIT * m->splits + copies);
}

/* Returns the cycles from a block's last store until another block has the operand. */
static double under_way(const struct tiling_problem *p, const struct tiling *t, int phase)
{
    const struct tiling_product *next = &t->product[(phase + 1) % (int)t->phases];
    const double sent = (double)t->chunk_rows * next->fields * t->units * operand_bytes(p->operand) * t->members;
    return t->algorithm == ALGORITHM_GRID ? CYCLES_STORE + CYCLES_POLL + CYCLES_L2
                                          : sent / BYTES_CLUSTER + CYCLES_CLUSTER + CYCLES_MBARRIER;
}

/* The rounds of a chunk are sequential. While an operand is under way, the block finishes the last round, prepares
 * the next, and works on other chunks. A grid adds a fence in one round of each turn. */
static double round_cycles(const struct tiling_problem *p, const struct tiling *t, int phase)
{
    const double own = product_cycles(p, t, phase) + cell_cycles(p, t, phase), way = under_way(p, t, phase);
    const double other = CYCLES_INSTRUCTION * (INSTRUCTIONS_AFTER + INSTRUCTIONS_BEFORE + INSTRUCTIONS_HOLD);
    const double turn = TILING_TURN * t->ring / TILING_RING;
    const double fence = t->algorithm == ALGORITHM_GRID ? CYCLES_FENCE + 3 * turn : 0;
    const double plain = larger(own + larger(way, other), t->chunks * (own + other));
    const double fenced = larger(own + larger(way, other + fence), t->chunks * (own + other + fence));
    return turn > 0 ? plain + (fenced - plain) / turn : plain;
}

static double all_cycles(const struct tiling_problem *p, const struct tiling *t, uint32_t at_once)
{
    double step = 0;
    for (uint32_t i = 0; i < t->phases; i++) step += round_cycles(p, t, (int)i);
    return step * p->steps * quotient_up(t->groups, at_once);
}

static double portable_cycles(const struct tiling_problem *p, const struct tiling_device *d)
{
    double adds = 0;
    for (uint32_t i = 0; i < p->phases; i++) adds += (double)p->fields[i] * p->units * p->units * p->rows;
    double product = adds / (0.5 * d->multiprocessors * multiply_adds_a_cycle(p->operand) / 0.62);
    return p->steps * (PORTABLE_STEP * (double)p->phases + product);
}

/* ---- the search -------------------------------------------------------------------------- */

struct search {
    const struct tiling_problem *problem;
    const struct tiling_device *device;
    struct tiling best;
    bool found;
};

static bool is_wanted(uint32_t only, uint32_t value) { return only == 0 || only == value; }

/* Keeps a tiling if it fits and is the cheapest. If not all chunks fit at once, tries fewer; only clusters can do
 * this, with more groups that run later. */
static void try_tiling(struct search *s, struct tiling t, uint32_t at_once)
{
    const struct tiling_problem *p = s->problem;
    const uint32_t chunks_all = quotient_up(p->rows, t.chunk_rows);
    divide_weights(p, &t);
    t.chunks = quotient_up(chunks_all, at_most(at_once, chunks_all));
    for (t.chunks = at_most(t.chunks, TILING_CHUNKS); t.chunks > 0; t.chunks--) {
        t.groups = quotient_up(chunks_all, t.chunks);
        place(p, &t);
        if (t.shared_bytes <= s->device->shared_bytes)
            break;
    }
    if (!is_wanted(s->device->only_groups, t.groups))
        return;
    if (t.chunks == 0 || (t.algorithm == ALGORITHM_GRID && (t.groups > at_once || t.exchange_bytes > TILING_EXCHANGE)))
        return;
    t.cycles = all_cycles(p, &t, at_once);
    if (s->found && s->best.cycles <= t.cycles)
        return;
    s->best = t;
    s->found = true;
}

/* Tries `at_once` groups of `blocks` blocks, with chunks of `rows` rows and bands of any size. */
static void try_groups(struct search *s, enum tiling_algorithm algorithm, uint32_t blocks, uint32_t at_once,
                       uint32_t rows)
{
    const struct tiling_problem *p = s->problem;
    struct tiling t = {.algorithm = algorithm, .phases = p->phases, .states = p->states, .chunk_rows = rows};
    t.units = multiple_up(quotient_up(p->units, blocks), 8);
    t.members = quotient_up(p->units, t.units);
    t.cluster = algorithm == ALGORITHM_GRID ? t.members : blocks;
    if (rows * t.units > TILING_WARPS * 32)
        return;
    for (uint32_t tiles = 1; tiles <= TILING_TILES; tiles *= 2) {
        bool divided = is_wanted(s->device->only_tiles, tiles) && is_wanted(s->device->only_rows, rows);
        for (uint32_t i = 0; divided && i < p->phases; i++) divided = divide_product(p, &t, (int)i, tiles);
        if (divided)
            try_tiling(s, t, at_once);
    }
}

static void try_clusters(struct search *s)
{
    for (int i = 0; i < 5; i++) {
        uint32_t blocks = 1u << i;
        uint32_t at_once = at_most(s->device->clusters[i], s->device->multiprocessors >> i);
        for (uint32_t rows = 8; at_once > 0 && rows <= 16; rows += 8)
            try_groups(s, ALGORITHM_CLUSTER, blocks, at_once, rows);
    }
}

static void try_grids(struct search *s)
{
    uint32_t all = s->device->multiprocessors;
    for (uint32_t groups = 1; s->device->cooperative && groups <= all; groups++)
        for (uint32_t rows = 8; rows <= 16; rows += 8)
            if ((groups - 1) * rows < s->problem->rows)
                try_groups(s, ALGORITHM_GRID, all / groups, groups, rows);
}

/* Kernels count the bytes of a step, of both directions of a layer, in 32 bits. */
enum { STEP_NUMBERS = 1 << 28 };

static const char *refused_cell(const struct tiling_problem *p)
{
    return (uint64_t)p->rows * p->units * p->inputs >= STEP_NUMBERS       ? "a step has 2^28 numbers or more"
           : p->projected                                                 ? "its outputs are projected"
           : p->shared_by_ranks                                           ? "ranks share its units"
           : p->intermediates > 1 || p->phases > TILING_PHASES            ? "its cell has more than one intermediate"
           : p->fields[0] > TILING_FIELDS || p->fields[1] > TILING_FIELDS ? "its cell has too many gates"
           : p->rows == 0 || p->steps == 0                                ? "there is nothing to do"
                                                                          : NULL;
}

static const char *refusal(const struct tiling_problem *p, const struct tiling_device *d)
{
    enum { REGISTERS = TILING_WARPS * 32 * 256 };
    const char *why = refused_cell(p);
    return why ? why : d->registers < REGISTERS ? "a multiprocessor has too few registers" : NULL;
}

/* Chooses the form for cells that multiply no state. Its cost is the larger of a thread's instructions and the bytes
 * of all reads and writes of inputs and states. */
static void choose_walk(const struct tiling_problem *p, enum tiling_algorithm only, struct tiling *t, const char **why)
{
    const double blocks = quotient_up(p->rows * p->units, TILING_WARPS * 32);
    const double instructions = p->backward ? INSTRUCTIONS_WALK_BACK : INSTRUCTIONS_WALK;
    const double bytes = 4.0 * p->rows * p->units * (2 * p->inputs + (p->backward ? 3 : 1) * p->states);
    if (only != ALGORITHM_PORTABLE) {
        *why = "its cell multiplies no state";
        return;
    }
    t->algorithm = ALGORITHM_WALK;
    t->groups = (uint32_t)blocks;
    t->cluster = t->members = t->chunks = t->chunk_rows = 1;
    t->phases = p->phases, t->states = p->states, t->units = p->units;
    t->cycles = p->steps * larger(larger(instructions * CYCLES_INSTRUCTION, (double)CYCLES_MEMORY / WALK_AHEAD),
                                  bytes / BYTES_MEMORY);
}

void tiling_choose(const struct tiling_problem *p, const struct tiling_device *d, enum tiling_algorithm only,
                   struct tiling *t, const char **why)
{
    struct search s = {.problem = p, .device = d};
    memset(t, 0, sizeof *t);
    t->portable_cycles = portable_cycles(p, d);
    *why = refusal(p, d);
    if (*why)
        return;
    if (p->fields[0] == 0) {
        choose_walk(p, only, t, why);
        return;
    }
    if (only != ALGORITHM_GRID)
        try_clusters(&s);
    if (only != ALGORITHM_CLUSTER)
        try_grids(&s);
    *why = !s.found ? "its weights and operands do not fit into the multiprocessors"
           : only == ALGORITHM_PORTABLE && s.best.cycles > t->portable_cycles ? "single products are cheaper"
                                                                              : NULL;
    if (*why)
        return;
    s.best.portable_cycles = t->portable_cycles;
    *t = s.best;
}

/* Any grid that tiling_choose can choose has at most twice the chunks of 8 rows: those of the rows, and less than
 * one more in each group. Units are rounded up to blocks of at most 64. */
uint64_t tiling_exchange_max(const struct tiling_problem *p)
{
    const uint64_t chunks = 2 * (uint64_t)quotient_up(p->rows, 8);
    const uint64_t fields = p->backward ? at_least(p->fields[0], p->fields[1]) : 1;
    const uint64_t row = fields * (p->units + 64) * operand_bytes(p->operand) + 4 * TILING_STEP_BYTES;
    const uint64_t bytes = chunks * 2 * TILING_RING * 16 * row + TILING_MARGIN;
    return refused_cell(p) || p->fields[0] == 0 ? 0 : bytes < TILING_EXCHANGE ? bytes : TILING_EXCHANGE;
}
