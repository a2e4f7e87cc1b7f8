/* Access to the contents of a session: buffers by name, all weights or gradients, counters. The only code run here
 * packs weights that the caller wrote. */
#include "base/finite.h"
#include "base/sized.h"
#include "base/status.h"
#include "nn/optim/optim.h"
#include "session/mesh.h"
#include "session/weights.h"
#include <math.h>
#include <string.h>

/* ---- buffers ---------------------------------------------------------------------------- */

static const struct buffer *find(const unroll_session *s, const char *name)
{
    int i = plan_find_buffer(s->plan, name);
    const struct buffer *b = i < 0 ? NULL : &s->plan->buffer[i];
    bool real = b && (b->dtype == DTYPE_F32 || b->dtype == DTYPE_F64 || b->dtype == DTYPE_I64);
    return real && !b->layout && b->segment != SEG_SCRATCH ? b : NULL;
}

size_t unroll_session_count(const unroll_session *s, const char *name)
{
    const struct buffer *b = find(s, name);
    if (b && is_one_of_many(s))
        return mesh_count(b);
    return b ? b->bytes / dtype_size(b->dtype) : 0;
}

/* Buffers of a parameter have its shape, which is PyTorch's. Others have an axis of shards or states only if there are
 * several; after a pool they have no axis of steps. */
static int find_shape(const unroll_session *s, const struct buffer *b, int shape[UNROLL_AXES])
{
    const bool is_weight = b->parameter >= 0;
    unroll_parameter p = {.size = sizeof p, .rank = 0};
    int rank = 0;
    for (int i = 0; i < b->rank; i++) {
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

static void give_buffer(const unroll_session *s, const struct buffer *b, unroll_buffer *buffer)
{
    unroll_buffer found = {.size = sizeof found, .name = b->name, .type = dtype_name(b->dtype)};
    found.rank = find_shape(s, b, found.shape);
    found.count = unroll_session_count(s, b->name);
    sized_give(&found, sizeof found, buffer);
}

bool unroll_session_find(const unroll_session *s, const char *name, unroll_buffer *buffer)
{
    if (sized_check(SIZED_RESULT(unroll_buffer), buffer) != UNROLL_OK)
        return false;
    const struct buffer *b = find(s, name);
    if (b)
        give_buffer(s, b, buffer);
    return b != NULL;
}

bool unroll_session_buffer(const unroll_session *s, int index, unroll_buffer *buffer)
{
    if (sized_check(SIZED_RESULT(unroll_buffer), buffer) != UNROLL_OK)
        return false;
    for (int i = 0; i < s->plan->buffers && index >= 0; i++) {
        const struct buffer *b = find(s, s->plan->buffer[i].name);
        if (b && b->dtype != DTYPE_I64 && index-- == 0) {
            give_buffer(s, b, buffer);
            return true;
        }
    }
    return false;
}

/* Accepts all elements, or those of the first steps in an array over time. */
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
            "the session has no array '%s' of floats; fix: give the name of a parameter, or of an array that the "
            "session reads or writes",
            name);
    if (is_one_of_many(s) ? count != mesh_count(*b) : !is_count(*b, count)) /* with several ranks: all elements */
        return fail(UNROLL_USAGE, "'%s' has %zu values, but %zu were given; fix: give the number of values that it has",
                    name, unroll_session_count(s, name), count);
    return UNROLL_OK;
}

enum { PIECE = 1024 }; /* numbers on the stack at a time */

static unroll_status take_values(unroll_session *s, const struct buffer *b, float *to, size_t count)
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

static unroll_status put_values(unroll_session *s, const struct buffer *b, const float *from, size_t count)
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

unroll_status unroll_session_read(unroll_session *s, const char *name, float *to, size_t count)
{
    const struct buffer *b;
    TRY(check_access(s, name, count, &b));
    return take_values(s, b, to, count);
}

