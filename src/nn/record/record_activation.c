/* Records the activations of dense layers and their slopes. Softmax applies to a whole row and has no record. */
#include "nn/record/record.h"
#include "nn/vector/v_record.h"
#include "nn/vector/v_chosen.h"

/* A NULL result makes the record invalid. */
static V unless_of_rows(const struct activation *a, V made) { return a->kind == ACTIVATION_SOFTMAX ? NULL : made; }

void record_activation(const struct activation *a, struct record *record)
{
    record_begin(record, activation_name(a->kind));
    V x = record_input("x"), alpha = record_constant(a->alpha), beta = record_constant(a->beta);
    record_result("y", unless_of_rows(a, v_chosen(a->kind, x, alpha, beta)));
}

void record_slope(const struct activation *a, struct record *record)
{
    record_begin(record, activation_name(a->kind));
    V value = record_input("x"), alpha = record_constant(a->alpha), beta = record_constant(a->beta);
    record_result("y", unless_of_rows(a, v_chosen_slope(a->kind, value, alpha, beta)));
}

void record_chosen(enum activation_kind kind, bool slope, struct record *record)
{
    record_begin(record, activation_name(kind));
    V x = record_input("x"), alpha = record_input("alpha"), beta = record_input("beta");
    record_result("y", slope ? v_chosen_slope(kind, x, alpha, beta) : v_chosen(kind, x, alpha, beta));
}
