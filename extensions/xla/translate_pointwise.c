/* Elementwise operations, losses and the update: dropout, activate and its backward, loss, copy, fill, tree, norm,
 * update. The formulas of activations and optimizers are records. */
#include "extensions/xla/translate.h"
#include "nn/losses/loss.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- dropout --------------------------------------------------------------------------- */

struct value_words {
    struct value w[4];
};

/* Computes the high and low half of a product with a constant. */
static void multiply(struct translation *t, struct value a, double constant, struct value *high, struct value *low)
{
    struct value wide = hlo_convert(&t->h, a, HLO_U64);
    struct value factor = hlo_constant(&t->h, HLO_U64, a.shape, constant);
    struct value bits = hlo_constant(&t->h, HLO_U64, a.shape, 32);
    wide = hlo_binary(&t->h, "multiply", wide, factor);
    *low = hlo_convert(&t->h, wide, HLO_U32);
    wide = hlo_binary(&t->h, "shift_right_logical", wide, bits);
    *high = hlo_convert(&t->h, wide, HLO_U32);
}

/* base/philox.h, over arrays of counters; the key is two scalars. */
static struct value_words philox_words(struct translation *t, struct value_words c, struct value k0, struct value k1)
{
    struct shape shape = c.w[0].shape;
    struct value golden = hlo_constant(&t->h, HLO_U32, SCALAR, 0x9e3779b9u);
    struct value root = hlo_constant(&t->h, HLO_U32, SCALAR, 0xbb67ae85u);
    for (int round = 0; round < 10; round++) {
        struct value high0, low0, high1, low1;
        struct value key0 = hlo_spread(&t->h, k0, shape, NULL), key1 = hlo_spread(&t->h, k1, shape, NULL);
        multiply(t, c.w[0], 0xd2511f53u, &high0, &low0);
        multiply(t, c.w[2], 0xcd9e8d57u, &high1, &low1);
        c.w[0] = hlo_binary(&t->h, "xor", high1, c.w[1]);
        c.w[0] = hlo_binary(&t->h, "xor", c.w[0], key0);
        c.w[2] = hlo_binary(&t->h, "xor", high0, c.w[3]);
        c.w[2] = hlo_binary(&t->h, "xor", c.w[2], key1);
        c.w[1] = low1;
        c.w[3] = low0;
        k0 = hlo_binary(&t->h, "add", k0, golden);
        k1 = hlo_binary(&t->h, "add", k1, root);
    }
    return c;
}

/* Returns word i of the device's "run". */
static struct value run_word(struct translation *t, const struct view *run, int64_t i)
{
    struct value words = view_get(t, run);
    words = hlo_slice(&t->h, words, &i, SHAPE(1));
    return hlo_reshape(&t->h, words, SCALAR);
}

static struct value counter(struct translation *t, struct shape shape, int axis, uint32_t origin)
{
    struct value number = hlo_iota(&t->h, HLO_U32, shape, axis);
    struct value from = hlo_constant(&t->h, HLO_U32, shape, origin);
    return hlo_binary(&t->h, "add", number, from);
}

/* Returns row numbers in the whole batch, of which a device has some. */
static struct value row_counter(struct translation *t, struct shape shape, const struct view *x)
{
    struct value number = counter(t, shape, 1, x->first[1]);
    struct value origin = origin_of(t, x->buffer, 1);
    origin = hlo_convert(&t->h, origin, HLO_U32);
    origin = hlo_spread(&t->h, origin, shape, NULL);
    return hlo_binary(&t->h, "add", number, origin);
}

/* Returns [T, B, W] uniform words, the same that other devices draw for these positions. */
static struct value random_words(struct translation *t, const struct op *op, struct shape wanted)
{
    const struct view *x = &op->view[DROPOUT_X];
    const uint32_t *origin = t->plan->buffer[x->buffer].origin;
    uint32_t first = origin[2] + x->first[2];
    struct shape fours = SHAPE(wanted.dim[0], wanted.dim[1], (wanted.dim[2] + first % 4 + 3) / 4);
    struct shape single = SHAPE(fours.dim[0], fours.dim[1], fours.dim[2], 1);
    struct value_words c = {.w = {counter(t, fours, 2, first / 4)}};
    c.w[1] = row_counter(t, fours, x);
    c.w[2] = counter(t, fours, 0, first_step(t->plan, x));
    struct value step = run_word(t, &op->view[DROPOUT_RUN], 2);
    c.w[3] = hlo_spread(&t->h, step, fours, NULL);
    struct value k0 = run_word(t, &op->view[DROPOUT_RUN], 0), k1 = run_word(t, &op->view[DROPOUT_RUN], 1);
    struct value stream = hlo_constant(&t->h, HLO_U32, SCALAR, (uint32_t)op->stream);
    k1 = hlo_binary(&t->h, "xor", k1, stream);
    c = philox_words(t, c, k0, k1);
    struct value all = hlo_reshape(&t->h, c.w[0], single);
    for (int i = 1; i < 4; i++) {
        struct value next = hlo_reshape(&t->h, c.w[i], single);
        all = hlo_join(&t->h, all, next, 3);
    }
    all = hlo_reshape(&t->h, all, SHAPE(fours.dim[0], fours.dim[1], 4 * fours.dim[2]));
    return hlo_slice(&t->h, all, (int64_t[]){0, 0, first % 4}, wanted);
}

