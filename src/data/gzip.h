/* What gzip packed, unpacked by zlib: all members of a file, each held against its own CRC-32 and size. */
#ifndef DATA_GZIP_H
#define DATA_GZIP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct gzip;

bool gzip_is_linked(void); /* is zlib part of the program? */

/* descriptor: read from its beginning and kept by the caller; below 0: the bytes in memory. */
unroll_status gzip_open(int descriptor, const void *bytes, size_t size, struct gzip **gzip);
/* The next unpacked bytes, valid until the next call. Returns how many, 0: the file has ended; -1: it is damaged, as
 * gzip_error says. */
int64_t gzip_next(struct gzip *gzip, const void **bytes);
const char *gzip_error(const struct gzip *gzip); /* NULL: there is none */
uint64_t gzip_packed(const struct gzip *gzip);   /* bytes read so far */
void gzip_close(struct gzip *gzip);              /* NULL is allowed */

#endif
