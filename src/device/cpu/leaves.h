/* The sum contract of weight gradients: a sum over rows of the batch and steps is cut into leaves, one
 * for each shard of the batch and quantum of steps. A leaf is one chain from zero, steps rising, rows
 * rising in a step; the leaves of a shard are added to its sum against the operation's direction in
 * time, as chunks of time arrive. So neither chunks nor ranks show in the bits. */
#ifndef DEVICE_CPU_LEAVES_H
#define DEVICE_CPU_LEAVES_H
#include "device/cpu/tensor.h"

/* Steps and rows of a view [T, B, ..]. */
struct leaf { struct range step, row; };

/* Rows of shard number `shard` of the sum that lie in x. */
static inline struct range shard_rows(const struct call *call, const struct tensor *x,
                                      const struct tensor *sum, uint32_t shard)
{
    uint32_t first, count, begin = x->origin[1], end = begin + x->count[1];
    share(call->batch, (int)call->shards, (int)(sum->origin[0] + shard), 1, &first, &count);
    uint32_t last = first + count < end ? first + count : end;
    first = first > begin ? first : begin;
    return first < last ? (struct range){ first - begin, last - begin } : (struct range){ 0, 0 };
}

/* All leaves of one shard, one after the other. */
struct leaves {
    struct leaf at;
    size_t steps, origin, quantum;
    bool   rising;
};

static inline struct leaves leaves_of(const struct call *call, const struct tensor *x, struct range rows)
{
    struct leaves l = {
        .at.row = rows, .steps = x->count[0], .origin = x->origin[0], .quantum = call->quantum,
        .rising = call->direction,
    };
    if (!l.rising)
        l.at.step = (struct range){ l.steps, l.steps };
    return l;
}

/* Goes to the next; false: there is none. Quanta begin at multiples of the quantum in the whole sequence. */
static inline bool leaf_next(struct leaves *l)
{
    struct range *step = &l->at.step;
    if (l->at.row.first == l->at.row.end || (l->rising ? step->end == l->steps : step->first == 0))
        return false;
    if (l->rising) {
        size_t end = ((l->origin + step->end) / l->quantum + 1) * l->quantum - l->origin;
        *step = (struct range){ step->end, end < l->steps ? end : l->steps };
    } else {
        size_t begin = (l->origin + step->first - 1) / l->quantum * l->quantum;
        *step = (struct range){ begin > l->origin ? begin - l->origin : 0, step->first };
    }
    return true;
}

#endif
