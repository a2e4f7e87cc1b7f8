/* Programs of an OpenCL device (opencl_context.h): printed, and loaded from the cache on disk or built, once in a
 * process; and the kernels requested so far. Names no kernel. */
#include "extensions/gpu/program_cache.h"
#include "base/hash.h"
#include "base/memory.h"
#include "extensions/opencl/opencl_kernels.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opencl_program {
    struct opencl_program *next;
    cl_program program;
    char name[OPENCL_KERNEL_NAME];
};

static atomic_uint_fast64_t built, cached;

struct opencl_counts opencl_counts(void) { return (struct opencl_counts){built, cached}; }

static const struct program_folder opencl_folder = {"UNROLL_OPENCL_CACHE", "opencl"};

/* ---- building ----------------------------------------------------------------------------- */

/* Subnormals are flushed to zero, as on every ISA of the CPU. Without -w, PoCL prints its number of warnings. */
static const char *options_of(const struct opencl_context *c)
{
    return c->form.divides ? "-w -cl-std=CL1.2 -cl-denorms-are-zero -cl-fp32-correctly-rounded-divide-sqrt"
                           : "-w -cl-std=CL1.2 -cl-denorms-are-zero";
}

/* Keeps the text and the compiler's log for inspection. */
static unroll_status refuse_text(const struct opencl_context *c, const char *name, cl_program program, const char *text,
                                 size_t size)
{
    char path[PROGRAM_PATH], *log;
    size_t bytes = 0;
    (void)cl.clGetProgramBuildInfo(program, c->device, OPENCL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    TRY(ALLOCATE(log, bytes + 1, "for the log of a compiler"));
    (void)cl.clGetProgramBuildInfo(program, c->device, OPENCL_PROGRAM_BUILD_LOG, bytes, log, NULL);
    const bool kept = program_keep_text(&opencl_folder, name, text, size, log, path);
    unroll_status status = fail(
        UNROLL_UNSUPPORTED, "the driver of device opencl:%d (%s %s) does not compile the program '%s'%s%s; fix: %s",
        c->gpu.index, c->platform, c->driver, name, kept ? ": its text and the compiler's log are in " : "",
        kept ? path : "", kept ? "a newer driver, or send that file" : "a newer driver");
    release(log);
    return status;
}

static unroll_status build(struct opencl_context *c, const char *name, const char *text, size_t size,
                           cl_program *program)
{
    cl_int result;
    cl_program made = cl.clCreateProgramWithSource(c->context, 1, &text, &size, &result);
    TRY(opencl_check(result, "giving a program's text to the driver"));
    result = cl.clBuildProgram(made, 1, &c->device, options_of(c), NULL, NULL);
    built++;
    unroll_status status = result == OPENCL_BUILD_PROGRAM_FAILURE ? refuse_text(c, name, made, text, size)
                                                                  : opencl_check(result, "compiling a program");
    if (status != UNROLL_OK)
        (void)cl.clReleaseProgram(made);
    else
        *program = made;
    return status;
}

/* ---- the cache ---------------------------------------------------------------------------- */

/* Returns false if the driver rejects a cached binary; the program is then rebuilt. */
static bool build_binary(const struct opencl_context *c, const void *data, size_t size, cl_program *program)
{
    cl_int result, of_binary = 0;
    const unsigned char *binary = data;
    cl_program made = cl.clCreateProgramWithBinary(c->context, 1, &c->device, &size, &binary, &of_binary, &result);
    if (result || !made)
        return false;
    if (!of_binary && cl.clBuildProgram(made, 1, &c->device, options_of(c), NULL, NULL) == 0) {
        *program = made;
        return true;
    }
    (void)cl.clReleaseProgram(made);
    return false;
}

static bool take_cached(const struct opencl_context *c, const struct program_key *key, cl_program *program)
{
    void *data = NULL;
    size_t size;
    const bool taken = program_cache_read(key, &data, &size) && build_binary(c, data, size, program);
    release(data);
    cached += taken;
    return taken;
}

/* Errors of the cache are ignored. */
static void keep_cached(const struct program_key *key, cl_program program)
{
    size_t size = 0;
    if (!key->path[0]) /* retrieving a binary may take the driver as long as compiling it */
        return;
    if (cl.clGetProgramInfo(program, OPENCL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != 0 || !size)
        return;
    unsigned char *binary = allocate_zeroed(size, 1);
    if (binary && cl.clGetProgramInfo(program, OPENCL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == 0)
        program_cache_write(&opencl_folder, key, binary, size);
    release(binary);
}

static unroll_status make_program(struct opencl_context *c, const char *name, cl_program *program)
{
    struct program_key key;
    char *text = NULL;
    size_t size;
    TRY(opencl_program_text(&c->form, name, &text, &size));
    program_key_of(&opencl_folder, hash_text(hash_text(hash_text(HASH_BEGIN, c->platform), c->driver), c->name),
                   options_of(c), text, &key);
    unroll_status status = UNROLL_OK;
    if (!take_cached(c, &key, program)) {
        status = build(c, name, text, size, program);
        if (status == UNROLL_OK)
            keep_cached(&key, *program);
    }
    free(text);
    return status;
}

/* ---- programs and kernels by name --------------------------------------------------------- */

static unroll_status find_program(struct opencl_context *c, const char *name, cl_program *program)
{
    struct opencl_program *p = c->programs;
    while (p && strcmp(p->name, name)) p = p->next;
    if (!p) {
        TRY(ALLOCATE(p, 1, "for a program"));
        unroll_status status = make_program(c, name, &p->program);
        if (status != UNROLL_OK) {
            release(p);
            return status;
        }
        snprintf(p->name, sizeof p->name, "%s", name);
        p->next = c->programs;
        c->programs = p;
    }
    *program = p->program;
    return UNROLL_OK;
}

/* Makes a kernel, whose program is found or built first. */
static unroll_status make_kernel(struct opencl_context *c, const char *name, gpu_kernel *kernel)
{
    const struct opencl_kernel *items = opencl_kernel_of(name);
    char program_name[OPENCL_KERNEL_NAME];
    cl_program program;
    cl_int result;
    gpu_kernel k;
    if (!items)
        return fail(UNROLL_UNSUPPORTED, "OpenCL devices have no kernel '%s'; fix: use device cpu", name);
    opencl_program_name(items, name, program_name, sizeof program_name);
    TRY(find_program(c, program_name, &program));
    TRY(ALLOCATE(k, 1, "for a kernel"));
    k->kernel = cl.clCreateKernel(program, name, &result);
    if (result) {
        release(k);
        return opencl_check(result, "looking for a kernel");
    }
    k->items = items;
    k->context = c;
    snprintf(k->name, sizeof k->name, "%s", name);
    k->next = c->kernels;
    *kernel = c->kernels = k;
    return UNROLL_OK;
}

unroll_status opencl_find_kernel(struct opencl_context *c, const char *name, gpu_kernel *kernel)
{
    pthread_mutex_lock(&c->lock);
    gpu_kernel k = c->kernels;
    while (k && strcmp(k->name, name)) k = k->next;
    unroll_status status = UNROLL_OK;
    if (k)
        *kernel = k;
    else
        status = make_kernel(c, name, kernel);
    pthread_mutex_unlock(&c->lock);
    return status;
}
