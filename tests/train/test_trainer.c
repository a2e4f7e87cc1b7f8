/* Tests of training on text: that it learns, allocates nothing, evaluates rightly, and above all that a
 * saved and loaded training goes on with the same bits. Batches and sampling have their own programs. "quick", for
 * sanitizers: short texts. */
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/philox.h"
#include "check.h"
#include "train/trainer.h"
#include "data/reader_table.h"
#include "unroll.h"

static char folder[] = "/tmp/unroll_trainer_XXXXXX";

/* ---- a small training ---- */

/* Sentences of a few words in random order: enough to learn, and the same on every machine. */
static unroll_dataset *make_text(size_t size, uint64_t seed)
{
    static const char *const words[] = {"the ", "sea ", "is ", "wide ", "and ", "deep ", "we ", "sail.\n"};
    char *bytes = malloc(size + 16);
    struct rng rng = rng_new(seed, 0);
    unroll_dataset *text = NULL;

    strcpy(bytes, "thesaiwdnp l.\n"); /* every token of the words, so that all texts have the same */
    for (size_t at = strlen(bytes); at < size; at = strlen(bytes)) strcpy(bytes + at, words[rng_below(&rng, 8)]);
    MUST(dataset_parse(bytes, size, "the test's text", "text", NULL, NULL, &text));
    free(bytes);
    return text;
}

struct training {
    unroll_model *model;
    unroll_trainer *trainer;
};

static unroll_spec small_spec(const unroll_dataset *text)
{
    unroll_spec spec = unroll_spec_default();
    spec.cell = "lstm";
    spec.layers = 2;
    spec.hidden = 16;
    spec.dropout = 0.3f;
    spec.tokens = 1;
    spec.embed = 8;
    spec.loss = "xent";
    unroll_data_vocabulary(text, &spec.input);
    spec.output = spec.input;
    return spec;
}

static unroll_train_config small_config(void)
{
    unroll_train_config config = unroll_train_default();
    config.batch = 4;
    config.bptt = 12;
    config.rates.learning_rate = 1e-2;
    config.warmup = 4;
    config.total_steps = 200;
    config.machine.threads = 1;
    config.seed = 7;
    return config;
}

static struct training start(const unroll_dataset *text, const unroll_train_config *config)
{
    struct training training = {NULL, NULL};
    unroll_spec spec = small_spec(text);
    if (MUST(unroll_model_new(&spec, 3, &training.model)))
        MUST(unroll_trainer_new(training.model, text, config, &training.trainer));
    return training;
}

static void end(struct training *training)
{
    unroll_trainer_free(training->trainer);
    unroll_model_free(training->model);
}

static unroll_progress steps(struct training *training, int count)
{
    unroll_progress progress = {.size = sizeof progress};
    unroll_status status = UNROLL_OK;

    for (int i = 0; i < count && status == UNROLL_OK; i++) status = unroll_trainer_step(training->trainer, &progress);
    MUST(status);
    return progress;
}

static void test_it_learns(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
    struct training training = start(text, &config);
    unroll_evaluation before, after, described;
    MUST(unroll_trainer_validate(training.trainer, &before));
    unroll_progress progress = steps(&training, 200);
    MUST(unroll_trainer_validate(training.trainer, &after));
    CHECK(before.loss > 2.3 && after.loss < 0.6 * before.loss, "validation went from %g to %g", before.loss,
          after.loss);
    CHECK(after.loss < after.floor && after.floor < before.loss && after.floor == before.floor, "the floor is %g",
          after.floor);
    unroll_trainer_describe(training.trainer, after.loss, &described);
    CHECK(after.metrics == 4 && !memcmp(&described, &after, sizeof after), "the metrics follow from the loss");
    CHECK(progress.step == 200 && progress.items == 200 * 48, "%d steps", (int)progress.step);
    CHECK(!strcmp(progress.item, "char"), "it counts in %s", progress.item);
    CHECK(fabs(progress.epoch - 200.0 / (double)progress.steps_per_epoch) < 1e-9, "epoch %g", progress.epoch);
    CHECK(progress.norm > 0 && progress.learning_rate < 1e-2 * 0.06, "rate %g", progress.learning_rate);
    end(&training);
}

