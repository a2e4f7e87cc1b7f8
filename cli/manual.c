/* What is printed about the command itself: help and manual page. All of it comes from the tables of commands and
 * options; only the sentences that no table holds are here. Not what shells read: completion.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "options.h"

enum { WIDTH = 80, DOC_COLUMN = 26, NOTE_LONGEST = 1536 };

static const struct {
    unroll_status status;
    const char *means;
} exit_codes[] = {{UNROLL_OK, "done"},
                  {UNROLL_FAILURE, "failed, for a reason that is none of the others"},
                  {UNROLL_USAGE, "a wrong option or argument"},
                  {UNROLL_DATA, "a text or a model file is missing, damaged or of the wrong kind"},
                  {UNROLL_UNSUPPORTED, "this build or machine can't do it"},
                  {UNROLL_RESOURCE, "no memory, no space on the disk, or a device failed"},
                  {UNROLL_DIVERGED, "the loss or a gradient became NaN or infinite"},
                  {UNROLL_COMMUNICATION, "communication with another process failed"},
                  {UNROLL_PREEMPTED, "stopped by a signal, after writing a checkpoint"}};
enum { EXIT_CODES = sizeof exit_codes / sizeof *exit_codes };

static const char *const examples[][2] = {
    {"unroll train book.txt", "train with the defaults into runs/book"},
    {"unroll train book.txt --cell gru --hidden 512 --for 10m --out runs/gru", "choose"},
    {"unroll train --resume runs/gru --for 20m", "go on"},
    {"unroll sample runs/gru --prompt 'Once ' --length 300", "write text"},
    {"unroll eval runs/gru other.txt --json", "measure"},
    {"unroll plot runs/gru runs/book -o curves.svg", "compare"}};
enum { EXAMPLES = sizeof examples / sizeof *examples };

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

static enum command shown = COMMAND_NONE; /* whose help is printed */

/* The doc, then in brackets the unit, the default and what is allowed. */
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
                 o->by_task && (shown == COMMAND_TRAIN || shown == COMMAND_NONE) ? "default by --task: %s of lm"
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

/* Groups are printed where their first member is. */
static void print_groups(enum command command, const char *heading, void (*print)(const struct option *))
{
    for (int id = next_option(command, false, 0); id < option_count; id = next_option(command, false, id + 1)) {
        int first = next_option(command, false, 0);
        while (!same_group(first, id)) first = next_option(command, false, first + 1);
        if (first < id)
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

static void print_option(const struct option *o)
{
    char note[NOTE_LONGEST];
    int at = o->positional ? printf("  %s", o->argument) : printf("  --%s", o->name);
    if (o->argument && !o->positional)
        at += printf(" %s", o->argument);
    describe_option(o, note);
    if (at > DOC_COLUMN - 2) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", DOC_COLUMN - at, "");
    print_wrapped(note, DOC_COLUMN);
}

void manual_help(enum command command)
{
    shown = command;
    manual_usage(command);
    printf("%s: %s.\n", commands[command].name, commands[command].does);
    if (next_option(command, true, 0) < option_count)
        putchar('\n');
    for (int id = next_option(command, true, 0); id < option_count; id = next_option(command, true, id + 1))
        print_option(&options[id]);
    print_groups(command, "\n%s:\n", print_option);
    if (command == COMMAND_TRAIN)
        puts("\nCtrl-C saves and prints how to go on. Every option can also be set by an\n"
             "environment variable (UNROLL_HIDDEN=128) or in the file of --config; the order\n"
             "is option, variable, file, default.");
}

void manual_overview(void)
{
    puts("unroll: recurrent networks, trained and run at the speed of the hardware\n\n"
         "usage: unroll COMMAND [arguments] [options]\n");
    for (int c = 0; c < COMMAND_COUNT; c++)
        if (command_is_listed(c))
            printf("  %-12s%s\n", commands[c].name, commands[c].does);
    puts("\nunroll COMMAND --help lists the options of a command. For example:\n");
    for (int i = 0; i < EXAMPLES; i++) printf("  %s\n      %s\n", examples[i][0], examples[i][1]);
}

/* ---- the manual page ---- */

/* Escapes what roff would read as its own. */
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

static void roff_surroundings(void)
{
    puts(".SH SETTINGS\n"
         "An option wins over an environment variable, a variable over the file of\n"
         "\\-\\-config, the file over the default. The variable of \\-\\-top\\-k is UNROLL_TOP_K.\n"
         "A switch is disabled by \\-\\-no\\-NAME.\n"
         ".SH FILES\n"
         "A run is a directory:\n"
         ".TP\n.B config.json\nall settings as they were worked out\n"
         ".TP\n.B metrics.jsonl\none object per report: step, epoch, loss, val_loss (nats), norm, lr,\n"
         "items_per_second, seconds\n"
         ".TP\n.B events.out.tfevents.*\nthe same for TensorBoard: loss/train, loss/validation, norm,\n"
         "learning_rate, items_per_second\n"
         ".TP\n.B ckpt/step\\-N/\nthe newest checkpoints (--keep) and the best\n"
         ".TP\n.B model.safetensors\nat the end of the run: the best weights, or the last where nothing was validated\n"
         ".SH SIGNALS\n"
         "SIGINT, SIGTERM, SIGHUP and SIGUSR2 save a checkpoint and end with 75; a second SIGINT ends at once.\n"
         "SIGUSR1 saves and goes on.\n"
         ".SH ENVIRONMENT\n"
         ".TP\n.B UNROLL_NAME\na setting; of another name that is near to one an error, else said and not read\n"
         ".TP\n.B UNROLL_MPI\nopenmpi or mpich, where both could have launched the ranks\n"
         ".TP\n.B UNROLL_CACHE\nthe folder that large data are kept in, parsed (~/.cache/unroll); off: in memory\n"
         ".TP\n.B NO_COLOR\nno colour\n"
         ".SH EXIT STATUS");
    for (int i = 0; i < EXIT_CODES; i++) printf(".TP\n.B %d\n%s\n", (int)exit_codes[i].status, exit_codes[i].means);
    puts(".SH FURTHER READING\n"
         "Pages that are named here, such as docs/reference/formats.md, are installed in share/doc/unroll.\n"
         ".SH EXAMPLES");
    for (int i = 0; i < EXAMPLES; i++) {
        printf(".TP\n.B ");
        roff_text(examples[i][0]);
        puts(examples[i][1]);
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
