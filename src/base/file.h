/* Whole files in and out, safely: a reader gets all or an error, a writer never leaves half a file.
 * Not a stream: data sets that do not fit memory have their own readers. */
#ifndef BASE_FILE_H
#define BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Reads at most max_bytes, and from a pipe at most 1 GiB; larger is an error. The bytes are aligned to 64 and
 * followed by a zero byte that *size does not count. The caller gives them to release(). */
unroll_status read_whole_file(const char *path, uint64_t max_bytes, void **data, size_t *size);

/* The first bytes of a file, at most `room`, and how many it has: to refuse what is large and of the wrong kind without
 * reading it. *got = 0: it is empty, or can't be looked at twice (a pipe). */
unroll_status read_file_start(const char *path, void *to, size_t room, size_t *got, uint64_t *size);

struct piece {
    const void *data;
    size_t bytes;
};

/* Writes the pieces one after another: to a temporary file beside `path`, synced to the disk, renamed.
 * After a failure, or a loss of power, `path` is the old file or the whole new one, never a part of it,
 * and the temporary is gone (a crash may leave one). What is not a regular file (a pipe, a device), and
 * /dev/stdout and the like whatever is behind them, is written in place; a symbolic link stays one. One writer
 * a path at a time. */
unroll_status write_file_atomically(const char *path, const struct piece *pieces, int count);

struct whole_file {
    const char *path;
    const struct piece *pieces;
    int count;
};

/* The same for files that belong together: none is renamed before all are on the disk. */
unroll_status write_files_atomically(const struct whole_file files[], int count);

/* Names in a directory, renamed ones too, are on the disk when it is; false: errno says why not. */
bool sync_directory(const char *directory);

unroll_status make_directories(const char *path); /* and their parents; existing ones are fine */
bool file_exists(const char *path);

#endif
