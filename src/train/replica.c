/* A checkpoint in memory. With a batch cut, each rank has all weights and optimizer states and copies them; the carried
 * states of all rows are gathered. It does not depend on files or on the trainer: any trainer of the same training can
 * resume from it, on any number of ranks. */
#include <string.h>

#include "base/memory.h"
#include "comm/comm.h"
#include "model/model.h"
#include "train/checkpoint/checkpoint_facts.h"
#include "train/checkpoint/checkpoint_kept.h"

struct unroll_replica {
    bool whole; /* false: empty, or incomplete because a rank was lost during copying */
    struct saved_state state;
    size_t weights, kept; /* number of values */
    float *number;        /* [weights + kept] */
};

enum { TAG_STATE = TAG_CONTROL | 24, TAG_NUMBERS };

unroll_status unroll_replica_new(unroll_replica **replica) { return ALLOCATE(*replica, 1, "for a replica"); }

void unroll_replica_free(unroll_replica *replica)
{
    if (replica)
        release(replica->number);
    release(replica);
}

int64_t unroll_replica_step(const unroll_replica *replica)
{
    return replica && replica->whole ? replica->state.trainer.step : -1;
}

static unroll_status make_room(unroll_replica *replica, size_t weights, size_t kept)
{
    replica->whole = false;
    if (replica->number && replica->weights == weights && replica->kept == kept)
        return UNROLL_OK;
    release(replica->number);
    replica->weights = weights;
    replica->kept = kept;
    return ALLOCATE(replica->number, weights + kept, "for a replica of %zu numbers", weights + kept);
}

/* Copies everything; collective if ranks have shares. */
static unroll_status copy(unroll_trainer *trainer, const struct kept *kept, unroll_replica *replica)
{
    const struct unroll_model *m = trainer->model;
    const bool split = session_is_split(trainer->session);
    float *at = replica->number + replica->weights;
    for (int i = 0; i < m->parameters && !split; i++)
        TRY(session_read_here(trainer->session, m->parameter[i].name, replica->number + m->parameter[i].first));
    if (split) {
        TRY(unroll_session_pull(trainer->session));
        memcpy(replica->number, m->values, m->count * sizeof *m->values);
    }
    for (int i = 0; i < kept->count; at += kept->size[i++])
        TRY(kept->from[i].parameter >= 0 && !split
                ? session_read_here(trainer->session, kept->name[i], at)
                : unroll_session_read(trainer->session, kept->name[i], at, kept->size[i]));
    take_state(trainer, &replica->state);
    return UNROLL_OK;
}

static unroll_status refuse_workers(void)
{
    return fail(UNROLL_UNSUPPORTED,
                "replicas are not supported with workers; fix: leave one of them out, or use checkpoints in files");
}

unroll_status unroll_trainer_replicate(unroll_trainer *trainer, unroll_replica *replica)
{
    struct kept kept;
    TRY(trainer->exchange ? refuse_workers() : UNROLL_OK);
    replica->whole = false;
    TRY(trainer_sync(trainer));
    unroll_status status = kept_list(trainer, false, &kept);
    if (status == UNROLL_OK)
        status = make_room(replica, trainer->model->count, kept.total);
    if (status == UNROLL_OK)
        status = copy(trainer, &kept, replica);
    kept_free(&kept);
    replica->whole = status == UNROLL_OK;
    return status;
}

/* Sends the replica of rank `from` to all other ranks of `comm`, which take it over. */
unroll_status unroll_replica_share(unroll_replica *replica, unroll_comm *comm, int from)
{
    const bool gives = unroll_comm_rank(comm) == from;
    struct {
        struct saved_state state;
        size_t weights, kept;
    } words = {replica->state, replica->weights, replica->kept};
    if (unroll_comm_ranks(comm) == 1)
        return UNROLL_OK;
    for (int rank = 0; gives && rank < unroll_comm_ranks(comm); rank++) {
        if (rank == from)
            continue;
        TRY(comm_send(comm, rank, TAG_STATE, &words, sizeof words));
        TRY(comm_send(comm, rank, TAG_NUMBERS, replica->number, (words.weights + words.kept) * sizeof(float)));
    }
    if (gives)
        return UNROLL_OK;
    TRY(comm_recv(comm, from, TAG_STATE, &words, sizeof words));
    TRY(make_room(replica, words.weights, words.kept));
    TRY(comm_recv(comm, from, TAG_NUMBERS, replica->number, (words.weights + words.kept) * sizeof(float)));
    replica->state = words.state;
    replica->whole = true;
    return UNROLL_OK;
}

/* Restores a trainer of the same training from the replica. Not supported with workers. */
unroll_status unroll_trainer_restore(unroll_trainer *trainer, unroll_replica *replica)
{
    struct kept kept;
    if (!replica->whole || replica->weights != trainer->model->count)
        return fail(UNROLL_USAGE, "this is not a replica of the training; fix: use a replica that this training made");
    TRY(trainer->exchange ? refuse_workers() : UNROLL_OK);
    unroll_status status = kept_list(trainer, true, &kept);
    if (status == UNROLL_OK && kept.total != replica->kept)
        status = fail(
            UNROLL_USAGE,
            "this is not a replica of the training: it has other states; fix: use a replica that this training made");
    if (status == UNROLL_OK) {
        memcpy(trainer->model->values, replica->number, replica->weights * sizeof *replica->number);
        status = unroll_session_push(trainer->session);
    }
    kept.numbers = replica->number + replica->weights;
    if (status == UNROLL_OK)
        status = kept_write(trainer, &kept);
    kept.numbers = NULL; /* owned by the replica */
    kept_free(&kept);
    return status == UNROLL_OK ? give_state(trainer, &replica->state, true) : status;
}
