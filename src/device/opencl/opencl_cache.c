/* Built programs on disk (opencl_program.h). A file is a head, which says of what it is and how long, the binary, and
 * their checksum. */
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "device/opencl/opencl_program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct head {
    char magic[8]; /* "UNROLLCL" */
    uint64_t driver, text, bytes, sum;
};

static const char magic[8] = {'U', 'N', 'R', 'O', 'L', 'L', 'C', 'L'};
enum { BYTES_MAX = 256 << 20 };

/* false: there is none. */
static bool folder(char path[OPENCL_PATH])
{
    const char *asked = getenv("UNROLL_OPENCL_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int size;
    if (asked)
        size = snprintf(path, OPENCL_PATH, "%s", asked);
    else if (cache && *cache)
        size = snprintf(path, OPENCL_PATH, "%s/unroll/opencl", cache);
    else
        size = home && *home ? snprintf(path, OPENCL_PATH, "%s/.cache/unroll/opencl", home) : 0;
    return size > 0 && size < OPENCL_PATH - 64;
}

unroll_status opencl_key_of(const char *platform, const char *driver, const char *device, const char *options,
                            const char *text, struct opencl_key *key)
{
    *key = (struct opencl_key){.text = hash_text(hash_text(HASH_BEGIN, options), text)};
    key->driver = hash_text(hash_text(hash_text(HASH_BEGIN, platform), driver), device);
    if (!folder(key->path))
        key->path[0] = 0;
    const size_t used = strlen(key->path);
    if (used)
        snprintf(key->path + used, sizeof key->path - used, "/%016llx-%016llx", (unsigned long long)key->driver,
                 (unsigned long long)key->text);
    return UNROLL_OK;
}

bool opencl_cache_read(const struct opencl_key *key, void **data, size_t *size)
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

/* write_file_atomically has one writer a path at a time: each process writes a name of its own, and renames it. */
void opencl_cache_write(const struct opencl_key *key, const void *data, size_t size)
{
    struct head head = {
        .driver = key->driver, .text = key->text, .bytes = size, .sum = hash_wide(HASH_BEGIN, data, size)};
    char path[OPENCL_PATH + 32], own[OPENCL_PATH];
    if (!key->path[0] || !folder(path) || make_directories(path) != UNROLL_OK)
        return;
    memcpy(head.magic, magic, sizeof magic);
    snprintf(own, sizeof own, "%s", key->path);
    snprintf(path, sizeof path, "%s.%ld", own, (long)getpid());
    const struct piece pieces[] = {{&head, sizeof head}, {data, size}};
    if (write_file_atomically(path, pieces, 2) != UNROLL_OK || rename(path, own) != 0)
        (void)remove(path);
}

bool opencl_keep_text(const char *program, const char *text, size_t size, const char *log, char path[OPENCL_PATH])
{
    static const char between[] = "\n/* ---- what the compiler said of it ----\n";
    char place[OPENCL_PATH];
    if (!folder(place) || make_directories(place) != UNROLL_OK)
        snprintf(place, sizeof place, "/tmp");
    snprintf(path, OPENCL_PATH, "%.900s/%.64s.%ld.cl", place, program, (long)getpid());
    for (char *at = path + strlen(place); *at; at++) *at = *at == ' ' ? '-' : *at;
    const struct piece pieces[] = {{text, size}, {between, sizeof between - 1}, {log, strlen(log)}, {"\n*/\n", 4}};
    return write_file_atomically(path, pieces, 4) == UNROLL_OK;
}
