/* The part of OpenCL 1.2 that Unroll uses, declared here and loaded at run time: the loader (libOpenCL.so.1) finds
 * the drivers of this machine. Names, values and argument orders are those of CL/cl.h;
 * tests/device/test_opencl_header.c compares them if it is installed. Independent of plans. */
#ifndef DEVICE_OPENCL_API_H
#define DEVICE_OPENCL_API_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

/* clang-format off */     /* tables, a line each */

#ifndef OPENCL_TYPES        /* a test uses those of CL/cl.h */
#define OPENCL_TYPES
typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bitfield;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef cl_bitfield cl_device_type, cl_mem_flags, cl_command_queue_properties;
typedef cl_uint cl_platform_info, cl_device_info, cl_program_info, cl_program_build_info, cl_profiling_info;
typedef intptr_t cl_context_properties;
#endif

/* name, value */
#define OPENCL_CONSTANTS(C)                                                                                 \
    C(SUCCESS, 0) C(DEVICE_NOT_FOUND, -1) C(DEVICE_NOT_AVAILABLE, -2) C(COMPILER_NOT_AVAILABLE, -3)         \
    C(MEM_OBJECT_ALLOCATION_FAILURE, -4) C(OUT_OF_RESOURCES, -5) C(OUT_OF_HOST_MEMORY, -6)                  \
    C(BUILD_PROGRAM_FAILURE, -11) C(INVALID_VALUE, -30) C(INVALID_BINARY, -42) C(INVALID_KERNEL_NAME, -46)  \
    C(INVALID_BUFFER_SIZE, -61)                                                                             \
    C(PLATFORM_NAME, 0x0902)                                                                                \
    C(DEVICE_MAX_COMPUTE_UNITS, 0x1002) C(DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                               \
    C(DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 0x100A) C(DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)                     \
    C(DEVICE_SINGLE_FP_CONFIG, 0x101B) C(DEVICE_GLOBAL_MEM_SIZE, 0x101F) C(DEVICE_ENDIAN_LITTLE, 0x1026)    \
    C(DEVICE_AVAILABLE, 0x1027) C(DEVICE_COMPILER_AVAILABLE, 0x1028) C(DEVICE_NAME, 0x102B)                 \
    C(DRIVER_VERSION, 0x102D) C(DEVICE_VERSION, 0x102F) C(DEVICE_EXTENSIONS, 0x1030)                        \
    C(DEVICE_MAX_PARAMETER_SIZE, 0x1017) C(DEVICE_OPENCL_C_VERSION, 0x103D)                                 \
    C(FP_FMA, 32) C(FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, 128)                                                  \
    C(QUEUE_PROFILING_ENABLE, 2) C(MEM_READ_WRITE, 1)                                                       \
    C(PROGRAM_BINARY_SIZES, 0x1165) C(PROGRAM_BINARIES, 0x1166) C(PROGRAM_BUILD_LOG, 0x1183)                \
    C(PROFILING_COMMAND_END, 0x1283)

enum {
#define OPENCL_CONSTANT(name, value) OPENCL_##name = value,
    OPENCL_CONSTANTS(OPENCL_CONSTANT)
#undef OPENCL_CONSTANT
    OPENCL_NO_PLATFORM = -1001      /* from the loader, if no driver is registered (cl_khr_icd) */
};
#define OPENCL_ALL_DEVICES 0xFFFFFFFFu

/* name, return type, arguments */
#define OPENCL_FUNCTIONS(F)                                                                                 \
    F(clGetPlatformIDs, cl_int, (cl_uint room, cl_platform_id *, cl_uint *count))                           \
    F(clGetPlatformInfo, cl_int, (cl_platform_id, cl_platform_info, size_t room, void *, size_t *size))     \
    F(clGetDeviceIDs, cl_int, (cl_platform_id, cl_device_type, cl_uint room, cl_device_id *, cl_uint *count)) \
    F(clGetDeviceInfo, cl_int, (cl_device_id, cl_device_info, size_t room, void *, size_t *size))           \
    F(clCreateContext, cl_context, (const cl_context_properties *, cl_uint, const cl_device_id *,           \
                                    void (*)(const char *, const void *, size_t, void *), void *, cl_int *)) \
    F(clReleaseContext, cl_int, (cl_context))                                                               \
    F(clCreateCommandQueue, cl_command_queue, (cl_context, cl_device_id, cl_command_queue_properties, cl_int *)) \
    F(clReleaseCommandQueue, cl_int, (cl_command_queue))                                                    \
    F(clCreateBuffer, cl_mem, (cl_context, cl_mem_flags, size_t, void *, cl_int *))                         \
    F(clReleaseMemObject, cl_int, (cl_mem))                                                                 \
    F(clCreateProgramWithSource, cl_program, (cl_context, cl_uint, const char **, const size_t *, cl_int *)) \
    F(clCreateProgramWithBinary, cl_program, (cl_context, cl_uint, const cl_device_id *, const size_t *,    \
                                              const unsigned char **, cl_int *, cl_int *))                  \
    F(clBuildProgram, cl_int, (cl_program, cl_uint, const cl_device_id *, const char *,                     \
                               void (*)(cl_program, void *), void *))                                       \
    F(clGetProgramInfo, cl_int, (cl_program, cl_program_info, size_t room, void *, size_t *size))           \
    F(clGetProgramBuildInfo, cl_int, (cl_program, cl_device_id, cl_program_build_info, size_t room, void *, size_t *size)) \
    F(clReleaseProgram, cl_int, (cl_program))                                                               \
    F(clCreateKernel, cl_kernel, (cl_program, const char *, cl_int *))                                      \
    F(clReleaseKernel, cl_int, (cl_kernel))                                                                 \
    F(clSetKernelArg, cl_int, (cl_kernel, cl_uint, size_t, const void *))                                   \
    F(clEnqueueNDRangeKernel, cl_int, (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, \
                                       const size_t *, cl_uint, const cl_event *, cl_event *))              \
    F(clEnqueueWriteBuffer, cl_int, (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, \
                                     const cl_event *, cl_event *))                                         \
    F(clEnqueueReadBuffer, cl_int, (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,     \
                                    const cl_event *, cl_event *))                                          \
    F(clEnqueueCopyBuffer, cl_int, (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,      \
                                    const cl_event *, cl_event *))                                          \
    F(clEnqueueFillBuffer, cl_int, (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, \
                                    const cl_event *, cl_event *))                                          \
    F(clEnqueueMarkerWithWaitList, cl_int, (cl_command_queue, cl_uint, const cl_event *, cl_event *))       \
    F(clEnqueueBarrierWithWaitList, cl_int, (cl_command_queue, cl_uint, const cl_event *, cl_event *))      \
    F(clReleaseEvent, cl_int, (cl_event))                                                                   \
    F(clGetEventProfilingInfo, cl_int, (cl_event, cl_profiling_info, size_t room, void *, size_t *size))    \
    F(clFlush, cl_int, (cl_command_queue))                                                                  \
    F(clFinish, cl_int, (cl_command_queue))

struct opencl {
#define OPENCL_MEMBER(name, gives, arguments) gives (*name) arguments;
    OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
};

/* The functions, valid after opencl_load returned UNROLL_OK. The library is loaded once in a process and stays
 * loaded. UNROLL_OPENCL in the environment names a file to use instead. */
extern struct opencl cl;
unroll_status opencl_load(void);

/* Converts a result to a status and a message: "OpenCL failed while DOING: ..". */
unroll_status opencl_check(cl_int, const char *doing);

#endif
