/* The table of kernels, and the texts of programs (opencl_kernels.h). */
#include "extensions/opencl/opencl_kernels.h"
#include "nn/losses/loss.h"
#include "nn/optim/optim.h"
#include <stdlib.h>
#include <string.h>

/* ---- items -------------------------------------------------------------------------------- */

static uint64_t parts(uint64_t width, uint64_t length) { return (width + length - 1) / length; }
static uint64_t rows_of_args(const struct gpu_rows *x) { return (uint64_t)x->steps * x->batch; }

/* Counts the items of a kernel in which each handles `length` elements of one of `rows` rows. */
#define COUNT(name, type, rows, width, length)                                                                         \
    static uint64_t name(const struct launch_shape *shape, const void *args, const struct opencl_form *form)           \
    {                                                                                                                  \
        const struct type *a = args;                                                                                   \
        (void)a, (void)shape, (void)form;                                                                              \
        return (uint64_t)(rows) * parts(width, length);                                                                \
    }
COUNT(count_copy, copy_args, (uint64_t)a->count[0] * a->count[1] * a->count[2], a->count[3], form->run)
COUNT(count_clear_ended, clear_ended_args, rows_of_args(&a->x), a->x.width, form->run)
COUNT(count_gather, gather_args, (uint64_t)a->x.steps * a->rows, a->x.width, form->run)
COUNT(count_pack, pack_args, parts(a->columns, GPU_PANEL), a->depth, OPENCL_PACK_DEPTH)
COUNT(count_round, lowp_args, a->rows, a->width, form->run)
COUNT(count_embed, embed_args, rows_of_args(&a->y), a->y.width, form->run)
COUNT(count_dropout, dropout_args, rows_of_args(&a->x), (a->first_unit + a->x.width + 3) / 4 - a->first_unit / 4,
      OPENCL_DROPOUT_QUADS)
COUNT(count_pool, pool_args, a->y.batch, a->y.width, form->width)
COUNT(count_pool_back, pool_back_args, rows_of_args(&a->dx), a->dx.width, form->run)
COUNT(count_tree, tree_args, 1, a->count, form->run)
COUNT(count_projected, projected_args, a->rows, a->width, form->run)
COUNT(count_receive, receive_args, a->rows, a->width, form->run)
COUNT(count_sum_parts, sum_parts_args, a->parts, a->x.width, form->width)
COUNT(count_sum, sum_args, 1, a->width, form->width)
COUNT(count_embed_grad, embed_grad_args, 1, a->dy.width, form->width)
COUNT(count_norm_parts, norm_args, a->chunks, 1, 1)
COUNT(count_norm, norm_args, a->tensors, 1, 1)
COUNT(count_activate, activate_args, rows_of_args(&a->x), a->x.width, form->width)
COUNT(count_activate_back, activate_back_args, rows_of_args(&a->x), a->x.width, form->width)
COUNT(count_softmax, activate_args, rows_of_args(&a->x), 1, 1)
COUNT(count_softmax_back, activate_back_args, rows_of_args(&a->x), 1, 1)
COUNT(count_loss, loss_args, rows_of_args(&a->z), 1, 1)
COUNT(count_forward, cell_forward_args, a->rows, a->units, form->width)
COUNT(count_backward, cell_backward_args, a->rows, a->units, form->width)
#undef COUNT

static uint64_t count_states(const struct launch_shape *shape, const void *args, const struct opencl_form *form)
{
    const struct states_args *a = args;
    (void)shape;
    return a->rows * (parts(a->width, form->run) + a->others * parts(a->units, form->run));
}

static uint64_t count_one(const struct launch_shape *shape, const void *args, const struct opencl_form *form)
{
    (void)shape, (void)args, (void)form;
    return 1;
}

/* One group for each block of the host's shape. */
static uint64_t count_groups(const struct launch_shape *shape, const void *args, const struct opencl_form *form)
{
    (void)args;
    return shape->x * form->group;
}

