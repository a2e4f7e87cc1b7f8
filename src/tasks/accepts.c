/* Checks against the tables that tasks declare. */
#include "tasks/accepts.h"

#include <stdio.h>
#include <string.h>

#include "base/key_value.h"
#include "model/model.h"
#include "tasks/schema.h"
#include "tasks/task.h"

unsigned column_kind(const struct column *column)
{
    static const unsigned of_type[] = {[COLUMN_TOKENS] = STEP_TOKENS,
                                       [COLUMN_CATEGORY] = STEP_CATEGORY,
                                       [COLUMN_SET] = STEP_SET,
                                       [COLUMN_NUMBERS] = STEP_NUMBERS,
                                       [COLUMN_TIME] = STEP_TIME};
    return of_type[column->type] << (column->begin ? UNALIGNED : column->of_sequence ? OF_SEQUENCE : 0);
}

/* ---- networks ---- */

struct network {
    const char *loss; /* NULL: none */
    bool pooled, backward;
};

bool accepts_lists(const char *names, const char *name)
{
    const size_t length = name ? strcspn(name, ":") : 0; /* of a loss, without its levels */
    for (const char *at = names; *at; at += strcspn(at, " ") + 1)
        if (length && strcspn(at, " ") == length && memcmp(at, name, length) == 0)
            return true;
    return false;
}

/* Formats "mse, mae or huber". Returns text. */
static const char *list_losses(const char *losses, char *text, size_t size)
{
    size_t used = 0;
    for (const char *at = losses; *at && used < size; at += strcspn(at, " ") + 1) {
        const int length = (int)strcspn(at, " ");
        const bool is_last = at[length + 1] == '\0';
        used += (size_t)snprintf(text + used, size - used, "%s%.*s",
                                 used == 0 ? ""
                                 : is_last ? " or "
                                           : ", ",
                                 length, at);
    }
    return text;
}

static unroll_status check_loss(const struct task *task, const struct accepts *row, const char *loss)
{
    char losses[128];
    struct loss_choice choice;
    if (!accepts_lists(row->losses, loss))
        return fail(UNROLL_USAGE, "`loss` = '%.40s' is not supported by the task %s for these data; fix: use %s",
                    loss && *loss ? loss : "none", task->name, list_losses(row->losses, losses, sizeof losses));
    return loss_choose(loss, &choice);
}

/* Refuses a network whose loss, pool or directions the row does not accept. */
static unroll_status check_network(const struct task *task, const struct accepts *row, const struct network *network)
{
    TRY(check_loss(task, row, network->loss));
    if (network->pooled && row->pool == NULL)
        return fail(UNROLL_USAGE,
                    "`pool` makes one prediction for each sequence, and the task %s has one for each step of these "
                    "data; fix: leave `pool` out",
                    task->name);
    if (!network->pooled && row->pool)
        return fail(UNROLL_USAGE,
                    "the network has no pool, and the task %s has one prediction for each sequence; fix: use `pool` %s",
                    task->name, row->pool);
    if (network->backward && !row->backward)
        return fail(UNROLL_UNSUPPORTED,
                    "`bidirectional`: the task %s predicts the next step, which a bidirectional network has already "
                    "read; fix: leave it out",
                    task->name);
    return UNROLL_OK;
}

static struct network network_of(const unroll_model_config *spec)
{
    return (struct network){spec->loss, spec->pool && *spec->pool, spec->bidirectional > 0};
}

unroll_status accepts_spec(const struct task *task, const struct accepts *row, unroll_model_config *spec)
{
    static _Thread_local char first[32];
    if (spec->loss == NULL && row->loss == NULL)
        snprintf(first, sizeof first, "%.*s", (int)strcspn(row->losses, " "), row->losses);
    if (spec->loss == NULL)
        spec->loss = row->loss ? row->loss : first;
    if (spec->pool == NULL)
        spec->pool = row->pool;
    const struct network network = network_of(spec);
    return check_network(task, row, &network);
}

