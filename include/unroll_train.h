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
    UNROLL_MODULE /* outputs, then gradients from the outputs' gradient that the caller writes, for any loss */
} unroll_mode;

typedef struct unroll_session unroll_session;

/* Start from unroll_session_default(). Threads, queues, chunks and checkpoints do not change a bit of the results. */
typedef struct unroll_session_config {
    size_t size; /* sizeof(unroll_session_config) */
    unroll_mode mode;
    int steps, rows;    /* T and B of every batch */
    int lengths;        /* 1: batches come with the length of each row, 0 .. steps */
    int resets;         /* 1: batches have flags that reset rows */
    int results;        /* 1: eval: keep the last layer's output for unroll_read, on devices that otherwise drop it */
    int stateful;       /* 1: a run starts from the final states of the previous one */
    int input_gradient; /* 1: compute the gradient of float inputs */
    int no_dropout;     /* 1: train, modules: no dropout; infer and eval have none */
    int updates;        /* 1: a module trains: unroll_update uses the sum of the gradients since the last update */
    const char *optimizer; /* a name of unroll_optimizer_name, for training */
    uint64_t seed;         /* of dropout masks */
    /* Training with "xent", as PyTorch's CrossEntropyLoss(weight, label_smoothing): with smoothing e and weights w the
     * loss of a row is (1 - e) w[class] (-log p[class]) plus e / classes w[c] (-log p[c]) for each c, and the row has
     * weight w[class]. */
    float label_smoothing;      /* e, 0 <= e < 1 */
    const float *class_weights; /* [output], 0 or more; copied. NULL: all 1 */
    int shards;                 /* of the batch, whose gradients are summed in a tree; `exact` also sets it */
    int profile;                /* 1: measure each operation, for unroll_session_operation */
    unroll_session *beside;     /* train: another session that trains the model with batches of another shape and must
                                   outlive this one. Both share gradients, optimizer states and counters; NULL: none */
    unroll_machine machine;
} unroll_session_config;

UNROLL_DEFAULT(unroll_session_config, unroll_session) /* infer, 1 step, 1 row, adam */

/* Allocates all memory: no later call allocates. Sessions of one model on one device share its weights: the others use
 * what one trains. The model must outlive the session. */
UNROLL_API unroll_status unroll_session_new(unroll_model *model, const unroll_session_config *config,
                                            unroll_session **session);
UNROLL_API void unroll_session_free(unroll_session *session);

/* Arrays of one batch, all time-major and owned by the caller; those that the model or the session does not use are
 * NULL. Values with t >= lengths[b] are ignored. Targets of a network with a pool are [B] or [B, ..]: one per sequence;
 * sequences of length 0 are not counted. */
typedef struct unroll_batch {
    size_t size;                /* initialize with { .size = sizeof(unroll_batch) }; the rest is 0 */
    const int32_t *tokens;      /* [T, B] token ids; for a model with columns [T, B, token columns] */
    const float *inputs;        /* [T, B, input]; for a model with columns [T, B, numbers] */
    const int32_t *targets;     /* [T, B] targets of cross-entropy; -1: not counted */
    const float *target_values; /* [T, B, unroll_model_targets] targets of other losses; NaN: not counted */
    const int32_t *lengths;     /* [B] */
    const uint8_t *reset;       /* [T, B] 1: the states before this step are zero */
} unroll_batch;

/* Runs the forward pass, after checking the batch (ids in range, no NaN or infinity in inputs, no infinity in targets).
 * batch NULL: the previous batch again, which is still on the device. */
UNROLL_API unroll_status unroll_forward(unroll_session *session, const unroll_batch *batch);
/* Runs the backward pass of the last forward and adds to the gradients, so that several batches can share one update.
 * In a module without updates it replaces them. */
UNROLL_API unroll_status unroll_backward(unroll_session *session);

/* A hyperparameter of an optimizer other than the learning rate, such as "beta1" of "adam". */
typedef struct unroll_hyperparameter {
    const char *name, *about;
    double standard, min, max; /* the default, and the inclusive limits */
} unroll_hyperparameter;

/* Returns the hyperparameter with that index; NULL after the last. */
UNROLL_API const unroll_hyperparameter *unroll_optimizer_hyperparameter(const char *optimizer, int index);

/* Start from unroll_hyperparameters_default(). */
enum { UNROLL_HYPERPARAMETERS = 10 }; /* maximum per optimizer */
typedef struct unroll_hyperparameters {
    size_t size;           /* sizeof(unroll_hyperparameters) */
    const char *optimizer; /* its name; NULL: the name is unknown */
    double learning_rate;
    double clip; /* gradient clipping: limit of the norm of the mean gradient; 0: none */
    double hyperparameter[UNROLL_HYPERPARAMETERS]; /* in order; unroll_hyperparameters_set sets them by name */
    uint64_t reserved[4];                          /* 0, as in unroll_machine */
} unroll_hyperparameters;

