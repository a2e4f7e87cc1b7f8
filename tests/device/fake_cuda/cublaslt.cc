/* The fake cuBLASLt: the products listed in driver.h, in plain loops on the fake driver's streams. Sums are in double
 * and rounded once; TF32 operands are rounded first. Strict: an algorithm may only be used for the product it was found
 * for. */
#include "fake_driver.h"
#include "gpu_host.h"
#include <cstdio>
#include <cstdlib>
#include <string>

enum { LT_OK = 0, LT_INVALID_VALUE = 7, LT_NOT_SUPPORTED = 15 };
enum { MAX_WORKSPACE = 1 << 20 };

#define DECLARE(name, suffix, arguments) EXPORT int name arguments;
CUBLASLT_FUNCTIONS(DECLARE)
#undef DECLARE
#define ENTRY(name, suffix, arguments) (const void *)name,
extern const void *const fake_cublaslt_functions[];
const void *const fake_cublaslt_functions[] = {CUBLASLT_FUNCTIONS(ENTRY)}; /* all functions are present */

struct lt_handle_st {
    int open;
};
struct lt_desc_st {
    int compute, scale, transpose[2];
    uint32_t epilogue;
    uint64_t bias;
    int bias_type;
};
struct lt_layout_st {
    int type;
    uint64_t rows, columns;
    int64_t ld;
    int order, batch;
    int64_t stride;
};
struct lt_preference_st {
    uint64_t workspace;
    uint32_t align[4];
};

/* What an algorithm is found for. Its 64 bytes store the mark, alignments, workspace and a checksum of the rest. */
struct found {
    uint64_t mark, sum, workspace;
    uint32_t align[4];
};
static_assert(sizeof(found) <= sizeof(struct lt_algorithm), "an algorithm's bytes");

#define WRONG(...) return fake_misuse(LT_INVALID_VALUE, __func__, __VA_ARGS__)

EXPORT size_t cublasLtGetVersion(void);
EXPORT const char *cublasLtGetStatusString(int status);
size_t cublasLtGetVersion(void) { return 130000; }
const char *cublasLtGetStatusString(int status)
{
    return status == LT_INVALID_VALUE ? "an invalid value" : status == LT_NOT_SUPPORTED ? "not supported" : "an error";
}

/* ---- handles ------------------------------------------------------------------------------ */

int cublasLtCreate(lt_handle *handle)
{
    *handle = new lt_handle_st{1};
    return LT_OK;
}

int cublasLtDestroy(lt_handle handle)
{
    delete handle;
    return LT_OK;
}

int cublasLtMatmulDescCreate(lt_desc *desc, int compute, int scale)
{
    if ((compute != LT_32F && compute != LT_32F_TF32 && compute != LT_32F_PEDANTIC) || scale != LT_FLOAT)
        WRONG("compute type %d with scales of type %d", compute, scale);
    *desc = new lt_desc_st{compute, scale, {0, 0}, LT_EPILOGUE_NONE, 0, LT_FLOAT};
    fake_count("cuBLASLt descriptors not destroyed", 1);
    return LT_OK;
}

int cublasLtMatmulDescDestroy(lt_desc desc)
{
    delete desc;
    fake_count("cuBLASLt descriptors not destroyed", -1);
    return LT_OK;
}

static bool take(void *to, size_t size, const void *value, size_t bytes)
{
    if (size == bytes)
        memcpy(to, value, bytes);
    return size == bytes;
}

int cublasLtMatmulDescSetAttribute(lt_desc d, int attribute, const void *value, size_t bytes)
{
    bool good = false;
    if (attribute == LT_DESC_TRANSPOSE_A || attribute == LT_DESC_TRANSPOSE_B)
        good = take(&d->transpose[attribute - LT_DESC_TRANSPOSE_A], 4, value, bytes) &&
               (unsigned)d->transpose[attribute - LT_DESC_TRANSPOSE_A] <= 1;
    else if (attribute == LT_DESC_EPILOGUE)
        good =
            take(&d->epilogue, 4, value, bytes) && (d->epilogue == LT_EPILOGUE_NONE || d->epilogue == LT_EPILOGUE_BIAS);
    else if (attribute == LT_DESC_BIAS)
        good = take(&d->bias, 8, value, bytes);
    else if (attribute == LT_DESC_BIAS_TYPE)
        good = take(&d->bias_type, 4, value, bytes) && d->bias_type == LT_FLOAT;
    if (!good)
        WRONG("attribute %d of %zu bytes: not known here, of another size, or of a value that is not", attribute,
              bytes);
    return LT_OK;
}

