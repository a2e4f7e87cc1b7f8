/* The device that combines several devices (several.h): stores, executables, runs. */
#include "extensions/cluster/devices/several.h"
#include "base/system/clock.h"
#include "base/memory.h"
#include "base/system/processor.h"
#include "comm/comm.h"
#include "device/measure.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { SECONDS_OF_A_WAIT = 60 };

/* ---- stores ---------------------------------------------------------------------------- */

static unroll_status several_store_new(const struct plan *plan, void **store)
{
    (void)plan;
    struct several_store *s;
    TRY(ALLOCATE(s, 1, "for weights on several devices"));
    *store = s;
    return UNROLL_OK;
}

static const struct device *device_of(const struct several_store *s, int rank)
{
    return s->entries.device[entry_of(&s->entries, rank)];
}

void several_drop_stores(struct several_store *s)
{
    for (int r = 0; s->store && r < s->ranks; r++) {
        if (s->store[r])
            device_of(s, r)->store_free(s->store[r]);
        s->store[r] = NULL;
    }
}

static void several_store_free(void *store)
{
    struct several_store *s = store;
    if (s) {
        several_drop_stores(s);
        release(s->store);
        release(s->rate);
        release(s->found);
        release(s->traits);
    }
    release(s);
}

static unroll_status check_cut(const struct entries *e, const int mesh[M_N], int ranks)
{
    if (mesh[M_HIDDEN] > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "hidden=%d: several devices don't exchange units in each step; fix: cut along batch or layer",
                    mesh[M_HIDDEN]);
    return entries_check(e, ranks);
}

/* The first executable decides the division for all sessions of the model. */
static unroll_status use_entries(struct several_store *s, const struct device_options *options)
{
    struct entries e = s->entries;
    int mesh[M_N], ranks = 1;
    for (int m = 0; m < M_N; m++) ranks *= mesh[m] = options->mesh[m] ? options->mesh[m] : 1;
    if (s->ranks && ranks == 1 && !options->which) /* no options: same as the others */
        return UNROLL_OK;
    if (options->which)
        TRY(entries_read(options->which, &e));
    TRY(check_cut(&e, mesh, ranks));
    if (s->ranks && (memcmp(mesh, s->mesh, sizeof mesh) || e.count != s->entries.count ||
                     memcmp(e.text, s->entries.text, sizeof e.text)))
        return fail(UNROLL_UNSUPPORTED,
                    "the model has sessions on other devices, or cut otherwise: all of its sessions "
                    "are divided alike; fix: free those first, or load the model twice");
    if (s->ranks)
        return UNROLL_OK;
    TRY(entries_traits(&e, options->isa, ranks, &s->traits));
    TRY(ALLOCATE(s->store, (size_t)ranks, "for weights on several devices"));
    memcpy(s->mesh, mesh, sizeof mesh);
    s->entries = e;
    s->ranks = ranks;
    return UNROLL_OK;
}

/* ---- members --------------------------------------------------------------------------- */

/* Divides the processors among the entries that compute on them. */
static int threads_of(const struct several_store *s, int asked)
{
    int on_cpu = 0;
    for (int r = 0; r < s->ranks; r++) on_cpu += device_of(s, r)->workers == 0 && !device_of(s, r)->cuts;
    const int each = cpu_count() / (on_cpu ? on_cpu : 1);
    return asked ? asked : each > 1 ? each : 1;
}

static struct device_options options_of(const struct several *x, int rank, const struct device_options *asked)
{
    const struct several_store *s = x->store;
    const bool has_isa = !strcmp(device_of(s, rank)->name, "cpu"); /* other devices reject an ISA */
    return (struct device_options){.which = entry_which(&s->entries, rank),
                                   .isa = has_isa ? asked->isa : NULL,
                                   .threads = threads_of(s, asked->threads),
                                   .comm = x->comm[rank],
                                   .staged = true};
}

