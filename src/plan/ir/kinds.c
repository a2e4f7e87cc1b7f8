/* The table of operation kinds: names, roles of axes, standard cost. The backward of a kind is in adjoint.c, its
 * implementation in the devices. */
#include "plan/passes/adjoint.h"
#include "plan/ir/plan.h"

static double elements(const struct plan *p, const struct op *op, int slot)
{
    return (double)view_elements(p, &op->view[slot]);
}

/* Returns the size of the last axis of a view: the summed axis of a product, or the width of a row. */
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

/* Counts only products, as usual: 2 G' U K per row and step, plus the projection's and that with a narrow x. */
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

/* Additions are not counted. The loss has no adjoint: it replaces z by dz. That of a sequence only sums over rows what
 * it has computed of its parameters. */
static struct op_kind_info kinds[OP_KIND_MAX] = {
#define KIND_INFO(KIND, text, t, b, u, axes) \
    [OP_##KIND].name = #text, [OP_##KIND].role = { t, b, u }, [OP_##KIND].inside = axes,
    OP_KINDS(KIND_INFO)
#undef KIND_INFO
        [OP_GEMM]
            .flops = flops_gemm,
    [OP_GEMM_DX].flops = flops_gemm_dx,
    [OP_GEMM_DW].flops = flops_gemm_dw,
    [OP_RNN].flops = flops_rnn,
    [OP_RNN_BACK].flops = flops_rnn,

    [OP_EMBED].adjoint = adjoint_embed,
    [OP_GEMM].adjoint = adjoint_gemm,
    [OP_GATHER_COLUMNS].adjoint = adjoint_gemm,
    [OP_RNN].adjoint = adjoint_rnn,
    [OP_DROPOUT].adjoint = adjoint_dropout,
    [OP_ACTIVATE].adjoint = adjoint_activate,
    [OP_POOL].adjoint = adjoint_pool,
    [OP_SEQUENCE_LOSS].adjoint = adjoint_sequence_loss,
    [OP_COPY].adjoint = adjoint_copy,
    [OP_SEND].adjoint = adjoint_send,
    [OP_RECV].adjoint = adjoint_recv,

    [OP_POOL].continues = true,
    [OP_POOL_BACK].continues = true,

    [OP_RNN].carried = {{RNN_H0, RNN_HN}, {RNN_S0, RNN_SN}},
    [OP_POOL].carried = {{POOL_STATE, POOL_NEXT}},
    [OP_RNN_BACK].carried = {{RNN_DHN, RNN_DH0}, {RNN_DSN, RNN_DS0}},
};
static int kind_count = OP_BUILT_IN;

const struct op_kind_info *kind_info(enum op_kind kind) { return &kinds[kind]; }

unroll_status kind_add(const struct op_kind_info *info, enum op_kind *kind)
{
    if (kind_count == OP_KIND_MAX)
        return fail(UNROLL_UNSUPPORTED, "the table of operation kinds is full (%d rows); fix: add fewer kinds",
                    OP_KIND_MAX);
    *kind = (enum op_kind)kind_count++;
    kinds[*kind] = *info;
    return UNROLL_OK;
}
