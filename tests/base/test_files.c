/* Tests src/base/file.c and json.c: reading, atomic writing, folders, values that are not finite, fields of JSON. */
/* test: kinds=check-plain,memory */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/finite.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "check.h"
#include "temporary.h"

static bool says(const char *part) { return strstr(unroll_last_error(), part) != NULL; }

/* ---- files ---- */

/* A NaN or infinity is found at any position; finite values are not mistaken for one. */
static void test_finite(void)
{
    enum { MAX = 21 };
    const float finite[] = {3.4028235e38f, -3.4028235e38f, 1e-45f, -0.0f};
    const float others[] = {INFINITY, -INFINITY, NAN, -NAN};
    for (size_t n = 0; n <= MAX; n++) {
        float x[MAX + 1], copy[MAX + 1] = {0};
        for (size_t i = 0; i <= MAX; i++) x[i] = i < n ? finite[i % 4] : NAN;
        CHECK(copy_finite(copy, x, n), "%zu finite numbers", n);
        CHECK(memcmp(copy, x, n * sizeof *x) == 0 && copy[n] == 0, "%zu numbers are copied and no more", n);
        for (size_t i = 0; i < 4 * n; i++) {
            x[i / 4] = others[i % 4];
            CHECK(!all_finite(x, n) && !copy_finite(copy, x, n), "%g at %zu of %zu", others[i % 4], i / 4, n);
            x[i / 4] = finite[i / 4 % 4];
        }
    }
}

static void test_read(void)
{
    void *data;
    size_t size;
    write_text(inside("hello"), "hello");
    CHECK(read_whole_file(inside("hello"), 5, &data, &size) == UNROLL_OK && size == 5 && strcmp(data, "hello") == 0,
          "a small file");
    release(data);
    data = NULL;
    CHECK(read_whole_file(inside("hello"), 4, &data, &size) == UNROLL_DATA && says("larger than the 4 bytes") &&
              data == NULL,
          "'%s'", unroll_last_error());
    CHECK(read_whole_file("/dev/zero", 100000, &data, &size) == UNROLL_DATA && says("/dev/zero"), "an endless file");
    const uint64_t max = unroll_memory_limit() + 1;
    write_text(inside("sparse"), "");
    if (truncate(inside("sparse"), (off_t)max) == 0) {
        CHECK_REFUSED(read_whole_file(inside("sparse"), INT64_MAX, &data, &size), UNROLL_RESOURCE, "memory limit");
        CHECK(read_whole_file(inside("sparse"), 99, &data, &size) == UNROLL_DATA, "a file without an end in sight");
    }
    CHECK_REFUSED(read_whole_file("/dev/zero", INT64_MAX, &data, &size), UNROLL_DATA, "is a device");
    CHECK(read_whole_file("/dev/null", 0, &data, &size) == UNROLL_OK && size == 0, "an empty file");
    release(data);
    CHECK(read_whole_file("/proc/self/status", 1 << 20, &data, &size) == UNROLL_OK && size > 100,
          "a file whose size the system states as 0");
    release(data);
    CHECK(read_whole_file(inside("absent"), 9, &data, &size) == UNROLL_DATA && says("absent") && says("No such file"),
          "'%s'", unroll_last_error());
    CHECK_REFUSED(read_whole_file(folder, 9, &data, &size), UNROLL_DATA, "Is a directory");
}

/* Counts the temporary files in the folder. */
static int temporaries(void)
{
    char command[PATH_MAX + 32];
    int count = -1;
    snprintf(command, sizeof command, "ls -A %s | grep -c tmp", folder);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL || fscanf(pipe, "%d", &count) != 1)
        count = -1;
    if (pipe != NULL)
        pclose(pipe);
    return count;
}

