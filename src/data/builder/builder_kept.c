/* Values that are kept in the first run, so that the last run does not parse their cells again. */
#include <math.h>

#include "base/memory.h"
#include "data/builder/draft.h"

enum { KEPT_MAX = 128 << 20 }; /* bytes of all columns */

static size_t kept_size(const struct draft *draft)
{
    return draft->kept_as == KEPT_TIMES ? sizeof(double) : sizeof(float);
}

void draft_drop_kept(struct builder *b, struct draft *draft)
{
    if (draft->keeps)
        b->kept_bytes -= draft->kept_room * kept_size(draft);
    release(draft->kept);
    draft->kept = NULL;
    draft->keeps = false;
}

/* What would be too much is dropped, and read again. */
bool draft_more_kept(struct builder *b, struct draft *draft)
{
    const size_t room = draft->kept_room + draft->kept_room / 4 + 1024,
                 more = (room - draft->kept_room) * kept_size(draft);
    if (b->kept_bytes + more > KEPT_MAX || !extend(&draft->kept, room * kept_size(draft))) {
        draft_drop_kept(b, draft);
        return false;
    }
    draft->kept_room = room;
    b->kept_bytes += more;
    return true;
}

void draft_keep_as(struct builder *b, struct draft *draft, enum kept_as kept)
{
    const size_t missing = draft->kept_count;
    if (!draft->keeps || draft->kept_as == kept)
        return;
    draft_drop_kept(b, draft);
    draft->keeps = true;
    draft->kept_as = kept;
    draft->kept_count = draft->kept_room = draft->column.missing = 0;
    for (size_t i = 0; i < missing; i++) draft_keep(b, draft, NAN);
}

/* True if the kept values are those of the column's type. Infinite numbers are refused with their place. */
static bool is_usable(const struct builder *b, const struct draft *draft)
{
    const struct column *column = &draft->column;
    if (draft->written || draft->ignored || draft->kept_count != b->rows)
        return false;
    if (draft->kept_as == KEPT_TIMES)
        return column->type == COLUMN_TIME;
    if (draft->kept_as == KEPT_IDS)
        return column->type == COLUMN_CATEGORY && !(draft->all_values && draft->survey.missing_words);
    const bool empty = draft->least > draft->most;
    return column->type == COLUMN_NUMBERS && (empty || (isfinite(draft->least) && isfinite(draft->most)));
}

void builder_choose_kept(struct builder *b)
{
    b->filled = b->layout == ROWS_ARE_STEPS && !b->sequences_ended;
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        if (!is_usable(b, draft))
            draft_drop_kept(b, draft);
        b->filled = b->filled && (draft->keeps || draft->ignored || draft->derived);
    }
    for (int i = 0; i < b->drafts && !b->filled; i++) {
        struct draft *draft = &b->draft[i];
        if (draft->kept_as != KEPT_NUMBERS) /* the last run needs little time for them */
            draft_drop_kept(b, draft);
        if (!draft->derived)
            draft->column.missing = 0, draft->least = INFINITY, draft->most = -INFINITY;
    }
}

unroll_status draft_sort_vocabulary(struct draft *draft, enum vocabulary_order order, bool unknown, int32_t max)
{
    struct vocabulary *v = draft->vocabulary;
    const int32_t size = vocabulary_size(v);
    const bool ids = draft->keeps && draft->kept_as == KEPT_IDS;
    struct {
        const char *at;
        size_t size;
    } *before = NULL;
    int32_t *after = NULL, *id = draft->kept;
    unroll_status status = ids ? ALLOCATE(before, (size_t)size, "for %d strings", size) : UNROLL_OK;
    if (status == UNROLL_OK && ids)
        status = ALLOCATE(after, (size_t)size, "for %d strings", size);
    for (int32_t i = 0; after && i < size; i++) before[i].at = vocabulary_at(v, i, &before[i].size);
    vocabulary_sort(v, order, unknown, max);
    for (int32_t i = 0; after && i < size; i++) after[i] = vocabulary_find(v, before[i].at, before[i].size);
    for (size_t i = 0; after && i < draft->kept_count; i++) id[i] = id[i] < 0 ? id[i] : after[id[i]];
    release(before);
    release(after);
    return status;
}
