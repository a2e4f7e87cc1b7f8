/* Seconds of an operation and of a sum, from a cluster's rates. A roofline model: the larger of work and bytes, plus
 * a constant. For steps of meshes see mesh_time.c. */
#include "extensions/cluster/planner/price.h"
#include <math.h>

/* ---- operations ------------------------------------------------------------------------ */

double op_seconds(const struct plan *p, const struct op *op, const struct cluster *c)
{
    double flops = op->flops / (1e9 * c->gflops), moves = op->bytes / c->memory_bandwidth, steps = 0;
    switch (op->kind) {
    case OP_SEND:
    case OP_RECV:
    case OP_ALL_REDUCE:
    case OP_ALL_GATHER:
    case OP_SUM_BEGIN:
    case OP_SUM_END: return 0;
    case OP_RNN:
    case OP_RNN_BACK:
        steps = op->view[RNN_G].buffer < 0 ? 0 : op->view[RNN_G].count[0];
        flops = op->flops / (1e9 * c->recurrent_gflops);
        break;
    default: break;
    }
    (void)p;
    return fmax(flops, moves) + steps * c->step_latency + c->operation_latency;
}

double message_seconds(const struct cluster *c, int from, int to, double bytes)
{
    const struct cluster_level *level = &c->level[cluster_level_between(c, from, to)];
    return level->latency + bytes / level->bandwidth;
}

/* ---- sums ------------------------------------------------------------------------------ */

/* A round of a sum takes as long as its slowest message. Ranks of a unit that send out of it in the same round share
 * its outgoing link. */
struct crossing {
    uint16_t unit[CLUSTER_LEVELS][RANKS_MAX]; /* messages that leave a unit; links of the first level are not shared */
};

static double shared_bandwidth(const struct cluster *c, int level, int crossing, int together)
{
    int most = level ? c->level[level - 1].ranks : 1, at_once = crossing * together;
    return c->level[level].bandwidth / (at_once < 1 ? 1 : at_once > most ? most : at_once);
}

static int unit_of(const struct cluster *c, int level, int rank)
{
    return (level ? rank / c->level[level - 1].ranks : rank) % RANKS_MAX;
}

/* Returns the seconds of a round: those of its slowest message. Messages that leave a unit of a level share its
 * bandwidth. */
static double round_seconds(const struct sum *s, const struct cluster *c, int number, int together,
                            struct crossing *crossing)
{
    const double size = s->is_double ? 8 : 4;
    struct sum_shape shape = {.size = s->size, .count = s->count, .shards = s->shards};
    struct round round;
    double most = 0;
    for (int pass = 0; pass < 2; pass++) /* first counts, then times */
        for (shape.place = 0; shape.place < s->size; shape.place++) {
            if (!algorithm_round(s->algorithm, &shape, number, &round) || round.to < 0 || round.to == shape.place ||
                !round.sent)
                continue;
            int from = s->ranks[shape.place], to = s->ranks[round.to], level = cluster_level_between(c, from, to);
            uint16_t *leaves = &crossing->unit[level][unit_of(c, level, from)];
            if (pass == 0) {
                ++*leaves;
                continue;
            }
            double bandwidth = shared_bandwidth(c, level, *leaves, together);
            most = fmax(most, c->level[level].latency + (double)round.sent * size / bandwidth);
        }
    for (int i = 0; i < s->size; i++) /* restores zeros */
        for (int level = 0; level < c->levels; level++) crossing->unit[level][unit_of(c, level, s->ranks[i])] = 0;
    return most;
}

static int count_rounds(const struct sum *s)
{
    struct sum_shape shape = {.size = s->size, .count = s->count, .shards = s->shards};
    struct round round;
    int rounds = 0;
    while (algorithm_round(s->algorithm, &shape, rounds, &round)) rounds++;
    return rounds;
}

double sum_seconds(const struct sum *sum, const struct cluster *c, int together)
{
    enum { SAMPLES = 64 }; /* samples of a ring's rounds, which are all alike */
    struct crossing crossing = {{{0}}};
    struct sum s = *sum;
    double all = 0;
    if (s.algorithm == COMM_NATIVE) /* its rounds are unknown: priced as the best of ours */
        s.algorithm = COMM_AUTO;
    if (s.algorithm == COMM_AUTO)
        s.algorithm = algorithm_choose(s.size, s.count * (s.is_double ? 8 : 4), false);
    const int rounds = count_rounds(&s), step = 1 + rounds / SAMPLES, samples = (rounds + step - 1) / step;
    for (int i = 0; i < samples; i++) all += round_seconds(&s, c, i * step, together, &crossing);
    return samples ? all * rounds / samples : 0;
}

double sum_seconds_of(struct prices *prices, const struct sum *sum, int together)
{
    const size_t few = 1 << 12, many = 1 << 22;
    const int first = sum->ranks[0], last = sum->ranks[sum->size - 1];
    struct sum s = *sum;
    for (int i = 0; i < prices->curves; i++) {
        const struct sum_curve *c = &prices->curve[i];
        if (c->size == s.size && c->first == first && c->last == last && c->together == together &&
            c->algorithm == s.algorithm)
            return c->begin + c->each * (double)s.count;
    }
    s.count = few;
    const double a = sum_seconds(&s, prices->cluster, together);
    s.count = many;
    const double each = (sum_seconds(&s, prices->cluster, together) - a) / (double)(many - few);
    struct sum_curve *made = &prices->curve[prices->curves < PRICE_CURVES ? prices->curves++ : PRICE_CURVES - 1];
    *made = (struct sum_curve){s.size, first, last, together, s.algorithm, fmax(0, a - each * (double)few), each};
    return made->begin + each * (double)sum->count;
}
