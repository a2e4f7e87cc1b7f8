/* The planner of persistent recurrences: tries every size of a group, keeps what fits, takes what a model of its
 * cycles finds cheapest. Pure arithmetic on counts and limits; nothing here was measured, see below. */
#include "device/cuda/tiling.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static uint32_t at_least(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t at_most(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t quotient_up(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
static uint32_t multiple_up(uint32_t a, uint32_t b) { return quotient_up(a, b) * b; }

/* ---- products ---------------------------------------------------------------------------- */

/* false: a thread would have too many cells, or the block too many rows. */
static bool divide_product(const struct tiling_problem *p, struct tiling *t, int phase)
{
    struct tiling_product *m = &t->product[phase];
    uint32_t out = p->backward ? 1 : p->fields[phase];
    m->fields = p->backward ? p->fields[phase] : 1;
    m->rows = out * t->units;
    m->pairs = quotient_up(m->rows, TILING_ROWS);
    if (m->pairs > TILING_WARPS)
        return false;
    uint32_t row = m->fields * t->members * t->units * operand_bytes(p->operand);
    m->steps_all = quotient_up(row, TILING_STEP_BYTES);
    m->splits = at_most(TILING_WARPS / m->pairs, m->steps_all);
    m->steps = quotient_up(m->steps_all, m->splits);
    m->splits = quotient_up(m->steps_all, m->steps);
    m->operand_row = m->steps_all * TILING_STEP_BYTES + 16;
    m->sums_row = m->pairs * TILING_ROWS + 4;
    return true;
}

/* Where the weights of each warp lie. Products of plain floats read them from shared memory only. */
static void divide_weights(const struct tiling_problem *p, struct tiling *t)
{
    uint32_t left = p->operand == OPERAND_F32 ? 0 : TILING_SLOTS, slot = 0;
    t->shared_slots = 0;
    for (uint32_t i = 0; i < t->phases; i++) {
        struct tiling_product *m = &t->product[i];
        m->slot = slot;
        m->in_registers = at_most(m->steps, left);
        m->shared_slot = t->shared_slots;
        slot = at_most(multiple_up(slot + m->in_registers, TILING_RUN), TILING_SLOTS);
        left = p->operand == OPERAND_F32 ? 0 : TILING_SLOTS - slot;
        t->shared_slots += m->steps - m->in_registers;
    }
}

/* ---- shared memory ----------------------------------------------------------------------- */

static uint32_t take(uint32_t *bytes, uint32_t wanted)
{
    uint32_t at = *bytes;
    *bytes = multiple_up(at + wanted, 128);
    return at;
}

static void place(const struct tiling_problem *p, struct tiling *t)
{
    uint32_t rows = t->chunk_rows, number = operand_bytes(p->operand), bytes = 0;
    uint32_t operand_row = 0, sums = 0, fields = 0, pieces = 0, gates = 0;
    for (uint32_t i = 0; i < t->phases; i++) {
        const struct tiling_product *m = &t->product[i];
        operand_row = at_least(operand_row, m->operand_row);
        sums = at_least(sums, m->splits * rows * m->sums_row);
        fields = at_least(fields, m->fields);
        pieces += rows * m->fields * t->units * number / 16;
        gates += p->fields[i];
    }
    t->operand_buffer = rows * operand_row;
    t->at_operand = take(&bytes, (t->algorithm == ALGORITHM_GRID ? 1 : 2 * t->chunks) * t->operand_buffer);
    t->at_sums = take(&bytes, sums * 4);
    t->at_staged = take(&bytes, rows * fields * t->units * number);
    t->at_states = take(&bytes, t->chunks * t->states * rows * t->units * 4);
    t->at_bias = take(&bytes, p->backward ? 0 : gates * t->units * 4);
    t->at_pieces = take(&bytes, pieces * 4);
    t->at_lengths = take(&bytes, (t->chunks * rows + t->chunks) * 4);
    t->at_barriers = take(&bytes, t->chunks * 2 * 8);
    t->at_weights = take(&bytes, TILING_WARPS * t->shared_slots * TILING_SLOT_BYTES);
    t->shared_bytes = bytes;
    if (t->algorithm != ALGORITHM_GRID)
        return;
    t->exchange_bytes = (uint64_t)t->groups * t->chunks * 2 * t->operand_buffer;
    t->flag_bytes = (uint64_t)t->groups * t->chunks * t->members * 4;
}

/* ---- cycles: a model, not a measurement -------------------------------------------------- */

/* Assumed of an SM: 1270 multiply-adds a cycle by mma with 16-bit operands (62% of the peak), half of that in tf32,
 * 128 in fp32; 128 bytes of shared memory a cycle, 24 of L2; 128 instructions a cycle, for a cell 150, 80
 * where operands are narrow; 100 cycles
 * for the barriers of a round. An operand is under way for 700 cycles in a cluster, 1600 through L2. A step of the
 * portable way takes 7000 cycles in each phase, and half the peak for its product. */
