/* The table of operation kinds: their names, what each axis means to them, their standard cost.
 * The backward of a kind is in adjoint.c; what a device does for it is the device's business. */
#include "plan/adjoint.h"
#include "plan/plan.h"

static double elements(const struct plan *p, const struct op *op, int slot)
{
    return (double)view_elements(p, &op->view[slot]);
}

/* The size of the last axis of a view: what a product sums over, or how wide a row is. */
static double width(const struct plan *p, const struct op *op, int slot)
{
    const struct view *v = &op->view[slot];
    return v->count[p->buffer[v->buffer].rank - 1];
}

static double flops_gemm(const struct plan *p, const struct op *op)
{
    return 2 * elements(p, op, GEMM_Y) * width(p, op, GEMM_X);
}

static double flops_gemm_dx(const struct plan *p, const struct op *op)
{
    return 2 * elements(p, op, GEMM_DX_DY) * width(p, op, GEMM_DX_DX);
}

static double flops_gemm_dw(const struct plan *p, const struct op *op)
{
    return 2 * elements(p, op, GEMM_DW_DY) * width(p, op, GEMM_DW_X);
}

/* Only products count, as is the custom: 2 G' U K a row and step, the projection's, and that with a narrow x. */
static double flops_rnn(const struct plan *p, const struct op *op)
{
    const struct view *g = &op->view[RNN_G];
    double rows = (double)g->count[0] * g->count[1];
    double flops = 2 * rows * elements(p, op, RNN_W);
    if (op->view[RNN_PROJ].buffer >= 0)
        flops += 2 * rows * elements(p, op, RNN_PROJ);
    if (op->view[RNN_W_X].buffer >= 0)
        flops += 2 * rows * elements(p, op, RNN_W_X);
    return flops;
}

#define flops_rnn_back   flops_rnn
#define flops_embed      NULL
#define flops_embed_grad NULL
#define flops_sum_rows   NULL
#define flops_pick       NULL         /* additions alone */
#define flops_pick_grad  NULL
#define flops_dropout    NULL
#define flops_activate   NULL
#define flops_activate_back NULL
#define flops_loss       NULL
#define flops_copy       NULL
#define flops_fill       NULL
#define flops_tree       NULL
#define flops_norm       NULL
#define flops_update     NULL
#define flops_pack       NULL
#define flops_send       NULL
#define flops_recv       NULL
#define flops_all_reduce NULL
#define flops_all_gather NULL
#define flops_sum_begin  NULL
#define flops_sum_end    NULL

#define adjoint_embed_grad NULL
#define adjoint_gemm_dx    NULL
#define adjoint_gemm_dw    NULL
#define adjoint_sum_rows   NULL
#define adjoint_pick       adjoint_gemm
#define adjoint_pick_grad  NULL
#define adjoint_rnn_back   NULL
#define adjoint_loss       NULL         /* the loss leaves dz in the place of z */
#define adjoint_activate_back NULL
#define adjoint_fill       NULL
#define adjoint_tree       NULL
#define adjoint_norm       NULL
#define adjoint_update     NULL
#define adjoint_pack       NULL
#define adjoint_all_reduce NULL
#define adjoint_all_gather NULL
#define adjoint_sum_begin  NULL
#define adjoint_sum_end    NULL

#define carried_rnn        { { RNN_H0, RNN_HN }, { RNN_S0, RNN_SN } }
#define carried_rnn_back   { { RNN_DHN, RNN_DH0 }, { RNN_DSN, RNN_DS0 } }
#define carried_embed      { { 0, 0 } }
#define carried_embed_grad { { 0, 0 } }
#define carried_gemm       { { 0, 0 } }
#define carried_gemm_dx    { { 0, 0 } }
#define carried_gemm_dw    { { 0, 0 } }
#define carried_sum_rows   { { 0, 0 } }
#define carried_pick       { { 0, 0 } }
#define carried_pick_grad  { { 0, 0 } }
#define carried_dropout    { { 0, 0 } }
#define carried_activate   { { 0, 0 } }
#define carried_activate_back { { 0, 0 } }
#define carried_loss       { { 0, 0 } }
#define carried_copy       { { 0, 0 } }
#define carried_fill       { { 0, 0 } }
#define carried_tree       { { 0, 0 } }
#define carried_norm       { { 0, 0 } }
#define carried_update     { { 0, 0 } }
#define carried_pack       { { 0, 0 } }
#define carried_send       { { 0, 0 } }
#define carried_recv       { { 0, 0 } }
#define carried_all_reduce { { 0, 0 } }
#define carried_all_gather { { 0, 0 } }
#define carried_sum_begin  { { 0, 0 } }
#define carried_sum_end    { { 0, 0 } }

static struct op_kind_info kinds[OP_KIND_MAX] = {
#define KIND_INFO(KIND, name, t, b, u, inside) \
    [OP_##KIND] = { #name, { t, b, u }, inside, adjoint_##name, flops_##name, carried_##name },
    OP_KINDS(KIND_INFO)
};
static int kind_count = OP_BUILT_IN;

const struct op_kind_info *kind_info(enum op_kind kind)
{
    return &kinds[kind];
}

unroll_status kind_add(const struct op_kind_info *info, enum op_kind *kind)
{
    if (kind_count == OP_KIND_MAX)
        return fail(UNROLL_UNSUPPORTED, "the table of operation kinds is full (%d)", OP_KIND_MAX);
    *kind = (enum op_kind)kind_count++;
    kinds[*kind] = *info;
    return UNROLL_OK;
}
