/* Checkpoint files damaged in thousands of ways: bits flipped, truncated, zeroed, extended, misplaced, mixed or
 * missing. None crashes, none is accepted as valid, and none changes the training that was to load it. What the command
 * does with a damaged run is tested in tests/cli/test_damage.sh. "quick", for sanitizers: fewer. */
/* test: kinds=plain,long-memory; args-memory=quick */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/philox.h"
#include "check.h"
#include "data/readers/reader_table.h"
#include "train/trainer.h"
#include "unroll.h"
#include "unroll_network.h"
#include "unroll_advanced.h"

enum { FILES = 2, CHECKPOINTS = 2, CORRUPTIONS = 2400, CORRUPTIONS_QUICK = 600, LARGEST = 1 << 16 };

static const char *const file_name[FILES] = {"model.safetensors", "optim.safetensors"};
static char folder[] = "/tmp/unroll_corruption_XXXXXX";

/* ---- a small training ---- */

static unroll_dataset *text;
static unroll_model *model;
static unroll_trainer *trainer;

static void start(void)
{
    const char words[] = "the sea is wide, the sea is deep and we sail on it from day to day. ";
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_model_config spec = unroll_model_config_default();
    char bytes[10 * sizeof words] = "";
    for (int i = 0; i < 10; i++) strcat(bytes, words);
    MUST(dataset_parse(bytes, strlen(bytes), "the test's text", "text", NULL, NULL, &text));
    spec.layers = 1;
    spec.hidden = 6;
    spec.embed = 4;
    spec.tokens = 1;
    spec.loss = "xent";
    unroll_dataset_vocabulary(text, &spec.input);
    spec.output = spec.input;
    config.batch = 2;
    config.bptt = 8;
    config.machine.threads = 1;
    MUST(unroll_model_new(&spec, 3, &model));
    MUST(unroll_trainer_new(model, text, &config, &trainer));
}

static void train(int steps)
{
    unroll_progress progress = {.size = sizeof progress};
    for (int i = 0; i < steps; i++) MUST(unroll_trainer_step(trainer, &progress));
}

static uint64_t hash_buffer(uint64_t hash, const char *name)
{
    float numbers[LARGEST / sizeof(float)];
    size_t count = unroll_session_count(trainer->session, name);
    MUST(unroll_session_read(trainer->session, name, numbers, count));
    return hash_words(hash, numbers, count);
}

static uint64_t hash_weights_of(unroll_model *of)
{
    uint64_t hash = HASH_BEGIN;
    unroll_parameter p = {.size = sizeof p};
    for (int i = 0; i < unroll_model_parameters(of); i++) {
        MUST(unroll_model_parameter(of, i, &p));
        hash = hash_words(hash, p.data, (size_t)p.shape[0] * (p.rank > 1 ? (size_t)p.shape[1] : 1));
    }
    return hash;
}

/* Hashes everything that the next step depends on. */
static uint64_t hash_training(void)
{
    const struct trainer_state *s = &trainer->state;
    const double reals[] = {s->plateau.best, s->plateau.factor};
    uint64_t hash = hash_bytes(HASH_BEGIN, reals, sizeof reals);
    int64_t counts[7] = {s->step, s->items, s->cursor.epoch, s->cursor.window, s->plateau.waited};
    unroll_parameter p = {.size = sizeof p};
    char name[128];
    unroll_session_counters(trainer->session, &counts[5], &counts[6]);
    hash = hash_bytes(hash, counts, sizeof counts);
    for (int i = 0; i < unroll_model_parameters(model); i++) {
        MUST(unroll_model_parameter(model, i, &p));
        hash = hash_buffer(hash, p.name);
        for (int state = 0; state < 2; state++) {
            snprintf(name, sizeof name, "%s.opt%d", p.name, state);
            hash = hash_buffer(hash, name);
        }
    }
    return hash_buffer(hash_buffer(hash, "h0.l0"), "s0.l0");
}

/* ---- files in memory ---- */

struct image {
    size_t size;
    bool is_gone;
    unsigned char bytes[LARGEST];
};

static struct checkpoint {
    char name[PATH_MAX];
    struct image image[FILES];
    uint64_t training, weights; /* hashes */
} checkpoints[CHECKPOINTS];

static void read_image(const char *directory, const char *name, struct image *image)
{
    char path[PATH_MAX + 32];
    void *bytes;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (!MUST(read_whole_file(path, sizeof image->bytes, &bytes, &image->size)))
        return;
    memcpy(image->bytes, bytes, image->size);
    image->is_gone = false;
    release(bytes);
}

