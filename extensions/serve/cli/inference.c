#include "extensions/serve/cli/inference.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

static const struct {
    const char *name;
    size_t bytes;
} types[INFER_TYPES] = {[INFER_BOOL] = {"BOOL", 1},     [INFER_INT8] = {"INT8", 1},     [INFER_UINT8] = {"UINT8", 1},
                        [INFER_INT16] = {"INT16", 2},   [INFER_UINT16] = {"UINT16", 2}, [INFER_INT32] = {"INT32", 4},
                        [INFER_UINT32] = {"UINT32", 4}, [INFER_INT64] = {"INT64", 8},   [INFER_UINT64] = {"UINT64", 8},
                        [INFER_FP32] = {"FP32", 4},     [INFER_FP64] = {"FP64", 8},     [INFER_BYTES] = {"BYTES", 0}};

static bool wrong(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(char *error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, INFER_ERROR, format, list);
    va_end(list);
    return false;
}

/* ---- requests -------------------------------------------------------------------------- */

static bool copy_name(char *to, size_t size, const json_t *from, const char *what, char *error)
{
    const char *text = json_string_value(from);
    if (!text || !*text || strlen(text) >= size)
        return wrong(error, "%s is missing or longer than %zu bytes; fix: give a shorter text", what, size - 1);
    memcpy(to, text, strlen(text) + 1);
    return true;
}

static bool read_shape(struct infer_tensor *t, const json_t *shape, char *error)
{
    enum { MOST = 1 << 28 };
    size_t i;
    json_t *size;
    t->count = 1;
    if (!json_is_array(shape) || json_array_size(shape) < 1 || json_array_size(shape) > INFER_RANK)
        return wrong(error, "the shape of '%s' is not a list of 1 to %d sizes; fix: for example \"shape\":[1,16]",
                     t->name, INFER_RANK);
    json_array_foreach(shape, i, size)
    {
        const json_int_t value = json_integer_value(size);
        if (!json_is_integer(size) || value < 0 || value > MOST || (value && t->count > MOST / (size_t)value))
            return wrong(error,
                         "the shape of '%s' has more than %d elements, or a size that is no number; fix: send less "
                         "at once",
                         t->name, MOST);
        t->shape[t->rank++] = (size_t)value;
        t->count *= (size_t)value;
    }
    return true;
}

static size_t count_leaves(const json_t *data, int depth)
{
    size_t count = 0, i;
    json_t *one;
    if (!json_is_array(data) || depth == INFER_RANK)
        return 1;
    json_array_foreach(data, i, one) count += count_leaves(one, depth + 1);
    return count;
}

/* Binary data are after the JSON, one tensor after the other. */
static bool read_data(struct infer_tensor *t, const json_t *input, const unsigned char **binary, size_t *left,
                      char *error)
{
    const json_t *size = json_object_get(json_object_get(input, "parameters"), "binary_data_size");
    t->data = json_object_get(input, "data");
    if (size) {
        const json_int_t bytes = json_integer_value(size);
        const size_t expected = types[t->type].bytes * t->count;
        if (!json_is_integer(size) || bytes < 0 || (uint64_t)bytes > *left)
            return wrong(error, "binary_data_size of '%s' is larger than the rest of the body; fix: send all its bytes",
                         t->name);
        if (t->type != INFER_BYTES && (size_t)bytes != expected)
            return wrong(error, "'%s' has %zu bytes of data, and its shape and type need %zu; fix: use one of them",
                         t->name, (size_t)bytes, expected);
        t->raw = *binary;
        t->bytes = (size_t)bytes;
        *binary += bytes;
        *left -= (size_t)bytes;
        return true;
    }
    if (!json_is_array(t->data))
        return wrong(error, "'%s' has no data; fix: \"data\" with a list, or binary_data_size", t->name);
    const size_t leaves = count_leaves(t->data, 0);
    if (leaves != t->count)
        return wrong(error, "'%s' has %zu elements, and its shape has %zu; fix: use one of them", t->name, leaves,
                     t->count);
    return true;
}

