/* The plan: a flat list of coarse operations on views of buffers, made from a model by passes. Devices execute or
 * translate it, the cost model prices it, `unroll plan` prints it. It is independent of devices and of names of cells;
 * docs/internals/plan.md describes every operation. */
#pragma once
#include "comm/comm.h"
#include "base/dtype.h"
#include "base/share.h"
#include "base/status.h"
#include "model/model.h"
#include "plan/ir/op.h"
#include "plan/ir/traits.h"

/* ---- terms of the passes --------------------------------------------------------------- */

/* The meaning of a buffer's axis. Only AX_T, AX_B, AX_U and AX_S are ever cut. */
enum axis {
    AX_T,   /* time steps */
    AX_B,   /* rows of the batch */
    AX_G,   /* gates, states or other fields of a unit */
    AX_U,   /* units of a layer, if each rank may own some of them */
    AX_K,   /* a width that is never cut: operand of a product, classes, symbols */
    AX_S,   /* shards of the batch whose gradients are summed separately, then in a tree */
    AX_ONE, /* the only step of each row after a pool, instead of T; size 1 */
    AX_N
};

/* The axes of the mesh: every parallel strategy cuts one of them. */
enum mesh { M_BATCH, M_TIME, M_LAYER, M_HIDDEN, M_N };

/* The contents of a buffer on this rank, along one mesh axis. */
enum state {
    WHOLE,  /* everything, the same on all ranks of the axis */
    SPLIT,  /* this rank's share */
    PARTIAL /* a partial sum, to be summed over the ranks of the axis */
};

/* The effect of cutting an axis on an operation. */
enum role {
    ABSENT,  /* the operation has no such axis */
    FREE,    /* no effect */
    SUMMED,  /* results without the axis become partial sums */
    CARRIED, /* each step needs the previous one: communicated inside the operation */
    ENTIRE   /* cannot be cut */
};

/* Lifetime classes. A plan contains offsets; an executable assigns each segment an address. */
#define SEGMENTS(SEGMENT)                                                       \
    SEGMENT(PARAM)      /* master weights: the same offsets in every plan of a model and mesh */ \
    SEGMENT(COPY)       /* weights packed for forward products, likewise */     \
    SEGMENT(BACK)       /* weights packed for backward products, separate per executable */ \
    SEGMENT(OPT)        /* optimizer state, likewise */                         \
    SEGMENT(GRAD)       /* sums of gradients, likewise */                       \
    SEGMENT(CARRY)      /* recurrent state between runs */                      \
    SEGMENT(STEP)       /* activations: memory is reused within a step */       \
    SEGMENT(SCRATCH)    /* used by one operation only */                        \
    SEGMENT(IO)         /* inputs and results accessed by the host */           \
    SEGMENT(VALUES)     /* values that change from step to step, and sums of losses */

enum segment {
#define SEGMENT_ENUM(name) SEG_##name,
    SEGMENTS(SEGMENT_ENUM)
#undef SEGMENT_ENUM
        SEG_N
};

/* Phases run one after the other. Within a phase only waits order operations of different queues. */
#define PHASES(PHASE)                                                             \
    PHASE(FORWARD,  forward)     /* outputs and the loss; dz replaces z */        \
    PHASE(BACKWARD, backward)    /* adds to the gradients */                     \
    PHASE(SUM,      sum)         /* gradients and losses over shards and ranks, their norm */ \
    PHASE(UPDATE,   update)      /* optimizer and packed copies; clears the gradients */      \
    PHASE(PACK,     pack)        /* only packed copies, after weights were loaded */

enum phase {
#define PHASE_ENUM(NAME, name) PHASE_##NAME,
    PHASES(PHASE_ENUM)
#undef PHASE_ENUM
        PHASE_N
};

/* Backward and sum in one, in list order. A device runs this range if they overlap: sums over ranks are in progress
 * while the rest of backward computes. */
enum { PHASE_BACKWARD_SUM = PHASE_N };

/* ---- the list -------------------------------------------------------------------------- */

enum { DEPTHS = MODEL_LAYERS_MAX + 1, TRAVERSALS_MAX = 2 * DEPTHS };
enum { QUEUES_MAX = 8, CHUNKS_MAX = 64 };

