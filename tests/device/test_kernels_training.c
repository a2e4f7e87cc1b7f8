/* Losses, the update and elementwise kernels of the CPU: overlays against the reference, the reference against plain
 * formulas, optimizers against PyTorch's values. */
/* test: kinds=plain,long-memory */
#include "kernel_check.h"
#include "nn/losses/loss.h"
#include "nn/optim/optim.h"

/* ---- dropout, copy, fill, tree, norm, pack --------------------------------------------- */

static struct fixture *build_dropout(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_DROPOUT, seed, real);
    uint32_t T = random_size(f, 1, 4), B = random_size(f, 1, 6), K = random_size(f, 1, 40);
    f->op.probability = seed % 5 ? (float)random_size(f, 1, 9) / 10 : 0;
    f->op.stream = (int)random_size(f, 0, 3);
    make(f, DROPOUT_X, real, READ, 3, SIZES(T, B, K));
    make(f, DROPOUT_RUN, DTYPE_I64, READ, 1, SIZES(8));
    ((int64_t *)f->call.view[DROPOUT_RUN].at)[0] = INT64_C(0x123456789abcdef) * (int64_t)seed;
    ((int64_t *)f->call.view[DROPOUT_RUN].at)[1] = (int64_t)seed * 3;
    make(f, DROPOUT_Y, real, random_size(f, 0, 1) ? ADD : WRITE, 3, SIZES(T, B, K));
    for (int axis = 0; axis < 3; axis++) f->call.view[DROPOUT_X].origin[axis] = random_size(f, 0, 9);
    if (seed % 3 == 0)
        make_integers(f, DROPOUT_LENGTHS, 1, SIZES(B), 10 + T, false);
    return f;
}

static void plain_dropout(struct fixture *f)
{
    const int64_t *run = f->call.view[DROPOUT_RUN].at;
    const uint32_t *origin = f->call.view[DROPOUT_X].origin;
    const uint64_t seed = (uint64_t)run[0];
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ (uint32_t)f->op.stream};
    EACH(f, DROPOUT_X)
    {
        uint32_t unit = origin[2] + (uint32_t)k, word[4];
        uint32_t row = origin[1] + (uint32_t)j, step = origin[0] + (uint32_t)i;
        philox(key, (uint32_t[]){unit / 4, row, step, (uint32_t)run[1]}, word);
        bool kept = philox_unit(word[unit % 4]) >= f->op.probability;
        bool ended = f->call.view[DROPOUT_LENGTHS].at && step >= value(f, DROPOUT_LENGTHS, j, 0, 0, 0);
        double y = kept && !ended ? value(f, DROPOUT_X, i, j, k, l) / (1 - (double)f->op.probability) : 0;
        size_t at = at4(f, DROPOUT_Y, i, j, k, l);
        set(f, DROPOUT_Y, at, f->op.view[DROPOUT_Y].access == ADD ? get(f, DROPOUT_Y, at) + y : y);
    }
}

/* A mask depends on global indices: a quarter of a tensor gets a quarter of its mask. */
static void check_mask_of_part(void)
{
    struct fixture *whole = build_dropout(2, DTYPE_F32), *part = build_dropout(2, DTYPE_F32);
    struct tensor *x = &part->call.view[DROPOUT_X], *y = &part->call.view[DROPOUT_Y];
    for (int axis = 0; axis < 3; axis++) {
        uint32_t first = x->count[axis] / 2;
        x->at = (float *)x->at + first * x->stride[axis];
        y->at = (float *)y->at + first * y->stride[axis];
        x->count[axis] -= first;
        y->count[axis] -= first;
        x->origin[axis] += first;
    }
    run_on(whole, cpu_isa_find(ISA_SCALAR, DTYPE_F32), 1);
    run_on(part, cpu_isa_find(ISA_SCALAR, DTYPE_F32), 1);
    EACH(part, DROPOUT_Y)
    {
        size_t at = at4(part, DROPOUT_Y, i, j, k, l);
        CHECK(same_number(get(part, DROPOUT_Y, at), get(whole, DROPOUT_Y, at)), "another mask for a part");
    }
    fixture_free(whole);
    fixture_free(part);
}

