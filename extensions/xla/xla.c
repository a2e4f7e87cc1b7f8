/* Makes any XLA device available to the library: phases of a plan become programs (translate.h) that a plugin runs.
 * Parameters, optimizer states and sums of gradients stay on the device and are donated from program to program.
 * Plans are cut here: one process drives all devices, and the host sees whole arrays. Batches with few steps or rows
 * run in smaller programs (shape_buckets.h). */
#include "base/extension.h"
#include "base/memory.h"
#include "device/device.h"
#include "device/staged.h"
#include "extensions/xla/shape_buckets.h"
#include "extensions/xla/tpu.h"
#include <stdio.h>
#include <string.h>

/* ---- stores ---------------------------------------------------------------------------- */

/* Buffers shared by all executables of a model, by name; created as plans need them. */
struct shared {
    struct shared *next;
    char name[sizeof((struct buffer *)0)->name];
    struct location location;
};
struct xla_store {
    struct xla_plugin *plugin;
    struct shared *first;
};

static bool is_shared(const struct buffer *b)
{
    return b->segment == SEG_PARAM || b->segment == SEG_OPT || b->segment == SEG_GRAD;
}

static struct location *store_location(struct xla_store *s, const struct buffer *b)
{
    for (struct shared *i = s->first; i; i = i->next)
        if (!strcmp(i->name, b->name))
            return &i->location;
    struct shared *made = allocate_zeroed(1, sizeof *made);
    if (!made)
        return NULL;
    memcpy(made->name, b->name, sizeof made->name);
    made->location = location_of(b);
    made->location.name = made->name;
    made->next = s->first;
    s->first = made;
    return &made->location;
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
        location_leave(&i->location, s->plugin);
        release(i);
    }
    release(s);
}

/* ---- executables ------------------------------------------------------------------------- */

enum { IN_FLIGHT = 4 }; /* programs that may run while the host continues */

struct xla_executable {
    const struct plan *plan; /* the whole plan of the host */
    struct xla_plugin *plugin;
    int mesh[M_N], devices;
    struct location *own, **location;                       /* [buffers]; NULL: no such buffer on the device */
    struct shape_bucket *shape_bucket[SHAPE_BUCKETS], *now; /* now: of the last forward pass */
    pjrt_event **done[IN_FLIGHT];                           /* [devices] each */
    int oldest;
    bool lost;             /* a program failed after it had begun: the devices' data are undefined */
    struct staged *staged; /* one of several ranks: the host sends its messages; NULL: a single rank */
    char isa[80];
};

static unroll_status await_run(struct xla_executable *x, int run)
{
    unroll_status status = UNROLL_OK;
    for (int r = 0; x->done[run] && r < x->devices; r++) {
        unroll_status ended = x->done[run][r] ? xla_await(x->plugin, x->done[run][r], "running a program") : UNROLL_OK;
        x->done[run][r] = NULL;
        status = status == UNROLL_OK ? ended : status;
    }
    x->lost |= status != UNROLL_OK;
    return status;
}

static unroll_status check_there(const struct xla_executable *x)
{
    return x->lost
               ? fail(
                     UNROLL_RESOURCE,
                     "a program failed on the XLA device, and its results are lost; fix: resume from the last checkpoint")
               : UNROLL_OK;
}

/* Awaits all programs; results are valid only if all of them ended without error. */
static unroll_status await_all(struct xla_executable *x)
{
    unroll_status status = check_there(x);
    for (int i = 0; i < IN_FLIGHT; i++) {
        unroll_status ended = await_run(x, (x->oldest + i) % IN_FLIGHT);
        status = status == UNROLL_OK ? ended : status;
    }
    return status;
}

static void executable_free(void *executable)
{
    struct xla_executable *x = executable;
    if (!x)
        return;
    for (int i = 0; i < IN_FLIGHT; i++) {
        (void)await_run(x, i);
        release(x->done[i]);
    }
    for (int i = 0; i < SHAPE_BUCKETS; i++) shape_bucket_free(x->shape_bucket[i], x->plugin);
    for (int i = 0; x->own && i < x->plan->buffers; i++) location_leave(&x->own[i], x->plugin);
    staged_free(x->staged);
    release(x->own);
    release(x->location);
    release(x);
}

