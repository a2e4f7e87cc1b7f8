/* Folds products with a narrow x into the recurrences that read them: a step then begins its sums with b + W x, which
 * is a handful of multiply-adds, in place of sums of all steps that would go to memory and come back. */
#include "base/memory.h"
#include "plan/plan.h"

bool fold_wanted(const struct plan *p, const struct parameter *q)
{
    return q->role == PARAM_W_IH && q->size[q->rank - 1] <= p->config.narrow;
}

/* Is it such a product? Its weights are packed for the steps. */
static bool is_folded(const struct plan *p, const struct op *op)
{
    return op->kind == OP_GEMM && p->buffer[op->view[GEMM_W].buffer].layout == LAYOUT_GATES;
}

static struct op *recurrence_of(struct op *list, int count, int product)
{
    for (int i = product + 1; i < count; i++)
        if (list[i].kind == OP_RNN && view_overlap(&list[i].view[RNN_G], &list[product].view[GEMM_Y]))
            return &list[i];
    return NULL;
}

static unroll_status fold(struct plan *p, struct op *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (!is_folded(p, &list[i])) {
            TRY(plan_push(p, &list[i]));
            continue;
        }
        struct op *rnn = recurrence_of(list, count, i);
        if (!rnn)
            return fail(UNROLL_FAILURE, "nothing reads the product of a narrow x with '%s'",
                        p->buffer[list[i].view[GEMM_W].buffer].name);
        rnn->view[RNN_X] = list[i].view[GEMM_X];
        rnn->view[RNN_W_X] = list[i].view[GEMM_W];
        rnn->view[RNN_BIAS_X] = list[i].view[GEMM_BIAS];
        rnn->view[RNN_G].access = WRITE;
    }
    return UNROLL_OK;
}

unroll_status pass_fold(struct plan *p)
{
    int count;
    struct op *list = plan_take_list(p, &count);
    unroll_status status = fold(p, list, count);
    release(list);
    return status;
}
