/* A LOSS_USER: the kernel NAME_gpu_loss of a loss of single numbers; a block is a row. z <- slope / width * scale. */
#ifndef LOSS_OF_CLASSES
KERNEL(LOSS_(gpu_loss), struct loss_args)
{
    SHARED(double, room, GPU_THREADS);
    float *z = row_at(a.z, blockIdx.x);
    const float *y = row_at(a.values, blockIdx.x), share = (float)(1.0 / (double)a.z.width), scale = gradient_scale(a);
    double sum = 0;
    if (!row_lasts(a.ends, blockIdx.x / a.z.batch, blockIdx.x % a.z.batch)) {
        clear_row(a, z);
        return;
    }
    for (uint32_t i = threadIdx.x; i < a.z.width; i += blockDim.x) {
        struct point p = {z[i], y[i], 0, 0};
        LOSS_(point)(&p);
        sum += (double)p.loss;
        z[i] = scale * (p.slope * share);
    }
    count_row(a, block_sum(sum, room) / (double)a.z.width);
}
#endif
