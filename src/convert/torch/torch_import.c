/* Builds a model from the modules of a state_dict. PyTorch's names are kept for a later export. Modules are found in
 * torch_modules.c and ordered in torch_order.c. */
#include <stdio.h>
#include <string.h>

#include "base/finite.h"
#include "base/memory.h"
#include "convert/file_table.h"
#include "convert/torch/torch.h"

/* ---- report ---------------------------------------------------------------------------- */

static void report_stack(const unroll_import_config *config, const struct torch_module *m)
{
    char projection[48] = "";
    if (m->projection)
        snprintf(projection, sizeof projection, ", projection %u", (unsigned)m->projection);
    report_import(config, "%s: %s %d x %u, %u -> %u%s%s%s", m->name, m->cell->called, m->levels, (unsigned)m->hidden,
                  (unsigned)m->input, (unsigned)m->output, m->directions == 2 ? ", bidirectional" : "", projection,
                  m->bias ? "" : ", no bias");
    for (int i = 0; cell_at(i) && !config->nonlinearity && !config->order; i++) {
        const struct cell_foreign *other = &cell_at(i)->foreign;
        if (cell_at(i) != m->cell && other->in_torch && !strcmp(other->name, m->cell->foreign.name))
            report_import(config, "%s: %s is assumed, because the file does not store it (`nonlinearity` %s)", m->name,
                          m->cell->foreign.kind, other->kind);
    }
}

static void report_modules(const unroll_import_config *config, const struct torch_modules *all)
{
    for (int i = 0; i < all->count; i++) {
        const struct torch_module *m = &all->module[i];
        if (m->kind == TORCH_STACK)
            report_stack(config, m);
        else if (m->kind == TORCH_EMBEDDING)
            report_import(config, "%s: embedding of %u tokens, width %u", m->name, (unsigned)m->input,
                          (unsigned)m->output);
        else
            report_import(config, "%s: linear %u -> %u%s%s%s", m->name, (unsigned)m->input, (unsigned)m->output,
                          m->bias ? "" : ", no bias", m->activation.kind == ACTIVATION_LINEAR ? "" : ", ",
                          m->activation.kind == ACTIVATION_LINEAR ? "" : activation_name(m->activation.kind));
    }
}

/* ---- a tied head ----------------------------------------------------------------------- */

static const struct tensor_view *matrix_of(const struct tensor_set *set, const struct torch_module *m)
{
    char name[256];
    snprintf(name, sizeof name, "%.191sweight", m->base);
    return tensor_set_find(set, name);
}

/* True if the head has the embedding's weight. A state_dict lists a tied weight twice. */
static bool is_tied(const struct tensor_set *set, const struct torch_modules *all)
{
    const struct torch_module *embedding = &all->module[0], *head = &all->module[all->count - 1];
    if (all->count != 3 || embedding->kind != TORCH_EMBEDDING || head->kind != TORCH_LINEAR || !head->bias ||
        head->activation.kind != ACTIVATION_LINEAR || embedding->output != head->input ||
        embedding->input != head->output)
        return false;
    const struct tensor_view *a = matrix_of(set, embedding), *b = matrix_of(set, head);
    return a->dtype == b->dtype && !memcmp(a->data, b->data, a->bytes);
}

/* ---- the model ------------------------------------------------------------------------- */

static void add_stack(const struct torch_module *m, unroll_layer *layer, int *layers)
{
    for (int level = 0; level < m->levels && *layers < MODEL_LAYERS_MAX; level++) {
        unroll_layer *l = &layer[(*layers)++];
        *l = unroll_layer_default();
        l->kind = m->cell->called;
        l->name = m->name;
        l->level = level;
        l->width = (int)m->hidden;
        l->projection = (int)m->projection;
        l->bidirectional = m->directions == 2;
        l->bias = m->bias;
    }
}

static void add_linear(const struct torch_module *m, unroll_layer *layer, int *layers)
{
    if (*layers == MODEL_LAYERS_MAX)
        return;
    unroll_layer *l = &layer[(*layers)++];
    *l = unroll_layer_default();
    l->name = m->name;
    l->width = (int)m->output;
    l->bias = m->bias;
    if (m->activation.kind != ACTIVATION_LINEAR)
        l->activation = activation_name(m->activation.kind);
}

/* Creates the model with the modules as its layers. */
static unroll_status new_model(const struct torch_modules *all, bool tied, unroll_model **model)
{
    unroll_layer layer[MODEL_LAYERS_MAX];
    unroll_network network = unroll_network_default();
    const struct torch_module *first = &all->module[0];
    bool embedded = first->kind == TORCH_EMBEDDING;
    int wanted = 0;
    network.input = (int)first->input;
    network.tokens = embedded;
    network.embed = embedded ? (int)first->output : 0;
    network.embedding = embedded ? first->name : NULL;
    network.layer = layer;
    for (int i = embedded; i < all->count; i++) {
        const struct torch_module *m = &all->module[i];
        wanted += m->kind == TORCH_STACK ? m->levels : 1;
        (m->kind == TORCH_STACK ? add_stack : add_linear)(m, layer, &network.layers);
    }
    if (wanted > MODEL_LAYERS_MAX || wanted == 0)
        return fail(UNROLL_UNSUPPORTED,
                    "the file has %d layers; a model has 1 to %d; fix: import a part of it by its `prefix`", wanted,
                    MODEL_LAYERS_MAX);
    if (embedded && !strcmp(layer[network.layers - 1].kind, "dense") && !layer[network.layers - 1].activation)
        network.loss = "xent";
    network.tied = tied;
    return unroll_model_from_network(&network, 0, model);
}

