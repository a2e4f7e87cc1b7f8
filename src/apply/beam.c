/* Beam search: extends the likeliest texts so far by all tokens and keeps the likeliest results. Texts are rows of one
 * session; their states are moved with them. Log-probabilities are summed in double. Ties go to the text found first,
 * then to the smaller token. The search is deterministic. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/model.h"
#include "apply/sample.h"
#include "unroll_train.h"

/* A text of the beam, possibly extended by a token. */
struct hypothesis {
    double score; /* log-probability; -infinity: none */
    int row, token;
};

/* A buffer of states, [rows, width]. */
struct moved {
    char name[32];
    size_t count;
};

struct beam {
    unroll_session *session;
    int width, symbols, unknown, length;
    struct hypothesis *text, *next; /* [width] */
    int32_t *tokens, *older;        /* [width, length], tokens of each text */
    int32_t *fed;                   /* [width] */
    float *logits;                  /* [width, symbols] */
    struct moved *state;
    int states;
    float *from, *to; /* room for the largest state */
};

/* ---- memory ---- */

static unroll_status list_states(struct beam *b, const unroll_model *model)
{
    static const char *const kinds[] = {"h0", "s0"};
    size_t most = 1;
    TRY(ALLOCATE(b->state, 2 * (size_t)model->layers, "for a beam search"));
    for (int layer = 0; layer < model->layers; layer++)
        for (int k = 0; k < 2; k++) {
            struct moved *state = &b->state[b->states];
            snprintf(state->name, sizeof state->name, "%s.l%d", kinds[k], layer);
            state->count = unroll_session_count(b->session, state->name);
            b->states += state->count > 0;
            most = state->count > most ? state->count : most;
        }
    TRY(ALLOCATE(b->from, most, "for a beam search"));
    return ALLOCATE(b->to, most, "for a beam search");
}

/* Opens a session with one row for each text and allocates the beam. */
static unroll_status beam_open(struct beam *b, unroll_model *model, const unroll_sample_config *config)
{
    unroll_session_config session = unroll_session_config_default();
    const size_t width = (size_t)config->beam, length = config->length > 0 ? (size_t)config->length : 1;
    *b = (struct beam){.width = config->beam, .symbols = model->input, .length = config->length};
    b->unknown = sample_unknown(model);
    session.rows = config->beam;
    session.stateful = session.raw = 1;
    session.machine = config->machine;
    session.machine.threads = config->machine.threads ? config->machine.threads : 1;
    TRY(ALLOCATE(b->text, width, "for a beam search"));
    TRY(ALLOCATE(b->next, width, "for a beam search"));
    TRY(ALLOCATE(b->tokens, width * length, "for the texts of a beam search"));
    TRY(ALLOCATE(b->older, width * length, "for the texts of a beam search"));
    TRY(ALLOCATE(b->fed, width, "for a beam search"));
    TRY(ALLOCATE(b->logits, width * (size_t)b->symbols, "for a beam search"));
    TRY(unroll_session_new(model, &session, &b->session));
    return list_states(b, model);
}

static void beam_close(struct beam *b)
{
    unroll_session_free(b->session);
    release(b->to);
    release(b->from);
    release(b->state);
    release(b->logits);
    release(b->fed);
    release(b->older);
    release(b->tokens);
    release(b->next);
    release(b->text);
}

/* ---- a step ---- */

static unroll_status feed_rows(struct beam *b)
{
    unroll_batch batch = {.size = sizeof batch, .tokens = b->fed};
    return unroll_session_forward(b->session, &batch);
}

static unroll_status feed_all(void *arg, int32_t token)
{
    struct beam *b = arg;
    for (int row = 0; row < b->width; row++) b->fed[row] = token;
    return feed_rows(b);
}

/* Inserts into the sorted list of the best. */
static void offer(struct beam *b, struct hypothesis found)
{
    int at = b->width;
    while (at > 0 && found.score > b->next[at - 1].score) at--;
    if (at == b->width)
        return;
    memmove(b->next + at + 1, b->next + at, sizeof found * (size_t)(b->width - at - 1));
    b->next[at] = found;
}

static double log_of_sum(const float *z, int count, double *highest)
{
    double sum = 0;
    *highest = -INFINITY;
    for (int i = 0; i < count; i++) *highest = fmax(*highest, (double)z[i]);
    for (int i = 0; i < count; i++) sum += exp((double)z[i] - *highest);
    return *highest + log(sum);
}

/* Finds the best continuations of all texts. */
static unroll_status look_on(struct beam *b)
{
    TRY(unroll_session_read(b->session, "z", b->logits, (size_t)b->width * (size_t)b->symbols));
    for (int i = 0; i < b->width; i++) b->next[i] = (struct hypothesis){.score = -INFINITY};
    for (int row = 0; row < b->width && b->text[row].score > -INFINITY; row++) {
        const float *z = b->logits + (size_t)row * (size_t)b->symbols;
        double highest, all = log_of_sum(z, b->symbols, &highest);
        if (!isfinite(all))
            return fail(
                UNROLL_DIVERGED,
                "the model's outputs are not finite: its weights have diverged; fix: train it again with a lower "
                "learning rate");
        for (int token = 0; token < b->symbols; token++)
            if (token != b->unknown)
                offer(b, (struct hypothesis){b->text[row].score + (double)z[token] - all, row, token});
    }
    return UNROLL_OK;
}

/* Moves states and texts to the rows where they continue. Rows without a text copy the first one. */
static unroll_status move(struct beam *b, int step)
{
    for (int row = 0; row < b->width; row++) {
        const struct hypothesis *next = &b->next[row];
        int32_t *tokens = b->older + (size_t)row * (size_t)b->length;
        memcpy(tokens, b->tokens + (size_t)next->row * (size_t)b->length, sizeof *tokens * (size_t)step);
        tokens[step] = b->fed[row] = next->token;
    }
    for (int i = 0; i < b->states; i++) {
        const struct moved *state = &b->state[i];
        const size_t width = state->count / (size_t)b->width;
        TRY(unroll_session_read(b->session, state->name, b->from, state->count));
        for (int row = 0; row < b->width; row++)
            memcpy(b->to + (size_t)row * width, b->from + (size_t)b->next[row].row * width, width * sizeof *b->to);
        TRY(unroll_session_write(b->session, state->name, b->to, state->count));
    }
    int32_t *older = b->older;
    b->older = b->tokens;
    b->tokens = older;
    memcpy(b->text, b->next, sizeof *b->text * (size_t)b->width);
    return UNROLL_OK;
}

static unroll_status search(struct beam *b)
{
    for (int row = 0; row < b->width; row++) b->text[row] = (struct hypothesis){.score = row ? -INFINITY : 0};
    for (int step = 0; step < b->length; step++) {
        TRY(look_on(b));
        TRY(move(b, step));
        if (step + 1 < b->length)
            TRY(feed_rows(b));
    }
    return UNROLL_OK;
}

unroll_status sample_beam(unroll_model *model, const unroll_sample_config *config,
                          int (*write)(void *arg, const char *symbol), void *arg)
{
    struct beam b;
    unroll_status status = beam_open(&b, model, config);
    if (status == UNROLL_OK)
        status = sample_prompt(model, config->prompt, feed_all, &b);
    if (status == UNROLL_OK)
        status = search(&b);
    for (int i = 0; status == UNROLL_OK && i < b.length; i++)
        if (write(arg, model->symbol[b.tokens[i]]) != 0)
            break;
    beam_close(&b);
    return status;
}
