/* The table of libraries loaded at run time, and the search for them (library.h). */
#include "base/system/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 6 };

struct library_row {
    const char *name, *purpose;
    const char *package;  /* Debian's package, which `make deps-all` installs; NULL: none */
    const char *fix;      /* another way to install it, or NULL */
    const char *variable; /* environment variable that names a file to load instead; NULL: none */
    /* A name for the loader, or a pattern of paths if it contains a folder. Patterns without a leading '/' are relative
     * to Python's packages. */
    const char *file[FILES];
    bool global; /* its own libraries resolve symbols in it */
};

/* In the order of enum library. */
static const struct library_row table[] = {
    {.name = "Open MPI",
     .purpose = "ranks that are processes (mpirun)",
     .package = "openmpi-bin",
     .fix = "UNROLL_MPI=mpich if MPICH launched the ranks",
     .file = {"libmpi.so.40"},
     .global = true},
    {.name = "MPICH",
     .purpose = "ranks that are processes (mpiexec), also for Intel MPI and MVAPICH",
     .package = "mpich",
     .fix = "UNROLL_MPI=openmpi if Open MPI launched the ranks",
     .file = {"libmpich.so.12", "libmpi.so.12"},
     .global = true},
    {.name = "UCX",
     .purpose = "ranks that continue when others fail or join (unroll launch)",
     .package = "libucx0",
     .file = {"libucp.so.0"},
     .global = true},
    {.name = "SimGrid",
     .purpose = "ranks of a simulated cluster (docs/internals/simulation.md)",
     .package = "libsimgrid-dev",
     .file = {"libsimgrid.so.3.32", "libsimgrid.so"}},
    {.name = "CUDA driver",
     .purpose = "the device cuda",
     .fix = "install NVIDIA's driver",
     .variable = "UNROLL_CUDA_DRIVER",
     .file = {"libcuda.so.1"}},
    {.name = "cuBLASLt",
     .purpose = "matrix products of the device cuda",
     .fix = "pip install nvidia-cublas",
     .variable = "UNROLL_CUBLASLT",
     .file = {"libcublasLt.so.13", "libcublasLt.so.12", "nvidia/cu13/lib/libcublasLt.so.13",
              "nvidia/cublas/lib/libcublasLt.so.1[23]", /* nvidia-cublas-cu12, a dependency of PyTorch */
              "/usr/local/cuda*/lib64/libcublasLt.so.1[23]", "/usr/local/cuda*/targets/*/lib/libcublasLt.so.1[23]"}},
    {.name = "NCCL",
     .purpose = "ranks with one GPU each",
     .fix = "install NVIDIA's libnccl2 or pip install nvidia-nccl-cu12",
     .variable = "UNROLL_NCCL",
     .file = {"libnccl.so.2", "nvidia/nccl/lib/libnccl.so.2", "/usr/local/cuda*/lib64/libnccl.so.2",
              "/usr/local/cuda*/targets/*/lib/libnccl.so.2"}},
    {.name = "NVRTC",
     .purpose = "kernels of the device cuda compiled for one shape, up to twice as fast",
     .fix = "pip install nvidia-cuda-nvrtc",
     .variable = "UNROLL_NVRTC",
     .file = {"libnvrtc.so.13", "libnvrtc.so.12", "nvidia/cu13/lib/libnvrtc.so.13",
              "nvidia/cuda_nvrtc/lib/libnvrtc.so.1[23]", "/usr/local/cuda*/lib64/libnvrtc.so.1[23]",
              "/usr/local/cuda*/targets/*/lib/libnvrtc.so.1[23]"}},
    {.name = "OpenCL",
     .purpose = "the device opencl",
     .package = "pocl-opencl-icd",
     .fix = "install the driver of the GPU, which includes it",
     .variable = "UNROLL_OPENCL",
     .file = {"libOpenCL.so.1"}},
    {.name = "PJRT for TPUs", .purpose = "the device tpu", .fix = "pip install libtpu", .file = {"libtpu/libtpu.so"}},
    {.name = "PJRT for CUDA",
     .purpose = "the device xla:cuda",
     .fix = "pip install jax-cuda13-pjrt",
     .file = {"jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"}},
    {.name = "PJRT for CPUs",
     .purpose = "the device xla:cpu",
     .fix = "pip install xla-cpu-pjrt",
     .file = {"xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"}},
    {.name = "libsndfile",
     .purpose = "sounds in flac, ogg, opus, mp3 and aiff files",
     .package = "libsndfile1",
     .variable = "UNROLL_SNDFILE",
     .file = {"libsndfile.so.1"}}};

/* ---- looking ---- */

/* Tries a path that may be the library; true ends the search. */
typedef bool visit(const struct library_row *row, const char *path, void **library);

static bool visit_open(const struct library_row *row, const char *path, void **library)
{
    *library = dlopen(path, RTLD_NOW | (row->global ? RTLD_GLOBAL : RTLD_LOCAL));
    return *library != NULL;
}

/* Names without a folder are looked up by the loader. Files in Python's packages may be large and are not loaded. */
static bool visit_look(const struct library_row *row, const char *path, void **library)
{
    (void)row;
    if (strchr(path, '/'))
        return access(path, R_OK) == 0;
    *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    return *library != NULL;
}

