/* NumPy arrays, a single .npy or several in an .npz: x and optionally y, lengths and tokens. They may be divided into
 * x_train, y_train, x_test and y_test; an existing model reads the test part for evaluation or prediction. The axes of
 * x decide its meaning. [T] or [T, F] alone is one series whose rows are steps; [N, T] or [N, T, F] with a y for each
 * contains N examples of T steps. Integers and texts in y are categories, other numbers are targets of a regression.
 * Compressed members are supported. Inputs for running a model are read by io/npy.h, which supports all types. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "io/npy_header.h"
#include "data/readers/array_input.h"
#include "data/builder/builder.h"
#include "data/readers/reader_table.h"

enum array_part { ANY_PART, TRAIN, TEST };
enum array_rows { AUTO, STEPS, EXAMPLES, ONE_HOT }; /* also for y: the last one is for y only */
enum array_role { X, Y, LENGTHS, ROLES };
static const char *const roles[] = {"x", "y", "lengths", "tokens"}; /* tokens: an x of categories */

struct npz_options {
    int part, rows, labels;
};

static const struct key keys[] = {
    {.name = "part",
     .choices = "auto train test",
     .offset = offsetof(struct npz_options, part),
     .about = "arrays to read, if a file has both"},
    {.name = "rows",
     .choices = "auto steps examples",
     .offset = offsetof(struct npz_options, rows),
     .about = "meaning of the rows of an array with two axes"},
    {.name = "labels",
     .choices = "auto steps examples one-hot",
     .offset = offsetof(struct npz_options, labels),
     .about = "meaning of several y values for each example: one for each step, one row for each example, or a one-hot "
              "class"},
    {0},
};

/* An array of the file. x is read in streaming order, the others are kept in memory. */
struct held {
    struct array array;
    bool found;
    unsigned char *bytes; /* of all arrays but x */
};

struct npz_file {
    struct input *in;
    struct builder *builder;
    const struct npz_options *options;
    enum array_part part;
    struct held of[ROLES];
    bool is_single;  /* a single array with any name: x */
    bool are_tokens; /* x */
    bool are_examples;
    uint64_t rows, steps, width; /* steps: maximum of an example; width: numbers in a step of x */
    int x, y;                    /* columns */
    bool y_of_step, y_is_text;   /* is_text: categories */
    bool y_is_one_hot;           /* rows with a single 1 among zeros: a category each */
    uint64_t y_width;            /* elements of an entry */
    float *numbers;              /* of an example or a step, for x or y */
};

static bool is_npz(const char *path, const char *head, size_t bytes)
{
    return !input_is_of_files(path) && bytes > 6 && memcmp(head, NPY_MAGIC, 6) == 0;
}

/* ---- which arrays ---- */

/* Returns the role of a member: x.npy, X.npy or tokens.npy, or x_train.npy of the wanted part. ROLES: none. */
static int role_of(const char *member, enum array_part part, bool *are_tokens)
{
    const char *name = strrchr(member, '/') ? strrchr(member, '/') + 1 : member;
    const char *suffix = part == TEST ? "_test" : "_train";
    size_t length = strlen(name);
    length -= path_ends_with(name, ".npy") ? 4 : 0;
    for (int i = 0; i <= ROLES; i++) {
        size_t role = strlen(roles[i]);
        if (length < role || strncasecmp(name, roles[i], role) != 0)
            continue;
        bool of_part = length == role + strlen(suffix) && strncmp(name + role, suffix, strlen(suffix)) == 0;
        if (!of_part && (length != role || part == TEST))
            continue;
        *are_tokens = i == ROLES;
        return i == ROLES ? X : i;
    }
    return ROLES;
}

/* Chooses the part: the training part to train, otherwise the test part if there is one. */
static unroll_status choose_part(struct npz_file *f)
{
    const char *member;
    bool are_tokens;
    f->part = f->options->part == TEST ? TEST : TRAIN;
    if (f->options->part != ANY_PART || !builder_reads_again(f->builder))
        return UNROLL_OK;
    for (;;) {
        TRY(input_next(f->in, &member));
        if (member == NULL)
            return input_rewind(f->in);
        if (role_of(member, TEST, &are_tokens) == X)
            f->part = TEST;
    }
}

