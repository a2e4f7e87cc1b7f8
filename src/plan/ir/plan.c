/* Building blocks of the passes: buffers, views, operations, groups; and the pipeline of passes. */
#include "plan/ir/plan.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

/* ---- arrays that grow ------------------------------------------------------------------ */

void *plan_grown(void *array, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    enum { FIRST_BYTES = 8 << 10 }; /* a stream's plan is short, and larger blocks would be new pages */
    int more = *capacity ? *capacity * 2 : size < FIRST_BYTES / 4 ? (int)(FIRST_BYTES / size) : 4;
    void *larger = allocate_zeroed((size_t)more, size);
    if (!larger) {
        set_error("no memory for a plan of more than %d entries", count);
        return NULL;
    }
    if (array)
        memcpy(larger, array, (size_t)count * size);
    release(array);
    *capacity = more;
    return larger;
}

int plan_add_buffer(struct plan *p, const char *name, enum dtype dtype, enum segment segment, int rank,
                    const enum axis *axis, const uint32_t *size)
{
    /* Built separately: the arguments may point into the array that moves. */
    struct buffer b = {
        .dtype = dtype, .segment = segment, .rank = rank, .parameter = -1, .copy_of = -1, .gradient = -1, .second = -1};
    snprintf(b.name, sizeof b.name, "%s", name);
    for (int i = 0; i < rank; i++) {
        b.axis[i] = axis[i];
        b.size[i] = b.whole[i] = size[i];
    }
    struct buffer *all = plan_grown(p->buffer, p->buffers, &p->buffer_capacity, sizeof *all);
    if (!all)
        return -1;
    p->buffer = all;
    all[p->buffers] = b;
    return p->buffers++;
}

int plan_add_like(struct plan *p, const char *name, enum segment segment, int like)
{
    const struct buffer b = p->buffer[like]; /* the array may move */
    int made = plan_add_buffer(p, name, b.dtype, segment, b.rank, b.axis, b.size);
    if (made < 0)
        return -1;
    struct buffer *d = &p->buffer[made];
    memcpy(d->origin, b.origin, sizeof d->origin);
    memcpy(d->whole, b.whole, sizeof d->whole);
    memcpy(d->state, b.state, sizeof d->state);
    return made;
}

unroll_status plan_own_copy(struct plan *p, int master, int layout, int *copy)
{
    for (int i = 0; i < p->buffers; i++)
        if (p->buffer[i].copy_of == master && p->buffer[i].segment == SEG_BACK && p->buffer[i].layout == layout) {
            *copy = i;
            return UNROLL_OK;
        }
    const struct buffer *b = &p->buffer[master];
    char name[sizeof b->name + 16];
    snprintf(name, sizeof name, "%s.%s", b->name, p->config.traits.operands->name(layout));
    *copy = plan_add_like(p, name, SEG_BACK, master);
    if (*copy < 0)
        return UNROLL_RESOURCE;
    p->buffer[*copy].layout = layout;
    p->buffer[*copy].copy_of = master;
    return UNROLL_OK;
}

int plan_gradient(struct plan *p, int buffer)
{
    const struct buffer *b = &p->buffer[buffer];
    if (b->gradient >= 0)
        return b->gradient;
    char name[sizeof b->name + 2];
    snprintf(name, sizeof name, "d.%s", b->name);
    enum segment segment = b->segment == SEG_STEP ? SEG_STEP : SEG_IO; /* the host reads it, too */
    int made = plan_add_like(p, name, segment, buffer);
    if (made >= 0)
        p->buffer[buffer].gradient = made;
    return made;
}

unroll_status plan_push(struct plan *p, const struct op *op)
{
    struct op kept = *op; /* op may point into the array that moves */
    struct op *all = plan_grown(p->op, p->ops, &p->op_capacity, sizeof *all);
    if (!all)
        return UNROLL_RESOURCE;
    for (int i = 0; i < kept.views; i++)
        if (kept.view[i].buffer >= 0)
            kept.touches |= 1ull << kept.view[i].buffer % 64;
    p->op = all;
    all[p->ops++] = kept;
    return UNROLL_OK;
}

