/* Parses ONNX's TensorProto: values as raw bytes, in typed fields, or in an external file. They become float or int64.
 * Strings, complex numbers and the 4- and 8-bit floats are refused by name. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "convert/onnx/onnx_messages.h"

static const struct number_type {
    int type;
    const char *name;
    size_t bytes;
    bool is_float;
} types[] = {
    {ONNX_FLOAT, "float", 4, true},       {ONNX_DOUBLE, "double", 8, true},  {ONNX_FLOAT16, "float16", 2, true},
    {ONNX_BFLOAT16, "bfloat16", 2, true}, {ONNX_INT64, "int64", 8, false},   {ONNX_INT32, "int32", 4, false},
    {ONNX_INT16, "int16", 2, false},      {ONNX_INT8, "int8", 1, false},     {ONNX_UINT64, "uint64", 8, false},
    {ONNX_UINT32, "uint32", 4, false},    {ONNX_UINT16, "uint16", 2, false}, {ONNX_UINT8, "uint8", 1, false},
    {ONNX_BOOL, "bool", 1, false}};

/* State of parsing a tensor: where its values are stored. */
struct tensor_reading {
    struct onnx_tensor *tensor;
    const struct number_type *type;
    const uint8_t *raw; /* raw_data, or bytes of an external file */
    size_t raw_bytes;
    bool has_raw, is_external;
    uint32_t typed; /* number of the typed field that is present, or 0 */
    const char *location;
    uint64_t offset, length;
};

/* ---- single values --------------------------------------------------------------------- */

static float float_from(int type, uint64_t bits)
{
    double wide;
    switch (type) {
    case ONNX_FLOAT16: return f16_to_f32((uint16_t)bits);
    case ONNX_BFLOAT16: return bf16_to_f32((uint16_t)bits);
    case ONNX_DOUBLE: memcpy(&wide, &bits, sizeof wide); return (float)wide;
    default: return f32_from_bits((uint32_t)bits);
    }
}

static int64_t integer_from(int type, uint64_t bits)
{
    switch (type) {
    case ONNX_INT32: return (int32_t)bits;
    case ONNX_INT16: return (int16_t)bits;
    case ONNX_INT8: return (int8_t)bits;
    default: return (int64_t)bits;
    }
}

static void set_number(const struct tensor_reading *g, size_t index, uint64_t bits)
{
    if (g->type->is_float)
        g->tensor->f[index] = float_from(g->type->type, bits);
    else
        g->tensor->i[index] = integer_from(g->type->type, bits);
}

/* ---- values in typed fields ------------------------------------------------------------ */

static unroll_status add_number(const struct tensor_reading *g, const struct pb_reader *r, uint64_t bits,
                                size_t *filled)
{
    if (*filled == g->tensor->count)
        return fail(UNROLL_DATA, "%s: tensor '%.80s' has more values than its shape; fix: " EXPORT_AGAIN, r->where,
                    g->tensor->name);
    set_number(g, (*filled)++, bits);
    return UNROLL_OK;
}

/* Returns the typed field that a type uses. float16 and bfloat16 are stored as bits in int32_data. */
static uint32_t typed_field(int type)
{
    switch (type) {
    case ONNX_FLOAT: return 4;
    case ONNX_INT64: return 7;
    case ONNX_DOUBLE: return 10;
    case ONNX_UINT32:
    case ONNX_UINT64: return 11;
    default: return 5;
    }
}

/* Reads the values of a packed field. */
static unroll_status read_packed(const struct tensor_reading *g, const struct pb_reader *r, const struct pb_field *f,
                                 size_t *filled)
{
    struct pb_reader inside = pb_inside(r, f);
    size_t fixed = f->number == 4 ? 4 : f->number == 10 ? 8 : 0;
    if (fixed && f->size % fixed)
        return fail(UNROLL_DATA, "%s: tensor '%.80s' ends inside a number; fix: " EXPORT_AGAIN, r->where,
                    g->tensor->name);
    while (inside.at < inside.end) {
        uint64_t bits;
        if (fixed) {
            bits = get_number(inside.at, fixed);
            inside.at += fixed;
        } else {
            TRY(pb_varint(&inside, &bits));
        }
        TRY(add_number(g, r, bits, filled));
    }
    return UNROLL_OK;
}

