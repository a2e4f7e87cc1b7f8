/* Products, sums over rows and lookups on the CPU: overlays against the reference, the reference against plain
 * formulas, and the sum contract: chunks of time do not change any bit. `perf`: measures speed instead. */
/* test: kinds=plain,long-memory; seconds=20 */
#include "kernel_check.h"
#include "kernel_perf.h"

/* ---- the product itself ---------------------------------------------------------------- */

struct product_case {
    struct product p;
    float *a, *b, *c, *bias;
    size_t c_size, end[3];
};

/* Creates a matrix product with random sizes and strides. */
static void product_new(struct product_case *k, struct rng *rng, bool packed, bool transposed)
{
    bool strips = rng_below(rng, 3) == 0;
    size_t m = 1 + rng_below(rng, 120), n = 1 + rng_below(rng, 100);
    size_t depth = rng_below(rng, 20) ? rng_below(rng, 600) : 0;
    size_t a_row = transposed ? 1 : depth + rng_below(rng, 3), a_col = transposed ? m + rng_below(rng, 3) : 1;
    size_t b_row = packed ? PANEL : n + rng_below(rng, 3), b_panel = packed ? (depth + 1) * PANEL : PANEL;
    size_t a_strip = strips ? STRIP * a_row + depth * a_col + rng_below(rng, 3) : 0;
    size_t c_row = n + rng_below(rng, 3), a_size = m * a_row + depth * a_col + 1 + (m / STRIP + 1) * a_strip;
    size_t b_size = packed ? panels(n) * b_panel : depth * b_row + 1;
    *k = (struct product_case){.c_size = m * c_row};
    k->a = malloc(a_size * sizeof(float));
    k->b = malloc(b_size * sizeof(float));
    k->c = malloc(k->c_size * sizeof(float));
    for (size_t i = 0; i < a_size; i++) k->a[i] = 2 * rng_uniform(rng) - 1;
    for (size_t i = 0; i < b_size; i++) k->b[i] = 2 * rng_uniform(rng) - 1;
    for (size_t i = 0; i < k->c_size; i++) k->c[i] = 2 * rng_uniform(rng) - 1;
    k->bias = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) k->bias[i] = 2 * rng_uniform(rng) - 1;
    k->p = (struct product){.m = m,
                            .n = n,
                            .k = depth,
                            .a = k->a,
                            .a_row = a_row,
                            .a_col = (ptrdiff_t)a_col,
                            .a_strip = a_strip,
                            .b = k->b,
                            .b_row = b_row,
                            .b_panel = b_panel,
                            .c = k->c,
                            .c_row = c_row,
                            .bias = rng_below(rng, 2) ? k->bias : NULL,
                            .start = (enum start)rng_below(rng, 3),
                            .wanted = rng_below(rng, 2) ? k->a : NULL,
                            .wanted_bytes = a_size * sizeof(float),
                            .wanted_row = rng_below(rng, 2) * 4 * a_row};
    if (k->p.start != ZERO_THEN_ADD || rng_below(rng, 2))
        return;
    k->p.end = k->end;
    k->p.chains = 3;
    k->end[0] = rng_below(rng, (uint32_t)depth + 1);
    k->end[1] = k->end[0] + rng_below(rng, (uint32_t)(depth - k->end[0]) + 1);
    k->end[2] = depth;
}

/* Rare cases with code of their own: a single row as wide as a panel, and rows of a^T with descending addresses. */
static void make_rare(struct product_case *k, int number)
{
    struct product *p = &k->p;
    if (number % 3 == 0 && p->n >= PANEL && p->a_col == 1) {
        p->m = 1;
        p->n = PANEL;
        p->bias = p->wanted = NULL;
    } else if (number % 3 == 1 && p->k > 0 && !p->a_strip) {
        p->a = k->a + (p->k - 1) * (size_t)p->a_col;
        p->a_col = -p->a_col;
    }
}

