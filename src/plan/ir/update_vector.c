#include "plan/ir/update_vector.h"

#include <string.h>

#include "base/memory.h"
#include "plan/ir/plan.h"

bool plan_share(const struct plan *p, int index, struct share *share, size_t *all)
{
    size_t first = 0;
    for (int i = 0; i < p->ops; i++) {
        if (p->op[i].kind != OP_UPDATE)
            continue;
        const struct buffer *b = &p->buffer[p->op[i].view[UPDATE_W].buffer];
        size_t count = 1, columns = b->size[b->rank - 1];
        for (int k = 0; k < b->rank; k++) count *= b->size[k];
        *share = (struct share){i, b->parameter, first, count / columns, columns};
        first += count;
        if (index-- == 0)
            return true;
    }
    if (all)
        *all = first;
    return false;
}

unroll_status plan_update_vector(const struct plan *p, struct update_vector *v)
{
    const int *mesh = p->config.mesh;
    struct share share;
    int at[M_N];
    *v = (struct update_vector){.workers = p->config.workers,
                                .ranks = plan_ranks(p),
                                .is_fp32 = p->config.real == DTYPE_F32,
                                .is_part = mesh[M_LAYER] > 1 || mesh[M_HIDDEN] > 1};
    while (plan_share(p, v->shares, &share, &v->count)) v->shares++;
    TRY(ALLOCATE(v->share, (size_t)v->shares, "for what workers exchange"));
    for (int i = 0; i < v->shares; i++) {
        plan_share(p, i, &v->share[i], NULL);
        v->rows += v->share[i].rows;
    }
    if (v->workers < 2)
        return UNROLL_OK;
    const int each = plan_batch_ranks(p), within = p->config.at[M_BATCH] % each;
    v->worker = p->config.at[M_BATCH] / each;
    memcpy(at, p->config.at, sizeof at);
    for (int worker = 0; worker < v->workers; worker++) {
        at[M_BATCH] = worker * each + within;
        v->rank[worker] = plan_rank_at(p, at);
    }
    return UNROLL_OK;
}

void update_vector_free(struct update_vector *v) { release(v->share); }
