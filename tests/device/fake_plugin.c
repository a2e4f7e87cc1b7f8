/* A PJRT plugin that checks everything: the order of calls, the size of every struct, that handles are alive, that
 * donated buffers are not used again. Programs are run by the interpreter of oracle.h. FAKE_PLUGIN in the environment
 * makes it misbehave: version, short, deaf, uninitialized, nodevice, nocompile, noexecute. faints: a program fails
 * after it has started; dies: the process ends when it compiles. The last three take effect only after FAKE_PLUGIN_RUNS
 * runs. For compiling ahead of time: copies, large, prose. Built as a shared object; a misuse ends the process with a
 * message. */
#include "device/oracle.h"
#include "extensions/xla/pjrt.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = PJRT_COMPILED_MEMORY + 1, ALIVE = 0x5afe, DEAD = 0xdead };

struct pjrt_error {
    char message[500];
};
struct pjrt_event {
    int state;
    bool fails;
};
struct pjrt_client {
    int state;
};
struct pjrt_device {
    int number;
};
struct pjrt_buffer {
    int state, device;
    struct tensor *tensor;
};
struct pjrt_executable {
    struct oracle *program;
};
struct pjrt_topology {
    int state;
};
struct pjrt_compiled {
    int state;
    struct oracle *program;
    unsigned char bytes[1 << 14];
    size_t size;
};
enum { DEVICES = 8 };

static union {
    struct pjrt_api api;
    char room[offsetof(struct pjrt_api, slot) + SLOTS * sizeof(void *)];
} table;
static struct pjrt_client client = {ALIVE};
static struct pjrt_device device[DEVICES];
static bool initialized, created;

/* Counters that the test reads at the end. */
#define SEEN __attribute__((visibility("default")))
SEEN atomic_long fake_plugin_buffers, fake_plugin_events, fake_plugin_errors, fake_plugin_programs, fake_plugin_runs;

static bool misbehaves(const char *how)
{
    const char *told = getenv("FAKE_PLUGIN");
    return told && !strcmp(told, how);
}

/* True after the number of runs that the test has set. */
static bool misbehaves_by_now(const char *how)
{
    const char *runs = getenv("FAKE_PLUGIN_RUNS");
    return misbehaves(how) && fake_plugin_runs >= (runs ? atol(runs) : 0);
}

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fake plugin: %s\n", what);
    abort();
}

static pjrt_error *error_new(const char *message)
{
    pjrt_error *error = malloc(sizeof *error);
    snprintf(error->message, sizeof error->message, "%s", message);
    fake_plugin_errors++;
    return error;
}

static pjrt_event *event_new(void)
{
    pjrt_event *event = malloc(sizeof *event);
    *event = (pjrt_event){ALIVE, false};
    fake_plugin_events++;
    return event;
}

