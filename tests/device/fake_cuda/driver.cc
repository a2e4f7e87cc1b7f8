/* The fake CUDA driver: one or several H200, simulated with the host's memory and the kernels of this library. It is
 * stricter than a real driver: undefined behavior ends the process with a message. Environment variables:
 * FAKE_CUDA_SEED (order of everything that is unordered), _SMS, _MEMORY (bytes), _DEVICES, _CAPABILITY (90), _VERSION
 * (13000), _FAIL=NAME:N:CODE, _DROP=N (the Nth packet is lost), _ERRORS=return, _LEAKS=allow. This file has devices,
 * contexts, modules and launches; streams.cc has the work, memory_of_device.cc the memory. */
#include "fake_driver.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

enum { CU_NOT_INITIALIZED = 3, CU_INVALID_CONTEXT = 201, CU_COOPERATIVE_TOO_LARGE = 720 };

/* A function of driver.h that the fake does not implement is a build error. */
#define ENTRY(name, suffix, arguments) { #name, #name #suffix, (const void *)name##suffix, 0 },
static struct {
    const char *name, *symbol;
    const void *function;
    long calls;
} functions[] = {CUDA_FUNCTIONS(ENTRY)};

static std::recursive_mutex lock;
static bool initialized;
static cu_result lost;
static std::map<std::string, long> &leaks = *new std::map<std::string, long>; /* never destroyed: needed at exit */
static thread_local std::vector<cu_context> current_contexts;

struct cu_context_st {
    cu_device device;
    int retained;
};
struct cu_module_st {
    bool loaded;
};
struct gpu_kernel_handle {
    const struct fake_kernel *kernel;
    int dynamic_shared;
    bool large_clusters;
};
static struct cu_context_st contexts[16];
static std::map<std::string, gpu_kernel_handle> kernel_functions;

/* ---- calls ------------------------------------------------------------------------------- */

long long fake_setting(const char *name, long long otherwise)
{
    std::string variable = std::string("FAKE_CUDA_") + name;
    const char *value = getenv(variable.c_str());
    return value && *value ? atoll(value) : otherwise;
}

static bool set_to(const char *variable, const char *word)
{
    const char *value = getenv(variable);
    return value && strcmp(value, word) == 0;
}

cu_result fake_misuse(cu_result code, const char *function, const char *format, ...)
{
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "fake_cuda: %s: %s\n", function, text);
    if (!set_to("FAKE_CUDA_ERRORS", "return"))
        abort();
    if (code == CU_LAUNCH_FAILED || code == CU_ILLEGAL_ADDRESS)
        lost = code;
    return code;
}

cu_result fake_lose(cu_result code) { return lost = code; }

/* Parses NAME:N:CODE. */
static cu_result injected(const char *name, long calls)
{
    const char *fail = getenv("FAKE_CUDA_FAIL"), *colon = fail ? strchr(fail, ':') : NULL;
    if (!colon || strlen(name) != (size_t)(colon - fail) || strncmp(name, fail, (size_t)(colon - fail)))
        return 0;
    char *end;
    long n = strtol(colon + 1, &end, 10);
    return n == calls ? atoi(end + 1) : 0;
}

fake_call::fake_call(const char *function, bool needs_context) : lock(::lock), refused(0)
{
    for (auto &f : functions)
        if (!strcmp(f.symbol, function))
            refused = injected(f.name, ++f.calls);
    if (refused)
        return;
    if (!initialized && strcmp(function, "cuInit") && strncmp(function, "cuGetError", 10))
        refused = fake_misuse(CU_NOT_INITIALIZED, function, "called before cuInit");
    else if (needs_context && current_contexts.empty())
        refused = fake_misuse(CU_INVALID_CONTEXT, function, "no context is current in this thread");
    else if (lost && strncmp(function, "cuGetError", 10))
        refused = lost;
}

/* Returns how often a function of the driver was called, for tests. */
EXPORT long fake_cuda_calls(const char *name)
{
    for (auto &f : functions)
        if (!strcmp(f.name, name))
            return f.calls;
    return -1;
}

void fake_count(const char *what, int by) { leaks[what] += by; }
long fake_counted(const char *what) { return leaks[what]; }

