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

/* The reference of `unroll export --to c99 --dtype int8`: int8 weights, 16-bit fixed point, one row, step by step,
 * with the bits of the exported C (docs/howto/microcontrollers.md). To measure what that costs; not fast. */
typedef struct unroll_integer unroll_integer;

/* Inputs like those to come: formats are chosen by the magnitudes that they cause. All NULL: noise. */
typedef struct unroll_calibration {
    size_t size;           /* sizeof(unroll_calibration) */
    const float *inputs;   /* [steps, rows, input], or .. */
    const int32_t *tokens; /* .. [steps, rows], of columns both; each row begins with zero states */
    int steps, rows;
    int operand_bits; /* of what weights multiply: 16, as exported C has it, or 8, as hardware has it */
    double delta; /* hardware's: a number that is no farther than this from what products had of it last stays so for
                     them; -1: all are as they are */
} unroll_calibration;

UNROLL_API unroll_calibration unroll_calibration_default(void);

/* The model must outlive it. calibration may be NULL. */
UNROLL_API unroll_status unroll_integer_new(const unroll_model *model, const unroll_calibration *calibration,
                                            unroll_integer **integer);
UNROLL_API void unroll_integer_free(unroll_integer *integer);
/* tokens [token columns] and inputs [numbers], NULL where the model has none of them. Inputs beyond their format
 * saturate, NaN counts as 0; a token that there is none of gives zeros. */
UNROLL_API unroll_status unroll_integer_step(unroll_integer *integer, const int32_t *tokens, const float *inputs,
                                             float *outputs);
/* The same in integers alone, for hardware: inputs [numbers] in units of 2^-fraction (unroll_integer_fractions),
 * outputs [outputs] as they are before they become floats. Refused where one of the two is given and not needed. */
UNROLL_API unroll_status unroll_integer_step_raw(unroll_integer *integer, const int32_t *tokens, const int16_t *inputs,
                                                 int32_t *outputs);
/* Of the inputs (0 where there are no numbers) and of the outputs: an integer q stands for q 2^-fraction. */
UNROLL_API void unroll_integer_fractions(const unroll_integer *integer, int *inputs, int *outputs);
UNROLL_API void unroll_integer_reset(unroll_integer *integer); /* a new sequence begins: states are zeros */

/* ---- ranks: one model on many processes ------------------------------------------------- */

/* Each process of a parallel run is a rank, started by mpirun or srun (docs/howto/parallel.md). What takes a comm is
 * called by all ranks in the same order with the same arguments, gives all of them the same status, and waits for
 * nobody longer than the timeout: after UNROLL_COMMUNICATION the other ranks are lost, and only unroll_comm_abort is
 * left to do. One thread of a rank makes these calls. */

/* transport: "mpi", an MPI library found now; "self", this process alone; NULL: mpi if we were started as one of
 * several ranks. Seconds that a wait may last. Once a process. */
UNROLL_API unroll_status unroll_comm_open(const char *transport, double timeout, unroll_comm **comm);
/* Worlds of processes that come and go, over UCX (libucx0): each tells its address, somebody tells all of them to those
 * that begin the world `number`, which rises from 1; a process is in one world at a time, and closes it before the
 * next. */
enum { UNROLL_ADDRESS = 4096 }; /* bytes of a text, with its end */
UNROLL_API unroll_status unroll_ucx_address(char text[UNROLL_ADDRESS]);
UNROLL_API unroll_status unroll_ucx_open(int64_t number, int rank, int ranks, const char *const *addresses,
                                         double timeout, unroll_comm **comm);
/* From any thread, while the comm is open: its waits fail from now on, because another rank is lost or one has come. */
UNROLL_API void unroll_comm_interrupt(unroll_comm *comm);
UNROLL_API void unroll_comm_close(unroll_comm *comm);
UNROLL_API int unroll_comm_rank(const unroll_comm *comm);
UNROLL_API int unroll_comm_ranks(const unroll_comm *comm);
/* How many ranks whatever started this process says that it started; 1 if nothing says so. */
UNROLL_API int unroll_comm_launched(void);
/* How ranks can add up gradients (`sum` of unroll_machine), by name; NULL after the last. about: NULL, or set. */
UNROLL_API const char *unroll_sum_name(int index, const char **about);
/* The first failure of a rank becomes everybody's. */
UNROLL_API unroll_status unroll_comm_agree(unroll_comm *comm, unroll_status mine);
/* Sums of all ranks, in place. */
UNROLL_API unroll_status unroll_comm_sum(unroll_comm *comm, double *numbers, int count);
/* Seconds of this rank so far in which sums were under way or a message was waited for; and of them those in which it
 * did nothing but wait: exposed. */
UNROLL_API void unroll_comm_seconds(const unroll_comm *comm, double *communication, double *exposed);
/* Bytes of all messages of this rank so far; what MPI's own sums (sum = "native") send is not known and not counted. */
UNROLL_API uint64_t unroll_comm_sent(const unroll_comm *comm);
/* After a wait that failed: the first rank that still answers, which may report for all; before, -1. */
UNROLL_API int unroll_comm_first(const unroll_comm *comm);
/* Ends all ranks with this exit code. */
UNROLL_API void unroll_comm_abort(unroll_comm *comm, int code);

