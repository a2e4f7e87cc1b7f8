/* The task recommend: sessions from a table and from lines, which of them are held out, recall and reciprocal ranks
 * compared with hand calculations, a Markov chain with a known optimum, predictions, refusals. */
/* test: seconds=5 */
#include <stdlib.h>

#include "base/memory.h"
#include "tasks/made_series.h"
#include "tasks/schema.h"
#include "tasks/task_table.h"

enum { ITEMS = 12, NEXT = 3 };

static struct made made; /* too large for the stack */
static char names[ITEMS][8];
static const char *name[ITEMS], *user[MADE_STEPS];
static char users[MADE_STEPS][8];
static size_t begin[MADE_STEPS + 1];
static int32_t session[MADE_STEPS];

/* Sessions of `length` items: item i is followed by 2i + 1, 2i + 2 or 2i + 3 with probabilities .6, .3, .1. */
static void make_chain(size_t sessions, size_t length)
{
    static const int step[10] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 3};
    uint64_t state = 9;
    made_begin(&made, sessions * length);
    struct column *item = made_column(&made, "item", COLUMN_CATEGORY);
    struct column *group = made_column(&made, "user", COLUMN_CATEGORY);
    item->vocabulary = name, item->vocabulary_size = ITEMS;
    group->ids = session, group->vocabulary = user, group->vocabulary_size = (int)sessions;
    made.data.group = 1;
    made.data.sequences = sessions;
    made.data.begin = begin;
    for (int i = 0; i < ITEMS; i++) snprintf(names[i], sizeof names[i], "i%d", i), name[i] = names[i];
    for (size_t s = 0; s < sessions; s++) {
        int32_t at = (int32_t)(s % ITEMS);
        snprintf(users[s], sizeof users[s], "u%d", (int)s), user[s] = users[s];
        begin[s] = s * length;
        for (size_t t = 0; t < length; t++, at = (2 * at + step[(int)(5 * (made_noise(&state) + 1)) % 10]) % ITEMS) {
            made.id[s * length + t] = at;
            session[s * length + t] = (int32_t)s;
        }
    }
    begin[sessions] = sessions * length;
}

static struct part *open_part(const struct task_request *request, enum part_of which)
{
    struct part *part = NULL;
    if (!MUST(task_recommend.open(request, which, &part)) || part == NULL)
        abort();
    return part;
}

static unroll_model *new_model(const char *options)
{
    unroll_model_config spec = unroll_model_config_auto();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    unroll_model *model;
    spec.hidden = 16;
    MUST(unroll_task_configure("recommend", options, &made.data, &spec, &defaults));
    MUST(unroll_model_new(&spec, 1, &model));
    return model;
}

/* ---- hand calculations ---- */

