/* Products of an OpenCL device: one kernel for all shapes and strides, b in panels (product.cl). Knows no operation. */
#include "device/opencl/opencl_context.h"

static const char *kernel_of(uint32_t rows)
{
    return rows == 1 ? "gpu_product_1" : rows == 2 ? "gpu_product_2" : rows <= 4 ? "gpu_product_4" : "gpu_product";
}

static uint32_t rows_of_item(const struct opencl_form *form, uint32_t rows)
{
    return rows <= 2 ? rows : rows <= 4 ? 4 : form->rows;
}

unroll_status opencl_product(struct recorder *w, const struct gpu_product *p)
{
    const struct opencl_form *form = &opencl_of(w->gpu)->form;
    const uint32_t rows = rows_of_item(form, p->m);
    const struct panels_args args = {.a = (const float *)(void *)p->a.at,
                                     .b = (const float *)(void *)p->b.at,
                                     .bias = p->bias,
                                     .c = (float *)(void *)p->c.at,
                                     .a_row = p->a_by_columns ? 1 : p->a.row,
                                     .a_next = p->a_by_columns ? p->a.row : 1,
                                     .c_row = p->c.row,
                                     .rows = p->m,
                                     .columns = p->n,
                                     .depth = p->k,
                                     .adds = p->adds};
    const size_t items[3] = {form->lanes, (p->m + rows - 1) / rows, (p->n + GPU_PANEL - 1) / GPU_PANEL};
    gpu_kernel kernel;
    TRY(w->driver->kernel_find(w->gpu, kernel_of(p->m), &kernel));
    if (w->walk == PREPARE)
        return UNROLL_OK;
    return opencl_enqueue(w->stream, kernel, items, (const size_t[3]){form->lanes, 1, 1}, &args, sizeof args);
}
