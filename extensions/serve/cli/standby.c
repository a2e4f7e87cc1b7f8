/* A second server with a copy of all sessions. After each step its session's state goes there over a WebSocket, and the
 * answer is held until the other server has it: what a client has received is never lost with this server. A message
 * has records (inference.h), its answer { u64 number of records; u64 fingerprint that was refused, or 0 }. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "cli/show/console.h"
#include "extensions/serve/cli/serve.h"

enum {
    ANSWER = 16,
    MOST_AT_ONCE = 256 << 10, /* bytes of a message of the first copy */
    PATIENCE = 800000,        /* microseconds for an answer; then the standby counts as lost */
    RETRY = 500000            /* microseconds between connections */
};

struct standby {
    char host[256];
    int port;
    bool tls, linked, said; /* said: the note that it is not there */
    struct peer *peer;
    int64_t tried;
    struct buffer out;
    uint64_t added, acknowledged; /* records of this connection */
    uint64_t records, lost;       /* in all; connections */
    uint64_t refused;             /* fingerprint that a note was printed for */
    struct reply *first, *last;   /* that are held */
    bool copying;                 /* the first copy: sessions from `slot` of the model of that number */
    int model, slot;
};

char standby_link, standby_source;

/* ---- records ----------------------------------------------------------------------------- */

static void add_record(struct standby *b, const struct served *m, const struct session *s, bool ends)
{
    const size_t key = strlen(s->key), count = RECORD_HEAD + key + m->state_bytes;
    uint8_t *to = (uint8_t *)buffer_extend(&b->out, count);
    if (!to)
        return;
    put_number(to, m->fingerprint, 8);
    put_number(to + 8, s->number, 4);
    put_number(to + 12, (ends ? FRAME_END : 0) | (uint32_t)key << 8, 4);
    put_number(to + 16, (uint32_t)m->state_bytes, 4);
    memcpy(to + RECORD_HEAD, s->key, key);
    if (unroll_stream_pool_save(m->pool, s->slot, to + RECORD_HEAD + key, m->state_bytes) != UNROLL_OK)
        b->out.failed = true;
    b->added++;
    b->records++;
}

void standby_add(struct server *s, const struct served *m, const struct session *session)
{
    if (s->standby && s->standby->linked && *session->key)
        add_record(s->standby, m, session, session->ends && !session->first);
}

/* The next sessions of the first copy. One that steps now is added after that step. */
static void copy_sessions(const struct server *s, struct standby *b)
{
    int i = 0;
    const struct served *m = s->models;
    for (; m && i < b->model; m = m->next) i++;
    for (; m && b->out.count < MOST_AT_ONCE; m = m->next, b->model++, b->slot = 0) {
        for (; b->slot < m->slots && b->out.count < MOST_AT_ONCE; b->slot++)
            if (m->session[b->slot].own && *m->session[b->slot].key && !m->session[b->slot].first)
                add_record(b, m, &m->session[b->slot], false);
        if (b->slot < m->slots)
            break;
    }
    b->copying = m != NULL;
}

/* ---- replies ----------------------------------------------------------------------------- */

bool standby_holds(struct server *s, struct reply *r)
{
    struct standby *b = s->standby;
    if (!b || !b->linked || b->added == b->acknowledged)
        return false;
    r->position = b->added;
    r->held = now_us();
    r->after = NULL;
    *(b->first ? &b->last->after : &b->first) = r;
    b->last = r;
    return true;
}

static void release(struct server *s, uint64_t position)
{
    struct standby *b = s->standby;
    while (b->first && b->first->position <= position) {
        struct reply *r = b->first;
        b->first = r->after;
        reply_send(s, r);
    }
}

bool standby_is_busy(const struct server *s) { return s->standby && s->standby->first; }

/* ---- the connection ---------------------------------------------------------------------- */

void standby_linked(struct server *s)
{
    struct standby *b = s->standby;
    b->linked = b->copying = true;
    b->said = false;
    b->added = b->acknowledged = b->refused = 0;
    b->model = b->slot = 0;
    b->out.count = 0;
    b->out.failed = false;
    say("sessions are copied to %s:%d", b->host, b->port);
}

/* Answers are no longer held: clients are served without a copy. */
void standby_lost(struct server *s)
{
    struct standby *b = s->standby;
    if (!b) /* this server ends */
        return;
    if (!b->said)
        say_always(
            "note: no standby at %s:%d: sessions are served without a copy until it is there; fix: start 'unroll "
            "serve' with the same models there",
            b->host, b->port);
    b->said = true;
    b->lost += b->linked;
    b->linked = false;
    b->peer = NULL;
    release(s, UINT64_MAX);
}

void standby_acknowledged(struct server *s, const uint8_t *bytes, size_t count)
{
    struct standby *b = s->standby;
    if (count != ANSWER || get_number(bytes, 8) > b->added - b->acknowledged) {
        peer_drop(b->peer);
        return;
    }
    const uint64_t refused = get_number(bytes + 8, 8);
    for (const struct served *m = s->models; m && refused && refused != b->refused; m = m->next)
        if (m->fingerprint == refused)
            say_always(
                "note: the standby cannot keep sessions of '%s'; fix: start it with the same models, --dtype and "
                "--sessions",
                m->name);
    b->refused = refused ? refused : b->refused;
    b->acknowledged += get_number(bytes, 8);
    release(s, b->acknowledged);
}

