/* Ranges for profilers (nvtx.h) through the NVTX 3 interface, as declared in its headers (nvtxDetail/nvtxTypes.h,
 * nvtxInit.h and nvtxImpl.h of CUDA 13.0). A profiler names its library in NVTX_INJECTION64_PATH. The program loads
 * it and calls InitializeInjectionNvtx2 with a function that returns tables of function pointers, into which the
 * profiler writes its own. Profilers ask for the tables of all modules, so all exist; only two functions are used. */
#include "extensions/cuda/nvtx.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef void (*any_function)(void);

enum { SLOTS_MAX = 16 };
static const unsigned slots_of[NVTX_MODULES] = {[NVTX_CORE] = NVTX_CORE_SLOTS,      [NVTX_CUDA] = NVTX_CUDA_SLOTS,
                                                [NVTX_OPENCL] = NVTX_OPENCL_SLOTS,  [NVTX_RUNTIME] = NVTX_RUNTIME_SLOTS,
                                                [NVTX_DOMAINS] = NVTX_DOMAIN_SLOTS, [NVTX_LOCKS] = NVTX_LOCK_SLOTS};
static any_function slot[NVTX_MODULES][SLOTS_MAX];
static any_function *table[NVTX_MODULES][SLOTS_MAX + 1]; /* the first and the last are NULL */

static int (*push)(const char *);
static int (*pop)(void);

static int find_module(int module, any_function ***found, unsigned *count)
{
    if (module < NVTX_CORE || module >= NVTX_MODULES)
        return 0;
    for (unsigned i = 1; i < slots_of[module]; i++) table[module][i] = &slot[module][i];
    if (count)
        *count = slots_of[module];
    if (found)
        *found = table[module];
    return 1;
}

static void note_version(uint32_t of_profiler) { (void)of_profiler; }

static const void *find_table(uint32_t which)
{
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, find_module};
    static const struct nvtx_version version = {sizeof version, NVTX_INTERFACE, 0, note_version};
    return which == NVTX_TABLE_CALLBACKS ? (const void *)&callbacks : which == NVTX_TABLE_VERSION ? &version : NULL;
}

/* Loads the profiler's library. Function pointers come as data pointers or as pointers to any function, so they are
 * copied by memcpy. */
static unroll_status attach(const char *path)
{
    int (*initialize)(const void *(*)(uint32_t));
    void *library = dlopen(path, RTLD_LAZY);
    void *found = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    if (!found)
        return fail(UNROLL_DATA,
                    "NVTX_INJECTION64_PATH=%s is no library of a profiler: %s; fix: begin with the profiler "
                    "(nsys profile, ncu), which sets it, or leave UNROLL_NVTX out",
                    path, library ? "it has no InitializeInjectionNvtx2" : dlerror());
    memcpy(&initialize, &found, sizeof initialize);
    if (!initialize(find_table))
        return fail(UNROLL_UNSUPPORTED, "the profiler %s takes no ranges; fix: leave UNROLL_NVTX out", path);
    memcpy(&push, &slot[NVTX_CORE][NVTX_PUSH], sizeof push);
    memcpy(&pop, &slot[NVTX_CORE][NVTX_POP], sizeof pop);
    if (push && pop)
        return UNROLL_OK;
    push = NULL, pop = NULL;
    return fail(UNROLL_UNSUPPORTED,
                "the profiler %s listens to no ranges; fix: ask it for NVTX (nsys profile -t cuda,nvtx)", path);
}

static unroll_status open_once(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    if (path && *path)
        return attach(path);
    return fail(UNROLL_UNSUPPORTED,
                "UNROLL_NVTX=1 names operations for a profiler, and none is there: NVTX_INJECTION64_PATH is not set; "
                "fix: begin with nsys profile -t cuda,nvtx, or leave it out");
}

static void begin_range(const char *text) { (void)push(text); }
static void end_range(void) { (void)pop(); }

unroll_status nvtx_ranges(const struct gpu_ranges **ranges)
{
    static const struct gpu_ranges these = {begin_range, end_range};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *asked = getenv("UNROLL_NVTX");
    if (!asked || !*asked || !strcmp(asked, "0"))
        return UNROLL_OK;
    if (strcmp(asked, "1") != 0)
        return fail(UNROLL_USAGE, "UNROLL_NVTX=%s is neither 0 nor 1; fix: 1 names operations for a profiler", asked);
    pthread_mutex_lock(&lock);
    unroll_status status = push ? UNROLL_OK : open_once();
    pthread_mutex_unlock(&lock);
    if (status == UNROLL_OK)
        *ranges = &these;
    return status;
}