/* Returns the plan configuration of this rank, for its device. */
struct plan_config member_config(const struct several *x, int rank)
{
    const struct several_store *s = x->store;
    const struct member *m = &x->member[rank];
    struct plan_config c = x->plan->config;
    memcpy(c.mesh, s->mesh, sizeof c.mesh);
    c.rate = s->rate;
    c.threads = m->options.threads;
    c.traits_of = s->traits;
    plan_config_at(&c, rank);
    c.queues = plan_queues_for(x->plan->model, &c, m->device->workers ? m->device->workers : c.threads);
    return c;
}

/* Measures each kind of device once. */
static unroll_status measure_rates(struct several *x)
{
    struct several_store *s = x->store;
    double *rate;
    if (s->rate)
        return UNROLL_OK;
    TRY(ALLOCATE(rate, (size_t)s->ranks, "for the rates of devices"));
    unroll_status status = UNROLL_OK;
    for (int r = 0; r < s->ranks && status == UNROLL_OK; r++) {
        const struct plan_config c = member_config(x, r);
        int same = 0;
        while (same < r &&
               strcmp(s->entries.text[entry_of(&s->entries, same)], s->entries.text[entry_of(&s->entries, r)]))
            same++;
        rate[r] = rate[same];
        if (same == r)
            status = device_rate(x->member[r].device, &x->member[r].options, x->plan->model, &c, &rate[r]);
    }
    if (status == UNROLL_OK)
        s->rate = rate;
    else
        release(rate);
    TRY(status);
    return ALLOCATE(s->found, (size_t)s->ranks, "for the rates of devices");
}

static unroll_status make_plans(struct several *x)
{
    struct plan *plans[RANKS_MAX];
    for (int r = 0; r < x->store->ranks; r++) {
        const struct plan_config c = member_config(x, r);
        TRY(plan_new(x->plan->model, &c, &x->member[r].plan));
        plans[r] = x->member[r].plan;
    }
    return check_mesh(plans, x->store->ranks);
}

static unroll_status make_executables(struct several *x)
{
    struct several_store *s = x->store;
    for (int r = 0; r < s->ranks; r++) {
        struct member *m = &x->member[r];
        if (!s->store[r])
            TRY(m->device->store_new(m->plan, &s->store[r]));
        TRY(m->device->executable_new(m->plan, s->store[r], &m->options, &m->executable));
    }
    return UNROLL_OK;
}

unroll_status members_make(struct several *x)
{
    TRY(make_plans(x));
    TRY(make_executables(x));
    return boxes_find(x);
}

void members_drop(struct several *x)
{
    for (int r = 0; x->member && r < x->store->ranks; r++) {
        struct member *m = &x->member[r];
        if (m->executable)
            m->device->executable_free(m->executable);
        plan_free(m->plan);
        release(m->twin);
        m->executable = NULL;
        m->plan = NULL;
        m->twin = NULL;
    }
}

static void name_isa(struct several *x)
{
    size_t used = 0;
    for (int r = 0; r < x->store->ranks && used < sizeof x->isa; r++) {
        const struct member *m = &x->member[r];
        used +=
            (size_t)snprintf(x->isa + used, sizeof x->isa - used, "%s%s", r ? ", " : "", m->device->isa(m->executable));
    }
}

static unroll_status make_arrays(struct several *x)
{
    const struct plan *p = x->plan;
    const size_t n = (size_t)p->buffers + 1;
    TRY(ALLOCATE(x->host, n, "for arrays of several devices"));
    TRY(ALLOCATE(x->newer, n, "for arrays of several devices"));
    TRY(ALLOCATE(x->written, n, "for arrays of several devices"));
    for (int i = 0; i < p->buffers; i++)
        if ((p->buffer[i].segment == SEG_IO || p->buffer[i].segment == SEG_VALUES) && p->buffer[i].bytes)
            TRY(ALLOCATE(x->host[i], p->buffer[i].bytes, "for '%s'", p->buffer[i].name));
    return UNROLL_OK;
}

/* ---- executables ----------------------------------------------------------------------- */

static void several_free(void *executable)
{
    struct several *x = executable;
    if (!x)
        return;
    struct several **at = &x->store->first;
    while (*at && *at != x) at = &(*at)->next;
    if (*at)
        *at = x->next;
    team_free(x->team);
    members_drop(x);
    if (x->comm)
        comm_threads_free(x->comm, x->store->ranks);
    for (int i = 0; x->host && i < x->plan->buffers; i++) release(x->host[i]);
    release(x->host);
    release(x->newer);
    release(x->written);
    release(x->member);
    release(x->comm);
    release(x);
}

