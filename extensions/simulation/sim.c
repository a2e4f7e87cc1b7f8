/* Simulates the operations of a plan as time and messages: the same sends, sums and exchanges in the same order as
 * the CPU's kernels (device/cpu/executor/exchange.c, rnn_forward.h, rnn_backward.h), without data. Prices:
 * extensions/cluster/planner/price.h. */
#include "extensions/simulation/sim.h"

struct simulated_run {
    const struct plan *plan;
    const struct cluster *cluster;
    struct unroll_comm *comm;
    double speed;
};

/* ---- messages -------------------------------------------------------------------------- */

static size_t element(const struct simulated_run *r, const struct op *op)
{
    return dtype_size(r->plan->buffer[op->view[COMM_X].buffer].dtype);
}

/* Sends or receives in pieces, which both ends count in the same way. */
static unroll_status pass_pieces_of(const struct simulated_run *r, const struct op *op, int peer, double numbers,
                                    bool sends)
{
    size_t left = (size_t)numbers * element(r, op);
    while (left > 0) {
        size_t now = left < PIECE_BYTES ? left : PIECE_BYTES;
        TRY(sends ? comm_send(r->comm, peer, op->tag, NULL, now) : comm_recv(r->comm, peer, op->tag, NULL, now));
        left -= now;
    }
    return UNROLL_OK;
}

static unroll_status sum(const struct simulated_run *r, const struct op *op)
{
    struct sum sum = sum_of_numbers(r->plan, op, sum_numbers(r->plan, op));
    if (op->kind == OP_SUM_END)
        return comm_sum_end(r->comm, &sum);
    TRY(comm_sum_begin(r->comm, &sum));
    return op->kind == OP_SUM_BEGIN ? UNROLL_OK : comm_sum_end(r->comm, &sum);
}

/* All-gather: sends this rank's slice to every peer and receives theirs. */
static unroll_status gather(const struct simulated_run *r, const struct op *op, double numbers)
{
    const struct group *group = &r->plan->group[op->group];
    double mine = numbers / (group->size - 1);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < group->size; i++)
            if (group->rank[i] != comm_rank(r->comm))
                TRY(pass_pieces_of(r, op, group->rank[i], mine, pass == 0));
    return UNROLL_OK;
}

/* ---- steps that exchange units ----------------------------------------------------------- */

/* Forward: each rank sends its units to all others. Backward: partial sums are added by a tree. */
static unroll_status meet_in_step(const struct simulated_run *r, const struct op *op, double bytes)
{
    const struct group *group = &r->plan->group[op->group];
    const double each = bytes / (group->size - 1);
    if (op->kind == OP_RNN_BACK && !op->choice) {
        struct sum sum = {.ranks = group->rank,
                          .size = group->size,
                          .tag = op->tag,
                          .count = (size_t)(bytes / sizeof(float)),
                          .algorithm = COMM_TREE,
                          .shards = 1};
        TRY(comm_sum_begin(r->comm, &sum));
        return comm_sum_end(r->comm, &sum);
    }
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < group->size; i++)
            if (group->rank[i] != comm_rank(r->comm))
                TRY(pass == 0 ? comm_send(r->comm, group->rank[i], op->tag, NULL, (size_t)each)
                              : comm_recv(r->comm, group->rank[i], op->tag, NULL, (size_t)each));
    return UNROLL_OK;
}

static unroll_status recur(const struct simulated_run *r, const struct op *op, double seconds)
{
    const int steps = (int)op->view[RNN_G].count[0];
    const double bytes = op_sends(r->plan, op) / steps;
    for (int t = 0; t < steps; t++) {
        TRY(comm_spend(r->comm, seconds / steps));
        TRY(meet_in_step(r, op, bytes));
    }
    return UNROLL_OK;
}

/* ---- the list -------------------------------------------------------------------------- */

static unroll_status run_op(const struct simulated_run *r, const struct op *op)
{
    const double computes = op_seconds(r->plan, op, r->cluster) / r->speed;
    const double copies = op_sends(r->plan, op) / r->cluster->message_bandwidth;
    if ((op->kind == OP_RNN || op->kind == OP_RNN_BACK) && op->group >= 0)
        return recur(r, op, computes + copies);
    TRY(comm_spend(r->comm, computes + copies));
    switch (op->kind) {
    case OP_SEND:
    case OP_RECV:
        return pass_pieces_of(r, op, op->peer, (double)view_elements(r->plan, &op->view[COMM_X]), op->kind == OP_SEND);
    case OP_ALL_REDUCE:
    case OP_SUM_BEGIN:
    case OP_SUM_END: return sum(r, op);
    case OP_ALL_GATHER: return gather(r, op, op_sends(r->plan, op) / (double)element(r, op));
    default: return UNROLL_OK;
    }
}

unroll_status sim_run(const struct plan *plan, const struct cluster *cluster, struct unroll_comm *comm, double speed,
                      enum phase first, enum phase last)
{
    const struct simulated_run r = {plan, cluster, comm, speed};
    for (int i = 0; i < plan->ops; i++)
        if (plan->op[i].phase >= first && plan->op[i].phase <= last)
            TRY(run_op(&r, &plan->op[i]));
    return UNROLL_OK;
}
