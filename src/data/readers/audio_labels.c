/* Files of labels of parts of sounds: Audacity, tables, HTK, Praat, RTTM, TEN-VAD and beats. */
#include "data/readers/audio_labels.h"

#include <math.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"

enum { STEM = 256, LABELS_MAX = 1 << 12, LINE = 4096, CELLS = 64, SHOWN = 60 };

struct parser {
    struct audio_labels *labels;
    const char *path, *at, *end; /* `at`: the next line */
    char stem[STEM];             /* of the file */
    char line[LINE];
    int number; /* of the line */
    char *cell[CELLS];
    int cells;
};

void audio_stem(const char *path, char stem[STEM])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    snprintf(stem, STEM, "%.*s", dot && dot > name ? (int)(dot - name) : (int)strlen(name), name);
}

/* ---- storage ---- */

static unroll_status store_name(struct audio_labels *l, const char *name, size_t length, size_t *place)
{
    if (l->used + length + 1 > l->names_room) {
        const size_t room = 2 * l->names_room + length + 256;
        if (!enlarge(&l->names, l->used, room))
            return fail(UNROLL_RESOURCE, "no memory for labels");
        l->names_room = room;
    }
    *place = l->used;
    memcpy(l->names + l->used, name, length);
    l->names[l->used + length] = '\0';
    l->used += length + 1;
    return UNROLL_OK;
}

static unroll_status label_of(struct audio_labels *l, const char *name, size_t length, int *label)
{
    for (*label = 0; *label < l->labels; ++*label)
        if (strlen(audio_label_name(l, *label)) == length && memcmp(audio_label_name(l, *label), name, length) == 0)
            return UNROLL_OK;
    if (l->labels == LABELS_MAX)
        return fail(UNROLL_DATA, "the files of labels have more than %d different labels; fix: give classes, not texts",
                    LABELS_MAX);
    if (l->labels == l->labels_room) {
        const int room = 2 * l->labels_room + 16;
        if (!enlarge(&l->label, (size_t)l->labels * sizeof *l->label, (size_t)room * sizeof *l->label))
            return fail(UNROLL_RESOURCE, "no memory for labels");
        l->labels_room = room;
    }
    return store_name(l, name, length, &l->label[l->labels++]);
}

static unroll_status refuse_labels(const struct parser *p, const char *what, const char *text)
{
    return fail(UNROLL_DATA, "'%.200s', line %d: %s: '%.*s'; fix: correct it, or remove the line", p->path, p->number,
                what, SHOWN, text);
}

/* Adds a span of the sound `stem`; a label without a name is not one. */
static unroll_status add_span(struct parser *p, const char *stem, double from, double to, const char *name)
{
    struct audio_labels *l = p->labels;
    const size_t length = strlen(name);
    struct span span = {.from = from, .to = to};
    if (length == 0)
        return UNROLL_OK;
    if (from < 0 || to < 0)
        return refuse_labels(p, "a time is negative", name);
    if (to < from)
        return refuse_labels(p, "the end is before the start", name);
    if (l->count == l->room) {
        const size_t room = 2 * l->room + 64;
        if (!enlarge(&l->span, l->count * sizeof *l->span, room * sizeof *l->span))
            return fail(UNROLL_RESOURCE, "no memory for %zu labels", room);
        l->room = room;
    }
    TRY(label_of(l, name, length, &span.label));
    const struct span *last = l->count ? &l->span[l->count - 1] : NULL;
    if (last && strcmp(l->names + last->sound, stem) == 0)
        span.sound = last->sound;
    else
        TRY(store_name(l, stem, strlen(stem), &span.sound));
    l->span[l->count++] = span;
    return UNROLL_OK;
}

void audio_labels_end(struct audio_labels *l)
{
    release(l->span);
    release(l->names);
    release(l->label);
    *l = (struct audio_labels){0};
}

/* ---- lines ---- */

/* Copies the next line without its end and a byte order mark; false after the last. */
static bool next_line(struct parser *p)
{
    if (p->at >= p->end)
        return false;
    const char *end = memchr(p->at, '\n', (size_t)(p->end - p->at)), *stop = end ? end : p->end;
    if (p->number == 0 && p->end - p->at >= 3 && memcmp(p->at, "\xef\xbb\xbf", 3) == 0)
        p->at += 3;
    size_t length = (size_t)(stop - p->at);
    length -= length > 0 && p->at[length - 1] == '\r';
    snprintf(p->line, sizeof p->line, "%.*s", (int)(length < LINE ? length : LINE - 1), p->at);
    p->at = end ? end + 1 : p->end;
    p->number++;
    return true;
}

