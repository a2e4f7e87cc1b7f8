/* Gradients computed by two ranks (threads here): wrong arithmetic on one of them is detected before ranks add up, and
 * the rank is identified; checked updates have the bits of unchecked ones. Replicas that differ are tested in
 * test_resume. */
/* test: seconds=5 */
#include <pthread.h>
#include <stdio.h>

#include "comm/comm.h"
#include "device/device.h"
#include "session/session.h"
#include "small_training.h"

enum { RANKS = 4, UPDATES = 3, MOST = 16384 };

/* ---- the CPU, whose results some ranks corrupt ---- */

static struct device spoilt;
static _Thread_local unsigned spoils; /* bit n: corrupts the n-th backward from now on */

static unroll_status run(void *executable, enum phase first, enum phase last)
{
    const struct device *cpu = device_find("cpu", NULL);
    unsigned char byte;
    unroll_status status = cpu->run(executable, first, last);
    if (status != UNROLL_OK || first != PHASE_BACKWARD)
        return status;
    if (spoils & 1) {
        status = cpu->read(executable, "d.rnn.weight_hh_l0", 21, 1, &byte);
        byte ^= 1;
        if (status == UNROLL_OK)
            status = cpu->write(executable, "d.rnn.weight_hh_l0", 21, 1, &byte);
    }
    spoils >>= 1;
    return status;
}

/* ---- ranks ---- */

struct rank {
    unroll_comm *comm;
    const unroll_dataset *text;
    int ranks, rows, exact, accumulate;
    bool checks;
    unsigned spoils; /* in the last update */
    unroll_status status;
    char error[256];
    int found, suspects;
    size_t count;
    float weights[MOST];
};

static unroll_status train(struct rank *r, unroll_model *model)
{
    unroll_trainer_config config = small_config();
    unroll_progress progress = {.size = sizeof progress};
    unroll_trainer *trainer;
    config.batch = r->rows;
    config.accumulate = r->accumulate;
    config.checks_gradients = r->checks;
    config.validation.share = 0;
    config.machine.device = "spoilt";
    config.machine.exact = r->exact;
    config.machine.comm = r->comm;
    config.machine.split.batch = r->ranks;
    unroll_status status = unroll_trainer_new(model, r->text, &config, &trainer);
    if (status != UNROLL_OK)
        return status;
    for (int i = 0; i < UPDATES && status == UNROLL_OK; i++) {
        if (i != 1) /* one in between that is not checked */
            unroll_trainer_check_next(trainer);
        spoils = i + 1 == UPDATES ? r->spoils : 0;
        status = unroll_trainer_step(trainer, &progress);
        if (i + 1 < UPDATES)
            unroll_trainer_checked(trainer, &r->found, &r->suspects);
        if (i + 1 < UPDATES && !CHECK(r->found == -1, "%d ranks of %d, %d rows: rank %d is found in update %d",
                                      r->ranks, r->exact, r->rows, r->found, i))
            break;
    }
    unroll_trainer_checked(trainer, &r->found, &r->suspects);
    if (status == UNROLL_OK)
        status = unroll_session_pull(trainer->session);
    unroll_trainer_free(trainer);
    return status;
}

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    unroll_model *model;
    unroll_parameter p = {.size = sizeof p};
    unroll_model_config spec = small_spec(r->text);
    r->status = unroll_model_new(&spec, 3, &model);
    if (r->status == UNROLL_OK)
        r->status = train(r, model);
    if (r->status != UNROLL_OK)
        snprintf(r->error, sizeof r->error, "%s", unroll_last_error());
    for (int i = 0; r->status == UNROLL_OK && i < unroll_model_parameters(model); i++) {
        unroll_model_parameter(model, i, &p);
        size_t n = (size_t)p.shape[0] * (p.rank > 1 ? (size_t)p.shape[1] : 1);
        memcpy(r->weights + r->count, p.data, n * sizeof *p.data);
        r->count += n;
    }
    unroll_model_free(model);
    return NULL;
}

