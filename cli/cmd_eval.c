/* unroll eval: the mean loss of a model on a text. */
#include <inttypes.h>
#include <stdio.h>

#include "console.h"
#include "network.h"
#include "options.h"
#include "output.h"
#include "ranks.h"
#include "unroll_train.h"

static unroll_status print(bool json, unroll_symbol_kind kind, double nats, int64_t foretold)
{
    double bits = nats / log(2), perplexity = exp(nats);
    bool words = kind == UNROLL_WORDS;

    if (json)
        return print_json(json_pack("{sf sf sf sI}", "nats", nats,
                                    words ? "bits_per_word" : "bits_per_character", bits,
                                    "perplexity", perplexity, symbols_name(kind), (json_int_t)foretold));
    printf("%.4f nats, %.4f bits per %s, perplexity %.3f, %" PRId64 " %s\n", nats, bits,
           words ? "word" : "character", perplexity, foretold, symbols_name(kind));
    return UNROLL_OK;
}

static unroll_status evaluate(const struct settings *settings, unroll_model *model)
{
    unroll_text *text;
    double nats;
    int64_t foretold;
    unroll_status status = unroll_text_open_for(text_of(settings, OPTION_DATA), model, &text);

    if (status != UNROLL_OK)
        return complain_library(status);
    unroll_machine machine = machine_of(settings, &(struct ranks){0});
    status = unroll_evaluate(model, text, &machine, &nats, &foretold);
    unroll_text_free(text);
    if (status != UNROLL_OK)
        return complain_library(status);
    return print(is_on(settings, OPTION_JSON), unroll_model_symbol_kind(model), nats, foretold);
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