static void check_products(const struct cpu_isa *isa)
{
    struct rng rng = rng_new(7, 7);
    for (int i = 0; i < 480 / SLOWER; i++) {
        struct product_case k;
        product_new(&k, &rng, i % 2, i / 2 % 2);
        make_rare(&k, i / 4);
        float *found = malloc(k.c_size * sizeof(float));
        memcpy(found, k.c, k.c_size * sizeof(float));
        struct product p = k.p;
        p.c = found;
        use_workspace(0);
        isa->product(&p);
        cpu_isa_find(ISA_SCALAR, DTYPE_F32)->product(&k.p);
        CHECK(memcmp(found, k.c, k.c_size * sizeof(float)) == 0, "%s: product %zu x %zu x %zu", isa->name, p.m, p.n,
              p.k);
        free(k.a);
        free(k.b);
        free(k.c);
        free(k.bias);
        free(found);
    }
}

/* ---- active rows ----------------------------------------------------------------------- */

static bool lasts_in(const struct fixture *f, int lengths, size_t t, size_t b)
{
    return !f->call.view[lengths].at || (double)t < value(f, lengths, b, 0, 0, 0);
}

/* Chooses lengths, or none; returns the number of active rows. */
static double choose_lengths(struct fixture *f, int lengths, uint32_t T, uint32_t B)
{
    double rows = 0;
    if (random_size(f, 0, 1))
        make_integers(f, lengths, 1, SIZES(B), T + 1, false);
    for (uint32_t t = 0; t < T; t++)
        for (uint32_t b = 0; b < B; b++) rows += lasts_in(f, lengths, t, b);
    return rows;
}

/* ---- gemm, gather_columns and gemm_dx ------------------------------------------------------------ */

/* Makes x of a product, or tokens that stand for it. */
static void make_x(struct fixture *f, int slot, enum dtype real, uint32_t T, uint32_t B, uint32_t K)
{
    if (f->op.kind == OP_GATHER_COLUMNS || f->op.kind == OP_SCATTER_ADD)
        make_integers(f, slot, 2, SIZES(T, B), K, true);
    else
        make(f, slot, real, READ, 3, SIZES(T, B, K));
}

static double x_at(const struct fixture *f, int slot, size_t t, size_t b, size_t k)
{
    bool tokens = f->call.view[slot].dtype == DTYPE_I32;
    return tokens ? value(f, slot, t, b, 0, 0) == (double)k : value(f, slot, t, b, k, 0);
}

static struct fixture *build_product(enum op_kind kind, uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(kind, seed, real);
    uint32_t T = random_size(f, 1, 5), B = random_size(f, 1, 9), G = random_size(f, 1, 4);
    uint32_t U = seed % 3 ? random_size(f, 1, 70) : 32 * random_size(f, 1, 2), K = random_size(f, 1, 50);
    bool gated = random_size(f, 0, 3) != 0;
    G = gated ? G : 1;
    make_x(f, GEMM_X, real, T, B, K);
    make_panels(f, GEMM_W, READ, G, U, K);
    if (random_size(f, 0, 2))
        make(f, GEMM_BIAS, real, READ, gated ? 2 : 1, gated ? SIZES(G, U) : SIZES(U));
    make(f, GEMM_Y, real, WRITE, gated ? 4 : 3, gated ? SIZES(T, B, G, U) : SIZES(T, B, U));
    f->flops = 2 * choose_lengths(f, GEMM_LENGTHS, T, B) * G * U * K;
    f->flops = kind == OP_GATHER_COLUMNS ? 0 : f->flops;
    return f;
}

static struct fixture *build_gemm(uint64_t seed, enum dtype real) { return build_product(OP_GEMM, seed, real); }
static struct fixture *build_gather_columns(uint64_t seed, enum dtype real)
{
    return build_product(OP_GATHER_COLUMNS, seed, real);
}

/* Returns the offset of (t, b, n) in a tensor [T, B, (G), U], where n counts gates and units. */
static size_t at_unit(const struct fixture *f, int slot, size_t t, size_t b, size_t n)
{
    const struct tensor *x = &f->call.view[slot];
    uint32_t units = x->count[x->rank - 1];
    return x->rank == 4 ? at4(f, slot, t, b, n / units, n % units) : at4(f, slot, t, b, n, 0);
}

