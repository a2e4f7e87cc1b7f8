/* Reads settings from the command line and the environment, with ranges and suggestions. The layers may be read in
 * any order: a value never replaces one of a higher layer. */
#include "cli/options/options.h"

#include <ctype.h>
#include <float.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/show/console.h"
#include "cli/options/suggest.h"

enum { WHERE_LONGEST = 128, ALLOWED_LONGEST = 256 };

extern char **environ;

/* ---- values ---- */

void list_choices(const char *choices, char *text, size_t size)
{
    for (size_t at = 0; *choices && at + 3 < size; choices++)
        at += (size_t)snprintf(text + at, size - at, *choices == ' ' ? ", " : "%c", *choices);
}

/* Writes what is allowed, such as "give a whole number from 1 to 64 (layers)". */
static void describe_allowed(const struct option *o, char text[ALLOWED_LONGEST])
{
    static const char *const kind[] = {[INTEGER] = "a whole number",
                                       [INTEGERS] = "whole numbers",
                                       [NUMBER] = "a number",
                                       [SECONDS] = "a time in seconds, or such as 10ms, 90s, 5m, 2h,",
                                       [BYTES] = "a size in bytes, or such as 500M, 2G,",
                                       [NUMBER_OR_PATH] = "a file, or a number"};
    int at = 0;

    if (o->kind == FLAG) {
        snprintf(text, ALLOWED_LONGEST, "give true or false");
    } else if (o->kind == CHOICE) {
        char choices[ALLOWED_LONGEST - 16];
        list_choices(o->choices, choices, sizeof choices);
        snprintf(text, ALLOWED_LONGEST, strchr(o->choices, ' ') ? "choose one of %s" : "choose %s", choices);
    } else if (option_counts(o)) {
        const char *first = o->kind == INTEGERS ? o->argument : o->word;
        at = snprintf(text, ALLOWED_LONGEST, "give %s%s%s ", first ? first : "",
                      !first                ? ""
                      : o->kind == INTEGERS ? ": "
                                            : ", or ",
                      kind[o->kind]);
        if (isinf(o->max))
            at += snprintf(text + at, ALLOWED_LONGEST - (size_t)at, "of at least %.10g", o->min);
        else
            at += snprintf(text + at, ALLOWED_LONGEST - (size_t)at, "from %.10g to %.10g", o->min, o->max);
        if (o->unit)
            snprintf(text + at, ALLOWED_LONGEST - (size_t)at, " (%s)", o->unit);
    } else {
        snprintf(text, ALLOWED_LONGEST, "give %s", o->argument);
    }
}

static unroll_status refuse_value(const struct option *o, const char *where, const char *value, const char *why)
{
    char allowed[ALLOWED_LONGEST];
    describe_allowed(o, allowed);
    return complain(UNROLL_USAGE, "%s: '%.80s' %s; fix: %s", where, value, why, allowed);
}

static unroll_status parse_flag(const struct option *o, const char *where, struct setting *to)
{
    static const char *const no[] = {"false", "no", "off", "0"}, *const yes[] = {"true", "yes", "on", "1"};

    for (int i = 0; i < 4; i++) {
        if (strcmp(to->text, yes[i]) == 0 || strcmp(to->text, no[i]) == 0) {
            to->integer = strcmp(to->text, yes[i]) == 0;
            return UNROLL_OK;
        }
    }
    return refuse_value(o, where, to->text, "is neither true nor false");
}

/* Returns the factor of a suffix after a number; 0: the suffix is unknown. */
static double factor_of(enum option_kind kind, const char *suffix)
{
    static const struct {
        enum option_kind kind;
        const char *suffix;
        double factor;
    } known[] = {{SECONDS, "ms", 1e-3}, {SECONDS, "s", 1},  {SECONDS, "m", 60}, {SECONDS, "h", 3600},
                 {BYTES, "k", 1e3},     {BYTES, "M", 1e6},  {BYTES, "G", 1e9},  {BYTES, "T", 1e12},
                 {BYTES, "kB", 1e3},    {BYTES, "MB", 1e6}, {BYTES, "GB", 1e9}, {BYTES, "TB", 1e12}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].kind == kind && strcmp(known[i].suffix, suffix) == 0)
            return known[i].factor;
    return *suffix == '\0';
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), size = strlen(suffix);
    return length > size && strcmp(text + length - size, suffix) == 0;
}

