/* bf16 and int8 weights over the list of cases give the same outputs and states, bit for bit, on every ISA, with
 * threads, queues and chunks. bf16 equals an fp32 model with rounded weights; int8 is near fp32. If tiles multiply
 * bf16, the bits differ, but the values are near. Usage: test_weights cases.txt [part of a line] */
/* test: with=cases/case; args=tests/cases/cases.txt; seconds=20 */
/* test: args=tests/cases/wide.txt; seconds=20 */
#include "base/dtype.h"
#include "cases/case.h"
#include "check.h"
#include "listed.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 2 };

struct way {
    const char *weights, *isa;
    int threads, queues, chunks;
    bool rounded;
};

struct outputs {
    float *at;
    size_t count;
    bool by_tiles;
};

/* True for packed matrices: those of products, except projections. A tied embedding is also a table. */
static bool is_narrow(const char *name)
{
    return strstr(name, "weight_ih") || strstr(name, "weight_hh") || !strcmp(name, "head.weight");
}

static void round_weights(unroll_model *model)
{
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        unroll_parameter p = {.size = sizeof p};
        unroll_model_parameter(model, i, &p);
        size_t n = (size_t)p.shape[0] * (size_t)(p.rank > 1 ? p.shape[1] : 1);
        for (size_t k = 0; k < n && is_narrow(p.name); k++) p.data[k] = bf16_to_f32(f32_to_bf16(p.data[k]));
    }
}

static void append(struct outputs *o, unroll_session *session, const char *name)
{
    size_t n = unroll_session_count(session, name);
    o->at = realloc(o->at, (o->count + n + 1) * sizeof *o->at);
    if (n && CHECK(unroll_session_read(session, name, o->at + o->count, n) == UNROLL_OK, "%s", unroll_last_error()))
        o->count += n;
}

static void append_all(struct outputs *o, const struct test_case *c, unroll_session *session)
{
    static const char *const states[] = {"hn.l%d", "sn.l%d", "hn.l%d.reverse", "sn.l%d.reverse"};
    append(o, session, "z");
    for (int layer = 0; layer < c->spec.layers; layer++)
        for (int i = 0; i < 4; i++) {
            char name[32];
            snprintf(name, sizeof name, states[i], layer);
            append(o, session, name);
        }
}

/* Returns the outputs and states of two batches from the same start. */
static struct outputs run(const struct test_case *c, const struct way *way)
{
    struct outputs o = {0};
    unroll_model *model;
    unroll_session *session;
    unroll_session_config config = c->session;
    config.mode = UNROLL_INFER;
    config.machine.dtype = way->weights;
    config.machine.isa = way->isa;
    config.machine.threads = way->threads;
    config.machine.queues = way->queues;
    config.machine.chunks = way->chunks < config.steps ? way->chunks : config.steps;
    if (!CHECK(unroll_model_new(&c->spec, 3, &model) == UNROLL_OK, "%s: %s", c->line, unroll_last_error()))
        return o;
    if (way->rounded)
        round_weights(model);
    if (CHECK(unroll_session_new(model, &config, &session) == UNROLL_OK, "%s: %s", c->line, unroll_last_error())) {
        for (int i = 0; i < RUNS; i++) {
            struct case_batch *b = case_batch_new(c, 100 + (uint64_t)i);
            b->batch.targets = NULL;
            b->batch.target_values = NULL;
            CHECK(unroll_session_forward(session, &b->batch) == UNROLL_OK, "%s: %s", c->line, unroll_last_error());
            append_all(&o, c, session);
            case_batch_free(b);
        }
        o.by_tiles = !strcmp(unroll_session_isa(session), "amx");
        unroll_session_free(session);
    }
    unroll_model_free(model);
    return o;
}

static void same_bits(const struct test_case *c, const struct outputs *wanted, const struct way *way)
{
    struct outputs got = run(c, way);
    size_t different = 0;
    for (size_t i = 0; i < got.count && got.count == wanted->count; i++)
        different += memcmp(&got.at[i], &wanted->at[i], sizeof *got.at) != 0;
    CHECK(got.count == wanted->count && got.count > 0 && !different,
          "%s: %s on %s, %d threads, %d queues, %d chunks: %zu of %zu numbers differ", c->line, way->weights, way->isa,
          way->threads, way->queues, way->chunks, different, got.count);
    free(got.at);
}

/* Checks that a and b differ, but by at most `max` relative to the outputs' scale. */
static void near(const struct test_case *c, const struct outputs *a, const struct outputs *b, double max,
                 const char *weights)
{
    double worst = 0, scale = 1, differences = 0;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        double d = fabs((double)a->at[i] - (double)b->at[i]);
        scale = fmax(scale, fabs((double)b->at[i]));
        worst = d <= worst ? worst : d;
        differences += d > 0;
    }
    CHECK(a->count == b->count && worst <= max * scale && differences > 0, "%s: %s is off by %.3g", c->line, weights,
          worst);
}

/* Runs the ISA in its first way as the reference, and in its others. */
static void test_isa(const struct test_case *c, const char *weights, const char *isa, const struct outputs *reference)
{
    enum { ROUNDINGS = 16 }; /* roundings that a step passes on, at most */
    static const int ways[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 2, 3}, {7, 3, 6}};
    struct outputs first = run(c, &(struct way){weights, isa, 1, 1, 1, false});
    const bool own_bits = first.by_tiles && !strcmp(weights, "bf16");
    if (own_bits)
        near(c, &first, reference, ROUNDINGS * FLT_EPSILON, "bf16 by tiles");
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        same_bits(c, own_bits ? &first : reference,
                  &(struct way){weights, isa, ways[w][0], ways[w][1], ways[w][2], false});
    free(first.at);
}

static void test_weights(const struct test_case *c, const char *weights)
{
    struct outputs reference = run(c, &(struct way){weights, "scalar", 1, 1, 1, false});
    struct outputs exact = run(c, &(struct way){"fp32", "scalar", 1, 1, 1, false});
    const char *isa;
    int available;
    for (int i = 0; (isa = listed_isa(i, &available)); i++)
        if (available)
            test_isa(c, weights, isa, &reference);
    if (!strcmp(weights, "bf16") && !c->spec.tied)
        same_bits(c, &reference, &(struct way){"fp32", "scalar", 1, 1, 1, true});
    near(c, &reference, &exact, 0.1, weights); /* each step passes its rounding error on to the next */
    free(reference.at);
    free(exact.at);
}

int main(int argc, char **argv)
{
    setenv("UNROLL_ADAPTIVE", "together", 1); /* small networks, too, must run on all threads */
    struct test_case *cases;
    if (argc < 2) {
        fprintf(stderr, "usage: test_weights cases.txt [part of a line]\n");
        return 2;
    }
    int count = cases_read(argv[1], argc > 2 ? argv[2] : NULL, &cases);
    for (int i = 0; i < count; i++) {
        check_next_case();
        test_weights(&cases[i], "bf16");
        check_next_case();
        test_weights(&cases[i], "int8");
    }
    free(cases);
    return check_finish("weights");
}