int cublasLtMatrixLayoutCreate(lt_layout *layout, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    if ((type != LT_FLOAT && type != LT_HALF && type != LT_BFLOAT16) || !rows || !columns || ld < 1)
        WRONG("type %d, %zu x %zu, leading dimension %zd", type, (size_t)rows, (size_t)columns, (ssize_t)ld);
    *layout = new lt_layout_st{type, rows, columns, ld, LT_BY_COLUMNS, 1, 0};
    fake_count("cuBLASLt layouts not destroyed", 1);
    return LT_OK;
}

int cublasLtMatrixLayoutDestroy(lt_layout layout)
{
    delete layout;
    fake_count("cuBLASLt layouts not destroyed", -1);
    return LT_OK;
}

int cublasLtMatrixLayoutSetAttribute(lt_layout l, int attribute, const void *value, size_t bytes)
{
    bool good = attribute == LT_LAYOUT_ORDER   ? take(&l->order, 4, value, bytes) && (unsigned)l->order <= 1
                : attribute == LT_LAYOUT_BATCH ? take(&l->batch, 4, value, bytes) && l->batch > 0
                                               : attribute == LT_LAYOUT_STRIDE && take(&l->stride, 8, value, bytes);
    if (!good)
        WRONG("attribute %d of %zu bytes: not known here, of another size, or of a value that is not", attribute,
              bytes);
    return LT_OK;
}

int cublasLtMatmulPreferenceCreate(lt_preference *preference)
{
    *preference = new lt_preference_st{0, {256, 256, 256, 256}};
    fake_count("cuBLASLt preferences not destroyed", 1);
    return LT_OK;
}

int cublasLtMatmulPreferenceDestroy(lt_preference preference)
{
    delete preference;
    fake_count("cuBLASLt preferences not destroyed", -1);
    return LT_OK;
}

int cublasLtMatmulPreferenceSetAttribute(lt_preference p, int attribute, const void *value, size_t bytes)
{
    int align = attribute - LT_PREFERENCE_ALIGN_A;
    bool good = attribute == LT_PREFERENCE_WORKSPACE
                    ? take(&p->workspace, 8, value, bytes)
                    : align >= 0 && align < 4 && take(&p->align[align], 4, value, bytes) && p->align[align];
    if (!good)
        WRONG("attribute %d of %zu bytes", attribute, bytes);
    return LT_OK;
}

/* ---- choosing ----------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t sum, uint64_t value) { return (sum ^ value) * 0x100000001b3 ^ sum >> 29; }

static uint64_t sum_of(lt_desc d, const lt_layout *layouts)
{
    uint64_t sum = mixed(mixed(mixed(14695981039346656037u, (uint64_t)d->compute), d->epilogue),
                         (uint64_t)(d->transpose[0] * 2 + d->transpose[1]));
    for (int i = 0; i < 4; i++) {
        lt_layout l = layouts[i];
        sum = mixed(mixed(mixed(mixed(sum, (uint64_t)l->type), l->rows), l->columns), (uint64_t)l->ld);
        sum = mixed(mixed(mixed(sum, (uint64_t)l->order), (uint64_t)l->batch), (uint64_t)l->stride);
    }
    return sum;
}

/* Returns NULL, or why the shapes are not a product. */
static const char *check_shapes(lt_desc d, const lt_layout *l)
{
    uint64_t m = l[3]->rows, n = l[3]->columns;
    const uint64_t a[2] = {l[0]->rows, l[0]->columns}, b[2] = {l[1]->rows, l[1]->columns};
    if (a[d->transpose[0]] != m || b[!d->transpose[1]] != n || a[!d->transpose[0]] != b[d->transpose[1]])
        return "the sizes do not fit";
    if (l[2]->rows != m || l[2]->columns != n || l[2]->type != l[3]->type)
        return "C and D differ";
    if (l[0]->type != l[1]->type || (l[0]->type != LT_FLOAT && d->compute == LT_32F_TF32))
        return "A and B are of different types, or narrow with TF32";
    for (int i = 0; i < 4; i++) {
        if (l[i]->ld < (int64_t)(l[i]->order == LT_BY_ROWS ? l[i]->columns : l[i]->rows))
            return "a leading dimension is too small";
        if (l[i]->batch != l[3]->batch)
            return "the numbers of batches differ";
    }
    return NULL;
}

