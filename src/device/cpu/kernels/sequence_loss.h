/* Losses of whole sequences: the rows of the batch are computed one by one in double (nn/losses/chain.h, lattice.h,
 * signal_error.h), each by one thread. z is overwritten with its gradient. The losses of the rows are summed in order
 * by one thread. The bits therefore depend neither on the team nor on the instruction set. */
#include "nn/losses/chain.h"
#include "nn/losses/lattice.h"
#include "nn/losses/signal_error.h"

/* A row of the batch. */
struct sequence {
    size_t b, steps, classes;
    double *z, *rest; /* [steps, classes] its scores, and scratch memory */
    int32_t *label;   /* [steps] */
    double loss, weight;
};

/* Copies the scores of a row to doubles, and its labels. Returns the number of the labels before the first one that is
 * not counted: -1 for a chain, and also the blank 0 for a lattice. */
static size_t take_sequence(const struct call *call, struct sequence *s, int32_t least)
{
    const struct tensor *z = &call->view[LOSS_Z], *target = &call->view[LOSS_TARGET];
    size_t labels = 0;
    for (size_t t = 0; t < s->steps; t++) {
        const real *from = (const real *)z->at + t * z->stride[0] + s->b * z->stride[1];
        for (size_t k = 0; k < s->classes; k++) s->z[t * s->classes + k] = (double)from[k];
        s->label[t] = ((const int32_t *)target->at)[t * target->stride[0] + s->b];
    }
    while (labels < s->steps && s->label[labels] >= least) labels++;
    return labels;
}

/* Writes the gradient of a row's first steps, zeros after them. */
static void give_sequence(const struct call *call, const struct sequence *s, const double *slope, size_t steps)
{
    const struct tensor *z = &call->view[LOSS_Z];
    for (size_t t = 0; t < z->count[0]; t++) {
        real *to = (real *)z->at + t * z->stride[0] + s->b * z->stride[1];
        for (size_t k = 0; k < s->classes; k++) to[k] = t < steps ? (real)slope[t * s->classes + k] : 0;
    }
}

/* ---- connectionist temporal classification ---------------------------------------------- */

/* The weight of a row is its number of labels, at least 1. A row that has too few steps, or no transcript, does not
 * count. */
static void sequence_ctc(const struct call *call, struct sequence *s)
{
    const size_t labels = take_sequence(call, s, 1);
    double *slope = s->rest;
    if (s->steps == 0 || s->label[0] < 0 || lattice_needs(s->label, labels) > s->steps) {
        give_sequence(call, s, NULL, 0);
        return;
    }
    s->loss = lattice_slopes(s->z, s->steps, s->classes, s->label, labels, false, slope, slope + s->steps * s->classes);
    s->weight = labels ? (double)labels : 1;
    give_sequence(call, s, slope, s->steps);
}

/* ---- conditional random fields ----------------------------------------------------------- */

static double *doubles_of(const struct tensor *x, double *to)
{
    const size_t count = tensor_rows(x) * tensor_width(x);
    for (size_t i = 0; i < count; i++) to[i] = (double)((const real *)x->at)[i];
    return to + count;
}

/* Fills the parameters in memory of (2 labels + 2) labels doubles. Returns the memory after them. */
static double *chain_of(const struct call *call, double *at, struct chain *c)
{
    c->labels = tensor_width(&call->view[LOSS_Z]);
    c->move = at, c->start = doubles_of(&call->view[SEQUENCE_MOVE], at);
    c->end = doubles_of(&call->view[SEQUENCE_START], at + c->labels * c->labels);
    c->factor = doubles_of(&call->view[SEQUENCE_END], at + (c->labels + 1) * c->labels);
    chain_begin(c);
    return c->factor + c->labels * c->labels;
}

/* Writes a gradient of a parameter by this row. */
static void give_row(const struct tensor *x, size_t b, const double *from, size_t count)
{
    for (size_t i = 0; x->at && i < count; i++) ((real *)x->at)[b * x->stride[1] + i] = (real)from[i];
}

