/* Counts bytes and operations of a program and prices them in cycles. */
#include "export/estimate.h"
#include <string.h>

const char *const core_names[CORES] = {
    [CORE_M4F] = "Cortex-M4F", [CORE_M7] = "Cortex-M7", [CORE_M0] = "Cortex-M0+",
};

/* Cycles of a multiply-accumulate, of ending a sum, of a pointwise operation, of a function, of a float
 * that becomes an integer or was one. They are the instructions of gcc 12 -O2, fitted to nine models
 * counted in an emulator (M4F: 2.7, 12, 3 and 48 in floats, 2.8, 25, 5 and 20 in integers; M0+: 550 and
 * 14,000 in floats, which are functions there, 6, 30, 8 and 140 in integers), times cycles for each: 2.1 on
 * an M4F in floats (3 of a VFMA, 2 of a VLDR), 1.5 in integers, 1.4 on an M0+; half of the M4F's on an M7,
 * which begins two at a time. No board was measured; wait states of flash come on top. */
struct price { double product, row, operation, function, conversion; };

static const struct price prices[2][CORES] = {
    { [CORE_M4F] = { 5.7, 25, 6, 100, 0 }, [CORE_M7] = { 2.8, 12, 3, 50, 0 },
     [CORE_M0] = { 770, 200, 200, 20000, 0 } },
    { [CORE_M4F] = { 4.2, 38, 7, 30, 15 }, [CORE_M7] = { 2.1, 19, 4, 15, 8 },
     [CORE_M0] = { 8.4, 42, 11, 200, 500 } },
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
    for (int i = 0; is_integer && i < f->inputs; i++)
        e->weights += f->input[i].weights ? 2 * f->units : 0;
}

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
    case ACT_POINTWISE:
        count_pointwise(a->pointwise, p->is_integer, e);
        break;
    case ACT_ENTER: case ACT_LEAVE:
        e->conversions += p->is_integer ? a->count : 0;
        break;
    case ACT_SOFTMAX:
        e->functions += a->count;
        e->operations += 3 * (uint64_t)a->count;
        break;
    default:
        e->operations += a->count;
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
    struct estimate e = { .code = 1024 };
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
        const struct price *c = &prices[p->is_integer][core];
        e.cycles[core] = c->product * (double)e.products + c->row * (double)e.rows +
                         c->operation * (double)e.operations + c->function * (double)e.functions +
                         c->conversion * (double)e.conversions;
    }
    return e;
}
