/* The only file that uses libwebsockets (wire.h). One thread runs all connections. */
#include "extensions/serve/cli/wire.h"

#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/show/console.h"

enum {
    IDLE_SECONDS = 60,        /* of a connection between requests */
    SLOWEST_BYTES = 16 << 10, /* a second, that a body has to arrive with after .. */
    PATIENCE_SECONDS = 10,    /* .. this time; also for headers and handshakes */
    MOST_WAITING = 16 << 20,  /* bytes for a peer that does not read them */
    CHUNK = 4096
};

/* Bytes on their way out. */
struct out {
    struct out *next;
    size_t count;
    enum lws_write_protocol how;
    bool last;             /* of a response */
    unsigned char bytes[]; /* LWS_PRE, then count */
};

struct peer {
    struct wire *wire;
    struct lws *wsi; /* NULL: closed */
    int references;
    bool post, websocket, closing;
    struct out *first, *last, *message;
    size_t waiting; /* bytes in that list */
    char *body;
    size_t have, room, expected, header;
    int64_t began; /* microseconds */
    void *context;
    char path[WIRE_PATH], address[48];
};

struct wire {
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct wire_handlers handlers;
    struct wire_counts counts;
    size_t most;
    uint64_t connections;
    char *token;
    lws_sorted_usec_list_t tick;
    struct peer *link; /* of wire_connect */
    struct lws *link_wsi;
};

/* ---- peers ----------------------------------------------------------------------------- */

void peer_keep(struct peer *p) { p->references++; }

void peer_release(struct peer *p)
{
    if (--p->references)
        return;
    for (struct out *o = p->first, *next; o; o = next) next = o->next, free(o);
    free(p->message);
    free(p->body);
    free(p);
}

bool peer_is_open(const struct peer *p) { return p->wsi && !p->closing; }

void *peer_context(const struct peer *p) { return p->context; }

const char *peer_address(const struct peer *p) { return p->address; }

size_t peer_waiting(const struct peer *p) { return p->waiting; }

/* lws frees the connection. */
void peer_drop(struct peer *p)
{
    p->closing = true;
    if (p->wsi)
        lws_set_timeout(p->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

static double seconds_of(const struct peer *p) { return 1e-6 * (double)(lws_now_usecs() - p->began); }

/* bytes NULL: they are filled in later. */
static struct out *out_new(const void *bytes, size_t count, enum lws_write_protocol how)
{
    struct out *o = malloc(sizeof *o + LWS_PRE + count);
    if (!o)
        return NULL;
    *o = (struct out){.count = count, .how = how};
    if (bytes)
        memcpy(o->bytes + LWS_PRE, bytes, count);
    return o;
}

static void put(struct peer *p, struct out *o)
{
    if (!o || !peer_is_open(p)) {
        free(o);
        if (!o)
            peer_drop(p);
        return;
    }
    *(p->last ? &p->last->next : &p->first) = o;
    p->last = o;
    p->waiting += o->count;
    if (p->waiting > MOST_WAITING && p->first != o) {
        p->wire->counts.dropped++;
        peer_drop(p);
    } else {
        lws_callback_on_writable(p->wsi);
    }
}

static const char *reason_of(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    default: return "Service Unavailable"; /* 503 */
    }
}

static void answered(const struct peer *p, int status)
{
    p->wire->handlers.answered(p->wire->handlers.arg, p, p->path, status, seconds_of(p));
}

static void respond(struct peer *p, int status, const char *type, const char *more, const void *body, size_t bytes)
{
    char head[512];
    int count = snprintf(head, sizeof head,
                         "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                         "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n\r\n",
                         status, reason_of(status), type, bytes, more);
    struct out *o = out_new(NULL, (size_t)count + bytes, LWS_WRITE_HTTP_FINAL);
    if (o) {
        memcpy(o->bytes + LWS_PRE, head, (size_t)count);
        if (bytes)
            memcpy(o->bytes + LWS_PRE + count, body, bytes);
        o->last = true;
    }
    answered(p, status);
    put(p, o);
}

void peer_respond(struct peer *p, int status, const char *type, const void *body, size_t bytes, size_t header)
{
    char more[64] = "";
    if (header)
        snprintf(more, sizeof more, "Inference-Header-Content-Length: %zu\r\n", header);
    respond(p, status, type, more, body, bytes);
}

void peer_refuse(struct peer *p, int status, int retry, const void *body, size_t bytes)
{
    char more[64] = "";
    p->wire->counts.refused++;
    if (retry)
        snprintf(more, sizeof more, "Retry-After: %d\r\n", retry);
    if (status == 401)
        snprintf(more, sizeof more, "WWW-Authenticate: Bearer\r\n");
    respond(p, status, "application/json", more, body, bytes);
}

void peer_begin_events(struct peer *p)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                               "Connection: close\r\n\r\n";
    put(p, out_new(head, sizeof head - 1, LWS_WRITE_HTTP));
}

