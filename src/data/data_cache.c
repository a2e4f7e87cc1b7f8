/* The cache file: 8 bytes with the length of the header, then the header, then the arrays, each at a multiple of 64
 * bytes. The header is JSON and contains the description of the data set in its metadata. Its room is reserved before
 * the arrays are filled; it is written last. */
#include "data/data_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "io/input.h"

enum {
    HASH_TEXT = 17,
    /* bytes */ VERSION = 4,
    ALIGNMENT = 64,
    PATH = 4096,
    HEADER_MAX = 100000000,
    NOTES_ROOM = 1 << 16,
    LENGTH_BYTES = 8
};

static size_t file_min = 1 << 20, arrays_min = 64 << 20;
static uint64_t all_max = (uint64_t)32 << 30;

void cache_limits(size_t file, size_t arrays, uint64_t all) { file_min = file, arrays_min = arrays, all_max = all; }

struct data_cache {
    char folder[PATH], path[PATH + 40], temporary[PATH + 80];
    uint64_t key;
    int descriptor; /* of the temporary file; -1: none */
    char *map;
    bool given;              /* the data set owns the map */
    size_t map_bytes, begin; /* begin: of the arrays */
};

/* ---- where ---- */

/* Finds the cache folder. False: no cache is wanted. */
static bool find_folder(char folder[PATH])
{
    const char *own = getenv("UNROLL_CACHE"), *shared = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own)
        snprintf(folder, PATH, "%s", own);
    else if (shared && *shared)
        snprintf(folder, PATH, "%s/unroll", shared);
    else if (home && *home)
        snprintf(folder, PATH, "%s/.cache/unroll", home);
    else
        snprintf(folder, PATH, "/tmp/unroll-cache-%d", (int)getuid());
    return !own || strcmp(own, "off") != 0;
}

static unroll_status cannot_write(const struct data_cache *cache)
{
    return fail(
        UNROLL_RESOURCE,
        "cannot write the parsed data to '%.300s': %s; fix: free space there, or set UNROLL_CACHE=FOLDER to another "
        "folder, or UNROLL_CACHE=off to use memory",
        cache->folder, strerror(errno));
}

/* ---- reading ---- */

static unroll_status damaged(const char *path)
{
    return fail(UNROLL_DATA, "'%.300s' is damaged; fix: remove it", path);
}

struct reading {
    const char *path, *map;
    size_t map_bytes, begin; /* of the arrays */
    json_t *header;
    json_t *about; /* the description of the data set */
};

/* Finds an array of the file; it must have exactly this size. */
static unroll_status find_array(const struct reading *r, const char *name, size_t bytes, const void **array)
{
    json_t *offsets = json_object_get(json_object_get(r->header, name), "data_offsets");
    const int64_t room = (int64_t)(r->map_bytes - r->begin);
    int64_t from, to;
    TRY(json_item_integer(offsets, r->path, name, 0, 0, room, &from));
    TRY(json_item_integer(offsets, r->path, name, 1, from, room, &to));
    if ((uint64_t)(to - from) != bytes || (r->begin + (size_t)from) % 8)
        return damaged(r->path);
    *array = r->map + r->begin + from;
    return UNROLL_OK;
}

static unroll_status copy_vocabulary(const struct schema_column *from, struct column *to)
{
    size_t bytes = 0;
    for (int i = 0; i < from->vocabulary_size; i++) bytes += strlen(from->vocabulary[i]) + 1;
    TRY(ALLOCATE(to->vocabulary, (size_t)from->vocabulary_size, "for a vocabulary"));
    TRY(ALLOCATE(to->strings, bytes, "for a vocabulary"));
    char *at = to->strings;
    for (int i = 0; i < from->vocabulary_size; i++) {
        to->vocabulary[i] = at;
        at = stpcpy(at, from->vocabulary[i]) + 1;
    }
    to->vocabulary_size = from->vocabulary_size;
    return UNROLL_OK;
}

/* Finds where the sequences of an unaligned column begin. */
static unroll_status find_begin(const struct reading *r, int i, size_t sequences, const size_t **begin)
{
    char name[24];
    const void *array;
    snprintf(name, sizeof name, "begin.%d", i);
    TRY(find_array(r, name, (sequences + 1) * sizeof **begin, &array));
    *begin = array;
    return UNROLL_OK;
}

