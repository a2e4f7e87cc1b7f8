/* The reader text: all of a file is one sequence of tokens. */
#include "base/memory.h"
#include "data/reader_table.h"

enum { CHUNK = 1 << 16 };

static unroll_status read_chunks(struct input *input, struct builder *builder, char *chunk)
{
    const char *member;
    size_t got, all = 0;
    int text;
    TRY(builder_columns(builder, ROWS_ARE_EXAMPLES));
    TRY(builder_column(builder, "text", CELL_TOKENS, false, 0, &text));
    for (;;) {
        TRY(input_next(input, &member));
        if (member == NULL)
            break;
        do {
            TRY(input_read(input, chunk, CHUNK, &got));
            TRY(builder_text(builder, text, chunk, got));
            all += got;
        } while (got);
    }
    if (all == 0)
        return fail(UNROLL_DATA, "%s is empty; fix: give a text with at least one character", builder_place(builder));
    return builder_end_row(builder);
}

static unroll_status read_text(struct input *input, const void *options, struct builder *builder)
{
    char *chunk;
    (void)options;
    if (input_is_folder(input))
        return fail(UNROLL_DATA, "cannot read '%s': Is a directory; fix: give a file in it", input_path(input));
    TRY(ALLOCATE(chunk, CHUNK, "to read '%s'", input_name(input)));
    unroll_status status = read_chunks(input, builder, chunk);
    release(chunk);
    return status;
}

const struct reader reader_text = {.name = "text", .about = "text in UTF-8", .read = read_text};
