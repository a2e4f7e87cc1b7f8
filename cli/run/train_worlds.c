/* The checkpoints in memory of ranks that meet again when one is lost or joins: chooses the one from which all ranks
 * continue. member.c determines when the ranks meet. */
#include "cli/show/console.h"
#include "cli/run/train.h"

static int64_t newest_of(const struct training *t)
{
    int64_t first = unroll_replica_step(t->replica[0]), second = unroll_replica_step(t->replica[1]);
    return first > second ? first : second;
}

unroll_status training_replicate(struct training *t)
{
    bool second = unroll_replica_step(t->replica[0]) > unroll_replica_step(t->replica[1]);
    return unroll_trainer_replicate(t->trainer, t->replica[second]);
}

/* Chooses a replica that all ranks with replicas have. If a rank was lost while they were made, some ranks may have
 * one newer replica than others, but not two. */
static void choose_replica(const double *newest, int ranks, int64_t *step, int *from, bool *lacks)
{
    *step = -1;
    *lacks = false;
    for (int i = ranks - 1; i >= 0; i--) {
        const int64_t has = (int64_t)newest[i] - 1;
        *lacks |= has < 0;
        if (has < 0 || (*step >= 0 && has > *step))
            continue;
        *step = has;
        *from = i;
    }
}

/* Restores the replica of `step`, and discards a newer one, which the other ranks do not have. */
static unroll_status restore(struct training *t, int64_t step)
{
    const int which = unroll_replica_step(t->replica[0]) == step ? 0 : 1;
    unroll_status status = unroll_trainer_restore(t->trainer, t->replica[which]);
    if (unroll_replica_step(t->replica[!which]) <= step)
        return status;
    unroll_replica_free(t->replica[!which]);
    t->replica[!which] = NULL;
    unroll_status made = unroll_replica_new(&t->replica[!which]);
    return status == UNROLL_OK ? made : status;
}

unroll_status training_take_replica(struct training *t, int64_t *step)
{
    static double newest[RANKS_MAX];
    const int ranks = unroll_comm_ranks(t->ranks.comm), rank = unroll_comm_rank(t->ranks.comm);
    int from = 0;
    bool lacks;
    for (int i = 0; i < ranks; i++) newest[i] = i == rank ? (double)newest_of(t) + 1 : 0;
    TRY(complain_library(unroll_comm_sum(t->ranks.comm, newest, ranks)));
    choose_replica(newest, ranks, step, &from, &lacks);
    if (*step < 0)
        return UNROLL_OK;
    const int which = unroll_replica_step(t->replica[0]) == *step || newest_of(t) < 0 ? 0 : 1;
    if (lacks)
        TRY(complain_library(unroll_replica_share(t->replica[which], t->ranks.comm, from)));
    return complain_library(unroll_comm_agree(t->ranks.comm, restore(t, *step)));
}