static void plain_gemm(struct fixture *f)
{
    const struct tensor *w = &f->call.view[GEMM_W], *y = &f->call.view[GEMM_Y];
    size_t U = w->count[1], K = w->count[2], N = w->count[0] * U;
    for (size_t t = 0; t < y->count[0]; t++)
        for (size_t b = 0; b < y->count[1]; b++)
            for (size_t n = 0; n < N; n++) {
                double sum = 0;
                if (f->call.view[GEMM_BIAS].at)
                    sum = f->call.view[GEMM_BIAS].rank == 2 ? value(f, GEMM_BIAS, n / U, n % U, 0, 0)
                                                            : value(f, GEMM_BIAS, n, 0, 0, 0);
                for (size_t k = 0; k < K; k++)
                    sum += x_at(f, GEMM_X, t, b, k) * get(f, GEMM_W, panel_at(n / U, n % U, k, U, K));
                bool lasts = lasts_in(f, GEMM_LENGTHS, t, b);
                if (lasts || y->rank == 3) /* gates are unchanged */
                    set(f, GEMM_Y, at_unit(f, GEMM_Y, t, b, n), lasts ? sum : 0);
            }
}

static struct fixture *build_gemm_dx(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_GEMM_DX, seed, real);
    uint32_t T = random_size(f, 1, 5), B = random_size(f, 1, 20), G = random_size(f, 1, 4);
    uint32_t U = random_size(f, 1, 40), K = random_size(f, 1, 80);
    bool gated = random_size(f, 0, 3) != 0;
    G = gated ? G : 1;
    make(f, GEMM_DX_DY, real, READ, gated ? 4 : 3, gated ? SIZES(T, B, G, U) : SIZES(T, B, U));
    make_columns(f, GEMM_DX_W, READ, gated, G, U, K);
    make(f, GEMM_DX_DX, real, random_size(f, 0, 1) ? ADD : WRITE, 3, SIZES(T, B, K));
    f->flops = 2 * choose_lengths(f, GEMM_DX_LENGTHS, T, B) * G * U * K;
    return f;
}

static void plain_gemm_dx(struct fixture *f)
{
    const struct tensor *w = &f->call.view[GEMM_DX_W], *dx = &f->call.view[GEMM_DX_DX];
    size_t U = w->count[w->rank - 2], N = w->rank == 3 ? w->count[0] * U : U;
    bool adds = f->op.view[GEMM_DX_DX].access == ADD;
    for (size_t t = 0; t < dx->count[0]; t++)
        for (size_t b = 0; b < dx->count[1]; b++)
            for (size_t k = 0; k < dx->count[2]; k++) {
                double sum = adds ? value(f, GEMM_DX_DX, t, b, k, 0) : 0;
                for (size_t n = 0; n < N && lasts_in(f, GEMM_DX_LENGTHS, t, b); n++)
                    sum += get(f, GEMM_DX_DY, at_unit(f, GEMM_DX_DY, t, b, n)) * get(f, GEMM_DX_W, column_at(n, k, N));
                set(f, GEMM_DX_DX, at4(f, GEMM_DX_DX, t, b, k, 0), sum);
            }
}

/* ---- gradients over rows --------------------------------------------------------------- */

enum { MAX_ROWS = 100, MAX_COLUMNS = 300 };

/* Cuts the batch in shards; a rank may have only some of them. */
static void choose_shards(struct fixture *f, uint32_t T, uint32_t *S, uint32_t *B)
{
    static const uint32_t shards[] = {1, 2, 4};
    struct plan_config *c = &f->plan.config;
    uint32_t first, count, all = shards[random_size(f, 0, 2)];
    uint32_t mine = all > 1 && random_size(f, 0, 1) ? all / 2 : all;
    c->shards = all;
    c->B = random_size(f, 0, 4) ? random_size(f, 1, 12) : random_size(f, 40, MAX_ROWS);
    c->T = T;
    f->plan.block_steps = random_size(f, 1, 4);
    shard_range(c->B, (int)(all / mine), (int)(all / mine) - 1, 1, &first, &count); /* the last rank's rows */
    *S = mine;
    *B = count;
}

