/* Sums of gradients over ranks, started as soon as backward has computed them. Gradients that become ready
 * consecutively form a bucket: they are adjacent and summed at once. The order of buckets is that of this list on all
 * ranks, independent of timing. The ends of sums are in reduce_gradients.c. */
#include "base/memory.h"
#include "plan/passes/reduce_gradients.h"
#include <string.h>

static int last_writer(const struct plan *p, const struct view *v)
{
    int i = p->ops - 1;
    while (i >= 0 && !op_writes(&p->op[i], v)) i--;
    return i;
}

bool is_written(const struct plan *p, int buffer)
{
    struct view v = view_of(p, buffer, READ);
    return last_writer(p, &v) >= 0;
}

struct reduction reduction_of(const struct plan *p, int gradient)
{
    const uint32_t shards = p->config.shards, ranks = (uint32_t)plan_batch_ranks(p), each = shards / ranks;
    const unsigned batch = ranks > 1 ? 1u << M_BATCH : 0, axes = partial_axes(&p->buffer[gradient]);
    bool whole_parts = shards % ranks == 0 && !(each & (each - 1)); /* whole subtrees of the shards on each rank */
    if (ranks > 1 && shards > 1 && !whole_parts)
        return (struct reduction){.by_shards = true, .axes = batch, .left = axes & ~batch};
    return (struct reduction){.tree = p->buffer[gradient].size[0] > 1, .axes = axes | batch};
}

/* ---- one bucket ------------------------------------------------------------------------ */

static struct op bucket_new(int group, bool by_shards)
{
    struct op op = op_new(OP_SUM_BEGIN, PHASE_SUM, 0);
    op.group = group;
    op.choice = by_shards;
    op.views = 0;
    return op;
}

static void bucket_add(struct op *bucket, struct view v)
{
    v.access = UPDATE;
    bucket->view[bucket->views++] = v;
}

/* Finishes a bucket, whose tag is derived from its first view, the same on all ranks. An empty one is ignored. */
static unroll_status bucket_close(struct plan *p, struct op *bucket)
{
    if (!bucket->views)
        return UNROLL_OK;
    const struct group *group = &p->group[bucket->group];
    const struct view *first = &bucket->view[COMM_X];
    bucket->tag = plan_tag(p->buffer[first->buffer].name, (int)first->first[1], group->rank[group->size - 1]);
    TRY(plan_push(p, bucket));
    bucket->views = 0;
    return UNROLL_OK;
}

/* Returns whether a view can be added: only if no other shards are between it and its neighbor. */
static bool bucket_takes(const struct plan *p, const struct op *bucket, int group, const struct view *v)
{
    const struct buffer *first = bucket->views ? &p->buffer[bucket->view[COMM_X].buffer] : NULL;
    return first && bucket->group == group && bucket->views < OP_VIEWS && first->size[0] == 1 &&
           p->buffer[v->buffer].size[0] == 1 && !bucket->choice && op_bytes(p, bucket) < p->config.bucket;
}

/* ---- all ------------------------------------------------------------------------------- */

static unroll_status sum_losses(struct plan *p)
{
    unsigned axes = plan_batch_ranks(p) > 1 ? 1u << M_BATCH : 0;
    axes |= p->config.mesh[M_LAYER] > 1 ? 1u << M_LAYER : 0;
    axes |= p->config.mesh[M_TIME] > 1 ? 1u << M_TIME : 0;
    int group = axes ? plan_group(p, axes) : -1;
    if (!axes || group < 0)
        return axes ? UNROLL_RESOURCE : UNROLL_OK;
    struct op bucket = bucket_new(group, false);
    bucket_add(&bucket, view_of(p, plan_find_buffer(p, "loss_sum"), UPDATE));
    bucket_add(&bucket, view_of(p, plan_find_buffer(p, "weight_sum"), UPDATE));
    return bucket_close(p, &bucket);
}

/* A gradient, or some of its gates. */
struct bucket_piece {
    struct view view;
    int ready;
};

