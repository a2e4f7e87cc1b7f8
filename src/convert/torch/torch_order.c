/* Orders the modules of a state_dict, which does not store their order: as the user specified, or in the only order in
 * which each module's input has the width of the previous output, with linear layers last if possible. The order of two
 * adjacent linear layers is never guessed, because the activation between them is not in the file. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "convert/file_table.h"
#include "convert/torch/torch.h"

/* Decides what a matrix is. As an embedding, its input is the tokens. */
static void read_as(struct torch_module *m, enum torch_kind kind)
{
    if (m->kind == TORCH_MATRIX && kind == TORCH_EMBEDDING) {
        uint32_t symbols = m->output;
        m->output = m->input;
        m->input = symbols;
    }
    m->kind = kind;
}

/* Formats the modules for messages: "embed 65 -> 8, lstm 8 -> 32". */
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

/* Reads the suffix of a module: the activation of a linear layer, or the kind of a GRU or RNN. */
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
                "`order`: '%s' cannot have '%s': a linear layer accepts an activation such as relu, a GRU after or "
                "before, an RNN tanh or relu; fix: change the part after the colon",
                m->name, variant);
}

/* Reads one word of the user's order and appends its module. */
static unroll_status take_word(struct torch_modules *all, const char *word, size_t length, struct torch_modules *order)
{
    const char *colon = memchr(word, ':', length);
    size_t name = colon ? (size_t)(colon - word) : length;
    struct torch_module *m = find_word(all, word, name);
    char variant[32] = "", list[600];
    if (!m)
        return fail(UNROLL_USAGE, "`order`: there is no module '%.*s'; fix: choose one of %s", (int)name, word,
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
            return fail(UNROLL_USAGE, "`order`: the embedding '%s' must be first; fix: put it first", m->name);
        if (m->input != before->output)
            return fail(UNROLL_DATA,
                        "'%s' reads %u values, but '%s' before it has %u outputs; fix: use another `order`", m->name,
                        (unsigned)m->input, before->name, (unsigned)before->output);
    }
    return UNROLL_OK;
}

/* Fills in `order`, which must be empty. */
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
            return fail(UNROLL_USAGE, "`order`: the module '%s' is left out; fix: add it, or set `prefix`",
                        all->module[i].name);
    TRY(check_chain(order));
    *all = *order;
    return UNROLL_OK;
}

/* ---- the order that shapes allow ------------------------------------------------------- */

enum { MAX_TRIALS = 200000 };

struct search {
    const struct torch_modules *all;
    struct torch_modules trial, first; /* the current attempt, and the first order that fits */
    bool used[MODEL_LAYERS_MAX];
    bool heads_last; /* linear layers come after all stacks */
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

/* lstm 65 -> 256, fc 256 -> 65 would also fit the other way round: linear layers go last if possible. */
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
            report_import(config, "other orders are possible; in this one the linear layer is last (`order`)");
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
                    "the order of these modules is ambiguous: %s; the file does not store the activations between "
                    "consecutive linear layers; fix: set `order` with names and activations, such as "
                    "lstm,fc1:relu,fc2, or `prefix`",
                    list);
    return fail(UNROLL_DATA,
                "the shapes of these modules allow several orders: %s; fix: set `order` to their names, starting at "
                "the input, or `prefix`",
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
