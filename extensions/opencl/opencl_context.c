/* Opens OpenCL devices (opencl_context.h): counts them over all drivers of this machine, queries their properties,
 * and chooses the form of kernels for each. One lock guards the list of open devices. */
#include "extensions/opencl/opencl_context.h"
#include "base/memory.h"
#include "base/number.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLATFORMS_MAX = 32, DEVICES_MAX = 64 };

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct opencl_context *open_contexts;

/* ---- all devices -------------------------------------------------------------------------- */

struct found {
    cl_platform_id platform;
    cl_device_id device;
};

static unroll_status list_platforms(cl_platform_id *platform, cl_uint *count)
{
    const cl_int result = cl.clGetPlatformIDs(PLATFORMS_MAX, platform, count);
    if (result == OPENCL_NO_PLATFORM || (result == 0 && *count == 0))
        return fail(UNROLL_UNSUPPORTED, "OpenCL has no driver on this machine; fix: install that of the GPU, or for "
                                        "processors apt install pocl-opencl-icd");
    *count = *count < PLATFORMS_MAX ? *count : PLATFORMS_MAX;
    return opencl_check(result, "looking for drivers");
}

/* Lists the devices of all platforms; fails if there is none. */
static unroll_status list_devices(struct found *found, int *count)
{
    cl_platform_id platform[PLATFORMS_MAX];
    cl_device_id device[DEVICES_MAX];
    cl_uint platforms = 0, devices;
    *count = 0;
    TRY(list_platforms(platform, &platforms));
    for (cl_uint p = 0; p < platforms; p++) {
        devices = 0;
        const cl_int result = cl.clGetDeviceIDs(platform[p], OPENCL_ALL_DEVICES, DEVICES_MAX, device, &devices);
        if (result != OPENCL_DEVICE_NOT_FOUND)
            TRY(opencl_check(result, "looking for devices"));
        for (cl_uint d = 0; result == 0 && d < devices && d < DEVICES_MAX && *count < DEVICES_MAX; d++)
            found[(*count)++] = (struct found){platform[p], device[d]};
    }
    return *count ? UNROLL_OK
                  : fail(UNROLL_UNSUPPORTED, "OpenCL's drivers have no device on this machine; fix: look whether this "
                                             "user may open it (/dev/dri, groups video and render)");
}

/* Finds the device with the number `which`; NULL: the first one. */
static unroll_status choose_device(const char *which, struct found *found, int *index)
{
    struct found all[DEVICES_MAX];
    int64_t number = 0;
    int count;
    if (which && number_whole_integer(which, 0, DEVICES_MAX - 1, &number) != NUMBER_OK)
        return fail(UNROLL_USAGE, "device opencl:%.40s; fix: after the colon comes the number of a device, 0 to %d",
                    which, DEVICES_MAX - 1);
    TRY(opencl_load());
    TRY(list_devices(all, &count));
    if (number >= count)
        return fail(UNROLL_UNSUPPORTED,
                    "there is no device opencl:%d: this machine has %d, counted from 0; fix: use a number of `unroll "
                    "devices`",
                    (int)number, count);
    *index = (int)number;
    *found = all[number];
    return UNROLL_OK;
}

/* ---- properties --------------------------------------------------------------------------- */

static const char asking[] = "asking for what the device has";

static unroll_status ask(const struct opencl_context *c, cl_device_info which, void *value, size_t size)
{
    return opencl_check(cl.clGetDeviceInfo(c->device, which, size, value, NULL), asking);
}

/* Queries a text, and truncates it to the available space. */
static unroll_status ask_text(const struct opencl_context *c, cl_device_info which, char text[OPENCL_LIBRARY_NAME])
{
    char all[4096] = "";
    TRY(opencl_check(cl.clGetDeviceInfo(c->device, which, sizeof all - 1, all, NULL), asking));
    snprintf(text, OPENCL_LIBRARY_NAME, "%.*s", OPENCL_LIBRARY_NAME - 1, all);
    return UNROLL_OK;
}

/* Returns whether UNROLL_OPENCL_FORM requests a form, for tests on any device: "pairs" (no doubles), "scalar" (one
 * element per item). */
static bool is_asked_for(const char *form)
{
    const char *asked = getenv("UNROLL_OPENCL_FORM");
    return asked && strstr(asked, form);
}

/* Chooses vectors for processors, which run items one after another; otherwise one element per item, with adjacent
 * items on adjacent elements. Sums of a product stay in registers: 16 vectors of 16 floats with 32 registers, else
 * 12 of 8. */
static struct opencl_form form_of(uint32_t width, uint32_t group_max)
{
    static const struct opencl_form forms[] = {
        {.width = 16, .rows = 8, .vectors = 2, .lanes = 1, .group = 1, .run = 256},
        {.width = 8, .rows = 6, .vectors = 2, .lanes = 2, .group = 1, .run = 256},
        {.width = 4, .rows = 6, .vectors = 2, .lanes = 4, .group = 1, .run = 256},
        {.width = 1, .rows = 8, .vectors = 1, .lanes = 32, .group = 64, .run = 1},
    };
    int i = width >= 16 ? 0 : width >= 8 ? 1 : width >= 4 ? 2 : 3;
    if (is_asked_for("scalar"))
        i = 3;
    struct opencl_form form = forms[i];
    if (form.group > group_max)
        form.group = group_max;
    return form;
}