/* ---- the plan and the library's own checks --------------------------------------------- */

typedef struct unroll_plan_config {
    size_t size; /* sizeof(unroll_plan_config) */
    unroll_mode mode;
    int steps, rows, stateful;
    const char *optimizer;
    unroll_machine machine;  /* the plan is made for it, without a comm for rank 0; cuda: and how it runs */
    const char *topology;    /* what it would take there, by the device's compiler: "v5e:2x2"; NULL: the plan */
    const unroll_spec *spec; /* with model = NULL: of such a network, whose weights are not made */
} unroll_plan_config;

UNROLL_API unroll_plan_config unroll_plan_default(void);
/* Prints the operations, their cost, and the memory of each segment: a table, or one JSON object; for a GPU also the
 * way, tiling and memory of each recurrence, by the facts of the one that is here, or of an H200. With a topology: what
 * the step's program would take of memory and time there, estimated; no such device is needed. model NULL: of
 * config->spec. */
UNROLL_API unroll_status unroll_plan_print(const unroll_model *model, const unroll_plan_config *config, FILE *file,
                                           int json);

/* What a rank of such a plan's workers sends between updates, at most: bytes, each so many updates.  sync and compress:
 * as in unroll_train_config; of "every" without compression 0: the plan itself says it. */
UNROLL_API unroll_status unroll_sync_bytes(const unroll_plan_config *config, const char *sync, const char *compress,
                                           double *bytes, double *every);

/* ---- the planner: how a training is best divided among the ranks of a cluster ------------- */

typedef struct unroll_planner_config {
    size_t size;                    /* sizeof(unroll_planner_config) */
    const unroll_plan_config *plan; /* of one process: split, workers, chunks and sum of its machine are what is chosen;
                                       a sum that is not NULL or "auto" is taken as it is */
    const char *network;            /* the file of the cluster (docs/reference/formats.md) */
    int hosts;                      /* at most so many; 0: so many ranks, no fewer: */
    int ranks;
    const char *goal;            /* "time", "energy", "memory" or "money" */
    const char *sync, *compress; /* as in unroll_train_config; NULL: chosen, too */
    double longer; /* clocks are lowered where a step then takes at most so many times as long; 0: they are not */
} unroll_planner_config;

/* A way, and what an update costs: modelled from the file. */
typedef struct unroll_choice {
    size_t size; /* begin with { .size = sizeof(unroll_choice) } */
    unroll_split split;
    int workers, chunks, ranks;
    char sum[24], sync[48], compress[24];
    double seconds, joules, money; /* of an update; 0: the file does not say */
    double memory, sent;           /* bytes: of the fullest rank; that it sends in an update */
    double busy;                   /* of the ranks' time the part in which they compute */
    double saved, slower;          /* by lower clocks: part of the joules; of the seconds more */
} unroll_choice;

UNROLL_API unroll_planner_config unroll_planner_default(void);
/* The best way first, at most `count` of them (*found); the sentence says why the first is. model NULL: of
 * config->plan->spec. Refused where no way fits. The same file, model and configuration give the same on all ranks. */
UNROLL_API unroll_status unroll_planner_choose(const unroll_model *model, const unroll_planner_config *config,
                                               unroll_choice *choice, int count, int *found, char *why, size_t size);

typedef struct unroll_difference {
    size_t size;     /* begin with { .size = sizeof(unroll_difference) } */
    double absolute; /* the largest between a number of the reference and ours */
    double relative; /* the largest of an array's, divided by the array's largest magnitude */
    char array[80];  /* whose relative difference that is */
} unroll_difference;

/* Compares what a model computes with what its .npz says that another tool computed: "y" as of unroll_run, or
 * [B, output]: the last step of each row, "hn", "cn", as many of them as there are. Steps after the end of a row don't
 * count. */
UNROLL_API unroll_status unroll_verify(unroll_model *model, const char *reference, const unroll_arrays_config *config,
                                       unroll_difference *difference);

/* The fused multiply-adds that an ISA (NULL: the best) can do on so many threads (0: one for each processor
 * that we may use), in 10^9 operations a second, two for each: the best of a tenth of a second. With amx those of
 * floats as sums of six products of their bf16 parts. */
UNROLL_API unroll_status unroll_measure_peak(const char *isa, int threads, double *gflops);

/* The libraries that are used where they are found, by name: what it is for, its file here or NULL, and how to get it.
 * The last two last until this thread's next call. NULL ends. */
UNROLL_API const char *unroll_library_name(int index, const char **file, const char **purpose, const char **fix);

/* Compares every ISA with the reference, and gradients with finite differences, on small models of every
 * cell; report gets one line a check. Returns UNROLL_FAILURE if one fails. */
UNROLL_API unroll_status unroll_self_check(void (*report)(void *arg, const char *what, int passed), void *arg);

#ifdef __cplusplus
}
#endif
#endif
