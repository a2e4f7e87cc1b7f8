/* Prints records as OpenCL C (opencl_kernels.h): each function once for single values, for the rest of a row, and
 * once for vectors. Inputs keep their names with the prefix "v_". The code around them is in cells.cl, losses.cl and
 * activations.cl. */
#include "base/point.h"
#include "nn/record/record.h"
#include "extensions/opencl/opencl_kernels.h"
#include "nn/losses/loss.h"
#include "nn/optim/optim.h"
#include <math.h>
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

static void print_type(FILE *f, const char *name, uint32_t width)
{
    fprintf(f, width > 1 ? "%s%u" : "%s", name, width);
}

static void print_constant(FILE *f, double constant, uint32_t width)
{
    const float number = (float)constant;
    fputs("(", f);
    print_type(f, "float", width);
    if (isnan(number) || isinf(number))
        fprintf(f, ")(%s)", isnan(number) ? "NAN" : number > 0 ? "INFINITY" : "-INFINITY");
    else
        fprintf(f, ")(%af)", (double)number);
}

static void print_operand(FILE *f, const struct node *n, uint32_t width)
{
    if (n->kind == NODE_INPUT)
        fprintf(f, "v_%s", n->input);
    else if (n->kind == NODE_CONSTANT)
        print_constant(f, n->constant, width);
    else
        fprintf(f, "t%d", n->number);
}

static void print_node(FILE *f, const struct node *n, uint32_t width)
{
    fputs("    const ", f);
    print_type(f, "float", width);
    fprintf(f, " t%d = ", n->number);
    for (const char *c = form[n->kind]; *c; c++)
        if (*c == '$')
            print_operand(f, n->operand[*++c - '0'], width);
        else if (*c == 'V')
            print_type(f, "float", width);
        else if (*c == 'U')
            print_type(f, "uint", width);
        else if (*c == 'W')
            fprintf(f, "%u", width);
        else
            fputc(*c, f);
    fputs(";\n", f);
}

/* Compilers remove unused nodes. */
static void print_nodes(FILE *f, const struct record *r, uint32_t width)
{
    for (int i = 0; i < r->nodes; i++)
        if (node_operands(r->node[i].kind))
            print_node(f, &r->node[i], width);
}

/* static V NAME_WIDTH(V v_x); chosen: with parameters alpha and beta. */
static void print_function(FILE *f, const struct record *r, const char *name, bool chosen, uint32_t width)
{
    fputs("static ", f);
    print_type(f, "float", width);
    fprintf(f, " %s_%u(", name, width);
    print_type(f, "float", width);
    fputs(" v_x", f);
    for (int i = 0; i < 2 && chosen; i++) {
        fputs(", ", f);
        print_type(f, "float", width);
        fputs(i ? " v_beta" : " v_alpha", f);
    }
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
        print_function(f, &record, name, false, width);
    }
    point_end(before);
}

/* ---- activations -------------------------------------------------------------------------- */

static void print_choice(FILE *f, const char *name, uint32_t width)
{
    fputs("static ", f);
    print_type(f, "float", width);
    fprintf(f, " %s_%u(struct activation f, ", name, width);
    print_type(f, "float", width);
    fputs(" x)\n{\n    const ", f);
    print_type(f, "float", width);
    fputs(" alpha = f.alpha, beta = f.beta;\n    switch (f.kind) {\n", f);
    for (int kind = 0; kind < ACTIVATION_COUNT; kind++)
        if (kind != ACTIVATION_SOFTMAX)
            fprintf(f, "    case %d: return %s_%d_%u(x, alpha, beta);\n", kind, name, kind, width);
    fputs("    default: return x;\n    }\n}\n", f);
}

void opencl_print_activations(FILE *f, uint32_t width)
{
    static _Thread_local struct record record;
    const uint32_t widths[] = {1, width};
    const locale_t before = point_begin();
    for (int w = 0; w < (width > 1 ? 2 : 1); w++)
        for (int slope = 0; slope < 2; slope++) {
            for (int kind = 0; kind < ACTIVATION_COUNT; kind++) {
                char name[32];
                if (kind == ACTIVATION_SOFTMAX)
                    continue;
                record_chosen((enum activation_kind)kind, slope, &record);
                snprintf(name, sizeof name, "%s_%d", slope ? "slope" : "value", kind);
                print_function(f, &record, name, true, widths[w]);
            }
            print_choice(f, slope ? "slope" : "value", widths[w]);
        }
    point_end(before);
}

/* ---- cells -------------------------------------------------------------------------------- */

/* The location of a field: the macro of cells.cl that returns its address, and its index in the cell's list. */
struct place {
    const char *prefix, *macro;
    const char *const *names;
    int count;
};

static int place_of(const struct place *p, const char *name)
{
    const size_t size = strlen(p->prefix);
    for (int i = 0; !strncmp(name, p->prefix, size) && i < p->count; i++)
        if (!strcmp(name + size, p->names[i]))
            return i;
    return -1;
}

