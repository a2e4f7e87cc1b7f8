/* Walks the list of some phases and passes each operation to its translator (translate.h). The arguments and results
 * of the program follow from the views. */
#include "extensions/xla/translate.h"
#include "base/memory.h"
#include "base/number.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ----------------------------------------------------------------------------- */

struct value buffer_type(const struct buffer *b)
{
    struct value v = {.id = -1, .result = -1, .type = HLO_F32, .shape = {.rank = b->rank}};
    for (int i = 0; i < b->rank; i++) v.shape.dim[i] = b->size[i];
    if (b->dtype == DTYPE_I32)
        v.type = HLO_I32;
    else if (b->dtype == DTYPE_U8)
        v.type = HLO_U8;
    else if (b->dtype == DTYPE_I64) {
        v.type = HLO_U32;
        v.shape.dim[b->rank - 1] *= 2;
    }
    return v;
}

/* ---- arguments and results -------------------------------------------------------------- */

static bool covers(const struct plan *p, const struct view *v)
{
    const struct buffer *b = &p->buffer[v->buffer];
    for (int i = 0; i < b->rank; i++)
        if (v->count[i] != b->size[i])
            return false;
    return true;
}

/* Returns whether the view needs the previous contents of the buffer. */
static bool needs_content(const struct plan *p, const struct view *v) { return v->access != WRITE || !covers(p, v); }

static bool is_ignored(const struct plan *p, int buffer)
{
    return buffer < 0 || p->buffer[buffer].segment == SEG_SCRATCH;
}

/* Returns the first operation of the phases that accesses a buffer, or -1. */
static int first_use(const struct plan *p, enum phase first, enum phase last, int buffer)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views && is_of(&p->op[i], first, last); k++)
            if (p->op[i].view[k].buffer == buffer)
                return i;
    return -1;
}

/* Returns whether the first use of the buffer in these phases needs its contents. */
static bool is_read_first(const struct plan *p, enum phase first, enum phase last, int buffer)
{
    int use = first_use(p, first, last, buffer);
    for (int k = 0; use >= 0 && k < p->op[use].views; k++)
        if (p->op[use].view[k].buffer == buffer && needs_content(p, &p->op[use].view[k]))
            return true;
    return false;
}

bool is_written_in(const struct plan *p, enum phase first, enum phase last, int buffer)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views && is_of(&p->op[i], first, last); k++)
            if (p->op[i].view[k].buffer == buffer && access_writes(p->op[i].view[k].access))
                return true;
    return false;
}

bool is_summand(const struct plan *p, enum phase first, enum phase last, int buffer)
{
    int use = first == PHASE_FORWARD && p->buffer[buffer].dtype == DTYPE_F64 ? first_use(p, first, last, buffer) : -1;
    for (int k = 0; use >= 0 && k < p->op[use].views; k++)
        if (p->op[use].view[k].buffer == buffer)
            return p->op[use].view[k].access == ADD;
    return false;
}

/* A whole step starts without gradients and leaves none. */
static bool is_inside(const struct translation *t, int buffer)
{
    return t->first == PHASE_FORWARD && t->last >= PHASE_UPDATE && t->plan->buffer[buffer].segment == SEG_GRAD;
}

/* Returns whether the operations of forward write the buffer part by part, and together completely. */
static bool is_output(const struct translation *t, int buffer)
{
    const struct plan *p = t->plan;
    const int use =
        t->first == PHASE_FORWARD && p->buffer[buffer].segment == SEG_IO ? first_use(p, t->first, t->last, buffer) : -1;
    for (int k = 0; use >= 0 && k < p->op[use].views; k++)
        if (p->op[use].view[k].buffer == buffer && p->op[use].view[k].access != WRITE)
            return false;
    return use >= 0;
}

static bool is_in_range(const struct translation *t, int op)
{
    return op >= t->from && op < t->end && is_in_phase(&t->plan->op[op], t->first);
}

