/* The plan: a flat list of coarse operations on views of buffers, made from a model by passes.
 * It is the hub: devices execute or translate it, the cost model prices it, `unroll plan` prints it.
 * It knows no device, no cell by name and no strategy; docs/internals/plan.md describes every operation. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H
#include "base/dtype.h"
#include "base/share.h"
#include "base/status.h"
#include "model/model.h"
#include "plan/op.h"
#include "plan/traits.h"

/* ---- what passes talk about ------------------------------------------------------------ */

/* What an axis of a buffer counts. Only AX_T, AX_B, AX_U and AX_S are ever cut. */
enum axis {
    AX_T,   /* time steps */
    AX_B,   /* rows of the batch */
    AX_G,   /* gates, states or other fields of a unit */
    AX_U,   /* units of a layer, when each rank may own some of them */
    AX_K,   /* a width that is whole everywhere: operand of a product, classes, symbols */
    AX_S,   /* shards of the batch whose gradients are summed apart, then in a tree */
    AX_ONE, /* the one step of each row behind a pool, in the place of T: its size is 1 */
    AX_N
};

/* The axes of the mesh: every parallel strategy is a cut of one of them. */
enum mesh { M_BATCH, M_TIME, M_LAYER, M_HIDDEN, M_N };

/* What a buffer holds here, along one mesh axis. */
enum state {
    WHOLE,  /* everything, the same on all ranks of the axis */
    SPLIT,  /* this rank's share */
    PARTIAL /* a summand: the sum over the ranks of the axis is meant */
};

/* What cutting an axis means to an operation. */
enum role {
    ABSENT,  /* the operation has no such axis */
    FREE,    /* nothing happens */
    SUMMED,  /* results without the axis become partial sums */
    CARRIED, /* each step needs the last: exchanged inside the operation */
    ENTIRE   /* can't be cut */
};

/* Lifetime classes. A plan gives offsets; an executable gives each segment an address. */
#define SEGMENTS(SEGMENT)                                                       \
    SEGMENT(PARAM)      /* master weights: the same offsets in every plan of a model and mesh */ \
    SEGMENT(COPY)       /* weights packed for forward products, likewise */     \
    SEGMENT(BACK)       /* weights packed for backward products: each executable its own */ \
    SEGMENT(OPT)        /* optimizer state, likewise */                         \
    SEGMENT(GRAD)       /* sums of gradients, likewise */                       \
    SEGMENT(CARRY)      /* recurrent state between runs */                      \
    SEGMENT(STEP)       /* activations: memory is reused inside a step */       \
    SEGMENT(SCRATCH)    /* used by one operation only */                        \
    SEGMENT(IO)         /* inputs and results that the host sees */             \
    SEGMENT(VALUES)     /* what changes from step to step, and sums of losses */

enum segment {
#define SEGMENT_ENUM(name) SEG_##name,
    SEGMENTS(SEGMENT_ENUM)
#undef SEGMENT_ENUM
        SEG_N
};

/* Phases run one after the other; inside a phase only waits order operations of different queues. */
#define PHASES(PHASE)                                                             \
    PHASE(FORWARD,  forward)     /* outputs and the loss; dz in the place of z */ \
    PHASE(BACKWARD, backward)    /* adds to the gradients */                     \
    PHASE(SUM,      sum)         /* gradients and losses over shards and ranks, their norm */ \
    PHASE(UPDATE,   update)      /* optimizer and packed copies; leaves the gradients zero */ \
    PHASE(PACK,     pack)        /* packed copies alone: after weights were loaded */

enum phase {
#define PHASE_ENUM(NAME, name) PHASE_##NAME,
    PHASES(PHASE_ENUM)
#undef PHASE_ENUM
        PHASE_N
};

/* Backward and sum in one, in list order, which is how a device runs a range with both where they overlap: sums over
 * ranks go on while what is left of backward computes. */
enum { PHASE_BACKWARD_SUM = PHASE_N };

