/* Runs arrays from NumPy files through a session and returns arrays. */
#include "base/sized.h"
#include "session/arrays.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/csv.h"
#include "convert/file_table.h"
#include "model/units.h"
#include "unroll_train.h"

#define GIVE_SHAPES "give arrays of the same steps and rows, in the shapes of the model"

void unroll_run_config_begin(unroll_run_config *config, size_t size)
{
    const unroll_run_config standard = {.size = sizeof(unroll_run_config), .machine = unroll_machine_default()};
    sized_begin(&standard, sizeof standard, config, size);
}

/* ---- stacks ---------------------------------------------------------------------------- */

static struct stack *find_stack(struct arrays *a, const struct layer *l)
{
    for (int i = 0; i < a->stacks; i++)
        if (!strcmp(a->stack[i].name, l->name))
            return &a->stack[i];
    a->stack[a->stacks] = (struct stack){.name = l->name,
                                         .directions = l->directions,
                                         .first_direction = l->first_direction,
                                         .width = l->width,
                                         .units = l->hidden,
                                         .has_cell = l->cell->states > 1,
                                         .is_even = true};
    return &a->stack[a->stacks++];
}

static void find_stacks(const struct unroll_model *m, struct arrays *a)
{
    for (int i = 0; i < m->layers; i++) {
        const struct layer *l = &m->layer[i];
        if (!l->cell)
            continue;
        struct stack *s = find_stack(a, l);
        s->is_even &= s->directions == l->directions && s->first_direction == l->first_direction &&
                      s->width == l->width && s->units == l->hidden && s->has_cell == (l->cell->states > 1);
        s->layer[s->layers++] = (uint8_t)i;
    }
}

/* "h0" if the model has one stack, else "h0.NAME". */
static void name_state(const struct arrays *a, const struct stack *s, const char *state, char name[80])
{
    snprintf(name, 80, a->stacks > 1 ? "%s.%s" : "%s", state, s->name);
}

const char *arrays_hint(const struct arrays *a)
{
    return a->single        ? ""
           : a->batch_first ? "; fix: leave out `batch_first` if x is [steps, rows, ..]"
                            : "; fix: set `batch_first` if x is [rows, steps, ..]";
}

/* ---- reading --------------------------------------------------------------------------- */

/* Returns whether the model reads or returns an array of this name. */
static bool is_known(const struct arrays *a, const char *name)
{
    static const char *const plain[] = {"x", "tokens", "lengths", "y"};
    static const char *const states[] = {"h0", "c0", "hn", "cn"};
    char known[80];

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(name, plain[i]))
            return true;
    for (int s = 0; s < a->stacks; s++)
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            name_state(a, &a->stack[s], states[i], known);
            if (!strcmp(name, known) && (states[i][0] == 'h' || a->stack[s].has_cell))
                return true;
        }
    for (int l = 0; l + 1 < a->model->layers; l++) {
        model_array(a->model, l, known);
        if (a->model->layer[l].is_output && !strcmp(name, known))
            return true;
    }
    return false;
}

static unroll_status check_names(const struct arrays *a)
{
    char first[80] = "h0";
    if (a->stacks)
        name_state(a, &a->stack[0], "h0", first);
    for (int i = 0; i < npz_count(a->file); i++)
        if (*npz_at(a->file, i)->name && !is_known(a, npz_at(a->file, i)->name))
            return fail(UNROLL_DATA,
                        "'%s': the model has no array '%.80s'; it reads or writes x or tokens, lengths, y and states "
                        "such as '%s'; fix: rename it, or leave it out",
                        a->path, npz_at(a->file, i)->name, first);
    return UNROLL_OK;
}

/* Finds the array of tokens or numbers by its name. If the model reads only one kind, this may also be the array of a
 * .npy. */
