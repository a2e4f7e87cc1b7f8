/* Checkpoints do not depend on the number of ranks: unidirectional and bidirectional networks, trained in exact mode on
 * a mesh (threads here) and resumed on others, reach the weights and files of an uninterrupted run, bit for bit.
 * Learning is tested in test_trainer. */
/* test: kinds=check-plain */
#include "check.h"
#include "listed.h"
#include "comm/transport.h"
#include "convert/model_file.h"
#include "session/session_state.h"
#include "tasks/task_table.h"
#include "train/trainer.h"
#include "unroll_advanced.h"
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 8, HALF = 3, EXACT = 4, MAX_WEIGHTS = 8192 };

static unroll_dataset *text;
static char folder[] = "/tmp/test_resume.XXXXXX";

/* Trains on a mesh up to an update. Paths may be NULL: from the beginning, or without saving. */
struct leg {
    bool bidirectional;
    unroll_split mesh;
    int until;
    const char *from, *to;
    double last_rate; /* of the last rank only; 0, NULL: as for the others */
    const char *last_schedule, *last_from;
    float last_bias;     /* added to its first initial weight */
    bool last_is_broken; /* its configuration is refused */
    bool copies;         /* saves what it has loaded */
    bool flips;          /* one bit of rank `wrong`, after the training */
    int wrong;
};

struct rank {
    const struct leg *leg;
    unroll_comm *comm;
    unroll_status status;
    char error[512];
    unroll_progress progress; /* after a validation */
    int differs, differing;   /* unroll_trainer_compare */
    size_t count;
    float weights[MAX_WEIGHTS];
};

/* lm without its restrictions, so that bidirectional networks can be resumed, too. */
static struct task any_network;

static unroll_status new_model(const struct leg *leg, unroll_model **m)
{
    unroll_model_config s = unroll_model_config_default();
    s.layers = 2;
    s.hidden = 8;
    s.bidirectional = leg->bidirectional;
    s.dropout = 0.2f;
    s.tokens = 1;
    s.loss = "xent";
    unroll_dataset_vocabulary(text, &s.input);
    s.output = s.input;
    return unroll_model_new(&s, 3, m);
}

static bool is_last(const struct rank *r) { return unroll_comm_rank(r->comm) + 1 == unroll_comm_ranks(r->comm); }

/* Chunks are of rows if a layer cut has two directions: a rank has two rows or more. */
static unroll_trainer_config config_of(const struct rank *r)
{
    unroll_trainer_config c = unroll_trainer_config_default();
    c.task = any_network.name;
    c.batch = 8;
    c.bptt = 6;
    c.rates.learning_rate = 1e-2;
    c.total_steps = 2 * HALF;
    c.machine.threads = 1;
    c.machine.chunks = 2;
    c.machine.exact = EXACT;
    c.machine.comm = r->comm;
    c.machine.split = r->leg->mesh;
    if (is_last(r) && r->leg->last_rate > 0)
        c.rates.learning_rate = r->leg->last_rate;
    if (is_last(r) && r->leg->last_schedule)
        c.schedule = r->leg->last_schedule;
    if (is_last(r) && r->leg->last_is_broken)
        c.sync = "local:2";
    return c;
}

static unroll_status save(unroll_model *m, unroll_trainer *t, struct rank *r)
{
    char path[96];
    unroll_model *whole = NULL; /* a rank has only its own weights */
    unroll_status status = unroll_trainer_save(t, r->leg->to);
    unroll_parameter p = {.size = sizeof p};
    snprintf(path, sizeof path, "%s/model.safetensors", r->leg->to);
    if (status == UNROLL_OK)
        status = unroll_model_load(path, &whole);
    for (int i = 0; status == UNROLL_OK && i < unroll_model_parameters(m); i++) {
        unroll_model_parameter(whole, i, &p);
        size_t n = (size_t)p.shape[0] * (p.rank > 1 ? (size_t)p.shape[1] : 1);
        memcpy(r->weights + r->count, p.data, n * sizeof *p.data);
        r->count += n;
    }
    unroll_model_free(whole);
    return status;
}

/* In an optimizer state, or in a weight. */
static unroll_status flip(const unroll_session *s, enum segment segment)
{
    unsigned char byte;
    int i = 0;
    while (s->plan->buffer[i].segment != segment || s->plan->buffer[i].bytes == 0) i++;
    const struct buffer *b = &s->plan->buffer[i];
    unroll_status status = s->device->read(s->executable, b->name, b->bytes / 2, 1, &byte);
    byte ^= 4;
    return status == UNROLL_OK ? s->device->write(s->executable, b->name, b->bytes / 2, 1, &byte) : status;
}

