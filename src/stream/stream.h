/* A stream in memory. Two structs, each followed by its arrays, which are found by offsets, so that
 * both may be copied byte by byte. The only addresses are those of prepared steps, which know for what place
 * they were made. Not the arithmetic: that is step.c's. */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H
#include "device/cpu/kernel.h"
#include "model/model.h"
#include "unroll.h"

/* Steps compute whole tiles of units, U+ of them: where the last has fewer, zero weights make zeros of what
 * nobody reads. So a width that is no multiple of a register costs no more than the next that is. */
static inline size_t stream_padded(size_t units)
{
    return (units + CELL_TILE - 1) / CELL_TILE * CELL_TILE;
}

/* Offsets are in bytes from the beginning of the struct that holds them; 0: there is no such array. */
struct layer_weights {
    const struct cell_kernels *cell;        /* NULL: a dense layer */
    struct cell_options options;
    struct activation activation;           /* dense */
    uint32_t sources;
    int32_t  source[SOURCES_MAX];           /* as in struct layer */
    uint32_t input, outputs;                /* I; of a cell K, the width of h, of a dense layer N */
    uint32_t hidden;                        /* of a cell: U */
    uint32_t gates_x, gates_h;              /* gate inputs that see x; that see h or a link */
    bool     is_output;                     /* unroll_stream_read wants what it gives */
    bool     sums_symbols;                  /* it reads one-hot symbols alone: w_ih is a table of sums */
    size_t   w_ih, b_ih;    /* tiles of [G, U, I], [G, U+]; a table [symbols, G, U+]; dense: panels of [N, I], [N] */
    size_t   w_hh, b_hh;    /* tiles of [G', U, K], [G', U+] */
    size_t   vector;        /* [V, U+] */
    size_t   projection;    /* panels of [K, U] */
};

struct unroll_stream_weights {
    const struct cpu_isa *isa;
    enum dtype dtype;                       /* of the weights of products, but not of projections: F32, BF16, I8 */
    uint32_t layers;
    uint32_t input, symbols;                /* of a frame; one of them is 0 */
    uint32_t width;                         /* of the input as layers read it: embedded, or one-hot */
    uint32_t output;                        /* of a row */
    size_t   embedding;                     /* [symbols, E] */
    size_t   bytes;
    struct layer_weights layer[];
};

/* Of a stream: where a layer's own numbers lie. */
struct stream_layer {
    size_t row, plane, set;                 /* floats in a row of states, a plane [B, row], all the states */
    size_t state;                           /* floats before it in a half of the states */
    size_t x;                               /* sources side by side, [B, I]; of sums_symbols [B, G, U+] */
    size_t y;                               /* what a dense layer gives, [B, N]; 0: to the frame's outputs */
};

struct unroll_stream {
    const struct unroll_stream_weights *shared;     /* NULL: they are inside */
    const struct unroll_stream *place;      /* where the prepared steps are valid; elsewhere they are made anew */
    size_t   inside;                        /* offset of weights of its own */
    size_t   rows;                          /* B */
    size_t   half;                          /* floats of all states */
    size_t   state;                         /* [2][half]: before and after a step in turn */
    size_t   prepared;                      /* [2][layers] struct fused_step, by `now` */
    size_t   x;                             /* scratch: the input as layers read it, [B, width]; 0: nobody does */
    size_t   link;                          /* scratch: [links] planes, or a plane of what is projected */
    size_t   cells, operand;                /* scratch of int8 weights: the operands as bytes, in the order of
                                             * enum stream_operand, so many cells each */
    size_t   workspace;                     /* scratch of products of many rows; 0: they are few */
    uint32_t now;                           /* which of the two halves of `state` holds the states */
    size_t   bytes;
    struct stream_layer layer[];
};

enum { STREAM_ALIGNMENT = 64 };             /* of arrays, from the beginning of the struct */

static inline const struct unroll_stream_weights *stream_weights(const struct unroll_stream *s)
{
    return s->shared ? s->shared : (const void *)((const char *)s + s->inside);
}

/* Plane i of a layer's states, before (after = 0) or after the step. */
static inline float *stream_state(const struct unroll_stream *s, size_t layer, size_t i, uint32_t after)
{
    const struct stream_layer *l = &s->layer[layer];
    return (float *)((char *)s + s->state) + (s->now ^ after) * s->half + l->state + i * l->plane;
}

static inline size_t stream_states(const struct layer_weights *l)
{
    return l->cell ? (size_t)l->cell->declaration->states : 0;
}

/* How many numbers a row of state i has: h may be projected. */
static inline size_t stream_state_width(const struct layer_weights *l, size_t i)
{
    return i ? l->hidden : l->outputs;
}

enum stream_operand { OPERAND_X, OPERAND_H, OPERAND_LINK, OPERANDS };

/* Rows of an operand as bytes: see struct fused_operand. */
static inline uint32_t *stream_operand(const struct unroll_stream *s, enum stream_operand operand)
{
    return (uint32_t *)(void *)((char *)s + s->cells) + operand * s->operand;
}

/* NULL where there is no such array. */
static inline void *stream_array(const void *base, size_t offset)
{
    return offset ? (char *)base + offset : NULL;
}

/* Numbers of B rows that lie `row` apart. */
struct stream_rows { const float *at; size_t row; };

/* What a layer gave in the step that goes on, or the input (SOURCE_INPUT). */
static inline struct stream_rows stream_given(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                                              int source, uint32_t after)
{
    if (source < 0)
        return (struct stream_rows){ stream_array(s, s->x), w->width };
    if (w->layer[source].cell)
        return (struct stream_rows){ stream_state(s, (size_t)source, 0, after), s->layer[source].row };
    return (struct stream_rows){ stream_array(s, s->layer[source].y), w->layer[source].outputs };
}

/* What a layer reads in the step. */
static inline struct stream_rows stream_input(const struct unroll_stream *s, const struct unroll_stream_weights *w,
                                              size_t layer)
{
    if (s->layer[layer].x)
        return (struct stream_rows){ stream_array(s, s->layer[layer].x), w->layer[layer].input };
    return stream_given(s, w, w->layer[layer].source[0], 1);
}

/* Writes the prepared steps for the place where the stream lies now. */
void stream_prepare(struct unroll_stream *);

/* Checks a configuration and lays the weights out: *head has all but the layers, which go to [MODEL_LAYERS_MAX].
 * With memory it fills them in. */
unroll_status stream_pack(const unroll_model *model, const unroll_stream_config *config, void *memory,
                          struct unroll_stream_weights *head, struct layer_weights *layer);

#endif
