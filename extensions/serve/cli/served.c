/* Models that are served: loading, what each can do, and its description. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/console.h"
#include "cli/options/network.h"
#include "cli/run/run.h"
#include "cli/sound/sound_steps.h"
#include "extensions/serve/cli/serve.h"

/* ---- loading ---------------------------------------------------------------------------- */

/* "runs/kws" and "kws.safetensors" are both kws. */
static void name_of(const char *path, char name[INFER_NAME])
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin && path[begin - 1] != '/') begin--;
    static const char suffix[] = ".safetensors";
    if (end - begin > sizeof suffix - 1 && !strncmp(path + end - (sizeof suffix - 1), suffix, sizeof suffix - 1))
        end -= sizeof suffix - 1;
    snprintf(name, INFER_NAME, "%.*s", (int)(end - begin), path + begin);
    for (char *c = name; *c; c++)
        if (*c == '"' || *c == '\\' || *c == ' ' || (unsigned char)*c < 0x20)
            *c = '_';
}

static unroll_status open_pool(const struct server *s, struct served *m)
{
    unroll_stream_pool_config config = unroll_stream_pool_config_default();
    unroll_network network = {.size = sizeof network};
    config.slots = s->slots;
    config.machine.dtype = s->dtype;
    config.machine.isa = s->isa;
    const size_t bytes = unroll_stream_pool_bytes(m->model, &config);
    unroll_status status = bytes ? UNROLL_OK : UNROLL_UNSUPPORTED;
    if (s->memory > 0 && (double)bytes > s->memory)
        return complain(UNROLL_RESOURCE,
                        "'%s' needs %zu bytes, more than --model-memory; fix: use a smaller --sessions", m->name,
                        bytes);
    if (bytes && !(m->memory = aligned_alloc(64, (bytes + 63) / 64 * 64)))
        status = complain(UNROLL_RESOURCE, "no memory for %d sessions of '%s'; fix: use a smaller --sessions", s->slots,
                          m->name);
    if (status == UNROLL_OK)
        status = unroll_stream_pool_init(m->memory, bytes, m->model, &config, &m->pool);
    if (status == UNROLL_OK) {
        unroll_model_network(m->model, &network);
        m->output = loss_gives_logits(network.loss) ? "logits" : "output";
        for (int i = 0, k = 0; i < (network.n_inputs ? network.n_inputs : 1); i++)
            if (!network.n_inputs || network.inputs[i].tokens)
                m->symbols[k++] = network.n_inputs ? network.inputs[i].tokens : network.input;
        m->tokens = unroll_stream_pool_tokens(m->pool);
        m->inputs = unroll_stream_pool_inputs(m->pool);
        m->outputs = unroll_stream_pool_outputs(m->pool);
        m->slots = s->slots;
    }
    return status;
}

static void served_free(struct served *m)
{
    sessions_close(m);
    unroll_model_free(m->model);
    json_decref(m->schema);
    free(m->memory);
    for (int i = 0; i < PRIORITIES; i++) free(m->queue[i].step);
    free(m);
}

static unroll_status load(const struct server *s, struct served *m)
{
    char file[PATH_MAX];
    struct sound_steps sound;
    TRY(run_weights(m->path, "best", file));
    TRY(complain_library(unroll_model_load(file, &m->model)));
    m->can_sample = unroll_model_can_sample(m->model);
    m->can_predict = unroll_model_can_predict(m->model) && !m->can_sample;
    sound_steps_find(m->model, &sound);
    m->rate = m->can_predict ? sound.rate : 0;
    m->schema = unroll_model_schema(m->model) ? json_loads(unroll_model_schema(m->model), 0, NULL) : NULL;
    unroll_status status = open_pool(s, m);
    if (status == UNROLL_OK) {
        TRY(sessions_open(m));
        measure_cost(m);
        return UNROLL_OK;
    }
    if (status == UNROLL_RESOURCE)
        return status;
    snprintf(m->why_not, sizeof m->why_not, "%s", as_options(unroll_last_error()));
    if (!m->can_sample && !m->can_predict)
        return complain(
            status,
            "'%s' can neither be streamed nor predict (%s); fix: use a model of one direction, or one trained for a task",
            m->name, m->why_not);
    say("note: '%s' has no sessions: %s", m->name, m->why_not);
    return UNROLL_OK;
}

