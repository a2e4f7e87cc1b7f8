/* Wraps an XLA plugin: finds it, loads it, and calls it in the only order that all plugins support. Arrays on the
 * host are dense and in row order. Independent of plans and models. Errors of the plugin become a status and a
 * message. */
#ifndef DEVICE_XLA_PLUGIN_H
#define DEVICE_XLA_PLUGIN_H
#include "base/status.h"
#include "extensions/xla/pjrt.h"

struct xla_plugin;

/* Opens a plugin. which: a path, or a platform: "tpu", "cuda" or "cpu"; NULL: $PJRT_PLUGIN, with the same values, or
 * else any plugin in the usual places. It must have at least `devices` devices; XLA's CPU plugin creates them on
 * demand. With 0 devices no client is created: for compilation ahead of time, where a TPU's plugin must not look for
 * a TPU. Opened once in a process and never closed, because plugins keep threads. */
unroll_status xla_plugin_open(const char *which, int devices, struct xla_plugin **plugin);
const char *xla_plugin_path(const struct xla_plugin *);
const char *xla_plugin_platform(const struct xla_plugin *); /* "cpu", "tpu", "cuda" */
int xla_plugin_devices(const struct xla_plugin *);
void xla_plugin_version(const struct xla_plugin *, int *major, int *minor);

/* Calls a function of the plugin by slot. */
unroll_status xla_call(const struct xla_plugin *, enum pjrt_slot, void *args, const char *doing);

/* Compiles a program in StableHLO text for the first `devices` devices. The same text is compiled only once and
 * returns the same program. */
unroll_status xla_compile(struct xla_plugin *, const char *text, size_t size, int devices, pjrt_executable **program);

/* The caller frees device buffers. Donated arguments are gone after a run, except for their handles. The caller must
 * await each returned event exactly once, which frees it. */
unroll_status xla_upload(struct xla_plugin *, int device, enum pjrt_type, const int64_t *dim, size_t dims,
                         const void *data, pjrt_buffer **buffer);
unroll_status xla_download(struct xla_plugin *, pjrt_buffer *, size_t dims, void *to, size_t bytes,
                           pjrt_event **arrived);
void xla_buffer_free(struct xla_plugin *, pjrt_buffer *);
/* argument [devices][arguments], result [devices][..], done [devices]. */
unroll_status xla_execute(struct xla_plugin *, pjrt_executable *, int devices, pjrt_buffer *const *const *argument,
                          size_t arguments, pjrt_buffer **const *result, pjrt_event **done);
unroll_status xla_await(struct xla_plugin *, pjrt_event *, const char *doing);
/* Counts a round trip: the host is about to wait for results of devices. */
void xla_count_sync(void);

/* Counters of this process, for tests and benchmarks. */
struct xla_counts {
    uint64_t compiled, executed, uploads, downloads, looks;
};
struct xla_counts xla_counts(void);

#endif