static void test_no_allocation(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
    struct training training = start(text, &config);
    unroll_evaluation found;
    steps(&training, 1);
    uint64_t before = memory_allocations();
    steps(&training, 40);
    MUST(unroll_trainer_validate(training.trainer, &found));
    CHECK(memory_allocations() == before, "%d allocations in 40 steps", (int)(memory_allocations() - before));
    end(&training);
}

/* The text fills one window for each row exactly, nothing is updated, nothing is random: as every epoch
 * begins with zero states, all have the same loss. */
static void test_epochs_begin_with_zero_states(void)
{
    unroll_dataset *text = make_text(4 * 12 + 1, 1);
    unroll_train_config config = small_config();
    unroll_spec spec = small_spec(text);
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
    unroll_data_free(text);
}

/* The first window begins from zero states either way, the second only without carry. */
static void test_states_are_carried(const unroll_dataset *text)
{
    double loss[2][2];
    for (int stateful = 0; stateful < 2; stateful++) {
        unroll_train_config config = small_config();
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
    unroll_train_config config = small_config();
    unroll_evaluation first, again;
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
    unroll_train_config config = small_config();
    unroll_spec spec = small_spec(text);
    struct training training;
    unroll_parameter parameter;
    unroll_progress progress = {.size = sizeof progress};
    MUST(unroll_model_new(&spec, 3, &training.model));
    MUST(unroll_model_parameter(training.model, 0, &parameter));
    for (int i = 0; i < parameter.shape[0] * parameter.shape[1]; i++) parameter.data[i] = NAN;
    MUST(unroll_trainer_new(training.model, text, &config, &training.trainer));
    CHECK_REFUSED(unroll_trainer_step(training.trainer, &progress), UNROLL_DIVERGED, "step 1: ");
    end(&training);
}

/* What a configuration points to need not outlive the call. */
static void test_strings_are_not_kept(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
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
    unroll_spec spec = small_spec(text);
    unroll_train_config config = small_config();
    unroll_trainer *trainer = NULL;
    unroll_model *model;
    unroll_evaluation found;
    MUST(unroll_model_new(&spec, 3, &model));
#define REFUSED(change, status, part)                                                               \
    do {                                                                                            \
        config = small_config();                                                                    \
        change;                                                                                     \
        CHECK_REFUSED(unroll_trainer_new(model, text, &config, &trainer), status, part);            \
    } while (0)
    REFUSED(config.size = 4, UNROLL_USAGE, "unroll_train_default");
    CHECK_REFUSED(unroll_trainer_new(model, text, NULL, &trainer), UNROLL_USAGE, "unroll_train_default");
    REFUSED(config.task = "sing", UNROLL_USAGE, "no task 'sing'; fix: choose one of lm");
    REFUSED(config.batch = 0, UNROLL_USAGE, "batch = 0");
    REFUSED(config.bptt = -1, UNROLL_USAGE, "bptt = -1");
    REFUSED(config.bptt = 100000, UNROLL_DATA, "too few for batch 4");
    REFUSED(config.validation.share = 0.6, UNROLL_USAGE, "validation = 0.6");
    REFUSED(config.validation.share = 1e-9, UNROLL_DATA, "too little for `validation`");
    REFUSED(config.schedule = "linear", UNROLL_USAGE, "no schedule 'linear'");
    REFUSED((config.schedule = "plateau", config.validation.share = 0), UNROLL_USAGE,
            "'plateau' follows the validation");
    REFUSED(config.warmup = -1, UNROLL_USAGE, "warmup = -1");
    REFUSED(config.rates = unroll_hyperparameters_default("adamax"), UNROLL_USAGE, "there is no optimizer");
    config = small_config();
    config.validation.share = 0;
    if (MUST(unroll_trainer_new(model, text, &config, &trainer)))
        CHECK_REFUSED(unroll_trainer_validate(trainer, &found), UNROLL_USAGE, "nothing to validate on");
    unroll_trainer_free(trainer);
    unroll_model_free(model);
}

/* ---- evaluation ---- */

/* The same mean, one row and one character after the other. */
static double evaluate_slowly(unroll_model *model, const unroll_dataset *text)
{
    unroll_session_config config = unroll_session_default();
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
        status = unroll_forward(session, &batch);
    }
    MUST(status);
    MUST(unroll_loss_result(session, &result));
    CHECK(result.weight == (double)text->steps - 1, "counted %g", result.weight);
    unroll_session_free(session);
    return result.loss;
}