static unroll_status compare(unroll_trainer *t, struct rank *r)
{
    const struct leg *leg = r->leg;
    unroll_status status = unroll_trainer_compare(t, &r->differs, &r->differing);
    CHECK(r->differs == -1 && r->differing == 0, "%d ranks differ, from %d on, and none should", r->differing,
          r->differs);
    if (status == UNROLL_OK && leg->flips && unroll_comm_rank(r->comm) == leg->wrong)
        status = flip(t->session, leg->wrong % 2 ? SEG_OPT : SEG_PARAM);
    return status == UNROLL_OK ? unroll_trainer_compare(t, &r->differs, &r->differing) : status;
}

/* Trains one leg on a rank: loads, steps, compares and saves. */
static unroll_status train(unroll_model *m, struct rank *r)
{
    unroll_trainer_config config = config_of(r);
    unroll_trainer *t;
    unroll_evaluation found = {.size = sizeof found};
    unroll_status status = unroll_trainer_new(m, text, &config, &t);
    if (status != UNROLL_OK)
        return status;
    const char *from = is_last(r) && r->leg->last_from ? r->leg->last_from : r->leg->from;
    if (from)
        status = unroll_trainer_load(t, from);
    r->progress = (unroll_progress){.size = sizeof r->progress};
    while (status == UNROLL_OK && r->progress.step < r->leg->until) status = unroll_trainer_step(t, &r->progress);
    if (status == UNROLL_OK)
        status = compare(t, r);
    if (status == UNROLL_OK && !r->leg->copies)
        status = unroll_trainer_validate(t, &found);
    if (status == UNROLL_OK)
        status = save(m, t, r);
    unroll_trainer_progress(t, &r->progress);
    unroll_trainer_free(t);
    return status;
}

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    unroll_model *m;
    r->status = new_model(r->leg, &m);
    if (r->status == UNROLL_OK) {
        if (is_last(r))
            m->values[0] += r->leg->last_bias;
        r->status = train(m, r);
        unroll_model_free(m);
    }
    if (r->status != UNROLL_OK)
        snprintf(r->error, sizeof r->error, "%s", unroll_last_error());
    return NULL;
}

static struct rank rank[RANKS];

/* A rank may pass its thread to another one while it waits: the thread's locale must be unchanged then. */
static const struct transport *threads;

static unroll_status send_watched(struct unroll_comm *comm, int to, uint32_t tag, const void *data, size_t bytes)
{
    CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE, "rank %d sends (tag %u) in a locale of its own", comm->rank, tag);
    return threads->send(comm, to, tag, data, bytes);
}

static void watch(struct unroll_comm **comm, int ranks)
{
    static struct transport watched;
    threads = comm[0]->transport;
    watched = *threads;
    watched.send = send_watched;
    for (int i = 0; i < ranks; i++) comm[i]->transport = &watched;
}

/* Returns the number of ranks that ran; 0: none. */
static int run_ranks(const struct leg *leg)
{
    pthread_t thread[RANKS];
    unroll_comm *comm[RANKS];
    int ranks = leg->mesh.batch * leg->mesh.layer * leg->mesh.hidden;
    if (!CHECK(comm_threads_new(ranks, 20, comm) == UNROLL_OK, "%s", unroll_last_error()))
        return 0;
    watch(comm, ranks);
    for (int i = 0; i < ranks; i++) {
        rank[i] = (struct rank){.leg = leg, .comm = comm[i]};
        if (pthread_create(&thread[i], NULL, run_rank, &rank[i]))
            abort();
    }
    for (int i = 0; i < ranks; i++) pthread_join(thread[i], NULL);
    comm_threads_free(comm, ranks);
    return ranks;
}

/* Afterwards rank[0] has the weights; the others have the same. */
static bool run_leg(const struct leg *leg)
{
    int ranks = run_ranks(leg);
    bool fine = ranks > 0;
    for (int i = 0; i < ranks; i++) {
        const unroll_progress *p = &rank[i].progress, *first = &rank[0].progress;
        fine &= CHECK(rank[i].status == UNROLL_OK, "rank %d of %d: %s", i, ranks, rank[i].error);
        CHECK(p->best_step > 0 && p->best_step == first->best_step && p->since_best == first->since_best &&
                  p->best_validation == first->best_validation,
              "rank %d of %d knows another best: %.17g at %d, not %.17g at %d", i, ranks, p->best_validation,
              (int)p->best_step, first->best_validation, (int)first->best_step);
    }
    return fine;
}

static void check_refused(const struct leg *leg, const char *word)
{
    int ranks = run_ranks(leg);
    for (int i = 0; i < ranks; i++)
        CHECK(rank[i].status == UNROLL_USAGE && strstr(rank[i].error, word), "rank %d: status %d: %s", i,
              (int)rank[i].status, rank[i].error);
}

