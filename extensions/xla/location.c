/* Locations of buffers (location.h): copies boxes of the host's arrays to devices and back. Doubles of the host are
 * floats on devices. */
#include "extensions/xla/location.h"
#include "base/memory.h"
#include <string.h>

enum { DOUBLES = 4096 }; /* sums of losses, norms of parameters: only a few */

/* ---- layouts --------------------------------------------------------------------------- */

/* A loss sum covers only the device's rows, although no backward pass marked it as partial. */
static bool is_partial(const struct plan *p, const struct buffer *b, int m)
{
    bool sums_losses = b->segment == SEG_VALUES && (!strcmp(b->name, "loss_sum") || !strcmp(b->name, "weight_sum"));
    return p->config.mesh[m] > 1 && (b->state[m] == PARTIAL || (m == M_BATCH && sums_losses));
}

/* Describes device r's part of a buffer: its box, and whether it gives values to the host, is a distinct summand,
 * and takes the host's sum. */
static void describe_shard(struct mesh_plans mesh, int index, int r, struct form *f)
{
    const struct plan *p = mesh.plan[r];
    const struct buffer *b = &p->buffer[index];
    struct shard *s = &f->shard[r];
    memcpy(s->first, b->origin, sizeof s->first);
    int zero[M_N], twin;
    if (mesh.devices == 1) { /* the device has the host's array; in a rank, its part */
        *s = (struct shard){.gives = true, .adds = true, .takes = true};
        return;
    }
    s->gives = s->adds = true;
    for (int q = 0; q < r; q++) s->gives = s->gives && memcmp(f->shard[q].first, s->first, sizeof s->first);
    for (int m = 0; m < M_N; m++) {
        bool partial = is_partial(p, b, m);
        f->partial |= partial;
        s->adds = s->adds && (partial || b->state[m] == SPLIT || p->config.at[m] == 0);
        zero[m] = partial ? 0 : p->config.at[m];
    }
    twin = plan_rank_at(p, zero); /* the first device whose sums are added to this one's */
    s->takes = twin == r || memcmp(f->shard[twin].first, s->first, sizeof s->first);
}

unroll_status form_new(struct mesh_plans mesh, int index, const struct buffer *host, struct form *f)
{
    const struct buffer *b = &mesh.plan[0]->buffer[index];
    *f = (struct form){.type = buffer_type(b), .devices = mesh.devices};
    f->hidden = !host || host->shared || b->shared || host->rank != b->rank || host->dtype != b->dtype;
    TRY(ALLOCATE(f->shard, (size_t)mesh.devices, "for the shares of '%s'", b->name));
    for (int r = 0; r < mesh.devices; r++) describe_shard(mesh, index, r, f);
    return UNROLL_OK;
}

static bool same_form(const struct form *a, const struct form *b)
{
    return a->devices == b->devices && a->type.shape.rank == b->type.shape.rank && a->partial == b->partial &&
           !memcmp(a->type.shape.dim, b->type.shape.dim, (size_t)a->type.shape.rank * sizeof *a->type.shape.dim) &&
           !memcmp(a->shard, b->shard, (size_t)a->devices * sizeof *a->shard);
}

static size_t number_bytes(const struct form *f) { return f->type.type == HLO_U8 ? 1 : 4; }

static size_t device_bytes(const struct form *f) { return (size_t)shape_count(f->type.shape) * number_bytes(f); }

/* ---- locations -------------------------------------------------------------------------- */

struct location location_of(const struct buffer *b)
{
    struct location p = {.name = b->name, .dtype = b->dtype, .segment = b->segment, .rank = b->rank, .bytes = b->bytes};
    memcpy(p.size, b->size, sizeof p.size);
    return p;
}

static void leave_devices(struct location *p, struct xla_plugin *plugin)
{
    for (int r = 0; p->device && r < p->form.devices; r++) xla_buffer_free(plugin, p->device[r]);
    release(p->device);
    release(p->arriving);
    release(p->form.shard);
    p->device = NULL;
    p->arriving = NULL;
    p->form = (struct form){0};
}