/* Short texts are read in one piece: the same but for rounding. Long ones in several, each after enough
 * others to forget where it began. */
static void test_evaluation(bool quick)
{
    static const size_t sizes[] = {40, 64, 65, 1000, 4000, 20011};
    unroll_dataset *learned = make_text(4000, 1);
    unroll_train_config config = small_config();
    struct training training = start(learned, &config);
    steps(&training, 60);
    for (size_t i = 0; i < (quick ? 4 : sizeof sizes / sizeof *sizes); i++) {
        unroll_dataset *text = make_text(sizes[i], 2);
        double expected = evaluate_slowly(training.model, text);
        unroll_evaluation found = {0};
        MUST(unroll_evaluate(training.model, text, NULL, &found, NULL));
        CHECK(found.metric[3].value == (double)sizes[i] - 1, "%g characters", found.metric[3].value);
        CHECK(fabs(found.loss - expected) < 1e-5 * expected, "%zu characters: %.9g nats, not %.9g", sizes[i],
              found.loss, expected);
        unroll_data_free(text);
    }
    end(&training);
    unroll_data_free(learned);
}

/* ---- checkpoints ---- */

static void name_path(char path[256], const char *name) { snprintf(path, 256, "%s/%s", folder, name); }

static bool same_files(const char *left, const char *right, const char *file)
{
    char path[320];
    void *a = NULL, *b = NULL;
    size_t size_a = 0, size_b = 0;
    snprintf(path, sizeof path, "%s/%s", left, file);
    MUST(read_whole_file(path, UINT32_MAX, &a, &size_a));
    snprintf(path, sizeof path, "%s/%s", right, file);
    MUST(read_whole_file(path, UINT32_MAX, &b, &size_b));
    bool same = a && b && size_a == size_b && memcmp(a, b, size_a) == 0;
    release(a);
    release(b);
    return same;
}

static void check_same_checkpoints(const char *left, const char *right, const char *what)
{
    CHECK(same_files(left, right, "model.safetensors"), "%s: the weights differ", what);
    CHECK(same_files(left, right, "optim.safetensors"), "%s: what goes with the weights differs", what);
}

/* Without updates a validation gives the same each time, which is no better; a smaller one is. */
static void test_the_best_is_known(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
    unroll_progress progress = {.size = sizeof progress}, loaded = {.size = sizeof loaded};
    unroll_evaluation first, second;
    char path[256];
    struct training training = start(text, &config);
    CHECK_REFUSED(unroll_trainer_progress(training.trainer, &(unroll_progress){.step = 1}), UNROLL_USAGE,
                  "the unroll_progress was not begun with");
    MUST(unroll_trainer_progress(training.trainer, &progress));
    CHECK(isinf(progress.best_validation) && progress.best_step == 0 && progress.since_best == 0, "before the first");
    steps(&training, 3);
    MUST(unroll_trainer_validate(training.trainer, &first));
    steps(&training, 60);
    MUST(unroll_trainer_validate(training.trainer, &second));
    for (int i = 0; i < 3; i++) MUST(unroll_trainer_validate(training.trainer, &first));
    progress = steps(&training, 2);
    CHECK(progress.best_validation == second.loss && progress.best_step == 63 && progress.since_best == 3,
          "best %g at %d, %d since", progress.best_validation, (int)progress.best_step, (int)progress.since_best);
    name_path(path, "best");
    MUST(unroll_trainer_save(training.trainer, path));
    end(&training);
    training = start(text, &config);
    MUST(unroll_trainer_load(training.trainer, path));
    MUST(unroll_trainer_progress(training.trainer, &loaded));
    CHECK(loaded.step == 65 && loaded.epoch == progress.epoch && loaded.items == progress.items &&
              loaded.best_validation == second.loss && loaded.best_step == 63 && loaded.since_best == 3 &&
              loaded.learning_rate == progress.learning_rate,
          "loaded: step %d, best %g at %d, %d since, rate %g", (int)loaded.step, loaded.best_validation,
          (int)loaded.best_step, (int)loaded.since_best, loaded.learning_rate);
    end(&training);
}

