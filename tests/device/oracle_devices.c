/* Operations between devices (oracle.h): exchanges in groups of equal size. */
#include "oracle_rule.h"
#include <stdlib.h>
#include <string.h>

/* ---- attributes ------------------------------------------------------------------------ */

enum { DEVICES = 64 };
struct groups {
    int count, size, member[DEVICES];
};

/* Parses replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>; each device is in one group. */
static void read_groups(struct oracle *o, const struct operation *op, struct groups *g)
{
    const char *at = oracle_attribute(o, op, "replica_groups"), *end = strstr(at, "> : tensor<");
    bool seen[DEVICES] = {false};
    int members = 0;
    demand(o, op, !strncmp(at, "dense<[[", 8) && end, "its groups are broken");
    g->count = (int)strtol(end + 11, (char **)&at, 10);
    g->size = (int)strtol(at + 1, NULL, 10);
    at = oracle_attribute(o, op, "replica_groups") + 6;
    while ((at += strspn(at, "[], ")) < end) {
        long member = strtol(at, (char **)&at, 10);
        demand(o, op, member >= 0 && member < DEVICES && members < DEVICES && !seen[member],
               "a device is in two groups, or none is");
        seen[member] = true;
        g->member[members++] = (int)member;
    }
    demand(o, op, g->size > 0 && members == g->count * g->size, "it does not have the stated number of groups");
    for (int i = 0; i < members; i++) demand(o, op, seen[i], "a device is in no group");
}

static int64_t axis_of(struct oracle *o, const struct operation *op, const char *name, const struct tensor_type *type)
{
    int64_t axis = strtoll(oracle_attribute(o, op, name), NULL, 10);
    demand(o, op, axis >= 0 && axis < type->rank, "no such axis");
    return axis;
}

/* ---- types ----------------------------------------------------------------------------- */

void oracle_type_all_reduce(struct oracle *o, const struct operation *op, const struct tensor_type *in,
                            struct tensor_type *out)
{
    struct groups g;
    read_groups(o, op, &g);
    demand(o, op, !strcmp(oracle_folding(o, op)->name, "add"), "no sum");
    *out = in[0];
}

void oracle_type_all_gather(struct oracle *o, const struct operation *op, const struct tensor_type *in,
                            struct tensor_type *out)
{
    struct groups g;
    read_groups(o, op, &g);
    *out = in[0];
    out->dim[axis_of(o, op, "all_gather_dim", in)] *= g.size;
}

void oracle_type_reduce_scatter(struct oracle *o, const struct operation *op, const struct tensor_type *in,
                                struct tensor_type *out)
{
    struct groups g;
    read_groups(o, op, &g);
    int64_t axis = axis_of(o, op, "scatter_dimension", in);
    demand(o, op, !strcmp(oracle_folding(o, op)->name, "add"), "no sum");
    demand(o, op, in[0].dim[axis] % g.size == 0, "the group does not divide the axis");
    *out = in[0];
    out->dim[axis] /= g.size;
}

/* ---- values ---------------------------------------------------------------------------- */

/* Numbers of elements before the axis, on it and after it. */
struct fold {
    int64_t outer, axis, inner;
};

static struct fold fold_at(const struct tensor_type *t, int64_t axis)
{
    struct fold f = {1, t->dim[axis], 1};
    for (int i = 0; i < t->rank; i++)
        if (i != axis)
            *(i < axis ? &f.outer : &f.inner) *= t->dim[i];
    return f;
}

static double sum_at(const struct groups *g, int group, struct tensor *const *in, int64_t i)
{
    double sum = 0;
    for (int k = 0; k < g->size; k++) sum += in[g->member[group * g->size + k]]->at[i].f;
    return sum;
}

static void gather(const struct groups *g, int group, int64_t axis, struct tensor *const *in, struct tensor *out)
{
    struct fold part = fold_at(&in[0]->type, axis);
    int64_t row = part.axis * part.inner;
    for (int64_t i = 0; i < part.outer; i++)
        for (int k = 0; k < g->size; k++)
            memcpy(&out->at[(i * g->size + k) * row], &in[g->member[group * g->size + k]]->at[i * row],
                   (size_t)row * sizeof *out->at);
}

static void scatter(const struct groups *g, int group, int me, int64_t axis, struct tensor *const *in,
                    struct tensor *out)
{
    struct fold part = fold_at(&out->type, axis);
    int64_t row = part.axis * part.inner;
    for (int64_t i = 0; i < part.outer; i++)
        for (int64_t k = 0; k < row; k++)
            out->at[i * row + k].f = oracle_round(out->type.kind, sum_at(g, group, in, (i * g->size + me) * row + k));
}

void oracle_together(struct oracle *o, const struct operation *op, int devices, struct tensor *const *in,
                     struct tensor *const *out)
{
    const char *name = op->rule->name;
    struct groups g;
    read_groups(o, op, &g);
    demand(o, op, g.count * g.size == devices, "its groups are for another number of devices");
    for (int i = 0; i < devices; i++) {
        struct tensor *mine = out[g.member[i]];
        if (!strcmp(name, "all_gather"))
            gather(&g, i / g.size, axis_of(o, op, "all_gather_dim", &mine->type), in, mine);
        else if (!strcmp(name, "reduce_scatter"))
            scatter(&g, i / g.size, i % g.size, axis_of(o, op, "scatter_dimension", &mine->type), in, mine);
        for (int64_t k = 0; !strcmp(name, "all_reduce") && k < mine->count; k++)
            mine->at[k].f = oracle_round(mine->type.kind, sum_at(&g, i / g.size, in, k));
    }
}
