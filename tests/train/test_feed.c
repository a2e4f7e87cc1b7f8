/* Tests how batches reach a training: they are the same whether filled in advance or not, batches of several shapes
 * train through concurrent sessions as through one, and several of them make one update. */
/* test: kinds=plain,long-memory,long-thread */
/* test: kinds=timed-plain; args=timed; alone */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/philox.h"
#include "check.h"
#include "data/readers/reader_table.h"
#include "model/model.h"
#include "train/trainer.h"

/* ---- the feed ---- */

static void nap(long nanoseconds)
{
    struct timespec t = {0, nanoseconds};
    nanosleep(&t, NULL);
}

/* Batches of two shapes, whose tokens identify the batch. */
static int shape_of(const struct part *part, int64_t epoch, int64_t number)
{
    (void)part;
    return (int)((epoch + number) % 2);
}

static void fill(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct shape *shape = &part->shape[shape_of(part, epoch, number)];
    struct rng rng = rng_at(7, 1, (uint64_t)(epoch * 1000 + number) * 4096);
    for (int i = 0; i < shape->steps * shape->rows; i++) batch->tokens[i] = (int32_t)rng_below(&rng, 11);
    batch->items = epoch * 1000 + number;
    nap((long)rng_below(&rng, 200000));
}

static struct part toy_part(void)
{
    return (struct part){.shape = {{8, 4}, {3, 10}}, .shapes = 2, .batches = 7, .shape_of = shape_of, .fill = fill};
}

static void check_taken(struct feed *feed, int64_t epoch, int64_t number, const char *how)
{
    int32_t expected[32];
    struct part part = toy_part();
    struct task_batch alone = {.tokens = expected};
    const struct filled *taken = feed_take(feed, epoch, number);
    int shape = shape_of(&part, epoch, number);
    size_t bytes = sizeof *expected * (size_t)(part.shape[shape].steps * part.shape[shape].rows);
    fill(&part, epoch, number, &alone);
    CHECK(taken->shape == shape && taken->arrays.items == alone.items && !memcmp(taken->arrays.tokens, expected, bytes),
          "%s: batch %d of epoch %d", how, (int)number, (int)epoch);
}

static void test_feed(void)
{
    static const struct {
        const char *how;
        int ahead;
    } ways[] = {{"alone", 0}, {"ahead", 1}, {"when it pays", UNROLL_AUTO}};
    struct part part = toy_part();
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    spec.tokens = 1, spec.input = 11, spec.hidden = 2;
    MUST(unroll_model_new(&spec, 1, &model));
    for (size_t w = 0; w < 3; w++) {
        struct feed feed;
        MUST(feed_new(model, &part, false, ways[w].ahead, &feed));
        for (int64_t i = 0; i < 24; i++) check_taken(&feed, i / 7, i % 7, ways[w].how);
        check_taken(&feed, 1, 2, "a jump back");
        check_taken(&feed, 1, 3, "on from there");
        check_taken(&feed, 90, 6, "a jump forward");
        check_taken(&feed, 91, 0, "into the next epoch");
        CHECK(feed.waited > 0, "waiting is measured");
        feed_end(&feed);
        MUST(feed_new(model, &part, true, ways[w].ahead, &feed));
        for (int64_t i = 0; i < 16; i++) check_taken(&feed, 0, i % 7, "again and again");
        feed_end(&feed);
    }
    unroll_model_free(model);
}

/* On a processor shared with others, the caller fills what the thread has not begun, and waiting for the processor does
 * not count as waiting for data. */
static pthread_t caller;
static atomic_int by_caller, by_thread, is_over;

static void fill_at_once(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    (void)part;
    atomic_fetch_add(pthread_equal(pthread_self(), caller) ? &by_caller : &by_thread, 1);
    batch->tokens[0] = (int32_t)(epoch + number);
}

static void *keep_busy(void *unused)
{
    while (!atomic_load(&is_over)) continue;
    return unused;
}