static struct fixture *build_copy(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_COPY, seed, real);
    uint32_t a = random_size(f, 1, 4), b = random_size(f, 1, 6), c = random_size(f, 1, 40);
    bool integers = random_size(f, 0, 3) == 0;
    make(f, COPY_FROM, integers ? DTYPE_I32 : real, READ, 3, SIZES(a, b, c));
    enum access access = integers || random_size(f, 0, 1) ? WRITE : ADD;
    make(f, COPY_TO, integers ? DTYPE_I32 : real, access, 3, SIZES(a, b, c));
    return f;
}

static void plain_copy(struct fixture *f)
{
    EACH(f, COPY_TO)
    {
        size_t at = at4(f, COPY_TO, i, j, k, l);
        double before = f->op.view[COPY_TO].access == ADD ? get(f, COPY_TO, at) : 0;
        set(f, COPY_TO, at, before + value(f, COPY_FROM, i, j, k, l));
    }
}

static struct fixture *build_fill(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_FILL, seed, real);
    uint32_t a = random_size(f, 1, 4), b = random_size(f, 1, 4), c = random_size(f, 1, 40);
    make(f, FILL_TO, real, WRITE, 3, SIZES(a, b, c));
    return f;
}

static void plain_fill(struct fixture *f)
{
    EACH(f, FILL_TO)
    set(f, FILL_TO, at4(f, FILL_TO, i, j, k, l), 0);
}

static struct fixture *build_tree(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_TREE, seed, real);
    make(f, TREE_X, real, UPDATE, 4,
         SIZES(random_size(f, 1, 9), random_size(f, 1, 3), random_size(f, 1, 4), random_size(f, 1, 40)));
    return f;
}

static void plain_tree(struct fixture *f)
{
    uint32_t shards = f->call.view[TREE_X].count[0];
    for (uint32_t distance = 1; distance < shards; distance *= 2) EACH(f, TREE_X)
        {
            if (i % (2 * distance) || i + distance >= shards)
                continue;
            size_t at = at4(f, TREE_X, i, j, k, l);
            set(f, TREE_X, at, get(f, TREE_X, at) + value(f, TREE_X, i + distance, j, k, l));
        }
}

static struct fixture *build_norm(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_NORM, seed, real);
    make(f, NORM_GRAD, real, READ, 3, SIZES(1, random_size(f, 1, 30), random_size(f, 1, 60)));
    make(f, NORM_OUT, DTYPE_F64, ADD, 1, SIZES(1));
    return f;
}

static void plain_norm(struct fixture *f)
{
    size_t at = at4(f, NORM_OUT, 0, 0, 0, 0);
    EACH(f, NORM_GRAD)
    set(f, NORM_OUT, at, get(f, NORM_OUT, at) + pow(value(f, NORM_GRAD, i, j, k, l), 2));
}

static struct fixture *build_pack(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_PACK, seed, real);
    bool gated = random_size(f, 0, 1);
    uint32_t G = gated ? random_size(f, 1, 4) : 1, U = random_size(f, 1, 100), K = random_size(f, 1, 40);
    make(f, PACK_FROM, real, READ, gated ? 3 : 2, gated ? SIZES(G, U, K) : SIZES(U, K));
    uint32_t layout = random_size(f, 0, gated ? 2 : 1);
    if (layout == 0)
        make_panels(f, PACK_TO, WRITE, G, U, K);
    else if (layout == 1)
        make_columns(f, PACK_TO, WRITE, gated, G, U, K);
    else
        make_gates(f, PACK_TO, WRITE, G, U, K);
    for (size_t i = 0; i < f->memory[PACK_TO].elements; i++) set(f, PACK_TO, i, NAN);
    return f;
}

static void plain_pack(struct fixture *f)
{
    const struct tensor *from = &f->call.view[PACK_FROM];
    bool gated = from->rank == 3;
    enum layout layout = f->call.view[PACK_TO].layout;
    size_t G = gated ? from->count[0] : 1, U = from->count[from->rank - 2], K = from->count[from->rank - 1];
    memset(f->memory[PACK_TO].data, 0, f->memory[PACK_TO].elements * sizeof(double));
    for (size_t g = 0; g < G; g++)
        for (size_t u = 0; u < U; u++)
            for (size_t k = 0; k < K; k++)
                set(f, PACK_TO,
                    layout == LAYOUT_COLUMNS ? column_at(g * U + u, k, G * U)
                    : layout == LAYOUT_GATES ? gate_at(g, u, k, G, K)
                                             : panel_at(g, u, k, U, K),
                    gated ? value(f, PACK_FROM, g, u, k, 0) : value(f, PACK_FROM, u, k, 0, 0));
}

