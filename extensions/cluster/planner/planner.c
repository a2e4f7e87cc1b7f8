/* Enumerates workers x mesh x chunks x sums x compression x policy and prices each combination. A mesh is lowered
 * once for each number of chunks; sums and policies do not change a plan. */
#include "base/sized.h"
#include "extensions/cluster/planner/planner.h"
#include "base/memory.h"
#include "extensions/cluster/compress/compress.h"
#include "extensions/cluster/policies/policy.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Candidates for options that the user left open. */
static const char *const syncs[] = {"every", "local:8", "local:32", "server:4", "gossip", NULL};
static const char *const compressions[] = {"none", "half", "lowrank:4", NULL};
static const int chunk_counts[] = {0, 2, 3, 4, 6, 8, 12, 16, 24, 32};
enum { CHUNK_COUNTS = sizeof chunk_counts / sizeof *chunk_counts };

struct planner_search {
    const struct unroll_model *model;
    const unroll_planner_config *config;
    struct cluster cluster;
    struct prices prices;
    unroll_plan_config plan; /* of the current choice */
    struct ways *ways;
    enum goal goal;
    int layers; /* maximum number of stages */
};

/* ---- between updates ------------------------------------------------------------------- */

/* Seconds for reading and writing all values for each code, plus the products of a low rank. */
static double codec_seconds(const struct planner_search *s, const struct sync_cost *cost, const char *compress)
{
    const struct compressor *compressor = NULL;
    double level = 0;
    if (compressor_read(compress, &compressor, &level) != UNROLL_OK || !compressor)
        return 0;
    const double rank = compressor == &compress_lowrank ? level : 0;
    double codes = 1 + s->plan.machine.workers, numbers = (double)cost->numbers;
    return codes * 8 * numbers / s->cluster.memory_bandwidth + codes * 4 * rank * numbers / (1e9 * s->cluster.gflops);
}

/* Ranks of a host that exchange data at the same time share its outgoing link. */
static double exchange_seconds(const struct planner_search *s, const struct sync_cost *cost, const char *compress)
{
    const struct cluster *c = &s->cluster;
    const unroll_machine *m = &s->plan.machine;
    const int mesh = m->split.batch * m->split.layer * m->split.hidden, ranks = m->workers * mesh;
    const int level = cluster_level_between(c, 0, ranks - mesh), below = level ? c->level[level - 1].ranks : 1;
    const int together = ranks < below ? ranks : below;
    double rounds = strcmp(compress, "none") ? m->workers - 1 : cost->asynchronous ? 1 : 2 * ceil(log2(m->workers));
    return rounds * c->level[level].latency + cost->bytes * together / c->level[level].bandwidth;
}

static struct between price_between(const struct planner_search *s, const struct sync_cost *cost, const char *compress,
                                    double step)
{
    struct between b = {0};
    if (cost->bytes <= 0)
        return b;
    double all = exchange_seconds(s, cost, compress);
    double delay = cost->delay < 0 ? floor(cost->every / 2) : cost->delay;
    double hidden = cost->asynchronous ? INFINITY : cost->policy->diverges ? delay * step : 0;
    b.waits = fmax(0, all - hidden) / cost->every;
    b.computes = (codec_seconds(s, cost, compress) + cost->bytes / s->cluster.message_bandwidth) / cost->every;
    b.sent = cost->bytes / cost->every;
    return b;
}

/* ---- one way --------------------------------------------------------------------------- */

static unroll_status add_way(struct planner_search *s, const unroll_choice *way)
{
    struct ways *w = s->ways;
    unroll_choice *all = plan_grown(w->way, w->ways, &w->room, sizeof *all);
    if (!all)
        return UNROLL_RESOURCE;
    w->way = all;
    all[w->ways++] = *way;
    return UNROLL_OK;
}