UNROLL_API void unroll_hyperparameters_begin(unroll_hyperparameters *rates, size_t size, const char *optimizer);
static inline unroll_hyperparameters unroll_hyperparameters_default(const char *optimizer)
{
    unroll_hyperparameters rates;
    unroll_hyperparameters_begin(&rates, sizeof rates, optimizer);
    return rates;
}
UNROLL_API unroll_status unroll_hyperparameters_set(unroll_hyperparameters *rates, const char *name, double value);

/* The result of a step. If the norm is not finite, the update is skipped, the gradients are dropped, and the status is
 * UNROLL_DIVERGED. */
typedef struct unroll_result {
    size_t size;   /* initialize with { .size = sizeof(unroll_result) } */
    double loss;   /* mean over the counted rows */
    double weight; /* number of counted rows; a row of n target values of which c are not NaN counts as c / n, a row
                      with class_weights as the weight of its class */
    double norm;   /* of the mean gradient, before clipping; only after an update */
} unroll_result;

/* Returns the mean loss of all forwards since the last result; after unroll_step also the norm of the last step. */
UNROLL_API unroll_status unroll_loss_result(unroll_session *session, unroll_result *result);
/* Updates the weights. result NULL: read it later by unroll_loss_result. A module's gradient is not divided by a number
 * of rows; its loss is 0, its weight 1. */
UNROLL_API unroll_status unroll_update(unroll_session *session, const unroll_hyperparameters *rates,
                                       unroll_result *result);
/* Forward, backward and update of one batch, together with earlier batches without an update. Ranks sum gradients while
 * backward computes the next ones (unroll_update alone sums them afterwards). On devices that run a step as one program
 * the call does not wait if result is NULL: unroll_loss_result then returns the mean since the last result, and reports
 * a step that diverged. */
UNROLL_API unroll_status unroll_step(unroll_session *session, const unroll_batch *batch,
                                     const unroll_hyperparameters *rates, unroll_result *result);

/* Reads or writes a buffer of the session's plan by name, as floats in every precision:
 * "z" [T, B, output], with a pool [B, output]; "y.l1" [T, B, directions x width] of a model without head; initial
 * states "h0.l0", "s0.l0", "h0.l0.reverse"; final states "hn.l0", "sn.l0"; in modules "d.y.l1" or "d.z" (write),
 * "d.hn.l0" (write), "d.x", "d.h0.l0" (read); gradients "d.rnn.weight_ih_l0" (for a tied embedding,
 * "d2.embedding.weight" has the head's part until the update). Weights can be written too. count must be that of the
 * buffer, or of the first steps of an array over time. NaN and infinity in initial states are errors, as in inputs. */
UNROLL_API unroll_status unroll_read(unroll_session *session, const char *name, float *to, size_t count);
UNROLL_API unroll_status unroll_write(unroll_session *session, const char *name, const float *from, size_t count);
/* Returns the number of elements of a buffer; 0: unknown name. */
UNROLL_API size_t unroll_count(const unroll_session *session, const char *name);
enum { UNROLL_AXES = 4 };
/* Sets the sizes of a buffer's axes and returns their number; 0: unknown name. States are [B, width], including the
 * lstm's "s0" and "sn". Gradients have the parameter's shape, after an axis of shards if there are several. */
UNROLL_API int unroll_shape(const unroll_session *session, const char *name, int shape[UNROLL_AXES]);

/* A named array of a session, as unroll_read reads it. */
typedef struct unroll_buffer {
    size_t size;            /* initialize with { .size = sizeof(unroll_buffer) } */
    const char *name;       /* "z", "h0.l0", "rnn.weight_ih_l0", ..; valid as long as the session */
    const char *type;       /* of its elements on the device, "F32" or "F64"; unroll_read and unroll_write convert */
    int rank;               /* number of axes; 0: a single number */
    int shape[UNROLL_AXES]; /* [rank], as from unroll_shape */
    size_t count;           /* number of elements */
} unroll_buffer;

/* Sets *buffer to the array with that index, from 0 on in the order of the plan, and returns 1. Returns 0 after the
 * last one, and if buffer->size is wrong (see unroll_last_error). */
UNROLL_API int unroll_session_buffer(const unroll_session *session, int index, unroll_buffer *buffer);
UNROLL_API unroll_status unroll_clear_states(unroll_session *session); /* resets the states of all rows to zero */

/* Copies the weights from the device to the model's own memory. Freeing a session does so too if the weights changed,
 * except with several ranks. */
UNROLL_API unroll_status unroll_session_pull(unroll_session *session);
/* Copies the weights from the model's memory to the device. */
UNROLL_API unroll_status unroll_session_push(unroll_session *session);

/* Sets weights that another program trains: weights[i] is an array in the shape of parameter i; NULL: unchanged. Copies
 * are packed again only if a bit differs. All sessions of the model use them, and its own memory after a pull. Do not
 * call it between a forward and its backward. */