/* Without a sync, which would take minutes for thousands of files. */
static void write_image(const char *directory, const char *name, const struct image *image)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
    FILE *file = image->is_gone ? NULL : fopen(path, "wb");
    if (file)
        CHECK(fwrite(image->bytes, 1, image->size, file) == image->size && fclose(file) == 0, "cannot write %s", path);
}

static void save(struct checkpoint *c, const char *name)
{
    snprintf(c->name, sizeof c->name, "%s/%s", folder, name);
    MUST(unroll_trainer_save(trainer, c->name));
    for (int i = 0; i < FILES; i++) read_image(c->name, file_name[i], &c->image[i]);
    c->training = hash_training();
    c->weights = hash_weights_of(model);
}

/* ---- corruptions ---- */

static struct rng rng;

static size_t below(size_t count) { return rng_below(&rng, (uint32_t)count); }

static void flip(struct image *image, const struct image *other)
{
    (void)other;
    image->bytes[below(image->size)] ^= (unsigned char)(1 << below(8));
}

static void cut(struct image *image, const struct image *other)
{
    (void)other;
    image->size = below(image->size);
}

static void zero(struct image *image, const struct image *other)
{
    size_t at = below(image->size), count = 1 + below(512);
    (void)other;
    memset(image->bytes + at, 0, count < image->size - at ? count : image->size - at);
}

static void extend_image(struct image *image, const struct image *other)
{
    size_t count = 1 + below(64);
    (void)other;
    for (size_t i = 0; i < count; i++) image->bytes[image->size++] = below(2) ? (unsigned char)below(256) : 0;
}

static void scribble(struct image *image, const struct image *other)
{
    (void)other;
    for (size_t i = 0, at = below(image->size); i < 8 && at + i < image->size; i++)
        image->bytes[at + i] = (unsigned char)below(256);
}

/* Puts a block of the file where another one belongs. */
static void misplace(struct image *image, const struct image *other)
{
    size_t count = 1 + below(256), from = below(image->size - count), to = below(image->size - count);
    (void)other;
    memmove(image->bytes + to, image->bytes + from, count);
}

/* Puts in a block of the same file from another checkpoint. */
static void mix(struct image *image, const struct image *other)
{
    size_t at = below(image->size), count = 1 + below(1024);
    for (size_t i = at; i < at + count && i < image->size && i < other->size; i++) image->bytes[i] = other->bytes[i];
}

static void swap(struct image *image, const struct image *other) { *image = *other; }

static void lose(struct image *image, const struct image *other)
{
    (void)other;
    image->is_gone = true;
}

static void (*const corruptions[])(struct image *image, const struct image *other) = {
    flip, flip, flip, flip, flip, flip, cut, zero, extend_image, scribble, misplace, mix, swap, lose};

