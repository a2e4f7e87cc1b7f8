/* Tests io/npy and io/tensor_view: files written by NumPy (tests/fuzz/seeds/npy), round trips, and each kind of damage
 * is refused with a message. Run from the top of the project. */
/* test: kinds=plain,memory */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "check.h"
#include "io/npy.h"

#define SEEDS "tests/fuzz/seeds/npy/"

static char folder[] = "/tmp/unroll_test_XXXXXX", path[PATH_MAX];

/* ---- NumPy's files ---- */

/* The array k / 4 of shape [2, 3]. */
static void check_quarters(const struct tensor_view *tensor, const char *what)
{
    float numbers[6] = {0};
    if (!CHECK(tensor && tensor->rank == 2 && tensor->shape[0] == 2 && tensor->shape[1] == 3, "%s", what))
        return;
    CHECK(tensor_view_to_floats(tensor, numbers) == UNROLL_OK, "%s", unroll_last_error());
    for (int k = 0; k < 6; k++) CHECK(numbers[k] == (float)k / 4, "%s: number %d is %g", what, k, (double)numbers[k]);
}

static void test_numpy_arrays(void)
{
    static const char *const names[] = {SEEDS "float.npy", SEEDS "double.npy", SEEDS "half.npy"};
    struct npz *file;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (CHECK(npz_open(names[i], &file) == UNROLL_OK, "%s", unroll_last_error())) {
            check_quarters(npz_find(file, ""), names[i]);
            npz_close(file);
        }
    CHECK_REFUSED(npz_open(SEEDS "fortran.npy", &file), UNROLL_UNSUPPORTED, "ascontiguousarray");
    CHECK_REFUSED(npz_open(SEEDS "big.npy", &file), UNROLL_UNSUPPORTED, "'>f4'");
    CHECK_REFUSED(npz_open(SEEDS "compressed.npz", &file), UNROLL_UNSUPPORTED, "numpy.savez instead");
    CHECK_REFUSED(npz_open(SEEDS "missing.npy", &file), UNROLL_DATA, "missing.npy");
}

