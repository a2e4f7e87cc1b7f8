/* What the parts of the fake driver share: settings, counted calls, memory, work on streams. The fakes of cuBLASLt
 * and NCCL use what is SHARED_WITH_LIBRARIES. */
#ifndef FAKE_CUDA_FAKE_DRIVER_H
#define FAKE_CUDA_FAKE_DRIVER_H
extern "C" {
#include "device/cuda/driver.h"
}
#include "runtime.h"
#include <functional>
#include <mutex>
#include <vector>

#define SHARED_WITH_LIBRARIES __attribute__((visibility("default")))

/* FAKE_CUDA_NAME of the environment, or the number given. */
SHARED_WITH_LIBRARIES long long fake_setting(const char *name, long long otherwise);

/* The driver is used in a way that its documentation forbids, or a kernel failed: said, and the process ends, or
 * with FAKE_CUDA_ERRORS=return the call returns the code, and so do all after it if the context is lost. */
__attribute__((format(printf, 3, 4))) SHARED_WITH_LIBRARIES cu_result fake_misuse(cu_result code, const char *function,
                                                                                  const char *format, ...);

/* A call begins: one at a time, counted; FAKE_CUDA_FAIL=NAME:N:CODE lets the Nth call of that name fail. */
struct fake_call {
    std::unique_lock<std::recursive_mutex> lock;
    cu_result refused; /* what the call is to return at once, or 0 */
    explicit fake_call(const char *function, bool needs_context = true);
};
#define CALL_WITHOUT_CONTEXT() fake_call call(__func__, false); if (call.refused) return call.refused
#define CALL()                 fake_call call(__func__, true); if (call.refused) return call.refused

/* Every function of driver.h, with its type. */
#define EXPORT extern "C" __attribute__((visibility("default")))
#define DECLARE(name, suffix, arguments) EXPORT cu_result name##suffix arguments;
CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

/* [at, at + bytes) must be in one piece of device memory; NULL, or what is wrong. */
SHARED_WITH_LIBRARIES const char *fake_check_device(uint64_t at, uint64_t bytes);
const char *fake_check_pointers(const void *args, size_t bytes); /* none is of the host, or freed */
bool fake_is_pinned(const void *at, uint64_t bytes);
void fake_memory_open(bool open); /* device memory can be touched while work is done */
void fake_memory_report(void);

/* Work in the order of a stream; done when someone waits for it, or later. Returns what went wrong, or NULL. */
typedef std::function<const char *(void)> fake_work;
SHARED_WITH_LIBRARIES cu_result fake_submit(cu_stream, const char *function, fake_work);
/* The same, of what waits for other processes: asked again and again whether it can be done, once all before it is. */
typedef std::function<bool(void)> fake_ready;
SHARED_WITH_LIBRARIES cu_result fake_submit_when(cu_stream, const char *function, fake_ready, fake_work);
SHARED_WITH_LIBRARIES int fake_current_device(void); /* of this thread's context; -1: there is none */
bool fake_capturing(cu_stream);
SHARED_WITH_LIBRARIES bool fake_any_capture(void);
cu_result fake_finish_all(void); /* all work given so far */
void fake_streams_report(void);

/* Things that leak are counted: "graphs", +1 or -1. */
SHARED_WITH_LIBRARIES void fake_count(const char *what, int by);
SHARED_WITH_LIBRARIES long fake_counted(const char *what);

#endif
