/* The losses: z becomes its gradient, the loss of each row that counts is added to a sum in double.
 * Rows count before their length, unless their target says no. Sums go over rows in order on one
 * thread, the rest is divided; so neither the team nor chunks of time show in the bits. */

/* ---- rows ------------------------------------------------------------------------------ */

static bool row_lasts(const struct call *call, size_t t, size_t b)
{
    const int32_t *lengths = call->view[LOSS_LENGTHS].at;
    return !lengths || (int64_t)call->view[LOSS_Z].origin[0] + (int64_t)t < lengths[b];
}

static void meet(const struct call *call, int team)
{
    if (team > 1)
        barrier_wait(call->barrier);
}

/* A forward that is done again makes dz alone. */
static bool wants_sum(const struct call *call) { return call->view[LOSS_SUM].at != NULL; }

static void add_loss(const struct call *call, double sum, double weight)
{
    *(double *)call->view[LOSS_SUM].at += sum;
    *(double *)call->view[LOSS_WEIGHT].at += weight;
}

/* ---- cross-entropy of a softmax -------------------------------------------------------- */

enum { SOFTMAX_LANES = 16, SOFTMAX_VECTORS = SOFTMAX_LANES / V_WIDTH };

/* The class of a row, or -1: it does not count. */
static int32_t class_at(const struct call *call, size_t t, size_t b)
{
    const struct tensor *target = &call->view[LOSS_TARGET];
    int32_t class = ((const int32_t *)target->at)[t * target->stride[0] + b];
    return row_lasts(call, t, b) ? class : -1;
}

/* A NaN may be passed over: it comes back in the sum. */
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

/* z <- e^(z - max); returns the sum: 16 sums by column modulo 16, then a tree, on every ISA. */
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

/* z <- softmax(z), but in the place of the class the row's loss waits for xent_sum. */
static void xent_row(real *z, size_t n, int32_t class)
{
    real max = largest(z, n);
    double of_class = (double)max - (double)z[class];
    real sum = exponentials(z, n, max);
    V inverse = v_const(1 / sum);
    for (size_t i = 0; i < n; i += V_WIDTH) store_up_to(z + i, v_mul(load_up_to(z + i, n - i), inverse), n - i);
    z[class] = (real)(log((double)sum) + of_class);
}

static void xent_sum(const struct call *call, const struct steps *z)
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
                weight++;
            }
        }
    add_loss(call, sum, weight);
}

static void loss_xent(const struct call *call, struct range row, int me, int team)
{
    const struct steps z = steps_of(&call->view[LOSS_Z]);
    const size_t n = tensor_width(&call->view[LOSS_Z]);
    for (size_t r = row.first; r < row.end; r++, comm_poll()) {
        int32_t class = class_at(call, r / z.batch, r % z.batch);
        if (class >= 0)
            xent_row(steps_at(&z, r), n, class);
        else
            memset(steps_at(&z, r), 0, n * sizeof(real));
    }
    meet(call, team);
    if (me == 0)
        xent_sum(call, &z);
    meet(call, team);
    for (size_t r = row.first; r < row.end; r++, comm_poll()) {
        int32_t class = class_at(call, r / z.batch, r % z.batch);
        real *at = steps_at(&z, r);
        if (class >= 0)
            at[class] = (real)expm1(-(double)at[class]); /* the class's probability - 1 */
    }
}

/* ---- losses of single numbers ---------------------------------------------------------- */

#define LOSS_USER "device/cpu/loss_rows.h"
#include "losses/loss_table.h"

typedef void loss_slopes(real *z, const real *y, size_t n, real scale);

static loss_slopes *slopes_of(int index)
{
    static loss_slopes *const compiled[] = {
#define LOSS_SLOPES(name) name##_slopes,
        ALL_LOSSES(LOSS_SLOPES)
#undef LOSS_SLOPES
    };
    const struct loss *loss = loss_at(index);
    return loss_is_compiled(index) ? compiled[index]
                                   : _Generic((real)0, float: loss->slopes_f32, double: loss->slopes_f64);
}

/* In double, one number after the other. */
static double losses_of_row(const struct loss *loss, const real *z, const real *y, size_t n)
{
    enum { BLOCK = 64 };
    double a[BLOCK], b[BLOCK], sum = 0;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count = n - first < BLOCK ? n - first : BLOCK;
        for (size_t i = 0; i < count; i++) {
            a[i] = (double)z[first + i];
            b[i] = (double)y[first + i];
        }
        sum = loss->add(sum, a, b, count);
    }
    return sum;
}

static void points_sum(const struct call *call, const struct loss *loss, const struct steps *z, const struct steps *y,
                       size_t n)
{
    double sum = 0, weight = 0;
    if (!wants_sum(call))
        return;
    for (size_t r = 0, rows = (size_t)call->view[LOSS_Z].count[0] * z->batch; r < rows; r++) {
        if (!row_lasts(call, r / z->batch, r % z->batch))
            continue;
        sum += losses_of_row(loss, steps_at(z, r), steps_at(y, r), n) / (double)n;
        weight++;
    }
    add_loss(call, sum, weight);
}

static void loss_points(const struct call *call, struct range row, int me, int team)
{
    const struct steps z = steps_of(&call->view[LOSS_Z]), y = steps_of(&call->view[LOSS_TARGET]);
    const size_t n = tensor_width(&call->view[LOSS_Z]);
    loss_slopes *slopes = slopes_of(call->choice);
    if (me == 0)
        points_sum(call, loss_at(call->choice), &z, &y, n);
    meet(call, team);
    for (size_t r = row.first; r < row.end; r++, comm_poll()) {
        if (row_lasts(call, r / z.batch, r % z.batch))
            slopes(steps_at(&z, r), steps_at(&y, r), n, (real)(1.0 / (double)n));
        else
            memset(steps_at(&z, r), 0, n * sizeof(real));
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
    count_view(work, call, LOSS_SUM, me);
    count_view(work, call, LOSS_WEIGHT, me);
    return UNROLL_OK;
}
