/* Scripts that complete the command's words: subcommands, options, their values, and files where files are read. All
 * of them are generated from the tables of commands and options. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/options/options.h"

/* Prints the doc up to its first semicolon, for use in single quotes. Characters in `escaped` get a backslash. */
static void print_doc(const char *doc, const char *escaped)
{
    for (; *doc && *doc != ';'; doc++)
        if (*doc == '\'')
            fputs("'\\''", stdout);
        else
            printf(strchr(escaped, *doc) ? "\\%c" : "%c", *doc);
}

static bool reads_file(const struct option *o) { return o->kind == PATH || o->kind == NUMBER_OR_PATH; }

/* ---- bash ---- */

static void bash_values(void)
{
    puts("    case \"$before\" in");
    for (int id = next_option(COMMAND_NONE, false, 0); id < option_count;
         id = next_option(COMMAND_NONE, false, id + 1)) {
        const struct option *o = &options[id];
        if (o->choices)
            printf("        --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return;;\n", o->name, o->choices);
        else if (reads_file(o) || o->kind == DIRECTORY)
            printf("        --%s) mapfile -t COMPREPLY < <(compgen -%c -- \"$word\"); return;;\n", o->name,
                   o->kind == DIRECTORY ? 'd' : 'f');
        else if (o->kind != FLAG)
            printf("        --%s) return;;\n", o->name);
    }
    puts("    esac");
}

/* Prints the options of each command, and the values of its first positional argument. */
static void bash_words(void)
{
    puts("    case \"${COMP_WORDS[1]}\" in");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        if (!command_is_listed(c))
            continue;
        printf("        %s) names='", commands[c].name);
        const char *gap = "";
        for (int id = next_option(c, false, 0); id < option_count; id = next_option(c, false, id + 1), gap = " ")
            printf("%s--%s", gap, options[id].name);
        putchar('\'');
        int id = next_option(c, true, 0);
        if (id < option_count)
            printf(options[id].choices ? " words='%s'" : " files=1", options[id].choices);
        puts(";;");
    }
    puts("    esac");
}

static void print_bash(void)
{
    puts(
        "# Completion of unroll for bash:  source <(unroll completion bash)\n"
        "_unroll() {\n"
        "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" names='' words='' files=''\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    printf("        COMPREPLY=($(compgen -W '%s' -- \"$word\")); return\n    fi\n", options[OPTION_TOPIC].choices);
    bash_values();
    bash_words();
    puts("    case \"$word\" in\n"
         "        -*) COMPREPLY=($(compgen -W \"$names\" -- \"$word\"));;\n"
         "        *) COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "           [ -z \"$files\" ] || mapfile -t COMPREPLY < <(compgen -f -- \"$word\");;\n"
         "    esac\n"
         "}\n"
         "complete -o filenames -F _unroll unroll");
}

/* ---- zsh ---- */

/* Prints the completion of an option's value. */
static void zsh_value(const struct option *o)
{
    printf(":%s:", o->argument);
    if (o->choices)
        printf("(%s)", o->choices);
    else
        fputs(o->kind == DIRECTORY ? "_files -/" : reads_file(o) ? "_files" : " ", stdout);
    putchar('\'');
}

/* Prints the arguments and options of a command. */
static void zsh_command(int c)
{
    printf("        %s) _arguments", commands[c].name);
    for (int id = next_option(c, true, 0); id < option_count; id = next_option(c, true, id + 1)) {
        printf(" \\\n            '%s", options[id].repeats ? "*" : "");
        zsh_value(&options[id]);
    }
    for (int id = next_option(c, false, 0); id < option_count; id = next_option(c, false, id + 1)) {
        const struct option *o = &options[id];
        printf(" \\\n            '--%s%s[", o->name, o->kind == FLAG ? "" : "=");
        print_doc(o->doc, "[]\\");
        putchar(']');
        if (o->kind == FLAG && o->choices)
            putchar(':'); /* the value may be omitted */
        if (o->kind != FLAG || o->choices)
            zsh_value(o);
        else
            putchar('\'');
    }
    puts(";;");
}

static void print_zsh(void)
{
    puts(
        "#compdef unroll\n"
        "# Completion of unroll for zsh: this is a file _unroll of a folder in fpath, or:  source <(unroll completion zsh)\n"
        "_unroll() {\n"
        "    if (( CURRENT == 2 )); then\n"
        "        local -a commands=(");
    for (int c = 0; c < COMMAND_COUNT; c++)
        if (command_is_listed(c)) {
            printf("            '%s:", commands[c].name);
            print_doc(commands[c].does, ":");
            puts("'");
        }
    puts("        )\n"
         "        _describe command commands\n"
         "        return\n"
         "    fi\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "    case $words[1] in");
    for (int c = 0; c < COMMAND_COUNT; c++)
        if (command_is_listed(c))
            zsh_command(c);
    puts("    esac\n"
         "}\n"
         "if [[ $funcstack[1] == _unroll ]]; then _unroll \"$@\"; else compdef _unroll unroll; fi");
}

/* ---- fish ---- */

/* "complete -c unroll -n '__fish_seen_subcommand_from train plan'" for the commands that have the option. */
static void fish_condition(const struct option *o)
{
    printf("complete -c unroll -n '__fish_seen_subcommand_from");
    for (int c = 0; c < COMMAND_COUNT; c++)
        if (command_is_listed(c) && option_is_of(o, c))
            printf(" %s", commands[c].name);
    putchar('\'');
}

/* Prints the completion of an option or argument for all commands that have it. */
static void fish_option(const struct option *o)
{
    fish_condition(o);
    if (!o->positional)
        printf(" -l %s", o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (o->choices)
        printf("%s -a '%s'", o->positional || o->kind == FLAG ? "" : " -x", o->choices);
    else if (o->kind == DIRECTORY)
        printf(" -x -a '(__fish_complete_directories)'");
    else if (reads_file(o))
        printf(o->positional ? " -F" : " -r -F");
    else if (o->kind != FLAG)
        printf(" -x");
    printf(" -d '");
    print_doc(o->doc, "\\");
    puts("'");
}

static void print_fish(void)
{
    puts("# Completion of unroll for fish:  unroll completion fish | source\n"
         "complete -c unroll -f");
    for (int c = 0; c < COMMAND_COUNT; c++)
        if (command_is_listed(c)) {
            printf("complete -c unroll -n __fish_use_subcommand -a %s -d '", commands[c].name);
            print_doc(commands[c].does, "\\");
            puts("'");
        }
    for (int id = 0; id < option_count; id++) fish_option(&options[id]);
}

void completion_print(const char *shell)
{
    if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        print_bash();
}
