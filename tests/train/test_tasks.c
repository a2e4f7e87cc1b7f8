/* Tests of the tasks: each learns a small suitable data set within a second, far beyond its baseline. Its model is
 * saved, loaded and evaluated again, predicts in the user's words, refuses what cannot be learned, and resumes from a
 * checkpoint as if there had been no interruption. */
/* test: kinds=plain,long-memory */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/philox.h"
#include "check.h"
#include "model/model.h"
#include "tasks/schema.h"
#include "temporary.h"

/* ---- data ---- */

enum { SEQUENCES = 240, LONGEST = 12, STEPS = SEQUENCES * LONGEST, WORDS = 200 };

static struct {
    unroll_dataset data;
    struct column column[4];
    size_t begin[SEQUENCES + 1];
    uint8_t label[STEPS], token[STEPS];
    float x[STEPS * 2], set[SEQUENCES * 3];
    uint8_t word[STEPS], tag[STEPS];
    float mean[SEQUENCES], so_far[STEPS];
    char spelled[WORDS][8];
    const char *words[WORDS];
} made;

static const char *const tags[] = {"O", "B-X", "I-X"};
static const char *const labels[] = {"low", "middle", "high"}, *const letters[] = {"a", "b", "c", "d"};

/* A word ends in o, x or y. Tags: O; B-X for an x that does not follow an x; I-X for an x after an x; y repeats the
 * previous word's. */
static void make_words(struct rng *rng, size_t first, size_t length)
{
    static const char ends[] = "oxy";
    for (int i = 0; i < WORDS; i++) {
        snprintf(made.spelled[i], sizeof made.spelled[i], "%c%c%c", 'a' + i % 26, 'a' + i / 26, ends[i % 3]);
        made.words[i] = made.spelled[i];
    }
    for (size_t t = 0; t < length; t++) {
        const size_t at = first + t;
        made.word[at] = (uint8_t)rng_below(rng, WORDS);
        const int end = made.word[at] % 3, before = t ? made.tag[at - 1] : 0;
        made.tag[at] = (uint8_t)(end == 0 ? 0 : end == 1 ? (before ? 2 : 1) : before ? 2 : 0);
    }
}

/* Sequences of numbers and letters: the label depends on the size of the first number, the set on the letters that
 * occur. */
static unroll_dataset *make(void)
{
    struct rng rng = rng_new(5, 1);
    memset(&made, 0, sizeof made);
    for (size_t s = 0; s < SEQUENCES; s++) {
        const size_t length = 4 + (size_t)rng_below(&rng, LONGEST - 3), first = made.begin[s];
        made.begin[s + 1] = first + length;
        for (size_t t = 0; t < length; t++) {
            made.x[2 * (first + t)] = 10 + 3 * rng_uniform(&rng);
            made.x[2 * (first + t) + 1] = t == 0 ? 100 * rng_uniform(&rng) : 50;
            made.token[first + t] = (uint8_t)rng_below(&rng, 4);
        }
        made.label[s] = (uint8_t)(made.x[2 * first + 1] * 0.0299999f);
        make_words(&rng, first, length);
        double sum = 0;
        for (size_t t = 0; t < length; t++) {
            if (made.token[first + t] < 3)
                made.set[3 * s + made.token[first + t]] = 1;
            sum += (double)made.x[2 * (first + t)];
            made.so_far[first + t] = 1000 + 50 * (float)(sum / (double)(t + 1));
        }
        made.mean[s] = made.so_far[first + length - 1];
    }
    return &made.data;
}

static struct column numbers(void)
{
    return (struct column){.name = "x", .type = COLUMN_NUMBERS, .numbers = made.x, .width = 2};
}

static struct column text(void)
{
    return (struct column){.name = "text",
                           .type = COLUMN_TOKENS,
                           .kind = CUT_CHARACTERS,
                           .ids = made.token,
                           .id_bytes = 1,
                           .vocabulary = (const char **)letters,
                           .vocabulary_size = 4};
}

static struct column label(void)
{
    return (struct column){.name = "label",
                           .type = COLUMN_CATEGORY,
                           .of_sequence = true,
                           .ids = made.label,
                           .id_bytes = 1,
                           .vocabulary = (const char **)labels,
                           .vocabulary_size = 3};
}

