/* Loads OpenCL's library (opencl_api.h) and translates its errors to messages. It is loaded once in a process; a
 * failed load is tried again. Independent of devices. */
#include "extensions/opencl/opencl_api.h"
#include "base/system/library.h"
#include "base/system/process.h"
#include <pthread.h>

struct opencl cl;

unroll_status opencl_load(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct opened opened;
    static bool loaded;
#define SYMBOL(name, gives, arguments) {#name, &cl.name, false},
    static const struct symbol symbols[] = {OPENCL_FUNCTIONS(SYMBOL)};
#undef SYMBOL
    TRY(opened_check(&opened, "OpenCL"));
    pthread_mutex_lock(&lock);
    unroll_status status =
        loaded ? UNROLL_OK : library_open(LIBRARY_OPENCL, symbols, sizeof symbols / sizeof *symbols, NULL);
    loaded = status == UNROLL_OK;
    pthread_mutex_unlock(&lock);
    TRY(status);
    opened_here(&opened);
    return UNROLL_OK;
}

/* Returns the meaning of a result, with a fix. */
static const char *text_of(cl_int result)
{
    switch (result) {
    case OPENCL_DEVICE_NOT_AVAILABLE:
        return "the device is lost or not available; fix: look at the driver's log, then begin again from the last "
               "checkpoint";
    case OPENCL_MEM_OBJECT_ALLOCATION_FAILURE:
    case OPENCL_OUT_OF_HOST_MEMORY: return "out of memory; fix: use a smaller batch or fewer steps at once";
    case OPENCL_OUT_OF_RESOURCES:
        return "out of resources, or the device is lost; fix: use a smaller batch, or begin again from the last "
               "checkpoint";
    case OPENCL_COMPILER_NOT_AVAILABLE: return "the driver has no compiler; fix: use another driver, or run on the cpu";
    default: return "an error of the driver; fix: use a newer driver, or run on the cpu";
    }
}

unroll_status opencl_check(cl_int result, const char *doing)
{
    if (!result)
        return UNROLL_OK;
    return fail(UNROLL_RESOURCE, "OpenCL failed while %s (error %d): %s; fix: use another driver, or device cpu", doing,
                (int)result, text_of(result));
}
