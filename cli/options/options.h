/* The settings of one command: the value of each option and its source. From highest to lowest: command line,
 * UNROLL_* environment, config file, saved run, default. The commands interpret the options. */
#pragma once
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/commands/commands.h"

enum option_kind { FLAG, INTEGER, NUMBER, SECONDS, BYTES, INTEGERS, NUMBER_OR_PATH, CHOICE, TEXT, PATH, DIRECTORY };

enum { INTEGERS_MAX = 5 }; /* of one option */

/* Where an option is saved. A saved run holds FIXED and FREE options. */
enum option_scope {
    FIXED, /* determines the result: a resumed run must have the same value */
    FREE,  /* a resumed run may have another value */
    CALL,  /* of one call; not saved with a run */
    LINE,  /* of one call, and only on the command line */
};

struct option {
    const char *name;
    enum option_kind kind;
    enum option_scope scope;
    bool positional;      /* its value is a word without a dash */
    bool of_reader;       /* also an option of readers of data, by this name */
    bool of_task;         /* also an option of tasks */
    char joins;           /* if it is given again, its values are joined with this character */
    bool repeats;         /* may be given several times; settings.word holds all values */
    bool takes_rest;      /* all words after the first one are values, including options */
    char letter;          /* of the short form, -o; 0: none */
    const char *argument; /* the name of its value */
    const char *unit;
    const char *fallback; /* the default as text; NULL: no value, or see derived */
    bool by_task;         /* train: the task's default; the fallback is that of lm */
    const char *derived;  /* describes a default that is not a constant */
    double min, max;      /* inclusive */
    const char *word;     /* INTEGER: a word for word_value, which may be out of range */
    int64_t word_value;
    const char *suffix;  /* INTEGER: a number with this suffix counts something else: setting.number, with integer 0; k
                            and M may precede it */
    const char *choices; /* separated by one space */
    unsigned commands;   /* IN(TRAIN) | ... */
    unsigned main;       /* the commands among these whose short help includes it, with its doc up to a semicolon */
    int with;            /* enum option_id: it has an effect only if this CHOICE */
    const char *with_values; /* has one of these values; NULL: always */
    const char *needs;       /* .. and only if one of these options differs from its default; NULL: always */
    const char *group, *doc;
};

#define OPTION(id, ...) OPTION_##id,
enum option_id {
#include "cli/options/option_table.h"
    OPTION_COUNT
};
#undef OPTION
#define IN(command) (1u << COMMAND_##command)

/* After the table's options: the hyperparameters of the library's optimizers and the options of its tasks and
 * readers, one per name. */
enum { OPTION_MAX = OPTION_COUNT + 64 };
extern const struct option *const options;
extern int option_count;

/* Adds the choices and options that the library defines. Call it first. */
void options_begin(void);

enum source { SOURCE_NONE, SOURCE_DEFAULT, SOURCE_RUN, SOURCE_CONFIG, SOURCE_ENVIRONMENT, SOURCE_LINE };

struct setting {
    enum source source;
    char *text;                 /* as given; NULL: no value */
    int64_t integer;            /* INTEGER; FLAG: 0 or 1 */
    int integers[INTEGERS_MAX]; /* INTEGERS, one for each name in the argument */
    double number;              /* INTEGER, NUMBER, SECONDS, BYTES; NAN: a NUMBER_OR_PATH is a path */
};

struct settings {
    enum command command;
    const char *help_group; /* the word after --help: a group of options or "all"; NULL: none */
    struct setting of[OPTION_MAX];
    char **word; /* values of the repeated option, in order */
    int words;
};

/* Reads all layers for a command; words are those after its name. Prints errors. The caller must free the settings
 * in either case. */
unroll_status settings_load(struct settings *settings, enum command command, int count, char *const words[]);
void settings_free(struct settings *settings);

/* Sets the value of an option. Messages call it `where`: "--hidden", "UNROLL_HIDDEN". */
unroll_status settings_set(struct settings *settings, enum option_id id, const char *value, enum source source,
                           const char *where);
/* Sets a value that the command has computed. It counts as a default. */
unroll_status settings_derive(struct settings *settings, enum option_id id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void settings_clear(struct settings *settings, enum option_id id);

/* Fails with a message if an argument that the command needs is missing. */
unroll_status settings_need(const struct settings *settings, enum option_id id);

/* Read and write config files and saved runs; options_json.c. The caller owns the object. */
unroll_status settings_read_json(struct settings *settings, const char *path, enum source source);
json_t *settings_to_json(const struct settings *settings);
/* Returns the settings as text with a checksum, which settings_read_json verifies. free() it; NULL: no memory. */
char *settings_to_text(const struct settings *settings);

/* Returns a message of the library with the fields it names replaced by options of the current command
 * (field_names.c). Valid until this thread's next call. */
const char *as_options(const char *sentence);
void field_names_for(enum command command);

/* Writes "rnn, lstm" for "rnn lstm". */
void list_choices(const char *choices, char *text, size_t size);

/* Returns the next option of a command (COMMAND_NONE: of any) from `id` on that is positional, or is not;
 * option_count if there is none. */
int next_option(int command, bool positional, int id);

/* Returns the option of that name, or option_count if there is none. */
int option_find(const char *name);
/* Returns whether the library itself reads the variable UNROLL_`variable`. */
bool is_of_library(const char *variable);
/* Returns the current name of an option or choice that was renamed in 0.1, because saved runs store settings by
 * name. */
const char *name_now(const char *name);
static inline bool option_is_of(const struct option *option, enum command command)
{
    return option->commands >> command & 1;
}

static inline bool option_counts(const struct option *option)
{
    return option->kind >= INTEGER && option->kind <= NUMBER_OR_PATH;
}

static inline bool is_given(const struct settings *s, enum option_id id) { return s->of[id].text != NULL; }
static inline bool is_on(const struct settings *s, enum option_id id) { return s->of[id].integer != 0; }
static inline const char *text_of(const struct settings *s, enum option_id id) { return s->of[id].text; }
static inline int64_t integer_of(const struct settings *s, enum option_id id) { return s->of[id].integer; }
static inline const int *integers_of(const struct settings *s, enum option_id id) { return s->of[id].integers; }
static inline double number_of(const struct settings *s, enum option_id id) { return s->of[id].number; }