struct op *plan_take_list(struct plan *p, int *count)
{
    struct op *list = p->op;
    *count = p->ops;
    p->op = NULL;
    p->ops = p->op_capacity = 0;
    return list;
}

int plan_find_buffer(const struct plan *p, const char *name)
{
    for (int i = 0; i < p->buffers; i++)
        if (p->buffer[i].name == name) /* fast path for the plan's own strings, which sessions pass in each run */
            return i;
    for (int i = 0; i < p->buffers; i++)
        if (!strcmp(p->buffer[i].name, name))
            return i;
    return -1;
}

/* ---- the mesh -------------------------------------------------------------------------- */

int plan_rank_at(const struct plan *p, const int at[M_N])
{
    int rank = 0;
    for (int m = 0; m < M_N; m++) rank = rank * p->config.mesh[m] + at[m];
    return rank;
}

int plan_rank(const struct plan *p) { return plan_rank_at(p, p->config.at); }

int plan_ranks(const struct plan *p)
{
    int ranks = 1;
    for (int m = 0; m < M_N; m++) ranks *= p->config.mesh[m];
    return ranks;
}

void mesh_coordinate(const int mesh[M_N], int rank, int at[M_N])
{
    for (int m = M_N; m-- > 0; rank /= mesh[m]) at[m] = rank % mesh[m];
}

void plan_config_at(struct plan_config *c, int rank)
{
    mesh_coordinate(c->mesh, rank, c->at);
    if (c->traits_of)
        c->traits = c->traits_of[rank];
}

int plan_batch_ranks(const struct plan *p) { return p->config.mesh[M_BATCH] / p->config.workers; }

int plan_group(struct plan *p, unsigned mesh_axes)
{
    struct group group = {.size = 0};
    int members[M_N], size = 1, worker = p->config.at[M_BATCH] / plan_batch_ranks(p) * plan_batch_ranks(p);
    for (int m = 0; m < M_N; m++)
        size *= members[m] = !(mesh_axes >> m & 1) ? 1 : m == M_BATCH ? plan_batch_ranks(p) : p->config.mesh[m];
    while (group.size < size) {
        int at[M_N];
        mesh_coordinate(members, group.size, at);
        for (int m = 0; m < M_N; m++) at[m] += !(mesh_axes >> m & 1) ? p->config.at[m] : m == M_BATCH ? worker : 0;
        group.rank[group.size++] = plan_rank_at(p, at);
    }
    return plan_add_group(p, &group);
}

bool plan_gathers(const struct plan *p) { return p->config.exact && p->config.mesh[M_HIDDEN] > 1; }

int plan_add_group(struct plan *p, const struct group *group)
{
    for (int i = 0; i < p->groups; i++)
        if (!memcmp(&p->group[i], group, sizeof *group))
            return i;
    struct group *all = plan_grown(p->group, p->groups, &p->group_capacity, sizeof *all);
    if (!all)
        return -1;
    p->group = all;
    all[p->groups] = *group;
    return p->groups++;
}

struct group op_group(const struct plan *p, const struct op *op)
{
    const int here = plan_rank(p);
    if (op->group >= 0)
        return p->group[op->group];
    return (struct group){2, {op->peer < here ? op->peer : here, op->peer < here ? here : op->peer}};
}

static int by_members(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    int order = memcmp(x->rank, y->rank, sizeof x->rank);
    return order ? order : x->size - y->size;
}

unroll_status plan_meetings(const struct plan *p, uint32_t kinds, struct group **groups, int *count)
{
    int capacity = 0;
    *groups = NULL;
    *count = 0;
    for (int i = 0; i < p->ops; i++) {
        if (!(kinds >> p->op[i].kind & 1) || (p->op[i].group < 0 && p->op[i].peer < 0))
            continue;
        const struct group group = op_group(p, &p->op[i]);
        int at = 0;
        while (at < *count && by_members(&(*groups)[at], &group)) at++;
        struct group *all = at < *count ? *groups : plan_grown(*groups, *count, &capacity, sizeof *all);
        if (!all)
            return UNROLL_RESOURCE;
        *groups = all;
        *count += at == *count;
        all[at] = group;
    }
    if (*count)
        qsort(*groups, (size_t)*count, sizeof **groups, by_members);
    return UNROLL_OK;
}

