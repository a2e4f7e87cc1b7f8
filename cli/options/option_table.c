/* The table of options, completed from the library: names and short descriptions of cells, optimizers, tasks and so
 * on, and an option for each hyperparameter. options.c reads the options. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/options/options.h"

#define RANGE(min_, max_) .min = (min_), .max = (max_)
#define OPTION(id, name_, kind_, ...) [OPTION_##id] = {.name = name_, .kind = kind_, __VA_ARGS__},
static char command_names[160], cell_names[160], optimizer_names[160], export_names[160],
    task_names[160] = "auto", reader_names[160], schedule_names[160], long_schedules[160], sum_names[160],
    isa_names[160], group_names[256]; /* separated by one space */
static char task_doc[640] = "task; ", data_doc[512], schedule_doc[512] = "learning rate schedule; ",
            sum_doc[512] = "all-reduce algorithm of the gradients; ",
            compress_doc[1024] = "compression of what workers exchange; none: uncompressed; ",
            sync_doc[1024] = "synchronization of workers, such as local:32,rate=0.7,momentum=0.9; ",
            loss_doc[1024] = "loss function; ";
static struct option table[OPTION_MAX] = {
#include "cli/options/option_table.h"
};
const struct option *const options = table;
int option_count = OPTION_COUNT;
#undef OPTION

static void join_name(const char *name, char *text, size_t size)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? " " : "", name);
}

/* "lstm gru": the entries that `has` accepts, NULL: all. */
static void join_names(unroll_list_kind kind, bool (*has)(const unroll_entry *), char *text, size_t size)
{
    unroll_entry entry = {.size = sizeof entry};
    for (int i = 0; unroll_list(kind, i, &entry); i++)
        if (!has || has(&entry))
            join_name(entry.name, text, size);
}

static bool can_export(const unroll_entry *format) { return format->can_export; }

static bool has_length(const unroll_entry *schedule) { return schedule->has_length; }

static void join_commands(void)
{
    for (int i = 0; i < COMMAND_COUNT && command_is_listed(i); i++) /* unlisted commands come last */
        join_name(commands[i].name, command_names, sizeof command_names);
}

