/* Sequences divided among ranks: each occurs once, all ranks finish an epoch together, steps and classes are balanced;
 * shards of 1 and of 1,000 tokens are weighted by their tokens. */
/* test: seconds=5 */
#include "comm/comm.h"
#include "check.h"
#include "unroll_advanced.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 1003, MAX_ROWS = 20, REPLICAS = 4, CLASSES = 5, MAX = SEQUENCES + MAX_ROWS };
static int batch_rows; /* of a batch: parts have the same number each, or nearly */
#define BATCHES ((SEQUENCES + batch_rows - 1) / batch_rows)

static int32_t lengths[SEQUENCES], classes[SEQUENCES];
static int64_t order[MAX], other[MAX];

/* Few are long, and few are of the last class. */
static void make_data(void)
{
    unsigned state = 7;
    for (int i = 0; i < SEQUENCES; i++) {
        state = state * 1664525u + 1013904223u;
        double u = (double)(state >> 8) / (1 << 24);
        lengths[i] = 1 + (int32_t)(999 * u * u * u);
        classes[i] = (int32_t)(CLASSES * sqrt(1 - u));
    }
}

static unroll_sampler_config sampler_of(const char *how)
{
    unroll_sampler_config d = unroll_sampler_config_default();
    d.how = how;
    d.count = SEQUENCES;
    d.lengths = lengths;
    d.classes = classes;
    d.rows = batch_rows;
    d.replicas = REPLICAS;
    d.seed = 3;
    return d;
}

static int replica_of(int row)
{
    int replica = 0;
    while (row >= batch_rows * (replica + 1) / REPLICAS) replica++;
    return replica;
}

/* What each part has of the whole epoch, and the largest excess of a part over the mean in a batch. */
struct tally {
    double steps[REPLICAS], rows[REPLICAS], class[REPLICAS][CLASSES], worst;
};

static struct tally tally(void)
{
    struct tally t = {.worst = 0};
    for (int batch = 0; batch < BATCHES; batch++) {
        double here[REPLICAS] = {0}, all = 0, max = 0;
        for (int row = 0; row < batch_rows; row++) {
            int64_t i = order[batch * batch_rows + row];
            int replica = replica_of(row);
            if (i < 0)
                continue;
            t.rows[replica]++;
            t.class[replica][classes[i]]++;
            here[replica] += lengths[i];
            all += lengths[i];
        }
        for (int replica = 0; replica < REPLICAS; replica++) {
            t.steps[replica] += here[replica];
            max = fmax(max, here[replica]);
        }
        t.worst += max * REPLICAS - all;
    }
    return t;
}

static void check_each_once(const char *how)
{
    static int seen[SEQUENCES];
    int empty = 0;
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < BATCHES * batch_rows; i++) {
        empty += order[i] < 0;
        if (order[i] >= 0 && CHECK(order[i] < SEQUENCES, "%s: sequence %d", how, (int)order[i]))
            seen[order[i]]++;
    }
    for (int i = 0; i < SEQUENCES; i++) CHECK(seen[i] == 1, "%s: sequence %d comes %d times", how, i, seen[i]);
    CHECK(empty == BATCHES * batch_rows - SEQUENCES, "%s: %d empty rows", how, empty);
}

static void check_way(const char *how)
{
    unroll_sampler_config d = sampler_of(how);
    CHECK(unroll_sampler_batches(&d) == BATCHES, "%s: batches", how);
    CHECK(unroll_sampler_order(&d, order) == UNROLL_OK, "%s", unroll_last_error());
    check_each_once(how);
    CHECK(unroll_sampler_order(&d, other) == UNROLL_OK &&
              !memcmp(order, other, (size_t)BATCHES * (size_t)batch_rows * sizeof *order),
          "%s: the same again", how);
    d.epoch = 1;
    CHECK(unroll_sampler_order(&d, other) == UNROLL_OK &&
              memcmp(order, other, (size_t)BATCHES * (size_t)batch_rows * sizeof *order),
          "%s: another epoch", how);
    struct tally t = tally();
    double steps = 0;
    for (int replica = 0; replica < REPLICAS; replica++) steps += t.steps[replica];
    if (!strcmp(how, "length"))
        CHECK(t.worst <= (batch_rows % REPLICAS ? 0.12 : 0.04) * steps, "by length ranks wait %.1f%% of the steps",
              100 * t.worst / steps);
    if (!strcmp(how, "shuffle"))
        CHECK(t.worst >= 0.2 * steps, "in random order ranks wait %.1f%% of the steps", 100 * t.worst / steps);
    for (int replica = 0; replica < REPLICAS; replica++) {
        int rows = batch_rows * (replica + 1) / REPLICAS - batch_rows * replica / REPLICAS;
        CHECK(fabs(t.rows[replica] - (double)SEQUENCES * rows / batch_rows) <= 2, "%s: part %d has %g sequences", how,
              replica, t.rows[replica]);
        for (int c = 0; c < CLASSES && !strcmp(how, "stratified"); c++) {
            double all = t.class[0][c] + t.class[1][c] + t.class[2][c] + t.class[3][c];
            CHECK(fabs(t.class[replica][c] - all * rows / batch_rows) <= 2, "part %d has %g of %g of class %d", replica,
                  t.class[replica][c], all, c);
        }
    }
}

