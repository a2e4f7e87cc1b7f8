/* Compares printed code with the scalar kernels. The printed C is compiled into this program; the printed StableHLO, a
 * file named on the command line, is run by a small interpreter. Also checks what a record refuses, and which inputs it
 * lists as used. */
/* test: with=cells/toys_scalar,cells/toy_records; args=$B/tests/printed.mlir */
#include "tests/cells/depends.h"
#include "toys.h"
#include "unit.h"
#include "worst.h"
#include <stdlib.h>

extern const struct {
    const char *name;
    void (*run)(const float *, float *);
} printed_activations[];

/* ---- the interpreter of printed StableHLO ------------------------------------------------ */

/* Values by their numbers; every tensor has one element. */
struct evaluation {
    float v[RECORD_NODES], m[RECORD_NODES];
};

static float *place(struct evaluation *e, const char *name) { return (name[1] == 'm' ? e->m : e->v) + atoi(name + 2); }

/* Computes an operation of StableHLO by its name. */
static float applied(const char *operation, float x, float y)
{
    const struct {
        const char *name;
        float value;
    } known[] = {{"add", x + y},
                 {"subtract", x - y},
                 {"multiply", x * y},
                 {"divide", x / y},
                 {"minimum", fminf(x, y)},
                 {"maximum", fmaxf(x, y)},
                 {"compare", x < y},
                 {"convert", x},
                 {"abs", fabsf(x)},
                 {"sqrt", sqrtf(x)},
                 {"exponential", expf(x)},
                 {"log", logf(x)},
                 {"logistic", 1 / (1 + expf(-x))},
                 {"tanh", tanhf(x)}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, operation))
            return known[i].value;
    return NAN;
}

static void evaluate_line(struct evaluation *e, const char *line)
{
    char to[16], operation[32], a[16] = "%v0", b[16] = "%v0";
    const char *form = " %15[%vm0-9] = \"stablehlo.%31[a-z]\"(%15[%vm0-9], %15[%vm0-9])";
    if (sscanf(line, form, to, operation, a, b) < 2)
        return;
    if (!strcmp(operation, "constant"))
        *place(e, to) = strtof(strstr(line, "dense<") + 6, NULL);
    else
        *place(e, to) = applied(operation, *place(e, a), *place(e, b));
}

static void read_results(const struct evaluation *e, const char *line, float *result)
{
    for (const char *p = strchr(line, '%'); p; p = strchr(p + 1, '%')) *result++ = e->v[atoi(p + 2)];
}

static void evaluate(FILE *file, const char *name, const float *input, int inputs, float *result)
{
    struct evaluation e = {.v = {0}};
    char line[8192] = "", head[64];
    snprintf(head, sizeof head, "func.func @%s(", name);
    memcpy(e.v, input, inputs * sizeof *input);
    rewind(file);
    while (fgets(line, sizeof line, file) && !strstr(line, head));
    while (fgets(line, sizeof line, file) && !strstr(line, "func.return")) evaluate_line(&e, line);
    read_results(&e, line, result);
}

/* ---- the comparison ---------------------------------------------------------------------- */

static void run_printed_c(const char *name, const float *input, float *result)
{
    result[0] = NAN; /* in case the function does not exist */
    for (int i = 0; printed_activations[i].name; i++)
        if (!strcmp(printed_activations[i].name, name))
            printed_activations[i].run(input, result);
}

static int inputs_of(struct unit *unit, const struct cell_declaration *cell, const struct record *record, float *input)
{
    int count = 0;
    for (int i = 0; i < record->nodes; i++)
        if (record->node[i].kind == NODE_INPUT)
            input[count++] = *unit_named(unit, cell, record->node[i].input);
    return count;
}

static double worst_difference(struct unit *unit, const struct cell_declaration *cell, const struct record *record,
                               const float *result)
{
    double worst = 0;
    for (int i = 0; i < record->results; i++) {
        float expected = *unit_named(unit, cell, record->result[i].name);
        worst = worse(worst, fabs(result[i] - expected) / (1 + fabs(expected)));
    }
    return worst;
}

/* Compares a cell's kernel with its printed C and StableHLO on random inputs. */
static void compare(const struct cell_declaration *cell, cell_kernel *kernel, const struct record *record,
                    FILE *stablehlo)
{
    uint64_t seed = 3;
    double worst_c = 0, worst_stablehlo = 0;
    for (int trial = 0; trial < 100; trial++) {
        static struct unit unit;
        float input[RECORD_NODES], result[RECORD_RESULTS] = {0};
        for (float *p = unit.value.in[0]; p < &unit.option_clip; p++) *p = (float)random_number(&seed);
        unit.option_clip = 0.5f;
        int inputs = inputs_of(&unit, cell, record, input);
        struct cell_step step = unit_step(&unit, 1);
        kernel(&step);
        run_printed_c(record->name, input, result);
        worst_c = worse(worst_c, worst_difference(&unit, cell, record, result));
        evaluate(stablehlo, record->name, input, inputs, result);
        worst_stablehlo = worse(worst_stablehlo, worst_difference(&unit, cell, record, result));
    }
    check_worst("printed C", record->name, worst_c, 1e-6);
    check_worst("stablehlo", record->name, worst_stablehlo, 1e-6);
}

