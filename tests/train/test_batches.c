/* Tests of how a text becomes batches, and of the learning-rate schedules: neither needs a model.
 * That trainings use them rightly is in test_trainer.c. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "train/batcher.h"
#include "train/schedule.h"

/* ---- batches ---- */

enum { BATCHER_TEXT = 103, MOST_BATCH = 256 };

/* The text is 0, 1, 2, ..: a token is its own place. Marks what an epoch's batches read; false if a row does
 * not go on where it was, a target is not the next symbol, or rows are not in the order of the text. */
static bool read_epoch(const struct batcher *batcher, int64_t epoch, bool used[BATCHER_TEXT])
{
    int32_t inputs[MOST_BATCH], targets[MOST_BATCH], expected[MOST_BATCH];
    struct cursor cursor = {epoch, 0};
    bool right = true;

    for (; cursor.epoch == epoch; cursor = batcher_next(batcher, cursor)) {
        batcher_fill(batcher, cursor, inputs, targets);
        for (int row = 0; row < batcher->rows; row++)
            for (int t = 0; t < batcher->steps; t++) {
                int at = t * batcher->rows + row;
                bool first = cursor.window == 0 && t == 0;
                right = right && (first || inputs[at] == expected[row])
                     && (!first || row == 0 || inputs[at] > inputs[at - 1])
                     && targets[at] == inputs[at] + 1 && targets[at] < BATCHER_TEXT;
                used[inputs[at]] = true;
                expected[row] = targets[at];
            }
    }
    return right && cursor.epoch == epoch + 1 && cursor.window == 0;
}

static void test_batches(void)
{
    static const int shapes[][2] = {{1, 1}, {1, 102}, {102, 1}, {4, 7}, {5, 9}, {3, 34}, {7, 13}};
    int32_t tokens[BATCHER_TEXT];
    struct batcher batcher;

    for (int i = 0; i < BATCHER_TEXT; i++)
        tokens[i] = i;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bool used[BATCHER_TEXT] = {false};
        int wrong = 0, unused = 0;
        if (!MUST(batcher_init(&batcher, tokens, BATCHER_TEXT, shapes[i][0], shapes[i][1], 5)))
            continue;
        for (int64_t epoch = 0; epoch < 400; epoch++)
            wrong += !read_epoch(&batcher, epoch, used);
        for (int at = 0; at + 1 < BATCHER_TEXT; at++)
            unused += !used[at];
        CHECK(wrong == 0 && unused == 0, "%d x %d: %d epochs are wrong, %d symbols never trained on",
              shapes[i][0], shapes[i][1], wrong, unused);
    }
}

/* The largest sizes that the error names must fit, and no larger ones. */
static void test_texts_too_short(void)
{
    int32_t tokens[BATCHER_TEXT] = {0};
    struct batcher batcher;

    CHECK_REFUSED(batcher_init(&batcher, tokens, BATCHER_TEXT, 10, 11, 1), UNROLL_DATA,
                  "batch at most 9 with this bptt, or bptt at most 10 with this batch");
    MUST(batcher_init(&batcher, tokens, BATCHER_TEXT, 9, 11, 1));
    MUST(batcher_init(&batcher, tokens, BATCHER_TEXT, 10, 10, 1));
    CHECK_REFUSED(batcher_init(&batcher, tokens, BATCHER_TEXT, 1, 200, 1), UNROLL_DATA, "bptt at most 102");
    CHECK_REFUSED(batcher_init(&batcher, tokens, 0, 1, 1, 1), UNROLL_DATA, "0 symbols");
    CHECK_REFUSED(batcher_init(&batcher, tokens, 1, 1, 1, 1), UNROLL_DATA, "1 symbols");
    MUST(batcher_init(&batcher, tokens, 2, 1, 1, 1));
}

/* ---- schedules ---- */

static double factor_at(const char *name, int64_t step, const struct plateau *plateau)
{
    struct schedule_moment moment = {.step = step, .warmup = 10, .total = 110, .plateau = plateau};

    return schedule_factor(schedule_find(name), &moment);
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
    CHECK(schedule_find("linear") == NULL, "an unknown schedule");
}

static void test_plateau(void)
{
    static const double losses[] =  {3.0, 2.0, 2.5, 2.0, 1.9, 1.9,  1.9,  1.8,  2.0,  2.0};
    static const double factors[] = {1,   1,   1,   0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125};
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
