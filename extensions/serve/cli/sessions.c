/* Sessions of a model: a table by key, the free ones, and all in the order of their use. */
#include <stdlib.h>
#include <string.h>

#include "cli/show/console.h"
#include "extensions/serve/cli/serve.h"

unroll_status sessions_open(struct served *m)
{
    m->buckets = 16;
    while (m->buckets < 2 * (size_t)m->slots) m->buckets *= 2;
    m->state_bytes = unroll_stream_pool_state_bytes(m->pool);
    m->table = calloc(m->buckets, sizeof *m->table);
    m->session = calloc((size_t)m->slots, sizeof *m->session);
    m->batch_inputs = calloc(BATCH, (size_t)(m->inputs + m->outputs) * sizeof *m->batch_inputs);
    bool whole = m->table && m->session && m->batch_inputs;
    for (int i = 0; i < PRIORITIES; i++)
        whole &= (m->queue[i].step = calloc((size_t)m->slots, sizeof *m->queue[i].step)) != NULL;
    if (!whole)
        return complain(UNROLL_RESOURCE, "no memory for %d sessions; fix: use a smaller --sessions", m->slots);
    m->batch_outputs = m->batch_inputs + BATCH * (size_t)m->inputs;
    for (int i = m->slots; i-- > 0;) {
        m->session[i].slot = i;
        m->session[i].chain = m->idle;
        m->idle = &m->session[i];
    }
    return UNROLL_OK;
}

void sessions_close(struct served *m)
{
    free(m->table);
    free(m->session);
    free(m->batch_inputs);
    free(m->before);
}

/* The keys are of strangers, but each model has as many sessions at most as its table has room for. */
static uint64_t hash_of(const char *key)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *key; key++) hash = (hash ^ (unsigned char)*key) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

struct session *session_find(const struct served *m, const char *key)
{
    const uint64_t hash = hash_of(key);
    struct session *s = m->table[hash & (m->buckets - 1)];
    while (s && (s->hash != hash || strcmp(s->key, key) != 0)) s = s->chain;
    return s;
}

static void unlink_use(struct served *m, struct session *s)
{
    *(s->newer ? &s->newer->older : &m->newest) = s->older;
    *(s->older ? &s->older->newer : &m->oldest) = s->newer;
}

static void link_use(struct served *m, struct session *s)
{
    s->newer = NULL;
    s->older = m->newest;
    *(m->newest ? &m->newest->newer : &m->oldest) = s;
    m->newest = s;
    s->used = now_us();
}

void session_touch(struct served *m, struct session *s)
{
    unlink_use(m, s);
    link_use(m, s);
}

struct session *session_begin(struct served *m, const char *key)
{
    for (struct session *old = m->oldest; !m->idle && m->kept && old; old = old->newer)
        if (old->kept)
            session_end(m, old);
    struct session *s = m->idle;
    if (!s)
        return NULL;
    m->idle = s->chain;
    m->used++;
    served_keep(m);
    *s = (struct session){.slot = s->slot, .hash = hash_of(key)};
    strcpy(s->key, key);
    if (*key) {
        s->chain = m->table[s->hash & (m->buckets - 1)];
        m->table[s->hash & (m->buckets - 1)] = s;
    }
    link_use(m, s);
    unroll_stream_pool_reset(m->pool, s->slot);
    return s;
}

/* The caller holds a reference to the model. */
void session_end(struct served *m, struct session *s)
{
    struct session **at = &m->table[s->hash & (m->buckets - 1)];
    while (*at && *at != s) at = &(*at)->chain;
    if (*at)
        *at = s->chain;
    unlink_use(m, s);
    s->chain = m->idle;
    m->idle = s;
    m->used--;
    m->kept -= s->kept;
    s->kept = s->own = false;
    m->references--; /* never the last */
}

void sessions_expire(struct server *server, struct served *m)
{
    const int64_t limit = now_us() - (int64_t)server->idle_seconds * 1000000;
    served_keep(m);
    while (m->oldest && m->oldest->used < limit && !m->oldest->first) {
        session_end(m, m->oldest);
        m->expired++;
    }
    served_release(server, m);
}

enum frame_status session_allows(const struct session *s, const struct turn *t, bool *again)
{
    *again = s && t->number && t->number == s->number && s->repeats && !s->first;
    if (*again)
        return FRAME_OK;
    if (!s || s->kept)
        return !t->start ? FRAME_UNKNOWN : t->number > 1 ? FRAME_ORDER : FRAME_OK;
    if (t->start || s->ends)
        return t->start ? FRAME_DUPLICATE : FRAME_UNKNOWN;
    return t->number && (s->first || t->number != s->number + 1) ? FRAME_ORDER : FRAME_OK;
}

void session_count(struct served *m, struct session *s, uint32_t number, bool again)
{
    if (!m->before && number)
        m->before = calloc((size_t)m->slots, m->state_bytes);
    unsigned char *before = m->before ? m->before + (size_t)s->slot * m->state_bytes : NULL;
    s->repeats = before && number &&
                 (again ? unroll_stream_pool_load(m->pool, s->slot, before, m->state_bytes)
                        : unroll_stream_pool_save(m->pool, s->slot, before, m->state_bytes)) == UNROLL_OK;
    s->number = number ? number : s->number;
    m->kept -= s->kept;
    s->kept = false;
}