UNROLL_API unroll_status unroll_session_set_weights(unroll_session *session, const float *const *weights);
/* Copies each parameter's gradient after unroll_backward() in UNROLL_MODULE mode without updates. Entries may be NULL.
 * The next backward of any module of the model overwrites the gradients. */
UNROLL_API unroll_status unroll_session_gradients(unroll_session *session, float *const *gradients);

/* The number of forwards and updates so far, which dropout masks and optimizers use; checkpoints store them. */
UNROLL_API void unroll_session_counters(const unroll_session *session, int64_t *forwards, int64_t *updates);
UNROLL_API void unroll_session_set_counters(unroll_session *session, int64_t forwards, int64_t updates);
/* The loss scale of fp16 training, and the updates since it changed; checkpoints store them. Without a loss scale both
 * are 0, and setting has no effect. */
UNROLL_API void unroll_session_loss_scale(const unroll_session *session, double *scale, int64_t *updates);
UNROLL_API void unroll_session_set_loss_scale(unroll_session *session, double scale, int64_t updates);

/* Bytes of the session without the weights, and the prediction of its plan. */
UNROLL_API uint64_t unroll_session_bytes(const unroll_session *session);
UNROLL_API uint64_t unroll_session_memory_estimate(const unroll_session *session);
UNROLL_API const char *unroll_session_isa(const unroll_session *session);
UNROLL_API int unroll_session_threads(const unroll_session *session);

/* The time of one operation of a session's plan. */
typedef struct unroll_operation {
    char name[80];       /* as printed by unroll_plan_print: "rnn g.l0" */
    double min, seconds; /* of its fastest run and of all runs, until the last thread of its queue has ended */
    double flops;        /* planned FLOPs of a run: all steps of all rows */
    long runs;
} unroll_operation;

/* Sets *operation to the one with that index and returns 1; 0: after the last, or without `profile`. */
UNROLL_API int unroll_session_operation(const unroll_session *session, int index, unroll_operation *operation);

/* Waits, and sets *seconds to the time from the start of the first run since the last call to the end of the last one,
 * by the device's clock (on GPUs events): host time between runs is included. The first call starts the measurement and
 * sets 0, as do calls without a run. Returns an error if the device has no such clock. */
UNROLL_API unroll_status unroll_session_span(unroll_session *session, double *seconds);

/* Returns how often the work of a list of devices was rebalanced since the first session of the model. part[room] gets
 * each rank's share of an update's FLOPs; *ranks their number, 0: no list, or each process is one rank (then use
 * unroll_trainer_divided). */
UNROLL_API int unroll_session_divided(const unroll_session *session, double *part, int room, int *ranks);

/* Counters of pieces of time in a session, over all its recurrences. */
typedef struct unroll_pieces {
    size_t size;      /* initialize with { .size = sizeof(unroll_pieces) } */
    int pieces;       /* pieces per sequence */
    int recurrences;  /* recurrences that run in pieces: one or two per layer, twice that in training */
    int in_order;     /* of these, recurrences that returned to one piece because repairs took too long */
    int64_t runs;     /* runs in pieces */
    int64_t rounds;   /* rounds of repairs, each from the final state of the piece before */
    int64_t repaired; /* repeated steps, of the slowest piece of each round */
} unroll_pieces;

UNROLL_API unroll_status unroll_session_pieces(const unroll_session *session, unroll_pieces *pieces);

/* ---- data sets ------------------------------------------------------------------------- */

/* Sequences of steps with named columns of tokens or numbers. A text has one column of tokens: characters or words. */
typedef struct unroll_dataset unroll_dataset;

/* Returns the name of the file reader with that index, in the order in which they are tried; NULL after the last. Sets
 * *about unless it is NULL. */
UNROLL_API const char *unroll_reader_name(int index, const char **about);

/* An option of a reader or a task, such as "header" of "csv" or "horizon" of "forecast". */
typedef struct unroll_option {
    const char *name, *about;
    const char *choices; /* allowed values, separated by spaces; NULL: any text or number */
    int is_text;         /* 1: a text without commas; 0: a number */
    double min, max;     /* limits of a number, which must be whole if both are */
} unroll_option;

/* Sets *option to the option of a reader with that index and returns 1; 0: after the last, or unknown reader. */
UNROLL_API int unroll_reader_option(const char *reader, int index, unroll_option *option);

/* Start from unroll_data_default(). */
typedef struct unroll_dataset_config {
    size_t size;               /* sizeof(unroll_dataset_config) */
    const char *reader;        /* a name of unroll_reader_name; NULL: found from the file */
    const char *options;       /* "key=value,key=value": the reader's own and, for all, tokens=chars|words|blanks|sets,
                                  vocab=N, columns=NAME=TYPE;NAME=TYPE (number, category, time, set, text, ignore),
                                  group=COLUMN, time=COLUMN (docs/guide/data.md); NULL: the defaults */
    const unroll_model *model; /* read the data as this model does, with its vocabulary; NULL: a new vocabulary */
} unroll_dataset_config;

