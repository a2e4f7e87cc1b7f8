/* The command `unroll`: finds the subcommand, reads its settings and runs it. The only place that ends the process
 * normally; the exit code is the status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/show/console.h"
#include "cli/options/options.h"
#include "cli/options/suggest.h"
#include "cli/show/terminal.h"

#define COMMAND(id, name, function, does) unroll_status function(struct settings *settings);
COMMANDS(COMMAND)
#undef COMMAND

#define COMMAND(id, name, function, does) [COMMAND_##id] = {name, does, function},
const struct command_entry commands[COMMAND_COUNT] = {COMMANDS(COMMAND)};
#undef COMMAND

static enum command find_command(const char *name)
{
    int command = 0;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return COMMAND_HELP;
    if (strcmp(name, "--version") == 0)
        return COMMAND_VERSION;
    while (command < COMMAND_COUNT && strcmp(commands[command].name, name) != 0) command++;
    return command;
}

static unroll_status refuse_command(const char *name)
{
    struct suggestion suggestion = suggestion_for(name);
    for (int c = 0; c < COMMAND_COUNT; c++)
        if (command_is_listed(c))
            suggestion_offer(&suggestion, commands[c].name);
    if (suggestion.nearest)
        return complain(UNROLL_USAGE, "there is no command '%.80s'; fix: write '%s'", name, suggestion.nearest);
    return complain(UNROLL_USAGE, "there is no command '%.80s'; fix: 'unroll help' lists them", name);
}

/* Returns the status, or an error if standard output could not be written, for example because the disk is full. */
static unroll_status flush_results(unroll_status status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    unroll_status lost =
        complain(UNROLL_RESOURCE,
                 "cannot write to the standard output: %s; fix: free space on the disk, or write to another place",
                 strerror(errno));
    return status == UNROLL_OK ? lost : status;
}

unroll_status cmd_help(struct settings *settings)
{
    if (!is_given(settings, OPTION_TOPIC)) {
        manual_overview();
        return UNROLL_OK;
    }
    enum command command = find_command(text_of(settings, OPTION_TOPIC));
    if (command == COMMAND_NONE)
        return refuse_command(text_of(settings, OPTION_TOPIC));
    if (is_given(settings, OPTION_PART))
        TRY(manual_check_group(command, text_of(settings, OPTION_PART)));
    manual_help(command, text_of(settings, OPTION_PART));
    return UNROLL_OK;
}

unroll_status cmd_version(struct settings *settings)
{
    (void)settings;
    printf("unroll %s\n", unroll_version());
    return UNROLL_OK;
}

unroll_status cmd_man(struct settings *settings)
{
    (void)settings;
    manual_roff();
    return UNROLL_OK;
}

unroll_status cmd_completion(struct settings *settings)
{
    completion_print(text_of(settings, OPTION_SHELL));
    return UNROLL_OK;
}

unroll_status run_extension(const char *name, const char *what, struct settings *settings)
{
    const struct extension_command *command = extension_commands;
    while (command->name && strcmp(command->name, name) != 0) command++;
    return command->run ? command->run(settings)
                        : complain(UNROLL_UNSUPPORTED,
                                   "'%s': built without the extension '%s'; fix: build with make EXTENSIONS=%s", what,
                                   command->extension, command->extension);
}

unroll_status cmd_extension(struct settings *settings)
{
    const char *name = commands[settings->command].name;
    return run_extension(name, name, settings);
}

unroll_status command_run(enum command command, int count, char *const words[])
{
    struct settings settings;
    unroll_status status = settings_load(&settings, command, count, words);
    if (status == UNROLL_OK && is_on(&settings, OPTION_HELP)) {
        manual_help(command, settings.help_group);
    } else if (status == UNROLL_OK) {
        console_open(is_on(&settings, OPTION_QUIET));
        status = commands[command].run(&settings);
        end_live();
    }
    settings_free(&settings);
    return status;
}

/* Opens standard input, output and error if the parent process closed them. Otherwise the next file opened would get
 * one of their numbers, and messages would be written into it. Reading and writing results still fail as on a closed
 * file; messages are lost. */
static void keep_standard_numbers(void)
{
    static const int way[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int number = 0; number < 3; number++)
        if (fcntl(number, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", way[number]); /* takes the lowest free number */
}

/* Returns whether programs may read the output byte by byte; the output of the others is for people. */
static bool prints_bytes(enum command command)
{
    return command == COMMAND_SAMPLE || command == COMMAND_STREAM || command == COMMAND_RUN ||
           command == COMMAND_EXPORT || command == COMMAND_COMPLETION || command == COMMAND_MAN;
}

int main(int count, char *words[])
{
    enum command command;
    keep_standard_numbers();
    options_begin();
    signal(SIGXFSZ, SIG_IGN); /* exceeding the limit of file size is then an error of write(), with a message */
    if (count < 2) {
        complain(UNROLL_USAGE,
                 "no command was given; fix: 'unroll help' lists them, for example: unroll train book.txt");
        return UNROLL_USAGE;
    }
    command = find_command(words[1]);
    if (command == COMMAND_NONE)
        return refuse_command(words[1]);
    terminal_open(!prints_bytes(command));
    return flush_results(command_run(command, count - 2, words + 2));
}
