/* The settings of one call of the command: each option's value and where it came from.
 * Highest first: command line, UNROLL_* environment, config file, saved run, default.
 * Not the meaning of an option: that is for the commands. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "commands.h"

enum option_kind { FLAG, INTEGER, NUMBER, SECONDS, BYTES, INTEGERS, NUMBER_OR_PATH, CHOICE, TEXT, PATH, DIRECTORY };

enum { INTEGERS_MAX = 5 }; /* of one option */

/* How far an option reaches. A saved run holds FIXED and FREE ones. */
enum option_scope {
    FIXED, /* decides the result: a resumed run must have the same */
    FREE,  /* a resumed run may have another */
    CALL,  /* of one call; not saved with a run */
    LINE,  /* of one call, and only on the command line */
};

struct option {
    const char *name;
    enum option_kind kind;
    enum option_scope scope;
    bool positional;      /* a word without a dash is its value */
    bool of_reader;       /* readers of data have it, under this name */
    bool of_task;         /* tasks do */
    char joins;           /* given again it does not replace what was given before: this comes between the two */
    bool repeats;         /* may be given several times: settings.words holds all values */
    bool takes_rest;      /* and all words behind the first one are values, options too */
    char letter;          /* of a short form, -o; 0: none */
    const char *argument; /* what its value is called */
    const char *unit;
    const char *fallback; /* the default as text; NULL: no value, or see derived */
    bool by_task;         /* of train: the task's default; the fallback is that of lm */
    const char *derived;  /* where a default comes from that is not a constant, in words */
    double min, max;      /* both allowed */
    const char *word;     /* of an INTEGER: stands for word_value, which need not be in the range */
    int64_t word_value;
    const char *suffix;      /* of an INTEGER: a number that ends so counts something else: setting.number, and .integer
                                is 0; k and M may stand before it */
    const char *choices;     /* one space between them */
    unsigned commands;       /* IN(TRAIN) | ... */
    unsigned main;           /* of these, the ones whose first screen of help has it, with its doc up to a semicolon */
    int with;                /* enum option_id: has an effect only where this CHOICE */
    const char *with_values; /* has one of these values; NULL: always */
    const char *needs;       /* .. only where one of these options has another value than its default; NULL: always */
    const char *group, *doc;
};

#define OPTION(id, ...) OPTION_##id,
enum option_id {
#include "option_table.h"
    OPTION_COUNT
};
#undef OPTION
#define IN(command) (1u << COMMAND_##command)

/* Behind the table's: the hyperparameters of the library's optimizers, the options of its tasks and readers, of each
 * name one. */
enum { OPTION_MAX = OPTION_COUNT + 64 };
extern const struct option *const options;
extern int option_count;

/* Fills in the choices and the options that the library knows: before anything else. */
void options_begin(void);

enum source { SOURCE_NONE, SOURCE_DEFAULT, SOURCE_RUN, SOURCE_CONFIG, SOURCE_ENVIRONMENT, SOURCE_LINE };

struct setting {
    enum source source;
    char *text;                 /* as it was given; NULL: no value */
    int64_t integer;            /* of INTEGER, and 0 or 1 of FLAG */
    int integers[INTEGERS_MAX]; /* of INTEGERS, as many as its argument names */
    double number;              /* of INTEGER, NUMBER, SECONDS, BYTES; NAN: a NUMBER_OR_PATH is a path */
};

struct settings {
    enum command command;
    const char *help_group; /* what follows --help: a group of options or "all"; NULL: nothing */
    struct setting of[OPTION_MAX];
    char **word; /* values of the option that repeats, in their order */
    int words;
};

/* Reads all layers for a command; words are what follows its name. Prints what is wrong. The settings
 * are to be freed in either case. */
unroll_status settings_load(struct settings *settings, enum command command, int count, char *const words[]);
void settings_free(struct settings *settings);

/* Gives one option a value. `where` is what messages call it: "--hidden", "UNROLL_HIDDEN". */
unroll_status settings_set(struct settings *settings, enum option_id id, const char *value, enum source source,
                           const char *where);
/* A value that the command worked out itself: it counts as a default. */
unroll_status settings_derive(struct settings *settings, enum option_id id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void settings_clear(struct settings *settings, enum option_id id);

/* A missing argument that the command can't do without. */
unroll_status settings_need(const struct settings *settings, enum option_id id);

/* Config files and saved runs; options_json.c. The object is the caller's. */
unroll_status settings_read_json(struct settings *settings, const char *path, enum source source);
json_t *settings_to_json(const struct settings *settings);
/* With a checksum, which settings_read_json compares. free() it; NULL: no memory. */
char *settings_to_text(const struct settings *settings);

/* A sentence of the library, with the fields that it names as options of the command at work (field_names.c); good
 * until this thread's next call. */
const char *as_options(const char *sentence);
void field_names_for(enum command command);

/* "rnn, lstm" from "rnn lstm". */
void list_choices(const char *choices, char *text, size_t size);

/* Of a command's options (COMMAND_NONE: of all) that are positional, or are not, the next from `id` on; option_count:
 * there is no more. */
int next_option(int command, bool positional, int id);

/* option_count: there is none of that name. */
int option_find(const char *name);
/* Is it, behind UNROLL_, of a variable that the library reads itself? */
bool is_of_library(const char *variable);
/* The name that an option or a choice has now, of one of before 0.1: runs keep their settings by name, and go on. */
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

#endif
