/* The parts of the CUDA driver, cuBLASLt and NCCL that Unroll uses: types, constants, and one list of functions
 * each, from which the loader (driver.c) and the fakes in the tests are generated. Written from the documented
 * interfaces of cuda.h, cublasLt.h and nccl.h, so that building needs no toolkit. Independent of plans and kernels. */
#ifndef DEVICE_CUDA_DRIVER_H
#define DEVICE_CUDA_DRIVER_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

/* clang-format off */     /* tables and small structs, a line each */

/* ---- types and constants of the driver --------------------------------------------------- */

typedef int      cu_result;                     /* 0: success */
typedef int      cu_device;
typedef uint64_t cu_ptr;                        /* a device address */
typedef struct cu_context_st  *cu_context;
typedef struct cu_module_st   *cu_module;
typedef struct gpu_kernel_handle *cu_function;  /* this type and the next ones, and cu_exec, are the handles of gpu_driver.h */
typedef struct gpu_stream_handle *cu_stream;
typedef struct gpu_event_handle  *cu_event;
typedef struct cu_graph_st    *cu_graph;
typedef struct gpu_graph_handle  *cu_exec;      /* a graph ready to launch */

struct cu_uuid { unsigned char bytes[16]; };

enum cu_error {
    CU_INVALID_VALUE = 1, CU_OUT_OF_MEMORY = 2, CU_NO_DEVICE = 100, CU_INVALID_DEVICE = 101,
    CU_INVALID_IMAGE = 200, CU_NO_BINARY_FOR_GPU = 209, CU_ECC_ERROR = 214, CU_INVALID_PTX = 218, CU_UNSUPPORTED_PTX = 222,
    CU_INVALID_HANDLE = 400, CU_NOT_FOUND = 500, CU_NOT_READY = 600, CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_OUT_OF_RESOURCES = 701, CU_LAUNCH_FAILED = 719, CU_NOT_SUPPORTED = 801,
    CU_CAPTURE_INVALIDATED = 901, CU_INVALID_CLUSTER_SIZE = 912
};

enum cu_device_attribute {
    CU_WARP_SIZE = 10, CU_MULTIPROCESSORS = 16, CU_L2_BYTES = 38, CU_THREADS_PER_MULTIPROCESSOR = 39,
    CU_CAPABILITY_MAJOR = 75, CU_CAPABILITY_MINOR = 76, CU_SHARED_PER_MULTIPROCESSOR = 81,
    CU_REGISTERS_PER_MULTIPROCESSOR = 82, CU_COOPERATIVE = 95, CU_SHARED_PER_BLOCK_OPTIN = 97, CU_CLUSTERS = 120
};

enum cu_function_attribute {
    CU_MAX_THREADS_PER_BLOCK = 0, CU_STATIC_SHARED = 1, CU_LOCAL_BYTES = 3, CU_REGISTERS = 4,
    CU_MAX_DYNAMIC_SHARED = 8, CU_NON_PORTABLE_CLUSTER_SIZE = 14
};

enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_NO_TIMING = 2, CU_EVENT_RECORD_EXTERNAL = 1, CU_CAPTURE_RELAXED = 2,
       CU_HOST_MAPPED = 2 };

enum cu_launch_attribute_id { CU_LAUNCH_COOPERATIVE = 2, CU_LAUNCH_CLUSTER = 4 };

struct cu_launch_attribute {
    int  id;
    char pad[4];
    union { char room[64]; struct { unsigned x, y, z; } cluster; int cooperative; } value;
};

struct cu_launch {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    cu_stream stream;
    struct cu_launch_attribute *attribute;
    unsigned attributes;
};

/* ---- functions of the driver: name, suffix of the symbol, arguments ---------------------- */