/* Returns whether the first operation of the range that accesses the buffer needs its contents. */
static bool is_read_first_in_range(const struct translation *t, int buffer)
{
    const struct plan *p = t->plan;
    bool touched = false, read = false;
    for (int i = t->from; i < t->end && !touched; i++)
        for (int k = 0; is_in_range(t, i) && k < p->op[i].views; k++)
            if (p->op[i].view[k].buffer == buffer) {
                touched = true;
                read = read || needs_content(p, &p->op[i].view[k]);
            }
    return read;
}

/* Returns whether the buffer is written in the range and, if it is an activation, used outside of it. */
static bool is_result_of_range(const struct translation *t, int buffer)
{
    const struct plan *p = t->plan;
    bool written = false, wanted = p->buffer[buffer].segment != SEG_STEP;
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < p->op[i].views; k++) {
            const struct view *v = &p->op[i].view[k];
            written = written || (v->buffer == buffer && is_in_range(t, i) && access_writes(v->access));
            wanted = wanted || (v->buffer == buffer && !is_in_range(t, i));
        }
    return written && wanted;
}

/* Activations live from forward to backward; all other buffers outlive the program. */
static bool is_argument(const struct translation *t, int buffer)
{
    const struct plan *p = t->plan;
    if (t->end)
        return !is_ignored(p, buffer) && is_read_first_in_range(t, buffer);
    if (is_ignored(p, buffer) || is_inside(t, buffer) || !is_read_first(p, t->first, t->last, buffer) ||
        is_summand(p, t->first, t->last, buffer) || is_output(t, buffer))
        return false;
    return p->buffer[buffer].segment != SEG_STEP ||
           (t->first == PHASE_BACKWARD && is_written_in(p, PHASE_FORWARD, PHASE_FORWARD, buffer));
}

static bool is_result(const struct translation *t, int buffer)
{
    const struct plan *p = t->plan;
    if (t->end)
        return !is_ignored(p, buffer) && is_result_of_range(t, buffer);
    if (is_ignored(p, buffer) || is_inside(t, buffer) || !is_written_in(p, t->first, t->last, buffer))
        return false;
    return p->buffer[buffer].segment != SEG_STEP ||
           (t->last == PHASE_FORWARD && is_read_first(p, PHASE_BACKWARD, PHASE_BACKWARD, buffer));
}

static unroll_status list_buffers(struct translation *t, bool (*belongs)(const struct translation *, int),
                                  struct program_buffers *list)
{
    TRY(ALLOCATE(list->buffer, (size_t)t->plan->buffers, "to translate a plan"));
    for (int i = 0; i < t->plan->buffers; i++)
        if (belongs(t, i))
            list->buffer[list->count++] = i;
    return UNROLL_OK;
}

static int location_in(const struct program_buffers *list, int buffer)
{
    for (int i = 0; i < list->count; i++)
        if (list->buffer[i] == buffer)
            return i;
    return -1;
}

/* ---- views ----------------------------------------------------------------------------- */

/* The axes of "run" are pairs of words on the device; it is only used as a whole. */
struct shape shape_of_view(const struct view *v, const struct plan *p)
{
    const struct buffer *b = &p->buffer[v->buffer];
    struct shape shape = buffer_type(b).shape;
    for (int i = 0; i < b->rank && b->dtype != DTYPE_I64; i++) shape.dim[i] = v->count[i];
    return shape;
}

static void first_of(const struct translation *t, const struct view *v, int64_t *first)
{
    for (int i = 0; i < t->plan->buffer[v->buffer].rank; i++) first[i] = v->first[i];
}

struct value zeros(struct translation *t, struct shape shape) { return hlo_constant(&t->h, HLO_F32, shape, 0); }

static struct value *content(struct translation *t, int buffer)
{
    struct value *v = &t->value[buffer];
    if (v->id < 0)
        *v = hlo_constant(&t->h, v->type, v->shape, 0);
    return v;
}

struct value view_get(struct translation *t, const struct view *v)
{
    int64_t first[HLO_AXES];
    first_of(t, v, first);
    struct value whole = *content(t, v->buffer);
    return hlo_slice(&t->h, whole, first, shape_of_view(v, t->plan));
}

