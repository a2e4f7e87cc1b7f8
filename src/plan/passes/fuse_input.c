/* Fuses products with x into the recurrences that read them: a step starts its sums with b + W x, instead of loading
 * sums of all steps from memory. This is faster if x is narrow, or if a step has many rows and its weights, all read in
 * each step, stay in cache. */
#include "base/memory.h"
#include "plan/ir/plan.h"

bool fuse_input_wanted(const struct plan *p, const struct parameter *q)
{
    return q->role == PARAM_W_IH && q->size[q->rank - 1] <= p->config.traits.narrow;
}

/* Returns whether many rows share these weights, and they stay in cache with those of h. The result depends on the
 * session, but the model's store must not: such a plan has its own copy. */
static bool is_shared(const struct plan *p, const struct buffer *weight)
{
    if (weight->copy_of < 0 || p->buffer[weight->copy_of].parameter < 0 || weight->dtype != p->config.real)
        return false;
    const struct parameter *q = &p->model->parameter[p->buffer[weight->copy_of].parameter];
    const uint64_t inputs = q->size[q->rank - 1], units = q->size[q->rank - 2];
    const uint64_t bytes = q->count / inputs * (inputs + units) * sizeof(float); /* of x and h */
    return q->role == PARAM_W_IH && p->config.traits.operands->folds(p, inputs) && bytes <= p->config.traits.near / 2;
}

static bool is_of_steps(const struct plan *p, int weights)
{
    return p->buffer[weights].layout && p->buffer[weights].layout == p->config.traits.operands->step;
}

/* Returns the interleaved weights of a product to be fused; -1: not fused. */
static unroll_status weights_of_steps(struct plan *p, const struct op *op, int *weights)
{
    *weights = op->kind == OP_GEMM ? op->view[GEMM_W].buffer : -1;
    if (*weights < 0 || is_of_steps(p, *weights))
        return UNROLL_OK;
    if (is_shared(p, &p->buffer[*weights]))
        return plan_own_copy(p, p->buffer[*weights].copy_of, p->config.traits.operands->step, weights);
    *weights = -1;
    return UNROLL_OK;
}

static struct op *recurrence_of(struct op *list, int count, int product)
{
    for (int i = product + 1; i < count; i++)
        if (list[i].kind == OP_RNN && view_overlap(&list[i].view[RNN_G], &list[product].view[GEMM_Y]))
            return &list[i];
    return NULL;
}

/* Moves products with x into the recurrences that read their results. */
static unroll_status fold(struct plan *p, struct op *list, int count)
{
    for (int i = 0; i < count; i++) {
        int weights;
        TRY(weights_of_steps(p, &list[i], &weights));
        if (weights < 0) {
            TRY(plan_push(p, &list[i]));
            continue;
        }
        struct op *rnn = recurrence_of(list, count, i);
        if (!rnn)
            return fail(UNROLL_FAILURE, "no operation reads the product of x with '%s'; fix: " REPORT_BUG,
                        p->buffer[list[i].view[GEMM_W].buffer].name);
        rnn->view[RNN_X] = list[i].view[GEMM_X];
        rnn->view[RNN_W_X] = list[i].view[GEMM_W];
        rnn->view[RNN_W_X].buffer = weights;
        rnn->view[RNN_BIAS_X] = list[i].view[GEMM_BIAS];
        rnn->view[RNN_G].access = WRITE;
    }
    return UNROLL_OK;
}

unroll_status pass_fuse_input(struct plan *p)
{
    int count;
    struct op *list = plan_take_list(p, &count);
    unroll_status status = fold(p, list, count);
    release(list);
    return status;
}
