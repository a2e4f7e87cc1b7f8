/* unroll_advanced.h: ranks, plans, integer reference of exported C, the library's own checks.
 *
 *     unroll_model *model;
 *     unroll_spec spec = unroll_spec_default();
 *     unroll_plan_config config = unroll_plan_default();
 *     spec.input = 64, spec.output = 64, spec.loss = "mse";
 *     config.mode = UNROLL_TRAIN, config.steps = 100, config.rows = 32;
 *     if (unroll_model_new(&spec, 1, &model) != UNROLL_OK ||
 *         unroll_plan_print(model, &config, stdout, 0) != UNROLL_OK)      // operations, cost and memory of a step
 *         return fprintf(stderr, "%s\n", unroll_last_error()), 1;
 */
#ifndef UNROLL_ADVANCED_H
#define UNROLL_ADVANCED_H
#include "unroll_train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- integers: what exported C computes in int8 ------------------------------------------ */

/* The reference of `unroll export --to c99 --dtype int8`: int8 weights, 16-bit fixed point, one row, step by step, with
 * the bits of the exported C (docs/howto/microcontrollers.md). It measures accuracy and is not fast. */
typedef struct unroll_integer unroll_integer;

/* Typical inputs: formats are chosen from the magnitudes that they cause. All NULL: noise. */
typedef struct unroll_calibration {
    size_t size;           /* sizeof(unroll_calibration) */
    const float *inputs;   /* [steps, rows, input] */
    const int32_t *tokens; /* [steps, rows], or with columns both; each row begins with zero states */
    int steps, rows;
    int operand_bits; /* bits of the operand of products: 16 as in exported C, or 8 as in hardware */
    double
        delta; /* hardware: products keep the previous value of an input that moved by no more than this; -1: never */
} unroll_calibration;

UNROLL_DEFAULT(unroll_calibration, unroll_calibration)

