/* A program compiled ahead of time for devices that are not here: what memory it would take and what its compiler
 * expects it to cost. Nothing is run, and no device is needed; a plugin that can do this is libtpu. */
#ifndef DEVICE_XLA_AHEAD_H
#define DEVICE_XLA_AHEAD_H
#include "device/xla/compiled.h"

struct ahead {
    struct compiled compiled;
    int64_t code, arguments, results, aliased, temporary, peak; /* bytes on a device, padded; peak: 0: not told */
    int devices;                                                /* of the topology */
    double seconds;                                             /* that the compiler took */
    char plugin[512];
    int major, minor; /* of the plugin's interface */
};

/* which: as for xla_plugin_open; topology: in the plugin's words, "v5e:2x2"; replicas: devices that run
 * the program, 1 to 127. */
unroll_status compile_ahead(const char *which, const char *topology, int replicas, const char *text, size_t size,
                            struct ahead *);

#endif