unroll_status translate_dropout(struct translation *t, const struct op *op)
{
    struct value x = view_get(t, &op->view[DROPOUT_X]);
    struct value word = random_words(t, op, x.shape);
    struct value bits = hlo_constant(&t->h, HLO_U32, x.shape, 8);
    struct value unit = hlo_constant(&t->h, HLO_F32, x.shape, 0x1p-24);
    struct value limit = hlo_constant(&t->h, HLO_F32, x.shape, op->probability);
    struct value factor = hlo_constant(&t->h, HLO_F32, x.shape, 1.0 / (1.0 - (double)op->probability));
    word = hlo_binary(&t->h, "shift_right_logical", word, bits);
    struct value uniform = hlo_convert(&t->h, word, HLO_F32);
    uniform = hlo_binary(&t->h, "multiply", uniform, unit);
    struct value kept = hlo_compare(&t->h, "GE", uniform, limit);
    struct value y = hlo_binary(&t->h, "multiply", x, factor);
    y = masked(t, kept, y);
    struct value lasts = rows_lasting(t, &op->view[DROPOUT_X], &op->view[DROPOUT_LENGTHS]);
    y = masked(t, lasts, y);
    view_put(t, &op->view[DROPOUT_Y], y);
    return UNROLL_OK;
}

/* ---- activations ----------------------------------------------------------------------- */

/* Reduces the last axis of rows and spreads the result along it. */
static struct value along_rows(struct translation *t, const char *name, struct value x)
{
    struct value folded = hlo_reduce(&t->h, name, x, x.shape.rank - 1, 1);
    return hlo_spread(&t->h, folded, x.shape, (int[]){0, 1, 2});
}

static struct value softmax(struct translation *t, struct value x)
{
    struct value max = along_rows(t, "maximum", x);
    x = hlo_binary(&t->h, "subtract", x, max);
    x = hlo_unary(&t->h, "exponential", x);
    struct value sum = along_rows(t, "add", x);
    return hlo_binary(&t->h, "divide", x, sum);
}

/* Evaluates a record of "x" with the result "y". */
static unroll_status apply(struct translation *t, const struct record *record, struct value x, struct value *y)
{
    struct named named = {"x", x};
    TRY(evaluate_record(t, record, &named, 1, x.shape, t->evaluation));
    *y = evaluated(t->evaluation, "y");
    return UNROLL_OK;
}

static unroll_status activation(struct translation *t, const struct activation *a, struct value x, struct value *y)
{
    struct record record;
    if (a->kind == ACTIVATION_SOFTMAX) {
        *y = softmax(t, x);
        return UNROLL_OK;
    }
    record_activation(a, &record);
    return apply(t, &record, x, y);
}

unroll_status translate_activate(struct translation *t, const struct op *op)
{
    struct value x = view_get(t, &op->view[ACTIVATE_X]), y;
    TRY(activation(t, &op->activation, x, &y));
    view_put(t, &op->view[ACTIVATE_Y], y);
    return UNROLL_OK;
}

unroll_status translate_activate_back(struct translation *t, const struct op *op)
{
    struct value x = view_get(t, &op->view[ACTIVATE_BACK_X]), y, slope;
    struct value dy = view_get(t, &op->view[ACTIVATE_BACK_DY]);
    struct record record;
    TRY(activation(t, &op->activation, x, &y));
    if (op->activation.kind == ACTIVATION_SOFTMAX) {
        slope = hlo_binary(&t->h, "multiply", y, dy);
        slope = along_rows(t, "add", slope);
        dy = hlo_binary(&t->h, "subtract", dy, slope);
        slope = y;
    } else {
        record_slope(&op->activation, &record);
        TRY(apply(t, &record, y, &slope));
    }
    dy = hlo_binary(&t->h, "multiply", dy, slope);
    view_put(t, &op->view[ACTIVATE_BACK_X], y);
    view_put(t, &op->view[ACTIVATE_BACK_DX], dy);
    return UNROLL_OK;
}

