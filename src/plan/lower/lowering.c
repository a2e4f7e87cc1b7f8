/* The table declared in lowering.h. */
#include "plan/lower/lowering.h"
#include "base/table.h"

#define LOWERING_ROW(name) &lowering_##name,
static const void *const rows[] = {LOWERINGS(LOWERING_ROW)};
static struct table lowerings = TABLE("lowering", rows);

unroll_status lowering_find(const char *kind, const struct layer_lowering **lowering)
{
    *lowering = table_at(&lowerings, table_find(&lowerings, kind ? kind : lowering_recurrent.kind));
    return *lowering ? UNROLL_OK : table_refuse(&lowerings, kind);
}

unroll_status lowering_add(const struct layer_lowering *row) { return table_add(&lowerings, row); }
