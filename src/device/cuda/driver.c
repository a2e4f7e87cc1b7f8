/* Finds and loads the CUDA driver, cuBLASLt and NCCL (driver.h) and puts their errors into sentences. Loads each once
 * in a process; what failed is looked for again. */
#include "device/cuda/driver.h"
#include "base/process.h"
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
struct nccl nccl;

enum { OLDEST_DRIVER = 12000 };         /* cuLaunchKernelEx and clusters are of CUDA 11.8; tested against 12's */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool driver_loaded, cublaslt_loaded, nccl_loaded;
static int version, found_version;      /* of the driver, of NCCL */
static char found_cublaslt[1024], found_nccl[1024];

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

/* ---- libraries of the toolkit, or of Python's packages ------------------------------------ */

enum { NAMES = 2, PLACES = 6 };
enum { PATH_SIZE = sizeof found_cublaslt };

/* Where a library may be. Relative places: in the environments of Python. */
struct sought {
    const char *name, *variable;        /* the variable of the environment that names a file in its place */
    const char *names[NAMES], *places[PLACES];
    const char *fix;
};

static void *open_pattern(const char *pattern, char *path)
{
    glob_t found;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && !library; i++)
        if (snprintf(path, PATH_SIZE, "%s", found.gl_pathv[i]) < PATH_SIZE)
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
static void *open_in(const char *prefix, const char *place, char *path)
{
    char pattern[2 * PATH_SIZE];
    if (*place == '/')
        return open_pattern(place, path);
    if (!prefix || snprintf(pattern, sizeof pattern, "%s/%s", prefix, place) >= (int)sizeof pattern)
        return NULL;
    return open_pattern(pattern, path);
}

static void *open_usual(const struct sought *s, char *path)
{
    char python[PATH_SIZE];
    const char *const prefixes[] = { getenv("VIRTUAL_ENV"), python_prefix(python, sizeof python) ? python : NULL };
    void *library = NULL;
    for (int i = 0; i < NAMES && s->names[i] && !library; i++) {
        library = open_file(s->names[i]);
        snprintf(path, PATH_SIZE, "%s", s->names[i]);
    }
    for (int i = 0; i < 2 * PLACES && s->places[i / 2] && !library; i++)
        library = open_in(prefixes[i % 2], s->places[i / 2], path);
    return library;
}

/* path: what was found, PATH_SIZE. */
static unroll_status open_sought(const struct sought *s, char *path, void **library)
{
    const char *named = getenv(s->variable);
    bool is_named = named && *named;
    if (is_named)
        snprintf(path, PATH_SIZE, "%s", named);
    *library = is_named ? open_file(named) : open_usual(s, path);
    if (*library)
        return UNROLL_OK;
    if (is_named)
        return fail(UNROLL_DATA, "the %s named by %s cannot be loaded: %s", s->name, s->variable, dlerror());
    return fail(UNROLL_UNSUPPORTED, "%s (%s) was not found in the loader's path, in Python's folders or in "
                "/usr/local/cuda; fix: %s, or %s=FILE in the environment", s->name, s->names[0], s->fix, s->variable);
}

/* The library, and its functions: one that lacks some is closed again. */
static unroll_status load_library(const struct sought *s, char *path, unroll_status (*find_functions)(void *library))
{
    void *library;
    TRY(open_sought(s, path, &library));
    unroll_status status = find_functions(library);
    if (status != UNROLL_OK)
        dlclose(library);
    return status;
}

/* Once in a process. */
static unroll_status load_once(bool *loaded, unroll_status (*load)(void))
{
    pthread_mutex_lock(&lock);
    unroll_status status = *loaded ? UNROLL_OK : load();
    *loaded = status == UNROLL_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

unroll_status cuda_load(void)
{
    static struct opened opened;
    TRY(opened_check(&opened, "the CUDA driver"));
    TRY(load_once(&driver_loaded, load_driver));
    opened_here(&opened);
    return UNROLL_OK;
}

/* ---- cuBLASLt ---------------------------------------------------------------------------- */

/* PyPI has it as nvidia-cublas, PyTorch asks for nvidia-cublas-cu12. */
static const struct sought sought_cublaslt = {
    .name = "cuBLASLt", .variable = "RNN_CUBLASLT",
    .names = { "libcublasLt.so.13", "libcublasLt.so.12" },
    .places = {
        "lib/python3*/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
        "lib/python3*/site-packages/nvidia/cublas/lib/libcublasLt.so.1[23]",
        "/usr/local/lib/python3*/*-packages/nvidia/cu13/lib/libcublasLt.so.13",
        "/usr/local/lib/python3*/*-packages/nvidia/cublas/lib/libcublasLt.so.1[23]",
        "/usr/local/cuda*/lib64/libcublasLt.so.1[23]",
        "/usr/local/cuda*/targets/*/lib/libcublasLt.so.1[23]",
    },
    .fix = "'pip install nvidia-cublas'",
};

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
    return load_library(&sought_cublaslt, found_cublaslt, find_cublaslt_functions);
}
unroll_status cublaslt_load(void) { return load_once(&cublaslt_loaded, load_cublaslt); }

const char *cublaslt_path(void) { return found_cublaslt; }

unroll_status cublaslt_check(int result, const char *doing)
{
    if (!result)
        return UNROLL_OK;
    const char *text = lt.cublasLtGetStatusString(result);
    return fail(UNROLL_RESOURCE, "cuBLASLt failed while %s: %s (%d)", doing, text ? text : "an unknown error", result);
}

/* ---- NCCL -------------------------------------------------------------------------------- */

enum { OLDEST_NCCL = 21400 };           /* communicators that do not block */

static const struct sought sought_nccl = {
    .name = "NCCL", .variable = "RNN_NCCL",
    .names = { "libnccl.so.2" },
    .places = {
        "lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
        "/usr/local/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
        "/usr/local/cuda*/lib64/libnccl.so.2",
        "/usr/local/cuda*/targets/*/lib/libnccl.so.2",
    },
    .fix = "install libnccl2 or 'pip install nvidia-nccl-cu12'",
};

static unroll_status find_nccl_functions(void *library)
{
    const char *what = found_nccl;
#define NCCL_FIND(name, suffix, arguments) TRY(find(library, what, #name, &nccl.name));
    NCCL_FUNCTIONS(NCCL_FIND)
#undef NCCL_FIND
    TRY(find(library, what, "ncclGetErrorString", &nccl.ncclGetErrorString));
    TRY(find(library, what, "ncclGetLastError", &nccl.ncclGetLastError));
    if (nccl.ncclGetVersion(&found_version) == NCCL_OK && found_version >= OLDEST_NCCL)
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED, "%s is NCCL %d.%d, at least 2.14 is needed; fix: install a newer one", found_nccl,
                found_version / 10000, found_version / 100 % 100);
}

static unroll_status load_nccl(void)
{
    return load_library(&sought_nccl, found_nccl, find_nccl_functions);
}
unroll_status nccl_load(void) { return load_once(&nccl_loaded, load_nccl); }

int nccl_version(void) { return found_version; }
