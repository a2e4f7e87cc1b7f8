/* Lists the tensors of one file, or of shards with an index:
 *     {"metadata": {...}, "weight_map": {"lstm.weight_ih_l0": "model-00001-of-00002.safetensors", ...}} */
#include "convert/tensor_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "convert/file_table.h"

#define SAVE_AGAIN "save the shards again with their index, or take another copy"

enum { LARGEST_INDEX = 100000000, SHARDS_MAX = 4096, PATH_LONGEST = 4096 };

static int compare_names(const void *left, const void *right)
{
    const struct tensor_view *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

void tensor_set_sort(struct tensor_set *set)
{
    qsort(set->tensor, (size_t)set->count, sizeof *set->tensor, compare_names);
}

/* Lists the tensors of all files. A name may occur in only one of them. */
static unroll_status list_tensors(const char *path, struct tensor_set *set)
{
    int total = 0;
    for (int f = 0; f < set->files; f++) total += safetensors_count(set->file[f]);
    TRY(ALLOCATE(set->tensor, (size_t)total, "for %d tensors", total));
    for (int f = 0; f < set->files; f++)
        for (int i = 0; i < safetensors_count(set->file[f]); i++)
            set->tensor[set->count++] = safetensors_at(set->file[f], i);
    tensor_set_sort(set);
    for (int i = 1; i < set->count; i++)
        if (!strcmp(set->tensor[i - 1]->name, set->tensor[i]->name))
            return fail(UNROLL_DATA, "'%s': two shards contain the tensor '%.160s'; fix: " SAVE_AGAIN, path,
                        set->tensor[i]->name);
    return UNROLL_OK;
}

/* ---- shards ---------------------------------------------------------------------------- */

/* True for a file name without a path, so that an index cannot refer to files outside its folder. */
static bool is_plain_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/') && strlen(name) < 256;
}

static unroll_status open_shard(const char *index, const char *name, struct tensor_set *set)
{
    char path[PATH_LONGEST];
    const char *slash = strrchr(index, '/');
    int folder = slash ? (int)(slash - index) + 1 : 0;
    if (snprintf(path, sizeof path, "%.*s%s", folder, index, name) >= (int)sizeof path)
        return fail(UNROLL_USAGE, "'%s': the path of shard '%s' is too long; fix: move the files to a shorter path",
                    index, name);
    TRY(safetensors_open(path, &set->file[set->files]));
    set->files++;
    return UNROLL_OK;
}

static int find_name(const char *const *names, int count, const char *name)
{
    int i = 0;
    while (i < count && strcmp(names[i], name)) i++;
    return i;
}

struct tensor_wish {
    tensor_wanted *wanted; /* NULL: all */
    void *arg;
};

static bool is_first(void *arg, const char *name) { return !strcmp(arg, name); }

/* Opens each wanted shard once, in the order of its first tensor; names[] receives their names. */
static unroll_status open_shards(const char *index, json_t *map, const struct tensor_wish *wish, const char **names,
                                 struct tensor_set *set)
{
    const char *tensor;
    json_t *value;
    json_object_foreach(map, tensor, value)
    {
        const char *name = json_string_value(value);
        if (!name || !is_plain_name(name))
            return fail(UNROLL_DATA, "'%s': tensor '%.160s' is not in a file next to the index; fix: " SAVE_AGAIN,
                        index, tensor);
        if ((wish->wanted && !wish->wanted(wish->arg, tensor)) || find_name(names, set->files, name) < set->files)
            continue;
        if (set->files == SHARDS_MAX)
            return fail(UNROLL_UNSUPPORTED, "'%s' has more than %d shards; fix: " SAVE_AGAIN, index, SHARDS_MAX);
        names[set->files] = name;
        TRY(open_shard(index, name, set));
    }
    return UNROLL_OK;
}

/* Checks that index and opened shards list the same tensors. */
static unroll_status check_map(const char *index, json_t *map, const char *const *names, const struct tensor_set *set)
{
    const char *tensor;
    json_t *value;
    json_object_foreach(map, tensor, value)
    {
        int f = find_name(names, set->files, json_string_value(value));
        if (f < set->files && !safetensors_find(set->file[f], tensor))
            return fail(
                UNROLL_DATA,
                "'%s': tensor '%.160s' is not in '%s', where it should be according to the index; fix: " SAVE_AGAIN,
                index, tensor, names[f]);
    }
    for (int f = 0; f < set->files; f++)
        for (int i = 0; i < safetensors_count(set->file[f]); i++)
            if (!json_object_get(map, safetensors_at(set->file[f], i)->name))
                return fail(UNROLL_DATA,
                            "'%s': '%s' contains the tensor '%.160s', which is not in the index; fix: " SAVE_AGAIN,
                            index, names[f], safetensors_at(set->file[f], i)->name);
    return UNROLL_OK;
}