static unroll_status find_input(const struct arrays *a, bool tokens, const struct tensor_view **found)
{
    const char *name = tokens ? "tokens" : "x", *other = tokens ? "x" : "tokens";
    const bool reads_other = (tokens ? model_numbers(a->model) : model_token_columns(a->model)) > 0;
    *found = npz_find(a->file, name);
    if (!*found && !reads_other && npz_count(a->file) == 1 && !*npz_at(a->file, 0)->name)
        *found = npz_at(a->file, 0);
    if (!*found)
        return fail(UNROLL_DATA, "'%s' has no array '%s', which the model reads%s", a->path, name,
                    reads_other                ? " in addition to the other kind of input; fix: give a .npz of both"
                    : npz_find(a->file, other) ? "; it has the other kind of input"
                                               : "");
    if (!reads_other && npz_find(a->file, other))
        return fail(UNROLL_DATA, "'%s' has both x and tokens; fix: leave out '%s', because the model reads '%s'",
                    a->path, other, name);
    return UNROLL_OK;
}

/* Sets T and B from the shape. `inner` is the rank of one step of one row, 0 for single tokens. */
static unroll_status read_extents(struct arrays *a, const struct tensor_view *v, int inner, bool tokens, uint32_t width)
{
    char shape[SHAPE_TEXT];
    bool scalars = inner && width == 1 && v->rank == 1; /* one sequence of single numbers */
    a->single = scalars || v->rank == inner + 1;
    if (!a->single && v->rank != inner + 2)
        return fail(UNROLL_DATA, "'%s': the input has the shape %s; fix: give [%s%s]", a->path,
                    tensor_view_shape(v, shape), a->batch_first ? "B, T" : "T, B", inner ? ", F" : "");
    if (inner && !scalars && v->shape[v->rank - 1] != width)
        return fail(UNROLL_DATA, "'%s': the input has the shape %s; the model reads %u %s per step; fix: " GIVE_SHAPES,
                    a->path, tensor_view_shape(v, shape), (unsigned)width, tokens ? "tokens" : "numbers");
    uint64_t T = v->shape[!a->single && a->batch_first], B = a->single ? 1 : v->shape[!a->batch_first];
    if (T < 1 || T > INT32_MAX || B < 1 || B > INT32_MAX)
        return fail(UNROLL_DATA,
                    "'%s': the input has the shape %s, with no steps, no rows, or too many; fix: " GIVE_SHAPES, a->path,
                    tensor_view_shape(v, shape));
    a->T = (int)T;
    a->B = (int)B;
    return UNROLL_OK;
}

/* Transposes [rows, columns] of elements of `bytes` bytes. */
static void transpose(const char *from, char *to, size_t rows, size_t columns, size_t bytes)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            memcpy(to + (c * rows + r) * bytes, from + (r * columns + c) * bytes, bytes);
}

/* Prepends the file's name to an error in its data. */
static unroll_status name_file(const struct arrays *a, unroll_status status)
{
    return status == UNROLL_DATA ? fail(status, "'%s': %s", a->path, unroll_last_error()) : status;
}

/* Returns the elements of v as floats or 32-bit integers; release(*to). Messages use `name`. */
static unroll_status read_elements(const struct arrays *a, const struct tensor_view *v, const char *name, bool integers,
                                   void **to)
{
    struct tensor_view named = *v;
    void *elements = allocate_zeroed(tensor_view_count(v), sizeof(float));
    named.name = name; /* the array of a .npy has no name */
    if (!elements)
        return fail(UNROLL_RESOURCE, "no memory for the array '%s'", name);
    unroll_status status =
        integers ? tensor_view_to_integers(&named, elements) : tensor_view_to_floats(&named, elements);
    if (status != UNROLL_OK) {
        release(elements);
        return name_file(a, status);
    }
    *to = elements;
    return UNROLL_OK;
}

