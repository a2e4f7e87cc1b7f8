/* The task recommend: predicts the next item of a session from the items before it (Hidasi et al., "Session-based
 * Recommendations with Recurrent Neural Networks", 2016). Sessions are the sequences of a data set, or the lines of a
 * text of items separated by spaces. The last sessions are held out, because they are the most recent ones in such
 * files. Metrics: how often the next item is among the first K (recall), and its reciprocal rank if it is (MRR). The
 * floor recommends the K most frequent items of the training part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "nn/losses/loss.h"
#include "model/model.h"
#include "tasks/answer_text.h"
#include "tasks/examples/examples.h"
#include "tasks/schema.h"
#include "tasks/scores.h"
#include "tasks/task_table.h"

/* Longer sessions are cut into pieces. In an evaluation, each piece but the first begins with CONTEXT items that are
 * read but not counted. */
enum { LONGEST = 64, CONTEXT = 32, MAX_K = 1000, MAX_RESULTS = 1 << 25, MAX_ONE_HOT = 20000 };

struct options {
    char item[COLUMN_NAME];
    double k;
};

static const struct key recommend_keys[] = {{.name = "item",
                                             .text = COLUMN_NAME,
                                             .offset = offsetof(struct options, item),
                                             .about = "column of items; default: the only candidate"},
                                            {.name = "k",
                                             .min = 1,
                                             .max = MAX_K,
                                             .offset = offsetof(struct options, k),
                                             .about = "number of recommended items, also for recall; default 20"},
                                            {0}};

static const struct accepts recommend_accepts[] = {{.losses = "xent ", .unused = "stateful bptt "}, {0}};
static const struct accepts_column recommend_columns[] = {{.option = "item",
                                                           .kinds = STEP_CATEGORY | STEP_TOKENS,
                                                           .what = "an item at each step, a category",
                                                           .type = "category"},
                                                          {0}};

/* Concatenated items of the sessions, without missing or unknown ones. */
struct sessions {
    const unroll_dataset *data;
    const struct column *items;
    int32_t *item;
    size_t *begin, *sequence; /* [count + 1], [count] of the data */
    size_t count;
};

struct session_piece {
    size_t session, first, skipped; /* its first item, among all; pairs that are not counted */
    int pairs;                      /* 0: a session to predict without an item */
};

enum { SHOWN = 8 }; /* sessions in the details */

struct recommend {
    struct part part;
    struct batches batches;
    struct sessions sessions;
    struct session_piece *piece;
    size_t pieces;
    int k;
    int32_t *popular; /* [k] */
    int popular_count;
    double floor;
    int64_t counted, found; /* of the observed pairs */
    double reciprocal;
    json_t *shown; /* of the first sessions: what was recommended last */
};

/* ---- items ---- */

static bool is_listed(const unroll_dataset *data, const struct column *column)
{
    bool divides = data->group >= 0 && column == &data->column[data->group];
    return !divides && !column->of_sequence && column->begin == NULL &&
           (column->type == COLUMN_CATEGORY || column->type == COLUMN_TOKENS);
}

/* Finds the column of the items: the named one, the only candidate, or one with a usual name such as "item". */
static const struct column *items_of(const unroll_dataset *data, const char *name)
{
    static const char *const usual[] = {"item",       "item_id", "itemid",   "product",
                                        "product_id", "movie",   "movie_id", "sku"};
    const struct column *only = NULL;
    int count = 0;
    if (name && *name)
        return dataset_named(data, name);
    for (int i = 0; i < data->columns; i++)
        if (is_listed(data, &data->column[i]))
            only = &data->column[i], count++;
    for (size_t u = 0; count > 1 && u < sizeof usual / sizeof *usual; u++)
        for (int i = 0; i < data->columns; i++)
            if (is_listed(data, &data->column[i]) && strcasecmp(data->column[i].name, usual[u]) == 0)
                return &data->column[i];
    return count == 1 ? only : NULL;
}

