/* unroll_train.h: sessions (a model on a device, ready to run and to train), data sets, training, evaluation.
 *
 *     unroll_dataset *data;
 *     unroll_model *model;
 *     unroll_trainer *trainer;
 *     unroll_progress progress = { .size = sizeof progress };
 *     unroll_spec spec = unroll_spec_default();
 *     unroll_train_config config = unroll_train_default();
 *     if (unroll_data_open("book.txt", NULL, &data) != UNROLL_OK)
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     if (unroll_task_network("lm", NULL, data, &spec, NULL) != UNROLL_OK ||    // one input and output a character
 *         unroll_model_new(&spec, 1, &model) != UNROLL_OK ||
 *         unroll_trainer_new(model, data, &config, &trainer) != UNROLL_OK)
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     while (progress.step < 40 && unroll_trainer_step(trainer, &progress) == UNROLL_OK)
 *         if (progress.step % 20 == 0)
 *             printf("step %d: %.2f nats\n", (int)progress.step, progress.loss);
 */
#ifndef UNROLL_TRAIN_H
#define UNROLL_TRAIN_H
#include "unroll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sessions: a model ready to run on a device ---------------------------------------- */

typedef enum unroll_mode {
    UNROLL_INFER, /* outputs */
    UNROLL_EVAL,  /* loss */
    UNROLL_TRAIN, /* loss, gradients, update */
    UNROLL_MODULE /* outputs, then gradients from the outputs' gradient, which the caller writes: any loss */
} unroll_mode;

typedef struct unroll_session unroll_session;

/* Begin with unroll_session_default(). Results do not depend on threads, queues, chunks and checkpoints: not by a
 * bit. */
typedef struct unroll_session_config {
    size_t size; /* sizeof(unroll_session_config) */
    unroll_mode mode;
    int steps, rows;       /* T and B of every batch */
    int lengths;           /* 1: batches come with the length of each row, 0 .. steps */
    int resets;            /* 1: batches say where rows start anew */
    int results;           /* 1: eval: what the last layer gives is kept for unroll_read, on devices that would not */
    int stateful;          /* 1: a run starts from the states the last one left */
    int input_gradient;    /* 1: the gradient of float inputs is wanted */
    int no_dropout;        /* 1: train, modules: nothing is dropped; infer and eval never drop */
    int updates;           /* 1: a module trains: unroll_update takes the sum of what backwards made since the last */
    const char *optimizer; /* a name of unroll_optimizer_name: of what trains */
    uint64_t seed;         /* of dropout masks */
    /* Train, loss "xent", as PyTorch's CrossEntropyLoss(weight, label_smoothing): with e and weights w a row's loss is
     * (1 - e) w[class] of -log p[class] and e / classes w[c] of each -log p[c], and the row weighs w[class]. */
    float label_smoothing;      /* e, 0 <= e < 1 */
    const float *class_weights; /* [output], 0 or more; copied. NULL: 1 of each */
    int shards;                 /* of the batch, whose gradients are summed in a tree; exact says it, too */
    int profile;                /* 1: the time of each operation is taken, for unroll_session_operation */
    unroll_session *beside;     /* train: a session that trains the model with batches of another shape, and outlives
                                   this one. Both go on from the same gradients, optimizer states and counters,
                                   whichever of them ran last; NULL: this one trains alone */
    unroll_machine machine;
} unroll_session_config;

UNROLL_API unroll_session_config unroll_session_default(void); /* infer, 1 step, 1 row, adam */

/* All memory is taken here: no later call allocates. Sessions of one model on one device share its
 * weights: what one trains the others use. The model must outlive the session. */
UNROLL_API unroll_status unroll_session_new(unroll_model *model, const unroll_session_config *config,
                                            unroll_session **session);
UNROLL_API void unroll_session_free(unroll_session *session);

/* Arrays of one batch, all time-major and owned by the caller; those that the model or the session does
 * not use are NULL. Where t >= lengths[b] their contents do not matter. Targets of a network with a pool are [B] or
 * [B, ..]: one for each sequence, and those of length 0 don't count. */
typedef struct unroll_batch {
    size_t size;                /* begin with { .size = sizeof(unroll_batch) }; the rest is 0 */
    const int32_t *tokens;      /* [T, B] token ids, of a model with columns [T, B, token columns] */
    const float *inputs;        /* [T, B, input], of a model with columns [T, B, numbers] */
    const int32_t *targets;     /* [T, B] targets of cross-entropy, -1: not counted */
    const float *target_values; /* [T, B, unroll_model_targets] of the losses of numbers, NaN: not counted */
    const int32_t *lengths;     /* [B] */
    const uint8_t *reset;       /* [T, B] 1: the states before this step are zero */
} unroll_batch;

/* Checks the batch (numbers in range, no NaN or infinity in inputs, no infinity in targets) before anything changes.
 * NULL: the batch of the forward before, which lies on the device. */