static void print_load(FILE *f, const struct place *places, const char *name, uint32_t width)
{
    fputs("    const ", f);
    print_type(f, "float", width);
    fprintf(f, " v_%s = ", name);
    for (const struct place *p = places; p->prefix; p++) {
        const int i = place_of(p, name);
        if (i >= 0) {
            fprintf(f, "%s_%u(%d);\n", p->macro, width > 1 ? 2 : 1, i);
            return;
        }
    }
    fputs("(", f); /* an option: the same for all units */
    print_type(f, "float", width);
    fprintf(f, ")(a.options.%s);\n", name + strlen("option_"));
}

static void print_store(FILE *f, const struct place *places, const struct result *r, uint32_t width)
{
    for (const struct place *p = places; p->prefix; p++) {
        const int i = place_of(p, r->name);
        if (i < 0)
            continue;
        fprintf(f, "    %s_%u(%d, ", p->macro, width > 1 ? 2 : 1, i);
        print_operand(f, r->node, width);
        fputs(");\n", f);
        return;
    }
}

/* All loads come first, then the operations, then all stores, because fields may share memory. */
static void print_units(FILE *f, const struct record *r, const struct place *loads, const struct place *stores,
                        const char *kernel, const char *args, uint32_t width)
{
    fprintf(f, "static void %s_%u(global char *restrict m, struct %s a, ulong row, uint unit%s)\n{\n", kernel, width,
            args, strstr(args, "backward") ? ", bool first_phase" : "");
    for (int i = 0; i < r->nodes; i++)
        if (r->node[i].kind == NODE_INPUT)
            print_load(f, loads, r->node[i].input, width);
    print_nodes(f, r, width);
    for (int i = 0; i < r->results; i++) print_store(f, stores, &r->result[i], width);
    fputs("}\n", f);
}

static void print_phase(FILE *f, const struct cell_record *cell, const char *name, const struct place *loads,
                        const struct place *stores, int phase, bool back, uint32_t width)
{
    const struct cell_declaration *d = cell->declaration;
    const struct record *r = back ? &cell->backward[phase] : &cell->forward[phase];
    const char *args = back ? "cell_backward_args" : "cell_forward_args";
    char kernel[OPENCL_KERNEL_NAME], intermediates[16];
    snprintf(intermediates, sizeof intermediates, ", %d", d->intermediates);
    snprintf(kernel, sizeof kernel, "%s_gpu_%s%s", name, back ? "backward" : "forward", phase ? "_2" : "");
    print_units(f, r, loads, stores, kernel, args, 1);
    if (width > 1)
        print_units(f, r, loads, stores, kernel, args, width);
    fprintf(f, "%s(%s, %s_1, %s_%u, %d, %d, %d, %d%s)\n", back ? "CELL_BACKWARD" : "CELL_FORWARD", kernel, kernel,
            kernel, width, d->states, back ? d->vectors : d->inputs, back ? phase == d->phases - 1 : phase, d->phases,
            back ? "" : intermediates);
}

