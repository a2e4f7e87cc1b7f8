/* The product of a program (oracle.h): two operands of any shape, one contracted axis in each, summed in double. */
#include "oracle_rule.h"
#include <stdlib.h>
#include <string.h>

/* Checks the list with one entry for each operand: "[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]". */
static void check_precision(struct oracle *o, const struct operation *op)
{
    static const char *const names[] = {"HIGHEST>", "HIGH>", "DEFAULT>"};
    const char *said = oracle_attribute(o, op, "precision_config");
    for (int i = 0; i < 2; i++) {
        const char *before = i ? ", #stablehlo<precision " : "[#stablehlo<precision ";
        size_t size = 0;
        for (int k = 0; k < 3 && !strncmp(said, before, strlen(before)); k++)
            if (!strncmp(said + strlen(before), names[k], strlen(names[k])))
                size = strlen(before) + strlen(names[k]);
        demand(o, op, size > 0, "no precision for each operand");
        said += size;
    }
}

void oracle_type_dot(struct oracle *o, const struct operation *op, types in, struct tensor_type *out)
{
    static const char *const names[] = {"lhs_contracting_dimensions", "rhs_contracting_dimensions"};
    int64_t axis[2][ORACLE_AXES], rank = 0;
    for (int i = 0; i < 2; i++) {
        demand(o, op, numbers_of(o, op, names[i], axis[i]) == 1 && axis[i][0] >= 0 && axis[i][0] < in[i].rank,
               "one axis is contracted");
        for (int k = 0; k < in[i].rank; k++)
            if (k != axis[i][0])
                out->dim[rank++] = in[i].dim[k];
    }
    demand(o, op, in[0].dim[axis[0][0]] == in[1].dim[axis[1][0]], "the axes that are contracted differ");
    demand(o, op, in[0].kind == in[1].kind && is_float(in[0].kind), "operands of two types, or of integers");
    check_precision(o, op);
    out->rank = (int)rank;
    out->kind = ORACLE_F32;
}

/* Returns the distance between an operand's rows, and that of its contracted axis. */
static int64_t strides_of(types t, int64_t contracted, int64_t *offset)
{
    struct tensor_type rest = {.rank = 0};
    int64_t index[ORACLE_AXES] = {0}, whole[ORACLE_AXES], i = 0, stride = 1;
    for (int k = 0; k < t->rank; k++)
        if (k != contracted)
            rest.dim[rest.rank++] = t->dim[k];
    do {
        for (int k = 0, from = 0; k < t->rank; k++) whole[k] = k == contracted ? 0 : index[from++];
        offset[i++] = offset_of(t, whole);
    } while (next_index(&rest, index));
    for (int k = (int)contracted + 1; k < t->rank; k++) stride *= t->dim[k];
    return stride;
}

/* Computes dot_general with one contracted axis and sums in double. */
void oracle_run_dot(struct oracle *o, const struct operation *op, struct tensor *const *in, struct tensor *out)
{
    int64_t axis[2], *row[2], rows[2], stride[2], width;
    axis[0] = oracle_numbers(o, oracle_attribute(o, op, "lhs_contracting_dimensions"), &axis[0]) ? axis[0] : 0;
    axis[1] = oracle_numbers(o, oracle_attribute(o, op, "rhs_contracting_dimensions"), &axis[1]) ? axis[1] : 0;
    width = in[0]->type.dim[axis[0]];
    for (int i = 0; i < 2; i++) {
        rows[i] = in[i]->count / width;
        row[i] = malloc((size_t)rows[i] * sizeof *row[i]);
        stride[i] = strides_of(&in[i]->type, axis[i], row[i]);
    }
    for (int64_t a = 0; a < rows[0]; a++)
        for (int64_t b = 0; b < rows[1]; b++) {
            double sum = 0;
            for (int64_t k = 0; k < width; k++)
                sum += in[0]->at[row[0][a] + k * stride[0]].f * in[1]->at[row[1][b] + k * stride[1]].f;
            out->at[a * rows[1] + b].f = (float)sum;
        }
    free(row[0]);
    free(row[1]);
}
