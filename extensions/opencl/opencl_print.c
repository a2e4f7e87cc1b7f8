/* Prints records as OpenCL C (opencl_kernels.h): each function once for single values, for the rest of a row, and
 * once for vectors. Inputs keep their names with the prefix "v_". The code around them is in extensions/gpu/kernels. */
#include "base/point.h"
#include "nn/record/record.h"
#include "extensions/opencl/opencl_kernels.h"
#include "nn/losses/loss.h"
#include "nn/optim/optim.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- nodes -------------------------------------------------------------------------------- */

/* "$0" is the first operand, and so on; V is the type, W its width, U the unsigned type of the same size. */
static const char *const form[NODE_KINDS] = {
    [NODE_ADD] = "$0 + $1",
    [NODE_SUB] = "$0 - $1",
    [NODE_MUL] = "$0 * $1",
    [NODE_DIV] = "$0 / $1",
    [NODE_MIN] = "$0 < $1 ? $0 : $1",
    [NODE_MAX] = "$0 > $1 ? $0 : $1",
    [NODE_LESS] = "$0 < $1 ? (V)(1.0f) : (V)(0.0f)",
    [NODE_FMA] = "FMA($0, $1, $2)",
    [NODE_ABS] = "fabs($0)",
    [NODE_SQRT] = "sqrt($0)",
    [NODE_EXP] = "exp_of_W($0)",
    [NODE_LOG] = "log_of_W($0)",
    [NODE_SIGMOID] = "sigmoid_of_W($0)",
    [NODE_TANH] = "tanh_of_W($0)",
    [NODE_SELECT_LESS] = "$0 < $1 ? $2 : $3",
    [NODE_EXPONENT_OF_LOW_BITS] = "as_V(as_U($0) << 23)",
    [NODE_LOW_BITS_OF_EXPONENT] = "as_V((as_U($0) >> 23) | 0x4b000000u)",
    [NODE_MANTISSA] = "as_V((as_U($0) & 0x007fffffu) | 0x3f800000u)",
};

/* Prints a form in which V, W and U have the meaning above; the rest is as in printf. */
static void put(FILE *f, uint32_t width, const char *form, ...)
{
    char text[1024];
    size_t n = 0;
    va_list values;
    for (; *form && n + 16 < sizeof text; form++) {
        const char *name = *form == 'V' ? "float" : *form == 'U' ? "uint" : *form == 'W' ? "" : NULL;
        if (name)
            n += (size_t)snprintf(text + n, 16, width > 1 || !*name ? "%s%u" : "%s", name, width);
        else
            text[n++] = *form;
    }
    text[n] = '\0';
    va_start(values, form);
    vfprintf(f, text, values);
    va_end(values);
}

static void print_operand(FILE *f, const struct node *n, uint32_t width)
{
    const float number = (float)n->constant;
    if (n->kind == NODE_INPUT)
        fprintf(f, "v_%s", n->input);
    else if (n->kind != NODE_CONSTANT)
        fprintf(f, "t%d", n->number);
    else if (isnan(number) || isinf(number))
        put(f, width, "(V)(%s)", isnan(number) ? "NAN" : number > 0 ? "INFINITY" : "-INFINITY");
    else
        put(f, width, "(V)(%af)", (double)number);
}

/* Compilers remove unused nodes. */
static void print_nodes(FILE *f, const struct record *r, uint32_t width)
{
    for (int i = 0; i < r->nodes; i++) {
        const struct node *n = &r->node[i];
        if (!node_operands(n->kind))
            continue;
        put(f, width, "    const V t%d = ", n->number);
        for (const char *c = form[n->kind]; *c; c++)
            if (*c == '$')
                print_operand(f, n->operand[*++c - '0'], width);
            else
                put(f, width, (const char[]){*c, '\0'});
        fputs(";\n", f);
    }
}

/* static V NAME_WIDTH(V v_x, ..); parameters: the others. */
static void print_function(FILE *f, const struct record *r, const char *name, const char *parameters, uint32_t width)
{
    put(f, width, "static V %s_W(V v_x", name);
    put(f, width, parameters);
    fputs(")\n{\n", f);
    print_nodes(f, r, width);
    fputs("    return ", f);
    print_operand(f, r->result[0].node, width);
    fputs(";\n}\n", f);
}

