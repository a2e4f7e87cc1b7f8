/* The part of the PJRT C interface that Unroll uses: argument structs and the slots of the function table. Written
 * from the ABI of xla/pjrt/c/pjrt_c_api.h (openxla/xla, major version 0), in which fields and slots are only added
 * at the end. Independent of plugins and plans; plugin.c is the only caller.
 *
 * A plugin rejects a struct smaller than the one it was built with, and accepts larger ones. So each struct ends
 * with zeroed room for fields of newer versions; zero means that the field is absent. */
#ifndef DEVICE_XLA_PJRT_H
#define DEVICE_XLA_PJRT_H
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */     /* tables and small structs, a line each */

enum { PJRT_MAJOR = 0 };

typedef struct pjrt_error pjrt_error;
typedef struct pjrt_event pjrt_event;
typedef struct pjrt_client pjrt_client;
typedef struct pjrt_device pjrt_device;
typedef struct pjrt_description pjrt_description;
typedef struct pjrt_executable pjrt_executable;     /* loaded: ready to run */
typedef struct pjrt_buffer pjrt_buffer;
typedef struct pjrt_topology pjrt_topology;         /* devices that may be absent */
typedef struct pjrt_compiled pjrt_compiled;         /* compiled for such devices: cannot run here */

/* The beginning of every struct. */
struct pjrt_head { size_t size; void *extensions; };

struct pjrt_version { struct pjrt_head head; int major, minor; };

/* The table returned by GetPjrtApi: a head, the version, then the functions. */
struct pjrt_api {
    struct pjrt_head    head;
    struct pjrt_version version;
    void               *slot[];
};

enum pjrt_slot {
    PJRT_ERROR_DESTROY = 0, PJRT_ERROR_MESSAGE = 1,
    PJRT_PLUGIN_INITIALIZE = 3,
    PJRT_EVENT_DESTROY = 5, PJRT_EVENT_AWAIT = 8,
    PJRT_CLIENT_CREATE = 10, PJRT_CLIENT_DESTROY = 11, PJRT_CLIENT_PLATFORM_NAME = 12,
    PJRT_CLIENT_ADDRESSABLE_DEVICES = 16, PJRT_CLIENT_COMPILE = 20, PJRT_CLIENT_BUFFER_FROM_HOST = 22,
    PJRT_COMPILED_DESTROY = 40, PJRT_COMPILED_PROGRAM = 48,
    PJRT_EXECUTABLE_DESTROY = 50, PJRT_EXECUTABLE_EXECUTE = 55,
    PJRT_BUFFER_DESTROY = 58, PJRT_BUFFER_TO_HOST = 70,
    PJRT_TOPOLOGY_CREATE = 82, PJRT_TOPOLOGY_DESTROY = 83, PJRT_TOPOLOGY_DEVICES = 86,
    PJRT_COMPILE = 89, PJRT_COMPILED_MEMORY = 96,
};

#define PJRT_ROOM size_t room[16]       /* for fields of newer versions */

struct pjrt_error_args {
    struct pjrt_head head; pjrt_error *error; const char *message; size_t message_size; PJRT_ROOM;
};
struct pjrt_plain_args { struct pjrt_head head; PJRT_ROOM; };
struct pjrt_event_args { struct pjrt_head head; pjrt_event *event; PJRT_ROOM; };

enum pjrt_value_type { PJRT_STRING, PJRT_INT64, PJRT_INT64_LIST, PJRT_FLOAT, PJRT_BOOL };

struct pjrt_named_value {       /* stored in arrays: has exactly the plugin's size, no room */
    struct pjrt_head head;
    const char *name;
    size_t name_size;
    enum pjrt_value_type type;
    union { const char *string; int64_t int64; float number; bool truth; } value;
    size_t value_size;
};

struct pjrt_client_create_args {
    struct pjrt_head head;
    const struct pjrt_named_value *option;
    size_t options;
    void *get, *get_arg, *put, *put_arg;
    pjrt_client *client;        /* out */
    PJRT_ROOM;
};

struct pjrt_client_args { struct pjrt_head head; pjrt_client *client; PJRT_ROOM; };
struct pjrt_client_name_args {
    struct pjrt_head head; pjrt_client *client; const char *name; size_t name_size; PJRT_ROOM;
};

struct pjrt_client_devices_args {
    struct pjrt_head head;
    pjrt_client *client;
    pjrt_device *const *device; /* out */
    size_t devices;             /* out */
    PJRT_ROOM;
};

