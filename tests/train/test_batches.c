/* Tests how the task lm divides a text into batches, and the learning-rate schedules, without a model. Their use in
 * trainings is tested in test_trainer.c. */
/* test: seconds=5 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "tasks/task_table.h"
#include "train/schedule.h"

/* ---- batches ---- */

enum { LENGTH = 103, MAX_BATCH = 256 };

/* Opens the first tokens of a text as a training part. */
static unroll_status open_part(int32_t *tokens, size_t count, int rows, int steps, struct part **part)
{
    struct column column = {.type = COLUMN_TOKENS, .ids = tokens, .id_bytes = 4, .vocabulary_size = LENGTH};
    const unroll_dataset data = {.column = &column, .columns = 1, .steps = count};
    const struct task_request request = {.data = &data, .rows = rows, .steps = steps, .seed = 5, .ranks = 1};
    return task_lm.open(&request, PART_TRAINING, part);
}

/* The text is 0, 1, 2, ..: a token is its own position. Marks what an epoch's batches read. Returns false if a row does
 * not continue where it ended, a target is not the next token, or rows are not in the order of the text. */
static bool read_epoch(const struct part *part, int64_t epoch, bool used[LENGTH])
{
    int32_t inputs[MAX_BATCH], targets[MAX_BATCH], expected[MAX_BATCH];
    struct task_batch batch = {.tokens = inputs, .classes = targets};
    bool right = true;
    for (int64_t window = 0; window < part->batches; window++) {
        part->fill(part, epoch, window, &batch);
        right = right && batch.begins == (window == 0) && batch.items == part->shape->rows * part->shape->steps;
        for (int row = 0; row < part->shape->rows; row++)
            for (int t = 0; t < part->shape->steps; t++) {
                int at = t * part->shape->rows + row;
                bool first = window == 0 && t == 0;
                right = right && (first || inputs[at] == expected[row]) &&
                        (!first || row == 0 || inputs[at] > inputs[at - 1]) && targets[at] == inputs[at] + 1 &&
                        targets[at] < LENGTH;
                used[inputs[at]] = true;
                expected[row] = targets[at];
            }
    }
    return right;
}

static void test_batches(void)
{
    static const int shapes[][2] = {{1, 1}, {1, 102}, {102, 1}, {4, 7}, {5, 9}, {3, 34}, {7, 13}};
    int32_t tokens[LENGTH];
    for (int i = 0; i < LENGTH; i++) tokens[i] = i;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bool used[LENGTH] = {false};
        int wrong = 0, unused = 0;
        struct part *part;
        if (!MUST(open_part(tokens, LENGTH, shapes[i][0], shapes[i][1], &part)))
            continue;
        for (int64_t epoch = 0; epoch < 400; epoch++) wrong += !read_epoch(part, epoch, used);
        for (int at = 0; at + 1 < LENGTH; at++) unused += !used[at];
        CHECK(wrong == 0 && unused == 0, "%d x %d: %d epochs are wrong, %d tokens never trained on", shapes[i][0],
              shapes[i][1], wrong, unused);
        release(part);
    }
}

/* The largest sizes named in the error must fit, and larger ones must not. */
static void test_texts_too_short(void)
{
    static const struct {
        size_t count;
        int rows, steps;
        const char *refused;
    } shapes[] = {{LENGTH, 10, 11, "batch at most 9 with this bptt, or bptt at most 10 with this batch"},
                  {LENGTH, 9, 11, NULL},
                  {LENGTH, 10, 10, NULL},
                  {LENGTH, 1, 200, "bptt at most 102"},
                  {0, 1, 1, "0 tokens"},
                  {1, 1, 1, "1 tokens"},
                  {2, 1, 1, NULL}};
    int32_t tokens[LENGTH] = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct part *part = NULL;
        unroll_status status = open_part(tokens, shapes[i].count, shapes[i].rows, shapes[i].steps, &part);
        if (shapes[i].refused == NULL)
            MUST(status);
        else
            CHECK_REFUSED(status, UNROLL_DATA, shapes[i].refused);
        release(part);
    }
}

/* ---- schedules ---- */

static double factor_at(const char *name, int64_t step, const struct plateau *plateau)
{
    struct schedule_moment moment = {.step = step, .warmup = 10, .total = 110, .plateau = plateau};
    const struct schedule *schedule;

    return MUST(schedule_find(name, &schedule)) ? schedule_factor(schedule, &moment) : NAN;
}

static void check_factor(const char *name, int64_t step, double expected)
{
    struct plateau plateau = plateau_new();
    double factor = factor_at(name, step, &plateau);
    CHECK(fabs(factor - expected) < 1e-12, "%s at step %d is %g, not %g", name, (int)step, factor, expected);
}

static void test_schedules(void)
{
    static const char *const names[] = {"constant", "cosine", "step", "plateau"};
    const struct schedule *schedule;

    for (int i = 0; i < 4; i++) {
        check_factor(names[i], 0, 0.1);
        check_factor(names[i], 9, 1);
        check_factor(names[i], 10, 1);
    }
    check_factor("constant", 109, 1);
    check_factor("cosine", 60, 0.525);
    check_factor("cosine", 110, 0.05);
    check_factor("cosine", 1000, 0.05);
    check_factor("step", 65, 1);
    check_factor("step", 66, 0.1);
    check_factor("step", 94, 0.01);
    CHECK_REFUSED(schedule_find("linear", &schedule), UNROLL_USAGE, "no schedule 'linear'");
}

static void test_plateau(void)
{
    static const double losses[] = {3.0, 2.0, 2.5, 2.0, 1.9, 1.9, 1.9, 1.8, 2.0, 2.0};
    static const double factors[] = {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125};
    struct plateau plateau = plateau_new();
    for (int i = 0; i < 10; i++) {
        plateau_report(&plateau, losses[i]);
        CHECK(factor_at("plateau", 50, &plateau) == factors[i], "after validation %d", i);
    }
    CHECK(plateau.best == 1.8, "the best is %g", plateau.best);
}

int main(void)
{
    test_batches();
    test_texts_too_short();
    test_schedules();
    test_plateau();
    return check_finish("test_batches");
}