void plan_chunk(const struct plan *p, int chunk, uint32_t *first, uint32_t *count)
{
    if (p->chunk_axis == AX_B)
        shard_range(p->rows, p->config.chunks, chunk, 1, first, count);
    else
        shard_range(p->config.T, p->config.chunks, chunk, p->block_steps, first, count);
}

/* ---- views ----------------------------------------------------------------------------- */

struct op op_new(enum op_kind kind, enum phase phase, int depth)
{
    struct op op = {.kind = kind, .phase = phase, .depth = depth, .group = -1, .peer = -1};
    for (int i = 0; i < OP_VIEWS; i++) op.view[i] = view_none();
    for (int i = 0; i < QUEUES_MAX; i++) op.wait[i] = -1;
    op.views = OP_VIEWS;
    return op;
}

struct view view_none(void) { return (struct view){.buffer = -1, .access = NONE}; }

struct view view_of(const struct plan *p, int buffer, enum access access)
{
    if (buffer < 0)
        return view_none();
    struct view v = {.buffer = buffer, .access = access};
    for (int i = 0; i < p->buffer[buffer].rank; i++) v.count[i] = p->buffer[buffer].size[i];
    return v;
}

int buffer_dim(const struct buffer *b, enum axis axis)
{
    for (int i = 0; i < b->rank; i++)
        if (b->axis[i] == axis)
            return i;
    return -1;
}

void view_narrow(const struct plan *p, struct view *v, enum axis axis, uint32_t first, uint32_t count)
{
    if (v->buffer < 0)
        return;
    int dim = buffer_dim(&p->buffer[v->buffer], axis);
    if (dim < 0)
        return;
    v->first[dim] += first;
    v->count[dim] = count;
}

bool view_overlap(const struct view *a, const struct view *b)
{
    if (a->buffer != b->buffer || a->buffer < 0)
        return false;
    for (int i = 0; i < BUFFER_AXES; i++) {
        if (!a->count[i] && !b->count[i])
            continue; /* an axis that the buffer does not have */
        if (a->first[i] >= b->first[i] + b->count[i] || b->first[i] >= a->first[i] + a->count[i])
            return false;
    }
    return true;
}

bool op_writes(const struct op *op, const struct view *v)
{
    if (!(op->touches >> v->buffer % 64 & 1))
        return false;
    for (int i = 0; i < op->views; i++)
        if (access_writes(op->view[i].access) && view_overlap(&op->view[i], v))
            return true;
    return false;
}

uint64_t view_elements(const struct plan *p, const struct view *v)
{
    if (v->buffer < 0)
        return 0;
    uint64_t n = 1;
    for (int i = 0; i < p->buffer[v->buffer].rank; i++) n *= v->count[i];
    return n;
}

double op_bytes(const struct plan *p, const struct op *op)
{
    double bytes = 0;
    for (int i = 0; i < op->views; i++)
        if (op->view[i].buffer >= 0)
            bytes += (double)view_elements(p, &op->view[i]) * (double)dtype_size(p->buffer[op->view[i].buffer].dtype);
    return bytes;
}

bool plan_overlaps(const struct plan *p) { return p->phase[PHASE_SUM].first < p->phase[PHASE_BACKWARD].end; }

void phase_range(const struct plan *p, enum phase phase, int *first, int *end)
{
    bool both = (int)phase == PHASE_BACKWARD_SUM;
    int sums = p->phase[PHASE_SUM].first;
    *first = p->phase[both ? PHASE_BACKWARD : phase].first;
    *first = both && sums < *first ? sums : *first;
    *end = p->phase[both ? PHASE_SUM : phase].end;
}

/* ---- names ----------------------------------------------------------------------------- */

