/* Products through cuBLASLt (product.h). A product is planned once for its shape, strides, alignment and type. The
 * library is asked for one algorithm, so every run has the same bits. cuBLASLt stores matrices by columns: our c = a
 * b by rows is its c^T = b^T a^T. Sums are fp32. */
#include "base/memory.h"
#include "extensions/cuda/product.h"
#include <string.h>

struct shape {
    uint32_t m, n, k;
    size_t a_row, b_row, c_row;
    bool a_by_columns, b_by_columns, adds, has_bias;
    unsigned align_a, align_b, align_c;
    enum precision precision;
};

struct planned {
    struct planned *next;
    struct shape shape;
    lt_desc desc;
    lt_layout a, b, c;
    struct lt_algorithm algorithm;
    size_t workspace;
};

struct products {
    struct planned *first;
};

/* ---- planning ----------------------------------------------------------------------------- */

/* Returns the largest power of two, at most 256, that divides an address and its offsets, in bytes. */
static unsigned alignment(const void *at, size_t row, size_t moves, size_t bytes)
{
    uintptr_t bits = (uintptr_t)at | row * bytes | moves * bytes | SCRATCH_ALIGNMENT;
    return (unsigned)(bits & -bits);
}

static struct shape shape_of(const struct gpu_product *p, enum precision precision)
{
    const size_t bytes = precision == PRECISION_BF16 || precision == PRECISION_FP16 ? 2 : 4;
    struct shape s;
    memset(&s, 0, sizeof s); /* shapes are compared byte by byte */
    s.m = p->m, s.n = p->n, s.k = p->k;
    s.a_row = p->a.row, s.b_row = p->b.row, s.c_row = p->c.row;
    s.a_by_columns = p->a_by_columns, s.b_by_columns = p->b_by_columns;
    s.adds = p->adds, s.has_bias = p->bias != NULL;
    s.align_a = alignment(p->a.at, p->a.row, p->a_moves, bytes);
    s.align_b = alignment(p->b.at, p->b.row, 0, bytes);
    s.align_c = alignment(p->c.at, p->c.row, p->c_moves, 4);
    if (p->bias &&
        alignment(p->bias, 0, 0, 4) < s.align_c) /* it is read in the pattern in which the result is written */
        s.align_c = alignment(p->bias, 0, 0, 4);
    s.precision = precision;
    return s;
}

static const char planning[] = "planning a product";

static unroll_status set_desc(lt_desc desc, int attribute, const void *value, size_t bytes)
{
    return cublaslt_check(lt.cublasLtMatmulDescSetAttribute(desc, attribute, value, bytes), planning);
}

/* cuBLASLt considers the bias when it chooses an algorithm; running replaces it by others of the same shape and
 * alignment. */
static unroll_status set_bias(const struct planned *p, const float *bias)
{
    return bias ? set_desc(p->desc, LT_DESC_BIAS, &bias, sizeof bias) : UNROLL_OK;
}

