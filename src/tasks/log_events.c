/* The task events: finds lines of a log whose next event is unexpected. It learns like lm. A line is a session of
 * events (its words); its score is the largest surprise, -log2 p, of its events, each predicted from all events before
 * it. A line is an anomaly beyond a quantile of the validation's scores, so a validation is needed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/json.h"
#include "base/memory.h"
#include "tasks/lm.h"
#include "tasks/schema.h"
#include "tasks/task_table.h"

enum { LINE_SHOWN = 400, HIDDEN = 64, UPDATES = 1000 };

struct options {
    double quantile;
};

static const struct key events_keys[] = {{.name = "quantile",
                                          .min = 0.5,
                                          .max = 0.9999999,
                                          .offset = offsetof(struct options, quantile),
                                          .about = "share of the validation's lines below the threshold"},
                                         {0}};

static const struct accepts events_accepts[] = {{.losses = "xent ", .unused = "batch_tokens "}, {0}};

struct events_part {
    struct lm_part lm;
    const unroll_dataset *data;
    float *surprise;            /* [items] bits; NaN: not predicted */
    double threshold, quantile; /* threshold NaN: not learned, without a validation */
};

static int suits_events(const unroll_dataset *data, char why[TASK_WHY])
{
    (void)data, (void)why; /* for a text, lm is more usual */
    return 0;
}

static const char *events_item(const unroll_dataset *data)
{
    (void)data;
    return "events";
}

static unroll_status read_options(const char *options, struct options *read)
{
    *read = (struct options){.quantile = 0.99};
    return key_values_read(options, "the task events", events_keys, read);
}

/* Refuses data that are not a log: a single text, cut into words. */
static unroll_status check_log(const unroll_dataset *data)
{
    const struct column *text = dataset_column(data, COLUMN_TOKENS, NULL);
    if (text == NULL || text->kind == CUT_CHARACTERS || data->sequences != 1)
        return fail(
            UNROLL_DATA,
            "the task events needs a text whose words are events, with a session or an event in each line; fix: "
            "use `tokens` blanks");
    return UNROLL_OK;
}

static unroll_status events_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                    unroll_task_defaults *defaults)
{
    struct options read;
    TRY(read_options(options, &read));
    TRY(check_log(data));
    if (spec->hidden == UNROLL_AUTO)
        spec->hidden = HIDDEN, spec->layers = spec->layers == UNROLL_AUTO ? 1 : spec->layers;
    TRY(lm_text_network(&task_events, data, spec, defaults));
    const double updates = fmax(1, (double)data->steps / (defaults->batch * defaults->bptt));
    defaults->epochs = fmin(fmax(ceil(UPDATES / updates), 10), 200);
    defaults->patience = 10;
    return UNROLL_OK;
}

static unroll_status events_fit(const struct task_request *request, json_t **schema)
{
    struct options read;
    TRY(read_options(request->options, &read));
    *schema = json_pack("{s:f}", "quantile", read.quantile);
    return *schema ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a schema");
}

static unroll_status events_check(const unroll_model *model, const unroll_dataset *data)
{
    TRY(check_log(data));
    return task_lm.check(model, data);
}

/* ---- a part ---- */

static void events_end(struct part *part) { release(((struct events_part *)part)->surprise); }

static unroll_status fill_in(const struct task_request *request, enum part_of which, struct events_part *e)
{
    json_t *json;
    TRY(schema_task(request->model, &json));
    const json_t *threshold = json_object_get(json, "threshold");
    e->quantile = json_number_value(json_object_get(json, "quantile"));
    e->threshold = threshold ? json_number_value(threshold) : (double)NAN;
    json_decref(json);
    if (which == PART_PREDICTED && isnan(e->threshold))
        return fail(UNROLL_USAGE, "the model has no threshold; fix: train it with a validation");
    if (which == PART_TRAINING)
        return UNROLL_OK;
    TRY(ALLOCATE(e->surprise, e->lm.part.items, "for %zu events", e->lm.part.items));
    for (size_t i = 0; i < e->lm.part.items; i++) e->surprise[i] = NAN;
    return UNROLL_OK;
}

