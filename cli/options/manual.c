/* Prints the help and the manual page. They are generated from the tables of commands and options; only sentences
 * that no table holds are here. completion.c prints the scripts for shells. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/commands/commands.h"
#include "cli/show/console.h"
#include "cli/options/options.h"

enum { WIDTH = 100, DOC_COLUMN = 26, NOTE_LONGEST = 1536 };

static const struct {
    unroll_status status;
    const char *means;
} exit_codes[] = {{UNROLL_OK, "done"},
                  {UNROLL_FAILURE, "failed for another reason"},
                  {UNROLL_USAGE, "a wrong option or argument"},
                  {UNROLL_DATA, "a text or a model file is missing, damaged or of the wrong kind"},
                  {UNROLL_UNSUPPORTED, "not supported by this build or machine"},
                  {UNROLL_RESOURCE, "no memory, no space on the disk, or a device failed"},
                  {UNROLL_DIVERGED, "the loss or a gradient became NaN or infinite"},
                  {UNROLL_COMMUNICATION, "communication with another process failed"},
                  {UNROLL_PREEMPTED, "stopped by a signal, after writing a checkpoint"}};
enum { EXIT_CODES = sizeof exit_codes / sizeof *exit_codes };

/* The commands whose first example is in the overview. */
static const enum command overview[] = {COMMAND_TRAIN,  COMMAND_EVAL, COMMAND_PREDICT,
                                        COMMAND_SAMPLE, COMMAND_PLOT, COMMAND_EXPORT};
enum { OVERVIEW = sizeof overview / sizeof *overview };

/* ---- pieces ---- */

/* Prints from the column given to WIDTH, breaking at spaces. */
static void print_wrapped(const char *text, int column)
{
    int at = column;
    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " ");
        if (at > column && at + 1 + length > WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        } else if (at > column) {
            putchar(' ');
            at++;
        }
        printf("%.*s", length, word);
        at += length;
        word += length + strspn(word + length, " ");
    }
    putchar('\n');
}

/* Adds a part to the note: " [" before the first, "; " before the others. */
__attribute__((format(printf, 2, 3))) static void add_part(char note[NOTE_LONGEST], const char *format, ...)
{
    size_t at = strlen(note);
    va_list arguments;
    at += (size_t)snprintf(note + at, NOTE_LONGEST - at, strchr(note, '[') ? "; " : " [");
    va_start(arguments, format);
    vsnprintf(note + at, NOTE_LONGEST - at, format, arguments);
    va_end(arguments);
}

static enum command shown = COMMAND_NONE; /* the command whose help is printed */
static const char *shown_group;           /* the only group printed; NULL: all groups */

/* Writes the doc, then in brackets the unit, the default and the allowed values. */
static void describe_option(const struct option *o, char note[NOTE_LONGEST])
{
    const char *standard = o->fallback ? o->fallback : o->derived;
    char choices[NOTE_LONGEST / 2];
    snprintf(note, NOTE_LONGEST, "%s", o->doc);
    if (o->kind == FLAG)
        return;
    if (o->unit)
        add_part(note, "%s", o->unit);
    if (standard)
        add_part(note,
                 o->by_task && (shown == COMMAND_TRAIN || shown == COMMAND_NONE) ? "default by --task: %s for lm"
                                                                                 : "default %s",
                 standard);
    if (option_counts(o) && isinf(o->max))
        add_part(note, "at least %.10g", o->min);
    else if (option_counts(o))
        add_part(note, o->word ? "%.10g to %.10g, or %s" : "%.10g to %.10g", o->min, o->max, o->word);
    if (o->choices && strchr(o->choices, ' ')) {
        list_choices(o->choices, choices, sizeof choices);
        add_part(note, "%s", choices);
    }
    if (strchr(note, '['))
        strncat(note, "]", NOTE_LONGEST - strlen(note) - 1);
}

static const char *group_of(const struct option *o) { return o->group ? o->group : "Output"; }

/* ---- help ---- */

static bool same_group(int a, int b) { return strcmp(group_of(&options[a]), group_of(&options[b])) == 0; }

/* Prints each group at the position of its first member. */
static void print_groups(enum command command, const char *heading, void (*print)(const struct option *))
{
    for (int id = next_option(command, false, 0); id < option_count; id = next_option(command, false, id + 1)) {
        int first = next_option(command, false, 0);
        while (!same_group(first, id)) first = next_option(command, false, first + 1);
        if (first < id || (shown_group && strcasecmp(group_of(&options[id]), shown_group) != 0))
            continue;
        printf(heading, group_of(&options[id]));
        for (int member = id; member < option_count; member = next_option(command, false, member + 1))
            if (same_group(member, id))
                print(&options[member]);
    }
}

