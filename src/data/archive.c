/* Calls of libarchive 3, which is found at run time. */
#include "data/archive.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32.h"
#include "base/library.h"
#include "base/memory.h"

/* Of archive.h. */
enum { ARCHIVE_EOF = 1, ARCHIVE_OK = 0, ARCHIVE_WARN = -20, REGULAR_FILE = 0100000, BLOCK = 1 << 16, GZIP_TRAILER = 8 };
struct archive;
struct archive_entry;

static struct {
    struct archive *(*read_new)(void);
    int (*gzip)(struct archive *), (*xz)(struct archive *), (*zstd)(struct archive *), (*bzip2)(struct archive *);
    int (*tar)(struct archive *), (*zip)(struct archive *), (*raw)(struct archive *), (*empty)(struct archive *);
    int (*open_fd)(struct archive *, int descriptor, size_t block);
    int (*open_memory)(struct archive *, const void *bytes, size_t size);
    int (*next_header)(struct archive *, struct archive_entry **);
    ssize_t (*read_data)(struct archive *, void *to, size_t wanted);
    const char *(*error_string)(struct archive *);
    int64_t (*filter_bytes)(struct archive *, int filter);
    int (*filter_count)(struct archive *);
    int (*read_free)(struct archive *);
    const char *(*pathname)(struct archive_entry *);
    unsigned (*filetype)(struct archive_entry *);
    int (*is_encrypted)(struct archive_entry *);
} la;

static const struct symbol symbols[] = {
    {"archive_read_new", &la.read_new, false},
    {"archive_read_support_filter_gzip", &la.gzip, false},
    {"archive_read_support_filter_xz", &la.xz, false},
    {"archive_read_support_filter_zstd", &la.zstd, false},
    {"archive_read_support_filter_bzip2", &la.bzip2, false},
    {"archive_read_support_format_tar", &la.tar, false},
    {"archive_read_support_format_zip", &la.zip, false},
    {"archive_read_support_format_raw", &la.raw, false},
    {"archive_read_support_format_empty", &la.empty, false},
    {"archive_read_open_fd", &la.open_fd, false},
    {"archive_read_open_memory", &la.open_memory, false},
    {"archive_read_next_header", &la.next_header, false},
    {"archive_read_data", &la.read_data, false},
    {"archive_error_string", &la.error_string, false},
    {"archive_filter_bytes", &la.filter_bytes, false},
    {"archive_filter_count", &la.filter_count, false},
    {"archive_read_free", &la.read_free, false},
    {"archive_entry_pathname", &la.pathname, false},
    {"archive_entry_filetype", &la.filetype, false},
    {"archive_entry_is_encrypted", &la.is_encrypted, false},
};

struct archive_file {
    struct archive *archive;
    char name[160];
    bool has_members, begun;
    int64_t unpacked;
    int descriptor; /* below 0: the bytes */
    const unsigned char *bytes;
    size_t size;
    bool is_gzip;
    unsigned char trailer[GZIP_TRAILER]; /* its last bytes: CRC-32 and size of what gzip packed */
    uint32_t sum;
    struct crc32 crc;
    unsigned char head[ARCHIVE_HEAD]; /* of the member, to see whether it is an archive */
    size_t head_bytes, head_at;
};