static void set_origins(struct fixture *f, int dy, int sum, uint32_t S, uint32_t B)
{
    f->call.view[dy].origin[1] = f->plan.config.B - B;
    f->call.view[sum].origin[0] = f->plan.config.shards - S;
}

/* Creates a weight gradient with random sizes. */
static struct fixture *build_gemm_dw_of(enum op_kind kind, uint64_t seed, enum dtype real, uint32_t units,
                                        uint32_t columns)
{
    struct fixture *f = fixture_new(kind, seed, real);
    uint32_t T = random_size(f, 1, 10), G = random_size(f, 1, 3), S, B;
    uint32_t U = random_size(f, 1, units), K = random_size(f, 1, random_size(f, 0, 3) ? columns : 3);
    choose_shards(f, T, &S, &B);
    bool gated = random_size(f, 0, 3) != 0;
    G = gated ? G : 1;
    f->op.direction = (int)random_size(f, 0, 1);
    f->op.shift = kind == OP_GEMM_DW && random_size(f, 0, 2) > 0;
    make(f, GEMM_DW_DY, real, READ, gated ? 4 : 3, gated ? SIZES(T, B, G, U) : SIZES(T, B, U));
    make_x(f, GEMM_DW_X, real, T, B, K);
    make(f, GEMM_DW_DW, real, ADD, gated ? 4 : 3, gated ? SIZES(S, G, U, K) : SIZES(S, U, K));
    set_origins(f, GEMM_DW_DY, GEMM_DW_DW, S, B);
    f->flops = 2 * choose_lengths(f, GEMM_DW_LENGTHS, T, B) * G * U * K;
    f->flops = kind == OP_SCATTER_ADD ? 0 : f->flops;
    if (!f->op.shift)
        return f;
    make(f, GEMM_DW_INIT, real, READ, 2, SIZES(B, K));
    if (random_size(f, 0, 1)) {
        make(f, GEMM_DW_RESET, DTYPE_U8, READ, 2, SIZES(T, B));
        EACH(f, GEMM_DW_RESET)
        set(f, GEMM_DW_RESET, at4(f, GEMM_DW_RESET, i, j, k, l), random_size(f, 0, 4) == 0);
    }
    return f;
}

static struct fixture *build_gemm_dw(uint64_t seed, enum dtype real)
{
    return build_gemm_dw_of(OP_GEMM_DW, seed, real, 130, 100);
}

/* More units than are summed at a time; cases with many symbols have fewer. */
static struct fixture *build_scatter_add(uint64_t seed, enum dtype real)
{
    return build_gemm_dw_of(OP_SCATTER_ADD, seed, real, 300, seed % 5 ? MAX_COLUMNS : MAX_GATHERED_COLUMNS);
}

/* More units and columns than are multiplied at a time. */
static struct fixture *build_gemm_dw_bf16x3(uint64_t seed, enum dtype real)
{
    struct fixture *f = build_gemm_dw_of(OP_GEMM_DW, seed, real, 250, MAX_COLUMNS);
    f->plan.splits_dw = true;
    return f;
}

/* Returns the operand of dW at step t of row b. */
static double plain_x(const struct fixture *f, size_t t, size_t b, size_t k)
{
    size_t T = f->call.view[GEMM_DW_X].count[0];
    bool has_lengths = f->call.view[GEMM_DW_LENGTHS].at, has_reset = f->call.view[GEMM_DW_RESET].at;
    if (!f->op.shift)
        return x_at(f, GEMM_DW_X, t, b, k);
    if (has_reset && value(f, GEMM_DW_RESET, t, b, 0, 0) != 0)
        return 0;
    if (f->op.direction == 0)
        return t == 0 ? value(f, GEMM_DW_INIT, b, k, 0, 0) : value(f, GEMM_DW_X, t - 1, b, k, 0);
    bool starts = t == T - 1 || (has_lengths && (double)t == value(f, GEMM_DW_LENGTHS, b, 0, 0, 0) - 1);
    return starts ? value(f, GEMM_DW_INIT, b, k, 0, 0) : value(f, GEMM_DW_X, t + 1, b, k, 0);
}

