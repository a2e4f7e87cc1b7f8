/* Looking into a session and writing into it: buffers by name, weights and gradients as a whole, counters.
 * Runs nothing but the packing of weights that came from outside. */
#include "base/finite.h"
#include "base/sized.h"
#include "base/status.h"
#include "optim/optim.h"
#include "session/mesh.h"
#include "session/weights.h"
#include <math.h>
#include <string.h>

/* ---- looking inside -------------------------------------------------------------------- */

static const struct buffer *find(const unroll_session *s, const char *name)
{
    int i = plan_find_buffer(s->plan, name);
    const struct buffer *b = i < 0 ? NULL : &s->plan->buffer[i];
    bool real = b && (b->dtype == DTYPE_F32 || b->dtype == DTYPE_F64 || b->dtype == DTYPE_I64);
    return real && !b->layout && b->segment != SEG_SCRATCH ? b : NULL;
}

size_t unroll_count(const unroll_session *s, const char *name)
{
    const struct buffer *b = find(s, name);
    if (b && is_one_of_many(s))
        return mesh_count(b);
    return b ? b->bytes / dtype_size(b->dtype) : 0;
}

/* What belongs to a parameter has its shape, which is PyTorch's; shards, and states beside h, have an axis where there
 * are several, and what lies behind a pool has none of steps. */
int unroll_shape(const unroll_session *s, const char *name, int shape[UNROLL_AXES])
{
    const struct buffer *b = find(s, name);
    const bool is_weight = b && b->parameter >= 0;
    unroll_parameter p = {.rank = 0};
    int rank = 0;
    for (int i = 0; b && i < b->rank; i++) {
        int size = (int)(is_one_of_many(s) ? b->whole[i] : b->size[i]);
        bool is_number = b->axis[i] == AX_S || b->axis[i] == AX_G || b->axis[i] == AX_ONE;
        if (is_weight ? b->axis[i] == AX_S && size > 1 : !is_number || size > 1)
            shape[rank++] = size;
    }
    if (is_weight && unroll_model_parameter(s->model, b->parameter, &p) != UNROLL_OK)
        return 0;
    for (int i = 0; i < p.rank; i++) shape[rank++] = p.shape[i];
    return rank;
}

int unroll_session_buffer(const unroll_session *s, int index, unroll_buffer *buffer)
{
    const struct buffer *b = NULL;
    if (sized_check(SIZED_RESULT(unroll_buffer), buffer) != UNROLL_OK)
        return 0;
    for (int i = 0; i < s->plan->buffers && index >= 0; i++) {
        b = find(s, s->plan->buffer[i].name);
        if (b && b->dtype != DTYPE_I64 && index-- == 0)
            break;
        b = NULL;
    }
    if (!b)
        return 0;
    unroll_buffer found = {.size = sizeof found, .name = b->name, .type = dtype_name(b->dtype)};
    found.rank = unroll_shape(s, b->name, found.shape);
    found.count = unroll_count(s, b->name);
    sized_give(&found, sizeof found, buffer);
    return 1;
}

/* All of it, or the first steps of an array over time. */
static bool is_count(const struct buffer *b, size_t count)
{
    size_t all = b->bytes / dtype_size(b->dtype), step = b->axis[0] == AX_T ? all / b->size[0] : all;
    return count > 0 && count <= all && count % step == 0;
}

static unroll_status check_access(const unroll_session *s, const char *name, size_t count, const struct buffer **b)
{
    *b = find(s, name);
    TRY(session_check(s));
    if (!*b || (*b)->dtype == DTYPE_I64)
        return fail(
            UNROLL_USAGE,
            "the session has no array '%s' of numbers; fix: the name of a parameter, or of an array that the session reads or writes",
            name);
    if (is_one_of_many(s) ? count != mesh_count(*b) : !is_count(*b, count)) /* of many: all or nothing */
        return fail(UNROLL_USAGE, "'%s' holds %zu numbers, not %zu; fix: as many numbers as it holds", name,
                    unroll_count(s, name), count);
    return UNROLL_OK;
}

enum { PIECE = 1024 }; /* numbers on the stack at once */

static unroll_status take(unroll_session *s, const struct buffer *b, float *to, size_t count)
{
    double piece[PIECE];
    if (is_one_of_many(s))
        return mesh_gather(s, b, to);
    if (b->dtype == DTYPE_F32)
        return s->device->read(s->executable, b->name, 0, count * sizeof *to, to);
    for (size_t i = 0; i < count; i += PIECE) {
        size_t n = count - i < PIECE ? count - i : PIECE;
        TRY(s->device->read(s->executable, b->name, i * sizeof *piece, n * sizeof *piece, piece));
        reals_to_floats(piece, b->dtype, to + i, n);
    }
    return UNROLL_OK;
}

