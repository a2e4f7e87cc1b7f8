/* Counts the bytes and operations of a program and estimates its cycles. */
#include "convert/c99/estimate.h"
#include <string.h>

const char *const core_names[CORES] = {
    [CORE_M4F] = "Cortex-M4F",
    [CORE_M7] = "Cortex-M7",
    [CORE_M0] = "Cortex-M0+",
};

/* Instructions for a multiply-accumulate, for finishing a sum, for a pointwise operation, for a function, and for a
 * conversion between float and integer. tools/fit_cortex.py fitted them to the instruction counts of seventeen models
 * in QEMU (gcc 12 -O2). Prices are at least 0; prices that the fit could not separate from others are 0. On models not
 * used for the fit, the estimates are 0.97 to 1.10 of the counts. On a model with softmax, softplus and elu, and on
 * minLSTM in integers, whose divisions and logarithms cost more than these kinds, they are 0.63 to 1.03. Floats on an
 * M0+ are computed by the compiler's library. */
struct price {
    double product, row, operation, function, conversion;
};

enum set { ARMV7EM, ARMV6M, SETS };

static const struct price prices[2][SETS] = {
    {[ARMV7EM] = {2.57, 20, 4.08, 22.4, 0}, [ARMV6M] = {519, 0, 0, 5650, 0}},
    {[ARMV7EM] = {2.28, 34.8, 7.93, 32.7, 73.4}, [ARMV6M] = {5.19, 94.6, 8.38, 40.1, 328}}};

/* Assumed cycles for an instruction, in floats and in integers; no board was measured. On an M4F a VFMA takes 3, a VLDR
 * 2 and a VDIV, of which a function has one, 14. An M7 issues two instructions at a time. Wait states of the flash are
 * not included. */
static const struct {
    enum set set;
    double cycles[2];
} cores[CORES] = {
    [CORE_M4F] = {ARMV7EM, {2.1, 1.5}},
    [CORE_M7] = {ARMV7EM, {1.05, 0.75}},
    [CORE_M0] = {ARMV6M, {1.4, 1.4}},
};

static void count_pointwise(const struct pointwise *f, bool is_integer, struct estimate *e)
{
    for (int i = 0; i < f->record->nodes; i++) {
        enum node_kind kind = f->record->node[i].kind;
        if (!f->node[i].is_needed || !node_operands(kind))
            continue;
        if (kind == NODE_SIGMOID || kind == NODE_TANH || kind == NODE_EXP || kind == NODE_LOG)
            e->functions += f->units;
        else
            e->operations += f->units;
    }
    for (int i = 0; is_integer && i < f->inputs; i++) e->weights += f->input[i].weights ? 2 * f->units : 0;
}

/* Adds the operations and integer constants of one act. */
static void count_act(const struct program *p, const struct act *a, struct estimate *e)
{
    const struct matrix *m = a->matrix < 0 ? NULL : &p->matrix[a->matrix];
    switch (a->kind) {
    case ACT_PRODUCT:
        e->products += (uint64_t)a->count * m->width;
        e->rows += a->count;
        break;
    case ACT_COLUMN:
        e->products += a->count;
        e->rows += a->count;
        break;
    case ACT_POINTWISE: count_pointwise(a->pointwise, p->is_integer, e); break;
    case ACT_ENTER:
    case ACT_LEAVE: e->conversions += p->is_integer ? a->count : 0; break;
    case ACT_SOFTMAX:
        e->functions += a->count;
        e->operations += 3 * (uint64_t)a->count;
        break;
    default: e->operations += a->count;
    }
    if (p->is_integer && a->multiplier)
        e->weights += 4 * (uint64_t)(a->kind == ACT_EMBED ? m->rows : a->count) * (a->bias_q ? 2 : 1);
}

static void count_weights(const struct program *p, struct estimate *e)
{
    for (int i = 0; i < p->matrices && p->is_integer; i++)
        e->weights += (uint64_t)p->matrix[i].rows * p->matrix[i].width;
    if (!p->is_integer)
        e->weights = p->model->count * sizeof(float);
}

struct estimate program_estimate(const struct program *p)
{
    struct estimate e = {.code = 1024};
    count_weights(p, &e);
    for (int i = 0; i < p->acts; i++) {
        count_act(p, &p->act[i], &e);
        e.code += p->act[i].pointwise ? 256 : 32;
    }
    e.tables = p->is_integer && e.functions ? 1026 : 0;
    for (int i = 0; i < p->vectors; i++)
        if (p->vector[i].place == PLACE_STATE)
            e.state += p->vector[i].size * (p->is_integer ? 2u : 4u);
    e.work = p->work[0] * UINT64_C(4) + p->work[1] * UINT64_C(2);
    for (int core = 0; core < CORES; core++) {
        const struct price *price = &prices[p->is_integer][cores[core].set];
        e.cycles[core] = cores[core].cycles[p->is_integer] *
                         (price->product * (double)e.products + price->row * (double)e.rows +
                          price->operation * (double)e.operations + price->function * (double)e.functions +
                          price->conversion * (double)e.conversions);
    }
    return e;
}