/* Parses a number with the option's suffix, such as "8k-tokens". */
static unroll_status parse_suffixed(const struct option *o, const char *where, struct setting *to)
{
    const char *end = to->text;
    enum number_state state = number_real(&end, 1, 1e15, &to->number);
    char multiple[8] = "";
    size_t length = strlen(end) - (state == NUMBER_NONE ? 0 : strlen(o->suffix));
    if (state != NUMBER_NONE && length < sizeof multiple)
        memcpy(multiple, end, length);
    double factor = state == NUMBER_NONE || length >= sizeof multiple ? 0 : factor_of(BYTES, multiple);
    to->number *= factor;
    to->integer = 0;
    if (factor == 0)
        return refuse_value(o, where, to->text, "is not a number");
    bool is_whole = state == NUMBER_OK && to->number >= 1 && to->number == floor(to->number);
    return is_whole ? UNROLL_OK : refuse_value(o, where, to->text, "is out of range");
}

static unroll_status parse_integer(const struct option *o, const char *where, struct setting *to)
{
    const int64_t min = (int64_t)o->min, max = isinf(o->max) ? INT64_MAX : (int64_t)o->max;
    if (o->word && strcmp(to->text, o->word) == 0) {
        to->integer = o->word_value;
        return UNROLL_OK;
    }
    if (o->suffix && ends_with(to->text, o->suffix))
        return parse_suffixed(o, where, to);
    enum number_state state = number_whole_integer(to->text, min, max, &to->integer);
    to->number = (double)to->integer;
    return state == NUMBER_OK
               ? UNROLL_OK
               : refuse_value(o, where, to->text, state == NUMBER_NONE ? "is not a whole number" : "is out of range");
}

/* Parses comma-separated numbers, one for each name in the argument: "L,T,B,I,H". */
static unroll_status parse_integers(const struct option *o, const char *where, struct setting *to)
{
    const char *at = to->text;
    enum number_state state = NUMBER_OK;
    int count = 0;
    int64_t number = 0;

    for (const char *name = o->argument; name && state == NUMBER_OK; count++) {
        name = strchr(name + 1, ',');
        state = number_integer(&at, NULL, (int64_t)o->min, (int64_t)o->max, &number);
        if (state != NUMBER_NONE && *at++ != (name ? ',' : '\0'))
            state = NUMBER_NONE;
        to->integers[count] = (int)number;
    }
    return state == NUMBER_OK
               ? UNROLL_OK
               : refuse_value(o, where, to->text, state == NUMBER_NONE ? "is not of this form" : "is out of range");
}

/* Parses NUMBER, SECONDS, BYTES and NUMBER_OR_PATH. The last is a path where the others would be refused. */
static unroll_status parse_number(const struct option *o, const char *where, struct setting *to)
{
    static const char *const refusal[] = {[NUMBER] = "is not a number",
                                          [SECONDS] = "is not a time",
                                          [BYTES] = "is not a size",
                                          [NUMBER_OR_PATH] = "is neither a number nor an existing file"};
    const char *end = to->text;
    enum number_state state = number_real(&end, -DBL_MAX, DBL_MAX, &to->number);
    double factor = state == NUMBER_NONE ? 0 : factor_of(o->kind, end);

    bool is_file = strcmp(to->text, "-") == 0 || access(to->text, F_OK) == 0;
    const bool of_groups = strcmp(to->text, "groups") == 0 || strncmp(to->text, "groups:", 7) == 0;
    if (factor == 0 && o->kind == NUMBER_OR_PATH && (is_file || of_groups)) {
        to->number = NAN;
        return UNROLL_OK;
    }
    if (factor == 0)
        return refuse_value(o, where, to->text, refusal[o->kind]);
    to->number *= factor;
    if (state == NUMBER_OUTSIDE || !(to->number >= o->min && to->number <= o->max))
        return refuse_value(o, where, to->text, "is out of range");
    return UNROLL_OK;
}

