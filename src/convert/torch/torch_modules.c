/* Finds the modules of a state_dict from the names and shapes of its tensors: nn.RNN, LSTM and GRU with any number of
 * levels, both directions and projection; Linear; Embedding. Other tensors are refused by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "convert/torch/torch.h"

#define SAVE_AGAIN "save the state_dict of LSTM, GRU, RNN, Linear and Embedding modules again"

/* ---- names of tensors ------------------------------------------------------------------ */

enum tensor_role { WEIGHT_IH, WEIGHT_HH, BIAS_IH, BIAS_HH, WEIGHT_HR, WEIGHT, BIAS, ROLES };

static const char *const role_name[] = {"weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l",
                                        "weight_hr_l", "weight",      "bias"};

struct leaf {
    enum tensor_role role;
    int level, reverse;
};

static bool parse_level(const char *text, struct leaf *leaf)
{
    const char *end = text;
    int64_t level;
    if (number_integer(&end, NULL, 0, MODEL_LAYERS_MAX - 1, &level) != NUMBER_OK || (*text == '0' && end - text > 1))
        return false;
    leaf->level = (int)level;
    leaf->reverse = !strcmp(end, "_reverse");
    return !*end || leaf->reverse;
}

/* Parses the part after the last dot: "weight_hh_l1_reverse", "bias". */
static bool parse_leaf(const char *text, struct leaf *leaf)
{
    for (int role = 0; role < ROLES; role++) {
        size_t length = strlen(role_name[role]);
        *leaf = (struct leaf){.role = (enum tensor_role)role};
        if (role >= WEIGHT ? !strcmp(text, role_name[role])
                           : !strncmp(text, role_name[role], length) && parse_level(text + length, leaf))
            return true;
    }
    return false;
}

static void name_tensor(const struct torch_module *m, enum tensor_role role, int level, int reverse, char name[256])
{
    if (role >= WEIGHT)
        snprintf(name, 256, "%s%s", m->base, role_name[role]);
    else
        snprintf(name, 256, "%s%s%d%s", m->base, role_name[role], level, reverse ? "_reverse" : "");
}

/* ---- collecting ------------------------------------------------------------------------ */

/* Tensors found so far for a module. */
struct seen {
    unsigned roles;
};

/* Finds the module with this prefix, or adds it. */
static unroll_status find_module(struct torch_modules *all, const char *name, size_t base, size_t prefix, int *found)
{
    struct torch_module *m = all->module;
    for (*found = 0; *found < all->count; ++*found)
        if (strlen(m[*found].base) == base && !memcmp(m[*found].base, name, base))
            return UNROLL_OK;
    if (all->count == MODEL_LAYERS_MAX)
        return fail(UNROLL_UNSUPPORTED, "the file has more than %d modules; fix: select a part of them with `prefix`",
                    MODEL_LAYERS_MAX);
    m += all->count++;
    *m = (struct torch_module){.levels = 0};
    if (base >= sizeof m->base || base > prefix + sizeof m->name)
        return fail(UNROLL_UNSUPPORTED,
                    "the name of the tensor '%.200s' is too long; fix: set `prefix` to the part before its last %zu "
                    "bytes",
                    name, sizeof m->name - 1);
    memcpy(m->base, name, base);
    if (base > prefix)
        memcpy(m->name, name + prefix, base - prefix - 1); /* without the dot */
    return UNROLL_OK;
}

static unroll_status refuse_tensor(const struct tensor_view *t)
{
    char shape[SHAPE_TEXT];
    return fail(UNROLL_UNSUPPORTED,
                "the tensor '%.160s' %s does not belong to a module that can be imported (RNN, LSTM, GRU, Linear, "
                "Embedding); fix: select a part of the file with `prefix`",
                t->name, tensor_view_shape(t, shape));
}

static unroll_status collect(const struct tensor_view *t, size_t prefix, struct torch_modules *all, struct seen *seen)
{
    const char *dot = strrchr(t->name + prefix, '.'), *last = dot ? dot + 1 : t->name + prefix;
    struct leaf leaf;
    int found;
    if (!parse_leaf(last, &leaf))
        return refuse_tensor(t);
    TRY(find_module(all, t->name, (size_t)(last - t->name), prefix, &found));
    struct torch_module *m = &all->module[found];
    seen[found].roles |= 1u << leaf.role;
    m->levels = leaf.level + 1 > m->levels ? leaf.level + 1 : m->levels;
    m->directions = leaf.reverse + 1 > m->directions ? leaf.reverse + 1 : m->directions;
    return UNROLL_OK;
}

/* ---- measuring ------------------------------------------------------------------------- */

enum { WIDEST = 1 << 23 };

