/* Custom data: rows passed by a function, and arrays. Here two waves, and short sequences with a class. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "unroll_train.h"

static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "own_data: %s\n", unroll_last_error());
    exit((int)status);
}

/* Passes two waves, one after the other. Called two or three times: it always starts from the beginning. */
static unroll_status hand_waves(void *arg, unroll_builder *builder)
{
    const int *steps = arg;
    int wave, phase;
    unroll_status status = unroll_builder_column(builder, "wave", UNROLL_COLUMN_NUMBERS, 0, 1, &wave);
    if (status == UNROLL_OK)
        status = unroll_builder_column(builder, "phase", UNROLL_COLUMN_LABEL, 0, 0, &phase);
    for (int t = 0; t < 2 * *steps && status == UNROLL_OK; t++) {
        const float value = (float)sin(0.1 * t);
        if (t == *steps)
            status = unroll_builder_end_sequence(builder);
        if (status == UNROLL_OK)
            status = unroll_builder_numbers(builder, wave, &value, 1);
        if (status == UNROLL_OK)
            status = unroll_builder_text(builder, phase, value < 0 ? "low" : "high", value < 0 ? 3 : 4);
        if (status == UNROLL_OK)
            status = unroll_builder_end_row(builder);
    }
    return status == UNROLL_OK ? unroll_builder_end_sequence(builder) : status;
}

/* Receives messages of the library: what it decided about the data, and why a call failed. */
static void report(void *arg, unroll_log_kind kind, const char *line)
{
    fprintf(arg, "own_data: %s: %s\n", kind == UNROLL_LOG_NOTE ? "note" : "error", line);
}

int main(void)
{
    static const float x[] = {0, 1, 2, 3, 9, 8, 7};
    static const int64_t lengths[] = {4, 3};
    static const char *const classes[] = {"up", "down"};
    const unroll_column arrays[] = {
        {.size = sizeof(unroll_column), .name = "x", .kind = UNROLL_COLUMN_NUMBERS, .numbers = x, .width = 1},
        {.size = sizeof(unroll_column), .name = "label", .kind = UNROLL_COLUMN_LABEL, .of_example = 1, .strings = classes},
    };
    unroll_dataset *waves, *examples;
    int steps = 500;
    char *json;

    unroll_set_log(report, stderr);
    check(unroll_version_check(UNROLL_VERSION_MAJOR, UNROLL_VERSION_MINOR));
    check(unroll_dataset_from_rows(hand_waves, &steps, 1, NULL, &waves));
    check(unroll_dataset_from_columns(arrays, 2, lengths, 2, NULL, &examples));
    check(unroll_dataset_describe(examples, &json));
    printf("%s\n", json);
    free(json);
    unroll_dataset_free(examples);
    unroll_dataset_free(waves);
    return 0;
}