unroll_status served_open(struct server *s, const char *path, struct served **made)
{
    struct served *m = calloc(1, sizeof *m);
    if (!m || strlen(path) >= sizeof m->path) {
        free(m);
        return complain(UNROLL_RESOURCE, "no memory for a model, or its name is too long; fix: use a shorter path");
    }
    strcpy(m->path, path);
    name_of(path, m->name);
    m->version = m->references = 1;
    unroll_status status = load(s, m);
    if (status != UNROLL_OK) {
        served_free(m);
        return status;
    }
    for (struct served *other = s->models; other; other = other->next)
        if (strcmp(other->name, m->name) == 0 && other->version >= m->version)
            m->version = other->version + 1;
    m->next = s->models; /* the newest version comes first */
    s->models = m;
    *made = m;
    return UNROLL_OK;
}

void served_reload(struct server *s)
{
    for (struct served *old = s->models, *next, *made; old; old = next) {
        next = old->next;
        if (old->retired)
            continue;
        if (served_open(s, old->path, &made) != UNROLL_OK) {
            say_always("note: '%s' stays in version %d", old->name, old->version);
            continue;
        }
        old->retired = true;
        say("reloaded '%s': version %d, %d sessions stay in version %d", made->name, made->version, old->used,
            old->version);
        served_release(s, old);
    }
}

struct served *served_find(const struct server *s, const char *name, const char *version)
{
    for (struct served *m = s->models; m; m = m->next) {
        char text[16];
        snprintf(text, sizeof text, "%d", m->version);
        if (strcmp(m->name, name) == 0 && (version ? strcmp(text, version) == 0 : !m->retired))
            return m;
    }
    return NULL;
}

void served_keep(struct served *m) { m->references++; }

void served_release(struct server *s, struct served *m)
{
    if (--m->references)
        return;
    for (struct served **at = &s->models; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    served_free(m);
}

/* ---- description ------------------------------------------------------------------------- */

static void describe_tensor(struct buffer *b, const char *name, const char *type, int width)
{
    buffer_print(b, "%s{\"name\":", b->bytes[b->count - 1] == '[' ? "" : ",");
    buffer_json(b, name);
    buffer_print(b, ",\"datatype\":\"%s\",\"shape\":[-1", type);
    if (width)
        buffer_print(b, ",%d", width);
    buffer_print(b, "]}");
}

/* The columns of the data; targets may be missing, but those of forecasts are read, too. */
static void describe_columns(const struct served *m, struct buffer *b)
{
    const json_t *columns = json_object_get(json_object_get(m->schema, "data"), "columns"), *column;
    size_t i;
    json_array_foreach(columns, i, column)
    {
        const char *type = json_string_value(json_object_get(column, "type"));
        const char *name = json_string_value(json_object_get(column, "name"));
        if (name && !(json_is_true(json_object_get(column, "target")) &&
                      !json_is_true(json_object_get(json_object_get(m->schema, "data"), "rows_are_steps"))))
            describe_tensor(b, name, type && strcmp(type, "numbers") == 0 && !m->rate ? "FP64" : "BYTES", 0);
    }
}

static const char *task_of(const struct served *m)
{
    const char *name = json_string_value(json_object_get(json_object_get(m->schema, "task"), "name"));
    return m->can_sample ? "lm" : m->can_predict && name ? name : "stream";
}

void served_describe(const struct served *m, struct peer *peer)
{
    struct buffer all = {0}, *b = &all;
    buffer_print(b, "{\"name\":");
    buffer_json(b, m->name);
    buffer_print(b, ",\"versions\":[\"%d\"],\"platform\":\"unroll\",\"inputs\":[", m->version);
    if (m->can_predict)
        describe_columns(m, b);
    if (m->pool && m->tokens)
        describe_tensor(b, "tokens", "INT32", m->tokens > 1 ? m->tokens : 0);
    if (m->pool && m->inputs)
        describe_tensor(b, "input", "FP32", m->inputs);
    if (m->can_sample)
        describe_tensor(b, "text", "BYTES", 0);
    buffer_print(b, "],\"outputs\":[");
    if (m->can_predict)
        describe_tensor(b, "predictions", "BYTES", 0);
    if (m->pool)
        describe_tensor(b, m->output, "FP32", m->outputs);
    if (m->can_sample)
        describe_tensor(b, "text", "BYTES", 0);
    buffer_print(b, "],\"parameters\":{\"task\":\"%s\",\"sessions\":%d,\"sessions_in_use\":%d,\"sample_rate\":%d}}",
                 task_of(m), m->slots, m->used, m->rate);
    respond_json(peer, b);
}
