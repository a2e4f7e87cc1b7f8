/* HTTP, server-sent events and WebSocket on one thread, by libwebsockets, which only wire.c includes. A peer is a
 * connection; it may close at any moment, so who answers later keeps a reference. */
#ifndef SERVE_WIRE_H
#define SERVE_WIRE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unroll.h"

struct wire;
struct peer;

enum { WIRE_PATH = 512 };

/* A request whose body has arrived. The texts and bytes are valid while the handler runs. */
struct request {
    bool post;
    char path[WIRE_PATH]; /* without the query, decoded by the client's library */
    const char *body;
    size_t bytes;
    size_t header; /* bytes of JSON at the start of the body (Inference-Header-Content-Length) */
};

struct wire_handlers {
    /* Answers with peer_respond or peer_begin_events, now or later. */
    void (*request)(void *arg, struct peer *, const struct request *);
    /* May this WebSocket open? *context is kept for peer_context. */
    bool (*open)(void *arg, struct peer *, const char *path, void **context);
    void (*message)(void *arg, struct peer *, const uint8_t *bytes, size_t count);
    void (*close)(void *arg, struct peer *);
    void (*linked)(void *arg); /* the connection of wire_connect is open */
    void (*answered)(void *arg, const struct peer *, const char *path, int status, double seconds);
    void (*tick)(void *arg); /* about once a second */
    void *arg;
};

struct wire_config {
    const char *host;              /* the address to listen on */
    int port;                      /* 0: any free one */
    const char *certificate, *key; /* files; NULL: no TLS */
    const char *token;             /* every request needs it, but health; NULL: none */
    size_t most;                   /* bytes of a body or message */
    int connections;               /* at one time */
    bool connects;                 /* wire_connect is used, with TLS */
};

/* Counters of all connections. */
struct wire_counts {
    uint64_t accepted, open, requests, refused, dropped; /* dropped: too slow to read, or too slow to send */
};

unroll_status wire_check_address(const struct wire_config *);
unroll_status wire_check_certificate(const struct wire_config *);
unroll_status wire_open(const struct wire_config *, const struct wire_handlers *, struct wire **);
void wire_close(struct wire *);
int wire_port(const struct wire *);
const struct wire_counts *wire_counts(const struct wire *);
/* Handles what has arrived. waits: until something arrives or wire_wake is called. false: it has failed. */
bool wire_serve(struct wire *, bool waits);
/* Ends a wait; from any thread, and from a signal handler. */
void wire_wake(struct wire *);

/* Opens a WebSocket to another server, one at a time. The same token is sent, and with TLS the certificate of this
 * server is trusted, too. `close` is called when it fails or ends. NULL: it failed at once. */
struct peer *wire_connect(struct wire *, const char *host, int port, bool tls, const char *path, void *context);

void peer_keep(struct peer *);
void peer_release(struct peer *);
bool peer_is_open(const struct peer *);
void *peer_context(const struct peer *);
const char *peer_address(const struct peer *);
size_t peer_waiting(const struct peer *); /* bytes that it has not read */
/* Closes the connection soon. */
void peer_drop(struct peer *);

/* The whole answer to a request. `header` is 0, or the bytes of JSON at the start of the body. */
void peer_respond(struct peer *, int status, const char *type, const void *body, size_t bytes, size_t header);
/* The same with the seconds of Retry-After. */
void peer_refuse(struct peer *, int status, int retry, const void *body, size_t bytes);
/* Server-sent events, whose stream ends with peer_end_events. */
void peer_begin_events(struct peer *);
void peer_event(struct peer *, const char *data, size_t bytes);
void peer_end_events(struct peer *);
/* A binary message of a WebSocket. Returns where to write `bytes` bytes; NULL: closed, no memory, or it reads too
 * slowly and is closed. peer_send_message sends it. */
uint8_t *peer_message(struct peer *, size_t bytes);
void peer_send_message(struct peer *);

#endif
