/* Tests the cache of parsed data. Cached data equal parsed data, the cache consists of safetensors files, damaged ones
 * are detected and replaced, and the oldest are deleted. Also tests inputs that are files: folders, pipes. */
/* test: kinds=plain,memory */
#include <dirent.h>
#include <fcntl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "check.h"
#include "data/data_cache.h"
#include "data/readers/reader_table.h"
#include "io/safetensors.h"
#include "temporary.h"

/* Returns the number of files in the cache, and the name of the last one, valid until the next call. */
static int cached_files(char path[512])
{
    DIR *cache = opendir(inside("cache"));
    struct dirent *entry;
    int files = 0;
    while (cache && (entry = readdir(cache)))
        if (entry->d_name[0] != '.') {
            files++;
            snprintf(path, 512, "%s/%s", inside("cache"), entry->d_name);
        }
    if (cache)
        closedir(cache);
    return files;
}

static void check_same(const unroll_dataset *a, const unroll_dataset *b)
{
    CHECK(dataset_hash(a, HASH_BEGIN) == dataset_hash(b, HASH_BEGIN) && dataset_hash(a, 1) == dataset_hash(b, 1),
          "other data");
    CHECK(a->steps == b->steps && a->sequences == b->sequences && a->group == b->group && a->time == b->time &&
              a->rows_are_steps == b->rows_are_steps && !strcmp(a->reader, b->reader) &&
              !strcmp(a->options, b->options) && !memcmp(a->begin, b->begin, (a->sequences + 1) * sizeof *a->begin),
          "another description");
    for (int i = 0; i < a->columns && i < b->columns; i++) {
        const struct column *x = &a->column[i], *y = &b->column[i];
        bool same = !strcmp(x->name, y->name) && x->type == y->type && x->vocabulary_size == y->vocabulary_size;
        for (int v = 0; same && v < x->vocabulary_size; v++) same = !strcmp(x->vocabulary[v], y->vocabulary[v]);
        CHECK(same && x->of_sequence == y->of_sequence && x->kind == y->kind, "column '%s'", x->name);
    }
}

static unroll_dataset *open_data(const char *path, const char *options)
{
    unroll_dataset *data = NULL;
    MUST(dataset_open(path, NULL, options, NULL, &data));
    return data;
}

static void damage(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    if (CHECK(file != NULL, "%s", path)) {
        fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
        int byte = fgetc(file);
        fseek(file, -1, SEEK_CUR);
        fputc(byte ^ 64, file);
        fclose(file);
    }
}

static void check_damage(const char *path, const unroll_dataset *expected, long at)
{
    char cached[512];
    cached_files(cached);
    if (at == 0)
        CHECK(truncate(cached, 1000) == 0, "cut short");
    else
        damage(cached, at);
    unroll_dataset *again = open_data(path, NULL);
    CHECK(again && strstr(again->notes, "were damaged and are parsed again"), "'%s'", again ? again->notes : "");
    if (again)
        check_same(expected, again);
    unroll_dataset_free(again);
}

static void test_cache(void)
{
    const char *path = "jsonl";
    char cached[512], file[300];
    struct safetensors *opened;
    snprintf(file, sizeof file, "%s", inside(path));
    write_text(file, "{\"x\": [1, 2.5], \"text\": \"a\", \"label\": \"p\"}\n{\"x\": [3], \"label\": \"q\\\"\"}\n");
    cache_limits(SIZE_MAX, 1, 1 << 20);
    unroll_dataset *parsed = open_data(file, NULL);
    CHECK(parsed->map == NULL && cached_files(cached) == 0, "too small a file");
    cache_limits(1, 1, 1 << 20);
    unroll_dataset *first = open_data(file, NULL);
    CHECK(first->map && cached_files(cached) == 1, "%d files", cached_files(cached));
    CHECK(strstr(first->notes, cached) != NULL, "'%s' does not name %s", first->notes, cached);
    unroll_dataset *second = open_data(file, NULL);
    CHECK(second->map && cached_files(cached) == 1 && second->hashed, "it is used again");
    check_same(parsed, first);
    check_same(parsed, second);
    CHECK(!strcmp(first->notes, second->notes), "the same notes");
    if (MUST(safetensors_open(cached, &opened)))
        CHECK(safetensors_find(opened, "column.0") && safetensors_metadata(opened, "unroll.data"), "what is in it");
    safetensors_close(opened);
    check_damage(file, parsed, -1);
    check_damage(file, parsed, 9);
    check_damage(file, parsed, 0);
    unroll_dataset *other = open_data(file, "columns=label=ignore");
    CHECK(cached_files(cached) == 2, "read otherwise, another file");
    unroll_dataset_free(other);
    cache_limits(1, 1, 1);
    write_text(file, "{\"x\": [1, 2.5, 7]}\n");
    other = open_data(file, NULL);
    CHECK(cached_files(cached) == 1 && other->steps == 3, "others went: %d files", cached_files(cached));
    unroll_dataset_free(other);
    unroll_dataset_free(second);
    unroll_dataset_free(first);
    unroll_dataset_free(parsed);
}

/* Leftovers of a killed process are deleted when the next file is written; a file being written is kept. */
static void test_leftovers(void)
{
    char left[300], made[300];
    snprintf(left, sizeof left, "%s/0123456789abcdef.safetensors.1.2.part", inside("cache"));
    snprintf(made, sizeof made, "%s/fedcba9876543210.safetensors.3.4.part", inside("cache"));
    write_text(left, "left");
    write_text(made, "made");
    const int descriptor = open(made, O_RDWR | O_CLOEXEC);
    CHECK(descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0, "no lock");
    write_text(inside("jsonl"), "{\"x\": [1, 2, 3, 4]}\n");
    unroll_dataset *data = open_data(inside("jsonl"), NULL);
    CHECK(data->map && access(left, F_OK) != 0, "'%s' is still there", left);
    CHECK(access(made, F_OK) == 0, "'%s' was being made", made);
    unroll_dataset_free(data);
    close(descriptor);
    unlink(made);
}

