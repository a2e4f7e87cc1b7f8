/* A stream in memory: a struct, its arrays at offsets, and the operations of its plan as calls with prepared addresses.
 * A stream stores the address its calls were prepared for. Streams and weights can therefore be copied as bytes. The
 * plan is not kept. */
#pragma once
#include "device/cpu/kernels/kernel.h"
#include "model/model.h"
#include "plan/ir/plan.h"
#include "unroll_stream.h"

/* Steps compute whole tiles of units. In an incomplete tile, zero weights give zeros that are not used. A width costs
 * the same as the next multiple of a tile. */
static inline size_t stream_padded(size_t units) { return (units + CELL_TILE - 1) / CELL_TILE * CELL_TILE; }

/* Places an array after *used bytes and returns its offset. */
static inline size_t stream_take(size_t *used, size_t bytes)
{
    enum { ALIGNMENT = 64 }; /* from the start of the struct */
    const size_t at = (*used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *used = at + bytes;
    return at;
}

/* Returns NULL if there is no array (offset 0). */
static inline void *stream_at(const void *base, size_t offset) { return offset ? (char *)base + offset : NULL; }

struct unroll_stream_weights {
    const struct cpu_isa *isa;
    enum dtype dtype; /* of products except projections: F32, BF16, I8 */
    uint32_t layers, outputs;
    uint64_t make;  /* a hash of their plan */
    uint64_t units; /* a hash of `raw` and `series` in their configuration */
    size_t bytes;
};

/* B rows of numbers at a distance of `row`. */
struct stream_rows {
    float *at;
    size_t row;
};

/* An operation of the plan, prepared to run: `run`, its input and output, and the other fields that it uses. */
struct stream_call {
    void (*run)(const struct stream_call *);
    const struct cpu_isa *isa;
    int layer;          /* whose result unroll_stream_read returns, or -1 */
    size_t rows, width; /* width: of `to` */
    struct stream_rows from, to;
    const int32_t *token; /* [B] */
    uint32_t *words;      /* for int8 weights: rows as operands, in the order of enum operand */
    size_t operand;       /* words in each of them */
    struct activation activation;
    product_kernel *multiply;
    struct product product;
    size_t states, hidden; /* number of states: the first has the width of `to`, the others `hidden` */
    fused_kernel *fused[2];
    struct fused_step step;
};

/* The make of a model and its states. */
struct stream_header {
    char magic[8];
    uint32_t version, layers, rows, states, hidden, width;
    char cell[24];
    uint64_t checksum; /* of the numbers */
};

/* The place of rows: bytes from the start of the weights or the stream; for a state, from the start of each half. */
struct stream_array {
    size_t at, row, width;
    bool is_state;
};

/* A column of tokens [B]: its vocabulary size and its name in messages. */
struct stream_tokens {
    size_t at;
    uint32_t symbols;
    char called[48];
};

struct unroll_stream {
    const struct unroll_stream_weights *shared; /* NULL: they are inside */
    const struct unroll_stream *place;          /* the address the calls are prepared for */
    size_t inside;                              /* offset of its own weights */
    size_t rows;                                /* B */
    struct stream_tokens token[UNROLL_INPUTS_MAX];
    uint32_t tokens, layers, calls;
    struct stream_array input, output; /* of numbers; width 0: none */
    size_t call;                       /* [2][calls] struct stream_call, indexed by `now` */
    size_t half, state;                /* bytes of all states; [2][half]: states before and after a step, alternating */
    size_t operand, words;             /* scratch for int8 weights: see struct stream_call */
    size_t workspace;                  /* scratch for products of many rows; 0: not needed */
    uint32_t now;                      /* the half of `state` that holds the current states */
    size_t bytes;
    struct stream_header header;
};

static inline const struct unroll_stream_weights *stream_weights(const struct unroll_stream *s)
{
    return s->shared ? s->shared : (const void *)((const char *)s + s->inside);
}

/* Returns the rows of a state before (after = 0) or after the step. */
static inline struct stream_rows stream_rows(const struct unroll_stream *s, const struct stream_array *a,
                                             uint32_t after)
{
    const size_t first = a->is_state ? s->state + (s->now ^ after) * s->half : 0;
    return (struct stream_rows){(float *)(void *)((char *)s + first + a->at), a->row};
}

/* Returns the calls of the next step (after = 0) or of the last one. */
static inline struct stream_call *stream_calls(const struct unroll_stream *s, uint32_t after)
{
    return (struct stream_call *)stream_at(s, s->call) + (s->now ^ after) * s->calls;
}

/* Returns the rows at an address of a call, adjusted to the stream's current place. */
static inline struct stream_rows stream_here(const struct unroll_stream *s, const void *at, size_t row)
{
    return (struct stream_rows){(float *)(void *)((char *)s + ((uintptr_t)at - (uintptr_t)s->place)), row};
}

/* The streaming plan of a model while a stream or weights are created from it. */
struct stream_plan {
    struct plan *plan;
    struct unroll_model *own; /* the model in units; NULL: the caller's is used directly */
    const struct cpu_isa *isa;
    struct stream_array *array;           /* [buffers]; at 0: not placed */
    struct unroll_stream_weights weights; /* the properties of the weights */
};

static inline bool stream_is_weight(const struct stream_plan *p, int buffer)
{
    return p->plan->buffer[buffer].segment == SEG_PARAM || p->plan->buffer[buffer].segment == SEG_COPY;
}

/* Copies a caller's configuration of any header version. */
unroll_status stream_take_config(const unroll_stream_config *given, unroll_stream_config *config);
/* Makes the plan and measures its weights. Fails if the configuration is invalid, or, unless of_weights, if shared
 * weights do not fit. */
unroll_status stream_plan_make(const unroll_model *, const unroll_stream_config *, bool of_weights,
                               struct stream_plan *);
/* Makes the plan and the layout based on it. */
unroll_status stream_plan_all(const unroll_model *, const unroll_stream_config *, struct stream_plan *,
                              struct unroll_stream *);
void stream_plan_free(struct stream_plan *); /* frees its contents */
unroll_status stream_check_memory(const void *memory, size_t bytes, size_t needed, const char *who_knows);
/* Packs the weights of the plan to zeroed memory of p->weights.bytes; NULL only measures them. */
unroll_status stream_pack(struct stream_plan *, struct unroll_stream_weights *);

/* Computes the layout of the stream in *s. */
unroll_status stream_lay_out(struct stream_plan *, const unroll_stream_config *, struct unroll_stream *s);
void stream_bind(const struct stream_plan *, struct unroll_stream *);
void stream_move(struct unroll_stream *); /* updates the calls after the stream has moved */

struct stream_header stream_header_of(const unroll_model *, size_t rows);
/* Checks saved states of a stream with s->header; their size must be `expected`. */
unroll_status stream_check_state(const struct unroll_stream *s, const void *state, size_t bytes, size_t expected);
