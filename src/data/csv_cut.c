/* Rows are cut where they lie in memory. Most cells of a table are short and have no quotes: their ends are found 16
 * bytes at a time where the processor can. */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "data/csv_file.h"

/* The first delimiter or end of a line. */
static char *find_end(char *at, const char *end, char delimiter)
{
#ifdef __SSE2__
    const __m128i between = _mm_set1_epi8(delimiter), lf = _mm_set1_epi8('\n'), cr = _mm_set1_epi8('\r');
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, lf), _mm_cmpeq_epi8(bytes, cr));
        const int found = _mm_movemask_epi8(_mm_or_si128(ends, _mm_cmpeq_epi8(bytes, between)));

        if (found)
            return at + __builtin_ctz((unsigned)found);
    }
#endif
    while (at < end && *at != delimiter && *at != '\n' && *at != '\r') at++;
    return at;
}

static char *skip_blanks(char *at, const char *end)
{
    while (at < end && *at == ' ') at++;
    return at;
}

static char *cut_plain(char *at, const char *end, char delimiter, struct csv_cell *cell)
{
    char *after = find_end(at, end, delimiter), *last = after;
    while (last > at && last[-1] == ' ') last--;
    *cell = (struct csv_cell){.at = at, .length = (uint32_t)(last - at)};
    return after;
}

/* at: the character after the opening quote. Returns NULL if the quote is not closed. Text after the closing quote is
 * part of the cell. */
static char *cut_quoted(char *at, const char *end, bool ended, char delimiter, char quote, struct csv_cell *cell)
{
    char *close = at;
    bool raw = false;
    for (;; close += 2, raw = true) {
        close = memchr(close, quote, (size_t)(end - close));
        if (close == NULL || (close + 1 == end && !ended))
            return NULL;
        if (close + 1 == end || close[1] != quote)
            break;
    }
    char *after = skip_blanks(close + 1, end);
    const bool odd = after < end && *after != delimiter && *after != '\n' && *after != '\r';
    if (odd)
        after = find_end(after, end, delimiter);
    const char *last = odd ? after : close;
    *cell = (struct csv_cell){.at = at, .length = (uint32_t)(last - at), .quoted = true, .raw = raw || odd};
    return after;
}

static void store(struct csv_row *row, const struct csv_cell *cell)
{
    if (row->cells < row->room)
        row->cell[row->cells] = *cell;
    row->cells++;
    for (uint32_t i = 0; cell->quoted && i < cell->length; i++) row->lines += cell->at[i] == '\n';
}

size_t csv_cut(char *bytes, size_t size, bool ended, char delimiter, char quote, struct csv_row *row)
{
    char *at = bytes, *end = bytes + size;
    struct csv_cell cell;
    row->cells = 0, row->lines = 1;
    for (bool more = true; more; at += more) {
        at = skip_blanks(at, end);
        const bool quoted = quote && at < end && *at == quote;
        at = quoted ? cut_quoted(at + 1, end, ended, delimiter, quote, &cell) : cut_plain(at, end, delimiter, &cell);
        if (at == NULL || (at == end && !ended))
            return 0;
        more = at < end && *at == delimiter;
        const bool nothing = !quoted && cell.length == 0 && (row->cells == 0 || delimiter == CSV_BLANKS);
        if (more || !nothing)
            store(row, &cell);
    }
    if (at + 1 >= end && at < end && *at == '\r' && !ended)
        return 0; /* LF may follow */
    at += at + 1 < end && *at == '\r' && at[1] == '\n' ? 2 : at < end;
    return (size_t)(at - bytes);
}

void csv_clean(struct csv_cell *cell)
{
    const char *from = cell->at, *end = from + cell->length;
    char *to = cell->at;
    bool inside = true;
    for (; from < end; from++) {
        if (inside && *from == '"') {
            inside = from + 1 < end && from[1] == '"';
            from += inside;
            if (!inside)
                continue;
        }
        *to++ = *from;
    }
    cell->length = (uint32_t)(to - cell->at);
    cell->raw = false;
}
