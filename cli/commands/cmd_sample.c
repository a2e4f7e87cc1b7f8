/* unroll sample: writes text with a model, character by character to standard output. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/show/console.h"
#include "cli/options/network.h"
#include "cli/options/options.h"
#include "cli/run/ranks.h"

struct writer {
    const char *prompt; /* printed before the first token, after which nothing can be refused */
    bool begun;
};

/* Returns non-zero to end the text: the reader is gone or the disk is full. */
static int write_symbol(void *arg, const char *symbol)
{
    struct writer *writer = arg;
    if (!writer->begun && writer->prompt && fputs(writer->prompt, stdout) < 0)
        return 1;
    writer->begun = true;
    return fputs(symbol, stdout) < 0;
}

unroll_status cmd_sample(struct settings *settings)
{
    unroll_model *model;
    unroll_sample_config config = unroll_sample_config_default();
    struct writer writer = {.prompt = text_of(settings, OPTION_PROMPT)};
    TRY(network_open(settings, &model));
    config.prompt = writer.prompt;
    config.length = (int)integer_of(settings, OPTION_LENGTH);
    config.temperature = number_of(settings, OPTION_TEMPERATURE);
    config.top_k = (int)integer_of(settings, OPTION_TOP_K);
    config.top_p = number_of(settings, OPTION_TOP_P);
    config.beam = (int)integer_of(settings, OPTION_BEAM);
    config.seed = (uint64_t)integer_of(settings, OPTION_SEED);
    config.machine = machine_of(settings, &(struct ranks){0});
    unroll_status status = unroll_model_sample(model, &config, write_symbol, &writer);
    unroll_model_free(model);
    if (writer.begun)
        putchar('\n');
    return complain_library(status);
}
