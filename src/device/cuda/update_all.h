/* An OPTIMIZER_USER: the kernel NAME_gpu_update of one optimizer. A block is a chunk of one tensor. */
KERNEL(OPTIMIZER_(gpu_update), struct update_args)
{
    const struct gpu_chunk chunk = a.chunk[blockIdx.x];
    const struct update_tensor x = a.tensor[chunk.tensor];
    const size_t first = (size_t)chunk.number * GPU_CHUNK;
    const size_t end = x.count - first < GPU_CHUNK ? x.count : first + GPU_CHUNK;
    const struct rates rates = *(const struct rates *)a.shared;
    const float scale = *a.scale;
    for (size_t i = first + threadIdx.x; i < end; i += blockDim.x) {
        struct weights p = { x.w[i], x.g[i] * scale, 0, 0 };
        x.g[i] = 0;
        if (scale == 0)
            continue;
#if OPTIMIZER_STATES > 0
        p.s0 = x.s0[i];
#endif
#if OPTIMIZER_STATES > 1
        p.s1 = x.s1[i];
#endif
        OPTIMIZER_(step)(&p, &rates);
        x.w[i] = p.w;
#if OPTIMIZER_STATES > 0
        x.s0[i] = p.s0;
#endif
#if OPTIMIZER_STATES > 1
        x.s1[i] = p.s1;
#endif
    }
}
