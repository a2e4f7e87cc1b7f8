/* The task lm: a network predicts each token of a text from the tokens before it. For sets, see lm_sets.c.
 * Training uses truncated backpropagation: `rows` contiguous pieces of the text run in parallel, one window of `steps`
 * tokens after another. Row b of a batch continues where row b of the last batch ended; nothing is shuffled, because
 * states need the order. A remainder shorter than a window is skipped, at a different place in each epoch: the first
 * window begins at a random shift. Over the epochs, every token is thus trained on.
 * Evaluation: overlapping pieces run in parallel. Each piece but the first begins with CONTEXT tokens that set the
 * states and are not counted. Every token is thus counted once, after at least CONTEXT others or after all that exist.
 * The cut depends only on the length of the text: the result is the same for every training batch.
 * Documents (sequences of tokens) form one text. States are reset at each document, and its first token is not
 * predicted from the last token of another one. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/philox.h"
#include "nn/losses/loss.h"
#include "model/model.h"
#include "tasks/examples/examples.h"
#include "tasks/examples/lm_sets.h"
#include "tasks/schema.h"
#include "tasks/lm.h"
#include "tasks/task_table.h"

enum { SHIFT_STREAM = 0x73686674 }; /* "shft": a separate stream, one block for each epoch */
enum { WORDS_OF_A_BLOCK = 4 };
enum { EVALUATION_STEPS = 64, MAX_ROWS = 32, CONTEXT = 256 };
enum { TOKENS_OF_A_ROW = 8 * CONTEXT }; /* at least, in an evaluation, so that few tokens are read twice */

static const struct column *text_of(const unroll_dataset *data) { return dataset_column(data, COLUMN_TOKENS, NULL); }

/* Tells how well data suit lm: any text or sets do, but every other task that suits comes first. */
static int suits_lm(const unroll_dataset *data, char why[TASK_WHY])
{
    const struct column *text = text_of(data);
    if (text == NULL)
        text = sets_of(data);
    if (text)
        snprintf(why, TASK_WHY, "%s in '%s'", text->type == COLUMN_SET ? "sets" : "text", text->name);
    return text ? SUITS_ANY : 0;
}

enum { OF_TOKENS, OF_SETS };
static const struct accepts lm_accepts[] = {[OF_TOKENS] = {.losses = "xent ", .unused = "batch_tokens "},
                                            [OF_SETS] = {.losses = "bce ", .unused = "stateful "},
                                            {0}};

static int lm_row(const unroll_dataset *data, const json_t *schema)
{
    (void)schema;
    return text_of(data) == NULL && sets_of(data) ? OF_SETS : OF_TOKENS;
}

static const char *lm_item(const unroll_dataset *data)
{
    if (text_of(data) == NULL)
        return "steps";
    return text_of(data)->kind == CUT_CHARACTERS ? "char" : "words";
}

/* Sets the network. Dropout and learning rate fit the width of the standard network: on the last tenth of
 * tinyshakespeare it reaches 1.47 nats after 10 epochs (1.51 without). A given width keeps its own values.
 * One-hot words would make the weights of the first layer as wide as the vocabulary. */
unroll_status lm_text_network(const struct task *task, const unroll_dataset *data, unroll_model_config *spec,
                              unroll_task_defaults *defaults)
{
    static const unroll_model_config standard = {.cell = "lstm", .layers = 2, .hidden = 256, .dropout = 0.3f};
    static const unroll_model_config other = {.cell = "lstm", .layers = 2, .hidden = 256};
    const bool is_standard = spec->hidden == UNROLL_AUTO;
    const struct column *text = text_of(data);
    TRY(accepts_spec(task, &lm_accepts[OF_TOKENS], spec));
    spec_settle(spec, is_standard ? &standard : &other);
    spec->tokens = 1;
    spec->input = spec->output = text->vocabulary_size;
    *defaults = unroll_task_defaults_default();
    if (is_standard)
        defaults->learning_rate = 4e-3;
    if (spec->embed == UNROLL_AUTO)
        spec->embed = text->kind == CUT_CHARACTERS ? 0 : spec->hidden;
    return UNROLL_OK;
}

