/* Phases, queues, waits and prices: groups the operations by phase, assigns them to queues, and computes from the views
 * what each must wait for on other queues. The list remains a correct serial program; queues only relax it. */
#include "base/memory.h"
#include "plan/ir/plan.h"
#include <string.h>

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

static int take_part(const struct plan *p, enum phase phase, struct op *to)
{
    int count = 0;
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].phase == phase)
            to[count++] = p->op[i];
    return count;
}

/* Returns the number of sums, up to the last that starts over ranks, that move to where backward has computed their
 * operands. */
static int overlapping(const struct op *sum, int sums)
{
    int count = sums;
    while (count > 0 && sum[count - 1].kind != OP_SUM_BEGIN) count--;
    return count;
}

/* Merges backward[0 .. backwards) and the sums after them; both keep their order. */
static void merge_sums(const struct op *backward, int backwards, int sums, struct op *merged)
{
    const struct op *sum = backward + backwards;
    int early = overlapping(sum, sums), done = 0, count = 0;
    for (int k = 0; k < sums; k++) {
        int after = k < early ? backwards : 0;
        while (k < early && after > done && !conflict(&backward[after - 1], &sum[k])) after--;
        after = k < early ? after : backwards;
        while (done < after) merged[count++] = backward[done++];
        merged[count++] = sum[k];
    }
    while (done < backwards) merged[count++] = backward[done++];
}

static void find_ranges(struct plan *p)
{
    for (int phase = 0, count = 0; phase < PHASE_N; phase++) {
        int first = p->ops, end = 0;
        for (int i = 0; i < p->ops; i++)
            if ((int)p->op[i].phase == phase) {
                first = i < first ? i : first;
                end = i + 1;
            }
        count = end > count ? end : count;
        p->phase[phase].first = end ? first : count;
        p->phase[phase].end = end ? end : count;
    }
}

/* room: space for the same number of operations. */
static void gather_phases(struct plan *p, struct op *room)
{
    struct op *sorted = room, *merged = room + p->ops;
    int count = 0, forward = 0, backwards = 0, sums = 0;
    for (int phase = 0; phase < PHASE_N; phase++) {
        int n = take_part(p, (enum phase)phase, sorted + count);
        forward = phase == PHASE_FORWARD ? n : forward;
        backwards = phase == PHASE_BACKWARD ? n : backwards;
        sums = phase == PHASE_SUM ? n : sums;
        count += n;
    }
    merge_sums(sorted + forward, backwards, sums, merged);
    memcpy(p->op, sorted, (size_t)count * sizeof *sorted);
    memcpy(p->op + forward, merged, (size_t)(backwards + sums) * sizeof *merged);
    find_ranges(p);
}

/* All communication of a rank is on queue 0, in list order; layers and directions alternate between queues. */
static int queue_of(const struct plan *p, const struct op *op)
{
    int n = model_looks_ahead(p->model) ? 2 * op->depth + op->direction : op->depth;
    return op_communicates(op) ? 0 : n % p->config.queues;
}

/* Queues pay off if a team has too few rows to divide and would otherwise synchronize in every step. A large head would
 * occupy a single queue. */
int plan_queues_for(const struct unroll_model *m, const struct plan_config *c, int threads)
{
    enum { FEW_ROWS = 4 };
    unroll_model_config stack = {.size = sizeof stack};
    int max = threads < QUEUES_MAX ? threads : QUEUES_MAX;
    if (c->B >= (uint32_t)(FEW_ROWS * threads) || threads < 2 || !unroll_model_stack(m, &stack) ||
        stack.output > 4 * stack.hidden)
        return 1;
    int independent = stack.bidirectional ? 2 : c->chunks > 1 ? stack.layers : 1;
    return independent < max ? independent : max;
}

/* Backward and sum count as one phase if they overlap. */
static int phase_of(const struct plan *p, const struct op *op)
{
    return plan_overlaps(p) && op->phase == PHASE_SUM ? PHASE_BACKWARD : (int)op->phase;
}

/* Finds, per queue, the last earlier operation of the phase that uses the same memory. */
static void find_waits(struct plan *p, int i)
{
    struct op *op = &p->op[i];
    for (int k = i; k-- > 0 && phase_of(p, &p->op[k]) == phase_of(p, op);) {
        int queue = p->op[k].queue;
        if (queue != op->queue && op->wait[queue] < 0 && conflict(&p->op[k], op))
            op->wait[queue] = k;
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
    struct op *room;
    TRY(ALLOCATE(room, 2 * (size_t)p->ops + 1, "to order %d operations", p->ops));
    gather_phases(p, room);
    release(room);
    for (int i = 0; i < p->ops; i++) {
        p->op[i].queue = queue_of(p, &p->op[i]);
        price(p, &p->op[i]);
    }
    for (int i = 0; i < p->ops && p->config.queues > 1; i++) find_waits(p, i);
    return UNROLL_OK;
}

/* ---- the order of execution ------------------------------------------------------------ */

/* One row of bits per operation: the operations of its phase that end before it starts. */
struct before {
    const struct plan *plan;
    size_t words;
    uint64_t *bits;
};

static void join_row(struct before *b, int to, int from)
{
    uint64_t *t = b->bits + (size_t)to * b->words, *f = b->bits + (size_t)from * b->words;
    for (size_t w = 0; w < b->words; w++) t[w] |= f[w];
    t[from / 64] |= 1ull << from % 64;
}

unroll_status before_new(const struct plan *p, struct before **out)
{
    struct before *b;
    TRY(ALLOCATE(b, 1, "for the order of %d operations", p->ops));
    b->plan = p;
    b->words = ((size_t)p->ops + 63) / 64;
    b->bits = allocate_zeroed((size_t)p->ops * b->words + 1, sizeof *b->bits);
    if (!b->bits) {
        release(b);
        return fail(UNROLL_RESOURCE, "no memory for the order of %d operations", p->ops);
    }
    int last[QUEUES_MAX], sums = -1; /* sums are on one queue, and separate if backward runs without them */
    for (int i = 0; i < p->ops; i++) {
        const struct op *op = &p->op[i];
        for (int queue = 0; queue < QUEUES_MAX; queue++)
            if (!i || phase_of(p, &p->op[i - 1]) != phase_of(p, op))
                last[queue] = -1;
        if (last[op->queue] >= 0)
            join_row(b, i, last[op->queue]);
        if (sums >= 0 && op->phase == PHASE_SUM)
            join_row(b, i, sums);
        for (int queue = 0; queue < QUEUES_MAX; queue++)
            if (op->wait[queue] >= 0)
                join_row(b, i, op->wait[queue]);
        if (op->phase == PHASE_SUM)
            sums = i;
        else
            last[op->queue] = i;
    }
    *out = b;
    return UNROLL_OK;
}

bool before(const struct before *b, int first, int second)
{
    int one = phase_of(b->plan, &b->plan->op[first]), other = phase_of(b->plan, &b->plan->op[second]);
    if (one != other)
        return one < other; /* phases run one after the other */
    return b->bits[(size_t)second * b->words + (size_t)first / 64] >> first % 64 & 1;
}

void before_free(struct before *b)
{
    if (b)
        release(b->bits);
    release(b);
}