void view_put(struct translation *t, const struct view *v, struct value x)
{
    int64_t first[HLO_AXES];
    if (is_ignored(t->plan, v->buffer))
        return;
    x = hlo_reshape(&t->h, x, shape_of_view(v, t->plan));
    if (v->access == ADD) {
        struct value old = view_get(t, v);
        x = hlo_binary(&t->h, "add", old, x);
    }
    if (covers(t->plan, v)) {
        t->value[v->buffer] = x;
        return;
    }
    first_of(t, v, first);
    struct value *whole = content(t, v->buffer);
    *whole = hlo_location(&t->h, *whole, x, first);
}

/* ---- devices --------------------------------------------------------------------------- */

static unroll_status refuse_shards(const struct plan *p, const char *what)
{
    return fail(UNROLL_UNSUPPORTED,
                "one XLA program runs on all devices, so their shares must be equal: %s; fix: use a "
                "batch that batch=%d divides (and as many equal shards), and layers whose units hidden=%d divides",
                what, p->config.mesh[M_BATCH], p->config.mesh[M_HIDDEN]);
}

unroll_status check_alike(struct mesh_plans mesh)
{
    const struct plan *first = mesh.plan[0];
    char what[200];
    if (mesh.devices == 1) /* whole, or the part of a rank */
        return UNROLL_OK;
    if (first->config.mesh[M_LAYER] > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "XLA devices run one program, so layers cannot be divided among them "
                    "(layer=%d); fix: cut along batch and hidden",
                    first->config.mesh[M_LAYER]);
    if (mesh.devices > 1 && first->config.shards > 1 && first->config.B % first->config.shards)
        return refuse_shards(first, "the shards of the batch differ");
    for (int r = 1; r < mesh.devices; r++)
        for (int i = 0; i < first->buffers; i++) {
            const struct buffer *a = &first->buffer[i], *b = &mesh.plan[r]->buffer[i];
            if (mesh.plan[r]->buffers == first->buffers && !strcmp(a->name, b->name) &&
                !memcmp(a->size, b->size, sizeof a->size))
                continue;
            snprintf(what, sizeof what, "those of '%s' differ", a->name);
            return refuse_shards(first, what);
        }
    return UNROLL_OK;
}

static struct value new_own(struct translation *t, const int32_t *number)
{
    size_t n = (size_t)t->owned, size = sizeof *t->own;
    struct own_number *more = allocate_zeroed(n + 1, size);
    struct value value = hlo_argument(&t->h, (struct value){.type = HLO_I32});
    if (!more) {
        t->h.failed = true;
        return value;
    }
    if (n)
        memcpy(more, t->own, n * size);
    release(t->own);
    t->own = more;
    more[n].value = value;
    memcpy(more[n].of, number, (size_t)t->mesh.devices * sizeof *number);
    t->owned++;
    return value;
}

struct value of_device(struct translation *t, const int32_t *number)
{
    size_t bytes = (size_t)t->mesh.devices * sizeof *number;
    bool alike = true;
    for (int r = 1; r < t->mesh.devices; r++) alike = alike && number[r] == number[0];
    if (alike)
        return hlo_constant(&t->h, HLO_I32, SCALAR, number[0]);
    for (int i = 0; i < t->owned; i++)
        if (!memcmp(t->own[i].of, number, bytes))
            return t->own[i].value;
    return new_own(t, number);
}

struct value origin_of(struct translation *t, int buffer, int axis)
{
    int32_t origin[RANKS_MAX] = {0};
    for (int r = 0; r < t->mesh.devices; r++) origin[r] = (int32_t)t->mesh.plan[r]->buffer[buffer].origin[axis];
    return of_device(t, origin);
}

/* Shifts the first device's group to all others: groups follow the same axes everywhere. */
struct devices devices_of(const struct translation *t, int group, int *members)
{
    const struct group *g = &t->plan->group[group];
    bool seen[RANKS_MAX] = {false};
    struct devices d = {.size = g->size, .member = members};
    for (int r = 0; r < t->mesh.devices; r++) {
        if (seen[r])
            continue;
        for (int i = 0; i < g->size; i++) {
            seen[r + g->rank[i]] = true;
            members[d.groups * g->size + i] = r + g->rank[i];
        }
        d.groups++;
    }
    return d;
}

/* ---- rows ------------------------------------------------------------------------------ */

