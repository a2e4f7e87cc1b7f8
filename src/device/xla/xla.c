/* Any XLA device as a device of the library: each part of a plan is one program of translate.h, run through a
 * plugin. A buffer has a place on the host, one on the device, or both; it moves when the side that wants it
 * has the older one. Parameters, optimizer states and sums of gradients stay on the device and are donated
 * from program to program. One device of one process: cuts between ranks are refused. */
#include "base/memory.h"
#include "device/device.h"
#include "device/xla/plugin.h"
#include "device/xla/tpu.h"
#include "device/xla/translate.h"
#include <stdio.h>
#include <string.h>

/* ---- places ---------------------------------------------------------------------------- */

enum newer { ON_HOST, ON_DEVICE, EVERYWHERE };

struct place {
    const char   *name;             /* the buffer's, in a plan that outlives the owner; of a store: a copy */
    enum dtype    dtype;
    struct value  type;             /* on the device */
    uint64_t      bytes;            /* on the host */
    void         *host;
    pjrt_buffer  *device;
    enum newer    newer;
};

static bool is_rates(const struct place *p)
{
    return !strcmp(p->name, "rates");
}

static size_t device_bytes(const struct place *p)
{
    return (size_t)shape_count(p->type.shape) * (p->type.type == HLO_U8 ? 1 : 4);
}

static unroll_status want_host(struct place *p)
{
    if (!p->host)
        p->host = allocate_zeroed(p->bytes, 1);
    return p->host ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for '%s'", p->name);
}

static unroll_status put_on_device(struct place *p, struct xla_plugin *plugin, const void *data)
{
    static const enum pjrt_type types[] = { [HLO_F32] = PJRT_F32, [HLO_I32] = PJRT_S32, [HLO_U8] = PJRT_U8,
                                            [HLO_U32] = PJRT_U32 };
    pjrt_buffer *made;
    TRY(xla_upload(plugin, types[p->type.type], p->type.shape.dim, (size_t)p->type.shape.rank, data, &made));
    xla_buffer_free(plugin, p->device);
    p->device = made;
    return UNROLL_OK;
}

enum { DOUBLES = 8192 };            /* sums of losses, norms of parameters: a few, never more */

/* Doubles become floats. */
static unroll_status put_doubles(struct place *p, struct xla_plugin *plugin)
{
    float number[DOUBLES];
    int64_t count = shape_count(p->type.shape);
    if (count > DOUBLES)
        return fail(UNROLL_UNSUPPORTED, "'%s' has more numbers than XLA programs are given", p->name);
    if (is_rates(p))
        rates_for_device(p->host, number);
    for (int64_t i = 0; i < count && !is_rates(p); i++)
        number[i] = (float)((const double *)p->host)[i];
    return put_on_device(p, plugin, number);
}

static unroll_status to_device(struct place *p, struct xla_plugin *plugin)
{
    if (p->newer != ON_HOST && p->device)
        return UNROLL_OK;
    TRY(want_host(p));
    TRY(p->dtype == DTYPE_F64 ? put_doubles(p, plugin) : put_on_device(p, plugin, p->host));
    p->newer = EVERYWHERE;
    return UNROLL_OK;
}

static unroll_status to_host(struct place *p, struct xla_plugin *plugin)
{
    float number[DOUBLES];
    TRY(want_host(p));
    if (p->newer != ON_DEVICE)
        return UNROLL_OK;
    bool converts = p->dtype == DTYPE_F64;
    TRY(xla_download(plugin, p->device, (size_t)p->type.shape.rank, converts ? number : p->host,
                     device_bytes(p)));
    for (int64_t i = 0; converts && i < shape_count(p->type.shape); i++)
        ((double *)p->host)[i] = number[i];
    p->newer = EVERYWHERE;
    return UNROLL_OK;
}

static void leave_place(struct place *p, struct xla_plugin *plugin)
{
    if (plugin)
        xla_buffer_free(plugin, p->device);
    release(p->host);
}

/* ---- stores ---------------------------------------------------------------------------- */

