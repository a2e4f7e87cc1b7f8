/* Libraries that nobody links: they are found when the program runs. One table (library.c) says what they are for,
 * where they lie and which package has them, and there is one way to open them. Each is called by one file. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H
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
    LIBRARY_XLA_CPU
};

enum { LIBRARY_PATH = 1024 }; /* bytes of a path, with its end */

/* What is wanted of a library; slot: where its address goes, a pointer to a pointer. */
struct symbol {
    const char *name;
    void *slot;
    bool optional; /* left as it is where there is none */
};

/* Opens the library, which stays, and finds the symbols: all, or a sentence says what is missing and how to get it.
 * path, if it is not NULL: LIBRARY_PATH bytes for the file. */
unroll_status library_open(enum library, const struct symbol *symbols, size_t count, char *path);
/* The same of a file; name: "the XLA plugin". */
unroll_status library_open_file(const char *name, const char *path, const struct symbol *symbols, size_t count);

/* Is it there? Its file; nothing stays open. */
bool library_find(enum library, char path[LIBRARY_PATH]);
/* How to get it, as the end of a sentence. Returns text. */
const char *library_fix(enum library, char *text, size_t size);

#endif
