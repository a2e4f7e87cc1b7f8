/* Reads and writes safetensors: the header's length (u64, little-endian), the header as JSON, the data. The reader
 * trusts no input: each size is checked for overflow before it is used, and the tensors must tile the data without hole
 * or overlap. Element values are not checked. */
#include "io/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are stored little-endian and used in place"
#endif

#define SAVE_AGAIN "save it again, or take another copy of the file"
#define GIVE_MODEL "give a complete model.safetensors, or import the model of another tool"
#define METADATA_KEY "__metadata__"
#define CHECKSUM_KEY "unroll_checksum"

enum { LENGTH_BYTES = 8, HEADER_ALIGNMENT = 8, CHECKSUM_SIZE = 17 };

struct safetensors {
    void *owned;                 /* bytes read by safetensors_open; NULL if borrowed */
    json_t *header;              /* owns names and metadata */
    struct tensor_view *tensors; /* [count] in the order of their data */
    int count;
};

/* ---- the checksum ---- */

/* The checksum is a sum of hashes, one for each tensor and each metadata pair. It does not depend on order or layout,
 * so that other tools may rewrite the file. */
static uint64_t hash_tensor(const struct tensor_view *tensor)
{
    uint64_t hash = hash_text(hash_text(HASH_BEGIN, tensor->name), dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++) hash = hash_number(hash, tensor->shape[i]);
    return hash_data(hash, tensor->data, tensor->bytes);
}

static uint64_t hash_pair(const char *key, const char *value) { return hash_text(hash_text(HASH_BEGIN, key), value); }

static void format_checksum(uint64_t sum, char text[CHECKSUM_SIZE])
{
    snprintf(text, CHECKSUM_SIZE, "%016" PRIx64, sum);
}

/* ---- reading ---- */

/* State shared by the checks of one file. */
struct tensor_source {
    const char *name; /* for messages */
    const char *data; /* the bytes after the header */
    uint64_t bytes;
};

static unroll_status parse_dtype(const json_t *entry, const char *where, enum dtype *dtype)
{
    const char *name;
    TRY(json_field_string(entry, where, "dtype", &name));
    if (!dtype_parse(name, dtype))
        return fail(UNROLL_DATA, "%s: the dtype '%.40s' is unknown; fix: convert it to F32", where, name);
    return UNROLL_OK;
}

static unroll_status parse_shape(const json_t *entry, const char *where, struct tensor_view *tensor)
{
    json_t *shape;
    int64_t extent;
    TRY(json_field_array(entry, where, "shape", &shape));
    if (json_array_size(shape) > TENSOR_LARGEST_RANK)
        return fail(UNROLL_UNSUPPORTED,
                    "%s: has %zu dimensions, at most %d are supported; fix: save it with fewer dimensions", where,
                    json_array_size(shape), TENSOR_LARGEST_RANK);
    tensor->rank = (int)json_array_size(shape);
    for (size_t i = 0; i < (size_t)tensor->rank; i++) {
        TRY(json_item_integer(shape, where, "shape", i, 0, INT64_MAX, &extent));
        tensor->shape[i] = (uint64_t)extent;
    }
    return UNROLL_OK;
}

/* Checks data_offsets against the data and the shape, and sets the tensor's data and bytes. */
static unroll_status parse_offsets(const json_t *entry, const char *where, const struct tensor_source *source,
                                   struct tensor_view *tensor)
{
    json_t *offsets;
    uint64_t expected;
    int64_t end_points[2];
    TRY(json_field_array(entry, where, "data_offsets", &offsets));
    if (json_array_size(offsets) != 2)
        return fail(UNROLL_DATA, "%s: data_offsets must be [begin, end]; fix: " SAVE_AGAIN, where);
    for (size_t i = 0; i < 2; i++)
        TRY(json_item_integer(offsets, where, "data_offsets", i, 0, INT64_MAX, &end_points[i]));
    uint64_t begin = (uint64_t)end_points[0], end = (uint64_t)end_points[1];
    if (begin > end || end > source->bytes)
        return fail(UNROLL_DATA,
                    "%s: data_offsets [%" PRIu64 ", %" PRIu64 "] are outside the %" PRIu64
                    " bytes of data; fix: " SAVE_AGAIN,
                    where, begin, end, source->bytes);
    if (!tensor_view_bytes(tensor, &expected))
        return fail(UNROLL_DATA, "%s: the product of its shape overflows; fix: " SAVE_AGAIN, where);
    if (expected != end - begin)
        return fail(UNROLL_DATA,
                    "%s: dtype and shape need %" PRIu64 " bytes, data_offsets give %" PRIu64 "; fix: " SAVE_AGAIN,
                    where, expected, end - begin);
    tensor->data = source->data + begin;
    tensor->bytes = expected;
    return UNROLL_OK;
}

