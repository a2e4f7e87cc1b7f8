/* Tests of the text reader: valid and invalid UTF-8, tokens and their order, and the messages for damaged texts. */
/* test: kinds=plain,memory */
/* test: kinds=timed-plain; args=timed; alone */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "check.h"
#include "texts.h"
#include "unroll_train.h"

static bool says(const char *part) { return strstr(unroll_last_error(), part) != NULL; }

/* Parses characters, with given tokens or NULL. */
static unroll_status parse(const void *bytes, size_t size, const char *name, const char *const *symbols,
                           int symbol_count, unroll_dataset **text)
{
    return read_text_of(bytes, size, name, NULL, CUT_CHARACTERS, symbols, symbol_count, text);
}

/* The bytes must be refused with a message that contains this part. */
static void check_refused(const char *bytes, size_t size, const char *part)
{
    unroll_dataset *text = NULL;
    unroll_status status = parse(bytes, size, "some.txt", NULL, 0, &text);
    CHECK(status == UNROLL_DATA && says(part) && says("some.txt"), "status %d, '%s' instead of '%s'", (int)status,
          unroll_last_error(), part);
    CHECK(text == NULL, "a refused text was set");
}

static void test_symbols_are_in_code_point_order(void)
{
    static const char bytes[] = "b\xc3\xa9"
                                "a\xf0\x9f\x98\x80"
                                "b\r\n\xe2\x82\xac";
    static const char *const expected[] = {"\n", "\r", "a", "b", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    static const int32_t expected_tokens[] = {3, 4, 2, 6, 3, 1, 0, 5};
    unroll_dataset *text;
    int symbols;

    if (!MUST(parse(bytes, sizeof bytes - 1, "t", NULL, 0, &text)))
        return;
    const char *const *symbol = unroll_dataset_vocabulary(text, &symbols);
    if (CHECK(symbols == 7, "%d tokens", symbols))
        for (int i = 0; i < symbols; i++) CHECK(strcmp(symbol[i], expected[i]) == 0, "token %d is '%s'", i, symbol[i]);
    int32_t tokens[9] = {0};
    size_t count = unroll_dataset_tokens(text, 0, 9, tokens);
    CHECK(count == 8 && memcmp(tokens, expected_tokens, sizeof expected_tokens) == 0, "%zu tokens differ", count);
    CHECK(unroll_dataset_tokens(text, 6, 1, tokens) == 8 && tokens[0] == 0 && tokens[1] == 4, "the seventh token");
    unroll_dataset_free(text);
}

static void test_smallest_texts(void)
{
    unroll_dataset *text;
    if (MUST(parse("x", 1, "t", NULL, 0, &text))) {
        CHECK(text->steps == 1 && text->column->vocabulary_size == 1, "one character");
        unroll_dataset_free(text);
    }
    CHECK_REFUSED(parse("zzzz", 4, "t", NULL, 0, &text), UNROLL_DATA, "a single symbol, 'z'");
}

/* The first and last code points of every length, and around the surrogates. */
static void test_edges_of_utf8(void)
{
    static const char good[] = "\x01\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"
                               "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
    static const char *const bad[] = {
        "\x80",         "\xbf",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff",         "\xc3",         "\xe2\x82",         "\xf0\x9f\x98",     "\xc3\x28",
        "\xe2\x28\xa1"};
    unroll_dataset *text;

    if (MUST(parse(good, sizeof good - 1, "t", NULL, 0, &text))) {
        CHECK(text->steps == 10 && text->column->vocabulary_size == 10, "%zu characters", text->steps);
        unroll_dataset_free(text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[16];
        int size = snprintf(line, sizeof line, "a\nb%sc", bad[i]);
        check_refused(line, (size_t)size, "at offset 3 in line 2");
        check_refused(line, (size_t)size - 1, "at offset 3 in line 2"); /* truncated at the end */
    }
}

static void test_refusals(void)
{
    check_refused("", 0, "is empty");
    check_refused("ab\0cd", 5, "byte 2 is zero");
    check_refused("\xff\xfe"
                  "a\0b\0",
                  6, "binary file"); /* UTF-16 */
    check_refused("caf\xe9 au lait", 12, "byte 0xe9 at offset 3 in line 1");
}

static void test_given_symbols(void)
{
    static const char *const symbols[] = {"\n", "c", "b", "a", "\xc3\xa9"};
    static const char *const words[] = {"a", "the"};
    static const char *const twice[] = {"a", "b", "a"};
    static const int32_t expected[] = {3, 2, 1, 0};
    unroll_dataset *text = NULL;

    if (MUST(parse("abc\n", 4, "t", symbols, 5, &text))) {
        CHECK(same_tokens(text, expected, 4), "tokens in the order given");
        CHECK(text->column->vocabulary_size == 5 && strcmp(text->column->vocabulary[4], "\xc3\xa9") == 0,
              "tokens are kept");
        unroll_dataset_free(text);
    }
    CHECK_REFUSED(parse("ab\nac\xe2\x82\xac"
                        "b",
                        9, "x.txt", symbols, 5, &text),
                  UNROLL_DATA, "'x.txt', line 2, column 3: the character '\xe2\x82\xac' (U+20AC) is not among");
    CHECK_REFUSED(parse("a", 1, "t", words, 2, &text), UNROLL_DATA, "'the', is not one character");
    CHECK_REFUSED(parse("ab", 2, "t", twice, 3, &text), UNROLL_DATA, "tokens 0 and 2 are the same");
}

static void test_files(void)
{
    char path[] = "/tmp/unroll_text_XXXXXX";
    struct piece piece = {"one\r\ntwo\n", 9};
    unroll_dataset *text = NULL;
    int descriptor = mkstemp(path);
    if (!CHECK(descriptor >= 0, "cannot make a file"))
        return;
    close(descriptor);
    CHECK_REFUSED(unroll_dataset_open(path, NULL, &text), UNROLL_DATA, "is empty");
    MUST(write_file_atomically(path, &piece, 1));
    if (MUST(unroll_dataset_open(path, NULL, &text))) {
        CHECK(text->steps == 9 && text->column->vocabulary_size == 7, "%zu characters", text->steps);
        unroll_dataset_free(text);
    }
    if (CHECK(freopen(path, "r", stdin) != NULL, "no input") && MUST(unroll_dataset_open("-", NULL, &text))) {
        CHECK(text->steps == 9, "%zu characters from standard input", text->steps);
        unroll_dataset_free(text);
    }
    unlink(path);
    CHECK_REFUSED(unroll_dataset_open(path, NULL, &text), UNROLL_DATA, "cannot open");
    CHECK_REFUSED(unroll_dataset_open("/tmp", NULL, &text), UNROLL_DATA, "/tmp");
}

/* A failed allocation anywhere is an error and leaks nothing. */
static void test_no_memory(void)
{
    uint64_t live = memory_live();
    unroll_dataset *text;
    int failures = 0;
    for (int n = 0;; n++) {
        memory_fail_after(n);
        unroll_status status = parse("some text", 9, "t", NULL, 0, &text);
        memory_fail_after(-1);
        if (status == UNROLL_OK)
            break;
        failures++;
        CHECK(status == UNROLL_RESOURCE && memory_live() == live, "allocation %d: '%s'", n, unroll_last_error());
    }
    unroll_dataset_free(text);
    CHECK(failures >= 4 && memory_live() == live, "%d allocations could fail", failures);
}

static void test_speed(void)
{
    enum { SIZE = 1000000 };
    char *bytes = malloc(SIZE);
    struct timespec start, end;
    unroll_dataset *text;
    double best = 1;
    for (int i = 0; i < SIZE; i++) bytes[i] = (char)(32 + i * 7 % 95);
    for (int i = 0; i < 5; i++) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
        if (!MUST(parse(bytes, SIZE, "t", NULL, 0, &text)))
            break;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
        best = seconds < best ? seconds : best;
        unroll_dataset_free(text);
    }
    CHECK(best < 0.1, "1 MB took %.1f ms; some 5 are usual", best * 1e3); /* with a margin for sanitizers */
    free(bytes);
}

int main(int count, char **words)
{
    if (count > 1 && !strcmp(words[1], "timed")) {
        test_speed();
        return check_finish("test_text");
    }
    test_symbols_are_in_code_point_order();
    test_smallest_texts();
    test_edges_of_utf8();
    test_refusals();
    test_given_symbols();
    test_files();
    test_no_memory();
    return check_finish("test_text");
}
