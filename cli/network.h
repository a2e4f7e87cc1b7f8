/* Networks for the commands: from the options, and from files and runs. */
#ifndef CLI_NETWORK_H
#define CLI_NETWORK_H
#include <limits.h>

#include "console.h"
#include "options.h"

/* The language model that the options describe, for so many symbols. */
unroll_spec network_spec(const struct settings *settings, int symbols);

/* How many numbers the parameters have in all. */
int64_t network_parameters(unroll_model *model);

/* "lstm 2x128, bidirectional"; "network of 5 layers" if it is no stack. */
void network_name(const unroll_model *model, char text[NAME_MAX]);

/* "characters" or "words"; short: "char" or "words", for speeds. */
const char *symbols_name(unroll_symbol_kind kind);
const char *symbols_short_name(unroll_symbol_kind kind);
/* What people compare for a mean loss: "2.310 bits per character", or of words "perplexity 134.2". */
void describe_loss(unroll_symbol_kind kind, double nats, char text[NUMBER_TEXT]);

/* Opens a model file, a checkpoint, or the best weights of a run. Prints what is wrong. */
unroll_status network_open(const char *path, unroll_model **model);
/* The same, if what will be written to `target` is not the file of the model; NULL: nothing is written. */
unroll_status network_open_for(const char *path, const char *target, unroll_model **model);

#endif