static unroll_status parse_tensor(const struct tensor_source *source, const char *name, json_t *entry,
                                  struct tensor_view *tensor)
{
    static const char *const known[] = {"dtype", "shape", "data_offsets", NULL};
    char where[512];

    snprintf(where, sizeof where, "'%.300s', tensor '%.160s'", source->name, name);
    TRY(json_fields_known(entry, where, known));
    TRY(parse_dtype(entry, where, &tensor->dtype));
    TRY(parse_shape(entry, where, tensor));
    TRY(parse_offsets(entry, where, source, tensor));
    tensor->name = name;
    return UNROLL_OK;
}

/* Checks that the metadata is an object of strings. */
static unroll_status check_metadata(const struct tensor_source *source, json_t *metadata)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return fail(UNROLL_DATA, "'%s': " METADATA_KEY " must be an object of strings; fix: " SAVE_AGAIN, source->name);
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return fail(UNROLL_DATA, "'%s': " METADATA_KEY " '%.160s' is not a string; fix: " SAVE_AGAIN, source->name,
                        key);
    }
    return UNROLL_OK;
}

static int compare_position(const void *left, const void *right)
{
    const struct tensor_view *a = left, *b = right;
    if (a->data != b->data)
        return (const char *)a->data < (const char *)b->data ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Checks that each tensor, sorted by position, begins where the previous one ends. */
static unroll_status check_tiling(const struct tensor_source *source, const struct tensor_view *tensors, int count)
{
    uint64_t end = 0;
    for (int i = 0; i < count; i++) {
        uint64_t begin = (uint64_t)((const char *)tensors[i].data - source->data);
        if (begin != end)
            return fail(UNROLL_DATA,
                        "'%s', tensor '%.160s': begins at byte %" PRIu64 " of the data, %s %" PRIu64
                        "; fix: " SAVE_AGAIN,
                        source->name, tensors[i].name, begin,
                        begin > end ? "leaving a gap after" : "overlapping the one that ends at", end);
        end += tensors[i].bytes;
    }
    if (end != source->bytes)
        return fail(UNROLL_DATA,
                    "'%s': %" PRIu64 " bytes of data, but the header describes %" PRIu64 "; fix: " SAVE_AGAIN,
                    source->name, source->bytes, end);
    return UNROLL_OK;
}

static unroll_status parse_header(const struct tensor_source *source, json_t *header, struct safetensors *file)
{
    const char *name;
    json_t *entry;
    TRY(ALLOCATE(file->tensors, json_object_size(header), "for the %zu tensors of '%s'", json_object_size(header),
                 source->name));
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, METADATA_KEY) == 0)
            TRY(check_metadata(source, entry));
        else
            TRY(parse_tensor(source, name, entry, &file->tensors[file->count++]));
    }
    qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, compare_position);
    return check_tiling(source, file->tensors, file->count);
}

static uint64_t sum_of_file(const struct safetensors *file)
{
    const char *key;
    json_t *value;
    uint64_t sum = 0;
    for (int i = 0; i < file->count; i++) sum += hash_tensor(&file->tensors[i]);
    json_object_foreach(json_object_get(file->header, METADATA_KEY), key, value) if (strcmp(key, CHECKSUM_KEY) != 0)
        sum += hash_pair(key, json_string_value(value));
    return sum;
}