UNROLL_API unroll_status unroll_forward(unroll_session *session, const unroll_batch *batch);
/* After a forward; adds to the gradients, so that several batches may share one update. Those of a module without
 * updates are this backward's alone. */
UNROLL_API unroll_status unroll_backward(unroll_session *session);

/* What an optimizer can be told besides the learning rate: "beta1" of "adam". The index-th; NULL after the last. */
typedef struct unroll_hyperparameter {
    const char *name, *about;
    double standard, min, max; /* the default; both limits are allowed */
} unroll_hyperparameter;

UNROLL_API const unroll_hyperparameter *unroll_optimizer_hyperparameter(const char *optimizer, int index);

/* Begin with unroll_hyperparameters_default(). */
enum { UNROLL_HYPERPARAMETERS = 10 }; /* of an optimizer, at most */
typedef struct unroll_hyperparameters {
    size_t size;           /* sizeof(unroll_hyperparameters) */
    const char *optimizer; /* whose; NULL: there is none of that name */
    double learning_rate;
    double clip;                                   /* limit of the norm of the mean gradient; 0: none */
    double hyperparameter[UNROLL_HYPERPARAMETERS]; /* in their order; unroll_hyperparameters_set knows their names */
} unroll_hyperparameters;

UNROLL_API unroll_hyperparameters unroll_hyperparameters_default(const char *optimizer);
UNROLL_API unroll_status unroll_hyperparameters_set(unroll_hyperparameters *rates, const char *name, double value);

/* What a step found. The update is left out, and the gradients dropped, when the norm is not finite;
 * the status is then UNROLL_DIVERGED. */
typedef struct unroll_result {
    size_t size;   /* begin with { .size = sizeof(unroll_result) } */
    double loss;   /* mean over what was counted */
    double weight; /* how much was counted: rows; a row of n target values of which c are numbers as c / n, one of a
                      class with class_weights as its class's */
    double norm;   /* of the mean gradient, before clipping; of an update only */
} unroll_result;

/* The mean loss of all forwards since a result was last given; after unroll_step the norm of the last step, too. */
UNROLL_API unroll_status unroll_loss_result(unroll_session *session, unroll_result *result);
/* result NULL: later, by unroll_loss_result. Of a module the gradient is the sum as it stands, not divided by a number
 * of rows; its loss is 0, its weight 1. */
UNROLL_API unroll_status unroll_update(unroll_session *session, const unroll_hyperparameters *rates,
                                       unroll_result *result);
/* Forward, backward and update of one batch: the last, if others went before it without an update. Ranks add up
 * gradients while backward makes the next ones (apart, unroll_update adds them up). On devices that run a step as one
 * program nothing is waited for if result is NULL: unroll_loss_result then gives the mean since the last result, and
 * finds a step that diverged. */
UNROLL_API unroll_status unroll_step(unroll_session *session, const unroll_batch *batch,
                                     const unroll_hyperparameters *rates, unroll_result *result);

/* Reads or writes a buffer of the session's plan by name, as floats, whatever the session computes in:
 * "z" [T, B, output], with a pool [B, output]; "y.l1" [T, B, directions x width] of a model without head; initial
 * states "h0.l0", "s0.l0", "h0.l0.reverse"; final states "hn.l0", "sn.l0"; of modules "d.y.l1" or "d.z" (write),
 * "d.hn.l0" (write), "d.x", "d.h0.l0" (read); gradients "d.rnn.weight_ih_l0" (of a tied embedding "d2.embedding.weight"
 * holds the head's part until the update). Weights may be written too. count must be the buffer's, or that of the first
 * steps of an array over time. Initial states that are NaN or infinite are refused, as inputs are. */
UNROLL_API unroll_status unroll_read(unroll_session *session, const char *name, float *to, size_t count);
UNROLL_API unroll_status unroll_write(unroll_session *session, const char *name, const float *from, size_t count);
/* How many elements a buffer has; 0: there is none of that name. */
UNROLL_API size_t unroll_count(const unroll_session *session, const char *name);
enum { UNROLL_AXES = 4 };
/* The sizes of a buffer's axes; gives how many it has, 0: there is none of that name. States are [B, width], also the
 * lstm's "s0" and "sn"; gradients have the parameter's shape, behind the batch's shards where there are several. */
UNROLL_API int unroll_shape(const unroll_session *session, const char *name, int shape[UNROLL_AXES]);
UNROLL_API unroll_status unroll_clear_states(unroll_session *session); /* all rows start from zero states */

/* Weights live on the device while sessions exist: brings them back into the model's own memory. So does the end of a
 * session after sessions changed them, but of one of several ranks. */
UNROLL_API unroll_status unroll_session_pull(unroll_session *session);
/* And from the model's memory to the device. */
UNROLL_API unroll_status unroll_session_push(unroll_session *session);

/* Weights that something else trains: weights[i] is an array of parameter i of the model, in its shape; NULL: that
 * one stays. Only if one has other bits than before are copies packed anew. They reach all sessions of the model,
 * and its own memory when they are pulled. Between a forward and its backward they should not change. */
