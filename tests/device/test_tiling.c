/* The planner of persistent recurrences: for many shapes and devices, its choice covers all work once and respects all
 * limits. It also makes the expected choice in known cases. */
/* test: seconds=5 */
#include "extensions/cuda/persistent.h"
#include "check.h"
#include <string.h>

static const struct tiling_device h200 = {.multiprocessors = 132,
                                          .shared_bytes = 227 * 1024,
                                          .registers = 65536,
                                          .clusters = {132, 66, 32, 16, 7},
                                          .cooperative = 1};

/* An instance with a seventh of it (MIG 1g.18gb), to which clusters are limited. */
static const struct tiling_device seventh = {.multiprocessors = 16,
                                             .shared_bytes = 227 * 1024,
                                             .registers = 65536,
                                             .clusters = {16, 8, 4, 2, 0},
                                             .cooperative = 1};

static struct tiling_problem problem(const char *cell, uint32_t steps, uint32_t rows, uint32_t units,
                                     enum gpu_operand o, bool backward)
{
    struct tiling_problem p = {.steps = steps, .rows = rows, .units = units, .operand = o, .backward = backward};
    persistent_describe(cell_find(cells_scalar, cell)->declaration, &p);
    return p;
}

/* ---- properties -------------------------------------------------------------------------- */

/* Returns which limit of the device a tiling breaks; NULL: none. */
static const char *limits_broken(const struct tiling *t, const struct tiling_device *d, const struct tiling_problem *p)
{
    uint64_t blocks = (uint64_t)t->groups * t->cluster;
    if (t->units % 8 || t->members == 0 || t->members > t->cluster)
        return "units and members";
    if (t->members * t->units < p->units || (t->members - 1) * t->units >= p->units)
        return "units are not divided once";
    if (t->groups * t->chunks * t->chunk_rows < p->rows || (t->groups - 1) * t->chunks * t->chunk_rows >= p->rows)
        return "rows are not divided once";
    if (t->chunk_rows != 8 && t->chunk_rows != 16)
        return "rows of a chunk";
    if (t->chunk_rows * t->units > TILING_WARPS * 32)
        return "cells of a thread";
    if (t->shared_bytes > d->shared_bytes)
        return "shared memory";
    if (t->algorithm == ALGORITHM_GRID && blocks > d->multiprocessors)
        return "blocks of a grid that must run at once";
    if (t->algorithm == ALGORITHM_CLUSTER && (t->cluster > 16 || (t->cluster & (t->cluster - 1))))
        return "the size of a cluster";
    return NULL;
}

/* Returns what is inconsistent in a product of a tiling; NULL: nothing. */
static const char *product_broken(const struct tiling *t, const struct tiling_problem *p, int phase)
{
    const struct tiling_product *m = &t->product[phase];
    uint32_t number = operand_bytes(p->operand), wide = t->members * t->units;
    const uint32_t band = m->tiles * tile_rows(p->operand), slots = m->in_registers * m->tiles;
    const bool floats = p->operand == OPERAND_F32;
    if (m->bands * band < m->rows || (m->bands - 1) * band >= m->rows || m->bands * m->splits > TILING_WARPS)
        return "bands of tiles";
    if (m->tiles == 0 || m->tiles > TILING_TILES || (m->tiles & (m->tiles - 1)))
        return "tiles of a band";
    if (m->steps_all * TILING_STEP_BYTES < m->fields * wide * number || m->steps_all % 2 || m->steps % 2)
        return "steps of k";
    if (m->splits * m->steps < m->steps_all || (m->splits - 1) * m->steps >= m->steps_all)
        return "splits of k";
    if (m->operand_row % 128 != (floats ? m->operand_row / 32 * 32 % 128 + 16 : 64) ||
        m->operand_row < m->steps_all * TILING_STEP_BYTES)
        return "rows of the operand share banks";
    if (m->sums_row % 32 != 4 || m->sums_row < m->bands * band)
        return "rows of the sums share banks";
    if (m->in_registers > m->steps || m->in_registers % 2 ||
        slots > (floats          ? 0
                 : t->phases > 1 ? TILING_SLOTS_EACH
                                 : TILING_SLOTS))
        return "slots";
    if (m->shared_slot + (m->steps - m->in_registers) * m->tiles / (floats ? 2 : 1) > t->shared_slots ||
        m->bands * m->splits > t->warps)
        return "shared slots";
    if (m->steps_all >= 1 << 12)
        return "steps of k have no place in a word (make_parts)";
    return NULL;
}