struct value rows_lasting(struct translation *t, const struct view *of, const struct view *lengths)
{
    if (lengths->buffer < 0)
        return (struct value){.id = -1};
    struct shape rows = SHAPE(of->count[0], of->count[1]);
    uint32_t origin = first_step(t->plan, of);
    struct value step = hlo_iota(&t->h, HLO_I32, rows, 0);
    struct value from = hlo_constant(&t->h, HLO_I32, rows, origin);
    struct value length = view_get(t, lengths);
    step = hlo_binary(&t->h, "add", step, from);
    length = hlo_spread(&t->h, length, rows, (int[]){1});
    return hlo_compare(&t->h, "LT", step, length);
}

struct value masked(struct translation *t, struct value mask, struct value x)
{
    static const int axis[] = {0, 1, 2, 3, 4};
    if (mask.id < 0)
        return x;
    mask = hlo_spread(&t->h, mask, x.shape, axis);
    struct value none = hlo_constant(&t->h, x.type, x.shape, 0);
    return hlo_select(&t->h, mask, x, none);
}

struct value by_rows(struct translation *t, struct value x)
{
    int64_t rest = shape_count(x.shape) / (x.shape.dim[0] * x.shape.dim[1]);
    return hlo_reshape(&t->h, x, SHAPE(x.shape.dim[0], x.shape.dim[1], rest));
}

static struct value shifted(struct translation *t, struct value x, struct value first, int direction)
{
    int64_t from[HLO_AXES] = {direction};
    struct shape kept = x.shape, one = x.shape;
    kept.dim[0]--;
    one.dim[0] = 1;
    first = hlo_reshape(&t->h, first, one);
    if (kept.dim[0] == 0)
        return first;
    x = hlo_slice(&t->h, x, from, kept);
    return direction ? hlo_join(&t->h, x, first, 0) : hlo_join(&t->h, first, x, 0);
}

struct value entering(struct translation *t, const struct op *op, struct value x, struct value first,
                      const struct view *of, const struct view *lengths, const struct view *reset)
{
    struct value before = shifted(t, x, first, op->direction);
    if (lengths->buffer >= 0 && op->direction) {
        struct view next = *of; /* the next step: if it is beyond the row's end, the row begins here */
        next.first[0]++;
        struct value lasts = rows_lasting(t, &next, lengths);
        lasts = hlo_spread(&t->h, lasts, before.shape, (int[]){0, 1});
        first = hlo_spread(&t->h, first, before.shape, (int[]){1, 2});
        before = hlo_select(&t->h, lasts, before, first);
    }
    if (reset->buffer < 0)
        return before;
    struct value resets = view_get(t, reset);
    struct value zero = hlo_constant(&t->h, resets.type, resets.shape, 0);
    struct value continues = hlo_compare(&t->h, "EQ", resets, zero);
    return masked(t, continues, before);
}

/* ---- records --------------------------------------------------------------------------- */

static const char *const operation_names[NODE_KINDS] = {
    [NODE_ADD] = "add",         [NODE_SUB] = "subtract", [NODE_MUL] = "multiply",     [NODE_DIV] = "divide",
    [NODE_MIN] = "minimum",     [NODE_MAX] = "maximum",  [NODE_ABS] = "abs",          [NODE_SQRT] = "sqrt",
    [NODE_EXP] = "exponential", [NODE_LOG] = "log",      [NODE_SIGMOID] = "logistic", [NODE_TANH] = "tanh",
};

static unroll_status find_input(const char *name, const struct named *named, int count, struct value *value)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(named[i].name, name)) {
            *value = named[i].value;
            return UNROLL_OK;
        }
    return fail(UNROLL_UNSUPPORTED, "XLA programs have no '%s' for a cell; fix: use another cell or device", name);
}