static bool share_a_processor(cpu_set_t *before)
{
    cpu_set_t one;
    int cpu = 0;
    if (sched_getaffinity(0, sizeof *before, before))
        return false;
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, before)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static void test_busy_processor(bool timed)
{
    enum { TAKEN = 4000 };
    struct part part = toy_part();
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    struct feed feed;
    cpu_set_t before;
    pthread_t busy;
    if (!share_a_processor(&before))
        return;
    caller = pthread_self();
    part.fill = fill_at_once;
    spec.tokens = 1, spec.input = 11, spec.hidden = 2;
    MUST(unroll_model_new(&spec, 1, &model));
    MUST(feed_new(model, &part, false, 1, &feed));
    CHECK(pthread_create(&busy, NULL, keep_busy, NULL) == 0, "a thread");
    double began = feed_seconds();
    int wrong = 0;
    for (int64_t i = 0; i < TAKEN || (by_caller <= 4 && feed_seconds() - began < 60); i++)
        wrong += feed_take(&feed, i / 7, i % 7)->arrays.tokens[0] != (int32_t)(i / 7 + i % 7);
    double seconds = feed_seconds() - began;
    CHECK(wrong == 0, "%d batches are not theirs", wrong);
    CHECK(by_caller > 4, "the caller filled %d batches, the thread %d", by_caller, by_thread);
    if (timed)
        CHECK(feed.waited < 0.5 * seconds, "%g of %g seconds are reported as waiting for data", feed.waited, seconds);
    atomic_store(&is_over, 1);
    pthread_join(busy, NULL);
    feed_end(&feed);
    unroll_model_free(model);
    sched_setaffinity(0, sizeof before, &before);
}

/* ---- concurrent sessions ---- */

enum { T = 6, B = 4, VOCABULARY = 9, UPDATES = 8 };

static unroll_model *small_model(float dropout)
{
    unroll_model *model = NULL;
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = "gru", spec.layers = 2, spec.hidden = 12, spec.dropout = dropout;
    spec.tokens = 1, spec.input = spec.output = VOCABULARY, spec.loss = "xent";
    MUST(unroll_model_new(&spec, 5, &model));
    return model;
}

static unroll_session *small_session(unroll_model *model, const char *optimizer, int steps, int rows,
                                     unroll_session *other_session)
{
    unroll_session *session = NULL;
    unroll_session_config config = unroll_session_config_default();
    config.mode = UNROLL_TRAIN, config.steps = steps, config.rows = rows, config.partner = other_session,
    config.optimizer = optimizer;
    config.seed = 11, config.machine.threads = 1, config.machine.isa = "scalar";
    MUST(unroll_session_new(model, &config, &session));
    return session;
}

static void draw_batch(int number, int steps, int rows, int32_t *tokens, int32_t *targets)
{
    struct rng rng = rng_at(3, 2, (uint64_t)number * 4096);
    for (int i = 0; i < steps * rows; i++) {
        tokens[i] = (int32_t)rng_below(&rng, VOCABULARY);
        targets[i] = (int32_t)rng_below(&rng, VOCABULARY);
    }
}

/* Trains the updates in turn with several sessions of one shape: the bits must be those of a single session. */
static unroll_model *train_by_turns(int sessions, double *losses)
{
    unroll_model *model = small_model(0.25f);
    unroll_session *session[3] = {NULL};
    unroll_hyperparameters rates = unroll_hyperparameters_default("adam");
    int64_t forwards, updates;
    for (int i = 0; i < sessions; i++) session[i] = small_session(model, "adam", T, B, i ? session[0] : NULL);
    for (int i = 0; i < UPDATES; i++) {
        int32_t tokens[T * B], targets[T * B];
        unroll_batch batch = {.size = sizeof batch, .tokens = tokens, .targets = targets};
        unroll_result result = {.size = sizeof result};
        draw_batch(i, T, B, tokens, targets);
        MUST(unroll_session_step(session[i % sessions], &batch, &rates, &result));
        losses[i] = result.loss;
    }
    unroll_session_counters(session[0], &forwards, &updates);
    CHECK(forwards == UPDATES && updates == UPDATES, "%d sessions counted %d forwards and %d updates", sessions,
          (int)forwards, (int)updates);
    for (int i = sessions; i-- > 0;) unroll_session_free(session[i]);
    return model;
}

