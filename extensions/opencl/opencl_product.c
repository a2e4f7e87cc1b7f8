/* Products of an OpenCL device: one kernel for all shapes and strides, with b in panels (product.cl). Independent of
 * operations. */
#include "extensions/opencl/opencl_context.h"

static const char *kernel_of(uint32_t rows)
{
    return rows == 1 ? "gpu_product_1" : rows == 2 ? "gpu_product_2" : rows <= 4 ? "gpu_product_4" : "gpu_product";
}

static uint32_t rows_of_item(const struct opencl_form *form, uint32_t rows)
{
    return rows <= 2 ? rows : rows <= 4 ? 4 : form->rows;
}

/* Splits a deep product with many rows into pieces, so that data shared by the rows stay in a cache. The chains of
 * sums continue from piece to piece, with the same bits. */
static uint32_t depth_of_piece(const struct gpu_product *p)
{
    enum { MANY = 256, PIECE = 512 };
    return p->m >= MANY && p->k > PIECE ? PIECE : p->k;
}

unroll_status opencl_product(struct recorder *w, const struct gpu_product *p)
{
    const struct opencl_form *form = &opencl_of(w->gpu)->form;
    const uint32_t rows = rows_of_item(form, p->m), piece = depth_of_piece(p);
    struct panels_args args = {.a = (const float *)(void *)p->a.at,
                               .b = (const float *)(void *)p->b.at,
                               .bias = p->bias,
                               .c = (float *)(void *)p->c.at,
                               .a_row = p->a_by_columns ? 1 : p->a.row,
                               .a_next = p->a_by_columns ? p->a.row : 1,
                               .b_panel = (size_t)p->k * GPU_PANEL,
                               .c_row = p->c.row,
                               .rows = p->m,
                               .columns = p->n,
                               .adds = p->adds};
    const size_t items[3] = {form->lanes, (p->m + rows - 1) / rows, (p->n + GPU_PANEL - 1) / GPU_PANEL};
    gpu_kernel kernel;
    TRY(w->driver->kernel_find(w->gpu, kernel_of(p->m), &kernel));
    if (w->walk == PREPARE)
        return UNROLL_OK;
    for (uint32_t k = 0; k < p->k; k += piece) {
        args.depth = p->k - k < piece ? p->k - k : piece;
        TRY(opencl_enqueue(w->stream, kernel, items, (const size_t[3]){form->lanes, 1, 1}, &args, sizeof args));
        args.a += (size_t)args.depth * args.a_next;
        args.b += (size_t)args.depth * GPU_PANEL;
        args.bias = NULL;
        args.adds = true;
    }
    return UNROLL_OK;
}