static const struct opencl_items table[] = {
    {"gpu_copy", "rows", count_copy},
    {"gpu_clear_ended", "rows", count_clear_ended},
    {"gpu_gather", "rows", count_gather},
    {"gpu_pack", "rows", count_pack},
    {"gpu_round", "rows", count_round},
    {"gpu_embed", "rows", count_embed},
    {"gpu_dropout", "rows", count_dropout},
    {"gpu_pool", "rows", count_pool},
    {"gpu_pool_back", "rows", count_pool_back},
    {"gpu_tree", "rows", count_tree},
    {"gpu_states_enter", "rows", count_states},
    {"gpu_states_leave", "rows", count_states},
    {"gpu_projected", "rows", count_projected},
    {"gpu_receive", "rows", count_receive},
    {"gpu_sum_parts", "sums", count_sum_parts},
    {"gpu_sum", "sums", count_sum},
    {"gpu_embed_grad", "sums", count_embed_grad},
    {"gpu_loss_total", "sums", count_one},
    {"gpu_norm_parts", "sums", count_norm_parts},
    {"gpu_norm", "sums", count_norm},
    {"gpu_update_begin", "sums", count_one},
    {"gpu_step", "sums", count_one},
    {"gpu_activate", "activations", count_activate},
    {"gpu_activate_back", "activations", count_activate_back},
    {"gpu_softmax", "activations", count_softmax},
    {"gpu_softmax_back", "activations", count_softmax_back},
    {"gpu_product", "product", NULL},
    {"gpu_product_1", "product", NULL},
    {"gpu_product_2", "product", NULL},
    {"gpu_product_4", "product", NULL},
    {"_gpu_forward", "cell", count_forward},
    {"_gpu_forward_2", "cell", count_forward},
    {"_gpu_backward", "cell", count_backward},
    {"_gpu_backward_2", "cell", count_backward},
    {"_gpu_loss", "loss", count_loss},
    {"_gpu_update", "optimizer", count_groups},
};

const struct opencl_items *opencl_items_of(const char *kernel)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const size_t size = strlen(kernel), end = strlen(table[i].name);
        if (*table[i].name == '_' ? size > end && !strcmp(kernel + size - end, table[i].name)
                                  : !strcmp(kernel, table[i].name))
            return &table[i];
    }
    return NULL;
}

void opencl_program_name(const struct opencl_items *items, const char *kernel, char *name, size_t size)
{
    const size_t end = strlen(items->name);
    if (*items->name == '_')
        snprintf(name, size, "%s %.*s", items->program, (int)(strlen(kernel) - end), kernel);
    else
        snprintf(name, size, "%s", items->program);
}

/* ---- texts -------------------------------------------------------------------------------- */

/* The files of this folder, and the structs, as lines (Makefile). */
static const char *const structs_lines[] = {
#include "gpu_kernels.inc"
    NULL};
static const char *const philox_lines[] = {
#include "philox.inc"
    NULL};
static const char *const common_lines[] = {
#include "common.inc"
    NULL};
static const char *const doubles_lines[] = {
#include "doubles.inc"
    NULL};
static const char *const rows_lines[] = {
#include "rows.inc"
    NULL};
static const char *const sums_lines[] = {
#include "sums.inc"
    NULL};
static const char *const product_lines[] = {
#include "product.inc"
    NULL};
static const char *const cells_lines[] = {
#include "cells.inc"
    NULL};
static const char *const losses_lines[] = {
#include "losses.inc"
    NULL};
static const char *const activations_lines[] = {
#include "activations.inc"
    NULL};

static void put_lines(FILE *file, const char *const *line)
{
    for (; *line; line++) fprintf(file, "%s\n", *line);
}

/* Sizes are compared with the host's: a device with another layout of a struct does not compile the program. */
#define STRUCTS(S)                                                                                                     \
    S(gpu_rows) S(gpu_fields) S(gpu_lowp) S(copy_args) S(clear_ended_args) S(gather_args) S(pack_args) S(lowp_args) S(panels_args)              \
    S(embed_args) S(dropout_args) S(activate_args) S(activate_back_args) S(pool_args) S(pool_back_args) S(tree_args)   \
    S(sum_parts_args) S(sum_args) S(embed_grad_args) S(loss_args) S(loss_total_args) S(norm_tensor) S(norm_args)       \
    S(update_tensor) S(update_begin_args) S(update_args) S(step_args) S(cell_forward_args) S(cell_backward_args)       \
    S(states_args) S(projected_args) S(receive_args)