void peer_event(struct peer *p, const char *data, size_t bytes)
{
    struct out *o = out_new(NULL, bytes + 8, LWS_WRITE_HTTP);
    if (o) {
        memcpy(o->bytes + LWS_PRE, "data: ", 6);
        memcpy(o->bytes + LWS_PRE + 6, data, bytes);
        memcpy(o->bytes + LWS_PRE + 6 + bytes, "\n\n", 2);
    }
    put(p, o);
}

void peer_end_events(struct peer *p)
{
    static const char end[] = "data: [DONE]\n\n";
    struct out *o = out_new(end, sizeof end - 1, LWS_WRITE_HTTP_FINAL);
    if (o) {
        o->last = true;
        p->websocket = false;
        p->expected = SIZE_MAX; /* closes after the last byte: its length is unknown */
    }
    answered(p, 200);
    put(p, o);
}

uint8_t *peer_message(struct peer *p, size_t bytes)
{
    free(p->message);
    p->message = peer_is_open(p) ? out_new(NULL, bytes, LWS_WRITE_BINARY) : NULL;
    return p->message ? p->message->bytes + LWS_PRE : NULL;
}

void peer_send_message(struct peer *p)
{
    struct out *o = p->message;
    p->message = NULL;
    if (o)
        put(p, o);
}

/* ---- requests -------------------------------------------------------------------------- */

static int refuse(struct peer *p, int status, const char *why)
{
    char text[256];
    const int count = snprintf(text, sizeof text, "{\"error\":\"%s\"}", why);
    peer_refuse(p, status, 0, text, (size_t)count);
    p->expected = SIZE_MAX; /* the rest of its body is not read: the connection ends with the answer */
    return 0;
}

/* A number in a text; 0: none. */
static size_t number_in(const char *text)
{
    int64_t value;
    return number_whole_integer(text, 0, INT64_MAX, &value) == NUMBER_OK ? (size_t)value : 0;
}

static size_t number_of_header(struct lws *wsi, const char *name)
{
    char text[32];
    const int length = lws_hdr_custom_length(wsi, name, (int)strlen(name));
    return length > 0 && length < (int)sizeof text &&
                   lws_hdr_custom_copy(wsi, text, sizeof text, name, (int)strlen(name)) >= 0
               ? number_in(text)
               : 0;
}