static struct column set(void)
{
    return (struct column){.name = "has",
                           .type = COLUMN_SET,
                           .of_sequence = true,
                           .numbers = made.set,
                           .width = 3,
                           .vocabulary = (const char **)letters,
                           .vocabulary_size = 3};
}

static struct column words(void)
{
    return (struct column){.name = "word",
                           .type = COLUMN_CATEGORY,
                           .ids = made.word,
                           .id_bytes = 1,
                           .vocabulary = made.words,
                           .vocabulary_size = WORDS};
}

static struct column tag(void)
{
    return (struct column){.name = "tag",
                           .type = COLUMN_CATEGORY,
                           .ids = made.tag,
                           .id_bytes = 1,
                           .vocabulary = (const char **)tags,
                           .vocabulary_size = 3};
}

static struct column mean(void)
{
    return (struct column){
        .name = "target", .type = COLUMN_NUMBERS, .of_sequence = true, .numbers = made.mean, .width = 1};
}

static struct column so_far(void)
{
    return (struct column){.name = "load", .type = COLUMN_NUMBERS, .numbers = made.so_far, .width = 1};
}

static unroll_dataset *data_of(struct column input, struct column target)
{
    unroll_dataset *data = make();
    made.column[0] = input;
    made.column[1] = target;
    *data = (unroll_dataset){.column = made.column,
                             .columns = 2,
                             .steps = made.begin[SEQUENCES],
                             .begin = made.begin,
                             .sequences = SEQUENCES,
                             .group = -1,
                             .time = -1};
    return data;
}

/* ---- training ---- */

static unroll_model *new_model(const char *task, const char *options, const unroll_dataset *data)
{
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_model_config spec = unroll_model_config_auto();
    unroll_model *model = NULL;
    spec.hidden = 16;
    MUST(unroll_task_configure(task, options, data, &spec, &defaults));
    CHECK(defaults.bptt == 0 && defaults.epochs >= 10, "sequences are read whole");
    CHECK(spec.hidden == 16 && spec.layers == 1 && spec.cell, "what is chosen stays, what is not is found");
    if (!MUST(unroll_model_new(&spec, 3, &model)))
        abort();
    return model;
}

static unroll_trainer_config config_of(const char *task, const char *options)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    config.task = task;
    config.task_options = options;
    config.bptt = 0;
    config.batch = 16;
    config.rates.learning_rate = 1e-2;
    config.warmup = 10;
    config.validation.share = 0.2;
    config.machine.threads = 1;
    return config;
}

static const unroll_metric *metric(const unroll_evaluation *e, const char *name)
{
    static const unroll_metric none = {.value = (double)NAN};
    for (int i = 0; i < e->metrics; i++)
        if (strcmp(e->metric[i].name, name) == 0)
            return &e->metric[i];
    return &none;
}

static void steps(unroll_trainer *trainer, int count)
{
    unroll_progress progress = {.size = sizeof progress};
    for (int i = 0; i < count; i++)
        if (!MUST(unroll_trainer_step(trainer, &progress)))
            return;
}

/* Two trainings, one of them stopped and resumed, give the same weights. Returns the result on the validation part. */
static unroll_model *train(const char *task, const char *options, const unroll_dataset *data, int count,
                           unroll_evaluation *found)
{
    unroll_trainer_config config = config_of(task, options);
    unroll_model *model = new_model(task, options, data), *other = new_model(task, options, data);
    unroll_trainer *trainer = NULL;
    config.total_steps = count;
    if (!MUST(unroll_trainer_new(model, data, &config, &trainer)))
        abort();
    steps(trainer, count);
    MUST(unroll_trainer_validate(trainer, found));
    unroll_trainer_free(trainer);
    MUST(unroll_trainer_new(other, data, &config, &trainer));
    steps(trainer, count / 3);
    MUST(unroll_trainer_save(trainer, inside("run")));
    unroll_trainer_free(trainer);
    unroll_model_free(other);
    other = new_model(task, options, data);
    MUST(unroll_trainer_new(other, data, &config, &trainer));
    MUST(unroll_trainer_load(trainer, inside("run")));
    steps(trainer, count - count / 3);
    unroll_trainer_free(trainer);
    CHECK(memcmp(model->values, other->values, model->count * sizeof(float)) == 0, "%s resumes", task);
    unroll_model_free(other);
    return model;
}

