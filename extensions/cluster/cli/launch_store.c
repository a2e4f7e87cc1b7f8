/* If a launcher was paused, its key is gone, and a swap that depends on the key fails, so its actions are rejected.
 * A thread renews the lease, so that training never waits for etcd. */
#include "extensions/cluster/cli/launch_store.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/try.h"
#include "cli/show/console.h"

static const char scheme[] = "etcd:";

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void rest(int milliseconds) { nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000L}, NULL); }

static unroll_status no_answer(void)
{
    return complain(UNROLL_COMMUNICATION, "--control: no server of etcd answers; fix: see whether most of them live");
}

/* Reads a number stored as text, as etcd writes 64-bit integers; "0": missing. */
static void take_number(const json_t *object, const char *name, char number[24])
{
    const char *text = json_string_value(json_object_get(object, name));
    snprintf(number, 24, "%s", text ? text : "0");
}

/* ---- the lease ---- */

static bool grant(struct launch_store *s)
{
    long long asked = now();
    json_t *reply = etcd_ask(&s->etcd, "lease/grant", json_pack("{sI}", "TTL", (json_int_t)(s->ttl / 1000)));
    take_number(reply, "ID", s->lease);
    json_decref(reply);
    atomic_store(&s->until, asked + s->ttl);
    return strcmp(s->lease, "0") != 0;
}

/* Renews the lease. Etcd counts from the arrival of the request and we from its start, so ours ends first. A reply
 * without TTL means that the lease has ended. */
static void renew(struct launch_store *s, struct etcd *etcd)
{
    char ttl[24];
    long long asked = now();
    json_t *reply = etcd_ask(etcd, "lease/keepalive", json_pack("{ss}", "ID", s->lease));
    const json_t *result = json_object_get(reply, "result");
    take_number(result, "TTL", ttl);
    if (result && strcmp(ttl, "0") == 0)
        atomic_store(&s->lost, true);
    else if (result)
        atomic_store(&s->until, asked + s->ttl);
    json_decref(reply);
}

static void *keep(void *argument)
{
    enum { PARTS = 4, SLICE = 50 };
    struct launch_store *s = argument;
    struct etcd etcd = s->etcd;
    while (!atomic_load(&s->ends) && !atomic_load(&s->lost)) {
        renew(s, &etcd);
        for (long long next = now() + s->ttl / PARTS; now() < next && !atomic_load(&s->ends);) rest(SLICE);
    }
    return NULL;
}