/* Adds a gradient to the current bucket, after closing it if the gradient does not fit. */
static unroll_status sum_piece(struct plan *p, struct op *bucket, const struct view *v)
{
    struct reduction reduction = reduction_of(p, v->buffer);
    int group = reduction.axes ? plan_group(p, reduction.axes) : -1;
    if (reduction.axes && group < 0)
        return UNROLL_RESOURCE;
    if (reduction.by_shards || !bucket_takes(p, bucket, group, v))
        TRY(bucket_close(p, bucket));
    if (reduction.tree) {
        struct op tree = op_new(OP_TREE, PHASE_SUM, 0);
        tree.view[TREE_X] = view_of(p, v->buffer, UPDATE);
        TRY(plan_push(p, &tree));
    }
    if (!reduction.axes)
        return UNROLL_OK;
    if (!bucket->views)
        *bucket = bucket_new(group, reduction.by_shards);
    bucket_add(bucket, reduction.by_shards || p->buffer[v->buffer].size[0] == 1 ? *v : sum_of(p, v->buffer, UPDATE));
    return UNROLL_OK;
}

/* Inserts a piece sorted by `ready`; equal ones keep their order. */
static void insert(struct bucket_piece *piece, int count, struct bucket_piece new)
{
    for (; count > 0 && piece[count - 1].ready > new.ready; count--) piece[count] = piece[count - 1];
    piece[count] = new;
}

/* Returns the number of pieces, by gates, in which a gradient [1, G, U, K] is computed and summed: one is sent while
 * the next is computed. */
static uint32_t pieces_of(const struct plan *p, int gradient)
{
    const struct buffer *b = &p->buffer[gradient];
    uint64_t bytes = (uint64_t)b->size[0] * b->size[1] * b->size[2] * b->size[3] * dtype_size(b->dtype);
    struct reduction reduction = reduction_of(p, gradient);
    bool gates = b->rank == 4 && b->size[0] == 1 && b->axis[1] == AX_G;
    return gates && reduction.axes && !reduction.by_shards && bytes > 2ull * p->config.bucket ? b->size[1] : 1;
}

/* Lists the pieces of all gradients in the order in which they are complete, and returns their number. */
static int find_pieces(const struct plan *p, struct bucket_piece *piece)
{
    int count = 0;
    for (int i = 0; i < p->buffers; i++) {
        uint32_t n = p->buffer[i].segment == SEG_GRAD ? pieces_of(p, i) : 0;
        for (uint32_t k = 0; k < n; k++) {
            struct bucket_piece new = {view_of(p, i, UPDATE), -1};
            if (n > 1)
                view_narrow(p, &new.view, AX_G, k, 1);
            new.ready = last_writer(p, &new.view);
            if (new.ready >= 0)
                insert(piece, count++, new);
        }
    }
    return count;
}

/* Splits the products of these gradients into one per gate. */
unroll_status divide_products(struct plan *p)
{
    int count;
    struct op *list = plan_take_list(p, &count);
    unroll_status status = UNROLL_OK;
    for (int i = 0; i < count && status == UNROLL_OK; i++) {
        const struct view *dw = &list[i].view[GEMM_DW_DW], *dy = &list[i].view[GEMM_DW_DY];
        bool makes = list[i].kind == OP_GEMM_DW || list[i].kind == OP_SCATTER_ADD;
        bool divides = makes && pieces_of(p, dw->buffer) > 1 && dw->count[1] == dy->count[2];
        for (uint32_t gate = 0; gate < (divides ? dw->count[1] : 1) && status == UNROLL_OK; gate++) {
            struct op op = list[i];
            if (divides) {
                view_narrow(p, &op.view[GEMM_DW_DW], AX_G, gate, 1);
                view_narrow(p, &op.view[GEMM_DW_DY], AX_G, gate, 1);
            }
            status = plan_push(p, &op);
        }
    }
    release(list);
    return status;
}

static unroll_status sum_all(struct plan *p)
{
    enum { MAX_GATES = 16 };
    struct bucket_piece *piece;
    TRY(ALLOCATE(piece, (size_t)p->buffers * MAX_GATES, "to sum %d buffers", p->buffers));
    struct op bucket = bucket_new(-1, false);
    int count = find_pieces(p, piece);
    unroll_status status = UNROLL_OK;
    for (int i = 0; i < count && status == UNROLL_OK; i++) status = sum_piece(p, &bucket, &piece[i].view);
    release(piece);
    return status == UNROLL_OK ? bucket_close(p, &bucket) : status;
}

unroll_status sum_begin_all(struct plan *p)
{
    if (p->config.mode == MODE_TRAIN || p->config.mode == MODE_EVAL)
        TRY(sum_losses(p));
    if (p->config.mode == MODE_EVAL)
        return UNROLL_OK;
    return sum_all(p);
}
