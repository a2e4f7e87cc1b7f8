/* Reads and writes .npy and .npz files. The readers trust no input: every offset and length is compared with the bytes
 * that are present before it is used. */
#include "io/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "io/crc32.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/npy_header.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are stored little-endian and used in place"
#endif

#define SAVE_AGAIN "save it again with numpy.save or numpy.savez, or take another copy"

enum { NPY_ALIGNMENT = 64, NPY_PREFIX = 10, NPY_HEADER_CAPACITY = 512 };

static const char npy_magic[6] = NPY_MAGIC;
_Static_assert((int)NPY_RANK == (int)TENSOR_LARGEST_RANK, "a view has the axes of an array");

/* NumPy's type descriptions; NULL: not a NumPy type. */
static const char *const descriptions[DTYPE_COUNT] = {
    [DTYPE_F64] = "<f8", [DTYPE_F32] = "<f4", [DTYPE_F16] = "<f2", [DTYPE_I64] = "<i8",
    [DTYPE_I32] = "<i4", [DTYPE_I16] = "<i2", [DTYPE_I8] = "|i1",  [DTYPE_U64] = "<u8",
    [DTYPE_U32] = "<u4", [DTYPE_U16] = "<u2", [DTYPE_U8] = "|u1",  [DTYPE_BOOL] = "|b1",
};

bool npy_dtype(const char *description, enum dtype *dtype, bool *big_endian)
{
    const char *type = description + (*description && strchr("<>|=", *description));
    int i = 0;
    while (i < DTYPE_COUNT && (!descriptions[i] || strcmp(descriptions[i] + 1, type))) i++;
    *dtype = (enum dtype)i;
    *big_endian = *description == '>';
    return i < DTYPE_COUNT;
}

/* Converts a header to a view without data. */
static unroll_status describe_view(const struct npy_header *h, const char *name, struct tensor_view *tensor)
{
    enum dtype dtype;
    bool big_endian;
    if (!npy_dtype(h->type, &dtype, &big_endian) || big_endian)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': its data type is '%s'; fix: convert it with .astype('<%c4') and save it again", name,
                    h->type, strpbrk(h->type, "iu") ? 'i' : 'f');
    if (h->fortran && h->rank > 1)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s' is stored in Fortran order; fix: convert it with numpy.ascontiguousarray and save it again",
                    name);
    *tensor = (struct tensor_view){.name = name, .dtype = dtype, .rank = h->rank};
    memcpy(tensor->shape, h->shape, sizeof h->shape);
    return UNROLL_OK;
}

struct unread {
    const unsigned char *at;
    size_t left;
};

static bool read_unread(void *source, void *to, size_t count)
{
    struct unread *unread = source;
    if (count > unread->left)
        return false;
    memcpy(to, unread->at, count);
    *unread = (struct unread){unread->at + count, unread->left - count};
    return true;
}

unroll_status npy_parse(const void *bytes, size_t size, const char *name, struct tensor_view *tensor)
{
    struct tensor_view found;
    struct npy_header header;
    struct unread unread = {bytes, size};
    const char *message;
    if (!npy_read_header(read_unread, &unread, &header, &message))
        return fail(UNROLL_DATA, "'%s' %s", name, *message ? message : "is truncated; fix: " SAVE_AGAIN);
    TRY(describe_view(&header, name, &found));
    if (!tensor_view_bytes(&found, &found.bytes))
        return fail(UNROLL_DATA, "'%s': the product of its shape overflows; fix: " SAVE_AGAIN, name);
    if (found.bytes != unread.left)
        return fail(UNROLL_DATA, "'%s': its type and shape need %" PRIu64 " bytes, %zu follow; fix: " SAVE_AGAIN, name,
                    found.bytes, unread.left);
    found.data = unread.at;
    *tensor = found;
    return UNROLL_OK;
}

/* ---- writing an array ---- */

