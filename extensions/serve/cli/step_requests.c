/* Requests for steps: tensors of the Open Inference Protocol, and frames of WebSockets, checked and put into the queue;
 * their answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "extensions/serve/cli/serve.h"

/* ---- replies ---------------------------------------------------------------------------- */

/* One piece of memory. */
static struct reply *reply_new(struct peer *peer, struct served *m, size_t count, size_t tokens, size_t inputs,
                               size_t outputs)
{
    struct reply *r = malloc(sizeof *r + count * sizeof *r->step + 4 * (tokens + inputs + outputs));
    if (!r)
        return NULL;
    *r = (struct reply){.peer = peer, .model = m, .count = (int)count, .began = now_us()};
    r->step = (struct step *)(void *)(r + 1);
    r->outputs = (float *)(void *)(r->step + count);
    r->inputs = r->outputs + outputs;
    r->tokens = (int32_t *)(void *)(r->inputs + inputs);
    peer_keep(peer);
    served_keep(m);
    return r;
}

void reply_free(struct server *s, struct reply *r)
{
    peer_release(r->peer);
    served_release(s, r->model);
    free(r);
}

static void answer_frames(const struct reply *r)
{
    const size_t width = (size_t)r->model->outputs, record = FRAME_RECORD + 4 * width;
    uint8_t *to = peer_message(r->peer, FRAME_HEAD + (size_t)r->count * record);
    if (!to)
        return;
    put_number(to, r->id, 4);
    put_number(to + 4, (uint32_t)(now_us() - r->began), 4);
    for (int i = 0; i < r->count; i++) {
        uint8_t *at = to + FRAME_HEAD + (size_t)i * record;
        put_number(at, r->step[i].number, 8);
        put_number(at + 8, r->step[i].status, 4);
        put_number(at + 12, 0, 4);
        memcpy(at + FRAME_RECORD, r->outputs + (size_t)i * width, 4 * width);
    }
    peer_send_message(r->peer);
}

static void answer_tensor(const struct reply *r)
{
    const struct served *m = r->model;
    const size_t shape[2] = {(size_t)r->step->steps, (size_t)m->outputs};
    struct infer_answer a;
    infer_begin(&a, m->name, m->version, r->request);
    infer_add_floats(&a, m->output, r->binary, shape, 2, r->outputs);
    respond_infer(r->peer, &a);
}

void reply_send(struct server *s, struct reply *r)
{
    observe(r->model, r->began, r->deadline);
    if (r->frames)
        answer_frames(r);
    else
        answer_tensor(r);
    reply_free(s, r);
}

void reply_done(struct server *s, struct reply *r)
{
    if (!standby_holds(s, r))
        reply_send(s, r);
}

/* ---- tensors ----------------------------------------------------------------------------- */

/* Steps that the tensors have; -1 with an error. The last axis is the width. */
static long steps_of(const struct served *m, const struct infer *r, char *error)
{
    const struct {
        const char *name;
        int width;
    } list[] = {{"tokens", m->tokens}, {"input", m->inputs}};
    long steps = -1;
    for (size_t i = 0; i < 2; i++) {
        const struct infer_tensor *t = infer_input(r, list[i].name);
        if (!list[i].width && !t)
            continue;
        if (!list[i].width || !t) {
            snprintf(error, INFER_ERROR, "the model %s '%s'; fix: its metadata list the inputs",
                     t ? "does not read" : "needs the input", list[i].name);
            return -1;
        }
        const size_t width = (size_t)list[i].width, last = t->shape[t->rank - 1];
        const long here = (long)(t->count / width);
        if ((width > 1 && last != width) || here < 1 || (steps >= 0 && here != steps)) {
            snprintf(error, INFER_ERROR, "the shape of '%s' does not fit: [steps, %zu] is wanted; fix: send this shape",
                     list[i].name, width);
            return -1;
        }
        steps = here;
    }
    return steps;
}

