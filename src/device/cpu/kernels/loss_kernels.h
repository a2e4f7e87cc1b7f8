/* The losses: z is overwritten with its gradient, and the loss of each counted row is added to a sum in double. Rows
 * count before their length, unless their target excludes them; numeric targets are excluded individually. Sums go over
 * rows in order on one thread; the rest is divided among threads. The bits are therefore independent of the team and of
 * chunks of time. */
#include "nn/losses/loss_step.h"

/* ---- rows ------------------------------------------------------------------------------ */

static bool row_lasts(const struct call *call, size_t t, size_t b)
{
    const int32_t *lengths = call->view[LOSS_LENGTHS].at;
    return !lengths || (int64_t)call->view[LOSS_Z].origin[0] + (int64_t)t < lengths[b];
}

static void meet(const struct call *call, int me, int team)
{
    if (team > 1)
        barrier_wait(call->barrier, me);
}

/* A recomputed forward computes only dz. */
static bool wants_sum(const struct call *call) { return call->view[LOSS_SUM].at != NULL; }

static void add_loss(const struct call *call, double sum, double weight)
{
    *(double *)call->view[LOSS_SUM].at += sum;
    *(double *)call->view[LOSS_WEIGHT].at += weight;
}

/* ---- cross-entropy of a softmax -------------------------------------------------------- */

enum { SOFTMAX_LANES = 16, SOFTMAX_VECTORS = SOFTMAX_LANES / V_WIDTH };

/* Returns the class of a row; -1: not counted. */
static int32_t class_at(const struct call *call, size_t t, size_t b)
{
    const struct tensor *target = &call->view[LOSS_TARGET];
    int32_t class = ((const int32_t *)target->at)[t * target->stride[0] + b];
    return row_lasts(call, t, b) ? class : -1;
}

/* A NaN may be skipped here: it reappears in the sum. */
static real largest(const real *z, size_t n)
{
    real lane[V_WIDTH], max = z[0];
    V max_v = v_const(z[0]);
    size_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) max_v = v_max(max_v, v_load(z + i));
    v_store(lane, max_v);
    for (size_t l = 0; l < V_WIDTH; l++) max = lane[l] > max ? lane[l] : max;
    for (; i < n; i++) max = z[i] > max ? z[i] : max;
    return max;
}

/* z <- e^(z - max). Returns the sum: 16 sums by column modulo 16, then a tree, the same on every ISA. */
static real exponentials(real *z, size_t n, real max)
{
    V sum[SOFTMAX_VECTORS];
    real lane[SOFTMAX_LANES];
    for (size_t j = 0; j < SOFTMAX_VECTORS; j++) sum[j] = v_const(0);
    for (size_t i = 0; i < n; i += SOFTMAX_LANES)
        for (size_t j = 0; j < SOFTMAX_VECTORS && i + j * V_WIDTH < n; j++) {
            real *at = z + i + j * V_WIDTH;
            size_t rest = n - i - j * V_WIDTH;
            V e = v_exp(v_sub(load_up_to(at, rest), v_const(max)));
            store_up_to(at, e, rest);
            sum[j] = v_add(sum[j], rest < V_WIDTH ? v_load_some(at, rest) : e);
        }
    for (size_t j = 0; j < SOFTMAX_VECTORS; j++) v_store(lane + j * V_WIDTH, sum[j]);
    for (size_t distance = SOFTMAX_LANES / 2; distance > 0; distance /= 2)
        for (size_t l = 0; l < distance; l++) lane[l] += lane[l + distance];
    return lane[0];
}

/* z <- softmax(z). Returns the logarithm of the normalizing sum. */
static double softmax(real *z, size_t n, real max)
{
    real sum = exponentials(z, n, max);
    V inverse = v_const(1 / sum);
    for (size_t i = 0; i < n; i += V_WIDTH) store_up_to(z + i, v_mul(load_up_to(z + i, n - i), inverse), n - i);
    return log((double)sum);
}

/* z <- softmax(z), but the element of the class holds the row's loss for xent_sum. */
static void xent_row(real *z, size_t n, int32_t class)
{
    real max = largest(z, n);
    double of_class = (double)max - (double)z[class];
    double log_sum = softmax(z, n, max);
    z[class] = (real)(log_sum + of_class);
}

/* Cross-entropy with class weights w and label smoothing e over n classes. The loss of a row is (1 - e) w[class] (-log
 * p[class]) plus e / n w[c] (-log p[c]) summed over all classes c; the row has weight w[class]. */
struct soft {
    const real *weight; /* NULL: 1 */
    double hard, each;  /* 1 - e, e / n */
    double all;         /* sum of the weights */
    size_t n;
};

static double class_weight(const struct soft *s, size_t class) { return s->weight ? (double)s->weight[class] : 1; }

static bool is_soft(const struct soft *s) { return s->weight || s->each > 0; }

static struct soft soft_of(const struct call *call)
{
    const size_t n = tensor_width(&call->view[LOSS_Z]);
    const double e = (double)call->probability;
    struct soft s = {call->view[LOSS_CONSTANTS].at, 1 - e, e / (double)n, 0, n};
    for (size_t c = 0; c < n && is_soft(&s); c++) s.all += class_weight(&s, c);
    return s;
}

