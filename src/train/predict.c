/* Models at work on data sets: what they are worth (unroll_evaluate), and what they answer (unroll_predict). */
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "model/model.h"
#include "tasks/answer_text.h"
#include "train/evaluate.h"

static unroll_status check_answers(const struct task *task)
{
    if (task->answer)
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED,
                "the task %s has no answers to print; fix: see what can be done with its models (sample, eval, stream)",
                task->name);
}

static unroll_status check_model(const unroll_model *model)
{
    const struct task *task;
    if (*model->task == '\0')
        return fail(UNROLL_UNSUPPORTED, "no task has trained the model; fix: take one that 'unroll train' has trained");
    TRY(task_find(NULL, model, NULL, &task));
    return check_answers(task);
}

int unroll_can_predict(const unroll_model *model) { return check_model(model) == UNROLL_OK; }

static unroll_status open_all(unroll_model *model, const unroll_dataset *dataset, const unroll_machine *machine,
                              bool answers, const struct task **task, struct evaluator **evaluator)
{
    unroll_machine taken = unroll_machine_default(), *where = &taken;
    if (machine)
        TRY(sized_take(SIZED_MACHINE, machine, &taken));
    const struct task_request request = {
        .data = dataset, .model = model, .ranks = where->split.batch > 1 ? where->split.batch : 1};
    struct part *part = NULL;
    clear_notes();
    TRY(task_find(NULL, model, dataset, task));
    if (answers)
        TRY(check_answers(*task));
    TRY(task_check(*task, model, dataset, NULL));
    TRY((*task)->open(&request, answers ? PART_PREDICTED : PART_ALL, &part));
    if (!answers && part->examples == 0) {
        part_free(part);
        return fail(UNROLL_DATA, "the data have nothing to compare answers with; fix: data with the targets");
    }
    return evaluator_new(model, *task, part, where, answers, evaluator);
}

unroll_status unroll_evaluate(unroll_model *model, const unroll_dataset *dataset, const unroll_machine *machine,
                              unroll_evaluation *found, char **details)
{
    struct evaluator *evaluator;
    const struct task *task;
    TRY(open_all(model, dataset, machine, false, &task, &evaluator));
    unroll_status status = evaluator_run(evaluator, NULL, NULL, found);
    if (status == UNROLL_OK && details)
        status = evaluator_details(evaluator, details);
    evaluator_free(evaluator);
    return status;
}

/* ---- answers ---- */

struct taker {
    const struct task *task;
    FILE *line; /* writes into text */
    char *text;
    size_t length;
    int (*take)(void *arg, const char *json, const char *line);
    void *arg;
    bool ended;
};

static unroll_status take_answer(void *arg, json_t *answer)
{
    struct taker *taker = arg;
    char *json = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION((size_t)answer_digits(answer)));
    rewind(taker->line);
    taker->task->line(answer, taker->line);
    if (json == NULL || fputc('\0', taker->line) == EOF || fflush(taker->line) != 0) {
        free(json);
        return fail(UNROLL_RESOURCE, "no memory for an answer");
    }
    taker->text[strlen(taker->text) - (taker->text[0] && taker->text[strlen(taker->text) - 1] == '\n')] = '\0';
    taker->ended = taker->take(taker->arg, json, taker->text) != 0;
    free(json);
    return taker->ended ? UNROLL_FAILURE : UNROLL_OK;
}

unroll_status unroll_predict(unroll_model *model, const unroll_dataset *dataset, const unroll_machine *machine,
                             int (*take)(void *arg, const char *json, const char *line), void *arg)
{
    struct taker taker = {.take = take, .arg = arg};
    struct evaluator *evaluator;
    TRY(open_all(model, dataset, machine, true, &taker.task, &evaluator));
    taker.line = open_memstream(&taker.text, &taker.length);
    unroll_status status =
        taker.line ? evaluator_answer(evaluator, take_answer, &taker) : fail(UNROLL_RESOURCE, "no memory for answers");
    if (taker.line)
        fclose(taker.line);
    free(taker.text);
    evaluator_free(evaluator);
    return taker.ended ? UNROLL_OK : status;
}
