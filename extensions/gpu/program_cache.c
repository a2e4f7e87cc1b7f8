/* Compiled programs on disk (program_cache.h). A file is a header, which identifies the program and has its length
 * and checksum, then the binary. */
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "extensions/gpu/program_cache.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct head {
    char magic[8]; /* "UNROLLPC" */
    uint64_t driver, text, bytes, sum;
};

static const char magic[8] = {'U', 'N', 'R', 'O', 'L', 'L', 'P', 'C'};
enum { BYTES_MAX = 256 << 20 };

/* Returns false if there is no folder. */
static bool find_folder(const struct program_folder *f, char path[PROGRAM_PATH])
{
    const char *asked = getenv(f->variable), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int size;
    if (asked)
        size = snprintf(path, PROGRAM_PATH, "%s", asked);
    else if (cache && *cache)
        size = snprintf(path, PROGRAM_PATH, "%s/unroll/%s", cache, f->kind);
    else
        size = home && *home ? snprintf(path, PROGRAM_PATH, "%s/.cache/unroll/%s", home, f->kind) : 0;
    return size > 0 && size < PROGRAM_PATH - 64;
}

void program_key_of(const struct program_folder *f, uint64_t driver, const char *options, const char *text,
                    struct program_key *key)
{
    *key = (struct program_key){.driver = driver, .text = hash_text(hash_text(HASH_BEGIN, options), text)};
    if (!find_folder(f, key->path))
        key->path[0] = 0;
    const size_t used = strlen(key->path);
    if (used)
        snprintf(key->path + used, sizeof key->path - used, "/%016llx-%016llx", (unsigned long long)key->driver,
                 (unsigned long long)key->text);
}

bool program_cache_read(const struct program_key *key, void **data, size_t *size)
{
    struct head head;
    char *file;
    size_t bytes;
    void *all;
    if (!key->path[0] || !file_exists(key->path) || read_whole_file(key->path, BYTES_MAX, &all, &bytes) != UNROLL_OK)
        return false;
    file = all;
    bool good = bytes > sizeof head;
    if (good) {
        memcpy(&head, file, sizeof head);
        good = !memcmp(head.magic, magic, sizeof magic) && head.driver == key->driver && head.text == key->text &&
               head.bytes == bytes - sizeof head &&
               head.sum == hash_wide(HASH_BEGIN, file + sizeof head, (size_t)head.bytes);
    }
    if (good) {
        *size = (size_t)head.bytes;
        memmove(file, file + sizeof head, *size);
        *data = file;
    } else {
        release(file);
    }
    return good;
}

/* write_file_atomically allows one writer per path at a time: each process writes its own temporary file and renames
 * it. */
void program_cache_write(const struct program_folder *f, const struct program_key *key, const void *data, size_t size)
{
    struct head head = {
        .driver = key->driver, .text = key->text, .bytes = size, .sum = hash_wide(HASH_BEGIN, data, size)};
    char path[PROGRAM_PATH + 32], own[PROGRAM_PATH];
    if (!key->path[0] || !find_folder(f, path) || make_directories(path) != UNROLL_OK)
        return;
    memcpy(head.magic, magic, sizeof magic);
    snprintf(own, sizeof own, "%s", key->path);
    snprintf(path, sizeof path, "%s.%ld", own, (long)getpid());
    const struct piece pieces[] = {{&head, sizeof head}, {data, size}};
    if (write_file_atomically(path, pieces, 2) != UNROLL_OK || rename(path, own) != 0)
        (void)remove(path);
}

bool program_keep_text(const struct program_folder *f, const char *program, const char *text, size_t size,
                       const char *log, char path[PROGRAM_PATH])
{
    static const char between[] = "\n/* ---- what the compiler said of it ----\n";
    char place[PROGRAM_PATH];
    if (!find_folder(f, place) || make_directories(place) != UNROLL_OK)
        snprintf(place, sizeof place, "/tmp");
    snprintf(path, PROGRAM_PATH, "%.900s/%.64s.%ld.cl", place, program, (long)getpid());
    for (char *at = path + strlen(place); *at; at++) *at = *at == ' ' ? '-' : *at;
    const struct piece pieces[] = {{text, size}, {between, sizeof between - 1}, {log, strlen(log)}, {"\n*/\n", 4}};
    return write_file_atomically(path, pieces, 4) == UNROLL_OK;
}
