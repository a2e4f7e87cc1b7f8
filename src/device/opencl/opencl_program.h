/* Built programs on disk: one file for each program, driver and device, whose name and head say of what it is. Files
 * are written whole or not at all, so processes may share the folder; one that is damaged, or of another driver, is
 * built anew. The folder: UNROLL_OPENCL_CACHE in the environment (empty: there is no cache), else unroll/opencl in
 * XDG_CACHE_HOME or ~/.cache. Knows no OpenCL. */
#ifndef DEVICE_OPENCL_PROGRAM_H
#define DEVICE_OPENCL_PROGRAM_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPENCL_PATH = 1024 };

struct opencl_key {
    char path[OPENCL_PATH]; /* of the file; "": there is no cache */
    uint64_t driver, text;  /* hashes */
};

unroll_status opencl_key_of(const char *platform, const char *driver, const char *device, const char *options,
                            const char *text, struct opencl_key *);

/* false: there is none that is whole and of that driver and text. The caller releases *data. */
bool opencl_cache_read(const struct opencl_key *, void **data, size_t *size);
void opencl_cache_write(const struct opencl_key *, const void *data, size_t size);

/* A text that does not compile, and the compiler's log, in a file of the cache's folder, or of /tmp without one; false:
 * it can't be written. */
bool opencl_keep_text(const char *program, const char *text, size_t size, const char *log, char path[OPENCL_PATH]);

#endif
