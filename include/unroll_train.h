/* unroll_train.h: sessions (a model on a device, ready to run and to train), tasks, training, evaluation.
 *
 *     unroll_dataset *data;
 *     unroll_model *model;
 *     unroll_trainer *trainer;
 *     unroll_progress progress = { .size = sizeof progress };
 *     unroll_model_config network = unroll_model_config_default();
 *     unroll_trainer_config config = unroll_trainer_config_default();
 *     if (unroll_dataset_open("book.txt", NULL, &data) != UNROLL_OK)
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     if (unroll_task_configure("lm", NULL, data, &network, NULL) != UNROLL_OK ||   // characters in and out
 *         unroll_model_new(&network, 1, &model) != UNROLL_OK ||
 *         unroll_trainer_new(model, data, &config, &trainer) != UNROLL_OK)
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 *     while (progress.step < 40 && unroll_trainer_step(trainer, &progress) == UNROLL_OK)
 *         if (progress.step % 20 == 0)
 *             printf("step %d: %.2f nats\n", (int)progress.step, progress.loss);
 *     unroll_trainer_free(trainer), unroll_model_free(model), unroll_dataset_free(data);
 */
#ifndef UNROLL_TRAIN_H
#define UNROLL_TRAIN_H
#include "unroll_data.h"
#include "unroll_network.h"
#include "unroll_stream.h"

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

/* Start from unroll_session_config_default(). Threads, queues, chunks and checkpoints do not change a bit of the
 * results. */
typedef struct unroll_session_config {
    size_t size; /* sizeof(unroll_session_config) */
    unroll_mode mode;
    int steps, rows; /* T and B of every batch */
    int lengths;     /* 1: batches come with the length of each row, 0 .. steps */
    int resets;      /* 1: batches have flags that reset rows */
    int results;  /* 1: eval: keep the last layer's output for unroll_session_read, on devices that otherwise drop it */
    int stateful; /* 1: a run starts from the final states of the previous one */
    int input_gradient; /* 1: compute the gradient of float inputs */
    int no_dropout;     /* 1: train, modules: no dropout; infer and eval have none */
    int updates; /* 1: a module trains: unroll_session_update uses the sum of the gradients since the last update */
    const char *optimizer; /* a name of UNROLL_LIST_OPTIMIZERS, for training */
    uint64_t seed;         /* of dropout masks */
    /* Training with "xent", as PyTorch's CrossEntropyLoss(weight, label_smoothing): with smoothing e and weights w the
     * loss of a row is (1 - e) w[class] (-log p[class]) plus e / classes w[c] (-log p[c]) for each c, and the row has
     * weight w[class]. */
    float label_smoothing;      /* e, 0 <= e < 1 */
    const float *class_weights; /* [output], 0 or more; copied. NULL: all 1 */
    int shards;                 /* of the batch, whose gradients are summed in a tree; `exact` also sets it */
    int profile;                /* 1: measure each operation, for unroll_session_operation */
    unroll_session *partner;    /* train: another session that trains the model with batches of another shape and must
                                   outlive this one. Both share gradients, optimizer states and counters; NULL: none */
    unroll_machine machine;
    int raw;            /* as in unroll_run_config. Sessions that train need it if the schema scales numbers */
    const char *series; /* as in unroll_run_config */
    const unroll_allocator *allocator; /* for the session's memory on the CPU; NULL: the C library's */
} unroll_session_config;

UNROLL_DEFAULT(unroll_session_config) /* infer, 1 step, 1 row, adam */

/* Allocates all memory: no later call allocates. A session that does not train reads and returns numbers in the units
 * of the data, as a stream does: if the schema scales them, it uses a copy of the weights as they are now. Sessions of
 * one model on one device share its weights: the others use what one trains. The model must outlive the session. */
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
    const int32_t *targets;     /* [T, B] targets of xent, crf and ctc; -1: not counted */
    const float *target_values; /* [T, B, unroll_model_targets] targets of other losses; NaN: not counted */
    const int32_t *lengths;     /* [B] */
    const uint8_t *reset;       /* [T, B] 1: the states before this step are zero */
} unroll_batch;

/* Runs the forward pass, after checking the batch (ids in range, no NaN or infinity in inputs, no infinity in targets).
 * batch NULL: the previous batch again, which is still on the device. */
UNROLL_API unroll_status unroll_session_forward(unroll_session *session, const unroll_batch *batch);
/* Runs the backward pass of the last forward and adds to the gradients, so that several batches can share one update.
 * In a module without updates it replaces them. */