/* ---- predictions ---- */

struct answers {
    json_t *list;
    char *text;
    size_t size;
    FILE *file;
    const struct task *task;
};

static unroll_status take(void *arg, json_t *answer)
{
    struct answers *answers = arg;
    json_array_append(answers->list, answer);
    answers->task->line(answer, answers->file);
    return UNROLL_OK;
}

/* Computes them from the part: all batches through a session, as in predictions. */
static struct answers answers_of(unroll_model *model, const unroll_dataset *data)
{
    const struct task_request request = {.data = data, .ranks = 1, .model = model};
    struct answers answers = {.list = json_array()};
    struct part *part = NULL;
    unroll_session *session = NULL;
    unroll_session_config config = unroll_session_config_default();
    answers.file = open_memstream(&answers.text, &answers.size);
    MUST(task_find(NULL, model, data, &answers.task));
    if (!MUST(answers.task->open(&request, PART_ALL, &part)))
        abort();
    config.mode = UNROLL_INFER;
    config.raw = 1;
    config.steps = part->shape->steps;
    config.rows = part->shape->rows;
    config.lengths = part->lengths;
    MUST(unroll_session_new(model, &config, &session));
    const size_t entries = (size_t)config.steps * (size_t)config.rows, z = unroll_session_count(session, "z");
    struct task_batch batch = {.tokens = allocate_zeroed(entries * 8, sizeof(int32_t)),
                               .inputs = allocate_zeroed(entries * 8, sizeof(float)),
                               .classes = allocate_zeroed(entries, sizeof(int32_t)),
                               .values = allocate_zeroed(entries * 4, sizeof(float)),
                               .lengths = part->lengths ? allocate_zeroed((size_t)config.rows, sizeof(int32_t)) : NULL};
    float *results = allocate_zeroed(z, sizeof *results);
    for (int64_t number = 0; number < part->batches; number++) {
        part->fill(part, 0, number, &batch);
        const unroll_batch given = {.size = sizeof given,
                                    .tokens = model_token_columns(model) ? batch.tokens : NULL,
                                    .inputs = model_numbers(model) ? batch.inputs : NULL,
                                    .lengths = batch.lengths};
        MUST(unroll_session_forward(session, &given));
        MUST(unroll_session_read(session, "z", results, z));
        MUST(answers.task->answer(part, number, &batch, results, take, &answers));
    }
    unroll_session_free(session);
    part_free(part);
    release(batch.tokens), release(batch.inputs), release(batch.classes), release(batch.values);
    release(batch.lengths), release(results);
    fclose(answers.file);
    return answers;
}

/* The model loaded from its file gives the same results and predictions. */
static void check_file(unroll_model **model, const unroll_dataset *data)
{
    unroll_evaluation here = {.size = sizeof here}, there = {.size = sizeof there};
    unroll_model *loaded = NULL;
    MUST(unroll_model_evaluate(*model, data, NULL, &here, NULL));
    MUST(unroll_model_save(*model, inside("model.safetensors")));
    if (!MUST(unroll_model_load(inside("model.safetensors"), &loaded)))
        return;
    MUST(unroll_model_evaluate(loaded, data, NULL, &there, NULL));
    CHECK(here.loss == there.loss && here.metric[0].value == there.metric[0].value && here.examples == there.examples,
          "%g and %g from the file", here.metric[0].value, there.metric[0].value);
    unroll_model_free(*model);
    *model = loaded;
}

/* ---- classify ---- */

