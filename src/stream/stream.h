/* A stream in memory: a struct followed by its arrays, which are found by offsets, and by the operations of its plan as
 * calls with prepared addresses. Those know for what place they were made, so streams and weights may be copied byte by
 * byte. Not the plan: nothing of it is left when the stream is made. */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H
#include "device/cpu/kernel.h"
#include "model/model.h"
#include "plan/plan.h"
#include "unroll.h"

/* Steps compute whole tiles of units, U+ of them: where the last has fewer, zero weights make zeros of what
 * nobody reads. So a width that is no multiple of a register costs no more than the next that is. */
static inline size_t stream_padded(size_t units) { return (units + CELL_TILE - 1) / CELL_TILE * CELL_TILE; }

/* Where an array lies that is put after *used bytes. */
static inline size_t stream_take(size_t *used, size_t bytes)
{
    enum { ALIGNMENT = 64 }; /* from the beginning of the struct */
    const size_t at = (*used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *used = at + bytes;
    return at;
}

/* NULL where there is no such array. */
static inline void *stream_at(const void *base, size_t offset) { return offset ? (char *)base + offset : NULL; }

struct unroll_stream_weights {
    const struct cpu_isa *isa;
    enum dtype dtype; /* of the weights of products, but not of projections: F32, BF16, I8 */
    uint32_t layers, outputs;
    uint64_t make; /* a hash of the plan they are for */
    size_t bytes;
};

/* Numbers of B rows that lie `row` apart. */
struct stream_rows {
    float *at;
    size_t row;
};

/* An operation of the plan, ready to run: `run`, what it reads and gives, and what else it uses of the rest. */
struct stream_call {
    void (*run)(const struct stream_call *);
    const struct cpu_isa *isa;
    int layer;          /* -1 but where it gives what unroll_stream_read asks for */
    size_t rows, width; /* of `to` */
    struct stream_rows from, to;
    const int32_t *token; /* [B] */
    uint32_t *words;      /* of int8 weights: rows as operands, in the order of enum operand .. */
    size_t operand;       /* .. so many words each */
    struct activation activation;
    product_kernel *multiply;
    struct product product;
    size_t states, hidden; /* how many there are, of which the first is as wide as `to`, the others `hidden` */
    fused_kernel *fused[2];
    struct fused_step step;
};

/* What saved states are of. */
struct stream_header {
    char magic[8];
    uint32_t version, layers, rows, states, hidden, width;
    char cell[24];
    uint64_t checksum; /* of the numbers */
};

/* Where rows lie: bytes from the beginning of the weights or the stream; of a state, of each half. */
struct stream_array {
    size_t at, row, width;
    bool is_state;
};

/* A column of tokens, [B]: how many there are, and how messages name it. */
struct stream_tokens {
    size_t at;
    uint32_t symbols;
    char called[48];
};

struct unroll_stream {
    const struct unroll_stream_weights *shared; /* NULL: they are inside */
    const struct unroll_stream *place;          /* for which the calls are prepared */
    size_t inside;                              /* offset of weights of its own */
    size_t rows;                                /* B */
    struct stream_tokens token[UNROLL_INPUTS_MAX];
    uint32_t tokens, layers, calls;
    struct stream_array input, output; /* of numbers; a width of 0: there are none */
    size_t call;                       /* [2][calls] struct stream_call, by `now` */
    size_t half, state;                /* bytes of all states; [2][half]: before and after a step in turn */
    size_t operand, words;             /* scratch of int8 weights: see struct stream_call */
    size_t workspace;                  /* scratch of products of many rows; 0: they are few */
    uint32_t now;                      /* which of the two halves of `state` holds the states */
    size_t bytes;
    struct stream_header header;
};

static inline const struct unroll_stream_weights *stream_weights(const struct unroll_stream *s)
{
    return s->shared ? s->shared : (const void *)((const char *)s + s->inside);
}

/* A state before (after = 0) or after the step. */
static inline struct stream_rows stream_rows(const struct unroll_stream *s, const struct stream_array *a,
                                             uint32_t after)
{
    const size_t first = a->is_state ? s->state + (s->now ^ after) * s->half : 0;
    return (struct stream_rows){(float *)(void *)((char *)s + first + a->at), a->row};
}

/* The calls of the next step (after = 0) or of the last. */
static inline struct stream_call *stream_calls(const struct unroll_stream *s, uint32_t after)
{
    return (struct stream_call *)stream_at(s, s->call) + (s->now ^ after) * s->calls;
}

/* Rows to which an address of a call leads, wherever the stream lies now. */
static inline struct stream_rows stream_here(const struct unroll_stream *s, const void *at, size_t row)
{
    return (struct stream_rows){(float *)(void *)((char *)s + ((uintptr_t)at - (uintptr_t)s->place)), row};
}

/* The streaming plan of a model while something is made of it. */
struct stream_plan {
    struct plan *plan;
    const struct cpu_isa *isa;
    struct stream_array *array;           /* [buffers]; at 0: not placed */
    struct unroll_stream_weights weights; /* what they will be */
};

static inline bool stream_is_weight(const struct stream_plan *p, int buffer)
{
    return p->plan->buffer[buffer].segment == SEG_PARAM || p->plan->buffer[buffer].segment == SEG_COPY;
}

/* A caller's configuration, of any version of the headers. */
unroll_status stream_take_config(const unroll_stream_config *given, unroll_stream_config *config);
unroll_status stream_plan_make(const unroll_model *, const unroll_stream_config *, bool of_weights,
                               struct stream_plan *);
void stream_plan_free(struct stream_plan *); /* what it holds */
unroll_status stream_check_memory(const void *memory, size_t bytes, size_t needed, const char *who_knows);
/* The weights that the plan reads, in memory for p->weights.bytes. */
unroll_status stream_pack(struct stream_plan *, struct unroll_stream_weights *);

/* Where everything lies: *s as it will be. */
unroll_status stream_lay_out(struct stream_plan *, const unroll_stream_config *, struct unroll_stream *s);
void stream_bind(const struct stream_plan *, struct unroll_stream *);
void stream_move(struct unroll_stream *); /* the calls, to where it lies now */

struct stream_header stream_header_of(const unroll_model *, size_t rows);

#endif