#define ARGS(type) \
    struct type *a = args; \
    demand(a->head.size >= sizeof *a - sizeof a->room, "the struct " #type " is too small")

/* ---- errors and events ----------------------------------------------------------------- */

static pjrt_error *error_destroy(void *args)
{
    ARGS(pjrt_error_args);
    free(a->error);
    fake_plugin_errors--;
    return NULL;
}

static pjrt_error *error_message(void *args)
{
    ARGS(pjrt_error_args);
    a->message = a->error->message;
    a->message_size = strlen(a->message);
    return NULL;
}

static pjrt_error *event_destroy(void *args)
{
    ARGS(pjrt_event_args);
    demand(a->event->state == DEAD, "an event is freed before it was awaited");
    free(a->event);
    fake_plugin_events--;
    return NULL;
}

static pjrt_error *event_await(void *args)
{
    ARGS(pjrt_event_args);
    demand(a->event->state == ALIVE, "an event is awaited twice");
    a->event->state = DEAD;
    return a->event->fails ? error_new("the device was lost") : NULL;
}

/* ---- the client ------------------------------------------------------------------------ */

static pjrt_error *plugin_initialize(void *args)
{
    ARGS(pjrt_plain_args);
    demand(!initialized, "the plugin is initialized twice");
    if (misbehaves("uninitialized"))
        return error_new("the driver sleeps");
    initialized = true;
    return NULL;
}

static pjrt_error *client_create(void *args)
{
    ARGS(pjrt_client_create_args);
    demand(initialized && !created, "a client comes after the initialization, once");
    created = true;
    a->client = &client;
    return NULL;
}

static pjrt_error *platform_name(void *args)
{
    ARGS(pjrt_client_name_args);
    demand(a->client == &client, "the client is another");
    a->name = "fake and more";
    a->name_size = 4;
    return NULL;
}

static pjrt_error *addressable_devices(void *args)
{
    ARGS(pjrt_client_devices_args);
    static pjrt_device *list[DEVICES];
    demand(a->client == &client, "the client is another");
    for (int i = 0; i < DEVICES; i++) {
        device[i].number = i;
        list[i] = &device[i];
    }
    a->device = list;
    a->devices = misbehaves("nodevice") ? 0 : DEVICES;
    return NULL;
}

/* ---- programs -------------------------------------------------------------------------- */

/* Checks and parses a program and its options; misbehaves on request. */
static pjrt_error *client_compile(void *args)
{
    ARGS(pjrt_compile_args);
    demand(a->client == &client, "the client is another");
    demand(a->program->format_size == 4 && !memcmp(a->program->format, "mlir", 4), "the format is not mlir");
    demand(a->options_size == 6 && a->options[0] == 0x1a && a->options[2] == 0x20 && a->options[3] > 0,
           "no options, or none of devices: XLA would abort");
    if (misbehaves_by_now("dies"))
        abort();
    if (misbehaves("nocompile"))
        return error_new("op 'stablehlo.while' is too long for today");
    char why[400];
    struct oracle *program = oracle_read(a->program->code, a->program->code_size, why, sizeof why);
    if (!program)
        return error_new(why);
    demand(program->devices == a->options[3], "the text is for another number of devices than the options");
    a->executable = calloc(1, sizeof *a->executable);
    a->executable->program = program;
    fake_plugin_programs++;
    return NULL;
}

static pjrt_buffer *buffer_new(struct tensor *tensor, int on)
{
    pjrt_buffer *buffer = malloc(sizeof *buffer);
    *buffer = (pjrt_buffer){ALIVE, on, tensor};
    fake_plugin_buffers++;
    return buffer;
}

static pjrt_error *run_program(struct oracle *program, int devices, pjrt_buffer *const *const *argument,
                               pjrt_buffer **const *result)
{
    static struct tensor *in[DEVICES][ORACLE_OPERANDS], *out[DEVICES][ORACLE_OPERANDS];
    struct tensor *const *given[DEVICES], **made[DEVICES];
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < program->main.arguments; i++) in[d][i] = argument[d][i]->tensor;
        given[d] = in[d];
        made[d] = out[d];
    }
    if (!oracle_run(program, devices, given, made))
        return error_new(program->error);
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < program->main.returns; i++) result[d][i] = buffer_new(out[d][i], d);
    return NULL;
}

/* Checks the arguments, runs the program on all devices and marks donated buffers. */
static pjrt_error *execute(void *args)
{
    ARGS(pjrt_execute_args);
    struct oracle *program = a->executable->program;
    demand((int)a->devices == program->devices, "the lists are not of as many devices as the program is for");
    demand(a->options && a->options->head.size >= 56, "the options of a run are incomplete");
    demand((int)a->arguments == program->main.arguments, "the number of arguments is not the program's");
    demand(a->done != NULL, "no event for the end of the run");
    if (misbehaves_by_now("noexecute"))
        return error_new("out of memory: 12 bytes wanted");
    for (size_t d = 0; d < a->devices; d++)
        for (size_t i = 0; i < a->arguments; i++) {
            demand(a->argument[d][i]->state == ALIVE, "an argument was donated or freed before");
            demand(a->argument[d][i]->device == (int)d, "an argument is on another device");
            a->argument[d][i]->state = program->alias[i] >= 0 ? DEAD : ALIVE;
        }
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* ranks of one process may share the plugin */
    pthread_mutex_lock(&one_at_a_time);
    pjrt_error *error = run_program(program, (int)a->devices, a->argument, a->result);
    pthread_mutex_unlock(&one_at_a_time);
    for (size_t d = 0; !error && d < a->devices; d++) {
        a->done[d] = event_new();
        a->done[d]->fails = misbehaves_by_now("faints");
    }
    fake_plugin_runs++;
    return error;
}

