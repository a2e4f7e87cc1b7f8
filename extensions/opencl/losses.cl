/* Losses: replace z by its gradient and write the loss of each row to loss[row]; the weights of the rows follow. One
 * item handles a row. Regression losses are printed from their records. The cross-entropy and the softmax work on
 * whole rows, with 16 partial sums by column modulo 16 and a tree, as on all devices. */

static float gradient_scale(global char *m, struct loss_args a)
{
    return a.scale ? d_float(d_load(a.scale, 0)) : 1.0f;
}

static void count_row(global char *m, struct loss_args a, D loss, D weight)
{
    d_store(a.loss, ITEM, loss);
    d_store(a.loss, row_count(a.z) + ITEM, weight);
}

static bool row_is_out(global char *m, struct loss_args a)
{
    return !LASTS(a.ends, ITEM / a.z.batch, ITEM % a.z.batch);
}

static void clear_row(global char *m, struct loss_args a)
{
    global float *z = ROW(a.z, ITEM);
    for (uint i = 0; i < a.z.width; i++) z[i] = 0;
    count_row(m, a, d_of(0.0f), d_of(0.0f));
}

/* ---- softmax ------------------------------------------------------------------------------ */

static float largest_of(global const float *z, uint n)
{
    float max = z[0];
    for (uint i = 0; i < n; i++) max = z[i] > max ? z[i] : max;
    return max;
}

/* Adds 16 sums by a tree. */
static float sum_of_lanes(float16 lanes)
{
    const float8 by8 = lanes.lo + lanes.hi;
    const float4 by4 = by8.lo + by8.hi;
    const float2 by2 = by4.lo + by4.hi;
    return by2.lo + by2.hi;
}

/* y = e^(x - max); returns the sum. x may be y. */
static float exponentials(global const float *x, global float *y, uint n, float max)
{
    float16 sum = (float16)(0.0f);
    uint i = 0;
    for (; i + 16 <= n; i += 16) {
        const float16 e = exp_of_16(vload16(0, x + i) - (float16)(max));
        vstore16(e, 0, y + i);
        sum += e;
    }
    if (i < n) {
        float lane[16];
        for (uint l = 0; l < 16; l++) {
            lane[l] = i + l < n ? exp_of_1(x[i + l] - max) : 0;
            if (i + l < n)
                y[i + l] = lane[l];
        }
        sum += vload16(0, lane);
    }
    return sum_of_lanes(sum);
}

static void softmax(global const float *x, global float *y, uint n)
{
    const float inverse = 1.0f / exponentials(x, y, n, largest_of(x, n));
    for (uint i = 0; i < n; i++) y[i] = y[i] * inverse;
}

/* ---- cross-entropy of a softmax ------------------------------------------------------------ */

static D class_weight(global char *m, struct loss_args a, uint of)
{
    return a.constants ? d_of(FLOATS(a.constants)[of]) : d_of(1.0f);
}

/* Sums over all classes: the weights, and the weights times max - z. */
static void sums_of_classes(global char *m, struct loss_args a, float max, D *all, D *of_all)
{
    global const float *z = ROW(a.z, ITEM);
    *all = *of_all = d_of(0.0f);
    for (uint i = 0; i < a.z.width; i++) {
        const D weight = class_weight(m, a, i);
        *all = d_add(*all, weight);
        *of_all = d_add(*of_all, d_mul(weight, d_sub(d_of(max), d_of(z[i]))));
    }
}

