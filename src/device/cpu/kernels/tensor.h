/* Helpers of kernels for views: rows, shares of the team, and counting work. No arithmetic. */
#pragma once
#include "device/cpu/kernels/kernel.h"

/* Returns the length of the last axis, a row. */
static inline uint32_t tensor_width(const struct tensor *x) { return x->count[x->rank - 1]; }

static inline size_t tensor_rows(const struct tensor *x)
{
    size_t rows = 1;
    for (int i = 0; i < x->rank - 1; i++) rows *= x->count[i];
    return rows;
}

/* Returns the address of row number `row`, with the first axis slowest. */
static inline void *tensor_row(const struct tensor *x, size_t row)
{
    size_t at = 0;
    for (int i = x->rank - 2; i >= 0; i--) {
        at += row % x->count[i] * x->stride[i];
        row /= x->count[i];
    }
    return (char *)x->at + at * dtype_size(x->dtype);
}

/* This thread's range of 0 .. size-1, in multiples of grain. */
struct range {
    size_t first, end;
};

static inline struct range my_share(size_t size, int me, int team, uint32_t grain)
{
    uint32_t first, count;
    shard_range((uint32_t)size, team, me, grain, &first, &count);
    return (struct range){first, first + count};
}

/* This thread's part of a matrix of results: rows if there are enough for all threads, otherwise columns. */
struct portion {
    struct range row, column;
    size_t rows, columns; /* of the whole matrix */
    bool by_rows;
};

static inline struct portion portion_by(bool by_rows, size_t rows, size_t columns, uint32_t column_grain, int me,
                                        int team)
{
    struct portion p = {{0, rows}, {0, columns}, rows, columns, by_rows};
    if (by_rows)
        p.row = my_share(rows, me, team, 1);
    else
        p.column = my_share(columns, me, team, column_grain);
    return p;
}

/* Fewer rows per thread multiply more slowly, but are still better than too few blocks of columns for the team. */
static inline bool rows_divide_better(size_t rows, size_t blocks, size_t team)
{
    enum { ENOUGH = 8 };
    return rows >= team * ENOUGH || (blocks < team && 2 * ((rows + team - 1) / team) * blocks <= rows);
}

static inline struct portion my_portion(size_t rows, size_t columns, uint32_t column_grain, int me, int team)
{
    const size_t blocks = (columns + column_grain - 1) / column_grain;
    return portion_by(rows_divide_better(rows, blocks, (size_t)team), rows, columns, column_grain, me, team);
}

/* ---- work ------------------------------------------------------------------------------ */

/* Counts elements of the view in a slot that this thread processed. */
static inline void count_elements(struct work *work, const struct call *call, int slot, double elements)
{
    const struct tensor *x = &call->view[slot];
    enum access access = call->view[slot].access;
    if (x->at)
        work->bytes += elements * (double)dtype_size(x->dtype) * (access == ADD || access == UPDATE ? 2 : 1);
}

/* Counts a view that all threads read, or that only thread 0 processes. */
static inline void count_view(struct work *work, const struct call *call, int slot, int me)
{
    const struct tensor *x = &call->view[slot];
    if (x->at && me == 0)
        count_elements(work, call, slot, (double)tensor_rows(x) * tensor_width(x));
}

/* Counts a view of `of` equal slices, of which this thread processed a range. */
static inline void count_slices(struct work *work, const struct call *call, int slot, struct range taken, size_t of)
{
    const struct tensor *x = &call->view[slot];
    if (!x->at || of == 0)
        return;
    size_t slice = tensor_rows(x) * tensor_width(x) / of;
    count_elements(work, call, slot, (double)(slice * (taken.end - taken.first)));
}

/* Counts the operands of a matrix of results: one is divided by its rows, one by its columns. */
static inline void count_portion(struct work *work, const struct call *call, const struct portion *p, int of_rows,
                                 int of_columns, int result, int me)
{
    if (p->by_rows) {
        count_slices(work, call, of_rows, p->row, p->rows);
        count_slices(work, call, result, p->row, p->rows);
        count_view(work, call, of_columns, me);
    } else {
        count_slices(work, call, of_columns, p->column, p->columns);
        count_slices(work, call, result, p->column, p->columns);
        count_view(work, call, of_rows, me);
    }
}