/* ---- the list -------------------------------------------------------------------------- */

enum { DEPTHS = MODEL_LAYERS_MAX + 1, TRAVERSALS_MAX = 2 * DEPTHS };
enum { QUEUES_MAX = 8, CHUNKS_MAX = 64, RANKS_MAX = 1024 };

struct buffer {
    char name[112];
    enum dtype dtype;
    enum segment segment;
    int layout; /* 0: dense, row by row; else the device's own (traits.h) */
    int rank;   /* axes in use; dense, the last is contiguous */
    enum axis axis[BUFFER_AXES];
    uint32_t size[BUFFER_AXES];   /* here */
    uint32_t origin[BUFFER_AXES]; /* of this rank's share in the global tensor */
    uint32_t whole[BUFFER_AXES];  /* size of the global tensor */
    enum state state[M_N];
    int parameter; /* index in the model, or -1 */
    int copy_of;   /* packed copies: the buffer of the master, else -1 */
    bool wants_gradient;
    int gradient;           /* index of the buffer of its gradient, or -1; itself: in place */
    bool is_set;            /* a gradient: its first product in a backward sets it (pass_reduce_gradients) */
    bool is_kept;           /* the host sees it here, whether operations use it or not */
    int second;             /* of a parameter used twice: the gradient of its second use, or -1 */
    uint64_t owners;        /* parameters: bit s: stage s of a layer cut uses it */
    bool in_shards;         /* of its last axis each rank of a hidden cut has its share right */
    bool shared;            /* by chunks: holds the steps, or rows, of one (recompute) */
    uint64_t offset, bytes; /* in its segment, after place */
};

struct view {
    int buffer; /* -1: absent */
    enum access access;
    uint32_t first[BUFFER_AXES], count[BUFFER_AXES];
    uint32_t base; /* of a shared buffer: the step, or row, that its first one is */
};

struct op {
    enum op_kind kind;
    enum phase phase;
    int queue, chunk;
    int traversal;     /* how often the order of chunks has turned before: a bidirectional layer turns it */
    int depth;         /* 0 embedding, 1..L layers, the head the last: what a layer cut divides */
    int direction;     /* rnn, gemm_dw: 0 forward in time, 1 backward */
    int choice;        /* loss: index in the loss table; update: index in the optimizer table; all_reduce: 1: the
                          first axis is shards, summed in their tree; all_gather: the axis of
                          which each rank has its share; rnn_back: 1: gathers, to sum in order;
                          pool, pool_back: enum pool */
    int shift;         /* gemm_dw: 1 if x is the state entering the step, not at the step */
    int use;           /* embed, gemm: 1 if this is the second use of its weights (a tied head) */
    int stream;        /* dropout: which mask */
    float probability; /* dropout; loss: the part of a row's target that is spread over all classes */
    struct activation activation; /* activate */
    int pieces;                   /* rnn, rnn_back: of a rank's time, that run at once as rows; 0 or 1: one */
    float tolerance;              /* of them: how near to the serial states; 0: the same bits */
    int group;                    /* communication: index in plan->group, else -1 */
    int peer;                     /* send, recv: rank */
    uint32_t tag;                 /* the same on all ranks that take part */
    struct view view[OP_VIEWS];
    int views;
    uint64_t touches;     /* a bit for each buffer's number modulo 64: a quick look before a long one */
    int wait[QUEUES_MAX]; /* per queue: the last operation that must have ended, or -1 */
    double flops, bytes;  /* by the standard count; each view once, twice if updated */
};

/* With other ranks. */
static inline bool op_communicates(const struct op *op) { return op->group >= 0 || op->peer >= 0; }

struct group {
    int size;
    int rank[RANKS_MAX];
};

enum plan_mode {
    MODE_INFER, /* outputs */
    MODE_EVAL,  /* outputs and loss */
    MODE_TRAIN, /* loss, gradients, update */
    MODE_MODULE /* forward and backward apart: the gradient of the outputs comes from outside */
};