static unroll_status lm_network(const unroll_dataset *data, const char *options, unroll_model_config *spec,
                                unroll_task_defaults *defaults)
{
    static const struct key none[] = {{0}};
    TRY(key_values_read(options, "the task lm", none, NULL));
    if (text_of(data))
        return lm_text_network(&task_lm, data, spec, defaults);
    if (sets_of(data) == NULL)
        return fail(UNROLL_DATA, "the task lm needs a column of tokens or sets; fix: give a text");
    TRY(accepts_spec(&task_lm, &lm_accepts[OF_SETS], spec));
    return sets_network(data, spec, defaults);
}

/* Stores what is needed to read the data again: a text needs only the vocabulary, which the model has; other data need
 * their columns. */
static unroll_status lm_fit(const struct task_request *request, json_t **schema)
{
    const unroll_dataset *data = request->data;
    const bool is_text = data->columns == 1 && data->sequences == 1 && text_of(data) && *data->read_as == 0;
    *schema = is_text ? NULL : json_object();
    return is_text || *schema ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a schema");
}

static unroll_status lm_check(const unroll_model *model, const unroll_dataset *data)
{
    const struct column *text = text_of(data);
    if (text == NULL && sets_of(data))
        return sets_check(model, data);
    if (!model->tokens || unroll_model_outputs(model) != model->input)
        return fail(UNROLL_USAGE,
                    "the model does not predict tokens; fix: set tokens = 1, output = input, loss = xent");
    if (text == NULL)
        return fail(UNROLL_DATA, "the data have no tokens to predict; fix: give a text");
    return check_vocabulary(model, text);
}

/* ---- training ---- */

static unroll_status too_short(size_t count, int rows, int steps)
{
    size_t pairs = count > 0 ? count - 1 : 0; /* of a token and the next one */
    size_t max_rows = pairs / (size_t)steps, max_steps = pairs / (size_t)rows;
    char fix[128] = "";
    if (max_rows && max_steps)
        snprintf(fix, sizeof fix, "batch at most %zu with this bptt, or bptt at most %zu with this batch, or ",
                 max_rows, max_steps);
    else if (max_rows)
        snprintf(fix, sizeof fix, "batch at most %zu with this bptt, or ", max_rows);
    else if (max_steps)
        snprintf(fix, sizeof fix, "bptt at most %zu with this batch, or ", max_steps);
    else if (pairs)
        snprintf(fix, sizeof fix, "batch 1 with bptt at most %zu, or ", pairs);
    return fail(UNROLL_DATA, "the training part has %zu tokens, too few for batch %d x bptt %d; fix: %sa longer text",
                count, rows, steps, fix);
}

static int32_t token_at(const struct lm_part *lm, size_t at) { return column_id(lm->text, lm->first + at); }

/* True for the first token of a document. */
static bool begins_document(const struct lm_part *lm, size_t at)
{
    size_t entry = lm->first + at;
    return entry == (lm->documents > 1 ? lm->begin[span_of(lm->begin, lm->documents, entry)] : 0);
}

/* Writes a token and the next one, which is a target if it counts and belongs to the same document. */
static void put_pair(const struct lm_part *lm, size_t pair, bool counts, size_t entry, struct task_batch *batch)
{
    enum { NOT_COUNTED = -1 };
    counts = counts && !begins_document(lm, pair + 1);
    batch->tokens[entry] = token_at(lm, pair);
    batch->classes[entry] = counts ? token_at(lm, pair + 1) : NOT_COUNTED;
    batch->items += counts;
    if (batch->reset)
        batch->reset[entry] = begins_document(lm, pair);
}

/* Draws the shift uniformly from all places at which the last row still ends inside the text. */
static size_t shift_of_epoch(const struct lm_part *lm, int64_t epoch)
{
    size_t last_row = (size_t)(lm->part.shape->rows - 1) * lm->piece;
    size_t window_tokens = (size_t)lm->part.batches * (size_t)lm->part.shape->steps;
    size_t spare = lm->part.items - 1 - last_row - window_tokens;
    struct rng rng = rng_at(lm->seed, SHIFT_STREAM, (uint64_t)epoch * WORDS_OF_A_BLOCK);
    return (size_t)rng_below(&rng, spare + 1);
}

static void fill_training(const struct part *part, int64_t epoch, int64_t window, struct task_batch *batch)
{
    const struct lm_part *lm = (const struct lm_part *)part;
    size_t first = shift_of_epoch(lm, epoch) + (size_t)window * (size_t)part->shape->steps,
           rows = (size_t)part->shape->rows;
    batch->begins = window == 0; /* does not continue the last batch of the previous epoch */
    batch->items = 0;
    for (size_t row = 0; row < rows; row++)
        for (size_t t = 0; t < (size_t)part->shape->steps; t++)
            put_pair(lm, row * lm->piece + first + t, true, t * rows + row, batch);
}