/* ---- losses ---------------------------------------------------------------------------- */

/* Creates a loss with random sizes, results and targets, some of them missing. */
static struct fixture *build_loss(uint64_t seed, enum dtype real, const char *name)
{
    struct fixture *f = fixture_new(OP_LOSS, seed, real);
    struct loss_choice loss;
    uint32_t T = random_size(f, 1, 6), B = random_size(f, 1, 7), N = random_size(f, 1, 70);
    CHECK(loss_choose(name, &loss) == UNROLL_OK, "%s", unroll_last_error());
    f->op.choice = loss.index;
    make(f, LOSS_Z, real, UPDATE, 3, SIZES(T, B, N * (uint32_t)loss.results));
    double scale = pow(10, random_size(f, 0, loss_at(loss.index)->results > 1 ? 1 : 2)) / 2;
    EACH(f, LOSS_Z)
    set(f, LOSS_Z, at4(f, LOSS_Z, i, j, k, l), (double)(float)(scale * value(f, LOSS_Z, i, j, k, l)));
    if (loss_at(loss.index)->of_classes)
        make_integers(f, LOSS_TARGET, 2, SIZES(T, B), N, true);
    else
        make(f, LOSS_TARGET, real, READ, 3, SIZES(T, B, N));
    if (loss_at(loss.index)->targets[1] > 0)
        EACH(f, LOSS_TARGET)
    set(f, LOSS_TARGET, at4(f, LOSS_TARGET, i, j, k, l), fabs(value(f, LOSS_TARGET, i, j, k, l)));
    for (uint32_t i = 0; !loss_at(loss.index)->of_classes && i < T * B * N; i += 1 + random_size(f, 0, 20))
        set(f, LOSS_TARGET, at4(f, LOSS_TARGET, i % T, i / T % B, i / T / B, 0), NAN);
    if (loss.levels) {
        make(f, LOSS_CONSTANTS, real, READ, 1, SIZES((uint32_t)loss.levels));
        for (int i = 0; i < loss.levels; i++)
            set(f, LOSS_CONSTANTS, at4(f, LOSS_CONSTANTS, (size_t)i, 0, 0, 0), (double)loss.level[i]);
    }
    f->call.view[LOSS_Z].origin[0] = random_size(f, 0, 2);
    if (random_size(f, 0, 1))
        make_integers(f, LOSS_LENGTHS, 1, SIZES(B), T + 3, false);
    make(f, LOSS_SUM, DTYPE_F64, ADD, 1, SIZES(1));
    make(f, LOSS_WEIGHT, DTYPE_F64, ADD, 1, SIZES(1));
    return f;
}

static struct fixture *build_xent(uint64_t seed, enum dtype real) { return build_loss(seed, real, "xent"); }

/* With label smoothing, and class weights in every other case. */
static struct fixture *build_soft(uint64_t seed, enum dtype real)
{
    struct fixture *f = build_loss(seed, real, "xent");
    f->op.probability = 0.1f * (float)(seed % 4);
    if (seed % 2) {
        make(f, LOSS_CONSTANTS, real, READ, 1, SIZES(f->call.view[LOSS_Z].count[2]));
        EACH(f, LOSS_CONSTANTS)
        set(f, LOSS_CONSTANTS, at4(f, LOSS_CONSTANTS, i, j, k, l), fabs(value(f, LOSS_CONSTANTS, i, j, k, l)));
    }
    return f;
}

/* Losses of single values by textbook formulas; p is the output's probability or rate. With several outputs, slopes are
 * difference quotients in long double. */