/* Six steps, against three, a save, a load into a new trainer of another model, and three more. */
static void check_resume(const unroll_dataset *text, const char *optimizer, const char *schedule, int first)
{
    unroll_train_config config = small_config();
    char straight[256], stopped[256], resumed[256], beside[256];
    unroll_snapshot *snapshot;
    unroll_evaluation found;
    config.rates = unroll_hyperparameters_default(optimizer);
    config.schedule = schedule;
    name_path(straight, "straight");
    name_path(stopped, "stopped");
    name_path(resumed, "resumed");
    name_path(beside, "beside");

    struct training training = start(text, &config);
    steps(&training, first);
    MUST(unroll_trainer_validate(training.trainer, &found));
    MUST(unroll_trainer_save(training.trainer, stopped));
    MUST(unroll_trainer_snapshot(training.trainer, &snapshot));
    steps(&training, 3);
    MUST(unroll_snapshot_write(snapshot, beside));
    check_same_checkpoints(stopped, beside, "a snapshot, written three steps later");
    MUST(unroll_trainer_save(training.trainer, straight));
    end(&training);

    training = start(text, &config);
    steps(&training, 1); /* a load replaces everything */
    MUST(unroll_trainer_load(training.trainer, stopped));
    MUST(unroll_trainer_save(training.trainer, resumed));
    check_same_checkpoints(stopped, resumed, "save, load, save");
    unroll_progress progress = steps(&training, 3);
    CHECK(progress.step == first + 3, "%s: step %d", optimizer, (int)progress.step);
    MUST(unroll_trainer_save(training.trainer, resumed));
    check_same_checkpoints(straight, resumed, optimizer);
    end(&training);
}

static void test_resume(const unroll_dataset *text)
{
    check_resume(text, "adam", "cosine", 3);
    check_resume(text, "adamw", "plateau", 70); /* in the next epoch */
    check_resume(text, "rmsprop", "constant", 2);
    check_resume(text, "momentum", "step", 3);
    check_resume(text, "sgd", "constant", 1);
}

/* A network whose parameters have the longest names that there are, and whose functions have numbers. */
static struct training start_network(const unroll_dataset *text, int width)
{
    const char *name = "a.name.of.63.bytes.................................in.all.layer";
    struct training training = {NULL, NULL};
    unroll_train_config config = small_config();
    unroll_network network = unroll_network_default();
    unroll_layer layer[] = {unroll_layer_default(), unroll_layer_default(), unroll_layer_default()};
    layer[0].kind = layer[1].kind = "lstm";
    layer[0].name = layer[1].name = name;
    layer[0].level = 62;
    layer[1].level = 63;
    layer[0].activations = "hard_sigmoid(0.25,0.5) tanh tanh";
    layer[0].width = width;
    layer[1].width = 8;
    layer[2].name = "head";
    unroll_data_vocabulary(text, &network.input);
    layer[2].width = network.input;
    network.tokens = 1;
    network.loss = "xent";
    network.layer = layer;
    network.layers = 3;
    CHECK(strlen(name) == 63, "%zu bytes", strlen(name));
    if (MUST(unroll_network_new(&network, 3, &training.model)))
        MUST(unroll_trainer_new(training.model, text, &config, &training.trainer));
    return training;
}