/* Translates a node of a record. */
static unroll_status evaluate_node(struct translation *t, const struct node *node, const struct named *named, int count,
                                   struct shape shape, struct evaluation *e)
{
    struct value a[3], *made = &e->node[node->number];
    for (int i = 0; i < node_operands(node->kind) && i < 3; i++) a[i] = e->node[node->operand[i]->number];
    if (node->kind == NODE_INPUT)
        return find_input(node->input, named, count, made);
    if (node->kind == NODE_CONSTANT) {
        *made = hlo_constant(&t->h, HLO_F32, shape, node->constant);
    } else if (node->kind == NODE_FMA) {
        struct value product = hlo_binary(&t->h, "multiply", a[0], a[1]);
        *made = hlo_binary(&t->h, "add", product, a[2]);
    } else if (node->kind == NODE_LESS) {
        struct value less = hlo_compare(&t->h, "LT", a[0], a[1]);
        *made = hlo_convert(&t->h, less, HLO_F32);
    } else if (!operation_names[node->kind]) {
        return fail(UNROLL_UNSUPPORTED,
                    "XLA programs have no word for operation %d of a record; fix: use another cell or device",
                    (int)node->kind);
    } else if (node_operands(node->kind) == 2) {
        *made = hlo_binary(&t->h, operation_names[node->kind], a[0], a[1]);
    } else {
        *made = hlo_unary(&t->h, operation_names[node->kind], a[0]);
    }
    return UNROLL_OK;
}

/* Marks the nodes that results of the record need. Cells may have unused inputs, without a value. */
static void mark_used(const struct node *node, bool *used)
{
    if (used[node->number])
        return;
    used[node->number] = true;
    for (int i = 0; i < node_operands(node->kind); i++) mark_used(node->operand[i], used);
}

unroll_status evaluate_record(struct translation *t, const struct record *record, const struct named *named, int count,
                              struct shape shape, struct evaluation *e)
{
    bool used[RECORD_NODES] = {false};
    if (*record->refusal)
        return fail(UNROLL_UNSUPPORTED, "%s; fix: use another cell or device", record->refusal);
    for (int i = 0; i < record->results; i++) mark_used(record->result[i].node, used);
    e->record = record;
    for (int i = 0; i < record->nodes; i++)
        if (used[i])
            TRY(evaluate_node(t, &record->node[i], named, count, shape, e));
    return UNROLL_OK;
}

struct value evaluated(const struct evaluation *e, const char *result)
{
    const struct node *node = record_find_result(e->record, result);
    return node ? e->node[node->number] : (struct value){.id = -1};
}

/* ---- programs -------------------------------------------------------------------------- */

/* PACK is missing: a device without packed copies has none. */
static translator *const translators[OP_KIND_MAX] = {
    [OP_EMBED] = translate_embed,
    [OP_EMBED_GRAD] = translate_embed_grad,
    [OP_GEMM] = translate_gemm,
    [OP_GEMM_DX] = translate_gemm_dx,
    [OP_GEMM_DW] = translate_gemm_dw,
    [OP_BIAS_GRAD] = translate_bias_grad,
    [OP_RNN] = translate_rnn,
    [OP_RNN_BACK] = translate_rnn_back,
    [OP_DROPOUT] = translate_dropout,
    [OP_ACTIVATE] = translate_activate,
    [OP_ACTIVATE_BACK] = translate_activate_back,
    [OP_POOL] = translate_pool,
    [OP_POOL_BACK] = translate_pool_back,
    [OP_LOSS] = translate_loss,
    [OP_COPY] = translate_copy,
    [OP_FILL] = translate_fill,
    [OP_TREE] = translate_tree,
    [OP_NORM] = translate_norm,
    [OP_UPDATE] = translate_update,
    [OP_ALL_REDUCE] = translate_all_reduce,
    [OP_SUM_BEGIN] = translate_sum_begin,
    [OP_SUM_END] = translate_sum_end,
};

static void begin(struct translation *t)
{
    hlo_begin(&t->h);
    for (int i = 0; i < t->argument.count; i++) {
        struct value *v = &t->value[t->argument.buffer[i]];
        *v = hlo_argument(&t->h, *v);
    }
}

/* Lists the arguments as they were created: by now their buffers hold other values, of the same types. */
static void list_arguments(const struct translation *t, struct argument *argument)
{
    int count = t->argument.count;
    for (int i = 0; i < count; i++) {
        argument[i].value = buffer_type(&t->plan->buffer[t->argument.buffer[i]]);
        argument[i].value.id = i;
        argument[i].alias = location_in(&t->result, t->argument.buffer[i]);
    }
    for (int i = 0; i < t->owned; i++) argument[count + i] = (struct argument){t->own[i].value, -1};
}

