/* Replaces archive.c and gzip.c in a build without libarchive and zlib. */
#include "io/archive.h"

bool archive_can_unpack(void) { return false; }

unroll_status archive_open(int descriptor, const void *bytes, size_t size, const char *name, struct archive_file **file)
{
    (void)descriptor, (void)bytes, (void)size, (void)file;
    return fail(UNROLL_UNSUPPORTED,
                "'%s' is packed, and this build of Unroll cannot unpack; fix: apt install "
                "libarchive-dev zlib1g-dev and build again, or unpack the file first",
                name);
}

/* Never called, because no archive can be opened. */
unroll_status archive_next(struct archive_file *file, const char **member)
{
    (void)file, *member = NULL;
    return UNROLL_OK;
}

unroll_status archive_read(struct archive_file *file, void *to, size_t wanted, size_t *got)
{
    (void)file, (void)to, (void)wanted, *got = 0;
    return UNROLL_OK;
}

void archive_close(struct archive_file *file) { (void)file; }
