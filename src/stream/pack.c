/* Weights of streams: the streaming plan with their layouts, their placement, and the copy from the model. A single
 * pass over the operands of the plan does both; without memory it only measures. */
#include "base/hash.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/status.h"
#include "device/cpu/executor/operands.h"
#include "model/layer_kind.h"
#include "model/units.h"
#include "stream/stream.h"
#include <math.h>
#include <string.h>

/* ---- the plan -------------------------------------------------------------------------- */

/* Returns a hash that is equal for plans that can share weights, which may differ in their rows. */
static uint64_t make_of(const struct plan *p)
{
    uint64_t make = HASH_BEGIN;
    for (int i = 0; i < p->model->layers; i++)
        make = hash_text(make, p->model->layer[i].cell ? p->model->layer[i].cell->name : p->model->layer[i].kind->name);
    for (int i = 0; i < p->model->parameters; i++)
        make = hash_data(make, p->model->parameter[i].size, sizeof p->model->parameter[i].size);
    for (int i = 0; i < p->ops; i++) {
        make = hash_number(hash_number(make, p->op[i].kind), p->op[i].activation.kind);
        for (int k = 0; k < p->op[i].views; k++) make = hash_number(make, (uint32_t)p->op[i].view[k].buffer);
    }
    return make;
}

/* A stream runs on the caller's thread and uses only these fields of its machine. */
static unroll_status check_unused(const unroll_machine *m)
{
    unroll_machine used = unroll_machine_default();
    used.device = m->device, used.isa = m->isa, used.dtype = m->dtype;
    if (memcmp(m, &used, sizeof used))
        return fail(UNROLL_USAGE,
                    "of the machine settings, a stream supports only `isa` and `dtype`; fix: leave out `threads` and "
                    "all others");
    return UNROLL_OK;
}

static unroll_status check_config(const unroll_model *m, const unroll_stream_config *c)
{
    enum { MAX_ROWS = 1 << 16 };
    if (!m)
        return fail(UNROLL_USAGE, "a stream needs a model; fix: give one");
    if (c->rows < 1 || c->rows > MAX_ROWS)
        return fail(UNROLL_USAGE, "`rows` = %d is outside 1..%d; fix: choose a number in this range", c->rows,
                    MAX_ROWS);
    if (c->machine.device && strcmp(c->machine.device, "cpu"))
        return fail(UNROLL_UNSUPPORTED,
                    "streams run only on the cpu, not on %s; fix: leave out `device`, or run a session",
                    c->machine.device);
    return check_unused(&c->machine);
}

/* Shared weights must belong to a model of the same make. They determine the kernels. */
static unroll_status check_shared(const struct unroll_stream_weights *shared, struct stream_plan *p)
{
    if (!shared)
        return UNROLL_OK;
    if (shared->make != p->weights.make)
        return fail(
            UNROLL_USAGE,
            "the shared weights belong to another model, with %u layers and %u outputs; fix: use the weights of this "
            "model",
            (unsigned)shared->layers, (unsigned)shared->outputs);
    if (shared->dtype != p->weights.dtype)
        return fail(UNROLL_USAGE,
                    "the shared weights have a different dtype than the stream; fix: use the configuration they were "
                    "packed with, and add them to it");
    if (shared->units != p->weights.units)
        return fail(UNROLL_USAGE,
                    "the shared weights were packed with a different `raw` or `series`; fix: use the configuration "
                    "they were packed with, and add them to it");
    p->isa = shared->isa;
    return UNROLL_OK;
}

/* Makes a plan in which the recurrent step includes the product with x. */
static unroll_status make_plan(const unroll_model *m, const unroll_stream_config *c, enum dtype dtype,
                               struct stream_plan *p)
{
    struct plan_config config = plan_config_default();
    config.weights = dtype;
    config.B = (uint32_t)c->rows;
    config.traits = cpu_traits;
    config.traits.near = 0;
    config.traits.narrow = UINT32_MAX;
    TRY(plan_streaming(m, &config, &p->plan));
    TRY(ALLOCATE(p->array, (size_t)p->plan->buffers, "for the plan of a stream"));
    p->weights = (struct unroll_stream_weights){.isa = p->isa,
                                                .dtype = dtype,
                                                .layers = (uint32_t)m->layers,
                                                .outputs = (uint32_t)unroll_model_outputs(m),
                                                .make = make_of(p->plan),
                                                .units = hash_text(hash_number(HASH_BEGIN, c->raw != 0), c->series)};
    return UNROLL_OK;
}

unroll_status stream_take_config(const unroll_stream_config *given, unroll_stream_config *config)
{
    *config = unroll_stream_config_default();
    return sized_take(
        SIZED_WITH(unroll_stream_config, "unroll_stream_config_default()", MACHINE_OF(unroll_stream_config)), given,
        config);
}

