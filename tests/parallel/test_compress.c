/* Compressors alone: a decoded code and its residual add up to the values, sizes are as stated, and damaged codes are
 * refused. In trainings of workers: rows have the bits of sums, other compressors learn, residuals are in checkpoints
 * for any number of workers, and sizes are those of the plan. */
/* test: seconds=5 */
#include "extensions/cluster/compress/compress.h"
#include "workers.h"
#include <math.h>

static char folder[] = "/tmp/test_compress.XXXXXX";
static float one[WORKERS_WEIGHTS], two[WORKERS_WEIGHTS];
static const char *const all[] = {"rows", "half", "topk:0.05", "topk:7", "lowrank:1", "lowrank:4"};
enum { ALL = sizeof all / sizeof *all, MOST = 40 * 30 };

static unsigned state = 7;
static float draw(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) * 0x1p-23f - 1;
}

/* ---- compressors ------------------------------------------------------------------------------ */

static void fill(const struct matrix *m, int kind, float *x)
{
    for (size_t i = 0; i < m->rows * m->columns; i++)
        x[i] = kind == 0 ? draw() : kind == 1 ? (i / m->columns % 5 ? 0 : draw()) : kind == 2 ? 0 : 1;
}

static double norm(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static void check_codes(const char *text, size_t rows, size_t columns, int kind)
{
    static float x[MOST], rest[MOST], said[MOST], again[MOST];
    static uint32_t code[2 * MOST + 64], scratch[1 << 16];
    const struct compressor *c;
    struct matrix m = {rows, columns, 0};
    const size_t count = rows * columns;
    MUST(compressor_read(text, &c, &m.level));
    fill(&m, kind, x);
    memcpy(rest, x, sizeof rest);
    memset(said, 0, sizeof said);
    size_t bytes = c->encode(&m, x, scratch, code);
    CHECK(c->varies ? bytes <= c->most(&m) : bytes == c->most(&m), "%s %zu x %zu: %zu bytes", text, rows, columns,
          bytes);
    CHECK(bytes % 4 == 0, "%s: %zu bytes", text, bytes);
    CHECK(c->decode(&m, code, bytes, -1, scratch, rest) && c->decode(&m, code, bytes, 1, scratch, said), "%s", text);
    double worst = 0;
    for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs((double)said[i] + (double)rest[i] - (double)x[i]));
    CHECK(worst < 1e-6, "%s %zu x %zu: code and rest differ from the numbers by %g", text, rows, columns, worst);
    CHECK(norm(rest, count) <= norm(x, count) * 1.0001, "%s %zu x %zu: the rest is larger", text, rows, columns);
    CHECK(c->loses || norm(rest, count) == 0, "%s loses something", text);
    c->encode(&m, x, scratch, code);
    memset(again, 0, sizeof again);
    CHECK(c->decode(&m, code, bytes, 1, scratch, again) && !memcmp(again, said, sizeof said), "%s: another code", text);
    CHECK(!c->decode(&m, code, bytes - 4, 1, scratch, again), "%s: a code that is too short", text);
    for (int i = 0; i < 200; i++) { /* arbitrary bytes decode to values within the matrix, or are refused */
        code[(unsigned)(draw() * 1000 + 1000) % (bytes / 4)] = state;
        (void)c->decode(&m, code, bytes, 1, scratch, again);
    }
}

/* A matrix of rank 2 is exact in a code of rank 4; topk keeps the largest values. */
static void check_exact_cases(void)
{
    static float x[MOST], said[MOST];
    static uint32_t code[2 * MOST], scratch[1 << 16];
    struct matrix m = {40, 30, 4};
    for (size_t i = 0; i < MOST; i++)
        x[i] = (float)(i / 30 % 7) * (float)(i % 30 % 5) * 0.1f + (float)(i / 30 % 3) * (float)(i % 30 % 4);
    CHECK(compress_lowrank.decode(&m, code, compress_lowrank.encode(&m, x, scratch, code), 1, scratch, said),
          "lowrank");
    double off = 0;
    for (size_t i = 0; i < MOST; i++) off = fmax(off, fabs((double)x[i] - (double)said[i]));
    CHECK(off < 0.02, "a matrix of rank 2 is off by %g of 8.4", off);
    memset(said, 0, sizeof said);
    m.level = 5;
    for (size_t i = 0; i < MOST; i++) x[i] = (i * 7919 % MOST) < 5 ? (i % 2 ? -2.f : 3.f) : (float)(i % 10) * 0.1f;
    CHECK(compress_topk.decode(&m, code, compress_topk.encode(&m, x, scratch, code), 1, scratch, said), "topk");
    for (size_t i = 0; i < MOST; i++)
        CHECK(fabsf(x[i]) >= 2 ? said[i] == x[i] : said[i] == 0, "topk: number %zu is %g of %g", i, (double)said[i],
              (double)x[i]);
}

/* ---- trainings ---------------------------------------------------------------------------- */

static void check_rows(void)
{
    for (int workers = 2; workers <= 5; workers++) {
        struct leg leg = {.sync = "every", .workers = workers, .until = 5, .embed = 6, .clip = 0.2};
        size_t count = leg_weights("every", &leg, one);
        leg.compress = "rows";
        leg_weights("rows", &leg, two);
        CHECK(!memcmp(one, two, count * sizeof *one), "rows of %d workers differ from sums by %g", workers,
              leg_difference(one, two, count));
    }
}