/* Like xent_row. */
static void soft_row(const struct soft *s, real *z, int32_t class)
{
    real max = largest(z, s->n);
    double of_class = (double)max - (double)z[class], of_all = 0;
    for (size_t c = 0; c < s->n; c++) of_all += class_weight(s, c) * ((double)max - (double)z[c]);
    double log_sum = softmax(z, s->n, max);
    z[class] =
        (real)(s->hard * class_weight(s, (size_t)class) * (log_sum + of_class) + s->each * (s->all * log_sum + of_all));
}

/* Computes slopes from the probabilities of the other classes, whose sum is 1 - that of the class. */
static void soft_slopes(const struct soft *s, real *z, int32_t class)
{
    const double of_class = class_weight(s, (size_t)class), of_row = s->hard * of_class + s->each * s->all;
    double others = 0;
    for (size_t c = 0; c < s->n; c++) {
        if (c == (size_t)class)
            continue;
        others += (double)z[c];
        z[c] = (real)(of_row * (double)z[c] - s->each * class_weight(s, c));
    }
    z[class] = (real)(s->each * (s->all - of_class) - of_row * others);
}

/* Adds the log-probabilities and weights of all targets to the loss, in the order of rows. */
static void xent_sum(const struct call *call, const struct steps *z, const struct soft *soft)
{
    const struct tensor *view = &call->view[LOSS_Z];
    double sum = 0, weight = 0;
    if (!wants_sum(call))
        return;
    for (size_t t = 0; t < view->count[0]; t++)
        for (size_t b = 0; b < view->count[1]; b++) {
            int32_t class = class_at(call, t, b);
            if (class >= 0) {
                sum += (double)z->at[t * z->t + b * z->b + (size_t)class];
                weight += class_weight(soft, (size_t)class);
            }
        }
    add_loss(call, sum, weight);
}

/* Converts z to log-probabilities, adds the loss, then converts z to its gradient. */
static void loss_xent(const struct call *call, struct range row, int me, int team)
{
    const struct steps z = steps_of(&call->view[LOSS_Z]);
    const size_t n = tensor_width(&call->view[LOSS_Z]);
    const struct soft soft = soft_of(call);
    for (size_t r = row.first; r < row.end; r++, comm_poll()) {
        int32_t class = class_at(call, r / z.batch, r % z.batch);
        if (class < 0)
            memset(steps_at(&z, r), 0, n * sizeof(real));
        else if (is_soft(&soft))
            soft_row(&soft, steps_at(&z, r), class);
        else
            xent_row(steps_at(&z, r), n, class);
    }
    meet(call, me, team);
    if (me == 0)
        xent_sum(call, &z, &soft);
    meet(call, me, team);
    for (size_t r = row.first; r < row.end; r++, comm_poll()) {
        int32_t class = class_at(call, r / z.batch, r % z.batch);
        real *at = steps_at(&z, r);
        if (class >= 0 && is_soft(&soft))
            soft_slopes(&soft, at, class);
        else if (class >= 0)
            at[class] = (real)expm1(-(double)at[class]); /* the class's probability - 1 */
    }
}

/* ---- pointwise losses ------------------------------------------------------------------ */

/* A row as points: one per target and level, each with `results` results. */
struct points {
    const real *level; /* [levels]; NULL: no levels, and `levels` is 1 */
    size_t count, targets, levels, results;
};

static struct points points_of(const struct call *call)
{
    const struct tensor *level = &call->view[LOSS_CONSTANTS];
    struct points p = {.level = level->at, .targets = tensor_width(&call->view[LOSS_TARGET])};
    p.levels = p.level ? tensor_width(level) : 1;
    p.count = p.targets * p.levels;
    p.results = tensor_width(&call->view[LOSS_Z]) / p.count;
    return p;
}

/* Loads V_WIDTH points from `first` on, repeating the last one at the end. */
static void gather_points(const struct points *row, const real *z, const real *y, size_t first, struct point *p)
{
    real lane[LOSS_RESULTS_MAX + 2][V_WIDTH];
    for (size_t l = 0; l < V_WIDTH; l++) {
        const size_t i = at_most(first + l, row->count - 1);
        for (size_t k = 0; k < row->results; k++) lane[k][l] = z[i * row->results + k];
        lane[LOSS_RESULTS_MAX][l] = y[i / row->levels];
        lane[LOSS_RESULTS_MAX + 1][l] = row->level ? row->level[i % row->levels] : 0;
    }
    for (size_t k = 0; k < row->results; k++) p->z[k] = v_load(lane[k]);
    p->y = v_load(lane[LOSS_RESULTS_MAX]);
    p->level = v_load(lane[LOSS_RESULTS_MAX + 1]);
}

static void scatter_slopes(const struct point *p, size_t results, real *z, size_t rest)
{
    real lane[V_WIDTH];
    for (size_t k = 0; k < results; k++) {
        v_store(lane, p->slope[k]);
        for (size_t l = 0; l < V_WIDTH && l < rest; l++) z[l * results + k] = lane[l];
    }
}