#define CHECKPOINT_AUTO UINT32_MAX      /* about the square root of T */
enum { PIECES_AUTO = -1 };

/* What products multiply; sums, states and master weights are `real` in all of them. */
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
    enum precision precision; /* of a device that does it (device.h) */
    enum dtype weights;       /* of packed copies, of plans without gradients: DTYPE_BF16, DTYPE_I8; F32: real */
    uint32_t T, B;            /* capacity of the whole batch */
    int mesh[M_N], at[M_N];   /* sizes, and this rank's coordinate */
    int workers;              /* consecutive parts of the batch axis that add no gradients of each other */
    const double *rate;       /* [ranks] how fast each is, by which rows and layers are divided (rates.h); NULL: all
                                 alike. The plan's maker keeps it */
    const struct device_traits *traits_of; /* [ranks] where they have devices of several kinds (plan_config_at); NULL */
    int chunks, queues;                    /* chunks 0: the plan chooses (pass_fit_cache) */
    struct device_traits traits;           /* of the device that it is made for */
    int threads;           /* that may divide a step, each with its caches; 0: one. No bits depend on it */
    uint32_t checkpoint;   /* steps of a segment of time whose forward is done again; 0: none */
    int pieces;            /* of time, as rows (pieces.c); PIECES_AUTO: the plan chooses */
    float time_tolerance;  /* of states that enter them, by max(1, |state|); 0: the same bits */
    uint32_t shards;       /* virtual shards of the batch in the sum contract */
    bool exact;            /* a hidden cut keeps the order of sums over units: it gathers what they add */
    bool lengths, resets;  /* rows may end early; rows may start anew */
    bool results;          /* of an evaluation: the host reads what the last layer gives */
    bool stateful;         /* the states that leave are the next run's initial states */
    bool updates;          /* a module has an update as a training has */
    bool input_gradient;   /* of float inputs */
    bool streaming;        /* a step at a time, to the end of a stream: plan_streaming */
    bool no_dropout;       /* a module that evaluates: gradients, no masks */
    float label_smoothing; /* of plans that train with a loss of classes: 0 <= it < 1 .. */
    bool class_weights;    /* .. which have a weight each */
    int optimizer_states;  /* arrays that the optimizer keeps for each parameter */
    int optimizer;         /* index in the optimizer table */
    int sum;               /* how buckets are summed: enum algorithm */
    uint32_t bucket;       /* bytes of gradients that are worth a sum over ranks of their own */
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
    } phase[PHASE_N]; /* ranges of the list, after order; of several ranks those of backward
                       and sum overlap, and an operation's own part counts */
    uint64_t segment_bytes[SEG_N];
    int stage_of[DEPTHS];       /* of a layer cut, by depth */
    uint32_t block_steps;       /* steps in one accumulation block of a weight gradient's sum */
    enum axis chunk_axis;       /* AX_T, or AX_B: chunks are some rows of all steps */
    uint32_t first_row, rows;   /* of the batch: this rank's */
    uint32_t first_step, steps; /* of the sequence, likewise */
    int splits;     /* products multiply floats as so many bf16, but narrow ones: the same on all ranks of all
                       meshes; 0: as they are */
    bool splits_dw; /* and so do those that make gradients of weights */
};

/* A kind as data: what the passes and the printers know of it. */
struct carried {
    int in, out;
}; /* slots of a state entering, and leaving */

struct op_kind_info {
    const char *name;
    enum role role[3];                               /* of T, B, U */
    unsigned inside;                                 /* mesh axes over which it exchanges inside: 1 << M_... */
    unroll_status (*adjoint)(struct plan *, int op); /* appends its backward; NULL: has none */
    double (*flops)(const struct plan *, const struct op *);
    struct carried carried[2]; /* of a kind that carries states through time; {0, 0}: none */
};

/* ---- the whole way: every pass in its order -------------------------------------------- */