static unroll_status events_open(const struct task_request *request, enum part_of which, struct part **part)
{
    struct part *opened = NULL;
    TRY(lm_part_open(request, which, sizeof(struct events_part), &opened));
    if (opened == NULL)
        return UNROLL_OK;
    opened->end = events_end;
    ((struct events_part *)opened)->data = request->data;
    const unroll_status status = fill_in(request, which, (struct events_part *)opened);
    if (status == UNROLL_OK)
        *part = opened;
    else
        part_free(opened);
    return status;
}

/* Returns the surprise of a class in bits, from the logits [classes]. */
static double surprise_of(const float *logits, int classes, int32_t class)
{
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < classes; i++) most = fmax(most, (double)logits[i]);
    for (int i = 0; i < classes; i++) sum += exp((double)logits[i] - most);
    return (log(sum) + most - (double)logits[class]) / log(2);
}

static void events_observe(struct part *part, int64_t number, const struct task_batch *batch, const float *results)
{
    struct events_part *e = (struct events_part *)part;
    const size_t rows = (size_t)part->shape->rows, steps = (size_t)part->shape->steps;
    const int classes = e->lm.text->vocabulary_size;
    for (size_t entry = 0; entry < steps * rows; entry++) {
        const int32_t class = batch->classes[entry];
        if (class >= 0)
            e->surprise[lm_predicted(&e->lm, number, entry / rows, entry % rows)] =
                (float)surprise_of(results + entry * (size_t)classes, classes, class);
    }
}

/* ---- lines ---- */

static const char *token_of(const struct events_part *e, size_t i)
{
    const int32_t id = column_id(e->lm.text, e->lm.first + i);
    return id < 0 ? "" : e->lm.text->vocabulary[id];
}

static bool ends_line(const struct events_part *e, size_t i) { return strchr(token_of(e, i), '\n') != NULL; }

struct event_line {
    size_t from, end; /* tokens; including the one that ends it */
    size_t worst;     /* the least expected token; end: none was predicted */
    double score;
};

/* Finds the line that begins at a token. */
static struct event_line line_at(const struct events_part *e, size_t from)
{
    struct event_line line = {from, from, from, -1};
    for (bool more = true; more && line.end < e->lm.part.items; line.end++) {
        const double surprise = (double)e->surprise[line.end];
        if (surprise > line.score)
            line.score = surprise, line.worst = line.end;
        more = !ends_line(e, line.end);
    }
    line.worst = line.score < 0 ? line.end : line.worst;
    return line;
}

static bool has_score(const struct events_part *e, const struct event_line *line)
{
    const bool empty = line->end == line->from + 1 && ends_line(e, line->from);
    return line->score >= 0 && !empty;
}

static unroll_status events_learn(const struct part *part, json_t *schema)
{
    const struct events_part *e = (const struct events_part *)part;
    double *score;
    size_t count = 0;
    TRY(ALLOCATE(score, part->items, "for the lines of a log"));
    for (struct event_line line = line_at(e, 0); line.end > line.from; line = line_at(e, line.end))
        if (has_score(e, &line))
            score[count++] = line.score;
    qsort(score, count, sizeof *score, compare_doubles);
    const size_t at = (size_t)(e->quantile * (double)count);
    const double threshold = count ? score[at < count ? at : count - 1] : 1e30;
    release(score);
    json_object_set_new(schema, "threshold", json_real(threshold));
    return UNROLL_OK;
}

static void events_score(const struct part *part, double loss, bool observed, unroll_evaluation *evaluation)
{
    const struct events_part *e = (const struct events_part *)part;
    double alarms = 0, lines = 0;
    task_lm.score(part, loss, observed, evaluation);
    if (!observed || isnan(e->threshold))
        return;
    for (struct event_line line = line_at(e, 0); line.end > line.from; line = line_at(e, line.end))
        if (has_score(e, &line))
            lines++, alarms += line.score > e->threshold;
    evaluation->metric[evaluation->metrics++] =
        (unroll_metric){"anomalies", "", " of the lines are anomalies", 4, alarms / lines};
}

/* Returns the line as text; the original characters between its words are unknown. */
static json_t *line_text(const struct events_part *e, const struct event_line *line)
{
    char text[LINE_SHOWN + 1] = "";
    for (size_t i = line->from, at = 0; i < line->end && !ends_line(e, i); i++) {
        const char *token = token_of(e, i), *between = e->lm.kind == CUT_BLANKS && i > line->from ? " " : "";
        const int wanted = snprintf(text + at, sizeof text - at, "%s%s", between, token);
        if (at + (size_t)wanted >= sizeof text) {
            text[at] = '\0';
            break;
        }
        at += (size_t)wanted;
    }
    return json_string(text);
}

