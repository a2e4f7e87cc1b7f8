/* Memory: assigns every buffer an offset in its segment; no other pass writes offsets. Activations share memory if the
 * waits prove that all users of one end before all users of the other start. Other segments are laid out in the order
 * of declaration, gradients in the order of their sums. */
#include "base/memory.h"
#include "plan/ir/plan.h"
#include <string.h>

enum { ALIGNMENT = 64 }; /* bytes: a cache line, and the widest vector */

static uint64_t aligned(uint64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static uint64_t buffer_bytes(const struct plan *p, const struct buffer *b)
{
    uint64_t n = dtype_size(b->dtype);
    if (b->layout)
        return p->config.traits.operands->bytes(p, b);
    for (int i = 0; i < b->rank; i++) n *= b->size[i];
    return n;
}

/* ---- users of a buffer ----------------------------------------------------------------- */

/* Per phase and queue, the first and last operation that uses a buffer. */
struct users {
    int first[PHASE_N][QUEUES_MAX], last[PHASE_N][QUEUES_MAX];
    bool any;
};

/* Finds the first and the last operation per phase and queue that use each buffer. */
static void find_users(const struct plan *p, struct users *users)
{
    memset(users, 0xff, (size_t)p->buffers * sizeof *users);
    for (int i = 0; i < p->buffers; i++) users[i].any = false;
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        for (int k = 0; k < op->views; k++) {
            if (op->view[k].buffer < 0)
                continue;
            struct users *u = &users[op->view[k].buffer];
            if (u->first[op->phase][op->queue] < 0)
                u->first[op->phase][op->queue] = i;
            u->last[op->phase][op->queue] = i;
            u->any = true;
        }
    }
}

static bool all_before(const struct before *order, const struct users *a, const struct users *b)
{
    for (int phase = 0; phase < PHASE_N; phase++)
        for (int queue = 0; queue < QUEUES_MAX; queue++)
            for (int other = 0; other < PHASE_N && a->last[phase][queue] >= 0; other++)
                for (int to = 0; to < QUEUES_MAX; to++)
                    if (b->first[other][to] >= 0 && !before(order, a->last[phase][queue], b->first[other][to]))
                        return false;
    return true;
}

/* ---- placing --------------------------------------------------------------------------- */

static bool is_shared(const struct buffer *b) { return b->segment == SEG_STEP || b->segment == SEG_SCRATCH; }

static void place_next(struct plan *p, struct buffer *b)
{
    b->offset = p->segment_bytes[b->segment];
    p->segment_bytes[b->segment] += aligned(b->bytes);
}

/* Gradients of a bucket are adjacent, and buckets are in the order of their sums. */
static void place_buckets(struct plan *p, bool *placed)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; p->op[i].kind == OP_SUM_BEGIN && k < p->op[i].views; k++) {
            int b = p->op[i].view[k].buffer;
            bool places = p->buffer[b].segment == SEG_GRAD && !placed[b];
            if (places)
                place_next(p, &p->buffer[b]);
            placed[b] |= places;
        }
}

static void place_in_order(struct plan *p, const struct users *users, bool *placed)
{
    for (int i = 0; i < p->buffers; i++) {
        struct buffer *b = &p->buffer[i];
        bool here = users[i].any || (b->parameter >= 0 && p->config.mesh[M_LAYER] == 1) || b->segment == SEG_VALUES ||
                    b->segment == SEG_IO || b->segment == SEG_CARRY;
        b->bytes = here ? buffer_bytes(p, b) : 0;
    }
    place_buckets(p, placed);
    for (int i = 0; i < p->buffers; i++)
        if (!is_shared(&p->buffer[i]) && !placed[i])
            place_next(p, &p->buffer[i]);
}

static void sort_by_offset(const struct plan *p, int *index, int count)
{
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && p->buffer[index[k - 1]].offset > p->buffer[index[k]].offset; k--) {
            int swap = index[k];
            index[k] = index[k - 1];
            index[k - 1] = swap;
        }
}

/* Returns the lowest gap between the buffers that may be alive at the same time. */
static uint64_t lowest_gap(const struct plan *p, int *rivals, int count, uint64_t bytes)
{
    uint64_t at = 0;
    sort_by_offset(p, rivals, count);
    for (int i = 0; i < count; i++) {
        const struct buffer *r = &p->buffer[rivals[i]];
        if (at + bytes <= r->offset)
            break;
        if (r->offset + aligned(r->bytes) > at)
            at = r->offset + aligned(r->bytes);
    }
    return at;
}

/* Places each shared buffer in the lowest gap between buffers that are in use at the same time. */
static void place_shared(struct plan *p, const struct before *order, const struct users *users, int *placed,
                         int *rivals)
{
    int done = 0;
    for (int i = 0; i < p->buffers; i++) {
        struct buffer *b = &p->buffer[i];
        if (!is_shared(b) || !b->bytes)
            continue;
        int count = 0;
        for (int k = 0; k < done; k++)
            if (p->buffer[placed[k]].segment == b->segment && !all_before(order, &users[placed[k]], &users[i]) &&
                !all_before(order, &users[i], &users[placed[k]]))
                rivals[count++] = placed[k];
        b->offset = lowest_gap(p, rivals, count, b->bytes);
        uint64_t end = b->offset + aligned(b->bytes);
        if (end > p->segment_bytes[b->segment])
            p->segment_bytes[b->segment] = end;
        placed[done++] = i;
    }
}

unroll_status pass_allocate(struct plan *p)
{
    struct before *order;
    TRY(before_new(p, &order));
    struct users *users = allocate_zeroed((size_t)p->buffers, sizeof *users);
    int *placed = allocate_zeroed((size_t)p->buffers * 2, sizeof *placed);
    bool *in_bucket = allocate_zeroed((size_t)p->buffers, sizeof *in_bucket);
    unroll_status status = UNROLL_OK;
    if (users && placed && in_bucket) {
        find_users(p, users);
        place_in_order(p, users, in_bucket);
        place_shared(p, order, users, placed, placed + p->buffers);
    } else {
        status = fail(UNROLL_RESOURCE, "no memory to place %d buffers", p->buffers);
    }
    release(in_bucket);
    release(placed);
    release(users);
    before_free(order);
    return status;
}