/* Encodes everything before the data. Returns the number of bytes, or 0 if NumPy has no such type. */
static size_t encode_npy_header(const struct tensor_view *tensor, unsigned char to[NPY_HEADER_CAPACITY])
{
    char *text = (char *)to + NPY_PREFIX;
    size_t capacity = NPY_HEADER_CAPACITY - NPY_PREFIX;
    if (!descriptions[tensor->dtype])
        return 0;
    size_t n = (size_t)snprintf(text, capacity, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                                descriptions[tensor->dtype]);
    for (int i = 0; i < tensor->rank; i++)
        n += (size_t)snprintf(text + n, capacity - n, "%" PRIu64 "%s", tensor->shape[i],
                              tensor->rank == 1      ? ","
                              : i + 1 < tensor->rank ? ", "
                                                     : "");
    n += (size_t)snprintf(text + n, capacity - n, "), }");
    size_t whole = (NPY_PREFIX + n + 1 + NPY_ALIGNMENT - 1) / NPY_ALIGNMENT * NPY_ALIGNMENT;
    memset(text + n, ' ', whole - NPY_PREFIX - n);
    to[whole - 1] = '\n';
    memcpy(to, npy_magic, sizeof npy_magic);
    put_number(to + 6, 1, 2);
    put_number(to + 8, whole - NPY_PREFIX, 2);
    return whole;
}

static unroll_status describe_array(const struct tensor_view *tensor, const char *path,
                                    unsigned char header[NPY_HEADER_CAPACITY], size_t *length)
{
    uint64_t bytes;
    if (tensor->rank < 0 || tensor->rank > TENSOR_LARGEST_RANK || !tensor_view_bytes(tensor, &bytes) ||
        bytes != tensor->bytes)
        return fail(
            UNROLL_USAGE,
            "cannot write '%s': the bytes of '%.160s' do not match its type and shape; fix: give the bytes that they "
            "need",
            path, tensor->name);
    *length = encode_npy_header(tensor, header);
    if (*length == 0)
        return fail(UNROLL_UNSUPPORTED, "cannot write '%s': NumPy has no type %s; fix: convert '%.160s' to F32", path,
                    dtype_name(tensor->dtype), tensor->name);
    return UNROLL_OK;
}

unroll_status npy_write(const char *path, const struct tensor_view *tensor)
{
    unsigned char header[NPY_HEADER_CAPACITY];
    size_t length;
    TRY(describe_array(tensor, path, header, &length));
    const struct piece pieces[] = {{header, length}, {tensor->data, tensor->bytes}};
    return write_file_atomically(path, pieces, 2);
}

/* ---- archives: the records of zip (PKWARE's APPNOTE, sections 4.3.7, 4.3.12, 4.3.16) ---- */

enum {
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    LONGEST_COMMENT = 65535,
    LOCAL_SIGNATURE = 0x04034b50,
    CENTRAL_SIGNATURE = 0x02014b50,
    END_SIGNATURE = 0x06054b50,
    ZIP_VERSION = 20,
    FLAG_ENCRYPTED = 1,
    DATE_1980 = 1 << 5 | 1
};
#define SUFFIX ".npy"

struct npz {
    void *owned; /* bytes read by npz_open; NULL if borrowed */
    char *names; /* all names, each terminated by a zero */
    struct tensor_view *tensors;
    int count;
};

struct archive {
    const unsigned char *bytes;
    size_t size;
    const char *name; /* for messages */
    struct crc32 crc;
};

/* Finds the end record, which is the last record of the file and may be followed by a comment only. */
static unroll_status find_directory(const struct archive *a, size_t *at, size_t *entries)
{
    size_t lowest = a->size > END_BYTES + LONGEST_COMMENT ? a->size - END_BYTES - LONGEST_COMMENT : 0;
    for (size_t i = a->size >= END_BYTES ? a->size - END_BYTES + 1 : 0; i-- > lowest;) {
        const unsigned char *end = a->bytes + i;
        if (get_number(end, 4) != END_SIGNATURE || get_number(end + 20, 2) != a->size - i - END_BYTES)
            continue;
        *entries = get_number(end + 10, 2);
        *at = get_number(end + 16, 4);
        if (*at == UINT32_MAX || *entries == UINT16_MAX)
            return fail(UNROLL_UNSUPPORTED,
                        "'%s' is a ZIP64 archive (more than 4 GiB or 65,534 arrays), which is not supported; fix: "
                        "save fewer arrays per file",
                        a->name);
        if (*at > i || *entries > (i - *at) / CENTRAL_BYTES)
            return fail(UNROLL_DATA, "'%s': its directory is outside the file; fix: " SAVE_AGAIN, a->name);
        return UNROLL_OK;
    }
    return fail(UNROLL_DATA,
                "'%s' is not a NumPy file, or it is truncated; fix: write it with numpy.save or numpy.savez", a->name);
}