UNROLL_DEFAULT(unroll_dataset_config, unroll_data)

/* Opens a data set. path "-": standard input. config NULL: the default. A character outside the model's vocabulary is
 * an error with line and column; a word is "<unk>". Characters are numbered in the order of their code points. The
 * concatenated words of a text are the text: a word is a run of letters, digits and the like (don't, well-known, 3.14),
 * a run of punctuation, or a line end, each with one space before it if there is one; other white space is a word of
 * its own. Word 0 is "<unk>", then the most frequent words follow, equally frequent ones by code points. */
UNROLL_API unroll_status unroll_data_open(const char *path, const unroll_dataset_config *config,
                                          unroll_dataset **dataset);
UNROLL_API void unroll_data_free(unroll_dataset *dataset);
/* Returns the number of tokens of the first token column, one per step; 0: no such column. Writes at most `count` of
 * them, starting with `first`, to the caller's array `tokens`. */
UNROLL_API size_t unroll_data_tokens(const unroll_dataset *dataset, size_t first, size_t count, int32_t *tokens);
/* Returns the texts of these tokens, owned by the data set; NULL: none. */
UNROLL_API const char *const *unroll_data_vocabulary(const unroll_dataset *dataset, int *size);

/* ---- data from your program ---- */

/* The kind of a cell. */
typedef enum unroll_cell {
    UNROLL_CELL_TEXT,   /* a number, time, category, text or set "a|b", decided by content or by the option `columns` */
    UNROLL_CELL_TOKENS, /* a text that is cut into tokens; may be passed in parts */
    UNROLL_CELL_LABEL,  /* a category */
    UNROLL_CELL_WORD,   /* a category per step */
    UNROLL_CELL_SET,    /* several categories: "a|b", or one call for each */
    UNROLL_CELL_NUMBERS
} unroll_cell;

/* Receives rows. It is valid while the function that gets it runs. Strings and numbers are copied. */
typedef struct unroll_builder unroll_builder;

/* Declares a column. Columns come first, in the same order in each run. name: at most 63 bytes of UTF-8. of_example 1:
 * if rows are examples, one entry per example; 0: one per step. width: of numbers, >= 1. Sets *column to its index. */
UNROLL_API unroll_status unroll_builder_column(unroll_builder *builder, const char *name, unroll_cell cell,
                                               int of_example, int width, int *column);
/* Adds a cell to the current row, `length` bytes of UTF-8; for words and sets one more entry. */
UNROLL_API unroll_status unroll_builder_text(unroll_builder *builder, int column, const char *bytes, size_t length);
/* Adds [entries, width] numbers to the current row: one entry per step, or a single one per row; NAN: missing. */
UNROLL_API unroll_status unroll_builder_numbers(unroll_builder *builder, int column, const float *numbers,
                                                size_t entries);
/* Ends the row. Cells that were not added are missing. */
UNROLL_API unroll_status unroll_builder_end_row(unroll_builder *builder);
/* If rows are steps: the next row begins another sequence. */
UNROLL_API unroll_status unroll_builder_end_sequence(unroll_builder *builder);

/* Passes all rows to the builder. It is called two or three times (for types, vocabularies, arrays) and must do the
 * same each time. It returns the status of a failed builder call; any status but UNROLL_OK stops. */
typedef unroll_status unroll_rows(void *arg, unroll_builder *builder);

/* Makes a data set from rows of a function. rows_are_steps 1: each row is a step of a series; 0: each is an example;
 * UNROLL_AUTO: examples if there are texts or several entries in a row, otherwise steps. config as in unroll_data_open,
 * without its reader. */
UNROLL_API unroll_status unroll_data_callback(unroll_rows *rows, void *arg, int rows_are_steps,
                                              const unroll_dataset_config *config, unroll_dataset **dataset);

/* A column given as an array of numbers or strings. */
typedef struct unroll_array {
    size_t size; /* sizeof(unroll_array) */
    const char *name;
    unroll_cell cell;           /* kind of the strings */
    int of_example;             /* 1: one entry per example; 0: one per step */
    const float *numbers;       /* [entries, width]; NULL: strings */
    int width;                  /* >= 1 */
    const char *const *strings; /* [entries] zero-terminated UTF-8; a NULL entry is missing */
} unroll_array;

/* Makes a data set from arrays, which are copied. lengths: [examples] steps of each; NULL: one series of `examples`
 * steps. A text (UNROLL_CELL_TOKENS) is one string per example and defines its steps: its length is then 0 or the
 * number of its tokens. */
UNROLL_API unroll_status unroll_data_from_arrays(const unroll_array *arrays, int count, const int64_t *lengths,
                                                 int64_t examples, const unroll_dataset_config *config,
                                                 unroll_dataset **dataset);