UNROLL_API unroll_status unroll_session_set_weights(unroll_session *session, const float *const *weights);
/* Of a module without updates after a backward: what that backward made of each parameter, NULL: not wanted. The next
 * backward of any module of the model overwrites it. */
UNROLL_API unroll_status unroll_session_gradients(unroll_session *session, float *const *gradients);

/* Forwards and updates so far: dropout masks and optimizers count by them, so a checkpoint keeps them. */
UNROLL_API void unroll_session_counters(const unroll_session *session, int64_t *forwards, int64_t *updates);
UNROLL_API void unroll_session_set_counters(unroll_session *session, int64_t forwards, int64_t updates);
/* What losses are multiplied with in training with fp16, and the updates since that changed: a checkpoint keeps them,
 * too. Without a scale both are 0, and nothing is set. */
UNROLL_API void unroll_session_loss_scale(const unroll_session *session, double *scale, int64_t *updates);
UNROLL_API void unroll_session_set_loss_scale(unroll_session *session, double scale, int64_t updates);

/* Bytes that the session takes beside the weights' own, and what its plan predicted. */
UNROLL_API uint64_t unroll_session_bytes(const unroll_session *session);
UNROLL_API uint64_t unroll_session_memory_estimate(const unroll_session *session);
UNROLL_API const char *unroll_session_isa(const unroll_session *session);
UNROLL_API int unroll_session_threads(const unroll_session *session);

/* What the session's time went into: one operation of its plan. */
typedef struct unroll_operation {
    char name[80];       /* as unroll_plan_print has it: "rnn g.l0" */
    double min, seconds; /* of its fastest run and of all, to the end of the last thread of its queue */
    double flops;        /* of a run, as planned: all steps of all rows */
    long runs;
} unroll_operation;

/* The index-th in the plan's order; 0: there is none, or the session was made without `profile`. */
UNROLL_API int unroll_session_operation(const unroll_session *session, int index, unroll_operation *operation);

/* Seconds from the beginning of the first run since the last call to the end of the last one, by the clock of the
 * device (of GPUs events, as other programs take them): what the host does between runs counts, as the device waits for
 * it. The first call begins it, and gives 0, as calls without a run do. Waits. Refused where a device has no such
 * clock. */
UNROLL_API unroll_status unroll_session_span(unroll_session *session, double *seconds);

/* How often ranks on a list of devices were divided anew since the first session of their model was made, because one
 * had become slower or faster. part[room]: of an update's FLOPs, what each of *ranks has now; ranks 0: there is no
 * list, or each process is one rank (unroll_trainer_divided knows those). */
UNROLL_API int unroll_session_divided(const unroll_session *session, double *part, int room, int *ranks);

/* What pieces of time met so far in a session, of all its recurrences together. */
typedef struct unroll_pieces {
    size_t size;      /* begin with { .size = sizeof(unroll_pieces) } */
    int pieces;       /* of the session: 1, or as many as were asked for or chosen */
    int recurrences;  /* that run in pieces: a layer has one or two, a training as many backward */
    int in_order;     /* of them, that went back to one piece: repairs took longer than a piece in several runs */
    int64_t runs;     /* in pieces */
    int64_t rounds;   /* of repairs: each piece once more, from the state that the one before it left */
    int64_t repaired; /* steps that ran again, of the slowest piece of each round */
} unroll_pieces;

UNROLL_API unroll_status unroll_session_pieces(const unroll_session *session, unroll_pieces *pieces);

/* ---- data sets ------------------------------------------------------------------------- */

/* Sequences of steps with named columns of tokens or numbers, read from a file. A text has one column of tokens, a
 * character or a word each. */
typedef struct unroll_dataset unroll_dataset;

/* The readers of files, in the order in which they are asked whether a file is theirs. What is not NULL is set: a few
 * words. NULL ends. */
UNROLL_API const char *unroll_reader_name(int index, const char **about);

/* What a reader of data or a task can be told: "header" of "csv", "horizon" of "forecast". */
typedef struct unroll_option {
    const char *name, *about;
    const char *choices; /* names with a space between: the value is one; NULL: .. */
    int is_text;         /* .. it is a text without a comma; or .. */
    double min, max;     /* .. a number, whole if both of these are */
} unroll_option;

/* The index-th option of a reader. 1: *option is set; 0: there is no more, or no reader of that name. */
UNROLL_API int unroll_reader_option(const char *reader, int index, unroll_option *option);

/* Begin with unroll_data_default(). */
typedef struct unroll_dataset_config {
    size_t size;               /* sizeof(unroll_dataset_config) */
    const char *reader;        /* a name of unroll_reader_name; NULL: found from the file */
    const char *options;       /* "key=value,key=value": the reader's own and, of all, tokens=chars|words|blanks|sets,
                                  vocab=N, columns=NAME=TYPE;NAME=TYPE (number, category, time, set, text, ignore),
                                  group=COLUMN, time=COLUMN (docs/guide/data.md); NULL: as they are without */
    const unroll_model *model; /* the data are read as this model reads: with its vocabulary; NULL: it is found */
} unroll_dataset_config;