/* Cuts the line at each of the separators; at blanks: several are one. */
static void cut_line(struct parser *p, const char *separators)
{
    const bool blanks = strchr(separators, ' ') != NULL;
    char *at = p->line;
    for (p->cells = 0; p->cells < CELLS && at; p->cells++) {
        at += blanks ? strspn(at, separators) : 0;
        if (blanks && *at == '\0')
            return;
        p->cell[p->cells] = at;
        at = strpbrk(at, separators);
        if (at)
            *at++ = '\0';
    }
}

static bool is_time(const char *text, double *time) { return number_whole_real(text, -1e9, 1e9, time) == NUMBER_OK; }

/* True for a number with a decimal comma. */
static bool has_comma(const char *text)
{
    const size_t whole = strspn(text, "0123456789");
    return whole > 0 && text[whole] == ',' && text[whole + 1] &&
           strspn(text + whole + 1, "0123456789") == strlen(text + whole + 1);
}

static unroll_status need_time(const struct parser *p, const char *text, double *time)
{
    if (is_time(text, time))
        return UNROLL_OK;
    return has_comma(text)
               ? fail(UNROLL_DATA, "'%.200s', line %d: '%.*s' has a decimal comma; fix: write decimal points", p->path,
                      p->number, SHOWN, text)
               : refuse_labels(p, "this is not a time", text);
}

/* ---- formats ---- */

/* Audacity, and lines of HTK: "start end label"; lines that begin with a backslash hold frequencies. */
static unroll_status read_lines(struct parser *p, const char *separators, double unit)
{
    while (next_line(p)) {
        double from, to;
        if (p->line[strspn(p->line, " \t")] == '\0' || *p->line == '\\')
            continue;
        cut_line(p, separators);
        if (p->cells < 2)
            return refuse_labels(p, "there are no two times", p->line);
        TRY(need_time(p, p->cell[0], &from));
        TRY(need_time(p, p->cell[1], &to));
        TRY(add_span(p, p->stem, from * unit, to * unit, p->cells > 2 ? p->cell[2] : "event"));
    }
    return UNROLL_OK;
}

/* Finds a column of a header by one of two names; -1: none. */
static int column_of(const struct parser *p, const char *name, const char *other)
{
    for (int i = 0; i < p->cells; i++)
        if (strcasecmp(p->cell[i], name) == 0 || strcasecmp(p->cell[i], other) == 0)
            return i;
    return -1;
}

/* A table with a header: start, end, label, and perhaps the file of each row. */
static unroll_status read_table(struct parser *p, const char *separators, bool *found)
{
    char stem[STEM];
    next_line(p);
    cut_line(p, separators);
    const int from = column_of(p, "start", "onset"), to = column_of(p, "end", "offset"),
              label = column_of(p, "label", "event_label"), file = column_of(p, "path", "filename");
    *found = from >= 0 && to >= 0 && label >= 0;
    while (*found && next_line(p)) {
        double begin, end;
        if (*p->line == '\0')
            continue;
        cut_line(p, separators);
        if (from >= p->cells || to >= p->cells || label >= p->cells || file >= p->cells)
            return refuse_labels(p, "a cell is missing", p->line);
        TRY(need_time(p, p->cell[from], &begin));
        TRY(need_time(p, p->cell[to], &end));
        if (file >= 0)
            audio_stem(p->cell[file], stem);
        TRY(add_span(p, file >= 0 ? stem : p->stem, begin, end, p->cell[label]));
    }
    return UNROLL_OK;
}

/* RTTM: "SPEAKER file 1 start duration <NA> <NA> name <NA> <NA>". */
static unroll_status read_rttm(struct parser *p)
{
    while (next_line(p)) {
        double from, duration;
        cut_line(p, " \t");
        if (p->cells == 0 || strcmp(p->cell[0], "SPEAKER") != 0)
            continue;
        if (p->cells < 8)
            return refuse_labels(p, "a SPEAKER line needs 8 fields", p->line);
        TRY(need_time(p, p->cell[3], &from));
        TRY(need_time(p, p->cell[4], &duration));
        TRY(add_span(p, p->cell[1], from, from + duration, p->cell[7]));
    }
    return UNROLL_OK;
}