__attribute__((destructor)) static void report_leaks(void)
{
    bool leaked = false;
    fake_memory_report();
    if (set_to("FAKE_CUDA_LEAKS", "allow"))
        return;
    for (auto &l : leaks)
        if (l.second) {
            fprintf(stderr, "fake_cuda: the process ends with %ld %s\n", l.second, l.first.c_str());
            leaked = true;
        }
    fflush(stdout);
    if (leaked)
        _exit(87);
}

/* ---- the driver, devices ------------------------------------------------------------------ */

/* With FAKE_CUDA_MIG=N the GPU is divided into N instances of a seventh each. A process can use one: the one whose name
 * ends like CUDA_VISIBLE_DEVICES, or the first. */
static bool is_divided(void) { return fake_setting("MIG", 0) > 0; }
static int devices(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const bool hidden = is_divided() && visible && strncmp(visible, "MIG-face0000-0000-0000-0000-00000000000", 39) != 0;
    return hidden ? 0 : is_divided() ? 1 : (int)fake_setting("DEVICES", 1);
}
static int instance(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return is_divided() && visible ? visible[strlen(visible) - 1] - '0' : 0;
}
static int processors(void) { return (int)fake_setting("SMS", is_divided() ? 16 : 132); }
static bool has_clusters(void) { return fake_setting("CAPABILITY", 90) >= 90; }

cu_result cuInit(unsigned flags)
{
    CALL_WITHOUT_CONTEXT();
    if (flags)
        return fake_misuse(CU_INVALID_VALUE, __func__, "flags are 0");
    initialized = true;
    fake_seed((uint64_t)fake_setting("SEED", 1));
    fake_disturb(FAKE_DROP, (unsigned)fake_setting("DROP", 0), 0);
    return devices() ? 0 : CU_NO_DEVICE;
}

cu_result cuDriverGetVersion(int *version)
{
    CALL_WITHOUT_CONTEXT();
    *version = (int)fake_setting("VERSION", 13000);
    return 0;
}

cu_result cuGetErrorName(cu_result result, const char **name)
{
    CALL_WITHOUT_CONTEXT();
    *name = result == CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : result ? "CUDA_ERROR_FAKE" : "CUDA_SUCCESS";
    return 0;
}

cu_result cuGetErrorString(cu_result result, const char **text)
{
    CALL_WITHOUT_CONTEXT();
    *text = result == CU_OUT_OF_MEMORY ? "out of memory" : result ? "an error of the fake driver" : "no error";
    return 0;
}

cu_result cuDeviceGetCount(int *count)
{
    CALL_WITHOUT_CONTEXT();
    *count = devices();
    return 0;
}

static cu_result check_device(cu_device device) { return device >= 0 && device < devices() ? 0 : CU_INVALID_DEVICE; }

cu_result cuDeviceGet(cu_device *device, int index)
{
    CALL_WITHOUT_CONTEXT();
    *device = index;
    return check_device(index);
}

cu_result cuDeviceGetName(char *name, int size, cu_device device)
{
    CALL_WITHOUT_CONTEXT();
    snprintf(name, (size_t)size, is_divided() ? "Fake H200 MIG 1g.18gb" : "Fake H200");
    return check_device(device);
}

/* Returns face0000-0000-0000-0000-00000000000N. */
cu_result cuDeviceGetUuid_v2(struct cu_uuid *uuid, cu_device device)
{
    CALL_WITHOUT_CONTEXT();
    *uuid = cu_uuid{{0xfa, 0xce}};
    uuid->bytes[15] = (unsigned char)(device + instance());
    return check_device(device);
}

/* Attributes of an H200 SXM (compute capability 9.0). */
static int attribute_of(enum cu_device_attribute which)
{
    switch (which) {
    case CU_WARP_SIZE: return 32;
    case CU_MULTIPROCESSORS: return processors();
    case CU_L2_BYTES: return 60 << 20;
    case CU_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_CAPABILITY_MAJOR: return (int)fake_setting("CAPABILITY", 90) / 10;
    case CU_CAPABILITY_MINOR: return (int)fake_setting("CAPABILITY", 90) % 10;
    case CU_SHARED_PER_MULTIPROCESSOR: return 228 << 10;
    case CU_REGISTERS_PER_MULTIPROCESSOR: return 65536;
    case CU_COOPERATIVE: return 1;
    case CU_SHARED_PER_BLOCK_OPTIN: return 227 << 10;
    case CU_CLUSTERS: return has_clusters();
    }
    return -1;
}

