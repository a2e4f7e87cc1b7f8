/* Unpacks through libarchive. gzip streams go through zlib instead (gzip.c), because libarchive does not verify gzip
 * checksums. Compiled only if both libraries are present (Makefile); otherwise archive_none.c is compiled. */
#include "io/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/gzip.h"

#if !defined(__APPLE__) && !defined(UNROLL_ARCHIVE_LINKED)
/* A program may link the library without -larchive; packed data is then refused. */
#pragma weak archive_read_new
#pragma weak archive_read_support_filter_xz
#pragma weak archive_read_support_filter_zstd
#pragma weak archive_read_support_filter_bzip2
#pragma weak archive_read_support_format_tar
#pragma weak archive_read_support_format_zip
#pragma weak archive_read_support_format_raw
#pragma weak archive_read_support_format_empty
#pragma weak archive_read_open
#pragma weak archive_read_open_fd
#pragma weak archive_read_open_memory
#pragma weak archive_read_next_header
#pragma weak archive_read_data
#pragma weak archive_error_string
#pragma weak archive_set_error
#pragma weak archive_filter_bytes
#pragma weak archive_filter_count
#pragma weak archive_read_free
#pragma weak archive_entry_pathname
#pragma weak archive_entry_filetype
#pragma weak archive_entry_is_encrypted
#endif

enum { BLOCK = 1 << 16 };

struct archive_file {
    struct archive *archive;
    char name[160];
    bool begun;
    int64_t unpacked;
    struct gzip *gzip;                /* zlib stream that feeds libarchive; NULL if not gzip */
    unsigned char head[ARCHIVE_HEAD]; /* first bytes of the member, to detect nested archives */
    size_t head_bytes, head_at;
};

static unroll_status refuse_archive(const struct archive_file *file, const char *what)
{
    const char *damage = file->gzip ? gzip_error(file->gzip) : NULL;
    const char *why = damage ? damage : archive_error_string(file->archive);
    return fail(UNROLL_DATA, "'%s' %s%s%s; fix: download or pack it again", file->name, what, why ? ": " : "",
                why ? why : "");
}

static bool is_packed_twice(const struct archive_file *file)
{
    return archive_filter_count(file->archive) > (file->gzip ? 1 : 2);
}

/* libarchive's callback: the next bytes of what gzip packed. */
static la_ssize_t read_gzip(struct archive *archive, void *arg, const void **bytes)
{
    struct archive_file *file = arg;
    const int64_t got = gzip_next(file->gzip, bytes);
    if (got < 0)
        archive_set_error(archive, -1, "%s", gzip_error(file->gzip));
    return got;
}

/* Opens the archive from a descriptor (rewound first) or, if descriptor < 0, from memory. */
static unroll_status open_packed(struct archive_file *file, int descriptor, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    unsigned char magic[2];
    if (descriptor >= 0)
        at = pread(descriptor, magic, sizeof magic, 0) == sizeof magic ? magic : NULL;
    if (descriptor >= 0 && lseek(descriptor, 0, SEEK_SET) != 0)
        return fail(UNROLL_DATA, "cannot read '%s' from its start; fix: pack it again", file->name);
    int opened;
    if (at && at[0] == 0x1f && at[1] == 0x8b) {
        TRY(gzip_open(descriptor, bytes, size, &file->gzip));
        opened = archive_read_open(file->archive, file, NULL, read_gzip, NULL);
    } else if (descriptor >= 0)
        opened = archive_read_open_fd(file->archive, descriptor, BLOCK);
    else
        opened = archive_read_open_memory(file->archive, bytes, size);
    const bool damaged = file->gzip && gzip_error(file->gzip);
    return opened < ARCHIVE_WARN || damaged ? refuse_archive(file, "is damaged or cut short") : UNROLL_OK;
}

static unroll_status begin_archive(struct archive_file *file, int descriptor, const void *bytes, size_t size)
{
    int (*const supported[])(struct archive *) = {archive_read_support_filter_xz,    archive_read_support_filter_zstd,
                                                  archive_read_support_filter_bzip2, archive_read_support_format_tar,
                                                  archive_read_support_format_zip,   archive_read_support_format_raw,
                                                  archive_read_support_format_empty};
    file->archive = archive_read_new();
    if (file->archive == NULL)
        return fail(UNROLL_RESOURCE, "no memory to unpack '%s'", file->name);
    for (size_t i = 0; i < sizeof supported / sizeof *supported; i++)
        if (supported[i](file->archive) < ARCHIVE_WARN)
            return refuse_archive(file, "cannot be unpacked on this machine");
    return open_packed(file, descriptor, bytes, size);
}

bool archive_can_unpack(void) { return archive_read_new != NULL && gzip_is_linked(); }