struct pjrt_program {
    struct pjrt_head head;
    const char *code;
    size_t code_size;
    const char *format;
    size_t format_size;
    PJRT_ROOM;
};

struct pjrt_compile_args {
    struct pjrt_head head;
    pjrt_client *client;
    const struct pjrt_program *program;
    const char *options;        /* a serialized CompileOptionsProto */
    size_t options_size;
    pjrt_executable *executable;    /* out */
    PJRT_ROOM;
};

enum pjrt_type { PJRT_S32 = 4, PJRT_U8 = 6, PJRT_U32 = 8, PJRT_F32 = 11 };
enum { PJRT_ONLY_DURING_CALL = 0 };         /* the plugin copies host memory before it returns */

struct pjrt_from_host_args {
    struct pjrt_head head;
    pjrt_client *client;
    const void *data;
    int type;
    const int64_t *dim;
    size_t dims;
    const int64_t *stride;
    size_t strides;
    int semantics;
    pjrt_device *device;
    void *memory;
    void *layout;
    pjrt_event *done;           /* out */
    pjrt_buffer *buffer;        /* out */
    PJRT_ROOM;
};

/* Dense, in a given order of dimensions; minor_to_major lists the last dimension first. */
struct pjrt_layout {
    struct pjrt_head head;
    struct {
        struct pjrt_head head;
        const int64_t *minor_to_major;
        size_t minor_to_majors;
        const int64_t *tile;
        const size_t *tile_dims;
        size_t tiles;
    } tiled;
    int type;                   /* 0: tiled */
    PJRT_ROOM;
};

struct pjrt_to_host_args {
    struct pjrt_head head;
    pjrt_buffer *buffer;
    const struct pjrt_layout *layout;
    void *to;
    size_t bytes;
    pjrt_event *event;          /* out */
    PJRT_ROOM;
};

struct pjrt_execute_options {
    struct pjrt_head head;
    void *send, *receive;
    size_t sends, receives;
    int launch;
    const int64_t *kept;        /* arguments that must not be donated, although the program allows it */
    size_t kepts;
    PJRT_ROOM;
};

struct pjrt_execute_args {
    struct pjrt_head head;
    pjrt_executable *executable;
    struct pjrt_execute_options *options;
    pjrt_buffer *const *const *argument;    /* [devices][arguments] */
    size_t devices, arguments;
    pjrt_buffer **const *result;            /* [devices][results], the caller's */
    pjrt_event **done;                      /* [devices] */
    pjrt_device *device;
    PJRT_ROOM;
};

struct pjrt_executable_args { struct pjrt_head head; pjrt_executable *executable; PJRT_ROOM; };
struct pjrt_buffer_args { struct pjrt_head head; pjrt_buffer *buffer; PJRT_ROOM; };

/* ---- ahead of time --------------------------------------------------------------------- */

struct pjrt_topology_create_args {
    struct pjrt_head head;
    const char *name;
    size_t name_size;
    const struct pjrt_named_value *option;
    size_t options;
    pjrt_topology *topology;    /* out */
    PJRT_ROOM;
};

struct pjrt_topology_args { struct pjrt_head head; pjrt_topology *topology; PJRT_ROOM; };

struct pjrt_topology_devices_args {
    struct pjrt_head head;
    pjrt_topology *topology;
    pjrt_description *const *description;       /* out */
    size_t descriptions;        /* out */
    PJRT_ROOM;
};

struct pjrt_compile_ahead_args {
    struct pjrt_head head;
    const pjrt_topology *topology;
    const struct pjrt_program *program;
    const char *options;
    size_t options_size;
    pjrt_client *client;        /* NULL: none */
    pjrt_compiled *compiled;    /* out */
    PJRT_ROOM;
};

struct pjrt_compiled_args { struct pjrt_head head; pjrt_compiled *compiled; PJRT_ROOM; };

/* Called twice: without `code` it returns the size, then it fills the caller's memory. */
struct pjrt_compiled_program_args {
    struct pjrt_head head; pjrt_compiled *compiled; struct pjrt_program *program; PJRT_ROOM;
};

/* Bytes, including padding. */
struct pjrt_compiled_memory_args {
    struct pjrt_head head;
    pjrt_compiled *compiled;
    int64_t code, arguments, results, aliased, temporary;
    int64_t host[5], peak;      /* peak: 0 from plugins older than 0.81 */
    PJRT_ROOM;
};

