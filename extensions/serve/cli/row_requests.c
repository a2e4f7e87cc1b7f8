/* Requests for predictions of rows and for texts: they become jobs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extensions/serve/cli/serve.h"

static void add_job(struct server *s, struct job *j)
{
    if (!j->input.failed && jobs_add(s, j))
        return;
    refuse_request(j->model, j->peer, 503, 1, "too many predictions and texts are waiting; fix: try again later");
    job_free(s, j);
}

/* ---- rows ------------------------------------------------------------------------------- */

struct column {
    json_t *rows; /* a list of objects */
    const struct infer_tensor *tensor;
    size_t width, at; /* elements of a row, taken so far */
    bool valid;
};

static bool take_element(void *arg, const char *text, size_t bytes, double number)
{
    struct column *c = arg;
    json_t *row = json_array_get(c->rows, c->at++ / c->width);
    json_t *value = text ? json_stringn(text, bytes) : isnan(number) ? json_null() : json_real(number);
    c->valid = value && row && (text || !isinf(number));
    if (value && number == floor(number) && fabs(number) < 1e15) { /* as a file would have it: 3 and not 3.0 */
        json_decref(value);
        value = json_integer((json_int_t)number);
    }
    if (c->width == 1)
        return json_object_set_new(row, c->tensor->name, value) == 0 && c->valid;
    json_t *list = json_object_get(row, c->tensor->name);
    if (!list && json_object_set_new(row, c->tensor->name, list = json_array()))
        return false;
    return json_array_append_new(list, value) == 0 && c->valid;
}

/* Each input is a column: [rows], [rows, 1], or [rows, steps] of series. */
static bool read_columns(const struct infer *r, json_t *rows, char *error)
{
    for (int i = 0; i < r->inputs; i++) {
        const struct infer_tensor *t = &r->input[i];
        struct column c = {
            .rows = rows, .tensor = t, .width = t->rank > 1 ? t->count / (t->shape[0] ? t->shape[0] : 1) : 1};
        while (i == 0 && json_array_size(rows) < t->shape[0])
            if (json_array_append_new(rows, json_object()))
                return snprintf(error, INFER_ERROR, "no memory for the rows; fix: send fewer at once"), false;
        if (!t->count || t->shape[0] != json_array_size(rows)) {
            snprintf(error, INFER_ERROR,
                     "the column '%s' has %zu rows, the first has %zu; fix: use columns of equal length", t->name,
                     t->shape[0], json_array_size(rows));
            return false;
        }
        if (!infer_each(t, take_element, &c, error)) {
            if (!*error)
                snprintf(error, INFER_ERROR,
                         "element %zu of '%s' is no text in UTF-8 and no number; fix: such an element", c.at, t->name);
            return false;
        }
    }
    return true;
}

/* The rows as JSON lines. */
static bool make_rows(const struct infer *r, struct buffer *to, char *error)
{
    json_t *rows = json_array(), *row;
    size_t i;
    const bool made = read_columns(r, rows, error);
    json_array_foreach(rows, i, row)
    {
        char *text = made ? json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
        if (text)
            buffer_add(to, text, strlen(text)), buffer_add(to, "\n", 1);
        free(text);
    }
    json_decref(rows);
    return made;
}

struct element {
    const char *text;
    size_t bytes, count;
};

static bool take_text(void *arg, const char *text, size_t bytes, double number)
{
    struct element *e = arg;
    (void)number;
    *e = (struct element){text, bytes, e->count + 1};
    return text != NULL;
}

/* Is the input one text, or a file as one? */
static bool read_element(const struct infer *r, const char *name, struct element *e)
{
    char error[INFER_ERROR];
    const struct infer_tensor *t = infer_input(r, name);
    *e = (struct element){NULL, 0, 0};
    return t && infer_each(t, take_text, e, error) && e->count == 1;
}

static bool make_input(const struct infer *r, struct job *j, char *error)
{
    struct element sound;
    if (!infer_wants(r, "predictions", &j->binary)) {
        snprintf(error, INFER_ERROR, "the model has no output '%s'; fix: its output is 'predictions'",
                 r->output[0].name);
        return false;
    }
    if (j->kind == JOB_ROWS)
        return make_rows(r, &j->input, error);
    if (r->inputs != 1 || !read_element(r, r->input->name, &sound) || !sound.bytes) {
        snprintf(error, INFER_ERROR,
                 "the model reads a sound; fix: one input of shape [1], datatype BYTES, with the "
                 "bytes of a wav file as binary data");
        return false;
    }
    buffer_add(&j->input, sound.text, sound.bytes);
    return true;
}

void infer_rows(struct server *s, struct peer *peer, struct served *m, const struct infer *r)
{
    char error[INFER_ERROR] = "";
    struct job *j = job_new(s, m->rate ? JOB_SOUND : JOB_ROWS, peer, m, r);
    if (j && make_input(r, j, error)) {
        add_job(s, j);
    } else if (j) {
        refuse_request(m, peer, 400, 0, "%s", error);
        job_free(s, j);
    }
}

