/* Acts of recurrent layers (the products and the cell, from its declaration and record) and of activations. */
#include "stream/program/program.h"
#include "base/memory.h"
#include "base/status.h"
#include <string.h>

/* ---- fields of a record ---------------------------------------------------------------- */

/* Returns the index of a name in a list of `count`, or -1. */
static int named(const char *const *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(list[i], name))
            return i;
    return -1;
}

/* "in_i" after "in_" is "i"; NULL: the field belongs to another group. */
static const char *after(const char *field, const char *group)
{
    size_t n = strlen(group);
    return strncmp(field, group, n) ? NULL : field + n;
}

struct cell_vectors {
    const struct recurrence *r;
    int intermediate, m;
};

static const struct layer *layer_of(const struct program *p, const struct recurrence *r)
{
    return &p->model->layer[r->layer];
}

/* Binds state i: h, or one of the others. If h is projected, the cell's new h is stored in m. */
static struct binding state_binding(const struct program *p, const struct cell_vectors *v, int i, bool is_next)
{
    const uint32_t units = layer_of(p, v->r)->hidden;
    if (i == 0)
        return (struct binding){.vector = is_next && v->m != ABSENT_VECTOR ? v->m : v->r->h};
    return (struct binding){.vector = v->r->others, .first = (uint32_t)(i - 1) * units};
}

/* Binds a field that the cell reads: a sum, a state, a weight or an option. */
static unroll_status bind_input(struct program *p, const struct cell_vectors *v, const struct node *node,
                                struct binding *binding)
{
    const char *field = node->input;
    const struct layer *l = layer_of(p, v->r);
    const struct cell_declaration *cell = l->cell;
    const char *name;
    *binding = (struct binding){.vector = ABSENT_VECTOR};
    if ((name = after(field, "in_")))
        for (int i = 0; i < cell->inputs; i++)
            if (!strcmp(cell->input[i].name, name))
                *binding = (struct binding){.vector = v->r->sums, .first = (uint32_t)i * l->hidden};
    if ((name = after(field, "state_")))
        *binding = state_binding(p, v, named(cell->state, cell->states, name), false);
    if ((name = after(field, "vector_"))) {
        int found = model_find(p->model, PARAM_VECTOR, v->r->layer, 0);
        binding->weights = &p->model->parameter[found];
        binding->first = (uint32_t)named(cell->vector, cell->vectors, name) * l->hidden;
    }
    if ((name = after(field, "option_"))) {
        if (strcmp(name, "clip"))
            return fail(
                UNROLL_UNSUPPORTED,
                "layer %d: the cell '%s' has an option '%s' that exports do not support; fix: use another cell, or "
                "another format (`to` onnx)",
                v->r->layer, cell->name, name);
        binding->constant = (double)l->options.clip;
    }
    binding->node = node;
    return UNROLL_OK;
}

/* Omits results that only a backward pass would need. */
static bool bind_result(const struct program *p, const struct cell_vectors *v, const struct result *result,
                        struct binding *binding)
{
    const char *field = result->name;
    const struct layer *l = layer_of(p, v->r);
    const char *name;
    if ((name = after(field, "next_")))
        *binding = state_binding(p, v, named(l->cell->state, l->cell->states, name), true);
    else if ((name = after(field, "intermediate_")))
        *binding =
            (struct binding){.vector = v->intermediate,
                             .first = (uint32_t)named(l->cell->intermediate, l->cell->intermediates, name) * l->hidden};
    else
        return false;
    binding->node = result->node;
    return true;
}

/* ---- what is needed -------------------------------------------------------------------- */

static void need(struct pointwise *f, const struct node *node)
{
    f->node[node->number].is_needed = true;
    for (int i = 0; i < node_operands(node->kind); i++) need(f, node->operand[i]);
}

/* Binds the results of a record and the inputs they need. */
static unroll_status bind(struct program *p, const struct cell_vectors *v, struct pointwise *f)
{
    const struct record *record = f->record;
    for (int i = 0; i < record->results; i++) {
        if (f->results == BINDINGS || !bind_result(p, v, &record->result[i], &f->result[f->results]))
            continue;
        need(f, f->result[f->results++].node);
    }
    for (int i = 0; i < record->nodes; i++)
        if (record->node[i].kind == NODE_INPUT && f->node[i].is_needed) {
            if (f->inputs == BINDINGS)
                return fail(UNROLL_UNSUPPORTED,
                            "'%s' reads more than %d fields; fix: use a simpler cell, or another format (`to` onnx)",
                            record->name, f->inputs);
            TRY(bind_input(p, v, &record->node[i], &f->input[f->inputs]));
            f->node[i].field = &f->input[f->inputs++];
        }
    return UNROLL_OK;
}

