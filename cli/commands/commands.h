/* The subcommands of `unroll`, one line each. The enum, the dispatch, the help, the manual page and the completion
 * are generated from this list. Each command is in a file cmd_*.c. Options are in option_table.h. */
#pragma once
#include "unroll.h"

/*      id, name, function, what it does (the sentence of the help) */
#define COMMANDS(COMMAND) \
    COMMAND(DEMO, "demo", cmd_demo, "forecast a series that is built in: train, predict and draw") \
    COMMAND(TRAIN, "train", cmd_train, "train a recurrent network on data") \
    COMMAND(LAUNCH, "launch", cmd_extension, "train on several ranks, and resume when ranks are lost or join") \
    COMMAND(EVAL, "eval", cmd_eval, "evaluate a model on data, compared with a naive baseline") \
    COMMAND(PREDICT, "predict", cmd_predict, "predict labels or values for new data") \
    COMMAND(SAMPLE, "sample", cmd_sample, "generate text with a model") \
    COMMAND(STREAM, "stream", cmd_stream, "run a model over frames or text as they arrive") \
    COMMAND(SERVE, "serve", cmd_extension, "serve models to other programs over HTTP and WebSocket") \
    COMMAND(PLOT, "plot", cmd_plot, "plot the curves of runs, on the terminal or as a picture") \
    COMMAND(RUN, "run", cmd_run, "run a model over the sequences of a NumPy file") \
    COMMAND(IMPORT, "import", cmd_import, "convert a model of another tool, and compare its outputs") \
    COMMAND(EXPORT, "export", cmd_export, "convert a model for another tool, to C or to hardware") \
    COMMAND(PLAN, "plan", cmd_plan, "print the operations, the cost and the memory of a training step") \
    COMMAND(INSPECT, "inspect", cmd_inspect, "show the contents of a data set or model file") \
    COMMAND(CHECK, "check", cmd_check, "check the instruction sets and the gradients") \
    COMMAND(BENCH, "bench", cmd_bench, "measure the speed of a network as a fraction of the machine's peak") \
    COMMAND(DEVICES, "devices", cmd_devices, "list the devices of this machine") \
    COMMAND(COMPLETION, "completion", cmd_completion, "print a completion script for a shell") \
    COMMAND(VERSION, "version", cmd_version, "print the version") \
    COMMAND(HELP, "help", cmd_help, "print the help of a command") \
    COMMAND(MAN, "man", cmd_man, "print the manual page (roff)")

#define COMMAND(id, name, function, does) COMMAND_##id,
enum command { COMMANDS(COMMAND) COMMAND_COUNT, COMMAND_NONE = COMMAND_COUNT };
#undef COMMAND

struct settings;

struct command_entry {
    const char *name, *does;
    unroll_status (*run)(struct settings *);
};

extern const struct command_entry commands[COMMAND_COUNT];

/* Reads the settings of a command from its words, without its name, and runs it. */
unroll_status command_run(enum command command, int count, char *const words[]);

/* A command of an extension; `run` is NULL if this build leaves the extension out. tools/extensions.sh writes them. */
struct extension_command {
    const char *name, *extension;
    unroll_status (*run)(struct settings *);
};
extern const struct extension_command extension_commands[]; /* ended by a NULL name */
extern const struct extension_command extension_words[];    /* values of options that need an omitted extension */
/* Runs a command of an extension by its name in the list above. `what` is what the user typed, for messages. */
unroll_status run_extension(const char *name, const char *what, struct settings *settings);
extern const char extensions_built[]; /* "cuda xla" */

/* COMMAND_MAN is for the build and is left out of lists for people. */
static inline int command_is_listed(int command) { return command != COMMAND_MAN; }

/* A command line that a user can type, and its effect; command_examples.c. */
enum { EXAMPLES_OF_EACH = 2 };
struct command_example {
    const char *line, *does;
};
extern const struct command_example command_examples[COMMAND_COUNT][EXAMPLES_OF_EACH];

/* Help and manual page; manual.c. */
void manual_overview(void);
/* Prints the help of a command: one group of its options, or all of them for "all". For NULL it prints the options
 * that most users need if the command has such a selection, otherwise all. */
void manual_help(enum command command, const char *group);
/* Fails, with a message, if `group` is neither "all" nor the name of a group of the command's options. */
unroll_status manual_check_group(enum command command, const char *group);
void manual_roff(void);

/* Prints a script that completes the command's words in "bash", "zsh" or "fish"; completion.c. */
void completion_print(const char *shell);