static bool read_inputs(struct infer *r, const unsigned char *binary, size_t left, char *error)
{
    const json_t *inputs = json_object_get(r->root, "inputs");
    json_t *input;
    size_t i;
    if (!json_is_array(inputs) || json_array_size(inputs) > INFER_TENSORS)
        return wrong(error, "\"inputs\" is missing, or has more than %d tensors; fix: send a list of tensors",
                     INFER_TENSORS);
    json_array_foreach(inputs, i, input)
    {
        struct infer_tensor *t = &r->input[r->inputs];
        const char *type = json_string_value(json_object_get(input, "datatype"));
        int k = 0;
        *t = (struct infer_tensor){.rank = 0};
        if (!copy_name(t->name, sizeof t->name, json_object_get(input, "name"), "the name of an input", error))
            return false;
        while (k < INFER_TYPES && (!type || strcmp(types[k].name, type) != 0)) k++;
        if (k == INFER_TYPES)
            return wrong(error, "the datatype of '%s' is unknown; fix: FP32, INT32 or BYTES", t->name);
        t->type = (enum infer_type)k;
        if (infer_input(r, t->name))
            return wrong(error, "the input '%s' occurs twice; fix: send it once", t->name);
        if (!read_shape(t, json_object_get(input, "shape"), error) || !read_data(t, input, &binary, &left, error))
            return false;
        r->inputs++;
    }
    return !left || wrong(error, "%zu bytes follow the last tensor; fix: use the right binary_data_size", left);
}

static bool read_outputs(struct infer *r, char *error)
{
    const json_t *outputs = json_object_get(r->root, "outputs");
    json_t *output;
    size_t i;
    r->binary = json_is_true(json_object_get(r->parameters, "binary_data_output"));
    if (json_array_size(outputs) > INFER_TENSORS)
        return wrong(error, "\"outputs\" has more than %d tensors; fix: name those that are needed", INFER_TENSORS);
    json_array_foreach(outputs, i, output)
    {
        struct infer_output *o = &r->output[r->outputs];
        const json_t *binary = json_object_get(json_object_get(output, "parameters"), "binary_data");
        if (!copy_name(o->name, sizeof o->name, json_object_get(output, "name"), "the name of an output", error))
            return false;
        o->binary = binary ? json_is_true(binary) : r->binary;
        r->outputs++;
    }
    return true;
}

bool infer_integer(const json_t *given, int64_t min, int64_t max, int64_t *value)
{
    const int64_t number = json_integer_value(given);
    if (given && (!json_is_integer(given) || number < min || number > max))
        return false;
    *value = given ? number : *value;
    return true;
}

