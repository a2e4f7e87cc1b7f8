/* Packed files and archives, through libarchive: gz, xz, zst, bz2, tar, zip. Members are read one after the other. Data
 * that is damaged or encrypted, archives inside archives, and data that unpacks to far more than its size are
 * refused. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct archive_file;

enum { ARCHIVE_HEAD = 512 };

/* Recognizes packed files and archives by their first bytes. *has_members: a tar or zip, not a single packed file. */
bool archive_is(const void *head, size_t bytes, bool *has_members);

bool archive_can_unpack(void); /* true if libarchive and zlib are linked */

/* Opens an archive. The descriptor is read from its beginning and remains the caller's; if it is negative, the archive
 * is the `size` bytes in memory. name: for messages. */
unroll_status archive_open(int descriptor, const void *bytes, size_t size, const char *name,
                           struct archive_file **file);
/* Advances to the next regular file; *member is NULL after the last. A single packed file has the name "". */
unroll_status archive_next(struct archive_file *file, const char **member);
unroll_status archive_read(struct archive_file *file, void *to, size_t wanted, size_t *got);
void archive_close(struct archive_file *file); /* NULL is a no-op */