/* Returns the shard of a row as an index of the view. */
static size_t shard_of(const struct fixture *f, int dy, int sum, size_t b)
{
    const struct plan_config *c = &f->plan.config;
    for (uint32_t s = 0; s < c->shards; s++) {
        uint32_t first, count;
        shard_range(c->B, (int)c->shards, (int)s, 1, &first, &count);
        size_t global = f->call.view[dy].origin[1] + b;
        if (global >= first && global < first + count)
            return s - f->call.view[sum].origin[0];
    }
    abort();
}

static void plain_gemm_dw(struct fixture *f)
{
    const struct tensor *dy = &f->call.view[GEMM_DW_DY];
    EACH(f, GEMM_DW_DW)
    {
        size_t n = dy->rank == 4 ? j * dy->count[3] + k : j, column = dy->rank == 4 ? l : k;
        double sum = value(f, GEMM_DW_DW, i, j, k, l);
        for (size_t t = 0; t < dy->count[0]; t++)
            for (size_t b = 0; b < dy->count[1]; b++)
                if (shard_of(f, GEMM_DW_DY, GEMM_DW_DW, b) == i && lasts_in(f, GEMM_DW_LENGTHS, t, b))
                    sum += get(f, GEMM_DW_DY, at_unit(f, GEMM_DW_DY, t, b, n)) * plain_x(f, t, b, column);
        set(f, GEMM_DW_DW, at4(f, GEMM_DW_DW, i, j, k, l), sum);
    }
}

static struct fixture *build_bias_grad(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_BIAS_GRAD, seed, real);
    uint32_t T = random_size(f, 1, 10), G = random_size(f, 1, 4), U = random_size(f, 1, 150), S, B;
    choose_shards(f, T, &S, &B);
    f->op.direction = (int)random_size(f, 0, 1);
    bool gated = random_size(f, 0, 1);
    make(f, BIAS_GRAD_DY, real, READ, gated ? 4 : 3, gated ? SIZES(T, B, G, U) : SIZES(T, B, U));
    make(f, BIAS_GRAD_SUM, real, ADD, gated ? 3 : 2, gated ? SIZES(S, G, U) : SIZES(S, U));
    if (random_size(f, 0, 1))
        make(f, BIAS_GRAD_TWIN, real, ADD, gated ? 3 : 2, gated ? SIZES(S, G, U) : SIZES(S, U));
    set_origins(f, BIAS_GRAD_DY, BIAS_GRAD_SUM, S, B);
    choose_lengths(f, BIAS_GRAD_LENGTHS, T, B);
    return f;
}

static void plain_bias_grad(struct fixture *f)
{
    EACH(f, BIAS_GRAD_DY)
    for (int slot = BIAS_GRAD_SUM; slot <= BIAS_GRAD_TWIN && lasts_in(f, BIAS_GRAD_LENGTHS, i, j); slot++) {
        if (!f->call.view[slot].at)
            continue;
        size_t at = at4(f, slot, shard_of(f, BIAS_GRAD_DY, BIAS_GRAD_SUM, j), k, l, 0);
        set(f, slot, at, get(f, slot, at) + value(f, BIAS_GRAD_DY, i, j, k, l));
    }
}

/* ---- embed ----------------------------------------------------------------------------- */

static struct fixture *build_embed(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_EMBED, seed, real);
    uint32_t T = random_size(f, 1, 6), B = random_size(f, 1, 7), E = random_size(f, 1, 50);
    bool one_hot = random_size(f, 0, 1);
    uint32_t symbols = one_hot ? E : random_size(f, 1, 20);
    make_integers(f, EMBED_TOKENS, 2, SIZES(T, B), symbols, true);
    if (!one_hot)
        make(f, EMBED_TABLE, real, READ, 2, SIZES(symbols, E));
    make(f, EMBED_OUT, real, WRITE, 3, SIZES(T, B, E));
    return f;
}

