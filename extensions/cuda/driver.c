/* Loads the CUDA driver, cuBLASLt and NCCL (driver.h), and translates their errors to messages. Each is loaded once
 * in a process; a failed load is tried again. */
#include "extensions/cuda/driver.h"
#include "extensions/cuda/stopped.h"
#include "base/system/library.h"
#include "base/system/process.h"
#include <pthread.h>
#include <stdlib.h>

struct cuda_driver cu;
struct cublaslt lt;
struct nccl nccl;

enum { OLDEST_DRIVER = 12000 }; /* cuLaunchKernelEx and clusters came with CUDA 11.8; tested with 12 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool driver_loaded, cublaslt_loaded, nccl_loaded;
static int version, found_version; /* of the driver and of NCCL */
static char found_cublaslt[LIBRARY_PATH], found_nccl[LIBRARY_PATH];

/* One row of the symbol table for each function of a list. */
#define SYMBOL(name, suffix, arguments) { #name #suffix, &LOADED.name, false },

/* Calls `load` until it succeeds once. */
static unroll_status load_once(bool *loaded, unroll_status (*load)(void))
{
    pthread_mutex_lock(&lock);
    unroll_status status = *loaded ? UNROLL_OK : load();
    *loaded = status == UNROLL_OK;
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- the driver -------------------------------------------------------------------------- */

static unroll_status start_driver(void)
{
    cu_result result = cu.cuInit(0);
    if (result == CU_NO_DEVICE)
        return fail(
            UNROLL_UNSUPPORTED,
            "the CUDA driver found no GPU on this machine, or none that it may use (CUDA_VISIBLE_DEVICES); fix: use device cpu, or check CUDA_VISIBLE_DEVICES");
    TRY(cuda_check(result, "starting the driver"));
    TRY(cuda_check(cu.cuDriverGetVersion(&version), "asking for the driver's version"));
    if (version < OLDEST_DRIVER)
        return fail(UNROLL_UNSUPPORTED,
                    "the CUDA driver is too old: it serves CUDA %d.%d, at least 12.0 is needed; "
                    "fix: install driver 525 or newer",
                    version / 1000, version % 1000 / 10);
    return UNROLL_OK;
}

static unroll_status load_driver(void)
{
#define LOADED cu
    static const struct symbol symbols[] = {CUDA_FUNCTIONS(SYMBOL)};
#undef LOADED
    TRY(library_open(LIBRARY_CUDA, symbols, sizeof symbols / sizeof *symbols, NULL));
    return start_driver();
}

unroll_status cuda_load(void)
{
    static struct opened opened;
    TRY(opened_check(&opened, "the CUDA driver"));
    TRY(load_once(&driver_loaded, load_driver));
    opened_here(&opened);
    return UNROLL_OK;
}

int cuda_driver_version(void) { return version; }

unroll_status cuda_check(cu_result result, const char *doing)
{
    const char *name = NULL, *text = NULL;
    char why[300];
    if (!result)
        return UNROLL_OK;
    if (cu.cuGetErrorName(result, &name) || !name)
        name = "an unknown error";
    if (cu.cuGetErrorString(result, &text) || !text)
        text = "no text";
    if (result == CU_LAUNCH_FAILED)
        return fail(
            UNROLL_RESOURCE,
            "CUDA failed while %s: %s (%s, %d): %s, and this process cannot use the GPU again; fix: start again "
            "with UNROLL_CUDA_ALGORITHM=portable, and report it",
            doing, text, name, result, stopped_describe(why, sizeof why) ? why : "a kernel stopped");
    if (result == CU_ILLEGAL_ADDRESS || result == CU_ECC_ERROR)
        return fail(UNROLL_RESOURCE,
                    "CUDA failed while %s: %s (%s, %d), and this process cannot use the GPU again; fix: look at "
                    "nvidia-smi, and start again",
                    doing, text, name, result);
    return fail(UNROLL_RESOURCE, "CUDA failed while %s: %s (%s, %d); fix: look at nvidia-smi, or device cpu", doing,
                text, name, result);
}

/* ---- cuBLASLt ---------------------------------------------------------------------------- */

static unroll_status load_cublaslt(void)
{
#define LOADED lt
    static const struct symbol symbols[] = {CUBLASLT_FUNCTIONS(SYMBOL) SYMBOL(cublasLtGetVersion, , )
                                                SYMBOL(cublasLtGetStatusString, , )};
#undef LOADED
    return library_open(LIBRARY_CUBLASLT, symbols, sizeof symbols / sizeof *symbols, found_cublaslt);
}

unroll_status cublaslt_load(void) { return load_once(&cublaslt_loaded, load_cublaslt); }

const char *cublaslt_path(void) { return found_cublaslt; }

unroll_status cublaslt_check(int result, const char *doing)
{
    if (!result)
        return UNROLL_OK;
    const char *text = lt.cublasLtGetStatusString(result);
    return fail(UNROLL_RESOURCE, "cuBLASLt failed while %s: %s (%d); fix: look at nvidia-smi, or device cpu", doing,
                text ? text : "an unknown error", result);
}

/* ---- NCCL -------------------------------------------------------------------------------- */

enum { OLDEST_NCCL = 21400 }; /* non-blocking communicators */

static unroll_status load_nccl(void)
{
#define LOADED nccl
    static const struct symbol symbols[] = {NCCL_FUNCTIONS(SYMBOL) SYMBOL(ncclGetErrorString, , )
                                                SYMBOL(ncclGetLastError, , )};
#undef LOADED
    /* Our graphs use several communicators. NCCL orders these with its own waits unless this variable promises that
     * no launch comes from outside a graph. It reads the variable at start. A value set by the user is kept. */
    (void)setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", 0);
    TRY(library_open(LIBRARY_NCCL, symbols, sizeof symbols / sizeof *symbols, found_nccl));
    if (nccl.ncclGetVersion(&found_version) == NCCL_OK && found_version >= OLDEST_NCCL)
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED, "%s is NCCL %d.%d, at least 2.14 is needed; fix: install a newer one", found_nccl,
                found_version / 10000, found_version / 100 % 100);
}

unroll_status nccl_load(void) { return load_once(&nccl_loaded, load_nccl); }

int nccl_version(void) { return found_version; }