/* The weight of a row is its number of steps. A row without the label of one of its steps does not count. */
static void sequence_crf(const struct call *call, struct sequence *s, const struct chain *c)
{
    const size_t n = s->classes;
    const struct chain_slopes d = {s->rest, s->rest + n * n, s->rest + (n + 1) * n};
    const size_t steps = take_sequence(call, s, 0) == s->steps ? s->steps : 0;
    memset(s->rest, 0, (n + 2) * n * sizeof *s->rest);
    if (steps)
        s->loss =
            chain_slopes(c, s->z, steps, s->label, call->view[SEQUENCE_DMOVE].at ? &d : NULL, s->rest + (n + 2) * n);
    s->weight = (double)steps;
    give_sequence(call, s, s->z, steps);
    give_row(&call->view[SEQUENCE_DMOVE], s->b, d.move, n * n);
    give_row(&call->view[SEQUENCE_DSTART], s->b, d.start, n);
    give_row(&call->view[SEQUENCE_DEND], s->b, d.end, n);
}

/* ---- the error of a sound ------------------------------------------------------------------ */

/* The loss of a row is the mean over its results; its weight is the part of these that have a target. */
static void sequence_esr(const struct call *call, struct sequence *s)
{
    const struct tensor *z = &call->view[LOSS_Z], *target = &call->view[LOSS_TARGET];
    const double share = 1 / (double)s->classes;
    double *x = s->z, *y = x + z->count[0], *slope = y + z->count[0];
    size_t counted;
    for (size_t k = 0; k < s->classes; k++) {
        real *at = (real *)z->at + s->b * z->stride[1] + k;
        const real *wanted = (const real *)target->at + s->b * target->stride[1] + k;
        for (size_t t = 0; t < s->steps; t++) {
            x[t] = (double)at[t * z->stride[0]];
            y[t] = (double)wanted[t * target->stride[0]];
        }
        s->loss += share * signal_slopes(x, y, s->steps, slope, &counted);
        s->weight += counted ? share : 0;
        for (size_t t = 0; t < z->count[0]; t++) at[t * z->stride[0]] = t < s->steps ? (real)(share * slope[t]) : 0;
    }
}

/* ---- all -------------------------------------------------------------------------------- */

static size_t steps_of_row(const struct call *call, size_t b)
{
    const int32_t *lengths = call->view[LOSS_LENGTHS].at;
    return lengths ? (size_t)lengths[b] : call->view[LOSS_Z].count[0];
}

/* Computes rows of the batch in the scratch memory of a thread. */
static void sequence_rows(const struct call *call, struct range row, double *at)
{
    const struct tensor *z = &call->view[LOSS_Z];
    const bool is_chain = call->view[SEQUENCE_MOVE].at != NULL;
    const size_t classes = tensor_width(z);
    double (*sum)[2] = call->view[SEQUENCE_ROWS].at;
    struct chain chain = {0};
    if (is_chain && row.first < row.end)
        at = chain_of(call, at, &chain);
    for (size_t b = row.first; b < row.end; b++, comm_poll()) {
        struct sequence s = {.b = b, .steps = steps_of_row(call, b), .classes = classes, .z = at};
        s.label = (int32_t *)(at + z->count[0] * classes);
        s.rest = at + z->count[0] * classes + (z->count[0] + 1) / 2;
        if (is_chain)
            sequence_crf(call, &s, &chain);
        else if (loss_at(call->choice)->of_classes)
            sequence_ctc(call, &s);
        else
            sequence_esr(call, &s);
        sum[b][0] = s.loss;
        sum[b][1] = s.weight;
    }
}

static unroll_status kernel_sequence_loss(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *z = &call->view[LOSS_Z], *scratch = &call->view[SEQUENCE_SCRATCH];
    const size_t rows = z->count[1];
    const int workers = (uint32_t)team < scratch->count[0] ? team : (int)scratch->count[0];
    const struct range row = me < workers ? my_share(rows, me, workers, 1) : (struct range){0, 0};
    sequence_rows(call, row, (double *)scratch->at + (size_t)(me < workers ? me : 0) * scratch->stride[0]);
    meet(call, me, team);
    double loss = 0, weight = 0, (*sum)[2] = call->view[SEQUENCE_ROWS].at;
    for (size_t b = 0; me == 0 && b < rows; b++) {
        loss += sum[b][0];
        weight += sum[b][1];
    }
    if (me == 0)
        add_loss(call, loss, weight);
    count_slices(work, call, LOSS_Z, row, rows);
    count_slices(work, call, LOSS_TARGET, row, rows);
    for (int slot = LOSS_LENGTHS; slot <= SEQUENCE_END; slot++) count_view(work, call, slot, me);
    for (int slot = SEQUENCE_DMOVE; slot <= SEQUENCE_DEND; slot++) count_slices(work, call, slot, row, rows);
    return UNROLL_OK;
}
