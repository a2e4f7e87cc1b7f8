/* The kernels of OpenCL devices by name: which program has each, and how many items it has. The text of a program is
 * made of the files *.cl of this folder, of the structs of gpu_kernels.h, and of what is printed from the records of
 * cells, losses and optimizers (opencl_print.c). Runs without a device. */
#ifndef DEVICE_OPENCL_KERNELS_H
#define DEVICE_OPENCL_KERNELS_H
#include "device/opencl/opencl_context.h"
#include <stdio.h>

enum { OPENCL_PACK_DEPTH = 32, OPENCL_DROPOUT_QUADS = 16 }; /* rows of a panel, and counters, that an item goes over */

/* How many items a launch has; shape: the host's, in blocks and threads. */
typedef uint64_t opencl_count(const struct launch_shape *, const void *args, const struct opencl_form *);

/* Kernels whose names end so. NAME_: the program is of what stands before it, a cell, a loss or an optimizer. */
struct opencl_items {
    const char *name; /* "gpu_copy"; with a '_' before it the end of a name: "_gpu_forward" */
    const char *program;
    opencl_count *count;
};

/* NULL: there is none of that name. */
const struct opencl_items *opencl_items_of(const char *kernel);

/* The program that has the kernel: "rows", "cell lstm". */
void opencl_program_name(const struct opencl_items *, const char *kernel, char *name, size_t size);

/* The text of a program, to be released. Refused as UNROLL_UNSUPPORTED: there is none of that name. */
unroll_status opencl_program_text(const struct opencl_form *, const char *program, char **text, size_t *size);

/* ---- opencl_print.c: from records; false: there is none of that name ------------------------- */

/* exp_of, log_of, sigmoid_of and tanh_of of vectors of so many numbers: exp_of_16; of one: exp_of_1. */
void opencl_print_functions(FILE *, uint32_t width);
bool opencl_print_cell(FILE *, const char *cell, uint32_t width);
bool opencl_print_loss(FILE *, const char *loss);
bool opencl_print_optimizer(FILE *, const char *optimizer, uint32_t width);
void opencl_print_activations(FILE *, uint32_t width);
void opencl_print_product(FILE *, const char *kernel, uint32_t rows, uint32_t vectors);

#endif