/* Arrays that sessions write (batches and values) are allocated at once, so that no later call can fail for lack of
 * memory. */
static bool is_given(const struct plan *p, int buffer)
{
    enum segment segment = p->buffer[buffer].segment;
    return segment == SEG_VALUES || (segment == SEG_IO && !is_written_in(p, 0, PHASE_N - 1, buffer));
}

/* Creates the locations of all buffers; arrays used in messages are kept on the host. */
static unroll_status make_locations(struct xla_executable *x, struct xla_store *store, bool staged)
{
    TRY(ALLOCATE(x->own, (size_t)x->plan->buffers, "for an XLA program's buffers"));
    TRY(ALLOCATE(x->location, (size_t)x->plan->buffers, "for an XLA program's buffers"));
    for (int i = 0; i < x->plan->buffers; i++) {
        const struct buffer *b = &x->plan->buffer[i];
        if (b->segment == SEG_SCRATCH)
            continue;
        x->own[i] = location_of(b);
        x->location[i] = is_shared(b) ? store_location(store, b) : &x->own[i];
        if (!x->location[i])
            return fail(UNROLL_RESOURCE, "no memory for '%s'", b->name);
        if (staged || is_given(x->plan, i)) /* messages are sent from and received into these arrays */
            TRY(location_at_home(x->location[i]));
    }
    for (int i = 0; i < IN_FLIGHT; i++)
        if (!(x->done[i] = allocate_zeroed((size_t)x->devices, sizeof **x->done)))
            return fail(UNROLL_RESOURCE, "no memory for the events of an XLA program");
    return UNROLL_OK;
}

static unroll_status want_shape_bucket(struct xla_executable *x, int number)
{
    if (!x->shape_bucket[number])
        TRY(shape_bucket_new(x->plan, x->mesh, number, x->location, &x->shape_bucket[number]));
    x->now = x->shape_bucket[number];
    x->now->mesh.unroll = steps_in_turn(xla_plugin_platform(x->plugin));
    return UNROLL_OK;
}

/* Translates everything once, to reject unsupported plans early; programs are compiled at their first run. */
static unroll_status try_all_phases(struct xla_executable *x)
{
    TRY(want_shape_bucket(x, 0));
    for (int phase = 0; phase < PHASE_N; phase++) {
        struct translation t;
        unroll_status status = translate_phases(x->now->mesh, (enum phase)phase, (enum phase)phase, "part", &t);
        translation_free(&t);
        TRY(status);
    }
    return UNROLL_OK;
}

static unroll_status try_range(struct xla_executable *x, enum phase phase, int from, int end)
{
    struct translation t;
    bool any = false;
    for (int i = from; i < end; i++) any = any || is_in_phase(&x->plan->op[i], phase);
    if (!any)
        return UNROLL_OK;
    unroll_status status = translate_range(x->now->mesh, phase, from, end, "range", &t);
    translation_free(&t);
    return status;
}

/* The same for a rank whose messages the host sends. */
static unroll_status try_ranges(struct xla_executable *x)
{
    TRY(want_shape_bucket(x, 0));
    for (int phase = 0; phase < PHASE_N; phase++) {
        int i, end, from;
        phase_range(x->plan, (enum phase)phase, &i, &end);
        for (from = i; i < end; i++)
            if (is_in_phase(&x->plan->op[i], (enum phase)phase) && op_communicates(&x->plan->op[i])) {
                TRY(try_range(x, (enum phase)phase, from, i));
                from = i + 1;
            }
        TRY(try_range(x, (enum phase)phase, from, end));
    }
    return UNROLL_OK;
}

