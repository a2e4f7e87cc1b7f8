/* Reads and writes whole files. Every system error is reported with path and reason: UNROLL_DATA for reading,
 * UNROLL_RESOURCE for writing. File formats are handled in io/ and data/. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"

enum { LARGEST_TRANSFER = 1 << 30 }; /* bytes per read or write; Linux allows 2^31 - 4096 */

/* ---- reading ---- */

/* Limit for pipes and devices, which may never end. */
#define ENDLESS ((uint64_t)1 << 30)

struct file_buffer {
    char *at;
    size_t used, capacity; /* capacity + 1 bytes are allocated, for the final zero */
};

/* Enlarges the buffer; fails if it would exceed the memory limit. */
static unroll_status grow(struct file_buffer *buffer, size_t capacity, const char *path)
{
    uint64_t limit = unroll_memory_limit();
    if (capacity > limit)
        return fail(
            UNROLL_RESOURCE,
            "reading '%s' needs %.1f MB and the memory limit is %.1f MB; fix: use a smaller file, or raise the limit "
            "(`memory`)",
            path, (double)capacity / 1e6, (double)limit / 1e6);
    char *larger;
    TRY(ALLOCATE(larger, capacity + 1, "for '%s' (%zu bytes)", path, capacity));
    if (buffer->used > 0)
        memcpy(larger, buffer->at, buffer->used);
    release(buffer->at);
    buffer->at = larger;
    buffer->capacity = capacity;
    return UNROLL_OK;
}

/* Allocates one byte more than the file's size, so that the end is distinguished from a file that grows. */
static unroll_status first_buffer(int descriptor, const char *path, uint64_t max_bytes, struct file_buffer *buffer)
{
    struct stat info;
    uint64_t size = 65536;
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
        size = (uint64_t)info.st_size + 1;
    if (size > max_bytes)
        size = max_bytes < SIZE_MAX ? max_bytes + 1 : SIZE_MAX;
    return grow(buffer, size, path);
}

static unroll_status cannot_read(const char *path, int reason)
{
    return fail(UNROLL_DATA, "cannot read '%s': %s%s", path, strerror(reason),
                reason == EISDIR ? "; fix: name a file in it" : "");
}

static unroll_status open_to_read(const char *path, int *descriptor)
{
    *descriptor = open(path, O_RDONLY | O_CLOEXEC);
    return *descriptor >= 0 ? UNROLL_OK
                            : fail(UNROLL_DATA, "cannot open '%s': %s%s", path, strerror(errno),
                                   errno == ENOENT ? "; fix: check the name" : "");
}

