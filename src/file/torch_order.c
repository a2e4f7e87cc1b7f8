/* The order of a state_dict's modules, which its file does not hold: the user's, or the only one in which
 * each module takes what the one before it gives and linear layers stand last, if they can. Two linear layers
 * in a row are never guessed: what lies between them is an activation that no state_dict names. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "file/file_table.h"
#include "file/torch.h"

/* A matrix read as an embedding has tokens as its input. */
static void read_as(struct torch_module *m, enum torch_kind kind)
{
    if (m->kind == TORCH_MATRIX && kind == TORCH_EMBEDDING) {
        uint32_t symbols = m->output;
        m->output = m->input;
        m->input = symbols;
    }
    m->kind = kind;
}

/* "embed 65 -> 8, lstm 8 -> 32" for messages. */
static const char *list_modules(const struct torch_modules *all, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < all->count && used < size; i++) {
        const struct torch_module *m = &all->module[i];
        used += (size_t)snprintf(text + used, size - used, "%s%s %u -> %u", i ? ", " : "", m->name, (unsigned)m->input,
                                 (unsigned)m->output);
    }
    return text;
}

/* ---- the order that the user gives ----------------------------------------------------- */

static struct torch_module *find_word(struct torch_modules *all, const char *word, size_t length)
{
    for (int i = 0; i < all->count; i++)
        if (strlen(all->module[i].name) == length && !memcmp(all->module[i].name, word, length))
            return &all->module[i];
    return NULL;
}

/* What follows the name of a module: the activation of a linear one, the kind of a GRU or RNN. */
static unroll_status take_variant(struct torch_module *m, const char *variant)
{
    const struct cell_declaration *cell =
        m->kind == TORCH_STACK ? cell_of_module(m->cell->foreign.name, variant) : NULL;
    if (m->kind == TORCH_LINEAR && activation_parse(variant, &m->activation))
        return UNROLL_OK;
    if (cell) {
        m->cell = cell;
        return UNROLL_OK;
    }
    return fail(UNROLL_USAGE,
                "`order`: '%s' can't have '%s': a linear layer has an activation such as relu, a GRU "
                "after or before, an RNN tanh or relu; fix: another activation after the colon",
                m->name, variant);
}

static unroll_status take_word(struct torch_modules *all, const char *word, size_t length, struct torch_modules *order)
{
    const char *colon = memchr(word, ':', length);
    size_t name = colon ? (size_t)(colon - word) : length;
    struct torch_module *m = find_word(all, word, name);
    char variant[32] = "", list[600];
    if (!m)
        return fail(UNROLL_USAGE, "`order`: there is no module '%.*s'; fix: choose among %s", (int)name, word,
                    list_modules(all, list, sizeof list));
    if (find_word(order, word, name))
        return fail(UNROLL_USAGE, "`order`: '%.*s' is named twice; fix: name it once", (int)name, word);
    order->module[order->count] = *m;
    m = &order->module[order->count++];
    if (m->kind == TORCH_MATRIX)
        read_as(m, order->count == 1 && !colon ? TORCH_EMBEDDING : TORCH_LINEAR);
    if (!colon)
        return UNROLL_OK;
    snprintf(variant, sizeof variant, "%.*s", (int)(length - name - 1), colon + 1);
    return take_variant(m, variant);
}

static unroll_status check_chain(const struct torch_modules *order)
{
    for (int i = 1; i < order->count; i++) {
        const struct torch_module *m = &order->module[i], *before = m - 1;
        if (m->kind == TORCH_EMBEDDING)
            return fail(UNROLL_USAGE, "`order`: the embedding '%s' can only be the first; fix: put it first", m->name);
        if (m->input != before->output)
            return fail(UNROLL_DATA, "'%s' reads %u numbers, '%s' before it gives %u; fix: another `order`", m->name,
                        (unsigned)m->input, before->name, (unsigned)before->output);
    }
    return UNROLL_OK;
}

