/* The table of kernels, and the texts of programs (opencl_kernels.h). */
#include "extensions/opencl/opencl_kernels.h"
#include "nn/losses/loss.h"
#include "nn/optim/optim.h"
#include <stdlib.h>
#include <string.h>

/* ---- items -------------------------------------------------------------------------------- */

uint64_t opencl_items(const struct opencl_kernel *k, const struct launch_shape *shape, const struct opencl_form *form)
{
    const uint64_t lengths[] = {[PART_RUN] = form->run,
                                [PART_WIDTH] = form->width,
                                [PART_DEPTH] = OPENCL_PACK_DEPTH,
                                [PART_QUADS] = OPENCL_DROPOUT_QUADS,
                                [PART_ROW] = shape->width};
    if (k->part == PART_OF_GROUP)
        return shape->rows * form->group;
    return shape->rows * ((shape->width + lengths[k->part] - 1) / lengths[k->part]);
}

static const struct opencl_kernel table[] = {
    {"gpu_copy", "rows", PART_RUN},
    {"gpu_clear_ended", "rows", PART_RUN},
    {"gpu_gather", "rows", PART_RUN},
    {"gpu_embed", "rows", PART_RUN},
    {"gpu_dropout", "rows", PART_QUADS},
    {"gpu_pool", "rows", PART_WIDTH},
    {"gpu_pool_back", "rows", PART_RUN},
    {"gpu_tree", "rows", PART_RUN},
    {"gpu_states_enter", "rows", PART_RUN},
    {"gpu_states_leave", "rows", PART_RUN},
    {"gpu_projected", "rows", PART_RUN},
    {"gpu_receive", "rows", PART_RUN},
    {"gpu_sum_parts", "sums", PART_WIDTH},
    {"gpu_sum", "sums", PART_WIDTH},
    {"gpu_embed_grad", "sums", PART_WIDTH},
    {"gpu_loss_total", "sums", PART_ROW},
    {"gpu_norm_parts", "sums", PART_ROW},
    {"gpu_norm", "sums", PART_ROW},
    {"gpu_update_begin", "sums", PART_ROW},
    {"gpu_step", "sums", PART_ROW},
    {"gpu_activate", "activations", PART_WIDTH},
    {"gpu_activate_back", "activations", PART_WIDTH},
    {"gpu_softmax", "activations", PART_ROW},
    {"gpu_softmax_back", "activations", PART_ROW},
    {"gpu_pack", "product", PART_DEPTH},
    {"gpu_round", "product", PART_RUN},
    {"gpu_product", "product", PART_ROW},
    {"gpu_product_1", "product", PART_ROW},
    {"gpu_product_2", "product", PART_ROW},
    {"gpu_product_4", "product", PART_ROW},
    {"_gpu_forward", "cell", PART_WIDTH},
    {"_gpu_forward_2", "cell", PART_WIDTH},
    {"_gpu_backward", "cell", PART_WIDTH},
    {"_gpu_backward_2", "cell", PART_WIDTH},
    {"_gpu_loss", "loss", PART_ROW},
    {"_gpu_update", "optimizer", PART_OF_GROUP},
};

const struct opencl_kernel *opencl_kernel_of(const char *kernel)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const size_t size = strlen(kernel), end = strlen(table[i].name);
        if (*table[i].name == '_' ? size > end && !strcmp(kernel + size - end, table[i].name)
                                  : !strcmp(kernel, table[i].name))
            return &table[i];
    }
    return NULL;
}

void opencl_program_name(const struct opencl_kernel *k, const char *kernel, char *name, size_t size)
{
    const size_t end = strlen(k->name);
    if (*k->name == '_')
        snprintf(name, size, "%s %.*s", k->program, (int)(strlen(kernel) - end), kernel);
    else
        snprintf(name, size, "%s", k->program);
}

/* ---- texts -------------------------------------------------------------------------------- */

/* The lines of all files (opencl.mk); one that begins with \001 names the file that follows. */
static const char *const lines[] = {
#include "opencl.inc"
    "\001"};

static void put_file(FILE *to, const char *name)
{
    const char *const *line = lines;
    while (**line != '\001' || strcmp(*line + 1, name)) line++;
    for (line++; **line != '\001'; line++) fprintf(to, "%s\n", *line);
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
            "#define RUN %u\n#define HAS_FP64 %d\n#define PACK_DEPTH %d\n#define QUADS %d\n"
            "#define FMA %s\n",
            f->width, f->lanes, f->group, f->run, f->has_fp64, OPENCL_PACK_DEPTH, OPENCL_DROPOUT_QUADS,
            f->fuses ? "fma" : "mad");
    if (f->width > 1)
        fprintf(file, "#define LOAD_%u(p) vload%u(0, p)\n#define STORE_%u(v, p) vstore%u(v, 0, p)\n", f->width,
                f->width, f->width, f->width);
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
    put_file(file, "gpu_kernels");
#define PUT_SIZE(name) \
    fprintf(file, "typedef char size_of_" #name "[sizeof(struct " #name ") == %zu ? 1 : -1];\n", sizeof(struct name));
    STRUCTS(PUT_SIZE)
#undef PUT_SIZE
    put_file(file, "common");
    put_file(file, "doubles");
    put_file(file, "places");
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
        put_file(file, "softmax");
        opencl_print_activations(file, form->width);
        put_file(file, "activations");
        return true;
    }
    if (!strncmp(program, "cell ", 5)) {
        put_file(file, "cells");
        return opencl_print_cell(file, name + 1, form->width);
    }
    if (!strncmp(program, "loss ", 5)) {
        bool of_classes = false;
        put_file(file, "softmax");
        put_file(file, "losses");
        const bool found = opencl_print_loss(file, name + 1, &of_classes);
        if (of_classes)
            put_file(file, "classes");
        return found;
    }
    put_file(file, "updates");
    return opencl_print_optimizer(file, name + 1, form->width);
}

/* Prints a program; returns false if the name is unknown. */
static bool put_program(FILE *file, const struct opencl_form *form, const char *program)
{
    put_begin(file, form);
    if (!strcmp(program, "rows")) {
        put_file(file, "philox");
        put_file(file, "rows");
    } else if (!strcmp(program, "sums")) {
        put_file(file, "partial_sums");
        put_file(file, "sums");
    } else if (!strcmp(program, "product")) {
        put_file(file, "product");
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
