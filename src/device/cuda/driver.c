/* Finds and loads the CUDA driver and cuBLASLt (driver.h) and puts their errors into sentences. Loads each once
 * in a process; what failed is looked for again. */
#include "device/cuda/driver.h"
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cuda_driver cu;
struct cublaslt lt;

enum { OLDEST_DRIVER = 12000 };         /* cuLaunchKernelEx and clusters are of CUDA 11.8; tested against 12's */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool driver_loaded, cublaslt_loaded;
static int version;
static char found_cublaslt[1024];

/* ---- finding functions ------------------------------------------------------------------- */

/* The function of that name goes to *slot, a pointer to a function. */
static unroll_status find(void *library, const char *what, const char *symbol, void *slot)
{
    void *address = dlsym(library, symbol);
    if (!address)
        return fail(UNROLL_UNSUPPORTED, "%s has no function %s: it is too old; fix: install a newer one", what,
                    symbol);
    memcpy(slot, &address, sizeof address);
    return UNROLL_OK;
}

static void *open_file(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* ---- the driver -------------------------------------------------------------------------- */

static unroll_status find_driver_functions(void *library)
{
    const char *what = "the CUDA driver on this machine";
#define CUDA_FIND(name, suffix, arguments) TRY(find(library, what, #name #suffix, &cu.name));
    CUDA_FUNCTIONS(CUDA_FIND)
#undef CUDA_FIND
    return UNROLL_OK;
}

static unroll_status start_driver(void)
{
    cu_result result = cu.cuInit(0);
    if (result == CU_NO_DEVICE)
        return fail(UNROLL_UNSUPPORTED, "the CUDA driver found no GPU on this machine, or none that it may use "
                    "(CUDA_VISIBLE_DEVICES)");
    TRY(cuda_check(result, "starting the driver"));
    TRY(cuda_check(cu.cuDriverGetVersion(&version), "asking for the driver's version"));
    if (version < OLDEST_DRIVER)
        return fail(UNROLL_UNSUPPORTED, "the CUDA driver is too old: it serves CUDA %d.%d, at least 12.0 is needed; "
                    "fix: install driver 525 or newer", version / 1000, version % 1000 / 10);
    return UNROLL_OK;
}

static unroll_status load_driver(void)
{
    const char *named = getenv("RNN_CUDA_DRIVER");
    const char *file = named && *named ? named : "libcuda.so.1";
    void *library = open_file(file);
    if (!library && named && *named)
        return fail(UNROLL_DATA, "the CUDA driver named by RNN_CUDA_DRIVER cannot be loaded: %s", dlerror());
    if (!library)
        return fail(UNROLL_UNSUPPORTED, "there is no CUDA driver on this machine (libcuda.so.1); fix: install "
                    "NVIDIA's driver, or run on another device");
    unroll_status status = find_driver_functions(library);
    if (status == UNROLL_OK)
        status = start_driver();
    if (status != UNROLL_OK)
        dlclose(library);
    return status;
}

unroll_status cuda_load(void)
{
    pthread_mutex_lock(&lock);
    unroll_status status = driver_loaded ? UNROLL_OK : load_driver();
    driver_loaded = status == UNROLL_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

int cuda_driver_version(void) { return version; }

unroll_status cuda_check(cu_result result, const char *doing)
{
    const char *name = NULL, *text = NULL;
    if (!result)
        return UNROLL_OK;
    if (cu.cuGetErrorName(result, &name) || !name)
        name = "an unknown error";
    if (cu.cuGetErrorString(result, &text) || !text)
        text = "no text";
    return fail(UNROLL_RESOURCE, "CUDA failed while %s: %s (%s, %d)", doing, text, name, result);
}

/* ---- cuBLASLt ---------------------------------------------------------------------------- */

/* Where toolkits and PyPI's packages (nvidia-cublas, PyTorch's nvidia-cublas-cu12) put it; relative: to the
 * environments of Python. */
static const char *const usual_places[] = {
    "lib/python3*/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
    "lib/python3*/site-packages/nvidia/cublas/lib/libcublasLt.so.1[23]",
    "/usr/local/lib/python3*/*-packages/nvidia/cu13/lib/libcublasLt.so.13",
    "/usr/local/lib/python3*/*-packages/nvidia/cublas/lib/libcublasLt.so.1[23]",
    "/usr/local/cuda*/lib64/libcublasLt.so.1[23]",
    "/usr/local/cuda*/targets/*/lib/libcublasLt.so.1[23]",
};

static void *open_pattern(const char *pattern, char *path, size_t size)
{
    glob_t found;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && !library; i++)
        if (snprintf(path, size, "%s", found.gl_pathv[i]) < (int)size)
            library = open_file(path);
    globfree(&found);
    return library;
}

/* Of the python3 that a shell would start: the folder above its own. */
static bool python_prefix(char *prefix, size_t size)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        const int length = (int)strcspn(at, ":");
        if (snprintf(prefix, size, "%.*s/python3", length, at) < (int)size && access(prefix, X_OK) == 0)
            return snprintf(prefix, size, "%.*s/..", length, at) < (int)size;
        at += length + (at[length] == ':');
    }
    return false;
}