static void plain_embed(struct fixture *f)
{
    EACH(f, EMBED_OUT)
    {
        double token = value(f, EMBED_TOKENS, i, j, 0, 0);
        double v = (double)k == token;
        if (f->call.view[EMBED_TABLE].at)
            v = token < 0 ? 0 : value(f, EMBED_TABLE, (size_t)token, k, 0, 0);
        set(f, EMBED_OUT, at4(f, EMBED_OUT, i, j, k, l), v);
    }
}

static struct fixture *build_embed_grad(uint64_t seed, enum dtype real)
{
    struct fixture *f = fixture_new(OP_EMBED_GRAD, seed, real);
    uint32_t T = random_size(f, 1, 6), E = random_size(f, 1, 70), symbols = random_size(f, 1, 9), S, B;
    choose_shards(f, T, &S, &B);
    make_integers(f, EMBED_GRAD_TOKENS, 2, SIZES(T, B), symbols, true);
    make(f, EMBED_GRAD_DY, real, READ, 3, SIZES(T, B, E));
    make(f, EMBED_GRAD_DTABLE, real, ADD, 3, SIZES(S, symbols, E));
    set_origins(f, EMBED_GRAD_DY, EMBED_GRAD_DTABLE, S, B);
    return f;
}

static void plain_embed_grad(struct fixture *f)
{
    EACH(f, EMBED_GRAD_DY)
    {
        double token = value(f, EMBED_GRAD_TOKENS, i, j, 0, 0);
        if (token < 0)
            continue;
        size_t s = shard_of(f, EMBED_GRAD_DY, EMBED_GRAD_DTABLE, j);
        size_t at = at4(f, EMBED_GRAD_DTABLE, s, (size_t)token, k, 0);
        set(f, EMBED_GRAD_DTABLE, at, get(f, EMBED_GRAD_DTABLE, at) + value(f, EMBED_GRAD_DY, i, j, k, l));
    }
}

/* ---- the sum contract, literally ------------------------------------------------------- */

/* Computes one element of a weight gradient: the leaves of its shard, each a chain from zero. */
static float contract_element(const struct fixture *f, float sum, size_t shard, size_t n, size_t column)
{
    const struct tensor *dy = &f->call.view[GEMM_DW_DY];
    uint32_t T = dy->count[0], q = f->plan.block_steps, acc_blocks = (T + q - 1) / q;
    for (uint32_t i = 0; i < acc_blocks; i++) {
        uint32_t first = (f->op.direction ? i : acc_blocks - 1 - i) * q;
        float acc_block = 0;
        bool any = false;
        for (uint32_t t = first; t < T && t < first + q; t++)
            for (uint32_t b = 0; b < dy->count[1]; b++)
                if (shard_of(f, GEMM_DW_DY, GEMM_DW_DW, b) == shard && lasts_in(f, GEMM_DW_LENGTHS, t, b)) {
                    any = true;
                    acc_block = fmaf((float)get(f, GEMM_DW_DY, at_unit(f, GEMM_DW_DY, t, b, n)),
                                     (float)plain_x(f, t, b, column), acc_block);
                }
        if (any)
            sum += acc_block;
    }
    return sum;
}

static void check_contract(const struct kind_case *c)
{
    for (uint64_t seed = 1; seed <= 40 / SLOWER; seed++) {
        struct fixture *before = c->build(seed, DTYPE_F32), *after = c->build(seed, DTYPE_F32);
        const struct tensor *dw = &before->call.view[GEMM_DW_DW];
        run_on(after, cpu_isa_find(ISA_SCALAR, DTYPE_F32), 1);
        for (int i = 0; i < 10; i++) {
            uint32_t shard = random_size(before, 0, dw->count[0] - 1), columns = dw->count[dw->rank - 1];
            uint32_t units = dw->count[dw->rank - 2], gates = dw->rank == 4 ? dw->count[1] : 1;
            uint32_t n = random_size(before, 0, gates * units - 1), k = random_size(before, 0, columns - 1);
            size_t at = dw->rank == 4 ? at4(before, GEMM_DW_DW, shard, n / units, n % units, k)
                                      : at4(before, GEMM_DW_DW, shard, n, k, 0);
            float expected = contract_element(before, (float)get(before, GEMM_DW_DW, at), shard, n, k);
            float found = (float)get(after, GEMM_DW_DW, at);
            CHECK(found == expected, "%s seed %d: %a, by the contract %a", c->name, (int)seed, (double)found,
                  (double)expected);
        }
        fixture_free(before);
        fixture_free(after);
    }
}