static void manual_usage(enum command command)
{
    printf("usage: unroll %s", commands[command].name);
    for (int id = next_option(command, true, 0); id < option_count; id = next_option(command, true, id + 1))
        printf(options[id].scope == LINE ? " [%s]" : " %s", options[id].argument);
    puts(" [options]");
}

static void print_described(const struct option *o, void (*describe)(const struct option *, char note[NOTE_LONGEST]))
{
    char note[NOTE_LONGEST];
    int at = o->positional ? printf("  %s", o->argument) : printf("  --%s", o->name);
    if (o->argument && !o->positional)
        at += printf(" %s", o->argument);
    describe(o, note);
    if (at > DOC_COLUMN - 2) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", DOC_COLUMN - at, "");
    print_wrapped(note, DOC_COLUMN);
}

static void print_option(const struct option *o) { print_described(o, describe_option); }

/* Writes the doc up to its first semicolon, then the default and the choices. */
static void describe_briefly(const struct option *o, char note[NOTE_LONGEST])
{
    const char *standard = o->by_task ? "by --task" : o->fallback ? o->fallback : o->derived;
    char choices[NOTE_LONGEST / 2];
    snprintf(note, NOTE_LONGEST, "%.*s", (int)strcspn(o->doc, ";"), o->doc);
    if (standard)
        add_part(note, "default %s", standard);
    if (o->choices) {
        list_choices(o->choices, choices, sizeof choices);
        add_part(note, "%s", choices);
    }
    if (strchr(note, '['))
        strncat(note, "]", NOTE_LONGEST - strlen(note) - 1);
}

static bool is_main(const struct option *o, enum command command) { return o->main >> command & 1; }

static bool has_selection(enum command command)
{
    for (int id = 0; id < option_count; id++)
        if (is_main(&options[id], command))
            return true;
    return false;
}

/* Writes the names of a command's groups for --help GROUP, such as "data, network, training". */
static void list_groups(enum command command, char *text, size_t size)
{
    size_t at = 0;
    *text = '\0';
    for (int id = next_option(command, false, 0); id < option_count; id = next_option(command, false, id + 1)) {
        int first = next_option(command, false, 0);
        while (!same_group(first, id)) first = next_option(command, false, first + 1);
        for (const char *c = group_of(&options[id]); first == id && *c && at + 3 < size; c++)
            at += (size_t)snprintf(text + at, size - at, "%s%c", c == group_of(&options[id]) && at ? ", " : "",
                                   tolower((unsigned char)*c));
    }
}

unroll_status manual_check_group(enum command command, const char *group)
{
    char groups[NOTE_LONGEST];
    for (int id = next_option(command, false, 0); id < option_count; id = next_option(command, false, id + 1))
        if (strcmp(group, "all") == 0 || strcasecmp(group_of(&options[id]), group) == 0)
            return UNROLL_OK;
    list_groups(command, groups, sizeof groups);
    return complain(UNROLL_USAGE, "%s has no group of options '%.80s'; fix: choose one of all, %s",
                    commands[command].name, group, groups);
}

static void print_example(const struct command_example *example)
{
    printf("  %s\n      %s\n", example->line, example->does);
}

static void print_selection(enum command command)
{
    char groups[NOTE_LONGEST];
    putchar('\n');
    for (int positional = 1; positional >= 0; positional--)
        for (int id = next_option(command, positional, 0); id < option_count;
             id = next_option(command, positional, id + 1))
            if (is_main(&options[id], command))
                print_described(&options[id], describe_briefly);
    list_groups(command, groups, sizeof groups);
    printf("\n'unroll %s --help all' prints all options, '--help GROUP' those of one group:\n  %s\n",
           commands[command].name, groups);
}

static void print_all(enum command command)
{
    if (next_option(command, true, 0) < option_count && !shown_group)
        putchar('\n');
    for (int id = next_option(command, true, 0); id < option_count && !shown_group;
         id = next_option(command, true, id + 1))
        print_option(&options[id]);
    print_groups(command, "\n%s:\n", print_option);
}

void manual_help(enum command command, const char *group)
{
    const bool selects = !group && has_selection(command);
    shown = command;
    shown_group = group && strcmp(group, "all") != 0 ? group : NULL;
    manual_usage(command);
    printf("%s: %s.\n", commands[command].name, commands[command].does);
    if (command == COMMAND_TRAIN)
        puts("The data decide the reader, the task and its defaults. Ctrl-C saves a checkpoint and prints the\n"
             "command that resumes. An environment variable (UNROLL_HIDDEN=128) or a line of the --config file\n"
             "also sets an option: an option overrides a variable, a variable overrides the file.");
    if (selects)
        print_selection(command);
    else
        print_all(command);
    puts("\nExamples:");
    for (int i = 0; i < EXAMPLES_OF_EACH; i++) print_example(&command_examples[command][i]);
}

