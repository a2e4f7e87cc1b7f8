/* unroll serve in one place: models with their sessions, the order in which their steps run, and the threads that
 * predict and write text. One thread runs connections and steps (cmd_serve.c); only jobs.c has others. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "extensions/serve/cli/inference.h"
#include "unroll_train.h"
#include "extensions/serve/cli/wire.h"

enum {
    PRIORITIES = 4,
    BATCH = 16, /* slots of one step of a pool */
    CPUS = 64,
    BUCKETS = 18 /* of latencies: 50 us, doubled each time, and the rest */
};

struct histogram {
    uint64_t bucket[BUCKETS], count;
    double sum;
};

/* One sequence of a model: a slot of its pool. */
struct session {
    char key[INFER_NAME]; /* "": of one request */
    uint64_t hash;
    struct session *chain, *newer, *older;
    struct step *first, *last; /* steps that wait, in order; the first may be in the queue */
    int64_t used;              /* microseconds */
    int slot;
    uint32_t number; /* of its newest counted step */
    bool ends;       /* with its last step */
    bool repeats;    /* the state before step `number` is kept: the step can be repeated */
    bool kept;       /* has ended on the server that copies to this one; is there for a repetition only */
    bool own;        /* its newest step ran here, not on the other server */
};

/* The steps of one sequence that a request asks for. */
struct step {
    struct reply *reply;
    struct session *session;
    struct step *after; /* of the same session */
    int64_t deadline;
    uint64_t order; /* of arrival, among equal deadlines */
    int priority, steps, done;
    uint64_t number; /* of a frame's session */
    enum frame_status status;
    const int32_t *tokens; /* [steps, token columns] */
    const float *inputs;   /* [steps, numbers] */
    float *outputs;        /* [steps, outputs] */
};

/* An answer that is being computed. */
struct reply {
    struct peer *peer;
    struct served *model;
    int pending; /* steps that are not done */
    int64_t began;
    struct reply *after; /* held until the standby has its states: .. */
    uint64_t position;   /* .. as many records, .. */
    int64_t held;        /* .. since this time */
    bool frames;         /* of a WebSocket */
    int count;
    uint32_t id;
    char request[INFER_ID];
    bool binary;
    int64_t deadline;
    struct step *step; /* [count] */
    int32_t *tokens;
    float *inputs, *outputs;
};

struct heap {
    struct step **step; /* [slots] */
    size_t count;
};

/* A version of a model. */
struct served {
    struct served *next;
    char name[INFER_NAME], path[4096], why_not[256]; /* why it has no pool */
    int version, references;                         /* sessions, jobs and the list */
    bool retired;                                    /* another version took its place */
    unroll_model *model;                             /* of predictions and texts, one at a time */
    bool can_sample, can_predict;
    int rate;           /* samples a second of the sounds that it predicts; 0: it reads rows */
    bool busy;          /* runs a job; under the lock of jobs, as `rests` */
    int64_t rests;      /* runs no job before this time */
    double job_seconds; /* of a processor for predictions and texts */
    json_t *schema;     /* NULL: none */
    void *memory;
    unroll_stream_pool *pool; /* NULL: it cannot be streamed */
    int tokens, inputs, outputs, slots;
    int symbols[UNROLL_INPUTS_MAX];         /* [tokens] how many there are of each column */
    const char *output;                     /* "logits" or "output" */
    double cost[BATCH + 1];                 /* seconds of a step of n slots, measured at the start */
    double granted, backlog;                /* seconds of steps that it may run now; that wait */
    struct session **table;                 /* [buckets], by hash */
    struct session *session;                /* [slots] */
    struct session *idle, *newest, *oldest; /* free ones by `chain`; others by use */
    size_t buckets, state_bytes;
    int used, kept;                      /* sessions */
    float *batch_inputs, *batch_outputs; /* [BATCH, inputs], [BATCH, outputs] */
    unsigned char *before;               /* [slots, state_bytes] states before counted steps; NULL: there were none */
    uint64_t fingerprint;                /* of the name and of outputs: equal for models whose sessions can move */
    struct heap queue[PRIORITIES];
    struct histogram latency;
    uint64_t steps, batches, misses, requests, errors, refused, expired, predictions, texts;
};

struct server {
    struct wire *wire;
    struct served *models;
    const char *dtype, *isa;
    int slots, idle_seconds, threads;
    int cpu[CPUS], cpus;        /* of --cpus: for connections and steps, then for the threads of jobs */
    double share, memory;       /* limits of each model: of the time of steps; bytes of sessions and weights, 0: none */
    int64_t refilled;           /* the time up to which models were granted their share */
    int64_t deadline;           /* microseconds */
    double backlog[PRIORITIES]; /* seconds of steps that wait */
    size_t waiting, most_waiting; /* steps in all queues */
    int credit[PRIORITIES];
    uint64_t arrivals;
    double loop_seconds; /* of computing, in all */
    struct jobs *jobs;
    struct standby *standby; /* NULL: none */
    int log;                 /* file descriptor; -1: none */
    uint64_t log_errors;
    volatile sig_atomic_t *stops;
};

/* Microseconds of a clock that only rises. */
int64_t now_us(void);

/* ---- models: served.c ---- */

unroll_status served_open(struct server *, const char *path, struct served **);
/* Loads every model again; sessions stay with the version they began with. A model that cannot be loaded stays. */
void served_reload(struct server *);
/* version NULL: the newest. */
struct served *served_find(const struct server *, const char *name, const char *version);
void served_keep(struct served *);
void served_release(struct server *, struct served *);
/* Answers with the metadata. */
void served_describe(const struct served *, struct peer *);