/* The numbers of a program may have commas: those of its files have points. */
static void set_commas(bool on)
{
    char command[600];
    if (on) {
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/commas >%s/out 2>&1", folder, folder);
        setenv("LOCPATH", folder, 1);
        if (system(command) != 0 || setlocale(LC_NUMERIC, "commas") == NULL)
            check_skip("there is no locale with decimal commas");
        return;
    }
    setlocale(LC_NUMERIC, "C");
    snprintf(command, sizeof command, "rm -rf %s/commas", folder);
    CHECK(system(command) == 0, "%s", command);
}

static void test_resume_of_a_network(const unroll_dataset *text)
{
    char straight[256], stopped[256], other[256], command[1024];
    name_path(straight, "straight");
    name_path(stopped, "stopped");
    name_path(other, "other");
    set_commas(true);
    struct training training = start_network(text, 12);
    unroll_layer layer;
    MUST(unroll_model_layer(training.model, 0, &layer));
    CHECK(strcmp(layer.activations, "hard_sigmoid(0.25,0.5) tanh tanh") == 0, "%s", layer.activations);
    unroll_progress kept = {.size = sizeof kept}, now = steps(&training, 3);
    MUST(unroll_trainer_save(training.trainer, stopped));
    MUST(unroll_checkpoint_check(stopped, &kept));
    CHECK(kept.step == 3 && kept.learning_rate == now.learning_rate, "step %d, rate %g", (int)kept.step,
          kept.learning_rate);
    set_commas(false);
    steps(&training, 3);
    MUST(unroll_trainer_save(training.trainer, straight));
    end(&training);
    training = start_network(text, 12);
    MUST(unroll_trainer_load(training.trainer, stopped));
    steps(&training, 3);
    MUST(unroll_trainer_save(training.trainer, stopped));
    check_same_checkpoints(straight, stopped, "a network");
    end(&training);

    training = start_network(text, 4);
    MUST(unroll_trainer_save(training.trainer, other));
    end(&training);
    snprintf(command, sizeof command, "cp %s/model.safetensors %s", other, stopped);
    CHECK(system(command) == 0, "%s", command);
    training = start_network(text, 12);
    CHECK_REFUSED(unroll_trainer_load(training.trainer, stopped), UNROLL_DATA, "other weights than those of the model");
    end(&training);
}

static void test_mismatches_are_refused(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
    unroll_dataset *other = make_text(4000, 99);
    struct training training = start(text, &config);
    char saved[256], missing[256], after[256];
    name_path(saved, "saved");
    name_path(missing, "missing");
    name_path(after, "after");
    steps(&training, 2);
    MUST(unroll_trainer_save(training.trainer, saved));
    CHECK_REFUSED(unroll_trainer_load(training.trainer, missing), UNROLL_DATA, "no checkpoint");
    MUST(unroll_trainer_save(training.trainer, after));
    check_same_checkpoints(saved, after, "a refused load changes nothing");
    end(&training);
#define OTHER(change, on, part)                                                                     \
    do {                                                                                            \
        config = small_config();                                                                    \
        change;                                                                                     \
        training = start(on, &config);                                                              \
        CHECK_REFUSED(unroll_trainer_load(training.trainer, saved), UNROLL_USAGE, part);            \
        end(&training);                                                                             \
    } while (0)
    OTHER(config.batch = 5, text, "made with batch = 4, this training has 5");
    OTHER(config.bptt = 11, text, "made with bptt = 12, this training has 11");
    OTHER(config.rates = unroll_hyperparameters_default("sgd"), text,
          "made with optimizer = adam, this training has sgd");
    OTHER(config.seed = 8, text, "made with seed = 7, this training has 8");
    OTHER(config.validation.share = 0.2, text, "items to train on, this training has ");
    OTHER(config.rates.learning_rate = 2e-2, text, "made with base_learning_rate = 0.01, this training has 0.02");
    OTHER(config.rates.clip = 2, text, "made with clip_norm = 1, this training has 2");
    OTHER(config.schedule = "constant", text, "made with schedule = cosine, this training has constant");
    OTHER((void)0, other, "made with other data");
    config = small_config();
    config.rates.learning_rate = 2e-2;
    config.new_hyperparameters = 1;
    training = start(text, &config);
    MUST(unroll_trainer_load(training.trainer, saved));
    end(&training);
    unroll_data_free(other);
}