struct zip_member {
    const unsigned char *name;
    size_t name_bytes, bytes, local;
    uint32_t method, flags, crc;
};

/* Reads the directory record at *at and advances *at to the next one. */
static unroll_status read_member(const struct archive *a, size_t *at, struct zip_member *m)
{
    const unsigned char *record = a->bytes + *at;
    size_t left = a->size - *at;
    if (left < CENTRAL_BYTES || get_number(record, 4) != CENTRAL_SIGNATURE)
        return fail(UNROLL_DATA, "'%s': a record of its directory is damaged; fix: " SAVE_AGAIN, a->name);
    *m = (struct zip_member){.name = record + CENTRAL_BYTES,
                             .name_bytes = get_number(record + 28, 2),
                             .bytes = get_number(record + 24, 4),
                             .local = get_number(record + 42, 4),
                             .method = get_number(record + 10, 2),
                             .flags = get_number(record + 8, 2),
                             .crc = get_number(record + 16, 4)};
    size_t whole = CENTRAL_BYTES + m->name_bytes + get_number(record + 30, 2) + get_number(record + 32, 2);
    if (whole > left)
        return fail(UNROLL_DATA, "'%s': a record of its directory is truncated; fix: " SAVE_AGAIN, a->name);
    *at += whole;
    return UNROLL_OK;
}

static unroll_status check_member(const struct archive *a, const struct zip_member *m, const char *name)
{
    if (m->flags & FLAG_ENCRYPTED)
        return fail(UNROLL_UNSUPPORTED, "'%s': '%s' is encrypted; fix: save it again without a password", a->name,
                    name);
    if (m->method != 0)
        return fail(UNROLL_UNSUPPORTED,
                    "'%s': '%s' is compressed; fix: save with numpy.savez instead of savez_compressed", a->name, name);
    if (m->local > a->size || a->size - m->local < LOCAL_BYTES || get_number(a->bytes + m->local, 4) != LOCAL_SIGNATURE)
        return fail(UNROLL_DATA, "'%s': '%s' is not at the offset that the directory gives; fix: " SAVE_AGAIN, a->name,
                    name);
    return UNROLL_OK;
}

/* Fills in the view of a member. `name` has no suffix and must outlive the file. */
static unroll_status open_member(const struct archive *a, const struct zip_member *m, const char *name,
                                 struct tensor_view *tensor)
{
    TRY(check_member(a, m, name));
    const unsigned char *local = a->bytes + m->local;
    size_t begin = m->local + LOCAL_BYTES + get_number(local + 26, 2) + get_number(local + 28, 2);
    if (begin > a->size || m->bytes > a->size - begin)
        return fail(UNROLL_DATA, "'%s': '%s' extends past the end of the file; fix: " SAVE_AGAIN, a->name, name);
    if (crc32_add(&a->crc, 0, a->bytes + begin, m->bytes) != m->crc)
        return fail(UNROLL_DATA, "'%s': '%s' is damaged: the checksum does not match; fix: " SAVE_AGAIN, a->name, name);
    unroll_status status = npy_parse(a->bytes + begin, m->bytes, name, tensor);
    return status == UNROLL_OK ? UNROLL_OK : fail(status, "'%s': %s", a->name, unroll_last_error());
}

/* Copies the name without its suffix to *names and advances *names. */
static unroll_status take_name(const struct archive *a, const struct zip_member *m, char **names)
{
    size_t suffix = strlen(SUFFIX), length = m->name_bytes;
    if (length < suffix || memcmp(m->name + length - suffix, SUFFIX, suffix) != 0 || memchr(m->name, '\0', length))
        return fail(UNROLL_DATA,
                    "'%s': '%.*s' is not an array name of the form NAME" SUFFIX "; fix: rename it to NAME.npy", a->name,
                    (int)length, (const char *)m->name);
    memcpy(*names, m->name, length - suffix);
    (*names)[length - suffix] = '\0';
    *names += length - suffix + 1;
    return UNROLL_OK;
}

