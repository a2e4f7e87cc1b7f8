/* What tasks accept: each task with each value of each option, alone and in pairs, and with each column for each option
 * that names columns, on data with all kinds of columns. Refusals come before training and have a fix; what is accepted
 * trains, validates, evaluates and predicts. Models for one task are given to all others. Intended for builds with
 * sanitizers.
 *     test_accepts [N]
 * Runs one in N of the pairs, 64 by default; 1: all. */
/* test: kinds=plain,ci-memory; seconds=40 */
/* test: kinds=long-memory; args=4; seconds=90 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "check.h"
#include "model/model.h"
#include "tasks/task.h"
#include "unroll_advanced.h"
#include "listed.h"

/* ---- data with all kinds of columns ---- */

enum { SEQUENCES = 12, LENGTH = 30, ROWS = SEQUENCES * LENGTH, WIDTH = 3 };

static struct {
    float numbers[ROWS], pair[ROWS * 2], set[ROWS * WIDTH], flag[ROWS];
    uint8_t id[ROWS], token[ROWS], group[ROWS];
    double time[ROWS];
    size_t begin[SEQUENCES + 1];
} made;

static const char *const letters[] = {"a", "b", "no", "d"};
static const char *const groups[] = {"g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8", "g9", "g10", "g11"};

static void make_values(void)
{
    struct rng rng = rng_new(11, 1);
    for (size_t i = 0; i < ROWS; i++) {
        made.numbers[i] = (float)(10 + sin((double)i * 0.5)) + rng_uniform(&rng) * 0.1f;
        made.pair[2 * i] = (float)i, made.pair[2 * i + 1] = rng_uniform(&rng);
        made.id[i] = (uint8_t)rng_below(&rng, 3);
        made.token[i] = (uint8_t)rng_below(&rng, 4);
        made.group[i] = (uint8_t)(i / LENGTH);
        made.flag[i] = i % 7 == 0;
        made.time[i] = 86400.0 * (double)(i % LENGTH);
        for (size_t k = 0; k < WIDTH; k++) made.set[i * WIDTH + k] = (float)rng_below(&rng, 2);
    }
    for (size_t s = 0; s <= SEQUENCES; s++) made.begin[s] = s * LENGTH;
}

struct world {
    const char *name;
    unroll_dataset data;
    struct column column[16];
};

/* Adds a column to the data. */
static struct column *add(struct world *w, const char *name, enum column_type type, bool of_sequence)
{
    struct column *column = &w->column[w->data.columns++];
    *column = (struct column){.type = type, .of_sequence = of_sequence, .width = 1, .numbers = made.numbers};
    snprintf(column->name, sizeof column->name, "%s", name);
    if (type == COLUMN_NUMBERS)
        return column;
    column->numbers = NULL;
    column->vocabulary = (const char **)letters;
    column->vocabulary_size = 3;
    column->ids = made.id;
    column->id_bytes = 1;
    if (type == COLUMN_TOKENS)
        column->ids = made.token, column->vocabulary_size = 4, column->kind = CUT_CHARACTERS;
    if (type == COLUMN_SET)
        column->ids = NULL, column->numbers = made.set, column->width = WIDTH;
    if (type == COLUMN_TIME)
        column->ids = NULL, column->vocabulary_size = 0, column->times = made.time;
    return column;
}

static void begin_world(struct world *w, const char *name, bool rows_are_steps)
{
    *w = (struct world){.name = name};
    w->data = (unroll_dataset){.column = w->column,
                               .steps = ROWS,
                               .begin = made.begin,
                               .sequences = SEQUENCES,
                               .rows_are_steps = rows_are_steps,
                               .group = -1,
                               .time = -1};
    snprintf(w->data.name, sizeof w->data.name, "%s", name);
}

/* Examples, and grouped series with times, with all kinds of columns; a text; sets; tagged words. */
enum { WORLDS = 5 };
static struct world worlds[WORLDS];

