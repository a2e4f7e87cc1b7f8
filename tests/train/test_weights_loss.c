/* The effect of narrow weights on the loss of a trained network: a small one trained on a page of English for some
 * seconds. bench/weights.sh measures the same on the user's text. Usage: test_weights_loss TEXT */
/* test: args=docs/internals/design.md; seconds=20 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "unroll_train.h"

enum { UPDATES = 500 };

static unroll_model *make_model(const char *cell, const unroll_dataset *text)
{
    unroll_model_config spec = unroll_model_config_default();
    unroll_model *model = NULL;
    int symbols;
    unroll_dataset_vocabulary(text, &symbols);
    spec.cell = cell;
    spec.layers = 2;
    spec.hidden = 64;
    spec.tokens = 1;
    spec.input = spec.output = symbols;
    spec.loss = "xent";
    if (!MUST(unroll_model_new(&spec, 1, &model)))
        exit(check_finish("weights_loss"));
    MUST(unroll_model_set_schema(model, "lm", NULL, text));
    return model;
}

static void train(unroll_model *model, const unroll_dataset *text)
{
    unroll_trainer_config config = unroll_trainer_config_default();
    unroll_trainer *trainer;
    unroll_progress progress = {.size = sizeof progress};
    config.batch = 8;
    config.bptt = 32;
    config.rates.learning_rate = 0.01;
    config.schedule = "constant";
    config.validation.share = 0;
    if (!MUST(unroll_trainer_new(model, text, &config, &trainer)))
        exit(check_finish("weights_loss"));
    for (int i = 0; i < UPDATES; i++) MUST(unroll_trainer_step(trainer, &progress));
    unroll_trainer_free(trainer);
}

static double loss_with(unroll_model *model, const unroll_dataset *text, const char *weights)
{
    unroll_evaluation found = {.size = sizeof found, .loss = NAN};
    unroll_machine machine = unroll_machine_default();
    machine.threads = 1;
    machine.dtype = weights;
    MUST(unroll_model_evaluate(model, text, &machine, &found, NULL));
    return found.loss;
}

static void check_losses(const char *cell, const unroll_dataset *text)
{
    static const struct {
        const char *weights;
        double max;
    } limits[] = {{"bf16", 0.0005}, {"int8", 0.005}};
    unroll_model *model = make_model(cell, text);
    train(model, text);
    double exact = loss_with(model, text, "fp32");
    CHECK(exact < 2.5, "%s has learned: %.4f nats", cell, exact);
    for (int i = 0; i < 2; i++) {
        double change = loss_with(model, text, limits[i].weights) / exact - 1;
        printf("%-11s %s: %+.4f%% of %.4f nats\n", cell, limits[i].weights, 100 * change, exact);
        CHECK(fabs(change) <= limits[i].max && change != 0, "%s, %s: the loss changes by %.4f%%", cell,
              limits[i].weights, 100 * change);
    }
    unroll_model_free(model);
}

int main(int argc, char **argv)
{
    unroll_dataset *text;
    if (argc < 2 || !MUST(unroll_dataset_open(argv[1], NULL, &text)))
        return 2;
    check_losses("lstm", text);
    check_losses("gru-before", text);
    unroll_dataset_free(text);
    return check_finish("weights_loss");
}
