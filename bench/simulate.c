/* Runs the ranks of a simulated cluster. SimGrid starts one actor per rank in this process. Each lowers its rank's
 * plan, as training does, and runs the steps on a simulated device (extensions/simulation) over
 * extensions/simulation/simgrid.h. Prints the time of a step, and the planner's estimate if only the batch is split.
 * The platform is made from the network file. No numbers are computed.
 *     simulate NETWORK RANKS TOPOLOGY STEPS LAYERS HIDDEN INPUT BPTT ROWS BATCH,LAYER,HIDDEN CHUNKS SUM [CLOCKS]
 * ROWS: rows of the whole batch. CLOCKS: for each stage the file's clock indices for forward, backward and update,
 * as 012:000. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extensions/simulation/simgrid.h"
#include "extensions/simulation/sim.h"
#include "extensions/cluster/planner/price.h"
#include "session/session.h"
#include "unroll_advanced.h"

enum { ARGUMENTS = 12 };

static struct {
    struct cluster cluster;
    unroll_model_config spec;
    unroll_plan_config plan;
    int ranks, steps;
    const char *clocks;
    const struct plan *shared; /* of rank 0 */
    double seconds, busy, sent, joules; /* per step; busy and joules: sums over all ranks */
    double waits_most;
    double planned; /* seconds of a step, from extensions/cluster/planner/price.h; 0: the mesh has several stages */
} sim;

static void give_up(const char *what)
{
    fprintf(stderr, "simulate: %s\n", what);
    exit(1);
}

/* ---- a rank ---------------------------------------------------------------------------- */

struct rank {
    struct unroll_comm *comm;
    unroll_status status;
};

static int clock_of(const struct plan *plan, int which)
{
    size_t at = (size_t)(4 * plan->config.at[M_LAYER] + which);
    return sim.clocks && at < strlen(sim.clocks) && sim.cluster.clocks ? (sim.clocks[at] - '0') % sim.cluster.clocks : 0;
}

static unroll_status run_phase(const struct plan *plan, struct unroll_comm *comm, int which, enum phase first,
                               enum phase last)
{
    const struct cluster *c = &sim.cluster;
    const int clock = clock_of(plan, which);
    const double began = comm_seconds(comm), waited = comm_totals(comm).exposed;
    TRY(sim_run(plan, c, comm, c->clocks ? c->clock[clock].speed : 1, first, last));
    const double waits = comm_totals(comm).exposed - waited, busy = comm_seconds(comm) - began - waits;
    sim.busy += busy;
    sim.joules += c->clocks ? busy * c->clock[clock].watts : 0;
    sim.waits_most += comm_rank(comm) == 0 ? waits : 0;
    return UNROLL_OK;
}

static unroll_status run_step(const struct plan *plan, struct unroll_comm *comm)
{
    TRY(run_phase(plan, comm, 0, PHASE_FORWARD, PHASE_FORWARD));
    TRY(run_phase(plan, comm, 1, PHASE_BACKWARD, PHASE_SUM));
    return run_phase(plan, comm, 2, PHASE_UPDATE, PHASE_UPDATE);
}

/* Runs the steps. All ranks begin at the same time. */
static unroll_status run_plan(const struct plan *plan, struct unroll_comm *comm)
{
    TRY(comm_agree(comm, UNROLL_OK, 0, ""));
    sim.busy = sim.joules = sim.waits_most = 0;
    const double began = comm_seconds(comm);
    const uint64_t sent = comm_totals(comm).sent;
    for (int i = 0; i < sim.steps; i++) TRY(run_step(plan, comm));
    const double seconds = comm_seconds(comm) - began;
    if (comm_rank(comm) == 0)
        sim.sent = (double)(comm_totals(comm).sent - sent) / sim.steps;
    sim.seconds = seconds > sim.seconds ? seconds : sim.seconds;
    return UNROLL_OK;
}

/* Returns whether the ranks' plans differ only in the rank, because only the batch is split: one plan is then
 * enough. */
static bool plans_are_alike(void)
{
    const unroll_machine *m = &sim.plan.machine;
    return m->split.batch == sim.ranks && sim.plan.rows % sim.ranks == 0;
}

static unroll_status expect(const struct plan *plan)
{
    struct prices prices = {.cluster = &sim.cluster};
    struct mesh_time time = {0};
    struct plan *const plans[] = {(struct plan *)plan};
    TRY(mesh_seconds(plans, 1, &prices, &time));
    sim.planned = time.seconds;
    return UNROLL_OK;
}

static void show(const struct plan *plan, void *arg)
{
    struct rank *rank = arg;
    sim.shared = plan;
    if (comm_rank(rank->comm) == 0 && sim.plan.machine.split.batch == sim.ranks)
        rank->status = expect(plan);
    if (rank->status == UNROLL_OK)
        rank->status = run_plan(plan, rank->comm);
    if (rank->status == UNROLL_OK) /* the plan must exist until all ranks have run it */
        rank->status = comm_agree(rank->comm, UNROLL_OK, 0, "");
}

