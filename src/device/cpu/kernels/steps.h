/* The axes T and B of a tensor as one list of rows, and the active rows of a ragged batch: those before their length.
 * Active rows are not evenly spaced: a product gathers them and scatters its results; one of bf16x3 splits writes them
 * in place. */

static size_t at_most(size_t n, size_t max) { return n < max ? n : max; }

struct steps {
    real *at;
    size_t t, b, batch;
};

static struct steps steps_of(const struct tensor *x)
{
    return (struct steps){x->at, x->stride[0], x->stride[1], x->count[1]};
}

static real *steps_at(const struct steps *s, size_t row)
{
    return s->at + row / s->batch * s->t + row % s->batch * s->b;
}

/* Returns how many rows from `row` on, before `end`, are evenly spaced in both tensors. */
static size_t steps_even(const struct steps *s, const struct steps *other, size_t row, size_t end)
{
    bool even = s->t == s->batch * s->b && other->t == other->batch * other->b;
    size_t to_next_step = s->batch - row % s->batch;
    return even || end - row < to_next_step ? end - row : to_next_step;
}

/* ---- active rows ----------------------------------------------------------------------- */

/* Iterates over active rows, in rising steps and rising rows within a step. */
struct lasting {
    const int32_t *lengths;      /* NULL: all rows are active */
    size_t origin, steps, batch; /* origin: the first step's index in the whole sequence */
    size_t t, b, count;          /* the position, and the number of remaining rows */
};

static bool lasts(const struct lasting *l, size_t t, size_t b)
{
    return !l->lengths || (int64_t)(l->origin + t) < l->lengths[b];
}

static struct lasting lasting_of(const struct tensor *x, const void *lengths)
{
    struct lasting l = {lengths, x->origin[0], x->count[0], x->count[1], 0, 0, 0};
    for (size_t b = 0; b < l.batch; b++) {
        int64_t left = l.lengths ? l.lengths[b] - (int64_t)l.origin : (int64_t)l.steps;
        left = left < 0 ? 0 : left;
        l.count += (size_t)left < l.steps ? (size_t)left : l.steps;
    }
    return l;
}

/* Moves to the next row; returns false after the last. */
static bool lasting_next(struct lasting *l, size_t *t, size_t *b)
{
    if (l->count == 0)
        return false;
    l->count--;
    for (;; l->t++, l->b = 0)
        for (; l->b < l->batch; l->b++)
            if (lasts(l, l->t, l->b)) {
                *t = l->t;
                *b = l->b++;
                return true;
            }
}

/* Restricts the iteration to a thread's share. */
static void lasting_share(struct lasting *l, int me, int team)
{
    const struct range mine = my_share(l->count, me, team, 1);
    l->count = mine.first;
    for (size_t t, b; l->lengths && lasting_next(l, &t, &b);) {}
    if (!l->lengths && l->batch) {
        l->t = mine.first / l->batch;
        l->b = mine.first % l->batch;
    }
    l->count = mine.end - mine.first;
}

/* Clears the other rows: this thread's share of `gates` gates, `width` elements each. */
static void clear_ended(const struct lasting *l, const struct steps *y, size_t gates, size_t gate, size_t width, int me,
                        int team)
{
    const struct range step = my_share(l->steps, me, team, 1);
    for (size_t t = step.first; t < step.end && l->lengths; t++)
        for (size_t b = 0; b < l->batch; b++)
            for (size_t g = 0; g < gates && !lasts(l, t, b); g++)
                memset(y->at + t * y->t + b * y->b + g * gate, 0, width * sizeof(real));
}

/* ---- products of scattered rows --------------------------------------------------------- */

enum { GATHERED = 96, GATHERED_K = 256, GATHERED_COLUMNS = 16 * PANEL };

/* Takes the next rows in both tensors, at most `max`. Returns their number. */
static size_t lasting_take(struct lasting *l, const struct steps *x, const struct steps *y, size_t max,
                           const real **from, real **to)
{
    size_t n = 0;
    for (size_t t, b; n < max && lasting_next(l, &t, &b); n++) {
        from[n] = x->at + t * x->t + b * x->b;
        to[n] = y->at + t * y->t + b * y->b;
    }
    return n;
}

/* For int8 weights and start ZERO: quantizes rows to bytes, as many at a time as fit. */
static void product_gathered_int8(const struct call *call, const struct product *p, const real *const *from,
                                  real *const *to)
{
    struct gathered_bytes {
        uint32_t a[OPERAND_SCRATCH];
        _Alignas(64) real c[GATHERED * GATHERED_COLUMNS];
    };
    uint32_t *a = KERNEL_KEEPS(struct gathered_bytes)->a;
    real *c = KERNEL_KEEPS(struct gathered_bytes)->c;
    const size_t row = operand_words(p->k), max = OPERAND_SCRATCH / row;
    struct product q = *p;
    q.a = a, q.a_row = row, q.c = c, q.c_row = GATHERED_COLUMNS;
    for (size_t first = 0; first < p->m; first += q.m) {
        q.m = p->m - first < max ? p->m - first : max;
        for (size_t m = 0; m < q.m; m++) call->isa->quantize(from[first + m], p->k, a + m * row);
        for (size_t n = 0; n < p->n; n += GATHERED_COLUMNS) {
            q.n = p->n - n < GATHERED_COLUMNS ? p->n - n : GATHERED_COLUMNS;
            q.b = (const char *)p->b + n / PANEL * p->b_panel * word_bytes(DTYPE_I8);
            q.bias = p->bias ? (const real *)p->bias + n : NULL;
            call->isa->product_int8(&q);
            for (size_t m = 0; m < q.m; m++) copy_numbers(to[first + m] + n, c + m * GATHERED_COLUMNS, q.n);
        }
    }
}

