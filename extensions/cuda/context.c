/* Opens GPUs (context.h). One lock guards the list of open contexts and their tables of kernels. */
#include "extensions/cuda/context.h"
#include "base/memory.h"
#include "extensions/cuda/image.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_kernel {
    struct cuda_kernel *next;
    cu_function function;
    char name[CUDA_KERNEL_NAME];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_context *open_contexts;

enum { OLDEST_CAPABILITY = 80, MODULES_MAX = 16 };

/* ---- kernel images ------------------------------------------------------------------------- */

/* Returns the file named by UNROLL_CUDA_KERNELS in the environment, which replaces the built-in images, or NULL. */
static const char *named_image(void)
{
    const char *path = getenv("UNROLL_CUDA_KERNELS");
    return path && *path ? path : NULL;
}

static unroll_status read_image(const char *path, char **image)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    *image = size >= 0 ? allocate_zeroed((size_t)size + 1, 1) : NULL;
    bool good = *image && fseek(file, 0, SEEK_SET) == 0 && fread(*image, 1, (size_t)size, file) == (size_t)size;
    if (file)
        fclose(file);
    if (good)
        return UNROLL_OK;
    release(*image);
    *image = NULL;
    return fail(UNROLL_DATA,
                "the kernels that UNROLL_CUDA_KERNELS names ('%s') cannot be read; fix: unset UNROLL_CUDA_KERNELS",
                path);
}

static unroll_status check_loading(const struct cuda_context *c, cu_result result)
{
    if (result == CU_NO_BINARY_FOR_GPU || result == CU_UNSUPPORTED_PTX || result == CU_INVALID_IMAGE ||
        result == CU_INVALID_PTX)
        return fail(UNROLL_UNSUPPORTED,
                    "the CUDA driver can't use the kernels of this build on %s (sm_%d): they are "
                    "of CUDA %d.%d, the driver serves %d.%d; fix: use a newer driver, or build with an older nvcc",
                    c->name, c->capability, cuda_images_toolkit / 1000, cuda_images_toolkit % 1000 / 10,
                    cuda_driver_version() / 1000, cuda_driver_version() % 1000 / 10);
    return cuda_check(result, "loading the kernels");
}

static unroll_status load_module(struct cuda_context *c, const void *image)
{
    TRY(check_loading(c, cu.cuModuleLoadData(&c->module[c->modules], image)));
    c->modules++;
    return UNROLL_OK;
}

static unroll_status load_named(struct cuda_context *c, const char *path)
{
    char *image;
    TRY(read_image(path, &image));
    unroll_status status = load_module(c, image);
    release(image);
    return status;
}

static unroll_status check_images(void)
{
    if (named_image() || cuda_images[0].data)
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED,
                "this build has no kernels for GPUs; fix: install the CUDA toolkit (nvcc) and build "
                "again with 'make CUDA=1'");
}

static unroll_status load_modules(struct cuda_context *c)
{
    TRY(check_images());
    TRY(ALLOCATE(c->module, MODULES_MAX, "for the kernels' table"));
    if (named_image())
        return load_named(c, named_image());
    for (int i = 0; cuda_images[i].data && i < MODULES_MAX; i++)
        if (c->capability >= cuda_images[i].oldest)
            TRY(load_module(c, cuda_images[i].data));
    return UNROLL_OK;
}

/* Adds a kernel to the table. The caller holds the lock. Returns NULL if there is no memory. */
static struct cuda_kernel *remember(struct cuda_context *c, const char *name, cu_function function)
{
    struct cuda_kernel *k = allocate_zeroed(1, sizeof *k);
    if (!k)
        return NULL;
    snprintf(k->name, sizeof k->name, "%s", name);
    k->function = function;
    k->next = c->kernels;
    c->kernels = k;
    return k;
}

static struct cuda_kernel *known_kernel(struct cuda_context *c, const char *name)
{
    struct cuda_kernel *k = c->kernels;
    while (k && strcmp(k->name, name)) k = k->next;
    return k;
}

bool cuda_has_kernel(struct cuda_context *c, const char *name)
{
    pthread_mutex_lock(&lock);
    const bool has = known_kernel(c, name) != NULL;
    pthread_mutex_unlock(&lock);
    return has;
}