/* Hashes the name and the numbers with FNV-1a. The upper bits are reserved for the backward of a message. */
uint32_t plan_tag(const char *name, int chunk, int extra)
{
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    hash = (hash ^ (uint32_t)chunk) * 16777619u;
    hash = (hash ^ (uint32_t)extra) * 16777619u;
    return (hash ^ hash >> 26) & TAG_NAMES;
}

/* The label contains what the operation writes; a send has no output and is named after its input. */
const char *op_label(const struct plan *p, const struct op *op, char *capacity, size_t size)
{
    const char *about = op->view[0].buffer >= 0 ? p->buffer[op->view[0].buffer].name : "";
    for (int i = op->views; i-- > 0;)
        if (access_writes(op->view[i].access))
            about = p->buffer[op->view[i].buffer].name;
    snprintf(capacity, size, "%s %s", kind_info(op->kind)->name, about);
    if (p->config.chunks > 1) {
        size_t used = strlen(capacity);
        snprintf(capacity + used, size - used, " chunk %d", op->chunk);
    }
    return capacity;
}

/* ---- the pipeline ---------------------------------------------------------------------- */

struct plan_config plan_config_default(void)
{
    return (struct plan_config){.mode = MODE_TRAIN,
                                .real = DTYPE_F32,
                                .weights = DTYPE_F32,
                                .T = 1,
                                .B = 1,
                                .mesh = {1, 1, 1, 1},
                                .workers = 1,
                                .chunks = 1,
                                .queues = 1,
                                .pieces = 1,
                                .time_tolerance = 1e-6f,
                                .shards = 1,
                                .bucket = 1 << 20};
}

/* Checks the ranges and combinations of a configuration. */
static unroll_status check_config(const struct plan_config *c)
{
    if (c->T < 1 || c->B < 1)
        return fail(UNROLL_USAGE,
                    "a plan needs at least one step and one row (T = %u, B = %u); fix: use 1 or more of both", c->T,
                    c->B);
    if ((uint64_t)c->T * c->B > UINT32_MAX)
        return fail(UNROLL_UNSUPPORTED,
                    "T x B = %u x %u is more than 2^32 rows; fix: use a smaller batch or fewer steps at once (`steps`)",
                    c->T, c->B);
    if (c->real != DTYPE_F32 && c->real != DTYPE_F64)
        return fail(UNROLL_UNSUPPORTED, "a plan computes in f32 or f64, not in %s; fix: use f32 or f64",
                    dtype_name(c->real));
    if (c->weights != c->real && c->weights != DTYPE_F32) {
        if (c->weights != DTYPE_BF16 && c->weights != DTYPE_I8)
            return fail(UNROLL_UNSUPPORTED, "weights cannot be packed as %s; fix: choose one of fp32, bf16, int8",
                        dtype_name(c->weights));
        if (c->mode >= MODE_TRAIN || c->real != DTYPE_F32 || !c->traits.operands)
            return fail(UNROLL_UNSUPPORTED,
                        "weights in %s are supported only for outputs and losses in single precision, on a device "
                        "that packs weights; fix: use weights in fp32",
                        dtype_name(c->weights));
    }
    if (c->queues < 1 || c->queues > QUEUES_MAX)
        return fail(UNROLL_USAGE, "`queues` = %d is outside 1..%d; fix: use a number in this range", c->queues,
                    QUEUES_MAX);
    if (c->chunks < 0 || c->chunks > CHUNKS_MAX)
        return fail(UNROLL_USAGE, "`chunks` = %d is outside 0..%d (0: automatic); fix: use a number in this range",
                    c->chunks, CHUNKS_MAX);
    if (c->shards < 1 || c->shards > c->B)
        return fail(UNROLL_USAGE, "a batch cannot have %u shards of %u rows; fix: use at most one shard per row",
                    c->shards, c->B);
    long ranks = 1;
    for (int m = 0; m < M_N; m++) {
        if (c->mesh[m] < 1 || c->at[m] < 0 || c->at[m] >= c->mesh[m])
            return fail(UNROLL_USAGE,
                        "coordinate %d is outside a mesh axis of size %d; fix: use a coordinate below the size",
                        c->at[m], c->mesh[m]);
        ranks *= c->mesh[m];
        if (ranks > RANKS_MAX)
            return fail(UNROLL_UNSUPPORTED, "the mesh has more than %d ranks; fix: use fewer", RANKS_MAX);
    }
    return UNROLL_OK;
}