/* Appends names and descriptions: "task; lm: predict the next token; .." */
static void join_abouts(unroll_list_kind kind, char *text, size_t size)
{
    unroll_entry entry = {.size = sizeof entry};
    size_t at = strlen(text);
    for (int i = 0; unroll_list(kind, i, &entry) && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s: %s", i ? "; " : "", entry.name, entry.about);
}

/* Writes a doc such as "a text, ..; text in UTF-8, ..; - is standard input". */
static void write_data_doc(void)
{
    unroll_entry reader = {.size = sizeof reader};
    int at = snprintf(data_doc, sizeof data_doc, "a text, a table, an array or a folder of files; ");
    for (int i = 0; unroll_list(UNROLL_LIST_READERS, i, &reader); i++)
        at += snprintf(data_doc + at, sizeof data_doc - (size_t)at, "%s%s", i ? ", " : "", reader.about);
    snprintf(data_doc + at, sizeof data_doc - (size_t)at, "; - is standard input");
}

/* Adds one option for all optimizers that have a hyperparameter of this name. */
static void add_hyperparameter(const unroll_option *h, const char *optimizer)
{
    static char having[OPTION_MAX][sizeof optimizer_names], doc[OPTION_MAX][256];
    int id = OPTION_COUNT;
    while (id < option_count && strcmp(table[id].name, h->name) != 0) id++;
    if (id == OPTION_MAX)
        return;
    size_t used = strlen(having[id]);
    snprintf(having[id] + used, sizeof *having - used, "%s%s", used ? " " : "", optimizer);
    list_choices(having[id], doc[id], sizeof *doc);
    used = strcmp(having[id], optimizer_names) == 0 ? 0 : strlen(doc[id]);
    snprintf(doc[id] + used, sizeof *doc - used, "%s%s", used ? ": " : "", h->about);
    table[id] = (struct option){.name = h->name,
                                .kind = NUMBER,
                                .argument = "X",
                                .derived = "by --opt",
                                .group = "Training",
                                RANGE(h->min, h->max),
                                .commands = IN(TRAIN),
                                .doc = doc[id],
                                .with = OPTION_OPTIMIZER,
                                .with_values = having[id]};
    option_count += id == option_count;
}

static void add_hyperparameters(void)
{
    unroll_entry optimizer = {.size = sizeof optimizer};
    unroll_option h = {.size = sizeof h};
    for (int i = 0; unroll_list(UNROLL_LIST_OPTIMIZERS, i, &optimizer); i++)
        for (int k = 0; unroll_list_option(UNROLL_LIST_OPTIMIZERS, optimizer.name, k, &h); k++)
            add_hyperparameter(&h, optimizer.name);
}

/* Adds one option for all tasks and readers that have an option of this name. Options of the table are not changed. */
static void add_library_option(const unroll_option *o, const char *owner, bool of_task)
{
    static char doc[OPTION_MAX][512];
    int id = 0;
    while (id < option_count && strcmp(table[id].name, o->name) != 0) id++;
    if (id == OPTION_MAX || (id < option_count && !table[id].of_task && !table[id].of_reader))
        return;
    if (id < OPTION_COUNT)
        return;
    size_t used = strlen(doc[id]);
    if (strstr(doc[id], o->about) == NULL)
        snprintf(doc[id] + used, sizeof *doc - used, "%s%s: %s", used ? "; " : "", owner, o->about);
    bool whole = floor(o->min) == o->min && floor(o->max) == o->max;
    table[id] =
        (struct option){.name = o->name,
                        .kind = o->choices   ? CHOICE
                                : o->is_text ? TEXT
                                : whole      ? INTEGER
                                             : NUMBER,
                        .argument = o->choices   ? "HOW"
                                    : o->is_text ? "NAME"
                                    : whole      ? "N"
                                                 : "X",
                        .group = of_task ? "Task" : "Data",
                        .of_task = of_task,
                        .of_reader = !of_task,
                        .choices = o->choices,
                        RANGE(o->min, o->max),
                        .commands = of_task && strcmp(o->name, "label") == 0 ? IN(TRAIN) | IN(EVAL) | IN(PREDICT)
                                    : of_task                                ? IN(TRAIN)
                                                                             : IN(TRAIN) | IN(INSPECT),
                        .doc = doc[id]};
    option_count += id == option_count;
}

static void add_library_options(unroll_list_kind kind)
{
    unroll_entry owner = {.size = sizeof owner};
    unroll_option option = {.size = sizeof option};
    for (int i = 0; unroll_list(kind, i, &owner); i++)
        for (int k = 0; unroll_list_option(kind, owner.name, k, &option); k++)
            add_library_option(&option, owner.name, kind == UNROLL_LIST_TASKS);
}

/* Writes the groups of all commands for --help GROUP, such as "all network data". */
static void join_groups(void)
{
    int at = snprintf(group_names, sizeof group_names, "all");
    for (int id = 0; id < option_count; id++) {
        const char *group = table[id].group;
        int before = 0;
        while (before < id && (!table[before].group || !group || strcmp(table[before].group, group) != 0)) before++;
        if (!group || before < id)
            continue;
        group_names[at++] = ' ';
        for (; *group && at + 1 < (int)sizeof group_names; group++) group_names[at++] = (char)tolower(*group);
    }
}

void options_begin(void)
{
    write_data_doc();
    join_abouts(UNROLL_LIST_TASKS, task_doc, sizeof task_doc);
    join_abouts(UNROLL_LIST_SCHEDULES, schedule_doc, sizeof schedule_doc);
    join_abouts(UNROLL_LIST_SUMS, sum_doc, sizeof sum_doc);
    join_abouts(UNROLL_LIST_COMPRESSORS, compress_doc, sizeof compress_doc);
    join_abouts(UNROLL_LIST_SYNCS, sync_doc, sizeof sync_doc);
    join_abouts(UNROLL_LIST_LOSSES, loss_doc, sizeof loss_doc);
    join_names(UNROLL_LIST_SCHEDULES, NULL, schedule_names, sizeof schedule_names);
    join_names(UNROLL_LIST_SCHEDULES, has_length, long_schedules, sizeof long_schedules);
    join_names(UNROLL_LIST_SUMS, NULL, sum_names, sizeof sum_names);
    join_names(UNROLL_LIST_ISAS, NULL, isa_names, sizeof isa_names);
    join_names(UNROLL_LIST_TASKS, NULL, task_names, sizeof task_names);
    join_names(UNROLL_LIST_READERS, NULL, reader_names, sizeof reader_names);
    join_commands();
    join_names(UNROLL_LIST_FORMATS, can_export, export_names, sizeof export_names);
    join_names(UNROLL_LIST_CELLS, NULL, cell_names, sizeof cell_names);
    join_names(UNROLL_LIST_OPTIMIZERS, NULL, optimizer_names, sizeof optimizer_names);
    add_hyperparameters();
    add_library_options(UNROLL_LIST_TASKS);
    add_library_options(UNROLL_LIST_READERS);
    join_groups();
}