/* Reads all members. Their sizes may not add up to more than the file: members cannot share bytes. */
static unroll_status read_members(const struct archive *a, size_t at, size_t entries, struct npz *file)
{
    char *next = file->names;
    size_t sum = 0;
    for (size_t i = 0; i < entries; i++) {
        const char *name = next;
        struct zip_member m;
        TRY(read_member(a, &at, &m));
        TRY(take_name(a, &m, &next));
        if (npz_find(file, name))
            return fail(UNROLL_DATA, "'%s' contains '%s' twice; fix: save it again with numpy.savez", a->name, name);
        sum += m.bytes;
        if (sum > a->size)
            return fail(UNROLL_DATA, "'%s': its arrays overlap; fix: " SAVE_AGAIN, a->name);
        TRY(open_member(a, &m, name, &file->tensors[file->count]));
        file->count++;
    }
    return UNROLL_OK;
}

unroll_status npz_parse(const void *bytes, size_t size, const char *name_for_errors, struct npz **file)
{
    struct archive a = {.bytes = bytes, .size = size, .name = name_for_errors};
    size_t at, entries;
    crc32_begin(&a.crc);
    TRY(find_directory(&a, &at, &entries));
    struct npz *parsed = allocate_zeroed(1, sizeof *parsed);
    unroll_status status = UNROLL_OK;
    if (parsed) {
        parsed->tensors = allocate_zeroed(entries, sizeof *parsed->tensors);
        parsed->names = allocate_zeroed(size - at, 1); /* the directory is larger than all names together */
    }
    if (!parsed || !parsed->tensors || !parsed->names)
        status = fail(UNROLL_RESOURCE, "no memory for the %zu arrays of '%s'", entries, name_for_errors);
    else
        status = read_members(&a, at, entries, parsed);
    if (status != UNROLL_OK) {
        npz_close(parsed);
        return status;
    }
    *file = parsed;
    return UNROLL_OK;
}

/* Presents a .npy as an archive with one array. */
static unroll_status parse_single(const void *bytes, size_t size, const char *path, struct npz **file)
{
    struct tensor_view tensor;
    TRY(npy_parse(bytes, size, path, &tensor));
    struct npz *single = allocate_zeroed(1, sizeof *single);
    if (single)
        single->tensors = allocate_zeroed(1, sizeof *single->tensors);
    if (!single || !single->tensors) {
        npz_close(single);
        return fail(UNROLL_RESOURCE, "no memory for '%s'", path);
    }
    tensor.name = "";
    single->tensors[0] = tensor;
    single->count = 1;
    *file = single;
    return UNROLL_OK;
}

unroll_status npz_open(const char *path, struct npz **file)
{
    void *bytes;
    size_t size;
    struct npz *parsed;
    TRY(read_whole_file(path, INT64_MAX, &bytes, &size));
    bool is_single = size >= sizeof npy_magic && memcmp(bytes, npy_magic, sizeof npy_magic) == 0;
    unroll_status status = is_single ? parse_single(bytes, size, path, &parsed) : npz_parse(bytes, size, path, &parsed);
    if (status != UNROLL_OK) {
        release(bytes);
        return status;
    }
    parsed->owned = bytes;
    *file = parsed;
    return UNROLL_OK;
}

void npz_close(struct npz *file)
{
    if (!file)
        return;
    release(file->tensors);
    release(file->names);
    release(file->owned);
    release(file);
}

int npz_count(const struct npz *file) { return file->count; }

const struct tensor_view *npz_at(const struct npz *file, int i) { return &file->tensors[i]; }