/* Outputs that decrease with the item's number: the rank of an item is its number + 1. */
static void check_metrics(void)
{
    enum { LENGTH = 5, MANY = 64 * 64 };
    unroll_evaluation e = {.size = sizeof e};
    int32_t tokens[MANY], classes[MANY], lengths[64];
    struct task_batch batch = {.tokens = tokens, .classes = classes, .lengths = lengths};
    make_chain(10, LENGTH);
    unroll_model *model = new_model("k=3");
    struct task_request request = {
        .data = &made.data, .validation.count = 2, .rows = 4, .ranks = 1, .options = "k=3", .model = model};
    MUST(schema_fit(model, &task_recommend, &request));
    struct part *part = open_part(&request, PART_VALIDATION);
    CHECK(part->examples == 8 && part->batches == 1, "%zu items of the last two sessions are predicted",
          part->examples);
    part->fill(part, 0, 0, &batch);
    int rows = part->shape->rows;
    CHECK(lengths[0] == 4 && tokens[0] == made.id[40] && classes[0] == made.id[41] && tokens[1] == made.id[45] &&
              classes[3 * rows + 1] == made.id[49],
          "sessions 9 and 10");
    float *z = allocate_zeroed((size_t)(part->shape->steps * rows) * ITEMS, sizeof *z);
    for (int i = 0; i < part->shape->steps * rows * ITEMS; i++) z[i] = (float)-(i % ITEMS);
    task_recommend.observe(part, 0, &batch, z);
    task_recommend.score(part, 2, true, &e);
    double found = 0, reciprocal = 0, popular = 0;
    size_t count[ITEMS] = {0};
    for (int i = 0; i < 40; i++) count[made.id[i]]++;
    for (int i = 41; i < 50; i++) {
        size_t before = 0; /* items that are more frequent, or equally frequent with a smaller number */
        if (i == 45)
            continue;
        found += made.id[i] < 3;
        reciprocal += made.id[i] < 3 ? 1.0 / (made.id[i] + 1) : 0;
        for (int32_t k = 0; k < ITEMS; k++)
            before += count[k] > count[made.id[i]] || (count[k] == count[made.id[i]] && k < made.id[i]);
        popular += before < 3;
    }
    CHECK(strcmp(e.metric[0].name, "recall@3") == 0 && fabs(e.metric[0].value - found / 8) < 1e-9, "%s %g, not %g",
          e.metric[0].name, e.metric[0].value, found / 8);
    CHECK(fabs(e.metric[1].value - reciprocal / 8) < 1e-9, "mrr %g, not %g", e.metric[1].value, reciprocal / 8);
    CHECK(e.higher && fabs(e.floor - popular / 8) < 1e-9, "floor %g, not %g", e.floor, popular / 8);
    release(z);
    part_free(part);
    unroll_model_free(model);
}

/* A session of 150 items is read in pieces; each item except the first is predicted once. */
static void check_pieces(void)
{
    enum { MANY = 64 * 64 };
    static int32_t tokens[MANY], classes[MANY], lengths[64];
    struct task_batch batch = {.tokens = tokens, .classes = classes, .lengths = lengths};
    make_chain(2, 150);
    unroll_model *model = new_model(NULL);
    struct task_request request = {.data = &made.data, .rows = 4, .ranks = 1, .model = model};
    MUST(schema_fit(model, &task_recommend, &request));
    for (int training = 0; training < 2; training++) {
        struct part *part = open_part(&request, training ? PART_TRAINING : PART_ALL);
        int64_t counted = 0;
        for (int64_t number = 0; number < part->batches; number++) {
            part->fill(part, 0, number, &batch);
            counted += batch.items;
        }
        CHECK(part->examples == 298 && counted == 298 && part->shape->steps <= 64, "%zu, %d in batches of %d steps",
              part->examples, (int)counted, part->shape->steps);
        part_free(part);
    }
    unroll_model_free(model);
}

/* ---- a chain ---- */

static int take(void *arg, const char *json, const char *line)
{
    char *text = arg;
    CHECK(strstr(json, "\"probability\":") != NULL, "%s", json);
    snprintf(text + strlen(text), 4096 - strlen(text), "%s\n", line);
    return 0;
}

static void check_chain(void)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation e = {.size = sizeof e};
    unroll_trainer *trainer;
    static char text[4096];
    make_chain(200, 20);
    unroll_model *model = new_model("k=2");
    config.task = "recommend";
    config.task_options = "k=2";
    config.batch = 16;
    config.bptt = 0;
    config.rates.learning_rate = 0.02;
    config.total_steps = 200;
    config.machine.threads = 1;
    if (!MUST(unroll_trainer_new(model, &made.data, &config, &trainer)))
        abort();
    for (int i = 0; i < 200; i++) MUST(unroll_trainer_step(trainer, &progress));
    MUST(unroll_trainer_validate(trainer, &e));
    unroll_trainer_free(trainer);
    CHECK(e.metric[0].value > 0.87 && e.metric[0].value < 0.93, "recall@2 %g, the optimum is .9", e.metric[0].value);
    CHECK(fabs(e.metric[1].value - 0.75) < 0.06, "mrr@2 %g, the optimum is .75", e.metric[1].value);
    CHECK(e.floor < 0.5, "popularity %g", e.floor);
    make_chain(3, 4);
    MUST(unroll_model_predict(model, &made.data, NULL, take, text));
    char expected[64];
    snprintf(expected, sizeof expected, "u0\ti%d i%d\n", (2 * made.id[3] + 1) % ITEMS, (2 * made.id[3] + 2) % ITEMS);
    CHECK(strncmp(text, expected, strlen(expected)) == 0 && strstr(text, "\nu2\ti"), "'%s' begins with '%s'", text,
          expected);
    unroll_model_free(model);
}