/* Ranks that would diverge because each has weights of its own. */
static void check_unlike(void)
{
    const unroll_split two = {2, 1, 1, 1};
    char half[64], end[64];
    snprintf(half, sizeof half, "%s/half0", folder);
    snprintf(end, sizeof end, "%s/end0", folder);
    check_refused(&(struct leg){.mesh = two, .until = 1, .to = end, .last_rate = 2e-2}, "an option of the training");
    check_refused(&(struct leg){.mesh = two, .until = 1, .to = end, .last_schedule = "step"},
                  "an option of the training");
    check_refused(&(struct leg){.mesh = two, .until = 1, .to = end, .last_bias = 1e-6f}, "the initial weights are");
    check_refused(&(struct leg){.mesh = {1, 2, 1, 1}, .until = 1, .to = end, .last_bias = 1e-6f},
                  "the initial weights are");
    if (listed(UNROLL_LIST_COMPRESSORS, 0)) /* otherwise policies are an extension that is left out */
        check_refused(&(struct leg){.mesh = two, .until = 1, .to = end, .last_is_broken = true}, "`workers` 2 or more");
    check_refused(&(struct leg){.mesh = two, .until = 2 * HALF, .from = half, .to = end, .last_from = end},
                  "the checkpoint is not the same");
}

/* Checkpoints contain nothing about when, where or by how many ranks they were written. */
/* A bit differs on one rank: among three or more replicas it is identified, among two both are named. */
static void check_flips(void)
{
    static const struct {
        unroll_split mesh;
        int wrong, differs, differing;
    } of[] = {{{3, 1, 1, 1}, 1, 1, 1},
              {{4, 1, 1, 1}, 0, 0, 1},
              {{3, 2, 1, 1}, 5, 5, 1},
              {{3, 1, 2, 1}, 2, 2, 1},
              {{2, 1, 1, 1}, 1, 0, 2}};
    char end[64];
    snprintf(end, sizeof end, "%s/flipped", folder);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int ranks =
            run_ranks(&(struct leg){.mesh = of[i].mesh, .until = 1, .to = end, .flips = true, .wrong = of[i].wrong});
        for (int k = 0; k < ranks; k++)
            CHECK(rank[k].status == UNROLL_OK && rank[k].differs == of[i].differs &&
                      rank[k].differing == of[i].differing,
                  "rank %d of %d finds %d ranks that differ, from %d on, not %d from %d on: %s", k, ranks,
                  rank[k].differing, rank[k].differs, of[i].differing, of[i].differs, rank[k].error);
    }
}

/* Ranks with different weights write shards; one process writes what it reads from them as one file. */
static void check_same_files(const char *left, const char *right, const unroll_split *mesh, bool bidirectional)
{
    char command[160], whole[64], index[96];
    const bool is_split = mesh->layer * mesh->hidden > 1;
    snprintf(index, sizeof index, "%s/model.safetensors.index.json", right);
    CHECK((access(index, F_OK) == 0) == is_split, "%dx%dx%d ranks: shards or not", mesh->batch, mesh->layer,
          mesh->hidden);
    snprintf(whole, sizeof whole, "%s/whole", folder);
    if (is_split && run_leg(&(struct leg){
                        .bidirectional = bidirectional, .mesh = {1, 1, 1}, .from = right, .to = whole, .copies = true}))
        right = whole;
    snprintf(command, sizeof command, "diff -r %s %s", left, right);
    CHECK(system(command) == 0, "a checkpoint of %dx%dx%d ranks has other bytes", mesh->batch, mesh->layer,
          mesh->hidden);
}

static void check_network(bool bidirectional)
{
    static const unroll_split others[] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1},
                                          {3, 1, 1, 1}, {1, 3, 1, 1}, {2, 2, 1, 1}, {2, 2, 2, 1}};
    static struct rank whole;
    char half[64], end[64], straight[64];
    snprintf(half, sizeof half, "%s/half%d", folder, bidirectional);
    snprintf(end, sizeof end, "%s/end%d", folder, bidirectional);
    snprintf(straight, sizeof straight, "%s/straight%d", folder, bidirectional);
    if (!run_leg(&(struct leg){.bidirectional = bidirectional, .mesh = {1, 1, 1}, .until = 2 * HALF, .to = straight}))
        return;
    whole = rank[0];
    if (!run_leg(&(struct leg){.bidirectional = bidirectional, .mesh = {4, 1, 1}, .until = HALF, .to = half}))
        return;
    CHECK(memcmp(whole.weights, rank[0].weights, whole.count * sizeof *whole.weights), "nothing was learned in a half");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const unroll_split *m = &others[i];
        const struct leg rest = {
            .bidirectional = bidirectional, .mesh = *m, .until = 2 * HALF, .from = half, .to = end};
        if (run_leg(&rest))
            CHECK(rank[0].count == whole.count &&
                      !memcmp(whole.weights, rank[0].weights, whole.count * sizeof *whole.weights),
                  "%d directions, 4 ranks and then %dx%dx%d: other bits than without a stop", 1 + bidirectional,
                  m->batch, m->layer, m->hidden);
        check_same_files(straight, end, m, bidirectional);
    }
}

