/* Work that takes longer than a step: predictions and texts, in threads of their own, by priority and deadline. Jobs of
 * one model run one after the other, and it rests between them so that it keeps within its share of a processor. Their
 * answers are written by the thread of the connections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "extensions/serve/cli/serve.h"

enum { MOST_WAITING = 256, MOST_TEXT = 4 << 20 };

struct jobs {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job *waiting, *finished;
    atomic_size_t count; /* that wait */
    size_t open;         /* that have not been answered */
    bool ends;
    struct job *events; /* of the connections' thread: texts that become events while they are written */
    int threads;
    pthread_t thread[];
};

/* ---- what a job does ---------------------------------------------------------------------- */

static bool is_prediction(const struct job *j) { return j->kind == JOB_ROWS || j->kind == JOB_SOUND; }

static int take_prediction(void *arg, const char *json, const char *line)
{
    struct job *j = arg;
    (void)line;
    buffer_add(&j->text, json, strlen(json) + 1);
    j->count++;
    return j->text.failed || j->stopped;
}

unroll_status read_as_file(const struct served *m, const char *reader, const void *bytes, size_t count,
                           unroll_dataset **data)
{
    unroll_dataset_config config = unroll_dataset_config_default();
    char path[64];
    const int file = memfd_create("rows", MFD_CLOEXEC);
    unroll_status status = UNROLL_RESOURCE;
    if (file >= 0 && write(file, bytes, count) == (ssize_t)count) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        config.reader = reader;
        config.model = m->model;
        status = unroll_dataset_open(path, &config, data);
    }
    if (file >= 0)
        close(file);
    return status;
}

static unroll_status predict(struct job *j)
{
    unroll_machine machine = unroll_machine_default();
    unroll_dataset *data;
    machine.threads = 1;
    unroll_status status =
        read_as_file(j->model, j->kind == JOB_SOUND ? "audio" : "jsonl", j->input.bytes, j->input.count, &data);
    if (status == UNROLL_OK) {
        status = unroll_model_predict(j->model->model, data, &machine, take_prediction, j);
        unroll_dataset_free(data);
    }
    return status;
}

static int take_symbol(void *arg, const char *symbol)
{
    struct job *j = arg;
    struct jobs *all = j->server->jobs;
    pthread_mutex_lock(&all->lock);
    buffer_add(&j->text, symbol, strlen(symbol));
    const bool stops = j->stopped || all->ends || j->text.failed || j->text.count > MOST_TEXT;
    pthread_mutex_unlock(&all->lock);
    if (j->kind == JOB_EVENTS)
        wire_wake(j->server->wire);
    return stops;
}

static void run(struct job *j)
{
    if (is_prediction(j)) {
        j->status = predict(j);
    } else {
        j->sample.prompt = j->input.bytes;
        j->status = unroll_model_sample(j->model->model, &j->sample, take_symbol, j);
    }
    if (j->status != UNROLL_OK)
        snprintf(j->error, sizeof j->error, "%s", unroll_last_error());
    if (j->text.failed) {
        j->status = UNROLL_RESOURCE;
        strcpy(j->error, "no memory for the answer; fix: ask for less at once");
    }
}

/* ---- threads ----------------------------------------------------------------------------- */

/* By priority, then by deadline, of models that neither run a job nor rest; NULL: none. *until: a model has rested. */
static struct job *take_first(struct jobs *all, int64_t *until)
{
    struct job **best = NULL, *j;
    const int64_t now = now_us();
    *until = INT64_MAX;
    for (struct job **at = &all->waiting; (j = *at) != NULL; at = &j->next) {
        if (!j->model->busy && j->model->rests > now)
            *until = j->model->rests < *until ? j->model->rests : *until;
        else if (!j->model->busy && (!best || j->priority < (*best)->priority ||
                                     (j->priority == (*best)->priority && j->deadline < (*best)->deadline)))
            best = at;
    }
    if (!best)
        return NULL;
    j = *best;
    *best = j->next;
    all->count--;
    return j;
}