/* like: the common settings; rank `wrong` corrupts. */
static struct rank *run_ranks(const struct rank *like, int wrong)
{
    static struct rank rank[RANKS];
    pthread_t thread[RANKS];
    unroll_comm *comm[RANKS];
    if (!CHECK(comm_threads_new(like->ranks, 60, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return NULL;
    for (int i = 0; i < like->ranks; i++) {
        rank[i] = *like;
        rank[i].comm = comm[i];
        rank[i].spoils = i == wrong ? like->spoils : 0;
        if (pthread_create(&thread[i], NULL, run_rank, &rank[i]))
            abort();
    }
    for (int i = 0; i < like->ranks; i++) pthread_join(thread[i], NULL);
    comm_threads_free(comm, like->ranks);
    return rank;
}

/* ---- checks ---- */

static void check_found(const struct rank *like, int wrong, int found, int suspects)
{
    const struct rank *rank = run_ranks(like, wrong);
    for (int i = 0; rank && i < like->ranks; i++)
        CHECK(rank[i].status == UNROLL_OK && rank[i].found == found && rank[i].suspects == suspects,
              "%d ranks, exact %d, rank %d spoils %x: rank %d finds %d, of %d, not %d, of %d: %s", like->ranks,
              like->exact, wrong, like->spoils, i, rank[i].found, rank[i].suspects, found, suspects, rank[i].error);
}

/* Bits of a checked step: its own gradients, those of the previous rank, and these again. */
static void check_wrong(const unroll_dataset *text)
{
    static const struct {
        int ranks, wrong;
        unsigned spoils;
        int found, suspects;
    } of[] = {{3, 1, 0, -1, 0}, {3, 1, 1, 1, 1}, {3, 1, 7, 1, 1}, {3, 0, 7, 0, 1}, {3, 2, 2, 2, 1}, {4, 3, 1, 3, 1},
              {4, 0, 2, 0, 1},  {2, 1, 1, 1, 1}, {2, 0, 2, 0, 1}, {2, 1, 3, 1, 1}, {2, 1, 7, 0, 2}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int exact = 0; exact <= 8; exact += 8)
            check_found(&(struct rank){.text = text,
                                       .ranks = of[i].ranks,
                                       .rows = 8,
                                       .exact = exact,
                                       .accumulate = 1,
                                       .checks = true,
                                       .spoils = of[i].spoils},
                        of[i].wrong, of[i].found, of[i].suspects);
}

/* Shares of different sizes, several batches per update. */
static void check_same(const unroll_dataset *text)
{
    static struct rank plain;
    for (int rows = 7; rows <= 8; rows++)
        for (int accumulate = 1; accumulate <= 2; accumulate++) {
            struct rank like = {.text = text, .ranks = 3, .rows = rows, .accumulate = accumulate};
            const struct rank *rank = run_ranks(&like, -1);
            if (!rank)
                return;
            plain = rank[0];
            like.checks = true;
            rank = run_ranks(&like, -1);
            for (int i = 0; rank && i < like.ranks; i++)
                CHECK(rank[i].status == UNROLL_OK && rank[i].found == -1 && rank[i].count == plain.count &&
                          plain.count > 0 &&
                          !memcmp(rank[i].weights, plain.weights, plain.count * sizeof *plain.weights),
                      "%d rows, %d batches an update: rank %d, checked: %s", rows, accumulate, i,
                      rank[i].status == UNROLL_OK ? "other weights" : rank[i].error);
        }
}

int main(void)
{
    unroll_dataset *text = make_text(4000, 5);
    spoilt = *device_find("cpu", NULL);
    spoilt.name = "spoilt";
    spoilt.run = run;
    MUST(device_add(&spoilt));
    check_same(text);
    check_wrong(text);
    unroll_dataset_free(text);
    return check_finish("test_twice");
}
