/* Traits of the CPU for plans: layouts of packed weights, and the products that use split floats
 * (nn/cells/step/bf16x3.h). Forward products then read a copy with right factors; backward copies are created in that
 * form. */
#include "device/cpu/executor/operands.h"

#include "nn/cells/cell.h"
#include "nn/cells/step/bf16x3.h"
#include "device/cpu/kernels/layouts.h"

/* More than most L2 caches and part of an L3 cache, which other processors share. */
enum { CPU_CACHE_BYTES = 4 << 20 };

/* Up to this number of inputs a product of all steps is limited by memory, not by arithmetic. */
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

/* Cuts along hidden units or time do not use tiles, so that the bits are independent of ranks. Repaired pieces of time
 * use them only on one rank. */
static bool may_have_tiles(const struct plan_config *c)
{
    const bool multiplies = c->precision == PRECISION_BF16 ? c->traits.rounds : c->traits.splits;
    return multiplies && c->mesh[M_HIDDEN] == 1 && c->mesh[M_TIME] == 1 && !c->exact && c->real == DTYPE_F32;
}

/* Returns the number of bf16 parts of a float. */
static int parts_of(const struct plan_config *c) { return c->precision == PRECISION_BF16 ? BF16_PARTS : BF16X3_PARTS; }

/* Returns whether products split floats. Products of all steps have enough rows to fill tiles, but narrow layers do not
 * amortize the splitting. A lone row has the bits of a stream. The number of steps is ignored: sessions of one model
 * with different steps have the same bits. The batch of all ranks counts, so the bits are independent of ranks and
 * chunks. */
static bool splits(const struct plan *p)
{
    enum { FEWEST = 2, WIDE = 64 };
    const struct plan_config *c = &p->config;
    const bool fills = c->B >= BF16X3_ROWS || (c->B >= FEWEST && has_wide_recurrence(p->model, WIDE));
    return may_have_tiles(c) && fills && c->weights == DTYPE_F32;
}

/* For any number of rows; depends only on the weights' width. */
bool reads_bf16_by_tiles(const struct plan *p, int buffer)
{
    const struct buffer *b = buffer < 0 ? NULL : &p->buffer[buffer];
    return b && b->copy_of >= 0 && p->config.weights == DTYPE_BF16 && p->config.precision == PRECISION_FP32 &&
           may_have_tiles(&p->config) && bf16_by_tiles(b->size[b->rank - 1]);
}

/* Returns the ratio of padding to rows of an accumulation block of q steps of time. Blocks are summed in steps of
 * BF16X3_K rows, the last one padded with zeros. In ragged batches about half of the rows participate, and about half
 * of the last step is padding. */
static double zeros_of_acc_block(const struct plan_config *c, uint32_t q)
{
    const uint32_t rows = c->B / (c->shards > 1 ? c->shards : 1) * q;
    if (c->lengths)
        return (double)(BF16X3_K / 2) / (0.5 * rows);
    return (double)((rows + BF16X3_K - 1) / BF16X3_K * BF16X3_K - rows) / rows;
}

bool bf16x3_fill_acc_blocks(const struct plan_config *c, uint32_t *block_steps)
{
    enum { PIECES = 8 }; /* that time may still be cut into; checkpoints every sqrt(T) steps use the least memory */
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

/* Returns whether a weight has enough columns and rows to fill a tile, and fits the operands' buffer. */
static bool fills_tiles(const struct buffer *master)
{
    enum { MAX = 16384 };
    const uint32_t columns = master->whole[master->rank - 1], units = master->whole[master->rank - 2];
    return columns >= BF16X3_COLUMNS && columns <= MAX && units >= BF16X3_COLUMNS;
}

/* Returns whether the weight is recurrent and its bf16x3 splits exceed `max` bytes. Rounded to bf16 it has half the
 * bytes of floats. */
static bool recurs_beyond(const struct plan *p, const struct buffer *master, uint64_t max)
{
    enum { BYTES = 2 * BF16X3_PARTS };
    uint64_t bytes = p->splits == BF16X3_PARTS ? BYTES : 0;
    for (int i = 0; i < master->rank; i++) bytes *= master->whole[i];
    return p->model->parameter[master->parameter].role == PARAM_W_HH && bytes > max;
}

/* Returns whether steps read the weight as floats. With few rows, distant weights are limited by loading, and bf16x3
 * splits are half as large again. From a full tile of rows on the saved products outweigh that. With fewer than FEW
 * rows a mostly empty tile is slower even for near weights. */
static bool keeps_floats(const struct plan *p, const struct buffer *master)
{
    enum { FEW = 7 };
    const uint64_t max = p->config.B < FEW ? 0 : p->config.traits.near / 2;
    return p->config.B < BF16X3_ROWS && recurs_beyond(p, master, max);
}

/* Returns whether weights are split while they are multiplied. If the caches of all threads do not hold them, one block
 * of rows multiplies faster than it loads. More blocks would split them repeatedly. The bits are the same. */
static bool is_split_late(const struct plan *p, const struct buffer *master)
{
    const uint64_t threads = p->config.threads > 1 ? (uint64_t)p->config.threads : 1;
    return p->config.traits.near && p->config.B <= LEFT_ROWS &&
           recurs_beyond(p, master, threads * p->config.traits.near);
}

static void mark_begin(struct plan *p)
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

/* Returns the view of an operation's weights. A cell without a product of its state uses those of x. */
static int slot_of_weight(const struct op *op)
{
    if (op->kind == OP_RNN)
        return op->view[RNN_W].buffer < 0 ? RNN_W_X : RNN_W;
    return op->kind == OP_GEMM ? (int)GEMM_W : -1;
}

/* Replaces the weights of products. A step of a recurrence reads all its weights in this form, or none. */
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

/* Returns whether the product with x is folded into the recurrence. Otherwise the sums of a row are stored and loaded,
 * 8 bytes each; against that, a step of fast products waits for 6 bytes per bf16x3 weight. */
static bool folds(const struct plan *p, uint64_t inputs)
{
    enum { MANY_ROWS = 32 };
    return p->splits ? 8 * (uint64_t)p->config.B >= 2 * (uint64_t)p->splits * inputs : p->config.B >= MANY_ROWS;
}

/* Returns the planes of a buffer that may also hold left factors. */
static uint32_t planes(const struct plan *p, uint32_t inputs, uint32_t U, uint32_t width)
{
    const size_t left = inputs * bf16x3_steps(U) * left_row_bytes(p->splits) / (width * sizeof(float)) + 2;
    return p->splits && left > inputs + 1 ? (uint32_t)left : inputs + 1;
}

/* ---- layouts --------------------------------------------------------------------------- */

/* Returns the bytes of the right factors of a weight [.., U, K], forward or backward. */
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
                                            .begin = mark_begin,
                                            .choose = choose_copies};

const struct device_traits cpu_traits = {.operands = &cpu_operands,
                                         .near = CPU_CACHE_BYTES,
                                         .narrow = CPU_NARROW,
                                         .gathers_columns = {CPU_NARROW + 1, MAX_GATHERED_COLUMNS},
                                         .pieces = true,
                                         .sequence_losses = true,
                                         .int8_products = MAX_INT8_PRODUCTS};