static void wait_until(struct jobs *all, int64_t until)
{
    const struct timespec end = {.tv_sec = until / 1000000, .tv_nsec = until % 1000000 * 1000};
    if (until == INT64_MAX)
        pthread_cond_wait(&all->wake, &all->lock);
    else
        pthread_cond_timedwait(&all->wake, &all->lock, &end);
}

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs a job without the lock. */
static void run_next(struct server *s, struct job *j)
{
    struct jobs *all = s->jobs;
    j->model->busy = true;
    pthread_mutex_unlock(&all->lock);
    const double begin = thread_seconds();
    if (!j->stopped)
        run(j);
    j->seconds = thread_seconds() - begin;
    pthread_mutex_lock(&all->lock);
    j->model->busy = false;
    j->model->rests = now_us() + (int64_t)(1e6 * j->seconds * (1 / s->share - 1));
    j->next = all->finished;
    all->finished = j;
    wire_wake(s->wire);
}

static void *work(void *arg)
{
    struct server *s = arg;
    struct jobs *all = s->jobs;
    int64_t until;
    pthread_mutex_lock(&all->lock);
    while (!all->ends) {
        struct job *j = take_first(all, &until);
        if (j)
            run_next(s, j);
        else
            wait_until(all, until);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* A thread, to one processor of --cpus. */
static bool pin(const struct server *s, pthread_t thread, int i)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(s->cpu[i], &set);
    return pthread_setaffinity_np(thread, sizeof set, &set) == 0;
}

/* "0,2-4" */
static bool read_processors(struct server *s, const char *at)
{
    int64_t first, last;
    do {
        if (number_integer(&at, NULL, 0, CPU_SETSIZE - 1, &first) != NUMBER_OK)
            return false;
        last = first;
        if (*at == '-' && (at++, number_integer(&at, NULL, first, CPU_SETSIZE - 1, &last) != NUMBER_OK))
            return false;
        for (; first <= last && s->cpus < CPUS; first++) s->cpu[s->cpus++] = (int)first;
    } while (*at++ == ',');
    return at[-1] == '\0';
}

unroll_status pin_threads(struct server *s, const char *list)
{
    if (!read_processors(s, list))
        return complain(UNROLL_USAGE, "--cpus: '%s' is not a list of processors; fix: write for example --cpus 0,2-4",
                        list);
    for (int i = s->cpus - 1; i >= 0; i--)
        if (!pin(s, pthread_self(), i))
            return complain(UNROLL_RESOURCE,
                            "--cpus: this process may not use processor %d; fix: one that 'taskset -p $$' allows",
                            s->cpu[i]);
    return UNROLL_OK;
}

unroll_status jobs_open(struct server *s)
{
    struct jobs *all = calloc(1, sizeof *all + (size_t)s->threads * sizeof *all->thread);
    if (!all)
        return complain(UNROLL_RESOURCE, "no memory for %d threads; fix: use a smaller --threads", s->threads);
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC); /* that of now_us */
    pthread_cond_init(&all->wake, &clock);
    pthread_condattr_destroy(&clock);
    s->jobs = all;
    for (; all->threads < s->threads; all->threads++) {
        if (pthread_create(&all->thread[all->threads], NULL, work, s))
            return complain(UNROLL_RESOURCE, "cannot start thread %d; fix: use a smaller --threads", all->threads + 1);
        if (s->cpus > 1)
            pin(s, all->thread[all->threads], 1 + all->threads % (s->cpus - 1));
    }
    return UNROLL_OK;
}

void jobs_close(struct server *s)
{
    struct jobs *all = s->jobs;
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->ends = true;
    pthread_cond_broadcast(&all->wake);
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i < all->threads; i++) pthread_join(all->thread[i], NULL);
    for (struct job *j = all->waiting, *next; j; j = next) next = j->next, job_free(s, j);
    for (struct job *j = all->finished, *next; j; j = next) next = j->next, job_free(s, j);
    pthread_cond_destroy(&all->wake);
    pthread_mutex_destroy(&all->lock);
    free(all);
    s->jobs = NULL;
}

/* ---- jobs -------------------------------------------------------------------------------- */

struct job *job_new(struct server *s, enum job_kind kind, struct peer *peer, struct served *model,
                    const struct infer *r)
{
    static const double patience = 600e6; /* microseconds, of a job that has no timeout */
    struct job *j = calloc(1, sizeof *j);
    if (!j) {
        refuse_request(model, peer, 503, 1, "no memory; fix: try again later");
        return NULL;
    }
    *j = (struct job){.kind = kind, .server = s, .peer = peer, .model = model, .began = now_us()};
    j->deadline = j->began + (int64_t)(r && r->timeout > 0 ? r->timeout : patience);
    j->priority = r ? r->priority : 1;
    if (r)
        strcpy(j->id, r->id);
    j->sample = unroll_sample_config_default();
    peer_keep(peer);
    served_keep(model);
    return j;
}

