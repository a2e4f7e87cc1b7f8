/* Load for `unroll serve`: each session sends a frame every 1/rate seconds, whether or not the one before has been
 * answered (open loop), grouped in one message a connection, or with --http in a request of the Open Inference Protocol
 * for each frame, one at a time on a connection. Latencies count from the time at which a message was due,
 * so that a server that stalls is charged for all of the time that its clients wait. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/number.h"
#include "cli/options/options.h"
#include "cli/show/console.h"
#include "cli/show/output.h"
#include "cli/show/stopwatch.h"

enum {
    HEAD = 8,
    RECORD = 16,
    WS_HEAD = 14,
    START = 1,
    END = 2,
    LATE = 5,
    STATUSES = 6,
    MOST_CONNECTIONS = 50,
    REQUEST_HEAD = 2048
};

struct line {
    int socket, sessions;
    uint64_t first;          /* number of its first session */
    double due;              /* time of the next message */
    unsigned char *out, *in; /* a message that is being sent; what has arrived */
    size_t sent, count;      /* of `out` */
    size_t have;             /* of `in` */
    double *begin;           /* [room] due times of messages */
    size_t room;
    uint32_t messages, answers; /* sent and received */
    uint32_t last;              /* messages in all */
};

struct load {
    const struct settings *settings;
    char host[128], port[8], model[128];
    int tokens, inputs, outputs, lines, sessions;
    bool http;
    char input[64], output[64];   /* names of tensors, for HTTP */
    double rate, deadline, ended; /* ended: the time of the newest answer */
    struct line *line;
    struct pollfd *poll;
    double *latency; /* [answers] */
    size_t answers, room;
    uint64_t frames, status[STATUSES], missed;
};

/* ---- connections ------------------------------------------------------------------------- */

static bool cut_field(const char **at, const char *end, char *to, size_t size)
{
    const char *stop = *at ? strstr(*at, end) : NULL;
    const size_t length = stop ? (size_t)(stop - *at) : 0;
    if (length == 0 || length >= size)
        return false;
    memcpy(to, *at, length);
    to[length] = '\0';
    *at = stop + strlen(end);
    return true;
}

/* http://HOST:PORT/v2/models/MODEL */
static unroll_status read_url(struct load *l)
{
    const char *url = text_of(l->settings, OPTION_SERVE), *at = url;
    char scheme[16];
    if (cut_field(&at, "://", scheme, sizeof scheme) && strcmp(scheme, "http") == 0 &&
        cut_field(&at, ":", l->host, sizeof l->host) && cut_field(&at, "/v2/models/", l->port, sizeof l->port) && *at &&
        strlen(at) < sizeof l->model && !strchr(at, '/')) {
        strcpy(l->model, at);
        return UNROLL_OK;
    }
    return complain(UNROLL_USAGE,
                    "--serve: '%s' is not http://HOST:PORT/v2/models/MODEL; fix: write for example --serve "
                    "http://127.0.0.1:8000/v2/models/lstm",
                    url);
}

