/* Initializes the weights of a model from another one: parameters of the same name and shape, and rows or columns of
 * tokens by the tokens' texts. It does not depend on the data or the task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "model/model.h"

/* ---- tokens ---- */

/* The index in the other model of each token. */
struct token_map {
    int *of; /* [model's tokens] -1: not in the other model; NULL: one of the models has no vocabulary */
    int count, found;
};

struct token {
    const char *text;
    int number;
};

static int compare_tokens(const void *a, const void *b)
{
    return strcmp(((const struct token *)a)->text, ((const struct token *)b)->text);
}

/* Finds each of the model's tokens in the other vocabulary by binary search. */
static unroll_status map_tokens(const unroll_model *model, const unroll_model *from, struct token_map *map)
{
    struct token *sorted;
    if (!model->symbol || !from->symbol)
        return UNROLL_OK;
    TRY(ALLOCATE(map->of, (size_t)model->input, "for %d tokens", model->input));
    TRY(ALLOCATE(sorted, (size_t)from->input, "for %d tokens", from->input));
    map->count = model->input;
    for (int i = 0; i < from->input; i++) sorted[i] = (struct token){from->symbol[i], i};
    qsort(sorted, (size_t)from->input, sizeof *sorted, compare_tokens);
    for (int i = 0; i < model->input; i++) {
        const struct token wanted = {model->symbol[i], 0};
        const struct token *found = bsearch(&wanted, sorted, (size_t)from->input, sizeof *sorted, compare_tokens);
        map->of[i] = found ? found->number : -1;
        map->found += found != NULL;
    }
    release(sorted);
    return UNROLL_OK;
}

/* Returns the axis of a parameter that is indexed by tokens, or -1. */
static int token_axis(const unroll_model *m, const struct parameter *p)
{
    const struct layer *l = p->role == PARAM_EMBEDDING ? NULL : &m->layer[p->layer];
    const bool predicts = l == &m->layer[m->layers - 1] && l->outputs == (uint32_t)m->input;
    if (!m->tokens)
        return -1;
    switch (p->role) {
    case PARAM_EMBEDDING: return 0;
    case PARAM_W_IH: return m->embed == 0 && l->sources == 1 && l->source[0] == SOURCE_INPUT ? 2 : -1;
    case PARAM_W_DENSE:
    case PARAM_B_DENSE: return predicts ? 0 : -1;
    default: return -1;
    }
}

/* ---- one parameter ---- */

static const struct parameter *find_parameter(const unroll_model *m, const char *name)
{
    for (int i = 0; i < m->parameters; i++)
        if (strcmp(m->parameter[i].name, name) == 0)
            return &m->parameter[i];
    return NULL;
}

/* Compares roles and shapes, except for axis `but` (-1: none is excepted). */
static bool same_shape(const struct parameter *a, const struct parameter *b, int but)
{
    bool same = a->rank == b->rank && a->role == b->role;
    for (int i = 0; i < a->rank && same; i++) same = i == but || a->size[i] == b->size[i];
    return same;
}

/* Copies [outer, tokens, inner]. */
static void copy_by_token(const struct token_map *map, const struct parameter *p, int axis, uint32_t there, float *to,
                          const float *from)
{
    size_t outer = 1, inner = 1;
    for (int i = 0; i < p->rank; i++) *(i < axis ? &outer : &inner) *= i == axis ? 1 : p->size[i];
    for (size_t o = 0; o < outer; o++)
        for (size_t token = 0; token < p->size[axis]; token++)
            if (map->of[token] >= 0)
                memcpy(to + (o * p->size[axis] + token) * inner, from + (o * there + (size_t)map->of[token]) * inner,
                       inner * sizeof *to);
}

/* Returns false if there is no parameter of this name or it has another shape. */
static bool take_parameter(unroll_model *model, const unroll_model *from, const struct token_map *map, int index)
{
    const struct parameter *p = &model->parameter[index], *q = find_parameter(from, p->name);
    int axis = token_axis(model, p);
    bool by_token = axis >= 0 && map->of && q && token_axis(from, q) == axis;
    if (!q || !same_shape(p, q, by_token ? axis : -1))
        return false;
    float *to = model->values + p->first;
    const float *values = from->values + q->first;
    if (by_token)
        copy_by_token(map, p, axis, q->size[axis], to, values);
    else
        memcpy(to, values, p->count * sizeof *to);
    return true;
}

/* ---- all of them ---- */

unroll_status unroll_model_transfer(unroll_model *model, const unroll_model *from,
                                    void (*report)(void *arg, const char *line), void *arg)
{
    char line[256], left[160] = "";
    struct token_map map = {0};
    int taken = 0;
    unroll_status status = model->runtime.shared
                               ? fail(UNROLL_USAGE, "the model has sessions; fix: transfer before creating sessions")
                               : map_tokens(model, from, &map);
    for (int i = 0; status == UNROLL_OK && i < model->parameters; i++) {
        size_t used = strlen(left);
        if (take_parameter(model, from, &map, i))
            taken++;
        else
            snprintf(left + used, sizeof left - used, "%s%s", used ? ", " : "", model->parameter[i].name);
    }
    if (status == UNROLL_OK && taken == 0)
        status =
            fail(UNROLL_DATA,
                 "no parameter of the model has the name and the shape of a parameter of the other model; fix: give "
                 "both the same cell, layers and hidden units");
    if (status == UNROLL_OK && report) {
        snprintf(line, sizeof line, "transferred: %d of %d parameters%s%s", taken, model->parameters,
                 *left ? "; new: " : "", left);
        report(arg, line);
        snprintf(line, sizeof line, "tokens: %d of %d are in both models", map.found, map.count);
        if (map.of && map.found < map.count)
            report(arg, line);
    }
    release(map.of);
    return status;
}