static bool read_sequence(struct infer *r, char *error)
{
    enum { LOWEST = 4 };
    const json_t *id = json_object_get(r->parameters, "sequence_id");
    const json_t *priority = json_object_get(r->parameters, "priority");
    const json_t *timeout = json_object_get(r->parameters, "timeout");
    if (json_is_integer(id))
        snprintf(r->sequence, sizeof r->sequence, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    else if (id && !copy_name(r->sequence, sizeof r->sequence, id, "sequence_id", error))
        return false;
    r->has_sequence = id && strcmp(r->sequence, "0") != 0; /* Triton: 0 is no sequence */
    r->start = json_is_true(json_object_get(r->parameters, "sequence_start"));
    r->end = json_is_true(json_object_get(r->parameters, "sequence_end"));
    int64_t number = 2, step = 0;
    if (!infer_integer(json_object_get(r->parameters, "sequence_step"), 1, UINT32_MAX, &step))
        return wrong(error, "sequence_step is outside 1..%u; fix: number the steps of a sequence from 1", UINT32_MAX);
    r->number = (uint32_t)step;
    if (!infer_integer(priority, 0, LOWEST, &number))
        return wrong(error, "the priority is outside 1..%d; fix: 1 is the first, %d the last", LOWEST, LOWEST);
    r->priority = number ? (int)number - 1 : 1;
    r->timeout = json_number_value(timeout);
    if (r->timeout < 0 || r->timeout > 1e12)
        return wrong(error, "the timeout is outside 0..1e12 microseconds; fix: choose a number in this range");
    return true;
}

bool infer_parse(const char *body, size_t bytes, size_t header, struct infer *r, char error[INFER_ERROR])
{
    json_error_t at;
    r->root = r->parameters = NULL;
    r->inputs = r->outputs = 0;
    *r->id = *r->sequence = '\0';
    if (header > bytes)
        return wrong(error, "Inference-Header-Content-Length is %zu, and the body has %zu bytes; fix: use one of them",
                     header, bytes);
    r->root = json_loadb(body, header ? header : bytes, JSON_REJECT_DUPLICATES, &at);
    if (!json_is_object(r->root))
        return wrong(error, "the request is no JSON object: %.120s (line %d); fix: as in the Open Inference Protocol",
                     at.text, at.line);
    const json_t *id = json_object_get(r->root, "id");
    if (id && json_string_length(id) && !copy_name(r->id, sizeof r->id, id, "the id", error))
        return false;
    r->parameters = json_object_get(r->root, "parameters");
    const size_t at_binary = header ? header : bytes;
    return read_sequence(r, error) && read_outputs(r, error) &&
           read_inputs(r, (const unsigned char *)body + at_binary, bytes - at_binary, error);
}

void infer_free(struct infer *r)
{
    json_decref(r->root);
    r->root = NULL;
}

const struct infer_tensor *infer_input(const struct infer *r, const char *name)
{
    for (int i = 0; i < r->inputs; i++)
        if (strcmp(r->input[i].name, name) == 0)
            return &r->input[i];
    return NULL;
}

bool infer_wants(const struct infer *r, const char *name, bool *binary)
{
    *binary = r->binary;
    for (int i = 0; i < r->outputs; i++)
        if (strcmp(r->output[i].name, name) == 0) {
            *binary = r->output[i].binary;
            return true;
        }
    return r->outputs == 0;
}

/* ---- elements --------------------------------------------------------------------------- */

static double number_at(enum infer_type type, const unsigned char *at)
{
    union {
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } value;
    memcpy(&value, at, types[type].bytes);
    switch (type) {
    case INFER_INT8: return (double)(int8_t)*at;
    case INFER_INT16: return value.i16;
    case INFER_UINT16: return value.u16;
    case INFER_INT32: return value.i32;
    case INFER_UINT32: return value.u32;
    case INFER_INT64: return (double)value.i64;
    case INFER_UINT64: return (double)value.u64;
    case INFER_FP32: return (double)value.f32;
    case INFER_FP64: return value.f64;
    default: return *at;
    }
}

typedef bool taker(void *arg, const char *text, size_t bytes, double number);

static bool each_json(const json_t *data, int depth, taker *take, void *arg)
{
    size_t i;
    json_t *one;
    if (json_is_string(data))
        return take(arg, json_string_value(data), json_string_length(data), NAN);
    if (!json_is_array(data) || depth == INFER_RANK)
        return take(arg, NULL, 0,
                    json_is_number(data)    ? json_number_value(data)
                    : json_is_boolean(data) ? json_is_true(data)
                                            : (double)NAN);
    json_array_foreach(data, i, one) if (!each_json(one, depth + 1, take, arg)) return false;
    return true;
}

bool infer_each(const struct infer_tensor *t, taker *take, void *arg, char error[INFER_ERROR])
{
    size_t at = 0;
    *error = '\0';
    if (!t->raw)
        return each_json(t->data, 0, take, arg);
    for (size_t i = 0; i < t->count; i++) {
        if (t->type != INFER_BYTES) {
            if (!take(arg, NULL, 0, number_at(t->type, t->raw + i * types[t->type].bytes)))
                return false;
            continue;
        }
        if (t->bytes - at < 4 || (uint32_t)get_number(t->raw + at, 4) > t->bytes - at - 4)
            return wrong(error, "element %zu of '%s' ends after its last byte; fix: its length", i, t->name);
        const size_t bytes = (uint32_t)get_number(t->raw + at, 4);
        if (!take(arg, (const char *)t->raw + at + 4, bytes, NAN))
            return false;
        at += 4 + bytes;
    }
    return true;
}

struct numbers {
    float *floats;
    int32_t *integers;
    size_t at;
};

static bool take_number(void *arg, const char *text, size_t bytes, double number)
{
    struct numbers *n = arg;
    (void)bytes;
    if (text || !isfinite(number))
        return false;
    if (n->integers && (number != floor(number) || fabs(number) > INT32_MAX))
        return false;
    if (n->integers)
        n->integers[n->at++] = (int32_t)number;
    else
        n->floats[n->at++] = (float)number;
    return n->integers || isfinite(n->floats[n->at - 1]);
}

static bool take_numbers(const struct infer_tensor *t, struct numbers *n, const char *what, char *error)
{
    if (infer_each(t, take_number, n, error))
        return true;
    return *error ? false
                  : wrong(error, "element %zu of '%s' is not a finite %s; fix: send numbers", n->at, t->name, what);
}

bool infer_floats(const struct infer_tensor *t, float *to, char error[INFER_ERROR])
{
    bool finite = true;
    if (t->raw && t->type == INFER_FP32) { /* the usual case */
        memcpy(to, t->raw, t->bytes);
        for (size_t i = 0; i < t->count; i++) finite &= (bool)isfinite(to[i]);
        if (finite)
            return true;
    }
    return take_numbers(t, &(struct numbers){.floats = to}, "number", error);
}

bool infer_integers(const struct infer_tensor *t, int32_t *to, char error[INFER_ERROR])
{
    return take_numbers(t, &(struct numbers){.integers = to}, "whole number", error);
}

/* ---- answers --------------------------------------------------------------------------- */

void infer_begin(struct infer_answer *a, const char *model, int version, const char *id)
{
    *a = (struct infer_answer){{0}, {0}};
    buffer_print(&a->json, "{\"model_name\":");
    buffer_json(&a->json, model);
    buffer_print(&a->json, ",\"model_version\":\"%d\"", version);
    if (*id) {
        buffer_print(&a->json, ",\"id\":");
        buffer_json(&a->json, id);
    }
    buffer_print(&a->json, ",\"outputs\":[");
}

static void begin_output(struct infer_answer *a, const char *name, enum infer_type type, const size_t *shape, int rank)
{
    buffer_print(&a->json, "%s{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[",
                 a->json.bytes[a->json.count - 1] == '[' ? "" : ",", name, types[type].name);
    for (int i = 0; i < rank; i++) buffer_print(&a->json, "%s%zu", i ? "," : "", shape[i]);
    buffer_print(&a->json, "]");
}

static void print_binary_size(struct infer_answer *a, size_t bytes)
{
    buffer_print(&a->json, ",\"parameters\":{\"binary_data_size\":%zu}}", bytes);
}

void infer_add_floats(struct infer_answer *a, const char *name, bool binary, const size_t *shape, int rank,
                      const float *values)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= shape[i];
    begin_output(a, name, INFER_FP32, shape, rank);
    if (binary) {
        print_binary_size(a, count * sizeof *values);
        buffer_add(&a->data, values, count * sizeof *values);
        return;
    }
    buffer_print(&a->json, ",\"data\":[");
    for (size_t i = 0; i < count; i++)
        buffer_print(&a->json, isfinite(values[i]) ? "%s%.9g" : "%snull", i ? "," : "", (double)values[i]);
    buffer_print(&a->json, "]}");
}