cu_result cuDeviceGetAttribute(int *value, enum cu_device_attribute which, cu_device device)
{
    CALL_WITHOUT_CONTEXT();
    *value = attribute_of(which);
    if (*value < 0)
        return fake_misuse(CU_INVALID_VALUE, __func__, "attribute %d is not known here", which);
    return check_device(device);
}

cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    CALL_WITHOUT_CONTEXT();
    *bytes = (size_t)fake_setting("MEMORY", (is_divided() ? 18000LL : 143771LL) << 20);
    return check_device(device);
}

/* ---- contexts ----------------------------------------------------------------------------- */

cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    CALL_WITHOUT_CONTEXT();
    if (check_device(device) || device >= 16)
        return CU_INVALID_DEVICE;
    contexts[device].device = device;
    contexts[device].retained++;
    *context = &contexts[device];
    return 0;
}

cu_result cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    CALL_WITHOUT_CONTEXT();
    if (check_device(device) || !contexts[device].retained)
        return fake_misuse(CU_INVALID_CONTEXT, __func__, "released more often than retained");
    contexts[device].retained--;
    return 0;
}

cu_result cuCtxPushCurrent_v2(cu_context context)
{
    CALL_WITHOUT_CONTEXT();
    if (!context || !context->retained)
        return fake_misuse(CU_INVALID_CONTEXT, __func__, "the context is not open");
    current_contexts.push_back(context);
    return 0;
}

cu_result cuCtxPopCurrent_v2(cu_context *context)
{
    CALL();
    *context = current_contexts.back();
    current_contexts.pop_back();
    return 0;
}

int fake_current_device(void) { return current_contexts.empty() ? -1 : current_contexts.back()->device; }

/* ---- modules ------------------------------------------------------------------------------ */

/* True for a cubin, PTX, or a text that begins with "fake kernels"; all stand for the kernels of this library. */
static bool is_image(const void *image)
{
    return memcmp(image, "\177ELF", 4) == 0 || memcmp(image, "//", 2) == 0 || memcmp(image, ".ver", 4) == 0 ||
           strncmp((const char *)image, "fake kernels", 12) == 0;
}

/* A fatbin with code for this GPU, too, in the layout of nvcc 13: a header and pieces with headers of their own. */
struct fatbin {
    uint32_t mark;
    uint16_t version, head;
    uint64_t bytes;
};
struct fatbin_piece {
    uint16_t kind, version;
    uint32_t head;
    uint64_t bytes;
    uint32_t unknown[3], capability;
};
enum { FATBIN_MARK = 0xba55ed50, FATBIN_PTX = 1, FATBIN_CUBIN = 2 };

static bool serves(const struct fatbin_piece *p)
{
    const uint32_t ours = (uint32_t)fake_setting("CAPABILITY", 90);
    return p->capability <= ours &&
           (p->kind == FATBIN_PTX || (p->kind == FATBIN_CUBIN && p->capability / 10 == ours / 10));
}

static cu_result check_image(const void *image)
{
    const struct fatbin *f = (const struct fatbin *)image;
    if (memcmp(image, "fake", 4) == 0 || f->mark != FATBIN_MARK)
        return is_image(image) ? 0 : CU_INVALID_IMAGE;
    const char *at = (const char *)image + f->head, *end = at + f->bytes;
    while (at < end && !serves((const struct fatbin_piece *)at))
        at += ((const struct fatbin_piece *)at)->head + ((const struct fatbin_piece *)at)->bytes;
    return at < end ? 0 : CU_NO_BINARY_FOR_GPU;
}

cu_result cuModuleLoadData(cu_module *module, const void *image)
{
    CALL();
    cu_result result = check_image(image);
    if (result)
        return result;
    *module = new cu_module_st{true};
    return 0;
}

cu_result cuModuleUnload(cu_module module)
{
    CALL();
    delete module;
    return 0;
}

cu_result cuModuleGetFunction(cu_function *function, cu_module module, const char *name)
{
    CALL();
    const struct fake_kernel *k = fake_kernel_find(name);
    if (!module || !k)
        return CU_NOT_FOUND;
    auto &f = kernel_functions[name];
    f.kernel = k;
    *function = &f;
    return 0;
}

/* Returns the most registers that a compiler may use within the launch bounds. */
static int registers_of(const struct fake_kernel *k)
{
    unsigned max = 65536 / (k->threads * (k->blocks ? k->blocks : 1)) & ~7u;
    return max > 255 ? 255 : (int)max;
}