/* Gradient and loss with class weights or label smoothing; see device/cpu/kernels/loss_kernels.h. */
static void soft_row(global char *m, struct loss_args a, uint of, D log_sum, D loss, float scale, D all, D of_all)
{
    global float *z = ROW(a.z, ITEM);
    const D weight = class_weight(m, a, of), smoothing = d_of(a.smoothing);
    const D each = d_div(smoothing, d_of((float)a.z.width));
    const D hard = d_mul(d_sub(d_of(1.0f), smoothing), weight), row = d_add(hard, d_mul(each, all));
    for (uint i = 0; i < a.z.width; i++) {
        const D part = i == of ? d_expm1(d_sub(d_of(0.0f), loss)) : d_of(z[i]);
        const D spread = i == of ? d_mul(each, d_sub(all, weight))
                                 : d_sub(d_of(0.0f), d_mul(each, class_weight(m, a, i)));
        z[i] = scale * d_float(d_add(spread, d_mul(row, part)));
    }
    count_row(m, a, d_add(d_mul(hard, loss), d_mul(each, d_add(d_mul(all, log_sum), of_all))), weight);
}

static void class_row(global char *m, struct loss_args a)
{
    global float *z = ROW(a.z, ITEM);
    const uint n = a.z.width;
    const int of = row_is_out(m, a) ? -1 : INTS(a.class_of)[ITEM / a.z.batch * a.class_step + ITEM % a.z.batch];
    const float scale = gradient_scale(m, a);
    const bool is_soft = a.constants || a.smoothing > 0;
    D all = d_of(0.0f), of_all = all;
    if (of < 0) {
        clear_row(m, a);
        return;
    }
    const float max = largest_of(z, n), of_class = z[of];
    if (is_soft)
        sums_of_classes(m, a, max, &all, &of_all);
    const float sum = exponentials(z, z, n, max), inverse = 1.0f / sum;
    const D log_sum = d_log(d_of(sum)), loss = d_add(log_sum, d_sub(d_of(max), d_of(of_class)));
    for (uint i = 0; i < n; i++) z[i] = z[i] * inverse;
    if (is_soft) {
        soft_row(m, a, (uint)of, log_sum, loss, scale, all, of_all);
        return;
    }
    z[of] = d_float(d_expm1(d_sub(d_of(0.0f), loss)));
    if (scale != 1)
        for (uint i = 0; i < n; i++) z[i] *= scale;
    count_row(m, a, loss, d_of(1.0f));
}

#define LOSS_OF_CLASSES               \
    KERNEL(xent_gpu_loss, loss_args)  \
    {                                 \
        if (ITEM < row_count(a.z))    \
            class_row(m, a);          \
    }

/* ---- points -------------------------------------------------------------------------------- */

/* z <- slope / points * scale; a target that is NaN does not count, and has no gradient. */
#define LOSS_OF_POINTS(name, results)                                                                              \
    KERNEL(name##_gpu_loss, loss_args)                                                                             \
    {                                                                                                              \
        if (ITEM >= row_count(a.z))                                                                                \
            return;                                                                                                \
        if (row_is_out(m, a)) {                                                                                    \
            clear_row(m, a);                                                                                       \
            return;                                                                                                \
        }                                                                                                          \
        const uint points = a.values.width * a.levels;                                                             \
        const float share = d_float(d_div(d_of(1.0f), d_of((float)points))), scale = gradient_scale(m, a);         \
        global float *z = ROW(a.z, ITEM);                                                                          \
        global const float *y = ROW(a.values, ITEM);                                                               \
        D sum = d_of(0.0f);                                                                                        \
        uint counted = 0;                                                                                          \
        for (uint i = 0; i < points; i++) {                                                                        \
            global float *at = z + (ulong)i * results;                                                             \
            const float of = y[i / a.levels];                                                                      \
            float loss, slope[results];                                                                            \
            name##_point(at[0], results > 1 ? at[results > 1] : 0, results > 2 ? at[2 * (results > 2)] : 0, of,    \
                         a.constants ? FLOATS(a.constants)[i % a.levels] : 0, &loss, slope);                         \
            const bool counts = !isnan(of);                                                                        \
            sum = counts ? d_add(sum, d_of(loss)) : sum;                                                           \
            counted += counts;                                                                                     \
            for (int k = 0; k < results; k++) at[k] = counts ? scale * (slope[k] * share) : 0;                     \
        }                                                                                                          \
        count_row(m, a, d_div(sum, d_of((float)points)), d_div(d_of((float)counted), d_of((float)points)));        \
    }
