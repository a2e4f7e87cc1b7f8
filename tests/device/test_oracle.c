/* The interpreter that verifies StableHLO programs (oracle.h) must detect errors: each damage to a valid program is
 * found. Also compares the programs of some plans with the reviewed ones in tests/device/golden, rewritten with
 * UPDATE=1. Usage: test_oracle, from the top folder */
/* test: kinds=plain,long-memory; with=device/oracle_read,device/oracle_rules,device/oracle_dot,device/oracle_run,device/oracle_devices */
#include "check.h"
#include "device/oracle.h"
#include "extensions/xla/translate.h"
#include "unroll.h"
#include "unroll_network.h"
#include <stdlib.h>
#include <string.h>

struct example {
    const char *name, *cell;
    int both;
    enum phase phase;
    int lengths;
};

/* Translates one part of a small plan; the caller frees the translation. */
static bool example_text(const struct example *e, struct translation *t)
{
    unroll_model_config spec = unroll_model_config_default();
    struct plan_config config = plan_config_default();
    unroll_model *model;
    struct plan *plan;
    spec.cell = e->cell;
    spec.hidden = 3, spec.layers = 1, spec.bidirectional = e->both;
    spec.input = 3, spec.output = 4, spec.loss = "mse";
    config.T = 5, config.B = 2, config.lengths = e->lengths;
    config.optimizer_states = 2, config.optimizer = 3;
    if (!CHECK(unroll_model_new(&spec, 1, &model) == UNROLL_OK, "%s: %s", e->name, unroll_last_error()))
        return false;
    bool good = CHECK(plan_new(model, &config, &plan) == UNROLL_OK, "%s: %s", e->name, unroll_last_error());
    if (good) {
        good = CHECK(translate(plan, e->phase, e->name, t) == UNROLL_OK, "%s: %s", e->name, unroll_last_error());
        plan_free(plan);
    }
    unroll_model_free(model);
    return good;
}

/* ---- damage ---------------------------------------------------------------------------- */

/* Returns the text with the first `from` replaced, or NULL if it does not occur. */
static char *replaced(const struct translation *t, const char *from, const char *to)
{
    char *text = calloc(t->h.size + strlen(to) + 1, 1);
    memcpy(text, t->h.text, t->h.size);
    char *at = strstr(text, from);
    if (!at) {
        free(text);
        return NULL;
    }
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
    return text;
}

static void test_damage(const struct translation *t, const char *from, const char *to, const char *words)
{
    char *text = replaced(t, from, to), error[400] = "nothing was found";
    if (!CHECK(text != NULL, "the text has no '%s'", from))
        return;
    struct oracle *o = oracle_read(text, strlen(text), error, sizeof error);
    CHECK(!o && strstr(error, words), "'%s' for '%s' is refused with '%s': %s", to, from, words, error);
    if (o)
        oracle_free(o);
    free(text);
}

static void test_damages(void)
{
    static const struct example example = {"damaged", "lstm", 0, PHASE_FORWARD, 1};
    static const struct {
        const char *from, *to, *words;
    } damages[] = {{"stablehlo.logistic", "stablehlo.magistic", "no operation"},
                   {"stablehlo.multiply\"(%v", "stablehlo.multiply\"(%v9", "out of bounds"},
                   {"tensor<5x2x3xf32>", "tensor<5x3x3xf32>", "type"},
                   {"lhs_contracting_dimensions = [2]", "lhs_contracting_dimensions = [1]", "differ"},
                   {"rhs_contracting_dimensions = [1]", "rhs_contracting_dimensions = [7]", "one axis"},
                   {"<precision HIGHEST>", "", "no precision"},
                   {"limit_indices = array<i64: ", "limit_indices = array<i64: 9", "out of bounds"},
                   {"broadcast_dimensions = array<i64: 2>", "broadcast_dimensions = array<i64: 1>", "do not fit"},
                   {"slice_sizes = array<i64: 1, ", "slice_sizes = array<i64: 2, ", "type"},
                   {"comparison_direction", "direction", "no 'comparison_direction'"},
                   {"\"stablehlo.return\"(", "\"stablehlo.return\"(%v0, ", "types"},
                   {"func.return\"(%v", "func.return\"(%v0, %v", "types"},
                   {"-> tensor<5x2xi1>", "-> tensor<5x2xi32>", "type"},
                   {"i32}", "i32", "bracket"},
                   {"%v1: ", "%v0: ", "twice"}};
    struct translation t;
    char error[400];
    if (!example_text(&example, &t))
        return;
    struct oracle *o = oracle_read(t.h.text, t.h.size, error, sizeof error);
    CHECK(o != NULL, "undamaged it is read: %s", error);
    if (o)
        oracle_free(o);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++)
        test_damage(&t, damages[i].from, damages[i].to, damages[i].words);
    for (size_t size = 0; size < t.h.size; size += 97) {
        o = oracle_read(t.h.text, size, error, sizeof error);
        CHECK(!o, "%zu bytes are no program", size);
        if (o)
            oracle_free(o);
    }
    translation_free(&t);
    if (!example_text(&(struct example){"damaged", "lstm", 0, PHASE_BACKWARD, 1}, &t))
        return;
    test_damage(&t, " {tf.aliasing_output = 0 : i32}", " {tf.aliasing_output = 1 : i32}", "become");
    translation_free(&t);
}

/* A donated argument goes to one result of its type. */
static void test_damaged_aliases(void)
{
    static const struct example example = {"donating", "lstm", 0, PHASE_UPDATE, 0};
    struct translation t;
    if (!example_text(&example, &t))
        return;
    test_damage(&t, "{tf.aliasing_output = 0 : i32}", "{tf.aliasing_output = 1 : i32}", "become");
    test_damage(&t, "{tf.aliasing_output = 0 : i32}", "{tf.aliasing_output = 999 : i32}", "become");
    translation_free(&t);
}

/* ---- goldens --------------------------------------------------------------------------- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t size = 0, room = 1 << 20;
    char *text = calloc(room, 1);
    if (file) {
        size = fread(text, 1, room - 1, file);
        fclose(file);
    }
    text[size] = 0;
    return text;
}

static void test_golden(const struct example *e)
{
    char path[100];
    struct translation t;
    if (!example_text(e, &t))
        return;
    snprintf(path, sizeof path, "tests/device/golden/%s.mlir", e->name);
    if (getenv("UPDATE")) {
        FILE *file = fopen(path, "w");
        CHECK(file && fwrite(t.h.text, 1, t.h.size, file) == t.h.size, "%s is written", path);
        if (file)
            fclose(file);
    }
    char *golden = read_file(path);
    CHECK(strlen(golden) == t.h.size && !memcmp(golden, t.h.text, t.h.size),
          "%s has another text; if it is meant: UPDATE=1 test_oracle, and read the difference", path);
    free(golden);
    translation_free(&t);
}

int main(void)
{
    static const struct example examples[] = {{"rnn_forward", "rnn", 0, PHASE_FORWARD, 0},
                                              {"lstm_backward", "lstm", 0, PHASE_BACKWARD, 1},
                                              {"gru_before_backward", "gru-before", 0, PHASE_BACKWARD, 0},
                                              {"gru_both_forward", "gru", 1, PHASE_FORWARD, 1},
                                              {"mingru_sum", "mingru", 0, PHASE_SUM, 0}};
    test_damages();
    test_damaged_aliases();
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) test_golden(&examples[i]);
    return check_finish("test_oracle");
}
