/* An XLA plugin behind a few functions: found, loaded and asked in the only order that all plugins allow.
 * Arrays are dense and row by row on the host. Knows no plan and no model; whatever the plugin answers
 * becomes a status and a sentence. */
#ifndef DEVICE_XLA_PLUGIN_H
#define DEVICE_XLA_PLUGIN_H
#include "base/status.h"
#include "device/xla/pjrt.h"

struct xla_plugin;

/* which: a path, or "tpu", "cuda" or "cpu": of that platform; NULL: $PJRT_PLUGIN, which says the
 * same, else any that lies in one of the usual places. It has at least so many devices; XLA's for CPUs makes as
 * many as it is asked for. Of 0 devices there is no client: for compilation ahead of time, where a TPU's plugin is not
 * to look for one. Opened once in a process and never closed: plugins keep threads. */
unroll_status xla_plugin_open(const char *which, int devices, struct xla_plugin **plugin);
const char *xla_plugin_path(const struct xla_plugin *);
const char *xla_plugin_platform(const struct xla_plugin *); /* "cpu", "tpu", "cuda" */
int xla_plugin_devices(const struct xla_plugin *);
void xla_plugin_version(const struct xla_plugin *, int *major, int *minor);

/* Any of its functions, by its slot. */
unroll_status xla_call(const struct xla_plugin *, enum pjrt_slot, void *args, const char *doing);

/* A program in StableHLO text, compiled for the first so many devices. The same text gives the same program,
 * compiled once. */
unroll_status xla_compile(struct xla_plugin *, const char *text, size_t size, int devices, pjrt_executable **program);

/* Device buffers are the caller's to free. Arguments that the program donates are gone afterwards, but for
 * their handle. What has begun has an event, which the caller awaits, once; awaiting frees it. */
unroll_status xla_upload(struct xla_plugin *, int device, enum pjrt_type, const int64_t *dim, size_t dims,
                         const void *data, pjrt_buffer **buffer);
unroll_status xla_download(struct xla_plugin *, pjrt_buffer *, size_t dims, void *to, size_t bytes,
                           pjrt_event **arrived);
void xla_buffer_free(struct xla_plugin *, pjrt_buffer *);
/* argument [devices][arguments], result [devices][..], done [devices]. */
unroll_status xla_execute(struct xla_plugin *, pjrt_executable *, int devices, pjrt_buffer *const *const *argument,
                          size_t arguments, pjrt_buffer **const *result, pjrt_event **done);
unroll_status xla_await(struct xla_plugin *, pjrt_event *, const char *doing);
/* The host is about to wait for what devices computed: a round trip. */
void xla_count_sync(void);

/* What a process has done so far, for tests and benchmarks. */
struct xla_counts {
    uint64_t compiled, executed, uploads, downloads, looks;
};
struct xla_counts xla_counts(void);

#endif
