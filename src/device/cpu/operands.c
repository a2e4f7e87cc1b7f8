/* What plans for the CPU read weights from: the layouts of packed copies, and where products of split floats are wanted
 * (cells/bf16x3.h). Forward ones then read a copy that has the right factors; backward ones get theirs as they are
 * made. */
#include "device/cpu/operands.h"

#include "cells/cell.h"
#include "cells/bf16x3.h"
#include "device/cpu/layouts.h"

/* More than most second caches, a part of all third ones: other processors want some of those. */
enum { CPU_CACHE_BYTES = 4 << 20 };

/* Inputs for which a product of all steps waits for memory more than it multiplies. */
enum { CPU_NARROW = 4 };

/* ---- where splitting pays -------------------------------------------------------------- */

static bool has_wide_recurrence(const struct unroll_model *model, uint64_t units)
{
    for (int i = 0; i < model->parameters; i++) {
        const struct parameter *q = &model->parameter[i];
        if (q->role == PARAM_W_HH && q->size[q->rank - 1] >= units)
            return true;
    }
    return false;
}

/* Cuts that keep or move sums over units have no tiles, so that ranks do not show in the bits; and none repairs them,
 * but for pieces on one rank. */
static bool may_have_tiles(const struct plan_config *c)
{
    const bool multiplies = c->precision == PRECISION_BF16 ? c->traits.rounds : c->traits.splits;
    return multiplies && c->mesh[M_HIDDEN] == 1 && c->mesh[M_TIME] == 1 && !c->exact && c->real == DTYPE_F32;
}

/* bf16 that a float becomes. */
static int parts_of(const struct plan_config *c) { return c->precision == PRECISION_BF16 ? BF16_PARTS : BF16X3_PARTS; }

/* Products of all steps have rows enough to fill tiles; of narrow layers that does not make up for the work of
 * splitting. A lone row has the bits of a stream. The steps do not count: sessions of one model that differ in them
 * have the same bits. The batch of all ranks counts: so neither ranks nor chunks show in the bits. */
static bool splits(const struct plan *p)
{
    enum { FEWEST = 2, WIDE = 64 };
    const struct plan_config *c = &p->config;
    const bool fills = c->B >= BF16X3_ROWS || (c->B >= FEWEST && has_wide_recurrence(p->model, WIDE));
    return may_have_tiles(c) && fills && c->weights == DTYPE_F32;
}

/* For any number of rows: which weights, their width alone says. */
bool reads_bf16_by_tiles(const struct plan *p, int buffer)
{
    const struct buffer *b = buffer < 0 ? NULL : &p->buffer[buffer];
    return b && b->copy_of >= 0 && p->config.weights == DTYPE_BF16 && p->config.precision == PRECISION_FP32 &&
           may_have_tiles(&p->config) && bf16_by_tiles(b->size[b->rank - 1]);
}

/* An accumulation block is summed in steps of BF16X3_K rows, the last one filled with zeros: how many there are for
 * each row of an accumulation block of q steps of time. Of ragged rows about half take part, and about half of the last
 * step is zeros. */
static double zeros_of_acc_block(const struct plan_config *c, uint32_t q)
{
    const uint32_t rows = c->B / (c->shards > 1 ? c->shards : 1) * q;
    if (c->lengths)
        return (double)(BF16X3_K / 2) / (0.5 * rows);
    return (double)((rows + BF16X3_K - 1) / BF16X3_K * BF16X3_K - rows) / rows;
}

bool bf16x3_fill_acc_blocks(const struct plan_config *c, uint32_t *block_steps)
{
    enum { PIECES = 8 }; /* that time may still be cut into; checkpoints every sqrt(T) steps take the least memory */
    const double few = c->lengths ? 1.0 / 16 : 1.0 / 8, max = 1; /* half of a step */
    uint32_t best = *block_steps;
    for (uint32_t q = best + 1; q <= c->T / PIECES && q * q <= 2 * c->T && zeros_of_acc_block(c, best) > few; q++)
        if (zeros_of_acc_block(c, q) < zeros_of_acc_block(c, best))
            best = q;
    if (zeros_of_acc_block(c, best) > max)
        return false;
    *block_steps = best;
    return true;
}

