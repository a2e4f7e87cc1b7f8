/* Runs whole sequences from NumPy files in a session: converts the arrays of a file to a batch with states, and the
 * results to arrays. verify.c compares them. */
#pragma once
#include "io/npy.h"
#include "model/model.h"

/* The recurrent layers with one name: a module in PyTorch, whose states are one array. */
struct stack {
    const char *name;
    uint8_t layer[MODEL_LAYERS_MAX];
    int layers, directions, first_direction;
    uint32_t width, units; /* of h and of the other state */
    bool has_cell;         /* it has c in addition to h */
    bool is_even;          /* all layers have the same widths: their states fit in one array */
};

/* The batch of a file, in time-major order. */
struct arrays {
    const struct unroll_model *model;
    const char *path;
    struct npz *file;
    bool batch_first;
    bool single; /* one sequence: the arrays have no axis B */
    int T, B;
    float *inputs;    /* [T, B, numbers], or NULL */
    int32_t *tokens;  /* [T, B, token columns], or NULL */
    int32_t *lengths; /* [B], or NULL */
    struct stack stack[MODEL_LAYERS_MAX];
    int stacks;
};

/* The results of a run, in the shapes of the file. */
struct results {
    struct tensor_view *view; /* [count], with their names in: */
    char (*name)[80];         /* [count] */
    int count;                /* y comes first, then inner layers and states */
};

/* Copies a caller's configuration of any header version. */
unroll_status arrays_config_take(const unroll_run_config *given, unroll_run_config *config);
/* Replaces the model by its copy in units and returns the copy in *own, or NULL if the numbers are raw. The caller
 * frees it. */
unroll_status arrays_model(unroll_model **model, const unroll_run_config *config, unroll_model **own);
/* Reads and checks the arrays of a file. Fails if a name is not documented at unroll_model_run. */
unroll_status arrays_open(const unroll_model *, const char *path, const unroll_run_config *, struct arrays *);
/* Returns a hint for error messages about shapes, if rows and steps may be exchanged; "" for a single sequence. */
const char *arrays_hint(const struct arrays *a);

void arrays_close(struct arrays *);

/* Runs the arrays in a session of their own. results_free, unless it fails. */
unroll_status arrays_run(unroll_model *, const struct arrays *, const unroll_run_config *, struct results *);
void results_free(struct results *);