static bool reads_backward(const unroll_model *model)
{
    for (int i = 0; i < model->layers; i++)
        if (model->layer[i].cell && layer_end(&model->layer[i]) > 1)
            return true;
    return false;
}

/* Checks the row for these data. If the row depends on a schema and there is none, finds the first row that accepts the
 * network. */
static unroll_status check_rows(const struct task *task, const unroll_dataset *data, const json_t *schema,
                                const struct network *network, const struct accepts **row)
{
    unroll_status status;
    *row = task->accepts;
    if (task->row && (schema || !task->row_is_in_schema)) {
        *row += task->row(data, schema);
        return check_network(task, *row, network);
    }
    while ((status = check_network(task, *row, network)) != UNROLL_OK && (*row)[1].losses) ++*row;
    return status;
}

unroll_status accepts_model(const struct task *task, const unroll_model *model, const unroll_dataset *data,
                            const char **unused)
{
    const struct loss *loss = loss_at(model->loss.index);
    const struct network network = {loss ? loss->name : NULL, model_is_pooled(model), reads_backward(model)};
    const struct accepts *row;
    json_t *schema = NULL;
    *unused = "";
    if (task->accepts == NULL)
        return UNROLL_OK;
    TRY(schema_task(model, &schema));
    unroll_status status = check_rows(task, data, schema, &network, &row);
    json_decref(schema);
    if (status == UNROLL_OK && row->unused)
        *unused = row->unused;
    return status;
}

const char *accepts_unused(const struct task *task, const unroll_model_config *spec, const unroll_dataset *data)
{
    const struct network network = network_of(spec);
    const struct accepts *row;
    if (task->accepts == NULL || check_rows(task, data, NULL, &network, &row) != UNROLL_OK || row->unused == NULL)
        return "";
    return row->unused;
}

/* ---- columns ---- */

/* Checks that the option's column exists and has an accepted kind. */
static unroll_status check_column(const struct task *task, const struct accepts_column *rule,
                                  const unroll_dataset *data, const char *name)
{
    const struct column *column = dataset_named(data, name);
    char names[256];
    if (column == NULL)
        return fail(UNROLL_USAGE, "`%s`: '%s' has no column '%s'; fix: use one of %s", rule->option, data->name, name,
                    dataset_names(data, names, sizeof names));
    const int index = (int)(column - data->column);
    if (index == data->group || index == data->time)
        return fail(UNROLL_DATA, "`%s`: the column '%s' already %s; fix: use another column", rule->option, name,
                    index == data->group ? "divides the rows into sequences" : "orders the rows");
    if (rule->kinds & column_kind(column))
        return UNROLL_OK;
    if (column->of_sequence && !(rule->kinds >> OF_SEQUENCE))
        return fail(
            UNROLL_DATA,
            "`%s`: the task %s needs %s, and the column '%s' has one entry for each sequence; fix: use another column",
            rule->option, task->name, rule->what, name);
    return fail(
        UNROLL_DATA,
        "`%s`: the task %s needs %s, and the column '%s' has none; fix: use another column, or read it as another "
        "type (`columns` %s=%s)",
        rule->option, task->name, rule->what, name, name, rule->type);
}

static unroll_status check_columns(const struct task *task, const struct accepts_column *rule, const char *value,
                                   const unroll_dataset *data)
{
    char name[COLUMN_NAME];
    if (rule->all && strcmp(value, "all") == 0)
        return UNROLL_OK;
    if (!rule->list)
        return *value ? check_column(task, rule, data, value) : UNROLL_OK;
    for (const char *at = value; *at; at += strcspn(at, ";"), at += *at == ';') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ";"), at);
        TRY(check_column(task, rule, data, name));
    }
    return UNROLL_OK;
}

unroll_status accepts_columns(const struct task *task, const char *options, const unroll_dataset *data)
{
    char value[KEY_VALUE_SIZE];
    for (const struct accepts_column *rule = task->columns; rule && rule->option; rule++)
        if (key_value_find(options, rule->option, value))
            TRY(check_columns(task, rule, value, data));
    return UNROLL_OK;
}