static double plain_single(const char *name, double z, double y, double *slope)
{
    double e = z - y, p = strcmp(name, "bce") ? exp(z) : 1 / (1 + exp(-z));
    if (!strcmp(name, "mse"))
        return *slope = 2 * e, e * e;
    if (!strcmp(name, "mae"))
        return *slope = (e > 0) - (e < 0), fabs(e);
    if (!strcmp(name, "huber"))
        return *slope = fabs(e) < 1 ? e : copysign(1, e), fabs(e) < 1 ? e * e / 2 : fabs(e) - 0.5;
    *slope = p - y;
    if (!strcmp(name, "bce"))
        return y * log1p(exp(-z)) + (1 - y) * log1p(exp(z));
    CHECK(!strcmp(name, "poisson"), "no formula of '%s'", name);
    return p - y * z;
}

static long double softplus(long double x) { return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)); }

static long double plain_likelihood(const char *name, const long double *z, double y)
{
    const long double pi = 3.14159265358979323846264338327950288L, s = softplus(z[1]) + 1e-3f,
                      d = ((long double)y - z[0]) / s;
    if (!strcmp(name, "gaussian"))
        return d * d / 2 + logl(s) + logl(2 * pi) / 2;
    const long double n = 2 + softplus(z[2]);
    return lgammal(n / 2) - lgammal((n + 1) / 2) + logl(n * pi) / 2 + logl(s) + (n + 1) / 2 * log1pl(d * d / n);
}

static double plain_point(const char *name, int results, const double *z, double y, double level, double *slope)
{
    long double w[LOSS_RESULTS_MAX], h = 1e-6L;
    if (!strcmp(name, "quantile"))
        return slope[0] = y > z[0] ? -level : y < z[0] ? 1 - level : 0, (y - z[0]) * (level - (y < z[0]));
    if (results == 1)
        return plain_single(name, z[0], y, slope);
    for (int k = 0; k < results; k++) w[k] = (long double)z[k];
    for (int k = 0; k < results; k++) {
        w[k] = (long double)z[k] + h;
        long double above = plain_likelihood(name, w, y);
        w[k] = (long double)z[k] - h;
        slope[k] = (double)((above - plain_likelihood(name, w, y)) / (2 * h));
        w[k] = (long double)z[k];
    }
    return (double)plain_likelihood(name, w, y);
}

/* The losses of numeric targets in turn: those with one output per point, or with several. */
static struct fixture *build_some(uint64_t seed, enum dtype real, bool several)
{
    int chosen[16], count = 0;
    for (int i = 0; loss_at(i) && count < 16; i++)
        if (loss_at(i)->add && (loss_at(i)->results > 1) == several)
            chosen[count++] = i;
    return build_loss(seed, real, loss_at(chosen[seed % (uint64_t)count])->name);
}

static struct fixture *build_points(uint64_t seed, enum dtype real) { return build_some(seed, real, false); }
static struct fixture *build_likelihoods(uint64_t seed, enum dtype real) { return build_some(seed, real, true); }

static bool counts(const struct fixture *f, size_t t, size_t b)
{
    return !f->call.view[LOSS_LENGTHS].at ||
           (double)(f->call.view[LOSS_Z].origin[0] + t) < value(f, LOSS_LENGTHS, b, 0, 0, 0);
}

static void add_to(struct fixture *f, int slot, double number)
{
    size_t at = at4(f, slot, 0, 0, 0, 0);
    set(f, slot, at, get(f, slot, at) + number);
}

/* For each row of z: adds the loss and the row's weight, and replaces z by its gradient. */
static void plain_loss(struct fixture *f, void (*row)(struct fixture *, size_t t, size_t b, uint32_t n))
{
    const struct tensor *z = &f->call.view[LOSS_Z];
    for (size_t t = 0; t < z->count[0]; t++)
        for (size_t b = 0; b < z->count[1]; b++) {
            bool has_class = !loss_at(f->op.choice)->of_classes || value(f, LOSS_TARGET, t, b, 0, 0) >= 0;
            if (has_class && counts(f, t, b))
                row(f, t, b, z->count[2]);
            else
                for (size_t n = 0; n < z->count[2]; n++) set(f, LOSS_Z, at4(f, LOSS_Z, t, b, n, 0), 0);
        }
}

static double weight_of_class(const struct fixture *f, size_t class)
{
    return f->call.view[LOSS_CONSTANTS].at ? value(f, LOSS_CONSTANTS, class, 0, 0, 0) : 1;
}