/* Reads the description and the arrays of one column. */
static unroll_status read_column(const struct reading *r, int i, const struct schema_column *from, unroll_dataset *d)
{
    struct column *to = &d->column[i];
    char name[24];
    const void *array;
    *to = (struct column){.type = from->type,
                          .of_sequence = from->of_sequence,
                          .kind = from->kind,
                          .width = from->width,
                          .style = from->style,
                          .place = from->place};
    memcpy(to->name, from->name, sizeof to->name);
    d->columns = i + 1;
    int64_t missing;
    TRY(json_item_integer(json_object_get(r->about, "missing"), r->path, "missing", (size_t)i, 0, INT64_MAX, &missing));
    to->missing = (size_t)missing;
    bool ids = from->type == COLUMN_TOKENS || from->type == COLUMN_CATEGORY, time = from->type == COLUMN_TIME;
    if (ids || from->type == COLUMN_SET)
        TRY(copy_vocabulary(from, to));
    to->id_bytes = from->vocabulary_size < UINT8_MAX ? 1 : from->vocabulary_size < UINT16_MAX ? 2 : 4;
    size_t each = ids ? (size_t)to->id_bytes : time ? sizeof(double) : (size_t)to->width * sizeof(float), bytes;
    snprintf(name, sizeof name, "column.%d", i);
    if (from->unaligned)
        TRY(find_begin(r, i, d->sequences, &to->begin));
    if (__builtin_mul_overflow(each, column_entries(d, to), &bytes))
        return damaged(r->path);
    TRY(find_array(r, name, bytes, &array));
    if (ids)
        to->ids = array;
    else if (time)
        to->times = array;
    else
        to->numbers = array;
    return UNROLL_OK;
}

static unroll_status copy_text(const json_t *about, const char *where, const char *key, char **copy)
{
    const char *text;
    TRY(json_field_string(about, where, key, &text));
    TRY(ALLOCATE(*copy, strlen(text) + 1, "for a data set"));
    strcpy(*copy, text);
    return UNROLL_OK;
}

/* Reads what is known about the data set: sizes, notes and options. */
static unroll_status read_about(const struct reading *r, const struct schema *schema, unroll_dataset *d)
{
    int64_t steps, sequences, group, time;
    int64_t hash;
    const char *read_as;
    const void *begin;
    TRY(json_field_integer(r->about, r->path, "steps", 0, INT64_MAX / 8, &steps));
    TRY(json_field_integer(r->about, r->path, "sequences", 0, INT64_MAX / 16, &sequences));
    TRY(json_field_integer(r->about, r->path, "group", -1, schema->columns - 1, &group));
    TRY(json_field_integer(r->about, r->path, "time", -1, schema->columns - 1, &time));
    TRY(json_field_integer(r->about, r->path, "hash", INT64_MIN, INT64_MAX, &hash));
    TRY(copy_text(r->about, r->path, "notes", &d->notes));
    TRY(json_field_string(r->about, r->path, "read_as", &read_as));
    snprintf(d->read_as, sizeof d->read_as, "%s", read_as);
    TRY(copy_text(r->about, r->path, "options", &d->options));
    d->steps = (size_t)steps, d->sequences = (size_t)sequences, d->group = (int)group, d->time = (int)time;
    d->hash = (uint64_t)hash;
    d->hashed = true;
    d->rows_are_steps = schema->rows_are_steps;
    snprintf(d->reader, sizeof d->reader, "%s", schema->reader);
    TRY(find_array(r, "begin", (d->sequences + 1) * sizeof *d->begin, &begin));
    d->begin = begin;
    TRY(ALLOCATE(d->column, (size_t)schema->columns, "for a data set"));
    for (int i = 0; i < schema->columns; i++) TRY(read_column(r, i, &schema->column[i], d));
    return UNROLL_OK;
}

static unroll_status read_dataset(const struct reading *r, unroll_dataset *d)
{
    json_t *described;
    struct schema *schema;
    TRY(json_field_object(r->about, r->path, "data", &described));
    TRY(schema_from_json(described, r->path, &schema));
    unroll_status status = read_about(r, schema, d);
    schema_free(schema);
    return status;
}

/* Writes the checksum of all arrays as text. */
static void write_sum(char sum[HASH_TEXT], const char *arrays, size_t bytes)
{
    snprintf(sum, HASH_TEXT, "%016" PRIx64, hash_wide(HASH_BEGIN, arrays, bytes));
}