int cublasLtMatmulAlgoGetHeuristic(lt_handle, lt_desc d, lt_layout a, lt_layout b, lt_layout c, lt_layout e,
                                   lt_preference p, int wanted, struct lt_found *found_one, int *count)
{
    const lt_layout layouts[4] = {a, b, c, e};
    const char *wrong = check_shapes(d, layouts);
    if (wrong || wanted < 1)
        WRONG("%s", wrong ? wrong : "no algorithm is asked for");
    if (d->epilogue == LT_EPILOGUE_BIAS && !d->bias)
        WRONG("a bias is to be added, and the algorithm is chosen without one");
    if (fake_any_capture())
        WRONG("a stream is being captured: cuBLASLt of CUDA 13.3 finds no algorithm then");
    memset(found_one, 0, sizeof *found_one);
    found_one->workspace = p->workspace < MAX_WORKSPACE ? p->workspace : (uint64_t)MAX_WORKSPACE;
    found f = {0x6c7461676f, sum_of(d, layouts), found_one->workspace, {}};
    memcpy(f.align, p->align, sizeof f.align);
    memcpy(found_one->algorithm.data, &f, sizeof f);
    *count = 1;
    return LT_OK;
}

/* ---- multiplying -------------------------------------------------------------------------- */

static size_t bytes_of(int type) { return type == LT_FLOAT ? 4 : 2; }

static float read(const void *p, size_t i, int type)
{
    uint16_t half;
    float whole;
    memcpy(type == LT_FLOAT ? (void *)&whole : (void *)&half, (const char *)p + i * bytes_of(type), bytes_of(type));
    return type == LT_FLOAT ? whole : type == LT_HALF ? from_fp16(half) : from_bf16(half);
}

static void write(void *p, size_t i, int type, float v)
{
    uint16_t half = type == LT_HALF ? to_fp16(v) : to_bf16(v);
    memcpy((char *)p + i * bytes_of(type), type == LT_FLOAT ? (const void *)&v : (const void *)&half, bytes_of(type));
}

static size_t place(const lt_layout_st &l, uint64_t row, uint64_t column, int batch)
{
    return (size_t)((int64_t)(l.order == LT_BY_ROWS ? column : row) +
                    l.ld * (int64_t)(l.order == LT_BY_ROWS ? row : column) + l.stride * batch);
}

struct product {
    lt_desc_st d;
    lt_layout_st a, b, c, e;
    float alpha, beta;
    const void *at_a, *at_b, *at_c;
    void *at_e;
    uint64_t workspace, workspace_bytes;

    /* Returns op(X)[row, column] as floats. */
    std::vector<float> spread(const void *at, const lt_layout_st &l, int transpose, int batch) const
    {
        uint64_t rows = transpose ? l.columns : l.rows, columns = transpose ? l.rows : l.columns;
        std::vector<float> x((size_t)(rows * columns));
        for (uint64_t r = 0; r < rows; r++)
            for (uint64_t q = 0; q < columns; q++) {
                float v = read(at, transpose ? place(l, q, r, batch) : place(l, r, q, batch), l.type);
                x[(size_t)(r * columns + q)] = d.compute == LT_32F_TF32 ? __uint_as_float(to_tf32(v)) : v;
            }
        return x;
    }

    void multiply(int batch) const
    {
        std::vector<float> x = spread(at_a, a, d.transpose[0], batch), y = spread(at_b, b, !d.transpose[1], batch);
        size_t k = d.transpose[0] ? (size_t)a.rows : (size_t)a.columns;
        for (uint64_t r = 0; r < e.rows; r++)
            for (uint64_t q = 0; q < e.columns; q++) {
                double sum = 0;
                for (size_t i = 0; i < k; i++) sum += (double)x[(size_t)r * k + i] * y[(size_t)q * k + i];
                sum *= alpha;
                if (beta != 0)
                    sum += (double)beta * read(at_c, place(c, r, q, batch), c.type);
                if (d.epilogue == LT_EPILOGUE_BIAS)
                    sum += read((const void *)d.bias, (size_t)r, d.bias_type);
                write(at_e, place(e, r, q, batch), e.type, (float)sum);
            }
    }

