/* How ranks share the sequences of a task: each occurs once in an epoch, balanced as configured, with the same result
 * for every caller and time, from several threads. The methods themselves are tested in test_sampler.c, trainings of
 * several ranks in test_mpi.sh. */
/* test: seconds=5 */
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "base/memory.h"
#include "tasks/schema.h"
#include "tasks/examples/sequence_part.h"
#include "tasks/task_table.h"
#include "temporary.h"

enum { COUNT = 203, ROWS = 8, SHARES = 2, SITES = 7 };

static unroll_dataset *data;
static unroll_model *model;
static struct task_request request;

/* Texts of 1 to 60 characters, a label for one in five, a site. */
static void make_data(void)
{
    static char text[1 << 16];
    size_t used = (size_t)sprintf(text, "text,label,site\n");
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k <= i * 7 % 60; k++) text[used++] = (char)('a' + (i + k) % 20);
        used += (size_t)sprintf(text + used, ",%s,site%d\n", i % 5 ? "often" : "rare", i * i % SITES);
    }
    unroll_dataset_config config = unroll_dataset_config_default();
    config.options = "tokens=chars";
    write_text(inside("set.csv"), text);
    MUST(unroll_dataset_open(inside("set.csv"), &config, &data));
    unroll_model_config spec = unroll_model_config_auto();
    spec.hidden = 4;
    MUST(unroll_task_configure("classify", "target=label", data, &spec, NULL));
    MUST(unroll_model_new(&spec, 1, &model));
    request = (struct task_request){.data = data,
                                    .rows = ROWS,
                                    .seed = 5,
                                    .ranks = SHARES,
                                    .shares = SHARES,
                                    .options = "target=label",
                                    .model = model};
    MUST(schema_fit(model, &task_classify, &request));
}

static struct sequence_part *open_part(const char *how)
{
    struct part *part = NULL;
    request.divide_by = how;
    if (!MUST(task_classify.open(&request, PART_TRAINING, &part)) || part == NULL)
        abort();
    return (struct sequence_part *)part;
}

/* What an epoch gives to each share. */
struct tally {
    int seen[COUNT], share[COUNT];
    double steps[SHARES], rare[SHARES], worst;
};

/* Counts how an epoch is divided among the shares. */
static struct tally tally(const struct sequence_part *p, int64_t epoch)
{
    struct tally t = {.worst = 0};
    for (int64_t number = 0; number < p->part.batches; number++) {
        const struct batch_place place = sequence_place(p, epoch, number);
        double here[SHARES] = {0};
        for (int row = 0; row < place.rows; row++) {
            struct sequence_row at;
            if (!sequence_row(p, &place, row, &at))
                continue;
            const int share = row >= place.rows / SHARES;
            t.seen[at.sequence]++;
            t.share[at.sequence] = share;
            here[share] += at.length;
            t.rare[share] += at.sequence % 5 == 0;
        }
        for (int s = 0; s < SHARES; s++) t.steps[s] += here[s];
        t.worst += fabs(here[0] - here[1]);
    }
    return t;
}

static struct tally check_each_once(const char *how)
{
    struct sequence_part *p = open_part(how);
    const struct tally first = tally(p, 0), second = tally(p, 1), again = tally(p, 0);
    bool once = true;
    for (int i = 0; i < COUNT; i++) once = once && first.seen[i] == 1 && second.seen[i] == 1;
    CHECK(once, "%s: an epoch has each sequence once", how);
    CHECK(memcmp(&first, &again, sizeof first) == 0, "%s: an epoch has one order", how);
    CHECK(memcmp(first.share, second.share, sizeof first.share) || strcmp(how, "site") == 0, "%s: each its own", how);
    part_free(&p->part);
    return first;
}

static void check_ways(void)
{
    const struct tally even = check_each_once("even"), length = check_each_once("length"),
                       rare = check_each_once("stratified"), site = check_each_once("site");
    CHECK(length.worst < 0.4 * even.worst, "steps apart by length: %g, evenly %g", length.worst, even.worst);
    CHECK(fabs(rare.rare[0] - rare.rare[1]) <= 4, "rare ones: %g and %g", rare.rare[0], rare.rare[1]);
    int share[SITES], apart = 0;
    for (int i = 0; i < COUNT; i++) share[i * i % SITES] = site.share[i];
    for (int i = 0; i < COUNT; i++) apart += share[i * i % SITES] != site.share[i];
    CHECK(apart == 0, "%d sequences are apart from others of their site", apart);
}

/* ---- threads ---- */

static struct sequence_part *shared;
static struct tally of_epoch[4];

static void *read_epochs(void *arg)
{
    bool *same = arg;
    for (int round = 0; round < 3; round++)
        for (int epoch = 0; epoch < 4; epoch++) {
            const struct tally t = tally(shared, epoch);
            *same = *same && memcmp(&t, &of_epoch[epoch], sizeof t) == 0;
        }
    return NULL;
}

static void check_threads(void)
{
    bool same[3] = {true, true, true};
    pthread_t thread[3];
    shared = open_part("length");
    for (int epoch = 0; epoch < 4; epoch++) of_epoch[epoch] = tally(shared, epoch);
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, read_epochs, &same[i]);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    CHECK(same[0] && same[1] && same[2], "threads that are in different epochs");
    part_free(&shared->part);
}

static void check_refusals(void)
{
    struct part *part = NULL;
    request.divide_by = "town";
    CHECK_REFUSED(task_classify.open(&request, PART_TRAINING, &part), UNROLL_DATA,
                  "has no column 'town'; fix: use even, length, stratified or a column of it");
    request.divide_by = "text";
    CHECK_REFUSED(task_classify.open(&request, PART_TRAINING, &part), UNROLL_DATA, "has no categories; fix: use even");
    request.divide_by = "site", request.shares = 5; /* there are four squares modulo 7 */
    CHECK_REFUSED(task_classify.open(&request, PART_TRAINING, &part), UNROLL_DATA, "fewer values than 5 ranks");
    request.divide_by = "length", request.shares = ROWS + 1;
    CHECK_REFUSED(task_classify.open(&request, PART_TRAINING, &part), UNROLL_USAGE, "a row for each part");
    request.shares = SHARES;
    CHECK(part == NULL, "no part is left");
}

/* Trains from a checkpoint with this many shards, or to one. */
static unroll_status go_on(int shards, const char *from, const char *to)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_trainer *trainer;
    config.task = "classify", config.task_options = "target=label";
    config.batch = ROWS, config.bptt = 0;
    config.validation = (unroll_held_out){0};
    config.divide_by = "site";
    config.machine.threads = 1, config.machine.exact = shards;
    TRY(unroll_trainer_new(model, data, &config, &trainer));
    unroll_status status = from ? unroll_trainer_load(trainer, from) : unroll_trainer_save(trainer, to);
    unroll_trainer_free(trainer);
    return status;
}

static void check_others(void)
{
    char path[64], command[80];
    snprintf(path, sizeof path, "%s", inside("run"));
    MUST(go_on(SHARES, NULL, path));
    MUST(go_on(SHARES, path, NULL));
    CHECK_REFUSED(go_on(3, path, NULL), UNROLL_USAGE, "another number of ranks that share sequences");
    snprintf(command, sizeof command, "rm -r '%s'", path);
    CHECK(system(command) == 0, "%s", command);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    make_data();
    check_ways();
    check_threads();
    check_refusals();
    check_others();
    unroll_model_free(model);
    unroll_dataset_free(data);
    remove(inside("set.csv"));
    rmdir(folder);
    return check_finish("division");
}