void infer_add_texts(struct infer_answer *a, const char *name, bool binary, const char *texts, size_t count)
{
    begin_output(a, name, INFER_BYTES, &count, 1);
    if (!binary)
        buffer_print(&a->json, ",\"data\":[");
    const size_t before = a->data.count;
    for (size_t i = 0, bytes; i < count; i++, texts += bytes + 1) {
        uint8_t length[4];
        bytes = strlen(texts);
        if (binary) {
            put_number(length, bytes, 4);
            buffer_add(&a->data, length, sizeof length);
            buffer_add(&a->data, texts, bytes);
        } else {
            buffer_add(&a->json, ",", i > 0);
            buffer_json(&a->json, texts);
        }
    }
    if (binary)
        print_binary_size(a, a->data.count - before);
    else
        buffer_print(&a->json, "]}");
}

bool infer_end(struct infer_answer *a, size_t *header)
{
    buffer_print(&a->json, "]}");
    *header = a->data.count ? a->json.count : 0;
    buffer_add(&a->json, a->data.bytes, a->data.count);
    return !a->json.failed && !a->data.failed;
}

void infer_answer_free(struct infer_answer *a)
{
    buffer_free(&a->json);
    buffer_free(&a->data);
}

/* ---- frames ---------------------------------------------------------------------------- */

long frames_count(size_t count, size_t bytes)
{
    const size_t record = FRAME_RECORD + bytes;
    return count < FRAME_HEAD || (count - FRAME_HEAD) % record ? -1 : (long)((count - FRAME_HEAD) / record);
}

struct frame frame_at(const uint8_t *message, size_t index, size_t bytes)
{
    const uint8_t *at = message + FRAME_HEAD + index * (FRAME_RECORD + bytes);
    return (struct frame){.session = get_number(at, 8),
                          .flags = (uint32_t)get_number(at + 8, 4),
                          .number = (uint32_t)get_number(at + 12, 4),
                          .values = at + FRAME_RECORD};
}

size_t record_at(const uint8_t *from, size_t count, struct record *r)
{
    const size_t key = count < RECORD_HEAD ? 0 : from[13];
    if (key == 0 || key >= INFER_NAME || count - RECORD_HEAD < key || memchr(from + RECORD_HEAD, '\0', key))
        return 0;
    *r = (struct record){.fingerprint = get_number(from, 8),
                         .number = (uint32_t)get_number(from + 8, 4),
                         .flags = from[12],
                         .state = from + RECORD_HEAD + key,
                         .bytes = (uint32_t)get_number(from + 16, 4)};
    memcpy(r->key, from + RECORD_HEAD, key);
    return count - RECORD_HEAD - key < r->bytes ? 0 : RECORD_HEAD + key + r->bytes;
}
