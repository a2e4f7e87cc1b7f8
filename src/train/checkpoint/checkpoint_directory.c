/* Replaces a checkpoint: DIR is renamed to DIR.old, the new directory to DIR, and DIR.old is removed. At every moment
 * DIR or DIR.old is complete, because directories get these names only when they are. There must be only one writer for
 * a directory at a time. */
#include "train/checkpoint/checkpoint_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static unroll_status cannot(const char *what, const char *path)
{
    return fail(UNROLL_RESOURCE, "cannot %s '%s': %s; fix: free space on the disk, or another folder", what, path,
                strerror(errno));
}

unroll_status checkpoint_path(const char *directory, const char *file, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s", directory, file) >= PATH_MAX)
        return fail(UNROLL_USAGE, "the name of the directory '%.80s...' is too long; fix: use a shorter name",
                    directory);
    return UNROLL_OK;
}

/* Removes trailing slashes, so that suffixes can be appended. */
static unroll_status trim(const char *directory, char name[PATH_MAX])
{
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/') length--;
    if (length == 0 || (length == 1 && directory[0] == '/'))
        return fail(UNROLL_USAGE, "'%s' is not a name for a checkpoint; fix: give the path of a folder", directory);
    if (length >= PATH_MAX)
        return fail(UNROLL_USAGE, "the name of the directory '%.80s...' is too long; fix: use a shorter name",
                    directory);
    memcpy(name, directory, length);
    name[length] = '\0';
    return UNROLL_OK;
}

static unroll_status name_places(const char *directory, const char *word, struct checkpoint_places *places)
{
    char process[24];
    snprintf(process, sizeof process, "%ld", (long)getpid());
    TRY(trim(directory, places->final));
    if (snprintf(places->aside, PATH_MAX, "%s.old", places->final) >= PATH_MAX ||
        snprintf(places->unfinished, PATH_MAX, "%s.tmp.%s", places->final, word ? word : process) >= PATH_MAX)
        return fail(UNROLL_USAGE, "the name of the directory '%.80s...' is too long; fix: use a shorter name",
                    directory);
    const char *slash = strrchr(places->final, '/');
    int length = slash == NULL ? 1 : slash == places->final ? 1 : (int)(slash - places->final);
    snprintf(places->parent, PATH_MAX, "%.*s", length, slash ? places->final : ".");
    return UNROLL_OK;
}

/* ---- existing files ---- */

static bool is_of_checkpoint(const char *name)
{
#define FIVE "[0-9][0-9][0-9][0-9][0-9]"
    static const char *const files[] = {MODEL_FILE,
                                        OPTIMIZER_FILE,
                                        MODEL_FILE ".index.json",
                                        OPTIMIZER_FILE ".index.json",
                                        "model-" FIVE "-of-" FIVE ".safetensors",
                                        "optim-" FIVE "-of-" FIVE ".safetensors"};
    size_t i = 0;
    while (i < sizeof files / sizeof *files && fnmatch(files[i], name, 0) != 0) i++;
    return i < sizeof files / sizeof *files;
}

static bool belongs_to_checkpoint(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_of_checkpoint(name);
}

/* Checks that there is nothing at the path, or a directory that contains only files of a checkpoint. */
static unroll_status check_replaceable(const char *path)
{
    struct stat info;
    struct dirent *entry;
    unroll_status status = UNROLL_OK;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? UNROLL_OK : cannot("look at", path);
    if (!S_ISDIR(info.st_mode))
        return fail(UNROLL_USAGE, "'%s' exists and is not a directory; fix: choose another name for the checkpoint",
                    path);
    DIR *directory = opendir(path);
    if (directory == NULL)
        return cannot("read", path);
    while (status == UNROLL_OK && (entry = readdir(directory)) != NULL)
        if (!belongs_to_checkpoint(entry->d_name))
            status = fail(UNROLL_USAGE,
                          "'%s' holds '%.80s', which is not part of a checkpoint; fix: choose another directory", path,
                          entry->d_name);
    closedir(directory);
    return status;
}

static bool remove_file(const char *directory, const char *file)
{
    char path[PATH_MAX];
    return checkpoint_path(directory, file, path) == UNROLL_OK && (unlink(path) == 0 || errno == ENOENT);
}

static bool remove_checkpoint(const char *path)
{
    struct dirent *entry;
    bool removed = true;
    DIR *directory = opendir(path);
    if (directory == NULL)
        return errno == ENOENT;
    while (removed && (entry = readdir(directory)) != NULL)
        removed = !is_of_checkpoint(entry->d_name) || remove_file(path, entry->d_name);
    closedir(directory);
    return removed && (rmdir(path) == 0 || errno == ENOENT);
}

/* ---- replacing ---- */

unroll_status checkpoint_begin(const char *directory, const char *word, struct checkpoint_places *places)
{
    TRY(name_places(directory, word, places));
    TRY(check_replaceable(places->final));
    TRY(check_replaceable(places->aside));
    return make_directories(places->unfinished);
}

void checkpoint_abandon(const struct checkpoint_places *places) { remove_checkpoint(places->unfinished); }

static unroll_status move_aside(const struct checkpoint_places *places)
{
    if (!file_exists(places->final))
        return UNROLL_OK; /* a previous commit may have been interrupted: DIR.old is kept until the end */
    if (!remove_checkpoint(places->aside))
        return cannot("remove", places->aside);
    return rename(places->final, places->aside) == 0 ? UNROLL_OK : cannot("rename", places->final);
}

unroll_status checkpoint_commit(const struct checkpoint_places *places)
{
    if (!sync_directory(places->unfinished))
        return cannot("sync", places->unfinished);
    TRY(move_aside(places));
    if (rename(places->unfinished, places->final) != 0)
        return cannot("write", places->final); /* checkpoint_find finds the old one */
    if (!sync_directory(places->parent))
        return cannot("sync", places->parent);
    return remove_checkpoint(places->aside) ? UNROLL_OK : cannot("remove", places->aside);
}

unroll_status checkpoint_find(const char *directory, char found[PATH_MAX])
{
    struct checkpoint_places places;
    TRY(name_places(directory, NULL, &places));
    if (file_exists(places.final))
        strcpy(found, places.final);
    else if (file_exists(places.aside))
        strcpy(found, places.aside);
    else
        return fail(UNROLL_DATA, "there is no checkpoint '%s'; fix: give the directory that contains " OPTIMIZER_FILE,
                    directory);
    return UNROLL_OK;
}