/* What all instances of a model share, by name: they come to have it as their plans need it. */
struct shared { struct shared *next; char name[sizeof ((struct buffer *)0)->name]; struct place place; };
struct xla_store { struct xla_plugin *plugin; struct shared *first; };

static bool is_shared(const struct buffer *b)
{
    return b->segment == SEG_PARAM || b->segment == SEG_OPT || b->segment == SEG_GRAD;
}

static struct place place_of(const struct buffer *b)
{
    return (struct place){ .name = b->name, .dtype = b->dtype, .type = buffer_type(b), .bytes = b->bytes };
}

static struct place *store_place(struct xla_store *s, const struct buffer *b)
{
    for (struct shared *i = s->first; i; i = i->next)
        if (!strcmp(i->name, b->name))
            return &i->place;
    struct shared *made = allocate_zeroed(1, sizeof *made);
    if (!made)
        return NULL;
    memcpy(made->name, b->name, sizeof made->name);
    made->place = place_of(b);
    made->place.name = made->name;
    made->next = s->first;
    s->first = made;
    return &made->place;
}

static unroll_status xla_store_new(const struct plan *plan, void **store)
{
    (void)plan;
    *store = allocate_zeroed(1, sizeof(struct xla_store));
    return *store ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for the weights on the device");
}

static void xla_store_free(void *store)
{
    struct xla_store *s = store;
    for (struct shared *i = s ? s->first : NULL, *next; i; i = next) {
        next = i->next;
        leave_place(&i->place, s->plugin);
        release(i);
    }
    release(s);
}

/* ---- instances ------------------------------------------------------------------------- */

/* One part as a program; executable NULL: there is nothing to do. */
struct program {
    pjrt_executable *executable;
    struct program_buffers argument, result;
    pjrt_buffer **given, **made;            /* room for the handles of a run */
};

struct xla_instance {
    const struct plan  *plan;
    struct xla_plugin  *plugin;
    struct place       *own, **place;       /* [buffers]; NULL: the device has no such buffer */
    struct program      program[PART_N];
    char                isa[80];
};

static void instance_free(void *instance)
{
    struct xla_instance *x = instance;
    if (!x)
        return;
    for (int i = 0; x->own && x->plugin && i < x->plan->buffers; i++)
        if (x->place && x->place[i] == &x->own[i])
            leave_place(&x->own[i], x->plugin);
    for (int part = 0; part < PART_N; part++) {
        release(x->program[part].argument.buffer);
        release(x->program[part].result.buffer);
        release(x->program[part].given);
        release(x->program[part].made);
    }
    release(x->own);
    release(x->place);
    release(x);
}

static unroll_status make_places(struct xla_instance *x, struct xla_store *store)
{
    x->own = allocate_zeroed((size_t)x->plan->buffers, sizeof *x->own);
    x->place = allocate_zeroed((size_t)x->plan->buffers, sizeof *x->place);
    if (!x->own || !x->place)
        return fail(UNROLL_RESOURCE, "no memory for an XLA program's buffers");
    for (int i = 0; i < x->plan->buffers; i++) {
        const struct buffer *b = &x->plan->buffer[i];
        if (b->segment == SEG_SCRATCH)
            continue;
        x->own[i] = place_of(b);
        x->place[i] = is_shared(b) ? store_place(store, b) : &x->own[i];
        if (!x->place[i])
            return fail(UNROLL_RESOURCE, "no memory for '%s'", b->name);
    }
    return UNROLL_OK;
}

static unroll_status compile_part(struct xla_instance *x, enum part part)
{
    static const char *const names[] = {
#define PART_NAME(NAME, name) #name,
        PARTS(PART_NAME)
#undef PART_NAME
    };
    struct program *p = &x->program[part];
    struct translation t;
    unroll_status status = translate(x->plan, part, names[part], &t);
    if (status == UNROLL_OK && t.h.size)
        status = xla_compile(x->plugin, t.h.text, t.h.size, &p->executable);
    if (status == UNROLL_OK) {
        p->argument = t.argument;
        p->result = t.result;
        t.argument.buffer = t.result.buffer = NULL;
        p->given = allocate_zeroed((size_t)p->argument.count, sizeof(pjrt_buffer *));
        p->made = allocate_zeroed((size_t)p->result.count, sizeof(pjrt_buffer *));
        if (!p->given || !p->made)
            status = fail(UNROLL_RESOURCE, "no memory for an XLA program's buffers");
    }
    translation_free(&t);
    return status;
}