/* ---- losses ---------------------------------------------------------------------------- */

/* Adds the losses and weights of rows that count. */
static void add_loss(struct translation *t, const struct op *op, struct value counts, struct value loss,
                     struct value weight)
{
    if (!has(op, LOSS_SUM))
        return; /* a recomputed forward pass */
    loss = masked(t, counts, loss);
    loss = hlo_reduce(&t->h, "add", loss, 0, 2);
    view_put(t, &op->view[LOSS_SUM], loss);
    weight = masked(t, counts, weight);
    weight = hlo_reduce(&t->h, "add", weight, 0, 2);
    view_put(t, &op->view[LOSS_WEIGHT], weight);
}

/* Returns each row's sum along the last axis. */
static struct value sum_of_row(struct translation *t, struct value x) { return hlo_reduce(&t->h, "add", x, 2, 1); }

/* Returns the target weight of each class in a row whose class is `hot`: 1 - e for it plus e / n for each, times the
 * class weights. *weight: the row's weight. */
static struct value soft_target(struct translation *t, const struct op *op, struct value hot, struct value *weight)
{
    const double e = (double)op->probability, each = e / (double)hot.shape.dim[2];
    struct value of_class = hlo_constant(&t->h, HLO_F32, hot.shape, 1);
    if (has(op, LOSS_CONSTANTS)) {
        of_class = view_get(t, &op->view[LOSS_CONSTANTS]);
        of_class = hlo_spread(&t->h, of_class, hot.shape, (int[]){2});
    }
    hot = hlo_binary(&t->h, "multiply", hot, of_class);
    *weight = sum_of_row(t, hot);
    struct value most = hlo_constant(&t->h, HLO_F32, hot.shape, 1 - e);
    struct value little = hlo_constant(&t->h, HLO_F32, hot.shape, each);
    hot = hlo_binary(&t->h, "multiply", hot, most);
    of_class = hlo_binary(&t->h, "multiply", of_class, little);
    return hlo_binary(&t->h, "add", hot, of_class);
}

static struct value every_row(struct translation *t, struct shape rows) { return hlo_constant(&t->h, HLO_I1, rows, 1); }

/* Adds the cross-entropy to the loss, and writes dz. Rows that have ended or have no class do not count. */
static void cross_entropy(struct translation *t, const struct op *op, struct value z, struct value lasts)
{
    struct value class = view_get(t, &op->view[LOSS_TARGET]);
    struct value zero = hlo_constant(&t->h, HLO_I32, class.shape, 0);
    struct value counts = hlo_compare(&t->h, "GE", class, zero);
    if (lasts.id >= 0)
        counts = hlo_binary(&t->h, "and", counts, lasts);
    struct value column = hlo_iota(&t->h, HLO_I32, z.shape, 2);
    class = hlo_spread(&t->h, class, z.shape, (int[]){0, 1});
    struct value is = hlo_compare(&t->h, "EQ", column, class);
    struct value hot = hlo_convert(&t->h, is, HLO_F32);
    struct value max = along_rows(t, "maximum", z);
    z = hlo_binary(&t->h, "subtract", z, max);
    struct value e = hlo_unary(&t->h, "exponential", z);
    struct value sum = sum_of_row(t, e), loss = hlo_unary(&t->h, "log", sum), weight, dz;
    sum = hlo_spread(&t->h, sum, z.shape, (int[]){0, 1});
    dz = hlo_binary(&t->h, "divide", e, sum);
    if (op->probability > 0 || has(op, LOSS_CONSTANTS)) {
        struct value target = soft_target(t, op, hot, &weight), all = along_rows(t, "add", target);
        loss = hlo_spread(&t->h, loss, z.shape, (int[]){0, 1});
        loss = hlo_binary(&t->h, "subtract", loss, z);
        loss = hlo_binary(&t->h, "multiply", loss, target);
        loss = sum_of_row(t, loss);
        dz = hlo_binary(&t->h, "multiply", dz, all);
        dz = hlo_binary(&t->h, "subtract", dz, target);
    } else {
        struct value of_class = masked(t, is, z);
        of_class = sum_of_row(t, of_class);
        loss = hlo_binary(&t->h, "subtract", loss, of_class);
        weight = hlo_constant(&t->h, HLO_F32, counts.shape, 1);
        dz = hlo_binary(&t->h, "subtract", dz, hot);
    }
    add_loss(t, op, counts, loss, weight);
    dz = masked(t, counts, dz);
    view_put(t, &op->view[LOSS_Z], dz);
}