UNROLL_API unroll_status unroll_session_backward(unroll_session *session);

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

/* Returns the mean loss of all forwards since the last result; after unroll_session_step also the norm of the last
 * step. */
UNROLL_API unroll_status unroll_session_result(unroll_session *session, unroll_result *result);
/* Updates the weights. result NULL: read it later by unroll_session_result. A module's gradient is not divided by a
 * number of rows; its loss is 0, its weight 1. */
UNROLL_API unroll_status unroll_session_update(unroll_session *session, const unroll_hyperparameters *rates,
                                               unroll_result *result);
/* Forward, backward and update of one batch, together with earlier batches without an update. Ranks sum gradients while
 * backward computes the next ones (unroll_session_update alone sums them afterwards). On devices that run a step as one
 * program the call does not wait if result is NULL: unroll_session_result then returns the mean since the last result,
 * and reports a step that diverged. */
UNROLL_API unroll_status unroll_session_step(unroll_session *session, const unroll_batch *batch,
                                             const unroll_hyperparameters *rates, unroll_result *result);

/* Reads or writes a buffer of the session's plan by name, as floats in every precision:
 * "z" [T, B, output], with a pool [B, output]; "y.l1" [T, B, directions x width] of a model without head; initial
 * states "h0.l0", "s0.l0", "h0.l0.reverse"; final states "hn.l0", "sn.l0"; in modules "d.y.l1" or "d.z" (write),
 * "d.hn.l0" (write), "d.x", "d.h0.l0" (read); gradients "d.rnn.weight_ih_l0" (for a tied embedding,
 * "d2.embedding.weight" has the head's part until the update). Weights can be written too. count must be that of the
 * buffer, or of the first steps of an array over time. NaN and infinity in initial states are errors, as in inputs. */
UNROLL_API unroll_status unroll_session_read(unroll_session *session, const char *name, float *to, size_t count);
UNROLL_API unroll_status unroll_session_write(unroll_session *session, const char *name, const float *from,
                                              size_t count);
enum { UNROLL_AXES = 4 };

/* A named array of a session, as unroll_session_read reads it. */
typedef struct unroll_buffer {
    size_t size;      /* initialize with { .size = sizeof(unroll_buffer) } */
    const char *name; /* "z", "h0.l0", "rnn.weight_ih_l0", ..; valid as long as the session */
    const char
        *type; /* of its elements on the device, "F32" or "F64"; unroll_session_read and unroll_session_write convert */
    int rank;  /* number of axes; 0: a single number */
    int shape[UNROLL_AXES]; /* [rank]. States are [B, width], including the lstm's "s0" and "sn". Gradients
                               have the parameter's shape, after an axis of shards if there are several */
    size_t count;           /* number of elements */
} unroll_buffer;

/* Set *buffer to the array with that index, from 0 on in the order of the plan, or of that name, and return true.
 * Return false after the last one, for an unknown name, and if buffer->size is wrong (see unroll_last_error). */
UNROLL_API bool unroll_session_find(const unroll_session *session, const char *name, unroll_buffer *buffer);
UNROLL_API bool unroll_session_buffer(const unroll_session *session, int index, unroll_buffer *buffer);
/* Returns the number of elements of a buffer; 0: unknown name. */
UNROLL_API size_t unroll_session_count(const unroll_session *session, const char *name);
/* Resets the states of all rows to zero. */
UNROLL_API unroll_status unroll_session_reset(unroll_session *session);

/* Copies the weights from the device to the model's own memory. Freeing a session does so too if the weights changed,
 * except with several ranks. */
UNROLL_API unroll_status unroll_session_pull(unroll_session *session);
/* Copies the weights from the model's memory to the device. */
UNROLL_API unroll_status unroll_session_push(unroll_session *session);

/* Sets weights that another program trains: weights[i] is an array in the shape of parameter i; NULL: unchanged. Copies
 * are packed again only if a bit differs. All sessions of the model use them, and its own memory after a pull. Do not
 * call it between a forward and its backward. */
UNROLL_API unroll_status unroll_session_set_weights(unroll_session *session, const float *const *weights);
/* Copies each parameter's gradient after unroll_session_backward() in UNROLL_MODULE mode without updates. Entries may
 * be NULL. The next backward of any module of the model overwrites the gradients. */
UNROLL_API unroll_status unroll_session_gradients(unroll_session *session, float *const *gradients);