static unroll_status start_keeper(struct launch_store *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->is_kept = pthread_create(&s->keeper, NULL, keep, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s->is_kept ? UNROLL_OK : complain(UNROLL_RESOURCE, "cannot start a thread; fix: raise the limit of threads");
}

/* ---- owning ---- */

/* Creates the owner's key if there is none. Returns false if it exists, or if no server responds (*answered). */
static bool try_to_own(struct launch_store *s, bool *answered)
{
    char host[64] = "", who[96];
    gethostname(host, sizeof host - 1);
    snprintf(who, sizeof who, "%s/%ld", host, (long)getpid());
    char *value = etcd_text(who);
    json_t *reply = etcd_ask(&s->etcd, "kv/txn",
                             json_pack("{s[{ssssssss}]s[{s{ssssss}}]}", "compare", "key", s->owner, "target", "CREATE",
                                       "result", "EQUAL", "create_revision", "0", "success", "request_put", "key",
                                       s->owner, "value", value ? value : "", "lease", s->lease));
    bool owns = json_is_true(json_object_get(reply, "succeeded"));
    *answered = reply != NULL;
    take_number(json_object_get(reply, "header"), "revision", s->revision);
    free(value);
    json_decref(reply);
    return owns;
}

static unroll_status own(struct launch_store *s, bool (*stops)(void))
{
    enum { PAUSE = 200 };
    bool answered = true, said = false;
    while (!stops()) {
        if (try_to_own(s, &answered))
            return UNROLL_OK;
        if (!answered)
            return no_answer();
        if (!said)
            say_always("launch: another launcher has this run; it is waited for");
        said = true;
        rest(PAUSE);
        if (atomic_load(&s->lost))
            return no_answer();
    }
    return UNROLL_PREEMPTED;
}

/* Makes a key from the real path of the run, which may not exist yet: its existing prefix is resolved. */
static char *make_key(const char *run, const char *what)
{
    char path[PATH_MAX], whole[PATH_MAX], key[2 * PATH_MAX + 32];
    size_t length = strnlen(run, PATH_MAX - 1);
    snprintf(path, sizeof path, "%s", run);
    while (realpath(length > 0 ? path : *run == '/' ? "/" : ".", whole) == NULL && length > 0) {
        while (length > 0 && path[length - 1] == '/') path[--length] = '\0';
        while (length > 0 && path[length - 1] != '/') path[--length] = '\0';
    }
    snprintf(key, sizeof key, "unroll%s%s%s/%s", whole, run[length] ? "/" : "", run + length, what);
    return etcd_text(key);
}

unroll_status store_open(struct launch_store *s, const char *where, const char *run, double seconds,
                         bool (*stops)(void))
{
    const double min = 2; /* shorter leases end when etcd elects a leader */
    if (where == NULL)
        return UNROLL_OK;
    if (strncmp(where, scheme, sizeof scheme - 1) != 0)
        return complain(UNROLL_USAGE, "--control: '%.80s' is no store; fix: write etcd:HOST:PORT,..", where);
    TRY(etcd_open(&s->etcd, where + sizeof scheme - 1));
    s->is_etcd = true;
    s->ttl = 1000 * (int64_t)(seconds < min ? min : seconds);
    s->owner = make_key(run, "owner");
    s->newest = make_key(run, "start");
    if (s->owner == NULL || s->newest == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the names of a store");
    if (!grant(s))
        return no_answer();
    TRY(start_keeper(s));
    return own(s, stops);
}

/* ---- starts ---- */

/* Reads the newest start and the revision at which it was written; both are 0 if there is none. */
static bool read_newest(struct launch_store *s, int64_t *epoch, char revision[24])
{
    char version[24];
    json_t *reply = etcd_ask(&s->etcd, "kv/range", json_pack("{ss}", "key", s->newest));
    const json_t *found = json_array_get(json_object_get(reply, "kvs"), 0);
    take_number(found, "mod_revision", revision);
    take_number(found, "version", version); /* number of writes: one for each start */
    bool is_read = reply && number_whole_integer(version, 0, INT32_MAX, epoch) == NUMBER_OK;
    json_decref(reply);
    return is_read;
}

static bool swap(struct launch_store *s, const char *revision, int64_t epoch, int ranks, bool *answered)
{
    char words[64];
    snprintf(words, sizeof words, "start %" PRId64 " with %d ranks", epoch, ranks);
    char *value = etcd_text(words);
    json_t *reply = etcd_ask(&s->etcd, "kv/txn",
                             json_pack("{s[{ssssssss}{ssssssss}]s[{s{ssss}}]}", "compare", "key", s->owner, "target",
                                       "CREATE", "result", "EQUAL", "create_revision", s->revision, "key", s->newest,
                                       "target", "MOD", "result", "EQUAL", "mod_revision", revision, "success",
                                       "request_put", "key", s->newest, "value", value ? value : ""));
    bool swapped = json_is_true(json_object_get(reply, "succeeded"));
    *answered = reply != NULL;
    free(value);
    json_decref(reply);
    return swapped;
}

/* During a leader election, servers respond late, or a reply is lost. Then the same swap is tried again as another
 * start. */
unroll_status store_begin(struct launch_store *s, int ranks, int64_t *epoch)
{
    enum { PAUSE = 100 };
    char revision[24];
    if (!s->is_etcd) {
        ++*epoch;
        return UNROLL_OK;
    }
    for (long long begin = now(); now() - begin < 2 * s->ttl; rest(PAUSE)) {
        bool answered = false;
        if (store_is_lost(s))
            break;
        if (!read_newest(s, epoch, revision))
            continue;
        ++*epoch;
        if (swap(s, revision, *epoch, ranks, &answered))
            return UNROLL_OK;
        if (!answered)
            continue;
        atomic_store(&s->lost, true);
    }
    return store_is_lost(s)
               ? complain(UNROLL_COMMUNICATION, "the run belongs to another launcher by now: this one's lease "
                                                "has ended; fix: leave it to the other")
               : no_answer();
}

int64_t store_grants(const struct launch_store *s)
{
    long long left = s->is_etcd ? atomic_load(&s->until) - now() : INT64_MAX;
    return store_is_lost(s) || left < 0 ? 0 : left;
}

bool store_is_lost(const struct launch_store *s) { return atomic_load(&s->lost); }

void store_close(struct launch_store *s)
{
    atomic_store(&s->ends, true);
    if (s->is_kept)
        pthread_join(s->keeper, NULL);
    if (s->is_kept && !store_is_lost(s))
        json_decref(etcd_ask(&s->etcd, "lease/revoke", json_pack("{ss}", "ID", s->lease)));
    free(s->owner);
    free(s->newest);
}