/* ---- lines of items ---- */

static void check_lines(void)
{
    static const char *words[] = {"<unk>", "\n", "milk", "bread"};
    static const int32_t text[] = {2, 3, 2, 1, 3, 1, 2, 3};
    enum { MANY = 64 * 64 };
    static int32_t tokens[MANY], classes[MANY], lengths[64];
    struct task_batch batch = {.tokens = tokens, .classes = classes, .lengths = lengths};
    made_begin(&made, 8);
    struct column *column = made_column(&made, "text", COLUMN_TOKENS);
    memcpy(made.id, text, sizeof text);
    column->ids = made.id, column->id_bytes = 4, column->vocabulary = words, column->vocabulary_size = 4;
    column->kind = CUT_BLANKS;
    unroll_model *model = new_model(NULL);
    struct task_request request = {.data = &made.data, .rows = 4, .ranks = 1, .model = model};
    MUST(schema_fit(model, &task_recommend, &request));
    struct part *part = open_part(&request, PART_ALL);
    part->fill(part, 0, 0, &batch);
    CHECK(part->examples == 3 && lengths[0] == 2 && lengths[1] == 1,
          "%zu items of the lines milk bread milk, bread, milk "
          "bread are predicted",
          part->examples);
    part_free(part);
    part = open_part(&request, PART_PREDICTED);
    part->fill(part, 0, 0, &batch);
    CHECK(lengths[0] == 3 && lengths[1] == 1 && lengths[2] == 2, "all of a line is read");
    part_free(part);
    unroll_model_free(model);
}

static void refuse(const char *options, unroll_status status, const char *part)
{
    unroll_model_config spec = unroll_model_config_auto();
    unroll_task_defaults defaults = unroll_task_defaults_default();
    CHECK_REFUSED(unroll_task_configure("recommend", options, &made.data, &spec, &defaults), status, part);
}

static void check_refusals(void)
{
    make_chain(4, 5);
    made_numbers(&made, "price");
    refuse("item=thing", UNROLL_USAGE, "'made.csv' has no column 'thing'; fix: use one of item");
    refuse("item=price", UNROLL_DATA, "an item at each step, a category, and the column 'price' has none");
    refuse("item=user", UNROLL_DATA, "the column 'user' already divides the rows");
    refuse("k=0", UNROLL_USAGE, "k");
    made.column[0].type = COLUMN_TIME;
    refuse(NULL, UNROLL_DATA, "'made.csv' has no clear column of items; fix: name it");
    make_chain(4, 1);
    unroll_model *model = new_model(NULL);
    struct task_request request = {.data = &made.data, .rows = 4, .ranks = 1, .model = model};
    struct part *part = NULL;
    MUST(schema_fit(model, &task_recommend, &request));
    CHECK_REFUSED(
        task_recommend.open(&request, PART_ALL, &part), UNROLL_DATA,
        "'made.csv': no session has two items that are known, so there is nothing to predict; fix: use longer");
    unroll_model_free(model);
}

int main(void)
{
    check_metrics();
    check_pieces();
    check_chain();
    check_lines();
    check_refusals();
    return check_finish("recommend");
}
