/* Which examples are held out by a count, and how training examples are augmented: by their definitions, within their
 * bounds, and the same whenever and wherever a row is filled. */
/* test: kinds=check-plain,memory; seconds=1 */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "check.h"
#include "tasks/examples/augment.h"

enum { STEPS = 20, ROWS = 3, ROW = 1, WIDTH = 12, COUNT = 60, CLASSES = 3, HELD = 12 };

/* ---- held-out counts ---- */

static uint8_t labels[COUNT];
static size_t begins[COUNT + 1];
static struct column column = {.type = COLUMN_CATEGORY,
                               .name = "label",
                               .of_sequence = true,
                               .ids = labels,
                               .id_bytes = 1,
                               .vocabulary_size = CLASSES};
static const unroll_dataset data = {.column = &column, .columns = 1, .sequences = COUNT, .begin = begins};

/* Counts the classes of a part; returns whether its members are those from `first` on. */
static bool count_part(const struct task_request *request, enum part_of which, size_t first, int count[CLASSES])
{
    struct members members;
    bool last = true;
    memset(count, 0, CLASSES * sizeof *count);
    if (!MUST(members_find(request, which, &column, &members)))
        return false;
    for (size_t i = 0; i < members.count; i++) {
        count[labels[member_at(&members, i)]]++;
        last = last && member_at(&members, i) == first + i;
    }
    members_end(&members);
    return last;
}

static void check_counts(void)
{
    struct task_request request = {.data = &data, .seed = 3, .ranks = 1, .test.count = HELD, .validation.count = 6};
    int count[CLASSES];
    for (size_t i = 0; i <= COUNT; i++) begins[i] = i;
    for (size_t i = 0; i < COUNT; i++) labels[i] = (uint8_t)(i * CLASSES / COUNT);
    CHECK(!count_part(&request, PART_TEST, 0, count), "drawn from all");
    for (int k = 0; k < CLASSES; k++) CHECK(count[k] == HELD / CLASSES, "%d of class %d in the test", count[k], k);
    count_part(&request, PART_VALIDATION, 0, count);
    for (int k = 0; k < CLASSES; k++) CHECK(count[k] == 2, "%d of class %d in the validation", count[k], k);
    count_part(&request, PART_TRAINING, 0, count);
    for (int k = 0; k < CLASSES; k++) CHECK(count[k] == 14, "%d of class %d in the training", count[k], k);
    for (size_t i = 0; i < COUNT; i++) labels[i] = (uint8_t)(i % CLASSES);
    CHECK(count_part(&request, PART_TEST, COUNT - HELD, count), "not sorted by class: the last ones");
    CHECK(count_part(&request, PART_VALIDATION, COUNT - HELD - 6, count), "before them the validation");
    request.test.count = COUNT;
    CHECK_REFUSED(members_find(&request, PART_TEST, &column, &(struct members){0}), UNROLL_DATA,
                  "none is left to train on");
}

/* ---- augmentation ---- */

static float inputs[STEPS * ROWS * WIDTH];
static int32_t lengths[ROWS];
static struct feature feature = {.width = WIDTH};
static const struct features features = {&feature, 1, 0, WIDTH};

static float *at(int t, int k) { return &inputs[(t * ROWS + ROW) * WIDTH + k]; }

/* Sets number k of step t to slope_t t + slope_k k and augments the row; returns its new length. */
static int augmented(const char *text, int64_t epoch, int length, float slope_t, float slope_k)
{
    struct augment augment;
    struct task_batch batch = {.inputs = inputs, .lengths = lengths};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) inputs[i] = -7;
    for (int t = 0; t < length; t++)
        for (int k = 0; k < WIDTH; k++) *at(t, k) = slope_t * (float)t + slope_k * (float)k;
    MUST(augment_read(text, true, 5, &augment));
    const int to = augment_row(&augment, &features, epoch, 40, length, ROW, &(struct shape){STEPS, ROWS}, &batch);
    for (int t = 0; t < STEPS; t++)
        CHECK(inputs[t * ROWS * WIDTH] == -7 && inputs[(t * ROWS + 2) * WIDTH] == -7, "other rows are unchanged");
    return to;
}

static void check_stretch(void)
{
    int shortest = STEPS, longest = 0;
    for (int64_t epoch = 0; epoch < 40; epoch++) {
        const int to = augmented("stretch=0.5", epoch, 14, 1, 0);
        shortest = to < shortest ? to : shortest;
        longest = to > longest ? to : longest;
        for (int t = 0; t < to; t++)
            CHECK(fabsf(*at(t, 3) - 13.0f * (float)t / (float)(to - 1)) < 1e-4f, "step %d of %d: %g", t, to,
                  (double)*at(t, 3));
    }
    CHECK(shortest >= 7 && shortest < 10 && longest > 17 && longest <= STEPS, "%d to %d steps", shortest, longest);
}

static void check_warp(void)
{
    float least = 2, most = 0;
    for (int64_t epoch = 0; epoch < 40; epoch++) {
        augmented("warp=0.3", epoch, 4, 0, 1);
        const float factor = *at(2, 4) / 5 + 0.2f; /* (4 + 1) f - 1 */
        for (int k = 0; k < WIDTH; k++) {
            const float wanted = fminf(fmaxf((float)(k + 1) * factor - 1, 0), WIDTH - 1);
            CHECK(fabsf(*at(1, k) - wanted) < 1e-4f, "number %d: %g and not %g", k, (double)*at(1, k), (double)wanted);
        }
        least = fminf(least, factor), most = fmaxf(most, factor);
    }
    CHECK(least >= 0.7f && least < 0.8f && most <= 1.3f && most > 1.2f, "factors from %g to %g", (double)least,
          (double)most);
}

