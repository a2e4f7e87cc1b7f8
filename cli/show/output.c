/* Results: one JSON object on one line of standard output, and files that are written whole or not at all. */
#include "cli/show/output.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/show/console.h"

unroll_status print_json(json_t *object)
{
    if (object == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the result");
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(10));
    putchar('\n');
    json_decref(object);
    return UNROLL_OK;
}

json_t *json_finite(double number) { return isfinite(number) ? json_real(number) : json_null(); }

const char *next_name(const char *directory, DIR **entries)
{
    if (*entries == NULL)
        *entries = opendir(directory);
    const struct dirent *entry = *entries ? readdir(*entries) : NULL;
    if (entry == NULL && *entries) {
        closedir(*entries);
        *entries = NULL;
    }
    return entry ? entry->d_name : NULL;
}

bool exists(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0;
}

bool is_directory(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool write_synced(const char *path, const char *bytes, size_t count)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    bool written = fwrite(bytes, 1, count, file) == count && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int reason = errno;
    written = fclose(file) == 0 && written;
    if (!written)
        errno = reason;
    return written;
}

unroll_status replace_file(const char *path, const char *bytes, size_t count)
{
    char temporary[PATH_MAX + 8];
    int reason;
    snprintf(temporary, sizeof temporary, "%.*s.tmp", PATH_MAX, path);
    if (write_synced(temporary, bytes, count) && rename(temporary, path) == 0)
        return UNROLL_OK;
    reason = errno;
    unlink(temporary);
    return complain(UNROLL_RESOURCE, "cannot write '%s': %s; fix: free space on the disk, or write to another place",
                    path, strerror(reason));
}

unroll_status output_spares(const char *target, const char *source)
{
    struct stat read, existing;
    if (target && strcmp(target, "-") == 0)
        return complain(UNROLL_USAGE,
                        "-: standard output has the messages about the result; fix: give the name of a file");
    if (target && source && stat(source, &read) == 0 && stat(target, &existing) == 0 && S_ISREG(read.st_mode) &&
        read.st_dev == existing.st_dev && read.st_ino == existing.st_ino)
        return complain(UNROLL_USAGE, "'%s' is the input file; fix: save under another name", target);
    return UNROLL_OK;
}
