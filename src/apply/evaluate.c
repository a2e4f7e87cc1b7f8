/* Evaluates batch by batch. The task chooses the batches. */
#include "apply/evaluate.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "model/model.h"
#include "tasks/schema.h"
#include "apply/feed.h"
#include "apply/shapes.h"

struct evaluator {
    const struct task *task;
    struct part *part;
    struct feed feed;
    struct shaped sessions;
    const char *results; /* name of the sessions' output buffer */
    char name[32];
    float *observed; /* outputs of a batch, if the task observes them */
    bool answers;    /* predicts, and computes no loss */
    bool looks;
};

/* ---- the evaluator ---- */

/* Returns the number of chunks. A pipeline with bidirectional layers runs in chunks of rows, and evaluation may have
 * fewer rows than training. */
static int count_chunks(const struct part *part, const unroll_model *model, const unroll_machine *machine)
{
    int rows = part->shape->rows;
    bool turns = false;
    for (int i = 1; i < part->shapes; i++) rows = part->shape[i].rows < rows ? part->shape[i].rows : rows;
    rows /= machine->split.batch > 1 ? machine->split.batch : 1;
    for (int i = 0; i < model->layers; i++) turns |= model->layer[i].directions > 1;
    return turns && machine->split.layer > 1 && machine->chunks > rows ? rows : machine->chunks;
}

static unroll_status open_sessions(struct evaluator *evaluator, unroll_model *model, const unroll_machine *machine)
{
    unroll_session_config config = unroll_session_config_default();
    config.mode = evaluator->answers ? UNROLL_INFER : UNROLL_EVAL;
    config.results = evaluator->looks;
    config.stateful = 1;
    config.machine = *machine;
    config.machine.chunks = count_chunks(evaluator->part, model, machine);
    config.machine.checkpoint_time = config.machine.exact = 0; /* only used for gradients */
    return shaped_open(model, evaluator->part, config, &evaluator->sessions);
}

/* Allocates the buffer for the outputs that the task observes. */
static unroll_status take_results(struct evaluator *evaluator, const unroll_model *model)
{
    if (!evaluator->looks)
        return UNROLL_OK;
    size_t most = 0;
    evaluator->results = model_results(model, evaluator->name);
    for (int i = 0; i < evaluator->sessions.shapes; i++) {
        size_t count = unroll_session_count(evaluator->sessions.session[i], evaluator->results);
        most = count > most ? count : most;
    }
    return ALLOCATE(evaluator->observed, most, "for the results of a batch");
}

/* See evaluate.h. */
unroll_status evaluator_new(unroll_model *model, const struct task *task, struct part *part,
                            const unroll_machine *machine, bool answers, struct evaluator **evaluator)
{
    struct evaluator *made;
    unroll_status status = ALLOCATE(made, 1, "for an evaluation");
    if (status != UNROLL_OK) {
        part_free(part);
        return status;
    }
    made->task = task;
    made->part = part;
    made->answers = answers;
    made->looks = answers || task->observe;
    status = feed_new(model, part, true, UNROLL_AUTO, &made->feed);
    if (status == UNROLL_OK)
        status = open_sessions(made, model, machine);
    if (status == UNROLL_OK)
        status = take_results(made, model);
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
    shaped_close(&evaluator->sessions);
    release(evaluator->observed);
    feed_end(&evaluator->feed);
    part_free(evaluator->part);
    release(evaluator);
}

static unroll_status run_batch(struct evaluator *evaluator, int64_t number, const struct filled **batch)
{
    const struct filled *filled = *batch = feed_take(&evaluator->feed, 0, number);
    unroll_session *session = evaluator->sessions.session[filled->shape];
    unroll_batch read = filled->batch;
    if (evaluator->answers)
        read.targets = NULL, read.target_values = NULL;
    if (filled->arrays.begins)
        TRY(unroll_session_reset(session));
    TRY(unroll_session_forward(session, &read));
    if (!evaluator->looks)
        return UNROLL_OK;
    return unroll_session_read(session, evaluator->results, evaluator->observed,
                               unroll_session_count(session, evaluator->results));
}

/* Combines the losses of all sessions and resets them, also after an interrupted run. */
static unroll_status take_loss(struct evaluator *evaluator, double *loss)
{
    double sum = 0, weight = 0;
    for (int i = 0; i < evaluator->sessions.shapes; i++) {
        unroll_result result = {.size = sizeof result};
        TRY(unroll_session_result(evaluator->sessions.session[i], &result));
        if (evaluator->sessions.shapes == 1) {
            *loss = result.loss;
            return UNROLL_OK;
        }
        sum += result.loss * result.weight;
        weight += result.weight;
    }
    *loss = weight > 0 ? sum / weight : 0;
    return UNROLL_OK;
}

static unroll_status read_weights(struct evaluator *evaluator)
{
    return evaluator->task->read ? evaluator->task->read(evaluator->part, evaluator->sessions.session[0]) : UNROLL_OK;
}

unroll_status evaluator_run(struct evaluator *evaluator, int (*goes_on)(void *), void *data, unroll_evaluation *found)
{
    const struct filled *filled;
    double loss;
    bool whole = true;
    TRY(read_weights(evaluator));
    for (int64_t number = 0; whole && number < evaluator->part->batches; number++) {
        TRY(run_batch(evaluator, number, &filled));
        if (evaluator->task->observe)
            evaluator->task->observe(evaluator->part, number, &filled->arrays, evaluator->observed);
        whole = !goes_on || goes_on(data);
    }
    TRY(take_loss(evaluator, &loss));
    evaluator->task->score(evaluator->part, whole ? loss : (double)NAN, whole, found);
    return UNROLL_OK;
}

unroll_status evaluator_answer(struct evaluator *evaluator, answer_taker *take, void *arg)
{
    const struct filled *filled;
    TRY(read_weights(evaluator));
    for (int64_t number = 0; number < evaluator->part->batches; number++) {
        TRY(run_batch(evaluator, number, &filled));
        TRY(evaluator->task->answer(evaluator->part, number, &filled->arrays, evaluator->observed, take, arg));
    }
    return UNROLL_OK;
}

unroll_status evaluator_learn(const struct evaluator *evaluator, unroll_model *model)
{
    return schema_learn(model, evaluator->task, evaluator->part);
}

unroll_status evaluator_details(const struct evaluator *evaluator, char **details)
{
    json_t *object = evaluator->task->details ? evaluator->task->details(evaluator->part) : NULL;
    *details = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(8)) : NULL;
    bool failed = object && *details == NULL;
    json_decref(object);
    return failed ? fail(UNROLL_RESOURCE, "no memory for the details of an evaluation") : UNROLL_OK;
}

void evaluator_describe(const struct evaluator *evaluator, double loss, unroll_evaluation *described)
{
    evaluator->task->score(evaluator->part, loss, false, described);
}

const struct part *evaluator_part(const struct evaluator *evaluator) { return evaluator->part; }

uint64_t evaluator_memory_estimate(const struct evaluator *evaluator)
{
    return shaped_memory_estimate(&evaluator->sessions);
}