#define CUDA_FUNCTIONS(F)                                                                                   \
    F(cuInit, , (unsigned flags))                                                                           \
    F(cuDriverGetVersion, , (int *version))                                                                 \
    F(cuGetErrorName, , (cu_result, const char **name))                                                     \
    F(cuGetErrorString, , (cu_result, const char **text))                                                   \
    F(cuDeviceGetCount, , (int *count))                                                                     \
    F(cuDeviceGet, , (cu_device *, int index))                                                              \
    F(cuDeviceGetName, , (char *name, int size, cu_device))                                                 \
    F(cuDeviceGetAttribute, , (int *value, enum cu_device_attribute, cu_device))                            \
    F(cuDeviceGetUuid, _v2, (struct cu_uuid *, cu_device))                                                  \
    F(cuDeviceTotalMem, _v2, (size_t *bytes, cu_device))                                                    \
    F(cuDevicePrimaryCtxRetain, , (cu_context *, cu_device))                                                \
    F(cuDevicePrimaryCtxRelease, _v2, (cu_device))                                                          \
    F(cuCtxPushCurrent, _v2, (cu_context))                                                                  \
    F(cuCtxPopCurrent, _v2, (cu_context *))                                                                 \
    F(cuMemGetInfo, _v2, (size_t *available, size_t *total))                                                \
    F(cuMemAlloc, _v2, (cu_ptr *, size_t bytes))                                                            \
    F(cuMemFree, _v2, (cu_ptr))                                                                             \
    F(cuMemHostAlloc, , (void **, size_t bytes, unsigned flags))                                            \
    F(cuMemFreeHost, , (void *))                                                                            \
    F(cuMemcpyHtoDAsync, _v2, (cu_ptr to, const void *from, size_t bytes, cu_stream))                       \
    F(cuMemcpyDtoHAsync, _v2, (void *to, cu_ptr from, size_t bytes, cu_stream))                             \
    F(cuMemcpyDtoDAsync, _v2, (cu_ptr to, cu_ptr from, size_t bytes, cu_stream))                            \
    F(cuMemsetD8Async, , (cu_ptr to, unsigned char, size_t count, cu_stream))                               \
    F(cuStreamCreate, , (cu_stream *, unsigned flags))                                                      \
    F(cuStreamDestroy, _v2, (cu_stream))                                                                    \
    F(cuStreamSynchronize, , (cu_stream))                                                                   \
    F(cuStreamQuery, , (cu_stream))                                                                         \
    F(cuStreamWaitEvent, , (cu_stream, cu_event, unsigned flags))                                           \
    F(cuStreamBeginCapture, _v2, (cu_stream, int mode))                                                     \
    F(cuStreamEndCapture, , (cu_stream, cu_graph *))                                                        \
    F(cuEventCreate, , (cu_event *, unsigned flags))                                                        \
    F(cuEventDestroy, _v2, (cu_event))                                                                      \
    F(cuEventRecord, , (cu_event, cu_stream))                                                               \
    F(cuEventRecordWithFlags, , (cu_event, cu_stream, unsigned flags))                                      \
    F(cuEventElapsedTime, , (float *milliseconds, cu_event first, cu_event last))                           \
    F(cuGraphInstantiateWithFlags, , (cu_exec *, cu_graph, unsigned long long flags))                       \
    F(cuGraphLaunch, , (cu_exec, cu_stream))                                                                \
    F(cuGraphUpload, , (cu_exec, cu_stream))                                                                \
    F(cuGraphExecDestroy, , (cu_exec))                                                                      \
    F(cuGraphDestroy, , (cu_graph))                                                                         \
    F(cuModuleLoadData, , (cu_module *, const void *image))                                                 \
    F(cuModuleUnload, , (cu_module))                                                                        \
    F(cuModuleGetFunction, , (cu_function *, cu_module, const char *name))                                  \
    F(cuFuncGetAttribute, , (int *value, enum cu_function_attribute, cu_function))                          \
    F(cuFuncSetAttribute, , (cu_function, enum cu_function_attribute, int value))                           \
    F(cuLaunchKernelEx, , (const struct cu_launch *, cu_function, void **arguments, void **extra))          \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, , (int *blocks, cu_function, int threads, size_t shared)) \
    F(cuOccupancyMaxActiveClusters, , (int *clusters, cu_function, const struct cu_launch *))

