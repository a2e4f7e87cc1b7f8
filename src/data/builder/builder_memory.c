/* Creates and releases a builder. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/builder/draft.h"

enum { NAME_SHOWN = 120 };

/* Checks that no two columns of the schema have the same name. */
static unroll_status name_given(struct builder *b)
{
    int32_t index;
    TRY(vocabulary_new(&b->given_names));
    for (int i = 0; i < b->schema->columns; i++) {
        const char *name = b->schema->column[i].name;
        TRY(vocabulary_add(b->given_names, name, strlen(name), &index));
        if (index != i)
            return fail(UNROLL_DATA, "the model has two columns '%s'; fix: use another copy of the model", name);
    }
    return UNROLL_OK;
}

/* Creates a builder with the options and the names of the schema. */
unroll_status builder_new(const char *name, const struct builder_options *options, const struct schema *schema,
                          struct data_cache *cache, struct builder **builder)
{
    struct builder *made;
    TRY(ALLOCATE(made, 1, "to read '%.*s'", NAME_SHOWN, name));
    made->name = name;
    made->options = options;
    made->schema = schema;
    made->cache = cache;
    made->group = made->time = -1;
    snprintf(made->group_name, sizeof made->group_name, "%s", options->group);
    made->decimal = options->decimal == DECIMAL_COMMA ? ',' : '.';
    unroll_status status = vocabulary_new(&made->names);
    if (status == UNROLL_OK && schema)
        status = name_given(made);
    if (status == UNROLL_OK)
        *builder = made;
    else
        builder_free(made);
    return status;
}

const char *builder_decisions(const struct builder *b) { return b->decisions; }

/* Releases the builder and everything that no data set has taken. */
void builder_free(struct builder *b)
{
    if (b == NULL)
        return;
    for (int i = 0; i < b->drafts; i++) {
        struct draft *draft = &b->draft[i];
        vocabulary_free(draft->vocabulary);
        vocabulary_free(draft->missing);
        release(b->cached ? NULL : draft->array);
        release(b->cached ? NULL : draft->begin);
        release(draft->pending);
        release(draft->kept);
        release(draft->column.vocabulary);
        release(draft->column.strings);
    }
    vocabulary_free(b->names);
    vocabulary_free(b->given_names);
    release(b->draft);
    release(b->cached ? NULL : b->begin);
    release(b->notes);
    release(b);
}
