/* Cuts texts into tokens, strictly as UTF-8. Bytes come in pieces of any size; a token is cut off when later bytes
 * cannot change it. Line ends and byte order marks stay unchanged: the text is exactly its bytes. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/builder/draft.h"

typedef unsigned char byte;

enum { TOKEN_LONGEST = 64 << 20 };

static size_t count_characters(const byte *at, const byte *end)
{
    size_t count = 0;
    for (; at < end; at++) count += (*at & 0xc0) != 0x80;
    return count;
}

static void advance(struct token_place *place, const byte *at, const byte *end)
{
    const byte *line = at;
    place->bytes += (size_t)(end - at);
    for (const byte *found; line < end && (found = memchr(line, '\n', (size_t)(end - line))); line = found + 1) {
        place->lines++;
        place->characters = 0;
    }
    place->characters += count_characters(line, end);
}

/* Suggests how to convert a file that is not a text, from its first bytes. */
static const char *binary_fix(const byte *at)
{
    static const char arrays[] = "give the file alone and without `reader`; arrays are detected by their content";
    static const char sounds[] =
        "train on sounds as arrays, from Python (docs/howto/python.md) or C; 'unroll stream' runs a model over them";
    static const char utf_16[] = "convert it, for example with 'iconv -f UTF-16 -t UTF-8'";
    static const struct {
        const char *begin, *fix;
    } kinds[] = {{"\x93NUMPY", arrays}, {"RIFF", sounds}, {"\xff\xfe", utf_16}, {"\xfe\xff", utf_16}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (memcmp(at, kinds[i].begin, strlen(kinds[i].begin)) == 0)
            return kinds[i].fix;
    return "give UTF-8 text";
}

static unroll_status refuse_encoding(struct builder *builder, const struct draft *draft, const byte *at)
{
    struct token_place place = draft->place;
    advance(&place, draft->pending, at);
    return fail(UNROLL_DATA,
                "%s is not UTF-8: byte 0x%02x at offset %zu in line %zu; fix: convert it, for example with 'iconv -f "
                "LATIN1 -t UTF-8'",
                draft_place(builder, draft), *at, place.bytes, place.lines + 1);
}

/* Checks all pending bytes; an incomplete character waits for its remaining bytes. */
static unroll_status check_encoding(struct builder *builder, struct draft *draft, bool last)
{
    const byte *at = draft->pending + draft->pending_checked, *end = draft->pending + draft->pending_size;
    int32_t code;
    for (int length; at < end; at += length)
        if (*at < 0x80)
            length = 1;
        else if ((length = utf8_read(at, end, &code)) == 0) {
            if (last || end - at >= UTF8_LONGEST)
                return refuse_encoding(builder, draft, at);
            break;
        }
    draft->pending_checked = (size_t)(at - draft->pending);
    return UNROLL_OK;
}

static unroll_status refuse_token(struct builder *builder, const struct draft *draft, const byte *at)
{
    struct token_place place = draft->place;
    int32_t code;
    int length = utf8_read(at, draft->pending + draft->pending_size, &code);
    advance(&place, draft->pending, at);
    return fail(UNROLL_DATA,
                "%s, line %zu, column %zu: the character '%.*s' (U+%04" PRIX32
                ") is not among the model's %d tokens; fix: remove or replace it, or train a model on a text that "
                "has it, or with a limited vocabulary (vocab=N), which has <unk>",
                draft_place(builder, draft), place.lines + 1, place.characters + 1, code == '\n' ? 2 : length,
                code == '\n' ? "\\n" : (const char *)at, (uint32_t)code, vocabulary_size(draft->vocabulary));
}

static unroll_status take_token(struct builder *builder, struct draft *draft, const byte *at, size_t size)
{
    int32_t id;
    TRY(draft_check_room(builder, draft, 1));
    draft->entries++;
    draft->row_entries++;
    if (draft->grows)
        return vocabulary_add(draft->vocabulary, at, size, &id);
    if (builder->run != RUN_FILL)
        return UNROLL_OK;
    if ((id = vocabulary_find(draft->vocabulary, at, size)) == VOCABULARY_NONE)
        id = draft->unknown;
    if (id == VOCABULARY_NONE)
        return refuse_token(builder, draft, at);
    draft_put_id(draft, id);
    return UNROLL_OK;
}

/* Cuts off and stores the tokens that later bytes cannot change; last: all. */
static unroll_status cut_tokens(struct builder *builder, struct draft *draft, bool last)
{
    const struct word_pieces *pieces = &pieces_of_kind[draft->column.kind];
    const byte *begin = draft->pending, *at = begin, *end = begin + draft->pending_checked;
    for (size_t size; at < end; at += size) {
        const byte *from = pieces->skipped ? at + pieces->skipped(at, end) : at;
        size = from < end ? pieces->length(from, end) : 0;
        if (!last && (size_t)(end - from) < size + PIECE_MARGIN)
            break;
        if (size)
            TRY(take_token(builder, draft, from, size));
        size += (size_t)(from - at);
    }
    size_t taken = (size_t)(at - begin);
    advance(&draft->place, begin, at);
    if (taken)
        memmove(draft->pending, at, draft->pending_size - taken);
    draft->pending_size -= taken;
    draft->pending_checked -= taken;
    return UNROLL_OK;
}

static unroll_status append(struct builder *builder, struct draft *draft, const void *bytes, size_t size)
{
    size_t wanted = draft->pending_size + size;
    if (wanted > TOKEN_LONGEST)
        return fail(UNROLL_DATA, "%s has a word of more than 64 MiB; fix: use `tokens` chars",
                    draft_place(builder, draft));
    if (wanted > draft->pending_room) {
        size_t room = wanted + wanted / 2 + 64;
        if (!enlarge(&draft->pending, draft->pending_size, room))
            return fail(UNROLL_RESOURCE, "no memory for a text of %s", draft_place(builder, draft));
        draft->pending_room = room;
    }
    for (size_t i = draft->place.bytes + draft->pending_size, n = 0; i < sizeof draft->head && n < size; i++, n++)
        draft->head[i] = ((const byte *)bytes)[n];
    if (size)
        memcpy(draft->pending + draft->pending_size, bytes, size);
    draft->pending_size = wanted;
    return UNROLL_OK;
}

unroll_status cut_text(struct builder *builder, struct draft *draft, const void *bytes, size_t size, bool last)
{
    const byte *zero = size ? memchr(bytes, 0, size) : NULL;
    size_t before = draft->place.bytes + draft->pending_size;
    TRY(append(builder, draft, bytes, size));
    if (zero)
        return fail(UNROLL_DATA, "%s is a binary file, not a text: byte %zu is zero; fix: %s",
                    draft_place(builder, draft), before + (size_t)(zero - (const byte *)bytes),
                    binary_fix(draft->head));
    TRY(check_encoding(builder, draft, last));
    TRY(cut_tokens(builder, draft, last));
    if (last) {
        draft->place = (struct token_place){0};
        memset(draft->head, 0, sizeof draft->head);
    }
    return UNROLL_OK;
}