/* Makes the ranks of an executable: communication, plans, arrays, members and threads. */
static unroll_status fill(struct several *x, const struct device_options *options)
{
    struct several_store *s = x->store;
    if (options->profile)
        return fail(UNROLL_UNSUPPORTED, "profile: several devices take no times of operations; fix: one device");
    if (x->plan->config.sum == COMM_NATIVE)
        return fail(UNROLL_UNSUPPORTED, "sum = native is MPI's own, and several devices of one process have none; fix: "
                                        "auto");
    TRY(use_entries(s, options));
    TRY(ALLOCATE(x->member, (size_t)s->ranks, "for several devices"));
    TRY(ALLOCATE(x->comm, (size_t)s->ranks, "for several devices"));
    TRY(comm_threads_new(s->ranks, SECONDS_OF_A_WAIT, x->comm));
    for (int r = 0; r < s->ranks; r++) {
        x->member[r].device = device_of(s, r);
        x->member[r].options = options_of(x, r, options);
    }
    TRY(measure_rates(x));
    TRY(make_arrays(x));
    TRY(members_make(x));
    name_isa(x);
    TRY(team_new(s->ranks, &x->team));
    x->next = s->first;
    s->first = x;
    return UNROLL_OK;
}

static unroll_status several_new(const struct plan *plan, void *store, const struct device_options *options,
                                 void **executable)
{
    struct several *x;
    TRY(ALLOCATE(x, 1, "for several devices"));
    x->plan = plan;
    x->store = store;
    unroll_status status = fill(x, options);
    if (status != UNROLL_OK) {
        several_free(x);
        return status;
    }
    *executable = x;
    return UNROLL_OK;
}

/* ---- running --------------------------------------------------------------------------- */

/* Runs one rank on its own thread. If it fails, it ends the waits of the others. */
static void run_member(void *several, int rank)
{
    struct several *x = several;
    struct member *m = &x->member[rank];
    const double begin = clock_seconds(), exposed = comm_totals(x->comm[rank]).exposed;
    m->status = m->device->run(m->executable, x->first, x->last);
    if (m->status == UNROLL_OK && m->device->wait)
        m->status = m->device->wait(m->executable);
    const double waited = comm_totals(x->comm[rank]).exposed - exposed;
    m->seconds += m->device->seconds ? m->device->seconds(m->executable) : clock_seconds() - begin - waited;
    if (m->status == UNROLL_OK)
        return;
    snprintf(m->message, sizeof m->message, "%s", unroll_last_error());
    comm_threads_end(x->comm[rank]);
}

/* Returns the original error, not that of a rank that waited for it. */
static unroll_status told_of(struct several *x)
{
    const struct member *told = NULL;
    int rank = 0;
    for (int r = 0; r < x->store->ranks; r++)
        if (x->member[r].status != UNROLL_OK && (!told || told->status == UNROLL_COMMUNICATION))
            told = &x->member[r], rank = r;
    if (!told)
        return UNROLL_OK;
    x->lost = true;
    return fail(told->status, "rank %d, on %s: %s", rank, x->store->entries.text[entry_of(&x->store->entries, rank)],
                told->message);
}

static unroll_status check_there(const struct several *x)
{
    return x->lost ? fail(UNROLL_RESOURCE, "one of several devices failed, and their data are lost; fix: resume from "
                                           "the last checkpoint")
                   : UNROLL_OK;
}

static unroll_status to_here(struct several *x, int buffer)
{
    if (x->newer[buffer] != SIDE_RANKS)
        return UNROLL_OK;
    TRY(boxes_gather(x, buffer, x->host[buffer]));
    x->newer[buffer] = SIDE_BOTH;
    return UNROLL_OK;
}