/* Opens the plugin, which all sessions of a model share. */
static unroll_status open_plugin(struct xla_executable *x, struct xla_store *store, const char *plugin)
{
    x->plugin = store->plugin;
    if (plugin || !x->plugin)
        TRY(xla_plugin_open(plugin, x->devices, &x->plugin));
    if (store->plugin && store->plugin != x->plugin &&
        !strcmp(xla_plugin_path(store->plugin), xla_plugin_path(x->plugin)))
        x->plugin = store->plugin;
    if (store->plugin && store->plugin != x->plugin)
        return fail(
            UNROLL_UNSUPPORTED,
            "the model has sessions on the XLA plugin '%s': all of its sessions use one; fix: free those first, or load the model twice",
            xla_plugin_path(store->plugin));
    if (xla_plugin_devices(x->plugin) < x->devices)
        return fail(UNROLL_UNSUPPORTED,
                    "the model has sessions on %d XLA devices, and this one is cut for %d; fix: "
                    "make the session with the most devices first",
                    xla_plugin_devices(x->plugin), x->devices);
    store->plugin = x->plugin;
    if (x->devices > 1)
        snprintf(x->isa, sizeof x->isa, "xla %s x %d", xla_plugin_platform(x->plugin), x->devices);
    else
        snprintf(x->isa, sizeof x->isa, "xla %s", xla_plugin_platform(x->plugin));
    return UNROLL_OK;
}

static unroll_status read_options(struct xla_executable *x, const struct device_options *options)
{
    if (options->isa)
        return fail(UNROLL_UNSUPPORTED,
                    "XLA devices have no instruction sets to choose from (`isa` = '%s'); fix: leave `isa` out",
                    options->isa);
    if (options->comm && !options->staged)
        return fail(UNROLL_UNSUPPORTED, "XLA devices are driven by one process, and this is one of several; fix: start "
                                        "it once, without mpirun: `split` then divides the work among its devices");
    x->devices = 1;
    for (int m = 0; m < M_N; m++) x->devices *= x->mesh[m] = options->mesh[m] ? options->mesh[m] : 1;
    if (x->devices > RANKS_MAX)
        return fail(UNROLL_UNSUPPORTED,
                    "%d devices are more than the %d that a plan is cut for; fix: use fewer devices", x->devices,
                    RANKS_MAX);
    return UNROLL_OK;
}

static unroll_status run_range(void *executable, enum phase phase, int first, int end);
static unroll_status xla_read(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to);
static unroll_status xla_write(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from);
static const struct staged_calls staged_calls = {run_range, xla_read, xla_write};

/* Makes an executable of a plan, and translates all of its phases to check them. */
static unroll_status xla_executable_new(const struct plan *plan, void *store, const struct device_options *options,
                                        void **executable)
{
    struct xla_executable *x;
    TRY(ALLOCATE(x, 1, "for an XLA program"));
    x->plan = plan;
    unroll_status status = read_options(x, options);
    if (status == UNROLL_OK)
        status = open_plugin(x, store, options->which);
    if (status == UNROLL_OK)
        status = make_locations(x, store, options->comm != NULL);
    if (status == UNROLL_OK)
        status = options->comm ? try_ranges(x) : try_all_phases(x);
    if (status == UNROLL_OK && options->comm)
        status = staged_new(x->plan, options->comm, &staged_calls, x, &x->staged);
    if (status != UNROLL_OK) {
        executable_free(x);
        return status;
    }
    *executable = x;
    return UNROLL_OK;
}

/* ---- running --------------------------------------------------------------------------- */

/* Returns the bucket for the batch on the host: the steps of its longest row, and the rows up to the last nonempty
 * one. */
static int needed_shape_bucket(const struct xla_executable *x)
{
    const struct plan *p = x->plan;
    int lengths = plan_find_buffer(p, "lengths");
    const int32_t *length = lengths >= 0 && x->location[lengths] ? x->location[lengths]->host : NULL;
    uint32_t steps = 1, rows = 1;
    for (uint32_t row = 0; length && row < p->config.B; row++) {
        steps = length[row] > (int32_t)steps ? (uint32_t)length[row] : steps;
        rows = length[row] > 0 ? row + 1 : rows;
    }
    return shape_bucket_for(p, x->mesh, length ? steps : p->config.T, length ? rows : p->config.B);
}