/* Describes a data set as a JSON object: "rows" ("steps" or "examples"), "sequences", "steps", "lengths", "group",
 * "time", "columns" (each with "name", "type", "of", "missing" and ranges or the most frequent entries), "notes",
 * "first" rows. The caller frees *json with free(). */
UNROLL_API unroll_status unroll_data_describe(const unroll_dataset *dataset, char **json);
/* Returns notes about decisions that you may want to change, one sentence per line, "" if there are none. Fields of
 * configurations are in backquotes. Owned by the data set. */
UNROLL_API const char *unroll_data_notes(const unroll_dataset *dataset);

/* ---- tasks ------------------------------------------------------------------------------ */

/* Returns the name of the task with that index, such as "lm"; NULL after the last. Sets *about unless it is NULL. */
UNROLL_API const char *unroll_task_name(int index, const char **about);
/* An option of a task, as unroll_reader_option. */
UNROLL_API int unroll_task_option(const char *task, int index, unroll_option *option);
/* Returns the task that suits the data best, NULL: none. Sets *why to the reason, such as "text in 'text'", valid until
 * this thread's next call. */
UNROLL_API const char *unroll_task_suggest(const unroll_dataset *dataset, const char **why);

/* Training defaults of a task. Start from unroll_task_defaults_default(), which suits a text. */
typedef struct unroll_task_defaults {
    size_t size;          /* sizeof(unroll_task_defaults) */
    int batch, bptt;      /* as in unroll_train_config */
    double epochs;        /* maximum passes through the training part */
    double learning_rate; /* of adam */
    int64_t warmup;       /* steps */
    const char *schedule; /* a name of unroll_schedule_name */
    double validation;    /* validation share; 0 if there are too few data */
    int patience;         /* epochs without a better validation after which training ends; 0: unlimited */
    char note[200];       /* a sentence about a decision that the user may want to change; "" */
    char unused[64];      /* fields of unroll_train_config without effect on this task, each followed by a blank; "" */
} unroll_task_defaults;

UNROLL_DEFAULT(unroll_task_defaults, unroll_task_defaults)
/* A spec that leaves everything to the task: cell NULL; layers, hidden, bidirectional, embed and dropout UNROLL_AUTO.
 * With bidirectional 0 the network can be streamed: each output depends only on the steps so far. */
UNROLL_API void unroll_spec_auto_begin(unroll_spec *spec, size_t size);
static inline unroll_spec unroll_spec_auto(void)
{
    unroll_spec spec;
    unroll_spec_auto_begin(&spec, sizeof spec);
    return spec;
}
/* Completes a spec with what the data and the task decide (tokens, input, output, loss) and with what is left to the
 * task; sets *defaults unless it is NULL. task NULL: the one that suits the data best. options: those of the task,
 * "key=value,key=value"; NULL: none. */
UNROLL_API unroll_status unroll_task_network(const char *task, const char *options, const unroll_dataset *dataset,
                                             unroll_spec *spec, unroll_task_defaults *defaults);
/* Stores the task and the schema (vocabularies, scales) of all the data in the model, and so in its file. A trainer
 * does this for its training part; use this call for trainings by hand. */
UNROLL_API unroll_status unroll_model_set_schema(unroll_model *model, const char *task, const char *options,
                                                 const unroll_dataset *dataset);

/* Merges the scales of the model's schema into its weights, for streams and exports, which have no schema: inputs are
 * then numbers as in the data, outputs of a regression in the target's unit, to the last bits of a float. A model of
 * the task forecast or anomaly becomes one of a single series without a schema: its step reads the numbers of a period,
 * [masks,] those of the other columns (docs/guide/tasks.md), and predicts the next ones. series: its name, "load", with
 * groups "north" or "north:load"; NULL: the only one. Without scales nothing changes. Returns UNROLL_USAGE while the
 * model has sessions, and if there are several series and none is given. */
UNROLL_API unroll_status unroll_model_in_units(unroll_model *model, const char *series);

/* Fine-tuning: copies the weights of another model into a new one, for parameters with the same name and shape, and for
 * tokens by their text. Others, such as a head of another width, stay. report receives a line or two; may be NULL.
 * Returns an error if nothing fits. */
UNROLL_API unroll_status unroll_model_transfer(unroll_model *model, const unroll_model *from,
                                               void (*report)(void *arg, const char *line), void *arg);

/* A metric of a task, printed as "{before}{value with `digits` digits}{after}". */
typedef struct unroll_metric {
    const char *name, *before, *after; /* "perplexity", "perplexity ", "" */
    int digits;                        /* 0: a count */
    double value;                      /* NAN: unknown */
} unroll_metric;

enum { UNROLL_METRICS_MAX = 12 };

typedef struct unroll_evaluation {
    double loss;           /* mean over the counted examples; NAN: stopped early */
    double floor;          /* the first metric of the naive baseline */
    const char *naive;     /* name of the baseline, such as "unigrams": the token frequencies of the data */
    int metrics, compared; /* number of metrics; index of the one that is compared */
    int higher;            /* 1: higher values of it are better */
    int64_t examples;      /* number of counted tokens, sequences or steps */
    unroll_metric metric[UNROLL_METRICS_MAX];
} unroll_evaluation;