/* ---- ahead of time --------------------------------------------------------------------- */

static struct pjrt_topology topology;

static pjrt_error *topology_create(void *args)
{
    ARGS(pjrt_topology_create_args);
    demand(initialized && topology.state != ALIVE, "one topology at a time, after the initialization");
    if (a->name_size != 7 || memcmp(a->name, "v5e:2x2", 7))
        return error_new("no such grid");
    topology.state = ALIVE;
    a->topology = &topology;
    return NULL;
}

static pjrt_error *topology_destroy(void *args)
{
    ARGS(pjrt_topology_args);
    demand(a->topology == &topology && topology.state == ALIVE, "the topology is freed twice");
    topology.state = DEAD;
    return NULL;
}

static pjrt_error *topology_devices(void *args)
{
    ARGS(pjrt_topology_devices_args);
    demand(a->topology == &topology && topology.state == ALIVE, "the topology is another");
    a->descriptions = 4;
    return NULL;
}

/* Appends a field of bytes to a module, in a compiler's format. */
static void put_bytes(pjrt_compiled *c, unsigned number, const void *bytes, size_t size)
{
    demand(size < 1 << 14 && c->size + size + 6 < sizeof c->bytes, "the module has no room");
    c->bytes[c->size++] = (unsigned char)((number << 3 | 2) & 127) | (number > 15 ? 128 : 0);
    if (number > 15)
        c->bytes[c->size++] = (unsigned char)(number >> 4);
    c->bytes[c->size++] = (unsigned char)(size & 127) | 128;
    c->bytes[c->size++] = (unsigned char)(size >> 7);
    memcpy(c->bytes + c->size, bytes, size);
    c->size += size;
}

/* Two operations of 500 cycles. All donated buffers keep their memory, except the last if misbehaving in this way. */
static void make_module(pjrt_compiled *c)
{
    static const char operation[] = "\x0a\x04work\x12\x06"
                                    "fusion\xda\x02\x18\"estimated_cycles\":\"500\"";
    pjrt_compiled computation = {0}, aliases = {0}, module = {0};
    put_bytes(&computation, 2, operation, sizeof operation - 1);
    put_bytes(&computation, 2, operation, sizeof operation - 1);
    for (int i = 0, last = c->program->main.arguments - 1; i <= last; i++)
        if (c->program->alias[i] >= 0 && i < 128 && !misbehaves("copies"))
            put_bytes(&aliases, 1, (const char[]){0x10, (char)i}, 2);
    put_bytes(&module, 3, computation.bytes, computation.size);
    put_bytes(&module, 8, aliases.bytes, aliases.size);
    put_bytes(c, 1, module.bytes, module.size);
}

static pjrt_error *compile_for_topology(void *args)
{
    ARGS(pjrt_compile_ahead_args);
    char why[400];
    demand(a->topology == &topology && topology.state == ALIVE && !a->client, "a topology, and no client, is wanted");
    demand(a->program->format_size == 4 && a->options_size > 0, "the program is not whole");
    struct oracle *program = oracle_read(a->program->code, a->program->code_size, why, sizeof why);
    if (!program)
        return error_new(why);
    a->compiled = calloc(1, sizeof *a->compiled);
    a->compiled->state = ALIVE;
    a->compiled->program = program;
    make_module(a->compiled);
    return NULL;
}

static pjrt_error *compiled_destroy(void *args)
{
    ARGS(pjrt_compiled_args);
    demand(a->compiled->state == ALIVE, "a compiled program is freed twice");
    oracle_free(a->compiled->program);
    free(a->compiled);
    return NULL;
}

static pjrt_error *compiled_program(void *args)
{
    ARGS(pjrt_compiled_program_args);
    if (a->program->code)
        memcpy((char *)a->program->code, a->compiled->bytes, a->compiled->size);
    a->program->code_size = a->compiled->size;
    a->program->format = misbehaves("prose") ? "prose" : "hlo_with_config";
    a->program->format_size = strlen(a->program->format);
    return NULL;
}

static pjrt_error *compiled_memory(void *args)
{
    ARGS(pjrt_compiled_memory_args);
    a->code = 1000, a->arguments = 20000, a->results = 6000, a->aliased = 5000;
    a->temporary = misbehaves("large") ? (int64_t)17 << 30 : 300000;
    return NULL;
}

