/* The kernels of OpenCL devices by name: the program of each, and its number of items. The text of a program
 * consists of the *.cl files of this folder, the kernels in extensions/gpu/kernels with the structs of gpu_kernels.h,
 * and code printed from the records of cells, losses and optimizers (opencl_print.c). Runs without a device. */
#ifndef DEVICE_OPENCL_KERNELS_H
#define DEVICE_OPENCL_KERNELS_H
#include "extensions/opencl/opencl_context.h"
#include <stdio.h>

enum { OPENCL_PACK_DEPTH = 32, OPENCL_DROPOUT_QUADS = 16 }; /* rows of a panel, and counters, that an item handles */

/* What an item handles: elements of a row, or a whole row; or a group handles a row. */
enum opencl_part { PART_RUN, PART_WIDTH, PART_DEPTH, PART_QUADS, PART_ROW, PART_OF_GROUP };

/* Describes one kernel, or all kernels NAME_suffix, whose program belongs to a cell, a loss or an optimizer NAME. */
struct opencl_kernel {
    const char *name; /* "gpu_copy"; if it begins with '_', the end of a name: "_gpu_forward" */
    const char *program;
    enum opencl_part part;
};

/* Returns NULL if there is no such kernel. */
const struct opencl_kernel *opencl_kernel_of(const char *kernel);

/* Returns the number of items of a launch. */
uint64_t opencl_items(const struct opencl_kernel *, const struct launch_shape *, const struct opencl_form *);

/* Writes the name of the kernel's program: "rows", "cell lstm". */
void opencl_program_name(const struct opencl_kernel *, const char *kernel, char *name, size_t size);

/* Returns the text of a program, which the caller releases; UNROLL_UNSUPPORTED if there is no such program. */
unroll_status opencl_program_text(const struct opencl_form *, const char *program, char **text, size_t *size);

/* ---- opencl_print.c: code from records; false: no such name --------------------------------- */

/* Prints exp_of, log_of, sigmoid_of and tanh_of for vectors of `width` elements, such as exp_of_16; for single
 * values: exp_of_1. */
void opencl_print_functions(FILE *, uint32_t width);
bool opencl_print_cell(FILE *, const char *cell, uint32_t width);
bool opencl_print_loss(FILE *, const char *loss, bool *of_classes); /* prints nothing for a loss of classes */
bool opencl_print_optimizer(FILE *, const char *optimizer, uint32_t width);
void opencl_print_activations(FILE *, uint32_t width);
void opencl_print_product(FILE *, const char *kernel, uint32_t rows, uint32_t vectors);

#endif