/* Checks that the parts of shared memory follow each other and are large enough for the kernel. */
static const char *memory_broken(const struct tiling *t, const struct tiling_problem *p)
{
    uint32_t number = operand_bytes(p->operand), sums = 0, fields = 0, row = 0;
    for (uint32_t i = 0; i < t->phases; i++) {
        const struct tiling_product *m = &t->product[i];
        uint32_t s = m->splits * t->chunk_rows * m->sums_row * 4;
        sums = s > sums ? s : sums;
        fields = m->fields > fields ? m->fields : fields;
        row = m->operand_row > row ? m->operand_row : row;
    }
    const uint32_t buffers = t->algorithm == ALGORITHM_GRID ? 0 : 2 * t->chunks; /* a grid's packets stay in L2 */
    bool holds = t->at_operand >= TILING_NOTES && t->operand_buffer >= t->chunk_rows * row &&
                 t->at_sums >= t->at_operand + buffers * t->operand_buffer && t->at_staged >= t->at_sums + 2 * sums &&
                 t->sums_buffer == sums && t->at_states >= t->at_staged + t->chunk_rows * fields * t->units * number &&
                 t->at_bias >= t->at_states + t->chunks * t->states * t->chunk_rows * t->units * 4 &&
                 t->at_lengths >= t->at_bias + (p->backward ? 0 : (p->fields[0] + p->fields[1]) * t->units * 4) &&
                 t->at_barriers >= t->at_lengths + t->chunks * (t->chunk_rows + 1) * 4 &&
                 t->at_weights >= t->at_barriers + t->chunks * 16 &&
                 t->shared_bytes >= t->at_weights + t->warps * t->shared_slots * TILING_SLOT_BYTES;
    if (!holds)
        return "parts of shared memory overlap";
    if (t->exchange_bytes > tiling_exchange_max(p) || t->exchange_bytes > TILING_EXCHANGE)
        return "more memory for the exchange than was said";
    if (t->algorithm == ALGORITHM_GRID &&
        t->exchange_bytes < (uint64_t)t->groups * t->chunks * t->ring * t->operand_buffer)
        return "global memory of the exchange";
    return NULL;
}

static void check_shape(const char *cell, const struct tiling_problem *p, const struct tiling_device *d,
                        enum tiling_algorithm only)
{
    struct tiling t;
    const char *why, *broken;
    tiling_choose(p, d, only, &t, &why);
    if (why) {
        CHECK(t.algorithm == ALGORITHM_PORTABLE, "refused (%s), and a way chosen", why);
        return;
    }
    broken = limits_broken(&t, d, p);
    for (uint32_t i = 0; i < t.phases && !broken; i++) broken = product_broken(&t, p, (int)i);
    broken = broken ? broken : memory_broken(&t, p);
    broken = broken ? broken : only && t.algorithm != only ? "another way than asked for" : NULL;
    CHECK(!broken, "%s %s%s, B = %u, U = %u, %s of %u: %s", cell, operand_name(p->operand), p->backward ? " back" : "",
          (unsigned)p->rows, (unsigned)p->units, t.algorithm == ALGORITHM_GRID ? "grid" : "cluster",
          (unsigned)t.cluster, broken);
}