UNROLL_API unroll_dataset_config unroll_data_default(void);

/* path "-": standard input. config NULL: the default. What a text holds and the model's vocabulary does not is an error
 * that names it, its line and column; of words it is "<unk>".
 * Characters are numbered in the order of their code points. The words of a text, one after the other, are the text
 * again: a word is, with the one space before it if there is one, a run of letters, digits and the like (don't,
 * well-known, 3.14 are one), a run of punctuation marks, or a line end; other white space is a word by itself. They are
 * "<unk>", which stands for all others, then the most frequent, of equals the one with the smaller code points. */
UNROLL_API unroll_status unroll_data_open(const char *path, const unroll_dataset_config *config,
                                          unroll_dataset **dataset);
UNROLL_API void unroll_data_free(unroll_dataset *dataset);
/* How many tokens the first column of tokens has, one for each step; 0: there is no such column. Of those from `first`
 * on at most `count` are written to `tokens`, which is the caller's; count 0: none. */
UNROLL_API size_t unroll_data_tokens(const unroll_dataset *dataset, size_t first, size_t count, int32_t *tokens);
/* What their numbers stand for; the array belongs to the data set. NULL: there is none. */
UNROLL_API const char *const *unroll_data_vocabulary(const unroll_dataset *dataset, int *size);

/* ---- data of one's own ---- */

/* What a cell is handed as. */
typedef enum unroll_cell {
    UNROLL_CELL_TEXT,   /* anything: a number, a time, a category, a text, a set "a|b": found by content, or said by the
                           option `columns` */
    UNROLL_CELL_TOKENS, /* a text, which is cut into tokens; may be handed over piece by piece */
    UNROLL_CELL_LABEL,  /* a category */
    UNROLL_CELL_WORD,   /* a category of each step */
    UNROLL_CELL_SET,    /* several of a vocabulary: "a|b", or a call for each */
    UNROLL_CELL_NUMBERS
} unroll_cell;

/* What rows are handed to; it is alive as long as the function that gets it runs. Strings and numbers are copied. */
typedef struct unroll_builder unroll_builder;

/* Columns come first, in the same order in each run. name: at most 63 bytes of UTF-8. of_example 1: where rows are
 * examples, one entry for each; 0: as many as the example has steps. width: of numbers, >= 1. *column: its number. */
UNROLL_API unroll_status unroll_builder_column(unroll_builder *builder, const char *name, unroll_cell cell,
                                               int of_example, int width, int *column);
/* A cell of the current row, `length` bytes of UTF-8; of words and sets one more of them. */
UNROLL_API unroll_status unroll_builder_text(unroll_builder *builder, int column, const char *bytes, size_t length);
/* [entries, width] numbers: so many more steps of the current row, of one entry a row 1; NAN: missing. */
UNROLL_API unroll_status unroll_builder_numbers(unroll_builder *builder, int column, const float *numbers,
                                                size_t entries);
/* A cell that no call has named is missing. */
UNROLL_API unroll_status unroll_builder_end_row(unroll_builder *builder);
/* Where rows are steps: the next begins another sequence. */
UNROLL_API unroll_status unroll_builder_end_sequence(unroll_builder *builder);

/* Hands all rows over. It is called two or three times (types are found, then vocabularies, then arrays filled) and
 * must do the same each time. What a call of the builder refused it returns; what is not UNROLL_OK ends the making. */
typedef unroll_status unroll_rows(void *arg, unroll_builder *builder);

/* A data set of rows that a function hands over. rows_are_steps 1: each is a step of a series; 0: each is an example;
 * UNROLL_AUTO: with texts or several entries in a row they are examples, else steps. config as in unroll_data_open;
 * its reader does not count. */
UNROLL_API unroll_status unroll_data_callback(unroll_rows *rows, void *arg, int rows_are_steps,
                                              const unroll_dataset_config *config, unroll_dataset **dataset);

/* A column whose entries lie in an array, numbers or strings. */
typedef struct unroll_array {
    size_t size; /* sizeof(unroll_array) */
    const char *name;
    unroll_cell cell;           /* of strings */
    int of_example;             /* 1: an entry for each example; 0: one for each step */
    const float *numbers;       /* [entries, width], or NULL: */
    int width;                  /* >= 1 */
    const char *const *strings; /* [entries] of UTF-8, each ended by zero; NULL in it: missing */
} unroll_array;

/* A data set of arrays, which are copied. lengths: [examples] steps of each; NULL: all steps are one series of so many
 * (`examples`). A text (UNROLL_CELL_TOKENS) is one string of an example and makes its steps: lengths are then 0 or as
 * many as its tokens. */
UNROLL_API unroll_status unroll_data_from_arrays(const unroll_array *arrays, int count, const int64_t *lengths,
                                                 int64_t examples, const unroll_dataset_config *config,
                                                 unroll_dataset **dataset);

