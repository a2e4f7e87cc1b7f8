/* An interpreter of the StableHLO text that Unroll writes, for tests: what a program means, without XLA. It is
 * also their verifier: every operand must be defined and have the type that is said, every result the type that
 * follows from its operands and attributes, every slice must lie inside. Knows the operations that src/device/xla
 * emits and no others; slow, in double where the type is a float, rounded to the type after each operation. */
#ifndef DEVICE_ORACLE_H
#define DEVICE_ORACLE_H
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oracle_kind { ORACLE_F32, ORACLE_BF16, ORACLE_I32, ORACLE_U8, ORACLE_U32, ORACLE_U64, ORACLE_I1, ORACLE_KINDS };
enum { ORACLE_AXES = 6, ORACLE_OPERANDS = 512, ORACLE_REGIONS = 2 };

struct tensor_type {
    enum oracle_kind kind;
    int rank;
    int64_t dim[ORACLE_AXES];
};
union cell {
    double f;
    uint64_t u;
}; /* u: of i32, as int64_t */
struct tensor {
    struct tensor_type type;
    int64_t count;
    int users;
    union cell at[];
};

struct rule;
struct region;
struct operation {
    const struct rule *rule;
    const char *attribute, *attribute_end; /* the text between { and } */
    int line, operands, operand[ORACLE_OPERANDS];
    int results, result; /* values result, result + 1, .. */
    struct region *region[ORACLE_REGIONS];
};
struct region {
    int argument, arguments, operations, returns, returned[ORACLE_OPERANDS];
    struct operation *operation;
};

struct oracle {
    char *text;
    const char *at; /* while reading */
    int line;
    struct tensor_type *type;     /* [values] */
    int values, names, *value_of; /* value_of[%vN]: its first value, or -1: not in sight */
    struct region main;
    int devices;                /* that the module says it is for */
    int alias[ORACLE_OPERANDS]; /* [arguments] the result that takes its memory, or -1 */
    jmp_buf broken;
    char error[400];
};

/* NULL: there is an error, in `error`. */
struct oracle *oracle_read(const char *text, size_t size, char *error, size_t room);
void oracle_free(struct oracle *);
/* Runs the program on each of the devices in step, [devices][arguments] to [devices][results]; false: `error`. */
bool oracle_run(struct oracle *, int devices, struct tensor *const *const *argument, struct tensor **const *result);

/* ---- tensors --------------------------------------------------------------------------- */

int64_t type_count(const struct tensor_type *);
size_t kind_bytes(enum oracle_kind); /* in the host's memory */
bool same_type(const struct tensor_type *, const struct tensor_type *);
struct tensor *tensor_new(const struct tensor_type *); /* one user */
void tensor_free(struct tensor *);                     /* by its last user */
void tensor_from(struct tensor *, const void *host);
void tensor_to(const struct tensor *, void *host);

/* ---- the operations -------------------------------------------------------------------- */

/* What an operation is: how many operands it has (-1: any), which type its result has, and its value. Without `run`
 * all devices make it together, and without both it is a loop. */
struct rule {
    const char *name;
    int operands, regions;
    void (*type)(struct oracle *, const struct operation *, const struct tensor_type *operand, struct tensor_type *);
    void (*run)(struct oracle *, const struct operation *, struct tensor *const *operand, struct tensor *result);
};
extern const struct rule oracle_rules[];

/* oracle_dot.c */
void oracle_type_dot(struct oracle *, const struct operation *, const struct tensor_type *, struct tensor_type *);
void oracle_run_dot(struct oracle *, const struct operation *, struct tensor *const *, struct tensor *);
/* oracle_devices.c: of one operand. */
void oracle_type_all_reduce(struct oracle *, const struct operation *, const struct tensor_type *,
                            struct tensor_type *);
void oracle_type_all_gather(struct oracle *, const struct operation *, const struct tensor_type *,
                            struct tensor_type *);
void oracle_type_reduce_scatter(struct oracle *, const struct operation *, const struct tensor_type *,
                                struct tensor_type *);
void oracle_together(struct oracle *, const struct operation *, int devices, struct tensor *const *operand,
                     struct tensor *const *result);

void oracle_fail(struct oracle *, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/* The text after "name = " of an attribute; ends the reading or the run where there is none. */
const char *oracle_attribute(struct oracle *, const struct operation *, const char *name);
/* Numbers of "array<i64: 1, 2>", "[1, 2]"; returns how many. */
int oracle_numbers(struct oracle *, const char *text, int64_t *number);
/* Of a region that is one operation on its two arguments: its rule. */
const struct rule *oracle_folding(struct oracle *, const struct operation *);
double oracle_round(enum oracle_kind, double);

#endif