/* Each class is in one part only, the parts have similar numbers of rows, and no row is left out. */
static void check_column(void)
{
    static int seen[SEQUENCES];
    static int64_t rows[2 * MAX];
    unroll_sampler_config d = sampler_of("column");
    int part[CLASSES], apart = 0;
    for (int c = 0; c < CLASSES; c++) part[c] = -1;
    memset(seen, 0, sizeof seen);
    int64_t batches = unroll_sampler_batches(&d);
    CHECK(batches >= BATCHES && batches * batch_rows <= 2 * MAX, "%d batches", (int)batches);
    CHECK(unroll_sampler_order(&d, rows) == UNROLL_OK, "%s", unroll_last_error());
    for (int64_t i = 0; i < batches * batch_rows; i++) {
        if (rows[i] < 0)
            continue;
        int *of_class = &part[classes[rows[i]]], replica = replica_of((int)(i % batch_rows));
        seen[rows[i]]++;
        apart += *of_class >= 0 && *of_class != replica;
        *of_class = replica;
    }
    CHECK(apart == 0, "%d sequences are apart from their class", apart);
    for (int i = 0; i < SEQUENCES; i++) apart += seen[i] != 1;
    CHECK(apart == 0, "%d sequences do not come once", apart);
    d.classes = NULL;
    CHECK(unroll_sampler_order(&d, order) == UNROLL_USAGE && strstr(unroll_last_error(), "needs the classes"),
          "no classes");
    d = sampler_of("part");
    CHECK(unroll_sampler_order(&d, order) == UNROLL_DATA &&
              strstr(unroll_last_error(), "is of part 4, and there are 4"),
          "%s", unroll_last_error());
}

/* One long row weighs as much as several: 12 + 1 + 1 + 1 and 4 + 4 + 4 + 1, not 18 and 10. */
static void check_long_row(void)
{
    static const int32_t some[] = {1, 4, 1, 12, 4, 1, 4, 1};
    unroll_sampler_config d = sampler_of("length");
    int64_t rows[8], steps[2] = {0, 0};
    d.count = d.rows = 8;
    d.lengths = some;
    d.classes = NULL;
    d.replicas = 2;
    CHECK(unroll_sampler_order(&d, rows) == UNROLL_OK, "%s", unroll_last_error());
    for (int i = 0; i < 8; i++) steps[i / 4] += some[rows[i]];
    CHECK(llabs(steps[0] - steps[1]) == 2, "a long row: %d steps and %d", (int)steps[0], (int)steps[1]);
}

static void check_refusals(void)
{
    unroll_sampler_config d = sampler_of("odd");
    CHECK(unroll_sampler_order(&d, order) == UNROLL_USAGE && strstr(unroll_last_error(), "stratified"),
          "an unknown way");
    d = sampler_of("length");
    d.lengths = NULL;
    CHECK(unroll_sampler_order(&d, order) == UNROLL_USAGE && strstr(unroll_last_error(), "needs the lengths"),
          "no lengths");
    d = sampler_of("stratified");
    d.classes = NULL;
    CHECK(unroll_sampler_order(&d, order) == UNROLL_USAGE && strstr(unroll_last_error(), "needs the classes"),
          "no classes");
    d = sampler_of("shuffle");
    d.replicas = batch_rows + 1;
    CHECK(unroll_sampler_order(&d, order) == UNROLL_USAGE && strstr(unroll_last_error(), "a row for each part"),
          "parts");
    d = sampler_of("shuffle");
    d.count = INT64_MAX;
    d.rows = 2;
    CHECK(unroll_sampler_batches(&d) == INT64_MAX / 2 + 1, "%lld batches", (long long)unroll_sampler_batches(&d));
    d.count = -1;
    CHECK(unroll_sampler_batches(&d) == 0 && unroll_sampler_batches(NULL) == 0, "there are none");
    lengths[5] = -1;
    d = sampler_of("shuffle");
    CHECK(unroll_sampler_order(&d, order) == UNROLL_DATA && strstr(unroll_last_error(), "sequence 5"),
          "a length below 0");
    make_data();
}