void location_forget(struct location *p, struct xla_plugin *plugin)
{
    leave_devices(p, plugin);
    p->newer = NOWHERE;
}

void location_leave(struct location *p, struct xla_plugin *plugin)
{
    leave_devices(p, plugin);
    for (int i = 0; p->summands && i < p->summands->count; i++) xla_buffer_free(plugin, p->summands->buffer[i]);
    release(p->summands);
    release(p->landing);
    release(p->host);
}

unroll_status location_at_home(struct location *p)
{
    if (!p->host)
        p->host = allocate_zeroed(p->bytes, 1);
    return p->host ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for '%s'", p->name);
}

static unroll_status take_form(struct location *p, struct xla_plugin *plugin, const struct form *f)
{
    size_t n = (size_t)f->devices;
    if (p->device && same_form(&p->form, f))
        return UNROLL_OK;
    leave_devices(p, plugin);
    p->form = *f;
    p->form.shard = allocate_zeroed(n, sizeof *f->shard);
    p->device = allocate_zeroed(n, sizeof *p->device);
    p->arriving = allocate_zeroed(n, sizeof *p->arriving);
    if (!p->form.shard || !p->device || !p->arriving)
        return fail(UNROLL_RESOURCE, "no memory for the shares of '%s'", p->name);
    memcpy(p->form.shard, f->shard, n * sizeof *f->shard);
    return UNROLL_OK;
}

/* ---- boxes ----------------------------------------------------------------------------- */

/* Returns whether a share is the host's whole array. */
static bool is_all(const struct location *p)
{
    for (int i = 0; i < p->rank && p->dtype != DTYPE_I64; i++)
        if (p->form.type.shape.dim[i] != p->size[i])
            return false;
    return true;
}

enum move { TO_SHARD, TO_WHOLE, ADD_TO_WHOLE };

static void move_row(char *whole, char *shard, size_t bytes, enum move move)
{
    if (move == TO_SHARD)
        memcpy(shard, whole, bytes);
    else if (move == TO_WHOLE)
        memcpy(whole, shard, bytes);
    else
        for (size_t i = 0; i < bytes / sizeof(float); i++) ((float *)whole)[i] += ((const float *)shard)[i];
}

/* Copies between a contiguous share and its box of the host's array. */
static void move_box(const struct location *p, const struct shard *s, char *shard, enum move move)
{
    size_t bytes = number_bytes(&p->form), last = (size_t)p->rank - 1, at[BUFFER_AXES] = {0};
    const int64_t *count = p->form.type.shape.dim;
    if (p->dtype == DTYPE_I64) { /* two words each on the device, and never divided */
        move_row(p->host, shard, device_bytes(&p->form), move);
        return;
    }
    size_t row = (size_t)count[last] * bytes, rows = device_bytes(&p->form) / (row ? row : 1);
    for (; rows-- > 0; shard += row) {
        size_t location = 0;
        for (size_t i = 0; i <= last; i++) location = location * p->size[i] + s->first[i] + (i < last ? at[i] : 0);
        move_row((char *)p->host + location * bytes, shard, row, move);
        for (size_t i = last; i-- > 0 && ++at[i] == (size_t)count[i];) at[i] = 0;
    }
}

static unroll_status want_landing(struct location *p, size_t bytes)
{
    release(p->landing);
    p->landing = allocate_zeroed(bytes, 1);
    return p->landing ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory to divide '%s'", p->name);
}

/* ---- to the devices -------------------------------------------------------------------- */

static unroll_status put(struct location *p, struct xla_plugin *plugin, int r, const void *data)
{
    static const enum pjrt_type types[] = {
        [HLO_F32] = PJRT_F32, [HLO_I32] = PJRT_S32, [HLO_U8] = PJRT_U8, [HLO_U32] = PJRT_U32};
    pjrt_buffer *made;
    const struct value *type = &p->form.type;
    TRY(xla_upload(plugin, r, types[type->type], type->shape.dim, (size_t)type->shape.rank, data, &made));
    xla_buffer_free(plugin, p->device[r]);
    p->device[r] = made;
    return UNROLL_OK;
}