/* ---- sequences divided among ranks ----------------------------------------------------- */

/* Assigns sequences of a data set to rows of the batches of an epoch. Rows of a batch are divided among `replicas`, the
 * ranks along batch; with `exact` its V, so that the number of ranks does not matter. Start from
 * unroll_sampler_default(). */
typedef struct unroll_sampler {
    size_t size;     /* sizeof(unroll_sampler) */
    const char *how; /* "shuffle", "even": random order; "length": sequences of a batch have similar lengths, and its
                        parts similar numbers of steps; "stratified": parts have similar numbers of each class;
                        "column": each class is on one part only; "part": classes are the parts */
    int64_t count;   /* number of sequences */
    const int32_t *lengths; /* [count], or NULL */
    const int32_t *classes; /* [count], or NULL */
    int rows, replicas;     /* per batch */
    uint64_t seed;
    int64_t epoch; /* each epoch has its own order */
} unroll_sampler;

UNROLL_DEFAULT(unroll_sampler, unroll_sampler)
/* Returns the number of batches, the same for all ranks. */
UNROLL_API int64_t unroll_sampler_batches(const unroll_sampler *sampler);
/* Fills order [batches, rows] with indices of sequences, each once; -1: an empty row of length 0, without weight. */
UNROLL_API unroll_status unroll_sampler_order(const unroll_sampler *sampler, int64_t *order);

/* ---- training --------------------------------------------------------------------------- */

/* Returns the name of the learning rate schedule with that index; NULL after the last. Sets *about and *has_length (1:
 * it depends on the length of the run) unless they are NULL. */
UNROLL_API const char *unroll_schedule_name(int index, const char **about, int *has_length);

/* Return the name of the policy or compressor of workers with that index; NULL after the last. about may be NULL. */
UNROLL_API const char *unroll_sync_name(int index, const char **about);
UNROLL_API const char *unroll_compressor_name(int index, const char **about);

/* A validation or test split: another data set, or a part of the data. A count is the last sequences (of a text or a
 * series the last steps), with the test after the validation. A share is the last part of each series, otherwise drawn
 * and stratified by class. The first member that is set counts; all 0: none. */
typedef struct unroll_held_out {
    const unroll_dataset *data; /* opened with the model; must outlive the trainer */
    int64_t count;
    double share; /* 0 .. 0.5 */
} unroll_held_out;

/* Start from unroll_train_default(). */
typedef struct unroll_train_config {
    size_t size;                  /* sizeof(unroll_train_config) */
    const char *task;             /* a name of unroll_task_name; NULL: the model's, or the one that suits the data */
    const char *task_options;     /* as in unroll_task_network; NULL: none */
    int batch;                    /* rows; lm: the text is cut into this number of parts that run at the same time */
    int64_t batch_tokens;         /* tasks with examples: steps per batch instead of rows; 0: rows */
    int bptt;                     /* steps between updates; 0: lm: the whole part, one update per epoch */
    int accumulate;               /* batches per update: the gradient is that of one batch with all their rows within
                                     rounding, also with exact, because they are added in sequence. Updates are counted;
                                     none crosses the end of an epoch. */
    float label_smoothing;        /* losses of classes: see unroll_session_config */
    const float *class_weights;   /* as above, [output]; copied. NULL: see balanced_classes */
    int balanced_classes;         /* 1: weights examples / (classes x examples of the class); 0: all 1 */
    int stateful;                 /* 1: the states of a row continue from update to update; 0: from zero each time */
    unroll_hyperparameters rates; /* with the name of the optimizer */
    const char *schedule;         /* of the learning rate: a name of unroll_schedule_name */
    int64_t warmup;               /* steps of linear rise of the learning rate */
    int64_t total_steps;          /* length of the schedule */
    unroll_held_out validation, test;
    const char *augment; /* random changes of training examples, different in each epoch: "noise=0.1,shift=4,mask=8" in
                            standard deviations of the numbers, steps, consecutive steps; NULL: none */
    const char *sync; /* synchronisation of workers (machine.workers): a name of unroll_sync_name with its argument and
                         options. "every" or NULL: gradients in each update; "local:32,rate=0.7,momentum=0.9".
                         Validations and checkpoints use the mean of the workers */
    const char *divide_by; /* how ranks divide training sequences: "even" or NULL; "length": similar numbers of steps;
                              "stratified": similar numbers of each label; or a column of categories, each of whose
                              values only one rank reads */
    const char *compress;  /* a name of unroll_compressor_name with its argument, "topk:0.01", with error feedback.
                              "none"  or NULL: no compression */
    const char *arrivals;  /* "gossip", "server:S": the order of arrivals is written to PATH.RANK; NULL: not written */
    const char *replay;    /* such a PATH: repeats that order, to the same bits; NULL: none */
    int prefetch; /* 1: a thread fills batches ahead; 0: none; UNROLL_AUTO: if filling takes a noticeable part of the
                     time. No bit depends on it. */
    uint64_t seed;
    unroll_machine machine;  /* memory: limit for all its sessions; rows of `batch` are divided among ranks */
    int log_interval;        /* steps between two readings of the loss; 0: 1 on the cpu, otherwise 10, because reading
                              waits for the device */
    int new_hyperparameters; /* 1: allows loading a checkpoint with other rates, warmup or schedule */
    int checks_gradients;    /* 1: allocates memory for unroll_trainer_check_next: weights, gradients and activations of
                                another rank */
    int balance; /* 1: rows of the batch and layers are rebalanced when a rank becomes slower or faster, for ranks that
                    divide nothing else, without exact. The bits then depend on the clock. */
} unroll_train_config;

