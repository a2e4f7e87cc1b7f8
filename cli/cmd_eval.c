/* unroll eval: the mean loss of a model on a text. */
#include <inttypes.h>
#include <stdio.h>

#include "console.h"
#include "network.h"
#include "options.h"
#include "output.h"

static unroll_status open_text(unroll_model *model, const char *path, unroll_text **text)
{
    unroll_spec spec = unroll_spec_default();
    const char *const *symbols = unroll_model_symbols(model);

    unroll_model_spec(model, &spec);
    if (symbols == NULL)
        return complain(UNROLL_UNSUPPORTED, "this model has no symbols, so it reads no text; fix: give one "
                        "that 'unroll train' made");
    unroll_status status = unroll_text_open(path, symbols, spec.input, text);
    return status == UNROLL_OK ? status : complain_library(status);
}

static unroll_status print(bool json, double nats, int64_t characters)
{
    double bits = nats / log(2), perplexity = exp(nats);

    if (json)
        return print_json(json_pack("{sf sf sf sI}", "nats", nats, "bits_per_character", bits, "perplexity",
                                    perplexity, "characters", (json_int_t)characters));
    printf("%.4f nats, %.4f bits per character, perplexity %.3f, %" PRId64 " characters\n", nats, bits,
           perplexity, characters);
    return UNROLL_OK;
}

static unroll_status evaluate(const struct settings *settings, unroll_model *model)
{
    unroll_text *text;
    double nats;
    int64_t characters;
    unroll_status status = open_text(model, text_of(settings, OPTION_DATA), &text);

    if (status != UNROLL_OK)
        return status;
    status = unroll_evaluate(model, text, (int)integer_of(settings, OPTION_THREADS), &nats, &characters);
    unroll_text_free(text);
    if (status != UNROLL_OK)
        return complain_library(status);
    return print(is_on(settings, OPTION_JSON), nats, characters);
}

unroll_status cmd_eval(struct settings *settings)
{
    unroll_model *model;
    unroll_status status = settings_need(settings, OPTION_MODEL);

    if (status == UNROLL_OK)
        status = settings_need(settings, OPTION_DATA);
    if (status == UNROLL_OK)
        status = network_open(text_of(settings, OPTION_MODEL), &model);
    if (status != UNROLL_OK)
        return status;
    status = evaluate(settings, model);
    unroll_model_free(model);
    return status;
}