static struct named named(const char *name, struct value value)
{
    struct named n = {.value = value};
    snprintf(n.name, sizeof n.name, "%s", name);
    return n;
}

/* Returns [T, B, ..]: each target of [T, B, targets] repeated for each level, or all levels repeated for each
 * target. */
static struct value of_points(struct translation *t, struct value x, struct shape targets, int levels)
{
    struct shape each = SHAPE(targets.dim[0], targets.dim[1], targets.dim[2], levels);
    x = hlo_spread(&t->h, x, each, x.shape.rank == 1 ? (int[]){3} : (int[]){0, 1, 2});
    return hlo_reshape(&t->h, x, SHAPE(targets.dim[0], targets.dim[1], targets.dim[2] * levels));
}

/* Returns result k of each point, from [T, B, points, results]. */
static struct value result_of(struct translation *t, struct value z, int k)
{
    struct shape points = SHAPE(z.shape.dim[0], z.shape.dim[1], z.shape.dim[2]);
    z = hlo_slice(&t->h, z, (int64_t[]){0, 0, 0, k}, SHAPE(points.dim[0], points.dim[1], points.dim[2], 1));
    return hlo_reshape(&t->h, z, points);
}

/* Returns the slopes of all results, contiguous for each point; zero for points that do not count. */
static struct value slopes_of(struct translation *t, struct value counts, int results)
{
    struct value all = {.id = -1}, share = hlo_constant(&t->h, HLO_F32, counts.shape, 1 / (double)counts.shape.dim[2]);
    for (int k = 0; k < results; k++) {
        struct value slope = hlo_binary(&t->h, "multiply", evaluated(t->evaluation, loss_slope_names[k]), share);
        slope = masked(t, counts, slope);
        slope = hlo_reshape(&t->h, slope, SHAPE(slope.shape.dim[0], slope.shape.dim[1], slope.shape.dim[2], 1));
        all = all.id < 0 ? slope : hlo_join(&t->h, all, slope, 3);
    }
    return all;
}

/* Adds a loss of numbers to the sum, and writes dz. NaN targets do not count. */
static unroll_status pointwise_loss(struct translation *t, const struct op *op, struct value z, struct value lasts)
{
    const struct shape shape = z.shape, rows = SHAPE(shape.dim[0], shape.dim[1]);
    struct value y = view_get(t, &op->view[LOSS_TARGET]), level = {.id = -1};
    struct value rows_count = lasts.id < 0 ? every_row(t, rows) : lasts;
    struct named input[2 + LOSS_RESULTS_MAX];
    struct record record;
    int inputs = 0, results;
    if (has(op, LOSS_CONSTANTS)) {
        const struct shape targets = y.shape;
        level = view_get(t, &op->view[LOSS_CONSTANTS]);
        y = of_points(t, y, targets, (int)level.shape.dim[0]);
        level = of_points(t, level, targets, (int)level.shape.dim[0]);
    }
    const double points = (double)y.shape.dim[2];
    results = (int)(shape.dim[2] / y.shape.dim[2]);
    z = hlo_reshape(&t->h, z, SHAPE(rows.dim[0], rows.dim[1], y.shape.dim[2], results));
    for (int k = 0; k < results; k++) input[inputs++] = named(loss_result_names[k], result_of(t, z, k));
    input[inputs++] = named("y", y);
    input[inputs++] = named("level", level.id < 0 ? y : level);
    record_loss(op->choice, &record);
    TRY(evaluate_record(t, &record, input, inputs, y.shape, t->evaluation));
    struct value counts = hlo_compare(&t->h, "EQ", y, y), weight = hlo_convert(&t->h, counts, HLO_F32);
    struct value loss = masked(t, counts, evaluated(t->evaluation, "loss"));
    struct value mean = hlo_constant(&t->h, HLO_F32, rows, 1 / points);
    struct value all = hlo_constant(&t->h, HLO_F32, rows, points);
    loss = sum_of_row(t, loss);
    loss = hlo_binary(&t->h, "multiply", loss, mean);
    weight = sum_of_row(t, weight);
    weight = hlo_binary(&t->h, "divide", weight, all);
    add_loss(t, op, rows_count, loss, weight);
    struct value slopes = slopes_of(t, counts, results);
    slopes = hlo_reshape(&t->h, slopes, shape);
    slopes = masked(t, lasts, slopes);
    view_put(t, &op->view[LOSS_Z], slopes);
    return UNROLL_OK;
}

