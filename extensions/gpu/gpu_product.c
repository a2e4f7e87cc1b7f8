/* Products (gpu_launch.h): operands of bf16 and fp16 are converted here, in scratch; the driver multiplies. */
#include "extensions/gpu/gpu_launch.h"

bool products_are_lowp(const struct recorder *w)
{
    const struct plan *p = w->plan;
    return !w->driver->panel && (p->config.precision == PRECISION_BF16 || p->config.precision == PRECISION_FP16);
}

/* Returns the elements of a row, rounded up to a multiple of 16 bytes. */
static size_t lowp_row(uint32_t width)
{
    enum { TOGETHER = 8 };
    return (width + TOGETHER - 1) / TOGETHER * TOGETHER;
}

static unroll_status lowp_to(struct recorder *w, struct matrix *x, uint32_t rows, uint32_t width, void *to)
{
    const struct lowp_args args = {.from = (const float *)(void *)x->at,
                                   .from_row = x->row,
                                   .rows = rows,
                                   .width = width,
                                   .to = to,
                                   .to_row = lowp_row(width),
                                   .is_fp16 = w->plan->config.precision == PRECISION_FP16};
    *x = (struct matrix){to, args.to_row};
    return launch_each(w, "gpu_lowp", rows, args.to_row, ARGS(&args));
}

struct gpu_lowp lowp_rows(struct recorder *w, uint32_t rows, size_t fields, size_t width)
{
    const size_t row = lowp_row((uint32_t)(fields * width));
    if (!products_are_lowp(w))
        return (struct gpu_lowp){0};
    return (struct gpu_lowp){.at = scratch_take(w, rows * row * sizeof(uint16_t)),
                             .field = width,
                             .row = row,
                             .is_fp16 = w->plan->config.precision == PRECISION_FP16};
}

unroll_status lowp_matrix(struct recorder *w, struct matrix *x, uint32_t rows, uint32_t width)
{
    if (!products_are_lowp(w))
        return UNROLL_OK;
    return lowp_to(w, x, rows, width, scratch_take(w, rows * lowp_row(width) * sizeof(uint16_t)));
}

unroll_status lowp_kept(struct recorder *w, int buffer, struct matrix *x, uint32_t rows, uint32_t width)
{
    struct kept *k = w->kept;
    const uint64_t bytes = rows * lowp_row(width) * sizeof(uint16_t);
    const struct kept wanted = {buffer, rows, width, *x, {w->kept_at, lowp_row(width)}};
    if (!products_are_lowp(w))
        return UNROLL_OK;
    if (k->buffer == buffer && k->rows == rows && k->width == width && k->from.at == x->at && k->from.row == x->row) {
        *x = k->lowp;
        return UNROLL_OK;
    }
    *k = wanted;
    w->kept_max = bytes > w->kept_max ? bytes : w->kept_max;
    return lowp_to(w, x, rows, width, w->kept_at);
}

void lowp_forget(struct kept *k, const struct op *written)
{
    for (int i = 0; i < written->views; i++)
        if (written->view[i].buffer == k->buffer && access_writes(written->view[i].access))
            k->buffer = -1;
}

/* Copies a bias whose address the driver cannot read (gates of an odd number of units). */
static unroll_status align_bias(struct recorder *w, struct gpu_product *p)
{
    if ((uintptr_t)p->bias % w->driver->bias_alignment == 0)
        return UNROLL_OK;
    const struct copy_args args = {.count = {1, 1, 1, p->n},
                                   .from_stride = {0, 0, 0, 1},
                                   .to_stride = {0, 0, 0, 1},
                                   .from = (const uint32_t *)(const void *)p->bias,
                                   .to = scratch_take(w, p->n * sizeof(float))};
    p->bias = (const float *)(const void *)args.to;
    return launch_each(w, "gpu_copy", 1, p->n, ARGS(&args));
}

/* ---- panels ------------------------------------------------------------------------------- */

static struct packed *find_packed(struct recorder *w, const struct packed *p)
{
    for (int i = 0; i < w->packs; i++) {
        struct packed *k = &w->packed[i];
        if (k->from.at == p->from.at && k->from.row == p->from.row && k->columns == p->columns &&
            k->depth == p->depth && k->by_columns == p->by_columns)
            return k;
    }
    return NULL;
}

/* Packs weights that stay once in an operation, in scratch that is kept until its end. */
static unroll_status pack(struct recorder *w, struct gpu_product *p)
{
    struct packed as = {.from = p->b, .columns = p->n, .depth = p->k, .by_columns = p->b_by_columns};
    const struct packed *before = p->b_stays ? find_packed(w, &as) : NULL;
    const uint64_t panels = (p->n + w->driver->panel - 1) / w->driver->panel;
    if (before) {
        p->b.at = before->to;
        return UNROLL_OK;
    }
    as.to = scratch_take(w, panels * w->driver->panel * p->k * sizeof(float));
    if (p->b_stays && w->packs < PACKED_MAX)
        w->packed[w->packs++] = as;
    const struct pack_args args = {.b = (const float *)(void *)p->b.at,
                                   .b_row = p->b.row,
                                   .to = (float *)(void *)as.to,
                                   .columns = p->n,
                                   .depth = p->k,
                                   .by_columns = p->b_by_columns,
                                   .rounds = w->plan->config.precision == PRECISION_BF16};
    p->b.at = as.to;
    return launch_each(w, "gpu_pack", panels, p->k, ARGS(&args));
}

/* Drivers with panels multiply floats: for bf16 the left factor is rounded here, the right one in its panels. */
static unroll_status round_left(struct recorder *w, struct gpu_product *p)
{
    const uint32_t rows = p->a_by_columns ? p->k : p->m, width = p->a_by_columns ? p->m : p->k;
    if (w->plan->config.precision != PRECISION_BF16)
        return UNROLL_OK;
    const struct lowp_args args = {.from = (const float *)(void *)p->a.at,
                                   .from_row = p->a.row,
                                   .rows = rows,
                                   .width = width,
                                   .to = scratch_take(w, (uint64_t)rows * width * sizeof(float)),
                                   .to_row = width};
    p->a = (struct matrix){(char *)args.to, width};
    return launch_each(w, "gpu_round", rows, width, ARGS(&args));
}

unroll_status product(struct recorder *w, const struct gpu_product *given)
{
    uint64_t scratch = w->scratch_used;
    struct gpu_product p = *given;
    if (!p.m || !p.n || !p.k)
        return UNROLL_OK;
    if (w->driver->panel)
        TRY(pack(w, &p));
    if (p.b_stays)
        scratch = w->scratch_used;
    if (w->driver->panel)
        TRY(round_left(w, &p));
    if (!p.a_is_lowp)
        TRY(lowp_matrix(w, &p.a, p.a_by_columns ? p.k : p.m, p.a_by_columns ? p.m : p.k));
    if (!p.b_is_lowp)
        TRY(lowp_matrix(w, &p.b, p.b_by_columns ? p.n : p.k, p.b_by_columns ? p.k : p.n));
    TRY(align_bias(w, &p));
    if (products_are_lowp(w))
        p.a_moves = 0;
    w->launches++;
    w->scratch_used = scratch; /* later operations on the stream may reuse it */
    return w->walk == MEASURE ? UNROLL_OK : w->driver->product(w, &p);
}