struct buffer {
    char name[112];
    enum dtype dtype;
    enum segment segment;
    int layout; /* 0: dense, row-major; otherwise the device's own (traits.h) */
    int rank;   /* axes in use; the last one is contiguous if dense */
    enum axis axis[BUFFER_AXES];
    uint32_t size[BUFFER_AXES];   /* on this rank */
    uint32_t origin[BUFFER_AXES]; /* of this rank's part in the global tensor */
    uint32_t whole[BUFFER_AXES];  /* size of the global tensor */
    enum state state[M_N];
    int parameter; /* index in the model, or -1 */
    int copy_of;   /* packed copies: the buffer of the master, otherwise -1 */
    bool wants_gradient;
    int gradient;           /* buffer of its gradient, or -1; itself: in place */
    bool is_set;            /* a gradient that is set by the first product of backward (pass_reduce_gradients) */
    bool is_kept;           /* the host accesses it on this rank, even if no operation does */
    int second;             /* for a parameter used twice: the gradient of its second use, or -1 */
    uint64_t owners;        /* parameters: bit s: stage s of a layer cut uses it */
    bool in_shards;         /* each rank of a hidden cut has only its part of the last axis complete */
    bool shared;            /* shared by chunks: holds the steps, or rows, of one (recompute) */
    uint64_t offset, bytes; /* in its segment, after allocation */
};

struct view {
    int buffer; /* -1: absent */
    enum access access;
    uint32_t first[BUFFER_AXES], count[BUFFER_AXES];
    uint32_t base; /* for a shared buffer: the global index of its first step or row */
};

struct op {
    enum op_kind kind;
    enum phase phase;
    int queue, chunk;
    int traversal;     /* how often the order of chunks was reversed before: a bidirectional layer reverses it */
    int depth;         /* 0 embedding, 1..L layers, the head last: a layer cut divides by depth */
    int direction;     /* rnn, gemm_dw: 0 forward in time, 1 backward */
    int choice;        /* loss: index in the loss table; update: index in the optimizer table; all_reduce: 1: the first
                        * axis is shards, summed in their tree; all_gather: the gathered axis; rnn_back: 1: gathers, to
                        * sum in order; pool, pool_back: enum pool */
    int shift;         /* gemm_dw: 1 if x is the state that enters the step instead of x at the step */
    int use;           /* embed, gemm: 1 if this is the second use of its weights (a tied head) */
    int stream;        /* dropout: the index of the mask */
    float probability; /* dropout; loss: label smoothing */
    struct activation activation; /* activate */
    int pieces;                   /* rnn, rnn_back: parts of a rank's time that run at once as rows; 0 or 1: one */
    float tolerance;              /* of pieces: relative to the serial states; 0: the same bits */
    int group;                    /* communication: index in plan->group, otherwise -1 */
    int peer;                     /* send, recv: rank */
    uint32_t tag;                 /* the same on all participating ranks */
    struct view view[OP_VIEWS];
    int views;
    uint64_t touches;     /* a bit for each buffer index modulo 64, for a fast check */
    int wait[QUEUES_MAX]; /* per queue: the last operation that must have finished, or -1 */
    double flops, bytes;  /* by the standard count; each view once, twice if updated */
};

/* Returns whether the operation communicates with other ranks. */
static inline bool op_communicates(const struct op *op) { return op->group >= 0 || op->peer >= 0; }

struct group {
    int size;
    int rank[RANKS_MAX];
};

enum plan_mode {
    MODE_INFER, /* outputs */
    MODE_EVAL,  /* outputs and loss */
    MODE_TRAIN, /* loss, gradients, update */
    MODE_MODULE /* separate forward and backward: the gradient of the outputs is an input */
};

#define CHECKPOINT_AUTO UINT32_MAX      /* about the square root of T */
enum { PIECES_AUTO = -1 };

/* The type that products multiply; sums, states and master weights are always `real`. */
#define PRECISIONS(PRECISION)                                               \
    PRECISION(FP32, fp32)                                                   \
    PRECISION(TF32, tf32)       /* 10 bits of fraction, fp32's range */     \
    PRECISION(BF16, bf16)       /* 7, likewise */                           \
    PRECISION(FP16, fp16)       /* 10, up to 65504: gradients are scaled */