/* Adds the choice of a policy for a mesh whose step time is known. */
static unroll_status add_policy(struct planner_search *s, struct plan *const *plans, const struct mesh_time *t,
                                const struct mesh_time *plain, const char *sync, const char *compress)
{
    const unroll_machine *m = &s->plan.machine;
    const struct cluster *c = &s->cluster;
    struct sync_cost cost = {.every = 1};
    for (int i = 0; i < t->stages; i++) {
        struct sync_cost of_stage;
        struct update_vector vector;
        unroll_status status = plan_update_vector(plans[i], &vector);
        const bool has_vector = status == UNROLL_OK;
        if (has_vector)
            status = sync_bytes_of(&vector, sync, compress, &of_stage);
        update_vector_free(&vector);
        TRY(has_vector ? UNROLL_OK : status);
        if (status != UNROLL_OK) {
            s->ways->refused++;
            return UNROLL_OK;
        }
        cost = i == 0 || of_stage.bytes > cost.bytes ? of_stage : cost;
    }
    struct between b = price_between(s, &cost, compress, t->seconds);
    const int mesh = m->split.batch * m->split.layer * m->split.hidden, ranks = mesh * m->workers;
    const double watts = c->clocks ? c->clock[0].watts : 0;
    unroll_choice way = {.size = sizeof way,
                         .split = m->split,
                         .workers = m->workers,
                         .chunks = m->chunks,
                         .ranks = ranks,
                         .seconds = t->seconds + b.waits + b.computes};
    snprintf(way.sum, sizeof way.sum, "%s", m->sum);
    snprintf(way.sync, sizeof way.sync, "%s", sync);
    snprintf(way.compress, sizeof way.compress, "%s", compress);
    double between = (b.waits * c->waiting_watts + b.computes * watts) * ranks, busy = 0;
    double plain_joules = mesh_joules(plain, c, ranks / t->stages) + between;
    way.joules = mesh_joules(t, c, ranks / t->stages) + between;
    way.saved = plain_joules > 0 ? 1 - way.joules / plain_joules : 0;
    way.slower = way.seconds / (plain->seconds + b.waits + b.computes) - 1;
    way.money = c->price * ceil((double)ranks / c->ranks_per_host) * way.seconds / 3600;
    for (int i = 0; i < t->stages; i++) {
        way.memory = fmax(way.memory, t->stage[i].memory);
        way.sent = fmax(way.sent, t->stage[i].sent + b.sent);
        for (int k = 0; k < MESH_CLOCKS; k++) busy += t->stage[i].busy[k] / t->stages;
    }
    way.memory += 3 * 4 * (double)(cost.bytes > 0 ? cost.numbers : 0); /* anchor, velocity or residual, and the sum */
    way.busy = (busy + b.computes) / way.seconds;
    return way.memory <= c->memory ? add_way(s, &way) : UNROLL_OK;
}

/* Returns whether a policy applies to this number of workers. A single mesh has none. Several workers that add up in
 * every step would be one mesh. */
static bool is_policy(const struct planner_search *s, const char *sync, const char *compress)
{
    const unroll_machine *m = &s->plan.machine;
    const bool is_plain = !strcmp(sync, "every") && !strcmp(compress, "none");
    if (m->workers == 1)
        return is_plain;
    if (!strcmp(sync, "every") && m->split.layer * m->split.hidden > 1)
        return false; /* sums in every update need whole gradients */
    const bool is_alone = m->split.batch == 1 && m->split.layer == 1 && m->split.hidden == 1;
    const bool wants_one =
        !strncmp(sync, "gossip", 6) || !strncmp(sync, "server", 6); /* one rank per worker, uncompressed */
    return !is_plain && (!wants_one || (is_alone && !strcmp(compress, "none")));
}

static unroll_status add_policies(struct planner_search *s, struct plan *const *plans, int stages)
{
    const unroll_planner_config *c = s->config;
    const char *const one_sync[] = {c->sync, NULL}, *const one_compression[] = {c->compress, NULL};
    const char *const *sync = c->sync ? one_sync : syncs;
    const char *const *compressed = c->compress ? one_compression : compressions;
    const int of_stage = s->plan.machine.workers * s->plan.machine.split.batch * s->plan.machine.split.hidden;
    struct mesh_time time = {0}, plain = {0};
    TRY(mesh_seconds(plans, stages, &s->prices, &plain));
    time = plain;
    if (c->longer > 1 && s->cluster.clocks > 1)
        TRY(mesh_lower_clocks(plans, stages, &s->prices, c->longer, of_stage, &time));
    for (; *sync; sync++)
        for (const char *const *compress = compressed; *compress; compress++)
            if (is_policy(s, *sync, *compress))
                TRY(add_policy(s, plans, &time, &plain, *sync, *compress));
    return UNROLL_OK;
}