static unroll_status connect_to(const struct load *l, int *socket_)
{
    struct addrinfo wish = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    const int yes = 1;
    *socket_ = -1;
    if (getaddrinfo(l->host, l->port, &wish, &found) == 0)
        *socket_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = *socket_ >= 0 && connect(*socket_, found->ai_addr, found->ai_addrlen) == 0;
    if (found)
        freeaddrinfo(found);
    if (!connected)
        return complain(UNROLL_RESOURCE, "cannot connect to %s, port %s: %s; fix: start 'unroll serve' there", l->host,
                        l->port, strerror(errno));
    setsockopt(*socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return UNROLL_OK;
}

/* Sends a head and reads up to the end of the answer's; what follows it stays in `answer`. -1: it failed. */
static ssize_t exchange_heads(int socket_, const char *head, char *answer, size_t room)
{
    size_t have = 0;
    if (send(socket_, head, strlen(head), MSG_NOSIGNAL) != (ssize_t)strlen(head))
        return -1;
    for (;;) {
        const ssize_t got = recv(socket_, answer + have, room - 1 - have, 0);
        if (got <= 0)
            return -1;
        have += (size_t)got;
        answer[have] = '\0';
        if (strstr(answer, "\r\n\r\n"))
            return (ssize_t)have;
        if (have == room - 1)
            return -1;
    }
}

static int width_of(const json_t *about, const char *list, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(about, list), i, one)
    {
        const json_t *shape = json_object_get(one, "shape"), *given = json_object_get(one, "name");
        const json_int_t width = json_array_size(shape) > 1 ? json_integer_value(json_array_get(shape, 1)) : 1;
        if (json_is_string(given) && strcmp(json_string_value(given), name) == 0 && width > 0 && width < 1 << 20)
            return (int)width;
    }
    return 0;
}

/* The first tensor of that type: its name and width, the last axis. */
static int first_of(const json_t *about, const char *list, const char *type, char name[64])
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(about, list), i, one)
    {
        const json_t *shape = json_object_get(one, "shape");
        const char *given = json_string_value(json_object_get(one, "name"));
        const char *kind = json_string_value(json_object_get(one, "datatype"));
        const size_t axes = json_array_size(shape);
        const json_int_t width = axes > 1 ? json_integer_value(json_array_get(shape, axes - 1)) : 1;
        if (given && kind && strcmp(kind, type) == 0 && strlen(given) < 64 && width > 0 && width < 1 << 20)
            return strcpy(name, given), (int)width;
    }
    return 0;
}

/* A request has one input; servers of others name it as they like. */
static void read_tensors(struct load *l, const json_t *about)
{
    l->inputs = first_of(about, "inputs", "FP32", l->input);
    l->tokens = l->inputs ? 0 : first_of(about, "inputs", "INT32", l->input);
    l->outputs = first_of(about, "outputs", "FP32", l->output);
}

/* The widths of a frame, from the model's metadata. */
static unroll_status read_metadata(struct load *l)
{
    char head[512], answer[16384];
    int socket_;
    TRY(connect_to(l, &socket_));
    snprintf(head, sizeof head, "GET /v2/models/%s HTTP/1.1\r\nHost: %s\r\n\r\n", l->model, l->host);
    ssize_t have = exchange_heads(socket_, head, answer, sizeof answer), got = have;
    const char *body = have > 0 ? strstr(answer, "\r\n\r\n") : NULL;
    json_t *about = NULL;
    while (body && got > 0 && !(about = json_loads(body, JSON_DISABLE_EOF_CHECK, NULL))) { /* the body comes later */
        got = recv(socket_, answer + have, sizeof answer - 1 - (size_t)have, 0);
        have += got > 0 ? got : 0;
        answer[have] = '\0';
    }
    close(socket_);
    l->tokens = width_of(about, "inputs", "tokens");
    l->inputs = width_of(about, "inputs", "input");
    l->outputs = width_of(about, "outputs", "output") + width_of(about, "outputs", "logits");
    if (l->http)
        read_tensors(l, about);
    json_decref(about);
    if (l->outputs > 0 && (l->tokens || l->inputs))
        return UNROLL_OK;
    return complain(UNROLL_DATA,
                    "the server has no sessions of '%s'; fix: give the name of a model that can be streamed%s",
                    l->model, l->http ? "" : ", and --http for a server of others");
}

static unroll_status open_line(const struct load *l, struct line *line)
{
    char head[512], answer[4096];
    TRY(connect_to(l, &line->socket));
    if (l->http) {
        fcntl(line->socket, F_SETFL, O_NONBLOCK);
        return UNROLL_OK;
    }
    snprintf(head, sizeof head,
             "GET /v2/models/%s/stream HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
             l->model, l->host);
    if (exchange_heads(line->socket, head, answer, sizeof answer) < 0 || strncmp(answer, "HTTP/1.1 101", 12) != 0)
        return complain(UNROLL_COMMUNICATION,
                        "the server refuses a WebSocket; fix: use a larger --connections of the server");
    fcntl(line->socket, F_SETFL, O_NONBLOCK);
    return UNROLL_OK;
}