/* TEN-VAD: "name,start,end,0|1,start,end,0|1,.." on a line. */
static unroll_status read_scv(struct parser *p)
{
    const char *comma = memchr(p->at, ',', (size_t)(p->end - p->at));
    char number[3][32];
    p->number = 1;
    while (comma && comma < p->end) {
        double from, to;
        for (int i = 0; i < 3; i++) {
            const char *begin = comma + 1;
            size_t length = 0;
            while (begin + length < p->end && !strchr(",\r\n", begin[length])) length++;
            snprintf(number[i], sizeof number[i], "%.*s", (int)(length < 31 ? length : 31), begin);
            comma = begin + length;
            if (i < 2 && comma >= p->end)
                return refuse_labels(p, "a span is not complete", number[i]);
        }
        TRY(need_time(p, number[0], &from));
        TRY(need_time(p, number[1], &to));
        if (strcmp(number[2], "1") == 0)
            TRY(add_span(p, p->stem, from, to, "speech"));
        if (comma < p->end && *comma != ',')
            break;
    }
    return UNROLL_OK;
}

/* "time TAB beat": points. */
static unroll_status read_beats(struct parser *p)
{
    while (next_line(p)) {
        double at;
        cut_line(p, " \t");
        if (p->cells == 0)
            continue;
        TRY(need_time(p, p->cell[0], &at));
        TRY(add_span(p, p->stem, at, at, "beat"));
    }
    return UNROLL_OK;
}

/* ---- Praat ---- */

/* Reads the next value of a TextGrid, long or short: a number, a flag <exists> or a text in quotes. False: none. */
static bool next_value(struct parser *p, char value[LINE], bool *is_text)
{
    size_t used = 0;
    while (p->at < p->end) {
        const char c = *p->at;
        p->number += c == '\n';
        if (c == '"') {
            for (p->at++; p->at < p->end && (*p->at != '"' || (p->at + 1 < p->end && p->at[1] == '"')); p->at++) {
                if (used + 1 < LINE)
                    value[used++] = *p->at;
                p->at += *p->at == '"';
            }
            p->at += p->at < p->end;
            value[used] = '\0';
            return *is_text = true;
        }
        if ((c >= '0' && c <= '9') || c == '-') { /* a number that does not belong to a name such as xmin2 or [1] */
            while (p->at < p->end && strchr("0123456789.-+eE", *p->at) && used + 1 < LINE) value[used++] = *p->at++;
            value[used] = '\0';
            *is_text = false;
            return true;
        }
        if (c == '[' || (c >= 'A' && c <= 'z')) /* a word, or an index */
            while (p->at < p->end && !strchr(" \t\r\n\"", *p->at)) p->at++;
        else
            p->at++;
    }
    return false;
}

static unroll_status need_value(struct parser *p, char value[LINE], bool text)
{
    bool is_text;
    if (next_value(p, value, &is_text) && is_text == text)
        return UNROLL_OK;
    return fail(UNROLL_DATA, "'%.200s', line %d: the TextGrid is not complete; fix: save it again as a text file",
                p->path, p->number + 1);
}

static unroll_status need_number(struct parser *p, double *number)
{
    char value[LINE];
    TRY(need_value(p, value, false));
    return need_time(p, value, number);
}

/* Reads a tier: its class, name, times and entries. Only the first tier gives labels. */
static unroll_status read_tier(struct parser *p, bool used)
{
    char class[LINE], text[LINE];
    double from, to, count;
    TRY(need_value(p, class, true));
    TRY(need_value(p, text, true));
    TRY(need_number(p, &from));
    TRY(need_number(p, &to));
    TRY(need_number(p, &count));
    const bool points = strcmp(class, "TextTier") == 0;
    for (double i = 0; i < count; i++) {
        TRY(need_number(p, &from));
        to = from;
        if (!points)
            TRY(need_number(p, &to));
        TRY(need_value(p, text, true));
        if (used)
            TRY(add_span(p, p->stem, from, to, text));
    }
    return UNROLL_OK;
}

static unroll_status read_textgrid(struct parser *p)
{
    char value[LINE];
    double number;
    if (p->end - p->at >= 8 && memcmp(p->at, "ooBinary", 8) == 0)
        return fail(UNROLL_DATA, "'%.200s' is a binary TextGrid; fix: save it as a text file in Praat", p->path);
    TRY(need_value(p, value, true)); /* "ooTextFile" */
    TRY(need_value(p, value, true)); /* "TextGrid" */
    TRY(need_number(p, &number));
    TRY(need_number(p, &number));
    TRY(need_number(p, &number));
    for (int tier = 0; tier < number; tier++) TRY(read_tier(p, tier == 0));
    return UNROLL_OK;
}