static unroll_status choose_items(const unroll_dataset *data, const char *name, const struct column **items)
{
    *items = items_of(data, name);
    if (*items == NULL && name && *name)
        return fail(UNROLL_DATA, "'%s' has no column '%s', which the model reads; fix: add it", data->name, name);
    if (*items == NULL)
        return fail(
            UNROLL_DATA,
            "'%s' has no clear column of items; fix: name it (`item` NAME), and read numbers as categories (`columns` "
            "NAME=category)",
            data->name);
    if (!is_listed(data, *items))
        return fail(
            UNROLL_DATA,
            "column '%s' of '%s' has no items, a category in each row; fix: read it as one (columns=%s=category)",
            (*items)->name, data->name, (*items)->name);
    return UNROLL_OK;
}

static int suits_recommend(const unroll_dataset *data, char why[TASK_WHY])
{
    const struct column *items = items_of(data, NULL);
    bool sessions = data->group >= 0 && data->rows_are_steps && items && items->type == COLUMN_CATEGORY;
    if (sessions)
        snprintf(why, TASK_WHY, "items in '%s', sessions in '%s'", items->name, data->column[data->group].name);
    return sessions && dataset_column(data, COLUMN_NUMBERS, NULL) == NULL ? SUITS_USUALLY : 0;
}

static const char *recommend_item(const unroll_dataset *data)
{
    (void)data;
    return "items";
}

/* Finds the token that ends a session: the line end, for the lines of a single text. */
static int32_t separator_of(const unroll_dataset *data, const struct column *items)
{
    for (int i = 0; data->sequences == 1 && items->type == COLUMN_TOKENS && i < items->vocabulary_size; i++)
        if (strcmp(items->vocabulary[i], "\n") == 0)
            return i;
    return -1;
}

static void end_sessions(struct sessions *s)
{
    release(s->item);
    release(s->begin);
    release(s->sequence);
}

/* Divides the items into sessions, at the separator or by sequence; skips missing and unknown items. */
static unroll_status find_sessions(const unroll_dataset *data, const struct column *items, struct sessions *s)
{
    int32_t separator = separator_of(data, items);
    size_t most = separator < 0 ? data->sequences : data->steps + 1, at = 0;
    *s = (struct sessions){.data = data, .items = items};
    TRY(ALLOCATE(s->item, data->steps, "for %zu items", data->steps));
    TRY(ALLOCATE(s->begin, most + 1, "for %zu sessions", most));
    TRY(ALLOCATE(s->sequence, most, "for %zu sessions", most));
    for (size_t sequence = 0; sequence < data->sequences; sequence++) {
        bool open = separator < 0 || data->begin[sequence + 1] > data->begin[sequence];
        for (size_t i = data->begin[sequence]; i < data->begin[sequence + 1]; i++) {
            int32_t id = column_id(items, i);
            open = true;
            if (id == separator && separator >= 0) {
                s->sequence[s->count] = sequence;
                s->begin[++s->count] = at;
                open = false;
            } else if (id >= 0) {
                s->item[at++] = id;
            }
        }
        if (open) {
            s->sequence[s->count] = sequence;
            s->begin[++s->count] = at;
        }
    }
    return UNROLL_OK;
}

/* Returns the sessions of a part: training | validation | test in the order of the file. */
static struct step_range sessions_of(const struct task_request *request, enum part_of which, size_t count)
{
    const unroll_held_out *held[] = {&request->test, &request->validation};
    size_t left = count, steps[2] = {0};
    for (int i = 0; i < 2; i++) {
        size_t share = (size_t)ceil(held[i]->share * (double)count);
        size_t wanted = held[i]->data ? 0 : held[i]->count > 0 ? (size_t)held[i]->count : share;
        steps[i] = wanted < left ? wanted : left;
        left -= steps[i];
    }
    if (which == PART_TRAINING)
        return (struct step_range){0, left};
    if (which == PART_VALIDATION && held[1]->data == NULL)
        return (struct step_range){left, left + steps[1]};
    if (which == PART_TEST && held[0]->data == NULL)
        return (struct step_range){left + steps[1], count};
    return (struct step_range){0, count};
}

