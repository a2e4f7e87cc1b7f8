/* Pools over time: the steps of each row of x [T, B, K] before its length are reduced to y [1, B, K]; and their
 * backward. Units are independent and steps rise, so the bits do not depend on the team or on chunks of time: a later
 * chunk continues from the values in y. Rows of length 0 become zeros. */

enum { POOL_COLUMNS = 64 }; /* at a time */

/* Part of a row: n columns from k on, and the steps before its length, of which this chunk has `end` from `origin`
 * on. */
struct pool_part {
    size_t k, n, end, origin, length;
};

/* Returns the steps of x that count in row b. */
static struct pool_part pool_part(const struct call *call, const struct tensor *x, const int32_t *lengths, size_t b)
{
    const size_t length = lengths ? (size_t)lengths[b] : call->steps, origin = x->origin[0];
    const size_t left = length > origin ? length - origin : 0;
    return (struct pool_part){.origin = origin, .length = length, .end = at_most(left, x->count[0])};
}

/* Returns the index in this chunk of the first or last step of a sequence; `end` if it is in another chunk. */
static size_t pool_step(const struct pool_part *p, int pool)
{
    const size_t step = pool == POOL_FIRST ? 0 : p->length - 1;
    return p->length && step >= p->origin && step < p->origin + p->end ? step - p->origin : p->end;
}

/* Compilers vectorize loops of constant length. */
enum { POOL_BLOCK = 16 };
#define POOL_LOOP static inline __attribute__((always_inline)) void

/* A NaN is kept. */
POOL_LOOP pool_larger_of(real *restrict y, int32_t *restrict at, const real *restrict x, int32_t t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool larger = !(x[i] <= y[i]) & (y[i] == y[i]);
        y[i] = larger ? x[i] : y[i];
        at[i] = larger ? t : at[i];
    }
}

static void pool_larger(real *y, int32_t *at, const real *x, int32_t t, size_t n)
{
    size_t i = 0;
    for (; i + POOL_BLOCK <= n; i += POOL_BLOCK) pool_larger_of(y + i, at + i, x + i, t, POOL_BLOCK);
    pool_larger_of(y + i, at + i, x + i, t, n - i);
}

POOL_LOOP pool_where_of(real *restrict d, const real *restrict dy, const int32_t *restrict at, int32_t t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const real slope = dy[i]; /* read unconditionally: conditional loads are not vectorized */
        d[i] = at[i] == t ? slope : 0;
    }
}

/* dy if step t had the maximum, otherwise 0. */
static void pool_where(real *d, const real *dy, const int32_t *at, int32_t t, size_t n)
{
    size_t i = 0;
    for (; i + POOL_BLOCK <= n; i += POOL_BLOCK) pool_where_of(d + i, dy + i, at + i, t, POOL_BLOCK);
    pool_where_of(d + i, dy + i, at + i, t, n - i);
}

static void pool_divide(real *to, const real *from, size_t by, size_t n)
{
    for (size_t i = 0; i < n; i += V_WIDTH)
        store_up_to(to + i, v_div(load_up_to(from + i, n - i), v_const((float)by)), n - i);
}

/* Initializes y and at of a row whose first step is x. */
static void pool_begin(const struct pool_part *p, bool larger, const real *x, real *y, int32_t *at)
{
    memset(y, 0, p->n * sizeof *y);
    for (size_t i = 0; i < p->n; i++) at[i] = p->length ? 0 : -1;
    if (larger && p->length)
        copy_numbers(y, x, p->n);
}

/* Reduces some columns. x is the chunk's first step; steps are `step` elements apart. */
static void pool_columns(const struct call *call, const struct pool_part *p, const real *x, size_t step, real *y,
                         int32_t *at)
{
    const int pool = call->choice;
    const bool begins = call->view[POOL_Y].access == WRITE;
    if (begins)
        pool_begin(p, pool == POOL_MAX, x, y, at);
    if (pool == POOL_MAX)
        for (size_t t = begins; t < p->end; t++) pool_larger(y, at, x + t * step, (int32_t)(p->origin + t), p->n);
    else if (pool == POOL_MEAN)
        for (size_t t = 0; t < p->end; t++) add_numbers(y, x + t * step, p->n);
    else if (pool_step(p, pool) < p->end)
        copy_numbers(y, x + pool_step(p, pool) * step, p->n);
    if (pool == POOL_MEAN && pool_step(p, POOL_LAST) < p->end)
        pool_divide(y, y, p->length, p->n);
}