unroll_status translate_loss(struct translation *t, const struct op *op)
{
    struct value z = view_get(t, &op->view[LOSS_Z]);
    struct value lasts = rows_lasting(t, &op->view[LOSS_Z], &op->view[LOSS_LENGTHS]);
    if (loss_at(op->choice)->add)
        return pointwise_loss(t, op, z, lasts);
    cross_entropy(t, op, z, lasts);
    return UNROLL_OK;
}

/* ---- copies and sums of gradients ------------------------------------------------------ */

unroll_status translate_copy(struct translation *t, const struct op *op)
{
    struct value x = view_get(t, &op->view[COPY_FROM]);
    view_put(t, &op->view[COPY_TO], x);
    return UNROLL_OK;
}

unroll_status translate_fill(struct translation *t, const struct op *op)
{
    const struct view *to = &op->view[FILL_TO];
    struct value type = buffer_type(&t->plan->buffer[to->buffer]);
    struct value zero = hlo_constant(&t->h, type.type, shape_of_view(to, t->plan), 0);
    view_put(t, to, zero);
    return UNROLL_OK;
}

/* Shard 0 receives the sum of all; the contents of the others do not matter. */
unroll_status translate_tree(struct translation *t, const struct op *op)
{
    struct view first = op->view[TREE_X];
    struct value all = view_get(t, &op->view[TREE_X]);
    all = hlo_reduce(&t->h, "add", all, 0, 1);
    first.count[0] = 1;
    view_put(t, &first, all);
    return UNROLL_OK;
}

static void sum_over_devices(struct translation *t, const struct op *op, const struct view *v)
{
    int members[RANKS_MAX];
    struct devices all = devices_of(t, op->group, members);
    struct view to = *v;
    struct value x = view_get(t, v);
    if (op->choice && to.count[0] > 1) { /* the first shard receives the sum of all */
        x = hlo_reduce(&t->h, "add", x, 0, 1);
        to.count[0] = 1;
    }
    x = hlo_sum_over(&t->h, x, &all);
    view_put(t, &to, x);
}

unroll_status translate_all_reduce(struct translation *t, const struct op *op)
{
    sum_over_devices(t, op, &op->view[COMM_X]);
    return UNROLL_OK;
}

/* XLA combines and overlaps sums itself, so each one ends here. */
unroll_status translate_sum_begin(struct translation *t, const struct op *op)
{
    for (int k = 0; k < op->views; k++) sum_over_devices(t, op, &op->view[k]);
    return UNROLL_OK;
}

unroll_status translate_sum_end(struct translation *t, const struct op *op)
{
    (void)t, (void)op;
    return UNROLL_OK;
}

/* Returns 1 if the device's list contains the norm, 0 if another device counts this weight. */
static struct value counts_norm(struct translation *t, const struct op *op)
{
    int32_t counts[RANKS_MAX] = {0};
    for (int r = 0; r < t->mesh.devices; r++) {
        const struct plan *p = t->mesh.plan[r];
        for (int i = 0; i < p->ops; i++)
            counts[r] |= p->op[i].kind == OP_NORM && p->op[i].view[NORM_GRAD].buffer == op->view[NORM_GRAD].buffer;
    }
    struct value here = of_device(t, counts);
    return hlo_convert(&t->h, here, HLO_F32);
}

unroll_status translate_norm(struct translation *t, const struct op *op)
{
    struct value g = view_get(t, &op->view[NORM_GRAD]);
    g = hlo_binary(&t->h, "multiply", g, g);
    g = hlo_reduce(&t->h, "add", g, 0, g.shape.rank);
    if (t->mesh.devices > 1) {
        struct value counts = counts_norm(t, op);
        g = hlo_binary(&t->h, "multiply", g, counts);
    }
    view_put(t, &op->view[NORM_OUT], g);
    return UNROLL_OK;
}

/* ---- the update ------------------------------------------------------------------------ */

