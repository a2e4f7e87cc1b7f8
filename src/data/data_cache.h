/* The cache of large parsed data. Their arrays are stored in a file that is mapped, so they need no other memory; the
 * next run maps the file again. The file has the safetensors format. It is in UNROLL_CACHE, XDG_CACHE_HOME/unroll or
 * ~/.cache/unroll. Its name is a hash of the data's bytes, the way they are read, and the version of this format.
 * UNROLL_CACHE=off keeps everything in memory. */
#pragma once
#include "data/data_schema.h"
#include "io/input.h"

struct data_cache;

/* Finds cached data. *dataset: from the cache, or NULL. *cache: the place for such data; NULL: the file is too small,
 * or the cache is off. `how`: everything that affects how the bytes are read. A damaged file is removed and *damaged
 * set. */
unroll_status cache_find(struct input *input, const char *how, const struct schema *schema, struct data_cache **cache,
                         unroll_dataset **dataset, bool *damaged);

/* Returns whether arrays of this size in bytes are cached. */
bool cache_wants(const struct data_cache *cache, size_t bytes);
/* Creates a file with room for the arrays, filled with zeros, and for the description of such data. arrays[i] has
 * bytes[i]. */
unroll_status cache_begin(struct data_cache *cache, const size_t bytes[], int count, size_t description,
                          void *arrays[]);
/* Makes the data set, whose arrays are in the file, the owner of the map. */
void cache_give(struct data_cache *cache, unroll_dataset *dataset);
/* Ends the file after the arrays are filled: it gets its final name. */
unroll_status cache_end(struct data_cache *cache, unroll_dataset *dataset);
const char *cache_path(const struct data_cache *cache);
void cache_close(struct data_cache *cache); /* removes an unfinished file; NULL is allowed */

/* Sets limits for tests: smaller data or arrays are not cached; files beyond a total of `all` bytes are removed. */
void cache_limits(size_t file, size_t arrays, uint64_t all);