static void test_classify(void)
{
    const char *why = "";
    unroll_evaluation found = {.size = sizeof found};
    unroll_dataset *data = data_of(numbers(), label());
    const char *name = unroll_task_suggest(data, &why);
    CHECK(name && strcmp(name, "classify") == 0 && strstr(why, "'label'"), "%s: %s", name, why);
    unroll_model *model = train("classify", NULL, data, 150, &found);
    CHECK(metric(&found, "accuracy")->value > 0.95 && found.floor < 0.6 && found.higher && found.examples == 48,
          "accuracy %g of %d, majority %g", metric(&found, "accuracy")->value, (int)found.examples, found.floor);
    CHECK(metric(&found, "macro_f1")->value > 0.9, "macro F1 %g", metric(&found, "macro_f1")->value);
    check_file(&model, data);
    CHECK(unroll_model_can_predict(model) && !unroll_model_can_sample(model), "'%s'", unroll_last_error());
    struct answers answers = answers_of(model, data);
    int right = 0;
    for (size_t i = 0; i < SEQUENCES; i++) {
        const json_t *answer = json_array_get(answers.list, i);
        right += strcmp(json_string_value(json_object_get(answer, "label")), labels[made.label[i]]) == 0;
    }
    const json_t *first = json_array_get(answers.list, 0);
    CHECK(json_array_size(answers.list) == SEQUENCES && right > SEQUENCES * 9 / 10, "%d are right, in order", right);
    CHECK(json_object_size(json_object_get(first, "probabilities")) == 3 &&
              strcmp(json_string_value(json_object_get(first, "truth")), labels[made.label[0]]) == 0,
          "probabilities and truth");
    CHECK(strncmp(answers.text, labels[made.label[0]], 3) == 0 && strchr(answers.text, '\n'), "%.20s", answers.text);
    json_decref(answers.list);
    free(answers.text);
    unroll_model_free(model);
}

static void test_several_labels(void)
{
    unroll_evaluation found = {.size = sizeof found};
    unroll_dataset *data = data_of(text(), set());
    unroll_model *model = train("auto", NULL, data, 150, &found);
    CHECK(metric(&found, "micro_f1")->value > 0.95 && metric(&found, "accuracy")->value > 0.9 &&
              found.floor < 0.95 * metric(&found, "micro_f1")->value,
          "micro F1 %g, all right %g, floor %g", metric(&found, "micro_f1")->value, metric(&found, "accuracy")->value,
          found.floor);
    check_file(&model, data);
    struct answers answers = answers_of(model, data);
    const json_t *first = json_object_get(json_array_get(answers.list, 0), "labels");
    CHECK(json_array_size(first) == (size_t)(made.set[0] + made.set[1] + made.set[2]), "%.20s", answers.text);
    json_decref(answers.list);
    free(answers.text);
    unroll_model_free(model);
}

/* ---- tag ---- */

/* Words that are only in the validation part are recognized by their ends. */
static void test_tag(void)
{
    const char *why = "";
    unroll_evaluation found = {.size = sizeof found};
    unroll_dataset *data = data_of(words(), tag());
    const char *name = unroll_task_suggest(data, &why);
    CHECK(name && strcmp(name, "tag") == 0 && strstr(why, "'word'"), "%s: %s", name, why);
    unroll_model *model = train("tag", NULL, data, 120, &found);
    CHECK(metric(&found, "accuracy")->value > 0.97 && metric(&found, "span_f1")->value > 0.95 && found.compared == 1 &&
              found.floor < 0.8 && found.floor > 0.5,
          "accuracy %g, span F1 %g, floor %g", metric(&found, "accuracy")->value, metric(&found, "span_f1")->value,
          found.floor);
    check_file(&model, data);
    struct answers answers = answers_of(model, data);
    char line[64];
    const size_t first = made.begin[1];
    int right = 0, all = 0;
    for (size_t s = 0; s < SEQUENCES; s++) {
        const json_t *said = json_object_get(json_array_get(answers.list, s), "tags");
        for (size_t t = 0; t < json_array_size(said); t++, all++)
            right += strcmp(json_string_value(json_array_get(said, t)), tags[made.tag[made.begin[s] + t]]) == 0;
    }
    CHECK(all == (int)data->steps && right > all * 95 / 100, "%d of %d", right, all);
    snprintf(line, sizeof line, "\n\n%s\t%s\n", made.words[made.word[first]], tags[made.tag[first]]);
    CHECK(strstr(answers.text, line), "'%s' in '%.60s'", line, answers.text);
    json_decref(answers.list);
    free(answers.text);
    for (int i = 0; i < WORDS; i++) made.spelled[i][0] = '!'; /* other words with the same ends */
    MUST(unroll_model_evaluate(model, data, NULL, &found, NULL));
    CHECK(metric(&found, "accuracy")->value > 0.95, "unknown words: %g", metric(&found, "accuracy")->value);
    unroll_model_free(model);
}