static void plain_xent_row(struct fixture *f, size_t t, size_t b, uint32_t n)
{
    const double e = (double)f->op.probability;
    const size_t class = (size_t)value(f, LOSS_TARGET, t, b, 0, 0);
    double sum = 0, loss = 0, all = 0;
    for (uint32_t i = 0; i < n; i++) sum += exp(value(f, LOSS_Z, t, b, i, 0));
    for (uint32_t i = 0; i < n; i++) all += weight_of_class(f, i) * (e / n + (i == class ? 1 - e : 0));
    for (uint32_t i = 0; i < n; i++) {
        const double wanted = weight_of_class(f, i) * (e / n + (i == class ? 1 - e : 0));
        loss += wanted * (log(sum) - value(f, LOSS_Z, t, b, i, 0));
        set(f, LOSS_Z, at4(f, LOSS_Z, t, b, i, 0), all * exp(value(f, LOSS_Z, t, b, i, 0)) / sum - wanted);
    }
    add_to(f, LOSS_SUM, loss);
    add_to(f, LOSS_WEIGHT, weight_of_class(f, class));
}

/* Computes the loss and gradient of one row of points. */
static void plain_points_row(struct fixture *f, size_t t, size_t b, uint32_t n)
{
    const struct loss *loss = loss_at(f->op.choice);
    const uint32_t targets = f->call.view[LOSS_TARGET].count[2], of_target = n / targets;
    const uint32_t results = (uint32_t)loss->results, points = n / results;
    double sum = 0, counted = 0;
    for (uint32_t i = 0; i < points; i++) {
        const double y = value(f, LOSS_TARGET, t, b, i * results / of_target, 0);
        const double level = loss->levels ? value(f, LOSS_CONSTANTS, i % of_target, 0, 0, 0) : 0;
        double z[LOSS_RESULTS_MAX], slope[LOSS_RESULTS_MAX] = {0};
        for (uint32_t k = 0; k < results; k++) z[k] = value(f, LOSS_Z, t, b, i * results + k, 0);
        if (!isnan(y))
            sum += plain_point(loss->name, loss->results, z, y, level, slope) / points;
        counted += !isnan(y);
        for (uint32_t k = 0; k < results; k++)
            set(f, LOSS_Z, at4(f, LOSS_Z, t, b, i * results + k, 0), slope[k] / points);
    }
    add_to(f, LOSS_SUM, sum);
    add_to(f, LOSS_WEIGHT, counted / points);
}

static void plain_xent(struct fixture *f) { plain_loss(f, plain_xent_row); }
static void plain_points(struct fixture *f) { plain_loss(f, plain_points_row); }

/* A NaN or an infinity must propagate to the sum from any column. */
static void check_loss_keeps_nan(const char *loss, const struct cpu_isa *isa)
{
    for (uint32_t column = 0; column < 20; column++) {
        struct fixture *f = build_loss(100 + column, isa->real, loss);
        f->call.view[LOSS_LENGTHS].at = NULL;
        uint32_t n = f->call.view[LOSS_Z].count[2];
        const uint32_t of_target = n / (f->call.view[LOSS_TARGET].rank == 3 ? f->call.view[LOSS_TARGET].count[2] : n);
        set(f, LOSS_Z, at4(f, LOSS_Z, 0, 0, column % n, 0), column % 2 ? NAN : INFINITY);
        if (!loss_at(f->op.choice)->of_classes)
            set(f, LOSS_TARGET, at4(f, LOSS_TARGET, 0, 0, column % n / of_target, 0), 0.5);
        else
            set(f, LOSS_TARGET, at4(f, LOSS_TARGET, 0, 0, 0, 0), 0);
        run_on(f, isa, 2);
        CHECK(!isfinite(value(f, LOSS_SUM, 0, 0, 0, 0)), "%s: column %u", isa->name, column);
        fixture_free(f);
    }
}

/* ---- the update ------------------------------------------------------------------------ */

/* The hyperparameters of all optimizers that use them. */
static double hyperparameter(const char *name)
{
    static const struct {
        const char *name;
        double value;
    } all[] = {{"momentum", 0.9}, {"beta1", 0.9}, {"beta2", 0.99}, {"epsilon", 1e-8}, {"decay", 0.01}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name))
            return all[i].value;
    CHECK(false, "a test knows no value for %s", name);
    return 0;
}

