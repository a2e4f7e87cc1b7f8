/* An OPTIMIZER_USER: the kernel NAME_gpu_update of one optimizer. */
GPU_CODE void OPTIMIZER_(at)(const struct update_args &a, const struct update_tensor &x, float scale, uint64_t i)
{
    struct weights p;
    p.w = x.w[i], p.g = x.g[i] * scale;
    for (int k = 0; k < OPTIMIZER_STATES; k++) p.s[k] = x.state[k][i];
    OPTIMIZER_(step)(&p, (const struct OPTIMIZER_(numbers) *)a.shared);
    x.w[i] = p.w;
    for (int k = 0; k < OPTIMIZER_STATES; k++) x.state[k][i] = p.s[k];
}
UPDATE(OPTIMIZER_(gpu_update), OPTIMIZER_(at), OPTIMIZER_(at))