/* In a time that does not depend on where they differ. */
static bool is_allowed(const struct wire *w, struct lws *wsi)
{
    char given[512] = "";
    static const char scheme[] = "Bearer ";
    unsigned differs = 0;
    if (!w->token)
        return true;
    if (lws_hdr_copy(wsi, given, sizeof given, WSI_TOKEN_HTTP_AUTHORIZATION) <= 0 ||
        strncmp(given, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *token = given + sizeof scheme - 1;
    const size_t length = strlen(token), wanted = strlen(w->token);
    for (size_t i = 0; i < wanted; i++) differs |= (unsigned)(w->token[i] ^ token[i < length ? i : length]);
    return !differs && length == wanted;
}

static bool is_public(const char *path) { return strncmp(path, "/v2/health/", 11) == 0 || strcmp(path, "/") == 0; }

static void handle(struct peer *p)
{
    struct request r = {.post = p->post, .body = p->body ? p->body : "", .bytes = p->have, .header = p->header};
    memcpy(r.path, p->path, sizeof r.path);
    p->wire->counts.requests++;
    p->wire->handlers.request(p->wire->handlers.arg, p, &r);
}

/* The head of a request has arrived. */
static int begin_request(struct peer *p, struct lws *wsi, const char *uri)
{
    char text[32];
    p->post = lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0;
    p->have = p->expected = 0;
    p->began = lws_now_usecs();
    snprintf(p->path, sizeof p->path, "%s", uri);
    if (strlen(uri) >= sizeof p->path)
        return refuse(p, 404,
                      "the path is too long; fix: use a path of the Open Inference Protocol, such as /v2/models");
    if (!p->post && lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0)
        return refuse(p, 405, "only GET and POST are served; fix: use one of them");
    if (!is_public(p->path) && !is_allowed(p->wire, wsi))
        return refuse(p, 401, "the bearer token is missing or wrong; fix: send the header Authorization: Bearer TOKEN");
    if (!p->post) {
        handle(p);
        return 0;
    }
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_ENCODING) > 0)
        return refuse(p, 415, "compressed bodies are not supported; fix: leave out Content-Encoding");
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0 ||
        lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0)
        return refuse(p, 411, "the body has no length; fix: send Content-Length instead of chunks");
    p->expected = number_in(text);
    p->header = number_of_header(wsi, "inference-header-content-length:");
    if (p->expected > p->wire->most)
        return refuse(p, 413, "the body is too large; fix: send fewer rows at once, or raise --max-body");
    if (!p->expected)
        handle(p);
    return 0;
}

static int take_body(struct peer *p, const void *bytes, size_t count)
{
    if (p->expected == SIZE_MAX || count == 0) /* refused, or an empty body */
        return 0;
    const double seconds = seconds_of(p);
    if (count > p->expected - p->have ||
        (seconds > PATIENCE_SECONDS && (double)(p->have + count) < seconds * SLOWEST_BYTES)) {
        p->wire->counts.dropped++;
        return -1;
    }
    if (p->have + count > p->room) {
        size_t room = p->room ? p->room : CHUNK;
        while (room < p->have + count) room *= 2;
        char *body = realloc(p->body, room);
        if (!body)
            return refuse(p, 503, "no memory for the body; fix: send it later");
        p->body = body;
        p->room = room;
    }
    memcpy(p->body + p->have, bytes, count);
    p->have += count;
    return 0;
}

/* A large body is not kept between requests. */
static void end_request(struct peer *p)
{
    if (p->room > 64 * CHUNK) {
        free(p->body);
        p->body = NULL;
        p->room = 0;
    }
    p->have = 0;
}

static int write_next(struct peer *p, struct lws *wsi)
{
    struct out *o = p->first;
    if (p->closing)
        return -1;
    if (!o)
        return 0;
    p->first = o->next;
    if (!p->first)
        p->last = NULL;
    p->waiting -= o->count;
    const bool last = o->last, ends = p->expected == SIZE_MAX;
    const int written = lws_write(wsi, o->bytes + LWS_PRE, o->count, o->how);
    free(o);
    if (written < 0)
        return -1;
    if (p->first)
        lws_callback_on_writable(wsi);
    if (!last)
        return 0;
    end_request(p);
    return lws_http_transaction_completed(wsi) || ends ? -1 : 0;
}

/* ---- WebSockets ------------------------------------------------------------------------- */

static int open_websocket(struct peer *p, struct lws *wsi)
{
    int count = lws_hdr_copy(wsi, p->path, sizeof p->path, WSI_TOKEN_GET_URI);
    if (count <= 0 || !is_allowed(p->wire, wsi)) {
        p->wire->counts.refused++;
        return -1;
    }
    p->websocket = p->wire->handlers.open(p->wire->handlers.arg, p, p->path, &p->context);
    return p->websocket ? 0 : -1;
}

