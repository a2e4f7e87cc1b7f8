/* Compilation ahead of time (ahead.h): a topology, a program for it, and the plugin's statistics of the program. */
#include "extensions/xla/ahead.h"
#include "base/system/clock.h"
#include "base/memory.h"
#include "extensions/xla/plugin.h"
#include <stdio.h>
#include <string.h>

#define HEAD(type) { .size = sizeof(type) }

static unroll_status read_memory(struct xla_plugin *p, pjrt_compiled *compiled, struct ahead *a)
{
    struct pjrt_compiled_memory_args m = {.head = HEAD(m), .compiled = compiled};
    TRY(xla_call(p, PJRT_COMPILED_MEMORY, &m, "telling what memory a program takes"));
    a->code = m.code;
    a->arguments = m.arguments;
    a->results = m.results;
    a->aliased = m.aliased;
    a->temporary = m.temporary;
    a->peak = m.peak;
    return UNROLL_OK;
}

static unroll_status read_program(struct xla_plugin *p, pjrt_compiled *compiled, struct ahead *a)
{
    struct pjrt_program program = {.head = HEAD(program)};
    struct pjrt_compiled_program_args args = {.head = HEAD(args), .compiled = compiled, .program = &program};
    char format[64];
    TRY(xla_call(p, PJRT_COMPILED_PROGRAM, &args, "telling the size of a compiled program"));
    char *code;
    TRY(ALLOCATE(code, program.code_size + 1, "for a compiled program of %zu bytes", program.code_size));
    program.code = code;
    unroll_status status = xla_call(p, PJRT_COMPILED_PROGRAM, &args, "giving a compiled program");
    if (status == UNROLL_OK) {
        snprintf(format, sizeof format, "%.*s", (int)program.format_size, program.format);
        status = read_compiled(code, program.code_size, format, &a->compiled);
    }
    release(code);
    return status;
}

/* Compiles a program for a topology, and reads its memory and estimated cycles. */
static unroll_status compile_for(struct xla_plugin *p, const pjrt_topology *topology, int replicas, const char *text,
                                 size_t size, struct ahead *a)
{
    /* CompileOptionsProto: executable_build_options { num_replicas: replicas num_partitions: 1 } */
    const char options[] = {0x1a, 0x04, 0x20, (char)replicas, 0x28, 0x01};
    struct pjrt_program program = {
        .head = HEAD(program), .code = text, .code_size = size, .format = "mlir", .format_size = 4};
    struct pjrt_compile_ahead_args args = {.head = HEAD(args),
                                           .topology = topology,
                                           .program = &program,
                                           .options = options,
                                           .options_size = sizeof options};
    double begun = clock_seconds();
    TRY(xla_call(p, PJRT_COMPILE, &args, "compiling a program ahead of time"));
    a->seconds = clock_seconds() - begun;
    unroll_status status = read_memory(p, args.compiled, a);
    if (status == UNROLL_OK)
        status = read_program(p, args.compiled, a);
    struct pjrt_compiled_args destroy = {.head = HEAD(destroy), .compiled = args.compiled};
    unroll_status freed = xla_call(p, PJRT_COMPILED_DESTROY, &destroy, "freeing a compiled program");
    return status != UNROLL_OK ? status : freed;
}

unroll_status compile_ahead(const char *which, const char *topology, int replicas, const char *text, size_t size,
                            struct ahead *a)
{
    struct xla_plugin *p;
    TRY(xla_plugin_open(which, 0, &p));
    *a = (struct ahead){0};
    snprintf(a->plugin, sizeof a->plugin, "%s", xla_plugin_path(p));
    xla_plugin_version(p, &a->major, &a->minor);
    struct pjrt_topology_create_args make = {.head = HEAD(make), .name = topology, .name_size = strlen(topology)};
    TRY(xla_call(p, PJRT_TOPOLOGY_CREATE, &make, "describing the topology"));
    struct pjrt_topology_devices_args list = {.head = HEAD(list), .topology = make.topology};
    unroll_status status = xla_call(p, PJRT_TOPOLOGY_DEVICES, &list, "listing a topology's devices");
    a->devices = (int)list.descriptions;
    if (status == UNROLL_OK)
        status = compile_for(p, make.topology, replicas, text, size, a);
    struct pjrt_topology_args destroy = {.head = HEAD(destroy), .topology = make.topology};
    unroll_status freed = xla_call(p, PJRT_TOPOLOGY_DESTROY, &destroy, "freeing a topology");
    return status != UNROLL_OK ? status : freed;
}
