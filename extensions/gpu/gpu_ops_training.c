/* Losses, gradients of embeddings, norms and updates (gpu_launch.h). Norms and updates of all parameters are one
 * launch each; their tables are made once, with the executable. */
#include "extensions/gpu/gpu_launch.h"
#include "nn/losses/loss.h"
#include "nn/optim/optim.h"
#include <stdio.h>
#include <string.h>

/* Gradients in fp16 products are scaled up so that few of them underflow. */
static bool is_scaled(const struct plan *p)
{
    return p->config.precision == PRECISION_FP16 && p->config.mode == MODE_TRAIN;
}

static double *value_at(const struct recorder *w, const char *name)
{
    struct view value = view_of(w->plan, plan_find_buffer(w->plan, name), UPDATE);
    return (double *)(void *)view_at(w, &value).at;
}

/* ---- loss --------------------------------------------------------------------------------- */

unroll_status gpu_op_loss(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *z = &call->view[LOSS_Z], *target = &call->view[LOSS_TARGET];
    const struct loss *loss = loss_at(call->op->choice);
    char kernel[64];
    if (!loss_is_compiled(call->op->choice))
        return fail(
            UNROLL_UNSUPPORTED,
            "`loss` = '%s': GPUs run the losses that the library was built with; fix: use one of them, or device cpu",
            loss->name);
    const struct gpu_view *constants = &call->view[LOSS_CONSTANTS];
    struct loss_args args = {.z = rows_of(z),
                             .ends = ends_of(z, &call->view[LOSS_LENGTHS]),
                             .constants = (const float *)(void *)constants->at,
                             .levels = constants->at ? constants->count[0] : 1,
                             .smoothing = call->op->probability};
    const uint64_t rows = count_rows(&args.z);
    if (is_scaled(w->plan))
        args.scale = value_at(w, "rates") + RATE_SCALE;
    args.loss = scratch_take(w, 2 * rows * sizeof(double));
    if (loss->of_classes) {
        args.class_of = (const int32_t *)(void *)target->at;
        args.class_step = target->stride[0];
    } else {
        args.values = rows_of(target);
    }
    snprintf(kernel, sizeof kernel, "%s_gpu_loss", loss->name);
    for (char *at = kernel; (at = strchr(at, '-')) != NULL;) *at = '_';
    TRY(launch_rows(w, kernel, rows, args.z.width, ARGS(&args)));
    if (!call->view[LOSS_SUM].at) /* a recomputed forward pass computes only dz */
        return UNROLL_OK;
    return launch(w, "gpu_loss_total", 1, GPU_THREADS,
                  ARGS(&(struct loss_total_args){args.loss, rows, (double *)(void *)call->view[LOSS_SUM].at,
                                                 (double *)(void *)call->view[LOSS_WEIGHT].at}));
}

/* ---- embed_grad --------------------------------------------------------------------------- */