static int take_message(struct peer *p, struct lws *wsi, const void *bytes, size_t count)
{
    if (p->have + count > p->wire->most)
        return -1;
    p->expected = p->have + count;
    p->began = lws_now_usecs();
    if (take_body(p, bytes, count))
        return -1;
    if (lws_remaining_packet_payload(wsi) || !lws_is_final_fragment(wsi))
        return 0;
    p->wire->counts.requests++;
    p->wire->handlers.message(p->wire->handlers.arg, p, (const uint8_t *)p->body, p->have);
    p->have = 0;
    return p->closing ? -1 : 0;
}

/* ---- events ------------------------------------------------------------------------------ */

/* Of the connection that this server opens. */
static int add_token(const struct wire *w, struct lws *wsi, void *in, size_t room)
{
    unsigned char **at = in;
    char text[300] = "Bearer ";
    if (!w->token)
        return 0;
    strcat(text, w->token);
    return lws_add_http_header_by_name(wsi, (const unsigned char *)"authorization:", (const unsigned char *)text,
                                       (int)strlen(text), at, *at + room);
}

static struct peer *peer_new(struct wire *w, struct lws *wsi)
{
    struct peer *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    *p = (struct peer){.wire = w, .wsi = wsi, .references = 1};
    char address[sizeof p->address] = "";
    lws_get_peer_simple(wsi, address, sizeof address);
    const size_t mapped = strncmp(address, "::ffff:", 7) == 0 ? 7 : 0; /* IPv4 on a socket of IPv6 */
    snprintf(p->address, sizeof p->address, "%s", address + mapped);
    return p;
}

static int closed(struct peer **user)
{
    struct peer *p = *user;
    if (!p)
        return 0;
    *user = NULL;
    p->wsi = NULL;
    p->wire->handlers.close(p->wire->handlers.arg, p);
    peer_release(p);
    return 0;
}

static bool is_of_peer(enum lws_callback_reasons reason)
{
    return reason == LWS_CALLBACK_HTTP || reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION ||
           reason == LWS_CALLBACK_ESTABLISHED;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count)
{
    struct wire *w = wsi ? lws_context_user(lws_get_context(wsi)) : NULL;
    struct peer **at = user, *p;
    if (reason == LWS_CALLBACK_FILTER_NETWORK_CONNECTION)
        return w && w->counts.open >= w->connections;
    if (reason == LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED && w)
        w->counts.accepted++, w->counts.open++;
    if (reason == LWS_CALLBACK_WSI_DESTROY && w && w->counts.open && wsi != w->link_wsi)
        w->counts.open--;
    if (at && !*at && is_of_peer(reason) && !(*at = peer_new(w, wsi)))
        return -1;
    if (!at || !*at)
        return 0;
    p = *at;
    switch (reason) {
    case LWS_CALLBACK_HTTP: return begin_request(p, wsi, in);
    case LWS_CALLBACK_HTTP_BODY: return take_body(p, in, count);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        if (p->expected != SIZE_MAX && p->expected)
            handle(p);
        return 0;
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return open_websocket(p, wsi);
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: return add_token(w, wsi, in, count);
    case LWS_CALLBACK_CLIENT_ESTABLISHED: w->handlers.linked(w->handlers.arg); return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
    case LWS_CALLBACK_RECEIVE: return take_message(p, wsi, in, count);
    case LWS_CALLBACK_CLIENT_WRITEABLE:
    case LWS_CALLBACK_HTTP_WRITEABLE:
    case LWS_CALLBACK_SERVER_WRITEABLE: return write_next(p, wsi);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL: /* after each transaction: `user` is lost */
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_WSI_DESTROY: return closed(at);
    default: return 0;
    }
}

static void on_tick(lws_sorted_usec_list_t *tick)
{
    struct wire *w = lws_container_of(tick, struct wire, tick);
    w->handlers.tick(w->handlers.arg);
    lws_sul_schedule(w->context, 0, &w->tick, on_tick, LWS_US_PER_SEC);
}

/* ---- listening --------------------------------------------------------------------------- */

