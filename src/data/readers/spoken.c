/* See spoken.h. */
#include "data/readers/spoken.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/readers/folder.h"

static bool ends_in(const char *text, const char *ending)
{
    const size_t length = strlen(text), end = strlen(ending);
    return length > end && strcasecmp(text + length - end, ending) == 0;
}

/* Returns the length of a path without the suffix of its name. */
static size_t stem_of(const char *path)
{
    const char *dot = strrchr(member_base_name(path), '.');
    return dot && dot > member_base_name(path) ? (size_t)(dot - path) : strlen(path);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* Copies a + b with their lengths; `trims`: without white space at the ends of b. */
static unroll_status join(const char *a, size_t length, const char *b, size_t size, bool trims, char **joined)
{
    while (trims && size > 0 && is_blank(b[size - 1])) size--;
    while (trims && size > 0 && is_blank(*b)) b++, size--;
    TRY(ALLOCATE(*joined, length + size + 1, "for a transcript"));
    memcpy(*joined, a, length);
    memcpy(*joined + length, b, size);
    return UNROLL_OK;
}

/* Adds an entry for the sound `name` in the folder of a file; text NULL: the sound itself. */
static unroll_status add_recording(struct spoken_list *list, const char *member, size_t folder, const char *name,
                                   size_t length, const char *text, size_t size)
{
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 64;
        if (!enlarge(&list->at, list->count * sizeof *list->at, room * sizeof *list->at))
            return fail(UNROLL_RESOURCE, "no memory for %zu transcripts", room);
        list->room = room;
    }
    struct spoken *new = &list->at[list->count];
    *new = (struct spoken){NULL, NULL};
    TRY(join(member, folder, name, length, false, &new->key));
    list->count++;
    return text ? join("", 0, text, size, true, &new->text) : UNROLL_OK;
}

unroll_status spoken_add_sound(struct spoken_list *list, const char *member)
{
    return add_recording(list, member, 0, member, stem_of(member), NULL, 0);
}

/* Adds a line "NAME TEXT", or "PATH,TEXT" with quotes around a text that contains them. */
static unroll_status add_line(struct spoken_list *list, const char *member, char *line, size_t length, bool table)
{
    const size_t folder = (size_t)(member_base_name(member) - member);
    size_t name = 0, end = length;
    while (name < length && line[name] != (table ? ',' : ' ')) name++;
    if (name == 0 || name == length)
        return UNROLL_OK;
    char *text = line + name + 1;
    while (end > 0 && is_blank(line[end - 1])) end--;
    size_t size = end > name ? end - name - 1 : 0;
    if (table && size >= 2 && *text == '"' && text[size - 1] == '"') {
        text++, size -= 2;
        size_t kept = 0;
        for (size_t i = 0; i < size; i++)
            if (text[i] != '"' || i == 0 || text[i - 1] != '"' || kept == 0 || (i > 1 && text[i - 2] == '"'))
                text[kept++] = text[i];
        size = kept;
    }
    line[name] = '\0';
    return add_recording(list, member, folder, line, table ? stem_of(line) : name, text, size);
}

unroll_status spoken_add_file(struct spoken_list *list, const char *member, char *bytes, size_t size)
{
    static const char head[] = "path,text", mark[] = "\xef\xbb\xbf";
    const bool lines = ends_in(member, ".trans.txt"), table = ends_in(member, ".csv");
    if (!lines && !table && !ends_in(member, ".txt"))
        return UNROLL_OK;
    char *at = bytes, *end = at + size;
    if (size >= 3 && memcmp(at, mark, 3) == 0)
        at += 3;
    unroll_status status = UNROLL_OK;
    if (!lines && !table) {
        while (end > at && is_blank(end[-1])) end--;
        if (memchr(at, '\n', (size_t)(end - at)) == NULL && memchr(at, '\t', (size_t)(end - at)) == NULL)
            status = add_recording(list, member, 0, member, stem_of(member), at, (size_t)(end - at));
        at = end; /* several lines or columns are no transcript */
    }
    if (table &&
        !((size_t)(end - at) > strlen(head) && memcmp(at, head, strlen(head)) == 0 && is_blank(at[strlen(head)])))
        at = end;
    for (bool first = table; at < end && status == UNROLL_OK; first = false) {
        char *next = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((next ? next : end) - at);
        if (!first)
            status = add_line(list, member, at, length, table);
        at += length + (next != NULL);
    }
    return status;
}

/* Sounds come before their transcripts. */
static int compare_texts(const void *one, const void *other)
{
    const struct spoken *a = one, *b = other;
    const int keys = strcmp(a->key, b->key);
    return keys ? keys : (a->text != NULL) - (b->text != NULL);
}

unroll_status spoken_sort(struct spoken_list *list, const char *name, bool *found)
{
    if (list->count)
        qsort(list->at, list->count, sizeof *list->at, compare_texts);
    for (size_t i = 1; i < list->count; i++) {
        const struct spoken *before = &list->at[i - 1], *now = &list->at[i];
        if (strcmp(before->key, now->key) != 0 || now->text == NULL)
            continue;
        if (before->text)
            return fail(UNROLL_DATA, "'%s' has two transcripts of '%s'; fix: keep one of them", name, now->key);
        *found = true;
    }
    return UNROLL_OK;
}

const char *spoken_of(const struct spoken_list *list, const char *member)
{
    const size_t length = stem_of(member);
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strncmp(list->at[middle].key, member, length);
        if (order < 0 || (order == 0 && list->at[middle].text == NULL && list->at[middle].key[length] == '\0'))
            low = middle + 1;
        else
            high = middle;
    }
    const struct spoken *at = &list->at[low];
    return low < list->count && at->text && strncmp(at->key, member, length) == 0 && at->key[length] == '\0' ? at->text
                                                                                                             : NULL;
}

void spoken_end(struct spoken_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        release(list->at[i].key);
        release(list->at[i].text);
    }
    release(list->at);
}