/* Finds a required tensor and checks its type and sizes. */
static unroll_status need(const struct tensor_set *set, const struct torch_module *m, enum tensor_role role, int level,
                          int reverse, const struct tensor_view **found)
{
    char name[256], shape[SHAPE_TEXT];
    name_tensor(m, role, level, reverse, name);
    const struct tensor_view *t = tensor_set_find(set, name);
    if (!t)
        return fail(UNROLL_DATA, "the tensor '%s' is missing, but '%s' requires it; fix: " SAVE_AGAIN, name, m->name);
    if (t->dtype != DTYPE_F32 && t->dtype != DTYPE_F16 && t->dtype != DTYPE_BF16 && t->dtype != DTYPE_F64)
        return fail(UNROLL_UNSUPPORTED, "the tensor '%s' contains %s, not floats; fix: " SAVE_AGAIN, name,
                    dtype_name(t->dtype));
    bool vector = role == BIAS || role == BIAS_IH || role == BIAS_HH;
    if (t->rank != (vector ? 1 : 2))
        return refuse_tensor(t);
    for (int i = 0; i < t->rank; i++)
        if (t->shape[i] < 1 || t->shape[i] > WIDEST)
            return fail(UNROLL_UNSUPPORTED,
                        "the tensor '%s' has the shape %s; each size must be 1 to %d; fix: " SAVE_AGAIN, name,
                        tensor_view_shape(t, shape), WIDEST);
    *found = t;
    return UNROLL_OK;
}

static unroll_status need_shape(const struct tensor_set *set, const struct torch_module *m, const struct leaf *leaf,
                                uint64_t rows, uint64_t columns)
{
    const struct tensor_view *t;
    char shape[SHAPE_TEXT], wanted[SHAPE_TEXT];
    TRY(need(set, m, leaf->role, leaf->level, leaf->reverse, &t));
    struct tensor_view should = {.rank = t->rank, .shape = {rows, columns}};
    if (t->shape[0] == rows && (t->rank == 1 || t->shape[1] == columns))
        return UNROLL_OK;
    return fail(UNROLL_DATA,
                "the tensor '%.160s' has the shape %s; the other tensors of '%s' require %s; fix: " SAVE_AGAIN, t->name,
                tensor_view_shape(t, shape), m->name, tensor_view_shape(&should, wanted));
}

/* Checks all tensors of one level and direction. All levels must have the same kinds of tensors. */
static unroll_status check_level(const struct tensor_set *set, const struct torch_module *m, unsigned roles, int level,
                                 int reverse)
{
    uint64_t gates = (uint64_t)cell_inputs_from(m->cell, FROM_X);
    uint64_t rows = gates * m->hidden, width = m->projection ? m->projection : m->hidden;
    struct leaf leaf = {.level = level, .reverse = reverse};
    leaf.role = WEIGHT_IH;
    TRY(need_shape(set, m, &leaf, rows, level ? m->output : m->input));
    leaf.role = WEIGHT_HH;
    TRY(need_shape(set, m, &leaf, rows, width));
    for (int role = BIAS_IH; role <= BIAS_HH && m->bias; role++) {
        leaf.role = (enum tensor_role)role;
        TRY(need_shape(set, m, &leaf, rows, 0));
    }
    leaf.role = WEIGHT_HR;
    if (roles & 1u << WEIGHT_HR)
        TRY(need_shape(set, m, &leaf, m->projection, m->hidden));
    return UNROLL_OK;
}

/* Finds the cell by its number of gates and the options of the import. */
static unroll_status find_cell_of(const unroll_import_config *config, struct torch_module *m, uint64_t rows)
{
    const struct cell_declaration *chosen = NULL;
    m->cell = NULL;
    for (int i = 0; cell_at(i) && !m->cell; i++)
        if (cell_at(i)->foreign.in_torch && rows == (uint64_t)cell_inputs_from(cell_at(i), FROM_X) * m->hidden)
            m->cell = cell_at(i);
    if (!m->cell)
        return fail(UNROLL_DATA,
                    "'%sweight_hh_l0' has %llu rows for %u units: an RNN has one gate, a GRU three and an LSTM four; "
                    "fix: " SAVE_AGAIN,
                    m->base, (unsigned long long)rows, (unsigned)m->hidden);
    if (config->gru_reset)
        chosen = cell_of_module(m->cell->foreign.name, config->gru_reset);
    if (config->nonlinearity && !chosen)
        chosen = cell_of_module(m->cell->foreign.name, config->nonlinearity);
    m->cell = chosen ? chosen : m->cell;
    if (m->projection && !m->cell->projects)
        return fail(UNROLL_DATA,
                    "'%sweight_hr_l0': only an LSTM can have a projection, and '%s' is not one; fix: " SAVE_AGAIN,
                    m->base, m->name);
    return UNROLL_OK;
}