/* prefix NULL: there is no such environment. */
static void *open_in(const char *prefix, const char *place, char *path, size_t size)
{
    char pattern[2048];
    if (*place == '/')
        return open_pattern(place, path, size);
    if (!prefix || snprintf(pattern, sizeof pattern, "%s/%s", prefix, place) >= (int)sizeof pattern)
        return NULL;
    return open_pattern(pattern, path, size);
}

static void *open_usual(char *path, size_t size)
{
    static const char *const names[] = { "libcublasLt.so.13", "libcublasLt.so.12" };
    char python[1024];
    const char *const prefixes[] = { getenv("VIRTUAL_ENV"), python_prefix(python, sizeof python) ? python : NULL };
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
        library = open_file(names[i]);
        snprintf(path, size, "%s", names[i]);
    }
    for (size_t i = 0; i < 2 * (sizeof usual_places / sizeof *usual_places) && !library; i++)
        library = open_in(prefixes[i % 2], usual_places[i / 2], path, size);
    return library;
}

static unroll_status find_cublaslt_functions(void *library)
{
    const char *what = found_cublaslt;
#define CUBLASLT_FIND(name, suffix, arguments) TRY(find(library, what, #name, &lt.name));
    CUBLASLT_FUNCTIONS(CUBLASLT_FIND)
#undef CUBLASLT_FIND
    TRY(find(library, what, "cublasLtGetVersion", &lt.cublasLtGetVersion));
    return find(library, what, "cublasLtGetStatusString", &lt.cublasLtGetStatusString);
}

static unroll_status load_cublaslt(void)
{
    const char *named = getenv("RNN_CUBLASLT");
    void *library;
    if (named && *named) {
        snprintf(found_cublaslt, sizeof found_cublaslt, "%s", named);
        library = open_file(named);
        if (!library)
            return fail(UNROLL_DATA, "the cuBLASLt named by RNN_CUBLASLT cannot be loaded: %s", dlerror());
    } else {
        library = open_usual(found_cublaslt, sizeof found_cublaslt);
        if (!library)
            return fail(UNROLL_UNSUPPORTED, "cuBLASLt (libcublasLt.so.13 or .12) was not found in the loader's path, "
                        "in Python's folders or in /usr/local/cuda; fix: 'pip install nvidia-cublas', or "
                        "RNN_CUBLASLT=FILE in the environment");
    }
    unroll_status status = find_cublaslt_functions(library);
    if (status != UNROLL_OK)
        dlclose(library);
    return status;
}

unroll_status cublaslt_load(void)
{
    pthread_mutex_lock(&lock);
    unroll_status status = cublaslt_loaded ? UNROLL_OK : load_cublaslt();
    cublaslt_loaded = status == UNROLL_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

const char *cublaslt_path(void) { return found_cublaslt; }

unroll_status cublaslt_check(int result, const char *doing)
{
    if (!result)
        return UNROLL_OK;
    const char *text = lt.cublasLtGetStatusString(result);
    return fail(UNROLL_RESOURCE, "cuBLASLt failed while %s: %s (%d)", doing, text ? text : "an unknown error", result);
}