static bool is_same(const struct image *a, const struct image *b)
{
    return a->is_gone == b->is_gone && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* ---- outcomes ---- */

static struct {
    int refused, harmless;
} outcome;

static void count_refusal(unroll_status status, const char *what, int number)
{
    outcome.refused++;
    CHECK(status == UNROLL_DATA && strstr(unroll_last_error(), folder), "corruption %d, %s: status %d: %s", number,
          what, (int)status, unroll_last_error());
}

/* The training is in the state of checkpoints[1]. */
static void load_training(const struct checkpoint *damaged, int number)
{
    unroll_status status = unroll_trainer_load(trainer, damaged->name);
    if (status != UNROLL_OK) {
        count_refusal(status, "load", number);
        CHECK(hash_training() == checkpoints[1].training, "corruption %d changed a training that refused it", number);
        return;
    }
    outcome.harmless++;
    CHECK(hash_training() == damaged->training, "corruption %d changes the training", number);
    MUST(unroll_trainer_load(trainer, checkpoints[1].name));
}

static void load_model(const struct checkpoint *damaged, int number)
{
    char path[PATH_MAX + 32];
    unroll_model *loaded;
    snprintf(path, sizeof path, "%s/%s", damaged->name, file_name[0]);
    unroll_status status = unroll_model_load(path, &loaded);
    if (status != UNROLL_OK) {
        count_refusal(status, "model", number);
        return;
    }
    CHECK(hash_weights_of(loaded) == damaged->weights, "corruption %d is another model", number);
    unroll_model_free(loaded);
}

static void check_whole(const struct checkpoint *damaged, bool loads, int number)
{
    unroll_progress progress = {.size = sizeof progress, .step = -1};
    unroll_status status = unroll_checkpoint_check(damaged->name, &progress);
    CHECK((status == UNROLL_OK) == loads, "corruption %d: %s", number, unroll_last_error());
    CHECK(progress.step == (status == UNROLL_OK ? 3 : -1), "corruption %d: step %d", number, (int)progress.step);
}

static void check_corruption(int number)
{
    static struct checkpoint damaged;
    const struct checkpoint *whole = &checkpoints[0];
    size_t file = below(FILES);
    damaged = *whole;
    snprintf(damaged.name, sizeof damaged.name, "%s/damaged", folder);
    corruptions[below(sizeof corruptions / sizeof *corruptions)](&damaged.image[file], &checkpoints[1].image[file]);
    if (is_same(&damaged.image[file], &whole->image[file]))
        return;
    for (int i = 0; i < FILES; i++) write_image(damaged.name, file_name[i], &damaged.image[i]);
    int harmless = outcome.harmless;
    load_training(&damaged, number);
    check_whole(&damaged, outcome.harmless > harmless, number);
    if (file == 0 && !is_same(&damaged.image[0], &checkpoints[1].image[0]))
        load_model(&damaged, number);
}

/* ---- files without a checksum ---- */

static unsigned char *find(struct image *image, const char *part)
{
    return memmem(image->bytes, image->size, part, strlen(part));
}

static void replace(struct image *image, const char *part, const char *other)
{
    unsigned char *at = find(image, part);
    if (CHECK(at != NULL && strlen(part) == strlen(other), "there is no '%s'", part))
        memcpy(at, other, strlen(part));
}

static void make_old(struct checkpoint *c)
{
    replace(&c->image[0], "\"format_version\":\"2\"", "\"format_version\":\"1\"");
    replace(&c->image[1], "unroll checkpoint 2", "unroll checkpoint 1");
    for (int i = 0; i < FILES; i++) {
        replace(&c->image[i], "\"unroll_checksum\"", "\"something_else_\"");
        write_image(c->name, file_name[i], &c->image[i]);
    }
}

/* They are loaded as before; what would corrupt weights is detected without a checksum. A removed checksum is
 * detected. */
static void check_old_files(void)
{
    static struct checkpoint old;
    const unsigned char not_a_number[4] = {0, 0, 0xc0, 0x7f};
    old = checkpoints[0];
    snprintf(old.name, sizeof old.name, "%s/damaged", folder);
    make_old(&old);
    MUST(unroll_trainer_load(trainer, old.name));
    CHECK(hash_training() == old.training, "an old checkpoint has other numbers");
    for (int i = 0; i < FILES; i++) {
        struct image whole = old.image[i];
        memcpy(old.image[i].bytes + whole.size - 4, not_a_number, 4);
        write_image(old.name, file_name[i], &old.image[i]);
        CHECK_REFUSED(unroll_trainer_load(trainer, old.name), UNROLL_DATA, "NaN");
        write_image(old.name, file_name[i], &whole);
        old.image[i] = checkpoints[0].image[i];
        replace(&old.image[i], "\"unroll_checksum\"", "\"something_else_\"");
        write_image(old.name, file_name[i], &old.image[i]);
        CHECK_REFUSED(unroll_trainer_load(trainer, old.name), UNROLL_DATA,
                      "'unroll_checksum' in its metadata is missing");
        write_image(old.name, file_name[i], &whole);
    }
}

int main(int count, char **words)
{
    char clean[64];
    int number = check_quick(count, words) ? CORRUPTIONS_QUICK : CORRUPTIONS;
    if (!CHECK(mkdtemp(folder), "no temporary folder"))
        return check_finish("test_corruption");
    snprintf(clean, sizeof clean, "%s/damaged", folder);
    MUST(make_directories(clean));
    rng = rng_new(11, 0);
    start();
    train(3);
    save(&checkpoints[0], "first");
    train(2);
    save(&checkpoints[1], "second");
    for (int i = 0; i < number; i++) check_corruption(i);
    printf("%d refusals, %d corruptions without a meaning\n", outcome.refused, outcome.harmless);
    check_old_files();
    unroll_trainer_free(trainer);
    unroll_model_free(model);
    unroll_dataset_free(text);
    snprintf(clean, sizeof clean, "rm -rf %s", folder);
    CHECK(system(clean) == 0, "%s", clean);
    return check_finish("test_corruption");
}