static void test_turns(void)
{
    double one[UPDATES], three[UPDATES];
    unroll_model *a = train_by_turns(1, one), *b = train_by_turns(3, three);
    CHECK(!memcmp(one, three, sizeof one), "losses by turns: %g and %g at the end", one[UPDATES - 1],
          three[UPDATES - 1]);
    CHECK(!memcmp(a->values, b->values, a->count * sizeof *a->values), "weights by turns");
    unroll_model_free(a);
    unroll_model_free(b);
}

/* One update of a batch, or of its rows in sessions of 1 and of 3 rows. */
static unroll_model *train_in_pieces(bool in_pieces, double *loss, double *norm)
{
    unroll_model *model = small_model(0); /* masks are drawn for each forward */
    unroll_session *whole = small_session(model, "sgd", T, in_pieces ? 1 : B, NULL),
                   *rest = in_pieces ? small_session(model, "sgd", T, B - 1, whole) : NULL;
    unroll_hyperparameters rates = unroll_hyperparameters_default("sgd");
    int32_t tokens[T * B], targets[T * B], piece[2][2][T * B];
    unroll_batch batch = {.size = sizeof batch, .tokens = tokens, .targets = targets};
    unroll_result result = {.size = sizeof result};
    draw_batch(1, T, B, tokens, targets);
    for (int t = 0; t < T; t++)
        for (int b = 0; b < B; b++) {
            int rows = b ? B - 1 : 1, at = t * rows + (b ? b - 1 : 0);
            piece[b > 0][0][at] = tokens[t * B + b], piece[b > 0][1][at] = targets[t * B + b];
        }
    if (!in_pieces) {
        MUST(unroll_session_step(whole, &batch, &rates, &result));
    } else {
        batch.tokens = piece[0][0], batch.targets = piece[0][1];
        MUST(unroll_session_forward(whole, &batch));
        MUST(unroll_session_backward(whole));
        batch.tokens = piece[1][0], batch.targets = piece[1][1];
        MUST(unroll_session_step(rest, &batch, &rates, &result));
    }
    *loss = result.loss, *norm = result.norm;
    CHECK(result.weight == T * B, "%g were counted", result.weight);
    unroll_session_free(rest);
    unroll_session_free(whole);
    return model;
}

static void test_pieces(void)
{
    double loss[2], norm[2], worst = 0;
    unroll_model *a = train_in_pieces(false, &loss[0], &norm[0]), *b = train_in_pieces(true, &loss[1], &norm[1]);
    for (size_t i = 0; i < a->count; i++) worst = fmax(worst, fabs((double)a->values[i] - (double)b->values[i]));
    CHECK(fabs(loss[0] - loss[1]) < 1e-6 && fabs(norm[0] - norm[1]) < 1e-6 * norm[0] && worst < 1e-7,
          "an update in pieces: loss %g and %g, norm %g and %g, weights differ by %g", loss[0], loss[1], norm[0],
          norm[1], worst);
    unroll_model_free(a);
    unroll_model_free(b);
}

static void test_refusals(void)
{
    unroll_model *model = small_model(0), *other = small_model(0);
    unroll_session *session = small_session(model, "adam", T, B, NULL), *none = NULL;
    unroll_session_config config = unroll_session_config_default();
    config.mode = UNROLL_TRAIN, config.steps = T, config.rows = 2;
    CHECK_REFUSED(unroll_session_new(model, &config, &none), UNROLL_UNSUPPORTED, "being trained by another session");
    config.partner = session;
    CHECK_REFUSED(unroll_session_new(other, &config, &none), UNROLL_USAGE, "must both train the same model");
    config.optimizer = "sgd";
    CHECK_REFUSED(unroll_session_new(model, &config, &none), UNROLL_USAGE, "a different optimizer");
    config.mode = UNROLL_EVAL;
    CHECK_REFUSED(unroll_session_new(model, &config, &none), UNROLL_USAGE, "must both train the same model");
    unroll_session_free(session);
    unroll_model_free(model);
    unroll_model_free(other);
}

/* ---- trainings ---- */