static unroll_status fill_instance(struct xla_instance *x, struct xla_store *store, const char *plugin)
{
    x->plugin = store->plugin;
    if (plugin || !x->plugin)
        TRY(xla_plugin_open(plugin, &x->plugin));
    if (store->plugin && store->plugin != x->plugin)
        return fail(UNROLL_UNSUPPORTED,
                    "the model has sessions on the XLA plugin '%s': all of its sessions use one",
                    xla_plugin_path(store->plugin));
    store->plugin = x->plugin;
    snprintf(x->isa, sizeof x->isa, "xla %s", xla_plugin_platform(x->plugin));
    TRY(make_places(x, store));
    for (int part = 0; part < PART_N; part++)
        TRY(compile_part(x, (enum part)part));
    return UNROLL_OK;
}

static unroll_status xla_instance_new(const struct plan *plan, void *store,
                                      const struct device_options *options, void **instance)
{
    struct xla_instance *x = allocate_zeroed(1, sizeof *x);
    if (!x)
        return fail(UNROLL_RESOURCE, "no memory for an XLA program");
    x->plan = plan;
    unroll_status status =
        options->isa ? fail(UNROLL_UNSUPPORTED,
                            "XLA devices have no instruction sets to choose from (isa = '%s')", options->isa)
                     : fill_instance(x, store, options->which);
    if (status != UNROLL_OK) {
        instance_free(x);
        return status;
    }
    *instance = x;
    return UNROLL_OK;
}

/* ---- running --------------------------------------------------------------------------- */

/* Doubles that a part only adds to: the device makes the summand, the sum stays in double. */
static bool is_summand(const struct xla_instance *x, enum part part, int buffer)
{
    const struct plan *p = x->plan;
    if (p->buffer[buffer].dtype != DTYPE_F64)
        return false;
    for (int i = p->part[part].first; i < p->part[part].end; i++)
        for (int k = 0; k < p->op[i].views; k++)
            if (p->op[i].view[k].buffer == buffer && p->op[i].view[k].access != ADD)
                return false;
    return true;
}

static unroll_status give_arguments(struct xla_instance *x, enum part part)
{
    static const float none[DOUBLES];
    struct program *p = &x->program[part];
    for (int i = 0; i < p->argument.count; i++) {
        struct place *place = x->place[p->argument.buffer[i]];
        if (is_summand(x, part, p->argument.buffer[i])) {
            TRY(to_host(place, x->plugin));
            TRY(put_on_device(place, x->plugin, none));
        } else {
            TRY(to_device(place, x->plugin));
        }
        p->given[i] = place->device;
    }
    return UNROLL_OK;
}

static unroll_status take_summand(struct xla_instance *x, struct place *place)
{
    float summand[DOUBLES];
    double *sum = place->host;
    TRY(xla_download(x->plugin, place->device, (size_t)place->type.shape.rank, summand, device_bytes(place)));
    for (int64_t i = 0; i < shape_count(place->type.shape); i++)
        sum[i] += summand[i];
    place->newer = ON_HOST;
    return UNROLL_OK;
}

static unroll_status take_results(struct xla_instance *x, enum part part)
{
    struct program *p = &x->program[part];
    for (int i = 0; i < p->result.count; i++) {
        struct place *place = x->place[p->result.buffer[i]];
        xla_buffer_free(x->plugin, place->device);
        place->device = p->made[i];
        place->newer = ON_DEVICE;
    }
    for (int i = 0; i < p->result.count; i++)
        if (is_summand(x, part, p->result.buffer[i]))
            TRY(take_summand(x, x->place[p->result.buffer[i]]));
    return UNROLL_OK;
}

