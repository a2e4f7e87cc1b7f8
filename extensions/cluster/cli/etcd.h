/* A client for etcd's JSON gateway: a request and a reply, from any server that responds. For the stored keys see
 * launch_store.h. */
#ifndef CLI_ETCD_H
#define CLI_ETCD_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "unroll.h"

enum { ETCD_SERVERS = 8 };

struct etcd {
    char host[ETCD_SERVERS][104], port[ETCD_SERVERS][8];
    int servers, last; /* last: the last server that responded is tried first */
};

/* Parses "HOST:PORT", or several separated by commas. */
unroll_status etcd_open(struct etcd *, const char *servers);
/* Sends an object by POST to /v3/PATH and returns the reply, which the caller frees, or NULL if no server responds
 * or all refuse. Takes ownership of the request. Each server has a timeout of one second. */
json_t *etcd_ask(struct etcd *, const char *path, json_t *request);
/* Returns a key or value as base64, which the caller frees, or NULL if there is no memory. */
char *etcd_text(const char *text);

#endif
