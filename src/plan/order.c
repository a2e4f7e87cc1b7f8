/* Parts, lanes, waits and prices: gathers each part's operations, spreads them over lanes, and
 * computes from the views what each must wait for on other lanes. The list stays a correct serial
 * program; lanes only relax it. */
#include "base/memory.h"
#include "plan/plan.h"
#include <string.h>

static void gather_parts(struct plan *p, struct op *sorted)
{
    int count = 0;
    for (int part = 0; part < PART_N; part++) {
        p->part[part].first = count;
        for (int i = 0; i < p->ops; i++)
            if ((int)p->op[i].part == part)
                sorted[count++] = p->op[i];
        p->part[part].end = count;
    }
    memcpy(p->op, sorted, (size_t)count * sizeof *sorted);
}

/* All communication of a rank is on lane 0, in list order; layers and directions go round. */
static int lane_of(const struct plan *p, const struct op *op)
{
    bool communicates = op->group >= 0 || op->peer >= 0;
    int n = p->model->spec.bidirectional ? 2 * op->depth + op->direction : op->depth;
    return communicates ? 0 : n % p->config.lanes;
}

/* Worth it where a team has too few rows to divide and would meet in every step instead. A large head would be
 * the work of one lane. */
int plan_lanes_for(const struct unroll_model *m, const struct plan_config *c, int threads)
{
    enum { FEW_ROWS = 4 };
    int independent = m->is_network ? 1 : m->spec.bidirectional ? 2 : c->chunks > 1 ? m->spec.layers : 1;
    int most = threads < LANES_MAX ? threads : LANES_MAX;
    if (c->B >= (uint32_t)(FEW_ROWS * threads) || m->spec.output > 4 * m->spec.hidden || threads < 2)
        return 1;
    return independent < most ? independent : most;
}

static bool conflict(const struct op *a, const struct op *b)
{
    if (!(a->touches & b->touches))
        return false;
    for (int i = 0; i < a->views; i++)
        for (int k = 0; k < b->views; k++)
            if ((access_writes(a->view[i].access) || access_writes(b->view[k].access)) &&
                view_overlap(&a->view[i], &b->view[k]))
                return true;
    return false;
}

/* Per lane, the last earlier operation of the part that touches the same memory. */
static void find_waits(struct plan *p, int i)
{
    struct op *op = &p->op[i];
    for (int k = i; k-- > p->part[op->part].first;) {
        int lane = p->op[k].lane;
        if (lane != op->lane && op->wait[lane] < 0 && conflict(&p->op[k], op))
            op->wait[lane] = k;
    }
}

static void price(const struct plan *p, struct op *op)
{
    double (*flops)(const struct plan *, const struct op *) = kind_info(op->kind)->flops;
    op->flops = flops ? flops(p, op) : 0;
    for (int i = 0; i < op->views; i++) {
        const struct view *v = &op->view[i];
        if (v->buffer < 0)
            continue;
        int passes = v->access == ADD || v->access == UPDATE ? 2 : 1;
        op->bytes += passes * (double)view_elements(p, v) * (double)dtype_size(p->buffer[v->buffer].dtype);
    }
}

unroll_status pass_order(struct plan *p)
{
    struct op *sorted = allocate_zeroed((size_t)p->ops + 1, sizeof *sorted);
    if (!sorted)
        return fail(UNROLL_RESOURCE, "no memory to order %d operations", p->ops);
    gather_parts(p, sorted);
    release(sorted);
    for (int i = 0; i < p->ops; i++) {
        p->op[i].lane = lane_of(p, &p->op[i]);
        price(p, &p->op[i]);
    }
    for (int i = 0; i < p->ops && p->config.lanes > 1; i++)
        find_waits(p, i);
    return UNROLL_OK;
}

/* ---- what always ends before what ------------------------------------------------------ */

/* One row of bits per operation: the operations of its part that end before it begins. */
struct before {
    const struct plan *plan;
    size_t words;
    uint64_t *bits;
};

static void join_row(struct before *b, int to, int from)
{
    uint64_t *t = b->bits + (size_t)to * b->words, *f = b->bits + (size_t)from * b->words;
    for (size_t w = 0; w < b->words; w++)
        t[w] |= f[w];
    t[from / 64] |= 1ull << from % 64;
}

unroll_status before_new(const struct plan *p, struct before **out)
{
    struct before *b = allocate_zeroed(1, sizeof *b);
    if (!b)
        return fail(UNROLL_RESOURCE, "no memory for the order of %d operations", p->ops);
    b->plan = p;
    b->words = ((size_t)p->ops + 63) / 64;
    b->bits = allocate_zeroed((size_t)p->ops * b->words + 1, sizeof *b->bits);
    if (!b->bits) {
        release(b);
        return fail(UNROLL_RESOURCE, "no memory for the order of %d operations", p->ops);
    }
    for (int part = 0; part < PART_N; part++) {
        int last[LANES_MAX];
        for (int lane = 0; lane < LANES_MAX; lane++)
            last[lane] = -1;
        for (int i = p->part[part].first; i < p->part[part].end; i++) {
            const struct op *op = &p->op[i];
            if (last[op->lane] >= 0)
                join_row(b, i, last[op->lane]);
            for (int lane = 0; lane < LANES_MAX; lane++)
                if (op->wait[lane] >= 0)
                    join_row(b, i, op->wait[lane]);
            last[op->lane] = i;
        }
    }
    *out = b;
    return UNROLL_OK;
}

bool before(const struct before *b, int first, int second)
{
    enum part one = b->plan->op[first].part, other = b->plan->op[second].part;
    if (one != other)
        return one < other;                             /* parts run one after the other */
    return b->bits[(size_t)second * b->words + (size_t)first / 64] >> first % 64 & 1;
}

void before_free(struct before *b)
{
    if (b)
        release(b->bits);
    release(b);
}
