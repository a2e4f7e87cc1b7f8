/* An integer program as tables for a fixed core (rtl/unroll_core.v): stages with the products that they read,
 * segments, rows, groups of units, and the words of the pointwise part. verilog.c prints them as text. For the terms
 * see docs/howto/fpga.md. */
#ifndef EXPORT_HARDWARE_H
#define EXPORT_HARDWARE_H
#include "stream/program/integers.h"
#include "unroll_advanced.h"

enum {
    MAX_STAGES = 24,
    MAX_GATES = 8,
    MAX_SOURCES = 8,
    MAX_OPERATIONS = 48,  /* per unit */
    MAX_SHIFTS = 32,      /* per list: the core has a parameter of 32 bytes for each */
    MAX_LISTS = 16,       /* with skipping: vectors that products read; 16 bits of 256 each */
    MAX_ROUNDS = 16,      /* maximum rounds during which a unit is active */
    OPERATION_CLOCKS = 14 /* latency from a word to one that reads its result (unroll_core.v, clocks 3 and 16) */
};

struct shift_list {
    int8_t shift[MAX_SHIFTS];
    int count;
};

/* A contribution to a stage's sums, in the order of the segments. */
enum source_kind { SOURCE_X, SOURCE_OLD, SOURCE_NEW }; /* x, states of the previous step, results of this step */

struct source {
    enum source_kind kind;
    int vector; /* or ABSENT_VECTOR: a column of the token */
    uint32_t length;
    int gates, gate[MAX_GATES], act[MAX_GATES]; /* the products of this source */
    uint32_t row[MAX_GATES];                    /* in its matrix, for the first unit */
    uint32_t unit_count;                        /* in a segment */
    int segments;
};

enum operand_from { FROM_SLOT, FROM_TEMP, FROM_STATE, FROM_WEIGHTS, FROM_IMMEDIATE, FROM_ONE, FROM_ZERO };

struct word_operand {
    enum operand_from from;
    int at; /* slot, index of the temporary, address */
};

enum word_kind { WORD_SUM, WORD_SIGMOID, WORD_TANH };
enum word_limit { LIMIT_NONE, LIMIT_LEAST, LIMIT_MOST }; /* minimum or maximum of the value and c */

struct word {
    enum word_kind kind;
    enum word_limit limit;
    struct word_operand a, b, c; /* a b +- c, or a function of c */
    bool minus;
    int immediate, p_shift, c_shift, out_shift, left; /* indices into its lists; left: shift of a function's argument */
    int temp;                                         /* result, or -1 */
    int state, even, odd;                             /* addresses that receive the result; -1: none */
    int needs[3], needed;                             /* words that must come before */
    int clock;                                        /* relative to the start of its unit */
};

struct stage {
    int act; /* the act that ends it: pointwise, a copy, or the output */
    bool is_head;
    uint32_t units;
    int gates;
    int sums[MAX_GATES];       /* vectors .. */
    uint32_t first[MAX_GATES]; /* .. and where in them */
    int format[MAX_GATES];     /* index into FORMATS */
    struct source source[MAX_SOURCES];
    int sources;
    uint32_t unit_count; /* units of a group, completed by a segment of the last source */
    int groups, first_group, slot;
    struct word word[MAX_OPERATIONS];
    int words, interval, base, temps;
};

enum list { LIST_EARLY, LIST_HEAD, LIST_LATE, LISTS };

struct segment {
    enum list list;
    int stage, source, vector;               /* vector: in the program, as its products read it; or ABSENT_VECTOR */
    uint32_t first;                          /* unit of the stage */
    uint32_t even, odd, length, units, rows; /* units: in a group of the stage that wrote the vector */
    int need;
    bool waits_x, is_zero, is_token, is_head, ends_list, flips, frees_x;
};

struct row {
    int32_t multiplier, bias;
    int shift, format;
    uint32_t slot;
    bool adds, is_final, is_head, is_last;
};

struct group {
    int stage;
    uint32_t first, units;
    bool is_last;
};

struct hardware {
    struct program *program; /* not owned */
    int lanes, holds;
    bool is_class, skips;
    int tokens, embeds; /* categories of x; values of an embedding row, 0: one-hot columns */
    int x_width, outputs;
    struct stage stage[MAX_STAGES];
    int stages;
    struct segment *segment;
    struct row *row;
    struct group *group;
    int segments, rows, groups;
    int early;                                                     /* segments of x in the early list */
    int first_segment[LISTS], first_row[LISTS], first_word[LISTS]; /* first_word: of weights */
    uint8_t *weights;                                              /* [words][lanes] */
    size_t weight_words;
    struct shift_list row_shifts, formats, p_shifts, c_shifts, out_shifts;
    int16_t *vectors; /* weights of the pointwise part */
    uint32_t vector_count;
    uint32_t x_words, slots, states; /* of memories */
    int words;                       /* of all pointwise programs */
    uint64_t macs;                   /* per step; with skipping: if every value moves */
    uint32_t *moved; /* [moved_steps][vectors of the program] counts from a run; or NULL: every value moves */
    int moved_steps;
    int lists, list[MAX_LISTS]; /* with skipping: vectors, 0 is that of x if there are numbers; their indices */
    int accumulator_bits, multiplier_bits, bias_bits;
    bool uses_limits;
    /* by vector */
    int alias[8 * MODEL_LAYERS_MAX], x_base[8 * MODEL_LAYERS_MAX], state_base[8 * MODEL_LAYERS_MAX],
        writer[8 * MODEL_LAYERS_MAX];
};

/* Builds the tables of an integer program. lanes: parallel multipliers, at least 1; is_class: output the index of
 * the largest result instead of all results. Returns UNROLL_UNSUPPORTED with a message for networks that the core
 * does not support. The program must outlive the tables. */
unroll_status hardware_new(struct program *, int lanes, bool is_class, struct hardware **);
void hardware_free(struct hardware *); /* NULL is allowed */

/* Counts clocks (hardware_clocks.c): of a step if the next x is always available; those in which the lanes multiply;
 * and the latency from the last word of x to the last of y when idle. */
unroll_status hardware_clocks(const struct hardware *, double *step, double *busy, double *latency);

/* With skipping: counts the values that move in the first steps of the inputs, for hardware_clocks. The reference
 * begins and ends with zero states. */
unroll_status hardware_observe(struct hardware *, struct unroll_integer *, const struct calibration_data *);

/* Chooses the largest useful number of lanes, up to `most`: utilization must reach 95 %, or 90 % for networks with
 * fewer than 64 units. If no number reaches it, the one with the highest utilization is chosen. */
unroll_status hardware_choose_lanes(struct program *, bool is_class, int most, int *lanes);

/* ---- for hardware_*.c ---- */
unroll_status shift_index(struct shift_list *, int shift, int *index);
unroll_status hardware_stages(struct hardware *); /* hardware_stages.c: from acts; memories */
unroll_status hardware_words(struct hardware *);  /* hardware_words.c: the pointwise part */
/* With skipping: returns the list of a vector or its origin. */
int hardware_list(const struct hardware *, int vector);
unroll_status hardware_segments(struct hardware *); /* hardware_segments.c: segments, rows, weights; uses h->early */
int hardware_x_segments(const struct hardware *);
unroll_status hardware_choose_early(struct hardware *); /* hardware_choice.c: calls hardware_segments */

/* Returns the number of bits for values 0 .. most, at least 1. */
static inline int bits_of(uint64_t most)
{
    int bits = 1;
    while (bits < 64 && most >> bits) bits++;
    return bits;
}

#endif