bool opencl_print_cell(FILE *f, const char *name, uint32_t width)
{
    static _Thread_local struct cell_record cell;
    const char *input[64];
    if (!cell_record_key(name, &cell) || cell_record_refusal(&cell))
        return false;
    const struct cell_declaration *d = cell.declaration;
    for (int i = 0; i < d->inputs && i < 64; i++) input[i] = d->input[i].name;
    const struct place in = {"in_", "LOAD_G", input, d->inputs},
                       vector = {"vector_", "LOAD_WEIGHT", d->vector, d->vectors},
                       saved = {"saved_", "LOAD_G", d->saved_value, d->saved}, none = {0};
    const struct place loads[] = {in, {"state_", "LOAD_STATE", d->state, d->states}, vector, none};
    const struct place stores[] = {{"next_", "STORE_NEXT", d->state, d->states},
                                   {"intermediate_", "STORE_INTERMEDIATE", d->intermediate, d->intermediates},
                                   {"saved_", "STORE_G", d->saved_value, d->saved},
                                   none};
    const struct place back_loads[] = {{"state_", "LOAD_ENTERED", d->state, d->states},
                                       {"next_", "LOAD_LEFT", d->state, d->states},
                                       saved,
                                       vector,
                                       {"d_next_", "LOAD_D_NEXT", d->state, d->states},
                                       {"d_intermediate_", "LOAD_D_INTERMEDIATE", d->intermediate, d->intermediates},
                                       {"d_state_", "LOAD_D_STATE", d->state, d->states},
                                       none};
    const struct place back_stores[] = {{"d_state_", "STORE_D_STATE", d->state, d->states},
                                        {"d_in_", "STORE_G", input, d->inputs},
                                        {"d_vector_", "STORE_D_WEIGHT", d->vector, d->vectors},
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
        fprintf(f, "        const VECTOR b%u = LOAD(b + %u * LANES * WIDTH);\n", v, v);
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

static void print_points(FILE *f, const struct record *r, const char *name)
{
    const int results = results_of(r);
    fprintf(f,
            "static void %s_point(float v_z, float v_z1, float v_z2, float v_y, float v_level, float *loss, "
            "float *slope)\n{\n",
            name);
    print_nodes(f, r, 1);
    fputs("    *loss = ", f);
    print_operand(f, record_find_result(r, "loss"), 1);
    for (int k = 0; k < results; k++) {
        fprintf(f, ";\n    slope[%d] = ", k);
        print_operand(f, record_find_result(r, loss_slope_names[k]), 1);
    }
    fprintf(f, ";\n}\nLOSS_OF_POINTS(%s, %d)\n", name, results);
}

bool opencl_print_loss(FILE *f, const char *name)
{
    static _Thread_local struct record record;
    int i = 0;
    while (loss_at(i) && !is_called(loss_at(i)->name, name)) i++;
    if (!loss_at(i) || !loss_is_compiled(i))
        return false;
    if (loss_at(i)->of_classes) {
        fputs("LOSS_OF_CLASSES\n", f);
        return true;
    }
    const locale_t before = point_begin();
    record_loss(i, &record);
    print_points(f, &record, name);
    point_end(before);
    return true;
}

/* Prints the function that updates `width` elements of a tensor. */
static void print_step(FILE *f, const struct record *r, const struct optimizer *o, uint32_t width)
{
    fprintf(
        f,
        "static void %s_step_%u(global char *m, struct update_args a, struct update_tensor x, float scale, ulong i)\n{\n",
        o->name, width);
    for (int k = 0; o->number[k]; k++) {
        fputs("    const ", f);
        print_type(f, "float", width);
        fprintf(f, " v_%s = FLOATS(a.shared)[%d];\n", o->number[k], k);
    }
    fputs("    const ", f);
    print_type(f, "float", width);
    fprintf(f, " v_w = LOAD_%d(x.w), v_g = LOAD_%d(x.g) * scale", width > 1 ? 2 : 1, width > 1 ? 2 : 1);
    for (int k = 0; k < o->states; k++)
        fprintf(f, ", v_%s = LOAD_%d(x.state[%d])", optimizer_state_names[k], width > 1 ? 2 : 1, k);
    fputs(";\n", f);
    print_nodes(f, r, width);
    for (int k = 0; k < r->results; k++) {
        fprintf(f, "    STORE_%d(", width > 1 ? 2 : 1);
        print_operand(f, r->result[k].node, width);
        if (k == 0)
            fputs(", x.w);\n", f);
        else
            fprintf(f, ", x.state[%d]);\n", k - 1);
    }
    fputs("}\n", f);
}

/* Gradients are cleared. A group handles a chunk of one tensor. */
static const char update_text[] =
    "#define LOAD_1(at) FLOATS(at)[i]\n#define STORE_1(v, at) (FLOATS(at)[i] = (v))\n"
    "#define LOAD_2(at) LOAD(FLOATS(at) + i)\n#define STORE_2(v, at) STORE(v, FLOATS(at) + i)\n";
static const char kernel_text[] = "KERNEL(%s_gpu_update, update_args)\n{\n"
                                  "    const struct gpu_chunk chunk = TABLE(gpu_chunk, a.chunk, get_group_id(0));\n"
                                  "    const struct update_tensor x = TABLE(update_tensor, a.tensor, chunk.tensor);\n"
                                  "    const ulong first = (ulong)chunk.number * GPU_CHUNK;\n"
                                  "    const ulong end = x.count - first < GPU_CHUNK ? x.count : first + GPU_CHUNK;\n"
                                  "    const float scale = *FLOATS(a.scale);\n"
                                  "    for (ulong i = first + get_local_id(0) * WIDTH; i < end; i += GROUP * WIDTH)\n"
                                  "        if (WIDTH > 1 && i + WIDTH <= end) {\n"
                                  "            if (scale != 0)\n                %s_step_%u(m, a, x, scale, i);\n"
                                  "            STORE((VECTOR)(0.0f), FLOATS(x.g) + i);\n"
                                  "        } else {\n"
                                  "            for (ulong k = i; k < end && k < i + WIDTH; k++) {\n"
                                  "                if (scale != 0)\n                    %s_step_1(m, a, x, scale, k);\n"
                                  "                FLOATS(x.g)[k] = 0;\n"
                                  "            }\n        }\n}\n";

bool opencl_print_optimizer(FILE *f, const char *name, uint32_t width)
{
    static _Thread_local struct record record;
    int i = 0;
    while (optimizer_at(i) && strcmp(optimizer_at(i)->name, name)) i++;
    if (!optimizer_at(i) || !optimizer_is_compiled(i))
        return false;
    const locale_t before = point_begin();
    record_optimizer(i, &record);
    fputs(update_text, f);
    print_step(f, &record, optimizer_at(i), 1);
    if (width > 1)
        print_step(f, &record, optimizer_at(i), width);
    fprintf(f, kernel_text, name, name, width, name);
    point_end(before);
    return true;
}