/* Verifies the checksum. Files of other tools, and our older ones, have none. */
static unroll_status check_checksum(const struct safetensors *file, const char *name)
{
    const char *stated = safetensors_metadata(file, CHECKSUM_KEY);
    char found[CHECKSUM_SIZE];
    if (stated == NULL)
        return UNROLL_OK;
    format_checksum(sum_of_file(file), found);
    if (strcmp(stated, found) == 0)
        return UNROLL_OK;
    return fail(UNROLL_DATA,
                "'%s' is damaged: its tensors or metadata have changed (checksum %s, not %.40s); fix: take another "
                "copy",
                name, found, stated);
}

/* Finds the header: *length bytes of text at bytes + 8. */
static unroll_status find_header(const unsigned char *bytes, uint64_t size, const char *name, size_t *length)
{
    if (size < LENGTH_BYTES)
        return fail(UNROLL_DATA, "'%s' is not a safetensors file: %" PRIu64 " bytes are too few; fix: " GIVE_MODEL,
                    name, size);
    const uint64_t stated = get_number(bytes, LENGTH_BYTES);
    if (stated > SAFETENSORS_LARGEST_HEADER)
        return fail(UNROLL_DATA,
                    "'%s' is not a safetensors file: its header of %" PRIu64
                    " bytes is larger than %d; fix: " GIVE_MODEL,
                    name, stated, SAFETENSORS_LARGEST_HEADER);
    if (stated > size - LENGTH_BYTES)
        return fail(UNROLL_DATA, "'%s' is truncated in its header; fix: take another copy", name);
    if (stated == 0 || bytes[LENGTH_BYTES] != '{')
        return fail(UNROLL_DATA, "'%s' is not a safetensors file: its header does not begin with '{'; fix: " GIVE_MODEL,
                    name);
    *length = (size_t)stated;
    return UNROLL_OK;
}

unroll_status safetensors_parse(const void *bytes, size_t size, const char *name_for_errors, struct safetensors **file)
{
    const char *text = (const char *)bytes + LENGTH_BYTES;
    json_t *header;
    size_t length;
    TRY(find_header(bytes, size, name_for_errors, &length));
    TRY(parse_json(text, length, name_for_errors, &header));
    struct tensor_source source = {name_for_errors, text + length, size - LENGTH_BYTES - length};
    struct safetensors *parsed = allocate_zeroed(1, sizeof *parsed);
    if (parsed == NULL) {
        json_decref(header);
        return fail(UNROLL_RESOURCE, "no memory for '%s'", name_for_errors);
    }
    parsed->header = header;
    unroll_status status = parse_header(&source, header, parsed);
    if (status == UNROLL_OK)
        status = check_checksum(parsed, name_for_errors);
    if (status != UNROLL_OK) {
        safetensors_close(parsed);
        return status;
    }
    *file = parsed;
    return UNROLL_OK;
}

unroll_status safetensors_open(const char *path, struct safetensors **file)
{
    unsigned char start[LENGTH_BYTES + 1];
    void *bytes;
    uint64_t whole;
    size_t size, length;
    struct safetensors *parsed;
    TRY(read_file_start(path, start, sizeof start, &size, &whole));
    if (size > 0)
        TRY(find_header(start, whole, path, &length));
    TRY(read_whole_file(path, INT64_MAX, &bytes, &size));
    unroll_status status = safetensors_parse(bytes, size, path, &parsed);
    if (status != UNROLL_OK) {
        release(bytes);
        return status;
    }
    parsed->owned = bytes;
    *file = parsed;
    return UNROLL_OK;
}

void safetensors_close(struct safetensors *file)
{
    if (file == NULL)
        return;
    release(file->tensors);
    json_decref(file->header);
    release(file->owned);
    release(file);
}

int safetensors_count(const struct safetensors *file) { return file->count; }

const struct tensor_view *safetensors_at(const struct safetensors *file, int i) { return &file->tensors[i]; }

const struct tensor_view *safetensors_find(const struct safetensors *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

const char *safetensors_metadata(const struct safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, METADATA_KEY), key));
}

