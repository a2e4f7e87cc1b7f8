/* etcd, asked through its JSON gateway: a request, a reply, by whichever of its servers answers. Not what is kept
 * there: launch_store.h. */
#ifndef CLI_ETCD_H
#define CLI_ETCD_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "unroll.h"

enum { ETCD_SERVERS = 8 };

struct etcd {
    char host[ETCD_SERVERS][104], port[ETCD_SERVERS][8];
    int servers, last; /* the one that answered last is asked first */
};

/* "HOST:PORT" or several, with commas between them. */
unroll_status etcd_open(struct etcd *, const char *servers);
/* POST of an object, which is taken over, to /v3/PATH: the reply, to be freed; NULL: no server answers, or all refuse.
 * Each has a second. */
json_t *etcd_ask(struct etcd *, const char *path, json_t *request);
/* Keys and values go as base64. Freed by the caller; NULL: no memory. */
char *etcd_text(const char *text);

#endif
