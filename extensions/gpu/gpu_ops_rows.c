/* Operations without a product or a sum over rows: embed, dropout, activate, pool, copy, fill, tree (gpu_launch.h). */
#include "extensions/gpu/gpu_launch.h"

unroll_status gpu_op_embed(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *tokens = &call->view[EMBED_TOKENS], *table = &call->view[EMBED_TABLE];
    struct embed_args args = {(const int32_t *)(void *)tokens->at, tokens->stride[0], (const float *)(void *)table->at,
                              table->stride[0], rows_of(&call->view[EMBED_OUT])};
    return launch_each(w, "gpu_embed", count_rows(&args.y), args.y.width, ARGS(&args));
}

unroll_status gpu_op_dropout(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *x = &call->view[DROPOUT_X];
    struct dropout_args args = {.x = rows_of(x),
                                .y = rows_of(&call->view[DROPOUT_Y]),
                                .ends = ends_of(x, &call->view[DROPOUT_LENGTHS]),
                                .run = (const int64_t *)(void *)call->view[DROPOUT_RUN].at,
                                .first_row = x->origin[1],
                                .first_unit = x->origin[2],
                                .stream = (uint32_t)call->op->stream,
                                .probability = call->op->probability,
                                .adds = call->op->view[DROPOUT_Y].access == ADD};
    uint32_t quads = (args.first_unit + args.x.width + 3) / 4 - args.first_unit / 4;
    return launch_each(w, "gpu_dropout", count_rows(&args.x), quads, ARGS(&args));
}

unroll_status gpu_op_activate(struct recorder *w, const struct gpu_call *call)
{
    struct activate_args args = {
        .function = call->op->activation, .x = rows_of(&call->view[ACTIVATE_X]), .y = rows_of(&call->view[ACTIVATE_Y])};
    if (args.function.kind == ACTIVATION_SOFTMAX)
        return launch_rows(w, "gpu_softmax", count_rows(&args.x), args.x.width, ARGS(&args));
    return launch_each(w, "gpu_activate", count_rows(&args.x), args.x.width, ARGS(&args));
}

unroll_status gpu_op_activate_back(struct recorder *w, const struct gpu_call *call)
{
    struct activate_back_args args = {.function = call->op->activation,
                                      .x = rows_of(&call->view[ACTIVATE_BACK_X]),
                                      .dy = rows_of(&call->view[ACTIVATE_BACK_DY]),
                                      .dx = rows_of(&call->view[ACTIVATE_BACK_DX]),
                                      .adds = call->op->view[ACTIVATE_BACK_DX].access == ADD};
    if (args.function.kind == ACTIVATION_SOFTMAX)
        return launch_rows(w, "gpu_softmax_back", count_rows(&args.x), args.x.width, ARGS(&args));
    return launch_each(w, "gpu_activate_back", count_rows(&args.x), args.x.width, ARGS(&args));
}

/* ---- pool --------------------------------------------------------------------------------- */

unroll_status gpu_op_pool(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *x = &call->view[POOL_X], *at = &call->view[POOL_AT];
    struct pool_args args = {.x = rows_of(x),
                             .y = rows_of(&call->view[POOL_Y]),
                             .at = (int32_t *)(void *)at->at,
                             .at_row = at->stride[1],
                             .ends = ends_of(x, &call->view[POOL_LENGTHS]),
                             .steps = w->plan->config.T,
                             .pool = (uint32_t)call->op->choice,
                             .begins = call->op->view[POOL_Y].access == WRITE};
    return launch_each(w, "gpu_pool", count_rows(&args.y), args.y.width, ARGS(&args));
}

unroll_status gpu_op_pool_back(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *dx = &call->view[POOL_BACK_DX], *at = &call->view[POOL_BACK_AT];
    struct pool_back_args args = {.dx = rows_of(dx),
                                  .dy = rows_of(&call->view[POOL_BACK_DY]),
                                  .at = (const int32_t *)(void *)at->at,
                                  .at_row = at->stride[1],
                                  .ends = ends_of(dx, &call->view[POOL_BACK_LENGTHS]),
                                  .steps = w->plan->config.T,
                                  .pool = (uint32_t)call->op->choice,
                                  .adds = call->op->view[POOL_BACK_DX].access == ADD};
    return launch_each(w, "gpu_pool_back", count_rows(&args.dx), args.dx.width, ARGS(&args));
}

/* ---- copy, fill --------------------------------------------------------------------------- */

/* Copies 4-byte words, two for each double. */
unroll_status gpu_move(struct recorder *w, const struct gpu_view *from, const struct gpu_view *to, bool adds)
{
    struct copy_args args = {.count = {1, 1, 1, 1},
                             .from = (const uint32_t *)(void *)from->at,
                             .to = (uint32_t *)(void *)to->at,
                             .adds = adds};
    const size_t words = dtype_size(to->dtype) / 4;
    if (dtype_size(to->dtype) % 4 || (words > 1 && adds))
        return fail(UNROLL_UNSUPPORTED,
                    "a GPU does not copy views of %s; fix: report it with the network and the options, or device cpu",
                    dtype_name(to->dtype));
    for (int i = 0; i < to->rank; i++) {
        int axis = 4 - to->rank + i;
        bool last = i == to->rank - 1;
        args.count[axis] = to->count[i] * (last ? (uint32_t)words : 1);
        args.from_stride[axis] = from->at ? from->stride[i] * (last ? 1 : words) : 0;
        args.to_stride[axis] = to->stride[i] * (last ? 1 : words);
    }
    return launch_each(w, "gpu_copy", (uint64_t)args.count[0] * args.count[1] * args.count[2], args.count[3],
                       ARGS(&args));
}

unroll_status gpu_op_copy(struct recorder *w, const struct gpu_call *call)
{
    return gpu_move(w, &call->view[COPY_FROM], &call->view[COPY_TO], call->op->view[COPY_TO].access == ADD);
}

unroll_status gpu_op_fill(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view nothing = {0};
    return gpu_move(w, &nothing, &call->view[FILL_TO], false);
}

/* ---- tree --------------------------------------------------------------------------------- */

unroll_status gpu_op_tree(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *x = &call->view[TREE_X];
    struct tree_args args = {
        .x = (float *)(void *)x->at, .shard = x->stride[0], .count = x->stride[0], .shards = x->count[0]};
    return launch_each(w, "gpu_tree", 1, args.count, ARGS(&args));
}
