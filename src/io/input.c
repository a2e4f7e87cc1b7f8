/* Keeps one file open at a time and buffers lines. Pipes are copied to an unnamed temporary file, so that every input
 * can be read again. Packed data goes through archive.c. */
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "io/archive.h"

enum { NAME_SHOWN = 160, BUFFER = 1 << 16, LINE_MAX_BYTES = 64 << 20, HASHED = 1 << 18 };

static uint64_t spool_max = (uint64_t)8 << 30;

void input_limit(uint64_t bytes) { spool_max = bytes; }

struct input {
    char path[4096], name[NAME_SHOWN + 40];
    int descriptor; /* of the current member; -1: none */
    int spool;      /* copy of what came from a pipe; -1: not a pipe */
    bool is_folder;
    bool packed_alone;            /* the last member was a packed file without a name of its own */
    struct archive_file *archive; /* open archive; NULL: none */
    char **file;                  /* [files] of a folder, sorted; otherwise the single file */
    int files, files_room, next;
    const char *memory; /* bytes of input_of_memory; NULL: files */
    size_t memory_size, memory_at;
    char *buffer; /* [room]; bytes begin..end have not been returned yet */
    size_t room, begin, end;
    bool ended; /* nothing follows the buffer in this member */
    int64_t lines;
};

static unroll_status skip_mark(struct input *input);

static unroll_status new_input(const char *name, struct input **input)
{
    struct input *made;
    TRY(ALLOCATE(made, 1, "to read '%.*s'", NAME_SHOWN, name));
    snprintf(made->path, sizeof made->path, "%s", name);
    snprintf(made->name, sizeof made->name, "%.*s", NAME_SHOWN, name);
    made->descriptor = made->spool = -1;
    *input = made;
    return UNROLL_OK;
}

static unroll_status cannot_read(const struct input *input)
{
    return fail(UNROLL_DATA, "cannot read '%.*s': %s; fix: check its name and permissions", NAME_SHOWN, input->name,
                strerror(errno));
}

/* ---- opening ---- */

static unroll_status add_file(struct input *input, const char *path)
{
    if (input->files == input->files_room) {
        int room = 2 * input->files_room + 4;
        if (!enlarge(&input->file, (size_t)input->files * sizeof(char *), (size_t)room * sizeof(char *)))
            return fail(UNROLL_RESOURCE, "no memory for the file names in '%.*s'", NAME_SHOWN, input->name);
        input->files_room = room;
    }
    char *copy;
    TRY(ALLOCATE(copy, strlen(path) + 1, "for a name"));
    input->file[input->files++] = strcpy(copy, path);
    return UNROLL_OK;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static _Thread_local struct input *walked; /* nftw has no argument for the caller's data */
enum { FILES_MAX = 1 << 22 };
static _Thread_local unroll_status walk_status;

static int visit(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)ftw;
    if (strstr(path + strlen(walked->path), "/.")) /* in a hidden folder or hidden itself */
        return 0;
    if (walked->files == FILES_MAX)
        walk_status =
            fail(UNROLL_DATA, "the folder '%.*s' has more than %d files; fix: name a folder that holds only data",
                 NAME_SHOWN, walked->name, FILES_MAX);
    else if (type == FTW_F && S_ISREG(info->st_mode))
        walk_status = add_file(walked, path);
    return walk_status != UNROLL_OK;
}

/* Lists the files of a folder, sorted. Hidden files are skipped. */
static unroll_status list_folder(struct input *input)
{
    char *whole = realpath(input->path, NULL);
    const bool is_root = whole && strcmp(whole, "/") == 0;
    free(whole);
    if (is_root)
        return fail(UNROLL_DATA, "'%.*s' is the root folder; fix: name a folder that holds only data", NAME_SHOWN,
                    input->name);
    input->is_folder = true;
    walked = input;
    walk_status = UNROLL_OK;
    if (nftw(input->path, visit, 16, 0) < 0)
        return cannot_read(input);
    TRY(walk_status);
    if (input->files == 0)
        return fail(UNROLL_DATA, "the folder '%.*s' has no files; fix: name another", NAME_SHOWN, input->name);
    qsort(input->file, (size_t)input->files, sizeof *input->file, compare_names);
    return UNROLL_OK;
}