static void run_rank(struct unroll_comm *comm, void *arg)
{
    struct rank rank = {.comm = comm};
    unroll_plan_config config = sim.plan;
    (void)arg;
    config.machine.comm = comm;
    unroll_status status = comm_rank(comm) && plans_are_alike() ? (show(sim.shared, &rank), UNROLL_OK)
                                                               : session_show_plan(&config, show, &rank);
    status = status == UNROLL_OK ? rank.status : status;
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "simulate: rank %d: %s\n", comm_rank(comm), unroll_last_error());
    exit(1);
}

/* ---- the platform ---------------------------------------------------------------------- */

/* Writes a fat tree of two levels of 32, a torus of three axes, or a dragonfly of at least 16 ranks, for 2^n ranks. */
static void write_topology(FILE *f, const char *topology, int ranks, double latency, double bandwidth)
{
    int links = 2, x = 1, y = 1, z = 1, leaf = ranks < 32 ? ranks : 32;
    char more[128] = "";
    const bool dragonfly = !strcmp(topology, "dragonfly");
    while (x * y * z < (dragonfly ? ranks / 4 : ranks)) *(x <= y && x <= z ? &x : y <= z ? &y : &z) *= 2;
    if (!strcmp(topology, "fat_tree"))
        links = 4, snprintf(more, sizeof more, " topology=\"FAT_TREE\" topo_parameters=\"2;%d,%d;1,%d;1,1\"", leaf,
                            ranks / leaf, leaf);
    else if (!strcmp(topology, "torus"))
        links = (x + y + z) / 4 + 1, snprintf(more, sizeof more, " topology=\"TORUS\" topo_parameters=\"%d,%d,%d\"", x, y, z);
    else if (dragonfly)
        links = 5, snprintf(more, sizeof more, " topology=\"DRAGONFLY\" topo_parameters=\"%d,4;%d,2;%d,1;4\"", z, y, x);
    else if (strcmp(topology, "flat"))
        give_up("topologies are flat, fat_tree, torus, dragonfly");
    fprintf(f,
            "<?xml version=\"1.0\"?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\"><platform "
            "version=\"4.1\">\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-%d\" speed=\"1Gf\" core=\"1\" "
            "bw=\"%.0fBps\" lat=\"%.9fs\" %s/></platform>\n",
            ranks - 1, bandwidth, latency / links, more);
}

static void write_platform(const char *path, const char *topology)
{
    const struct cluster_level *level = &sim.cluster.level[sim.cluster.levels - 1];
    FILE *f = fopen(path, "w");
    if (!f || sim.cluster.levels != 1)
        give_up(f ? "the network file has several levels; give one whose ranks are hosts" : path);
    write_topology(f, topology, sim.ranks, level->latency, level->bandwidth);
    fclose(f);
}

static void read_arguments(char **argv)
{
    if (cluster_read(argv[1], &sim.cluster) != UNROLL_OK)
        give_up(unroll_last_error());
    sim.ranks = atoi(argv[2]);
    sim.steps = atoi(argv[4]);
    sim.spec = unroll_model_config_default();
    sim.spec.cell = "lstm", sim.spec.tokens = 1, sim.spec.loss = "xent";
    sim.spec.layers = atoi(argv[5]), sim.spec.hidden = atoi(argv[6]);
    sim.spec.input = sim.spec.output = atoi(argv[7]);
    sim.plan = unroll_plan_config_default();
    sim.plan.model_config = &sim.spec;
    sim.plan.steps = atoi(argv[8]), sim.plan.rows = atoi(argv[9]);
    unroll_machine *m = &sim.plan.machine;
    if (sscanf(argv[10], "%d,%d,%d", &m->split.batch, &m->split.layer, &m->split.hidden) != 3)
        give_up("the cut is BATCH,LAYER,HIDDEN");
    m->chunks = atoi(argv[11]), m->sum = argv[12];
    m->threads = 1;
    sim.clocks = argv[13];
}

int main(int argc, char **argv)
{
    char place[] = "/tmp/unroll_simulate_XXXXXX", platform[64];
    if (argc < ARGUMENTS + 1)
        give_up("NETWORK RANKS TOPOLOGY STEPS LAYERS HIDDEN INPUT BPTT ROWS BATCH,LAYER,HIDDEN CHUNKS SUM [CLOCKS]");
    read_arguments(argv);
    if (!mkdtemp(place))
        give_up(place);
    snprintf(platform, sizeof platform, "%s/platform.xml", place);
    write_platform(platform, argv[3]);
    const unroll_status status = comm_simgrid_run(platform, sim.ranks, run_rank, NULL);
    unlink(platform), rmdir(place);
    if (status == UNROLL_UNSUPPORTED)
        return printf("skipped: %s\n", unroll_last_error()), 0;
    if (status != UNROLL_OK)
        give_up(unroll_last_error());
    const double step = sim.seconds / sim.steps, all = step * sim.ranks;
    const double busy = sim.busy / sim.steps;
    const double joules = (sim.joules / sim.steps + (all - busy) * sim.cluster.waiting_watts) / sim.plan.rows;
    printf("simulated %s %s: %d ranks, %.6g s a step, computes %.2f%%, a rank sends %.0f bytes, %.6g J a sequence",
           sim.cluster.name, argv[3], sim.ranks, step, 100 * busy / all, sim.sent, sim.cluster.clocks ? joules : 0);
    printf(sim.planned ? ", planned %.6g s a step\n" : "\n", sim.planned);
    return 0;
}
