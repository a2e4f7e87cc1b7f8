/* Networks for the commands: from the options, and from files and runs. */
#ifndef CLI_NETWORK_H
#define CLI_NETWORK_H
#include <limits.h>

#include "console.h"
#include "options.h"
#include "unroll_train.h"

/* What the options say of a network; the rest is left to the data and the task. */
unroll_spec network_spec(const struct settings *settings);
/* Options that the task has decided get their values. */
unroll_status network_derive(struct settings *settings, const unroll_spec *spec);

/* What a loss is called in full; "none". */
const char *loss_about(const char *loss);
/* Do results become probabilities of classes by a softmax? */
bool loss_gives_logits(const char *loss);

/* How many numbers the parameters have in all. */
int64_t network_parameters(unroll_model *model);

/* "lstm 2x128, bidirectional"; "network of 5 layers" if it is no stack. */
void network_name(const unroll_model *model, char text[NAME_MAX]);

/* What a network reads, the short form too: how many columns are of tokens, how many numbers there are. */
struct network_columns {
    unroll_input column[UNROLL_INPUTS_MAX];
    int count, tokens, numbers;
};
void network_columns(const unroll_network *network, struct network_columns *columns);

/* "65 tokens", "3 inputs", "4 columns". */
void network_reads(const unroll_network *network, char text[NAME_MAX]);

/* "characters" or "words". */
const char *symbols_name(unroll_token_kind kind);
/* "2.310 bits per character", "perplexity 134.207". */
/* So many digits behind the point; of very small and very large numbers, in units of the data, so many in all. */
const char *metric_number(double value, int digits, char text[NUMBER_TEXT]);
const char *metric_text(const unroll_metric *metric, char text[NUMBER_TEXT]);

/* Opens MODEL: a file, a checkpoint, or of a run the weights of --checkpoint. Prints what is wrong. */
unroll_status network_open(const struct settings *settings, unroll_model **model);
/* The same, if what will be written to `target` is not the file of the model; NULL: nothing is written. */
unroll_status network_open_for(const struct settings *settings, const char *target, unroll_model **model);
/* What streams and exports read and answer is in the units of the data; of forecasts --series says which. */
unroll_status network_in_units(const struct settings *settings, unroll_model *model);

#endif