unroll_status cuda_add_kernel(struct cuda_context *c, const void *image, const char *kernel, const char *name)
{
    cu_module module;
    cu_function function;
    TRY(check_loading(c, cu.cuModuleLoadData(&module, image)));
    unroll_status status = cuda_check(cu.cuModuleGetFunction(&function, module, kernel), "looking for a kernel");
    pthread_mutex_lock(&lock);
    if (status == UNROLL_OK && !known_kernel(c, name) && !remember(c, name, function))
        status = fail(UNROLL_RESOURCE, "no memory for a kernel's name");
    pthread_mutex_unlock(&lock);
    if (status != UNROLL_OK)
        (void)cu.cuModuleUnload(module);
    return status;
}

unroll_status cuda_find_kernel(struct cuda_context *c, const char *name, cu_function *function)
{
    pthread_mutex_lock(&lock);
    struct cuda_kernel *k = known_kernel(c, name);
    for (int i = 0; !k && i < c->modules; i++) {
        cu_function found;
        if (cu.cuModuleGetFunction(&found, c->module[i], name) == 0)
            k = remember(c, name, found);
    }
    pthread_mutex_unlock(&lock);
    if (!k)
        return fail(UNROLL_UNSUPPORTED,
                    "the kernels for GPUs have no '%s'; fix: build unroll again with nvcc (make CUDA=1)", name);
    *function = k->function;
    return UNROLL_OK;
}

/* ---- a GPU -------------------------------------------------------------------------------- */

static unroll_status attribute(const struct cuda_context *c, enum cu_device_attribute which, int *value)
{
    return cuda_check(cu.cuDeviceGetAttribute(value, which, c->device), "asking for what the GPU has");
}

/* Reads the GPU's name, memory and capabilities; refuses a GPU that is too old. */
static unroll_status learn(struct cuda_context *c)
{
    int major, minor, l2, clusters, cooperative;
    TRY(cuda_check(cu.cuDeviceGet(&c->device, c->gpu.index), "looking for a GPU"));
    TRY(cuda_check(cu.cuDeviceGetName(c->name, sizeof c->name, c->device), "asking for the GPU's name"));
    TRY(cuda_check(cu.cuDeviceTotalMem(&c->memory, c->device), "asking for the GPU's memory"));
    TRY(attribute(c, CU_CAPABILITY_MAJOR, &major));
    TRY(attribute(c, CU_CAPABILITY_MINOR, &minor));
    TRY(attribute(c, CU_MULTIPROCESSORS, &c->processors));
    TRY(attribute(c, CU_SHARED_PER_BLOCK_OPTIN, &c->shared_per_block));
#ifdef GPU_CLOCKS
    c->shared_per_block -= 1024; /* for the marks of gpu.cuh */
#endif
    TRY(attribute(c, CU_REGISTERS_PER_MULTIPROCESSOR, &c->registers));
    TRY(attribute(c, CU_L2_BYTES, &l2));
    TRY(attribute(c, CU_CLUSTERS, &clusters));
    TRY(attribute(c, CU_COOPERATIVE, &cooperative));
    c->capability = 10 * major + minor;
    snprintf(c->gpu.isa, sizeof c->gpu.isa, "sm_%d", c->capability);
    c->l2 = (size_t)l2;
    c->clusters = clusters != 0;
    c->cooperative = cooperative != 0;
    if (c->capability < OLDEST_CAPABILITY)
        return fail(UNROLL_UNSUPPORTED,
                    "GPU %d, %s, is of sm_%d; the kernels are for sm_80 and newer; fix: use device cpu or opencl",
                    c->gpu.index, c->name, c->capability);
    return UNROLL_OK;
}

unroll_status cuda_enter(struct cuda_context *c)
{
    return cuda_check(cu.cuCtxPushCurrent(c->context), "choosing the GPU");
}

void cuda_leave(void)
{
    cu_context before;
    (void)cu.cuCtxPopCurrent(&before);
}

static unroll_status fill_context(struct cuda_context *c)
{
    TRY(learn(c));
    TRY(check_images());
    TRY(cublaslt_load());
    TRY(cuda_check(cu.cuDevicePrimaryCtxRetain(&c->context, c->device), "opening the GPU"));
    TRY(cuda_enter(c));
    unroll_status status = load_modules(c);
    if (status == UNROLL_OK)
        status = cublaslt_check(lt.cublasLtCreate(&c->lt), "starting");
    cuda_leave();
    return status;
}

/* Frees a context that could not be opened completely. */
static void drop_context(struct cuda_context *c)
{
    if (c->context && cuda_enter(c) == UNROLL_OK) {
        for (int i = 0; i < c->modules; i++) (void)cu.cuModuleUnload(c->module[i]);
        cuda_leave();
    }
    if (c->context)
        (void)cu.cuDevicePrimaryCtxRelease(c->device);
    release(c->module);
    release(c);
}