static unroll_status learn_form(struct opencl_context *c)
{
    cl_ulong floats = 0;
    cl_uint width = 1;
    char extensions[8192] = "";
    TRY(ask(c, OPENCL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, &width, sizeof width));
    TRY(ask(c, OPENCL_DEVICE_SINGLE_FP_CONFIG, &floats, sizeof floats));
    TRY(opencl_check(cl.clGetDeviceInfo(c->device, OPENCL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL),
                     asking));
    c->form = form_of(width, c->group_max);
    c->form.fuses = floats & OPENCL_FP_FMA;
    c->form.divides = floats & OPENCL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    c->form.has_fp64 = strstr(extensions, "cl_khr_fp64") && !is_asked_for("pairs");
    return UNROLL_OK;
}

/* Reads the device's properties; refuses devices without a compiler, little-endian numbers or OpenCL C 1.2. */
static unroll_status learn(struct opencl_context *c, const struct found *found)
{
    cl_bool available = 0, compiles = 0, little = 0;
    size_t group = 0, argument = 0;
    char version[OPENCL_LIBRARY_NAME];
    c->device = found->device;
    TRY(opencl_check(
        cl.clGetPlatformInfo(found->platform, OPENCL_PLATFORM_NAME, sizeof c->platform - 1, c->platform, NULL),
        asking));
    TRY(ask_text(c, OPENCL_DEVICE_NAME, c->name));
    TRY(ask_text(c, OPENCL_DRIVER_VERSION, c->driver));
    TRY(ask_text(c, OPENCL_DEVICE_OPENCL_C_VERSION, version));
    TRY(ask(c, OPENCL_DEVICE_AVAILABLE, &available, sizeof available));
    TRY(ask(c, OPENCL_DEVICE_COMPILER_AVAILABLE, &compiles, sizeof compiles));
    TRY(ask(c, OPENCL_DEVICE_ENDIAN_LITTLE, &little, sizeof little));
    TRY(ask(c, OPENCL_DEVICE_GLOBAL_MEM_SIZE, &c->memory, sizeof c->memory));
    TRY(ask(c, OPENCL_DEVICE_MAX_MEM_ALLOC_SIZE, &c->piece_max, sizeof c->piece_max));
    TRY(ask(c, OPENCL_DEVICE_MAX_COMPUTE_UNITS, &c->units, sizeof c->units));
    TRY(ask(c, OPENCL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof group));
    TRY(ask(c, OPENCL_DEVICE_MAX_PARAMETER_SIZE, &argument, sizeof argument));
    c->group_max = (uint32_t)group;
    c->argument_max = (uint32_t)argument;
    TRY(learn_form(c));
    if (available && compiles && little && strncmp(version, "OpenCL C 1.0", 12) && strncmp(version, "OpenCL C 1.1", 12))
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED, "device opencl:%d, %s, %s; fix: use another device or driver", c->gpu.index,
                c->name,
                !available  ? "is not available"
                : !compiles ? "has no compiler"
                : !little   ? "keeps numbers with their highest byte first"
                            : "does not support OpenCL C 1.2");
}

/* ---- opening ------------------------------------------------------------------------------ */

static unroll_status fill_context(struct opencl_context *c, const struct found *found)
{
    cl_int result;
    TRY(learn(c, found));
    c->context = cl.clCreateContext(NULL, 1, &c->device, NULL, NULL, &result);
    TRY(opencl_check(result, "opening the device"));
    c->queue[0] = cl.clCreateCommandQueue(c->context, c->device, 0, &result);
    TRY(opencl_check(result, "making a queue"));
    c->queues = 1;
    return UNROLL_OK;
}

static unroll_status open_new(const struct found *found, int index, struct opencl_context **context)
{
    struct opencl_context *c;
    TRY(ALLOCATE(c, 1, "for a device's context"));
    c->gpu = (struct gpu){.driver = &gpu_driver_opencl, .index = index, .isa = "opencl"};
    unroll_status status = fill_context(c, found);
    if (status != UNROLL_OK) {
        if (c->context)
            (void)cl.clReleaseContext(c->context);
        release(c);
        return status;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->next = open_contexts;
    *context = open_contexts = c;
    return UNROLL_OK;
}

unroll_status opencl_context_open(const char *which, struct opencl_context **context)
{
    struct found found;
    int index;
    TRY(choose_device(which, &found, &index));
    pthread_mutex_lock(&list_lock);
    struct opencl_context *c = open_contexts;
    while (c && c->gpu.index != index) c = c->next;
    unroll_status status = UNROLL_OK;
    if (c)
        *context = c;
    else
        status = open_new(&found, index, context);
    pthread_mutex_unlock(&list_lock);
    return status;
}

unroll_status opencl_describe(char *text, size_t size)
{
    struct found all[DEVICES_MAX];
    size_t used = 0;
    int count;
    TRY(opencl_load());
    TRY(list_devices(all, &count));
    for (int i = 0; i < count; i++) {
        struct opencl_context c = {.gpu = {.index = i}};
        TRY(learn(&c, &all[i]));
        used += (size_t)snprintf(text + used, used < size ? size - used : 0, "%s%s (%s %s, %u units, %.1f GB)",
                                 i ? ", " : "", c.name, c.platform, c.driver, c.units, (double)c.memory / 1e9);
        used = used < size ? used : size;
    }
    return UNROLL_OK;
}
