/* What plans must know of the device and the instruction set that they are made for. The device fills it in (device.h);
 * all zero: products read weights as they are, and nothing else is known. No device is known here. */
#ifndef PLAN_TRAITS_H
#define PLAN_TRAITS_H
#include "base/status.h"
#include <stdbool.h>

struct buffer;
struct plan;

/* Packed copies of weights, in layouts of the device's own, which have numbers above 0. */
struct operand_traits {
    int product, step;                                /* what products of all steps read, and steps of recurrences */
    int (*backward)(const struct plan *, int master); /* and products of the backward */
    const char *(*name)(int layout);                  /* ends the name of a session's own copy: "columns" */
    uint64_t (*bytes)(const struct plan *, const struct buffer *); /* of one in a layout */

    /* Do steps with this batch gain by multiplying an x of so many inputs themselves, where the weights stay in cache?
     */
    bool (*folds)(const struct plan *, uint64_t inputs);
    /* Planes of `width` numbers for the gradients of the sums of U units, as the products that follow read them. */
    uint32_t (*planes)(const struct plan *, uint32_t inputs, uint32_t U, uint32_t width);
    /* Says as how many bf16 products multiply floats: plan.splits, plan.splits_dw, plan.block. Before all passes. */
    void (*begin)(struct plan *);
    unroll_status (*choose)(struct plan *); /* a pass: operations read other copies, if they gain */
};

/* Products with one-hot rows gather columns of weights where there are so many symbols, from min to max. */
struct gathers_columns {
    uint32_t min, max;
    bool narrow;
}; /* narrow: weights in bf16 and int8, too */

struct device_traits {
    const struct operand_traits *operands; /* NULL: products read weights as they are */
    bool splits;                           /* products of many rows may multiply floats as sums of three bf16 */
    bool rounds;                           /* or, with precision bf16, rounded to one */
    bool rendezvous; /* all that a rank exchanges is done in list order, both ends at once (rendezvous) */
    uint32_t near;   /* bytes that stay in its caches from operation to operation; 0: not known */
    uint32_t narrow; /* an x at most so wide steps of a recurrence always multiply themselves (pass_fuse_input) */
    struct gathers_columns gathers_columns; /* { 0, 0 }: never */
    bool pieces;                            /* recurrences run pieces of time at once where they are asked to */
    uint32_t int8_products;                 /* that a sum of products of int8 may have */
};

#endif