/* Reads all members once: headers, and the arrays to keep. */
static unroll_status find_arrays(struct npz_file *f)
{
    struct array array = {.rank = 0};
    const char *member;
    int members = 0;
    bool are_tokens;
    for (;; members++) {
        TRY(input_next(f->in, &member));
        if (member == NULL)
            break;
        int role = role_of(member, f->part, &are_tokens);
        TRY(array_npy_header(f->in, &array));
        if (role == ROLES)
            continue;
        if (f->of[role].found)
            return fail(UNROLL_DATA, "'%s' holds %s twice; fix: save one, x or tokens, for each y", input_path(f->in),
                        roles[role]);
        f->of[role] = (struct held){.array = array, .found = true};
        if (role == X)
            f->are_tokens = are_tokens;
        else
            TRY(array_whole(f->in, &array, &f->of[role].bytes));
    }
    f->is_single = members == 1 && f->part != TEST;
    if (!f->of[X].found && !f->is_single)
        return fail(UNROLL_DATA, "'%s' has no array x%s; fix: numpy.savez(FILE, x=.., y=..), or tokens=..",
                    input_path(f->in), f->part == TEST ? "_test" : "");
    f->of[X] = f->of[X].found ? f->of[X] : (struct held){.array = array, .found = true};
    return input_rewind(f->in);
}

/* ---- shapes ---- */

static unroll_status refuse_counts(const struct npz_file *f, const char *name, uint64_t there, uint64_t wanted)
{
    return fail(UNROLL_DATA, "'%s': %s has %" PRIu64 " entries, %s %" PRIu64 "; fix: save one for each",
                input_path(f->in), name, there, f->are_tokens ? "tokens" : "x", wanted);
}

/* Checks the lengths of the examples. */
static unroll_status check_lengths(const struct npz_file *f)
{
    const struct held *l = &f->of[LENGTHS];
    if (!l->found)
        return UNROLL_OK;
    if (l->array.rank != 1 || !array_is_whole(&l->array))
        return fail(UNROLL_DATA, "'%s': lengths is not a list of whole numbers; fix: give one for each example",
                    input_path(f->in));
    if (l->array.shape[0] != f->rows)
        return refuse_counts(f, "lengths", l->array.shape[0], f->rows);
    for (uint64_t i = 0; i < f->rows; i++) {
        double length = array_number(&l->array, l->bytes + i * (uint64_t)l->array.bytes);
        if (length < 0 || length > (double)f->steps)
            return fail(UNROLL_DATA,
                        "'%s': the length of example %" PRIu64 " is %.0f, there are %" PRIu64
                        " steps; fix: use lengths from 0 to %" PRIu64,
                        input_path(f->in), i, length, f->steps, f->steps);
    }
    return UNROLL_OK;
}

/* True if each row of y is one-hot, a single 1 among zeros: the usual encoding of classes. */
static bool is_one_hot(const struct npz_file *f)
{
    const struct array *a = &f->of[Y].array;
    if (!f->are_examples || a->rank != 2 || a->shape[1] < 2 || array_is_text(a) || f->of[LENGTHS].found)
        return false;
    for (uint64_t row = 0; row < a->shape[0]; row++) {
        int ones = 0;
        for (uint64_t i = 0; i < a->shape[1]; i++) {
            const double value = array_number(a, f->of[Y].bytes + (row * a->shape[1] + i) * (uint64_t)a->bytes);

            if (value != 0 && value != 1)
                return false;
            ones += value == 1;
        }
        if (ones != 1)
            return false;
    }
    return a->shape[0] > 1 || f->options->labels == ONE_HOT;
}

static unroll_status note_y(struct npz_file *f)
{
    const struct array *a = &f->of[Y].array;
    if (f->y_is_one_hot)
        return builder_note(
            f->builder, "y is one of %" PRIu64 " one-hot classes for each example; `labels` %s", a->shape[1],
            a->shape[1] == f->steps ? "steps reads it as a value for each step" : "examples reads it as numbers");
    if (!f->y_of_step || a->rank != 2 || f->options->labels || f->of[LENGTHS].found)
        return UNROLL_OK;
    return builder_note(f->builder,
                        "y has a value for each of the %" PRIu64 " steps of x; `labels` examples reads them as %" PRIu64
                        " values for each example",
                        f->steps, f->steps);
}

