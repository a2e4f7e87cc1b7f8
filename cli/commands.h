/* The subcommands of `unroll`: one line each; the enum, the dispatch, the help, the man page and the
 * completion come from this list. Each is a file cmd_*.c. Not the options: those are option_table.h. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H
#include "unroll.h"

/*      id, name, function, what it does (the sentence of the help) */
#define COMMANDS(COMMAND) \
    COMMAND(TRAIN, "train", cmd_train, "train a recurrent network on data") \
    COMMAND(LAUNCH, "launch", cmd_launch, "train on many ranks, and go on when some are lost or others come") \
    COMMAND(EVAL, "eval", cmd_eval, "evaluate a model on data, beside a naive answer") \
    COMMAND(PREDICT, "predict", cmd_predict, "answer data with a model, in the labels and units of its training") \
    COMMAND(SAMPLE, "sample", cmd_sample, "write text with a model") \
    COMMAND(STREAM, "stream", cmd_stream, "answer frames or text with a model as they come") \
    COMMAND(PLOT, "plot", cmd_plot, "draw the curves of runs, on the terminal or as a picture") \
    COMMAND(RUN, "run", cmd_run, "run a model over the sequences of a NumPy file") \
    COMMAND(IMPORT, "import", cmd_import, "read a model of another tool and compare it with what that tool computed") \
    COMMAND(EXPORT, "export", cmd_export, "write a model for another tool") \
    COMMAND(PLAN, "plan", cmd_plan, "print the operations, the cost and the memory of a training step") \
    COMMAND(INSPECT, "inspect", cmd_inspect, "print what data or a model file hold") \
    COMMAND(CHECK, "check", cmd_check, "compare the instruction sets and the gradients with the reference") \
    COMMAND(BENCH, "bench", cmd_bench, "measure how fast a network is, and what part of the machine's peak") \
    COMMAND(DEVICES, "devices", cmd_devices, "list what this machine can run on") \
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

/* COMMAND_MAN is for the build and is left out of lists for people. */
static inline int command_is_listed(int command) { return command != COMMAND_MAN; }

/* What the manual says; manual.c. */
void manual_overview(void);
void manual_help(enum command command);
void manual_roff(void);

/* A script that completes the command's words in a shell: "bash", "zsh" or "fish"; completion.c. */
void completion_print(const char *shell);

#endif