/* ---- sessions: sessions.c ---- */

unroll_status sessions_open(struct served *);
void sessions_close(struct served *);
struct session *session_find(const struct served *, const char *key);
/* NULL: all slots are in use. key "": of one request. */
struct session *session_begin(struct served *, const char *key);
void session_end(struct served *, struct session *);
void session_touch(struct served *, struct session *);
void sessions_expire(struct server *, struct served *);
/* What a request says about its session. */
struct turn {
    char key[INFER_NAME];
    bool start, end;
    uint32_t number; /* of the step, 1, 2, ..; 0: not counted */
};
/* May this step run? *again: it is the newest one, whose answer was lost. FRAME_OK, _UNKNOWN, _DUPLICATE or _ORDER. */
enum frame_status session_allows(const struct session *, const struct turn *, bool *again);
/* Keeps the state before a counted step; again: sets the session back to it. */
void session_count(struct served *, struct session *, uint32_t number, bool again);

/* ---- steps: step_queue.c ---- */

/* Can the steps be done before their deadline? Otherwise *retry is the seconds after which they might. */
bool queue_admits(const struct server *, const struct served *, const struct step *, int *retry);
void queue_add(struct server *, struct served *, struct step *);
/* Runs steps for about that many microseconds; finished replies are passed to reply_done. */
void queue_run(struct server *, int64_t microseconds);
void reply_done(struct server *, struct reply *);
/* Answers, or only frees a reply. */
void reply_send(struct server *, struct reply *);
void reply_free(struct server *, struct reply *);
void measure_cost(struct served *);

/* ---- predictions and texts: jobs.c ---- */

enum job_kind { JOB_ROWS, JOB_SOUND, JOB_TEXT, JOB_GENERATE, JOB_EVENTS }; /* the last two: Triton's generate */

struct job {
    struct job *next, *next_event;
    enum job_kind kind;
    struct server *server;
    struct peer *peer;
    struct served *model;
    int priority;
    int64_t began, deadline;
    char id[INFER_ID];
    bool binary;
    struct buffer input; /* rows as JSON lines, a file of a sound, or a prompt */
    unroll_sample_config sample;
    /* results */
    double seconds;     /* of a processor */
    struct buffer text; /* or predictions, each with a zero at its end */
    size_t count;       /* of predictions */
    size_t sent;        /* bytes of text that have become events */
    char error[1024];
    unroll_status status;
    atomic_bool stopped; /* the peer is gone */
};

unroll_status jobs_open(struct server *);
/* Reads --cpus and pins this thread. */
unroll_status pin_threads(struct server *, const char *list);
void jobs_close(struct server *);
/* infer: whose id, priority and timeout count; NULL: none. NULL: no memory, and the request is refused. */
struct job *job_new(struct server *, enum job_kind, struct peer *, struct served *, const struct infer *);
void job_free(struct server *, struct job *);
/* false: the queue is full, and the job is the caller's. */
bool jobs_add(struct server *, struct job *);
/* Answers what has been finished. */
void jobs_collect(struct server *);
size_t jobs_waiting(const struct server *);
/* Opens bytes as a file of data, so that they are read as the commands read them. */
unroll_status read_as_file(const struct served *, const char *reader, const void *bytes, size_t count,
                           unroll_dataset **);
bool jobs_are_busy(const struct server *); /* some wait, run or have not been answered */

/* ---- requests for steps: step_requests.c; for predictions and texts: row_requests.c ---- */

void infer_steps(struct server *, struct peer *, struct served *, const struct infer *);
void infer_rows(struct server *, struct peer *, struct served *, const struct infer *);
/* The body is the file of a sound. */
void infer_sound(struct server *, struct peer *, struct served *, const struct request *);
void infer_text(struct server *, struct peer *, struct served *, const struct infer *);
/* Triton's generate extension; events: as server-sent events. */
void generate(struct server *, struct peer *, struct served *, const struct request *, bool events);
void take_frames(struct server *, struct peer *, struct served *, const uint8_t *bytes, size_t count);

/* ---- requests: service.c ---- */

extern const struct wire_handlers service_handlers;
/* {"error": ..} with a status of HTTP, counted for the model (NULL: none). retry: seconds, or 0. */
void refuse_request(struct served *, struct peer *, int status, int retry, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void print_error(struct buffer *, const char *text);
/* Answers with what was printed, and frees it. */
void respond_json(struct peer *, struct buffer *);
void respond_infer(struct peer *, struct infer_answer *);
void observe(struct served *, int64_t began, int64_t deadline);

/* ---- a second server: serve/cli/standby.c ---- */

unroll_status standby_open(struct server *, const char *url);
void standby_close(struct server *);
/* Copies the state of a session after a step. */
void standby_add(struct server *, const struct served *, const struct session *);
/* Keeps a reply until the standby has what was added; false: nothing is missing there. */
bool standby_holds(struct server *, struct reply *);
bool standby_is_busy(const struct server *);
/* Sends what was added, connects again, gives up a standby that hangs. */
void standby_run(struct server *);
void standby_linked(struct server *);
void standby_lost(struct server *);
void standby_acknowledged(struct server *, const uint8_t *bytes, size_t count);
void standby_print(const struct server *, struct buffer *);
/* The other side: takes records of states, and acknowledges them. */
void standby_take(struct server *, struct peer *, const uint8_t *bytes, size_t count);
/* The contexts of both ends of the WebSocket. */
extern char standby_link, standby_source;

/* ---- prometheus.c ---- */

void metric_print(struct buffer *, const char *name, const char *type, const char *help, double value);

void histogram_add(struct histogram *, double seconds);
void metrics_print(const struct server *, struct buffer *);

#endif
