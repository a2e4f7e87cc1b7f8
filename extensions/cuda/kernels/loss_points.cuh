/* A LOSS_USER: the kernel NAME_gpu_loss of a regression loss. */
#ifdef LOSS_IS_POINTWISE
GPU_CODE void LOSS_(points)(const float *z, float target, float level, float *loss, float *slope)
{
    struct point p;
    p.y = target, p.level = level;
    for (int k = 0; k < LOSS_RESULTS; k++) p.z[k] = z[k];
    LOSS_(point)(&p);
    *loss = p.loss;
    for (int k = 0; k < LOSS_RESULTS; k++) slope[k] = p.slope[k];
}
LOSS_OF_POINTS(LOSS_(gpu_loss), LOSS_(points), LOSS_RESULTS)
#endif
