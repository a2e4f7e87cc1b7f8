/* Data passed from C: rows of a callback, arrays, and errors of both. */
/* test: kinds=plain,memory */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "data/dataset.h"
#include "unroll_train.h"

/* What a callback returns, including each kind of error. */
enum deed { RIGHT, MORE, FEWER, OTHER_NAME, OTHER_CELL, LATE, NO_COLUMN, TEXT_AS_NUMBERS, NUMBERS_AS_TEXT, GIVES_UP };

struct rows {
    enum deed deed;
    int runs;
};

/* Passes three rows, with the error that rows->deed names. */
static unroll_status hand(void *arg, unroll_builder *b)
{
    struct rows *rows = arg;
    bool again = rows->runs++ > 0;
    int x, label, late, count = rows->deed == MORE && again ? 4 : rows->deed == FEWER && again ? 2 : 3;
    const float values[] = {1, 2, 3, 4};
    unroll_status status =
        unroll_builder_column(b, rows->deed == OTHER_NAME && again ? "z" : "x", UNROLL_COLUMN_NUMBERS, 0, 1, &x);
    if (status == UNROLL_OK)
        status = unroll_builder_column(
            b, "label", rows->deed == OTHER_CELL && again ? UNROLL_COLUMN_SET : UNROLL_COLUMN_LABEL, 1, 0, &label);
    for (int i = 0; i < count && status == UNROLL_OK; i++) {
        status = rows->deed == NUMBERS_AS_TEXT ? unroll_builder_text(b, x, "1", 1)
                                               : unroll_builder_numbers(b, x, values, (size_t)i + 1);
        if (status == UNROLL_OK)
            status = rows->deed == TEXT_AS_NUMBERS
                         ? unroll_builder_numbers(b, label, values, 1)
                         : unroll_builder_text(b, label, i % 2 ? "odd" : "even", 3 + (i % 2 == 0));
        if (status == UNROLL_OK && rows->deed == NO_COLUMN)
            status = unroll_builder_text(b, 7, "", 0);
        if (status == UNROLL_OK)
            status = unroll_builder_end_row(b);
        if (status == UNROLL_OK && rows->deed == LATE)
            status = unroll_builder_column(b, "late", UNROLL_COLUMN_LABEL, 1, 0, &late);
    }
    return rows->deed == GIVES_UP ? UNROLL_PREEMPTED : status;
}

static unroll_status hand_cells(void *arg, unroll_builder *b)
{
    int column;
    unroll_status status = unroll_builder_column(b, "load", UNROLL_COLUMN_TEXT, 1, 1, &column);
    (void)arg;
    for (int i = 0; i < 4 && status == UNROLL_OK; i++) {
        status = unroll_builder_text(b, column, "12", 2);
        if (status == UNROLL_OK)
            status = unroll_builder_end_row(b);
    }
    return status;
}

/* The meaning of rows is detected: single numbers form a series, several in a row are examples. */
static void test_auto(void)
{
    struct rows rows = {RIGHT, 0};
    unroll_dataset *data = NULL;
    if (MUST(unroll_dataset_from_rows(hand_cells, NULL, UNROLL_AUTO, NULL, &data)))
        CHECK(data->rows_are_steps && data->sequences == 1 && data->steps == 4, "%zu steps", data->steps);
    unroll_dataset_free(data);
    if (MUST(unroll_dataset_from_rows(hand, &rows, UNROLL_AUTO, NULL, &data)))
        CHECK(!data->rows_are_steps && data->sequences == 3 && data->steps == 6, "%zu steps", data->steps);
    unroll_dataset_free(data);
}

static void test_callback(void)
{
    static const struct {
        enum deed deed;
        const char *sentence;
    } wrong[] = {{MORE, "the data changed while they were read; fix:"},
                 {FEWER, "became shorter while it was read; fix:"},
                 {OTHER_NAME, "the column 'z' differs from the first run; fix:"},
                 {OTHER_CELL, "the column 'label' differs from the first run; fix:"},
                 {LATE, "comes after the first row; fix:"},
                 {NO_COLUMN, "there is no column 7; fix:"},
                 {TEXT_AS_NUMBERS, "'label' has no numbers; fix:"},
                 {NUMBERS_AS_TEXT, "'x' has numbers; fix:"}};
    struct rows rows = {RIGHT, 0};
    uint64_t live = memory_live();
    unroll_dataset *data = NULL;
    if (MUST(unroll_dataset_from_rows(hand, &rows, 0, NULL, &data)))
        CHECK(data->sequences == 3 && data->steps == 6 && data->begin[2] == 3 && data->column[0].numbers[5] == 3 &&
                  column_id(&data->column[1], 1) == 1 && data->column[1].of_sequence && rows.runs == 2,
              "%zu sequences of %zu steps", data->sequences, data->steps);
    unroll_dataset_free(data);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rows = (struct rows){wrong[i].deed, 0};
        unroll_status status = unroll_dataset_from_rows(hand, &rows, 0, NULL, &data);
        CHECK(status != UNROLL_OK && strstr(unroll_last_error(), wrong[i].sentence), "%d: '%s'", (int)wrong[i].deed,
              unroll_last_error());
    }
    rows = (struct rows){GIVES_UP, 0};
    CHECK(unroll_dataset_from_rows(hand, &rows, 0, NULL, &data) == UNROLL_PREEMPTED && rows.runs == 1, "it gave up");
    CHECK(memory_live() == live, "memory is left");
}

