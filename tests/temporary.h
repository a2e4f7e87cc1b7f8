/* A folder for the files of a test program, which creates it with mkdtemp(folder) and removes it. */
#ifndef TESTS_TEMPORARY_H
#define TESTS_TEMPORARY_H
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "check.h"

static char folder[] = "/tmp/unroll_test_XXXXXX";

/* Returns a path in it, valid until the fourth call after this one. */
static inline const char *inside(const char *name)
{
    static char paths[4][PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static inline void write_text(const char *path, const char *text)
{
    struct piece piece = {text, strlen(text)};
    CHECK(write_file_atomically(path, &piece, 1) == UNROLL_OK, "%s", unroll_last_error());
}

#endif