static void test_damaged_files_are_refused(const unroll_dataset *text)
{
    static const char *const files[] = {"model.safetensors", "optim.safetensors"};
    unroll_train_config config = small_config();
    struct training training = start(text, &config);
    char saved[256], after[256], again[256], path[320];

    name_path(saved, "damaged");
    name_path(after, "before_damage");
    name_path(again, "after_damage");
    steps(&training, 2);
    MUST(unroll_trainer_save(training.trainer, after));
    for (int i = 0; i < 2; i++) {
        MUST(unroll_trainer_save(training.trainer, saved));
        snprintf(path, sizeof path, "%s/%s", saved, files[i]);
        struct stat info;
        CHECK(stat(path, &info) == 0 && truncate(path, info.st_size - 4) == 0, "cannot truncate");
        CHECK_REFUSED(unroll_trainer_load(training.trainer, saved), UNROLL_DATA, files[i]);
        CHECK(unlink(path) == 0, "cannot remove");
        CHECK_REFUSED(unroll_trainer_load(training.trainer, saved), UNROLL_DATA, files[i]);
    }
    MUST(unroll_trainer_save(training.trainer, again));
    check_same_checkpoints(after, again, "a refused load changes nothing");
    end(&training);
}

static void test_numbers_that_spoil_weights_are_refused(const unroll_dataset *text)
{
    const char *name = "rnn.weight_ih_l0.opt1";
    unroll_train_config config = small_config();
    struct training training = start(text, &config);
    size_t count = unroll_count(training.trainer->session, name);
    char saved[256], valid[256];
    unroll_parameter p;
    float *states = allocate_zeroed(count, sizeof *states);
    name_path(saved, "not_finite");
    name_path(valid, "finite");
    MUST(unroll_trainer_save(training.trainer, saved));
    MUST(unroll_trainer_save(training.trainer, valid));
    states[5] = NAN;
    MUST(unroll_write(training.trainer->session, name, states, count));
    CHECK_REFUSED(unroll_trainer_save(training.trainer, saved), UNROLL_DIVERGED, "'rnn.weight_ih_l0.opt1' holds NaN");
    MUST(unroll_trainer_load(training.trainer, saved));
    MUST(unroll_model_parameter(training.model, 1, &p));
    p.data[3] = INFINITY;
    MUST(unroll_session_push(training.trainer->session));
    CHECK_REFUSED(unroll_trainer_save(training.trainer, saved), UNROLL_DIVERGED, "NaN or infinite");
    check_same_checkpoints(valid, saved, "a refused save leaves what was there");
    release(states);
    end(&training);
}

/* A count from which no step could go on. */
static void test_counts_without_end_are_refused(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
    struct training training = start(text, &config);
    char saved[256];
    name_path(saved, "counts");
    training.trainer->state.step = INT64_MAX;
    MUST(unroll_trainer_save(training.trainer, saved));
    training.trainer->state.step = 0;
    CHECK_REFUSED(unroll_trainer_load(training.trainer, saved), UNROLL_DATA, "no sound 'step'");
    end(&training);
}