/* Bytes of the session without the weights, and the prediction of its plan. */
UNROLL_API uint64_t unroll_session_bytes(const unroll_session *session);
UNROLL_API uint64_t unroll_session_memory_estimate(const unroll_session *session);
UNROLL_API const char *unroll_session_isa(const unroll_session *session);
/* Returns the model that the session runs: the caller's, or the session's own copy in units. */
UNROLL_API const unroll_model *unroll_session_model(const unroll_session *session);
UNROLL_API int unroll_session_threads(const unroll_session *session);

/* ---- tasks ------------------------------------------------------------------------------ */

/* Returns the task that suits the data best, NULL: none. Sets *why to the reason, such as "text in 'text'", valid until
 * this thread's next call. */
UNROLL_API const char *unroll_task_suggest(const unroll_dataset *dataset, const char **why);

/* Training defaults of a task. Start from unroll_task_defaults_default(), which suits a text. */
typedef struct unroll_task_defaults {
    size_t size;          /* sizeof(unroll_task_defaults) */
    int batch, bptt;      /* as in unroll_trainer_config */
    double epochs;        /* maximum passes through the training part */
    double learning_rate; /* of adam */
    int64_t warmup;       /* steps */
    const char *schedule; /* a name of UNROLL_LIST_SCHEDULES */
    double validation;    /* validation share; 0 if there are too few data */
    int groups;           /* 1: of whole series, as in unroll_held_out */
    int patience;         /* epochs without a better validation after which training ends; 0: unlimited */
    char note[200];       /* a sentence about a decision that the user may want to change; "" */
    char unused[64];     /* fields of unroll_trainer_config without effect on this task, each followed by a blank; "" */
    const char *augment; /* of training examples, as in unroll_trainer_config; "": none */
} unroll_task_defaults;

UNROLL_DEFAULT(unroll_task_defaults)
/* Returns a configuration that leaves everything to the task: cell NULL; layers, hidden, bidirectional, embed and
 * dropout UNROLL_AUTO. With bidirectional 0 the network can be streamed: each output depends only on the steps so far.
 */
UNROLL_API void unroll_model_config_auto_begin(unroll_model_config *config, size_t size);
static inline unroll_model_config unroll_model_config_auto(void)
{
    unroll_model_config spec;
    unroll_model_config_auto_begin(&spec, sizeof spec);
    return spec;
}
/* Completes a configuration with what the data and the task decide (tokens, input, output, loss) and with what is left
 * to the task; sets *defaults unless it is NULL. task NULL: the one that suits the data best. options: those of the
 * task, "key=value,key=value"; NULL: none. */
UNROLL_API unroll_status unroll_task_configure(const char *task, const char *options, const unroll_dataset *dataset,
                                               unroll_model_config *config, unroll_task_defaults *defaults);
/* Stores the task and the schema (vocabularies, scales) of all the data in the model, and so in its file. A trainer
 * does this for its training part; use this call for trainings by hand. */
UNROLL_API unroll_status unroll_model_set_schema(unroll_model *model, const char *task, const char *options,
                                                 const unroll_dataset *dataset);

/* A metric of a task, printed as "{before}{value with `digits` digits}{after}". */
typedef struct unroll_metric {
    const char *name, *before, *after; /* "perplexity", "perplexity ", "" */
    int digits;                        /* 0: a count */
    double value;                      /* NAN: unknown */
} unroll_metric;

enum { UNROLL_METRICS_MAX = 12 };

typedef struct unroll_evaluation {
    size_t size;           /* initialize with { .size = sizeof(unroll_evaluation) } */
    double loss;           /* mean over the counted examples; NAN: stopped early */
    double floor;          /* the first metric of the naive baseline */
    const char *naive;     /* name of the baseline, such as "unigrams": the token frequencies of the data */
    int metrics, compared; /* number of metrics; index of the one that is compared */
    int higher;            /* 1: higher values of it are better */
    int64_t examples;      /* number of counted tokens, sequences or steps */
    unroll_metric metric[UNROLL_METRICS_MAX];
} unroll_evaluation;

/* ---- training --------------------------------------------------------------------------- */

/* A validation or test split: another data set, or a part of the data. A count is the last sequences (of a text or a
 * series the last steps), with the test after the validation. A share is the last part of each series, otherwise drawn
 * and stratified by class. The first member that is set counts; all 0: none. */
typedef struct unroll_held_out {
    const unroll_dataset *data; /* opened with the model; must outlive the trainer */
    int64_t count;
    double share; /* 0 .. 0.5 */
    int groups;   /* 1: share and count are of whole series, one for each group, not of the last steps of each */
} unroll_held_out;