/* States are checked like inputs. Weights may be anything, because an update may also leave anything. */
static unroll_status check_states(const struct buffer *b, const char *name, const float *from, size_t count)
{
    size_t i = 0;
    if (b->segment != SEG_CARRY || all_finite(from, count))
        return UNROLL_OK;
    while (isfinite(from[i])) i++;
    return fail(UNROLL_DATA, "'%s' contains NaN or infinity at index %zu; fix: write finite numbers", name, i);
}

unroll_status unroll_session_write(unroll_session *s, const char *name, const float *from, size_t count)
{
    const struct buffer *b;
    TRY(check_access(s, name, count, &b));
    TRY(check_states(b, name, from, count));
    TRY(put_values(s, b, from, count));
    return b->segment == SEG_PARAM ? session_pack(s) : UNROLL_OK;
}

/* ---- weights and gradients as a whole --------------------------------------------------- */

/* Compares the caller's weights with the session's bits, which is ten times cheaper than packing. With several ranks,
 * *equal is false: each has only a share. */
static unroll_status compare_values(unroll_session *s, const struct buffer *b, const float *from, size_t count,
                                    bool *equal)
{
    float given[PIECE];
    double here[PIECE]; /* of either real type */
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
    bool changed = false, own = true; /* own: all come from the model's own memory, which is then up to date */
    TRY(session_check(s));
    for (int i = 0; i < m->parameters; i++) {
        const struct buffer *b = &s->plan->buffer[plan_find_buffer(s->plan, m->parameter[i].name)];
        bool equal = true;
        own &= weights[i] == m->values + m->parameter[i].first;
        if (weights[i])
            TRY(compare_values(s, b, weights[i], m->parameter[i].count, &equal));
        if (!equal)
            TRY(put_values(s, b, weights[i], m->parameter[i].count));
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
        return fail(
            UNROLL_USAGE,
            "all gradients can be read at once only in mode module with updates = 0; fix: use unroll_session_read of "
            "\"d.NAME\"");
    for (int i = 0; i < m->parameters; i++) {
        const struct buffer *b = &s->plan->buffer[plan_find_buffer(s->plan, m->parameter[i].name)];
        if (gradients[i])
            TRY(take_values(s, &s->plan->buffer[b->gradient], gradients[i], m->parameter[i].count));
    }
    return UNROLL_OK;
}

/* ---- states, weights of the model, counters --------------------------------------------- */

unroll_status unroll_session_reset(unroll_session *s)
{
    TRY(session_check(s));
    return session_clear(s, SEG_CARRY);
}

/* With several ranks, each has only a share. */
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

/* Among sessions that train together, returns the one that ran last. It has the current counters. */
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

const unroll_model *unroll_session_model(const unroll_session *s) { return s->model; }

uint64_t unroll_session_memory_estimate(const unroll_session *s)
{
    return s->device->memory_estimate(s->plan, session_threads(s));
}

const char *unroll_session_isa(const unroll_session *s) { return s->device->isa(s->executable); }

unroll_status unroll_session_seconds(unroll_session *s, double *seconds)
{
    TRY(session_check(s));
    if (!s->device->span)
        return fail(UNROLL_UNSUPPORTED, "%s has no device clock; fix: measure the time around calls", s->device->name);
    return s->device->span(s->executable, seconds);
}

int unroll_session_shares(const unroll_session *s, double *part, int room, int *ranks)
{
    *ranks = 0;
    return s->device->divided ? s->device->divided(s->executable, part, room, ranks) : 0;
}

bool unroll_session_operation(const unroll_session *s, int index, unroll_operation *operation)
{
    if (sized_check(SIZED_RESULT(unroll_operation), operation) != UNROLL_OK)
        return false;
    bool is_there = s->config.profile && index >= 0 && index < s->plan->ops;
    const struct op_time *time = is_there ? s->device->time(s->executable, index) : NULL;
    if (!time)
        return false;
    const struct op *op = &s->plan->op[index];
    unroll_operation all = {.min = time->min, .seconds = time->seconds, .flops = op->flops, .runs = time->runs};
    op_label(s->plan, op, all.name, sizeof all.name);
    sized_give(&all, sizeof all, operation);
    return true;
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