static bool has_policy(const struct planner_search *s)
{
    const char *const *sync = syncs, *const *compress = compressions;
    if (s->config->sync && s->config->compress)
        return is_policy(s, s->config->sync, s->config->compress);
    if (s->config->sync || s->config->compress)
        return true;
    return is_policy(s, *sync, *compress) || s->plan.machine.workers > 1;
}

/* ---- one mesh -------------------------------------------------------------------------- */

/* Tries the sum algorithms: all of ours, unless one was requested. */
static unroll_status add_sums(struct plan *const *plans, int stages, void *arg)
{
    struct planner_search *s = arg;
    const char *asked = s->config->plan->machine.sum;
    const bool is_free = !asked || !strcmp(asked, "auto");
    for (int i = 0; algorithm_name(i); i++) {
        if (is_free ? i == COMM_NATIVE : strcmp(asked, algorithm_name(i)) != 0)
            continue;
        if (is_free && i != COMM_AUTO && (s->plan.machine.split.batch == 1 || s->plan.machine.exact))
            continue;
        s->plan.machine.sum = algorithm_name(i);
        for (int k = 0; k < stages; k++) plans[k]->config.sum = i;
        TRY(add_policies(s, plans, stages));
    }
    return UNROLL_OK;
}

static unroll_status add_mesh(struct planner_search *s, int workers, unroll_split split)
{
    s->plan.machine.split = split;
    s->plan.machine.workers = workers;
    if (!has_policy(s))
        return UNROLL_OK;
    for (int i = 0; i < (split.layer > 1 ? CHUNK_COUNTS : 1); i++) {
        s->plan.machine.chunks = split.layer > 1 ? chunk_counts[i] : s->config->plan->machine.chunks;
        s->plan.machine.sum = s->config->plan->machine.sum;
        if (s->plan.machine.chunks > s->plan.steps)
            continue;
        unroll_status status = session_show_stages(s->model, &s->plan, add_sums, s);
        if (status == UNROLL_RESOURCE)
            return status;
        s->ways->refused += status != UNROLL_OK; /* this network does not support the cut */
    }
    return UNROLL_OK;
}

/* ---- all ------------------------------------------------------------------------------- */

/* Tries a few large workers, or one for each rank. */
static bool is_count_of_workers(int workers, int ranks)
{
    return workers == ranks || workers == ranks / 2 || (workers <= 16 && ranks % workers == 0);
}

static unroll_status add_ranks(struct planner_search *s, int ranks)
{
    const int units_max = ranks < 64 ? ranks : 64; /* with more ranks the exchange would dominate each step */
    for (int workers = 1; workers <= ranks; workers++) {
        if (!is_count_of_workers(workers, ranks) || ranks % workers || workers > s->plan.rows)
            continue;
        for (int layer = 1; layer <= s->layers && layer <= ranks / workers; layer++)
            for (int hidden = 1; hidden <= units_max; hidden++) {
                const int mesh = ranks / workers;
                if (mesh % (layer * hidden) || workers * (mesh / (layer * hidden)) > s->plan.rows)
                    continue;
                TRY(add_mesh(
                    s, workers,
                    (unroll_split){.batch = mesh / (layer * hidden), .layer = layer, .hidden = hidden, .time = 1}));
            }
    }
    return UNROLL_OK;
}

/* Small numbers of ranks are all tried: three layers may need three stages. */
enum { FEW = 8 };
static int fewer(int ranks) { return ranks > FEW ? ranks / 2 : ranks - 1; }

/* Prices the divisions among the largest number of ranks, then among fewer while the goal improves. */
static unroll_status search_all(struct planner_search *s)
{
    const unroll_planner_config *c = s->config;
    int most = c->hosts ? c->hosts * s->cluster.ranks_per_host : c->ranks;
    if (most < 1 || most > RANKS_MAX)
        return fail(UNROLL_USAGE, "%d hosts of %d ranks: 1 to %d ranks are possible; fix: use fewer hosts or ranks",
                    c->hosts, s->cluster.ranks_per_host, RANKS_MAX);
    double best = INFINITY, least;
    for (int ranks = most; ranks >= 1 && (ranks == most || c->hosts); ranks = fewer(ranks), best = least) {
        TRY(add_ranks(s, ranks));
        least = ways_least(s->ways, s->goal);
        if (least >= best && ranks > FEW) /* while it improves */
            break;
    }
    if (s->ways->ways)
        return UNROLL_OK;
    return fail(
        UNROLL_UNSUPPORTED,
        "no way to divide this training among %d ranks fits into their memory of %.3g bytes (%d cuts were refused "
        "otherwise); fix: use more ranks, fewer rows, or another network file",
        most, s->cluster.memory, s->ways->refused);
}

