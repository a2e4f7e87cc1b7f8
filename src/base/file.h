/* Reads and writes whole files. A read returns the whole file or an error; a write never leaves a partial file. Data
 * sets larger than memory have their own readers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Reads a file of at most max_bytes, or at most 1 GiB from a pipe. *data is aligned to 64 bytes and followed by a zero
 * byte that *size does not count. The caller frees it with release(). */
unroll_status read_whole_file(const char *path, uint64_t max_bytes, void **data, size_t *size);

/* Reads the first bytes of a file, at most `room`, and its size. A large file of the wrong kind can then be refused
 * before it is read. *got is 0 if the file is empty or cannot be read twice (a pipe). */
unroll_status read_file_start(const char *path, void *to, size_t room, size_t *got, uint64_t *size);

struct piece {
    const void *data;
    size_t bytes;
};

/* Writes the pieces to a temporary file next to `path`, syncs it and renames it. After a failure or a power loss,
 * `path` is the old file or the complete new one. The temporary file is removed; only a crash may leave it. Pipes,
 * devices and /dev/stdout and the like are written in place; symbolic links are kept. Only one writer may write a path
 * at a time. */
unroll_status write_file_atomically(const char *path, const struct piece *pieces, int count);

struct whole_file {
    const char *path;
    const struct piece *pieces;
    int count;
};

/* Does the same for files that belong together: none is renamed before all are on disk. */
unroll_status write_files_atomically(const struct whole_file files[], int count);

/* Syncs a directory, so that new and renamed entries are on disk. On failure returns false and sets errno. */
bool sync_directory(const char *directory);

unroll_status make_directories(const char *path); /* also the parents; existing ones are no error */
bool file_exists(const char *path);