/* ---- buffers --------------------------------------------------------------------------- */

static enum oracle_kind kind_of(int type)
{
    static const struct {
        int type;
        enum oracle_kind kind;
    } kinds[] = {{PJRT_F32, ORACLE_F32}, {PJRT_S32, ORACLE_I32}, {PJRT_U8, ORACLE_U8}, {PJRT_U32, ORACLE_U32}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == type)
            return kinds[i].kind;
    demand(false, "an array of a type that no program takes");
    return ORACLE_KINDS;
}

static pjrt_error *buffer_from_host(void *args)
{
    ARGS(pjrt_from_host_args);
    struct tensor_type type = {.kind = kind_of(a->type), .rank = (int)a->dims};
    demand(a->client == &client && a->device && a->data, "an array comes from nowhere");
    for (size_t i = 0; i < a->dims; i++) type.dim[i] = a->dim[i];
    struct tensor *tensor = tensor_new(&type);
    tensor_from(tensor, a->data);
    a->buffer = buffer_new(tensor, a->device->number);
    a->done = event_new();
    return NULL;
}

static pjrt_error *buffer_to_host(void *args)
{
    ARGS(pjrt_to_host_args);
    demand(a->buffer->state == ALIVE, "a donated array is read");
    demand(a->layout && a->layout->type == 0 && a->layout->tiled.head.size > 0, "the layout on the host is left open");
    const struct tensor *tensor = a->buffer->tensor;
    demand(a->bytes >= (size_t)tensor->count * kind_bytes(tensor->type.kind), "the room on the host is too small");
    tensor_to(tensor, a->to);
    a->event = event_new();
    return NULL;
}

static pjrt_error *buffer_destroy(void *args)
{
    ARGS(pjrt_buffer_args);
    tensor_free(a->buffer->tensor);
    free(a->buffer);
    fake_plugin_buffers--;
    return NULL;
}

/* ---- the table ------------------------------------------------------------------------- */

static void put(enum pjrt_slot slot, pjrt_error *(*function)(void *))
{
    memcpy(table.room + offsetof(struct pjrt_api, slot) + slot * sizeof function, &function, sizeof function);
}

SEEN const struct pjrt_api *GetPjrtApi(void);

/* Fills the table of functions; misbehaves on request. */
const struct pjrt_api *GetPjrtApi(void)
{
    table.api.head.size = misbehaves("short") ? offsetof(struct pjrt_api, slot) + 8 * sizeof(void *) : sizeof table;
    table.api.version = (struct pjrt_version){{sizeof table.api.version, NULL}, misbehaves("version") ? 1 : 0, 81};
    put(PJRT_ERROR_DESTROY, error_destroy);
    if (!misbehaves("deaf"))
        put(PJRT_ERROR_MESSAGE, error_message);
    put(PJRT_PLUGIN_INITIALIZE, plugin_initialize);
    put(PJRT_EVENT_DESTROY, event_destroy);
    put(PJRT_EVENT_AWAIT, event_await);
    put(PJRT_CLIENT_CREATE, client_create);
    put(PJRT_CLIENT_PLATFORM_NAME, platform_name);
    put(PJRT_CLIENT_ADDRESSABLE_DEVICES, addressable_devices);
    put(PJRT_CLIENT_COMPILE, client_compile);
    put(PJRT_CLIENT_BUFFER_FROM_HOST, buffer_from_host);
    put(PJRT_EXECUTABLE_EXECUTE, execute);
    put(PJRT_BUFFER_DESTROY, buffer_destroy);
    put(PJRT_BUFFER_TO_HOST, buffer_to_host);
    put(PJRT_TOPOLOGY_CREATE, topology_create);
    put(PJRT_TOPOLOGY_DESTROY, topology_destroy);
    put(PJRT_TOPOLOGY_DEVICES, topology_devices);
    put(PJRT_COMPILE, compile_for_topology);
    put(PJRT_COMPILED_DESTROY, compiled_destroy);
    put(PJRT_COMPILED_PROGRAM, compiled_program);
    put(PJRT_COMPILED_MEMORY, compiled_memory);
    return &table.api;
}