/* Copies the configuration and the plan in it. */
static unroll_status take_config(const unroll_planner_config *given, unroll_planner_config *c, unroll_plan_config *plan)
{
    *c = unroll_planner_config_default();
    *plan = unroll_plan_config_default();
    TRY(sized_take(SIZED(unroll_planner_config, "unroll_planner_config_default()"), given, c));
    TRY(sized_take(SIZED_PLAN, c->plan, plan));
    c->plan = plan;
    return UNROLL_OK;
}

/* Checks the request and reads the cluster and the goal. */
static unroll_status check(const unroll_planner_config *c, struct cluster *cluster, enum goal *goal)
{
    const struct policy *policy;
    struct sync_options options;
    if (!c->network)
        return fail(UNROLL_USAGE, "the planner must know the network; fix: name its file (`network`)");
    if (c->plan->machine.split.time > 1) /* the price of repairs depends on the data */
        return fail(UNROLL_USAGE,
                    "the planner prices no cut along time: what it costs is found by running; fix: leave out "
                    "time=%d",
                    c->plan->machine.split.time);
    TRY(goal_find(c->goal, goal));
    TRY(cluster_read(c->network, cluster));
    if (c->sync)
        TRY(policy_read(c->sync, &policy, &options));
    if (*goal == GOAL_ENERGY && !cluster->clocks)
        return fail(UNROLL_USAGE, "%s has no \"clocks\", whose watts say what a rank draws; fix: add them", c->network);
    if (*goal == GOAL_MONEY && !(cluster->price > 0))
        return fail(UNROLL_USAGE, "%s has no \"price\" of a host for an hour; fix: add it", c->network);
    return UNROLL_OK;
}

/* Returns the number of a model's layers, and its head. If a spec has more, the plan rejects it. */
static int stages_max(const struct unroll_model *model, const unroll_model_config *spec)
{
    int layers = model ? unroll_model_layers(model) : spec->layers + 1;
    return layers < 1 ? 1 : layers < DEPTHS ? layers : DEPTHS;
}

/* Returns whether an earlier choice has the same mesh: only the best of each mesh is returned. */
static bool has_mesh(const struct ways *ways, int index)
{
    const unroll_choice *way = &ways->way[index];
    for (int i = 0; i < index; i++)
        if (ways->way[i].workers == way->workers && !memcmp(&ways->way[i].split, &way->split, sizeof way->split))
            return true;
    return false;
}

/* Sets entry `index` of the caller's array; the first entry contains the size of entries. */
static void give_choice(const unroll_choice *way, unroll_choice *choice, int index)
{
    unroll_choice *to = (unroll_choice *)((char *)choice + (size_t)index * choice->size);
    to->size = choice->size;
    sized_give(way, sizeof *way, to);
}

unroll_status planner_choose(const unroll_model *model, const unroll_planner_config *given, unroll_choice *choice,
                             int count, int *found, char *why, size_t size)
{
    enum goal goal;
    struct ways ways = {0};
    unroll_planner_config config;
    unroll_plan_config plan;
    struct planner_search s = {.model = model, .config = &config, .ways = &ways};
    *found = 0;
    if (count > 0)
        TRY(sized_check(SIZED_RESULT(unroll_choice), choice));
    TRY(take_config(given, &config, &plan));
    TRY(check(&config, &s.cluster, &goal));
    s.prices.cluster = &s.cluster;
    s.plan = plan;
    s.plan.machine.comm = NULL;
    s.goal = goal;
    s.layers = stages_max(model, plan.model_config);
    unroll_status status = search_all(&s);
    if (status == UNROLL_OK) {
        ways_sort(&ways, goal);
        choice_explain(&ways, goal, why, size);
        for (int i = 0; i < ways.ways && *found < count; i++)
            if (!has_mesh(&ways, i))
                give_choice(&ways.way[i], choice, (*found)++);
    }
    release(ways.way);
    return status;
}
