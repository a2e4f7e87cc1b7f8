/* Finds, loads and calls a PJRT plugin (plugin.h). One lock guards the lists of open plugins and of compiled
 * programs; calls into a plugin need none. */
#include "extensions/xla/plugin.h"
#include "base/hash.h"
#include "base/system/library.h"
#include "base/memory.h"
#include "base/system/process.h"
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct program {
    struct program *next;
    uint64_t hash;
    size_t size;
    char *text;
    pjrt_executable *executable;
};

struct xla_plugin {
    struct xla_plugin *next;
    char path[LIBRARY_PATH], platform[64];
    const struct pjrt_api *api;
    pjrt_client *client;
    pjrt_device *const *device;
    int devices;
    struct program *programs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct xla_plugin *plugins; /* devices 0: loaded, without a client */
static struct opened opened;
static struct {
    atomic_uint_fast64_t uploads, downloads, compiled, executed, looks;
} counts; /* updated by any thread */

#define HEAD(type) { .size = sizeof(type) }

/* ---- calls and errors ------------------------------------------------------------------ */

typedef pjrt_error *pjrt_function(void *args);

/* Returns the function of a slot, or NULL if the plugin is too old to have it. */
static pjrt_function *slot_of(const struct pjrt_api *api, enum pjrt_slot slot)
{
    size_t end = offsetof(struct pjrt_api, slot) + ((size_t)slot + 1) * sizeof(void *);
    pjrt_function *function;
    if (api->head.size < end)
        return NULL;
    memcpy(&function, &api->slot[slot], sizeof function);
    return function;
}

static unroll_status refuse(const struct xla_plugin *p, const char *doing, pjrt_error *error)
{
    struct pjrt_error_args message = {.head = HEAD(message), .error = error};
    struct pjrt_error_args destroy = {.head = HEAD(destroy), .error = error};
    slot_of(p->api, PJRT_ERROR_MESSAGE)(&message);
    int size = message.message_size < 1500 ? (int)message.message_size : 1500;
    set_error("the XLA plugin '%s' failed while %s: %.*s; fix: look at the log of the plugin, or device cpu", p->path,
              doing, size, message.message);
    slot_of(p->api, PJRT_ERROR_DESTROY)(&destroy);
    return UNROLL_RESOURCE;
}

unroll_status xla_call(const struct xla_plugin *p, enum pjrt_slot slot, void *args, const char *doing)
{
    pjrt_function *function = slot_of(p->api, slot);
    if (!function)
        return fail(UNROLL_UNSUPPORTED,
                    "the XLA plugin '%s' has no function for %s: it is too old or not whole; fix: use a newer plugin",
                    p->path, doing);
    pjrt_error *error = function(args);
    return error ? refuse(p, doing, error) : UNROLL_OK;
}

unroll_status xla_await(struct xla_plugin *p, pjrt_event *event, const char *doing)
{
    struct pjrt_event_args wait = {.head = HEAD(wait), .event = event};
    struct pjrt_event_args destroy = {.head = HEAD(destroy), .event = event};
    if (!event)
        return UNROLL_OK;
    unroll_status status = xla_call(p, PJRT_EVENT_AWAIT, &wait, doing);
    unroll_status freed = xla_call(p, PJRT_EVENT_DESTROY, &destroy, "freeing an event");
    return status != UNROLL_OK ? status : freed;
}

/* ---- finding --------------------------------------------------------------------------- */

/* By platform, fastest first. */
static const struct {
    const char *name;
    enum library library;
} platforms[] = {{"tpu", LIBRARY_XLA_TPU}, {"cuda", LIBRARY_XLA_CUDA}, {"cpu", LIBRARY_XLA_CPU}};
enum { PLATFORMS = sizeof platforms / sizeof *platforms };

static int platform_of(const char *name)
{
    int i = 0;
    while (i < PLATFORMS && strcmp(name, platforms[i].name)) i++;
    return i;
}

/* Finds a plugin by path or platform, or any plugin; $PJRT_PLUGIN replaces an empty name. */
static unroll_status find_plugin(const char *which, char found[LIBRARY_PATH])
{
    char fix[64];
    if (!which || !*which)
        which = getenv("PJRT_PLUGIN");
    const bool any = !which || !*which;
    const int wanted = any ? PLATFORMS : platform_of(which);
    if (!any && wanted == PLATFORMS)
        return snprintf(found, LIBRARY_PATH, "%s", which) < LIBRARY_PATH
                   ? UNROLL_OK
                   : fail(UNROLL_USAGE, "the path of the XLA plugin is too long; fix: use a shorter path");
    for (int i = any ? 0 : wanted; i < PLATFORMS && (any || i == wanted); i++)
        if (library_find(platforms[i].library, found))
            return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED,
                "no XLA plugin%s%s was found in Python's folders; fix: name its file (`device` "
                "xla:PATH, or PJRT_PLUGIN=PATH in the environment), or %s",
                any ? "" : " for ", any ? "" : which,
                library_fix(any ? LIBRARY_XLA_CPU : platforms[wanted].library, fix, sizeof fix));
}