enum precision {
#define PRECISION_ENUM(NAME, name) PRECISION_##NAME,
    PRECISIONS(PRECISION_ENUM)
#undef PRECISION_ENUM
        PRECISION_N
};

struct plan_config {
    enum plan_mode mode;
    enum dtype real;          /* DTYPE_F32, or DTYPE_F64 on the reference kernels */
    enum precision precision; /* must be supported by the device (device.h) */
    enum dtype weights;       /* of packed copies in plans without gradients: DTYPE_BF16, DTYPE_I8; F32: real */
    uint32_t T, B;            /* sizes of the whole batch */
    int mesh[M_N], at[M_N];   /* sizes, and this rank's coordinate */
    int workers;              /* consecutive parts of the batch axis whose gradients are not summed */
    const double *rate;       /* [ranks] relative speeds, used to divide rows and layers (rates.h); NULL: all equal.
                               * Owned by the caller */
    const struct device_traits *traits_of; /* [ranks] if ranks have devices of different kinds (plan_config_at);
                                            * otherwise NULL */
    int chunks, queues;                    /* chunks 0: chosen by the plan (pass_fit_cache) */
    struct device_traits traits;           /* of the plan's device */
    int threads;           /* that may divide a step, each with its caches; 0: one. The bits do not depend on it */
    uint32_t checkpoint;   /* steps of a segment of time whose forward is recomputed; 0: none */
    int pieces;            /* of time, as rows (pieces.c); PIECES_AUTO: chosen by the plan */
    float time_tolerance;  /* of states entering pieces, relative to max(1, |state|); 0: the same bits */
    uint32_t shards;       /* virtual shards of the batch, which define the order of sums */
    bool exact;            /* a hidden cut keeps the order of sums over units by gathering the summands */
    bool lengths, resets;  /* rows may end early; rows may restart */
    bool results;          /* evaluation: the host reads the last layer's outputs */
    bool stateful;         /* the final states are the next run's initial states */
    bool updates;          /* a module has an update like a training */
    bool input_gradient;   /* compute gradients of float inputs */
    bool streaming;        /* one step at a time of an endless sequence: plan_streaming */
    bool no_dropout;       /* a module that evaluates: gradients without dropout */
    float label_smoothing; /* in trainings with a loss of classes: 0 <= it < 1 .. */
    bool class_weights;    /* .. each class has a weight */
    int optimizer_states;  /* number of optimizer states per parameter */
    int optimizer;         /* index in the optimizer table */
    int sum;               /* algorithm of bucket sums: enum algorithm */
    uint32_t bucket;       /* bytes of gradients in a separate sum over ranks */
};

struct plan {
    struct plan_config config;
    const struct unroll_model *model;
    struct buffer *buffer;
    int buffers, buffer_capacity;
    struct op *op;
    int ops, op_capacity;
    struct group *group;
    int groups, group_capacity;
    struct {
        int first, end;
    } phase[PHASE_N]; /* ranges of the list, after ordering; with several ranks those of backward and sum overlap, and
                       * the operation's own phase decides */
    uint64_t segment_bytes[SEG_N];
    int stage_of[DEPTHS];       /* of a layer cut, by depth */
    uint32_t block_steps;       /* steps in one accumulation block of a weight gradient's sum */
    enum axis chunk_axis;       /* AX_T, or AX_B: chunks are rows with all their steps */
    uint32_t first_row, rows;   /* this rank's part of the batch */
    uint32_t first_step, steps; /* this rank's part of the sequence */
    int splits;     /* number of bf16 that products split floats into, except narrow ones; the same on all ranks of all
                     * meshes; 0: floats are not split */
    bool splits_dw; /* the products of weight gradients split floats, too */
};

/* A kind as data, for passes and printers. */
struct carried {
    int in, out;
}; /* slots of a state entering and leaving */

struct op_kind_info {
    const char *name;
    enum role role[3];                               /* of T, B, U */
    unsigned inside;                                 /* mesh axes along which it communicates internally: 1 << M_... */
    unroll_status (*adjoint)(struct plan *, int op); /* appends its backward; NULL: none */
    double (*flops)(const struct plan *, const struct op *);
    bool continues;            /* reads all steps, but chunk by chunk, and continues its results; otherwise an operation
                                * with an entire T runs once, after all chunks */
    struct carried carried[2]; /* for a kind that carries states through time; {0, 0}: none */
};