enum {
    CELL_INSTRUCTIONS = 150,
    LOWP_CELL_INSTRUCTIONS = 80,
    ROUND_BARRIERS = 100,
    CLUSTER_LATENCY = 700,
    GRID_LATENCY = 1600,
    PORTABLE_STEP = 7000
};

static double multiply_adds_a_cycle(enum gpu_operand o)
{
    return o == OPERAND_F32 ? 128 : o == OPERAND_TF32 ? 635 : 1270;
}

static double round_cycles(const struct tiling_problem *p, const struct tiling *t, int phase)
{
    const struct tiling_product *m = &t->product[phase];
    double rows = t->chunk_rows, warp_steps = (double)m->pairs * m->splits * m->steps;
    double adds = warp_steps * TILING_ROWS * rows * (TILING_STEP_BYTES / operand_bytes(p->operand));
    double operand = rows * m->steps_all * TILING_STEP_BYTES;
    double shared = warp_steps * rows * TILING_STEP_BYTES +
                    (double)m->pairs * m->splits * (m->steps - m->in_registers) * TILING_SLOT_BYTES +
                    8.0 * m->splits * rows * m->sums_row + operand;
    double product = adds / multiply_adds_a_cycle(p->operand);
    double work = (product > shared / 128 ? product : shared / 128) + ROUND_BARRIERS +
                  rows * t->units * (p->operand == OPERAND_F32 ? CELL_INSTRUCTIONS : LOWP_CELL_INSTRUCTIONS) / 128;
    double latency = t->algorithm == ALGORITHM_GRID ? GRID_LATENCY : CLUSTER_LATENCY;
    work += t->algorithm == ALGORITHM_GRID ? operand / 24 : 0;
    double alone = work + latency, together = work * t->chunks;
    return alone > together ? alone : together;
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

/* So many groups at once, of `blocks` blocks, with chunks of `rows` rows; fewer chunks at a time if they don't fit,
 * which only clusters can do: the other groups then follow. */
static void try_groups(struct search *s, enum tiling_algorithm algorithm, uint32_t blocks, uint32_t at_once,
                       uint32_t rows)
{
    const struct tiling_problem *p = s->problem;
    uint32_t chunks_all = quotient_up(p->rows, rows);
    struct tiling t = {.algorithm = algorithm, .phases = p->phases, .states = p->states, .chunk_rows = rows};
    t.units = multiple_up(quotient_up(p->units, blocks), 8);
    t.members = quotient_up(p->units, t.units);
    t.cluster = algorithm == ALGORITHM_GRID ? t.members : blocks;
    if (rows * t.units > TILING_CELLS * TILING_WARPS * 32)
        return;
    for (uint32_t i = 0; i < p->phases; i++)
        if (!divide_product(p, &t, (int)i))
            return;
    divide_weights(p, &t);
    t.chunks = quotient_up(chunks_all, at_most(at_once, chunks_all));
    for (t.chunks = at_most(t.chunks, TILING_CHUNKS); t.chunks > 0; t.chunks--) {
        t.groups = quotient_up(chunks_all, t.chunks);
        place(p, &t);
        if (t.shared_bytes <= s->device->shared_bytes)
            break;
    }
    if (t.chunks == 0 || (algorithm == ALGORITHM_GRID && t.groups > at_once))
        return;
    t.cycles = all_cycles(p, &t, at_once);
    if (s->found && s->best.cycles <= t.cycles)
        return;
    s->best = t;
    s->found = true;
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

static const char *refused_cell(const struct tiling_problem *p)
{
    return p->fields[0] == 0                                              ? "its cell multiplies no state"
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

void tiling_choose(const struct tiling_problem *p, const struct tiling_device *d, enum tiling_algorithm only,
                   struct tiling *t, const char **why)
{
    struct search s = {.problem = p, .device = d};
    memset(t, 0, sizeof *t);
    t->portable_cycles = portable_cycles(p, d);
    *why = refusal(p, d);
    if (*why)
        return;
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

/* Every grid that tiling_choose can choose has at most as many chunks as rows have, less one in each group: twice
 * those of 8 rows. Units are rounded up to blocks of at most 64. */
uint64_t tiling_exchange_max(const struct tiling_problem *p)
{
    const uint64_t chunks = 2 * (uint64_t)quotient_up(p->rows, 8);
    const uint64_t fields = p->backward ? at_least(p->fields[0], p->fields[1]) : 1;
    const uint64_t row = fields * (p->units + 64) * operand_bytes(p->operand) + TILING_STEP_BYTES + 16;
    if (refused_cell(p))
        return 0;
    return chunks * 2 * 16 * row + chunks * quotient_up(p->units, 8) * 4;
}
