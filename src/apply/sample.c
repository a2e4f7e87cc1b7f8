/* Samples text from a model, one token at a time: softmax of the outputs divided by the temperature, in double, drawn
 * with a seeded generator. The same seed, model, build and kind of machine give the same text. */
#include "base/sized.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/philox.h"
#include "data/readers/reader_table.h"
#include "data/words.h"
#include "model/model.h"
#include "tasks/schema.h"
#include "apply/sample.h"
#include "unroll_train.h"

enum { SAMPLE_STREAM = 0x736d706c }; /* "smpl" */

struct candidate {
    int symbol;
    double logit, weight; /* weight: before division by the sum */
};

struct sampler {
    unroll_session *session;
    int symbols;
    int unknown;                  /* the token that is never drawn; -1: none */
    int choices;                  /* number of tokens that may be drawn */
    int kept;                     /* likeliest choices to draw from; if all, in token order */
    float *logits;                /* [tokens] */
    struct candidate *candidates; /* [choices] */
    double temperature, top_p;
    struct rng rng;
};

void unroll_sample_config_begin(unroll_sample_config *config, size_t size)
{
    const unroll_sample_config standard = {.size = sizeof(unroll_sample_config),
                                           .length = 500,
                                           .temperature = 0.8,
                                           .top_p = 1,
                                           .seed = 1,
                                           .machine = unroll_machine_default()};
    sized_begin(&standard, sizeof standard, config, size);
}

static unroll_status check_model(const unroll_model *model)
{
    if (!model->tokens || unroll_model_outputs(model) != model->input || unroll_model_vocabulary(model) == NULL)
        return fail(
            UNROLL_USAGE,
            "the model does not write text: it has no vocabulary of tokens, or its number of outputs differs; fix: "
            "use a model of the task lm, or 'unroll predict' or 'unroll eval'");
    if (model_is_pooled(model))
        return fail(
            UNROLL_UNSUPPORTED,
            "a model with a pool predicts for whole sequences, so it cannot write text; fix: train one without a pool");
    if (model_looks_ahead(model))
        return fail(
            UNROLL_UNSUPPORTED,
            "a bidirectional model reads the following steps, so it cannot write text; fix: train one with a single "
            "direction");
    return UNROLL_OK;
}

bool unroll_model_can_sample(const unroll_model *model) { return check_model(model) == UNROLL_OK; }

static unroll_status take_request(const unroll_sample_config *given, unroll_sample_config *config)
{
    *config = unroll_sample_config_default();
    return sized_take(
        SIZED_WITH(unroll_sample_config, "unroll_sample_config_default()", MACHINE_OF(unroll_sample_config)), given,
        config);
}

static unroll_status check_request(const unroll_model *model, const unroll_sample_config *config)
{
    if (config->length < 0 || config->top_k < 0)
        return fail(UNROLL_USAGE,
                    "`length` = %d and `top_k` = %d must not be negative; fix: choose a value in this range",
                    config->length, config->top_k);
    if (!(config->temperature >= 0 && config->temperature <= 1e6))
        return fail(UNROLL_USAGE, "`temperature` = %g is outside 0 .. 1e6; fix: choose a value in this range",
                    config->temperature);
    if (!(config->top_p > 0 && config->top_p <= 1))
        return fail(UNROLL_USAGE, "`top_p` = %g is outside 0 .. 1, and not 0; fix: choose a value in this range",
                    config->top_p);
    if (config->beam < 0 || config->beam > 256)
        return fail(UNROLL_USAGE, "`beam` = %d is outside 0 .. 256; fix: choose a value in this range", config->beam);
    return check_model(model);
}

/* ---- drawing ---- */

/* Sorts the likeliest first; ties go to the smaller token. */
static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->logit != b->logit)
        return a->logit > b->logit ? -1 : 1;
    return a->symbol < b->symbol ? -1 : 1;
}

static unroll_status list_candidates(struct sampler *sampler)
{
    TRY(unroll_session_read(sampler->session, "z", sampler->logits, (size_t)sampler->symbols));
    for (int i = 0, choice = 0; i < sampler->symbols; i++) {
        if (!isfinite(sampler->logits[i]))
            return fail(
                UNROLL_DIVERGED,
                "the model's output for token %d is %f: its weights have diverged; fix: train it again with a lower "
                "learning rate",
                i, (double)sampler->logits[i]);
        if (i != sampler->unknown)
            sampler->candidates[choice++] = (struct candidate){i, (double)sampler->logits[i], 0};
    }
    if (sampler->kept < sampler->choices || sampler->top_p < 1)
        qsort(sampler->candidates, (size_t)sampler->choices, sizeof *sampler->candidates, compare_candidates);
    return UNROLL_OK;
}

static int likeliest(const struct sampler *sampler)
{
    int best = 0;
    for (int i = 1; i < sampler->kept; i++)
        if (sampler->candidates[i].logit > sampler->candidates[best].logit)
            best = i;
    return best;
}

/* Returns a value uniform in [0, 1) with 53 bits. */
static double uniform(struct rng *rng)
{
    uint64_t high = rng_next_u32(rng);
    return (double)((high << 32 | rng_next_u32(rng)) >> 11) * 0x1p-53;
}

/* Returns how many of the sorted candidates together have the probability top_p, and sets *sum to theirs. */
static int nucleus(const struct sampler *sampler, double *sum)
{
    double wanted = sampler->top_p * *sum, have = 0;
    int count = 0;
    while (count < sampler->kept && have < wanted) have += sampler->candidates[count++].weight;
    *sum = have;
    return count;
}

