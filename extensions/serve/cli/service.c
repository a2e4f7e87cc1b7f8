/* What is served where: the paths of the Open Inference Protocol, metrics, the page. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/show/console.h"
#include "extensions/serve/cli/serve.h"

static const unsigned char page[] = {
#include "page.inc"
};

enum { MOST_ERROR = 1400 };

/* Data of a request have no name: the path that read_as_file gave them is left out. */
void print_error(struct buffer *b, const char *error)
{
    static const char path[] = "/proc/self/fd/", name[] = "request";
    char text[MOST_ERROR], *at;
    snprintf(text, sizeof text, "%s", error);
    while ((at = strstr(text, path)) != NULL) {
        const char *rest = at + sizeof path - 1 + strspn(at + sizeof path - 1, "0123456789");
        memcpy(at, name, sizeof name - 1);
        memmove(at + sizeof name - 1, rest, strlen(rest) + 1);
    }
    buffer_print(b, "{\"error\":");
    buffer_json(b, text);
    buffer_add(b, "}", 1);
}

void refuse_request(struct served *m, struct peer *peer, int status, int retry, const char *format, ...)
{
    char text[MOST_ERROR];
    struct buffer b = {0};
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    print_error(&b, text);
    if (m)
        *(status < 500 ? &m->errors : &m->refused) += 1;
    peer_refuse(peer, status, retry, b.bytes ? b.bytes : "", b.count);
    buffer_free(&b);
}

void respond_json(struct peer *peer, struct buffer *b)
{
    if (b->failed)
        refuse_request(NULL, peer, 503, 1, "no memory for the answer; fix: try again later");
    else
        peer_respond(peer, 200, "application/json", b->bytes, b->count, 0);
    buffer_free(b);
}

void respond_infer(struct peer *peer, struct infer_answer *a)
{
    size_t header;
    if (infer_end(a, &header))
        peer_respond(peer, 200, header ? "application/octet-stream" : "application/json", a->json.bytes, a->json.count,
                     header);
    else
        refuse_request(NULL, peer, 503, 1, "no memory for the answer; fix: ask for less at once");
    infer_answer_free(a);
}

void observe(struct served *m, int64_t began, int64_t deadline)
{
    const int64_t now = now_us();
    histogram_add(&m->latency, 1e-6 * (double)(now - began));
    m->misses += now > deadline;
}

/* ---- the access log ----------------------------------------------------------------------- */

static struct buffer lines;

static void flush_log(struct server *s)
{
    enum { MOST = 1 << 20 };
    const ssize_t written = lines.count && s->log >= 0 ? write(s->log, lines.bytes, lines.count) : 0;
    if (lines.count && s->log >= 0 && written < (ssize_t)lines.count) {
        if (!s->log_errors++)
            say_always("note: the access log cannot be written: %s; requests are served without it",
                       written < 0 ? strerror(errno) : "the disk is full");
        if (written > 0)
            memmove(lines.bytes, lines.bytes + written, lines.count - (size_t)written);
        lines.count -= written > 0 ? (size_t)written : 0;
        if (lines.count < MOST)
            return;
    }
    lines.count = 0;
}

static void on_answered(void *arg, const struct peer *peer, const char *path, int status, double seconds)
{
    struct server *s = arg;
    char when[32];
    const time_t now = time(NULL);
    struct tm parts;
    if (s->log < 0)
        return;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    buffer_print(&lines, "{\"time\":\"%s\",\"peer\":\"%s\",\"request\":", when, peer_address(peer));
    buffer_json(&lines, path);
    buffer_print(&lines, ",\"status\":%d,\"seconds\":%.6f}\n", status, seconds);
    if (lines.count > 1 << 16)
        flush_log(s);
}

/* ---- models ------------------------------------------------------------------------------ */

static void list_models(const struct server *s, struct peer *peer)
{
    struct buffer b = {0};
    buffer_add(&b, "[", 1);
    for (const struct served *m = s->models; m; m = m->next) {
        buffer_print(&b, "%s{\"name\":", b.count > 1 ? "," : "");
        buffer_json(&b, m->name);
        buffer_print(&b, ",\"version\":\"%d\",\"state\":\"%s\",\"reason\":\"%s\"}", m->version,
                     m->retired ? "UNAVAILABLE" : "READY", m->retired ? "retired: it serves the sessions it has" : "");
    }
    buffer_add(&b, "]", 1);
    respond_json(peer, &b);
}

static void infer(struct server *s, struct peer *peer, struct served *m, const struct request *request)
{
    struct infer r;
    char error[INFER_ERROR];
    r.root = NULL;
    if (m->rate && request->bytes && *request->body != '{') {
        infer_sound(s, peer, m, request);
    } else if (!infer_parse(request->body, request->bytes, request->header, &r, error)) {
        refuse_request(m, peer, 400, 0, "%s", error);
    } else if (m->pool && r.inputs && (infer_input(&r, "tokens") || infer_input(&r, "input"))) {
        infer_steps(s, peer, m, &r);
    } else if (m->can_sample && infer_input(&r, "text")) {
        infer_text(s, peer, m, &r);
    } else if (m->can_predict) {
        infer_rows(s, peer, m, &r);
    } else {
        refuse_request(m, peer, 400, 0, "the model reads none of these inputs%s%s; fix: its metadata list them",
                       m->pool ? "" : ": ", m->why_not);
    }
    infer_free(&r);
}