/* ---- network, schema ---- */

/* Sets the network: its tokens are the items, and it has one output per item. */
static unroll_status recommend_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                       unroll_task_defaults *defaults)
{
    static const unroll_model_config standard = {.cell = "gru", .layers = 1, .hidden = 100};
    struct options read = {.k = 20};
    const struct column *items;
    TRY(key_values_read(options, "the task recommend", recommend_keys, &read));
    TRY(choose_items(data, read.item, &items));
    spec_settle(spec, &standard);
    TRY(accepts_spec(&task_recommend, recommend_accepts, spec));
    spec->tokens = 1;
    spec->input = spec->output = items->vocabulary_size;
    if (spec->embed == UNROLL_AUTO)
        spec->embed = spec->tied || items->vocabulary_size > MAX_ONE_HOT ? spec->hidden : 0;
    *defaults = unroll_task_defaults_default();
    defaults->bptt = 0;
    defaults->learning_rate = 8e-3;
    defaults->patience = 3;
    return UNROLL_OK;
}

struct frequency {
    double count;
    int32_t item;
};

static int more_frequent(const void *a, const void *b)
{
    const struct frequency *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : (x->item > y->item) - (x->item < y->item);
}

/* Finds the names of the k most frequent items of some sessions, or fewer if fewer exist. */
static unroll_status find_popular(const struct sessions *s, struct step_range of, int k, json_t *names)
{
    struct frequency *frequency;
    int items = s->items->vocabulary_size;
    TRY(ALLOCATE(frequency, (size_t)items, "to count %d items", items));
    for (int i = 0; i < items; i++) frequency[i].item = i;
    for (size_t i = s->begin[of.from]; i < s->begin[of.to]; i++) frequency[s->item[i]].count++;
    qsort(frequency, (size_t)items, sizeof *frequency, more_frequent);
    for (int i = 0; i < k && i < items && frequency[i].count > 0; i++)
        json_array_append_new(names, json_string(s->items->vocabulary[frequency[i].item]));
    release(frequency);
    return UNROLL_OK;
}

static unroll_status recommend_fit(const struct task_request *request, json_t **schema)
{
    struct options read = {.k = 20};
    const struct column *items;
    struct sessions sessions;
    TRY(key_values_read(request->options, "the task recommend", recommend_keys, &read));
    TRY(choose_items(request->data, read.item, &items));
    json_t *names = json_array();
    unroll_status status = find_sessions(request->data, items, &sessions);
    if (status == UNROLL_OK)
        status = find_popular(&sessions, sessions_of(request, PART_TRAINING, sessions.count), (int)read.k, names);
    end_sessions(&sessions);
    if (status == UNROLL_OK)
        *schema = json_pack("{s:s, s:i, s:O}", "item", items->name, "k", (int)read.k, "popular", names);
    json_decref(names);
    return status != UNROLL_OK || *schema ? status : fail(UNROLL_RESOURCE, "no memory for a schema");
}

static unroll_status recommend_check(const unroll_model *model, const unroll_dataset *data)
{
    (void)data; /* recommend_open looks for its column */
    if (!model->tokens || unroll_model_outputs(model) != model->input)
        return fail(UNROLL_USAGE, "the model does not predict items; fix: set tokens = 1, output = input, loss = xent");
    return UNROLL_OK;
}

/* ---- batches ---- */