static void add_all(struct world *w)
{
    add(w, "n", COLUMN_NUMBERS, false);
    struct column *pair = add(w, "pair", COLUMN_NUMBERS, false);
    pair->numbers = made.pair, pair->width = 2;
    add(w, "flag", COLUMN_NUMBERS, false)->numbers = made.flag;
    add(w, "c", COLUMN_CATEGORY, false);
    add(w, "set", COLUMN_SET, false);
    add(w, "text", COLUMN_TOKENS, false);
    add(w, "when", COLUMN_TIME, false);
    add(w, "sn", COLUMN_NUMBERS, true);
    add(w, "sc", COLUMN_CATEGORY, true);
    add(w, "sset", COLUMN_SET, true);
}

static void make_worlds(void)
{
    make_values();
    begin_world(&worlds[0], "examples", false);
    add_all(&worlds[0]);
    begin_world(&worlds[1], "series", true);
    add_all(&worlds[1]);
    struct column *group = add(&worlds[1], "group", COLUMN_CATEGORY, false);
    group->ids = made.group, group->vocabulary = (const char **)groups, group->vocabulary_size = SEQUENCES;
    worlds[1].data.group = worlds[1].data.columns - 1;
    worlds[1].data.time = 6;
    begin_world(&worlds[2], "text", false);
    add(&worlds[2], "text", COLUMN_TOKENS, false);
    begin_world(&worlds[3], "sets", false);
    add(&worlds[3], "set", COLUMN_SET, false);
    begin_world(&worlds[4], "words", false);
    add(&worlds[4], "word", COLUMN_CATEGORY, false);
    struct column *tag = add(&worlds[4], "tag", COLUMN_CATEGORY, false);
    tag->ids = made.token, tag->vocabulary_size = 4;
}

/* ---- options ---- */

struct job {
    unroll_model_config spec;
    unroll_trainer_config config;
    char options[256];
};

/* A value of a field of the spec or of the configuration, or of an option; text or number. */
struct value {
    enum { SPEC, CONFIG, OPTION } of;
    size_t at;
    enum { TEXT, WHOLE, REAL, LONG } type;
    const char *name, *text;
    double number;
};

enum { VALUES = 160 };
static struct value values[VALUES];
static int value_count;

