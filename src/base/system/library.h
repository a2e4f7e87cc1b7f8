/* Libraries loaded at run time. One table (library.c) lists their purpose, location and package, and one function opens
 * them. Each is used by one file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum library {
    LIBRARY_OPENMPI,
    LIBRARY_MPICH,
    LIBRARY_UCX,
    LIBRARY_SIMGRID,
    LIBRARY_CUDA,
    LIBRARY_CUBLASLT,
    LIBRARY_NCCL,
    LIBRARY_NVRTC,
    LIBRARY_OPENCL,
    LIBRARY_XLA_TPU,
    LIBRARY_XLA_CUDA,
    LIBRARY_XLA_CPU,
    LIBRARY_SNDFILE,
    LIBRARIES
};

enum { LIBRARY_PATH = 1024 }; /* bytes of a path with its final zero */

/* A symbol to find. `slot` is the address of the pointer to set. */
struct symbol {
    const char *name;
    void *slot;
    bool optional; /* may be missing; its slot is then unchanged */
};

/* Loads the library for the rest of the process and finds its symbols. The error names what is missing and how to
 * install it. `path` may be NULL; otherwise LIBRARY_PATH bytes for the name of the file. */
unroll_status library_open(enum library, const struct symbol *symbols, size_t count, char *path);
/* Does the same for a file. `name` is for messages: "the XLA plugin". */
unroll_status library_open_file(const char *name, const char *path, const struct symbol *symbols, size_t count);

/* Returns whether the library is installed, and its file. Nothing remains open. */
bool library_find(enum library, char path[LIBRARY_PATH]);
/* Writes how to install it, as the end of a sentence. Returns text. */
const char *library_fix(enum library, char *text, size_t size);

/* Returns the name of the library with that index, and what it is for; NULL after the last. */
const char *library_name(int index, const char **purpose);