/* Exchanges time-major and batch-first order, [rows, columns, width] of 4 bytes each, if the file is batch-first. */
static unroll_status turn(const struct arrays *a, void **elements, size_t rows, size_t columns, size_t width)
{
    if (!a->batch_first || a->single)
        return UNROLL_OK;
    char *turned = allocate_zeroed(rows * columns * width, sizeof(float));
    if (!turned)
        return fail(UNROLL_RESOURCE, "no memory to exchange rows and steps");
    transpose(*elements, turned, rows, columns, width * sizeof(float));
    release(*elements);
    *elements = turned;
    return UNROLL_OK;
}

/* Reads tokens or numbers, `width` per step; 0: the model reads none. */
static unroll_status read_input(struct arrays *a, bool tokens, int width)
{
    const struct tensor_view *v;
    void *elements;
    if (!width)
        return UNROLL_OK;
    TRY(find_input(a, tokens, &v));
    TRY(read_extents(a, v, !a->model->tokens, tokens, (uint32_t)width));
    TRY(read_elements(a, v, tokens ? "tokens" : "x", tokens, &elements));
    unroll_status status = turn(a, &elements, (size_t)a->B, (size_t)a->T, (size_t)width);
    if (tokens)
        a->tokens = elements;
    else
        a->inputs = elements;
    return status;
}

/* Both must have the same steps and rows. */
static unroll_status read_inputs(const struct unroll_model *m, struct arrays *a)
{
    TRY(read_input(a, true, model_token_columns(m)));
    const int T = a->T, B = a->B;
    TRY(read_input(a, false, model_numbers(m)));
    if (a->tokens && (a->T != T || a->B != B))
        return fail(UNROLL_DATA, "'%s': tokens have %d steps of %d rows, but x has %d of %d; fix: " GIVE_SHAPES,
                    a->path, T, B, a->T, a->B);
    return UNROLL_OK;
}

/* Reads the lengths, one per row, if the file has them. */
static unroll_status read_lengths(struct arrays *a)
{
    const struct tensor_view *v = npz_find(a->file, "lengths");
    char shape[SHAPE_TEXT];
    void *elements;
    if (!v)
        return UNROLL_OK;
    if (tensor_view_count(v) != (uint64_t)a->B || v->rank > 1)
        return fail(UNROLL_DATA, "'%s': lengths have the shape %s, but there are %d rows%s; fix: " GIVE_SHAPES, a->path,
                    tensor_view_shape(v, shape), a->B, arrays_hint(a));
    TRY(read_elements(a, v, v->name, true, &elements));
    a->lengths = elements;
    return UNROLL_OK;
}

unroll_status arrays_config_take(const unroll_run_config *given, unroll_run_config *config)
{
    *config = unroll_run_config_default();
    return sized_take(SIZED_WITH(unroll_run_config, "unroll_run_config_default()", MACHINE_OF(unroll_run_config)),
                      given, config);
}

unroll_status arrays_open(const unroll_model *m, const char *path, const unroll_run_config *config, struct arrays *a)
{
    *a = (struct arrays){.model = m, .path = path, .batch_first = config->batch_first != 0};
    find_stacks(m, a);
    TRY(npz_open(path, &a->file));
    unroll_status status = check_names(a);
    if (status == UNROLL_OK)
        status = read_inputs(m, a);
    if (status == UNROLL_OK)
        status = read_lengths(a);
    if (status != UNROLL_OK)
        arrays_close(a);
    return status;
}

void arrays_close(struct arrays *a)
{
    release(a->inputs);
    release(a->tokens);
    release(a->lengths);
    npz_close(a->file);
}

/* ---- states ---------------------------------------------------------------------------- */

/* Names plane k of a stack's states: the session's buffer of its layer and direction. */
static void name_plane(const struct stack *s, int k, const char *state, char name[48])
{
    snprintf(name, 48, "%s.l%d%s", state, s->layer[k / s->directions],
             s->first_direction + k % s->directions ? ".reverse" : "");
}

