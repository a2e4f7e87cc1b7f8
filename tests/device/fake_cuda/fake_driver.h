/* Shared by the parts of the fake driver: settings, counted calls, memory, work on streams. The fake cuBLASLt and NCCL
 * use what is SHARED_WITH_LIBRARIES. */
#ifndef FAKE_CUDA_FAKE_DRIVER_H
#define FAKE_CUDA_FAKE_DRIVER_H
extern "C" {
#include "extensions/cuda/driver.h"
}
#include "runtime.h"
#include <functional>
#include <mutex>
#include <vector>

#define SHARED_WITH_LIBRARIES __attribute__((visibility("default")))

/* Returns the environment variable FAKE_CUDA_NAME, or `otherwise`. */
SHARED_WITH_LIBRARIES long long fake_setting(const char *name, long long otherwise);

/* Reports undefined use of the driver or the failure of a kernel, and ends the process. With FAKE_CUDA_ERRORS=return
 * the call returns the code instead, and so do all later ones if the context is lost. */
__attribute__((format(printf, 3, 4))) SHARED_WITH_LIBRARIES cu_result fake_misuse(cu_result code, const char *function,
                                                                                  const char *format, ...);

/* Loses the context: all later calls return the code. Returns it. */
cu_result fake_lose(cu_result code);

/* Guards a call: one at a time, counted. FAKE_CUDA_FAIL=NAME:N:CODE makes the Nth call of a function fail. */
struct fake_call {
    std::unique_lock<std::recursive_mutex> lock;
    cu_result refused; /* returned immediately if not 0 */
    explicit fake_call(const char *function, bool needs_context = true);
};
#define CALL_WITHOUT_CONTEXT() fake_call call(__func__, false); if (call.refused) return call.refused
#define CALL()                 fake_call call(__func__, true); if (call.refused) return call.refused

/* Every function of driver.h, with its type. */
#define EXPORT extern "C" __attribute__((visibility("default")))
#define DECLARE(name, suffix, arguments) EXPORT cu_result name##suffix arguments;
CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

/* Checks that [at, at + bytes) is within one allocation of device memory. Returns NULL or an error. */
SHARED_WITH_LIBRARIES const char *fake_check_device(uint64_t at, uint64_t bytes);
const char *fake_check_pointers(const void *args, size_t bytes); /* no pointer to host or freed memory */
bool fake_is_pinned(const void *at, uint64_t bytes);
void fake_memory_open(bool open); /* makes device memory accessible while work is done */
void fake_memory_report(void);

/* Submits work in the order of a stream, to be done when something waits for it, or later. Returns the error of earlier
 * work. */
typedef std::function<const char *(void)> fake_work;
SHARED_WITH_LIBRARIES cu_result fake_submit(cu_stream, const char *function, fake_work);
/* The same for work that waits for other processes: `ready` is polled once all earlier work is done. */
typedef std::function<bool(void)> fake_ready;
SHARED_WITH_LIBRARIES cu_result fake_submit_when(cu_stream, const char *function, fake_ready, fake_work);
SHARED_WITH_LIBRARIES int fake_current_device(void); /* of this thread's context; -1: none */
bool fake_capturing(cu_stream);
SHARED_WITH_LIBRARIES bool fake_any_capture(void);
cu_result fake_finish_all(void); /* finishes all submitted work */
void fake_streams_report(void);

/* Counts resources that may leak: "graphs", +1 or -1. */
SHARED_WITH_LIBRARIES void fake_count(const char *what, int by);
SHARED_WITH_LIBRARIES long fake_counted(const char *what);

#endif
