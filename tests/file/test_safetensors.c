/* Tests io/safetensors: round trips, equal contents give equal bytes, and each kind of damage is refused with a
 * message. That other programs read our files was checked by hand with the Python package. */
/* test: kinds=check-plain,memory */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "check.h"
#include "io/safetensors.h"

static char folder[] = "/tmp/unroll_test_XXXXXX", path[PATH_MAX], second_path[PATH_MAX];

static bool says(const char *part) { return strstr(unroll_last_error(), part) != NULL; }

/* ---- round trip ---- */

enum { TENSORS = DTYPE_COUNT + 3 };

static const struct metadata metadata[] = {{"spec", "{\"cell\": \"lstm\"}"}, {"empty", ""}, {"\xc3\xa9", "\n\""}};

/* A [3, 5] tensor of each type, a scalar, an empty one, and one with eight dimensions. */
static void make_tensors(struct tensor_view tensors[TENSORS], const unsigned char *numbers)
{
    static const char *const names[TENSORS] = {"t00",   "t01",  "t02", "t03", "t04", "t05", "t06",
                                               "t07",   "t08",  "t09", "t10", "t11", "t12", "scalar \"\xc3\xa9\"",
                                               "empty", "eight"};

    memset(tensors, 0, TENSORS * sizeof *tensors);
    for (int i = 0; i < TENSORS; i++) {
        struct tensor_view *tensor = &tensors[i];
        tensor->name = names[i];
        tensor->dtype = i < DTYPE_COUNT ? (enum dtype)i : DTYPE_F32;
        tensor->rank = 2;
        tensor->shape[0] = 3;
        tensor->shape[1] = 5;
        tensor->data = numbers + i;
    }
    tensors[DTYPE_COUNT].rank = 0;
    memset(tensors[DTYPE_COUNT].shape, 0, sizeof tensors->shape);
    tensors[DTYPE_COUNT + 1].shape[1] = 0;
    tensors[DTYPE_COUNT + 2].rank = 8;
    for (int i = 0; i < 8; i++) tensors[DTYPE_COUNT + 2].shape[i] = 1 + (uint64_t)(i % 2);
    for (int i = 0; i < TENSORS; i++) {
        tensors[i].bytes = dtype_size(tensors[i].dtype);
        for (int j = 0; j < tensors[i].rank; j++) tensors[i].bytes *= tensors[i].shape[j];
    }
}

static void check_same(const struct tensor_view *got, const struct tensor_view *expected)
{
    if (!CHECK(got != NULL, "'%s' is missing", expected->name))
        return;
    CHECK(got->dtype == expected->dtype && got->rank == expected->rank && got->bytes == expected->bytes &&
              memcmp(got->shape, expected->shape, sizeof got->shape) == 0,
          "'%s' is described otherwise", expected->name);
    CHECK(memcmp(got->data, expected->data, expected->bytes) == 0, "'%s' has other numbers", expected->name);
    CHECK((uintptr_t)got->data % dtype_size(got->dtype) == 0, "'%s' is not aligned", expected->name);
}