/* [layers x directions, B, width], without B for a single sequence. */
static void shape_state(const struct arrays *a, const struct stack *s, uint32_t width, struct tensor_view *v)
{
    v->rank = a->single ? 2 : 3;
    v->shape[0] = (uint64_t)s->layers * (uint64_t)s->directions;
    v->shape[1] = a->single ? width : (uint64_t)a->B;
    v->shape[2] = a->single ? 0 : width;
}

/* States must be finite like inputs: the session treats them as the states after an earlier batch. */
static unroll_status check_state(const struct arrays *a, const struct tensor_view *v, const float *numbers)
{
    size_t i = 0, count = (size_t)tensor_view_count(v);
    while (i < count && isfinite(numbers[i])) i++;
    return i == count ? UNROLL_OK
                      : fail(UNROLL_DATA, "'%s': '%s' contains NaN or infinity at index %zu; fix: give finite numbers",
                             a->path, v->name, i);
}

/* Checks a state of the file and writes it to the session, one plane per layer and direction. */
static unroll_status write_state(const struct arrays *a, const struct stack *s, const struct tensor_view *v,
                                 const char *buffer, uint32_t width, unroll_session *session)
{
    struct tensor_view wanted = {.rank = 0};
    char shape[SHAPE_TEXT], should[SHAPE_TEXT], name[48];
    size_t plane = (size_t)a->B * width;
    void *numbers;
    shape_state(a, s, width, &wanted);
    bool fits = v->rank == wanted.rank && s->is_even;
    for (int i = 0; fits && i < v->rank; i++) fits = v->shape[i] == wanted.shape[i];
    if (!fits)
        return fail(UNROLL_DATA,
                    "'%s': '%s' has the shape %s; it must be layers x directions, rows, width: %s%s; fix: " GIVE_SHAPES,
                    a->path, v->name, tensor_view_shape(v, shape), tensor_view_shape(&wanted, should), arrays_hint(a));
    TRY(read_elements(a, v, v->name, false, &numbers));
    unroll_status status = check_state(a, v, numbers);
    for (int k = 0; k < s->layers * s->directions && status == UNROLL_OK; k++) {
        name_plane(s, k, buffer, name);
        status = unroll_session_write(session, name, (const float *)numbers + (size_t)k * plane, plane);
    }
    release(numbers);
    return status;
}

/* Writes the initial states that the file has. */
static unroll_status write_states(const struct arrays *a, unroll_session *session)
{
    char name[80];
    for (int i = 0; i < a->stacks; i++) {
        const struct stack *s = &a->stack[i];
        name_state(a, s, "h0", name);
        const struct tensor_view *h = npz_find(a->file, name);
        if (h)
            TRY(write_state(a, s, h, "h0", s->width, session));
        name_state(a, s, "c0", name);
        const struct tensor_view *c = s->has_cell ? npz_find(a->file, name) : NULL;
        if (c)
            TRY(write_state(a, s, c, "s0", s->units, session));
    }
    return UNROLL_OK;
}

/* ---- results --------------------------------------------------------------------------- */

/* Takes ownership of `data`. */
static struct tensor_view *add_result(struct results *r, float *data, size_t count)
{
    struct tensor_view *v = &r->view[r->count];
    *v = (struct tensor_view){
        .name = r->name[r->count], .dtype = DTYPE_F32, .data = data, .bytes = count * sizeof *data};
    r->count++;
    return v;
}

/* One result per sequence: [B, width], or [width] for a single sequence. */
static void shape_answer(const struct arrays *a, size_t width, struct tensor_view *v)
{
    v->rank = a->single ? 1 : 2;
    v->shape[0] = a->single ? width : (uint64_t)a->B;
    v->shape[1] = a->single ? 0 : width;
}