static void test_mixed_files_are_refused(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
    struct training training = start(text, &config);
    unroll_spec spec = small_spec(text);
    unroll_model *other;
    char saved[256], path[320];
    name_path(saved, "mixed");
    snprintf(path, sizeof path, "%s/model.safetensors", saved);
    spec.dropout = 0.1f; /* all parameters have the same shapes */
    MUST(unroll_trainer_save(training.trainer, saved));
    MUST(unroll_model_new(&spec, 3, &other));
    MUST(unroll_model_save(other, path));
    CHECK_REFUSED(unroll_trainer_load(training.trainer, saved), UNROLL_USAGE,
                  "was made with layers[0].dropout = 0.1, this");
    unroll_model_free(other);
    end(&training);
}

static void test_places(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
    struct training training = start(text, &config);
    char saved[256], aside[256], slashed[300], foreign[300];
    struct piece piece = {"mine", 4};
    name_path(saved, "a/b/place");
    name_path(aside, "a/b/place.old");
    snprintf(slashed, sizeof slashed, "%s//", saved);
    MUST(unroll_trainer_save(training.trainer, slashed));
    MUST(unroll_trainer_load(training.trainer, saved));
    CHECK(!file_exists(aside), "nothing stays aside");
    CHECK(rename(saved, aside) == 0, "cannot rename"); /* as if killed between the renames */
    MUST(unroll_trainer_load(training.trainer, saved));
    MUST(unroll_trainer_save(training.trainer, saved));
    CHECK(file_exists(saved) && !file_exists(aside), "the next save cleans up");
    snprintf(foreign, sizeof foreign, "%s/diary", saved);
    MUST(write_file_atomically(foreign, &piece, 1));
    CHECK_REFUSED(unroll_trainer_save(training.trainer, saved), UNROLL_USAGE, "'diary', which is not of a checkpoint");
    CHECK_REFUSED(unroll_trainer_save(training.trainer, foreign), UNROLL_USAGE, "is no directory");
    CHECK_REFUSED(unroll_trainer_save(training.trainer, "/proc/nowhere/ckpt"), UNROLL_RESOURCE, "/proc/nowhere");
    CHECK_REFUSED(unroll_trainer_save(training.trainer, "/"), UNROLL_USAGE, "no name");
    CHECK(file_exists(foreign), "what is not ours stays");
    end(&training);
}

/* A child saves again and again until it is killed; whatever the moment, one checkpoint is whole. */
static void test_kills(const unroll_dataset *text)
{
    unroll_train_config config = small_config();
    char saved[256];
    name_path(saved, "killed");
    struct training training = start(text, &config);
    MUST(unroll_trainer_save(training.trainer, saved));
    for (int i = 0; i < 12; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            struct training own = start(text, &config);
            for (;;) {
                steps(&own, 1);
                if (unroll_trainer_save(own.trainer, saved) != UNROLL_OK)
                    _exit(1);
            }
        }
        usleep(30000 + 1700 * (useconds_t)i);
        int status = 0;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status), "the child could not save");
        MUST(unroll_trainer_load(training.trainer, saved));
    }
    MUST(unroll_trainer_save(training.trainer, saved));
    end(&training);
}

static void remove_folder(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0, "cannot remove %s", folder);
}

int main(int count, char **words)
{
    if (mkdtemp(folder) == NULL)
        return 1;
    unroll_dataset *text = make_text(4000, 1);
    test_it_learns(text);
    test_states_are_carried(text);
    test_no_allocation(text);
    test_epochs_begin_with_zero_states();
    test_validations_steer_the_plateau(text);
    test_the_best_is_known(text);
    test_divergence_is_reported(text);
    test_strings_are_not_kept(text);
    test_refused_configurations(text);
    test_evaluation(check_quick(count, words));
    test_resume(text);
    test_resume_of_a_network(text);
    test_mismatches_are_refused(text);
    test_damaged_files_are_refused(text);
    test_counts_without_end_are_refused(text);
    test_numbers_that_spoil_weights_are_refused(text);
    test_mixed_files_are_refused(text);
    test_places(text);
    test_kills(text);
    unroll_data_free(text);
    CHECK(memory_live() == 0, "%d blocks are not released", (int)memory_live());
    remove_folder();
    return check_finish("test_trainer");
}