/* What it is, as the text of a JSON object: "rows" ("steps" or "examples"), "sequences", "steps", "lengths", "group",
 * "time", "columns" (each with "name", "type", "of", "missing" and ranges or the most frequent entries), "notes",
 * "first" rows. The caller gives *json to free(). */
UNROLL_API unroll_status unroll_data_describe(const unroll_dataset *dataset, char **json);
/* What was decided about the data that you may want otherwise: a sentence a line, "" if there is none. Fields of
 * configs stand in backquotes. It belongs to the data set. */
UNROLL_API const char *unroll_data_notes(const unroll_dataset *dataset);

/* ---- tasks ------------------------------------------------------------------------------ */

/* What can be learned from data: "lm", predict the next token. What is not NULL is set: a few words. NULL ends. */
UNROLL_API const char *unroll_task_name(int index, const char **about);
/* The index-th option of a task; as unroll_reader_option. */
UNROLL_API int unroll_task_option(const char *task, int index, unroll_option *option);
/* The task that suits the data best, and of what it is seen: "text in 'text'", good until this thread's next call.
 * NULL: none does. */
UNROLL_API const char *unroll_task_suggest(const unroll_dataset *dataset, const char **why);

/* How a task is trained if nobody says otherwise. Begin with unroll_task_defaults_default(), which suits a text. */
typedef struct unroll_task_defaults {
    size_t size;          /* sizeof(unroll_task_defaults) */
    int batch, bptt;      /* as in unroll_train_config */
    double epochs;        /* passes through the training part, at most */
    double learning_rate; /* of adam */
    int64_t warmup;       /* steps */
    const char *schedule; /* a name of unroll_schedule_name */
    double validation;    /* share that is validated on; 0 of data that are too few to hold some out */
    int patience;         /* epochs without a better validation after which training ends; 0: none ends it */
    char note[200];       /* a sentence on what the user may want otherwise; "" */
    char unused[64];      /* fields of unroll_train_config without effect on this task, each followed by a blank; "" */
} unroll_task_defaults;

UNROLL_API unroll_task_defaults unroll_task_defaults_default(void);
/* A spec that leaves all to the task: cell NULL; layers, hidden, bidirectional, embed and dropout UNROLL_AUTO. With
 * bidirectional 0 the network streams: each answer depends on the steps so far alone. */
UNROLL_API unroll_spec unroll_spec_auto(void);
/* Sets in a spec what the data and the task decide, tokens, input, output, loss, and what is left to the task; and in
 * `defaults`, if not NULL, how it is trained. Task NULL: the one that suits the data best. Options: the task's own,
 * "key=value,key=value"; NULL: none. */
UNROLL_API unroll_status unroll_task_network(const char *task, const char *options, const unroll_dataset *dataset,
                                             unroll_spec *spec, unroll_task_defaults *defaults);
/* The model keeps the task, and what it must know to read such data again and to answer (vocabularies, scales): so does
 * its file. A trainer does it, of the part of the data that it trains on; this is of all data, for trainings by hand.
 */
UNROLL_API unroll_status unroll_model_set_schema(unroll_model *model, const char *task, const char *options,
                                                 const unroll_dataset *dataset);

/* The scales that the model's schema keeps become a part of its weights, for what knows no schema (streams, exports):
 * inputs are numbers as the data have them, answers of a regression in the target's unit, to the last bits of a float.
 * Of the task forecast or anomaly the model is one of a series from then on, and keeps no schema: its step reads the
 * numbers of a period, [masks,] those of the other columns (docs/guide/tasks.md), and answers what comes then. series:
 * which, "load", of groups "north" or "north:load"; NULL: the only one. Without scales nothing changes. UNROLL_USAGE
 * while the model has sessions, and without the series where there are several. */
UNROLL_API unroll_status unroll_model_in_units(unroll_model *model, const char *series);

/* The first weights of a model are another's (fine-tuning): parameters of the same name and shape, and what belongs to
 * tokens by what these are; all else stays as it is, a head of other width say. report gets a line or two about it; or
 * NULL. Refused where nothing fits. */
UNROLL_API unroll_status unroll_model_transfer(unroll_model *model, const unroll_model *from,
                                               void (*report)(void *arg, const char *line), void *arg);

/* What was measured, by names that the task gives: "{before}{value with so many digits}{after}". */
typedef struct unroll_metric {
    const char *name, *before, *after; /* "perplexity", "perplexity ", "" */
    int digits;                        /* 0: it is a count */
    double value;                      /* NAN: not known */
} unroll_metric;

enum { UNROLL_METRICS_MAX = 12 };

typedef struct unroll_evaluation {
    double loss;           /* the mean over what was counted; NAN: stopped early */
    double floor;          /* what a naive answer has in the place of the first metric .. */
    const char *naive;     /* .. and which: "unigrams", always with the frequencies of the data */
    int metrics, compared; /* how many; the one that people compare .. */
    int higher;            /* .. 1: the higher, the better */
    int64_t examples;      /* what was counted: tokens, sequences, steps */
    unroll_metric metric[UNROLL_METRICS_MAX];
} unroll_evaluation;

