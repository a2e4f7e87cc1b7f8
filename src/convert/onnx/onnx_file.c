/* Parses ONNX files: the messages ModelProto, GraphProto, NodeProto, AttributeProto and ValueInfoProto (onnx.proto3).
 * Tensors are parsed in onnx_tensor.c. Graphs inside nodes (If, Loop, Scan) are detected but not parsed. */
#include "convert/onnx/onnx_messages.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* ---- memory and small readers ---------------------------------------------------------- */

struct onnx_block {
    struct onnx_block *next;
};

void *onnx_allocate(struct onnx_file *o, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - MEMORY_ALIGNMENT) / size)
        return NULL;
    struct onnx_block *block = allocate_zeroed(MEMORY_ALIGNMENT + count * size, 1);
    if (!block)
        return NULL;
    block->next = o->blocks;
    o->blocks = block;
    return (char *)block + MEMORY_ALIGNMENT;
}

unroll_status onnx_take(struct onnx_file *o, size_t count, size_t size, void *array)
{
    void *made = onnx_allocate(o, count, size);
    if (!made)
        return fail(UNROLL_RESOURCE, "'%s': no memory for %zu x %zu bytes", o->path, count, size);
    memcpy(array, &made, sizeof made);
    return UNROLL_OK;
}

unroll_status onnx_take_text(struct onnx_file *o, const struct pb_reader *r, const struct pb_field *f,
                             const char **text)
{
    char *made;
    TRY(pb_expect(r, f, PB_BYTES));
    if (memchr(f->data, 0, f->size) && f->size)
        return fail(UNROLL_DATA, "%s: a name contains a zero byte; fix: " EXPORT_AGAIN, r->where);
    TRY(onnx_take(o, f->size + 1, 1, &made));
    if (f->size)
        memcpy(made, f->data, f->size);
    *text = made;
    return UNROLL_OK;
}

/* Allocates an array for all fields with this number; the reader counts them in *made. */
static unroll_status room_for(struct onnx_file *o, struct pb_reader r, uint32_t number, size_t size, void *array)
{
    struct pb_field f;
    size_t count = 0;
    while (count <= ONNX_NODES && pb_next(&r, &f)) count += f.number == number;
    TRY(r.status);
    if (count > ONNX_NODES)
        return fail(
            UNROLL_UNSUPPORTED,
            "%s has more than %d entries in one list, more than a recurrent network needs; fix: " SIMPLIFY_MODEL,
            r.where, ONNX_NODES);
    return onnx_take(o, count, size, array);
}

/* ---- attributes and nodes -------------------------------------------------------------- */

/* Appends the numbers of a packed or single field to the attribute's list. */
static unroll_status read_number_list(struct onnx_file *o, const struct pb_reader *r, const struct pb_field *f,
                                      struct onnx_attribute *a)
{
    bool floats = f->number == 7;
    size_t before = (size_t)a->count, more = f->wire == PB_BYTES ? f->size : 1; /* each takes at least a byte */
    if (floats && f->wire == PB_BYTES)
        more = f->size / 4;
    char *list;
    size_t size = floats ? sizeof(float) : sizeof(int64_t);
    if (before + more > 4096)
        return fail(UNROLL_UNSUPPORTED, "%s: a list has %zu values, which is too many; fix: " EXPORT_AGAIN, r->where,
                    before + more);
    TRY(onnx_take(o, before + more, size, &list));
    if (before && (floats ? !a->floats : !a->ints))
        return fail(UNROLL_DATA, "%s: an attribute has lists of two types; fix: " EXPORT_AGAIN, r->where);
    if (before)
        memcpy(list, floats ? (const void *)a->floats : (const void *)a->ints, before * size);
    if (floats)
        a->floats = (float *)list;
    else
        a->ints = (int64_t *)list;
    struct pb_reader inside = pb_inside(r, f);
    for (size_t i = 0; i < more; i++) {
        uint64_t value = f->value;
        if (!floats && f->wire == PB_BYTES) {
            if (inside.at == inside.end)
                break;
            TRY(pb_varint(&inside, &value));
        }
        if (!floats)
            ((int64_t *)list)[a->count] = (int64_t)value;
        else if (f->wire == PB_BYTES)
            memcpy(list + 4 * (size_t)a->count, f->data + 4 * i, 4);
        else
            ((float *)list)[a->count] = f32_from_bits((uint32_t)value);
        a->count++;
    }
    return UNROLL_OK;
}

