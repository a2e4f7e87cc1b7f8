/* An interpreter of the StableHLO text that Unroll writes, for tests: runs a program without XLA. It also verifies it.
 * Every operand must be defined and have the stated type, every result the type that follows from its operands and
 * attributes, every slice must be in bounds. Only the operations that extensions/xla emits are supported. It is slow:
 * floats are computed in double and rounded to the type after each operation. */
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
    const char *at; /* current position of the parser */
    int line;
    struct tensor_type *type;     /* [values] */
    int values, names, *value_of; /* value_of[%vN]: its first value, or -1: out of scope */
    struct region main;
    int devices;                /* number of devices stated by the module */
    int alias[ORACLE_OPERANDS]; /* [arguments] the result that reuses its memory, or -1 */
    jmp_buf broken;
    char error[400];
};

/* Parses and verifies a program. Returns NULL on failure, with a message in `error`. */
struct oracle *oracle_read(const char *text, size_t size, char *error, size_t room);
void oracle_free(struct oracle *);
/* Runs the program on all devices in lockstep: [devices][arguments] to [devices][results]. On failure, returns false
 * and sets `error`. */
bool oracle_run(struct oracle *, int devices, struct tensor *const *const *argument, struct tensor **const *result);

/* ---- tensors --------------------------------------------------------------------------- */

int64_t type_count(const struct tensor_type *);
size_t kind_bytes(enum oracle_kind); /* in host memory */
bool same_type(const struct tensor_type *, const struct tensor_type *);
struct tensor *tensor_new(const struct tensor_type *); /* with a reference count of 1 */
void tensor_free(struct tensor *);                     /* drops a reference */
void tensor_from(struct tensor *, const void *host);
void tensor_to(const struct tensor *, void *host);

/* ---- the operations -------------------------------------------------------------------- */

/* Describes an operation: number of operands (-1: any), type of its result, and its value. Without `run` it is computed
 * by all devices together; without either it is a loop. */
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
/* oracle_devices.c: operations with one operand. */
void oracle_type_all_reduce(struct oracle *, const struct operation *, const struct tensor_type *,
                            struct tensor_type *);
void oracle_type_all_gather(struct oracle *, const struct operation *, const struct tensor_type *,
                            struct tensor_type *);
void oracle_type_reduce_scatter(struct oracle *, const struct operation *, const struct tensor_type *,
                                struct tensor_type *);
void oracle_together(struct oracle *, const struct operation *, int devices, struct tensor *const *operand,
                     struct tensor *const *result);

void oracle_fail(struct oracle *, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/* Returns the text after "name = " of an attribute; ends the parsing or the run if it is missing. */
const char *oracle_attribute(struct oracle *, const struct operation *, const char *name);
/* Parses the numbers of "array<i64: 1, 2>" or "[1, 2]" and returns their count. */
int oracle_numbers(struct oracle *, const char *text, int64_t *number);
/* Returns the rule of a region that consists of one operation on its two arguments. */
const struct rule *oracle_folding(struct oracle *, const struct operation *);
double oracle_round(enum oracle_kind, double);

#endif