/* ---- sequences divided among ranks ----------------------------------------------------- */

/* Which sequence of a data set is which row of which batch of an epoch. Rows of a batch are divided among `replicas`,
 * the ranks along batch; with `exact` its V, so that ranks don't show. Begin with unroll_sampler_default(). */
typedef struct unroll_sampler {
    size_t size;     /* sizeof(unroll_sampler) */
    const char *how; /* "shuffle", "even": in random order; "length": sequences of a batch are about as long, and its
                        parts have about as many steps; "stratified": parts have about as many of each
                        class; "column": a class is on one part alone; "part": classes are the parts */
    int64_t count;   /* sequences */
    const int32_t *lengths; /* [count], or NULL */
    const int32_t *classes; /* [count], or NULL */
    int rows, replicas;     /* of a batch */
    uint64_t seed;
    int64_t epoch; /* each has an order of its own */
} unroll_sampler;

UNROLL_API unroll_sampler unroll_sampler_default(void);
/* The same for all ranks: they end an epoch together. */
UNROLL_API int64_t unroll_sampler_batches(const unroll_sampler *sampler);
/* order: [batches, rows]: numbers of sequences, each once; -1: an empty row, of length 0, which weighs nothing. */
UNROLL_API unroll_status unroll_sampler_order(const unroll_sampler *sampler, int64_t *order);

/* ---- training --------------------------------------------------------------------------- */

/* The schedules of learning rates by name; NULL after the last. What is not NULL is set: a few words about it, and
 * whether it counts on the length of the run. */
UNROLL_API const char *unroll_schedule_name(int index, const char **about, int *has_length);

/* How workers go together, by name; NULL after the last. about: NULL, or set. */
UNROLL_API const char *unroll_sync_name(int index, const char **about);
UNROLL_API const char *unroll_compressor_name(int index, const char **about);

/* What is measured and not trained on: another data set, or a part of the data, of which the task says which it is: a
 * count the last sequences (of a text or a series the last steps), the test's behind the validation's; a share the last
 * part of each series, otherwise drawn, stratified by class. What comes first counts; all 0: nothing. */
typedef struct unroll_held_out {
    const unroll_dataset *data; /* read as the data are: opened with the model; outlives the trainer */
    int64_t count;
    double share; /* 0 .. 0.5 */
} unroll_held_out;

/* Begin with unroll_train_default(). */
typedef struct unroll_train_config {
    size_t size;                /* sizeof(unroll_train_config) */
    const char *task;           /* a name of unroll_task_name; NULL: the model's, or what suits the data */
    const char *task_options;   /* its own, as in unroll_task_network; NULL: none */
    int batch;                  /* rows; lm: the text is cut into so many pieces that run at the same time */
    int64_t batch_tokens;       /* of tasks that read examples: steps of a batch in the place of rows; 0: rows */
    int bptt;                   /* steps between updates; 0: lm: the whole piece, one update an epoch */
    int accumulate;             /* batches whose gradients make one update, as those of a batch with all their rows: the
                                   mean over all that counts, but for rounding, also with exact, because they are added
                                   one after the other. Updates are counted; none goes beyond an epoch's end. */
    float label_smoothing;      /* of losses of classes: see unroll_session_config */
    const float *class_weights; /* likewise, [output]; copied. NULL: balanced_classes says which */
    int balanced_classes;       /* 1: counted / (classes x those of a class) in the training part, 0: 1 of each */
    int stateful;               /* 1: a row's states go on from update to update; 0: from zero each time */
    unroll_hyperparameters rates; /* of an optimizer, which they name */
    const char *schedule;         /* of the learning rate: a name of unroll_schedule_name */
    int64_t warmup;               /* steps of linear rise of the learning rate */
    int64_t total_steps;          /* what schedules count on */
    unroll_held_out validation, test;
    const char *augment; /* changes of the examples that are trained on, anew in each epoch, of tasks that read
                            examples: "noise=0.1,shift=4,mask=8": standard deviations of the numbers, steps, steps in a
                            row; NULL: none */
    const char *sync; /* what workers (machine.workers) tell each other: a name of unroll_sync_name, with its argument
                         and options: "every" or NULL: gradients in each update; "local:32,rate=0.7,momentum=0.9".
                         Validations, and the weights of checkpoints, are of the workers' mean */
    const char *divide_by; /* how ranks share sequences that are trained on: "even", NULL too; "length": about as many
                              steps each, "stratified": about as many of each label; or a column of categories, each of
                              whose values one rank alone reads */
    const char *compress;  /* how: a name of unroll_compressor_name with its argument, "topk:0.01"; what codes lack is
                              added to the next ones. "none" or NULL: as it is */
    const char *arrivals;  /* of "gossip", "server:S": what came when is written to PATH.RANK; NULL: nowhere */
    const char *replay;    /* such a PATH: it comes in that order again, to the same bits; NULL: as it comes */
    int prefetch; /* batches that a thread fills ahead, 1: some; UNROLL_AUTO: if that takes a noticeable part of the
                     time; 0: none. No bit depends on it. */
    uint64_t seed;
    unroll_machine machine;  /* memory: of all its sessions; rows of `batch` are divided among ranks */
    int log_interval;        /* steps between two readings of the loss; 0: 1 on the cpu, else 10, because reading
                              waits for the device */
    int new_hyperparameters; /* 1: a checkpoint of other rates, warmup or another schedule may be loaded */
    int checks_gradients;    /* 1: memory for unroll_trainer_check_next is taken: weights, gradients and activations of
                                another rank */
    int balance; /* 1: rows of the batch and layers are divided anew while ranks train, when one has become slower or
                    faster than it was: of ranks that divide nothing else, without exact. The bits then depend on the
                    clock. */
} unroll_train_config;