/* Fills a batch with pieces of sessions; each item predicts the next one. */
static void fill_recommend(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    enum { NOT_COUNTED = -1, ANY = 0 };
    const struct recommend *r = (const struct recommend *)part;
    const struct batch_place place = batches_place(&r->batches, part, epoch, number);
    const int rows = place.rows;
    batch->begins = true;
    batch->items = 0;
    for (int row = 0; row < rows; row++) {
        int64_t item = batches_item(&r->batches, &place, row);
        const struct session_piece *piece = item < 0 ? NULL : &r->piece[item];
        batch->lengths[row] = piece ? (piece->pairs ? piece->pairs : 1) : 0;
        for (int t = 0; t < batch->lengths[row]; t++) {
            size_t at = (size_t)(t * rows + row), from = piece->first + (size_t)t;
            size_t end = r->sessions.begin[piece->session + 1];
            bool counts = (size_t)t >= piece->skipped && from + 1 < end;
            batch->tokens[at] = from < end ? r->sessions.item[from] : ANY;
            batch->classes[at] = counts ? r->sessions.item[from + 1] : NOT_COUNTED;
            batch->items += counts;
        }
    }
}

static int recommend_shape_of(const struct part *part, int64_t epoch, int64_t number)
{
    return batches_place(&((const struct recommend *)part)->batches, part, epoch, number).shape;
}

static void recommend_end(struct part *part)
{
    struct recommend *r = (struct recommend *)part;
    batches_end(&r->batches);
    end_sessions(&r->sessions);
    release(r->piece);
    release(r->popular);
    json_decref(r->shown);
}

/* Cuts a session into pieces: for prediction only the last items, otherwise all pairs. */
static void cut_session(struct recommend *r, size_t session, enum part_of which)
{
    size_t first = r->sessions.begin[session], items = r->sessions.begin[session + 1] - first, at = 0;
    if (which == PART_PREDICTED) {
        size_t read = items < LONGEST ? items : LONGEST;
        r->piece[r->pieces++] = (struct session_piece){session, first + items - read, 0, (int)read};
        return;
    }
    while (at + 1 < items) {
        size_t context = at && which != PART_TRAINING ? CONTEXT : 0, from = at - context;
        size_t pairs = items - 1 - from < LONGEST ? items - 1 - from : LONGEST;
        r->piece[r->pieces++] = (struct session_piece){session, first + from, context, (int)pairs};
        r->part.examples += pairs - context;
        at = from + pairs;
    }
}

static unroll_status cut_pieces(struct recommend *r, struct step_range of, enum part_of which)
{
    size_t items = r->sessions.begin[of.to] - r->sessions.begin[of.from], most = items / CONTEXT + of.to - of.from;
    TRY(ALLOCATE(r->piece, most + 1, "for %zu pieces of sessions", most));
    for (size_t i = of.from; i < of.to; i++) cut_session(r, i, which);
    if (r->pieces == 0)
        return fail(
            UNROLL_DATA,
            "'%s': no session has two items that are known, so there is nothing to predict; fix: use longer sessions, or "
            "`group`: the column of the sessions",
            r->sessions.data->name);
    return UNROLL_OK;
}

/* Plans the batches of the pieces; those of an evaluation have fewer rows for a large vocabulary. */
static unroll_status plan_batches(const struct task_request *request, enum part_of which, struct recommend *r)
{
    struct task_request sized = *request;
    int32_t *lengths;
    TRY(ALLOCATE(lengths, r->pieces, "for the lengths of %zu sessions", r->pieces));
    for (size_t i = 0; i < r->pieces; i++) lengths[i] = r->piece[i].pairs ? r->piece[i].pairs : 1;
    sized.steps = 0;
    unroll_status status = batches_plan(&sized, which, lengths, 0, r->pieces, &r->batches, &r->part);
    release(lengths);
    TRY(status);
    r->part.lengths = true;
    r->part.shape_of = recommend_shape_of;
    r->part.items = r->part.examples;
    int64_t results = (int64_t)r->part.shape->steps * r->sessions.items->vocabulary_size, ranks = request->ranks;
    int64_t rows = MAX_RESULTS / results / (ranks > 1 ? ranks : 1) * (ranks > 1 ? ranks : 1);
    if (which == PART_TRAINING || r->part.shape->rows <= rows)
        return UNROLL_OK;
    r->part.shape->rows = rows > 0 ? (int)rows : ranks > 1 ? (int)ranks : 1;
    r->part.batches = (int64_t)(r->pieces + (size_t)r->part.shape->rows - 1) / r->part.shape->rows;
    return UNROLL_OK;
}

