/* A stream in memory. Two structs, each followed by its arrays, which are found by offsets, so that
 * both may be copied byte by byte. The only addresses are those of prepared steps, which know for what place
 * they were made. Not the arithmetic: that is step.c's. */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H
#include "device/cpu/kernel.h"
#include "unroll.h"

/* Steps compute whole tiles of units, U+ of them: where the last has fewer, zero weights make zeros of what
 * nobody reads. So a width that is no multiple of a register costs no more than the next that is. */
static inline size_t stream_padded(size_t units)
{
    return (units + CELL_TILE - 1) / CELL_TILE * CELL_TILE;
}

/* Offsets are in bytes from the beginning of the struct; 0: there is no such array. */
struct layer_weights {
    size_t w_ih, b_ih;      /* tiles of [G, U, I], [G, U+]; of one-hot tokens a table [symbols, G, U+] of sums */
    size_t w_hh, b_hh;      /* tiles of [G', U, K], [G', U+] */
    size_t vector;          /* [V, U+] */
    size_t projection;      /* panels of [K, U] */
    size_t input;           /* I */
};

struct unroll_stream_weights {
    const struct cpu_isa      *isa;
    const struct cell_kernels *cell;
    enum dtype dtype;                       /* of the weights of products, but not of projections: F32, BF16, I8 */
    uint32_t layers, hidden, width;         /* U: units; K: width of h */
    uint32_t input, symbols;                /* of a frame; one of them is 0 */
    uint32_t output;                        /* of a row */
    uint32_t gates_x, gates_h;              /* gate inputs that see x; that see h or a link */
    struct cell_options options;
    size_t   embedding, head, head_bias;    /* [symbols, E]; panels of [output, K]; [output] */
    size_t   bytes;
    struct layer_weights layer[];
};

struct unroll_stream {
    const struct unroll_stream_weights *shared;     /* NULL: they are inside */
    const struct unroll_stream *place;      /* where the prepared steps are valid; elsewhere they are made anew */
    size_t   inside;                        /* offset of weights of its own */
    size_t   rows;                          /* B */
    size_t   row, plane, set;               /* floats in a row of states, a plane [B, row], the states of a layer */
    size_t   state;                         /* [2][layers][states] planes: before and after a step in turn */
    size_t   prepared;                      /* [2][layers] struct fused_step, by `now` */
    size_t   x;                             /* scratch: what the first layer reads, [B, I]; of one-hot tokens its
                                             * sums [B, G, U+] */
    size_t   link;                          /* scratch: [links] planes, or a plane of what is projected */
    size_t   cells, operand;                /* scratch of int8 weights: the operands as bytes, in the order of
                                             * enum stream_operand, so many cells each */
    uint32_t now;                           /* which of the two halves of `state` holds the states */
    size_t   bytes;
};

enum { STREAM_ALIGNMENT = 64 };             /* of arrays, from the beginning of the struct */

static inline const struct unroll_stream_weights *stream_weights(const struct unroll_stream *s)
{
    return s->shared ? s->shared : (const void *)((const char *)s + s->inside);
}

/* Plane i of a layer's states, before (after = 0) or after the step. */
static inline float *stream_state(const struct unroll_stream *s, size_t layer, size_t i, uint32_t after)
{
    const size_t half = (s->now ^ after) * stream_weights(s)->layers * s->set;
    return (float *)((char *)s + s->state) + half + layer * s->set + i * s->plane;
}

/* How many numbers a row of state i has: h may be projected. */
static inline size_t stream_state_width(const struct unroll_stream_weights *w, size_t i)
{
    return i ? w->hidden : w->width;
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

/* Writes the prepared steps for the place where the stream lies now. */
void stream_prepare(struct unroll_stream *);

/* Checks a configuration and lays the weights out; with memory it fills them in. *packed has all but the layers. */
unroll_status stream_pack(const unroll_model *model, const unroll_stream_config *config, void *memory,
                          struct unroll_stream_weights *packed);

#endif