/* Reads the header and checks the checksum of all arrays. */
static unroll_status read_header(struct reading *r)
{
    const char *text, *sum;
    char found[HASH_TEXT];
    uint64_t length = r->map_bytes > LENGTH_BYTES ? get_number((const unsigned char *)r->map, LENGTH_BYTES) : 0;
    if (length < 2 || length > HEADER_MAX || length > r->map_bytes - LENGTH_BYTES)
        return damaged(r->path);
    r->begin = LENGTH_BYTES + (size_t)length;
    TRY(parse_json(r->map + LENGTH_BYTES, (size_t)length, r->path, &r->header));
    json_t *metadata = json_object_get(r->header, "__metadata__");
    TRY(json_field_string(metadata, r->path, "unroll.data", &text));
    TRY(json_field_string(metadata, r->path, "sum", &sum));
    write_sum(found, r->map + r->begin, r->map_bytes - r->begin);
    if (strcmp(sum, found) != 0)
        return damaged(r->path);
    return parse_json(text, strlen(text), r->path, &r->about);
}

/* Creates a data set from a mapped file. */
static unroll_status read_map(const char *path, void *map, size_t bytes, const char *name, unroll_dataset **dataset)
{
    struct reading r = {.path = path, .map = map, .map_bytes = bytes};
    unroll_dataset *made = NULL;
    unroll_status status = read_header(&r);
    if (status == UNROLL_OK)
        status = ALLOCATE(made, 1, "for a data set");
    if (status == UNROLL_OK) {
        made->map = map, made->map_bytes = bytes;
        snprintf(made->name, sizeof made->name, "%s", name);
        status = read_dataset(&r, made);
    }
    json_decref(r.about);
    json_decref(r.header);
    if (status == UNROLL_OK)
        *dataset = made;
    else if (made)
        unroll_dataset_free(made);
    else
        munmap(map, bytes);
    return status;
}

/* Opens a cache file; *dataset stays NULL if there is no file. */
static unroll_status open_file(const char *path, const char *name, unroll_dataset **dataset)
{
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return UNROLL_OK;
    size_t bytes = fstat(descriptor, &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
    void *map = bytes ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, descriptor, 0) : MAP_FAILED;
    futimens(descriptor, NULL); /* used now: the oldest file is removed first */
    close(descriptor);
    return map == MAP_FAILED ? damaged(path) : read_map(path, map, bytes, name, dataset);
}

/* Finds the cached data set of an input, or the place for it. */
unroll_status cache_find(struct input *input, const char *how, const struct schema *schema, struct data_cache **cache,
                         unroll_dataset **dataset, bool *is_damaged)
{
    char folder[PATH];
    uint64_t key = HASH_BEGIN, bytes;
    *cache = NULL, *dataset = NULL, *is_damaged = false;
    if (!find_folder(folder) || !input_bytes(input, &bytes) || bytes < file_min)
        return UNROLL_OK;
    TRY(input_hash(input, &key));
    key = hash_number(hash_text(key, how), VERSION);
    if (schema) {
        json_t *json = schema_to_json(schema);
        char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
        key = hash_text(key, text);
        free(text);
        json_decref(json);
    }
    TRY(ALLOCATE(*cache, 1, "for a cache"));
    (*cache)->descriptor = -1;
    (*cache)->key = key;
    strcpy((*cache)->folder, folder);
    snprintf((*cache)->path, sizeof(*cache)->path, "%s/%016" PRIx64 ".safetensors", folder, key);
    if (open_file((*cache)->path, input_path(input), dataset) != UNROLL_OK) {
        *is_damaged = true;
        unlink((*cache)->path);
    }
    return UNROLL_OK;
}

/* ---- writing ---- */

bool cache_wants(const struct data_cache *cache, size_t bytes) { return cache && bytes >= arrays_min; }

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Removes unfinished files without a lock: a process locks the file that it writes, so the process was killed. */
static void remove_leftovers(const struct data_cache *cache)
{
    DIR *folder = opendir(cache->folder);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        const int part =
            path_ends_with(entry->d_name, ".part") ? openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC) : -1;
        if (part >= 0 && flock(part, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
        if (part >= 0)
            close(part);
    }
    if (folder)
        closedir(folder);
}

