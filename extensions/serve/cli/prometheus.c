/* /metrics in the text format of Prometheus, version 0.0.4. */
#include <stdio.h>
#include <sys/resource.h>

#include "extensions/serve/cli/serve.h"

static const double first_bound = 50e-6; /* of a bucket, in seconds; each is twice the one before */

void histogram_add(struct histogram *h, double seconds)
{
    int i = 0;
    for (double bound = first_bound; i < BUCKETS - 1 && seconds > bound; bound *= 2) i++;
    h->bucket[i]++;
    h->count++;
    h->sum += seconds;
}

static void head(struct buffer *b, const char *name, const char *type, const char *help)
{
    buffer_print(b, "# HELP unroll_%s %s\n# TYPE unroll_%s %s\n", name, help, name, type);
}

void metric_print(struct buffer *b, const char *name, const char *type, const char *help, double value)
{
    head(b, name, type, help);
    buffer_print(b, "unroll_%s %.15g\n", name, value);
}

static void labels(struct buffer *b, const struct served *m)
{
    buffer_print(b, "{model=");
    buffer_json(b, m->name);
    buffer_print(b, ",version=\"%d\"", m->version);
}

static void print_latency(const struct server *s, struct buffer *b)
{
    head(b, "request_seconds", "histogram", "Time from the arrival of a request to its answer.");
    for (const struct served *m = s->models; m; m = m->next) {
        uint64_t sum = 0;
        double bound = first_bound;
        for (int i = 0; i < BUCKETS; i++, bound *= 2) {
            sum += m->latency.bucket[i];
            buffer_print(b, "unroll_request_seconds_bucket");
            labels(b, m);
            char le[16] = "+Inf";
            if (i < BUCKETS - 1)
                snprintf(le, sizeof le, "%.6g", bound);
            buffer_print(b, ",le=\"%s\"} %llu\n", le, (unsigned long long)sum);
        }
        buffer_print(b, "unroll_request_seconds_sum");
        labels(b, m);
        buffer_print(b, "} %.9g\nunroll_request_seconds_count", m->latency.sum);
        labels(b, m);
        buffer_print(b, "} %llu\n", (unsigned long long)m->latency.count);
    }
}

static void print_models(const struct server *s, struct buffer *b)
{
    static const char *const lists[][3] = {
        {"requests_total", "counter", "Requests for the model."},
        {"request_errors_total", "counter", "Requests that were refused because they are wrong."},
        {"overload_total", "counter", "Requests that were refused because they would have missed their deadline."},
        {"steps_total", "counter", "Steps of sessions."},
        {"batches_total", "counter", "Batches of steps."},
        {"deadline_misses_total", "counter", "Requests that were answered after their deadline."},
        {"sessions_expired_total", "counter", "Sessions that ended because they were idle."},
        {"predictions_total", "counter", "Requests for predictions of rows."},
        {"texts_total", "counter", "Requests for texts."},
        {"sessions_in_use", "gauge", "Sessions that have begun and have not ended."},
        {"sessions", "gauge", "Sessions that there can be."},
        {"step_seconds", "gauge", "Measured time of a step of one session alone."},
        {"step_shared_seconds", "gauge", "Measured time of a step for each session of a full batch."},
        {"job_seconds_total", "counter", "Time of processors for predictions and texts."}};
    for (int i = 0; i < (int)(sizeof lists / sizeof *lists); i++) {
        head(b, lists[i][0], lists[i][1], lists[i][2]);
        for (const struct served *m = s->models; m; m = m->next) {
            buffer_print(b, "unroll_%s", lists[i][0]);
            labels(b, m);
            const double values[] = {
                (double)m->requests, (double)m->errors,  (double)m->refused,     (double)m->steps, (double)m->batches,
                (double)m->misses,   (double)m->expired, (double)m->predictions, (double)m->texts, (double)m->used,
                (double)m->slots,    m->cost[1],         m->cost[BATCH] / BATCH, m->job_seconds};
            buffer_print(b, "} %.15g\n", values[i]);
        }
    }
}

void metrics_print(const struct server *s, struct buffer *b)
{
    const struct wire_counts *c = wire_counts(s->wire);
    struct rusage usage;
    double backlog = 0;
    for (int p = 0; p < PRIORITIES; p++) backlog += s->backlog[p];
    getrusage(RUSAGE_SELF, &usage);
    print_models(s, b);
    print_latency(s, b);
    metric_print(b, "connections_total", "counter", "Connections that were accepted.", (double)c->accepted);
    metric_print(b, "connections", "gauge", "Open connections.", (double)c->open);
    metric_print(b, "connections_dropped_total", "counter", "Connections that read or sent too slowly.",
                 (double)c->dropped);
    metric_print(b, "steps_waiting", "gauge", "Steps in all queues.", (double)s->waiting);
    metric_print(b, "backlog_seconds", "gauge", "Estimated time of the steps in all queues.", backlog);
    metric_print(b, "jobs_waiting", "gauge", "Predictions and texts in the queue.", (double)jobs_waiting(s));
    metric_print(b, "compute_seconds_total", "counter", "Time of computing steps.", s->loop_seconds);
    metric_print(b, "log_errors_total", "counter", "Lines of the access log that could not be written.",
                 (double)s->log_errors);
    standby_print(s, b);
    metric_print(b, "memory_bytes", "gauge", "Largest resident memory.", (double)usage.ru_maxrss * 1024);
    metric_print(b, "cpu_seconds_total", "counter", "Time of processors.",
                 (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
}
