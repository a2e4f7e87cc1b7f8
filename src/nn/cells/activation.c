/* Names and default parameters of activation functions, and their text form. The formulas are in
 * nn/vector/v_activation.h. */
#include "nn/cells/activation.h"
#include "base/number.h"
#include "base/point.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    float alpha, beta;
} table[ACTIVATION_COUNT] = {
#define ACTIVATION_ROW(ID, name, alpha, beta) { #name, alpha, beta },
    ACTIVATIONS(ACTIVATION_ROW)
#undef ACTIVATION_ROW
};

const char *activation_name(enum activation_kind kind) { return table[kind].name; }

int activation_numbers(enum activation_kind kind)
{
    switch (kind) {
    case ACTIVATION_LEAKY_RELU:
    case ACTIVATION_THRESHOLDED_RELU:
    case ACTIVATION_ELU: return 1;
    case ACTIVATION_AFFINE:
    case ACTIVATION_SCALED_TANH:
    case ACTIVATION_HARD_SIGMOID: return 2;
    default: return 0;
    }
}

/* "(0.2)" or "(0.2,0.5)" */
static bool parse_numbers(const char *text, struct activation *f)
{
    double alpha, beta = f->beta;
    text++;
    if (number_real(&text, -FLT_MAX, FLT_MAX, &alpha) != NUMBER_OK)
        return false;
    if (*text == ',' && (text++, number_real(&text, -FLT_MAX, FLT_MAX, &beta) != NUMBER_OK))
        return false;
    f->alpha = (float)alpha;
    f->beta = (float)beta;
    return !strcmp(text, ")");
}

bool activation_parse(const char *name, struct activation *activation)
{
    size_t length = strcspn(name, "(");
    for (int i = 0; i < ACTIVATION_COUNT; i++)
        if (strlen(table[i].name) == length && !strncmp(name, table[i].name, length)) {
            struct activation f = {(enum activation_kind)i, table[i].alpha, table[i].beta};
            const bool valid = !name[length] || parse_numbers(name + length, &f);
            if (valid)
                *activation = f;
            return valid;
        }
    return false;
}

void activation_format(const struct activation *f, char *to, size_t size)
{
    const bool usual = f->alpha == table[f->kind].alpha && f->beta == table[f->kind].beta;
    const locale_t before = point_begin();
    if (usual)
        snprintf(to, size, "%s", table[f->kind].name);
    else
        snprintf(to, size, "%s(%.9g,%.9g)", table[f->kind].name, (double)f->alpha, (double)f->beta);
    point_end(before);
}