void opencl_print_functions(FILE *f, uint32_t width)
{
    static const enum node_kind kinds[] = {NODE_EXP, NODE_LOG, NODE_SIGMOID, NODE_TANH};
    static _Thread_local struct record record;
    const locale_t before = point_begin();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char name[32];
        record_function(kinds[i], &record);
        snprintf(name, sizeof name, "%s_of", record.name);
        print_function(f, &record, name, "", width);
    }
    point_end(before);
}

/* ---- activations -------------------------------------------------------------------------- */

/* Prints the functions, each with its parameters, and the choice among them. */
static void print_chosen(FILE *f, bool slope, uint32_t width)
{
    static _Thread_local struct record record;
    const char *const name = slope ? "slope" : "value";
    for (int kind = 0; kind < ACTIVATION_COUNT; kind++) {
        char of_kind[32];
        if (kind == ACTIVATION_SOFTMAX)
            continue;
        record_chosen((enum activation_kind)kind, slope, &record);
        snprintf(of_kind, sizeof of_kind, "%s_%d", name, kind);
        print_function(f, &record, of_kind, ", V v_alpha, V v_beta", width);
    }
    put(f, width, "static V %s_W(struct activation f, V x)\n{\n    const V alpha = f.alpha, beta = f.beta;\n", name);
    fputs("    switch (f.kind) {\n", f);
    for (int kind = 0; kind < ACTIVATION_COUNT; kind++)
        if (kind != ACTIVATION_SOFTMAX)
            put(f, width, "    case %d: return %s_%d_W(x, alpha, beta);\n", kind, name, kind);
    fputs("    default: return x;\n    }\n}\n", f);
}

void opencl_print_activations(FILE *f, uint32_t width)
{
    const locale_t before = point_begin();
    for (int slope = 0; slope < 2; slope++) {
        print_chosen(f, slope, 1);
        if (width > 1)
            print_chosen(f, slope, width);
    }
    point_end(before);
}

/* ---- cells -------------------------------------------------------------------------------- */

/* How fields of a cell are loaded or stored: a form of the index in the cell's list. */
struct place {
    const char *prefix, *form;
    const char *const *names;
    int count;
};

static const struct place *find_place(const struct place *p, const char *name, int *index)
{
    for (; p->prefix; p++)
        for (*index = 0; !strncmp(name, p->prefix, strlen(p->prefix)) && *index < p->count; ++*index)
            if (!strcmp(name + strlen(p->prefix), p->names[*index]))
                return p;
    return NULL;
}

/* All loads come first, then the operations, then all stores, because fields may share memory. */
static void print_units(FILE *f, const struct record *r, const struct place *loads, const struct place *stores,
                        const char *kernel, bool back, uint32_t width)
{
    const struct place *p;
    int index;
    put(f, width, "static void %s_W(global char *restrict m, struct cell_%s_args a, ulong row, uint unit%s)\n{\n",
        kernel, back ? "backward" : "forward", back ? ", bool first_phase" : "");
    for (int i = 0; i < r->nodes; i++) {
        const char *name = r->node[i].input;
        if (r->node[i].kind != NODE_INPUT)
            continue;
        put(f, width, "    const V v_%s = ", name);
        if ((p = find_place(loads, name, &index)))
            put(f, width, p->form, index);
        else /* an option: the same for all units */
            put(f, width, "(V)(a.options.%s)", name + strlen("option_"));
        fputs(";\n", f);
    }
    print_nodes(f, r, width);
    for (int i = 0; i < r->results; i++) {
        if (!(p = find_place(stores, r->result[i].name, &index)))
            continue;
        put(f, width, "    STORE_W(");
        print_operand(f, r->result[i].node, width);
        put(f, width, ", ");
        put(f, width, p->form, index);
        fputs(");\n", f);
    }
    fputs("}\n", f);
}

static void print_phase(FILE *f, const struct cell_record *cell, const char *name, const struct place *loads,
                        const struct place *stores, int phase, bool back, uint32_t width)
{
    const struct cell_declaration *d = cell->declaration;
    const struct record *r = back ? &cell->backward[phase] : &cell->forward[phase];
    char kernel[OPENCL_KERNEL_NAME];
    snprintf(kernel, sizeof kernel, "%s_gpu_%s%s", name, back ? "backward" : "forward", phase ? "_2" : "");
    print_units(f, r, loads, stores, kernel, back, 1);
    if (width > 1)
        print_units(f, r, loads, stores, kernel, back, width);
    put(f, width, "CELL_%s(%s, %s_1, %s_W, %d, %d, ", back ? "BACKWARD" : "FORWARD", kernel, kernel, kernel, d->states,
        d->inputs);
    if (back)
        fprintf(f, "%d, %d, %d)\n", d->vectors, phase == d->phases - 1, d->phases);
    else
        fprintf(f, "%d, %d, %d)\n", phase, d->phases, d->intermediates);
}

