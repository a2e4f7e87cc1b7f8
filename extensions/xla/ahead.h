/* A program compiled ahead of time for devices that are not present: its memory and the compiler's cost estimates.
 * Nothing is run, and no device is needed. libtpu is a plugin that supports this. */
#ifndef DEVICE_XLA_AHEAD_H
#define DEVICE_XLA_AHEAD_H
#include "extensions/xla/compiled.h"

struct ahead {
    struct compiled compiled;
    int64_t code, arguments, results, aliased, temporary,
        peak;       /* bytes on a device, with padding; peak: 0 if unknown */
    int devices;    /* of the topology */
    double seconds; /* compile time */
    char plugin[512];
    int major, minor; /* version of the plugin's interface */
};

/* Compiles a program. which: as for xla_plugin_open; topology: the plugin's name for it, "v5e:2x2"; replicas:
 * devices that run the program, 1 to 127. */
unroll_status compile_ahead(const char *which, const char *topology, int replicas, const char *text, size_t size,
                            struct ahead *);

#endif