/* `order` begins empty. */
static unroll_status follow_order(const char *text, struct torch_modules *all, struct torch_modules *order)
{
    for (const char *word = text;; word++) {
        size_t length = strcspn(word, ",");
        TRY(take_word(all, word, length, order));
        word += length;
        if (!*word)
            break;
    }
    for (int i = 0; i < all->count; i++)
        if (!find_word(order, all->module[i].name, strlen(all->module[i].name)))
            return fail(UNROLL_USAGE, "`order`: the module '%s' is left out; fix: name it, or `prefix`",
                        all->module[i].name);
    TRY(check_chain(order));
    *all = *order;
    return UNROLL_OK;
}

/* ---- the order that shapes allow ------------------------------------------------------- */

enum { MAX_TRIALS = 200000 };

struct search {
    const struct torch_modules *all;
    struct torch_modules trial, first; /* the one being tried, the first that fits */
    bool used[MODEL_LAYERS_MAX];
    bool heads_last; /* linear layers stand behind all stacks */
    int fits, trials;
};

static void search(struct search *s);

static void try_module(struct search *s, int i, enum torch_kind kind)
{
    struct torch_modules *t = &s->trial;
    struct torch_module *m = &t->module[t->count], *before = t->count ? m - 1 : NULL;
    *m = s->all->module[i];
    read_as(m, kind);
    bool fits = kind == TORCH_EMBEDDING ? !before : !before || m->input == before->output;
    if (!fits || (before && before->kind == TORCH_LINEAR && (kind == TORCH_LINEAR || s->heads_last)))
        return;
    s->used[i] = true;
    t->count++;
    search(s);
    t->count--;
    s->used[i] = false;
}

static void search(struct search *s)
{
    if (s->trial.count == s->all->count && s->fits++ == 0)
        s->first = s->trial;
    for (int i = 0; i < s->all->count && s->fits < 2 && s->trials < MAX_TRIALS; i++) {
        enum torch_kind kind = s->all->module[i].kind;
        if (s->used[i])
            continue;
        s->trials++;
        try_module(s, i, kind == TORCH_MATRIX ? TORCH_EMBEDDING : kind);
        if (kind == TORCH_MATRIX)
            try_module(s, i, TORCH_LINEAR);
    }
}

/* lstm 65 -> 256, fc 256 -> 65 would also fit the other way round: a linear layer goes last where it can. */
static unroll_status find_order(const unroll_import_config *config, struct torch_modules *all, struct search *s,
                                struct search *last)
{
    char list[600];
    s->all = last->all = all;
    last->heads_last = true;
    search(last);
    search(s);
    if (last->fits == 1 && last->trials < MAX_TRIALS) {
        if (s->fits > 1)
            report_import(config, "other orders fit too; this is the one whose linear layer is last (`order`)");
        *all = last->first;
        return UNROLL_OK;
    }
    if (s->fits == 1 && s->trials < MAX_TRIALS) {
        *all = s->first;
        return UNROLL_OK;
    }
    list_modules(all, list, sizeof list);
    if (s->fits == 0 && s->trials < MAX_TRIALS)
        return fail(UNROLL_DATA,
                    "no order of these modules is certain: %s; linear layers in a row have activations "
                    "between them that the file does not hold; fix: `order` with names and activations, such "
                    "as lstm,fc1:relu,fc2, or `prefix`",
                    list);
    return fail(UNROLL_DATA,
                "the shapes of these modules allow several orders: %s; fix: `order` with their names "
                "from the input on, or `prefix`",
                list);
}

unroll_status torch_order_modules(const unroll_import_config *config, struct torch_modules *all)
{
    struct search *s;
    TRY(ALLOCATE(s, 2, "to order the modules"));
    unroll_status status =
        config->order ? follow_order(config->order, all, &s->trial) : find_order(config, all, s, s + 1);
    release(s);
    return status;
}
