/* Traits of the device and instruction set that a plan is made for, filled in by the device (device.h). If all are
 * zero, products read weights unpacked and no other properties are assumed. Independent of devices. */
#pragma once
#include "base/status.h"
#include <stdbool.h>

struct buffer;
struct plan;

/* Packed copies of weights, in the device's own layouts, numbered from 1. */
struct operand_traits {
    int product, step;                                /* layouts for products of all steps, and for steps of
                                                       * recurrences */
    int (*backward)(const struct plan *, int master); /* for products of backward */
    const char *(*name)(int layout);                  /* suffix of the name of a session's own copy: "columns" */
    uint64_t (*bytes)(const struct plan *, const struct buffer *); /* bytes of a buffer in a layout */

    /* Returns whether steps with this batch are faster if they compute the product of an x with this many inputs
     * themselves, with weights in cache. */
    bool (*folds)(const struct plan *, uint64_t inputs);
    /* Returns the planes of `width` elements for the gradients of the sums of U units, in the layout that the following
     * products read. */
    uint32_t (*planes)(const struct plan *, uint32_t inputs, uint32_t U, uint32_t width);
    /* Sets the number of bf16 that products split floats into: plan.splits, plan.splits_dw, plan.block_steps. Called
     * before all passes. */
    void (*begin)(struct plan *);
    unroll_status (*choose)(struct plan *); /* a pass: operations read other copies if that is faster */
};

/* Products with one-hot rows gather columns of weights if the number of symbols is in min..max. */
struct gathers_columns {
    uint32_t min, max;
    bool narrow;
}; /* narrow: also for bf16 and int8 weights */

struct device_traits {
    const struct operand_traits *operands; /* NULL: products read unpacked weights */
    bool splits;                           /* products of many rows may multiply floats as sums of three bf16 */
    bool rounds;                           /* or, with precision bf16, rounded to one */
    bool rendezvous;                       /* messages are exchanged in list order, at both ends at once */
    uint32_t near;                         /* bytes that stay in its caches from operation to operation; 0: unknown */
    uint32_t narrow; /* steps of a recurrence always compute the product of an x of at most this width
                      * (pass_fuse_input) */
    struct gathers_columns gathers_columns; /* { 0, 0 }: never */
    bool pieces;                            /* recurrences can run pieces of time at once */
    bool sequence_losses;                   /* has the operation sequence_loss */
    uint32_t int8_products;                 /* maximum products in a sum of int8 */
};
