/* Networks for the commands, from the options and from files and runs. */
#pragma once
#include <limits.h>

#include "cli/show/console.h"
#include "cli/options/options.h"
#include "unroll_train.h"

/* Returns the network of the options. What they leave open is decided by the data and the task. */
unroll_model_config network_spec(const struct settings *settings);
/* Sets the options that the task has decided. */
unroll_status network_derive(struct settings *settings, const unroll_model_config *spec);

/* Returns the full name of a loss, or "none". */
const char *loss_about(const char *loss);
/* Returns whether a softmax turns the outputs into probabilities of classes. */
bool loss_gives_logits(const char *loss);

/* Returns the number of elements of all parameters. */
int64_t network_parameters(unroll_model *model);

/* Writes a name such as "lstm 2x128, bidirectional", or "network of 5 layers" if it is not a stack of one cell. */
void network_name(const unroll_model *model, char text[NAME_MAX]);

/* The inputs of a network, also for the short form without a list: the number of token columns and of numbers. */
struct network_columns {
    unroll_input column[UNROLL_INPUTS_MAX];
    int count, tokens, numbers;
};
void network_columns(const unroll_network *network, struct network_columns *columns);

/* Writes "65 tokens", "3 inputs" or "4 columns". */
void network_reads(const unroll_network *network, char text[NAME_MAX]);

/* "characters" or "words". */
const char *symbols_name(const unroll_model *model);
bool model_has_words(const unroll_model *model);
/* Writes a metric, such as "2.310 bits per character" or "perplexity 134.207". */
/* Writes a value with this number of decimals; very small and very large values get this number of significant
 * digits. */
const char *metric_number(double value, int digits, char text[NUMBER_TEXT]);
const char *metric_text(const unroll_metric *metric, char text[NUMBER_TEXT]);

/* Opens MODEL: a file, a checkpoint, or the weights of a run that --checkpoint selects. Prints errors. */
unroll_status network_open(const struct settings *settings, unroll_model **model);
/* The same, but fails if `target`, which will be written, is the model's file. NULL: nothing is written. */
unroll_status network_open_for(const struct settings *settings, const char *target, unroll_model **model);
/* Replaces the model by one whose inputs and predictions are in the units of the data (of --series), unless --raw is
 * given. */
unroll_status network_in_units(const struct settings *settings, unroll_model **model);