static unroll_status run_part(struct xla_instance *x, enum part part)
{
    struct program *p = &x->program[part];
    if (!p->executable)
        return UNROLL_OK;
    TRY(give_arguments(x, part));
    TRY(xla_execute(x->plugin, p->executable, p->given, (size_t)p->argument.count, p->made));
    return take_results(x, part);
}

static unroll_status xla_run(void *instance, enum part first, enum part last)
{
    for (int part = (int)first; part <= (int)last; part++)
        TRY(run_part(instance, (enum part)part));
    return UNROLL_OK;
}

/* ---- looking inside -------------------------------------------------------------------- */

static struct place *find_place(struct xla_instance *x, const char *name)
{
    int i = plan_find_buffer(x->plan, name);
    return i < 0 ? NULL : x->place[i];
}

/* The host may change what it is given. */
static void *xla_host(void *instance, const char *buffer)
{
    struct xla_instance *x = instance;
    struct place *place = find_place(x, buffer);
    if (!place || to_host(place, x->plugin) != UNROLL_OK)
        return NULL;
    place->newer = ON_HOST;
    return place->host;
}

static unroll_status find_bytes(struct xla_instance *x, const char *name, uint64_t first, uint64_t bytes,
                                struct place **place)
{
    *place = find_place(x, name);
    if (!*place)
        return fail(UNROLL_USAGE, "the plan has no buffer '%s' on this device", name);
    if (first > (*place)->bytes || bytes > (*place)->bytes - first)
        return fail(UNROLL_USAGE, "'%s' has %llu bytes", name, (unsigned long long)(*place)->bytes);
    return to_host(*place, x->plugin);
}

static unroll_status xla_read(void *instance, const char *buffer, uint64_t first, uint64_t bytes, void *to)
{
    struct place *place;
    TRY(find_bytes(instance, buffer, first, bytes, &place));
    memcpy(to, (const char *)place->host + first, bytes);
    return UNROLL_OK;
}

static unroll_status xla_write(void *instance, const char *buffer, uint64_t first, uint64_t bytes,
                               const void *from)
{
    struct place *place;
    TRY(find_bytes(instance, buffer, first, bytes, &place));
    memcpy((char *)place->host + first, from, bytes);
    place->newer = ON_HOST;
    return UNROLL_OK;
}

/* Of the arrays that outlive a program; what a program takes inside is the plugin's affair. */
static uint64_t xla_forecast(const struct plan *plan)
{
    uint64_t bytes = 0;
    for (int i = 0; i < plan->buffers; i++)
        if (plan->buffer[i].segment != SEG_SCRATCH && !is_shared(&plan->buffer[i]))
            bytes += plan->buffer[i].bytes;
    return bytes;
}

static uint64_t xla_bytes(const void *instance)
{
    return xla_forecast(((const struct xla_instance *)instance)->plan);
}

static const char *xla_isa(const void *instance) { return ((const struct xla_instance *)instance)->isa; }
static int xla_threads(const void *instance)               { (void)instance; return 1; }

static unroll_status xla_about(char *text, size_t size)
{
    struct xla_plugin *plugin;
    int major, minor;
    TRY(xla_plugin_open(NULL, &plugin));
    xla_plugin_version(plugin, &major, &minor);
    snprintf(text, size, "%s, plugin %s (interface %d.%d)", xla_plugin_platform(plugin),
             xla_plugin_path(plugin), major, minor);
    return UNROLL_OK;
}

const struct device device_xla = {
    .name = "xla",                          .packed = false,
    .precisions = 1 << PRECISION_FP32,
    .about = xla_about,
    .store_new = xla_store_new,             .store_free = xla_store_free,
    .instance_new = xla_instance_new,       .instance_free = instance_free,
    .run = xla_run,                         .host = xla_host,
    .read = xla_read,                       .write = xla_write,
    .forecast = xla_forecast,               .bytes = xla_bytes,
    .isa = xla_isa,                         .threads = xla_threads,
    .estimate = estimate_step,
};
