/* PyTorch's state_dicts as safetensors files: the format's row, and export: the model's parameters are named
 * and ordered as PyTorch's already, so they are written as they are, for load_state_dict(strict=True). Import
 * is in torch_import.c. Not pickled .pt files: safetensors.torch.save_file makes what is read. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "file/file_table.h"
#include "file/torch.h"
#include "model/layer_kind.h"

/* ---- export ---------------------------------------------------------------------------- */

/* torch.nn has these cells with PyTorch's options and no others. */
static unroll_status check_expressible(const struct unroll_model *m)
{
    for (int i = 0; i < m->layers; i++) {
        unroll_layer l;
        TRY(unroll_model_layer(m, i, &l));
        const struct cell_declaration *cell = m->layer[i].cell;
        bool plain = !l.peephole && !(l.clip > 0) && !l.activations && !l.input_forget && !l.reverse;
        if (cell ? plain && cell->foreign.in_torch : m->layer[i].kind->is_affine || l.pool) /* a pool has no weights */
            continue;
        return fail(UNROLL_UNSUPPORTED, "layer %d, '%s': torch.nn has no %s%s%s%s%s%s; fix: export to another format",
                    i, l.name, l.kind, l.peephole ? " with peepholes" : "", l.clip > 0 ? " with a clip" : "",
                    l.activations ? " with other functions" : "", l.input_forget ? " with coupled gates" : "",
                    l.reverse ? " that only goes backward" : "");
    }
    return UNROLL_OK;
}

static unroll_status find_dtype(const char *name, enum dtype *dtype)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } types[] = {{"fp32", DTYPE_F32}, {"fp16", DTYPE_F16}, {"bf16", DTYPE_BF16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(name ? name : "fp32", types[i].name)) {
            *dtype = types[i].dtype;
            return UNROLL_OK;
        }
    return fail(UNROLL_USAGE, "a state_dict is not written in '%.40s'; fix: choose one of fp32, fp16, bf16", name);
}

/* What is written: a view of each parameter, converted where it is to be narrow. */
struct state_dict {
    struct tensor_view *tensor;
    char (*name)[256];
    uint16_t *narrow; /* all numbers, one parameter after the other; NULL for fp32 */
    int count;
};

static unroll_status narrow_numbers(struct state_dict *d, const struct unroll_model *m, enum dtype dtype)
{
    if (dtype == DTYPE_F32)
        return UNROLL_OK;
    TRY(ALLOCATE(d->narrow, m->count, "for the weights in %s", dtype_name(dtype)));
    for (size_t i = 0; i < m->count; i++) {
        d->narrow[i] = dtype == DTYPE_F16 ? f32_to_f16(m->values[i]) : f32_to_bf16(m->values[i]);
        if (dtype == DTYPE_F16 && (d->narrow[i] & 0x7fff) == 0x7c00)
            return fail(UNROLL_DATA, "a weight of %g does not fit fp16; fix: `dtype` bf16 or fp32",
                        (double)m->values[i]);
    }
    return UNROLL_OK;
}

static void add_tensor(struct state_dict *d, struct unroll_model *m, int index, const char *prefix, const char *name,
                       enum dtype dtype)
{
    const struct parameter *q = &m->parameter[index];
    struct tensor_view *t = &d->tensor[d->count];
    unroll_parameter p;
    unroll_model_parameter(m, index, &p);
    snprintf(d->name[d->count], sizeof *d->name, "%s%s", prefix ? prefix : "", name ? name : p.name);
    *t = (struct tensor_view){.name = d->name[d->count],
                              .dtype = dtype,
                              .rank = p.rank,
                              .data = p.data,
                              .shape = {(uint64_t)p.shape[0], (uint64_t)p.shape[1]},
                              .bytes = q->count * dtype_size(dtype)};
    if (d->narrow)
        t->data = d->narrow + q->first;
    d->count++;
}

/* PyTorch lists a tied weight under both its names. */
static void fill_state_dict(struct state_dict *d, struct unroll_model *m, const char *prefix, enum dtype dtype)
{
    for (int i = 0; i < m->parameters; i++) {
        add_tensor(d, m, i, prefix, NULL, dtype);
        if (m->tied && m->parameter[i].role == PARAM_EMBEDDING) {
            char head[sizeof m->parameter->name];
            snprintf(head, sizeof head, "%s.weight", m->layer[m->layers - 1].name);
            add_tensor(d, m, i, prefix, head, dtype);
        }
    }
}

/* What a state_dict does not hold, and whoever builds the modules must know. */
static void report_what_is_lost(const struct unroll_model *m, const unroll_export_config *config)
{
    for (int i = 0; i < m->layers; i++) {
        unroll_layer l;
        unroll_model_layer(m, i, &l);
        const struct cell_foreign *foreign = m->layer[i].cell ? &m->layer[i].cell->foreign : NULL;
        if (foreign && cell_of_module(foreign->name, NULL) != m->layer[i].cell)
            report_export(config, "%s: nn.%s with nonlinearity='%s', which a state_dict does not say", l.name,
                          foreign->name, foreign->kind);
        else if (l.activation && strcmp(l.activation, "linear"))
            report_export(config, "%s: followed by %s, which a state_dict does not say", l.name, l.activation);
    }
}

static unroll_status export_torch(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    struct unroll_model *m = (struct unroll_model *)model;    /* only looked at */
    static const struct metadata metadata = {"format", "pt"}; /* transformers and others ask for it */
    struct state_dict d = {.count = 0};
    enum dtype dtype;
    TRY(check_expressible(m));
    TRY(find_dtype(config->dtype, &dtype));
    if (config->prefix && strlen(config->prefix) > 160)
        return fail(UNROLL_USAGE, "a prefix of %zu bytes is too long; at most 160; fix: a shorter `prefix`",
                    strlen(config->prefix));
    unroll_status status = narrow_numbers(&d, m, dtype);
    d.tensor = allocate_zeroed((size_t)m->parameters + 1, sizeof *d.tensor);
    d.name = allocate_zeroed((size_t)m->parameters + 1, sizeof *d.name);
    if (status == UNROLL_OK && (!d.tensor || !d.name))
        status = fail(UNROLL_RESOURCE, "no memory to export %d tensors", m->parameters);
    if (status == UNROLL_OK) {
        fill_state_dict(&d, m, config->prefix, dtype);
        status = safetensors_write(path, d.tensor, d.count, &metadata, 1);
    }
    if (status == UNROLL_OK)
        report_what_is_lost(m, config);
    release(d.name);
    release(d.tensor);
    release(d.narrow);
    return status;
}

/* A safetensors file begins with the 8 bytes of a length below 2^32 and its JSON header. */
static bool is_state_dict(const char *path, const char *head, size_t bytes)
{
    return path_ends_in(path, ".safetensors.index.json") || path_ends_in(path, ".safetensors") ||
           (bytes > 8 && head[8] == '{' && !memcmp(head + 4, "\0\0\0", 4));
}

const struct file_format format_torch = {.name = "torch",
                                         .about = "PyTorch's state_dict as safetensors",
                                         .recognises = is_state_dict,
                                         .import = import_torch,
                                         .export = export_torch,
                                         .import_takes = IMPORT_STATE_DICT_TAKES,
                                         .export_takes = TAKES_PREFIX | TAKES_DTYPE};