static unroll_status begin_plan(const struct unroll_model *model, const struct plan_config *config, struct plan **plan)
{
    struct plan *p;
    TRY(ALLOCATE(p, 1, "for a plan"));
    p->model = model;
    p->config = *config;
    /* A plan has at most 64 chunks and every chunk is whole accumulation blocks. With 64 blocks, time can be cut in
     * every allowed way without changing the order of any sum. */
    p->rows = config->B, p->steps = config->T;
    p->block_steps = (config->T + CHUNKS_MAX - 1) / CHUNKS_MAX;
    if (config->traits.operands)
        config->traits.operands->begin(p);
    *plan = p;
    return UNROLL_OK;
}

/* Lists of devices of different kinds have different costs: all ranks use the stages computed from the first rank's
 * list. */
static unroll_status partition_as_first(struct plan *p)
{
    struct plan_config first = p->config;
    struct plan *like;
    if (!p->config.traits_of || p->config.mesh[M_LAYER] == 1)
        return pass_partition(p);
    first.traits = p->config.traits_of[0];
    first.traits_of = NULL;
    TRY(begin_plan(p->model, &first, &like));
    unroll_status status = pass_lower(like);
    if (status == UNROLL_OK)
        status = pass_partition(like);
    memcpy(p->stage_of, like->stage_of, sizeof p->stage_of);
    plan_free(like);
    return status;
}

/* Lowers the model and transforms the plan; later passes depend on this order. */
static unroll_status run_passes(struct plan *p)
{
    TRY(pass_pieces(p));
    TRY(pass_lower(p));
    TRY(partition_as_first(p));
    TRY(pass_cut_axis(p, AX_B, M_BATCH));
    TRY(pass_cut_axis(p, AX_U, M_HIDDEN));
    TRY(pass_cut_axis(p, AX_T, M_TIME));
    pass_fit_cache(p);
    TRY(pass_segment(p));
    TRY(pass_chunk(p));
    TRY(pass_cut_layer(p));
    TRY(pass_adjoint(p));
    TRY(pass_fuse_input(p));
    if (p->config.traits.operands)
        TRY(p->config.traits.operands->choose(p));
    TRY(pass_merge_reductions(p));
    TRY(pass_reduce_gradients(p));
    TRY(pass_recompute(p));
    TRY(pass_order(p));
    TRY(pass_allocate(p));
    return pass_check(p);
}

unroll_status plan_new(const struct unroll_model *model, const struct plan_config *config, struct plan **plan)
{
    TRY(check_config(config));
    struct plan *p;
    TRY(begin_plan(model, config, &p));
    unroll_status status = run_passes(p);
    if (status != UNROLL_OK) {
        plan_free(p);
        return status;
    }
    *plan = p;
    return UNROLL_OK;
}

unroll_status plan_streaming(const struct unroll_model *model, struct plan_config *config, struct plan **plan)
{
    for (int l = 0; l < model->layers; l++)
        if (layer_end(&model->layer[l]) > 1)
            return fail(
                UNROLL_UNSUPPORTED,
                "a bidirectional model cannot be streamed: the outputs of layer %d, '%s', depend on future frames; "
                "fix: train one direction (`streaming`), or run whole sequences in a session",
                l, model->layer[l].name);
    if (model_has_chain(model))
        return fail(UNROLL_UNSUPPORTED,
                    "a model with `loss` = 'crf' cannot be streamed: it labels all steps of a sequence together; fix: "
                    "predict whole sequences, or train with `loss` = 'xent'");
    config->mode = MODE_INFER;
    config->streaming = true;
    config->T = 1;
    config->traits.gathers_columns = (struct gathers_columns){1, UINT32_MAX, true};
    return plan_new(model, config, plan);
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    release(p->group);
    release(p->op);
    release(p->buffer);
    release(p);
}