/* Are the columns and rows of a weight many enough to fill a tile, and not more than operands have room for? */
static bool fills_tiles(const struct buffer *master)
{
    enum { MAX = 16384 };
    const uint32_t columns = master->whole[master->rank - 1], units = master->whole[master->rank - 2];
    return columns >= BF16X3_COLUMNS && columns <= MAX && units >= BF16X3_COLUMNS;
}

/* Is it a recurrent weight of more bytes as bf16x3 splits? Rounded to bf16 it is half as many as the floats are. */
static bool recurs_beyond(const struct plan *p, const struct buffer *master, uint64_t max)
{
    enum { BYTES = 2 * BF16X3_PARTS };
    uint64_t bytes = p->splits == BF16X3_PARTS ? BYTES : 0;
    for (int i = 0; i < master->rank; i++) bytes *= master->whole[i];
    return p->model->parameter[master->parameter].role == PARAM_W_HH && bytes > max;
}

/* Steps of few rows read weights that lie outside the cache more than they multiply them: bf16x3 splits are half as
 * much again. From a tile of rows on the products that are saved outweigh that; of fewer than FEW rows not even near
 * weights are worth a tile that is mostly empty. */
static bool keeps_floats(const struct plan *p, const struct buffer *master)
{
    enum { FEW = 7 };
    const uint64_t max = p->config.B < FEW ? 0 : p->config.traits.near / 2;
    return p->config.B < BF16X3_ROWS && recurs_beyond(p, master, max);
}

/* One block of rows multiplies weights faster than they come where all threads together do not keep them near: they are
 * split as they come. More blocks would split them again. The bits are the same. */
static bool is_split_late(const struct plan *p, const struct buffer *master)
{
    const uint64_t threads = p->config.threads > 1 ? (uint64_t)p->config.threads : 1;
    return p->config.traits.near && p->config.B <= LEFT_ROWS &&
           recurs_beyond(p, master, threads * p->config.traits.near);
}

static void begin(struct plan *p)
{
    p->splits = splits(p) ? parts_of(&p->config) : 0;
    p->splits_dw = p->splits && bf16x3_fill_acc_blocks(&p->config, &p->block_steps);
}

static bool gains(const struct plan *p, int master)
{
    return fills_tiles(&p->buffer[master]) && !keeps_floats(p, &p->buffer[master]);
}

static int backward_layout(const struct plan *p, int master)
{
    if (!p->splits || !gains(p, master))
        return LAYOUT_COLUMNS;
    return is_split_late(p, &p->buffer[master]) ? LAYOUT_WHOLE_BACK : LAYOUT_BF16X3_BACK;
}

static unroll_status replace(struct plan *p, struct op *op, int slot)
{
    int weight = op->view[slot].buffer;
    if (weight < 0)
        return UNROLL_OK;
    const int master = p->buffer[weight].copy_of;
    const int layout = is_split_late(p, &p->buffer[master]) ? LAYOUT_WHOLE : LAYOUT_BF16X3;
    TRY(plan_own_copy(p, master, layout, &op->view[slot].buffer));
    op->touches |= 1ull << op->view[slot].buffer % 64;
    return UNROLL_OK;
}

/* Of a cell that multiplies no state those of x. */
static int slot_of_weight(const struct op *op)
{
    if (op->kind == OP_RNN)
        return op->view[RNN_W].buffer < 0 ? RNN_W_X : RNN_W;
    return op->kind == OP_GEMM ? (int)GEMM_W : -1;
}