/* ---- shards of 1 and of 1,000 tokens --------------------------------------------------- */

enum { STEPS = 1000, SYMBOLS = 5 };
struct trained {
    unroll_comm *comm;
    unroll_status status;
    float weight[4096];
    size_t count;
    double loss;
};

/* Trains one step with different lengths; stores the loss. */
static unroll_status train_one(struct trained *r, unroll_model *m)
{
    static int32_t tokens[STEPS * 2], ends[2] = {1, STEPS};
    unroll_session_config c = unroll_session_config_default();
    unroll_hyperparameters rates = unroll_hyperparameters_default("sgd");
    unroll_batch batch = {.size = sizeof batch, .tokens = tokens, .targets = tokens, .lengths = ends};
    unroll_session *s;
    unroll_result result = {.size = sizeof result};
    c.mode = UNROLL_TRAIN, c.steps = STEPS, c.rows = 2, c.lengths = 1, c.optimizer = "sgd", c.machine.threads = 1;
    c.machine.comm = r->comm;
    c.machine.split.batch = r->comm ? 2 : 1;
    rates.learning_rate = 1;
    unroll_status status = unroll_session_new(m, &c, &s);
    if (status != UNROLL_OK)
        return status;
    status = unroll_session_step(s, &batch, &rates, &result);
    if (status == UNROLL_OK)
        status = unroll_session_pull(s);
    r->loss = result.loss;
    unroll_session_free(s);
    return status;
}

/* Trains on a rank and stores all weights. */
static void *run_rank(void *arg)
{
    struct trained *r = arg;
    unroll_model_config spec = unroll_model_config_default();
    unroll_parameter p = {.size = sizeof p};
    unroll_model *m;
    spec.cell = "gru", spec.hidden = 6, spec.tokens = 1, spec.input = spec.output = SYMBOLS;
    spec.loss = "xent";
    if ((r->status = unroll_model_new(&spec, 3, &m)) != UNROLL_OK)
        return NULL;
    r->status = train_one(r, m);
    for (int i = 0; i < unroll_model_parameters(m); i++) {
        unroll_model_parameter(m, i, &p);
        size_t n = (size_t)p.shape[0] * (p.rank > 1 ? (size_t)p.shape[1] : 1);
        memcpy(r->weight + r->count, p.data, n * sizeof *p.data);
        r->count += n;
    }
    unroll_model_free(m);
    return NULL;
}

static void check_weights_of_shards(void)
{
    static struct trained serial, rank[2];
    unroll_comm *comm[2];
    pthread_t thread[2];
    run_rank(&serial);
    CHECK(serial.status == UNROLL_OK, "one process");
    if (!CHECK(comm_threads_new(2, 20, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return;
    for (int i = 0; i < 2; i++) {
        rank[i].comm = comm[i];
        if (pthread_create(&thread[i], NULL, run_rank, &rank[i]))
            abort();
    }
    for (int i = 0; i < 2; i++) {
        double worst = 0;
        pthread_join(thread[i], NULL);
        for (size_t k = 0; k < serial.count; k++)
            worst = fmax(worst, fabs((double)serial.weight[k] - (double)rank[i].weight[k]));
        CHECK(rank[i].status == UNROLL_OK && serial.count && rank[i].count == serial.count, "rank %d trains", i);
        CHECK(worst <= 1e-5, "rank %d: weights of 1 and of 1,000 tokens are off by %.1e", i, worst);
        CHECK(fabs(rank[i].loss - serial.loss) <= 1e-6, "rank %d: loss %g, of one process %g", i, rank[i].loss,
              serial.loss);
    }
    comm_threads_free(comm, 2);
}

int main(void)
{
    make_data();
    for (batch_rows = MAX_ROWS; batch_rows >= 18; batch_rows -= 2) { /* with 18, some parts have 4, others 5 */
        check_way("shuffle");
        check_way("length");
        check_way("stratified");
        check_column();
    }
    batch_rows = MAX_ROWS;
    check_long_row();
    check_refusals();
    check_weights_of_shards();
    return check_finish("test_sampler");
}
