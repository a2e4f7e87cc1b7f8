/* IDX, the format of MNIST: two zero bytes, the type of the numbers, the number of axes, the length of each axis, the
 * numbers. All values are big-endian (yann.lecun.com/exdb/mnist). An entry of [N, T, ..] is an example of T steps, such
 * as the rows of an image. Labels are an array [N] in a separate file of the same folder, found by its name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/readers/array_input.h"
#include "data/builder/builder.h"
#include "data/readers/reader_table.h"

enum { IDX_PREFIX = 4, LABELS_PATH = 4096 };

static bool find_type(unsigned char code, struct array *a)
{
    static const struct {
        unsigned char code;
        enum dtype dtype;
    } types[] = {{8, DTYPE_U8}, {9, DTYPE_I8}, {11, DTYPE_I16}, {12, DTYPE_I32}, {13, DTYPE_F32}, {14, DTYPE_F64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code)
            return a->dtype = types[i].dtype, a->bytes = (int)dtype_size(a->dtype), true;
    return false;
}

static bool is_idx(const char *path, const char *head, size_t bytes)
{
    struct array a;
    (void)path;
    return bytes >= IDX_PREFIX && head[0] == 0 && head[1] == 0 && find_type((unsigned char)head[2], &a) &&
           head[3] >= 1 && head[3] <= ARRAY_RANK;
}

static unroll_status read_header(struct input *in, struct array *a)
{
    unsigned char at[4];
    *a = (struct array){.big_endian = true};
    TRY(array_bytes(in, at, IDX_PREFIX));
    if (at[0] || at[1] || !find_type(at[2], a) || at[3] < 1 || at[3] > ARRAY_RANK)
        return fail(UNROLL_DATA, "'%s' does not begin with 0 0 TYPE AXES, as IDX files do; fix: get the file again",
                    input_name(in));
    for (a->rank = 0; a->rank < at[3]; a->rank++) {
        unsigned char length[4];
        TRY(array_bytes(in, length, sizeof length));
        for (int i = 0; i < 4; i++) a->shape[a->rank] = a->shape[a->rank] << 8 | length[i];
    }
    return UNROLL_OK;
}

/* ---- labels ---- */

struct labels {
    struct array array;
    unsigned char *value; /* [shape[0]]; NULL: none */
    char name[LABELS_PATH];
};

/* Derives the name of the labels: train-labels-idx1-ubyte.gz for train-images-idx3-ubyte.gz, in either spelling. False:
 * the name has another form. */
static bool name_labels(const char *images, char labels[LABELS_PATH])
{
    const char *word = NULL;
    for (const char *at = images; (at = strstr(at, "images")); at++) word = at;
    if (!word || strchr(word, '/') || strlen(images) >= LABELS_PATH)
        return false;
    int before = (int)(word - images);
    snprintf(labels, LABELS_PATH, "%.*slabels%s", before, images, word + strlen("images"));
    char *digit = strstr(labels + before, "idx");
    if (digit && digit[3] >= '1' && digit[3] <= '9')
        digit[3] = '1';
    return true;
}

/* Tries the name without a suffix of compression, or with another one. */
static bool find_labels(char labels[LABELS_PATH])
{
    size_t length = strlen(labels);
    if (file_exists(labels))
        return true;
    if (length > 3 && strcmp(labels + length - 3, ".gz") == 0)
        labels[length - 3] = '\0';
    else if (length + 4 <= LABELS_PATH)
        memcpy(labels + length, ".gz", 4);
    return file_exists(labels);
}

static unroll_status take_labels(struct input *in, struct labels *l)
{
    const char *member;
    TRY(input_next(in, &member));
    TRY(read_header(in, &l->array));
    if (l->array.rank != 1 || !array_is_whole(&l->array))
        return fail(UNROLL_DATA, "'%s' holds no labels: they are one axis of integers; fix: put the right file there",
                    input_name(in));
    return array_whole(in, &l->array, &l->value);
}

static unroll_status read_labels(const char *images, struct labels *l)
{
    struct input *in;
    char wanted[LABELS_PATH];
    if (!name_labels(images, l->name))
        return UNROLL_OK;
    snprintf(wanted, sizeof wanted, "%s", l->name);
    if (!find_labels(l->name))
        return fail(UNROLL_DATA, "the labels of '%s' are not there: there is no '%s'; fix: put it next to the images",
                    images, wanted);
    TRY(input_open(l->name, &in));
    unroll_status status = take_labels(in, l);
    input_close(in);
    return status;
}

/* ---- images ---- */

/* Reads the examples with their labels. */
static unroll_status read_examples(struct input *in, const struct array *a, const struct labels *l, struct builder *b,
                                   float *example, size_t numbers)
{
    size_t steps = (size_t)a->shape[1];
    const char *another;
    int x, label = -1;
    TRY(builder_columns(b, ROWS_ARE_EXAMPLES));
    TRY(builder_column(b, "x", CELL_NUMBERS, false, (int)(numbers / steps), &x));
    if (l->value)
        TRY(builder_column(b, "label", CELL_LABEL, true, 1, &label));
    for (uint64_t i = 0; i < a->shape[0]; i++) {
        char text[ARRAY_TEXT];
        TRY(array_floats(in, a, example, numbers));
        TRY(builder_numbers(b, x, example, steps));
        if (l->value)
            TRY(builder_text(b, label, text, array_text(&l->array, l->value + i * (size_t)l->array.bytes, text)));
        TRY(builder_end_row(b));
    }
    TRY(array_end(in));
    TRY(input_next(in, &another));
    if (another)
        return fail(UNROLL_DATA,
                    "'%s' holds several files; fix: give the one of the images, its labels are found next to it",
                    input_path(in));
    return UNROLL_OK;
}

/* Reads the header of the images, checks their size and reads them. */
static unroll_status read_images(struct input *in, struct labels *l, struct builder *b)
{
    struct array a;
    uint64_t numbers;
    const char *member;
    float *example;
    TRY(input_next(in, &member));
    TRY(read_header(in, &a));
    if (a.rank < 2)
        return fail(
            UNROLL_DATA,
            "'%s' has one axis: these are labels; fix: give the file of the images, its labels are found next to it",
            input_name(in));
    TRY(array_count(in, &a, 1, MAX_EXAMPLE_NUMBERS, &numbers));
    if (!input_is_folder(in))
        TRY(read_labels(input_path(in), l));
    if (l->value && l->array.shape[0] != a.shape[0])
        return fail(UNROLL_DATA,
                    "'%s' has %" PRIu64 " labels, '%s' %" PRIu64
                    " images; fix: put the files of one set into one folder",
                    l->name, l->array.shape[0], input_name(in), a.shape[0]);
    example = allocate((size_t)numbers * sizeof *example);
    if (!example)
        return fail(UNROLL_RESOURCE, "no memory for an image of '%s'", input_name(in));
    unroll_status status = read_examples(in, &a, l, b, example, (size_t)numbers);
    release(example);
    return status;
}

static unroll_status read_idx(struct input *in, const void *options, struct builder *b)
{
    struct labels labels = {.value = NULL};
    (void)options;
    unroll_status status = read_images(in, &labels, b);
    release(labels.value);
    return status;
}

const struct reader reader_idx = {
    .name = "idx", .about = "images of MNIST", .recognizes = is_idx, .reads_beside = true, .read = read_idx};