/* Copies what the host changed to the ranks. Sums that will be recomputed start as summands. */
static unroll_status give(struct several *x, enum phase first)
{
    const bool as_summands = first <= PHASE_SUM;
    for (int i = 0; i < x->plan->buffers; i++) {
        if (!x->host[i])
            continue;
        if (x->summed && as_summands && boxes_are_summands(x, i)) {
            TRY(to_here(x, i));
            x->newer[i] = SIDE_HERE;
        }
        if (x->newer[i] == SIDE_HERE) {
            TRY(boxes_scatter(x, i, x->host[i], as_summands));
            x->newer[i] = SIDE_BOTH;
        }
    }
    return UNROLL_OK;
}

unroll_status members_run(struct several *x, enum phase first, enum phase last)
{
    x->first = first;
    x->last = last;
    TRY(team_run(x->team, run_member, x));
    return told_of(x);
}

static unroll_status several_run(void *executable, enum phase first, enum phase last)
{
    struct several *x = executable;
    TRY(check_there(x));
    if (x->store->divides && first == PHASE_FORWARD && plan_updates(x->plan))
        TRY(several_rebalance(x));
    TRY(give(x, first));
    TRY(members_run(x, first, last));
    if (last == PHASE_UPDATE)
        divide_watch(x);
    if (first <= PHASE_SUM)
        x->summed = last >= PHASE_SUM;
    for (int i = 0; i < x->plan->buffers; i++)
        for (int phase = first; phase <= (int)last; phase++)
            if (x->host[i] && x->written[i] >> phase & 1)
                x->newer[i] = SIDE_RANKS;
    return UNROLL_OK;
}

/* ---- looking inside -------------------------------------------------------------------- */

static void *several_host(void *executable, const char *buffer)
{
    struct several *x = executable;
    const int i = plan_find_buffer(x->plan, buffer);
    if (i < 0 || !x->host[i] || to_here(x, i) != UNROLL_OK)
        return NULL;
    x->newer[i] = SIDE_HERE; /* the host may change the buffer */
    return x->host[i];
}

static unroll_status find_bytes(const struct several *x, const char *name, uint64_t first, uint64_t bytes, int *index)
{
    TRY(check_there(x));
    *index = plan_find_buffer(x->plan, name);
    if (*index < 0 || !x->plan->buffer[*index].bytes)
        return fail(UNROLL_USAGE, "the plan has no buffer '%s'; fix: report it with the devices and the options", name);
    const uint64_t all = x->plan->buffer[*index].bytes;
    return first > all || bytes > all - first
               ? fail(UNROLL_USAGE, "'%s' has %llu bytes; fix: report it with the devices and the options", name,
                      (unsigned long long)all)
               : UNROLL_OK;
}

/* Reads from the first rank that has the buffer. */
static unroll_status read_of_one(struct several *x, int buffer, uint64_t first, uint64_t bytes, void *to)
{
    for (int r = 0; r < x->store->ranks; r++) {
        struct member *m = &x->member[r];
        if (m->twin[buffer] >= 0)
            return m->device->read(m->executable, x->plan->buffer[buffer].name, first, bytes, to);
    }
    return fail(UNROLL_USAGE, "no device has the buffer '%s'; fix: report it with the devices and the options",
                x->plan->buffer[buffer].name);
}

/* Copies bytes of an array from the host's copy, or from the parts on the devices. */
static unroll_status several_read(void *executable, const char *buffer, uint64_t first, uint64_t bytes, void *to)
{
    struct several *x = executable;
    int i;
    char *whole;
    TRY(find_bytes(x, buffer, first, bytes, &i));
    if (x->host[i]) {
        TRY(to_here(x, i));
        memcpy(to, x->host[i] + first, bytes);
        return UNROLL_OK;
    }
    if (boxes_are_whole(x, i) && (x->summed || !boxes_are_summands(x, i)))
        return read_of_one(x, i, first, bytes, to);
    TRY(ALLOCATE(whole, x->plan->buffer[i].bytes, "to put '%s' together", buffer));
    unroll_status status = boxes_gather(x, i, whole);
    if (status == UNROLL_OK)
        memcpy(to, whole + first, bytes);
    release(whole);
    return status;
}