/* Reads the output of a layer. */
static unroll_status take_y(const struct arrays *a, int layer, unroll_session *session, struct results *r)
{
    char name[32];
    bool last = layer + 1 == a->model->layers;
    const bool pooled = a->model->layer[layer].pooled; /* rows of length 0 are zeros */
    size_t width = a->model->layer[layer].outputs, rows = (size_t)a->B, steps = pooled ? 1 : (size_t)a->T;
    size_t count = rows * steps * width;
    if (last)
        model_results(a->model, name);
    else
        snprintf(name, sizeof name, "y.l%d", layer);
    void *results = allocate_zeroed(count, sizeof(float));
    float *y = results;
    unroll_status status =
        y ? unroll_session_read(session, name, y, count) : fail(UNROLL_RESOURCE, "no memory for the results");
    for (size_t b = 0; b < rows && a->lengths && !pooled && status == UNROLL_OK; b++)
        for (size_t t = (size_t)a->lengths[b]; t < steps; t++) memset(y + (t * rows + b) * width, 0, width * sizeof *y);
    if (status == UNROLL_OK)
        status = turn(a, &results, steps, rows, width);
    if (status != UNROLL_OK) {
        release(results);
        return status;
    }
    model_array(a->model, layer, r->name[r->count]);
    struct tensor_view *v = add_result(r, results, count);
    if (pooled) {
        shape_answer(a, width, v);
        return UNROLL_OK;
    }
    v->rank = a->single ? 2 : 3;
    v->shape[0] = a->batch_first && !a->single ? rows : steps;
    v->shape[1] = a->single ? width : a->batch_first ? steps : rows;
    v->shape[2] = a->single ? 0 : width;
    return UNROLL_OK;
}

/* Reads the last states of a stack, unless its layers differ in width. */
static unroll_status take_state(const struct arrays *a, const struct stack *s, const char *array, const char *buffer,
                                uint32_t width, unroll_session *session, struct results *r)
{
    size_t plane = (size_t)a->B * width, planes = (size_t)s->layers * (size_t)s->directions;
    char name[48];
    if (!s->is_even)
        return UNROLL_OK;
    float *state = allocate_zeroed(planes * plane, sizeof *state);
    unroll_status status = state ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for the last states");
    for (size_t k = 0; k < planes && status == UNROLL_OK; k++) {
        name_plane(s, (int)k, buffer, name);
        status = unroll_session_read(session, name, state + k * plane, plane);
    }
    if (status != UNROLL_OK) {
        release(state);
        return status;
    }
    name_state(a, s, array, r->name[r->count]);
    shape_state(a, s, width, add_result(r, state, planes * plane));
    return UNROLL_OK;
}

static unroll_status take_results(const struct arrays *a, unroll_session *session, struct results *r)
{
    TRY(take_y(a, a->model->layers - 1, session, r));
    for (int l = 0; l + 1 < a->model->layers; l++)
        if (a->model->layer[l].is_output)
            TRY(take_y(a, l, session, r));
    for (int i = 0; i < a->stacks; i++) {
        const struct stack *s = &a->stack[i];
        TRY(take_state(a, s, "hn", "hn", s->width, session, r));
        if (s->has_cell)
            TRY(take_state(a, s, "cn", "sn", s->units, session, r));
    }
    return UNROLL_OK;
}

static unroll_status results_new(struct results *r)
{
    enum { MAX = 3 * MODEL_LAYERS_MAX };
    *r = (struct results){allocate_zeroed(MAX, sizeof *r->view), allocate_zeroed(MAX, sizeof *r->name), 0};
    return r->view && r->name ? UNROLL_OK : fail(UNROLL_RESOURCE, "no memory for a list of results");
}

void results_free(struct results *r)
{
    for (int i = 0; i < r->count; i++) release((void *)r->view[i].data);
    release(r->view);
    release(r->name);
}

/* ---- running --------------------------------------------------------------------------- */

