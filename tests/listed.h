/* unroll_list for loops of tests. */
#ifndef LISTED_H
#define LISTED_H
#include "unroll.h"

/* Returns the name of that entry; NULL after the last. */
static inline const char *listed(unroll_list_kind kind, int index)
{
    unroll_entry entry = {.size = sizeof entry};
    return unroll_list(kind, index, &entry) ? entry.name : NULL;
}

static inline const char *listed_isa(int index, int *available)
{
    unroll_entry entry = {.size = sizeof entry};
    const bool found = unroll_list(UNROLL_LIST_ISAS, index, &entry);
    *available = entry.available;
    return found ? entry.name : NULL;
}
#endif
