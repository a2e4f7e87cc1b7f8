/* Decompression with zlib. Compiled only if libarchive and zlib are present (Makefile). */
#include "io/gzip.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/memory.h"

#if !defined(__APPLE__) && !defined(UNROLL_ARCHIVE_LINKED)
/* A program may link the library without -lz (docs/guide/data.md). */
#pragma weak inflateInit2_
#pragma weak inflate
#pragma weak inflateReset
#pragma weak inflateEnd
#endif

enum { PACKED = 1 << 16, UNPACKED = 1 << 17, GZIP_WINDOW = 15 + 16 };

struct gzip {
    z_stream stream;
    int descriptor; /* negative: the stream's input already holds all bytes */
    bool ended;     /* all input has been read */
    bool between;   /* between two members */
    const char *error;
    uint64_t packed; /* bytes read so far */
    unsigned char in[PACKED], out[UNPACKED];
};

bool gzip_is_linked(void) { return inflate != NULL; }

unroll_status gzip_open(int descriptor, const void *bytes, size_t size, struct gzip **gzip)
{
    struct gzip *made;
    TRY(ALLOCATE(made, 1, "to unpack"));
    made->descriptor = descriptor;
    made->between = true;
    if (descriptor < 0) {
        made->stream.next_in = (unsigned char *)bytes;
        made->stream.avail_in = size < UINT32_MAX ? (unsigned)size : UINT32_MAX;
        made->ended = true;
        made->packed = size;
    }
    if (inflateInit2(&made->stream, GZIP_WINDOW) != Z_OK) {
        release(made);
        return fail(UNROLL_RESOURCE, "no memory to unpack");
    }
    *gzip = made;
    return UNROLL_OK;
}

void gzip_close(struct gzip *gzip)
{
    if (gzip)
        inflateEnd(&gzip->stream);
    release(gzip);
}

const char *gzip_error(const struct gzip *gzip) { return gzip->error; }
uint64_t gzip_packed(const struct gzip *gzip) { return gzip->packed - gzip->stream.avail_in; }

static int64_t refuse_gzip(struct gzip *gzip, const char *why)
{
    gzip->error = why;
    return -1;
}

/* Reads more packed bytes and appends them to the unread input. */
static bool read_more(struct gzip *gzip)
{
    ssize_t got;
    if (gzip->stream.avail_in)
        memmove(gzip->in, gzip->stream.next_in, gzip->stream.avail_in);
    do got = read(gzip->descriptor, gzip->in + gzip->stream.avail_in, PACKED - gzip->stream.avail_in);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return false;
    gzip->stream.next_in = gzip->in;
    gzip->stream.avail_in += (unsigned)got;
    gzip->packed += (uint64_t)got;
    gzip->ended = got == 0;
    return true;
}

/* Skips the zeros that may pad a file. *more: another member begins. Returns an error text or NULL. */
static const char *begin_member(struct gzip *gzip, bool *more)
{
    while (gzip->stream.avail_in && *gzip->stream.next_in == 0) gzip->stream.next_in++, gzip->stream.avail_in--;
    *more = gzip->stream.avail_in >= 2;
    if (*more ? gzip->stream.next_in[0] != 0x1f || gzip->stream.next_in[1] != 0x8b : gzip->stream.avail_in > 0)
        return "other bytes follow the packed data";
    gzip->between = !*more;
    return *more && inflateReset(&gzip->stream) != Z_OK ? "no memory" : NULL;
}

int64_t gzip_next(struct gzip *gzip, const void **bytes)
{
    z_stream *s = &gzip->stream;
    bool more = true;
    s->next_out = gzip->out, s->avail_out = UNPACKED;
    while (s->avail_out == UNPACKED) {
        while (!gzip->ended && s->avail_in < PACKED / 2)
            if (!read_more(gzip))
                return refuse_gzip(gzip, strerror(errno));
        const char *error = gzip->between ? begin_member(gzip, &more) : NULL;
        if (error)
            return refuse_gzip(gzip, error);
        if (!more && !gzip->ended)
            continue;
        if (!more)
            return 0;
        const int status = inflate(s, Z_NO_FLUSH);
        gzip->between = status == Z_STREAM_END;
        if (status == Z_BUF_ERROR || (status == Z_OK && s->avail_in == 0 && gzip->ended && s->avail_out))
            return refuse_gzip(gzip, "it is cut short");
        if (status != Z_OK && status != Z_STREAM_END)
            return refuse_gzip(gzip, s->msg ? s->msg : "no memory");
    }
    *bytes = gzip->out;
    return UNPACKED - (int64_t)s->avail_out;
}