UNROLL_DEFAULT(unroll_train_config, unroll_train)

typedef struct unroll_trainer unroll_trainer;

/* Sets *batch to the largest power of two up to `max` whose training fits into memory with at least 16 updates per
 * epoch, otherwise 1. */
UNROLL_API unroll_status unroll_trainer_batch(unroll_model *model, const unroll_dataset *dataset,
                                              const unroll_train_config *config, int max, int *batch);
/* The model must have the inputs and outputs of the data (unroll_task_network). Model and data must outlive the
 * trainer. */
UNROLL_API unroll_status unroll_trainer_new(unroll_model *model, const unroll_dataset *dataset,
                                            const unroll_train_config *config, unroll_trainer **trainer);
UNROLL_API void unroll_trainer_free(unroll_trainer *trainer);

typedef struct unroll_progress {
    size_t size;  /* initialize with { .size = sizeof(unroll_progress) } */
    int64_t step; /* updates so far */
    double epoch; /* passes through the training part, with fraction */
    double loss;  /* mean of the steps up to the last synchronization */
    int synced;   /* number of steps of that mean if this step synchronized with the device, otherwise 0 */
    double norm, learning_rate;
    int64_t items, steps_per_epoch; /* items (characters, words or steps) so far */
    const char *item;               /* short name of an item: "char" */
    double best_validation;        /* loss of the best validation by the compared metric, of equal ones the lowest loss;
                                      infinite before the first */
    double best_metric;            /* its metric; NAN: unknown */
    int64_t best_step, since_best; /* its updates, 0: unknown; validations since, which patience counts */
    int met;                       /* 1: all ranks have made this step; 0: workers may be at different steps */
    double waited;                 /* fraction of the time of steps spent waiting for data, 0 .. 1 */
} unroll_progress;

UNROLL_API unroll_status unroll_trainer_step(unroll_trainer *trainer, unroll_progress *progress);
/* Returns the current progress, also after a validation or after loading a checkpoint (then loss and norm are 0). */
UNROLL_API unroll_status unroll_trainer_progress(const unroll_trainer *trainer, unroll_progress *progress);
/* Changes the length of the schedule, for runs with a time limit. */
UNROLL_API void unroll_trainer_set_total_steps(unroll_trainer *trainer, int64_t total_steps);
/* Sets the step at which workers that do not wait meet for collective work, such as a validation: late workers skip
 * what they missed. Call it after each meeting with a later step, on all ranks. */
UNROLL_API void unroll_trainer_meet_at(unroll_trainer *trainer, int64_t step);
/* Evaluates the validation split, from its beginning, with carried states. */
UNROLL_API unroll_status unroll_trainer_validate(unroll_trainer *trainer, unroll_evaluation *found);
/* The same, but stops if goes_on(data), called after each batch, returns 0: the loss is then NaN, and the schedule does
 * not change. All ranks must return the same. */
UNROLL_API unroll_status unroll_trainer_validate_while(unroll_trainer *trainer, int (*goes_on)(void *data), void *data,
                                                       unroll_evaluation *found);
/* Evaluates the test split with the current weights; load the best checkpoint before. Sets *details, unless details is
 * NULL, to further results of the task, a JSON object to be freed by the caller, or NULL. */
UNROLL_API unroll_status unroll_trainer_test(unroll_trainer *trainer, unroll_evaluation *found, char **details);
/* Returns the same details of the best validation of this trainer, owned by the trainer; NULL: none. */
UNROLL_API const char *unroll_trainer_details(const unroll_trainer *trainer);
/* Converts a mean validation loss to the task's metrics that follow from it. */
UNROLL_API void unroll_trainer_describe(const unroll_trainer *trainer, double loss, unroll_evaluation *described);

/* Writes a checkpoint directory: model.safetensors, optim.safetensors (states, counters, position in the data). If
 * ranks have different weights (a layer or hidden cut), shards with indexes replace them; each rank writes its own, and
 * any number of ranks can read them. A kill leaves the old or the new directory. After loading, the next step has the
 * same bits: network, data and settings must be those that were saved. Damaged files are not loaded (UNROLL_DATA), and
 * weights that are not finite are not saved (UNROLL_DIVERGED). */