/* ---- the complete pipeline of passes --------------------------------------------------- */

/* Creates a checked, allocated, immutable plan for one coordinate of the mesh. The model must outlive it. */
unroll_status plan_new(const struct unroll_model *model, const struct plan_config *config, struct plan **plan);
/* Creates the plan of one step; one-hot inputs gather columns. The caller passes the final states to the next step.
 * Fails for models whose steps depend on later ones. */
unroll_status plan_streaming(const struct unroll_model *model, struct plan_config *config, struct plan **plan);
void plan_free(struct plan *plan);
bool plan_overlaps(const struct plan *); /* returns whether sums start within backward */
/* Returns whether gradients are followed by an update. */
static inline bool plan_updates(const struct plan *p) { return p->config.mode == MODE_TRAIN || p->config.updates; }
/* Returns the range [first, end) that contains all operations of a phase (also PHASE_BACKWARD_SUM); is_in_phase tests
 * one operation. */
void phase_range(const struct plan *, enum phase, int *first, int *end);
static inline bool is_in_phase(const struct op *op, enum phase phase)
{
    return op->phase == phase ||
           ((int)phase == PHASE_BACKWARD_SUM && (op->phase == PHASE_BACKWARD || op->phase == PHASE_SUM));
}
struct plan_config plan_config_default(void);
/* Sets it from the public number of steps: 0, UNROLL_AUTO, or the steps. */
unroll_status plan_set_checkpoint(struct plan_config *, int steps);
/* Returns the number of queues for a plan on `threads` threads: directions, or chunks of stacked layers. */
int plan_queues_for(const struct unroll_model *, const struct plan_config *, int threads);

/* ---- passes, in their order; after an error the plan is unusable ------------------------ */

unroll_status pass_pieces(struct plan *);    /* number of pieces of time, and whether they are possible */
unroll_status pass_lower(struct plan *);     /* creates the forward list on whole tensors */
unroll_status pass_partition(struct plan *); /* assigns depths to stages */
unroll_status pass_cut_axis(struct plan *, enum axis, enum mesh);
bool plan_exceeds_cache(const struct plan *, double bytes);
void pass_fit_cache(struct plan *);        /* number of chunks for the caches, if not given */
unroll_status pass_segment(struct plan *); /* number of chunks for a checkpoint */
unroll_status pass_chunk(struct plan *);
unroll_status pass_cut_layer(struct plan *);
unroll_status pass_adjoint(struct plan *);
unroll_status pass_fuse_input(struct plan *);       /* moves products with x into the recurrences */
unroll_status pass_merge_reductions(struct plan *); /* sums over rows for all chunks at once */
unroll_status pass_reduce_gradients(struct plan *); /* sums partial gradients; norm, update */
unroll_status sum_begin_all(struct plan *);  /* part of it: buckets of gradients over the ranks (gradient_buckets.c) */
unroll_status pass_recompute(struct plan *); /* segments share memory; repeats their forwards */
unroll_status pass_order(struct plan *);     /* queues, waits, phases, prices */
unroll_status pass_allocate(struct plan *);
unroll_status pass_check(const struct plan *);

/* Checks all coordinates of one mesh: every message has its partner and no order of them can deadlock, also on devices
 * with rendezvous. Errors name both ends. */
unroll_status check_mesh(struct plan *const *plans, int ranks);
unroll_status check_mesh_of(const struct unroll_model *, const struct plan_config *); /* creates plans one at a time */
/* Computes the fraction of time that ranks wait for each other, if their FLOPs per second are proportional to their
 * rates (default: equal) and messages take no time. */
unroll_status mesh_bubble(struct plan *const *plans, int ranks, double *bubble);

bool fuse_input_wanted(const struct plan *, const struct parameter *); /* returns whether steps compute the product of x
                                                                        * with it */

/* Returns whether recurrences start from guessed states and repair them: in pieces of time, or on several ranks along
 * it. */