/* Creates and locks the file; repeats this if another process removed it before it was locked. */
static bool create_temporary(struct data_cache *cache)
{
    struct stat info;
    for (;;) {
        cache->descriptor = open(cache->temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (cache->descriptor < 0)
            return false;
        flock(cache->descriptor, LOCK_EX); /* without locks in the file system the file is ours as well */
        if (fstat(cache->descriptor, &info) == 0 && info.st_nlink > 0)
            return true;
        close(cache->descriptor);
    }
}

/* Creates the file and maps its arrays. */
unroll_status cache_begin(struct data_cache *cache, const size_t bytes[], int count, size_t description, void *arrays[])
{
    cache->begin = aligned(LENGTH_BYTES + description + (size_t)count * 256 + NOTES_ROOM);
    cache->map_bytes = cache->begin;
    for (int i = 0; i < count; i++) cache->map_bytes += aligned(bytes[i]);
    if (cache->begin - LENGTH_BYTES > HEADER_MAX)
        return fail(UNROLL_DATA, "the vocabularies of the data are too large for a cache; fix: UNROLL_CACHE=off");
    if (make_directories(cache->folder) != UNROLL_OK)
        return cannot_write(cache);
    snprintf(cache->temporary, sizeof cache->temporary, "%s.%d.%zx.part", cache->path, (int)getpid(), (size_t)cache);
    remove_leftovers(cache);
    if (!create_temporary(cache))
        return cannot_write(cache);
    if ((errno = posix_fallocate(cache->descriptor, 0, (off_t)cache->map_bytes)) != 0)
        return cannot_write(cache);
    cache->map = mmap(NULL, cache->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cache->descriptor, 0);
    if (cache->map == MAP_FAILED) {
        cache->map = NULL;
        return cannot_write(cache);
    }
    size_t at = cache->begin;
    for (int i = 0; i < count; at += aligned(bytes[i++])) arrays[i] = cache->map + at;
    return UNROLL_OK;
}

void cache_give(struct data_cache *cache, unroll_dataset *d)
{
    d->map = cache->map, d->map_bytes = cache->map_bytes;
    cache->given = true;
}

const char *cache_path(const struct data_cache *cache) { return cache->path; }

static json_t *tensor_json(const struct data_cache *cache, const char *dtype, const void *array, size_t entries,
                           size_t width, size_t each)
{
    json_int_t from = (json_int_t)((const char *)array - cache->map - (ptrdiff_t)cache->begin);
    json_t *shape = json_pack("[I]", (json_int_t)entries);
    if (width != 1)
        json_array_append_new(shape, json_integer((json_int_t)width));
    return json_pack("{ss so s[II]}", "dtype", dtype, "shape", shape, "data_offsets", from,
                     from + (json_int_t)(entries * width * each));
}

static json_t *column_json(const struct data_cache *cache, const unroll_dataset *d, const struct column *c)
{
    size_t entries = column_entries(d, c);
    if (c->ids)
        return tensor_json(cache,
                           c->id_bytes == 1   ? "U8"
                           : c->id_bytes == 2 ? "U16"
                                              : "I32",
                           c->ids, entries, 1, (size_t)c->id_bytes);
    if (c->times)
        return tensor_json(cache, "F64", c->times, entries, 1, sizeof(double));
    return tensor_json(cache, "F32", c->numbers, entries, (size_t)c->width, sizeof(float));
}

static json_t *begin_json(const struct data_cache *cache, const unroll_dataset *d, const size_t *begin)
{
    return tensor_json(cache, "U64", begin, d->sequences + 1, 1, sizeof *begin);
}

/* Adds an array to the header, and the gap after it as a tensor, because the format does not allow unnamed bytes. */
static void add_array(const struct data_cache *cache, json_t *header, const char *name, json_t *tensor)
{
    const size_t room = cache->map_bytes - cache->begin;
    char gap[32];
    json_object_set_new(header, name, tensor);
    json_t *of = json_object_get(tensor, "data_offsets");
    size_t end = (size_t)json_integer_value(json_array_get(of, 1)), next = aligned(end);
    next = next < room ? next : room;
    snprintf(gap, sizeof gap, "gap.%s", name);
    if (next > end)
        json_object_set_new(header, gap, tensor_json(cache, "U8", cache->map + cache->begin + end, next - end, 1, 1));
}

static unroll_status describe_data(const unroll_dataset *d, char **text)
{
    struct schema *schema;
    TRY(schema_of_dataset(d, &schema));
    json_t *about =
        json_pack("{so sI sI si si ss ss ss sI}", "data", schema_to_json(schema), "steps", (json_int_t)d->steps,
                  "sequences", (json_int_t)d->sequences, "group", d->group, "time", d->time, "notes", d->notes,
                  "read_as", d->read_as, "options", d->options ? d->options : "", "hash", (json_int_t)d->hash);
    schema_free(schema);
    json_t *missing = json_array();
    for (int i = 0; i < d->columns; i++) json_array_append_new(missing, json_integer((json_int_t)d->column[i].missing));
    json_object_set_new(about, "missing", missing);
    *text = about ? json_dumps(about, JSON_COMPACT) : NULL;
    json_decref(about);
    return *text ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a cache");
}

/* Writes the header before the arrays; fails if it is larger than its room. */
static unroll_status write_header(struct data_cache *cache, const unroll_dataset *d, const char *about)
{
    char sum[HASH_TEXT], name[24];
    size_t room = cache->begin - LENGTH_BYTES;
    write_sum(sum, cache->map + cache->begin, cache->map_bytes - cache->begin);
    json_t *header = json_pack("{s{ss ss}}", "__metadata__", "unroll.data", about, "sum", sum);
    if (header == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a cache");
    add_array(cache, header, "begin", begin_json(cache, d, d->begin));
    for (int i = 0; i < d->columns; i++) {
        snprintf(name, sizeof name, "column.%d", i);
        add_array(cache, header, name, column_json(cache, d, &d->column[i]));
        snprintf(name, sizeof name, "begin.%d", i);
        if (d->column[i].begin)
            add_array(cache, header, name, begin_json(cache, d, d->column[i].begin));
    }
    memset(cache->map + LENGTH_BYTES, ' ', room);
    size_t length = json_dumpb(header, cache->map + LENGTH_BYTES, room, JSON_COMPACT);
    json_decref(header);
    put_number((unsigned char *)cache->map, room, LENGTH_BYTES);
    return length && length <= room
               ? UNROLL_OK
               : fail(UNROLL_DATA, "the notes about the data are too long; fix: use fewer columns");
}

struct old_file {
    char name[64];
    uint64_t bytes;
    struct timespec used;
};

static bool is_older(const struct old_file *a, const struct old_file *b)
{
    return a->used.tv_sec != b->used.tv_sec ? a->used.tv_sec < b->used.tv_sec : a->used.tv_nsec < b->used.tv_nsec;
}

/* Returns the total size of all other cache files; *oldest: the oldest of them, name "" if there is none. */
static uint64_t look_at_folder(const struct data_cache *cache, struct old_file *oldest)
{
    DIR *folder = opendir(cache->folder);
    const char *own = strrchr(cache->path, '/') + 1;
    struct dirent *entry;
    struct stat info;
    uint64_t all = 0;
    oldest->name[0] = 0;
    while (folder && (entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        bool cached = length == 16 + 12 && strcmp(entry->d_name + 16, ".safetensors") == 0;
        if (!cached || strcmp(entry->d_name, own) == 0 || fstatat(dirfd(folder), entry->d_name, &info, 0) != 0)
            continue;
        struct old_file found = {.bytes = (uint64_t)info.st_size, .used = info.st_mtim};
        memcpy(found.name, entry->d_name, length + 1);
        all += found.bytes;
        if (oldest->name[0] == 0 || is_older(&found, oldest))
            *oldest = found;
    }
    if (folder)
        closedir(folder);
    return all;
}

/* Removes the files that were unused for longest until the total is small enough. */
static void make_room(const struct data_cache *cache)
{
    struct old_file oldest;
    char path[PATH + 80];
    while (look_at_folder(cache, &oldest) + cache->map_bytes > all_max && oldest.name[0]) {
        snprintf(path, sizeof path, "%s/%s", cache->folder, oldest.name);
        if (unlink(path) != 0)
            return;
    }
}

unroll_status cache_end(struct data_cache *cache, unroll_dataset *d)
{
    char *about;
    d->hash = dataset_hash(d, HASH_BEGIN);
    d->hashed = true;
    TRY(describe_data(d, &about));
    unroll_status status = write_header(cache, d, about);
    free(about);
    TRY(status);
    make_room(cache);
    if (fsync(cache->descriptor) != 0 || rename(cache->temporary, cache->path) != 0)
        return cannot_write(cache);
    sync_directory(cache->folder);
    mprotect(cache->map, cache->map_bytes, PROT_READ);
    close(cache->descriptor);
    cache->descriptor = -1;
    return UNROLL_OK;
}

void cache_close(struct data_cache *cache)
{
    if (cache == NULL)
        return;
    if (cache->map && !cache->given)
        munmap(cache->map, cache->map_bytes);
    if (cache->descriptor >= 0) {
        unlink(cache->temporary);
        close(cache->descriptor);
    }
    release(cache);
}