/* Appends a string to the attribute's list. */
static unroll_status read_string_list(struct onnx_file *o, const struct pb_reader *r, const struct pb_field *f,
                                      struct onnx_attribute *a)
{
    const char **list;
    if (a->count >= 64)
        return fail(UNROLL_UNSUPPORTED, "%s: an attribute has more than 64 strings; fix: " SIMPLIFY_MODEL, r->where);
    TRY(onnx_take(o, (size_t)a->count + 1, sizeof *list, &list));
    if (a->count && !a->strings)
        return fail(UNROLL_DATA, "%s: an attribute has lists of two types; fix: " EXPORT_AGAIN, r->where);
    if (a->count)
        memcpy(list, a->strings, (size_t)a->count * sizeof *list);
    a->strings = list;
    return onnx_take_text(o, r, f, &list[a->count++]);
}

/* Reads one field of an attribute; unknown fields are skipped. */
static unroll_status read_attribute_field(struct onnx_file *o, const struct pb_reader *r, const struct pb_field *f,
                                          struct onnx_attribute *a)
{
    struct onnx_tensor *t;
    switch (f->number) {
    case 1: return onnx_take_text(o, r, f, &a->name);
    case 2: a->f = f32_from_bits((uint32_t)f->value); return pb_expect(r, f, PB_FIXED32);
    case 3: a->i = (int64_t)f->value; return pb_expect(r, f, PB_VARINT);
    case 4: return onnx_take_text(o, r, f, &a->s);
    case 5:
        TRY(onnx_take(o, 1, sizeof *t, &t));
        a->t = t;
        return onnx_read_tensor(o, pb_inside(r, f), t);
    case 7:
    case 8: return read_number_list(o, r, f, a);
    case 9: return read_string_list(o, r, f, a);
    case 20: a->type = (int)f->value; return pb_expect(r, f, PB_VARINT);
    default: return UNROLL_OK; /* graphs and newer fields, recognized by the attribute's type */
    }
}

static unroll_status read_attribute(struct onnx_file *o, struct pb_reader r, struct onnx_attribute *a)
{
    struct pb_field f;
    a->name = a->s = "";
    while (pb_next(&r, &f)) TRY(read_attribute_field(o, &r, &f, a));
    return r.status;
}

static unroll_status read_node_field(struct onnx_file *o, const struct pb_reader *r, const struct pb_field *f,
                                     struct onnx_node *n)
{
    switch (f->number) {
    case 1: return onnx_take_text(o, r, f, &n->input[n->inputs++]);
    case 2: return onnx_take_text(o, r, f, &n->output[n->outputs++]);
    case 3: return onnx_take_text(o, r, f, &n->name);
    case 4: return onnx_take_text(o, r, f, &n->op);
    case 5: return read_attribute(o, pb_inside(r, f), &n->attribute[n->attributes++]);
    case 7: return onnx_take_text(o, r, f, &n->domain);
    default: return UNROLL_OK;
    }
}

static unroll_status read_node(struct onnx_file *o, struct pb_reader r, struct onnx_node *n)
{
    struct pb_field f;
    n->name = n->op = n->domain = "";
    TRY(room_for(o, r, 1, sizeof *n->input, &n->input));
    TRY(room_for(o, r, 2, sizeof *n->output, &n->output));
    TRY(room_for(o, r, 5, sizeof *n->attribute, &n->attribute));
    while (pb_next(&r, &f)) TRY(read_node_field(o, &r, &f, n));
    return r.status;
}

