/* Evaluates models on data sets (unroll_model_evaluate) and computes their predictions (unroll_model_predict). */
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "model/model.h"
#include "apply/evaluate.h"
#include "apply/row_writer.h"

static unroll_status check_answers(const struct task *task)
{
    if (task->answer)
        return UNROLL_OK;
    return fail(UNROLL_UNSUPPORTED, "the task %s has no predictions to print; fix: use sample, eval or stream",
                task->name);
}

static unroll_status check_model(const unroll_model *model)
{
    const struct task *task;
    if (*model->task == '\0')
        return fail(UNROLL_UNSUPPORTED,
                    "the model was not trained by a task; fix: use one that 'unroll train' has trained");
    TRY(task_find(NULL, model, NULL, &task));
    return check_answers(task);
}

bool unroll_model_can_predict(const unroll_model *model) { return check_model(model) == UNROLL_OK; }

/* The target may be a countdown of the training data, which the options of their reader name. */
static unroll_status fail_without_targets(const unroll_dataset *dataset)
{
    static const char key[] = "countdown=";
    const char *countdown = dataset->options ? strstr(dataset->options, key) : NULL;
    if (countdown == NULL)
        return fail(UNROLL_DATA,
                    "the data have no targets to compare predictions with; fix: give data with the targets");
    countdown += strlen(key);
    return fail(UNROLL_DATA,
                "the data have no targets to compare predictions with; fix: give data with the targets, or, if each "
                "series is complete, `countdown` %.*s",
                (int)strcspn(countdown, ","), countdown);
}

/* Finds the task of the model and opens an evaluator for all of the data set. */
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
    for (int i = 0; answers && !(*task)->keeps && i < dataset->columns; i++)
        if (dataset->column[i].kept == KEPT_COLUMN)
            return fail(
                UNROLL_UNSUPPORTED,
                "predictions of the task %s do not belong to rows, so '%s' cannot be printed next to them; fix: leave "
                "out `keep`",
                (*task)->name, dataset->column[i].name);
    TRY(task_check(*task, model, dataset, NULL));
    TRY((*task)->open(&request, answers ? PART_PREDICTED : PART_ALL, &part));
    if (!answers && part->examples == 0) {
        part_free(part);
        return fail_without_targets(dataset);
    }
    return evaluator_new(model, *task, part, where, answers, evaluator);
}

unroll_status unroll_model_evaluate(unroll_model *model, const unroll_dataset *dataset, const unroll_machine *machine,
                                    unroll_evaluation *found, char **details)
{
    struct evaluator *evaluator;
    const struct task *task;
    unroll_evaluation all = {.size = sizeof all};
    TRY(sized_check(SIZED_RESULT(unroll_evaluation), found));
    TRY(open_all(model, dataset, machine, false, &task, &evaluator));
    unroll_status status = evaluator_run(evaluator, NULL, NULL, &all);
    if (status == UNROLL_OK)
        sized_give(&all, sizeof all, found);
    if (status == UNROLL_OK && details)
        status = evaluator_details(evaluator, details);
    evaluator_free(evaluator);
    return status;
}

/* ---- predictions ---- */

struct taker {
    struct row_writer first, second; /* what take gets */
    int (*take)(void *arg, const char *text);
    int (*take_both)(void *arg, const char *json, const char *line);
    void *arg;
    bool ended;
};

static unroll_status take_answer(void *arg, json_t *answer)
{
    struct taker *taker = arg;
    const char *text, *line;
    TRY(row_writer_print(&taker->first, answer, &text));
    if (taker->take_both)
        TRY(row_writer_print(&taker->second, answer, &line));
    taker->ended = (taker->take_both ? taker->take_both(taker->arg, text, line) : taker->take(taker->arg, text)) != 0;
    return taker->ended ? UNROLL_FAILURE : UNROLL_OK;
}

static unroll_status predict(unroll_model *model, const unroll_dataset *dataset, const unroll_machine *machine,
                             enum row_format format, int top, struct taker *taker)
{
    struct evaluator *evaluator;
    const struct task *task;
    TRY(open_all(model, dataset, machine, true, &task, &evaluator));
    unroll_status status = row_writer_open(&taker->first, task, format, top);
    if (status == UNROLL_OK && taker->take_both)
        status = row_writer_open(&taker->second, task, ROW_TEXT, 0);
    if (status == UNROLL_OK)
        status = evaluator_answer(evaluator, take_answer, taker);
    row_writer_close(&taker->first);
    row_writer_close(&taker->second);
    evaluator_free(evaluator);
    return taker->ended ? UNROLL_OK : status;
}

unroll_status unroll_model_predict(unroll_model *model, const unroll_dataset *dataset, const unroll_machine *machine,
                                   int (*take)(void *arg, const char *json, const char *line), void *arg)
{
    return predict(model, dataset, machine, ROW_JSON, 0, &(struct taker){.take_both = take, .arg = arg});
}

unroll_status unroll_model_print_predictions(unroll_model *model, const unroll_dataset *dataset,
                                             const unroll_machine *machine, const char *format, int top,
                                             int (*take)(void *arg, const char *text), void *arg)
{
    enum row_format found;
    TRY(row_format_find(format, &found));
    if (top < 0)
        return fail(UNROLL_USAGE, "top = %d is negative; fix: use 0 for all, or how many to print", top);
    return predict(model, dataset, machine, found, top, &(struct taker){.take = take, .arg = arg});
}
