/* Runs a program in double precision to measure the magnitudes of its values. Without inputs from the user the frames
 * are noise: normal numbers of variance 1, or tokens of equal probability (256 steps of 4 rows). */
#include "stream/program/integers.h"
#include "base/memory.h"
#include "base/philox.h"
#include "base/status.h"
#include <math.h>
#include <string.h>

#define GIVE_FRAMES "give frames as the model reads them, with finite numbers"

struct calibration_run {
    struct program *p;
    double **value;       /* [vectors][size] */
    const int32_t *token; /* of this step */
};

static void note(double *largest, double value)
{
    if (fabs(value) > *largest)
        *largest = fabs(value);
}

/* ---- acts ------------------------------------------------------------------------------ */

/* Computes a node from the values of its operands. */
static double node_value(const struct node *node, const double *value)
{
    const double a = node->operand[0] ? value[node->operand[0]->number] : 0;
    const double b = node->operand[1] ? value[node->operand[1]->number] : 0;
    const double c = node->operand[2] ? value[node->operand[2]->number] : 0;
    switch (node->kind) {
    case NODE_CONSTANT: return node->constant;
    case NODE_ADD: return a + b;
    case NODE_SUB: return a - b;
    case NODE_MUL: return a * b;
    case NODE_DIV: return a / b;
    case NODE_MIN: return a < b ? a : b;
    case NODE_MAX: return a > b ? a : b;
    case NODE_LESS: return a < b;
    case NODE_FMA: return a * b + c;
    case NODE_ABS: return fabs(a);
    case NODE_SQRT: return sqrt(a);
    case NODE_EXP: return exp(a);
    case NODE_LOG: return log(a);
    case NODE_SIGMOID: return 1 / (1 + exp(-a));
    case NODE_TANH: return tanh(a);
    default: return NAN; /* inputs are set elsewhere, and cells have no other kinds */
    }
}

static double input_value(const struct calibration_run *r, const struct binding *b, uint32_t u)
{
    return b->weights                   ? (double)(parameter_values(r->p, b->weights) + b->first)[u]
           : b->vector == ABSENT_VECTOR ? b->constant
                                        : r->value[b->vector][b->first + u];
}

static void run_pointwise(const struct calibration_run *r, struct pointwise *f)
{
    double value[RECORD_NODES];
    for (uint32_t u = 0; u < f->units; u++) {
        for (int i = 0; i < f->record->nodes; i++) {
            const struct node *node = &f->record->node[i];
            if (!f->node[i].is_needed)
                continue;
            value[i] = node->kind == NODE_INPUT ? input_value(r, f->node[i].field, u) : node_value(node, value);
            note(&f->node[i].largest, value[i]);
        }
        for (int i = 0; i < f->results; i++)
            r->value[f->result[i].vector][f->result[i].first + u] = value[f->result[i].node->number];
    }
}

static void run_product(const struct calibration_run *r, const struct act *a)
{
    const struct matrix *m = &r->p->matrix[a->matrix];
    const float *bias = a->bias ? parameter_values(r->p, a->bias) + a->bias_first : NULL;
    double *y = r->value[a->to] + a->to_first;
    for (uint32_t i = 0; i < a->count; i++) {
        const float *w = m->values + (size_t)(a->row + i) * m->width;
        double sum = (a->adds ? y[i] : 0) + (bias ? (double)bias[i] : 0);
        if (a->kind == ACT_COLUMN)
            sum += (double)w[r->token[a->token]];
        for (uint32_t k = 0; a->kind == ACT_PRODUCT && k < m->width; k++) sum += (double)w[k] * r->value[a->from][k];
        y[i] = sum;
    }
}

static void run_softmax(const double *x, double *y, uint32_t n)
{
    double largest = x[0], sum = 0;
    for (uint32_t i = 0; i < n; i++) largest = fmax(largest, x[i]);
    for (uint32_t i = 0; i < n; i++) sum += exp(x[i] - largest);
    for (uint32_t i = 0; i < n; i++) y[i] = exp(x[i] - largest) / sum;
}

static void run_embed(const struct calibration_run *r, const struct act *a)
{
    const size_t token = (size_t)r->token[a->token];
    for (uint32_t i = 0; i < a->count; i++)
        r->value[a->to][a->to_first + i] =
            a->matrix < 0 ? i == token : (double)r->p->matrix[a->matrix].values[token * a->count + i];
}

/* Programs in integers only have pools of the largest. */
static void run_pool(const double *x, double *largest, double *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) y[i] = largest[i] = largest[n] > 0 ? fmax(largest[i], x[i]) : x[i];
    largest[n] = 1;
}

static void run_act(const struct calibration_run *r, const struct act *a)
{
    switch (a->kind) {
    case ACT_ENTER:
    case ACT_LEAVE:
    case ACT_COPY: memcpy(r->value[a->to] + a->to_first, r->value[a->from], a->count * sizeof **r->value); break;
    case ACT_EMBED: run_embed(r, a); break;
    case ACT_PRODUCT:
    case ACT_COLUMN: run_product(r, a); break;
    case ACT_POINTWISE: run_pointwise(r, a->pointwise); break;
    case ACT_SOFTMAX: run_softmax(r->value[a->from], r->value[a->to], a->count); break;
    case ACT_POOL: run_pool(r->value[a->from], r->value[a->state], r->value[a->to], a->count); break;
    }
}

