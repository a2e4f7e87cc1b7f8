/* One of several ranks (threads here) is slow: it gets fewer rows, or layers, while all train. Nothing is lost, and the
 * training is the same as without. When to divide is tested in test_rates. */
/* test: seconds=5 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "comm/comm.h"
#include "plan/passes/rates.h"
#include "session/session_state.h"
#include "small_training.h"

enum { RANKS = 3, SLOW = 1, ROWS = 12, LAYERS = 9, UPDATES = (PACE_WINDOWS + 1) * PACE_UPDATES };

struct rank {
    unroll_comm *comm;
    const unroll_dataset *text;
    int balance, exact, hidden;
    bool by_layers;
    unroll_status status;
    char error[256];
    int share, divided; /* rows, or recurrences */
    double loss, validation;
};

static int share_of(const struct rank *r, const struct plan *plan)
{
    int recurrences = 0;
    for (int i = 0; i < plan->ops; i++) recurrences += plan->op[i].kind == OP_RNN;
    return r->by_layers ? recurrences / plan->config.chunks : (int)plan->rows;
}

/* Trains on a rank, one of which pretends to be slow, and stores the shares. */
static unroll_status train(struct rank *r, unroll_model *model)
{
    unroll_trainer_config config = small_config();
    unroll_progress progress = {.size = sizeof progress};
    unroll_evaluation found = {.size = sizeof found};
    unroll_trainer *trainer;
    double part[RANKS];
    int ranks;
    config.batch = ROWS;
    config.balance = r->balance;
    config.machine.comm = r->comm;
    config.machine.exact = r->exact;
    config.machine.split.layer = r->by_layers ? RANKS : 1;
    config.machine.split.hidden = r->hidden;
    config.machine.split.batch = r->by_layers || r->hidden ? 1 : RANKS;
    unroll_status status = unroll_trainer_new(model, r->text, &config, &trainer);
    if (status != UNROLL_OK)
        return status;
    trainer->pretended = unroll_comm_rank(r->comm) == SLOW ? 5e-3 : 1e-3;
    for (int i = 0; i < UPDATES && status == UNROLL_OK; i++) status = unroll_trainer_step(trainer, &progress);
    if (status == UNROLL_OK)
        status = unroll_trainer_validate(trainer, &found);
    if (status == UNROLL_OK) {
        r->share = share_of(r, trainer->session->plan);
        r->divided = unroll_trainer_shares(trainer, part, RANKS, &ranks);
        r->loss = progress.loss;
        r->validation = found.loss;
        CHECK(progress.step == UPDATES, "%d updates", (int)progress.step);
    }
    unroll_trainer_free(trainer);
    return status;
}

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    unroll_model *model;
    unroll_model_config spec = small_spec(r->text);
    spec.layers = r->by_layers ? LAYERS : 2;
    r->status = unroll_model_new(&spec, 3, &model);
    if (r->status == UNROLL_OK)
        r->status = train(r, model);
    if (r->status != UNROLL_OK)
        snprintf(r->error, sizeof r->error, "%s", unroll_last_error());
    unroll_model_free(model);
    return NULL;
}

static struct rank rank[RANKS];

static bool run_ranks(struct rank like)
{
    pthread_t thread[RANKS];
    unroll_comm *comm[RANKS];
    if (!CHECK(comm_threads_new(RANKS, 120, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return false;
    for (int i = 0; i < RANKS; i++) {
        rank[i] = like;
        rank[i].comm = comm[i];
        if (pthread_create(&thread[i], NULL, run_rank, &rank[i]))
            abort();
    }
    for (int i = 0; i < RANKS; i++) pthread_join(thread[i], NULL);
    comm_threads_free(comm, RANKS);
    return true;
}

static void check_refused(struct rank like)
{
    for (int i = 0; run_ranks(like) && i < RANKS; i++)
        CHECK(rank[i].status == UNROLL_UNSUPPORTED && strstr(rank[i].error, "balance: "), "rank %d: status %d, %s", i,
              (int)rank[i].status, rank[i].error);
}

static void check_divided(struct rank like, int whole)
{
    if (!run_ranks(like))
        return;
    const struct rank even = rank[0];
    CHECK(even.status == UNROLL_OK && even.share == whole / RANKS, "%d: %s", even.share, even.error);
    like.balance = 1;
    run_ranks(like);
    int all = 0;
    for (int i = 0; i < RANKS; i++) {
        CHECK(rank[i].status == UNROLL_OK, "rank %d: %s", i, rank[i].error);
        CHECK(rank[i].divided == rank[0].divided && rank[i].divided > 0, "rank %d: divided %d times", i,
              rank[i].divided);
        CHECK(fabs(rank[i].loss - even.loss) < 1e-3 && fabs(rank[i].validation - even.validation) < 1e-3,
              "rank %d: loss %.6f, of the validation %.6f, not %.6f and %.6f", i, rank[i].loss, rank[i].validation,
              even.loss, even.validation);
        all += rank[i].share;
    }
    CHECK(all == whole && rank[SLOW].share < even.share, "%d of %d, and %d", rank[SLOW].share, all, even.share);
    if (!like.by_layers) /* others may have few of these: a layer takes them no time compared with the slow rank */
        CHECK(rank[SLOW].share < rank[0].share && rank[SLOW].share < rank[2].share, "%d, %d and %d", rank[0].share,
              rank[1].share, rank[2].share);
}

int main(void)
{
    unroll_dataset *text = make_text(6000, 5);
    check_refused((struct rank){.text = text, .balance = 1, .exact = 4});
    check_refused((struct rank){.text = text, .balance = 1, .hidden = RANKS});
    check_divided((struct rank){.text = text}, ROWS);
    check_divided((struct rank){.text = text, .by_layers = true}, LAYERS);
    unroll_dataset_free(text);
    return check_finish("test_balance");
}