/* Only products may read a projected h. */
static unroll_status check_projected(const struct program *p, const struct cell_vectors *v, const struct pointwise *f)
{
    for (int i = 0; v->m != ABSENT_VECTOR && i < f->inputs; i++)
        if (f->input[i].vector == v->r->h)
            return fail(
                UNROLL_UNSUPPORTED,
                "layer %d: the cell '%s' reads its own h, which is projected; fix: use another cell, or another "
                "format (`to` onnx)",
                v->r->layer, layer_of(p, v->r)->cell->name);
    return UNROLL_OK;
}

/* Appends an act with an empty record. */
static unroll_status pointwise_new(struct program *p, int layer, uint32_t units, struct act *act)
{
    struct pointwise *f = allocate_zeroed(1, sizeof *f);
    struct record *record = allocate_zeroed(1, sizeof *record);
    if (!f || !record || p->acts == (int)(sizeof p->act / sizeof *p->act)) {
        release(f);
        release(record);
        return fail(UNROLL_RESOURCE, "no memory for the record of layer %d", layer);
    }
    f->units = units;
    f->record = record;
    *act = (struct act){.kind = ACT_POINTWISE,
                        .layer = layer,
                        .from = ABSENT_VECTOR,
                        .to = ABSENT_VECTOR,
                        .matrix = -1,
                        .count = units,
                        .pointwise = f};
    return program_push(p, act); /* program_free frees it from now on */
}

/* Copies a record; the nodes of the copy point to each other. */
static void copy_record(struct record *to, const struct record *from)
{
    *to = *from;
    for (int i = 0; i < to->nodes; i++)
        for (int k = 0; k < node_operands(to->node[i].kind); k++)
            to->node[i].operand[k] = &to->node[from->node[i].operand[k]->number];
    for (int i = 0; i < to->results; i++) to->result[i].node = &to->node[from->result[i].node->number];
}

/* ---- a recurrent layer ----------------------------------------------------------------- */

/* Adds the pointwise function of one phase of the cell. */
static unroll_status add_phase(struct program *p, const struct cell_vectors *v, const struct record *record, int phase)
{
    struct act act;
    const struct layer *l = layer_of(p, v->r);
    if (record->refusal[0])
        return fail(UNROLL_UNSUPPORTED, "layer %d: %s; fix: use another cell, or another format (`to` onnx)",
                    v->r->layer, record->refusal);
    TRY(pointwise_new(p, v->r->layer, l->hidden, &act));
    snprintf(act.pointwise->name, sizeof act.pointwise->name, "%.24s_l%d%s", l->cell->name, v->r->layer,
             phase                 ? "_2"
             : l->cell->phases > 1 ? "_1"
                                   : "");
    copy_record(act.pointwise->record, record);
    TRY(bind(p, v, act.pointwise));
    return check_projected(p, v, act.pointwise);
}

/* Adds the recurrent sums of a phase's inputs. Adjacent inputs with the same source are one product. */
static unroll_status add_products(struct program *p, const struct cell_vectors *v, int phase)
{
    const struct layer *l = layer_of(p, v->r);
    const struct cell_declaration *cell = l->cell;
    const int b_hh = model_find(p->model, PARAM_B_HH, v->r->layer, 0);
    struct act act = {.kind = ACT_PRODUCT,
                      .layer = v->r->layer,
                      .to = v->r->sums,
                      .bias = b_hh < 0 ? NULL : &p->model->parameter[b_hh],
                      .matrix = program_matrix(p, PARAM_W_HH, v->r->layer)};
    uint32_t gate = 0; /* index in the weights */
    for (int i = 0, next; i < cell->inputs; i = next) {
        const unsigned from = cell->input[i].from;
        next = i + 1;
        if (!(from & (FROM_H | FROM_INTERMEDIATE)))
            continue;
        while (next < cell->inputs && cell->input[next].from == from && cell->input[next].phase == cell->input[i].phase)
            next++;
        act.from = from & FROM_INTERMEDIATE ? v->intermediate : v->r->h;
        act.adds = (from & FROM_X) != 0;
        act.to_first = (uint32_t)i * l->hidden;
        act.row = act.bias_first = gate * l->hidden;
        act.count = (uint32_t)(next - i) * l->hidden;
        gate += (uint32_t)(next - i);
        if (cell->input[i].phase == phase)
            TRY(program_push(p, &act));
    }
    return UNROLL_OK;
}