/* Start from unroll_trainer_config_default(). */
typedef struct unroll_trainer_config {
    size_t size;                  /* sizeof(unroll_trainer_config) */
    const char *task;             /* a name of UNROLL_LIST_TASKS; NULL: the model's, or the one that suits the data */
    const char *task_options;     /* as in unroll_task_configure; NULL: none */
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
    const char *schedule;         /* of the learning rate: a name of UNROLL_LIST_SCHEDULES */
    int64_t warmup;               /* steps of linear rise of the learning rate */
    int64_t total_steps;          /* length of the schedule */
    unroll_held_out validation, test;
    const char *augment; /* random changes of training examples, different in each epoch: "noise=0.1,shift=4,mask=8" in
                            standard deviations of the numbers, steps, consecutive steps; NULL: none */
    const char *sync; /* synchronization of workers (machine.workers): a name of UNROLL_LIST_SYNCS with its argument and
                         options. "every" or NULL: gradients in each update; "local:32,rate=0.7,momentum=0.9".
                         Validations and checkpoints use the mean of the workers */
    const char *divide_by; /* how ranks divide training sequences: "even" or NULL; "length": similar numbers of steps;
                              "stratified": similar numbers of each label; or a column of categories, each of whose
                              values only one rank reads */
    const char *compress;  /* a name of UNROLL_LIST_COMPRESSORS with its argument, "topk:0.01", with error feedback.
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
} unroll_trainer_config;

UNROLL_DEFAULT(unroll_trainer_config)

typedef struct unroll_trainer unroll_trainer;

/* Sets *batch to the largest power of two up to `max` whose training fits into memory with at least 16 updates per
 * epoch, otherwise 1. */
UNROLL_API unroll_status unroll_trainer_choose_batch(unroll_model *model, const unroll_dataset *dataset,
                                                     const unroll_trainer_config *config, int max, int *batch);
/* The model must have the inputs and outputs of the data (unroll_task_configure). Model and data must outlive the
 * trainer. */
UNROLL_API unroll_status unroll_trainer_new(unroll_model *model, const unroll_dataset *dataset,
                                            const unroll_trainer_config *config, unroll_trainer **trainer);
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
/* Describes the validation split or, test 1, the test split: "20 of 100 series: 3, 7, ..", owned by the trainer; "" if
 * there is none, or if it is the end of a text or another data set. */
UNROLL_API const char *unroll_trainer_held_out(const unroll_trainer *trainer, int test);

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
UNROLL_API unroll_status unroll_trainer_metrics(const unroll_trainer *trainer, double loss,
                                                unroll_evaluation *described);

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
UNROLL_API unroll_status unroll_checkpoint_check(const char *directory, unroll_progress *progress); /* is it intact? */
UNROLL_API uint64_t
unroll_trainer_memory_estimate(const unroll_trainer *trainer); /* bytes of its plans and of a checkpoint */
/* ---- evaluating ------------------------------------------------------------------------- */

/* Evaluates a whole data set in the model's task. machine NULL: the default. details as in unroll_trainer_test, or
 * NULL. */
UNROLL_API unroll_status unroll_model_evaluate(unroll_model *model, const unroll_dataset *dataset,
                                               const unroll_machine *machine, unroll_evaluation *found, char **details);
/* Returns whether the model was trained for a task with predictions (if not, see unroll_last_error). */
UNROLL_API bool unroll_model_can_predict(const unroll_model *model);
/* Predicts labels or values, in the user's units, for each sequence or step of a data set in its order; the targets may
 * be missing. Calls take with each prediction as a JSON object and as a line of text without line end, both valid until
 * it returns; a non-zero return value stops it. */
UNROLL_API unroll_status unroll_model_predict(unroll_model *model, const unroll_dataset *dataset,
                                              const unroll_machine *machine,
                                              int (*take)(void *arg, const char *json, const char *line), void *arg);
/* Predicts like unroll_model_predict and prints each prediction once. format: "json" (an object), "csv" (lines of a
 * table; a header comes before the first) or "text". top: the most probabilities or items of a prediction; 0: all. */
UNROLL_API unroll_status unroll_model_print_predictions(unroll_model *model, const unroll_dataset *dataset,
                                                        const unroll_machine *machine, const char *format, int top,
                                                        int (*take)(void *arg, const char *text), void *arg);

#ifdef __cplusplus
}
#endif
#endif
