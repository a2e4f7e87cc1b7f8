/* The table of options, and what the library knows of itself put into it: names of cells, optimizers, tasks, ...; their
 * few words; an option for each hyperparameter. Reading them is options.c's. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "unroll_advanced.h"
#include "unroll_train.h"

#define RANGE(min_, max_) .min = (min_), .max = (max_)
#define OPTION(id, name_, kind_, ...) [OPTION_##id] = {.name = name_, .kind = kind_, __VA_ARGS__},
static char command_names[160], cell_names[160], optimizer_names[160], export_names[160], task_names[160],
    reader_names[160], schedule_names[160], long_schedules[160], sum_names[160], isa_names[160],
    group_names[256]; /* one space between them */
static char task_doc[640] = "what to learn; ", data_doc[512], schedule_doc[512] = "learning rate schedule; ",
            sum_doc[512] = "all-reduce algorithm of the gradients; ",
            compress_doc[1024] = "how what workers tell each other is compressed; none: it is not; ",
            sync_doc[1024] = "how workers go together, such as local:32,rate=0.7,momentum=0.9; ",
            loss_doc[1024] = "what is minimised; ";
static struct option table[OPTION_MAX] = {
#include "option_table.h"
};
const struct option *const options = table;
int option_count = OPTION_COUNT;
#undef OPTION

static void join_names(const char *(*name_of)(int), char *text, size_t size)
{
    const char *name;
    for (int i = 0; (name = name_of(i)); i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i ? " " : "", name);
    }
}

static const char *export_name(int wanted)
{
    const char *name;
    int can_export;
    for (int i = 0, found = 0; (name = unroll_format_name(i, NULL, &can_export, NULL)); i++)
        if (can_export && found++ == wanted)
            return name;
    return NULL;
}

static const char *listed_command(int index)
{
    return index < COMMAND_COUNT && command_is_listed(index) ? commands[index].name
                                                             : NULL; /* those that are not come last */
}

static const char *task_name(int index) { return index == 0 ? "auto" : unroll_task_name(index - 1, NULL); }

static const char *reader_name(int index) { return unroll_reader_name(index, NULL); }

static const char *schedule_about(int index, const char **about) { return unroll_schedule_name(index, about, NULL); }

static const char *schedule_name(int index) { return unroll_schedule_name(index, NULL, NULL); }

static const char *long_schedule(int wanted)
{
    const char *name;
    int has_length;
    for (int i = 0, found = 0; (name = unroll_schedule_name(i, NULL, &has_length)); i++)
        if (has_length && found++ == wanted)
            return name;
    return NULL;
}

static const char *isa_name(int index)
{
    int is_here;
    return unroll_isa_name(index, &is_here);
}

static const char *sum_name(int index) { return unroll_sum_name(index, NULL); }

/* "what to learn; lm: predict the next token; .." */
static void join_abouts(const char *(*name_of)(int, const char **about), char *text, size_t size)
{
    const char *name, *about;
    size_t at = strlen(text);
    for (int i = 0; (name = name_of(i, &about)) && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s: %s", i ? "; " : "", name, about);
}

/* "a text, ..; text in UTF-8, ..; - is standard input" */
static void write_data_doc(void)
{
    const char *about;
    int at = snprintf(data_doc, sizeof data_doc, "a text, a table, an array or a folder of files; ");
    for (int i = 0; unroll_reader_name(i, &about); i++)
        at += snprintf(data_doc + at, sizeof data_doc - (size_t)at, "%s%s", i ? ", " : "", about);
    snprintf(data_doc + at, sizeof data_doc - (size_t)at, "; - is standard input");
}

/* One option for all optimizers that have a hyperparameter of this name. */
static void add_hyperparameter(const unroll_hyperparameter *h, const char *optimizer)
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
    const unroll_hyperparameter *h;
    const char *name;
    for (int i = 0; (name = unroll_optimizer_name(i)); i++)
        for (int k = 0; (h = unroll_optimizer_hyperparameter(name, k)); k++) add_hyperparameter(h, name);
}

/* One option for all tasks and readers that have one of this name; options of the table that are theirs stay. */
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
    table[id] = (struct option){.name = o->name,
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
                                .commands = of_task ? IN(TRAIN) : IN(TRAIN) | IN(INSPECT),
                                .doc = doc[id]};
    option_count += id == option_count;
}

static void add_library_options(void)
{
    unroll_option option;
    const char *name;
    for (int i = 0; (name = unroll_task_name(i, NULL)); i++)
        for (int k = 0; unroll_task_option(name, k, &option); k++) add_library_option(&option, name, true);
    for (int i = 0; (name = unroll_reader_name(i, NULL)); i++)
        for (int k = 0; unroll_reader_option(name, k, &option); k++) add_library_option(&option, name, false);
}

/* "all network data": the groups of all commands, as --help GROUP has them. */
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

static const char *loss_about_at(int index, const char **about) { return unroll_loss_name(index, about, NULL); }

void options_begin(void)
{
    write_data_doc();
    join_abouts(unroll_task_name, task_doc, sizeof task_doc);
    join_abouts(schedule_about, schedule_doc, sizeof schedule_doc);
    join_abouts(unroll_sum_name, sum_doc, sizeof sum_doc);
    join_abouts(unroll_compressor_name, compress_doc, sizeof compress_doc);
    join_abouts(unroll_sync_name, sync_doc, sizeof sync_doc);
    join_abouts(loss_about_at, loss_doc, sizeof loss_doc);
    join_names(schedule_name, schedule_names, sizeof schedule_names);
    join_names(long_schedule, long_schedules, sizeof long_schedules);
    join_names(sum_name, sum_names, sizeof sum_names);
    join_names(isa_name, isa_names, sizeof isa_names);
    join_names(task_name, task_names, sizeof task_names);
    join_names(reader_name, reader_names, sizeof reader_names);
    join_names(listed_command, command_names, sizeof command_names);
    join_names(export_name, export_names, sizeof export_names);
    join_names(unroll_cell_name, cell_names, sizeof cell_names);
    join_names(unroll_optimizer_name, optimizer_names, sizeof optimizer_names);
    add_hyperparameters();
    add_library_options();
    join_groups();
}