UNROLL_API unroll_status unroll_trainer_save(unroll_trainer *trainer, const char *directory);
/* Saving while training continues: a snapshot is a copy of a checkpoint's content, valid until the next one or the end
 * of the trainer. Any thread of rank 0 may write it, one at a time, without communication. If there are shards, each
 * rank writes its own first, in any thread; then rank 0 writes the rest, which completes it. */
typedef struct unroll_snapshot unroll_snapshot;
UNROLL_API unroll_status unroll_trainer_snapshot(unroll_trainer *trainer, unroll_snapshot **snapshot);
UNROLL_API int unroll_snapshot_shards(const unroll_snapshot *snapshot); /* 0: no shards */
UNROLL_API unroll_status unroll_snapshot_write_shard(unroll_snapshot *snapshot, const char *directory);
UNROLL_API unroll_status unroll_snapshot_write(unroll_snapshot *snapshot, const char *directory);
UNROLL_API unroll_status unroll_trainer_load(unroll_trainer *trainer, const char *directory);
/* A checkpoint in the memory of each rank, from which a trainer of the same training resumes to the same bits, on any
 * number of ranks and any mesh; not supported with workers (UNROLL_UNSUPPORTED). Replicating is collective; if it fails
 * because a rank is lost, the replica is empty, so use two in turn. Restoring is local to a rank. Sharing copies that
 * of rank `from` to all. unroll_replica_step returns the step of its content, -1: empty. */
typedef struct unroll_replica unroll_replica;
UNROLL_API unroll_status unroll_replica_new(unroll_replica **replica);
UNROLL_API void unroll_replica_free(unroll_replica *replica); /* NULL is allowed */
UNROLL_API unroll_status unroll_trainer_replicate(unroll_trainer *trainer, unroll_replica *replica);
UNROLL_API int64_t unroll_replica_step(const unroll_replica *replica);
UNROLL_API unroll_status unroll_replica_share(unroll_replica *replica, unroll_comm *comm, int from);
UNROLL_API unroll_status unroll_trainer_restore(unroll_trainer *trainer, unroll_replica *replica);
/* Compares weights and optimizer states of the replicas of the batch bit by bit. Collective. Sets *rank to the first
 * one that differs from most of its replicas, -1: none; *ranks to their number. If only two differ, both count. */
UNROLL_API unroll_status unroll_trainer_compare(unroll_trainer *trainer, int *rank, int *ranks);
/* In the next step each rank also computes the gradients of the rank before it, from the same weights, states and rows,
 * and compares both bit by bit before the sum. This finds a rank that computes wrong results, which replicas after the
 * sum cannot show. For ranks on processors that divide only the batch, with checks_gradients; otherwise it has no
 * effect. Collective. It does not change the weights. unroll_trainer_checked returns the result of the last such step,
 * as unroll_trainer_compare; that step's update used the wrong gradients. */
UNROLL_API void unroll_trainer_check_next(unroll_trainer *trainer);
UNROLL_API void unroll_trainer_checked(const unroll_trainer *trainer, int *rank, int *ranks);
UNROLL_API unroll_status unroll_checkpoint_check(const char *directory, unroll_progress *progress); /* is it intact? */
UNROLL_API uint64_t
unroll_trainer_memory_estimate(const unroll_trainer *trainer); /* bytes of its plans and of a checkpoint */
UNROLL_API unroll_status unroll_trainer_pieces(const unroll_trainer *trainer,
                                               unroll_pieces *pieces); /* of its sessions */
/* As unroll_session_divided; with `balance`, *ranks is 0 before the first rebalancing. */
UNROLL_API int unroll_trainer_divided(const unroll_trainer *trainer, double *part, int room, int *ranks);

/* ---- evaluating ------------------------------------------------------------------------- */

/* Evaluates a whole data set in the model's task. machine NULL: the default. details as in unroll_trainer_test, or
 * NULL. */
UNROLL_API unroll_status unroll_evaluate(unroll_model *model, const unroll_dataset *dataset,
                                         const unroll_machine *machine, unroll_evaluation *found, char **details);
/* Returns 1 if the model was trained for a task with predictions, otherwise 0 (see unroll_last_error). */
UNROLL_API int unroll_can_predict(const unroll_model *model);
/* Predicts labels or values, in the user's units, for each sequence or step of a data set in its order; the targets may
 * be missing. Calls take with each prediction as a JSON object and as a line of text without line end, both valid until
 * it returns; a non-zero return value stops it. */
UNROLL_API unroll_status unroll_predict(unroll_model *model, const unroll_dataset *dataset,
                                        const unroll_machine *machine,
                                        int (*take)(void *arg, const char *json, const char *line), void *arg);

#ifdef __cplusplus
}
#endif
#endif
