/* Products and lookups over all steps at once: gemm, gemm_dx, gemm_dw, bias_grad, embed, embed_grad. */
#include "extensions/xla/translate.h"

/* Returns [N, K] of weights [(G), U, K]. */
static struct value flat_weights(struct translation *t, const struct view *v)
{
    struct value w = view_get(t, v);
    int64_t width = w.shape.dim[w.shape.rank - 1];
    return hlo_reshape(&t->h, w, SHAPE(shape_count(w.shape) / width, width));
}

unroll_status translate_gemm(struct translation *t, const struct op *op)
{
    struct value x = view_get(t, &op->view[GEMM_X]);
    struct value w = flat_weights(t, &op->view[GEMM_W]);
    x = by_rows(t, x);
    struct value y = hlo_dot(&t->h, x, 2, w, 1);
    if (has(op, GEMM_BIAS)) {
        struct value bias = view_get(t, &op->view[GEMM_BIAS]);
        bias = hlo_reshape(&t->h, bias, SHAPE(shape_count(bias.shape)));
        bias = hlo_spread(&t->h, bias, y.shape, (int[]){2});
        y = hlo_binary(&t->h, "add", y, bias);
    }
    struct value lasts = rows_lasting(t, &op->view[GEMM_Y], &op->view[GEMM_LENGTHS]);
    y = masked(t, lasts, y);
    view_put(t, &op->view[GEMM_Y], y);
    return UNROLL_OK;
}

unroll_status translate_gemm_dx(struct translation *t, const struct op *op)
{
    struct value dy = view_get(t, &op->view[GEMM_DX_DY]);
    struct value w = flat_weights(t, &op->view[GEMM_DX_W]);
    dy = by_rows(t, dy);
    struct value dx = hlo_dot(&t->h, dy, 2, w, 0);
    struct value lasts = rows_lasting(t, &op->view[GEMM_DX_DY], &op->view[GEMM_DX_LENGTHS]);
    dx = masked(t, lasts, dx);
    view_put(t, &op->view[GEMM_DX_DX], dx);
    return UNROLL_OK;
}

/* ---- sums over rows, for each shard of the batch --------------------------------------- */

/* Returns the rows of one shard of x [T, B, W], as [T * rows, W]. */
static struct value shard_of(struct translation *t, struct value x, uint32_t first, uint32_t count)
{
    const int64_t from[HLO_AXES] = {0, first};
    struct shape shape = SHAPE(x.shape.dim[0], count, x.shape.dim[2]);
    x = hlo_slice(&t->h, x, from, shape);
    return hlo_reshape(&t->h, x, SHAPE(shape.dim[0] * shape.dim[1], shape.dim[2]));
}

/* Returns dy^T x, or the sum of dy over its rows if x is absent (id -1). */
static struct value sum_of_shard(struct translation *t, struct value dy, struct value x, uint32_t shard)
{
    uint32_t first, count;
    shard_range(t->plan->config.B, (int)t->plan->config.shards, (int)shard, 1, &first, &count);
    first -= t->plan->config.shards > 1 ? t->plan->first_row : 0;
    count = t->plan->config.shards > 1 ? count : (uint32_t)dy.shape.dim[1];
    dy = shard_of(t, dy, first, count);
    if (x.id < 0)
        return hlo_reduce(&t->h, "add", dy, 0, 1);
    x = shard_of(t, x, first, count);
    return hlo_dot(&t->h, dy, 0, x, 0);
}

/* Returns all shards of a sum [S, ..], joined. */
static struct value sum_shards(struct translation *t, const struct view *sum, struct value dy, struct value x)
{
    struct shape one = shape_of_view(sum, t->plan);
    struct value all = {.id = -1};
    uint32_t first = t->plan->buffer[sum->buffer].origin[0] + sum->first[0];
    one.dim[0] = 1;
    for (uint32_t s = 0; s < sum->count[0]; s++) {
        struct value shard = sum_of_shard(t, dy, x, first + s);
        shard = hlo_reshape(&t->h, shard, one);
        all = all.id < 0 ? shard : hlo_join(&t->h, all, shard, 0);
    }
    return all;
}