/* ---- opening ---- */

static int32_t id_of(const struct column *items, const char *name)
{
    for (int i = 0; name && i < items->vocabulary_size; i++)
        if (strcmp(items->vocabulary[i], name) == 0)
            return i;
    return -1;
}

/* Reads k and the popular items from the schema, and checks the number of items. */
static unroll_status read_schema(const struct task_request *request, const unroll_dataset *data, struct recommend *r)
{
    json_t *json, *popular;
    const struct column *items;
    TRY(schema_task(request->model, &json));
    unroll_status status = choose_items(data, json_string_value(json_object_get(json, "item")), &items);
    int64_t k = 0;
    if (status == UNROLL_OK)
        status = json_field_integer(json, "the model's schema", "k", 1, INT32_MAX, &k);
    r->k = (int)k;
    popular = json_object_get(json, "popular");
    if (status == UNROLL_OK && items->vocabulary_size != request->model->input)
        status = fail(UNROLL_DATA, "the model has %d items and '%s' %d; fix: open the data with the model",
                      request->model->input, data->name, items->vocabulary_size);
    if (status == UNROLL_OK)
        status = ALLOCATE(r->popular, json_array_size(popular) + 1, "for popular items");
    for (size_t i = 0; status == UNROLL_OK && i < json_array_size(popular); i++)
        r->popular[r->popular_count++] = id_of(items, json_string_value(json_array_get(popular, i)));
    json_decref(json);
    return status == UNROLL_OK ? find_sessions(data, items, &r->sessions) : status;
}

/* Computes how often the next item is a popular one. */
static unroll_status find_floor(struct recommend *r)
{
    double found = 0;
    bool *popular;
    TRY(ALLOCATE(popular, (size_t)r->sessions.items->vocabulary_size, "for popular items"));
    for (int i = 0; i < r->popular_count; i++)
        if (r->popular[i] >= 0)
            popular[r->popular[i]] = true;
    for (size_t i = 0; i < r->pieces; i++)
        for (size_t t = r->piece[i].skipped; t < (size_t)r->piece[i].pairs; t++)
            found += popular[r->sessions.item[r->piece[i].first + t + 1]];
    release(popular);
    r->floor = found / (double)r->part.examples;
    return UNROLL_OK;
}

static unroll_status fill_in(const struct task_request *request, enum part_of which, struct recommend *r)
{
    const unroll_held_out *held = which == PART_TEST ? &request->test : &request->validation;
    bool is_held = which == PART_TEST || which == PART_VALIDATION;
    TRY(read_schema(request, is_held && held->data ? held->data : request->data, r));
    TRY(cut_pieces(r, sessions_of(request, which, r->sessions.count), which));
    TRY(plan_batches(request, which, r));
    return which == PART_TRAINING || which == PART_PREDICTED ? UNROLL_OK : find_floor(r);
}

static unroll_status recommend_open(const struct task_request *request, enum part_of which, struct part **part)
{
    const unroll_held_out *held = which == PART_TEST ? &request->test : &request->validation;
    struct recommend *r;
    if ((which == PART_TEST || which == PART_VALIDATION) && !is_held_out(held))
        return UNROLL_OK;
    TRY(ALLOCATE(r, 1, "for a part of sessions"));
    r->part.fill = fill_recommend;
    r->part.end = recommend_end;
    unroll_status status = fill_in(request, which, r);
    if (status != UNROLL_OK) {
        part_free(&r->part);
        return status;
    }
    *part = &r->part;
    return UNROLL_OK;
}

/* ---- answers ---- */

/* Takes the index of the largest result that is not taken yet. */
static int take_largest(const float *results, int count, bool *taken)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (!taken[i] && (best < 0 || results[i] > results[best]))
            best = i;
    taken[best] = true;
    return best;
}