/* NaN if the norm is not finite: then nothing was updated, and the loss shows it later. */
void mark_divergence(struct translation *t)
{
    struct value *norms = &t->value[plan_find_buffer(t->plan, "norms")];
    struct value *loss = &t->value[plan_find_buffer(t->plan, "loss_sum")];
    struct value sum = hlo_reduce(&t->h, "add", *norms, 0, 1);
    struct value largest = hlo_constant(&t->h, HLO_F32, SCALAR, 3.4028234e38);
    struct value nan = hlo_constant(&t->h, HLO_F32, SHAPE(1), NAN);
    struct value finite = hlo_compare(&t->h, "LE", sum, largest);
    finite = hlo_spread(&t->h, finite, SHAPE(1), NULL);
    *loss = hlo_select(&t->h, finite, *loss, nan);
}

static struct value device_rate(struct translation *t, const struct op *op, int64_t i)
{
    struct value rates = view_get(t, &op->view[UPDATE_RUN]);
    rates = hlo_slice(&t->h, rates, &i, SHAPE(1));
    return hlo_reshape(&t->h, rates, SCALAR);
}

/* Returns the factor of gradient sums (device/cpu/kernels/update.h). *counts: whether there is anything to learn
 * from. */
static struct value gradient_scale(struct translation *t, const struct op *op, struct value *counts)
{
    struct value squares = view_get(t, &op->view[UPDATE_NORM]);
    struct value weight = view_get(t, &op->view[UPDATE_WEIGHT]);
    struct value clip = device_rate(t, op, DEVICE_CLIP);
    struct value zero = zeros(t, SCALAR), one = hlo_constant(&t->h, HLO_F32, SCALAR, 1);
    struct value sum = hlo_reduce(&t->h, "add", squares, 0, 1);
    weight = hlo_reshape(&t->h, weight, SCALAR);
    struct value length = hlo_unary(&t->h, "sqrt", sum);
    length = hlo_binary(&t->h, "divide", length, weight);
    struct value largest = hlo_constant(&t->h, HLO_F32, SCALAR, 3.4028234e38);
    *counts = hlo_compare(&t->h, "LE", length, largest); /* also false for NaN */
    struct value clips = hlo_compare(&t->h, "GT", clip, zero);
    struct value above = hlo_compare(&t->h, "GT", length, clip);
    clips = hlo_binary(&t->h, "and", clips, above);
    struct value ratio = hlo_binary(&t->h, "divide", clip, length);
    ratio = hlo_select(&t->h, clips, ratio, one);
    return hlo_binary(&t->h, "divide", ratio, weight);
}

static void put_chosen(struct translation *t, const struct view *v, struct value counts, struct value changed)
{
    struct value old = view_get(t, v);
    changed = hlo_reshape(&t->h, changed, old.shape);
    counts = hlo_spread(&t->h, counts, old.shape, NULL);
    changed = hlo_select(&t->h, counts, changed, old);
    view_put(t, v, changed);
}

unroll_status translate_update(struct translation *t, const struct op *op)
{
    const struct optimizer *of = optimizer_at(op->choice);
    struct named input[2 + OPTIMIZER_STATES_MAX + OPTIMIZER_NUMBERS_MAX];
    struct record record;
    struct value counts, scale = gradient_scale(t, op, &counts), g = view_get(t, &op->view[UPDATE_GRAD]);
    struct shape shape = shape_of_view(&op->view[UPDATE_W], t->plan);
    int inputs = 0;
    record_optimizer(op->choice, &record);
    g = hlo_reshape(&t->h, g, shape);
    scale = hlo_spread(&t->h, scale, shape, NULL);
    input[inputs++] = named("g", hlo_binary(&t->h, "multiply", g, scale));
    input[inputs++] = named("w", view_get(t, &op->view[UPDATE_W]));
    for (int i = 0; i < of->states; i++)
        input[inputs++] = named(optimizer_state_names[i], view_get(t, &op->view[UPDATE_STATE + i]));
    for (int i = 0; of->number[i]; i++) {
        struct value number = device_rate(t, op, DEVICE_NUMBERS + i);
        input[inputs++] = named(of->number[i], hlo_spread(&t->h, number, shape, NULL));
    }
    TRY(evaluate_record(t, &record, input, inputs, shape, t->evaluation));
    put_chosen(t, &op->view[UPDATE_W], counts, evaluated(t->evaluation, "w"));
    for (int i = 0; i < of->states; i++)
        put_chosen(t, &op->view[UPDATE_STATE + i], counts, evaluated(t->evaluation, optimizer_state_names[i]));
    view_put(t, &op->view[UPDATE_GRAD], zeros(t, shape_of_view(&op->view[UPDATE_GRAD], t->plan)));
    return UNROLL_OK;
}