static void send_records(struct standby *b)
{
    uint8_t *to = b->out.failed ? NULL : peer_message(b->peer, b->out.count);
    if (!to) { /* what is missing there is copied over the next connection */
        peer_drop(b->peer);
        return;
    }
    memcpy(to, b->out.bytes, b->out.count);
    b->out.count = 0;
    peer_send_message(b->peer);
}

void standby_run(struct server *s)
{
    struct standby *b = s->standby;
    const int64_t now = b ? now_us() : 0;
    if (!b)
        return;
    if (!b->peer && now - b->tried > RETRY) {
        b->tried = now;
        b->peer = wire_connect(s->wire, b->host, b->port, b->tls, "/v2/standby", &standby_link);
    }
    if (!b->linked)
        return;
    if (b->first && now - b->first->held > PATIENCE) {
        struct peer *hangs = b->peer;
        standby_lost(s);
        peer_drop(hangs);
        return;
    }
    if (b->copying && peer_waiting(b->peer) < MOST_AT_ONCE)
        copy_sessions(s, b);
    if (b->out.count)
        send_records(b);
}

unroll_status standby_open(struct server *s, const char *url)
{
    static const char plain[] = "http://", tls[] = "https://";
    struct standby *b = calloc(1, sizeof *b);
    int64_t port = 0;
    if (!b)
        return complain(UNROLL_RESOURCE, "no memory for the standby; fix: free some");
    s->standby = b;
    b->tls = strncmp(url, tls, sizeof tls - 1) == 0;
    const char *host = url + (b->tls ? sizeof tls : sizeof plain) - 1, *colon = strrchr(url, ':');
    const bool fits = (b->tls || strncmp(url, plain, sizeof plain - 1) == 0) && colon > host &&
                      colon - host < (ptrdiff_t)sizeof b->host &&
                      number_whole_integer(colon + 1, 1, 65535, &port) == NUMBER_OK;
    if (!fits)
        return complain(UNROLL_USAGE,
                        "--standby: '%s' is not http://HOST:PORT; fix: write for example --standby "
                        "http://127.0.0.1:8001",
                        url);
    memcpy(b->host, host, (size_t)(colon - host));
    b->port = (int)port;
    b->tried = -RETRY;
    return UNROLL_OK;
}

void standby_close(struct server *s)
{
    struct standby *b = s->standby;
    if (!b)
        return;
    release(s, UINT64_MAX);
    s->standby = NULL;
    buffer_free(&b->out);
    free(b);
}

void standby_print(const struct server *s, struct buffer *to)
{
    const struct standby *b = s->standby;
    metric_print(to, "standby_connected", "gauge", "1 while sessions are copied to a second server.", b && b->linked);
    metric_print(to, "standby_records_total", "counter", "States that were copied to a second server.",
                 b ? (double)b->records : 0);
    metric_print(to, "standby_lost_total", "counter", "Connections to a second server that were lost.",
                 b ? (double)b->lost : 0);
}

/* ---- the other side ---------------------------------------------------------------------- */

/* A session that steps here stays as it is. */
static bool take_state(struct served *m, const struct record *r)
{
    struct session *s = session_find(m, r->key);
    if (s && (s->first || (r->number && r->number < s->number && r->number != 1)))
        return true;
    if (s && r->number == 1 && s->number != 1) {
        session_end(m, s); /* its key is used again */
        s = NULL;
    }
    if (!s && !(s = session_begin(m, r->key)))
        return false;
    if (!r->number || r->number != s->number) {
        const bool follows = r->number && r->number == s->number + 1;
        session_count(m, s, r->number, false);
        s->repeats &= follows;
    }
    const bool loaded = unroll_stream_pool_load(m->pool, s->slot, r->state, r->bytes) == UNROLL_OK;
    session_touch(m, s);
    s->own = false;
    m->kept += (r->flags & FRAME_END && s->repeats) - s->kept;
    s->kept = r->flags & FRAME_END && s->repeats;
    if (!loaded || (r->flags & FRAME_END && !s->kept))
        session_end(m, s);
    return loaded;
}

static bool take(struct server *s, const struct record *r)
{
    struct served *m = s->models;
    while (m && (!m->pool || m->fingerprint != r->fingerprint)) m = m->next;
    if (!m)
        return false;
    served_keep(m);
    const bool taken = take_state(m, r);
    served_release(s, m);
    return taken;
}

void standby_take(struct server *s, struct peer *peer, const uint8_t *bytes, size_t count)
{
    uint64_t refused = 0, records = 0;
    struct record r;
    for (size_t at = 0, length; at < count; at += length, records++) {
        if (!(length = record_at(bytes + at, count - at, &r))) {
            peer_drop(peer);
            return;
        }
        refused = take(s, &r) ? refused : r.fingerprint;
    }
    uint8_t *to = peer_message(peer, ANSWER);
    if (!to)
        return;
    put_number(to, records, 8);
    put_number(to + 8, refused, 8);
    peer_send_message(peer);
}
