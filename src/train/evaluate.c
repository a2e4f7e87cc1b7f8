/* Evaluation in one session, batch by batch. Which they are is the task's business. */
#include "train/evaluate.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "model/model.h"
#include "train/feed.h"

struct evaluator {
    const struct task *task;
    struct part *part;
    struct feed feed;
    unroll_session *session;
    const char *results; /* the session's buffer of them, and .. */
    char name[32];
    float *observed; /* .. a batch's: of tasks that look at them */
    size_t count;
};

/* ---- the evaluator ---- */

/* A pipeline of layers that read both directions is fed with chunks of rows, of which there may be fewer here than the
 * training has. */
static int count_chunks(const struct evaluator *evaluator, const unroll_model *model, const unroll_machine *machine)
{
    int rows = evaluator->part->shape->rows / (machine->split.batch > 1 ? machine->split.batch : 1);
    bool turns = false;
    for (int i = 0; i < model->layers; i++) turns |= model->layer[i].directions > 1;
    return turns && machine->split.layer > 1 && machine->chunks > rows ? rows : machine->chunks;
}

static unroll_status open_session(struct evaluator *evaluator, unroll_model *model, const unroll_machine *machine)
{
    unroll_session_config config = unroll_session_default();
    config.mode = UNROLL_EVAL;
    config.steps = evaluator->part->shape->steps;
    config.rows = evaluator->part->shape->rows;
    config.lengths = evaluator->part->lengths;
    config.resets = evaluator->part->resets;
    config.results = evaluator->task->observe != NULL;
    config.stateful = 1;
    config.machine = *machine;
    config.machine.chunks = count_chunks(evaluator, model, machine);
    config.machine.checkpoint_time = config.machine.exact = 0; /* of gradients, of which there are none */
    return unroll_session_new(model, &config, &evaluator->session);
}

/* What the task looks at beside the loss. */
static unroll_status take_results(struct evaluator *evaluator, const unroll_model *model)
{
    if (evaluator->task->observe == NULL)
        return UNROLL_OK;
    evaluator->results = model_results(model, evaluator->name);
    evaluator->count = unroll_count(evaluator->session, evaluator->results);
    return ALLOCATE(evaluator->observed, evaluator->count, "for the results of a batch");
}

unroll_status evaluator_new(unroll_model *model, const struct task *task, struct part *part,
                            const unroll_machine *machine, struct evaluator **evaluator)
{
    struct evaluator *made;
    unroll_status status = ALLOCATE(made, 1, "for an evaluation");
    if (status != UNROLL_OK) {
        part_free(part);
        return status;
    }
    made->task = task;
    made->part = part;
    status = feed_new(model, part, &made->feed);
    if (status == UNROLL_OK)
        status = open_session(made, model, machine);
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
    unroll_session_free(evaluator->session);
    release(evaluator->observed);
    feed_end(&evaluator->feed);
    part_free(evaluator->part);
    release(evaluator);
}

static unroll_status run_batch(struct evaluator *evaluator, int64_t number)
{
    struct feed *feed = &evaluator->feed;
    feed_fill(feed, 0, number);
    if (feed->arrays.begins)
        TRY(unroll_clear_states(evaluator->session));
    TRY(unroll_forward(evaluator->session, &feed->batch));
    if (evaluator->observed == NULL)
        return UNROLL_OK;
    TRY(unroll_read(evaluator->session, evaluator->results, evaluator->observed, evaluator->count));
    evaluator->task->observe(evaluator->part, number, &feed->arrays, evaluator->observed);
    return UNROLL_OK;
}

unroll_status evaluator_run(struct evaluator *evaluator, int (*goes_on)(void *), void *data, unroll_evaluation *found)
{
    unroll_result result = {.size = sizeof result};
    bool whole = true;
    for (int64_t number = 0; whole && number < evaluator->part->batches; number++) {
        TRY(run_batch(evaluator, number));
        whole = !goes_on || goes_on(data);
    }
    TRY(unroll_loss_result(evaluator->session, &result)); /* stopped or not: the next begins from zero */
    evaluator->task->score(evaluator->part, whole ? result.loss : (double)NAN, whole, found);
    return UNROLL_OK;
}

void evaluator_describe(const struct evaluator *evaluator, double loss, unroll_evaluation *described)
{
    evaluator->task->score(evaluator->part, loss, false, described);
}

uint64_t evaluator_memory_estimate(const struct evaluator *evaluator)
{
    return unroll_session_memory_estimate(evaluator->session);
}

/* ---- the public function ---- */

unroll_status unroll_evaluate(unroll_model *model, const unroll_dataset *dataset, const unroll_machine *machine,
                              unroll_evaluation *found)
{
    const unroll_machine any = unroll_machine_default();
    struct evaluator *evaluator;
    const struct task *task;
    struct part *part = NULL;
    const unroll_machine *where = machine ? machine : &any;
    struct task_request request = {
        .data = dataset, .model = model, .ranks = where->split.batch > 1 ? where->split.batch : 1};
    TRY(task_find(NULL, model, dataset, &task));
    TRY(task->check(model, dataset));
    TRY(task->open(&request, PART_ALL, &part));
    if (part->examples == 0) {
        part_free(part);
        return fail(UNROLL_DATA, "the data have nothing to compare answers with; fix: data with the targets");
    }
    TRY(evaluator_new(model, task, part, where, &evaluator));
    unroll_status status = evaluator_run(evaluator, NULL, NULL, found);
    evaluator_free(evaluator);
    return status;
}
