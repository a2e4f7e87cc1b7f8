/* Decompresses all members of a gzip file with zlib, which verifies the CRC-32 and size of each. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct gzip;

bool gzip_is_linked(void); /* true if zlib is linked */

/* Opens a gzip stream. The descriptor is read from its beginning and remains the caller's; if it is negative, the
 * stream is the `size` bytes in memory. */
unroll_status gzip_open(int descriptor, const void *bytes, size_t size, struct gzip **gzip);
/* Sets *bytes to the next unpacked bytes, valid until the next call. Returns their number, 0 at the end of the file, or
 * -1 if it is damaged (see gzip_error). */
int64_t gzip_next(struct gzip *gzip, const void **bytes);
const char *gzip_error(const struct gzip *gzip); /* NULL: no error */
uint64_t gzip_packed(const struct gzip *gzip);   /* packed bytes read so far */
void gzip_close(struct gzip *gzip);              /* NULL is a no-op */
