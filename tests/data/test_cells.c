/* Numbers and times of cells: the quick ways agree with strtod and with the slow way, to the last bit; and numbers that
 * were kept from the first run are those that the last one would read. */
/* test: kinds=plain,memory */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/philox.h"
#include "check.h"
#include "data/builder/table_cell.h"
#include "data/readers/reader_table.h"

enum { NUMBERS = 200000, TIMES = 20000, ROWS = 3000 };

static int below(struct rng *rng, int limit) { return (int)rng_below(rng, (uint64_t)limit); }

static void write_number(struct rng *rng, char text[64])
{
    const int whole = below(rng, 12), fraction = below(rng, 22);
    int used = snprintf(text, 64, "%s", below(rng, 3) ? "" : "-");
    for (int i = 0; i < whole || (i == 0 && fraction == 0); i++) text[used++] = (char)('0' + below(rng, 10));
    if (fraction || below(rng, 2))
        text[used++] = '.';
    for (int i = 0; i < fraction; i++) text[used++] = (char)('0' + below(rng, 10));
    text[used] = '\0';
    if (below(rng, 4) == 0)
        snprintf(text + used, 64 - (size_t)used, "%c%d", below(rng, 2) ? 'e' : 'E', below(rng, 61) - 30);
}

static void test_numbers(void)
{
    struct rng rng = rng_at(1, 0, 0);
    char text[64];
    double value;
    int wrong = 0;
    for (int i = 0; i < NUMBERS; i++) {
        if (i % 2)
            write_number(&rng, text);
        else
            snprintf(text, sizeof text, "%.17g", ldexp((double)rng_below(&rng, UINT64_MAX), below(&rng, 120) - 100));
        const double wanted = strtod(text, NULL);
        if (!cell_number(text, strlen(text), &value) || memcmp(&value, &wanted, sizeof value) != 0) {
            if (wrong++ == 0)
                CHECK(false, "'%s' is %.17g instead of %.17g", text, value, wanted);
        }
    }
    CHECK(wrong == 0, "%d of %d numbers are wrong", wrong, NUMBERS);
    static const char *const none[] = {"",      ".",    "-",   "+",   "e5",  "1e",  "1e+",    "1e5x",
                                       "1.2.3", "0x10", "inf", "nan", "1 2", "--1", "1e99999"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(!cell_number(none[i], strlen(none[i]), &value), "'%s' is no number", none[i]);
}

/* With a zone the same time is read by its parts. */
static void test_times(void)
{
    struct rng rng = rng_at(2, 0, 0);
    char quick[32], slow[40];
    struct time_read a, b;
    for (int i = 0; i < TIMES; i++) {
        snprintf(quick, sizeof quick, "%04d-%02d-%02d%c%02d:%02d:%02d", 1600 + below(&rng, 800), below(&rng, 14),
                 below(&rng, 33), below(&rng, 2) ? 'T' : ' ', below(&rng, 25), below(&rng, 61), below(&rng, 61));
        if (i % 3 == 0)
            quick[16] = '\0';
        snprintf(slow, sizeof slow, "%sZ", quick);
        const bool read = cell_time(quick, strlen(quick), TIME_TEXT_FREE, &a);
        const bool wanted = cell_time(slow, strlen(slow), TIME_TEXT_FREE, &b);
        check_next_case();
        if (read != wanted || (read && a.seconds != b.seconds))
            CHECK(false, "'%s' is %d %.0f instead of %d %.0f", quick, read, a.seconds, wanted, b.seconds);
    }
    CHECK(cell_time("2024-02-29", 10, TIME_TEXT_FREE, &a) && a.seconds == 1709164800, "a leap day");
    CHECK(!cell_time("2023-02-29", 10, TIME_TEXT_FREE, &a), "no leap day");
}

/* The second table has a column of strings in front, so that the last run is needed. */
static void test_kept(void)
{
    char *tables[2] = {calloc(ROWS, 64), calloc(ROWS, 64)};
    unroll_dataset *data[2] = {NULL};
    struct rng rng = rng_at(3, 0, 0);
    strcpy(tables[0], "a,b\n"), strcpy(tables[1], "k,a,b\n");
    for (int i = 0; i < ROWS; i++) {
        char row[48];
        snprintf(row, sizeof row, below(&rng, 9) ? "%d,%.6f\n" : "%d,\n", below(&rng, 1 << 30),
                 below(&rng, 1 << 20) / 977.0);
        strcat(tables[0], row);
        strcat(strcat(tables[1], i % 2 ? "u," : "v,"), row);
    }
    for (int i = 0; i < 2; i++)
        CHECK(dataset_parse(tables[i], strlen(tables[i]), "t.csv", NULL, NULL, NULL, &data[i]) == UNROLL_OK, "%s",
              unroll_last_error());
    for (int c = 0; c < 2; c++) {
        const struct column *kept = &data[0]->column[c], *read = &data[1]->column[c + 1];
        CHECK(kept->missing == read->missing && memcmp(kept->numbers, read->numbers, ROWS * sizeof(float)) == 0,
              "column %s differs", kept->name);
    }
    for (int i = 0; i < 2; i++) {
        unroll_dataset_free(data[i]);
        free(tables[i]);
    }
}

int main(void)
{
    test_numbers();
    test_times();
    test_kept();
    CHECK(memory_live() == 0, "memory is left");
    return check_finish("test_cells");
}