static bool visit_pattern(const struct library_row *row, const char *pattern, visit *visit, void **library, char *path)
{
    glob_t found;
    bool ends = false;
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc && !ends; i++)
        ends = snprintf(path, LIBRARY_PATH, "%s", found.gl_pathv[i]) < LIBRARY_PATH && visit(row, path, library);
    globfree(&found);
    return ends;
}

/* Returns the folder above that of the shell's python3. */
static const char *python_prefix(char prefix[LIBRARY_PATH])
{
    for (const char *at = getenv("PATH"); at && *at; at += strspn(at, ":")) {
        const int length = (int)strcspn(at, ":");

        if (snprintf(prefix, LIBRARY_PATH, "%.*s/python3", length, at) < LIBRARY_PATH && access(prefix, X_OK) == 0) {
            snprintf(prefix, LIBRARY_PATH, "%.*s/..", length, at);
            return prefix;
        }
        at += length;
    }
    return NULL;
}

/* Searches the active virtual environment, then the shell's python3, then the system's. */
static bool visit_packages(const struct library_row *row, const char *file, visit *visit, void **library, char *path)
{
    char python[LIBRARY_PATH], pattern[2 * LIBRARY_PATH];
    const char *const prefix[] = {getenv("VIRTUAL_ENV"), python_prefix(python), "/usr/local"};

    for (int i = 0; i < 3; i++)
        if (prefix[i]) {
            const int size = snprintf(pattern, sizeof pattern, "%s/lib/python3*/*-packages/%s", prefix[i], file);

            if (size < (int)sizeof pattern && visit_pattern(row, pattern, visit, library, path))
                return true;
        }
    return false;
}

static bool visit_files(const struct library_row *row, visit *visit, void **library, char *path)
{
    for (int i = 0; i < FILES && row->file[i]; i++) {
        const char *file = row->file[i];

        if (strchr(file, '/') ? *file == '/' ? visit_pattern(row, file, visit, library, path)
                                             : visit_packages(row, file, visit, library, path)
                              : visit(row, strcpy(path, file), library))
            return true;
    }
    return false;
}

static const char *named_by_user(const struct library_row *row)
{
    const char *name = row->variable ? getenv(row->variable) : NULL;
    return name && *name ? name : NULL;
}

/* ---- opening ---- */

static unroll_status find_symbols(const char *name, const char *path, void *library, const struct symbol *symbols,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, symbols[i].name);

        if (!address && !symbols[i].optional)
            return fail(UNROLL_UNSUPPORTED,
                        "%s '%s' has no '%s': it is too old, or it is a different library; fix: install a newer "
                        "version",
                        name, path, symbols[i].name);
        if (address)
            memcpy(symbols[i].slot, &address, sizeof address);
    }
    return UNROLL_OK;
}

unroll_status library_open_file(const char *name, const char *path, const struct symbol *symbols, size_t count)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? find_symbols(name, path, library, symbols, count)
                   : fail(UNROLL_DATA,
                          "%s '%s' cannot be loaded: %s; fix: name a library that is installed on this machine", name,
                          path, dlerror());
}

unroll_status library_open(enum library which, const struct symbol *symbols, size_t count, char *path)
{
    const struct library_row *row = &table[which];
    const char *named = named_by_user(row);
    char found[LIBRARY_PATH], fix[256];
    void *library = NULL;
    path = path ? path : found;
    if (named)
        snprintf(path, LIBRARY_PATH, "%s", named);
    if (named && !visit_open(row, named, &library))
        return fail(UNROLL_DATA, "the %s named by %s cannot be loaded: %s; fix: name a library that loads, or unset %s",
                    row->name, row->variable, dlerror(), row->variable);
    if (!named && !visit_files(row, visit_open, &library, path))
        return fail(UNROLL_UNSUPPORTED, "%s is not installed (%s was not found); fix: %s", row->name, row->file[0],
                    library_fix(which, fix, sizeof fix));
    unroll_status status = find_symbols(row->name, path, library, symbols, count);
    if (status != UNROLL_OK)
        dlclose(library);
    return status;
}

/* ---- telling ---- */

bool library_find(enum library which, char path[LIBRARY_PATH])
{
    const struct library_row *row = &table[which];
    const char *named = named_by_user(row);
    struct link_map *map;
    void *library = NULL;
    if (named)
        snprintf(path, LIBRARY_PATH, "%s", named);
    const bool found = named ? visit_look(row, named, &library) : visit_files(row, visit_look, &library, path);

    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(path, LIBRARY_PATH, "%s", map->l_name);
    if (library)
        dlclose(library);
    return found;
}

const char *library_fix(enum library which, char *text, size_t size)
{
    const struct library_row *row = &table[which];
    snprintf(text, size, "%s%s%s%s%s%s%s", row->package ? "apt install " : "", row->package ? row->package : "",
             row->package && row->fix ? ", or " : "", row->fix ? row->fix : "", row->variable ? ", or " : "",
             row->variable ? row->variable : "", row->variable ? "=FILE in the environment" : "");
    return text;
}

const char *library_name(int index, const char **purpose)
{
    if (index < 0 || (size_t)index >= sizeof table / sizeof *table)
        return NULL;
    *purpose = table[index].purpose;
    return table[index].name;
}
