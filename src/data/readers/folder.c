/* Reads a folder, or an archive of one, as examples with classes. Either each class is a folder whose files are
 * examples (texts, or series: series_file.h), or each class is a file whose lines are examples. Hidden and empty files,
 * and those about the data (README, LICENSE, SOURCE), are skipped with a note. Other readers handle other files, and
 * folders without classes. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/builder/builder.h"
#include "data/readers/folder.h"
#include "data/readers/reader_table.h"
#include "data/readers/series_file.h"

enum { MAX_CLASSES = 1 << 16, MAX_PATH = 4096, MAX_TEXT = 64 << 20, SHOWN = 80, MAX_NAME = 256 };

struct folder {
    struct input *in;
    struct builder *builder;
    char *names; /* of the folders that contain files, each terminated by zero */
    size_t used, room;
    int folders, files;
    bool by_file; /* each file is a class */
    bool are_series;
    size_t width; /* of series */
    struct series_line series;
    size_t examples;
    int x, label;        /* columns */
    char last[MAX_NAME]; /* the class of the previous file, if each file is a class */
};

static bool is_folder(const char *path, const char *head, size_t bytes)
{
    (void)head, (void)bytes;
    return input_is_of_files(path);
}

const char *member_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Finds the folder of a file; "" for none. */
static unroll_status folder_of(const char *member, char folder[MAX_PATH])
{
    size_t length = (size_t)(member_base_name(member) - member);
    if (length >= MAX_PATH)
        return fail(UNROLL_DATA, "a path of the data is too long: '%.80s..'; fix: use shorter names", member);
    memcpy(folder, member, length);
    folder[length ? length - 1 : 0] = '\0';
    return UNROLL_OK;
}

bool member_is_hidden(const char *member)
{
    for (const char *at = member; at; at = strchr(at, '/'), at = at ? at + 1 : NULL)
        if ((*at == '.' && strncmp(at, "./", 2) != 0 && strncmp(at, "../", 3) != 0) || strncmp(at, "__MACOSX", 8) == 0)
            return true;
    return false;
}

bool member_is_about(const char *member)
{
    static const char *const words[] = {"README", "LICENSE", "LICENCE", "COPYING", "SOURCE", "CHANGELOG"};
    const char *name = member_base_name(member);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(name, words[i], strlen(words[i])) == 0 && strchr(".", name[strlen(words[i])]))
            return true;
    return false;
}

/* ---- classes ---- */

/* True if a folder in this one contains files. */
static bool holds_folders(const struct folder *f, const char *folder)
{
    size_t length = strlen(folder);
    for (const char *at = f->names; at < f->names + f->used; at += strlen(at) + 1)
        if (strncmp(at, folder, length) == 0 && (length ? at[length] == '/' : *at != '\0'))
            return true;
    return false;
}

static bool is_known(const struct folder *f, const char *folder)
{
    for (const char *at = f->names; at < f->names + f->used; at += strlen(at) + 1)
        if (strcmp(at, folder) == 0)
            return true;
    return false;
}

static unroll_status add_folder(struct folder *f, const char *folder)
{
    size_t length = strlen(folder) + 1;
    if (f->folders == MAX_CLASSES)
        return fail(UNROLL_DATA, "'%s' has more than %d folders; fix: use a folder for each class", input_path(f->in),
                    MAX_CLASSES);
    if (f->used + length > f->room) {
        size_t room = 2 * (f->room + length);
        if (!enlarge(&f->names, f->used, room))
            return fail(UNROLL_RESOURCE, "no memory for the folders of '%s'", input_path(f->in));
        f->room = room;
    }
    memcpy(f->names + f->used, folder, length);
    f->used += length;
    f->folders++;
    return UNROLL_OK;
}

static unroll_status find_folders(struct folder *f)
{
    char folder[MAX_PATH], last[MAX_PATH] = "/";
    const char *member;
    for (;;) {
        TRY(input_next(f->in, &member));
        if (member == NULL)
            return input_rewind(f->in);
        if (member_is_hidden(member) || member_is_about(member))
            continue;
        TRY(folder_of(member, folder));
        if (f->files++ == 0)
            f->are_series = series_file_is(member);
        if (strcmp(folder, last) != 0 && !is_known(f, folder))
            TRY(add_folder(f, folder));
        memcpy(last, folder, sizeof last);
    }
}

/* Finds the width from the first series. */
static unroll_status find_width(struct folder *f)
{
    const char *member;
    do TRY(input_next(f->in, &member));
    while (member && (member_is_hidden(member) || member_is_about(member)));
    if (member)
        TRY(series_file_read(f->in, &f->series, &f->width));
    return input_rewind(f->in);
}

/* Refuses two folders with the same name, such as train/pos and test/pos. */
static unroll_status refuse_twins(const struct folder *f)
{
    for (const char *at = f->names, *end = at + f->used; at < end; at += strlen(at) + 1)
        for (const char *other = at + strlen(at) + 1; other < end; other += strlen(other) + 1)
            if (strcmp(member_base_name(at), member_base_name(other)) == 0)
                return fail(UNROLL_DATA,
                            "'%s' has two folders '%s', in '%s' and '%s'; fix: give the folder of one part, as train/, "
                            "and the other as test data",
                            input_path(f->in), member_base_name(at), at, other);
    return UNROLL_OK;
}