static void rates_for_device(const double *rates, float *on_device)
{
    memset(on_device, 0, DEVICE_RATES * sizeof *on_device);
    on_device[DEVICE_CLIP] = (float)rates[RATE_CLIP];
    for (int i = 0; i < OPTIMIZER_NUMBERS_MAX; i++) on_device[DEVICE_NUMBERS + i] = (float)rates[RATE_NUMBERS + i];
}

/* Uploads doubles as floats. */
static unroll_status put_doubles(struct location *p, struct xla_plugin *plugin)
{
    static const float none[DOUBLES];
    float number[DOUBLES];
    int64_t count = shape_count(p->form.type.shape);
    bool is_rates = !strcmp(p->name, "rates");
    if (count > DOUBLES)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' has more numbers than XLA programs are given; fix: use a smaller network or batch", p->name);
    if (is_rates)
        rates_for_device(p->host, number);
    for (int64_t i = 0; i < count && !is_rates; i++) number[i] = (float)((const double *)p->host)[i];
    for (int r = 0; r < p->form.devices; r++)
        TRY(put(p, plugin, r, p->form.partial && !p->form.shard[r].takes ? none : number));
    return UNROLL_OK;
}

static unroll_status put_shards(struct location *p, struct xla_plugin *plugin)
{
    bool whole = is_all(p);
    if (!whole || p->form.partial)
        TRY(want_landing(p, device_bytes(&p->form)));
    for (int r = 0; r < p->form.devices; r++) {
        const struct shard *s = &p->form.shard[r];
        bool zeros = p->form.partial && !s->takes;
        if (zeros)
            memset(p->landing, 0, device_bytes(&p->form));
        else if (!whole)
            move_box(p, s, p->landing, TO_SHARD);
        TRY(put(p, plugin, r, whole && !zeros ? p->host : p->landing));
    }
    release(p->landing);
    p->landing = NULL;
    return UNROLL_OK;
}

unroll_status location_to_devices(struct location *p, struct xla_plugin *plugin, const struct form *f)
{
    bool there = p->device && same_form(&p->form, f);
    if (p->newer == NOWHERE)
        return fail(UNROLL_FAILURE, "'%s' was not kept on the XLA device; fix: use another cell or device", p->name);
    if (there && p->newer != ON_HOST)
        return UNROLL_OK;
    TRY(locations_to_host(&p, 1, plugin));
    TRY(take_form(p, plugin, f));
    TRY(p->dtype == DTYPE_F64 ? put_doubles(p, plugin) : put_shards(p, plugin));
    p->partial = f->partial;
    p->newer = EVERYWHERE;
    return UNROLL_OK;
}

/* ---- to the host ----------------------------------------------------------------------- */

static bool is_owner(const struct location *p, int r)
{
    return p->partial ? p->form.shard[r].adds : p->form.shard[r].gives;
}

/* Returns whether shares are downloaded directly into the host's array. */
static bool lands_at_home(const struct location *p) { return is_all(p) && !p->partial && p->dtype != DTYPE_F64; }

static unroll_status begin_arrival(struct location *p, struct xla_plugin *plugin)
{
    size_t bytes = device_bytes(&p->form);
    struct summands *s = p->summands;
    TRY(location_at_home(p));
    for (int i = 0; s && i < s->count; i++)
        TRY(xla_download(plugin, s->buffer[i], 1, &s->number[i], sizeof s->number[i], &s->event[i]));
    if (p->newer != ON_DEVICE)
        return UNROLL_OK;
    if (!lands_at_home(p))
        TRY(want_landing(p, bytes * (size_t)p->form.devices));
    for (int r = 0; r < p->form.devices; r++)
        if (is_owner(p, r))
            TRY(xla_download(plugin, p->device[r], (size_t)p->form.type.shape.rank,
                             lands_at_home(p) ? p->host : p->landing + (size_t)r * bytes, bytes, &p->arriving[r]));
    return UNROLL_OK;
}

/* Awaits all events, even after an error; keeps the first error. */
static unroll_status await_into(struct xla_plugin *plugin, pjrt_event **event, unroll_status before)
{
    unroll_status status = *event ? xla_await(plugin, *event, "giving an array") : UNROLL_OK;
    *event = NULL;
    return before == UNROLL_OK ? status : before;
}