/* ---- opening --------------------------------------------------------------------------- */

/* Loads and initializes a plugin, once in a process. */
static unroll_status load(struct xla_plugin *p)
{
    const struct xla_plugin *known = plugins;
    while (known && strcmp(known->path, p->path)) known = known->next;
    if (known) {
        p->api = known->api;
        return UNROLL_OK;
    }
    if (access(p->path, R_OK) != 0)
        return fail(
            UNROLL_DATA,
            "the XLA plugin '%s' cannot be read: there is no such file, or no permission; fix: give the path of a plugin that is there",
            p->path);
    const struct pjrt_api *(*get)(void);
    TRY(library_open_file("the XLA plugin", p->path, &(struct symbol){"GetPjrtApi", &get, false}, 1));
    p->api = get();
    if (!p->api || p->api->head.size < offsetof(struct pjrt_api, slot) || p->api->version.major != PJRT_MAJOR)
        return fail(
            UNROLL_UNSUPPORTED,
            "the XLA plugin '%s' speaks version %d.%d of the interface; this build speaks 0.x; fix: use a newer plugin",
            p->path, p->api ? p->api->version.major : -1, p->api ? p->api->version.minor : 0);
    if (!slot_of(p->api, PJRT_ERROR_MESSAGE) || !slot_of(p->api, PJRT_ERROR_DESTROY))
        return fail(UNROLL_UNSUPPORTED, "the XLA plugin '%s' cannot tell its errors; fix: use a newer plugin", p->path);
    struct pjrt_plain_args initialize = {.head = HEAD(initialize)};
    return xla_call(p, PJRT_PLUGIN_INITIALIZE, &initialize, "initializing");
}

static unroll_status name_platform(struct xla_plugin *p)
{
    struct pjrt_client_name_args name = {.head = HEAD(name), .client = p->client};
    TRY(xla_call(p, PJRT_CLIENT_PLATFORM_NAME, &name, "asking for its platform"));
    snprintf(p->platform, sizeof p->platform, "%.*s", (int)(name.name_size < 60 ? name.name_size : 60), name.name);
    return UNROLL_OK;
}

/* Creates a client with a number of devices, or 0 for all that exist. */
static unroll_status make_client(struct xla_plugin *p, int devices)
{
    struct pjrt_named_value option = {.head = HEAD(option),
                                      .name = "cpu_device_count",
                                      .name_size = 16,
                                      .type = PJRT_INT64,
                                      .value.int64 = devices,
                                      .value_size = 1};
    struct pjrt_client_create_args create = {.head = HEAD(create), .option = &option, .options = devices > 0};
    TRY(xla_call(p, PJRT_CLIENT_CREATE, &create, "creating a client"));
    p->client = create.client;
    struct pjrt_client_devices_args list = {.head = HEAD(list), .client = p->client};
    TRY(xla_call(p, PJRT_CLIENT_ADDRESSABLE_DEVICES, &list, "listing its devices"));
    if (!list.devices)
        return fail(
            UNROLL_RESOURCE,
            "the XLA plugin '%s' has no device on this machine; fix: use a machine with such a device, or device cpu",
            p->path);
    p->device = list.device;
    p->devices = (int)list.devices;
    return name_platform(p);
}

