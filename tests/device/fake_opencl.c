/* OpenCL's loader for tests. Passes calls to the real one, which it is linked with, except for what FAKE_OPENCL in the
 * environment names:
 *     noplatform, nodevice     there is no driver; the drivers have no device
 *     small                    a device allocates at most a megabyte at once
 *     nomemory                 all allocations fail
 *     nocompile                all compilations fail
 *     nobinary                 the driver rejects programs that were built before
 *     old                      OpenCL C 1.1
 *     other                    the driver has another version
 *     lost:N, full:N           from launch N on, the device is lost, or out of resources */
#include "extensions/opencl/opencl_api.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_fake(const char *what)
{
    const char *asked = getenv("FAKE_OPENCL");
    return asked && !strncmp(asked, what, strlen(what));
}

/* Returns the address of the real function. */
static void *behind(const char *name)
{
    static _Thread_local void *address;
    address = dlsym(RTLD_NEXT, name);
    return &address;
}
#define REAL(name) (*(__typeof__(&name) *)behind(#name))

#define DECLARE(name, gives, arguments) gives name arguments;
OPENCL_FUNCTIONS(DECLARE)
#define SHOWN __attribute__((visibility("default")))

static long launches;

static cl_int lost(void)
{
    const char *asked = getenv("FAKE_OPENCL");
    if (is_fake("lost:") && launches >= atol(asked + 5))
        return OPENCL_DEVICE_NOT_AVAILABLE;
    return is_fake("full:") && launches >= atol(asked + 5) ? OPENCL_OUT_OF_RESOURCES : OPENCL_SUCCESS;
}

SHOWN cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platform, cl_uint *count)
{
    return is_fake("noplatform") ? OPENCL_NO_PLATFORM : REAL(clGetPlatformIDs)(room, platform, count);
}

SHOWN cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *device,
                            cl_uint *count)
{
    return is_fake("nodevice") ? OPENCL_DEVICE_NOT_FOUND : REAL(clGetDeviceIDs)(platform, type, room, device, count);
}

SHOWN cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *to, size_t *size)
{
    const cl_int result = REAL(clGetDeviceInfo)(device, what, room, to, size);
    if (what == OPENCL_DEVICE_MAX_MEM_ALLOC_SIZE && is_fake("small"))
        *(cl_ulong *)to = 1 << 20;
    if (what == OPENCL_DEVICE_OPENCL_C_VERSION && is_fake("old"))
        snprintf(to, room, "OpenCL C 1.1 fake");
    if (what == OPENCL_DRIVER_VERSION && is_fake("other"))
        snprintf(to, room, "another version");
    return result;
}

SHOWN cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *result)
{
    if (!is_fake("nomemory"))
        return REAL(clCreateBuffer)(context, flags, bytes, host, result);
    *result = OPENCL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

SHOWN cl_int clBuildProgram(cl_program program, cl_uint devices, const cl_device_id *device, const char *options,
                            void (*notify)(cl_program, void *), void *data)
{
    return is_fake("nocompile") ? OPENCL_BUILD_PROGRAM_FAILURE
                                : REAL(clBuildProgram)(program, devices, device, options, notify, data);
}

SHOWN cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what, size_t room,
                                   void *to, size_t *size)
{
    static const char log[] = "fake: line 7 is not to the compiler's taste";
    if (what != OPENCL_PROGRAM_BUILD_LOG || !is_fake("nocompile"))
        return REAL(clGetProgramBuildInfo)(program, device, what, room, to, size);
    if (size)
        *size = sizeof log;
    if (to)
        snprintf(to, room, "%s", log);
    return OPENCL_SUCCESS;
}

SHOWN cl_program clCreateProgramWithBinary(cl_context context, cl_uint devices, const cl_device_id *device,
                                           const size_t *size, const unsigned char **binary, cl_int *of_binary,
                                           cl_int *result)
{
    if (!is_fake("nobinary"))
        return REAL(clCreateProgramWithBinary)(context, devices, device, size, binary, of_binary, result);
    *result = *of_binary = OPENCL_INVALID_BINARY;
    return NULL;
}

SHOWN cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t *offset,
                                    const size_t *items, const size_t *group, cl_uint waits, const cl_event *wait,
                                    cl_event *event)
{
    const cl_int result = lost();
    launches++;
    return result ? result
                  : REAL(clEnqueueNDRangeKernel)(queue, kernel, axes, offset, items, group, waits, wait, event);
}

SHOWN cl_int clFinish(cl_command_queue queue)
{
    const cl_int result = lost();
    return result ? result : REAL(clFinish)(queue);
}

SHOWN cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t at, size_t bytes,
                                 void *to, cl_uint waits, const cl_event *wait, cl_event *event)
{
    const cl_int result = lost();
    return result ? result : REAL(clEnqueueReadBuffer)(queue, memory, blocking, at, bytes, to, waits, wait, event);
}
