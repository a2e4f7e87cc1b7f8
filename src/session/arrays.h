/* Whole sequences from NumPy's files, run by a session: the arrays of a file as a batch with states, and the
 * results as arrays. Not a comparison: verify.c does that. */
#ifndef SESSION_ARRAYS_H
#define SESSION_ARRAYS_H
#include "file/npy.h"
#include "model/model.h"

/* The recurrent layers of one name: PyTorch's module, whose states are one array. */
struct stack {
    const char *name;
    uint8_t layer[MODEL_LAYERS_MAX];
    int layers, directions, first_direction;
    uint32_t width, units; /* of h and of the other state */
    bool has_cell;         /* c beside h */
    bool is_even;          /* all layers alike: their states can lie in one array */
};

/* A batch as it lies in a file, made time-major. */
struct arrays {
    const struct unroll_model *model;
    const char *path;
    struct npz *file;
    bool batch_first;
    bool single; /* one sequence: the arrays have no B */
    int T, B;
    float *inputs;    /* [T, B, numbers], or NULL */
    int32_t *tokens;  /* [T, B, token columns], or NULL */
    int32_t *lengths; /* [B], or NULL */
    struct stack stack[MODEL_LAYERS_MAX];
    int stacks;
};

/* What a run gave, in the shapes of the file. */
struct results {
    struct tensor_view *view; /* [count], with names.. */
    char (*name)[80];         /* ..that are here */
    int count;                /* the first is y, then those of inner layers and states */
};

/* Reads and checks; an array of another name than those documented at unroll_run is refused. */
/* A caller's configuration, of any version of the headers. */
unroll_status arrays_config_take(const unroll_arrays_config *given, unroll_arrays_config *config);
unroll_status arrays_open(const unroll_model *, const char *path, const unroll_arrays_config *, struct arrays *);
/* Where rows and steps may be exchanged: what to try, to be put behind the error; "" of one sequence. */
const char *arrays_hint(const struct arrays *a);

void arrays_close(struct arrays *);

unroll_status arrays_run(unroll_model *, const struct arrays *, const unroll_arrays_config *, struct results *);
void results_free(struct results *);

#endif
