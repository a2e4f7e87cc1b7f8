/* The order of sums of weight gradients. A sum over rows of the batch and steps is divided into accumulation blocks,
 * one per shard of the batch and block of steps. An accumulation block is one chain from zero, in rising steps, and
 * rising rows within a step. The blocks of a shard are added to its sum against the operation's direction in time, the
 * order in which chunks of time arrive. The bits are therefore independent of chunks and ranks. */
#pragma once
#include "device/cpu/kernels/tensor.h"

/* Steps and rows of a view [T, B, ..]. */
struct acc_block {
    struct range step, row;
};

/* Returns the rows of x that belong to shard number `shard` of the sum. */
static inline struct range shard_rows(const struct call *call, const struct tensor *x, const struct tensor *sum,
                                      uint32_t shard)
{
    uint32_t first, count, begin = x->origin[1], end = begin + x->count[1];
    shard_range(call->batch, (int)call->shards, (int)(sum->origin[0] + shard), 1, &first, &count);
    uint32_t last = first + count < end ? first + count : end;
    first = first > begin ? first : begin;
    return first < last ? (struct range){first - begin, last - begin} : (struct range){0, 0};
}

/* Iterates over the accumulation blocks of one shard. */
struct acc_blocks {
    struct acc_block at;
    size_t steps, origin, block_steps;
    bool rising;
};

static inline struct acc_blocks acc_blocks_of(const struct call *call, const struct tensor *x, struct range rows)
{
    struct acc_blocks l = {.at.row = rows,
                           .steps = x->count[0],
                           .origin = x->origin[0],
                           .block_steps = call->block_steps,
                           .rising = call->direction};
    if (!l.rising)
        l.at.step = (struct range){l.steps, l.steps};
    return l;
}

/* Moves to the next block; returns false after the last. Blocks start at multiples of the block length in the whole
 * sequence. */
static inline bool next_acc_block(struct acc_blocks *l)
{
    struct range *step = &l->at.step;
    if (l->at.row.first == l->at.row.end || (l->rising ? step->end == l->steps : step->first == 0))
        return false;
    if (l->rising) {
        size_t end = ((l->origin + step->end) / l->block_steps + 1) * l->block_steps - l->origin;
        *step = (struct range){step->end, end < l->steps ? end : l->steps};
    } else {
        size_t begin = (l->origin + step->first - 1) / l->block_steps * l->block_steps;
        *step = (struct range){begin > l->origin ? begin - l->origin : 0, step->first};
    }
    return true;
}
