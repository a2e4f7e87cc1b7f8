/* PyTorch state_dicts as safetensors files: the format's row and the export. Parameters already have PyTorch's names
 * and order, so they are written unchanged, for load_state_dict(strict=True). The import is in torch_import.c. Pickled
 * .pt files are not supported: convert them with safetensors.torch.save_file. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "convert/file_table.h"
#include "convert/torch/torch.h"
#include "model/layer_kind.h"

/* ---- export ---------------------------------------------------------------------------- */

/* Refuses cells and options that torch.nn does not have. */
static unroll_status check_expressible(const struct unroll_model *m)
{
    for (int i = 0; i < m->layers; i++) {
        unroll_layer l = {.size = sizeof l};
        TRY(unroll_model_layer(m, i, &l));
        const struct cell_declaration *cell = m->layer[i].cell;
        bool plain = !l.peephole && !(l.clip > 0) && !l.activations && !l.input_forget && !l.reverse;
        if (cell ? plain && cell->foreign.in_torch : m->layer[i].kind->is_affine || l.pool) /* a pool has no weights */
            continue;
        return fail(UNROLL_UNSUPPORTED, "layer %d, '%s': torch.nn has no %s%s%s%s%s%s; fix: export to another format",
                    i, l.name, l.kind, l.peephole ? " with peepholes" : "", l.clip > 0 ? " with a clip" : "",
                    l.activations ? " with other functions" : "", l.input_forget ? " with coupled gates" : "",
                    l.reverse ? " that runs only backward" : "");
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
    return fail(UNROLL_USAGE,
                "a state_dict cannot be written with `dtype` = '%.40s'; fix: choose one of fp32, fp16, bf16", name);
}

/* The tensors to write: a view of each parameter, converted if the type is narrower than fp32. */
struct state_dict {
    struct tensor_view *tensor;
    char (*name)[256];
    uint16_t *narrow; /* all converted values; NULL for fp32 */
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
            return fail(UNROLL_DATA, "the weight %g is too large for fp16; fix: use `dtype` bf16 or fp32",
                        (double)m->values[i]);
    }
    return UNROLL_OK;
}

static void add_tensor(struct state_dict *d, struct unroll_model *m, int index, const char *prefix, const char *name,
                       enum dtype dtype)
{
    const struct parameter *q = &m->parameter[index];
    struct tensor_view *t = &d->tensor[d->count];
    unroll_parameter p = {.size = sizeof p};
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

/* Adds all parameters. PyTorch lists a tied weight under both of its names. */
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

/* Reports what a state_dict does not contain but the code that builds the modules must set. */
static void report_what_is_lost(const struct unroll_model *m, const unroll_export_config *config)
{
    for (int i = 0; i < m->layers; i++) {
        unroll_layer l = {.size = sizeof l};
        unroll_model_layer(m, i, &l);
        const struct cell_foreign *foreign = m->layer[i].cell ? &m->layer[i].cell->foreign : NULL;
        if (foreign && cell_of_module(foreign->name, NULL) != m->layer[i].cell)
            report_export(config, "%s: nn.%s with nonlinearity='%s', which a state_dict does not store", l.name,
                          foreign->name, foreign->kind);
        else if (l.activation && strcmp(l.activation, "linear"))
            report_export(config, "%s: followed by %s, which a state_dict does not store", l.name, l.activation);
    }
}

/* Writes a state_dict in the configured type. */
static unroll_status export_torch(const unroll_model *model, const char *path, const unroll_export_config *config)
{
    struct unroll_model *m = (struct unroll_model *)model;    /* not modified */
    static const struct metadata metadata = {"format", "pt"}; /* required by transformers and others */
    struct state_dict d = {.count = 0};
    enum dtype dtype;
    TRY(check_expressible(m));
    TRY(find_dtype(config->dtype, &dtype));
    if (config->prefix && strlen(config->prefix) > 160)
        return fail(UNROLL_USAGE, "the prefix has %zu bytes, at most 160 are allowed; fix: use a shorter `prefix`",
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

/* A safetensors file begins with a length below 2^32 in 8 bytes, followed by JSON. */
static bool is_state_dict(const char *path, const char *head, size_t bytes)
{
    return path_ends_in(path, ".safetensors.index.json") || path_ends_in(path, ".safetensors") ||
           (bytes > 8 && head[8] == '{' && !memcmp(head + 4, "\0\0\0", 4));
}

const struct file_format format_torch = {.name = "torch",
                                         .about = "PyTorch's state_dict as safetensors",
                                         .recognizes = is_state_dict,
                                         .import = import_torch,
                                         .export = export_torch,
                                         .import_takes = IMPORT_STATE_DICT_TAKES,
                                         .export_takes = TAKES_PREFIX | TAKES_DTYPE};