static unroll_status give_arguments(struct xla_executable *x, struct program *p)
{
    for (int i = 0; i < p->argument.count; i++) {
        int buffer = p->argument.buffer[i];
        struct location *location = x->now->location[buffer];
        TRY(location_to_devices(location, x->plugin, &x->now->form[buffer]));
        for (int r = 0; r < x->devices; r++) p->given_rows[r][i] = location->device[r];
    }
    return UNROLL_OK;
}

static unroll_status take_result(struct xla_executable *x, struct program *p, int i, enum phase first, enum phase last)
{
    pjrt_buffer *made[RANKS_MAX];
    int buffer = p->result.buffer[i];
    const struct form *form = &x->now->form[buffer];
    bool partial = form->partial && last < PHASE_SUM;
    for (int r = 0; r < x->devices; r++) made[r] = p->given_back_rows[r][i];
    if (!x->staged && is_summand(x->now->plan[0], first, last, buffer))
        return location_add(x->now->location[buffer], x->plugin, form, made, partial);
    return location_take(x->now->location[buffer], x->plugin, form, made, partial);
}

/* Frees results that could not be stored. */
static unroll_status take_results(struct xla_executable *x, struct program *p, enum phase first, enum phase last)
{
    unroll_status status = UNROLL_OK;
    for (int i = 0; i < p->result.count; i++) {
        if (status == UNROLL_OK)
            status = take_result(x, p, i, first, last);
        for (int r = 0; r < x->devices && status != UNROLL_OK; r++)
            xla_buffer_free(x->plugin, p->given_back_rows[r][i]);
    }
    return status;
}

static unroll_status run_program(struct xla_executable *x, struct program *p, enum phase first, enum phase last)
{
    if (!p->executable)
        return UNROLL_OK;
    TRY(await_run(x, x->oldest));
    TRY(give_arguments(x, p));
    TRY(xla_execute(x->plugin, p->executable, x->devices, (pjrt_buffer *const *const *)p->given_rows,
                    (size_t)(p->argument.count + p->owned), p->given_back_rows, x->done[x->oldest]));
    x->oldest = (x->oldest + 1) % IN_FLIGHT;
    TRY(take_results(x, p, first, last));
    for (int i = 0; i < p->lost.count; i++) location_forget(x->now->location[p->lost.buffer[i]], x->plugin);
    return UNROLL_OK;
}

static unroll_status run_range(void *executable, enum phase phase, int first, int end)
{
    struct xla_executable *x = executable;
    struct program *p;
    TRY(shape_bucket_range(x->now, x->plugin, phase, first, end, &p));
    return run_program(x, p, phase, phase);
}

static unroll_status xla_run(void *executable, enum phase first, enum phase last)
{
    struct xla_executable *x = executable;
    struct program *p;
    TRY(check_there(x));
    if (x->staged)
        return staged_run(x->staged, first, last);
    if (first == PHASE_FORWARD)
        TRY(want_shape_bucket(x, needed_shape_bucket(x)));
    TRY(shape_bucket_program(x->now, x->plugin, first, last, &p));
    return run_program(x, p, first, last);
}

/* ---- looking inside -------------------------------------------------------------------- */

static struct location *find_location(struct xla_executable *x, const char *name)
{
    int i = plan_find_buffer(x->plan, name);
    return i < 0 ? NULL : x->location[i];
}

/* Reads a location on the host. All loss sums are read in the same round trip, because they are used together. */
static unroll_status look(struct xla_executable *x, struct location *location)
{
    enum { MAX = 16 };
    if (location_is_away(location))
        TRY(await_all(x));
    struct location *all[MAX] = {location};
    int count = 1;
    bool sums = location->dtype == DTYPE_F64 && location_is_away(location);
    for (int i = 0; sums && i < x->plan->buffers && count < MAX; i++)
        if (x->location[i] && x->location[i] != location && x->location[i]->segment == SEG_VALUES)
            all[count++] = x->location[i];
    return locations_to_host(all, count, x->plugin);
}