/* Returns dy [T, B, N], with zeros after the end of rows. */
static struct value gradient_rows(struct translation *t, const struct view *v, const struct view *lengths)
{
    struct value dy = view_get(t, v);
    dy = by_rows(t, dy);
    struct value lasts = rows_lasting(t, v, lengths);
    return masked(t, lasts, dy);
}

unroll_status translate_gemm_dw(struct translation *t, const struct op *op)
{
    const struct view *x_view = &op->view[GEMM_DW_X], *lengths = &op->view[GEMM_DW_LENGTHS];
    struct value dy = gradient_rows(t, &op->view[GEMM_DW_DY], lengths);
    struct value x = view_get(t, x_view);
    x = by_rows(t, x);
    if (op->shift) {
        struct value first = view_get(t, &op->view[GEMM_DW_INIT]);
        x = entering(t, op, x, first, x_view, lengths, &op->view[GEMM_DW_RESET]);
    }
    struct value sum = sum_shards(t, &op->view[GEMM_DW_DW], dy, x);
    view_put(t, &op->view[GEMM_DW_DW], sum);
    return UNROLL_OK;
}

unroll_status translate_bias_grad(struct translation *t, const struct op *op)
{
    struct value dy = gradient_rows(t, &op->view[BIAS_GRAD_DY], &op->view[BIAS_GRAD_LENGTHS]);
    struct value sum = sum_shards(t, &op->view[BIAS_GRAD_SUM], dy, (struct value){.id = -1});
    view_put(t, &op->view[BIAS_GRAD_SUM], sum);
    if (has(op, BIAS_GRAD_TWIN))
        view_put(t, &op->view[BIAS_GRAD_TWIN], sum);
    return UNROLL_OK;
}

/* ---- tokens ---------------------------------------------------------------------------- */

/* Returns [T, B, V]: 1 in the column of the token; all 0 for a negative token. */
static struct value one_hot(struct translation *t, struct value token, int64_t classes)
{
    struct shape shape = SHAPE(token.shape.dim[0], token.shape.dim[1], classes);
    struct value column = hlo_iota(&t->h, HLO_I32, shape, 2);
    token = hlo_spread(&t->h, token, shape, (int[]){0, 1});
    struct value is = hlo_compare(&t->h, "EQ", column, token);
    return hlo_convert(&t->h, is, HLO_F32);
}

unroll_status translate_embed(struct translation *t, const struct op *op)
{
    struct value token = view_get(t, &op->view[EMBED_TOKENS]), x;
    if (has(op, EMBED_TABLE)) {
        struct value table = view_get(t, &op->view[EMBED_TABLE]);
        struct value zero = hlo_constant(&t->h, HLO_I32, token.shape, 0);
        struct value there = hlo_compare(&t->h, "GE", token, zero);
        token = hlo_binary(&t->h, "maximum", token, zero);
        x = hlo_rows(&t->h, table, token);
        x = masked(t, there, x);
    } else {
        x = one_hot(t, token, op->view[EMBED_OUT].count[2]);
    }
    view_put(t, &op->view[EMBED_OUT], x);
    return UNROLL_OK;
}

unroll_status translate_embed_grad(struct translation *t, const struct op *op)
{
    const struct view *sum = &op->view[EMBED_GRAD_DTABLE];
    struct value token = view_get(t, &op->view[EMBED_GRAD_TOKENS]);
    struct value dy = view_get(t, &op->view[EMBED_GRAD_DY]);
    struct value hot = one_hot(t, token, sum->count[1]);
    struct value all = sum_shards(t, sum, hot, dy);
    view_put(t, sum, all);
    return UNROLL_OK;
}
