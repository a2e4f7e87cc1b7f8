/* A LOSS_USER: the slopes of one loss over a row, in the place of z. */
#ifdef LOSS_OF_CLASSES
enum { LOSS_(slopes) = 0 }; /* none: it has a kernel of its own */
#else
static void LOSS_(slopes)(real *z, const real *y, size_t n, real scale)
{
    for (size_t i = 0; i < n; i += V_WIDTH) {
        struct point p = {.z = load_up_to(z + i, n - i), .y = load_up_to(y + i, n - i)};
        LOSS_(point)(&p);
        store_up_to(z + i, v_mul(p.slope, v_const(scale)), n - i);
    }
}
#endif