static void check_bands(void)
{
    int most = 0;
    for (int64_t epoch = 0; epoch < 40; epoch++) {
        int masked = 0;
        augmented("bands=4,level=2.5", epoch, 3, 0, 0);
        float level = 0;
        for (int k = 0; k < WIDTH; k++) level = *at(0, k) != 0 ? *at(0, k) : level;
        for (int k = 0; k < WIDTH; k++) {
            masked += *at(2, k) == 0;
            CHECK(*at(2, k) == 0 || *at(2, k) == level, "number %d: %g", k, (double)*at(2, k));
        }
        CHECK(fabsf(level) <= 2.5f && masked <= 4, "level %g, %d masked", (double)level, masked);
        most = masked > most ? masked : most;
    }
    CHECK(most == 4, "up to %d bands masked", most);
}

static void check_tilt(void)
{
    float most = 0;
    for (int64_t epoch = 0; epoch < 40; epoch++) {
        augmented("tilt=3", epoch, 3, 0, 0);
        const float tilt = *at(1, WIDTH - 1);
        for (int k = 0; k < WIDTH; k++)
            CHECK(fabsf(*at(1, k) - tilt * (2 * (float)k / (WIDTH - 1) - 1)) < 1e-5f, "number %d", k);
        most = fmaxf(most, fabsf(tilt));
    }
    CHECK(most <= 3 && most > 2.5f, "tilts up to %g", (double)most);
}

static void check_floor(void)
{
    for (int64_t epoch = 0; epoch < 20; epoch++) {
        augmented("floor=5", epoch, STEPS, 1, 0);
        CHECK(*at(0, 2) > STEPS - 1 - 5 - 1 - 1.5f, "the first step is raised, to %g", (double)*at(0, 2));
        CHECK(*at(STEPS - 1, 2) >= STEPS - 1, "the loudest is not lowered");
    }
}

/* Cepstra c of bands x: a level adds to c_0 alone, and a flat spectrum is not warped. Numbers are (c - 3) / 2. */
static void check_cepstra(void)
{
    static float shift[WIDTH], scale[WIDTH];
    struct feature cepstra = {.width = WIDTH, .shift = shift, .scale = scale};
    const struct features of_cepstra = {&cepstra, 1, 0, WIDTH};
    struct task_batch batch = {.inputs = inputs, .lengths = lengths};
    float most = 0;
    for (int k = 0; k < WIDTH; k++) shift[k] = 3, scale[k] = 0.5f;
    for (int64_t epoch = 0; epoch < 40; epoch++) {
        struct augment augment;
        MUST(augment_read("level=2,warp=0.3", true, 5, &augment));
        MUST(augment_cepstra(&of_cepstra, &augment));
        for (int k = 0; k < WIDTH; k++) *at(1, k) = *at(0, k) = k ? -1.5f : 10; /* c: 23, 0, 0, .. */
        augment_row(&augment, &of_cepstra, epoch, 40, 2, ROW, &(struct shape){STEPS, ROWS}, &batch);
        const float level = (*at(0, 0) - 10) * 2 / sqrtf(AUGMENT_BANDS);
        CHECK(fabsf(level) <= 2 && *at(0, 0) == *at(1, 0), "level %g", (double)level);
        for (int k = 1; k < WIDTH; k++) CHECK(fabsf(*at(1, k) + 1.5f) < 1e-4f, "cepstrum %d: %g", k, (double)*at(1, k));
        most = fmaxf(most, fabsf(level));
    }
    CHECK(most > 1.7f, "levels up to %g", (double)most);
    cepstra.width = AUGMENT_BANDS + 1;
    CHECK_REFUSED(augment_cepstra(&of_cepstra, &(struct augment){0}), UNROLL_UNSUPPORTED, "are more than 40");
}

static void check_repeats(void)
{
    static const char all[] = "stretch=0.2,warp=0.2,bands=3,level=1,tilt=1,floor=4,mask=3,shift=2,noise=0.1";
    static float once[sizeof inputs / sizeof *inputs];
    const int first = augmented(all, 3, 12, 1, 1);
    memcpy(once, inputs, sizeof inputs);
    augmented(all, 4, 12, 1, 1);
    CHECK(memcmp(once, inputs, sizeof inputs) != 0, "each epoch has its own changes");
    CHECK(augmented(all, 3, 12, 1, 1) == first && memcmp(once, inputs, sizeof inputs) == 0, "the same epoch repeats");
    augmented("none", 3, 12, 1, 1);
    CHECK(*at(5, 6) == 11, "none changes nothing");
}

int main(void)
{
    struct augment augment;
    check_counts();
    check_stretch();
    check_warp();
    check_bands();
    check_tilt();
    check_floor();
    check_cepstra();
    check_repeats();
    CHECK_REFUSED(augment_read("stretch=0.1", false, 1, &augment), UNROLL_USAGE, "separate the targets of the steps");
    CHECK_REFUSED(augment_read("warp=0.9", true, 1, &augment), UNROLL_USAGE, "warp");
    return check_finish("augment");
}