/* Returns a checked, placed, immutable plan for one coordinate of the mesh. The model outlives it. */
unroll_status plan_new(const struct unroll_model *model, const struct plan_config *config, struct plan **plan);
/* Of one step, where any one-hot x gathers columns. Whoever runs it hands the states that leave to the next. Models
 * whose steps depend on later ones are refused. */
unroll_status plan_streaming(const struct unroll_model *model, struct plan_config *config, struct plan **plan);
void plan_free(struct plan *plan);
bool plan_overlaps(const struct plan *); /* sums begin inside backward */
/* Is there an update behind the gradients? */
static inline bool plan_updates(const struct plan *p) { return p->config.mode == MODE_TRAIN || p->config.updates; }
/* Operations [first, end) among which those of a phase are, PHASE_BACKWARD_SUM included; and whether one is. */
void phase_range(const struct plan *, enum phase, int *first, int *end);
static inline bool is_in_phase(const struct op *op, enum phase phase)
{
    return op->phase == phase ||
           ((int)phase == PHASE_BACKWARD_SUM && (op->phase == PHASE_BACKWARD || op->phase == PHASE_SUM));
}
struct plan_config plan_config_default(void);
/* From the public number of steps: 0, UNROLL_AUTO, or so many. */
unroll_status plan_set_checkpoint(struct plan_config *, int steps);
/* How many queues a plan should have that so many threads will run: directions, or chunks of stacked layers. */
int plan_queues_for(const struct unroll_model *, const struct plan_config *, int threads);

/* ---- passes, in their order; each refuses with a sentence and then leaves the plan unusable --- */

unroll_status pass_pieces(struct plan *);    /* how many pieces of time, and whether there can be */
unroll_status pass_lower(struct plan *);     /* forward list on whole tensors */
unroll_status pass_partition(struct plan *); /* which stage does which depth */
unroll_status pass_cut_axis(struct plan *, enum axis, enum mesh);
bool plan_exceeds_cache(const struct plan *, double bytes);
void pass_fit_cache(struct plan *);        /* how many chunks caches ask for, if nobody else does */
unroll_status pass_segment(struct plan *); /* how many chunks a checkpoint asks for */
unroll_status pass_chunk(struct plan *);
unroll_status pass_cut_layer(struct plan *);
unroll_status pass_adjoint(struct plan *);
unroll_status pass_fuse_input(struct plan *);       /* products with x into the recurrences */
unroll_status pass_merge_reductions(struct plan *); /* sums over rows, of all chunks at once */
unroll_status pass_reduce_gradients(struct plan *); /* partial gradients, norm, update */
unroll_status sum_begin_all(struct plan *);  /* of it: buckets of gradients over the ranks (gradient_buckets.c) */
unroll_status pass_recompute(struct plan *); /* segments share memory; forwards done again */
unroll_status pass_order(struct plan *);     /* queues, waits, parts, prices */
unroll_status pass_allocate(struct plan *);
unroll_status pass_check(const struct plan *);

/* All coordinates of one mesh: every message has its partner and no order of them can hang, on a device whose messages
 * meet neither. The error names both ends. */
unroll_status check_mesh(struct plan *const *plans, int ranks);
unroll_status check_mesh_of(const struct unroll_model *, const struct plan_config *); /* which has no plans at once */
/* The part of the ranks' time in which they wait for each other, if all do as many FLOPs a second as their rates say
 * (without: equally many) and messages take no time. */
unroll_status mesh_bubble(struct plan *const *plans, int ranks, double *bubble);

bool fuse_input_wanted(const struct plan *, const struct parameter *); /* do steps multiply their x by it themselves? */

/* Do recurrences run from guessed states, which they repair: in pieces of time, or on several ranks along it? */
bool plan_repairs(const struct plan_config *);
/* Does the cell multiply no state? Then two runs of it from different states come to the same bits. */
bool forgets_exactly(const struct cell_declaration *);