static unroll_status put(unroll_session *s, const struct buffer *b, const float *from, size_t count)
{
    double piece[PIECE];
    if (is_one_of_many(s))
        return mesh_scatter(s, b, from);
    if (b->dtype == DTYPE_F32)
        return s->device->write(s->executable, b->name, 0, count * sizeof *from, from);
    for (size_t i = 0; i < count; i += PIECE) {
        size_t n = count - i < PIECE ? count - i : PIECE;
        floats_to_reals(from + i, b->dtype, piece, n);
        TRY(s->device->write(s->executable, b->name, i * sizeof *piece, n * sizeof *piece, piece));
    }
    return UNROLL_OK;
}

unroll_status unroll_read(unroll_session *s, const char *name, float *to, size_t count)
{
    const struct buffer *b;
    TRY(check_access(s, name, count, &b));
    return take(s, b, to, count);
}

/* States are inputs too, and checked as those are; weights may be anything, as an update may leave them. */
static unroll_status check_states(const struct buffer *b, const char *name, const float *from, size_t count)
{
    size_t i = 0;
    if (b->segment != SEG_CARRY || all_finite(from, count))
        return UNROLL_OK;
    while (isfinite(from[i])) i++;
    return fail(UNROLL_DATA, "'%s' holds NaN or infinity at number %zu; fix: write finite numbers", name, i);
}

unroll_status unroll_write(unroll_session *s, const char *name, const float *from, size_t count)
{
    const struct buffer *b;
    TRY(check_access(s, name, count, &b));
    TRY(check_states(b, name, from, count));
    TRY(put(s, b, from, count));
    return b->segment == SEG_PARAM ? session_pack(s) : UNROLL_OK;
}

/* ---- weights and gradients as a whole --------------------------------------------------- */

/* Are they the bits that the session has? Looking is ten times cheaper than packing. Of many ranks none
 * looks: each has a share. */
static unroll_status compare(unroll_session *s, const struct buffer *b, const float *from, size_t count, bool *equal)
{
    float given[PIECE];
    double here[PIECE]; /* reals, whichever they are */
    size_t size = dtype_size(b->dtype);
    *equal = !is_one_of_many(s);
    for (size_t i = 0; i < count && *equal; i += PIECE) {
        size_t n = count - i < PIECE ? count - i : PIECE;
        TRY(s->device->read(s->executable, b->name, i * size, n * size, here));
        if (b->dtype == DTYPE_F32) {
            *equal = !memcmp(here, from + i, n * sizeof *from);
            continue;
        }
        reals_to_floats(here, b->dtype, given, n);
        *equal = !memcmp(given, from + i, n * sizeof *from);
    }
    return UNROLL_OK;
}

unroll_status unroll_session_set_weights(unroll_session *s, const float *const *weights)
{
    struct unroll_model *m = s->model;
    bool changed = false, own = true; /* the model's own memory, which then is as new */
    TRY(session_check(s));
    for (int i = 0; i < m->parameters; i++) {
        const struct buffer *b = &s->plan->buffer[plan_find_buffer(s->plan, m->parameter[i].name)];
        bool equal = true;
        own &= weights[i] == m->values + m->parameter[i].first;
        if (weights[i])
            TRY(compare(s, b, weights[i], m->parameter[i].count, &equal));
        if (!equal)
            TRY(put(s, b, weights[i], m->parameter[i].count));
        changed |= !equal;
    }
    TRY(changed ? session_pack(s) : UNROLL_OK);
    if (own)
        s->shared->pulled = s->shared->changes;
    return UNROLL_OK;
}

unroll_status unroll_session_gradients(unroll_session *s, float *const *gradients)
{
    const struct unroll_model *m = s->model;
    TRY(session_check(s));
    if (s->config.mode != UNROLL_MODULE || s->config.updates)
        return fail(UNROLL_USAGE,
                    "gradients are read at once from modules (mode) without updates; fix: unroll_read of \"d.NAME\"");
    for (int i = 0; i < m->parameters; i++) {
        const struct buffer *b = &s->plan->buffer[plan_find_buffer(s->plan, m->parameter[i].name)];
        if (gradients[i])
            TRY(take(s, &s->plan->buffer[b->gradient], gradients[i], m->parameter[i].count));
    }
    return UNROLL_OK;
}

/* ---- states, weights of the model, counters --------------------------------------------- */

unroll_status unroll_clear_states(unroll_session *s)
{
    TRY(session_check(s));
    return session_clear(s, SEG_CARRY);
}

/* Of many ranks each has its share. */
static unroll_status pull_shards(unroll_session *s)
{
    const struct unroll_model *m = s->model;
    for (int i = 0; i < m->parameters; i++) {
        const struct buffer *b = &s->plan->buffer[plan_find_buffer(s->plan, m->parameter[i].name)];
        TRY(mesh_gather(s, b, m->values + m->parameter[i].first));
    }
    return UNROLL_OK;
}