bool opencl_print_cell(FILE *f, const char *name, uint32_t width)
{
    static _Thread_local struct cell_record cell;
    const char *input[64];
    if (!cell_record_key(name, &cell) || cell_record_refusal(&cell))
        return false;
    const struct cell_declaration *d = cell.declaration;
    for (int i = 0; i < d->inputs && i < 64; i++) input[i] = d->input[i].name;
    const struct place vector = {"vector_", "LOAD_W(FLOATS(a.vector) + %d * a.vector_field + unit)", d->vector,
                                 d->vectors},
                       none = {0};
    const struct place loads[] = {{"in_", "LOAD_W(FIELD(a.g, %d, row, unit))", input, d->inputs},
                                  {"state_", "LOAD_W(FIELD(a.state, %d, row, unit))", d->state, d->states},
                                  vector,
                                  none};
    const struct place stores[] = {
        {"next_", "FIELD(a.next, %d, row, unit)", d->state, d->states},
        {"intermediate_", "FIELD(a.intermediate, %d, row, unit)", d->intermediate, d->intermediates},
        {"saved_", "FIELD(a.g, %d, row, unit)", d->saved_value, d->saved},
        none};
    const struct place back_loads[] = {
        {"state_", "LOAD_W(entered(m, a, %d, row) + unit)", d->state, d->states},
        {"next_", "LOAD_W(LEFT(%d))", d->state, d->states},
        {"saved_", "LOAD_W(FIELD(a.g, %d, row, unit))", d->saved_value, d->saved},
        vector,
        {"d_next_", "D_NEXT(LOAD_W, %d)", d->state, d->states},
        {"d_intermediate_", "LOAD_W(FIELD(a.d_intermediate, %d, row, unit))", d->intermediate, d->intermediates},
        {"d_state_", "first_phase ? (V)(0.0f) : LOAD_W(FIELD(a.d_state, %d, row, unit))", d->state, d->states},
        none};
    const struct place back_stores[] = {{"d_state_", "FIELD(a.d_state, %d, row, unit)", d->state, d->states},
                                        {"d_in_", "FIELD(a.g, %d, row, unit)", input, d->inputs},
                                        {"d_vector_", "FIELD(a.dv, %d, row, unit)", d->vector, d->vectors},
                                        none};
    const locale_t before = point_begin();
    for (int phase = 0; phase < d->phases; phase++) {
        print_phase(f, &cell, name, loads, stores, phase, false, width);
        print_phase(f, &cell, name, back_loads, back_stores, phase, true, width);
    }
    point_end(before);
    return true;
}

/* ---- products ----------------------------------------------------------------------------- */

/* An item sums `rows` rows of some vectors; LANES adjacent items share a panel. Each element is one chain of fused
 * multiply-adds, k rising, as on all devices. a is stored by rows or by columns. */
void opencl_print_product(FILE *f, const char *name, uint32_t rows, uint32_t vectors)
{
    fprintf(f,
            "kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void %s(global char *restrict m, "
            "struct panels_args a)\n{\n"
            "    const uint lane = get_global_id(0) * WIDTH, panel = get_global_id(2) * GPU_PANEL;\n"
            "    const uint first = get_global_id(1) * %u, last = a.rows - 1;\n"
            "    const ulong next = a.a_next;\n"
            "    global const float *restrict b = FLOATS(a.b) + get_global_id(2) * a.b_panel + lane;\n",
            name, rows);
    for (uint32_t r = 0; r < rows; r++) {
        fprintf(f, "    global const float *restrict a%u = FLOATS(a.a) + min(first + %u, last) * a.a_row;\n", r, r);
        for (uint32_t v = 0; v < vectors; v++)
            fprintf(f,
                    "    VECTOR s%u_%u = sum_begin(m, a, min(first + %u, last), panel + lane + %u * LANES * WIDTH);\n",
                    r, v, r, v);
    }
    fputs("    for (uint k = 0; k < a.depth; k++, b += GPU_PANEL) {\n", f);
    for (uint32_t v = 0; v < vectors; v++)
        fprintf(f, "        const VECTOR b%u = LOAD_PART(b + %u * LANES * WIDTH);\n", v, v);
    for (uint32_t r = 0; r < rows; r++) {
        fprintf(f, "        const VECTOR x%u = (VECTOR)(a%u[k * next]);\n", r, r);
        for (uint32_t v = 0; v < vectors; v++)
            fprintf(f, "        s%u_%u = FMA(x%u, b%u, s%u_%u);\n", r, v, r, v, r, v);
    }
    fputs("    }\n", f);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t v = 0; v < vectors; v++)
            fprintf(
                f,
                "    if (first + %u <= last)\n        sum_end(m, a, first + %u, panel + lane + %u * LANES * WIDTH, s%u_%u);\n",
                r, r, v, r, v);
    fputs("}\n", f);
}