/* Files of all connections, and some of our own. */
static int raise_files(int connections)
{
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)connections + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted ? (int)limit.rlim_cur - 64 : connections;
}

static const struct lws_protocols protocols[] = {{"unroll", on_event, sizeof(struct peer *), 64 << 10, 0, NULL, 0},
                                                 {NULL, NULL, 0, 0, 0, NULL, 0}};

static unroll_status listen_on(struct wire *w, const struct wire_config *c)
{
    struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN, .user = w};
    const uint64_t of_tls = c->certificate || c->connects ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0;
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | of_tls;
    /* A connection holds the memory of a header from its start: with fewer, idle ones would keep others out. */
    info.max_http_header_pool2 = (unsigned)w->connections + 32;
    info.fd_limit_per_thread = (unsigned)w->connections + 32;
    info.timeout_secs = PATIENCE_SECONDS;
    w->context = lws_create_context(&info);
    info = (struct lws_context_creation_info){.port = c->port, .iface = c->host, .protocols = protocols, .user = w};
    info.options = LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME | of_tls;
    if (!strchr(c->host, ':')) /* else an address of IPv4 is ignored, and it listens on all */
        info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
    info.keepalive_timeout = IDLE_SECONDS;
    info.timeout_secs = PATIENCE_SECONDS;
    info.ssl_cert_filepath = c->certificate;
    info.ssl_private_key_filepath = c->key;
    info.client_ssl_ca_filepath = c->certificate;
    info.alpn = "http/1.1";
    w->vhost = w->context ? lws_create_vhost(w->context, &info) : NULL;
    if (w->vhost)
        return UNROLL_OK;
    return complain(UNROLL_RESOURCE, "libwebsockets cannot listen on %s; fix: use another --port", c->host);
}

unroll_status wire_open(const struct wire_config *c, const struct wire_handlers *handlers, struct wire **wire)
{
    TRY(wire_check_address(c));
    if (c->certificate)
        TRY(wire_check_certificate(c));
    struct wire *w = calloc(1, sizeof *w);
    if (!w)
        return complain(UNROLL_RESOURCE, "no memory for connections; fix: free some");
    lws_set_log_level(0, NULL);
    w->handlers = *handlers;
    w->most = c->most;
    w->connections = (uint64_t)raise_files(c->connections);
    w->token = c->token ? strdup(c->token) : NULL;
    unroll_status status = listen_on(w, c);
    if (status != UNROLL_OK) {
        wire_close(w);
        return status;
    }
    lws_sul_schedule(w->context, 0, &w->tick, on_tick, LWS_US_PER_SEC);
    *wire = w;
    return UNROLL_OK;
}

void wire_close(struct wire *w)
{
    if (w->context)
        lws_context_destroy(w->context);
    free(w->token);
    free(w);
}

int wire_port(const struct wire *w) { return lws_get_vhost_listen_port(w->vhost); }

const struct wire_counts *wire_counts(const struct wire *w) { return &w->counts; }

bool wire_serve(struct wire *w, bool waits) { return lws_service(w->context, waits ? 0 : -1) >= 0; }

void wire_wake(struct wire *w) { lws_cancel_service(w->context); }

struct peer *wire_connect(struct wire *w, const char *host, int port, bool tls, const char *path, void *context)
{
    struct peer *p = calloc(1, sizeof *p);
    struct lws_client_connect_info info = {.context = w->context,
                                           .vhost = w->vhost,
                                           .address = host,
                                           .host = host,
                                           .port = port,
                                           .path = path,
                                           .ssl_connection = tls ? LCCSCF_USE_SSL : 0,
                                           .local_protocol_name = protocols->name,
                                           .userdata = &w->link,
                                           .pwsi = &w->link_wsi};
    if (!p)
        return NULL;
    *p = (struct peer){.wire = w, .references = 1, .websocket = true, .context = context};
    w->link = p;
    if (!lws_client_connect_via_info(&info)) {
        if (w->link)
            closed(&w->link);
        return NULL;
    }
    p->wsi = w->link_wsi;
    return p;
}
