/* An integer program as tables of a fixed core (rtl/unroll_core.v): stages with the products that they read, segments,
 * rows, groups of units and the words of their pointwise part. Not text: verilog.c prints it. docs/howto/fpga.md has
 * the terms. */
#ifndef EXPORT_HARDWARE_H
#define EXPORT_HARDWARE_H
#include "export/integers.h"

enum {
    MAX_STAGES = 24,
    MAX_GATES = 8,
    MAX_SOURCES = 8,
    MAX_OPERATIONS = 48,  /* of a unit */
    MAX_SHIFTS = 32,      /* of a list: the core has a parameter of 32 bytes for each */
    MAX_LISTS = 16,       /* with skipping: vectors that products read; 16 bits of 256 each */
    MAX_ROUNDS = 16,      /* a unit is under way for at most so many */
    OPERATION_CLOCKS = 14 /* until a word may read what another made (unroll_core.v, clocks 3 and 16) */
};

struct shift_list {
    int8_t shift[MAX_SHIFTS];
    int count;
};

/* What a stage's sums are made of, in the order of the segments. */
enum source_kind { SOURCE_X, SOURCE_OLD, SOURCE_NEW }; /* x, states of the step before, what this step made */

struct source {
    enum source_kind kind;
    int vector; /* or ABSENT_VECTOR: a column of the token */
    uint32_t length;
    int gates, gate[MAX_GATES], act[MAX_GATES]; /* the product that makes it */
    uint32_t row[MAX_GATES];                    /* of its matrix, of the first unit */
    uint32_t unit_count;                        /* of a segment */
    int segments;
};

enum operand_from { FROM_SLOT, FROM_TEMP, FROM_STATE, FROM_WEIGHTS, FROM_IMMEDIATE, FROM_ONE, FROM_ZERO };

struct word_operand {
    enum operand_from from;
    int at; /* slot, number of the temporary, address */
};

enum word_kind { WORD_SUM, WORD_SIGMOID, WORD_TANH };
enum word_limit { LIMIT_NONE, LIMIT_LEAST, LIMIT_MOST }; /* the lesser, the greater of the number and c */

struct word {
    enum word_kind kind;
    enum word_limit limit;
    struct word_operand a, b, c; /* a b +- c, or a function of c */
    bool minus;
    int immediate, p_shift, c_shift, out_shift, left; /* of its lists; left: how far a function's argument goes */
    int temp;                                         /* what it makes, or -1 */
    int state, even, odd;                             /* addresses that get it; -1: none */
    int needs[3], needed;                             /* operations that come before */
    int clock;                                        /* since its unit began */
};

struct stage {
    int act; /* that ends it: pointwise, a copy, the way out */
    bool is_head;
    uint32_t units;
    int gates;
    int sums[MAX_GATES];       /* vectors .. */
    uint32_t first[MAX_GATES]; /* .. and where in them */
    int format[MAX_GATES];     /* of FORMATS */
    struct source source[MAX_SOURCES];
    int sources;
    uint32_t unit_count; /* of a group: what a segment of the last source ends */
    int groups, first_group, slot;
    struct word word[MAX_OPERATIONS];
    int words, interval, base, temps;
};

enum list { LIST_EARLY, LIST_HEAD, LIST_LATE, LISTS };

struct segment {
    enum list list;
    int stage, source, vector;               /* vector: of the program, as its products read it; or ABSENT_VECTOR */
    uint32_t first;                          /* unit of the stage */
    uint32_t even, odd, length, units, rows; /* units: of a group of those that wrote the vector */
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
    int tokens, embeds; /* categories of x; numbers of a row, 0: columns are read */
    int x_width, outputs;
    struct stage stage[MAX_STAGES];
    int stages;
    struct segment *segment;
    struct row *row;
    struct group *group;
    int segments, rows, groups;
    int early;                                                     /* segments of x that stand in the early list */
    int first_segment[LISTS], first_row[LISTS], first_word[LISTS]; /* of weights */
    uint8_t *weights;                                              /* [words][lanes] */
    size_t weight_words;
    struct shift_list row_shifts, formats, p_shifts, c_shifts, out_shifts;
    int16_t *vectors; /* weights of the pointwise part */
    uint32_t vector_count;
    uint32_t x_words, slots, states; /* of memories */
    int words;                       /* of all pointwise programs */
    uint64_t macs;                   /* of a step; with skipping: if all moves */
    uint32_t *moved;                 /* [moved_steps][vectors of the program] in a run; or NULL: all move */
    int moved_steps;
    int lists, list[MAX_LISTS]; /* with skipping: vectors, 0 that of x if there are numbers; where they are */
    int accumulator_bits, multiplier_bits, bias_bits;
    bool uses_limits;
    /* of vectors */
    int alias[8 * MODEL_LAYERS_MAX], x_base[8 * MODEL_LAYERS_MAX], state_base[8 * MODEL_LAYERS_MAX],
        writer[8 * MODEL_LAYERS_MAX];
};

/* Of an integer program. Lanes that multiply at a time, at least 1; is_class: the index of the largest result, not the
 * results. UNROLL_UNSUPPORTED with a sentence for what the core has no form of. The program outlives it. */
unroll_status hardware_new(struct program *, int lanes, bool is_class, struct hardware **);
void hardware_free(struct hardware *); /* NULL is allowed */

/* Clocks of a step where the next x is always there, in how many of them the lanes multiply, and from the last word of
 * x to the last of y where nothing else is under way (hardware_clocks.c). */
unroll_status hardware_clocks(const struct hardware *, double *step, double *busy, double *latency);

/* With skipping: what moved in the first steps of the inputs, which hardware_clocks goes by from then on. The reference
 * begins and ends with zero states. */
unroll_status hardware_observe(struct hardware *, struct unroll_integer *, const struct calibration *);

/* As many lanes, of at most `most`, as are still of use: of the products that all of them could make in a step 95 % are
 * made, of networks with fewer than 64 units 90 %; if that is true of no number, the one of which most is used. */
unroll_status hardware_choose_lanes(struct program *, bool is_class, int most, int *lanes);

/* ---- for hardware_*.c ---- */
unroll_status shift_index(struct shift_list *, int shift, int *index);
unroll_status hardware_stages(struct hardware *); /* hardware_stages.c: from acts; memories */
unroll_status hardware_words(struct hardware *);  /* hardware_words.c: the pointwise part */
/* Of a vector or its origin; the hardware skips. */
int hardware_list(const struct hardware *, int vector);
unroll_status hardware_segments(struct hardware *); /* hardware_segments.c: segments, rows, weights; of h->early */
int hardware_x_segments(const struct hardware *);
unroll_status hardware_choose_early(struct hardware *); /* hardware_choice.c: calls the one above */

/* Bits that hold 0 .. most, at least 1. */
static inline int bits_of(uint64_t most)
{
    int bits = 1;
    while (bits < 64 && most >> bits) bits++;
    return bits;
}

#endif