static unroll_status open_new(int index, struct cuda_context **context)
{
    struct cuda_context *c;
    TRY(ALLOCATE(c, 1, "for a GPU's context"));
    c->gpu = (struct gpu){.driver = &gpu_driver_cuda, .index = index};
    unroll_status status = fill_context(c);
    if (status != UNROLL_OK) {
        drop_context(c);
        return status;
    }
    c->next = open_contexts;
    *context = open_contexts = c;
    return UNROLL_OK;
}

unroll_status cuda_context_open(const char *which, struct cuda_context **context)
{
    int index;
    TRY(cuda_find_gpu(which, &index));
    pthread_mutex_lock(&lock);
    struct cuda_context *c = open_contexts;
    while (c && c->gpu.index != index) c = c->next;
    unroll_status status = UNROLL_OK;
    if (c)
        *context = c;
    else
        status = open_new(index, context);
    pthread_mutex_unlock(&lock);
    return status;
}

/* The values that an H200 SXM reports. 7 clusters of 16 instead of 8, because some GPCs have fewer than 16
 * multiprocessors. */
void cuda_context_known(struct cuda_context *c)
{
    *c = (struct cuda_context){.gpu = {.driver = &gpu_driver_cuda, .isa = "sm_90"},
                               .name = "an H200 that is not here",
                               .capability = 90,
                               .processors = 132,
                               .shared_per_block = 227 << 10,
                               .registers = 65536,
                               .memory = (size_t)143771 << 20,
                               .l2 = 60 << 20,
                               .clusters = true,
                               .cooperative = true,
                               .clusters_known = true,
                               .clusters_at_once = {132, 66, 32, 16, 7}};
}

unroll_status cuda_describe(char *text, size_t size)
{
    struct cuda_context c = {0};
    int count;
    size_t used = 0;
    TRY(cuda_find_gpu(NULL, &count));
    TRY(cuda_check(cu.cuDeviceGetCount(&count), "counting GPUs"));
    TRY(check_images());
    TRY(cublaslt_load());
    for (c.gpu.index = 0; c.gpu.index < count; c.gpu.index++) {
        TRY(learn(&c));
        used += (size_t)snprintf(text + used, used < size ? size - used : 0, "%s%s (sm_%d, %d processors, %.1f GB)",
                                 c.gpu.index ? ", " : "", c.name, c.capability, c.processors, (double)c.memory / 1e9);
        used = used < size ? used : size;
    }
    size_t lt_version = lt.cublasLtGetVersion();
    used += (size_t)snprintf(text + used, size - used, ", driver for CUDA %d.%d, cuBLASLt %zu",
                             cuda_driver_version() / 1000, cuda_driver_version() % 1000 / 10, lt_version);
    used = used < size ? used : size;
    if (nccl_load() == UNROLL_OK)
        snprintf(text + used, size - used, ", NCCL %d.%d.%d", nccl_version() / 10000, nccl_version() / 100 % 100,
                 nccl_version() % 100);
    else
        snprintf(text + used, size - used, ", no NCCL (for several GPUs)");
    return UNROLL_OK;
}

/* ---- memory ------------------------------------------------------------------------------- */

unroll_status cuda_take(struct cuda_context *c, uint64_t bytes, const char *what, const char *fix, cu_ptr *memory)
{
    size_t available = 0, total = 0;
    *memory = 0;
    if (!bytes)
        return UNROLL_OK;
    cu_result result = cu.cuMemAlloc(memory, bytes);
    if (result == CU_OUT_OF_MEMORY) {
        (void)cu.cuMemGetInfo(&available, &total);
        return fail(UNROLL_RESOURCE, "GPU %d has no memory for %.1f MB of %s: %.1f of its %.1f MB are free; fix: %s",
                    c->gpu.index, (double)bytes / 1e6, what, (double)available / 1e6, (double)total / 1e6, fix);
    }
    TRY(cuda_check(result, "taking memory"));
    unroll_status status = cuda_check(cu.cuMemsetD8Async(*memory, 0, bytes, NULL), "clearing memory");
    if (status == UNROLL_OK)
        status = cuda_check(cu.cuStreamSynchronize(NULL), "clearing memory");
    if (status != UNROLL_OK) {
        (void)cu.cuMemFree(*memory);
        *memory = 0;
    }
    return status;
}
