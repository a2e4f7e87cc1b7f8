/* An OPTIMIZER_USER: the kernel NAME_gpu_update of one optimizer. One block for each chunk of a tensor. */
KERNEL(OPTIMIZER_(gpu_update), struct update_args)
{
    const struct gpu_chunk chunk = a.chunk[blockIdx.x];
    const struct update_tensor x = a.tensor[chunk.tensor];
    const size_t first = (size_t)chunk.number * GPU_CHUNK;
    const size_t end = x.count - first < GPU_CHUNK ? x.count : first + GPU_CHUNK;
    const struct OPTIMIZER_(numbers) r = *(const struct OPTIMIZER_(numbers) *)a.shared;
    const float scale = *a.scale;
    for (size_t i = first + threadIdx.x; i < end; i += blockDim.x) {
        struct weights p;
        p.w = x.w[i], p.g = x.g[i] * scale;
        x.g[i] = 0;
        if (scale == 0)
            continue;
        for (int k = 0; k < OPTIMIZER_STATES; k++) p.s[k] = x.state[k][i];
        OPTIMIZER_(step)(&p, &r);
        x.w[i] = p.w;
        for (int k = 0; k < OPTIMIZER_STATES; k++) x.state[k][i] = p.s[k];
    }
}