/* Draws a token, or takes the likeliest at temperature 0. */
static int draw_token(struct sampler *sampler)
{
    int best = likeliest(sampler);
    double max = sampler->candidates[best].logit, sum = 0;
    if (sampler->temperature == 0)
        return sampler->candidates[best].symbol;
    for (int i = 0; i < sampler->kept; i++) {
        struct candidate *candidate = &sampler->candidates[i];
        candidate->weight = exp((candidate->logit - max) / sampler->temperature);
        sum += candidate->weight;
    }
    int kept = sampler->top_p < 1 ? nucleus(sampler, &sum) : sampler->kept;
    double left = uniform(&sampler->rng) * sum;
    for (int i = 0; i < kept; i++) {
        left -= sampler->candidates[i].weight;
        if (left < 0)
            return sampler->candidates[i].symbol;
    }
    return sampler->candidates[best].symbol; /* due to rounding */
}

/* ---- reading and writing ---- */

static unroll_status feed(void *arg, int32_t symbol)
{
    const struct sampler *sampler = arg;
    unroll_batch batch = {.size = sizeof batch, .tokens = &symbol};
    return unroll_session_forward(sampler->session, &batch);
}

static int sample_symbol(const unroll_model *model, const char *wanted)
{
    for (int i = 0; i < model->input; i++)
        if (strcmp(model->symbol[i], wanted) == 0)
            return i;
    return -1;
}

int sample_unknown(const unroll_model *model)
{
    return model->symbol_kind == CUT_CHARACTERS ? -1 : sample_symbol(model, UNKNOWN_WORD);
}

unroll_status sample_prompt(const unroll_model *model, const char *prompt, unroll_status (*feed)(void *, int32_t),
                            void *arg)
{
    struct schema_column column;
    const struct schema schema = schema_of_model(model, &column);
    int line_end = sample_symbol(model, "\n");
    unroll_dataset *text;
    unroll_status status = UNROLL_OK;
    if (prompt == NULL || *prompt == '\0')
        return feed(arg, line_end < 0 ? 0 : line_end);
    TRY(dataset_parse(prompt, strlen(prompt), "the prompt", "text", NULL, &schema, &text));
    for (size_t i = 0; i < text->steps && status == UNROLL_OK; i++) status = feed(arg, column_id(text->column, i));
    unroll_dataset_free(text);
    return status;
}

static unroll_status write_text(struct sampler *sampler, const unroll_model *model, int length,
                                int (*write)(void *arg, const char *symbol), void *arg)
{
    const char *const *symbols = unroll_model_vocabulary(model);
    const bool spaced = model->symbol_kind == CUT_BLANKS; /* blanks are not part of the tokens */

    for (int i = 0; i < length; i++) {
        TRY(list_candidates(sampler));
        int symbol = draw_token(sampler);
        bool ends_line = strcmp(symbols[symbol], "\n") == 0;
        if (write(arg, symbols[symbol]) != 0 || (spaced && !ends_line && write(arg, " ") != 0))
            return UNROLL_OK;
        if (i + 1 < length)
            TRY(feed(sampler, symbol));
    }
    return UNROLL_OK;
}

/* Opens a session with one row and allocates the candidates. */
static unroll_status sampler_init(struct sampler *sampler, unroll_model *model, const unroll_sample_config *config)
{
    unroll_session_config session = unroll_session_config_default();
    int unknown = sample_unknown(model);
    int choices = model->input - (unknown >= 0);
    if (choices == 0)
        return fail(UNROLL_USAGE, "the model's only word is " UNKNOWN_WORD "; fix: train another model");
    *sampler = (struct sampler){.symbols = model->input,
                                .unknown = unknown,
                                .choices = choices,
                                .temperature = config->temperature,
                                .top_p = config->top_p,
                                .rng = rng_new(config->seed, SAMPLE_STREAM),
                                .kept = config->top_k > 0 && config->top_k < choices ? config->top_k : choices,
                                .logits = allocate_zeroed((size_t)model->input, sizeof *sampler->logits),
                                .candidates = allocate_zeroed((size_t)choices, sizeof *sampler->candidates)};
    if (sampler->logits == NULL || sampler->candidates == NULL)
        return fail(UNROLL_RESOURCE, "no memory for %d candidates", model->input);
    session.mode = UNROLL_INFER;
    session.stateful = session.raw = 1;
    session.machine = config->machine;
    session.machine.threads = config->machine.threads ? config->machine.threads : 1;
    return unroll_session_new(model, &session, &sampler->session);
}

static void sampler_end(struct sampler *sampler)
{
    unroll_session_free(sampler->session);
    release(sampler->candidates);
    release(sampler->logits);
}

unroll_status unroll_model_sample(unroll_model *model, const unroll_sample_config *given,
                                  int (*write)(void *arg, const char *symbol), void *arg)
{
    struct sampler sampler = {0};
    unroll_sample_config taken, *config = &taken;
    TRY(take_request(given, config));
    TRY(check_request(model, config));
    if (config->beam > 0)
        return sample_beam(model, config, write, arg);
    unroll_status status = sampler_init(&sampler, model, config);
    if (status == UNROLL_OK)
        status = sample_prompt(model, config->prompt, feed, &sampler);
    if (status == UNROLL_OK)
        status = write_text(&sampler, model, config->length, write, arg);
    sampler_end(&sampler);
    return status;
}
