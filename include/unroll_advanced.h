/* unroll_advanced.h: plans, measurements of sessions, integer reference of exported C, the library's own checks.
 *
 *     unroll_model *model;
 *     unroll_model_config network = unroll_model_config_default();
 *     unroll_plan_config config = unroll_plan_config_default();
 *     network.input = 64, network.output = 64, network.loss = "mse";
 *     config.mode = UNROLL_TRAIN, config.steps = 100, config.rows = 32;
 *     if (unroll_model_new(&network, 1, &model) != UNROLL_OK ||
 *         unroll_plan_print(model, &config, stdout, 0) != UNROLL_OK)      // operations, cost and memory of a step
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 */
#ifndef UNROLL_ADVANCED_H
#define UNROLL_ADVANCED_H
#include "unroll_ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- measurements and counters of sessions ----------------------------------------------- */

/* The number of forwards and updates so far, which dropout masks and optimizers use; checkpoints store them. */
UNROLL_API void unroll_session_counters(const unroll_session *session, int64_t *forwards, int64_t *updates);
UNROLL_API void unroll_session_set_counters(unroll_session *session, int64_t forwards, int64_t updates);
/* The loss scale of fp16 training, and the updates since it changed; checkpoints store them. Without a loss scale both
 * are 0, and setting has no effect. */
UNROLL_API void unroll_session_loss_scale(const unroll_session *session, double *scale, int64_t *updates);
UNROLL_API void unroll_session_set_loss_scale(unroll_session *session, double scale, int64_t updates);

/* The time of one operation of a session's plan. */
typedef struct unroll_operation {
    size_t size;         /* initialize with { .size = sizeof(unroll_operation) } */
    char name[80];       /* as printed by unroll_plan_print: "rnn g.l0" */
    double min, seconds; /* of its fastest run and of all runs, until the last thread of its queue has ended */
    double flops;        /* planned FLOPs of a run: all steps of all rows */
    int64_t runs;
} unroll_operation;

/* Sets *operation to the one with that index and returns true; false after the last one, without `profile`, and if
 * operation->size is wrong (see unroll_last_error). */
UNROLL_API bool unroll_session_operation(const unroll_session *session, int index, unroll_operation *operation);

/* Waits, and sets *seconds to the time from the start of the first run since the last call to the end of the last one,
 * by the device's clock (on GPUs events): host time between runs is included. The first call starts the measurement and
 * sets 0, as do calls without a run. Returns an error if the device has no such clock. */
UNROLL_API unroll_status unroll_session_seconds(unroll_session *session, double *seconds);

/* Returns how often the work of a list of devices was rebalanced since the first session of the model. part[room] gets
 * each rank's share of an update's FLOPs; *ranks their number, 0: no list, or each process is one rank (then use
 * unroll_trainer_shares). */
UNROLL_API int unroll_session_shares(const unroll_session *session, double *part, int room, int *ranks);

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

UNROLL_API unroll_status unroll_trainer_pieces(const unroll_trainer *trainer,
                                               unroll_pieces *pieces); /* of its sessions */
/* As unroll_session_shares; with `balance`, *ranks is 0 before the first rebalancing. */
UNROLL_API int unroll_trainer_shares(const unroll_trainer *trainer, double *part, int room, int *ranks);

/* ---- integers: what exported C computes in int8 ------------------------------------------ */

/* The reference of `unroll export --to c99 --dtype int8`: int8 weights, 16-bit fixed point, one row, step by step, with
 * the bits of the exported C (docs/howto/microcontrollers.md). It measures accuracy and is not fast. */
typedef struct unroll_integer unroll_integer;

/* Typical inputs: formats are chosen from the magnitudes that they cause. All NULL: noise. */
typedef struct unroll_integer_config {
    size_t size;           /* sizeof(unroll_integer_config) */
    const float *inputs;   /* [steps, rows, input] */
    const int32_t *tokens; /* [steps, rows], or with columns both; each row begins with zero states */
    int steps, rows;
    int operand_bits; /* bits of the operand of products: 16 as in exported C, or 8 as in hardware */
    double
        delta; /* hardware: products keep the previous value of an input that moved by no more than this; -1: never */
    int raw;   /* as in unroll_run_config, like series */
    const char *series;
} unroll_integer_config;

UNROLL_DEFAULT(unroll_integer_config)

/* The model must outlive the result. Its numbers are in the units of the data unless calibration->raw is set.
 * calibration may be NULL. */
UNROLL_API unroll_status unroll_integer_new(const unroll_model *model, const unroll_integer_config *calibration,
                                            unroll_integer **integer);
UNROLL_API void unroll_integer_free(unroll_integer *integer);
/* Computes one step: tokens [token columns] and inputs [numbers], NULL if the model has none. Inputs beyond their
 * format saturate, NaN counts as 0; an unknown token gives zeros. */