unroll_status archive_open(int descriptor, const void *bytes, size_t size, const char *name,
                           struct archive_file **opened)
{
    struct archive_file *file;
    if (!archive_can_unpack())
        return fail(
            UNROLL_UNSUPPORTED,
            "'%s' is packed, and this program was linked without libarchive and zlib; fix: link with -larchive -lz "
            "and keep the linker from dropping them (docs/guide/data.md), or unpack the file first",
            name);
    TRY(ALLOCATE(file, 1, "to unpack '%.120s'", name));
    snprintf(file->name, sizeof file->name, "%s", name);
    unroll_status status = begin_archive(file, descriptor, bytes, size);
    if (status == UNROLL_OK)
        *opened = file;
    else
        archive_close(file);
    return status;
}

void archive_close(struct archive_file *file)
{
    if (file && file->archive)
        archive_read_free(file->archive);
    if (file)
        gzip_close(file->gzip);
    release(file);
}

/* Refuses decompression bombs: real data packs to a tenth or a hundredth of its size, not to 1/250. */
static unroll_status check_size(struct archive_file *file)
{
    enum { RATIO = 250, FREE = 64 << 20 };
    const int64_t packed = file->gzip ? (int64_t)gzip_packed(file->gzip) : archive_filter_bytes(file->archive, -1);
    if (file->unpacked < FREE || file->unpacked / RATIO <= packed)
        return UNROLL_OK;
    return fail(UNROLL_DATA,
                "'%s' unpacks to more than %d times its size (%d MB so far), which looks like a decompression bomb; "
                "fix: if you trust it, unpack it first",
                file->name, RATIO, (int)(file->unpacked >> 20));
}

static unroll_status read_data(struct archive_file *file, void *to, size_t wanted, size_t *got)
{
    ssize_t bytes = archive_read_data(file->archive, to, wanted);
    if (bytes < 0)
        return refuse_archive(file, "is damaged or cut short");
    *got = (size_t)bytes;
    file->unpacked += bytes;
    return check_size(file);
}

/* Reads the first bytes of a member, keeps them for archive_read, and refuses archives inside archives. */
static unroll_status begin_member(struct archive_file *file, const char *member)
{
    size_t got = 1;
    bool has_members;
    file->head_bytes = file->head_at = 0;
    while (got && file->head_bytes < sizeof file->head) {
        TRY(read_data(file, file->head + file->head_bytes, sizeof file->head - file->head_bytes, &got));
        file->head_bytes += got;
    }
    if (archive_is(file->head, file->head_bytes, &has_members) || is_packed_twice(file))
        return fail(UNROLL_DATA, "'%s%s%.100s' is an archive in an archive; fix: unpack the outer one first",
                    file->name, *member ? ": " : "", member);
    return UNROLL_OK;
}

/* Reads a gzip stream to its end: its checksum follows the last byte that tar reads. */
static unroll_status read_rest(struct archive_file *file)
{
    const void *bytes;
    int64_t got;
    while (file->gzip && (got = gzip_next(file->gzip, &bytes)) != 0) {
        if (got < 0)
            return fail(UNROLL_DATA, "'%s' is damaged or cut short: %s; fix: download or pack it again", file->name,
                        gzip_error(file->gzip));
        file->unpacked += got;
        TRY(check_size(file));
    }
    return UNROLL_OK;
}

unroll_status archive_next(struct archive_file *file, const char **member)
{
    struct archive_entry *entry;
    *member = NULL;
    for (;;) {
        int found = archive_read_next_header(file->archive, &entry);
        if (found == ARCHIVE_EOF && !file->begun)
            return fail(UNROLL_DATA, "'%s' contains no files; fix: name another archive", file->name);
        if (found == ARCHIVE_EOF)
            return read_rest(file);
        if (found < ARCHIVE_WARN)
            return refuse_archive(file, "is damaged or cut short");
        if (archive_entry_is_encrypted(entry))
            return fail(UNROLL_DATA, "'%s' is encrypted; fix: unpack it first, with its password", file->name);
        if (archive_entry_filetype(entry) == AE_IFREG || archive_entry_filetype(entry) == 0)
            break;
    }
    const char *path = archive_entry_pathname(entry);
    file->begun = true;
    *member = path && strcmp(path, "data") ? path : "";
    return begin_member(file, *member);
}

unroll_status archive_read(struct archive_file *file, void *to, size_t wanted, size_t *got)
{
    size_t kept = file->head_bytes - file->head_at;
    if (kept == 0)
        return read_data(file, to, wanted, got);
    *got = kept < wanted ? kept : wanted;
    memcpy(to, file->head + file->head_at, *got);
    file->head_at += *got;
    return UNROLL_OK;
}