unroll_status stream_plan_make(const unroll_model *m, const unroll_stream_config *c, bool of_weights,
                               struct stream_plan *p)
{
    enum dtype dtype;
    unroll_model *used = (unroll_model *)m; /* only read */
    *p = (struct stream_plan){0};
    TRY(check_config(m, c));
    TRY(weights_choose(c->machine.dtype, &dtype));
    TRY(cpu_isa_choose(c->machine.isa, DTYPE_F32, &p->isa));
    p->isa = cpu_isa_without_tiles(p->isa);
    TRY(units_take(&used, c->raw, c->series, false, &p->own));
    unroll_status status = units_check_dtype(used, c->machine.dtype);
    if (status == UNROLL_OK)
        status = make_plan(used, c, dtype, p);
    if (status == UNROLL_OK && !of_weights)
        status = check_shared(c->weights, p);
    if (status == UNROLL_OK)
        status = stream_pack(p, NULL);
    if (status != UNROLL_OK)
        stream_plan_free(p);
    return status;
}

void stream_plan_free(struct stream_plan *p)
{
    plan_free(p->plan);
    release(p->array);
    unroll_model_free(p->own);
}

/* ---- arrays ---------------------------------------------------------------------------- */

struct packer {
    const struct stream_plan *plan;
    struct unroll_stream_weights *to; /* NULL: only measures */
    uint32_t *words;                  /* [OPERAND_SCRATCH] an int8 row; NULL if it only measures */
    size_t used;                      /* bytes */
};

/* Reserves the next array, whose bytes are 0. Returns NULL if it only measures. */
static float *reserve(struct packer *p, size_t bytes, size_t *offset)
{
    *offset = stream_take(&p->used, bytes);
    return p->to ? (float *)(void *)((char *)p->to + *offset) : NULL;
}

static const struct parameter *parameter_of(const struct packer *p, int buffer)
{
    const struct plan *plan = p->plan->plan;
    const int master = plan->buffer[buffer].copy_of;
    return &plan->model->parameter[plan->buffer[master < 0 ? buffer : master].parameter];
}

static const float *values(const struct packer *p, const struct parameter *q)
{
    return p->plan->plan->model->values + q->first;
}

/* Copies rows, padded with zeros; those of units to whole tiles. */
static void pack_rows(struct packer *p, int buffer, bool of_units, size_t *offset)
{
    const struct parameter *q = parameter_of(p, buffer);
    const size_t width = q->size[q->rank - 1], rows = q->count / width, row = of_units ? stream_padded(width) : width;
    float *to = reserve(p, rows * row * sizeof *to, offset);
    for (size_t i = 0; to && i < rows; i++) memcpy(to + i * row, values(p, q) + i * width, width * sizeof *to);
}

/* Packs with the kernel that sessions use. */
static void pack_layout(struct packer *p, int buffer, enum layout layout, enum dtype dtype, size_t bytes,
                        size_t *offset)
{
    const struct parameter *q = parameter_of(p, buffer);
    struct call call = {.isa = p->plan->isa};
    struct tensor *from = &call.view[PACK_FROM], *to = &call.view[PACK_TO];
    struct work work = {0};
    size_t stride = 1;
    *from = (struct tensor){.at = (void *)values(p, q), .rank = q->rank, .dtype = DTYPE_F32};
    for (int i = q->rank; i-- > 0; stride *= q->size[i]) {
        from->count[i] = q->size[i];
        from->stride[i] = stride;
    }
    *to = *from;
    to->at = reserve(p, bytes, offset);
    to->layout = layout;
    to->dtype = dtype;
    if (to->at)
        isa_kernel(call.isa, OP_PACK)(&call, 0, 1, &work);
}

/* ---- one-hot tokens ------------------------------------------------------------------- */

/* Computes b + w of each token from a row of weights in their stored precision. In int8 the 1 of a one-hot token is 127
 * with the scale 1/127. */
static void add_symbols(const struct packer *p, float *to, size_t distance, const float *row, float bias, size_t n)
{
    const int8_t *byte = (const void *)p->words;
    const enum dtype dtype = p->plan->weights.dtype;
    float scale;
    if (dtype == DTYPE_I8) {
        p->plan->isa->pack_lowp(DTYPE_I8, p->words, 1, row, n);
        memcpy(&scale, &p->words[words_of(DTYPE_I8, n) - 2], sizeof scale);
        for (size_t s = 0; s < n; s++) to[s * distance] = fmaf((float)(127 * byte[s]), scale * (1.0f / 127), bias);
    } else {
        for (size_t s = 0; s < n; s++)
            to[s * distance] = (dtype == DTYPE_BF16 ? bf16_to_f32(f32_to_bf16(row[s])) : row[s]) + bias;
    }
}

/* Makes a table [tokens, (G), U] of the products with one-hot tokens, b + W x, with gates in rows of whole tiles. All
 * other terms of the FMA chain are zeros. */