/* The lines of the file, to print them as they are, not as the model reads them. */
struct file_lines {
    FILE *file;    /* NULL: the data are not from a file */
    size_t number; /* of the last line that was read, from 1 on */
    char *text;
    size_t room;
};

/* Reads on to a line; NULL: there is none, or it is not text, as in a packed file. */
static json_t *file_line(struct file_lines *lines, size_t number)
{
    for (; lines->file && lines->number < number; lines->number++)
        if (getline(&lines->text, &lines->room, lines->file) < 0)
            return NULL;
    if (lines->file)
        lines->text[strcspn(lines->text, "\r\n")] = '\0';
    return lines->file ? json_string(lines->text) : NULL;
}

static json_t *line_answer(const struct events_part *e, const struct event_line *line, size_t number,
                           struct file_lines *lines)
{
    json_t *text = file_line(lines, number);
    const bool known = line->score >= 0;
    json_t *answer = json_pack("{s:I}", "line", (json_int_t)number);
    json_object_set_new(answer, "score", known ? json_real(line->score) : json_null());
    json_object_set_new(answer, "anomaly", known ? json_boolean(line->score > e->threshold) : json_null());
    json_object_set_new(answer, "step", known ? json_integer((json_int_t)(line->worst - line->from + 1)) : json_null());
    json_object_set_new(answer, "event",
                        !known                      ? json_null()
                        : ends_line(e, line->worst) ? json_string("end of line")
                                                    : json_string(token_of(e, line->worst)));
    json_object_set_new(answer, "text", text ? text : line_text(e, line));
    return answer;
}

/* Adds the surprises of a batch. Its rows read different parts of the log, so all answers are returned with the last
 * batch. */
static unroll_status events_answer(struct part *part, int64_t number, const struct task_batch *batch,
                                   const float *results, answer_taker *take, void *arg)
{
    const struct events_part *e = (const struct events_part *)part;
    const char *path = e->data->path;
    struct file_lines lines = {0};
    unroll_status status = UNROLL_OK;
    size_t at = 1;
    events_observe(part, number, batch, results);
    if (number + 1 < part->batches)
        return UNROLL_OK;
    lines.file = path ? fopen(path, "r") : NULL;
    for (struct event_line line = line_at(e, 0); status == UNROLL_OK && line.end > line.from;
         line = line_at(e, line.end)) {
        if (!ends_line(e, line.from))
            status = answer_give(line_answer(e, &line, at, &lines), take, arg);
        for (const char *c = token_of(e, line.end - 1); (c = strchr(c, '\n')); c++) at++;
    }
    if (lines.file)
        fclose(lines.file);
    free(lines.text);
    return status;
}

/* Prints an answer, separated by tabs: "17 12.31 anomaly E23 at 6 E5 E22 E7 ..", "18 0.42 -" */
static void events_line(const json_t *answer, FILE *to)
{
    const json_t *score = json_object_get(answer, "score");
    fprintf(to, "%lld\t", (long long)json_integer_value(json_object_get(answer, "line")));
    if (json_is_null(score))
        fprintf(to, "-\t-\n");
    else if (json_is_true(json_object_get(answer, "anomaly")))
        fprintf(to, "%.3f\tanomaly\t%s at %lld\t%s\n", json_real_value(score),
                json_string_value(json_object_get(answer, "event")),
                (long long)json_integer_value(json_object_get(answer, "step")),
                json_string_value(json_object_get(answer, "text")));
    else
        fprintf(to, "%.3f\t-\n", json_real_value(score));
}

const struct task task_events = {.name = "events",
                                 .about = "lines of logs with unexpected events",
                                 .keys = events_keys,
                                 .item = events_item,
                                 .suits = suits_events,
                                 .network = events_network,
                                 .fit = events_fit,
                                 .accepts = events_accepts,
                                 .check = events_check,
                                 .open = events_open,
                                 .observe = events_observe,
                                 .score = events_score,
                                 .learn = events_learn,
                                 .answer = events_answer,
                                 .line = events_line};