/* Refuses a value that is not a choice, with the nearest one or the extension that would add it. */
static unroll_status parse_choice(const struct option *o, const char *where, const struct setting *to)
{
    char choices[ALLOWED_LONGEST], *rest = choices;
    struct suggestion suggestion = suggestion_for(to->text);
    snprintf(choices, sizeof choices, "%s", o->choices);
    for (char *word = strtok_r(choices, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, to->text) == 0)
            return UNROLL_OK;
        suggestion_offer(&suggestion, word);
    }
    for (const struct extension_command *word = extension_words; word->name; word++)
        if (strcmp(word->name, to->text) == 0)
            return complain(UNROLL_UNSUPPORTED,
                            "%s: '%s': built without the extension '%s'; fix: build with make EXTENSIONS=%s", where,
                            to->text, word->extension, word->extension);
    if (suggestion.nearest) {
        char why[ALLOWED_LONGEST];
        snprintf(why, sizeof why, "is not known; did you mean '%.40s'?", suggestion.nearest);
        return refuse_value(o, where, to->text, why);
    }
    return refuse_value(o, where, to->text, "is not known");
}

static unroll_status parse_value(const struct option *o, const char *where, struct setting *to)
{
    switch (o->kind) {
    case FLAG: return parse_flag(o, where, to);
    case INTEGER: return parse_integer(o, where, to);
    case INTEGERS: return parse_integers(o, where, to);
    case NUMBER:
    case SECONDS:
    case BYTES:
    case NUMBER_OR_PATH: return parse_number(o, where, to);
    case CHOICE: return parse_choice(o, where, to);
    case PATH:
    case DIRECTORY: return *to->text ? UNROLL_OK : refuse_value(o, where, to->text, "is empty");
    case TEXT: break;
    }
    return UNROLL_OK;
}

static bool same_value(const struct option *o, const struct setting *a, const struct setting *b)
{
    switch (o->kind) {
    case FLAG:
    case INTEGER: return a->integer == b->integer && (!o->suffix || a->integer || a->number == b->number);
    case NUMBER:
    case SECONDS:
    case BYTES: return a->number == b->number;
    default: return strcmp(a->text, b->text) == 0;
    }
}

/* Checks a value of a lower layer than the present one. It matters only if it comes from a saved run and is fixed. */
static unroll_status compare_with_run(const struct option *o, const struct setting *there, const struct setting *saved)
{
    if (saved->source != SOURCE_RUN || o->scope != FIXED || same_value(o, there, saved))
        return UNROLL_OK;
    return complain(
        UNROLL_USAGE,
        "--%s is '%s', but the run was started with '%s'; fix: leave it out, or start another run with --out", o->name,
        there->text, saved->text);
}

