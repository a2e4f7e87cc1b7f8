/* The table declared in layer_kind.h. */
#include "model/layer_table.h"
#include "base/table.h"

#define LAYER_ROW(name) &layer_##name,
static const void *const rows[] = {LAYER_KINDS(LAYER_ROW)};
static struct table kinds = TABLE("layer", rows);

const struct layer_kind *layer_kind_find(const char *name)
{
    const struct layer_kind *found = table_at(&kinds, table_find(&kinds, name));
    return found ? found : &layer_recurrent;
}

unroll_status layer_kind_add(const struct layer_kind *kind) { return table_add(&kinds, kind); }