static void put(struct value value)
{
    if (value_count == VALUES)
        abort();
    values[value_count++] = value;
}
#define PUT_TEXT(OF, struct_, field, word) \
    put((struct value){.of = OF, .at = offsetof(struct_, field), .type = TEXT, .name = #field, .text = word})
#define PUT_WHOLE(OF, struct_, field, n) \
    put((struct value){.of = OF, .at = offsetof(struct_, field), .type = WHOLE, .name = #field, .number = n})
#define PUT_REAL(OF, struct_, field, n) \
    put((struct value){.of = OF, .at = offsetof(struct_, field), .type = REAL, .name = #field, .number = n})

static void list_spec_values(void)
{
    static const char *const pools[] = {"last", "mean", "max", "mean+max", "median", ""};
    static const char *const losses[] = {"none",       "",   "quantile:0.1,0.9", "quantile:0.9,0.1", "mse:0.5",
                                         "gaussian:3", "foo"};
    const char *name;
    for (int i = 0; (name = listed(UNROLL_LIST_LOSSES, i)); i++) PUT_TEXT(SPEC, unroll_model_config, loss, name);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) PUT_TEXT(SPEC, unroll_model_config, loss, losses[i]);
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) PUT_TEXT(SPEC, unroll_model_config, pool, pools[i]);
    for (int i = 0; (name = listed(UNROLL_LIST_CELLS, i)); i++) PUT_TEXT(SPEC, unroll_model_config, cell, name);
    PUT_WHOLE(SPEC, unroll_model_config, layers, 2);
    PUT_WHOLE(SPEC, unroll_model_config, bidirectional, 1);
    PUT_WHOLE(SPEC, unroll_model_config, bidirectional, 0);
    PUT_WHOLE(SPEC, unroll_model_config, projection, 2);
    PUT_WHOLE(SPEC, unroll_model_config, peephole, 1);
    PUT_WHOLE(SPEC, unroll_model_config, tied, 1);
    PUT_WHOLE(SPEC, unroll_model_config, embed, 0);
    PUT_WHOLE(SPEC, unroll_model_config, embed, 4);
    PUT_WHOLE(SPEC, unroll_model_config, output, 7);
    PUT_WHOLE(SPEC, unroll_model_config, input, 7);
    PUT_REAL(SPEC, unroll_model_config, dropout, 0.3);
    PUT_REAL(SPEC, unroll_model_config, forget_bias, 1);
    PUT_TEXT(SPEC, unroll_model_config, init, "orthogonal");
    PUT_TEXT(SPEC, unroll_model_config, init, "xavier");
}

static void list_config_values(void)
{
    static const char *const divisions[] = {"even", "length", "stratified", "c", "sc", "n", "nothing"};
    static const char *const changes[] = {"noise=0.1", "shift=4,mask=3", "noise=-1"};
    const char *name;
    for (int i = 0; (name = listed(UNROLL_LIST_OPTIMIZERS, i)); i++)
        PUT_TEXT(CONFIG, unroll_trainer_config, rates.optimizer, name);
    for (int i = 0; (name = listed(UNROLL_LIST_SCHEDULES, i)); i++)
        PUT_TEXT(CONFIG, unroll_trainer_config, schedule, name);
    for (size_t i = 0; i < sizeof divisions / sizeof *divisions; i++)
        PUT_TEXT(CONFIG, unroll_trainer_config, divide_by, divisions[i]);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        PUT_TEXT(CONFIG, unroll_trainer_config, augment, changes[i]);
    for (int n = 0; n < 3; n++) {
        PUT_WHOLE(CONFIG, unroll_trainer_config, batch, (n == 0 ? 1 : n == 1 ? 3 : 100));
        PUT_WHOLE(CONFIG, unroll_trainer_config, bptt, (n == 0 ? 0 : n == 1 ? 1 : 200));
    }
    put((struct value){CONFIG, offsetof(unroll_trainer_config, batch_tokens), LONG, "batch_tokens", NULL, 90});
    put((struct value){CONFIG, offsetof(unroll_trainer_config, batch_tokens), LONG, "batch_tokens", NULL, 99999999999});
    PUT_WHOLE(CONFIG, unroll_trainer_config, accumulate, 3);
    PUT_WHOLE(CONFIG, unroll_trainer_config, balanced_classes, 1);
    PUT_WHOLE(CONFIG, unroll_trainer_config, stateful, 0);
    PUT_REAL(CONFIG, unroll_trainer_config, label_smoothing, 0.1);
    put((struct value){CONFIG, offsetof(unroll_trainer_config, validation.count), LONG, "validation.count", NULL, 4});
    put((struct value){CONFIG, offsetof(unroll_trainer_config, test.count), LONG, "test.count", NULL, 3});
    put((struct value){CONFIG, offsetof(unroll_trainer_config, validation.count), LONG, "validation.count", NULL, 500});
}

/* Lists each option of the task: names with each column of the data, "all" and a missing one; numbers with some
 * values. */
static void list_task_options(const char *task, const unroll_dataset *data)
{
    unroll_option option = {.size = sizeof option};
    for (int i = 0; unroll_list_option(UNROLL_LIST_TASKS, task, i, &option); i++) {
        if (!option.is_text) {
            put((struct value){.of = OPTION, .name = option.name, .text = "2"});
            put((struct value){.of = OPTION, .name = option.name, .text = "0.9"});
            put((struct value){.of = OPTION, .name = option.name, .text = "29"});
            continue;
        }
        for (int c = 0; c < data->columns; c++)
            put((struct value){.of = OPTION, .name = option.name, .text = data->column[c].name});
        put((struct value){.of = OPTION, .name = option.name, .text = "all"});
        put((struct value){.of = OPTION, .name = option.name, .text = "nothing"});
        if (data->columns > 3)
            put((struct value){.of = OPTION, .name = option.name, .text = "n;flag"});
    }
}

static void set(struct job *job, const struct value *value)
{
    char *field = value->of == SPEC ? (char *)&job->spec : (char *)&job->config;
    const size_t used = strlen(job->options);
    if (value->of == OPTION) {
        snprintf(job->options + used, sizeof job->options - used, "%s%s=%s", used ? "," : "", value->name, value->text);
        return;
    }
    field += value->at;
    if (value->type == TEXT)
        memcpy(field, &value->text, sizeof value->text);
    else if (value->type == WHOLE)
        *(int *)(void *)field = (int)value->number;
    else if (value->type == LONG)
        *(int64_t *)(void *)field = (int64_t)value->number;
    else
        *(float *)(void *)field = (float)value->number;
}

/* ---- running ---- */

static char about[512]; /* description of the current case */
static int accepted, refused;

/* The sanitizer's hook: a crash prints its case. */
void __asan_on_error(void) __attribute__((visibility("default")));
void __asan_on_error(void) { fprintf(stderr, "while: %s\n", about); }

/* Checks that a refusal has a reason and a fix. */
static void refuse(unroll_status status, bool trains)
{
    const char *error = unroll_last_error();
    refused++;
    CHECK(status >= UNROLL_USAGE && status <= UNROLL_RESOURCE && strstr(error, "fix: "), "%s: %d '%s'", about,
          (int)status, error);
    CHECK(!trains, "%s: refused only while it was trained: '%s'", about, error);
}

static int take(void *arg, const char *json, const char *line)
{
    ++*(int *)arg;
    return json == NULL || line == NULL;
}

/* Evaluates the model and predicts, if it can. */
static void use(unroll_model *model, const unroll_dataset *data)
{
    unroll_evaluation evaluation = {.size = sizeof evaluation};
    int count = 0;
    char *details = NULL;
    unroll_machine machine = unroll_machine_default();
    machine.threads = 1;
    unroll_status status = unroll_model_evaluate(model, data, &machine, &evaluation, &details);
    free(details);
    if (status != UNROLL_OK)
        refuse(status, false);
    if (!unroll_model_can_predict(model))
        return;
    status = unroll_model_predict(model, data, &machine, take, &count);
    if (status != UNROLL_OK)
        refuse(status, false);
    else
        CHECK(count > 0, "%s: %d predictions", about, count);
}

/* Trains two steps and validates; a refusal during the training is a failure. */
static void train(unroll_model *model, const unroll_dataset *data, const unroll_trainer_config *config)
{
    unroll_trainer *trainer = NULL;
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation evaluation = {.size = sizeof evaluation};
    unroll_status status = unroll_trainer_new(model, data, config, &trainer);
    if (status != UNROLL_OK) {
        refuse(status, false);
        return;
    }
    for (int i = 0; i < 2 && status == UNROLL_OK; i++) status = unroll_trainer_step(trainer, &progress);
    if (status == UNROLL_OK && (config->validation.share > 0 || config->validation.count))
        status = unroll_trainer_validate(trainer, &evaluation);
    unroll_trainer_free(trainer);
    if (status != UNROLL_OK) {
        refuse(status, true);
        return;
    }
    accepted++;
    use(model, data);
}

static struct job job_of(const char *task)
{
    struct job job = {.spec = unroll_model_config_auto(), .config = unroll_trainer_config_default()};
    job.spec.hidden = 4;
    job.config.task = task;
    job.config.batch = 4;
    job.config.bptt = 8;
    job.config.validation.share = 0.3;
    job.config.machine.threads = 1;
    job.config.prefetch = 0;
    return job;
}

/* Runs a task with one or two values of its options. */
static void run(const char *task, const struct world *world, const struct value *one, const struct value *two)
{
    struct job job = job_of(task);
    unroll_model *model = NULL;
    unroll_task_defaults defaults = unroll_task_defaults_default();
    const struct value *list[] = {one, two};
    size_t used = (size_t)snprintf(about, sizeof about, "task %s, data %s", task, world->name);
    check_next_case();
    for (int i = 0; i < 2; i++) {
        if (list[i] == NULL)
            continue;
        set(&job, list[i]);
        used += (size_t)snprintf(about + used, sizeof about - used, list[i]->text ? ", %s = %s" : ", %s = %s%g",
                                 list[i]->name, list[i]->text ? list[i]->text : "", list[i]->number);
    }
    job.config.task_options = job.options;
    unroll_status status = unroll_task_configure(task, job.options, &world->data, &job.spec, &defaults);
    if (status == UNROLL_OK)
        status = unroll_model_new(&job.spec, 1, &model);
    if (status != UNROLL_OK)
        refuse(status, false);
    else
        train(model, &world->data, &job.config);
    unroll_model_free(model);
}

/* True if the pair is selected: a hash of its position, so that each run has the same. */
static bool is_drawn(int a, int b, unsigned one_in)
{
    return ((unsigned)a * 2654435761u + (unsigned)b * 40503u) % one_in == 0;
}

static bool same_field(const struct value *a, const struct value *b)
{
    return a->of == b->of && strcmp(a->name, b->name) == 0;
}

static void run_task(const char *task, const struct world *world, unsigned one_in)
{
    value_count = 0;
    list_spec_values();
    list_config_values();
    list_task_options(task, &world->data);
    const int before = accepted;
    run(task, world, NULL, NULL);
    for (int i = 0; i < value_count; i++) run(task, world, &values[i], NULL);
    if (accepted == before)
        return; /* not applicable to these data */
    for (int i = 0; i < value_count; i++)
        for (int k = i + 1; k < value_count; k++)
            if (!same_field(&values[i], &values[k]) && is_drawn(i, k, one_in))
                run(task, world, &values[i], &values[k]);
}

/* ---- models of other tasks ---- */

/* Simulates a program that builds the network by hand: a network for one task, with any loss, pool and direction, is
 * given to the trainer of another. */
static void give(const char *from, const char *to, const struct world *world, const char *loss, int how)
{
    struct job job = job_of(from), other = job_of(to);
    unroll_model *model = NULL;
    snprintf(about, sizeof about, "network of %s with loss %s (%d) for %s, data %s", from, loss, how, to, world->name);
    check_next_case();
    if (unroll_task_configure(from, "", &world->data, &job.spec, NULL) != UNROLL_OK)
        return;
    job.spec.loss = loss ? loss : job.spec.loss;
    job.spec.pool = how == 1 ? "last" : how == 2 ? NULL : job.spec.pool;
    job.spec.bidirectional = how == 3;
    job.spec.output += how == 4;
    if (unroll_model_new(&job.spec, 1, &model) != UNROLL_OK)
        return;
    train(model, &world->data, &other.config);
    unroll_model_free(model);
}

static void exchange_models(const struct world *world)
{
    const char *from, *to, *loss;
    for (int i = 0; (from = listed(UNROLL_LIST_TASKS, i)); i++)
        for (int k = 0; (to = listed(UNROLL_LIST_TASKS, k)); k++)
            for (int how = 0; how < 5; how++) {
                give(from, to, world, NULL, how);
                for (int l = 0; (loss = listed(UNROLL_LIST_LOSSES, l)); l++) give(from, to, world, loss, how);
            }
}

int main(int count, char **words)
{
    const unsigned one_in = count > 1 ? (unsigned)atoi(words[1]) : 64;
    const char *task;
    unroll_option option = {.size = sizeof option};
    CHECK(!unroll_list_option(UNROLL_LIST_TASKS, "forecast", INT_MIN, &option) &&
              !unroll_list_option(UNROLL_LIST_READERS, "csv", INT_MIN, &option) &&
              unroll_list_option(UNROLL_LIST_TASKS, "forecast", 0, &option),
          "options by their numbers");
    make_worlds();
    for (int w = 0; w < WORLDS; w++)
        for (int i = 0; (task = listed(UNROLL_LIST_TASKS, i)); i++) run_task(task, &worlds[w], one_in);
    CHECK(accepted > 1000 && refused > 1000, "%d accepted, %d refused", accepted, refused);
    for (int w = 0; w < WORLDS; w++) exchange_models(&worlds[w]);
    printf("%d accepted, %d refused\n", accepted, refused);
    return check_finish("accepts");
}