/* Reads to the end of the file. Fails if it has more than max_bytes, or for pipes and devices more than ENDLESS. */
static unroll_status read_all(int descriptor, const char *path, uint64_t max_bytes, struct file_buffer *buffer)
{
    struct stat info;
    const bool known = fstat(descriptor, &info) == 0, ends = max_bytes <= ENDLESS || (known && S_ISREG(info.st_mode));
    if (!ends && known && S_ISCHR(info.st_mode) && !isatty(descriptor))
        return fail(UNROLL_DATA, "'%s' is a device; fix: name a file", path);
    max_bytes = ends ? max_bytes : ENDLESS;
    TRY(first_buffer(descriptor, path, max_bytes, buffer));
    for (;;) {
        size_t left = buffer->capacity - buffer->used;
        if (left > LARGEST_TRANSFER)
            left = LARGEST_TRANSFER;
        ssize_t got = read(descriptor, buffer->at + buffer->used, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(path, errno);
        if (got == 0)
            return UNROLL_OK;
        buffer->used += (size_t)got;
        if (buffer->used > max_bytes)
            return fail(UNROLL_DATA, "'%s' is larger than the %" PRIu64 " bytes allowed here%s", path, max_bytes,
                        ends ? "" : "; fix: save it as a file, and name that");
        if (buffer->used == buffer->capacity)
            TRY(grow(buffer, buffer->capacity > SIZE_MAX / 2 ? SIZE_MAX : buffer->capacity * 2, path));
    }
}

unroll_status read_whole_file(const char *path, uint64_t max_bytes, void **data, size_t *size)
{
    struct file_buffer buffer = {NULL, 0, 0};
    int descriptor;
    TRY(open_to_read(path, &descriptor));
    unroll_status status = read_all(descriptor, path, max_bytes, &buffer);
    close(descriptor);
    if (status != UNROLL_OK) {
        release(buffer.at);
        return status;
    }
    buffer.at[buffer.used] = '\0';
    *data = buffer.at;
    *size = buffer.used;
    return UNROLL_OK;
}

unroll_status read_file_start(const char *path, void *to, size_t room, size_t *got, uint64_t *size)
{
    struct stat info;
    int descriptor;
    TRY(open_to_read(path, &descriptor));
    bool is_known = fstat(descriptor, &info) == 0, is_regular = is_known && S_ISREG(info.st_mode);
    ssize_t found = is_regular ? pread(descriptor, to, room, 0) : 0;
    close(descriptor);
    if (is_known && S_ISDIR(info.st_mode))
        return cannot_read(path, EISDIR);
    *got = found > 0 ? (size_t)found : 0;
    *size = is_regular ? (uint64_t)info.st_size : 0;
    return UNROLL_OK;
}

/* ---- writing ---- */

static unroll_status cannot_write(const char *path)
{
    return fail(UNROLL_RESOURCE, "cannot write '%s': %s%s", path, strerror(errno),
                errno == ENOENT ? "; fix: make its folder first" : "");
}

static bool write_all(int descriptor, const struct piece *piece)
{
    const char *at = piece->data;
    size_t left = piece->bytes;
    while (left > 0) {
        ssize_t put = write(descriptor, at, left < LARGEST_TRANSFER ? left : LARGEST_TRANSFER);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        at += put;
        left -= (size_t)put;
    }
    return true;
}

/* fsync fails with EINVAL for pipes and on some file systems, with EBADF for folders of WASI. */
static bool sync_descriptor(int descriptor)
{
    return fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS || errno == EBADF;
}

/* Returns N for /dev/fd/N and /proc/self/fd/N, also through a link to the latter (/dev/stdout); -1 for other paths. */
static int descriptor_of(const char *path)
{
    static const char proc[] = "/proc/self/fd/", dev[] = "/dev/fd/";
    char target[32] = "";
    int64_t descriptor;
    if (readlink(path, target, sizeof target - 1) > 0 && strncmp(target, proc, sizeof proc - 1) == 0)
        path = target;
    size_t folder = !strncmp(path, proc, sizeof proc - 1) ? sizeof proc - 1
                    : !strncmp(path, dev, sizeof dev - 1) ? sizeof dev - 1
                                                          : 0;
    bool is_one = folder && number_whole_integer(path + folder, 0, INT_MAX, &descriptor) == NUMBER_OK;
    return is_one ? (int)descriptor : -1;
}

/* Duplicates an open descriptor. Opening /dev/fd/N by name would write its file from the beginning. */
static int open_to_write(const char *path, int flags)
{
    int descriptor = descriptor_of(path);
    return descriptor < 0 ? open(path, O_WRONLY | O_CLOEXEC | flags, 0666) : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

/* Opens, writes, syncs and closes `path`. Messages contain `shown`, the path that the user gave. */
static unroll_status write_pieces(const char *path, int flags, const char *shown, const struct piece *pieces, int count)
{
    int descriptor = open_to_write(path, flags);
    unroll_status status = UNROLL_OK;
    if (descriptor < 0)
        return cannot_write(shown);
    for (int i = 0; i < count && status == UNROLL_OK; i++)
        if (!write_all(descriptor, &pieces[i]))
            status = cannot_write(shown);
    if (status == UNROLL_OK && !sync_descriptor(descriptor))
        status = cannot_write(shown);
    if (close(descriptor) != 0 && status == UNROLL_OK)
        status = cannot_write(shown);
    return status;
}

bool sync_directory(const char *directory)
{
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    bool good = sync_descriptor(descriptor);
    int error = errno;
    close(descriptor);
    errno = error;
    return good;
}

/* Paths for replacing a file. The temporary file is in the directory that links resolve to, so the links remain. */
struct replacement {
    char path[PATH_MAX], directory[PATH_MAX], temporary[PATH_MAX + 32];
    bool in_place; /* written directly, not renamed */
};

/* Chooses the temporary file next to `path`. Devices and descriptors are written in place. */
static unroll_status name_staged(const char *path, struct replacement *to)
{
    struct stat info;
    if (strlen(path) >= sizeof to->path || *path == '\0' || path[strlen(path) - 1] == '/')
        return fail(UNROLL_RESOURCE, "cannot write '%s': this is not a file name; fix: give a file name", path);
    /* A directory fails later with EISDIR. */
    to->in_place = descriptor_of(path) >= 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
    if (to->in_place || realpath(path, to->path) == NULL)
        strcpy(to->path, path);
    const char *slash = strrchr(to->path, '/');
    const char *name = slash ? slash + 1 : to->path;
    int directory_length = (int)(name - to->path);

    snprintf(to->directory, sizeof to->directory, "%.*s", slash ? directory_length : 1, slash ? to->path : ".");
    snprintf(to->temporary, sizeof to->temporary, "%.*s.%s.tmp.%ld", directory_length, to->path, name, (long)getpid());
    return UNROLL_OK;
}

static unroll_status stage(const struct whole_file *file, struct replacement *to)
{
    TRY(name_staged(file->path, to));
    if (to->in_place)
        return write_pieces(to->path, 0, file->path, file->pieces, file->count);
    return write_pieces(to->temporary, O_CREAT | O_TRUNC | O_NOFOLLOW, file->path, file->pieces, file->count);
}

static unroll_status take_place(const struct replacement *from, const char *shown)
{
    if (from->in_place)
        return UNROLL_OK;
    if (rename(from->temporary, from->path) != 0 || !sync_directory(from->directory))
        return cannot_write(shown);
    return UNROLL_OK;
}

unroll_status write_files_atomically(const struct whole_file files[], int count)
{
    struct replacement *staged = allocate_zeroed((size_t)count, sizeof *staged);
    unroll_status status = staged ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for file names");
    int written = 0;
    for (; written < count && status == UNROLL_OK; written++) status = stage(&files[written], &staged[written]);
    for (int i = 0; i < count && status == UNROLL_OK; i++) status = take_place(&staged[i], files[i].path);
    for (int i = 0; i < written && status != UNROLL_OK; i++)
        if (!staged[i].in_place)
            unlink(staged[i].temporary);
    release(staged);
    return status;
}

unroll_status write_file_atomically(const char *path, const struct piece *pieces, int count)
{
    return write_files_atomically(&(struct whole_file){path, pieces, count}, 1);
}

/* ---- names ---- */

bool file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static unroll_status make_directory(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return UNROLL_OK;
    return fail(UNROLL_RESOURCE,
                "cannot make the directory '%s': %s; fix: choose another place, or change the permissions", path,
                strerror(errno));
}

unroll_status make_directories(const char *path)
{
    char parent[PATH_MAX];
    if (strlen(path) >= sizeof parent)
        return fail(UNROLL_RESOURCE, "cannot make the directory '%s': the name is too long; fix: use a shorter name",
                    path);
    strcpy(parent, path);
    for (char *slash = strchr(parent + 1, '/'); *path && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        TRY(make_directory(parent));
        *slash = '/';
    }
    return make_directory(path);
}
