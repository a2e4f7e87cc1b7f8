/* A LOSS_USER: the kernel NAME_gpu_loss of a regression loss; one block for each row. z <- slope / points * scale. */
#ifndef LOSS_OF_CLASSES
KERNEL(LOSS_(gpu_loss), struct loss_args)
{
    SHARED(double, room, GPU_THREADS);
    const uint32_t points = a.values.width * a.levels;
    float *z = row_at(a.z, blockIdx.x);
    const float *y = row_at(a.values, blockIdx.x), share = (float)(1.0 / (double)points), scale = gradient_scale(a);
    double sum = 0, counted = 0;
    if (!row_lasts(a.ends, blockIdx.x / a.z.batch, blockIdx.x % a.z.batch)) {
        clear_row(a, z);
        return;
    }
    for (uint32_t i = threadIdx.x; i < points; i += blockDim.x) {
        float *at = z + (size_t)i * LOSS_RESULTS;
        struct point p;
        p.y = y[i / a.levels];
        p.level = a.constant ? a.constant[i % a.levels] : 0;
        for (int k = 0; k < LOSS_RESULTS; k++) p.z[k] = at[k];
        LOSS_(point)(&p);
        const bool counts = !isnan(p.y);
        sum += counts ? (double)p.loss : 0;
        counted += counts;
        for (int k = 0; k < LOSS_RESULTS; k++) at[k] = counts ? scale * (p.slope[k] * share) : 0;
    }
    sum = block_sum(sum, room);
    counted = block_sum(counted, room);
    count_row(a, sum / (double)points, counted / (double)points);
}
#endif