/* ---- building blocks of passes --------------------------------------------------------- */

/* Makes room for one more; NULL (with the error set) when memory is out, the old array then stays. */
void *plan_grown(void *array, int count, int *capacity, size_t size);

const struct op_kind_info *kind_info(enum op_kind kind);
/* For tests: a kind of one's own gets the next free number. */
unroll_status kind_add(const struct op_kind_info *info, enum op_kind *kind);

/* Index, or -1 when memory is out (the error is set). */
int plan_add_buffer(struct plan *, const char *name, enum dtype, enum segment, int rank, const enum axis *axis,
                    const uint32_t *size);
/* With the type, the axes, the share and the states of another. */
int plan_add_like(struct plan *, const char *name, enum segment, int like);
/* A packed copy of a weight for this session alone (SEG_BACK), in this layout and with its share: the one there is, or
 * a new one. */
unroll_status plan_own_copy(struct plan *, int master, int layout, int *copy);
unroll_status plan_push(struct plan *, const struct op *op); /* to the end of the list */
/* Takes the list out, so that a pass can write it anew; the caller releases it. */
struct op *plan_take_list(struct plan *, int *count);
/* The buffer of a gradient, made at first use; -1: memory is out. */
int plan_gradient(struct plan *, int buffer);
int plan_find_buffer(const struct plan *, const char *name); /* or -1 */
int plan_rank_at(const struct plan *, const int at[M_N]);
int plan_rank(const struct plan *);
int plan_ranks(const struct plan *);
/* Ranks along the batch whose gradients this one adds: those of its worker. */
int plan_batch_ranks(const struct plan *);
/* The ranks that differ from this one along the axes of a mask (1 << M_...), this one included: of its worker. */
int plan_group(struct plan *, unsigned mesh_axes);
void mesh_coordinate(const int mesh[M_N], int rank, int at[M_N]); /* the last axis counts fastest */
void plan_config_at(struct plan_config *, int rank);     /* of the mesh: its coordinate and its device's traits */
int plan_add_group(struct plan *, const struct group *); /* index; equal groups are one */
/* The groups of all operations of these kinds (1 << OP_..) that exchange something, of a message its two ends: each
 * once, in the one order in which all ranks come to them. The caller releases them. */
unroll_status plan_meetings(const struct plan *, uint32_t kinds, struct group **groups, int *count);
struct group op_group(const struct plan *, const struct op *);
bool plan_gathers(const struct plan *); /* ranks share units, and sums over them keep their order */

struct op op_new(enum op_kind kind, enum phase phase, int depth);
struct view view_of(const struct plan *, int buffer, enum access); /* all of it */
struct view view_none(void);
int buffer_dim(const struct buffer *, enum axis); /* position, or -1 */
void view_narrow(const struct plan *, struct view *, enum axis, uint32_t first, uint32_t count);
bool view_overlap(const struct view *, const struct view *);
bool op_writes(const struct op *, const struct view *); /* any part of what the view covers */
uint64_t view_elements(const struct plan *, const struct view *);
double op_bytes(const struct plan *, const struct op *); /* of its views, each once */
/* The steps, or this rank's rows, of a chunk. */
void plan_chunk(const struct plan *, int chunk, uint32_t *first, uint32_t *count);

/* The same on every rank: what a message is about. A name and a chunk, and that it is the backward's. */
enum { TAG_NAMES = (1 << 26) - 1, TAG_BACKWARD = 1 << 26 };
uint32_t plan_tag(const char *name, int chunk, int extra);
const char *segment_name(enum segment);
const char *op_label(const struct plan *, const struct op *, char *capacity, size_t size); /* "rnn g.l0 chunk 2" */

/* Does operation a always end before b begins? Made by order, used by place and check. */
struct before;
unroll_status before_new(const struct plan *, struct before **);
bool before(const struct before *, int a, int b);
void before_free(struct before *);

#endif