/* ---- chunks of time -------------------------------------------------------------------- */

static void narrow_time(struct tensor *x, uint32_t first, uint32_t count)
{
    if (!x->at)
        return;
    x->at = (char *)x->at + first * x->stride[0] * dtype_size(x->dtype);
    x->count[0] = count;
    x->origin[0] += first;
}

/* Sets the state at the start of a chunk, as the recurrence passes it on. For a row that starts in or after the chunk,
 * it is that of the whole sequence. */
static void enter_chunk(struct fixture *f, const struct call *whole, uint32_t first, uint32_t end, const double *init)
{
    const struct call chunk = f->call;
    const int32_t *lengths = whole->view[GEMM_DW_LENGTHS].at;
    f->call = *whole;
    uint32_t T = whole->view[GEMM_DW_X].count[0], K = whole->view[GEMM_DW_INIT].count[1];
    for (uint32_t b = 0; b < whole->view[GEMM_DW_INIT].count[0]; b++)
        for (uint32_t k = 0; k < K; k++) {
            bool starts = f->op.direction ? end == T || (lengths && lengths[b] <= (int32_t)end) : first == 0;
            double v = starts ? init[b * K + k] : value(f, GEMM_DW_X, f->op.direction ? end : first - 1, b, k, 0);
            set(f, GEMM_DW_INIT, at4(f, GEMM_DW_INIT, b, k, 0, 0), v);
        }
    f->call = chunk;
}

/* Runs an operation chunk by chunk, in the order of backward. */
static void run_in_chunks(struct fixture *f, const struct cpu_isa *isa, int chunks, const int *timed, int n)
{
    const struct call whole = f->call;
    double init[MAX_ROWS * MAX_COLUMNS];
    uint32_t T = whole.view[timed[0]].count[0];
    bool shifts = f->op.kind == OP_GEMM_DW && f->op.shift;
    uint32_t K = whole.view[GEMM_DW_INIT].count[1];
    for (uint32_t i = 0; shifts && i < whole.view[GEMM_DW_INIT].count[0] * K; i++)
        init[i] = value(f, GEMM_DW_INIT, i / K, i % K, 0, 0);
    for (int i = 0; i < chunks; i++) {
        uint32_t first, count;
        shard_range(T, chunks, f->op.direction ? i : chunks - 1 - i, f->plan.block_steps, &first, &count);
        f->call = whole;
        if (count == 0)
            continue;
        for (int k = 0; k < n; k++) narrow_time(&f->call.view[timed[k]], first, count);
        if (shifts)
            enter_chunk(f, &whole, first, first + count, init);
        run_on(f, isa, 1);
    }
    f->call = whole;
}

static void check_chunks(const struct kind_case *c, int result, const int *timed, int n, const struct cpu_isa *isa)
{
    static const int chunks[] = {2, 3, 5};
    for (int seed = 1; seed <= c->cases / SLOWER; seed++) {
        struct fixture *whole = c->build((uint64_t)seed, DTYPE_F32);
        run_on(whole, isa, 1);
        for (int i = 0; i < 3; i++) {
            struct fixture *cut = c->build((uint64_t)seed, DTYPE_F32);
            run_in_chunks(cut, isa, chunks[i], timed, n);
            bool same = memcmp(cut->memory[result].data, whole->memory[result].data,
                               whole->memory[result].elements * sizeof(float)) == 0;
            CHECK(same, "%s seed %d: %s, %d chunks", c->name, seed, isa->name, chunks[i]);
            fixture_free(cut);
        }
        fixture_free(whole);
    }
}

/* ---- floats as sums of bf16 ------------------------------------------------------------------- */

/* Sums of bf16x3 splits, or of floats rounded to bf16, have bits of their own: the same in every team and for any
 * chunks, and near those of doubles. */