static void set_rates(struct fixture *f, int update)
{
    const struct optimizer *o = optimizer_at(f->op.choice);
    double rates[RATES] = {[RATE_STEP] = update}, value[UNROLL_HYPERPARAMETERS];
    for (int i = 0; o->hyperparameter[i].name; i++) value[i] = hyperparameter(o->hyperparameter[i].name);
    o->make_numbers(0.1, update, value, rates + RATE_NUMBERS);
    for (size_t i = 0; i < RATES; i++) set(f, UPDATE_RUN, at4(f, UPDATE_RUN, i, 0, 0, 0), rates[i]);
}

/* Creates an optimizer update with random sizes. */
static struct fixture *build_update(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_UPDATE, seed, real);
    uint32_t a = random_size(f, 1, 3), b = random_size(f, 1, 20), c = random_size(f, 1, 50);
    f->op.choice = (int)(seed % 5);
    int rank = 1 + (int)random_size(f, 0, 2), states = optimizer_at(f->op.choice)->states;
    const uint32_t size[] = {1, a, b, c}, *shape = size + 4 - rank;
    uint32_t sums[4] = {1};
    memcpy(sums + 1, shape, (size_t)rank * sizeof *shape);
    make(f, UPDATE_W, real, UPDATE, rank, shape);
    make(f, UPDATE_GRAD, real, UPDATE, rank + 1, sums);
    for (int k = 0; k < states; k++) make(f, UPDATE_STATE + k, real, UPDATE, rank, shape);
    int squares = states > 1                                             ? UPDATE_STATE + 1
                  : !strcmp(optimizer_at(f->op.choice)->name, "rmsprop") ? UPDATE_STATE
                                                                         : -1;
    if (squares >= 0)
        EACH(f, squares)
        {
            size_t at = at4(f, squares, i, j, k, l);
            set(f, squares, at, 0.1 + fabs(get(f, squares, at)));
        }
    make(f, UPDATE_RUN, DTYPE_F64, READ, 1, SIZES(RATES));
    set_rates(f, 3);
    set(f, UPDATE_RUN, at4(f, UPDATE_RUN, RATE_CLIP, 0, 0, 0), random_size(f, 0, 2) * 0.1);
    make(f, UPDATE_NORM, DTYPE_F64, READ, 1, SIZES(3));
    make(f, UPDATE_WEIGHT, DTYPE_F64, READ, 1, SIZES(1));
    for (size_t i = 0; i < 3; i++) set(f, UPDATE_NORM, at4(f, UPDATE_NORM, i, 0, 0, 0), random_size(f, 1, 9));
    set(f, UPDATE_WEIGHT, at4(f, UPDATE_WEIGHT, 0, 0, 0, 0), seed % 7 ? random_size(f, 1, 20) : 0);
    if (seed % 11 == 0)
        set(f, UPDATE_NORM, at4(f, UPDATE_NORM, 1, 0, 0, 0), NAN);
    return f;
}

struct plain_weight {
    double w, s[2];
};

/* PyTorch's formulas as in its documentation. */
static void plain_step(const char *name, int update, double g, struct plain_weight *p)
{
    const double lr = 0.1, momentum = hyperparameter("momentum"), beta1 = hyperparameter("beta1");
    const double beta2 = hyperparameter("beta2"), epsilon = hyperparameter("epsilon"), decay = hyperparameter("decay");
    bool adam = strncmp(name, "adam", 4) == 0, decoupled = strcmp(name, "adamw") == 0;
    if (decoupled)
        p->w -= lr * decay * p->w;
    else
        g += decay * p->w;
    if (strcmp(name, "sgd") == 0) {
        p->w -= lr * g;
    } else if (strcmp(name, "momentum") == 0) {
        p->s[0] = momentum * p->s[0] + g;
        p->w -= lr * p->s[0];
    } else if (strcmp(name, "rmsprop") == 0) {
        p->s[0] = beta2 * p->s[0] + (1 - beta2) * g * g;
        p->w -= lr * g / (sqrt(p->s[0]) + epsilon);
    } else if (adam) {
        p->s[0] = beta1 * p->s[0] + (1 - beta1) * g;
        p->s[1] = beta2 * p->s[1] + (1 - beta2) * g * g;
        double mean = p->s[0] / (1 - pow(beta1, update)), square = p->s[1] / (1 - pow(beta2, update));
        p->w -= lr * mean / (sqrt(square) + epsilon);
    }
}