static unroll_status cut_training(const struct task_request *request, struct lm_part *lm)
{
    size_t count = lm->part.items, piece = count > 0 ? (count - 1) / (size_t)request->rows : 0;
    int steps = request->steps ? request->steps : piece > 0 ? (int)piece : 1; /* a text has at most INT32_MAX tokens */
    if (piece < (size_t)steps)
        return too_short(count, request->rows, steps);
    lm->piece = piece;
    lm->seed = request->seed;
    lm->part.shape->rows = request->rows;
    lm->part.shape->steps = steps;
    lm->part.batches = (int64_t)(piece / (size_t)steps);
    lm->part.fill = fill_training;
    return UNROLL_OK;
}

/* ---- evaluation ---- */

/* Fills the steps from batch * EVALUATION_STEPS on of every row; uncounted steps have the target -1. */
static void fill_evaluation(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    const struct lm_part *lm = (const struct lm_part *)part;
    size_t length = lm->piece + lm->context, pairs = part->items - 1, rows = (size_t)part->shape->rows;
    (void)epoch;
    batch->begins = number == 0;
    batch->items = 0;
    for (size_t row = 0; row < rows; row++) {
        size_t counted_from = row == 0 ? 0 : lm->context;
        for (size_t t = 0; t < EVALUATION_STEPS; t++) {
            size_t step = (size_t)number * EVALUATION_STEPS + t, pair = row * lm->piece + step;
            bool read = step < length && pair < pairs && row < lm->reading;
            put_pair(lm, read ? pair : 0, read && step >= counted_from, t * rows + row, batch);
        }
    }
}

static unroll_status find_floor(struct lm_part *lm, int vocabulary_size)
{
    double *count, all = (double)lm->part.examples;
    TRY(ALLOCATE(count, (size_t)vocabulary_size, "to count %d tokens", vocabulary_size));
    for (size_t i = 1; i < lm->part.items; i++)
        if (!begins_document(lm, i))
            count[token_at(lm, i)]++;
    for (int i = 0; i < vocabulary_size; i++)
        if (count[i] > 0)
            lm->floor -= count[i] / all * log(count[i] / all);
    release(count);
    return UNROLL_OK;
}

static void cut_evaluation(const struct task_request *request, struct lm_part *lm)
{
    size_t pairs = lm->part.items - 1, rows = pairs / TOKENS_OF_A_ROW, ranks = (size_t)request->ranks;
    rows = rows < 1 ? 1 : rows > MAX_ROWS ? MAX_ROWS : rows;
    lm->reading = rows;
    lm->context = rows > 1 ? CONTEXT : 0;
    lm->piece = (pairs - lm->context + rows - 1) / rows;
    lm->part.shape->rows = (int)((rows + ranks - 1) / ranks * ranks);
    lm->part.shape->steps = EVALUATION_STEPS;
    lm->part.batches = (int64_t)((lm->piece + lm->context + EVALUATION_STEPS - 1) / EVALUATION_STEPS);
    lm->part.fill = fill_evaluation;
}

size_t lm_predicted(const struct lm_part *lm, int64_t batch, size_t step, size_t row)
{
    return row * lm->piece + (size_t)batch * EVALUATION_STEPS + step + 1;
}

/* ---- parts ---- */

/* Counts the tokens held out from the first *documents of the data (whole documents), or from the `all` tokens of a
 * single one. */
static size_t count_held_out(const unroll_held_out *part, const unroll_dataset *data, size_t *documents, size_t all)
{
    size_t of = *documents > 1 ? *documents : all;
    size_t count = part->count > 0 ? (size_t)part->count : (size_t)((double)of * part->share);
    if (part->data)
        return 0;
    if (*documents <= 1)
        return count < of ? count : of;
    count = count == 0 && part->share > 0 ? 1 : count < of ? count : of;
    *documents -= count;
    return all - data->begin[*documents];
}

/* Chooses the tokens of a part. Held-out tokens are the end of the text (training | validation | test) or other data;
 * all but the first are predicted. */