bool archive_is(const void *head, size_t bytes, bool *has_members)
{
    static const struct {
        size_t at, length;
        const char *magic;
        bool has_members;
    } kinds[] = {{0, 3, "\x1f\x8b\x08", false}, {0, 6, "\xfd\x37zXZ", false}, {0, 4, "\x28\xb5\x2f\xfd", false},
                 {0, 3, "BZh", false},          {0, 4, "PK\3\4", true},       {0, 4, "PK\5\6", true},
                 {257, 5, "ustar", true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (bytes >= kinds[i].at + kinds[i].length &&
            memcmp((const char *)head + kinds[i].at, kinds[i].magic, kinds[i].length) == 0) {
            *has_members = kinds[i].has_members;
            return true;
        }
    return false;
}

/* Bytes as they lie in the file; how many there are. */
static size_t peek(const struct archive_file *file, uint64_t at, void *to, size_t wanted)
{
    if (file->descriptor >= 0) {
        ssize_t got = pread(file->descriptor, to, wanted, (off_t)at);
        return got > 0 ? (size_t)got : 0;
    }
    size_t left = at < file->size ? file->size - (size_t)at : 0;
    memcpy(to, file->bytes + (left ? at : 0), left < wanted ? left : wanted);
    return left < wanted ? left : wanted;
}

static uint64_t packed_bytes(const struct archive_file *file)
{
    struct stat info;
    if (file->descriptor < 0)
        return file->size;
    return fstat(file->descriptor, &info) == 0 && info.st_size > 0 ? (uint64_t)info.st_size : 0;
}

static unroll_status refuse(const struct archive_file *file, const char *what)
{
    const char *why = la.error_string(file->archive);
    return fail(UNROLL_DATA, "'%s' %s%s%s; fix: fetch or pack it anew", file->name, what, why ? ": " : "",
                why ? why : "");
}

/* libarchive does not compare what gzip packed with the sum behind it. */
static void look_at_gzip(struct archive_file *file)
{
    unsigned char magic[2];
    uint64_t packed = packed_bytes(file);
    file->is_gzip = packed > GZIP_TRAILER && peek(file, 0, magic, 2) == 2 && magic[0] == 0x1f && magic[1] == 0x8b &&
                    peek(file, packed - GZIP_TRAILER, file->trailer, GZIP_TRAILER) == GZIP_TRAILER;
    crc32_begin(&file->crc);
}

/* Does something look like the header of another packed file behind the first? So it is where several were put one
 * behind the other, whose sums are not where the last one's is. */
static bool has_several(const struct archive_file *file)
{
    unsigned char bytes[1 << 12];
    size_t got;
    for (uint64_t at = 1; (got = peek(file, at, bytes, sizeof bytes)) > 3; at += got - 3)
        for (size_t i = 0; i + 3 < got; i++)
            if (bytes[i] == 0x1f && bytes[i + 1] == 0x8b && bytes[i + 2] == 8 && bytes[i + 3] < 32)
                return true;
    return false;
}

static bool is_packed_twice(const struct archive_file *file) { return la.filter_count(file->archive) > 2; }

/* At the end of packed data alone. */
static unroll_status check_gzip(const struct archive_file *file)
{
    bool same_size = get_number(file->trailer + 4, 4) == (uint32_t)file->unpacked;
    bool damaged = same_size ? get_number(file->trailer, 4) != file->sum : !has_several(file);
    return damaged ? fail(UNROLL_DATA, "'%s' is damaged: its checksum differs; fix: fetch or pack it anew", file->name)
                   : UNROLL_OK;
}

static unroll_status begin(struct archive_file *file, int descriptor, const void *bytes, size_t size)
{
    int (*const supported[])(struct archive *) = {la.gzip, la.xz, la.zstd, la.bzip2, la.tar, la.zip, la.raw, la.empty};
    file->archive = la.read_new();
    if (file->archive == NULL)
        return fail(UNROLL_RESOURCE, "no memory to unpack '%s'", file->name);
    for (size_t i = 0; i < sizeof supported / sizeof *supported; i++)
        if (supported[i](file->archive) < ARCHIVE_WARN)
            return refuse(file, "cannot be unpacked here");
    if (descriptor >= 0 && lseek(descriptor, 0, SEEK_SET) != 0)
        return fail(UNROLL_DATA, "cannot read '%s' from its beginning", file->name);
    int opened =
        descriptor >= 0 ? la.open_fd(file->archive, descriptor, BLOCK) : la.open_memory(file->archive, bytes, size);
    return opened < ARCHIVE_WARN ? refuse(file, "is damaged or cut short") : UNROLL_OK;
}

unroll_status archive_open(int descriptor, const void *bytes, size_t size, const char *name,
                           struct archive_file **opened)
{
    struct archive_file *file;
    TRY(library_open(LIBRARY_ARCHIVE, symbols, sizeof symbols / sizeof *symbols, NULL));
    TRY(ALLOCATE(file, 1, "to unpack '%.120s'", name));
    snprintf(file->name, sizeof file->name, "%s", name);
    file->descriptor = descriptor, file->bytes = bytes, file->size = size;
    look_at_gzip(file);
    unroll_status status = begin(file, descriptor, bytes, size);
    if (status == UNROLL_OK)
        *opened = file;
    else
        archive_close(file);
    return status;
}

void archive_close(struct archive_file *file)
{
    if (file && file->archive)
        la.read_free(file->archive);
    release(file);
}

/* What is data packs to a tenth or a hundredth; what makes gigabytes of kilobytes is made for it. */
static unroll_status check_size(struct archive_file *file)
{
    enum { RATIO = 250, FREE = 64 << 20 };
    int64_t packed = la.filter_bytes(file->archive, -1);
    if (file->unpacked < FREE || file->unpacked / RATIO <= packed)
        return UNROLL_OK;
    return fail(UNROLL_DATA,
                "'%s' unpacks to more than %d times its size, %d MB so far, as if without end; fix: if it is what you "
                "want, unpack it first",
                file->name, RATIO, (int)(file->unpacked >> 20));
}

static unroll_status read_data(struct archive_file *file, void *to, size_t wanted, size_t *got)
{
    ssize_t bytes = la.read_data(file->archive, to, wanted);
    if (bytes < 0)
        return refuse(file, "is damaged or cut short");
    *got = (size_t)bytes;
    file->unpacked += bytes;
    if (file->is_gzip && !file->has_members)
        file->sum = crc32_add(&file->crc, file->sum, to, *got);
    TRY(check_size(file));
    bool ended = bytes == 0 && wanted > 0 && file->is_gzip && !file->has_members && !is_packed_twice(file);
    return ended ? check_gzip(file) : UNROLL_OK;
}

/* Its first bytes are kept for archive_read. */
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
        return fail(UNROLL_DATA, "'%s%s%.100s' is an archive inside an archive; fix: unpack the outer one first",
                    file->name, *member ? ": " : "", member);
    return UNROLL_OK;
}

unroll_status archive_next(struct archive_file *file, const char **member)
{
    struct archive_entry *entry;
    *member = NULL;
    for (;;) {
        int found = la.next_header(file->archive, &entry);
        if (found == ARCHIVE_EOF && !file->begun)
            return fail(UNROLL_DATA, "'%s' holds no files; fix: give another", file->name);
        if (found == ARCHIVE_EOF)
            return UNROLL_OK;
        if (found < ARCHIVE_WARN)
            return refuse(file, "is damaged or cut short");
        if (la.is_encrypted(entry))
            return fail(UNROLL_DATA, "'%s' is encrypted; fix: unpack it first, with its password", file->name);
        if (la.filetype(entry) == REGULAR_FILE || la.filetype(entry) == 0)
            break;
    }
    const char *path = la.pathname(entry);
    file->begun = true;
    *member = path && strcmp(path, "data") ? path : "";
    file->has_members = **member != 0;
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