bool plan_repairs(const struct plan_config *);
/* Returns whether the cell multiplies no state. Two runs from different states then converge to the same bits. */
bool forgets_exactly(const struct cell_declaration *);

/* ---- building blocks of passes --------------------------------------------------------- */

/* Makes room for one more element. Returns NULL (with the error set) if memory is exhausted; the old array remains. */
void *plan_grown(void *array, int count, int *capacity, size_t size);

const struct op_kind_info *kind_info(enum op_kind kind);
/* For tests: adds a kind with the next free number. */
unroll_status kind_add(const struct op_kind_info *info, enum op_kind *kind);

/* Returns the index, or -1 if memory is exhausted (the error is set). */
int plan_add_buffer(struct plan *, const char *name, enum dtype, enum segment, int rank, const enum axis *axis,
                    const uint32_t *size);
/* Does the same with the type, axes, part and states of another buffer. */
int plan_add_like(struct plan *, const char *name, enum segment, int like);
/* Finds or creates a packed copy of a weight for this session alone (SEG_BACK), in this layout and with its part. */
unroll_status plan_own_copy(struct plan *, int master, int layout, int *copy);
unroll_status plan_push(struct plan *, const struct op *op); /* appends to the list */
/* Removes the list, so that a pass can write it again; the caller releases it. */
struct op *plan_take_list(struct plan *, int *count);
/* Returns the buffer of a gradient, created on first use; -1: memory is exhausted. */
int plan_gradient(struct plan *, int buffer);
int plan_find_buffer(const struct plan *, const char *name); /* or -1 */
int plan_rank_at(const struct plan *, const int at[M_N]);
int plan_rank(const struct plan *);
int plan_ranks(const struct plan *);
/* Returns the number of ranks along the batch that sum their gradients: those of this worker. */
int plan_batch_ranks(const struct plan *);
/* Returns the group of ranks of this worker that differ from this one along the axes of a mask (1 << M_...), including
 * this one; -1: memory is exhausted. */
int plan_group(struct plan *, unsigned mesh_axes);
void mesh_coordinate(const int mesh[M_N], int rank, int at[M_N]); /* the last axis varies fastest */
void plan_config_at(struct plan_config *, int rank);     /* sets the coordinate and the device's traits of a rank */
int plan_add_group(struct plan *, const struct group *); /* returns the index; equal groups are merged */
/* Lists the groups of all communicating operations of these kinds (1 << OP_..); for a message, its two ends. Each group
 * is listed once, in the same order on all ranks. The caller releases them. */
unroll_status plan_meetings(const struct plan *, uint32_t kinds, struct group **groups, int *count);
struct group op_group(const struct plan *, const struct op *);
bool plan_gathers(const struct plan *); /* returns whether ranks share units and keep the order of sums over them */

struct op op_new(enum op_kind kind, enum phase phase, int depth);
struct view view_of(const struct plan *, int buffer, enum access); /* the whole buffer */
struct view view_none(void);
int buffer_dim(const struct buffer *, enum axis); /* position, or -1 */
void view_narrow(const struct plan *, struct view *, enum axis, uint32_t first, uint32_t count);
bool view_overlap(const struct view *, const struct view *);
bool op_writes(const struct op *, const struct view *); /* writes any part of the view */
uint64_t view_elements(const struct plan *, const struct view *);
double op_bytes(const struct plan *, const struct op *); /* of its views, each once */
/* Returns the steps, or this rank's rows, of a chunk. */
void plan_chunk(const struct plan *, int chunk, uint32_t *first, uint32_t *count);

/* Returns a message's tag, the same on every rank: a hash of a name and a chunk, plus a bit for backward. */
enum { TAG_NAMES = (1 << 26) - 1, TAG_BACKWARD = 1 << 26 };
uint32_t plan_tag(const char *name, int chunk, int extra);
const char *segment_name(enum segment);
const char *op_label(const struct plan *, const struct op *, char *capacity, size_t size); /* "rnn g.l0 chunk 2" */

/* before() returns whether operation a always ends before b starts. Used for allocation and checks. */
struct before;
unroll_status before_new(const struct plan *, struct before **);
bool before(const struct before *, int a, int b);
void before_free(struct before *);