/* Counts the work of thread `me`: its part of the views first..last, and all of `lengths`. */
static void count_pool(struct work *work, const struct call *call, int first, int last, int lengths,
                       const struct portion *mine, int me)
{
    for (int slot = first; slot <= last; slot++)
        if (slot != lengths)
            count_slices(work, call, slot, mine->by_rows ? mine->row : mine->column,
                         mine->by_rows ? mine->rows : mine->columns);
    count_view(work, call, lengths, me);
}

/* Pools the steps of each row; threads divide the rows or the columns. */
static unroll_status kernel_pool(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *x = &call->view[POOL_X], *y = &call->view[POOL_Y], *at = &call->view[POOL_AT];
    const struct portion mine = my_portion(x->count[1], tensor_width(x), POOL_COLUMNS, me, team);
    int32_t unasked[POOL_COLUMNS]; /* scratch if `at` is absent */
    for (size_t b = mine.row.first; b < mine.row.end; b++, comm_poll()) {
        struct pool_part p = pool_part(call, x, call->view[POOL_LENGTHS].at, b);
        for (p.k = mine.column.first; p.k < mine.column.end; p.k += p.n) {
            p.n = at_most(mine.column.end - p.k, POOL_COLUMNS);
            pool_columns(call, &p, (const real *)tensor_row(x, b) + p.k, x->stride[0], (real *)tensor_row(y, b) + p.k,
                         at->at ? (int32_t *)tensor_row(at, b) + p.k : unasked);
        }
    }
    count_pool(work, call, POOL_X, POOL_AT, POOL_LENGTHS, &mine, me);
    return UNROLL_OK;
}

/* ---- backward -------------------------------------------------------------------------- */

/* Computes the gradient of step t: dy for the selected step, dy / length for the mean, or dy where the maximum was. */
static void pool_slope(const struct call *call, const struct pool_part *p, size_t t, const real *dy, const int32_t *at,
                       real *d)
{
    const int pool = call->choice;
    if (t >= p->end || (pool != POOL_MEAN && pool != POOL_MAX && t != pool_step(p, pool)))
        memset(d, 0, p->n * sizeof *d);
    else if (pool == POOL_MAX)
        pool_where(d, dy, at, (int32_t)(p->origin + t), p->n);
    else
        copy_numbers(d, dy, p->n);
}

static void pool_back_columns(const struct call *call, const struct pool_part *p, const real *dy, const int32_t *at,
                              real *dx, size_t step)
{
    const struct tensor *to = &call->view[POOL_BACK_DX];
    const bool adds = call->view[POOL_BACK_DX].access == ADD;
    real mean[POOL_COLUMNS], d[POOL_COLUMNS];
    pool_divide(mean, dy, call->choice == POOL_MEAN && p->length ? p->length : 1, p->n);
    for (size_t t = 0; t < (adds ? p->end : to->count[0]); t++)
        if (adds) {
            pool_slope(call, p, t, mean, at, d);
            add_numbers(dx + t * step, d, p->n);
        } else {
            pool_slope(call, p, t, mean, at, dx + t * step);
        }
}

/* Distributes dy of a pool to the steps in dx. */
static unroll_status kernel_pool_back(const struct call *call, int me, int team, struct work *work)
{
    const struct tensor *dx = &call->view[POOL_BACK_DX], *dy = &call->view[POOL_BACK_DY],
                        *at = &call->view[POOL_BACK_AT];
    const struct portion mine = my_portion(dx->count[1], tensor_width(dx), POOL_COLUMNS, me, team);
    for (size_t b = mine.row.first; b < mine.row.end; b++, comm_poll()) {
        struct pool_part p = pool_part(call, dx, call->view[POOL_BACK_LENGTHS].at, b);
        for (p.k = mine.column.first; p.k < mine.column.end; p.k += p.n) {
            p.n = at_most(mine.column.end - p.k, POOL_COLUMNS);
            pool_back_columns(call, &p, (const real *)tensor_row(dy, b) + p.k,
                              at->at ? (const int32_t *)tensor_row(at, b) + p.k : NULL, (real *)tensor_row(dx, b) + p.k,
                              dx->stride[0]);
        }
    }
    count_pool(work, call, POOL_BACK_DY, POOL_BACK_DX, POOL_BACK_LENGTHS, &mine, me);
    return UNROLL_OK;
}