void job_free(struct server *s, struct job *j)
{
    buffer_free(&j->input);
    buffer_free(&j->text);
    peer_release(j->peer);
    served_release(s, j->model);
    free(j);
}

bool jobs_add(struct server *s, struct job *j)
{
    struct jobs *all = s->jobs;
    pthread_mutex_lock(&all->lock);
    const bool room = all->count < MOST_WAITING && !all->ends;
    if (room) {
        j->next = all->waiting;
        all->waiting = j;
        all->count++;
        all->open++;
        pthread_cond_signal(&all->wake);
    }
    pthread_mutex_unlock(&all->lock);
    if (room && j->kind == JOB_EVENTS) {
        j->next_event = all->events;
        all->events = j;
        peer_begin_events(j->peer);
    }
    return room;
}

size_t jobs_waiting(const struct server *s) { return s->jobs->count; }

bool jobs_are_busy(const struct server *s) { return s->jobs->open > 0; }

/* ---- answers ------------------------------------------------------------------------------ */

/* An answer of Triton's generate extension. */
static void print_text(struct buffer *b, const struct served *m, const char *text)
{
    buffer_print(b, "{\"model_name\":");
    buffer_json(b, m->name);
    buffer_print(b, ",\"model_version\":\"%d\",\"text_output\":", m->version);
    buffer_json(b, text);
    buffer_add(b, "}", 1);
}

/* The text since the last event, of whole characters. */
static void send_events(struct jobs *all, struct job *j)
{
    struct buffer event = {0};
    char *text = NULL;
    pthread_mutex_lock(&all->lock);
    if (j->text.count > j->sent)
        text = strndup(j->text.bytes + j->sent, j->text.count - j->sent);
    j->sent = j->text.count;
    if (!peer_is_open(j->peer))
        j->stopped = true;
    pthread_mutex_unlock(&all->lock);
    if (!text)
        return;
    print_text(&event, j->model, text);
    peer_event(j->peer, event.bytes, event.count);
    buffer_free(&event);
    free(text);
}

static void answer_error(struct job *j)
{
    struct buffer event = {0};
    const int status = j->status == UNROLL_RESOURCE ? 503 : 400;
    if (j->kind != JOB_EVENTS) {
        refuse_request(j->model, j->peer, status, 0, "%s", j->error);
    } else {
        j->model->errors++;
        print_error(&event, j->error);
        peer_event(j->peer, event.bytes, event.count);
        peer_end_events(j->peer);
        buffer_free(&event);
    }
}

static void answer_tensors(struct job *j)
{
    struct infer_answer a;
    infer_begin(&a, j->model->name, j->model->version, j->id);
    if (is_prediction(j))
        infer_add_texts(&a, "predictions", j->binary, j->text.bytes, j->count);
    else
        infer_add_texts(&a, "text", j->binary, j->text.bytes, 1);
    respond_infer(j->peer, &a);
}

static void answer(struct server *s, struct job *j)
{
    struct buffer b = {0};
    buffer_add(&j->text, "", 1); /* its end */
    *(is_prediction(j) ? &j->model->predictions : &j->model->texts) += 1;
    j->model->job_seconds += j->seconds;
    if (j->status != UNROLL_OK && !j->stopped) {
        answer_error(j);
        return;
    }
    if (j->kind == JOB_EVENTS) {
        j->text.count--;
        send_events(s->jobs, j);
        peer_end_events(j->peer);
    } else if (j->kind == JOB_GENERATE) {
        print_text(&b, j->model, j->text.bytes);
        respond_json(j->peer, &b);
    } else {
        answer_tensors(j);
    }
    observe(j->model, j->began, j->deadline);
}

static void forget_event(struct jobs *all, const struct job *j)
{
    struct job **at = &all->events;
    while (*at && *at != j) at = &(*at)->next_event;
    if (*at)
        *at = j->next_event;
}

void jobs_collect(struct server *s)
{
    struct jobs *all = s->jobs;
    pthread_mutex_lock(&all->lock);
    struct job *finished = all->finished;
    all->finished = NULL;
    pthread_mutex_unlock(&all->lock);
    for (struct job *j = finished, *next; j; j = next) {
        next = j->next;
        forget_event(all, j);
        answer(s, j);
        job_free(s, j);
        all->open--; /* counted by this thread alone */
    }
    for (struct job *j = all->events; j; j = j->next_event) send_events(all, j);
}