static json_t *add_item(const struct recommend *r, json_t *items, int32_t item, double probability)
{
    if (item >= 0)
        json_array_append_new(
            items, json_pack("{s:s, s:f}", "item", r->sessions.items->vocabulary[item], "probability", probability));
    return items;
}

/* Adds the items of an answer; a session without a known item gets the popular ones, without probabilities. */
static unroll_status add_items(const struct recommend *r, const struct session_piece *piece, const float *results,
                               json_t *items)
{
    int count = r->sessions.items->vocabulary_size;
    double *probability;
    bool *taken;
    for (int i = 0; piece->pairs == 0 && i < r->popular_count; i++) add_item(r, items, r->popular[i], 0);
    if (piece->pairs == 0)
        return UNROLL_OK;
    TRY(ALLOCATE(probability, (size_t)count, "for %d items", count));
    unroll_status status = ALLOCATE(taken, (size_t)count, "for %d items", count);
    if (status == UNROLL_OK) {
        int32_t separator = separator_of(r->sessions.data, r->sessions.items);
        softmax_of(results, count, probability);
        if (separator >= 0)
            taken[separator] = true;
        for (int i = 0; i < r->k && i < count - (separator >= 0); i++) {
            int item = take_largest(results, count, taken);
            add_item(r, items, item, probability[item]);
        }
    }
    release(taken);
    release(probability);
    return status;
}

/* Answers the sessions of a batch with the k best items and their probabilities. */
static unroll_status recommend_answer(struct part *part, int64_t number, const struct task_batch *batch,
                                      const float *results, answer_taker *take, void *arg)
{
    struct recommend *r = (struct recommend *)part;
    const unroll_dataset *data = r->sessions.data;
    const struct batch_place place = batches_place(&r->batches, part, 0, number);
    const int rows = place.rows;
    for (int row = 0; row < rows; row++) {
        int64_t at = batches_item(&r->batches, &place, row);
        if (at < 0)
            continue;
        const struct session_piece *piece = &r->piece[at];
        size_t last = (size_t)(batch->lengths[row] - 1) * (size_t)rows + (size_t)row;
        json_t *answer = json_pack("{s:i, s:[]}", "session", (int)piece->session + 1, "items");
        if (answer && data->group >= 0) {
            int32_t id = category_of(data, &data->column[data->group], r->sessions.sequence[piece->session]);
            json_object_set_new(answer, "group_name", json_string(data->column[data->group].name));
            json_object_set_new(answer, "group", json_string(id < 0 ? "" : data->column[data->group].vocabulary[id]));
        }
        const size_t sequence = r->sessions.sequence[piece->session];
        answer_keep(answer, data, sequence, data->begin[sequence + 1] - 1); /* of the last row */
        unroll_status status = answer ? add_items(r, piece, results + last * (size_t)r->sessions.items->vocabulary_size,
                                                  json_object_get(answer, "items"))
                                      : fail(UNROLL_RESOURCE, "no memory for an answer");
        if (status == UNROLL_OK)
            status = take(arg, answer);
        json_decref(answer);
        TRY(status);
    }
    return UNROLL_OK;
}

/* Prints "anna\tmilk bread butter": the group or the number of the session, then the items, the best first. */
static void recommend_line(const json_t *answer, FILE *to)
{
    const json_t *group = json_object_get(answer, "group"), *items = json_object_get(answer, "items");
    if (group)
        fprintf(to, "%s\t", json_string_value(group));
    else
        fprintf(to, "%lld\t", (long long)json_integer_value(json_object_get(answer, "session")));
    for (size_t i = 0; i < json_array_size(items); i++)
        fprintf(to, "%s%s", i ? " " : "", json_string_value(json_object_get(json_array_get(items, i), "item")));
    fputc('\n', to);
}

/* ---- metrics ---- */

/* Returns the rank of an item among the results, from 1 on; equal results precede it. */
static int rank_of(const float *results, int count, int32_t item)
{
    int rank = 0;
    for (int i = 0; i < count; i++) rank += results[i] >= results[item];
    return rank;
}