cu_result cuFuncGetAttribute(int *value, enum cu_function_attribute which, cu_function f)
{
    CALL();
    switch (which) {
    case CU_MAX_THREADS_PER_BLOCK: *value = (int)f->kernel->threads; return 0;
    case CU_STATIC_SHARED: *value = 0; return 0;
    case CU_LOCAL_BYTES: *value = 0; return 0;
    case CU_REGISTERS: *value = registers_of(f->kernel); return 0;
    case CU_MAX_DYNAMIC_SHARED: *value = f->dynamic_shared ? f->dynamic_shared : 48 << 10; return 0;
    case CU_NON_PORTABLE_CLUSTER_SIZE: *value = f->large_clusters; return 0;
    }
    return fake_misuse(CU_INVALID_VALUE, __func__, "attribute %d is not known here", which);
}

cu_result cuFuncSetAttribute(cu_function f, enum cu_function_attribute which, int value)
{
    CALL();
    if (which == CU_MAX_DYNAMIC_SHARED && value >= 0 && value <= 227 << 10)
        f->dynamic_shared = value;
    else if (which == CU_NON_PORTABLE_CLUSTER_SIZE && (value == 0 || value == 1))
        f->large_clusters = value;
    else
        return fake_misuse(CU_INVALID_VALUE, __func__, "attribute %d cannot become %d", which, value);
    return 0;
}

/* ---- what fits ---------------------------------------------------------------------------- */

static int blocks_per_processor(const gpu_kernel_handle *f, int threads, size_t shared)
{
    int warps = (threads + 31) / 32, by_threads = 64 / warps, by_shared = (int)((228 << 10) / (shared + 1024));
    int by_registers = 65536 / (registers_of(f->kernel) * 32 * warps), max = by_threads < 32 ? by_threads : 32;
    if (by_shared < max)
        max = by_shared;
    return by_registers < max ? by_registers : max;
}

cu_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, cu_function f, int threads, size_t shared)
{
    CALL();
    *blocks = blocks_per_processor(f, threads, shared);
    return 0;
}

/* Attributes of a launch. */
struct wishes {
    struct fake_index cluster;
    bool cooperative, clustered;
};

static cu_result read_attributes(const struct cu_launch *l, struct wishes *w)
{
    *w = {{1, 1, 1}, false, false};
    for (unsigned i = 0; i < l->attributes; i++) {
        const struct cu_launch_attribute *a = &l->attribute[i];
        if (a->id == CU_LAUNCH_COOPERATIVE)
            w->cooperative = a->value.cooperative != 0;
        else if (a->id == CU_LAUNCH_CLUSTER)
            w->cluster = {a->value.cluster.x, a->value.cluster.y, a->value.cluster.z}, w->clustered = true;
        else
            return fake_misuse(CU_INVALID_VALUE, "cuLaunchKernelEx", "launch attribute %d is not known here", a->id);
    }
    return 0;
}

/* sm_120 supports only the sizes that all GPUs support. */
static unsigned largest_cluster(const gpu_kernel_handle *f)
{
    return f->large_clusters && fake_setting("CAPABILITY", 90) < 110 ? 16 : 8;
}

/* A cluster runs in one GPC. 132 multiprocessors are two GPCs of 18 and six of 16. */
static int clusters_at_once(const gpu_kernel_handle *f, const struct cu_launch *l, unsigned size)
{
    int threads = (int)(l->block_x * l->block_y * l->block_z), each = blocks_per_processor(f, threads, l->shared_bytes);
    int left = processors(), clusters = 0;
    for (int gpc = 0; left > 0; gpc++) {
        int here = processors() >= 132 && gpc < 2 ? 18 : 16;
        here = here < left ? here : left;
        clusters += here * each / (int)size;
        left -= here;
    }
    return clusters;
}

cu_result cuOccupancyMaxActiveClusters(int *clusters, cu_function f, const struct cu_launch *l)
{
    CALL();
    struct wishes w;
    if (read_attributes(l, &w))
        return CU_INVALID_VALUE;
    unsigned size = w.cluster.x * w.cluster.y * w.cluster.z;
    *clusters = 0;
    if (size > largest_cluster(f))
        return CU_INVALID_CLUSTER_SIZE;
    if (!has_clusters() || !size || (int)l->shared_bytes > (f->dynamic_shared ? f->dynamic_shared : 48 << 10))
        return CU_INVALID_VALUE;
    *clusters = clusters_at_once(f, l, size);
    return 0;
}