static bool wants_one(void *arg, const char *name) { return !strcmp(arg, name); }

/* Shards that are damaged, missing or of two checkpoints are refused by name, and a rank opens only the shards that it
 * needs. */
static void check_shards(void)
{
    static const struct {
        const char *command, *words;
    } of[] = {{"rm %1$s/model-00002-of-00002.safetensors", "shards/model-00002-of-00002.safetensors'"},
              {"rm %1$s/optim-00001-of-00002.safetensors", "shards/optim-00001-of-00002.safetensors'"},
              {"printf X | dd of=%1$s/optim-00002-of-00002.safetensors bs=1 seek=3000 conv=notrunc 2>/dev/null",
               "shards/optim-00002-of-00002.safetensors' is damaged"},
              {"cp %2$s/model-00002-of-00002.safetensors %1$s", "shards belong to different checkpoints"},
              {"cp %2$s/optim-00001-of-00002.safetensors %1$s", "of another checkpoint"},
              {"cp %2$s/optim.safetensors %1$s", "belong to a different checkpoint"},
              {"rm %1$s/model.safetensors.index.json", "model.safetensors.index.json'"}};
    const unroll_split two = {1, 2, 1, 1};
    unroll_progress progress = {.size = sizeof progress};
    unroll_model *m;
    char whole[64], other[64], hurt[64], index[96], command[512];
    snprintf(whole, sizeof whole, "%s/two", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(hurt, sizeof hurt, "%s/shards", folder);
    if (!run_leg(&(struct leg){.mesh = two, .until = 1, .to = whole}) ||
        !run_leg(&(struct leg){.mesh = two, .until = 2, .to = other}))
        return;
    CHECK(unroll_checkpoint_check(whole, &progress) == UNROLL_OK && progress.step == 1, "%s", unroll_last_error());
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int length = snprintf(command, sizeof command, "rm -rf %s; cp -r %s %s; ", hurt, whole, hurt);
        snprintf(command + length, sizeof command - (size_t)length, of[i].command, hurt, other);
        CHECK(system(command) == 0, "%s", command);
        unroll_status status = unroll_checkpoint_check(hurt, &progress);
        CHECK(status != UNROLL_OK && strstr(unroll_last_error(), of[i].words), "%s: status %d, %s", of[i].command,
              (int)status, unroll_last_error());
    }
    snprintf(index, sizeof index, "%s/model.safetensors.index.json", hurt);
    snprintf(command, sizeof command, "rm -rf %s; cp -r %s %s; rm %s/model-00002-of-00002.safetensors", hurt, whole,
             hurt, hurt);
    CHECK(system(command) == 0, "%s", command);
    unroll_status status = model_load_shards(index, wants_one, "rnn.weight_ih_l0", NULL, &m);
    CHECK(status == UNROLL_OK, "a rank that needs the first shard alone: %s", unroll_last_error());
    if (status == UNROLL_OK)
        unroll_model_free(m);
    CHECK(model_load_shards(index, wants_one, "head.weight", NULL, &m) != UNROLL_OK, "a shard that is needed is gone");
}

static void write_text(const char *path)
{
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < 120; i++) fprintf(file, "%d: a stitch in time saves nine\n", i * 7919 % 1000);
    CHECK(file && fclose(file) == 0, "%s could not be written", path);
}

int main(void)
{
    char path[64], clean[64];
    if (!CHECK(mkdtemp(folder), "no temporary folder"))
        return check_finish("test_resume");
    any_network = task_lm;
    any_network.name = "lm of any network";
    any_network.accepts = NULL;
    MUST(task_add(&any_network));
    snprintf(path, sizeof path, "%s/text", folder);
    snprintf(clean, sizeof clean, "rm -rf %s", folder);
    write_text(path);
    if (CHECK(unroll_dataset_open(path, NULL, &text) == UNROLL_OK, "%s", unroll_last_error())) {
        check_network(false);
        check_unlike();
        check_flips();
        check_shards();
        check_network(true);
        unroll_dataset_free(text);
    }
    CHECK(system(clean) == 0, "%s", clean);
    return check_finish("test_resume");
}
