/* Tests of checkpoints: a saved and loaded training continues with the same bits. Damaged checkpoints, those of another
 * training and those cut off by a kill are refused and change nothing. Meshes are tested in test_resume, thousands of
 * damages in test_corruption. */
/* test: kinds=check-plain,long-memory */
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
#include "train/small_training.h"

static char folder[] = "/tmp/unroll_checkpoint_XXXXXX";

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

/* Without updates a validation gives the same result each time, which is not better; a lower one is. */
static void test_the_best_is_known(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    unroll_progress progress = {.size = sizeof progress}, loaded = {.size = sizeof loaded};
    unroll_evaluation first = {.size = sizeof first}, second = {.size = sizeof second};
    char path[256];
    struct training training = start(text, &config);
    CHECK_REFUSED(unroll_trainer_progress(training.trainer, &(unroll_progress){.step = 1}), UNROLL_USAGE,
                  "size = 0 of unroll_progress is wrong; fix: start from");
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

/* Compares six steps with three steps, a save, a load into a new trainer of another model, and three more. */
static void check_resume(const unroll_dataset *text, const char *optimizer, const char *schedule, int first)
{
    unroll_trainer_config config = small_config();
    char straight[256], stopped[256], resumed[256], delayed[256];
    unroll_snapshot *snapshot;
    unroll_evaluation found = {.size = sizeof found};
    config.rates = unroll_hyperparameters_default(optimizer);
    config.schedule = schedule;
    name_path(straight, "straight");
    name_path(stopped, "stopped");
    name_path(resumed, "resumed");
    name_path(delayed, "delayed");

    struct training training = start(text, &config);
    steps(&training, first);
    MUST(unroll_trainer_validate(training.trainer, &found));
    MUST(unroll_trainer_save(training.trainer, stopped));
    MUST(unroll_trainer_snapshot(training.trainer, &snapshot));
    steps(&training, 3);
    MUST(unroll_snapshot_write(snapshot, delayed));
    check_same_checkpoints(stopped, delayed, "a snapshot, written three steps later");
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

/* A network whose parameters have the longest possible names, and whose functions have parameters. */
static struct training start_network(const unroll_dataset *text, int width)
{
    const char *name = "a.name.of.63.bytes.................................in.all.layer";
    struct training training = {NULL, NULL};
    unroll_trainer_config config = small_config();
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
    unroll_dataset_vocabulary(text, &network.input);
    layer[2].width = network.input;
    network.tokens = 1;
    network.loss = "xent";
    network.layer = layer;
    network.layers = 3;
    CHECK(strlen(name) == 63, "%zu bytes", strlen(name));
    if (MUST(unroll_model_from_network(&network, 3, &training.model)))
        MUST(unroll_trainer_new(training.model, text, &config, &training.trainer));
    return training;
}

/* A program's locale may use decimal commas; files use points. */
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
    unroll_layer layer = {.size = sizeof layer};
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
    CHECK_REFUSED(unroll_trainer_load(training.trainer, stopped), UNROLL_DATA,
                  "other weights than the model next to it");
    end(&training);
}

static void test_mismatches_are_refused(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
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
    unroll_dataset_free(other);
}

static void test_damaged_files_are_refused(const unroll_dataset *text)
{
    static const char *const files[] = {"model.safetensors", "optim.safetensors"};
    unroll_trainer_config config = small_config();
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
    unroll_trainer_config config = small_config();
    struct training training = start(text, &config);
    size_t count = unroll_session_count(training.trainer->session, name);
    char saved[256], valid[256];
    unroll_parameter p = {.size = sizeof p};
    float *states = allocate_zeroed(count, sizeof *states);
    name_path(saved, "not_finite");
    name_path(valid, "finite");
    MUST(unroll_trainer_save(training.trainer, saved));
    MUST(unroll_trainer_save(training.trainer, valid));
    states[5] = NAN;
    MUST(unroll_session_write(training.trainer->session, name, states, count));
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

/* A count from which no step could continue. */
static void test_counts_without_end_are_refused(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    struct training training = start(text, &config);
    char saved[256];
    name_path(saved, "counts");
    training.trainer->state.step = INT64_MAX;
    MUST(unroll_trainer_save(training.trainer, saved));
    training.trainer->state.step = 0;
    CHECK_REFUSED(unroll_trainer_load(training.trainer, saved), UNROLL_DATA, "an invalid 'step'");
    end(&training);
}

static void test_mixed_files_are_refused(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    struct training training = start(text, &config);
    unroll_model_config spec = small_spec(text);
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
    unroll_trainer_config config = small_config();
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
    CHECK_REFUSED(unroll_trainer_save(training.trainer, saved), UNROLL_USAGE,
                  "'diary', which is not part of a checkpoint");
    CHECK_REFUSED(unroll_trainer_save(training.trainer, foreign), UNROLL_USAGE, "is not a directory");
    CHECK_REFUSED(unroll_trainer_save(training.trainer, "/proc/nowhere/ckpt"), UNROLL_RESOURCE, "/proc/nowhere");
    CHECK_REFUSED(unroll_trainer_save(training.trainer, "/"), UNROLL_USAGE, "is not a name");
    CHECK(file_exists(foreign), "what is not ours stays");
    end(&training);
}

/* A child saves repeatedly until it is killed; at any moment, one checkpoint is complete. */
static void test_kills(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
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

int main(void)
{
    if (mkdtemp(folder) == NULL)
        return 1;
    unroll_dataset *text = make_text(4000, 1);
    test_the_best_is_known(text);
    test_resume(text);
    test_resume_of_a_network(text);
    test_mismatches_are_refused(text);
    test_damaged_files_are_refused(text);
    test_counts_without_end_are_refused(text);
    test_numbers_that_spoil_weights_are_refused(text);
    test_mixed_files_are_refused(text);
    test_places(text);
    test_kills(text);
    unroll_dataset_free(text);
    CHECK(memory_live() == 0, "%d blocks are not released", (int)memory_live());
    remove_folder();
    return check_finish("test_checkpoint");
}