struct cuda_driver {
#define CUDA_MEMBER(name, suffix, arguments) cu_result (*name) arguments;
    CUDA_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* ---- cuBLASLt ---------------------------------------------------------------------------- */

typedef struct lt_handle_st     *lt_handle;
typedef struct lt_desc_st       *lt_desc;           /* of a product */
typedef struct lt_layout_st     *lt_layout;         /* of a matrix */
typedef struct lt_preference_st *lt_preference;

enum { LT_32F = 68, LT_32F_TF32 = 77, LT_32F_PEDANTIC = 69 };           /* compute types */
enum { LT_FLOAT = 0, LT_HALF = 2, LT_BFLOAT16 = 14 };                   /* data types */
enum { LT_DESC_TRANSPOSE_A = 3, LT_DESC_TRANSPOSE_B = 4, LT_DESC_EPILOGUE = 7, LT_DESC_BIAS = 8,
       LT_DESC_BIAS_TYPE = 26 };
enum { LT_LAYOUT_ORDER = 1, LT_LAYOUT_BATCH = 5, LT_LAYOUT_STRIDE = 6 };
enum { LT_BY_COLUMNS = 0, LT_BY_ROWS = 1 };
enum { LT_EPILOGUE_NONE = 1, LT_EPILOGUE_BIAS = 4 };
enum { LT_PREFERENCE_WORKSPACE = 1, LT_PREFERENCE_ALIGN_A = 5, LT_PREFERENCE_ALIGN_B = 6,
       LT_PREFERENCE_ALIGN_C = 7, LT_PREFERENCE_ALIGN_D = 8 };

struct lt_algorithm { uint64_t data[8]; };
struct lt_found { struct lt_algorithm algorithm; size_t workspace; int state; float waves; int reserved[4]; };

#define CUBLASLT_FUNCTIONS(F)                                                                               \
    F(cublasLtCreate, , (lt_handle *))                                                                      \
    F(cublasLtDestroy, , (lt_handle))                                                                       \
    F(cublasLtMatmulDescCreate, , (lt_desc *, int compute, int scale_type))                                 \
    F(cublasLtMatmulDescDestroy, , (lt_desc))                                                               \
    F(cublasLtMatmulDescSetAttribute, , (lt_desc, int attribute, const void *value, size_t bytes))          \
    F(cublasLtMatrixLayoutCreate, , (lt_layout *, int type, uint64_t rows, uint64_t columns, int64_t ld))   \
    F(cublasLtMatrixLayoutDestroy, , (lt_layout))                                                           \
    F(cublasLtMatrixLayoutSetAttribute, , (lt_layout, int attribute, const void *value, size_t bytes))      \
    F(cublasLtMatmulPreferenceCreate, , (lt_preference *))                                                  \
    F(cublasLtMatmulPreferenceDestroy, , (lt_preference))                                                   \
    F(cublasLtMatmulPreferenceSetAttribute, , (lt_preference, int attribute, const void *value, size_t bytes)) \
    F(cublasLtMatmulAlgoGetHeuristic, , (lt_handle, lt_desc, lt_layout a, lt_layout b, lt_layout c,         \
                                         lt_layout d, lt_preference, int wanted, struct lt_found *, int *found)) \
    F(cublasLtMatmul, , (lt_handle, lt_desc, const void *alpha, const void *a, lt_layout, const void *b,    \
                         lt_layout, const void *beta, const void *c, lt_layout, void *d, lt_layout,         \
                         const struct lt_algorithm *, void *workspace, size_t workspace_bytes, cu_stream))

struct cublaslt {
#define CUBLASLT_MEMBER(name, suffix, arguments) int (*name) arguments;
    CUBLASLT_FUNCTIONS(CUBLASLT_MEMBER)
#undef CUBLASLT_MEMBER
    size_t (*cublasLtGetVersion)(void);
    const char *(*cublasLtGetStatusString)(int status);
};

/* ---- NCCL -------------------------------------------------------------------------------- */

typedef struct nccl_comm_st *nccl_comm;             /* one rank in one group */

struct nccl_id { char bytes[128]; };                /* id of a group that is about to connect; passed by value */

/* Calls on a non-blocking communicator that returned NCCL_IN_PROGRESS are finished when its error is NCCL_OK. */
enum nccl_error { NCCL_OK = 0, NCCL_SYSTEM_ERROR = 2, NCCL_INVALID_ARGUMENT = 4, NCCL_INVALID_USAGE = 5,
                  NCCL_REMOTE_ERROR = 6, NCCL_IN_PROGRESS = 7 };
enum { NCCL_FLOAT32 = 7, NCCL_FLOAT64 = 8 };
enum { NCCL_SUM = 0 };

/* The first version of this struct, from NCCL 2.14, which later versions accept. */
struct nccl_config { size_t bytes; unsigned magic, version; int blocking; };
enum { NCCL_CONFIG_VERSION = 21400 };
#define NCCL_CONFIG_MAGIC 0xcafebeefu

#define NCCL_FUNCTIONS(F)                                                                                   \
    F(ncclGetVersion, , (int *version))             /* 22703: 2.27.3 */                                      \
    F(ncclGetUniqueId, , (struct nccl_id *))                                                                \
    F(ncclCommInitRankConfig, , (nccl_comm *, int ranks, struct nccl_id, int rank, struct nccl_config *))   \
    F(ncclCommGetAsyncError, , (nccl_comm, int *error))                                                     \
    F(ncclCommAbort, , (nccl_comm))                                                                         \
    F(ncclCommFinalize, , (nccl_comm))                                                                      \
    F(ncclCommDestroy, , (nccl_comm))                                                                       \
    F(ncclAllReduce, , (const void *from, void *to, size_t count, int type, int op, nccl_comm, cu_stream))  \
    F(ncclAllGather, , (const void *from, void *to, size_t count, int type, nccl_comm, cu_stream))          \
    F(ncclSend, , (const void *from, size_t count, int type, int peer, nccl_comm, cu_stream))               \
    F(ncclRecv, , (void *to, size_t count, int type, int peer, nccl_comm, cu_stream))

struct nccl {
#define NCCL_MEMBER(name, suffix, arguments) int (*name) arguments;
    NCCL_FUNCTIONS(NCCL_MEMBER)
#undef NCCL_MEMBER
    const char *(*ncclGetErrorString)(int error);
    const char *(*ncclGetLastError)(nccl_comm);
};

/* ---- loaded ------------------------------------------------------------------------------ */

/* The functions, valid after cuda_load returned UNROLL_OK. Libraries are loaded once in a process and stay loaded.
 * UNROLL_CUDA_DRIVER, UNROLL_CUBLASLT and UNROLL_NCCL in the environment name files to use instead. */
extern struct cuda_driver cu;
extern struct cublaslt lt;
extern struct nccl nccl;

unroll_status cuda_load(void);                  /* loads and initializes the driver; reports what is missing */
unroll_status cublaslt_load(void);
unroll_status nccl_load(void);                  /* for several GPUs only */
int  cuda_driver_version(void);                 /* 12040: CUDA 12.4; after cuda_load */
const char *cublaslt_path(void);                /* after cublaslt_load */
int  nccl_version(void);                        /* 22703: 2.27.3; after nccl_load */

/* Converts a result to a status and a message: "CUDA failed while DOING: ..". */
unroll_status cuda_check(cu_result, const char *doing);
unroll_status cublaslt_check(int result, const char *doing);

#endif