const struct tensor_view *npz_find(const struct npz *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

/* ---- writing an archive ---- */

/* The bytes that precede a member's data, and its directory record. */
struct zip_written {
    unsigned char before[LOCAL_BYTES + 256 + NPY_HEADER_CAPACITY], record[CENTRAL_BYTES + 256];
    size_t before_bytes, record_bytes;
};

/* Writes the fields that local header and directory record share, beginning with the version. */
static void put_common(unsigned char *at, uint32_t crc, uint64_t bytes, size_t name_bytes)
{
    put_number(at, ZIP_VERSION, 2);
    put_number(at + 8, DATE_1980, 2); /* no time stamp, so that equal arrays give equal bytes */
    put_number(at + 10, crc, 4);
    put_number(at + 14, bytes, 4);
    put_number(at + 18, bytes, 4);
    put_number(at + 22, name_bytes, 2);
}

/* Encodes the header and the directory record of one array and advances *offset past its data. */
static unroll_status encode_member(const struct tensor_view *tensor, const char *path, uint64_t *offset,
                                   struct zip_written *w)
{
    unsigned char header[NPY_HEADER_CAPACITY];
    size_t header_bytes, name_bytes = strlen(tensor->name) + strlen(SUFFIX);
    TRY(describe_array(tensor, path, header, &header_bytes));
    uint64_t bytes = header_bytes + tensor->bytes;
    if (name_bytes > 255 || *offset + bytes + sizeof w->before > UINT32_MAX - 1)
        return fail(UNROLL_UNSUPPORTED,
                    "cannot write '%s': an archive is limited to 4 GiB and to names of 251 bytes; fix: write fewer or "
                    "smaller arrays",
                    path);
    struct crc32 table;
    crc32_begin(&table);
    uint32_t crc = crc32_add(&table, crc32_add(&table, 0, header, header_bytes), tensor->data, tensor->bytes);
    put_number(w->before, LOCAL_SIGNATURE, 4);
    put_common(w->before + 4, crc, bytes, name_bytes);
    snprintf((char *)w->before + LOCAL_BYTES, 256, "%s" SUFFIX, tensor->name);
    memcpy(w->before + LOCAL_BYTES + name_bytes, header, header_bytes);
    w->before_bytes = LOCAL_BYTES + name_bytes + header_bytes;
    put_number(w->record, CENTRAL_SIGNATURE, 4);
    put_number(w->record + 4, ZIP_VERSION, 2);
    put_common(w->record + 6, crc, bytes, name_bytes);
    put_number(w->record + 42, *offset, 4);
    snprintf((char *)w->record + CENTRAL_BYTES, 256, "%s" SUFFIX, tensor->name);
    w->record_bytes = CENTRAL_BYTES + name_bytes;
    *offset += w->before_bytes + tensor->bytes;
    return UNROLL_OK;
}

/* Writes the members, the directory and the end record in one atomic write. */
static unroll_status write_members(const char *path, const struct tensor_view *tensors, int count,
                                   struct zip_written *written, struct piece *pieces)
{
    unsigned char end[END_BYTES] = {0};
    uint64_t offset = 0, directory = 0;
    for (int i = 0; i < count; i++) {
        TRY(encode_member(&tensors[i], path, &offset, &written[i]));
        pieces[2 * i] = (struct piece){written[i].before, written[i].before_bytes};
        pieces[2 * i + 1] = (struct piece){tensors[i].data, tensors[i].bytes};
        pieces[2 * count + i] = (struct piece){written[i].record, written[i].record_bytes};
        directory += written[i].record_bytes;
    }
    put_number(end, END_SIGNATURE, 4);
    put_number(end + 8, (uint64_t)count, 2);
    put_number(end + 10, (uint64_t)count, 2);
    put_number(end + 12, directory, 4);
    put_number(end + 16, offset, 4);
    pieces[3 * count] = (struct piece){end, sizeof end};
    return write_file_atomically(path, pieces, 3 * count + 1);
}

unroll_status npz_write(const char *path, const struct tensor_view *tensors, int count)
{
    struct zip_written *written = allocate_zeroed((size_t)count, sizeof *written);
    struct piece *pieces = allocate_zeroed(3 * (size_t)count + 1, sizeof *pieces);
    unroll_status status;
    if (count >= UINT16_MAX)
        status = fail(UNROLL_UNSUPPORTED,
                      "cannot write '%s': an archive is limited to 65,534 arrays; fix: write several files", path);
    else if (!written || !pieces)
        status = fail(UNROLL_RESOURCE, "no memory to write '%s'", path);
    else
        status = write_members(path, tensors, count, written, pieces);
    release(pieces);
    release(written);
    return status;
}