static double plain_scale(const struct fixture *f)
{
    double weight = value(f, UPDATE_WEIGHT, 0, 0, 0, 0), norm = 0;
    double clip = value(f, UPDATE_RUN, RATE_CLIP, 0, 0, 0);
    for (size_t i = 0; i < 3; i++) norm += value(f, UPDATE_NORM, i, 0, 0, 0);
    norm = sqrt(norm) / weight;
    return weight == 0 || !isfinite(norm) ? 0 : (clip > 0 && clip < norm ? clip / norm : 1) / weight;
}

static void plain_update(struct fixture *f)
{
    const struct optimizer *o = optimizer_at(f->op.choice);
    const double scale = plain_scale(f);
    EACH(f, UPDATE_W)
    {
        const size_t w = at4(f, UPDATE_W, i, j, k, l), g = at4(f, UPDATE_GRAD, 0, i, j, k);
        struct plain_weight p = {.w = get(f, UPDATE_W, w)};
        for (int s = 0; s < o->states; s++) p.s[s] = get(f, UPDATE_STATE + s, at4(f, UPDATE_STATE + s, i, j, k, l));
        if (scale != 0) {
            plain_step(o->name, (int)value(f, UPDATE_RUN, RATE_STEP, 0, 0, 0), scale * get(f, UPDATE_GRAD, g), &p);
            set(f, UPDATE_W, w, p.w);
            for (int s = 0; s < o->states; s++) set(f, UPDATE_STATE + s, at4(f, UPDATE_STATE + s, i, j, k, l), p.s[s]);
        }
        set(f, UPDATE_GRAD, g, 0);
    }
}

/* Three steps of PyTorch 2's optimizers in double: lr 0.1, weight decay 0.01, otherwise the defaults used here. */
static const struct torch_case {
    const char *name;
    double clip, w[5];
} torch_cases[] = {{"sgd", 0, {0.3785514695, -0.16945062975, 0.932102994, -2.103756198, 0.254505444875}},
                   {"sgd", 1, {0.422654423478, -0.222548231208, 0.966000737262, -2.03397570821, 0.197380495341}},
                   {"momentum", 0, {0.3350013695, 0.00018542025, 0.839953794, -2.305179798, 0.355753419875}},
                   {"rmsprop", 0, {-1.12542749667, 0.424201218769, -0.671334556652, -2.61275001256, 1.5726803847}},
                   {"adam", 0, {0.2878237609, -0.0787013333681, 0.782925423371, -2.12808102015, 0.338610700444}},
                   {"adam", 1, {0.297891548395, -0.0952742595882, 0.78874139192, -2.10554409432, 0.32867696124}},
                   {"adamw", 0, {0.288486022082, -0.0785318045064, 0.782232455298, -2.12436330222, 0.338487113605}}};