/* Chooses whether folders or files are the classes. */
static unroll_status choose_classes(struct folder *f)
{
    int classes = 0;
    for (const char *at = f->names; at < f->names + f->used; at += strlen(at) + 1) classes += !holds_folders(f, at);
    f->by_file = classes == 1;
    if (f->files == 0)
        return fail(UNROLL_DATA,
                    "'%s' holds no files; fix: use a folder for each class, or a file for each with a line an example",
                    input_path(f->in));
    if (f->by_file && f->files < 2)
        return fail(
            UNROLL_DATA,
            "'%s' has no classes: it holds one file; fix: use a folder for each class, or a file for each with a "
            "line an example, or give the file itself",
            input_path(f->in));
    if (f->by_file && f->are_series)
        return fail(UNROLL_DATA,
                    "'%s' holds series and no folder for each class; fix: use one of its files; or a folder for "
                    "each class with its series; or parts of one table one after the other, with `reader` csv",
                    input_path(f->in));
    return f->by_file ? UNROLL_OK : refuse_twins(f);
}

/* ---- texts ---- */

/* Returns the length of a file name without a suffix such as ".txt", which is a dot and a letter; "GPL-2.0" has
 * none. */
static size_t class_length(const char *name)
{
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
        if (dot > name && isalpha((unsigned char)dot[1]))
            return (size_t)(dot - name);
    return strlen(name);
}

/* Takes the lines of a file as examples of one class. */
static unroll_status take_lines(struct folder *f, const char *member)
{
    const char *class = member_base_name(member), *line;
    size_t length, lines = 0;
    bool more;
    if (class_length(class) == strlen(f->last) && strncmp(class, f->last, strlen(f->last)) == 0)
        return fail(
            UNROLL_DATA,
            "'%s' has two files of one class '%s', '%.*s' and one before; fix: use a file for each class; of parts, as "
            "NAME.train.txt, give one file as the data and another as `validation` or `test`",
            input_path(f->in), f->last, SHOWN, class);
    snprintf(f->last, sizeof f->last, "%.*s", (int)class_length(class), class);
    for (;;) {
        TRY(input_line(f->in, &line, &length, &more));
        if (!more)
            break;
        if (length == 0)
            continue;
        TRY(builder_text(f->builder, f->x, line, length));
        TRY(builder_text(f->builder, f->label, class, class_length(class)));
        TRY(builder_end_row(f->builder));
        lines++;
    }
    f->examples += lines;
    return lines ? UNROLL_OK
                 : builder_note(f->builder, "left out: '%.*s', which is empty", SHOWN, member_base_name(member));
}

static unroll_status take_text(struct folder *f, const char *member, bool *is_empty)
{
    void *bytes;
    size_t size;
    TRY(input_whole(f->in, MAX_TEXT, &bytes, &size));
    while (size > 0 && (((char *)bytes)[size - 1] == '\n' || ((char *)bytes)[size - 1] == '\r')) size--;
    *is_empty = size == 0;
    unroll_status status =
        size ? builder_text(f->builder, f->x, bytes, size)
             : builder_note(f->builder, "left out: '%.*s' and other empty files", SHOWN, member_base_name(member));
    release(bytes);
    return status;
}

static unroll_status take_series(struct folder *f)
{
    size_t width;
    TRY(series_file_read(f->in, &f->series, &width));
    if (width != f->width)
        return fail(
            UNROLL_DATA,
            "'%s' has %zu numbers at each step, those before %zu; fix: use series of the same columns, in a folder for "
            "each class, without tables of their labels",
            input_name(f->in), width, f->width);
    return builder_numbers(f->builder, f->x, f->series.number, f->series.count / width);
}

static unroll_status take_file(struct folder *f, const char *member, const char *folder)
{
    const char *class = member_base_name(folder);
    bool is_empty = false;
    if (holds_folders(f, folder))
        return builder_note(f->builder, "left out: '%.*s', which is in no folder of a class", SHOWN,
                            member_base_name(member));
    TRY(f->are_series ? take_series(f) : take_text(f, member, &is_empty));
    if (is_empty)
        return UNROLL_OK;
    f->examples++;
    TRY(builder_text(f->builder, f->label, class, strlen(class)));
    return builder_end_row(f->builder);
}

/* Reads all files as examples and adds notes about skipped ones. */
static unroll_status read_members(struct folder *f)
{
    char folder[MAX_PATH];
    const char *member;
    TRY(find_folders(f));
    TRY(choose_classes(f));
    if (f->are_series)
        TRY(find_width(f));
    TRY(builder_columns(f->builder, ROWS_ARE_EXAMPLES));
    if (f->are_series)
        TRY(builder_column(f->builder, "x", CELL_NUMBERS, false, (int)f->width, &f->x));
    else
        TRY(builder_column(f->builder, "text", CELL_TOKENS, false, 0, &f->x));
    TRY(builder_column(f->builder, "label", CELL_LABEL, true, 0, &f->label));
    for (;;) {
        TRY(input_next(f->in, &member));
        if (member == NULL)
            break;
        if (member_is_hidden(member) || member_is_about(member)) {
            if (member_is_about(member))
                TRY(builder_note(f->builder, "left out: '%.*s', which describes the data", SHOWN,
                                 member_base_name(member)));
            continue;
        }
        TRY(folder_of(member, folder));
        TRY(f->by_file ? take_lines(f, member) : take_file(f, member, folder));
    }
    return f->examples
               ? UNROLL_OK
               : fail(UNROLL_DATA, "'%s': all its files are empty; fix: give another folder", input_path(f->in));
}

static unroll_status read_folder(struct input *in, const void *options, struct builder *b)
{
    struct folder f = {.in = in, .builder = b};
    (void)options;
    unroll_status status = read_members(&f);
    release(f.series.number);
    release(f.names);
    return status;
}

const struct reader reader_folder = {
    .name = "folder", .about = "folders of classes", .recognizes = is_folder, .read = read_folder};