/* Determines cell, widths, levels and directions of a recurrent module and checks all its tensors. */
static unroll_status measure_stack(const struct tensor_set *set, const unroll_import_config *config, unsigned roles,
                                   struct torch_module *m)
{
    const struct tensor_view *ih, *hh, *hr;
    if (roles & (1u << WEIGHT | 1u << BIAS))
        return fail(UNROLL_DATA,
                    "the tensors of '%s' belong to a recurrent module and to another one; fix: " SAVE_AGAIN, m->base);
    TRY(need(set, m, WEIGHT_IH, 0, 0, &ih));
    TRY(need(set, m, WEIGHT_HH, 0, 0, &hh));
    m->hidden = (uint32_t)hh->shape[1];
    if (roles & 1u << WEIGHT_HR) {
        TRY(need(set, m, WEIGHT_HR, 0, 0, &hr));
        m->hidden = (uint32_t)hr->shape[1];
        m->projection = (uint32_t)hr->shape[0];
    }
    TRY(find_cell_of(config, m, hh->shape[0]));
    m->kind = TORCH_STACK;
    m->bias = (roles & (1u << BIAS_IH | 1u << BIAS_HH)) != 0;
    m->input = (uint32_t)ih->shape[1];
    m->output = (uint32_t)m->directions * (m->projection ? m->projection : m->hidden);
    for (int level = 0; level < m->levels; level++)
        for (int reverse = 0; reverse < m->directions; reverse++) TRY(check_level(set, m, roles, level, reverse));
    return UNROLL_OK;
}

static bool says(const char *name, const char *const *hints)
{
    for (; *hints; hints++)
        if (strstr(name, *hints))
            return true;
    return false;
}

/* Guesses the kind of a lone matrix from its name; otherwise its position decides later. */
static enum torch_kind kind_of_matrix(const char *name)
{
    static const char *const embeddings[] = {"emb", "Emb", NULL};
    static const char *const linears[] = {"fc", "linear", "head", "dense", "classif", "Linear", NULL};

    return says(name, embeddings) ? TORCH_EMBEDDING : says(name, linears) ? TORCH_LINEAR : TORCH_MATRIX;
}

static unroll_status measure_matrix(const struct tensor_set *set, unsigned roles, struct torch_module *m)
{
    const struct tensor_view *weight;
    struct leaf bias = {.role = BIAS};
    TRY(need(set, m, WEIGHT, 0, 0, &weight));
    m->bias = (roles & 1u << BIAS) != 0;
    m->kind = m->bias ? TORCH_LINEAR : kind_of_matrix(m->name);
    m->output = (uint32_t)weight->shape[m->kind == TORCH_EMBEDDING];
    m->input = (uint32_t)weight->shape[m->kind != TORCH_EMBEDDING];
    return m->bias ? need_shape(set, m, &bias, m->output, 0) : UNROLL_OK;
}

static unroll_status check_names(const struct torch_modules *all)
{
    for (int i = 0; i < all->count; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(all->module[i].name, all->module[k].name))
                return fail(UNROLL_UNSUPPORTED,
                            "'%s' and '%s' would both be called '%s'; fix: select one of them with `prefix`",
                            all->module[k].base, all->module[i].base, all->module[i].name);
    return UNROLL_OK;
}

unroll_status torch_find_modules(const struct tensor_set *set, const unroll_import_config *config,
                                 struct torch_modules *all)
{
    struct seen seen[MODEL_LAYERS_MAX] = {{0}};
    const char *prefix = config->prefix ? config->prefix : "";
    size_t length = strlen(prefix);
    all->count = 0;
    for (int i = 0; i < set->count; i++) {
        const char *name = set->tensor[i]->name;
        if (strncmp(name, prefix, length))
            continue;
        bool dot = length && prefix[length - 1] != '.' && name[length] == '.';
        TRY(collect(set->tensor[i], length + dot, all, seen));
    }
    if (all->count == 0)
        return fail(UNROLL_DATA, "the file has no tensor%s%s%s; fix: " SAVE_AGAIN,
                    length ? " whose name begins with '" : "", prefix, length ? "'" : "");
    for (int i = 0; i < all->count; i++) {
        struct torch_module *m = &all->module[i];
        bool recurrent = seen[i].roles & ((1u << WEIGHT) - 1);
        if (!*m->name) /* a state_dict of this module alone */
            snprintf(m->name, sizeof m->name, recurrent ? "rnn" : "head");
        TRY(recurrent ? measure_stack(set, config, seen[i].roles, m) : measure_matrix(set, seen[i].roles, m));
    }
    return check_names(all);
}
