/* Cells whose gates do not depend on a state can be computed by a scan over time, because h' = a h + b. No extra code
 * is needed: b is forward at h = 0, and a is backward's d.state at d.next = 1. The record shows which cells are of this
 * kind. */
/* test: with=cells/toy_records */
#define LAYER_REAL float
#include "tests/cells/depends.h"
#include "layer.h"
#include "toys.h"
#include "worst.h"

/* The map h -> a h + b. */
struct map {
    real a, b;
};

static struct map after(struct map later, struct map earlier)
{
    return (struct map){later.a * earlier.a, later.a * earlier.b + later.b};
}

/* Computes a and b of every step of one unit with the cell's own kernels. */
static void maps_of_unit(struct layer *l, size_t u, struct map *map)
{
    const struct cell_declaration *cell = l->cell->declaration;
    size_t H = l->shape.H;
    for (size_t t = 0; t < l->shape.T; t++) {
        real zero = 0, one = 1, saved[8], d_in[8];
        struct cell_step step = {.rows = 1,
                                 .width = 1,
                                 .value = {.in = {l->in + t * cell->inputs * H + u, H, 0},
                                           .state = {&zero, 0, 0},
                                           .next = {&map[t].b, 0, 0},
                                           .saved = {saved, 1, 0}},
                                 .gradient = {.in = {d_in, 1, 0}, .next = {&one, 0, 0}, .state = {&map[t].a, 0, 0}}};
        map[t].a = 0; /* backward adds to it */
        l->cell->forward[0](&step);
        l->cell->backward[0](&step);
    }
}

/* Inclusive scan in log2 T sweeps, as in the parallel algorithm. */
static void scan(struct map *map, size_t T)
{
    for (size_t reach = 1; reach < T; reach *= 2)
        for (size_t t = T; t-- > reach;) map[t] = after(map[t], map[t - reach]);
}

static void check_scan(const struct cell_kernels *cell)
{
    enum { T = 100, H = 4 };
    struct layer *l = layer_new(cell, (struct layer_shape){.T = T, .B = 1, .I = 3, .H = H});
    struct map map[T];
    uint64_t seed = 5;
    double worst = 0;
    for (size_t i = 0; i < l->value.count; i++) l->value.all[i] = (real)random_number(&seed);
    layer_forward(l);
    layer_refill_sums(l); /* forward has overwritten them with saved values */
    for (size_t u = 0; u < H; u++) {
        maps_of_unit(l, u, map);
        scan(map, T);
        for (size_t t = 0; t < T; t++)
            worst = worse(worst, fabs(map[t].a * l->state[u] + map[t].b - l->state[(t + 1) * H + u]));
    }
    layer_free(l);
    check_worst("scan", cell->declaration->name, worst, 1e-6);
}

/* True if h' = a h + b with a and b independent of h, the cell's only state. a is the d_state_h of backward: it may
 * depend neither on h nor on a saved value computed from h. */
static bool cell_record_is_scan(const struct cell_record *cell)
{
    const struct cell_declaration *declaration = cell->declaration;
    const struct record *forward = &cell->forward[0];
    if (declaration->phases > 1 || declaration->states != 1 || cell_inputs_from(declaration, FROM_H))
        return false;
    const struct node *a = cell->backward[0].result[0].node; /* states are the first results */
    char state[64], next[64];
    snprintf(state, sizeof state, "state_%s", declaration->state[0]);
    snprintf(next, sizeof next, "next_%s", declaration->state[0]);
    if (record_depends(a, state) || record_depends(a, next))
        return false;
    for (int i = 0; i < forward->results; i++) {
        const struct result *result = &forward->result[i];
        if (record_depends(a, result->name) && record_depends(result->node, state))
            return false;
    }
    return true;
}

int main(void)
{
    static struct cell_record record;
    for (int i = 0; cells_scalar[i]; i++) {
        const char *name = cells_scalar[i]->declaration->name;
        if (strstr(name, "_any"))
            continue; /* its function is known only at run time */
        CHECK(cell_record_named(cell_recorders, name, &record), "%s has no record", name);
        bool is_scan = cell_record_is_scan(&record);
        CHECK(is_scan == (!strcmp(name, "mingru") || !strcmp(name, "minlstm")), "%s is%s a scan", name,
              is_scan ? "" : " not");
        if (is_scan)
            check_scan(cells_scalar[i]);
    }
    CHECK(cell_record_named(toy_recorders, "toy", &record) && !cell_record_is_scan(&record), "toy is a scan");
    return check_finish("check_scan");
}