static void test_round_trip(void)
{
    struct tensor_view tensors[TENSORS];
    struct safetensors *file;
    unsigned char numbers[256];
    for (int i = 0; i < 256; i++) numbers[i] = (unsigned char)(i * 37);
    make_tensors(tensors, numbers);
    if (!CHECK(safetensors_write(path, tensors, TENSORS, metadata, 3) == UNROLL_OK, "%s", unroll_last_error()) ||
        !CHECK(safetensors_open(path, &file) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    CHECK(safetensors_count(file) == TENSORS, "%d tensors", safetensors_count(file));
    for (int i = 0; i < TENSORS; i++) check_same(safetensors_find(file, tensors[i].name), &tensors[i]);
    for (int i = 1; i < TENSORS; i++)
        CHECK(dtype_size(safetensors_at(file, i - 1)->dtype) >= dtype_size(safetensors_at(file, i)->dtype),
              "'%s' is out of order", safetensors_at(file, i)->name);
    for (int i = 0; i < 3; i++) {
        const char *value = safetensors_metadata(file, metadata[i].key);
        CHECK(value && strcmp(value, metadata[i].value) == 0, "metadata '%s'", metadata[i].key);
    }
    CHECK(!safetensors_find(file, "absent") && !safetensors_find(file, "__metadata__"), "no such tensor");
    CHECK(!safetensors_metadata(file, "absent"), "no such metadata");
    safetensors_close(file);
    safetensors_close(NULL);
}

static void test_deterministic(void)
{
    struct tensor_view tensors[TENSORS], backwards[TENSORS];
    struct metadata reversed[3] = {metadata[2], metadata[1], metadata[0]};
    unsigned char numbers[256] = {1, 2, 3};
    void *first, *second;
    size_t first_size, second_size;
    make_tensors(tensors, numbers);
    for (int i = 0; i < TENSORS; i++) backwards[i] = tensors[TENSORS - 1 - i];
    safetensors_write(path, tensors, TENSORS, metadata, 3);
    safetensors_write(second_path, backwards, TENSORS, reversed, 3);
    if (!CHECK(read_whole_file(path, 1 << 20, &first, &first_size) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    if (CHECK(read_whole_file(second_path, 1 << 20, &second, &second_size) == UNROLL_OK, "%s", unroll_last_error())) {
        CHECK(first_size == second_size && memcmp(first, second, first_size) == 0, "the bytes differ");
        CHECK(((unsigned char *)first)[0] % 8 == 0, "the header is not padded");
        release(second);
    }
    release(first);
}

/* ---- refusals of the writer ---- */

static void test_writer_refuses(void)
{
    struct tensor_view tensors[TENSORS];
    unsigned char numbers[256] = {0};
    struct metadata twice[2] = {{"k", "1"}, {"k", "2"}}, not_utf8 = {"k", "\xff"};
    make_tensors(tensors, numbers);
    tensors[0].bytes--;
    CHECK_REFUSED(safetensors_write(path, tensors, 1, NULL, 0), UNROLL_USAGE, "t00");
    make_tensors(tensors, numbers);
    tensors[1].name = "t00";
    CHECK_REFUSED(safetensors_write(path, tensors, 2, NULL, 0), UNROLL_USAGE, "twice");
    tensors[0].name = "__metadata__";
    CHECK_REFUSED(safetensors_write(path, tensors, 1, NULL, 0), UNROLL_USAGE, "__metadata__");
    tensors[0].name = "\xff";
    CHECK_REFUSED(safetensors_write(path, tensors, 1, NULL, 0), UNROLL_USAGE, "UTF-8");
    make_tensors(tensors, numbers);
    tensors[0].rank = 9;
    CHECK_REFUSED(safetensors_write(path, tensors, 1, NULL, 0), UNROLL_USAGE, "9 dimensions");
    make_tensors(tensors, numbers);
    tensors[0].shape[0] = tensors[0].shape[1] = 1ull << 31;
    CHECK(safetensors_write(path, tensors, 1, NULL, 0) == UNROLL_USAGE, "an overflow");
    CHECK_REFUSED(safetensors_write(path, tensors, 0, twice, 2), UNROLL_USAGE, "twice");
    CHECK(safetensors_write(path, tensors, 0, &not_utf8, 1) == UNROLL_USAGE, "metadata that are not UTF-8");
    make_tensors(tensors, numbers);
    CHECK_REFUSED(safetensors_write("/dev/full", tensors, 1, NULL, 0), UNROLL_RESOURCE, "No space");
}

/* ---- refusals of the reader ---- */

#define ENTRY(dtype, shape, offsets) "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define F32_2 ENTRY("\"F32\"", "[2]", "[0,8]")

/* Files with a header and zero bytes as data. */
struct sample {
    const char *header;
    size_t data_bytes;
    const char *message; /* a part of the message; NULL: the file is valid */
};

static const struct sample samples[] = {
    {"{}", 0, NULL},
    {"{}      ", 0, NULL},
    {"{\"a\":" F32_2 "}", 8, NULL},
    {"{\"\":" ENTRY("\"U8\"", "[]", "[0,1]") "}", 1, NULL},
    {"{\"b\":" ENTRY("\"U8\"", "[3]", "[8,11]") ",\"a\":" F32_2 "}", 11, NULL},
    {"{\"a\":" F32_2 ",\"e\":" ENTRY("\"I64\"", "[0,7]", "[8,8]") "}", 8, NULL},
    {"{\"e\":" ENTRY("\"I64\"", "[0]", "[0,0]") ",\"a\":" F32_2 "}", 8, NULL},
    {"{\"__metadata__\":{}}", 0, NULL},
    {"{\"__metadata__\":{\"k\":\"v\"}}", 0, NULL},

    /* not the expected JSON */
    {"", 0, "does not begin with '{'"},
    {" {}", 0, "does not begin with '{'"},
    {"[]", 0, "does not begin with '{'"},
    {"{", 0, "line 1"},
    {"{}}", 0, "end of file expected"},
    {"{} \x01", 0, "end of file expected"},
    {"{\"a\":" F32_2 ",}", 8, "line 1"},
    {"{\"a\":" F32_2 ",\"a\":" F32_2 "}", 8, "duplicate"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "duplicate"},
    {"{\"\xff\":" F32_2 "}", 8, "decode"},
    {"{\"a\\u0000b\":" F32_2 "}", 8, "u0000"},
    {"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0, "nested deeper"},

    /* metadata */
    {"{\"__metadata__\":[]}", 0, "__metadata__"},
    {"{\"__metadata__\":\"x\"}", 0, "__metadata__"},
    {"{\"__metadata__\":{\"k\":1}}", 0, "'k' is not a string"},
    {"{\"__metadata__\":{\"k\":null}}", 0, "'k' is not a string"},
    {"{\"__metadata__\":{\"k\":{\"j\":\"v\"}}}", 0, "'k' is not a string"},
    {"{\"__metadata__\":" F32_2 "}", 8, "is not a string"},

    /* entries */
    {"{\"a\":7}", 0, "must be an object"},
    {"{\"a\":null}", 0, "must be an object"},
    {"{\"a\":{}}", 0, "'dtype' is missing"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "'data_offsets' is missing"},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "'shape' is missing"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"strides\":[1]}}", 8, "'strides' is unknown"},

    /* dtype */
    {"{\"a\":" ENTRY("\"F31\"", "[2]", "[0,8]") "}", 8, "dtype 'F31' is unknown"},
    {"{\"a\":" ENTRY("\"f32\"", "[2]", "[0,8]") "}", 8, "dtype 'f32' is unknown"},
    {"{\"a\":" ENTRY("32", "[2]", "[0,8]") "}", 8, "'dtype' must be a string"},

    /* shape */
    {"{\"a\":" ENTRY("\"F32\"", "2", "[0,8]") "}", 8, "'shape' must be an array"},
    {"{\"a\":" ENTRY("\"F32\"", "[-2]", "[0,8]") "}", 8, "shape[0]"},
    {"{\"a\":" ENTRY("\"F32\"", "[1,2.0]", "[0,8]") "}", 8, "shape[1]"},
    {"{\"a\":" ENTRY("\"F32\"", "[\"2\"]", "[0,8]") "}", 8, "shape[0]"},
    {"{\"a\":" ENTRY("\"F32\"", "[true]", "[0,8]") "}", 8, "shape[0]"},
    {"{\"a\":" ENTRY("\"F32\"", "[3]", "[0,8]") "}", 8, "need 12 bytes"},
    {"{\"a\":" ENTRY("\"F32\"", "[]", "[0,8]") "}", 8, "need 4 bytes"},
    {"{\"a\":" ENTRY("\"U8\"", "[9223372036854775808]", "[0,8]") "}", 8, "too big"},
    {"{\"a\":" ENTRY("\"F32\"", "[4611686018427387904]", "[0,0]") "}", 0, "overflows"},
    {"{\"a\":" ENTRY("\"U8\"", "[4294967296,4294967296]", "[0,0]") "}", 0, "overflows"},
    {"{\"a\":" ENTRY("\"U8\"", "[4294967296,4294967296,0]", "[0,0]") "}", 0, "overflows"},
    {"{\"a\":" ENTRY("\"F32\"", "[4611686018427387906]", "[0,8]") "}", 8, "overflows"},

    /* offsets */
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[0]") "}", 8, "[begin, end]"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[0,8,8]") "}", 8, "[begin, end]"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "{}") "}", 8, "'data_offsets' must be an array"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[-8,0]") "}", 8, "data_offsets[0]"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[0,8.0]") "}", 8, "data_offsets[1]"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[8,0]") "}", 8, "are outside the 8 bytes"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[0,8]") "}", 7, "are outside the 7 bytes"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[4,12]") "}", 8, "are outside the 8 bytes"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[0,9223372036854775807]") "}", 8, "are outside the 8 bytes"},
    {"{\"a\":" ENTRY("\"F32\"", "[2]", "[1,9]") "}", 9, "leaving a gap after 0"},

    /* tiling */
    {"{\"a\":" F32_2 "}", 9, "9 bytes of data, but the header describes 8"},
    {"{}", 1, "1 bytes of data, but the header describes 0"},
    {"{\"a\":" F32_2 ",\"b\":" ENTRY("\"U8\"", "[1]", "[9,10]") "}", 10, "leaving a gap after 8"},
    {"{\"a\":" F32_2 ",\"b\":" ENTRY("\"U8\"", "[4]", "[7,11]") "}", 11, "overlapping"},
    {"{\"a\":" F32_2 ",\"b\":" F32_2 "}", 8, "overlapping"},
    {"{\"a\":" F32_2 ",\"e\":" ENTRY("\"U8\"", "[0]", "[4,4]") "}", 8, "overlapping"},
    {"{\"e\":" ENTRY("\"U8\"", "[0]", "[1,1]") "}", 1, "leaving a gap after 0"}};

