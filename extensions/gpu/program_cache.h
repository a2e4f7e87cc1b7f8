/* Compiled programs on disk: one file for each program, driver and device, identified by its name and header. Files
 * are written atomically, so processes may share the folder; a file that is damaged or belongs to another driver is
 * rebuilt. Each API has its own folder, set by an environment variable (empty: no cache), or else unroll/KIND in
 * XDG_CACHE_HOME or ~/.cache. Contains no OpenCL and no CUDA. */
#ifndef DEVICE_GPU_PROGRAM_CACHE_H
#define DEVICE_GPU_PROGRAM_CACHE_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRAM_PATH = 1024 };

struct program_folder {
    const char *variable, *kind; /* "UNROLL_OPENCL_CACHE", "opencl" */
};

struct program_key {
    char path[PROGRAM_PATH]; /* of the file; "": no cache */
    uint64_t driver, text;   /* hashes */
};

/* driver: hash of the compiler and the device. */
void program_key_of(const struct program_folder *, uint64_t driver, const char *options, const char *text,
                    struct program_key *);

/* Returns false if no intact file of this driver and text exists. The caller releases *data. */
bool program_cache_read(const struct program_key *, void **data, size_t *size);
/* Does nothing if the folder is not writable. */
void program_cache_write(const struct program_folder *, const struct program_key *, const void *data, size_t size);

/* Writes a text that does not compile and the compiler's log to a file in the cache's folder, or in /tmp without a
 * cache. Returns false if it cannot be written. */
bool program_keep_text(const struct program_folder *, const char *program, const char *text, size_t size,
                       const char *log, char path[PROGRAM_PATH]);

#endif