static void check_torch(const struct torch_case *c, const struct cpu_isa *isa, double allowed)
{
    static const double first[5] = {0.5, -0.25, 1.0, -2.0, 0.125};
    static const double g[3][5] = {
        {0.3, -1.2, 0.05, 2.0, -0.7}, {-0.1, 0.4, 0.9, -1.5, 0.2}, {1.0, 0.0, -0.3, 0.6, -0.8}};
    const double weight = 4; /* the gradient is a sum with this weight */
    struct fixture *f = fixture_new(OP_UPDATE, 1, isa->real);
    MUST(optimizer_find(c->name, &f->op.choice));
    for (int slot = UPDATE_W; slot < UPDATE_STATE + optimizer_at(f->op.choice)->states; slot++) {
        bool sums = slot == UPDATE_GRAD;
        if (slot > UPDATE_GRAD && slot < UPDATE_STATE)
            continue;
        make(f, slot, isa->real, UPDATE, sums ? 2 : 1, sums ? SIZES(1, 5) : SIZES(5));
        for (size_t i = 0; i < 5; i++)
            set(f, slot, at4(f, slot, sums ? 0 : i, sums ? i : 0, 0, 0), slot == UPDATE_W ? first[i] : 0);
    }
    make(f, UPDATE_RUN, DTYPE_F64, READ, 1, SIZES(RATES));
    make(f, UPDATE_NORM, DTYPE_F64, READ, 1, SIZES(1));
    make(f, UPDATE_WEIGHT, DTYPE_F64, READ, 1, SIZES(1));
    set(f, UPDATE_WEIGHT, at4(f, UPDATE_WEIGHT, 0, 0, 0, 0), weight);
    for (size_t step = 0; step < 3; step++) {
        double rates[RATES] = {[RATE_CLIP] = c->clip}, norm = 0;
        unroll_hyperparameters standard = unroll_hyperparameters_default(c->name);
        MUST(unroll_hyperparameters_set(&standard, "decay", 0.01));
        optimizer_at(f->op.choice)->make_numbers(0.1, (double)step + 1, standard.hyperparameter, rates + RATE_NUMBERS);
        memcpy(f->call.view[UPDATE_RUN].at, rates, sizeof rates);
        for (size_t i = 0; i < 5; i++) {
            set(f, UPDATE_GRAD, at4(f, UPDATE_GRAD, 0, i, 0, 0), weight * g[step][i]);
            norm += weight * g[step][i] * weight * g[step][i];
        }
        set(f, UPDATE_NORM, at4(f, UPDATE_NORM, 0, 0, 0, 0), norm);
        run_on(f, isa, 1);
    }
    for (size_t i = 0; i < 5; i++)
        CHECK(fabs(value(f, UPDATE_W, i, 0, 0, 0) - c->w[i]) <= allowed,
              "%s, clip %g, weight %zu: %.12g, PyTorch %.12g", c->name, c->clip, i, value(f, UPDATE_W, i, 0, 0, 0),
              c->w[i]);
    fixture_free(f);
}

static void check_optimizers(void)
{
    for (size_t i = 0; i < sizeof torch_cases / sizeof *torch_cases; i++) {
        check_torch(&torch_cases[i], cpu_isa_find(ISA_SCALAR, DTYPE_F64), 1e-11);
        check_torch(&torch_cases[i], cpu_isa_find(ISA_SCALAR, DTYPE_F32), 1e-6);
    }
    int index;
    CHECK_REFUSED(optimizer_find("sgdm", &index), UNROLL_USAGE,
                  "no optimizer 'sgdm'; fix: choose one of sgd, momentum,");
    CHECK(optimizer_at(-1) == NULL && optimizer_at(5) == NULL, "there are five optimizers");
    MUST(optimizer_find("adamw", &index));
    CHECK(index == 4 && optimizer_at(4)->states == 2, "adamw is the last");
}

int main(void)
{
    static const struct kind_case cases[] = {{"dropout", build_dropout, plain_dropout, 40, 1e-6, 1e-15},
                                             {"copy", build_copy, plain_copy, 30, 1e-6, 0},
                                             {"fill", build_fill, plain_fill, 5, 0, 0},
                                             {"tree", build_tree, plain_tree, 30, 1e-6, 0},
                                             {"norm", build_norm, plain_norm, 30, 1e-13, 1e-13},
                                             {"pack", build_pack, plain_pack, 30, 1e-7, 0},
                                             {"xent", build_xent, plain_xent, 60, 1e-5, 1e-13},
                                             {"points", build_points, plain_points, 100, 1e-6, 1e-13},
                                             {"likelihoods", build_likelihoods, plain_points, 60, 1e-5, 1e-7},
                                             {"soft", build_soft, plain_xent, 60, 1e-5, 1e-13},
                                             {"update", build_update, plain_update, 80, 1e-6, 1e-14}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_kind(&cases[i]);
    check_mask_of_part();
    for (int i = 0; i < ISA_COUNT; i++) {
        const struct cpu_isa *isa = cpu_isa_find((enum isa)i, DTYPE_F32);
        if (!isa)
            continue;
        for (int loss = 0; loss_at(loss); loss++)
            if (!loss_at(loss)->of_sequences) /* these have an operation of their own */
                check_loss_keeps_nan(loss_at(loss)->name, isa);
    }
    check_optimizers();
    return check_finish("test_kernels_training");
}