void infer_sound(struct server *s, struct peer *peer, struct served *m, const struct request *request)
{
    struct job *j = job_new(s, JOB_SOUND, peer, m, NULL);
    if (j) {
        buffer_add(&j->input, request->body, request->bytes);
        add_job(s, j);
    }
}

/* ---- texts ------------------------------------------------------------------------------- */

/* From the parameters of a request; false: one of them is outside its range. */
static bool read_sampling(const json_t *p, unroll_sample_config *c, char *error)
{
    enum { LONGEST = 100000, MOST_TOKENS = 1 << 21 };
    const json_t *longest = json_object_get(p, "length"), *temperature = json_object_get(p, "temperature");
    const json_t *top_p = json_object_get(p, "top_p");
    int64_t length = 200, top_k = c->top_k, seed = 1;
    if (!longest)
        longest = json_object_get(p, "max_tokens");
    if (!infer_integer(longest, 1, LONGEST, &length) ||
        !infer_integer(json_object_get(p, "top_k"), 0, MOST_TOKENS, &top_k) ||
        !infer_integer(json_object_get(p, "seed"), 0, INT64_MAX, &seed) ||
        (temperature && !json_is_number(temperature)) || (top_p && !json_is_number(top_p))) {
        snprintf(
            error, INFER_ERROR,
            "a parameter of the text is no number in its range; fix: use length 1..%d, temperature, top_k, top_p, seed",
            LONGEST);
        return false;
    }
    c->length = (int)length;
    c->top_k = (int)top_k;
    c->seed = (uint64_t)seed;
    c->temperature = temperature ? json_number_value(temperature) : c->temperature;
    c->top_p = top_p ? json_number_value(top_p) : c->top_p;
    return true;
}

static void add_text(struct server *s, struct job *j, const char *prompt, size_t bytes, const json_t *parameters)
{
    char error[INFER_ERROR];
    buffer_add(&j->input, prompt, bytes);
    buffer_add(&j->input, "", 1);
    if (read_sampling(parameters, &j->sample, error)) {
        add_job(s, j);
        return;
    }
    refuse_request(j->model, j->peer, 400, 0, "%s", error);
    job_free(s, j);
}

/* The logits after each token of a text: the text is replaced by its tokens. */
static void infer_text_steps(struct server *s, struct peer *peer, struct served *m, const struct infer *r,
                             const struct element *text)
{
    enum { MOST = 1 << 16 };
    unroll_dataset *data = NULL;
    struct infer tokens = *r;
    const bool fits = text->bytes && text->bytes <= MOST;
    if (!fits || read_as_file(m, "text", text->text, text->bytes, &data) != UNROLL_OK) {
        refuse_request(m, peer, 400, 0, "%s",
                       fits ? unroll_last_error() : "the text has no bytes, or more than 65536; fix: send it in parts");
        return;
    }
    const size_t count = unroll_dataset_tokens(data, 0, 0, NULL);
    int32_t *numbers = malloc((count + 1) * sizeof *numbers);
    if (numbers) {
        unroll_dataset_tokens(data, 0, count, numbers);
        tokens.inputs = 1;
        *tokens.input = (struct infer_tensor){.name = "tokens", .type = INFER_INT32, .rank = 1, .shape = {count}};
        tokens.input->count = count;
        tokens.input->raw = (const unsigned char *)numbers;
        tokens.input->bytes = count * sizeof *numbers;
        infer_steps(s, peer, m, &tokens);
    } else {
        refuse_request(m, peer, 503, 1, "no memory; fix: try again later");
    }
    free(numbers);
    unroll_dataset_free(data);
}

void infer_text(struct server *s, struct peer *peer, struct served *m, const struct infer *r)
{
    struct element text;
    bool binary;
    const bool taken = read_element(r, "text", &text);
    if (taken && m->pool && r->outputs && infer_wants(r, m->output, &binary)) {
        infer_text_steps(s, peer, m, r, &text);
        return;
    }
    if (!taken || !infer_wants(r, "text", &binary)) {
        refuse_request(
            m, peer, 400, 0,
            "'text' is not one BYTES element, or the model has no such output; fix: shape [1], datatype BYTES, "
            "output 'text' or 'logits'");
        return;
    }
    struct job *j = job_new(s, JOB_TEXT, peer, m, r);
    if (j) {
        j->binary = binary;
        add_text(s, j, text.text, text.bytes, r->parameters);
    }
}

void generate(struct server *s, struct peer *peer, struct served *m, const struct request *request, bool events)
{
    json_t *root = json_loadb(request->body, request->bytes, JSON_REJECT_DUPLICATES, NULL);
    const json_t *text = json_object_get(root, "text_input"), *inner = json_object_get(root, "parameters");
    if (m->can_sample && json_is_string(text)) {
        struct job *j = job_new(s, events ? JOB_EVENTS : JOB_GENERATE, peer, m, NULL);
        if (j)
            add_text(s, j, json_string_value(text), json_string_length(text), inner ? inner : root);
    } else {
        refuse_request(m, peer, 400, 0,
                       m->can_sample ? "the request has no \"text_input\"; fix: {\"text_input\": \"..\"}"
                                     : "the model does not write text; fix: use a model of the task lm");
    }
    json_decref(root);
}