static unroll_status write_to_all(struct several *x, int buffer, uint64_t first, uint64_t bytes, const void *from)
{
    for (int r = 0; r < x->store->ranks; r++) {
        struct member *m = &x->member[r];
        if (m->twin[buffer] >= 0)
            TRY(m->device->write(m->executable, x->plan->buffer[buffer].name, first, bytes, from));
    }
    return UNROLL_OK;
}

/* Writes bytes of an array to the host's copy, or to the parts on the devices. */
static unroll_status several_write(void *executable, const char *buffer, uint64_t first, uint64_t bytes,
                                   const void *from)
{
    struct several *x = executable;
    int i;
    char *whole;
    TRY(find_bytes(x, buffer, first, bytes, &i));
    if (x->host[i]) {
        TRY(to_here(x, i));
        memcpy(x->host[i] + first, from, bytes);
        x->newer[i] = SIDE_HERE;
        return UNROLL_OK;
    }
    if (boxes_are_whole(x, i) && !boxes_are_summands(x, i))
        return write_to_all(x, i, first, bytes, from);
    TRY(ALLOCATE(whole, x->plan->buffer[i].bytes, "to divide '%s'", buffer));
    unroll_status status = boxes_gather(x, i, whole);
    memcpy(whole + first, from, bytes);
    if (status == UNROLL_OK)
        status = boxes_scatter(x, i, whole, !x->summed);
    release(whole);
    return status;
}

/* ---- description ----------------------------------------------------------------------- */

static unroll_status several_about(char *text, size_t size)
{
    snprintf(text, size, "devices of a list");
    return UNROLL_OK;
}

/* Lists the device of each rank. */
static unroll_status several_explain(const struct plan *plan, const char *which, FILE *file, struct json_t *json)
{
    struct entries e;
    json_t *list = json ? json_array() : NULL;
    TRY(entries_read(which, &e));
    for (int r = 0; r < plan_ranks(plan); r++) {
        const char *text = e.text[entry_of(&e, r)];
        if (json)
            json_array_append_new(list, json_string(text));
        else
            fprintf(file, "%s%d %s%s", r ? ", " : "devices: rank ", r, text, r + 1 < plan_ranks(plan) ? "" : "\n");
    }
    if (json)
        json_object_set_new(json, "devices", list);
    return UNROLL_OK;
}

/* Estimates from the whole plan. Extra memory of members (copies of weights, messages) is known only when they are
 * made. */
static uint64_t several_memory_estimate(const struct plan *plan, int threads)
{
    uint64_t bytes = 0;
    (void)threads;
    for (int i = 0; i < SEG_N; i++)
        if (i != SEG_PARAM && i != SEG_COPY && i != SEG_OPT && i != SEG_GRAD)
            bytes += plan->segment_bytes[i];
    return bytes;
}

static uint64_t several_bytes(const void *executable)
{
    const struct several *x = executable;
    uint64_t bytes = 0;
    for (int r = 0; r < x->store->ranks; r++) bytes += x->member[r].device->bytes(x->member[r].executable);
    for (int i = 0; i < x->plan->buffers; i++) bytes += x->host[i] ? x->plan->buffer[i].bytes : 0;
    return bytes;
}

static const char *several_isa(const void *executable) { return ((const struct several *)executable)->isa; }

static int several_threads(const void *executable)
{
    const struct several *x = executable;
    int threads = 0;
    for (int r = 0; r < x->store->ranks; r++) threads += x->member[r].device->threads(x->member[r].executable);
    return threads;
}

const struct device device_several = {.name = "several devices",
                                      .precisions = 1 << PRECISION_FP32,
                                      .workers = 1,
                                      .cuts = true,
                                      .about = several_about,
                                      .store_new = several_store_new,
                                      .store_free = several_store_free,
                                      .executable_new = several_new,
                                      .executable_free = several_free,
                                      .run = several_run,
                                      .host = several_host,
                                      .read = several_read,
                                      .write = several_write,
                                      .memory_estimate = several_memory_estimate,
                                      .bytes = several_bytes,
                                      .isa = several_isa,
                                      .threads = several_threads,
                                      .explain = several_explain,
                                      .divided = several_divided};
