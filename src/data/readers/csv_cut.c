/* Cuts rows in place. Most cells of a table are short and unquoted: their ends are found 64 bytes at a time if the
 * processor supports it. */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "data/readers/csv_file.h"

/* Where delimiters and ends of lines are in the 64 bytes from `block` on. */
struct scan {
    char *block; /* NULL: none is known */
    uint64_t marks;
};

#ifdef __SSE2__
static uint64_t find_marks(const char *at, char delimiter)
{
    const __m128i between = _mm_set1_epi8(delimiter), lf = _mm_set1_epi8('\n'), cr = _mm_set1_epi8('\r');
    uint64_t marks = 0;
    for (int i = 0; i < 4; i++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, lf), _mm_cmpeq_epi8(bytes, cr));
        marks |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_or_si128(ends, _mm_cmpeq_epi8(bytes, between))) << (16 * i);
    }
    return marks;
}
#endif

/* The first delimiter or end of a line. */
static inline char *find_end(struct scan *scan, char *at, const char *end, char delimiter)
{
#ifdef __SSE2__
    for (;;) {
        const size_t offset = scan->block ? (size_t)(at - scan->block) : 64;
        if (offset < 64 && scan->marks >> offset)
            return at + __builtin_ctzll(scan->marks >> offset);
        at += offset < 64 ? 64 - offset : 0;
        if (end - at < 64)
            break;
        scan->block = at;
        scan->marks = find_marks(at, delimiter);
    }
#else
    (void)scan;
#endif
    while (at < end && *at != delimiter && *at != '\n' && *at != '\r') at++;
    return at;
}

static char *skip_blanks(char *at, const char *end)
{
    while (at < end && *at == ' ') at++;
    return at;
}

static inline char *cut_plain(struct scan *scan, char *at, const char *end, char delimiter, struct csv_cell *cell)
{
    char *after = find_end(scan, at, end, delimiter), *last = after;
    while (last > at && last[-1] == ' ') last--;
    *cell = (struct csv_cell){.at = at, .length = (uint32_t)(last - at)};
    return after;
}

/* at: the character after the opening quote. Returns NULL if the quote is not closed. Text after the closing quote is
 * part of the cell. */
static char *cut_quoted(struct scan *scan, char *at, const char *end, bool ended, char delimiter, char quote,
                        struct csv_cell *cell)
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
        after = find_end(scan, after, end, delimiter);
    const char *last = odd ? after : close;
    *cell = (struct csv_cell){.at = at, .length = (uint32_t)(last - at), .quoted = true, .raw = raw || odd};
    return after;
}

static inline void store(struct csv_row *row, const struct csv_cell *cell)
{
    if (row->cells < row->room)
        row->cell[row->cells] = *cell;
    row->cells++;
    for (uint32_t i = 0; cell->quoted && i < cell->length; i++) row->lines += cell->at[i] == '\n';
}

/* Cuts one row into cells and returns its length. */
size_t csv_cut(char *bytes, size_t size, bool ended, char delimiter, char quote, struct csv_row *row)
{
    char *at = bytes, *end = bytes + size;
    struct scan scan = {0};
    struct csv_cell cell;
    row->cells = 0, row->lines = 1;
    for (bool more = true; more; at += more) {
        at = skip_blanks(at, end);
        const bool quoted = quote && at < end && *at == quote;
        at = quoted ? cut_quoted(&scan, at + 1, end, ended, delimiter, quote, &cell)
                    : cut_plain(&scan, at, end, delimiter, &cell);
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