unroll_status arrays_run(unroll_model *m, const struct arrays *a, const unroll_run_config *config, struct results *r)
{
    const unroll_batch batch = {.size = sizeof batch, .tokens = a->tokens, .inputs = a->inputs, .lengths = a->lengths};
    unroll_session_config c = unroll_session_config_default();
    unroll_session *session;
    c.steps = a->T;
    c.rows = a->B;
    c.lengths = a->lengths != NULL;
    c.machine = config->machine;
    c.raw = 1; /* the caller has chosen the model */
    TRY(unroll_session_new(m, &c, &session));
    unroll_status status = results_new(r);
    if (status == UNROLL_OK)
        status = write_states(a, session);
    if (status == UNROLL_OK)
        status = name_file(a, unroll_session_forward(session, &batch));
    if (status == UNROLL_OK)
        status = take_results(a, session, r);
    unroll_session_free(session);
    if (status != UNROLL_OK)
        results_free(r);
    return status;
}

static void report_written(const struct results *r, int count, const unroll_run_config *config)
{
    char line[320], shape[SHAPE_TEXT];
    for (int i = 0; i < count && config->report; i++) {
        snprintf(line, sizeof line, "%s %s", r->name[i], tensor_view_shape(&r->view[i], shape));
        config->report(config->arg, line);
    }
}

/* A .npy or .csv contains only y: fails if the model has outputs in other arrays, too. */
static unroll_status check_single(const unroll_model *m, const char *path)
{
    char other[80] = "";
    for (int i = 0; i + 1 < m->layers; i++)
        if (m->layer[i].is_output)
            model_array(m, i, other);
    for (int i = 0; i < m->signatures; i++)
        if (m->signature[i].is_output && m->signature[i].array[0] != 'y')
            snprintf(other, sizeof other, "%.79s", m->signature[i].array);
    return !*other ? UNROLL_OK
                   : fail(UNROLL_USAGE,
                          "'%s' can store only y, but the model also outputs %s; fix: write a .npz, which stores all "
                          "arrays",
                          path, other);
}

unroll_status arrays_model(unroll_model **model, const unroll_run_config *config, unroll_model **own)
{
    TRY(units_take(model, config->raw, config->series, true, own));
    unroll_status status = units_check_dtype(*model, config->machine.dtype);
    if (status != UNROLL_OK)
        unroll_model_free(*own);
    return status;
}

/* Runs the sequences of one file and writes the results to another. */
static unroll_status run_file(unroll_model *model, const char *inputs, const char *outputs,
                              const unroll_run_config *config)
{
    struct arrays a;
    struct results r;
    bool archive = path_ends_in(outputs, ".npz"), lines = path_ends_in(outputs, ".csv");
    if (!archive)
        TRY(check_single(model, outputs));
    TRY(arrays_open(model, inputs, config, &a));
    unroll_status status =
        lines && a.B > 1 ? fail(UNROLL_UNSUPPORTED,
                                "'%s': a table of steps and values stores one sequence, but '%s' has %d; fix: write "
                                "a .npy or a .npz",
                                outputs, inputs, a.B)
                         : arrays_run(model, &a, config, &r);
    if (status == UNROLL_OK) {
        status = archive ? npz_write(outputs, r.view, r.count) : (lines ? csv_write : npy_write)(outputs, &r.view[0]);
        if (status == UNROLL_OK)
            report_written(&r, archive ? r.count : 1, config);
        for (int i = 0; status == UNROLL_OK && config->report && i < model->signatures; i++)
            config->report(config->arg, model->signature[i].line);
        results_free(&r);
    }
    arrays_close(&a);
    return status;
}

unroll_status unroll_model_run(unroll_model *model, const char *inputs, const char *outputs,
                               const unroll_run_config *given)
{
    unroll_run_config config;
    unroll_model *own;
    TRY(arrays_config_take(given, &config));
    TRY(arrays_model(&model, &config, &own));
    unroll_status status = run_file(model, inputs, outputs, &config);
    unroll_model_free(own);
    return status;
}
