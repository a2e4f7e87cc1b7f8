/* Models and texts have symbols of the same kind and spelling, or a sentence says what differs. */
#include "train/reading.h"

#include <string.h>

#include "losses/loss.h"
#include "model/model.h"
#include "unroll_train.h"

struct text_reading reading_of(const unroll_model *model)
{
    return (struct text_reading){.kind = model->symbol_kind, .symbols = unroll_model_symbols(model),
                                 .symbol_count = model->input};
}

static const char *kind_name(unroll_symbol_kind kind)
{
    return kind == UNROLL_WORDS ? "words" : "characters";
}

static unroll_status check_same_symbols(const unroll_model *model, const unroll_text *text)
{
    const char *const *of_model = unroll_model_symbols(model);
    int count;
    const char *const *of_text = unroll_text_symbols(text, &count);

    if (of_model && model->symbol_kind != text->kind)
        return fail(UNROLL_DATA, "the model reads %s and the text was opened as %s; fix: open it with "
                    "unroll_text_open_for", kind_name(model->symbol_kind), kind_name(text->kind));
    for (int i = 0; of_model && i < count; i++)
        if (strcmp(of_model[i], of_text[i]) != 0)
            return fail(UNROLL_DATA, "symbol %d is '%s' in the model and '%s' in the text; fix: open the "
                        "text with the model's symbols", i, of_model[i], of_text[i]);
    return UNROLL_OK;
}

unroll_status check_model_reads_text(const unroll_model *model, const unroll_text *text)
{
    const struct loss *loss = loss_at(model->loss);
    int count;

    unroll_text_symbols(text, &count);
    if (!model->tokens || !loss || !loss->of_classes || unroll_model_outputs(model) != model->input)
        return fail(UNROLL_USAGE, "the model does not predict symbols; fix: tokens = 1, output = input, "
                    "loss = cross-entropy");
    if (model->input != count)
        return fail(UNROLL_DATA, "the model has %d symbols and the text %d; fix: open the text with the "
                    "model's symbols", model->input, count);
    return check_same_symbols(model, text);
}

/* ---- the public functions ---- */

unroll_status unroll_text_open_for(const char *path, const unroll_model *model, unroll_text **text)
{
    struct text_reading reading = reading_of(model);

    if (reading.symbols == NULL)
        return fail(UNROLL_UNSUPPORTED, "the model has no symbols, so it reads no text; fix: take one "
                    "that was trained on a text");
    return text_open(path, &reading, text);
}

unroll_status unroll_model_set_symbols_of(unroll_model *model, const unroll_text *text)
{
    int count;
    const char *const *symbols = unroll_text_symbols(text, &count);

    TRY(model_set_symbols(model, symbols, count));
    model->symbol_kind = unroll_text_symbol_kind(text);
    return UNROLL_OK;
}