const struct onnx_attribute *onnx_attribute(const struct onnx_node *n, const char *name)
{
    for (int i = 0; i < n->attributes; i++)
        if (!strcmp(n->attribute[i].name, name))
            return &n->attribute[i];
    return NULL;
}

/* ---- inputs and outputs ---------------------------------------------------------------- */

/* Finds the last field with this number; found->number is 0 if there is none. */
static unroll_status find_field(struct pb_reader r, uint32_t number, enum pb_wire wire, struct pb_field *found)
{
    struct pb_field f;
    *found = (struct pb_field){0};
    while (pb_next(&r, &f))
        if (f.number == number) {
            TRY(pb_expect(&r, &f, wire));
            *found = f;
        }
    return r.status;
}

static unroll_status read_dim(struct onnx_file *o, struct pb_reader r, struct onnx_dim *d)
{
    struct pb_field f;
    *d = (struct onnx_dim){-1, ""};
    TRY(find_field(r, 1, PB_VARINT, &f));
    if (f.number && (int64_t)f.value >= 0)
        d->size = (int64_t)f.value;
    TRY(find_field(r, 2, PB_BYTES, &f));
    return f.number ? onnx_take_text(o, &r, &f, &d->name) : UNROLL_OK;
}

static unroll_status read_shape(struct onnx_file *o, struct pb_reader r, struct onnx_value_info *v)
{
    struct pb_field f;
    v->rank = 0;
    while (pb_next(&r, &f)) {
        if (f.number != 1)
            continue;
        if (v->rank == ONNX_RANK)
            return fail(UNROLL_UNSUPPORTED, "%s: '%.80s' has more than %d dimensions; fix: " SIMPLIFY_MODEL, r.where,
                        v->name, ONNX_RANK);
        TRY(read_dim(o, pb_inside(&r, &f), &v->dim[v->rank++]));
    }
    return r.status;
}

static unroll_status read_value_info(struct onnx_file *o, struct pb_reader r, struct onnx_value_info *v)
{
    struct pb_field name, type, tensor, element, shape;
    *v = (struct onnx_value_info){.name = "", .rank = -1};
    TRY(find_field(r, 1, PB_BYTES, &name));
    if (name.number)
        TRY(onnx_take_text(o, &r, &name, &v->name));
    TRY(find_field(r, 2, PB_BYTES, &type));
    if (!type.number)
        return UNROLL_OK;
    TRY(find_field(pb_inside(&r, &type), 1, PB_BYTES, &tensor));
    if (!tensor.number)
        return UNROLL_OK;
    TRY(find_field(pb_inside(&r, &tensor), 1, PB_VARINT, &element));
    v->type = (int)element.value;
    TRY(find_field(pb_inside(&r, &tensor), 2, PB_BYTES, &shape));
    return shape.number ? read_shape(o, pb_inside(&r, &shape), v) : UNROLL_OK;
}

/* ---- graph and model ------------------------------------------------------------------- */

static unroll_status read_graph_field(struct onnx_file *o, const struct pb_reader *r, const struct pb_field *f)
{
    switch (f->number) {
    case 1: return read_node(o, pb_inside(r, f), &o->node[o->nodes++]);
    case 5: return onnx_read_tensor(o, pb_inside(r, f), &o->tensor[o->tensors++]);
    case 11: return read_value_info(o, pb_inside(r, f), &o->input[o->inputs++]);
    case 12: return read_value_info(o, pb_inside(r, f), &o->output[o->outputs++]);
    case 15:
        return fail(UNROLL_UNSUPPORTED,
                    "%s has sparse weights, which are not supported; fix: export the model again with dense weights",
                    r->where);
    default: return UNROLL_OK;
    }
}