/* Runs p with weights of this type, but with rows of a and c at from[m] and to[m]; p's a and c are ignored. m <=
 * GATHERED. */
static void product_gathered(const struct call *call, const struct product *p, enum dtype type, const real *const *from,
                             real *const *to)
{
    if (type == DTYPE_I8) {
        product_gathered_int8(call, p, from, to);
        return;
    }
    struct gathered {
        _Alignas(64) real a[GATHERED * GATHERED_K], c[GATHERED * GATHERED_COLUMNS];
    };
    real *a = KERNEL_KEEPS(struct gathered)->a, *c = KERNEL_KEEPS(struct gathered)->c;
    for (size_t n = 0; n < p->n; n += GATHERED_COLUMNS) {
        struct product q = *p;
        q.n = p->n - n < GATHERED_COLUMNS ? p->n - n : GATHERED_COLUMNS;
        q.a = a, q.a_row = GATHERED_K, q.a_col = 1;
        q.c = c, q.c_row = GATHERED_COLUMNS;
        q.bias = p->bias ? (const real *)p->bias + n : NULL;
        for (size_t m = 0; m < p->m && p->start == AS_IS; m++) copy_numbers(c + m * GATHERED_COLUMNS, to[m] + n, q.n);
        for (size_t k = 0; k < p->k; k += GATHERED_K, q.start = AS_IS, q.bias = NULL) {
            q.k = p->k - k < GATHERED_K ? p->k - k : GATHERED_K;
            q.b = (const char *)p->b + (n / PANEL * p->b_panel + words_of(type, k) * p->b_row) * word_bytes(type);
            for (size_t m = 0; m < p->m; m++) copy_numbers(a + m * GATHERED_K, from[m] + k, q.k);
            product_with(call->isa, type)(&q);
        }
        for (size_t m = 0; m < p->m; m++) copy_numbers(to[m] + n, c + m * GATHERED_COLUMNS, q.n);
    }
}

/* ---- operands of bf16x3 products ----------------------------------------------------- */

/* Rows and steps of k at a time: their left factors stay in the L2 cache, and many rows share the loads of the right
 * ones. */
enum { LEFT_TAKEN = 256, LEFT_STEPS = 16, LEFT_SCRATCH = LEFT_TAKEN * LEFT_STEPS * BF16X3_PARTS * LEFT_PART };
struct left_scratch {
    _Alignas(64) char at[LEFT_SCRATCH];
};

/* Returns the rows at a time for k elements: half as many if all their k then fit, so that sums are never stored
 * unfinished. */
static size_t left_taken(size_t k)
{
    const size_t steps = bf16x3_steps(k);
    return steps > LEFT_STEPS && steps <= 2 * LEFT_STEPS ? LEFT_TAKEN / 2 : LEFT_TAKEN;
}

/* Converts at most left_taken(rows->k) rows to left factors, from a step on. Returns the number of steps. */
static size_t take_left(const struct call *call, const struct left_rows *rows, size_t step, char *to)
{
    struct left_rows l = *rows;
    const size_t row = left_taken(rows->k) * left_row_bytes(call->isa->parts);
    const size_t left = rows->k - step * BF16X3_K, max = LEFT_SCRATCH / row * BF16X3_K;
    l.from = step * BF16X3_K;
    l.k = left < max ? left : max;
    l.to = to;
    l.steps = bf16x3_steps(l.k);
    call->isa->left_rows(&l);
    return l.steps;
}

struct gathered_bf16x3 {
    size_t m, n, k;
    const char *right;
    size_t right_first, right_steps;
    const real *bias;
    enum start start;
};

/* Like product_gathered: rows of the left factor and of c are at from[m] and to[m]. m <= left_taken(k). */
static void product_gathered_bf16x3(const struct call *call, const struct gathered_bf16x3 *p, const real *const *from,
                                    real *const *to)
{
    char *left = KERNEL_KEEPS(struct left_scratch)->at;
    const struct left_rows rows = {.each = (const void *const *)from, .rows = p->m, .k = p->k};
    const size_t steps = bf16x3_steps(p->k);
    for (size_t first = 0, some; first < steps; first += some) {
        some = take_left(call, &rows, first, left);
        call->isa->product_bf16x3(
            &(struct product_bf16x3){.m = p->m,
                                     .n = p->n,
                                     .steps = some,
                                     .left = left,
                                     .left_steps = some,
                                     .right = p->right,
                                     .right_first = p->right_first + first,
                                     .right_steps = p->right_steps,
                                     .each = (void *const *)to,
                                     .bias = first == 0 ? (const float *)(const void *)p->bias : NULL,
                                     .start = first == 0 ? p->start : AS_IS});
    }
}