static void compare_table(const struct cell_kernels *const *table, const struct cell_recorder *recorders,
                          FILE *stablehlo)
{
    static struct cell_record record;
    for (; *table; table++) {
        const struct cell_declaration *cell = (*table)->declaration;
        if (strstr(cell->name, "_any"))
            continue; /* its function is known only at run time */
        if (!CHECK(cell_record_named(recorders, cell->name, &record), "%s has no record", cell->name))
            continue;
        const char *refusal = cell_record_refusal(&record);
        if (!CHECK(refusal == NULL, "%s", refusal))
            continue;
        for (int phase = 0; phase < cell->phases; phase++) {
            compare(cell, (*table)->forward[phase], &record.forward[phase], stablehlo);
            compare(cell, (*table)->backward[phase], &record.backward[phase], stablehlo);
        }
    }
}

/* Configurable functions are written to a key and read back, and each is in the record. */
static void check_keys(void)
{
    static const char *const bad[] = {"lstm_any",
                                      "lstm_any_2_0_0_2_0_0_2_0_0_0",
                                      "lstm_any_63_0_0_2_0_0_2_0_0_0_0",
                                      "lstm_any_2_0_0_2_0_0_2_0_0_0_0x",
                                      "lstm_any_2_0_0_2_0_0",
                                      "toy",
                                      ""};
    static struct cell_record record;
    struct cell_options read;
    char key[CELL_KEY];
    for (int i = 0; cells_scalar[i]; i++) {
        const struct cell_declaration *cell = cells_scalar[i]->declaration;
        struct cell_options o = {.clip = 1.5f, .input_forget = cell->couples};
        for (int k = 0; k < CELL_ACTIVATIONS; k++) {
            o.function[k].kind = k == 1 ? ACTIVATION_SOFTPLUS : ACTIVATION_ELU;
            o.function[k].alpha = 0.25f + (float)k, o.function[k].beta = -0.1f;
        }
        cell_key(cell, &o, key);
        CHECK(cell_record_key(key, &record) && !strcmp(record.declaration->name, cell->name) &&
                  !cell_record_refusal(&record),
              "the record of %s", key);
        CHECK(!cell->chooses || record_uses(&record.forward[0], "in_f") == !o.input_forget ||
                  strncmp(cell->name, "lstm", 4) != 0,
              "coupled gates of %s", key);
        if (!cell->chooses)
            continue;
        CHECK(cell_key_read(key, cell->name, &read) && read.clip >= o.clip && read.clip <= o.clip &&
                  read.input_forget == o.input_forget && !memcmp(read.function, o.function, sizeof o.function),
              "%s is read as it was written", key);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!cell_record_key(bad[i], &record), "'%s' is no key", bad[i]);
}

static void check_questions(void)
{
    static struct cell_record record;
    CHECK(cell_record_named(toy_recorders, "toy_wrong", &record), "no toy_wrong");
    CHECK(!strcmp(record.forward[0].refusal, "toy_wrong_forward: does not write a required field"), "instead: %s",
          record.forward[0].refusal);
    CHECK(!strcmp(record.backward[0].refusal, "toy_wrong_backward: reads a field that its phase does not have"),
          "instead: %s", record.backward[0].refusal);
    CHECK(cell_record_refusal(&record) == record.forward[0].refusal, "toy_wrong is good");
    CHECK(!cell_record_named(cell_recorders, "toy", &record), "a cell of the tests is in the library");
    CHECK(cell_record_named(cell_recorders, "gru_before", &record), "no gru_before");
    CHECK(!record_uses(&record.backward[0], "next_h") && record_uses(&record.backward[0], "state_h"),
          "what gru_before's backward uses");
    CHECK(cell_find(cells_scalar, "gru_before")->declaration->phases == 2, "gru_before has two phases");
    CHECK(cell_find(cells_scalar, "toy") == NULL && cell_find(toys_scalar, "toy") != NULL, "cell_find");
}

int main(int count, char **word)
{
    FILE *stablehlo = count > 1 ? fopen(word[1], "r") : NULL;
    if (CHECK(stablehlo != NULL, "the first argument must be the printed StableHLO")) {
        compare_table(cells_scalar, cell_recorders, stablehlo);
        compare_table(toys_scalar, toy_recorders, stablehlo);
        fclose(stablehlo);
    }
    check_keys();
    check_questions();
    return check_finish("check_printed");
}
