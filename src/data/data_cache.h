/* Data that are large, parsed once: their arrays lie in a file, which is mapped, so that they need no memory of their
 * own; the next opening maps the file again. The file is one of safetensors, in UNROLL_CACHE or XDG_CACHE_HOME/unroll
 * or ~/.cache/unroll, named by a hash of the data's bytes, of how they are read and of the version of this format.
 * UNROLL_CACHE=off: all stays in memory. */
#ifndef DATA_DATA_CACHE_H
#define DATA_DATA_CACHE_H
#include "data/data_schema.h"
#include "data/input.h"

struct data_cache;

/* *dataset: from the cache, or NULL. *cache: where such data can be put; NULL: too small a file, or off. `how`: what
 * decides how these bytes are read. A damaged file is removed, *damaged set. */
unroll_status cache_find(struct input *input, const char *how, const struct schema *schema, struct data_cache **cache,
                         unroll_dataset **dataset, bool *damaged);

/* Are so many bytes of arrays to be put there? */
bool cache_wants(const struct data_cache *cache, size_t bytes);
/* A file with room for the arrays, of zeros, and for the description of such data. arrays[i] has bytes[i]. */
unroll_status cache_begin(struct data_cache *cache, const size_t bytes[], int count, size_t description,
                          void *arrays[]);
/* The data set whose arrays lie there owns the map from now on. */
void cache_give(struct data_cache *cache, unroll_dataset *dataset);
/* The arrays are filled: the file gets its name, whole. */
unroll_status cache_end(struct data_cache *cache, unroll_dataset *dataset);
const char *cache_path(const struct data_cache *cache);
void cache_close(struct data_cache *cache); /* what has not ended is removed; NULL is allowed */

/* For tests: data of fewer bytes, and arrays of fewer, are not cached; files beyond `all` bytes are removed. */
void cache_limits(size_t file, size_t arrays, uint64_t all);

#endif