static bool check_tokens(const struct served *m, const int32_t *tokens, size_t count, char *error)
{
    for (size_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= m->symbols[i % (size_t)m->tokens]) {
            snprintf(error, INFER_ERROR, "token %zu is %d, outside 0..%d; fix: use tokens in this range", i,
                     (int)tokens[i], m->symbols[i % (size_t)m->tokens] - 1);
            return false;
        }
    return true;
}

static bool fill(const struct served *m, const struct infer *request, struct reply *r, char *error)
{
    const struct infer_tensor *tokens = infer_input(request, "tokens"), *inputs = infer_input(request, "input");
    return (!tokens ||
            (infer_integers(tokens, r->tokens, error) && check_tokens(m, r->tokens, tokens->count, error))) &&
           (!inputs || infer_floats(inputs, r->inputs, error));
}

/* Why a step of a request cannot run. */
static void refuse_step(struct peer *peer, struct served *m, enum frame_status why, const char *key, int retry)
{
    if (why == FRAME_UNKNOWN)
        refuse_request(m, peer, 404, 0, "there is no session '%s'; fix: sequence_start in its first request", key);
    else if (why == FRAME_DUPLICATE)
        refuse_request(m, peer, 409, 0, "the session '%s' has begun already; fix: end it first, or use another id",
                       key);
    else if (why == FRAME_ORDER)
        refuse_request(m, peer, 409, 0,
                       "sequence_step does not follow the steps of the session '%s'; fix: count from 1, and wait for "
                       "each answer",
                       key);
    else if (why == FRAME_FULL)
        refuse_request(m, peer, 503, 1, "all %d sessions are in use; fix: try again later, or a larger --sessions",
                       m->slots);
    else
        refuse_request(m, peer, 503, retry,
                       "the deadline cannot be met: too much is waiting; fix: try again later, or a larger timeout");
}

/* Puts a step into the queue, if it may run. */
static enum frame_status enter(struct server *s, struct served *m, const struct turn *t, struct step *step, int *retry)
{
    bool again;
    struct session *session = *t->key ? session_find(m, t->key) : NULL;
    const enum frame_status status = *t->key ? session_allows(session, t, &again) : FRAME_OK;
    again = *t->key && again;
    if (status != FRAME_OK)
        return status;
    if (!queue_admits(s, m, step, retry))
        return FRAME_LATE;
    if (session && session->kept && !again) {
        session_end(m, session);
        session = NULL;
    }
    if (!session && !(session = session_begin(m, t->key)))
        return FRAME_FULL;
    session_count(m, session, t->number, again);
    session->ends = t->end || !*t->key;
    session->own = true;
    step->session = session;
    queue_add(s, m, step);
    return FRAME_OK;
}

static void queue(struct server *s, struct peer *peer, struct served *m, const struct infer *request, struct reply *r)
{
    struct turn t = {.start = request->start, .end = request->end, .number = request->number};
    int retry = 0;
    if (request->has_sequence)
        strcpy(t.key, request->sequence);
    const enum frame_status status = enter(s, m, &t, r->step, &retry);
    r->pending = 1;
    if (status == FRAME_OK)
        return;
    refuse_step(peer, m, status, t.key, retry);
    reply_free(s, r);
}

void infer_steps(struct server *s, struct peer *peer, struct served *m, const struct infer *request)
{
    enum { MOST = 1 << 26 };
    char error[INFER_ERROR];
    bool binary;
    const long steps = steps_of(m, request, error);
    if (steps < 0) {
        refuse_request(m, peer, 400, 0, "%s", error);
        return;
    }
    if (!infer_wants(request, m->output, &binary)) {
        refuse_request(m, peer, 400, 0, "the model has no output '%s'; fix: its output is '%s'",
                       request->output[0].name, m->output);
        return;
    }
    if (steps > MOST / (m->outputs + m->inputs + m->tokens)) {
        refuse_request(m, peer, 413, 0, "%ld steps are too many for one request; fix: send them in parts", steps);
        return;
    }
    const size_t n = (size_t)steps;
    struct reply *r = reply_new(peer, m, 1, n * (size_t)m->tokens, n * (size_t)m->inputs, n * (size_t)m->outputs);
    if (!r || !fill(m, request, r, error)) {
        refuse_request(m, peer, r ? 400 : 503, !r, "%s", r ? error : "no memory for the request; fix: try again later");
        if (r)
            reply_free(s, r);
        return;
    }
    r->binary = binary;
    snprintf(r->request, sizeof r->request, "%s", request->id);
    r->deadline = r->began + (request->timeout > 0 ? (int64_t)request->timeout : s->deadline * steps);
    *r->step = (struct step){.reply = r,
                             .deadline = r->deadline,
                             .priority = request->priority,
                             .steps = (int)steps,
                             .tokens = r->tokens,
                             .inputs = r->inputs,
                             .outputs = r->outputs};
    queue(s, peer, m, request, r);
}