static void test_arrays(void)
{
    static const float x[] = {1, 2, 3, 4, 5, NAN, 7, 8, 9, 10, 11, 12};
    static const char *const tags[] = {"a", "b", "a", "b", NULL, "a"}, *const labels[] = {"p", NULL, "q"};
    static const char *const texts[] = {"ab", "", "abc"};
    static const int64_t lengths[] = {2, 0, 4}, negative[] = {2, -1, 4};
    unroll_column arrays[] = {
        {.size = sizeof(unroll_column), .name = "x", .kind = UNROLL_COLUMN_NUMBERS, .numbers = x, .width = 2},
        {.size = sizeof(unroll_column), .name = "tag", .kind = UNROLL_COLUMN_WORD, .strings = tags},
        {.size = sizeof(unroll_column),
         .name = "label",
         .kind = UNROLL_COLUMN_LABEL,
         .of_example = 1,
         .strings = labels}};
    const unroll_column text[] = {
        {.size = sizeof(unroll_column), .name = "text", .kind = UNROLL_COLUMN_TOKENS, .strings = texts}, arrays[2]};
    static const int64_t none[3];
    unroll_dataset *data = NULL;
    if (MUST(unroll_dataset_from_columns(arrays, 3, lengths, 3, NULL, &data)))
        CHECK(data->steps == 6 && data->begin[1] == 2 && data->begin[2] == 2 && data->column[0].numbers[11] == 12 &&
                  column_id(&data->column[1], 4) == -1 && column_id(&data->column[1], 3) == 1 &&
                  column_id(&data->column[2], 1) == -1 && column_id(&data->column[2], 2) == 1,
              "examples");
    unroll_dataset_free(data);
    if (MUST(unroll_dataset_from_columns(arrays, 2, NULL, 6, NULL, &data)))
        CHECK(data->rows_are_steps && data->sequences == 1 && data->steps == 6 && isnan(data->column[0].numbers[5]) &&
                  column_id(&data->column[1], 5) == 0,
              "a series");
    unroll_dataset_free(data);
    if (MUST(unroll_dataset_from_columns(text, 2, none, 3, NULL, &data)))
        CHECK(data->steps == 5 && data->begin[2] == 2 && column_id(data->column, 4) == 2, "texts");
    unroll_dataset_free(data);
    CHECK_REFUSED(unroll_dataset_from_columns(arrays, 3, negative, 3, NULL, &data), UNROLL_USAGE,
                  "example 1 is -1; fix");
    CHECK_REFUSED(unroll_dataset_from_columns(arrays, 0, NULL, 3, NULL, &data), UNROLL_USAGE,
                  "there are 0 arrays; fix");
    arrays[1].numbers = x;
    CHECK_REFUSED(unroll_dataset_from_columns(arrays, 3, lengths, 3, NULL, &data), UNROLL_USAGE, "one of the two");
    arrays[1].numbers = NULL, arrays[1].kind = UNROLL_COLUMN_NUMBERS;
    CHECK_REFUSED(unroll_dataset_from_columns(arrays, 3, lengths, 3, NULL, &data), UNROLL_USAGE, "set `kind`");
    arrays[1].kind = UNROLL_COLUMN_WORD, arrays[1].name = "x";
    CHECK_REFUSED(unroll_dataset_from_columns(arrays, 3, lengths, 3, NULL, &data), UNROLL_DATA, "two columns 'x'");
    arrays[0].size = 0;
    CHECK_REFUSED(unroll_dataset_from_columns(arrays, 3, lengths, 3, NULL, &data), UNROLL_USAGE,
                  "is wrong; fix: start from");
    arrays[0].size = sizeof *arrays;
    arrays[1].name = NULL;
    CHECK_REFUSED(unroll_dataset_from_columns(arrays, 3, lengths, 3, NULL, &data), UNROLL_USAGE, "needs a name");
}

int main(void)
{
    test_callback();
    test_auto();
    test_arrays();
    return check_finish("test_own_data");
}