static unroll_status add_word(struct settings *settings, const char *value)
{
    char **longer = realloc(settings->word, sizeof *longer * (size_t)(settings->words + 1));
    if (longer)
        settings->word = longer;
    if (longer == NULL || (longer[settings->words] = strdup(value)) == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the settings");
    settings->words++;
    return UNROLL_OK;
}

/* Prepends an earlier value to *text. *text becomes NULL if there is no memory. */
static void join_text(const char *before, char between, char **text)
{
    size_t size = strlen(before) + strlen(*text) + 2;
    char *joined = malloc(size);
    if (joined)
        snprintf(joined, size, "%s%c%s", before, between, *text);
    free(*text);
    *text = joined;
}

/* Converts a task of version 0.1, whose name contained the kind of tokens. */
static unroll_status replace_old_task(struct settings *settings, const char **value, enum source source,
                                      const char *where)
{
    bool words = strcmp(*value, "word-lm") == 0;
    if (!words && strcmp(*value, "char-lm") != 0)
        return UNROLL_OK;
    *value = "lm";
    return settings_set(settings, OPTION_TOKENS, words ? "words" : "chars", source, where);
}

unroll_status settings_set(struct settings *settings, enum option_id id, const char *value, enum source source,
                           const char *where)
{
    if (id == OPTION_TASK) {
        unroll_status replaced = replace_old_task(settings, &value, source, where);
        if (replaced != UNROLL_OK)
            return replaced;
    }
    const struct option *o = &options[id];
    struct setting *there = &settings->of[id],
                   found = {.source = source, .text = strdup(id == OPTION_SUM ? name_now(value) : value)};
    unroll_status status;
    if (found.text && o->joins && there->source == source && source == SOURCE_LINE)
        join_text(there->text, o->joins, &found.text);
    if (found.text == NULL)
        return complain(UNROLL_RESOURCE, "no memory for the settings");
    status = parse_value(o, where, &found);
    if (status == UNROLL_OK && there->source > source)
        status = compare_with_run(o, there, &found);
    if (status == UNROLL_OK && o->repeats && there->source <= source)
        status = add_word(settings, value);
    if (status != UNROLL_OK || there->source > source) {
        free(found.text);
        return status;
    }
    free(there->text);
    *there = found;
    return UNROLL_OK;
}

unroll_status settings_derive(struct settings *settings, enum option_id id, const char *format, ...)
{
    char text[ALLOWED_LONGEST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    settings_clear(settings, id);
    return settings_set(settings, id, text, SOURCE_DEFAULT, options[id].name);
}

void settings_clear(struct settings *settings, enum option_id id)
{
    free(settings->of[id].text);
    settings->of[id] = (struct setting){0};
}

void settings_free(struct settings *settings)
{
    for (int id = 0; id < option_count; id++) settings_clear(settings, id);
    for (int i = 0; i < settings->words; i++) free(settings->word[i]);
    free(settings->word);
}

unroll_status settings_need(const struct settings *settings, enum option_id id)
{
    const char *command = commands[settings->command].name;
    const struct option *o = &options[id];
    if (is_given(settings, id))
        return UNROLL_OK;
    if (o->positional)
        return complain(UNROLL_USAGE, "%s needs %s: %.*s; fix: write it, for example: %s", command, o->argument,
                        (int)strcspn(o->doc, ";"), o->doc, command_examples[settings->command][0].line);
    if (o->letter)
        return complain(UNROLL_USAGE, "%s needs -%c %s, the file to write; fix: write it, for example: %s", command,
                        o->letter, o->argument, command_examples[settings->command][0].line);
    char allowed[ALLOWED_LONGEST];
    describe_allowed(o, allowed);
    return complain(UNROLL_USAGE, "%s needs --%s %s; fix: %s", command, o->name, o->argument, allowed);
}

/* ---- names ---- */

int option_find(const char *name)
{
    int id = 0;
    name = name_now(name);
    while (id < option_count && strcmp(options[id].name, name) != 0) id++;
    return id;
}

/* Two commands may have options of one name. */
static int option_of(enum command command, const char *name)
{
    const int found = option_find(name);
    for (int id = found; id < option_count; id++)
        if (option_is_of(&options[id], command) && strcmp(options[id].name, options[found].name) == 0)
            return id;
    return found;
}

/* Returns the command's option that other tools call `name`, or NULL. */
static const char *known_elsewhere_as(enum command command, const char *name)
{
    static const char *const names[][2] = {
        {"learning-rate", "lr"},   {"batch-size", "batch"}, {"hidden-size", "hidden"},   {"num-layers", "layers"},
        {"optimizer", "opt"},      {"output-dir", "out"},   {"embedding-size", "embed"}, {"model", "cell"},
        {"max-steps", "steps"},    {"seq-len", "bptt"},     {"sequence-length", "bptt"}, {"num-epochs", "epochs"},
        {"gradient-clip", "clip"}, {"weights", "init"},     {"validation", "val"},       {"columns", "column"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], name) && option_is_of(&options[option_find(names[i][1])], command))
            return names[i][1];
    return NULL;
}

/* Refuses an option that the command does not have, with the option or command that was probably meant. */
static unroll_status refuse_name(enum command command, const char *name)
{
    struct suggestion suggestion = suggestion_for(name);
    int elsewhere = option_find(name);
    const char *known = known_elsewhere_as(command, name);
    if (known)
        return complain(UNROLL_USAGE, "%s has no option --%s; fix: write --%s", commands[command].name, name, known);
    if (elsewhere != option_count) {
        int owner = 0;
        while (!option_is_of(&options[elsewhere], owner)) owner++;
        return complain(UNROLL_USAGE,
                        "%s has no option --%s, but %s has; fix: leave out --%s, or see 'unroll %s --help all'",
                        commands[command].name, name, commands[owner].name, name, commands[command].name);
    }
    for (int id = 0; id < option_count; id++)
        if (option_is_of(&options[id], command))
            suggestion_offer(&suggestion, options[id].name);
    if (suggestion.nearest)
        return complain(UNROLL_USAGE, "%s has no option --%.80s; fix: write --%s, or see 'unroll %s --help all'",
                        commands[command].name, name, suggestion.nearest, commands[command].name);
    return complain(UNROLL_USAGE, "%s has no option --%.80s; fix: see 'unroll %s --help all'", commands[command].name,
                    name, commands[command].name);
}

/* ---- the command line ---- */

struct line {
    struct settings *settings;
    int at, count;
    bool words_only; /* after --, dashes have no meaning */
    char *const *word;
};

static unroll_status set_named(struct line *line, enum option_id id, const char *value)
{
    char where[WHERE_LONGEST];
    snprintf(where, sizeof where, "--%s", options[id].name);
    return settings_set(line->settings, id, value, SOURCE_LINE, where);
}

/* Reads NAME=VALUE of --set. */
static unroll_status read_pair(struct line *line, const char *pair)
{
    const char *equals = strchr(pair, '=');
    char name[WHERE_LONGEST];
    if (equals == NULL || equals == pair || equals - pair >= WHERE_LONGEST)
        return complain(UNROLL_USAGE, "--set: '%.80s' is not NAME=VALUE; fix: write for example --set hidden=128",
                        pair);
    snprintf(name, sizeof name, "%.*s", (int)(equals - pair), pair);
    int id = option_of(line->settings->command, name);
    if (id == option_count || !option_is_of(&options[id], line->settings->command))
        return refuse_name(line->settings->command, name);
    if (id == OPTION_SET || id == OPTION_HELP)
        return complain(UNROLL_USAGE, "--set %s: this is not a setting; fix: write --%s", name, name);
    return set_named(line, id, equals + 1);
}

/* Reads --help, --help GROUP or --help=GROUP. */
static unroll_status read_help(struct line *line, const char *group)
{
    const bool follows = !group && line->at < line->count && line->word[line->at][0] != '-';
    if (follows)
        group = line->word[line->at++];
    if (group)
        TRY(manual_check_group(line->settings->command, group));
    line->settings->help_group = group;
    return set_named(line, OPTION_HELP, "true");
}

/* value NULL: the next word is the value, or "true" for a switch. */
static unroll_status read_value(struct line *line, enum option_id id, const char *value)
{
    const char *name = options[id].name;
    if (id == OPTION_HELP)
        return read_help(line, value);
    if (!value && options[id].kind == FLAG)
        value = "true";
    if (!value) {
        if (line->at == line->count || strncmp(line->word[line->at], "--", 2) == 0)
            return complain(UNROLL_USAGE, "--%s needs a value; fix: write --%s %s", name, name, options[id].argument);
        value = line->word[line->at++];
    }
    return id == OPTION_SET ? read_pair(line, value) : set_named(line, id, value);
}

/* Reads --name, --name=value, --no-name or --name value. */
static unroll_status read_option(struct line *line, const char *word)
{
    const char *equals = strchr(word, '=');
    char name[WHERE_LONGEST];
    snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - word : (ptrdiff_t)strlen(word)), word);
    int id = option_of(line->settings->command, name);
    if (id == option_count && strncmp(name, "no-", 3) == 0 && !equals) {
        id = option_find(name + 3);
        bool is_switch = id != option_count && options[id].kind == FLAG;
        if (is_switch && option_is_of(&options[id], line->settings->command))
            return set_named(line, id, "false");
        id = option_count;
    }
    if (id == option_count || !option_is_of(&options[id], line->settings->command))
        return refuse_name(line->settings->command, name);
    return read_value(line, id, equals ? equals + 1 : NULL);
}