static unroll_status end(struct translation *t, const char *name)
{
    int arguments = t->argument.count + t->owned;
    struct value *result = allocate_zeroed((size_t)t->result.count, sizeof *result);
    struct argument *argument = allocate_zeroed((size_t)arguments, sizeof *argument);
    bool made = result && argument;
    if (made) {
        for (int i = 0; i < t->result.count; i++) result[i] = *content(t, t->result.buffer[i]);
        list_arguments(t, argument);
        hlo_end(&t->h, name, t->mesh.devices, argument, arguments, result, t->result.count);
    }
    release(result);
    release(argument);
    return made && !t->h.failed ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for the text of a program");
}

/* Translates the operations of a range or of phases into a program. */
static unroll_status write_program(struct translation *t, const char *name)
{
    TRY(ALLOCATE(t->value, (size_t)t->plan->buffers, "to translate a plan"));
    TRY(ALLOCATE(t->evaluation, 1, "to translate a plan"));
    for (int i = 0; i < t->plan->buffers; i++) t->value[i] = buffer_type(&t->plan->buffer[i]);
    TRY(list_buffers(t, is_argument, &t->argument));
    TRY(list_buffers(t, is_result, &t->result));
    begin(t);
    for (int i = 0; i < t->plan->ops; i++) {
        const struct op *op = &t->plan->op[i];
        if (t->end ? !is_in_range(t, i) : !is_of(op, t->first, t->last))
            continue;
        if (!translators[op->kind])
            return fail(UNROLL_UNSUPPORTED, "XLA programs have no %s; fix: use another cell or device",
                        kind_info(op->kind)->name);
        TRY(translators[op->kind](t, op));
    }
    if (t->first == PHASE_FORWARD && t->last >= PHASE_UPDATE)
        mark_divergence(t);
    return end(t, name);
}

/* UNROLL_XLA_UNROLL in the environment overrides the factor, for tests and measurements. */
static unroll_status find_unroll(int chosen, int *factor)
{
    const char *said = getenv("UNROLL_XLA_UNROLL");
    int64_t number = chosen ? chosen : 1;
    if (said && number_whole_integer(said, 1, 64, &number) != NUMBER_OK)
        return fail(UNROLL_USAGE, "UNROLL_XLA_UNROLL is '%.40s'; fix: steps in a turn of a loop, 1 to 64", said);
    *factor = (int)number;
    return UNROLL_OK;
}

static unroll_status begin_translation(struct mesh_plans mesh, enum phase first, enum phase last, struct translation *t)
{
    const struct plan *plan = mesh.plan[0];
    *t = (struct translation){.plan = plan, .mesh = mesh, .first = first, .last = last};
    TRY(check_alike(mesh));
    if (plan->config.real != DTYPE_F32 || plan->config.weights != DTYPE_F32)
        return fail(UNROLL_UNSUPPORTED,
                    "XLA programs have weights and sums in fp32 alone; fix: use another cell or device");
    TRY(find_unroll(mesh.unroll, &t->unroll));
    t->h.narrow = plan->config.precision == PRECISION_BF16;
    return UNROLL_OK;
}

unroll_status translate_range(struct mesh_plans mesh, enum phase phase, int from, int end, const char *name,
                              struct translation *t)
{
    TRY(begin_translation(mesh, phase, phase, t));
    t->from = from;
    t->end = end;
    return write_program(t, name);
}

unroll_status translate_phases(struct mesh_plans mesh, enum phase first, enum phase last, const char *name,
                               struct translation *t)
{
    const struct plan *plan = mesh.plan[0];
    TRY(begin_translation(mesh, first, last, t));
    for (int i = 0; i < plan->ops; i++)
        if (is_of(&plan->op[i], first, last))
            return write_program(t, name);
    return UNROLL_OK;
}

void translation_free(struct translation *t)
{
    hlo_free(&t->h);
    release(t->value);
    release(t->evaluation);
    release(t->argument.buffer);
    release(t->result.buffer);
    release(t->own);
    *t = (struct translation){0};
}
