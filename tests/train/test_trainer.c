/* Tests of training on text: it learns, allocates nothing, and evaluates correctly. Checkpoints, batches and sampling
 * have their own programs. "quick", for sanitizers: short texts. */
/* test: kinds=check-plain,long-memory; args-memory=quick */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "train/same_evaluation.h"
#include "train/small_training.h"

static void test_it_learns(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    struct training training = start(text, &config);
    unroll_evaluation before = {.size = sizeof before}, after = {.size = sizeof after},
                      described = {.size = sizeof described};
    MUST(unroll_trainer_validate(training.trainer, &before));
    unroll_progress progress = steps(&training, 200);
    MUST(unroll_trainer_validate(training.trainer, &after));
    CHECK(before.loss > 2.3 && after.loss < 0.6 * before.loss, "validation went from %g to %g", before.loss,
          after.loss);
    CHECK(after.loss < after.floor && after.floor < before.loss && after.floor == before.floor, "the floor is %g",
          after.floor);
    MUST(unroll_trainer_metrics(training.trainer, after.loss, &described));
    CHECK_REFUSED(unroll_trainer_metrics(training.trainer, 1, &(unroll_evaluation){.loss = 1}), UNROLL_USAGE,
                  "size = 0 of unroll_evaluation is wrong; fix: start from");
    CHECK_REFUSED(unroll_trainer_validate(training.trainer, &(unroll_evaluation){.loss = 1}), UNROLL_USAGE,
                  "size = 0 of unroll_evaluation");
    CHECK_REFUSED(unroll_trainer_test(training.trainer, &(unroll_evaluation){.loss = 1}, NULL), UNROLL_USAGE,
                  "size = 0 of unroll_evaluation");
    CHECK_REFUSED(unroll_model_evaluate(training.model, text, NULL, &(unroll_evaluation){.loss = 1}, NULL),
                  UNROLL_USAGE, "size = 0 of unroll_evaluation");
    CHECK(after.metrics == 4 && same_evaluation(&described, &after), "the metrics follow from the loss");
    CHECK(progress.step == 200 && progress.items == 200 * 48, "%d steps", (int)progress.step);
    CHECK(!strcmp(progress.item, "char"), "it counts in %s", progress.item);
    CHECK(fabs(progress.epoch - 200.0 / (double)progress.steps_per_epoch) < 1e-9, "epoch %g", progress.epoch);
    CHECK(progress.norm > 0 && progress.learning_rate < 1e-2 * 0.06, "rate %g", progress.learning_rate);
    end(&training);
}

static void test_no_allocation(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    struct training training = start(text, &config);
    unroll_evaluation found = {.size = sizeof found};
    steps(&training, 1);
    uint64_t before = memory_allocations();
    steps(&training, 40);
    MUST(unroll_trainer_validate(training.trainer, &found));
    CHECK(memory_allocations() == before, "%d allocations in 40 steps", (int)(memory_allocations() - before));
    end(&training);
}

/* The text fills one window for each row exactly; nothing is updated or random. Since every epoch begins with zero
 * states, all have the same loss. */
static void test_epochs_begin_with_zero_states(void)
{
    unroll_dataset *text = make_text(4 * 12 + 1, 1);
    unroll_trainer_config config = small_config();
    unroll_model_config spec = small_spec(text);
    struct training training;
    config.validation.share = 0;
    config.rates.learning_rate = 0;
    spec.dropout = 0;
    MUST(unroll_model_new(&spec, 3, &training.model));
    MUST(unroll_trainer_new(training.model, text, &config, &training.trainer));
    double first = steps(&training, 1).loss;
    unroll_progress second = steps(&training, 1);
    CHECK(second.loss == first && second.epoch == 2, "losses %.9g and %.9g", first, second.loss);
    end(&training);
    unroll_dataset_free(text);
}

/* The first window begins from zero states either way, the second only without carry. */
static void test_states_are_carried(const unroll_dataset *text)
{
    double loss[2][2];
    for (int stateful = 0; stateful < 2; stateful++) {
        unroll_trainer_config config = small_config();
        config.stateful = stateful;
        struct training training = start(text, &config);
        for (int i = 0; i < 2; i++) loss[stateful][i] = steps(&training, 1).loss;
        end(&training);
    }
    CHECK(loss[0][0] == loss[1][0], "the first step is the same: %g, %g", loss[0][0], loss[1][0]);
    CHECK(loss[0][1] != loss[1][1], "the second is not: %g", loss[0][1]);
}

static void test_validations_steer_the_plateau(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    unroll_evaluation first = {.size = sizeof first}, again = {.size = sizeof again};
    config.schedule = "plateau";
    config.warmup = 0;
    struct training training = start(text, &config);
    MUST(unroll_trainer_validate(training.trainer, &first));
    CHECK(steps(&training, 1).learning_rate == 1e-2, "the first rate");
    end(&training);
    training = start(text, &config);
    for (int i = 0; i < 3; i++) {
        MUST(unroll_trainer_validate(training.trainer, &again));
        CHECK(again.loss == first.loss, "validation %d: %.9g nats, then %.9g", i, first.loss, again.loss);
    }
    CHECK(steps(&training, 1).learning_rate == 0.5e-2, "half of it after two without a better loss");
    end(&training);
}

static void test_divergence_is_reported(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    unroll_model_config spec = small_spec(text);
    struct training training;
    unroll_parameter parameter = {.size = sizeof parameter};
    unroll_progress progress = {.size = sizeof progress};
    MUST(unroll_model_new(&spec, 3, &training.model));
    MUST(unroll_model_parameter(training.model, 0, &parameter));
    for (int i = 0; i < parameter.shape[0] * parameter.shape[1]; i++) parameter.data[i] = NAN;
    MUST(unroll_trainer_new(training.model, text, &config, &training.trainer));
    CHECK_REFUSED(unroll_trainer_step(training.trainer, &progress), UNROLL_DIVERGED, "step 1: ");
    end(&training);
}