static void put_form(FILE *file, const struct opencl_form *f)
{
    fprintf(file,
            "#define WIDTH %u\n#define LANES %u\n#define GROUP %u\n"
            "#define RUN %u\n#define HAS_FP64 %d\n#define PACK_DEPTH %d\n#define DROPOUT_QUADS %d\n"
            "#define FMA %s\n",
            f->width, f->lanes, f->group, f->run, f->has_fp64, OPENCL_PACK_DEPTH, OPENCL_DROPOUT_QUADS,
            f->fuses ? "fma" : "mad");
    fprintf(file, "enum { POOL_MEAN = %d, POOL_MAX = %d, POOL_FIRST = %d, POOL_LAST = %d };\n", POOL_MEAN, POOL_MAX,
            POOL_FIRST, POOL_LAST);
    fprintf(file, "enum { RATE_CLIP = %d, RATE_NUMBERS = %d, OPTIMIZER_NUMBERS_MAX = %d };\n", RATE_CLIP, RATE_NUMBERS,
            OPTIMIZER_NUMBERS_MAX);
    fputs("typedef int int32_t;\ntypedef uint uint32_t;\ntypedef long int64_t;\ntypedef ulong uint64_t;\n", file);
    fprintf(file,
            "struct activation { int kind; float alpha, beta; };\n"
            "struct cell_options { float clip; uchar input_forget; struct activation function[%d]; };\n",
            CELL_ACTIVATIONS);
}

static void put_begin(FILE *file, const struct opencl_form *form)
{
    put_form(file, form);
    put_lines(file, structs_lines);
#define PUT_SIZE(name) \
    fprintf(file, "typedef char size_of_" #name "[sizeof(struct " #name ") == %zu ? 1 : -1];\n", sizeof(struct name));
    STRUCTS(PUT_SIZE)
#undef PUT_SIZE
    put_lines(file, common_lines);
    put_lines(file, doubles_lines);
}

/* Prints functions for single values, for the device's vectors, and for the 16 partial sums of a softmax. */
static void put_functions(FILE *file, uint32_t width)
{
    opencl_print_functions(file, 1);
    if (width > 1)
        opencl_print_functions(file, width);
    if (width != 16)
        opencl_print_functions(file, 16);
}

/* Prints a program for one cell, loss or optimizer, or the activations; returns false if the name is unknown. */
static bool put_named(FILE *file, const struct opencl_form *form, const char *program)
{
    const char *name = strchr(program, ' ');
    put_functions(file, form->width);
    if (!name) {
        put_lines(file, losses_lines);
        opencl_print_activations(file, form->width);
        put_lines(file, activations_lines);
        return true;
    }
    if (!strncmp(program, "cell ", 5)) {
        put_lines(file, cells_lines);
        return opencl_print_cell(file, name + 1, form->width);
    }
    if (!strncmp(program, "loss ", 5)) {
        put_lines(file, losses_lines);
        return opencl_print_loss(file, name + 1);
    }
    return opencl_print_optimizer(file, name + 1, form->width);
}

/* Prints a program; returns false if the name is unknown. */
static bool put_program(FILE *file, const struct opencl_form *form, const char *program)
{
    put_begin(file, form);
    if (!strcmp(program, "rows")) {
        put_lines(file, philox_lines);
        put_lines(file, rows_lines);
    } else if (!strcmp(program, "sums")) {
        put_lines(file, sums_lines);
    } else if (!strcmp(program, "product")) {
        put_lines(file, product_lines);
        opencl_print_product(file, "gpu_product_1", 1, form->vectors);
        opencl_print_product(file, "gpu_product_2", 2, form->vectors);
        opencl_print_product(file, "gpu_product_4", 4, form->vectors);
        opencl_print_product(file, "gpu_product", form->rows, form->vectors);
    } else {
        return put_named(file, form, program);
    }
    return true;
}

unroll_status opencl_program_text(const struct opencl_form *form, const char *program, char **text, size_t *size)
{
    FILE *file = open_memstream(text, size);
    if (!file)
        return fail(UNROLL_RESOURCE, "no memory for the text of a program");
    const bool found = put_program(file, form, program), full = ferror(file);
    if (fclose(file) != 0 || full)
        return fail(UNROLL_RESOURCE, "no memory for the text of a program");
    if (found)
        return UNROLL_OK;
    free(*text);
    *text = NULL;
    return fail(UNROLL_UNSUPPORTED, "OpenCL devices have no program for the %s; fix: use device cpu", program);
}
