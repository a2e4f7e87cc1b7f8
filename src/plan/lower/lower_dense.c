/* Lowering of dense layers: y = activation(W x + b). The last one of a network may share the embedding's weights. */
#include "plan/lower/lowering.h"
#include "plan/lower/lower.h"

static unroll_status lower_activation(struct plan *p, int layer, int x, int y)
{
    struct op op = op_new(OP_ACTIVATE, PHASE_FORWARD, layer + 1);
    op.activation = p->model->layer[layer].activation;
    op.view[ACTIVATE_X] = view_of(p, x, READ);
    op.view[ACTIVATE_Y] = view_of(p, y, WRITE);
    return plan_push(p, &op);
}

/* The input of an activation is stored for backward as "a.lN". */
static unroll_status lower_dense(struct plan *p, int layer, int x, int *y)
{
    const struct layer *l = &p->model->layer[layer];
    bool tied = p->model->tied && layer + 1 == p->model->layers, linear = l->activation.kind == ACTIVATION_LINEAR;
    int master = tied ? lower_master(p, PARAM_EMBEDDING, 0, 0) : lower_master(p, PARAM_W_DENSE, layer, 0);
    *y = lower_output(p, layer);
    int sum = linear ? *y : lower_result(p, "a", layer, l->outputs, false);
    if (*y < 0 || sum < 0)
        return UNROLL_RESOURCE;
    struct op op = lower_product(p, x, layer);
    op.use = tied;
    op.view[GEMM_W] = view_of(p, lower_weight(p, master), READ);
    op.view[GEMM_BIAS] = view_of(p, lower_master(p, PARAM_B_DENSE, layer, 0), READ);
    op.view[GEMM_Y] = view_of(p, sum, WRITE);
    op.view[GEMM_LENGTHS] = lower_named(p, "lengths");
    TRY(plan_push(p, &op));
    return linear ? UNROLL_OK : lower_activation(p, layer, sum, *y);
}

const struct layer_lowering lowering_dense = {"dense", lower_dense};