static void check_bf16x3(const struct kind_case *c, const struct cpu_isa *isa, const int *timed, int n)
{
    if (!isa) {
        check_skip("this machine has no tiles, or no avx512_bf16: gradients of weights from floats as bf16");
        return;
    }
    for (int seed = 1; seed <= c->cases / SLOWER; seed++) {
        struct fixture *found = c->build((uint64_t)seed, DTYPE_F32), *exact = c->build((uint64_t)seed, DTYPE_F64);
        run_on(found, isa, 1);
        run_on(exact, cpu_isa_find(ISA_SCALAR, DTYPE_F64), 1);
        double error = distance(exact, found, GEMM_DW_DW);
        CHECK(error <= c->float_error, "%s seed %d: %g from doubles", c->name, seed, error);
        check_isa(c, (uint64_t)seed, isa, found);
        fixture_free(found);
        fixture_free(exact);
    }
    check_chunks(c, GEMM_DW_DW, timed, n, isa);
}

int main(int argc, char **argv)
{
    static const struct kind_case
        gemm = {"gemm", build_gemm, plain_gemm, 40, 2e-6, 1e-14},
        gather_columns = {"pick", build_gather_columns, plain_gemm, 40, 1e-7, 0},
        scatter_add = {"scatter_add", build_scatter_add, plain_gemm_dw, 60, 2e-6, 1e-14},
        gemm_dx = {"gemm_dx", build_gemm_dx, plain_gemm_dx, 40, 2e-6, 1e-14},
        gemm_dw = {"gemm_dw", build_gemm_dw, plain_gemm_dw, 60, 2e-6, 1e-14},
        bf16x3 = {"gemm_dw of bf16x3 splits", build_gemm_dw_bf16x3, plain_gemm_dw, 60, 1e-6, 1e-14},
        bf16 = {"gemm_dw of floats rounded to bf16", build_gemm_dw_bf16x3, plain_gemm_dw, 60, 1e-2, 1e-14},
        bias_grad = {"bias_grad", build_bias_grad, plain_bias_grad, 40, 2e-6, 1e-14},
        embed = {"embed", build_embed, plain_embed, 40, 1e-7, 0},
        embed_grad = {"embed_grad", build_embed_grad, plain_embed_grad, 40, 2e-6, 1e-14};
    static const int dw_timed[] = {GEMM_DW_DY, GEMM_DW_X, GEMM_DW_RESET}, sum_timed[] = {BIAS_GRAD_DY};
    static const int embed_timed[] = {EMBED_GRAD_DY, EMBED_GRAD_TOKENS};
    const struct cpu_isa *best = cpu_isa_find(isa_best(), DTYPE_F32), *avx512 = cpu_isa_find(ISA_AVX512, DTYPE_F32);
    if (argc > 1 && strcmp(argv[1], "perf") == 0)
        return kernel_perf();
    for (int i = 0; i < SIMD_ISAS; i++)
        if (cpu_isa_find(simd_isas[i], DTYPE_F32))
            check_products(cpu_isa_find(simd_isas[i], DTYPE_F32));
        else
            check_skip("an instruction set of the list is not this machine's");
    check_kind(&gemm);
    check_kind(&gather_columns);
    check_kind(&gemm_dx);
    check_kind(&gemm_dw);
    check_kind(&scatter_add);
    check_kind(&bias_grad);
    check_kind(&embed);
    check_kind(&embed_grad);
    check_contract(&gemm_dw);
    check_contract(&scatter_add);
    check_chunks(&gemm_dw, GEMM_DW_DW, dw_timed, 3, best);
    check_bf16x3(&bf16x3, cpu_isa_find(ISA_AMX, DTYPE_F32), dw_timed, 3);
    check_bf16x3(&bf16, avx512 ? cpu_isa_with_bf16(avx512) : NULL, dw_timed, 3);
    check_chunks(&scatter_add, GEMM_DW_DW, dw_timed, 2, best);
    check_chunks(&bias_grad, BIAS_GRAD_SUM, sum_timed, 1, best);
    check_chunks(&embed_grad, EMBED_GRAD_DTABLE, embed_timed, 2, best);
    return check_finish("test_kernels");
}
