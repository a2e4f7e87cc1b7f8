/* Class weights in a training: balanced ones follow the class counts, without rows beyond their ends and targets of -1;
 * a checkpoint has the same weights and label smoothing. */
/* test: kinds=plain,long-memory */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "data/readers/reader_table.h"
#include "model/model.h"
#include "train/class_weights.h"
#include "train/trainer.h"

/* ---- counting ---- */

enum { T = 4, B = 3, CLASSES = 5 };

/* Batch i has the class i % 4 where it counts, class 4 in rows beyond their ends, and -1 at its first step. */
static void fill(const struct part *part, int64_t epoch, int64_t number, struct task_batch *batch)
{
    (void)part, (void)epoch;
    for (int i = 0; i < T * B; i++) batch->classes[i] = i < B ? -1 : (int32_t)(number % 4);
    for (int row = 0; row < B; row++) batch->lengths[row] = 2 + row;
    for (int row = 0; row < B; row++)
        for (int t = batch->lengths[row]; t < T; t++) batch->classes[t * B + row] = 4;
    batch->items = 1;
}

static unroll_model *model_of(const char *loss)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    spec.hidden = 3, spec.input = 2, spec.output = CLASSES, spec.loss = loss;
    MUST(unroll_model_new(&spec, 1, &model));
    return model;
}

static void test_counting(void)
{
    const struct part part = {.shape = {{T, B}}, .shapes = 1, .batches = 7, .lengths = true, .fill = fill};
    unroll_model *model = model_of("xent"), *other = model_of("mse");
    float *weights = NULL;
    if (MUST(class_weights_new(model, &part, &weights)))
        for (int i = 0; i < CLASSES; i++) {
            const int batches = i < 3 ? 2 : i == 3; /* with 1 + 2 + 3 counted steps each: of 7 x 6 numbers */
            const double wanted = batches ? 7. / (4 * batches) : 0;
            CHECK(fabs((double)weights[i] - wanted) < 1e-6, "class %d has the weight %g, not %g", i, (double)weights[i],
                  wanted);
        }
    free(weights);
    CHECK_REFUSED(class_weights_new(other, &part, &weights), UNROLL_USAGE,
                  "need a classification loss, not `loss` = 'mse'");
    unroll_model_free(model);
    unroll_model_free(other);
}

/* ---- a training ---- */

static unroll_trainer_config config_of(float smoothing, int balanced)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    config.batch = 4, config.bptt = 8, config.label_smoothing = smoothing, config.balanced_classes = balanced;
    config.machine.threads = 1;
    return config;
}

static unroll_trainer *open_trainer(unroll_model **model, const unroll_dataset *text,
                                    const unroll_trainer_config *config)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_trainer *trainer = NULL;
    spec.hidden = 8;
    MUST(unroll_task_configure("lm", NULL, text, &spec, NULL));
    MUST(unroll_model_new(&spec, 1, model));
    if (!MUST(unroll_trainer_new(*model, text, config, &trainer)))
        abort();
    return trainer;
}

static double first_loss(const unroll_dataset *text, unroll_trainer_config config)
{
    unroll_progress progress = {.size = sizeof progress};
    unroll_model *model;
    unroll_trainer *trainer = open_trainer(&model, text, &config);
    MUST(unroll_trainer_step(trainer, &progress));
    unroll_trainer_free(trainer);
    unroll_model_free(model);
    return progress.loss;
}

static void test_training(const unroll_dataset *text)
{
    char folder[] = "/tmp/unroll_weights_XXXXXX", place[64], line[96];
    float ones[16], some[16];
    unroll_trainer_config plain = config_of(0, 0), soft = config_of(0.1f, 1), weighted = config_of(0, 0);
    unroll_model *model;
    for (int i = 0; i < 16; i++) ones[i] = 1, some[i] = (float)i;
    const double standard = first_loss(text, plain);
    weighted.class_weights = ones;
    CHECK(fabs(first_loss(text, weighted) - standard) < 1e-6, "weights of 1 change the loss");
    weighted.class_weights = some;
    CHECK(fabs(first_loss(text, weighted) - standard) > 1e-3, "weights change nothing");
    CHECK(fabs(first_loss(text, config_of(0.3f, 0)) - standard) > 1e-4, "smoothing changes nothing");

    unroll_trainer *trainer = open_trainer(&model, text, &soft);
    if (!mkdtemp(folder))
        return;
    snprintf(place, sizeof place, "%s/step", folder);
    MUST(unroll_trainer_save(trainer, place));
    MUST(unroll_trainer_load(trainer, place));
    unroll_trainer_free(trainer);
    unroll_model_free(model);
    const struct {
        unroll_trainer_config config;
        const char *words;
    } others[] = {{config_of(0.2f, 1), "label_smoothing = 0.1"}, {config_of(0.1f, 0), "class_weights ="}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        trainer = open_trainer(&model, text, &others[i].config);
        CHECK_REFUSED(unroll_trainer_load(trainer, place), UNROLL_USAGE, others[i].words);
        unroll_trainer_free(trainer);
        unroll_model_free(model);
    }
    soft.class_weights = ones;
    unroll_model_config spec = unroll_model_config_default();
    MUST(unroll_task_configure("lm", NULL, text, &spec, NULL));
    MUST(unroll_model_new(&spec, 1, &model));
    CHECK_REFUSED(unroll_trainer_new(model, text, &soft, &trainer), UNROLL_USAGE, "fix: use one of them");
    unroll_model_free(model);
    snprintf(line, sizeof line, "rm -r %s", folder);
    CHECK(system(line) == 0, "the folder is removed");
}

int main(void)
{
    unroll_dataset *text = NULL;
    char path[] = "/tmp/unroll_weights_text_XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    for (int i = 0; i < 400; i++) fputs(i % 7 ? "aab " : "abcd. ", file);
    fclose(file);
    test_counting();
    if (MUST(unroll_dataset_open(path, NULL, &text)))
        test_training(text);
    unroll_dataset_free(text);
    remove(path);
    return check_finish("class_weights");
}