/* ---- messages ---------------------------------------------------------------------------- */

static void put_value(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> 8 * i);
}

static size_t record_of(const struct load *l) { return RECORD + 4 * (size_t)(l->tokens + l->inputs); }

/* A masked frame whose mask is zero, with a record for each session; tokens are 0, inputs a wave. */
static void begin_message(const struct load *l, struct line *line, uint32_t flags)
{
    const size_t bytes = HEAD + (size_t)line->sessions * record_of(l);
    unsigned char *to = line->out;
    memset(to, 0, WS_HEAD + bytes);
    to[0] = 0x82;
    to[1] = 0x80 | 127;
    for (int i = 0; i < 8; i++) to[2 + i] = (unsigned char)(bytes >> (56 - 8 * i));
    put_value(to + WS_HEAD, line->messages, 4);
    put_value(to + WS_HEAD + 4, (uint64_t)(1e6 * l->deadline), 4);
    for (int i = 0; i < line->sessions; i++) {
        unsigned char *record = to + WS_HEAD + HEAD + (size_t)i * record_of(l);
        put_value(record, line->first + (uint64_t)i, 8);
        put_value(record + 8, flags, 4);
        for (int k = 0; k < l->inputs; k++) {
            const float x = (float)sin(0.1 * (double)line->messages + i + k);
            memcpy(record + RECORD + 4 * (size_t)(l->tokens + k), &x, sizeof x);
        }
    }
    line->count = WS_HEAD + bytes;
    line->sent = 0;
    line->messages++;
}

/* A step of one session: JSON, then its input as bytes. Sessions take turns. */
static void begin_request(const struct load *l, struct line *line)
{
    char json[512], *to = (char *)line->out;
    const uint32_t sessions = (uint32_t)line->sessions, number = line->messages;
    const int width = l->inputs + l->tokens;
    const int length = snprintf(
        json, sizeof json,
        "{\"inputs\":[{\"name\":\"%s\",\"shape\":[1,%d],\"datatype\":\"%s\",\"parameters\":{\"binary_data_size\":%d}}],"
        "\"outputs\":[{\"name\":\"%s\",\"parameters\":{\"binary_data\":true}}],\"parameters\":{\"sequence_id\":%llu,"
        "\"sequence_start\":%s,\"sequence_end\":%s,\"timeout\":%.0f}}",
        l->input, width, l->inputs ? "FP32" : "INT32", 4 * width, l->output,
        (unsigned long long)(line->first + number % sessions), number < sessions ? "true" : "false",
        number + sessions >= line->last ? "true" : "false", 1e6 * l->deadline);
    line->count = (size_t)snprintf(to, REQUEST_HEAD,
                                   "POST /v2/models/%s/infer HTTP/1.1\r\nHost: %s\r\nContent-Type: "
                                   "application/octet-stream\r\nContent-Length: %d\r\nInference-Header-Content-Length: "
                                   "%d\r\n\r\n%s",
                                   l->model, l->host, length + 4 * width, length, json);
    for (int k = 0; k < width; k++) {
        const float x = l->inputs ? (float)sin(0.1 * number + k) : 0;
        memcpy(to + line->count + 4 * (size_t)k, &x, sizeof x);
    }
    line->count += 4 * (size_t)width;
    line->sent = 0;
    line->messages++;
}