/* ---- weights --------------------------------------------------------------------------- */

/* Finds the tensor of parameter "lstm.weight_ih_l0" by the module's name in the file. */
static const struct tensor_view *find_tensor(const struct tensor_set *set, const struct torch_modules *all,
                                             const char *parameter)
{
    const char *dot = strrchr(parameter, '.');
    size_t length = (size_t)(dot - parameter);
    char name[320];
    for (int i = 0; i < all->count; i++) {
        const struct torch_module *m = &all->module[i];
        if (strlen(m->name) != length || memcmp(m->name, parameter, length))
            continue;
        snprintf(name, sizeof name, "%s%s", m->base, dot + 1);
        return tensor_set_find(set, name);
    }
    return NULL;
}

static unroll_status fill_parameter(const struct tensor_set *set, const struct torch_modules *all,
                                    const unroll_parameter *p, size_t count)
{
    const struct tensor_view *t = find_tensor(set, all, p->name);
    if (!t || tensor_view_count(t) != count)
        return fail(
            UNROLL_DATA,
            "the tensor for '%s' is missing or has the wrong size; fix: save the state_dict again, or take another "
            "copy of the file",
            p->name);
    TRY(tensor_view_to_floats(t, p->data));
    size_t k = first_not_finite(p->data, count);
    return k == count
               ? UNROLL_OK
               : fail(UNROLL_DATA,
                      "the tensor '%.160s' contains NaN or infinity at index %zu; fix: save the state_dict again, or "
                      "take another copy of the file",
                      t->name, k);
}

static unroll_status fill_weights(const struct tensor_set *set, const struct torch_modules *all, struct unroll_model *m)
{
    unroll_parameter p = {.size = sizeof p};
    for (int i = 0; i < m->parameters; i++) {
        unroll_model_parameter(m, i, &p);
        TRY(fill_parameter(set, all, &p, m->parameter[i].count));
    }
    return UNROLL_OK;
}

/* ---- all of it ------------------------------------------------------------------------- */

static void report_dtypes(const unroll_import_config *config, const struct tensor_set *set)
{
    int of[DTYPE_COUNT] = {0};
    for (int i = 0; i < set->count; i++) of[set->tensor[i]->dtype]++;
    for (int d = 0; d < DTYPE_COUNT; d++)
        if (of[d] && d != DTYPE_F32)
            report_import(config, "%d tensors are %s in the file and F32 in the model", of[d],
                          dtype_name((enum dtype)d));
}

/* Finds and orders the modules, builds the model and copies the weights. */
static unroll_status import_modules(const struct tensor_set *set, const unroll_import_config *config,
                                    struct torch_modules *all, unroll_model **model)
{
    struct unroll_model *made;
    TRY(torch_find_modules(set, config, all));
    TRY(torch_order_modules(config, all));
    report_modules(config, all);
    report_dtypes(config, set);
    bool tied = is_tied(set, all);
    if (tied)
        report_import(config, "%s: the weight of '%s', tied", all->module[2].name, all->module[0].name);
    TRY(new_model(all, tied, &made));
    unroll_status status = fill_weights(set, all, made);
    if (status != UNROLL_OK) {
        unroll_model_free(made);
        return status;
    }
    *model = made;
    return UNROLL_OK;
}

unroll_status import_state_dict(const struct tensor_set *set, const unroll_import_config *config, unroll_model **model)
{
    struct torch_modules *all = allocate_zeroed(1, sizeof *all);
    unroll_status status =
        all ? import_modules(set, config, all, model) : fail(UNROLL_RESOURCE, "no memory for the modules of a file");
    release(all);
    return status;
}

/* Imports a file. The order of its modules may be stored in it, as by tools/keras_to_unroll.py. */
static unroll_status import_file(const struct tensor_set *set, const unroll_import_config *given, unroll_model **model)
{
    unroll_import_config config = *given;
    const char *order = tensor_set_metadata(set, "order");
    if (!config.order && order) {
        config.order = order;
        report_import(&config, "order: %s, stored in the file", order);
    }
    return import_state_dict(set, &config, model);
}

unroll_status import_torch(const char *path, const unroll_import_config *config, unroll_model **model)
{
    struct tensor_set set;
    TRY(tensor_set_open(path, &set));
    const char *format = tensor_set_metadata(&set, "format");
    unroll_status status =
        format && !strcmp(format, "unroll")
            ? fail(UNROLL_USAGE, "'%s' is already an Unroll model; fix: use it without importing it", path)
            : import_file(&set, config, model);
    if (status == UNROLL_DATA || status == UNROLL_UNSUPPORTED)
        status = fail(status, "'%s': %s", path, unroll_last_error());
    tensor_set_close(&set);
    return status;
}