static unroll_status keep(struct input *input, const char *bytes, ssize_t count, const char *path)
{
    for (ssize_t put, at = 0; at < count; at += put)
        if ((put = write(input->spool, bytes + at, (size_t)(count - at))) < 0)
            return fail(UNROLL_RESOURCE, "cannot store %s in '%s': %s; fix: set TMPDIR=FOLDER", input->name, path,
                        strerror(errno));
    return UNROLL_OK;
}

/* Returns the most bytes a pipe may write to the temporary file: half of the free space, at most spool_max. */
static uint64_t spool_limit(int descriptor)
{
    struct statvfs room;
    const bool known = fstatvfs(descriptor, &room) == 0;
    const uint64_t half = known ? (uint64_t)room.f_bavail * room.f_frsize / 2 : spool_max;
    return half < spool_max ? half : spool_max;
}

/* Copies a pipe to an unnamed temporary file in $TMPDIR (default /tmp); fails if it exceeds spool_limit. */
static unroll_status spool(struct input *input, int from)
{
    const char *folder = getenv("TMPDIR");
    char path[512], bytes[1 << 14];
    ssize_t got;
    uint64_t kept = 0;
    snprintf(path, sizeof path, "%s/unroll_XXXXXX", folder && *folder ? folder : "/tmp");
    input->spool = mkstemp(path);
    if (input->spool < 0)
        return fail(UNROLL_RESOURCE, "cannot store %s in '%s': %s; fix: set TMPDIR=FOLDER", input->name, path,
                    strerror(errno));
    unlink(path);
    const uint64_t limit = spool_limit(input->spool);
    while ((got = read(from, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(input);
        if ((kept += (uint64_t)got) > limit)
            return fail(
                UNROLL_DATA,
                "%s has not ended after %llu MB, which are stored in a temporary file; fix: save it to a file, and "
                "name that file",
                input->name, (unsigned long long)limit >> 20);
        TRY(keep(input, bytes, got, path));
    }
    return UNROLL_OK;
}

/* Determines what `path` is: a folder (listed), a regular file (added), or a pipe (spooled). */
static unroll_status find_files(struct input *input, const char *path)
{
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &info) < 0) {
        unroll_status status = fail(UNROLL_DATA, "cannot open '%.*s': %s%s", NAME_SHOWN, input->name, strerror(errno),
                                    errno == ENOENT ? "; fix: check the name" : "");
        if (descriptor >= 0)
            close(descriptor);
        return status;
    }
    char byte; /* /dev/null has none */
    if (S_ISCHR(info.st_mode) && strcmp(path, "/dev/stdin") != 0 && read(descriptor, &byte, 1) != 0) {
        close(descriptor);
        return fail(UNROLL_DATA, "'%.*s' is a device without data; fix: name a file", NAME_SHOWN, input->name);
    }
    unroll_status status = S_ISDIR(info.st_mode)   ? list_folder(input)
                           : S_ISREG(info.st_mode) ? add_file(input, path)
                                                   : spool(input, descriptor);
    close(descriptor);
    return status;
}

unroll_status input_open(const char *path, struct input **input)
{
    bool standard_input = strcmp(path, "-") == 0;
    struct input *made;
    TRY(new_input(standard_input ? INPUT_STANDARD : path, &made));
    unroll_status status = find_files(made, standard_input ? "/dev/stdin" : path);
    if (status == UNROLL_OK)
        *input = made;
    else
        input_close(made);
    return status;
}

