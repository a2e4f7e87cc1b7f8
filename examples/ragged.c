/* Trains on sequences of unequal length, on one process or on several ranks:
 *     ragged [MODEL]    mpirun -n 3 ragged [MODEL]        MODEL: where it is saved, default ragged.safetensors
 * Shows unroll_sampler_order, which assigns sequences to rows of batches, and how a program runs as one of many ranks.
 * The model file has the same bytes for any number of ranks, because the session is exact. */
#include <stdio.h>
#include <stdlib.h>
#include <unroll_advanced.h>

/* 500 sequences of 3 to 40 tokens. A batch has 12 of them, summed as 4 shards, for up to 4 ranks. */
enum { SEQUENCES = 500, LONGEST = 40, ROWS = 12, SHARDS = 4, SYMBOLS = 5, EPOCHS = 4 };
static int32_t symbol[SEQUENCES][LONGEST], length[SEQUENCES];

static unroll_comm *comm;

/* A rank that fails alone notifies the others by exiting; rank 0 prints. */
static void check(unroll_status status)
{
    if (status == UNROLL_OK)
        return;
    fprintf(stderr, "ragged: %s\n", unroll_last_error());
    unroll_comm_abort(comm, status);
    exit(status);
}

/* Few are long. All ranks generate the same values. */
static void make_sequences(void)
{
    unsigned state = 1;
    for (int i = 0; i < SEQUENCES; i++) {
        state = state * 1664525u + 1013904223u;
        double replica = (state >> 8) / (double)(1 << 24);
        length[i] = 3 + (int32_t)((LONGEST - 2) * replica * replica);
        for (int t = 0; t < length[i]; t++) {
            state = state * 1664525u + 1013904223u;
            symbol[i][t] = (int32_t)(state >> 8) % SYMBOLS;
        }
    }
}

/* The target is the token two steps before; -1: a step that does not count. Batches are time-major. */
static void fill(const int64_t *sequence, int32_t tokens[LONGEST][ROWS], int32_t classes[LONGEST][ROWS],
                 int32_t lengths[ROWS])
{
    for (int row = 0; row < ROWS; row++) {
        lengths[row] = sequence[row] < 0 ? 0 : length[sequence[row]];     /* -1: no sequence is left for this row */
        for (int t = 0; t < lengths[row]; t++) {
            tokens[t][row] = symbol[sequence[row]][t];
            classes[t][row] = t < 2 ? -1 : symbol[sequence[row]][t - 2];
        }
    }
}

int main(int count, char *words[])
{
    const char *path = count > 1 ? words[1] : "ragged.safetensors";
    static int32_t tokens[LONGEST][ROWS], classes[LONGEST][ROWS], lengths[ROWS];

    /* This process is one of those started by mpirun or srun, or a single one. No wait lasts longer than 30 seconds. */
    check(unroll_comm_open(NULL, 30, &comm));
    make_sequences();

    unroll_model_config spec = unroll_model_config_default();
    spec.cell = "gru";
    spec.hidden = 24;
    spec.tokens = 1;
    spec.input = spec.output = SYMBOLS;
    spec.loss = "xent";
    unroll_model *model;
    check(unroll_model_new(&spec, 1, &model));

    unroll_session_config config = unroll_session_config_default();
    config.mode = UNROLL_TRAIN;
    config.steps = LONGEST;
    config.rows = ROWS;
    config.lengths = 1;
    config.machine.comm = comm;
    config.machine.split.batch = unroll_comm_ranks(comm);
    config.machine.exact = SHARDS;
    unroll_session *session;
    check(unroll_session_new(model, &config, &session));

    /* Each sequence once per epoch; sequences of similar length in a batch, and equal steps in each of its shards. */
    unroll_sampler_config sampler = unroll_sampler_config_default();
    sampler.how = "length";
    sampler.count = SEQUENCES;
    sampler.lengths = length;
    sampler.rows = ROWS;
    sampler.replicas = SHARDS;
    sampler.seed = 1;
    int64_t batches = unroll_sampler_batches(&sampler);
    int64_t *order = calloc((size_t)batches * ROWS, sizeof *order);
    if (!order)
        return UNROLL_RESOURCE;

    unroll_hyperparameters rates = unroll_hyperparameters_default(config.optimizer);
    rates.learning_rate = 0.02;
    unroll_batch batch = {.size = sizeof batch, .tokens = tokens[0], .targets = classes[0], .lengths = lengths};
    for (sampler.epoch = 0; sampler.epoch < EPOCHS; sampler.epoch++) {
        double nats = 0, counted = 0;
        check(unroll_sampler_order(&sampler, order));
        for (int64_t i = 0; i < batches; i++) {
            /* Every rank passes the whole batch and computes its rows; the result is that of all rows. */
            unroll_result result = { .size = sizeof result };
            fill(order + i * ROWS, tokens, classes, lengths);
            check(unroll_session_step(session, &batch, &rates, &result));
            nats += result.loss * result.weight;
            counted += result.weight;
        }
        if (unroll_comm_rank(comm) == 0)
            printf("epoch %d   %d batches   loss %.3f\n", (int)sampler.epoch, (int)batches, nats / counted);
    }

    /* All ranks collect the weights together; one of them writes them. */
    check(unroll_session_pull(session));
    if (unroll_comm_rank(comm) == 0)
        check(unroll_model_save(model, path));
    free(order);
    unroll_session_free(session);
    unroll_model_free(model);
    unroll_comm_close(comm);
    return 0;
}
