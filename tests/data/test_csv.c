/* Tests the rows of delimited text. With an argument it is a program for check_csv.py: it reads tables from standard
 * input, each after a line "DELIMITER BYTES", and prints their cells. */
/* test: kinds=plain,memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "data/readers/csv_file.h"

enum { TEXT = 4096 };

/* Reads rows and prints them as "/[cell][cell]", with the error at the end. */
static const char *print_rows(const char *bytes, size_t size, char delimiter, bool quotes, int comments, bool marked,
                              char *text)
{
    struct input *input;
    struct csv_rows *rows;
    const char *member;
    size_t at = 0, length;
    bool more = true;
    if (input_of_memory(bytes, size, "table", &input) != UNROLL_OK || input_next(input, &member) != UNROLL_OK ||
        csv_rows_new(input, delimiter, quotes, false, &rows) != UNROLL_OK)
        abort();
    csv_rows_begin_member(rows, comments, marked);
    text[0] = 0;
    while (more) {
        if (csv_rows_next(rows, &more) != UNROLL_OK) {
            snprintf(text, TEXT, "%s", unroll_last_error());
            break;
        }
        for (int i = 0; more && i < csv_rows_cells(rows); i++) {
            const char *cell = csv_rows_cell(rows, i, &length);
            at += (size_t)snprintf(text + at, TEXT - at, "%s[%.*s]", i ? "" : "/", (int)length, cell);
        }
    }
    csv_rows_free(rows);
    input_close(input);
    return text;
}

static const struct {
    const char *bytes;
    char delimiter;
    bool plain;
    int comments;
    bool marked;
    const char *expected;
} cases[] = {
    {"a,b\n1,2\n", ',', false, 0, false, "/[a][b]/[1][2]"},
    {"a,b\r\n1,2", ',', false, 0, false, "/[a][b]/[1][2]"},
    {"a,b\r1,2\r", ',', false, 0, false, "/[a][b]/[1][2]"},
    {"\xef\xbb\xbf\"a\",b\n", ',', false, 0, false, "/[a][b]"},
    {"\n\n a , b \n   \n\"\"\n,\n", ',', false, 0, false, "/[a][b]/[]/[][]"},
    {"\" a \" , \"b\"\n", ',', false, 0, false, "/[ a ][b]"},
    {"\"a \"\"b\"\" c\",\"\"\"\"\n", ',', false, 0, false, "/[a \"b\" c][\"]"},
    {"\"a,\r\nb\",\"c\rd\"\r\n1,2\n", ',', false, 0, false, "/[a,\r\nb][c\rd]/[1][2]"},
    {"\"a\"b,c\"d\"\n", ',', false, 0, false, "/[ab][c\"d\"]"},
    {"\"a\"b\"c\",d\n", ',', false, 0, false, "/[ab\"c\"][d]"},
    {"\"a\"\tb\n", '\t', true, 0, false, "/[\"a\"][b]"},
    {"  1.5   2  \n3 4\n", CSV_BLANKS, false, 0, false, "/[1.5][2]/[3][4]"},
    {"# x\n#y\na,b\n", ',', false, 2, false, "/[a][b]"},
    {"a,b\n#c,d\n", ',', false, 2, false, "/[a][b]/[#c][d]"},
    {"# x\n# a,b\n1,2\n", ',', false, 1, true, "/[a][b]/[1][2]"},
    {"sep=;\na;b\n", ';', false, 1, false, "/[a][b]"},
    {"1,2\n3,\"4\n5,6\n", ',', false, 0, false, "the row that begins in line 2 has a quote that is not closed"},
    {"1,\"a\nb\"\n3,\"4\n", ',', false, 0, false, "the row that begins in line 3 has a quote that is not closed"},
};

static void check_rows(void)
{
    char text[TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *bytes = cases[i].bytes;
        print_rows(bytes, strlen(bytes), cases[i].delimiter, !cases[i].plain, cases[i].comments, cases[i].marked, text);
        CHECK(strstr(text, cases[i].expected) && (*cases[i].expected != '/' || strcmp(text, cases[i].expected) == 0),
              "%s: %s instead of %s", bytes, text, cases[i].expected);
    }
}

/* Rows that are longer than the buffer, and more cells than there is room for at first. */
static void check_long(void)
{
    enum { CELLS = 50000, WIDTH = 8 };
    struct input *input;
    struct csv_rows *rows;
    const char *member;
    char *bytes = malloc(2 * CELLS * WIDTH);
    bool more = true, right = true;
    size_t length;
    for (int i = 0; i < 2 * CELLS; i++) {
        char cell[16];
        snprintf(cell, sizeof cell, "%7d%c", i, i % CELLS == CELLS - 1 ? '\n' : ',');
        memcpy(bytes + i * WIDTH, cell, WIDTH);
    }
    if (input_of_memory(bytes, 2 * CELLS * WIDTH, "table", &input) != UNROLL_OK ||
        input_next(input, &member) != UNROLL_OK || csv_rows_new(input, ',', true, false, &rows) != UNROLL_OK)
        abort();
    csv_rows_begin_member(rows, 0, false);
    for (int row = 0; row < 2; row++) {
        right = right && csv_rows_next(rows, &more) == UNROLL_OK && more && csv_rows_cells(rows) == CELLS;
        for (int i = 0; right && i < CELLS; i++) right = atoi(csv_rows_cell(rows, i, &length)) == row * CELLS + i;
    }
    CHECK(right && csv_rows_next(rows, &more) == UNROLL_OK && !more, "a row of %d cells", CELLS);
    csv_rows_free(rows);
    input_close(input);
    free(bytes);
}

/* ---- for check_csv.py ---- */

/* The beginning of a table is divided into the same rows as the whole, or waits for more bytes. */
static void check_prefixes(const char *bytes, size_t size, char delimiter)
{
    struct csv_cell cell[64], first[64];
    char copy[TEXT];
    struct csv_row whole = {.cell = first, .room = 64}, part = {.cell = cell, .room = 64};
    memcpy(copy, bytes, size);
    const size_t used = csv_cut(copy, size, true, delimiter, '"', &whole);
    for (size_t i = 0; i < size; i++) {
        const size_t cut = csv_cut(copy, i, false, delimiter, '"', &part);

        if (cut && (cut != used || part.cells != whole.cells || memcmp(cell, first, (size_t)part.cells * sizeof *cell)))
            printf("<a prefix of %zu bytes is cut differently>", i);
    }
}

static int print_tables(void)
{
    static char bytes[TEXT];
    char delimiter, text[TEXT];
    size_t size;
    while (scanf("%c %zu", &delimiter, &size) == 2 && getchar() == '\n' && fread(bytes, 1, size, stdin) == size) {
        check_prefixes(bytes, size, delimiter);
        fputs(print_rows(bytes, size, delimiter, true, 0, false, text), stdout);
        putchar(0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return print_tables();
    check_rows();
    check_long();
    CHECK(memory_live() == 0, "memory is left");
    return check_finish("test_csv");
}