unroll_status gpu_op_embed_grad(struct recorder *w, const struct gpu_call *call)
{
    const struct gpu_view *tokens = &call->view[EMBED_GRAD_TOKENS], *dy = &call->view[EMBED_GRAD_DY];
    const struct gpu_view *table = &call->view[EMBED_GRAD_DTABLE];
    struct embed_grad_args args = {.tokens = (const int32_t *)(void *)tokens->at,
                                   .step = tokens->stride[0],
                                   .dy = rows_of(dy),
                                   .table_row = table->stride[1]};
    const struct launch_shape shape = {.rows = 1,
                                       .width = args.dy.width,
                                       .x = table->count[1],
                                       .y = (args.dy.width + GPU_THREADS - 1) / GPU_THREADS,
                                       .threads = GPU_THREADS};
    for (size_t shard = 0; shard < table->count[0]; shard++) {
        const struct shard_rows of = shard_of(w, dy, table, shard);
        args.first = of.first, args.rows = of.count;
        args.table = (float *)(void *)table->at + shard * table->stride[0];
        if (args.rows)
            TRY(launch_shaped(w, "gpu_embed_grad", &shape, ARGS(&args)));
    }
    return UNROLL_OK;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Tables of norms, then of updates: tensors and chunks; then the partial sums of norms, and the values shared by
 * updates. */
struct table {
    uint64_t tensors, chunks, tensor_at, chunk_at;
};
struct tables {
    struct table norm, update;
    uint64_t part_at, shared_at, scale_at, kept_at, bytes;
};

static uint64_t elements_of(const struct plan *p, int op, int view) { return view_elements(p, &p->op[op].view[view]); }

static uint64_t chunks_of(uint64_t count) { return (count + GPU_CHUNK - 1) / GPU_CHUNK; }

/* Returns the tables for the norm and the update of all tensors, and their offsets. */
static struct tables tables_of(const struct plan *p)
{
    struct tables t = {0};
    for (int i = 0; i < p->ops; i++) {
        struct table *of = p->op[i].kind == OP_NORM ? &t.norm : p->op[i].kind == OP_UPDATE ? &t.update : NULL;
        if (!of)
            continue;
        of->tensors++;
        of->chunks += chunks_of(elements_of(p, i, of == &t.norm ? (int)NORM_GRAD : (int)UPDATE_W));
    }
    t.norm.tensor_at = place_after(&t.bytes, t.norm.tensors * sizeof(struct norm_tensor));
    t.norm.chunk_at = place_after(&t.bytes, t.norm.chunks * sizeof(struct gpu_chunk));
    t.update.tensor_at = place_after(&t.bytes, t.update.tensors * sizeof(struct update_tensor));
    t.update.chunk_at = place_after(&t.bytes, t.update.chunks * sizeof(struct gpu_chunk));
    t.part_at = place_after(&t.bytes, t.norm.chunks * sizeof(double));
    t.shared_at = place_after(&t.bytes, UPDATE_RATES_BYTES);
    t.scale_at = place_after(&t.bytes, sizeof(float));
    t.kept_at = place_after(&t.bytes, 2 * sizeof(double));
    return t;
}

uint64_t gpu_tables_bytes(const struct plan *p) { return tables_of(p).bytes; }

/* Parameters and their gradients have no gaps; the gradient with shards is the first of them. */
static unroll_status contiguous(const struct gpu_view *x)
{
    return view_is_whole(x)
               ? UNROLL_OK
               : fail(UNROLL_FAILURE,
                      "a parameter has gaps; fix: report it with the network and the options, or device cpu");
}

static void fill_chunks(struct gpu_chunk *chunk, uint64_t *done, uint32_t tensor, uint64_t count)
{
    for (uint32_t i = 0; i < chunks_of(count); i++) chunk[(*done)++] = (struct gpu_chunk){tensor, i};
}

static unroll_status fill_norm(const struct recorder *w, int op, struct norm_tensor *to, uint64_t first_chunk)
{
    struct gpu_view grad = view_at(w, &w->plan->op[op].view[NORM_GRAD]);
    struct gpu_view out = view_at(w, &w->plan->op[op].view[NORM_OUT]);
    uint64_t count = elements_of(w->plan, op, NORM_GRAD);
    *to = (struct norm_tensor){(float *)(void *)grad.at, count, (double *)(void *)out.at, (uint32_t)first_chunk,
                               (uint32_t)chunks_of(count)};
    return contiguous(&grad);
}

static unroll_status contiguous_at(const struct recorder *w, int op, int slot, float **at)
{
    struct gpu_view v = view_at(w, &w->plan->op[op].view[slot]);
    *at = (float *)(void *)v.at;
    return contiguous(&v);
}

static unroll_status fill_update(const struct recorder *w, int op, struct update_tensor *to)
{
    TRY(contiguous_at(w, op, UPDATE_W, &to->w));
    TRY(contiguous_at(w, op, UPDATE_GRAD, &to->g));
    for (int i = 0; i < w->plan->config.optimizer_states; i++)
        TRY(contiguous_at(w, op, UPDATE_STATE + i, &to->state[i]));
    to->count = elements_of(w->plan, op, UPDATE_W);
    return UNROLL_OK;
}

unroll_status gpu_tables_fill(const struct recorder *w, char *host)
{
    const struct plan *p = w->plan;
    const struct tables t = tables_of(p);
    struct norm_tensor *norm = (struct norm_tensor *)(void *)(host + t.norm.tensor_at);
    struct update_tensor *update = (struct update_tensor *)(void *)(host + t.update.tensor_at);
    uint64_t norms = 0, norm_chunks = 0, updates = 0, update_chunks = 0;
    for (int i = 0; i < p->ops; i++) {
        if (p->op[i].kind == OP_NORM) {
            TRY(fill_norm(w, i, &norm[norms], norm_chunks));
            fill_chunks((struct gpu_chunk *)(void *)(host + t.norm.chunk_at), &norm_chunks, (uint32_t)norms,
                        norm[norms].count);
            norms++;
        } else if (p->op[i].kind == OP_UPDATE) {
            TRY(fill_update(w, i, &update[updates]));
            fill_chunks((struct gpu_chunk *)(void *)(host + t.update.chunk_at), &update_chunks, (uint32_t)updates,
                        update[updates].count);
            updates++;
        }
    }
    return UNROLL_OK;
}

/* ---- norms, updates ------------------------------------------------------------------------ */

unroll_status gpu_norms(struct recorder *w)
{
    const struct tables t = tables_of(w->plan);
    struct norm_args args = {(const struct norm_tensor *)(void *)(w->fixed + t.norm.tensor_at),
                             (const struct gpu_chunk *)(void *)(w->fixed + t.norm.chunk_at),
                             (double *)(void *)(w->fixed + t.part_at), (uint32_t)t.norm.tensors,
                             (uint32_t)t.norm.chunks};
    TRY(launch(w, "gpu_norm_parts", t.norm.chunks, GPU_THREADS, ARGS(&args)));
    TRY(launch_each(w, "gpu_norm", t.norm.tensors, 1, ARGS(&args)));
    if (!is_scaled(w->plan))
        return UNROLL_OK;
    return launch(w, "gpu_unscale", 1, 1,
                  ARGS(&(struct unscale_args){value_at(w, "norms"), value_at(w, "rates"),
                                              (uint32_t)w->plan->model->parameters, 0}));
}

unroll_status gpu_updates(struct recorder *w, const struct op *op)
{
    const struct tables t = tables_of(w->plan);
    struct gpu_call call;
    char kernel[64];
    if (!optimizer_is_compiled(op->choice))
        return fail(
            UNROLL_UNSUPPORTED,
            "optimizer = '%s': GPUs run the optimizers that the library was built with; fix: use one of them, or device cpu",
            optimizer_at(op->choice)->name);
    call_at(w, op, &call);
    struct update_begin_args begin = {.rates = value_at(w, "rates"),
                                      .is_scaled = is_scaled(w->plan),
                                      .norms = (const double *)(void *)call.view[UPDATE_NORM].at,
                                      .norm_count = call.view[UPDATE_NORM].count[0],
                                      .weight = (const double *)(void *)call.view[UPDATE_WEIGHT].at,
                                      .shared = w->fixed + t.shared_at,
                                      .scale = (float *)(void *)(w->fixed + t.scale_at)};
    TRY(launch(w, "gpu_update_begin", 1, 1, ARGS(&begin)));
    snprintf(kernel, sizeof kernel, "%s_gpu_update", optimizer_at(op->choice)->name);
    return launch(w, kernel, t.update.chunks, GPU_THREADS,
                  ARGS(&(struct update_args){(const struct update_tensor *)(void *)(w->fixed + t.update.tensor_at),
                                             (const struct gpu_chunk *)(void *)(w->fixed + t.update.chunk_at),
                                             begin.shared, begin.scale}));
}

unroll_status gpu_step(struct recorder *w, bool begins)
{
    return launch(w, "gpu_step", 1, 1,
                  ARGS(&(struct step_args){value_at(w, "loss_sum"), value_at(w, "weight_sum"),
                                           (double *)(void *)(w->fixed + tables_of(w->plan).kept_at), begins, 0}));
}