/* Adds the projection of m to h. */
static unroll_status add_projection(struct program *p, const struct cell_vectors *v)
{
    const struct layer *l = layer_of(p, v->r);
    struct act act = {.kind = ACT_PRODUCT,
                      .layer = v->r->layer,
                      .from = v->m,
                      .to = v->r->h,
                      .count = l->width,
                      .matrix = program_matrix(p, PARAM_W_HR, v->r->layer)};
    if (p->is_integer) { /* products give sums: a further act converts them to h */
        char name[32];
        snprintf(name, sizeof name, "p_l%d", v->r->layer);
        TRY(program_add_vector(p, name, l->width, PLACE_WORK, &act.to));
        p->vector[act.to].is_sum = true;
    }
    TRY(program_push(p, &act));
    if (act.to == v->r->h)
        return UNROLL_OK;
    return program_push(
        p, &(struct act){
               .kind = ACT_COPY, .layer = v->r->layer, .from = act.to, .to = v->r->h, .matrix = -1, .count = l->width});
}

/* Adds the products, phases and projection of a recurrent layer. */
unroll_status program_add_recurrence(struct program *p, const struct recurrence *r)
{
    const struct layer *l = layer_of(p, r);
    struct cell_vectors v = {r, ABSENT_VECTOR, ABSENT_VECTOR};
    char name[32];
    struct cell_record *record;
    TRY(ALLOCATE(record, 1, "for the record of a cell"));
    unroll_status status = UNROLL_OK;
    if (!cell_record_named(cell_recorders, l->cell->name, record))
        status =
            fail(UNROLL_UNSUPPORTED,
                 "layer %d: the cell '%s' has no record to print; fix: use another cell, or another format (`to` onnx)",
                 r->layer, l->cell->name);
    snprintf(name, sizeof name, "link_l%d", r->layer);
    if (status == UNROLL_OK && l->cell->intermediates)
        status = program_add_vector(p, name, (uint32_t)l->cell->intermediates * l->hidden, PLACE_WORK, &v.intermediate);
    snprintf(name, sizeof name, "m_l%d", r->layer);
    if (status == UNROLL_OK && l->projection)
        status = program_add_vector(p, name, l->hidden, PLACE_WORK, &v.m);
    for (int phase = 0; status == UNROLL_OK && phase < l->cell->phases; phase++) {
        status = add_products(p, &v, phase);
        if (status == UNROLL_OK)
            status = add_phase(p, &v, &record->forward[phase], phase);
    }
    release(record);
    return status == UNROLL_OK && l->projection ? add_projection(p, &v) : status;
}

/* ---- an activation --------------------------------------------------------------------- */

/* Adds an activation as a pointwise function. */
unroll_status program_add_activation(struct program *p, int layer, int from, int to)
{
    struct act act;
    const struct activation *activation = &p->model->layer[layer].activation;
    TRY(pointwise_new(p, layer, p->vector[to].size, &act));
    struct pointwise *f = act.pointwise;
    record_activation(activation, f->record);
    if (f->record->refusal[0])
        return fail(UNROLL_UNSUPPORTED, "layer %d: %s; fix: use another activation, or another format (`to` onnx)",
                    layer, f->record->refusal);
    snprintf(f->name, sizeof f->name, "%.24s_l%d", activation_name(activation->kind), layer);
    const struct node *x = f->record->node, *y = f->record->result[0].node;
    while (x->kind != NODE_INPUT) x++;
    need(f, y);
    f->input[f->inputs++] = (struct binding){.node = x, .vector = from};
    f->node[x->number].field = f->input;
    f->result[f->results++] = (struct binding){.node = y, .vector = to};
    return UNROLL_OK;
}