static void check_properties(void)
{
    static const char *const cells[] = {"lstm", "lstm_peephole", "gru", "gru_before", "rnn"};
    static const uint32_t rows[] = {1, 3, 8, 9, 16, 33, 64, 200, 1000};
    static const uint32_t units[] = {1, 7, 8, 16, 40, 128, 200, 256, 512, 544, 768, 1024, 1500, 2048};
    struct tiling_device half = h200, old = h200;
    half.multiprocessors = 66;
    memset(old.clusters, 0, sizeof old.clusters);
    const struct tiling_device *const devices[] = {&h200, &half, &old, &seventh};
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows * (sizeof units / sizeof *units); i++)
            for (int algorithm = 0; algorithm < 3 * GPU_OPERANDS * 2; algorithm++) {
                struct tiling_problem p = problem(cells[c], 100, rows[i % (sizeof rows / sizeof *rows)],
                                                  units[i / (sizeof rows / sizeof *rows)],
                                                  (enum gpu_operand)(algorithm / 3 % GPU_OPERANDS), algorithm / 12);
                check_shape(cells[c], &p, devices[i % 4], (enum tiling_algorithm)(algorithm % 3));
            }
}

/* ---- known cases ------------------------------------------------------------------------- */

static struct tiling chosen(struct tiling_problem p, const struct tiling_device *d, const char **why)
{
    struct tiling t;
    tiling_choose(&p, d, ALGORITHM_PORTABLE, &t, why);
    return t;
}

static void check_choices(void)
{
    const char *why;
    struct tiling t = chosen(problem("lstm", 2048, 1, 512, OPERAND_BF16, false), &h200, &why);
    CHECK(!why && t.algorithm != ALGORITHM_PORTABLE && t.shared_slots == 0,
          "an LSTM of 512 has its weights in registers: %s", why);
    t = chosen(problem("lstm", 512, 16, 1024, OPERAND_BF16, false), &h200, &why);
    CHECK(!why && t.algorithm == ALGORITHM_GRID, "an LSTM of 1024 takes the whole grid: %s", why);
    t = chosen(problem("lstm", 512, 64, 4096, OPERAND_BF16, false), &h200, &why);
    CHECK(why && strstr(why, "do not fit"), "an LSTM of 4096 does not fit: %s", why);
    t = chosen(problem("lstm", 100, 16, 256, OPERAND_BF16, false), &seventh, &why);
    CHECK(!why && t.groups * t.cluster <= 16, "an LSTM of 256 fits into a seventh: %s", why);
    t = chosen(problem("lstm", 100, 16, 768, OPERAND_BF16, false), &seventh, &why);
    CHECK(why && strstr(why, "do not fit"), "one of 768 does not: %s", why);
    t = chosen(problem("mingru", 512, 16, 768, OPERAND_BF16, false), &h200, &why);
    CHECK(!why && t.algorithm == ALGORITHM_WALK && t.cycles / 512 <= 200, "a minGRU walks: %s, %g cycles a step", why,
          t.cycles / 512);

    struct tiling_problem p = problem("lstm", 512, 64, 512, OPERAND_BF16, false);
    p.projected = 1;
    t = chosen(p, &h200, &why);
    CHECK(why && strstr(why, "projected"), "a projection is refused: %s", why);
    p.projected = 0, p.shared_by_ranks = 1;
    t = chosen(p, &h200, &why);
    CHECK(why && strstr(why, "ranks"), "ranks that share units are refused: %s", why);

    struct tiling_device few = h200;
    few.registers = 32768;
    t = chosen(problem("lstm", 512, 64, 512, OPERAND_BF16, false), &few, &why);
    CHECK(why && strstr(why, "registers"), "a multiprocessor with few registers: %s", why);
    memset(few.clusters, 0, sizeof few.clusters);
    few.registers = 65536, few.cooperative = 0;
    t = chosen(problem("lstm", 512, 64, 512, OPERAND_BF16, false), &few, &why);
    CHECK(why != NULL && t.algorithm == ALGORITHM_PORTABLE, "neither clusters nor grids: %s", why);
}

int main(void)
{
    check_properties();
    check_choices();
    return check_finish("test_tiling");
}