static void check_training(const char *sync, const char *compress, int workers, unroll_split mesh)
{
    char path[128], what[64];
    struct leg leg = {.sync = sync, .compress = compress, .workers = workers, .mesh = mesh, .until = 9};
    snprintf(path, sizeof path, "%s/half", folder);
    snprintf(what, sizeof what, "%s %s", sync, compress);
    size_t count = leg_weights(what, &leg, one);
    leg_weights(what, &leg, two);
    CHECK(!memcmp(one, two, count * sizeof *one), "%s: the same run has other bits", what);
    leg.until = 5;
    leg.to = path;
    leg_weights(what, &leg, two);
    leg.until = 9;
    leg.from = path;
    leg.to = NULL;
    leg_weights(what, &leg, two);
    CHECK(!memcmp(one, two, count * sizeof *one), "%s: resumed it differs by %g", what,
          leg_difference(one, two, count));
    leg.workers = workers + 1;
    leg_weights(what, &leg, two);
    leg = (struct leg){.until = 9, .from = path};
    leg_weights(what, &leg, two);
}

/* Error feedback compensates the loss of compression: after some updates the loss is near that with sums. */
static void check_learns(void)
{
    struct leg leg = {.sync = "every", .workers = 2, .until = 80};
    leg_weights("every", &leg, one);
    const double whole = leg_rank[0].validation;
    static const char *const ways[] = {"rows", "half", "topk:0.3", "lowrank:1", "lowrank:4"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        leg.compress = ways[i];
        leg_weights(ways[i], &leg, two);
        CHECK(leg_rank[0].validation < whole * 1.15, "%s: %g, sums %g", ways[i], leg_rank[0].validation, whole);
    }
}

static void check_bytes(void)
{
    for (size_t i = 0; i < ALL; i++) {
        struct leg leg = {.sync = "every", .workers = 3, .compress = all[i]};
        double sent[2];
        unroll_plan_config config = unroll_plan_config_default();
        unroll_model_config spec = leg_spec(&leg);
        double bytes, every;
        config.rows = 12;
        config.steps = 6;
        config.model_config = &spec;
        config.machine.workers = leg.workers;
        MUST(unroll_plan_sync_bytes(&config, leg.sync, leg.compress, &bytes, &every));
        for (int k = 0; k < 2; k++) {
            leg.until = 4 * (k + 1);
            leg_weights(all[i], &leg, one);
            sent[k] = (double)leg_rank[1].sent;
        }
        const double four = sent[1] - sent[0]; /* before the first update ranks also compare their weights */
        CHECK(every == 1 && (i == 0 ? four <= 4 * bytes && four > 0 : four == 4 * bytes), "%s: %g bytes, %g sent",
              all[i], 4 * bytes, four);
    }
}

static void check_refusals(void)
{
    static const struct {
        const char *compress;
        int workers;
        unroll_split mesh;
        unroll_status status;
        const char *says;
    } cases[] = {{"zip", 2, {1, 1, 1, 1}, UNROLL_USAGE, "choose one of none, rows, half"},
                 {"topk", 2, {1, 1, 1, 1}, UNROLL_USAGE, "topk:0.01"},
                 {"topk:0", 2, {1, 1, 1, 1}, UNROLL_USAGE, "topk:0.01"},
                 {"lowrank:0", 2, {1, 1, 1, 1}, UNROLL_USAGE, "lowrank:4"},
                 {"rows:3", 2, {1, 1, 1, 1}, UNROLL_USAGE, "no value after a colon"},
                 {"half", 1, {1, 1, 1, 1}, UNROLL_USAGE, "there is one"},
                 {"half", 2, {1, 2, 1, 1}, UNROLL_UNSUPPORTED, "the split cuts them"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why;
        struct leg leg = {.sync = "every",
                          .workers = cases[i].workers,
                          .mesh = cases[i].mesh,
                          .until = 1,
                          .compress = cases[i].compress};
        unroll_status status = leg_refused(&leg, &why);
        CHECK(status == cases[i].status && strstr(why, cases[i].says), "compress %s: %d %s", cases[i].compress, status,
              why);
    }
}

int main(void)
{
    char command[160], path[128];
    CHECK(mkdtemp(folder) != NULL, "no folder");
    snprintf(path, sizeof path, "%s/text", folder);
    legs_begin(path);
    for (size_t i = 0; i < ALL; i++)
        for (int kind = 0; kind < 4; kind++) {
            check_codes(all[i], 40, 30, kind);
            check_codes(all[i], 1, 33, kind);
            check_codes(all[i], 17, 2, kind);
        }
    check_exact_cases();
    check_rows();
    check_training("every", "topk:0.05", 2, (unroll_split){1, 1, 1, 1});
    check_training("every", "lowrank:2", 3, (unroll_split){2, 1, 1, 1});
    check_training("local:4", "topk:0.05", 2, (unroll_split){1, 1, 1, 1});
    check_training("local:3", "half", 2, (unroll_split){1, 2, 2, 1});
    check_training("local:4,delay=0", "lowrank:1", 3, (unroll_split){1, 1, 1, 1});
    check_learns();
    check_bytes();
    check_refusals();
    unroll_dataset_free(legs_text);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("test_compress");
}