unroll_status input_of_memory(const void *bytes, size_t size, const char *name, struct input **input)
{
    TRY(new_input(name, input));
    (*input)->memory = bytes ? bytes : "";
    (*input)->memory_size = size;
    return UNROLL_OK;
}

static void close_member(struct input *input)
{
    input->begin = input->end = 0;
    input->lines = 0;
    input->ended = false;
}

static void close_file(struct input *input)
{
    close_member(input);
    archive_close(input->archive);
    input->archive = NULL;
    if (input->descriptor >= 0 && input->descriptor != input->spool)
        close(input->descriptor);
    input->descriptor = -1;
    input->memory_at = 0;
}

void input_close(struct input *input)
{
    if (input == NULL)
        return;
    close_file(input);
    if (input->spool >= 0)
        close(input->spool);
    for (int i = 0; i < input->files; i++) release(input->file[i]);
    release(input->file);
    release(input->buffer);
    release(input);
}

/* ---- members ---- */

static unroll_status open_file(struct input *input, const char *path)
{
    if (input->memory)
        return UNROLL_OK;
    if (input->spool >= 0) {
        input->descriptor = input->spool;
        return lseek(input->spool, 0, SEEK_SET) == 0 ? UNROLL_OK : cannot_read(input);
    }
    input->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (input->is_folder)
        snprintf(input->name, sizeof input->name, "%.*s", NAME_SHOWN, path);
    return input->descriptor >= 0 ? UNROLL_OK
                                  : fail(UNROLL_DATA, "cannot open '%.*s': %s; fix: check its name and permissions",
                                         NAME_SHOWN, path, strerror(errno));
}

/* Opens the current file as an archive if its first bytes identify one. */
static unroll_status look_inside(struct input *input)
{
    unsigned char head[ARCHIVE_HEAD];
    const void *bytes = input->memory ? (const void *)input->memory : head;
    size_t size = input->memory_size;
    bool has_members;
    if (input->memory == NULL) {
        ssize_t got = pread(input->descriptor, head, sizeof head, 0);
        if (got < 0)
            return cannot_read(input);
        size = (size_t)got;
    }
    if (!archive_is(bytes, size, &has_members))
        return UNROLL_OK;
    return archive_open(input->memory ? -1 : input->descriptor, input->memory, input->memory_size, input->name,
                        &input->archive);
}

/* Advances to the next member of the archive; *member is NULL after the last. */
static unroll_status next_of_archive(struct input *input, const char *file, const char **member)
{
    TRY(archive_next(input->archive, member));
    if (*member == NULL)
        return UNROLL_OK;
    input->packed_alone = **member == 0;
    if (input->packed_alone)
        *member = file;
    else
        snprintf(input->name, sizeof input->name, "%.*s: %.*s", NAME_SHOWN / 2, input->path, NAME_SHOWN / 2, *member);
    return UNROLL_OK;
}

/* Returns a file's name relative to the folder. */
static const char *name_in_folder(const struct input *input, const char *path)
{
    size_t length = strlen(input->path);
    return input->is_folder ? path + length + (path[length] == '/') : input->name;
}

unroll_status input_next(struct input *input, const char **member)
{
    const int files = input->memory || input->spool >= 0 ? 1 : input->files;
    const char *path = input->next && input->files ? input->file[input->next - 1] : input->path;
    *member = NULL;
    close_member(input);
    if (input->archive)
        TRY(next_of_archive(input, name_in_folder(input, path), member));
    while (*member == NULL && input->next < files) {
        close_file(input);
        path = input->files ? input->file[input->next] : input->path;
        input->next++;
        input->packed_alone = false;
        TRY(open_file(input, path));
        TRY(look_inside(input));
        if (input->archive)
            TRY(next_of_archive(input, name_in_folder(input, path), member));
        else
            *member = name_in_folder(input, path);
    }
    if (*member == NULL)
        close_file(input);
    return *member ? skip_mark(input) : UNROLL_OK;
}