static unroll_status choose_tokens(const struct task_request *request, enum part_of which, struct lm_part *lm)
{
    const bool tests = which == PART_TEST, all_of_it = part_is_all(which);
    const unroll_held_out *wanted = tests ? &request->test : &request->validation;
    const char *name = tests ? "test" : "validation";
    size_t all = request->data->steps, documents = request->data->sequences;
    size_t test = all_of_it ? 0 : count_held_out(&request->test, request->data, &documents, all);
    size_t validation = all_of_it ? 0 : count_held_out(&request->validation, request->data, &documents, all - test);
    size_t kept = all - test - validation;
    if (kept == 0 && all > 0 && !all_of_it)
        return fail(UNROLL_DATA,
                    "the text has %zu tokens, and all are held out; fix: use a smaller `validation` or `test`", all);
    size_t *count = &lm->part.items;
    const unroll_dataset *data = request->data;
    *count = kept;
    if (which != PART_TRAINING && !all_of_it && wanted->data) {
        data = wanted->data;
        *count = data->steps;
    } else if (which != PART_TRAINING && !all_of_it) {
        lm->first = tests ? all - test : kept;
        *count = tests ? test : validation;
        if ((wanted->share > 0 || wanted->count > 0) && *count < 2)
            return fail(UNROLL_DATA, "%g of %zu tokens is too little for `%s`; fix: use a longer text, or `%s` 0",
                        wanted->count > 0 ? (double)wanted->count : wanted->share, all, name, name);
    }
    lm->text = text_of(data);
    lm->begin = data->begin;
    lm->documents = data->sequences;
    if (which != PART_TRAINING && *count == 1)
        return fail(UNROLL_DATA, "a text of 1 token has nothing to predict; fix: give at least 2");
    for (size_t i = 1; i < *count; i++) lm->part.examples += !begins_document(lm, i);
    if (which != PART_TRAINING && *count && lm->part.examples == 0)
        return fail(UNROLL_DATA,
                    "the documents have one token each: there is nothing to predict; fix: use longer ones");
    return UNROLL_OK;
}

static unroll_status cut_tokens(const struct task_request *request, enum part_of which, struct lm_part *lm)
{
    if (which == PART_TRAINING)
        return cut_training(request, lm);
    cut_evaluation(request, lm);
    return find_floor(lm, text_of(request->data)->vocabulary_size);
}

unroll_status lm_part_open(const struct task_request *request, enum part_of which, size_t bytes, struct part **part)
{
    struct lm_part chosen = {.kind = text_of(request->data)->kind}, *lm;
    TRY(choose_tokens(request, which, &chosen));
    if (which != PART_TRAINING && chosen.part.items == 0)
        return UNROLL_OK;
    TRY(cut_tokens(request, which, &chosen));
    if ((lm = allocate_zeroed(1, bytes)) == NULL)
        return fail(UNROLL_RESOURCE, "no memory for a part of a text");
    *lm = chosen;
    lm->part.shapes = 1;
    lm->part.resets = lm->documents > 1;
    *part = &lm->part;
    return UNROLL_OK;
}

static unroll_status lm_open(const struct task_request *request, enum part_of which, struct part **part)
{
    return text_of(request->data) ? lm_part_open(request, which, sizeof(struct lm_part), part)
                                  : sets_open(request, which, part);
}

/* Computes nats, bits and perplexity per token from the loss; for sets see sets_score. */
static void lm_score(const struct part *part, double loss, bool observed, unroll_evaluation *evaluation)
{
    const struct lm_part *lm = (const struct lm_part *)part;
    bool words = lm->kind != CUT_CHARACTERS;
    (void)observed;
    if (part_is_of_sets(part)) {
        sets_score(part, loss, evaluation);
        return;
    }
    *evaluation = (unroll_evaluation){
        .loss = loss,
        .floor = lm->floor,
        .naive = "unigrams",
        .examples = (int64_t)part->examples,
        .compared = words ? 2 : 1,
        .metrics = 4,
        .metric = {{"nats", "", " nats", 4, loss},
                   {words ? "bits_per_word" : "bits_per_character", "",
                    words ? " bits per word" : " bits per character", 3, loss / log(2)},
                   {"perplexity", "perplexity ", "", 3, exp(loss)},
                   {words ? "words" : "characters", "", words ? " words" : " characters", 0, (double)part->examples}},
    };
}

const struct task task_lm = {.name = "lm",
                             .about = "predict the next token",
                             .item = lm_item,
                             .suits = suits_lm,
                             .network = lm_network,
                             .fit = lm_fit,
                             .accepts = lm_accepts,
                             .row = lm_row,
                             .check = lm_check,
                             .open = lm_open,
                             .score = lm_score};
