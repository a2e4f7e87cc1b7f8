/* Evaluation of a long text in one session: the text is cut into overlapping pieces that run side by side.
 * Each piece but the first begins with CONTEXT symbols that set the states and are not counted, so every
 * symbol is counted once, and read after at least CONTEXT others or after all there are.
 * The cut depends on the length of the text alone: the result is the same for every training batch. */
#include "train/evaluate.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "model/model.h"
#include "train/reading.h"

enum { STEPS = 64, MOST_ROWS = 32, CONTEXT = 256 };
enum { SYMBOLS_OF_A_ROW = 8 * CONTEXT };     /* at least, so that few are read twice */

struct evaluator {
    unroll_session *session;
    const int32_t *tokens;
    size_t pairs;                   /* of a symbol and the next */
    size_t rows, piece, context;    /* row r reads piece + context pairs from r * piece on */
    size_t reading;                 /* rows that do; with more ranks than these the others are empty */
    int32_t *inputs, *targets;      /* [STEPS, rows] */
};

/* ---- the evaluator ---- */

static void cut_into_pieces(struct evaluator *evaluator)
{
    size_t rows = evaluator->pairs / SYMBOLS_OF_A_ROW;

    rows = rows < 1 ? 1 : rows > MOST_ROWS ? MOST_ROWS : rows;
    evaluator->rows = evaluator->reading = rows;
    evaluator->context = rows > 1 ? CONTEXT : 0;
    evaluator->piece = (evaluator->pairs - evaluator->context + rows - 1) / rows;
}

/* A pipeline of layers that read both directions is fed with chunks of rows, of which there may be fewer here than the
 * training has. */
static int count_chunks(const struct evaluator *evaluator, const unroll_model *model,
                        const unroll_machine *machine)
{
    int rows = (int)evaluator->rows / (machine->split.batch > 1 ? machine->split.batch : 1);
    bool turns = false;

    for (int i = 0; i < model->layers; i++)
        turns |= model->layer[i].directions > 1;
    return turns && machine->split.layer > 1 && machine->chunks > rows ? rows : machine->chunks;
}

static unroll_status open_session(struct evaluator *evaluator, unroll_model *model,
                                  const unroll_machine *machine)
{
    unroll_session_config config = unroll_session_default();

    config.mode = UNROLL_EVAL;
    config.steps = STEPS;
    config.rows = (int)evaluator->rows;
    config.carry = 1;
    config.machine = *machine;
    config.machine.chunks = count_chunks(evaluator, model, machine);
    config.machine.checkpoint_time = config.machine.exact = 0;      /* of gradients, of which there are none */
    return unroll_session_new(model, &config, &evaluator->session);
}

unroll_status evaluator_new(unroll_model *model, const int32_t *tokens, size_t count,
                            const unroll_machine *machine, struct evaluator **evaluator)
{
    struct evaluator *made = allocate_zeroed(1, sizeof *made);
    unroll_status status;

    if (made == NULL)
        return fail(UNROLL_RESOURCE, "no memory for an evaluation");
    made->tokens = tokens;
    made->pairs = count - 1;
    cut_into_pieces(made);
    size_t ranks = machine->split.batch > 1 ? (size_t)machine->split.batch : 1;
    made->rows = (made->rows + ranks - 1) / ranks * ranks;      /* as many for each */
    made->inputs = allocate_zeroed(STEPS * made->rows, sizeof *made->inputs);
    made->targets = allocate_zeroed(STEPS * made->rows, sizeof *made->targets);
    if (made->inputs && made->targets)
        status = open_session(made, model, machine);
    else
        status = fail(UNROLL_RESOURCE, "no memory for the batches of an evaluation");
    if (status != UNROLL_OK) {
        evaluator_free(made);
        return status;
    }
    *evaluator = made;
    return UNROLL_OK;
}

void evaluator_free(struct evaluator *evaluator)
{
    if (evaluator == NULL)
        return;
    unroll_session_free(evaluator->session);
    release(evaluator->targets);
    release(evaluator->inputs);
    release(evaluator);
}

/* The steps first .. first + STEPS - 1 of every row; what is not counted has the target -1. */
static void fill_window(struct evaluator *evaluator, size_t first)
{
    enum { NOT_COUNTED = -1, ANY_SYMBOL = 0 };
    size_t length = evaluator->piece + evaluator->context;

    for (size_t row = 0; row < evaluator->rows; row++) {
        size_t counted_from = row == 0 ? 0 : evaluator->context;
        for (size_t t = 0; t < STEPS; t++) {
            size_t step = first + t, pair = row * evaluator->piece + step;
            bool read = step < length && pair < evaluator->pairs && row < evaluator->reading;
            bool counted = read && step >= counted_from;
            size_t at = t * evaluator->rows + row;
            evaluator->inputs[at] = read ? evaluator->tokens[pair] : ANY_SYMBOL;
            evaluator->targets[at] = counted ? evaluator->tokens[pair + 1] : NOT_COUNTED;
        }
    }
}

unroll_status evaluator_run(struct evaluator *evaluator, int (*goes_on)(void *), void *data, double *nats)
{
    unroll_batch batch = {.tokens = evaluator->inputs, .classes = evaluator->targets};
    unroll_result result;
    bool whole = true;

    TRY(unroll_clear_states(evaluator->session));
    for (size_t first = 0; whole && first < evaluator->piece + evaluator->context; first += STEPS) {
        fill_window(evaluator, first);
        TRY(unroll_forward(evaluator->session, &batch));
        whole = !goes_on || goes_on(data);
    }
    TRY(unroll_loss_result(evaluator->session, &result));       /* stopped or not: the next begins from zero */
    *nats = whole ? result.loss : NAN;
    return UNROLL_OK;
}

uint64_t evaluator_forecast(const struct evaluator *evaluator)
{
    return unroll_session_forecast(evaluator->session);
}

/* ---- the public function ---- */

unroll_status unroll_evaluate(unroll_model *model, const unroll_text *text, const unroll_machine *machine,
                              double *nats, int64_t *foretold)
{
    const unroll_machine any = unroll_machine_default();
    struct evaluator *evaluator;
    size_t count;
    const int32_t *tokens = unroll_text_tokens(text, &count);

    TRY(check_model_reads_text(model, text));
    if (count < 2)
        return fail(UNROLL_DATA, "a text of %zu symbol has nothing to predict; fix: give at least 2",
                    count);
    TRY(evaluator_new(model, tokens, count, machine ? machine : &any, &evaluator));
    unroll_status status = evaluator_run(evaluator, NULL, NULL, nats);
    if (status == UNROLL_OK)
        *foretold = (int64_t)(count - 1);
    evaluator_free(evaluator);
    return status;
}
