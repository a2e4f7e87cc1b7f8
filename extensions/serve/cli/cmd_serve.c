/* unroll serve: models for programs over HTTP and WebSocket, and a page for people. One thread runs connections and
 * steps of sessions; others predict rows and write texts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/console.h"
#include "cli/options/options.h"
#include "extensions/serve/cli/serve.h"

static volatile sig_atomic_t stops, reloads;
static struct server *woken;

static void on_signal(int number)
{
    const int kept = errno;
    *(number == SIGHUP ? &reloads : &stops) = 1;
    wire_wake(woken->wire);
    errno = kept;
}

static void listen_to_signals(struct server *s)
{
    struct sigaction action = {.sa_handler = on_signal};
    woken = s;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static bool is_loopback(const char *host) { return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0; }

/* The first line of a file. */
static unroll_status read_token(const char *path, char token[256])
{
    FILE *file = fopen(path, "r");
    const size_t length = file && fgets(token, 256, file) ? strcspn(token, "\r\n") : 0;
    if (file)
        fclose(file);
    if (length < 16 || !token[length])
        return complain(UNROLL_DATA,
                        "--token: '%s' has no line of 16 to 254 characters; fix: use a file made by 'openssl rand "
                        "-hex 32 >token'",
                        path);
    token[length] = '\0';
    return UNROLL_OK;
}

static unroll_status open_wire(struct server *s, const struct settings *settings)
{
    char token[256];
    struct wire_handlers handlers = service_handlers;
    struct wire_config c = {.host = text_of(settings, OPTION_HOST),
                            .port = (int)integer_of(settings, OPTION_PORT),
                            .certificate = text_of(settings, OPTION_CERTIFICATE),
                            .key = text_of(settings, OPTION_PRIVATE_KEY),
                            .most = (size_t)number_of(settings, OPTION_MAX_BODY),
                            .connections = (int)integer_of(settings, OPTION_CONNECTIONS),
                            .connects = is_given(settings, OPTION_STANDBY)};
    handlers.arg = s;
    if (!c.certificate != !c.key)
        return complain(UNROLL_USAGE, "TLS needs a certificate and its key; fix: give --certificate and --private-key");
    if (is_given(settings, OPTION_TOKEN)) {
        TRY(read_token(text_of(settings, OPTION_TOKEN), token));
        c.token = token;
    }
    if (!is_loopback(c.host) && !(c.certificate && c.token))
        say_always(
            "warning: %s can be reached from other machines%s%s; fix: use --certificate and --private-key, and --token",
            c.host, c.certificate ? "" : ", without encryption", c.token ? "" : ", without a token");
    TRY(wire_open(&c, &handlers, &s->wire));
    say("listening on http%s://%s:%d", c.certificate ? "s" : "", c.host, wire_port(s->wire));
    return UNROLL_OK;
}

static unroll_status open_log(struct server *s, const char *path)
{
    s->log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (path && s->log < 0)
        return complain(UNROLL_RESOURCE, "cannot write the access log '%s': %s; fix: use another --log", path,
                        strerror(errno));
    return UNROLL_OK;
}

static void describe(const struct served *m)
{
    if (m->pool)
        say("%s: %d sessions on %s, %.2f us a step alone, %.2f us each in a batch of %d", m->name, m->slots,
            unroll_stream_pool_isa(m->pool), 1e6 * m->cost[1], 1e6 * m->cost[BATCH] / BATCH, BATCH);
    if (m->can_predict || m->can_sample)
        say("%s: %s", m->name, m->can_sample ? "text" : m->rate ? "predictions of sounds" : "predictions of rows");
}

static unroll_status open_server(struct server *s, const struct settings *settings)
{
    TRY(open_log(s, text_of(settings, OPTION_LOG)));
    for (int i = 0; i < settings->words; i++) {
        struct served *m;
        TRY(served_open(s, settings->word[i], &m));
        describe(m);
    }
    TRY(open_wire(s, settings));
    TRY(jobs_open(s));
    return is_given(settings, OPTION_STANDBY) ? standby_open(s, text_of(settings, OPTION_STANDBY)) : UNROLL_OK;
}

static bool server_is_busy(const struct server *s) { return s->waiting || jobs_are_busy(s) || standby_is_busy(s); }

/* Until a signal; then what has been asked for is answered, for some seconds. */
static unroll_status run(struct server *s)
{
    enum { SLICE = 500, DRAIN_SECONDS = 10 };
    int64_t end = 0;
    for (;;) {
        if (!wire_serve(s->wire, !s->waiting && !stops))
            return complain(UNROLL_FAILURE, "the connections failed; fix: start the server again");
        jobs_collect(s);
        queue_run(s, SLICE);
        standby_run(s);
        if (reloads) {
            reloads = 0;
            served_reload(s);
        }
        if (!stops)
            continue;
        if (!end) {
            end = now_us() + DRAIN_SECONDS * 1000000;
            say("stopping: what has been asked for is answered first");
        }
        if (now_us() > end || !server_is_busy(s))
            return UNROLL_OK;
        usleep(1000);
    }
}

unroll_status cmd_serve(struct settings *settings)
{
    struct server s = {.dtype = text_of(settings, OPTION_DTYPE),
                       .isa = text_of(settings, OPTION_ISA),
                       .slots = (int)integer_of(settings, OPTION_SESSIONS),
                       .idle_seconds = (int)number_of(settings, OPTION_IDLE),
                       .deadline = (int64_t)(1e6 * number_of(settings, OPTION_DEADLINE)),
                       .threads = (int)integer_of(settings, OPTION_THREADS),
                       .share = number_of(settings, OPTION_MODEL_CPU),
                       .memory = is_given(settings, OPTION_MODEL_MEMORY) ? number_of(settings, OPTION_MODEL_MEMORY) : 0,
                       .most_waiting = 1 << 16,
                       .log = -1,
                       .stops = &stops};
    unroll_status status = UNROLL_OK;
    if (is_given(settings, OPTION_CPUS))
        status = pin_threads(&s, text_of(settings, OPTION_CPUS));
    if (s.threads == 0)
        s.threads = s.cpus > 1 ? s.cpus - 1 : s.cpus ? 1 : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (status == UNROLL_OK)
        status = open_server(&s, settings);
    if (status == UNROLL_OK) {
        listen_to_signals(&s);
        status = run(&s);
    }
    jobs_close(&s);
    standby_close(&s);
    if (s.wire)
        wire_close(s.wire);
    for (struct served *m = s.models, *next; m; m = next) next = m->next, m->references = 1, served_release(&s, m);
    if (s.log >= 0)
        close(s.log);
    return status;
}