static void test_numpy_archive(void)
{
    struct npz *file;
    float lengths[2];
    if (!CHECK(npz_open(SEEDS "two.npz", &file) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    CHECK(npz_count(file) == 2, "%d arrays", npz_count(file));
    check_quarters(npz_find(file, "x"), "x of two.npz");
    const struct tensor_view *tensor = npz_find(file, "lengths");
    CHECK(tensor && tensor->dtype == DTYPE_I32 && tensor_view_to_floats(tensor, lengths) == UNROLL_OK &&
              lengths[0] == 1 && lengths[1] == 2,
          "lengths of two.npz");
    CHECK(npz_find(file, "y") == NULL, "an array that is not there was found");
    npz_close(file);
    if (CHECK(npz_open(SEEDS "empty.npz", &file) == UNROLL_OK, "%s", unroll_last_error())) {
        CHECK(npz_at(file, 0)->bytes == 0 && npz_at(file, 0)->shape[1] == 3, "an empty array");
        npz_close(file);
    }
}

/* ---- round trip ---- */

static void test_round_trip(void)
{
    unsigned char numbers[64];
    struct tensor_view tensors[DTYPE_COUNT];
    char names[DTYPE_COUNT][16];
    struct npz *file;
    int count = 0;
    for (size_t i = 0; i < sizeof numbers; i++) numbers[i] = (unsigned char)(37 * i + 1);
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (i == DTYPE_BF16)
            continue;
        snprintf(names[i], sizeof names[i], "array %d", i);
        tensors[count] = (struct tensor_view){
            .name = names[i], .dtype = (enum dtype)i, .rank = count % 4, .shape = {2, 1, 3}, .data = numbers};
        tensor_view_bytes(&tensors[count], &tensors[count].bytes);
        count++;
    }
    if (!CHECK(npz_write(path, tensors, count) == UNROLL_OK && npz_open(path, &file) == UNROLL_OK, "%s",
               unroll_last_error()))
        return;
    for (int i = 0; i < count; i++) {
        const struct tensor_view *read = npz_find(file, tensors[i].name);
        CHECK(read && read->dtype == tensors[i].dtype && read->rank == tensors[i].rank &&
                  memcmp(read->shape, tensors[i].shape, (size_t)read->rank * sizeof *read->shape) == 0 &&
                  read->bytes == tensors[i].bytes && memcmp(read->data, numbers, read->bytes) == 0,
              "'%s' came back changed", tensors[i].name);
    }
    npz_close(file);
    CHECK(npy_write(path, &tensors[1]) == UNROLL_OK && npz_open(path, &file) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(npz_count(file) == 1 && npz_at(file, 0)->bytes == tensors[1].bytes, "a single array");
    npz_close(file);
}

static void test_refused_writes(void)
{
    float number = 1;
    struct tensor_view bf16 = {.name = "w", .dtype = DTYPE_BF16, .rank = 1, .shape = {2}, .data = &number, .bytes = 4};
    struct tensor_view wrong = {.name = "w", .dtype = DTYPE_F32, .rank = 1, .shape = {2}, .data = &number, .bytes = 4};
    CHECK_REFUSED(npz_write(path, &bf16, 1), UNROLL_UNSUPPORTED, "BF16");
    CHECK_REFUSED(npy_write(path, &wrong), UNROLL_USAGE, "do not match its type and shape");
    wrong.shape[0] = 1;
    CHECK_REFUSED(npy_write("/dev/full", &wrong), UNROLL_RESOURCE, "/dev/full");
}

/* ---- damage ---- */

/* Every truncated file and every file with one changed byte must be refused or be readable. */
static void test_damage(const char *seed, bool checksummed)
{
    void *bytes;
    size_t size;
    struct npz *file;
    if (!CHECK(read_whole_file(seed, 1 << 16, &bytes, &size) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    for (size_t shorter = 0; shorter < size; shorter++)
        CHECK(npz_parse(bytes, shorter, seed, &file) == UNROLL_DATA, "%s cut to %zu bytes", seed, shorter);
    for (size_t i = 0; i < size; i++) {
        ((unsigned char *)bytes)[i] ^= 0x10;
        if (npz_parse(bytes, size, seed, &file) == UNROLL_OK) {
            for (int k = 0; checksummed && k < npz_count(file); k++) {
                const struct tensor_view *tensor = npz_at(file, k);
                size_t first = (size_t)((const char *)tensor->data - (const char *)bytes);
                CHECK(i < first || i >= first + tensor->bytes, "%s: byte %zu changed unseen", seed, i);
            }
            npz_close(file);
        }
        ((unsigned char *)bytes)[i] ^= 0x10;
    }
    release(bytes);
}

static unroll_status parse_text(const char *header)
{
    unsigned char bytes[256] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    struct tensor_view tensor;
    size_t length = strlen(header);
    bytes[8] = (unsigned char)length;
    memcpy(bytes + 10, header, length);
    return npy_parse(bytes, 10 + length + 8, "text", &tensor);
}

static void test_headers(void)
{
    CHECK(parse_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }  \n") == UNROLL_OK, "%s",
          unroll_last_error());
    CHECK(parse_text("{\"shape\":(2,1),\"fortran_order\":False,\"descr\":\"<f4\"}") == UNROLL_OK, "%s",
          unroll_last_error());
    CHECK_REFUSED(parse_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"), UNROLL_DATA, "12 bytes");
    CHECK_REFUSED(parse_text("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"), UNROLL_UNSUPPORTED,
                  "fix: convert it with .astype('<f4')");
    CHECK_REFUSED(parse_text("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }"), UNROLL_UNSUPPORTED,
                  "fix: convert it with .astype('<i4')");
    CHECK_REFUSED(parse_text("{'descr': '<f4', 'shape': (2,), }"), UNROLL_DATA, "dict");
    CHECK_REFUSED(parse_text("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"), UNROLL_DATA,
                  "dict");
    CHECK_REFUSED(parse_text("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}"), UNROLL_DATA,
                  "dict");
    CHECK_REFUSED(parse_text("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}"), UNROLL_UNSUPPORTED, "'|O'");
    CHECK_REFUSED(parse_text("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}"),
                  UNROLL_DATA, "overflows");
    CHECK_REFUSED(parse_text("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), UNROLL_DATA,
                  "dict");
}

static void test_floats(void)
{
    const double doubles[] = {1e300, 0.1, (double)INFINITY};
    struct tensor_view tensor = {
        .name = "d", .dtype = DTYPE_F64, .rank = 1, .shape = {2}, .data = doubles + 1, .bytes = 16};
    float to[2] = {0};
    CHECK(tensor_view_to_floats(&tensor, to) == UNROLL_OK && to[0] == 0.1f && isinf(to[1]), "%g %g", (double)to[0],
          (double)to[1]);
    tensor.data = doubles;
    CHECK_REFUSED(tensor_view_to_floats(&tensor, to), UNROLL_DATA, "too large for a float");
}

int main(void)
{
    if (!CHECK(mkdtemp(folder) != NULL, "no temporary folder"))
        return check_finish("test_npy");
    snprintf(path, sizeof path, "%s/a.npz", folder);
    test_numpy_arrays();
    test_numpy_archive();
    test_round_trip();
    test_refused_writes();
    test_damage(SEEDS "two.npz", true);
    test_damage(SEEDS "empty.npz", true);
    test_headers();
    test_floats();
    unlink(path);
    rmdir(folder);
    return check_finish("test_npy");
}