/* Offsets of fields of the first version, and the sizes that a plugin checks: without the room. */
#define PJRT_BYTES(type) (sizeof(struct type) - sizeof(((struct type *)NULL)->room))
static_assert(sizeof(void *) == 8, "the offsets are those of 64-bit machines");
static_assert(offsetof(struct pjrt_api, slot) == 40, "head and version");
static_assert(offsetof(struct pjrt_error_args, message) == 24, "PJRT_Error_Message_Args");
static_assert(sizeof(struct pjrt_named_value) == 56, "PJRT_NamedValue");
static_assert(offsetof(struct pjrt_client_create_args, client) == 64, "PJRT_Client_Create_Args");
static_assert(offsetof(struct pjrt_compile_args, executable) == 48, "PJRT_Client_Compile_Args");
static_assert(offsetof(struct pjrt_from_host_args, buffer) == 112, "PJRT_Client_BufferFromHostBuffer_Args");
static_assert(offsetof(struct pjrt_layout, type) == 72, "PJRT_Buffer_MemoryLayout");
static_assert(offsetof(struct pjrt_to_host_args, event) == 48, "PJRT_Buffer_ToHostBuffer_Args");
static_assert(offsetof(struct pjrt_execute_options, kept) == 56, "PJRT_ExecuteOptions");
static_assert(offsetof(struct pjrt_execute_args, device) == 72, "PJRT_LoadedExecutable_Execute_Args");
static_assert(offsetof(struct pjrt_topology_create_args, topology) == 48, "PJRT_TopologyDescription_Create_Args");
static_assert(offsetof(struct pjrt_topology_devices_args, descriptions) == 32,
              "PJRT_TopologyDescription_GetDeviceDescriptions_Args");
static_assert(offsetof(struct pjrt_compile_ahead_args, compiled) == 56, "PJRT_Compile_Args");
static_assert(offsetof(struct pjrt_compiled_program_args, program) == 24, "PJRT_Executable_OptimizedProgram_Args");
static_assert(offsetof(struct pjrt_compiled_memory_args, peak) == 104,
              "PJRT_Executable_GetCompiledMemoryStats_Args");
static_assert(PJRT_BYTES(pjrt_error_args) == 40 && PJRT_BYTES(pjrt_plain_args) == 16 &&
              PJRT_BYTES(pjrt_event_args) == 24, "PJRT_Error_Message_Args, PJRT_Plugin_Initialize_Args, PJRT_Event_*");
static_assert(PJRT_BYTES(pjrt_client_create_args) == 72, "PJRT_Client_Create_Args of its first version");
static_assert(PJRT_BYTES(pjrt_client_name_args) == 40 && PJRT_BYTES(pjrt_client_devices_args) == 40,
              "PJRT_Client_PlatformName_Args, PJRT_Client_AddressableDevices_Args");
static_assert(PJRT_BYTES(pjrt_program) == 48 && PJRT_BYTES(pjrt_compile_args) == 56,
              "PJRT_Program, PJRT_Client_Compile_Args");
static_assert(PJRT_BYTES(pjrt_from_host_args) == 120 && PJRT_BYTES(pjrt_to_host_args) == 56,
              "PJRT_Client_BufferFromHostBuffer_Args, PJRT_Buffer_ToHostBuffer_Args");
static_assert(PJRT_BYTES(pjrt_layout) == 80, "PJRT_Buffer_MemoryLayout");
static_assert(PJRT_BYTES(pjrt_execute_options) == 72 && PJRT_BYTES(pjrt_execute_args) == 80,
              "PJRT_ExecuteOptions of its first version, PJRT_LoadedExecutable_Execute_Args");
static_assert(PJRT_BYTES(pjrt_executable_args) == 24 && PJRT_BYTES(pjrt_buffer_args) == 24,
              "PJRT_LoadedExecutable_Destroy_Args, PJRT_Buffer_Destroy_Args");
static_assert(PJRT_BYTES(pjrt_topology_create_args) == 56 && PJRT_BYTES(pjrt_compile_ahead_args) == 64 &&
              PJRT_BYTES(pjrt_compiled_program_args) == 32 && PJRT_BYTES(pjrt_compiled_memory_args) == 112,
              "PJRT_TopologyDescription_Create_Args, PJRT_Compile_Args and what it made");

#endif
