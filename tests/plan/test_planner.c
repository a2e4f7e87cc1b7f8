/* The planner and its inputs: files of clusters and their errors, prices of sums compared with hand calculations,
 * orders of meshes that must hold, the choice for each goal, and a comparison with all possible divisions. No rank
 * runs. */
/* test: kinds=plain,long-memory; seconds=10 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include "check.h"
#include "extensions/cluster/planner/price.h"
#include "session/session.h"
#include "temporary.h"
#include "unroll_advanced.h"

#define RANK   "\"rank\":{\"gflops\":100,\"recurrent_gflops\":50,\"memory_bandwidth\":1e10}"
#define LEVEL  "\"levels\":[{\"name\":\"net\",\"latency\":1e-5,\"bandwidth\":1e9}]"
#define CLOCKS "\"clocks\":[{\"speed\":1,\"watts\":100},{\"speed\":0.5,\"watts\":30}]"

static unroll_status parse(const char *text, struct cluster *c)
{
    return cluster_parse(text, strlen(text), "net.json", c);
}

static void test_file(void)
{
    struct cluster c;
    MUST(parse("{\"name\":\"a\"," RANK "," LEVEL "}", &c));
    CHECK(c.gflops == 100 && c.ranks_per_host == 1 && c.levels == 1 && c.clocks == 0, "%g %d", c.gflops, c.levels);
    CHECK(isinf(c.memory) && isinf(c.message_bandwidth), "%g", c.memory);
    MUST(parse("{\"name\":\"a\",\"ranks_per_host\":4," RANK "," CLOCKS ",\"levels\":[{\"name\":\"host\",\"ranks\":4,"
               "\"latency\":1e-6,\"bandwidth\":1e10},{\"name\":\"net\",\"latency\":1e-5,\"bandwidth\":1e9}]}",
               &c));
    CHECK(cluster_level_between(&c, 0, 3) == 0 && cluster_level_between(&c, 3, 4) == 1, "levels of ranks");
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "net.json"},
        {"[]", "net.json"},
        {"{\"name\":\"a\"," RANK "}", "levels"},
        {"{\"name\":\"a\"," LEVEL "}", "rank"},
        {"{\"name\":\"a\"," RANK ",\"levels\":[]}", "not 1 to"},
        {"{\"name\":\"a\"," RANK ",\"levels\":[1]}", "is no object"},
        {"{\"name\":\"a\",\"speed\":1," RANK "," LEVEL "}", "speed"},
        {"{\"name\":\"\"," RANK "," LEVEL "}", "1 to 31 bytes"},
        {"{\"name\":\"a\",\"rank\":{\"gflops\":0,\"recurrent_gflops\":50,\"memory_bandwidth\":1e10}," LEVEL "}",
         "outside"},
        {"{\"name\":\"a\",\"rank\":{\"recurrent_gflops\":50,\"memory_bandwidth\":1e10}," LEVEL "}", "gflops"},
        {"{\"name\":\"a\",\"ranks_per_host\":0," RANK "," LEVEL "}", "ranks_per_host"},
        {"{\"name\":\"a\"," RANK ",\"levels\":[{\"name\":\"net\",\"latency\":-1,\"bandwidth\":1e9}]}", "latency"},
        {"{\"name\":\"a\"," RANK
         ",\"levels\":[{\"name\":\"b\",\"latency\":0,\"bandwidth\":1e9},{\"name\":\"c\",\"latency\":0,"
         "\"bandwidth\":1e9}]}",
         "ranks"},
        {"{\"name\":\"a\"," RANK
         ",\"levels\":[{\"name\":\"b\",\"ranks\":4,\"latency\":0,\"bandwidth\":1e9},{\"name\":\"c\","
         "\"ranks\":6,\"latency\":0,\"bandwidth\":1e9},{\"name\":\"d\",\"latency\":0,\"bandwidth\":1e9}]}",
         "no multiple"},
        {"{\"name\":\"a\"," RANK "," LEVEL ",\"clocks\":[{\"speed\":0.9,\"watts\":1}]}", "begin with 1"},
        {"{\"name\":\"a\"," RANK "," LEVEL ",\"clocks\":[{\"speed\":1,\"watts\":1},{\"speed\":1,\"watts\":1}]}",
         "fall"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_next_case();
        CHECK_REFUSED(parse(bad[i].text, &c), UNROLL_DATA, bad[i].part);
    }
}

/* n values among size ranks over links of 1 GB/s and 10 us, calculated by hand. */
static void test_sums(void)
{
    struct cluster c;
    int ranks[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    MUST(parse("{\"name\":\"a\"," RANK "," LEVEL "}", &c));
    const double n = 1 << 20, all = 4 * n / 1e9, latency = 1e-5;
    const struct {
        enum algorithm algorithm;
        double rounds, shares;
    } cases[] = {{COMM_TREE, 6, 6},
                 {COMM_HALVING_DOUBLING, 6, 2 * 7.0 / 8},
                 {COMM_RING, 14, 14.0 / 8},
                 {COMM_GATHER_BROADCAST, 14, 14}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sum sum = {.ranks = ranks, .size = 8, .count = 1 << 20, .algorithm = cases[i].algorithm, .shards = 1};
        double expected = cases[i].rounds * latency + cases[i].shares * all, got = sum_seconds(&sum, &c, 1);
        check_next_case();
        CHECK(fabs(got / expected - 1) < 1e-9, "%s: %g, not %g", algorithm_name((int)cases[i].algorithm), got,
              expected);
    }
    /* two hosts of four ranks: the four that cross share the network, neighbors do not */
    MUST(parse("{\"name\":\"a\",\"ranks_per_host\":4," RANK ",\"levels\":[{\"name\":\"host\",\"ranks\":4,\"latency\":0,"
               "\"bandwidth\":1e12},{\"name\":\"net\",\"latency\":0,\"bandwidth\":1e9}]}",
               &c));
    struct sum sum = {.ranks = ranks, .size = 8, .count = 1 << 20, .algorithm = COMM_HALVING_DOUBLING, .shards = 1};
    double got = sum_seconds(&sum, &c, 1), expected = 2 * (all / 8) * 4;
    CHECK(fabs(got / expected - 1) < 0.02, "%g, not %g", got, expected);
    sum.algorithm = COMM_RING; /* one crosses at a time */
    CHECK(fabs(sum_seconds(&sum, &c, 1) / (14 * all / 8) - 1) < 0.02, "%g", sum_seconds(&sum, &c, 1));
}

static unroll_model_config spec_of(int layers, int hidden)
{
    unroll_model_config spec = unroll_model_config_default();
    spec.cell = "lstm", spec.layers = layers, spec.hidden = hidden, spec.tokens = 1;
    spec.input = spec.output = 32, spec.loss = "xent";
    return spec;
}

struct timed {
    struct cluster cluster;
    struct mesh_time time;
};

static unroll_status time_plans(struct plan *const *plans, int stages, void *arg)
{
    struct timed *timed = arg;
    struct prices prices = {.cluster = &timed->cluster};
    return mesh_seconds(plans, stages, &prices, &timed->time);
}

static double seconds_of(int batch, int layer, int hidden, int chunks, double bandwidth, double *waits)
{
    unroll_model_config spec = spec_of(2, 64);
    unroll_plan_config config = unroll_plan_config_default();
    struct timed timed = {0};
    MUST(parse("{\"name\":\"a\"," RANK "," LEVEL "}", &timed.cluster));
    timed.cluster.level[0].bandwidth = bandwidth;
    config.steps = 32, config.rows = 32, config.model_config = &spec;
    config.machine.threads = 1, config.machine.isa = "scalar";
    config.machine.split = (unroll_split){batch, layer, hidden, 1};
    config.machine.chunks = chunks;
    MUST(session_show_stages(NULL, &config, time_plans, &timed));
    *waits = 0;
    for (int i = 0; i < timed.time.stages; i++) *waits = fmax(*waits, timed.time.stage[i].waits);
    return timed.time.seconds;
}

static void test_meshes(void)
{
    double none, fast, slow, whole, few, many;
    double one = seconds_of(1, 1, 1, 1, 1e9, &none);
    CHECK(one > 0 && none == 0, "one rank waits %g of %g s", none, one);
    double two = seconds_of(2, 1, 1, 1, 1e12, &fast), crawling = seconds_of(2, 1, 1, 1, 1e6, &slow);
    CHECK(two < one && two > one / 2, "%g of two ranks, %g of one", two, one);
    CHECK(crawling > two && slow > 100 * fast, "waits %g and %g", slow, fast);
    double plain = seconds_of(1, 2, 1, 1, 1e12, &whole), chunked = seconds_of(1, 2, 1, 8, 1e12, &few);
    CHECK(chunked < plain && few < whole, "chunks: %g and %g s", chunked, plain);
    double hidden = seconds_of(1, 1, 2, 1, 1e9, &many);
    CHECK(hidden > 0 && many > 32 * 1e-5, "a step of a hidden cut takes a latency: %g", many);
}

static const char *write_cluster(const char *text)
{
    const char *path = inside("net.json");
    write_text(path, text);
    return path;
}

static unroll_choice choose(const char *network, const char *goal, int hosts, const char *sync, int *found)
{
    unroll_model_config spec = spec_of(3, 128);
    unroll_plan_config config = unroll_plan_config_default();
    unroll_planner_config planner = unroll_planner_config_default();
    unroll_choice way[4] = {{.size = sizeof *way}};
    char why[512] = "";
    config.steps = 32, config.rows = 64, config.model_config = &spec;
    config.machine.threads = 1, config.machine.isa = "scalar";
    planner.plan = &config, planner.network = network, planner.goal = goal, planner.hosts = hosts;
    planner.sync = sync, planner.compress = sync ? "none" : NULL;
    planner.longer = strcmp(goal, "energy") ? 0 : 1.01;
    MUST(unroll_planner_choose(NULL, &planner, way, 4, found, why, sizeof why));
    CHECK(strstr(why, "compute"), "'%s' says why", why);
    return way[0];
}

static void test_choices(void)
{
    int found;
    const char *fast = write_cluster("{\"name\":\"a\",\"price\":1," RANK "," CLOCKS ",\"levels\":[{\"name\":\"net\","
                                     "\"latency\":1e-6,\"bandwidth\":1e11}]}");
    unroll_choice w = choose(fast, "time", 4, "every", &found);
    CHECK(found > 1 && w.ranks == 4 && w.split.layer == 1, "%d ranks, layer=%d", w.ranks, w.split.layer);
    double time = w.seconds, joules = w.joules, memory = choose(fast, "time", 1, "every", &found).memory;
    w = choose(fast, "memory", 4, "every", &found);
    CHECK(w.memory < 0.7 * memory && w.ranks == 4, "%g bytes, not below %g", w.memory, memory);
    w = choose(fast, "energy", 4, "every", &found);
    CHECK(w.joules < joules && w.joules > 0, "%g J, not below %g", w.joules, joules);
    w = choose(fast, "money", 4, "every", &found);
    CHECK(w.money > 0 && w.seconds >= time, "%g", w.money);
    const char *slow = write_cluster("{\"name\":\"a\"," RANK ",\"levels\":[{\"name\":\"net\",\"latency\":1e-2,"
                                     "\"bandwidth\":1e6}]}");
    w = choose(slow, "time", 4, "every", &found);
    CHECK(w.ranks < 4, "on a slow network %d ranks are taken", w.ranks);
    w = choose(slow, "time", 4, NULL, &found);
    CHECK(w.workers == 4 && strcmp(w.sync, "every"), "workers=%d, %s", w.workers, w.sync);
}

/* ---- all divisions --------------------------------------------------------------------- */

enum { LONGEST = 24 }; /* steps, which is also the maximum number of chunks */

struct searched {
    struct cluster cluster;
    double least; /* seconds of the best division */
    int ways;
};

/* Prices the plans of a mesh with each of the sums. */
static unroll_status try_sums(struct plan *const *plans, int stages, void *arg)
{
    struct searched *all = arg;
    for (int i = 0; algorithm_name(i); i++) {
        struct prices prices = {.cluster = &all->cluster};
        struct mesh_time time = {0};
        if (i == COMM_NATIVE)
            continue;
        for (int k = 0; k < stages; k++) plans[k]->config.sum = i;
        MUST(mesh_seconds(plans, stages, &prices, &time));
        all->least = fmin(all->least, time.seconds);
        all->ways++;
    }
    return UNROLL_OK;
}

/* Tries every number of ranks, mesh, number of chunks and sum, including unlikely ones. */
static void try_all(struct searched *all, unroll_plan_config config, int hosts)
{
    for (int batch = 1; batch <= hosts; batch++)
        for (int layer = 1; batch * layer <= hosts; layer++)
            for (int hidden = 1; batch * layer * hidden <= hosts; hidden++)
                for (int chunks = 0; chunks <= (layer > 1 ? LONGEST : 0); chunks++) {
                    config.machine.split = (unroll_split){batch, layer, hidden, 1};
                    config.machine.chunks = chunks;
                    (void)session_show_stages(NULL, &config, try_sums, all); /* some cuts are refused */
                }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Compares the planner's choice with the best of all, on networks that favor each of the cuts. */
static void test_against_all(void)
{
    static const struct {
        int layers, hidden, rows, hosts;
        const char *latency, *bandwidth;
    } cases[] = {{3, 64, 32, 4, "1e-6", "1e11"}, {3, 64, 32, 4, "1e-5", "1e8"},  {3, 64, 32, 3, "1e-4", "1e7"},
                 {2, 128, 2, 4, "1e-7", "1e11"}, {2, 128, 1, 2, "1e-7", "1e10"}, {4, 96, 2, 4, "1e-6", "3e8"},
                 {1, 64, 8, 6, "1e-6", "1e9"},   {3, 32, 5, 5, "1e-6", "1e10"},  {2, 64, 32, 2, "1e-2", "1e6"},
                 {4, 128, 4, 6, "1e-6", "1e10"}};
    enum { CASES = sizeof cases / sizeof *cases };
    double longer[CASES];
    bool layered = false, divided = false, rows = false, alone = false;
    for (int i = 0; i < CASES; i++) {
        char text[512], why[512];
        unroll_model_config spec = spec_of(cases[i].layers, cases[i].hidden);
        unroll_plan_config config = unroll_plan_config_default();
        unroll_planner_config planner = unroll_planner_config_default();
        struct searched all = {.least = INFINITY};
        unroll_choice way = {.size = sizeof way};
        int found;
        snprintf(text, sizeof text,
                 "{\"name\":\"a\"," RANK ",\"levels\":[{\"name\":\"net\",\"latency\":%s,\"bandwidth\":%s}]}",
                 cases[i].latency, cases[i].bandwidth);
        MUST(parse(text, &all.cluster));
        config.steps = LONGEST, config.rows = cases[i].rows, config.model_config = &spec;
        config.machine.threads = 1, config.machine.isa = "scalar";
        planner.plan = &config, planner.network = write_cluster(text), planner.hosts = cases[i].hosts;
        planner.sync = "every", planner.compress = "none";
        MUST(unroll_planner_choose(NULL, &planner, &way, 1, &found, why, sizeof why));
        try_all(&all, config, cases[i].hosts);
        longer[i] = way.seconds / all.least - 1;
        check_next_case();
        CHECK(longer[i] > -1e-3 && longer[i] < 0.05,
              "case %d: batch=%d,layer=%d,hidden=%d takes %.2f%% longer than the best of %d ways", i, way.split.batch,
              way.split.layer, way.split.hidden, 100 * longer[i], all.ways);
        if (getenv("SHOW"))
            printf("batch=%d,layer=%d,hidden=%d chunks=%d %s: %.3f%% longer than the best of %d\n", way.split.batch,
                   way.split.layer, way.split.hidden, way.chunks, way.sum, 100 * longer[i], all.ways);
        layered |= way.split.layer > 1, divided |= way.split.hidden > 1, rows |= way.split.batch > 1;
        alone |= way.ranks == 1;
    }
    CHECK(layered && divided && rows && alone, "the cases ask for each cut: layers %d, units %d, rows %d, none %d",
          layered, divided, rows, alone);
    qsort(longer, CASES, sizeof *longer, by_size);
    CHECK(longer[CASES / 2] <= 0.01, "half of the cases are more than %.2f%% away", 100 * longer[CASES / 2]);
}

static void test_refusals(void)
{
    unroll_model_config spec = spec_of(1, 8);
    unroll_plan_config config = unroll_plan_config_default();
    unroll_planner_config planner = unroll_planner_config_default();
    unroll_choice way = {.size = sizeof way};
    char why[64];
    int found;
    config.model_config = &spec, planner.plan = &config;
#define CHOOSE() unroll_planner_choose(NULL, &planner, &way, 1, &found, why, sizeof why)
    CHECK_REFUSED(CHOOSE(), UNROLL_USAGE, "must know the network");
    planner.network = "/nowhere/net.json";
    CHECK(CHOOSE() != UNROLL_OK, "a file that is not there");
    planner.network = write_cluster("{\"name\":\"a\"," RANK "," LEVEL "}");
    planner.goal = "beauty";
    CHECK_REFUSED(CHOOSE(), UNROLL_USAGE, "time, energy");
    planner.goal = "energy";
    CHECK_REFUSED(CHOOSE(), UNROLL_USAGE, "clocks");
    planner.goal = "money";
    CHECK_REFUSED(CHOOSE(), UNROLL_USAGE, "price");
    planner.goal = "time", planner.hosts = 4096;
    CHECK_REFUSED(CHOOSE(), UNROLL_USAGE, "1 to 1024 ranks");
    planner.hosts = 1, planner.sync = "never";
    CHECK_REFUSED(CHOOSE(), UNROLL_USAGE, "never");
    planner.sync = NULL;
    config.machine.split.time = 2;
    CHECK_REFUSED(CHOOSE(), UNROLL_USAGE, "no cut along time");
    config.machine.split.time = 1;
    planner.network = write_cluster("{\"name\":\"a\",\"rank\":{\"gflops\":1,\"recurrent_gflops\":1,"
                                    "\"memory_bandwidth\":1e9,\"memory\":10}," LEVEL "}");
    CHECK_REFUSED(CHOOSE(), UNROLL_UNSUPPORTED, "fits into");
}

int main(void)
{
    CHECK(mkdtemp(folder), "%s", folder);
    test_file();
    test_sums();
    test_meshes();
    test_choices();
    test_against_all();
    test_refusals();
    unlink(inside("net.json"));
    rmdir(folder);
    return check_finish("test_planner");
}