static unroll_status await_arrival(struct location *p, struct xla_plugin *plugin, unroll_status status)
{
    struct summands *s = p->summands;
    for (int i = 0; s && i < s->count; i++) status = await_into(plugin, &s->event[i], status);
    for (int r = 0; p->arriving && r < p->form.devices; r++) status = await_into(plugin, &p->arriving[r], status);
    return status;
}

static void add_summands(struct location *p, struct xla_plugin *plugin)
{
    struct summands *s = p->summands;
    for (int i = 0; i < s->count; i++) {
        *(double *)p->host += s->number[i];
        xla_buffer_free(plugin, s->buffer[i]);
    }
    if (s->count)
        p->newer = ON_HOST;
    s->count = 0;
}

static void land(struct location *p)
{
    size_t bytes = device_bytes(&p->form);
    if (p->dtype != DTYPE_F64 && (p->partial || !is_all(p)))
        memset(p->host, 0, p->bytes); /* steps and rows that were not computed */
    for (int r = 0; r < p->form.devices; r++) {
        const char *shard = p->landing + (size_t)r * bytes;
        if (!is_owner(p, r))
            continue;
        for (size_t i = 0; p->dtype == DTYPE_F64 && i < bytes / sizeof(float); i++)
            ((double *)p->host)[i] = ((const float *)shard)[i] + (p->partial && r ? ((double *)p->host)[i] : 0);
        if (p->dtype != DTYPE_F64)
            move_box(p, &p->form.shard[r], p->landing + (size_t)r * bytes, p->partial ? ADD_TO_WHOLE : TO_WHOLE);
    }
}

static void end_arrival(struct location *p, struct xla_plugin *plugin)
{
    if (p->newer == ON_DEVICE) {
        if (!lands_at_home(p))
            land(p);
        p->newer = EVERYWHERE;
    }
    if (p->summands)
        add_summands(p, plugin);
    release(p->landing);
    p->landing = NULL;
}

bool location_is_away(const struct location *p) { return p->newer == ON_DEVICE || (p->summands && p->summands->count); }

unroll_status locations_to_host(struct location *const *location, int count, struct xla_plugin *plugin)
{
    unroll_status status = UNROLL_OK;
    bool waits = false;
    for (int i = 0; i < count && status == UNROLL_OK; i++) {
        waits |= location_is_away(location[i]);
        status = begin_arrival(location[i], plugin);
    }
    if (waits)
        xla_count_sync();
    for (int i = 0; i < count; i++) status = await_arrival(location[i], plugin, status);
    for (int i = 0; i < count && status == UNROLL_OK; i++) end_arrival(location[i], plugin);
    return status;
}

/* ---- results --------------------------------------------------------------------------- */

unroll_status location_take(struct location *p, struct xla_plugin *plugin, const struct form *f,
                            pjrt_buffer *const *made, bool partial)
{
    TRY(take_form(p, plugin, f));
    for (int r = 0; r < f->devices; r++) {
        xla_buffer_free(plugin, p->device[r]);
        p->device[r] = made[r];
    }
    p->partial = partial;
    p->newer = ON_DEVICE;
    return UNROLL_OK;
}

unroll_status location_add(struct location *p, struct xla_plugin *plugin, const struct form *f,
                           pjrt_buffer *const *made, bool partial)
{
    if (!p->summands)
        p->summands = allocate_zeroed(1, sizeof *p->summands);
    if (!p->summands)
        return fail(UNROLL_RESOURCE, "no memory for the summands of '%s'", p->name);
    if (p->summands->count + f->devices > SUMMANDS || p->newer == ON_DEVICE)
        TRY(locations_to_host(&p, 1, plugin));
    for (int r = 0; r < f->devices; r++) {
        if (partial ? f->shard[r].adds : r == 0)
            p->summands->buffer[p->summands->count++] = made[r];
        else
            xla_buffer_free(plugin, made[r]);
    }
    return UNROLL_OK;
}