/* The model must outlive the result. calibration may be NULL. */
UNROLL_API unroll_status unroll_integer_new(const unroll_model *model, const unroll_calibration *calibration,
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

/* ---- ranks: one model on many processes ------------------------------------------------- */

/* Each process of a parallel run is a rank, started by mpirun or srun (docs/howto/parallel.md). All ranks make calls
 * with a comm in the same order with the same arguments and get the same status. No call waits longer than the timeout:
 * after UNROLL_COMMUNICATION the other ranks are lost, and only unroll_comm_abort may be called. One thread of a rank
 * makes these calls. */

/* Opens the comm, once per process. transport: "mpi", an MPI library loaded now; "self", this process alone; NULL: mpi
 * if this process was started as one of several ranks. timeout: seconds that a wait may last. */
UNROLL_API unroll_status unroll_comm_open(const char *transport, double timeout, unroll_comm **comm);
/* Worlds of processes that join and leave, over UCX (libucx0). Each process publishes its address, and the members of
 * world `number`, which rises from 1, receive all addresses. A process is in one world at a time and closes it before
 * the next. */
enum { UNROLL_ADDRESS = 4096 }; /* bytes of an address as text, including the final zero */
UNROLL_API unroll_status unroll_ucx_address(char text[UNROLL_ADDRESS]);
UNROLL_API unroll_status unroll_ucx_open(int64_t number, int rank, int ranks, const char *const *addresses,
                                         double timeout, unroll_comm **comm);
/* Makes all waits of an open comm fail from now on, because a rank was lost or joined. From any thread. */
UNROLL_API void unroll_comm_interrupt(unroll_comm *comm);
UNROLL_API void unroll_comm_close(unroll_comm *comm);
UNROLL_API int unroll_comm_rank(const unroll_comm *comm);
UNROLL_API int unroll_comm_ranks(const unroll_comm *comm);
/* Returns the number of ranks according to the launcher's environment; 1 without one. */
UNROLL_API int unroll_comm_launched(void);
/* Returns the name of the all-reduce algorithm with that index (`sum` of unroll_machine); NULL after the last. about
 * may be NULL. */
UNROLL_API const char *unroll_sum_name(int index, const char **about);
/* Collective: all ranks return the first failure of any of them. */
UNROLL_API unroll_status unroll_comm_agree(unroll_comm *comm, unroll_status mine);
/* Sums values over all ranks, in place. */
UNROLL_API unroll_status unroll_comm_sum(unroll_comm *comm, double *numbers, int count);
/* Sets the seconds of this rank with sums or messages under way (communication), and those in which it only waited
 * (exposed). */
UNROLL_API void unroll_comm_seconds(const unroll_comm *comm, double *communication, double *exposed);
/* Returns the bytes that this rank has sent, without MPI's own sums (sum = "native"). */
UNROLL_API uint64_t unroll_comm_sent(const unroll_comm *comm);
/* After a failed wait: returns the first rank that still answers, which may report for all; before, -1. */
UNROLL_API int unroll_comm_first(const unroll_comm *comm);
/* Ends all ranks with this exit code. */
UNROLL_API void unroll_comm_abort(unroll_comm *comm, int code);

/* ---- the plan and the library's own checks --------------------------------------------- */

typedef struct unroll_plan_config {
    size_t size; /* sizeof(unroll_plan_config) */
    unroll_mode mode;
    int steps, rows, stateful;
    const char *optimizer;
    unroll_machine machine;  /* settings of the plan, without a comm those of rank 0 */
    const char *topology;    /* estimates memory and time there by the device's compiler: "v5e:2x2"; NULL: none */
    const unroll_spec *spec; /* with model NULL: the network, whose weights are not allocated */
} unroll_plan_config;

UNROLL_DEFAULT(unroll_plan_config, unroll_plan)
/* Prints the operations, their cost, and the memory of each segment, as a table or one JSON object; for a GPU also the
 * way, tiling and memory of each recurrence, for this machine's GPU or an H200. With a topology: an estimate of the
 * memory and time of the step's program there, without such a device. model NULL: uses config->spec. */
UNROLL_API unroll_status unroll_plan_print(const unroll_model *model, const unroll_plan_config *config, FILE *file,
                                           int json);

/* Sets the maximum bytes that a rank of the plan's workers sends between updates, and the number of updates (*every) in
 * which it does. sync and compress as in unroll_train_config; 0 for "every" without compression, which the plan itself
 * contains. */
UNROLL_API unroll_status unroll_sync_bytes(const unroll_plan_config *config, const char *sync, const char *compress,
                                           double *bytes, double *every);

/* ---- the planner: how a training is best divided among the ranks of a cluster ------------- */

typedef struct unroll_planner_config {
    size_t size;                    /* sizeof(unroll_planner_config) */
    const unroll_plan_config *plan; /* for one process; the planner chooses split, workers, chunks and sum of its
                                       machine, except a sum other than NULL or "auto" */
    const char *network;            /* the file of the cluster (docs/reference/formats.md) */
    int hosts;                      /* maximum; 0: exactly `ranks` ranks */
    int ranks;
    const char *goal;            /* "time", "energy", "memory" or "money" */
    const char *sync, *compress; /* as in unroll_train_config; NULL: the planner chooses */
    double longer;               /* lowers clocks if a step needs at most this multiple of its time; 0: does not */
} unroll_planner_config;

/* A division, and the modelled cost of an update. */
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

UNROLL_DEFAULT(unroll_planner_config, unroll_planner)
/* Fills choice with at most `count` divisions, the best first; sets *found to their number and why to the reason for
 * the first. model NULL: uses config->plan->spec. Returns an error if no division fits. All ranks get the same result
 * from the same file, model and configuration. */
UNROLL_API unroll_status unroll_planner_choose(const unroll_model *model, const unroll_planner_config *config,
                                               unroll_choice *choice, int count, int *found, char *why, size_t size);

typedef struct unroll_difference {
    size_t size;     /* initialize with { .size = sizeof(unroll_difference) } */
    double absolute; /* largest absolute difference */
    double relative; /* largest difference of an array divided by its largest magnitude */
    char array[80];  /* name of that array */
} unroll_difference;

/* Compares a model's results with those of another tool in a .npz: "y" as in unroll_run, or [B, output] (the last step
 * of each row), "hn", "cn", as far as present. Steps after the end of a row are ignored. */
UNROLL_API unroll_status unroll_verify(unroll_model *model, const char *reference, const unroll_arrays_config *config,
                                       unroll_difference *difference);

/* Measures the peak of an ISA (NULL: the best) with that number of threads (0: one per available processor) for a tenth
 * of a second, in GFLOP/s, two per fused multiply-add. For amx: floats as sums of six products of their bf16 parts. */
UNROLL_API unroll_status unroll_measure_peak(const char *isa, int threads, double *gflops);

/* Returns the name of the optional library with that index; NULL after the last. Sets its purpose, its file on this
 * machine or NULL, and how to install it; the last two are valid until this thread's next call. */
UNROLL_API const char *unroll_library_name(int index, const char **file, const char **purpose, const char **fix);

/* Compares every ISA with the reference, and gradients with finite differences, on small models of every cell. report
 * receives one line per check. Returns UNROLL_FAILURE if one fails. */
UNROLL_API unroll_status unroll_self_check(void (*report)(void *arg, const char *what, int passed), void *arg);

#ifdef __cplusplus
}
#endif
#endif