static void test_no_room(void)
{
    unroll_dataset *data = NULL;
    write_text(inside("file"), "a b c\n");
    setenv("UNROLL_CACHE", inside("file/cache"), 1);
    CHECK_REFUSED(dataset_open(inside("file"), NULL, NULL, NULL, &data), UNROLL_RESOURCE, "UNROLL_CACHE=off");
    setenv("UNROLL_CACHE", "off", 1);
    if (MUST(dataset_open(inside("file"), NULL, NULL, NULL, &data)))
        CHECK(data->map == NULL, "all in memory");
    unroll_dataset_free(data);
    setenv("UNROLL_CACHE", inside("cache"), 1);
}

static void test_no_memory(void)
{
    uint64_t live = memory_live();
    char cached[512], file[300];
    unroll_dataset *data = NULL;
    snprintf(file, sizeof file, "%s", inside("rows"));
    write_text(file, "{\"x\": [1, 2.5], \"label\": \"p\"}\n{\"x\": [3], \"label\": \"q\"}\n");
    for (int n = 0;; n++) {
        memory_fail_after(n);
        unroll_status status = dataset_open(file, NULL, NULL, NULL, &data);
        memory_fail_after(-1);
        if (status == UNROLL_OK)
            break;
        CHECK(memory_live() == live, "allocation %d: '%s'", n, unroll_last_error());
    }
    unroll_dataset_free(data);
    CHECK(memory_live() == live && cached_files(cached) == 1, "%d files", cached_files(cached));
}

/* ---- inputs ---- */

static void test_folder(void)
{
    struct input *input;
    const char *member;
    char all[100] = "";
    mkdir(inside("many"), 0700);
    mkdir(inside("many/b"), 0700);
    write_text(inside("many/b/two"), "2\n");
    write_text(inside("many/a"), "1\r\n");
    write_text(inside("many/.hidden"), "3\n");
    if (!MUST(input_open(inside("many"), &input)))
        return;
    for (int turn = 0; turn < 2; turn++) {
        const char *line;
        size_t length;
        bool more = true;
        while (MUST(input_next(input, &member)) && member) {
            strcat(strcat(all, member), "=");
            while (MUST(input_line(input, &line, &length, &more)) && more) strncat(all, line, length);
            strcat(all, ";");
        }
        MUST(input_rewind(input));
    }
    CHECK(strcmp(all, "a=1;b/two=2;a=1;b/two=2;") == 0, "'%s'", all);
    input_close(input);
    mkdir(inside("none"), 0700);
    CHECK_REFUSED(input_open(inside("none"), &input), UNROLL_DATA, "has no files; fix:");
}

/* Input that can be read only once is kept in a temporary file. */
static void test_pipe(void)
{
    int ends[2], kept = dup(STDIN_FILENO);
    unroll_dataset *data = NULL;
    if (!CHECK(pipe(ends) == 0, "no pipe"))
        return;
    CHECK(write(ends[1], "abca", 4) == 4, "to the pipe");
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    if (MUST(dataset_open("-", NULL, NULL, NULL, &data)))
        CHECK(data->steps == 4 && data->column->vocabulary_size == 3 && !strcmp(data->name, "standard input"), "%zu",
              data->steps);
    unroll_dataset_free(data);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
}

/* Endless input is refused, and nothing remains in memory or on disk. */
static void test_endless(void)
{
    struct input *input;
    int ends[2];
    CHECK_REFUSED(input_open("/dev/zero", &input), UNROLL_DATA, "is a device");
    CHECK_REFUSED(input_open("/", &input), UNROLL_DATA, "is the root folder");
    if (!CHECK(pipe(ends) == 0, "no pipe"))
        return;
    CHECK(write(ends[1], "abcabcabc", 9) == 9, "to the pipe");
    const int own = dup(STDIN_FILENO);
    dup2(ends[0], STDIN_FILENO);
    input_limit(8);
    CHECK_REFUSED(input_open("-", &input), UNROLL_DATA, "has not ended after");
    input_limit((uint64_t)8 << 30);
    dup2(own, STDIN_FILENO);
    close(own), close(ends[0]), close(ends[1]);
}

static void test_lines(void)
{
    enum { SIZE = 300000 };
    struct input *input;
    const char *member, *line;
    char *bytes = malloc(SIZE);
    size_t length, lines = 0, all = 0;
    bool more = true;
    for (int i = 0; i < SIZE; i++) bytes[i] = i % 100003 == 0 ? '\n' : 'a';
    MUST(input_of_memory(bytes, SIZE, "lines", &input));
    MUST(input_next(input, &member));
    while (MUST(input_line(input, &line, &length, &more)) && more) lines++, all += length;
    CHECK(lines == 4 && all == SIZE - 3 && input_lines(input) == 4, "%zu lines of %zu bytes", lines, all);
    input_close(input);
    free(bytes);
}

int main(void)
{
    char command[64];
    if (!mkdtemp(folder))
        return 2;
    setenv("UNROLL_CACHE", inside("cache"), 1);
    test_cache();
    test_leftovers();
    test_no_room();
    cache_limits(1, 1, 1);
    test_no_memory();
    test_folder();
    test_pipe();
    test_lines();
    test_endless();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("test_cache");
}