/* Converts UTF-16 with a byte order mark to UTF-8; other bytes are unchanged. */
static unroll_status from_utf16(const char **bytes, size_t *size, char **converted)
{
    const unsigned char *at = (const unsigned char *)*bytes;
    *converted = NULL;
    if (*size < 2 || !((at[0] == 0xff && at[1] == 0xfe) || (at[0] == 0xfe && at[1] == 0xff)))
        return UNROLL_OK;
    const int low = at[0] == 0xfe;
    size_t used = 0;
    TRY(ALLOCATE(*converted, 2 * *size + 4, "for a file of labels"));
    for (size_t i = 2; i + 1 < *size; i += 2) {
        uint32_t code = (uint32_t)at[i + (size_t)low] | (uint32_t)at[i + 1 - (size_t)low] << 8;
        if (code < 0x80)
            (*converted)[used++] = (char)code;
        else if (code < 0x800) {
            (*converted)[used++] = (char)(0xc0 | code >> 6);
            (*converted)[used++] = (char)(0x80 | (code & 63));
        } else {
            (*converted)[used++] = (char)(0xe0 | code >> 12);
            (*converted)[used++] = (char)(0x80 | (code >> 6 & 63));
            (*converted)[used++] = (char)(0x80 | (code & 63));
        }
    }
    *bytes = *converted;
    *size = used;
    return UNROLL_OK;
}

/* ---- all ---- */

static bool ends_with(const char *path, const char *end)
{
    const size_t length = strlen(path), size = strlen(end);
    return length > size && strcasecmp(path + length - size, end) == 0;
}

bool audio_labels_are_named(const char *path)
{
    static const char *const ends[] = {".txt", ".csv", ".tsv", ".lab", ".textgrid", ".rttm", ".scv", ".beats"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(path, ends[i]))
            return true;
    return false;
}

/* True if the first line that is not empty begins with two times. */
static bool begins_with_times(struct parser p)
{
    double time;
    while (next_line(&p))
        if (p.line[strspn(p.line, " \t")]) {
            cut_line(&p, "\t");
            return p.cells >= 2 && (is_time(p.cell[0], &time) || has_comma(p.cell[0])) &&
                   (is_time(p.cell[1], &time) || has_comma(p.cell[1]));
        }
    return false;
}

/* HTK's integers are units of 100 ns; times with a decimal point are seconds. */
static double unit_of(const struct parser *p)
{
    return p->at < p->end && memchr(p->at, '.', (size_t)(p->end - p->at)) ? 1 : 1e-7;
}

static unroll_status read_file(struct parser *p, bool *found)
{
    *found = true;
    if (ends_with(p->path, ".rttm"))
        return read_rttm(p);
    if (ends_with(p->path, ".lab"))
        return read_lines(p, " \t", unit_of(p));
    if (ends_with(p->path, ".textgrid"))
        return read_textgrid(p);
    if (ends_with(p->path, ".scv"))
        return read_scv(p);
    if (ends_with(p->path, ".beats"))
        return read_beats(p);
    if (begins_with_times(*p))
        return read_lines(p, "\t", 1);
    *found = false;
    return ends_with(p->path, ".txt") ? UNROLL_OK : read_table(p, ends_with(p->path, ".tsv") ? "\t" : ",", found);
}

unroll_status audio_labels_read(struct audio_labels *labels, const char *path, const char *bytes, size_t size,
                                bool *found)
{
    struct parser p = {.labels = labels, .path = path};
    char *converted;
    TRY(from_utf16(&bytes, &size, &converted));
    p.at = bytes, p.end = bytes + size;
    audio_stem(path, p.stem);
    unroll_status status = read_file(&p, found);
    release(converted);
    return status;
}

/* ---- spans of a sound ---- */

static _Thread_local const char *sorted_names; /* for the comparison, which the C library calls without an argument */

static int compare_spans(const void *a, const void *b)
{
    const struct span *one = a, *other = b;
    const int names = strcmp(sorted_names + one->sound, sorted_names + other->sound);
    return names ? names : one->from < other->from ? -1 : one->from > other->from ? 1 : one->label - other->label;
}

void audio_labels_sort(struct audio_labels *l)
{
    sorted_names = l->names;
    qsort(l->span, l->count, sizeof *l->span, compare_spans);
}

size_t audio_labels_of(const struct audio_labels *l, const char *stem, size_t *first)
{
    size_t low = 0, high = l->count, count = 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(l->names + l->span[middle].sound, stem) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    while (low + count < l->count && strcmp(l->names + l->span[low + count].sound, stem) == 0) count++;
    return count;
}
