/* Sums of gradients over ranks, begun where backward has made them. Gradients that are ready one after the other are
 * one bucket: they lie side by side and are summed at once. The order of buckets is that of this list on all ranks,
 * never what happens to be ready first. Their ends are in sum.c. */
#include "base/memory.h"
#include "plan/sum.h"
#include <string.h>

static int last_writer(const struct plan *p, int buffer)
{
    for (int i = p->ops; i-- > 0;)
        for (int k = 0; k < p->op[i].views; k++)
            if (p->op[i].view[k].buffer == buffer && access_writes(p->op[i].view[k].access))
                return i;
    return -1;
}

bool is_written(const struct plan *p, int buffer)
{
    return last_writer(p, buffer) >= 0;
}

struct way way_of(const struct plan *p, int gradient)
{
    const uint32_t shards = p->config.shards, ranks = (uint32_t)p->config.mesh[M_BATCH], each = shards / ranks;
    const unsigned batch = ranks > 1 ? 1u << M_BATCH : 0, axes = partial_axes(&p->buffer[gradient]);
    bool whole_parts = shards % ranks == 0 && !(each & (each - 1));     /* of the tree over shards, on each rank */
    if (ranks > 1 && shards > 1 && !whole_parts)
        return (struct way){ .by_shards = true, .axes = batch, .left = axes & ~batch };
    return (struct way){ .tree = p->buffer[gradient].size[0] > 1, .axes = axes | batch };
}

/* ---- one bucket ------------------------------------------------------------------------ */

static struct op bucket_new(int group, bool by_shards)
{
    struct op op = op_new(OP_SUM_BEGIN, PART_SUM, 0);
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

/* Named by its first view, on all ranks alike; an empty one is none. */
static unroll_status bucket_close(struct plan *p, struct op *bucket)
{
    if (!bucket->views)
        return UNROLL_OK;
    const struct group *group = &p->group[bucket->group];
    bucket->tag = plan_tag(p->buffer[bucket->view[COMM_X].buffer].name, 0, group->rank[group->size - 1]);
    TRY(plan_push(p, bucket));
    bucket->views = 0;
    return UNROLL_OK;
}

/* Only what has no other shards between it and its neighbour can be joined. */
static bool bucket_takes(const struct plan *p, const struct op *bucket, int group, int gradient)
{
    const struct buffer *first = bucket->views ? &p->buffer[bucket->view[COMM_X].buffer] : NULL;
    return first && bucket->group == group && bucket->views < OP_VIEWS && first->size[0] == 1 &&
           p->buffer[gradient].size[0] == 1 && !bucket->choice && op_bytes(p, bucket) < p->config.bucket;
}

/* ---- all ------------------------------------------------------------------------------- */

static unroll_status sum_losses(struct plan *p)
{
    unsigned axes = (p->config.mesh[M_BATCH] > 1 ? 1u << M_BATCH : 0) |
                    (p->config.mesh[M_LAYER] > 1 ? 1u << M_LAYER : 0);
    int group = axes ? plan_group(p, axes) : -1;
    if (!axes || group < 0)
        return axes ? UNROLL_RESOURCE : UNROLL_OK;
    struct op bucket = bucket_new(group, false);
    bucket_add(&bucket, view_of(p, plan_find_buffer(p, "loss_sum"), UPDATE));
    bucket_add(&bucket, view_of(p, plan_find_buffer(p, "weight_sum"), UPDATE));
    return bucket_close(p, &bucket);
}

static unroll_status sum_gradient(struct plan *p, struct op *bucket, int gradient)
{
    struct way way = way_of(p, gradient);
    int group = way.axes ? plan_group(p, way.axes) : -1;
    if (way.axes && group < 0)
        return UNROLL_RESOURCE;
    if (way.by_shards || !bucket_takes(p, bucket, group, gradient))
        TRY(bucket_close(p, bucket));
    if (way.tree) {
        struct op tree = op_new(OP_TREE, PART_SUM, 0);
        tree.view[TREE_X] = view_of(p, gradient, UPDATE);
        TRY(plan_push(p, &tree));
    }
    if (!way.axes)
        return UNROLL_OK;
    if (!bucket->views)
        *bucket = bucket_new(group, way.by_shards);
    bucket_add(bucket, way.by_shards ? view_of(p, gradient, UPDATE) : sum_of(p, gradient, UPDATE));
    return UNROLL_OK;
}

/* Gradients by the operation that makes them whole; those of one operation in the model's order. */
static int find_gradients(const struct plan *p, int *gradient, int *ready)
{
    int count = 0;
    for (int i = 0; i < p->buffers; i++) {
        int at = p->buffer[i].segment == SEG_GRAD ? last_writer(p, i) : -1, k = count;
        if (at < 0)
            continue;
        for (; k > 0 && ready[k - 1] > at; k--) {
            ready[k] = ready[k - 1];
            gradient[k] = gradient[k - 1];
        }
        ready[k] = at;
        gradient[k] = i;
        count++;
    }
    return count;
}

static unroll_status sum_all(struct plan *p, int *gradient, int *ready)
{
    struct op bucket = bucket_new(-1, false);
    int count = find_gradients(p, gradient, ready);
    for (int i = 0; i < count; i++)
        TRY(sum_gradient(p, &bucket, gradient[i]));
    return bucket_close(p, &bucket);
}

unroll_status sum_begin_all(struct plan *p)
{
    int *room = allocate_zeroed((size_t)p->buffers * 2, sizeof *room);
    unroll_status status = room ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory to sum %d buffers", p->buffers);
    if (status == UNROLL_OK && (p->config.mode == MODE_TRAIN || p->config.mode == MODE_EVAL))
        status = sum_losses(p);
    if (status == UNROLL_OK)
        status = sum_all(p, room, room + p->buffers);
    release(room);
    return status;
}