/* ---- launches ----------------------------------------------------------------------------- */

static cu_result check_shape(const struct cu_launch *l, const gpu_kernel_handle *f)
{
    const struct fake_kernel *k = f->kernel;
    uint64_t threads = (uint64_t)l->block_x * l->block_y * l->block_z;
    if (!threads || threads > k->threads || !l->grid_x || !l->grid_y || !l->grid_z || l->grid_x > 0x7fffffff ||
        l->grid_y > 65535 || l->grid_z > 65535)
        return fake_misuse(CU_INVALID_VALUE, "cuLaunchKernelEx",
                           "%s: a grid of %ux%ux%u blocks of %ux%ux%u threads; its launch bounds are %u", k->name,
                           l->grid_x, l->grid_y, l->grid_z, l->block_x, l->block_y, l->block_z, k->threads);
    if ((int)l->shared_bytes > (f->dynamic_shared ? f->dynamic_shared : 48 << 10))
        return fake_misuse(CU_INVALID_VALUE, "cuLaunchKernelEx",
                           "%s: %u bytes of shared memory, %d were allowed by cuFuncSetAttribute", k->name,
                           l->shared_bytes, f->dynamic_shared);
    return 0;
}

static cu_result check_together(const struct cu_launch *l, const gpu_kernel_handle *f, const struct wishes *w)
{
    const char *name = f->kernel->name;
    unsigned size = w->cluster.x * w->cluster.y * w->cluster.z;
    if (!size || l->grid_x % w->cluster.x || l->grid_y % w->cluster.y || l->grid_z % w->cluster.z)
        return fake_misuse(CU_INVALID_VALUE, "cuLaunchKernelEx", "%s: the grid is not made of whole clusters", name);
    if (size > 1 && (!has_clusters() || size > largest_cluster(f) || clusters_at_once(f, l, size) == 0))
        return fake_misuse(CU_INVALID_VALUE, "cuLaunchKernelEx", "%s: clusters of %u blocks (sm_%lld, large ones %s)",
                           name, size, fake_setting("CAPABILITY", 90), f->large_clusters ? "allowed" : "not allowed");
    int threads = (int)(l->block_x * l->block_y * l->block_z);
    long long fit = size > 1 ? (long long)clusters_at_once(f, l, size) * size
                             : (long long)blocks_per_processor(f, threads, l->shared_bytes) * processors();
    if (w->cooperative && (long long)l->grid_x * l->grid_y * l->grid_z > fit)
        return fake_misuse(CU_COOPERATIVE_TOO_LARGE, "cuLaunchKernelEx", "%s: %u blocks together, %lld fit", name,
                           l->grid_x * l->grid_y * l->grid_z, fit);
    return 0;
}

struct launch {
    const struct fake_kernel *kernel;
    struct fake_launch l;
    std::vector<uint64_t> args;
};

static const char *do_launch(launch &x)
{
    const char *wrong = fake_check_pointers(x.args.data(), x.kernel->args);
    static std::string text;
    x.l.args = x.args.data();
    if (!wrong)
        return fake_run(x.kernel, &x.l);
    text = std::string("an argument of kernel ") + x.kernel->name + " " + wrong;
    return text.c_str();
}

/* Checks the launch and its attributes, copies the argument, and enqueues the kernel on its stream. */
cu_result cuLaunchKernelEx(const struct cu_launch *l, cu_function f, void **arguments, void **extra)
{
    CALL();
    struct wishes w;
    if (extra || !arguments || !arguments[0])
        return fake_misuse(CU_INVALID_VALUE, __func__, "%s: a kernel has one argument", f->kernel->name);
    cu_result result = read_attributes(l, &w);
    if (!result)
        result = check_shape(l, f);
    if (!result)
        result = check_together(l, f, &w);
    if (result)
        return result;
    launch x = {f->kernel, {}, std::vector<uint64_t>((f->kernel->args + 7) / 8)};
    memcpy(x.args.data(), arguments[0], f->kernel->args);
    x.l.grid = {l->grid_x, l->grid_y, l->grid_z};
    x.l.block = {l->block_x, l->block_y, l->block_z};
    x.l.cluster = w.cluster;
    x.l.clustered = w.clustered;
    x.l.cooperative = w.cooperative;
    x.l.shared = l->shared_bytes;
    return fake_submit(l->stream, f->kernel->name, [x]() mutable { return do_launch(x); });
}