/* A step of a recurrence reads all its weights so, or none. */
static unroll_status choose_copies(struct plan *p)
{
    for (int i = 0; p->splits && i < p->ops; i++) {
        struct op *op = &p->op[i];
        const int slot = slot_of_weight(op);
        const int weight = slot < 0 ? -1 : op->view[slot].buffer, master = weight < 0 ? -1 : p->buffer[weight].copy_of;
        if (master < 0 || !gains(p, master))
            continue;
        TRY(replace(p, op, slot));
        if (slot == RNN_W && op->kind == OP_RNN)
            TRY(replace(p, op, RNN_W_X));
    }
    return UNROLL_OK;
}

/* Sums of a row go to memory and back, 8 bytes each; bf16x3 splits of weights are 6 bytes, that a step of fast products
 * waits for. */
static bool folds(const struct plan *p, uint64_t inputs)
{
    enum { MANY_ROWS = 32 };
    return p->splits ? 8 * (uint64_t)p->config.B >= 2 * (uint64_t)p->splits * inputs : p->config.B >= MANY_ROWS;
}

/* As left factors where those are wanted. */
static uint32_t planes(const struct plan *p, uint32_t inputs, uint32_t U, uint32_t width)
{
    const size_t left = inputs * bf16x3_steps(U) * left_row_bytes(p->splits) / (width * sizeof(float)) + 2;
    return p->splits && left > inputs + 1 ? (uint32_t)left : inputs + 1;
}

/* ---- layouts --------------------------------------------------------------------------- */

/* The right factors of a weight [.., U, K], forward or backward. */
static uint64_t bf16x3_bytes(const struct plan *p, const struct buffer *b)
{
    const size_t units = b->size[b->rank - 2], columns = b->size[b->rank - 1];
    const bool back = layout_is_right_back(b->layout);
    uint64_t n = back ? bf16x3_tiles(columns) * bf16x3_steps(units) : bf16x3_tiles(units) * bf16x3_steps(columns);
    for (int i = 0; i < b->rank - 2; i++) n *= b->size[i];
    return n * right_bytes(p->splits, layout_is_whole(b->layout));
}

static uint64_t bytes_of(const struct plan *p, const struct buffer *b)
{
    if (layout_is_right(b->layout))
        return bf16x3_bytes(p, b);
    bool panels = b->layout == LAYOUT_PANELS, columns = b->layout == LAYOUT_COLUMNS, tiles = b->layout == LAYOUT_GATES;
    uint64_t n = panels || tiles ? word_bytes(b->dtype) : dtype_size(b->dtype);
    for (int i = 0; i < b->rank; i++) {
        bool unit = i == b->rank - 2, last = i == b->rank - 1;
        uint32_t grain = (panels && unit) || (columns && last) ? PANEL : tiles && unit ? CELL_TILE : 1;
        n *= (panels || tiles) && last ? words_of(b->dtype, b->size[i]) : (b->size[i] + grain - 1) / grain * grain;
    }
    return n;
}

static const char *name_of(int layout)
{
    static const char *const names[] = {[LAYOUT_COLUMNS] = "columns", [LAYOUT_GATES] = "gates",
                                        [LAYOUT_BF16X3] = "bf16x3",   [LAYOUT_BF16X3_BACK] = "bf16x3_back",
                                        [LAYOUT_WHOLE] = "whole",     [LAYOUT_WHOLE_BACK] = "whole_back"};
    return names[layout];
}

const struct operand_traits cpu_operands = {.product = LAYOUT_PANELS,
                                            .step = LAYOUT_GATES,
                                            .backward = backward_layout,
                                            .name = name_of,
                                            .bytes = bytes_of,
                                            .folds = folds,
                                            .planes = planes,
                                            .begin = begin,
                                            .choose = choose_copies};

const struct device_traits cpu_traits = {.operands = &cpu_operands,
                                         .near = CPU_CACHE_BYTES,
                                         .narrow = CPU_NARROW,
                                         .gathers_columns = {CPU_NARROW + 1, MAX_GATHERED_COLUMNS},
                                         .pieces = true,
                                         .int8_products = MAX_INT8_PRODUCTS};