static bool flush_line(struct line *line)
{
    while (line->sent < line->count) {
        const ssize_t sent = send(line->socket, line->out + line->sent, line->count - line->sent, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN;
        line->sent += (size_t)sent;
    }
    return true;
}

/* The size of an answer; several may wait in the buffer. */
static size_t answer_room(const struct load *l, const struct line *line)
{
    return 4 * (WS_HEAD + HEAD + (size_t)line->sessions * (RECORD + 4 * (size_t)l->outputs)) + 65536;
}

static void count_frame(struct load *l, unsigned status, double latency)
{
    l->frames++;
    l->status[status < STATUSES ? status : STATUSES - 1]++;
    l->missed += status == 0 && latency > l->deadline;
}

static double count_latency(struct load *l, struct line *line)
{
    l->ended = seconds_now();
    const double latency = l->ended - line->begin[line->answers++ % line->room];
    if (l->answers < l->room)
        l->latency[l->answers++] = latency;
    return latency;
}

static void count_answer(struct load *l, struct line *line, const unsigned char *answer, size_t bytes)
{
    const size_t record = RECORD + 4 * (size_t)l->outputs;
    const double latency = count_latency(l, line);
    for (size_t at = HEAD; at + record <= bytes; at += record) count_frame(l, answer[at + 8], latency);
}

/* Takes the answer to a request out of what has arrived; false: it is not HTTP/1.1 with a length. */
static bool take_response(struct load *l, struct line *line)
{
    static const char start[] = "HTTP/1.1 ", length[] = "\r\nContent-Length:";
    char *in = (char *)line->in;
    in[line->have] = '\0';
    char *end = strstr(in, "\r\n\r\n");
    if (!end)
        return line->have < REQUEST_HEAD;
    *end = '\0';
    const char *given = strcasestr(in, length);
    const char *digits = given ? given + sizeof length - 1 + (given[sizeof length - 1] == ' ') : "";
    int64_t bytes, status;
    const char *at = in + sizeof start - 1;
    if (strncmp(in, start, sizeof start - 1) != 0 || number_integer(&at, NULL, 100, 999, &status) != NUMBER_OK ||
        number_integer(&digits, NULL, 0, 1 << 28, &bytes) != NUMBER_OK)
        return false;
    *end = '\r';
    const size_t whole = (size_t)(end + 4 - in) + (size_t)bytes;
    if (line->have < whole)
        return whole < answer_room(l, line);
    count_frame(l, status == 200 ? 0 : status == 503 ? LATE : 1, count_latency(l, line));
    memmove(in, in + whole, line->have - whole);
    line->have -= whole;
    return true;
}

/* Takes whole frames of the server out of what has arrived; false: it has closed the connection. */
static bool take_messages(struct load *l, struct line *line)
{
    size_t at = 0;

    for (;;) {
        const unsigned char *in = line->in + at;
        const size_t left = line->have - at;
        size_t head = 2, bytes = left < 2 ? 0 : in[1] & 127;
        if (left < 2 || (bytes == 126 && left < 4) || (bytes == 127 && left < 10))
            break;
        if (bytes >= 126) {
            const size_t digits = bytes == 126 ? 2 : 8;
            bytes = 0;
            for (size_t i = 0; i < digits; i++) bytes = bytes << 8 | in[2 + i];
            head += digits;
        }
        if (left - head < bytes)
            break;
        if ((in[0] & 15) == 8)
            return false;
        count_answer(l, line, in + head, bytes);
        at += head + bytes;
    }
    memmove(line->in, line->in + at, line->have - at);
    line->have -= at;
    return true;
}

static bool read_line_of(struct load *l, struct line *line)
{
    const ssize_t got = recv(line->socket, line->in + line->have, answer_room(l, line) - 1 - line->have, 0);
    if (got <= 0)
        return got < 0 && errno == EAGAIN;
    line->have += (size_t)got;
    return l->http ? take_response(l, line) : take_messages(l, line);
}

/* ---- the run ----------------------------------------------------------------------------- */

/* Messages of a connection for each step of its sessions. */
static int each_of(const struct load *l) { return l->http ? l->sessions / l->lines + 1 : 1; }

static unroll_status open_lines(struct load *l, double seconds)
{
    const uint64_t first = (uint64_t)getpid() << 32;
    const size_t messages = ((size_t)(seconds * l->rate) + 16) * (size_t)each_of(l);
    l->room = messages * (size_t)l->lines;
    l->line = calloc((size_t)l->lines, sizeof *l->line);
    l->poll = calloc((size_t)l->lines, sizeof *l->poll);
    l->latency = malloc(l->room * sizeof *l->latency);
    if (!l->line || !l->poll || !l->latency)
        return complain(UNROLL_RESOURCE, "no memory for the latencies; fix: use a smaller --rate or --seconds");
    for (int i = 0; i < l->lines; i++) l->line[i].socket = -1;
    for (int i = 0, next = 0; i < l->lines; i++) {
        struct line *line = &l->line[i];
        line->sessions = l->sessions / l->lines + (i < l->sessions % l->lines);
        line->first = first + (uint64_t)next;
        next += line->sessions;
        line->room = messages;
        line->out =
            malloc(l->http ? REQUEST_HEAD + record_of(l) : WS_HEAD + HEAD + (size_t)line->sessions * record_of(l));
        line->in = malloc(answer_room(l, line));
        line->begin = malloc(messages * sizeof *line->begin);
        if (!line->out || !line->in || !line->begin)
            return complain(UNROLL_RESOURCE, "no memory for %d sessions; fix: use fewer --sessions", l->sessions);
        TRY(open_line(l, line));
        l->poll[i] = (struct pollfd){.fd = line->socket, .events = POLLIN};
    }
    return UNROLL_OK;
}

/* Seconds between the messages of a connection. */
static double interval_of(const struct load *l, const struct line *line)
{
    return 1 / (l->rate * (l->http ? line->sessions : 1));
}

/* Sends what is due. A message that cannot be sent yet delays the next, whose latency counts from when it was due. */
static bool send_due(struct load *l, double now)
{
    bool open = true;
    for (int i = 0; i < l->lines; i++) {
        struct line *line = &l->line[i];
        const bool idle = line->sent == line->count && (!l->http || line->answers == line->messages);
        if (idle && line->due <= now && line->messages < line->last) {
            line->begin[line->messages % line->room] = line->due;
            if (l->http)
                begin_request(l, line);
            else
                begin_message(l, line, line->messages ? 0 : START);
            line->due += interval_of(l, line);
        }
        open &= flush_line(line);
    }
    return open;
}

static unroll_status run_load(struct load *l, double seconds)
{
    const double begin = seconds_now() + 0.1, end = begin + seconds, last = end + fmax(5, l->deadline);
    bool open = true, waits = true;
    for (int i = 0; i < l->lines; i++) {
        const double interval = interval_of(l, &l->line[i]);
        l->line[i].due = begin + interval * i / l->lines;
        l->line[i].last = (uint32_t)ceil((end - l->line[i].due) / interval);
    }
    for (double now = seconds_now(); open && now < last && (now < end || waits); now = seconds_now()) {
        double next = end;
        open &= send_due(l, now);
        waits = false;
        for (int i = 0; i < l->lines; i++) {
            next = fmin(next, l->line[i].answers < l->line[i].messages && l->http ? end : l->line[i].due);
            waits |= l->line[i].answers < l->line[i].last;
            l->poll[i].events = POLLIN | (l->line[i].sent < l->line[i].count ? POLLOUT : 0);
        }
        const double pause = fmin(fmax(next - seconds_now(), 0), 0.1);
        ppoll(l->poll, (nfds_t)l->lines, &(struct timespec){0, (long)(1e9 * pause)}, NULL);
        for (int i = 0; i < l->lines; i++)
            if (l->poll[i].revents)
                open &= read_line_of(l, &l->line[i]);
    }
    l->ended -= begin;
    for (int i = 0; i < l->lines && open && !l->http; i++) { /* the sessions end */
        begin_message(l, &l->line[i], END);
        flush_line(&l->line[i]);
    }
    return open ? UNROLL_OK : complain(UNROLL_COMMUNICATION, "the server closed a connection; fix: see its messages");
}

static int compare_latencies(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct load *l, double share)
{
    return l->answers ? 1e3 * l->latency[(size_t)(share * (double)(l->answers - 1))] : NAN;
}

static unroll_status print_load(struct load *l, double seconds)
{
    const double p[] = {0.5, 0.9, 0.99, 0.999, 0.9999, 1};
    double ms[6];
    const uint64_t refused = l->frames - l->status[0];
    qsort(l->latency, l->answers, sizeof *l->latency, compare_latencies);
    for (int i = 0; i < 6; i++) ms[i] = percentile(l, p[i]);
    if (is_on(l->settings, OPTION_JSON))
        return print_json(json_pack("{ss si si sf sf sI sI sI sf so so so so so so}", "model", l->model, "sessions",
                                    l->sessions, "connections", l->lines, "rate", l->rate, "seconds", seconds, "frames",
                                    (json_int_t)l->frames, "refused", (json_int_t)refused, "misses",
                                    (json_int_t)l->missed, "frames_per_second",
                                    (double)l->frames / fmax(seconds, l->ended), "p50_ms", json_finite(ms[0]), "p90_ms",
                                    json_finite(ms[1]), "p99_ms", json_finite(ms[2]), "p999_ms", json_finite(ms[3]),
                                    "p9999_ms", json_finite(ms[4]), "max_ms", json_finite(ms[5])));
    printf("%s: %d sessions at %g a second over %d connections, %.0f frames a second\n"
           "latency in ms: p50 %.3f, p90 %.3f, p99 %.3f, p99.9 %.3f, p99.99 %.3f, most %.3f\n"
           "%llu frames: %llu later than %g ms, %llu refused (%llu of them late)\n",
           l->model, l->sessions, l->rate, l->lines, (double)l->frames / fmax(seconds, l->ended), ms[0], ms[1], ms[2],
           ms[3], ms[4], ms[5], (unsigned long long)l->frames, (unsigned long long)l->missed, 1e3 * l->deadline,
           (unsigned long long)refused, (unsigned long long)l->status[LATE]);
    return UNROLL_OK;
}

unroll_status cmd_load(struct settings *settings);

/* unroll bench --serve: measures a running server and prints percentiles of the latency. */
unroll_status cmd_load(struct settings *settings)
{
    const double seconds = number_of(settings, OPTION_SECONDS);
    struct load l = {.settings = settings,
                     .sessions = (int)integer_of(settings, OPTION_SESSIONS),
                     .lines = (int)integer_of(settings, OPTION_CONNECTIONS),
                     .rate = number_of(settings, OPTION_FRAME_RATE),
                     .deadline = number_of(settings, OPTION_DEADLINE),
                     .http = is_on(settings, OPTION_HTTP)};
    l.lines = l.lines > MOST_CONNECTIONS ? MOST_CONNECTIONS : l.lines;
    l.lines = l.lines > l.sessions ? l.sessions : l.lines;
    unroll_status status = read_url(&l);
    if (status == UNROLL_OK)
        status = read_metadata(&l);
    if (status == UNROLL_OK)
        status = open_lines(&l, seconds);
    if (status == UNROLL_OK)
        status = run_load(&l, seconds);
    if (status == UNROLL_OK)
        status = print_load(&l, seconds);
    for (int i = 0; i < l.lines && l.line; i++) {
        if (l.line[i].socket >= 0)
            close(l.line[i].socket);
        free(l.line[i].out);
        free(l.line[i].in);
        free(l.line[i].begin);
    }
    free(l.line);
    free(l.poll);
    free(l.latency);
    return status;
}