/* ---- losses, optimizers ------------------------------------------------------------------- */

/* Kernel names have '_' in place of '-'. */
static bool is_called(const char *name, const char *in_kernel)
{
    for (; *name && (*name == *in_kernel || (*name == '-' && *in_kernel == '_')); name++) in_kernel++;
    return !*name && !*in_kernel;
}

static int results_of(const struct record *r)
{
    int results = 0;
    while (results < LOSS_RESULTS_MAX && record_find_result(r, loss_slope_names[results])) results++;
    return results;
}

/* Prints the function of a point: its loss and slopes from the results z. */
static void print_points(FILE *f, const struct record *r, const char *name)
{
    const int results = results_of(r);
    fprintf(f, "static void %s_point(global const float *z, float v_y, float v_level, float *loss, float *slope)\n{\n",
            name);
    for (int k = 0; k < results; k++) fprintf(f, "    const float v_%s = z[%d];\n", loss_result_names[k], k);
    print_nodes(f, r, 1);
    fputs("    *loss = ", f);
    print_operand(f, record_find_result(r, "loss"), 1);
    for (int k = 0; k < results; k++) {
        fprintf(f, ";\n    slope[%d] = ", k);
        print_operand(f, record_find_result(r, loss_slope_names[k]), 1);
    }
    fprintf(f, ";\n}\nLOSS_OF_POINTS(%s_gpu_loss, %s_point, %d)\n", name, name, results);
}

bool opencl_print_loss(FILE *f, const char *name, bool *of_classes)
{
    static _Thread_local struct record record;
    int i = 0;
    while (loss_at(i) && !is_called(loss_at(i)->name, name)) i++;
    if (!loss_at(i) || !loss_is_compiled(i))
        return false;
    *of_classes = loss_at(i)->add == NULL; /* or of sequences, which no kernel has */
    if (*of_classes)
        return true;
    const locale_t before = point_begin();
    record_loss(i, &record);
    print_points(f, &record, name);
    point_end(before);
    return true;
}

/* Prints the function that updates `width` elements of a tensor. */
static void print_step(FILE *f, const struct record *r, const struct optimizer *o, uint32_t width)
{
    put(f, width,
        "static void %s_step_W(global char *m, struct update_args a, struct update_tensor x, float scale, ulong i)\n{\n",
        o->name);
    for (int k = 0; o->number[k]; k++) put(f, width, "    const V v_%s = FLOATS(a.shared)[%d];\n", o->number[k], k);
    put(f, width, "    const V v_w = LOAD_W(FLOATS(x.w) + i), v_g = LOAD_W(FLOATS(x.g) + i) * scale;\n");
    for (int k = 0; k < o->states; k++)
        put(f, width, "    const V v_%s = LOAD_W(FLOATS(x.state[%d]) + i);\n", optimizer_state_names[k], k);
    print_nodes(f, r, width);
    for (int k = 0; k < r->results; k++) {
        put(f, width, "    STORE_W(");
        print_operand(f, r->result[k].node, width);
        if (k == 0)
            fputs(", FLOATS(x.w) + i);\n", f);
        else
            fprintf(f, ", FLOATS(x.state[%d]) + i);\n", k - 1);
    }
    fputs("}\n", f);
}

bool opencl_print_optimizer(FILE *f, const char *name, uint32_t width)
{
    static _Thread_local struct record record;
    int i = 0;
    while (optimizer_at(i) && strcmp(optimizer_at(i)->name, name)) i++;
    if (!optimizer_at(i) || !optimizer_is_compiled(i))
        return false;
    const locale_t before = point_begin();
    record_optimizer(i, &record);
    print_step(f, &record, optimizer_at(i), 1);
    if (width > 1)
        print_step(f, &record, optimizer_at(i), width);
    fprintf(f, "UPDATE(%s_gpu_update, %s_step_1, %s_step_%u)\n", name, name, name, width);
    point_end(before);
    return true;
}
