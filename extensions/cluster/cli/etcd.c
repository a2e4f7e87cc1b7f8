/* HTTP 1.0: each request has its own connection, whose end marks the end of the reply, so that replies need no
 * framing. */
#include "extensions/cluster/cli/etcd.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/run/launch_text.h"

enum { REPLY = 65536 };

static bool add_server(struct etcd *etcd, const char *server)
{
    const char *colon = strrchr(server, ':');
    int64_t port;
    if (colon == NULL || colon == server || colon - server >= (int)sizeof etcd->host[0] ||
        number_whole_integer(colon + 1, 1, 65535, &port) != NUMBER_OK || etcd->servers == ETCD_SERVERS)
        return false;
    snprintf(etcd->host[etcd->servers], sizeof etcd->host[0], "%.*s", (int)(colon - server), server);
    snprintf(etcd->port[etcd->servers++], sizeof etcd->port[0], "%d", (int)port);
    return true;
}

unroll_status etcd_open(struct etcd *etcd, const char *servers)
{
    char list[1024], *rest = list;
    bool is_sound = snprintf(list, sizeof list, "%s", servers) < (int)sizeof list;
    *etcd = (struct etcd){.servers = 0};
    for (char *one = strtok_r(list, ",", &rest); one && is_sound; one = strtok_r(NULL, ",", &rest))
        is_sound = add_server(etcd, one);
    if (is_sound && etcd->servers > 0)
        return UNROLL_OK;
    return complain(UNROLL_USAGE,
                    "--control: 'etcd:%.80s' is not etcd:HOST:PORT,..; fix: name 1 to %d servers, for example "
                    "etcd:node1:2379,node2:2379",
                    servers, ETCD_SERVERS);
}

char *etcd_text(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strlen(text), at = 0;
    char *coded = malloc(length / 3 * 4 + 5);
    for (size_t i = 0; coded && i < length; i += 3) {
        unsigned bits = 0;
        for (size_t k = 0; k < 3; k++) bits = bits << 8 | (i + k < length ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k < 4; k++) coded[at++] = i + k > length ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
    if (coded)
        coded[at] = '\0';
    return coded;
}

/* ---- one server ---- */

static int reach(const char *host, const char *port)
{
    const struct timeval second = {.tv_sec = 1};
    struct addrinfo wish = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(host, port, &wish, &found) != 0)
        return -1;
    int connection = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection >= 0) {
        setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second); /* also applies to connect() */
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
        if (connect(connection, found->ai_addr, found->ai_addrlen) != 0) {
            close(connection);
            connection = -1;
        }
    }
    freeaddrinfo(found);
    return connection;
}

static bool send_all(int connection, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(connection, text, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        text += sent;
        length -= (size_t)sent;
    }
    return true;
}

static json_t *read_reply(int connection)
{
    char *text = malloc(REPLY);
    size_t length = 0;
    ssize_t count = 1;
    while (text && count > 0 && length < REPLY - 1) {
        count = recv(connection, text + length, REPLY - 1 - length, 0);
        length += count > 0 ? (size_t)count : 0;
    }
    if (text)
        text[length] = '\0';
    json_t *reply = text && count == 0 ? http_reply(text) : NULL;
    free(text);
    return reply;
}

static json_t *ask_server(const char *host, const char *port, const char *path, const char *body)
{
    char head[256];
    int connection = reach(host, port);
    int length =
        snprintf(head, sizeof head,
                 "POST /v3/%s HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                 path, host, strlen(body));
    bool asked =
        connection >= 0 && send_all(connection, head, (size_t)length) && send_all(connection, body, strlen(body));
    json_t *reply = asked ? read_reply(connection) : NULL;
    if (connection >= 0)
        close(connection);
    return reply;
}

json_t *etcd_ask(struct etcd *etcd, const char *path, json_t *request)
{
    char *body = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_t *reply = NULL;
    json_decref(request);
    for (int i = 0; body && !reply && i < etcd->servers; i++) {
        int server = (etcd->last + i) % etcd->servers;
        reply = ask_server(etcd->host[server], etcd->port[server], path, body);
        if (reply)
            etcd->last = server;
    }
    free(body);
    return reply;
}