/* Chooses the meaning of y: an entry per example or per step, categories or numbers. */
static unroll_status choose_y(struct npz_file *f)
{
    const struct array *a = &f->of[Y].array;
    if (!f->of[Y].found)
        return UNROLL_OK;
    if (a->shape[0] != f->rows)
        return refuse_counts(f, "y", a->shape[0], f->rows);
    f->y_is_one_hot = (f->options->labels == AUTO || f->options->labels == ONE_HOT) && is_one_hot(f);
    if (f->options->labels == ONE_HOT && !f->y_is_one_hot)
        return fail(UNROLL_DATA, "'%s': y is not one-hot for each example; fix: leave out `labels`", input_path(f->in));
    f->y_of_step = f->are_examples && a->rank > 1 && f->steps > 1 && a->shape[1] == f->steps && !f->y_is_one_hot &&
                   f->options->labels != EXAMPLES;
    TRY(array_count(f->in, a, f->y_of_step ? 2 : 1, MAX_EXAMPLE_NUMBERS, &f->y_width));
    f->y_is_text = array_is_text(a) || (array_is_whole(a) && f->y_width == 1);
    if (array_is_text(a) && f->y_width > 1)
        return fail(UNROLL_DATA, "'%s': y has %" PRIu64 " texts for each entry of x; fix: save one", input_path(f->in),
                    f->y_width);
    f->y_is_text = f->y_is_text || f->y_is_one_hot;
    f->y_width = f->y_is_one_hot ? 1 : f->y_width;
    return note_y(f);
}

/* Finds the rows, steps and width from the shapes of x and y. */
static unroll_status choose_shapes(struct npz_file *f)
{
    const struct array *x = &f->of[X].array;
    uint64_t all;
    int axes = f->are_tokens ? 1 : 2; /* of one sequence */
    bool paired = f->of[Y].found || f->of[LENGTHS].found;
    f->are_examples =
        f->options->rows == EXAMPLES || (f->options->rows == AUTO && (x->rank > axes || (x->rank == 2 && paired)));
    if (!f->are_tokens && array_is_text(x))
        return fail(UNROLL_DATA, "'%s': x holds texts; fix: give texts as a table, or name the array tokens",
                    input_path(f->in));
    if (x->rank < (f->are_examples ? 2 : 1) || (f->are_tokens && x->rank > 1 + f->are_examples))
        return fail(UNROLL_DATA,
                    "'%s': %s has %d axes; fix: x of [examples, steps, numbers], tokens of [examples, steps]",
                    input_path(f->in), f->are_tokens ? "tokens" : "x", x->rank);
    TRY(array_count(f->in, x, 0, PTRDIFF_MAX / (int64_t)sizeof(double), &all));
    TRY(array_count(f->in, x, 1, MAX_EXAMPLE_NUMBERS, &all));
    f->rows = x->shape[0];
    f->steps = f->are_examples ? x->shape[1] : 1;
    f->width = all / f->steps;
    TRY(check_lengths(f));
    return choose_y(f);
}

static unroll_status declare(struct npz_file *f)
{
    struct builder *b = f->builder;
    enum cell cell = !f->y_is_text ? CELL_NUMBERS : f->are_examples && !f->y_of_step ? CELL_LABEL : CELL_WORD;
    TRY(builder_columns(b, f->are_examples ? ROWS_ARE_EXAMPLES : ROWS_ARE_STEPS));
    TRY(builder_column(b, f->are_tokens ? "tokens" : "x", f->are_tokens ? CELL_WORD : CELL_NUMBERS, false,
                       (int)f->width, &f->x));
    if (!f->of[Y].found)
        return UNROLL_OK;
    return builder_column(b, "y", cell, f->are_examples && !f->y_of_step, (int)f->y_width, &f->y);
}

/* ---- rows ---- */