static unroll_status fill_from_typed(const struct tensor_reading *g, struct pb_reader r)
{
    struct pb_field f;
    size_t filled = 0;
    while (pb_next(&r, &f))
        if (f.number == g->typed)
            TRY(f.wire == PB_BYTES ? read_packed(g, &r, &f, &filled) : add_number(g, &r, f.value, &filled));
    TRY(r.status);
    if (filled != g->tensor->count)
        return fail(UNROLL_DATA, "%s: tensor '%.80s' has %zu values, but its shape needs %zu; fix: " EXPORT_AGAIN,
                    r.where, g->tensor->name, filled, g->tensor->count);
    return UNROLL_OK;
}

/* ---- values as bytes ------------------------------------------------------------------- */

static unroll_status fill_from_raw(const struct tensor_reading *g, const struct pb_reader *r)
{
    if (g->raw_bytes != g->tensor->count * g->type->bytes)
        return fail(UNROLL_DATA,
                    "%s: tensor '%.80s' has %zu bytes, but its shape and type need %zu; fix: " EXPORT_AGAIN, r->where,
                    g->tensor->name, g->raw_bytes, g->tensor->count * g->type->bytes);
    for (size_t i = 0; i < g->tensor->count; i++)
        set_number(g, i, get_number(g->raw + i * g->type->bytes, g->type->bytes));
    return UNROLL_OK;
}

/* Reads a key and a value of external_data. */
static unroll_status read_entry(struct onnx_file *o, struct pb_reader r, struct tensor_reading *g)
{
    struct pb_field f;
    const char *text[2] = {"", ""};
    while (pb_next(&r, &f))
        if (f.number == 1 || f.number == 2)
            TRY(onnx_take_text(o, &r, &f, &text[f.number - 1]));
    TRY(r.status);
    uint64_t *to = !strcmp(text[0], "offset") ? &g->offset : !strcmp(text[0], "length") ? &g->length : NULL;
    int64_t number = 0;
    if (!strcmp(text[0], "location"))
        g->location = text[1];
    if (to && number_whole_integer(text[1], 0, INT64_MAX, &number) != NUMBER_OK)
        return fail(UNROLL_DATA, "%s: '%.40s' of external data is '%.40s'; fix: " EXPORT_AGAIN, r.where, text[0],
                    text[1]);
    if (to)
        *to = (uint64_t)number;
    return UNROLL_OK;
}

/* Reads an external file, which must be in the model's folder: other paths are refused. It is kept, because most
 * tensors share one file. */
static unroll_status read_outside(struct onnx_file *o, const struct pb_reader *r, struct tensor_reading *g)
{
    char path[PATH_MAX];
    const char *name = g->location ? g->location : "", *slash = strrchr(o->path, '/');
    size_t folder = slash ? (size_t)(slash - o->path) + 1 : 0;
    if (!*name || *name == '/' || strstr(name, "..") || strchr(name, '\\'))
        return fail(
            UNROLL_DATA,
            "%s: tensor '%.80s' is stored in '%.80s', which must be a file next to the model; fix: put that file "
            "next to the model",
            r->where, g->tensor->name, name);
    if (snprintf(path, sizeof path, "%.*s%s", (int)folder, o->path, name) >= PATH_MAX)
        return fail(
            UNROLL_DATA,
            "%s: the name of the file with tensor '%.80s' is too long; fix: export the model again with a shorter name",
            r->where, g->tensor->name);
    if (o->outside_name && !strcmp(o->outside_name, name))
        return UNROLL_OK;
    release(o->outside);
    o->outside = NULL;
    o->outside_name = NULL;
    TRY(read_whole_file(path, (uint64_t)16 << 30, &o->outside, &o->outside_bytes));
    o->outside_name = name;
    return UNROLL_OK;
}

static unroll_status open_outside(struct onnx_file *o, const struct pb_reader *r, struct tensor_reading *g)
{
    TRY(read_outside(o, r, g));
    uint64_t needed = g->tensor->count * g->type->bytes;
    if (g->offset > o->outside_bytes || needed > o->outside_bytes - g->offset || (g->length && g->length != needed))
        return fail(
            UNROLL_DATA,
            "%s: tensor '%.80s' needs %llu bytes at offset %llu of '%s', which has %zu bytes; fix: " EXPORT_AGAIN,
            r->where, g->tensor->name, (unsigned long long)needed, (unsigned long long)g->offset, o->outside_name,
            o->outside_bytes);
    g->raw = (const uint8_t *)o->outside + g->offset;
    g->raw_bytes = needed;
    return UNROLL_OK;
}

/* ---- the message ----------------------------------------------------------------------- */

