/* Recurrent layers: a cell of the cell table, in one direction or both. Formulas are in the cells' files. */
#include "base/status.h"
#include "model/layer_table.h"

enum { MAX_UNITS = 1 << 20 };

/* Checks the options of a recurrent layer and sets its fields. */
static unroll_status take_recurrent(const unroll_layer *g, int index, const struct cell_declaration *cell,
                                    struct layer *l)
{
    struct cell_options options = {.clip = g->clip, .input_forget = g->input_forget != 0};
    const struct layer_option of_dense = {"activation", g->activation}, of_pool = {"pool", g->pool};
    TRY(refuse_options(&of_dense, 1, index, "dense"));
    TRY(refuse_options(&of_pool, 1, index, "pool"));
    if (l->pooled)
        return fail(
            UNROLL_USAGE,
            "layer %d: '%s' goes through the steps of a sequence, and a pool has left one of them; fix: put the pool "
            "after the recurrent layers",
            index, g->kind);
    if (!(g->clip >= 0 && g->clip <= 80))
        return fail(UNROLL_USAGE, "layer %d: `clip` = %g is outside 0..80 (0: none); fix: choose a value from 0 to 80",
                    index, (double)g->clip);
    TRY(parse_activations(g->activations, g->name, &options));
    if (!cell)
        TRY(find_cell(g->kind, g->peephole, &options, &cell));
    if (g->reverse && g->bidirectional)
        return fail(UNROLL_USAGE,
                    "layer %d: reverse is one direction, bidirectional is both; fix: set only one of the two", index);
    if (g->projection && !cell->projects)
        return fail(UNROLL_UNSUPPORTED,
                    "layer %d: '%s' cannot have a projection, because it reads its own h unit by unit; fix: leave it "
                    "out, or choose the lstm",
                    index, g->kind);
    if (g->projection < 0 || g->projection >= g->width)
        return fail(
            UNROLL_USAGE,
            "layer %d: `projection` = %d is not narrower than the %d units; fix: choose a value from 1 to %d, or 0 for none",
            index, g->projection, g->width, g->width - 1);
    TRY(check_range("level", g->level, 0, MODEL_LAYERS_MAX - 1));
    l->level = g->level;
    l->cell = cell;
    l->options = options;
    l->directions = g->bidirectional ? 2 : 1;
    l->first_direction = g->reverse != 0;
    l->hidden = (uint32_t)g->width;
    l->projection = (uint32_t)g->projection;
    l->width = l->projection ? l->projection : l->hidden;
    l->outputs = (uint32_t)l->directions * l->width;
    return UNROLL_OK;
}

static void describe_recurrent(const struct layer *l, unroll_layer *layer)
{
    layer->kind = l->cell->called;
    layer->level = l->level;
    layer->width = (int)l->hidden;
    layer->bidirectional = l->directions == 2;
    layer->reverse = l->first_direction;
    layer->input_forget = l->options.input_forget;
    layer->activations = activations_for_users(l->cell, &l->options);
    layer->projection = (int)l->projection;
    layer->peephole = l->cell->peepholes;
    layer->clip = l->options.clip;
}

static void add_direction(struct unroll_model *m, int layer, int direction)
{
    const struct layer *l = &m->layer[layer];
    uint32_t from_x = (uint32_t)cell_inputs_from(l->cell, FROM_X);
    uint32_t recurrent = (uint32_t)cell_inputs_from(l->cell, FROM_H | FROM_INTERMEDIATE);
    model_add_parameter(m, PARAM_W_IH, layer, direction, 3, from_x, l->hidden, l->input);
    model_add_parameter(m, PARAM_W_HH, layer, direction, 3, recurrent, l->hidden, l->width);
    if (l->bias) {
        model_add_parameter(m, PARAM_B_IH, layer, direction, 2, from_x, l->hidden, 0);
        model_add_parameter(m, PARAM_B_HH, layer, direction, 2, recurrent, l->hidden, 0);
    }
    model_add_parameter(m, PARAM_VECTOR, layer, direction, 2, (uint32_t)l->cell->vectors, l->hidden, 0);
    model_add_parameter(m, PARAM_W_HR, layer, direction, 2, l->projection, l->hidden, 0);
}

static void add_parameters(struct unroll_model *m, int layer)
{
    for (int direction = m->layer[layer].first_direction; direction < layer_end(&m->layer[layer]); direction++)
        add_direction(m, layer, direction);
}

const struct layer_kind layer_recurrent = {.gathers_columns = true,
                                           .keeps_results = true,
                                           .widest = MAX_UNITS,
                                           .take = take_recurrent,
                                           .describe = describe_recurrent,
                                           .add_parameters = add_parameters};