unroll_status safetensors_must_have_checksum(const struct safetensors *file, const char *name_for_errors)
{
    if (safetensors_metadata(file, CHECKSUM_KEY) != NULL)
        return UNROLL_OK;
    return fail(UNROLL_DATA,
                "'%s' is damaged: the '" CHECKSUM_KEY "' in its metadata is missing; fix: take another copy",
                name_for_errors);
}

/* ---- writing ---- */

/* Sorts larger elements first, so that all are aligned, then by name, so that equal tensors give equal bytes. */
static int compare_for_writing(const void *left, const void *right)
{
    const struct tensor_view *a = *(const struct tensor_view *const *)left;
    const struct tensor_view *b = *(const struct tensor_view *const *)right;
    size_t size_a = dtype_size(a->dtype), size_b = dtype_size(b->dtype);
    if (size_a != size_b)
        return size_a > size_b ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare_keys(const void *left, const void *right)
{
    const struct metadata *a = *(const struct metadata *const *)left;
    const struct metadata *b = *(const struct metadata *const *)right;
    return strcmp(a->key, b->key);
}

/* Adds a pair to the header and takes ownership of `value`. */
static unroll_status add_to_header(json_t *object, const char *key, json_t *value, const char *path)
{
    if (json_object_get(object, key) != NULL) {
        json_decref(value);
        return fail(UNROLL_USAGE,
                    "cannot write '%s': the name '%.160s' is given twice; fix: give each tensor a name of its own",
                    path, key);
    }
    if (value == NULL || json_object_set_new(object, key, value) != 0)
        return fail(UNROLL_USAGE, "cannot write '%s': '%.160s' is not UTF-8, or there is no memory", path, key);
    return UNROLL_OK;
}

/* Appends the entry of a tensor whose data begins at *offset, and advances *offset past it. */
static unroll_status describe_tensor(json_t *header, const struct tensor_view *tensor, const char *path,
                                     uint64_t *offset)
{
    uint64_t expected, end;
    if (strcmp(tensor->name, METADATA_KEY) == 0)
        return fail(UNROLL_USAGE,
                    "cannot write '%s': a tensor cannot have the name " METADATA_KEY "; fix: use another name", path);
    if (tensor->rank < 0 || tensor->rank > TENSOR_LARGEST_RANK)
        return fail(UNROLL_USAGE,
                    "cannot write '%s': tensor '%.160s' has %d dimensions, not 0 .. %d; fix: use fewer dimensions",
                    path, tensor->name, tensor->rank, TENSOR_LARGEST_RANK);
    if (!tensor_view_bytes(tensor, &expected) || expected != tensor->bytes ||
        __builtin_add_overflow(*offset, expected, &end) || end > INT64_MAX)
        return fail(
            UNROLL_USAGE,
            "cannot write '%s': the bytes of tensor '%.160s' do not match its shape; fix: give the bytes that its "
            "shape needs",
            path, tensor->name);
    json_t *shape = json_array();
    for (int i = 0; i < tensor->rank; i++) json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i]));
    TRY(add_to_header(header, tensor->name,
                      json_pack("{s:s, s:o, s:[I,I]}", "dtype", dtype_name(tensor->dtype), "shape", shape,
                                "data_offsets", (json_int_t)*offset, (json_int_t)end),
                      path));
    *offset = end;
    return UNROLL_OK;
}

/* Tensors and metadata to be written, in the order of the file. */
struct contents {
    const char *path;
    const struct tensor_view **tensors;
    const struct metadata **metadata;
    int count, metadata_count;
};

static unroll_status describe_metadata(const struct contents *contents, json_t *header)
{
    json_t *object = json_object();
    TRY(add_to_header(header, METADATA_KEY, object, contents->path));
    for (int i = 0; i < contents->metadata_count; i++) {
        const struct metadata *pair = contents->metadata[i];
        TRY(add_to_header(object, pair->key, json_string(pair->value), contents->path));
    }
    return UNROLL_OK;
}