/* "M", "M/versions/V", each with a rest such as "infer": cut into name, version and the rest. */
static const char *cut_path(char *path, const char **version)
{
    static const char versions[] = "versions/";
    char *rest = strchr(path, '/');
    *version = NULL;
    if (!rest)
        return "";
    *rest++ = '\0';
    if (strncmp(rest, versions, sizeof versions - 1) != 0)
        return rest;
    *version = rest + sizeof versions - 1;
    rest = strchr(*version, '/');
    if (!rest)
        return "";
    *rest++ = '\0';
    return rest;
}

static void model_request(struct server *s, struct peer *peer, const struct request *request, char *path)
{
    const char *version, *rest = cut_path(path, &version);
    struct served *m = served_find(s, path, version);
    if (!m) {
        refuse_request(NULL, peer, 404, 0,
                       "there is no model '%.64s'%s%.16s; fix: POST /v2/repository/index lists them", path,
                       version ? " of version " : "", version ? version : "");
        return;
    }
    if (!request->post && !*rest)
        served_describe(m, peer);
    else if (!request->post && strcmp(rest, "ready") == 0)
        peer_respond(peer, 200, "application/json", "", 0, 0);
    else if (request->post && *s->stops)
        refuse_request(NULL, peer, 503, 5, "the server is shutting down; fix: use another server");
    else if (request->post && ++m->requests && strcmp(rest, "infer") == 0)
        infer(s, peer, m, request);
    else if (request->post && (strcmp(rest, "generate") == 0 || strcmp(rest, "generate_stream") == 0))
        generate(s, peer, m, request, rest[8] != '\0');
    else
        refuse_request(
            NULL, peer, 404, 0,
            "a model has no %s '%.64s'; fix: POST infer, generate or generate_stream, GET ready, or open a WebSocket at stream",
            request->post ? "POST" : "GET", rest);
}

static const char models[] = "/v2/models/";

/* ---- all paths ---------------------------------------------------------------------------- */

static void print_server(struct peer *peer)
{
    struct buffer b = {0};
    buffer_print(&b,
                 "{\"name\":\"unroll\",\"version\":\"%s\",\"extensions\":[\"binary_tensor_data\",\"sequence\","
                 "\"model_repository\",\"generate\"]}",
                 unroll_version());
    respond_json(peer, &b);
}

static void print_metrics(const struct server *s, struct peer *peer)
{
    struct buffer b = {0};
    metrics_print(s, &b);
    peer_respond(peer, 200, "text/plain; version=0.0.4", b.bytes ? b.bytes : "", b.count, 0);
    buffer_free(&b);
}

static void on_request(void *arg, struct peer *peer, const struct request *request)
{
    struct server *s = arg;
    char path[WIRE_PATH];
    memcpy(path, request->path, sizeof path);
    if (strncmp(path, models, sizeof models - 1) == 0)
        model_request(s, peer, request, path + sizeof models - 1);
    else if (!request->post && strcmp(path, "/") == 0)
        peer_respond(peer, 200, "text/html; charset=utf-8", page, sizeof page, 0);
    else if (!request->post && strcmp(path, "/v2") == 0)
        print_server(peer);
    else if (!request->post && strcmp(path, "/metrics") == 0)
        print_metrics(s, peer);
    else if (strcmp(path, "/v2/repository/index") == 0)
        list_models(s, peer);
    else if (strcmp(path, "/v2/health/live") == 0 || (strcmp(path, "/v2/health/ready") == 0 && !*s->stops))
        peer_respond(peer, 200, "application/json", "", 0, 0);
    else if (strcmp(path, "/v2/health/ready") == 0)
        refuse_request(NULL, peer, 503, 5, "the server is shutting down");
    else
        refuse_request(NULL, peer, 404, 0,
                       "there is nothing at '%.100s'; fix: use /v2/models/MODEL, /v2/repository/index, /metrics or /",
                       path);
}

/* A WebSocket is of one version of a model: /v2/models/M/stream. */
static bool on_open(void *arg, struct peer *peer, const char *given, void **context)
{
    struct server *s = arg;
    char path[WIRE_PATH];
    const char *version;
    (void)peer;
    snprintf(path, sizeof path, "%s", given);
    if (strcmp(path, "/v2/standby") == 0 && !*s->stops)
        *context = &standby_source;
    if (strncmp(path, models, sizeof models - 1) != 0 || *s->stops)
        return *context != NULL;
    const char *rest = cut_path(path + sizeof models - 1, &version);
    struct served *m = served_find(s, path + sizeof models - 1, version);
    if (!m || !m->pool || strcmp(rest, "stream") != 0)
        return false;
    served_keep(m);
    *context = m;
    return true;
}

static void on_message(void *arg, struct peer *peer, const uint8_t *bytes, size_t count)
{
    if (peer_context(peer) == &standby_source)
        standby_take(arg, peer, bytes, count);
    else if (peer_context(peer) == &standby_link)
        standby_acknowledged(arg, bytes, count);
    else
        take_frames(arg, peer, peer_context(peer), bytes, count);
}

static void on_close(void *arg, struct peer *peer)
{
    if (peer_context(peer) == &standby_link)
        standby_lost(arg);
    else if (peer_context(peer) && peer_context(peer) != &standby_source)
        served_release(arg, peer_context(peer));
}

static void on_linked(void *arg) { standby_linked(arg); }

static void on_tick(void *arg)
{
    struct server *s = arg;
    for (struct served *m = s->models, *next; m; m = next) {
        next = m->next;
        if (m->pool)
            sessions_expire(s, m);
    }
    flush_log(s);
}

const struct wire_handlers service_handlers = {on_request, on_open,     on_message, on_close,
                                               on_linked,  on_answered, on_tick,    NULL};