static unroll_dataset *make_text(size_t size)
{
    static const char *const words[] = {"the ", "sea ", "is ", "wide ", "and ", "deep ", "we ", "sail.\n"};
    struct rng rng = rng_new(5, 0);
    char *bytes = calloc(size + 16, 1);
    unroll_dataset *text = NULL;
    for (size_t at = 0; at < size; at = strlen(bytes)) strcpy(bytes + at, words[rng_below(&rng, 8)]);
    MUST(dataset_parse(bytes, size, "the test's text", "text", NULL, NULL, &text));
    free(bytes);
    return text;
}

static unroll_trainer_config small_config(void)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    config.batch = 4, config.bptt = 12, config.warmup = 2, config.total_steps = 40;
    config.machine.threads = 1;
    return config;
}

static unroll_model *text_model(const unroll_dataset *text)
{
    unroll_model *model = NULL;
    unroll_model_config spec = unroll_model_config_auto();
    spec.layers = 1, spec.hidden = 12;
    MUST(unroll_task_configure("lm", NULL, text, &spec, NULL));
    MUST(unroll_model_new(&spec, 3, &model));
    return model;
}

static unroll_model *train(const unroll_dataset *text, const unroll_trainer_config *config, int updates,
                           unroll_evaluation *tested)
{
    unroll_model *model = text_model(text);
    unroll_trainer *trainer = NULL;
    unroll_progress progress = {.size = sizeof progress};
    if (!MUST(unroll_trainer_new(model, text, config, &trainer)))
        return model;
    for (int i = 0; i < updates; i++) MUST(unroll_trainer_step(trainer, &progress));
    CHECK(progress.step == updates, "%d updates", (int)progress.step);
    if (tested) {
        MUST(unroll_trainer_test(trainer, tested, NULL));
        CHECK_REFUSED(unroll_trainer_test(trainer, tested, NULL), UNROLL_USAGE, "has tested");
    }
    unroll_trainer_free(trainer);
    return model;
}

static void test_prefetch(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    unroll_model *model[2];
    for (int i = 0; i < 2; i++) {
        config.prefetch = i;
        model[i] = train(text, &config, 40, NULL);
    }
    CHECK(!memcmp(model[0]->values, model[1]->values, model[0]->count * sizeof(float)),
          "batches that were filled ahead");
    for (int i = 0; i < 2; i++) unroll_model_free(model[i]);
}

/* An epoch of 7 batches has 3 updates of 3, 3 and 1 batches; a training resumed from a checkpoint in between has the
 * same bits. */
static void test_accumulate(const unroll_dataset *text)
{
    char folder[] = "/tmp/unroll_feed_XXXXXX", place[64], line[96];
    unroll_trainer_config config = small_config();
    unroll_progress progress = {.size = sizeof progress};
    unroll_trainer *trainer = NULL;
    config.accumulate = 3;
    unroll_model *whole = train(text, &config, 10, NULL), *model = text_model(text);
    if (!mkdtemp(folder) || !MUST(unroll_trainer_new(model, text, &config, &trainer)))
        return;
    snprintf(place, sizeof place, "%s/step", folder);
    for (int i = 0; i < 5; i++) MUST(unroll_trainer_step(trainer, &progress));
    int64_t batches = trainer->part->batches;
    CHECK(progress.steps_per_epoch == (batches + 2) / 3, "%d updates of an epoch", (int)progress.steps_per_epoch);
    MUST(unroll_trainer_save(trainer, place));
    unroll_trainer_free(trainer);
    unroll_model_free(model);
    model = text_model(text);
    MUST(unroll_trainer_new(model, text, &config, &trainer));
    MUST(unroll_trainer_load(trainer, place));
    for (int i = 0; i < 5; i++) MUST(unroll_trainer_step(trainer, &progress));
    unroll_trainer_free(trainer);
    CHECK(!memcmp(whole->values, model->values, model->count * sizeof(float)), "a training that went on");
    config.accumulate = 1;
    MUST(unroll_trainer_new(model, text, &config, &trainer));
    CHECK_REFUSED(unroll_trainer_load(trainer, place), UNROLL_USAGE, "accumulate = 3");
    unroll_trainer_free(trainer);
    unroll_model_free(model);
    unroll_model_free(whole);
    snprintf(line, sizeof line, "rm -r %s", folder);
    CHECK(system(line) == 0, "the folder is removed");
}