/* Reads -o VALUE. */
static unroll_status read_letter(struct line *line, const char *word)
{
    enum command command = line->settings->command;
    for (int id = 0; id < option_count; id++)
        if (options[id].letter == word[1] && word[2] == '\0' && option_is_of(&options[id], command))
            return read_value(line, id, NULL);
    return complain(UNROLL_USAGE,
                    "%s has no option %.80s; fix: options have long names and two dashes, see 'unroll %s --help all'",
                    commands[command].name, word, commands[command].name);
}

/* A word without a dash belongs to the first positional option without a value. */
int next_option(int command, bool positional, int id)
{
    while (id < option_count && (options[id].positional != positional ||
                                 (command != COMMAND_NONE && !option_is_of(&options[id], (enum command)command))))
        id++;
    return id;
}

static unroll_status read_positional(struct line *line, const char *word)
{
    enum command command = line->settings->command;
    for (int id = next_option(command, true, 0); id < option_count; id = next_option(command, true, id + 1))
        if (options[id].repeats || !is_given(line->settings, id)) {
            line->words_only |= options[id].takes_rest;
            return settings_set(line->settings, id, word, SOURCE_LINE, options[id].argument);
        }
    return complain(UNROLL_USAGE, "%s: unexpected argument '%.80s'; fix: leave it out, or for example: %s",
                    commands[command].name, word, command_examples[command][0].line);
}