/* Keeps what is recommended after a pair t of a session, with its probabilities and the true next item. */
static void show_pair(const struct recommend *r, const struct session_piece *piece, size_t t, const float *results,
                      int32_t truth)
{
    enum { PAST = 4 };
    const struct sessions *s = &r->sessions;
    const unroll_dataset *data = s->data;
    char name[24];
    json_t *past = json_array(), *items = json_array();
    snprintf(name, sizeof name, "%zu", piece->session + 1);
    for (size_t i = t < PAST ? 0 : t - PAST + 1; i <= t; i++)
        json_array_append_new(past, json_string(s->items->vocabulary[s->item[piece->first + i]]));
    if (add_items(r, piece, results, items) == UNROLL_OK)
        json_array_append_new(r->shown,
                              json_pack("{s:s, s:O, s:s, s:O}", "session",
                                        data->group >= 0 ? dataset_group(data, s->sequence[piece->session]) : name,
                                        "past", past, "truth", s->items->vocabulary[truth], "items", items));
    json_decref(past);
    json_decref(items);
}

static json_t *recommend_details(const struct part *part)
{
    const struct recommend *r = (const struct recommend *)part;
    return r->shown ? json_pack("{s:O}", "sessions", r->shown) : NULL;
}

static void recommend_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct recommend *r = (struct recommend *)part;
    const struct batch_place place = batches_place(&r->batches, part, 0, number);
    const int items = r->sessions.items->vocabulary_size;
    if (number == 0) {
        r->counted = r->found = 0, r->reciprocal = 0;
        json_decref(r->shown);
        r->shown = json_array();
    }
    for (int row = 0; row < place.rows; row++) {
        const int64_t item = batches_item(&r->batches, &place, row);
        for (int t = 0; t < batch->lengths[row]; t++) {
            const size_t at = (size_t)t * (size_t)place.rows + (size_t)row;
            if (batch->classes[at] < 0)
                continue;
            const int rank = rank_of(results + at * (size_t)items, items, batch->classes[at]);
            r->counted++;
            r->found += rank <= r->k;
            r->reciprocal += rank <= r->k ? 1.0 / rank : 0;
            if (t == batch->lengths[row] - 1 && item >= 0 && json_array_size(r->shown) < SHOWN)
                show_pair(r, &r->piece[item], (size_t)t, results + at * (size_t)items, batch->classes[at]);
        }
    }
}

/* Computes recall and MRR at k from the observed pairs. */
static void recommend_score(const struct part *part, double loss, bool observed, unroll_evaluation *evaluation)
{
    const struct recommend *r = (const struct recommend *)part;
    static _Thread_local char names[2][40];
    double count = observed && r->counted ? (double)r->counted : (double)NAN;
    snprintf(names[0], sizeof names[0], "recall@%d", r->k);
    snprintf(names[1], sizeof names[1], "mrr@%d", r->k);
    *evaluation = (unroll_evaluation){
        .loss = loss,
        .floor = r->floor,
        .naive = "popularity",
        .higher = 1,
        .examples = (int64_t)part->examples,
        .metrics = 3,
        .metric = {{names[0], "recall ", "", 4, (double)r->found / count},
                   {names[1], "mrr ", "", 4, r->reciprocal / count},
                   {"nats", "", " nats", 4, loss}},
    };
}

const struct task task_recommend = {.name = "recommend",
                                    .about = "the next item of sessions",
                                    .keeps = true,
                                    .keys = recommend_keys,
                                    .item = recommend_item,
                                    .suits = suits_recommend,
                                    .network = recommend_network,
                                    .fit = recommend_fit,
                                    .accepts = recommend_accepts,
                                    .columns = recommend_columns,
                                    .check = recommend_check,
                                    .open = recommend_open,
                                    .observe = recommend_observe,
                                    .score = recommend_score,
                                    .details = recommend_details,
                                    .answer = recommend_answer,
                                    .line = recommend_line};