/* Adds the checksum. The caller has checked that the data of all tensors fits their shapes. */
static unroll_status add_checksum(const struct contents *contents, json_t *header)
{
    char checksum[CHECKSUM_SIZE];
    uint64_t sum = 0;
    for (int i = 0; i < contents->count; i++) sum += hash_tensor(contents->tensors[i]);
    for (int i = 0; i < contents->metadata_count; i++)
        sum += hash_pair(contents->metadata[i]->key, contents->metadata[i]->value);
    format_checksum(sum, checksum);
    return add_to_header(json_object_get(header, METADATA_KEY), CHECKSUM_KEY, json_string(checksum), contents->path);
}

static unroll_status describe_contents(const struct contents *contents, json_t *header)
{
    uint64_t offset = 0;
    TRY(describe_metadata(contents, header));
    for (int i = 0; i < contents->count; i++)
        TRY(describe_tensor(header, contents->tensors[i], contents->path, &offset));
    return add_checksum(contents, header);
}

/* Encodes the length and the header, padded with spaces so that the data begins at a multiple of 8. */
static unroll_status encode_header(const char *path, const json_t *header, unsigned char **bytes, size_t *size)
{
    size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
    size_t padded = (length + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
    if (length == 0 || padded > SAFETENSORS_LARGEST_HEADER)
        return fail(UNROLL_USAGE,
                    "cannot write '%s': its header of %zu bytes is larger than %d; fix: write fewer tensors", path,
                    padded, SAFETENSORS_LARGEST_HEADER);
    unsigned char *encoded;
    TRY(ALLOCATE(encoded, LENGTH_BYTES + padded, "for the header of '%s'", path));
    put_number(encoded, padded, LENGTH_BYTES);
    json_dumpb(header, (char *)encoded + LENGTH_BYTES, length, JSON_COMPACT);
    memset(encoded + LENGTH_BYTES + length, ' ', padded - length);
    *bytes = encoded;
    *size = LENGTH_BYTES + padded;
    return UNROLL_OK;
}

/* Completes the header and writes the file atomically. */
static unroll_status write_with_header(const struct contents *contents, json_t *header)
{
    unsigned char *encoded;
    size_t size;
    TRY(describe_contents(contents, header));
    TRY(encode_header(contents->path, header, &encoded, &size));
    struct piece *pieces = allocate_zeroed((size_t)contents->count + 1, sizeof *pieces);
    unroll_status status;
    if (pieces == NULL) {
        status = fail(UNROLL_RESOURCE, "no memory to write '%s'", contents->path);
    } else {
        pieces[0] = (struct piece){encoded, size};
        for (int i = 0; i < contents->count; i++)
            pieces[i + 1] = (struct piece){contents->tensors[i]->data, contents->tensors[i]->bytes};
        status = write_file_atomically(contents->path, pieces, contents->count + 1);
    }
    release(pieces);
    release(encoded);
    return status;
}

unroll_status safetensors_write(const char *path, const struct tensor_view *tensors, int count,
                                const struct metadata *metadata, int metadata_count)
{
    struct contents contents = {.path = path,
                                .count = count,
                                .metadata_count = metadata_count,
                                .tensors = allocate_zeroed((size_t)count, sizeof *contents.tensors),
                                .metadata = allocate_zeroed((size_t)metadata_count, sizeof *contents.metadata)};
    json_t *header = json_object();
    unroll_status status;
    if (contents.tensors == NULL || contents.metadata == NULL || header == NULL) {
        status = fail(UNROLL_RESOURCE, "no memory to write '%s'", path);
    } else {
        for (int i = 0; i < count; i++) contents.tensors[i] = &tensors[i];
        for (int i = 0; i < metadata_count; i++) contents.metadata[i] = &metadata[i];
        qsort(contents.tensors, (size_t)count, sizeof *contents.tensors, compare_for_writing);
        qsort(contents.metadata, (size_t)metadata_count, sizeof *contents.metadata, compare_keys);
        status = write_with_header(&contents, header);
    }
    json_decref(header);
    release(contents.metadata);
    release(contents.tensors);
    return status;
}