static unroll_status read_line(struct line *line)
{
    while (line->at < line->count) {
        const char *word = line->word[line->at++];
        if (line->words_only || word[0] != '-' || word[1] == '\0')
            TRY(read_positional(line, word));
        else if (strcmp(word, "--") == 0)
            line->words_only = true;
        else
            TRY(word[1] == '-' ? read_option(line, word + 2) : read_letter(line, word));
    }
    return UNROLL_OK;
}

/* ---- the environment ---- */

static const char prefix[] = "UNROLL_";

/* Writes the variable of an option: "UNROLL_TOP_K" for "top-k". */
static void variable_of(const struct option *o, char text[WHERE_LONGEST])
{
    snprintf(text, WHERE_LONGEST, "%s%s", prefix, o->name);
    for (char *c = text; *c; c++) *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

/* Refuses a variable that differs from a setting by at most one letter in four. Other variables, such as
 * UNROLL_HOME, are probably not ours and only get a note. */
static unroll_status answer_unknown_variable(const struct settings *settings, const char *variable)
{
    const char *name = variable + sizeof prefix - 1;
    struct suggestion suggestion = suggestion_for(name);
    char candidate[OPTION_MAX][WHERE_LONGEST];
    size_t length = strlen(name);
    for (int id = 0; id < option_count; id++) {
        variable_of(&options[id], candidate[id]);
        if (options[id].scope != LINE)
            suggestion_offer(&suggestion, candidate[id] + sizeof prefix - 1);
    }
    if (suggestion.nearest && suggestion.distance <= (length < 8 ? 1 : (int)length / 4))
        return complain(UNROLL_USAGE, "the environment variable %.80s is not a setting; fix: write %s%s, or unset it",
                        variable, prefix, suggestion.nearest);
    if (!is_on(settings, OPTION_QUIET))
        say("note: the environment variable %.80s is not a setting and is ignored", variable);
    return UNROLL_OK;
}

/* entry: NAME=VALUE, whose name begins with the prefix. */
static unroll_status read_variable(struct settings *settings, const char *entry)
{
    const char *equals = strchr(entry, '=');
    char name[WHERE_LONGEST], variable[WHERE_LONGEST];
    if (equals == NULL)
        return UNROLL_OK;
    snprintf(name, sizeof name, "%.*s", (int)(equals - entry), entry);
    for (int id = 0; id < option_count; id++) {
        variable_of(&options[id], variable);
        if (options[id].scope == LINE || strcmp(variable, name) != 0)
            continue;
        if (!option_is_of(&options[id], settings->command))
            return UNROLL_OK;
        return settings_set(settings, id, equals + 1, SOURCE_ENVIRONMENT, variable);
    }
    return is_of_library(name + sizeof prefix - 1) ? UNROLL_OK : answer_unknown_variable(settings, name);
}

static unroll_status read_environment(struct settings *settings)
{
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, prefix, sizeof prefix - 1) == 0)
            TRY(read_variable(settings, *entry));
    return UNROLL_OK;
}