static void test_write(void)
{
    struct piece pieces[] = {{"ab", 2}, {NULL, 0}, {"cde", 3}};
    void *data;
    size_t size;
    CHECK(write_file_atomically(inside("new"), pieces, 3) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(read_whole_file(inside("new"), 99, &data, &size) == UNROLL_OK && size == 5 && memcmp(data, "abcde", 5) == 0,
          "read back");
    release(data);
    CHECK(write_file_atomically("/dev/full", pieces, 3) == UNROLL_RESOURCE && says("/dev/full") &&
              says("No space left"),
          "'%s'", unroll_last_error());
    struct stat info;
    CHECK(stat("/dev/full", &info) == 0 && S_ISCHR(info.st_mode), "the device was replaced");
    CHECK(write_file_atomically(inside("no/such/file"), pieces, 3) == UNROLL_RESOURCE && says("no/such/file") &&
              says("No such file"),
          "'%s'", unroll_last_error());
    CHECK_REFUSED(write_file_atomically(folder, pieces, 3), UNROLL_RESOURCE, "Is a directory");
    CHECK(write_file_atomically(inside(""), pieces, 3) == UNROLL_RESOURCE, "a name that ends in /");
    CHECK(write_file_atomically("/proc/unroll", pieces, 3) == UNROLL_RESOURCE && says("/proc/unroll"),
          "a directory without write permission");
    CHECK(temporaries() == 0, "%d temporary files are left", temporaries());
}

/* If standard output is redirected to a file, writing to /dev/stdout writes at its position and does not replace the
 * file. */
static void test_write_to_descriptor(void)
{
    struct piece piece = {"cde", 3};
    char target[64];
    struct stat info;
    void *data;
    size_t size;
    int descriptor = open(inside("redirected"), O_WRONLY | O_CREAT, 0666);
    CHECK(descriptor >= 0 && write(descriptor, "ab", 2) == 2, "%s", strerror(errno));
    snprintf(target, sizeof target, "/proc/self/fd/%d", descriptor);
    CHECK(symlink(target, inside("stdout")) == 0, "%s", strerror(errno));
    CHECK(write_file_atomically(inside("stdout"), &piece, 1) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(write(descriptor, "f", 1) == 1, "%s", strerror(errno));
    snprintf(target, sizeof target, "/dev/fd/%d", descriptor);
    CHECK(write_file_atomically(target, &piece, 1) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(lstat(inside("stdout"), &info) == 0 && S_ISLNK(info.st_mode), "the link was replaced");
    close(descriptor);
    CHECK(read_whole_file(inside("redirected"), 99, &data, &size) == UNROLL_OK && size == 9 &&
              memcmp(data, "abcdefcde", 9) == 0,
          "%zu bytes: '%s'", size, (char *)data);
    release(data);
}

/* Writing through a symbolic link keeps the link and replaces the file's content. */
static void test_write_through_link(void)
{
    struct piece old = {"old", 3}, new = {"new", 3};
    struct stat info;
    void *data;
    size_t size;
    CHECK(write_file_atomically(inside("linked"), &old, 1) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(symlink("linked", inside("link")) == 0, "%s", strerror(errno));
    CHECK(write_file_atomically(inside("link"), &new, 1) == UNROLL_OK, "%s", unroll_last_error());
    CHECK(lstat(inside("link"), &info) == 0 && S_ISLNK(info.st_mode), "the link was replaced");
    CHECK(read_whole_file(inside("linked"), 99, &data, &size) == UNROLL_OK && memcmp(data, "new", 3) == 0,
          "the file has its old content");
    release(data);
}

/* If one of several files cannot be written, the others remain unchanged. */
static void test_write_together(void)
{
    struct piece old = {"old", 3}, new = {"new", 3};
    char first[512], second[512];
    void *data;
    size_t size;
    snprintf(first, sizeof first, "%s", inside("first"));
    snprintf(second, sizeof second, "%s", inside("no/such/second"));
    CHECK(write_file_atomically(first, &old, 1) == UNROLL_OK, "%s", unroll_last_error());
    CHECK_REFUSED(write_files_atomically((struct whole_file[]){{first, &new, 1}, {second, &new, 1}}, 2),
                  UNROLL_RESOURCE, "no/such/second");
    CHECK(read_whole_file(first, 99, &data, &size) == UNROLL_OK && memcmp(data, "old", 3) == 0,
          "the first was replaced");
    release(data);
    CHECK(temporaries() == 0, "%d temporary files are left", temporaries());
}

/* A disk that fills up during a write, simulated by a limit on file sizes, which makes write() fail in the same way. */
static void test_write_interrupted(void)
{
    static char block[100000];
    struct piece piece = {block, sizeof block};
    struct rlimit before, small;
    void *data;
    size_t size;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 5000;
    setrlimit(RLIMIT_FSIZE, &small);
    unroll_status status = write_file_atomically(inside("new"), &piece, 1);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(status == UNROLL_RESOURCE && says("new") && says(strerror(EFBIG)), "'%s'", unroll_last_error());
    CHECK(temporaries() == 0, "%d temporary files are left", temporaries());
    CHECK(read_whole_file(inside("new"), 99, &data, &size) == UNROLL_OK && size == 5, "the old file is gone");
    release(data);
}

static void test_directories(void)
{
    CHECK(make_directories(inside("x/y//z/")) == UNROLL_OK && file_exists(inside("x/y/z")), "%s", unroll_last_error());
    CHECK(make_directories(inside("x/y/z")) == UNROLL_OK, "they exist already: %s", unroll_last_error());
    CHECK_REFUSED(make_directories(inside("new/sub")), UNROLL_RESOURCE, "/new");
    CHECK(make_directories("") == UNROLL_RESOURCE, "no name");
    CHECK(!file_exists(inside("absent")), "it is not there");
}

/* ---- JSON ---- */

static void test_json_errors(void)
{
    static const struct {
        const char *text, *message;
    } bad[] = {{"{\"a\": 1, \"a\": 2}", "duplicate"},
               {"{\"a\": \n  tru}", "line 2"},
               {"", "line 1"},
               {"{} x", "end of file expected"},
               {"[1, 2", "']' expected"},
               {"{\"a\": 99999999999999999999}", "too big"},
               {"{\"a\": 1e999}", "overflow"},
               {"{\"a\": \"\\u0000\"}", "u0000"},
               {"{\"a\": \"\xff\"}", "unable to decode"},
               {"7", "'[' or '{' expected"},
               {"{\"a\": NaN}", "line 1"},
               {"{'a': 1}", "line 1"},
               {"{\"a\": \"\\\"{[\", \"b\" 1}", "':' expected"}};
    char deep[200];
    json_t *json = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(parse_json(bad[i].text, strlen(bad[i].text), "x.json", &json) == UNROLL_DATA && says("'x.json', line") &&
                  says(bad[i].message) && json == NULL,
              "%s: '%s'", bad[i].text, unroll_last_error());
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    CHECK(parse_json(deep, 130, "deep", &json) == UNROLL_DATA && says("column 65") && says("64 levels"), "'%s'",
          unroll_last_error());
    CHECK(parse_json(deep + 1, 128, "deep", &json) == UNROLL_OK, "64 levels: %s", unroll_last_error());
    json_decref(json);
    CHECK(parse_json("[\"\\\\[[[\"]", 9, "string", &json) == UNROLL_OK, "%s", unroll_last_error());
    json_decref(json);
}

static void test_json_fields(void)
{
    const char *text = "{\"s\": \"t\", \"i\": 5, \"r\": 2.5, \"b\": true, \"a\": [4294967295, -1, 1.0], \"o\": {}}",
               *string;
    static const char *const all[] = {"s", "i", "r", "b", "a", "o", NULL}, *const some[] = {"s", "i", NULL};
    json_t *json, *part;
    int64_t integer;
    double real;

    write_text(inside("fields.json"), text);
    if (!CHECK(read_json_file(inside("fields.json"), 1000, &json) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    CHECK(json_field_string(json, "f", "s", &string) == UNROLL_OK && strcmp(string, "t") == 0, "string");
    CHECK(json_field_integer(json, "f", "i", 5, 5, &integer) == UNROLL_OK && integer == 5, "integer");
    CHECK(json_field_real(json, "f", "r", &real) == UNROLL_OK && real == 2.5, "real");
    CHECK(json_field_real(json, "f", "i", &real) == UNROLL_OK && real == 5, "an integer is a number, too");
    CHECK(json_field_array(json, "f", "a", &part) == UNROLL_OK, "array");
    CHECK(json_item_integer(part, "f", "a", 1, -1, 8, &integer) == UNROLL_OK && integer == -1,
          "an integer of an array");
    CHECK_REFUSED(json_item_integer(part, "f", "a", 0, -1, 8, &integer), UNROLL_DATA,
                  "f: a[0] is not an integer in -1 .. 8");
    CHECK_REFUSED(json_item_integer(part, "f", "a", 2, -1, 8, &integer), UNROLL_DATA, "a[2]");
    CHECK_REFUSED(json_item_integer(part, "f", "a", 3, -1, 8, &integer), UNROLL_DATA, "a[3]");
    CHECK(json_field_object(json, "f", "o", &part) == UNROLL_OK, "object");
    CHECK_REFUSED(json_field_integer(json, "f", "i", 6, 9, &integer), UNROLL_DATA, "'i' is 5, but must be in 6 .. 9");
    CHECK_REFUSED(json_field_string(json, "f", "i", &string), UNROLL_DATA,
                  "f: 'i' must be a string, but is an integer");
    CHECK(json_field_integer(json, "f", "r", 0, 9, &integer) == UNROLL_DATA && says("is a number"), "real");
    CHECK_REFUSED(json_field_object(json, "f", "zz", &part), UNROLL_DATA, "the key 'zz' is missing");
    CHECK(json_field_object(json_object_get(json, "a"), "f", "k", &part) == UNROLL_DATA, "not an object");
    CHECK(json_fields_known(json, "f", all) == UNROLL_OK, "%s", unroll_last_error());
    CHECK_REFUSED(json_fields_known(json, "f", some), UNROLL_DATA, "'r' is unknown");
    json_decref(json);
}

static void test_json_text(void)
{
    json_t *json = json_pack("{s:i, s:[f], s:s}", "z", 1, "a", 0.1, "m", "\xc3\xa9");
    char *text;
    if (CHECK(format_json(json, &text) == UNROLL_OK, "%s", unroll_last_error())) {
        const char *expected = "{\n  \"a\": [\n    0.10000000000000001\n  ],\n"
                               "  \"m\": \"\xc3\xa9\",\n  \"z\": 1\n}\n";
        CHECK(strcmp(text, expected) == 0, "%s", text);
        release(text);
    }
    json_decref(json);
    CHECK(format_json(NULL, &text) == UNROLL_FAILURE, "nothing was written as JSON");
}

int main(void)
{
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    test_finite();
    test_read();
    test_write();
    test_write_to_descriptor();
    test_write_through_link();
    test_write_together();
    test_write_interrupted();
    test_directories();
    test_json_errors();
    test_json_fields();
    test_json_text();
    CHECK(memory_live() == 0, "%d allocations were not released", (int)memory_live());
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("test_files");
}