UNROLL_API unroll_train_config unroll_train_default(void);

typedef struct unroll_trainer unroll_trainer;

/* The largest power of two up to `max` that is a `batch` whose training fits into the memory, with at least 16 updates
 * an epoch; else 1. */
UNROLL_API unroll_status unroll_trainer_batch(unroll_model *model, const unroll_dataset *dataset,
                                              const unroll_train_config *config, int max, int *batch);
/* The model must read and answer what the data have (unroll_task_network). All outlive the trainer. */
UNROLL_API unroll_status unroll_trainer_new(unroll_model *model, const unroll_dataset *dataset,
                                            const unroll_train_config *config, unroll_trainer **trainer);
UNROLL_API void unroll_trainer_free(unroll_trainer *trainer);

typedef struct unroll_progress {
    size_t size;  /* begin with { .size = sizeof(unroll_progress) } */
    int64_t step; /* updates done */
    double epoch; /* passes through the training part, with fraction */
    double loss;  /* mean of the steps up to the last synchronization */
    int synced;   /* how many steps that mean is of if this step synchronized with the device, else 0 */
    double norm, learning_rate;
    int64_t items, steps_per_epoch; /* characters, words or steps of sequences trained on so far */
    const char *item;               /* what they are, in short: "char" */
    double best_validation;         /* the loss of the best validation, by the metric that people compare, of equals
                                       the lowest loss; infinite before the first */
    double best_metric;             /* that metric then; NAN: not known */
    int64_t best_step, since_best;  /* updates done then, 0: not known; validations since, which patience counts */
    int met;                        /* 1: all ranks have made this step; 0: workers that update by themselves may be at
                                       others */
    double waited;                  /* the part of the time of steps that went into waiting for data, 0 .. 1 */
} unroll_progress;

UNROLL_API unroll_status unroll_trainer_step(unroll_trainer *trainer, unroll_progress *progress);
/* Where it stands, also after a validation or the loading of a checkpoint, which knows no loss and no norm: 0. */
UNROLL_API unroll_status unroll_trainer_progress(const unroll_trainer *trainer, unroll_progress *progress);
/* Schedules count on another number of steps from now on: for runs that end by the clock. */
UNROLL_API void unroll_trainer_set_total_steps(unroll_trainer *trainer, int64_t total_steps);
/* Workers that wait for nobody meet at this step, where all then do something together, a validation say: who is behind
 * skips what it missed. Called after each meeting, with a later step, on all ranks alike. */
UNROLL_API void unroll_trainer_meet_at(unroll_trainer *trainer, int64_t step);
/* Over the validation part or data, read from the beginning with carried state. */
UNROLL_API unroll_status unroll_trainer_validate(unroll_trainer *trainer, unroll_evaluation *found);
/* The same, which ends early where goes_on(data), asked after each batch, says no: the loss is then NaN, and the
 * schedule has heard nothing. On several ranks all must say the same. */
UNROLL_API unroll_status unroll_trainer_validate_while(unroll_trainer *trainer, int (*goes_on)(void *data), void *data,
                                                       unroll_evaluation *found);
/* Of the test part, with the weights as they are: after unroll_trainer_load of the best checkpoint those that are kept.
 * *details, if not NULL: what the task tells beside the metrics, one JSON object to be freed by the caller; NULL:
 * nothing. */
UNROLL_API unroll_status unroll_trainer_test(unroll_trainer *trainer, unroll_evaluation *found, char **details);
/* The same details, of the best validation that this trainer has made; NULL: none. The trainer's own. */
UNROLL_API const char *unroll_trainer_details(const unroll_trainer *trainer);
/* A mean loss of the validation in the task's metrics, those that follow from it. */
UNROLL_API void unroll_trainer_describe(const unroll_trainer *trainer, double loss, unroll_evaluation *described);

/* A checkpoint directory: model.safetensors, optim.safetensors (states, counters, data cursor); of ranks that have
 * different weights (a layer or hidden cut) shards with indexes in their place, each written by a rank that has some of
 * it, and read by those that need it, whose number may be another. A kill leaves the old or the new. Loading makes the
 * next step the same, bit for bit: network, data and settings must be those that were saved. Damaged files are not
 * loaded (UNROLL_DATA), NaN and infinite weights not saved (UNROLL_DIVERGED). */