static void pack_symbols(struct packer *p, const struct op *op, struct stream_array *table)
{
    const struct parameter *q = parameter_of(p, op->view[GEMM_W].buffer);
    const float *bias = op->view[GEMM_BIAS].access ? values(p, parameter_of(p, op->view[GEMM_BIAS].buffer)) : NULL;
    const size_t units = q->size[q->rank - 2], symbols = q->size[q->rank - 1], rows = q->count / symbols;
    const size_t gate = q->rank == 3 ? stream_padded(units) : units;
    table->row = rows / units * gate;
    float *to = reserve(p, symbols * table->row * sizeof *to, &table->at);
    for (size_t i = 0; to && i < rows; i++)
        add_symbols(p, to + i / units * gate + i % units, table->row, values(p, q) + i * symbols, bias ? bias[i] : 0,
                    symbols);
}

/* ---- all weights ------------------------------------------------------------------------ */

/* Packs a weight, unless an earlier operation reads it, too. */
static void pack_view(struct packer *p, const struct op *op, int slot)
{
    const int buffer = op->view[slot].buffer;
    if (buffer < 0 || !stream_is_weight(p->plan, buffer) || p->plan->array[buffer].at)
        return;
    const struct buffer *b = &p->plan->plan->buffer[buffer];
    struct stream_array *to = &p->plan->array[buffer];
    to->row = b->size[b->rank - 1];
    if (op->kind == OP_GATHER_COLUMNS && slot == GEMM_W)
        pack_symbols(p, op, to);
    else if (op->kind == OP_RNN && slot == RNN_PROJ)
        pack_layout(p, buffer, LAYOUT_PANELS, DTYPE_F32, panels(b->size[0]) * panel_bytes(DTYPE_F32, b->size[1]),
                    &to->at);
    else if (b->layout != LAYOUT_DENSE)
        pack_layout(p, buffer, b->layout, b->dtype, b->bytes, &to->at);
    else if (op->kind != OP_GATHER_COLUMNS)
        pack_rows(p, buffer, b->axis[b->rank - 1] == AX_U, &to->at);
}

unroll_status stream_pack(struct stream_plan *plan, struct unroll_stream_weights *to)
{
    const struct plan *p = plan->plan;
    struct packer packer = {.plan = plan, .to = to, .used = sizeof *to};
    if (to && plan->weights.dtype == DTYPE_I8 && !(packer.words = allocate(OPERAND_SCRATCH * sizeof *packer.words)))
        return fail(UNROLL_RESOURCE, "no memory to pack weights");
    const uint64_t mode = cpu_flush_denormals(); /* as when a session packs */
    for (int i = 0; i < p->buffers; i++)
        if (stream_is_weight(plan, i))
            plan->array[i].at = 0;
    for (int i = p->phase[PHASE_FORWARD].first; i < p->phase[PHASE_FORWARD].end; i++)
        for (int k = 0; k < p->op[i].views; k++) pack_view(&packer, &p->op[i], k);
    cpu_restore_float_mode(mode);
    release(packer.words);
    plan->weights.bytes = stream_take(&packer.used, 0);
    if (to)
        *to = plan->weights;
    return UNROLL_OK;
}

/* ---- shared weights --------------------------------------------------------------------- */

size_t unroll_stream_weights_bytes(const unroll_model *model, const unroll_stream_config *given)
{
    struct stream_plan p;
    unroll_stream_config config;
    if (stream_take_config(given, &config) != UNROLL_OK || stream_plan_make(model, &config, true, &p) != UNROLL_OK)
        return 0;
    stream_plan_free(&p);
    return p.weights.bytes;
}

unroll_status stream_check_memory(const void *memory, size_t bytes, size_t needed, const char *who_knows)
{
    if (!memory || bytes < needed)
        return fail(UNROLL_USAGE, "%zu bytes are needed, not %zu; fix: call %s", needed, memory ? bytes : 0, who_knows);
    if ((uintptr_t)memory % _Alignof(max_align_t))
        return fail(UNROLL_USAGE,
                    "the memory of a stream is not aligned to %zu bytes; fix: allocate it with aligned_alloc",
                    _Alignof(max_align_t));
    return UNROLL_OK;
}

unroll_status unroll_stream_weights_init(void *memory, size_t bytes, const unroll_model *model,
                                         const unroll_stream_config *given, unroll_stream_weights **weights)
{
    struct stream_plan p;
    unroll_stream_config config;
    TRY(stream_take_config(given, &config));
    TRY(stream_plan_make(model, &config, true, &p));
    unroll_status status = stream_check_memory(memory, bytes, p.weights.bytes, "unroll_stream_weights_bytes");
    if (status == UNROLL_OK)
        status = stream_pack(&p, memset(memory, 0, p.weights.bytes));
    stream_plan_free(&p);
    if (status == UNROLL_OK)
        *weights = memory;
    return status;
}
