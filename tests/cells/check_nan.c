/* A NaN in any value that a kernel reads must propagate to every value that depends on it, and to no other unit. The
 * dependencies are taken from the records. */
/* test: kinds=plain,long-memory; with=cells/toys_*,cells/toy_records */
#include "tests/cells/depends.h"
#include "isa.h"
#include "unit.h"
#include "worst.h"

enum { SICK = 21 }; /* the unit that gets the NaN */

static void fill(struct unit *unit)
{
    uint64_t seed = 13;
    for (float *p = unit->value.in[0]; p < &unit->option_clip; p++) *p = (float)random_number(&seed);
    unit->option_clip = 0.5f;
}

static int wrong_numbers(struct unit *unit, const struct cell_declaration *cell, const struct record *record,
                         const char *input)
{
    int wrong = 0;
    for (int i = 0; i < record->results; i++) {
        const float *number = unit_named(unit, cell, record->result[i].name);
        bool depends = record_depends(record->result[i].node, input);
        for (int u = 0; u < UNITS; u++) wrong += !isnan(number[u]) != !(depends && u == SICK);
        if (depends && !isnan(number[SICK]))
            printf("%s: a NaN in %s does not reach %s\n", record->name, input, record->result[i].name);
    }
    return wrong;
}

static int wrong_with_nan(cell_kernel *kernel, const struct cell_declaration *cell, const struct record *record)
{
    int wrong = 0;
    for (int i = 0; i < record->nodes; i++) {
        static struct unit unit;
        const char *input = record->node[i].input;
        if (record->node[i].kind != NODE_INPUT || !strcmp(input, "option_clip"))
            continue;
        fill(&unit);
        unit_named(&unit, cell, input)[SICK] = NAN;
        struct cell_step step = unit_step(&unit, UNITS);
        kernel(&step);
        wrong += wrong_numbers(&unit, cell, record, input);
    }
    return wrong;
}

/* Cells with configurable functions have no record of their own; their dependencies are those of the plain ones. */
static bool find_record(const struct cell_recorder *recorders, const char *cell, struct cell_record *record)
{
    char name[32];
    snprintf(name, sizeof name, "%s", cell);
    char *any = strstr(name, "_any");
    if (any)
        *any = 0;
    return cell_record_named(recorders, name, record);
}

static void check_table(const char *isa, const struct cell_kernels *const *table, const struct cell_recorder *recorders)
{
    static struct cell_record record;
    for (; *table; table++) {
        const struct cell_declaration *cell = (*table)->declaration;
        int wrong = 0;
        if (!CHECK(find_record(recorders, cell->name, &record), "%s has no record", cell->name))
            continue;
        for (int phase = 0; phase < cell->phases; phase++) {
            wrong += wrong_with_nan((*table)->forward[phase], cell, &record.forward[phase]);
            wrong += wrong_with_nan((*table)->backward[phase], cell, &record.backward[phase]);
        }
        CHECK(wrong == 0, "%s, %s: %d numbers are or are not NaN against what they depend on", isa, cell->name, wrong);
    }
}

int main(void)
{
    struct isa_table isa[MOST_ISAS];
    find_isas(isa);
    check_table("scalar", cells_scalar, cell_recorders);
    check_table("scalar", toys_scalar, toy_recorders);
    for (int i = 0; isa[i].name && !isa[i].int8_alone; i++) {
        check_table(isa[i].name, isa[i].cells, cell_recorders);
        check_table(isa[i].name, isa[i].toys, toy_recorders);
    }
    return check_finish("check_nan");
}
