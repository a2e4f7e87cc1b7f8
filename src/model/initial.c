/* Initial weights of a new model. They depend only on the seed, the method and the network, not on the machine. */
#include "model/initial.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/status.h"
#include <math.h>
#include <string.h>

/* ---- uniform numbers ------------------------------------------------------------------- */

/* Number i of parameter q depends only on the seed, q and i. */
static void fill_uniform(struct unroll_model *m, int index, uint64_t seed, float bound)
{
    const struct parameter *q = &m->parameter[index];
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    float *value = m->values + q->first;
    for (size_t i = 0; i < q->count; i += 4) {
        uint32_t bits[4];
        philox(key,
               (const uint32_t[4]){(uint32_t)(i / 4), (uint32_t)((uint64_t)i / 4 >> 32), (uint32_t)index, 0x696e6974},
               bits);
        for (size_t k = 0; k < 4 && i + k < q->count; k++) value[i + k] = (2 * philox_unit(bits[k]) - 1) * bound;
    }
}

/* PyTorch's bounds for recurrent layers. The bound of a linear layer depends on its own input width. An embedding
 * shared with the head has the bound of a head, any other embedding 1. */
static float uniform_bound(const struct unroll_model *m, const struct parameter *q)
{
    switch (q->role) {
    case PARAM_EMBEDDING: return m->tied ? 1 / sqrtf((float)m->layer[m->layers - 1].input) : 1;
    case PARAM_W_DENSE:
    case PARAM_B_DENSE: return 1 / sqrtf((float)m->layer[q->layer].input);
    case PARAM_MOVE:
    case PARAM_START:
    case PARAM_END: return 0.1f; /* torchcrf's */
    default: return 1 / sqrtf((float)m->layer[q->layer].hidden);
    }
}

/* Xavier initialization (Glorot and Bengio 2010) per gate matrix, biases 0. Other parameters stay uniform. */
static float xavier_bound(const struct unroll_model *m, const struct parameter *q)
{
    switch (q->role) {
    case PARAM_B_IH:
    case PARAM_B_HH:
    case PARAM_B_DENSE: return 0;
    case PARAM_W_IH:
    case PARAM_W_HH:
    case PARAM_W_HR:
    case PARAM_W_DENSE: return sqrtf(6 / (float)(q->size[q->rank - 2] + q->size[q->rank - 1]));
    default: return uniform_bound(m, q);
    }
}

/* ---- orthogonal matrices --------------------------------------------------------------- */

/* Approximately normal: the sum of 12 uniform numbers, whose bits do not depend on a libm. */
static double normal_number(const uint32_t key[2], uint64_t i, uint32_t index)
{
    double sum = -6;
    for (uint32_t part = 0; part < 3; part++) {
        uint32_t bits[4];
        philox(key, (const uint32_t[4]){(uint32_t)i, (uint32_t)(i >> 32), index, 0x6f727430 + part}, bits);
        for (int k = 0; k < 4; k++) sum += (double)philox_unit(bits[k]);
    }
    return sum;
}

/* Makes the n columns of a [m, n], m >= n, orthonormal (Gram-Schmidt): subtracts each column from all later ones. The
 * inner loops go along rows, where the additions are independent. */
static void make_orthonormal(double *a, size_t m, size_t n, double *dot)
{
    for (size_t i = 0; i < n; i++) {
        double square = 0;
        for (size_t k = 0; k < m; k++) square += a[k * n + i] * a[k * n + i];
        const double scale = 1 / sqrt(square);
        memset(dot, 0, n * sizeof *dot);
        for (size_t k = 0; k < m; k++) {
            double *row = a + k * n, q = row[i] *= scale;
            for (size_t j = i + 1; j < n; j++) dot[j] += q * row[j];
        }
        for (size_t k = 0; k < m; k++) {
            double *row = a + k * n, q = row[i];
            for (size_t j = i + 1; j < n; j++) row[j] -= q * dot[j];
        }
    }
}

/* Makes the rows or columns of each gate's matrix orthonormal, whichever are fewer, as torch.nn.init.orthogonal_
 * does. */