UNROLL_API unroll_status unroll_integer_step(unroll_integer *integer, const int32_t *tokens, const float *inputs,
                                             float *outputs);
/* The same in integers only, for hardware: inputs [numbers] in units of 2^-fraction (unroll_integer_fractions), outputs
 * [outputs] before their conversion to floats. An unused array must be NULL. */
UNROLL_API unroll_status unroll_integer_step_raw(unroll_integer *integer, const int32_t *tokens, const int16_t *inputs,
                                                 int32_t *outputs);
/* Sets the fractions of inputs (0 without numbers) and outputs: an integer q means q 2^-fraction. */
UNROLL_API void unroll_integer_fractions(const unroll_integer *integer, int *inputs, int *outputs);
UNROLL_API void unroll_integer_reset(unroll_integer *integer); /* starts a new sequence from zero states */

/* ---- the plan and the library's own checks --------------------------------------------- */

typedef struct unroll_plan_config {
    size_t size; /* sizeof(unroll_plan_config) */
    unroll_mode mode;
    int steps, rows, stateful;
    const char *optimizer;
    unroll_machine machine; /* settings of the plan, without a comm those of rank 0 */
    const char *topology;   /* estimates memory and time there by the device's compiler: "v5e:2x2"; NULL: none */
    const unroll_model_config *model_config; /* with model NULL: the network, whose weights are not allocated */
} unroll_plan_config;

UNROLL_DEFAULT(unroll_plan_config)
/* Prints the operations, their cost, and the memory of each segment, as a table or one JSON object; for a GPU also the
 * way, tiling and memory of each recurrence, for this machine's GPU or an H200. With a topology: an estimate of the
 * memory and time of the step's program there, without such a device. model NULL: uses config->model_config. */
UNROLL_API unroll_status unroll_plan_print(const unroll_model *model, const unroll_plan_config *config, FILE *file,
                                           bool json);

/* Sets the maximum bytes that a rank of the plan's workers sends between updates, and the number of updates (*every) in
 * which it does. sync and compress as in unroll_trainer_config; 0 for "every" without compression, which the plan
 * itself contains. */
UNROLL_API unroll_status unroll_plan_sync_bytes(const unroll_plan_config *config, const char *sync,
                                                const char *compress, double *bytes, double *every);

/* ---- the planner: how a training is best divided among the ranks of a cluster ------------- */

typedef struct unroll_planner_config {
    size_t size;                    /* sizeof(unroll_planner_config) */
    const unroll_plan_config *plan; /* for one process; the planner chooses split, workers, chunks and sum of its
                                       machine, except a sum other than NULL or "auto" */
    const char *network;            /* the file of the cluster (docs/reference/formats.md) */
    int hosts;                      /* maximum; 0: exactly `ranks` ranks */
    int ranks;
    const char *goal;            /* "time", "energy", "memory" or "money" */
    const char *sync, *compress; /* as in unroll_trainer_config; NULL: the planner chooses */
    double longer;               /* lowers clocks if a step needs at most this multiple of its time; 0: does not */
} unroll_planner_config;

/* A division, and the modeled cost of an update. */
typedef struct unroll_choice {
    size_t size; /* initialize with { .size = sizeof(unroll_choice) } */
    unroll_split split;
    int workers, chunks, ranks;
    char sum[24], sync[48], compress[24];
    double seconds, joules, money; /* per update; 0: not in the file */
    double memory, sent;           /* bytes: of the fullest rank; sent by it per update */
    double busy;                   /* fraction of the ranks' time in which they compute */
    double saved, slower;          /* by lower clocks: fraction of the joules saved; fraction of additional time */
} unroll_choice;

UNROLL_DEFAULT(unroll_planner_config)
/* Fills choice with at most `count` divisions, the best first; sets *found to their number and why to the reason for
 * the first. model NULL: uses config->plan->model_config. Returns an error if no division fits. All ranks get the same
 * result from the same file, model and configuration. */
UNROLL_API unroll_status unroll_planner_choose(const unroll_model *model, const unroll_planner_config *config,
                                               unroll_choice *choice, int count, int *found, char *why, size_t size);

/* Measures the peak of an ISA (NULL: the best) with that number of threads (0: one per available processor) for a tenth
 * of a second, in GFLOP/s, two per fused multiply-add. For amx: floats as sums of six products of their bf16 parts. */
UNROLL_API unroll_status unroll_measure_peak(const char *isa, int threads, double *gflops);

/* Compares every ISA with the reference, and gradients with finite differences, on small models of every cell. report
 * receives one line per check. Returns UNROLL_FAILURE if one fails. */
UNROLL_API unroll_status unroll_self_check(void (*report)(void *arg, const char *what, bool passed), void *arg);

#ifdef __cplusplus
}
#endif
#endif