unroll_status input_rewind(struct input *input)
{
    close_file(input);
    input->next = 0;
    if (!input->is_folder)
        snprintf(input->name, sizeof input->name, "%.*s", NAME_SHOWN, input->path);
    return UNROLL_OK;
}

/* ---- bytes ---- */

static unroll_status read_member(struct input *input, void *to, size_t wanted, size_t *got)
{
    if (input->archive)
        return archive_read(input->archive, to, wanted, got);
    if (input->memory) {
        size_t left = input->memory_size - input->memory_at;
        *got = wanted < left ? wanted : left;
        memcpy(to, input->memory + input->memory_at, *got);
        input->memory_at += *got;
        return UNROLL_OK;
    }
    ssize_t bytes;
    do bytes = read(input->descriptor, to, wanted);
    while (bytes < 0 && errno == EINTR);
    *got = bytes > 0 ? (size_t)bytes : 0;
    return bytes < 0 ? cannot_read(input) : UNROLL_OK;
}

unroll_status input_read(struct input *input, void *to, size_t wanted, size_t *got)
{
    size_t kept = input->end - input->begin;
    if (kept == 0)
        return read_member(input, to, wanted, got);
    *got = kept < wanted ? kept : wanted;
    memcpy(to, input->buffer + input->begin, *got);
    input->begin += *got;
    return UNROLL_OK;
}

/* Reads more bytes and appends them to the buffer. */
static unroll_status fill_buffer(struct input *input)
{
    size_t kept = input->end - input->begin, got;
    if (kept >= LINE_MAX_BYTES)
        return fail(UNROLL_DATA, "'%s' line %lld is longer than 64 MiB; fix: split the line", input->name,
                    (long long)input->lines + 1);
    if (kept)
        memmove(input->buffer, input->buffer + input->begin, kept);
    input->begin = 0, input->end = kept;
    if (kept + BUFFER > input->room) {
        if (!enlarge(&input->buffer, kept, 2 * kept + BUFFER))
            return fail(UNROLL_RESOURCE, "no memory for a line of '%s'", input->name);
        input->room = 2 * kept + BUFFER;
    }
    TRY(read_member(input, input->buffer + kept, input->room - kept, &got));
    input->end += got;
    input->ended = got == 0;
    return UNROLL_OK;
}

/* Skips the byte order mark U+FEFF with which some editors begin a text. */
static unroll_status skip_mark(struct input *input)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    while (input->end < sizeof mark && !input->ended) TRY(fill_buffer(input));
    if (input->end >= sizeof mark && memcmp(input->buffer, mark, sizeof mark) == 0)
        input->begin = sizeof mark;
    return UNROLL_OK;
}

unroll_status input_line(struct input *input, const char **line, size_t *length, bool *more)
{
    size_t looked = 0;
    char *end = NULL;
    for (;;) {
        size_t kept = input->end - input->begin;
        if (kept > looked)
            end = memchr(input->buffer + input->begin + looked, '\n', kept - looked);
        looked = kept;
        if (end || input->ended)
            break;
        TRY(fill_buffer(input));
    }
    *more = end || looked;
    if (!*more)
        return UNROLL_OK;
    *line = input->buffer + input->begin;
    *length = end ? (size_t)(end - *line) : looked;
    input->begin += *length + (end != NULL);
    *length -= *length && (*line)[*length - 1] == '\r';
    input->lines++;
    return UNROLL_OK;
}

unroll_status input_next_line(struct input *input, const char **line, size_t *length, bool *more)
{
    const char *member;
    *more = false;
    if (input->next > 0)
        TRY(input_line(input, line, length, more));
    while (!*more) {
        TRY(input_next(input, &member));
        if (member == NULL)
            return UNROLL_OK;
        TRY(input_line(input, line, length, more));
    }
    return UNROLL_OK;
}

bool path_ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), size = strlen(end);
    return length > size && strcasecmp(path + length - size, end) == 0;
}

bool line_is_blank(const char *line, size_t length)
{
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) length--;
    return length == 0;
}