/* Describes a product to cuBLASLt, in its column order: a and b are exchanged. */
static unroll_status describe_product(struct planned *p, const float *bias)
{
    static const int types[] = {[PRECISION_FP32] = LT_FLOAT,
                                [PRECISION_TF32] = LT_FLOAT,
                                [PRECISION_BF16] = LT_BFLOAT16,
                                [PRECISION_FP16] = LT_HALF};
    const struct shape *s = &p->shape;
    const int type = types[s->precision], yes = 1;
    const uint32_t epilogue = LT_EPILOGUE_BIAS;
    TRY(cublaslt_check(
        lt.cublasLtMatmulDescCreate(&p->desc, s->precision == PRECISION_TF32 ? LT_32F_TF32 : LT_32F, LT_FLOAT),
        planning));
    if (s->b_by_columns)
        TRY(set_desc(p->desc, LT_DESC_TRANSPOSE_A, &yes, sizeof yes));
    if (s->a_by_columns)
        TRY(set_desc(p->desc, LT_DESC_TRANSPOSE_B, &yes, sizeof yes));
    if (s->has_bias)
        TRY(set_desc(p->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    TRY(set_bias(p, bias));
    TRY(cublaslt_check(lt.cublasLtMatrixLayoutCreate(&p->a, type, s->b_by_columns ? s->k : s->n,
                                                     s->b_by_columns ? s->n : s->k, (int64_t)s->b_row),
                       planning));
    TRY(cublaslt_check(lt.cublasLtMatrixLayoutCreate(&p->b, type, s->a_by_columns ? s->m : s->k,
                                                     s->a_by_columns ? s->k : s->m, (int64_t)s->a_row),
                       planning));
    return cublaslt_check(lt.cublasLtMatrixLayoutCreate(&p->c, LT_FLOAT, s->n, s->m, (int64_t)s->c_row), planning);
}

/* Sets the preferences: the workspace and the alignments of the arrays. */
static unroll_status prefer(lt_preference preference, const struct shape *s)
{
    const uint64_t workspace = CUBLASLT_WORKSPACE;
    const struct {
        int attribute;
        uint32_t bytes;
    } alignments[] = {{LT_PREFERENCE_ALIGN_A, s->align_b},
                      {LT_PREFERENCE_ALIGN_B, s->align_a},
                      {LT_PREFERENCE_ALIGN_C, s->align_c},
                      {LT_PREFERENCE_ALIGN_D, s->align_c}};
    TRY(cublaslt_check(
        lt.cublasLtMatmulPreferenceSetAttribute(preference, LT_PREFERENCE_WORKSPACE, &workspace, sizeof workspace),
        planning));
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++)
        TRY(cublaslt_check(lt.cublasLtMatmulPreferenceSetAttribute(preference, alignments[i].attribute,
                                                                   &alignments[i].bytes, sizeof(uint32_t)),
                           planning));
    return UNROLL_OK;
}

/* Chooses an algorithm by cuBLASLt's heuristic. */
static unroll_status choose(struct cuda_context *context, struct planned *p)
{
    lt_preference preference;
    struct lt_found found;
    int count = 0, result = 0;
    TRY(cublaslt_check(lt.cublasLtMatmulPreferenceCreate(&preference), planning));
    unroll_status status = prefer(preference, &p->shape);
    if (status == UNROLL_OK)
        result = lt.cublasLtMatmulAlgoGetHeuristic(context->lt, p->desc, p->a, p->b, p->c, p->c, preference, 1, &found,
                                                   &count);
    (void)lt.cublasLtMatmulPreferenceDestroy(preference);
    TRY(status);
    if (result == 0 && count == 1 && found.state == 0) {
        p->algorithm = found.algorithm;
        p->workspace = found.workspace;
        return UNROLL_OK;
    }
    TRY(cublaslt_check(result, planning));
    return fail(
        UNROLL_UNSUPPORTED,
        "cuBLASLt ('%s') has no algorithm for a product of [%u, %u] and [%u, %u]; fix: use a newer CUDA, or device cpu",
        cublaslt_path(), p->shape.m, p->shape.k, p->shape.k, p->shape.n);
}

static void drop_planned(struct planned *p)
{
    if (p->c)
        (void)lt.cublasLtMatrixLayoutDestroy(p->c);
    if (p->b)
        (void)lt.cublasLtMatrixLayoutDestroy(p->b);
    if (p->a)
        (void)lt.cublasLtMatrixLayoutDestroy(p->a);
    if (p->desc)
        (void)lt.cublasLtMatmulDescDestroy(p->desc);
    release(p);
}

void cublaslt_products_free(struct products *products)
{
    for (struct planned *p = products ? products->first : NULL, *next; p; p = next) {
        next = p->next;
        drop_planned(p);
    }
    release(products);
}

static struct planned *find_planned(const struct products *products, const struct shape *s)
{
    struct planned *p = products->first;
    while (p && memcmp(&p->shape, s, sizeof *s)) p = p->next;
    return p;
}

/* Plans a product if no plan of its shape exists yet. */
static unroll_status plan_product(struct recorder *w, const struct shape *s, const float *bias)
{
    if (!w->products && !(w->products = allocate_zeroed(1, sizeof *w->products)))
        return fail(UNROLL_RESOURCE, "no memory for the plans of products");
    if (find_planned(w->products, s))
        return UNROLL_OK;
    struct planned *p;
    TRY(ALLOCATE(p, 1, "for the plan of a product"));
    p->shape = *s;
    unroll_status status = describe_product(p, bias);
    if (status == UNROLL_OK)
        status = choose(cuda_of(w), p);
    if (status != UNROLL_OK) {
        drop_planned(p);
        return status;
    }
    p->next = w->products->first;
    w->products->first = p;
    return UNROLL_OK;
}

/* ---- running ------------------------------------------------------------------------------ */

static unroll_status run_planned(struct recorder *w, struct planned *p, const struct gpu_product *of)
{
    const float one = 1, zero = 0;
    TRY(set_bias(p, of->bias));
    return cublaslt_check(lt.cublasLtMatmul(cuda_of(w)->lt, p->desc, &one, of->b.at, p->a, of->a.at, p->b,
                                            of->adds ? &one : &zero, of->c.at, p->c, of->c.at, p->c, &p->algorithm,
                                            w->workspace, p->workspace, w->stream),
                          "multiplying");
}

unroll_status cublaslt_product(struct recorder *w, const struct gpu_product *p)
{
    const struct shape s = shape_of(p, w->plan->config.precision);
    if (w->walk == PREPARE)
        return plan_product(w, &s, p->bias);
    struct planned *planned = find_planned(w->products, &s);
    return planned
               ? run_planned(w, planned, p)
               : fail(
                     UNROLL_FAILURE,
                     "a product of [%u, %u] and [%u, %u] was not planned; fix: report it with the network and the options",
                     p->m, p->k, p->k, p->n);
}