/* Opens the shards of an index; at least one, even if no tensor is wanted. */
static unroll_status read_index(const char *index, json_t *json, const struct tensor_wish *wish, struct tensor_set *set)
{
    static const char *const known[] = {"metadata", "weight_map", NULL};
    json_t *map;

    TRY(json_fields_known(json, index, known));
    TRY(json_field_object(json, index, "weight_map", &map));
    const char **names = allocate_zeroed(SHARDS_MAX, sizeof *names);
    set->file = allocate_zeroed(SHARDS_MAX, sizeof(struct safetensors *));
    unroll_status status = names && set->file ? open_shards(index, map, wish, names, set)
                                              : fail(UNROLL_RESOURCE, "no memory for the shards of '%s'", index);
    if (status == UNROLL_OK && set->files == 0)
        status = open_shards(index, map,
                             &(struct tensor_wish){is_first, (void *)json_object_iter_key(json_object_iter(map))},
                             names, set);
    if (status == UNROLL_OK)
        status = check_map(index, map, names, set);
    release(names);
    return status;
}

static unroll_status open_index(const char *path, const struct tensor_wish *wish, struct tensor_set *set)
{
    json_t *json;
    TRY(read_json_file(path, LARGEST_INDEX, &json));
    unroll_status status = read_index(path, json, wish, set);
    json_decref(json);
    return status;
}

/* ---- one file, or several -------------------------------------------------------------- */

static unroll_status open_one(const char *path, struct tensor_set *set)
{
    TRY(ALLOCATE(set->file, 1, "for '%s'", path));
    TRY(safetensors_open(path, &set->file[0]));
    set->files = 1;
    return UNROLL_OK;
}

unroll_status tensor_set_open(const char *path, struct tensor_set *set)
{
    return tensor_set_open_some(path, NULL, NULL, set);
}

unroll_status tensor_set_open_some(const char *path, tensor_wanted *wanted, void *arg, struct tensor_set *set)
{
    const struct tensor_wish wish = {wanted, arg};
    *set = (struct tensor_set){.count = 0};
    unroll_status status = path_ends_in(path, ".json") ? open_index(path, &wish, set) : open_one(path, set);
    if (status == UNROLL_OK)
        status = list_tensors(path, set);
    if (status != UNROLL_OK)
        tensor_set_close(set);
    return status;
}

void tensor_set_close(struct tensor_set *set)
{
    for (int f = 0; f < set->files; f++) safetensors_close(set->file[f]);
    release(set->file);
    release(set->tensor);
    *set = (struct tensor_set){.count = 0};
}

const struct tensor_view *tensor_set_find(const struct tensor_set *set, const char *name)
{
    const struct tensor_view wanted = {.name = name}, *key = &wanted;
    const struct tensor_view **found =
        bsearch(&key, set->tensor, (size_t)set->count, sizeof *set->tensor, compare_names);
    return found ? *found : NULL;
}

const char *tensor_set_metadata(const struct tensor_set *set, const char *key)
{
    return set->files == 1 ? safetensors_metadata(set->file[0], key) : NULL;
}

unroll_status tensor_set_write_index(const char *path, const char *const *tensor, const char *const *shard, int count,
                                     uint64_t bytes)
{
    json_t *map = json_object(), *index = NULL;
    char *text = NULL;
    bool good = map != NULL;
    for (int i = 0; good && i < count; i++) good = json_object_set_new(map, tensor[i], json_string(shard[i])) == 0;
    index = json_pack("{s{sI} so}", "metadata", "total_size", (json_int_t)bytes, "weight_map", map);
    unroll_status status =
        good && index ? format_json(index, &text) : fail(UNROLL_RESOURCE, "no memory to write '%s'", path);
    json_decref(index);
    if (status == UNROLL_OK)
        status = write_file_atomically(path, &(struct piece){text, strlen(text)}, 1);
    release(text);
    return status;
}
