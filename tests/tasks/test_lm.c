/* The task lm with documents and sets: where states are reset, targets, baselines calculated by hand, small examples
 * that learn. Single texts are tested in tests/train. */
/* test: seconds=5 */
#include <stdlib.h>

#include "base/memory.h"
#include "tasks/made_series.h"
#include "tasks/schema.h"
#include "tasks/task_table.h"

static struct made made;
static const char *letters[] = {"a", "b", "c", "d"};

/* Documents abcd, ab, cd, d as tokens 0 1 2 3. */
static void make_documents(void)
{
    static const int32_t token[] = {0, 1, 2, 3, 0, 1, 2, 3, 3};
    static const size_t begin[] = {0, 4, 6, 8, 9};
    made_begin(&made, 9);
    struct column *text = made_column(&made, "text", COLUMN_TOKENS);
    memcpy(made.id, token, sizeof token);
    memcpy(made.begin, begin, sizeof begin);
    text->ids = made.id, text->id_bytes = 4;
    text->vocabulary = letters, text->vocabulary_size = 4;
    made.data.sequences = 4;
    made.data.rows_are_steps = false;
}

static struct part *open_part(const struct task_request *request, enum part_of which)
{
    struct part *part = NULL;
    if (!MUST(task_lm.open(request, which, &part)) || part == NULL)
        abort();
    return part;
}

static void check_documents(void)
{
    enum { STEPS = 64 };
    int32_t tokens[STEPS], classes[STEPS];
    uint8_t reset[STEPS];
    struct task_batch batch = {.tokens = tokens, .classes = classes, .reset = reset};
    static const int32_t next[] = {1, 2, 3, -1, 1, -1, 3, -1};
    static const uint8_t begins[] = {1, 0, 0, 0, 1, 0, 1, 0};
    make_documents();
    struct task_request request = {.data = &made.data, .rows = 1, .steps = 8, .ranks = 1};
    struct part *part = open_part(&request, PART_ALL);
    part->fill(part, 0, 0, &batch);
    CHECK(part->resets && part->examples == 5 && batch.items == 5, "%zu are predicted, %d in the batch", part->examples,
          (int)batch.items);
    bool right = true;
    for (int t = 0; t < 8; t++) right &= tokens[t] == made.id[t] && classes[t] == next[t] && reset[t] == begins[t];
    CHECK(right, "documents are divided as they are");
    unroll_evaluation e = {.size = sizeof e};
    task_lm.score(part, 0.5, true, &e);
    double floor = -(2.0 / 5 * log(2.0 / 5) * 2 + 1.0 / 5 * log(1.0 / 5)); /* of b c d b d */
    CHECK(fabs(e.floor - floor) < 1e-12, "floor %g, not %g", e.floor, floor);
    part_free(part);
    part = open_part(&request, PART_TRAINING);
    part->fill(part, 0, 0, &batch);
    right = batch.items == 5;
    for (int t = 0; t < 8; t++) right &= classes[t] == next[t] && reset[t] == begins[t];
    CHECK(right, "and in training");
    part_free(part);

    /* whole documents are held out: the last ones for a count, at least one for a fraction */
    request.validation.count = 2;
    request.steps = 5;
    part = open_part(&request, PART_TRAINING);
    CHECK(part->items == 6, "%zu tokens are left", part->items);
    part_free(part);
    request.validation.count = 0, request.validation.share = 0.1, request.test.count = 1;
    part = open_part(&request, PART_VALIDATION);
    CHECK(part->items == 2 && part->examples == 1, "cd is validated on: %zu tokens, %zu predicted", part->items,
          part->examples);
    part_free(part);
    struct part *none = NULL;
    CHECK_REFUSED(task_lm.open(&request, PART_TEST, &none), UNROLL_DATA,
                  "is too little for `test`; fix: use a longer text");
}

/* ---- sets ---- */

/* Sets of 3 members: 0 and 1 alternate, and 2 is in a quarter of the steps. */
static void make_sets(size_t steps, size_t sequences)
{
    made_begin(&made, steps * sequences);
    float *x = made_numbers(&made, "sets");
    struct column *sets = made.column;
    sets->type = COLUMN_SET, sets->width = sets->vocabulary_size = 3, sets->vocabulary = letters;
    made.data.sequences = sequences;
    for (size_t s = 0; s <= sequences; s++) made.begin[s] = s * steps;
    for (size_t i = 0; i < steps * sequences; i++) x[3 * i + i % 2] = 1, x[3 * i + 2] = i % 4 == 3;
}

