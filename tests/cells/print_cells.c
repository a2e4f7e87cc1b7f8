/* print_cells c | stablehlo: prints the cells of the library and of the tests from their records, for check_printed.c.
 * Part of the tests; users have `unroll export`. */
#include "toys.h"
#include <string.h>

/* print_c.c; print_stablehlo.c: every input and result is a tensor of this type. */
void print_c(FILE *file, const struct record *record);
void print_stablehlo(FILE *file, const struct record *record, const char *tensor);

typedef void record_visitor(const struct record *record);

static void visit_table(const struct cell_recorder *table, record_visitor *visit)
{
    static struct cell_record cell;
    for (; table->name; table++) {
        table->record(&cell);
        for (int phase = 0; !cell_record_refusal(&cell) && phase < cell.declaration->phases; phase++) {
            visit(&cell.forward[phase]);
            visit(&cell.backward[phase]);
        }
    }
}

static void visit_all(record_visitor *visit)
{
    visit_table(cell_recorders, visit);
    visit_table(toy_recorders, visit);
}

static void print_as_c(const struct record *record) { print_c(stdout, record); }

static void print_as_stablehlo(const struct record *record) { print_stablehlo(stdout, record, "8x128xf32"); }

/* Prints a table entry, so that a program that compiles the printed C can find the functions by name. */
static void print_entry(const struct record *record) { printf("    { \"%s\", %s },\n", record->name, record->name); }

int main(int count, char **word)
{
    if (count == 2 && !strcmp(word[1], "stablehlo")) {
        puts("module @cells {");
        visit_all(print_as_stablehlo);
        puts("}");
        return 0;
    }
    if (count == 2 && !strcmp(word[1], "c")) {
        puts("/* printed by print_cells */\n#include <math.h>\n\n"
             "static float sigmoidf(float x) { return 1 / (1 + expf(-x)); }\n");
        visit_all(print_as_c);
        puts("const struct { const char *name; void (*run)(const float *, float *); }\n"
             "printed_activations[] = {");
        visit_all(print_entry);
        puts("    { 0, 0 }\n};");
        return 0;
    }
    fprintf(stderr, "usage: print_cells c | stablehlo\n");
    return 2;
}
