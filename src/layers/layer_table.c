/* The table of layer_kind.h. */
#include "layers/layer_table.h"
#include "base/status.h"
#include <string.h>

#define LAYER_ROW(name) &layer_##name,
enum { MOST_ADDED = 4, BUILT_IN = sizeof (const struct layer_kind *[]){ LAYER_KINDS(LAYER_ROW) } / sizeof (void *) };

static const struct layer_kind *kinds[BUILT_IN + MOST_ADDED] = { LAYER_KINDS(LAYER_ROW) };
static int count = BUILT_IN;

const struct layer_kind *layer_kind_find(const char *name)
{
    for (int i = 0; i < count; i++)
        if (kinds[i]->name && !strcmp(kinds[i]->name, name))
            return kinds[i];
    return &layer_recurrent;
}

unroll_status layer_kind_add(const struct layer_kind *kind)
{
    if (count == BUILT_IN + MOST_ADDED)
        return fail(UNROLL_RESOURCE, "there are %d kinds of layers already", count);
    kinds[count++] = kind;
    return UNROLL_OK;
}