/* ---- inputs ----------------------------------------------------------------------------- */

static void forget(const struct calibration_run *r)
{
    for (int i = 0; i < r->p->vectors; i++) memset(r->value[i], 0, r->p->vector[i].size * sizeof **r->value);
}

/* Returns the numbers in a frame. */
static uint32_t numbers_of(const struct program *p) { return p->input < 0 ? 0 : p->vector[p->input].size; }

static void step_calibration(struct calibration_run *r, const struct calibration_data *c, size_t at)
{
    struct program *p = r->p;
    const uint32_t width = numbers_of(p);
    for (uint32_t i = 0; i < width; i++) r->value[p->input][i] = (double)c->frames[at * width + i];
    r->token = c->tokens + at * (size_t)p->tokens;
    for (int i = 0; i < p->acts; i++) run_act(r, &p->act[i]);
    for (int i = 0; i < p->vectors; i++)
        for (uint32_t k = 0; k < p->vector[i].size; k++) note(&p->vector[i].largest, r->value[i][k]);
}

/* Checks that the frames fit the model and are finite. */
static unroll_status check_calibration(const struct program *p, const struct calibration_data *c)
{
    const size_t frames = c->steps * c->rows, width = numbers_of(p), tokens = (size_t)p->tokens;
    if ((tokens && !c->tokens) || (width && !c->frames))
        return fail(UNROLL_DATA, "the model reads %s, which the calibration does not have; fix: " GIVE_FRAMES,
                    tokens && !c->tokens ? "tokens" : "vectors of floats");
    if (!frames)
        return fail(UNROLL_DATA, "the calibration has no frames; fix: " GIVE_FRAMES);
    for (size_t i = 0; i < frames * tokens; i++)
        if (c->tokens[i] < 0 || c->tokens[i] >= model_categories(p->model, (int)(i % tokens)))
            return fail(UNROLL_DATA,
                        "the calibration's frame %zu contains a token that the model does not have; fix: " GIVE_FRAMES,
                        i / tokens);
    for (size_t i = 0; i < frames * width; i++)
        if (!isfinite(c->frames[i]))
            return fail(UNROLL_DATA,
                        "the calibration's frame %zu contains a value that is not finite; fix: " GIVE_FRAMES,
                        i / width);
    return UNROLL_OK;
}

/* Runs all rows of the calibration from zero states. */
static unroll_status run_calibration(struct program *p, const struct calibration_data *c)
{
    struct calibration_run r = {.p = p};
    size_t numbers = 0;
    TRY(check_calibration(p, c));
    for (int i = 0; i < p->vectors; i++) numbers += p->vector[i].size;
    double *room = allocate_zeroed(numbers, sizeof *room);
    r.value = allocate_zeroed((size_t)p->vectors, sizeof *r.value);
    if (!room || !r.value) {
        release(room);
        release(r.value);
        return fail(UNROLL_RESOURCE, "no memory to calibrate %zu values", numbers);
    }
    for (int i = 0, at = 0; i < p->vectors; at += (int)p->vector[i++].size) r.value[i] = room + at;
    for (size_t b = 0; b < c->rows; b++) {
        forget(&r);
        for (size_t t = 0; t < c->steps; t++) step_calibration(&r, c, t * c->rows + b);
    }
    release(r.value);
    release(room);
    return UNROLL_OK;
}

/* ---- noise ----------------------------------------------------------------------------- */

enum { NOISE_STEPS = 256, NOISE_ROWS = 4 };

/* Returns number i of a normal distribution (Box-Muller). */
static float noise(size_t i)
{
    uint32_t words[4];
    philox((uint32_t[2]){0x63393920, 0}, (uint32_t[4]){(uint32_t)i, (uint32_t)((uint64_t)i >> 32), 0, 0}, words);
    double u = ((double)words[0] + 1) * 0x1p-32, v = (double)words[1] * 0x1p-32;
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

/* Runs frames of noise. */
static unroll_status run_noise(struct program *p)
{
    const size_t frames = (size_t)NOISE_STEPS * NOISE_ROWS, width = numbers_of(p), tokens = (size_t)p->tokens;
    float *x = allocate_zeroed(frames * (width + tokens), sizeof *x);
    if (!x)
        return fail(UNROLL_RESOURCE, "no memory for %zu frames of noise", frames);
    int32_t *token = (void *)(x + frames * width);
    for (size_t i = 0; i < frames * tokens; i++) {
        uint32_t words[4];
        philox((uint32_t[2]){0x63393921, 0}, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        token[i] = (int32_t)(words[0] % (uint32_t)model_categories(p->model, (int)(i % tokens)));
    }
    for (size_t i = 0; i < frames * width; i++) x[i] = noise(i);
    unroll_status status = run_calibration(p, &(struct calibration_data){x, token, NOISE_STEPS, NOISE_ROWS});
    release(x);
    return status;
}

unroll_status program_calibrate(struct program *p, const struct calibration_data *c)
{
    return c ? run_calibration(p, c) : run_noise(p);
}
