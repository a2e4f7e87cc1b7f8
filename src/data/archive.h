/* Packed files and archives, through libarchive: gz, xz, zst, bz2, tar, zip. Members one after the other; what is
 * damaged, encrypted, an archive inside an archive, or unpacks to far more than it has is refused. */
#ifndef DATA_ARCHIVE_H
#define DATA_ARCHIVE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct archive_file;

enum { ARCHIVE_HEAD = 512 };

/* By the first bytes of a file. *has_members: it is a tar or zip; else packed data alone. */
bool archive_is(const void *head, size_t bytes, bool *has_members);

bool archive_can_unpack(void); /* are libarchive and zlib part of the program? */

/* descriptor: is read from its beginning, and stays the caller's; below 0: the bytes in memory. name: for messages. */
unroll_status archive_open(int descriptor, const void *bytes, size_t size, const char *name,
                           struct archive_file **file);
/* The next regular file; *member NULL: there are no more. Of packed data alone the one is named "". */
unroll_status archive_next(struct archive_file *file, const char **member);
unroll_status archive_read(struct archive_file *file, void *to, size_t wanted, size_t *got);
void archive_close(struct archive_file *file); /* NULL is allowed */

#endif