/* Strings in a configuration need not outlive the call. */
static void test_strings_are_not_kept(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    char device[] = "cpu";
    config.machine.device = device;
    struct training training = start(text, &config);
    strcpy(device, "?");
    for (int i = 0; i < 3; i++)
        CHECK(steps(&training, 1).synced == 1, "step %d: on the cpu each step is looked at", i + 1);
    end(&training);
}

static void test_refused_configurations(const unroll_dataset *text)
{
    unroll_model_config spec = small_spec(text);
    unroll_trainer_config config = small_config();
    unroll_trainer *trainer = NULL;
    unroll_model *model;
    unroll_evaluation found = {.size = sizeof found};
    MUST(unroll_model_new(&spec, 3, &model));
#define REFUSED(change, status, part)                                                               \
    do {                                                                                            \
        config = small_config();                                                                    \
        change;                                                                                     \
        CHECK_REFUSED(unroll_trainer_new(model, text, &config, &trainer), status, part);            \
    } while (0)
    REFUSED(config.size = 4, UNROLL_USAGE, "unroll_trainer_config_default");
    CHECK_REFUSED(unroll_trainer_new(model, text, NULL, &trainer), UNROLL_USAGE, "unroll_trainer_config_default");
    REFUSED(config.task = "sing", UNROLL_USAGE, "no task 'sing'; fix: choose one of lm");
    REFUSED(config.batch = 0, UNROLL_USAGE, "`batch` = 0");
    REFUSED(config.bptt = -1, UNROLL_USAGE, "`bptt` = -1");
    REFUSED(config.bptt = 100000, UNROLL_DATA, "too few for batch 4");
    REFUSED(config.validation.share = 0.6, UNROLL_USAGE, "validation = 0.6");
    REFUSED(config.validation.share = 1e-9, UNROLL_DATA, "too little for `validation`");
    REFUSED(config.schedule = "linear", UNROLL_USAGE, "no schedule 'linear'");
    REFUSED((config.schedule = "plateau", config.validation.share = 0), UNROLL_USAGE, "'plateau' needs a validation");
    REFUSED(config.warmup = -1, UNROLL_USAGE, "`warmup` = -1");
    REFUSED(config.rates = unroll_hyperparameters_default("adamax"), UNROLL_USAGE, "there is no optimizer");
    config = small_config();
    config.validation.share = 0;
    if (MUST(unroll_trainer_new(model, text, &config, &trainer)))
        CHECK_REFUSED(unroll_trainer_validate(trainer, &found), UNROLL_USAGE, "nothing to validate on");
    unroll_trainer_free(trainer);
    unroll_model_free(model);
}

/* ---- evaluation ---- */

/* Computes the same mean, one row and one character after the other. */
static double evaluate_slowly(unroll_model *model, const unroll_dataset *text)
{
    unroll_session_config config = unroll_session_config_default();
    unroll_session *session;
    unroll_result result = {.size = sizeof result};
    config.mode = UNROLL_EVAL;
    config.stateful = 1;
    config.machine.threads = 1;
    if (!MUST(unroll_session_new(model, &config, &session)))
        return 0;
    unroll_status status = UNROLL_OK;
    for (size_t i = 0; i + 1 < text->steps && status == UNROLL_OK; i++) {
        int32_t token[2] = {column_id(text->column, i), column_id(text->column, i + 1)};
        unroll_batch batch = {.size = sizeof batch, .tokens = token, .targets = token + 1};
        status = unroll_session_forward(session, &batch);
    }
    MUST(status);
    MUST(unroll_session_result(session, &result));
    CHECK(result.weight == (double)text->steps - 1, "counted %g", result.weight);
    unroll_session_free(session);
    return result.loss;
}

/* Short texts are read in one piece: the same except for rounding. Long ones are read in several, each after enough
 * context to forget where it began. */
static void test_evaluation(bool quick)
{
    static const size_t sizes[] = {40, 64, 65, 1000, 4000, 20011};
    unroll_dataset *learned = make_text(4000, 1);
    unroll_trainer_config config = small_config();
    struct training training = start(learned, &config);
    steps(&training, 60);
    for (size_t i = 0; i < (quick ? 4 : sizeof sizes / sizeof *sizes); i++) {
        unroll_dataset *text = make_text(sizes[i], 2);
        double expected = evaluate_slowly(training.model, text);
        unroll_evaluation found = {.size = sizeof found};
        MUST(unroll_model_evaluate(training.model, text, NULL, &found, NULL));
        CHECK(found.metric[3].value == (double)sizes[i] - 1, "%g characters", found.metric[3].value);
        CHECK(fabs(found.loss - expected) < 1e-5 * expected, "%zu characters: %.9g nats, not %.9g", sizes[i],
              found.loss, expected);
        unroll_dataset_free(text);
    }
    end(&training);
    unroll_dataset_free(learned);
}

int main(int count, char **words)
{
    unroll_dataset *text = make_text(4000, 1);
    test_it_learns(text);
    test_states_are_carried(text);
    test_no_allocation(text);
    test_epochs_begin_with_zero_states();
    test_validations_steer_the_plateau(text);
    test_divergence_is_reported(text);
    test_strings_are_not_kept(text);
    test_refused_configurations(text);
    test_evaluation(check_quick(count, words));
    unroll_dataset_free(text);
    CHECK(memory_live() == 0, "%d blocks are not released", (int)memory_live());
    return check_finish("test_trainer");
}