/* ---- all layers ---- */

static unroll_status read_run(struct settings *settings)
{
    char path[4096];
    const char *directory = text_of(settings, OPTION_RESUME);
    if (snprintf(path, sizeof path, "%s/config.json", directory) >= (int)sizeof path)
        return complain(UNROLL_USAGE, "--resume: the name is too long; fix: use a shorter name");
    return settings_read_json(settings, path, SOURCE_RUN);
}

static unroll_status fill_defaults(struct settings *settings)
{
    for (int id = 0; id < option_count; id++)
        if (option_is_of(&options[id], settings->command) && options[id].fallback &&
            !(options[id].by_task && settings->command == COMMAND_TRAIN))
            TRY(settings_set(settings, id, options[id].fallback, SOURCE_DEFAULT, options[id].name));
    return UNROLL_OK;
}

static bool is_among(const char *word, const char *words)
{
    size_t length = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

static bool has_any(const struct settings *settings, const char *names)
{
    for (int id = 0; id < option_count; id++) {
        const char *text = text_of(settings, (enum option_id)id), *fallback = options[id].fallback;
        if (is_among(options[id].name, names) && text && (fallback == NULL || strcmp(text, fallback) != 0))
            return true;
    }
    return false;
}

static unroll_status refuse_idle(const struct settings *settings, int id)
{
    const struct option *o = &options[id];
    const char *other = o->with_values ? text_of(settings, (enum option_id)o->with) : NULL;
    char needed[ALLOWED_LONGEST];
    if (o->needs && !has_any(settings, o->needs))
        return complain(UNROLL_USAGE, "--%s does nothing without --%.*s; fix: leave it out, or give both", o->name,
                        (int)strcspn(o->needs, " "), o->needs);
    if (!other || is_among(other, o->with_values))
        return UNROLL_OK;
    list_choices(o->with_values, needed, sizeof needed);
    return complain(UNROLL_USAGE, "--%s does nothing with --%s %s, only with %s; fix: leave it out, or change --%s",
                    o->name, options[o->with].name, other, needed, options[o->with].name);
}

/* Refuses options of the command line that would have no effect. Files and the environment may hold settings for
 * several commands. */
static unroll_status check_effects(const struct settings *settings)
{
    for (int id = 0; id < option_count; id++)
        if (settings->of[id].source == SOURCE_LINE)
            TRY(refuse_idle(settings, id));
    return UNROLL_OK;
}

/* Refuses a command without its positional arguments. */
static unroll_status check_positional(const struct settings *settings)
{
    int id = next_option(settings->command, true, 0);
    for (; id < option_count; id = next_option(settings->command, true, id + 1))
        if (options[id].scope != LINE)
            TRY(settings_need(settings, id));
    return UNROLL_OK;
}

unroll_status settings_load(struct settings *settings, enum command command, int count, char *const words[])
{
    field_names_for(command);
    struct line line = {.settings = settings, .count = count, .word = words};

    *settings = (struct settings){.command = command};
    TRY(read_line(&line));
    if (is_on(settings, OPTION_HELP))
        return UNROLL_OK;
    TRY(read_environment(settings));
    if (is_given(settings, OPTION_CONFIG))
        TRY(settings_read_json(settings, text_of(settings, OPTION_CONFIG), SOURCE_CONFIG));
    if (is_given(settings, OPTION_RESUME))
        TRY(read_run(settings));
    TRY(fill_defaults(settings));
    TRY(check_effects(settings));
    return check_positional(settings);
}
