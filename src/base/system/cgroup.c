/* Control groups of versions 1 and 2. In a container the inner part of a group's path may be invisible; its limit is
 * then found at the mount point. Linux only: other systems have no list of groups, so no limit. */
#include "base/system/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool cgroup_read_line(const char *directory, const char *name, char *line, int size)
{
    char path[PATH_MAX];
    bool good = false;
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        good = fgets(line, size, file) != NULL;
        fclose(file);
    }
    return good;
}

/* Returns the smallest limit of a group and its ancestors up to the mount point. */
static int64_t limit_up_to_mount(const char *mount, const char *group, cgroup_reader *read)
{
    char directory[PATH_MAX];
    int64_t min = INT64_MAX;
    if (snprintf(directory, sizeof directory, "%s%s", mount, group) >= (int)sizeof directory)
        return INT64_MAX;
    for (;;) {
        int64_t limit = read(directory);
        if (limit < min)
            min = limit;
        char *slash = strrchr(directory, '/');
        if (slash == NULL || (size_t)(slash - directory) < strlen(mount))
            return min;
        *slash = '\0';
    }
}

static bool lists_controller(const char *controllers, const char *wanted)
{
    for (const char *at = controllers; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        size_t length = strcspn(at, ",");
        if (length == strlen(wanted) && memcmp(at, wanted, length) == 0)
            return true;
    }
    return false;
}

/* Lines are "ID:CONTROLLERS:PATH". Version 2 has no controllers; version 1 has a mount point for each list. */
int64_t cgroup_limit(const char *mount, const char *membership, const char *controller, cgroup_reader *read)
{
    char line[PATH_MAX], version_1[PATH_MAX];
    int64_t min = INT64_MAX;
    FILE *file = fopen(membership, "re");
    if (file == NULL)
        return INT64_MAX;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *controllers++ = *group++ = '\0';
        int64_t limit = INT64_MAX;
        if (*controllers == '\0')
            limit = limit_up_to_mount(mount, group, read);
        else if (lists_controller(controllers, controller) &&
                 snprintf(version_1, sizeof version_1, "%s/%s", mount, controllers) < PATH_MAX)
            limit = limit_up_to_mount(version_1, group, read);
        if (limit < min)
            min = limit;
    }
    fclose(file);
    return min;
}