/* Copies to exactly the file's size, so that the address sanitizer detects reads beyond it. */
static unsigned char *encode(uint64_t stated, const char *header, size_t data_bytes, size_t *size)
{
    size_t length = strlen(header);
    unsigned char *bytes = calloc(8 + length + data_bytes, 1);
    if (bytes == NULL)
        abort();
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(stated >> 8 * i);
    memcpy(bytes + 8, header, length);
    *size = 8 + length + data_bytes;
    return bytes;
}

static void check_sample(const struct sample *sample)
{
    struct safetensors *file = NULL;
    size_t size;
    unsigned char *bytes = encode(strlen(sample->header), sample->header, sample->data_bytes, &size);
    unroll_status status = safetensors_parse(bytes, size, "sample", &file);
    if (sample->message == NULL)
        CHECK(status == UNROLL_OK, "%s: %s", sample->header, unroll_last_error());
    else
        CHECK(status == UNROLL_DATA && file == NULL && says(sample->message) && says("'sample'"), "%s: status %d '%s'",
              sample->header, status, unroll_last_error());
    safetensors_close(file);
    free(bytes);
}

static void check_length(uint64_t stated, size_t size, const char *message)
{
    struct safetensors *file = NULL;
    size_t whole;
    unsigned char *bytes = encode(stated, "{}      ", 0, &whole), *exact = malloc(size ? size : 1);
    if (exact == NULL)
        abort();
    memcpy(exact, bytes, size);
    CHECK(safetensors_parse(exact, size, "sample", &file) == UNROLL_DATA && !file && says(message),
          "%zu bytes, length %llu: '%s'", size, (unsigned long long)stated, unroll_last_error());
    free(exact);
    free(bytes);
}