static void check_sets(void)
{
    enum { STEPS = 8, ROWS = 16 };
    float inputs[STEPS * ROWS * 3], values[STEPS * ROWS * 3];
    int32_t lengths[ROWS];
    struct task_batch batch = {.inputs = inputs, .values = values, .lengths = lengths};
    make_sets(9, 4);
    struct task_request request = {.data = &made.data, .validation.count = 1, .rows = 4, .ranks = 1, .seed = 1};
    struct part *part = open_part(&request, PART_VALIDATION);
    CHECK(part->examples == 8 && part->batches == 1 && part->lengths, "%zu steps are predicted", part->examples);
    CHECK(part->shape[0].steps <= STEPS && part->shape[0].rows <= ROWS, "a batch of %d x %d", part->shape[0].steps,
          part->shape[0].rows);
    part->fill(part, 0, 0, &batch);
    int rows = part->shape[0].rows;
    const float *last = made.number[0] + 27 * 3;
    CHECK(lengths[0] == 8 && memcmp(inputs, last, 3 * sizeof *last) == 0 &&
              memcmp(values, last + 3, 3 * sizeof *last) == 0 &&
              memcmp(values + 7 * rows * 3, last + 24, 3 * sizeof *last) == 0,
          "each step predicts the next");
    unroll_evaluation e = {.size = sizeof e};
    task_lm.score(part, 0.5, true, &e);
    double quarter = -(0.25 * log(0.25) + 0.75 * log(0.75));
    CHECK(fabs(e.floor - (2 * log(2) + quarter)) < 1e-9, "floor %g", e.floor);
    CHECK(fabs(e.metric[0].value - 1.5) < 1e-12 && fabs(e.loss - 1.5) < 1e-12, "the sum over members: %g",
          e.metric[0].value);
    part_free(part);
    request.steps = 5; /* pieces of 5 and 3 pairs of three sequences */
    part = open_part(&request, PART_TRAINING);
    CHECK(part->examples == 24 && part->shape[part->shapes - 1].steps <= 5, "%zu pairs in pieces of %d", part->examples,
          part->shape[part->shapes - 1].steps);
    part_free(part);
    make_sets(1, 3);
    part = NULL;
    request.validation.count = 0;
    CHECK_REFUSED(task_lm.open(&request, PART_ALL, &part), UNROLL_DATA, "no sequence has two steps");
}

static void check_learning(void)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_model_config spec = unroll_model_config_auto();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation e = {.size = sizeof e};
    unroll_trainer *trainer;
    unroll_model *model;
    make_sets(41, 8);
    spec.hidden = 16;
    config.batch = 8;
    config.bptt = 0;
    config.rates.learning_rate = 0.02;
    config.warmup = 1;
    config.total_steps = 60;
    config.machine.threads = 1;
    MUST(unroll_task_configure("lm", NULL, &made.data, &spec, &defaults));
    MUST(unroll_model_new(&spec, 1, &model));
    if (!MUST(unroll_trainer_new(model, &made.data, &config, &trainer)))
        abort();
    for (int i = 0; i < 60; i++) MUST(unroll_trainer_step(trainer, &progress));
    MUST(unroll_trainer_validate(trainer, &e));
    CHECK(e.metric[0].value < 0.3 * e.floor, "%g nats a step, frequencies alone %g", e.metric[0].value, e.floor);
    unroll_trainer_free(trainer);
    CHECK(!unroll_model_can_predict(model) && strstr(unroll_last_error(), "the task lm has no predictions"), "%s",
          unroll_last_error());
    CHECK(!unroll_model_can_sample(model) && strstr(unroll_last_error(), "; fix: use a model of the task lm"), "%s",
          unroll_last_error());
    spec.bidirectional = 1;
    CHECK_REFUSED(unroll_task_configure("lm", NULL, &made.data, &spec, &defaults), UNROLL_UNSUPPORTED,
                  "fix: leave it out");
    unroll_model_free(model);
}

int main(void)
{
    check_documents();
    check_sets();
    check_learning();
    return check_finish("lm");
}