unroll_status input_whole(struct input *input, uint64_t max_bytes, void **bytes, size_t *size)
{
    char *all = NULL;
    size_t room = 0, used = 0, got;
    unroll_status status = UNROLL_OK;
    do {
        size_t larger = used + used / 2 + BUFFER;
        if (used + 1 >= room && !enlarge(&all, used, room = larger))
            status = fail(UNROLL_RESOURCE, "no memory for '%s'", input->name);
        else
            status = input_read(input, all + used, room - used - 1, &got);
        used += status == UNROLL_OK ? got : 0;
        if (status == UNROLL_OK && used > max_bytes)
            status = fail(UNROLL_DATA, "'%s' is larger than %llu bytes; fix: split the file", input->name,
                          (unsigned long long)max_bytes);
    } while (status == UNROLL_OK && got);
    if (status != UNROLL_OK) {
        release(all);
        return status;
    }
    all[used] = 0;
    *bytes = all, *size = used;
    return UNROLL_OK;
}

unroll_status input_head(struct input *input, char *head, size_t room, size_t *got)
{
    const char *member;
    size_t more = 1;
    *got = 0;
    TRY(input_rewind(input));
    TRY(input_next(input, &member));
    while (member && more && *got < room) {
        TRY(input_read(input, head + *got, room - *got, &more));
        *got += more;
    }
    return input_rewind(input);
}

bool input_bytes(const struct input *input, uint64_t *bytes)
{
    struct stat info;
    *bytes = 0;
    if (input->spool >= 0 && fstat(input->spool, &info) == 0)
        *bytes = (uint64_t)info.st_size;
    for (int i = 0; i < input->files; i++) *bytes += stat(input->file[i], &info) == 0 ? (uint64_t)info.st_size : 0;
    return input->memory == NULL;
}

static unroll_status hash_file(struct input *input, char *bytes, uint64_t *hash)
{
    ssize_t got;
    while ((got = read(input->descriptor, bytes, HASHED)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(input);
        *hash = hash_wide(*hash, bytes, (size_t)got);
    }
    return UNROLL_OK;
}

/* File names are hashed, too, because they may be class labels. */
unroll_status input_hash(struct input *input, uint64_t *hash)
{
    char *bytes;
    TRY(ALLOCATE(bytes, HASHED, "to read '%s'", input->name));
    unroll_status status = input_rewind(input);
    for (int i = 0; i < (input->files ? input->files : 1) && status == UNROLL_OK; i++) {
        const char *path = input->files ? input->file[i] : input->path;
        *hash = hash_text(*hash, input->is_folder ? path + strlen(input->path) : "");
        status = open_file(input, path);
        if (status == UNROLL_OK)
            status = hash_file(input, bytes, hash);
        close_file(input);
    }
    release(bytes);
    return status == UNROLL_OK ? input_rewind(input) : status;
}

const char *input_unpacked_path(const struct input *input, char *path, size_t size)
{
    static const char *const ends[] = {".gz", ".xz", ".zst", ".bz2"};
    size_t length = (size_t)snprintf(path, size, "%s", input->path);
    for (size_t i = 0; input->packed_alone && i < sizeof ends / sizeof *ends && length < size; i++)
        if (path_ends_with(path, ends[i])) {
            path[length - strlen(ends[i])] = 0;
            break;
        }
    return path;
}

const char *input_path(const struct input *input) { return input->path; }
const char *input_name(const struct input *input) { return input->name; }
int64_t input_lines(const struct input *input) { return input->lines; }
bool input_is_folder(const struct input *input) { return input->is_folder; }

bool input_is_of_files(const char *path)
{
    static const char *const suffixes[] = {".tar", ".tar.gz",  ".tgz",     ".tar.xz",
                                           ".txz", ".tar.zst", ".tar.bz2", ".zip"};
    struct stat info;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (path_ends_with(path, suffixes[i]))
            return true;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}