static unroll_status add_dims(const struct pb_reader *r, const struct pb_field *f, struct onnx_tensor *t)
{
    struct pb_reader inside = pb_inside(r, f);
    uint64_t size = f->value;
    do {
        if (f->wire == PB_BYTES && inside.at == inside.end)
            return UNROLL_OK;
        if (f->wire == PB_BYTES)
            TRY(pb_varint(&inside, &size));
        if (t->rank == ONNX_RANK || size > INT32_MAX)
            return fail(UNROLL_UNSUPPORTED,
                        "%s: a tensor has more than %d dimensions, or one of size %lld; fix: " EXPORT_AGAIN, r->where,
                        ONNX_RANK, (long long)size);
        t->dim[t->rank++] = (int64_t)size;
    } while (f->wire == PB_BYTES);
    return UNROLL_OK;
}

/* Reads one field of a tensor. */
static unroll_status read_field(struct onnx_file *o, const struct pb_reader *r, const struct pb_field *f,
                                struct tensor_reading *g)
{
    switch (f->number) {
    case 1: return add_dims(r, f, g->tensor);
    case 2: g->tensor->type = (int)f->value; return pb_expect(r, f, PB_VARINT);
    case 4:
    case 5:
    case 7:
    case 10:
    case 11: g->typed = f->number; return UNROLL_OK;
    case 8: return onnx_take_text(o, r, f, &g->tensor->name);
    case 9:
        g->has_raw = true;
        g->raw = f->data;
        g->raw_bytes = f->size;
        return pb_expect(r, f, PB_BYTES);
    case 13: return read_entry(o, pb_inside(r, f), g);
    case 14: g->is_external = f->value == 1; return pb_expect(r, f, PB_VARINT);
    default: return UNROLL_OK;
    }
}

static unroll_status find_type(const struct pb_reader *r, struct tensor_reading *g)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == g->tensor->type)
            g->type = &types[i];
    if (!g->type)
        return fail(
            UNROLL_UNSUPPORTED,
            "%s: tensor '%.80s' has the type %d%s; only floats, integers and bool are supported; fix: export the "
            "model again in float32",
            r->where, g->tensor->name, g->tensor->type, g->tensor->type == ONNX_STRING ? " (strings)" : "");
    return UNROLL_OK;
}

/* Checks that there are enough bytes for all values before memory is allocated. */
static unroll_status count_numbers(const struct pb_reader *r, struct tensor_reading *g, size_t bytes)
{
    struct onnx_tensor *t = g->tensor;
    if (!onnx_count(t->rank, t->dim, &t->count))
        return fail(UNROLL_DATA, "%s: the shape of tensor '%.80s' overflows; fix: " EXPORT_AGAIN, r->where, t->name);
    if (!g->is_external && t->count > bytes)
        return fail(UNROLL_DATA, "%s: tensor '%.80s' has a shape of %zu values, but fewer bytes; fix: " EXPORT_AGAIN,
                    r->where, t->name, t->count);
    return UNROLL_OK;
}

/* Allocates and fills in the values. */
static unroll_status fill_tensor(struct onnx_file *o, struct pb_reader r, struct tensor_reading *g)
{
    struct onnx_tensor *t = g->tensor;
    if (g->is_external)
        TRY(open_outside(o, &r, g));
    if (g->type->is_float)
        TRY(onnx_take(o, t->count, sizeof *t->f, &t->f));
    else
        TRY(onnx_take(o, t->count, sizeof *t->i, &t->i));
    if (g->is_external || g->has_raw)
        return fill_from_raw(g, &r);
    if (g->typed && g->typed != typed_field(t->type))
        return fail(UNROLL_DATA, "%s: tensor '%.80s' of type %s has its values in field %u; fix: " EXPORT_AGAIN,
                    r.where, t->name, g->type->name, g->typed);
    g->typed = typed_field(t->type);
    return fill_from_typed(g, r);
}

unroll_status onnx_read_tensor(struct onnx_file *o, struct pb_reader r, struct onnx_tensor *t)
{
    struct tensor_reading g = {.tensor = t};
    struct pb_reader all = r;
    struct pb_field f;
    t->name = "";
    while (pb_next(&r, &f)) TRY(read_field(o, &r, &f, &g));
    TRY(r.status);
    TRY(find_type(&all, &g));
    TRY(count_numbers(&all, &g, (size_t)(all.end - all.at)));
    return fill_tensor(o, all, &g);
}

unroll_status onnx_parse_tensor(struct onnx_file *o, const void *bytes, size_t size, struct onnx_tensor *t)
{
    memset(t, 0, sizeof *t);
    return onnx_read_tensor(o, (struct pb_reader){bytes, (const uint8_t *)bytes + size, o->path, UNROLL_OK}, t);
}