/* XLA's CPU has as many devices as its client was created with. If more are needed, a second client is created in
 * addition to the first. */
static unroll_status start(struct xla_plugin *p, const struct xla_plugin *known, int devices)
{
    if (!known) {
        TRY(make_client(p, 0));
        known = p;
    }
    if (known->devices < devices && !strcmp(known->platform, "cpu")) {
        struct pjrt_client_args destroy = {.head = HEAD(destroy), .client = p->client};
        if (p->client)
            TRY(xla_call(p, PJRT_CLIENT_DESTROY, &destroy, "giving up a client"));
        TRY(make_client(p, devices));
    }
    if (p->devices >= devices)
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED,
                "the cut is for %d devices, and the XLA plugin '%s' has %d on this machine; fix: "
                "use a cut for that number",
                devices, p->path, known->devices);
}

/* Sets the environment that libtpu reads on machines without a TPU, so that it neither waits for a server nor writes
 * a log. Values set by the user are kept. */
static void stand_in_for_tpu(void)
{
    static const char *const said[][2] = {{"TPU_SKIP_MDS_QUERY", "1"},
                                          {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
                                          {"TPU_WORKER_HOSTNAMES", "localhost"},
                                          {"TPU_ACCELERATOR_TYPE", "v5litepod-4"},
                                          {"TPU_LOG_DIR", "disabled"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) setenv(said[i][0], said[i][1], 0);
}

/* known: the same plugin with too few devices, or NULL. */
static unroll_status open_new(const char *path, const struct xla_plugin *known, int devices, struct xla_plugin **plugin)
{
    struct xla_plugin *p;
    TRY(ALLOCATE(p, 1, "for an XLA plugin"));
    snprintf(p->path, sizeof p->path, "%s", path);
    if (!devices)
        stand_in_for_tpu();
    unroll_status status = load(p);
    if (status == UNROLL_OK && devices)
        status = start(p, known, devices);
    if (status != UNROLL_OK) {
        release(p);
        return status;
    }
    p->next = plugins;
    *plugin = plugins = p;
    return UNROLL_OK;
}

unroll_status xla_plugin_open(const char *which, int devices, struct xla_plugin **plugin)
{
    char found[sizeof(*plugin)->path];
    TRY(find_plugin(which, found));
    TRY(opened_check(&opened, "an XLA plugin"));
    pthread_mutex_lock(&lock);
    struct xla_plugin *p = plugins;
    const struct xla_plugin *known = NULL;
    for (; p && (strcmp(p->path, found) || p->devices < devices); p = p->next)
        known = strcmp(p->path, found) || !p->devices ? known : p;
    unroll_status status = p ? UNROLL_OK : open_new(found, known, devices, &p);
    pthread_mutex_unlock(&lock);
    TRY(status);
    opened_here(&opened);
    *plugin = p;
    return UNROLL_OK;
}

const char *xla_plugin_path(const struct xla_plugin *p) { return p->path; }
const char *xla_plugin_platform(const struct xla_plugin *p) { return p->platform; }

int xla_plugin_devices(const struct xla_plugin *p) { return p->devices; }

void xla_plugin_version(const struct xla_plugin *p, int *major, int *minor)
{
    *major = p->api->version.major;
    *minor = p->api->version.minor;
}

void xla_count_sync(void) { counts.looks++; }

struct xla_counts xla_counts(void)
{
    return (struct xla_counts){.uploads = counts.uploads,
                               .downloads = counts.downloads,
                               .compiled = counts.compiled,
                               .executed = counts.executed,
                               .looks = counts.looks};
}

/* ---- programs -------------------------------------------------------------------------- */

static unroll_status compile_new(struct xla_plugin *p, const char *text, size_t size, int devices,
                                 pjrt_executable **program)
{
    /* CompileOptionsProto: executable_build_options { num_replicas: devices num_partitions: 1 } */
    const char options[] = {0x1a, 0x04, 0x20, (char)devices, 0x28, 0x01};
    struct pjrt_program code = {
        .head = HEAD(code), .code = text, .code_size = size, .format = "mlir", .format_size = 4};
    struct pjrt_compile_args args = {
        .head = HEAD(args), .client = p->client, .program = &code, .options = options, .options_size = sizeof options};
    TRY(xla_call(p, PJRT_CLIENT_COMPILE, &args, "compiling a program"));
    counts.compiled++;
    *program = args.executable;
    return UNROLL_OK;
}

static unroll_status remember(struct xla_plugin *p, const char *text, size_t size, uint64_t hash,
                              pjrt_executable *executable)
{
    struct program *made = allocate_zeroed(1, sizeof *made);
    char *copy = made ? allocate_zeroed(size, 1) : NULL;
    if (!copy) {
        release(made);
        return fail(UNROLL_RESOURCE, "no memory to keep a program");
    }
    memcpy(copy, text, size);
    *made = (struct program){p->programs, hash, size, copy, executable};
    p->programs = made;
    return UNROLL_OK;
}

/* The text contains the number of devices. */
unroll_status xla_compile(struct xla_plugin *p, const char *text, size_t size, int devices, pjrt_executable **program)
{
    uint64_t hash = hash_bytes(HASH_BEGIN, text, size);
    unroll_status status = UNROLL_OK;
    pthread_mutex_lock(&lock);
    struct program *known = p->programs;
    while (known && !(known->hash == hash && known->size == size && !memcmp(known->text, text, size)))
        known = known->next;
    if (known)
        *program = known->executable;
    else if ((status = compile_new(p, text, size, devices, program)) == UNROLL_OK)
        status = remember(p, text, size, hash, *program);
    pthread_mutex_unlock(&lock);
    return status;
}

unroll_status xla_execute(struct xla_plugin *p, pjrt_executable *program, int devices,
                          pjrt_buffer *const *const *argument, size_t arguments, pjrt_buffer **const *result,
                          pjrt_event **done)
{
    struct pjrt_execute_options options = {.head = HEAD(options)};
    struct pjrt_execute_args args = {.head = HEAD(args),
                                     .executable = program,
                                     .options = &options,
                                     .argument = argument,
                                     .devices = (size_t)devices,
                                     .arguments = arguments,
                                     .result = result,
                                     .done = done};
    TRY(xla_call(p, PJRT_EXECUTABLE_EXECUTE, &args, "starting a program"));
    counts.executed++;
    return UNROLL_OK;
}

/* ---- buffers --------------------------------------------------------------------------- */

unroll_status xla_upload(struct xla_plugin *p, int device, enum pjrt_type type, const int64_t *dim, size_t dims,
                         const void *data, pjrt_buffer **buffer)
{
    struct pjrt_from_host_args args = {.head = HEAD(args),
                                       .client = p->client,
                                       .data = data,
                                       .type = type,
                                       .dim = dim,
                                       .dims = dims,
                                       .semantics = PJRT_ONLY_DURING_CALL,
                                       .device = p->device[device]};
    TRY(xla_call(p, PJRT_CLIENT_BUFFER_FROM_HOST, &args, "taking an array"));
    *buffer = args.buffer;
    counts.uploads++;
    return xla_await(p, args.done, "taking an array");
}

unroll_status xla_download(struct xla_plugin *p, pjrt_buffer *buffer, size_t dims, void *to, size_t bytes,
                           pjrt_event **arrived)
{
    int64_t minor_to_major[8];
    struct pjrt_layout layout = {.head = HEAD(layout)};
    layout.tiled.head.size = sizeof layout.tiled;
    layout.tiled.minor_to_major = minor_to_major;
    layout.tiled.minor_to_majors = dims;
    for (size_t i = 0; i < dims; i++) minor_to_major[i] = (int64_t)(dims - 1 - i);
    struct pjrt_to_host_args args = {.head = HEAD(args), .buffer = buffer, .layout = &layout, .to = to, .bytes = bytes};
    TRY(xla_call(p, PJRT_BUFFER_TO_HOST, &args, "giving an array"));
    counts.downloads++;
    *arrived = args.event;
    return UNROLL_OK;
}

void xla_buffer_free(struct xla_plugin *p, pjrt_buffer *buffer)
{
    struct pjrt_buffer_args args = {.head = HEAD(args), .buffer = buffer};
    if (buffer)
        (void)xla_call(p, PJRT_BUFFER_DESTROY, &args, "freeing an array");
}