static unroll_status fill_orthogonal(struct unroll_model *m, int index, uint64_t seed)
{
    const struct parameter *q = &m->parameter[index];
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const size_t rows = q->size[1], columns = q->size[2];
    const size_t longer = rows > columns ? rows : columns, fewer = rows > columns ? columns : rows;
    double *a, *dot;
    TRY(ALLOCATE(a, longer * fewer + fewer, "for orthogonal weights of %zu x %zu", rows, columns));
    dot = a + longer * fewer;
    for (size_t gate = 0; gate < q->size[0]; gate++) {
        float *value = m->values + q->first + gate * rows * columns;
        for (size_t i = 0; i < rows * columns; i++)
            a[i] = normal_number(key, gate * rows * columns + i, (uint32_t)index);
        make_orthonormal(a, longer, fewer, dot);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++)
                value[r * columns + c] = (float)(rows > columns ? a[r * columns + c] : a[c * rows + r]);
    }
    release(a);
    return UNROLL_OK;
}

/* ---- the forget gate ------------------------------------------------------------------- */

/* Returns the row of the forget gate in the biases of x, or -1 if the layer has no forget bias. */
static int forget_row(const struct layer *l)
{
    int row = 0;
    if (!l->cell || !l->bias || l->options.input_forget)
        return -1;
    for (int i = 0; i < l->cell->inputs; i++) {
        if (!strcmp(l->cell->input[i].name, "f"))
            return row;
        row += (l->cell->input[i].from & FROM_X) != 0;
    }
    return -1;
}

static void add_forget_bias(struct unroll_model *m, const struct parameter *q, float bias)
{
    const int row = q->role == PARAM_B_IH ? forget_row(&m->layer[q->layer]) : -1;
    for (size_t u = 0; row >= 0 && u < q->size[1]; u++) m->values[q->first + (size_t)row * q->size[1] + u] += bias;
}

/* ---- all ------------------------------------------------------------------------------- */

/* Checks the initialization options of the network and returns the method. */
static unroll_status check(const struct unroll_model *m, const unroll_network *n, enum initial *way)
{
    static const char *const names[] = {"uniform", "xavier", "orthogonal"};
    bool multiplies_h = false, forgets = false;
    int i = 0;
    while (i < INITIAL_COUNT && n->init && strcmp(n->init, names[i])) i++;
    if (i == INITIAL_COUNT)
        return fail(UNROLL_USAGE, "`init` = '%.40s' is unknown; fix: choose one of uniform, xavier, orthogonal",
                    n->init);
    *way = (enum initial)i;
    for (int k = 0; k < m->parameters; k++) multiplies_h |= m->parameter[k].role == PARAM_W_HH;
    for (int k = 0; k < m->layers; k++) forgets |= forget_row(&m->layer[k]) >= 0;
    if (*way == INITIAL_ORTHOGONAL && !multiplies_h)
        return fail(
            UNROLL_USAGE,
            "`init` = 'orthogonal' requires recurrent weights, which the network does not have; fix: set init = "
            "'xavier'");
    if (!isfinite(n->forget_bias) || (n->forget_bias != 0 && !forgets))
        return fail(UNROLL_USAGE, "`forget_bias` = %g: %s; fix: leave it out, or use `cell` = 'lstm' with biases",
                    (double)n->forget_bias, forgets ? "it is not a number" : "no layer has a forget gate with a bias");
    return UNROLL_OK;
}

unroll_status initial_weights(struct unroll_model *m, const unroll_network *n, uint64_t seed)
{
    enum initial way;
    TRY(check(m, n, &way));
    for (int i = 0; i < m->parameters; i++) {
        const struct parameter *q = &m->parameter[i];
        if (way == INITIAL_ORTHOGONAL && q->role == PARAM_W_HH)
            TRY(fill_orthogonal(m, i, seed));
        else
            fill_uniform(m, i, seed, way == INITIAL_UNIFORM ? uniform_bound(m, q) : xavier_bound(m, q));
        if (n->forget_bias != 0)
            add_forget_bias(m, q, n->forget_bias);
    }
    return UNROLL_OK;
}