UNROLL_API unroll_status unroll_trainer_save(unroll_trainer *trainer, const char *directory);
/* Saving beside training: a copy of what a checkpoint holds, good until the next one or the end of the trainer; and the
 * writing of it, which any thread of rank 0 may do, one at a time: it asks nobody. Where there are shards all ranks
 * write their own first, any thread of them; when all have, rank 0 writes the rest, with which it is whole. */
typedef struct unroll_snapshot unroll_snapshot;
UNROLL_API unroll_status unroll_trainer_snapshot(unroll_trainer *trainer, unroll_snapshot **snapshot);
UNROLL_API int unroll_snapshot_shards(const unroll_snapshot *snapshot); /* 0: none */
UNROLL_API unroll_status unroll_snapshot_write_shard(unroll_snapshot *snapshot, const char *directory);
UNROLL_API unroll_status unroll_snapshot_write(unroll_snapshot *snapshot, const char *directory);
UNROLL_API unroll_status unroll_trainer_load(unroll_trainer *trainer, const char *directory);
/* A checkpoint in the memory of each rank, from which a trainer of the same training goes on to the same bits, on any
 * number of ranks and any mesh; workers are refused (UNROLL_UNSUPPORTED). Replicating is
 * collective; if it fails, because a rank is lost, the replica is empty: so two are kept in turn. Restoring is each
 * rank's own. Sharing gives that of rank `from` to all. step: of what it holds, -1: nothing. */
typedef struct unroll_replica unroll_replica;
UNROLL_API unroll_status unroll_replica_new(unroll_replica **replica);
UNROLL_API void unroll_replica_free(unroll_replica *replica); /* NULL is allowed */
UNROLL_API unroll_status unroll_trainer_replicate(unroll_trainer *trainer, unroll_replica *replica);
UNROLL_API int64_t unroll_replica_step(const unroll_replica *replica);
UNROLL_API unroll_status unroll_replica_share(unroll_replica *replica, unroll_comm *comm, int from);
UNROLL_API unroll_status unroll_trainer_restore(unroll_trainer *trainer, unroll_replica *replica);
/* Compares what replicas of the batch hold, weights and states of the optimizer, to the bit. Collective. *rank: the
 * first that differs from most of its replicas, -1: none does; *ranks: how many. Of two that differ nobody knows which
 * is wrong: both count. */
UNROLL_API unroll_status unroll_trainer_compare(unroll_trainer *trainer, int *rank, int *ranks);
/* In the next step each rank also computes the gradients of the rank before it, from the same weights, states and rows,
 * and both are compared before ranks add them up, to the bit: a rank that computes wrongly is found, which replicas
 * that have added the same sum can't tell. Of ranks on processors that divide the batch alone, with checks_gradients;
 * else it does nothing. Collective. The weights are those of any other step. unroll_trainer_checked: what the last such
 * step found, as unroll_trainer_compare; that step's update is made of the wrong gradients. */
UNROLL_API void unroll_trainer_check_next(unroll_trainer *trainer);
UNROLL_API void unroll_trainer_checked(const unroll_trainer *trainer, int *rank, int *ranks);
UNROLL_API unroll_status unroll_checkpoint_check(const char *directory, unroll_progress *progress); /* is it whole? */
UNROLL_API uint64_t
unroll_trainer_memory_estimate(const unroll_trainer *trainer); /* bytes of its plans and of a checkpoint */
UNROLL_API unroll_status unroll_trainer_pieces(const unroll_trainer *trainer,
                                               unroll_pieces *pieces); /* of its sessions */
/* As unroll_session_divided; of ranks that are balanced (`balance`) ranks is 0 before the first time. */
UNROLL_API int unroll_trainer_divided(const unroll_trainer *trainer, double *part, int room, int *ranks);

/* ---- evaluating ------------------------------------------------------------------------- */

/* Of all of a data set, in the task that the model was trained for. machine NULL: the default. details: as of
 * unroll_trainer_test, or NULL. */
UNROLL_API unroll_status unroll_evaluate(unroll_model *model, const unroll_dataset *dataset,
                                         const unroll_machine *machine, unroll_evaluation *found, char **details);
/* Has the model been trained for a task that answers? If not, unroll_last_error says why. */
UNROLL_API int unroll_can_predict(const unroll_model *model);
/* Answers in the user's labels and units, to each sequence or step of a data set in its order, which may lack the
 * targets: as one JSON object, and as a line of text without its end. Both are good until take returns; what is not 0
 * ends it. */
UNROLL_API unroll_status unroll_predict(unroll_model *model, const unroll_dataset *dataset,
                                        const unroll_machine *machine,
                                        int (*take)(void *arg, const char *json, const char *line), void *arg);

#ifdef __cplusplus
}
#endif
#endif