/* Reads all steps of a row and passes the first `steps` of them. */
static unroll_status give_x(struct npz_file *f, uint64_t steps)
{
    const struct array *a = &f->of[X].array;
    unsigned char element[ARRAY_ELEMENT];
    char text[ARRAY_TEXT];
    if (!f->are_tokens) {
        TRY(array_floats(f->in, a, f->numbers, (size_t)(f->steps * f->width)));
        return builder_numbers(f->builder, f->x, f->numbers, (size_t)steps);
    }
    for (uint64_t i = 0; i < f->steps; i++) {
        TRY(array_bytes(f->in, element, (size_t)a->bytes));
        if (i < steps)
            TRY(builder_text(f->builder, f->x, text, array_text(a, element, text)));
    }
    return UNROLL_OK;
}

static unroll_status give_y(struct npz_file *f, uint64_t row, uint64_t steps)
{
    const struct array *a = &f->of[Y].array;
    uint64_t of_row = f->y_is_one_hot ? a->shape[1] : f->y_width * (f->y_of_step ? f->steps : 1);
    const unsigned char *at = f->of[Y].bytes + row * of_row * (uint64_t)a->bytes;
    char text[ARRAY_TEXT];
    if (f->y_is_one_hot) {
        uint64_t class = 0;
        while (class + 1 < of_row && array_number(a, at + class * (uint64_t)a->bytes) == 0) class++;
        return builder_text(f->builder, f->y, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, class));
    }
    for (uint64_t i = 0; i < steps && f->y_is_text; i++, at += a->bytes)
        TRY(builder_text(f->builder, f->y, text, array_text(a, at, text)));
    if (f->y_is_text)
        return UNROLL_OK;
    for (uint64_t i = 0; i < steps * f->y_width; i++, at += a->bytes) f->numbers[i] = (float)array_number(a, at);
    return builder_numbers(f->builder, f->y, f->numbers, (size_t)steps);
}

static unroll_status give_rows(struct npz_file *f)
{
    const struct held *l = &f->of[LENGTHS];
    for (uint64_t row = 0; row < f->rows; row++) {
        uint64_t steps = f->steps;
        if (l->found)
            steps = (uint64_t)array_number(&l->array, l->bytes + row * (uint64_t)l->array.bytes);
        TRY(give_x(f, steps));
        if (f->of[Y].found)
            TRY(give_y(f, row, f->y_of_step ? steps : 1));
        TRY(builder_end_row(f->builder));
    }
    return array_end(f->in);
}

/* Goes to the member of x: by its name, or the only member. */
static unroll_status go_to_x(struct npz_file *f)
{
    struct array again;
    const char *member;
    bool found, are_tokens;
    do {
        TRY(input_next(f->in, &member));
        if (member == NULL)
            return fail(UNROLL_DATA, "'%s' changed while it was read; fix: read it again", input_path(f->in));
        TRY(array_npy_header(f->in, &again));
        found = f->is_single || role_of(member, f->part, &are_tokens) == X;
    } while (!found);
    return UNROLL_OK;
}

static unroll_status read_arrays(struct npz_file *f)
{
    TRY(choose_part(f));
    TRY(find_arrays(f));
    TRY(choose_shapes(f));
    TRY(declare(f));
    uint64_t of_x = f->steps * f->width, of_y = f->y_width * (f->y_of_step ? f->steps : 1),
             most = of_x > of_y ? of_x : of_y;
    f->numbers = allocate((size_t)most * sizeof(float));
    if (!f->numbers)
        return fail(UNROLL_RESOURCE, "no memory for an example of '%s'", input_path(f->in));
    TRY(go_to_x(f));
    return give_rows(f);
}

static unroll_status read_npz(struct input *in, const void *options, struct builder *b)
{
    struct npz_file f = {.in = in, .builder = b, .options = options};
    unroll_status status = read_arrays(&f);
    for (int i = 0; i < ROLES; i++) release(f.of[i].bytes);
    release(f.numbers);
    return status;
}

const struct reader reader_npz = {.name = "npz",
                                  .about = "arrays of NumPy",
                                  .recognizes = is_npz,
                                  .keys = keys,
                                  .options_bytes = sizeof(struct npz_options),
                                  .read = read_npz};