unroll_status unroll_session_pull(unroll_session *s)
{
    TRY(session_check(s));
    TRY(is_one_of_many(s) ? pull_shards(s) : weights_pull(s->device, s->executable, s->plan, s->model->values));
    s->shared->pulled = s->shared->changes;
    return UNROLL_OK;
}

unroll_status unroll_session_push(unroll_session *s)
{
    TRY(session_check(s));
    TRY(weights_push(s->device, s->executable, s->plan, s->model->values));
    TRY(session_pack(s));
    s->shared->pulled = s->shared->changes;
    return UNROLL_OK;
}

/* Of sessions that train beside each other the one that ran last: it has what the others go on from. */
static unroll_session *at_work(const unroll_session *s)
{
    bool trains = s->config.mode == UNROLL_TRAIN && s->shared->trainer;
    return trains ? s->shared->trainer : (unroll_session *)s;
}

void unroll_session_counters(const unroll_session *s, int64_t *forwards, int64_t *updates)
{
    const bool good = session_check(s) == UNROLL_OK;
    s = at_work(s);
    *forwards = good ? ((int64_t *)session_host(s, "run"))[1] : 0;
    *updates = good ? (int64_t)((double *)session_host(s, "rates"))[RATE_STEP] : 0;
}

void unroll_session_set_counters(unroll_session *s, int64_t forwards, int64_t updates)
{
    if (session_check(s) != UNROLL_OK)
        return;
    s = at_work(s);
    ((int64_t *)session_host(s, "run"))[1] = forwards;
    ((double *)session_host(s, "rates"))[RATE_STEP] = (double)updates;
}

void unroll_session_loss_scale(const unroll_session *s, double *scale, int64_t *updates)
{
    static const double none[RATE_OVERFLOW + 1];
    const double *rates = session_check(s) == UNROLL_OK ? session_host(at_work(s), "rates") : none;
    *scale = rates[RATE_SCALE];
    *updates = (int64_t)rates[RATE_GOOD];
}

void unroll_session_set_loss_scale(unroll_session *s, double scale, int64_t updates)
{
    double *rates = session_check(s) == UNROLL_OK ? session_host(at_work(s), "rates") : NULL;
    if (!rates || rates[RATE_SCALE] == 0)
        return;
    rates[RATE_SCALE] = scale;
    rates[RATE_GOOD] = (double)updates;
}

uint64_t unroll_session_bytes(const unroll_session *s) { return s->device->bytes(s->executable); }

uint64_t unroll_session_memory_estimate(const unroll_session *s)
{
    return s->device->memory_estimate(s->plan, session_threads(s));
}

const char *unroll_session_isa(const unroll_session *s) { return s->device->isa(s->executable); }

unroll_status unroll_session_span(unroll_session *s, double *seconds)
{
    TRY(session_check(s));
    if (!s->device->span)
        return fail(UNROLL_UNSUPPORTED, "%s has no clock of its own; fix: take the time around calls", s->device->name);
    return s->device->span(s->executable, seconds);
}

int unroll_session_divided(const unroll_session *s, double *part, int room, int *ranks)
{
    *ranks = 0;
    return s->device->divided ? s->device->divided(s->executable, part, room, ranks) : 0;
}

int unroll_session_operation(const unroll_session *s, int index, unroll_operation *operation)
{
    bool is_there = s->config.profile && index >= 0 && index < s->plan->ops;
    const struct op_time *time = is_there ? s->device->time(s->executable, index) : NULL;
    if (!time)
        return 0;
    const struct op *op = &s->plan->op[index];
    *operation = (unroll_operation){.min = time->min, .seconds = time->seconds, .flops = op->flops, .runs = time->runs};
    op_label(s->plan, op, operation->name, sizeof operation->name);
    return 1;
}

int unroll_session_threads(const unroll_session *s) { return s->device->threads(s->executable); }

unroll_status unroll_session_pieces(const unroll_session *s, unroll_pieces *pieces)
{
    unroll_pieces all = {.size = sizeof all, .pieces = s->plan->config.pieces};
    TRY(sized_check(SIZED_RESULT(unroll_pieces), pieces));
    for (int i = 0; i < s->plan->ops && s->device->pieces && plan_repairs(&s->plan->config); i++) {
        const struct piece_counts *counts = s->device->pieces(s->executable, i);
        if ((s->plan->op[i].kind != OP_RNN && s->plan->op[i].kind != OP_RNN_BACK) || !counts)
            continue;
        all.recurrences++;
        all.in_order += counts->serial;
        all.runs += (int64_t)counts->runs;
        all.rounds += (int64_t)counts->rounds;
        all.repaired += (int64_t)counts->repaired;
    }
    sized_give(&all, sizeof all, pieces);
    return UNROLL_OK;
}