#define LOSS_USER "device/cpu/kernels/loss_rows.h"
#include "nn/losses/loss_table.h"

typedef void loss_slopes(const struct points *, real *z, const real *y, real scale);
typedef double loss_sum(const struct points *, const real *z, const real *y);

/* Computes the slopes of a row. A NaN target is not counted and has slope zero. */
static void slopes_of_row(int index, const struct points *row, real *z, const real *y)
{
    static loss_slopes *const compiled[] = {
#define LOSS_SLOPES(name) name##_slopes,
        ALL_LOSSES(LOSS_SLOPES)
#undef LOSS_SLOPES
    };
    const size_t of_target = row->levels * row->results;
    const real scale = (real)(1.0 / (double)row->count);
    const struct loss *loss = loss_at(index);
    if (loss_is_compiled(index))
        compiled[index](row, z, y, scale);
    else
        _Generic((real)0, float: loss->slopes_f32, double: loss->slopes_f64)(z, y, row->count, scale);
    for (size_t i = 0; i < row->targets; i++)
        if (isnan(y[i]))
            memset(z + i * of_target, 0, of_target * sizeof *z);
}

/* Sums losses in order in double, for losses with one result, which are cheap. *counted: the number of counted
 * targets. */
static double losses_in_double(const struct loss *loss, const struct points *row, const real *z, const real *y,
                               size_t *counted)
{
    enum { BLOCK = 64 };
    double a[BLOCK * LOSS_RESULTS_MAX], b[BLOCK], level[BLOCK], sum = 0;
    size_t n = 0;
    *counted = 0;
    for (size_t i = 0; i < row->targets; i++, z += row->levels * row->results) {
        if (isnan(y[i]))
            continue;
        ++*counted;
        for (size_t l = 0; l < row->levels; l++) {
            for (size_t k = 0; k < row->results; k++) a[n * row->results + k] = (double)z[l * row->results + k];
            b[n] = (double)y[i];
            level[n] = row->level ? (double)row->level[l] : 0;
            if (++n < BLOCK)
                continue;
            sum = loss->add(sum, a, b, level, n);
            n = 0;
        }
    }
    return loss->add(sum, a, b, level, n);
}

/* Computes a row's losses. Likelihoods are computed in V operations and summed in double. */
static double losses_of_row(int index, const struct points *row, const real *z, const real *y, size_t *counted)
{
    static loss_sum *const compiled[] = {
#define LOSS_SUM_OF(name) name##_losses,
        ALL_LOSSES(LOSS_SUM_OF)
#undef LOSS_SUM_OF
    };
    if (row->results == 1)
        return losses_in_double(loss_at(index), row, z, y, counted);
    *counted = 0;
    for (size_t i = 0; i < row->targets; i++) *counted += !isnan(y[i]);
    return compiled[index](row, z, y);
}

/* Sums all rows. A row has weight 1, or the fraction of its targets that count. */
static void points_sum(const struct call *call, const struct points *row, const struct steps *z, const struct steps *y)
{
    double sum = 0, weight = 0;
    size_t counted;
    if (!wants_sum(call))
        return;
    for (size_t r = 0, rows = (size_t)call->view[LOSS_Z].count[0] * z->batch; r < rows; r++) {
        if (!row_lasts(call, r / z->batch, r % z->batch))
            continue;
        sum += losses_of_row(call->choice, row, steps_at(z, r), steps_at(y, r), &counted) / (double)row->count;
        weight += (double)counted / (double)row->targets;
    }
    add_loss(call, sum, weight);
}

static void loss_points(const struct call *call, struct range row, int me, int team)
{
    const struct steps z = steps_of(&call->view[LOSS_Z]), y = steps_of(&call->view[LOSS_TARGET]);
    const struct points points = points_of(call);
    if (me == 0)
        points_sum(call, &points, &z, &y);
    meet(call, me, team);
    for (size_t r = row.first; r < row.end; r++, comm_poll()) {
        if (row_lasts(call, r / z.batch, r % z.batch))
            slopes_of_row(call->choice, &points, steps_at(&z, r), steps_at(&y, r));
        else
            memset(steps_at(&z, r), 0, points.count * points.results * sizeof(real));
    }
}

/* ---- both ------------------------------------------------------------------------------ */

static unroll_status kernel_loss(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *z = &call->view[LOSS_Z];
    const size_t rows = (size_t)z->count[0] * z->count[1];
    const struct range row = my_share(rows, me, team, 1);
    (loss_at(call->choice)->add ? loss_points : loss_xent)(call, row, me, team);
    count_slices(work, call, LOSS_Z, row, rows);
    count_slices(work, call, LOSS_TARGET, row, rows);
    count_view(work, call, LOSS_LENGTHS, me);
    count_view(work, call, LOSS_CONSTANTS, me);
    count_view(work, call, LOSS_SUM, me);
    count_view(work, call, LOSS_WEIGHT, me);
    return UNROLL_OK;
}