/* ---- frames ------------------------------------------------------------------------------ */

static void key_of(uint64_t number, char key[INFER_NAME])
{
    char digits[24];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
    } while (number /= 10);
    for (int i = 0; i < count; i++) key[i] = digits[count - 1 - i];
    key[count] = '\0';
}

/* Tokens and numbers of a frame; false: they are none of the model's. */
static bool take_values(const struct served *m, const uint8_t *from, int32_t *tokens, float *inputs)
{
    char error[INFER_ERROR];
    memcpy(tokens, from, 4 * (size_t)m->tokens);
    memcpy(inputs, from + 4 * (size_t)m->tokens, 4 * (size_t)m->inputs);
    bool valid = check_tokens(m, tokens, (size_t)m->tokens, error);
    for (int i = 0; i < m->inputs; i++) valid &= (bool)isfinite(inputs[i]);
    return valid;
}

/* The status of a frame; FRAME_OK: its step waits in the queue. */
static enum frame_status take_frame(struct server *s, struct served *m, const struct frame *f, struct step *step)
{
    struct turn t = {.start = f->flags & FRAME_START, .end = f->flags & FRAME_END, .number = f->number};
    int retry;
    key_of(f->session, t.key);
    return take_values(m, f->values, (int32_t *)step->tokens, (float *)step->inputs) ? enter(s, m, &t, step, &retry)
                                                                                     : FRAME_INVALID;
}

void take_frames(struct server *s, struct peer *peer, struct served *m, const uint8_t *bytes, size_t count)
{
    const size_t tokens = (size_t)m->tokens, inputs = (size_t)m->inputs, outputs = (size_t)m->outputs;
    const size_t of_values = 4 * (tokens + inputs);
    const long frames = frames_count(count, of_values);
    const size_t n = frames < 0 ? 0 : (size_t)frames;
    struct reply *r = reply_new(peer, m, n, n * tokens, n * inputs, n * outputs);
    m->requests++;
    if (!r)
        return;
    r->frames = true;
    r->id = count >= FRAME_HEAD ? (uint32_t)get_number(bytes, 4) : 0;
    const uint32_t own = count >= FRAME_HEAD ? (uint32_t)get_number(bytes + 4, 4) : 0;
    r->deadline = r->began + (own ? own : s->deadline);
    r->pending = 1; /* nothing is finished before all are in the queue */
    memset(r->outputs, 0, n * outputs * sizeof *r->outputs);
    for (size_t i = 0; i < n; i++) {
        const struct frame f = frame_at(bytes, i, of_values);
        struct step *step = &r->step[i];
        *step = (struct step){.reply = r,
                              .number = f.session,
                              .deadline = r->deadline,
                              .steps = 1,
                              .tokens = r->tokens + i * tokens,
                              .inputs = r->inputs + i * inputs,
                              .outputs = r->outputs + i * outputs};
        step->status = take_frame(s, m, &f, step);
        r->pending += step->status == FRAME_OK;
        m->refused += step->status == FRAME_LATE || step->status == FRAME_FULL;
        m->errors += step->status != FRAME_OK;
    }
    m->errors += frames < 0;
    if (--r->pending == 0)
        reply_done(s, r);
}