void manual_overview(void)
{
    puts("unroll: recurrent networks, trained and run at the speed of the hardware\n\n"
         "usage: unroll COMMAND [arguments] [options]\n");
    for (int c = 0; c < COMMAND_COUNT; c++)
        if (command_is_listed(c))
            printf("  %-12s%s\n", commands[c].name, commands[c].does);
    puts("\nunroll COMMAND --help lists the options of a command. For example:\n");
    for (int i = 0; i < OVERVIEW; i++) print_example(&command_examples[overview[i]][0]);
}

/* ---- the manual page ---- */

/* Escapes characters that have a meaning in roff. */
static void roff_text(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
    }
    putchar('\n');
}

/* Prints an option or argument, with the commands that have it. */
static void roff_option(const struct option *o)
{
    char note[NOTE_LONGEST], name[NOTE_LONGEST];
    const char *separator = "(";
    puts(".TP");
    if (o->positional)
        snprintf(name, sizeof name, "%s", o->argument);
    else
        snprintf(name, sizeof name, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    fputs(".B ", stdout);
    roff_text(name);
    describe_option(o, note);
    roff_text(note);
    for (int c = 0; c < COMMAND_COUNT && o->commands != ~0u; c++) {
        if (option_is_of(o, c)) {
            printf("%s%s", separator, commands[c].name);
            separator = ", ";
        }
    }
    puts(o->commands == ~0u ? "(all commands)" : ")");
}

static void roff_options(void)
{
    puts(".SH ARGUMENTS");
    for (int id = next_option(COMMAND_NONE, true, 0); id < option_count; id = next_option(COMMAND_NONE, true, id + 1))
        roff_option(&options[id]);
    puts(".SH OPTIONS");
    print_groups(COMMAND_NONE, ".SS %s\n", roff_option);
}

/* Prints everything but commands and options: settings, files, signals, variables, exit status, examples. */
static void roff_surroundings(void)
{
    puts(".SH SETTINGS\n"
         "An option overrides an environment variable, a variable the file of\n"
         "\\-\\-config, the file over the default. The variable of \\-\\-top\\-k is UNROLL_TOP_K.\n"
         "A switch is disabled by \\-\\-no\\-NAME.\n"
         ".SH FILES\n"
         "A run is a directory:\n"
         ".TP\n.B config.json\nall settings with their final values\n"
         ".TP\n.B metrics.jsonl\none object per report: step, epoch, loss, val_loss, val_metric (the compared metric), "
         "norm, lr,\n"
         "items_per_second, seconds\n"
         ".TP\n.B events.out.tfevents.*\nthe same for TensorBoard: loss/train, loss/validation, norm,\n"
         "learning_rate, items_per_second\n"
         ".TP\n.B ckpt/step\\-N/\nthe newest checkpoints (--keep) and the best\n"
         ".TP\n.B model.safetensors\nat the end of the run: the best weights, or the last without a validation\n"
         ".SH SIGNALS\n"
         "SIGINT, SIGTERM, SIGHUP and SIGUSR2 save a checkpoint and end with 75; a second SIGINT ends at once.\n"
         "SIGUSR1 saves and continues.\n"
         ".SH ENVIRONMENT\n"
         ".TP\n.B UNROLL_NAME\na setting; a misspelled name is an error, other names are reported and ignored\n"
         ".TP\n.B UNROLL_MPI\nopenmpi or mpich, if both could have launched the ranks\n"
         ".TP\n.B UNROLL_CACHE\nfolder of parsed copies of large data (~/.cache/unroll); off: keep them in memory\n"
         ".TP\n.B NO_COLOR\nno color\n"
         ".SH EXIT STATUS");
    for (int i = 0; i < EXIT_CODES; i++) printf(".TP\n.B %d\n%s\n", (int)exit_codes[i].status, exit_codes[i].means);
    puts(".SH FURTHER READING\n"
         "Pages that are named here, such as docs/reference/formats.md, are installed in share/doc/unroll.\n"
         ".SH EXAMPLES");
    for (int c = 0; c < COMMAND_COUNT; c++)
        for (int i = 0; i < EXAMPLES_OF_EACH && command_is_listed(c); i++) {
            printf(".TP\n.B ");
            roff_text(command_examples[c][i].line);
            puts(command_examples[c][i].does);
        }
}

void manual_roff(void)
{
    printf(".TH UNROLL 1 \"\" \"unroll %s\" \"User Commands\"\n", unroll_version());
    puts(".SH NAME\nunroll \\- train and run recurrent networks\n"
         ".SH SYNOPSIS\n.B unroll\n.I COMMAND\n[arguments] [options]\n"
         ".SH COMMANDS");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        if (!command_is_listed(c))
            continue;
        printf(".TP\n.B %s\n", commands[c].name);
        roff_text(commands[c].does);
    }
    roff_options();
    roff_surroundings();
}