static void test_reader_refuses(void)
{
    struct safetensors *file = NULL;
    size_t size;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) check_sample(&samples[i]);
    for (size_t short_size = 0; short_size < 8; short_size++) check_length(8, short_size, "too few");
    check_length(8, 8, "truncated in its header");
    check_length(8, 15, "truncated in its header");
    check_length(9, 16, "truncated in its header");
    check_length(100000001, 16, "larger than 100000000");
    check_length(UINT64_MAX, 16, "larger than 100000000");
    check_length(1ull << 63, 16, "larger than 100000000");

    const char *header = "{\"a\":" ENTRY("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}";
    unsigned char *nine = encode(strlen(header), header, 1, &size);
    CHECK_REFUSED(safetensors_parse(nine, size, "sample", &file), UNROLL_UNSUPPORTED, "9 dimensions");
    free(nine);
    CHECK_REFUSED(safetensors_open("/nowhere/x.safetensors", &file), UNROLL_DATA, "/nowhere/x.safetensors");
}

/* ---- no memory ---- */

/* Makes the first, the second, ... allocation fail until none is left: every failure is reported, and nothing leaks. */
static void test_without_memory(void)
{
    struct tensor_view tensors[TENSORS];
    unsigned char numbers[256] = {0};
    uint64_t live = memory_live();
    unroll_status status;
    int failures = 0;
    make_tensors(tensors, numbers);
    do {
        memory_fail_after(failures);
        status = safetensors_write(path, tensors, TENSORS, metadata, 3);
        memory_fail_after(-1);
        CHECK(status == UNROLL_OK || (status == UNROLL_RESOURCE && says("no memory")), "'%s'", unroll_last_error());
        CHECK(memory_live() == live, "writing without memory leaks");
    } while (status != UNROLL_OK && ++failures < 100);
    CHECK(failures >= 3, "only %d allocations", failures);
    failures = 0;
    do {
        struct safetensors *file = NULL;
        memory_fail_after(failures);
        status = safetensors_open(path, &file);
        memory_fail_after(-1);
        CHECK(status == UNROLL_OK || (status == UNROLL_RESOURCE && says("no memory")), "'%s'", unroll_last_error());
        safetensors_close(file);
        CHECK(memory_live() == live, "reading without memory leaks");
    } while (status != UNROLL_OK && ++failures < 100);
    CHECK(failures >= 3, "only %d allocations", failures);
}

int main(void)
{
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    snprintf(path, sizeof path, "%s/first.safetensors", folder);
    snprintf(second_path, sizeof second_path, "%s/second.safetensors", folder);
    test_round_trip();
    test_deterministic();
    test_writer_refuses();
    test_reader_refuses();
    test_without_memory();
    unlink(path);
    unlink(second_path);
    CHECK(rmdir(folder) == 0, "something else was left in %s", folder);
    CHECK(memory_live() == 0, "%d allocations were not released", (int)memory_live());
    return check_finish("test_safetensors");
}