/* Held-out data is not used in training, in any order: the test part follows the validation part. */
static void test_held_out(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    unroll_evaluation tested = {.size = sizeof tested};
    config.validation = (unroll_held_out){.count = 200};
    config.test = (unroll_held_out){.count = 300};
    unroll_model *model = train(text, &config, 4, &tested);
    CHECK(tested.examples == 299, "%d were tested", (int)tested.examples);
    unroll_dataset last = *text;
    struct column column = *dataset_column(text, COLUMN_TOKENS, NULL);
    unroll_evaluation found = {.size = sizeof found};
    column.ids = (const char *)column.ids + (text->steps - 300) * (size_t)column.id_bytes;
    last.column = &column, last.columns = 1, last.steps = 300;
    MUST(unroll_model_evaluate(model, &last, NULL, &found, NULL));
    CHECK(fabs(found.loss - tested.loss) < 1e-12, "the test is of the last 300: %g and %g", found.loss, tested.loss);
    unroll_model_free(model);
}

static void test_batch(void)
{
    unroll_dataset *text = make_text(40000);
    unroll_trainer_config config = small_config();
    unroll_model *model = text_model(text);
    unroll_trainer *trainer = NULL;
    int all = 0, few = 0;
    MUST(unroll_trainer_choose_batch(model, text, &config, 65536, &all));
    /* the memory of one row depends on the machine: finds the first limit that admits more than one */
    for (config.machine.memory = 1000000; few <= 1 && config.machine.memory < 16000000;)
        if (config.machine.memory += 200000,
            unroll_trainer_choose_batch(model, text, &config, 65536, &few) != UNROLL_OK)
            few = 0;
    CHECK(all == 128 && few > 1 && few < all, "batches of %d and %d rows", all, few);
    config.batch = all, config.validation.share = 0;
    CHECK_REFUSED(unroll_trainer_new(model, text, &config, &trainer), UNROLL_RESOURCE, "which fits");
    unroll_model_free(model);
    unroll_dataset_free(text);
}

/* ---- weights of another model ---- */

static void test_transfer(const unroll_dataset *text)
{
    unroll_trainer_config config = small_config();
    unroll_model *first = train(text, &config, 4, NULL), *model = text_model(text), *other = NULL;
    unroll_model_config spec = unroll_model_config_auto();
    MUST(unroll_model_set_schema(model, "lm", NULL, text));
    MUST(unroll_model_transfer(model, first, NULL, NULL));
    CHECK(!memcmp(model->values, first->values, model->count * sizeof(float)), "all of the same network");
    char *swap = first->symbol[1];
    first->symbol[1] = first->symbol[2], first->symbol[2] = swap;
    MUST(unroll_model_transfer(model, first, NULL, NULL));
    const float *row = model_values(model, PARAM_W_DENSE, 1, 0), *was = model_values(first, PARAM_W_DENSE, 1, 0);
    CHECK(!memcmp(row + 12, was + 24, 12 * sizeof *row) && !memcmp(row + 24, was + 12, 12 * sizeof *row) &&
              !memcmp(row, was, 12 * sizeof *row),
          "rows of the head by their tokens");
    spec.layers = 1, spec.hidden = 13;
    MUST(unroll_task_configure("lm", NULL, text, &spec, NULL));
    MUST(unroll_model_new(&spec, 3, &other));
    MUST(unroll_model_transfer(other, first, NULL, NULL)); /* the head's bias fits */
    spec.output = 4;
    unroll_model_free(other);
    MUST(unroll_model_new(&spec, 3, &other));
    CHECK_REFUSED(unroll_model_transfer(other, first, NULL, NULL), UNROLL_DATA, "no parameter of the model");
    unroll_model_free(other);
    unroll_model_free(model);
    unroll_model_free(first);
}

int main(int count, char **words)
{
    if (count > 1 && !strcmp(words[1], "timed")) {
        test_busy_processor(true);
        return check_finish("test_feed");
    }
    unroll_dataset *text = make_text(2 * 4 * 12 * 11);
    test_feed();
    test_busy_processor(false);
    test_turns();
    test_pieces();
    test_refusals();
    test_prefetch(text);
    test_accumulate(text);
    test_held_out(text);
    test_batch();
    test_transfer(text);
    unroll_dataset_free(text);
    return check_finish("test_feed");
}
