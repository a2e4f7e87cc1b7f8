#include "session/weights.h"
#include "base/memory.h"
#include <string.h>

void reals_to_floats(const void *from, enum dtype dtype, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = dtype == DTYPE_F64 ? (float)((const double *)from)[i] : ((const float *)from)[i];
}

void floats_to_reals(const float *from, enum dtype dtype, void *to, size_t count)
{
    if (dtype == DTYPE_F32)
        memcpy(to, from, count * sizeof *from);
    else
        for (size_t i = 0; i < count; i++) ((double *)to)[i] = (double)from[i];
}

/* Visits the rows of this rank's share of a parameter: a row's offset in the whole and in the share, and its length. */
typedef void row_visitor(size_t whole, size_t here, size_t count, void *arg);

static void visit_rows(const struct buffer *b, row_visitor *visit, void *arg)
{
    uint32_t size[3] = {1, 1, 1}, origin[3] = {0, 0, 0}, whole[3] = {1, 1, 1};
    for (int i = 0; i < b->rank; i++) {
        size[3 - b->rank + i] = b->size[i];
        origin[3 - b->rank + i] = b->origin[i];
        whole[3 - b->rank + i] = b->whole[i];
    }
    for (uint32_t i = 0; i < size[0]; i++)
        for (uint32_t j = 0; j < size[1]; j++) {
            size_t row = (size_t)(origin[0] + i) * whole[1] + origin[1] + j;
            visit(row * whole[2] + origin[2], ((size_t)i * size[1] + j) * size[2], size[2], arg);
        }
}

struct transfer {
    char *shard;
    float *whole;
    enum dtype dtype;
};

static void push_row(size_t whole, size_t here, size_t count, void *arg)
{
    const struct transfer *t = arg;
    floats_to_reals(t->whole + whole, t->dtype, t->shard + here * dtype_size(t->dtype), count);
}

static void pull_row(size_t whole, size_t here, size_t count, void *arg)
{
    const struct transfer *t = arg;
    reals_to_floats(t->shard + here * dtype_size(t->dtype), t->dtype, t->whole + whole, count);
}

static unroll_status push_buffer(const struct device *device, void *executable, const struct buffer *b,
                                 struct transfer *t)
{
    visit_rows(b, push_row, t);
    return device->write(executable, b->name, 0, b->bytes, t->shard);
}

static unroll_status pull_buffer(const struct device *device, void *executable, const struct buffer *b,
                                 struct transfer *t)
{
    TRY(device->read(executable, b->name, 0, b->bytes, t->shard));
    visit_rows(b, pull_row, t);
    return UNROLL_OK;
}

typedef unroll_status mover(const struct device *, void *executable, const struct buffer *, struct transfer *);

/* Moves all weights between the model and this rank's buffers. */
static unroll_status move_all(const struct device *device, void *executable, const struct plan *p, float *values,
                              mover *move)
{
    for (int i = 0; i < p->buffers; i++) {
        const struct buffer *b = &p->buffer[i];
        if (b->segment != SEG_PARAM || !b->bytes)
            continue;
        struct transfer t = {allocate_zeroed(1, b->bytes), values + p->model->parameter[b->parameter].first, b->dtype};
        if (!t.shard)
            return fail(UNROLL_RESOURCE, "no memory to move the weights '%s'", b->name);
        unroll_status status = move(device, executable, b, &t);
        release(t.shard);
        TRY(status);
    }
    return UNROLL_OK;
}

unroll_status weights_push(const struct device *device, void *executable, const struct plan *p, const float *values)
{
    return move_all(device, executable, p, (float *)values, push_buffer); /* push_buffer only reads them */
}

unroll_status weights_pull(const struct device *device, void *executable, const struct plan *p, float *values)
{
    return move_all(device, executable, p, values, pull_buffer);
}