/* The host may change the buffer. */
static void *xla_host(void *executable, const char *buffer)
{
    struct xla_executable *x = executable;
    struct location *location = find_location(x, buffer);
    if (!location || location->newer == NOWHERE || look(x, location) != UNROLL_OK)
        return NULL;
    location->newer = ON_HOST;
    return location->host;
}

/* Finds a buffer and copies it to the host; checks the range of bytes. */
static unroll_status find_bytes(struct xla_executable *x, const char *name, uint64_t first, uint64_t bytes,
                                struct location **location)
{
    *location = find_location(x, name);
    if (!*location)
        return fail(
            UNROLL_USAGE,
            "the plan has no buffer '%s' on this device; fix: give the name of an array of this session, with its size",
            name);
    if ((*location)->newer == NOWHERE || ((*location)->device && (*location)->form.hidden))
        return fail(
            UNROLL_UNSUPPORTED,
            "'%s' is not kept on XLA devices, where only what later parts need outlives a program; fix: use device cpu",
            name);
    if (first > (*location)->bytes || bytes > (*location)->bytes - first)
        return fail(UNROLL_USAGE, "'%s' has %llu bytes; fix: give the name of an array of this session, with its size",
                    name, (unsigned long long)(*location)->bytes);
    if (location_is_away(*location))
        TRY(await_all(x));
    return locations_to_host(location, 1, x->plugin);
}

static unroll_status xla_read(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to)
{
    struct location *location;
    TRY(find_bytes(executable, buffer, first, bytes, &location));
    memcpy(to, (const char *)location->host + first, bytes);
    return UNROLL_OK;
}

static unroll_status xla_write(void *executable, const char *buffer, uint64_t first, uint64_t bytes, const void *from)
{
    struct location *location;
    TRY(find_bytes(executable, buffer, first, bytes, &location));
    memcpy((char *)location->host + first, from, bytes);
    location->newer = ON_HOST;
    return UNROLL_OK;
}

/* Counts the arrays that outlive a program; memory inside programs is managed by the plugin. */
static uint64_t xla_memory_estimate(const struct plan *plan, int threads)
{
    (void)threads;
    uint64_t bytes = 0;
    for (int i = 0; i < plan->buffers; i++)
        if (plan->buffer[i].segment != SEG_SCRATCH && !is_shared(&plan->buffer[i]))
            bytes += plan->buffer[i].bytes;
    return bytes;
}

static uint64_t xla_bytes(const void *executable)
{
    return xla_memory_estimate(((const struct xla_executable *)executable)->plan, 0);
}

static const char *xla_isa(const void *executable) { return ((const struct xla_executable *)executable)->isa; }
static int xla_threads(const void *executable)
{
    (void)executable;
    return 1;
}

static unroll_status xla_about(char *text, size_t size)
{
    struct xla_plugin *plugin;
    int major, minor;
    TRY(xla_plugin_open(NULL, 1, &plugin));
    xla_plugin_version(plugin, &major, &minor);
    snprintf(text, size, "%s, plugin %s (interface %d.%d)", xla_plugin_platform(plugin), xla_plugin_path(plugin), major,
             minor);
    return UNROLL_OK;
}

const struct device device_xla = {.name = "xla",
                                  .short_name = "tpu",
                                  .precisions = 1 << PRECISION_FP32 | 1 << PRECISION_BF16,
                                  .whole_steps = true,
                                  .cuts = true,
                                  .about = xla_about,
                                  .store_new = xla_store_new,
                                  .store_free = xla_store_free,
                                  .executable_new = xla_executable_new,
                                  .executable_free = executable_free,
                                  .run = xla_run,
                                  .host = xla_host,
                                  .read = xla_read,
                                  .write = xla_write,
                                  .memory_estimate = xla_memory_estimate,
                                  .bytes = xla_bytes,
                                  .isa = xla_isa,
                                  .threads = xla_threads,
                                  .estimate = estimate_step};

extern const struct file_format format_stablehlo; /* stablehlo.c */
const struct extension_row extension_xla[] = {{"device", &device_xla}, {"format", &format_stablehlo}, {NULL, NULL}};