static unroll_status read_graph(struct onnx_file *o, struct pb_reader r)
{
    struct pb_field f;
    TRY(room_for(o, r, 1, sizeof *o->node, &o->node));
    TRY(room_for(o, r, 5, sizeof *o->tensor, &o->tensor));
    TRY(room_for(o, r, 11, sizeof *o->input, &o->input));
    TRY(room_for(o, r, 12, sizeof *o->output, &o->output));
    while (pb_next(&r, &f)) TRY(read_graph_field(o, &r, &f));
    return r.status;
}

static unroll_status read_opset(struct onnx_file *o, struct pb_reader r)
{
    struct pb_field domain, version;
    const char *name = "";
    TRY(find_field(r, 1, PB_BYTES, &domain));
    TRY(find_field(r, 2, PB_VARINT, &version));
    if (domain.number)
        TRY(onnx_take_text(o, &r, &domain, &name));
    if (!*name || !strcmp(name, "ai.onnx"))
        o->opset = (int64_t)version.value;
    return UNROLL_OK;
}

static unroll_status read_model_field(struct onnx_file *o, const struct pb_reader *r, const struct pb_field *f,
                                      struct pb_field *graph)
{
    switch (f->number) {
    case 1: o->ir_version = (int64_t)f->value; return pb_expect(r, f, PB_VARINT);
    case 2: return onnx_take_text(o, r, f, &o->producer);
    case 3: return onnx_take_text(o, r, f, &o->producer_version);
    case 7:
        if (graph->number)
            return fail(UNROLL_DATA, "%s has two graphs; fix: " EXPORT_AGAIN, r->where);
        *graph = *f;
        return pb_expect(r, f, PB_BYTES);
    case 8: return read_opset(o, pb_inside(r, f));
    default: return UNROLL_OK;
    }
}

static unroll_status read_model(struct onnx_file *o, struct pb_reader r)
{
    struct pb_field f, graph = {0};
    while (pb_next(&r, &f)) TRY(read_model_field(o, &r, &f, &graph));
    TRY(r.status);
    if (!graph.number || !o->opset)
        return fail(UNROLL_DATA, "%s is not an ONNX model: it has no %s; fix: " EXPORT_AGAIN, r.where,
                    graph.number ? "version of its operators" : "graph");
    return read_graph(o, pb_inside(&r, &graph));
}

static unroll_status parse(struct onnx_file *o, const void *bytes, size_t size, const char *path)
{
    char *kept, *where;
    o->producer = o->producer_version = "";
    TRY(onnx_take(o, strlen(path) + 1, 1, &kept));
    TRY(onnx_take(o, strlen(path) + 3, 1, &where));
    o->path = strcpy(kept, path);
    sprintf(where, "'%s'", path);
    return read_model(o, (struct pb_reader){bytes, (const uint8_t *)bytes + size, where, UNROLL_OK});
}

unroll_status onnx_parse(const void *bytes, size_t size, const char *path, struct onnx_file **file)
{
    struct onnx_file *o = allocate_zeroed(1, sizeof *o);
    if (!o)
        return fail(UNROLL_RESOURCE, "'%s': no memory", path);
    o->path = path;
    unroll_status status = parse(o, bytes, size, path);
    if (status == UNROLL_OK)
        *file = o;
    else
        onnx_close(o);
    return status;
}

unroll_status onnx_open(const char *path, struct onnx_file **file)
{
    void *bytes;
    size_t size;
    TRY(read_whole_file(path, INT32_MAX, &bytes, &size));
    unroll_status status = onnx_parse(bytes, size, path, file);
    release(bytes);
    return status;
}

void onnx_close(struct onnx_file *o)
{
    if (!o)
        return;
    for (struct onnx_block *next; o->blocks; o->blocks = next) {
        next = o->blocks->next;
        release(o->blocks);
    }
    release(o->outside);
    release(o);
}
