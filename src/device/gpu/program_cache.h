/* Compiled programs on disk: one file for each program, driver and device, whose name and head identify it. Files are
 * written whole or not at all, so processes may share the folder; a file that is damaged, or of another driver, is
 * built again. Each API has a folder: the one that an environment variable names (empty: no cache), else unroll/KIND in
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
    char path[PROGRAM_PATH]; /* of the file; "": there is no cache */
    uint64_t driver, text;   /* hashes */
};

/* driver: hash of what compiles and of the device. */
void program_key_of(const struct program_folder *, uint64_t driver, const char *options, const char *text,
                    struct program_key *);

/* Returns false if no file is whole and of that driver and text. The caller releases *data. */
bool program_cache_read(const struct program_key *, void **data, size_t *size);
/* Writes nothing if the folder cannot be written. */
void program_cache_write(const struct program_folder *, const struct program_key *, const void *data, size_t size);

/* Writes a text that does not compile and the compiler's log to a file of the cache's folder, or of /tmp without one.
 * Returns false if it cannot be written. */
bool program_keep_text(const struct program_folder *, const char *program, const char *text, size_t size,
                       const char *log, char path[PROGRAM_PATH]);

#endif