/* ---- regress ---- */

static void test_regress(const char *options, struct column target, bool of_rows)
{
    unroll_evaluation found = {.size = sizeof found};
    unroll_dataset *data = data_of(numbers(), target);
    data->rows_are_steps = of_rows;
    unroll_model *model = train("regress", options, data, 250, &found);
    CHECK(metric(&found, "r2")->value > 0.9 && metric(&found, "mae")->value < 0.4 * found.floor && !found.higher,
          "R2 %g, MAE %g, of the mean %g", metric(&found, "r2")->value, metric(&found, "mae")->value, found.floor);
    check_file(&model, data);
    struct answers answers = answers_of(model, data);
    const json_t *last = json_array_get(answers.list, json_array_size(answers.list) - 1);
    const double said = json_real_value(json_object_get(last, target.name));
    const size_t entries = target.of_sequence ? SEQUENCES : data->steps;
    CHECK(json_array_size(answers.list) == entries &&
              json_real_value(json_object_get(last, "truth")) == (double)target.numbers[entries - 1] &&
              fabs(said - (double)target.numbers[entries - 1]) < 10 && fabs(atof(answers.text) - 1500) < 200,
          "%zu answers, the last %g, in the target's unit: %.10s", json_array_size(answers.list), said, answers.text);
    json_decref(answers.list);
    free(answers.text);
    unroll_model_free(model);
}

static void test_refused(void)
{
    unroll_trainer_config config = config_of("classify", NULL);
    unroll_dataset *data = data_of(numbers(), label());
    unroll_model_config spec = unroll_model_config_auto();
    unroll_trainer *trainer = NULL;
    unroll_model *model = new_model("classify", NULL, data);
    for (size_t s = 0; s < SEQUENCES; s++) made.label[s] = s < SEQUENCES - 2 ? s % 2 : 2;
    const struct task_request request = {.data = data, .validation.count = 5, .model = model, .rows = 8, .ranks = 1};
    const struct task *task;
    struct part *part = NULL;
    MUST(unroll_model_set_schema(model, "classify", NULL, data));
    MUST(task_find("classify", NULL, data, &task));
    CHECK_REFUSED(task->open(&request, PART_VALIDATION, &part), UNROLL_DATA, "'high' is only in the validation part");
    MUST(unroll_trainer_new(model, data, &config, &trainer)); /* a fraction is drawn from all */
    unroll_trainer_free(trainer);
    CHECK_REFUSED(unroll_task_configure("classify", "target=x", data, &spec, NULL), UNROLL_DATA,
                  "needs a label for each sequence, and the column 'x' has none");
    CHECK_REFUSED(unroll_task_configure("classify", "target=y", data, &spec, NULL), UNROLL_USAGE, "one of x, label");
    CHECK_REFUSED(unroll_task_configure("classify", "goal=y", data, &spec, NULL), UNROLL_USAGE,
                  "its options are target");
    made.column[1].vocabulary_size = 1;
    CHECK_REFUSED(unroll_task_configure("classify", NULL, data, &spec, NULL), UNROLL_DATA, "only the label 'low'");
    data->columns = 1;
    CHECK_REFUSED(unroll_task_configure("classify", NULL, data, &spec, NULL), UNROLL_DATA,
                  "no column of the data has it");
    CHECK_REFUSED(
        unroll_model_evaluate(model, data, NULL, &(unroll_evaluation){.size = sizeof(unroll_evaluation)}, NULL),
        UNROLL_DATA, "no targets to compare predictions with");
    unroll_model_free(model);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_classify();
    test_several_labels();
    test_tag();
    test_regress(NULL, mean(), false);
    test_regress("target=load", so_far(), true);
    test_refused();
    char remove[64];
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    CHECK(system(remove) == 0, "%s", remove);
    return check_finish("tasks");
}
