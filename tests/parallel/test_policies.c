/* Workers, each of which is a mesh, that synchronize between updates. With SGD and H = 1 they equal one process within
 * rounding. The same run has the same bits, and so has a resumed one, even in the middle of an exchange. Checkpoints
 * have the mean of the workers, and other runs can resume from them. A server computes the sum, or stays within its
 * bound. Compression is tested in test_compress.c. */
/* test: seconds=5 */
#include "extensions/cluster/policies/arrivals.h"
#include "extensions/cluster/policies/policy.h"
#include "workers.h"
#include <math.h>

static char folder[] = "/tmp/test_policies.XXXXXX";
static float one[WORKERS_WEIGHTS], two[WORKERS_WEIGHTS];

static const char *place(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

/* With many local updates the default outer step is another one; explicit settings take precedence. */
static void check_local_defaults(void)
{
    const struct {
        const char *sync;
        double momentum, delay;
    } cases[] = {{"local:32", 0.6, 31},
                 {"local:16", 0.6, 15},
                 {"local:15", 0, -1},
                 {"local:auto", 0, -1},
                 {"local:32,delay=2", 0.6, 2},
                 {"local:32,momentum=0", 0, 31},
                 {"local:4,momentum=0.9", 0.9, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct policy *policy;
        struct sync_options options;
        MUST(policy_read(cases[i].sync, &policy, &options));
        CHECK(options.momentum == cases[i].momentum && options.delay == cases[i].delay && options.rate == 1,
              "%s: momentum %g, delay %g, rate %g", cases[i].sync, options.momentum, options.delay, options.rate);
    }
}

static void check_local_is_sum(void)
{
    for (int workers = 2; workers <= 3; workers++) {
        struct leg leg = {.sync = "every", .workers = workers, .until = 6, .optimizer = "sgd", .clip = 1e6};
        size_t count = leg_weights("every", &leg, one);
        leg.sync = "local:1";
        leg_weights("local:1", &leg, two);
        CHECK(leg_difference(one, two, count) < 2e-6, "local:1 with %d workers differs by %g", workers,
              leg_difference(one, two, count));
        leg.sync = "local:4";
        leg_weights("local:4", &leg, two);
        CHECK(leg_difference(one, two, count) > 1e-5, "local:4 is the sum");
        leg = (struct leg){.until = 6, .optimizer = "sgd", .clip = 1e6};
        leg_weights("alone", &leg, two);
        CHECK(leg_difference(one, two, count) < 2e-6, "every with %d workers differs from one process by %g", workers,
              leg_difference(one, two, count));
    }
}

static void check_resume(const char *sync, int workers, unroll_split mesh)
{
    char path[128];
    struct leg leg = {.sync = sync, .workers = workers, .mesh = mesh, .until = 9, .dropout = 0.2f};
    size_t count = leg_weights(sync, &leg, one);
    double validation = leg_rank[0].validation;
    leg_weights(sync, &leg, two);
    CHECK(!memcmp(one, two, count * sizeof *one), "%s: the same run has other bits", sync);
    for (int until = 4; until <= 6; until++) {
        leg.until = until;
        leg.from = NULL;
        leg.to = place("half", path);
        leg_weights(sync, &leg, two);
        leg.until = 9;
        leg.from = leg.to;
        leg.to = NULL;
        leg_weights(sync, &leg, two);
        CHECK(!memcmp(one, two, count * sizeof *one), "%s resumed at %d differs by %g", sync, until,
              leg_difference(one, two, count));
        CHECK(leg_rank[0].validation == validation, "%s resumed at %d has another validation", sync, until);
    }
}

/* Other runs start from the mean, which is stored in the model file. */
static void check_others(void)
{
    char path[128];
    struct leg leg = {.sync = "local:4,momentum=0.9", .workers = 3, .until = 6, .to = place("three", path)};
    size_t count = leg_weights("three", &leg, one);
    double validation = leg_rank[0].validation;
    for (int workers = 1; workers <= 2; workers++) {
        leg = (struct leg){.sync = workers > 1 ? "local:2" : NULL, .workers = workers, .until = 6, .from = path};
        leg_weights("others", &leg, two);
        CHECK(!memcmp(one, two, count * sizeof *one), "%d workers do not begin from the mean of three", workers);
        CHECK(fabs(leg_rank[0].validation - validation) < 1e-6, "%d workers: another validation", workers);
        leg.until = 8;
        leg_weights("others go on", &leg, two);
        CHECK(leg_difference(one, two, count) > 1e-5, "%d workers do not go on", workers);
    }
    leg = (struct leg){.sync = "gossip", .workers = 2, .mesh = {2, 1, 1}, .until = 1};
    const char *why;
    unroll_status status = leg_refused(&leg, &why);
    CHECK(status == UNROLL_UNSUPPORTED && strstr(why, "leave out"), "gossip of meshes: %s", why);
    leg = (struct leg){.sync = "server:1", .workers = 2, .mesh = {2, 1, 1}, .until = 1};
    status = leg_refused(&leg, &why);
    CHECK(status == UNROLL_UNSUPPORTED && strstr(why, "leave out"), "server:1 of meshes: %s", why);
    leg = (struct leg){.sync = "server:0", .workers = 2, .mesh = {1, 2, 1}, .until = 1};
    status = leg_refused(&leg, &why);
    CHECK(status == UNROLL_UNSUPPORTED && strstr(why, "batch alone"), "server:0 of layers: %s", why);
    leg = (struct leg){.sync = "server:0", .workers = 2, .compress = "half", .until = 1};
    status = leg_refused(&leg, &why);
    CHECK(status == UNROLL_UNSUPPORTED && strstr(why, "leave it out"), "server:0 compressed: %s", why);
    leg = (struct leg){.until = 4, .to = place("alone", path)};
    leg_weights("alone", &leg, one);
    leg = (struct leg){.sync = "local:2", .workers = 2, .until = 4, .from = path};
    leg_weights("two resume from one", &leg, two);
    CHECK(!memcmp(one, two, count * sizeof *one), "two workers do not begin from the weights of one");
}

/* A server that waits for all gradients makes the updates of their sum. */
static void check_server_is_sum(void)
{
    static const char *const optimizers[] = {NULL, "sgd", "momentum"};
    for (int workers = 2; workers <= 5; workers++)
        for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
            struct leg leg = {.sync = "every",
                              .workers = workers,
                              .until = 6,
                              .optimizer = optimizers[i],
                              .clip = workers % 2 ? 0.2 : 1e6,
                              .embed = 6,
                              .sum = "tree",
                              .dropout = 0.2f};
            size_t count = leg_weights("every", &leg, one);
            leg.sync = "server:0";
            leg_weights("server:0", &leg, two);
            CHECK(!memcmp(one, two, count * sizeof *one), "server:0 of %d workers differs from sums by %g", workers,
                  leg_difference(one, two, count));
        }
}

static int fastest_steps(int workers)
{
    int most = 0;
    for (int i = 0; i < workers; i++) most = leg_rank[i].steps > most ? leg_rank[i].steps : most;
    return most;
}

/* A slow worker delays others only at synchronizations, and recorded arrivals can be replayed. */
static void check_asynchronous(const char *sync, int workers, bool silent, bool waits)
{
    char path[128];
    struct leg leg = {.sync = sync,
                      .workers = workers,
                      .until = 40,
                      .meet = 20,
                      .silent = silent,
                      .arrivals = place("came", path),
                      .slow = 10,
                      .dropout = 0.2f};
    size_t count = leg_weights(sync, &leg, one);
    const double validation = leg_rank[0].validation;
    const int slow = leg_rank[workers - 1].steps, fastest = fastest_steps(workers);
    CHECK(waits ? fastest == slow : fastest > 2 * slow, "%s: %d and %d steps", sync, fastest, slow);
    leg.arrivals = NULL;
    leg.replay = path;
    leg.slow = 0;
    for (int i = 0; i < 2; i++) {
        leg_weights("replay", &leg, two);
        CHECK(!memcmp(one, two, count * sizeof *one), "%s: the replay differs by %g", sync,
              leg_difference(one, two, count));
        CHECK(leg_rank[0].validation == validation, "%s: the replay has another validation", sync);
        CHECK(leg_rank[workers - 1].steps == slow, "%s: %d steps, replayed %d", sync, slow,
              leg_rank[workers - 1].steps);
    }
}

/* Returns how many updates a worker was ahead of another when its gradients arrived, according to the files of
 * arrivals. */
static int64_t farthest(const char *path, int workers)
{
    int64_t most = 0;
    for (int rank = 0; rank < workers; rank++) {
        int64_t clock[WORKERS_RANKS] = {0};
        char file[160], line[128];
        struct arrival a;
        snprintf(file, sizeof file, "%s.%d", path, rank);
        FILE *f = fopen(file, "re");
        CHECK(f != NULL, "%s can't be read", file);
        while (f && fgets(line, sizeof line, f)) {
            CHECK(arrival_read(line, &a), "%s: '%s'", file, line);
            if (a.kind == ARRIVAL_CAME || (a.kind == ARRIVAL_SENT && a.other == rank))
                clock[a.other] = a.theirs;
            for (int i = 0; i < workers; i++)
                most = clock[a.other] - clock[i] > most ? clock[a.other] - clock[i] : most;
        }
        CHECK(f && fclose(f) == 0, "%s", file);
    }
    return most;
}

/* No worker begins a step before the others have made all but S of the previous ones, so including the step itself it
 * is at most S + 1 ahead. Without a bound it exceeds that. */
static void check_bound(void)
{
    static const struct {
        const char *sync;
        int64_t bound;
    } cases[] = {{"server:1", 1}, {"server:3", 3}, {"server:any", 1 << 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128];
        struct leg leg = {
            .sync = cases[i].sync, .workers = 3, .until = 30, .arrivals = place("bound", path), .slow = 8};
        leg_weights(cases[i].sync, &leg, one);
        const int64_t ahead = farthest(path, leg.workers);
        CHECK(ahead <= cases[i].bound + 1, "%s: a worker was %lld updates ahead", cases[i].sync, (long long)ahead);
        CHECK(i < 2 ? ahead > 1 : ahead > 4, "%s: no worker was ahead: %lld", cases[i].sync, (long long)ahead);
    }
}

/* Gradients applied one after the other lead to the same result as their sum. */
static void check_server_learns(void)
{
    struct leg leg = {.sync = "every", .workers = 3, .until = 80};
    leg_weights("every", &leg, one);
    const double whole = leg_rank[0].validation;
    static const char *const ways[] = {"server:1", "server:1,rate=2"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        leg.sync = ways[i];
        leg_weights(ways[i], &leg, two);
        CHECK(leg_rank[0].validation < whole * 1.3, "%s: %g, sums %g", ways[i], leg_rank[0].validation, whole);
    }
}

/* A server's checkpoint equals that of one process: other runs resume from it, and it resumes from theirs. */
static void check_server_others(void)
{
    char path[128];
    struct leg leg = {.sync = "server:2", .workers = 3, .until = 6, .to = place("pieces", path)};
    size_t count = leg_weights("pieces", &leg, one);
    static const struct {
        const char *sync;
        int workers;
    } cases[] = {{NULL, 1}, {"every", 2}, {"server:0", 2}, {"server:any", 4}, {"local:3", 2}, {"server:2", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leg = (struct leg){.sync = cases[i].sync, .workers = cases[i].workers, .until = 6, .from = path};
        leg_weights("others", &leg, two);
        CHECK(!memcmp(one, two, count * sizeof *one), "%d workers, %s, begin elsewhere", leg.workers, leg.sync);
        leg.until = 12;
        leg_weights("others go on", &leg, two);
        CHECK(leg_difference(one, two, count) > 1e-5, "%d workers, %s, do not go on", leg.workers, leg.sync);
    }
    leg = (struct leg){.sync = "every", .workers = 2, .until = 4, .to = path, .sum = "tree"};
    leg_weights("every", &leg, one);
    leg = (struct leg){.sync = "every", .workers = 2, .until = 9, .from = path, .sum = "tree"};
    leg_weights("every continues", &leg, one);
    leg.sync = "server:0";
    leg_weights("server:0 continues", &leg, two);
    CHECK(!memcmp(one, two, count * sizeof *one), "server:0 continues with other weights than every");
}

/* Invalid files of arrivals, or those of another run, are refused. All ranks read the same, so that none waits for one
 * that has exited. */
static void check_arrivals(void)
{
    static const struct {
        const char *line, *says;
    } cases[] = {{NULL, "as many workers"},
                 {"1 sent 1", "is none"},
                 {"1 lost 1 1\n", "is none"},
                 {"1 sent 1 -1\n", "is none"},
                 {"1 sent 1 99999999999999999999\n", "is none"},
                 {"1 sent 7 1\n", "of other workers"},
                 {"1 came 7 1\n", "of other workers"},
                 {"0 sent 1 0\n", "of other workers"},
                 {"1 jump 0 9223372036854775807\n", "meet at"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128], file[160];
        struct leg leg = {.sync = "gossip", .workers = 2, .until = 3, .replay = place("damaged", path)};
        for (int rank = 0; rank < leg.workers && cases[i].line; rank++) {
            snprintf(file, sizeof file, "%s.%d", path, rank);
            FILE *f = fopen(file, "we");
            CHECK(f && fputs(cases[i].line, f) >= 0 && fclose(f) == 0, "%s can't be written", file);
        }
        const char *why;
        unroll_status status = leg_refused(&leg, &why);
        CHECK(status == UNROLL_DATA && strstr(why, cases[i].says), "arrivals %zu: %d %s", i, status, why);
    }
    const char *why;
    struct leg leg = {.sync = "local:2", .workers = 2, .until = 1, .replay = "x"};
    unroll_status status = leg_refused(&leg, &why);
    CHECK(status == UNROLL_USAGE && strstr(why, "leave out"), "replay of local: %d %s", status, why);
    leg = (struct leg){.until = 1, .arrivals = "x"};
    status = leg_refused(&leg, &why);
    CHECK(status == UNROLL_USAGE && strstr(why, "do not wait for all"), "arrivals of one: %d %s", status, why);
    leg = (struct leg){.sync = "gossip", .workers = 2, .until = 1, .arrivals = "x", .replay = "x"};
    status = leg_refused(&leg, &why);
    CHECK(status == UNROLL_USAGE && strstr(why, "leave out"), "arrivals of a replay: %d %s", status, why);
}

/* Returns the most bytes sent by a rank. */
static double most_sent(struct leg leg, int until)
{
    double most = 0;
    leg.until = until;
    leg_weights("bytes", &leg, one);
    for (int i = 0; i < leg.workers; i++) most = leg_rank[i].sent > most ? (double)leg_rank[i].sent : most;
    return most;
}

/* Compares the bytes sent in 8 updates with the plan's; before the first one, ranks also compare their weights. */
static void check_bytes(const char *sync, int interval)
{
    const struct leg leg = {.sync = sync, .workers = 3};
    unroll_plan_config config = unroll_plan_config_default();
    unroll_model_config spec = leg_spec(&leg);
    double bytes, every;
    config.rows = 12;
    config.steps = 6;
    config.model_config = &spec;
    config.machine.workers = leg.workers;
    MUST(unroll_plan_sync_bytes(&config, leg.sync, NULL, &bytes, &every));
    const double most = most_sent(leg, 16) - most_sent(leg, 8);
    CHECK(every == interval && most == 8 / interval * bytes, "%s: %g bytes every %g updates are planned, %g sent", sync,
          bytes, every, most);
}

static void check_refusals(void)
{
    static const struct {
        const char *sync;
        int workers;
        const char *says;
    } cases[] = {{"local", 2, "H is 1 to"},
                 {"local:0", 2, "H is 1 to"},
                 {"local:x", 2, "H is 1 to"},
                 {"every:3", 2, "no value after a colon"},
                 {"evry", 2, "choose one of"},
                 {"local:4,rate", 2, "rate"},
                 {"local:4,speed=1", 2, "rate, momentum, delay"},
                 {"every,rate=1", 2, "has no options"},
                 {"local:4", 1, "there is one"},
                 {"gossip:all", 2, "gossip:pairs"},
                 {"gossip,rate=1", 2, "has no options"},
                 {"server", 2, "server:4"},
                 {"server:-1", 2, "server:4"},
                 {"server:3,momentum=0.5", 2, "rate"},
                 {"local:4,momentum=1", 2, "momentum"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why;
        struct leg leg = {.sync = cases[i].sync, .workers = cases[i].workers, .until = 1};
        unroll_status status = leg_refused(&leg, &why);
        CHECK(status == UNROLL_USAGE && strstr(why, cases[i].says), "sync %s: %d %s", cases[i].sync, status, why);
    }
}

int main(void)
{
    char command[160], path[128];
    CHECK(mkdtemp(folder) != NULL, "no folder");
    legs_begin(place("text.txt", path));
    check_local_defaults();
    check_local_is_sum();
    check_resume("local:4", 2, (unroll_split){1, 1, 1, 1});
    check_resume("local:4,rate=0.7,momentum=0.9,delay=0", 2, (unroll_split){1, 1, 1, 1});
    check_resume("local:16", 2, (unroll_split){1, 1, 1, 1});
    check_resume("local:auto", 3, (unroll_split){1, 1, 1, 1});
    check_resume("local:4", 2, (unroll_split){2, 1, 1, 1});
    check_resume("local:3", 2, (unroll_split){1, 2, 2, 1});
    check_server_is_sum();
    check_resume("server:0", 3, (unroll_split){1, 1, 1, 1});
    check_resume("server:0", 2, (unroll_split){2, 1, 1, 1});
    check_asynchronous("gossip", 2, false, false);
    check_asynchronous("gossip", 3, false, false);
    check_asynchronous("gossip", 3, true, false);
    check_asynchronous("gossip:pairs", 4, false, false);
    check_asynchronous("server:any", 2, false, false);
    check_asynchronous("server:any", 4, true, false);
    check_asynchronous("server:2", 3, false, true);
    check_asynchronous("server:1", 2, true, true);
    check_arrivals();
    check_others();
    check_bytes("local:4,delay=0", 4);
    check_bytes("server:0", 1);
    check_bound();
    check_server_learns();
    check_server_others();
    check_refusals();
    unroll_dataset_free(legs_text);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return check_finish("test_policies");
}
