/* Estimates LUTs, flip-flops and block RAMs before any synthesis. Memories are assigned as yosys 0.23 does, by the
 * costs of its memory libraries (block RAM, LUT RAM, or logic). The rest is a sum of a few sizes, with factors
 * fitted to yosys's counts of 15 to 17 networks; `make rtl` checks that estimates are within 15 % of these, and 25 %
 * of others. Covers only the core, without a bus. LUTs are SB_LUT4 (ice40); LUT4 + 2 CCU2C + 4 TRELLIS_DPR16X4
 * (ecp5); LUT1 .. LUT6 + SRL16E + 4 for each RAM32M and RAM64M (xilinx). */
#include "extensions/hardware/verilog.h"
#include <string.h>

/* The sizes: 1; bits of the lanes' sums; the same again if the sums of two segments may wait; inputs of shifters
 * times their bits; bits of memories built from logic: tables, others; LUTs of LUT RAM; bits of a pointwise word;
 * bits of the product that ends a row. */
enum {
    SIZE_ONE,
    SIZE_SUMS,
    SIZE_WAITING,
    SIZE_SHIFTS,
    SIZE_TABLES,
    SIZE_REGISTERS,
    SIZE_LUT_RAM,
    SIZE_WORD,
    SIZE_PRODUCT,
    SIZES
};

static const struct family {
    const char *name;
    int block_bits, block_words, narrowest; /* of its widest words; a block can have more, narrower words */
    int block_cost, table_bits;             /* bits of a table as logic at cost 1; bits of other memories cost 1 each */
    struct {
        int bits, words, cost, luts;
    } lut_ram[2];
    double lut[SIZES], flip_flop[SIZES]; /* all 0: no counts to fit them to */
} families[] = {
    {"generic", 36, 512, 9, 128, 16, {{0}}, {0}, {0}},
    {"ice40",
     16,
     256,
     2,
     64,
     16,
     {{0}},
     {0, 2.44, 1.94, 1.86, 0.0189, 1.06, 0, 11.2, 2.12},
     {0, 1.43, 1.54, 1.69, 0, 0, 0, 15.8, 1.96}},
    {"ecp5",
     36,
     512,
     1,
     128,
     16,
     {{4, 16, 4, 4}},
     {0, 2.95, 2.66, 3.16, 0.0513, 0, 1.17, 5.98, 7.38},
     {0, 2.39, 1.67, 2.43, 0, 0, 0.21, 16.7, 0}},
    {"gowin", 36, 512, 1, 128, 16, {{4, 16, 4, 4}}, {0}, {0}},
    {"xilinx",
     36,
     512,
     1,
     129,
     64,
     {{6, 32, 8, 4}, {3, 64, 8, 4}},
     {0, 1.28, 1.22, 0, 0.0453, 10.5, 4.06, 0, 0.299},
     {182, 0.521, 1.33, 0.332, 0.00302, 0, 0.939, 7.54, 0}},
};

static const struct family *family_of(const char *name)
{
    const struct family *f = families;
    while (strcmp(f->name, name)) f++;
    return f;
}

static uint64_t parts(uint64_t n, uint64_t of) { return (n + of - 1) / of; }

/* Assigns a memory. Words of a table in different rows of a block may also be placed next to each other. */
static void place(const struct family *f, const struct verilog_memory *m, double size[SIZES], int *blocks)
{
    enum { SMALL = 32 }; /* words of a table that unroll_rom builds from logic */
    const uint64_t bits = m->words * (uint64_t)m->bits;
    uint64_t least = m->is_table && m->words <= SMALL ? 0 : m->is_table ? bits / (uint64_t)f->table_bits : bits, n;
    double *to = &size[m->is_table ? SIZE_TABLES : SIZE_REGISTERS], taken = (double)bits;
    int of_blocks = 0;
    for (int width = f->block_bits, words = f->block_words; width >= f->narrowest; width /= 2, words *= 2) {
        n = m->is_table ? parts((uint64_t)m->bits * parts(m->words, (uint64_t)words), (uint64_t)width)
                        : parts((uint64_t)m->bits, (uint64_t)width) * parts(m->words, (uint64_t)words);
        if (n * (uint64_t)f->block_cost < least) {
            least = n * (uint64_t)f->block_cost;
            of_blocks = (int)n;
            taken = 0;
        }
    }
    for (int i = 0; i < 2 && f->lut_ram[i].bits && !m->is_table; i++) {
        n = parts((uint64_t)m->bits, (uint64_t)f->lut_ram[i].bits) * parts(m->words, (uint64_t)f->lut_ram[i].words);
        if (n * (uint64_t)f->lut_ram[i].cost < least) {
            least = n * (uint64_t)f->lut_ram[i].cost;
            of_blocks = 0;
            to = &size[SIZE_LUT_RAM];
            taken = (double)n * f->lut_ram[i].luts;
        }
    }
    *to += taken;
    *blocks += of_blocks;
}

static double inputs(const struct shift_list *list, int bits)
{
    return list->count > 1 ? (list->count - 1.0) * bits : 0;
}

void verilog_estimate(const struct verilog *v, struct verilog_report *r)
{
    const struct hardware *h = v->h;
    const struct family *f = family_of(v->target);
    struct verilog_memory memory[VERILOG_MEMORIES];
    const int memories = verilog_memories(v, memory);
    const double sums = (double)h->lanes * h->accumulator_bits;
    double size[SIZES] = {[SIZE_ONE] = 1,
                          [SIZE_SUMS] = sums,
                          [SIZE_WAITING] = h->holds == 2 ? sums : 0,
                          [SIZE_PRODUCT] = h->accumulator_bits + h->multiplier_bits};
    enum { PRODUCT = 33, TERM = 18 }; /* bits of shifted values */
    size[SIZE_SHIFTS] = inputs(&h->row_shifts, PRODUCT) + inputs(&h->formats, PRODUCT) + inputs(&h->p_shifts, PRODUCT) +
                        inputs(&h->out_shifts, PRODUCT) + inputs(&h->c_shifts, TERM);
    r->blocks = 0;
    for (int i = 0; i < memories; i++) {
        if (!strcmp(memory[i].name, "words"))
            size[SIZE_WORD] = memory[i].bits;
        if (strcmp(memory[i].name, "weights") || strcmp(v->store, "spram"))
            place(f, &memory[i], size, &r->blocks);
    }
    r->luts = r->flip_flops = 0;
    for (int i = 0; i < SIZES && !h->skips; i++) {
        r->luts += f->lut[i] * size[i];
        r->flip_flops += f->flip_flop[i] * size[i];
    }
}