    const char *check(void) const;
};

static const char *check_matrix(const void *at, const lt_layout_st &l, const char *what)
{
    static std::string text;
    size_t last = 0;
    for (int corner = 0; corner < 2; corner++) {
        size_t end = place(l, l.rows - 1, l.columns - 1, corner ? l.batch - 1 : 0);
        last = end > last ? end : last;
    }
    const char *wrong = fake_check_device((uint64_t)at, (last + 1) * bytes_of(l.type));
    if (wrong)
        text = std::string(what) + ": " + wrong;
    return wrong ? text.c_str() : NULL;
}

const char *product::check(void) const
{
    const char *wrong = check_matrix(at_a, a, "matrix A");
    if (!wrong)
        wrong = check_matrix(at_b, b, "matrix B");
    if (!wrong && beta != 0)
        wrong = check_matrix(at_c, c, "matrix C");
    if (!wrong)
        wrong = check_matrix(at_e, e, "matrix D");
    if (!wrong && d.epilogue == LT_EPILOGUE_BIAS)
        wrong = fake_check_device(d.bias, e.rows * bytes_of(d.bias_type));
    if (!wrong && workspace_bytes)
        wrong = fake_check_device(workspace, workspace_bytes);
    return wrong;
}

/* Writes to the workspace, as a real one does, so that concurrent use is detected. */
static const char *work_on(const product &p)
{
    const char *wrong = p.check();
    if (wrong)
        return wrong;
    for (int i = 0; i < p.e.batch; i++) p.multiply(i);
    memset((void *)p.workspace, 0xff, p.workspace_bytes < 4096 ? (size_t)p.workspace_bytes : 4096);
    return NULL;
}

static int check_algorithm(const struct lt_algorithm *algorithm, lt_desc d, const lt_layout *layouts,
                           const void *const *at, uint64_t workspace, found *f)
{
    memcpy(f, algorithm->data, sizeof *f);
    if (f->mark != 0x6c7461676f || f->sum != sum_of(d, layouts))
        WRONG("the algorithm was found for another product");
    for (int i = 0; i < 4; i++)
        if ((uint64_t)at[i] % f->align[i])
            WRONG("matrix %c at %p is not aligned to %u bytes, as was preferred", "ABCD"[i], at[i], f->align[i]);
    if (d->epilogue == LT_EPILOGUE_BIAS && (d->bias % 16 || d->bias % f->align[3]))
        WRONG("the bias at %p is not aligned to 16 bytes, or to %u as D was preferred to be", (void *)d->bias,
              f->align[3]);
    if (workspace < f->workspace)
        WRONG("%zu bytes of workspace; the algorithm needs %zu", (size_t)workspace, (size_t)f->workspace);
    return LT_OK;
}

int cublasLtMatmul(lt_handle, lt_desc d, const void *alpha, const void *a, lt_layout la, const void *b, lt_layout lb,
                   const void *beta, const void *c, lt_layout lc, void *e, lt_layout le,
                   const struct lt_algorithm *algorithm, void *workspace, size_t workspace_bytes, cu_stream stream)
{
    const lt_layout layouts[4] = {la, lb, lc, le};
    const void *const at[4] = {a, b, c, e};
    found f;
    if (!algorithm)
        WRONG("no algorithm: one would be chosen in every call");
    int status = check_algorithm(algorithm, d, layouts, at, workspace_bytes, &f);
    if (status)
        return status;
    product p = {
        *d,         *la, *lb, *lc, *le, *(const float *)alpha, *(const float *)beta, a, b, c, e, (uint64_t)workspace,
        f.workspace};
    const char *wrong = p.check();
    if (wrong || (f.workspace && !workspace))
        WRONG("%s", wrong ? wrong : "no workspace");
    return fake_submit(stream, __func__, [p] { return work_on(p); });
}
